/* address.c - resolves chains of views to a root and starts, and emits addresses of their elements. */
#include "ptxgen/memory/address.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"

/* ---- the view -------------------------------------------------------------------------------- */

static int
loop_depth(const Block *b)
{
	int depth = 0;

	for (; b->owner; b = b->owner->parent)
		depth += b->owner->code == O_for;
	return depth;
}

bool
access_small(Fact f)
{
	const int64_t most = (int64_t)1 << 60;

	return f.lo > -most && f.hi < most;
}

static void
start_add(Access *x, struct Start *s, Val *v)
{
	Codegen *g = x->g;
	int64_t c;
	Fact f;
	LV var;

	if (val_is_const(v, &c)) {
		s->add += c;
		s->big = s->big || !access_small((Fact){ 1, c, c });
		return;
	}
	if (x->space == S_global && moving_pays(g))
		linear_terms(g, v, &s->steady, &s->rest);
	if (x->space == S_global)
		s->turn = s->var ? linear_add(g, s->turn, linear_of(g, v)) : linear_of(g, v);
	f = val_fact(g->k, v);
	s->big = s->big || !access_small(f);
	var = scalar_get(g, v);
	s->lo = s->var ? (s->lo < 0 || f.lo < 0 ? -1 : 0) : f.lo;
	s->hi = s->var ? INT64_MAX : f.hi;
	s->var = s->var ? LLVMBuildAdd(g->b, s->var, var, "") : var;
	s->mult = gcd64(s->mult, f.mult);
	if (loop_depth(v->block) > s->depth)
		s->depth = loop_depth(v->block);
}

/* Follows the chain of views to the root, then adds up the starts from the root's side. */
static void
resolve_view(Access *x, Val *view)
{
	int dim[DIM_MAX], n = 0;

	if (!view->def || view->def->code != O_view) {
		x->root = view_root(view);
		x->mem = view->type.layout;
		x->whole = &view->type;
		x->root_rank = x->rank = view->type.rank;
		x->gather = -1;
		for (int d = 0; d < x->rank; d++) {
			x->dim[d] = d;
			x->step[d] = 1;
		}
		return;
	}
	resolve_view(x, view_source(view->def));
	x->gather = view_gather_dim(view->def);
	x->gathers = view_gather_rank(view->def);
	for (int d = 0; d < x->rank; d++) {
		x->step[x->dim[d]] *= view_step(view->def, d);
		if (view_gathers(view->def, d))
			x->index[x->dim[d]] = view_start(view->def, d);
		else
			start_add(x, &x->start[x->dim[d]], view_start(view->def, d));
		if (IMM(view->def, dropped) >> d & 1)
			continue;
		for (int i = view_gathers(view->def, d) ? x->gathers : 1; i > 0; i--)
			dim[n++] = x->dim[d];
	}
	x->rank = n;
	for (int d = 0; d < n; d++)
		x->dim[d] = dim[d];
}

bool
access_gathers(const Access *x, int d)
{
	return x->gather >= 0 && d >= x->gather && d < x->gather + x->gathers;
}

/* ---- both memory spaces ---------------------------------------------------------------------- */

LV
memo_find(const Access *x, int n, const int64_t *key)
{
	for (int i = 0; i < x->nmemo; i++) {
		const struct Memo *m = &x->memo[i];
		int j = 0;

		while (j < n && m->nkey == n && m->key[j] == key[j])
			j++;
		if (j == n)
			return m->v;
	}
	return NULL;
}

void
memo_add(Access *x, int n, const int64_t *key, LV v)
{
	struct Memo m = { .nkey = n, .v = v };

	for (int j = 0; j < n; j++)
		m.key[j] = key[j];
	VEC_PUSH(x->g->a, x->memo, x->nmemo, x->memo_cap, m);
}

/* Returns a constant of v's type. */
static LV
like(LV v, int64_t c)
{
	return LLVMConstInt(LLVMTypeOf(v), (unsigned long long)c, 0);
}

LV
access_bytes(Access *x, LLVMBuilderRef b, LV elems)
{
	int grain = dtype_grain(x->dtype), down = 0;

	if (dtype_pieces(x->dtype) > 1)
		elems = LLVMBuildMul(b, elems, like(elems, dtype_pieces(x->dtype)), "");
	if (grain > 8)
		return LLVMBuildMul(b, elems, like(elems, grain / 8), "");
	while (grain << down < 8)
		down++;
	return (x->below ? LLVMBuildAShr : LLVMBuildLShr)(b, elems, like(elems, down), "");
}

LV
access_bit(Access *x, LLVMBuilderRef b, LV elems)
{
	elems = LLVMBuildMul(b, elems, like(elems, dtype_info[x->dtype].bits), "");
	return LLVMBuildAnd(b, elems, like(elems, 7), "");
}

Access *
access_view(Codegen *g, const Layout *l, Val *view)
{
	Access *x = NEW(g->a, Access);

	x->g = g;
	x->l = l;
	x->space = view->type.space;
	x->dtype = view->type.dtype;
	resolve_view(x, view);
	for (int rd = 0; x->space == S_global && rd < x->root_rank; rd++)
		x->below |= access_before(&x->start[rd]);
	for (int d = 0; d < x->rank; d++) /* gathered dims: each thread has its own index */
		x->lane[d] = l && !access_gathers(x, d) ? lane_index(g, l, d) : const_i32(g, 0);
	return x;
}

static Access *
access_alloc(Access *x)
{
	BUG_IF(x->g->a, !x->root->def || x->root->def->code != O_alloc || IMM(x->root->def, offset) < 0);
	x->offset = IMM(x->root->def, offset);
	x->of_team = op_role(x->root->def) == ROLE_CONSUMER;
	shared_new(x);
	return x;
}

Access *
access_plain(Codegen *g, const Layout *l, Val *view)
{
	Access *x = access_view(g, l, view);
	Layout *mem = NEW(g->a, Layout);

	*mem = *x->mem;
	mem->swizzle = (Swizzle){ 0 };
	x->mem = mem;
	return access_alloc(x);
}

Access *
access_new(Codegen *g, const Layout *l, Val *view)
{
	Access *x = access_view(g, l, view);
	int dim[DIM_MAX];

	if (view->def && view->def->code == O_view)
		access_within(x, view->def);
	if (x->space == S_global) {
		global_new(x);
		if (view->def && view->def->code == O_view)
			access_edges(x, view->def, true, dim);
		return x;
	}
	return access_alloc(x);
}

Access *
access_staging(Codegen *g, const Staging *tile, const Layout *l, DType d)
{
	Access *x = NEW(g->a, Access);

	BUG_IF(g->a, !tile->tile || tile->off < 0);
	x->g = g;
	x->l = l;
	x->space = S_shared;
	x->dtype = d;
	x->rank = x->root_rank = l->ndim;
	x->gather = -1;
	for (int i = 0; i < x->rank; i++) {
		x->dim[i] = i;
		x->lane[i] = lane_index(g, l, i);
	}
	x->mem = tile->tile;
	x->offset = tile->off;
	x->of_team = g->team != NULL;
	shared_new(x);
	return x;
}

void
access_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift)
{
	if (shift)
		*shift = NULL;
	if (x->space == S_global)
		global_at(x, index, base, imm, shift);
	else
		shared_at(x, index, base, imm, shift);
}
