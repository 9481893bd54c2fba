/* test_speed.c - how fast the simulator is: prints thread instructions per second of processor
 * time.  With SIM_SPEED=1 it fails below 100 million, or if checks cost more than three times;
 * without, only if it is ten times slower than that, since other work may share the machine. */
#include <stdint.h>
#include <time.h>
#include "simtest.h"

#define HEAD ".version 8.4\n.target sm_89\n.address_size 64\n" ".entry k(.param .u64 a, .param .u64 b)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<30>;\n" \
	".reg .f32 %f<20>;\n.reg .b64 %d<10>;\n.shared .align 16 .b8 sm[16384];\n" \
	"ld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n" \
	"mad.lo.u32 %r3, %r2, 256, %r1;\nmul.wide.u32 %d3, %r3, 16;\nadd.s64 %d4, %d1, %d3;\n" \
	"add.s64 %d5, %d2, %d3;\nmov.u32 %r4, 0;\nmov.b32 %f1, 0f3f800000;\nmov.b32 %f2, %f1;\n" \
	"mov.u32 %r5, %r3;\nmov.u32 %r20, sm;\nshl.b32 %r21, %r1, 4;\nadd.s32 %r20, %r20, %r21;\n"
#define TAIL(n) "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, " #n ";\n@%p1 bra L;\n" \
	"cvt.rn.f32.u32 %f3, %r5;\nadd.f32 %f2, %f2, %f3;\nst.global.f32 [%d5], %f2;\nret;\n}\n"

#define FILL "st.shared.v4.f32 [%r20], {%f1,%f1,%f1,%f1};\n"
#define LOAD "ld.global.v4.b32 {%r6,%r7,%r8,%r9}, [%d4];\nmov.b32 %f4, %f1;\nmov.b32 %f5, %f1;\n" \
	"mov.b32 %f6, %f1;\nmov.b32 %f7, %f1;\nmov.b32 %r12, %r6;\nmov.b32 %r13, %r6;\n" \
	"mov.b32 %r14, %r6;\nmov.b32 %r15, %r6;\n"
#define MMA(kind, acc) "mma.sync.aligned." kind " " acc ", {%r6,%r7,%r8,%r9}, {%r6,%r7}, " acc ";\n"
#define MMA8(kind, acc) MMA(kind, acc) MMA(kind, acc) MMA(kind, acc) MMA(kind, acc) MMA(kind, acc) \
	MMA(kind, acc) MMA(kind, acc) MMA(kind, acc)

