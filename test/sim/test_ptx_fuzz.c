/* test_ptx_fuzz.c - tests that mutated PTX never crashes, hangs or leaks: it is rejected or it runs.
 *
 * Seeded, so a failure repeats. It runs in this process: run under a sanitizer to detect more. */
#include <stdint.h>
#include <time.h>
#include "test/check.h"
#include "test/sim/simtest.h"

static const char *const seeds[] = {
	HEADER
	".global .align 4 .u32 tab[4] = {1, 2, 3, 4};\n.extern .shared .align 16 .b8 dyn[];\n"
	".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<4>;\nld.param.b32 %r1, [x];\n"
	"add.s32 %r2, %r1, %r1;\nst.param.b32 [r+0], %r2;\nret;\n}\n"
	".visible .entry k(.param .u64 .ptr .global .align 8 out, .param .u32 n)\n.maxntid 64, 1, 1\n{\n"
	".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<16>;\n.reg .b64 %d<8>;\n.reg .f32 %f<6>;\n"
	"ld.param.u64 %d1, [out];\ncvta.to.global.u64 %d2, %d1;\nld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %tid.x;\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra $L2;\nmov.u32 %r3, 0;\n$L1:\n"
	"add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p2, %r3, %r2;\n@%p2 bra $L1;\n"
	"{ .param .b32 p0; st.param.b32 [p0], %r3; .param .b32 q0;\ncall.uni (q0), twice, (p0);\n"
	"ld.param.b32 %r4, [q0]; }\nmul.wide.u32 %d3, %r2, 4;\nadd.s64 %d4, %d2, %d3;\n"
	"st.global.u32 [%d4], %r4;\n$L2:\nret;\n}\n",
	HEADER
	".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<6>;\n.reg .b16 %h<6>;\n"
	".reg .b32 %r<24>;\n.reg .b64 %d<8>;\n.reg .f32 %f<10>;\n.shared .align 16 .b8 sm[2048];\n"
	"ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, sm;\nmad.lo.s32 %r3, %r1, 16, %r2;\n"
	"mul.wide.u32 %d2, %r1, 16;\nadd.s64 %d3, %d1, %d2;\n"
	"cp.async.cg.shared.global [%r3], [%d3], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\n"
	"bar.sync 0;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];\n"
	"mov.b32 %f1, 0f3F800000;\n"
	"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2,%f3,%f4,%f5}, {%r4,%r5,%r6,%r7}, "
	"{%r4,%r5}, {%f1,%f1,%f1,%f1};\nshfl.sync.bfly.b32 %r8|%p1, %r4, 1, 31, -1;\n"
	"cvt.rn.f16x2.f32 %r9, %f2, %f3;\nmov.b32 {%h1, %h2}, %r9;\nvote.sync.ballot.b32 %r10, %p1, -1;\n"
	"redux.sync.add.s32 %r11, %r10, -1;\natom.global.add.u32 %r12, [%d1], 1;\n"
	"selp.b32 %r13, %r11, %r12, %p1;\nprmt.b32 %r14, %r13, %r12, 0x5410;\n"
	"lop3.b32 %r15, %r14, %r13, %r12, 0xe8;\nst.global.v4.u32 [%d3], {%r15, %r14, %r13, %r12};\n"
	"bar.red.popc.u32 %r16, 0, %p1;\nret;\n}\n",
};
static const char *const pieces[] = {
	"%r1", "%d1", "%p1", "%f1", "[", "]", "{", "}", ";", ",", ".u32", ".s64", ".f16x2", ".b128", "0",
	"-1", "0xffffffff", "4294967296", "bra $L1;", "ret;", "@%p1 ", "@!%p2 ", "exit;", "bar.sync 0;",
	".v4", ".global", ".shared", ".param", "ld", "st", "add.s32 %r1, %r1, 1;\n", "$L9:", "trap;",
	".reg .b32 %q<1000000000>;", "99999999999999999999", "(", ")", "%tid.x", "0f", "1e99", "//", "/*",
	"\"", ".align 4096", "[1<<30]", "mov.b64 {%r1,%r2}, %d1;", "mma.sync.aligned", "call", "brx.idx",
};

