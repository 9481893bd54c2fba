/* divmod_iv.c - strength-reduces `i / c` and `i % c` of a loop counter to mixed-radix induction variables
 * (wheels).
 *
 * i / 9, i % 9 / 3 and i % 3 are read from three digits with the radices 3, 3 and unbounded. An iteration
 * takes one add and one compare per digit, where a division takes two multiplications. An address computed
 * from the digits is incremented, by an amount that depends on the digits that wrap around, instead of
 * being recomputed. */
#include "ptxgen/base/divmod_iv.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"

/* The digits that represent one index of the body. */
typedef struct DivmodIndex {
	const Val *x;
	InductionVar as;
	DivmodIv *low;
} DivmodIndex;

enum { ROWS_MAX = WHEELS_MAX / 2 };

typedef struct Rows {
	DivmodIndex row[ROWS_MAX];
	int n;
} Rows;

/* ---- divisions ------------------------------------------------------------------------------- */

static const struct Span *
find_span(const Loop *l, const Val *v)
{
	for (int i = 0; i < l->nspan; i++)
		if (l->span[i].v == v)
			return &l->span[i];
	return NULL;
}

static void
span_add(Codegen *g, const Val *v, DivmodIv *from, DivmodIv *to)
{
	struct Span s = { v, from, to };

	VEC_PUSH(g->a, g->loop->span, g->loop->nspan, g->loop->span_cap, s);
}

/* Splits a digit: it gets the radix `below` (or `over`), and a new digit above it the rest. */
static void
wheel_split(Codegen *g, DivmodIv *w, Val *over, int64_t below)
{
	DivmodIv *up = NEW(g->a, DivmodIv);

	*up = *w;
	if (w->below)
		up->below = w->below / below;
	w->up = up;
	w->over = over;
	w->below = below;
}

/* Returns the digit before which the digits from w on have `over` as the product of their radices; NULL if
 * there is none. */
static DivmodIv *
wheel_at(Codegen *g, DivmodIv *w, const DivmodIv *to, Val *over)
{
	int64_t rest;

	if (!val_is_const(over, &rest)) {
		if (w != to && !w->up)
			wheel_split(g, w, over, 0);
		return w != to && w->over == over ? w->up : NULL;
	}
	for (; rest > 1 && w != to && !w->over; w = w->up) {
		if (!w->up || (w->below > rest && w->below % rest == 0))
			wheel_split(g, w, NULL, rest);
		if (rest % w->below)
			return NULL;
		rest /= w->below;
	}
	return rest == 1 ? w : NULL;
}

/* Returns the row for x, if x increases from iteration to iteration; else NULL. */
static const DivmodIndex *
row_of(Codegen *g, Rows *rows, Val *x)
{
	DivmodIndex r = { .x = x };

	for (int i = 0; i < rows->n; i++)
		if (rows->row[i].x == x)
			return &rows->row[i];

	if (rows->n == ROWS_MAX || val_fact(g->k, x).lo < 0)
		return NULL;
	r.as = linear_of(g, x);
	if (!r.as.ok || r.as.by <= 0 || !linear_even(&r.as))
		return NULL;
	r.low = NEW(g->a, DivmodIv);
	rows->row[rows->n] = r;
	return &rows->row[rows->n++];
}

/* Is o a division or remainder of indices, by a loop-invariant value? */
static bool
is_quotient(Codegen *g, const Op *o)
{
	int64_t c;

	if ((o->code != O_div && o->code != O_mod) || o->out[0]->type.space != S_scalar ||
	    o->out[0]->type.dtype != D_i64 || val_fact(g->k, elt_rhs(o)).lo <= 0)
		return false;
	return val_is_const(elt_rhs(o), &c) || !block_inside(elt_rhs(o)->block, g->loop->op->blk[0]);
}

static void
read_op(Codegen *g, Rows *rows, const Op *o)
{
	const struct Span *part = find_span(g->loop, elt_lhs(o));
	const DivmodIndex *row = part ? NULL : row_of(g, rows, elt_lhs(o));
	DivmodIv *from = part ? part->from : row ? row->low : NULL, *to = part ? part->to : NULL;
	DivmodIv *at = from ? wheel_at(g, from, to, elt_rhs(o)) : NULL;

	if (at)
		span_add(g, o->out[0], o->code == O_div ? at : from, o->code == O_div ? to : at);
}

/* ---- selection of digits --------------------------------------------------------------------- */

/* Computes what an iteration adds to each digit of a row. Returns false if a digit may carry more than
 * one. */
