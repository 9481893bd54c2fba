/* test_wgmma_faults.c - tests planted faults around wgmma and setmaxnreg, and a correct twin of each. */
#include "test/sim/ptxas.h"
#include "test/sim/simtest.h"
#include "test/check.h"

/* Shared memory and accumulators are set, fenced for the async proxy; two warpgroups if `threads` is 256. */
#define HEAD HEAD_WITH("")
#define HEAD_WITH(directive) ".version 8.4\n.target sm_90a\n.address_size 64\n" \
	".entry k(.param .u64 out)\n" directive "\n{\n" \
	".reg .b32 %a<4>, %r<16>;\n.reg .f32 %f<16>, %g<16>;\n.reg .b64 %d<4>, %o;\n.reg .pred %p<8>;\n" \
	".shared .align 1024 .b8 sm[8192];\nld.param.u64 %o, [out];\nmov.u32 %r0, %tid.x;\n" \
	"mad.wide.u32 %o, %r0, 64, %o;\nmov.u32 %r1, sm;\nshl.b32 %r2, %r0, 5;\nand.b32 %r2, %r2, 4095;\n" \
	"add.u32 %r1, %r1, %r2;\nmov.u32 %r3, 0;\nst.shared.v4.b32 [%r1], {%r3,%r3,%r3,%r3};\n" \
	"st.shared.v4.b32 [%r1+16], {%r3,%r3,%r3,%r3};\nst.shared.v4.b32 [%r1+4096], {%r3,%r3,%r3,%r3};\n" \
	"mov.b64 %d0, 0x0000001000080000;\nmov.b64 %d1, 0x0000001000080100;\nmov.u32 %r5, sm;\n" \
	"shr.u32 %r4, %r5, 4;\ncvt.u64.u32 %d2, %r4;\nadd.u64 %d0, %d0, %d2;\nadd.u64 %d1, %d1, %d2;\n" \
	"st.shared.v4.b32 [%r1+4112], {%r3,%r3,%r3,%r3};\nsetp.ne.u32 %p1, 1, 0;\n"
#define SHARED "fence.proxy.async;\nbar.sync 0;\n"
#define ZERO "mov.f32 %f0, 0f00000000;mov.f32 %f1, 0f00000000;mov.f32 %f2, 0f00000000;" \
	"mov.f32 %f3, 0f00000000;" \
	"mov.f32 %f4, 0f00000000;mov.f32 %f5, 0f00000000;mov.f32 %f6, 0f00000000;mov.f32 %f7, 0f00000000;\n" \
	"mov.u32 %a0, 0; mov.u32 %a1, 0; mov.u32 %a2, 0; mov.u32 %a3, 0;\n"
#define FENCE "wgmma.fence.sync.aligned;\n"
#define D8 "{%f0,%f1,%f2,%f3}"
#define MMA "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D8 ", %d0, %d1, %p1, 1, 1, 0, 0;\n"
#define MMAR "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " \
	D8 ", {%a0,%a1,%a2,%a3}, %d1, %p1, 1, 1, 0;\n"
#define MMA16 "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, %d0, " \
	"%d1, %p1, 1, 1, 0, 0;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WAIT(n) "wgmma.wait_group.sync.aligned " #n ";\n"
#define STORE "st.global.f32 [%o], %f0;\n"
#define END STORE "ret;\n}\n"

