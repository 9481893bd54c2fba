/* cost_block.c - predicts the cycles of a block on one SM, with as many concurrent blocks as fit.
 *
 * Every op uses units: tensor cores, the load-store unit (shared-memory wavefronts and other requests),
 * global memory (bytes), arithmetic, special functions, issue slots (cost_op.c).  Straight-line code up to
 * the next barrier takes as long as its busiest unit, plus latency that does not overlap: the longest memory
 * latency and chains of dependent instructions.  Loops multiply by their trip counts.  A wait for async
 * copies, or for loads prefetched one iteration ahead, takes the copy latency minus the iterations that have
 * passed since its issue: deeper pipelines wait less.
 *
 * This is the time of a single resident block.  With n blocks per SM one works while others wait, but
 * units are no faster: the time lies between that of the busiest unit (large n) and that of a single block
 * (n = 1).  The prediction ranks candidates; it is not exact. */
#include "infer/core/sm_throughput.h"
#include "infer/cost/cost.h"
#include "infer/core/fragment_prefetch.h"
#include "infer/core/multicast_legality.h"
#include <math.h>
#include <string.h>

/* The accumulated cost of a block of code. */
typedef struct CostSum {
	int warps; /* warps that run it */
	Res piece; /* since the last barrier */
	bool on; /* its wgmmas are in flight when the loop's next iteration starts */
	Res all; /* total, loops multiplied */
	double time; /* finished pieces, inner loops */
	double fill; /* the longest latency of copies awaited at mbarriers */
	double turn; /* cycles until the other consumer group may start (pingpong) */
} CostSum;

/* Adds a piece: a warp issues its instructions one every WARP_CLOCKS, concurrently with other warps.  Rows
 * whose number of warps is a choice are loaded first, and computed when all elements are there, so both add
 * up. */
static void
end_piece(const Solve *s, CostSum *x)
{
	double busy = res_busy(&x->piece);
	double warp = x->piece.unit[R_issue] * ISSUE_RATE / x->warps * WARP_CLOCKS;
	double time = x->piece.wait > 0 && s->spaces->rows ? busy + warp : fmax(busy, warp);

	x->time += x->on ? fmax(time, x->piece.latency) : time + x->piece.latency;
	x->time += x->piece.wait;
	x->piece = (Res){ 0 };
	x->on = false;
}

static CostSum sum_block(const Solve *s, const Block *b);

/* Are there loads prefetched for the next iteration? */
static bool
has_prefetch(const Solve *s, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next) {
		if (o->code == O_load && is_prefetched(s, o))
			return true;
		for (int i = 0; i < 2 && o->code == O_if; i++)
			if (has_prefetch(s, o->blk[i]))
				return true;
	}
	return false;
}

/* Returns the first wait for async copies in a loop's body; NULL: none. */
static const Op *
copies_wait(const Block *b)
{
	const Op *o = b->first;

	while (o && o->code != O_async_wait)
		o = o->next;
	return o;
}

/* Does the loop itself wait for pipeline stages at mbarriers? */
static bool
waits_for_ring(const Block *b)
{
	const Op *o = b->first;

	while (o && o->code != O_mbarrier_wait)
		o = o->next;
	return o != NULL;
}

/* Returns the cycles for which the tensor cores idle in an iteration, from the barrier to the first MMA.
 * With fragment prefetch MMAs run meanwhile; loops of roles have no fragment prefetch. */
static double
bubble(const Solve *s, const Op *loop)
{
	bool mma = false;

	for (int i = 0; i < s->ndot; i++)
		mma |= s->dot[i]->parent == loop->blk[0] && instr_is_whole(s->sol->plan.dot[i]->inst);
	mma = mma && ((copies_wait(loop->blk[0]) && !s->sol->rotate) || waits_for_ring(loop->blk[0]));
	return mma ? BUBBLE_CLOCKS : 0;
}

/* Returns the cycles for which an iteration of `body` cycles waits for data that earlier iterations
 * requested. */
static double
prefetch_wait(const Solve *s, const Block *b, double body)
{
	const Op *wait = copies_wait(b);
	bool loads = has_prefetch(s, b);
	double since = body * (wait && !loads ? (double)(IMM(wait, pending) + 1) : 1);
	double left = s->rates->dram_wait - since;

	return (wait || loads) && left > 0 ? left : 0;
}

/* Does conditional code only prefetch for later iterations?  It overlaps with the code around it. */
static bool
only_asks(const Solve *s, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next)
		if (!op_is(o, F_PURE) && o->code != O_yield &&
		    !(o->code == O_copy && IMM(o, async)) && !(o->code == O_load && is_prefetched(s, o)))
			return false;
	return true;
}

