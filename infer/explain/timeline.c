/* timeline.c - a block's first turns in time, found by walking through the code with a clock for each role.
 *
 * Roles wait for each other, so the walk is repeated with the times of the last one, until these stay: a
 * phase of a barrier depends on earlier ones only, so each repetition settles one more. */
#include "hexc/ir/access.h"
#include "infer/base/rates.h"
#include "infer/explain/timeline.h"
#include <math.h>
#include <string.h>

enum {
	TURNS_MORE = 4, /* behind the first round of stages */
	TURNS_MOST = 16,
	ROUNDS_MOST = 64,
	PHASES_MOST = 512,
};

const char *const span_name[SPAN_KINDS] = {
#define X(name, letter, what) #name,
	SPANS(X)
#undef X
};

/* Barriers in memory, one for each stage. */
typedef struct Ring {
	const Val *at;
	int stages, arrivals; /* that end a phase, of one team */
	double done[PHASES_MOST], old[PHASES_MOST]; /* when phases were complete; in the walk before */
	int n, waits, came; /* complete, waited for in this walk, arrivals of the phase that is not */
	double landed; /* the copies that the next arrival expects */
	struct Ring *freed_by; /* where its stages are given back; NULL: they are not */
} Ring;

/* What a phase or a group brings. */
typedef struct Fill {
	const Ring *ring; /* NULL: a group */
	const char *tiles;
	int number, stages; /* among those of these tiles */
	double issued, landed, used, freed, smem;
	int turn; /* in which it was asked for */
} Fill;

typedef enum RowKind { ROW_producer, ROW_stage, ROW_warps, ROW_unit } RowKind;

typedef struct Row {
	RowKind kind;
	int i; /* unit, stage */
	const char *tiles;
} Row;

typedef struct Busy {
	double from, to;
} Busy;

typedef struct Sim {
	const Explained *ex;
	Timeline *out;
	bool draw; /* times are settled */
	Ring *ring[64];
	int nring;
	Fill *fill;
	int nfill, fillcap;
	Row row[96];
	/* the role that is walked through */
	bool producer;
	int warps, turn;
	double clock, times;
	Res piece;
	double dearest;
	const Op *what; /* the dearest op of the piece */
	double *group; /* when groups of products are over */
	int ngroup, groupcap;
	double product; /* when those of the open group are */
	double extra; /* clocks of shared memory that copies took which were waited for */
	Fill open; /* copies since the last commit or arrival that expects them */
	Ring *free_stage; /* whose phase the role waited for last */
	/* the block */
	Busy *busy; /* when global memory moves bytes for somebody */
	int nbusy, busycap;
	double tensor; /* busy until then */
	Res load; /* of all loops' turns */
	double waited; /* in them, for copies */
	double start[TURNS_MOST + 1];
	int nstart;
} Sim;

/* ---- spans ----------------------------------------------------------------------------------------- */

static int
row_of(Sim *s, RowKind kind, int i, const char *tiles)
{
	int r = 0;

	for (; r < s->out->nrow; r++)
		if (s->row[r].kind == kind && s->row[r].i == i &&
		    (!tiles || strcmp(s->row[r].tiles, tiles) == 0))
			return r;
	if (r < (int)COUNT_OF(s->row))
		s->row[s->out->nrow++] = (Row){ kind, i, tiles };
	return r < (int)COUNT_OF(s->row) ? r : r - 1;
}

static void
span(Sim *s, int row, SpanKind kind, double from, double to, const char *what)
{
	Span x = { row, kind, s->turn, from, to, what };

	if (to - from >= 0.5)
		VEC_PUSH(s->ex->k->unit->arena, s->out->span, s->out->n, s->out->cap, x);
	s->out->total = fmax(s->out->total, to);
}

static void
warps_span(Sim *s, SpanKind kind, double to, const char *what)
{
	if (s->draw)
		span(s, row_of(s, s->producer ? ROW_producer : ROW_warps, 0, NULL), kind, s->clock, to, what);
	s->clock = to;
}

/* `turn`: for which the unit works, if that is another than this one. */
static void
unit_span(Sim *s, int unit, double from, double clocks, int turn, const char *what)
{
	int here = s->turn;

	if (here >= 0)
		s->load.unit[unit] += clocks;
	s->turn = turn;
	if (s->draw && clocks >= 1)
		span(s, row_of(s, ROW_unit, unit, NULL), SPAN_busy, from, from + clocks, what);
	s->turn = here;
}

