/* test_launch.c - tests launches of hexc.h: grids, requirements on arguments, their values as a driver reads
 * them. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <string.h>

TEST(launches)
{
	static float a[200], b[200], c[200];
	hexc_arg arg[4];
	hexc_module *m = lib_must(lib_add, NULL);
	char why[300];
	uint32_t grid[3];
	int64_t dim[HEXC_MAX_RANK], stride[HEXC_MAX_RANK];

	memset(arg, 0, sizeof arg);
	arg[3].i = 200;
	ck_assert_int_eq(hexc_grid(m, 0, arg, grid), HEXC_OK);
	ck_assert(grid[0] == 2 && grid[1] == 1 && grid[2] == 1);
	ck_assert_int_eq(hexc_tensor(m, 0, 0, arg, dim, stride), HEXC_OK);
	ck_assert(dim[0] == 200 && stride[0] == 1);
	ck_assert_int_eq(hexc_tensor(m, 0, 3, arg, dim, stride), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_check_sizes(m, 0, arg, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "A is NULL; expected 800 bytes");
	arg[3].i = -1;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "the size N is -1; sizes must not be negative");
	arg[3].i = INT64_MAX;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_int_ne(hexc_grid(m, 0, arg, grid), HEXC_OK);
	arg[3].i = 0;
	ck_assert_int_eq(hexc_grid(m, 0, arg, grid), HEXC_OK);
	ck_assert_uint_eq(grid[0], 0);
	arg[3].i = 200;
	arg[0] = (hexc_arg){ a, NULL, sizeof a, 0, 0, { 0 } };
	arg[1] = (hexc_arg){ b, NULL, sizeof b - 4, 0, 0, { 0 } };
	arg[2] = (hexc_arg){ c, NULL, sizeof c, 0, 0, { 0 } };
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "B needs 800 bytes"));
	arg[1].bytes = sizeof b;
	for (int i = 0; i < 200; i++) {
		a[i] = (float)i;
		b[i] = (float)(2 * i);
	}
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	for (int i = 0; i < 200; i++)
		ck_assert(c[i] == (float)(3 * i));
	ck_assert_int_eq(hexc_check_args(m, 1, arg, why, sizeof why), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_check_args(m, 0, NULL, NULL, 0), HEXC_E_INVALID);
	hexc_module_free(m);
}

TEST(tensor_maps)
{
	static _Alignas(16) uint16_t b[1000];
	hexc_tensor_map_info t = HEXC_TENSOR_MAP_INFO_INIT;
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	const char *dim[5], *stride[5];
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	hexc_arg arg[6];
	int code;
	char why[300];

	memset(arg, 0, sizeof arg);
	o.arch = "sm_90a";
	m = lib_must(lib_mapped, &o);
	ck_assert(hexc_kernel(m, 0, &k) && k.nparam == 6 && k.nmap == 3 && k.block[0] == 256);
	ck_assert(hexc_tensor_map_form(m, 0, 1, &t, dim, stride));
	ck_assert(t.param == 1 && t.rank == 2 && t.type == 6);
	ck_assert(strcmp(dim[0], "K") == 0 && strcmp(dim[1], "N") == 0);
	ck_assert(strcmp(stride[0], "1") == 0 && strcmp(stride[1], "K") == 0);
	arg[hexc_param_find(m, 0, "M")].i = 100;
	arg[hexc_param_find(m, 0, "N")].i = 40;
	arg[hexc_param_find(m, 0, "K")].i = 24;
	arg[1].ptr = b;
	ck_assert_int_eq(hexc_tensor_map(m, 0, 1, arg, &t), HEXC_OK);
	ck_assert(t.address == b && t.dim[0] == 24 && t.dim[1] == 40 && t.stride[0] == 48);
	ck_assert(t.box[0] == 64 && t.box[1] == 32 && t.step[0] == 1 && t.step[1] == 1);
	ck_assert(t.interleave == 0 && t.swizzle == 3 && t.l2 == 3 && t.fill == 0);
	ck_assert_int_eq(hexc_tensor_map(m, 0, 3, arg, &t), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_tensor_map(m, 1, 0, arg, &t), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_tensor_map_form(m, 0, 3, &t, NULL, NULL), 0);
	/* nothing to copy is still a map that the driver takes */
	arg[hexc_param_find(m, 0, "K")].i = 0;
	ck_assert_int_eq(hexc_tensor_map(m, 0, 1, arg, &t), HEXC_OK);
	ck_assert(t.dim[0] == 1 && t.dim[1] == 1 && t.stride[0] == 16);
	/* sizes that no map has */
	arg[hexc_param_find(m, 0, "K")].i = ((int64_t)1 << 32) + 8;
	ck_assert_int_eq(hexc_check_sizes(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_msg(strstr(why, "elements in a dimension; its TMA copies allow 0 to 2^31 - 1") != NULL,
	              "%s", why);
	/* nor i32, in which boxes begin; and strides that overflow as bytes */
	arg[hexc_param_find(m, 0, "K")].i = (int64_t)1 << 31;
	ck_assert_int_eq(hexc_check_sizes(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_tensor_map(m, 0, 1, arg, &t), HEXC_E_ARGS);
	arg[hexc_param_find(m, 0, "K")].i = (int64_t)1 << 62;
	ck_assert_int_eq(hexc_tensor_map(m, 0, 1, arg, &t), HEXC_E_ARGS);
	arg[hexc_param_find(m, 0, "K")].i = -8;
	ck_assert_int_eq(hexc_tensor_map(m, 0, 1, arg, &t), HEXC_E_ARGS);
	hexc_module_free(m);
	o.arch = "sm_80";
	ck_assert_ptr_null(lib_compile(lib_mapped, &o, &code, why, sizeof why));
	ck_assert_msg(strstr(why, "sm_90a, sm_100a and sm_120a have, but not sm_80; use --arch "
				  "sm_90a") != NULL,
	              "%s", why);
}

/* What a kernel reads packed is judged as such: here blocks are filled up. */
TEST(packed_arguments)
{
	static const char src[] = "kernel k(A: f16[M, K], W: packed u4[N, K], C: out f16[M, N])\n"
				  "    assume K % 64 == 0, N % 8 == 0\n"
				  "{\n"
				  "    grid(ceil(M, 16), ceil(N, 64));\n"
				  "    var acc: register f32[16, 64] = 0;\n"
				  "    for k in 0..K step 64 {\n"
				  "        let a: shared = A[block.x * 16 :+ 16, k :+ 64];\n"
				  "        let w: shared = W[block.y * 64 :+ 64, k :+ 64];\n"
				  "        acc += dot(a, f16(w.T));\n"
				  "    }\n"
				  "    C[block.x * 16 :+ 16, block.y * 64 :+ 64] = f16(acc);\n"
				  "}\n";
	static _Alignas(16) unsigned char mem[16 * 64 * 2];
	hexc_module *m = lib_must(src, NULL);
	const int64_t dim[2] = { 8, 64 };
	int w = hexc_param_find(m, 0, "W");
	hexc_arg arg[6];
	char why[300];
	uint64_t need;

	memset(arg, 0, sizeof arg);
	for (int i = 0; i < 3; i++)
		arg[i].ptr = mem;
	arg[hexc_param_find(m, 0, "M")].i = 16;
	arg[hexc_param_find(m, 0, "N")].i = dim[0];
	arg[hexc_param_find(m, 0, "K")].i = dim[1];
	ck_assert_int_eq(
		hexc_pack_bytes(hexc_module_pack(m, 0, (size_t)w), 2, dim, &need, why, sizeof why), 0);
	ck_assert_uint_gt(need, 8 * 64 / 2);
	arg[w].bytes = need;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_OK);
	arg[w].bytes = need - 4;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "for these sizes, packed; its buffer has"));
	for (int i = 0; i < 3; i++)
		arg[i].bytes = i == w ? 8 * 64 / 2 : sizeof mem;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK); /* takes the natural form */
	hexc_module_free(m);
}

