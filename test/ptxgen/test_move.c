/* test_move.c - tests data movement: loads, stores, copies, conversions, reductions, broadcasts and
 * transposes with random layouts, simulator against tile interpreter. In C: layouts are random. */
#include "taskmap/butterfly.h"
#include "test/ptxgen/util_ptx.h"
#include "test/taskmap/util_cute.h"
#include "test/ir/util_unit.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 120 };

/* ---- random layouts -------------------------------------------------------------------------- */

/* A tile of 2^r x 2^c elements; each bit of its coordinates is a bit of a register number, a lane
 * or a warp. */
typedef struct Bits {
	int n[2]; /* bits of the two dims */
	uint8_t axis[2][8]; /* Axis */
	uint8_t bit[2][8]; /* of the place on that axis */
	int nreg, nlane, nwarp;
	uint8_t lane_used[5], warp_used[5];
} Bits;

static int
pick_free(uint32_t *seed, const uint8_t *used, int n)
{
	int left = 0, at;

	for (int i = 0; i < n; i++)
		left += !used[i];
	if (!left)
		return -1;
	at = (int)ptx_random(seed, (uint32_t)left);
	for (int i = 0; i < n; i++)
		if (!used[i] && at-- == 0)
			return i;
	return -1;
}

static void
set_bit(Bits *b, int d, int i, Axis axis, int bit)
{
	b->axis[d][i] = (uint8_t)axis;
	b->bit[d][i] = (uint8_t)bit;
	if (axis == AX_lane)
		b->lane_used[bit] = 1;
	if (axis == AX_warp)
		b->warp_used[bit] = 1;
}

/* The lowest `vec` bits of dim 1 are the lowest register bits.  `like`: keep its warp bits. */
static void
bits_random(Bits *b, uint32_t *seed, int r, int c, int vec, int nwarp, const Bits *like)
{
	memset(b, 0, sizeof *b);
	b->n[0] = r;
	b->n[1] = c;
	b->nlane = 5;
	b->nwarp = nwarp;
	for (int i = 0; i < vec; i++)
		set_bit(b, 1, i, AX_reg, b->nreg++);
	for (int d = 0; like && d < 2; d++)
		for (int i = 0; i < b->n[d]; i++)
			if (like->axis[d][i] == AX_warp)
				set_bit(b, d, i, AX_warp, like->bit[d][i]);
	for (int n = r + c, at = (int)ptx_random(seed, (uint32_t)n), left = n; left > 0; left--, at++) {
		int d = at % n < r ? 0 : 1, i = at % n - (d ? r : 0);
		uint32_t want = ptx_random(seed, 8);
		int bit = -1;

		if ((d == 1 && i < vec) || b->axis[d][i] == AX_warp)
			continue;
		if (!like && want == 0 && (bit = pick_free(seed, b->warp_used, nwarp)) >= 0)
			set_bit(b, d, i, AX_warp, bit);
		else if (want < 6 && (bit = pick_free(seed, b->lane_used, 5)) >= 0)
			set_bit(b, d, i, AX_lane, bit);
		else
			set_bit(b, d, i, AX_reg, b->nreg++);
	}
}

static void
bits_layout(const Bits *b, Layout *l)
{
	layout_init(l, 2);
	for (int d = 0; d < 2; d++)
		for (int i = 0; i < b->n[d]; i++)
			layout_push(l, d, 2, (int64_t)1 << b->bit[d][i], (Axis)b->axis[d][i]);
	for (int i = 0; i < 5; i++)
		if (!b->lane_used[i])
			layout_push_rep(l, 2, (int64_t)1 << i, AX_lane);
	for (int i = 0; i < b->nwarp; i++)
		if (!b->warp_used[i])
			layout_push_rep(l, 2, (int64_t)1 << i, AX_warp);
	layout_canon(l);
}

static const char *
text_of(const Layout *l)
{
	return layout_print(u->arena, l);
}

/* ---- kernels ------ */

