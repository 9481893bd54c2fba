/* test_debug_view.c - tests the trace hook: when it is called, and what it can read. */
#include <stdint.h>
#include "test/check.h"
#include "test/sim/simtest.h"

static const char text[] = HEADER
	".entry k(.param .u64 a)\n{\n.reg .b32 %r<8>;\n.reg .b16 %h;\n.reg .b64 %d<4>;\n"
	".reg .b128 %q;\n.reg .pred %p;\n.shared .align 8 .b32 pad[2];\n"
	".shared .align 8 .b32 tile[64];\nld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\n"
	"shl.b32 %r2, %r1, 2;\nmov.u32 %r3, tile;\nadd.u32 %r3, %r3, %r2;\n"
	"st.shared.b32 [%r3], %r1;\nbar.sync 0;\nsetp.gt.u32 %p, %r1, 29;\n"
	"@%p mov.u32 %r4, 9;\nmov.b64 %d2, 0x123456789abcdef0;\ncvt.u16.u32 %h, %r1;\n"
	"mov.b128 %q, {%d2, %d1};\n"
	"{ .reg .b32 %r1; mov.u32 %r1, 7; add.u32 %r5, %r1, 1; //inner\n}\n"
	"add.u32 %r6, %r4, %r1; //look\nshfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;\n"
	"@%p bra OUT;\nmov.u32 %r7, 1;\nOUT:\nmov.u32 %r7, 2;\nret;\n}\n";

typedef struct Seen {
	unsigned calls, stop_after;
	uint32_t line[64], block[64], warp[64], here[64], lanes[64];
	void (*look)(const sim_view *v);
} Seen;

static int
hook(void *user, const sim_view *v)
{
	Seen *s = user;

	if (s->calls < 64) {
		s->line[s->calls] = v->line;
		s->block[s->calls] = v->block_index;
		s->warp[s->calls] = v->warp;
		s->here[s->calls] = v->here;
		s->lanes[s->calls] = v->lanes;
	}
	s->calls++;
	if (s->look)
		s->look(v);
	return s->stop_after && s->calls == s->stop_after;
}

static uint64_t buffer;

/* 2 x 2 blocks of 64 threads. */
static int
go(Seen *seen, const uint32_t *lines, size_t nlines, int64_t block, int64_t warp, int checks)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	const void *args[] = { &buffer };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	int rc;

	buffer = sim_alloc(s, 256, "a");
	l.grid[0] = l.grid[1] = 2;
	l.block[0] = 64;
	l.args = args;
	l.checks = checks;
	l.trace.hook = hook;
	l.trace.user = seen;
	l.trace.lines = lines;
	l.trace.nlines = nlines;
	l.trace.block = block;
	l.trace.warp = warp;
	rc = sim_run(s, m, "k", &l, &r);
	if (rc == SIM_E_LIMIT)
		ck_assert_str_eq(sim_result_text(r), "stopped by the trace hook");
	sim_result_free(r);
	sim_close(s);
	return rc;
}

TEST(every_instruction)
{
	Seen s = { 0 };

	/* 20 statements; warp 0 executes all of them with some lanes, all of warp 1 jump over one */
	ck_assert_int_eq(go(&s, NULL, 0, 3, 0, 1), SIM_OK);
	ck_assert_uint_eq(s.calls, 20);
	for (unsigned i = 0; i < s.calls; i++) {
		ck_assert_uint_eq(s.block[i], 3);
		ck_assert_uint_eq(s.warp[i], 0);
		ck_assert(i == 0 || s.line[i] >= s.line[i - 1]);
	}
	s.calls = 0;
	ck_assert_int_eq(go(&s, NULL, 0, 3, -1, 1), SIM_OK);
	ck_assert_uint_eq(s.calls, 20 + 19);
	s.calls = 0;
	ck_assert_int_eq(go(&s, NULL, 0, -1, -1, 0), SIM_OK);
	ck_assert_uint_eq(s.calls, 4 * (20 + 19));
}

TEST(lines)
{
	uint32_t at[] = { line_of(text, "//look"), line_of(text, "mov.u32 %r4"), 9999 };
	Seen s = { 0 };

	ck_assert_int_eq(go(&s, at, 3, -1, 1, 1), SIM_OK);
	ck_assert_uint_eq(s.calls, 8);
	s.calls = 0;
	ck_assert_int_eq(go(&s, at, 3, 0, 0, 1), SIM_OK);
	ck_assert_uint_eq(s.calls, 2);
	ck_assert_uint_eq(s.line[0], at[1]);
	ck_assert_uint_eq(s.here[0], 0xffffffff);
	ck_assert_uint_eq(s.lanes[0], 0xc0000000);
	ck_assert_uint_eq(s.lanes[1], 0xffffffff);
	s.calls = 0;
	ck_assert_int_eq(go(&s, at, 0, 0, 0, 1), SIM_OK); /* no lines are not all lines */
	ck_assert_uint_eq(s.calls, 0);
}

TEST(stop)
{
	Seen s = { 0 };

	s.stop_after = 5;
	ck_assert_int_eq(go(&s, NULL, 0, -1, -1, 1), SIM_E_LIMIT);
	ck_assert_uint_eq(s.calls, 5);
}