/* A pointer that no access of 16 bytes may use. */
TEST(misaligned)
{
	static _Alignas(16) float a[204];
	hexc_arg arg[4];
	hexc_module *m = lib_must(lib_add, NULL);
	char why[300];

	memset(arg, 0, sizeof arg);
	arg[3].i = 200;
	for (int i = 0; i < 3; i++)
		arg[i].ptr = a;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_OK);
	arg[1].ptr = a + 2;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "the address of B is not a multiple of 16 bytes");
	hexc_module_free(m);
}

/* Every dim of a tensor counts for what its buffer must hold, and every dim of the grid has its limit. */
TEST(three_dims)
{
	static const char cube[] = "kernel cube(A: f32[B, M, N], C: out f32[B, M, N])\n"
	                           "    const WARPS = 1\n"
	                           "{\n"
	                           "    grid(ceil(N, 32), M, B);\n"
	                           "    let n = block.x * 32;\n"
	                           "    C[block.z, block.y, n :+ 32] = A[block.z, block.y, n :+ 32] + 1.0;\n"
	                           "}\n";
	const int64_t most = 65535; /* of y and z */
	hexc_module *m = lib_must(cube, NULL);
	static _Alignas(16) float mem[4];
	hexc_arg arg[5];
	char why[300];

	memset(arg, 0, sizeof arg);
	arg[0].ptr = arg[1].ptr = mem; /* only the address counts here */
	for (int i = 2; i < 5; i++)
		arg[i].i = i + 1;
	arg[0].bytes = 3 * 4 * 5 * 4;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_OK);
	arg[0].bytes--;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "A needs 240 bytes for these sizes; its buffer has 239");
	arg[0].bytes = 0;
	for (int d = 1; d < 3; d++) {
		uint32_t grid[3];
		int i = d == 1 ? 3 : 2;

		arg[i].i = most;
		ck_assert_int_eq(hexc_grid(m, 0, arg, grid), HEXC_OK);
		ck_assert_int_eq(grid[d], most);
		arg[i].i = most + 1;
		ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
		ck_assert_ptr_nonnull(strstr(why, d == 1 ? "65536 blocks in y" : "65536 blocks in z"));
		arg[i].i = 1;
	}
	hexc_module_free(m);
}

