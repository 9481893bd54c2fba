/* test_pack.c - hexc_pack and hexc_unpack against hexc/pack.c's own statement of where a code is, for
 * random packs of every kind; how fast they are beside memcpy. */
#include "hexc/pack.h"
#include "lib/bitperm.h"
#include "lib/hexc.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
	static const int spreads[] = { 0, 8, 16 };
	char name[4] = { "ui"[below(2)], (char)('1' + below(8)), 0 };
	int rows[8], cols[8];
	const char *why;
	Layout *l = NEW(a, Layout);

	p->dtype = dtype_find(name, 2);
	p->block[0] = factors(rows, odd);
	p->block[1] = factors(cols, odd);
	p->spread = spreads[below(3)];
	p->streams = below(2) ? 1 : (int64_t)1 << below(6);
	random_place(l, rows, cols);
	p->place = l;
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
		memset(got, 0xaa, (size_t)words * 4 + 4);
		got[words] = 0x12345678;
		ck_assert_msg(hexc_pack(text, rank, dim, from, got, threads, why, sizeof why) == HEXC_OK,
		              "%s", why);
		ck_assert_uint_eq(got[words], 0x12345678);
		for (int64_t i = 0; i < words; i++)
			ck_assert_msg(got[i] == want[i], "%s: word %lld is %08x, not %08x", text,
			              (long long)i, got[i], want[i]);
		memset(again, 0, natural);
		again[natural] = 0x5a;
		ck_assert_int_eq(hexc_unpack(text, rank, dim, got, again, threads, why, sizeof why), HEXC_OK);
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

START_TEST(powers_of_two)
{
	ck_assert_int_gt(random_packs(900, false), 100);
}
END_TEST

START_TEST(other_extents)
{
	ck_assert_int_gt(random_packs(900, true), 100);
}
END_TEST

/* The pack of 4-bit weights for f16 tensor cores: a lane of an mma has rows g and g + 8, and 2t, 2t + 1,
 * 2t + 8, 2t + 9 of 16 columns; two such squares side by side, two below each other. */
static const char mma[] = "hexc-pack 1 u4 block 32x64 spread 16 streams 32 "
			  "place ((8,2,2),(2,4,2,4)):((256,4,32),(1,64,2,8))";

START_TEST(fragments)
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
END_TEST

/* The same for every width, in each order; blocks large enough for groups side by side. */
START_TEST(widths)
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
END_TEST

/* Vectors and plain words agree with the definition, for permutations of all sizes. */
START_TEST(bit_permutations)
{
	static uint64_t in[1 << 10], buffer[1 << 10] __attribute__((aligned(64))), want[1 << 10],
		out[1 << 10];

	for (int i = 0; i < 400; i++) {
		int m = BITPERM_MIN + (int)below(11);
		size_t n = (size_t)1 << (m - 6);
		uint8_t to[BITPERM_MAX];
		BitPerm p;

		for (int j = 0; j < m; j++)
			to[j] = (uint8_t)j;
		for (int j = m - 1; j > 0; j--) {
			int k = (int)below(j + 1);
			uint8_t t = to[j];

			to[j] = to[k];
			to[k] = t;
		}
		ck_assert(bitperm_make(&p, m, to));
		memset(want, 0, sizeof want);
		for (size_t w = 0; w < n; w++)
			in[w] = (uint64_t)below(INT32_MAX) << 33 ^ (uint64_t)below(INT32_MAX) << 16 ^
			        (uint64_t)below(1 << 20);
		for (size_t b = 0; b < n * 64; b++) {
			size_t at = 0;

			for (int j = 0; j < m; j++)
				at |= (b >> j & 1) << to[j];
			want[at / 64] |= (in[b / 64] >> b % 64 & 1) << at % 64;
		}
		for (int plain = 0; plain < 2; plain++) {
			for (uint32_t w = 0; w < n; w++)
				buffer[bitperm_load(&p, w)] = in[w];
			bitperm_run(&p, buffer, plain);
			for (uint32_t w = 0; w < n; w++)
				out[bitperm_store(&p, w)] = buffer[w];
			ck_assert_mem_eq(out, want, n * 8);
		}
	}
	ck_assert(!bitperm_make(&(BitPerm){ 0 }, 6, (const uint8_t[]){ 0, 1, 2, 3, 4, 4 }));
	ck_assert(!bitperm_make(&(BitPerm){ 0 }, 5, (const uint8_t[]){ 0, 1, 2, 3, 4 }));
}
END_TEST

