/* test_refusals.c - tests the errors of the runtime's functions that no other test covers, each with its code
 * and message: invalid arguments, structs of a newer header, sizes that cannot be computed. */
#include "test/lib/util_lib.h"
#include "test/ops/util_op.h"
#include "lib/hexc_cache.h"
#include "lib/hexc_plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_PROGRAM(.start = op_start);

#define NO_ARGUMENT(call) ck_assert_int_eq(call, HEXC_E_INVALID)
#define REFUSED(call, code, why, says)                                                                       \
	do {                                                                                                 \
		ck_assert_int_eq(call, code);                                                                \
		ck_assert_msg(strstr(why, says) != NULL, "%s: '%s', not '%s'", #call, why, says);           \
	} while (0)

static char why[600];

static hexc_gpu *
simulator(void)
{
	hexc_gpu *g;

	ck_assert_msg(hexc_gpu_open(&g, HEXC_SIMULATOR(80), why, sizeof why) == HEXC_OK, "%s", why);
	return g;
}

static hexc_gpu_module *
load(hexc_gpu *g, hexc_module **m, const char *src)
{
	hexc_gpu_module *gm;

	*m = lib_must(src, NULL);
	ck_assert_msg(hexc_gpu_load(g, *m, &gm) == HEXC_OK, "%s", hexc_gpu_why(g));
	return gm;
}

/* The simulator's own table has the shared memory of blocks that kernels are compiled for. */
TEST(shared_memory_of_a_block)
{
	static const struct {
		uint32_t sm, smem;
	} targets[] = {
#define TARGET(name, sm, ptx, llvm, smem, ...) { sm, smem },
#include "hexc/ir/targets.def"
	};

	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		hexc_gpu_info info = HEXC_GPU_INFO_INIT;
		hexc_gpu *g;

		ck_assert_int_eq(hexc_gpu_open(&g, HEXC_SIMULATOR(targets[i].sm), why, sizeof why), HEXC_OK);
		hexc_gpu_describe(g, &info);
		ck_assert_uint_eq(info.shared, targets[i].smem);
		hexc_gpu_close(g);
	}
}

/* PTX for sm_80 runs on 8.6, but not if its blocks need more shared memory than those of 8.6 have. */
TEST(too_much_shared_memory)
{
	static const char src[] = "kernel k(A: f32[N, 64], B: out f32[N, 64])\n"
				  "{ grid(1); let a: shared = A[0 :+ 512, :]; B[0 :+ 512, :] = a + 1; }\n";
	hexc_gpu_module *gm;
	hexc_arg arg[3];
	hexc_module *m;
	hexc_gpu *g;
	void *p;

	ck_assert_int_eq(hexc_gpu_open(&g, HEXC_SIMULATOR(86), why, sizeof why), HEXC_OK);
	gm = load(g, &m, src);
	ck_assert_int_eq(hexc_gpu_alloc(g, 512 * 64 * 4, &p), HEXC_OK);
	memset(arg, 0, sizeof arg);
	arg[0].ptr = arg[1].ptr = p;
	arg[2].i = 512;
	ck_assert_int_eq(hexc_gpu_launch(gm, 0, arg), HEXC_E_DEVICE);
	ck_assert_ptr_nonnull(strstr(hexc_gpu_why(g), "cuFuncSetAttribute"));
	hexc_gpu_close(g);
	hexc_module_free(m);
}

