/* test_launch_cluster.c - tests blocks of a cluster: launch, special registers, each other's shared memory,
 * barrier.cluster, stores and arrivals across blocks, and their errors. */
#include "test/check.h"
#include "test/sim/cases.h"

/* ---- launches ---- */

static int
launch(const char *text, const unsigned *grid, const unsigned *cluster, char *why, size_t size)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	uint64_t buf = sim_alloc(s, 1 << 16, "out");
	uint32_t n = 0;
	const void *args[] = { &buf, &n };
	sim_result *r;
	int rc;

	memcpy(l.grid, grid, sizeof l.grid);
	memcpy(l.cluster, cluster, sizeof l.cluster);
	l.args = args;
	rc = sim_run(s, m, "k", &l, &r);
	snprintf(why, size, "%s", sim_result_text(r));
	sim_result_free(r);
	sim_close(s);
	return rc;
}

#define ENTRY(target, directives) ".version 8.7\n.target " target "\n.address_size 64\n" \
	".visible .entry k(.param .u64 out, .param .u32 n) " directives "\n{ ret; }\n"

typedef struct Shape {
	const char *text;
	unsigned grid[3], cluster[3];
	const char *why;                /* part of the refusal; NULL: it runs */
} Shape;

static const Shape shapes[] = {
	{ ENTRY("sm_90", ""), { 8, 1, 1 }, { 4, 1, 1 }, NULL },
	{ ENTRY("sm_90", ""), { 8, 4, 2 }, { 2, 2, 2 }, NULL },
	{ ENTRY("sm_90", ""), { 32, 1, 1 }, { 16, 1, 1 }, NULL },
	{ ENTRY("sm_90", ""), { 34, 1, 1 }, { 17, 1, 1 }, "more than 16 blocks" },
	{ ENTRY("sm_90", ""), { 8, 8, 8 }, { 4, 4, 2 }, "more than 16 blocks" },
	{ ENTRY("sm_90", ""), { 9, 1, 1 }, { 2, 1, 1 }, ", not a multiple of the cluster's" },
	{ ENTRY("sm_90", ""), { 8, 3, 1 }, { 2, 2, 1 }, "direction y" },
	{ ENTRY("sm_80", ""), { 8, 1, 1 }, { 2, 1, 1 }, "sm_90" },
	{ ENTRY("sm_80", ""), { 8, 1, 1 }, { 1, 1, 1 }, NULL },
	{ ENTRY("sm_90", ".reqnctapercluster 2, 1, 1"), { 8, 1, 1 }, { 0, 0, 0 }, NULL },
	{ ENTRY("sm_90", ".reqnctapercluster 2, 1, 1"), { 8, 1, 1 }, { 2, 1, 1 }, NULL },
	{ ENTRY("sm_90", ".reqnctapercluster 2, 1, 1"), { 8, 1, 1 }, { 4, 1, 1 },
	  "requires clusters of 2 x 1 x 1" },
	{ ENTRY("sm_90", ".reqnctapercluster 2, 1, 1"), { 7, 1, 1 }, { 0, 0, 0 },
	  ", not a multiple of the cluster's" },
	{ ENTRY("sm_90", ".explicitcluster"), { 8, 1, 1 }, { 0, 0, 0 }, "explicitcluster" },
	{ ENTRY("sm_90", ".explicitcluster"), { 8, 1, 1 }, { 2, 1, 1 }, NULL },
	{ ENTRY("sm_90", ".maxclusterrank 4"), { 8, 1, 1 }, { 8, 1, 1 }, "at most 4" },
	{ ENTRY("sm_90", ".maxclusterrank 4"), { 8, 1, 1 }, { 4, 1, 1 }, NULL },
};

TEST_EACH(shape, sizeof shapes / sizeof *shapes)
{
	const Shape *t = &shapes[_i];
	char why[256];
	int rc = launch(t->text, t->grid, t->cluster, why, sizeof why);

	ck_assert_int_eq(rc, t->why ? SIM_E_INVALID : SIM_OK);
	if (t->why)
		ck_assert_msg(strstr(why, t->why) != NULL, "%s", why);
}

/* ---- special registers ---- */

#define SREG(name, at) "mov.u32 %r9, " name ";\nst.global.u32 [%d5+" #at "], %r9;\n"

