/* roofline.c - computes a lower bound on the time of a launch on a GPU from its counts. */
#include <stdio.h>
#include <string.h>
#include "lib/sim/launch/result.h"

typedef struct Rate { u32 cc, in, f32, f16, f64, mufu, cvt, lsu, f64mma; } Rate;

static const Rate rates[] = {
#define RATE(...) { __VA_ARGS__ },
#include "lib/sim/launch/rates.def"
};

static const sim_gpu gpus[] = {
#define GPU(...) { __VA_ARGS__ },
#include "lib/sim/launch/gpus.def"
};

int
sim_gpu_at(size_t i, sim_gpu *out)
{
	if (i >= COUNT_OF(gpus))
		return 0;
	*out = gpus[i];
	return 1;
}

static const struct { const char *name, *text; } limits[SIM_NLIMITS] = {
#define X(id, name, text) { #name, text },
	SIM_LIMITS(X)
#undef X
};

const char *
sim_limit_name(sim_limit l)
{
	return (u32)l < SIM_NLIMITS ? limits[l].name : "?";
}

const char *
sim_limit_text(sim_limit l)
{
	return (u32)l < SIM_NLIMITS ? limits[l].text : "?";
}

static bool
same_word(const char *a, const char *b)
{
	for (; *a && (*a | 32) == (*b | 32); a++, b++)
		;
	return !*a && !*b;
}

int
sim_gpu_find(const char *name, sim_gpu *out)
{
	for (size_t i = 0; sim_gpu_at(i, out); i++)
		if (same_word(out->name, name))
			return 1;
	return 0;
}

/* f16 multiply-accumulates that take as long as one of this opcode's, times 16; 0: the GPU lacks the type.
 * Types narrower than f16 come first: accumulators may be f16. */
static u32
weight(const char *types, const sim_gpu *g, const Rate *rate)
{
	static const struct { const char *name; u32 w16; } t[] = {
		{ ".e2m1", 4 }, { ".e4m3", 8 }, { ".e5m2", 8 }, { ".s8", 8 }, { ".u8", 8 }, { ".s4", 4 },
		{ ".u4", 4 }, { ".b1", 1 }, { ".tf32", 32 }, { ".bf16", 16 }, { ".f16", 16 },
	};

	if (strstr(types, ".f64"))
		return rate->f64mma ? 16 * g->mma_macs / rate->f64mma : 0;
	for (size_t i = 0; i < COUNT_OF(t); i++)
		if (strstr(types, t[i].name))
			return t[i].w16;
	return 16;
}

/* Multiply-accumulates of a line, in units of f16 ones with f32 accumulation. */
static double
mma_work(const sim_line *l, const sim_gpu *g, const Rate *rate, bool *known)
{
	const char *p = l->opcode;
	unsigned m, n, k;
	u32 w;

	while ((p = strstr(p, ".m")) != NULL && sscanf(p, ".m%un%uk%u", &m, &n, &k) != 3)
		p++;
	if (!p)
		return 0;
	w = weight(p, g, rate);
	*known = *known && w;
	if (!strncmp(l->opcode, "wgmma", 5))
		m /= 4;                 /* counted by each of its four warps */
	if (strstr(l->opcode, ".sp"))
		k /= 2;                 /* half of A is known to be zero */
	return (double)l->n.warps * m * n * k * w / 16;
}

static sim_limit
pipe_of(sim_class c)
{
	switch (c) {
	case SIM_CLASS_INT: return SIM_LIMIT_INT;
	case SIM_CLASS_F32: return SIM_LIMIT_F32;
	case SIM_CLASS_F64: return SIM_LIMIT_F64;
	case SIM_CLASS_F16: return SIM_LIMIT_F16;
	case SIM_CLASS_CVT: return SIM_LIMIT_CVT;
	case SIM_CLASS_MUFU: return SIM_LIMIT_MUFU;
	case SIM_CLASS_LDG: case SIM_CLASS_STG: case SIM_CLASS_LDS: case SIM_CLASS_STS: case SIM_CLASS_LDSM:
	case SIM_CLASS_LDL: case SIM_CLASS_ATOM: case SIM_CLASS_CPASYNC: case SIM_CLASS_SHFL:
		return SIM_LIMIT_LSU;
	default: return SIM_LIMIT_ISSUE;
	}
}

/* Cycles of one SM per warp instruction. */
static double
clocks(sim_limit l, const Rate *r)
{
	switch (l) {
	case SIM_LIMIT_INT: return 32.0 / r->in;
	case SIM_LIMIT_F32: return 32.0 / r->f32;
	case SIM_LIMIT_F16: return 32.0 / r->f16;
	case SIM_LIMIT_F64: return 32.0 / r->f64;
	case SIM_LIMIT_CVT: return 32.0 / r->cvt;
	case SIM_LIMIT_MUFU: return 32.0 / r->mufu;
	case SIM_LIMIT_LSU: return 32.0 / r->lsu;
	default: return 0.25;
	}
}

int
sim_roofline(const sim_result *r, const char *name, sim_roof *out)
{
	const sim_gpu *g;
	sim_gpu gpu;
	const Rate *rate = NULL;
	double hz, sms;
	bool known = true;

	memset(out, 0, sizeof *out);
	g = sim_gpu_find(name, &gpu) ? &gpu : NULL;
	for (size_t i = 0; g && i < COUNT_OF(rates); i++)
		if (rates[i].cc == g->cc)
			rate = &rates[i];
	if (!rate)
		return SIM_E_INVALID;
	hz = 1e6 * g->mhz;
	sms = r->st.blocks && r->st.blocks < g->sms ? (double)r->st.blocks : g->sms;
	for (u32 i = 0; i < r->nline; i++) {
		const sim_line *l = &r->line[i];
		sim_limit pipe = pipe_of(l->cls);
		if (!strncmp(l->opcode, "mov.", 4) || !strncmp(l->opcode, "ld.param", 8))
			continue;
		if (pipe != SIM_LIMIT_ISSUE)
			out->seconds[pipe] += (double)l->n.warps * clocks(pipe, rate) / (sms * hz);
		out->seconds[SIM_LIMIT_ISSUE] += (double)l->n.warps * 0.25 / (sms * hz);
		if (l->cls == SIM_CLASS_MMA)
			out->seconds[SIM_LIMIT_MMA] += mma_work(l, g, rate,
			                                        &known) /
			                               (sms * g->mma_macs * hz);
	}
	out->seconds[SIM_LIMIT_SHARED] = (double)r->st.all.shared_wavefronts / (sms * hz);
	out->seconds[SIM_LIMIT_DRAM] = 32.0 * (double)(r->st.grid_sectors_read + r->st.grid_sectors_written) /
	                               (1e9 * g->dram_gbs);
	if (g->l2_bytes)
		out->seconds[SIM_LIMIT_L2] =
		        32.0 * (double)(r->st.block_sectors_read + r->st.block_sectors_written) /
			(g->l2_bytes * hz);
	for (u32 i = 0; i < SIM_NLIMITS; i++)
		if (out->seconds[i] > out->bound) {
			out->bound = out->seconds[i];
			out->limiter = (sim_limit)i;
		}
	return known ? SIM_OK : SIM_E_INVALID;
}
