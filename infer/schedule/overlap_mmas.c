/* overlap_mmas.c - pass overlap_mmas: runs the last asynchronous MMAs of a loop iteration one
 * iteration later, beside the first ones of the next (FlashAttention-3: intra-warpgroup pipelining).
 *
 * requires   roles, after pass infer: movable waits and arrivals, which pass wgmma_waits will place
 * preserves  what the kernel computes, in the same order for each accumulator
 *
 * In attention, S = Q K', P = softmax(S), O = old O + P V, each MMA waits for the one before, and the tensor
 * cores idle during the softmax. P V is needed only by the next iteration, which is why it may run there:
 *
 *     for n from lo to hi, o = o0 {           if lo < hi {
 *       s = wgmma q, k[n]                         s = wgmma q, k[lo];  p0 = .. s;  a0 = .. o0, s
 *       p = .. s                                  o1, p1 = for n from lo + step to hi, a = a0, p = p0 {
 *       a = .. o, s                                 s = wgmma q, k[n]
 *       o' = wgmma p, v[n], a                       o = wgmma p, v[n - step], a
 *       arrive empty[n]                             p' = .. s;  arrive empty[n - step];  a' = .. o, s
 *       yield o'                                    yield a', p'
 *     }                                           }
 *                                                 o = wgmma p1, v[last], o1;  arrive empty[last]
 *                                             }
 *
 * What a late MMA reads of its iteration is carried: its register operand, here P in 16 bits, and the index
 * of its stage. So a stage is in use for two iterations, and a circular buffer needs a third one to be filled
 * meanwhile. The register operand is computed last in an iteration: an MMA in flight must not read registers
 * that are written (ptxas would serialize all MMAs, C7513). No more registers are needed than the plan
 * counts: P of the previous iteration is dead where this one's is computed. */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/pass.h"
#include "infer/core/cost_constants.h"

/* A loop to transform. */
typedef struct MmaOverlap {
	Kernel *k;
	const uint32_t *uses; /* by value id, of those before the transformation */
	uint32_t nval;
	Op *loop;
	Block *body;
	Op *at;    /* the late MMAs run before this op of the body */
	Op **late; /* late MMAs, in order */
	int nlate, cap;
	Op **arrive; /* arrivals that release what they read */
	int narrive, arrive_cap;
	uint8_t *follows; /* by value id: does it depend on an MMA of its iteration? 0: not computed yet */
} MmaOverlap;

/* ---- which MMAs are late --------------------------------------------------------------------------- */

/* Returns the movable wait for MMA o alone: fence, o, commit, wait. NULL: others are between. */
static Op *
own_wait(const Op *o)
{
	Op *commit = o->next, *wait = commit ? commit->next : NULL;

	if (!o->prev || o->prev->code != O_wgmma_fence || commit->code != O_wgmma_commit)
		return NULL;
	return wait && wait->code == O_wgmma_wait && IMM(wait, sinkable) ? wait : NULL;
}

/* Does v depend on the result of an MMA of the same iteration? */
static bool
follows_mma(MmaOverlap *p, const Val *v)
{
	enum { NO = 1, YES };
	const Op *o = v->def;

	if (!o || o->parent != p->body)
		return false;
	if (!p->follows[v->id]) {
		p->follows[v->id] = o->code == O_wgmma ? YES : NO;
		for (int i = 0; i < o->nin; i++)
			if (follows_mma(p, o->in[i]))
				p->follows[v->id] = YES;
	}
	return p->follows[v->id] == YES;
}

/* Does o follow `front` in the body? */
static bool
is_behind(const Op *o, const Op *front)
{
	for (const Op *x = front->next; x; x = x->next)
		if (x == o)
			return true;
	return false;
}

/* Returns the index among the loop's carried values of v, which only the yield uses; -1: it has other
 * uses. */
static int
only_yielded(const MmaOverlap *p, const Val *v)
{
	const Op *yield = p->body->last;

	for (int i = 0; p->uses[v->id] == 1 && i < yield->nin; i++)
		if (yield->in[i] == v)
			return i;
	return -1;
}

static bool
is_written_here(const MmaOverlap *p, Val *tile)
{
	OpWalk w;

	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w)) {
		Val *to = access_target(o);

		if (to && view_root(to) == tile)
			return true;
	}
	return false;
}

/* Does v have the same elements one iteration later? Registers and scalars are carried; shared memory must be
 * that of another loop, or a stage, which keeps its elements until its release. */
static bool
can_be_late(const MmaOverlap *p, Val *v)
{
	const Val *root = v;

	if (v->type.space != S_shared)
		return true;
	while (root->def && root->def->code == O_view)
		root = view_source(root->def);
	return !block_inside(root->block, p->body) && !is_written_here(p, view_root(v));
}

