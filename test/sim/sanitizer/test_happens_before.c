/* test_happens_before.c - tests causality order through observation: accesses after a strong read follow the
 * strong write that it observed, even if that write released nothing (PTX ISA, "Causality order"). */
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
	uint64_t p = sim_alloc(s, 4096, "p");
	sim_launch a = SIM_LAUNCH_INIT;
	const void *args[] = { &p };
	sim_result *r;

	sim_fill(s, p, 0, 4096);
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
	right(LOCK(RED, "ld.acquire.gpu.global.u32", "bar.warp.sync 0xffffffff; st.global.u32 [%d0], 0;\n"),
	      4, 32);
	/* a lane may still wait when another resets */
	race(LOCK(RED, "ld.acquire.gpu.global.u32", "st.global.u32 [%d0], 0;\n"), 4, 32);
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

/* ---- who knows of whom: blocks of one thread each ----
 *
 * Counters F and G; flags S and T, stored and read without a fence between, only bring the blocks into an
 * order of time that no synchronisation gives them. */
#define BLOCKS4(a, b, c, d) \
	KERNEL "setp.eq.u32 %p3, %r0, 1; @%p3 bra B1; setp.eq.u32 %p3, %r0, 2; @%p3 bra B2;\n" \
	"setp.eq.u32 %p3, %r0, 3; @%p3 bra B3;\n" a "ret;\nB1: " b "ret;\nB2: " c "ret;\nB3: " d "ret;\n}\n"
#define AWAIT(name, ld, at, n) \
	name ": " ld " %r2, [%d0+" at "]; setp.lt.u32 %p2, %r2, " n "; @%p2 bra " name ";\n"
#define ACQUIRE(name, at, n) AWAIT(name, "ld.acquire.gpu.global.u32", at, n)
#define LATER(name, at) AWAIT(name, "ld.relaxed.gpu.global.u32", at, "1")
#define THEN(at) "st.relaxed.gpu.global.u32 [%d0+" at "], 1;\n"
#define FENCE "fence.acq_rel.gpu;\n"
#define ADD(at) "red.relaxed.gpu.global.add.u32 [%d0+" at "], 1;\n"
#define RELEASE(at) "red.release.gpu.global.add.u32 [%d0+" at "], 1;\n"
#define PUT(v) "st.global.u32 [%d0+32], " v ";\n"
#define GET "ld.global.u32 %r4, [%d0+32];\n"
#define F "0"
#define G "4"
#define S "8"
#define T "12"

TEST(message)
{
	right(BLOCKS4(PUT("7") RELEASE(F), ACQUIRE("W", F, "1") GET, "", ""), 2, 1);
	right(BLOCKS4(PUT("7") FENCE ADD(F), LATER("W", F) FENCE GET, "", ""), 2, 1);
	race(BLOCKS4(PUT("7") ADD(F), ACQUIRE("W", F, "1") GET, "", ""), 2, 1);
	race(BLOCKS4(PUT("7") RELEASE(F), LATER("W", F) GET, "", ""), 2, 1);
	race(BLOCKS4(FENCE PUT("7") ADD(F), LATER("W", F) FENCE GET, "", ""), 2, 1);
}

/* 0 tells 1, and 1 tells 2. */
TEST(transitive)
{
	right(BLOCKS4(PUT("7") RELEASE(F), ACQUIRE("W", F, "1") RELEASE(G), ACQUIRE("V", G, "1") GET, ""),
	      3, 1);
	right(BLOCKS4(PUT("7") FENCE ADD(F), LATER("W", F) FENCE ADD(G), LATER("V", G) FENCE GET, ""), 3, 1);
	race(BLOCKS4(PUT("7") RELEASE(F), LATER("W", F) RELEASE(G), ACQUIRE("V", G, "1") GET, ""), 3, 1);
	race(BLOCKS4(PUT("7") ADD(F), ACQUIRE("W", F, "1") RELEASE(G), ACQUIRE("V", G, "1") GET, ""), 3, 1);
	/* 1 has told 2 before it heard of 0, though later than 0 wrote */
	race(BLOCKS4(PUT("7") RELEASE(F) THEN(S), LATER("L", S) RELEASE(G) ACQUIRE("W", F, "1"),
	             ACQUIRE("V", G, "1") GET, ""),
	     3, 1);
}

/* 0 and 1 have written when 2 hears of 1. */
TEST(two_writers)
{
	race(BLOCKS4(PUT("7") RELEASE(F) THEN(S), LATER("L", S) "st.global.u32 [%d0+36], 1;\n" RELEASE(G),
	             ACQUIRE("V", G, "1") GET, ""),
	     3, 1);
	right(BLOCKS4(PUT("7") RELEASE(F) THEN(S), LATER("L", S) "st.global.u32 [%d0+36], 1;\n" RELEASE(G),
	              ACQUIRE("W", F, "1") ACQUIRE("V", G, "1") GET, ""),
	      3, 1);
	race(BLOCKS4(PUT("7") RELEASE(F) THEN(S), LATER("L", S) PUT("8") RELEASE(G), "", ""), 2, 1);
}

