/* explain.c - prints the chosen solution as text: each tile's layout and the op that required it, each op's
 * instruction, the alternatives and their predicted cost. */
#include "hexc/ir/pack.h"
#include "infer/explain/timeline.h"

/* Prints "8 lanes, 2 registers, 2 warps", fastest mode first. */
static void
dim_words(Text *t, const Layout *l, int d)
{
	const char *sep = "";

	for (Digit g = dim_digits(l, d); g.it; digit_next(&g)) {
		const Iter *it = g.it;
		const char *what = it->axis == AX_lane   ? "lanes"
		                   : it->axis == AX_warp ? "warps"
		                   : it->axis == AX_reg  ? (it->stride ? "registers" : "from one register")
		                                         : "elements";
		text_printf(t, "%s%lld %s", sep, (long long)it->extent, what);
		if (it->axis == AX_lane && it->stride > 1)
			text_printf(t, " (stride %lld)", (long long)it->stride);
		if (it->axis == AX_mem)
			text_printf(t, " (stride %lld)", (long long)it->stride);
		sep = ", ";
	}
	if (!*sep)
		text_printf(t, "1");
}

static void
layout_words(Text *t, const Layout *l)
{
	for (int d = 0; d < l->ndim; d++) {
		text_printf(t, "\n      dim %d: ", d);
		dim_words(t, l, d);
	}
	for (int i = 0; i < l->nrep; i++)
		text_printf(t, "\n      replicated across %lld %s", (long long)l->rep[i].extent,
		            l->rep[i].axis == AX_lane ? "lanes" : "warps");
	if (l->swizzle.bits)
		text_printf(t, "\n      swizzle: %d address bits from bit %d, xored with those %d above",
		            l->swizzle.bits, l->swizzle.base, l->swizzle.shift);
}

static void
tile_lines(Text *t, const Explained *ex, const Val *v)
{
	Arena *a = ex->k->unit->arena;
	const Op *who = explain_origin(ex, v);
	int other = explain_other_layout(ex, v), n = 0;
	const char **access = NULL;

	if (!v->type.layout || v->type.rank == 0)
		return;
	text_printf(t, "  %s  %s\n    %s", type_print(a, &v->type), explain_name(v, ex->k),
	            layout_print(a, v->type.layout));
	layout_words(t, v->type.layout);
	if (who && who->src.line)
		text_printf(t, "\n      required by %s, line %u", explain_demand(who), who->src.line);
	if (other >= 0)
		text_printf(t, "\n      alternative %s (candidate %d, %+.1f %%)",
		            layout_print(a, ex->candidates->sol[other]->val[v->id]), other,
		            explain_above(ex, other));
	if (v->def && v->def->code == O_alloc)
		access = explain_accesses(ex, v, &n);
	for (int i = 0; i < n; i++)
		text_printf(t, "\n      %s", access[i]);
	text_printf(t, "\n");
}

/* Prints the layouts of packed tensors, and the ops that required them. */
static void
pack_lines(Text *t, const Explained *ex)
{
	const char *head = "\npacks\n";

	for (int i = 0; i < ex->k->nparam; i++) {
		const Param *p = &ex->k->param[i];
		const Op *who;

		if (!p->pack || !p->pack->layout)
			continue;
		who = explain_pack_origin(ex, p);
		text_printf(t, "%s  %s  %s", head, p->name, pack_text(t->arena, p->pack));
		if (who && who->src.line)
			text_printf(t, "\n      required by %s, line %u", explain_demand(who), who->src.line);
		text_printf(t, "\n");
		head = "";
	}
}

/* Prints the memory space of tiles for which the program does not specify it. */
static void
space_lines(Text *t, const Explained *ex)
{
	for (int i = 0; i < ex->sol->spaces->n; i++) {
		const SpaceChoice *p = &ex->sol->spaces->tile[i];
		int other = explain_other_space(ex, i);

		text_printf(t, "%s  %s, line %u: %s", i ? "" : "\nplaces\n", p->name ? p->name : "tile",
		            p->src.line, p->registers ? "registers" : "shared");
		if (other >= 0)
			text_printf(t, "; alternative %s (candidate %d, %+.1f %%)",
			            p->registers ? "shared" : "registers", other, explain_above(ex, other));
		text_printf(t, "\n");
	}
}

/* Prints how dots of sparse or scaled tiles are lowered, if there is a choice. */
static void
parts_line(Text *t, const Explained *ex)
{
	static const char *const zeros[] = { "skipped", "multiplied" };
	static const char *const scales[] = { "by products", "before" };
	bool dense = ex->sol->spaces->dense;
	int other = explain_other_parts(ex);

	if (other < 0)
		return;
	if (!explain_is_scaled(ex))
		text_printf(t, "\nsparse\n  zeros %s; alternative %s (candidate %d, %+.1f "
			       "%%)\n", zeros[dense],
		            zeros[!dense], other, explain_above(ex, other));
	else
		text_printf(t, "\nscales\n  applied %s; alternative %s (candidate %d, %+.1f "
			       "%%)\n", scales[dense],
		            scales[!dense], other, explain_above(ex, other));
}

