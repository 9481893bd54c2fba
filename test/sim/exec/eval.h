/* eval.h - runs a PTX fragment for many operands: d (or r, h) = f(a, b, c).
 *
 * The fragment sees each operand as %da/%ra/%ha (64, 32, 16 bits), likewise b and c, and gives its result in
 * %do, %ro or %ho; it may use %p1..%p7, %t0..%t7 (b32), %u0..%u7 (b64), %v0..%v7 (b16). */
#ifndef SIMTEST_EVAL_H
#define SIMTEST_EVAL_H
#include <stdint.h>
#include "test/sim/simtest.h"

typedef struct Eval { uint64_t a, b, c, out; } Eval;

static inline void
eval(const char *fragment, char kind, Eval *v, unsigned n)
{
	char text[6000];
	sim *s = sim_open();
	uint64_t p = sim_alloc(s, sizeof *v * n, "operands");
	const void *args[] = { &p, &n };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	sim_module *m;
	int rc;

	snprintf(text, sizeof text,
	         ".version 8.4\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p, .param .u32 n)\n{\n"
	         ".reg .pred %%p<8>;\n.reg .b16 %%ha, %%hb, %%hc, %%ho, %%v<8>;\n"
	         ".reg .b32 %%ra, %%rb, %%rc, %%ro, %%i<5>, %%t<8>;\n"
	         ".reg .b64 %%da, %%db, %%dc, %%do, %%q<4>, %%u<8>;\n"
	         "mov.u32 %%i1, %%tid.x;\nmov.u32 %%i2, %%ctaid.x;\nmad.lo.u32 %%i1, %%i2, 256, %%i1;\n"
	         "ld.param.u32 %%i3, [n];\nsetp.ge.u32 %%p0, %%i1, %%i3;\n@%%p0 ret;\n"
	         "ld.param.u64 %%q1, [p];\nmul.wide.u32 %%q2, %%i1, 32;\nadd.s64 %%q1, %%q1, %%q2;\n"
	         "ld.global.v2.u64 {%%da, %%db}, [%%q1];\nld.global.u64 %%dc, [%%q1+16];\n"
	         "cvt.u32.u64 %%ra, %%da;\ncvt.u32.u64 %%rb, %%db;\ncvt.u32.u64 %%rc, %%dc;\n"
	         "cvt.u16.u64 %%ha, %%da;\ncvt.u16.u64 %%hb, %%db;\ncvt.u16.u64 %%hc, %%dc;\n"
	         "%s\n%sst.global.u64 [%%q1+24], %%do;\nret;\n}\n", fragment,
	         kind == 'r' ? "cvt.u64.u32 %do, %ro;\n" : kind == 'h' ? "cvt.u64.u16 %do, %ho;\n" : "");
	m = must_load(s, text);
	sim_write(s, p, v, sizeof *v * n);
	l.block[0] = 256;
	l.grid[0] = (n + 255) / 256;
	l.args = args;
	l.threads = 1;
	rc = sim_run(s, m, "k", &l, &r);
	if (rc != SIM_OK) {
		fprintf(stderr, "%s: %s\n", fragment, sim_result_text(r));
		print_faults(r);
	}
	ck_assert_int_eq(rc, SIM_OK);
	sim_result_free(r);
	sim_read(s, p, v, sizeof *v * n);
	sim_close(s);
}
#endif