TEST(assumptions)
{
	hexc_arg arg[6];
	hexc_module *m = lib_must(lib_gemm, NULL);
	char why[300];

	memset(arg, 0, sizeof arg);
	for (int i = 3; i < 6; i++)
		arg[i].i = 64;
	ck_assert_int_eq(hexc_check_sizes(m, 0, arg, why, sizeof why), HEXC_OK);
	for (int i = 3; i < 6; i++) {
		hexc_param_info p = HEXC_PARAM_INFO_INIT;
		hexc_param(m, 0, (size_t)i, &p);
		arg[i].i = *p.name == 'K' ? 12 : (*p.name == 'N' ? 5000 : 64);
	}
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "the kernel assumes K % 8 == 0, but K is 12");
	for (int i = 3; i < 6; i++)
		arg[i].i = arg[i].i == 12 ? 16 : arg[i].i;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "the kernel assumes N <= 4096, but N is 5000");
	for (int i = 3; i < 6; i++)
		arg[i].i = arg[i].i == 5000 ? 4096 : arg[i].i;
	ck_assert_int_eq(hexc_check_sizes(m, 0, arg, why, sizeof why), HEXC_OK);
	hexc_module_free(m);
}

/* Expressions are told with the parentheses that they need, and a sum that has no value is not one that
 * wrapped. */
TEST(expressions)
{
	static const char src[] = "kernel k(X: out f32[N], x: i64, y: i64)\n    assume x + y > 0\n{\n"
				  "    grid((N + x) * y, N - (x - y), N - x - y);\n"
				  "    X[block.x :+ 1] = 1.0;\n}\n";
	hexc_module *m = lib_must(src, NULL);
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	hexc_arg arg[4];
	char why[300];

	ck_assert_int_eq(hexc_kernel(m, 0, &k), 1);
	ck_assert_str_eq(k.grid[0], "(N + x) * y");
	ck_assert_str_eq(k.grid[1], "N - (x - y)");
	ck_assert_str_eq(k.grid[2], "N - x - y");
	memset(arg, 0, sizeof arg);
	arg[hexc_param_find(m, 0, "x")].i = INT64_MIN;
	arg[hexc_param_find(m, 0, "y")].i = -1;
	ck_assert_int_eq(hexc_check_sizes(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "x + y > 0"));
	hexc_module_free(m);
}

