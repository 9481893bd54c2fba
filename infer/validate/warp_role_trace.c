/* warp_role_trace.c - lists the events of each warp role in small launches (small_launch.c), for
 * pass_validate_warp_roles. */
#include "infer/validate/warp_role_trace.h"
#include "infer/validate/small_launch.h"
#include "infer/validate/subtile.h"

typedef struct RoleEval {
	SmallLaunch l; /* first: its callbacks receive a pointer to it */
	const Rings *r;
	RoleTrace *t;
} RoleEval;

/* ---- events ---------------------------------------------------------------------------------- */

static int
bar_of(RoleEval *run, const Val *mbar, const Val *slot)
{
	int64_t x;

	if (launch_number(&run->l, slot, &x) && x >= 0 && x < mbar->type.shape[0])
		return run->r->bar[mbar->id] + (int)x;
	run->l.lost = true;
	return 0;
}

static void
event(RoleEval *run, RoleEvent e)
{
	VEC_PUSH(run->l.k->unit->arena, run->t->a, run->t->n, run->t->cap, e);
}

/* Finds the cells of the tile that v covers, among those whose events are recorded. */
static bool
cells_of(const RoleEval *run, Val *v, RoleEvent *e)
{
	TilePart p = tile_part(v);
	int first = run->r->cell[p.tile->id];
	int64_t lo = 0;

	if (first < 0 || !p.n || (p.first && !launch_number(&run->l, p.first, &lo)))
		return false;
	e->cell = first + (int)lo;
	e->to = e->cell + (int)p.n;
	e->whole = p.whole;
	return lo >= 0 && lo + p.n <= p.tile->type.shape[0];
}

static void
touches(RoleEval *run, const Op *o)
{
	bool fills = o->code == O_copy && IMM(o, async) == COPY_BARRIER;

	for (int i = 0; i < o->nin; i++) {
		bool to = i == 1 && (o->code == O_copy || o->code == O_store);
		RoleEvent e = { .op = o };

		if (o->in[i]->type.space != S_shared || !cells_of(run, o->in[i], &e))
			continue;
		e.kind = to ? fills ? EV_FILL : EV_WRITE : o->code == O_wgmma ? EV_ISSUE
		                                                              : EV_READ;
		if (e.kind == EV_FILL)
			e.bar = bar_of(run, op_mbar(o)->out[0], op_slot(o));
		event(run, e);
	}
}

static void
events_of(SmallLaunch *l, const Op *o)
{
	RoleEval *run = (RoleEval *)(void *)l;
	RoleEvent e = { .op = o, .n = 1 };

	if (!op_is(o, F_MEM | F_SYNC))
		return;
	if (o->code == O_mbarrier_wait) {
		e.kind = EV_WAIT;
		run->l.lost = run->l.lost || !launch_number(&run->l, mbarrier_parity(o), &e.n);
		e.n &= 1;
	} else if (o->code == O_mbarrier_arrive) {
		e.kind = EV_ARRIVE;
		for (int64_t mask = IMM(o, cluster) & (IMM(o, cluster) - 1); mask; mask &= mask - 1)
			e.n++;
	} else if (o->code == O_wgmma_commit)
		e.kind = EV_COMMIT;
	else if (o->code == O_wgmma_wait) {
		e.kind = EV_SETTLE;
		e.n = IMM(o, pending);
	} else {
		if (op_is(o, F_MEM))
			touches(run, o);
		return;
	}
	if (e.kind == EV_WAIT || e.kind == EV_ARRIVE)
		e.bar = bar_of(run, mbarrier_barrier(o), mbarrier_slot(o));
	event(run, e);
}

/* ---- launches -------------------------------------------------------------------------------- */

_Static_assert((int)TRACE_LAUNCHES == (int)LAUNCHES, "one of each");

bool
rings_trace(const Rings *r, int i, RoleTrace *t)
{
	RoleEval run = { .l = { .strict = true, .guesses = true }, .r = r };
	RoleTrace none = { .team = -1 };

	run.t = &none;
	run.l.op = events_of;
	if (!launch_start(&run.l, r->k, i))
		return false;
	for (int role = 0; role < 1 + r->k->teams; role++) {
		run.t = &t[role];
		run.l.team = run.t->team = role - 1;
		run.t->n = 0;
		launch_run(&run.l, r->k->body);
		launch_run(&run.l, r->roles->blk[role ? 1 : 0]);
	}
	return !run.l.lost;
}

/* ---- stages and barriers --------------------------------------------------------------------- */

Rings *
rings_of(Kernel *k)
{
	Arena *a = k->unit->arena;
	Rings *r = NEW(a, Rings);
	int cap = 0;
	OpWalk w;

	r->k = k;
	r->roles = kernel_roles(k);
	if (!r->roles)
		return NULL;
	r->bar = NEWN(a, int, k->nval + 1);
	r->cell = NEWN(a, int, k->nval + 1);
	for (uint32_t i = 0; i <= k->nval; i++)
		r->bar[i] = r->cell[i] = -1;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		bool fills = o->code == O_copy && IMM(o, async) == COPY_BARRIER;
		const Val *tile = fills ? view_root(copy_dest(o)) : NULL;

		if (o->code == O_mbarrier) {
			r->bar[o->out[0]->id] = r->nbar;
			for (int64_t i = 0; i < o->out[0]->type.shape[0]; i++)
				VEC_PUSH(a, r->arrivals, r->nbar, cap, (int)IMM(o, arrivals));
		}
		if (tile && tile->block == k->body && tile->type.rank && r->cell[tile->id] < 0) {
			r->cell[tile->id] = r->ncell;
			r->ncell += (int)tile->type.shape[0];
		}
	}
	return r;
}
