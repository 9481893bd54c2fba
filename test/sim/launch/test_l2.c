/* test_l2.c - tests the L2 cache model: sector hits and misses, counted by hand. */
#include "test/sim/simtest.h"

/* One lane reads or writes one sector an instruction: "r0 r1 w2", the number of the sector in buffer a.
 * 8 and 9 are sectors of the block's own: its number is added. */
static char *
program(const char *accesses)
{
	char *text = malloc(4096), *end = text;

	end += sprintf(end,
	               HEADER ".visible .entry k(.param .u64 a)\n{\n"
				   "\t.reg .b64 %%rd<9>;\n\t.reg .b32 %%r<9>;\n"
				   "\tld.param.u64 %%rd1, [a];\n\tmov.u32 %%r1, %%ctaid.x;\n"
				   "\tmul.wide.u32 %%rd2, %%r1, 32;\n\tadd.s64 %%rd3, %%rd1, %%rd2;\n");
	for (const char *p = accesses; *p; p += p[2] ? 3 : 2) {
		int base = p[1] >= '8' ? 3 : 1, at = 32 * (p[1] - '0');

		if (*p == 'r')
			end += sprintf(end, "\tld.global.u32 %%r2, [%%rd%d + %d];\n", base, at);
		else
			end += sprintf(end, "\tst.global.u32 [%%rd%d + %d], %%r1;\n", base, at);
	}
	sprintf(end, "\tret;\n}\n");
	return text;
}

static sim_l2
run(const char *accesses, uint32_t blocks, uint64_t bytes, uint32_t wave, uint32_t threads)
{
	char *text = program(accesses);
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	uint64_t a = sim_alloc(s, 4096, "a");
	const void *args[] = { &a };
	sim_result *r;
	sim_l2 n;

	sim_fill(s, a, 0, 4096);
	l.grid[0] = blocks;
	l.args = args;
	l.threads = threads;
	l.l2_bytes = bytes;
	l.l2_blocks = wave;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
	ck_assert_ptr_nonnull(sim_l2_of(r));
	n = *sim_l2_of(r);
	ck_assert_uint_eq(n.read_hits + n.read_misses, sim_stats_of(r)->all.global_sectors_read);
	ck_assert_uint_eq(n.write_hits + n.write_misses, sim_stats_of(r)->all.global_sectors_written);
	sim_result_free(r);
	sim_close(s);
	free(text);
	return n;
}

typedef struct Case {
	const char *accesses;
	uint32_t blocks;
	uint64_t bytes;
	uint32_t wave;
	sim_l2 want; /* read hits, misses; write hits, misses; written back */
} Case;

static const Case cases[] = {
	/* all fit: each comes once */
	{ "r0 r1 r0 r1", 1, 64, 0, { 2, 2, 0, 0, 0 } },
	/* 0, 1, 0 again; 2 takes the place of 1, used least recently (not of 0, the oldest); 0, 1 */
	{ "r0 r1 r0 r2 r0 r1", 1, 64, 0, { 2, 4, 0, 0, 0 } },
	/* one after the other through a cache that holds one less */
	{ "r0 r1 r2 r0 r1 r2", 1, 64, 0, { 0, 6, 0, 0, 0 } },
	/* 95 bytes are two sectors */
	{ "r0 r1 r2 r1 r2 r0", 1, 95, 0, { 2, 4, 0, 0, 0 } },
	/* what was written is read from there; it goes when 2 and then 0 come for it */
	{ "w0 r0 w1 w1 r2 r0", 1, 64, 0, { 1, 2, 1, 2, 2 } },
	/* replaced without having been written: nothing goes */
	{ "r0 w1 r2 r3", 1, 32, 0, { 0, 3, 0, 1, 1 } },
	/* side by side: 0, 0, 0, then 1, 1, 1; alone each block begins anew */
	{ "r0 r1", 3, 32, 3, { 4, 2, 0, 0, 0 } },
	{ "r0 r1", 3, 32, 1, { 0, 6, 0, 0, 0 } },
	/* waves of two: 0 0 1 1, 0 0 1 1, and one block */
	{ "r0 r1", 5, 32, 2, { 4, 6, 0, 0, 0 } },
	/* no wave is all of the grid */
	{ "r0 r1", 5, 32, 0, { 8, 2, 0, 0, 0 } },
	/* sectors of their own: 8, 9, 10 */
	{ "r0 r8 r8", 3, 128, 3, { 5, 4, 0, 0, 0 } },
	/* written and never replaced: goes at the end */
	{ "w0 w1 w0", 1, 64, 0, { 0, 0, 1, 2, 2 } },
	{ "r0 w8 r0", 3, 32, 3, { 4, 2, 0, 3, 3 } },
};

TEST_EACH(by_hand, sizeof cases / sizeof *cases)
{
	const Case *c = &cases[_i];

	for (uint32_t threads = 1; threads <= 4; threads += 3) {
		sim_l2 n = run(c->accesses, c->blocks, c->bytes, c->wave, threads);

		ck_assert_msg(memcmp(&n, &c->want, sizeof n) == 0,
		              "%s, %u blocks of %u at once, %u bytes: %u %u %u %u %u", c->accesses,
		              c->blocks, c->wave, (unsigned)c->bytes, (unsigned)n.read_hits,
		              (unsigned)n.read_misses, (unsigned)n.write_hits, (unsigned)n.write_misses,
		              (unsigned)n.written_back);
	}
}

/* A warp's request is one, however many sectors it has: 32 lanes of 4 bytes are 4. */
TEST(requests)
{
	static const char text[] = HEADER
		".visible .entry k(.param .u64 a)\n{\n\t.reg .b64 %rd<5>;\n\t.reg .b32 %r<4>;\n"
		"\tld.param.u64 %rd1, [a];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n"
		"\tadd.s64 %rd3, %rd1, %rd2;\n\tld.global.u32 %r2, [%rd3];\n\tld.global.u32 %r2, [%rd3];\n"
		"\tret;\n}\n";
	static const sim_l2 want = { 12, 4, 0, 0, 0 }; /* of 4 sectors; two blocks, side by side */
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	sim_launch l = SIM_LAUNCH_INIT;
	uint64_t a = sim_alloc(s, 128, "a");
	const void *args[] = { &a };
	sim_result *r;

	sim_fill(s, a, 0, 128);
	l.grid[0] = 2;
	l.block[0] = 32;
	l.args = args;
	l.l2_bytes = 128;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
	ck_assert_mem_eq(sim_l2_of(r), &want, sizeof want);
	sim_result_free(r);
	l.l2_bytes = 0;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
	ck_assert_ptr_null(sim_l2_of(r));
	sim_result_free(r);
	sim_close(s);
}

TEST(refused)
{
	static const struct {
		uint64_t bytes;
		int counts;
		const char *why;
	} wrong[] = { { 31, 1, "the L2 cache is smaller than a sector of 32 bytes" },
	            { 64, 0, "an L2 cache requires counts" } };
	char *text = program("r0");
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	uint64_t a = sim_alloc(s, 4096, "a");
	const void *args[] = { &a };
	sim_result *r;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		sim_launch l = SIM_LAUNCH_INIT;

		l.args = args;
		l.l2_bytes = wrong[i].bytes;
		l.counts = wrong[i].counts;
		ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_E_INVALID);
		ck_assert_ptr_nonnull(strstr(sim_result_text(r), wrong[i].why));
		sim_result_free(r);
	}
	sim_close(s);
	free(text);
}

TEST_PROGRAM(.timeout = 60);
