/* test_calls.c - tests calls: CUDA C by nvcc plain, with line information and for debugging; and hand-written
 * PTX. */
#include <stdint.h>
#include <unistd.h>
#include "test/sim/cases.h"
#include "test/sim/nvcc.h"
#include "test/check.h"

enum { LANES = 40 };
static const char *const options[] = { "-arch=sm_75", "-arch=sm_80 -lineinfo", "-arch=sm_80 -G",
        "-arch=sm_90a" };
enum { NOPTION = sizeof options / sizeof *options };
static char *ptx[NOPTION];

static bool compiled; /* there is an nvcc */

static bool
compile(void)
{
	char dir[] = "/tmp/simcallsXXXXXX", cmd[600], file[100];

	if (!nvcc_here() || !mkdtemp(dir))
		return false;
	for (int i = 0; i < NOPTION; i++) {
		snprintf(file, sizeof file, "%s/k.ptx", dir);
		snprintf(cmd, sizeof cmd,
		         "nvcc -Wno-deprecated-gpu-targets %s -ptx -o %s test/sim/exec/calls.cu", options[i],
		         file);
		if (system(cmd) != 0)
			return false;
		ptx[i] = read_text(file);
		unlink(file);
	}
	rmdir(dir);
	return true;
}

static int
run(sim *s, const char *text, const char *entry, unsigned blocks, unsigned threads, const void *arg,
    sim_result **r)
{
	const void *args[] = { arg };
	sim_launch l = SIM_LAUNCH_INIT;

	l.grid[0] = blocks;
	l.block[0] = threads;
	l.args = args;
	return sim_run(s, must_load(s, text), entry, &l, r);
}

static void
values(const char *text, const char *entry, int threads, const int *want)
{
	sim *s = sim_open();
	uint64_t p = sim_alloc(s, 4 * LANES, "o");
	int got[LANES], code;
	sim_result *r;

	code = run(s, text, entry, 1, (unsigned)threads, &p, &r);
	print_faults(r);
	ck_assert_int_eq(code, SIM_OK);
	sim_read(s, p, got, sizeof got);
	for (int i = 0; i < threads; i++)
		ck_assert_msg(got[i] == want[i], "%s thread %d: %d, not %d", entry, i, got[i], want[i]);
	sim_result_free(r);
	sim_close(s);
}

/* ---- what the kernels of calls.cu compute, on the host ---- */
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
static int h_fib(int t) { return fib(t % 13); }
static int h_ack(int t) { return ack(t % 3, t % 4); }
static int h_sort(int t) { return t >= 0; }
static int h_virtual(int t) { return t & 1 ? (t + 2) * t : (t + 2) * (t + 2); }
static int h_malloc(int t) { return t * (t + 1) / 2; }
static int
h_pointer(int t)
{
	int x = t % 3 == 0 ? t + 5 : t % 3 == 1 ? t - 5 : t * 5;

	return x + 1000 * (t % 2 ? t + 2 : t * 2);
}
static int
h_struct(int t)
{
	int a[5], sum = 4 * t;

	for (int i = 0; i < 5; i++)
		a[i] = i + t;
	a[t % 5] += t;
	a[(t + 1) % 5] += t + 1;
	for (int i = 0; i < 5; i++)
		sum += a[i] * (i + 1);
	return sum;
}

static const struct { const char *name; int (*host)(int); } kernels[] = {
	{ "k_fib", h_fib }, { "k_ack", h_ack }, { "k_pointer", h_pointer }, { "k_struct", h_struct },
	{ "k_sort", h_sort }, { "k_virtual", h_virtual }, { "k_malloc", h_malloc },
};
enum { NKERNEL = sizeof kernels / sizeof *kernels };

TEST_EACH(nvcc, compiled ? NOPTION * NKERNEL : 0)
{
	int want[LANES];

	for (int i = 0; i < LANES; i++)
		want[i] = kernels[_i % NKERNEL].host(i);
	values(ptx[_i / NKERNEL], kernels[_i % NKERNEL].name, LANES, want);
}

TEST_EACH(printing, compiled ? NOPTION : 0)
{
	char want[2000];
	sim *s = sim_open();
	sim_result *r;
	int n = 42;
	size_t len, at = 0;

	for (int b = 0; b < 3; b++)
		for (int t = 0; t < 2; t++)
			at += (size_t)snprintf(want + at, sizeof want - at,
			                       "block %d thread %d text|%5.2f|%-6d|%06x|%c|%lld|%e|%*d%%\n",
			                       b, t, 1.5 * t, n,
			                       (unsigned)n, 'A' + t, 123456789012ll, 0.001, 4, 7);
	ck_assert_int_eq(run(s, ptx[_i], "k_printf", 3, 64, &n, &r), SIM_OK);
	ck_assert_str_eq(sim_result_output(r, &len), want);
	ck_assert_uint_eq(len, at);
	sim_result_free(r);
	sim_close(s);
}