/* "wgmma_f32_f16_ss of line 13" */
static const char *
op_words(const Sim *s, const Op *o)
{
	const char *by = o->lowering ? lowering_name(o->lowering) : NULL;

	if (!s->draw)
		return "";
	return arena_printf(s->ex->k->unit->arena, "%s of line %u", by ? by : op_info[o->code].name,
	                    o->src.line);
}

/* Global memory moves bytes for so many clocks, from the clock on, as soon as it moves no others. */
static double
move(Sim *s, double clocks)
{
	double at = s->clock;

	for (int i = 0; i < s->nbusy; i++)
		if (at < s->busy[i].to && s->busy[i].from < at + clocks) {
			at = s->busy[i].to;
			i = -1;
		}
	if (clocks > 0)
		VEC_PUSH(s->ex->k->unit->arena, s->busy, s->nbusy, s->busycap, ((Busy){ at, at + clocks }));
	return at;
}

/* ---- pieces between waits -------------------------------------------------------------------------- */

static void
add(Sim *s, const Op *o, const Res *r)
{
	if (res_cycles(r) * s->times > s->dearest) {
		s->dearest = res_cycles(r) * s->times;
		s->what = o;
	}
	res_add(&s->piece, r, s->times);
}

/* The warps do what there is to do before what comes next. */
static void
flush(Sim *s)
{
	Res *p = &s->piece;
	double busy, issue;
	const char *what;

	if (p->unit[R_smem] >= 1) {
		p->unit[R_smem] += s->extra;
		s->extra = 0;
	}
	busy = res_busy(p);
	issue = p->unit[R_issue] * ISSUE_RATE / s->warps * WARP_CLOCKS;
	busy = fmax(busy, issue) + p->latency + p->wait;
	if (busy > 0 && s->what) {
		what = op_words(s, s->what);
		for (int i = 0; i < RES_UNITS; i++)
			unit_span(s, i, s->clock, p->unit[i], s->turn, what);
		if (p->unit[R_gmem] > 0)
			move(s, p->unit[R_gmem]);
		warps_span(s, SPAN_work, s->clock + busy, what);
	}
	*p = (Res){ 0 };
	s->dearest = 0;
	s->what = NULL;
}

static void
wait_until(Sim *s, double when, const char *what)
{
	if (when <= s->clock)
		return;
	if (s->turn >= 0 && !s->producer && *what == 'f')
		s->waited += when - s->clock;
	warps_span(s, SPAN_wait, when, what);
}

/* ---- copies ---------------------------------------------------------------------------------------- */

static bool
ends_later(const Op *o)
{
	return IMM(o, async) == COPY_GROUP || IMM(o, async) == COPY_BARRIER;
}

static Ring *
ring_of(Sim *s, const Val *at)
{
	const Kernel *k = s->ex->k;
	Ring *r;

	for (int i = 0; i < s->nring; i++)
		if (s->ring[i]->at == at)
			return s->ring[i];
	if (s->nring == (int)COUNT_OF(s->ring))
		return s->ring[0];
	r = NEW(k->unit->arena, Ring);
	r->at = at;
	r->stages = (int)at->type.shape[0];
	r->arrivals = (int)max64(IMM(at->def, arrivals), 1);
	if (r->arrivals > 1 && r->arrivals % k->teams == 0) /* one team stands for all */
		r->arrivals /= k->teams;
	if (r->arrivals % cluster_blocks(k) == 0) /* one block, too */
		r->arrivals /= cluster_blocks(k);
	return s->ring[s->nring++] = r;
}

/* Which turn copy o is for: phases and groups of stages count them; -1: none. */
static int
number_of(Sim *s, const Op *o)
{
	int n = 0;

	if (IMM(o, async) == COPY_BARRIER)
		return ring_of(s, o->in[2])->stages > 1 ? ring_of(s, o->in[2])->n : s->turn;
	if (s->open.stages == 1)
		return s->turn;
	for (int i = 0; i < s->nfill; i++)
		n += !s->fill[i].ring && s->fill[i].stages > 1;
	return n;
}

