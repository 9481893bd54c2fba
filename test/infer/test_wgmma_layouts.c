/* test_wgmma_layouts.c - tests the unspecified fields of the wgmma rows, and the smem layout atoms of
 * their operands, against the figures of the PTX ISA ("Asynchronous Warpgroup Level Matrix
 * Multiply-Accumulate Instructions", "Tensor swizzling modes"). In C: figures are formulas. */
#include "infer/core/smem_atom.h"
#include "infer/core/wgmma.h"
#include "test/check.h"
#include "test/util_arena.h"
#include <string.h>

TEST_PROGRAM(ARENA_FIXTURE);

static Coord
place(const Layout *l, int64_t r, int64_t c)
{
	return layout_at(l, (int64_t[]){ r, c });
}

/* "WGMMA .m64nNk16 register fragment layout for accumulator matrix D": row and column of d[i] of a thread. */
TEST(accumulators)
{
	const Instr *in = instr_find("wgmma_f32_f16_ss");
	Layout l;

	ck_assert_ptr_nonnull(in);
	for (int n = 8; n <= 256; n += 8) {
		ck_assert(wgmma_fragment(in, n, 2, false, &l));
		ck_assert_int_eq(layout_extent(&l, 0), 64);
		ck_assert_int_eq(layout_extent(&l, 1), n);
		for (int thread = 0; thread < 128; thread++)
			for (int i = 0; i < n / 2; i++) {
				int row = thread / 32 * 16 + i / 2 % 2 * 8 + thread % 32 / 4;
				int col = i / 4 * 8 + thread % 4 * 2 + i % 2;
				Coord p = place(&l, row, col);

				ck_assert_int_eq(p.at[AX_reg], i);
				ck_assert_int_eq(p.at[AX_lane], thread % 32);
				ck_assert_int_eq(p.at[AX_warp], thread / 32);
			}
	}
}

/* "... for matrix A": of k 16, 8 and 32, by elements of a 32-bit register. */
TEST(operands_in_registers)
{
	static const struct {
		const char *name;
		int word, k;
	} row[] = { { "wgmma_f32_f16_rs", 2, 16 },
		    { "wgmma_f32_tf32_rs", 1, 8 },
		    { "wgmma_s32_u8_s8_rs", 4, 32 },
		    { "wgmma_f16_e5m2_e4m3_rs", 4, 32 } };
	static const int turned[2] = { 1, 0 };

	for (size_t t = 0; t < COUNT_OF(row); t++) {
		const Instr *in = instr_find(row[t].name);
		int word = row[t].word;
		Layout l, s, back;

		ck_assert_ptr_nonnull(in);
		ck_assert_int_eq(in->k, row[t].k);
		ck_assert(wgmma_fragment(in, 64, 0, false, &l));
		ck_assert(!wgmma_fragment(in, 64, 1, false, &s));
		ck_assert(wgmma_fragment(in, 64, 1, true, &s));
		layout_permute(&back, &s, turned);
		ck_assert(layout_equal(&l, &back));
		for (int thread = 0; thread < 128; thread++)
			for (int i = 0; i < 4 * word; i++) {
				int reg = i / word; /* a0, a1: rows of 8; then the further k */
				Coord p = place(&l, thread / 32 * 16 + reg % 2 * 8 + thread % 32 / 4,
				                reg / 2 * 4 * word + thread % 4 * word + i % word);

				ck_assert_int_eq(p.at[AX_reg], i);
				ck_assert_int_eq(p.at[AX_lane], thread % 32);
				ck_assert_int_eq(p.at[AX_warp], thread / 32);
			}
	}
	ck_assert(!wgmma_fragment(instr_find("wgmma_f32_f16_ss"), 64, 0, false, &(Layout){ 0 }));
}

TEST(columns)
{
	const Instr *f = instr_find("wgmma_f32_e4m3_e4m3_ss"), *i = instr_find("wgmma_s32_s8_s8_ss");

	for (int n = 1; n < 300; n++) {
		bool even = n == 8 || n == 24 || (n >= 16 && n <= 256 && n % 16 == 0);

		ck_assert_int_eq(wgmma_widest(f, n, n) == n, n <= 256 && n % 8 == 0);
		ck_assert_int_eq(wgmma_widest(i, n, n) == n, even);
	}
	ck_assert_int_eq(wgmma_widest(f, 512, WGMMA_N_MOST), 256);
	ck_assert_int_eq(wgmma_widest(f, 264, WGMMA_N_MOST), 88);
	ck_assert_int_eq(wgmma_widest(i, 40, WGMMA_N_MOST), 8);
	ck_assert_int_eq(wgmma_widest(i, 100, WGMMA_N_MOST), 0);
}

