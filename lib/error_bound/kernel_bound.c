/* kernel_bound.c - rewrites a kernel to compute its error bounds too: parameters, memory, loops and
 * branches. */
#include "lib/error_bound/error_bound_internal.h"
#include <string.h>

/* Copies o; returns the copy's operands and result, and the operands' bounds. */
static Site
copy_op(Twin *t, const Op *o)
{
	Val **in = NEWN(t->a, Val *, o->nin);
	Type *out = NEWN(t->a, Type, o->nout);
	Site s = { .o = o };
	Op *c;

	for (int i = 0; i < o->nin; i++)
		in[i] = bound_val(t, o->in[i]);
	for (int i = 0; i < o->nout; i++)
		out[i] = o->out[i]->type;
	c = op_new(t->at, NULL, o->code, o->src, o->nin, in, o->nout, out);
	memcpy(c->imm, o->imm, sizeof c->imm);
	c->fimm = o->fimm;
	c->text = o->text;
	for (int i = 0; i < o->nout; i++)
		t->val[o->out[i]->id] = s.r = c->out[i];
	for (int i = 0; i < o->nin && i < (int)COUNT_OF(s.x); i++) {
		s.x[i] = c->in[i];
		s.e[i] = t->err[o->in[i]->id];
	}
	return s;
}

void
bound_want(Twin *t, const Val *v)
{
	t->missed = t->wanted[v->id] = true;
}

/* ---- structure -------------------------------------------------------------------------------- */

static void twin_block(Twin *t, const Block *b);

/* Do values that enter or leave regions carry their bounds along? Floats always do; integer tiles once
 * they are known to be inexact, since exact ones may be indices. Integer scalars are counters and
 * addresses and must be exact, and so must the bool that ends a loop early. Result i of a loop or if, NULL
 * for the grid's. */
static bool
carries(const Twin *t, const Op *owner, int i)
{
	const Val *v = owner ? owner->out[i] : NULL;

	if (!v)
		return false;
	return dtype_info[v->type.dtype].kind == K_flt || (v->type.space == S_reg && t->marked[v->id]);
}

/* Appends the bounds of carried values to the values; returns the total. */
static int
with_bounds(Twin *t, const Op *owner, Val *const *v, int n, Val **out)
{
	int m = n;

	for (int i = 0; i < n; i++) {
		out[i] = bound_val(t, v[i]);
		if (carries(t, owner, i)) {
			out[m++] = bound_or_zero(t, v[i]);
		} else if (t->err[v[i]->id] && owner && v[i]->type.space == S_reg) {
			bound_want(t, owner->out[i]);
		} else {
			bound_doubt(t, t->err[v[i]->id]);
		}
	}
	return m;
}

static int
types_with_bounds(const Twin *t, const Op *owner, Type *out)
{
	int m = owner->nout;

	for (int i = 0; i < owner->nout; i++) {
		out[i] = owner->out[i]->type;
		if (carries(t, owner, i))
			out[m++] = bound_type(&out[i]);
	}
	return m;
}

/* `got` has the copies of v[0..), which are the owner's results or correspond to them, followed by the
 * bounds. */
static void
bind_with_bounds(Twin *t, const Op *owner, Val *const *v, Val *const *got)
{
	int m = owner->nout;

	for (int i = 0; i < owner->nout; i++) {
		t->val[v[i]->id] = got[i];
		t->err[v[i]->id] = carries(t, owner, i) ? got[m++] : NULL;
	}
}

Val *
bound_of_yield(Twin *t, const Site *s)
{
	const Op *o = s->o;
	Val **in = NEWN(t->a, Val *, 2 * o->nin);
	int n = with_bounds(t, o->parent->owner, o->in, o->nin, in);

	op_new(t->at, NULL, O_yield, o->src, n, in, 0, NULL);
	return NULL;
}

static void
twin_region(Twin *t, Op *owner, int r, const Block *b)
{
	Block *outer = t->at;

	t->at = owner->blk[r];
	twin_block(t, b);
	t->at = outer;
}

