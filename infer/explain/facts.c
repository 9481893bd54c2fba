/* facts.c - facts of the solution taken, for explanations in words, JSON and pictures. */
#include "hexc/ir/access.h"
#include "infer/explain/impl.h"
#include <string.h>

const Sol *
explain_sol(const Kernel *k)
{
	int i = k->unit->candidate;

	return k->cands && i < k->cands->n ? k->cands->sol[i] : NULL;
}

const char *
explain_name(const Val *v, Arena *a)
{
	return v->name ? v->name : arena_printf(a, "%%%u", v->id);
}

const Op *
explain_origin(const Kernel *k, const Val *v)
{
	return v->id <= k->cands->nval ? explain_sol(k)->origin[v->id] : NULL;
}

const Op *
explain_pack_origin(const Kernel *k, const Param *p)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_unpack && o->in[1] == p->val && o->out[0]->id <= k->cands->nval &&
		    explain_sol(k)->origin[o->out[0]->id])
			return explain_sol(k)->origin[o->out[0]->id];
	return NULL;
}

const char *
explain_demand(const Op *who)
{
	return who->code == O_hold ? "the pin" : op_info[who->code].name;
}

bool
explain_res(const Kernel *k, const Op *o, Res *out)
{
	if (o->id > k->cands->nop || !explain_sol(k)->res)
		return false;
	*out = explain_sol(k)->res[o->id];
	return res_cycles(out) > 0;
}

double
explain_cycles(const Kernel *k, const Op *o)
{
	const Cands *c = k->cands;
	int chosen = k->unit->candidate;

	if (o->pick && (o->pick->cost > 0 || o->code == O_convert))
		return o->pick->cost;
	return c && chosen < c->n && o->id <= c->nop ? res_cycles(&c->sol[chosen]->res[o->id]) : 0;
}

double
explain_runs(const Kernel *k, const Op *o)
{
	const Op *in = o;

	/* what was put in later runs as often as the next thing there that is known */
	while (in && in->id > k->cands->nop)
		in = in->next;
	return in ? k->cands->weight[in->id] : 0;
}

int
explain_other_pick(const Kernel *k, const Op *o)
{
	const Pick *p = o->pick;

	if (!p || !p->inst || o->id > k->cands->nop)
		return -1;
	for (int i = 0; i < k->cands->n; i++) {
		const Sol *s = k->cands->sol[i];
		const Pick *q = s->k == explain_sol(k)->k ? s->pick[o->id] : NULL;

		if (i != k->unit->candidate && q && q->inst &&
		    (strcmp(q->inst, p->inst) != 0 || q->vec != p->vec || q->swap != p->swap))
			return i;
	}
	return -1;
}

int
explain_other_layout(const Kernel *k, const Val *v)
{
	if (v->id > k->cands->nval || !explain_sol(k)->val[v->id])
		return -1;
	for (int i = 0; i < k->cands->n; i++) {
		const Sol *s = k->cands->sol[i];
		const Layout *l = s->k == explain_sol(k)->k ? s->val[v->id] : NULL;

		if (i != k->unit->candidate && l && !layout_equal(l, explain_sol(k)->val[v->id]))
			return i;
	}
	return -1;
}

int
explain_other_place(const Kernel *k, int i)
{
	for (int c = 0; c < k->cands->n; c++)
		if (k->cands->sol[c]->k->place[i].registers != k->place[i].registers)
			return c;
	return -1;
}

int
explain_other_sparse(const Kernel *k)
{
	for (int c = 0; c < k->cands->n; c++)
		if (k->cands->sol[c]->k->dense != k->dense)
			return c;
	return -1;
}

bool
explain_access(const Op *o, Val **root, Access *a)
{
	bool load = o->code == O_load;
	Val *mem = load ? access_source(o) : access_target(o);
	const Instr *in;

	if (!mem || mem->type.space != S_shared || !o->pick || !o->pick->inst || o->pick->vec < 1)
		return false;
	in = instr_find(o->pick->inst);
	*a = (Access){
		.op = o,
		.rank = mem->type.rank,
		.vec = o->pick->vec,
		.bits = bits_of(mem),
		.lanes = in && (in->kind == IK_ldmatrix || in->kind == IK_stmatrix) ? in->bits / 32 *
		                                                                              8
		                                                                    : WARP_SIZE,
		.weight = 1,
		.write = !load,
		.map = o->pick->map,
	};
	if (!a->map)
		a->map = load ? o->out[0]->type.layout : o->in[0]->type.layout;
	mem = view_dims(mem, a->dim_of);
	a->as = val_is_alias(mem) ? &mem->type : NULL;
	*root = view_root(mem);
	return a->map && (*root)->type.layout;
}

bool
explain_staging(const Op *o, Access a[2])
{
	const Pick *p = o->pick;
	DType d;

	if (!p || !p->scratch)
		return false;
	d = o->out[0]->type.dtype;
	for (int i = 0; i < 2; i++) {
		const char *row = i ? p->rd : p->wr;
		const Instr *in = row ? instr_find(row) : NULL;
		int bits = o->code == O_convert           ? pick_stage_bits(p, d)
		           : dtype_info[d].bits == 64 ? 64
		                                      : 32; /* parts of a reduction */

		a[i] = (Access){
			.op = o,
			.rank = p->scratch->ndim,
			.vec = i ? p->vec2 : p->vec,
			.bits = bits,
			.lanes = in ? in->bits / 32 * 8 : WARP_SIZE,
			.weight = 1,
			.write = i == 0,
			.map = i ? p->map2 : p->map,
		};
		if (!a[i].map)
			a[i].map = i ? o->out[0]->type.layout : o->in[0]->type.layout;
		for (int j = 0; j < a[i].rank; j++)
			a[i].dim_of[j] = j;
		if (!a[i].map || a[i].vec < 1)
			return false;
	}
	return true;
}

const char **
explain_accesses(const Kernel *k, const Val *v, int *n)
{
	const char **line = NULL;
	int cap = 0;
	OpWalk w;

	*n = 0;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		Val *root;
		Access a;
		int64_t waves, least;
		const char *s;
		bool known = false;

		if (!explain_access(o, &root, &a) || root != v)
			continue;
		access_waves(k->unit->arena, &a, v->type.layout, k->warps, &waves, &least);
		s = arena_printf(k->unit->arena,
		                 "line %u: %s by %s, %d element%s an access: %lld wavefronts, %lld are the "
		                 "least%s",
		                 o->src.line, op_info[o->code].name, o->pick->inst, o->pick->vec,
		                 o->pick->vec > 1 ? "s" : "", (long long)waves, (long long)least,
		                 waves <= least      ? ", no conflicts"
		                 : v->type.pinned ? " - bank conflicts of the layout given"
		                                  : " - bank conflicts: of all swizzles of its rows, and "
		                                    "padding, "
		                                    "none has fewer");
		for (int i = 0; i < *n; i++) /* prologues repeat what the loop does */
			known = known || strcmp(line[i], s) == 0;
		if (!known)
			VEC_PUSH(k->unit->arena, line, *n, cap, s);
	}
	return line;
}
