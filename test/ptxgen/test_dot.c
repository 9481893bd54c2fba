/* test_dot.c - tests every matrix instruction, in several instances, with and without another order of k;
 * dots without tensor cores; loops, conditions, index values. Simulator against tile interpreter. In C:
 * kernels are generated for every row of the table of instructions. */
#include "infer/core/instr.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include "test/util_layout.h"
#include <string.h>

static const char *
text_of(const Layout *l)
{
	return layout_print(u->arena, l);
}

/* A fragment repeated rm x rn times per warp (registers), wm x wn times over warps, warps of the
 * other operand as replicas. */
static void
repeat(Layout *l, const int rep[2], const int wrep[2], const int wstride[2], int others,
       int other_stride)
{
	int64_t regs = layout_cosize(l, AX_reg);

	for (int d = 0; d < 2; d++) {
		layout_push(l, d, rep[d], regs, AX_reg);
		regs *= rep[d];
		layout_push(l, d, wrep[d], wstride[d], AX_warp);
	}
	layout_push_rep(l, others, other_stride, AX_warp);
}

typedef struct Product {
	const char *name;
	DType ta, tb, acc;
	int m, n, k;
	Layout a, b, c;
	const char *order; /* of the indices along k, or "" */
} Product;

/* Of an access to one element. */
static int
access_bits(DType d)
{
	return dtype_info[d].bits < 8 ? 8 : dtype_info[d].bits;
}

/* The type that global memory has for one: f32 is cast to tf32. */
static const char *
in_memory(DType d)
{
	return dtype_info[d == D_tf32 ? D_f32 : d].name;
}

static const char *
product_text(const Product *p)
{
	Text t = { u->arena, NULL, 0, 0 };
	const char *ta = in_memory(p->ta), *tb = in_memory(p->tb), *acc = dtype_info[p->acc].name;

	text_printf(&t,
	            "kernel t {\n  warps 4\n"
	            "  param %%1.A tensor A : global %s[?, ?] read size %%4, %%6 stride %%6, %%7\n"
	            "  param %%2.B tensor B : global %s[?, ?] read size %%6, %%5 stride %%5, %%7\n"
	            "  param %%3.C tensor C : global %s[?, ?] read written size %%4, %%5 stride "
	            "%%5, %%7\n"
	            "  grid {\n    %%8 = const value 1 : i64\n    yield %%8, %%8, %%8\n  }\n"
	            "  body {\n    %%4 = const value %d : i64\n    %%5 = const value %d : i64\n"
	            "    %%6 = const value %d : i64\n    %%7 = const value 1 : i64\n"
	            "    %%10 = const value 0 : i64\n",
	            ta, tb, acc, p->m, p->n, p->k);
	text_printf(
		&t,
		"    %%11 = view %%1, %%10, %%10 : global %s[%d, %d]\n"
		"    %%12 = view %%2, %%10, %%10 : global %s[%d, %d]\n"
		"    %%13 = view %%3, %%10, %%10 : global %s[%d, %d]\n"
		"    %%21 = load %%11 : reg %s[%d, %d] @{%s} lowering { access inst ld_global_%d vec 1 }\n",
		ta, p->m, p->k, tb, p->k, p->n, acc, p->m, p->n, ta, p->m, p->k, text_of(&p->a),
		access_bits(p->ta));
	text_printf(
		&t,
		"    %%22 = load %%12 : reg %s[%d, %d] @{%s} lowering { access inst ld_global_%d vec 1 }\n"
		"    %%23 = load %%13 : reg %s[%d, %d] @{%s} lowering { access inst ld_global_%d vec 1 }\n",
		tb, p->k, p->n, text_of(&p->b), access_bits(p->tb), acc, p->m, p->n, text_of(&p->c),
		access_bits(p->acc));
	if (p->ta == D_tf32)
		text_printf(&t,
		            "    %%31 = cast %%21 : reg tf32[%d, %d] @{%s}\n"
		            "    %%32 = cast %%22 : reg tf32[%d, %d] @{%s}\n",
		            p->m, p->k, text_of(&p->a), p->k, p->n, text_of(&p->b));
	text_printf(&t,
	            "    %%24 = dot %%%d1, %%%d2, %%23 : reg %s[%d, %d] @{%s} lowering { dot inst %s%s }\n"
	            "    store %%24, %%13 lowering { access inst st_global_%d vec 1 }\n    yield\n  }\n}\n",
	            p->ta == D_tf32 ? 3 : 2, p->ta == D_tf32 ? 3 : 2, acc, p->m, p->n, text_of(&p->c),
	            p->name, p->order, access_bits(p->acc));
	return t.s;
}

static double
tolerance(DType acc)
{
	if (acc == D_f16)
		return 0.02;
	return dtype_info[acc].kind != K_flt ? 0 : acc == D_f64 ? 1e-13
	                                                        : 1e-4;
}

static const Instr *
mma_row(int i)
{
	for (const Instr *in = instrs; in->name; in++)
		if (in->kind == IK_mma && i-- == 0)
			return in;
	return NULL;
}

