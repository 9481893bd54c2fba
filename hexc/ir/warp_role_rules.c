/* warp_role_rules.c - verifies mbarriers between warp roles and wgmma results in flight, for the verifier;
 * tracks which results may be in flight.
 *
 * An MMA is in flight until a `wg_wait` covers it. For each of its results, the walk tracks how many groups
 * were committed since; loops are walked until a fixed point. */
#include "hexc/ir/ir.h"
#include <string.h>

typedef struct Rules {
	Kernel *k;
	const uint32_t *web; /* by value id */
	const Op **product;
	int nproduct, cap;
	uint64_t *under_way; /* output of products_under_way(); rules are not checked then */
	const Op *at;
	const char *bad; /* the first violation, at `at` */
} Rules;

static void
broken(Rules *r, const Op *o, const char *why)
{
	if (!r->bad) {
		r->bad = why;
		r->at = o;
	}
}

/* ---- MMAs in flight --------------------------------------------------------------------------- */

enum { DONE = -2, OPEN = -1, OLD = 64 };

/* DONE, OPEN (not committed yet), or the number of groups committed after its own, up to OLD. */
typedef int RoleRuleState;

/* The few values in flight, sorted by id; all others are DONE. */
typedef struct Flight {
	struct UnderWay {
		uint32_t id;
		RoleRuleState state;
	} *way;
	int n, cap;
} Flight;

/* Index of the first entry with this or a higher id. */
static int
flight_find(const Flight *f, uint32_t id)
{
	int lo = 0, hi = f->n;

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (f->way[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static RoleRuleState
flight_get(const Flight *f, const Val *v)
{
	int i = flight_find(f, v->id);

	return i < f->n && f->way[i].id == v->id ? f->way[i].state : DONE;
}

static void
flight_set(const Rules *r, Flight *f, uint32_t id, RoleRuleState state)
{
	int i = flight_find(f, id);
	bool there = i < f->n && f->way[i].id == id;

	if (there && state != DONE) {
		f->way[i].state = state;
	} else if (there) {
		memmove(&f->way[i], &f->way[i + 1], (size_t)(f->n - i - 1) * sizeof *f->way);
		f->n--;
	} else if (state != DONE) {
		VEC_PUSH(r->k->unit->arena, f->way, f->n, f->cap, (struct UnderWay){ 0 });
		memmove(&f->way[i + 1], &f->way[i], (size_t)(f->n - 1 - i) * sizeof *f->way);
		f->way[i] = (struct UnderWay){ id, state };
	}
}

/* Merges two states: the younger one, which a wait must cover. */
static RoleRuleState
younger(RoleRuleState a, RoleRuleState b)
{
	if (a == DONE || b == DONE)
		return a == DONE ? b : a;
	return a < b ? a : b;
}

static void
flight_commit(Flight *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->way[i].state < OLD)
			f->way[i].state++;
}

static void
flight_wait(Flight *f, int64_t pending)
{
	int n = 0;

	for (int i = 0; i < f->n; i++)
		if (f->way[i].state < 0 || f->way[i].state < pending)
			f->way[n++] = f->way[i];
	f->n = n;
}

/* Merges `from` into *to. Returns true if *to changed. */
static bool
flight_join(const Rules *r, Flight *to, const Flight *from)
{
	bool changed = false;

	for (int i = 0; i < from->n; i++) {
		uint32_t id = from->way[i].id;
		int at = flight_find(to, id);
		RoleRuleState was = at < to->n && to->way[at].id == id ? to->way[at].state : DONE;
		RoleRuleState x = younger(was, from->way[i].state);

		changed |= x != was;
		flight_set(r, to, id, x);
	}
	return changed;
}

static Flight
flight_copy(const Rules *r, const Flight *from)
{
	Flight f = { NULL, from->n, from->n };

	f.way = NEWN(r->k->unit->arena, struct UnderWay, f.n);
	if (f.n)
		memcpy(f.way, from->way, (size_t)f.n * sizeof *f.way);
	return f;
}

static void walk_flight(Rules *r, Flight *f, const Block *b);

static void
flight_loop(Rules *r, Flight *f, const Op *o)
{
	const Block *b = o->blk[0];
	const Op *y = b->last;
	Flight top = flight_copy(r, f), end;

	for (int i = 0; i < o->nout; i++)
		flight_set(r, &top, b->arg[1 + i]->id, flight_get(f, for_init(o, i)));
	do {
		end = flight_copy(r, &top);
		walk_flight(r, &end, b);
		for (int i = 0; i < o->nout; i++)
			flight_set(r, &end, b->arg[1 + i]->id, flight_get(&end, y->in[i]));
	} while (!r->bad && flight_join(r, &top, &end));
	*f = top; /* before an iteration, or after the last */
	for (int i = 0; i < o->nout; i++)
		flight_set(r, f, o->out[i]->id, flight_get(f, b->arg[1 + i]));
}

static void
flight_if(Rules *r, Flight *f, const Op *o)
{
	Flight side[2] = { flight_copy(r, f), flight_copy(r, f) };

	for (int s = 0; s < 2; s++)
		walk_flight(r, &side[s], o->blk[s]);
	*f = flight_copy(r, &side[0]);
	flight_join(r, f, &side[1]);
	for (int i = 0; i < o->nout; i++)
		flight_set(r, f, o->out[i]->id,
		           younger(flight_get(&side[0], o->blk[0]->last->in[i]),
		                   flight_get(&side[1], o->blk[1]->last->in[i])));
}

/* May o use that operand in flight? Only if the value keeps its registers. */
static bool
may_take(const Rules *r, const Op *o, int i)
{
	const Val *to = handed_to(o, i);

	return to && r->web[to->id] == r->web[o->in[i]->id];
}

/* The violation if it may not. */
static const char *
missing(const Op *o, int i)
{
	return handed_to(o, i) ? "the result of an asynchronous MMA in flight changes its registers, or is "
	                         "read again later; missing wait"
	                       : "reads the result of an asynchronous MMA in flight; missing wait";
}

/* Returns the last mbar_wait of the producers before o in the text; NULL: none. */
static const Op *
wait_in_front(Block *producer, const Op *o)
{
	const Op *wait = NULL;
	OpWalk w;

	for (const Op *x = walk_first(&w, producer); x && x != o; x = walk_next(&w))
		if (x->code == O_mbarrier_wait)
			wait = x;
	return wait;
}

/* Do producers fill a tile after waiting at that mbarrier? */
static bool
fills_behind(Block *producer, const Val *barrier, const Val *tile)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, producer); o; o = walk_next(&w)) {
		bool fills = o->code == O_copy && view_root(copy_dest(o)) == tile;
		const Op *wait = fills ? wait_in_front(producer, o) : NULL;

		if (wait && mbarrier_barrier(wait) == barrier)
			return true;
	}
	return false;
}