/* A copy starts: its issue is the warps', its bytes are the memory's. */
static void
copy(Sim *s, const Op *o, const Res *r)
{
	const Rates *rates = rates_of(s->ex->k->unit->target);
	const Val *root = view_root(o->in[1]);
	const char *name = explain_name(root, s->ex->k);
	bool at_barrier = IMM(o, async) == COPY_BARRIER;
	Res own = *r;
	double begin, way;

	own.unit[R_gmem] = own.wait = 0;
	if (at_barrier)
		own.unit[R_smem] = 0;
	if (!s->open.tiles) {
		flush(s);
		s->open = (Fill){ .tiles = name, .issued = s->clock, .stages = 1, .turn = s->turn };
	} else if (!strstr(s->open.tiles, name)) {
		s->open.tiles = arena_printf(s->ex->k->unit->arena, "%s, %s", s->open.tiles, name);
	}
	if (root->type.rank > o->in[1]->type.rank)
		s->open.stages = (int)root->type.shape[0];
	add(s, o, &own);
	flush(s);
	begin = move(s, r->unit[R_gmem]);
	unit_span(s, R_gmem, begin, r->unit[R_gmem], number_of(s, o), op_words(s, o));
	way = r->unit[R_gmem] + rates->dram_wait + (instr_is_box(instr_of(o->lowering)) ? BOX_CLOCKS : 0);
	s->open.landed = fmax(s->open.landed, begin + way);
	if (at_barrier) {
		s->open.smem += r->unit[R_smem];
		s->open.ring = ring_of(s, o->in[2]);
		ring_of(s, o->in[2])->freed_by = s->free_stage;
	}
}

/* What was copied since the last time becomes a phase or a group. */
static void
close_fill(Sim *s)
{
	int number = 0;

	s->open.tiles = s->open.tiles ? s->open.tiles : "";
	for (int i = 0; i < s->nfill; i++) {
		if (strcmp(s->fill[i].tiles, s->open.tiles) != 0)
			continue;
		number++;
		if (s->open.stages == 1 && !s->open.ring && s->fill[i].freed < 0)
			s->fill[i].freed = s->open.issued;
	}
	s->open.number = number;
	s->open.used = s->open.freed = -1;
	VEC_PUSH(s->ex->k->unit->arena, s->fill, s->nfill, s->fillcap, s->open);
	s->open = (Fill){ 0 };
}

/* The n-th phase of a ring, or group of none; NULL: there is none yet. */
static Fill *
find_fill(Sim *s, const Ring *ring, int n)
{
	for (int i = 0; i < s->nfill; i++)
		if (s->fill[i].ring == ring && n-- == 0)
			return &s->fill[i];
	return NULL;
}

static void
use(Sim *s, Fill *f)
{
	if (!f || f->used >= 0)
		return;
	f->used = s->clock;
	s->extra += f->smem;
}

static const char *
for_words(const Sim *s, const Fill *f)
{
	return s->draw ? arena_printf(s->ex->k->unit->arena, "for %s", f->tiles) : "for copies";
}

/* Of groups, which no barrier gives back: those before are free. */
static void
wait_group(Sim *s, const Op *o)
{
	int n = 0, last;

	flush(s);
	for (int i = 0; i < s->nfill; i++)
		n += !s->fill[i].ring;
	last = n - 1 - (int)IMM(o, pending);
	for (int i = 0; i <= last; i++) {
		Fill *f = find_fill(s, NULL, i);

		if (f->used < 0 && *f->tiles)
			wait_until(s, f->landed, for_words(s, f));
	}
	for (int i = 0; i <= last; i++) {
		Fill *f = find_fill(s, NULL, i);

		if (f->used >= 0 && f->freed < 0 && f->stages > 1)
			f->freed = s->clock;
		if (s->turn >= 0 || f->turn < 0) /* behind its loop nobody needs it */
			use(s, f);
	}
}

/* ---- barriers in memory ---------------------------------------------------------------------------- */

/* Is it a barrier by which teams take turns?  The one that is drawn has its turn. */
static bool
tells_turn(const Sim *s, const Val *barrier)
{
	OpWalk w;

	for (Op *o = walk_first(&w, s->ex->k->body); o; o = walk_next(&w))
		if (o->code == O_mbar_arrive && o->in[0] == barrier && IMM(o, turn))
			return true;
	return false;
}

