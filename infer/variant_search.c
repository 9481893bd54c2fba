/* variant_search.c - the outermost loop of the search: tiles whose space is free, numbers of warps, schedules,
 * and ways of products.  Shared memory and registers are both tried, warps that all do the same and warps in
 * roles, also of several teams, products of few rows or columns in each way that infer/skinny_dot_choice.c has for them,
 * and what is found of every choice is ranked in one list.  Where instructions that skip the zeros of sparse
 * tiles, or apply scales, are found, products without them are tried as well.
 *
 * Up to SPACES_FEW tiles in all combinations.  Of more: all shared, all in registers, then the better of
 * these with one tile at a time changed, largest first; a change that pays stays.
 *
 * A tile that the program keeps in registers is tried in shared memory only where all else spills, or is not
 * there for want of registers.
 *
 * Where the program leaves the number of warps open and the best of all that spills, or there is none for
 * want of registers, the same is done with twice as many. */
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "infer/core/cost_constants.h"
#include "infer/search.h"
#include <string.h>

typedef struct TilePlaces {
	const Variants *v;
	Arena *arena;
	bool alone; /* there is one way only */
	bool all; /* tiles that the program keeps in registers may be shared as well */
	Candidates *tried[3 * SPACES_TRIED * WARPS_TRIED * SCHEDULES * THIN_WAYS];
	VariantChoices *spaces[3 * SPACES_TRIED * WARPS_TRIED * SCHEDULES * THIN_WAYS]; /* of each */
	const int *warps; /* the numbers that are tried */
	int nwarps;
	int from; /* the first one that was tried with these */
	int n;
	int best; /* of all that were tried; of those with these */
	int here;
	const Kernel *refused; /* the last one that could not have its schedule; NULL: all could */
	const char *unscheduled; /* why, or why nothing was found for one with roles */
} TilePlaces;

static const VariantChoices *
spaces_of(const Candidates *c)
{
	return c->solve->spaces;
}

static VariantChoices *
spaces_new(const TilePlaces *p, const Variant *x)
{
	SpaceChoice *tile = NEWN(p->arena, SpaceChoice, p->v->n);
	VariantChoices *s = NEW(p->arena, VariantChoices);

	for (int t = 0; t < p->v->n; t++) {
		tile[t] = p->v->tile[t];
		tile[t].registers = x->registers[t];
	}
	*s = (VariantChoices){
		.tile = tile,
		.n = p->v->n,
		.dense = x->dense,
		.thin = x->thin,
		.warps = p->nwarps > 1 || p->from ? x->warps : 0,
		.rows = p->v->nwarps > 1,
		.schedule = x->schedule,
		.schedules = p->v->nschedule > 1,
	};
	return s;
}

/* What is found of k, which was made so. */
static void
add(TilePlaces *p, const Variant *x, Kernel *k)
{
	VariantChoices *s = p->spaces[p->n] = spaces_new(p, x);
	Candidates *c = search_kernel(k, s, p->n ? p->tried[p->n - 1] : NULL);

	p->tried[p->n] = c;
	if (p->n == 0 || cands_before(c, p->tried[p->best]))
		p->best = p->n;
	if (p->n == p->from || cands_before(c, p->tried[p->here]))
		p->here = p->n;
	p->n++;
	if (schedule_has_roles(x->schedule) && c->n == 0)
		p->unscheduled = c->failure.text;
}

/* Has it products that skip the zeros of sparse tiles, or apply scales? */
static bool
has_parts(const Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot && (dot_is_sparse(o) || dot_is_scaled(o)))
			return true;
	return false;
}

/* Is a tile to be in shared memory?  Sums read what memory brings a lane: to them that is like registers. */
static bool
has_shared(const Variants *v, const bool *registers)
{
	for (int t = 0; t < v->n; t++)
		if (!registers[t])
			return true;
	return false;
}

/* With each number of warps, and products that are thin in each way, roles only for those that are as they
 * are; a schedule that the kernel cannot have is left at once.  False: an error. */
static bool
try_schedule(TilePlaces *p, const bool *registers, Schedule schedule)
{
	int ways = p->v->thin && !schedule_has_roles(schedule) ? THIN_WAYS : 1;

	for (int i = 0; i < p->nwarps * ways; i++) {
		Variant x = { registers, false, (SkinnyDotKind)(i % ways), p->warps[i / ways], schedule };
		bool again = !(x.thin == THIN_SUMS && p->v->all_thin && has_shared(p->v, registers));

		for (int dense = 0; dense < 2 && again; dense++) {
			Kernel *k;

			x.dense = dense;
			k = p->v->make(p->v->user, &x, p->alone);
			if (!k)
				return false;
			if (schedule_has_roles(schedule) && p->v->nschedule > 1 && !k->unscheduled)
				k->unscheduled = schedule_loses(k);
			if (k->unscheduled) {
				p->refused = k;
				if (schedule != SCHEDULE_TEAMS || !p->unscheduled)
					p->unscheduled = k->unscheduled;
				return true;
			}
			again = has_parts(k);
			add(p, &x, k);
		}
	}
	return true;
}

static bool
has_kept(const Variants *v)
{
	for (int t = 0; t < v->n; t++)
		if (v->tile[t].kept)
			return true;
	return false;
}

/* Has a tile to be in registers, so far? */
static bool
stays(const TilePlaces *p, int t)
{
	return p->v->tile[t].kept && !p->all;
}

static bool
may_try(const TilePlaces *p, const bool *registers)
{
	for (int t = 0; t < p->v->n; t++)
		if (stays(p, t) && !registers[t])
			return false;
	return true;
}