Val *
bound_of_for(Twin *t, const Site *s)
{
	const Op *o = s->o;
	Val **in = NEWN(t->a, Val *, 3 + 2 * o->nin);
	Type *out = NEWN(t->a, Type, 2 * o->nout + 1);
	const Block *body = o->blk[0];
	int nin = IN_for_init +
	          with_bounds(t, o, o->in + IN_for_init, o->nin - IN_for_init, in + IN_for_init);
	int nout = types_with_bounds(t, o, out);
	Op *f;

	for (int i = 0; i < 3; i++) {
		in[i] = bound_val(t, o->in[i]);
		bound_doubt(t, t->err[o->in[i]->id]);
	}
	f = op_new(t->at, NULL, O_for, o->src, nin, in, nout, out);
	memcpy(f->imm, o->imm, sizeof f->imm);
	f->blk[0] = block_new(t->to, f);
	t->val[body->arg[0]->id] = block_arg(f->blk[0], body->arg[0]->type);
	for (int i = 0; i < nout; i++)
		block_arg(f->blk[0], out[i]);
	bind_with_bounds(t, o, body->arg + 1, f->blk[0]->arg + 1);
	twin_region(t, f, 0, body);
	bind_with_bounds(t, o, o->out, f->out);
	return NULL;
}

/* Does it only print? */
static bool
only_says(const Op *o)
{
	for (int r = 0; r < 2; r++)
		for (const Op *x = o->blk[r]->first; x; x = x->next)
			if (x->code != O_print && x->code != O_yield && !op_is(x, F_PURE))
				return false;
	return o->nout == 0;
}

Val *
bound_of_if(Twin *t, const Site *s)
{
	const Op *o = s->o;
	Type *out = NEWN(t->a, Type, 2 * o->nout + 1);
	int nout = types_with_bounds(t, o, out);
	Val *cond = bound_val(t, if_cond(o));
	Op *f;

	if (!only_says(o))
		bound_doubt(t, t->err[if_cond(o)->id]);
	f = op_new(t->at, NULL, O_if, o->src, 1, &cond, nout, out);
	for (int r = 0; r < 2; r++) {
		f->blk[r] = block_new(t->to, f);
		twin_region(t, f, r, o->blk[r]);
	}
	bind_with_bounds(t, o, o->out, f->out);
	return NULL;
}

Val *
bound_of_roles(Twin *t, const Site *s)
{
	const Op *o = s->o;
	Op *c = op_new(t->at, NULL, O_roles, o->src, 0, NULL, 0, NULL);

	for (int r = 0; r < 2; r++) {
		c->blk[r] = block_new(t->to, c);
		twin_region(t, c, r, o->blk[r]);
	}
	return NULL;
}

/* May the op lose its bound at once? Bounds of additions, multiplications and selections only grow
 * gradually. */
static bool
may_lose(const Op *o)
{
	switch ((int)o->code) {
	case O_add:
	case O_sub:
	case O_mul:
	case O_fma:
	case O_min:
	case O_max:
	case O_neg:
	case O_abs:
	case O_select:
	case O_cast: return false;
	default: return op_is(o, F_ELT) && !op_is(o, F_COMPARE);
	}
}

/* Ops with regions, and their terminators, are rebuilt with the bounds that they carry; others are
 * copied. */
static void
twin_op(Twin *t, const Op *o)
{
	static BoundFn *const rule[O_COUNT] = {
#define OP_BOUND(name, rule) [O_##name] = bound_of_##rule,
#include "hexc/ir/ops.def"
	};
	Site s = { .o = o };
	Val *e;

	arena_step(t->a);
	t->now = o;
	if (o->blk[0] || op_is(o, F_TERM)) {
		rule[o->code](t, &s);
		return;
	}
	s = copy_op(t, o);
	if (s.r) {
		e = t->err[o->out[0]->id] = rule[o->code](t, &s);
		if (e && may_lose(o))
			bound_loses(t, &s, e);
	} else
		rule[o->code](t, &s);
}

