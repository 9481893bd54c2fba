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
	companion(".weight_zero_point", numbers, 32,
	          "l.weight_zero_point is I32 of 32 bytes, and packed-4-zero wants I32 [1, 1]; "
	          "write the model "
	          "again with compressed-tensors 0.9 or later");
	companion(".weight_g_idx", numbers, 128, "l: input 3 belongs to group 8, and there are 1");
	companion(".weight_g_idx", numbers, 64, "the shape of l.weight_g_idx does not match W[8, 32]");
	memset(numbers, 0xff, sizeof numbers);
	companion(".weight_g_idx", numbers, 128, NULL); /* not set */
	numbers[3] = 0;
	companion(".weight_g_idx", numbers, 128, "l: input 0 belongs to group -1, and there are 1");
}

/* ---- compressed-tensors' configuration ---------------------------------------------------------------- */

/* [8, 64] of 4 bits, or [8, 32] of 8; two groups. A zero point of 4 bits if `zero`; the groups alternate if
 * `ordered`. */
static hexc_file *
compressed(bool zero, bool ordered)
{
	hexc_file *f;
	uint64_t n = (uint64_t)snprintf(
		(char *)file + 8, sizeof file - 8,
		"{\"l.weight_packed\":{\"dtype\":\"I32\",\"shape\":[8,8],\"data_offsets\":[0,256]},"
		"\"l.weight_scale\":{\"dtype\":\"F32\",\"shape\":[8,2],\"data_offsets\":[256,320]},"
		"\"l.%s\":{\"dtype\":\"I32\",\"shape\":[1,2],\"data_offsets\":[320,328]},"
		"\"l.%s\":{\"dtype\":\"I32\",\"shape\":[64],\"data_offsets\":[328,584]}}",
		zero ? "weight_zero_point" : "other", ordered ? "weight_g_idx" : "another");

	memcpy(file, &n, 8);
	memset(file + 8 + n, 0x31, 328);
	for (int k = 0; k < 64; k++)
		memcpy(file + 8 + n + 328 + 4 * k, &(int32_t){ k % 2 }, 4);
	ck_assert_msg(hexc_file_memory(&f, file, 8 + n + 584, why, sizeof why) == HEXC_OK, "%s", why);
	return f;
}

/* The configuration of one group of weights. */
static const char *
group_config(const char *weights)
{
	static char json[1000];

	snprintf(json, sizeof json,
	         "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"format\": "
	         "\"pack-quantized\", \"config_groups\": {\"group_0\": {\"targets\": [\"Linear\"], "
	         "\"weights\": {%s}}}}}",
	         weights);
	return json;
}

