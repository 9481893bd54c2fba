/* test_stop.c - tests a kernel that stops itself: its report does not depend on the number of host
 * threads. */
#include "test/sim/simtest.h"

enum { BLOCKS = 64, FIRST = 5, SOON = 40 };

/* Every block says its number.  Block SOON traps at once; block FIRST, after long work, too; blocks behind it
 * wait for what block SOON never writes. */
static const char text[] = HEADER
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 fmt[4] = {37, 117, 10, 0};\n"
        ".global .align 4 .u32 flag;\n"
        ".visible .entry k() {\n"
        " .local .align 8 .b8 at[8];\n"
        " .reg .b32 n, i; .reg .b64 f, a, g; .reg .pred p;\n"
        " mov.u32 n, %ctaid.x;\n"
        " mov.u64 a, at; cvta.local.u64 a, a; st.u32 [a], n;\n"
        " mov.u64 f, fmt; cvta.global.u64 f, f;\n"
        " { .param .b64 x; .param .b64 y; .param .b32 z;\n"
        "   st.param.b64 [x], f; st.param.b64 [y], a;\n"
        "   call.uni (z), vprintf, (x, y); }\n"
        " setp.eq.u32 p, n, 40; @p trap; //soon\n"
        " setp.eq.u32 p, n, 5; @p bra work;\n"
        " setp.lt.u32 p, n, 20; @p ret;\n"
        " mov.u64 g, flag;\n"
        "spin: ld.volatile.global.u32 i, [g]; setp.eq.u32 p, i, 0; @p bra spin;\n"
        " ret;\n"
        "work: mov.u32 i, 0;\n"
        "more: add.u32 i, i, 1; setp.lt.u32 p, i, 300000; @p bra more;\n"
        " trap; //late\n"
        "}\n";

TEST(earliest_block_decides)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);

	for (uint32_t threads = 1; threads <= 8; threads *= 2) {
		sim_launch l = SIM_LAUNCH_INIT;
		sim_result *r = NULL;
		char want[200] = "";
		sim_fault f;
		size_t n;

		for (int i = 0; i <= FIRST; i++)
			sprintf(want + strlen(want), "%d\n", i);
		l.grid[0] = BLOCKS;
		l.threads = threads;
		ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_E_FAULT);
		ck_assert_int_eq(sim_fault_at(r, 0, &f), 1);
		ck_assert_uint_eq(f.at.block[0], FIRST);
		ck_assert_uint_eq(f.at.line, line_of(text, "//late"));
		ck_assert_int_eq(sim_fault_at(r, 1, &f), 0);
		ck_assert_str_eq(sim_result_output(r, &n), want);
		ck_assert_str_eq(sim_result_hang(r), "");
		sim_result_free(r);
	}
	sim_close(s);
}

TEST_PROGRAM(.timeout = 60);
