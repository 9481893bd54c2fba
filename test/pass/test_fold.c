/* test_fold.c - tests the constants of fold against the machine's arithmetic, for all codes and random
 * numbers, and that fold, cse and dce keep the meaning of random programs: both are computed here. fold.ir,
 * cse.ir and dce.ir have what the passes make of small programs. */
#include "hexc/pass/fold.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/verify/verify.h"
#include "hexc/pass/pass.h"
#include "test/ir/util_prog.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Kernel *
body(const char *text)
{
	Kernel *k = ir_read(u, ir_wrap(u, text));

	ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
	return k;
}

static void
still_whole(Kernel *k)
{
	ck_assert_msg(kernel_verify(k, "pass"), "%s", ir_diags(u));
	ck_assert_str_eq(ir_text(u, ir_read(u, ir_text(u, k))), ir_text(u, k));
}

TEST(fold_reaches_sizes_and_assumptions)
{
	Kernel *k = ir_read(u,
	                    "kernel t {\n warps 1\n"
	                    " param %1 tensor A : global f16[?] written size %8 stride %9\n"
	                    " param %2 size M : i64 mult 1 lo 1 hi 100\n"
	                    " grid {\n %3 = const value 1 : i64\n %4 = le %3, %2 : bool\n"
	                    " yield %3, %3, %3 }\n assume %4 \"M >= 1\"\n"
	                    " body { %5 = const value 1 : i64 %6 = const value 0 : i64 %7 = add %5, %6 : i64"
	                    " %8 = mul %2, %7 : i64\n"
	                    " %9 = add %7, %6 : i64\n yield } }");
	int64_t one;

	ck_assert(pass_cleanup(k));
	still_whole(k);
	ck_assert(k->param[0].size[0] == k->param[1].val);
	ck_assert(val_is_const(k->param[0].stride[0], &one) && one == 1);
	ck_assert(val_is_const(k->assume[0].cond, &one) && one == 1);
	ck_assert(!pass_cleanup(k));
}

/* All codes of the small floats to numbers and back; not those of NaN, nor the infinities of a type that
 * rounds to finite numbers. */
TEST(bits_of_constants)
{
	static const DType flt[] = { D_f16, D_bf16, D_e4m3, D_e5m2 }, num[] = { D_u16, D_u16, D_u8, D_u8 };
	Kernel *k = kernel_new(u, "t");
	Val *in = ir_const(k->body, NULL, 0);

	for (int d = 0; d < (int)COUNT_OF(flt); d++) {
		Type f = type_scalar(flt[d]), n = type_scalar(num[d]);

		for (unsigned code = 0; code < 1u << dtype_info[num[d]].bits; code++) {
			double x = num_of_code(flt[d], code);
			Constant c;
			Op *o;

			in->type = n;
			in->def->imm[0] = code;
			o = op_new(k->body, NULL, O_bitcast, k->src, 1, &in, 1, &f);
			ck_assert(const_eval(o, &c) == !(isinf(x) && flt[d] == D_e5m2));
			ck_assert(isnan(x) ? isnan(c.f) : c.f == x && !signbit(c.f) == !signbit(x));
			in->type = f;
			in->def->fimm = x;
			o = op_new(k->body, NULL, O_bitcast, k->src, 1, &in, 1, &n);
			ck_assert(const_eval(o, &c) == !isnan(x));
			ck_assert(isnan(x) || c.i == code);
		}
	}
}

/* Constants of f32 against the arithmetic of the machine that compiles. */
TEST(float_constants_are_rounded_once)
{
	static const OpCode codes[] = { O_add, O_sub, O_mul, O_div, O_sqrt };
	uint64_t r = 5;
	Type t = type_scalar(D_f32);
	Kernel *k = kernel_new(u, "t");
	Val *in[2] = { ir_const(k->body, NULL, 0), ir_const(k->body, NULL, 0) };

	in[0]->type = in[1]->type = t;
	for (int i = 0; i < 20000; i++) {
		OpCode code = codes[i % 5];
		Op *o = op_new(k->body, NULL, code, k->src, code == O_sqrt ? 1 : 2, in, 1, &t);
		float x[2], want;
		Constant got;
		bool same;
		for (int j = 0; j < 2; j++) {
			uint32_t bits = (uint32_t)prog_rand(&r, 1u << 31) ^ (uint32_t)prog_rand(&r, 4) << 30;
			if (i % 3) /* near each other */
				bits = (bits & 0x80ffffffu) | 0x3f000000u;
			memcpy(&x[j], &bits, sizeof bits);
			in[j]->def->fimm = (double)x[j];
		}
		want = code == O_add   ? x[0] + x[1]
		       : code == O_sub ? x[0] - x[1]
		       : code == O_mul ? x[0] * x[1]
		       : code == O_div ? x[0] / x[1]
		                       : sqrtf(x[0]);
		same = const_eval(o, &got);
		if (isnan(want))
			same = same && isnan(got.f);
		else
			same = same && memcmp(&got.f, &(double){ want }, sizeof got.f) == 0;
		if (!same)
			ck_abort_msg("%s %a %a: %a, not %a",
			             op_info[code].name, (double)x[0], (double)x[1], got.f,
			             (double)want);
	}
}

