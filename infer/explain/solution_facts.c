/* solution_facts.c - answers queries about the chosen solution, for explanations as text, JSON and SVG. */
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "infer/core/search_state.h"
#include "infer/explain/explain_internal.h"
#include <string.h>

Explained
explained(Kernel *k, const Candidates *c)
{
	int i = k->unit->candidate;

	return (Explained){ k, c, c && i < c->n ? c->sol[i] : NULL };
}

/* Returns the source text at src if it is a short expression in one line, and not a single word, which
 * would name something else; NULL if it is not, or unknown. */
static const char *
source_at(const Unit *u, Src src)
{
	enum { LONG = 32 };
	const char *s = u->text, *end;
	uint32_t line = 1;

	if (!s || !src.line || src.len > LONG)
		return NULL;
	end = s + u->len;
	for (; line < src.line && s < end; s++)
		line += *s == '\n';
	if (line < src.line || (size_t)(end - s) < (size_t)src.col - 1 + src.len)
		return NULL;
	s += src.col - 1;
	if (memchr(s, '\n', src.len) || (!memchr(s, '(', src.len) && !memchr(s, ' ', src.len)))
		return NULL;
	return arena_strndup(u->arena, s, src.len);
}

const char *
explain_name(const Val *v, const Kernel *k)
{
	Arena *a = k->unit->arena;
	const Op *o = v->def;
	const char *s;

	if (v->name || !o)
		return v->name ? v->name : arena_printf(a, "%%%u", v->id);
	if (o->code == O_convert_layout)
		return arena_printf(a, "%s (converted layout)", explain_name(op_source(o), k));
	if (o->code == O_load)
		return arena_printf(a, "%s in registers", explain_name(view_root(load_source(o)), k));
	s = source_at(k->unit, o->src);
	return s ? s : arena_printf(a, "%s of line %u", op_info[o->code].name, o->src.line);
}

const Op *
explain_origin(const Explained *ex, const Val *v)
{
	return v->id <= ex->candidates->nval ? ex->sol->origin[v->id] : NULL;
}

const Op *
explain_pack_origin(const Explained *ex, const Param *p)
{
	OpWalk w;

	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w))
		if (o->code == O_unpack && pack_tensor(o) == p->val &&
		    o->out[0]->id <= ex->candidates->nval && ex->sol->origin[o->out[0]->id])
			return ex->sol->origin[o->out[0]->id];
	return NULL;
}

const char *
explain_demand(const Op *who)
{
	return who->code == O_pin ? "the pinned layout" : op_info[who->code].name;
}

static int64_t
all_of_k(const Op *o)
{
	return o->code == O_dot ? dot_k(o) : product_k(o);
}

/* Is o a k slice of a dot that was split after its lowering was chosen? */
static bool
is_part(const Op *o)
{
	return o->lowering && o->lowering->kind == LW_dot && o->lowering->dot.to;
}

/* Returns the dot that o is a slice of; NULL if there is none. */
static const Op *
whole_of(const Explained *ex, const Op *o)
{
	const Solve *s = ex->candidates->solve;

	if (!is_part(o) || explain_is_twin(o))
		return NULL;
	for (int i = 0; i < s->ndot; i++)
		if (s->dot[i]->code == o->code && s->dot[i]->src.line == o->src.line &&
		    s->dot[i]->src.col == o->src.col && all_of_k(s->dot[i]) == all_of_k(o))
			return s->dot[i];
	return NULL;
}

bool
explain_res(const Explained *ex, const Op *o, Res *out)
{
	const Op *whole = o->id > ex->candidates->nop ? whole_of(ex, o) : o;
	const Lowering *p = o->lowering;

	if (!whole || !ex->sol->res)
		return false;
	*out = (Res){ 0 };
	res_add(out, &ex->sol->res[whole->id],
	        is_part(o) ? (double)(p->dot.to - p->dot.from) / (double)all_of_k(o) : 1);
	return res_cycles(out) > 0;
}

double
explain_cycles(const Explained *ex, const Op *o)
{
	if (explain_is_twin(o))
		return 0;
	if (o->lowering && (o->lowering->cost > 0 || o->code == O_convert_layout))
		return o->lowering->cost;
	return o->id <= ex->candidates->nop ? res_cycles(&ex->sol->res[o->id]) : 0;
}

double
explain_above(const Explained *ex, int i)
{
	return 100 * (ex->candidates->sol[i]->cycles / ex->sol->cycles - 1);
}

double
explain_runs(const Explained *ex, const Op *o)
{
	const Op *in = o;

	/* ops inserted later run as often as the next known op in the block */
	while (in && in->id > ex->candidates->nop)
		in = in->next;
	return in ? ex->candidates->weight[in->id] : 0;
}

int
lowering_vec(const Lowering *p)
{
	if (p->kind == LW_access)
		return p->access.tensor_map ? 0 : p->access.vec;
	return lowering_is_staged(p) ? p->staged.write.vec : 0;
}

const char *
explain_box(const Kernel *k, const Lowering *p)
{
	const TensorMap *m = &k->map[p->access.tensor_map - 1];
	Text t = { .arena = k->unit->arena };

	for (int i = 0; i < m->rank; i++)
		text_printf(&t, "%s%lld", i ? " x " : "", (long long)m->box[i]);
	return t.s;
}

static bool
same_lowering(const Lowering *a, const Lowering *b)
{
	return a->kind == b->kind && strcmp(lowering_name(a), lowering_name(b)) == 0 &&
	       lowering_vec(a) == lowering_vec(b) &&
	       (a->kind != LW_dot || (a->dot.swap == b->dot.swap && a->dot.n == b->dot.n));
}

