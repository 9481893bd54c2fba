/* lower_scan.c - scans: every element combined with all before it, in steps of 1, 2, 4 ... places
 * (W. D. Hillis and G. L. Steele, "Data parallel algorithms", 1986). */
#include "hexc/lang/lower.h"
#include "hexc/ir/number.h"
#include <math.h>
#include <string.h>

/* x moved n places up along dim, `in` (a number) coming in at the start. */
static Value
shifted(Lower *l, Src src, Value x, int dim, int64_t n, const Value *in)
{
	Value r = x;

	r.v = put1(l, O_shift, src, x.v, x.v->type);
	IMM_SET(r.v->def, dim, dim);
	IMM_SET(r.v->def, by, n);
	if (dtype_info[x.v->type.dtype].kind == K_flt)
		r.v->def->fimm = const_double(in);
	else
		IMM_SET(r.v->def, entry, in->i);
	r.edge[dim] = NULL;
	return r;
}

Value
lower_shift(Lower *l, const Expr *e)
{
	Value in = value_int(0);
	Operand x;
	int64_t n;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim) ||
	    !lower_const_int(l, e->arg[2], "the distance of a shift", &n))
		return value_none();
	if (n < 0 || n >= x.v.v->type.shape[dim]) {
		diag_error(l->diag, e->arg[2]->src, "a shift by %lld places: 0 to %lld are possible",
		           (long long)n, (long long)x.v.v->type.shape[dim] - 1);
		check_declared(l, e->arg[2]->src, 1, &x);
		return value_none();
	}
	if (e->narg == 4) {
		in = lower_expr(l, e->arg[3]);
		if (in.kind != VK_none && !value_is_const(&in))
			diag_error(l->diag, e->arg[3]->src, "what a shift brings in is a number, not %s",
			           check_describe(l, &in));
		if (!value_is_const(&in) || !check_fits(l, &in, x.v.v->type.dtype, e->arg[3]->src))
			return value_none();
	}
	return n ? shifted(l, e->src, x.v, dim, n, &in) : x.v;
}

/* ---- of one built-in operation ------------------------------------------------------------------- */

/* `first` changes nothing: it stands before the start. */
static Value
scan_op(Lower *l, const Expr *e, OpCode code, Value first)
{
	Operand x;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim) ||
	    !check_dtype(l, code, x.v.v->type.dtype, e->src, x.e))
		return value_none();
	for (int64_t n = 1; n < x.v.v->type.shape[dim]; n *= 2) {
		Value y = shifted(l, e->src, x.v, dim, n, &first);

		x.v.v = put2(l, code, e->src, y.v, x.v.v, x.v.v->type);
	}
	return x.v;
}

/* The least (largest) value of the tile's type. */
static Value
extreme(Lower *l, const Expr *e, bool least)
{
	Operand x;
	DType d;

	if (!lower_tile_arg(l, e, 0, &x))
		return value_none();
	d = x.v.v->type.dtype;
	if (dtype_info[d].kind == K_flt)
		return value_flt(least ? -(double)INFINITY : (double)INFINITY);
	return value_int(least ? num_min(d) : num_max(d));
}

Value
lower_cumulative(Lower *l, const Expr *e)
{
	if (strcmp(e->name, "cumsum") == 0)
		return scan_op(l, e, O_add, value_int(0));
	if (strcmp(e->name, "cumprod") == 0)
		return scan_op(l, e, O_mul, value_int(1));
	if (strcmp(e->name, "cummax") == 0)
		return scan_op(l, e, O_max, extreme(l, e, true));
	return scan_op(l, e, O_min, extreme(l, e, false));
}

/* ---- of a function --------------------------------------------------------------------------------- */

typedef struct Scan {
	const FnDecl *fn;
	const Expr *e;
	int n, dim; /* values that go together */
	Value v[RESULT_MAX];
} Scan;