TEST(devices)
{
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	hexc_gpu *g = simulator(), *none;
	hexc_gpu_module *gm;
	hexc_module *m;
	hexc_arg arg[4];
	double us;
	void *p;
	char c;

	memset(arg, 0, sizeof arg);
	NO_ARGUMENT(hexc_gpu_open(NULL, 0, why, sizeof why));
	NO_ARGUMENT(hexc_gpu_open(&none, 0, NULL, 1));
	NO_ARGUMENT(hexc_gpu_adopt(NULL, NULL, why, sizeof why));
	REFUSED(hexc_gpu_open(&none, HEXC_SIMULATOR(42), why, sizeof why), HEXC_E_DEVICE, why,
	        "no architecture for compute capability 4.2");
	ck_assert_ptr_null(none);
	ck_assert_int_eq(hexc_gpu_describe(NULL, &info), 0);
	ck_assert_int_eq(hexc_gpu_runs(NULL, "sm_80"), 0);
	ck_assert_int_eq(hexc_gpu_runs(g, NULL), 0);
	NO_ARGUMENT(hexc_gpu_alloc(NULL, 1, &p));
	NO_ARGUMENT(hexc_gpu_alloc(g, 1, NULL));
	NO_ARGUMENT(hexc_gpu_free(NULL, &c));
	NO_ARGUMENT(hexc_gpu_write(NULL, &c, &c, 1));
	NO_ARGUMENT(hexc_gpu_write(g, &c, NULL, 1));
	NO_ARGUMENT(hexc_gpu_read(NULL, &c, &c, 1));
	NO_ARGUMENT(hexc_gpu_read(g, NULL, &c, 1));
	NO_ARGUMENT(hexc_gpu_cache(NULL, NULL));
	NO_ARGUMENT(hexc_gpu_wait(NULL));
	NO_ARGUMENT(hexc_gpu_launch(NULL, 0, arg));
	NO_ARGUMENT(hexc_gpu_launch_on(NULL, 0, arg, NULL));
	NO_ARGUMENT(hexc_gpu_time(NULL, 0, arg, 1, 1, &us));
	NO_ARGUMENT(hexc_gpu_load(NULL, NULL, &gm));
	gm = load(g, &m, lib_add);
	NO_ARGUMENT(hexc_gpu_load(g, m, NULL));
	NO_ARGUMENT(hexc_gpu_launch(gm, 0, NULL));
	NO_ARGUMENT(hexc_gpu_time(gm, 0, arg, 0, 1, &us));
	REFUSED(hexc_gpu_launch(gm, 3, arg), HEXC_E_INVALID, hexc_gpu_why(g), "the module has no kernel 3");
	REFUSED(hexc_gpu_time(gm, 3, arg, 1, 0, &us), HEXC_E_INVALID, hexc_gpu_why(g), "no kernel 3");
	REFUSED(hexc_gpu_time(gm, 0, arg, 1, 1, &us), HEXC_OK, hexc_gpu_why(g), "");
	hexc_gpu_unload(NULL);
	hexc_gpu_unload(gm);
	hexc_module_free(m);
	hexc_gpu_close(NULL);
	hexc_gpu_close(g);
}

/* Compiled up to an earlier pass: there is nothing to load. */
TEST(module_without_code)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_gpu *g = simulator();
	hexc_gpu_module *gm;
	hexc_module *m;

	o.flags = HEXC_NO_EMIT;
	m = lib_must(lib_add, &o);
	REFUSED(hexc_gpu_load(g, m, &gm), HEXC_E_INVALID, hexc_gpu_why(g), "no PTX");
	ck_assert_ptr_null(gm);
	hexc_module_free(m);
	hexc_gpu_close(g);
}

/* C has N * N * N elements, 2^30 each: more bytes than there are. */
static const char cubes[] = "kernel cubes(C: out f32[N, N, N])\n"
                            "{\n"
                            "    grid(1);\n"
                            "    C[0 :+ 1, 0 :+ 1, 0 :+ 32] = 0;\n"
                            "}\n";

