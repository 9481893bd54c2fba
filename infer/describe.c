/* describe.c - prints the differences between solutions of a kernel for users: instructions of dots,
 * instructions of each memory access, swizzles of shared tiles. */
#include "infer/search.h"
#include <string.h>

static bool
is_access(const Op *o)
{
	return o->code == O_load || o->code == O_store || o->code == O_copy;
}

static Val *
memory_of(const Op *o)
{
	return view_root(o->code == O_load ? load_source(o) : write_dest(o));
}

void
find_told(Solve *s)
{
	/* by id of memory, a bit per kind of access: prologues repeat the loop's accesses */
	uint8_t *seen = NEWN(s->arena, uint8_t, s->k->nval + 1);

	s->listed = NEWN(s->arena, Op *, s->norder + 1);
	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];
		uint8_t kind = o->code == O_load ? 1 : o->code == O_store ? 2 : 4, *had;

		if (!is_access(o) || *(had = &seen[memory_of(o)->id]) & kind)
			continue;
		*had |= kind;
		s->listed[s->nlisted++] = o;
	}
}

/* Returns the conversion of what o loads or stores; NULL: none. */
static const Lowering *
converted_by(const LayoutSolution *sol, const Op *o)
{
	if (o->code == O_load)
		return sol->mconv[o->id][0];
	return o->code == O_store ? sol->conv[o->id][0] : NULL;
}

static Swizzle
swizzle_of(const LayoutSolution *sol, const Op *alloc)
{
	const Layout *l = sol->val[alloc->out[0]->id];

	return l ? l->swizzle : (Swizzle){ 0, 0, 0 };
}

/* ---- comparison ----------------------------------------------------------------------------------- */

static bool
same_dot(const DotChoice *a, const DotChoice *b)
{
	return a->inst == b->inst && a->n == b->n && a->swap == b->swap && a->wm == b->wm && a->wn == b->wn &&
	       a->wb == b->wb && a->batch_lanes == b->batch_lanes &&
	       a->run == b->run && a->mix[0] == b->mix[0] && a->mix[1] == b->mix[1];
}

static bool
same_name(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool
same_instructions(const Lowering *a, const Lowering *b)
{
	if (a == b)
		return true;
	return a && b && a->kind == b->kind && same_name(lowering_name(a), lowering_name(b)) &&
	       (!lowering_is_staged(a) || (same_name(a->staged.write.inst, b->staged.write.inst) &&
	                                   same_name(a->staged.read.inst, b->staged.read.inst)));
}

static bool
same_swizzle(Swizzle a, Swizzle b)
{
	return (!a.bits && !b.bits) || (a.bits == b.bits && a.base == b.base && a.shift == b.shift);
}

bool
same_choices(const Solve *s, const LayoutSolution *a, const LayoutSolution *b)
{
	if (a->rotate != b->rotate || memcmp(a->cluster, b->cluster, sizeof a->cluster) != 0)
		return false;
	for (int i = 0; i < s->ndot; i++)
		if (!same_dot(a->plan.dot[i], b->plan.dot[i]))
			return false;
	for (int i = 0; i < s->nlisted; i++) {
		const Op *o = s->listed[i];

		if (!same_instructions(a->lowering[o->id], b->lowering[o->id]) ||
		    (a->lowering[o->id] && !same_instructions(converted_by(a, o), converted_by(b, o))))
			return false;
	}
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_alloc &&
		    !same_swizzle(swizzle_of(a, s->order[i]), swizzle_of(b, s->order[i])))
			return false;
	return true;
}

/* ---- description ------------------------------------------------------------------------------------ */

static const char *
name_of(const char *name)
{
	return name ? name : "tile";
}

/* "roles 4+8 warps": producer warps and consumer warps of each consumer group. */
static void
schedule_words(Text *t, const Kernel *k)
{
	text_printf(t, "%s%s", t->n ? "; " : "", schedule_name[k->schedule]);
	if (schedule_has_roles(k->schedule) && k->teams > 1)
		text_printf(t, " %d+%dx%d warps", k->producer_warps, k->teams, k->warps);
	else if (schedule_has_roles(k->schedule))
		text_printf(t, " %d+%d warps", k->producer_warps, k->warps);
}

static void
space_words(Text *t, const VariantChoices *s)
{
	for (int i = 0; i < s->n; i++)
		text_printf(t, "%s%s %s", i ? ", " : t->n ? "; " : "", name_of(s->tile[i].name),
		            s->tile[i].registers ? "registers" : "shared");
}

static const char *const thin_words[THIN_WAYS] = {
	[THIN_AS_IS] = "",
	[THIN_PADDED] = "skinny dots: padded MMA",
	[THIN_SUMS] = "skinny dots: multiply-reduce",
};

