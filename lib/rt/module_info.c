/* module_info.c - implements the queries of hexc.h on a module. */
#include "lib/rt/rt.h"
#include <string.h>

const char *
hexc_ptx(const hexc_module *m, size_t *len)
{
	if (len)
		*len = m ? m->nptx : 0;
	return m ? m->ptx : "";
}

const char *
hexc_ir(const hexc_module *m, size_t k)
{
	return m && m->ir && k < (size_t)m->nkernel ? m->ir[k] : NULL;
}

const char *
hexc_time(const hexc_module *m, size_t i, double *ms)
{
	if (!m || i >= (size_t)m->ntime)
		return NULL;
	if (ms)
		*ms = m->time[i].ms;
	return m->time[i].name;
}

int
hexc_module_describe(const hexc_module *m, hexc_module_info *out)
{
	hexc_module_info info = HEXC_MODULE_INFO_INIT;

	if (!m || !out)
		return 0;
	info.arch = m->target->name;
	info.file = m->file;
	info.source = m->digest;
	info.nkernel = (uint32_t)m->nkernel;
	info.ncubin = (uint32_t)m->ncubin;
	return hand_out(out, out->size, &info, sizeof info);
}

int
hexc_module_cubin(const hexc_module *m, size_t i, hexc_cubin *out)
{
	if (!m || !out || i >= (size_t)m->ncubin)
		return 0;
	*out = m->cubin[i];
	return 1;
}

static const ModKernel *
kernel_at(const hexc_module *m, size_t i)
{
	return m && i < (size_t)m->nkernel ? &m->kernel[i] : NULL;
}

int
hexc_kernel(const hexc_module *m, size_t i, hexc_kernel_info *out)
{
	const ModKernel *k = kernel_at(m, i);
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;

	if (!k || !out)
		return 0;
	info.name = k->name;
	for (int d = 0; d < 3; d++) {
		info.grid[d] = k->grid_text[d];
		info.block[d] = d == 0 ? (uint32_t)k->warps * WARP_SIZE : 1;
		info.cluster[d] = (uint32_t)k->cluster[d];
	}
	info.smem = (uint32_t)k->smem;
	info.nparam = (uint32_t)k->nparam;
	info.nmap = (uint32_t)k->nmap;
	info.persistent = k->persistent;
	info.pdl = k->pdl;
	info.cooperative = k->cooperative;
	info.nassume = (uint32_t)k->nassume;
	info.nconst = (uint32_t)k->nconstants;
	info.ncandidate = (uint32_t)k->ncand;
	info.candidate = (uint32_t)k->candidate;
	info.group = (uint32_t)k->order.group;
	info.group_dim[0] = (uint32_t)k->order.fast;
	info.group_dim[1] = (uint32_t)k->order.slow;
	return hand_out(out, out->size, &info, sizeof info);
}

int
hexc_param(const hexc_module *m, size_t k, size_t i, hexc_param_info *out)
{
	const ModKernel *mk = kernel_at(m, k);
	hexc_param_info info = HEXC_PARAM_INFO_INIT;
	const ModParam *p;

	if (!mk || !out || i >= (size_t)mk->nparam)
		return 0;
	p = &mk->param[i];
	info.name = p->name;
	info.dtype = dtype_info[p->dtype].name;
	info.kind = p->kind;
	info.bits = dtype_info[p->dtype].bits;
	info.bytes = p->kind == HEXC_SCALAR ? (info.bits + 7) / 8 : 8;
	info.rank = (uint32_t)p->rank;
	info.read = p->kind == HEXC_POINTER ? p->read : 1;
	info.written = p->written;
	info.align = p->kind == HEXC_POINTER ? param_align(mk, p) : info.bytes;
	for (int d = 0; d < p->rank; d++) {
		info.dim[d] = p->dim_text[d];
		info.stride[d] = p->stride_text[d];
	}
	return hand_out(out, out->size, &info, sizeof info);
}

static const ModMap *
map_at(const hexc_module *m, size_t k, size_t i)
{
	const ModKernel *mk = kernel_at(m, k);

	return mk && i < (size_t)mk->nmap ? &mk->map[i] : NULL;
}

/* Returns a CUtensorMapDataType of the CUDA driver API that moves elements unchanged. */
static uint32_t
map_type(DType d)
{
	enum { BFLOAT16 = 9 };
	static const uint8_t type[][4] = {
		[false] = { 0, 1, 2, 4 }, /* UINT8, UINT16, UINT32, UINT64 */
		[true] = { 0, 6, 7, 8 },  /* UINT8, FLOAT16, FLOAT32, FLOAT64 */
	};

	return d == D_bf16 ? BFLOAT16 : type[dtype_is_float(d)][log2_floor(dtype_info[d].bits / 8)];
}

/* Returns a CUtensorMapSwizzle or CUtensorMapL2promotion: 0, or 1 + log2(bytes / least). */
static uint32_t
map_step(int bytes, int least)
{
	return bytes ? 1 + (uint32_t)log2_floor(bytes / least) : 0;
}