/* Dim d, two steps of k: the digit that tells the steps apart comes behind the four lowest indices,
 * not last. */
static void
interleave(Layout *l, int d, int k)
{
	Layout in = *l, out;
	int64_t weight = 1;

	ck_assert(layout_split(&in, d, 4) && layout_split(&in, d, k));
	layout_init(&out, 2);
	for (int e = 0; e < 2; e++) {
		int last = in.first[e + 1] - 1;

		for (int i = in.first[e]; i <= last; i++) {
			if (e == d && i == last)
				break;
			layout_push(&out, e, in.it[i].extent, in.it[i].stride, (Axis)in.it[i].axis);
			weight = e == d ? weight * in.it[i].extent : 1;
			if (e == d && weight == 4)
				layout_push(&out, e, 2, in.it[last].stride, (Axis)in.it[last].axis);
		}
	}
	for (int i = 0; i < in.nrep; i++)
		layout_push_rep(&out, in.rep[i].extent, in.rep[i].stride, (Axis)in.rep[i].axis);
	*l = out;
}

/* 2 x 2 warps, 2 x 3 x 2 instances each; k in two orders, the product and its transpose. */
static int
mma_rows(void)
{
	int n = 0;

	while (mma_row(n))
		n++;
	return n;
}

TEST_EACH(mma, mma_rows() * 4)
{
	static const int rc[2] = { 2, 3 }, ra[2] = { 2, 2 }, rb[2] = { 2, 3 };
	static const int wc[2] = { 2, 2 }, wa[2] = { 2, 1 }, wb[2] = { 1, 2 }, ws[2] = { 2, 1 };
	const Instr *in = mma_row(_i / 4);
	bool swap = _i % 4 / 2;
	Product p = {
		.name = in->name,
		.ta = in->ta,
		.tb = in->tb,
		.acc = in->acc,
		.m = in->m * 4,
		.n = in->n * 6,
		.k = in->k * 2,
		.order = "",
	};

	if (swap) {
		p.ta = in->tb;
		p.tb = in->ta;
		p.m = in->n * 4;
		p.n = in->m * 6;
		p.order = " swap";
	}

	u->target = targets;
	while (!instr_on(in, u->target))
		u->target++;
	ck_assert(instr_fragment(in, 0, swap, &p.a) && instr_fragment(in, 1, swap, &p.b) &&
	          instr_fragment(in, 2, swap, &p.c));
	repeat(&p.a, ra, wa, ws, 2, 1);
	repeat(&p.b, rb, wb, ws, 2, 2);
	repeat(&p.c, rc, wc, ws, 1, 0);
	if (_i % 2) { /* the two k steps take every other group of four indices */
		interleave(&p.a, 1, in->k);
		interleave(&p.b, 0, in->k);
		p.order = arena_printf(u->arena, "%s k {((4,2,%d)):((1,%d,4))}", p.order, in->k / 4,
		                       in->k);
	}
	ptx_compare(u, product_text(&p), "", (uint64_t)_i, tolerance(p.acc));
}

static const DType without[][3] = {
	{ D_e4m3, D_e4m3, D_f32 },
	{ D_e5m2, D_e4m3, D_f32 },
	{ D_f32, D_f32, D_f32 },
	{ D_f16, D_f16, D_f32 },
	{ D_bf16, D_bf16, D_f32 },
	{ D_f16, D_f16, D_f16 },
	{ D_f64, D_f64, D_f64 },
	{ D_i4, D_i4, D_i32 },
	{ D_u4, D_i4, D_i32 },
	{ D_i8, D_i8, D_i32 },
	{ D_u8, D_u8, D_i32 },
	{ D_i8, D_u8, D_i32 },
	{ D_i16, D_i16, D_i32 },
	{ D_u16, D_i16, D_i64 },
	{ D_i32, D_i32, D_i32 },
	{ D_i32, D_u32, D_i64 },
	{ D_u32, D_u32, D_u32 },
	{ D_i64, D_i64, D_i64 },
	{ D_u64, D_u64, D_u64 },
	{ D_f32, D_f32, D_f64 },
};

/* Accumulators of 4 warps with a 2 x 2 block of elements per lane; operands hold all of k. */
TEST_EACH(no_tensor_core, COUNT_OF(without))
{
	const DType *type = without[_i];
	Product p = { "fma", type[0], type[1], type[2], 32, 16, 12, { 0 }, { 0 }, { 0 }, "" };
	static const char *const text[] = {
		"((4,2,4),12):((4@lane,1@reg,1@warp),2@reg)+[4:1@lane]+[2:16@lane]",
		"(12,(4,2,2)):(2@reg,(1@lane,1@reg,16@lane))+[4:4@lane]+[4:1@warp]",
		"((4,2,4),(4,2,2)):((4@lane,1@reg,1@warp),(1@lane,2@reg,16@lane))",
	};
	Layout *l[3] = { &p.a, &p.b, &p.c };

	for (int i = 0; i < 3; i++)
		*l[i] = layout_of(text[i]);
	ptx_compare(u, product_text(&p), "", 1, tolerance(p.acc));
}

/* ---- control flow and index values ----------------------------------------------------------- */