/* Is o an MMA that nothing in its iteration needs, whose register operand follows another MMA? */
static bool
is_late(MmaOverlap *p, const Op *o)
{
	const Val *factor = product_factor(o);

	return o->code == O_wgmma && o->nin == 3 && own_wait(o) && only_yielded(p, o->out[0]) >= 0 &&
	       !val_is_zero(mma_acc(o)) && factor && follows_mma(p, factor) && can_be_late(p, mma_a(o)) &&
	       can_be_late(p, mma_b(o));
}

/* Do all uses of v in the body follow p->at? */
static bool
used_behind(const MmaOverlap *p, const Val *v)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, p->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (o->in[i] == v && (o->parent != p->body || (o != p->at && !is_behind(o, p->at))))
				return false;
	return true;
}

/* Finds the late MMAs, and the place after the first of the others. */
static bool
find_mmas(MmaOverlap *p)
{
	for (Op *o = p->body->first; o; o = o->next)
		if (is_late(p, o))
			VEC_PUSH(p->k->unit->arena, p->late, p->nlate, p->cap, o);
		else if (o->code == O_wgmma && !own_wait(o))
			return false;
		else if (o->code == O_wgmma && !p->at)
			p->at = own_wait(o)->next;
	for (int i = 0; p->at && i < p->nlate; i++)
		if (!is_behind(p->late[i], p->at) ||
		    !used_behind(p, p->body->arg[1 + only_yielded(p, p->late[i]->out[0])]))
			return false;
	return p->at && p->nlate;
}

static void
remark_stages(const MmaOverlap *p, int64_t stages)
{
	if (diag_wants(p->k->unit->diag, DW_overlap))
		diag_warn(p->k->unit->diag, DW_overlap, p->loop->src,
		          "the last MMA of an iteration does not run beside the next iteration's first: that "
		          "takes %d stages or more (now %lld)",
		          STAGES_OVERLAPPED + 1, (long long)stages);
}

/* Finds the arrivals, which must be movable: those of a program's roles may release any stage. The ones after
 * the first late MMA are late, too. Each circular buffer must have a stage to fill besides those in
 * use. */
static bool
find_arrivals(MmaOverlap *p)
{
	for (Op *o = p->body->first; o; o = o->next) {
		if (o->code != O_mbarrier_arrive || IMM(o, pingpong))
			continue;
		if (!IMM(o, sinkable))
			return false;
		if (!is_behind(o, p->late[0]))
			continue;
		if (mbarrier_barrier(o)->type.shape[0] <= STAGES_OVERLAPPED) {
			remark_stages(p, mbarrier_barrier(o)->type.shape[0]);
			return false;
		}
		VEC_PUSH(p->k->unit->arena, p->arrive, p->narrive, p->arrive_cap, o);
	}
	return true;
}

/* Is the body a list of ops that may be copied to before the loop? */
static bool
is_plain(const MmaOverlap *p)
{
	for (const Op *o = p->body->first; o; o = o->next)
		if (o->blk[0] || o->code == O_alloc || o->code == O_mbarrier)
			return false;
	return true;
}

static bool
find_overlap(MmaOverlap *p)
{
	int split = (int)IMM(p->loop, split);

	return split != SPLIT_PROLOGUE && split != SPLIT_REMAINDER && !IMM(p->loop, breaks) && is_plain(p) &&
	       find_mmas(p) && find_arrivals(p);
}

/* ---- the transformed loop --------------------------------------------------------------------------- */

/* Maps values of the loop to others. */
typedef struct ValMap {
	Val **to; /* by value id; NULL: itself */
	uint32_t n;
} ValMap;

static Val *
mapped(void *user, Val *v)
{
	const ValMap *m = user;

	return v->id < m->n && m->to[v->id] ? m->to[v->id] : v;
}

static ValMap
map_new(const MmaOverlap *p)
{
	ValMap m = { .n = p->k->nval + 1 };

	m.to = NEWN(p->k->unit->arena, Val *, m.n);
	return m;
}

static Op *
clone_mapped(ValMap *m, Block *b, Op *at, const Op *o)
{
	Op *c = op_clone(b, at, o, mapped, m);

	for (int i = 0; i < o->nout; i++)
		m->to[o->out[i]->id] = c->out[i];
	return c;
}

/* Is o part of a late MMA, or an arrival that follows one? */
static bool
runs_late(const MmaOverlap *p, const Op *o)
{
	for (int i = 0; i < p->nlate; i++)
		if (o == p->late[i] || o == p->late[i]->prev || o == p->late[i]->next ||
		    o == p->late[i]->next->next)
			return true;
	for (int i = 0; i < p->narrive; i++)
		if (o == p->arrive[i])
			return true;
	return false;
}

