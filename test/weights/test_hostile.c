/* test_hostile.c - tests malformed files: each gets a message that names the offending item, none is read
 * past its end. test_mutated_files.c has random corruptions. */
#include "lib/hexc_weights.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char why[400];

/* In memory of exactly the size, so that a sanitizer sees what lies behind. */
static int
open_copy(hexc_file **f, void **copy, const void *data, size_t n)
{
	*copy = malloc(n ? n : 1);
	memcpy(*copy, data, n);
	return hexc_file_memory(f, *copy, n, why, sizeof why);
}

/* ---- safetensors
 * ----------------------------------------------------------------------------------------- */

static void
refused(const void *data, size_t n, const char *says)
{
	hexc_file *f;
	void *copy;
	int code = open_copy(&f, &copy, data, n);

	ck_assert_msg(code == HEXC_E_FILE, "accepted, where '%s' was wanted", says);
	ck_assert_ptr_null(f);
	ck_assert_msg(strstr(why, says) != NULL, "'%s' does not say '%s'", why, says);
	free(copy);
}

/* Header and `data` bytes behind it; `claim` for the header's length, or -1: the true one. */
static size_t
safetensors(unsigned char *out, const char *header, long claim, size_t data)
{
	uint64_t n = claim < 0 ? strlen(header) : (uint64_t)claim;

	memcpy(out, &n, 8);
	memcpy(out + 8, header, strlen(header));
	memset(out + 8 + strlen(header), 1, data);
	return 8 + strlen(header) + data;
}

TEST(safetensors_lies)
{
	static const struct {
		const char *header;
		long claim;
		size_t data;
		const char *says;
	} cases[] = {
		{ "{}", 1000, 0, "the file is truncated" },
		{ "{}", 200000000, 0, "more than the 100000000 that safetensors allows" },
		{ "{\"a\":", -1, 0, "the header is not valid JSON: the file is damaged; download or write "
		                    "it again" },
		{ "{\"a\":1}", -1, 0, "tensor a has no dtype" },
		{ "{\"a\":{\"dtype\":\"F16\",\"data_offsets\":[0,4]}}", -1, 4,
		  "tensor a has no shape: the header is damaged; write the file again" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", -1, 2,
		  "tensor a: its data end at byte" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", -1, 6,
		  "6 bytes of data, but its tensors have 4" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,4]}}", -1, 4,
		  "its shape of F16 needs 6" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[-1],\"data_offsets\":[0,4]}}", -1, 4,
		  ": dimension 0 is not a non-negative integer; write the file again" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", -1, 4,
		  ": dimension 0 is not a non-negative integer; write the file again" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[1048576,4294967296,65536,9],\"data_offsets\":[0,4]}}",
		  -1, 4, "exceeds the address space" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,4]}}", -1,
		  4, "has more than 8 dimensions" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[4,0]}}", -1, 4,
		  "not [begin, end]" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]},"
		  "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[2,6]}}",
		  -1, 6, "a and b overlap" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]},"
		  "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[6,10]}}",
		  -1, 10, "belong to no tensor" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]},"
		  "\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[4,8]}}",
		  -1, 8, "two tensors are named a" },
		{ "{\"__metadata__\":{\"x\":1}}", -1, 0,
		  "__metadata__ x is not a string; write the file again" },
		{ "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", -1, 1,
		  "elements are not a multiple of F4 blocks of" },
		{ "{\"a\":{\"dtype\":\"F4\",\"shape\":[1099511627776,1099511627776],"
		  "\"data_offsets\":[0,1]}}",
		  -1, 1, "tensor a: its shape exceeds the address space" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[18446744073709551610,"
		  "18446744073709551614]}}",
		  -1, 4, "tensor a: its data start at byte 18446744073709551610 of 4" },
		{ "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,18446744073709551616]}}",
		  -1, 4,
		  ": its data_offsets are not [begin, end], two integers below 2^64; write the file again" },
		{ "{\"__metadata__\":1}", -1, 0,
		  "__metadata__ is not an object of strings; write the file again" },
	};
	unsigned char file[1000];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t n = safetensors(file, cases[i].header, cases[i].claim, cases[i].data);
		refused(file, n, cases[i].says);
	}
	refused("", 0, ": it is too short; download it again");
	refused("PK\3\4 this is a zip file", 22, "neither a safetensors file");
}

