/* test_weight_blocks.c - tests weights of GGUF blocks in memory (hexc_weight_blocks, hexc_format_weight)
 * against those of the same bytes in a file. */
#include "lib/weights/format.h"
#include "lib/hexc_weights.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 100 };

static char why[300];

static uint64_t
next(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return *s >> 33;
}

/* In memory of exactly the size, so that a sanitizer sees what lies behind. */
static unsigned char *
random_bytes(uint64_t n, uint64_t seed)
{
	unsigned char *p = malloc((size_t)n);

	for (uint64_t i = 0; i < n; i++)
		p[i] = (unsigned char)next(&seed);
	return p;
}

/* Calls `each` with every format of GGUF. Returns their number. */
static int
each_format(void (*each)(const char *format))
{
	hexc_format f = HEXC_FORMAT_INIT;
	int n = 0;

	for (size_t i = 0; hexc_format_at(i, &f); i++, f.size = sizeof f)
		if (strcmp(f.container, "gguf") == 0) {
			each(f.name);
			n++;
		}
	return n;
}

static size_t
add_number(unsigned char *p, uint64_t v, size_t n)
{
	memcpy(p, &v, n);
	return n;
}

/* A file with one tensor w[n, k] of these blocks. */
static unsigned char *
gguf_file(const char *format, const void *data, uint64_t bytes, int64_t n, int64_t k, size_t *size)
{
	unsigned char *p = calloc(1, ROOM + (size_t)bytes);
	size_t at = 4;

	memcpy(p, "GGUF", 4);
	at += add_number(p + at, 3, 4);
	at += add_number(p + at, 1, 8);
	at += add_number(p + at, 0, 8);
	at += add_number(p + at, 1, 8);
	p[at++] = 'w';
	at += add_number(p + at, 2, 4);
	at += add_number(p + at, (uint64_t)k, 8);
	at += add_number(p + at, (uint64_t)n, 8);
	at += add_number(p + at, (uint64_t)file_type("gguf", format, NULL)->id, 4);
	at += add_number(p + at, 0, 8);
	at = (at + 31) / 32 * 32;
	memcpy(p + at, data, (size_t)bytes);
	*size = at + (size_t)bytes;
	return p;
}

static hexc_weight *
load_file(const char *format, const void *data, uint64_t bytes, int64_t n, int64_t k)
{
	hexc_weight *w;
	hexc_file *f;
	size_t size;
	unsigned char *file = gguf_file(format, data, bytes, n, k, &size);

	ck_assert_msg(hexc_file_memory(&f, file, size, why, sizeof why) == HEXC_OK, "%s: %s", format, why);
	ck_assert_msg(hexc_weight_load(&w, f, "w", NULL, why, sizeof why) == HEXC_OK, "%s: %s", format, why);
	hexc_file_close(f);
	free(file);
	return w;
}

static hexc_weight *
load_blocks(const char *format, const void *data, uint64_t bytes, int64_t n, int64_t k, unsigned threads)
{
	const hexc_workers workers = { sizeof workers, threads, NULL, NULL };
	hexc_weight *w;
	int code = hexc_weight_blocks(&w, format, data, bytes, n, k, &workers, why, sizeof why);

	ck_assert_msg(code == HEXC_OK, "%s %lld x %lld: %s", format, (long long)n, (long long)k, why);
	return w;
}

static hexc_weight
described(const char *format, int64_t n, int64_t k)
{
	hexc_weight w = HEXC_WEIGHT_INIT;

	ck_assert_msg(hexc_format_weight(format, n, k, &w, why, sizeof why) == HEXC_OK, "%s: %s", format,
	              why);
	return w;
}

