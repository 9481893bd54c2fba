/* missed_optimizations.c - what accesses, products and loops have not got, and why: remarks, or warnings where they are
 * asked for. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "infer/core/mma_instr.h"
#include "infer/core/fragment_prefetch.h"
#include "infer/explain/explain_internal.h"
#include "infer/explain/perf_warnings.h"

/* ---- accesses ---------------------------------------------------------------------------------------- */

static const char *
narrow_why(const Kernel *k, const Op *o, const MaxAccessWidth *r)
{
	if (r->unit < 0 && view_has_steps(r->view))
		return "it takes elements by steps";
	if (r->unit < 0)
		return "none of its dimensions is known to have stride 1";
	if (r->proved <= op_access(o)->vec)
		return arena_printf(k->unit->arena,
		                    "its rows are not known to begin and end at multiples of %lld elements",
		                    (long long)r->wished);
	if (o->code == O_store && IMM(o, update))
		return "no atomic update of its type is wider";
	return o->code == O_copy ? "the rows of the shared tile are not that long, or not in the same order"
	                         : "the layout of the tile has no more elements next to each other in a "
	                           "thread";
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
	          "`%s` is accessed by %d bits at a time and not by %lld: %s",
	          r.tensor->name, op_access(o)->vec * bits, (long long)r.wished * bits, narrow_why(k, o, &r));
}

/* ---- copies ------------------------------------------------------------------------------------------ */

enum { CHAIN = 8 }; /* ops between memory and memory */

/* The load from global memory that v is made from element by element; NULL: there is none, or v is it. */
static const Op *
changed_load(const Val *v, int depth)
{
	const Op *o = v->def, *load = NULL;

	if (!o || depth == 0 || v->type.space != S_reg)
		return NULL;
	if (o->code == O_load)
		return depth < CHAIN && o->in[0]->type.space == S_global ? o : NULL;
	if (!op_is(o, F_ELT) && o->code != O_convert && o->code != O_mask)
		return NULL;
	for (int i = 0; i < o->nin && !load; i++)
		load = changed_load(o->in[i], depth - 1);
	return load;
}

static const char *
copy_why(const Kernel *k, const Op *o)
{
	const Instr *in = instr_of(o->lowering);
	int bits = dtype_info[o->in[1]->type.dtype].bits;

	if (!(k->unit->target->features & T_CPASYNC))
		return arena_printf(k->unit->arena, "%s has no asynchronous copies", k->unit->target->name);
	if (!IMM(o, async))
		return "its loop waits for copies of its own, which this one would have to wait for";
	if (in && in->kind == IK_ld_bits)
		return "its elements begin at any bit";
	return arena_printf(k->unit->arena,
	                    "cp.async takes 32 bits at least, and %d at a time are known to be there",
	                    op_access(o)->vec * bits);
}

void
remark_copy(const Kernel *k, const Op *o)
{
	bool store = o->code == O_store && o->in[1]->type.space == S_shared;
	const Op *load = store ? changed_load(o->in[0], CHAIN) : o->code == O_copy ? o : NULL;
	const Instr *in = instr_of(o->lowering);
	const Param *p = load ? val_param(k, view_root(load->in[0])) : NULL;

	if (!p || instr_is_box(in) || (in && in->kind == IK_cp_async) || op_is_other_version(o))
		return;
	diag_warn(k->unit->diag, DW_async, o->src,
	          "`%s` is brought to shared memory through registers, not asynchronously: %s",
	          p->name, store ? "its elements are changed on their way" : copy_why(k, o));
}

/* ---- products ---------------------------------------------------------------------------------------- */

void
remark_product(const Kernel *k, const Op *dot)
{
	const Target *t = k->unit->target;
	const DType a = dot->in[0]->type.dtype, b = dot->in[1]->type.dtype, c = dot->out[0]->type.dtype;
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
		          "this dot is done by fma: %s has no tensor-core instruction for %s and %s with "
		          "sums of %s",
		          t->name, dtype_info[a].name, dtype_info[b].name, dtype_info[c].name);
	else if (!divides)
		diag_warn(k->unit->diag, DW_product, dot->src,
		          "this dot is done by fma: %lld x %lld x %lld is no multiple of %d x %d x %d, which "
		          "tensor cores take at least",
		          (long long)shape[0], (long long)shape[1],
		          (long long)dot_k(dot), least->m, least->n, least->k);
	else
		diag_warn(k->unit->diag, DW_product, dot->src,
		          "this dot is done by fma: as %d warps would share it, tensor cores are no faster",
		          k->warps);
}

/* ---- loops ------------------------------------------------------------------------------------------- */

/* Has the loop itself a product on tensor cores? */
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

	if (!diag_wants(k->unit->diag, DW_ahead) || IMM(loop, rotate) || !multiplies(loop))
		return;
	diag_warn(k->unit->diag, DW_ahead, loop->src,
	          "this loop does not begin its products a turn ahead: %s",
	          rotate_find(&r) ? "what it would hold in registers costs more than it gains" : r.why);
}

/* Is there an element behind the end of a tensor, for all that is known? */
static bool
is_masked(Kernel *k, const Op *loop)
{
	OpWalk w;

	for (Op *o = walk_first(&w, loop->blk[0]); o; o = walk_next(&w)) {
		const Op *view = o->code == O_view && o->in[0]->type.space == S_global ? o : NULL;

		if (o->code == O_mask)
			return true;
		for (int d = 0; view && d < view->out[0]->type.rank; d++)
			if (!view_in_bounds(k, view, d))
				return true;
	}
	return false;
}

/* Not of a persistent kernel's loop over its blocks, nor of producers: engines mask by themselves. */
static void
remark_masks(Kernel *k, const Op *loop)
{
	const Op *step = loop->in[2]->def;

	if ((step && step->code == O_launched) || op_role(loop) == ROLE_PRODUCER)
		return;
	if (diag_wants(k->unit->diag, DW_split) && explain_whole(loop) && is_masked(k, loop))
		diag_warn(k->unit->diag, DW_split, loop->src,
		          "this loop needs its masks in every turn: it is %s", explain_whole(loop));
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

/* Why warps have no roles, which were tried; NULL: they have, or were not. */
static const char *
roles_why(const Explained *ex)
{
	int other = ex->sol ? explain_other_schedule(ex) : -1;

	if (!ex->sol || ex->sol->spaces->schedule != SCHEDULE_MULTISTAGE)
		return NULL;
	if (other < 0)
		return explain_unscheduled(ex);
	return arena_printf(ex->k->unit->arena,
	                    "candidate %d, which does that, is predicted to take %.1f %% longer", other,
	                    explain_above(ex, other));
}

static void
remark_roles(const Kernel *k, const Op *loop, const char *why)
{
	bool once = IMM(loop, split) != SPLIT_MAIN && IMM(loop, split) != SPLIT_PROLOGUE;

	if (why && once && IMM(loop, stages) > 0 && has_products(loop))
		diag_warn(k->unit->diag, DW_roles, loop->src,
		          "no warps fetch for others that compute, in roles: %s", why);
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
