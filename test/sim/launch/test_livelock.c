/* test_livelock.c - tests that blocks, clusters and grids that only poll are reported, by value: barriers and
 * stores in the loop change nothing. Their correct twins run for longer than the simulator's observation
 * window, and change something: a counter, a random number, a waiting time, a value that another block waits
 * for. */
#include "test/check.h"
#include "test/sim/cases.h"

#define FLAG "ld.acquire.gpu.global.u32 %r10, [%d1+256];"
#define AGAIN "setp.eq.u32 %p1, %r10, 0;\n@%p1 bra L;\n"
/* Thread 0 looks and tells the block by shared memory, as compilers write a poll of a whole block. */
#define TOLD \
	"L:\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra W;\n" FLAG " //here\nst.shared.u32 [%r3], %r10;\n" \
	"W:\nbar.sync 0;\nld.shared.u32 %r10, [%r3];\nbar.sync 0;\n"
/* .. by an update, and what it tells is cleared first */
#define CLEARED \
	"L:\nst.shared.u32 [%r3+64], 0;\nsetp.ne.u32 %p2, %r1, 0;\nbar.sync 0;\n@%p2 bra W;\n" \
	"atom.relaxed.gpu.global.add.u32 %r10, [%d1+256], 0; //here\nadd.u32 %r10, %r10, 5;\n" \
	"st.shared.u32 [%r3+64], %r10;\n" \
	"W:\nbar.sync 0;\nld.shared.u32 %r10, [%r3+64];\nsub.u32 %r10, %r10, 5;\nbar.sync 0;\n"
/* The last block sets the flag after 3 million instructions. */
#define LATE \
	"mov.u32 %r20, %nctaid.x;\nsub.u32 %r20, %r20, 1;\nsetp.ne.u32 %p5, %r30, %r20;\n@%p5 bra P;\n" \
	"mov.u32 %r21, 1500000;\nC:\nsub.u32 %r21, %r21, 1;\nsetp.ne.u32 %p6, %r21, 0;\n@%p6 bra C;\n" \
	"st.release.gpu.global.u32 [%d1+256], 1;\nP:\n"
/* so many turns at most, with %r15 counting */
#define COUNTED(n) "add.u32 %r15, %r15, 1;\nsetp.ge.u32 %p3, %r15, " n ";\n@%p3 bra E;\n"
#define COUNT "mov.u32 %r15, 0;\n"