/* scan(f, dim, x, y, ...): the function, the dim, tiles of one shape. */
static bool
read_scan(Lower *l, const Expr *e, Scan *s)
{
	const Type *t = NULL;
	Operand x[RESULT_MAX];
	Value all = value_none();

	s->e = e;
	s->n = e->narg - 2;
	if (s->n < 1 || s->n > RESULT_MAX) {
		diag_error(l->diag, e->src,
		           "write %s(f, dim, x, ...): a function, a dimension and 1 to %d tiles", e->name,
		           RESULT_MAX);
		return false;
	}
	s->fn = e->arg[0]->kind == EX_name ? lower_find_fn(l, e->arg[0]->name) : NULL;
	if (!s->fn) {
		diag_error(l->diag, e->arg[0]->src,
		           "`%s` combines with a function of the program: `%s` is none", e->name,
		           check_text(l, e->arg[0], "this"));
		return false;
	}
	for (int i = 0; i < s->n; i++) {
		if (!lower_tile_arg(l, e, 2 + i, &x[i]))
			return false;
		s->v[i] = x[i].v;
		if (!t) {
			t = &s->v[0].v->type;
			continue;
		}
		for (int d = 0; d < t->rank || d < x[i].v.v->type.rank; d++)
			if (t->rank != x[i].v.v->type.rank || t->shape[d] != x[i].v.v->type.shape[d]) {
				diag_error(l->diag, x[i].e->src,
				           "%s and %s: tiles of one scan have one shape",
				           check_describe(l, &s->v[0]), check_describe(l, &x[i].v));
				check_declared(l, x[i].e->src, 1, &(Operand){ s->v[0], e->arg[2] });
				check_declared(l, x[i].e->src, 1, &x[i]);
				return false;
			}
	}
	/* what one of them lacks the function does not see of any */
	lower_join_edges(l, s->n, x, t, &all);
	for (int i = 0; i < s->n; i++)
		memcpy(s->v[i].edge, all.edge, sizeof all.edge);
	return lower_dim_arg(l, e, 1, t->rank, &s->dim);
}

/* One step: what stands n places before comes first. */
static bool
scan_step(Lower *l, Scan *s, int64_t n)
{
	const Type *t = &s->v[0].v->type;
	Value arg[2 * RESULT_MAX], out[RESULT_MAX], zero = value_int(0);
	Type at = type_tile(D_i32, S_reg, t->rank, t->shape), cond = at;
	Val *in[3];

	for (int i = 0; i < s->n; i++) {
		arg[i] = shifted(l, s->e->src, s->v[i], s->dim, n, &zero);
		arg[s->n + i] = s->v[i];
	}
	if (!lower_fn_call(l, s->fn, s->e->src, 2 * s->n, arg, s->n, out))
		return false;
	cond.dtype = D_bool;
	in[0] = put_op(l, O_iota, s->e->src, 0, NULL, at);
	IMM_SET(in[0]->def, dim, s->dim);
	in[1] = put_const(l, &(Value){ .kind = VK_int, .i = n }, at, s->e->src);
	in[0] = put2(l, O_le, s->e->src, in[1], in[0], cond);
	for (int i = 0; i < s->n; i++) {
		in[1] = lower_to_type(l, (Operand){ out[i], s->e }, s->v[i].v->type, s->e->src,
		                      arena_printf(l->arena, "result %d of `%s`", i, s->fn->name));
		if (!in[1])
			return false;
		in[2] = s->v[i].v; /* the first ones have nothing before them */
		s->v[i].v = put_op(l, O_select, s->e->src, 3, in, s->v[i].v->type);
	}
	return true;
}

bool
lower_scan(Lower *l, const Expr *e, int want, Value *out)
{
	bool last = strcmp(e->name, "reduce") == 0, ok;
	Scan s;

	for (int i = 0; i < want; i++)
		out[i] = value_none();
	ok = read_scan(l, e, &s);
	if (ok && s.n != want) {
		diag_error(l->diag, e->src, "`%s` of %d tiles gives %d values, but %d %s wanted here",
		           e->name, s.n, s.n, want, want == 1 ? "is" : "are");
		return false;
	}
	for (int64_t n = 1; ok && n < s.v[0].v->type.shape[s.dim]; n *= 2)
		ok = scan_step(l, &s, n);
	for (int i = 0; ok && i < want; i++)
		out[i] = last ? lower_last(l, e->src, &s.v[i], s.dim) : s.v[i];
	return ok;
}