static const char *const types[] = { "f16",  "f32", "i8",  "u4",  "i64",
	                             "bf16", "u16", "i32", "f64", "i4" };

static int
bits_of(const char *type)
{
	return dtype_info[dtype_find(type, strlen(type))].bits;
}

/* %1 A [rows, cols] of `in`, %2 C [orows, ocols] of `out`; sizes 1000 rows x 64 columns; %10 is 0,
 * %11 the block's first row. */
static void
kernel_head(Text *t, const char *in, const char *out, int warps, int rows, int smem)
{
	text_printf(t,
	            "kernel t {\n  warps %d\n  smem %d\n"
	            "  param %%1.A tensor A : global %s[?, ?] read size %%3, %%6 stride %%6, %%7\n"
	            "  param %%2.C tensor C : global %s[?, ?] read written size %%3, %%6 stride %%6, %%7\n"
	            "  param %%3.M size M : i64 mult 1 lo 1 hi 100000\n"
	            "  grid {\n    %%4 = const value 1 : i64\n    %%5 = const value 2 : i64\n"
	            "    yield %%5, %%4, %%4\n  }\n"
	            "  body {\n    %%6 = const value 64 : i64\n    %%7 = const value 1 : i64\n"
	            "    %%8 = block_id : i64\n"
	            "    %%9 = const value %d : i64\n    %%10 = const value 0 : i64\n"
	            "    %%11 = mul %%8, %%9 : i64\n",
	            warps, smem, in, out, rows);
}

static void
kernel_load(Text *t, const char *type, int r, int c, const char *layout, int vec)
{
	int bits = bits_of(type) * vec;

	text_printf(
		t,
		"    %%12 = view %%1, %%11, %%10 : global %s[%d, %d]\n"
		"    %%20 = load %%12 : reg %s[%d, %d] @{%s} lowering { access inst ld_global_%d vec %d }\n",
		type, r, c, type, r, c, layout, bits < 8 ? 8 : bits, vec);
}

/* Store %id; nibbles are widened to bytes first. */
static void
kernel_store(Text *t, const char *type, int id, int r, int c, const char *layout)
{
	int bits = bits_of(type);

	if (bits < 8) {
		text_printf(t, "    %%90 = cast %%%d : reg %s[%d, %d] @{%s}\n", id,
		            type[0] == 'u' ? "u8" : "i8", r, c, layout);
		id = 90;
		type = type[0] == 'u' ? "u8" : "i8";
		bits = 8;
	}
	text_printf(t,
	            "    %%91 = view %%2, %%11, %%10 : global %s[%d, %d]\n"
	            "    store %%%d, %%91 lowering { access inst st_global_%d vec 1 }\n    yield\n  }\n}\n",
	            type, r, c, id, bits);
}

static const char *
stored_type(const char *type)
{
	return bits_of(type) >= 8 ? type : type[0] == 'u' ? "u8"
	                                                  : "i8";
}

typedef struct Shape {
	uint32_t seed;
	int r, c, w; /* log2 of rows, columns, warps */
	const char *type;
} Shape;

static void
shape_random(Shape *s, int round)
{
	s->seed = (uint32_t)round * 7919u + 17u;
	s->r = (int)ptx_random(&s->seed, 6);
	s->c = 2 + (int)ptx_random(&s->seed, 5);
	s->w = (int)ptx_random(&s->seed, 3);
	s->type = types[ptx_random(&s->seed, COUNT_OF(types))];
}

static const char *
run_sizes(const Shape *s)
{
	/* the second block is ragged, or empty */
	return arena_printf(u->arena, "M=%d", (1 << s->r) + (int)(s->seed % 3));
}