static uint32_t state;
static uint32_t
rnd(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

enum { ROOM = 8192 };

static void
splice(char *text, size_t at, size_t cut, const char *with, size_t n)
{
	size_t len = strlen(text);

	if (at > len)
		at = len;
	if (cut > len - at)
		cut = len - at;
	if (len - cut + n >= ROOM)
		return;
	memmove(text + at + n, text + at + cut, len - at - cut + 1);
	memcpy(text + at, with, n);
}

static void
mutate(char *text)
{
	size_t len = strlen(text), at = len ? rnd() % len : 0;
	const char *p = pieces[rnd() % (sizeof pieces / sizeof *pieces)];
	char part[64];
	size_t n, from;

	switch (rnd() % 7) {
	case 0: text[at] = (char)(rnd() % 95 + 32); break;
	case 1: splice(text, at, rnd() % 20, "", 0); break;
	case 2: splice(text, at, 0, p, strlen(p)); break;
	case 3: splice(text, at, rnd() % 8, p, strlen(p)); break;
	case 4:                 /* copy a part elsewhere */
		n = rnd() % 60;
		from = len ? rnd() % len : 0;
		n = n < len - from ? n : len - from;
		memcpy(part, text + from, n);
		splice(text, at, 0, part, n);
		break;
	case 5:                 /* a digit */
		while (text[at] && (text[at] < '0' || text[at] > '9'))
			at++;
		if (text[at])
			text[at] = (char)('0' + rnd() % 10);
		break;
	default:
		if (rnd() % 8 == 0)
			text[at] = (char)(rnd() % 255 + 1);
		else if (rnd() % 8 == 0)
			text[at] = 0;
		break;
	}
}

static void
try_text(const char *text, unsigned long *ran)
{
	sim *s = sim_open();
	sim_module *m;
	sim_message msg;
	sim_entry_info e;
	int rc = sim_load(s, text, strlen(text), &m);

	ck_assert(rc == SIM_OK || rc == SIM_E_SOURCE || rc == SIM_E_NOMEM);
	if (rc == SIM_E_SOURCE) {
		ck_assert_msg(sim_message_at(s, 0, &msg), "no message for:\n%s", text);
		ck_assert(msg.text[0] && !strchr(msg.text, '\n'));
	}
	if (rc == SIM_OK && sim_entry_at(m, 0, &e)) {
		uint64_t out = sim_alloc(s, 2048, "out");
		unsigned char *block = calloc(1, e.param_bytes + 1u);
		sim_launch l = SIM_LAUNCH_INIT;
		sim_result *r;
		unsigned n = 20;

		sim_fill(s, out, 0, 2048);
		if (e.param_bytes >= 8)
			memcpy(block, &out, 8);
		if (e.param_bytes >= 12)
			memcpy(block + 8, &n, 4);
		l.params = block;
		l.param_bytes = e.param_bytes;
		l.block[0] = 48 + rnd() % 2 * 16;
		l.grid[0] = 1 + rnd() % 2;
		l.threads = 1;
		l.smem = rnd() % 2 * 512;
		l.checks = (int)(rnd() % 2);
		l.max_steps = 20000;
		rc = sim_run(s, m, e.name, &l, &r);
		ck_assert_int_ne(rc, SIM_E_NOMEM);
		sim_result_free(r);
		free(block);
		(*ran)++;
	}
	sim_close(s);
}

TEST_EACH(mutations, 3)
{
	char text[ROOM + 64];
	unsigned long ran = 0;
	int rounds = getenv("SIM_FUZZ") ? atoi(getenv("SIM_FUZZ")) : 1500;

	state = 12345u + (uint32_t)_i * 977u;
	for (int i = 0; i < rounds; i++) {
		int n = 1 + (int)(rnd() % 4);
		strcpy(text, seeds[rnd() % 2]);
		while (n--)
			mutate(text);
		if (getenv("SIM_FUZZ_SHOW")) {
			FILE *f = fopen("/tmp/sim_fuzz_last.ptx", "wb");
			fwrite(text, 1, strlen(text), f);
			fclose(f);
		}
		try_text(text, &ran);
	}
	ck_assert_uint_gt(ran, (unsigned long)rounds / 50);
}

TEST(seeds_run)
{
	unsigned long ran = 0;

	state = 1;
	for (int i = 0; i < 2; i++)
		try_text(seeds[i], &ran);
	ck_assert_uint_eq(ran, 2);
}

/* Deep nesting, long tokens and endless lists are refused without using up the stack. */
TEST(extremes)
{
	size_t n = 200000;
	char *text = malloc(n + 200);
	static const char fill[] = "({[-\"a1.,+!<";
	unsigned long ran = 0;

	for (size_t k = 0; k < sizeof fill - 1; k++) {
		strcpy(text, HEADER ".entry k() { .reg .b32 %r<3>; mov.u32 %r1, ");
		memset(text + strlen(text), fill[k], n);
		text[n + 60] = 0;
		try_text(text, &ran);
		strcpy(text, HEADER ".global .u32 x = ");
		size_t at = strlen(text);
		memset(text + at, fill[k], n - at);
		text[n] = 0;
		try_text(text, &ran);
	}
	free(text);
}

TEST_PROGRAM(.timeout = 300);
