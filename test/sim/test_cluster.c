/* test_cluster.c - blocks of a cluster: launch, special registers, each other's shared memory,
 * barrier.cluster, and what goes wrong there. */
#include "simtest.h"

#define SM90 ".version 8.5\n.target sm_90\n.address_size 64\n"
#define K(body) SM90 \
	".visible .entry k(.param .u64 out, .param .u32 n)\n{\n" \
	"\t.reg .pred %p<8>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %d<32>;\n" \
	"\t.shared .align 16 .b8 sm[1024];\n" \
	"\tld.param.u64 %d1, [out];\n\tcvta.to.global.u64 %d1, %d1;\n" \
	"\tld.param.u32 %r31, [n];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r30, %ctaid.x;\n" \
	"\tmov.u32 %r29, %ntid.x;\n\tmad.lo.s32 %r28, %r30, %r29, %r1;\n" \
	"\tmul.wide.u32 %d3, %r28, 4;\n\tadd.s64 %d4, %d1, %d3;\n" \
	"\tshl.b32 %r2, %r1, 2;\n\tmov.u32 %r3, sm;\n\tadd.s32 %r4, %r3, %r2;\n" \
	"\tmov.u32 %r5, %cluster_ctarank;\n\tmov.u32 %r6, %cluster_nctarank;\n" \
	body "\tret;\n}\n"
#define MEET "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"

/* Run k on `blocks` blocks of `threads` in clusters of `cl`; the words it wrote are in out. */
static int
run(const char *text, unsigned blocks, unsigned threads, unsigned cl, unsigned host, unsigned *out,
    size_t words, sim_result **r)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	uint64_t buf = sim_alloc(s, words * 4, "out");
	uint32_t n = threads;
	const void *args[] = { &buf, &n };
	int rc;

	l.grid[0] = blocks;
	l.block[0] = threads;
	l.cluster[0] = cl;
	l.args = args;
	l.threads = host;
	rc = sim_run(s, m, "k", &l, r);
	sim_read(s, buf, out, words * 4);
	sim_close(s);
	return rc;
}

/* Each block writes its numbers, reads those of the next rank. */
START_TEST(neighbour)
{
	static const char text[] = K(
		"mad.lo.s32 %r7, %r30, 1000, %r1;\nst.shared.u32 [%r4], %r7;\n" MEET
		"add.s32 %r8, %r5, 1;\nrem.u32 %r8, %r8, %r6;\nmapa.shared::cluster.u32 %r9, %r4, %r8;\n"
		"ld.shared::cluster.u32 %r10, [%r9];\nst.global.u32 [%d4], %r10;\n" MEET);
	unsigned out[8 * 64];
	sim_result *r;

	for (unsigned host = 1; host <= 2; host++) {
		int rc = run(text, 8, 64, 4, host, out, 8 * 64, &r);
		print_faults(r);
		ck_assert_int_eq(rc, SIM_OK);
		for (unsigned b = 0; b < 8; b++)
			for (unsigned t = 0; t < 64; t++)
				ck_assert_uint_eq(out[b * 64 + t], (b / 4 * 4 + (b + 1) % 4) * 1000 + t);
		sim_result_free(r);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("cluster");
	TCase *t = tcase_create("all");

	tcase_add_test(t, neighbour);
	suite_add_tcase(s, t);
	return run_suite(s);
}