/* Five elements of 4 bits are in three bytes. */
TEST(half_a_byte)
{
	static const char src[] = "kernel k(W: u4[N], Y: out f32[N])\n{\n    grid(1);\n"
				  "    Y[0 :+ 8] = f32(W[0 :+ 8]);\n}\n";
	hexc_module *m = lib_must(src, NULL);
	_Alignas(16) unsigned char w[3] = { 0x21, 0x43, 5 };
	_Alignas(16) float y[5];
	hexc_arg arg[3] = { { w, NULL, 2, 0, 0, { 0 } }, { y, NULL, sizeof y, 0, 0, { 0 } } };
	char why[300];

	arg[hexc_param_find(m, 0, "N")].i = 5;
	ck_assert_int_eq(hexc_check_args(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "W needs 3 bytes"));
	arg[0].bytes = 3;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	for (int i = 0; i < 5; i++)
		ck_assert(y[i] == (float)(i + 1));
	hexc_module_free(m);
}

TEST(launch_parameters)
{
	static const char src[] = "kernel k(A: f32[N], C: out f32[N], x: bf16, y: i8, z: f64, b: bool) {\n"
				  "    grid(ceil(N, 128));\n"
				  "    C[block.x * 128 :+ 128] = A[block.x * 128 :+ 128] * f32(x) +\n"
				  "        f32(y) + f32(z) + where(b, 1.0, 0.0);\n"
				  "}\n";
	hexc_module *m = lib_must(src, NULL);
	static float a[4];
	uint64_t value[HEXC_MAX_PARAMS];
	void *params[HEXC_MAX_PARAMS];
	hexc_arg arg[7];
	double z = 0.3;

	memset(arg, 0, sizeof arg);
	arg[0].ptr = arg[1].ptr = a;
	arg[hexc_param_find(m, 0, "x")].f = 1.5;
	arg[hexc_param_find(m, 0, "y")].i = -2;
	arg[hexc_param_find(m, 0, "z")].f = z;
	arg[hexc_param_find(m, 0, "b")].i = 1;
	arg[hexc_param_find(m, 0, "N")].i = 4;
	ck_assert_int_eq(hexc_launch_params(m, 0, arg, value, params), HEXC_OK);
	for (int i = 0; i < 7; i++)
		ck_assert_ptr_eq(params[i], &value[i]);
	ck_assert_uint_eq(value[1], (uintptr_t)a);
	ck_assert_uint_eq(value[hexc_param_find(m, 0, "x")], 0x3fc0);
	ck_assert_uint_eq(value[hexc_param_find(m, 0, "y")], 0xfe);
	ck_assert_mem_eq(&value[hexc_param_find(m, 0, "z")], &z, 8);
	ck_assert_uint_eq(value[hexc_param_find(m, 0, "b")], 1);
	ck_assert_uint_eq(value[hexc_param_find(m, 0, "N")], 4);
	arg[6].reserved[2] = 1; /* of a later hexc.h */
	ck_assert_int_eq(hexc_launch_params(m, 0, arg, value, params), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_check_args(m, 0, arg, NULL, 0), HEXC_E_INVALID);
	hexc_module_free(m);
}

/* ---- tensor maps and bytes -------------------------------------------------------------------- */

static int
refuse(void *map, int type, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
       const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int l2, int fill)
{
	(void)map, (void)type, (void)rank, (void)address, (void)dim, (void)stride, (void)box, (void)step;
	(void)interleave, (void)swizzle, (void)l2, (void)fill;
	return 7;
}

/* Keeps what it is handed of each map, in its order, in the map. */
static int
note(void *map, int type, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
     const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int l2, int fill)
{
	uint64_t *to = map;

	(void)step, (void)interleave, (void)fill;
	to[0] = (uint64_t)type << 32 | rank;
	to[1] = (uintptr_t)address;
	to[2] = dim[0];
	to[3] = dim[1];
	to[4] = stride[0];
	to[5] = (uint64_t)box[0] << 32 | box[1];
	to[6] = (uint64_t)swizzle << 32 | (uint32_t)l2;
	return 0;
}

