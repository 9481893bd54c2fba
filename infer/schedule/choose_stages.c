/* choose_stages.c - pass choose_stages: chooses the number of stages of pipeline loops for which the program
 * states none.
 *
 * requires   tiles have their memory space; the kernel has its schedule
 * produces   IMM stages >= 1 of every pipeline loop that had 0; >= 2 with roles
 *
 * While a block computes an iteration, the copies for the S - 1 iterations after it are in flight. Nothing
 * waits for them if these iterations take as long as a copy under load:
 *
 *     (S - H) n T >= LOADED * latency,     n: blocks that share an SM,  T: cycles of an iteration of one
 *
 * S is the least such number, as far as shared memory suffices. H is the number of stages that are read at a
 * time: 1, or 2 where pass overlap_mmas will run a dot one iteration later. T is the larger of the time of
 * the dots and that of the bytes from L2, of which multicast may save half. More copies in flight than these
 * bytes last would not arrive sooner. As all warps of a multistage block wait at its barriers, it has three
 * stages or more if they fit. */
#include "hexc/analysis/analysis.h"
#include "hexc/pass/pass.h"
#include "hexc/pass/pipeline.h"
#include "infer/core/sm_throughput.h"
#include "infer/core/wgmma.h"
#include "infer/infer.h"
#include <math.h>

static double
bytes_of(const Type *t)
{
	return (double)type_size(t) * dtype_info[t->dtype].bits / 8;
}

static double
stage_bytes(const Pipe *p)
{
	double bytes = 0;

	for (int i = 0; i < p->nring; i++)
		bytes += bytes_of(&p->ring[i].alloc->out[0]->type);
	return bytes;
}

/* ---- the blocks of an SM ------------------------------------------------------------------------------- */

/* Returns the bytes of the results of all dots, which are in registers. */
static double
accumulator_bytes(const Kernel *k)
{
	double bytes = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot)
			bytes += bytes_of(&o->out[0]->type);
	return bytes;
}

static int
threads_of(const Kernel *k)
{
	int groups = k->schedule == SCHEDULE_TEAMS ? 2 : 1;

	return WARP_SIZE * (k->warps * groups + (schedule_has_roles(k->schedule) ? WARPGROUP : 0));
}

/* Do `blocks` blocks have enough registers? */
static bool
registers_suffice(const Kernel *k, int blocks)
{
	double lane = accumulator_bytes(k) / (4.0 * WARP_SIZE * k->warps) + WORK_REGISTERS;

	return blocks * lane * threads_of(k) <= k->unit->target->regs;
}

/* Does a reduction combine elements of several warps? Not along the rows of a wgmma, if each warp can have
 * whole ones. */
static bool
is_across_warps(const Kernel *k, const Op *o)
{
	const Type *t;

	if (!op_is(o, F_REDUCE))
		return false;
	t = &op_source(o)->type;
	return !schedule_has_roles(k->schedule) || IMM(o, dim) < t->rank - 1 ||
	       type_size(t) / t->shape[IMM(o, dim)] < (int64_t)WGMMA_M / WARPGROUP * k->warps;
}

static bool
reads_tile(const Op *o, const Val *tile)
{
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_shared && view_root(o->in[i]) == tile)
			return true;
	return false;
}

/* Does o, or an op in its regions, use the tile? */
static bool
uses_tile(const Op *o, const Val *tile)
{
	OpWalk w;

	for (int r = 0; r < 2; r++)
		for (const Op *x = o->blk[r] ? walk_first(&w, o->blk[r]) : NULL; x; x = walk_next(&w))
			if (reads_tile(x, tile))
				return true;
	return reads_tile(o, tile);
}

/* Is the tile of `alloc`, outside of loops, used last by a pipeline loop, which leaves its memory free? */
static bool
ends_with_loop(const Op *alloc)
{
	const Op *last = NULL;

	for (const Block *b = alloc->parent; b->owner; b = b->owner->parent)
		if (b->owner->code == O_for)
			return false;
	for (const Op *o = alloc->next; o; o = o->next)
		if (o->code != O_view && uses_tile(o, alloc->out[0]))
			last = o;
	return last && last->code == O_for && IMM(last, loop) == FOR_PIPELINE;
}

/* Returns the bytes through which a warp-specialized kernel stores its results: those of subtiles, or where
 * tiles leave `left` bytes to them, what the largest result needs beyond. */
static double
epilogue_bytes(Kernel *k, double left)
{
	double result = 0;
	OpWalk w;

	if (!schedule_has_roles(k->schedule))
		return 0;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_store && store_value(o)->type.space == S_reg)
			result = fmax(result, bytes_of(&store_value(o)->type));
	return left > 0 ? fmax(result - left, 0) : fmin(EPILOGUE_BYTES, accumulator_bytes(k));
}

/* Returns the bytes of shared memory for other things than the loops' stages: other tiles, pipelines that
 * state their stages, what warps exchange for reductions, and the epilogue. */
