/* mma.c - validates MMAs: every term is computed once, from the registers that the instruction reads.
 *
 * Fragment formulas: PTX ISA 9.7.14, "Matrix Fragments for mma.m8n8k4 ... mma.m16n8k64".
 * g = lane / 4, q = lane % 4. */
#include "infer/validate/validate.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"
#include <string.h>

typedef struct RowCol {
	int r, c;
} RowCol;

/* Returns the elements of A or B per register: 32 bits; f64 has separate registers. */
static int
register_elems(DType d)
{
	return dtype_info[d].bits > 32 ? 1 : 32 / dtype_info[d].bits;
}

/* Returns the position of element i of a lane's fragment: for A (which 0) as (m, k), B (1) as (k, n), C (2)
 * as (m, n). */
static RowCol
fragment(const Instr *in, int which, int lane, int i)
{
	int g = lane / 4, q = lane % 4;
	int word = register_elems(which == 1 ? in->tb : in->ta);

	if (which == 2)
		return (RowCol){ g + (i >= 2 ? 8 : 0), 2 * q + i % 2 };
	if (which == 1)
		return (RowCol){ q * word + i % word + i / word * 4 * word, g };
	/* A: words alternate between rows g and g + 8, then follows the upper half of k; m8 has one word */
	return (RowCol){ g + (i / word % 2 && in->m == 16 ? 8 : 0),
		         q * word + i % word + i / (2 * word) * 4 * word };
}

/* Fragment positions as the op uses them: if swapped, the op's A is the instruction's B transposed, and
 * vice versa. */
static RowCol
part(const Prove *p, const Instr *in, int which, int lane, int i)
{
	RowCol z;

	if (!p->op->lowering->dot.swap)
		return fragment(in, which, lane, i);
	z = fragment(in, which < 2 ? 1 - which : 2, lane, i);
	return (RowCol){ z.c, z.r };
}

static int
fragment_size(const Instr *in, int which)
{
	int k = which == 0 && in->kind == IK_mma_sp ? in->k / 2 : in->k;

	return (which == 0 ? in->m * k : which == 1 ? k * in->n
	                                            : in->m * in->n) /
	       WARP_SIZE;
}

/* The order in which the instances take the indices of m, n or k: at[index] is its position, by[position]
 * the index. */
typedef struct InstanceOrder {
	int64_t *at, *by;
} InstanceOrder;

enum { M, N, K };

static bool
read_order(Prove *p, const char *name, int64_t n, const Layout *map, InstanceOrder *out)
{
	out->at = arena_alloc(p->arena, sizeof *out->at * (size_t)n);
	out->by = arena_alloc(p->arena, sizeof *out->by * (size_t)n);
	for (int64_t i = 0; i < n; i++)
		out->by[i] = -1;
	if (map && (map->ndim != 1 || layout_size(map) != n))
		return prove_error(p, -1, 0, "the permutation of %s is not over %lld indices",
		                   name, (long long)n);
	for (int64_t i = 0; i < n; i++) {
		int64_t at = map ? mem_offset(map, &i) : i;
		if (at < 0 || at >= n || out->by[at] >= 0)
			return prove_error(p, -1, 0, "%s = %lld has no unique position in the permutation "
			                             "of %s",
			                   name,
			                   (long long)i, name);
		out->at[i] = at;
		out->by[at] = i;
	}
	return true;
}

static bool
read_orders(Prove *p, const Op *o, InstanceOrder *out)
{
	const int64_t *c = &o->out[0]->type.shape[dot_batch(o)];

	if (dot_is_scaled(o) && (o->lowering->dot.k || o->lowering->dot.cols || o->lowering->dot.rows))
		return prove_error(p, -1, 0, "block scales require the default k order");
	if (dot_is_sparse(o) &&
	    (o->lowering->dot.k || (dot_side(o) ? o->lowering->dot.cols : o->lowering->dot.rows)))
		return prove_error(p, -1, 0, "sparse metadata requires the default order");
	return read_order(p, "m", c[0], o->lowering->dot.rows, &out[M]) &&
	       read_order(p, "n", c[1], o->lowering->dot.cols, &out[N]) &&
	       read_order(p, "k", dot_k(o), o->lowering->dot.k, &out[K]);
}

/* Position of an instance: row and column in its operand, and the index of the batch. */
enum { ROW, COL, BATCH, PLACE };

/* Returns the element at those indices of a matrix of t. */
static int64_t
matrix_elem(const Type *t, int64_t row, int64_t col, int64_t batch)
{
	const int64_t *shape = &t->shape[t->rank - 2];

	return (batch * shape[0] + row) * shape[1] + col;
}