TEST_EACH(failing, compiled ? NOPTION : 0)
{
	sim *s = sim_open();
	uint64_t p = sim_alloc(s, 4 * LANES, "o");
	sim_result *r;
	sim_fault f;

	ck_assert_int_eq(run(s, ptx[_i], "k_assert", 1, 32, &p, &r), SIM_E_FAULT);
	ck_assert(sim_fault_at(r, 0, &f));
	ck_assert_int_eq(f.kind, SIM_FAULT_ASSERT);
	ck_assert_uint_eq(f.at.thread[0], 3);
	ck_assert_msg(strstr(f.text, "calls.cu:") && strstr(f.text, "k_assert") &&
	                      strstr(f.text, "threadIdx.x < 3"),
	              "%s", f.text);
	sim_result_free(r);
	ck_assert_int_eq(run(s, ptx[_i], "k_twice", 1, 1, &p, &r), SIM_E_FAULT);
	ck_assert(sim_fault_at(r, 0, &f));
	ck_assert_int_eq(f.kind, SIM_FAULT_HEAP);
	sim_result_free(r);
	sim_close(s);
}

/* ---- by hand ---- */
#define REGS ".reg .pred %p<4>;\n.reg .b32 %r<20>;\n.reg .b64 %d<20>;\n"
#define START HEADER
#define ENTRY(body) ".visible .entry k(.param .u64 o)\n{\n" REGS "ld.param.u64 %d1, [o];\n" \
	"mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d2, %d1, %d2;\n" body \
	"st.global.u32 [%d2], %r2;\nret;\n}\n"
#define TWICE ".func (.param .b32 z) twice(.param .b32 a)\n{\n" REGS \
	"ld.param.u32 %r1, [a];\nadd.u32 %r1, %r1, %r1;\nst.param.b32 [z], %r1;\nret;\n}\n"
#define PLUS1 ".func (.param .b32 z) plus1(.param .b32 a)\n{\n" REGS \
	"ld.param.u32 %r1, [a];\nadd.u32 %r1, %r1, 1;\nst.param.b32 [z], %r1;\nret;\n}\n"
#define SUM ".func (.param .b32 z) sum(.param .b32 a)\n{\n" REGS \
	".local .b32 here;\nld.param.u32 %r1, [a];\nst.local.u32 [here], %r1;\nsetp.eq.u32 %p1, %r1, 0;\n" \
	"@%p1 bra END;\nsub.u32 %r2, %r1, 1;\n{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r2;\n" \
	"call (y), sum, (x);\nld.param.b32 %r3, [y];\n}\nld.local.u32 %r4, [here];\n" \
	"add.u32 %r1, %r3, %r4;\n" \
	"END:\nst.param.b32 [z], %r1;\nret;\n}\n"
#define ALLOCA ".func (.param .b32 z) stack(.param .b32 a)\n{\n" REGS \
	"ld.param.u32 %r1, [a];\nstacksave.u64 %d9;\nmul.wide.u32 %d1, %r1, 4;\nadd.u64 %d1, %d1, 4;\n" \
	"alloca.u64 %d2, %d1, 16;\nmul.wide.u32 %d3, %r1, 4;\nadd.u64 %d3, %d3, %d2;\n" \
	"st.local.u32 [%d3], %r1;\n" \
	"ld.local.u32 %r2, [%d3];\nstackrestore.u64 %d9;\nst.param.b32 [z], %r2;\nret;\n}\n"
static int id(int t) { return t; }
static int twice(int t) { return 2 * t; }
static int gauss(int t) { return t * (t + 1) / 2; }
static int either(int t) { return t & 1 ? t + 1 : 2 * t; }

static const struct { const char *text; int (*host)(int); int threads; } hand[] = {
	{ START ".func (.param .b32 z) t2(.param .b32 a);\n" TWICE ".alias t2, twice;\n"
	  ENTRY("{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r1;\ncall (y), t2, (x);\n"
	        "ld.param.b32 %r2, [y];\n}\n"), twice, 33 },
	{ START SUM ENTRY("{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r1;\n"
	                  "call.uni (y), sum, (x);\n"
	                  "ld.param.b32 %r2, [y];\n}\n"), gauss, 33 },
	{ START ALLOCA ENTRY("{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r1;\n"
	                     "call (y), stack, (x);\n"
	                     "ld.param.b32 %r2, [y];\n}\n"), id, 33 },
	{ START TWICE PLUS1
	  ENTRY("F: .callprototype (.param .b32 _) _ (.param .b32 _);\nand.b32 %r3, %r1, 1;\n"
	        "setp.eq.u32 %p1, %r3, 1;\n"
	        "mov.u64 %d5, twice;\nmov.u64 %d6, plus1;\nselp.b64 %d5, %d6, %d5, %p1;\n"
	        "{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r1;\ncall (y), %d5, (x), F;\n"
	        "ld.param.b32 %r2, [y];\n}\n"), either, 40 },
	{ START TWICE PLUS1 ".global .align 8 .u64 tab[2] = { twice, plus1 };\n"
	  ENTRY("T: .calltargets twice, plus1;\nand.b32 %r3, %r1, 1;\nmul.wide.u32 %d5, %r3, 8;\n"
	        "mov.u64 %d6, tab;\n"
	        "add.u64 %d5, %d5, %d6;\nld.global.u64 %d5, [%d5];\n{\n.param .b32 x;\n.param .b32 y;\n"
	        "st.param.b32 [x], %r1;\ncall (y), %d5, (x), T;\nld.param.b32 %r2, [y];\n}\n"), either, 40 },
};
enum { NHAND = sizeof hand / sizeof *hand };

