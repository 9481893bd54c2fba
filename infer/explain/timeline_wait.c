/* timeline_wait.c - computes in a simulated timeline when copies, mbarrier phases and wgmma complete. */
#include "infer/core/sm_throughput.h"
#include "infer/explain/timeline_sim.h"
#include <math.h>
#include <string.h>

bool
copy_ends_later(const Op *o)
{
	return IMM(o, async) == COPY_GROUP || IMM(o, async) == COPY_BARRIER;
}

static StageBarriers *
ring_of(Sim *s, const Val *at)
{
	const Kernel *k = s->ex->k;
	StageBarriers *r;

	for (int i = 0; i < s->nring; i++)
		if (s->ring[i]->at == at)
			return s->ring[i];
	if (s->nring == (int)COUNT_OF(s->ring))
		return s->ring[0];
	r = NEW(k->unit->arena, StageBarriers);
	r->at = at;
	r->stages = (int)at->type.shape[0];
	r->arrivals = (int)max64(IMM(at->def, arrivals), 1);
	if (r->arrivals > 1 && r->arrivals % k->teams == 0) /* one consumer group represents all */
		r->arrivals /= k->teams;
	if (r->arrivals % cluster_blocks(k) == 0) /* one block represents its cluster */
		r->arrivals /= cluster_blocks(k);
	return s->ring[s->nring++] = r;
}

/* Returns the iteration that copy o is for, counted by phases or groups of stages; -1: none. */
static int
number_of(Sim *s, const Op *o)
{
	int n = 0;

	if (IMM(o, async) == COPY_BARRIER)
		return ring_of(s, copy_mbarrier(o))->stages > 1 ? ring_of(s, copy_mbarrier(o))->n : s->turn;
	if (s->open.stages == 1)
		return s->turn;
	for (int i = 0; i < s->nfill; i++)
		n += !s->fill[i].ring && s->fill[i].stages > 1;
	return n;
}

/* Starts a copy: its issue takes the warps' time, its bytes the memory's. */
void
walk_copy(Sim *s, const Op *o, const Res *r)
{
	const Rates *rates = rates_of(s->ex->k->unit->target);
	const Val *root = view_root(copy_dest(o));
	const char *name = explain_name(root, s->ex->k);
	bool at_barrier = IMM(o, async) == COPY_BARRIER;
	Res own = *r;
	double begin, way;

	own.unit[R_gmem] = own.wait = 0;
	if (at_barrier)
		own.unit[R_smem] = 0;
	if (!s->open.tiles) {
		walk_flush(s);
		s->open = (Fill){ .tiles = name, .issued = s->clock, .stages = 1, .turn = s->turn };
	} else if (!strstr(s->open.tiles, name)) {
		s->open.tiles = arena_printf(s->ex->k->unit->arena, "%s, %s", s->open.tiles, name);
	}
	if (root->type.rank > copy_dest(o)->type.rank)
		s->open.stages = (int)root->type.shape[0];
	walk_add(s, o, &own);
	walk_flush(s);
	begin = walk_move(s, r->unit[R_gmem]);
	walk_unit(s, R_gmem, begin, r->unit[R_gmem], number_of(s, o), walk_words(s, o));
	way = r->unit[R_gmem] + rates->dram_wait + (instr_is_box(instr_of(o->lowering)) ? BOX_CLOCKS : 0);
	s->open.landed = fmax(s->open.landed, begin + way);
	if (at_barrier) {
		s->open.smem += r->unit[R_smem];
		s->open.ring = ring_of(s, copy_mbarrier(o));
		ring_of(s, copy_mbarrier(o))->freed_by = s->free_stage;
	}
}

/* Closes the copies since the last call as a phase or a group. */
void
walk_close(Sim *s)
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

/* Returns the n-th phase of a ring, or group if ring is NULL; NULL if there is none yet. */
static Fill *
find_fill(Sim *s, const StageBarriers *ring, int n)
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
	return s->draw ? arena_printf(s->ex->k->unit->arena, "for %s", f->tiles) : "waiting for copies";
}

