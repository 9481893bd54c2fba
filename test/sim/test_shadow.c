/* test_shadow.c - races in shared memory: random kernels of loads, stores and atomics of 2 to 16
 * bytes by some warps, with and without barriers, against a list of who touched which byte between
 * them.  Each runs as a block of its own and, where the simulator remembers accesses in another
 * way, in a cluster. */
#include <stdbool.h>
#include <stdint.h>
#include "simtest.h"

enum { WARPS = 4, THREADS = 32 * WARPS, BYTES = 512, STEPS = 12 };

static uint32_t seed;
static uint32_t
rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

typedef enum Kind { LOAD, STORE, ATOM, BARRIER } Kind;
typedef struct Step {
	Kind kind;
	uint32_t warps; /* which take part */
	uint32_t lanes; /* lanes below this */
	uint32_t bytes, mul, add;
} Step;

static uint32_t
place(const Step *s, uint32_t t)
{
	return (t * s->mul + s->add) * s->bytes % BYTES;
}

static Step
random_step(void)
{
	static const uint32_t sizes[] = { 4, 4, 4, 2, 8, 16 };
	Step s = { 0 };

	s.kind = rnd(3) == 0 ? BARRIER : rnd(2) ? LOAD
	                         : rnd(6)       ? STORE
	                                        : ATOM;
	s.warps = rnd(3) ? 1u << rnd(WARPS) : rnd(1u << WARPS);
	s.lanes = rnd(3) ? 32 : 1 + rnd(32);
	s.bytes = s.kind == ATOM ? 4 : sizes[rnd(6)];
	s.mul = rnd(4) ? 1 : rnd(4);
	s.add = rnd(3) ? 0 : rnd(64);
	return s;
}

/* ---- what has to be said ---------------------------------------------------------------------- */

typedef struct Seen { int reader[2], writer[2], atomic[2]; } Seen;      /* up to two threads each, + 1 */

static void
note(int *two, int t)
{
	if (!two[0] || two[0] == t)
		two[0] = t;
	else
		two[1] = t; /* any other: the last one */
}

static bool
other(const int *two, int t, bool warp)
{
	for (int i = 0; i < 2; i++)
		if (two[i] && (warp ? (two[i] - 1) / 32 != (t - 1) / 32 : two[i] != t))
			return true;
	return false;
}

/* Of another thread there is one that conflicts: kept as two bits, for a certain race (other warp) and for a
 * possible one. */
static unsigned
conflict(const Seen *s, Kind k, int t)
{
	unsigned r = 0;

	for (int warp = 0; warp < 2; warp++) {
		bool read = k != LOAD && other(s->reader, t, warp);
		bool strong = k != ATOM && other(s->atomic, t, warp);
		if (other(s->writer, t, warp) || read || strong)
			r |= 1u << warp;
	}
	return r;
}

static unsigned
expected(const Step *step, int n)
{
	Seen seen[BYTES];
	unsigned r = 0;

	memset(seen, 0, sizeof seen);
	for (int i = 0; i < n; i++) {
		const Step *s = &step[i];
		if (s->kind == BARRIER) {
			memset(seen, 0, sizeof seen);
			continue;
		}
		for (int t = 0; t < THREADS; t++) {
			if (!(s->warps >> t / 32 & 1) || (uint32_t)t % 32 >= s->lanes)
				continue;
			for (uint32_t b = 0; b < s->bytes; b++) {
				Seen *x = &seen[place(s, (uint32_t)t) + b];
				r |= conflict(x, s->kind, t + 1);
				note(s->kind == LOAD ? x->reader : s->kind == STORE ? x->writer
				                                                    : x->atomic,
				     t + 1);
			}
		}
	}
	return r;
}

/* ---- the kernel ------------------------------------------------------------------------------- */

