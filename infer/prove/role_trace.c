/* role_trace.c - what each role does, one event after the other, as sizes of small launches have it.
 *
 * Scalars are computed; a number that a role loads from a tensor is one that its place there gives, the same
 * for each role.  Tiles have no values here. */
#include "infer/prove/role_trace.h"
#include "hexc/ir/dtype.h"
#include "infer/prove/part.h"

enum { STEPS_MOST = 1 << 17,
       TILES = 3,
       DEPTH = 16,
       OWN = 4 };

/* About which number sizes are, in the order of the parameters and again from the first: few turns and many,
 * edges, one block and several. */
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

typedef struct Run {
	const Rings *r;
	Arena *arena;
	int64_t *num; /* [nval+1] by a value's id */
	bool *known; /* likewise; what is unknown has no number */
	Trace *t;
	int64_t grid[3];
	bool last; /* it is the last block */
	int steps;
	bool lost;
} Run;

static void run_block(Run *run, const Block *b);

/* ---- numbers ------------------------------------------------------------------------------------- */

static void
set(Run *run, const Val *v, bool known, int64_t x)
{
	run->known[v->id] = known;
	run->num[v->id] = x;
}

static bool
get(const Run *run, const Val *v, int64_t *x)
{
	if (val_is_const(v, x))
		return true;
	*x = run->num[v->id];
	return run->known[v->id];
}

/* The block with that number, as `block_id` of IR.md has it, rank 0 of its cluster. */
static bool
block_of(const Run *run, const Op *o, int64_t extent[3], int64_t at[3])
{
	int64_t number;

	if (!get(run, o->in[0], &number))
		return false;
	for (int d = 0; d < 3; d++) {
		int cluster = run->r->k->cluster[d];
		int64_t n;

		if (!get(run, o->in[1 + d], &extent[d]) || extent[d] < 1)
			return false;
		n = (extent[d] + cluster - 1) / cluster;
		at[d] = (d == 2 ? number : number % n) * cluster;
		number /= n;
	}
	return true;
}

