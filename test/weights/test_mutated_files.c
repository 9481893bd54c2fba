/* test_mutated_files.c - tests files and packs that are truncated and mutated at random: each is rejected
 * with a message, or can be read completely. With arguments it runs more of the same (run-fuzz.sh does that
 * under the sanitizers). */
#include "lib/hexc_weights.h"
#include "test/check.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char why[400];

/* Outside of Check's tests too. */
static void
must(bool ok, const char *what, const char *about)
{
	if (!ok) {
		fprintf(stderr, "%s: %s (%s)\n", about, what, why);
		abort();
	}
}

static uint64_t
next(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return *s >> 33;
}

/* ---- files ------------------------------------------------------------------------------------------- */

/* Load a weight, make it f32, and tensors again. */
static void
use_weight(const hexc_file *f, const char *name)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	hexc_weight *w;
	float *x;

	if (hexc_weight_load(&w, f, name, NULL, why, sizeof why) != HEXC_OK) {
		must(why[0] != 0, "refused without a sentence", "file");
		return;
	}
	x = malloc((size_t)(w->n * w->k) * sizeof *x);
	hexc_weight_float(w, x, NULL, why, sizeof why);
	for (size_t i = 0; hexc_weight_tensor(w, i, &t, NULL, 0); i++, t.size = sizeof t) {
		void *bytes = malloc((size_t)t.bytes + 1);

		hexc_weight_tensor(w, i, &t, bytes, t.bytes);
		free(bytes);
	}
	free(x);
	hexc_weight_free(w);
}

/* Whatever it is, look at all of it; returns a sum of it.  The memory is of exactly the size, so that a
 * sanitizer sees what is behind. */
static unsigned
use(const void *bytes, size_t n)
{
	hexc_file *f;
	hexc_weight info = HEXC_WEIGHT_INIT;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	const char *key, *value;
	void *copy = malloc(n ? n : 1);
	unsigned sum = 0;

	memcpy(copy, bytes, n);
	if (hexc_file_memory(&f, copy, n, why, sizeof why) != HEXC_OK) {
		must(why[0] != 0, "refused without a sentence", "file");
		free(copy);
		return 0;
	}
	for (size_t i = 0; hexc_file_meta(f, i, &key, &value); i++)
		sum += (unsigned)(strlen(key) + strlen(value));
	for (size_t i = 0; hexc_file_tensor_at(f, i, &t); i++, t.size = sizeof t)
		for (uint64_t b = 0; b < t.bytes; b++)
			sum += ((const unsigned char *)t.data)[b];
	for (size_t i = 0; hexc_file_weight(f, i, &info); i++, info.size = sizeof info)
		if (info.n * info.k <= 1 << 20) /* more is in the file, since it was accepted: only slow */
			use_weight(f, info.name);
	use_weight(f, "no such weight");
	hexc_file_close(f);
	free(copy);
	return sum;
}

typedef struct Bytes {
	unsigned char *data, *bad;
	size_t n, front; /* what is believed stands at the front */
} Bytes;

static Bytes
read_bytes(const char *path)
{
	Bytes b = { malloc(1 << 20), malloc(1 << 20), 0, 0 };
	FILE *in = fopen(path, "rb");

	must(in != NULL, "it is not there", path);
	b.n = fread(b.data, 1, 1 << 20, in);
	b.front = b.n < 2000 ? b.n : 2000;
	memcpy(b.bad, b.data, b.n);
	fclose(in);
	return b;
}

static void
free_bytes(Bytes *b)
{
	free(b->data);
	free(b->bad);
}

/* A few bytes changed, some of the files cut off too. */
static void
mutate(const char *path, long n, uint64_t seed)
{
	static const uint64_t numbers[] = { 0, 1, 0xff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX };
	Bytes b = read_bytes(path);

	for (long i = 0; i < n; i++) {
		size_t m = next(&seed) % 8 ? b.n : next(&seed) % b.n;

		memcpy(b.bad, b.data, b.n);
		for (uint64_t j = next(&seed) % 3 + 1; j--;) {
			size_t at = next(&seed) % (next(&seed) % 8 ? b.front : b.n);
			uint64_t x = numbers[next(&seed) % 7];

			switch (next(&seed) % 4) {
			case 0: b.bad[at] ^= (unsigned char)(1u << next(&seed) % 8); break;
			case 1: b.bad[at] = (unsigned char)next(&seed); break;
			case 2: b.bad[at] = (unsigned char)"0123456789[]{},:\""[next(&seed) % 17]; break;
			default: memcpy(b.bad + at, &x, at + 8 <= b.n ? 8 : b.n - at);
			}
		}
		use(b.bad, m);
	}
	free_bytes(&b);
}

