/* warpop.h - runs one instruction in one warp: words of all lanes in, words of all lanes out.
 *
 * The text sees the words of a lane as %i0, %i1, ... and leaves its results in %o0, %o1, ... */
#ifndef SIMTEST_WARPOP_H
#define SIMTEST_WARPOP_H
#include <stdint.h>
#include "test/sim/simtest.h"

enum { OP_IN = 48, OP_OUT = 16 };
typedef struct WarpOp {
	uint32_t in[32][OP_IN], out[32][OP_OUT];
	int checks;             /* 0: wanted; faults of the last run are counted in `faults` */
	sim_fault_kind kind;    /* of the first fault */
	unsigned faults;
} WarpOp;

static inline void
warp_op(WarpOp *w, const char *target, const char *text, int nin, int nout)
{
	static char ptx[16384];
	char *p = ptx;
	sim *s = sim_open();
	uint64_t a = sim_alloc(s, sizeof w->in, "in"), b = sim_alloc(s, sizeof w->out, "out");
	const void *args[] = { &a, &b };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_fault f;
	sim_result *r;
	sim_module *m;
	int rc;

	p += sprintf(p, ".version 9.0\n.target %s\n.address_size 64\n"
	                ".entry k(.param .u64 a, .param .u64 b)\n{\n"
	             ".reg .b32 %%i<%d>, %%o<%d>, %%l; .reg .b64 %%p<4>, %%d<32>; .reg .pred %%q<2>;\n"
	             "mov.u32 %%l, %%laneid;\nld.param.u64 %%p0, [a];\nld.param.u64 %%p1, [b];\n"
	             "mad.wide.u32 %%p0, %%l, %d, %%p0;\nmad.wide.u32 %%p1, %%l, %d, %%p1;\n",
	             target, OP_IN, OP_OUT, OP_IN * 4, OP_OUT * 4);
	for (int i = 0; i < nin; i++)
		p += sprintf(p, "ld.global.b32 %%i%d, [%%p0+%d];\n", i, 4 * i);
	p += sprintf(p, "%s\n", text);
	for (int i = 0; i < nout; i++)
		p += sprintf(p, "st.global.b32 [%%p1+%d], %%o%d;\n", 4 * i, i);
	sprintf(p, "ret;\n}\n");
	m = must_load(s, ptx);
	sim_write(s, a, w->in, sizeof w->in);
	l.block[0] = 32;
	l.threads = 1;
	l.args = args;
	rc = sim_run(s, m, "k", &l, &r);
	w->faults = 0;
	for (size_t i = 0; sim_fault_at(r, i, &f); i++)
		if (w->faults++ == 0)
			w->kind = f.kind;
	ck_assert_msg(rc == SIM_OK || rc == SIM_E_FAULT, "%s: %s", text, sim_result_text(r));
	sim_read(s, b, w->out, sizeof w->out);
	sim_result_free(r);
	sim_close(s);
}

/* "{%i4,%i5,%i6}" */
static inline const char *
list_of(char *buf, char name, int from, int n)
{
	char *p = buf + sprintf(buf, "{");

	for (int i = 0; i < n; i++)
		p += sprintf(p, "%s%%%c%d", i ? "," : "", name, from + i);
	strcpy(p, "}");
	return buf;
}
#endif
