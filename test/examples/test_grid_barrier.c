/* test_grid_barrier.c - tests barriers of the whole grid: on the tile interpreter, on the simulator with
 * several interleavings of the blocks and with parts of the barrier taken away, and in launches one after the
 * other. */
#include "lib/hexc.h"
#include "lib/hexc_gpu.h"
#include "lib/sim/sim.h"
#include "taskmap/support/support.h"
#include "test/check.h"
#include "test/examples/util_case.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300, BN = 64, STEPS = 3, BLOCKS = (N + BN - 1) / BN, SEEDS = 4 };

/* Each step averages neighbours, also those of other blocks; at the end each block reads another's part. */
static const char steps[] =
	"kernel steps(X: f32[N], Y: inout f32[N], Z: out f32[N], S: inout u32[2])\n"
	"    const BN = 64, WARPS = 2\n"
	"{\n"
	"    grid(ceil(N, BN));\n"
	"    let i = block.x * BN;\n"
	"    Y[i :+ BN] = X[i :+ BN];\n"
	"    for t in 0..3 {\n"
	"        grid_barrier(S[0]);\n"
	"        let l = fill(Y[i - 1 :+ BN], 0), r = fill(Y[i + 1 :+ BN], 0);\n"
	"        grid_barrier(S[1]);\n"
	"        Y[i :+ BN] = (l + r) * 0.5;\n"
	"    }\n"
	"    grid_barrier(S[1]);\n"
	"    Z[i :+ BN] = fill(Y[N - BN - i :+ BN], 0);\n"
	"}\n";

/* Multiples of 8: exact, whatever is added. */
static void
expect(const float *x, float *z)
{
	float y[N + 2] = { 0 }, next[N + 2] = { 0 };

	memcpy(y + 1, x, N * sizeof *x);
	for (int t = 0; t < STEPS; t++) {
		for (int i = 1; i <= N; i++)
			next[i] = (y[i - 1] + y[i + 1]) * 0.5f;
		memcpy(y, next, sizeof y);
	}
	for (int i = 0; i < N; i++) {
		int b = i / BN, at = N - BN - b * BN + i % BN;

		z[i] = at >= 0 && at < N ? y[at + 1] : 0;
	}
}

static void
fill(float *x)
{
	for (int i = 0; i < N; i++)
		x[i] = (float)((i * 37 + 11) % 101 * 8);
}

static hexc_module *
compiled(const char *source, const char *arch, hexc_ctx **ctx)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m = NULL;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;

	o.arch = arch;
	o.flags = HEXC_PROVE;
	ck_assert_int_eq(hexc_open(ctx, &o), HEXC_OK);
	if (hexc_compile(&m, *ctx, "steps.hexc", source, strlen(source)) != HEXC_OK)
		hexc_diag(*ctx, 0, &d);
	ck_assert_msg(m != NULL, "%s: %s", arch, d.text);
	return m;
}

static void
arguments(hexc_arg *arg, void *x, void *y, void *z, void *s)
{
	void *p[4] = { x, y, z, s };

	memset(arg, 0, 5 * sizeof *arg);
	for (int i = 0; i < 4; i++) {
		arg[i].ptr = p[i];
		arg[i].bytes = i == 3 ? 8 : N * sizeof(float);
	}
	arg[4].i = N;
}

/* ---- what the module says -------------------------------------------------------------------------- */

TEST(the_manifest_promises_a_cooperative_launch)
{
	static const char other[] =
		"kernel k(Y: out f32[N]) { grid(ceil(N, 64)); Y[block.x * 64 :+ 64] = 1; }";
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	hexc_ctx *ctx;
	hexc_module *m = compiled(steps, "sm_90a", &ctx), *again;
	char why[200];
	size_t n;
	void *bytes;

	ck_assert(hexc_kernel(m, 0, &info));
	ck_assert_uint_eq(info.cooperative, 1);
	ck_assert_uint_eq(info.pdl, 0);
	ck_assert_int_eq(hexc_module_save(m, NULL, 0, NULL, 0, &n), HEXC_OK);
	bytes = malloc(n);
	ck_assert_int_eq(hexc_module_save(m, NULL, 0, bytes, n, &n), HEXC_OK);
	ck_assert_msg(hexc_module_load(&again, bytes, n, why, sizeof why) == HEXC_OK, "%s", why);
	info.cooperative = 0;
	hexc_kernel(again, 0, &info);
	ck_assert_uint_eq(info.cooperative, 1);
	free(bytes);
	hexc_module_free(again);
	hexc_module_free(m);
	hexc_close(ctx);
	m = compiled(other, "sm_90a", &ctx);
	hexc_kernel(m, 0, &info);
	ck_assert_uint_eq(info.cooperative, 0);
	hexc_module_free(m);
	hexc_close(ctx);
}