static void
matrix_place(const Type *t, int64_t elem, int64_t out[PLACE])
{
	const int64_t *shape = &t->shape[t->rank - 2];

	out[COL] = elem % shape[1];
	out[ROW] = elem / shape[1] % shape[0];
	out[BATCH] = elem / shape[1] / shape[0];
}

/* Validates one operand of the instance at `first` in thread 0: every lane of every warp must own the
 * formula's elements in the same registers, relative to a base that is returned per warp. */
static bool
instance(Prove *p, const Op *o, const Instr *in, int which, const InstanceOrder *order,
	 const int64_t at0[PLACE],
         int64_t (*base)[PLACE], int64_t *used)
{
	const Val *v = which < 2 ? o->in[which] : o->out[0];
	const InstanceOrder *row = &order[which == 1 ? K : M], *col = &order[which == 0 ? K : N];
	const Ownership *h = held_of(p, v);
	const Type *t = &v->type;
	int packed = register_elems(t->dtype);
	int64_t first = -1;

	for (int i = 0; i < fragment_size(in, o->lowering->dot.swap && which < 2 ? 1 - which : which); i++) {
		RowCol z = part(p, in, which, 0, i);
		int64_t elem = matrix_elem(t, row->by[at0[ROW] + z.r], col->by[at0[COL] + z.c],
		                           at0[BATCH]);
		int64_t reg = reg_of(h, elem);

		if (reg < 0)
			return prove_error(p, 0, 0, "operand %d: %s is not in lane 0", which,
			                   elem_text(p, t, elem));
		if (i % packed == 0)
			first = reg;
		if (first % packed || reg != first + i % packed)
			return prove_error(p, 0, reg, "operand %d: element %d of the fragment is not packed",
			                   which, i);
		used[reg]++;
		for (int th = 0; th < p->threads; th++) {
			RowCol f = part(p, in, which, th % WARP_SIZE, i);
			int64_t *b = base[th / WARP_SIZE], have[PLACE];
			matrix_place(t, h->elem[th * h->regs + reg], have);
			have[ROW] = row->at[have[ROW]];
			have[COL] = col->at[have[COL]];
			if (i == 0 && th % WARP_SIZE == 0) {
				b[ROW] = have[ROW] - f.r;
				b[COL] = have[COL] - f.c;
				b[BATCH] = have[BATCH];
			}
			if (have[ROW] != b[ROW] + f.r || have[COL] != b[COL] + f.c || have[BATCH] != b[BATCH])
				return prove_error(p, th, reg, "operand %d has %s where %s reads (%lld,%lld)",
				                   which, elem_text(p, t, h->elem[th * h->regs + reg]),
				                   in->name, (long long)(b[ROW] + f.r),
				                   (long long)(b[COL] + f.c));
		}
	}
	return true;
}

/* Validates all k of one tile of C: the bases agree, and k is covered once. */
static bool
along_k(Prove *p, const Op *o, const Instr *in, const InstanceOrder *order, const int64_t at[PLACE],
        int64_t (*c)[PLACE], int64_t *ua, int64_t *ub)
{
	int64_t k = dot_k(o), half[2] = { 1, 1 }; /* a sparse operand stores one in two elements */
	int warps = p->threads / WARP_SIZE;
	int64_t(*a)[PLACE] = arena_alloc(p->arena, sizeof *a * (size_t)warps);
	int64_t(*b)[PLACE] = arena_alloc(p->arena, sizeof *b * (size_t)warps);

	if (k % in->k)
		return prove_error(p, -1, 0, "%s has %d elements of k per instruction, the tile has %lld",
		                   in->name, in->k,
		             (long long)k);
	if (dot_is_sparse(o))
		half[dot_side(o)] = 2;
	for (int64_t k0 = 0; k0 < k; k0 += in->k) {
		const int64_t at_a[PLACE] = { at[ROW], k0 / half[0], at[BATCH] };
		const int64_t at_b[PLACE] = { k0 / half[1], at[COL], at[BATCH] };

		if (!instance(p, o, in, 0, order, at_a, a, ua) ||
		    !instance(p, o, in, 1, order, at_b, b, ub) ||
		    (dot_is_sparse(o) && !prove_positions(p, o, in, at[dot_side(o)], k0, c)) ||
		    (dot_is_scaled(o) && !prove_scales(p, o, in, at[ROW], at[COL], k0, c)))
			return false;
		for (int w = 0; w < warps; w++) {
			if (a[w][BATCH] != c[w][BATCH] || b[w][BATCH] != c[w][BATCH])
				return prove_error(p, w * WARP_SIZE, 0,
				                   "the product of A of batch %lld and B of batch %lld is "
				                   "added to C of batch %lld",
				                   (long long)a[w][BATCH], (long long)b[w][BATCH],
				                   (long long)c[w][BATCH]);
			if (a[w][0] != c[w][0] || b[w][1] != c[w][1] || a[w][1] * half[0] != k0 ||
			    b[w][0] * half[1] != k0)
				return prove_error(p, w * WARP_SIZE, 0,
				                   "the product of A at (%lld,%lld) and B at (%lld,%lld) "
				                   "is added to C at (%lld,%lld)",
				                   (long long)a[w][0], (long long)a[w][1], (long long)b[w][0],
				                   (long long)b[w][1], (long long)c[w][0],
				                   (long long)c[w][1]);
		}
	}
	return true;
}

