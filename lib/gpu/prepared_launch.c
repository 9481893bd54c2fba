/* prepared_launch.c - implements hexc_gpu.h: creates prepared launches (hexc_call) and sets their
 * arguments. */
#include "lib/gpu/prepared_launch.h"
#include "hexc/ir/dtype_value.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
call_driver(hexc_call *c, const char *call, int result)
{
	if (result)
		driver_says(&c->gm->g->cu, call, result, WHY(c));
	return call_told(c, driver_code(result));
}

int
call_told(hexc_call *c, int code)
{
	if (code)
		c->why[0] = c->first;
	return code;
}

bool
call_lives(hexc_call *c)
{
	if (c && !c->freed && c->gm->g)
		return true;
	if (c)
		call_error(c, HEXC_E_INVALID, "%s",
		           c->freed ? "the call was freed" : "its module is unloaded, or the GPU closed");
	return false;
}

/* ---- made and freed ------------------------------------------------------------------------------ */

/* Allocates the next n elements of a block, which has space for them. */
static void *
part(unsigned char **at, size_t n, size_t size)
{
	void *p = *at;

	*at += (n * size + 63) / 64 * 64;
	return p;
}

/* Allocates one block for everything that the call needs; NULL if memory is short. */
static hexc_call *
call_memory(const hexc_kernel_info *info)
{
	size_t n = info->nparam, all = n + info->nmap;
	size_t bytes = sizeof(hexc_call) + info->nmap * (sizeof(CuTensorMap) + sizeof(hexc_tensor_map_info)) +
	               n * (sizeof(hexc_arg) + sizeof(uint64_t) + sizeof(int64_t)) + all * sizeof(void *);
	unsigned char *at = aligned_alloc(64, (bytes + 8 * 64 + 63) / 64 * 64);
	hexc_call *c = (hexc_call *)at;

	if (!c)
		return NULL;
	memset(at, 0, (bytes + 8 * 64 + 63) / 64 * 64);
	part(&at, 1, sizeof *c);
	c->map = part(&at, info->nmap, sizeof *c->map);
	c->plan.map = part(&at, info->nmap, sizeof *c->plan.map);
	c->plan.bytes = part(&at, n, sizeof *c->plan.bytes);
	c->arg = part(&at, n, sizeof *c->arg);
	c->value = part(&at, n, sizeof *c->value);
	c->param = part(&at, all, sizeof *c->param);
	return c;
}

/* Requires the GPU's context to be current. */
static int
find_function(hexc_call *c)
{
	hexc_gpu *g = c->gm->g;
	int code = GPU_CALL(g, cuModuleGetFunction, &c->function, c->gm->module, c->info.name);

	if (code == HEXC_OK && c->info.smem)
		code = GPU_CALL(g, cuFuncSetAttribute, c->function,
		                DRV_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)c->info.smem);
	if (code == HEXC_OK && (c->info.persistent || c->info.cooperative))
		code = gpu_held(g, c->function, &c->info, &c->held);
	if (code == HEXC_OK && c->info.nmap &&
	    !DRIVER_HAS(&g->cu, cuTensorMapEncodeTiled, g->why, sizeof g->why))
		code = HEXC_E_DEVICE;
	return code;
}

int
hexc_call_new(hexc_call **out, hexc_gpu_module *gm, size_t k)
{
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	const hexc_tensor_map_info map = HEXC_TENSOR_MAP_INFO_INIT;
	hexc_call *c;
	int code;

	if (out)
		*out = NULL;
	if (!out || !gm)
		return HEXC_E_INVALID;
	if (!hexc_kernel(gm->m, k, &info))
		return gpu_error(gm->g, HEXC_E_INVALID, "the module has no kernel %zu", k);
	c = call_memory(&info);
	if (!c)
		return gpu_error(gm->g, HEXC_E_NOMEM, "%s", hexc_strerror(HEXC_E_NOMEM));
	c->gm = gm;
	atomic_fetch_add(&gm->refs, 1);
	c->k = k;
	c->info = info;
	c->missing = info.nparam == 64 ? UINT64_MAX : (UINT64_C(1) << info.nparam) - 1;
	c->prefix = (size_t)snprintf(c->why, sizeof c->why / 2, "%s: ", info.name);
	c->prefix = c->prefix < sizeof c->why / 2 ? c->prefix : sizeof c->why / 2 - 1;
	c->first = c->why[0];
	c->why[0] = 0; /* no failure yet */
	for (uint32_t i = 0; i < info.nparam; i++) {
		c->param[i] = &c->value[i];
		c->numbers |= (uint64_t)(gm->m->kernel[k].param[i].kind != HEXC_POINTER) << i;
	}
	for (uint32_t i = 0; i < info.nmap; i++) {
		c->plan.map[i] = map;
		hexc_tensor_map_form(gm->m, k, i, &c->plan.map[i], NULL, NULL);
		c->param[info.nparam + i] = &c->map[i];
	}
	code = gpu_enter(gm->g);
	if (code == HEXC_OK)
		code = gpu_leave(gm->g, find_function(c));
	if (code)
		hexc_call_free(c);
	else
		*out = c;
	return code;
}

void
hexc_call_free(hexc_call *c)
{
	hexc_gpu_module *gm;

	if (!c || c->freed)
		return;
	c->freed = true;
	gm = c->gm;
	free(atomic_exchange(&gm->freed[atomic_fetch_add(&gm->nfreed, 1) % CALLS_KEPT], c));
	gpu_module_release(gm);
}

