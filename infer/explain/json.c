/* json.c - prints the chosen solution as one JSON object; hexc.1 lists its fields. */
#include "hexc/ir/ir.h"
#include "hexc/ir/pack.h"
#include "infer/explain/timeline.h"
#include "taskmap/support/json_writer.h"

static void
put_src(Text *t, Src src)
{
	if (!src.line)
		return;
	json_number(t, "line", src.line);
	json_number(t, "column", src.col);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void
put_layout(Text *t, const Explained *ex, const char *name, const Layout *l)
{
	if (l)
		json_text(t, name, layout_print(ex->k->unit->arena, l));
}

static void
put_demand(Text *t, const Op *who)
{
	if (!who)
		return;
	json_open(t, "demanded_by", "{");
	json_text(t, "op", who->code == O_pin ? "pin" : op_info[who->code].name);
	put_src(t, who->src);
	text_add(t, "}", 1);
}

static void
put_other_layout(Text *t, const Explained *ex, const Val *v)
{
	int other = explain_other_layout(ex, v);

	if (other < 0)
		return;
	json_open(t, "runner_up", "{");
	json_number(t, "candidate", other);
	put_layout(t, ex, "layout", ex->candidates->sol[other]->val[v->id]);
	json_decimal(t, "cycles", ex->candidates->sol[other]->cycles);
	text_add(t, "}", 1);
}

static void
put_list(Text *t, const char *name, int n, const int64_t *x)
{
	json_open(t, name, "[");
	for (int i = 0; i < n; i++)
		text_printf(t, "%s%lld", i ? "," : "", (long long)x[i]);
	text_add(t, "]", 1);
}

/* Prints the mapping of threads to elements, in order. */
static void
put_access(Text *t, const Explained *ex, const SmemAccess *a)
{
	int64_t dim[DIM_MAX];

	for (int i = 0; i < a->rank; i++)
		dim[i] = a->dim_of[i];
	json_number(t, "elements_an_access", a->vec);
	json_number(t, "lanes", a->lanes);
	json_number(t, "warps", op_warps(a->op));
	json_key(t, "writes");
	text_printf(t, a->write ? "true" : "false");
	put_layout(t, ex, "mapping", a->map);
	put_list(t, "dims", a->rank, dim);
	if (a->as)
		put_list(t, "as", a->as->rank, a->as->shape);
}

/* Prints the location of a shared tile and its accesses: their wavefronts against the minimum for the same
 * data. */
static void
put_shared(Text *t, const Explained *ex, const Val *v)
{
	const Layout *l = v->type.layout;
	int64_t bits = (int64_t)dtype_info[v->type.dtype].bits;
	OpWalk w;

	if (IMM(v->def, offset) >= 0)
		json_number(t, "offset", IMM(v->def, offset));
	json_number(t, "bytes", ceil_div(layout_cosize(l, AX_mem) * bits, 8));
	if (l->swizzle.bits) {
		json_open(t, "swizzle", "[");
		text_printf(t, "%d,%d,%d]", l->swizzle.bits, l->swizzle.base, l->swizzle.shift);
	}
	json_open(t, "accesses", "[");
	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		Val *root;
		SmemAccess a;
		int64_t waves, least;

		if (!explain_access(o, &root, &a) || root != v)
			continue;
		access_waves(ex->k->unit->arena, &a, l, ex->k->warps, &waves, &least);
		json_open(t, NULL, "{");
		json_number(t, "op", o->id);
		json_text(t, "instruction", lowering_name(o->lowering));
		put_src(t, o->src);
		json_number(t, "wavefronts", waves);
		json_number(t, "wavefronts_least", least);
		json_number(t, "conflicts", waves - least);
		put_access(t, ex, &a);
		text_add(t, "}", 1);
	}
	text_add(t, "]", 1);
}