/* A place is used again: 1 has read it, of which 2, who writes, has to hear; what 0 says is not that. */
TEST(used_again)
{
	race(BLOCKS4(PUT("7") RELEASE(F) LATER("L", S) RELEASE(G), ACQUIRE("W", F, "1") GET THEN(S),
	             ACQUIRE("V", G, "1") PUT("8"), ""),
	     3, 1);
	right(BLOCKS4(PUT("7") RELEASE(F) ACQUIRE("L", S, "1") RELEASE(G), ACQUIRE("W", F,
	              "1") GET RELEASE(S),
	              ACQUIRE("V", G, "1") PUT("8"), ""),
	      3, 1);
	/* two readers, of which the writer counts one */
	race(BLOCKS4(GET RELEASE(F) THEN(S), GET THEN(T), LATER("L", S) LATER("M", T) ACQUIRE("V", F,
	              "1") PUT("8"), ""),
	     3, 1);
	right(BLOCKS4(GET RELEASE(F), GET RELEASE(F), ACQUIRE("V", F, "2") PUT("8"), ""), 3, 1);
	right(BLOCKS4(GET, GET, GET, GET), 4, 1);
}

/* What an update leaves is read with what was released there before; a plain store of others hides it. */
TEST(observation)
{
	right(BLOCKS4(PUT("7") RELEASE(F), LATER("W", F) ADD(F), ACQUIRE("V", F, "2") GET, ""), 3, 1);
	race(BLOCKS4(PUT("7") RELEASE(F), LATER("W", F) "st.relaxed.gpu.global.u32 [%d0], 2;\n",
	             ACQUIRE("V", F, "2") GET, ""),
	     3, 1);
	right(BLOCKS4(PUT("7") "st.release.gpu.global.u32 [%d0], 1; st.relaxed.gpu.global.u32 [%d0], 2;\n",
	              ACQUIRE("V", F, "2") GET, "", ""),
	      2, 1);
	/* what 0 has released there itself it hands on by each later store, also when 1 stored in between */
	right(BLOCKS4(PUT("7") "st.release.gpu.global.u32 [%d0], 1;\n" LATER("L", S)
	              "st.relaxed.gpu.global.u32 [%d0], 3;\n",
	              LATER("W", F) "st.relaxed.gpu.global.u32 [%d0], 2;\n" THEN(S),
	              ACQUIRE("V", F, "3") GET, ""),
	      3, 1);
	/* a comparison that fails writes nothing, and so releases nothing */
	race(BLOCKS4("st.relaxed.gpu.global.u32 [%d0], 5;\n" THEN(S),
	             PUT("7") LATER("L", S) "atom.release.gpu.global.cas.b32 %r4, [%d0], 9, 6;\n" THEN(T),
	             LATER("M", T) ACQUIRE("V", F, "5") GET, ""),
	     3, 1);
	right(BLOCKS4("st.relaxed.gpu.global.u32 [%d0], 5;\n" THEN(S),
	              PUT("7") LATER("L", S) "atom.release.gpu.global.cas.b32 %r4, [%d0], 5, 6;\n",
	              ACQUIRE("V", F, "6") GET, ""),
	      3, 1);
}

/* Updates beside plain accesses of what they update. */
TEST(mixed)
{
#define COUNT(at) "red.relaxed.gpu.global.add.u32 [%d0+" at "], 1;\n"
#define TAKE "atom.acq_rel.gpu.global.add.u32 %r4, [%d0], 1;\n"
	race(BLOCKS4(COUNT("32") THEN(S), LATER("L", S) GET, "", ""), 2, 1);
	right(BLOCKS4(COUNT("32") RELEASE(F), ACQUIRE("V", F, "1") GET, "", ""), 2, 1);
	right(BLOCKS4(COUNT("32"), COUNT("32"), "ld.relaxed.gpu.global.u32 %r4, [%d0+32];\n", ""), 3, 1);
	/* who adds last knows of what the other left plainly if that one has released */
	race(BLOCKS4(PUT("7") ADD(F) THEN(S), LATER("L", S) TAKE GET, "", ""), 2, 1);
	right(BLOCKS4(PUT("7") RELEASE(F) THEN(S), LATER("L", S) TAKE GET, "", ""), 2, 1);
}

/* More blocks than a node has branches, each told by the one before: the last knows of all. */
TEST(chain)
{
#define NEXT \
	KERNEL "mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d1, %d0;\n" \
	"W: ld.acquire.gpu.global.u32 %r2, [%d0]; setp.ne.u32 %p2, %r2, %r0; @%p2 bra W;\n" \
	"st.global.u32 [%d1+1024], %r0; add.u32 %r2, %r0, 1;\n"
#define ALL \
	"setp.ne.u32 %p2, %r0, 299; @%p2 ret; mov.u32 %r3, 0;\n" \
	"A: mul.wide.u32 %d1, %r3, 4; add.s64 %d1, %d1, %d0; ld.global.u32 %r4, [%d1+1024];\n" \
	"add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 300; @%p2 bra A; ret;\n}\n"
	right(NEXT "st.release.gpu.global.u32 [%d0], %r2;\n" ALL, 300, 1);
	/* block 150 forgets to release */
	race(NEXT "setp.eq.u32 %p2, %r0, 150; @%p2 st.relaxed.gpu.global.u32 [%d0], %r2;\n"
	     "@!%p2 st.release.gpu.global.u32 [%d0], %r2;\n" ALL, 300, 1);
}