/* 8 million brackets: more parts than any header has. */
TEST(safetensors_of_brackets)
{
	enum { PARTS = (1 << 23) + 1 };
	unsigned char *file = malloc(8 + PARTS);
	uint64_t n = PARTS;
	hexc_file *f;

	memcpy(file, &n, 8);
	memset(file + 8, '[', PARTS);
	file[8] = '{';
	ck_assert_int_eq(hexc_file_memory(&f, file, 8 + PARTS, why, sizeof why), HEXC_E_FILE);
	ck_assert_msg(strstr(why, "the header has 8388609 JSON values, more than 8388608") != NULL, "%s",
	              why);
	free(file);
}

/* A file may hold a type that is new to us, and tensors without elements. */
TEST(safetensors_unknown)
{
	unsigned char file[400];
	hexc_file *f;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	void *copy;
	size_t n = safetensors(file,
	                       "{\"a\":{\"dtype\":\"F3\",\"shape\":[8],\"data_offsets\":[0,3]},"
	                       "\"b\":{\"dtype\":\"F16\",\"shape\":[0,4],\"data_offsets\":[3,3]}}  ",
	                       -1, 3);

	ck_assert_int_eq(open_copy(&f, &copy, file, n), HEXC_OK);
	ck_assert_int_eq(hexc_file_find(f, "a", &t), 1);
	ck_assert_str_eq(t.type, "F3");
	ck_assert_ptr_null(t.dtype);
	ck_assert_int_eq(hexc_file_find(f, "b", &t), 1);
	ck_assert_uint_eq(t.bytes, 0);
	hexc_file_close(f);
	free(copy);
}

/* GPTQ whose tensors do not go together: loading says which. */
static void
gptq(const char *scales_shape, int scales_bytes, const char *zeros_shape, int zeros_bytes, int group,
     const char *says)
{
	static unsigned char file[20000];
	char header[1000];
	hexc_file *f;
	hexc_weight *w;
	void *copy;
	size_t n;
	int at = 8 * 32 * 4, code;

	snprintf(header, sizeof header,
	         "{\"l.qweight\":{\"dtype\":\"I32\",\"shape\":[8,32],\"data_offsets\":[0,%d]},"
	         "\"l.scales\":{\"dtype\":\"F16\",\"shape\":%s,\"data_offsets\":[%d,%d]},"
	         "\"l.qzeros\":{\"dtype\":\"I32\",\"shape\":%s,\"data_offsets\":[%d,%d]},"
	         "\"l.g_idx\":{\"dtype\":\"I32\",\"shape\":[64],\"data_offsets\":[%d,%d]}}",
	         at, scales_shape, at, at + scales_bytes, zeros_shape, at + scales_bytes,
	         at + scales_bytes + zeros_bytes, at + scales_bytes + zeros_bytes,
	         at + scales_bytes + zeros_bytes + 256);
	n = safetensors(file, header, -1, (size_t)(at + scales_bytes + zeros_bytes + 256));
	for (int i = 0; i < 64; i++)
		memcpy(file + n - 256 + 4 * i, &group, 4);
	ck_assert_int_eq(open_copy(&f, &copy, file, n), HEXC_OK);
	code = hexc_weight_load(&w, f, "l", NULL, why, sizeof why);
	if (says) {
		ck_assert_int_eq(code, HEXC_E_FILE);
		ck_assert_ptr_null(w);
		ck_assert_msg(strstr(why, says) != NULL, "'%s' does not say '%s'", why, says);
	} else {
		ck_assert_msg(code == HEXC_OK, "%s", why);
	}
	hexc_weight_free(w);
	hexc_file_close(f);
	free(copy);
}

