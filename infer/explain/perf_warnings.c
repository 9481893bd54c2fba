/* perf_warnings.c - warns about performance problems of the chosen solution: dots without tensor cores,
 * threads with redundant work, narrow accesses, masks. */
#include "hexc/ir/memory_effects.h"
#include "infer/core/mma_instr.h"
#include "infer/explain/explain_internal.h"
#include "infer/explain/perf_warnings.h"

/* ---- dots ------------------------------------------------------------------------------------ */

/* Could tensor cores compute the dot if its operands had type d? */
static bool
multiplies_as(const Op *dot, DType d, const Target *t)
{
	for (const Instr *in = instrs; in->name; in++)
		if (in->kind == IK_mma && in->ta == d && in->tb == d && instr_on(in, t) &&
		    (instr_divides(in, false, dot) || instr_divides(in, true, dot)))
			return true;
	return false;
}

/* Returns false if there is no problem, or no cast would fix it. */
static bool
warn_fma(const Kernel *k, const Op *dot)
{
	const Instr *in = instr_of(dot->lowering);
	const Target *t = k->unit->target;
	DType d = mma_a(dot)->type.dtype;
	bool half, tf32;

	if (!in || in->kind != IK_fma || !dtype_is_float(d) || dtype_info[d].bits > 32)
		return false;
	half = d != D_f16 && multiplies_as(dot, D_f16, t);
	tf32 = d == D_f32 && multiplies_as(dot, D_tf32, t);
	if (half || tf32)
		diag_warn(k->unit->diag, DW_fma, dot->src,
		          "dot of %s lowered to FMA, not tensor cores: %s%s%s", dtype_info[d].name,
		          half ? "cast both operands, as in `dot(f16(a), f16(b))`" : "",
		          half && tf32 ? ", or " : "", tf32 ? "write `dot(a, b, tf32)`" : "");
	return half || tf32;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Lanes and warps that own or move distinct elements. */
typedef struct ThreadUse {
	int64_t lanes, warps;
	Src src; /* of a tile */
} ThreadUse;

static void
count_busy(ThreadUse *b, const Layout *l, Src src)
{
	int64_t lanes = 1, warps = 1;

	for (int d = 0; l && d < l->ndim; d++)
		for (Digit g = dim_digits(l, d); g.it; digit_next(&g)) {
			if (g.it->axis == AX_lane)
				lanes *= g.it->extent;
			if (g.it->axis == AX_warp)
				warps *= g.it->extent;
		}
	if (!l || lanes * warps <= b->lanes * b->warps)
		return;
	*b = (ThreadUse){ lanes, warps, src };
}

static void
warn_idle(const Kernel *k, const ThreadUse *b)
{
	int64_t threads = b->lanes * b->warps, all = (int64_t)k->warps * WARP_SIZE;

	if (!b->src.line || threads >= all)
		return;
	diag_warn(k->unit->diag, DW_idle, b->src,
	          "the largest tile occupies %lld of %d warps and %lld of %d lanes; the rest duplicate "
		  "work: %s",
	          (long long)b->warps, k->warps, (long long)b->lanes, WARP_SIZE,
	          b->warps < k->warps ? arena_printf(k->unit->arena, "WARPS = %lld is as fast",
	                                             (long long)b->warps)
	                              : "use larger tiles");
}

/* ---- effects of sizes ------------------------------------------------------------------------ */

static void
warn_narrow(Kernel *k, const Op *o)
{
	AssumeHint w;
	int bits;

	if (!diag_wants(k->unit->diag, DW_narrow) || !explain_wider(k, o, &w))
		return;
	bits = dtype_info[w.tensor->val->type.dtype].bits;
	diag_warn(k->unit->diag, DW_narrow, o->src,
	          "`%s` is accessed with %d-bit instructions; `assume %s %% %lld == 0` allows %lld bits",
	          w.tensor->name, op_access(o)->vec * bits, w.size->name, (long long)w.mult,
	          (long long)w.mult * bits);
}

static void
warn_masked(Kernel *k, const Op *o)
{
	AssumeHint w;

	if (diag_wants(k->unit->diag, DW_masked) && explain_unmasked(k, o, &w))
		diag_warn(k->unit->diag, DW_masked, o->src,
		          "elements past %s are masked here; `assume %s %% %lld == 0` removes the mask",
		          w.size->name, w.size->name, (long long)w.mult);
}

void
infer_warn(Kernel *k)
{
	ThreadUse busy = { 1, 1, { 0 } };
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		for (int i = 0; i < o->nout; i++)
			if (o->out[i]->type.space == S_reg)
				count_busy(&busy, o->out[i]->type.layout, o->src);
		if (o->code == O_dot && !warn_fma(k, o))
			remark_product(k, o);
		if (o->code == O_for)
			remark_ahead(k, o);
		warn_masked(k, o);
		if (!access_source(o) && !access_target(o))
			continue;
		count_busy(&busy, op_access(o)->map, o->src);
		warn_narrow(k, o);
		remark_width(k, o);
		remark_copy(k, o);
	}
	warn_idle(k, &busy);
}
