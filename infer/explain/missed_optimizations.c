/* missed_optimizations.c - reports optimizations of accesses, dots and loops that were not done, and why,
 * as remarks or optional warnings. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "infer/core/mma_instr.h"
#include "infer/core/fragment_prefetch.h"
#include "infer/explain/explain_internal.h"
#include "infer/explain/perf_warnings.h"

/* ---- accesses -------------------------------------------------------------------------------- */

static const char *
narrow_why(const Kernel *k, const Op *o, const MaxAccessWidth *r)
{
	if (r->unit < 0 && view_has_steps(r->view))
		return "the slice is strided";
	if (r->unit < 0)
		return "no dimension is known to be contiguous";
	if (r->proved <= op_access(o)->vec)
		return arena_printf(k->unit->arena,
		                    "rows are not known to be aligned to %lld elements",
		                    (long long)r->wished);
	if (o->code == O_store && IMM(o, update))
		return "the target has no wider atomic for this type";
	return o->code == O_copy ? "the shared tile has fewer contiguous elements, or another dimension order"
	                         : "the tile's layout gives each thread no more contiguous elements";
}

void
remark_width(Kernel *k, const Op *o)
{
	MaxAccessWidth r;
	AssumeHint w;
	int bits;

	if (!diag_wants(k->unit->diag, DW_width) || op_is_other_version(o) ||
	    !explain_reach(k, o, &r) || op_access(o)->vec >= r.wished || explain_wider(k, o, &w))
		return;
	bits = dtype_info[r.tensor->val->type.dtype].bits;
	diag_warn(k->unit->diag, DW_width, o->src,
	          "`%s` is accessed with %d-bit instead of %lld-bit instructions: %s",
	          r.tensor->name, op_access(o)->vec * bits, (long long)r.wished * bits, narrow_why(k, o, &r));
}

/* ---- copies ---------------------------------------------------------------------------------- */

enum { CHAIN = 8 }; /* maximum number of ops between two memory accesses */

/* Returns the global load that v is computed from elementwise; NULL if there is none, or v is its
 * unmodified result. */
static const Op *
changed_load(const Val *v, int depth)
{
	const Op *o = v->def, *load = NULL;

	if (!o || depth == 0 || v->type.space != S_reg)
		return NULL;
	if (o->code == O_load)
		return depth < CHAIN && load_source(o)->type.space == S_global ? o : NULL;
	if (!op_is(o, F_ELT) && o->code != O_convert_layout && o->code != O_mask)
		return NULL;
	for (int i = 0; i < o->nin && !load; i++)
		load = changed_load(o->in[i], depth - 1);
	return load;
}

static const char *
copy_why(const Kernel *k, const Op *o)
{
	const Instr *in = instr_of(o->lowering);
	int bits = dtype_info[copy_dest(o)->type.dtype].bits;

	if (!(k->unit->target->features & T_CPASYNC))
		return arena_printf(k->unit->arena, "%s has no cp.async", k->unit->target->name);
	if (!IMM(o, async))
		return "the loop's cp.async wait would also wait for this copy";
	if (in && in->kind == IK_ld_bits)
		return "its elements are not byte-aligned";
	return arena_printf(k->unit->arena,
	                    "cp.async needs 4 bytes; only %d bits are known to be contiguous and in bounds",
	                    op_access(o)->vec * bits);
}

void
remark_copy(const Kernel *k, const Op *o)
{
	bool store = o->code == O_store && store_dest(o)->type.space == S_shared;
	const Op *load = store ? changed_load(store_value(o), CHAIN) : o->code == O_copy ? o : NULL;
	const Instr *in = instr_of(o->lowering);
	const Param *p = load ? val_param(k, view_root(access_source(load))) : NULL;

	if (!p || instr_is_box(in) || (in && in->kind == IK_cp_async) || op_is_other_version(o))
		return;
	diag_warn(k->unit->diag, DW_async, o->src,
	          "`%s` is copied to shared memory through registers instead of cp.async: %s",
	          p->name, store ? "its elements are converted on the way" : copy_why(k, o));
}

/* ---- dots ------------------------------------------------------------------------------------ */

