/* register_limit.c - computes register limits per thread (launch, producer and consumer warps, .maxnreg)
 * and rejects plans whose tiles exceed them. */
#include "hexc/ir/sparse.h"
#include "infer/core/cost_constants.h"
#include "infer/core/wgmma.h"
#include "infer/cost/cost.h"
#include "infer/core/fragment_prefetch.h"

/* Registers that are live in any schedule: loop-carried tiles or one tile, and one k step of a dot's
 * fragments. */
typedef struct RegisterDemand {
	int64_t tiles, fragments;
	int limit; /* registers per thread available */
	const Val *largest; /* the largest tile */
	const Op *where; /* the loop that carries the tiles, or the op that defines the one */
	const Op *dot;
} RegisterDemand;

static void
need_tiles(const Solve *s, RegisterDemand *n, const Op *o, int nout, Val *const *out)
{
	int64_t sum = 0;
	const Val *largest = NULL;

	for (int j = 0; j < nout; j++) {
		sum += lane_words(s, out[j]);
		if (!largest || lane_words(s, out[j]) > lane_words(s, largest))
			largest = out[j];
	}
	if (sum <= n->tiles)
		return;
	n->tiles = sum;
	n->largest = largest;
	n->where = o;
}

static void
need_fragments(Solve *s, RegisterDemand *n, Op *dot)
{
	const DotChoice *c = s->sol->plan.dot[s->dot_at[dot->id]];
	int64_t f = 0;

	for (int j = 0; j < 2; j++) {
		int bits = dtype_slot_bits(dot->in[j]->type.dtype);
		int64_t all = layout_words(operand_layout(s, dot, j), bits);

		f += all * dot_k_step(dot, c, j) / dot_k(dot);
	}
	if (f < n->fragments)
		return;
	n->fragments = f;
	n->dot = dot;
}

/* Returns the element in the last register of lane 0. */
static int64_t
last_element(const Layout *l, const Type *t)
{
	Coord p = { .at = { 0 } };
	int64_t c[DIM_MAX] = { 0 };

	p.at[AX_reg] = layout_cosize(l, AX_reg) - 1;
	layout_index(l, &p, c);
	return row_major_index(t->rank, t->shape, c);
}

/* Returns sol->registers plus those for computation in loops. */
static int
work_need(const Solve *s)
{
	return (int)s->sol->registers + ROLE_REGISTERS + (s->k->teams > 1 ? TURN_REGISTERS : 0);
}

static void
too_many(Solve *s, const RegisterDemand *n)
{
	const Val *v = n->largest;
	const Layout *l = v ? s->sol->val[v->id] : NULL;
	const char *frag = n->dot ? arena_printf(s->arena, "one step of the dot in line %u needs %lld, ",
	                                         n->dot->src.line, (long long)n->fragments)
	                          : "";
	const char *named = v ? tile_words(s, v) : NULL;
	const char *fix = "use smaller tiles, or keep operands in shared memory";

	if (!v) { /* no tiles: the computation needs too many */
		infer_error(s, s->k->src,
		            "estimated register pressure exceeds %d registers/thread: %s", n->limit,
		            fix);
		return;
	}
	if (n->tiles + n->fragments + LEAST_REGISTERS <= n->limit) {
		infer_error(s, n->where->src,
		            "the loop needs about %d registers/thread; consumer warps have %d; use smaller "
		            "tiles or another schedule",
		            work_need(s), n->limit);
		return;
	}
	if (v->name)
		named = arena_printf(s->arena, "`%s`, %s,", v->name, type_print(s->arena, &v->type));
	if (s->k->warps < BLOCK_WARPS)
		fix = arena_printf(s->arena, "use more WARPS (now %d) or smaller tiles", s->k->warps);
	infer_error(
		s, n->where->src,
		"the tiles live here need %lld registers/thread, %saddresses %d, more than the limit of "
		"%d; %s alone needs %lld in lane 0 of warp 0, from element %s to %s; %s",
		(long long)n->tiles, frag, LEAST_REGISTERS, n->limit, named,
		(long long)lane_words(s, v), elem_words(s, &v->type, 0),
		elem_words(s, &v->type, last_element(l, &v->type)), fix);
	if (n->dot)
		infer_error_note(s, n->dot->src,
		           "%s on %dx%d warps: the result needs %lld registers/thread, fragments %lld",
		                 s->sol->plan.dot[s->dot_at[n->dot->id]]->inst->name,
		                 s->sol->plan.dot[s->dot_at[n->dot->id]]->wm,
		                 s->sol->plan.dot[s->dot_at[n->dot->id]]->wn,
		                 (long long)lane_words(s, n->dot->out[0]), (long long)n->fragments);
}

