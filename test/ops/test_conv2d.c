/* test_conv2d.c - tests the operator conv2d: windows, strides, paddings and dilations, any number of
 * channels. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int b, h, w, c, o, r, s, stride, pad, dilation;
	int stride_w, pad_w, dilation_w, mult;
	size_t line;
} size[] = {
	{ 2, 9, 20, 16, 72, 3, 3, 1, 1, 1, 1, 1, 1, 8, 2 },
	{ 1, 7, 7, 24, 40, 3, 3, 1, 1, 1, 1, 1, 1, 8, 0 },
	{ 1, 17, 19, 3, 10, 5, 5, 2, 2, 1, 2, 2, 1, 1, 1 },
	{ 3, 8, 30, 40, 64, 1, 1, 1, 0, 1, 1, 0, 1, 8, 1 },
	{ 1, 20, 21, 8, 33, 3, 2, 2, 1, 2, 1, 0, 3, 8, 1 },
	{ 1, 1, 40, 8, 70, 1, 3, 1, 0, 1, 1, 1, 1, 8, 2 },
	{ 2, 33, 12, 8, 8, 3, 3, 4, 0, 1, 4, 0, 1, 8, 0 },
	{ 1, 1, 1, 8, 1, 3, 3, 1, 1, 1, 1, 1, 1, 8, 0 },
	{ 1, 5, 8, 8, 24, 3, 3, 1, 1, 1, 1, 1, 1, 8, 0 },
	{ 2, 32, 3, 16, 70, 3, 3, 1, 1, 1, 1, 1, 1, 8, 0 },
	{ 1, 33, 4, 8, 65, 3, 3, 1, 1, 1, 1, 1, 1, 8, 2 },
	{ 1, 4, 9, 8, 64, 3, 3, 1, 1, 1, 1, 1, 1, 8, 1 },
	{ 1, 9, 16, 24, 33, 3, 3, 1, 1, 1, 1, 1, 1, 8, 1 },
	{ 2, 10, 17, 8, 130, 3, 3, 1, 1, 1, 1, 1, 1, 8, 2 },
	{ 1, 16, 16, 32, 8, 3, 3, 1, 1, 1, 1, 1, 1, 8, 1 },
	{ 3, 3, 9, 8, 72, 3, 3, 1, 1, 1, 1, 1, 1, 8, 2 },
	{ 1, 2, 33, 8, 1, 3, 3, 1, 1, 1, 1, 1, 1, 8, 1 },
	{ 1, 8, 15, 48, 96, 3, 3, 1, 1, 1, 1, 1, 1, 8, 2 },
	{ 2, 7, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 8, 0 },
	{ 1, 12, 31, 16, 128, 3, 3, 1, 1, 1, 1, 1, 1, 8, 2 },
};
enum { SIZES = sizeof size / sizeof size[0] };

/* One output: its sum, and that of the magnitudes. */
static Sum
output(int i, const Buf *x, const Buf *f, int b, int p, int q, int o)
{
	Sum sum = { 0, 0 };

	for (int r = 0; r < size[i].r; r++)
		for (int s = 0; s < size[i].s; s++) {
			int h = p * size[i].stride + r * size[i].dilation - size[i].pad;
			int w = q * size[i].stride_w + s * size[i].dilation_w - size[i].pad_w;

			if (h < 0 || h >= size[i].h || w < 0 || w >= size[i].w)
				continue;
			int64_t pixel = ((int64_t)b * size[i].h + h) * size[i].w + w;
			int64_t tap = ((int64_t)o * size[i].r + r) * size[i].s + s;
			Sum part = sum_products(x, pixel * size[i].c, f, tap * size[i].c, size[i].c);

			sum.x += part.x;
			sum.mag += part.mag;
		}
	return sum;
}

static int
outputs(int extent, int window, int stride, int pad, int dilation)
{
	return (extent + 2 * pad - dilation * (window - 1) - 1) / stride + 1;
}

TEST_EACH(sizes, SIZES)
{
	static const char *const arch[] = { "sm_80", "sm_90a" };
	static const char *const names[] = { "R", "S", "STRIDE", "PAD", "DILATION", "STRIDE_W", "PAD_W",
		                             "DILATION_W", "CMULT" };
	const int value[] = { size[_i].r, size[_i].s, size[_i].stride, size[_i].pad, size[_i].dilation,
		              size[_i].stride_w, size[_i].pad_w, size[_i].dilation_w, size[_i].mult };
	int p = outputs(size[_i].h, size[_i].r, size[_i].stride, size[_i].pad, size[_i].dilation);
	int q = outputs(size[_i].w, size[_i].s, size[_i].stride_w, size[_i].pad_w, size[_i].dilation_w);
	const char *set[13];
	char text[9][24];
	size_t at = 0;
	Case c;

	case_start(&c, 7 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "f16", -1, 1, size[_i].b, size[_i].h, size[_i].w, size[_i].c, 0);
	const Buf *f = case_in(&c, "F", "f16", -1, 1, size[_i].o, size[_i].r * size[_i].s, size[_i].c, 0);
	const Buf *bias = case_in(&c, "bias", "f16", -1, 1, size[_i].o, 0);
	const Buf *rest = case_in(&c, "rest", "f32", -1, 1, size[_i].b, p, q, size[_i].o, 0);
	const Buf *per = case_in(&c, "per", "f32", -1, 1, size[_i].b, size[_i].o, 0);
	Buf *out = case_out(&c, "Y", "f32", size[_i].b, p, q, size[_i].o, 0);

	for (int b = 0; b < size[_i].b; b++)
		for (int r = 0; r < p * q; r++)
			for (int o = 0; o < size[_i].o; o++, at++) {
				Sum s = output(_i, x, f, b, r / q, r % q, o);
				double y = (s.x + bias->v[o]) * per->v[b * size[_i].o + o] + rest->v[at];

				out->v[at] = y > 0 ? y : 0;
				out->allow[at] = sum_error(s.mag, size[_i].r * size[_i].s * size[_i].c) +
				                 (fabs(s.x) + 3) * 0x1p-22;
			}
	for (int i = 0; i < 9; i++) {
		snprintf(text[i], sizeof text[i], "%s=%d", names[i], value[i]);
		set[i] = text[i];
	}
	set[9] = "OUT=f32";
	set[10] = "tensors=bias: f16[O], rest: f32[B, P, Q, O], per: f32[B, O]";
	set[11] = "epilogue=max((x + bias[o]) * per[b, o] + rest[b, p, q, o], 0)";
	set[12] = NULL;
	ck_assert_uint_eq(op_run(&c, arch[_i % 2], "conv2d", set), size[_i].line);
	case_end(&c);
}