TEST_SAMPLED(convert_warp, ROUNDS, 2)
{
	Shape s;
	Bits a, b;
	Layout la, lb;
	Text t = { u->arena, NULL, 0, 0 };
	int vec = bits_of(types[0]) * 0;

	shape_random(&s, _i);
	bits_random(&a, &s.seed, s.r, s.c, vec, s.w, NULL);
	bits_random(&b, &s.seed, s.r, s.c, 0, s.w, &a);
	bits_layout(&a, &la);
	bits_layout(&b, &lb);
	kernel_head(&t, s.type, stored_type(s.type), 1 << s.w, 1 << s.r, 0);
	kernel_load(&t, s.type, 1 << s.r, 1 << s.c, text_of(&la), 1);
	text_printf(&t, "    %%21 = convert_layout %%20 : reg %s[%d, %d] @{%s} lowering { shuffle }\n",
	            s.type, 1 << s.r, 1 << s.c, text_of(&lb));
	kernel_store(&t, s.type, 21, 1 << s.r, 1 << s.c, text_of(&lb));
	ptx_compare(u, t.s, run_sizes(&s), (uint64_t)_i, 0);
}

/* Up to three bits of the lane number traded for bits of the register number: butterflies. */
TEST_SAMPLED(convert_trade, ROUNDS, 2)
{
	Shape s;
	Bits a;
	Layout la, lb;
	Exchange x;
	Text t = { u->arena, NULL, 0, 0 };
	int elems, n = 0;

	shape_random(&s, _i);
	elems = bits_of(s.type) < 32 && strcmp(s.type, "bool") ? 32 / bits_of(s.type) : 1;
	bits_random(&a, &s.seed, s.r, s.c, 0, s.w, NULL);
	bits_layout(&a, &la);
	lb = la;
	for (int i = 0; i < lb.n && n < 3; i++)
		for (int j = 0; j < lb.n; j++) {
			Iter lane = lb.it[i], reg = lb.it[j];

			if (la.it[i].axis != AX_lane || la.it[j].axis != AX_reg || lane.axis != AX_lane ||
			    reg.axis != AX_reg || reg.stride < elems || lane.extent != 2 || reg.extent != 2)
				continue;
			lb.it[i].axis = AX_reg;
			lb.it[i].stride = reg.stride;
			lb.it[j].axis = AX_lane;
			lb.it[j].stride = lane.stride;
			n++;
			break;
		}
	ck_assert(exchange_find(&la, &lb, elems, &x) == (n > 0));
	kernel_head(&t, s.type, stored_type(s.type), 1 << s.w, 1 << s.r, 0);
	kernel_load(&t, s.type, 1 << s.r, 1 << s.c, text_of(&la), 1);
	text_printf(&t, "    %%21 = convert_layout %%20 : reg %s[%d, %d] @{%s} lowering { shuffle }\n",
	            s.type, 1 << s.r, 1 << s.c, text_of(&lb));
	kernel_store(&t, s.type, 21, 1 << s.r, 1 << s.c, text_of(&lb));
	ptx_compare(u, t.s, run_sizes(&s), (uint64_t)_i, 0);
}

/* A staging layout: row-major, with a random swizzle that keeps 16 bytes together. */
static const char *
scratch_layout(Shape *s, int keep)
{
	int bits = (int)ptx_random(&s->seed, 3), from = s->c > keep ? s->c : keep;
	const char *plain = arena_printf(u->arena, "(%d,%d):(%d,1)", 1 << s->r, 1 << s->c, 1 << s->c);

	if (!bits || from - keep < bits || s->r < bits)
		return plain;
	return arena_printf(u->arena, "Sw<%d,%d,%d> o %s", bits, keep, from - keep, plain);
}