/* Prints the number of warps, if the program leaves it unspecified. */
static void
warps_line(Text *t, const Explained *ex)
{
	int other = explain_other_warps(ex);

	if (other >= 0)
		text_printf(t, "\nwarps\n  chosen %d; alternative %d (candidate %d, %+.1f %%)\n",
		            ex->sol->spaces->warps, ex->candidates->sol[other]->spaces->warps, other,
		            explain_above(ex, other));
}

/* Prints the schedule of the warps, if there was a choice. */
static void
schedule_line(Text *t, const Explained *ex)
{
	const char *why = explain_unscheduled(ex);
	Schedule taken = ex->sol->spaces->schedule;
	int other = explain_other_schedule(ex);

	if (other >= 0)
		text_printf(t, "\nschedule\n  %s; alternative %s (candidate %d, %+.1f "
			       "%%)\n", schedule_name[taken],
		            schedule_name[ex->candidates->sol[other]->spaces->schedule], other,
		            explain_above(ex, other));
	else if (why)
		text_printf(t, "\nschedule\n  %s; no %s: %s\n", schedule_name[taken],
		            schedule_name[SCHEDULE_WARP_SPECIALIZED], why);
}

/* Reports that tcgen05 is not used. */
static void
tcgen05_line(Text *t, const Kernel *k)
{
	const Target *target = k->unit->target;
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o && target->features & T_TCGEN05; o = walk_next(&w))
		if (o->code == O_dot) {
			text_printf(t,
			            "\nproducts\n  uses mma.sync; hexc does not yet generate tcgen05, the "
				    "faster MMA of %s\n",
			            target->name);
			return;
		}
}

/* Prints what an assumption would improve for o. */
static void
wish_words(Text *t, const Explained *ex, const Op *o)
{
	const char *what = explain_assumption(ex->k, o);

	if (what)
		text_printf(t, "; `assume %s` would %s it", what, o->code == O_mask ? "remove" : "widen");
}

/* Prints an op without an instruction choice. */
static void
arithmetic_line(Text *t, const Explained *ex, const Op *o)
{
	const char *name = o->nout ? explain_name(o->out[0], ex->k) : "";
	double cycles = explain_cycles(ex, o);

	if (cycles < 1)
		return;
	text_printf(t, "  line %-4u %-10s %-22s %s", o->src.line, op_info[o->code].name, "", name);
	wish_words(t, ex, o);
	text_printf(t, ", %.0f cycles\n", cycles);
}

/* Prints the location of a staging tile, and the cost of both sides. */
static void
staging_words(Text *t, const Explained *ex, const Op *o)
{
	Arena *a = ex->k->unit->arena;
	const Staging *tile = &o->lowering->staged;
	SmemAccess side[2];
	int64_t waves[2], least[2];

	if (tile->write.inst)
		text_printf(t, ", written by %s", tile->write.inst);
	if (tile->read.inst)
		text_printf(t, ", read by %s", tile->read.inst);
	text_printf(t, ", %d elements per read, %lld bytes of "
		       "scratch", tile->read.vec, (long long)tile->bytes);
	if (!explain_staging(o, side))
		return;
	for (int i = 0; i < 2; i++)
		access_waves(a, &side[i], tile->tile, ex->k->warps, &waves[i], &least[i]);
	text_printf(t, ", through shared memory as %s: %lld wavefronts (minimum %lld)",
	            layout_print(a, tile->tile), (long long)(waves[0] + waves[1]),
	            (long long)(least[0] + least[1]));
}

/* Prints the task mapping: which thread moves which elements, in which order. */
static void
mapping_line(Text *t, const Op *o)
{
	const Layout *l = op_access(o)->map;
	const char *text;

	if (!l && o->code == O_load)
		l = o->out[0]->type.layout;
	if (!l && o->code == O_store)
		l = store_value(o)->type.layout;
	if (!l || (o->code != O_copy && o->code != O_load && o->code != O_store))
		return;
	text = mapping_print(t->arena, l);
	if (text)
		text_printf(t, "            task mapping %s\n", text);
}

