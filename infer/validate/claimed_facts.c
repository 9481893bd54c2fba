/* claimed_facts.c - validates range analysis: evaluates small launches (small_launch.c) and checks the
 * results that passes rely on.
 *
 * Passes, the layout search and other validators query hexc/analysis/value_range*.c for ranges and
 * divisors, for whether a view is in bounds, so that accesses are unpredicated, and for its alignment, so
 * that accesses are wide. Here scalars are evaluated by the semantics of IR.md, and accesses located by
 * their values. Checked are:
 *
 *   a value is in its range, and a multiple of its divisor
 *   a view that is assumed in bounds is, from its first element to its last
 *   PTX ISA, "Addresses as Operands": an access of n elements starts at a multiple of n elements, along
 *   a dim of stride 1, and does not reach past the tensor's end if some of it is in bounds
 *   cuTensorMapEncodeTiled: strides of a map are multiples of 16 bytes
 *
 * What depends on the contents of tensors is not validated. */
#include "infer/validate/small_launch.h"
#include "hexc/analysis/analysis.h"
#include "infer/validate/validate.h"

enum { OPS_MOST = 1 << 14, ASKED_MOST = 24, BOX_BYTES = 16 };

typedef struct Claims {
	Kernel *k;
	bool ok;
	/* [nop+1] checks of the op in this launch: the first iterations are the most significant */
	uint8_t *asked;
	int8_t *inside;  /* [nop+1][2][DIM_MAX] of views: 1 assumed in bounds, -1 not; 0: not queried yet */
} Claims;

/* Location of a view in its tensor, by the tensor's dims. */
typedef struct ClaimPlace {
	const Param *tensor;
	int64_t at[DIM_MAX], by[DIM_MAX], n[DIM_MAX]; /* first index, step, number of elements */
	int dim[DIM_MAX];     /* dim of the tensor, by the view's operand's dim */
	bool any[DIM_MAX];    /* gathered: any index */
	int64_t first[DIM_MAX], size[DIM_MAX]; /* of elements that exist: their start and end */
	int64_t stride[DIM_MAX];
} ClaimPlace;

static void
violation(SmallLaunch *run, const Op *o, const char *what)
{
	Claims *c = run->user;

	prove_violation(c->k, &c->ok, o, what);
	run->lost = true;
}

/* Returns false if some value is unknown. */
static bool
place_of(const SmallLaunch *run, const Val *v, ClaimPlace *p)
{
	const Op *view = v->def;
	int dim[DIM_MAX];

	if (!view) {
		p->tensor = val_param(run->k, v);
		for (int d = 0; p->tensor && d < v->type.rank; d++) {
			p->dim[d] = d;
			p->at[d] = 0;
			p->by[d] = 1;
			p->any[d] = false;
			p->first[d] = 0;
			if (!launch_number(run, p->tensor->size[d], &p->size[d]) ||
			    !launch_number(run, p->tensor->stride[d], &p->stride[d]))
				return false;
			p->n[d] = p->size[d];
		}
		return p->tensor != NULL;
	}
	if (view->code != O_view || !place_of(run, view_source(view), p))
		return false;
	for (int d = 0; d < view_source(view)->type.rank; d++) {
		int of = p->dim[d], r = view_result_dim(view, d);
		int64_t start, bound;

		if (view_from(view, d)) {
			if (!launch_number(run, view_from(view, d), &bound))
				return false;
			p->first[of] = max64(p->first[of], p->at[of] + bound);
		}
		if (view_below(view, d)) {
			if (!launch_number(run, view_below(view, d), &bound))
				return false;
			p->size[of] = min64(p->size[of], p->at[of] + bound);
		}
		if (view_gathers(view, d)) {
			p->any[of] = true;
		} else {
			if (!launch_number(run, view_start(view, d), &start))
				return false;
			p->at[of] += p->by[of] * start;
			p->by[of] *= view_step(view, d);
		}
		p->n[of] = r < 0 ? 1 : view_within(view, r);
		if (r >= 0)
			dim[r] = of;
	}
	for (int r = 0; r < v->type.rank; r++)
		p->dim[r] = view_is_gathered(view, r) ? p->dim[r] : dim[r];
	return true;
}

/* ---- accesses -------------------------------------------------------------------------------- */

static int64_t
behind(const ClaimPlace *p, int d)
{
	return p->at[d] + (p->n[d] - 1) * p->by[d] + 1;
}

/* Validates that the dims of an unpredicated access are in bounds. */
static void
is_inside(SmallLaunch *run, const Op *o, const Op *view, const ClaimPlace *p, int which)
{
	Claims *c = run->user;

	/* views of views are skipped */
	for (int d = 0; !view_source(view)->def && d < view_source(view)->type.rank; d++) {
		int8_t *in = &c->inside[(o->id * 2 + (uint32_t)which) * DIM_MAX + (uint32_t)d];

		if (!*in)
			*in = view_operand_in_bounds(c->k, view, d) ? 1 : -1;
		if (*in > 0 && !p->any[d] && (p->at[d] < p->first[d] || behind(p, d) > p->size[d]))
			violation(run, o, "marked as in bounds, but reaches out of bounds");
	}
}

