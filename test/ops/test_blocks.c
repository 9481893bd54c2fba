/* test_blocks.c - tests hexc_format_expr with the operator compute: each GGUF format's bytes decode to the
 * numbers of hexc_weight_float. */
#include "test/ops/util_op.h"
#include "lib/hexc_weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.start = op_start, .one_process = true);

enum { N = 64, K = 512 };

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

/* Rows of Y with a stride of K; of K + 1, so that they are not aligned; columns with a stride. */
TEST_EACH(decodes, FORMATS * 3)
{
	const char *name = format[_i / 3];
	int kind = _i % 3, ym = kind == 1 ? K + 1 : kind == 2 ? 2 * K : K, yn = kind == 2 ? 2 : 1;
	char text[8200] = "value=";
	unsigned char *bytes;
	float *value;
	int64_t row = quantized(name, &bytes, &value);
	Case c;

	ck_assert_int_eq(hexc_format_expr(name, "w[p, q, m", "n", text + 6, sizeof text - 6), HEXC_OK);
	case_start(&c, 1);
	Buf *w = case_in(&c, "w", "u8", 0, 255, 1, 1, N, (int)row, 0);
	Buf *y = case_inout(&c, "Y", "f32", -1, 1, 1, 1, 1, N * ym, 0);

	for (int64_t i = 0; i < N * row; i++)
		buf_set(w, i, bytes[i]);
	for (int i = 0; i < N * K; i++) {
		int at = i / K * ym + i % K * yn;

		/* the products and the sum of both are rounded in other orders: 4 times half an ulp each */
		y->v[at] = (double)value[i];
		y->allow[at] = 8 * U32 * (fabs((double)value[i]) + 10);
	}
	case_num(&c, "P", 1);
	case_num(&c, "Q", 1);
	case_num(&c, "M", N);
	case_num(&c, "N", K);
	case_num(&c, "yp", 0);
	case_num(&c, "yq", 0);
	case_num(&c, "ym", ym);
	case_num(&c, "yn", yn);
	OP_RUN(&c, "sm_80", "compute", "tensors=w: u8[PW, QW, MW, NW]", text);
	case_end(&c);
	free(bytes);
	free(value);
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