TEST(sregs)
{
	static const char text[] = SM90 ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
		".reg .b32 %r<40>;\n.reg .b64 %d<9>;\n.reg .pred %p<3>;\nld.param.u64 %d1, [out];\n"
		"mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %nctaid.x;\n"
		"mad.lo.s32 %r1, %r2, %r3, %r1;\nmul.wide.u32 %d5, %r1, 64;\nadd.s64 %d5, %d1, %d5;\n"
		SREG("%clusterid.x", 0) SREG("%clusterid.y", 4) SREG("%clusterid.z", 8)
			SREG("%nclusterid.x", 12) SREG("%nclusterid.y", 16) SREG("%nclusterid.z", 20)
				SREG("%cluster_ctaid.x", 24) SREG("%cluster_ctaid.y",
				                                  28) SREG("%cluster_ctaid.z", 32)
					SREG("%cluster_nctaid.x", 36) SREG("%cluster_nctaid.y",
					                                   40) SREG("%cluster_nctaid.z", 44)
						SREG("%cluster_ctarank", 48) SREG("%cluster_nctarank", 52)
		"mov.pred %p1, %is_explicit_cluster;\nselp.u32 %r9, 1, 0, %p1;\n"
		  "st.global.u32 [%d5+56], %r9;\n"
		"ret;\n}\n";
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	uint64_t buf = sim_alloc(s, 24 * 64, "out");
	uint32_t n = 0;
	const void *args[] = { &buf, &n };
	static unsigned out[24][16];
	sim_result *r;

	l.grid[0] = 6;
	l.grid[1] = 4;
	l.cluster[0] = 3;
	l.cluster[1] = 2;
	l.args = args;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
	sim_read(s, buf, out, sizeof out);
	for (unsigned y = 0; y < 4; y++)
		for (unsigned x = 0; x < 6; x++) {
			unsigned want[15] = { x / 3, y / 2, 0, 2, 2, 1, x % 3, y % 2, 0, 3, 2, 1,
			  x % 3 + y % 2 * 3, 6, 1 };
			ck_assert_mem_eq(out[y * 6 + x], want, sizeof want);
		}
	sim_result_free(r);
	sim_close(s);
	if (have_ptxas())
		must_assemble(text, "sm_90");
}

/* ---- each other's memory ---- */

/* The block's number into its own memory, the next rank's out of it; the ways to name it. */
#define OWN "mad.lo.s32 %r9, %r30, 1000, %r1;\nst.shared.u32 [%r4], %r9;\n" MEET
#define OUT "st.global.u32 [%d4], %r10;\n" MEET
static const char *const ways[] = {
	KC(OWN "ld.shared::cluster.u32 %r10, [%r8];\n" OUT),
	/* generic addresses */
	KC(OWN "cvt.u64.u32 %d10, %r4;\ncvta.shared.u64 %d10, %d10;\nmapa.u64 %d11, %d10, %r7;\n"
	   "ld.u32 %r10, [%d11];\n" OUT),
	KC(OWN "cvt.u64.u32 %d10, %r8;\ncvta.shared::cluster.u64 %d11, %d10;\nld.u32 %r10, [%d11];\n" OUT),
	KC(OWN "cvt.u64.u32 %d10, %r4;\ncvta.shared.u64 %d10, %d10;\nmapa.u64 %d11, %d10, %r7;\n"
	   "cvta.to.shared::cluster.u64 %d12, %d11;\nld.shared::cluster.u32 %r10, [%d12];\n" OUT),
	/* of a variable, and 64 bits wide */
	KC(OWN "mapa.shared::cluster.u32 %r11, sm, %r7;\nadd.s32 %r11, %r11, %r2;\n"
	   "ld.shared::cluster.u32 %r10, [%r11];\n" OUT),
	KC(OWN "mapa.shared::cluster.u64 %d10, sm, %r7;\ncvt.u64.u32 %d11, %r2;\n"
	  "add.s64 %d10, %d10, %d11;\n"
	   "ld.shared::cluster.u32 %r10, [%d10];\n" OUT),
	/* a mapped address mapped again, and the own block's by way of the window */
	KC(OWN "mapa.shared::cluster.u32 %r11, %r4, %r5;\nmapa.shared::cluster.u32 %r11, %r11, %r7;\n"
	   "ld.shared::cluster.u32 %r10, [%r11];\n" OUT),
	/* written by the block before instead of read from the one behind */
	KC("add.s32 %r12, %r5, %r6;\nsub.s32 %r12, %r12, 1;\nrem.u32 %r12, %r12, %r6;\n"
	   "mapa.shared::cluster.u32 %r11, %r4, %r12;\nmad.lo.s32 %r9, %r30, 1000, %r1;\n"
	   "st.shared::cluster.u32 [%r11], %r9;\n" MEET "ld.shared.u32 %r10, [%r4];\n"
	     "st.global.u32 [%d4], %r10;\n"),
	KC(OWN "atom.shared::cluster.add.u32 %r10, [%r8], 0;\n" OUT),
	/* vectors, and a barrier in two halves without .aligned */
	KC("mad.lo.s32 %r9, %r30, 1000, %r1;\nadd.s32 %r4, %r4, %r2;\nadd.s32 %r8, %r8, %r2;\n"
	   "st.shared.v2.u32 [%r4], {%r1, %r9};\nbarrier.cluster.arrive.release;\nadd.s32 %r20, %r1, 5;\n"
	   "barrier.cluster.wait.acquire;\nld.shared::cluster.v2.u32 {%r20, %r10}, [%r8];\n" OUT),
};

