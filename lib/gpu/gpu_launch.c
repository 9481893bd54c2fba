/* gpu_launch.c - implements hexc_gpu.h: loads modules, launches kernels and measures their times. */
#include "lib/gpu/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules ---------------------------------------------------------------------------------------- */

int
gpu_load_image(hexc_gpu *g, const void *image, void **module)
{
	char log[LOG_MAX] = "";
	int option[2] = { DRV_CU_JIT_ERROR_LOG_BUFFER, DRV_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *value[2] = { log, (void *)(uintptr_t)(sizeof log - 1) };
	int result = g->cu.cuModuleLoadDataEx(module, image, 2, option, value);
	int code = gpu_result(g, "cuModuleLoadDataEx", result);
	size_t n = strlen(g->why);

	if (code && log[0])
		snprintf(g->why + n, sizeof g->why - n, ": %s", log);
	else if (result == DRV_CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
		snprintf(g->why + n, sizeof g->why - n,
		         ": the PTX is newer than this driver (CUDA %u.%u); install a newer one, or "
		         "compile the module with cubins",
		         g->info.driver / 1000, g->info.driver % 1000 / 10);
	return code;
}

/* Finds m's cubin for the newest arch that the device runs; returns false if there is none. */
static bool
nearest_cubin(const hexc_gpu *g, const hexc_module *m, hexc_cubin *out)
{
	uint32_t sm, best = 0;
	hexc_cubin c;

	for (size_t i = 0; hexc_module_cubin(m, i, &c); i++)
		if (arch_runs_cubin(g->info.capability, c.arch, &sm) && sm > best) {
			best = sm;
			*out = c;
		}
	return best > 0;
}

/* Loads a cubin if there is one, else PTX; also PTX if the driver rejects the cubin, for example one for
 * another family member. */
static int
load_cubin_or_ptx(hexc_gpu_module *gm)
{
	hexc_module_info info = HEXC_MODULE_INFO_INIT;
	hexc_gpu *g = gm->g;
	hexc_cubin cubin;

	hexc_module_describe(gm->m, &info);
	if (nearest_cubin(g, gm->m, &cubin) && gpu_load_image(g, cubin.data, &gm->module) == HEXC_OK) {
		gm->cubin = cubin.arch;
		return HEXC_OK;
	}
	if (!hexc_gpu_runs(g, info.arch))
		return gpu_error(
			g, HEXC_E_DEVICE,
			"module for %s is incompatible with %s (compute capability %u.%u); compile for %s",
			info.arch, g->name, g->info.capability / 10, g->info.capability % 10,
			g->info.arch ? g->info.arch : "an older GPU, if such an architecture exists");
	if (gpu_load_cached(gm))
		return HEXC_OK;
	return gpu_load_image(g, hexc_ptx(gm->m, NULL), &gm->module);
}

int
hexc_gpu_load(hexc_gpu *g, const hexc_module *m, hexc_gpu_module **out)
{
	hexc_gpu_module *gm;
	size_t n = 0;
	int code;

	if (!g || !m || !out)
		return HEXC_E_INVALID;
	*out = NULL;
	hexc_ptx(m, &n);
	if (n == 0)
		return gpu_error(g, HEXC_E_INVALID,
		               "the module has no PTX: its compilation stopped after an earlier pass");
	gm = calloc(1, sizeof *gm);
	if (!gm)
		return gpu_error(g, HEXC_E_NOMEM, "out of memory");
	gm->g = g;
	gm->m = m;
	if ((code = gpu_enter(g))) {
		free(gm);
		return code;
	}
	atomic_init(&gm->refs, 1);
	code = gpu_leave(g, load_cubin_or_ptx(gm));
	gm->next = g->modules;
	if (gm->next)
		gm->next->prev = gm;
	g->modules = gm;
	if (code)
		hexc_gpu_unload(gm);
	else
		*out = gm;
	return code;
}

const char *
hexc_gpu_cubin(const hexc_gpu_module *gm)
{
	return gm ? gm->cubin : NULL;
}

void
hexc_gpu_unload(hexc_gpu_module *gm)
{
	if (!gm || !gm->g) /* unloaded, but its calls remain */
		return;
	if (gm->module && gpu_enter(gm->g) == HEXC_OK)
		gpu_leave(gm->g, GPU_CALL(gm->g, cuModuleUnload, gm->module));
	if (gm->next)
		gm->next->prev = gm->prev;
	if (gm->prev)
		gm->prev->next = gm->next;
	else
		gm->g->modules = gm->next;
	gm->g = NULL;
	gm->m = NULL;
	gpu_module_release(gm);
}

void
gpu_module_release(hexc_gpu_module *gm)
{
	if (atomic_fetch_sub(&gm->refs, 1) > 1)
		return;
	for (size_t i = 0; i < CALLS_KEPT; i++)
		free(atomic_load(&gm->freed[i]));
	free(gm);
}

/* ---- launches -------------------------------------------------------------------------------------- */

/* A kernel with its arguments for cuLaunchKernel. */
typedef struct LaunchCall {
	hexc_kernel_info info;
	void *function;
	uint32_t grid[3];
	uint64_t value[HEXC_MAX_PARAMS];
	void *arg[HEXC_MAX_PARAMS]; /* pointers to value, then to map */
	CuTensorMap map[HEXC_MAX_PARAMS];
} LaunchCall;

static int
encode_maps(hexc_gpu_module *gm, size_t k, const hexc_kernel_info *info, const hexc_arg *arg, LaunchCall *c)
{
	hexc_gpu *g = gm->g;

	if (info->nmap && !DRIVER_HAS(&g->cu, cuTensorMapEncodeTiled, g->why, sizeof g->why))
		return HEXC_E_DEVICE;
	return hexc_tensor_maps(gm->m, k, arg, g->cu.cuTensorMapEncodeTiled, c->map,
	                        c->arg + info->nparam, g->why, sizeof g->why);
}

/* Queries the driver for resident clusters: the blocks of a cluster must run on SMs of one GPC, so not all
 * SMs can be used. */
static int
held_clusters(hexc_gpu *g, void *function, const hexc_kernel_info *info, int *clusters)
{
	DriverAttribute cluster = { .id = DRV_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
	DriverLaunch l = { .shared = info->smem, .attribute = &cluster, .n = 1 };

	memcpy(cluster.value, info->cluster, sizeof cluster.value);
	memcpy(l.grid, info->cluster, sizeof l.grid);
	memcpy(l.block, info->block, sizeof l.block);
	return GPU_CALL(g, cuOccupancyMaxActiveClusters, clusters, function, &l);
}

int
gpu_held(hexc_gpu *g, void *function, const hexc_kernel_info *info, uint32_t *blocks)
{
	uint32_t together = info->cluster[0] * info->cluster[1] * info->cluster[2];
	int each = 0, clusters = 0, code;

	if (together > 1) {
		if (!DRIVER_HAS(&g->cu, cuOccupancyMaxActiveClusters, g->why, sizeof g->why))
			return HEXC_E_DEVICE;
		code = held_clusters(g, function, info, &clusters);
		*blocks = clusters > 0 ? (uint32_t)clusters * together : 0;
		return code;
	}
	code = GPU_CALL(g, cuOccupancyMaxActiveBlocksPerMultiprocessor, &each, function, (int)info->block[0],
	                info->smem);
	*blocks = each > 0 ? (uint32_t)each * g->info.sms : 0;
	return code;
}

void
gpu_hold(const uint32_t cluster[3], uint32_t held, uint32_t grid[3])
{
	uint64_t all = (uint64_t)grid[0] * grid[1] * grid[2];

	if (held < 1 || all <= held)
		return;
	memcpy(grid, cluster, 3 * sizeof *grid);
	grid[0] *= held / (cluster[0] * cluster[1] * cluster[2]);
}

int
gpu_resident(uint32_t held, const uint32_t grid[3], char *why, size_t n)
{
	uint64_t all = (uint64_t)grid[0] * grid[1] * grid[2];

	if (all <= held)
		return HEXC_OK;
	snprintf(why, n,
	         "the grid has %llu blocks, which wait for each other at a grid barrier, but the device "
	         "holds %u of them at a time; launch fewer, with more work each",
	         (unsigned long long)all, held);
	return HEXC_E_ARGS;
}

static int
prepare(hexc_gpu_module *gm, size_t k, const hexc_arg *arg, LaunchCall *c)
{
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	hexc_gpu *g = gm->g;
	char why[240];
	uint32_t held;
	size_t n;
	int code;

	memset(c, 0, sizeof *c);
	if (!hexc_kernel(gm->m, k, &info))
		return gpu_error(g, HEXC_E_INVALID, "the module has no kernel %zu", k);
	n = (size_t)snprintf(g->why, sizeof g->why, "%s: ", info.name);
	n = n < sizeof g->why ? n : 0;
	code = hexc_check_args(gm->m, k, arg, g->why + n, sizeof g->why - n);
	if (code == HEXC_OK)
		code = hexc_grid(gm->m, k, arg, c->grid);
	if (code)
		return code;
	c->info = info;
	hexc_launch_params(gm->m, k, arg, c->value, c->arg);
	if (c->grid[0] && c->grid[1] && c->grid[2] && (code = encode_maps(gm, k, &info, arg, c)))
		return code;
	code = GPU_CALL(g, cuModuleGetFunction, &c->function, gm->module, info.name);
	if (code == HEXC_OK && info.smem)
		code = GPU_CALL(g, cuFuncSetAttribute, c->function,
		                DRV_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)info.smem);
	if (code || !(info.persistent || info.cooperative) || (code = gpu_held(g, c->function, &info, &held)))
		return code;
	if (info.persistent)
		gpu_hold(info.cluster, held, c->grid);
	code = info.cooperative ? gpu_resident(held, c->grid, why, sizeof why) : HEXC_OK;
	return code ? gpu_error(g, code, "%s: %s", info.name, why) : HEXC_OK;
}

int
gpu_start(const Driver *cu, DriverLaunch l, const hexc_kernel_info *info, void *function, void **arg,
          const char **call)
{
	DriverAttribute beside = { DRV_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, { 1 }, { 0 } };

	memcpy(l.block, info->block, sizeof l.block);
	l.shared = info->smem;
	if (info->cooperative) {
		*call = "cuLaunchCooperativeKernel";
		return cu->cuLaunchCooperativeKernel(function, l.grid[0], l.grid[1], l.grid[2], l.block[0],
		                                     l.block[1], l.block[2], l.shared, l.stream, arg);
	}
	*call = info->pdl && cu->cuLaunchKernelEx ? "cuLaunchKernelEx" : "cuLaunchKernel";
	if (!info->pdl || !cu->cuLaunchKernelEx)
		return cu->cuLaunchKernel(function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1],
		                          l.block[2], l.shared, l.stream, arg, NULL);
	l.attribute = &beside;
	l.n = 1;
	return cu->cuLaunchKernelEx(&l, function, arg, NULL);
}

static int
launch(hexc_gpu *g, LaunchCall *c, void *stream)
{
	DriverLaunch l = { .stream = stream };
	const char *call;
	int result;

	if (!c->grid[0] || !c->grid[1] || !c->grid[2])
		return HEXC_OK;
	memcpy(l.grid, c->grid, sizeof l.grid);
	result = gpu_start(&g->cu, l, &c->info, c->function, c->arg, &call);
	return gpu_result(g, call, result);
}

int
hexc_gpu_launch_on(hexc_gpu_module *gm, size_t k, const hexc_arg *arg, void *stream)
{
	LaunchCall c;
	int code;

	if (!gm || !arg)
		return HEXC_E_INVALID;
	if ((code = gpu_enter(gm->g)))
		return code;
	code = prepare(gm, k, arg, &c);
	return gpu_leave(gm->g, code ? code : launch(gm->g, &c, stream));
}

int
hexc_gpu_launch(hexc_gpu_module *gm, size_t k, const hexc_arg *arg)
{
	return hexc_gpu_launch_on(gm, k, arg, NULL);
}

int
hexc_gpu_wait(hexc_gpu *g)
{
	int code;

	if (!g)
		return HEXC_E_INVALID;
	code = gpu_enter(g);
	return code ? code : gpu_leave(g, gpu_result(g, "cuCtxSynchronize", g->cu.cuCtxSynchronize()));
}

/* ---- timing ---------------------------------------------------------------------------------------- */

/* Times one launch between two events. */
static int
time_one(hexc_gpu *g, LaunchCall *c, void *const event[2], bool warm, double *us)
{
	float ms = 0;
	int code = HEXC_OK;

	if (!warm)
		code = GPU_CALL(g, cuMemsetD8Async, (uintptr_t)g->flush, 0, g->flush_bytes, NULL);
	if (code || (code = GPU_CALL(g, cuEventRecord, event[0], NULL)) || (code = launch(g, c, NULL)) ||
	    (code = GPU_CALL(g, cuEventRecord, event[1], NULL)) ||
	    (code = GPU_CALL(g, cuEventSynchronize, event[1])) ||
	    (code = GPU_CALL(g, cuEventElapsedTime, &ms, event[0], event[1])))
		return code;
	*us = (double)ms * 1000;
	return HEXC_OK;
}

static int
time_all(hexc_gpu *g, LaunchCall *c, uint32_t runs, bool warm, double *us)
{
	void *event[2] = { NULL, NULL };
	int code = GPU_CALL(g, cuEventCreate, &event[0], 0);

	if (code == HEXC_OK)
		code = GPU_CALL(g, cuEventCreate, &event[1], 0);
	if (code == HEXC_OK)
		code = launch(g, c, NULL);
	for (uint32_t i = 0; i < runs && code == HEXC_OK; i++)
		code = time_one(g, c, event, warm, &us[i]);
	for (int i = 0; i < 2; i++)
		if (event[i])
			g->cu.cuEventDestroy_v2(event[i]);
	return code;
}

int
hexc_gpu_time(hexc_gpu_module *gm, size_t k, const hexc_arg *arg, uint32_t runs, int warm, double *us)
{
	hexc_gpu *g;
	LaunchCall c;
	int code;

	if (!gm || !arg || !us || runs == 0)
		return HEXC_E_INVALID;
	g = gm->g;
	if (!warm && !g->flush) {
		g->flush_bytes = 2 * (uint64_t)(g->info.l2 ? g->info.l2 : 1 << 20);
		code = hexc_gpu_alloc(g, g->flush_bytes, &g->flush);
		if (code)
			return code;
	}
	if ((code = gpu_enter(g)))
		return code;
	code = prepare(gm, k, arg, &c);
	return gpu_leave(g, code ? code : time_all(g, &c, runs, warm, us));
}