/* Waits for groups. No barrier releases their stages: the preceding ones are free. */
void
walk_group(Sim *s, const Op *o)
{
	int n = 0, last;

	walk_flush(s);
	for (int i = 0; i < s->nfill; i++)
		n += !s->fill[i].ring;
	last = n - 1 - (int)IMM(o, pending);
	for (int i = 0; i <= last; i++) {
		Fill *f = find_fill(s, NULL, i);

		if (f->used < 0 && *f->tiles)
			walk_until(s, f->landed, for_words(s, f));
	}
	for (int i = 0; i <= last; i++) {
		Fill *f = find_fill(s, NULL, i);

		if (f->used >= 0 && f->freed < 0 && f->stages > 1)
			f->freed = s->clock;
		if (s->turn >= 0 || f->turn < 0) /* after its loop it is no longer used */
			use(s, f);
	}
}

/* Is it a barrier by which consumer groups alternate? The one that is drawn never waits for it. */
bool
barrier_tells_turn(const Sim *s, const Val *barrier)
{
	OpWalk w;

	for (Op *o = walk_first(&w, s->ex->k->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier_arrive && mbarrier_barrier(o) == barrier && IMM(o, pingpong))
			return true;
	return false;
}

/* Waits for a phase; producers find the stages of the first round free. */
void
walk_phase(Sim *s, const Op *o, const Res *r)
{
	StageBarriers *ring = ring_of(s, mbarrier_barrier(o));
	int n = ring->waits++ - (s->producer ? ring->stages : 0);
	const char *what = s->producer ? "waiting for an empty stage" : "waiting for an mbarrier phase";
	Fill *f;

	walk_flush(s);
	if (n >= 0 && n < PHASES_MOST) {
		f = s->producer ? NULL : find_fill(s, ring, n);
		if (f)
			what = for_words(s, f);
		walk_until(s, ring->old[n], what);
		use(s, f);
	}
	s->free_stage = ring;
	walk_add(s, o, r);
	walk_flush(s);
}

void
walk_arrive(Sim *s, const Op *o, const Res *r)
{
	StageBarriers *ring = ring_of(s, mbarrier_barrier(o));
	double when;

	walk_add(s, o, r);
	walk_flush(s);
	when = s->clock;
	if (IMM(o, expect) && s->open.tiles) {
		ring->landed = fmax(ring->landed, s->open.landed);
		s->open.ring = ring;
		walk_close(s);
	}
	for (int i = 0; i < s->nring; i++) /* the stage that it releases */
		if (s->ring[i]->freed_by == ring && find_fill(s, s->ring[i], ring->n))
			find_fill(s, s->ring[i], ring->n)->freed = when;
	if (++ring->came < ring->arrivals || ring->n == PHASES_MOST)
		return;
	ring->done[ring->n++] = fmax(when, ring->landed);
	ring->came = 0;
	ring->landed = 0;
}

void
walk_product(Sim *s, const Op *o, const Res *r)
{
	Res own = { 0 };
	double begin, smem = r->unit[R_smem] + s->extra;

	own.unit[R_issue] = r->unit[R_issue];
	walk_add(s, o, &own);
	walk_flush(s);
	begin = fmax(s->clock, s->tensor);
	walk_unit(s, R_mma, begin, r->unit[R_mma], s->turn, walk_words(s, o));
	walk_unit(s, R_smem, begin, smem, s->turn, walk_words(s, o));
	s->tensor = begin + fmax(r->unit[R_mma], smem);
	s->product = s->tensor + r->latency;
	s->extra = 0;
}

void
walk_products(Sim *s, const Op *o)
{
	int last = s->ngroup - 1 - (int)IMM(o, pending);

	walk_flush(s);
	if (last >= 0)
		walk_until(s, s->group[last], "products");
}