TEST_EACH(neighbour, sizeof ways / sizeof *ways)
{
	enum { CL = 4, BLOCKS = 12, T = 64 };
	static unsigned out[BLOCKS * T];

	must_run(ways[_i], T, BLOCKS, CL, out, BLOCKS * T);
	for (unsigned b = 0; b < BLOCKS; b++)
		for (unsigned t = 0; t < T; t++)
			ck_assert_uint_eq(out[b * T + t], (b / CL * CL + (b + 1) % CL) * 1000 + t);
	if (have_ptxas())
		must_assemble(ways[_i], "sm_90");
}

/* isspacep and getctarank of own, other and global addresses; every rank's histogram in rank 0 */
TEST(spaces)
{
	static const char text[] = KC(
		"mov.u64 %d10, sm;\ncvta.shared.u64 %d10, %d10;\nmapa.u64 %d11, %d10, %r7;\n"
		  "mapa.u64 %d12, %d10, %r5;\n"
		"mov.u32 %r20, 0;\nisspacep.shared::cta %p1, %d10;\nselp.b32 %r21, 1, 0, %p1;\n"
		  "or.b32 %r20, %r20, %r21;\n"
		"isspacep.shared::cluster %p1, %d10;\nselp.b32 %r21, 2, 0, %p1;\nor.b32 %r20, %r20, %r21;\n"
		"isspacep.shared::cta %p1, %d11;\nselp.b32 %r21, 4, 0, %p1;\nor.b32 %r20, %r20, %r21;\n"
		"isspacep.shared::cluster %p1, %d11;\nselp.b32 %r21, 8, 0, %p1;\nor.b32 %r20, %r20, %r21;\n"
		"isspacep.shared::cta %p1, %d12;\nselp.b32 %r21, 16, 0, %p1;\nor.b32 %r20, %r20, %r21;\n"
		"isspacep.shared::cluster %p1, %d1;\nselp.b32 %r21, 32, 0, %p1;\nor.b32 %r20, %r20, %r21;\n"
		"isspacep.global %p1, %d11;\nselp.b32 %r21, 64, 0, %p1;\nor.b32 %r20, %r20, %r21;\n"
		"getctarank.u64 %r22, %d11;\ngetctarank.shared::cluster.u32 %r23, %r4;\n"
		"mad.lo.s32 %r20, %r22, 1000, %r20;\nmad.lo.s32 %r20, %r23, 100000, %r20;\n"
		  "st.global.u32 [%d4], %r20;\n");
	unsigned out[2];

	must_run(text, 1, 2, 2, out, 2);
	ck_assert_uint_eq(out[0], 0 * 100000 + 1 * 1000 + (1 | 2 | 8 | 16));
	ck_assert_uint_eq(out[1], 1 * 100000 + 0 * 1000 + (1 | 2 | 8 | 16));
	if (have_ptxas())
		must_assemble(text, "sm_90");
}