TEST(wrong_shapes)
{
	gptq("[2,32]", 128, "[2,4]", 32, 1, NULL);
	gptq("[2,32]", 128, "[2,4]", 32, 2, "input 0 belongs to group 2, and there are 2");
	gptq("[2,32]", 128, "[2,4]", 32, -1, "input 0 belongs to group -1");
	gptq("[3,32]", 192, "[3,4]", 48, 0,
	     "the shape of l.scales, [3, 32], does not match W[32, 64] in GPTQ-4: the inputs are not a "
	     "multiple of such groups");
	gptq("[2,16]", 64, "[2,4]", 32, 0, "the shape of l.scales does not match W[32, 64] in GPTQ-4: it "
	                                   "is [2, 16], not [2, 32]");
	gptq("[2,32]", 128, "[4,4]", 64, 0, "l.qzeros does not match W[32, 64] in GPTQ-4: it is [4, "
					    "4], not [2, 4]");
	gptq("[32,2]", 128, "[2,4]", 32, 0,
	     "the dimensions of l.scales, [32, 2], are swapped: in GPTQ-4 it is [2, 32]");
	gptq("[2,32]", 128, "[4,2]", 32, 0,
	     "the dimensions of l.qzeros, [4, 2], are swapped: in GPTQ-4 it is "
					    "[2, 4]");
}

