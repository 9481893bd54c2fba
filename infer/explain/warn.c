/* warn.c - warnings about the solution taken: products without tensor cores, threads that repeat others,
 * narrow accesses. */
#include "hexc/ir/access.h"
#include "infer/base/dot_instr.h"
#include "infer/explain/impl.h"
#include "infer/explain/warn.h"

enum { ACCESS_BITS = 128 };

/* ---- products -------------------------------------------------------------------------------------- */

/* Could tensor cores do the product if its operands were of type d? */
static bool
multiplies_as(const Op *dot, DType d, const Target *t)
{
	for (const Instr *in = instrs; in->name; in++)
		if (in->kind == IK_mma && in->ta == d && in->tb == d && instr_on(in, t) &&
		    (instr_divides(in, false, dot) || instr_divides(in, true, dot)))
			return true;
	return false;
}

static void
warn_fma(const Kernel *k, const Op *dot)
{
	const Instr *in = instr_of(dot->lowering);
	const Target *t = k->unit->target;
	DType d = dot->in[0]->type.dtype;
	bool half, tf32;

	if (!in || in->kind != IK_fma || !dtype_is_float(d) || dtype_info[d].bits > 32)
		return;
	half = d != D_f16 && multiplies_as(dot, D_f16, t);
	tf32 = d == D_f32 && multiplies_as(dot, D_tf32, t);
	if (half || tf32)
		diag_warn(k->unit->diag, DW_fma, dot->src,
		          "this dot of %s is done by fma, without tensor cores: %s%s%s", dtype_info[d].name,
		          half ? "cast both sides, as in `dot(f16(a), f16(b))`" : "",
		          half && tf32 ? ", or " : "", tf32 ? "write `dot(a, b, tf32)`" : "");
}

/* ---- threads --------------------------------------------------------------------------------------- */

/* Lanes and warps that hold or move parts of their own. */
typedef struct Busy {
	int64_t lanes, warps;
	Src src; /* of a tile */
} Busy;

static void
count_busy(Busy *b, const Layout *l, Src src)
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
	*b = (Busy){ lanes, warps, src };
}

static void
warn_idle(const Kernel *k, const Busy *b)
{
	int64_t threads = b->lanes * b->warps, all = (int64_t)k->warps * WARP_SIZE;

	if (!b->src.line || threads >= all)
		return;
	diag_warn(k->unit->diag, DW_idle, b->src,
	          "of %d warps of %d lanes the largest tile keeps %lld of %lld busy, the others repeat them: "
	          "%s",
	          k->warps, WARP_SIZE, (long long)b->warps, (long long)b->lanes,
	          b->warps < k->warps ? arena_printf(k->unit->arena, "WARPS = %lld does the same",
	                                             (long long)b->warps)
	                              : "take larger tiles");
}

/* ---- accesses -------------------------------------------------------------------------------------- */

/* Elements of one access along the contiguous dim `unit` if size p were a multiple of n. */
static int64_t
width_if(Kernel *k, const Op *view, int unit, Param *p, int64_t n)
{
	int64_t old = p->mult, vec;

	p->mult = p->mult ? p->mult / gcd64(p->mult, n) * n : 0;
	vec = view_width(k, view, unit, n);
	p->mult = old;
	return vec;
}

/* The view of global memory that o accesses; NULL: none, or one of odd elements. */
static const Op *
global_view(const Op *o)
{
	Val *from = access_source(o), *to = access_target(o);
	Val *mem = from && from->type.space == S_global ? from : to && to->type.space == S_global ? to
	                                                                                          : NULL;
	int bits = mem ? dtype_info[mem->type.dtype].bits : 0;

	return mem && mem->def && mem->def->code == O_view && (bits & (bits - 1)) == 0 ? mem->def : NULL;
}

/* Elements that an access could have, were memory aligned: what a thread has of them next to each other. */
static int64_t
wished(const Kernel *k, const Op *view, int unit)
{
	const Type *t = &view->out[0]->type;
	int64_t n = ACCESS_BITS / dtype_info[t->dtype].bits, row = pow2_part(t->shape[unit]);
	int64_t share = type_size(t) / ((int64_t)k->warps * WARP_SIZE);

	n = n < row ? n : row;
	while (n > 1 && n > share)
		n /= 2;
	return n;
}

/* Is there another version of o, for sizes that let it be wider? */
static bool
has_wide_version(const Op *o)
{
	const Block *b = o->parent;

	while (b->owner && !(b->owner->code == O_if && IMM(b->owner, versions) && b == b->owner->blk[1]))
		b = b->owner->parent;
	return b->owner != NULL;
}

static void
warn_narrow(Kernel *k, const Op *o)
{
	const Op *view = global_view(o);
	int unit = view ? view_unit_dim(k, view) : -1, bits;
	const Param *best = NULL;
	int64_t want, most;

	if (unit < 0 || !diag_wants(k->unit->diag, DW_narrow) || has_wide_version(o))
		return;
	bits = dtype_info[view->out[0]->type.dtype].bits;
	want = wished(k, view, unit);
	most = op_access(o)->vec;
	if (most >= want || view_width(k, view, unit, want) > most)
		return; /* not for want of alignment */
	for (int i = 0; i < k->nparam; i++) {
		bool asked = k->param[i].kind == P_size;
		int64_t vec = asked ? width_if(k, view, unit, &k->param[i], want) : 0;

		if (vec > most) {
			most = vec;
			best = &k->param[i];
		}
	}
	if (best)
		diag_warn(k->unit->diag, DW_narrow, o->src,
		          "`%s` is accessed by %lld bits at a time: with `assume %s %% %lld == 0` by %lld",
		          val_param(k, view_root(view->out[0]))->name, (long long)op_access(o)->vec * bits,
		          best->name, (long long)most, (long long)most * bits);
}

void
infer_warn(Kernel *k)
{
	struct FactMemo *facts = k->facts;
	Busy busy = { 1, 1, { 0 } };
	OpWalk w;

	k->facts = NULL; /* the answers change with what is assumed */
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		for (int i = 0; i < o->nout; i++)
			if (o->out[i]->type.space == S_reg)
				count_busy(&busy, o->out[i]->type.layout, o->src);
		if (o->code == O_dot)
			warn_fma(k, o);
		if (!access_source(o) && !access_target(o))
			continue;
		count_busy(&busy, op_access(o)->map, o->src);
		warn_narrow(k, o);
	}
	warn_idle(k, &busy);
	k->facts = facts;
}
