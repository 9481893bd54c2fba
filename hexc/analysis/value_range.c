/* value_range.c - computes range and divisor of index values (val_fact) by abstract interpretation of their
 * defining ops, for all passes.
 *
 * All results are conservative: a wrong one would cause an invalid access on the device. */
#include "hexc/analysis/value_range.h"

enum { STEPS = 1500, ROUNDS = 24 };

static const Fact full = { 1, INT64_MIN, INT64_MAX };

bool
fact_is_full(Fact f)
{
	return f.lo == INT64_MIN && f.hi == INT64_MAX;
}

Asking
fact_asking(Kernel *k)
{
	Asking a = { .k = k, .steps = STEPS };

	return a;
}

/* Is v equal in all iterations of all loops? Then a condition at one place is valid during induction over
 * carried values, which also covers other iterations. */
static bool
is_invariant_to(const Val *v, int depth)
{
	const Block *b = v->block;

	while (b->owner && b->owner->code != O_for)
		b = b->owner->parent;
	if (!b->owner)
		return true;
	if (!v->def || depth == 0 || (!op_is(v->def, F_ELT) && v->def->code != O_const))
		return false;
	for (int i = 0; i < v->def->nin; i++)
		if (!is_invariant_to(v->def->in[i], depth - 1))
			return false;
	return true;
}

bool
val_is_invariant(const Val *v)
{
	enum { DEPTH = 3 };

	return is_invariant_to(v, DEPTH);
}

/* Does the condition, or one that it joins, compare loop invariants? */
static bool
is_of_invariants(const Val *cond)
{
	Joined all = val_joined(cond, O_and);

	for (int i = 0; i < all.n; i++) {
		const Op *c = all.part[i]->def;

		if (c && c->nin == 2 && val_is_invariant(c->in[0]) && val_is_invariant(c->in[1]))
			return true;
	}
	return false;
}

Asking
fact_asking_at(Kernel *k, const Op *at)
{
	Asking a = fact_asking(k);

	for (const Block *b = at->parent; b && b->owner && !a.at; b = b->owner->parent)
		a.at = b->owner->code == O_if && is_of_invariants(if_cond(b->owner)) ? at : NULL;
	return a;
}

static bool
fact_equal(Fact x, Fact y)
{
	return x.mult == y.mult && x.lo == y.lo && x.hi == y.hi;
}

/* ---- choices and loops --------------------------------------------------------------------------- */

/* Refines f of value v, given that cond is `taken`. */
static Fact
refine(Asking *a, const Val *cond, bool taken, const Val *v, Fact f)
{
	const Op *c = cond->def;
	OpCode code = c ? c->code : O_none;
	bool left;
	Fact y;

	if ((code != O_lt && code != O_le && code != O_eq && code != O_ne) ||
	    (elt_lhs(c) != v && elt_rhs(c) != v) || elt_lhs(c)->type.dtype != D_i64)
		return f;
	left = elt_lhs(c) == v;
	y = fact_of(a, left ? elt_rhs(c) : elt_lhs(c));
	if (code == O_eq || code == O_ne) {
		if (taken == (code == O_eq)) {
			f.lo = y.lo > f.lo ? y.lo : f.lo;
			f.hi = y.hi < f.hi ? y.hi : f.hi;
		} else if (y.lo == y.hi && f.lo < f.hi) {
			f.hi -= f.hi == y.lo;
			f.lo += f.lo == y.lo;
		}
	} else if (left == taken) {
		int64_t hi = y.hi - ((code == O_lt) == taken && y.hi != INT64_MIN);
		f.hi = hi < f.hi ? hi : f.hi;
	} else {
		int64_t lo = y.lo + ((code == O_lt) == taken && y.lo != INT64_MAX);
		f.lo = lo > f.lo ? lo : f.lo;
	}
	return f.lo <= f.hi ? fact_tighten(f) : f; /* empty: dead branch */
}