/* Validates accesses of vec elements along the only dim of stride 1. */
static void
is_aligned(SmallLaunch *run, const Op *o, const ClaimPlace *p, int rank, int64_t vec)
{
	int64_t first = 0, rest;
	int unit = -1;

	for (int d = 0; d < rank; d++) {
		bool along = p->stride[d] == 1 && p->by[d] == 1 && !p->any[d] && p->n[d] >= vec;

		unit = along && (unit < 0 || p->n[d] > p->n[unit]) ? d : unit;
		first += p->any[d] ? 0 : p->at[d] * p->stride[d];
	}
	if (unit < 0) {
		violation(run, o, "its elements are not contiguous in memory");
		return;
	}
	for (int d = 0; d < rank; d++)
		if (d != unit && (p->any[d] || p->n[d] > 1) && p->by[d] * p->stride[d] % vec != 0)
			violation(run, o, "rows of its tensor do not start at multiples of the access width");
	if (first % vec != 0)
		violation(run, o, "does not start at a multiple of the access width");
	rest = p->first[unit] - p->at[unit];
	if (rest > 0 && rest < p->n[unit] && rest % vec != 0)
		violation(run, o, "an access reaches before the start of its slice");
	rest = p->size[unit] - p->at[unit];
	if (rest > 0 && rest < p->n[unit] && rest % vec != 0)
		violation(run, o, "an access reaches past the end of its tensor");
}

/* Validates the strides of a TMA tensor map. */
static void
is_in_steps(SmallLaunch *run, const Op *o)
{
	const TensorMap *m = &run->k->map[op_access(o)->tensor_map - 1];
	int64_t x;

	for (int d = 1; d < m->rank; d++)
		if (launch_number(run, m->stride[d], &x) && x * dtype_info[m->dtype].bits / 8 % BOX_BYTES)
			violation(run, o, "a stride of its tensor map is not a multiple of 16 bytes");
}

static void
accesses(SmallLaunch *run, const Op *o, Val *v, int which)
{
	const Instr *in = o->lowering && o->lowering->kind == LW_access ? instr_of(o->lowering) : NULL;
	int rank = view_root(v)->type.rank;
	ClaimPlace p;

	if (v->type.space != S_global || !v->def || !place_of(run, v, &p))
		return;
	is_inside(run, o, v->def, &p, which);
	for (int d = 0; d < rank; d++)
		if (p.n[d] < 1 || p.size[d] < 1)
			return; /* the access is out of bounds */
	if (instr_is_box(in) && op_access(o)->tensor_map > 0 && op_access(o)->tensor_map <= run->k->nmap)
		is_in_steps(run, o);
	else if (in && op_access(o)->vec > 1 && !(in->kind == IK_ld_bits && which == 0))
		is_aligned(run, o, &p, rank, op_access(o)->vec);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void
is_known(SmallLaunch *run, const Op *o, const Val *v)
{
	Claims *c = run->user;
	int64_t x;
	Fact f;

	if (v->type.space != S_scalar || !type_is_index(&v->type) || !launch_number(run, v, &x))
		return;
	f = val_fact(c->k, v);
	if (x < f.lo || x > f.hi || (f.mult ? x % f.mult : x) != 0)
		violation(run, o, "a value contradicts the range analysis");
}

static void
look(SmallLaunch *run, const Op *o)
{
	Claims *c = run->user;

	if (c->asked[o->id] == ASKED_MOST && !run->last)
		return;
	if (c->asked[o->id] < ASKED_MOST)
		c->asked[o->id]++;
	for (int i = 0; i < o->nin && !run->lost; i++)
		is_known(run, o, o->in[i]);
	if (o->code == O_load || o->code == O_copy)
		accesses(run, o, o->code == O_load ? load_source(o) : copy_source(o), 0);
	if ((o->code == O_store || o->code == O_copy) && !run->lost)
		accesses(run, o, write_dest(o), 1);
}

bool
prove_claims(Kernel *k)
{
	Claims c = { .k = k, .ok = true };
	SmallLaunch run = { .op = look, .user = &c, .most = OPS_MOST };
	const Op *roles = kernel_roles(k);

	c.asked = NEWN(k->unit->arena, uint8_t, k->nop + 1);
	c.inside = NEWN(k->unit->arena, int8_t, 2 * DIM_MAX * (k->nop + 1));
	facts_keep(k);
	for (int i = 0; i < 2 * LAUNCHES && c.ok; i++) {
		run.odd = i >= LAUNCHES;
		if (!launch_start(&run, k, i % LAUNCHES))
			continue;
		for (uint32_t j = 0; j <= k->nop; j++)
			c.asked[j] = 0;
		launch_run(&run, k->body);
		for (int r = 0; roles && r < 2 && !run.lost; r++) {
			run.team = r - 1;
			launch_run(&run, roles->blk[r]);
		}
	}
	facts_drop(k);
	return c.ok;
}
