/* race.c - accesses to memory that lack a barrier, and shared tiles that overwrite each other.
 *
 * Any two accesses of a block to one place, one of them a write, need a barrier between them, unless one
 * thread surely makes both: the same element of the same op, or of ops with one layout.  Global memory is
 * watched where the kernel writes it, each block by itself.  An async write counts from
 * the wait that completes it.  Where pass smem has placed the tiles, a place is a byte of the block's
 * shared memory, so that tiles sharing memory are held to the same rules; else it is an element. */
#include "hexc/interp/impl.h"
#include "hexc/ir/access.h"
#include <string.h>

typedef struct Shadow {
	const void *owner;      /* Shared or scratch op that wrote last */
	const Op *wop, *rop;    /* last writer, last reader */
	int64_t wepoch, repoch; /* when, in barriers; -1: never */
	int64_t welt, relt;     /* which element of their tiles; -1: several read */
	int64_t group;          /* async write: the commit that closes it; 0: not async */
	uint64_t serial;        /* execution of wop */
} Shadow;

/* One access, by op o, of element elt of its tile. */
typedef struct Touch {
	const Op *o;
	const void *owner;
	int64_t elt, group;
	bool write;
} Touch;

static void
shadow_clear(Shadow *s, int64_t n)
{
	memset(s, 0, (size_t)n * sizeof *s);
	for (int64_t i = 0; i < n; i++)
		s[i].wepoch = s[i].repoch = -1;
}

void
race_start(Interp *it)
{
	it->epoch = 0;
	it->waited = 0;
	if (it->memory)
		shadow_clear(it->memory, it->memory_size);
	for (int i = 0; i < it->nshared; i++)
		if (it->shared[i]->shadow)
			shadow_clear(it->shared[i]->shadow, it->shared[i]->n);
	for (int i = 0; i < it->k->nparam && it->global; i++)
		if (it->global[i])
			shadow_clear(it->global[i], it->arg[i].count);
	if (!it->opt.races || it->memory || it->k->smem <= 0)
		return;
	it->memory_size = it->k->smem;
	it->memory = NEWN(&it->arena, Shadow, it->memory_size);
	shadow_clear(it->memory, it->memory_size);
}

void
race_alloc(Interp *it, Shared *s)
{
	if (!it->opt.races)
		return;
	s->watched = true;
	if (it->memory && IMM(s->alloc, offset) >= 0)
		return;
	s->shadow = NEWN(&it->arena, Shadow, s->n);
	shadow_clear(s->shadow, s->n);
}

static bool
missing(Interp *it, const Op *now, const char *verb, const Op *then, const char *then_verb)
{
	return interp_error(it, INTERP_E_FAULT, now,
	                    "%s %s memory that %s of line %u %s with no barrier in between",
	                    op_info[now->code].name, verb, op_info[then->code].name, then->src.line,
	                    then_verb);
}

/* Must the last write of c be ordered before an access now? */
static bool
write_open(const Interp *it, const Shadow *c)
{
	if (c->wepoch < 0)
		return false;
	if (!c->group)
		return c->wepoch == it->epoch;
	return c->group > it->waited || it->wait_epoch[c->group] == it->epoch;
}

static bool
may_write(Interp *it, const Shadow *c, const Touch *t)
{
	/* elements that share a byte are written together */
	bool own = c->wop && (c->serial == it->serial ||
	                      (!c->group && c->welt == t->elt && access_same_threads(c->wop, t->o)));

	if (write_open(it, c) && !own && !access_same_update(c->wop, t->o))
		return missing(it, t->o, "writes", c->wop, "writes,");
	own = c->rop && c->relt == t->elt && access_same_threads(c->rop, t->o);
	if (c->repoch == it->epoch && c->repoch >= 0 && !own)
		return missing(it, t->o, "writes", c->rop, "reads,");
	return true;
}

static bool
may_read(Interp *it, const Shadow *c, const Touch *t)
{
	bool own = c->wop && !c->group && c->welt == t->elt && access_same_threads(c->wop, t->o);

	if (write_open(it, c) && !own)
		return missing(it, t->o, "reads", c->wop,
		               c->group > it->waited ? "writes, with no wait or" : "writes,");
	if (c->owner && c->owner != t->owner)
		return interp_error(it, INTERP_E_FAULT, t->o,
		                    "%s reads shared memory that another tile, written by %s of line %u, "
		                    "has taken",
		                    op_info[t->o->code].name, op_info[c->wop->code].name,
		                    c->wop->src.line);
	return true;
}

