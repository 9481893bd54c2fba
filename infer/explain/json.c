/* json.c - the chosen solution as one JSON object; hexc.1 lists its fields. */
#include "hexc/ir/ir.h"
#include "hexc/ir/pack.h"
#include "infer/explain/impl.h"

/* ---- writing -------------------------------------------------------------------------------------- */

/* `,` before every member but the first of its object or array. */
static void
next_member(Text *t)
{
	char last = t->n ? t->s[t->n - 1] : '{';

	if (last != '{' && last != '[' && last != ':')
		text_add(t, ",", 1);
}

static void
string(Text *t, const char *s)
{
	text_add(t, "\"", 1);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			text_printf(t, "\\%c", c);
		else if (c < 0x20)
			text_printf(t, "\\u%04x", c);
		else
			text_add(t, s, 1);
	}
	text_add(t, "\"", 1);
}

static void
key(Text *t, const char *name)
{
	next_member(t);
	string(t, name);
	text_add(t, ":", 1);
}

static void
put_text(Text *t, const char *name, const char *s)
{
	key(t, name);
	string(t, s);
}

static void
put_int(Text *t, const char *name, int64_t x)
{
	key(t, name);
	text_printf(t, "%lld", (long long)x);
}

/* Predicted cycles mean nothing behind the tenth. */
static void
put_real(Text *t, const char *name, double x)
{
	key(t, name);
	text_printf(t, "%.1f", x);
}

static void
open_member(Text *t, const char *name, const char *bracket)
{
	if (name)
		key(t, name);
	else
		next_member(t);
	text_add(t, bracket, 1);
}

static void
put_place(Text *t, Src src)
{
	if (!src.line)
		return;
	put_int(t, "line", src.line);
	put_int(t, "column", src.col);
}

/* ---- tiles ---------------------------------------------------------------------------------------- */

static void
put_layout(Text *t, const Explained *ex, const char *name, const Layout *l)
{
	if (l)
		put_text(t, name, layout_print(ex->k->unit->arena, l));
}

static void
put_demand(Text *t, const Op *who)
{
	if (!who)
		return;
	open_member(t, "demanded_by", "{");
	put_text(t, "op", who->code == O_hold ? "pin" : op_info[who->code].name);
	put_place(t, who->src);
	text_add(t, "}", 1);
}

static void
put_other_layout(Text *t, const Explained *ex, const Val *v)
{
	int other = explain_other_layout(ex, v);

	if (other < 0)
		return;
	open_member(t, "runner_up", "{");
	put_int(t, "candidate", other);
	put_layout(t, ex, "layout", ex->cands->sol[other]->val[v->id]);
	put_real(t, "cycles", ex->cands->sol[other]->cycles);
	text_add(t, "}", 1);
}

/* Where a shared tile lies, and what touches it: wavefronts against the least that moves as much. */
static void
put_shared(Text *t, const Explained *ex, const Val *v)
{
	const Layout *l = v->type.layout;
	int64_t bits = (int64_t)dtype_info[v->type.dtype].bits;
	OpWalk w;

	if (v->def->imm[0] >= 0)
		put_int(t, "offset", v->def->imm[0]);
	put_int(t, "bytes", ceil_div(layout_cosize(l, AX_mem) * bits, 8));
	if (l->swizzle.bits) {
		open_member(t, "swizzle", "[");
		text_printf(t, "%d,%d,%d]", l->swizzle.bits, l->swizzle.base, l->swizzle.shift);
	}
	open_member(t, "accesses", "[");
	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		Val *root;
		Access a;
		int64_t waves, least;

		if (!explain_access(o, &root, &a) || root != v)
			continue;
		access_waves(ex->k->unit->arena, &a, l, ex->k->warps, &waves, &least);
		open_member(t, NULL, "{");
		put_int(t, "op", o->id);
		put_text(t, "instruction", o->pick->inst);
		put_place(t, o->src);
		put_int(t, "wavefronts", waves);
		put_int(t, "wavefronts_least", least);
		put_int(t, "conflicts", waves - least);
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
	open_member(t, NULL, "{");
	put_int(t, "id", v->id);
	put_text(t, "name", explain_name(v, ex->k->unit->arena));
	put_text(t, "space", y->space == S_reg ? "register" : "shared");
	put_text(t, "dtype", dtype_info[y->dtype].name);
	open_member(t, "shape", "[");
	for (int d = 0; d < y->rank; d++)
		text_printf(t, "%s%lld", d ? "," : "", (long long)y->shape[d]);
	text_add(t, "]", 1);
	put_layout(t, ex, "layout", y->layout);
	key(t, "pinned");
	text_printf(t, y->pinned ? "true" : "false");
	if (y->space == S_reg)
		put_int(t, "registers",
		        ceil_div(layout_cosize(y->layout, AX_reg) * dtype_info[y->dtype].bits, 32));
	put_demand(t, explain_origin(ex, v));
	put_other_layout(t, ex, v);
	if (y->space == S_shared && v->def && v->def->code == O_alloc)
		put_shared(t, ex, v);
	text_add(t, "}", 1);
}