const char *
hexc_call_why(const hexc_call *c)
{
	return c ? c->why : "";
}

int
hexc_call_find(const hexc_call *c, const char *name)
{
	return c && !c->freed && c->gm->g ? hexc_param_find(c->gm->m, c->k, name) : -1;
}

/* ---- arguments ----------------------------------------------------------------------------------- */

static const ModParam *
param_of(hexc_call *c, int i, int *code)
{
	if (!call_lives(c))
		*code = HEXC_E_INVALID;
	else if (i < 0 || (uint32_t)i >= c->info.nparam)
		*code = call_error(c, HEXC_E_INVALID, "it has no parameter %d", i);
	else
		return &c->gm->m->kernel[c->k].param[i];
	return NULL;
}

int
hexc_call_ptr(hexc_call *c, int i, void *ptr, uint64_t bytes)
{
	int code = HEXC_OK;
	const ModParam *p = param_of(c, i, &code);

	if (!p)
		return code;
	if (p->kind != HEXC_POINTER)
		return call_error(c, HEXC_E_INVALID, "%s is not a tensor; set a number", p->name);
	c->arg[i].ptr = ptr;
	c->arg[i].bytes = bytes;
	c->value[i] = (uintptr_t)ptr;
	c->missing &= ~(UINT64_C(1) << i);
	c->moved |= UINT64_C(1) << i;
	return HEXC_OK;
}

int
hexc_call_int(hexc_call *c, int i, int64_t x)
{
	int code = HEXC_OK;
	const ModParam *p = param_of(c, i, &code);

	if (!p)
		return code;
	if (p->kind == HEXC_POINTER || dtype_is_float(p->dtype))
		return call_error(c, HEXC_E_INVALID, "%s is %s, and cannot be set to an integer", p->name,
		                  p->kind == HEXC_POINTER ? "a tensor" : dtype_info[p->dtype].name);
	if (c->arg[i].i != x || (c->missing >> i & 1))
		c->planned = false;
	c->arg[i].i = x;
	num_put_i(p->dtype, &c->value[i], 0, x);
	c->missing &= ~(UINT64_C(1) << i);
	return HEXC_OK;
}

int
hexc_call_float(hexc_call *c, int i, double x)
{
	Arithmetic host;
	int code = HEXC_OK;
	const ModParam *p = param_of(c, i, &code);

	if (!p)
		return code;
	if (p->kind != HEXC_SCALAR || !dtype_is_float(p->dtype))
		return call_error(c, HEXC_E_INVALID, "%s is not a scalar of a float type", p->name);
	c->arg[i].f = x;
	arithmetic_enter(&host);
	num_put(p->dtype, &c->value[i], 0, x);
	arithmetic_leave(&host);
	c->missing &= ~(UINT64_C(1) << i);
	return HEXC_OK;
}

int
call_missing(hexc_call *c, uint64_t missing)
{
	const ModParam *p = &c->gm->m->kernel[c->k].param[CTZ64((int64_t)missing)];

	return call_error(c, HEXC_E_ARGS, "%s has no argument yet; set it with hexc_call_%s", p->name,
	                  p->kind == HEXC_POINTER     ? "ptr"
	                  : dtype_is_float(p->dtype) ? "float"
	                                             : "int");
}

int
hexc_call_bytes(hexc_call *c, int i, uint64_t *bytes)
{
	int code = HEXC_OK;
	const ModParam *p = param_of(c, i, &code);

	if (!p || !bytes)
		return p ? HEXC_E_INVALID : code;
	if (c->missing & c->numbers)
		return call_missing(c, c->missing & c->numbers);
	code = hexc_tensor_bytes(c->gm->m, c->k, (size_t)i, c->arg, bytes);
	if (code == HEXC_E_INVALID)
		return call_error(c, code, "%s is not a tensor", p->name);
	return code ? call_error(c, code, "the size of %s in bytes cannot be computed for these sizes",
	                         p->name)
	            : HEXC_OK;
}

uint32_t
call_touches(const hexc_call *c, int i)
{
	const ModParam *p;

	if (i < 0 || (uint32_t)i >= c->info.nparam || c->freed || !c->gm->g)
		return 0;
	p = &c->gm->m->kernel[c->k].param[i];
	return p->kind != HEXC_POINTER ? 0 : p->written ? 2 + (uint32_t)p->read : 1;
}

int
call_blocks(hexc_call *c, uint64_t *blocks)
{
	uint32_t grid[3] = { 0, 0, 0 };
	int code;

	if (!call_lives(c))
		return HEXC_E_INVALID;
	if (c->missing & c->numbers)
		return call_missing(c, c->missing & c->numbers);
	code = hexc_grid(c->gm->m, c->k, c->arg, grid);
	if (code)
		return call_error(c, code, "its grid cannot be computed for these sizes");
	*blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	return HEXC_OK;
}

int
call_fill(hexc_call *c, double *fill)
{
	hexc_gpu *g = c->gm->g; /* call_blocks checks it */
	uint64_t blocks = 0;
	int code = call_blocks(c, &blocks);

	if (code)
		return code;
	if (!c->held && (code = gpu_enter(g)) == HEXC_OK)
		code = gpu_leave(g, gpu_held(g, c->function, &c->info, &c->held));
	if (code)
		return call_error(c, code, "%s", g->why);
	*fill = !c->held || blocks > c->held ? 1 : (double)blocks / c->held;
	return HEXC_OK;
}