TEST_SAMPLED(convert_shared, ROUNDS, 2)
{
	Shape s;
	Bits a, b;
	Layout la, lb;
	Text t = { u->arena, NULL, 0, 0 };
	int va, vb, bits, bytes;

	shape_random(&s, _i);
	bits = bits_of(s.type);
	va = (int)ptx_random(&s.seed, 3);
	vb = (int)ptx_random(&s.seed, 3);
	va = bits == 4 ? va + 1 : bits << va > 128 ? 0
	                                           : va;
	vb = bits == 4 ? vb + 1 : bits << vb > 128 ? 0
	                                           : vb;
	if (s.c < 4)
		s.c = 4;
	bits_random(&a, &s.seed, s.r, s.c, va, s.w, NULL);
	bits_random(&b, &s.seed, s.r, s.c, vb, s.w, NULL);
	bits_layout(&a, &la);
	bits_layout(&b, &lb);
	bytes = (bits << (s.r + s.c)) / 8 + 64;
	kernel_head(&t, s.type, stored_type(s.type), 1 << s.w, 1 << s.r, bytes);
	kernel_load(&t, s.type, 1 << s.r, 1 << s.c, text_of(&la), 1);
	text_printf(
		&t,
		"    %%21 = convert_layout %%20 : reg %s[%d, %d] @{%s} lowering { shared write { vec %d } "
		"read { vec %d } tile {%s} "
		"bytes %d off 32 }\n",
		s.type, 1 << s.r, 1 << s.c, text_of(&lb), 1 << va, 1 << vb, scratch_layout(&s, 3),
		bytes);
	kernel_store(&t, s.type, 21, 1 << s.r, 1 << s.c, text_of(&lb));
	ptx_compare(u, t.s, run_sizes(&s), (uint64_t)_i, 0);
}

/* How la is reduced along dim to lr: the parts of several warps through rows of shared memory, by the warp
 * or by the result. */
static const char *
parts_pick(Shape *s, const Layout *la, const Layout *lr, int dim, DType d)
{
	bool by_result = ptx_random(&s->seed, 2);
	int64_t warps = 1, regs = layout_cosize(lr, AX_reg), size = 1LL << (dim ? s->r : s->c);
	int vec = 1;
	Layout w, r, at;

	layout_init(&w, 2);
	layout_init(&r, 2);
	for (int i = la->first[dim]; i < la->first[dim + 1]; i++)
		if (la->it[i].axis == AX_warp) {
			layout_push(&w, dim, la->it[i].extent, la->it[i].stride, AX_warp);
			warps *= la->it[i].extent;
		} else if (la->it[i].axis == AX_lane) {
			layout_push_rep(&w, la->it[i].extent, la->it[i].stride, AX_lane);
		}
	if (warps == 1)
		return "{ reduce_shuffle }";
	for (int i = lr->first[1 - dim]; i < lr->first[2 - dim]; i++) {
		const Iter *it = &lr->it[i];
		int64_t times = by_result && it->axis == AX_reg ? warps : 1;

		layout_push(&w, 1 - dim, it->extent, it->stride, (Axis)it->axis);
		layout_push(&r, 1 - dim, it->extent, it->stride * times, (Axis)it->axis);
	}
	layout_push(&r, dim, warps, by_result ? 1 : regs, AX_reg);
	for (int i = 0; i < la->nrep; i++)
		layout_push_rep(&w, la->rep[i].extent, la->rep[i].stride, (Axis)la->rep[i].axis);
	for (int i = 0; i < lr->nrep; i++)
		layout_push_rep(&r, lr->rep[i].extent, lr->rep[i].stride, (Axis)lr->rep[i].axis);
	if (by_result && warps % 2 == 0)
		vec = dtype_info[d].bits < 64 && warps % 4 == 0 ? 4 : 2;
	/* rows of the parts of one result, or of one warp */
	layout_init(&at, 2);
	layout_push(&at, 1 - dim, size, by_result ? warps : 1, AX_mem);
	layout_push(&at, dim, warps, by_result ? 1 : size, AX_mem);
	return arena_printf(u->arena,
	                    "{ reduce_shared write { vec 1 map {%s} } read { vec %d map {%s} } "
	                    "tile {%s} bytes %d }",
	                    text_of(&w), vec, text_of(&r), text_of(&at), 64 * 64 * 8);
}