// clang-format off
static const Case cases[] = {
	{ "a block", SIM_FAULT_DEADLOCK, K80(TOLD AGAIN), K80(COUNT TOLD COUNTED("30000") AGAIN "E:\n"), 128, 1, 0 },
	{ "a warp", SIM_FAULT_DEADLOCK, K80(TOLD AGAIN), K80(COUNT TOLD COUNTED("120000") AGAIN "E:\n"), 32, 1, 0 },
	{ "what is told is cleared", SIM_FAULT_DEADLOCK, K80(CLEARED AGAIN),
	  K80(COUNT CLEARED COUNTED("30000") AGAIN "E:\n"), 128, 1, 0 },
	{ "several blocks", SIM_FAULT_DEADLOCK, K80(CLEARED AGAIN), K80(LATE CLEARED AGAIN), 64, 3, 0 },
	{ "more blocks than are begun at first", SIM_FAULT_DEADLOCK, K80(TOLD AGAIN), K80(LATE TOLD AGAIN), 32, 300, 0 },
	{ "a cluster", SIM_FAULT_DEADLOCK,
	  KC(MEET "L:\nmov.u32 %r10, 0;\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra W;\n" FLAG " //here\n"
	     "W:\nst.shared::cluster.u32 [%r8], %r10;\n" MEET "ld.shared.u32 %r10, [%r4];\n" MEET AGAIN),
	  KC(MEET COUNT "L:\nmov.u32 %r10, 0;\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra W;\n" FLAG "\n"
	     "W:\nst.shared::cluster.u32 [%r8], %r10;\n" MEET "ld.shared.u32 %r10, [%r4];\n" MEET
	     COUNTED("20000") AGAIN "E:\n"),
	  64, 2, 2 },
	/* a lock that is swapped for itself; the twin's holder gives it back */
	{ "a lock", SIM_FAULT_DEADLOCK,
	  K80("setp.ne.u32 %p2, %r1, 0;\nL:\n@%p2 bra W;\natom.acquire.gpu.global.exch.b32 %r10, [%d1+256], 1; //here\n"
	      "st.shared.u32 [%r3], %r10;\nW:\nbar.sync 0;\nld.shared.u32 %r10, [%r3];\nbar.sync 0;\n"
	      "setp.ne.u32 %p1, %r10, 0;\n@%p1 bra L;\n"),
	  K80("setp.ne.u32 %p2, %r1, 0;\nL:\n@%p2 bra W;\natom.acquire.gpu.global.exch.b32 %r10, [%d1+256], 1;\n"
	      "st.shared.u32 [%r3], %r10;\nW:\nbar.sync 0;\nld.shared.u32 %r10, [%r3];\nbar.sync 0;\n"
	      "setp.ne.u32 %p1, %r10, 0;\n@%p1 bra L;\n@!%p2 st.release.gpu.global.u32 [%d1+256], 0;\n"),
	  64, 4, 0 },
	/* two flags in turn, each told by a barrier's reduction; the twin's waiting time doubles from
	 * 1 to 2^20 */
	{ "two flags", SIM_FAULT_DEADLOCK,
	  K80("mov.u32 %r16, 0;\nL:\nxor.b32 %r16, %r16, 4;\nmul.wide.u32 %d9, %r16, 1;\nadd.s64 %d9, %d9, %d1;\n"
	      "ld.relaxed.gpu.global.u32 %r10, [%d9+256]; //here\nsetp.ne.u32 %p4, %r10, 0;\n"
	      "barrier.sync.aligned 0;\nbarrier.red.or.pred.aligned %p5, 0, %p4;\n@!%p5 bra L;\n"),
	  K80("mov.u32 %r16, 1;\nL:\nmov.u32 %r17, %r16;\nB:\nsub.u32 %r17, %r17, 1;\nsetp.ne.u32 %p6, %r17, 0;\n"
	      "@%p6 bra B;\nshl.b32 %r16, %r16, 1;\n" FLAG "\nsetp.eq.u32 %p1, %r10, 0;\n"
	      "setp.lt.u32 %p3, %r16, 1048576;\nand.pred %p1, %p1, %p3;\n@%p1 bra L;\n"),
	  64, 1, 0 },
	/* the twin draws until a number is small */
	{ "a draw that is not made", SIM_FAULT_DEADLOCK,
	  K80("mov.u32 %r16, 1;\n" CLEARED "mul.lo.u32 %r17, %r16, 1664525;\nsetp.gt.u32 %p1, %r17, 999;\n@%p1 bra L;\n"),
	  K80("mov.u32 %r16, 1;\n" CLEARED "mad.lo.u32 %r16, %r16, 1664525, 1013904223;\nshr.u32 %r17, %r16, 17;\n"
	      "setp.gt.u32 %p1, %r17, 0;\n@%p1 bra L;\n"),
	  64, 1, 0 },
};
// clang-format on

TEST_SAMPLED(told, sizeof cases / sizeof *cases, 2)
{
	const Case *c = &cases[_i];
	unsigned line = line_of(c->bad, "//here"), out[256];
	sim_result *r;
	sim_fault f;

	for (unsigned host = 1; host <= 2; host++) {
		ck_assert_int_eq(run_on(c->bad, c->threads, c->blocks, c->cluster, host, out, 256, &r),
		                 SIM_E_FAULT);
		print_faults(r);
		ck_assert(!sim_fault_at(r, 1, &f) && sim_fault_at(r, 0, &f));
		ck_assert_int_eq(f.kind, SIM_FAULT_DEADLOCK);
		ck_assert_uint_eq(f.at.line, line);
		ck_assert(*sim_result_hang(r));
		sim_result_free(r);
	}
}

TEST_SAMPLED(clean, sizeof cases / sizeof *cases, 3)
{
	check_clean(&cases[_i]);
}

TEST_EACH(assembles, sizeof cases / sizeof *cases)
{
	check_assembles(&cases[_i]);
}

TEST_PROGRAM(.timeout = 60);