/* Is the slot one of the indices of a view's stage? */
static bool
is_stage(const Val *view, const Val *slot)
{
	enum { DEPTH = 12 };
	const Op *o = view->def;

	for (int d = 0; o && o->code == O_view && d < view_source(o)->type.rank; d++)
		if (IMM(o, dropped) >> d & 1 && val_same(view_start(o, d), slot, DEPTH))
			return true;
	return false;
}

/* Does an MMA before arrival o read the stage that o releases? */
static bool
reads_stage(const Rules *r, const Op *product, const Op *o)
{
	Block *producer = kernel_roles(r->k) ? kernel_roles(r->k)->blk[0] : NULL;
	const Op *x = o;

	while (x && x->parent != product->parent)
		x = x->parent->owner;
	while (x && x != product)
		x = x->prev;
	for (int i = 0; x && producer && i < 2; i++)
		if (product->in[i]->type.space == S_shared && is_stage(product->in[i], op_slot(o)) &&
		    fills_behind(producer, mbarrier_barrier(o), view_root(product->in[i])))
			return true;
	return false;
}

static void
check_release(Rules *r, const Flight *f, const Op *o)
{
	for (int i = 0; f->n && i < r->nproduct; i++)
		if (flight_get(f, r->product[i]->out[0]) != DONE && reads_stage(r, r->product[i], o))
			broken(r, o, "releases a stage that an asynchronous MMA in flight reads; missing "
			             "wait before it");
}

static void
flight_op(Rules *r, Flight *f, const Op *o)
{
	for (int i = 0; f->n && i < o->nin; i++) {
		if (flight_get(f, o->in[i]) == DONE)
			continue;
		if (r->under_way)
			r->under_way[o->id] |= i < UNDER_WAY_MOST ? (uint64_t)1 << i : 0;
		else if (!may_take(r, o, i))
			broken(r, o, missing(o, i));
	}
	if (o->code == O_mbarrier_arrive && !r->under_way)
		check_release(r, f, o);
	if (o->code == O_wgmma)
		flight_set(r, f, o->out[0]->id, OPEN);
	else if (o->code == O_wgmma_commit)
		flight_commit(f);
	else if (o->code == O_wgmma_wait)
		flight_wait(f, IMM(o, pending));
}