/* sum, max and min along either dim; the result is broadcast back and combined with the operand. */
TEST_SAMPLED(reduce, ROUNDS, 2)
{
	static const char *const op[] = { "reduce_sum", "reduce_max", "reduce_min" };
	Shape s;
	Bits a;
	Layout la, lr, lb;
	Text t = { u->arena, NULL, 0, 0 };
	int dim, r, c;
	bool flt;

	shape_random(&s, _i);
	if (bits_of(s.type) < 8)
		s.type = "i32";
	flt = dtype_info[dtype_find(s.type, strlen(s.type))].kind == K_flt;
	dim = (int)ptx_random(&s.seed, 2);
	r = 1 << s.r;
	c = 1 << s.c;
	bits_random(&a, &s.seed, s.r, s.c, 0, s.w, NULL);
	bits_layout(&a, &la);
	ck_assert(layout_reduce(&lr, &la, dim));
	ck_assert(layout_broadcast_like(&lb, &lr, dim, &la));
	kernel_head(&t, s.type, s.type, 1 << s.w, r, 64 * 64 * 8);
	kernel_load(&t, s.type, r, c, text_of(&la), 1);
	text_printf(
		&t,
		"    %%21 = %s %%20 imm %d : reg %s[%d, %d] @{%s} lowering %s\n"
		"    %%22 = broadcast %%21 : reg %s[%d, %d] @{%s}\n"
		"    %%23 = convert_layout %%22 : reg %s[%d, %d] @{%s} lowering { rename }\n"
		"    %%24 = add %%20, %%23 : reg %s[%d, %d] @{%s}\n",
		op[_i % 3], dim, s.type, dim ? r : 1, dim ? 1 : c, text_of(&lr),
		parts_pick(&s, &la, &lr, dim, dtype_find(s.type, strlen(s.type))),
		s.type, r, c, text_of(&lb), s.type, r, c, text_of(&la), s.type, r, c, text_of(&la));
	kernel_store(&t, s.type, 24, r, c, text_of(&la));
	ptx_compare(u, t.s, run_sizes(&s), (uint64_t)_i,
	            !flt ? 0 : s.type[0] == 'b' ? 0x1p-6
	               : s.type[1] == '1'       ? 0x1p-9
	                                  : 1e-5);
}

/* Rows of 4 over lanes and 2 warps, and 2 warps more with the same: each part takes one wavefront to write
 * and, for each of the 4 warps, one to read. */
TEST(parts_written_once)
{
	Text t = { u->arena, NULL, 0, 0 };
	float in[16][64] = { { 0 } }, out[16][64] = { { 0 } };
	const uint32_t grid[3] = { 1, 1, 1 };
	PtxArg arg[3] = { { in, sizeof in, 0 }, { out, sizeof out, 0 }, { NULL, 0, 16 } };
	PtxCounts counts;

	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 4; j++)
			in[i][j] = (float)(i + 100 * j);
	kernel_head(&t, "f32", "f32", 4, 16, 128);
	kernel_load(&t, "f32", 16, 4, "(16,(2,2)):(1@lane,(16@lane,1@warp))+[2:2@warp]", 1);
	text_printf(&t, "    %%21 = reduce_sum %%20 dim 1 : reg f32[16, 1] "
	                "@{(16,1):(1@lane,0)+[2:16@lane]+[4:1@warp]} lowering { reduce_shared "
	                "write { vec 1 map {(16,2):(1@lane,1@warp)+[2:16@lane]+[2:2@warp]} } "
	                "read { vec 1 map {(16,2):(1@lane,1@reg)+[2:16@lane]+[4:1@warp]} } "
	                "tile {(16,2):(1,16)} bytes 128 }\n");
	kernel_store(&t, "f32", 21, 16, 1, "(16,1):(1@lane,0)+[2:16@lane]+[4:1@warp]");
	ptx_run(u, t.s, grid, arg, 3, &counts);
	for (int i = 0; i < 16; i++)
		ck_assert(out[i][0] == (float)(4 * i + 600));
	ck_assert_uint_eq(counts.wavefronts, 2 + 2 * 4);
}

