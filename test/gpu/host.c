/* host.c - three hosts: an engine with its own CUDA context, which launches as hexc.h describes under
 * "launching"; one of hexc_gpu.h that leaves all cleanup to hexc_gpu_close; and one that uploads the planes
 * of a weight and reports why it could not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/gpu/driver.h"
#include "lib/hexc_gpu.h"
#include "lib/hexc_ops.h"

/* Of the driver that this is linked with. */
#define DECLARE(name, parameters) int name parameters;
DRIVER_CALLS(DECLARE)

#define MUST(call)                                                                                           \
	do {                                                                                                 \
		int code_ = (call);                                                                          \
		if (code_) {                                                                                 \
			fprintf(stderr, "%s: %d\n", #call, code_);                                           \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

enum { M = 16, N = 32, K = 128 };

static hexc_module *
compile(void)
{
	static const hexc_define define[] = { { "BM", 128 }, { "BN", 128 }, { "BK", 128 } };
	static char source[1 << 16];
	FILE *f = fopen("examples/gemm_w4a16.hexc", "rb");
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	hexc_ctx *ctx;
	size_t n = f ? fread(source, 1, sizeof source, f) : 0;

	o.arch = "sm_80";
	o.define = define;
	o.ndefine = 3;
	MUST(hexc_open(&ctx, &o));
	MUST(hexc_compile(&m, ctx, NULL, source, n));
	hexc_close(ctx);
	if (f)
		fclose(f);
	return m;
}

/* Tensors of equal numbers: activations 1, weights 3 - 1, scales 0.5.  *out: where the product will be. */
static void
arguments(const hexc_module *m, hexc_arg *arg, unsigned long long *out)
{
	static const struct {
		const char *name;
		unsigned char low, high;
		size_t bytes;
	} t[] = { { "A", 0x00, 0x3c, M *K * 2 }, { "W", 0x33, 0x33, N *K / 2 }, { "S", 0x00, 0x38, N * 2 },
		  { "Z", 0x11, 0x11, N / 2 }, { "C", 0, 0, M *N * 2 } };
	static unsigned char bytes[M * K * 2];

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		hexc_arg *a = &arg[hexc_param_find(m, 0, t[i].name)];

		for (size_t b = 0; b < t[i].bytes; b++)
			bytes[b] = b % 2 ? t[i].high : t[i].low;
		MUST(cuMemAlloc_v2(out, t[i].bytes));
		MUST(cuMemcpyHtoD_v2(*out, bytes, t[i].bytes));
		a->ptr = (void *)(size_t)*out;
		a->bytes = t[i].bytes;
	}
	arg[hexc_param_find(m, 0, "M")].i = M;
	arg[hexc_param_find(m, 0, "N")].i = N;
	arg[hexc_param_find(m, 0, "K")].i = K;
}

static int
engine(const hexc_module *m)
{
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	static hexc_arg arg[HEXC_MAX_PARAMS];
	void *context, *module, *function, *params[HEXC_MAX_PARAMS];
	uint64_t value[HEXC_MAX_PARAMS];
	unsigned long long c;
	unsigned short is[M * N];
	uint32_t grid[3];

	MUST(cuInit(0));
	MUST(cuDevicePrimaryCtxRetain(&context, 0));
	MUST(cuCtxPushCurrent_v2(context));
	MUST(cuModuleLoadDataEx(&module, hexc_ptx(m, NULL), 0, NULL, NULL));
	MUST(!hexc_kernel(m, 0, &info));
	MUST(info.smem <= 48 << 10); /* else this tests less than it says */
	MUST(cuModuleGetFunction(&function, module, info.name));
	MUST(cuFuncSetAttribute(function, DRV_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
	                        (int)info.smem));
	arguments(m, arg, &c);
	MUST(hexc_check_args(m, 0, arg, NULL, 0));
	MUST(hexc_grid(m, 0, arg, grid));
	MUST(hexc_launch_params(m, 0, arg, value, params));
	MUST(cuLaunchKernel(function, grid[0], grid[1], grid[2], info.block[0], info.block[1], info.block[2],
	                    info.smem, NULL, params, NULL));
	MUST(cuMemcpyDtoH_v2(is, c, sizeof is));
	for (int i = 0; i < M * N; i++)
		MUST(is[i] != 0x5800); /* 128 = 128 (3 - 1) / 2 */
	return 0;
}

static int
tool(const hexc_module *m)
{
	hexc_gpu_module *gm[3];
	void *p[100];
	hexc_gpu *g;

	MUST(hexc_gpu_open(&g, 0, NULL, 0));
	for (int i = 0; i < 100; i++)
		MUST(hexc_gpu_alloc(g, 100, &p[i]));
	for (int i = 0; i < 100; i += 3)
		MUST(hexc_gpu_free(g, p[i]));
	MUST(hexc_gpu_free(g, p[0]) != HEXC_E_INVALID);
	for (int i = 0; i < 3; i++)
		MUST(hexc_gpu_load(g, m, &gm[i]));
	hexc_gpu_unload(gm[1]);
	hexc_gpu_close(g);
	return 0;
}

static int
weight(void)
{
	enum { ROWS = 32, COLS = 64 };
	static float x[ROWS * COLS];
	hexc_linear *l;
	hexc_weight *w;
	hexc_gpu *g;
	char why[600] = "";

	for (int i = 0; i < ROWS * COLS; i++)
		x[i] = (float)(i % 15 - 7);
	MUST(hexc_weight_quantize(&w, "packed-4", x, ROWS, COLS, 32, NULL, NULL, 0));
	MUST(hexc_gpu_open(&g, 0, NULL, 0));
	w->name = "blk.0";
	if (hexc_linear_new(&l, g, w, NULL, NULL, 0, NULL, NULL, why, sizeof why))
		puts(why);
	hexc_linear_free(l);
	hexc_gpu_close(g);
	hexc_weight_free(w);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "weight") == 0)
		return weight();
	hexc_module *m = compile();
	int status = argc > 1 && strcmp(argv[1], "engine") == 0 ? engine(m) : tool(m);

	hexc_module_free(m);
	return status;
}