static void
op_line(Text *t, const Explained *ex, const Op *o)
{
	const Lowering *p = o->lowering;
	const Val *what = o->nout ? o->out[0] : o->nin ? o->in[0]
	                                               : NULL;
	int other = explain_other_lowering(ex, o), vec = p ? lowering_vec(p) : 0;

	if (!p || !lowering_name(p)) {
		arithmetic_line(t, ex, o);
		return;
	}
	text_printf(t, "  line %-4u %-10s %-22s", o->src.line, op_info[o->code].name, lowering_name(p));
	if (o->code == O_copy)
		what = view_root(copy_dest(o));
	if (o->code == O_load)
		what = view_root(load_source(o));
	if (what)
		text_printf(t, " %s", explain_name(what, ex->k));
	if (p->kind == LW_access && p->access.tensor_map)
		text_printf(t, ", boxes of %s", explain_box(ex->k, p));
	else if (vec)
		text_printf(t, ", %d element%s per access", vec, vec > 1 ? "s" : "");
	wish_words(t, ex, o);
	if (lowering_is_staged(p))
		staging_words(t, ex, o);
	if (explain_cycles(ex, o) > 0)
		text_printf(t, ", %.0f cycles", explain_cycles(ex, o));
	if (other >= 0)
		text_printf(t, "; alternative %s (candidate %d, %+.1f %%)",
		            lowering_name(ex->candidates->sol[other]->lowering[o->id]), other,
		            explain_above(ex, other));
	text_printf(t, "\n");
	mapping_line(t, o);
}

/* Prints the predicted cycles of a block by unit. */
static void
unit_lines(Text *t, const LayoutSolution *sol)
{
	const char *sep = "\n  ";

	for (int i = 0; i < RES_UNITS; i++)
		if (sol->total.unit[i] >= 1) {
			text_printf(t, "%s%s %.0f", sep, res_unit[i], sol->total.unit[i]);
			sep = ", ";
		}
	text_printf(t, "\n  one resident block %.0f; occupancy %d block%s/SM at %d "
		       "registers/thread\n", sol->alone,
	            sol->blocks, sol->blocks > 1 ? "s" : "", sol->lane);
}

/* Prints the raster order of blocks. */
static void
order_line(Text *t, const Kernel *k)
{
	const GridOrder *o = &k->order;

	if (o->group && o->fast >= GRID_OTHERS)
		text_printf(t,
		            "  raster order: blocks with the most work first, from the %s of %c, in groups "
		            "of %lld blocks of the other dimensions\n",
		            o->fast == GRID_OTHERS_DOWN ? "end" : "start", "xyz"[o->slow],
		            (long long)o->group);
	else if (o->group)
		text_printf(t, "  raster order: groups of %lld blocks along %c, all of %c within a group\n",
		            (long long)o->group, "xyz"[o->fast], "xyz"[o->slow]);
}

/* Prints the loops that pass split_loops split, and why others are not split. */
static void
split_lines(Text *t, const Explained *ex)
{
	const char *head = "\nloops\n";
	OpWalk w;

	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		const char *split = o->code == O_for ? explain_split(ex, o) : NULL;

		if (!split)
			continue;
		text_printf(t, "%s  line %u, %s%s\n", head, o->src.line,
		            op_is_other_version(o) ? "fallback version, " : "", split);
		head = "";
	}
}

/* Prints the cost of the other solutions, among them the next-best one of every choice. */
static void
others(Text *t, const Candidates *c, int chosen)
{
	text_printf(t, "\ncandidates, by predicted cycles (* chosen)\n");
	for (int i = 0; i < c->n; i++)
		text_printf(t, "%s %2d  %10.0f cycles  %+5.1f %%  %s\n", i == chosen ? "*" : " ", i,
		            c->sol[i]->cycles,
		            100 * (c->sol[i]->cycles / c->sol[chosen]->cycles - 1), c->sol[i]->what);
}

const char *
infer_explain(Kernel *k, const Candidates *c)
{
	const Explained e = explained(k, c), *ex = &e;
	Text t = { .arena = k->unit->arena };
	OpWalk w;

	if (!ex->sol)
		return "";
	text_printf(&t,
	            "kernel %s on %s: %d warps, %.0f predicted cycles/block, %llu search steps",
	            k->name, k->unit->target->name, k->warps, ex->sol->cycles,
	            (unsigned long long)c->steps);
	unit_lines(&t, ex->sol);
	order_line(&t, k);
	text_printf(&t, "\ntiles\n");
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		for (int i = 0; i < o->nout; i++)
			tile_lines(&t, ex, o->out[i]);
		for (int b = 0; b < 2; b++)
			for (int i = 0; o->blk[b] && i < o->blk[b]->narg; i++)
				tile_lines(&t, ex, o->blk[b]->arg[i]);
	}
	schedule_line(&t, ex);
	tcgen05_line(&t, k);
	warps_line(&t, ex);
	space_lines(&t, ex);
	parts_line(&t, ex);
	pack_lines(&t, ex);
	text_printf(&t, "\ninstructions\n");
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		op_line(&t, ex, o);
	split_lines(&t, ex);
	if (timeline(ex))
		timeline_text(&t, timeline(ex));
	others(&t, c, k->unit->candidate);
	return t.s;
}
