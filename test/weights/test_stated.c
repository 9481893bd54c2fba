/* test_stated.c - tests metadata of weights besides their tensors: GPTQ's version, an index, one file of
 * several. */
#include "lib/hexc_weights.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char why[500];

static bool
said(const char *text)
{
	return strstr(why, text) != NULL;
}

/* ---- GPTQ of 4 bits, 32 outputs, 64 inputs in groups of 32 ------------------------------------------- */

enum { N = 32, K = 64, GROUPS = 2 };

static unsigned char file[20000];

static unsigned
code_of(unsigned n, unsigned k)
{
	return (7 * n + 3 * k + n * k) % 16;
}

/* The zero that is stored: `same` for all, or from 0 to 14 where that is 16. */
static unsigned
stored_zero(unsigned n, unsigned g, unsigned same)
{
	return same < 16 ? same : (n + 5 * g) % 15;
}

/* A file with this text behind the { of its header; scales are 1. */
static hexc_file *
gptq(const char *before, unsigned same)
{
	unsigned char *data;
	uint32_t *word = calloc(1, 1024 + 32), *zero = word + 256;
	const uint16_t one = 0x3c00;
	hexc_file *f;
	uint64_t n;

	n = (uint64_t)snprintf((char *)file + 8, sizeof file - 8,
	                       "{%s\"l.qweight\":{\"dtype\":\"I32\",\"shape\":[8,32],"
	                       "\"data_offsets\":[0,1024]},"
	                       "\"l.qzeros\":{\"dtype\":\"I32\",\"shape\":[2,4],\"data_offsets\":[1024,"
	                       "1056]},"
	                       "\"l.scales\":{\"dtype\":\"F16\",\"shape\":[2,32],\"data_offsets\":[1056,"
	                       "1184]}}",
	                       before);
	memcpy(file, &n, 8);
	for (unsigned k = 0; k < K; k++)
		for (unsigned o = 0; o < N; o++)
			word[k / 8 * N + o] |= code_of(o, k) << k % 8 * 4;
	for (unsigned g = 0; g < GROUPS; g++)
		for (unsigned o = 0; o < N; o++)
			zero[g * N / 8 + o / 8] |= stored_zero(o, g, same) << o % 8 * 4;
	data = file + 8 + n;
	memcpy(data, word, 1056);
	for (int i = 0; i < GROUPS * N; i++)
		memcpy(data + 1056 + 2 * i, &one, 2);
	free(word);
	ck_assert_msg(hexc_file_memory(&f, file, 8 + n + 1184, why, sizeof why) == HEXC_OK, "%s", why);
	return f;
}

