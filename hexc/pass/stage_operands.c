/* stage_operands.c - pass stage_operands: what products read of tiles that loops carry.
 *
 *     s' = cast s; dot(q, s')  =>  s' = cast s; m = alloc; store s' to m; dot(q, load m)
 *
 * A state of many elements lies best as the sums that are added to it, and its product with something best
 * as an operand, which several warps hold.  In registers one of these is the layout of all that the loop
 * carries; by way of shared memory, narrow, each is what it likes.  What is computed in front of a loop and
 * read in it takes registers all the time; and where lanes multiply and add, each element of a factor is in
 * many of them, which all would compute it, and each has all of k.  Which of the two is better the search
 * finds out: it makes the alloc a tile or takes it away again (assign_space.c).  What several products of a
 * loop share, and what the program keeps in registers, is tried in shared memory only where all else spills.
 *
 * needs   nothing
 * keeps   what the kernel computes
 * leaves  allocs that are TABLE_OPERAND or TABLE_KEPT; no tile that is `kept` */
#include "hexc/pass/pass.h"
#include "hexc/pass/register_gather.h"

enum { DEPTH = 16, FEW = 1024 }; /* elements of a tile that any lane may hold */

/* The tile that a loop around v carries and that v is computed of, elementwise and by moves alone; NULL:
 * there is none. */
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

/* Is v, computed in front of a loop around o, in registers all the time where it stays in registers? */
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

/* Are products of such types sums by lanes, each of which has all of k of its rows and columns? */
static bool
is_by_lanes(const Op *dot)
{
	DType d = dot->in[0]->type.dtype;

	return dtype_info[d].bits == 32 && d != D_tf32;
}

/* Is it what a load brings, as it is but for an edge: from shared memory, or a slice of which the program
 * does not say where it lives? */
static bool
is_loaded(const Val *v)
{
	while (v->def && (v->def->code == O_mask || op_moved(v->def)))
		v = v->def->in[0];
	return v->def && v->def->code == O_load &&
	       (v->def->in[0]->type.space == S_shared || IMM(v->def, free));
}

/* Does the program say that v, but for its edge, is in registers? */
static bool
is_told(const Val *v)
{
	while (v->def && v->def->code == O_mask && !v->type.kept)
		v = v->def->in[0];
	return v->type.kept || (v->def && v->def->code == O_load);
}

/* Elementwise, perhaps with an edge? */
static bool
is_computed(const Val *v)
{
	while (v->def && v->def->code == O_mask)
		v = v->def->in[0];
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

/* What was loaded in place of a factor: the next product of the block has it from there, if it has it on the
 * same side. */
typedef struct Loaded {
	const Val *factor;
	const Op *dot; /* the last that has it */
	int side;
	Val *v;
} Loaded;

typedef struct OperandStaging {
	Kernel *k;
	Val **mem;      /* by value id: where it is written */
	int *readers;   /* by value id: products, of what was there */
	uint32_t *uses; /* by value id, of those that were there */
	Loaded *loaded;
	int n, cap;
} OperandStaging;

/* A factor in front of transposes and the like. */
static Val *
before_moves(Val *v)
{
	while (v->def && op_moved(v->def) && !v->type.kept)
		v = op_moved(v->def);
	return v;
}

/* How often products read what they are made of, by value id. */
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

/* What a product reads, and what is tried of it; NULL: it stays in registers. */
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

/* Where x is written, for a product at src. */
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

/* v, which is x rearranged, in front of op `at`, from memory. */
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

/* One reader of v less: what rearranged x for nobody else goes. */
static void
drop(OperandStaging *s, const Val *v, const Val *x)
{
	while (--s->uses[v->id] == 0 && v != x) {
		const Val *of = op_moved(v->def);

		op_unlink(v->def);
		v = of;
	}
}

/* Is `dot` the next product behind the other, nothing else with products in between? */
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

/* What products share is in registers from one to the other: of sums by lanes all of it. */
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

/* The op of a kind that has the alloc as operand i. */
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
	const Val *x = user_of(k, alloc, O_store, 1)->in[0], *of = carried(x, DEPTH);

	if (x->name || !of || !of->name)
		return x->name;
	return arena_printf(k->unit->arena, "%s(%s)", dtype_info[x->type.dtype].name, of->name);
}

void
operand_direct(Kernel *k, Op *alloc)
{
	Op *store = user_of(k, alloc, O_store, 1), *load;

	while ((load = user_of(k, alloc, O_load, 0)) != NULL) {
		val_replace(k, load->out[0], store->in[0]);
		op_unlink(load);
	}
	op_unlink(store);
	op_unlink(alloc);
}

/* From here on nobody asks. */
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