/* But for the data. */
static void
same_sizes(const hexc_weight *a, const hexc_weight *b)
{
	ck_assert_uint_eq(a->size, b->size);
	ck_assert_str_eq(a->format, b->format);
	ck_assert_int_eq(a->n, b->n);
	ck_assert_int_eq(a->k, b->k);
	ck_assert_int_eq(a->bias, b->bias);
	ck_assert_uint_eq(a->bytes, b->bytes);
	for (int i = 0; i < HEXC_NPLANE; i++) {
		const hexc_plane *p = &a->plane[i], *q = &b->plane[i];

		ck_assert_msg(!p->dtype == !q->dtype, "%s: plane %d", a->format, i);
		if (p->dtype)
			ck_assert_str_eq(p->dtype, q->dtype);
		ck_assert_msg(p->rows == q->rows && p->cols == q->cols && p->group == q->group &&
		                      p->bytes == q->bytes,
		              "%s: plane %d has another shape", a->format, i);
	}
}

static void
same_weights(const hexc_weight *a, const hexc_weight *b)
{
	same_sizes(a, b);
	for (int i = 0; i < HEXC_NPLANE; i++)
		ck_assert_msg(!a->plane[i].dtype ||
		                      !memcmp(a->plane[i].data, b->plane[i].data, (size_t)a->plane[i].bytes),
		              "%s: plane %d has other values", a->format, i);
}

/* It has these blocks. */
static void
encodes_as(const hexc_weight *w, const unsigned char *data, uint64_t bytes)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	unsigned char *back = malloc((size_t)bytes);

	ck_assert_int_eq(hexc_weight_tensor(w, 0, &t, back, bytes), 1);
	ck_assert_uint_eq(t.bytes, bytes);
	ck_assert_str_eq(t.type, w->format);
	ck_assert_msg(!memcmp(back, data, (size_t)bytes), "%s: other blocks", w->format);
	free(back);
}

/* ---- every format -------------------------------------------------------------------------------------- */

static void
one_shape(const char *format, int64_t n, int64_t k)
{
	hexc_weight info = described(format, n, k), *of_file, *w;
	unsigned char *data = random_bytes(info.bytes + 1, (uint64_t)(n + k)), *odd = data + 1;

	of_file = load_file(format, odd, info.bytes, n, k);
	same_sizes(&info, of_file);
	ck_assert_ptr_null(info.name);
	for (int i = 0; i < HEXC_NPLANE; i++)
		ck_assert_ptr_null(info.plane[i].data);
	for (unsigned threads = 0; threads < 3; threads++) {
		w = load_blocks(format, odd, info.bytes, n, k, threads);
		same_weights(w, of_file);
		ck_assert_ptr_null(w->name);
		encodes_as(w, odd, info.bytes);
		hexc_weight_free(w);
	}
	hexc_weight_free(of_file);
	free(data);
}

static void
shapes(const char *format)
{
	one_shape(format, 1, 256);
	one_shape(format, 7, 512);
	one_shape(format, 200, 768);
}

TEST(as_of_a_file)
{
	ck_assert_int_ge(each_format(shapes), 17);
}

/* Codes and scales of zero bits; the table is that of all weights. */
static void
zero_weight(const char *format)
{
	hexc_weight info = described(format, 5, 256);
	unsigned char *zeros = calloc(1, (size_t)info.bytes);
	hexc_weight *w = load_blocks(format, NULL, 0, 5, 256, 1);
	hexc_weight *of_file = load_file(format, zeros, info.bytes, 5, 256);
	const hexc_plane *table = &w->plane[HEXC_PLANE_TABLE];

	same_sizes(w, &info);
	for (int i = 0; i < HEXC_PLANE_TABLE; i++)
		for (uint64_t b = 0; b < w->plane[i].bytes; b++)
			ck_assert_int_eq(((const unsigned char *)w->plane[i].data)[b], 0);
	if (table->dtype)
		ck_assert_mem_eq(table->data, of_file->plane[HEXC_PLANE_TABLE].data, (size_t)table->bytes);
	hexc_weight_free(of_file);
	hexc_weight_free(w);
	free(zeros);
}

TEST(without_data)
{
	each_format(zero_weight);
}

