/* test_mbarrier.c - tests mbarrier objects against the PTX ISA: counts, transactions, phases, states, waits,
 * the order they establish, and errors. */
#include "test/check.h"
#include "test/sim/cases.h"

#define INIT(n) "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], " n ";\nbar.sync 0;\n"
#define PUT(reg, at) "st.global.u32 [%d1+" #at "], " reg ";\n"
#define BIT(pred, at) "selp.b32 %r40, 1, 0, " pred ";\n" PUT("%r40", at)

/* One thread, three arrivals: what the states say, when the phase ends, what the next one is. */
TEST(states)
{
	static const char text[] = K80(
		"mbarrier.init.shared::cta.b64 [mb], 3;\n"
		"mbarrier.arrive.shared.b64 %d10, [mb];\nmbarrier.pending_count.b64 %r10, %d10;\n"
		PUT("%r10", 0) "mbarrier.test_wait.shared.b64 %p1, [mb], %d10;\n" BIT("%p1", 4)
		"mbarrier.arrive.noComplete.shared.b64 %d11, [mb], 1;\n"
		"mbarrier.pending_count.b64 %r10, %d11;\n" PUT("%r10", 8)
		"mbarrier.test_wait.parity.shared.b64 %p1, [mb], 0;\n" BIT("%p1", 12)
		"mbarrier.test_wait.parity.shared.b64 %p1, [mb], 1;\n" BIT("%p1", 16)
		"mbarrier.arrive.shared.b64 %d12, [mb];\nmbarrier.pending_count.b64 %r10, %d12;\n"
		PUT("%r10", 20) "mbarrier.test_wait.shared.b64 %p1, [mb], %d10;\n" BIT("%p1", 24)
		"mbarrier.test_wait.shared.b64 %p1, [mb], %d12;\n" BIT("%p1", 28)
		"mbarrier.test_wait.parity.shared.b64 %p1, [mb], 0;\n" BIT("%p1", 32)
		"mbarrier.test_wait.parity.shared.b64 %p1, [mb], 1;\n" BIT("%p1", 36)
		"mov.u64 %d20, mb;\ncvta.shared.u64 %d20, %d20;\n"
		"mbarrier.arrive_drop.b64 %d13, [%d20];\nmbarrier.pending_count.b64 %r10, %d13;\n"
		PUT("%r10", 40) "mbarrier.arrive.b64 %d13, [%d20];\nmbarrier.arrive.b64 %d13, [%d20];\n"
		"mbarrier.test_wait.parity.b64 %p1, [%d20], 1;\n" BIT("%p1", 44)
		"mbarrier.arrive.b64 %d13, [%d20];\nmbarrier.pending_count.b64 %r10, %d13;\n"
		PUT("%r10", 48) "mbarrier.inval.shared.b64 [mb];\nmbarrier.init.shared.b64 [mb], 1;\n"
		"mbarrier.arrive.shared.b64 %d13, [mb];\nmbarrier.pending_count.b64 %r10, %d13;\n"
		PUT("%r10", 52));
	/* pending before each arrive; a state of the present phase waits, of the one before is done */
	static const unsigned want[] = { 3, 0, 2, 0, 1, 1, 1, 1, 1, 0, 3, 1, 2, 1 };
	unsigned out[14];

	must_run(text, 1, 1, 0, out, 14);
	for (unsigned i = 0; i < 14; i++)
		ck_assert_msg(out[i] == want[i], "%u: %u, wanted %u", i, out[i], want[i]);
}

/* ---- random legal sequences against a model ---- */

typedef struct Model { unsigned expected, pending, phase; int tx; } Model;

static unsigned
dice(unsigned *seed, unsigned n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % n;
}

static void
settle(Model *m)
{
	if (m->pending || m->tx)
		return;
	m->phase++;
	m->pending = m->expected;
}

/* One legal operation: its text, and the model after it.  *before: pending when it was made,
  ~0: no state. */