/* The result of a reduction is stored itself: each replica must agree, and only one writes. */
TEST_SAMPLED(reduce_store, ROUNDS, 2)
{
	Shape s;
	Bits a;
	Layout la, lr, lt;
	Text t = { u->arena, NULL, 0, 0 };
	int dim, r, c, perm[2] = { 1, 0 };

	shape_random(&s, _i);
	s.type = _i % 2 ? "i8" : "i64";
	dim = (int)ptx_random(&s.seed, 2);
	r = 1 << s.r;
	c = 1 << s.c;
	bits_random(&a, &s.seed, s.r, s.c, 0, s.w, NULL);
	bits_layout(&a, &la);
	ck_assert(layout_reduce(&lr, &la, dim));
	layout_permute(&lt, &lr, perm);
	kernel_head(&t, s.type, s.type, 1 << s.w, r, 64 * 64 * 8);
	kernel_load(&t, s.type, r, c, text_of(&la), 1);
	text_printf(
		&t,
		"    %%21 = reduce_sum %%20 dim %d : reg %s[%d, %d] @{%s} lowering %s\n"
		"    %%22 = transpose %%21 perm 1, 0 : reg %s[%d, %d] @{%s}\n",
		dim, s.type, dim ? r : 1, dim ? 1 : c, text_of(&lr),
		parts_pick(&s, &la, &lr, dim, dtype_find(s.type, strlen(s.type))), s.type,
		dim ? 1 : c, dim ? r : 1, text_of(&lt));
	/* at rows of the block, so that blocks do not write the same place */
	kernel_store(&t, s.type, 22, dim ? 1 : c, dim ? r : 1, text_of(&lt));
	if (!dim && 2 * c > r)
		return; /* the blocks' results would overlap */
	ptx_compare(u, t.s, run_sizes(&s), (uint64_t)_i, 0);
}

/* Sums along a dim, each stored to all of its line: to wherever register bits were along it, from one
 * register. */
TEST_EACH(broadcast_store, 24)
{
	Shape s;
	Bits a;
	Layout la, lr, lb;
	Text t = { u->arena, NULL, 0, 0 };
	int dim, r, c;

	shape_random(&s, _i);
	s.type = "i32";
	dim = (int)ptx_random(&s.seed, 2);
	r = 1 << s.r;
	c = 1 << s.c;
	bits_random(&a, &s.seed, s.r, s.c, 0, s.w, NULL);
	bits_layout(&a, &la);
	ck_assert(layout_reduce(&lr, &la, dim));
	ck_assert(layout_broadcast_like(&lb, &lr, dim, &la));
	kernel_head(&t, s.type, s.type, 1 << s.w, r, 64 * 64 * 8);
	kernel_load(&t, s.type, r, c, text_of(&la), 1);
	text_printf(&t,
	            "    %%21 = reduce_sum %%20 dim %d : reg i32[%d, %d] @{%s} lowering %s\n"
	            "    %%22 = broadcast %%21 : reg i32[%d, %d] @{%s}\n",
	            dim, dim ? r : 1, dim ? 1 : c, text_of(&lr), parts_pick(&s, &la, &lr, dim, D_i32), r, c,
	            text_of(&lb));
	kernel_store(&t, s.type, 22, r, c, text_of(&lb));
	ptx_compare(u, t.s, run_sizes(&s), (uint64_t)_i, 0);
}

/* Tiles that begin where nothing says that it is not before the tensor, behind its last row (in a dim that
 * is dropped), in a row that is known, or known to be before it; that go by steps; whose elements share
 * bytes. */
