/* sink.c - pass sink: moves shared-memory loads of dot operands past preceding barriers, to their first
 * use.
 *
 *     x = load a                          copy B to b, asynchronous; wait
 *     copy B to b, asynchronous; wait  =>  y = load b
 *     y = load b; dot(x, y)               x = load a; dot(x, y)
 *
 * The code generator loads an operand step by step along k as the dot proceeds. An operand loaded before a
 * barrier must be loaded completely there, and occupies registers. Pass insert_barriers will insert a
 * barrier before the first access to data written since the last one. This pass predicts these barriers,
 * block by block.
 *
 * requires   nothing
 * preserves  what the kernel computes: a load does not move past a write to its tile
 * leaves     other loads unchanged */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/pass.h"

typedef struct Sink {
	Kernel *k;
	int *fence;       /* by op id: number of barriers up to the point before it */
	int *wrote, *read; /* by value id of a tile: the last such barrier, from 1; 0: never */
	bool *seen;       /* by op id: an earlier op needs its complete result */
	bool *moved;      /* by op id */
	int now;          /* barriers so far, from 1 */
	Op **work;        /* loads of a dot's operands, and the ops between */
	int n, cap;
	bool changed;
} Sink;

/* Are words of o's result computed on demand, wherever o is placed? */
static bool
is_made_late(const Op *o)
{
	return op_is(o, F_ELT | F_MOVE | F_FILL) || o->code == O_mask || o->code == O_lookup ||
	       o->code == O_gather || o->code == O_view;
}

/* Returns the shared tile that v is, or is a view of; NULL if there is none. */
static const Val *
tile_of(Val *v)
{
	return v && v->type.space == S_shared ? view_root(v) : NULL;
}

/* Records the accesses of o, and whether a barrier will precede it. */
static void
note_access(Sink *s, const Op *o)
{
	const Val *from = tile_of(access_source(o)), *to = tile_of(access_target(o));
	const Val *found = tile_of(access_found(o));
	bool meets = op_is_barrier(o);

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

/* May a load of the tile move past o? */
static bool
may_pass(const Op *o, const Val *tile)
{
	if (o->blk[0] || tile_of(access_target(o)) == tile || tile_of(access_found(o)) == tile)
		return false;
	return op_is(o, F_PURE) || o->code == O_load || o->code == O_store || o->code == O_copy ||
	       o->code == O_alloc || o->code == O_async_commit || o->code == O_async_wait ||
	       o->code == O_barrier;
}

static bool
reads_moved(const Sink *s, const Op *o)
{
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->def && s->moved[o->in[i]->def->id])
			return true;
	return false;
}

/* Moves the load, and the ops computed from it, to before `at`, its first user. */
static void
move_to(Sink *s, Op *load, Op *at)
{
	const Val *tile = tile_of(load_source(load));
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

/* Op `at` needs v; if v is a dot's operand, its loads are moved. */
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
		if (factor && o->code == O_load && o->out[0]->type.space == S_reg &&
		    tile_of(load_source(o)) && o->parent == at->parent && s->fence[o->id] < s->fence[at->id])
			move_to(s, o, at);
	}
}

static void
sink_block(Sink *s, Block *b)
{
	for (Op *o = b->first; o; o = o->next) {
		for (int i = 0; i < 2; i++)
			if (o->blk[i]) {
				s->now++; /* for a preceding load, if it is needed, before o */
				sink_block(s, o->blk[i]);
			}
		note_access(s, o);
		for (int i = 0; !is_made_late(o) && i < o->nin; i++)
			ask(s, o->in[i], o, o->code == O_dot && i != IN_mma_acc);
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