/* A host of an older header has a shorter struct. */
TEST(described_to_a_shorter_struct)
{
	hexc_weight w, full = described("Q4_K", 3, 512);
	size_t room = offsetof(hexc_weight, plane);

	memset(&w, 99, sizeof w);
	w.size = room;
	ck_assert_int_eq(hexc_format_weight("Q4_K", 3, 512, &w, NULL, 0), HEXC_OK);
	ck_assert_uint_eq(w.size, room);
	ck_assert_mem_eq(&w.name, &full.name, room - sizeof w.size);
	for (size_t i = room; i < sizeof w; i++)
		ck_assert_int_eq(((const unsigned char *)&w)[i], 99);
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

/* Neither function has such a weight. */
static void
refused(const char *format, int64_t n, int64_t k, const char *says)
{
	hexc_weight *w = (hexc_weight *)why, info = HEXC_WEIGHT_INIT;
	int code = hexc_weight_blocks(&w, format, NULL, 0, n, k, NULL, why, sizeof why);

	ck_assert_int_eq(code, HEXC_E_INVALID);
	ck_assert_ptr_null(w);
	ck_assert_str_eq(why, says);
	why[0] = 0;
	ck_assert_int_eq(hexc_format_weight(format, n, k, &info, why, sizeof why), HEXC_E_INVALID);
	ck_assert_str_eq(why, says);
	ck_assert_int_eq(info.n, 0);
}

TEST(no_such_format)
{
	refused("Q4_9", 32, 256, "GGUF has no format Q4_9 that hexc loads");
	refused("q4_0", 32, 256, "GGUF has no format q4_0 that hexc loads");
	refused("", 32, 256, "GGUF has no format  that hexc loads");
	refused(NULL, 32, 256, "GGUF has no format (none) that hexc loads");
	refused("GPTQ-4", 32, 256, "GGUF has no format GPTQ-4 that hexc loads");
	refused("IQ2_XXS", 32, 256, "GGUF has no format IQ2_XXS that hexc loads"); /* it has an expression */
	refused("F16", 32, 256, "GGUF has no format F16 that hexc loads");
}

TEST(shapes_that_do_not_fit)
{
	static const int64_t sides[][2] = { { 0, 256 },  { 3, 0 }, { -1, 256 }, { 3, -256 },
		                            { INT64_MAX, 256 }, { 1, INT64_MAX }, { (int64_t)1 << 43, 256 } };
	char says[200];

	for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
		snprintf(says, sizeof says, "a weight must have 1 to 2^50 elements, not %lld x %lld",
		         (long long)sides[i][0], (long long)sides[i][1]);
		refused("Q4_K", sides[i][0], sides[i][1], says);
	}
	refused("Q4_0", 3, 48, "Q4_0: 48 inputs are not a multiple of the group size 32");
	refused("Q4_K", 3, 128, "Q4_K: 128 inputs are not a multiple of the group size 256");
	refused("Q1_0", 3, 4, "Q1_0: rows of 4 inputs end inside a byte; pad them to a multiple of 8");
}

TEST(other_bytes)
{
	static const unsigned char data[2 * 18 * 3 + 1];
	static const uint64_t sizes[] = { 0, 1, 107, 109, UINT64_MAX };
	hexc_weight *w;
	char says[200];

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		snprintf(says, sizeof says, "Q4_0: 3 x 64 weights are 108 bytes, not %llu",
		         (unsigned long long)sizes[i]);
		ck_assert_int_eq(hexc_weight_blocks(&w, "Q4_0", data, sizes[i], 3, 64, NULL, why, sizeof why),
		                 HEXC_E_INVALID);
		ck_assert_ptr_null(w);
		ck_assert_str_eq(why, says);
	}
	ck_assert_int_eq(hexc_weight_blocks(&w, "Q4_0", data, 108, 3, 64, NULL, NULL, 0), HEXC_OK);
	hexc_weight_free(w);
}