/* Arrivals at rank 0's mbarrier from all ranks; its threads wait, add up what the others stored. */
#define ZERO "setp.ne.u32 %p1, %r1, 0;\nmapa.shared::cluster.u32 %r9, mb, 0;\n"
static const char remote[] = KC(ZERO
	"@!%p1 mbarrier.init.shared.b64 [mb], 256;\nfence.mbarrier_init.release.cluster;\n"
	"barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
	"mapa.shared::cluster.u32 %r10, %r4, 0;\nshl.b32 %r11, %r5, 8;\nadd.s32 %r10, %r10, %r11;\n"
	"add.s32 %r12, %r28, 7;\nst.shared::cluster.u32 [%r10], %r12;\n"
	"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];\n"
	"setp.ne.u32 %p2, %r5, 0;\n@%p2 bra END;\n"
	"W:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [mb], 0;\n@!%p3 bra W;\n"
	"ld.shared.u32 %r13, [%r4];\nld.shared.u32 %r14, [%r4+256];\nadd.s32 %r13, %r13, %r14;\n"
	"ld.shared.u32 %r14, [%r4+512];\nadd.s32 %r13, %r13, %r14;\nld.shared.u32 %r14, [%r4+768];\n"
	"add.s32 %r13, %r13, %r14;\nst.global.u32 [%d4], %r13;\nEND:\n");

TEST(arrivals)
{
	static unsigned out[8 * 64];

	must_run(remote, 64, 8, 4, out, 8 * 64);
	for (unsigned c = 0; c < 2; c++)
		for (unsigned t = 0; t < 64; t++) {
			unsigned sum = 0;
			for (unsigned b = 0; b < 4; b++)
				sum += (c * 4 + b) * 64 + t + 7;
			ck_assert_uint_eq(out[c * 256 + t], sum);
		}
	if (have_ptxas())
		must_assemble(remote, "sm_90");
}

/* Stores and reductions that land on an mbarrier of the next rank. */
#define TXB "mbarrier::complete_tx::bytes"
#define READY(start, bytes) "setp.ne.u32 %p1, %r1, 0;\nst.shared.u32 [%r4], " start ";\n" \
  "st.shared.u32 [sm+1024], 0;\n" \
	"@!%p1 mbarrier.init.shared.b64 [mb], 1;\nfence.mbarrier_init.release.cluster;\n" MEET \
	"@!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [mb], " bytes ";\n" \
	"mapa.shared::cluster.u32 %r9, mb, %r7;\nadd.s32 %r12, %r28, 3;\n"
#define AWAIT "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [mb], 0;\n@!%p3 bra W;\n"
static const char *const stores[] = {
	KC(READY("1000", "256") "st.async.weak.shared::cluster." TXB ".u32 [%r8], %r12, [%r9];\n" AWAIT
	   "ld.shared.u32 %r10, [%r4];\n" OUT),
	KC(READY("1000", "256") "cvt.u64.u32 %d11, %r8;\ncvta.shared::cluster.u64 %d11, %d11;\n"
	  "cvt.u64.u32 %d12, %r9;\n"
	   "cvta.shared::cluster.u64 %d12, %d12;\nst.async." TXB ".b32 [%d11], %r12, [%d12];\n" AWAIT
	   "ld.shared.u32 %r10, [%r4];\n" OUT),
	KC(READY("1000", "512") "add.s32 %r8, %r8, %r2;\nadd.s32 %r8, %r8, 1024;\nadd.s32 %r11, %r12, 1;\n"
	   "st.async.shared::cluster." TXB ".v2.s32 [%r8], {%r11, %r12}, [%r9];\n" AWAIT
	   "add.s32 %r4, %r4, %r2;\nld.shared.u32 %r10, [%r4+1028];\n" OUT),
	KC(READY("1000", "256") "sub.s32 %r12, %r12, 1000;\n"
	   "red.async.relaxed.cluster.shared::cluster." TXB ".add.u32 [%r8], %r12, [%r9];\n" AWAIT
	   "ld.shared.u32 %r10, [%r4];\n" OUT),
};

TEST_EACH(landing, sizeof stores / sizeof *stores)
{
	static unsigned out[8 * 64];

	must_run(stores[_i], 64, 8, 4, out, 8 * 64);
	for (unsigned b = 0; b < 8; b++)
		for (unsigned t = 0; t < 64; t++)
			ck_assert_uint_eq(out[b * 64 + t], (b / 4 * 4 + (b + 3) % 4) * 64 + t + 3);
	if (have_ptxas())
		must_assemble(stores[_i], "sm_90");
}