/* Range of v given that cond is `taken`, with its operands refined too. Empty: never reached. */
static Fact
fact_given(Asking *a, const Val *cond, bool taken, const Val *v, int depth)
{
	Fact f = refine(a, cond, taken, v, fact_of(a, v)), x, y;
	const Op *o = v->def;

	if (!o || depth == 0 || v->type.dtype != D_i64 || o->nin != 2 || !op_is(o, F_ELT))
		return f;
	x = fact_given(a, cond, taken, elt_lhs(o), depth - 1);
	y = fact_given(a, cond, taken, elt_rhs(o), depth - 1);
	if (x.lo > x.hi || y.lo > y.hi)
		return f;
	x = fact_binary(D_i64, o->code, x, y);
	x.mult = x.mult > f.mult ? x.mult : f.mult;
	x.lo = x.lo > f.lo ? x.lo : f.lo;
	x.hi = x.hi < f.hi ? x.hi : f.hi;
	return x;
}

static Fact
fact_choice(Asking *a, const Val *cond, const Val *yes, const Val *no)
{
	enum { DEPTH = 2 };
	Fact c = fact_of(a, cond), y0, n0, y, n;

	if (c.lo != 0 || c.hi == 0)
		return fact_of(a, c.hi == 0 ? no : yes);
	y0 = fact_of(a, yes);
	n0 = fact_of(a, no);
	y = fact_given(a, cond, true, yes, DEPTH);
	n = fact_given(a, cond, false, no, DEPTH);
	if (y.lo > y.hi && n.lo > n.hi)
		y = fact_join(y0, n0); /* neither is reachable */
	else if (y.lo > y.hi)
		y = n;
	else if (n.lo <= n.hi)
		y = fact_join(y, n);
	return y;
}

/* Returns the i-th value that a region yields; NULL while it is under construction. */
static const Val *
yielded(const Block *b, int i)
{
	return b && b->last && b->last->code == O_yield && i < b->last->nin ? b->last->in[i] : NULL;
}

/* Carried value i of a loop: the least range that contains the initial value and is preserved by the body,
 * found by fixed-point iteration. A bound that does not settle is widened to the type's. Carried values that
 * depend on each other are proved together: while one is assumed, the others are proved under that
 * assumption. */
static Fact
fact_carried(Asking *a, const Op *loop, int i)
{
	const Val *arg = loop->blk[0]->arg[1 + i], *next = yielded(loop->blk[0], i);
	Fact f, j;
	int at = a->nassumed;

	if (!next || dtype_past_i64(arg->type.dtype) || at == FACT_ASSUMED)
		return fact_type(arg->type.dtype);
	f = fact_of(a, for_init(loop, i));
	a->assumed[at] = arg;
	a->nassumed++;
	for (int round = 0; a->steps > 0; round++) {
		a->as[at] = f;
		j = fact_join(f, fact_of(a, next));
		if (a->steps > 0 && fact_equal(j, f)) {
			a->nassumed = at;
			return f;
		}
		if (round > ROUNDS) {
			j.lo = j.lo < f.lo ? fact_type(arg->type.dtype).lo : j.lo;
			j.hi = j.hi > f.hi ? fact_type(arg->type.dtype).hi : j.hi;
		}
		f = j;
	}
	a->nassumed = at;
	return fact_type(arg->type.dtype);
}

static Fact
fact_if(Asking *a, const Op *o, int i)
{
	const Val *yes = yielded(o->blk[0], i), *no = yielded(o->blk[1], i);

	return yes && no ? fact_choice(a, if_cond(o), yes, no) : fact_type(o->out[i]->type.dtype);
}

/* The counter: lo, lo + step, .. while < hi. */
static Fact
fact_counter(Asking *a, const Op *loop)
{
	Fact lo = fact_of(a, for_lo(loop)), hi = fact_of(a, for_hi(loop)), step = fact_of(a, for_step(loop));
	Fact f = { gcd64(lo.mult, step.mult), lo.lo, hi.hi };

	/* the last counter + step must not wrap around */
	if (step.lo < 1 || hi.hi == INT64_MIN || hi.hi > INT64_MAX - step.hi)
		return full;
	f.hi--;
	return f.hi < f.lo ? lo : fact_tighten(f); /* hi <= lo: zero trip count */
}

/* ---- conditions of enclosing ifs ------------------------------------------------------------------ */

int64_t
cond_multiple(const Val *cond, const Val **v)
{
	const Op *c = cond->def, *mod = c && c->code == O_eq ? elt_lhs(c)->def : NULL;
	int64_t by, zero;

	if (!mod || mod->code != O_mod || !val_is_const(elt_rhs(c), &zero) || zero != 0 ||
	    !val_is_const(elt_rhs(mod), &by) || by < 1)
		return 0;
	*v = elt_lhs(mod);
	return by;
}

