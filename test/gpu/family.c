/* family.c - an engine of the runtime library that launches a GEMM family: for few rows the split-K entry,
 * with its workspace, for others one kernel. Its values are small integers, so results are exact.
 *
 *	family BUNDLE [CACHE [few]]
 *	            status 0: all was correct; 1: an error was reported, and nothing leaked */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/hexc_bundle.h"
#include "lib/hexc_cache.h"
#include "lib/hexc_gpu.h"

enum { ROWS = 150, COLUMNS = 40, DEPTH = 1024 };

static struct {
	hexc_gpu *g;
	hexc_bundle *b;
	hexc_family *f;
	hexc_family_call *c;
	void *a, *w, *out, *space;
	char why[600];
} e;

#define TRY(call)                                                                                     \
	do {                                                                                          \
		if (call)                                                                             \
			return printf("failed: %s: %s\n", #call,                                      \
			              *e.why                           ? e.why                        \
			              : *hexc_family_call_why(e.c)     ? hexc_family_call_why(e.c)    \
			                                               : hexc_gpu_why(e.g)),          \
			       1;                                                                     \
	} while (0)

static int
element(int which, int i, int k)
{
	return (i * 7 + k * (which ? 3 : 5) + which) % 3 - 1;
}

static int
fill(void)
{
	static uint16_t x[ROWS * DEPTH];
	const hexc_dtype *f16 = hexc_dtype_find("f16");

	for (int which = 0; which < 2; which++) {
		int rows = which ? COLUMNS : ROWS;

		for (int i = 0; i < rows; i++)
			for (int k = 0; k < DEPTH; k++)
				hexc_put(f16, x, (uint64_t)(i * DEPTH + k), element(which, i, k));
		TRY(hexc_gpu_write(e.g, which ? e.w : e.a, x, (uint64_t)rows * DEPTH * 2));
	}
	return 0;
}

static int
product(int m)
{
	static uint16_t x[ROWS * COLUMNS];
	const hexc_dtype *f16 = hexc_dtype_find("f16");
	uint64_t bytes;
	size_t line;

	TRY(hexc_family_call_int(e.c, hexc_family_call_find(e.c, "M"), m));
	TRY(hexc_family_call_line(e.c, &line, &bytes));
	if ((m <= 16) != (line == 0) || (bytes != 0) != (m <= 16))
		return printf("WRONG: line %zu for M = %d, %llu bytes\n", line, m,
		              (unsigned long long)bytes),
		       3;
	if (bytes && !e.space) { /* which is told before */
		if (hexc_family_call_launch(e.c, NULL) != HEXC_E_ARGS ||
		    !strstr(hexc_family_call_why(e.c), "workspace"))
			return printf("WRONG: %s\n", hexc_family_call_why(e.c)), 3;
		TRY(hexc_gpu_alloc(e.g, bytes, &e.space));
		TRY(hexc_family_call_workspace(e.c, e.space, bytes));
	}
	TRY(hexc_family_call_launch(e.c, NULL));
	TRY(hexc_family_call_launch(e.c, NULL)); /* again: nothing is new */
	TRY(hexc_gpu_read(e.g, x, e.out, (uint64_t)m * COLUMNS * 2));
	for (int i = 0; i < m; i++)
		for (int j = 0; j < COLUMNS; j++) {
			int sum = 0;

			for (int k = 0; k < DEPTH; k++)
				sum += element(0, i, k) * element(1, j, k);
			if (hexc_get(f16, x, (uint64_t)(i * COLUMNS + j)) != sum)
				return printf("WRONG: M = %d, [%d, %d]\n", m, i, j), 3;
		}
	return 0;
}

static int
all(const char *path, hexc_cache *cache, bool few)
{
	static const int rows[] = { 16, 17, 1, 7, 33, 150 };
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	int status;

	TRY(hexc_bundle_open(&e.b, path, e.why, sizeof e.why));
	TRY(hexc_gpu_open(&e.g, 0, e.why, sizeof e.why));
	TRY(hexc_gpu_cache(e.g, cache));
	hexc_gpu_describe(e.g, &info);
	TRY(hexc_family_open(&e.f, e.b, "gemm", info.arch, e.why, sizeof e.why));
	TRY(hexc_family_call_new(&e.c, e.g, e.f));
	TRY(hexc_gpu_alloc(e.g, ROWS * DEPTH * 2, &e.a));
	TRY(hexc_gpu_alloc(e.g, COLUMNS * DEPTH * 2, &e.w));
	TRY(hexc_gpu_alloc(e.g, ROWS * COLUMNS * 2, &e.out));
	if (fill())
		return 1;
	if (hexc_family_call_launch(e.c, NULL) != HEXC_E_ARGS ||
	    !strstr(hexc_family_call_why(e.c), "has no argument yet"))
		return printf("WRONG: %s\n", hexc_family_call_why(e.c)), 3;
	TRY(hexc_family_call_ptr(e.c, hexc_family_call_find(e.c, "A"), e.a, 0));
	TRY(hexc_family_call_ptr(e.c, hexc_family_call_find(e.c, "B"), e.w, 0));
	TRY(hexc_family_call_ptr(e.c, hexc_family_call_find(e.c, "C"), e.out, 0));
	TRY(hexc_family_call_int(e.c, hexc_family_call_find(e.c, "N"), COLUMNS));
	TRY(hexc_family_call_int(e.c, hexc_family_call_find(e.c, "K"), DEPTH));
	if (hexc_family_call_int(e.c, hexc_family_call_find(e.c, "A"), 1) != HEXC_E_INVALID ||
	    hexc_family_call_find(e.c, "P") != -1 || hexc_family_call_float(e.c, 99, 1) != HEXC_E_INVALID)
		return printf("WRONG: kinds of arguments\n"), 3;
	for (size_t i = 0; i < (few ? 2 : sizeof rows / sizeof *rows); i++)
		if ((status = product(rows[i])) != 0)
			return status;
	return 0;
}

int
main(int argc, char **argv)
{
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	hexc_cache *cache = NULL;
	int status;

	if (argc < 2)
		return 2;
	o.path = argc > 2 ? argv[2] : NULL;
	if (o.path && hexc_cache_open(&cache, &o, e.why, sizeof e.why))
		return puts(e.why), 2;
	status = all(argv[1], cache, argc > 3);
	hexc_family_call_free(e.c);
	hexc_gpu_close(e.g);
	hexc_family_close(e.f);
	hexc_bundle_close(e.b);
	if (hexc_cache_describe(cache, &info))
		printf("%u hits, %u stored\n", (unsigned)info.hits, (unsigned)info.stored);
	hexc_cache_close(cache);
	return status;
}