static bool
touch(Interp *it, Shadow *c, const Touch *t)
{
	if (!(t->write ? may_write(it, c, t) : may_read(it, c, t)))
		return false;
	if (t->write) {
		c->owner = t->owner;
		c->wop = t->o;
		c->wepoch = it->epoch;
		c->welt = t->elt;
		c->group = t->group;
		c->serial = it->serial;
		return true;
	}
	/* readers that may be different threads are nobody's own */
	if (c->repoch == it->epoch && c->rop && !(c->relt == t->elt && access_same_threads(c->rop, t->o)))
		c->relt = -1;
	else
		c->relt = t->elt;
	c->rop = t->o;
	c->repoch = it->epoch;
	return true;
}

/* Offset of an element in its tile, in elements: swizzled and padded if it has a layout. */
static int64_t
element_offset(const Shared *s, int64_t at)
{
	const Layout *l = s->alloc->out[0]->type.layout;
	int64_t index[DIM_MAX];

	if (!l)
		return at;
	row_major_coord(s->rank, s->shape, at, index);
	return layout_at(l, index).at[AX_mem];
}

bool
race_access(Interp *it, const Op *o, const Shared *s, int64_t at, bool write, bool async, int64_t elt)
{
	Touch t = { o, s, elt, async ? it->task->groups + 1 : 0, write };
	int64_t bit, lo, hi;

	if (s->shadow)
		return touch(it, &s->shadow[at], &t);
	bit = element_offset(s, at) * dtype_info[s->dtype].bits;
	lo = IMM(s->alloc, offset) + bit / 8;
	hi = IMM(s->alloc, offset) + (bit + dtype_info[s->dtype].bits - 1) / 8;
	for (; lo <= hi; lo++) {
		if (lo >= it->memory_size)
			return interp_error(it, INTERP_E_FAULT, o,
			                    "internal: a shared tile reaches byte %lld of %lld",
			                    (long long)lo, (long long)it->memory_size);
		if (!touch(it, &it->memory[lo], &t))
			return false;
	}
	return true;
}

bool
race_global(Interp *it, const Op *o, const Param *p, int64_t at, bool write, int64_t elt)
{
	int64_t i = p - it->k->param;
	Touch t = { o, p, elt, 0, write };

	if (!it->opt.races || !p->written)
		return true;
	if (!it->global)
		it->global = NEWN(&it->arena, Shadow *, it->k->nparam);
	if (!it->global[i]) {
		it->global[i] = NEWN(&it->arena, Shadow, it->arg[i].count);
		shadow_clear(it->global[i], it->arg[i].count);
	}
	return touch(it, &it->global[i][at], &t);
}

void
race_wait(Interp *it, int64_t group)
{
	if (!it->opt.races)
		return;
	for (; it->waited < group; it->waited++) {
		if (it->waited + 1 >= it->wait_cap) {
			it->wait_epoch = arena_grow(&it->arena, it->wait_epoch, (size_t)it->wait_cap,
			                            (size_t)it->wait_cap * 2 + 64, sizeof *it->wait_epoch);
			it->wait_cap = it->wait_cap * 2 + 64;
		}
		it->wait_epoch[it->waited + 1] = it->epoch;
	}
}

void
race_barrier(Interp *it)
{
	it->epoch++;
}

bool
race_scratch(Interp *it, const Op *o)
{
	const Staging *tile;
	Touch t = { o, o, 0, 0, true };
	int64_t end;

	if (!it->opt.races || !lowering_is_staged(o->lowering))
		return true;
	tile = &o->lowering->staged;
	end = tile->off + tile->bytes;
	for (int pass = 0; pass < 2; pass++) {
		t.write = pass == 0;
		race_barrier(it);
		it->serial++;
		for (int64_t b = tile->off; it->memory && b < end && b < it->memory_size; b++)
			if (!touch(it, &it->memory[b], &t))
				return false;
	}
	return true;
}