/* Refines f of v, given that cond, `x % c == 0` or a comparison, is `taken`. A value that may have wrapped
 * around keeps its full range, which marks it as such. */
static Fact
guarded_by(Asking *a, const Val *cond, bool taken, const Val *v, Fact f)
{
	const Val *x = NULL;
	int64_t by = cond_multiple(cond, &x);

	if (!cond->def)
		return f;
	if (!by || x != v)
		return fact_is_full(f) ? f : refine(a, cond, taken, v, f);
	if (taken && f.mult && f.mult % by)
		mul64(f.mult / gcd64(f.mult, by), by, &f.mult);
	if (!taken && f.lo == 0 && f.hi > 0)
		f.lo = 1; /* 0 is a multiple of everything */
	return f;
}

/* Refines f of v by the ifs around a->at. Conditions are evaluated without conditions. */
static Fact
guarded(Asking *a, const Val *v, Fact f)
{
	const Op *at = a->at;

	a->at = NULL;
	for (const Block *b = at->parent; b && b->owner; b = b->owner->parent) {
		bool taken = b == b->owner->blk[0];
		Joined all;

		if (b->owner->code != O_if)
			continue;
		all = val_joined(if_cond(b->owner), taken ? O_and : O_none);
		for (int i = 0; i < all.n; i++)
			f = guarded_by(a, all.part[i], taken, v, f);
	}
	a->at = at;
	return f;
}

/* ---- the value ----------------------------------------------------------------------------------- */

/* Is v x, or a factor of the product x? */
static bool
is_factor(const Val *x, const Val *v)
{
	const Op *o = x->def;

	return x == v || (o && o->code == O_mul && (is_factor(elt_lhs(o), v) || is_factor(elt_rhs(o), v)));
}

/* Is v an extent of the grid, or a factor of one? It is nonzero in every block that runs. */
static bool
is_grid_extent(const Kernel *k, const Val *v)
{
	const Op *y = k->grid ? k->grid->last : NULL;

	for (int i = 0; y && y->code == O_yield && i < y->nin; i++)
		if (is_factor(y->in[i], v))
			return true;
	return false;
}

static Fact
fact_param(const Kernel *k, const Param *p, DType d)
{
	Fact f = { p->mult, p->lo, p->hi }, t = fact_type(d);

	if (p->kind == P_tensor)
		return t;
	if (f.mult == 0 && f.lo == 0 && f.hi == 0)
		f = t; /* not filled in */
	if (p->kind == P_size) {
		t.lo = is_grid_extent(k, p->val);
		t.hi = SIZE_LIMIT;
	}
	f.lo = f.lo > t.lo ? f.lo : t.lo;
	f.hi = f.hi < t.hi ? f.hi : t.hi;
	return f.lo <= f.hi && !fact_is_full(f) ? fact_tighten(f) : f;
}

/* Block ids are 0 .. extent - 1; CUDA limits the grid itself. */
static Fact
fact_block_id(Asking *a, int64_t axis)
{
	const Op *y = a->k->grid ? a->k->grid->last : NULL;
	Fact f = { 1, 0, axis == 0 ? 2147483646 : 65534 }, g;

	if (y && y->code == O_yield && y->nin == 3) {
		g = fact_of(a, y->in[axis]);
		if (g.hi >= 1 && g.hi - 1 < f.hi)
			f.hi = g.hi - 1;
	}
	return f.hi == 0 ? fact_const(0) : f;
}

/* Returns x if o is (x + (s - 1)) / s, a quotient rounded up; or NULL. */
static const Val *
rounded_up(const Op *o)
{
	const Op *sum = elt_lhs(o)->def, *less = sum && sum->code == O_add ? elt_rhs(sum)->def : NULL;
	int64_t one;

	if (o->code != O_div || !less || less->code != O_sub || elt_lhs(less) != elt_rhs(o) ||
	    !val_is_const(elt_rhs(less), &one) || one != 1)
		return NULL;
	return elt_lhs(sum);
}

