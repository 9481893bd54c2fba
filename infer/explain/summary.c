/* summary.c - prints the chosen solution in a few lines: each named tile with its layout and the op that
 * required it, each loop with its costs and limiting resource. */
#include "hexc/ir/memory_effects.h"
#include "infer/explain/explain_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Prints "warps 4x1" or similar, for an axis that some dim has. */
static void
axis_words(Text *t, const Layout *l, int axis, const char *what)
{
	int64_t n[DIM_MAX], all = 1;

	for (int d = 0; d < l->ndim; d++) {
		n[d] = 1;
		for (Digit g = dim_digits(l, d); g.it; digit_next(&g))
			if (g.it->axis == axis && (axis != AX_reg || g.it->stride))
				n[d] *= g.it->extent;
		all *= n[d];
	}
	if (all == 1)
		return;
	text_printf(t, ", %s ", what);
	for (int d = 0; d < l->ndim; d++)
		text_printf(t, "%s%lld", d ? "x" : "", (long long)n[d]);
}

/* Prints the names of the instructions that write, or that read, shared tile v, once each. */
static void
movers(Text *t, const Explained *ex, const Val *v, bool write, const char *how)
{
	const char *seen[8];
	int n = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		const char *name = NULL;
		bool known = false;
		SmemAccess a;
		Val *root;

		if (explain_access(o, &root, &a) && root == v && a.write == write)
			name = op_access(o)->inst;
		for (int i = 0; name && i < n; i++)
			known = known || strcmp(seen[i], name) == 0;
		if (!name || known || n == COUNT_OF(seen))
			continue;
		text_printf(t, "%s%s", n ? " and " : how, name);
		seen[n++] = name;
	}
}

static void
shared_words(Text *t, const Explained *ex, const Val *v)
{
	int64_t more = 0;
	OpWalk w;

	text_printf(t, v->type.layout->swizzle.bits ? ", swizzled" : ", row-major");
	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		int64_t waves, least;
		SmemAccess a;
		Val *root;

		if (explain_is_twin(o) || !explain_access(o, &root, &a) || root != v)
			continue;
		access_waves(t->arena, &a, v->type.layout, ex->k->warps, &waves, &least);
		more += waves - least;
	}
	if (more)
		text_printf(t, ", %lld extra wavefronts (bank conflicts)", (long long)more);
	else
		text_printf(t, ", no bank conflicts");
	movers(t, ex, v, true, "; written by ");
	movers(t, ex, v, false, "; read by ");
}

static const char *
tile_line(const Explained *ex, const Val *v)
{
	Text t = { .arena = ex->k->unit->arena };
	const Op *who = explain_origin(ex, v);
	const Layout *l = v->type.layout;
	int other = explain_other_layout(ex, v);

	text_printf(&t, "  %-12s %s", explain_name(v, ex->k), type_print(t.arena, &v->type));
	if (v->type.space == S_shared) {
		shared_words(&t, ex, v);
	} else {
		axis_words(&t, l, AX_warp, "warps");
		axis_words(&t, l, AX_lane, "lanes");
		axis_words(&t, l, AX_reg, "registers");
		for (int i = 0; i < l->nrep; i++)
			text_printf(&t, ", replicated across %lld %s", (long long)l->rep[i].extent,
			            l->rep[i].axis == AX_lane ? "lanes" : "warps");
		if (who && who->src.line)
			text_printf(&t, "; required by %s, line %u", explain_demand(who), who->src.line);
	}
	if (other >= 0)
		text_printf(&t, "; otherwise %+.1f %% (candidate %d)", explain_above(ex, other), other);
	text_printf(&t, "\n");
	return t.s;
}

/* Tiles reported so far. */
typedef struct Told {
	const Val **v;
	int n, cap;
} Told;

static void
short_tile(Text *t, Told *told, const Explained *ex, const Val *v)
{
	if (!v->name || !v->type.layout || v->type.rank == 0)
		return;
	for (int i = 0; i < told->n; i++)
		if (strcmp(told->v[i]->name, v->name) == 0 && type_same(&told->v[i]->type, &v->type) &&
		    layout_equal(told->v[i]->type.layout, v->type.layout))
			return;
	VEC_PUSH(t->arena, told->v, told->n, told->cap, v);
	text_printf(t, "%s", tile_line(ex, v));
}

/* Prints named tiles once each: a loop's argument and its yielded value count as one. */
static void
short_tiles(Text *t, const Explained *ex)
{
	Told told = { 0 };
	OpWalk w;

	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		if (op_is_other_version(o))
			continue;
		for (int i = 0; i < o->nout; i++)
			short_tile(t, &told, ex, o->out[i]);
		for (int b = 0; b < 2; b++)
			for (int i = 0; o->blk[b] && i < o->blk[b]->narg; i++)
				short_tile(t, &told, ex, o->blk[b]->arg[i]);
	}
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* All ops of a block with one instruction, or of one kind. */
typedef struct Group {
	const char *op, *inst; /* inst "": no instruction choice */
	int n;
	double cycles;
} Group;

