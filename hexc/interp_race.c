/* interp_race.c - accesses to shared memory that lack a barrier, and tiles that overwrite each other.
 *
 * Which thread touches which element is not known here, so any two accesses to one place, one of them a
 * write, made by different executions of ops, need a barrier between them.  An async write counts from
 * the wait that completes it.  Where pass smem has placed the tiles, a place is a byte of the block's
 * shared memory, so that tiles sharing memory are held to the same rules; else it is an element. */
#include "hexc/interp_impl.h"
#include <string.h>

typedef struct Shadow {
	const void *owner;      /* Shared or scratch op that wrote last */
	const Op *wop, *rop;    /* last writer, last reader */
	int64_t wepoch, repoch; /* when, in barriers; -1: never */
	int64_t group;          /* async write: the commit that closes it; 0: not async */
	uint64_t serial;        /* execution of wop */
	int64_t elt;            /* which element of wop's tile: the same one is the same thread's */
} Shadow;

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
	for (uint32_t i = 0; i < it->nshared; i++)
		if (it->shared[i] && it->shared[i]->shadow)
			shadow_clear(it->shared[i]->shadow, it->shared[i]->n);
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
	if (it->memory && s->alloc->imm[0] >= 0)
		return;
	s->shadow = NEWN(&it->arena, Shadow, s->n);
	shadow_clear(s->shadow, s->n);
}

static bool
missing(Interp *it, const Op *now, const char *verb, const Op *then, const char *then_verb)
{
	return interp_fault(it, INTERP_E_FAULT, now,
	                    "%s %s shared memory that %s of line %u %s with no barrier in between",
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
touch(Interp *it, Shadow *c, const Op *o, const void *owner, bool write, int64_t group, int64_t elt)
{
	/* elements that share a byte; a store done again, by the thread that did it before */
	bool again = write && c->wop == o && (c->serial == it->serial || (!c->group && c->elt == elt));

	if (write_open(it, c) && !again)
		return missing(it, o, write ? "writes" : "reads", c->wop,
		               c->group > it->waited ? "writes, with no wait or" : "writes,");
	if (!write) {
		if (c->owner && c->owner != owner)
			return interp_fault(it, INTERP_E_FAULT, o,
			                    "%s reads shared memory that another tile, written by %s of line %u, "
			                    "has taken", op_info[o->code].name, op_info[c->wop->code].name,
			                    c->wop->src.line);
		c->rop = o;
		c->repoch = it->epoch;
		return true;
	}
	if (c->repoch == it->epoch && c->repoch >= 0)
		return missing(it, o, "writes", c->rop, "reads,");
	c->owner = owner;
	c->wop = o;
	c->wepoch = it->epoch;
	c->group = group;
	c->serial = it->serial;
	c->elt = elt;
	return true;
}

/* Offset of an element in its tile, in elements: swizzled and padded if it has a layout. */
static int64_t
element_offset(const Shared *s, int64_t at)
{
	const Layout *l = s->alloc->out[0]->type.layout;
	int64_t coord[DIM_MAX];

	if (!l)
		return at;
	for (int d = s->rank - 1; d >= 0; d--) {
		coord[d] = at % s->shape[d];
		at /= s->shape[d];
	}
	return layout_at(l, coord).at[AX_mem];
}

bool
race_access(Interp *it, const Op *o, const Shared *s, int64_t at, bool write, bool async, int64_t elt)
{
	int64_t group = async ? it->groups + 1 : 0, bit, lo, hi;

	if (s->shadow)
		return touch(it, &s->shadow[at], o, s, write, group, elt);
	bit = element_offset(s, at) * dtype_info[s->dtype].bits;
	lo = s->alloc->imm[0] + bit / 8;
	hi = s->alloc->imm[0] + (bit + dtype_info[s->dtype].bits - 1) / 8;
	for (; lo <= hi; lo++) {
		if (lo >= it->memory_size)
			return interp_fault(it, INTERP_E_FAULT, o,
			                    "internal: a shared tile reaches byte %lld of %lld", (long long)lo,
			                    (long long)it->memory_size);
		if (!touch(it, &it->memory[lo], o, s, write, group, elt))
			return false;
	}
	return true;
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
	const Pick *p = o->pick;
	int64_t end;

	if (!it->opt.races || !p || p->scratch_bytes <= 0)
		return true;
	end = p->scratch_off + p->scratch_bytes;
	for (int write = 1; write >= 0; write--) {
		race_barrier(it);
		it->serial++;
		for (int64_t b = p->scratch_off; it->memory && b < end && b < it->memory_size; b++)
			if (!touch(it, &it->memory[b], o, o, write, 0, 0))
				return false;
	}
	return true;
}