/* ---- ops ------------------------------------------------------------------------------------------ */

/* A staging tile: where it lies, and what writing and reading take. */
static void
put_scratch(Text *t, const Explained *ex, const Op *o)
{
	const Pick *p = o->pick;
	Access side[2];

	if (!p->scratch_bytes)
		return;
	open_member(t, "scratch", "{");
	put_int(t, "offset", p->scratch_off);
	put_int(t, "bytes", p->scratch_bytes);
	put_layout(t, ex, "layout", p->scratch);
	for (int i = 0; i < 2 && explain_staging(o, side); i++) {
		int64_t waves, least;

		access_waves(ex->k->unit->arena, &side[i], p->scratch, ex->k->warps, &waves, &least);
		open_member(t, i ? "reads" : "writes", "{");
		put_int(t, "wavefronts", waves);
		put_int(t, "wavefronts_least", least);
		put_int(t, "conflicts", waves - least);
		text_add(t, "}", 1);
	}
	text_add(t, "}", 1);
}

static void
put_pick(Text *t, const Explained *ex, const Op *o)
{
	const Pick *p = o->pick;

	if (!p || !p->inst)
		return;
	put_text(t, "instruction", p->inst);
	if (p->vec)
		put_int(t, "elements_an_access", p->vec);
	if (p->vec2)
		put_int(t, "elements_a_read", p->vec2);
	if (p->swap) {
		key(t, "swapped");
		text_printf(t, "true");
	}
	if (p->wr)
		put_text(t, "written_by", p->wr);
	if (p->rd)
		put_text(t, "read_by", p->rd);
	put_layout(t, ex, o->code == O_dot ? "order_of_k" : "mapping", p->map);
	put_layout(t, ex, "read_mapping", p->map2);
	put_layout(t, ex, "order_of_m", p->rows);
	put_layout(t, ex, "order_of_n", p->cols);
	put_scratch(t, ex, o);
}

/* Opens an object. */
static void
put_units(Text *t, const char *name, const Res *r)
{
	open_member(t, name, "{");
#define X(unit_name, words) put_real(t, words, r->unit[R_##unit_name]);
	RES_LIST(X)
#undef X
}

static void
put_cost(Text *t, const Explained *ex, const Op *o)
{
	Res r;

	if (explain_res(ex, o, &r)) {
		put_real(t, "cycles", res_cycles(&r));
		put_units(t, "resources", &r);
		put_real(t, "latency", r.latency);
		put_real(t, "wait", r.wait);
		text_add(t, "}", 1);
	} else if (o->pick && o->pick->cost > 0) {
		put_real(t, "cycles", o->pick->cost);
	}
	put_real(t, "runs", explain_runs(ex, o));
}

static void
put_other_pick(Text *t, const Explained *ex, const Op *o)
{
	int other = explain_other_pick(ex, o);

	if (other < 0)
		return;
	open_member(t, "runner_up", "{");
	put_int(t, "candidate", other);
	put_text(t, "instruction", ex->cands->sol[other]->pick[o->id]->inst);
	if (ex->cands->sol[other]->pick[o->id]->vec)
		put_int(t, "elements_an_access", ex->cands->sol[other]->pick[o->id]->vec);
	put_real(t, "cycles", ex->cands->sol[other]->cycles);
	text_add(t, "}", 1);
}