static void
dot_words(Text *t, const DotChoice *c, const char *sep)
{
	text_printf(t, "%s%s", sep, c->inst->name);
	if (c->n)
		text_printf(t, " n %d", c->n);
	text_printf(t, "%s %s ", c->swap ? " swapped" : "", c->n ? "warpgroups" : "warps");
	if (c->wb > 1)
		text_printf(t, "%dx", c->wb);
	text_printf(t, "%dx%d", c->wm, c->wn);
	if (c->order)
		text_printf(t, " k by %lld", (long long)c->run);
	for (int side = 0; side < 2; side++)
		if (c->side[side])
			text_printf(t, " %c by %lld", "mn"[side], (long long)c->mix[side]);
}

/* Prints a conversion, with the instructions that write and read its staging tile. */
static void
conversion_words(Text *t, const char *how, const Lowering *p)
{
	const char *write, *read;

	text_printf(t, "%s%s", how, lowering_name(p));
	if (!lowering_is_staged(p))
		return;
	write = p->staged.write.inst;
	read = p->staged.read.inst;
	if (write || read)
		text_printf(t, " (%s%s%s)", write ? write : "", write && read ? ", " : "", read ? read : "");
}

static void
access_words(Text *t, const LayoutSolution *sol, const Op *o)
{
	const Lowering *p = sol->lowering[o->id], *conv = converted_by(sol, o);

	if (!p)
		return;
	text_printf(t, "%s%s%s %s", t->n ? "; " : "", o->code == O_load ? "" : "to ",
	            name_of(memory_of(o)->name), lowering_name(p) ? lowering_name(p) : "-");
	if (conv)
		conversion_words(t, o->code == O_load ? "+" : " via ", conv);
}

const char *
solution_describe(const Solve *s, const LayoutSolution *sol)
{
	Text t = { .arena = s->arena };

	text_printf(&t, "%s", "");
	if (s->spaces->warps)
		text_printf(&t, "%d warps", s->spaces->warps);
	if (s->spaces->schedules)
		schedule_words(&t, s->k);
	space_words(&t, s->spaces);
	if (s->spaces->thin)
		text_printf(&t, "%s%s", t.n ? "; " : "", thin_words[s->spaces->thin]);
	for (int i = 0; i < s->ndot; i++)
		dot_words(&t, sol->plan.dot[i], i ? ", " : t.n ? "; " : "");
	if (sol->rotate)
		text_printf(&t, ", fragment prefetch");
	if (sol->cluster[0])
		text_printf(&t, "; cluster %dx%dx%d", sol->cluster[0], sol->cluster[1], sol->cluster[2]);
	for (int i = 0; i < s->nlisted; i++)
		access_words(&t, sol, s->listed[i]);
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];

		if (o->code == O_alloc && swizzle_of(sol, o).bits) {
			Swizzle w = swizzle_of(sol, o);
			text_printf(&t, "; %s swizzle<%d,%d,%d>", name_of(o->out[0]->name), w.bits, w.base,
			            w.shift);
		}
	}
	return t.s;
}

/* ---- trace of the search, for --trace-search --------------------------------------------------- */

/* Prints "m16n8k16 2x2": the instruction and the warps along m and n. */
static void
put_dot(Text *t, const DotChoice *c)
{
	text_printf(t, " %s %dx%d", c->inst->name, c->wm, c->wn);
	if (c->wb > 1)
		text_printf(t, "x%d", c->wb);
	text_printf(t, "%s", c->swap ? " swapped" : "");
	if (c->run)
		text_printf(t, " run %lld", (long long)c->run);
	if (c->mix[0] > 1 || c->mix[1] > 1)
		text_printf(t, " mix %lldx%lld", (long long)c->mix[0], (long long)c->mix[1]);
}

static void
put_plan(Text *t, const Solve *s, const SearchPlan *p)
{
	static const char *const store[STORE_WAYS] = { "", ", stores coalesced", ", stores exchanged" };

	for (int i = 0; i < s->ndot; i++) {
		text_printf(t, i ? "," : " dots");
		put_dot(t, p->dot[i]);
	}
	text_printf(t, "%s%s%s%s%s", store[p->store], p->load == LOAD_COALESCED ? ", loads coalesced" : "",
	            p->line == LINE_AS_IS ? ", lines unchanged" : "",
	            p->widen == NARROW_WORDS ? ", narrow loads in 32-bit words" : "",
	            p->warp_major == WARPS_OUTER ? ", warps over outer dims" : "");
	if (p->turned)
		text_printf(t, ", narrow tiles along dim %d", p->turned);
}

void
trace_plan(Solve *s, const SearchPlan *p, int n, const LayoutSolution *sol, int added)
{
	const Unit *u = s->k->unit;
	Text t = { s->arena, NULL, 0, 0 };

	if (!u->trace)
		return;
	text_printf(&t, "%s, %d warps, %s, plan %d:", s->k->name, s->k->warps,
	            schedule_name[s->k->schedule], n);
	put_plan(&t, s, p);
	if (!sol)
		text_printf(&t, ": fails at stage %d: %s", s->failure.stage, s->failure.text);
	else
		text_printf(&t, ": %.0f cycles, %d registers%s, %lld bytes shared%s", sol->cycles, sol->lane,
		            sol->spills ? " (spills)" : "", (long long)sol->smem,
		            added ? "" : "; dominated: the same choices and cycles are in the list");
	u->trace(u->trace_user, t.s);
}
