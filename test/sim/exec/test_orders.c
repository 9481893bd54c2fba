/* test_orders.c - tests that an opcode means the same in every order of its modifiers. */
#include "test/check.h"
#include "test/sim/simtest.h"

static const struct { const char *usual, *other; } pairs[] = {
	{ "vote.sync.ballot.b32 %r1, %p1, -1", "vote.ballot.sync.b32 %r1, %p1, -1" },
	{ "vote.sync.ballot.b32 %r1, !%p1, -1", "vote.b32.ballot.sync %r1, !%p1, -1" },
	{ "vote.sync.all.pred %p2, %p1, -1; selp.u32 %r1, 1, 2, %p2",
	  "vote.all.sync.pred %p2, %p1, -1; selp.u32 %r1, 1, 2, %p2" },
	{ "vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 2, %p2",
	  "vote.pred.any.sync %p2, %p1, -1; selp.u32 %r1, 1, 2, %p2" },
	{ "shfl.sync.down.b32 %r1, %r0, 3, 31, -1", "shfl.down.sync.b32 %r1, %r0, 3, 31, -1" },
	{ "shfl.sync.up.b32 %r1, %r0, 3, 0, -1", "shfl.b32.up.sync %r1, %r0, 3, 0, -1" },
	{ "match.any.sync.b32 %r1, %r3, -1", "match.sync.any.b32 %r1, %r3, -1" },
	{ "redux.sync.min.s32 %r1, %r0, -1", "redux.s32.min.sync %r1, %r0, -1" },
	{ "set.lt.and.u32.s32 %r1, %r3, 2, %p1", "set.u32.and.s32.lt %r1, %r3, 2, %p1" },
	{ "set.geu.ftz.f32.f32 %f1, %f0, 0f40a00000; mov.b32 %r1, %f1",
	  "set.f32.f32.ftz.geu %f1, %f0, 0f40a00000; mov.b32 %r1, %f1" },
	{ "div.approx.ftz.f32 %f1, %f0, 0f40400000; mov.b32 %r1, %f1",
	  "div.f32.ftz.approx %f1, %f0, 0f40400000; mov.b32 %r1, %f1" },
	{ "cvt.rpi.ftz.s32.f32 %r1, %f2", "cvt.s32.f32.ftz.rpi %r1, %f2" },
	{ "add.rm.f32 %f1, %f2, 0f33800000; mov.b32 %r1, %f1",
	  "add.f32.rm %f1, %f2, 0f33800000; mov.b32 %r1, %f1" },
	{ "shf.l.wrap.b32 %r1, %r0, %r3, 7", "shf.l.b32.wrap %r1, %r0, %r3, 7" },
	{ "bfind.shiftamt.u32 %r1, %r0", "bfind.u32.shiftamt %r1, %r0" },
	{ "mad24.hi.sat.s32 %r1, %r0, 0x7fffff, 0x7fffffff",
	  "mad24.hi.s32.sat %r1, %r0, 0x7fffff, 0x7fffffff" },
	{ "add.cc.u32 %r1, %r0, -5; addc.u32 %r1, 0, 0", "add.u32.cc %r1, %r0, -5; addc.u32 %r1, 0, 0" },
	{ "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%r1, %r2}, {%r0}, {%r3}, {%r0, %r0}",
	  "mma.m8n8k16.s32.row.s8.sync.u8.col.aligned.s32 {%r1, %r2}, {%r0}, {%r3}, {%r0, %r0}" },
	{ "st.weak.shared.cs.u32 [s], 7; ld.volatile.shared.u32 %r1, [s]",
	  "st.u32.cs.shared.weak [s], 7; ld.u32.shared.volatile %r1, [s]" },
	{ "atom.relaxed.gpu.global.add.u32 %r2, [%d0+128], 1; ld.global.u32 %r1, [%d0+128]",
	  "atom.add.global.gpu.u32.relaxed %r2, [%d0+128], 1; ld.global.u32 %r1, [%d0+128]" },
};
enum { NPAIRS = sizeof pairs / sizeof *pairs, LANES = 32 };

static void
values(const char *ins, unsigned *out)
{
	char text[3000];
	sim *s = sim_open();
	sim_launch a = SIM_LAUNCH_INIT;
	uint64_t p = sim_alloc(s, 256, "p");
	const void *args[] = { &p };
	sim_result *r;

	snprintf(text, sizeof text,
	         ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
	         ".reg .pred %%p<4>; .reg .b32 %%r<6>; .reg .f32 %%f<4>; .reg .b64 %%d<4>; .shared .b32 s;\n"
	         "ld.param.u64 %%d0, [p]; mov.u32 %%r0, %%laneid; shr.u32 %%r3, %%r0, 2;\n"
	         "setp.gt.u32 %%p1, %%r0, 11; cvt.rn.f32.u32 %%f0, %%r0;\n"
	         "fma.rn.f32 %%f2, %%f0, 0f3e99999a, %%f0;\n"
	         "mov.u32 %%r1, 99; %s; mul.wide.u32 %%d1, %%r0, 4; add.u64 %%d2, %%d0, %%d1;\n"
	         "st.global.u32 [%%d2], %%r1; ret; }\n",
	         ins);
	sim_fill(s, p, 0, 256);
	a.args = args;
	a.block[0] = LANES;
	a.threads = 1;
	a.checks = 0;
	ck_assert_msg(sim_run(s, must_load(s, text), "k", &a, &r) == SIM_OK, "%s: %s", ins,
	              sim_result_text(r));
	sim_read(s, p, out, LANES * sizeof *out);
	sim_result_free(r);
	sim_close(s);
}

TEST_EACH(the_same, NPAIRS)
{
	unsigned usual[LANES], other[LANES];

	values(pairs[_i].usual, usual);
	values(pairs[_i].other, other);
	ck_assert_msg(!memcmp(usual, other, sizeof usual), "%s", pairs[_i].other);
}

TEST_PROGRAM(.timeout = 20);
