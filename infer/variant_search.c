/* variant_search.c - compiles and searches every kernel variant, and ranks all solutions in one list: the
 * outermost loop of the search.
 *
 * Variants differ in the memory space of tiles that may be in registers or shared memory, in the number of
 * warps, in the schedule (multistage, warp-specialized, pingpong), and in the lowering of skinny dots
 * (infer/skinny_dot_choice.c).  If dots use sparsity or block scales, a variant with dense dots is tried as
 * well.
 *
 * Up to SPACES_FEW tiles are tried in all combinations of spaces.  With more tiles the search tries all in
 * shared memory, all in registers, and then flips one tile at a time in the better of these, largest first; a
 * flip that pays is kept.
 *
 * A tile that the program pins in registers is tried in shared memory only if everything else spills, or has
 * no solution for lack of registers.
 *
 * If the program leaves the number of warps unspecified, and the best solution spills or none exists for lack
 * of registers, all of this is repeated with twice as many warps. */
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "infer/core/cost_constants.h"
#include "infer/search.h"
#include <string.h>

typedef struct TilePlaces {
	const Variants *v;
	Arena *arena;
	bool alone; /* there is only one variant */
	bool all; /* tiles that the program pins in registers may be shared too */
	Candidates *tried[3 * SPACES_TRIED * WARPS_TRIED * SCHEDULES * THIN_WAYS];
	/* [n] choices of each */
	VariantChoices *spaces[3 * SPACES_TRIED * WARPS_TRIED * SCHEDULES * THIN_WAYS];
	const int *warps; /* the numbers of warps to try */
	int nwarps;
	int from; /* the first variant tried with these */
	int n;
	int best; /* `best` of all variants; `here` of those with these warps */
	int here;
	const Kernel *refused; /* the last kernel that could not have its schedule; NULL: all could */
	const char *unscheduled; /* reason for that, or why a warp-specialized variant has no solution */
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

/* Searches k, compiled as variant x, and adds the result. */
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

/* Does k have sparse or scaled dots? */
static bool
has_parts(const Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot && (dot_is_sparse(o) || dot_is_scaled(o)))
			return true;
	return false;
}

/* Is any tile in shared memory?  Multiply-reduce lowering reads what each lane loads itself, so shared memory
 * is like registers to it. */
static bool
has_shared(const Variants *v, const bool *registers)
{
	for (int t = 0; t < v->n; t++)
		if (!registers[t])
			return true;
	return false;
}

/* Tries a schedule with each number of warps and each lowering of skinny dots; with roles, only the default
 * lowering.  Stops at once if the kernel cannot have the schedule.  Returns false on an error. */
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

/* Must tile t be in registers so far? */
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

/* Returns the largest tile not changed yet; -1: none. */
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

/* Returns the registers per thread that the best solution needs, if it exceeds the limit, else 0; without a
 * solution, those of the nearest failure. */
static int64_t
needed(const TilePlaces *p)
{
	const LayoutSolution *best = cands_best(p->tried[p->best]);

	if (best)
		return best->spills ? best->registers : 0;
	return p->tried[p->best]->n ? 0 : p->tried[p->best]->failure.excess;
}

/* Tiles that the program pins in registers are tried in shared memory only if nothing else fits. */
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

/* Adds the number of warps to the descriptions of the solutions found before. */
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

/* Compiles the selected variant once more, with the dumps that the user requested. */
static bool
show(const TilePlaces *p, const VariantChoices *s, bool *registers)
{
	Variant x = { registers, s->dense, s->thin, s->warps ? s->warps : p->v->warps[0], s->schedule };

	places_of(s, registers);
	return p->v->make(p->v->user, &x, true) != NULL;
}

/* Reports that none of the requested schedules is possible. */
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
