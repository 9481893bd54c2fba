/* lower_scan.c - scans: every element combined with all before it, in steps of 1, 2, 4 ... places
 * (W. D. Hillis and G. L. Steele, "Data parallel algorithms", 1986).  Reductions by a function: neighbours
 * become one, and these again; a level's neighbours stand in the registers of one lane. */
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
	s->fn = e->arg[0]->kind == EX_name ? lower_find_fn(l, e->arg[0]->name, e->src) : NULL;
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

/* f of what comes first, then of what follows: first[] becomes the combination, in the types of the scan. */
static bool
combine(Lower *l, const Scan *s, Value *first, const Value *then)
{
	Value arg[2 * RESULT_MAX], out[RESULT_MAX];

	memcpy(arg, first, (size_t)s->n * sizeof *arg);
	memcpy(arg + s->n, then, (size_t)s->n * sizeof *arg);
	if (!lower_fn_call(l, s->fn, s->e->src, 2 * s->n, arg, s->n, out))
		return false;
	for (int i = 0; i < s->n; i++) {
		const char *what = arena_printf(l->arena, "result %d of `%s`", i, s->fn->name);

		first[i].v = lower_to_type(l, (Operand){ out[i], s->e }, then[i].v->type, s->e->src, what);
		if (!first[i].v)
			return false;
	}
	return true;
}

static Val *
indices(Lower *l, const Scan *s, Type t)
{
	Val *v = put_op(l, O_iota, s->e->src, 0, NULL, t);

	IMM_SET(v->def, dim, s->dim);
	return v;
}

/* One step: what stands n places before comes first. */
static bool
scan_step(Lower *l, Scan *s, int64_t n)
{
	const Type *t = &s->v[0].v->type;
	Value first[RESULT_MAX], zero = value_int(0);
	Type at = type_tile(D_i32, S_reg, t->rank, t->shape), cond = at;
	Val *in[3];

	for (int i = 0; i < s->n; i++)
		first[i] = shifted(l, s->e->src, s->v[i], s->dim, n, &zero);
	if (!combine(l, s, first, s->v))
		return false;
	cond.dtype = D_bool;
	in[1] = put_const(l, &(Value){ .kind = VK_int, .i = n }, at, s->e->src);
	in[0] = put2(l, O_le, s->e->src, in[1], indices(l, s, at), cond);
	for (int i = 0; i < s->n; i++) {
		in[1] = first[i].v;
		in[2] = s->v[i].v; /* the first ones have nothing before them */
		s->v[i].v = put_op(l, O_select, s->e->src, 3, in, s->v[i].v->type);
	}
	return true;
}

static bool
scan_all(Lower *l, Scan *s)
{
	for (int64_t n = 1; n < s->v[0].v->type.shape[s->dim]; n *= 2)
		if (!scan_step(l, s, n))
			return false;
	return true;
}

/* ---- all of a dim ----------------------------------------------------------------------------------- */

enum { NEIGHBOURS_MAX = 8 }; /* combined one after another, from pieces in registers (lower_part.c) */

/* Can neighbours be combined until one is left?  Tiles with odd factors would be held whole by each lane
 * then, and the neighbours need one more dim. */
static bool
falls_apart(const Type *t)
{
	for (int d = 0; d < t->rank; d++)
		if (!is_pow2(t->shape[d]))
			return false;
	return t->rank < RANK_MAX;
}

/* Of every c neighbours along the dim the one in place j. */
static Value
every(Lower *l, const Scan *s, Value x, int64_t c, int64_t j)
{
	Type t = x.v->type, apart = t;

	t.shape[s->dim] /= c;
	apart.shape[apart.rank++] = 1;
	for (int d = t.rank; d > s->dim; d--)
		apart.shape[d] = t.shape[d - 1];
	apart.shape[s->dim] = t.shape[s->dim];
	apart.shape[s->dim + 1] = c;
	x.v = put1(l, O_reshape, s->e->src, x.v, apart);
	x.v = lower_put_slice(l, s->e->src, x.v, s->dim + 1, j, 1);
	x.v = put1(l, O_reshape, s->e->src, x.v, t);
	x.edge[s->dim] = NULL;
	return x;
}

/* True where element `start` + `step` times the index along the dim is inside: below the end of the edge. */
static Val *
inside(Lower *l, const Scan *s, Type t, int64_t step, int64_t start, int64_t extent)
{
	Src src = s->e->src;
	Type at = type_tile(D_i32, S_reg, t.rank, t.shape), cond = at;
	Value n[3] = { value_int(step), value_int(start), value_int(extent) };
	Val *v = indices(l, s, at);

	cond.dtype = D_bool;
	v = put2(l, O_mul, src, v, put_const(l, &n[0], at, src), at);
	v = put2(l, O_add, src, v, put_const(l, &n[1], at, src), at);
	v = put2(l, O_lt, src, v, put_const(l, &n[2], at, src), cond);
	lower_count(l, COUNT_end, v->def, 1, s->v[0].edge[s->dim], extent);
	return v;
}

/* As combine; where `exists`, unless that is NULL, is false first[] stays. */
static bool
combine_where(Lower *l, const Scan *s, Val *exists, Value *first, const Value *then)
{
	Value was[RESULT_MAX];

	memcpy(was, first, (size_t)s->n * sizeof *was);
	if (!combine(l, s, first, then))
		return false;
	for (int i = 0; exists && i < s->n; i++) {
		Val *in[3] = { exists, first[i].v, was[i].v };

		first[i].v = put_op(l, O_select, s->e->src, 3, in, in[1]->type);
	}
	return true;
}

/* Every c neighbours, each of w elements, become one. */
static bool
reduce_step(Lower *l, Scan *s, int64_t c, int64_t w, int64_t extent)
{
	Value first[RESULT_MAX], then[RESULT_MAX];

	for (int i = 0; i < s->n; i++)
		first[i] = every(l, s, s->v[i], c, 0);
	for (int64_t j = 1; j < c; j++) {
		Val *exists = NULL;

		for (int i = 0; i < s->n; i++)
			then[i] = every(l, s, s->v[i], c, j);
		if (s->v[0].edge[s->dim])
			exists = inside(l, s, then[0].v->type, w * c, w * j, extent);
		if (!combine_where(l, s, exists, first, then))
			return false;
	}
	for (int i = 0; i < s->n; i++)
		s->v[i].v = first[i].v;
	return true;
}

/* The order of elements is kept, and f runs once an element. */
static bool
reduce_all(Lower *l, Scan *s)
{
	int64_t extent = s->v[0].v->type.shape[s->dim], c;

	for (int64_t w = 1; w < extent; w *= c) {
		c = extent / w < NEIGHBOURS_MAX ? extent / w : NEIGHBOURS_MAX;
		if (!reduce_step(l, s, c, w, extent))
			return false;
	}
	for (int i = 0; i < s->n; i++)
		s->v[i].edge[s->dim] = NULL;
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
	if (ok && last && falls_apart(&s.v[0].v->type)) {
		ok = reduce_all(l, &s);
		last = false;
	} else if (ok) {
		ok = scan_all(l, &s);
	}
	for (int i = 0; ok && i < want; i++)
		out[i] = last ? lower_last(l, e->src, &s.v[i], s.dim) : s.v[i];
	return ok;
}