TEST_EACH(starts, 10)
{
#define ROWS "(8,(4,2)):(4@lane,(1@lane,1@reg))"
#define ROW "(8):(1@lane)+[4:8@lane]"
	static const struct {
		const char *start, *view, *dims, *layout;
		bool narrow;
	} at[] = {
		{ "%12 = sub %3, %13 : i64\n    %14 = add %11, %12 : i64", "%14, %10", "8, 8", ROWS, false },
		{ "%12 = sub %3, %7 : i64\n    %14 = add %12, %8 : i64", "%14, %10 dropped 1", "8", ROW,
		  false },
		{ "%12 = sub %3, %13 : i64\n    %14 = add %12, %8 : i64", "%14, %10 dropped 1", "8", ROW,
		  false },
		{ "%14 = const value 5 : i64", "%14, %11", "8, 8", ROWS, false },
		{ "%14 = const value -5 : i64", "%14, %11", "8, 8", ROWS, false },
		{ "%14 = const value -5 : i64", "%14, %10 dropped 1", "8", ROW, false },
		{ "%14 = const value -2 : i64", "%11, %14 step 2, 3", "8, 8", ROWS, false },
		{ "%12 = sub %3, %13 : i64\n    %14 = sub %12, %11 : i64", "%11, %14 step 0, 2", "8, 8",
		  "(8,(4,2)):(4@lane,(1@reg,1@lane))", false },
		{ "%14 = const value -6 : i64", "%11, %14", "8, 8", ROWS, true },
		{ "%14 = const value -3 : i64", "%14, %14 step 3", "8, 8", ROWS, true },
	};
	const char *in = at[_i].narrow ? "u4" : "f32", *out = at[_i].narrow ? "u8" : "f32";
	const char *dims = at[_i].dims, *layout = at[_i].layout;
	Text t = { u->arena, NULL, 0, 0 };

	kernel_head(&t, in, out, 1, 8, 0);
	text_printf(&t,
	            "    %%13 = const value 13 : i64\n    %s\n    %%15 = view %%1, %s : global %s[%s]\n"
	            "    %%16 = view %%2, %s : global %s[%s]\n"
	            "    %%20 = load %%15 : reg %s[%s] @{%s} lowering { access inst ld_global_%d vec 1 }\n",
	            at[_i].start, at[_i].view, in, dims, at[_i].view, out, dims, in, dims, layout,
	            at[_i].narrow ? 8 : 32);
	if (at[_i].narrow)
		text_printf(&t, "    %%21 = cast %%20 : reg u8[%s] @{%s}\n", dims, layout);
	text_printf(&t,
	            "    store %%%d, %%16 lowering { access inst st_global_%d vec 1 }\n    yield\n  }\n}\n",
	            at[_i].narrow ? 21 : 20, at[_i].narrow ? 8 : 32);
	ptx_compare(u, t.s, "M=13", (uint64_t)_i, 0);
#undef ROWS
#undef ROW
}

/* Part of a shared tile whose start is within what lanes take of a swizzled row, or within a digit of
 * the rows. */
TEST_EACH(shared_starts, 2)
{
	static const struct {
		const char *layout, *start;
	} at[] = {
		{ "Sw<2,1,3> o (16,16):(16,1)", "%10, %13" },
		{ "((4,4),16):((64,16),1)", "%14, %10" },
	};
	Text t = { u->arena, NULL, 0, 0 };

	kernel_head(&t, "i32", "i32", 1, 8, 16 * 16 * 4);
	text_printf(&t,
	            "    %%13 = const value 3 : i64\n    %%14 = add %%8, %%8 : i64\n"
	            "    %%30 = alloc align 16 : shared i32[16, 16] @{%s}\n"
	            "    %%31 = view %%1, %%10, %%10 : global i32[16, 16]\n"
	            "    copy %%31, %%30 lowering { access inst ld_st_32 vec 1 map "
	            "{(16,(2,8)):(2@lane,(1@lane,1@reg))} }\n    barrier\n"
	            "    %%32 = view %%30, %s : shared i32[8, 8]\n"
	            "    %%20 = load %%32 : reg i32[8, 8] @{(8,(4,2)):(4@lane,(1@lane,1@reg))} "
	            "lowering { access inst ld_shared_32 vec 1 }\n",
	            at[_i].layout, at[_i].start);
	kernel_store(&t, "i32", 20, 8, 8, "");
	ptx_compare(u, t.s, "M=16", (uint64_t)_i, 0);
}