static char *
emit_access(char *p, const Step *s, int i)
{
	static const char *const type[] = { [2] = "b16", [4] = "b32", [8] = "v2.b32", [16] = "v4.b32" };
	static const char *const regs[] = { [2] = "%h", [4] = "%v0", [8] = "{%v0,%v1}",
		                            [16] = "{%v0,%v1,%v2,%v3}" };
	int values = i * 1000;

	p += sprintf(p, "and.b32 %%r1, %%w, %u;\nsetp.ne.u32 %%p, %%r1, 0;\n", s->warps);
	p += sprintf(p, "setp.lt.and.u32 %%p, %%l, %u, %%p;\n", s->lanes);
	p += sprintf(p, "mad.lo.u32 %%r2, %%t, %u, %u;\nmul.lo.u32 %%r2, %%r2, %u;\nand.b32 %%r2, %%r2, %d;\n"
	                "add.u32 %%r2, %%r2, %%sm;\n",
	             s->mul, s->add, s->bytes, BYTES - 1);
	for (int k = 0; k < 4; k++)
		p += sprintf(p, "mad.lo.u32 %%v%d, %%t, 4, %d;\n", k, values + k);
	p += sprintf(p, "cvt.u16.u32 %%h, %%v0;\n");
	if (s->kind == ATOM)
		return p + sprintf(p, "@%%p atom.shared.add.u32 %%v1, [%%r2], %%v0;\n");
	if (s->kind == LOAD)
		return p + sprintf(p, "@%%p ld.shared.%s %s, [%%r2];\n", type[s->bytes], regs[s->bytes]);
	return p + sprintf(p, "@%%p st.shared.%s [%%r2], %s;\n", type[s->bytes], regs[s->bytes]);
}

static void
emit(char *p, const Step *step, int n, bool cluster)
{
	p += sprintf(p, ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n%s{\n.reg .pred %%p;\n"
	                ".reg .b16 %%h;\n.reg .b32 %%r<4>, %%v<4>, %%t, %%w, %%l, %%sm;\n"
	                ".shared .align 16 .b8 pad[64];\n.shared .align 16 .b8 sm[%d];\n"
	                "mov.u32 %%t, %%tid.x;\nmov.u32 %%l, %%laneid;\nshr.u32 %%w, %%t, 5;\n"
	                "shl.b32 %%w, 1, %%w;\nmov.u32 %%sm, sm;\nmul.lo.u32 %%r1, %%t, 4;\n"
	                "add.u32 %%r1, %%r1, %%sm;\nst.shared.b32 [%%r1], 0;\nbar.sync 0;\n",
	             cluster ? ".reqnctapercluster 2, 1, 1\n" : "", BYTES);
	for (int i = 0; i < n; i++)
		if (step[i].kind == BARRIER)
			p += sprintf(p, "bar.sync 0;\n");
		else
			p = emit_access(p, &step[i], i + 1);
	sprintf(p, "%sret;\n}\n", cluster ? "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" : "");
}

static int
run(const char *text, unsigned blocks)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	sim_fault f;
	int rc;

	l.grid[0] = blocks;
	l.cluster[0] = blocks;
	l.block[0] = THREADS;
	l.threads = 1;
	rc = sim_run(s, m, "k", &l, &r);
	ck_assert_msg(rc == SIM_OK || rc == SIM_E_FAULT, "%s", sim_result_text(r));
	for (size_t i = 0; sim_fault_at(r, i, &f); i++)
		ck_assert_msg(f.kind == SIM_FAULT_RACE_SHARED, "line %u: %s", f.at.line, f.text);
	sim_result_free(r);
	sim_close(s);
	return rc;
}

START_TEST(random_kernels)
{
	static char text[40000];
	int races = 0, clean = 0;

	for (uint32_t i = 0; i < 3000; i++) {
		Step step[STEPS];
		unsigned want;
		int n;
		seed = 1000003 * i + 17;
		n = 2 + (int)rnd(STEPS - 1);
		for (int k = 0; k < n; k++)
			step[k] = random_step();
		want = expected(step, n);
		for (int cluster = 0; cluster < 2; cluster++) {
			int rc;
			if (cluster && i % 4)
				continue;
			emit(text, step, n, cluster);
			rc = run(text, cluster ? 2 : 1);
			ck_assert_msg(!(want & 2) || rc == SIM_E_FAULT, "missed a race, seed %u:\n%s", i,
			              text);
			ck_assert_msg(want || rc == SIM_OK, "a race that is none, seed %u:\n%s", i, text);
		}
		races += (int)(want >> 1);
		clean += !want;
	}
	ck_assert_int_gt(races, 500);
	ck_assert_int_gt(clean, 500);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sim shadow");
	TCase *t = tcase_create("shadow");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, random_kernels);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
