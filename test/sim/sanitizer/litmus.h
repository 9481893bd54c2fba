/* litmus.h - litmus tests in PTX: threads of one block, of one cluster, or of different clusters, and their
 * runs. Location i is at litmus_at[i] from p; the value read by thread t in its k-th operation is stored in
 * read[MAX_OPS * t + k]. */
#ifndef SIM_LITMUS_H
#define SIM_LITMUS_H
#include <stdarg.h>
#include <stdbool.h>
#include "test/sim/simtest.h"

enum { MAX_THREADS = 4, MAX_OPS = 2, TEXT = 1 << 14 };
enum { BLOCK, CLUSTER, GRID, NPLACES };         /* threads: warps of a block, blocks of a cluster, blocks */
enum { CTA, CLUSTERWIDE, GPU, SYS, NSCOPES };
static const char *const scope_names[] = { "cta", "cluster", "gpu", "sys" };

/* 'W'rite of value or 'R'ead at a location; 0: none. */
typedef struct Op { char what; int at, value; } Op;
typedef struct Shape { const char *name; int threads; Op op[MAX_THREADS][MAX_OPS]; } Shape;

/* ---- texts ---- */

typedef struct Text { char s[TEXT]; size_t n; } Text;

__attribute__((format(printf, 2, 3))) static inline void
put(Text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->n += (size_t)vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
	va_end(ap);
	ck_assert_uint_lt(t->n, sizeof t->s);
}

/* Which thread one is, %r0, is told by the warp or by the block. */
static inline void
begin(Text *t, int place, int threads)
{
	t->n = 0;
	put(t, ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
	    ".reg .pred %%p<6>; .reg .b32 %%r<8>; .reg .b64 %%d<2>;\n"
	    "ld.param.u64 %%d0, [p]; mov.u32 %%r1, %%tid.x; mov.u32 %%r0, %%ctaid.x;\n");
	if (place == BLOCK)
		put(t, "shr.u32 %%r0, %%r1, 5; and.b32 %%r1, %%r1, 31;\n");
	put(t, "setp.ne.u32 %%p0, %%r1, 0; @%%p0 ret;\n");
	for (int i = 0; i < threads; i++)
		put(t, "setp.eq.u32 %%p1, %%r0, %d; @%%p1 bra T%d;\n", i, i);
}

/* ---- runs ---- */

enum { LOCATIONS = 3 };
static const unsigned litmus_at[LOCATIONS] = { 0, 128, 384 };

typedef struct Ran {
	bool faulty;
	sim_fault_kind kind;
	unsigned memory[LOCATIONS], read[MAX_THREADS * MAX_OPS];
} Ran;

typedef struct Device { sim *s; sim_module *m; uint64_t p; } Device;

static inline Device
device(const Text *t)
{
	Device d = { sim_open(), NULL, 0 };

	d.m = must_load(d.s, t->s);
	d.p = sim_alloc(d.s, 512, "p");
	return d;
}

static inline Ran
run(Device *d, int place, unsigned threads, uint64_t seed)
{
	sim_launch a = SIM_LAUNCH_INIT;
	const void *args[] = { &d->p };
	sim_result *r;
	sim_fault f;
	Ran ran;

	sim_fill(d->s, d->p, 0, 512);
	a.args = args;
	a.block[0] = place == BLOCK ? 32 * threads : 32;
	a.grid[0] = place == BLOCK ? 1 : threads;
	a.cluster[0] = place == CLUSTER ? threads : 0;
	a.seed = seed;
	sim_run(d->s, d->m, "k", &a, &r);
	ck_assert_str_eq(sim_result_text(r), "");
	ran.faulty = sim_fault_at(r, 0, &f);
	ran.kind = f.kind;
	for (int i = 0; i < LOCATIONS; i++)
		sim_read(d->s, d->p + litmus_at[i], &ran.memory[i], 4);
	sim_read(d->s, d->p + 256, ran.read, sizeof ran.read);
	sim_result_free(r);
	return ran;
}
#endif