/* Producers find the stages of the first round free. */
static void
wait_phase(Sim *s, const Op *o, const Res *r)
{
	Ring *ring = ring_of(s, o->in[0]);
	int n = ring->waits++ - (s->producer ? ring->stages : 0);
	const char *what = s->producer ? "for a free stage" : "for a phase";
	Fill *f;

	flush(s);
	if (n >= 0 && n < PHASES_MOST) {
		f = s->producer ? NULL : find_fill(s, ring, n);
		if (f)
			what = for_words(s, f);
		wait_until(s, ring->old[n], what);
		use(s, f);
	}
	s->free_stage = ring;
	add(s, o, r);
	flush(s);
}

static void
arrive(Sim *s, const Op *o, const Res *r)
{
	Ring *ring = ring_of(s, o->in[0]);
	double when;

	add(s, o, r);
	flush(s);
	when = s->clock;
	if (IMM(o, expect) && s->open.tiles) {
		ring->landed = fmax(ring->landed, s->open.landed);
		s->open.ring = ring;
		close_fill(s);
	}
	for (int i = 0; i < s->nring; i++) /* the stage that it gives back */
		if (s->ring[i]->freed_by == ring && find_fill(s, s->ring[i], ring->n))
			find_fill(s, s->ring[i], ring->n)->freed = when;
	if (++ring->came < ring->arrivals || ring->n == PHASES_MOST)
		return;
	ring->done[ring->n++] = fmax(when, ring->landed);
	ring->came = 0;
	ring->landed = 0;
}

/* ---- products of warpgroups ------------------------------------------------------------------------ */

static void
product(Sim *s, const Op *o, const Res *r)
{
	Res own = { 0 };
	double begin, smem = r->unit[R_smem] + s->extra;

	own.unit[R_issue] = r->unit[R_issue];
	add(s, o, &own);
	flush(s);
	begin = fmax(s->clock, s->tensor);
	unit_span(s, R_mma, begin, r->unit[R_mma], s->turn, op_words(s, o));
	unit_span(s, R_smem, begin, smem, s->turn, op_words(s, o));
	s->tensor = begin + fmax(r->unit[R_mma], smem);
	s->product = s->tensor + r->latency;
	s->extra = 0;
}

static void
wait_products(Sim *s, const Op *o)
{
	int last = s->ngroup - 1 - (int)IMM(o, pending);

	flush(s);
	if (last >= 0)
		wait_until(s, s->group[last], "products");
}

/* ---- the walk -------------------------------------------------------------------------------------- */

static void walk(Sim *s, const Block *b);

/* Does it wait for copies or phases itself, not in a loop inside? */
static bool
waits(const Block *b)
{
	for (const Op *o = b->first; o; o = o->next) {
		if (o->code == O_mbar_wait || (o->code == O_wait && !IMM(o, bulk)))
			return true;
		for (int i = 0; i < 2 && o->code == O_if; i++)
			if (waits(o->blk[i]))
				return true;
	}
	return false;
}

static bool
waits_inside(Block *b)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (o->code == O_mbar_wait || (o->code == O_wait && !IMM(o, bulk)))
			return true;
	return false;
}

/* Is it a loop whose turns wait, and not one around such a loop? */
static bool
has_turns(const Op *loop)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, loop->blk[0]); o; o = walk_next(&w))
		if (o->code == O_for && waits_inside(o->blk[0]))
			return false;
	return waits(loop->blk[0]);
}

/* How often a loop is gone through. */
static int
turns_of(const Sim *s, const Op *loop)
{
	int64_t from, to, step;

	if (val_is_const(loop->in[0], &from) && val_is_const(loop->in[1], &to) &&
	    val_is_const(loop->in[2], &step) && step > 0 && ceil_div(to - from, step) < s->out->turns)
		return (int)max64(ceil_div(to - from, step), 0);
	return s->out->turns;
}

