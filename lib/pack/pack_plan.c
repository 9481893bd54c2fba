/* pack_plan.c - converts a pack to a bit permutation of its blocks. */
#include "lib/pack/pack_plan.h"
#include "hexc/ir/bit_order.h"
#include <string.h>

/* Where the bits of a position are, in bits from the start of its block. */
typedef struct Positions {
	int64_t each, streams; /* elements per stream */
	int64_t run;           /* contiguous words of a stream */
	int bits;
	int in_group[BIT_GROUP][8];
} Positions;

static void
positions(Positions *p, const Pack *pack)
{
	p->bits = dtype_info[pack->dtype].bits;
	p->streams = pack->streams;
	p->run = pack_run(pack);
	p->each = pack->block[0] * pack->block[1] / pack->streams;
	for (int e = 0; e < BIT_GROUP; e++)
		for (int b = 0; b < p->bits; b++)
			p->in_group[e][b] = bit_order_bit(p->bits, pack->bit_order, e, b);
}

static void
bits_at(const Positions *p, int64_t position, int64_t out[8])
{
	int64_t stream = position / p->each, nth = position % p->each;
	const int *in_group = p->in_group[nth % BIT_GROUP];

	for (int b = 0; b < p->bits; b++) {
		int64_t word = nth / BIT_GROUP * p->bits + in_group[b] / 32;

		word = word / p->run * p->run * p->streams + stream * p->run + word % p->run;
		out[b] = word * 32 + in_group[b] % 32;
	}
}

void
pack_plan(Arena *a, PackPlan *out, const Pack *pack, bool back)
{
	int64_t origin = pack_position(pack, 0, 0), *of_col = NEWN(a, int64_t, pack->block[1]);
	size_t natural, n;
	MoveSide unpacked = { .n = 0 }, packed = { .n = 0 };
	int32_t *of;
	Positions at;

	memset(out, 0, sizeof *out);
	positions(&at, pack);
	out->bits = at.bits;
	out->rows = pack->block[0];
	out->cols = pack->block[1];
	out->stride = (size_t)(out->cols * out->bits + 7) / 8;
	out->bytes = (size_t)pack_block_words(pack) * 4;
	natural = (size_t)out->rows * out->stride;
	n = 8 * (natural > out->bytes ? natural : out->bytes);
	of = NEWN(a, int32_t, n);
	memset(of, -1, n * sizeof *of);
	for (int64_t j = 0; j < out->cols; j++) /* without a swizzle, row and column offsets add */
		of_col[j] = pack_position(pack, 0, j) - origin;
	for (int64_t i = 0; i < out->rows; i++) {
		int64_t of_row = pack_position(pack, i, 0);

		for (int64_t j = 0; j < out->cols; j++) {
			int64_t from = i * (int64_t)out->stride * 8 + j * out->bits, to[8];

			bits_at(&at, of_row + of_col[j], to);
			for (int b = 0; b < out->bits; b++)
				of[back ? from + b : to[b]] = (int32_t)(back ? to[b] : from + b);
		}
	}
	moveside_add(&unpacked, (size_t)out->rows, out->stride);
	moveside_add(&packed, 1, out->bytes);
	bitmove_make(a, &out->move, back ? &packed : &unpacked, back ? &unpacked : &packed, of);
}