static bool
row_adds(Codegen *g, const DivmodIndex *r)
{
	int64_t left = r->as.by;

	for (DivmodIv *w = r->low; w; w = w->up) {
		bool carried = w != r->low;

		w->add = w->below ? left % w->below : left;
		w->meets = w->add + carried <= 1 ||
		           (!carried && w->below && w->below % w->add == 0 &&
		            val_fact(g->k, r->x).mult % w->add == 0);
		left = w->below ? left / w->below : 0;
		if (w->over && w->add && w->add + carried > val_fact(g->k, w->over).lo)
			return false;
	}
	return true;
}

/* Is a row profitable? Shifts and masks are as cheap as digits. */
static bool
row_pays(const DivmodIndex *r)
{
	int n = 0;
	bool dear = false;

	for (const DivmodIv *w = r->low; w; w = w->up) {
		dear = dear || w->over || (w->below && !is_pow2(w->below));
		n++;
	}
	return dear && n <= WHEELS_MAX;
}

/* Do the digit's values, and what is added to them, fit 32 bits? */
static bool
is_narrow(Codegen *g, const DivmodIndex *r, const DivmodIv *w)
{
	const int64_t most = (int64_t)1 << 30;

	if (w->over)
		return val_fact(g->k, w->over).hi <= most;
	return w->below ? w->below <= most : val_fact(g->k, r->x).hi <= most;
}

/* Emits the initial digits of a row; the builder is before the loop. */
static void
row_begin(Codegen *g, const DivmodIndex *r)
{
	LV left = r->as.first;

	for (DivmodIv *w = r->low; w; w = w->up) {
		LLVMTypeRef type = is_narrow(g, r, w) ? g->i32 : g->i64;
		LV end = w->over ? scalar_get(g, w->over) : const_i64(g, w->below), at = left;

		if (w->up) {
			at = LLVMBuildURem(g->b, left, end, "");
			left = LLVMBuildUDiv(g->b, left, end, "");
			w->end = LLVMBuildTrunc(g->b, end, type, "");
		}
		w->first = LLVMBuildTrunc(g->b, at, type, "");
		w->now = moving_phi(g, w->first);
	}
}

/* Drops the spans of a row that is not emitted. */
static void
row_drop(Loop *l, const DivmodIndex *r)
{
	int kept = 0;

	for (int i = 0; i < l->nspan; i++) {
		const DivmodIv *w = r->low;

		while (w && w != l->span[i].from)
			w = w->up;
		if (!w)
			l->span[kept++] = l->span[i];
	}
	l->nspan = kept;
}

static void
row_make(Codegen *g, const DivmodIndex *r)
{
	LLVMBasicBlockRef block;
	Loop *l = g->loop;
	int n = 0;

	for (const DivmodIv *w = r->low; w; w = w->up)
		n++;
	if (l->nwheel + n > WHEELS_MAX || !row_pays(r) || !row_adds(g, r)) {
		row_drop(l, r);
		return;
	}
	block = moving_front(g);
	row_begin(g, r);
	moving_back(g, block);
	for (DivmodIv *w = r->low; w; w = w->up) {
		w->number = l->nwheel;
		l->wheel[l->nwheel++] = w;
	}
}

void
wheels_new(Codegen *g)
{
	Rows rows = { .n = 0 };
	Block *body = g->loop->op->blk[0];
	OpWalk w;

	if (!moving_pays(g))
		return;
	for (Op *o = walk_first(&w, body); o; o = walk_next(&w))
		if (is_quotient(g, o))
			read_op(g, &rows, o);
	for (int i = 0; i < rows.n; i++)
		row_make(g, &rows.row[i]);
}

/* ---- values of digits ------------------------------------------------------------------------ */

static LV
as_type(Codegen *g, LV x, LLVMTypeRef type)
{
	if (LLVMTypeOf(x) == type)
		return x;
	return (type == g->i32 ? LLVMBuildTrunc : LLVMBuildZExt)(g->b, x, type, "");
}

/* Returns the number formed by digits [from, to) in this iteration, or in the first one. */
static LV
span_shows(Codegen *g, const DivmodIv *from, const DivmodIv *to, bool first, LLVMTypeRef type)
{
	LV low, up;

	if (from == to)
		return LLVMConstInt(type, 0, 0);
	low = as_type(g, first ? from->first : from->now, type);
	if (from->up == to)
		return low;
	up = span_shows(g, from->up, to, first, type);
	up = LLVMBuildMul(g->b, up, as_type(g, from->end, type), "");
	return LLVMBuildAdd(g->b, up, low, "");
}

