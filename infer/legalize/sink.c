/* sink.c - pass sink: what products read of shared memory is loaded behind the barriers in front of them.
 *
 *     x = load a                          copy B to b, asynchronous; wait
 *     copy B to b, asynchronous; wait  =>  y = load b
 *     y = load b; dot(x, y)               x = load a; dot(x, y)
 *
 * The code generator reads a factor step by step along k as the product goes on; but what is loaded in front
 * of a barrier has to be read there, all of it, and is in registers at once.  Pass insert_barriers will put a barrier in
 * front of the first access to what was written since the last one: that is foreseen here, block by block.
 *
 * needs   nothing
 * keeps   what the kernel computes: a load passes no write to its tile
 * leaves  other loads where they are */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/pass.h"

typedef struct Sink {
	Kernel *k;
	int *fence;       /* by op id: barriers up to the place in front of it */
	int *wrote, *read; /* by value id of a tile: after which barrier that was last, from 1; 0: never */
	bool *seen;       /* by op id: an op that is there already asks for all of what it makes */
	bool *moved;      /* by op id */
	int now;          /* barriers so far, from 1 */
	Op **work;        /* loads of a product's factors, and ops on the way there */
	int n, cap;
	bool changed;
} Sink;

/* Are words of what o gives made when they are asked for, wherever it stands? */
static bool
is_made_late(const Op *o)
{
	return op_is(o, F_ELT | F_MOVE | F_FILL) || o->code == O_mask || o->code == O_lookup ||
	       o->code == O_gather || o->code == O_view;
}

/* The tile in shared memory that v is, or is a view of; NULL: none. */
static const Val *
tile_of(Val *v)
{
	return v && v->type.space == S_shared ? view_root(v) : NULL;
}

/* Has o a barrier in front?  What it does is noted. */
static void
note_access(Sink *s, const Op *o)
{
	const Val *from = tile_of(access_source(o)), *to = tile_of(access_target(o));
	const Val *found = tile_of(access_found(o));
	bool meets = o->code == O_barrier;

	meets = meets || (from && s->wrote[from->id] == s->now);
	meets = meets || (to && (s->wrote[to->id] == s->now || s->read[to->id] == s->now));
	meets = meets || (found && (s->wrote[found->id] == s->now || s->read[found->id] == s->now));
	s->now += meets;
	s->fence[o->id] = s->now;
	if (from)
		s->read[from->id] = s->now;
	if (to)
		s->wrote[to->id] = s->now;
	if (found)
		s->wrote[found->id] = s->now;
}

/* May a load of the tile pass o? */
static bool
may_pass(const Op *o, const Val *tile)
{
	if (o->blk[0] || tile_of(access_target(o)) == tile || tile_of(access_found(o)) == tile)
		return false;
	return op_is(o, F_PURE) || o->code == O_load || o->code == O_store || o->code == O_copy ||
	       o->code == O_alloc || o->code == O_commit || o->code == O_wait || o->code == O_barrier;
}

static bool
reads_moved(const Sink *s, const Op *o)
{
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->def && s->moved[o->in[i]->def->id])
			return true;
	return false;
}

/* The load, and what is made of it, to the place in front of `at`, which asks for it first. */
static void
move_to(Sink *s, Op *load, Op *at)
{
	const Val *tile = tile_of(load->in[0]);
	Op *last = at->prev, *next = load;

	for (const Op *o = load->next; o != at; o = o->next)
		if (!may_pass(o, tile))
			return;
	s->moved[load->id] = true;
	for (Op *o = NULL; o != last;) {
		o = next;
		next = o->next;
		if (o != load && !reads_moved(s, o))
			continue;
		s->moved[o->id] = true;
		op_move_before(o, at);
	}
	s->changed = true;
}

/* Op `at` asks for v; of a product's factor, what it is loaded by follows. */
static void
ask(Sink *s, const Val *v, Op *at, bool factor)
{
	s->n = 0;
	if (v->def)
		VEC_PUSH(s->k->unit->arena, s->work, s->n, s->cap, v->def);
	while (s->n) {
		Op *o = s->work[--s->n];

		if (s->seen[o->id])
			continue;
		s->seen[o->id] = true;
		for (int i = 0; is_made_late(o) && i < o->nin; i++)
			if (o->in[i]->def)
				VEC_PUSH(s->k->unit->arena, s->work, s->n, s->cap, o->in[i]->def);
		if (factor && o->code == O_load && o->out[0]->type.space == S_reg && tile_of(o->in[0]) &&
		    o->parent == at->parent && s->fence[o->id] < s->fence[at->id])
			move_to(s, o, at);
	}
}

static void
sink_block(Sink *s, Block *b)
{
	for (Op *o = b->first; o; o = o->next) {
		for (int i = 0; i < 2; i++)
			if (o->blk[i]) {
				s->now++; /* for what comes before, if it is needed, in front of o */
				sink_block(s, o->blk[i]);
			}
		note_access(s, o);
		for (int i = 0; !is_made_late(o) && i < o->nin; i++)
			ask(s, o->in[i], o, o->code == O_dot && i != 2);
	}
}

bool
pass_sink(Kernel *k)
{
	Arena *a = k->unit->arena;
	Sink s = {
		.k = k,
		.fence = NEWN(a, int, k->nop + 1),
		.wrote = NEWN(a, int, k->nval + 1),
		.read = NEWN(a, int, k->nval + 1),
		.seen = NEWN(a, bool, k->nop + 1),
		.moved = NEWN(a, bool, k->nop + 1),
		.now = 1,
	};

	sink_block(&s, k->body);
	return s.changed;
}