TEST(arguments)
{
	struct {
		hexc_workers w;
		char more[8];
	} newer = { .w = HEXC_WORKERS_INIT, .more = "newer" };
	hexc_weight *w, info = HEXC_WEIGHT_INIT;

	newer.w.size = sizeof newer;
	ck_assert_int_eq(hexc_weight_blocks(NULL, "Q4_0", NULL, 0, 3, 64, NULL, why, 300), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_weight_blocks(&w, "Q4_0", NULL, 0, 3, 64, NULL, NULL, 9), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_format_weight("Q4_0", 3, 64, NULL, why, 300), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_format_weight("Q4_0", 3, 64, &info, NULL, 9), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_weight_blocks(&w, "Q4_0", NULL, 0, 3, 64, &newer.w, why, 300), HEXC_E_INVALID);
	ck_assert_str_eq(why, "hexc_workers was compiled with a newer hexc.h");
	ck_assert_ptr_null(w);
	ck_assert_int_eq(hexc_weight_blocks(&w, "Q4_9", NULL, 0, 3, 64, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_format_weight("Q4_9", 3, 64, &info, NULL, 0), HEXC_E_INVALID);
}

/* A sentence is cut to the room that it has. */
TEST(short_sentences)
{
	const char *says = "GGUF has no format Q4_9 that hexc loads";
	hexc_weight *w, info = HEXC_WEIGHT_INIT;

	for (size_t n = 1; n < 60; n++)
		for (int which = 0; which < 2; which++) {
			char text[64];
			size_t len = n - 1 < strlen(says) ? n - 1 : strlen(says);
			int code;

			memset(text, 'x', sizeof text);
			code = which ? hexc_format_weight("Q4_9", 3, 64, &info, text, n)
			             : hexc_weight_blocks(&w, "Q4_9", NULL, 0, 3, 64, NULL, text, n);
			ck_assert_int_eq(code, HEXC_E_INVALID);
			ck_assert(strlen(text) == len && !memcmp(text, says, len));
			ck_assert_int_eq(text[n], 'x');
		}
}

/* 2^50 codes, which no address space has. */
TEST(too_large)
{
	hexc_weight *w, info = described("Q8_0", (int64_t)1 << 25, (int64_t)1 << 25);

	ck_assert_uint_eq(info.plane[HEXC_PLANE_CODE].bytes, (uint64_t)1 << 50);
	ck_assert_uint_eq(info.bytes, (uint64_t)34 << 45);
	if (SANITIZED) /* their malloc ends the program */
		return;
	ck_assert_int_eq(hexc_weight_blocks(&w, "Q8_0", NULL, 0, info.n, info.k, NULL, why, sizeof why),
	                 HEXC_E_NOMEM);
	ck_assert_ptr_null(w);
	ck_assert_str_eq(why, "Q8_0: out of memory");
}

/* ---- at random ----------------------------------------------------------------------------------------- */

/* Any name, shape and size: a weight that has the blocks, or a sentence. */
static int
random_weight(uint64_t *seed)
{
	hexc_format f = HEXC_FORMAT_INIT;
	hexc_weight info = HEXC_WEIGHT_INIT, *w;
	int64_t n = (int64_t)(next(seed) % 9), k = (int64_t)(next(seed) % 40) * (next(seed) % 8 ? 64 : 17);
	uint64_t bytes;
	unsigned char *data;
	int known, code;

	if (!hexc_format_at((size_t)(next(seed) % 30), &f))
		return 0;
	why[0] = 0;
	known = hexc_format_weight(f.name, n, k, &info, why, sizeof why);
	ck_assert(known == HEXC_OK || (known == HEXC_E_INVALID && why[0]));
	bytes = known ? next(seed) % 5000 : next(seed) % 4 ? info.bytes : info.bytes + next(seed) % 5 - 2;
	data = random_bytes(bytes, *seed);
	why[0] = 0;
	code = hexc_weight_blocks(&w, f.name, data, bytes, n, k, NULL, why, sizeof why);
	ck_assert(code == (known == HEXC_OK && bytes == info.bytes ? HEXC_OK : HEXC_E_INVALID));
	ck_assert((code == HEXC_OK) == !why[0] && (code == HEXC_OK) == !!w);
	if (w)
		encodes_as(w, data, bytes);
	hexc_weight_free(w);
	free(data);
	return code == HEXC_OK;
}

TEST(at_random)
{
	uint64_t seed = 5;
	int loaded = 0;

	for (int i = 0; i < 2000; i++)
		loaded += random_weight(&seed);
	ck_assert_int_ge(loaded, 200);
}

TEST_PROGRAM(.timeout = 60);