/* Every type in all its pairs, A from both places. */
TEST(rows)
{
	int n = 0;

	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == IK_wgmma) {
			ck_assert_int_eq(i->m, 64);
			ck_assert_int_eq(i->warps, 4);
			ck_assert_int_eq(i->k * dtype_info[i->ta].bits, 256);
			ck_assert_int_eq(i->k * dtype_info[i->tb].bits, 256);
			ck_assert_int_eq(strcmp(i->name + strlen(i->name) - 3, i->a ? "_rs" : "_ss"), 0);
			n++;
		}
	ck_assert_int_eq(n, 2 * (4 + 8 + 4));
}

TEST(texts)
{
	Lowering p = { .kind = LW_dot, .dot = { .inst = "wgmma_f32_f16_ss", .n = 256 } };

	p.dot.matrix[0] = (LoweredMatrix){ .width = 128, .stride = 1024 };
	p.dot.matrix[1] = (LoweredMatrix){ .width = 64, .mn = true, .lead = 2048, .stride = 512 };
	ck_assert_str_eq(wgmma_text(&arena, &p, "{f0}", "$0", "$1", "p"),
	                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {f0}, $0, $1, p, 1, 1, 0, 1;");
	p.dot.inst = "wgmma_f32_bf16_rs";
	p.dot.matrix[0].width = 0;
	ck_assert_str_eq(wgmma_text(&arena, &p, "{f0}", "{a0}", "$1", "p"),
	                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {f0}, {a0}, $1, p, 1, 1, 1;");
	p.dot.inst = "wgmma_f16_e4m3_e5m2_ss";
	p.dot.n = 8;
	ck_assert_str_eq(wgmma_text(&arena, &p, "{f0}", "$0", "$1", "p"),
	                 "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2 {f0}, $0, $1, p, 1, 1;");
	p.dot.inst = "wgmma_s32_s8_u8_rs";
	ck_assert_str_eq(wgmma_text(&arena, &p, "{f0}", "{a0}", "$1", "p"),
	                 "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {f0}, {a0}, $1, p;");
}

/* ---- forms ---------------------------------------------------------------------------------------- */

/* Where wgmma reads chunk c of a row, from a start address: "Strides", and the swizzle of address bits. */
static int64_t
chunk_at(const LoweredMatrix *m, int64_t start, int64_t row, int64_t c)
{
	int64_t w = m->width / 16, at;

	if (w == 1)
		return start + 16 * (row % 8) +
		       (m->mn ? m->lead * (row / 8) + m->stride * c : m->stride * (row / 8) + m->lead * c);
	at = start + 16 * w * (row % 8) + m->stride * (row / 8) + 16 * (c % w) + m->lead * (c / w);
	return at ^ (at / 128 % w) * 16;
}

/* An instance of x rows along m or n, and k, of a tile: all its chunks are where the layout has them. */
static void
check_instance(const SmemAtom *f, const Type *t, int rows, int64_t x0, int64_t x, int64_t k0, int64_t k)
{
	LoweredMatrix m = form_matrix(f, t, rows);
	int bytes = dtype_info[t->dtype].bits / 8, kd = 2 * f->outer + 1 - rows;
	int64_t per = 16 / bytes, at[3] = { f->outer ? 1 : 0 }, start;
	Layout l, plain;

	ck_assert(form_layout(f, t, &l));
	plain = l;
	plain.swizzle.bits = 0;
	at[rows] = x0;
	at[kd] = k0;
	start = layout_at(&plain, at).at[AX_mem] * bytes;
	ck_assert_int_eq(start % 16, 0);
	for (int64_t i = 0; i < x; i++)
		for (int64_t j = 0; j < k; j++) {
			int64_t row = m.mn ? j : i, c = (m.mn ? i : j) / per, in = (m.mn ? i : j) % per;

			at[rows] = x0 + i;
			at[kd] = k0 + j;
			ck_assert_int_eq(layout_at(&l, at).at[AX_mem] * bytes,
			                 chunk_at(&m, start, row, c) + in * bytes);
		}
}

TEST(descriptors)
{
	static const DType types[] = { D_f16, D_tf32, D_e4m3 };

	for (size_t t = 0; t < COUNT_OF(types); t++)
		for (int w = 0; form_widths[w] != FORM_PLAIN; w++)
			for (int outer = 0; outer < 2; outer++)
				for (int mn = 0; mn < (types[t] == D_f16 ? 2 : 1); mn++) {
					int bits = dtype_info[types[t]].bits, rows = outer, k = 256 / bits;
					int64_t shape[3] = { 3, 128, 1024 / bits * (mn ? 1 : 2) };
					Type tile = type_tile(types[t], S_shared, 2 + outer,
					                      shape + 1 - outer);
					SmemAtom f = { .unit = mn ? rows : rows + 1, .outer = outer,
						   .width = form_widths[w] };

					for (int64_t x0 = 0; x0 < 128; x0 += 64)
						for (int64_t k0 = 0; k0 < tile.shape[rows + 1]; k0 += k)
							check_instance(&f, &tile, rows, x0, 64, k0, k);
					check_instance(&f, &tile, rows, 0, 128, 0, k);
				}
}

/* A box of a copy has `width` bytes and all rows; chunks of a row change places: "Tensor swizzling modes". */
TEST(boxes)
{
	int64_t shape[3] = { 2, 32, 128 };
	Type t = type_tile(D_f16, S_shared, 3, shape);
	Layout l;

	for (int w = 0; form_widths[w] != FORM_PLAIN; w++) {
		SmemAtom f = { .unit = 2, .outer = 1, .width = form_widths[w] };
		int64_t row = f.width / 2, mask = f.width / 16 - 1;

		ck_assert(form_layout(&f, &t, &l));
		ck_assert_int_eq(form_align(&f), 8 * f.width);
		for (int64_t s = 0; s < 2; s++)
			for (int64_t r = 0; r < 32; r++)
				for (int64_t x = 0; x < 128; x++) {
					int64_t box = s * 128 / row + x / row, in = x % row * 2;
					int64_t turn = (r * f.width / 128) & mask;
					int64_t want = box * 32 * f.width + r * f.width +
					               ((in / 16) ^ turn) * 16 + in % 16;

					Coord at = layout_at(&l, (int64_t[]){ s, r, x });

					ck_assert_int_eq(at.at[AX_mem] * 2, want);
				}
	}
	t.shape[1] = 12; /* no whole patterns */
	ck_assert(!form_layout(&(SmemAtom){ .unit = 2, .outer = 1, .width = 128 }, &t, &l));
	t.shape[1] = 16;
	t.shape[2] = 96;
	ck_assert(!form_layout(&(SmemAtom){ .unit = 2, .outer = 1, .width = 128 }, &t, &l));
	ck_assert(form_layout(&(SmemAtom){ .unit = 2, .outer = 1, .width = 64 }, &t, &l));
}

/* Of a box without blocks rows follow one another, as "Tensors" has them, and it begins at 128 bytes. */
TEST(plain_boxes)
{
	int64_t shape[3] = { 2, 3, 128 }, wide[3] = { 2, 1, 512 }, odd[3] = { 2, 1, 24 };
	Type t = type_tile(D_f16, S_shared, 3, shape), long_row = type_tile(D_f16, S_shared, 3, wide);
	Type short_row = type_tile(D_f16, S_shared, 3, odd);
	SmemAtom f = { .unit = 2, .outer = 1, .width = FORM_PLAIN };
	Layout l;

	ck_assert(form_layout(&f, &t, &l));
	ck_assert_int_eq(form_align(&f), 128);
	for (int64_t s = 0; s < 2; s++)
		for (int64_t r = 0; r < 3; r++)
			for (int64_t x = 0; x < 128; x++) {
				int64_t at[3] = { s, r, x };

				ck_assert_int_eq(layout_at(&l, at).at[AX_mem], (s * 3 + r) * 128 + x);
			}
	ck_assert(!form_layout(&f, &long_row, &l)); /* 256 elements at most */
	ck_assert(!form_layout(&f, &short_row, &l)); /* stages would begin at 48 bytes */
}
