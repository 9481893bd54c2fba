/* test_npy.c - tests the .npy reader: accepts what NumPy writes, rejects the rest, and never crashes. */
#include "hexc/cli/base/npy.c"
#include "test/check.h"
#include <stdlib.h>

/* A file of `version` with this header text and `n` bytes of data behind. */
static unsigned char *
file_of(int version, const char *header, size_t n, size_t *len)
{
	size_t h = strlen(header), at = version == 1 ? 10 : 12;
	unsigned char *f = malloc(at + h + n + 1);

	ck_assert_ptr_nonnull(f);
	memcpy(f, "\x93NUMPY", 6);
	f[6] = (unsigned char)version;
	f[7] = 0;
	f[8] = (unsigned char)(h & 255);
	f[9] = (unsigned char)(h >> 8);
	if (version > 1)
		f[10] = f[11] = 0;
	memcpy(f + at, header, h);
	for (size_t i = 0; i < n; i++)
		f[at + h + i] = (unsigned char)i;
	*len = at + h + n;
	return f;
}

static const struct {
	const char *header;
	size_t data;
	int version;
	const char *why; /* "": it is fine */
} files[] = {
	{ "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 4), }   \n", 24, 1, "" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n", 4, 1, "" },
	{ "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", 16, 2, "" },
	{ "{'shape': (2, 0, 7), 'fortran_order': False, 'descr': '|u1'}", 0, 3, "" },
	{ "{\"descr\": \"<i8\", \"fortran_order\": False, \"shape\": (1L, 2L)}", 16, 1, "" },
	{ "{'descr': '|b1', 'fortran_order': True, 'shape': (5,), }\n", 5, 1, "" },
	{ "{'descr': '|b1', 'fortran_order': True, 'shape': (5, 1), }\n", 5, 1,
	  "Fortran order; save numpy.ascontiguousarray(a)" },
	{ "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n", 4, 1,
	  "big-endian data; save a.astype(a.dtype.newbyteorder('<'))" },
	{ "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }\n", 8, 1,
	  "elements of type '<c8'" },
	{ "{'descr': '<f1', 'fortran_order': False, 'shape': (1,), }\n", 8, 1,
	  "elements of type '<f1'" },
	{ "{'descr': '<b4', 'fortran_order': False, 'shape': (1,), }\n", 8, 1,
	  "elements of type '<b4'" },
	{ "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", 8, 1,
	  "elements of type '|O'" },
	{ "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", 4, 1,
	  "a structured type" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 7, 1,
	  "truncated: 7 bytes of data, but the header specifies 8" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 9, 1,
	  "1 trailing bytes after the data" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n", 9, 1,
	  "shape overflows size_t" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }\n", 9, 1,
	  "the header's 'shape' is not a tuple of sizes" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 0), }\n", 0, 1,
	  "the header's 'shape' is not a tuple of sizes" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }\n", 0, 1,
	  "shape overflows size_t" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", 9, 1,
	  "the header's 'shape' is not a tuple of sizes" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': 4, }\n", 9, 1,
	  "the header's 'shape' is not a tuple" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (4 4), }\n", 9, 1,
	  "the header's 'shape' is not a tuple of sizes" },
	{ "{'descr': '<f4', 'fortran_order': 0, 'shape': (4,), }\n", 9, 1, "neither True nor False" },
	{ "{'descr': '<f4', 'fortran_order': False, }\n", 9, 1, "the header is not a dict of three entries" },
	{ "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n", 4, 1,
	  "the header has an unexpected entry" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}\n", 4, 1,
	  "the header has an unexpected entry" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x\n", 4, 1,
	  "the header is not a dict of three entries" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,", 0, 1, "the header's 'shape' is not a "
	                                                                 "tuple of sizes" },
	{ "{'descr': '<f4", 0, 1, "the header's 'descr' is not a string" },
	{ "", 0, 1, "the header is not a dict" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4, 4, "version 4.0" },
};

TEST_EACH(headers, sizeof files / sizeof files[0])
{
	char why[200] = "";
	size_t n;
	unsigned char *f = file_of(files[_i].version, files[_i].header, files[_i].data, &n);
	Npy npy;
	bool ok = npy_parse(&npy, f, n, why, sizeof why);

	if (files[_i].why[0]) {
		ck_assert(!ok);
		ck_assert_msg(strstr(why, files[_i].why) != NULL, "%s: %s", files[_i].header, why);
	} else {
		ck_assert_msg(ok, "%s: %s", files[_i].header, why);
		ck_assert_ptr_eq(npy.data, f + n - files[_i].data);
	}
	free(f);
}

