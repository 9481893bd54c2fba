/* small_launch.c - evaluates the scalars of one block of a small launch, op by op, for the validators.
 *
 * Tiles and contents of tensors have no values here, except where a guess is permitted. Operands of ops
 * mean what IR.md specifies; range analysis (value_range.c) is not used. */
#include "infer/validate/small_launch.h"
#include "hexc/ir/dtype.h"

enum { STEPS_MOST = 1 << 17, TILES = 3, OWN = 4, CARRIED_MOST = 64 };

/* Approximate sizes, assigned to the parameters in order, cyclically: small and large trip counts, partial
 * tiles, one block and several. */
static const int64_t about[][OWN] = {
	{ 1 },
	{ 72 },
	{ 1032 },
	{ 520, 136, 72 },
	{ 72, 520, 136 },
	{ 136, 72, 520 },
	{ 3, 1032, 20 },
	{ 20, 3, 1032 },
	{ 2, 9, 9, 200 },
};

static void run_block(SmallLaunch *run, const Block *b);

/* ---- numbers --------------------------------------------------------------------------------- */

static void
set(SmallLaunch *run, const Val *v, bool known, int64_t x)
{
	run->known[v->id] = known;
	run->num[v->id] = x;
}

bool
launch_number(const SmallLaunch *run, const Val *v, int64_t *x)
{
	if (val_is_const(v, x))
		return true;
	*x = run->num[v->id];
	return run->known[v->id];
}

/* Computes the block with that index as IR.md's `block_id` does, for rank 0 of its cluster. */
static bool
block_of(const SmallLaunch *run, const Op *o, int64_t extent[3], int64_t at[3])
{
	int64_t number;

	if (!launch_number(run, block_linear(o), &number))
		return false;
	for (int d = 0; d < 3; d++) {
		int cluster = run->k->cluster[d];
		int64_t n;

		if (!launch_number(run, block_extent(o, d), &extent[d]) || extent[d] < 1)
			return false;
		n = (extent[d] + cluster - 1) / cluster;
		at[d] = (d == 2 ? number : number % n) * cluster;
		number /= n;
	}
	return true;
}

static bool
grid_number(const SmallLaunch *run, const Op *o, int64_t *x)
{
	int64_t extent[3], at[3], clusters = 1;

	if (o->code == O_linear_block_id) { /* so that each has a few */
		for (int d = 0; d < 3; d++)
			clusters *= (run->grid[d] + run->k->cluster[d] - 1) / run->k->cluster[d];
		clusters = (clusters + TILES - 1) / TILES;
		*x = IMM(o, all) ? clusters : run->last ? clusters - 1
		                                        : 0;
		return true;
	}
	if (o->code == O_block_id && o->nin == 0) {
		*x = run->last ? run->grid[IMM(o, axis)] - 1 : 0;
		return true;
	}
	if (!block_of(run, o, extent, at))
		return false;
	if (o->code == O_block_id) {
		int axis = (int)IMM(o, axis);

		*x = at[axis] < extent[axis] ? at[axis] : extent[axis] - 1;
	} else
		*x = at[0] < extent[0] && at[1] < extent[1] && at[2] < extent[2];
	return true;
}

/* Guesses a number loaded from a tensor: small, and a function of the address only. */
static bool
loaded_number(const SmallLaunch *run, const Op *o, int64_t *x)
{
	const Op *view = load_source(o)->def;
	uint32_t h = view_root(load_source(o))->id;

	for (int i = 1; view && i < view->nin; i++) {
		int64_t at;

		if (view->code != O_view || !launch_number(run, view->in[i], &at))
			return false;
		h = (h ^ (uint32_t)at) * 2654435761u;
	}
	*x = (h ^ h >> 15) * 2246822519u >> 30;
	return load_source(o)->type.space == S_global;
}

static bool
unary(const Op *o, int64_t x, int64_t *out)
{
	int bits = dtype_info[o->out[0]->type.dtype].bits;

	if (dtype_is_float(o->out[0]->type.dtype) || dtype_is_float(o->in[0]->type.dtype))
		return false;
	switch (o->code) {
	case O_not:
		*out = o->out[0]->type.dtype == D_bool ? !x : ~x;
		return true;
	case O_neg:
		*out = -x;
		return true;
	case O_cast:
		*out = x;
		return bits == 64 || (x >= 0 && x < (int64_t)1 << (bits > 1 ? bits - 1 : 1));
	default:
		return false;
	}
}

static bool
number(const SmallLaunch *run, const Op *o, int64_t *x)
{
	int64_t a, b, c;

	switch (o->code) {
	case O_block_id:
	case O_linear_block_id:
	case O_block_in_grid:
		return grid_number(run, o, x);
	case O_consumer_group_id:
		*x = run->team;
		return true;
	case O_load:
		return run->guesses && loaded_number(run, o, x);
	case O_select:
		return launch_number(run, select_cond(o), &c) &&
		       launch_number(run, c ? select_yes(o) : select_no(o), x);
	case O_fma:
		return launch_number(run, elt_lhs(o), &a) && launch_number(run, elt_rhs(o), &b) &&
		       launch_number(run, fma_addend(o), &c) &&
		       i64_eval(O_mul, a, b, &a) && i64_eval(O_add, a, c, x);
	default:
		if (o->nin == 0 || !launch_number(run, o->in[0], &a))
			return false;
		if (o->nin == 1)
			return unary(o, a, x);
		return o->nin == 2 && launch_number(run, o->in[1], &b) &&
		       !dtype_is_float(o->in[0]->type.dtype) && i64_eval(o->code, a, b, x);
	}
}