TEST(calls)
{
	hexc_gpu *g = simulator();
	hexc_gpu_module *gm;
	hexc_module *m;
	hexc_call *c;
	uint64_t bytes;
	void *stream;
	int n;

	gm = load(g, &m, cubes);
	NO_ARGUMENT(hexc_call_new(NULL, gm, 0));
	NO_ARGUMENT(hexc_call_int(NULL, 0, 1));
	NO_ARGUMENT(hexc_call_float(NULL, 0, 1));
	NO_ARGUMENT(hexc_call_bytes(NULL, 0, &bytes));
	NO_ARGUMENT(hexc_call_update(NULL, NULL, NULL));
	ck_assert_str_eq(hexc_call_why(NULL), "");
	ck_assert_int_eq(hexc_call_find(NULL, "C"), -1);
	hexc_call_free(NULL);
	ck_assert_int_eq(hexc_call_new(&c, gm, 0), HEXC_OK);
	ck_assert_int_eq(hexc_call_find(c, NULL), -1);
	n = hexc_call_find(c, "N");
	NO_ARGUMENT(hexc_call_bytes(c, 0, NULL));
	NO_ARGUMENT(hexc_call_bytes(c, 9, &bytes));
	ck_assert_int_eq(hexc_call_int(c, n, 4), HEXC_OK);
	REFUSED(hexc_call_bytes(c, n, &bytes), HEXC_E_INVALID, hexc_call_why(c), "cubes: N is not a tensor");
	ck_assert_int_eq(hexc_call_bytes(c, 0, &bytes), HEXC_OK);
	ck_assert_uint_eq(bytes, 4 * 4 * 4 * 4);
	ck_assert_int_eq(hexc_call_int(c, n, 1 << 30), HEXC_OK);
	REFUSED(hexc_call_bytes(c, 0, &bytes), HEXC_E_ARGS, hexc_call_why(c), "cannot be computed");
	hexc_call_free(c);
	NO_ARGUMENT(hexc_stream_new(&stream, NULL));
	NO_ARGUMENT(hexc_stream_new(NULL, g));
	NO_ARGUMENT(hexc_stream_free(NULL, g));
	ck_assert_int_eq(hexc_stream_free(g, NULL), HEXC_OK);
	hexc_event_free(NULL);
	ck_assert_ptr_null(hexc_event_handle(NULL));
	hexc_gpu_unload(gm);
	hexc_module_free(m);
	hexc_gpu_close(g);
}

