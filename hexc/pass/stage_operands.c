/* stage_operands.c - pass stage_operands: stages dot operands computed in or carried by a loop through shared
 * memory, as an alternative for the search.
 *
 *     s' = cast s; dot(q, s')  =>  s' = cast s; m = alloc; store s' to m; dot(q, load m)
 *
 * The best layout of a large carried state is that of the accumulator that updates it. The best layout for
 * its dot is an operand layout, replicated over several warps. In registers one layout must serve for all
 * that the loop carries; through (narrow) shared memory each has its own. Operands computed before a loop and
 * read in it occupy registers throughout. With the FMA lowering an operand element is in many lanes, which
 * would all compute it, and each lane has all of k. The search determines which alternative is better: it
 * keeps the alloc or removes it (assign_space.c). Operands shared by several dots of a loop, or kept in
 * registers by the program, are tried in shared memory only if everything else spills.
 *
 * requires   nothing
 * preserves  what the kernel computes
 * produces   allocs that are TABLE_OPERAND or TABLE_KEPT; no tile that is `kept` */
#include "hexc/pass/pass.h"
#include "hexc/pass/register_gather.h"

enum { DEPTH = 16, FEW = 1024 }; /* elements of a tile that may be replicated in every lane */

/* Returns the loop-carried tile from which v is computed by elementwise ops and moves only; NULL: none. */
static const Val *
carried(const Val *v, int depth)
{
	const Op *o = v->def;
	const Val *x = NULL;

	if (v->type.space != S_reg || depth == 0)
		return NULL;
	if (!o)
		return v->type.rank > 1 && type_size(&v->type) >= FEW && !v->type.pinned ? v : NULL;
	for (int i = 0; !x && (op_is(o, F_ELT) || op_moved(o)) && i < o->nin; i++)
		x = carried(o->in[i], depth - 1);
	return x;
}

/* Is v computed before a loop around o, so that it would occupy registers throughout the loop? */
static bool
lives_through(const Val *v, const Op *o)
{
	if (type_size(&v->type) < FEW)
		return false;
	for (const Block *b = o->parent; b != v->block && b->owner; b = b->owner->parent)
		if (b->owner->code == O_for)
			return true;
	return false;
}

/* Do dots of this type use the FMA lowering, in which each lane has all of k of its rows and columns? */
static bool
is_by_lanes(const Op *dot)
{
	DType d = mma_a(dot)->type.dtype;

	return dtype_info[d].bits == 32 && d != D_tf32;
}

/* Is v loaded, apart from masks and moves: from shared memory, or from a slice with unspecified space? */
static bool
is_loaded(const Val *v)
{
	while (v->def && (v->def->code == O_mask || op_moved(v->def)))
		v = v->def->in[0];
	return v->def && v->def->code == O_load &&
	       (load_source(v->def)->type.space == S_shared || IMM(v->def, space_open));
}

/* Does the program place v, apart from masks, in registers? */
static bool
is_told(const Val *v)
{
	while (v->def && v->def->code == O_mask && !v->type.kept)
		v = mask_source(v->def);
	return v->type.kept || (v->def && v->def->code == O_load);
}

/* Is v elementwise, apart from masks? */
static bool
is_computed(const Val *v)
{
	while (v->def && v->def->code == O_mask)
		v = mask_source(v->def);
	return v->def && op_is(v->def, F_ELT);
}

static bool
in_loop(const Block *b)
{
	for (; b->owner; b = b->owner->parent)
		if (b->owner->code == O_for)
			return true;
	return false;
}

/* A load in place of an operand, which the next dot of the block reuses if it reads the same operand on the
 * same side. */
typedef struct Loaded {
	const Val *factor;
	const Op *dot; /* the last dot that uses it */
	int side;
	Val *v;
} Loaded;

typedef struct OperandStaging {
	Kernel *k;
	Val **mem;      /* by value id: the alloc it is stored to */
	int *readers;   /* by value id, of original values: number of dots that read it */
	uint32_t *uses; /* by value id, of original values */
	Loaded *loaded;
	int n, cap;
} OperandStaging;

/* Returns an operand before transposes and other moves. */
static Val *
before_moves(Val *v)
{
	while (v->def && op_moved(v->def) && !v->type.kept)
		v = op_moved(v->def);
	return v;
}

/* Counts the dots that read each value, by value id. */
static int *
count_readers(Kernel *k)
{
	int *n = NEWN(k->unit->arena, int, k->nval + 1);
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; o->code == O_dot && i < 2; i++)
			n[before_moves(o->in[i])->id]++;
	return n;
}

/* Returns the operand to stage and its kind; NULL: it stays in registers. */
static Val *
operand_of(const OperandStaging *s, const Op *dot, int side, TableKind *kind)
{
	Val *v = before_moves(dot->in[side]);

	if (v->type.space != S_reg || v->type.rank < 2 || v->type.pinned)
		return NULL;
	*kind = TABLE_OPERAND;
	if (v->def && op_is(v->def, F_ELT) && !v->type.kept && (carried(v, DEPTH) || lives_through(v, dot)))
		return v;
	if (type_size(&v->type) < FEW || (v->def && op_is(v->def, F_FILL)) || is_loaded(v))
		return NULL;
	if (is_by_lanes(dot)) {
		*kind = is_told(v) ? TABLE_KEPT : TABLE_OPERAND;
		return v;
	}
	*kind = TABLE_KEPT;
	return is_computed(v) && !is_told(v) && s->readers[v->id] > 1 && in_loop(dot->parent) ? v : NULL;
}