static const struct { const char *name, *text; unsigned threads; int kind; } t[] = {
	{ "plain", HEAD SHARED ZERO FENCE MMA COMMIT WAIT(0) END, 128, -1 },
	{ "two groups of the block", HEAD SHARED ZERO FENCE MMA MMA COMMIT WAIT(0) END, 256, -1 },
	{ "chain in flight", HEAD SHARED ZERO FENCE MMA COMMIT MMA COMMIT WAIT(1) WAIT(0) END, 128, -1 },
	{ "A in registers", HEAD SHARED ZERO FENCE MMAR COMMIT WAIT(0) "mov.u32 %a0, 1;\n" END, 128, -1 },

	/* registers before the wait */
	{ "accumulator stored before the wait", HEAD SHARED ZERO FENCE MMA COMMIT STORE WAIT(0) END, 128,
	  SIM_FAULT_WGMMA },
	{ "no wait", HEAD SHARED ZERO FENCE MMA COMMIT END, 128, SIM_FAULT_WGMMA },
	{ "no commit", HEAD SHARED ZERO FENCE MMA WAIT(0) END, 128, SIM_FAULT_WGMMA },
	{ "wait for too few", HEAD SHARED ZERO FENCE MMA COMMIT WAIT(1) END, 128, SIM_FAULT_WGMMA },
	{ "last of two groups not waited for", HEAD SHARED ZERO FENCE MMA COMMIT MMA COMMIT WAIT(1) END, 128,
	  SIM_FAULT_WGMMA },
	{ "accumulator written before the wait",
	  HEAD SHARED ZERO FENCE MMA COMMIT "mov.f32 %f3, 0f3f800000;\n"
	  WAIT(0) END, 128, SIM_FAULT_WGMMA },
	{ "accumulator computed with", HEAD SHARED ZERO FENCE MMA COMMIT "add.f32 %g0, %f2, %f2;\n"
	  WAIT(0) END,
	  128, SIM_FAULT_WGMMA },
	{ "a copy of an accumulator used", HEAD SHARED ZERO FENCE MMA COMMIT "mov.f32 %g0, %f0;\n"
	  "st.global.f32 [%o+4], %g0;\n" WAIT(0) END, 128, SIM_FAULT_WGMMA },
	{ "a copy of an accumulator, used after the wait",
	  HEAD SHARED ZERO FENCE MMA COMMIT "mov.f32 %g0, %f0;\n"
	  WAIT(0) "st.global.f32 [%o+4], %g0;\n" END, 128, -1 },
	{ "A changed before the wait", HEAD SHARED ZERO FENCE MMAR COMMIT "mov.u32 %a2, 1;\n" WAIT(0) END,
	  128,
	  SIM_FAULT_WGMMA },
	{ "A changed for the next", HEAD SHARED ZERO FENCE MMAR COMMIT WAIT(0) "mov.u32 %a2, 1;\n" FENCE MMAR
	  COMMIT WAIT(0) END, 128, -1 },
	{ "other registers are free", HEAD SHARED ZERO FENCE MMA COMMIT "mov.f32 %f5, 0f3f800000;\n"
	  WAIT(0) END,
	  128, -1 },

	/* fences */
	{ "no fence at all", HEAD SHARED ZERO MMA COMMIT WAIT(0) END, 128, SIM_FAULT_WGMMA },
	{ "fence before the writes", HEAD SHARED FENCE ZERO MMA COMMIT WAIT(0) END, 128, SIM_FAULT_WGMMA },
	{ "A written after the fence", HEAD SHARED ZERO FENCE "mov.u32 %a1, 2;\n" MMAR COMMIT WAIT(0) END,
	  128,
	  SIM_FAULT_WGMMA },
	{ "accumulator changed between two",
	  HEAD SHARED ZERO FENCE MMA COMMIT WAIT(0) "add.f32 %f1, %f1, %f1;\n"
	  MMA COMMIT WAIT(0) END, 128, SIM_FAULT_WGMMA },
	{ "accumulator changed between two, fenced", HEAD SHARED ZERO FENCE MMA COMMIT WAIT(0)
	  "add.f32 %f1, %f1, %f1;\n" FENCE MMA COMMIT WAIT(0) END, 128, -1 },
	{ "another shape without a fence", HEAD SHARED ZERO FENCE MMA MMA16 COMMIT WAIT(0) END, 128,
	  SIM_FAULT_WGMMA },
	{ "another shape with a fence", HEAD SHARED ZERO FENCE MMA FENCE MMA16 COMMIT WAIT(0) END, 128, -1 },

	/* shared memory */
	{ "operand overwritten before the wait", HEAD SHARED ZERO FENCE MMA COMMIT
	  "st.shared.v4.b32 [%r1], {%r0,%r0,%r0,%r0};\n" WAIT(0) END, 128, SIM_FAULT_ASYNC_WRITE },
	{ "operand overwritten after it", HEAD SHARED ZERO FENCE MMA COMMIT WAIT(0) "bar.sync 0;\n"
	  "st.shared.v4.b32 [%r1], {%r0,%r0,%r0,%r0};\n" END, 128, -1 },
	{ "by another warpgroup", HEAD SHARED ZERO "setp.ge.u32 %p2, %r0, 128;\n@%p2 bra W;\n"
	  FENCE MMA COMMIT
	  "bar.arrive 1, 256;\n" WAIT(0) "bra E;\nW: bar.sync 1, 256;\nst.shared.b32 [%r5+64], %r3;\nE:\n"
	  END, 256, SIM_FAULT_RACE_SHARED },
	{ "by another warpgroup, in time", HEAD SHARED ZERO "setp.ge.u32 %p2, %r0, 128;\n@%p2 bra W;\n"
	  FENCE MMA
	  COMMIT WAIT(0) "bar.arrive 1, 256;\n" "bra E;\nW: bar.sync 1, 256;\nsetp.eq.u32 %p3, %r0, 128;\n"
	  "@%p3 st.shared.b32 [%r5+64], %r0;\nE:\n" END, 256, -1 },
	{ "a copy lands on it",
	  HEAD SHARED ZERO FENCE MMA COMMIT "cp.async.ca.shared.global [%r5+16], [%o], 16;\n"
	  "cp.async.wait_all;\n" WAIT(0) END, 128, SIM_FAULT_ASYNC_WRITE },
	{ "memory beside it", HEAD SHARED ZERO FENCE MMA COMMIT "st.shared.b32 [%r5+6144], %r3;\n"
	  WAIT(0) END, 128,
	  -1 },
	{ "the warps of a group meet at the fence",
	  HEAD "fence.proxy.async;\n" ZERO FENCE MMA COMMIT WAIT(0) END, 128, -1 },
	{ "no barrier between groups", HEAD "fence.proxy.async;\n" ZERO FENCE MMA COMMIT WAIT(0) END, 256,
	  SIM_FAULT_RACE_SHARED },
	{ "written after the fence",
	  HEAD SHARED ZERO FENCE "st.shared.b32 [%r1], %r3;\nfence.proxy.async;\n" MMA COMMIT WAIT(0) END,
	  128, SIM_FAULT_RACE_SHARED },
	{ "read by a thread after the fence",
	  HEAD "fence.proxy.async;\n" ZERO FENCE MMA COMMIT WAIT(0) "xor.b32 %r2, %r2, 1024;\n"
	  "add.u32 %r2, %r2, %r5;\nld.shared.b32 %r3, [%r2];\nst.global.b32 [%o+4], %r3;\n" END, 128,
	  SIM_FAULT_RACE_SHARED },
	{ "no proxy fence", HEAD "bar.sync 0;\n" ZERO FENCE MMA COMMIT WAIT(0) END, 128, SIM_FAULT_PROXY },
	{ "proxy fence after the barrier only of the reader", HEAD "bar.sync 0;\nfence.proxy.async;\n"
	  ZERO FENCE MMA
	  COMMIT WAIT(0) END, 128, -1 },
	{ "written again without a proxy fence", HEAD SHARED ZERO FENCE MMA COMMIT WAIT(0) "bar.sync 0;\n"
	  "st.shared.b32 [%r1], %r3;\nbar.sync 0;\n" FENCE MMA COMMIT WAIT(0) END, 128, SIM_FAULT_PROXY },
	{ "written again with one", HEAD SHARED ZERO FENCE MMA COMMIT WAIT(0) "bar.sync 0;\n"
	  "st.shared.b32 [%r1], %r3;\n" SHARED FENCE MMA COMMIT WAIT(0) END, 128, -1 },
	{ "a fence of global memory only", HEAD "fence.proxy.async.global;\nbar.sync 0;\n"
	  ZERO FENCE MMA COMMIT
	  WAIT(0) END, 128, SIM_FAULT_PROXY },
	{ "descriptor beyond shared memory", HEAD SHARED ZERO "mov.b64 %d1, 0x0000001000083f00;\n"
	  FENCE MMA COMMIT
	  WAIT(0) END, 128, SIM_FAULT_BOUNDS },
	{ "lanes with different descriptors", HEAD SHARED ZERO "cvt.u64.u32 %d3, %r0;\nand.b64 %d3, %d3, 1;\n"
	  "add.u64 %d1, %d1, %d3;\n" FENCE MMA COMMIT WAIT(0) END, 128, SIM_FAULT_ALIGNED },
	{ "data nobody wrote", HEAD SHARED ZERO ".shared .align 128 .b8 un[1024];\n"
	  "mov.u32 %r6, un;\nshr.u32 %r6, %r6, 4;\ncvt.u64.u32 %d2, %r6;\nmov.b64 %d1, 0x0000001000080000;\n"
	  "or.b64 %d1, %d1, %d2;\n" FENCE MMA COMMIT WAIT(0) END, 128, SIM_FAULT_UNINIT_SHARED },

	/* the whole warpgroup */
	{ "three of four warps", HEAD SHARED ZERO "setp.ge.u32 %p2, %r0, 96;\n@%p2 bra E;\n" FENCE MMA COMMIT
	  WAIT(0) "E:\n" END, 128, SIM_FAULT_DEADLOCK },
	{ "three of four warps, no wait", HEAD SHARED ZERO "setp.ge.u32 %p2, %r0, 96;\n@%p2 bra E;\n"
	  FENCE MMA
	  "E:\nret;\n}\n", 128, SIM_FAULT_ALIGNED },
	{ "warps in different lines", HEAD SHARED ZERO "setp.ge.u32 %p2, %r0, 64;\n" FENCE "@%p2 bra W;\n" MMA
	  COMMIT "bra E;\nW:\n" MMA COMMIT "E:\n" WAIT(0) END, 128, SIM_FAULT_ALIGNED },
	{ "a warpgroup of two warps", HEAD SHARED ZERO FENCE MMA COMMIT END, 64, SIM_FAULT_ALIGNED },
	{ "half a warp", HEAD SHARED ZERO FENCE "and.b32 %r7, %r0, 16;\nsetp.ne.u32 %p2, %r7, 0;\n"
	                                        "@%p2 bra E;\n" MMA
	  COMMIT WAIT(0) "E:\n" END, 128, SIM_FAULT_ALIGNED },
	{ "one warpgroup of two", HEAD SHARED ZERO "setp.ge.u32 %p2, %r0, 128;\n@%p2 bra E;\n"
	  FENCE MMA COMMIT
	  WAIT(0) "E:\n" END, 256, -1 },

	/* registers of a thread: 256 threads have 256 each, 512 have 128 */
	{ "from one group to the other", HEAD "setp.ge.u32 %p2, %r0, 128;\n@%p2 bra W;\n"
	  "setmaxnreg.dec.sync.aligned.u32 40;\nbra E;\nW: setmaxnreg.inc.sync.aligned.u32 216;\nE: ret;\n"
	  "}\n", 512,
	  SIM_FAULT_DEADLOCK },
	{ "three give, one takes", HEAD "setp.ge.u32 %p2, %r0, 384;\n@%p2 bra W;\n"
	  "setmaxnreg.dec.sync.aligned.u32 96;\nbra E;\nW: setmaxnreg.inc.sync.aligned.u32 224;\nE: ret;\n"
	  "}\n", 512,
	  -1 },
	{ "nobody gives", HEAD "setp.ge.u32 %p2, %r0, 384;\n@%p2 bra W;\nbra E;\n"
	  "W: setmaxnreg.inc.sync.aligned.u32 136;\nE: ret;\n}\n", 512, SIM_FAULT_DEADLOCK },
	{ "fewer by inc", HEAD "setmaxnreg.inc.sync.aligned.u32 64;\nret;\n}\n", 512, SIM_FAULT_SETMAXNREG },
	{ "more by dec", HEAD "setmaxnreg.dec.sync.aligned.u32 240;\nret;\n}\n", 512, SIM_FAULT_SETMAXNREG },
	{ "less, then more by dec", HEAD "setmaxnreg.dec.sync.aligned.u32 40;\nbar.sync 0;\n"
	  "setmaxnreg.dec.sync.aligned.u32 48;\nret;\n}\n", 128, SIM_FAULT_SETMAXNREG },
	{ "half of a warpgroup", HEAD "setp.ge.u32 %p2, %r0, 64;\n@%p2 bra E;\n"
	                              "setmaxnreg.dec.sync.aligned.u32 40;\n"
	  "E: ret;\n}\n", 128, SIM_FAULT_ALIGNED },
	{ "what the launch left", HEAD_WITH(".maxnreg 168") "setp.ge.u32 %p2, %r0, 128;\n@%p2 bra W;\n"
	  "setmaxnreg.dec.sync.aligned.u32 40;\nbra E;\nW: setmaxnreg.inc.sync.aligned.u32 232;\nE: ret;\n"
	  "}\n", 256, -1 },
	{ "more than the launch had", HEAD_WITH(".maxnreg 168") "setp.ge.u32 %p2, %r0, 128;\n@%p2 bra W;\n"
	  "setmaxnreg.dec.sync.aligned.u32 136;\nbra E;\nW: setmaxnreg.inc.sync.aligned.u32 232;\nE: ret;\n"
	  "}\n", 256, SIM_FAULT_DEADLOCK },
	{ "down and up again", HEAD "setmaxnreg.dec.sync.aligned.u32 40;\nbar.sync 0;\n"
	  "setmaxnreg.inc.sync.aligned.u32 128;\nret;\n}\n", 512, -1 },
};