/* The larger and the smaller of floats of both signs and what is there, a negative one. */
TEST_EACH(float_extremes, 4)
{
	static const char *const type[] = { "f32", "f64" };
	const char *d = type[_i / 2];
	Text t = { u->arena, NULL, 0, 0 };

	kernel_head(&t, d, d, 1, 8, 0);
	kernel_load(&t, d, 8, 8, "(8,(4,2)):(4@lane,(1@lane,1@reg))", 1);
	text_printf(&t,
	            "    %%91 = view %%2, %%11, %%10 : global %s[8, 8]\n"
	            "    store %%20, %%91 update %d lowering { access inst red_%s_%s vec 1 }\n"
	            "    yield\n  }\n}\n",
	            d, _i % 2 ? 3 : 2, _i % 2 ? "min" : "max", d);
	ptx_compare(u, t.s, "M=13", (uint64_t)_i, 0);
}

/* Elements that straddle bytes, as many as fit into so many such accesses; of 128 bits in rows of 64. */
static const char *
straddling(int round, int size)
{
	static const char *const narrow[] = { "u3", "i5", "u6", "i7" };

	return size == 128 ? "i6" : narrow[round / 8 % 4];
}

/* Global to shared with every instruction, back with scalar loads from a stage chosen at run time; with bytes
 * of elements that straddle them. */
TEST_EACH(copy, ROUNDS)
{
	static const char *const inst[] = { "cp_async_4", "cp_async_8", "cp_async_16", "ld_st_16",
		                            "ld_st_32",   "ld_st_64",   "ld_st_128",   "ld_st_8" };
	static const int size[] = { 32, 64, 128, 16, 32, 64, 128, 8 };
	Shape s;
	Bits a, b;
	Layout la, lb;
	Text t = { u->arena, NULL, 0, 0 };
	int i = _i % 8, bits, odd, back = 0, vec = 0, r, c;

	shape_random(&s, _i);
	if (_i / 8 % 3 == 2)
		s.type = straddling(_i, size[i]);
	if (bits_of(s.type) > size[i])
		s.type = "i8";
	bits = bits_of(s.type);
	odd = dtype_pieces(dtype_find(s.type, strlen(s.type)));
	while (bits << vec < size[i] * odd)
		vec++;
	while (odd > 1 && bits << back < 8 * odd)
		back++;
	if (s.c < vec)
		s.c = vec;
	r = 1 << s.r;
	c = 1 << s.c;
	bits_random(&a, &s.seed, s.r, s.c, vec, s.w, NULL);
	bits_random(&b, &s.seed, s.r, s.c, back, s.w, NULL);
	bits_layout(&a, &la);
	bits_layout(&b, &lb);
	kernel_head(&t, s.type, stored_type(s.type), 1 << s.w, r, 3 * ((r * c * bits) / 8 + 16) + 48);
	text_printf(&t,
	            "    %%30 = alloc offset 48 align 16 : shared %s[3, %d, %d] @{%s(3,%d,%d):(%d,%d,1)}\n"
	            "    %%31 = const value 2 : i64\n    %%32 = sub %%31, %%8 : i64\n"
	            "    %%12 = view %%1, %%11, %%10 : global %s[%d, %d]\n"
	            "    %%33 = view %%30, %%32, %%10, %%10 dropped 1 : shared %s[%d, %d]\n"
	            "    copy %%12, %%33 async %d lowering { access inst %s vec %d map {%s} }\n",
	            s.type, r, c,
	            vec + 1 <= s.c && s.r ? arena_printf(u->arena, "Sw<1,%d,%d> o ", vec, s.c - vec)
	                                  : "",
	            r, c, r * c, c, s.type, r, c, s.type, r, c, i < 3, inst[i], 1 << vec,
	            text_of(&la));
	text_printf(
		&t,
		"    async_commit\n    async_wait\n    barrier\n"
		"    %%20 = load %%33 : reg %s[%d, %d] @{%s} lowering { access inst ld_shared_%d vec %d }\n",
		s.type, r, c, text_of(&lb), bits < 8 ? 8 : bits, 1 << back);
	kernel_store(&t, s.type, 20, r, c, text_of(&lb));
	ptx_compare(u, t.s, run_sizes(&s), (uint64_t)_i, 0);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 300);