int
explain_other_lowering(const Explained *ex, const Op *o)
{
	const Lowering *p = o->lowering;

	if (!p || !lowering_name(p) || o->id > ex->candidates->nop)
		return -1;
	for (int i = 0; i < ex->candidates->n; i++) {
		const LayoutSolution *s = ex->candidates->sol[i];
		const Lowering *q = s->k == ex->sol->k ? s->lowering[o->id] : NULL;

		if (i != ex->k->unit->candidate && q && lowering_name(q) && !same_lowering(p, q))
			return i;
	}
	return -1;
}

int
explain_other_layout(const Explained *ex, const Val *v)
{
	if (v->id > ex->candidates->nval || !ex->sol->val[v->id])
		return -1;
	for (int i = 0; i < ex->candidates->n; i++) {
		const LayoutSolution *s = ex->candidates->sol[i];
		const Layout *l = s->k == ex->sol->k ? s->val[v->id] : NULL;

		if (i != ex->k->unit->candidate && l && !layout_equal(l, ex->sol->val[v->id]))
			return i;
	}
	return -1;
}

int
explain_other_space(const Explained *ex, int i)
{
	for (int c = 0; c < ex->candidates->n; c++)
		if (ex->candidates->sol[c]->spaces->tile[i].registers != ex->sol->spaces->tile[i].registers)
			return c;
	return -1;
}

int
explain_other_parts(const Explained *ex)
{
	for (int c = 0; c < ex->candidates->n; c++)
		if (ex->candidates->sol[c]->spaces->dense != ex->sol->spaces->dense)
			return c;
	return -1;
}

bool
explain_is_scaled(const Explained *ex)
{
	OpWalk w;

	if (ex->sol->spaces->dense)
		return !kernel_is_sparse(ex->k);
	for (const Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w))
		if (o->code == O_dot && dot_is_scaled(o))
			return true;
	return false;
}

int
explain_other_warps(const Explained *ex)
{
	for (int c = 0; c < ex->candidates->n; c++)
		if (ex->candidates->sol[c]->spaces->warps != ex->sol->spaces->warps)
			return c;
	return -1;
}

int
explain_other_schedule(const Explained *ex)
{
	for (int c = 0; c < ex->candidates->n; c++)
		if (ex->candidates->sol[c]->spaces->schedule != ex->sol->spaces->schedule)
			return c;
	return -1;
}

const char *
explain_unscheduled(const Explained *ex)
{
	bool other = explain_other_schedule(ex) >= 0;

	return ex->sol->spaces->schedule == SCHEDULE_MULTISTAGE && !other
	               ? ex->candidates->unscheduled
	               : NULL;
}

bool
explain_access(const Op *o, Val **root, SmemAccess *a)
{
	bool load = o->code == O_load;
	Val *mem = load ? access_source(o) : access_target(o);

	if (!mem || mem->type.space != S_shared || !op_access(o)->inst)
		return false;
	access_init(a, o, mem, op_access(o)->vec, instr_of(o->lowering));
	a->weight = 1;
	a->map = op_access(o)->map;
	if (!a->map)
		a->map = load ? o->out[0]->type.layout : o->in[0]->type.layout;
	*root = view_root(mem);
	return a->map && (*root)->type.layout;
}

bool
explain_staging(const Op *o, SmemAccess a[2])
{
	const Staging *tile;
	DType d;

	if (!lowering_is_staged(o->lowering))
		return false;
	tile = &o->lowering->staged;
	d = o->out[0]->type.dtype;
	for (int i = 0; i < 2; i++) {
		const LoweredAccess *by = i ? &tile->read : &tile->write;
		const Instr *in = by->inst ? instr_find(by->inst) : NULL;
		int bits = o->code == O_convert_layout           ? staging_bits(tile, d)
		           : dtype_info[d].bits == 64 ? 64
		                                       : 32; /* partial results of a reduction */

		a[i] = (SmemAccess){
			.op = o,
			.rank = tile->tile->ndim,
			.vec = by->vec,
			.bits = bits,
			.lanes = in ? in->bits / 32 * 8 : WARP_SIZE,
			.weight = 1,
			.write = i == 0,
			.map = by->map,
		};
		if (!a[i].map)
			a[i].map = i ? o->out[0]->type.layout : op_source(o)->type.layout;
		for (int j = 0; j < a[i].rank; j++)
			a[i].dim_of[j] = j;
		if (!a[i].map)
			return false;
	}
	return true;
}

const char **
explain_accesses(const Explained *ex, const Val *v, int *n)
{
	const char **line = NULL;
	int cap = 0;
	OpWalk w;

	*n = 0;
	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		Val *root;
		SmemAccess a;
		int64_t waves, least;
		const char *s;
		bool known = false;

		if (!explain_access(o, &root, &a) || root != v)
			continue;
		access_waves(ex->k->unit->arena, &a, v->type.layout, ex->k->warps, &waves, &least);
		s = arena_printf(ex->k->unit->arena,
		                 "line %u: %s by %s, %d element%s per access, %lld wavefronts (minimum "
				 "%lld)%s",
		                 o->src.line, op_info[o->code].name, op_access(o)->inst, op_access(o)->vec,
		                 op_access(o)->vec > 1 ? "s" : "", (long long)waves, (long long)least,
		                 waves <= least      ? ", no bank conflicts"
		                 : v->type.pinned ? "; bank conflicts of the pinned layout"
		                                  : "; bank conflicts: no swizzle or padding of these rows "
						    "has fewer");
		for (int i = 0; i < *n; i++) /* prologues repeat the loop's accesses */
			known = known || strcmp(line[i], s) == 0;
		if (!known)
			VEC_PUSH(ex->k->unit->arena, line, *n, cap, s);
	}
	return line;
}