TEST_EACH(planted, sizeof t / sizeof *t)
{
	sim *s = sim_open();
	uint64_t out = sim_alloc(s, 512 * 64, "out");
	const void *args[] = { &out };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_module *m;
	sim_result *r;
	sim_fault f;
	int rc, hit = 0;

	sim_fill(s, out, 0, 512 * 64);
	m = must_load(s, t[_i].text);
	l.block[0] = t[_i].threads;
	l.threads = 1;
	l.args = args;
	rc = sim_run(s, m, "k", &l, &r);
	for (size_t i = 0; sim_fault_at(r, i, &f); i++)
		hit |= (int)f.kind == t[_i].kind;
	if ((t[_i].kind < 0) != (rc == SIM_OK) || (t[_i].kind >= 0 && !hit))
		print_faults(r);
	ck_assert_msg(t[_i].kind < 0 ? rc == SIM_OK : rc == SIM_E_FAULT && hit, "%s", t[_i].name);
	sim_result_free(r);
	sim_close(s);
}

/* ---- what a wgmma tells of waits for an mbarrier ----
 *
 * The first 128 or 256 threads wait for phase 0 of `full`, thread 0 arrives at `empty`, the thread behind
 * them waits for that and ends phase 1 of `full`.  PTX ISA, "mbarrier.try_wait": a wait by parity is for the
 * current phase or the one before, so who arrives must know that all are past the first wait.  A wgmma-group
 * that is complete was issued by all four warps. */