static void
prove_mma(Prove *p, const Op *o, const Instr *in)
{
	const Ownership *hc = held_of(p, o->out[0]), *ha = held_of(p, mma_a(o)), *hb = held_of(p, mma_b(o));
	const Type *t = &o->out[0]->type;
	int64_t(*base)[PLACE] = arena_alloc(p->arena, sizeof *base * (size_t)(p->threads / WARP_SIZE));
	int64_t *uc, *ua, *ub;
	bool swap = o->lowering->dot.swap;
	InstanceOrder order[3];

	if (!hc || !ha || !hb || !read_orders(p, o, order) || !prove_part(p, o, (int)in->k))
		return;
	uc = NEWN(p->arena, int64_t, hc->regs);
	ua = NEWN(p->arena, int64_t, ha->regs);
	ub = NEWN(p->arena, int64_t, hb->regs);
	for (int64_t r = 0; r < hc->regs; r++) {
		int64_t c[PLACE];
		matrix_place(t, hc->elem[r], c); /* lane 0 of warp 0: a base is a multiple in both */
		c[ROW] = order[M].at[c[ROW]];
		c[COL] = order[N].at[c[COL]];
		if (c[ROW] % (swap ? in->n : in->m) || c[COL] % (swap ? in->m : in->n))
			continue;
		if (!instance(p, o, in, 2, order, c, base, uc) || !along_k(p, o, in, order, c, base, ua, ub))
			return;
	}
	for (int64_t r = 0; r < hc->regs; r++)
		if (uc[r] != 1) {
			prove_error(p, 0, r, "this fragment of the result is computed %lld times; expected "
			                     "once", (long long)uc[r]);
			return;
		}
}

/* Validates the FMA lowering: for each of its results, a lane needs the full row and column. */
static void
prove_fma(Prove *p, const Op *o)
{
	const Ownership *hc = held_of(p, o->out[0]), *ha = held_of(p, mma_a(o)), *hb = held_of(p, mma_b(o));
	int64_t k = dot_k(o);
	const Type *ta = &mma_a(o)->type, *tb = &mma_b(o)->type, *tc = &o->out[0]->type;

	if (!hc || !ha || !hb)
		return;
	for (int64_t r = 0; r < hc->regs; r++)
		for (int64_t x = 0; x < k; x++) {
			int64_t c[PLACE], ra, rb;

			matrix_place(tc, hc->elem[r], c);
			ra = reg_of(ha, matrix_elem(ta, c[ROW], x, c[BATCH]));
			rb = reg_of(hb, matrix_elem(tb, x, c[COL], c[BATCH]));
			for (int t = 0; t < p->threads; t++) {
				int64_t m[PLACE];

				matrix_place(tc, hc->elem[t * hc->regs + r], m);
				if (ra < 0 || rb < 0 ||
				    ha->elem[t * ha->regs + ra] != matrix_elem(ta, m[ROW], x, m[BATCH]) ||
				    hb->elem[t * hb->regs + rb] != matrix_elem(tb, x, m[COL], m[BATCH])) {
					prove_error(p, t, r, "k = %lld of %s is not held by the thread",
					            (long long)x,
					            elem_text(p, tc, hc->elem[t * hc->regs + r]));
					return;
				}
			}
		}
}

static void
alike(Prove *p, const Val *x, const Val *y)
{
	const Ownership *a = held_of(p, x), *b = held_of(p, y);

	if (a && b &&
	    (a->regs != b->regs ||
	     memcmp(a->elem, b->elem, sizeof *a->elem * (size_t)(p->threads * a->regs))))
		prove_error(p, -1, 0, "the accumulator's layout is %s before and %s after",
		            layout_print(p->arena, x->type.layout), layout_print(p->arena, y->type.layout));
}

