/* test_deadlock.c - tests that kernels that never end are reported, with what every warp waits for; those
 * that only take long are not. */
#include "test/check.h"
#include "test/sim/cases.h"

#define FLAG(at) "ld.acquire.gpu.global.u32 %r10, [%d1+" at "];\n"
#define CELL "add.s64 %d9, %d1, 256;\n"

// clang-format off
static const Case cases[] = {
	{ "a flag nobody sets", SIM_FAULT_DEADLOCK,
	  K80("L:\n" FLAG("256") "setp.eq.u32 %p1, %r10, 0;\n@%p1 bra L; //here\n"),
	  K80("mov.u32 %r11, 1;\nst.release.gpu.global.u32 [%d1+256], %r11;\n"
	      "L:\n" FLAG("256") "setp.eq.u32 %p1, %r10, 0;\n@%p1 bra L;\n"),
	  1, 1, 0 },
	{ "each block waits for the other's flag", SIM_FAULT_DEADLOCK,
	  K80("setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nmul.wide.u32 %d9, %r30, 4;\nadd.s64 %d9, %d9, %d1;\n"
	      "xor.b32 %r12, %r30, 1;\nmul.wide.u32 %d10, %r12, 4;\nadd.s64 %d10, %d10, %d1;\n"
	      "L:\nld.acquire.gpu.global.u32 %r10, [%d9+256];\nsetp.eq.u32 %p1, %r10, 0;\n"
	      "@%p1 bra L; //here\n"
	      "mov.u32 %r11, 1;\nst.release.gpu.global.u32 [%d10+256], %r11;\n"),
	  K80("setp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nmul.wide.u32 %d9, %r30, 4;\nadd.s64 %d9, %d9, %d1;\n"
	      "xor.b32 %r12, %r30, 1;\nmul.wide.u32 %d10, %r12, 4;\nadd.s64 %d10, %d10, %d1;\n"
	      "mov.u32 %r11, 1;\nst.release.gpu.global.u32 [%d10+256], %r11;\n"
	      "L:\nld.acquire.gpu.global.u32 %r10, [%d9+256];\nsetp.eq.u32 %p1, %r10, 0;\n"
	      "@%p1 bra L;\n"),
	  32, 2, 0 },
	{ "a lock taken twice", SIM_FAULT_DEADLOCK,
	  K80("L:\natom.global.cas.b32 %r10, [%d1+256], 0, 1;\nsetp.ne.u32 %p1, %r10, 0;\n@%p1 bra L;\n"
	      "M:\natom.global.cas.b32 %r10, [%d1+256], 0, 1;\nsetp.ne.u32 %p1, %r10, 0;\n"
	      "@%p1 bra M; //here\n"),
	  K80("L:\natom.global.cas.b32 %r10, [%d1+256], 0, 1;\nsetp.ne.u32 %p1, %r10, 0;\n@%p1 bra L;\n"
	      "membar.gl;\natom.global.exch.b32 %r10, [%d1+256], 0;\n"
	      "M:\natom.global.cas.b32 %r10, [%d1+256], 0, 1;\nsetp.ne.u32 %p1, %r10, 0;\n"
	      "@%p1 bra M;\n"),
	  1, 1, 0 },
	{ "a loop that has no end", SIM_FAULT_DEADLOCK, K80("L:\nbra L; //here\n"),
	  K80("mov.u32 %r9, 3000000;\nL:\nsub.s32 %r9, %r9, 1;\nsetp.ne.u32 %p1, %r9, 0;\n"
	      "@%p1 bra L;\n"),
	  1, 1, 0 },
	{ "one warp at a barrier, one in a loop", SIM_FAULT_DEADLOCK,
	  K80("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra B;\nL:\n" FLAG("256") "setp.eq.u32 %p1, %r10, 0;\n"
	      "@%p1 bra L; //here\n"
	      "B:\nbar.sync 0;\n"),
	  K80("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra B;\nst.volatile.global.u32 [%d1+256], 7;\nL:\n"
	    FLAG("256")
	      "setp.eq.u32 %p1, %r10, 0;\n@%p1 bra L;\nB:\nbar.sync 0;\n"),
	  64, 1, 0 },
	{ "a flag and an mbarrier in one loop", SIM_FAULT_DEADLOCK,
	  K90("setp.ne.u32 %p2, %r1, 0;\n@!%p2 mbarrier.init.shared.b64 [mb], 1;\nbar.sync 0;\n"
	      "L:\nmbarrier.try_wait.parity.shared.b64 %p1, [mb], 0; //here\n@%p1 bra E;\n" FLAG("256")
	      "setp.eq.u32 %p1, %r10, 0;\n@%p1 bra L;\nE:\n"),
	  K90("setp.ne.u32 %p2, %r1, 0;\n@!%p2 mbarrier.init.shared.b64 [mb], 1;\nbar.sync 0;\n"
	      "@!%p2 st.volatile.global.u32 [%d1+256], 7;\n"
	      "L:\nmbarrier.try_wait.parity.shared.b64 %p1, [mb], 0;\n@%p1 bra E;\n" FLAG("256")
	      "setp.eq.u32 %p1, %r10, 0;\n@%p1 bra L;\nE:\n"),
	  32, 1, 0 },
	{ "a shared flag nobody sets, with waits that count", SIM_FAULT_DEADLOCK,
	  K80("st.shared.u32 [%r3], 0;\nL:\nld.volatile.shared.u32 %r10, [%r3];\n"
	      "setp.eq.u32 %p1, %r10, 0;\n"
	      "@%p1 bra L; //here\n"),
	  K80("st.shared.u32 [%r3], 0;\nmov.u32 %r11, 0;\nL:\nld.volatile.shared.u32 %r10, [%r3];\n"
	      "add.s32 %r11, %r11, 1;\nsetp.eq.u32 %p1, %r10, 0;\nsetp.lt.u32 %p2, %r11, 700000;\n"
	      "and.pred %p1, %p1, %p2;\n@%p1 bra L;\n"),
	  1, 1, 0 },
	{ "a clock that runs out", SIM_FAULT_DEADLOCK,
	  K80("L:\nmov.u32 %r9, 5;\nsetp.lt.u32 %p1, %r9, 6;\n@%p1 bra L; //here\n"),
	  K80("mov.u64 %d10, %clock64;\nL:\nmov.u64 %d11, %clock64;\nsub.s64 %d11, %d11, %d10;\n"
	      "setp.lt.u64 %p1, %d11, 3000000;\n@%p1 bra L;\n"),
	  1, 1, 0 },
	{ "a wait that counts its failures", SIM_FAULT_DEADLOCK,
	  K90("mbarrier.init.shared.b64 [mb], 1;\nL:\n"
	      "mbarrier.test_wait.parity.shared.b64 %p1, [mb], 0; //here\n"
	      "@!%p1 bra L;\n"),
	  K90("mbarrier.init.shared.b64 [mb], 1;\nmov.u32 %r9, 0;\nL:\n"
	      "mbarrier.test_wait.parity.shared.b64 %p1, [mb], 0;\nadd.s32 %r9, %r9, 1;\n"
	      "setp.lt.u32 %p2, %r9, 300;\n"
	      "and.pred %p2, %p2, !%p1;\n@%p2 bra L;\n"),
	  1, 1, 0 },
};
// clang-format on