static void
put_tile(Text *t, const Explained *ex, const Val *v)
{
	const Type *y = &v->type;

	if (!y->layout || y->rank == 0)
		return;
	json_open(t, NULL, "{");
	json_number(t, "id", v->id);
	json_text(t, "name", explain_name(v, ex->k));
	json_text(t, "space", y->space == S_reg ? "register" : "shared");
	json_text(t, "dtype", dtype_info[y->dtype].name);
	json_number(t, "bits", dtype_info[y->dtype].bits);
	put_list(t, "shape", y->rank, y->shape);
	put_layout(t, ex, "layout", y->layout);
	json_key(t, "pinned");
	text_printf(t, y->pinned ? "true" : "false");
	if (y->space == S_reg)
		json_number(t, "registers",
		            ceil_div(layout_cosize(y->layout, AX_reg) * dtype_info[y->dtype].bits, 32));
	put_demand(t, explain_origin(ex, v));
	put_other_layout(t, ex, v);
	if (y->space == S_shared && v->def && v->def->code == O_alloc)
		put_shared(t, ex, v);
	text_add(t, "}", 1);
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* Prints a staging tile: its location, and the cost of writes and reads. */
static void
put_staging(Text *t, const Explained *ex, const Op *o)
{
	const Staging *tile = &o->lowering->staged;
	SmemAccess side[2];

	json_open(t, "scratch", "{");
	json_number(t, "offset", tile->off);
	json_number(t, "bytes", tile->bytes);
	put_layout(t, ex, "layout", tile->tile);
	for (int i = 0; i < 2 && explain_staging(o, side); i++) {
		int64_t waves, least;

		access_waves(ex->k->unit->arena, &side[i], tile->tile, ex->k->warps, &waves, &least);
		json_open(t, i ? "reads" : "writes", "{");
		json_number(t, "wavefronts", waves);
		json_number(t, "wavefronts_least", least);
		json_number(t, "conflicts", waves - least);
		text_add(t, "}", 1);
	}
	text_add(t, "}", 1);
}

static void
put_staged(Text *t, const Explained *ex, const Op *o)
{
	const LoweredAccess *write = &o->lowering->staged.write, *read = &o->lowering->staged.read;

	json_number(t, "elements_an_access", write->vec);
	json_number(t, "elements_a_read", read->vec);
	if (write->inst)
		json_text(t, "written_by", write->inst);
	if (read->inst)
		json_text(t, "read_by", read->inst);
	put_layout(t, ex, "mapping", write->map);
	put_layout(t, ex, "read_mapping", read->map);
	put_staging(t, ex, o);
}

static void
put_lowering(Text *t, const Explained *ex, const Op *o)
{
	const Lowering *p = o->lowering;

	if (!p || !lowering_name(p))
		return;
	json_text(t, "instruction", lowering_name(p));
	if (p->kind == LW_access && p->access.tensor_map) {
		json_text(t, "box", explain_box(ex->k, p));
	} else if (p->kind == LW_access) {
		json_number(t, "elements_an_access", p->access.vec);
		put_layout(t, ex, "mapping", p->access.map);
	} else if (p->kind == LW_dot) {
		if (p->dot.n)
			json_number(t, "columns_an_instance", p->dot.n);
		if (p->dot.swap) {
			json_key(t, "swapped");
			text_printf(t, "true");
		}
		put_layout(t, ex, "order_of_k", p->dot.k);
		put_layout(t, ex, "order_of_m", p->dot.rows);
		put_layout(t, ex, "order_of_n", p->dot.cols);
	} else if (lowering_is_staged(p)) {
		put_staged(t, ex, o);
	}
}

/* Opens an object. */
static void
put_units(Text *t, const char *name, const Res *r)
{
	json_open(t, name, "{");
#define X(unit_name, words) json_decimal(t, words, r->unit[R_##unit_name]);
	RES_LIST(X)
#undef X
}

static void
put_cost(Text *t, const Explained *ex, const Op *o)
{
	Res r;

	if (explain_res(ex, o, &r)) {
		json_decimal(t, "cycles", res_cycles(&r));
		put_units(t, "resources", &r);
		json_decimal(t, "latency", r.latency);
		json_decimal(t, "wait", r.wait);
		text_add(t, "}", 1);
	} else if (explain_cycles(ex, o) > 0) {
		json_decimal(t, "cycles", explain_cycles(ex, o));
	}
	json_decimal(t, "runs", explain_runs(ex, o));
}

static void
put_other_lowering(Text *t, const Explained *ex, const Op *o)
{
	int other = explain_other_lowering(ex, o), vec;
	const Lowering *p;

	if (other < 0)
		return;
	p = ex->candidates->sol[other]->lowering[o->id];
	vec = lowering_vec(p);
	json_open(t, "runner_up", "{");
	json_number(t, "candidate", other);
	json_text(t, "instruction", lowering_name(p));
	if (vec)
		json_number(t, "elements_an_access", vec);
	json_decimal(t, "cycles", ex->candidates->sol[other]->cycles);
	text_add(t, "}", 1);
}

/* Prints register and shared tiles by their ids in `tiles`, tensors by name. */
static void
put_vals(Text *t, const Explained *ex, const char *name, int n, Val *const *v)
{
	bool some = false;

	json_open(t, name, "[");
	for (int i = 0; i < n; i++) {
		const Val *root = v[i]->type.space == S_reg ? v[i] : view_root(v[i]);

		if (root->type.rank == 0 || root->type.space == S_scalar ||
		    (root->def && root->def->code == O_mbarrier))
			continue;
		if (some)
			text_add(t, ",", 1);
		if (root->type.space == S_global)
			json_string(t, explain_name(root, ex->k));
		else
			text_printf(t, "%u", root->id);
		some = true;
	}
	text_add(t, "]", 1);
}

static void
put_op(Text *t, const Explained *ex, const Op *o)
{
	const char *assume;
	Res r;

	if (!(o->lowering && lowering_name(o->lowering)) && !explain_res(ex, o, &r))
		return;
	json_open(t, NULL, "{");
	json_number(t, "id", o->id);
	json_text(t, "op", op_info[o->code].name);
	put_src(t, o->src);
	put_lowering(t, ex, o);
	assume = explain_assumption(ex->k, o);
	if (assume)
		json_text(t, "assume", assume);
	put_vals(t, ex, "operands", o->nin, o->in);
	put_vals(t, ex, "results", o->nout, o->out);
	put_cost(t, ex, o);
	put_other_lowering(t, ex, o);
	text_add(t, "}", 1);
}

/* Prints the layouts of packed tensors. */
static void
put_packs(Text *t, const Explained *ex)
{
	json_open(t, "packs", "[");
	for (int i = 0; i < ex->k->nparam; i++) {
		const Pack *p = ex->k->param[i].pack;

		if (!p || !p->layout)
			continue;
		json_open(t, NULL, "{");
		json_text(t, "name", ex->k->param[i].name);
		json_text(t, "pack", pack_text(t->arena, p));
		put_demand(t, explain_pack_origin(ex, &ex->k->param[i]));
		text_add(t, "}", 1);
	}
	text_add(t, "]", 1);
}

/* Prints the memory space of tiles for which the program does not specify it. */
static void
put_spaces(Text *t, const Explained *ex)
{
	json_open(t, "places", "[");
	for (int i = 0; i < ex->sol->spaces->n; i++) {
		const SpaceChoice *p = &ex->sol->spaces->tile[i];
		int other = explain_other_space(ex, i);

		json_open(t, NULL, "{");
		json_text(t, "name", p->name ? p->name : "tile");
		put_src(t, p->src);
		json_text(t, "space", p->registers ? "register" : "shared");
		if (other >= 0) {
			json_open(t, "runner_up", "{");
			json_number(t, "candidate", other);
			json_decimal(t, "cycles", ex->candidates->sol[other]->cycles);
			text_add(t, "}", 1);
		}
		text_add(t, "}", 1);
	}
	text_add(t, "]", 1);
}

/* Prints the best candidate with another choice, and closes the object. */
static void
put_runner_up(Text *t, const Explained *ex, int other)
{
	json_open(t, "runner_up", "{");
	json_number(t, "candidate", other);
	json_decimal(t, "cycles", ex->candidates->sol[other]->cycles);
	text_add(t, "}}", 2);
}

/* Prints how dots of sparse or scaled tiles are lowered, if there is a choice. */
static void
put_parts(Text *t, const Explained *ex)
{
	int other = explain_other_parts(ex);

	if (other < 0)
		return;
	json_open(t, explain_is_scaled(ex) ? "scales" : "sparse", "{");
	if (explain_is_scaled(ex))
		json_text(t, "applied", ex->sol->spaces->dense ? "before" : "by products");
	else
		json_text(t, "zeros", ex->sol->spaces->dense ? "multiplied" : "skipped");
	put_runner_up(t, ex, other);
}

/* Prints the number of warps, if the program leaves it unspecified. */
static void
put_open_warps(Text *t, const Explained *ex)
{
	int other = explain_other_warps(ex);

	if (other < 0)
		return;
	json_open(t, "open_warps", "{");
	json_number(t, "taken", ex->sol->spaces->warps);
	put_runner_up(t, ex, other);
}

/* Prints the schedule of the warps, if there was a choice. */
static void
put_schedule(Text *t, const Explained *ex)
{
	const char *why = explain_unscheduled(ex);
	int other = explain_other_schedule(ex);

	if (other < 0 && !why)
		return;
	json_open(t, "schedule", "{");
	json_text(t, "taken", schedule_name[ex->sol->spaces->schedule]);
	if (why)
		json_text(t, "no_roles", why);
	if (other >= 0)
		put_runner_up(t, ex, other);
	else
		text_add(t, "}", 1);
}

/* Prints the loops that pass split_loops split, and why others are not split. */
static void
put_loops(Text *t, const Explained *ex)
{
	OpWalk w;

	json_open(t, "loops", "[");
	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		const char *split = o->code == O_for ? explain_split(ex, o) : NULL;

		if (!split)
			continue;
		json_open(t, NULL, "{");
		put_src(t, o->src);
		json_text(t, "split", split);
		if (op_is_other_version(o)) {
			json_key(t, "other_sizes");
			text_add(t, "true", 4);
		}
		text_add(t, "}", 1);
	}
	text_add(t, "]", 1);
}