void
remark_product(const Kernel *k, const Op *dot)
{
	const Target *t = k->unit->target;
	const DType a = mma_a(dot)->type.dtype, b = mma_b(dot)->type.dtype, c = dot->out[0]->type.dtype;
	const int64_t *shape = &dot->out[0]->type.shape[dot_batch(dot)];
	const Instr *in = instr_of(dot->lowering), *least = NULL;
	bool divides = false;

	if (!in || in->kind != IK_fma)
		return;
	for (const Instr *x = instrs; x->name; x++)
		for (int swap = 0; swap < 2; swap++) {
			if (!instr_fits(x, swap, dot, t))
				continue;
			divides |= instr_divides(x, swap, dot);
			if (!least || x->m * x->n * x->k < least->m * least->n * least->k)
				least = x;
		}
	if (!least)
		diag_warn(k->unit->diag, DW_product, dot->src,
		          "dot lowered to FMA: %s has no MMA for %s x %s with %s accumulation",
		          t->name, dtype_info[a].name, dtype_info[b].name, dtype_info[c].name);
	else if (!divides)
		diag_warn(k->unit->diag, DW_product, dot->src,
		          "dot lowered to FMA: its shape %lldx%lldx%lld is not a multiple of the smallest "
			  "MMA, %dx%dx%d",
		          (long long)shape[0], (long long)shape[1],
		          (long long)dot_k(dot), least->m, least->n, least->k);
	else
		diag_warn(k->unit->diag, DW_product, dot->src,
		          "dot lowered to FMA: distributed over %d warps, MMA is predicted to be no faster",
		          k->warps);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Is a tensor-core dot directly in the loop's body? */
static bool
multiplies(const Op *loop)
{
	for (const Op *o = loop->blk[0]->first; o; o = o->next) {
		const Instr *in = o->code == O_dot ? instr_of(o->lowering) : NULL;

		if (in && instr_is_whole(in))
			return true;
	}
	return false;
}

void
remark_ahead(Kernel *k, Op *loop)
{
	Rotate r = { .k = k, .loop = loop };

	if (!diag_wants(k->unit->diag, DW_ahead) || IMM(loop, prefetch) || !multiplies(loop))
		return;
	diag_warn(k->unit->diag, DW_ahead, loop->src,
	          "fragments of this loop's first MMA are not prefetched: %s",
	          rotate_find(&r) ? "the extra register pressure costs more than it saves" : r.why);
}

/* May an access in the loop be out of bounds of its tensor, by range analysis? */
static bool
is_masked(Kernel *k, const Op *loop)
{
	OpWalk w;

	for (Op *o = walk_first(&w, loop->blk[0]); o; o = walk_next(&w)) {
		const Op *view = o->code == O_view && view_source(o)->type.space == S_global ? o : NULL;

		if (o->code == O_mask)
			return true;
		for (int d = 0; view && d < view->out[0]->type.rank; d++)
			if (!view_in_bounds(k, view, d))
				return true;
	}
	return false;
}

/* Reports masks evaluated in every iteration. Skips the loop of a persistent kernel over its blocks, and
 * producer loops, since the TMA unit clips. */
static void
remark_masks(Kernel *k, const Op *loop)
{
	const Op *step = for_step(loop)->def;

	if ((step && step->code == O_linear_block_id) || op_role(loop) == ROLE_PRODUCER)
		return;
	if (diag_wants(k->unit->diag, DW_split) && explain_whole(loop) && is_masked(k, loop))
		diag_warn(k->unit->diag, DW_split, loop->src,
		          "loop evaluates its masks in every iteration (%s)", explain_whole(loop));
}

static bool
has_products(const Op *loop)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, loop->blk[0]); o; o = walk_next(&w))
		if (o->code == O_dot)
			return true;
	return false;
}

/* Returns why warp specialization, which was tried, was not chosen; NULL if it was chosen, or not tried. */
static const char *
roles_why(const Explained *ex)
{
	int other = ex->sol ? explain_other_schedule(ex) : -1;

	if (!ex->sol || ex->sol->spaces->schedule != SCHEDULE_MULTISTAGE)
		return NULL;
	if (other < 0)
		return explain_unscheduled(ex);
	return arena_printf(ex->k->unit->arena,
	                    "candidate %d does; it is predicted to be %.1f %% slower", other,
	                    explain_above(ex, other));
}

static void
remark_roles(const Kernel *k, const Op *loop, const char *why)
{
	bool once = IMM(loop, split) != SPLIT_MAIN && IMM(loop, split) != SPLIT_PROLOGUE;

	if (why && once && IMM(loop, stages) > 0 && has_products(loop))
		diag_warn(k->unit->diag, DW_roles, loop->src,
		          "loop is not warp-specialized: %s", why);
}

void
infer_warn_loops(Kernel *k, const Candidates *c)
{
	const Explained ex = explained(k, c);
	const char *why = diag_wants(k->unit->diag, DW_roles) ? roles_why(&ex) : NULL;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->code != O_for || op_is_other_version(o))
			continue;
		remark_masks(k, o);
		remark_roles(k, o, why);
	}
}
