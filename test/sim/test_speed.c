/* test_speed.c - measures the simulator's speed: prints thread instructions per second of processor time.
 * With SIM_SPEED=1 it fails below 100 million, or if checks and counts together cost more than three times;
 * without, below 10 million or at four times, since other work may share the machine. */
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include "lib/hexc.h"
#include "test/sim/nvcc.h"
#include "test/sim/simtest.h"
#include "test/check.h"

#define HEAD ".version 8.4\n.target sm_89\n.address_size 64\n" \
	".entry k(.param .u64 a, .param .u64 b)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<30>;\n" \
	".reg .f32 %f<20>;\n.reg .b64 %d<10>;\n.shared .align 16 .b8 sm[16384];\n" \
	"ld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n" \
	"mad.lo.u32 %r3, %r2, 256, %r1;\nmul.wide.u32 %d3, %r3, 16;\nadd.s64 %d4, %d1, %d3;\n" \
	"add.s64 %d5, %d2, %d3;\nmov.u32 %r4, 0;\nmov.b32 %f1, 0f3f800000;\nmov.b32 %f2, %f1;\n" \
	"mov.u32 %r5, %r3;\nmov.u32 %r20, sm;\nshl.b32 %r21, %r1, 4;\nadd.s32 %r20, %r20, %r21;\n"
#define TAIL(n) "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, " #n ";\n@%p1 bra L;\n" \
	"cvt.rn.f32.u32 %f3, %r5;\nadd.f32 %f2, %f2, %f3;\nst.global.f32 [%d5], %f2;\nret;\n}\n"

#define FILL "st.shared.v4.f32 [%r20], {%f1,%f1,%f1,%f1};\n"
#define LOAD "ld.global.v4.b32 {%r6,%r7,%r8,%r9}, [%d4];\nmov.b32 %f4, %f1;\nmov.b32 %f5, %f1;\n" \
	"mov.b32 %f6, %f1;\nmov.b32 %f7, %f1;\nmov.b32 %r12, %r6;\nmov.b32 %r13, %r6;\n" \
	"mov.b32 %r14, %r6;\nmov.b32 %r15, %r6;\n"
#define MMA(kind, acc) "mma.sync.aligned." kind " " acc ", {%r6,%r7,%r8,%r9}, {%r6,%r7}, " acc ";\n"
#define MMA8(kind, acc) MMA(kind, acc) MMA(kind, acc) MMA(kind, acc) MMA(kind, acc) MMA(kind, acc) \
	MMA(kind, acc) MMA(kind, acc) MMA(kind, acc)