static void
walk_loop(Sim *s, const Op *loop)
{
	double runs = explain_runs(s->ex, loop), inside = explain_runs(s->ex, loop->blk[0]->last);
	int n = turns_of(s, loop), outer = s->turn;

	if (IMM(loop, split) == SPLIT_CLEAR || IMM(loop, split) == SPLIT_FRONT)
		return; /* told of with the other */
	if (!has_turns(loop)) {
		double times = s->times;

		s->times *= waits_inside(loop->blk[0]) || runs <= 0 ? 1 : inside / runs;
		walk(s, loop->blk[0]);
		s->times = times;
		return;
	}
	flush(s);
	if (!s->producer)
		s->nstart = 0;
	for (s->turn = 0; s->turn < n; s->turn++) {
		if (!s->producer)
			s->start[s->nstart++] = s->clock;
		walk(s, loop->blk[0]);
		flush(s);
	}
	if (!s->producer)
		s->start[s->nstart] = s->clock;
	s->turn = outer;
}

/* `from < counter`, which is false in the loop's first turn. */
static bool
first_turn_skips(const Sim *s, const Op *o)
{
	const Op *is = o->in[0]->def, *loop = o->parent->owner;

	return s->turn == 0 && is && is->code == O_lt && loop && loop->code == O_for &&
	       is->in[0] == loop->in[0] && is->in[1] == loop->blk[0]->arg[0];
}

static void
walk_roles(Sim *s, const Op *o)
{
	double from, to;

	flush(s);
	from = s->clock;
	s->producer = true;
	s->warps = s->ex->k->helpers;
	walk(s, o->blk[0]);
	flush(s);
	to = s->clock;
	s->clock = from;
	s->producer = false;
	s->warps = s->ex->k->warps;
	s->open = (Fill){ 0 };
	s->free_stage = NULL;
	walk(s, o->blk[1]);
	flush(s);
	s->clock = fmax(s->clock, to);
}

static void
walk_op(Sim *s, const Op *o)
{
	Res r = { 0 };

	explain_res(s->ex, o, &r);
	switch (o->code) {
	case O_for: walk_loop(s, o); break;
	case O_if:
		if (!first_turn_skips(s, o))
			walk(s, o->blk[0]);
		if (!IMM(o, versions))
			walk(s, o->blk[1]);
		break;
	case O_roles: walk_roles(s, o); break;
	case O_mbar_wait:
		if (!tells_turn(s, o->in[0]))
			wait_phase(s, o, &r);
		break;
	case O_mbar_arrive:
		if (!IMM(o, turn))
			arrive(s, o, &r);
		break;
	case O_wgmma: product(s, o, &r); break;
	case O_wg_wait: wait_products(s, o); break;
	case O_wg_commit:
		VEC_PUSH(s->ex->k->unit->arena, s->group, s->ngroup, s->groupcap, s->product);
		break;
	case O_commit:
		if (!IMM(o, bulk))
			close_fill(s);
		break;
	case O_wait:
		if (!IMM(o, bulk))
			wait_group(s, o);
		break;
	default:
		if (o->code == O_copy && ends_later(o)) {
			copy(s, o, &r);
			break;
		}
		if (res_cycles(&r) > 0)
			add(s, o, &r);
		if (r.barrier)
			flush(s);
	}
}

static void
walk(Sim *s, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next)
		walk_op(s, o);
}

/* Once through the kernel; false: times are as they were. */
static bool
walk_kernel(Sim *s)
{
	bool other = false;

	s->nfill = s->ngroup = s->nbusy = 0;
	s->clock = s->tensor = s->product = s->extra = s->waited = 0;
	s->times = 1;
	s->turn = -1;
	s->warps = kernel_warps(s->ex->k);
	s->producer = false;
	s->load = s->piece = (Res){ 0 };
	s->open = (Fill){ 0 };
	for (int i = 0; i < s->nring; i++)
		s->ring[i]->n = s->ring[i]->waits = s->ring[i]->came = 0;
	walk(s, s->ex->k->body);
	flush(s);
	for (int i = 0; i < s->nring; i++) {
		Ring *r = s->ring[i];

		for (int j = 0; j < r->n; j++) {
			other = other || fabs(r->done[j] - r->old[j]) > 0.01;
			r->old[j] = r->done[j];
		}
	}
	return other;
}

/* ---- the picture ----------------------------------------------------------------------------------- */

