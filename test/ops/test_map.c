/* test_map.c - tests the operators map and map_list: elements of matrices, vectors and scalars, and of lists
 * of tensors. */
#include "test/ops/util_op.h"
#include <math.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int m, n;
	size_t line;
} shape[] = {
	{ 1, 65, 0 }, { 1, 5000, 0 }, { 1, 1, 1 }, { 33, 17, 1 }, { 100, 64, 1 }, { 5, 129, 2 },
	{ 3, 1030, 2 },
};
enum { SHAPES = sizeof shape / sizeof shape[0] };

/* silu(x) * up[m, n], and x * scale[m] + shift[n] beside it. */
TEST_EACH(map, SHAPES)
{
	int m = shape[_i].m, n = shape[_i].n;
	Case c;

	case_start(&c, 20 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "f16", -4, 4, m, n, 0),
	          *up = case_in(&c, "up", "bf16", -2, 2, m, n, 0);
	const Buf *scale = case_in(&c, "scale", "f32", -1, 1, m, 0);
	const Buf *shift = case_in(&c, "shift", "f16", -1, 1, n, 0);
	Buf *also = case_out(&c, "ALSO", "bf16", m, n, 0), *y = case_out(&c, "Y", "f32", m, n, 0);

	for (int64_t i = 0; i < y->n; i++) {
		double v = x->v[i], a = v * scale->v[i / n] + shift->v[i % n];

		y->v[i] = v / (1 + exp(-v)) * up->v[i];
		y->allow[i] = fabs(y->v[i]) * (0x1p-19 + 4 * 0x1p-23 + U32);
		also->v[i] = a;
		also->allow[i] = ulp2(also->type, a) * 1.01 + 2 * U32;
	}
	ck_assert_uint_eq(OP_RUN(&c, "sm_80", "map", "IN=f16", "OUT=f32", "TO=bf16",
	                         "tensors=up: bf16[M, N], scale: f32[M], shift: f16[N]",
	                         "value=silu(x) * up[m, n]",
	                         "also=x * scale[m] + shift[n]"),
	                  shape[_i].line);
	case_end(&c);
}

/* Casts alone, and numbers that come by an argument. */
TEST_EACH(integers, SHAPES)
{
	int m = shape[_i].m, n = shape[_i].n;
	Case c;

	case_start(&c, 40 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "i8", -128, 127, m, n, 0);
	Buf *y = case_out(&c, "Y", "f16", m, n, 0);

	case_num(&c, "unit", 0.125);
	for (int64_t i = 0; i < y->n; i++)
		y->v[i] = x->v[i] * 0.125;
	ck_assert_uint_eq(OP_RUN(&c, "sm_90a", "map", "IN=i8", "OUT=f16", "tensors=unit: f32",
	        "value=x * unit"),
	                  shape[_i].line);
	case_end(&c);
	case_start(&c, 60 + (uint64_t)_i);
	x = case_in(&c, "X", "bf16", -4, 4, m, n, 0);
	y = case_out(&c, "Y", "e4m3", m, n, 0);
	for (int64_t i = 0; i < y->n; i++) {
		y->v[i] = x->v[i];
		y->allow[i] = ulp2(y->type, x->v[i]);
	}
	OP_RUN(&c, "sm_90a", "map", "IN=bf16", "OUT=e4m3");
	case_end(&c);
}

/* Tensors of a list, their lengths, what is between them. */
TEST_EACH(list, 20)
{
	static const int lengths[3][6] = { { 1, 7, 2048, 4100, 13, 2049 }, { 5000, 1 }, { 3 } };
	int length[6] = { 0 };
	int64_t start[6] = { 0 }, all = 0, longest = 0;
	int count = 0;
	Case c;

	for (int i = 0; i < 6; i++)
		length[i] = _i < 3 ? lengths[_i][i] : i <= _i % 6 ? 1 + (_i * 977 + i * 613) % 4500 : 0;
	for (; count < 6 && length[count]; count++) {
		start[count] = all;
		all += (length[count] + 7) / 8 * 8 + 8 * (count % 2);
		longest = length[count] > longest ? length[count] : longest;
	}
	case_start(&c, 80 + (uint64_t)_i);
	Buf *from = case_in(&c, "START", "i64", 0, 1, count, 0);
	Buf *many = case_in(&c, "LENGTH", "i64", 0, 1, count, 0);
	const Buf *x = case_in(&c, "X", "f32", -1, 1, (int)all, 0);
	const Buf *other = case_in(&c, "other", "f32", -1, 1, (int)all, 0);
	const Buf *scale = case_in(&c, "scale", "f32", 1, 2, count, 0);
	Buf *y = case_inout(&c, "Y", "f32", -1, 1, (int)all, 0);

	case_num(&c, "longest", (double)longest);
	for (int l = 0; l < count; l++) {
		buf_set(from, l, (double)start[l] / 8);
		buf_set(many, l, length[l]);
		for (int64_t i = start[l]; i < start[l] + length[l]; i++) {
			y->v[i] = x->v[i] * scale->v[l] - other->v[i];
			y->allow[i] = 4 * U32;
		}
	}
	OP_RUN(&c, "sm_80", "map_list", "IN=f32", "tensors=scale: f32[L], other: f32[T]",
	       "value=x * scale[l] - other[n]");
	case_end(&c);
}