static const struct { const char *name, *text; } kernels[] = {
	{ "arithmetic", HEAD "L:\n" "fma.rn.f32 %f2, %f2, %f1, %f1;\n"
	                            "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\n"
	  "and.b32 %r6, %r5, 7;\nsetp.gt.u32 %p2, %r6, 3;\nselp.b32 %r7, %r5, %r6, %p2;\n"
	  "xor.b32 %r5, %r5, %r7;\nshr.u32 %r8, %r5, 3;\nadd.u32 %r5, %r5, %r8;\n" TAIL(100) },
	{ "divergence", HEAD "L:\n" "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r6, %r5, 20;\n"
	  "and.b32 %r6, %r6, 3;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra M;\nadd.u32 %r5, %r5, 3;\n"
	  "mul.f32 %f2, %f2, %f1;\nadd.f32 %f2, %f2, %f1;\nM:\nadd.u32 %r5, %r5, %r6;\n" TAIL(100) },
	{ "memory", HEAD "L:\n" "ld.global.v4.f32 {%f4,%f5,%f6,%f7}, [%d4];\nadd.f32 %f4, %f4, %f5;\n"
	  "add.f32 %f6, %f6, %f7;\nadd.f32 %f4, %f4, %f6;\nst.shared.v4.f32 [%r20], {%f4,%f5,%f6,%f7};\n"
	  "bar.sync 0;\nld.shared.f32 %f8, [%r20];\nmul.f32 %f8, %f8, %f1;\nfma.rn.f32 %f2, %f8, %f1, %f2;\n"
	  "add.u32 %r5, %r5, 1;\nxor.b32 %r6, %r5, %r4;\nadd.u32 %r5, %r5, %r6;\nbar.sync 0;\n" TAIL(40) },
	{ "mma", HEAD FILL "L:\n" "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6,%r7,%r8,%r9}, [%r20];\n"
	  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4,%f5,%f6,%f7}, {%r6,%r7,%r8,%r9}, "
	  "{%r6,%r7}, {%f1,%f1,%f1,%f1};\nadd.u32 %r5, %r5, 1;\nxor.b32 %r11, %r5, %r4;\n"
	  "add.u32 %r5, %r5, %r11;\nadd.u32 %r12, %r5, %r11;\n" TAIL(40) },
	/* eight of ten instructions are mma */
	{ "mma f16", HEAD LOAD "L:\n"
	  MMA8("m16n8k16.row.col.f32.f16.f16.f32", "{%f4,%f5,%f6,%f7}") TAIL(40) },
	{ "mma bf16", HEAD LOAD "L:\n"
	  MMA8("m16n8k16.row.col.f32.bf16.bf16.f32", "{%f4,%f5,%f6,%f7}") TAIL(40) },
	{ "mma f16 acc", HEAD LOAD "L:\n" MMA8("m16n8k16.row.col.f16.f16.f16.f16", "{%r12,%r13}") TAIL(40) },
	{ "mma s8", HEAD LOAD "L:\n"
	  MMA8("m16n8k32.row.col.s32.s8.s8.s32", "{%r12,%r13,%r14,%r15}") TAIL(40) },
	{ "mma e4m3", HEAD LOAD "L:\n"
	  MMA8("m16n8k32.row.col.f32.e4m3.e4m3.f32", "{%f4,%f5,%f6,%f7}") TAIL(40) },
	{ "mma tf32", HEAD LOAD "L:\n"
	  MMA8("m16n8k8.row.col.f32.tf32.tf32.f32", "{%f4,%f5,%f6,%f7}") TAIL(40) },
};

/* Million thread instructions a second of processor time, of the fastest of five runs. */
static double
fastest(sim *s, sim_module *m, const char *entry, const sim_launch *l)
{
	double best = 0;

	for (int i = 0; i < 5; i++) {
		sim_result *r;
		clock_t t = clock();
		int rc = sim_run(s, m, entry, l, &r);
		double secs = (double)(clock() - t) / CLOCKS_PER_SEC, v;
		if (rc != SIM_OK)
			print_faults(r);
		ck_assert_int_eq(rc, SIM_OK);
		v = (double)sim_stats_of(r)->all.threads / (secs > 0 ? secs : 1e-6) / 1e6;
		best = v > best ? v : best;
		sim_result_free(r);
	}
	return best;
}

static double
measure(const char *text, int checks)
{
	enum { BLOCKS = 16, BYTES = BLOCKS * 256 * 16 };
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	uint64_t a = sim_alloc(s, BYTES, "a"), b = sim_alloc(s, BYTES, "b");
	const void *args[] = { &a, &b };
	sim_launch l = SIM_LAUNCH_INIT;
	double best;

	sim_fill(s, a, 0, BYTES);
	l.grid[0] = BLOCKS;
	l.block[0] = 256;
	l.threads = 1;
	l.args = args;
	l.checks = l.counts = checks;
	best = fastest(s, m, "k", &l);
	sim_close(s);
	return best;
}

static void
judge(const char *name, double off, double on)
{
	int strict = getenv("SIM_SPEED") != NULL;

	printf("%-12s %6.0f M thread instructions/s, %6.0f with checks (1/%.1f)\n", name, off, on, off / on);
	fflush(stdout);
	if (!strict) /* the machine may be busy: times are compared on request only */
		return;
	if (strncmp(name, "mma", 3))    /* an mma stands for 64 multiply-adds of each lane */
		ck_assert_double_gt(off, 100);
	ck_assert_double_gt(on, off / 3);
}