/* A quotient of numbers; one that is rounded up is at most the dividend, or 0. */
static Fact
fact_quotient(Asking *a, const Op *o)
{
	Fact by = fact_of(a, elt_rhs(o)), sum = fact_of(a, elt_lhs(o));
	Fact f = fact_binary(o->out[0]->type.dtype, O_div, sum, by);
	const Val *x = rounded_up(o);

	if (x && by.lo >= 1 && !fact_is_full(sum)) /* has not wrapped around */
		f.hi = min64(f.hi, max64(0, fact_of(a, x).hi));
	return f;
}

/* Returns the factors of v that are not constants, if they are one value, and the product of the
 * constants. */
static const Val *
without_constants(const Val *v, int64_t *by)
{
	int64_t c;

	*by = 1;
	while (v->def && v->def->code == O_mul && val_is_const(elt_rhs(v->def), &c) && c > 0 &&
	       mul64(*by, c, by))
		v = elt_lhs(v->def);
	return v;
}

/* Is the product of `id` and `each` the start of the block's share: index i of n blocks times (x / n,
 * rounded up), times a constant? It is less than (x + n) times the constant. */
static bool
fact_share(Asking *a, const Val *id, const Val *each, Fact *out)
{
	const Op *y = a->k->grid ? a->k->grid->last : NULL;
	int64_t by, end;
	const Val *q = without_constants(each, &by), *x;
	Fact fx, n;

	x = q->def && q->def->nin == 2 ? rounded_up(q->def) : NULL;
	if (!id->def || id->def->code != O_block_id || !x || !y || y->code != O_yield || y->nin != 3 ||
	    elt_rhs(q->def) != y->in[IMM(id->def, axis)])
		return false;
	fx = fact_of(a, x);
	n = fact_of(a, elt_rhs(q->def));
	if (fx.lo < 0 || n.lo < 1 || !add64(fx.hi, n.hi, &end) || !mul64(end, by, &end))
		return false;
	*out = (Fact){ fact_of(a, each).mult, 0, end };
	return true;
}

static Fact
fact_product(Asking *a, const Op *o)
{
	DType d = o->out[0]->type.dtype;
	Fact f = fact_binary(d, O_mul, fact_of(a, elt_lhs(o)), fact_of(a, elt_rhs(o))), g;

	if (!type_is_index(&o->out[0]->type))
		return f;
	if (fact_share(a, elt_lhs(o), elt_rhs(o), &g) || fact_share(a, elt_rhs(o), elt_lhs(o), &g))
		if (fact_is_full(f) || g.hi < f.hi)
			return fact_tighten(g);
	return f;
}

static Fact
fact_op(Asking *a, const Val *v)
{
	const Op *o = v->def;
	DType d = v->type.dtype;
	Val *const *in = o->in;

	switch (o->code) {
	case O_const: return fact_const(IMM(o, value));
	case O_block_id: return fact_block_id(a, IMM(o, axis));
	case O_select: return fact_choice(a, in[0], in[1], in[2]);
	case O_if: return fact_if(a, o, v->index);
	case O_for: return fact_carried(a, o, v->index);
	case O_cast: return fact_cast(d, in[0]->type.dtype, fact_of(a, in[0]));
	case O_neg: return fact_neg(d, fact_of(a, in[0]));
	case O_div: return fact_quotient(a, o);
	case O_mul: return fact_product(a, o);
	case O_lt:
	case O_le:
	case O_eq:
	case O_ne:
		if (dtype_past_i64(in[0]->type.dtype) || dtype_is_float(in[0]->type.dtype))
			return fact_type(d);
		return fact_compare(o->code, fact_of(a, in[0]), fact_of(a, in[1]));
	default:
		if (o->nin != 2 || !op_is(o, F_ELT))
			return fact_type(d);
		return fact_binary(d, o->code, fact_of(a, in[0]), fact_of(a, in[1]));
	}
}

static Fact
fact_any(Asking *a, const Val *v)
{
	if (v->def)
		return fact_op(a, v);
	if (v->block->owner == NULL && v->index < a->k->nparam)
		return fact_param(a->k, &a->k->param[v->index], v->type.dtype);
	if (v->block->owner == NULL || v->block->owner->code != O_for)
		return fact_type(v->type.dtype);
	if (v->index == 0)
		return fact_counter(a, v->block->owner);
	return fact_carried(a, v->block->owner, v->index - 1);
}

