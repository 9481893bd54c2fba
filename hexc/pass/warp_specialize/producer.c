/* producer.c - builds the producers' region for pass warp_specialize: the slice of the body on which copies
 * to stage buffers depend. */
#include "hexc/pass/warp_specialize/warp_specialize.h"
#include <string.h>

/* ---- what is needed -------------------------------------------------------------------------------- */

static void need(Roles *r, const Val *v);
static void need_carried(Roles *r, const Op *loop, int i);

/* Marks the loops and branches around b, and the values that control them. */
static void
need_way(Roles *r, const Block *b)
{
	const Op *o = b->owner;

	if (!o || r->keep[o->id])
		return;
	r->keep[o->id] = true;
	for (int i = 0; i < (o->code == O_for ? IN_for_init : 1); i++)
		need(r, o->in[i]);
	if (loop_ends_early(o))
		need_carried(r, o, 0);
	need_way(r, o->parent);
}

/* Marks carried value i of a loop. */
static void
need_carried(Roles *r, const Op *loop, int i)
{
	const Block *b = loop->blk[0];

	r->need[loop->out[i]->id] = r->need[b->arg[1 + i]->id] = true;
	need_way(r, b);
	need(r, for_init(loop, i));
	need(r, b->last->in[i]);
}

static void
need_result(Roles *r, const Op *o, int i)
{
	if (o->code == O_for) {
		need_carried(r, o, i);
		return;
	}
	r->need[o->out[i]->id] = true;
	need_way(r, o->blk[0]);
	for (int s = 0; s < 2; s++)
		need(r, o->blk[s]->last->in[i]);
}

/* Can producers execute o too? */
static bool
is_repeatable(const Roles *r, const Op *o)
{
	const Val *v = o->out[0];
	const Param *p;

	if (o->nout != 1 || v->type.space == S_shared || (v->type.space == S_reg && !op_is_index(o)))
		return false;
	if (o->code != O_load)
		return op_is(o, F_PURE);
	p = val_param(r->k, view_root(load_source(o)));
	return p && !p->written;
}

static int
number_of(Val *const *list, const Val *v)
{
	int i = 0;

	while (list[i] != v)
		i++;
	return i;
}

static void
depends(Roles *r)
{
	r->why = "the address of a copy depends on computed data";
}

static void
need(Roles *r, const Val *v)
{
	const Block *b = v->block;
	const Op *o = v->def;

	if (r->why || r->need[v->id])
		return;
	if (!o) {
		if (v->type.space == S_reg)
			depends(r);
		else if (b->owner && b->owner->code == O_for && v != b->arg[0])
			need_carried(r, b->owner, number_of(b->arg, v) - 1);
	} else if (o->blk[0]) {
		need_result(r, o, number_of(o->out, v));
	} else if (!is_repeatable(r, o)) {
		depends(r);
	} else {
		r->need[v->id] = true;
		need_way(r, b);
		for (int i = 0; i < o->nin; i++)
			need(r, o->in[i]);
	}
}

/* Marks the indices of the part of the stage buffer that a copy fills. */
static void
need_part(Roles *r, const Val *part, const Val *tile)
{
	const Op *o = part->def;

	if (part == tile)
		return;
	need_part(r, view_source(o), tile);
	for (int i = 1; i < o->nin; i++)
		need(r, o->in[i]);
}

void
produce_plan(Roles *r)
{
	r->need = NEWN(r->k->unit->arena, bool, r->k->nval + 1);
	r->keep = NEWN(r->k->unit->arena, bool, r->k->nop + 1);
	r->as = NEWN(r->k->unit->arena, Val *, r->k->nval + 1);
	for (int i = 0; i < r->nfeed; i++) {
		const Pipe *p = &r->feed[i].pipe;
		const StageBuffers *ring;

		need_way(r, p->body);
		for (const Op *o = NULL; (o = ring_copy(p, o, &ring));) {
			need(r, copy_source(o));
			need_part(r, copy_dest(o), ring->alloc->out[0]);
		}
	}
}

/* ---- their region ---------------------------------------------------------------------------------- */

static Val *
as(const Roles *r, Val *v)
{
	return r->as[v->id] ? r->as[v->id] : v;
}

static Val *
map_as(void *user, Val *v)
{
	return as(user, v);
}

/* Returns the needed values of a list, as mapped for producers. */
static Val **
needed(const Roles *r, Val *const *list, Val *const *say, int n, int *count)
{
	Val **out = NEWN(r->k->unit->arena, Val *, n);

	*count = 0;
	for (int i = 0; i < n; i++)
		if (r->need[say[i]->id])
			out[(*count)++] = as(r, list[i]);
	return out;
}