static void
twin_block(Twin *t, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next)
		twin_op(t, o);
}

/* ---- the kernel ------------------------------------------------------------------------------- */

/* Adds parameter n: an f64 tensor with p's sizes and strides. */
static Val *
beside(Twin *t, const Param *p, const char *what, int n)
{
	Param *own = &t->to->param[n];

	*own = *p;
	own->read = own->written = true;
	own->name = arena_printf(t->a, "%s of %s", what, p->name);
	own->val = block_arg(t->to->body, bound_type(&p->val->type));
	return own->val;
}

static void
twin_params(Twin *t)
{
	Kernel *k = t->to;
	const Kernel *from = t->from;
	int n = from->nparam;

	k->param = NEWN(t->a, Param, (2 + BOUND_SUMS) * from->nparam + 1);
	for (int i = 0; i < from->nparam; i++) {
		Val *old = from->body->arg[i];
		k->param[i] = from->param[i];
		k->param[i].val = t->val[old->id] = block_arg(k->body, old->type);
	}
	for (int i = 0; i < from->nparam; i++) {
		const Param *p = &from->param[i];
		Val *old = from->body->arg[i];
		if (p->kind != P_tensor || !p->written)
			continue;
		t->err[old->id] = beside(t, p, "the bounds", n++);
		if (!bound_has_sums(from, old))
			continue;
		t->sums[old->id] = NEW(t->a, BoundSums);
		for (int s = 0; s < BOUND_SUMS; s++)
			t->sums[old->id]->at[s] = beside(t, p, "sums", n++);
	}
	bound_doubt_param(t, &k->param[n]);
	k->nparam = n + 1;
}

/* Sizes and strides are values of the body, so they are mapped once the body is copied. */
static void
twin_sizes(Twin *t)
{
	for (int i = 0; i < t->to->nparam - 1; i++) {
		Param *p = &t->to->param[i];
		for (int d = 0; d < DIM_MAX; d++) {
			p->size[d] = p->size[d] ? bound_val(t, p->size[d]) : NULL;
			p->stride[d] = p->stride[d] ? bound_val(t, p->stride[d]) : NULL;
		}
	}
}

static void
twin_kernel(Twin *t)
{
	Kernel *k = t->from;

	t->to = kernel_new(k->unit, k->name);
	t->to->masked = k->masked;
	t->to->warps = k->warps;
	t->to->teams = k->teams;
	t->to->producer_warps = k->producer_warps;
	t->to->src = k->src;
	t->val = NEWN(t->a, Val *, k->nval + 1);
	t->err = NEWN(t->a, Val *, k->nval + 1);
	t->unsure = NEWN(t->a, Val *, k->nval + 1);
	t->sums = NEWN(t->a, BoundSums *, k->nval + 1);
	t->missed = false;
	t->ops->n = 0;
	t->wanted = NEWN(t->a, bool, k->nval + 1);
	twin_params(t);
	t->at = t->to->grid;
	twin_block(t, k->grid);
	t->at = t->to->body;
	bound_doubt_size(t);
	twin_block(t, k->body);
	twin_sizes(t);
}

/* Repeats the rewriting until all tracked memory is known: a shared tile needs bounds once a value with a
 * bound is stored to it, an integer tile once a loop or if returns it with one. */
Kernel *
bound_kernel(Kernel *k, BoundOps *ops)
{
	enum { TRIES = 8 };
	Twin t;

	memset(&t, 0, sizeof t);
	t.from = k;
	t.a = k->unit->arena;
	t.ops = ops;
	t.marked = NEWN(t.a, bool, k->nval + 1);
	for (int i = 1; i <= TRIES; i++) {
		if (i == TRIES)
			memset(t.marked, true, k->nval + 1);
		twin_kernel(&t);
		if (t.failed)
			return NULL;
		if (!t.missed)
			break;
		for (uint32_t v = 0; v <= k->nval; v++)
			t.marked[v] |= t.wanted[v];
	}
	return t.to;
}