/* ---- tile interpreter ------------------------------------------------------------------------------ */

TEST(the_tile_interpreter_alternates_between_blocks)
{
	hexc_ctx *ctx;
	hexc_module *m = compiled(steps, "sm_80", &ctx);
	_Alignas(16) float x[N], y[N], z[N], right[N];
	_Alignas(16) uint32_t s[2] = { 0, 0 };
	hexc_arg arg[5];

	fill(x);
	expect(x, right);
	for (int times = 1; times <= 3; times++) {
		arguments(arg, x, y, z, s);
		ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
		ck_assert_int_eq(memcmp(z, right, sizeof z), 0);
		ck_assert_uint_eq(s[0], times % 2 ? 1u << 31 : 0); /* 3 barriers */
		ck_assert_uint_eq(s[1], 0);                        /* 4 */
	}
	hexc_module_free(m);
	hexc_close(ctx);
}

static void
fails(const char *body, uint32_t before, const char *text)
{
	hexc_ctx *ctx;
	char source[700];
	_Alignas(16) float x[N] = { 0 }, y[N] = { 0 }, z[N];
	_Alignas(16) uint32_t s[2] = { before, 0 };
	hexc_arg arg[5];
	char why[400] = "";
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	hexc_module *m;

	snprintf(source, sizeof source,
	         "kernel k(X: f32[N], Y: inout f32[N], Z: out f32[N], S: inout u32[2])\n"
		 "{\n    grid(ceil(N, 64));\n    Z[block.x * 64 :+ 64] = X[block.x * 64 :+ 64];\n%s}\n",
	         body);
	m = compiled(source, "sm_80", &ctx);
	arguments(arg, x, y, z, s);
	o.why = why;
	o.why_size = sizeof why;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_E_SOURCE);
	ck_assert_msg(strstr(why, text) != NULL, "%s", why);
	hexc_module_free(m);
	hexc_close(ctx);
}

TEST(the_tile_interpreter_reports_what_is_wrong)
{
	fails("    if S[1] == 0 {\n        S[1] = 1;\n        grid_barrier(S[0]);\n    }\n", 0,
	      "deadlock: block 0,0,0 waits at the grid barrier in line 7, where 1 of 5 blocks have arrived, "
	      "and no remaining block");
	fails("    grid_barrier(S[0]);\n", 5, "set it to 0 before the first launch");
	fails("    grid_barrier(S[N - 298]);\n", 0, "out of bounds");
}

/* ---- simulator ------------------------------------------------------------------------------------- */

typedef struct Device {
	sim *s;
	uint64_t x, y, z, word;
	float right[N];
} Device;

static Device
device(void)
{
	Device d = { .s = sim_open() };
	float x[N];

	fill(x);
	expect(x, d.right);
	d.x = sim_alloc(d.s, sizeof x, "X");
	d.y = sim_alloc(d.s, sizeof x, "Y");
	d.z = sim_alloc(d.s, sizeof x, "Z");
	d.word = sim_alloc(d.s, 8, "S");
	ck_assert_int_eq(sim_write(d.s, d.x, x, sizeof x), SIM_OK);
	return d;
}

/* Runs the PTX with the words as they are; returns the simulator's result. l: limits of the launch. */
static int
launched(Device *d, const char *ptx, sim_launch l, char *why, size_t n)
{
	sim_module *m;
	sim_result *r = NULL;
	sim_fault fault;
	int64_t size = N;
	const void *arg[5] = { &d->x, &d->y, &d->z, &d->word, &size };
	int code;

	ck_assert_int_eq(sim_load(d->s, ptx, strlen(ptx), &m), SIM_OK);
	l.grid[0] = BLOCKS;
	l.block[0] = 64;
	l.args = arg;
	l.max_faults = 1;
	code = sim_run(d->s, m, "steps", &l, &r);
	snprintf(why, n, "%s", r && sim_fault_at(r, 0, &fault) ? fault.text : r ? sim_result_text(r) : "");
	sim_result_free(r);
	sim_unload(d->s, m);
	return code;
}