/* Predicted cycles per iteration with `body` cycles of work, while the loads of all other stages are in
 * flight. */
static double
iteration_cycles(const Solve *s, const Block *b, double body)
{
	double least = 0, alone = 0;

	for (const Op *o = b->first; o; o = o->next) {
		int64_t stages = o->code == O_mbarrier_wait ? mbarrier_barrier(o)->type.shape[0] : 0;

		if (stages > 1)
			least = fmax(least, fill_wait(s, o) / (double)(stages - 1));
		else if (stages == 1)
			alone += fill_wait(s, o);
	}
	return fmax(body, least) + alone;
}

/* Iterations beyond those that the program implies. */
static double
more_turns(const Solve *s, const Op *loop)
{
	return s->question && s->question->loop == loop ? s->question->more : 0;
}

static void
sum_loop(const Solve *s, const Op *o, CostSum *x)
{
	double trips = s->weight[o->blk[0]->last->id] / s->weight[o->id] + more_turns(s, o);
	CostSum body = sum_block(s, o->blk[0]);

	body.time = iteration_cycles(s, o->blk[0], body.time);
	x->fill = fmax(x->fill, body.fill);

	end_piece(s, x);
	if (copies_wait(o->blk[0])) /* the first copies; loads before the loop are counted there */
		x->time += s->rates->l2_wait;
	x->time += trips * (body.time + bubble(s, o) + prefetch_wait(s, o->blk[0], body.time));
	x->turn += trips * body.turn;
	res_add(&x->all, &body.all, trips);
}

double
region_runs(const Op *o, int i)
{
	double often = i ? RARELY : 1;

	return IMM(o, versions) ? often / (1 + RARELY) : often;
}

/* Producers and consumers run concurrently.  Consumers start when the first data has landed; in later blocks
 * of a persistent kernel it has by the time they need it.  The consumers' time is that of one group with all
 * tiles; pingpong groups take the larger of their serialized part and each one's share. */
static void
sum_roles(const Solve *s, const Op *o, CostSum *x)
{
	CostSum role[2] = { sum_block(s, o->blk[0]), sum_block(s, o->blk[1]) };
	double first = kernel_is_persistent(s->k) ? 0 : role[1].fill;
	double time[ROLE_WAYS] = {
		[ROLE_FETCHES] = role[0].time,
		[ROLE_TAKES_TURNS] = first + role[1].turn,
		[ROLE_COMPUTES] = first + (role[1].turn > 0 ? role[1].time / s->k->teams : role[1].time),
	};

	for (int i = 0; i < 2; i++)
		res_add(&x->all, &role[i].all, 1);
	if (s->question && s->question->role != ROLE_ANY)
		x->time += time[s->question->role];
	else
		x->time += fmax(time[ROLE_FETCHES], fmax(time[ROLE_TAKES_TURNS], time[ROLE_COMPUTES]));
}

/* Adds an mbarrier wait, during which copies run. */
static void
sum_fill(const Solve *s, const Op *o, CostSum *x)
{
	Res fill = fill_of(s, o);

	res_add(&x->piece, &fill, 1);
	if (fill_wait(s, o) > 0)
		x->fill = fmax(x->fill, fill_wait(s, o) + res_busy(&fill));
}

static CostSum
sum_block(const Solve *s, const Block *b)
{
	CostSum x = { .warps = op_warps(b->last) };

	for (const Op *o = b->first; o; o = o->next) {
		const Res *r = &s->sol->res[o->id];
		Res own = by_warps(o, r);

		if (o->code == O_for)
			sum_loop(s, o, &x);
		for (int i = 0; o->code == O_if && i < 2; i++) {
			CostSum branch = sum_block(s, o->blk[i]);

			x.fill = fmax(x.fill, branch.fill);
			x.turn += region_runs(o, i) * branch.turn;
			res_add(&x.all, &branch.all, region_runs(o, i));
			if (only_asks(s, o->blk[i]))
				res_add(&x.piece, &branch.all, region_runs(o, i));
			else
				x.time += region_runs(o, i) * branch.time;
		}
		if (o->code == O_roles)
			sum_roles(s, o, &x);
		if (o->code == O_mbarrier_wait)
			sum_fill(s, o, &x);
		if (o->code == O_mbarrier_arrive && IMM(o, pingpong))
			x.turn = x.time;
		if (o->code == O_async_wait && !b->owner)
			x.piece.wait = s->rates->dram_wait;
		x.on = x.on || (o->code == O_wgmma && runs_on(s, o));
		res_add(&x.piece, &own, 1);
		res_add(&x.all, r, 1);
		if (r->barrier)
			end_piece(s, &x);
	}
	end_piece(s, &x);
	return x;
}