TEST_EACH(speed, sizeof kernels / sizeof *kernels)
{
	judge(kernels[_i].name, measure(kernels[_i].text, 0), measure(kernels[_i].text, 1));
}

/* ---- products of n x n matrices by three producers of PTX --------------------------------------------- */

enum { HEXC, NVCC, TRITON };
static const struct { const char *name, *entry; int n; } products[] = {
	[HEXC] = { "f16 product", "gemm_f16", 256 },
	[NVCC] = { "nvcc product", "product", 128 },
	[TRITON] = { "triton product", "matmul", 256 },
};

static char *
beside(char *buf, size_t n, const char *file)
{
	const char *slash = strrchr(__FILE__, '/');

	snprintf(buf, n, "%.*s/%s", slash ? (int)(slash - __FILE__) : 1, slash ? __FILE__ : ".", file);
	return buf;
}

/* PTX of the f16 product of examples/; its shared memory in *smem. */
static char *
our_ptx(uint32_t *smem)
{
	char path[600], *src = read_text(beside(path, sizeof path, "../../examples/gemm_f16.hexc")), *ptx;
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	hexc_module *m;
	hexc_ctx *c;

	ck_assert_ptr_nonnull(src);
	ck_assert_int_eq(hexc_open(&c, NULL), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, c, path, src, strlen(src)), HEXC_OK);
	ck_assert_int_eq(hexc_kernel(m, 0, &k), 1);
	*smem = k.smem;
	ptx = strdup(hexc_ptx(m, NULL));
	hexc_module_free(m);
	hexc_close(c);
	free(src);
	return ptx;
}

/* NULL: there is no nvcc. */
static char *
nvcc_ptx(void)
{
	char dir[] = "/tmp/simspeedXXXXXX", path[600], out[40], cmd[800], *ptx;

	if (!nvcc_here() || !mkdtemp(dir))
		return NULL;
	snprintf(out, sizeof out, "%s/k.ptx", dir);
	snprintf(cmd, sizeof cmd, "nvcc -ptx -arch=sm_80 -o %s %s", out,
	         beside(path, sizeof path, "speed.cu"));
	ck_assert_int_eq(system(cmd), 0);
	ptx = read_text(out);
	unlink(out);
	rmdir(dir);
	return ptx;
}

static void
fill(sim *s, uint64_t p, size_t words)
{
	uint32_t x = 1, *w = malloc(4 * words);

	for (size_t i = 0; i < words; i++, x = x * 1664525u + 1013904223u)
		w[i] = (x & 0x83ff83ffu) | 0x30003000u;         /* small as f16 and as f32 */
	sim_write(s, p, w, 4 * words);
	free(w);
}

/* The fastest of some runs with everything off, then on; seconds of one on `threads` if that is not 0. */
static double
product(int which, int n, uint32_t threads, double *on)
{
	sim *s = sim_open();
	uint64_t a = sim_alloc(s, (size_t)n * (size_t)n * 4, "a"),
		 b = sim_alloc(s, (size_t)n * (size_t)n * 4, "b");
	uint64_t c = sim_alloc(s, (size_t)n * (size_t)n * 4, "c"), none = 0;
	int64_t n64 = n;
	const void *ours[] = { &a, &b, &c, &n64, &n64, &n64 }, *nvcc[] = { &a, &b, &c, &n };
	const void *triton[] = { &a, &b, &c, &n, &n, &n, &n, &n, &n, &none, &none };
	const void *const *args[] = { ours, nvcc, triton };
	sim_launch l = SIM_LAUNCH_INIT;
	char path[600], *text;
	double off = 0;
	sim_module *m;

	fill(s, a, (size_t)n * (size_t)n);
	fill(s, b, (size_t)n * (size_t)n);
	l.args = args[which];
	l.threads = threads ? threads : 1;
	if (which == HEXC) {
		text = our_ptx(&l.smem);
		l.grid[0] = l.grid[1] = (uint32_t)n / 128;
		l.block[0] = 128;
	} else if (which == NVCC) {
		text = nvcc_ptx();
		l.grid[0] = l.grid[1] = (uint32_t)n / 32;
		l.block[0] = 32;
		l.block[1] = 8;
	} else {
		text = read_text(beside(path, sizeof path, "triton/matmul_sm_80.ptx"));
		l.smem = 16384;
		l.grid[0] = (uint32_t)(n / 64 * (n / 64));
		l.block[0] = 128;
	}
	if (!text) {
		sim_close(s);
		return -1;
	}
	m = must_load(s, text);
	if (threads) {
		sim_result *r;
		ck_assert_int_eq(sim_run(s, m, products[which].entry, &l, &r), SIM_OK);
		off = sim_stats_of(r)->seconds;
		sim_result_free(r);
	} else {
		l.checks = l.counts = 0;
		off = fastest(s, m, products[which].entry, &l);
		l.checks = l.counts = 1;
		*on = fastest(s, m, products[which].entry, &l);
	}
	sim_close(s);
	free(text);
	return off;
}