TEST_EACH(planted, sizeof cases / sizeof *cases)
{
	const Case *c = &cases[_i];
	unsigned line = line_of(c->bad, "//here"), out[256];
	sim_result *r;
	sim_fault f;

	for (unsigned host = 1; host <= 2; host++) {
		ck_assert_int_eq(run_on(c->bad, c->threads, c->blocks, c->cluster, host, out, 256,
		                        &r),
		                 SIM_E_FAULT);
		print_faults(r);
		ck_assert(!sim_fault_at(r, 1, &f) && sim_fault_at(r, 0, &f));
		ck_assert_int_eq(f.kind, SIM_FAULT_DEADLOCK);
		/* a loop is reported at one of its instructions */
		ck_assert_msg(f.at.line < line + 4 && f.at.line + 4 > line, "%s: line %u, not %u",
		              c->name, f.at.line, line);
		ck_assert(*sim_result_hang(r));
		sim_result_free(r);
	}
}

TEST_EACH(clean, sizeof cases / sizeof *cases)
{
	check_clean(&cases[_i]);
	check_assembles(&cases[_i]);
}

/* Of several that wait, the headline names what cannot complete (//cause), not what waits for it. */
static const char *const causes[] = {
	/* warps 1 to 3 wait for warp 0, which waits for an arrival */
	K90("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 2;\nbar.sync 0;\n"
	    "@!%p1 mbarrier.arrive.shared.b64 _, [mb];\nsetp.ge.u32 %p2, %r1, 32;\n@%p2 bra B;\n"
	    "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [mb], 0; //cause\n@!%p3 bra W;\n"
	    "B:\nbar.sync 0;\n"),
	/* barrier 1 lacks warp 3, which has ended; the others come to barrier 0 */
	K80("setp.lt.u32 %p1, %r1, 64;\n@%p1 bra B;\nsetp.ge.u32 %p2, %r1, 96;\n@%p2 bra E;\n"
	    "bar.sync 1, 128; //cause\nB:\nbar.sync 0;\nE:\n"),
	/* in its second round, after warp 3 has left, barrier 1 lacks it, although warp 0 still lives */
	K80("shr.u32 %r9, %r1, 5;\nsetp.lt.u32 %p1, %r9, 2;\n@%p1 bra B;\nbar.sync 1, 64;\n"
	    "setp.eq.u32 %p2, %r9, 3;\n@%p2 bra E;\nbar.sync 1, 64; //cause\nB:\nbar.sync 0;\nE:\n"),
	/* a pipeline of one stage: the consumer does not give it back, the producer waits for that */
	K90("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 1;\n"
	    "@!%p1 mbarrier.init.shared.b64 [mb+8], 1;\nbar.sync 0;\nmov.u32 %r10, 0;\n"
	    "setp.ge.u32 %p2, %r1, 32;\n@%p2 bra C;\n"
	    "P:\n@!%p1 mbarrier.arrive.shared.b64 _, [mb];\n"
	    "PW:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [mb+8], %r10; //cause\n@!%p3 bra PW;\n"
	    "xor.b32 %r10, %r10, 1;\nbra P;\n"
	    "C:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [mb], %r10;\n@!%p3 bra C;\n"
	    "xor.b32 %r10, %r10, 1;\nbra C;\n"),
	/* the rest of the warp waits for lanes that wait for a flag */
	K80("setp.ge.u32 %p1, %r1, 16;\n@%p1 bra B;\nL:\n" FLAG("256") "setp.eq.u32 %p1, %r10, 0; //cause\n"
	    "@%p1 bra L;\nbar.warp.sync -1;\nbra E;\nB:\nbar.warp.sync -1;\nE:\n"),
};

