/* test_shadow.c - tests race detection in shared and global memory: random kernels of loads, stores and
 * atomics of 2 to 16 bytes by some warps, with and without barriers, against a list of the accesses to each
 * byte between barriers. Each runs on shared memory of a block, on that of a block in a cluster, for which
 * the simulator records accesses differently, and on global memory. */
#include <stdbool.h>
#include <stdint.h>
#include "test/check.h"
#include "test/sim/simtest.h"

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

typedef struct Seen {
	int reader[2], writer[2], atomic[2];    /* up to two threads each, + 1 */
	uint32_t observers[WARPS]; /* lanes with an atomic before: what they do may follow those of others */
} Seen;

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
		bool strong = k != ATOM && other(s->atomic, t, warp) &&
		              !(warp && s->observers[(t - 1) / 32] >> (t - 1) % 32 & 1);
		if (other(s->writer, t, warp) || read || strong)
			r |= 1u << warp;
	}
	return r;
}

static bool
takes_part(const Step *s, int t)
{
	return s->warps >> t / 32 & 1 && (uint32_t)t % 32 < s->lanes;
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
			if (!takes_part(s, t))
				continue;
			for (uint32_t b = 0; b < s->bytes; b++) {
				Seen *x = &seen[place(s, (uint32_t)t) + b];
				r |= conflict(x, s->kind, t + 1);
				if (s->kind == ATOM)
					x->observers[t / 32] |= 1u << t % 32;
				note(s->kind == LOAD ? x->reader : s->kind == STORE ? x->writer
				                                                    : x->atomic,
				     t + 1);
			}
		}
	}
	return r;
}

/* ---- the kernel ------------------------------------------------------------------------------- */

typedef enum Where { BLOCK, CLUSTER, GLOBAL, NWHERE } Where;

static char *
emit_access(char *p, const Step *s, int i, Where where)
{
	const char *space = where == GLOBAL ? "global" : "shared";
	static const char *const type[] = { [2] = "b16", [4] = "b32", [8] = "v2.b32", [16] = "v4.b32" };
	static const char *const vec4 = "{%v0,%v1,%v2,%v3}";
	const char *regs = s->bytes == 2 ? "%h" : s->bytes == 4 ? "%v0"
	                                  : s->bytes == 8       ? "{%v0,%v1}"
	                                                  : vec4;
	int values = i * 1000;

	p += sprintf(p, "and.b32 %%r1, %%w, %u;\nsetp.ne.u32 %%p, %%r1, 0;\n", s->warps);
	p += sprintf(p, "setp.lt.and.u32 %%p, %%l, %u, %%p;\n", s->lanes);
	p += sprintf(p, "mad.lo.u32 %%r2, %%t, %u, %u;\nmul.lo.u32 %%r2, %%r2, %u;\nand.b32 %%r2, %%r2, %d;\n"
	                "cvt.u64.u32 %%d, %%r2;\nadd.u64 %%d, %%d, %%base;\n",
	             s->mul, s->add, s->bytes, BYTES - 1);
	for (int k = 0; k < 4; k++)
		p += sprintf(p, "mad.lo.u32 %%v%d, %%t, 4, %d;\n", k, values + k);
	p += sprintf(p, "cvt.u16.u32 %%h, %%v0;\n");
	if (s->kind == ATOM)
		return p + sprintf(p, "@%%p atom.%s.add.u32 %%v1, [%%d], %%v0;\n", space);
	if (s->kind == LOAD)
		return p + sprintf(p, "@%%p ld.%s.%s %s, [%%d];\n", space, type[s->bytes], regs);
	return p + sprintf(p, "@%%p st.%s.%s [%%d], %s;\n", space, type[s->bytes], regs);
}