START_TEST(refusals)
{
	int64_t dim[2] = { 64, 64 }, bad[2] = { -1, 64 };
	static _Alignas(8) char buffer[4096];
	uint64_t bytes;
	char why[200];

	ck_assert_int_eq(hexc_pack_bytes("hexc-pack 2 u4", 2, dim, &bytes, why, sizeof why), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "version 2"));
	ck_assert_int_eq(hexc_pack_bytes(mma, 1, dim, &bytes, why, sizeof why), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_pack_bytes(mma, 2, bad, &bytes, why, sizeof why), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_pack(mma, 2, dim, NULL, &bytes, 1, why, sizeof why), HEXC_E_INVALID);
	ck_assert_str_eq(why, "a buffer is NULL");
	ck_assert_int_eq(hexc_pack(mma, 2, dim, buffer, buffer + 2050, 1, why, sizeof why), HEXC_E_INVALID);
	ck_assert_str_eq(why, "the packed side is not aligned to 4 bytes");
	for (int at = 0; at < 2048; at += 4) { /* either side has 2048 bytes */
		ck_assert_int_eq(hexc_pack(mma, 2, dim, buffer, buffer + at, 1, why, sizeof why),
		                 HEXC_E_INVALID);
		ck_assert_str_eq(why, "the buffers overlap");
		ck_assert_int_eq(hexc_unpack(mma, 2, dim, buffer, buffer + at, 1, why, sizeof why),
		                 HEXC_E_INVALID);
	}
	ck_assert_int_eq(hexc_pack(mma, 2, dim, buffer, buffer + 2048, 1, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_unpack(mma, 2, dim, buffer + 2048, buffer, 1, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_pack("nonsense", 2, dim, dim, dim, 1, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "it does not begin with `hexc-pack`");
}
END_TEST

/* ---- speed
 * ---------------------------------------------------------------------------------------------- */

static double
now(void)
{
	struct timespec t;

	clock_gettime(getenv("CPU") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* pack-speed [PACK [ROWS COLS]]: the least times of some rounds. */
static int
speed(const char *pack, int64_t rows, int64_t cols)
{
	int64_t dim[2] = { rows, cols };
	uint64_t bytes;
	char why[200];
	unsigned char *a, *b;
	double best[2][3] = { { 1e9, 1e9, 1e9 }, { 1e9, 1e9, 1e9 } };

	if (hexc_pack_bytes(pack, 2, dim, &bytes, why, sizeof why)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	a = calloc(bytes, 1);
	b = calloc(bytes, 1);
	memset(a, 7, bytes);
	memset(b, 7, bytes);
	for (int round = 0; round < 12; round++) {
		for (int many = 0; many < 2; many++) {
			double t[4] = { now() };

			memcpy(b, a, bytes);
			t[1] = now();
			hexc_pack(pack, 2, dim, a, b, many ? 0 : 1, NULL, 0);
			t[2] = now();
			hexc_unpack(pack, 2, dim, b, a, many ? 0 : 1, NULL, 0);
			t[3] = now();
			for (int i = 0; i < 3; i++)
				best[many][i] = t[i + 1] - t[i] < best[many][i] ? t[i + 1] - t[i]
				                                                : best[many][i];
		}
	}
	for (int many = 0; many < 2; many++)
		printf("%s: memcpy %.2f GB/s, pack %.2f (%.2f of its time), unpack %.2f (%.2f)\n",
		       many ? "all cores (memcpy: one)" : "one thread", (double)bytes / best[many][0] / 1e9,
		       (double)bytes / best[many][1] / 1e9, best[many][1] / best[many][0],
		       (double)bytes / best[many][2] / 1e9, best[many][2] / best[many][0]);
	free(a);
	free(b);
	return best[0][1] > 4 * best[0][0] || best[0][2] > 4 * best[0][0];
}

int
main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;
	SRunner *r;
	int bad;

	if (argc > 1 && strcmp(argv[1], "speed") == 0)
		return speed(argc > 2 ? argv[2] : mma, argc > 4 ? atol(argv[3]) : 8192,
		             argc > 4 ? atol(argv[4]) : 8192);
	s = suite_create("pack");
	tc = tcase_create("pack");
	tcase_add_test(tc, powers_of_two);
	tcase_add_test(tc, other_extents);
	tcase_add_test(tc, fragments);
	tcase_add_test(tc, widths);
	tcase_add_test(tc, bit_permutations);
	tcase_add_test(tc, refusals);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	bad = srunner_ntests_failed(r);
	srunner_free(r);
	return bad != 0;
}