/* ---- control flow ---------------------------------------------------------------------------- */

/* Copies a block's yielded values to `to`, simultaneously. */
static void
hand_on(SmallLaunch *run, Val *const *from, Val *const *to, int n)
{
	int64_t x[CARRIED_MOST];
	bool known[CARRIED_MOST];

	if (n > CARRIED_MOST)
		run->lost = true;
	for (int i = 0; i < n && !run->lost; i++)
		known[i] = from[i]->type.rank == 0 && launch_number(run, from[i], &x[i]);
	for (int i = 0; i < n && !run->lost; i++)
		set(run, to[i], known[i], x[i]);
}

/* The condition or trip count of o is unknown, and so are its results. */
static void
unknown(SmallLaunch *run, const Op *o)
{
	run->lost = run->lost || run->strict;
	for (int i = 0; i < o->nout; i++)
		set(run, o->out[i], false, 0);
}

static void
run_loop(SmallLaunch *run, const Op *o)
{
	const Block *b = o->blk[0];
	int64_t lo, hi, step, on = 1;

	if (!launch_number(run, for_lo(o), &lo) || !launch_number(run, for_hi(o), &hi) ||
	    !launch_number(run, for_step(o), &step) || step == 0) {
		unknown(run, o);
		return;
	}
	hand_on(run, o->in + IN_for_init, b->arg + 1, o->nout);
	for (int64_t i = lo; (step > 0 ? i < hi : i > hi) && !run->lost; i += step) {
		if (loop_ends_early(o) && !launch_number(run, b->arg[1], &on)) {
			unknown(run, o);
			return;
		}
		if (!on)
			break;
		set(run, b->arg[0], true, i);
		run_block(run, b);
		hand_on(run, b->last->in, b->arg + 1, o->nout);
	}
	hand_on(run, b->arg + 1, o->out, o->nout);
}

static void
run_if(SmallLaunch *run, const Op *o)
{
	int64_t is;
	const Block *b;

	if (!launch_number(run, if_cond(o), &is)) {
		unknown(run, o);
		return;
	}
	b = o->blk[is ? 0 : 1];
	run_block(run, b);
	hand_on(run, b->last->in, o->out, o->nout);
}

static void
run_block(SmallLaunch *run, const Block *b)
{
	for (const Op *o = b->first; o && !run->lost && o->code != O_roles; o = o->next) {
		run->lost = ++run->steps > (run->most ? run->most : STEPS_MOST);
		if (o->code == O_for)
			run_loop(run, o);
		else if (o->code == O_if)
			run_if(run, o);
		else if (run->op)
			run->op(run, o);
		if (o->nout == 1 && o->out[0]->type.space == S_scalar && !o->blk[0])
			run->known[o->out[0]->id] = number(run, o, &run->num[o->out[0]->id]);
	}
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Returns a size of about x that satisfies the kernel's assumptions. */
static int64_t
size_of(const Param *p, int64_t x, bool odd)
{
	int64_t mult = p->mult > 1 ? p->mult : 1;

	x = (x + mult - 1) / mult;
	x = (odd ? x | 1 : x) * mult;
	if (p->lo > p->hi || (!p->lo && !p->hi))
		return x;
	x = x < p->lo ? (p->lo + mult - 1) / mult * mult : x;
	return x > p->hi ? p->hi / mult * mult : x;
}

/* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": maximum grid dimensions. */
static const int64_t grid_most[3] = { INT32_MAX, 65535, 65535 };

static bool
take_sizes(SmallLaunch *run, const int64_t *sizes)
{
	const Kernel *k = run->k;
	int n = 0, own = 0;

	while (own < OWN && sizes[own])
		own++;
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];

		if (p->kind != P_tensor && !dtype_is_float(p->val->type.dtype))
			set(run, p->val, true,
			    size_of(p, p->kind == P_size ? sizes[n++ % own] : 1, run->odd));
	}
	run_block(run, k->grid);
	for (int i = 0; i < k->nassume; i++) {
		int64_t holds;

		if (!launch_number(run, k->assume[i].cond, &holds) || !holds)
			return false;
	}
	for (int d = 0; d < 3; d++)
		if (!launch_number(run, k->grid->last->in[d], &run->grid[d]) || run->grid[d] < 1 ||
		    run->grid[d] > grid_most[d])
			return false;
	return !run->lost;
}

_Static_assert(2 * COUNT_OF(about) == LAUNCHES, "the first block of each and the last one");

bool
launch_start(SmallLaunch *run, Kernel *k, int i)
{
	void (*op)(SmallLaunch *, const Op *) = run->op;
	bool took;

	run->k = k;
	run->last = i & 1;
	run->num = NEWN(k->unit->arena, int64_t, k->nval + 1);
	run->known = NEWN(k->unit->arena, bool, k->nval + 1);
	run->team = -1;
	run->lost = false;
	run->steps = 0;
	run->op = NULL;
	took = take_sizes(run, about[i / 2]);
	run->op = op;
	return took;
}

void
launch_run(SmallLaunch *run, const Block *b)
{
	run->steps = 0;
	run_block(run, b);
}