#define L "@{((4,32,2)):((1@reg,1@lane,1@warp))}"

TEST(flow)
{
	static const char text[] =
		"kernel t {\n  warps 2\n"
		"  param %1.A tensor A : global f32[?] read size %3 stride %7\n"
		"  param %2.C tensor C : global f32[?] written size %3 stride %7\n"
		"  param %3.N size N : i64 mult 4 lo 1 hi 100000\n"
		"  param %4.x scalar x : f16\n  param %5.n scalar n : i32\n"
		"  grid {\n    %6 = const value 2 : i64\n    %8 = const value 1 : i64\n"
		"    yield %6, %8, %8\n  }\n"
		"  body {\n    %7 = const value 1 : i64\n    %9 = const value 0 : i64\n"
		"    %10 = block_id : i64\n"
		"    %11 = const value 256 : i64\n    %12 = mul %10, %11 : i64\n"
		"    %13 = view %1, %12 : global f32[256]\n"
		"    %14 = load %13 : reg f32[256] " L " lowering { access inst ld_global_128 vec 4 }\n"
		"    %15 = cast %4 : f32\n    %16 = splat %15 : reg f32[256] " L "\n"
		"    %17 = iota : reg i32[256] " L "\n"
		"    %18 = splat %5 : reg i32[256] " L "\n"
		"    %19 = lt %17, %18 : reg bool[256] " L "\n"
		"    %20 = cast %17 : reg f32[256] " L "\n"
		"    %21 = const value 5 : i64\n"
		/* carried: a tile that starts as an iota, a scalar, one that is swapped with it */
		"    %30, %31, %32 = for %9, %21, %7, %17, %9, %14 : reg i32[256] " L ", i64, "
		"reg f32[256] " L
		" { (%33 : i64, %34 : reg i32[256] " L ", %35 : i64, %36 : reg f32[256] " L ")\n"
		"      %37 = add %34, %18 : reg i32[256] " L "\n"
		"      %38 = mod %33, %41 : i64\n      %39 = eq %38, %9 : bool\n"
		"      %40 = if %39 : reg f32[256] " L " {\n"
		"        %42 = mul %36, %16 : reg f32[256] " L "\n        yield %42\n"
		"      } else {\n"
		"        %43 = for %9, %41, %7, %36 : reg f32[256] " L " { (%44 : i64, %45 : reg "
		"f32[256] " L ")\n"
		"          %46 = add %45, %20 : reg f32[256] " L "\n          yield %46\n        }\n"
		"        yield %43\n      }\n"
		"      %47 = add %35, %33 : i64\n"
		"      yield %37, %47, %40\n    }\n"
		"    %50 = cast %30 : reg f32[256] " L "\n    %51 = add %50, %32 : reg f32[256] " L "\n"
		"    %52 = cast %31 : f32\n    %53 = splat %52 : reg f32[256] " L "\n"
		"    %54 = select %19, %51, %53 : reg f32[256] " L "\n"
		"    %55 = sub %3, %12 : i64\n"
		"    %56 = mask %54, %55 dims 1 fill 7.5 : reg f32[256] " L "\n"
		"    %57 = view %2, %12 : global f32[256]\n"
		"    store %56, %57 lowering { access inst st_global_128 vec 4 }\n    yield\n  }\n}\n";
	const char *at = strstr(text, "%21 = const value 5 : i64\n");
	const char *all = arena_printf(u->arena, "%.*s%%41 = const value 2 : i64\n    %s",
	                               (int)(at - text), text, at);

	ptx_compare(u, all, "N=300 n=100", 1, 0);
}

/* Values of rank 0, types of every size as parameters, a store that one thread makes. */
TEST_EACH(scalars, 11)
{
	static const char *const type[] = { "f16", "bf16", "f32", "f64", "i8", "u8",
		                            "i16", "u16", "i32", "u32", "i64" };
	static const char *const text =
		"kernel t {\n  warps 2\n"
		"  param %%1.A tensor A : global %s[?] read size %%3 stride %%7\n"
		"  param %%2.C tensor C : global %s[?] written size %%3 stride %%7\n"
		"  param %%4.x scalar x : %s\n  param %%5.b scalar b : bool\n"
		"  grid {\n    %%6 = const value 4 : i64\n    %%8 = const value 1 : i64\n"
		"    yield %%6, %%8, %%8\n  }\n"
		"  body {\n    %%3 = const value 3 : i64\n    %%7 = const value 1 : i64\n"
		"    %%10 = block_id : i64\n"
		"    %%13 = view %%1, %%10 dropped 1 : global %s[]\n    %%14 = load %%13 : %s\n"
		"    %%15 = add %%14, %%4 : %s\n    %%16 = select %%5, %%15, %%14 : %s\n"
		"    %%17 = view %%2, %%10 dropped 1 : global %s[]\n    store %%16, %%17\n    yield\n"
		"  }\n}\n";
	const char *d = type[_i];

	ptx_compare(u, arena_printf(u->arena, text, d, d, d, d, d, d, d, d), "x=3 b=1", 1, 0);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 300);