static void
put_order(Text *t, const Kernel *k)
{
	if (!k->order.group)
		return;
	json_open(t, "order", "{");
	json_number(t, "group", k->order.group);
	json_open(t, "dims", "[");
	text_printf(t, "%d,%d]}", k->order.fast, k->order.slow);
}

const char *
infer_explain_json(Kernel *k, const Candidates *c)
{
	const Explained e = explained(k, c), *ex = &e;
	Text t = { .arena = k->unit->arena };
	OpWalk w;

	if (!ex->sol)
		return "{}";
	text_add(&t, "{", 1);
	json_text(&t, "arch", k->unit->target->name);
	json_number(&t, "warps", k->warps);
	json_decimal(&t, "cycles", ex->sol->cycles);
	json_number(&t, "steps", (int64_t)c->steps);
	json_number(&t, "shared_bytes", k->smem);
	json_decimal(&t, "alone", ex->sol->alone);
	json_number(&t, "blocks_together", ex->sol->blocks);
	json_number(&t, "registers", ex->sol->lane);
	put_units(&t, "total", &ex->sol->total);
	text_add(&t, "}", 1);
	put_order(&t, k);
	json_open(&t, "tiles", "[");
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		for (int i = 0; i < o->nout; i++)
			put_tile(&t, ex, o->out[i]);
		for (int b = 0; b < 2; b++)
			for (int i = 0; o->blk[b] && i < o->blk[b]->narg; i++)
				put_tile(&t, ex, o->blk[b]->arg[i]);
	}
	text_add(&t, "]", 1);
	put_schedule(&t, ex);
	put_spaces(&t, ex);
	put_parts(&t, ex);
	put_open_warps(&t, ex);
	put_packs(&t, ex);
	json_open(&t, "ops", "[");
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		put_op(&t, ex, o);
	text_add(&t, "]", 1);
	put_loops(&t, ex);
	if (timeline(ex))
		timeline_json(&t, timeline(ex));
	text_add(&t, "}", 1);
	return t.s;
}
