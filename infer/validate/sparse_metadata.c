/* sparse_metadata.c - validates that sparse metadata is in the bits and lanes that mma.sp reads.
 *
 * PTX ISA, "Matrix fragments for multiply-accumulate operation with sparse matrix A", figures of the
 * metadata: for 16- and 32-bit elements Ti has bits 0..15 for row g and 16..31 for row g + 8, of its own
 * columns; for 8 and 4 bits Ti has row g (i even) or g + 8 (i odd), and the columns by pairs of lanes. The
 * selector specifies the lanes; instances alternate between them, as IR.md describes. */
#include "infer/validate/validate.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"

static int64_t
common(int64_t x, int64_t y)
{
	return y ? common(y, x % y) : x;
}

typedef struct Metadata {
	int bits;  /* of an element of A */
	int lanes; /* lanes of each four that one instance reads */
	int each;  /* positions per lane */
} Metadata;

static Metadata
metadata(const Instr *in)
{
	int bits = dtype_info[in->ta].bits;

	return (Metadata){
		.bits = bits,
		.lanes = bits >= 16 ? in->k * bits / 256 : in->k * bits / 128,
		.each = bits == 32 ? 8 : 16,
	};
}

/* Computes row and column of position i in lane q of those that are read, g = lane / 4. */
static void
position(const Metadata *x, int g, int q, int i, int64_t *row, int64_t *column)
{
	if (x->bits >= 16) {
		*row = g + i / (x->each / 2) * 8;
		*column = q * (x->each / 2) + i % (x->each / 2);
	} else {
		*row = g + q % 2 * 8;
		*column = q / 2 * 16 + i;
	}
}

bool
prove_positions(Prove *p, const Op *o, const Instr *in, int64_t m0, int64_t k0, int64_t (*c)[3])
{
	const Val *v = mma_extra(o, 0);
	const Ownership *h = held_of(p, v);
	int side = dot_side(o);
	Metadata x = metadata(in);
	int64_t turns = common(dot_k(o) / in->k, 4 / x.lanes), first = k0 / in->k % turns * x.lanes;
	int64_t per = v->type.shape[1 - side], start = k0 * per / dot_k(o), reg = -1, at[2];

	if (!h)
		return false;
	at[side] = m0;
	at[1 - side] = start;
	for (int64_t r = 0; r < h->regs && reg < 0; r++)
		if (h->elem[first * h->regs + r] == index_elem(&v->type, at))
			reg = r;
	if (reg < 0 || reg % x.each || reg + x.each > h->regs)
		return prove_error(p, (int)first, reg, "positions starting at %s do not begin at this "
		                                       "register",
		                   elem_text(p, &v->type, index_elem(&v->type, at)));
	for (int t = 0; t < p->threads; t++) {
		int q = t % 4 - (int)first;
		for (int i = 0; q >= 0 && q < x.lanes && i < x.each; i++) {
			int64_t row, column;
			position(&x, t % WARP_SIZE / 4, q, i, &row, &column);
			at[side] = c[t / WARP_SIZE][side] + row;
			at[1 - side] = start + column;
			if (h->elem[t * h->regs + reg + i] != index_elem(&v->type, at))
				return prove_error(p, t, reg + i, "%s reads the position %s here", in->name,
				                   elem_text(p, &v->type, index_elem(&v->type, at)));
		}
	}
	return true;
}

/* Returns element j of the group of values (or positions) `t` that element `of` of the expanded tile is
 * made from. */
static int64_t
group_elem(const Type *whole, int64_t of, const Type *t, int d, int group, int each, int j)
{
	int64_t c[DIM_MAX] = { 0 };

	type_coord(whole, of, c);
	c[d] = c[d] / group * each + j;
	return index_elem(t, c);
}

/* Validates that a thread that computes an element has its group, in the same registers as thread 0. */
void
prove_sparse_expand(Prove *p, const Op *o)
{
	const Ownership *to = held_of(p, o->out[0]);
	const Type *t = &o->out[0]->type;
	int d = (int)IMM(o, dim);
	Sparse s;

	if (!to || !sparse_of(&sparse_values(o)->type, &sparse_positions(o)->type, d, &s))
		return;
	for (int i = 0; i < 2; i++) {
		const Type *part = &o->in[i]->type;
		const Ownership *h = held_of(p, o->in[i]);
		int each = i ? s.npos : s.kept;

		for (int64_t r = 0; h && r < to->regs; r++)
			for (int j = 0; j < each; j++) {
				int64_t q = reg_of(h, group_elem(t, to->elem[r], part, d, s.group, each, j));
				for (int th = 0; th < p->threads; th++) {
					int64_t want = group_elem(t, to->elem[th * to->regs + r], part, d,
					                          s.group, each, j);
					if (q >= 0 && h->elem[th * h->regs + q] == want)
						continue;
					prove_error(p, th, r, "%s %s is not held by the thread",
					            i ? "position" : "value", elem_text(p, part, want));
					return;
				}
			}
	}
}
