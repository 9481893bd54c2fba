/* test_blocks.c - tests hexc_format_expr with the operator compute: each GGUF format's bytes decode to the
 * numbers of hexc_weight_float, those of types that do not load to the numbers of ggml's C library. */
#include "test/ops/util_op.h"
#include "lib/hexc_weights.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.start = op_start, .one_process = true);

enum { N = 64, K = 512 };

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

static const char *const format[] = {
	"Q1_0", "Q2_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "IQ4_XS", "Q8_0", "Q2_K", "Q3_K", "Q4_K",
	"Q5_K", "Q6_K", "TQ2_0", "MXFP4", "NVFP4",
};
enum { FORMATS = sizeof format / sizeof format[0] };

/* Every GGUF format of the table is above. */
TEST(all_formats)
{
	hexc_format f = HEXC_FORMAT_INIT;
	int n = 0;

	for (size_t i = 0; hexc_format_at(i, &f); i++)
		n += strcmp(f.container, "gguf") == 0;
	ck_assert_int_eq(n, FORMATS);
}

/* N x K numbers in the format, and what they are. Returns the bytes of a row. */
static int64_t
quantized(const char *name, unsigned char **bytes, float **value)
{
	float *x = malloc(sizeof *x * N * K);
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	uint64_t seed = 7, size;
	hexc_weight *w;
	char why[300];

	for (int i = 0; i < N * K; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		x[i] = (float)((double)(seed >> 40) * 0x1p-23 - 1) * (float)(1 + i / K % 5);
	}
	ck_assert_msg(!hexc_weight_quantize(&w, name, x, N, K, 0, NULL, why, sizeof why), "%s", why);
	*value = x;
	ck_assert_int_eq(hexc_weight_float(w, x, NULL, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_weight_tensor(w, 0, &t, NULL, 0), 1);
	size = t.bytes;
	*bytes = malloc(size);
	ck_assert_int_eq(hexc_weight_tensor(w, 0, &t, *bytes, size), 1);
	hexc_weight_free(w);
	return (int64_t)size / N;
}

/* Declares the codebook of a format, if it has one, and sets it. Returns the declarations of all tensors. */
static const char *
tensors(Case *c, const char *name)
{
	static char text[100];
	int8_t number[20000];
	int n = (int)hexc_format_codebook(name, number, sizeof number);

	snprintf(text, sizeof text, "tensors=w: u8[PW, QW, MW, NW]");
	if (n) {
		Buf *codebook = case_in(c, "codebook", "i8", 0, 1, n, 0);

		snprintf(text, sizeof text, "tensors=w: u8[PW, QW, MW, NW], codebook: i8[%d]", n);
		for (int i = 0; i < n; i++)
			buf_set(codebook, i, number[i]);
	}
	return text;
}

/* Decodes `rows` rows of K elements, `row` bytes each. Rows of Y have a stride of K; of K + 1, so that they
 * are not aligned; or columns have a stride. */
static void
decode(const char *name, const unsigned char *bytes, int64_t row, const float *value, int rows, int kind)
{
	int ym = kind == 1 ? K + 1 : kind == 2 ? 2 * K : K, yn = kind == 2 ? 2 : 1;
	char text[8200] = "value=";
	Case c;

	ck_assert_int_eq(hexc_format_expr(name, "w[p, q, m", "n", text + 6, sizeof text - 6), HEXC_OK);
	case_start(&c, 1);
	Buf *w = case_in(&c, "w", "u8", 0, 255, 1, 1, rows, (int)row, 0);
	Buf *y = case_inout(&c, "Y", "f32", -1, 1, 1, 1, 1, rows * ym, 0);

	for (int64_t i = 0; i < rows * row; i++)
		buf_set(w, i, bytes[i]);
	for (int i = 0; i < rows * K; i++) {
		int at = i / K * ym + i % K * yn;

		/* the products and the sum of both are rounded in other orders: 4 times half an ulp each */
		y->v[at] = (double)value[i];
		y->allow[at] = 8 * U32 * (fabs((double)value[i]) + 10);
	}
	case_num(&c, "P", 1);
	case_num(&c, "Q", 1);
	case_num(&c, "M", rows);
	case_num(&c, "N", K);
	case_num(&c, "yp", 0);
	case_num(&c, "yq", 0);
	case_num(&c, "ym", ym);
	case_num(&c, "yn", yn);
	OP_RUN(&c, "sm_80", "compute", tensors(&c, name), text);
	case_end(&c);
}

TEST_EACH(decodes, FORMATS * 3)
{
	const char *name = format[_i / 3];
	unsigned char *bytes;
	float *value;
	int64_t row = quantized(name, &bytes, &value);

	decode(name, bytes, row, value, N, _i % 3);
	free(bytes);
	free(value);
}

/* The types of block_types.def, and the CRC-32 of their codebooks as ggml-common.h has them. */
static const struct {
	const char *name;
	size_t codebook;
	uint32_t crc;
} type[] = {
	{ "TQ1_0", 0, 0 },
	{ "IQ1_S", 16384, 0xb85e6ccf },
	{ "IQ1_M", 16384, 0xb85e6ccf },
	{ "IQ2_XXS", 2048, 0x9924ff02 },
	{ "IQ2_XS", 4096, 0xfa1e1bfd },
	{ "IQ2_S", 8192, 0x25ae5bf1 },
	{ "IQ3_XXS", 1024, 0x07ba9ed0 },
	{ "IQ3_S", 2048, 0xf576e4f3 },
};
enum { TYPES = sizeof type / sizeof type[0] };

/* Random blocks, and the numbers that ggml's C library decodes them to (test/weights/reference.py). */
TEST_EACH(values_of_ggml, TYPES * 3)
{
	const char *name = type[_i / 3].name;
	hexc_file_tensor blocks = HEXC_FILE_TENSOR_INIT, values = HEXC_FILE_TENSOR_INIT;
	float value[2 * K];
	char of[40];
	hexc_file *f;

	snprintf(of, sizeof of, "%s.values", name);
	ck_assert_int_eq(hexc_file_open(&f, "test/weights/fixtures/values/ggml.gguf", NULL, 0), HEXC_OK);
	ck_assert_int_eq(hexc_file_find(f, name, &blocks), 1);
	ck_assert_int_eq(hexc_file_find(f, of, &values), 1);
	ck_assert_uint_eq(values.bytes, sizeof value);
	memcpy(value, values.data, sizeof value);
	decode(name, blocks.data, (int64_t)blocks.bytes / 2, value, 2, _i % 3);
	hexc_file_close(f);
}

TEST(codebooks)
{
	int8_t number[20000];

	for (int i = 0; i < TYPES; i++) {
		size_t n = hexc_format_codebook(type[i].name, number, sizeof number);

		ck_assert_uint_eq(n, type[i].codebook);
		ck_assert_uint_eq(hexc_format_codebook(type[i].name, NULL, 0), n);
		ck_assert_uint_eq(crc32(number, n), type[i].crc);
	}
	ck_assert_uint_eq(hexc_format_codebook("Q4_0", number, sizeof number), 0);
	ck_assert_uint_eq(hexc_format_codebook(NULL, number, sizeof number), 0);
	number[3] = 77;
	ck_assert_uint_eq(hexc_format_codebook("IQ3_S", number, 3), 2048);
	ck_assert_int_eq(number[3], 77);
}

TEST(errors)
{
	char out[200];

	ck_assert_int_eq(hexc_format_expr("Q4_9", "w[m", "n", out, sizeof out), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_format_expr("GPTQ-4", "w[m", "n", out, sizeof out), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_format_expr("Q4_K", "w[m", "n", out, sizeof out), HEXC_E_LIMIT);
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(hexc_format_expr("Q4_0", NULL, "n", out, sizeof out), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_format_expr("Q4_0", "w[m", "n", NULL, 0), HEXC_E_INVALID);
}
