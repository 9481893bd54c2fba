/* test_order.c - causality order through observation: what is done after a strong read follows the strong
 * write that it has observed, also if that released nothing (PTX ISA, "Causality order"). */
#include "test/check.h"
#include "test/sim/simtest.h"

#define KERNEL \
	".version 7.8\n.target sm_90\n.address_size 64\n" \
	".visible .entry k(.param .u64 p) {\n" \
	".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<2>; .shared .align 4 .b32 s[4];\n" \
	"ld.param.u64 %d0, [p]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x;\n" \
	"setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r1, 0;\n"
/* Block 0 waits for the others and resets the counter; `signal` is theirs, `wait` and `reset` block 0's. */
#define LOCK(signal, wait, reset) \
	KERNEL "@%p0 bra SIGNAL;\n" \
	"WAIT: " wait " %r2, [%d0]; setp.ne.u32 %p2, %r2, 3; @%p2 bra WAIT;\n" \
	reset "bra DONE;\nSIGNAL: @%p1 bra DONE;\n" signal "DONE: ret;\n}\n"
#define RED "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%d0], 1;\n"

static sim_result *
run(const char *text, unsigned blocks, unsigned threads)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	uint64_t p = sim_alloc(s, 64, "p");
	sim_launch a = SIM_LAUNCH_INIT;
	const void *args[] = { &p };
	sim_result *r;

	sim_fill(s, p, 0, 64);
	a.args = args;
	a.grid[0] = blocks;
	a.block[0] = threads;
	a.threads = 1;
	sim_run(s, m, "k", &a, &r);
	print_faults(r);
	sim_close(s);
	return r;
}

static void
right(const char *text, unsigned blocks, unsigned threads)
{
	sim_result *r = run(text, blocks, threads);
	sim_fault f;

	ck_assert_str_eq(sim_result_text(r), "");
	ck_assert(!sim_fault_at(r, 0, &f));
	sim_result_free(r);
}

static void
race(const char *text, unsigned blocks, unsigned threads)
{
	sim_result *r = run(text, blocks, threads);
	sim_fault f;

	ck_assert(sim_fault_at(r, 0, &f));
	ck_assert_int_eq(f.kind, SIM_FAULT_RACE_GLOBAL);
	sim_result_free(r);
}

TEST(lock_reset)
{
	right(LOCK(RED, "ld.acquire.gpu.global.u32", "st.global.u32 [%d0], 0;\n"), 4, 1);
	right(LOCK(RED, "ld.relaxed.gpu.global.u32", "st.global.u32 [%d0], 0;\n"), 4, 1);
	right(LOCK(RED, "ld.acquire.gpu.global.u32", "st.global.u32 [%d0], 0;\n"), 4, 32);
	right(LOCK(RED, "ld.acquire.gpu.global.u32",
	           "bar.sync 0; @!%p1 st.global.u32 [%d0], 0;\n"), 4, 64);
}

TEST(lock_reset_by_another_warp)
{
	right(LOCK(RED, "ld.acquire.gpu.global.u32",
	           "bar.sync 0; setp.eq.u32 %p3, %r1, 33; @%p3 st.global.u32 [%d0], 0;\n"), 4, 64);
}

TEST(flag_reset)
{
	right(LOCK("mov.u32 %r3, 3; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%d0], %r3;\n",
	           "ld.acquire.gpu.global.u32", "st.global.u32 [%d0], 0;\n"), 2, 1);
	right(LOCK("mov.u32 %r3, 3; st.relaxed.gpu.global.u32 [%d0], %r3;\n", "ld.relaxed.gpu.global.u32",
	           "st.global.u32 [%d0], 0;\n"), 2, 1);
}

/* Block 2 has seen the flag and resets it; block 0 may still be reading. */
TEST(reset_beside_other_readers)
{
	race(KERNEL "setp.eq.u32 %p3, %r0, 1; @!%p3 bra WAIT;\n"
	     "@!%p1 red.relaxed.gpu.global.add.u32 [%d0], 3;\n"
	     "WAIT: ld.acquire.gpu.global.u32 %r2, [%d0]; setp.ne.u32 %p2, %r2, 3; @%p2 bra WAIT;\n"
	     "setp.eq.u32 %p3, %r0, 2; @!%p3 bra DONE; @!%p1 st.global.u32 [%d0], 3;\n"
	     "DONE: ret;\n}\n", 3, 32);
}

/* Nobody reads the flag: nothing orders the two. */
TEST(reset_unseen)
{
	race(KERNEL "@%p1 bra DONE; @%p0 bra SIGNAL;\n"
	     "st.global.u32 [%d0], 7; bra DONE;\nSIGNAL: " RED "DONE: ret;\n}\n", 2, 32);
	race(KERNEL "@%p1 bra DONE; @%p0 bra SIGNAL;\n"
	     "ld.global.u32 %r2, [%d0]; st.global.u32 [%d0], 7; bra DONE;\nSIGNAL: " RED "DONE: ret;\n}\n",
	     2, 32);
}

/* What was done before the relaxed store is not ordered by observing it. */
TEST(observed_only)
{
	race(LOCK("st.global.u32 [%d0+4], 1; red.relaxed.gpu.global.add.u32 [%d0], 3;\n",
	          "ld.acquire.gpu.global.u32", "ld.global.u32 %r4, [%d0+4];\n"), 2, 32);
}