/* Register and shared tiles by their ids in `tiles`, tensors by name. */
static void
put_vals(Text *t, const Explained *ex, const char *name, int n, Val *const *v)
{
	bool some = false;

	open_member(t, name, "[");
	for (int i = 0; i < n; i++) {
		const Val *root = v[i]->type.space == S_reg ? v[i] : view_root(v[i]);

		if (root->type.rank == 0 || root->type.space == S_scalar)
			continue;
		if (some)
			text_add(t, ",", 1);
		if (root->type.space == S_global)
			string(t, explain_name(root, ex->k->unit->arena));
		else
			text_printf(t, "%u", root->id);
		some = true;
	}
	text_add(t, "]", 1);
}

static void
put_op(Text *t, const Explained *ex, const Op *o)
{
	Res r;

	if (!(o->pick && o->pick->inst) && !explain_res(ex, o, &r))
		return;
	open_member(t, NULL, "{");
	put_int(t, "id", o->id);
	put_text(t, "op", op_info[o->code].name);
	put_place(t, o->src);
	put_pick(t, ex, o);
	put_vals(t, ex, "operands", o->nin, o->in);
	put_vals(t, ex, "results", o->nout, o->out);
	put_cost(t, ex, o);
	put_other_pick(t, ex, o);
	text_add(t, "}", 1);
}

/* How packed tensors lie. */
static void
put_packs(Text *t, const Explained *ex)
{
	open_member(t, "packs", "[");
	for (int i = 0; i < ex->k->nparam; i++) {
		const Pack *p = ex->k->param[i].pack;

		if (!p || !p->place)
			continue;
		open_member(t, NULL, "{");
		put_text(t, "name", ex->k->param[i].name);
		put_text(t, "pack", pack_text(t->arena, p));
		put_demand(t, explain_pack_origin(ex, &ex->k->param[i]));
		text_add(t, "}", 1);
	}
	text_add(t, "]", 1);
}

/* Tiles of which the program does not say where they live. */
static void
put_places(Text *t, const Explained *ex)
{
	open_member(t, "places", "[");
	for (int i = 0; i < ex->sol->spaces->n; i++) {
		const FreeTile *p = &ex->sol->spaces->tile[i];
		int other = explain_other_place(ex, i);

		open_member(t, NULL, "{");
		put_text(t, "name", p->name ? p->name : "tile");
		put_place(t, p->src);
		put_text(t, "space", p->registers ? "register" : "shared");
		if (other >= 0) {
			open_member(t, "runner_up", "{");
			put_int(t, "candidate", other);
			put_real(t, "cycles", ex->cands->sol[other]->cycles);
			text_add(t, "}", 1);
		}
		text_add(t, "}", 1);
	}
	text_add(t, "]", 1);
}

/* Products of sparse tiles, where there is a choice. */
static void
put_sparse(Text *t, const Explained *ex)
{
	int other = explain_other_sparse(ex);

	if (other < 0)
		return;
	open_member(t, "sparse", "{");
	put_text(t, "zeros", ex->sol->spaces->dense ? "multiplied" : "skipped");
	open_member(t, "runner_up", "{");
	put_int(t, "candidate", other);
	put_real(t, "cycles", ex->cands->sol[other]->cycles);
	text_add(t, "}}", 2);
}

const char *
infer_explain_json(Kernel *k, const Cands *c)
{
	const Explained e = explained(k, c), *ex = &e;
	Text t = { .arena = k->unit->arena };
	OpWalk w;

	if (!ex->sol)
		return "{}";
	text_add(&t, "{", 1);
	put_text(&t, "arch", k->unit->target->name);
	put_int(&t, "warps", k->warps);
	put_real(&t, "cycles", ex->sol->cycles);
	put_int(&t, "steps", (int64_t)c->steps);
	put_int(&t, "shared_bytes", k->smem);
	put_real(&t, "alone", ex->sol->alone);
	put_int(&t, "blocks_together", ex->sol->blocks);
	put_units(&t, "total", &ex->sol->total);
	text_add(&t, "}", 1);
	open_member(&t, "tiles", "[");
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		for (int i = 0; i < o->nout; i++)
			put_tile(&t, ex, o->out[i]);
		for (int b = 0; b < 2; b++)
			for (int i = 0; o->blk[b] && i < o->blk[b]->narg; i++)
				put_tile(&t, ex, o->blk[b]->arg[i]);
	}
	text_add(&t, "]", 1);
	put_places(&t, ex);
	put_sparse(&t, ex);
	put_packs(&t, ex);
	open_member(&t, "ops", "[");
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		put_op(&t, ex, o);
	text_add(&t, "]}", 2);
	return t.s;
}