LV
wheels_value(Codegen *g, const Val *v)
{
	const struct Span *s = NULL;
	LLVMTypeRef type = val_fact(g->k, v).hi <= INT32_MAX ? g->i32 : g->i64;

	for (const Loop *l = g->loop; l && !s; l = l->outer)
		s = find_span(l, v);
	return s ? as_type(g, span_shows(g, s->from, s->to, false, type), g->i64) : NULL;
}

/* Returns the number of values of the digits as i64, computed before the loop; NULL if they are unbounded,
 * or there are too many. *by: what an iteration adds, without the carry from the digit below. */
static LV
span_count(Codegen *g, const struct Span *s, int64_t *by)
{
	LV all = const_i64(g, 1);
	int64_t each = 1;

	*by = 0;
	for (const DivmodIv *w = s->from; w != s->to; w = w->up) {
		*by += w->add * each; /* nothing is added above an unknown radix */
		if (!w->up || !mul64(each, w->over ? 1 : w->below, &each))
			return NULL;
		all = LLVMBuildMul(g->b, all, as_type(g, w->end, g->i64), "");
	}
	return all;
}

/* Returns the next lower digit; NULL if w is the lowest. */
static const DivmodIv *
wheel_under(const Loop *l, const DivmodIv *w)
{
	for (int i = 0; i < l->nwheel; i++)
		if (l->wheel[i]->up == w)
			return l->wheel[i];
	return NULL;
}

InductionVar
wheels_linear(Codegen *g, const Val *v)
{
	const struct Span *s = g->loop->nwheel ? find_span(g->loop, v) : NULL;
	const DivmodIv *under;
	InductionVar x = { .ok = false };
	LLVMBasicBlockRef block;
	LV count;

	if (!s || s->from == s->to)
		return x;
	x.ok = true;
	block = moving_front(g);
	x.first = span_shows(g, s->from, s->to, true, g->i64);
	count = span_count(g, s, &x.by);
	under = wheel_under(g->loop, s->from);
	if (under)
		x.carry[under->number] = const_i64(g, 1);
	if (s->to) {
		under = wheel_under(g->loop, s->to);
		x.ok = count != NULL;
		x.carry[under->number] = count ? LLVMBuildNeg(g->b, count, "") : NULL;
	}
	moving_back(g, block);
	return x;
}

/* ---- update per iteration -------------------------------------------------------------------- */

static void
wheel_next(Codegen *g, DivmodIv *w, const DivmodIv *under)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
	LLVMTypeRef type = LLVMTypeOf(w->now);
	LV next = LLVMBuildAdd(g->b, w->now, LLVMConstInt(type, (unsigned long long)w->add, 0), ""), again;

	if (under)
		next = LLVMBuildAdd(g->b, next, LLVMBuildZExt(g->b, under->carry, type, ""), "");
	if (w->up) {
		w->carry = LLVMBuildICmp(g->b, w->meets ? LLVMIntEQ : LLVMIntUGE, next, w->end, "");
		again = w->meets ? LLVMConstInt(type, 0, 0) : LLVMBuildSub(g->b, next, w->end, "");
		next = LLVMBuildSelect(g->b, w->carry, again, next, "");
	}
	LLVMAddIncoming(w->now, &next, &from, 1);
}

void
wheels_next(Codegen *g)
{
	for (int i = 0; i < g->loop->nwheel; i++)
		wheel_next(g, g->loop->wheel[i], wheel_under(g->loop, g->loop->wheel[i]));
}

/* Does w wrap around only if the lower digit `below` does? */
static bool
is_carried(const DivmodIv *below, const DivmodIv *w)
{
	for (; below != w && below->up && !below->up->add; below = below->up)
		;
	return below == w;
}

LV
wheels_turn(Codegen *g, const IvIncrement *turn)
{
	LV sum = turn->by ? turn->by : const_i64(g, 0), all = sum, more;
	const DivmodIv *last = NULL;
	bool nested = true;

	for (int i = 0; i < g->loop->nwheel; i++) {
		const DivmodIv *w = g->loop->wheel[i];

		if (!turn->carry[i])
			continue;
		nested = nested && (!last || is_carried(last, w));
		last = w;
		if (nested) {
			LLVMBasicBlockRef block = moving_front(g);

			/* otherwise LLVM splits the sum again */
			sum = asm_op(g, A_opaque64, LLVMBuildAdd(g->b, sum, turn->carry[i], ""), NULL, NULL);
			moving_back(g, block);
			all = LLVMBuildSelect(g->b, w->carry, sum, all, "");
			continue;
		}
		more = LLVMBuildSelect(g->b, w->carry, turn->carry[i], const_i64(g, 0), "");
		all = LLVMBuildAdd(g->b, all, more, "");
	}
	return all;
}