TEST_EACH(headline, sizeof causes / sizeof *causes)
{
	static const unsigned threads[] = { 128, 128, 128, 64, 32 };
	unsigned out[256], line = line_of(causes[_i], "//cause");
	sim_result *r;
	sim_fault f;

	ck_assert_int_eq(run_on(causes[_i], threads[_i], 1, 1, 1, out, 256, &r), SIM_E_FAULT);
	print_faults(r);
	ck_assert(sim_fault_at(r, 0, &f) && !sim_fault_at(r, 1, &f));
	/* a loop that reads memory is reported at one of its instructions */
	ck_assert_uint_le(f.at.line, line + (_i == 4));
	ck_assert_uint_ge(f.at.line, line - (_i == 4));
	sim_result_free(r);
	if (have_ptxas())
		must_assemble(causes[_i], strstr(causes[_i], "sm_80") ? "sm_80" : "sm_90");
}

/* Every warp and every barrier is in the report. */
TEST(report)
{
	static const char text[] = KC("setp.ne.u32 %p1, %r1, 0;\n"
	  "@!%p1 mbarrier.init.shared.b64 [mb], 3;\nbar.sync 0;\n"
		"@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 48;\nshr.u32 %r9, %r1, 5;\n"
		"setp.eq.u32 %p2, %r9, 1;\n@%p2 bra B;\nsetp.eq.u32 %p2, %r9, 2;\n@%p2 bra C;\n"
		"setp.eq.u32 %p2, %r9, 3;\n@%p2 bra E;\nW:\n"
		"mbarrier.try_wait.parity.shared::cta.b64 %p3, [mb], 0; //wait\n@!%p3 bra W;\n"
		"B:\nbar.sync 5, 96; //bar\nC:\nbarrier.cluster.arrive;\n"
		  "barrier.cluster.wait; //cluster\nE:\n");
	static const char *const parts[] = {
		"block 0,0,0, rank 0 of 2 in its cluster", "block 1,0,0, rank 1 of 2", "warp 3 has exited\n",
		"barrier 5, first reached in line %u: 32 threads have arrived of 96@bar",
		"phase 0, 2 of 3 arrivals missing, tx-count 48",
		  "barrier.cluster: phase 0, 64 threads have arrived of 192",
		"lanes 0xffffffff, line %u, mbarrier.try_wait.parity.shared::cta.b64: wait for the mbarrier "
		"at@wait",
		"lanes 0xffffffff, line %u, bar.sync: wait in barrier 5@bar",
		"lanes 0xffffffff, line %u, barrier.cluster.wait: wait for the cluster@cluster",
	};
	unsigned out[256];
	sim_result *r;

	ck_assert_int_eq(run_on(text, 128, 2, 2, 1, out, 256, &r), SIM_E_FAULT);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char want[200], mark[20] = "//", form[160], *at;
		strcpy(form, parts[i]);
		at = strchr(form, '@');
		if (at) {
			*at = 0;
			strcat(mark, at + 1);
			at = strstr(form, "%u");
			*at = 0;
			snprintf(want, sizeof want, "%s%u%s", form, line_of(text, mark), at + 2);
		} else {
			strcpy(want, form);
		}
		ck_assert_msg(strstr(sim_result_hang(r), want) != NULL, "no \"%s\" in\n%s", want,
		              sim_result_hang(r));
	}
	sim_result_free(r);
	if (have_ptxas())
		must_assemble(text, "sm_90");
}

TEST_PROGRAM(.timeout = 60);