static const struct { const char *name, *text; } kernels[] = {
	{ "arithmetic", HEAD "L:\n" "fma.rn.f32 %f2, %f2, %f1, %f1;\nmad.lo.u32 %r5, %r5, 1664525, 1013904223;\n"
	  "and.b32 %r6, %r5, 7;\nsetp.gt.u32 %p2, %r6, 3;\nselp.b32 %r7, %r5, %r6, %p2;\n"
	  "xor.b32 %r5, %r5, %r7;\nshr.u32 %r8, %r5, 3;\nadd.u32 %r5, %r5, %r8;\n" TAIL(100) },
	{ "divergence", HEAD "L:\n" "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r6, %r5, 20;\n"
	  "and.b32 %r6, %r6, 3;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra M;\nadd.u32 %r5, %r5, 3;\n"
	  "mul.f32 %f2, %f2, %f1;\nadd.f32 %f2, %f2, %f1;\nM:\nadd.u32 %r5, %r5, %r6;\n" TAIL(100) },
	{ "memory", HEAD "L:\n" "ld.global.v4.f32 {%f4,%f5,%f6,%f7}, [%d4];\nadd.f32 %f4, %f4, %f5;\n"
	  "add.f32 %f6, %f6, %f7;\nadd.f32 %f4, %f4, %f6;\nst.shared.v4.f32 [%r20], {%f4,%f5,%f6,%f7};\n"
	  "bar.sync 0;\nld.shared.f32 %f8, [%r20];\nmul.f32 %f8, %f8, %f1;\nfma.rn.f32 %f2, %f8, %f1, %f2;\n"
	  "add.u32 %r5, %r5, 1;\nxor.b32 %r6, %r5, %r4;\nadd.u32 %r5, %r5, %r6;\nbar.sync 0;\n" TAIL(40) },
	{ "mma", HEAD FILL "L:\n" "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6,%r7,%r8,%r9}, [%r20];\n"
	  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4,%f5,%f6,%f7}, {%r6,%r7,%r8,%r9}, "
	  "{%r6,%r7}, {%f1,%f1,%f1,%f1};\nadd.u32 %r5, %r5, 1;\nxor.b32 %r11, %r5, %r4;\n"
	  "add.u32 %r5, %r5, %r11;\nadd.u32 %r12, %r5, %r11;\n" TAIL(40) },
	/* eight of ten instructions are mma */
	{ "mma f16", HEAD LOAD "L:\n" MMA8("m16n8k16.row.col.f32.f16.f16.f32", "{%f4,%f5,%f6,%f7}") TAIL(40) },
	{ "mma bf16", HEAD LOAD "L:\n" MMA8("m16n8k16.row.col.f32.bf16.bf16.f32", "{%f4,%f5,%f6,%f7}") TAIL(40) },
	{ "mma f16 acc", HEAD LOAD "L:\n" MMA8("m16n8k16.row.col.f16.f16.f16.f16", "{%r12,%r13}") TAIL(40) },
	{ "mma s8", HEAD LOAD "L:\n" MMA8("m16n8k32.row.col.s32.s8.s8.s32", "{%r12,%r13,%r14,%r15}") TAIL(40) },
	{ "mma e4m3", HEAD LOAD "L:\n" MMA8("m16n8k32.row.col.f32.e4m3.e4m3.f32", "{%f4,%f5,%f6,%f7}") TAIL(40) },
	{ "mma tf32", HEAD LOAD "L:\n" MMA8("m16n8k8.row.col.f32.tf32.tf32.f32", "{%f4,%f5,%f6,%f7}") TAIL(40) },
};

static double
measure(const char *text, int checks)
{
	enum { BLOCKS = 16, BYTES = BLOCKS * 256 * 16 };
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	uint64_t a = sim_alloc(s, BYTES, "a"), b = sim_alloc(s, BYTES, "b");
	const void *args[] = { &a, &b };
	sim_launch l = SIM_LAUNCH_INIT;
	double best = 0;

	sim_fill(s, a, 0, BYTES);
	l.grid[0] = BLOCKS;
	l.block[0] = 256;
	l.threads = 1;
	l.args = args;
	l.checks = checks;
	for (int i = 0; i < 5; i++) {
		sim_result *r;
		clock_t t = clock();
		int rc = sim_run(s, m, "k", &l, &r);
		double secs = (double)(clock() - t) / CLOCKS_PER_SEC, v;
		if (rc != SIM_OK)
			print_faults(r);
		ck_assert_int_eq(rc, SIM_OK);
		v = (double)sim_stats_of(r)->all.threads / (secs > 0 ? secs : 1e-6) / 1e6;
		best = v > best ? v : best;
		sim_result_free(r);
	}
	sim_close(s);
	return best;
}

START_TEST(speed)
{
	double off = measure(kernels[_i].text, 0), on = measure(kernels[_i].text, 1);
	int strict = getenv("SIM_SPEED") != NULL;

	printf("%-12s %6.0f M thread instructions/s, %6.0f with checks (1/%.1f)\n", kernels[_i].name, off, on,
	       off / on);
	fflush(stdout);
	if (strcmp(kernels[_i].name, "mma"))    /* an mma stands for 64 multiply-adds of each lane */
		ck_assert_double_gt(off, strict ? 100 : 10);
	ck_assert_double_gt(on, off / (strict ? 3 : 10));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sim speed");
	TCase *t = tcase_create("speed");

#if defined(__SANITIZE_ADDRESS__)
	puts("sanitizers are on");
	return 77;
#endif
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, speed, 0, (int)(sizeof kernels / sizeof *kernels));
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