/* ---- cse and dce --------------------------------------------------------------------------------- */

TEST(carried_values_are_dropped_in_order)
{
	Kernel *k = body("%20, %21, %22 = for %5, %4, %5, %3, %4, %5 : i64, i64, i64 {"
	                 " (%23 : i64, %24 : i64, %25 : i64, %26 : i64)\n"
	                 " %27 = add %24, %5 : i64 %28 = add %26, %5 : i64\n yield %27, %25, %28 }\n"
	                 " %30 = view %2, %22, %20 : global f16[1, 1]"
	                 " %31 = const value 0.0 : reg f16[1, 1]\n store %31, %30");
	Op *loop = ir_val(k, 20)->def;

	ck_assert(pass_dce(k));
	still_whole(k);
	ck_assert_int_eq(loop->nout, 2);
	ck_assert(loop->out[1] == ir_val(k, 22));
	ck_assert(loop->in[4] == ir_val(k, 5) && loop->in[3] == ir_val(k, 3));
	ck_assert(loop->blk[0]->arg[2] == ir_val(k, 26) && loop->blk[0]->last->in[1] == ir_val(k, 28));
}

/* ---- meaning ------------------------------------------------------------------------------------- */

typedef struct Trace {
	uint64_t hash;
	long n;
} Trace;

static void
on_store(void *user, const int64_t *start, int n)
{
	Trace *t = user;

	for (int i = 0; i < n; i++)
		t->hash = (t->hash ^ (uint64_t)start[i]) * 0x9e3779b97f4a7c15u;
	t->n++;
}

/* The same stores in the same order, before and after. */
TEST_EACH(tidy_keeps_the_meaning, 10)
{
	static const int64_t sizes[] = { 0, 1, 2, 3, 5, 8, 16, 17, 24, 32, 48, 64 };
	enum { RUNS = 24 };
	long stores = 0;

	for (int i = 0; i < 100; i++) {
		uint64_t seed = (uint64_t)(_i * 100 + i) + 900000, r = seed;
		Kernel *k = prog_random(u, seed);
		Trace before[RUNS], after;
		Env env[RUNS];
		bool run[RUNS];

		for (int pass = 0; pass < 2; pass++) {
			for (int j = 0; j < RUNS; j++) {
				Trace *t = pass ? &after : &before[j];
				Watch w = { t, NULL, NULL, on_store };
				int64_t grid[3];
				t->hash = 0;
				t->n = 0;
				if (pass == 0) {
					env[j] = (Env){ .param = { 0, 0, 0, 0 } };
					env[j].param[1] = sizes[prog_rand(&r, 12)];
					env[j].param[2] = sizes[prog_rand(&r, 12)];
					env[j].param[3] = (int64_t)prog_rand(&r, 60) - 20;
					run[j] = prog_allows(k, &env[j]);
					prog_grid(k, &env[j], grid);
					run[j] = run[j] && grid[0] > 0 && grid[1] > 0 && grid[0] < 1000000;
					if (run[j]) {
						env[j].block[0] = (int64_t)prog_rand(&r, (uint64_t)grid[0]);
						env[j].block[1] = grid[1] > 1;
						run[j] = prog_run(k, &env[j], &w); /* not those cut off */
					}
				} else if (run[j]) {
					ck_assert(prog_run(k, &env[j], &w));
					if (t->hash != before[j].hash || t->n != before[j].n) {
						fprintf(stderr, "%s", ir_text(u, k));
						ck_abort_msg("seed %lu: other stores", (unsigned long)seed);
					}
					stores += t->n;
				}
			}
			if (pass == 0)
				pass_cleanup(k);
		}
		still_whole(k);
		ir_unit_free(u);
		u = ir_unit();
	}
	ck_assert_int_gt(stores, 1000);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);