/* Returns the registers per thread for prefetched fragments of a load.  For an operand of the MMA they hold
 * the first k step; if threads synchronize before the MMA, all steps.  Otherwise they hold narrow elements of
 * several k steps, or a scale for each row or column, of which two are in a register for multiplying pairs
 * along k. */
static int64_t
ahead_of(const Solve *s, const Rotate *r, const Op *load)
{
	const Val *v = load->out[0];
	int64_t steps = dot_k(r->first) / s->sol->plan.dot[s->dot_at[r->first->id]]->inst->k;

	if (dtype_info[v->type.dtype].bits < 16)
		return lane_words(s, v);
	if (v == moved_from(mma_a(r->first)) || v == moved_from(mma_b(r->first)))
		return r->meets ? lane_words(s, v) : ceil_div(lane_words(s, v), steps);
	return layout_cosize(s->sol->val[v->id], AX_reg);
}

static int64_t
need_ahead(const Solve *s)
{
	int64_t most = 0;

	for (int i = 0; i < s->norder; i++) {
		Rotate r = { .k = s->k, .sol = s->sol, .loop = s->order[i] };
		int64_t sum = 0;

		if (r.loop->code != O_for || !rotate_find(&r))
			continue;
		for (int j = 0; j < r.nload; j++)
			sum += ahead_of(s, &r, r.load[j]);
		most = sum > most ? sum : most;
	}
	return most;
}

/* Returns the registers of consumers if the launch has `launch` registers per thread and producers keep
 * `producer`. */
static RoleRegisters
hand_out(const Kernel *k, int launch, int producer)
{
	int most = LANE_REGISTERS / 8 * 8;
	int each = (launch * kernel_warps(k) - producer * k->producer_warps) / (k->warps * k->teams) / 8 * 8;

	return (RoleRegisters){ launch, producer, each < most ? each : most };
}

int
lane_limit(const Solve *s)
{
	const Kernel *k = s->k;
	const Op *roles = kernel_roles(k);
	int share = k->unit->target->regs / (kernel_warps(k) * WARP_SIZE);

	if (roles && schedule_has_roles(k->schedule))
		share = hand_out(k, k->launch_registers, s->sol->producer).consumer;
	else if (roles && IMM(roles, consumer))
		share = (int)IMM(roles, consumer);
	return share < LANE_REGISTERS ? share : LANE_REGISTERS;
}

/* Sets s->sol->producer.  Producers need few registers.  They get more if consumers have enough, including
 * the next k slice of a computed operand, which ptxas computes early. */
static void
share_rest(Solve *s)
{
	const Kernel *k = s->k;
	int usual = (int)IMM(kernel_roles(k), producer);
	int64_t held = 0;

	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_wgmma)
			held = max64(held, held_factor(s, s->order[i]));
	if (schedule_has_roles(k->schedule) && usual > s->sol->producer &&
	    hand_out(k, k->launch_registers, usual).consumer >= s->sol->registers + held + WORK_REGISTERS)
		s->sol->producer = usual;
}

/* Returns the registers per thread of the largest wgmma instance, or of all wgmmas with operands in
 * registers: ptxas requires that many at launch. */
static int64_t
instance_registers(const Solve *s)
{
	int64_t most = 0;

	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];
		const DotChoice *c = o->code == O_wgmma ? s->sol->plan.dot[s->dot_at[o->id]] : NULL;
		int64_t bits = c ? (int64_t)c->n * c->inst->m * dtype_slot_bits(c->inst->acc) : 0;
		int64_t held = c ? held_factor(s, o) : 0;

		most = max64(most, held ? max64(held + lane_words(s, o->out[0]), FACTOR_REGISTERS)
		                        : bits / (32 * WARP_SIZE * WARPGROUP));
	}
	return most;
}