static bool
grid_number(const Run *run, const Op *o, int64_t *x)
{
	int64_t extent[3], at[3], clusters = 1;

	if (o->code == O_launched) { /* so many that each has a few */
		for (int d = 0; d < 3; d++)
			clusters *= (run->grid[d] + run->r->k->cluster[d] - 1) / run->r->k->cluster[d];
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

/* A number that a tensor holds: small, and the same whoever asks. */
static bool
loaded_number(const Run *run, const Op *o, int64_t *x)
{
	const Op *view = o->in[0]->def;
	uint32_t h = view_root(o->in[0])->id;

	for (int i = 1; view && i < view->nin; i++) {
		int64_t at;

		if (view->code != O_view || !get(run, view->in[i], &at))
			return false;
		h = (h ^ (uint32_t)at) * 2654435761u;
	}
	*x = (h ^ h >> 15) * 2246822519u >> 30;
	return o->in[0]->type.space == S_global;
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
number(const Run *run, const Op *o, int64_t *x)
{
	int64_t a, b, c;

	switch (o->code) {
	case O_block_id:
	case O_launched:
	case O_has_block:
		return grid_number(run, o, x);
	case O_team:
		*x = run->t->team;
		return true;
	case O_load:
		return loaded_number(run, o, x);
	case O_select:
		return get(run, o->in[0], &c) && get(run, o->in[c ? 1 : 2], x);
	case O_fma:
		return get(run, o->in[0], &a) && get(run, o->in[1], &b) && get(run, o->in[2], &c) &&
		       i64_eval(O_mul, a, b, &a) && i64_eval(O_add, a, c, x);
	default:
		if (o->nin == 0 || !get(run, o->in[0], &a))
			return false;
		if (o->nin == 1)
			return unary(o, a, x);
		return o->nin == 2 && get(run, o->in[1], &b) && !dtype_is_float(o->in[0]->type.dtype) &&
		       i64_eval(o->code, a, b, x);
	}
}

/* ---- events -------------------------------------------------------------------------------------- */

static int
bar_of(Run *run, const Val *mbar, const Val *slot)
{
	int64_t x;

	if (get(run, slot, &x) && x >= 0 && x < mbar->type.shape[0])
		return run->r->bar[mbar->id] + (int)x;
	run->lost = true;
	return 0;
}

static void
event(Run *run, Event e)
{
	VEC_PUSH(run->arena, run->t->a, run->t->n, run->t->cap, e);
}

/* Which cells of its tile v is of, of what events are kept. */
static bool
cells_of(const Run *run, Val *v, Event *e)
{
	TilePart p = tile_part(v);
	int first = run->r->cell[p.tile->id];
	int64_t lo = 0;

	if (first < 0 || !p.n || (p.first && !get(run, p.first, &lo)))
		return false;
	e->cell = first + (int)lo;
	e->to = e->cell + (int)p.n;
	e->whole = p.whole;
	return lo >= 0 && lo + p.n <= p.tile->type.shape[0];
}

static void
touches(Run *run, const Op *o)
{
	bool fills = o->code == O_copy && IMM(o, async) == COPY_BARRIER;

	for (int i = 0; i < o->nin; i++) {
		bool to = i == 1 && (o->code == O_copy || o->code == O_store);
		Event e = { .op = o };

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
events_of(Run *run, const Op *o)
{
	Event e = { .op = o, .n = 1 };

	if (o->code == O_mbar_wait) {
		e.kind = EV_WAIT;
		run->lost = run->lost || !get(run, o->in[2], &e.n);
		e.n &= 1;
	} else if (o->code == O_mbar_arrive) {
		e.kind = EV_ARRIVE;
		for (int64_t mask = IMM(o, cluster) & (IMM(o, cluster) - 1); mask; mask &= mask - 1)
			e.n++;
	} else if (o->code == O_wg_commit)
		e.kind = EV_COMMIT;
	else if (o->code == O_wg_wait) {
		e.kind = EV_SETTLE;
		e.n = IMM(o, pending);
	} else {
		if (op_is(o, F_MEM))
			touches(run, o);
		return;
	}
	if (e.kind == EV_WAIT || e.kind == EV_ARRIVE)
		e.bar = bar_of(run, o->in[0], o->in[1]);
	event(run, e);
}

/* ---- control ------------------------------------------------------------------------------------- */

/* What a block's yield hands on, all of it at once. */
static void
hand_on(Run *run, Val *const *from, Val *const *to, int n)
{
	int64_t x[64];
	bool known[64];

	if (n > 64)
		run->lost = true;
	for (int i = 0; i < n && !run->lost; i++)
		known[i] = from[i]->type.rank == 0 && get(run, from[i], &x[i]);
	for (int i = 0; i < n && !run->lost; i++)
		set(run, to[i], known[i], x[i]);
}

static void
run_loop(Run *run, const Op *o)
{
	const Block *b = o->blk[0];
	int64_t lo, hi, step, on = 1;

	if (!get(run, o->in[0], &lo) || !get(run, o->in[1], &hi) || !get(run, o->in[2], &step) || step == 0) {
		run->lost = true;
		return;
	}
	hand_on(run, o->in + 3, b->arg + 1, o->nout);
	for (int64_t i = lo; (step > 0 ? i < hi : i > hi) && !run->lost; i += step) {
		if (loop_ends_early(o) && !get(run, b->arg[1], &on))
			run->lost = true;
		if (!on)
			break;
		set(run, b->arg[0], true, i);
		run_block(run, b);
		hand_on(run, b->last->in, b->arg + 1, o->nout);
	}
	hand_on(run, b->arg + 1, o->out, o->nout);
}

static void
run_if(Run *run, const Op *o)
{
	int64_t is;
	const Block *b;

	if (!get(run, o->in[0], &is)) {
		run->lost = true;
		return;
	}
	b = o->blk[is ? 0 : 1];
	run_block(run, b);
	hand_on(run, b->last->in, o->out, o->nout);
}

static void
run_block(Run *run, const Block *b)
{
	for (const Op *o = b->first; o && !run->lost && o->code != O_roles; o = o->next) {
		run->lost = ++run->steps > STEPS_MOST;
		if (o->code == O_for)
			run_loop(run, o);
		else if (o->code == O_if)
			run_if(run, o);
		else if (op_is(o, F_MEM | F_SYNC))
			events_of(run, o);
		if (o->nout == 1 && o->out[0]->type.space == S_scalar && !o->blk[0])
			run->known[o->out[0]->id] = number(run, o, &run->num[o->out[0]->id]);
	}
}

/* ---- launches ------------------------------------------------------------------------------------ */

/* As much, about, as the kernel asks for it. */
static int64_t
size_of(const Param *p, int64_t x)
{
	int64_t mult = p->mult > 1 ? p->mult : 1;

	x = (x + mult - 1) / mult * mult;
	if (p->lo > p->hi || (!p->lo && !p->hi))
		return x;
	x = x < p->lo ? (p->lo + mult - 1) / mult * mult : x;
	return x > p->hi ? p->hi / mult * mult : x;
}

static bool
take_sizes(Run *run, const int64_t *sizes)
{
	const Kernel *k = run->r->k;
	int n = 0, own = 0;

	while (own < OWN && sizes[own])
		own++;
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];

		if (p->kind != P_tensor && !dtype_is_float(p->val->type.dtype))
			set(run, p->val, true, p->kind == P_size ? size_of(p, sizes[n++ % own]) : 1);
	}
	run_block(run, k->grid);
	for (int i = 0; i < k->nassume; i++) {
		int64_t holds;

		if (!get(run, k->assume[i].cond, &holds) || !holds)
			return false;
	}
	for (int d = 0; d < 3; d++)
		if (!get(run, k->grid->last->in[d], &run->grid[d]) || run->grid[d] < 1)
			return false;
	return !run->lost;
}

_Static_assert(2 * COUNT_OF(about) == TRACE_LAUNCHES, "the first block of each and the last one");

bool
rings_trace(const Rings *r, int i, Trace *t)
{
	Arena *a = r->k->unit->arena;
	Run run = { .r = r, .arena = a, .last = i & 1 };
	Trace none = { .team = -1 };

	run.num = NEWN(a, int64_t, r->k->nval + 1);
	run.known = NEWN(a, bool, r->k->nval + 1);
	run.t = &none;
	if (!take_sizes(&run, about[i / 2]))
		return false;
	for (int role = 0; role < 1 + r->k->teams; role++) {
		run.t = &t[role];
		run.t->team = role - 1;
		run.t->n = 0;
		run.steps = 0;
		run_block(&run, r->k->body);
		run_block(&run, r->roles->blk[role ? 1 : 0]);
	}
	return !run.lost;
}

/* ---- rings --------------------------------------------------------------------------------------- */

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
		const Val *tile = fills ? view_root(o->in[1]) : NULL;

		if (o->code == O_mbar) {
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