typedef struct CostGroups {
	Group *group;
	int n, cap;
	double cycles;
	Res sum;
} CostGroups;

static void
share_add(CostGroups *s, const Explained *ex, const Op *o)
{
	const char *inst = o->lowering && lowering_name(o->lowering) ? lowering_name(o->lowering) : "";
	double cycles = explain_cycles(ex, o);
	Group *g = NULL;
	Res r;

	if (cycles <= 0 || o->blk[0])
		return;
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->group[i].op, op_info[o->code].name) == 0 && strcmp(s->group[i].inst, inst) == 0)
			g = &s->group[i];
	if (!g) {
		VEC_PUSH(ex->k->unit->arena, s->group, s->n, s->cap,
		         ((Group){ op_info[o->code].name, inst, 0, 0 }));
		g = &s->group[s->n - 1];
	}
	g->n++;
	g->cycles += cycles;
	s->cycles += cycles;
	if (explain_res(ex, o, &r))
		res_add(&s->sum, &r, 1);
}

static int
by_cycles(const void *x, const void *y)
{
	const Group *a = x, *b = y;

	if (a->cycles != b->cycles)
		return a->cycles < b->cycles ? 1 : -1;
	return strcmp(a->op, b->op) ? strcmp(a->op, b->op) : strcmp(a->inst, b->inst);
}

static int
busiest(const Res *r)
{
	int most = 0;

	for (int i = 1; i < RES_UNITS; i++)
		if (r->unit[i] > r->unit[most])
			most = i;
	return most;
}

/* Prints the groups of a block, most expensive first, and the minor ones combined. */
static void
share_lines(Text *t, CostGroups *s)
{
	enum { SHOWN = 6 };
	int other = 0;
	double rest = 0;

	if (s->n)
		qsort(s->group, (size_t)s->n, sizeof *s->group, by_cycles);
	for (int i = 0; i < s->n; i++) {
		const Group *g = &s->group[i];

		if (i >= SHOWN) {
			other += g->n;
			rest += g->cycles;
			continue;
		}
		text_printf(t, "    %8.0f cycles  %d %s%s%s\n", g->cycles, g->n, g->op,
		            *g->inst ? " by " : "", g->inst);
	}
	if (other)
		text_printf(t, "    %8.0f cycles  %d others\n", rest, other);
}

static void
limit_words(Text *t, const CostGroups *s)
{
	int most = busiest(&s->sum);

	if (s->sum.unit[most] >= 1)
		text_printf(t, ", limited by %s (%.0f)", res_unit[most], s->sum.unit[most]);
	text_printf(t, "\n");
}

/* Adds the ops of `block`, nested ones included except in loops, which follow. */
static void
share_block(CostGroups *s, const Explained *ex, const Block *block)
{
	for (const Op *o = block->first; o; o = o->next) {
		share_add(s, ex, o);
		for (int b = 0; b < 2 && o->code != O_for; b++)
			if (o->blk[b])
				share_block(s, ex, o->blk[b]);
	}
}

static void
loop_lines(Text *t, const Explained *ex, const Op *loop)
{
	const Op *last = loop->blk[0]->last;
	const char *split = explain_split(ex, loop);
	double runs = explain_runs(ex, loop);
	CostGroups s = { 0 };

	share_block(&s, ex, loop->blk[0]);
	if (s.cycles < 1)
		return;
	text_printf(t, "  loop at line %u, %s", loop->src.line,
	            op_is_other_version(loop) ? "fallback version, " : "");
	if (runs > 0)
		text_printf(t, "%.0f iteration%s: ", explain_runs(ex, last) / runs,
		            explain_runs(ex, last) / runs > 1 ? "s" : "");
	text_printf(t, "%.0f cycles", s.cycles);
	limit_words(t, &s);
	if (split)
		text_printf(t, "    %s\n", split);
	share_lines(t, &s);
}

const char *
infer_explain_short(Kernel *k, const Candidates *c)
{
	const Explained e = explained(k, c), *ex = &e;
	Text t = { .arena = k->unit->arena };
	CostGroups outside = { 0 };
	int most;
	OpWalk w;

	if (!ex->sol)
		return "";
	most = busiest(&ex->sol->total);
	text_printf(&t,
	            "kernel %s on %s: %d warps, %.0f cycles/block, limited by %s (%.0f); candidate %d of "
		    "%d\n",
	            k->name, k->unit->target->name, k->warps, ex->sol->cycles, res_unit[most],
	            ex->sol->total.unit[most], k->unit->candidate, c->n);
	short_tiles(&t, ex);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_for && IMM(o, split) != SPLIT_MAIN && IMM(o, split) != SPLIT_PROLOGUE)
			loop_lines(&t, ex, o);
	share_block(&outside, ex, k->body);
	if (outside.cycles >= 1) {
		text_printf(&t, "  outside loops: %.0f cycles", outside.cycles);
		limit_words(&t, &outside);
		share_lines(&t, &outside);
	}
	return t.s;
}