static void
produce_yield(Roles *r, const Op *o, const Block *from, Block *to)
{
	int n;
	Val **out = needed(r, from->last->in, o->out, o->nout, &n);

	op_new(to, NULL, O_yield, from->last->src, n, out, 0, NULL);
}

/* Clones a kept loop or branch, with the results that are needed. */
static void
produce_way(Roles *r, const Op *o, Block *to)
{
	int fixed = o->code == O_for ? IN_for_init : 1, n = 0;
	Val **in = NEWN(r->k->unit->arena, Val *, o->nin);
	Type *out = NEWN(r->k->unit->arena, Type, o->nout);
	Op *made;

	for (int i = 0; i < fixed; i++)
		in[i] = as(r, o->in[i]);
	for (int i = 0; i < o->nout; i++)
		if (r->need[o->out[i]->id]) {
			if (o->code == O_for)
				in[fixed + n] = as(r, for_init(o, i));
			out[n++] = o->out[i]->type;
		}
	made = op_new(to, NULL, o->code, o->src, o->code == O_for ? fixed + n : fixed, in, n, out);
	memcpy(made->imm, o->imm, sizeof made->imm);
	if (o->code == O_for)
		IMM_SET(made, loop, FOR_PLAIN);
	for (int s = 0; s < 2 && o->blk[s]; s++) {
		Block *b = made->blk[s] = block_new(r->k, made);

		for (int i = 0; i < o->blk[s]->narg; i++)
			if (i == 0 || r->need[o->blk[s]->arg[i]->id])
				r->as[o->blk[s]->arg[i]->id] = block_arg(b, o->blk[s]->arg[i]->type);
		produce_body(r, o->blk[s], b);
		produce_yield(r, o, o->blk[s], b);
	}
	for (int i = 0, at = 0; i < o->nout; i++)
		if (r->need[o->out[i]->id])
			r->as[o->out[i]->id] = made->out[at++];
	for (int i = 0; i < r->nfeed; i++)
		if (r->feed[i].pipe.loop == o)
			r->feed[i].turn = made->blk[0];
}

void
produce_body(Roles *r, const Block *from, Block *to)
{
	for (const Op *o = from->first; o; o = o->next) {
		if (o->blk[0] && r->keep[o->id])
			produce_way(r, o, to);
		else if (!o->blk[0] && o->nout == 1 && r->need[o->out[0]->id])
			r->as[o->out[0]->id] = op_clone(to, NULL, o, map_as, r)->out[0];
	}
}

/* ---- copies ---------------------------------------------------------------------------------------- */

/* Clones the view of the part that a copy fills, with `buffer` as its base. */
static Val *
part_of(Roles *r, Op *at, Val *part, const Val *tile, Val *buffer)
{
	Op *o = part->def;

	if (part == tile)
		return buffer;
	r->as[view_source(o)->id] = part_of(r, at, view_source(o), tile, buffer);
	return op_clone(at->parent, at, o, map_as, r)->out[0];
}

static Op *
at_barrier(Op *at, OpCode code, Src src, Val *bar, Val *slot, Val *phase)
{
	Val *in[3] = { bar, slot, phase };

	return op_new(at->parent, at, code, src, phase ? 3 : 2, in, 0, NULL);
}

void
produce_copies(Roles *r, Feed *f)
{
	const Pipe *p = &f->pipe;
	Src src = p->loop->src;
	Val *slot, *phase, *in[4];
	const StageBuffers *ring;
	Op *at;

	loop_position(f->turn->owner, p->stages, &slot, &phase);
	at = f->turn->last;
	at_barrier(at, O_mbarrier_wait, src, f->empty, slot,
	           ir_bin(at->parent, at, O_add, phase, ir_const(at->parent, at, 1)));
	in[2] = f->full;
	in[3] = slot;
	for (const Op *o = NULL; (o = ring_copy(p, o, &ring));) {
		in[0] = as(r, copy_source(o));
		in[1] = part_of(r, at, copy_dest(o), ring->alloc->out[0],
		                ring_stage(at->parent, at, ring, slot));
		IMM_SET(op_new(at->parent, at, O_copy, o->src, 4, in, 0, NULL), async, COPY_BARRIER);
	}
	IMM_SET(at_barrier(at, O_mbarrier_arrive, src, f->full, slot, NULL), expect, 1);
}