static int checks;

static void
look(const sim_view *v)
{
	static const struct {
		const char *name, *type;
		uint32_t bits;
	} named[] = {
		{ "%r6", "b32", 32 }, { "%r4", "b32", 32 }, { "%r1", "b32", 32 }
	};
	sim_register r;
	uint64_t x[2];
	uint32_t addr, words[3];
	size_t bytes, i;

	for (i = 0; sim_view_register(v, i, &r); i++) {
		ck_assert_uint_lt(i, 3);
		ck_assert_str_eq(r.name, named[i].name);
		ck_assert_str_eq(r.type, named[i].type);
		ck_assert_uint_eq(r.bits, named[i].bits);
		ck_assert_int_eq(r.read, i > 0);
	}
	ck_assert_uint_eq(i, 3);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_int_eq(sim_view_value(v, "%r1", l, x), 1);
		ck_assert_uint_eq(x[0], l);
		ck_assert_int_eq(sim_view_value(v, "%h", l, x), 1);
		ck_assert_uint_eq(x[0], l);
		ck_assert_int_eq(sim_view_value(v, "%p", l, x), 1);
		ck_assert_uint_eq(x[0], l >= 30);
		ck_assert_int_eq(sim_view_value(v, "%r4", l, x), l >= 30 || !checks ? 1 : -1);
		ck_assert_uint_eq(x[0], l >= 30 ? 9 : 0);
		ck_assert_int_eq(sim_view_value(v, "%q", l, x), 1);
		ck_assert_uint_eq(x[0], 0x123456789abcdef0);
		ck_assert_uint_eq(x[1], buffer);
		ck_assert_int_eq(sim_view_value(v, "%d1", l, x), 1);
		ck_assert_uint_eq(x[0], buffer);
		ck_assert_uint_eq(x[1], 0);
	}
	ck_assert_int_eq(sim_view_value(v, "%r1", 32, x), 0);
	ck_assert_int_eq(sim_view_value(v, "%r99", 0, x), 0);
	ck_assert_int_eq(sim_view_value(v, "tile", 0, x), 0);
	ck_assert_int_eq(sim_view_find(v, "%p", &r), 1);
	ck_assert_str_eq(r.type, "pred");
	ck_assert_uint_eq(r.bits, 1);
	ck_assert_int_eq(r.read, 0);
	ck_assert_int_eq(sim_view_find(v, "%nosuch", &r), 0);
	ck_assert_int_eq(sim_view_symbol(v, "tile", &addr, &bytes), 1);
	ck_assert_uint_eq(addr, 8);
	ck_assert_uint_eq(bytes, 256);
	ck_assert_int_eq(sim_view_symbol(v, "%r1", &addr, &bytes), 0);
	ck_assert_int_eq(sim_view_shared(v, addr + 4 * 61, words, sizeof words), SIM_OK);
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(words[i], 61 + i);
	ck_assert_int_eq(sim_view_shared(v, 8 + 4 * 62, words, sizeof words), SIM_E_INVALID);
	ck_assert_int_eq(sim_view_shared(v, ~0u, words, sizeof words), SIM_E_INVALID);
}

static void
look_inner(const sim_view *v)
{
	uint64_t x[2];

	if (strcmp(v->opcode, "add.u32"))
		return;
	ck_assert_int_eq(sim_view_value(v, "%r1", 3, x), 1);
	ck_assert_uint_eq(x[0], 7);
}

TEST_EACH(values, 2)
{
	uint32_t at = line_of(text, "//look"), inner = line_of(text, "//inner");
	Seen s = { 0 };

	s.look = look;
	checks = _i;
	ck_assert_int_eq(go(&s, &at, 1, 2, 0, _i), SIM_OK);
	ck_assert_uint_eq(s.calls, 1);
	s.calls = 0;
	s.look = look_inner;
	ck_assert_int_eq(go(&s, &inner, 1, 2, 0, _i), SIM_OK);
	ck_assert_uint_eq(s.calls, 2);
}

/* Lanes that come apart to a .sync instruction are shown as they come, and once together. */
TEST(apart)
{
	static const char kernel[] = HEADER
		".entry k()\n{\n.reg .b32 %r<4>;\n.reg .pred %p;\nmov.u32 %r1, %tid.x;\n"
		"setp.gt.u32 %p, %r1, 7;\n@%p bra B;\nbar.warp.sync -1;\nB:\n"
		"bar.warp.sync -1; //two\nmov.u32 %r1, 1;\nret;\n}\n";
	uint32_t at = line_of(kernel, "//two");
	sim *s = sim_open();
	sim_module *m = must_load(s, kernel);
	sim_launch l = SIM_LAUNCH_INIT;
	Seen seen = { 0 };
	sim_result *r;

	l.block[0] = 32;
	l.trace.hook = hook;
	l.trace.user = &seen;
	l.trace.lines = &at;
	l.trace.nlines = 1;
	sim_run(s, m, "k", &l, &r);
	ck_assert_uint_ge(seen.calls, 1);
	ck_assert_uint_eq(seen.lanes[seen.calls - 1], 0xffffffff);
	sim_result_free(r);
	sim_close(s);
}
