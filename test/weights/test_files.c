/* test_files.c - tests files written by the packages of the formats (reference.py) against what those
 * packages decode. */
#include "lib/hexc_weights.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t
crc32(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint32_t c = 0xffffffff;

	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
	}
	return ~c;
}

/* Load the weight, turn it to f32, compare; then back to the file's bytes. */
static void
one(const char *dir, const char *file, const char *name, const char *format, long rows, long cols,
    unsigned long crc, unsigned threads)
{
	const hexc_workers workers = { sizeof workers, threads, NULL, NULL };
	char path[600], why[400] = "";
	hexc_file *f;
	hexc_weight *w;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT, in = HEXC_FILE_TENSOR_INIT;
	float *x;

	snprintf(path, sizeof path, "%s/%s", dir, file);
	ck_assert_msg(hexc_file_open(&f, path, why, sizeof why) == HEXC_OK, "%s: %s", path, why);
	ck_assert_msg(hexc_weight_load(&w, f, name, &workers, why, sizeof why) == HEXC_OK, "%s %s: %s",
	              path, name, why);
	ck_assert_str_eq(w->format, format);
	ck_assert_int_eq(w->n, rows);
	ck_assert_int_eq(w->k, cols);
	x = malloc((size_t)(rows * cols) * sizeof *x);
	ck_assert_int_eq(hexc_weight_float(w, x, &workers, why, sizeof why), HEXC_OK);
	for (long i = 0; i < rows * cols; i++)
		x[i] += 0.0f; /* -0 */
	ck_assert_msg(crc32(x, (size_t)(rows * cols) * sizeof *x) == crc, "%s %s: %g %g %g ...", file,
	              name, (double)x[0], (double)x[1], (double)x[2]);
	for (size_t i = 0; hexc_weight_tensor(w, i, &t, NULL, 0); i++, t.size = sizeof t) {
		char part[300];
		unsigned char *bytes = malloc(t.bytes);

		snprintf(part, sizeof part, "%s%s", name, t.name);
		ck_assert_int_eq(hexc_weight_tensor(w, i, &t, bytes, t.bytes), 1);
		ck_assert_ptr_eq(t.data, bytes);
		ck_assert_int_eq(hexc_file_find(f, part, &in), 1);
		ck_assert_str_eq(t.type, in.type);
		ck_assert_uint_eq(t.rank, in.rank);
		ck_assert_mem_eq(t.dim, in.dim, sizeof t.dim);
		ck_assert_uint_eq(t.bytes, in.bytes);
		ck_assert_msg(memcmp(bytes, in.data, t.bytes) == 0, "%s %s: the bytes differ", file, part);
		free(bytes);
	}
	free(x);
	hexc_weight_free(w);
	hexc_file_close(f);
}

static int
all(const char *dir, unsigned threads)
{
	char path[600], line[600], file[100], name[100], format[40];
	FILE *list;
	int n = 0;

	snprintf(path, sizeof path, "%s/expected.tsv", dir);
	list = fopen(path, "r");
	ck_assert_msg(list != NULL, "no %s", path);
	for (; fgets(line, sizeof line, list); n++) {
		long rows, cols;
		unsigned long crc;

		ck_assert_int_eq(sscanf(line, "%99s %99s %39s %ld %ld %lx", file, name, format, &rows,
		                        &cols, &crc),
		                 6);
		one(dir, file, name, format, rows, cols, crc, threads);
	}
	fclose(list);
	return n;
}

TEST(fixtures)
{
	ck_assert_int_ge(all("test/weights/fixtures", 1), 29);
	ck_assert_int_ge(all("test/weights/fixtures", 0), 29);
}

/* Files of compressed-tensors, and the numbers of its format's description (compressed.py). */
TEST(compressed)
{
	ck_assert_int_ge(all("test/weights/fixtures/compressed", 1), 30);
	ck_assert_int_ge(all("test/weights/fixtures/compressed", 0), 30);
}