/* Returns the memory to which x is stored, creating it if needed; src: location of the dot, if x has none. */
static Val *
memory_of(OperandStaging *s, Val *x, TableKind kind, Src src)
{
	Type t = type_free(x->type);
	Val *in[2] = { x, NULL };
	Op *next = x->def ? x->def->next : x->block->first;

	if (s->mem[x->id])
		return s->mem[x->id];
	if (x->def)
		src = x->def->src;
	t.space = S_shared;
	in[1] = op_new(x->block, next, O_alloc, src, 0, NULL, 1, &t)->out[0];
	in[1]->name = x->name;
	IMM_SET(in[1]->def, table, kind);
	op_new(x->block, next, O_store, src, 2, in, 0, NULL);
	return s->mem[x->id] = in[1];
}

static Val *
instead(void *user, Val *v)
{
	(void)v;
	return user;
}

/* Recomputes v, a rearrangement of x, before op `at` from memory. */
static Val *
load_again(Op *at, const Val *v, const Val *x, Val *mem)
{
	Type t = type_free(x->type);
	Val *in;

	if (v == x)
		return op_new(at->parent, at, O_load, at->src, 1, &mem, 1, &t)->out[0];
	in = load_again(at, op_moved(v->def), x, mem);
	return op_clone(at->parent, at, v->def, instead, in)->out[0];
}

/* Removes one use of v; unused rearrangements of x are unlinked. */
static void
drop(OperandStaging *s, const Val *v, const Val *x)
{
	while (--s->uses[v->id] == 0 && v != x) {
		const Val *of = op_moved(v->def);

		op_unlink(v->def);
		v = of;
	}
}

/* Is `dot` the next dot after the other in its block, without nested regions in between? */
static bool
follows(const Op *dot, const Op *other)
{
	const Op *o = other->next;

	if (dot->parent != other->parent)
		return false;
	while (o && o != dot && o->code != O_dot && !o->blk[0])
		o = o->next;
	return o == dot;
}

/* Loads the operand of a dot. Consecutive dots share it in registers; with the FMA lowering each loads its
 * own, as it has all of k. */
static Val *
load_for(OperandStaging *s, Op *dot, int side, Val *x, TableKind kind)
{
	const Val *factor = dot->in[side];
	Loaded l = { factor, dot, side, NULL };

	for (int i = 0; i < s->n && !is_by_lanes(dot); i++) {
		Loaded *other = &s->loaded[i];

		if (other->factor == factor && other->side == side && follows(dot, other->dot)) {
			other->dot = dot;
			return other->v;
		}
	}
	l.v = load_again(dot, factor, x, memory_of(s, x, kind, dot->src));
	VEC_PUSH(s->k->unit->arena, s->loaded, s->n, s->cap, l);
	return l.v;
}

static void
stage(OperandStaging *s, Op *dot, int side, Val *x, TableKind kind)
{
	const Val *factor = dot->in[side];

	dot->in[side] = load_for(s, dot, side, x, kind);
	drop(s, factor, x);
}

/* Returns the op of this kind that has the alloc as operand i. */
static Op *
user_of(Kernel *k, const Op *alloc, OpCode code, int i)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == code && o->in[i] == alloc->out[0])
			return o;
	return NULL;
}

const char *
operand_name(Kernel *k, const Op *alloc)
{
	const Val *x = store_value(user_of(k, alloc, O_store, IN_store_dest)), *of = carried(x, DEPTH);

	if (x->name || !of || !of->name)
		return x->name;
	return arena_printf(k->unit->arena, "%s(%s)", dtype_info[x->type.dtype].name, of->name);
}

void
operand_direct(Kernel *k, Op *alloc)
{
	Op *store = user_of(k, alloc, O_store, 1), *load;

	while ((load = user_of(k, alloc, O_load, 0)) != NULL) {
		val_replace(k, load->out[0], store_value(store));
		op_unlink(load);
	}
	op_unlink(store);
	op_unlink(alloc);
}

/* Clears the flag; later passes must not depend on it. */
static bool
clear_kept_flags(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nout; i++) {
			changed |= o->out[i]->type.kept;
			o->out[i]->type.kept = false;
		}
	return changed;
}

bool
pass_stage_operands(Kernel *k)
{
	OperandStaging s = { .k = k, .mem = NEWN(k->unit->arena, Val *, k->nval + 1),
	            .uses = kernel_uses(k), .readers = count_readers(k) };
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; o->code == O_dot && i < 2; i++) {
			TableKind kind;
			Val *x = operand_of(&s, o, i, &kind);

			if (x)
				stage(&s, o, i, x, kind);
		}
	return clear_kept_flags(k) || s.n > 0;
}