TEST_EACH(speed_product, sizeof products / sizeof *products)
{
	double on = 0, off = product(_i, products[_i].n, 0, &on);

	if (off < 0)
		printf("%-12s skipped: no nvcc\n", products[_i].name);
	else
		judge(products[_i].name, off, on);
}

TEST(large_product)
{
	double secs = product(HEXC, 1024, 2, NULL);

	printf("f16 product of 1024 x 1024 x 1024, all checks, two threads: %.1f s\n", secs);
	fflush(stdout);
	ck_assert(!getenv("SIM_SPEED") || secs < 60);
}

/* wgmma: multiply-accumulates a second. */
TEST_EACH(wgmma, 4)
{
	static const struct { const char *name, *kind, *tail; } t[] = {
		{ "f16", "k16.f32.f16.f16", ", 1, 1, 0, 0" },
		        { "f16 by column", "k16.f32.f16.f16", ", 1, 1, 0, 1" },
		{ "e4m3", "k32.f32.e4m3.e4m3", ", 1, 1" }, { "s8", "k32.s32.s8.s8", "" },
	};
	static char text[8192];
	double rate[2] = { 0 };
	char *p = text;

	p += sprintf(p, ".version 8.4\n.target sm_90a\n.address_size 64\n.entry k()\n{\n"
	                ".reg .b32 %%c<64>, %%i, %%s;\n"
	             ".reg .b64 %%d0, %%d1;\n.reg .pred %%q, %%l;\n.shared .align 1024 .b8 sm[32768];\n"
	             "mov.u32 %%i, %%tid.x;\nshl.b32 %%i, %%i, 4;\nmov.u32 %%s, sm;\nadd.u32 %%s, %%s, %%i;\n"
	             "mov.u32 %%i, 0;\nF:\nst.shared.v4.b32 [%%s], {%%i,%%i,%%i,%%i};\n"
	             "add.u32 %%s, %%s, 2048;\n"
	             "add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%l, %%i, 16;\n@%%l bra F;\nfence.proxy.async;\n"
	             "bar.sync 0;\n"
	             "setp.eq.u32 %%q, 0, 0;\nmov.b64 %%d0, 0x4000004000010000;\n"
	             "mov.b64 %%d1, 0x4000004000010400;\n"
	             "mov.u32 %%i, 0;\n");
	for (int i = 0; i < 64; i++)
		p += sprintf(p, "mov.b32 %%c%d, 0;\n", i);
	p += sprintf(p, "wgmma.fence.sync.aligned;\nL:\n");
	for (int k = 0; k < 4; k++) {
		p += sprintf(p, "wgmma.mma_async.sync.aligned.m64n128%s {", t[_i].kind);
		for (int i = 0; i < 64; i++)
			p += sprintf(p, "%s%%c%d", i ? "," : "", i);
		p += sprintf(p, "}, %%d0, %%d1, %%q%s;\n", t[_i].tail);
	}
	sprintf(p, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
	           "add.u32 %%i, %%i, 1;\n"
	        "setp.lt.u32 %%l, %%i, 20;\n@%%l bra L;\nret;\n}\n");
	for (int checks = 0; checks < 2; checks++) {
		sim *s = sim_open();
		sim_module *m = must_load(s, text);
		sim_launch l = SIM_LAUNCH_INIT;
		l.grid[0] = 2;
		l.block[0] = 128;
		l.threads = 1;
		l.checks = checks;
		for (int i = 0; i < 3; i++) {
			sim_result *r;
			clock_t c = clock();
			int rc = sim_run(s, m, "k", &l, &r);
			double secs = (double)(clock() - c) / CLOCKS_PER_SEC;
			double v = (double)sim_stats_of(r)->mma_macs / (secs > 0 ? secs : 1e-6) / 1e9;
			print_faults(r);
			ck_assert_int_eq(rc, SIM_OK);
			rate[checks] = v > rate[checks] ? v : rate[checks];
			sim_result_free(r);
		}
		sim_close(s);
	}
	printf("wgmma %-13s %5.2f G multiply-accumulates/s, %5.2f with checks (1/%.1f)\n", t[_i].name,
	       rate[0], rate[1],
	       rate[0] / rate[1]);
	fflush(stdout);
	if (getenv("SIM_SPEED")) {
		ck_assert_double_gt(rate[0], 1.0);
		ck_assert_double_gt(rate[1], rate[0] / 3);
	}
}