/* Before 0.18 a word had whole codes, and 3 bits left 2 unused. */
TEST(compressed_with_gaps)
{
	hexc_file *f;
	hexc_weight *w;
	char why[400];

	ck_assert_int_eq(hexc_file_open(&f, "test/weights/fixtures/compressed/padded.safetensors", NULL, 0),
	                 HEXC_OK);
	ck_assert_int_eq(hexc_file_weight(f, 0, &(hexc_weight)HEXC_WEIGHT_INIT), 0);
	ck_assert_int_eq(hexc_weight_load(&w, f, "w3", NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_str_eq(why, "w3.weight_packed has 7 words per output, 10 codes of 3 bits in each, as "
			      "compressed-tensors before 0.18 packs them, and hexc reads codes without gaps; "
			      "write the model again with 0.18 or later");
	hexc_file_close(f);
}

/* Files made just now (run-reference.sh). */
TEST(elsewhere)
{
	const char *dir = getenv("REFERENCE");

	if (dir)
		ck_assert_int_ge(all(dir, 0), 16);
	dir = getenv("COMPRESSED"); /* run-compressed.sh */
	if (dir)
		ck_assert_int_ge(all(dir, 0), 11);
}

/* NAME:2x3:CRC, the shape of a scalar being "-". */
static void
judged_tensor(const hexc_file *f, const char *file, char *word)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	char *shape = strchr(word, ':'), *crc = strrchr(word, ':'), is[200] = "-";
	size_t at = 0;

	ck_assert(shape && crc > shape);
	*shape++ = *crc++ = 0;
	ck_assert_msg(hexc_file_find(f, word, &t) == 1, "%s: no tensor %s", file, word);
	for (uint32_t i = 0; i < t.rank; i++)
		at += (size_t)snprintf(is + at, sizeof is - at, "%s%lld", i ? "x" : "", (long long)t.dim[i]);
	ck_assert_str_eq(is, shape);
	ck_assert_msg(crc32(t.data, t.bytes) == strtoul(crc, NULL, 16), "%s: %s has other bytes", file, word);
}

/* Odd files, and what the containers' own readers find in them (run-judge.sh). */
TEST(judged)
{
	const char *dir = getenv("JUDGED");
	char path[600], line[600], why[400];
	FILE *list;
	int n = 0;

	if (!dir)
		return;
	snprintf(path, sizeof path, "%s/judged.tsv", dir);
	list = fopen(path, "r");
	ck_assert_ptr_nonnull(list);
	for (; fgets(line, sizeof line, list); n++) {
		char *file = strtok(line, "\t\n"), *ok = strtok(NULL, "\t\n"), *word;
		size_t tensors = 0;
		hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
		hexc_file *f;
		int code;

		snprintf(path, sizeof path, "%s/%s", dir, file);
		code = hexc_file_open(&f, path, why, sizeof why);
		ck_assert_msg((code == HEXC_OK) == (strcmp(ok, "ok") == 0), "%s: %s, but '%s'", file,
			      ok, why);
		for (; (word = strtok(NULL, " \t\n")) != NULL; tensors++)
			judged_tensor(f, file, word);
		ck_assert(code != HEXC_OK || hexc_file_tensor_at(f, tensors, &t) == 0);
		hexc_file_close(f);
	}
	fclose(list);
	ck_assert_int_ge(n, 45);
}

TEST(listing)
{
	hexc_file *f;
	hexc_weight w = HEXC_WEIGHT_INIT;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	const char *key, *value;
	size_t n = 0;

	ck_assert_int_eq(hexc_file_open(&f, "test/weights/fixtures/gptq4-order.safetensors", NULL, 0),
	                 HEXC_OK);
	ck_assert_str_eq(hexc_file_kind(f), "safetensors");
	ck_assert_int_eq(hexc_file_weight(f, 0, &w), 1);
	ck_assert_int_eq(hexc_file_weight(f, 1, &w), 0);
	ck_assert_str_eq(w.name, "l.0");
	ck_assert_str_eq(w.format, "GPTQ-4");
	ck_assert_ptr_null(w.plane[HEXC_PLANE_CODE].data);
	ck_assert_int_eq(w.plane[HEXC_PLANE_SCALE].rows, 2);
	ck_assert_int_eq(w.plane[HEXC_PLANE_SCALE].cols, 32);
	ck_assert_str_eq(w.plane[HEXC_PLANE_INDEX].dtype, "i32");
	ck_assert_int_eq(hexc_file_meta(f, 0, &key, &value), 1);
	ck_assert_str_eq(key, "format");
	ck_assert_str_eq(value, "pt");
	ck_assert_int_eq(hexc_file_meta(f, 1, &key, &value), 0);
	for (; hexc_file_tensor_at(f, n, &t); t.size = sizeof t)
		n++;
	ck_assert_uint_eq(n, 4);
	hexc_file_close(f);

	ck_assert_int_eq(hexc_file_open(&f, "test/weights/fixtures/blocks.gguf", NULL, 0), HEXC_OK);
	for (n = 0; hexc_file_meta(f, n, &key, &value); n++) {
		if (strcmp(key, "test.list") == 0)
			ck_assert_str_eq(value, "string[2]");
		if (strcmp(key, "test.number") == 0)
			ck_assert_str_eq(value, "7");
	}
	ck_assert_uint_ge(n, 3);
	ck_assert_int_eq(hexc_file_find(f, "norm", &t), 1);
	ck_assert_str_eq(t.dtype, "f32");
	ck_assert_int_eq(t.dim[0], 8);
	ck_assert_int_eq(hexc_file_find(f, "nor", &t), 0);
	hexc_file_close(f);
}

/* ---- files that are none, or change -------------------------------------------------------------------- */

TEST(pipes_are_not_waited_for)
{
	char path[] = "/tmp/hexc-pipe-XXXXXX", name[sizeof path + 8], why[200];
	hexc_file *f;

	ck_assert_ptr_nonnull(mkdtemp(path));
	snprintf(name, sizeof name, "%s/pipe", path);
	ck_assert_int_eq(mkfifo(name, 0600), 0);
	ck_assert_int_eq(hexc_file_open(&f, name, why, sizeof why), HEXC_E_FILE);
	ck_assert_ptr_nonnull(strstr(why, "it is empty, or not a regular file"));
	unlink(name);
	rmdir(path);
}

/* Not by SIGBUS. */
TEST(a_file_that_shrank)
{
	char path[] = "/tmp/hexc-shrank-XXXXXX", why[300];
	int to = mkstemp(path), from = open("test/weights/fixtures/blocks.gguf", O_RDONLY);
	static char bytes[1 << 20];
	ssize_t n = read(from, bytes, sizeof bytes);
	hexc_weight *w;
	hexc_file *f;

	ck_assert(to >= 0 && n > 5000 && write(to, bytes, (size_t)n) == n);
	ck_assert_int_eq(hexc_file_open(&f, path, NULL, 0), HEXC_OK);
	ck_assert_int_eq(hexc_weight_load(&w, f, "blk.0.q4_0", NULL, why, sizeof why), HEXC_OK);
	hexc_weight_free(w);
	ck_assert_int_eq(ftruncate(to, 100), 0);
	ck_assert_int_eq(hexc_weight_load(&w, f, "blk.0.q4_0", NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_str_eq(why, "blk.0.q4_0: the file was truncated since it was opened; open it again");
	hexc_file_close(f);
	close(from);
	close(to);
	unlink(path);
}