void
prove_dot(Prove *p, const Op *o)
{
	const Instr *in = instr_of(o->lowering);

	alike(p, mma_acc(o), o->out[0]);
	if (!in)
		prove_error(p, -1, 0, "no instruction was chosen");
	else if ((in->kind == IK_mma_sp) != dot_is_sparse(o) ||
	         (in->kind == IK_mma_scaled) != dot_is_scaled(o) ||
	         (dot_is_sparse(o) && o->lowering->dot.swap != (dot_side(o) == 1)))
		prove_error(p, -1, 0, "%s does not support these operands", in->name);
	else if (in->kind != IK_fma &&
	         (in->ta != o->in[o->lowering->dot.swap]->type.dtype ||
	          in->tb != o->in[!o->lowering->dot.swap]->type.dtype || in->acc != o->out[0]->type.dtype ||
	          !instr_on(in, p->k->unit->target)))
		prove_error(p, -1, 0, "%s does not support these types on %s",
		            in->name, p->k->unit->target->name);
	else if (in->kind != IK_fma)
		prove_mma(p, o, in);
	else
		prove_fma(p, o);
}

/* Transposes, broadcasts, slices and concats rename registers: lane 0's source register must be correct for
 * all lanes. Returns the element of operand *i that becomes element `elem` of the result. */
static int64_t
source_elem(const Op *o, int64_t elem, int *i)
{
	const Type *to = &o->out[0]->type, *from = &o->in[0]->type;
	int64_t c[DIM_MAX] = { 0 }, s[DIM_MAX] = { 0 };

	*i = 0;
	if (o->code == O_reshape)
		return elem; /* row-major indices stay the same */
	type_coord(to, elem, c);
	for (int d = 0; d < to->rank; d++)
		if (o->code == O_transpose)
			s[IMM_AT(o, perm, d)] = c[d];
		else if (o->code == O_slice)
			s[d] = d == IMM(o, dim) ? c[d] + IMM(o, from) : c[d];
		else if (o->code == O_concat)
			s[d] = c[d];
		else
			s[d] = from->shape[d] == 1 ? 0 : c[d];
	if (o->code == O_concat && s[IMM(o, dim)] >= from->shape[IMM(o, dim)]) {
		s[IMM(o, dim)] -= from->shape[IMM(o, dim)];
		*i = 1;
	}
	return index_elem(&o->in[*i]->type, s);
}

void
prove_regmap(Prove *p, const Op *o)
{
	const Ownership *to = held_of(p, o->out[0]), *from[2] = { NULL };

	for (int i = 0; i < o->nin; i++)
		if (!(from[i] = held_of(p, o->in[i])))
			return;
	if (!to)
		return;
	for (int64_t r = 0; r < to->regs; r++) {
		int i, j;
		int64_t q = source_elem(o, to->elem[r], &i);

		q = reg_of(from[i], q);
		for (int t = 0; t < p->threads; t++) {
			int64_t want = source_elem(o, to->elem[t * to->regs + r], &j);
			if (q < 0 || i != j || from[i]->elem[t * from[i]->regs + q] != want) {
				prove_error(p, t, r, "the operand's %s is not held by the thread",
				            elem_text(p, &o->in[j]->type, want));
				return;
			}
		}
	}
}

/* Validates a shift: operand and result have the same layout, and each element's source is in the same
 * warp. */
void
prove_shift(Prove *p, const Op *o)
{
	const Ownership *to = held_of(p, o->out[0]), *from = held_of(p, op_source(o));
	const Type *t = &op_source(o)->type;
	int d = (int)IMM(o, dim);

	if (!to || !from)
		return;
	if (!layout_equal(op_source(o)->type.layout, o->out[0]->type.layout)) {
		prove_error(p, -1, 0, "operand and result have different layouts");
		return;
	}
	for (int th = 0; th < p->threads; th++)
		for (int64_t r = 0; r < to->regs; r++) {
			int64_t c[DIM_MAX] = { 0 }, want;
			bool found = false;

			type_coord(t, to->elem[th * to->regs + r], c);
			c[d] -= IMM(o, by);
			if (c[d] < 0)
				continue;
			want = index_elem(t, c);
			for (int x = 0; x < WARP_SIZE && !found; x++)
				for (int64_t q = 0; !found && q < from->regs; q++)
					found = from->elem[(th - th % WARP_SIZE + x) * from->regs + q] ==
					        want;
			if (!found) {
				prove_error(p, th, r, "%s is in no lane of the warp", elem_text(p, t, want));
				return;
			}
		}
}