int
hexc_tensor_map_form(const hexc_module *m, size_t k, size_t i, hexc_tensor_map_info *out, const char **dim,
                     const char **stride)
{
	hexc_tensor_map_info info = HEXC_TENSOR_MAP_INFO_INIT;
	const ModMap *map = map_at(m, k, i);

	if (!map)
		return 0;
	info.param = (uint32_t)map->param;
	info.type = map_type(map->dtype);
	info.rank = (uint32_t)map->rank;
	info.swizzle = map_step(map->swizzle, 32);
	info.l2 = map_step(map->l2, 64);
	info.optional = map->optional;
	for (int d = 0; d < map->rank; d++) {
		info.box[d] = (uint32_t)map->box[d];
		info.step[d] = 1;
		if (dim)
			dim[d] = map->dim_text[d];
		if (stride)
			stride[d] = map->stride_text[d];
	}
	return !out || hand_out(out, out->size, &info, sizeof info);
}

/* ---- by name ---- */

int
hexc_kernel_find(const hexc_module *m, const char *name)
{
	for (int i = 0; m && name && i < m->nkernel; i++)
		if (strcmp(m->kernel[i].name, name) == 0)
			return i;
	return -1;
}

int
hexc_param_find(const hexc_module *m, size_t k, const char *name)
{
	const ModKernel *mk = kernel_at(m, k);

	for (int i = 0; mk && name && i < mk->nparam; i++)
		if (strcmp(mk->param[i].name, name) == 0)
			return i;
	return -1;
}

int
hexc_const_find(const hexc_module *m, size_t k, const char *name)
{
	const ModKernel *mk = kernel_at(m, k);

	for (int i = 0; mk && name && i < mk->nconstants; i++)
		if (strcmp(mk->constants[i].name, name) == 0)
			return i;
	return -1;
}

/* ---- parts of a kernel ---- */

const char *
hexc_module_pack(const hexc_module *m, size_t k, size_t i)
{
	const ModKernel *mk = kernel_at(m, k);

	return mk && i < (size_t)mk->nparam ? mk->param[i].pack : NULL;
}

const char *
hexc_assume(const hexc_module *m, size_t k, size_t i)
{
	const ModKernel *mk = kernel_at(m, k);

	return mk && i < (size_t)mk->nassume ? mk->assume[i].text : NULL;
}

int
hexc_const(const hexc_module *m, size_t k, size_t i, hexc_define *out)
{
	const ModKernel *mk = kernel_at(m, k);

	if (!mk || !out || i >= (size_t)mk->nconstants)
		return 0;
	*out = mk->constants[i];
	return 1;
}

int
hexc_tunable(const hexc_module *m, size_t k, size_t i, hexc_tunable_info *out)
{
	const ModKernel *mk = kernel_at(m, k);
	hexc_tunable_info info = HEXC_TUNABLE_INFO_INIT;
	const Tunable *t;

	if (!mk || !out || i >= (size_t)mk->ntunable)
		return 0;
	t = &mk->tunable[i];
	info.name = t->name;
	info.value = t->value;
	info.preset = t->preset;
	info.choice = t->choice;
	info.nchoice = (size_t)t->nchoice;
	return hand_out(out, out->size, &info, sizeof info);
}

const char *
hexc_condition(const hexc_module *m, size_t k, size_t i)
{
	const ModKernel *mk = kernel_at(m, k);

	return mk && i < (size_t)mk->ncondition ? mk->condition[i] : NULL;
}

int
hexc_candidate(const hexc_module *m, size_t k, size_t i, hexc_candidate_info *out)
{
	const ModKernel *mk = kernel_at(m, k);
	hexc_candidate_info info = HEXC_CANDIDATE_INFO_INIT;

	if (!mk || !out || i >= (size_t)mk->ncand)
		return 0;
	info.cycles = mk->cand[i].cycles;
	info.text = mk->cand[i].text;
	info.alone = mk->cand[i].alone;
	info.together = (uint32_t)mk->cand[i].together;
	info.registers = (uint32_t)mk->cand[i].registers;
	info.assembled = mk->cand[i].asked.known;
	info.used = (uint32_t)mk->cand[i].asked.used;
	info.spilled = (uint32_t)mk->cand[i].asked.spilled;
	info.used_together = (uint32_t)mk->cand[i].asked.together;
	info.used_cycles = mk->cand[i].asked.cycles;
	return hand_out(out, out->size, &info, sizeof info);
}

const char *
hexc_explain(const hexc_module *m, size_t k)
{
	const ModKernel *mk = kernel_at(m, k);

	return mk ? mk->explain : "";
}

const char *
hexc_explain_short(const hexc_module *m, size_t k)
{
	const ModKernel *mk = kernel_at(m, k);

	return mk ? mk->explain_short : "";
}

const char *
hexc_explain_json(const hexc_module *m, size_t k)
{
	const ModKernel *mk = kernel_at(m, k);

	return mk ? mk->json : "{}";
}

const char *
hexc_drawing(const hexc_module *m, size_t k, size_t i, const char **name)
{
	const ModKernel *mk = kernel_at(m, k);

	if (!mk || i >= (size_t)mk->ndrawing)
		return NULL;
	if (name)
		*name = mk->drawing[i].name;
	return mk->drawing[i].svg;
}