/* Events outlive their GPU: they say so, and are freed. */
TEST(events_of_a_closed_gpu)
{
	hexc_gpu *g = simulator();
	hexc_event *e[3];
	double us;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(hexc_event_new(&e[i], g), HEXC_OK);
	ck_assert_int_eq(hexc_event_record(e[0], NULL), HEXC_OK);
	hexc_event_free(e[1]); /* from the middle of the list */
	hexc_gpu_close(g);
	ck_assert_int_eq(hexc_event_record(e[0], NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_event_wait(e[0]), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_event_us(e[0], e[2], &us), HEXC_E_INVALID);
	ck_assert_ptr_null(hexc_event_handle(e[0]));
	hexc_event_free(e[0]);
	hexc_event_free(e[2]);
}

/* All that can be asked of a call that is gone. */
static void
is_gone(hexc_call *c, const char *says)
{
	uint64_t bytes;
	void *node;

	REFUSED(hexc_call_launch(c, NULL), HEXC_E_INVALID, hexc_call_why(c), says);
	REFUSED(hexc_call_int(c, 1, 4), HEXC_E_INVALID, hexc_call_why(c), says);
	REFUSED(hexc_call_float(c, 1, 4), HEXC_E_INVALID, hexc_call_why(c), says);
	REFUSED(hexc_call_ptr(c, 0, why, 4), HEXC_E_INVALID, hexc_call_why(c), says);
	REFUSED(hexc_call_bytes(c, 0, &bytes), HEXC_E_INVALID, hexc_call_why(c), says);
	REFUSED(hexc_call_capture(c, NULL, &node), HEXC_E_INVALID, hexc_call_why(c), says);
	REFUSED(hexc_call_update(c, why, why), HEXC_E_INVALID, hexc_call_why(c), says);
	ck_assert_int_eq(hexc_call_find(c, "N"), -1);
}

/* Freed, its module unloaded, its GPU closed: it says so, and freeing it is no fault. */
TEST(calls_that_are_gone)
{
	hexc_gpu *g = simulator();
	hexc_gpu_module *gm, *other;
	hexc_module *m, *n;
	hexc_call *c[40];
	void *p;

	gm = load(g, &m, cubes);
	other = load(g, &n, cubes);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(hexc_call_new(&c[i], i < 30 ? gm : other, 0), HEXC_OK);
	ck_assert_int_eq(hexc_gpu_alloc(g, 256, &p), HEXC_OK);
	ck_assert_int_eq(hexc_call_ptr(c[1], 0, p, 256), HEXC_OK);
	ck_assert_int_eq(hexc_call_int(c[1], 1, 4), HEXC_OK);
	hexc_call_free(c[0]);
	is_gone(c[0], "the call was freed");
	hexc_call_free(c[0]);
	for (int i = 2; i < 17; i++) { /* 15 others, then one more */
		is_gone(c[0], "the call was freed");
		hexc_call_free(c[i]);
	}
	is_gone(c[0], "the call was freed");
	hexc_call_free(c[17]);
	is_gone(c[17], "the call was freed");
	is_gone(c[2], "the call was freed");
	ck_assert_int_eq(hexc_call_launch(c[1], NULL), HEXC_OK);
	hexc_gpu_unload(gm);
	hexc_module_free(m);
	is_gone(c[1], "its module is unloaded, or the GPU closed");
	hexc_call_free(c[1]);
	for (int i = 18; i < 29; i++)
		hexc_call_free(c[i]);
	hexc_gpu_close(g);
	hexc_module_free(n);
	for (int i = 29; i < 40; i++)
		is_gone(c[i], "its module is unloaded, or the GPU closed");
	for (int i = 29; i < 40; i++)
		hexc_call_free(c[i]);
}

/* ---- families ------------------------------------------------------------------------------------------ */

static const char table[] = "hexc-family 1\n"
                            "family cubes\n"
                            "take cubes when N > 3\n"
                            "take cubes when N * N * N * N > 7\n";

TEST(families)
{
	hexc_module *m = lib_must(cubes, NULL);
	const hexc_module *of = m;
	hexc_family_info info = HEXC_FAMILY_INFO_INIT;
	hexc_family_line l = HEXC_FAMILY_LINE_INIT;
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_gpu *g = simulator();
	hexc_bundle *b;
	hexc_family *f;
	hexc_family_call *c;
	hexc_arg arg[2];
	static char data[1 << 16];
	size_t n, at;
	uint64_t bytes;

	memset(arg, 0, sizeof arg);
	at = sizeof data;
	ck_assert_int_eq(hexc_bundle_save_families(&of, 1, "me", table, data, at, &n, why, sizeof why),
	                 HEXC_OK);
	ck_assert_int_eq(hexc_bundle_memory(&b, data, n, why, sizeof why), HEXC_OK);
	NO_ARGUMENT(hexc_family_open(NULL, b, NULL, NULL, why, sizeof why));
	NO_ARGUMENT(hexc_family_open(&f, NULL, NULL, NULL, why, sizeof why));
	NO_ARGUMENT(hexc_family_read(&f, b, NULL, 5, NULL, NULL, why, sizeof why));
	NO_ARGUMENT(hexc_family_wants(NULL, 5, NULL, NULL, why, sizeof why));
	ck_assert_int_eq(hexc_family_open(&f, b, NULL, NULL, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_family_describe(NULL, &info), 0);
	ck_assert_int_eq(hexc_family_param(NULL, 0, &p), 0);
	ck_assert_int_eq(hexc_family_param_find(NULL, "N"), -1);
	ck_assert_int_eq(hexc_family_at(NULL, 0, &l), 0);
	NO_ARGUMENT(hexc_family_pick(NULL, arg, &at, why, sizeof why));
	NO_ARGUMENT(hexc_family_pick(f, NULL, &at, why, sizeof why));
	REFUSED(hexc_family_pick(f, arg, &at, why, sizeof why), HEXC_E_ARGS, why,
	        "no entry of family cubes matches these sizes");
	NO_ARGUMENT(hexc_family_stage(NULL, 0, 0, NULL, NULL, NULL));
	NO_ARGUMENT(hexc_family_stage(f, 0, 9, NULL, NULL, NULL));
	NO_ARGUMENT(hexc_family_workspace(f, 9, arg, &bytes));
	NO_ARGUMENT(hexc_family_workspace(f, 0, arg, NULL));
	NO_ARGUMENT(hexc_family_args(f, 0, 9, arg, NULL, arg));
	NO_ARGUMENT(hexc_family_args(f, 0, 0, arg, NULL, NULL));
	NO_ARGUMENT(hexc_family_call_new(NULL, g, f));
	NO_ARGUMENT(hexc_family_call_new(&c, NULL, f));
	NO_ARGUMENT(hexc_family_call_ptr(NULL, 0, NULL, 0));
	NO_ARGUMENT(hexc_family_call_int(NULL, 0, 0));
	NO_ARGUMENT(hexc_family_call_float(NULL, 0, 0));
	NO_ARGUMENT(hexc_family_call_line(NULL, &at, &bytes));
	NO_ARGUMENT(hexc_family_call_workspace(NULL, NULL, 0));
	NO_ARGUMENT(hexc_family_call_launch(NULL, NULL));
	ck_assert_ptr_null(hexc_family_call_at(NULL, 0));
	ck_assert_str_eq(hexc_family_call_why(NULL), "");
	ck_assert_int_eq(hexc_family_call_new(&c, g, f), HEXC_OK);
	ck_assert_ptr_null(hexc_family_call_at(c, 0));
	REFUSED(hexc_family_call_ptr(c, 1, NULL, 0), HEXC_E_INVALID, hexc_family_call_why(c),
	        "N is an integer");
	REFUSED(hexc_family_call_int(c, 0, 0), HEXC_E_INVALID, hexc_family_call_why(c), "C is a tensor");
	REFUSED(hexc_family_call_int(c, 7, 0), HEXC_E_INVALID, hexc_family_call_why(c), "no such argument");
	REFUSED(hexc_family_call_launch(c, NULL), HEXC_E_ARGS, hexc_family_call_why(c), "N");
	ck_assert_int_eq(hexc_family_call_int(c, 1, 40), HEXC_OK);
	REFUSED(hexc_family_call_launch(c, NULL), HEXC_E_ARGS, hexc_family_call_why(c),
	        "C has no argument yet");
	hexc_family_call_free(NULL);
	hexc_gpu_close(g);
	ck_assert_int_eq(hexc_family_call_ptr(c, 0, why, 4 * 40 * 40 * 40), HEXC_OK);
	REFUSED(hexc_family_call_launch(c, NULL), HEXC_E_INVALID, hexc_family_call_why(c),
	        "its module is unloaded, or the GPU closed");
	hexc_family_call_free(c);
	hexc_family_close(NULL);
	hexc_family_close(f);
	hexc_bundle_close(b);
	hexc_module_free(m);
}

/* ---- structs of a newer header ------------------------------------------------------------------------- */

TEST(newer_structs)
{
	struct {
		hexc_plan_opts o;
		uint64_t more;
	} plan = { HEXC_PLAN_OPTS_INIT, 1 };
	struct {
		hexc_plan_work w;
		uint64_t more;
	} work = { HEXC_PLAN_WORK_INIT, 1 };
	struct {
		hexc_workers w;
		uint64_t more;
	} workers = { HEXC_WORKERS_INIT, 1 };
	struct {
		hexc_weight w;
		uint64_t more;
	} newer = { HEXC_WEIGHT_INIT, 1 };
	hexc_weight *w;
	hexc_file *f;
	hexc_plan *p;
	static float x[64 * 64];
	uint32_t id;

	plan.o.size = sizeof plan;
	work.w.size = sizeof work;
	workers.w.size = sizeof workers;
	NO_ARGUMENT(hexc_plan_new(NULL, NULL));
	NO_ARGUMENT(hexc_plan_new(&p, &plan.o));
	ck_assert_int_eq(hexc_plan_new(&p, NULL), HEXC_OK);
	REFUSED(hexc_plan_node(p, &work.w, &id), HEXC_E_INVALID, hexc_plan_why(p),
	        "the work descriptor uses fields of a newer hexc.h");
	hexc_plan_free(p);
	REFUSED(hexc_weight_quantize(&w, "Q4_0", x, 64, 64, 0, &workers.w, why, sizeof why),
	        HEXC_E_INVALID, why,
	        "hexc_workers was compiled with a newer hexc.h");
	ck_assert_int_eq(hexc_weight_quantize(&w, "Q4_0", x, 64, 64, 0, NULL, why, sizeof why), HEXC_OK);
	REFUSED(hexc_weight_float(w, x, &workers.w, why, sizeof why), HEXC_E_INVALID, why, "newer hexc.h");
	newer.w = *w;
	newer.w.size = sizeof newer;
	REFUSED(hexc_weight_float(&newer.w, x, NULL, why, sizeof why), HEXC_E_INVALID, why,
	        "the weight was compiled with a newer hexc_weights.h");
	NO_ARGUMENT(hexc_weight_quantize(NULL, "Q4_0", x, 64, 64, 0, NULL, why, sizeof why));
	hexc_weight_free(w);
	ck_assert_int_eq(hexc_file_open(&f, "test/weights/fixtures/blocks.gguf", why, sizeof why), HEXC_OK);
	REFUSED(hexc_weight_load(&w, f, "blk.0.q4_0", &workers.w, why, sizeof why), HEXC_E_INVALID, why,
	        "newer hexc.h");
	hexc_file_close(f);
}

/* ---- weights ------------------------------------------------------------------------------------------- */

static void
not_whole(const hexc_weight *w, const char *says)
{
	static float x[64 * 64];

	REFUSED(hexc_weight_float(w, x, NULL, why, sizeof why), HEXC_E_INVALID, why, says);
}

TEST(planes_that_do_not_fit)
{
	static float x[64 * 64];
	hexc_weight *w, *t, v;

	ck_assert_int_eq(hexc_weight_quantize(&w, "Q4_0", x, 64, 64, 0, NULL, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_weight_quantize(&t, "IQ4_NL", x, 64, 64, 0, NULL, why, sizeof why), HEXC_OK);
	v = *w;
	v.n = 0;
	not_whole(&v, "W[0, 64] is not a matrix");
	v = *w;
	v.plane[HEXC_PLANE_CODE].rows = 63;
	not_whole(&v, "the codes are 63 x 64");
	v = *w;
	v.plane[HEXC_PLANE_SCALE].bytes--;
	not_whole(&v, "the plane scale has");
	v = *w;
	v.plane[HEXC_PLANE_SCALE].data = NULL;
	not_whole(&v, "the plane scale has no data");
	v = *w;
	v.plane[HEXC_PLANE_SCALE].group = 7;
	not_whole(&v, "groups of 7");
	v = *t;
	v.plane[HEXC_PLANE_TABLE].cols = 15;
	not_whole(&v, "the table is 1 x 15");
	hexc_weight_free(t);
	REFUSED(hexc_weight_quantize(&t, "Q4_0", x, 0, 64, 0, NULL, why, sizeof why), HEXC_E_INVALID,
	        why, "0 x 64");
	REFUSED(hexc_weight_quantize(&t, "GPTQ-4", x, 64, 63, 63, NULL, why, sizeof why),
	        HEXC_E_INVALID, why, "");
	hexc_weight_free(w);
}

/* ---- packs --------------------------------------------------------------------------------------------- */

static const char narrow[] = "kernel k(A: f16[M, K], W: packed u4[N, K], C: out f16[M, N])\n"
                             "    assume K % 8 == 0, N % 32 == 0\n"
                             "{\n"
                             "    grid(ceil(M, 16), ceil(N, 32));\n"
                             "    var acc: register f32[16, 32] = 0;\n"
                             "    pipeline k in 0..K step 32 stages 2 {\n"
                             "        let a: shared = A[block.x * 16 :+ 16, k :+ 32];\n"
                             "        let w: shared = W[block.y * 32 :+ 32, k :+ 32];\n"
                             "        acc += dot(a, f16(w.T));\n"
                             "    }\n"
                             "    C[block.x * 16 :+ 16, block.y * 32 :+ 32] = f16(acc);\n"
                             "}\n";

TEST(packs)
{
	struct {
		hexc_workers w;
		uint64_t more;
	} workers = { HEXC_WORKERS_INIT, 1 };
	hexc_module *m = lib_must(narrow, NULL);
	const char *pack = hexc_module_pack(m, 0, 1);
	int64_t dim[2] = { 32, 64 };
	static char text[4000], c[2][4000];
	uint64_t bytes;

	ck_assert_ptr_nonnull(pack);
	workers.w.size = sizeof workers;
	NO_ARGUMENT(hexc_pack_bytes(NULL, 2, dim, &bytes, why, sizeof why));
	NO_ARGUMENT(hexc_pack_bytes(pack, 2, NULL, &bytes, why, sizeof why));
	NO_ARGUMENT(hexc_pack_bytes(pack, 2, dim, NULL, why, sizeof why));
	NO_ARGUMENT(hexc_pack(pack, 2, dim, NULL, c[1], NULL, why, sizeof why));
	NO_ARGUMENT(hexc_unpack(pack, 2, dim, c[0], NULL, NULL, why, sizeof why));
	REFUSED(hexc_pack(pack, 2, dim, c[0], c[1], &workers.w, why, sizeof why), HEXC_E_INVALID, why,
	        "newer hexc.h");
	ck_assert_int_eq(hexc_pack_bytes("x", 2, dim, &bytes, why, sizeof why), HEXC_E_ARGS);
	ck_assert(why[0]);
	ck_assert_uint_eq(hexc_pack_program(NULL, 0, NULL, 0), 0);
	ck_assert_uint_eq(hexc_pack_program("x", 0, NULL, 0), 0);
	hexc_module_free(m);
	for (int back = 0; back < 2; back++) {
		m = lib_must(narrow, NULL);
		bytes = hexc_pack_program(hexc_module_pack(m, 0, 1), back, text, sizeof text);
		ck_assert_uint_eq(bytes, strlen(text) + 1);
		hexc_module_free(m);
		m = lib_must(text, NULL);
		ck_assert_int_ge(hexc_param_find(m, 0, "P"), 0);
		hexc_module_free(m);
	}
}

/* ---- operators ----------------------------------------------------------------------------------------- */

TEST(operators)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_weight w = HEXC_WEIGHT_INIT;
	hexc_gpu *g = simulator();
	hexc_family_call *c;
	hexc_linear *l;
	hexc_op *op;
	uint16_t x[4 * 8] = { 0 };

	NO_ARGUMENT(hexc_op_plan(NULL, "gemm", NULL, 0, NULL, why, sizeof why));
	NO_ARGUMENT(hexc_op_plan(&op, NULL, NULL, 0, NULL, why, sizeof why));
	NO_ARGUMENT(hexc_op_plan(&op, "gemm", NULL, 1, NULL, why, sizeof why));
	o.families = "nothing";
	REFUSED(hexc_op_plan(&op, "copy", NULL, 0, &o, why, sizeof why), HEXC_E_FILE, why, "hexc-family 1");
	o = (hexc_op_opts)HEXC_OP_OPTS_INIT;
	o.arch = "sm_1";
	REFUSED(hexc_op_plan(&op, "copy", NULL, 0, &o, why, sizeof why), HEXC_E_ARCH, why,
	        "unsupported arch");
	NO_ARGUMENT(hexc_linear_call(NULL, &c));
	NO_ARGUMENT(hexc_linear_bind(NULL, NULL));
	ck_assert_ptr_null(hexc_linear_op(NULL));
	ck_assert_uint_eq(hexc_linear_bytes(NULL), 0);
	w.n = 4;
	w.k = 8;
	w.plane[HEXC_PLANE_CODE] = (hexc_plane){ "f16", 4, 7, 1, x, sizeof x };
	REFUSED(hexc_linear_new(&l, g, &w, NULL, NULL, 0, NULL, NULL, why, sizeof why), HEXC_E_INVALID, why,
	        "its plane does not have n rows of k values");
	w.plane[HEXC_PLANE_CODE].cols = 8;
	w.plane[HEXC_PLANE_SCALE] = w.plane[HEXC_PLANE_CODE];
	REFUSED(hexc_linear_new(&l, g, &w, NULL, NULL, 0, NULL, NULL, why, sizeof why), HEXC_E_ARGS, why,
	        "codes of more than 8 bits cannot have scales");
	NO_ARGUMENT(hexc_linear_new(&l, NULL, &w, NULL, NULL, 0, NULL, NULL, why, sizeof why));
	hexc_op_free(NULL);
	hexc_gpu_close(g);
}

TEST(caches)
{
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	hexc_cache *c;
	char gone[60];

	snprintf(gone, sizeof gone, "/tmp/hexc-gone-%ld", (long)getpid());
	NO_ARGUMENT(hexc_cache_open(NULL, NULL, why, sizeof why));
	NO_ARGUMENT(hexc_cache_open(&c, NULL, NULL, 1));
	ck_assert(mkdir(gone, 0700) == 0 && chdir(gone) == 0 && rmdir(gone) == 0);
	o.path = "here";
	REFUSED(hexc_cache_open(&c, &o, why, sizeof why), HEXC_E_FILE, why,
	        "here: the working directory has no name");
	ck_assert_ptr_null(c);
	NO_ARGUMENT(hexc_cache_each(NULL, NULL, NULL));
	NO_ARGUMENT(hexc_cache_clear(NULL, NULL));
	ck_assert_int_eq(hexc_cache_describe(NULL, &info), 0);
	hexc_cache_close(NULL);
}