static bool
is_right(Device *d)
{
	float z[N];

	ck_assert_int_eq(sim_read(d->s, d->z, z, sizeof z), SIM_OK);
	return memcmp(z, d->right, sizeof z) == 0;
}

/* Does the simulator find a fault, in one of some interleavings? */
static bool
is_caught(Device *d, const char *ptx)
{
	static const sim_launch plain = SIM_LAUNCH_INIT;
	sim_launch l = plain;
	char why[300];

	for (l.seed = 0; l.seed < SEEDS; l.seed++) {
		sim_fill(d->s, d->word, 0, 8);
		if (launched(d, ptx, l, why, sizeof why) == SIM_E_FAULT)
			return true;
	}
	return false;
}

static const char *const archs[] = { "sm_75", "sm_80", "sm_90a", "sm_120a" };

TEST_EACH(blocks_wait_in_every_interleaving, COUNT_OF(archs))
{
	static const sim_launch plain = SIM_LAUNCH_INIT;
	sim_launch l = plain;
	hexc_ctx *ctx;
	hexc_module *m;
	Device d;
	char why[300];

	if (!example_on(archs[_i]))
		return;
	m = compiled(steps, archs[_i], &ctx);
	d = device();
	sim_fill(d.s, d.word, 0, 8);
	for (l.seed = 0; l.seed < 12; l.seed++) { /* the words are as the launch before left them */
		ck_assert_msg(launched(&d, hexc_ptx(m, NULL), l, why, sizeof why) == SIM_OK,
		              "%s, seed %d: %s", archs[_i], (int)l.seed, why);
		ck_assert(is_right(&d));
	}
	sim_close(d.s);
	hexc_module_free(m);
	hexc_close(ctx);
}

/* Parts of a barrier, of which each has to be there. */
static const char *const parts[] = {
	"fence.acq_rel.gpu; atom", " fence.acq_rel.gpu; done", "@p bra again", "bar.sync 0;",
};

TEST_EACH(each_part_is_missed, COUNT_OF(archs))
{
	hexc_ctx *ctx;
	hexc_module *m;
	Device d;

	if (!example_on(archs[_i]))
		return;
	m = compiled(steps, archs[_i], &ctx);
	d = device();
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		const char *ptx = hexc_ptx(m, NULL);
		int n = 0;

		for (const char *p = ptx; (p = strstr(p, parts[i])) != NULL; p++, n++) {
			char *text = strdup(ptx), *at = text + (p - ptx);

			/* the instruction alone */
			memset(at, ' ', i == 2 ? strcspn(at, ";") : strcspn(at + 1, ";") + 2);
			ck_assert_msg(is_caught(&d, text), "%s: right without %s number %d", archs[_i],
			              parts[i], n);
			free(text);
		}
		ck_assert_msg(n >= 3, "%s: %d times %s", archs[_i], n, parts[i]);
	}
	sim_close(d.s);
	hexc_module_free(m);
	hexc_close(ctx);
}

TEST(the_device_holds_all_blocks_or_none)
{
	static const sim_launch plain = SIM_LAUNCH_INIT;
	hexc_ctx *ctx;
	hexc_module *m = compiled(steps, "sm_80", &ctx);
	Device d = device();
	sim_launch l = plain;
	char why[300];

	for (l.threads = 1; l.threads <= 3; l.threads += 2) {
		sim_fill(d.s, d.word, 0, 8);
		l.resident = BLOCKS;
		ck_assert_msg(launched(&d, hexc_ptx(m, NULL), l, why, sizeof why) == SIM_OK, "%s", why);
		ck_assert(is_right(&d));
		l.resident = BLOCKS - 1;
		ck_assert_int_eq(launched(&d, hexc_ptx(m, NULL), l, why, sizeof why), SIM_E_FAULT);
		ck_assert_msg(strstr(why, "livelock") != NULL, "%s", why);
		l.cooperative = 1;
		ck_assert_int_eq(launched(&d, hexc_ptx(m, NULL), l, why, sizeof why), SIM_E_INVALID);
		ck_assert_str_eq(why, "the grid has 5 blocks, and the device holds 4 at a time; a "
		                      "cooperative launch requires all of them");
		l.cooperative = 0;
	}
	sim_close(d.s);
	hexc_module_free(m);
	hexc_close(ctx);
}

