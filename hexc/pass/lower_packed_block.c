/* lower_packed_block.c - chooses the block shape of a packed tensor for pass lower_packed, from its slices
 * and dots.
 *
 * A warp reads a block; a lane's part is complete elements in complete words: 16 bytes of 4 or 8 bits, 32
 * elements of other widths. A block has 16 rows, as the fragments of all instructions have for a warp, or
 * more if slices along k are short. In these fragments a lane holds 8 of 16 x 16 elements (two rows, two
 * pairs or quads along k, ..), so blocks suit either operand: packs do not depend on the operand. */
#include "hexc/pass/lower_packed.h"

enum { ROWS = 16, DEPTH = 24 };

static bool
takes(const Slices *s, int64_t n, int64_t k, int64_t block[2])
{
	block[s->k] = k;
	block[1 - s->k] = n / k;
	return k >= s->k_least && s->step[0] % block[0] == 0 && s->step[1] % block[1] == 0;
}

bool
packed_block(int bits, const Slices *s, int64_t block[2])
{
	int64_t n = (bits == 8 ? 16 : 32) * WARP_SIZE, most = n / ROWS;

	for (int64_t k = most; k >= 1; k /= 2)
		if (takes(s, n, k, block))
			return true;
	block[s->k] = most > s->k_least ? most : s->k_least;
	block[1 - s->k] = n / block[s->k];
	return false;
}

/* ---- readers ------------------------------------------------------------------------------------- */

typedef struct PackedUses {
	Kernel *k;
	DotUse *out;
	int steps;
} PackedUses;

static bool follow(PackedUses *f, const Val *v, const int *dim, int depth);

/* Follows op o, which reads v as operand i. */
static bool
through(PackedUses *f, const Op *o, int i, const int *dim, int depth)
{
	int moved[DIM_MAX];
	const Val *v = o->in[i];

	if (o->code == O_dot && i < 2) {
		*f->out = (DotUse){ i, dim[v->type.rank - 1 - i], dtype_info[v->type.dtype].bits };
		return true;
	}
	if (o->nout != 1 || o->out[0]->type.rank != v->type.rank ||
	    !(o->code == O_transpose || o->code == O_mask || o->code == O_convert_layout ||
	      op_is(o, F_ELT)))
		return false;
	for (int d = 0; d < v->type.rank; d++)
		moved[d] = dim[o->code == O_transpose ? IMM_AT(o, perm, d) : d];
	return follow(f, o->out[0], moved, depth + 1);
}

/* dim[d]: the tile's dim that corresponds to dim d of v. */
static bool
follow(PackedUses *f, const Val *v, const int *dim, int depth)
{
	OpWalk w;

	if (depth == DEPTH || f->steps-- <= 0)
		return false;
	for (const Op *o = walk_first(&w, f->k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (o->in[i] == v && through(f, o, i, dim, depth))
				return true;
	return false;
}

bool
packed_dot(Kernel *k, const Val *tile, DotUse *out)
{
	PackedUses f = { k, out, 200 };
	int dim[DIM_MAX];

	for (int d = 0; d < DIM_MAX; d++)
		dim[d] = d;
	return follow(&f, tile, dim, 0);
}