/* A number that its type has not is refused, not cut. */
TEST(scalars_that_do_not_fit)
{
	static const char src[] = "kernel scale(A: f32[N], s: i8, C: out f32[N])\n"
	                          "{\n"
	                          "    grid(ceil(N, 64));\n"
	                          "    C[block.x * 64 :+ 64] = A[block.x * 64 :+ 64] * f32(s);\n"
	                          "}\n";
	hexc_module *m = lib_must(src, NULL);
	hexc_arg arg[HEXC_MAX_PARAMS];
	int s = hexc_param_find(m, 0, "s");
	uint32_t grid[3];
	char why[200];

	memset(arg, 0, sizeof arg);
	arg[s].i = -128;
	ck_assert_int_eq(hexc_check_sizes(m, 0, arg, why, sizeof why), HEXC_OK);
	arg[s].i = 128;
	ck_assert_int_eq(hexc_check_sizes(m, 0, arg, why, sizeof why), HEXC_E_ARGS);
	ck_assert_msg(strstr(why, "s = 128 does not fit i8") != NULL, "%s", why);
	ck_assert_int_eq(hexc_grid(m, 0, arg, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_grid(m, 1, arg, grid), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_grid(NULL, 0, arg, grid), HEXC_E_INVALID);
	hexc_module_free(m);
}

TEST(all_maps_of_a_launch_are_encoded)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_arg arg[HEXC_MAX_PARAMS];
	uint64_t map[HEXC_MAX_PARAMS][16], bytes;
	void *params[HEXC_MAX_PARAMS];
	hexc_module *m;
	char why[200];

	o.arch = "sm_90a";
	m = lib_must(lib_mapped, &o);
	for (uintptr_t i = 0; i < HEXC_MAX_PARAMS; i++) {
		arg[i] = (hexc_arg)HEXC_ARG_INIT;
		arg[i].ptr = (void *)((i + 1) << 12);
	}
	arg[hexc_param_find(m, 0, "M")].i = 100;
	arg[hexc_param_find(m, 0, "N")].i = 40;
	arg[hexc_param_find(m, 0, "K")].i = 72;
	ck_assert_int_eq(hexc_tensor_maps(m, 0, arg, note, map, params, why, sizeof why), HEXC_OK);
	for (int i = 0; i < 2;
	     i++) { /* A[100, 72] and B[40, 72] of f16, rows of 144 bytes, boxes of 64 x .. */
		ck_assert_ptr_eq(params[i], map[i]);
		ck_assert_uint_eq(map[i][0], UINT64_C(6) << 32 | 2);
		ck_assert_uint_eq(map[i][1], (uint64_t)(i + 1) << 12);
		ck_assert_uint_eq(map[i][2], 72);
		ck_assert_uint_eq(map[i][3], i ? 40 : 100);
		ck_assert_uint_eq(map[i][4], 144);
		ck_assert_uint_eq(map[i][5], UINT64_C(64) << 32 | (i ? 32 : 64));
	}
	ck_assert_int_eq(hexc_tensor_maps(m, 0, arg, refuse, map, NULL, why, sizeof why), HEXC_E_DEVICE);
	ck_assert_str_eq(why, "the tensor map of A cannot be encoded: cuTensorMapEncodeTiled returned 7");
	arg[hexc_param_find(m, 0, "K")].i = 70; /* rows of 140 bytes */
	ck_assert_int_eq(hexc_tensor_maps(m, 0, arg, note, map, NULL, why, sizeof why), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "A has a stride of"));
	ck_assert_int_eq(hexc_tensor_maps(m, 0, arg, NULL, map, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_tensor_maps(m, 0, arg, note, NULL, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_tensor_maps(m, 1, arg, note, map, NULL, NULL, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_tensor_maps(NULL, 0, arg, note, map, NULL, NULL, 0), HEXC_E_INVALID);
	/* C is f32[M, N] */
	ck_assert_int_eq(hexc_tensor_bytes(m, 0, 2, arg, &bytes), HEXC_OK);
	ck_assert_uint_eq(bytes, 4 * 100 * 40);
	arg[hexc_param_find(m, 0, "M")].i = INT64_MAX;
	ck_assert_int_eq(hexc_tensor_bytes(m, 0, 2, arg, &bytes), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_tensor_bytes(m, 0, 3, arg, &bytes), HEXC_E_INVALID); /* a size */
	ck_assert_int_eq(hexc_tensor_bytes(m, 0, 2, arg, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_tensor_bytes(m, 0, 99, arg, &bytes), HEXC_E_INVALID);
	hexc_module_free(m);
}