/* AWQ of 8 rows of 12 codes, the code of column k is k: rows are 6 bytes, no whole words. */
TEST(rows_of_six_bytes)
{
	static const unsigned char row[6] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xba };
	unsigned char file[1000];
	hexc_file *f;
	hexc_weight *w;
	void *copy;
	size_t n = safetensors(file,
	                       "{\"l.qweight\":{\"dtype\":\"I32\",\"shape\":[12,1],\"data_offsets\":[0,48]},"
	                       "\"l.scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[48,64]},"
	                       "\"l.qzeros\":{\"dtype\":\"I32\",\"shape\":[1,1],\"data_offsets\":[64,68]}}",
	                       -1, 68);

	for (uint32_t k = 0; k < 12; k++)
		memcpy(file + n - 68 + 4 * k, &(uint32_t){ 0x11111111 * k }, 4);
	ck_assert_int_eq(open_copy(&f, &copy, file, n), HEXC_OK);
	ck_assert_msg(hexc_weight_load(&w, f, "l", NULL, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert(w->n == 8 && w->k == 12);
	for (int i = 0; i < 8; i++)
		ck_assert_mem_eq((const char *)w->plane[HEXC_PLANE_CODE].data + 6 * i, row, sizeof row);
	hexc_weight_free(w);
	hexc_file_close(f);
	free(copy);
}

/* ---- GGUF
 * ------------------------------------------------------------------------------------------------- */

typedef struct Gguf {
	unsigned char at[4000];
	size_t n;
} Gguf;

static void
put(Gguf *g, uint64_t x, size_t n)
{
	memcpy(g->at + g->n, &x, n);
	g->n += n;
}

static void
string(Gguf *g, const char *s)
{
	put(g, strlen(s), 8);
	memcpy(g->at + g->n, s, strlen(s));
	g->n += strlen(s);
}

static void
head(Gguf *g, uint32_t version, uint64_t tensors, uint64_t meta)
{
	memset(g, 0, sizeof *g);
	memcpy(g->at, "GGUF", 4);
	g->n = 4;
	put(g, version, 4);
	put(g, tensors, 8);
	put(g, meta, 8);
}

static void
tensor(Gguf *g, const char *name, uint64_t dim, uint64_t type, uint64_t offset)
{
	string(g, name);
	put(g, 1, 4);
	put(g, dim, 8);
	put(g, type, 4);
	put(g, offset, 8);
}

static void
data(Gguf *g, size_t n)
{
	g->n = (g->n + 31) / 32 * 32 + n;
}

TEST(gguf_lies)
{
	Gguf g;

	head(&g, 1, 0, 0);
	refused(g.at, g.n, "GGUF version 1 is not supported; convert the file to version 3");
	head(&g, 0x03000000, 0, 0);
	refused(g.at, g.n, "big-endian");
	head(&g, 77, 0, 0);
	refused(g.at, g.n, "unknown GGUF version 77; supported: 2 and 3");
	head(&g, 3, 0, 0);
	refused(g.at, g.n - 1, "the file ends inside its head");
	head(&g, 3, UINT64_MAX, 1);
	refused(g.at, g.n, "more than its 24 bytes can hold");
	head(&g, 3, 0, 1);
	put(&g, UINT64_MAX, 8);
	put(&g, 0, 8);
	refused(g.at, g.n, "the file ends inside the metadata");
	head(&g, 3, 0, 1);
	string(&g, "key");
	put(&g, 99, 4);
	refused(g.at, g.n, "metadata key has type 99");
	head(&g, 3, 0, 1);
	string(&g, "key");
	put(&g, 9, 4);
	put(&g, 6, 4);
	put(&g, UINT64_MAX / 2, 8);
	refused(g.at, g.n, "the file ends inside the metadata");
	head(&g, 3, 0, 1);
	string(&g, "key");
	put(&g, 9, 4);
	put(&g, 11, 4);
	put(&g, (uint64_t)1 << 61, 8); /* of 8 bytes: 0 in 64 bits */
	refused(g.at, g.n, "the file ends inside the metadata");
	head(&g, 3, 0, 1);
	string(&g, "key");
	put(&g, 9, 4);
	for (int depth = 0; depth < 20; depth++) {
		put(&g, 9, 4);
		put(&g, 1, 8);
	}
	put(&g, 7, 4);
	put(&g, 0, 8);
	refused(g.at, g.n, "metadata key is not a list that GGUF defines: the file is damaged");
	head(&g, 3, 0, 1);
	string(&g, "general.alignment");
	put(&g, 4, 4);
	put(&g, 0, 4);
	refused(g.at, g.n, "general.alignment is u32 0; must be a u32 power of two");
	head(&g, 3, 1, 1);
	string(&g, "general.alignment");
	put(&g, 4, 4);
	put(&g, 1 << 30, 4);
	tensor(&g, "a", 64, 2, 0);
	data(&g, 100);
	refused(g.at, g.n, "tensor a: its data end at byte 36 of 0");
	head(&g, 3, 0, 1);
	string(&g, "general.alignment");
	put(&g, 10, 4);
	put(&g, 64, 8);
	refused(g.at, g.n, "general.alignment is u64 64; must be a u32 power of two");
	head(&g, 3, 0, 1);
	string(&g, "general.alignment");
	put(&g, 8, 4);
	string(&g, "64");
	refused(g.at, g.n, "general.alignment is string 64; must be a u32 power of two");
	head(&g, 3, 0, 2);
	for (int i = 0; i < 2; i++) {
		string(&g, "key");
		put(&g, 4, 4);
		put(&g, 1, 4);
	}
	refused(g.at, g.n, "two metadata entries are named key");
	head(&g, 3, 1, 0);
	tensor(&g, "a", 64, 2, UINT64_MAX - 31);
	data(&g, 100);
	refused(g.at, g.n, "tensor a: its data start at byte 18446744073709551584 of 100");
	head(&g, 3, 1, 0);
	tensor(&g, "a", (uint64_t)1 << 61, 24, 0);
	data(&g, 100);
	refused(g.at, g.n, "tensor a: its data end at byte 2305843009213693952 of 100");
	head(&g, 3, 1, 0);
	tensor(&g, "a", 32, 2, 8);
	data(&g, 64);
	refused(g.at, g.n, "tensor a starts at byte 8 of the data, which is not a multiple of the alignment");
	head(&g, 3, 1, 0);
	tensor(&g, "a", 33, 2, 0);
	data(&g, 64);
	refused(g.at, g.n, "tensor a: 33 elements are not a multiple of Q4_0 blocks of 32");
	head(&g, 3, 1, 0);
	tensor(&g, "a", (uint64_t)1 << 62, 28, 0);
	data(&g, 64);
	refused(g.at, g.n, "exceeds the address space");
	head(&g, 3, 1, 0);
	tensor(&g, "a", 64, 2, 0);
	data(&g, 35);
	refused(g.at, g.n, "tensor a: its data end at byte");
	head(&g, 3, 2, 0);
	tensor(&g, "a", 64, 2, 0);
	tensor(&g, "b", 64, 2, 32);
	data(&g, 100);
	refused(g.at, g.n, "a and b overlap");
	head(&g, 3, 2, 0);
	tensor(&g, "a", 32, 2, 0);
	tensor(&g, "a", 32, 2, 32);
	data(&g, 100);
	refused(g.at, g.n, "two tensors are named a");
	head(&g, 3, 1, 0);
	string(&g, "a");
	put(&g, 9, 4);
	data(&g, 100);
	refused(g.at, g.n, "tensor a has 9 dimensions; 0 (one element) to 8 are allowed");
	head(&g, 3, 1, 0);
	tensor(&g, "a\nb", 32, 2, 0);
	data(&g, 100);
	refused(g.at, g.n, "has a control character");
}

/* A tensor without dims is one element; blocks of another version are not read. */
TEST(gguf_accepted)
{
	Gguf g;
	hexc_file *f;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	hexc_weight *w;
	void *copy;

	head(&g, 3, 2, 0);
	string(&g, "scalar");
	put(&g, 0, 4);
	put(&g, 0, 4); /* F32 */
	put(&g, 0, 8);
	tensor(&g, "b", 2, 0, 32);
	data(&g, 40);
	ck_assert_msg(open_copy(&f, &copy, g.at, g.n) == HEXC_OK, "%s", why);
	ck_assert_int_eq(hexc_file_find(f, "scalar", &t), 1);
	ck_assert_uint_eq(t.rank, 0);
	ck_assert_uint_eq(t.bytes, 4);
	ck_assert_ptr_eq(t.data, (char *)copy + g.n - 40);
	hexc_file_close(f);
	free(copy);

	for (uint32_t version = 1; version < 4; version++) {
		head(&g, 3, 1, 1);
		string(&g, "general.quantization_version");
		put(&g, 4, 4);
		put(&g, version, 4);
		tensor(&g, "a", 32, 2, 0);
		data(&g, 18);
		ck_assert_msg(open_copy(&f, &copy, g.at, g.n) == HEXC_OK, "%s", why);
		ck_assert_int_eq(hexc_weight_load(&w, f, "a", NULL, why, sizeof why),
		                 version == 2 ? HEXC_OK : HEXC_E_FILE);
		ck_assert(version == 2 || strstr(why, ", but hexc supports version 2; quantize the model "
		                                      "again") != NULL);
		hexc_weight_free(w);
		hexc_file_close(f);
		free(copy);
	}
}

TEST(gguf_unknown)
{
	Gguf g;
	hexc_file *f;
	hexc_weight *w;
	void *copy;

	head(&g, 3, 2, 0);
	tensor(&g, "a", 32, 99, 0);
	tensor(&g, "b", 256, 19, 0);
	data(&g, 100);
	ck_assert_int_eq(open_copy(&f, &copy, g.at, g.n), HEXC_OK);
	ck_assert_int_eq(hexc_weight_load(&w, f, "a", NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_str_eq(why, "tensor a is type 99, which is not a supported format of quantized weights");
	ck_assert_int_eq(hexc_weight_load(&w, f, "b", NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_ptr_nonnull(strstr(why, "b is IQ1_S, which uses a codebook format"));
	ck_assert_ptr_nonnull(strstr(why, "quantize it to IQ4_XS"));
	ck_assert_int_eq(hexc_weight_load(&w, f, "c", NULL, why, sizeof why), HEXC_E_FILE);
	ck_assert_ptr_nonnull(strstr(why, "no weight c in the file"));
	hexc_file_close(f);
	free(copy);
}

TEST(no_file)
{
	hexc_file *f;

	ck_assert_int_eq(hexc_file_open(&f, "test/no such file", why, sizeof why), HEXC_E_FILE);
	ck_assert_str_eq(why, "No such file or directory");
	ck_assert_int_eq(hexc_file_open(&f, "test", why, sizeof why), HEXC_E_FILE);
	ck_assert_int_eq(hexc_file_open(&f, "/dev/null", why, sizeof why), HEXC_E_FILE);
	ck_assert_int_eq(hexc_file_open(NULL, "test", NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_file_memory(&f, NULL, 10, NULL, 0), HEXC_E_INVALID);
}

static const char gptq4[] = "test/weights/fixtures/gptq4.safetensors";

/* Arguments that are NULL, and structs of a caller that knows less or nothing of them. */
TEST(nothing_given)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	hexc_weight info = HEXC_WEIGHT_INIT, *w;
	hexc_format format = HEXC_FORMAT_INIT;
	const char *key;
	hexc_file *f;
	float x = 0;

	ck_assert_int_eq(hexc_file_open(&f, gptq4, why, sizeof why), HEXC_OK);
	ck_assert_str_eq(hexc_file_kind(NULL), "");
	ck_assert(!hexc_file_tensor_at(NULL, 0, &t) && !hexc_file_tensor_at(f, 0, NULL));
	ck_assert(!hexc_file_find(NULL, "x", &t) && !hexc_file_find(f, NULL, &t));
	ck_assert_int_eq(hexc_file_tensor_at(f, 0, &t), 1);
	ck_assert_int_eq(hexc_file_find(f, t.name, NULL), 0);
	ck_assert(!hexc_file_meta(NULL, 0, &key, &key) && hexc_file_meta(f, 0, &key, NULL));
	ck_assert(!hexc_file_weight(NULL, 0, &info) && !hexc_file_weight(f, 0, NULL));
	ck_assert(!hexc_format_at(0, NULL));
	t.size = info.size = format.size = sizeof(size_t) - 1;
	ck_assert(!hexc_file_tensor_at(f, 0, &t) && !hexc_file_weight(f, 0, &info));
	ck_assert(!hexc_format_at(0, &format));
	info.size = sizeof(size_t) + sizeof(char *);
	info.format = "untouched";
	ck_assert_int_eq(hexc_file_weight(f, 0, &info), 1);
	ck_assert_str_eq(info.format, "untouched");
	ck_assert_int_eq(hexc_weight_load(NULL, f, info.name, NULL, NULL, 0), HEXC_E_INVALID);
	strcpy(why, "old");
	ck_assert_int_eq(hexc_weight_load(&w, f, info.name, NULL, why, sizeof why), HEXC_OK);
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(hexc_weight_float(w, NULL, NULL, NULL, 0), HEXC_E_INVALID);
	hexc_weight_free(w);
	ck_assert_int_eq(hexc_weight_quantize(&w, NULL, &x, 1, 1, 0, NULL, NULL, 0), HEXC_E_INVALID);
	hexc_file_close(f);
}

/* What only describes a weight has no bytes to write. */
TEST(described_only)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	hexc_weight info = HEXC_WEIGHT_INIT;
	static char bytes[1 << 16];
	hexc_file *f;

	ck_assert_int_eq(hexc_weight_tensor(NULL, 0, &t, NULL, 0), 0);
	ck_assert_int_eq(hexc_weight_tensor(&info, 0, &t, NULL, 0), 0);
	ck_assert_int_eq(hexc_file_open(&f, gptq4, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_file_weight(f, 0, &info), 1);
	ck_assert_int_eq(hexc_weight_tensor(&info, 0, NULL, NULL, 0), 0);
	ck_assert_int_eq(hexc_weight_tensor(&info, 0, &t, NULL, 0), 1);
	ck_assert(t.bytes <= sizeof bytes);
	ck_assert_int_eq(hexc_weight_tensor(&info, 0, &t, bytes, sizeof bytes), 0);
	hexc_file_close(f);
}

TEST_PROGRAM(.timeout = 60);