/* ---- answers remembered -------------------------------------------------------------------------- */

/* Results under the conditions around one block; block NULL: without conditions. */
typedef struct Answer {
	const Val *v; /* NULL: empty entry */
	Fact f;
} Answer;

typedef struct Answers {
	const Block *at;
	Answer *of;    /* hash table by value id, linear probing: few values are queried per block */
	uint32_t n, m; /* entries in use; capacity, a power of two */
} Answers;

struct FactMemo {
	Answers *all; /* most recently used first */
	int n, cap;
	int nest;
};

void
facts_keep(Kernel *k)
{
	if (!k->facts)
		k->facts = NEW(k->unit->arena, struct FactMemo);
	k->facts->nest++;
}

void
facts_drop(Kernel *k)
{
	if (--k->facts->nest == 0)
		k->facts = NULL;
}

/* Returns the table for a's conditions; NULL: memoization is off. */
static Answers *
answers_to(const Asking *a)
{
	struct FactMemo *m = a->k->facts;
	const Block *at = a->at ? a->at->parent : NULL;
	Answers found = { .at = at };
	int i = 0;

	if (!m)
		return NULL;
	while (i < m->n && m->all[i].at != at)
		i++;
	if (i == m->n)
		VEC_PUSH(a->k->unit->arena, m->all, m->n, m->cap, found);
	found = m->all[i];
	m->all[i] = m->all[0];
	m->all[0] = found;
	return m->all;
}

/* Returns the entry of v, or the free one where it belongs. */
static Answer *
answer_place(const Answers *m, const Val *v)
{
	uint32_t i = v->id & (m->m - 1);

	while (m->of[i].v && m->of[i].v != v)
		i = (i + 1) & (m->m - 1);
	return &m->of[i];
}

static void
answers_grow(Arena *a, Answers *m)
{
	enum { FIRST = 16 };
	Answers old = *m;

	m->m = old.m ? 2 * old.m : FIRST;
	m->of = NEWN(a, Answer, m->m);
	for (uint32_t i = 0; i < old.m; i++)
		if (old.of[i].v)
			*answer_place(m, old.of[i].v) = old.of[i];
}

/* Stores results found without assumptions, before the steps were spent. */
static void
memoize_range(const Asking *a, const Val *v, Fact f)
{
	Answers *m = a->nassumed || a->steps <= 0 ? NULL : answers_to(a);
	Answer *at;

	if (!m)
		return;
	if (2 * m->n >= m->m)
		answers_grow(a->k->unit->arena, m);
	at = answer_place(m, v);
	m->n += !at->v;
	*at = (Answer){ v, f };
}

Fact
fact_of(Asking *a, const Val *v)
{
	const Answers *m;
	DType d = v->type.dtype;
	Fact f;

	if (v->type.space != S_scalar || dtype_is_float(d) || dtype_past_i64(d) || a->steps-- <= 0)
		return fact_type(d);
	a->k->nfact++;
	m = answers_to(a);
	if (m && m->m && answer_place(m, v)->v)
		return answer_place(m, v)->f;
	for (int i = 0; i < a->nassumed; i++)
		if (a->assumed[i] == v)
			return a->as[i];
	f = fact_any(a, v);
	if (a->at && val_is_invariant(v))
		f = guarded(a, v, f);
	f = f.lo <= f.hi ? f : fact_type(d); /* a contradiction implies nothing */
	memoize_range(a, v, f);
	return f;
}

Fact
val_fact(Kernel *k, const Val *v)
{
	Asking a = fact_asking(k);

	return fact_of(&a, v);
}

Fact
val_fact_at(Kernel *k, const Op *at, const Val *v)
{
	Asking a = fact_asking_at(k, at);
	Fact f = val_fact(k, v), g = fact_of(&a, v); /* may run out of steps */

	f.mult = f.mult && g.mult % f.mult == 0 ? g.mult : f.mult;
	f.lo = max64(f.lo, g.lo);
	f.hi = min64(f.hi, g.hi);
	f = f.lo <= f.hi ? f : val_fact(k, v); /* dead code */
	a.at = at;
	return val_is_invariant(v) ? f : guarded(&a, v, f);
}