static void
emit(char *p, const Step *step, int n, Where where)
{
	p += sprintf(p, ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 a)\n%s{\n",
	             where == CLUSTER ? ".reqnctapercluster 2, 1, 1\n" : "");
	p += sprintf(p, ".reg .pred %%p;\n.reg .b16 %%h;\n.reg .b64 %%d, %%base;\n"
	                ".reg .b32 %%r<4>, %%v<4>, %%t, %%w, %%l;\n.shared .align 16 .b8 pad[64];\n"
	                ".shared .align 16 .b8 sm[%d];\nmov.u32 %%t, %%tid.x;\nmov.u32 %%l, %%laneid;\n"
	                "shr.u32 %%w, %%t, 5;\nshl.b32 %%w, 1, %%w;\nmov.u64 %%base, sm;\n"
	                "mul.wide.u32 %%d, %%t, 4;\nadd.u64 %%d, %%d, %%base;\nst.shared.b32 [%%d], 0;\n"
	                "bar.sync 0;\n",
	             BYTES);
	if (where == GLOBAL)
		p += sprintf(p, "ld.param.u64 %%base, [a];\n");
	for (int i = 0; i < n; i++)
		if (step[i].kind == BARRIER)
			p += sprintf(p, "bar.sync 0;\n");
		else
			p = emit_access(p, &step[i], i + 1, where);
	sprintf(p, "%sret;\n}\n", where == CLUSTER ? "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" : "");
}

static int
run(const char *text, Where where, unsigned blocks, unsigned threads)
{
	sim_fault_kind kind = where == GLOBAL ? SIM_FAULT_RACE_GLOBAL : SIM_FAULT_RACE_SHARED;
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	uint64_t a = sim_alloc(s, BYTES, "a");
	const void *args[] = { &a };
	sim_fault f;
	int rc;

	l.grid[0] = blocks;
	l.cluster[0] = where == CLUSTER ? blocks : 1;
	l.args = args;
	sim_fill(s, a, 0, BYTES);
	l.block[0] = threads;
	l.threads = 1;
	rc = sim_run(s, m, "k", &l, &r);
	ck_assert_msg(rc == SIM_OK || rc == SIM_E_FAULT, "%s", sim_result_text(r));
	for (size_t i = 0; sim_fault_at(r, i, &f); i++)
		ck_assert_msg(f.kind == kind, "line %u: %s", f.at.line, f.text);
	sim_result_free(r);
	sim_close(s);
	return rc;
}

TEST(random_kernels)
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
		for (Where where = BLOCK; where < NWHERE; where++) {
			int rc;
			if (where == CLUSTER && i % 4)
				continue;
			emit(text, step, n, where);
			rc = run(text, where, where == CLUSTER ? 2 : 1, THREADS);
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

/* Threads 0 and 32 of each block read - nanosleep lets the other warp go on -, then one of them writes. */
TEST(readers)
{
	static const char *const text[] = {
		"ld.global.b32 %v0, [%d];", "ld.global.v4.b32 {%v0,%v1,%v2,%v3}, [%d];"
	};
	char kernel[1500];

	for (int i = 0; i < 40; i++) {
		int writer = i / 4, wide = i / 2 % 2, size = i % 2;
		char *p = kernel;

		p += sprintf(p, HEADER ".entry k(.param .u64 a)\n{\n.reg .pred %%p;\n"
		                       ".reg .b32 %%v<4>, %%t, %%b;\n.reg .b64 %%d;\n"
		                       "ld.param.u64 %%d, [a];\nmov.u32 %%t, %%tid.x;\n");
		p += sprintf(p, "mov.u32 %%b, %%ctaid.x;\nand.b32 %%v1, %%t, 31;\n"
		                "setp.ne.u32 %%p, %%v1, 0;\n@%%p ret;\n%s\nnanosleep.u32 9;\n",
		             text[size]);
		sprintf(p, "shl.b32 %%b, %%b, 1;\nshr.u32 %%t, %%t, 5;\nadd.u32 %%b, %%b, %%t;\n"
		           "setp.eq.u32 %%p, %%b, %d;\n@%%p st.global.b%d [%%d], 7;\nret;\n}\n",
		        writer, wide ? 32 : 8);
		ck_assert_msg(run(kernel, GLOBAL, writer < 2 ? 1 : 5, 64) == SIM_E_FAULT,
		              "writer %d, size %d, wide %d", writer, size, wide);
	}
}

TEST_PROGRAM(.timeout = 120);