static double
other_bytes(Kernel *k, double rings)
{
	double bytes = 0, left = 0;
	bool reduces = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		reduces |= is_across_warps(k, o);
		if (o->code == O_alloc && o->out[0]->type.space == S_shared) {
			bytes += bytes_of(&o->out[0]->type);
			left += ends_with_loop(o) ? bytes_of(&o->out[0]->type) : 0;
		}
		if (o->code == O_for && IMM(o, loop) == FOR_PIPELINE && IMM(o, stages) > 1) {
			Pipe p;

			pipe_open(&p, k, o);
			bytes += (double)(IMM(o, stages) - 1) * stage_bytes(&p);
		}
	}
	return bytes + epilogue_bytes(k, left) + (reduces ? EXCHANGE_BYTES : 0) - rings;
}

/* Returns how many stages of `rings` bytes in all fit into one of `blocks` blocks that share an SM. */
static double
fitting_stages(Kernel *k, double rings, int blocks)
{
	const Target *t = k->unit->target;
	double all = fmin((double)t->smem, (double)(t->smem_sm / blocks - t->system));

	return rings > 0 ? floor((all - other_bytes(k, rings)) / rings) : STAGES_MOST;
}

/* Returns the blocks that are expected to share an SM, each with two stages or more. */
static int
sharing_blocks(Kernel *k, double rings)
{
	int n = BLOCKS_SHARING;

	while (n > 1 && (!registers_suffice(k, n) || fitting_stages(k, rings, n) < STAGES_LEAST))
		n--;
	return n;
}

/* ---- an iteration -------------------------------------------------------------------------------------- */

/* Does v depend on the result of a dot of the same iteration? */
static bool
follows_dot(const Pipe *p, const Val *v, uint8_t *seen)
{
	const Op *o = v->def;
	bool first = !seen[v->id]++;

	if (!first || !o || !block_inside(o->parent, p->body))
		return false;
	for (int i = 0; i < o->nin; i++)
		if (o->code == O_dot || follows_dot(p, o->in[i], seen))
			return true;
	return false;
}

/* Returns the stages that an iteration's dots read: also the preceding one's, where a dot of what another one
 * yields is to run beside the next iteration's. */
static int
stages_read(const Pipe *p)
{
	const Kernel *k = p->k;
	OpWalk w;

	if (!(k->unit->target->features & T_WGMMA) || !schedule_has_roles(k->schedule))
		return 1;
	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w))
		if (o->code == O_dot &&
		    follows_dot(p, mma_a(o), NEWN(k->unit->arena, uint8_t, k->nval + 1)))
			return STAGES_OVERLAPPED;
	return 1;
}

/* Returns the cycles for which an iteration's dots occupy the tensor cores. */
static double
dot_cycles(const Pipe *p)
{
	const Rates *rates = rates_of(p->k->unit->target);
	bool wgmma = p->k->unit->target->features & T_WGMMA && schedule_has_roles(p->k->schedule);
	double cycles = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w))
		if (o->code == O_dot) {
			double work = (double)type_size(&o->out[0]->type) * (double)dot_k(o);

			cycles += work / (wgmma_rate(rates, mma_a(o)->type.dtype) *
			                  (wgmma ? 1 : rates->sync));
		}
	return cycles;
}

/* Returns the stages that cover the latency of copies. */
static double
covering_stages(const Pipe *p, int blocks)
{
	const Kernel *k = p->k;
	const Rates *rates = rates_of(k->unit->target);
	bool roles = schedule_has_roles(k->schedule);
	double latency = LOADED * (rates->dram_wait + (roles ? BOX_CLOCKS : 0));
	double shared = roles && k->unit->target->features & T_MULTICAST ? PAIR : 1;
	double cycles = fmax(dot_cycles(p), stage_bytes(p) / (shared * l2_bytes(rates)));

	return cycles > 0 ? stages_read(p) + ceil(latency / (cycles * blocks)) : 0;
}

/* ---- loops --------------------------------------------------------------------------------------------- */

static bool
is_open(const Op *o)
{
	return o->code == O_for && IMM(o, loop) == FOR_PIPELINE && IMM(o, stages) == 0;
}

bool
pass_choose_stages(Kernel *k)
{
	bool roles = schedule_has_roles(k->schedule);
	double least = roles ? STAGES_LEAST : MULTISTAGE_LEAST, most, rings = 0;
	Pipe *loop = NULL;
	int n = 0, cap = 0, blocks;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (is_open(o)) {
			Pipe p;

			pipe_open(&p, k, o);
			rings += stage_bytes(&p);
			VEC_PUSH(k->unit->arena, loop, n, cap, p);
		}
	if (!n)
		return false;
	blocks = sharing_blocks(k, rings);
	most = fmax(roles ? STAGES_LEAST : 1, fmin(fitting_stages(k, rings, blocks), STAGES_MOST));
	for (int i = 0; i < n; i++)
		IMM_SET(loop[i].loop, stages,
		        (int64_t)fmin(fmax(covering_stages(&loop[i], blocks), least), most));
	return true;
}