/* Cut off behind every byte of the front and each step-th of the rest: what misses data is refused. */
static void
truncate_at(const char *path, size_t step)
{
	Bytes b = read_bytes(path);

	for (size_t n = 0; n < b.n; n += n < b.front ? 1 : step) {
		must(!use(b.data, n), "a part of it is taken for a file", path);
	}
	free_bytes(&b);
}

/* Each bit of the front changed, or one of some. */
static void
flip(const char *path, uint64_t some, uint64_t seed)
{
	Bytes b = read_bytes(path);

	for (size_t i = 0; i < b.front * 8; i++) {
		if (some > 1 && next(&seed) % some)
			continue;
		b.bad[i / 8] ^= (unsigned char)(1u << i % 8);
		use(b.bad, b.n);
		b.bad[i / 8] ^= (unsigned char)(1u << i % 8);
	}
	free_bytes(&b);
}

/* ---- packs ------------------------------------------------------------------------------------------- */

/* The text of a pack comes from a file too.  What is accepted must go there and back. */
static void
use_pack(const char *text)
{
	static unsigned char from[1 << 12], again[1 << 12];
	int64_t dim[2] = { 37, 40 }; /* 1480 codes of up to a byte */
	uint64_t bytes;
	void *to;

	if (hexc_pack_bytes(text, 2, dim, &bytes, why, sizeof why) != HEXC_OK) {
		must(why[0] != 0, "refused without a sentence", text);
		return;
	}
	if (bytes > 1 << 16)
		return; /* a block of many elements: only slow */
	to = calloc(1, bytes);
	for (size_t i = 0; i < sizeof from; i++)
		from[i] = (unsigned char)(i * 167 + i / 256);
	memset(again, 0, sizeof again);
	must(hexc_pack(text, 2, dim, from, to, NULL, why, sizeof why) == HEXC_OK, "not packed", text);
	must(hexc_unpack(text, 2, dim, to, again, NULL, why, sizeof why) == HEXC_OK, "not unpacked", text);
	/* codes have a bit each at the least */
	must(memcmp(from, again, 37 * 40 / 8) == 0, "unpack is not the inverse", text);
	free(to);
}

static void
mutate_packs(long n, uint64_t seed)
{
	static const char *const packs[] = {
		"hexc-pack 1 u3 block 64x64 spread 16 streams 32 place ((8,8),(2,4,8)):((512,16),(1,128,2))",
		"hexc-pack 1 i8 block 16x32 spread 8 streams 32 place ((8,2),(4,4,2)):((64,8),(1,16,4))",
		"hexc-pack 1 u4 block 1x8 spread 0 streams 1 place (1,8):(0,1)",
	};

	for (long i = 0; i < n; i++) {
		char text[200];
		size_t len = (size_t)snprintf(text, sizeof text, "%s", packs[i % 3]);

		for (uint64_t j = next(&seed) % 3; j--;)
			text[next(&seed) % len] = "0123456789(),:xu "[next(&seed) % 17];
		if (next(&seed) % 8 == 0)
			text[next(&seed) % len] = 0;
		use_pack(text);
	}
}

/* ---- tests ------------------------------------------------------------------------------------------- */

#define FILES "test/weights/fixtures/"

TEST(mutations)
{
	mutate(FILES "blocks.gguf", 1000, 1);
	mutate(FILES "tables.gguf", 1000, 1);
	mutate(FILES "gptq3-order.safetensors", 2000, 2);
	mutate(FILES "marlin.safetensors", 1000, 3);
}

TEST(truncations)
{
	truncate_at(FILES "blocks.gguf", 97);
	truncate_at(FILES "awq.safetensors", 1);
}

TEST(flips)
{
	flip(FILES "tables.gguf", 8, 1);
	flip(FILES "gptq4.safetensors", 4, 1);
}

TEST(packs)
{
	mutate_packs(3000, 1);
}

/* COUNT SEED FILE...: mutations of those files. */
static int
start(int argc, char **argv)
{
	if (argc <= 3)
		return RUN_TESTS;

	long n = atol(argv[1]);
	uint64_t seed = (uint64_t)atol(argv[2]);

	mutate_packs(n, seed);
	for (int i = 3; i < argc; i++) {
		mutate(argv[i], n, seed + (uint64_t)i);
		truncate_at(argv[i], n > 1000 ? 1 : 61);
		flip(argv[i], n > 1000 ? 1 : 16, seed);
	}
	return EXIT_SUCCESS;
}

TEST_PROGRAM(.start = start, .timeout = 120);