/* ---- launches of hexc_gpu -------------------------------------------------------------------------- */

/* Programs find the simulator's library beside libhexc, which is linked statically here. */
static void
find_simulator(void)
{
	const char *b = getenv("B");
	char path[300];

	snprintf(path, sizeof path, "%s/libhexc_sim.so.%d", b ? b : "build", HEXC_VERSION_MAJOR);
	ck_assert_msg(dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL, "%s", dlerror());
}

TEST(launches_are_cooperative)
{
	hexc_ctx *ctx;
	hexc_module *m = compiled(steps, "sm_90a", &ctx);
	hexc_gpu *g;
	hexc_gpu_module *gm;
	hexc_call *c;
	float x[N], z[N], right[N];
	uint32_t s[2] = { 0, 0 };
	void *p[4];
	hexc_arg arg[5];
	char why[300];

	find_simulator();
	fill(x);
	expect(x, right);
	ck_assert_msg(hexc_gpu_open(&g, HEXC_SIMULATOR(90), why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_int_eq(hexc_gpu_load(g, m, &gm), HEXC_OK);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(hexc_gpu_alloc(g, sizeof x, &p[i]), HEXC_OK);
	ck_assert_int_eq(hexc_gpu_write(g, p[0], x, sizeof x), HEXC_OK);
	ck_assert_int_eq(hexc_gpu_write(g, p[3], s, sizeof s), HEXC_OK);
	arguments(arg, p[0], p[1], p[2], p[3]);
	ck_assert_int_eq(hexc_call_new(&c, gm, 0), HEXC_OK);
	for (int i = 0; i < 4; i++)
		hexc_call_ptr(c, i, p[i], arg[i].bytes);
	hexc_call_int(c, 4, N);
	for (int times = 0; times < 4; times++) { /* the words need no reset */
		memset(z, 0, sizeof z);
		ck_assert_int_eq(hexc_gpu_write(g, p[2], z, sizeof z), HEXC_OK);
		if (times % 2)
			ck_assert_msg(hexc_gpu_launch(gm, 0, arg) == HEXC_OK, "%s", hexc_gpu_why(g));
		else
			ck_assert_msg(hexc_call_launch(c, NULL) == HEXC_OK, "%s", hexc_call_why(c));
		ck_assert_int_eq(hexc_gpu_read(g, z, p[2], sizeof z), HEXC_OK);
		ck_assert_int_eq(memcmp(z, right, sizeof z), 0);
	}
	/* 4 multiprocessors with 32 blocks of 64 threads each */
	arg[4].i = 129 * BN;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(hexc_gpu_alloc(g, 129 * BN * sizeof(float), &p[i]), HEXC_OK);
		arg[i].ptr = p[i];
		arg[i].bytes = 129 * BN * sizeof(float);
		hexc_call_ptr(c, i, p[i], arg[i].bytes);
	}
	hexc_call_int(c, 4, 129 * BN);
	ck_assert_int_eq(hexc_call_launch(c, NULL), HEXC_E_ARGS);
	ck_assert_str_eq(hexc_call_why(c), "steps: the grid has 129 blocks, which wait for each other at a "
	                                   "grid barrier, but the device holds 128 of them at a time; launch "
	                                   "fewer, with more work each");
	ck_assert_int_eq(hexc_gpu_launch(gm, 0, arg), HEXC_E_ARGS);
	ck_assert_str_eq(hexc_gpu_why(g), hexc_call_why(c));
	hexc_call_free(c);
	hexc_gpu_close(g);
	hexc_module_free(m);
	hexc_close(ctx);
}

TEST_PROGRAM(.timeout = 900);