/* Does a loop have elementwise ops on tiles?  Their registers are not counted exactly. */
static bool
computes_in_loop(const Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		if (op_is(s->order[i], F_ELT) && s->order[i]->out[0]->type.space == S_reg &&
		    in_loop(s->order[i]))
			return true;
	return false;
}

RoleRegisters
role_registers(const Solve *s, int64_t shared)
{
	const Kernel *k = s->k;
	int warps = kernel_warps(k), producer = s->sol->producer;
	RoleRegisters best = { k->launch_registers, producer, (int)IMM(kernel_roles(k), consumer) };

	if (!schedule_has_roles(k->schedule))
		return best;
	best = hand_out(k, k->launch_registers, producer);
	for (int blocks = 2;; blocks++) {
		RoleRegisters r = hand_out(k, launch_registers(blocks * warps), producer);

		if (r.consumer < s->sol->registers + WORK_REGISTERS ||
		    r.launch < instance_registers(s) + INSTANCE_REGISTERS ||
		    occupancy(k->unit->target, warps, r.launch, shared) < blocks)
			break;
		best = r;
	}
	return best;
}

/* Does sol have dots with FMA lowering?  ptxas loads their operands early and spills a few registers where
 * one more block would just fit. */
static bool
multiplies_by_lanes(const Solve *s, const LayoutSolution *sol)
{
	for (int i = 0; i < s->ndot; i++)
		if (sol->plan.dot[i]->inst->kind == IK_fma)
			return true;
	return false;
}

/* Returns the limit that permits one resident block less than predicted: given exactly the predicted
 * registers, ptxas uses all of them and spills. */
static int
lanes_limit(const Solve *s, const LayoutSolution *sol)
{
	const Target *t = s->k->unit->target;
	int warps = s->k->warps, grain = t->grain / WARP_SIZE;
	int blocks = occupancy(t, warps, sol->lane, 0);
	int most = t->regs / ((blocks > 2 ? blocks - 1 : 1) * warps * WARP_SIZE);

	return (most < lane_limit(s) ? most : lane_limit(s)) / grain * grain;
}

int
registers_limit(const Solve *s, const LayoutSolution *sol)
{
	const Target *t = s->k->unit->target;
	int64_t lean = (int64_t)(LEANEST * (double)sol->registers);
	int grain = t->grain / WARP_SIZE, limit = LANE_REGISTERS / grain * grain;

	if (sol->registers > lane_limit(s))
		return lane_limit(s);
	if (multiplies_by_lanes(s, sol))
		return lanes_limit(s, sol);
	if (sol->registers + (computes_in_loop(s) ? WORK_REGISTERS : 0) > limit ||
	    limit * WARP_SIZE * s->k->warps > t->regs)
		return 0;
	return occupancy(t, s->k->warps, lean, 0) > occupancy(t, s->k->warps, limit, 0) ? 0 : limit;
}

/* Do registers suffice for other work in loops, with roles that the compiler created? */
static bool
has_work_room(const Solve *s, int limit)
{
	return !schedule_has_roles(s->k->schedule) || !computes_in_loop(s) || work_need(s) <= limit;
}

void
count_registers(Solve *s)
{
	const Op *roles = kernel_roles(s->k);

	s->sol->registers = live_registers(s, roles ? roles->blk[1] : s->k->body);
	if (s->sol->rotate)
		s->sol->registers += need_ahead(s);
}

bool
registers_fit(Solve *s)
{
	RegisterDemand n = { 0 };

	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];

		if (o->code == O_for)
			need_tiles(s, &n, o, o->nout, o->out);
		if (o->code == O_dot) {
			need_tiles(s, &n, o, 1, o->out);
			need_fragments(s, &n, o);
		}
		if (o->code == O_wgmma || (o->code == O_load && load_source(o)->type.space == S_global))
			need_tiles(s, &n, o, 1, o->out);
	}
	count_registers(s);
	if (kernel_roles(s->k))
		share_rest(s);
	/* without roles, exceeding the share spills */
	n.limit = kernel_roles(s->k) ? lane_limit(s) : LANE_REGISTERS;
	if (n.tiles + n.fragments + LEAST_REGISTERS <= n.limit && has_work_room(s, n.limit))
		return true;
	too_many(s, &n);
	s->failure.excess = n.tiles + n.fragments;
	return false;
}