#define TURNS(consumers, body) HEAD ".shared .align 8 .b64 full, empty;\nsetp.eq.u32 %p4, %r0, 0;\n" \
	"@%p4 mbarrier.init.shared.b64 [full], 1;\n@%p4 mbarrier.init.shared.b64 [empty], 1;\n" SHARED ZERO \
	"setp.ge.u32 %p2, %r0, " #consumers ";\n@%p2 bra W;\n" body LOOK(2, full, 1) "bra E;\n" \
	"W: setp.eq.u32 %p3, %r0, " #consumers ";\n@!%p3 bra E;\nmbarrier.arrive.shared.b64 _, [full];\n" \
	LOOK(3, empty, 0) "mbarrier.arrive.shared.b64 _, [full];\nE: ret;\n}\n"
#define LOOK(n, mbar, parity) \
	"L" #n ": mbarrier.try_wait.parity.shared.b64 %p5, [" #mbar "], " #parity ";\n" \
	"@!%p5 bra L" #n ";\n"
#define FULL LOOK(1, full, 0)
#define EMPTY "@%p4 mbarrier.arrive.shared.b64 _, [empty];\n"

static const struct { const char *name, *text; unsigned threads; bool warned; } turns[] = {
	{ "a wgmma that is over", TURNS(128, FULL FENCE MMA COMMIT WAIT(0) EMPTY), 256, false },
	{ "one that is not", TURNS(128, FULL FENCE MMA COMMIT EMPTY WAIT(0)), 256, true },
	{ "one issued before the wait", TURNS(128, FENCE MMA COMMIT FULL WAIT(0) EMPTY), 256, true },
	{ "one before, one behind", TURNS(128, FENCE MMA COMMIT FULL MMA COMMIT WAIT(0) EMPTY), 256, false },
	{ "the one behind is not over",
	  TURNS(128, FENCE MMA COMMIT FULL MMA COMMIT WAIT(1) EMPTY WAIT(0)), 256, true },
	{ "the older of two behind", TURNS(128, FULL FENCE MMA COMMIT MMA COMMIT WAIT(1) EMPTY WAIT(0)), 256,
	  false },
	{ "a fence alone", TURNS(128, FULL FENCE EMPTY MMA COMMIT WAIT(0)), 256, true },
	{ "of another warpgroup", TURNS(256, FULL FENCE MMA COMMIT WAIT(0) EMPTY), 384, true },
	{ "of another warpgroup, and a barrier", TURNS(256, FULL FENCE MMA COMMIT WAIT(0) "bar.sync 1, 256;\n"
	  EMPTY), 384, false },
	{ "a barrier", TURNS(128, FULL "bar.sync 1, 128;\n" EMPTY), 256, false },
	{ "nothing", TURNS(128, FULL EMPTY), 256, true },
};

