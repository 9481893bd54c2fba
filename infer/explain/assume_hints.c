/* assume_hints.c - finds `assume` statements that would widen accesses or remove masks: evaluates each size
 * as a multiple of a larger number. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/value_range.h"
#include "infer/core/cost_constants.h"
#include "infer/explain/explain_internal.h"

/* A query whose answer is a number that grows with what is known. */
typedef struct HintQuestion {
	Kernel *k;
	const Op *o;
	int64_t (*answer)(const struct HintQuestion *q);
	int64_t mult; /* assumed divisor of a size */
	int unit;     /* of an access: the contiguous dim */
} HintQuestion;

/* Returns the answer if size p were a multiple of q->mult. */
static int64_t
answer_if(const HintQuestion *q, Param *p)
{
	struct FactMemo *facts = q->k->facts;
	int64_t old = p->mult, n;

	q->k->facts = NULL; /* cached results do not have the assumption */
	p->mult = p->mult ? p->mult / gcd64(p->mult, q->mult) * q->mult : 0;
	n = q->answer(q);
	p->mult = old;
	q->k->facts = facts;
	return n;
}

/* Returns the size with the best answer above `most`; NULL if there is none. */
static const Param *
best_size(const HintQuestion *q, int64_t most, int64_t *best)
{
	const Param *size = NULL;

	for (int i = 0; i < q->k->nparam; i++) {
		int64_t n = q->k->param[i].kind == P_size ? answer_if(q, &q->k->param[i]) : most;

		if (n <= most)
			continue;
		most = *best = n;
		size = &q->k->param[i];
	}
	return size;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Returns the view of global memory that o accesses; NULL if there is none, or if the element size is not a
 * power of two. */
static const Op *
global_view(const Op *o)
{
	Val *from = access_source(o), *to = access_target(o);
	Val *mem = from && from->type.space == S_global ? from : to && to->type.space == S_global ? to
	                                                                                          : NULL;
	int bits = mem ? dtype_info[mem->type.dtype].bits : 0;

	return mem && mem->def && mem->def->code == O_view && (bits & (bits - 1)) == 0 ? mem->def : NULL;
}

/* Returns the elements per access that aligned memory would allow: the contiguous elements of a thread. */
static int64_t
wished(const Kernel *k, const Op *view, int unit)
{
	const Type *t = &view->out[0]->type;
	int64_t n = ACCESS_BITS / dtype_info[t->dtype].bits, row = unit < 0 ? n : pow2_part(t->shape[unit]);
	int64_t share = type_size(t) / ((int64_t)k->warps * WARP_SIZE);

	n = n < row ? n : row;
	while (n > 1 && n > share)
		n /= 2;
	return n;
}

static int64_t
width(const HintQuestion *q)
{
	return view_width(q->k, q->o, q->unit, q->mult);
}

bool
explain_reach(Kernel *k, const Op *o, MaxAccessWidth *r)
{
	const Op *view = access_source(o) || access_target(o) ? global_view(o) : NULL;

	if (!view || instr_is_box(instr_of(o->lowering)))
		return false;
	r->view = view;
	r->tensor = val_param(k, view_root(view->out[0]));
	r->unit = view_unit_dim(k, view);
	r->wished = wished(k, view, r->unit);
	r->proved = r->unit < 0 ? 1 : view_width(k, view, r->unit, r->wished);
	return r->tensor != NULL;
}

bool
explain_wider(Kernel *k, const Op *o, AssumeHint *wish)
{
	int64_t most;
	HintQuestion q;
	MaxAccessWidth r;

	if (op_is_other_version(o) || !explain_reach(k, o, &r) || r.unit < 0)
		return false;
	most = op_access(o)->vec;
	if (most >= r.wished || r.proved > most)
		return false; /* not limited by alignment */
	q = (HintQuestion){ .k = k, .o = r.view, .answer = width, .mult = r.wished, .unit = r.unit };
	wish->tensor = r.tensor;
	wish->size = best_size(&q, most, &wish->mult);
	return wish->size != NULL;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Returns 1 if mask q->o is redundant: all bounds are size - start, and are at least the tile's extents. */
static int64_t
all_inside(const HintQuestion *q)
{
	const Op *o = q->o;
	int i = 0;

	for (int d = 0; d < o->out[0]->type.rank; d++) {
		const Op *left;

		if (!(IMM(o, dims) >> d & 1))
			continue;
		left = mask_bound(o, i++)->def;
		if (!left || left->code != O_sub ||
		    !prove_inside(q->k, o, &left->in[IN_elt_rhs], 1, o->out[0]->type.shape[d], elt_lhs(left)))
			return 0;
	}
	return 1;
}

bool
explain_unmasked(Kernel *k, const Op *o, AssumeHint *wish)
{
	HintQuestion q = { .k = k, .o = o, .answer = all_inside };
	int64_t yes;

	wish->tensor = NULL;
	if (op_is_other_version(o))
		return false;
	for (int d = 0; o->code == O_mask && d < o->out[0]->type.rank; d++) {
		q.mult = o->out[0]->type.shape[d];
		if (!(IMM(o, dims) >> d & 1))
			continue;
		wish->mult = q.mult;
		wish->size = best_size(&q, 0, &yes);
		if (wish->size)
			return true;
	}
	return false;
}

const char *
explain_assumption(Kernel *k, const Op *o)
{
	AssumeHint w;

	if (!explain_wider(k, o, &w) && !explain_unmasked(k, o, &w))
		return NULL;
	return arena_printf(k->unit->arena, "%s %% %lld == 0", w.size->name, (long long)w.mult);
}
