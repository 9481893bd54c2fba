/* cost_async.c - estimates the cost of warp-specialized code: wgmma, TMA copies and mbarriers.
 *
 * A copy that completes on an mbarrier costs its own warps only a few instructions.  Its use of global and
 * shared memory is charged to the waiting warps: an iteration of theirs takes as long as the busiest unit,
 * including the copies for that iteration.  All stages of the circular buffer but the one in use may be in
 * flight, so an iteration takes at least the copy latency divided by stages - 1. */
#include "infer/core/sm_throughput.h"
#include "infer/cost/cost.h"

/* wgmma reads operands from shared memory while it multiplies. */
void
cost_wgmma(const Solve *s, const Op *o, Res *r)
{
	const DotChoice *c = s->sol->plan.dot[s->dot_at[o->id]];
	double work = (double)type_size(&o->out[0]->type) * (double)type_size(&mma_a(o)->type) /
	              (double)o->out[0]->type.shape[0];
	double instances = work / ((double)c->inst->m * c->n * c->inst->k);
	double read = ((double)c->n + (c->inst->a ? 0 : c->inst->m)) * c->inst->k * bits_of(mma_b(o)) / 8;

	r->unit[R_mma] += work / wgmma_rate(s->rates, c->inst->ta);
	r->unit[R_smem] += instances * read / SHARED_BYTES;
	r->unit[R_issue] += instances * c->inst->warps / ISSUE_RATE;
	r->latency += DOT_CLOCKS;
}

/* TMA transfers a tile once, through L2, and to or from shared memory. */
void
cost_boxes(const Solve *s, const Op *o, Res *r)
{
	const Val *mem = copy_source(o)->type.space == S_global ? copy_source(o) : copy_dest(o);

	r->unit[R_gmem] += tile_sectors(s, mem->def, &mem->type) * SECTOR_BYTES / memory_rate(s, mem->def);
	r->unit[R_smem] += (double)type_size(&mem->type) * bits_of(mem) / (8 * SHARED_BYTES);
	memory_instructions(r, BOX_SLOTS);
}

void
cost_signal(const Op *o, Res *r)
{
	r->unit[R_issue] += (double)SIGNAL_STEPS * op_warps(o) / ISSUE_RATE;
	r->latency += SIGNAL_CLOCKS;
}

/* ---- copies with a wait ------------------------------------------------------------------------------ */

static bool
ends_at_barrier(const Op *o)
{
	return o->code == O_copy && IMM(o, async) == COPY_BARRIER;
}

/* Returns the rest of by_warps(). */
static Res
beside_warps(const Op *o, const Res *r)
{
	Res part = { 0 };

	if (ends_at_barrier(o)) {
		part.unit[R_gmem] = r->unit[R_gmem];
		part.unit[R_smem] = r->unit[R_smem];
	}
	return part;
}

Res
by_warps(const Op *o, const Res *r)
{
	Res part = *r;

	if (ends_at_barrier(o))
		part.unit[R_gmem] = part.unit[R_smem] = 0;
	return part;
}

/* Returns the fraction of its loop's iterations in which o runs: branches around it may be code versions. */
static double
often(const Op *o)
{
	double n = 1;

	for (const Block *b = o->parent; b->owner && b->owner->code == O_if; b = b->owner->parent)
		n *= region_runs(b->owner, b == b->owner->blk[1]);
	return n;
}

Res
fill_of(const Solve *s, const Op *wait)
{
	const Val *at = mbarrier_barrier(wait);
	double waits = 0;
	Res sum = { 0 };

	for (int i = 0; i < s->nuse[at->id]; i++) {
		const Op *o = s->use[at->id][i].op;
		Res part = beside_warps(o, &s->sol->res[o->id]);

		res_add(&sum, &part, s->weight[o->id] * often(o));
		if (o->code == O_mbarrier_wait)
			waits += s->weight[o->id];
	}
	for (int i = 0; i < RES_UNITS; i++)
		sum.unit[i] /= waits;
	return sum;
}

double
fill_wait(const Solve *s, const Op *wait)
{
	const Val *at = mbarrier_barrier(wait);
	double most = 0;

	for (int i = 0; i < s->nuse[at->id]; i++) {
		const Op *o = s->use[at->id][i].op;
		bool box = instr_is_box(instr_of(s->sol->lowering[o->id]));
		bool far = s->sol->shared && s->sol->shared[o->id]; /* other blocks release the stage too */
		double way = s->rates->dram_wait + (box ? BOX_CLOCKS : 0) + (far ? CLUSTER_CLOCKS : 0);

		if (ends_at_barrier(o) && way > most)
			most = way;
	}
	return most;
}

/* ---- asynchronous wgmma ------------------------------------------------------------------------------ */

/* Is v only used as accumulator by wgmmas, or yielded to the next iteration? */
static bool
only_added_to(const Solve *s, const Val *v)
{
	for (int i = 0; i < s->nuse[v->id]; i++) {
		const OperandUse *u = &s->use[v->id][i];

		if (u->op->code != O_yield && (u->op->code != O_wgmma || u->i != 2))
			return false;
	}
	return true;
}

bool
runs_on(const Solve *s, const Op *o)
{
	const Op *wait = o->next;

	while (wait && wait->code != O_wgmma_wait)
		wait = wait->next;
	return only_added_to(s, o->out[0]) && (!wait || IMM(wait, sinkable) || IMM(wait, pending) > 0);
}
