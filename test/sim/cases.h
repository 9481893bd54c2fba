/* cases.h - for tests of synchronisation: kernels k(out, n) run on a few blocks and clusters, tables of
 * planted faults with correct twins, and the verdict of ptxas on every text. */
#ifndef SIM_CASES_H
#define SIM_CASES_H
#include "test/sim/ptxas.h"
#include "test/sim/simtest.h"

#define SM80 ".version 8.0\n.target sm_80\n.address_size 64\n"
#define SM90 ".version 8.7\n.target sm_90\n.address_size 64\n"
/* %r1 tid, %r2 4 * tid, %r3 sm, %r4 sm + 4 * tid, %r30 ctaid, %r28 thread of the grid, %d1 out,
 * %d4 out of the thread; the mbarriers live at mb, apart from the data at sm. */
#define HEAD(module) module \
	".visible .entry k(.param .u64 out, .param .u32 n)\n{\n" \
	"\t.reg .pred %p<16>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %d<64>;\n\t.reg .f32 %f<8>;\n" \
	"\t.shared .align 16 .b8 sm[2048];\n\t.shared .align 8 .b64 mb[16];\n" \
	"\tld.param.u64 %d1, [out];\n\tcvta.to.global.u64 %d1, %d1;\n" \
	"\tld.param.u32 %r31, [n];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r30, %ctaid.x;\n" \
	"\tmov.u32 %r29, %ntid.x;\n\tmad.lo.s32 %r28, %r30, %r29, %r1;\n" \
	"\tmul.wide.u32 %d3, %r28, 4;\n\tadd.s64 %d4, %d1, %d3;\n" \
	"\tshl.b32 %r2, %r1, 2;\n\tmov.u32 %r3, sm;\n\tadd.s32 %r4, %r3, %r2;\n"
#define TAIL "\tret;\n}\n"
#define K80(body) HEAD(SM80) body TAIL
#define K90(body) HEAD(SM90) body TAIL
/* with %r5 the rank, %r6 the blocks of the cluster, %r7 the next rank, %r8 its sm + 4 * tid */
#define HEADC HEAD(SM90) "mov.u32 %r5, %cluster_ctarank;\nmov.u32 %r6, %cluster_nctarank;\n" \
	"add.s32 %r7, %r5, 1;\nrem.u32 %r7, %r7, %r6;\nmapa.shared::cluster.u32 %r8, %r4, %r7;\n"
#define KC(body) HEADC body TAIL
#define MEET "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"

typedef struct Case {
	const char *name;
	sim_fault_kind kind;
	const char *bad, *good; /* the faulty line ends in //here, the earlier in //first */
	unsigned threads, blocks, cluster;
} Case;

static inline int
run_on(const char *text, unsigned threads, unsigned blocks, unsigned cluster, unsigned host,
       unsigned *out, size_t words, sim_result **r)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	uint64_t buf = sim_alloc(s, words * 4, "out");
	uint32_t n = threads;
	const void *args[] = { &buf, &n };
	int rc;

	sim_fill(s, buf, 0, words * 4);
	l.grid[0] = blocks;
	l.block[0] = threads;
	l.cluster[0] = cluster;
	l.args = args;
	l.threads = host;
	rc = sim_run(s, m, "k", &l, r);
	if (*sim_result_text(*r))
		fprintf(stderr, "%s\n", sim_result_text(*r));
	sim_read(s, buf, out, words * 4);
	sim_close(s);
	return rc;
}

/* Runs without a fault, on one host thread and on two, and writes the same. */
static inline void
must_run(const char *text, unsigned threads, unsigned blocks, unsigned cluster, unsigned *out,
         size_t words)
{
	unsigned *again = calloc(words, sizeof *again);
	sim_result *r;

	ck_assert(again != NULL);
	for (unsigned host = 1; host <= 2; host++) {
		int rc = run_on(text, threads, blocks, cluster, host, host == 1 ? out : again, words, &r);
		print_faults(r);
		fputs(sim_result_hang(r), stderr);
		ck_assert_int_eq(rc, SIM_OK);
		sim_result_free(r);
	}
	ck_assert_mem_eq(out, again, words * sizeof *out);
	free(again);
}

static inline void
check_planted(const Case *c)
{
	static unsigned out[1 << 16];
	sim_result *r;
	sim_fault f;
	unsigned line = line_of(c->bad, "//here");
	int rc = run_on(c->bad, c->threads, c->blocks, c->cluster, 1, out, 1 << 16, &r), found = 0, n = 0;

	ck_assert_msg(rc == SIM_E_FAULT, "%s: not found (%d)", c->name, rc);
	for (size_t i = 0; sim_fault_at(r, i, &f); i++) {
		n += !f.warning;
		if (f.kind != c->kind || f.at.line != line)
			continue;
		found = 1;
		if (strstr(c->bad, "//first"))
			ck_assert_uint_eq(f.other.line, line_of(c->bad, "//first"));
	}
	if (!found || n > 1)
		print_faults(r);
	ck_assert_msg(found, "%s: no %s in line %u", c->name, sim_fault_name(c->kind), line);
	ck_assert_msg(n == 1, "%s: more than one fault", c->name);
	ck_assert_int_eq(*sim_result_hang(r) != 0, c->kind == SIM_FAULT_DEADLOCK);
	sim_result_free(r);
}

static inline void
check_clean(const Case *c)
{
	static unsigned out[1 << 16];

	must_run(c->good, c->threads, c->blocks, c->cluster, out, 1 << 16);
}

static inline void
must_assemble(const char *text, const char *arch)
{
	ck_assert_msg(ptxas_takes(arch, text, true), "ptxas refuses\n%s", text);
}

static inline void
check_assembles(const Case *c)
{
	if (!have_ptxas())
		return;
	must_assemble(c->bad, strstr(c->bad, "sm_80") ? "sm_80" : "sm_90");
	must_assemble(c->good, strstr(c->good, "sm_80") ? "sm_80" : "sm_90");
}
#endif