/* A NUL ends no string of a header, and is no letter of an element type. */
TEST(nul_in_headers)
{
	static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
	size_t n;
	unsigned char *f = file_of(1, header, 8, &n);
	char why[200];
	Npy npy;

	ck_assert(npy_parse(&npy, f, n, why, sizeof why));
	for (size_t i = 10; i < 10 + strlen(header); i++) {
		unsigned char was = f[i];

		f[i] = 0;
		ck_assert_msg(!npy_parse(&npy, f, n, why, sizeof why), "byte %zu", i);
		f[i] = was;
	}
	free(f);
}

TEST(short_files)
{
	size_t n;
	unsigned char *f = file_of(
		2, "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 4), }\n", 24, &n);
	char why[200];
	Npy npy;

	for (size_t i = 0; i < n; i++) {
		unsigned char *cut = malloc(i ? i : 1); /* so that a sanitizer sees a read behind the end */
		ck_assert_ptr_nonnull(cut);
		memcpy(cut, f, i);
		ck_assert(!npy_parse(&npy, cut, i, why, sizeof why));
		ck_assert(why[0]);
		free(cut);
	}
	ck_assert(npy_parse(&npy, f, n, why, sizeof why));
	ck_assert(!npy_parse(&npy, f, 0, NULL, 0));
	free(f);
}

static uint32_t
next(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

/* Whatever is taken for good must be inside the file. */
static void
mutate(const unsigned char *f, size_t n, uint64_t *seed)
{
	static const char words[] = "(),:{}'\"<>|=fiubTF0123456789L \n";
	size_t len = next(seed) % 8 ? n : next(seed) % (n + 1);
	unsigned char *g = malloc(len ? len : 1);
	char why[200];
	Npy npy;

	ck_assert_ptr_nonnull(g);
	memcpy(g, f, len);
	for (uint32_t i = next(seed) % 6; len && i > 0; i--) {
		size_t at = next(seed) % len;
		g[at] = next(seed) % 3 ? (unsigned char)words[next(seed) % (sizeof words - 1)]
		                       : (unsigned char)next(seed);
	}
	if (npy_parse(&npy, g, len, why, sizeof why)) {
		int64_t count = 1;
		ck_assert(npy.size == 1 || npy.size == 2 || npy.size == 4 || npy.size == 8);
		ck_assert(npy.rank >= 0 && npy.rank <= NPY_RANK_MAX);
		for (int d = 0; d < npy.rank; d++) {
			ck_assert(npy.shape[d] >= 0);
			count = npy.shape[d] && count ? count * npy.shape[d] : 0;
		}
		ck_assert_int_eq(count, npy.count);
		ck_assert(npy.data >= g && npy.data + npy.count * npy.size == g + len);
	}
	free(g);
}

TEST(fuzz)
{
	uint64_t seed = 20240607;

	for (int i = 0; i < 300000; i++) {
		size_t n, row = next(&seed) % (sizeof files / sizeof files[0]);
		unsigned char *f = file_of(files[row].version, files[row].header, files[row].data, &n);
		mutate(f, n, &seed);
		free(f);
	}
}

TEST(written)
{
	static const char kinds[] = "fiub";
	const int64_t shape[8] = { 3, 1, 2, 4, 1, 1, 2, 5 };
	char f[NPY_HEADER_MAX + 8 * 240], why[200];
	Npy npy;

	for (int k = 0; k < 4; k++)
		for (int size = kinds[k] == 'f' ? 2 : 1; size <= (kinds[k] == 'b' ? 1 : 8); size *= 2)
			for (int rank = 0; rank <= 8; rank++) {
				size_t n = npy_header(f, kinds[k], size, rank, shape);
				int64_t count = 1;
				for (int d = 0; d < rank; d++)
					count *= shape[d];
				ck_assert_uint_eq(n % 64, 0);
				ck_assert_msg(npy_parse(&npy, f, n + (size_t)(count * size), why,
				                        sizeof why),
				              "%s", why);
				ck_assert(npy.kind == kinds[k] && npy.size == size &&
				          npy.rank == rank);
				ck_assert_mem_eq(npy.shape, shape, (size_t)rank * sizeof *shape);
			}
}