/* W is code - (stored + plus), by the definition of the versions: plus is 1 in the first, 0 in the second. */
static void
reads_as(hexc_file *f, const char *format, unsigned plus, unsigned same)
{
	hexc_weight *w, info = HEXC_WEIGHT_INIT;
	float x[N * K];

	ck_assert_int_eq(hexc_file_weight(f, 0, &info), 1);
	ck_assert_str_eq(info.format, format);
	ck_assert_msg(hexc_weight_load(&w, f, "l", NULL, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_str_eq(w->format, format);
	ck_assert_int_eq(hexc_weight_float(w, x, NULL, why, sizeof why), HEXC_OK);
	for (unsigned n = 0; n < N; n++)
		for (unsigned k = 0; k < K; k++) {
			float want = (float)code_of(n, k) - (float)(stored_zero(n, k / 32, same) + plus);

			ck_assert_msg(x[n * K + k] <= want && x[n * K + k] >= want, "W[%u, %u] is %g, not "
										    "%g", n,
			              k, (double)x[n * K + k], (double)want);
		}
	hexc_weight_free(w);
	hexc_file_close(f);
}

static int
config(hexc_file *f, const char *json)
{
	return hexc_file_config(f, json, strlen(json), why, sizeof why);
}

static hexc_file *
configured(const char *json)
{
	hexc_file *f = gptq("", 16);

	ck_assert_msg(config(f, json) == HEXC_OK, "%s: %s", json, why);
	return f;
}

TEST(versions)
{
	reads_as(gptq("", 16), "GPTQ-4", 1, 16);
	reads_as(configured("{\"checkpoint_format\": \"gptq\"}"), "GPTQ-4", 1, 16);
	reads_as(configured("{\"bits\": 4, \"quant_method\": \"gptq\"}"), "GPTQ-4", 1, 16);
	reads_as(configured("{\"checkpoint_format\": \"gptq_v2\"}"), "GPTQ-v2-4", 0, 16);
	reads_as(configured("{\"x\": 1, \"quantization_config\": {\"checkpoint_format\": "
			    "\"GPTQ_V2\"}}"), "GPTQ-v2-4",
	         0, 16);
	reads_as(gptq("\"__metadata__\":{\"checkpoint_format\":\"gptq_v2\"},", 16), "GPTQ-v2-4", 0, 16);
	reads_as(gptq("\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq_v2\"},", 16), "GPTQ-v2-4", 0, 16);
	reads_as(gptq("\"__metadata__\":{\"quantization_config\":\"{\\\"checkpoint_format\\\": "
		      "\\\"gptq_v2\\\"}\"},",
	              16),
	         "GPTQ-v2-4", 0, 16);
}

/* Every stored zero in the middle: symmetric in version 2, and one beside it in version 1. */
TEST(a_version_that_is_not_stated)
{
	hexc_file *f = gptq("", 8);
	hexc_weight *w;

	ck_assert_int_eq(hexc_weight_load(&w, f, "l", NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_msg(said("every stored zero is 8") && said("quantize_config.json"), "%s", why);
	ck_assert_int_eq(config(f, "{\"checkpoint_format\": \"gptq_v2\"}"), HEXC_OK);
	reads_as(f, "GPTQ-v2-4", 0, 8);
	f = gptq("", 8);
	ck_assert_int_eq(config(f, "{\"checkpoint_format\": \"gptq\"}"), HEXC_OK);
	reads_as(f, "GPTQ-4", 1, 8);
	reads_as(gptq("", 7), "GPTQ-4", 1, 7); /* symmetric in version 1 */
}

static void
load_fails(hexc_file *f, const char *text)
{
	hexc_weight *w;

	ck_assert_int_eq(hexc_weight_load(&w, f, "l", NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_msg(said(text), "'%s' does not say '%s'", why, text);
	hexc_file_close(f);
}

TEST(what_is_not_known)
{
	hexc_file *f = gptq("", 16);

	ck_assert_int_eq(config(f, "{\"checkpoint_format\": \"bitblas\"}"), HEXC_E_FILE);
	ck_assert_str_eq(why, "unknown checkpoint_format bitblas; known: gptq, gptq_v2, gemm, marlin");
	ck_assert_int_eq(config(f, "{\"checkpoint_format\": 2}"), HEXC_E_FILE);
	ck_assert_int_eq(config(f, "{\"checkpoint_format\": "), HEXC_E_INVALID);
	ck_assert_int_eq(config(f, "[]"), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_file_config(NULL, "{}", 2, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_file_config(f, NULL, 2, NULL, 0), HEXC_E_INVALID);
	reads_as(f, "GPTQ-4", 1, 16); /* nothing was stated */
	load_fails(gptq("\"__metadata__\":{\"checkpoint_format\":\"bitblas\"},", 16),
	           "the file's metadata checkpoint_format states the unknown checkpoint_format bitblas; "
	           "known: gptq, gptq_v2, gemm, marlin");
	f = gptq("\"__metadata__\":{\"checkpoint_format\":\"gptq_v2\"},", 16);
	ck_assert_int_eq(config(f, "{\"checkpoint_format\": \"gptq\"}"), HEXC_E_FILE);
	ck_assert_str_eq(why, "the file's metadata checkpoint_format states checkpoint_format gptq_v2, but "
			      "the "
	                      "configuration states gptq");
	reads_as(f, "GPTQ-v2-4", 0, 16);
	load_fails(configured("{\"quant_method\": \"awq\", \"version\": \"GEMM\"}"),
	           "l has the tensors of checkpoint_format gptq, but the configuration states gemm");
}

/* ---- tensors beside the weight that change what it means --------------------------------------------- */

/* compressed-tensors' packed integers of 4 bits, [8, 32], groups of 32, with a tensor of `bytes` bytes
 * more. */
static void
companion(const char *suffix, const void *data, uint64_t bytes, const char *says)
{
	hexc_file *f;
	hexc_weight *w;
	uint64_t n;

	n = (uint64_t)snprintf(
		(char *)file + 8, sizeof file - 8,
		"{\"l.weight_packed\":{\"dtype\":\"I32\",\"shape\":[8,4],\"data_offsets\":[0,128]},"
		"\"l.weight_scale\":{\"dtype\":\"F32\",\"shape\":[8,1],\"data_offsets\":[128,160]},"
		"\"l%s\":{\"dtype\":\"I32\",\"shape\":[%d],\"data_offsets\":[160,%d]}}",
		suffix, (int)bytes / 4, 160 + (int)bytes);
	memcpy(file, &n, 8);
	memset(file + 8 + n, 0x11, 160);
	memcpy(file + 8 + n + 160, data, bytes);
	ck_assert_msg(hexc_file_memory(&f, file, 8 + n + 160 + bytes, why, sizeof why) == HEXC_OK, "%s", why);
	if (says) {
		load_fails(f, says);
		return;
	}
	ck_assert_msg(hexc_weight_load(&w, f, "l", NULL, why, sizeof why) == HEXC_OK, "%s", why);
	hexc_weight_free(w);
	hexc_file_close(f);
}

TEST(companions)
{
	int32_t numbers[32] = { 0 };

	companion(".weight_zero_point", numbers, 32, NULL);
	companion(".weight_g_idx", numbers, 128, NULL); /* one group */
	numbers[3] = 8;
	companion(".weight_zero_point", numbers, 32, "l.weight_zero_point changes the meaning of the codes "
	                                             "of packed-4, and hexc does not support it; quantize "
	                                             "the model");
	companion(".weight_g_idx", numbers, 128, "l.weight_g_idx changes the meaning of the codes of "
	                                         "packed-4, and hexc does not support it; quantize the "
	                                         "model");
	memset(numbers, 0xff, sizeof numbers);
	companion(".weight_g_idx", numbers, 128, NULL); /* not set */
}

/* ---- shapes: the nearest format is named --------------------------------------------------------------- */

static void
shapes(const char *qweight, const char *qzeros, const char *scales, const char *text)
{
	hexc_file *f;
	uint64_t n = (uint64_t)snprintf((char *)file + 8, sizeof file - 8,
	                                "{\"l.qweight\":{\"dtype\":\"I32\",\"shape\":%s,"
	                                "\"data_offsets\":[0,1024]}%s%s%s}",
	                                qweight, qzeros[0] ? ",\"l.qzeros\":{\"dtype\":\"I32\","
							     "\"shape\":" : "",
	                                qzeros, qzeros[0] ? ",\"data_offsets\":[1024,1056]}" : "");
	int at = qzeros[0] ? 1056 : 1024;

	n = n - 1 +
	    (uint64_t)snprintf((char *)file + 8 + n - 1, sizeof file - 8 - n,
	                       ",\"l.scales\":{\"dtype\":\"F16\",\"shape\":%s,\"data_offsets\":[%d,"
	                       "%d]}}", scales, at,
	                       at + 128);
	memcpy(file, &n, 8);
	memset(file + 8 + n, 0x11, 1056 + 128);
	ck_assert_msg(hexc_file_memory(&f, file, 8 + n + (uint64_t)at + 128, why,
	                               sizeof why) == HEXC_OK,
	              "%s", why);
	load_fails(f, text);
}

TEST(nearest_formats)
{
	shapes("[32,8]", "[2,4]", "[2,32]", "the dimensions of l.qweight, [32, 8], are swapped: in GPTQ-4 it "
					    "is [8, 32]");
	shapes("[8,32]", "[4,2]", "[32,2]", ", are swapped: in GPTQ-4 it is");
	shapes("[8,32]", "[2,4]", "[4,16]", "the shape of l.scales does not match W[32, 64] in GPTQ-4");
	shapes("[8,32]", "[1,8]", "[2,32]", "the shape of l.qzeros");
	shapes("[8,32]", "", "[2,32]", "l.qzeros is missing, which GPTQ-2, GPTQ-4, GPTQ-8");
}

/* ---- models of several files
 * ----------------------------------------------------------------------------- */

static void
not_opened(const char *text, const char *says)
{
	hexc_file *f;

	ck_assert_int_eq(hexc_file_memory(&f, text, strlen(text), why, sizeof why), HEXC_E_FILE);
	ck_assert_msg(said(says), "'%s' does not say '%s'", why, says);
}

TEST(an_index)
{
	not_opened("{\"metadata\": {\"total_size\": 8}, \"weight_map\": {\"a.weight\": "
	           "\"model-00001-of-00002.safetensors\", \"b\": \"model-00002-of-00002.safetensors\"}}",
	           "this is the index of a model of several files with 2 tensors: a.weight is in "
	           "model-00001-of-00002.safetensors; open those files");
	not_opened(" \n{\"weight_map\": {\"a\": \"b\"}}", "this is the index of a model");
	not_opened("{\"model_type\": \"llama\"}", "this is JSON without tensors; open the weights file "
	                                          "next to it");
	not_opened("{\"weight_map\": ", "neither a safetensors file");
}

static void
shard_of(const char *name, uint32_t number, uint32_t count)
{
	char dir[] = "/tmp/hexc-shard-XXXXXX", path[200];
	const char head[] = "{\"a\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]}}";
	uint64_t n = sizeof head - 1;
	uint32_t x = 9, y = 9;
	hexc_weight *w;
	hexc_file *f;
	FILE *to;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/%s", dir, name);
	to = fopen(path, "wb");
	ck_assert(to && fwrite(&n, 8, 1, to) == 1 && fwrite(head, n, 1, to) == 1 &&
	          fwrite("ab", 2, 1, to) == 1);
	fclose(to);
	ck_assert_msg(hexc_file_open(&f, path, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_int_eq(hexc_file_shard(f, &x, &y), count > 1);
	ck_assert_uint_eq(x, number);
	ck_assert_uint_eq(y, count);
	ck_assert_int_eq(hexc_weight_load(&w, f, "b", NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_msg(said("of a model, the other files have the rest") == (count > 1), "%s", why);
	hexc_file_close(f);
	remove(path);
	remove(dir);
}

TEST(one_file_of_several)
{
	shard_of("model-00001-of-00002.safetensors", 1, 2);
	shard_of("of-the-of-model-3-of-12.safetensors", 3, 12);
	shard_of("model-00001-of-00001.safetensors", 1, 1);
	shard_of("model-00003-of-00002.safetensors", 1, 1);
	shard_of("model-of-2.safetensors", 1, 1);
	shard_of("model-1-of-.safetensors", 1, 1);
	shard_of("1-of-2.safetensors", 1, 1);
	shard_of("a-99999999999-of-999999999999.safetensors", 1, 1);
	ck_assert_int_eq(hexc_file_shard(NULL, NULL, NULL), 0);
}

TEST_PROGRAM(.timeout = 60);
