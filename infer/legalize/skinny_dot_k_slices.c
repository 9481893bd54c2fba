/* skinny_dot_k_slices.c - pass lower_skinny_dot: splits the terms of a skinny dot into k slices that are
 * loaded one after the other.
 *
 *     sum over k of a[M, 1, K] * b[1, N, K]
 *       =>  sum over k of a[M, 1, 0 :+ P] * b[1, N, 0 :+ P] + a[M, 1, P :+ P] * b[1, N, P :+ P] + ..
 *
 * A lane's elements of a global-memory operand (outside of loops: for all of k) would exceed its registers.
 * It loads the slices one after the other, each while it multiplies the preceding one. A computed operand
 * goes to shared memory, from which each slice is loaded.
 *
 * requires   an operand loaded from a tensor that the kernel does not write; it may be cast or rearranged
 * preserves  what the kernel computes, except the order of additions */
#include "infer/legalize/skinny_dot.h"

enum {
	FULL = 64,     /* elements of an operand, or terms, that a lane may have at the same time */
	DEPTH = 16,    /* ops between memory and the dot */
	STAGED = 32768, /* bytes of a computed operand that may go to shared memory */
};

static const Op *
load_view(const Op *load)
{
	const Op *view = load_source(load)->def;

	return view && view->code == O_view && view_gather_dim(view) < 0 && !view_has_steps(view) &&
	                       !view_is_longer(view)
	               ? view
	               : NULL;
}

/* Can a slice of v along dim d be loaded at any offset? Loads of the program's shared memory cannot. */
static bool
can_part(const Kernel *k, const Val *v, int d, int depth)
{
	const Op *o = v->def;
	const Val *tensor;

	if (v->type.shape[d] == 1 || (o && (o->code == O_const || o->code == O_splat)))
		return true;
	if (!o || depth == 0 || v->type.pinned)
		return false;
	if (o->code == O_load) {
		tensor = view_root(load_source(o));
		return !IMM(o, space_open) && load_view(o) && tensor->type.space == S_global &&
		       val_param(k, tensor) && !val_param(k, tensor)->written;
	}
	if (o->code == O_transpose)
		return can_part(k, op_source(o), (int)IMM_AT(o, perm, d), depth - 1);
	if (!op_is(o, F_ELT) && o->code != O_broadcast)
		return false;
	for (int i = 0; i < o->nin; i++)
		if (!can_part(k, o->in[i], d, depth - 1))
			return false;
	return true;
}

/* Returns a view of n elements of memory `mem` along dim d, starting at `from`. */
static Val *
part_of_memory(InsertPoint p, Val *mem, int d, int64_t from, int64_t n)
{
	Val *in[1 + DIM_MAX] = { mem };
	Type index = type_scalar(D_i64), t = mem->type;

	for (int e = 0; e < t.rank; e++) {
		in[1 + e] = thin_put(p, O_const, NULL, NULL, index);
		IMM_SET(in[1 + e]->def, value, e == d ? from : 0);
	}
	t = type_free(t);
	t.space = mem->type.space;
	t.shape[d] = n;
	return op_new(p.in, p.at, O_view, p.src, 1 + mem->type.rank, in, 1, &t)->out[0];
}

static Val *
instead(void *user, Val *v)
{
	(void)v;
	return *(*(Val ***)user)++;
}

/* Returns the slice of v, for which can_part() is true. */
static Val *
part(InsertPoint p, Val *v, int d, int64_t from, int64_t n)
{
	Val *in[DIM_MAX] = { 0 }, **next = in;
	Op *o = v->def;

	if (v->type.shape[d] == 1)
		return v;
	if (o->code == O_load)
		in[0] = part_of_memory(p, load_source(o), d, from, n);
	for (int i = 0; o->code != O_load && o->code != O_const && o->code != O_splat && i < o->nin; i++)
		in[i] = part(p, o->in[i], o->code == O_transpose ? (int)IMM_AT(o, perm, d) : d, from, n);
	if (o->code == O_splat)
		in[0] = op_source(o);
	o = op_clone(p.in, p.at, o, instead, &next);
	o->out[0]->type = type_free(v->type);
	o->out[0]->type.shape[d] = n;
	return o->out[0];
}

/* Returns the number of k indices per slice, so that they are distributed evenly over threads; k if it is
 * not split. */
static int64_t
part_length(const Kernel *k, const Type *all, int bits)
{
	int last = all->rank - 1, access = 128 / (bits < 8 ? 8 : bits);
	int64_t threads = (int64_t)k->warps * 32, terms = 1, many = all->shape[last];

	for (int d = 0; d < last; d++)
		terms *= all->shape[d];
	if (terms * many <= FULL * threads)
		return many;
	for (int64_t n = many / 2; n >= access; n--)
		if (many % n == 0 && n % access == 0 && terms * n <= FULL * threads &&
		    terms * n % (threads * access) == 0)
			return n;
	return many;
}

/* Stores computed operand v to shared memory before the dot. */
static Val *
staged(InsertPoint p, Val *v)
{
	Type t = type_free(v->type);
	Val *in[2] = { v, NULL };

	t.space = S_shared;
	in[1] = thin_put(p, O_alloc, NULL, NULL, t);
	in[1]->name = v->name;
	op_new(p.in, p.at, O_store, p.src, 2, in, 0, NULL);
	return in[1];
}

Val *
thin_terms_in_parts(Kernel *k, InsertPoint p, const Op *dot, Type all)
{
	int r = mma_a(dot)->type.rank, dim[2] = { r - 1, r - 2 }, last = all.rank - 1, loads = 0;
	int64_t many = all.shape[last], n;
	bool parts[2];
	Val *mem[2] = { NULL, NULL }, *ahead[2], *sum = NULL;

	n = part_length(k, &all, dtype_info[mma_b(dot)->type.dtype].bits);
	if (n == many)
		return NULL;
	for (int i = 0; i < 2; i++) {
		const Type *t = &dot->in[i]->type;

		parts[i] = can_part(k, dot->in[i], dim[i], DEPTH);
		loads += parts[i] && type_size(t) > many;
		if (!parts[i] && (t->pinned || type_size(t) * dtype_info[t->dtype].bits / 8 > STAGED))
			return NULL;
	}
	if (!loads)
		return NULL;
	for (int i = 0; i < 2; i++)
		if (!parts[i])
			mem[i] = staged(p, dot->in[i]);
	for (int64_t from = 0; from <= many; from += n) {
		Val *now[2] = { ahead[0], ahead[1] };

		for (int i = 0; i < 2 && from < many; i++) {
			Type t = type_free(dot->in[i]->type);

			t.shape[dim[i]] = n;
			ahead[i] = parts[i] ? part(p, dot->in[i], dim[i], from, n)
			                    : thin_put(p, O_load, part_of_memory(p, mem[i], dim[i], from, n),
			                               NULL, t);
		}
		if (from > 0)
			sum = thin_add_terms(p, now, all, n, sum);
	}
	return sum;
}