/* What was copied, by stage: on its way, there, in use. */
static void
stage_spans(Sim *s)
{
	for (int i = 0; i < s->nfill; i++) {
		Fill *f = &s->fill[i];
		int stages = f->ring ? f->ring->stages : f->stages, row;
		double end = f->freed >= 0 ? f->freed : s->clock;

		if (!*f->tiles)
			continue;
		row = row_of(s, ROW_stage, f->number % stages, f->tiles);
		s->turn = f->number;
		span(s, row, SPAN_way, f->issued, f->landed, f->tiles);
		if (f->used < 0) {
			span(s, row, SPAN_there, f->landed, end, f->tiles);
			continue;
		}
		span(s, row, SPAN_there, f->landed, f->used, f->tiles);
		span(s, row, SPAN_use, f->used, end, f->tiles);
	}
	s->turn = -1;
}

static bool
row_before(const Row *a, const Row *b)
{
	int c = a->tiles && b->tiles ? strcmp(a->tiles, b->tiles) : 0;

	if (a->kind != b->kind)
		return a->kind < b->kind;
	return c ? c < 0 : a->i < b->i;
}

static const char *
row_name(const Sim *s, const Row *r)
{
	Arena *a = s->ex->k->unit->arena;
	bool roles = kernel_roles(s->ex->k) != NULL;

	switch (r->kind) {
	case ROW_producer: return "producer";
	case ROW_warps: return roles ? (s->ex->k->teams > 1 ? "consumers, a team" : "consumers") : "warps";
	case ROW_stage: return arena_printf(a, "%s: %d", r->tiles, r->i);
	case ROW_unit: break;
	}
	return res_unit[r->i];
}

/* Rows in order, and their names. */
static void
order_rows(Sim *s)
{
	Timeline *t = s->out;
	int place[COUNT_OF(s->row)];

	t->row = NEWN(s->ex->k->unit->arena, const char *, t->nrow + 1);
	for (int i = 0; i < t->nrow; i++) {
		place[i] = 0;
		for (int j = 0; j < t->nrow; j++)
			place[i] += row_before(&s->row[j], &s->row[i]);
		t->row[place[i]] = row_name(s, &s->row[i]);
	}
	for (int i = 0; i < t->n; i++)
		t->span[i].row = place[t->span[i].row];
}

/* The turn once the stages are full, and what it takes its time for. */
static void
steady(Sim *s)
{
	Timeline *t = s->out;
	int n = s->nstart, over = t->stages < n ? t->stages : n, most = 0;
	double loop = n ? s->start[n] - s->start[0] : 0, busy = res_busy(&s->load);

	if (n < 2)
		return;
	t->turn = (s->start[n] - s->start[n - over]) / over;
	for (int i = 1; i < RES_UNITS; i++)
		if (s->load.unit[i] > s->load.unit[most])
			most = i;
	if (s->waited > 0.1 * loop && s->load.unit[most] / n < 0.9 * t->turn)
		t->limit = "the way of copies: there are too few stages";
	else if (busy / n >= 0.8 * t->turn)
		t->limit = res_unit[most];
	else
		t->limit = "steps that need each other";
}

static int
deepest(const Explained *ex)
{
	int64_t most = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		if (o->code == O_mbar)
			most = max64(most, o->out[0]->type.shape[0]);
		if (o->code == O_for)
			most = max64(most, IMM(o, stages));
	}
	return (int)(most < TURNS_MOST ? most : TURNS_MOST);
}

const Timeline *
timeline(const Explained *ex)
{
	Arena *a = ex->k->unit->arena;
	Sim *s;
	Timeline *t;

	if (!waits_inside(ex->k->body))
		return NULL;
	s = NEW(a, Sim);
	t = NEW(a, Timeline);
	*s = (Sim){ .ex = ex, .out = t };
	t->stages = deepest(ex) > 0 ? deepest(ex) : 1;
	t->turns = t->stages + TURNS_MORE < TURNS_MOST ? t->stages + TURNS_MORE : TURNS_MOST;
	t->limit = "";
	for (int i = 0; i < ROUNDS_MOST && walk_kernel(s); i++)
		arena_step(a);
	s->draw = true;
	walk_kernel(s);
	t->total = fmax(t->total, s->clock);
	stage_spans(s);
	steady(s);
	order_rows(s);
	return t;
}