static void
not_configured(const char *json, const char *text)
{
	hexc_file *f = compressed(true, true);
	hexc_weight *w;

	ck_assert_msg(config(f, json) == HEXC_E_FILE, "%s: it passes", json);
	ck_assert_msg(said(text), "'%s' does not say '%s'", why, text);
	/* nothing was stated */
	ck_assert_msg(hexc_weight_load(&w, f, "l", NULL, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_str_eq(w->format, "packed-4-zero");
	hexc_weight_free(w);
	hexc_file_close(f);
}

static hexc_file *
compressed_configured(bool zero, bool ordered, const char *weights)
{
	hexc_file *f = compressed(zero, ordered);

	ck_assert_msg(config(f, group_config(weights)) == HEXC_OK, "%s: %s", weights, why);
	return f;
}

static void
compressed_reads(hexc_file *f, const char *format, bool ordered)
{
	hexc_weight *w;

	ck_assert_msg(hexc_weight_load(&w, f, "l", NULL, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_str_eq(w->format, format);
	ck_assert_int_eq(w->plane[HEXC_PLANE_INDEX].dtype != NULL, ordered);
	hexc_weight_free(w);
	hexc_file_close(f);
}

TEST(compressed_configurations)
{
	static const char asymmetric[] = "\"num_bits\": 4, \"type\": \"int\", \"symmetric\": false, "
					 "\"strategy\": \"group\", \"group_size\": 16, \"actorder\": null";
	static const char ordered[] = "\"num_bits\": 4, \"symmetric\": true, \"actorder\": \"group\"";

	compressed_reads(compressed(true, true), "packed-4-zero", true);
	compressed_reads(compressed(false, false), "packed-4", false);
	compressed_reads(compressed_configured(true, false, asymmetric), "packed-4-zero", false);
	compressed_reads(compressed_configured(false, true, ordered), "packed-4", true);
	compressed_reads(compressed_configured(false, false, "\"num_bits\": 4, \"actorder\": \"static\""),
	                 "packed-4", false);
	compressed_reads(compressed_configured(false, false, "\"num_bits\": 8"), "packed-8", false);
	load_fails(compressed_configured(false, false, "\"num_bits\": 5"),
	           "l has the tensors of packed-4, but the configuration states num_bits 5; state "
	           "the model's own "
	           "configuration");
	load_fails(compressed_configured(false, false, asymmetric),
	           "l.weight_zero_point is missing, but the configuration states symmetric: false; "
	           "write the model "
	           "again");
	load_fails(compressed_configured(true, true, ordered),
	           "l.weight_zero_point is there, but the configuration states symmetric: true; "
	           "state the model's "
	           "own configuration");
	load_fails(compressed_configured(false, false, ordered),
	           "l.weight_g_idx is missing or -1, but the configuration states actorder: group; "
	           "write the model "
	           "again, or quantize it with actorder: weight");
}

TEST(compressed_configurations_not_read)
{
	static const struct {
		const char *weights, *says;
	} group[] = {
		{ "\"num_bits\": 1", "num_bits is 1, and hexc reads only 2 to 8 of type int; quantize" },
		{ "\"num_bits\": 4.5", "num_bits is 4.5, and hexc reads only 2 to 8 of type int" },
		{ "\"num_bits\": 6, \"type\": \"float\"", "num_bits is 6, and hexc reads only 4 and "
		                                          "8 of type float" },
		{ "\"type\": \"complex\"", "type is complex, and hexc reads only int, float" },
		{ "\"type\": \"float\", \"symmetric\": false",
		  "symmetric is false, and hexc reads only true of type float" },
		{ "\"symmetric\": 1", "symmetric is 1, and hexc reads only true and false" },
		{ "\"strategy\": \"block\", \"block_structure\": [128, 128]",
		  "strategy is block, and hexc reads only channel, group, tensor_group" },
		{ "\"actorder\": \"sideways\"",
		  "actorder is sideways, and hexc reads only null, weight, static, group, dynamic" },
		{ "\"rotation\": 90", "rotation is not known here, and may change what codes mean" },
	};
	static const struct {
		const char *json, *says;
	} whole[] = {
		{ "\"format\": \"marlin-24\"",
		  "the configuration: format is marlin-24, and hexc reads only pack-quantized, "
		  "int-quantized, "
		  "float-quantized, naive-quantized, nvfp4-pack-quantized, mxfp4-pack-quantized, "
		  "mxfp8-quantized, "
		  "mixed-precision, dense; quantize the model so" },
		{ "\"format\": 4", "format is 4, and" },
		{ "\"config_groups\": 4", "config_groups is 4, and hexc reads only an object" },
		{ "\"config_groups\": {\"g\": 4}", "config_groups.g is 4, and hexc reads only an "
		                                   "object or a list" },
		{ "\"config_groups\": {\"g\": {\"weights\": []}}", "config_groups.g.weights is a list" },
		{ "\"config_groups\": {\"g\": {\"format\": \"mxfp6-pack-quantized\"}}",
		  "config_groups.g.format is mxfp6-pack-quantized, and" },
		{ "\"sparsity_config\": {\"format\": \"sparse-24-bitmask\"}",
		  "sparsity_config.format is sparse-24-bitmask, and hexc reads only dense" },
		{ "\"transform_config\": {\"config_groups\": {\"R1\": {}}}",
		  "transform_config rotates what is multiplied" },
	};
	hexc_file *f;
	char json[1000];

	for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
		snprintf(json, sizeof json, "the configuration: "
		                            "config_groups.group_0.weights.%s", group[i].says);
		not_configured(group_config(group[i].weights), json);
	}
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		snprintf(json, sizeof json, "{\"quant_method\": \"compressed-tensors\", %s}", whole[i].json);
		not_configured(json, whole[i].says);
	}
	/* what changes no weight; groups that differ */
	f = compressed(true, false);
	ck_assert_msg(config(f, "{\"compression_config\": {\"quant_method\": \"compressed-tensors\", "
	                        "\"sparsity_config\": {}, \"transform_config\": {\"config_groups\": {}}, "
	                        "\"kv_cache_scheme\": {\"num_bits\": 8}, \"config_groups\": "
	                        "{\"W8A8\": [\"Linear\"], "
	                        "\"g\": {\"weights\": {\"num_bits\": 8}, \"input_activations\": {\"x\": 1}}, "
	                        "\"h\": {\"weights\": null}}}}") == HEXC_OK, "%s", why);
	compressed_reads(f, "packed-4-zero", false);
}

/* The shape that the file states, of I32 or I64, of two dims or of experts. */
TEST(stated_shapes)
{
	static const struct {
		const char *type, *says;
		int64_t dim[3];
		int n;
	} of[] = {
		{ "I64", NULL, { 8, 32 }, 2 },
		{ "I32", NULL, { 8, 32 }, 2 },
		{ "I32", NULL, { 2, 4, 32 }, 3 },
		{ "I32", "l.weight_shape states W[9, 32], but the tensors of packed-4-zero are W[8, "
		         "32]", { 9, 32 }, 2 },
		{ "I64", "l.weight_shape is not a list of 2 to 8 positive I64 or I32", { 32 }, 1 },
		{ "I64", "l.weight_shape is not a list of 2 to 8 positive I64 or I32", { -8, 32 }, 2 },
		{ "F32", "l.weight_shape is not a list of 2 to 8 positive I64 or I32", { 8, 32 }, 2 },
	};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		int each = strcmp(of[i].type, "I64") == 0 ? 8 : 4, bytes = of[i].n * each;
		hexc_file *f;
		uint64_t n;

		n = (uint64_t)snprintf(
			(char *)file + 8, sizeof file - 8,
			"{\"l.weight_packed\":{\"dtype\":\"I32\",\"shape\":[8,4],\"data_offsets\":[0,128]},"
			"\"l.weight_scale\":{\"dtype\":\"F32\",\"shape\":[8,2],\"data_offsets\":[128,192]},"
			"\"l.weight_zero_point\":{\"dtype\":\"I32\",\"shape\":[1,2],"
			"\"data_offsets\":[192,200]},"
			"\"l.weight_shape\":{\"dtype\":\"%s\",\"shape\":[%d],\"data_offsets\":[200,%d]}}",
			of[i].type, of[i].n, 200 + bytes);
		memcpy(file, &n, 8);
		memset(file + 8 + n, 0x31, 200);
		for (int d = 0; d < of[i].n; d++)
			memcpy(file + 8 + n + 200 + d * each, &of[i].dim[d], (size_t)each);
		n += 8 + 200 + (uint64_t)bytes;
		ck_assert_msg(hexc_file_memory(&f, file, n, why, sizeof why) == HEXC_OK, "%s", why);
		if (of[i].says)
			load_fails(f, of[i].says);
		else
			compressed_reads(f, "packed-4-zero", false);
	}
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