/* Inserts `if lo < hi` in place of the loop, which moves into it; its second region yields the loop's initial
 * values. */
static void
guard_loop(MmaOverlap *p)
{
	Op *loop = p->loop, *o;
	Block *b = loop->parent;
	Val *runs = ir_bin(b, loop, O_lt, for_lo(loop), for_hi(loop));
	Type *type = arena_alloc(p->k->unit->arena, sizeof *type * (size_t)(loop->nout + 1));

	for (int i = 0; i < loop->nout; i++)
		type[i] = loop->out[i]->type;
	o = op_new(b, loop, O_if, loop->src, 1, &runs, loop->nout, type);
	for (int i = 0; i < loop->nout; i++) {
		o->out[i]->name = loop->out[i]->name;
		val_replace(p->k, loop->out[i], o->out[i]);
	}
	for (int r = 0; r < 2; r++)
		o->blk[r] = block_new(p->k, o);
	op_new(o->blk[0], NULL, O_yield, loop->src, loop->nout, loop->out, 0, NULL);
	op_new(o->blk[1], NULL, O_yield, loop->src, loop->nout, loop->in + IN_for_init, 0, NULL);
	op_move_before(loop, o->blk[0]->last);
}

/* Clones the first iteration before the loop, without what runs late. */
static void
peel_first(const MmaOverlap *p, ValMap *first)
{
	first->to[p->body->arg[0]->id] = for_lo(p->loop);
	for (int i = 0; i < p->loop->nout; i++)
		first->to[p->body->arg[1 + i]->id] = for_init(p->loop, i);
	for (const Op *o = p->body->first; o != p->body->last; o = o->next)
		if (!runs_late(p, o))
			clone_mapped(first, p->loop->parent, p->loop, o);
}

/* Starts the loop with its second iteration. */
static void
start_second(const MmaOverlap *p, ValMap *first)
{
	Op *loop = p->loop;
	Block *b = loop->parent;

	for (int i = 0; i < loop->nout; i++)
		loop->in[IN_for_init + i] = mapped(first, p->body->last->in[i]);
	for (int i = 0; i < p->nlate; i++) {
		int at = only_yielded(p, p->late[i]->out[0]);

		loop->in[IN_for_init + at] = mapped(first, mma_acc(p->late[i]));
	}
	loop->in[IN_for_lo] = ir_bin(b, loop, O_add, for_lo(loop), for_step(loop));
}

/* Returns v of the previous iteration: a view or a constant is cloned, everything else carried. */
static Val *
from_before(MmaOverlap *p, ValMap *first, ValMap *before, Val *v)
{
	Op *o = v->def;

	if (!block_inside(v->block, p->body) || mapped(before, v) != v)
		return mapped(before, v);
	if (o && (o->code == O_view || o->code == O_const)) {
		for (int i = 0; i < o->nin; i++)
			from_before(p, first, before, o->in[i]);
		return clone_mapped(before, p->body, p->at, o)->out[0];
	}
	p->loop = loop_carry(p->loop, mapped(first, v));
	loop_carry_next(p->loop, v);
	return before->to[v->id] = p->body->arg[p->body->narg - 1];
}

/* Moves MMA o of the previous iteration, with its fence, commit and wait, to before p->at. */
static void
delay_mma(MmaOverlap *p, ValMap *first, ValMap *before, Op *o)
{
	Op *part[] = { o->prev, o, o->next, o->next->next }, *yield = p->body->last;
	int at = only_yielded(p, o->out[0]);
	Val *acc = mma_acc(o), *arg = p->body->arg[1 + at];

	for (int i = 0; i < 2; i++)
		o->in[i] = from_before(p, first, before, o->in[i]);
	for (int i = 0; i < (int)COUNT_OF(part); i++)
		op_move_before(part[i], p->at);
	yield->in[at] = acc;
	val_replace(p->k, arg, o->out[0]);
	o->in[IN_mma_acc] = arg;
}

/* Marks in `uses` the values of the body that depend on the results of late MMAs. Returns whether only pure
 * ops use them, which may run later in the iteration. */
static bool
find_users(const MmaOverlap *p, bool *uses)
{
	for (int i = 0; i < p->nlate; i++)
		uses[p->late[i]->out[0]->id] = true;
	for (const Op *o = p->at; o != p->body->last; o = o->next) {
		bool any = false;

		for (int i = 0; i < o->nin; i++)
			any = any || uses[o->in[i]->id];
		if (any && (!op_is(o, F_PURE) || o->blk[0]))
			return false;
		for (int i = 0; i < o->nout; i++)
			uses[o->out[i]->id] |= any;
	}
	return true;
}