static void
step(Model *m, unsigned *seed, char *op, size_t size, unsigned *before)
{
	unsigned kind = dice(seed, 7), n = m->pending ? 1 + dice(seed, m->pending) : 0, tx = dice(seed, 64);
	const char *space = dice(seed, 2) ? ".shared::cta" : ".release.cta.shared";

	*before = m->pending;
	if (kind >= 4 && !n)
		kind = dice(seed, 2);
	if (kind == 6 && (m->expected <= n || n < 1))
		kind = 4;
	if (kind == 3 && m->pending < 2)
		kind = 1;
	switch (kind) {
	case 0:
		snprintf(op, size, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [mb], %u;", tx);
		m->tx += (int)tx;
		*before = ~0u;
		break;
	case 1:
	case 2:
		if (kind == 2 && m->tx > 0)
			tx = (unsigned)m->tx; /* as an asynchronous copy that completes */
		snprintf(op, size, "mbarrier.complete_tx.shared.b64 [mb], %u;", tx);
		m->tx -= (int)tx;
		*before = ~0u;
		break;
	case 3:
		n = 1 + dice(seed, m->pending - 1);
		snprintf(op, size, "mbarrier.arrive.noComplete.shared.b64 %%d10, [mb], %u;", n);
		m->pending -= n;
		break;
	case 4:
		snprintf(op, size, "mbarrier.arrive%s.b64 %%d10, [mb], %u;", space, n);
		m->pending -= n;
		break;
	case 5:
		snprintf(op, size, "mbarrier.arrive.expect_tx%s.b64 %%d10, [mb], %u;", space, tx);
		m->tx += (int)tx;
		m->pending--;
		break;
	default:
		snprintf(op, size, "mbarrier.arrive_drop%s.b64 %%d10, [mb], %u;", space, n);
		m->expected -= n;
		m->pending -= n;
		break;
	}
	settle(m);
}

#define SAY "selp.b32 %%r10, 1, 0, %%p1;\nst.global.u32 [%%d1+%u], %%r10;\n"
#define START SM90 ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<4>;\n" \
	".reg .b32 %r<16>;\n.reg .b64 %d<16>;\n.shared .align 8 .b64 mb[1];\nld.param.u64 %d1, [out];\n"

TEST_EACH(sequences, 40)
{
	enum { STEPS = 60 };
	unsigned seed = 12345u * (unsigned)(_i + 1), want[3 * STEPS], out[3 * STEPS];
	Model m = { 1 + dice(&seed, 20), 0, 0, 0 };
	char *text = calloc(1, 1 << 16), *at = text, *body;

	body = calloc(1, 1 << 16);
	m.pending = m.expected;
	at = body + sprintf(body, "mbarrier.init.shared.b64 [mb], %u;\n", m.expected);
	for (unsigned i = 0; i < STEPS; i++) {
		const char *count = "mbarrier.pending_count.b64 %r10, %d10;", *none = "mov.u32 %r10, 99;";
		char op[160];
		unsigned before;
		step(&m, &seed, op, sizeof op, &before);
		at += sprintf(at, "%s\n%s\nst.global.u32 [%%d1+%u], %%r10;\n", op,
		              before == ~0u ? none : count, 12 * i);
		at += sprintf(at, "mbarrier.test_wait.parity.shared.b64 %%p1, [mb], 0;\n" SAY, 12 * i + 4);
		at += sprintf(at, "mbarrier.try_wait.parity.acquire.cta.shared.b64 %%p1, [mb], 1, 10;\n" SAY,
		              12 * i + 8);
		want[3 * i] = before == ~0u ? 99 : before;
		want[3 * i + 1] = m.phase & 1;
		want[3 * i + 2] = !(m.phase & 1);
	}
	sprintf(text, "%s%s%s", START, body, "ret;\n}\n");
	must_run(text, 1, 1, 0, out, 3 * STEPS);
	for (unsigned i = 0; i < 3 * STEPS; i++)
		ck_assert_msg(out[i] == want[i], "sequence %d step %u value %u: %u, wanted %u\n%s",
		              _i, i / 3, i % 3,
		              out[i], want[i], body);
	if (_i == 0 && have_ptxas())
		must_assemble(text, "sm_90");
	free(body);
	free(text);
}

/* ---- a ring of two buffers between a writing and a reading warp ---- */

#define WAIT(name, how, bar, parity) \
	name ":\nmbarrier." how ".b64 %p9, [" bar "], " parity ";\n@!%p9 bra " name ";\n"
#define RING(how) \
	"setp.ne.u32 %p1, %r1, 0;\n@%p1 bra GO;\n" \
	"mbarrier.init.shared.b64 [mb], 32;\nmbarrier.init.shared.b64 [mb+8], 32;\n"        /* full */ \
	"mbarrier.init.shared.b64 [mb+16], 32;\nmbarrier.init.shared.b64 [mb+24], 32;\n"    /* empty */ \
	"GO:\nbar.sync 0;\nmov.u32 %r9, mb;\nand.b32 %r11, %r1, 31;\nshl.b32 %r11, %r11, 2;\n" \
	"mov.u32 %r10, 0;\nmov.u32 %r20, 0;\nsetp.ge.u32 %p2, %r1, 32;\n@%p2 bra READ;\n" \
	"WRITE:\nand.b32 %r12, %r10, 1;\nshr.u32 %r13, %r10, 1;\nand.b32 %r13, %r13, 1;\n" \
	"xor.b32 %r14, %r13, 1;\n" \
	"shl.b32 %r15, %r12, 3;\nadd.s32 %r15, %r15, %r9;\nshl.b32 %r16, %r12, 7;\n" \
	"add.s32 %r16, %r16, %r3;\n" \
	"add.s32 %r16, %r16, %r11;\n" WAIT("W1", how, "%r15+16", "%r14") \
	"mad.lo.s32 %r17, %r10, 100, %r1;\nst.shared.u32 [%r16], %r17;\n" \
	"mbarrier.arrive.shared.b64 %d10, [%r15];\n" \
	"add.s32 %r10, %r10, 1;\nsetp.lt.u32 %p3, %r10, 7;\n@%p3 bra WRITE;\nret;\n" \
	"READ:\nand.b32 %r12, %r10, 1;\nshr.u32 %r13, %r10, 1;\nand.b32 %r13, %r13, 1;\n" \
	"shl.b32 %r15, %r12, 3;\nadd.s32 %r15, %r15, %r9;\nshl.b32 %r16, %r12, 7;\n" \
	"add.s32 %r16, %r16, %r3;\n" \
	"xor.b32 %r18, %r11, 4;\nadd.s32 %r16, %r16, %r18;\n" WAIT("W2", how, "%r15", "%r13") \
	"ld.shared.u32 %r17, [%r16];\nmad.lo.s32 %r20, %r20, 3, %r17;\n" \
	"mbarrier.arrive.shared.b64 %d10, [%r15+16];\n" \
	"add.s32 %r10, %r10, 1;\nsetp.lt.u32 %p3, %r10, 7;\n@%p3 bra READ;\nst.global.u32 [%d4], %r20;\n"
static const char *const rings[] = {
	K80(RING("test_wait.parity.shared")),
	K90(RING("try_wait.parity.shared::cta")),
	K90(RING("try_wait.parity.acquire.cluster.shared::cta")),
};

TEST_EACH(ring, 3)
{
	unsigned out[64];

	must_run(rings[_i], 64, 1, 0, out, 64);
	for (unsigned t = 0; t < 32; t++) {
		unsigned v = 0;
		for (unsigned i = 0; i < 7; i++)
			v = v * 3 + i * 100 + (t ^ 1);
		ck_assert_uint_eq(out[32 + t], v);
	}
	if (have_ptxas())
		must_assemble(rings[_i], _i ? "sm_90" : "sm_80");
}

/* ---- planted faults ---- */

#define COPY "mov.u64 %d20, 0;\nadd.s64 %d20, %d1, 8192;\nadd.s64 %d20, %d20, %d3;\n" \
	"cp.async.ca.shared.global [%r4], [%d20], 4;"
#define SPIN(name, bar, parity) WAIT(name, "test_wait.parity.shared", bar, parity)

// clang-format off
static const Case cases[] = {
	{ "arrive without an init", SIM_FAULT_MBARRIER,
	  K80("mbarrier.arrive.shared.b64 %d10, [mb]; //here\n"),
	  K80("mbarrier.init.shared.b64 [mb], 1;\nmbarrier.arrive.shared.b64 %d10, [mb];\n"),
	  1, 1, 0 },
	{ "wait without an init", SIM_FAULT_MBARRIER,
	  K80("mbarrier.test_wait.parity.shared.b64 %p9, [mb], 1; //here\n"),
	  K80(INIT("1") SPIN("W", "mb", "1")),
	  1, 1, 0 },
	{ "arrive after inval", SIM_FAULT_MBARRIER,
	  K80(INIT("1") "mbarrier.inval.shared.b64 [mb];\nmbarrier.arrive.shared.b64 %d10, [mb]; //here\n"),
	  K80(INIT("1") "mbarrier.arrive.shared.b64 %d10, [mb];\nmbarrier.inval.shared.b64 [mb];\n"),
	  1, 1, 0 },
	{ "init of a live one", SIM_FAULT_MBARRIER, K80(INIT("1")
	      "mbarrier.init.shared.b64 [mb], 2; //here\n"),
	  K80(INIT("1") "mbarrier.inval.shared.b64 [mb];\nmbarrier.init.shared.b64 [mb], 2;\n"),
	  1, 1, 0 },
	{ "count 0", SIM_FAULT_MBARRIER,
	  K80("mov.u32 %r9, 0;\nmbarrier.init.shared.b64 [mb], %r9; //here\n"),
	  K80("mov.u32 %r9, 1048575;\nmbarrier.init.shared.b64 [mb], %r9;\n"),
	  1, 1, 0 },
	{ "count too large", SIM_FAULT_MBARRIER,
	  K80("mov.u32 %r9, 1048576;\nmbarrier.init.shared.b64 [mb], %r9; //here\n"),
	  K80("mov.u32 %r9, 1;\nmbarrier.init.shared.b64 [mb], %r9;\n"),
	  1, 1, 0 },
	{ "more arrivals than pending", SIM_FAULT_MBARRIER,
	  K90(INIT("4") "mbarrier.arrive.shared.b64 %d10, [mb], 3;\n"
	      "mbarrier.arrive.shared.b64 %d10, [mb], 2; //here\n"),
	  K90(INIT("4") "mbarrier.arrive.shared.b64 %d10, [mb], 3;\n"
	      "mbarrier.arrive.shared.b64 %d10, [mb], 1;\n"),
	  1, 1, 0 },
	{ "arrival count 0", SIM_FAULT_MBARRIER,
	  K90(INIT("4") "mov.u32 %r9, 0;\nmbarrier.arrive.shared.b64 %d10, [mb], %r9; //here\n"),
	  K90(INIT("4") "mov.u32 %r9, 1;\nmbarrier.arrive.shared.b64 %d10, [mb], %r9;\n"),
	  1, 1, 0 },
	{ "noComplete completes", SIM_FAULT_MBARRIER,
	  K80(INIT("2") "mbarrier.arrive.noComplete.shared.b64 %d10, [mb], 2; //here\n"),
	  K80(INIT("2") "mbarrier.arrive.noComplete.shared.b64 %d10, [mb], 1;\n"),
	  1, 1, 0 },
	{ "drops more than expected", SIM_FAULT_MBARRIER,
	  K90(INIT("2") "mbarrier.arrive_drop.shared.b64 %d10, [mb], 3; //here\n"),
	  K90(INIT("2") "mbarrier.arrive_drop.shared.b64 %d10, [mb], 2;\n"),
	  1, 1, 0 },
	{ "tx-count overflow", SIM_FAULT_MBARRIER,
	  K90(INIT("2") "mbarrier.expect_tx.shared.b64 [mb], 1048575;\n"
	      "mbarrier.expect_tx.shared.b64 [mb], 1; //here\n"),
	  K90(INIT("2") "mbarrier.expect_tx.shared.b64 [mb], 1048574;\n"
	      "mbarrier.expect_tx.shared.b64 [mb], 1;\n"),
	  1, 1, 0 },
	{ "tx-count underflow", SIM_FAULT_MBARRIER,
	  K90(INIT("2") "mbarrier.complete_tx.shared.b64 [mb], 1048575;\n"
	      "mbarrier.complete_tx.shared.b64 [mb], 1; //here\n"),
	  K90(INIT("2") "mbarrier.complete_tx.shared.b64 [mb], 1048574;\n"
	      "mbarrier.complete_tx.shared.b64 [mb], 1;\n"),
	  1, 1, 0 },
	{ "data over an mbarrier", SIM_FAULT_MBARRIER,
	  K80(INIT("1") "st.shared.u32 [mb+4], %r1; //here\n"),
	  K80(INIT("1") "st.shared.u32 [mb+8], %r1;\n"),
	  1, 1, 0 },
	{ "vector over an mbarrier", SIM_FAULT_MBARRIER,
	  K80(INIT("1") "st.shared.v2.u32 [mb], {%r1, %r1}; //here\n"),
	  K80(INIT("1") "mbarrier.inval.shared.b64 [mb];\nst.shared.v2.u32 [mb], {%r1, %r1};\n"),
	  1, 1, 0 },
	{ "an atomic on an mbarrier", SIM_FAULT_MBARRIER,
	  K80(INIT("1") "atom.shared.add.u32 %r9, [mb], 1; //here\n"),
	  K80(INIT("1") "st.shared.u32 [mb+8], 0;\natom.shared.add.u32 %r9, [mb+8], 1;\n"),
	  1, 1, 0 },
	{ "a state of two phases ago", SIM_FAULT_MBARRIER,
	  K80(INIT("1") "mbarrier.arrive.shared.b64 %d10, [mb];\nmbarrier.arrive.shared.b64 %d11, [mb];\n"
	      "mbarrier.test_wait.shared.b64 %p1, [mb], %d10; //here\n"),
	  K80(INIT("1") "mbarrier.arrive.shared.b64 %d10, [mb];\nmbarrier.arrive.shared.b64 %d11, [mb];\n"
	      "mbarrier.test_wait.shared.b64 %p1, [mb], %d11;\n"),
	  1, 1, 0 },
	{ "parity 2", SIM_FAULT_MBARRIER,
	  K80(INIT("1") "mov.u32 %r9, 2;\nmbarrier.test_wait.parity.shared.b64 %p1, [mb], %r9; //here\n"),
	  K80(INIT("1") "mov.u32 %r9, 1;\nmbarrier.test_wait.parity.shared.b64 %p1, [mb], %r9;\n"),
	  1, 1, 0 },
	{ "not shared memory", SIM_FAULT_MBARRIER,
	  K80(INIT("1") "mbarrier.arrive.b64 %d10, [%d1]; //here\n"),
	  K80(INIT("1") "mov.u64 %d11, mb;\ncvta.shared.u64 %d11, %d11;\n"
	      "mbarrier.arrive.b64 %d10, [%d11];\n"),
	  1, 1, 0 },
	{ "misaligned", SIM_FAULT_ALIGN, K80("mbarrier.init.shared.b64 [mb+4], 1; //here\n"),
	  K80("mbarrier.init.shared.b64 [mb+8], 1;\n"),
	  1, 1, 0 },
	{ "no barrier after the init", SIM_FAULT_RACE_SHARED,
	  K80("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 64; //first\n"
	      "mbarrier.arrive.shared.b64 %d10, [mb]; //here\n"),
	  K80(INIT("64") "mbarrier.arrive.shared.b64 %d10, [mb];\n"),
	  64, 1, 0 },
	{ "an arrival is lost", SIM_FAULT_DEADLOCK,
	  K80(INIT("64") "setp.ne.u32 %p2, %r1, 5;\n@%p2 mbarrier.arrive.shared.b64 %d10, [mb];\n"
	      "W:\nmbarrier.test_wait.parity.shared.b64 %p9, [mb], 0; //here\n@!%p9 bra W;\n"),
	  K80(INIT("64") "mbarrier.arrive.shared.b64 %d10, [mb];\n" SPIN("W", "mb", "0")),
	  64, 1, 0 },
	{ "the wrong parity", SIM_FAULT_DEADLOCK,
	  K90(INIT("64") "mbarrier.arrive.shared.b64 %d10, [mb];\n"
	      "W:\nmbarrier.try_wait.parity.shared.b64 %p9, [mb], 1; //here\n@!%p9 bra W;\n"),
	  K90(INIT("64") "mbarrier.arrive.shared.b64 %d10, [mb];\n" SPIN("W", "mb", "0")),
	  64, 1, 0 },
	{ "bytes that never come", SIM_FAULT_DEADLOCK,
	  K90(INIT("1") "@!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [mb], 64;\n"
	      "W:\nmbarrier.try_wait.parity.shared.b64 %p9, [mb], 0; //here\n@!%p9 bra W;\n"),
	  K90(INIT("1") "@!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [mb], 64;\n"
	      "@!%p1 mbarrier.complete_tx.shared.b64 [mb], 64;\n" SPIN("W", "mb", "0")),
	  64, 1, 0 },
	{ "each waits for the other's mbarrier", SIM_FAULT_DEADLOCK,
	  K80("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 32;\n"
	      "@!%p1 mbarrier.init.shared.b64 [mb+8], 32;\nbar.sync 0;\nshr.u32 %r9, %r1, 5;\n"
	      "shl.b32 %r9, %r9, 3;\n"
	      "mov.u32 %r10, mb;\nadd.s32 %r11, %r10, %r9;\nxor.b32 %r9, %r9, 8;\n"
	      "add.s32 %r12, %r10, %r9;\n"
	      "W:\nmbarrier.test_wait.parity.shared.b64 %p9, [%r11], 0; //here\n@!%p9 bra W;\n"
	      "mbarrier.arrive.shared.b64 %d10, [%r12];\n"),
	  K80("setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [mb], 32;\n"
	      "@!%p1 mbarrier.init.shared.b64 [mb+8], 32;\nbar.sync 0;\nshr.u32 %r9, %r1, 5;\n"
	      "shl.b32 %r9, %r9, 3;\n"
	      "mov.u32 %r10, mb;\nadd.s32 %r11, %r10, %r9;\nxor.b32 %r9, %r9, 8;\n"
	      "add.s32 %r12, %r10, %r9;\n"
	      "mbarrier.arrive.shared.b64 %d10, [%r12];\n" SPIN("W", "%r11", "0")),
	  64, 1, 0 },
	{ "a barrier while others wait for an mbarrier", SIM_FAULT_DEADLOCK,
	  K80(INIT("64") "setp.ge.u32 %p2, %r1, 32;\n@%p2 bra B;\n"
	      "mbarrier.arrive.shared.b64 %d10, [mb];\n"
	      "W:\nmbarrier.test_wait.parity.shared.b64 %p1, [mb], 0; //here\n@!%p1 bra W;\nB:\nbar.sync 0;\n"),
	  K80(INIT("64") "setp.ge.u32 %p2, %r1, 32;\nmbarrier.arrive.shared.b64 %d10, [mb];\n"
	      "@%p2 bra B;\n" SPIN("W", "mb", "0") "B:\nbar.sync 0;\n"),
	  64, 1, 0 },
	{ "a write after the arrival", SIM_FAULT_RACE_SHARED,
	  K80(INIT("64") "mbarrier.arrive.shared.b64 %d10, [mb];\nst.shared.u32 [%r4], %r1; //first\n"
	      SPIN("W", "mb", "0") "xor.b32 %r9, %r2, 128;\nadd.s32 %r9, %r9, %r3;\n"
	      "ld.shared.u32 %r10, [%r9]; //here\n"),
	  K80(INIT("64") "st.shared.u32 [%r4], %r1;\nmbarrier.arrive.shared.b64 %d10, [mb];\n"
	      SPIN("W", "mb", "0") "xor.b32 %r9, %r2, 128;\nadd.s32 %r9, %r9, %r3;\n"
	      "ld.shared.u32 %r10, [%r9];\n"
	      "st.global.u32 [%d4], %r10;\n"),
	  64, 1, 0 },
	{ "an arrival that does not release", SIM_FAULT_RACE_SHARED,
	  K90(INIT("64") "st.shared.u32 [%r4], %r1; //first\n"
	      "mbarrier.arrive.relaxed.cta.shared.b64 %d10, [mb];\n" SPIN("W", "mb", "0")
	      "xor.b32 %r9, %r2, 128;\nadd.s32 %r9, %r9, %r3;\nld.shared.u32 %r10, [%r9]; //here\n"),
	  K90(INIT("64") "st.shared.u32 [%r4], %r1;\nfence.acq_rel.cta;\n"
	      "mbarrier.arrive.relaxed.cta.shared.b64 %d10, [mb];\n" SPIN("W", "mb", "0")
	      "xor.b32 %r9, %r2, 128;\nadd.s32 %r9, %r9, %r3;\nld.shared.u32 %r10, [%r9];\n"),
	  64, 1, 0 },
	{ "a wait that does not acquire", SIM_FAULT_RACE_SHARED,
	  K90(INIT("64") "st.shared.u32 [%r4], %r1; //first\nmbarrier.arrive.shared.b64 %d10, [mb];\n"
	      WAIT("W", "try_wait.parity.relaxed.cta.shared", "mb", "0") "xor.b32 %r9, %r2, 128;\n"
	      "add.s32 %r9, %r9, %r3;\nld.shared.u32 %r10, [%r9]; //here\n"),
	  K90(INIT("64") "st.shared.u32 [%r4], %r1;\nmbarrier.arrive.shared.b64 %d10, [mb];\n"
	      WAIT("W", "try_wait.parity.relaxed.cta.shared", "mb", "0") "fence.acq_rel.cta;\n"
	      "xor.b32 %r9, %r2, 128;\nadd.s32 %r9, %r9, %r3;\nld.shared.u32 %r10, [%r9];\n"),
	  64, 1, 0 },
	{ "copies on an mbarrier nobody waited for", SIM_FAULT_ASYNC_READ,
	  K80(INIT("64") COPY " //first\ncp.async.mbarrier.arrive.noinc.shared.b64 [mb];\n"
	      "ld.shared.u32 %r9, [%r4]; //here\n" SPIN("W", "mb", "0")),
	  K80(INIT("64") COPY "\ncp.async.mbarrier.arrive.noinc.shared.b64 [mb];\n" SPIN("W", "mb",
	      "0") "xor.b32 %r9, %r2, 128;\nadd.s32 %r9, %r9, %r3;\nld.shared.u32 %r9, [%r9];\n"
	      "st.global.u32 [%d4], %r9;\n"),
	  64, 1, 0 },
	{ "copies after the arrival", SIM_FAULT_ASYNC_READ,
	  K80(INIT("64") "cp.async.mbarrier.arrive.noinc.shared.b64 [mb];\n" COPY " //first\n"
	      SPIN("W", "mb", "0") "ld.shared.u32 %r9, [%r4]; //here\n"),
	  K80(INIT("64") COPY "\ncp.async.mbarrier.arrive.shared.b64 [mb];\n"
	      "mbarrier.arrive.shared.b64 %d10, [mb];\n" SPIN("W", "mb", "0")
	      "ld.shared.u32 %r9, [%r4];\n"),
	  64, 1, 0 },
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