TEST_EACH(by_hand, NHAND)
{
	int want[LANES];

	for (int i = 0; i < LANES; i++)
		want[i] = hand[_i].host(i);
	if (have_ptxas())
		must_assemble(hand[_i].text, "sm_80");
	values(hand[_i].text, "k", hand[_i].threads, want);
}

/* Faults: the word the text must have. */
#define VIA(what) ENTRY("F: .callprototype (.param .b32 _) _ (.param .b32 _);\n{\n.param .b32 x;\n" \
                        ".param .b32 y;\n" \
	"st.param.b32 [x], %r1;\n" what "\ncall (y), %d5, (x), F; //here\nld.param.b32 %r2, [y];\n}\n")
static const struct { const char *text, *word; } wrong[] = {
	{ START TWICE VIA("mov.u64 %d5, 64;"), "is not a function" },
	{ START TWICE ".func none()\n{\nret;\n}\n" VIA("mov.u64 %d5, none;"), "has other parameters" },
	{ START ".func (.param .b64 z) wide(.param .b64 a)\n{\nret;\n}\n" VIA("mov.u64 %d5, wide;"),
	  "has parameters of other sizes" },
	{ START ".func down()\n{\ncall down; //here\nret;\n}\n" ENTRY("mov.u32 %r2, 1;\ncall down;\n"),
	  "stack overflow" },
};
enum { NWRONG = sizeof wrong / sizeof *wrong };

TEST_EACH(faults, NWRONG)
{
	sim *s = sim_open();
	uint64_t p = sim_alloc(s, 4 * LANES, "o");
	sim_result *r;
	sim_fault f;

	if (have_ptxas())
		must_assemble(wrong[_i].text, "sm_80");
	ck_assert_int_eq(run(s, wrong[_i].text, "k", 1, 32, &p, &r), SIM_E_FAULT);
	ck_assert(sim_fault_at(r, 0, &f));
	ck_assert_int_eq(f.kind, SIM_FAULT_CALL);
	ck_assert_uint_eq(f.at.line, line_of(wrong[_i].text, "//here"));
	ck_assert_msg(strstr(f.text, wrong[_i].word) != NULL, "%s", f.text);
	sim_result_free(r);
	sim_close(s);
}

/* What the loader refuses, with the line of the mark. */
static const struct { const char *text, *word; } refused[] = {
	{ START ".extern .func far();\n" ENTRY("mov.u32 %r2, 1;\ncall far; //here\n"),
	  "has no body in this module" },
	{ START TWICE ENTRY("call twice; //here\n"), "takes 1 arguments" },
	{ START ENTRY("mov.u32 %r2, 1;\ncall %d1, (%r2); //here\n"), "callprototype" },
	{ START ENTRY("mov.u64 %d4, k; //here\n"), "is an entry" },
	{ START ".func a();\n.func b();\n.alias a, b;\n.alias b, a;\n" ENTRY("call a; //here\n"),
	  "is not a function" },
};
enum { NREFUSED = sizeof refused / sizeof *refused };

TEST_EACH(refusals, NREFUSED)
{
	sim *s = sim_open();
	sim_module *m;
	sim_message msg;

	ck_assert_int_eq(sim_load(s, refused[_i].text, strlen(refused[_i].text), &m), SIM_E_SOURCE);
	ck_assert(sim_message_at(s, 0, &msg));
	ck_assert_msg(strstr(msg.text, refused[_i].word) != NULL, "%s", msg.text);
	ck_assert_uint_eq(msg.line, line_of(refused[_i].text, "//here"));
	sim_close(s);
}

static int
start(int argc, char **argv)
{
	(void)argc, (void)argv;
	compiled = compile();
	return RUN_TESTS;
}

static int
passed(void)
{
	if (compiled)
		return EXIT_SUCCESS;
	puts("no nvcc: only the calls written by hand were run");
	return SKIPPED;
}

TEST_PROGRAM(.start = start, .passed = passed, .timeout = 60);