/* Moves what uses results of late MMAs to the end of the iteration, so that all else runs before the wait for
 * them. Returns the first of these ops. */
static Op *
sink_users(const MmaOverlap *p)
{
	Op *yield = p->body->last, *first = yield;
	bool *uses = NEWN(p->k->unit->arena, bool, p->k->nval + 1), movable = find_users(p, uses);

	for (Op *o = p->at, *next; o != first; o = next) {
		next = o->next;
		for (int i = 0; i < o->nin; i++) {
			if (!uses[o->in[i]->id])
				continue;
			if (!movable)
				return o;
			op_move_before(o, yield);
			first = first == yield ? o : first;
			break;
		}
	}
	return first;
}

/* Moves the arrivals to where the late MMAs are waited for; they release the previous iteration's stage. */
static void
delay_arrivals(MmaOverlap *p, ValMap *first, ValMap *before)
{
	Op *use = sink_users(p);

	for (int i = 0; i < p->narrive; i++) {
		p->arrive[i]->in[IN_mbarrier_slot] =
			from_before(p, first, before, mbarrier_slot(p->arrive[i]));
		op_move_before(p->arrive[i], use);
	}
}

/* Moves the last step of computing what is carried to registers of late MMAs to the end of the iteration, or
 * repeats it there if its result has other uses. */
static void
sink_factors(const MmaOverlap *p)
{
	Op *yield = p->body->last;

	for (int i = 0; i < p->nlate; i++) {
		int at = product_factor(p->late[i])->index - 1;
		Op *o = yield->in[at]->def;

		if (!o || o->parent != p->body || !op_is(o, F_PURE) || o->blk[0] || o->out[0]->id > p->nval)
			continue; /* it is at the end: another MMA has the same operand */
		if (p->uses[o->out[0]->id] == 1)
			op_move_before(o, yield);
		else
			yield->in[at] = op_clone(p->body, yield, o, NULL, NULL)->out[0];
	}
}

/* Clones the views and constants of the body that v consists of before `at`. */
static void
clone_source(const MmaOverlap *p, ValMap *m, Op *at, Val *v)
{
	if (!v->def || v->def->parent != p->body || mapped(m, v) != v)
		return;
	for (int i = 0; i < v->def->nin; i++)
		clone_source(p, m, at, v->def->in[i]);
	clone_mapped(m, at->parent, at, v->def);
}

/* Runs the late MMAs of the last iteration after the loop. */
static void
finish_last(const MmaOverlap *p)
{
	ValMap last = map_new(p);
	Op *yield = p->loop->parent->last;

	for (int i = 0; i < p->loop->nout; i++)
		last.to[p->body->arg[1 + i]->id] = p->loop->out[i];
	for (int i = 0; i < p->nlate; i++) {
		Op *o = p->late[i];
		int at = o->in[IN_mma_acc]->index - 1;

		for (int j = 0; j < 2; j++)
			clone_source(p, &last, yield, o->in[j]);
		clone_mapped(&last, p->loop->parent, yield, o->prev);
		yield->in[at] = clone_mapped(&last, p->loop->parent, yield, o)->out[0];
		clone_mapped(&last, p->loop->parent, yield, o->next);
		clone_mapped(&last, p->loop->parent, yield, o->next->next);
	}
	for (int i = 0; i < p->narrive; i++) {
		clone_source(p, &last, yield, mbarrier_slot(p->arrive[i]));
		clone_mapped(&last, p->loop->parent, yield, p->arrive[i]);
	}
}

static void
overlap(MmaOverlap *p)
{
	ValMap first = map_new(p), before = map_new(p);

	guard_loop(p);
	peel_first(p, &first);
	start_second(p, &first);
	for (int i = 0; i < p->nlate; i++)
		delay_mma(p, &first, &before, p->late[i]);
	delay_arrivals(p, &first, &before);
	sink_factors(p);
	finish_last(p);
}

bool
pass_overlap_mmas(Kernel *k)
{
	const Op *roles = kernel_roles(k);
	bool changed = false;
	OpWalk w;

	for (Op *o = roles ? walk_first(&w, roles->blk[1]) : NULL; o; o = walk_next(&w)) {
		MmaOverlap p = { .k = k, .loop = o };

		if (o->code != O_for)
			continue;
		p.body = o->blk[0];
		p.uses = kernel_uses(k);
		p.nval = k->nval;
		p.follows = NEWN(k->unit->arena, uint8_t, k->nval + 1);
		if (!find_overlap(&p))
			continue;
		overlap(&p);
		w.next = p.loop->parent->owner->next;
		changed = true;
	}
	return changed;
}