/* Each operation of red.async against what it means. */
typedef struct Red { const char *text; unsigned after; } Red;
#define RED(op, before, with) KC(READY(before, "4") "mov.u32 %r12, " with ";\n" \
	"red.async.relaxed.cluster.shared::cluster." TXB "." op " [%r8], %r12, [%r9];\n" \
	AWAIT "ld.shared.u32 %r10, [%r4];\n" OUT)
static const Red reds[] = {
	{ RED("add.s32", "5", "-7"), 0xfffffffe }, { RED("and.b32", "0xff0f", "0xf0ff"), 0xf00f },
	{ RED("or.b32", "0xf0", "0xf"), 0xff }, { RED("xor.b32", "0xff", "0xf"), 0xf0 },
	{ RED("min.s32", "5", "-7"), 0xfffffff9 }, { RED("min.u32", "5", "-7"), 5 },
	{ RED("max.s32", "5", "-7"), 5 }, { RED("max.u32", "5", "-7"), 0xfffffff9 },
	{ RED("inc.u32", "5", "6"), 6 }, { RED("inc.u32", "6", "6"), 0 },
	{ RED("dec.u32", "5", "6"), 4 }, { RED("dec.u32", "0", "6"), 6 },
};

TEST_EACH(reductions, sizeof reds / sizeof *reds)
{
	unsigned out[2];

	must_run(reds[_i].text, 1, 2, 2, out, 2);
	ck_assert_uint_eq(out[0], reds[_i].after);
	ck_assert_uint_eq(out[1], reds[_i].after);
	if (have_ptxas())
		must_assemble(reds[_i].text, "sm_90");
}

/* ---- planted faults ---- */

/* Rank 1 arrives at the barrier of rank 0, and ends. */
#define ARRIVES "mbarrier.init.shared.b64 [mb], 1;\nfence.mbarrier_init.release.cluster;\n" \
	"mapa.shared::cluster.u32 %r9, mb, %r7;\nsetp.eq.u32 %p5, %r5, 0;\n" MEET \
	"@!%p5 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9]; //here\n@!%p5 bra E;\n"