TEST_EACH(phases, sizeof turns / sizeof *turns)
{
	sim *s = sim_open();
	uint64_t out = sim_alloc(s, 512 * 64, "out");
	const void *args[] = { &out };
	sim_launch l = SIM_LAUNCH_INIT;
	bool warned = false;
	sim_result *r;
	sim_fault f;
	int rc;

	l.block[0] = turns[_i].threads;
	l.threads = 1;
	l.args = args;
	rc = sim_run(s, must_load(s, turns[_i].text), "k", &l, &r);
	for (size_t i = 0; sim_fault_at(r, i, &f); i++)
		warned |= f.warning && f.kind == SIM_FAULT_MBARRIER;
	if (rc || warned != turns[_i].warned)
		print_faults(r);
	ck_assert_msg(rc == SIM_OK && warned == turns[_i].warned, "%s: %d", turns[_i].name, rc);
	sim_result_free(r);
	sim_close(s);
}

/* All of them are PTX that ptxas takes. */
TEST_EACH(legal, have_ptxas() ? sizeof t / sizeof *t : 0)
{
	ck_assert_msg(ptxas_takes("sm_90a", t[_i].text, true), "%s", t[_i].name);
}

TEST_EACH(legal_phases, have_ptxas() ? sizeof turns / sizeof *turns : 0)
{
	ck_assert_msg(ptxas_takes("sm_90a", turns[_i].text, true), "%s", turns[_i].name);
}

static int
start(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (!have_ptxas())
		puts("no ptxas here: whether it takes the texts is not looked at");
	return RUN_TESTS;
}

TEST_PROGRAM(.start = start, .timeout = 60);
