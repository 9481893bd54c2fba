/* evalmany.h - runs many PTX fragments on many operands in one kernel, and compares them with functions in C.
 *
 * A fragment sees %da/%ra/%ha (64, 32, 16 bits of operand a), likewise b and c, and gives %do, %ro or %ho; it
 * may use %p1..%p7, %t0..%t7 (b32), %u0..%u7 (b64), %v0..%v7 (b16), and place[%tid.x] in shared memory. */
#ifndef EVALMANY_H
#define EVALMANY_H
#include <stdint.h>
#include <stdlib.h>
#ifndef MANY_TARGET
#define MANY_TARGET ".version 8.4\n.target sm_90"
#define MANY_ARCH "sm_90"
#endif
#include "test/sim/bits.h"
#include "test/sim/cases.h"
#include "test/sim/random.h"

/* Random operands.  Tests set the state, so that rounds may run in any order. */
static uint64_t state;
static inline uint64_t
rnd(void)
{
	return xorshift(&state);
}

/* Rounds of 8192 operands that make a million, as many millions as MILLIONS says, by QUICK=1 a quarter. */
static inline long
rounds(void)
{
	const char *env = getenv("MILLIONS");

	return env ? 128 * atol(env) : getenv("QUICK") ? 32 : 128;
}

typedef struct In { uint64_t a, b, c; } In;
typedef uint64_t model(const In *v);
typedef struct Op {
	const char *ptx;
	char kind;              /* width of the result: h, r, d */
	model *want;
} Op;
enum { MANY_OPS = 24 };

static inline uint64_t
width_mask(char kind)
{
	return kind == 'h' ? 0xffff : kind == 'r' ? 0xffffffff : UINT64_MAX;
}

typedef struct Many {
	const Op *op;
	unsigned nop, n;
	sim *s;
	sim_module *m;
	uint64_t p, q;          /* operands and results on the device */
	uint64_t *out;          /* out[k * n + i]: op k of operand i */
} Many;

/* The text of a kernel k(p, q, n) that does all ops; free it. */
static inline char *
many_text(const Op *op, unsigned nop)
{
	size_t room = 2000 + 600 * (size_t)nop, at;
	char *text = malloc(room);

	at = (size_t)snprintf(text, room,
	                      MANY_TARGET "\n.address_size 64\n"
	         ".entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n"
	         "{\n.reg .pred %%p<8>;\n.reg .b16 %%ha, %%hb, %%hc, %%ho, %%v<8>;\n"
	         ".reg .b32 %%ra, %%rb, %%rc, %%ro, %%i<5>, %%t<8>;\n"
	         ".reg .b64 %%da, %%db, %%dc, %%do, %%q<6>, %%u<8>;\n"
	         ".shared .align 8 .b64 place[256];\nmov.u32 %%i1, %%tid.x;\nmov.u32 %%i2, %%ctaid.x;\n"
	         "mad.lo.u32 %%i1, %%i2, 256, %%i1;\n"
	         "ld.param.u32 %%i3, [n];\nsetp.ge.u32 %%p0, %%i1, %%i3;\n@%%p0 ret;\n"
	         "ld.param.u64 %%q1, [p];\nmad.wide.u32 %%q1, %%i1, 24, %%q1;\n"
	         "ld.param.u64 %%q2, [q];\nmad.wide.u32 %%q2, %%i1, 8, %%q2;\nmul.wide.u32 %%q3, %%i3, 8;\n"
	         "ld.global.u64 %%da, [%%q1];\nld.global.u64 %%db, [%%q1+8];\n"
	         "ld.global.u64 %%dc, [%%q1+16];\n"
	         "cvt.u32.u64 %%ra, %%da;\ncvt.u32.u64 %%rb, %%db;\ncvt.u32.u64 %%rc, %%dc;\n"
	         "cvt.u16.u64 %%ha, %%da;\ncvt.u16.u64 %%hb, %%db;\ncvt.u16.u64 %%hc, %%dc;\n");
	for (unsigned k = 0; k < nop; k++) {
		const char *widen = op[k].kind == 'r'   ? "cvt.u64.u32 %do, %ro;\n"
		                    : op[k].kind == 'h' ? "cvt.u64.u16 %do, %ho;\n"
		                                        : "";
		at += (size_t)snprintf(text + at, room - at,
			"%s\n%sst.global.u64 [%%q2], %%do;\nadd.u64 %%q2, %%q2, %%q3;\n",
		                       op[k].ptx,
		                       widen);
	}
	snprintf(text + at, room - at, "ret;\n}\n");
	return text;
}

/* ptxas takes them all, where there is a ptxas. */
static inline void
many_assemble(const Op *op, unsigned nop)
{
	char *text = many_text(op, nop);

	if (have_ptxas())
		must_assemble(text, MANY_ARCH);
	free(text);
}

/* Beside the test `exact` of a table `ops`: all of it through ptxas in one text. */
#define MANY_PROGRAM                                                                               \
	TEST(assembles)                                                                            \
	{                                                                                          \
		many_assemble(ops, NOPS);                                                          \
	}                                                                                          \
	TEST_PROGRAM(.timeout = 600)

static inline Many
many_open(const Op *op, unsigned nop, unsigned n)
{
	Many e = { op, nop, n, sim_open(), NULL, 0, 0, malloc(sizeof(uint64_t) * n * nop) };
	char *text = many_text(op, nop);

	e.p = sim_alloc(e.s, sizeof(In) * n, "operands");
	e.q = sim_alloc(e.s, sizeof(uint64_t) * n * nop, "results");
	e.m = must_load(e.s, text);
	free(text);
	return e;
}

static inline void
many_close(Many *e)
{
	sim_close(e->s);
	free(e->out);
}

/* Run all ops for n operands. */
static inline void
many_run(Many *e, const In *v)
{
	const void *args[] = { &e->p, &e->q, &e->n };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	int rc;

	sim_write(e->s, e->p, v, sizeof *v * e->n);
	l.block[0] = 256;
	l.grid[0] = (e->n + 255) / 256;
	l.args = args;
	l.threads = 1;
	l.checks = l.counts = 0;
	rc = sim_run(e->s, e->m, "k", &l, &r);
	if (rc != SIM_OK)
		print_faults(r);
	ck_assert_int_eq(rc, SIM_OK);
	sim_result_free(r);
	sim_read(e->s, e->q, e->out, sizeof *e->out * e->n * e->nop);
}

static inline void
many_differ(const Op *op, const In *v, uint64_t got, uint64_t want)
{
	ck_abort_msg("%s\na %llx b %llx c %llx: %llx, not %llx", op->ptx, (unsigned long long)v->a,
	             (unsigned long long)v->b, (unsigned long long)v->c, (unsigned long long)got,
	             (unsigned long long)want);
}

/* The same, compared with the models; stops at the first that differs. */
static inline void
many_compare(Many *e, const In *v)
{
	many_run(e, v);
	for (unsigned k = 0; k < e->nop; k++)
		for (unsigned i = 0; i < e->n; i++) {
			uint64_t got = e->out[(size_t)k * e->n + i];
			uint64_t want = e->op[k].want(&v[i]) & width_mask(e->op[k].kind);
			if (got != want)
				many_differ(&e->op[k], &v[i], got, want);
		}
}
#endif