// clang-format off
static const Case cases[] = {
	{ "another block's memory without a barrier", SIM_FAULT_RACE_SHARED,
	  KC("st.shared.u32 [%r4], %r1; //first\nld.shared::cluster.u32 %r10, [%r8]; //here\n" MEET),
	  KC("st.shared.u32 [%r4], %r1;\n" MEET "ld.shared::cluster.u32 %r10, [%r8];\n" MEET),
	  32, 2, 2 },
	{ "written by a neighbour without a barrier", SIM_FAULT_RACE_SHARED,
	  KC("st.shared::cluster.u32 [%r8], %r1; //first\nld.shared.u32 %r10, [%r4]; //here\n" MEET),
	  KC("st.shared::cluster.u32 [%r8], %r1;\n" MEET "ld.shared.u32 %r10, [%r4];\n"),
	  32, 2, 2 },
	{ "a barrier whose arrival does not release", SIM_FAULT_RACE_SHARED,
	  KC("st.shared.u32 [%r4], %r1; //first\nbarrier.cluster.arrive.relaxed.aligned;\n"
	      "barrier.cluster.wait.aligned;\nld.shared::cluster.u32 %r10, [%r8]; //here\n" MEET),
	  KC("st.shared.u32 [%r4], %r1;\nfence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed.aligned;\n"
	      "barrier.cluster.wait.aligned;\nld.shared::cluster.u32 %r10, [%r8];\n" MEET),
	  32, 2, 2 },
	{ "a barrier of the block only", SIM_FAULT_RACE_SHARED,
	  KC("st.shared.u32 [%r4], %r1; //first\nbar.sync 0;\n"
	      "ld.shared::cluster.u32 %r10, [%r8]; //here\n" MEET),
	  KC("st.shared.u32 [%r4], %r1;\n" MEET "bar.sync 0;\nld.shared::cluster.u32 %r10, [%r8];\n"
	    MEET),
	  64, 2, 2 },
	{ "overwritten while a neighbour reads", SIM_FAULT_RACE_SHARED,
	  KC("st.shared.u32 [%r4], %r1;\n" MEET "ld.shared::cluster.u32 %r10, [%r8]; //first\n"
	      "add.s32 %r10, %r10, 1;\n"
	      "st.shared.u32 [%r4], %r10; //here\n" MEET),
	  KC("st.shared.u32 [%r4], %r1;\n" MEET "ld.shared::cluster.u32 %r10, [%r8];\n"
	      "add.s32 %r10, %r10, 1;\n" MEET
	      "st.shared.u32 [%r4], %r10;\n"),
	  32, 2, 2 },
	{ "an access between arrive and wait", SIM_FAULT_RACE_SHARED,
	  KC("barrier.cluster.arrive.aligned;\nst.shared.u32 [%r4], %r1; //first\n"
	      "barrier.cluster.wait.aligned;\n"
	      "ld.shared::cluster.u32 %r10, [%r8]; //here\n" MEET),
	  KC("st.shared.u32 [%r4], %r1;\nbarrier.cluster.arrive.aligned;\nld.shared.u32 %r9, [%r4];\n"
	      "barrier.cluster.wait.aligned;\nld.shared::cluster.u32 %r10, [%r8];\n" MEET),
	  32, 2, 2 },
	{ "a rank that is not there", SIM_FAULT_CLUSTER,
	  KC("mapa.shared::cluster.u32 %r9, %r4, 2; //here\n"),
	  KC("mapa.shared::cluster.u32 %r9, %r4, 1;\n"),
	  1, 2, 2 },
	{ "an address of a rank that is not there", SIM_FAULT_CLUSTER,
	  KC("mov.u32 %r9, 0x09000000;\nst.shared::cluster.u32 [%r9], %r1; //here\n" MEET),
	  KC("st.shared::cluster.u32 [%r8], %r1;\n" MEET),
	  1, 2, 2 },
	{ "mapa of a global address", SIM_FAULT_CLUSTER,
	  KC("mapa.u64 %d10, %d1, %r7; //here\n"),
	  KC("mov.u64 %d11, sm;\ncvta.shared.u64 %d11, %d11;\nmapa.u64 %d10, %d11, %r7;\n"),
	  1, 2, 2 },
	{ "past the end of a neighbour's memory", SIM_FAULT_BOUNDS,
	  KC("ld.shared::cluster.u32 %r10, [%r8+4096]; //here\n" MEET),
	  KC("st.shared.u32 [%r4+1024], %r1;\n" MEET "ld.shared::cluster.u32 %r10, [%r8+1024];\n"
	    MEET),
	  32, 2, 2 },
	{ "misaligned in a neighbour's memory", SIM_FAULT_ALIGN,
	  KC("st.shared::cluster.u32 [%r8+2], %r1; //here\n" MEET),
	  KC("st.shared::cluster.u16 [%r8+2], %r1;\n" MEET),
	  32, 2, 2 },
	{ "a neighbour's address in shared::cta", SIM_FAULT_BOUNDS,
	  KC("ld.shared::cta.u32 %r10, [%r8]; //here\n" MEET),
	  KC("st.shared.u32 [%r4], %r1;\nld.shared::cta.u32 %r10, [%r4];\n" MEET),
	  32, 2, 2 },
	{ "a neighbour's data nobody wrote", SIM_FAULT_UNINIT_SHARED,
	  KC("ld.shared::cluster.u32 %r10, [%r8]; //here\nst.global.u32 [%d4], %r10; //first\n" MEET),
	  KC("st.shared.u32 [%r4], %r1;\n" MEET "ld.shared::cluster.u32 %r10, [%r8];\n"
	      "st.global.u32 [%d4], %r10;\n" MEET),
	  32, 2, 2 },
	{ "a block that does not wait for its readers", SIM_FAULT_CLUSTER,
	  KC("st.shared.u32 [%r4], %r1;\n" MEET "setp.ne.u32 %p1, %r5, 0;\n@%p1 bra E;\n"
	      "ld.shared::cluster.u32 %r10, [%r8]; //here\nE:\n"),
	  KC("st.shared.u32 [%r4], %r1;\n" MEET "setp.ne.u32 %p1, %r5, 0;\n@%p1 bra E;\n"
	      "ld.shared::cluster.u32 %r10, [%r8];\nE:\n" MEET),
	  32, 2, 2 },
	{ "a block that does not wait for who arrives at it", SIM_FAULT_CLUSTER,
	  KC(ARRIVES "mov.u32 %r10, 0;\nL: add.s32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, 20000;\n"
	      "@%p1 bra L;\nE:\n"),
	  KC(ARRIVES AWAIT "E:\n"),
	  1, 2, 2 },
	{ "a block that has exited", SIM_FAULT_CLUSTER,
	  KC("setp.ne.u32 %p1, %r5, 0;\n@%p1 ret;\nmov.u32 %r10, 0;\nL: add.s32 %r10, %r10, 1;\n"
	      "setp.lt.u32 %p1, %r10, 20000;\n@%p1 bra L;\nst.shared::cluster.u32 [%r8], %r1; //here\n"),
	  KC("setp.ne.u32 %p1, %r5, 0;\n@%p1 bra E;\nmov.u32 %r10, 0;\nL: add.s32 %r10, %r10, 1;\n"
	      "setp.lt.u32 %p1, %r10, 20000;\n@%p1 bra L;\nst.shared::cluster.u32 [%r8], %r1;\nE:\n"
	       MEET),
	  32, 2, 2 },
	{ "arrives twice", SIM_FAULT_CLUSTER,
	  KC("barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned; //here\n"
	      "barrier.cluster.wait.aligned;\n"),
	  KC(MEET MEET),
	  32, 2, 2 },
	{ "waits without an arrival", SIM_FAULT_CLUSTER,
	  KC("barrier.cluster.wait.aligned; //here\n"), KC(MEET),
	  32, 2, 2 },
	{ "half a warp at an aligned barrier", SIM_FAULT_DIVERGENT_BARRIER,
	  KC("setp.lt.u32 %p1, %r1, 16;\n@%p1 barrier.cluster.arrive.aligned; //here\n"),
	  KC("setp.lt.u32 %p1, %r1, 16;\n@%p1 barrier.cluster.arrive;\n@!%p1 barrier.cluster.arrive;\n"
	      "barrier.cluster.wait;\n"),
	  32, 2, 2 },
	{ "a warp that never comes", SIM_FAULT_DEADLOCK,
	  KC("setp.lt.u32 %p1, %r28, 96;\n@!%p1 bra B;\nbarrier.cluster.arrive.aligned;\n"
	      "barrier.cluster.wait.aligned; //here\nB:\nbar.sync 0;\n"),
	  KC("setp.lt.u32 %p1, %r28, 96;\n@!%p1 bra B;\n" MEET "bra E;\nB:\n" MEET "E:\n"
	      "bar.sync 0;\n"),
	  64, 2, 2 },
	{ "an mbarrier of another block before its init", SIM_FAULT_RACE_SHARED,
	  KC("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\nmbarrier.init.shared.b64 [mb], 1; //first\n"
	      "mapa.shared::cluster.u32 %r9, mb, %r7;\nbarrier.cluster.arrive.relaxed;\n"
	      "barrier.cluster.wait;\n"
	      "mbarrier.arrive.shared::cluster.b64 _, [%r9]; //here\nE:\n" MEET),
	  KC("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\nmbarrier.init.shared.b64 [mb], 1;\n"
	      "fence.mbarrier_init.release.cluster;\nmapa.shared::cluster.u32 %r9, mb, %r7;\n"
	      "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n"
	      "mbarrier.arrive.shared::cluster.b64 _, [%r9];\nE:\n" MEET),
	  1, 2, 2 },
	{ "st.async read before the wait", SIM_FAULT_ASYNC_READ,
	       /* rank 1 stores into rank 0, which runs later */
	  KC(READY("0", "128") "setp.eq.u32 %p5, %r5, 0;\n"
	      "@!%p5 st.async.shared::cluster." TXB ".u32 [%r8], %r12, [%r9]; //first\n"
	      "@%p5 ld.shared.u32 %r10, [%r4]; //here\n@!%p5 bra E;\n" AWAIT "E:\n" MEET),
	  KC(READY("0", "128") "setp.eq.u32 %p5, %r5, 0;\n"
	      "@!%p5 st.async.shared::cluster." TXB ".u32 [%r8], %r12, [%r9];\n"
	      "@!%p5 bra E;\n" AWAIT "ld.shared.u32 %r10, [%r4];\nE:\n" MEET),
	  32, 2, 2 },
	{ "st.async read after the wait for another mbarrier", SIM_FAULT_ASYNC_READ,
	  KC("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb+8], 1;\n" READY("0", "256")
	      "st.async.shared::cluster." TXB ".u32 [%r8], %r12, [%r9]; //first\n"
	      "V:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [mb+8], 1;\n@!%p3 bra V;\n"
	      "mov.u32 %r11, 0;\nL:\nbar.sync 0;\nadd.s32 %r11, %r11, 1;\nsetp.lt.u32 %p4, %r11, 5;\n"
	      "@%p4 bra L;\n"
	      "ld.shared.u32 %r10, [%r4]; //here\n" AWAIT MEET),
	  KC(READY("0", "256") "st.async.shared::cluster." TXB ".u32 [%r8], %r12, [%r9];\n" AWAIT
	      "ld.shared.u32 %r10, [%r4];\n" MEET),
	  64, 2, 2 },
	{ "st.async over what is being read", SIM_FAULT_RACE_SHARED,
	   /* rank 0 stores into rank 1, which runs first */
	  KC(READY("0", "128") "setp.eq.u32 %p5, %r5, 0;\n@!%p5 ld.shared.u32 %r10, [%r4]; //first\n"
	      "@%p5 st.async.shared::cluster." TXB ".u32 [%r8], %r12, [%r9]; //here\n@%p5 bra E;\n"
	       AWAIT "E:\n" MEET),
	  KC(READY("0", "128") "setp.eq.u32 %p5, %r5, 0;\n@!%p5 ld.shared.u32 %r10, [%r4];\n" MEET
	      "@%p5 st.async.shared::cluster." TXB ".u32 [%r8], %r12, [%r9];\n@%p5 bra E;\n" AWAIT
	      "E:\n" MEET),
	  32, 2, 2 },
	{ "st.async to one block, its mbarrier in another", SIM_FAULT_MBARRIER,
	  KC(READY("0", "0") "st.async.shared::cluster." TXB ".u32 [%r8], %r12, [mb]; //here\n" MEET),
	  KC(READY("0", "256") "st.async.shared::cluster." TXB ".u32 [%r8], %r12, [%r9];\n"
	    AWAIT MEET),
	  64, 2, 2 },
	{ "bytes that are not all stored", SIM_FAULT_DEADLOCK,
	  KC(READY("0", "256") "setp.ne.u32 %p2, %r1, 9;\n@%p2 st.async.shared::cluster." TXB
	      ".u32 [%r8], %r12, [%r9];\n"
	      "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [mb], 0; //here\n@!%p3 bra W;\n"),
	  KC(READY("0", "256") "st.async.shared::cluster." TXB ".u32 [%r8], %r12, [%r9];\n"
	    AWAIT MEET),
	  64, 2, 2 },
	{ "a remote arrival that does not release", SIM_FAULT_RACE_SHARED,
	  KC("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 32;\n"
	      "fence.mbarrier_init.release.cluster;\n"
	     MEET "mapa.shared::cluster.u32 %r9, mb, %r7;\nst.shared::cluster.u32 [%r8], %r1; //first\n"
	      "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r9];\n" AWAIT
	      "ld.shared.u32 %r10, [%r4]; //here\n" MEET),
	  KC("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 32;\n"
	      "fence.mbarrier_init.release.cluster;\n"
	     MEET "mapa.shared::cluster.u32 %r9, mb, %r7;\nst.shared::cluster.u32 [%r8], %r1;\n"
	      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];\n" AWAIT
	      "ld.shared.u32 %r10, [%r4];\n" MEET),
	  32, 2, 2 },
	{ "a wait for a neighbour's mbarrier", SIM_FAULT_MBARRIER,
	  KC("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 1;\n" MEET
	      "mov.u64 %d10, mb;\ncvta.shared.u64 %d10, %d10;\nmapa.u64 %d11, %d10, %r7;\n"
	      "mbarrier.test_wait.parity.b64 %p1, [%d11], 1; //here\n" MEET),
	  KC("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 1;\n" MEET
	      "mov.u64 %d10, mb;\ncvta.shared.u64 %d10, %d10;\nmapa.u64 %d11, %d10, %r5;\n"
	      "mbarrier.test_wait.parity.b64 %p1, [%d11], 1;\n" MEET),
	  32, 2, 2 },
};
// clang-format on

TEST_EACH(planted, sizeof cases / sizeof *cases)
{
	check_planted(&cases[_i]);
}

TEST_EACH(clean, sizeof cases / sizeof *cases)
{
	check_clean(&cases[_i]);
	check_assembles(&cases[_i]);
}

TEST_PROGRAM(.timeout = 60);
