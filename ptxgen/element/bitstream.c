/* bitstream.c - converts elements of 3, 5, 6 and 7 bits between a contiguous bit stream in memory, across
 * bytes and words, and slots of 4 or 8 bits in registers.
 *
 * The conversion takes log2 steps. In each, a run of elements is split in half, and the upper half is moved
 * up by the slots' additional bits, or down by them. A step is a shift and a bitwise select of two words,
 * for all runs of a word in parallel. Bits above a run are unspecified, so nothing is zeroed. */
#include "ptxgen/element/bitstream.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"

/* Returns the mask of bits [lo, hi) of every `stride` bits. */
static int64_t
mask_of(int lo, int hi, int stride)
{
	uint64_t m = 0;

	for (int at = 0; at < 32; at += stride)
		for (int i = lo; i < hi && at + i < 32; i++)
			m |= (uint64_t)1 << (at + i);
	return (int64_t)m;
}

/* Returns y in the bits of the mask, x elsewhere. */
static LV
choose_bits(Codegen *g, LV x, LV y, int64_t mask)
{
	x = LLVMBuildAnd(g->b, x, const_i32(g, ~mask), "");
	y = LLVMBuildAnd(g->b, y, const_i32(g, mask), "");
	return LLVMBuildOr(g->b, x, y, "");
}

LV
stream_slots(Codegen *g, DType d, const LV *two, int at)
{
	int bits = dtype_info[d].bits, slot = dtype_slot_bits(d), epw = dtype_per_word(d);
	LV x = two[0], in[3] = { two[1], two[0], const_i32(g, at) };

	if (at + epw * bits > 32 && two[1])
		x = call_fp(g, "llvm.fshr", g->i32, in, 3);
	else if (at)
		x = LLVMBuildLShr(g->b, x, const_i32(g, at), "");
	for (int half = epw / 2; half > 0; half /= 2) {
		LV up = LLVMBuildShl(g->b, x, const_i32(g, half * (slot - bits)), "");

		x = choose_bits(g, x, up, mask_of(half * slot, 2 * half * slot, 2 * half * slot));
	}
	return x;
}

int
stream_pack(Codegen *g, DType d, const LV *word, int count, LV *out)
{
	int bits = dtype_info[d].bits, slot = dtype_slot_bits(d), epw = dtype_per_word(d), have = 0;
	int n = (int)ceil_div(count * bits, 32);

	for (int i = 0; i < n; i++)
		out[i] = NULL;
	for (int w = 0; w * epw < count; w++) {
		int take = (count - w * epw < epw ? count - w * epw : epw) * bits;
		LV x = word[w], up;

		for (int run = 1; run < epw; run *= 2) {
			LV down = LLVMBuildLShr(g->b, x, const_i32(g, run * (slot - bits)), "");

			x = choose_bits(g, x, down, mask_of(run * bits, 2 * run * bits, 2 * run * slot));
		}
		x = LLVMBuildAnd(g->b, x, const_i32(g, ((int64_t)1 << take) - 1), "");
		up = have % 32 ? LLVMBuildShl(g->b, x, const_i32(g, have % 32), "") : x;
		out[have / 32] = out[have / 32] ? LLVMBuildOr(g->b, out[have / 32], up, "") : up;
		if (have % 32 + take > 32)
			out[have / 32 + 1] = LLVMBuildLShr(g->b, x, const_i32(g, 32 - have % 32), "");
		have += take;
	}
	return n;
}

int
stream_join(Codegen *g, int bits, const LV *part, int n, LV *out)
{
	int per = 32 / bits, words = 0;

	for (int i = 0; i < n; i += per) {
		LV pair[2];
		int left = n - i < per ? n - i : per;

		for (int k = 0; k < 2; k++) {
			int at = i + k * per / 2;
			bool one = bits == 16 || left < k * per / 2 + 2;

			if (k * per / 2 >= left)
				pair[k] = const_i32(g, 0);
			else
				pair[k] = one ? part[at] : prmt(g, part[at], part[at + 1], 0x7740);
		}
		out[words++] = prmt(g, pair[0], pair[1], 0x5410);
	}
	return words;
}

LV
stream_part(Codegen *g, int bits, const LV *stream, int i)
{
	int at = i * bits % 32;

	return at ? LLVMBuildLShr(g->b, stream[i * bits / 32], const_i32(g, at), "") : stream[i * bits / 32];
}