bool
in_loop(const Op *o)
{
	while (o && o->code != O_for)
		o = o->parent->owner;
	return o != NULL;
}

/* Returns the cycles of spills: registers above the limit are stored and reloaded in every iteration of the
 * loop with most iterations. */
static double
spilled(const Solve *s)
{
	int64_t over = s->sol->registers + LEAST_REGISTERS - lane_limit(s);
	const Op *most = NULL;
	double runs = 1;

	for (int i = 0; i < s->norder && over > 0; i++)
		if (s->order[i]->code == O_for && s->weight[s->order[i]->blk[0]->last->id] > runs) {
			most = s->order[i];
			runs = s->weight[most->blk[0]->last->id];
		}
	for (const Op *o = most; o; o = o->parent->owner)
		if (o->code == O_for)
			runs += runs * more_turns(s, o) * s->weight[o->id] / s->weight[o->blk[0]->last->id];
	return over > 0 ? SPILL_CLOCKS * (double)over * s->k->warps * runs : 0;
}

double
cost_share(double busy, double alone, int blocks)
{
	return busy < alone ? busy + (alone - busy) / blocks : alone;
}

/* Computes the cost of a block from the costs of its ops. */
static void
cost_all(Solve *s)
{
	LayoutSolution *sol = s->sol;
	int64_t lane = sol->registers + SPARE_REGISTERS;
	CostSum top = sum_block(s, s->k->body);
	double busy;

	lane = min64(lane, lane_limit(s));
	sol->handed = (RoleRegisters){ 0 };
	if (kernel_roles(s->k) && s->k->launch_registers) {
		sol->handed = role_registers(s, sol->smem);
		lane = sol->handed.launch;
	}
	sol->spilled = spilled(s);
	top.all.unit[R_smem] += sol->spilled;
	top.time += sol->spilled;
	busy = res_busy(&top.all);
	sol->spills = sol->registers > lane_limit(s);
	sol->alone = top.time;
	sol->total = top.all;
	sol->lane = (int)lane;
	sol->blocks = occupancy(s->k->unit->target, kernel_warps(s->k), lane, sol->smem);
	sol->cycles = cost_share(busy, sol->alone, sol->blocks);
}

void
cost_asked(Solve *s, const LayoutSolution *sol, Question *q)
{
	LayoutSolution *as_is = s->sol, copy = *sol;
	double over;
	CostSum top;

	s->sol = &copy;
	s->question = q;
	top = sum_block(s, s->k->body);
	over = spilled(s);
	s->question = NULL;
	s->sol = as_is;
	q->total = top.all;
	q->total.unit[R_smem] += over;
	q->alone = top.time + over;
}

void
cost_block(Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		cost_op(s, s->order[i]);
	count_registers(s);
	cost_all(s);
}

static bool
has_rotatable(const Solve *s)
{
	for (int i = 0; i < s->norder; i++) {
		Rotate r = { .k = s->k, .sol = s->sol, .loop = s->order[i] };

		if (r.loop->code == O_for && rotate_find(&r))
			return true;
	}
	return false;
}

LayoutSolution *
cost_rotated(Solve *s)
{
	LayoutSolution *as_is = s->sol, *sol = NEW(s->arena, LayoutSolution);

	if (!has_rotatable(s))
		return NULL;
	*sol = *as_is;
	sol->rotate = true;
	s->sol = sol;
	if (registers_fit(s))
		cost_all(s);
	else
		sol = NULL;
	s->sol = as_is;
	return sol;
}

LayoutSolution *
cost_shared(Solve *s, const bool *shared, int blocks)
{
	LayoutSolution *as_is = s->sol, *sol = NEW(s->arena, LayoutSolution);
	bool *told = NEWN(s->arena, bool, s->k->nval + 1); /* mbarriers that other blocks signal too */

	*sol = *as_is;
	sol->shared = shared;
	sol->res = NEWN(s->arena, Res, s->k->nop + 1);
	memcpy(sol->res, as_is->res, sizeof *sol->res * (s->k->nop + 1));
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];

		if (!shared[o->id])
			continue;
		sol->res[o->id].unit[R_gmem] /= blocks;
		told[mbarrier_barrier(leave_of(o))->id] = true;
	}
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_mbarrier_arrive && told[mbarrier_barrier(s->order[i])->id])
			sol->res[s->order[i]->id].unit[R_issue] *= blocks;
	s->sol = sol;
	cost_all(s);
	s->sol = as_is;
	return sol;
}