/* Tensor copies and wgmma, in blocks of their own and in clusters of two: what Triton makes of a product of
 * f16 matrices of 256 x 512 and 512 x 256. */
static sim_tmap
map_of(uint64_t p, uint64_t rows, uint64_t cols)
{
	sim_tmap_desc d = SIM_TMAP_INIT;
	sim_tmap map;

	d.type = SIM_TMAP_F16;
	d.rank = 2;
	d.address = p;
	d.dim[0] = cols;
	d.dim[1] = rows;
	d.stride[0] = 2 * cols;
	d.box[0] = d.box[1] = 64;
	d.swizzle = SIM_SWIZZLE_128B;
	ck_assert_int_eq(sim_tmap_encode(&map, &d, NULL, 0), SIM_OK);
	return map;
}

TEST_EACH(tensor_copies, 2)
{
	enum { M = 256, N = 256, K = 512 };
	char path[600], *text = read_text(beside(path, sizeof path, "triton/matmul_tma_sm_90a.ptx"));
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	uint64_t a = sim_alloc(s, 2 * M * K, "a"), b = sim_alloc(s, 2 * K * N, "b");
	uint64_t c = sim_alloc(s, 2 * M * N, "c");
	sim_tmap ma = map_of(a, M, K), mb = map_of(b, K, N), mc = map_of(c, M, N);
	int n[] = { M, N, K };
	int64_t stride[] = { K, 1, N };
	uint64_t none = 0;
	const void *args[] = { &ma, &n[0], &n[2], &stride[0], &stride[1], &mb, &n[2], &n[1], &stride[2],
		&stride[1], &mc, &n[0], &n[1], &stride[2], &stride[1], &n[0], &n[1], &n[2], &none, &none };
	sim_launch l = SIM_LAUNCH_INIT;
	double off, on;

	fill(s, a, M * K / 2);
	fill(s, b, K * N / 2);
	l.grid[0] = 4;
	l.block[0] = 128;
	l.cluster[0] = _i ? 2 : 0;
	l.smem = 65536;
	l.threads = 1;
	l.args = args;
	l.checks = l.counts = 0;
	off = fastest(s, m, "matmul_tma", &l);
	l.checks = l.counts = 1;
	on = fastest(s, m, "matmul_tma", &l);
	printf("tensor copies and wgmma%s: %5.1f M thread instructions/s, %5.1f with checks (1/%.1f)\n",
	       _i ? " in clusters" : "", off, on, off / on);
	fflush(stdout);
	if (getenv("SIM_SPEED"))
		ck_assert_double_gt(on, off / 3);
	sim_close(s);
	free(text);
}

static int
start(int argc, char **argv)
{
	(void)argc, (void)argv;
#if SANITIZED
	puts("sanitizers are on");
	return SKIPPED;
#endif
	return RUN_TESTS;
}

TEST_PROGRAM(.start = start, .timeout = 120);
