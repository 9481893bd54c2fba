/* test_pack.c - tests hexc_pack and hexc_unpack against the code positions defined by hexc/ir/pack.c, for
 * random packs of every kind */
#include "lib/pack/bit_permute.h"
#include "lib/base/base.h"
#include "lib/weights/format.h"
#include "lib/hexc.h"
#include "test/ir/util_pack.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;

static int64_t
below(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % n;
}

/* ---- random packs ------------------------------------------------------------------------------------- */

/* A random bijection: the factors of rows and columns, in any order. */
static void
random_place(Layout *l, const int *rows, const int *cols)
{
	struct {
		int dim, extent;
		int64_t stride;
	} f[32];
	int n = 0, order[32];
	int64_t stride = 1;

	for (; *rows; rows++)
		f[n].dim = 0, f[n++].extent = *rows;
	for (; *cols; cols++)
		f[n].dim = 1, f[n++].extent = *cols;
	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int j = (int)below(i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (int i = 0; i < n; i++) {
		f[order[i]].stride = stride;
		stride *= f[order[i]].extent;
	}
	layout_init(l, 2);
	for (int i = 0; i < n; i++)
		ck_assert(layout_push(l, f[i].dim, f[i].extent, f[i].stride, AX_mem));
}

static int
factors(int *f, bool odd)
{
	int n = (int)below(5) + 1, all = 1;

	for (int i = 0; i < n; i++)
		all *= f[i] = odd && below(3) == 0 ? 3 : 2;
	f[n] = 0;
	return all;
}

/* Fills p; false: what came out is no pack. */
static bool
random_pack(Arena *a, Pack *p, bool odd)
{
	static const int orders[] = { 0, 4, 8, 16, 33, 36, 39, 41 };
	char name[4] = { "ui"[below(2)], (char)('1' + below(8)), 0 };
	int rows[8], cols[8];
	const char *why;
	Layout *l = NEW(a, Layout);

	p->dtype = dtype_find(name, 2);
	p->block[0] = factors(rows, odd);
	p->block[1] = factors(cols, odd);
	p->bit_order = orders[below(8)];
	p->streams = below(2) ? 1 : (int64_t)1 << below(6);
	random_place(l, rows, cols);
	p->layout = l;
	return pack_check(a, p, &why);
}

/* ---- the property
 * --------------------------------------------------------------------------------------- */

static void
compare(Arena *a, const Pack *p, uint32_t rank, const int64_t *dim)
{
	const char *text = pack_text(a, p);
	int bits = dtype_info[p->dtype].bits;
	int64_t index[HEXC_MAX_RANK] = { 0 }, count = 1, words = pack_words(p, (int)rank, dim);
	uint64_t bytes;
	size_t natural;
	unsigned char *from, *again;
	uint32_t *want, *got;
	char why[200];

	for (uint32_t d = 0; d < rank; d++)
		count *= dim[d];
	natural = (size_t)(count * bits + 7) / 8;
	ck_assert_int_eq(hexc_pack_bytes(text, rank, dim, &bytes, why, sizeof why), HEXC_OK);
	ck_assert_uint_eq(bytes, (uint64_t)words * 4);
	from = malloc(natural + 1);
	again = malloc(natural + 1);
	want = calloc((size_t)words + 1, 4);
	got = malloc((size_t)words * 4 + 4);
	for (size_t i = 0; i <= natural; i++)
		from[i] = (unsigned char)below(256);
	if (count * bits % 8) /* what follows the last code stays as it was */
		from[natural - 1] &= (unsigned char)((1 << count * bits % 8) - 1);
	for (int64_t i = 0; i < count; i++) {
		unsigned code = 0;

		for (int b = 0; b < bits; b++)
			code |= (unsigned)(from[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1) << b;
		pack_put(p, (int)rank, dim, want, index, code);
		for (uint32_t d = rank; d-- > 0 && ++index[d] == dim[d];)
			index[d] = 0;
	}
	for (unsigned threads = 0; threads < 2; threads++) {
		const hexc_workers workers = { sizeof workers, threads, NULL, NULL };

		memset(got, 0xaa, (size_t)words * 4 + 4);
		got[words] = 0x12345678;
		ck_assert_msg(hexc_pack(text, rank, dim, from, got, &workers, why, sizeof why) == HEXC_OK,
		              "%s", why);
		ck_assert_uint_eq(got[words], 0x12345678);
		for (int64_t i = 0; i < words; i++)
			ck_assert_msg(got[i] == want[i], "%s: word %lld is %08x, not %08x", text,
			              (long long)i, got[i], want[i]);
		memset(again, 0, natural);
		again[natural] = 0x5a;
		ck_assert_int_eq(hexc_unpack(text, rank, dim, got, again, &workers, why, sizeof why),
		                 HEXC_OK);
		ck_assert_msg(memcmp(again, from, natural) == 0, "%s: unpack is not the inverse", text);
		ck_assert_uint_eq(again[natural], 0x5a);
	}
	free(from);
	free(again);
	free(want);
	free(got);
}

static int
random_packs(int tries, bool odd)
{
	Arena a;
	int n = 0;

	arena_init(&a, NULL, NULL);
	for (int i = 0; i < tries; i++) {
		Pack p;
		int64_t dim[4];
		uint32_t rank = (uint32_t)(2 + below(3));

		if (!random_pack(&a, &p, odd))
			continue;
		for (uint32_t d = 0; d < rank; d++) {
			int64_t each = d + 2 < rank ? 1 : p.block[d + 2 - rank];

			dim[d] = below(3) ? each * (1 + below(3)) : 1 + below(3 * each + 1);
		}
		compare(&a, &p, rank, dim);
		n++;
	}
	arena_free(&a);
	return n;
}

TEST(powers_of_two)
{
	ck_assert_int_gt(random_packs(900, false), 100);
}

TEST(other_extents)
{
	ck_assert_int_gt(random_packs(900, true), 100);
}

/* The pack of 4-bit weights for f16 tensor cores: a lane of an mma has rows g and g + 8, and 2t, 2t + 1,
 * 2t + 8, 2t + 9 of 16 columns; two such squares side by side, two below each other. */
static const char mma[] = "hexc-pack 1 u4 block 32x64 spread 16 streams 32 "
			  "place ((8,2,2),(2,4,2,4)):((256,4,32),(1,64,2,8))";

TEST(fragments)
{
	static const int64_t shapes[][3] = {
		{ 1, 64, 256 }, { 2, 65, 250 }, { 1, 1, 1 }, { 1, 31, 63 }, { 3, 32, 64 }
	};
	Arena a;
	Pack p;
	const char *why = "";

	arena_init(&a, NULL, NULL);
	ck_assert_msg(pack_parse(&a, mma, strlen(mma), &p, &why), "%s", why);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		compare(&a, &p, 3, shapes[i]);
	arena_free(&a);
}

/* The same for every width, in each order; blocks large enough for groups side by side. */
TEST(widths)
{
	static const int64_t dim[2] = { 130, 200 };
	Arena a;

	arena_init(&a, NULL, NULL);
	for (int bits = 1; bits <= 8; bits++) {
		for (int spread = 0; spread <= 16; spread += 8) {
			const char *why = "",
				   *text = arena_printf(
					   &a,
					   "hexc-pack 1 u%d block 64x64 spread %d streams %d place "
					   "((8,2,4),(2,4,2,4)):((512,4,32),(1,128,2,8))",
					   bits, spread, spread ? 32 : 1);
			Pack p;

			ck_assert_msg(pack_parse(&a, text, strlen(text), &p, &why), "%s: %s", text, why);
			compare(&a, &p, 2, dim);
		}
	}
	arena_free(&a);
}

/* ---- bit movements ------------------------------------------------------------------------------------- */

enum { MOST = 4 * 150, LANES = MOVE_LANES };

/* An area of all blocks: MOST bytes for each, or adjacent rows of all of them. */
typedef struct Bytes {
	unsigned char data[LANES * MOST + 9];
	bool adjacent;
	size_t stride;
} Bytes;

static unsigned char *
start_of(Bytes *b, const MoveArea *a, size_t block)
{
	return b->data + block * (b->adjacent ? a->row : MOST);
}

/* A byte of a side of a block, by its number; *area: which area has it. */
static unsigned char *
byte_of(Bytes *b, const MoveSide *s, size_t block, size_t byte)
{
	const MoveArea *a = s->area;

	for (; byte >= a->rows * a->row; a++, b++)
		byte -= a->rows * a->row;
	return start_of(b, a, block) + byte / a->row * b->stride + byte % a->row;
}

/* Adds an area of rows of less than `most` bytes. */
static void
random_area(MoveSide *s, Bytes *b, MoveRows rows[LANES], size_t blocks, int64_t most)
{
	size_t n = (size_t)below(4) + 1, row = (size_t)below(most) + 1;

	b->adjacent = row < 4 && below(2);
	b->stride = b->adjacent ? LANES * row + (size_t)below(9)
	                        : row + (size_t)below((int64_t)(MOST / n - row + 1));
	moveside_add(s, n, row);
	for (size_t i = 0; i < blocks; i++)
		rows[i] = (MoveRows){ start_of(b, &s->area[s->n - 1], i), b->stride };
}

static void
random_side(MoveSide *s, Bytes *b, MoveRows rows[][LANES], size_t blocks, int64_t most)
{
	int areas = 1 + (int)below(3);

	s->n = 0;
	for (int i = 0; i < areas; i++)
		random_area(s, &b[i], rows[i], blocks, below(2) ? most : 4);
}

/* Bits of moved blocks that are wrong, and bytes that should not have been written: 0x5a. */
static int
differences(const BitMove *m, const int32_t *of, size_t blocks, Bytes *from, Bytes *to)
{
	size_t n = moveside_bytes(&m->to);
	int wrong = 0;

	for (size_t i = 0; i < blocks; i++)
		for (size_t j = 0; j < n; j++) {
			unsigned char *byte = byte_of(to, &m->to, i, j), want = 0;

			for (int bit = 0; bit < 8; bit++) {
				int32_t f = of[j * 8 + (size_t)bit];

				if (f >= 0 && *byte_of(from, &m->from, i, (size_t)f / 8) >> f % 8 & 1)
					want |= (unsigned char)(1 << bit);
			}
			wrong += *byte != want;
			*byte = 0x5a;
		}
	for (int i = 0; i < m->to.n; i++)
		for (size_t j = 0; j < sizeof to[i].data; j++)
			wrong += to[i].data[j] != 0x5a;
	return wrong;
}

/* Vectors and plain words agree with the definition, for any movement between areas of rows of any
 * lengths. */
static void
random_movement(Arena *a, int64_t most)
{
	static Bytes from[MOVE_AREAS], to[MOVE_AREAS];
	MoveSide sides[2];
	MoveBlocks b = { .n = below(2) ? LANES : (size_t)below(LANES) + 1 };
	int64_t bits[2];
	int32_t *of;
	void *scratch;
	BitMove m;

	random_side(&sides[0], from, b.from, b.n, most);
	random_side(&sides[1], to, b.to, b.n, most);
	for (int i = 0; i < 2; i++)
		bits[i] = 8 * (int64_t)moveside_bytes(&sides[i]);
	of = NEWN(a, int32_t, bits[1]);
	for (int64_t i = 0; i < bits[1]; i++)
		of[i] = below(8) ? (int32_t)below(bits[0]) : -1;
	for (int i = 0; i < sides[0].n; i++)
		for (size_t j = 0; j < sizeof from[i].data; j++)
			from[i].data[j] = (unsigned char)below(256);
	bitmove_make(a, &m, &sides[0], &sides[1], of);
	scratch = aligned_alloc(64, bitmove_scratch(&m));
	for (int plain = 0; plain < 2; plain++) {
		for (int i = 0; i < sides[1].n; i++)
			memset(to[i].data, 0x5a, sizeof to[i].data);
		bitmove_run(&m, &b, scratch, plain);
		ck_assert_int_eq(differences(&m, of, b.n, from, to), 0);
	}
	free(scratch);
}

TEST(bit_movements)
{
	Arena a;

	arena_init(&a, NULL, NULL);
	for (int i = 0; i < 200; i++)
		random_movement(&a, i % 2 ? 12 : 150);
	arena_free(&a);
}

TEST(refusals)
{
	int64_t dim[2] = { 64, 64 }, bad[2] = { -1, 64 };
	static _Alignas(8) char buffer[4096];
	uint64_t bytes;
	char why[200];

	ck_assert_int_eq(hexc_pack_bytes("hexc-pack 2 u4", 2, dim, &bytes, why, sizeof why), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "version 2"));
	ck_assert_int_eq(hexc_pack_bytes(mma, 1, dim, &bytes, why, sizeof why), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_pack_bytes(mma, 2, bad, &bytes, why, sizeof why), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_pack(mma, 2, dim, NULL, &bytes, NULL, why, sizeof why), HEXC_E_INVALID);
	ck_assert_str_eq(why, "a buffer is NULL");
	ck_assert_int_eq(hexc_pack(mma, 2, dim, buffer, buffer + 2050, NULL, why, sizeof why),
	                 HEXC_E_INVALID);
	ck_assert_str_eq(why, "the packed side is not aligned to 4 bytes");
	for (int at = 0; at < 2048; at += 4) { /* either side has 2048 bytes */
		ck_assert_int_eq(hexc_pack(mma, 2, dim, buffer, buffer + at, NULL, why, sizeof why),
		                 HEXC_E_INVALID);
		ck_assert_str_eq(why, "the buffers overlap");
		ck_assert_int_eq(hexc_unpack(mma, 2, dim, buffer, buffer + at, NULL, why, sizeof why),
		                 HEXC_E_INVALID);
	}
	ck_assert_int_eq(hexc_pack(mma, 2, dim, buffer, buffer + 2048, NULL, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_unpack(mma, 2, dim, buffer + 2048, buffer, NULL, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_pack("nonsense", 2, dim, dim, dim, NULL, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "it does not start with `hexc-pack`");
}

TEST_PROGRAM(.timeout = 60);