static bool
try(TilePlaces *p, const bool *registers)
{
	for (int i = 0; i < p->v->nschedule; i++)
		if (!try_schedule(p, registers, p->v->schedule[i]))
			return false;
	return true;
}

static void
places_of(const VariantChoices *s, bool *registers)
{
	for (int t = 0; t < s->n; t++)
		registers[t] = s->tile[t].registers;
}

/* The largest tile that has not been changed yet. */
static int
next_tile(const Variants *v, const bool *changed)
{
	int tile = -1;

	for (int t = 0; t < v->n; t++)
		if (!changed[t] && (tile < 0 || v->tile[t].bytes > v->tile[tile].bytes))
			tile = t;
	return tile;
}

static bool
was_tried(const TilePlaces *p, const bool *registers)
{
	for (int i = p->from; i < p->n; i++) {
		bool same = true;

		for (int t = 0; t < p->v->n; t++)
			same = same && spaces_of(p->tried[i])->tile[t].registers == registers[t];
		if (same)
			return true;
	}
	return false;
}

static bool
try_all(TilePlaces *p, bool *registers)
{
	int n = p->v->n;

	for (int c = 0; c < 1 << n; c++) {
		for (int t = 0; t < n; t++)
			registers[t] = c >> t & 1;
		if (may_try(p, registers) && !was_tried(p, registers) && !try(p, registers))
			return false;
	}
	return true;
}

static bool
try_some(TilePlaces *p, bool *registers)
{
	int n = p->v->n, tile;
	bool *changed = NEWN(p->arena, bool, n);

	for (int t = 0; t < n; t++)
		changed[t] = registers[t] = stays(p, t);
	if (!was_tried(p, registers) && !try(p, registers))
		return false;
	memset(registers, true, (size_t)n * sizeof *registers);
	if (!was_tried(p, registers) && !try(p, registers))
		return false;
	while (p->n > p->from && p->n - p->from < SPACES_TRIED * p->v->nschedule &&
	       (tile = next_tile(p->v, changed)) >= 0) {
		places_of(spaces_of(p->tried[p->here]), registers);
		registers[tile] = !registers[tile];
		changed[tile] = true;
		if (!was_tried(p, registers) && !try(p, registers))
			return false;
	}
	return true;
}

/* Registers that a lane of the best one needs, if that is more than it has; of none the nearest. */
static int64_t
needed(const TilePlaces *p)
{
	const LayoutSolution *best = cands_best(p->tried[p->best]);

	if (best)
		return best->spills ? best->registers : 0;
	return p->tried[p->best]->n ? 0 : p->tried[p->best]->failure.excess;
}

/* Tiles that the program keeps in registers are read from shared memory where there is no other way. */
static bool
try_spaces(TilePlaces *p, bool *registers)
{
	bool (*const way)(TilePlaces *, bool *) = p->v->n <= SPACES_FEW ? try_all : try_some;

	p->all = false;
	if (!way(p, registers))
		return false;
	p->all = has_kept(p->v) && p->n > 0 && needed(p) > 0;
	return !p->all || way(p, registers);
}

/* Those found before say of how many warps they are. */
static void
say_warps(TilePlaces *p)
{
	for (int i = 0; i < p->n; i++) {
		Candidates *c = p->tried[i];

		if (p->spaces[i]->warps)
			continue;
		p->spaces[i]->warps = c->k->warps;
		for (int j = 0; j < c->n; j++)
			c->sol[j]->what =
				arena_printf(p->arena, "%d warps; %s", c->k->warps, c->sol[j]->what);
	}
}

static bool
try_more_warps(TilePlaces *p, bool *registers)
{
	int warps = 0, *more;

	for (int i = 0; i < p->nwarps; i++)
		if (p->warps[i] > warps)
			warps = p->warps[i];
	for (int i = p->nwarps; p->v->grows && i < WARPS_TRIED && p->n > 0 && needed(p) > 0; i++) {
		warps = warps_more(p->tried[0]->k, warps, needed(p));
		if (!warps)
			break;
		more = NEWN(p->arena, int, 1);
		*more = warps;
		p->warps = more;
		p->nwarps = 1;
		p->from = p->n;
		if (!try_spaces(p, registers))
			return false;
		say_warps(p);
	}
	return true;
}

/* What was done silently, once more for those who want to see it. */
static bool
show(const TilePlaces *p, const VariantChoices *s, bool *registers)
{
	Variant x = { registers, s->dense, s->thin, s->warps ? s->warps : p->v->warps[0], s->schedule };

	places_of(s, registers);
	return p->v->make(p->v->user, &x, true) != NULL;
}

/* None of the schedules can be had: one was asked for. */
static void
no_schedule(const TilePlaces *p)
{
	const Kernel *k = p->refused;

	diag_class_error(k->unit->diag, DC_SOURCE, k->src, "kernel %s cannot have the schedule %s: %s",
	                 k->name, schedule_name[k->schedule], p->unscheduled);
}

Candidates *
space_search(Unit *u, const Variants *v)
{
	TilePlaces p = { .v = v, .arena = u->arena, .warps = v->warps, .nwarps = v->nwarps };
	bool *registers = NEWN(u->arena, bool, v->n);
	Candidates *c;

	p.alone = v->n == 0 && !v->parts && !v->thin && v->nwarps == 1 && !v->grows &&
	          v->nschedule == 1;
	if (!try_spaces(&p, registers) || !try_more_warps(&p, registers))
		return NULL;
	if (p.n == 0) {
		no_schedule(&p);
		return NULL;
	}
	c = cands_join(p.tried, p.n);
	if (c)
		c->unscheduled = p.unscheduled;
	if (c && !p.alone && v->show && !show(&p, spaces_of(c), registers))
		return NULL;
	return c;
}