static void
walk_flight(Rules *r, Flight *f, const Block *b)
{
	for (const Op *o = b->first; o && !r->bad; o = o->next) {
		flight_op(r, f, o);
		if (o->code == O_for)
			flight_loop(r, f, o);
		else if (o->code == O_if)
			flight_if(r, f, o);
		else if (o->code == O_roles)
			walk_flight(r, f, o->blk[1]);
	}
}

/* ---- barriers -------------------------------------------------------------------------------- */

/* Bit 1 << role: roles that wait, and that arrive. */
typedef struct BarrierUse {
	unsigned waits, arrives;
	bool copies; /* a copy signals it */
} BarrierUse;

/* Warps that arrive at an mbarrier and wait for it would deadlock. Exception: consumer groups, which may
 * alternate. */
static void
check_barriers(Rules *r)
{
	BarrierUse *m = NEWN(r->k->unit->arena, BarrierUse, r->k->nval + 1);
	OpWalk w;

	for (Op *o = walk_first(&w, r->k->body); o; o = walk_next(&w)) {
		if (o->code == O_mbarrier_wait)
			m[mbarrier_barrier(o)->id].waits |= 1u << op_role(o);
		else if (o->code == O_mbarrier_arrive)
			m[mbarrier_barrier(o)->id].arrives |= 1u << op_role(o);
		else if (o->code == O_copy && op_mbar(o))
			m[copy_mbarrier(o)->id].copies = true;
	}
	for (Op *o = walk_first(&w, r->k->body); o; o = walk_next(&w)) {
		const BarrierUse *x = o->code == O_mbarrier ? &m[o->out[0]->id] : NULL;

		if (!x)
			continue;
		if (x->waits && !x->arrives)
			broken(r, o, "mbarrier is awaited, but has no arrive");
		else if (x->copies && !x->waits)
			broken(r, o, "mbarrier tracks copies, but is never awaited");
		else if (x->waits & x->arrives & ~(r->k->teams > 1 ? 1u << ROLE_CONSUMER : 0))
			broken(r, o, "one role both arrives at and awaits this mbarrier");
	}
}

/* A copy that no arrival expects completes at an unknown time: a wait at the mbarrier does not cover it. */
static void
check_copies(Rules *r)
{
	OpWalk w;

	for (Op *o = walk_first(&w, r->k->body); o; o = walk_next(&w)) {
		const char *name = o->code == O_copy && op_mbar(o) ? copy_mbarrier(o)->name : NULL;

		if (o->code != O_copy || !op_mbar(o) || copy_arrival(o))
			continue;
		broken(r, o, arena_printf(r->k->unit->arena,
		                          "no `arrive` at `%s` expects this copy; write an `arrive` after "
		                          "it in the same block, with the same slot",
		                          name ? name : "an mbarrier"));
	}
}

/* ---- who computes ---------------------------------------------------------------------------- */

static void
check_producer(Rules *r, Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		for (int i = 0; i < o->nout; i++)
			if (o->out[i]->type.space == S_reg && !op_is_index(o))
				broken(r, o, "a register tile other than indices in the producer role, "
				             "which may only copy");
}

static void
find_products(Rules *r)
{
	OpWalk w;

	for (Op *o = walk_first(&w, r->k->body); o; o = walk_next(&w))
		if (o->code == O_wgmma)
			VEC_PUSH(r->k->unit->arena, r->product, r->nproduct, r->cap, o);
}

const uint64_t *
products_under_way(Kernel *k)
{
	Rules r = { .k = k };
	Flight none = { NULL, 0, 0 };

	find_products(&r);
	if (!r.nproduct)
		return NULL;
	r.under_way = NEWN(k->unit->arena, uint64_t, k->nop + 1);
	walk_flight(&r, &none, k->body);
	return r.under_way;
}

const char *
role_rules(Kernel *k, const Op **at)
{
	Rules r = { .k = k };
	const Op *roles = kernel_roles(k);

	find_products(&r);
	if (roles) {
		check_producer(&r, roles->blk[0]);
		check_barriers(&r);
		check_copies(&r);
	}
	if (r.nproduct) {
		Flight none = { NULL, 0, 0 };

		r.web = kernel_webs(k);
		walk_flight(&r, &none, k->body);
	}
	*at = r.at;
	return r.bad;
}
