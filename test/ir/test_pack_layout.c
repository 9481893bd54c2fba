/* test_pack_layout.c - tests packs: their textual form, what is rejected, and that no two bits of a block
 * share a position. */
#include "test/ir/util_pack.h"
#include "hexc/ir/pack.h"
#include "test/util_arena.h"
#include <stdlib.h>
#include <string.h>

static const char *const good[] = {
	"hexc-pack 1 u4 block 16x64 spread 0 streams 1 place (16,64):(64,1)",
	"hexc-pack 1 u4 block 16x64 spread 16 streams 32 place ((8,2),(2,4,8)):((128,16),(1,32,2))",
	"hexc-pack 1 i8 block 16x32 spread 8 streams 32 place ((8,2),(4,4,2)):((64,8),(1,16,4))",
	"hexc-pack 1 u4 block 1x8 spread 0 streams 1 place (1,8):(0,1)",
};

static bool
pack_same(const Pack *a, const Pack *b)
{
	return a->dtype == b->dtype && a->block[0] == b->block[0] && a->block[1] == b->block[1] &&
	       a->bit_order == b->bit_order && a->streams == b->streams && !a->layout == !b->layout &&
	       (!a->layout || layout_equal(a->layout, b->layout));
}

TEST_EACH(text_comes_back, COUNT_OF(good))
{
	const char *why = "", *s = good[_i];
	Pack p, q;

	ck_assert_msg(pack_parse(&arena, s, strlen(s), &p, &why), "%s", why);
	ck_assert_str_eq(pack_text(&arena, &p), s);
	s = pack_text(&arena, &p);
	ck_assert(pack_parse(&arena, s, strlen(s), &q, &why) && pack_same(&p, &q));
	q.bit_order = q.bit_order ? 0 : 8;
	ck_assert(!pack_same(&p, &q));
}

static const struct {
	const char *text, *why;
} bad[] = {
	{ "", "start" },
	{ "pack 1", "start" },
	{ "hexc-pack u4", "version" },
	{ "hexc-pack 2 u4 block 16x64 spread 0 streams 1 place (16,64):(64,1)", "version 2" },
	{ "hexc-pack 1 u9 block 16x64 spread 0 streams 1 place (16,64):(64,1)", "element type" },
	{ "hexc-pack 1 f16 block 16x64 spread 0 streams 1 place (16,64):(64,1)", "1 to 8 bits" },
	{ "hexc-pack 1 u4 block 16x spread 0 streams 1 place (16,64):(64,1)", "block" },
	{ "hexc-pack 1 u4 block 0x64 spread 0 streams 1 place (16,64):(64,1)", "elements" },
	{ "hexc-pack 1 u4 block 99999999999999999999x64 spread 0 streams 1 place (16,64):(64,1)", "block" },
	{ "hexc-pack 1 u4 block 1048576x1048576 spread 0 streams 1 place (16,64):(64,1)", "elements" },
	{ "hexc-pack 1 u4 block 16x64 spread 32 streams 1 place (16,64):(64,1)", "spread" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 0 place (16,64):(64,1)", "multiple of the streams" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 3 place (16,64):(64,1)", "multiple of the streams" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 256 place (16,64):(64,1)", "32 bits" },
	{ "hexc-pack 1 u4 block 1x3 spread 0 streams 1 place (1,3):(0,1)", "32 bits" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1 place (16,64):(64,2)", "position" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1 place (16,64):(63,1)", "position" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1 place (64,16):(16,1)", "rows" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1 place (16,64):(64,1@lane)", "rows" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1 place Sw<1,0,1> o (16,64):(64,1)", "rows" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1", "place" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1 place (16,64):(64,1)\n",
	  "canonical form; write `hexc-pack 1" },
	{ "hexc-pack 1  u4 block 16x64 spread 0 streams 1 place (16,64):(64,1)", "canonical form" },
	{ "hexc-pack 1 u4 block 016x64 spread 0 streams 1 place (16,64):(64,1)", "canonical form" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1 place (16,64):(64,1) ", "canonical form" },
	{ "hexc-pack 1 u4 block 16x64 spread 0 streams 1 place (16,(8,8)):(64,(1,8))", "canonical form" },
};

TEST_EACH(wrong_text_is_refused, COUNT_OF(bad))
{
	const char *why = "";
	Pack p;

	ck_assert(!pack_parse(&arena, bad[_i].text, strlen(bad[_i].text), &p, &why));
	ck_assert_msg(strstr(why, bad[_i].why), "%s: %s", bad[_i].text, why);
}

/* Every bit of every element has a bit of the tensor's words to itself, and comes back. */
TEST_EACH(bits_are_apart, 4)
{
	static const DType type[] = { D_u1, D_u2, D_u4, D_u8 };
	DType d = type[_i % 4];
	const int orders[] = { 0, 4, 8, 16, 33, 40 };
	int64_t bits = dtype_info[d].bits, dim[3] = { 2, 70, 260 }, each = 16384 / bits / 32;
	Layout layout;

	for (int k = 0; k < 6; k++) {
		Pack p = { d, { 64, 8 * each }, orders[k], 32, &layout };
		uint32_t *w;
		int64_t n;
		const char *why = "";

		if ((orders[k] == 8 && bits == 8) || (orders[k] == 4 && bits > 3))
			continue;
		layout_rows(&layout, 2, p.block, 1, p.block[1]);
		ck_assert_msg(pack_check(&arena, &p, &why), "%s", why);
		n = pack_words(&p, 3, dim);
		ck_assert_int_eq(n, 2 * 2 * ((260 + p.block[1] - 1) / p.block[1]) * pack_block_words(&p));
		w = NEWN(&arena, uint32_t, n);
		for (int pass = 0; pass < 2; pass++)
			for (int64_t i = 0; i < 2 * 70 * 260; i++) {
				int64_t at[3] = { i / 260 / 70, i / 260 % 70, i % 260 };
				unsigned code = (unsigned)(i * 2654435761u >> 7) & ((1u << bits) - 1);

				if (pass == 0)
					pack_put(&p, 3, dim, w, at, code);
				else
					ck_assert_uint_eq(pack_get(&p, 3, dim, w, at), code);
			}
	}
}

/* Streams take turns with 16 bytes. */
TEST(streams_interleave)
{
	const char *why, *s = good[1];
	Pack p;

	ck_assert(pack_parse(&arena, s, strlen(s), &p, &why));
	/* row 1 is stream 4: byte 64; columns 0 and 1 are a pair, 16 bits apart */
	ck_assert_int_eq(pack_bit(&p, 1, 0, 0), 64 * 8);
	ck_assert_int_eq(pack_bit(&p, 1, 1, 3), 64 * 8 + 16 + 3);
	ck_assert_int_eq(pack_bit(&p, 1, 8, 0), 64 * 8 + 4);
	ck_assert_int_eq(pack_bit(&p, 1, 2, 0), 80 * 8);
}

TEST_PROGRAM(ARENA_FIXTURE);
