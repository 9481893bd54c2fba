/* lower_scan.c - lowers scans and reductions with functions: within a thread first, then by levels
 * (taskmap/scan_levels.h).
 *
 * Adjacent elements in registers of one lane are combined to one; the results are combined in the same
 * way, until few are left. Lanes combine these in steps of 1, 2, 4 ... positions (W. D. Hillis and G. L.
 * Steele, "Data parallel algorithms", 1986). A reduction is complete then. A scan passes the prefix of
 * each group down and combines it with all elements of the group. Vectors whose length the levels do not
 * divide are extended through a shared tile, which pass pad_tiles removes.
 *
 * Elements out of bounds of a tensor take part in no combination. For an operation, those before others
 * become its neutral value. For a function, a bool beside the values tells which elements exist; where these
 * are one range along the dim, indices are compared with its ends instead (op if_range), and a scan never
 * reads those past the end, which come last. The levels work on tiles without bounds (`lower_unmask`);
 * results get those of the operands (`lower_as_far`). */
#include "hexc/analysis/analysis.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/lang/lower.h"
#include "taskmap/scan_levels.h"
#include <math.h>
#include <string.h>

/* Shifts x up by n positions along dim, with `in` (a constant) as the fill value. */
static LoweredValue
shifted(Lower *l, Src src, LoweredValue x, int dim, int64_t n, const LoweredValue *in)
{
	LoweredValue r = x;

	if (n >= x.v->type.shape[dim]) { /* only fill values remain */
		r.v = put_const(l, in, type_free(x.v->type), src);
		return r;
	}
	r.v = put1(l, O_shift, src, x.v, x.v->type);
	IMM_SET(r.v->def, dim, dim);
	IMM_SET(r.v->def, by, n);
	if (dtype_info[x.v->type.dtype].kind == K_flt)
		r.v->def->fimm = const_double(in);
	else
		IMM_SET(r.v->def, fill_in, in->i);
	return r;
}

LoweredValue
lower_shift(Lower *l, const Expr *e)
{
	LoweredValue in = value_int(0);
	Operand x;
	int64_t n;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim) ||
	    !lower_const_int(l, e->arg[2], "the distance of a shift", &n))
		return value_none();
	if (n < 0) {
		diag_error(l->diag, e->arg[2]->src, "negative shift %lld",
		           (long long)n);
		check_declared(l, e->arg[2]->src, 1, &x);
		return value_none();
	}
	if (e->narg == 4) {
		in = lower_expr(l, e->arg[3]);
		if (in.kind != VK_none && !value_is_const(&in))
			diag_error(l->diag, e->arg[3]->src, "the fill value of `shift` must be a scalar, "
							    "not %s",
			           check_describe(l, &in));
		if (!value_is_const(&in) || !check_fits(l, &in, x.v.v->type.dtype, e->arg[3]->src))
			return value_none();
	}
	if (!n)
		return x.v;
	return value_of(lower_as_far(l, e, shifted(l, e->src, x.v, dim, n, &in).v, x.v.v, -1));
}

/* ---- of a function --------------------------------------------------------------------------------- */

typedef struct ScanLowering {
	const FnDecl *fn; /* NULL: op combines, or the later element remains */
	OpCode op;
	bool skip; /* no neutral value: elements that do not exist are skipped */
	bool judged; /* which exist is in v[n] and in first and end; else all do, but for padding */
	LoweredValue before; /* neutral value of op */
	const Expr *e;
	int n, dim; /* values scanned together */
	int64_t extent; /* of the dim */
	int64_t width; /* of each element of v: how many elements along the dim it combines */
	Val *of[RESULT_MAX]; /* the operands, whose bounds count; those of v are of no account */
	Val *all;         /* a tile with the bounds of all of them */
	Val *first, *end; /* i64 scalars: its elements along the dim that are in bounds */
	Levels level; /* elements past the extent are undefined */
	LoweredValue v[RESULT_MAX + 1];
} ScanLowering;

/* Returns the number of values of each element. */
static int
values(const ScanLowering *s)
{
	return s->n + s->judged;
}

/* Reads scan(f, dim, x, y, ...): the function, the dim, tiles of one shape. */
static bool
read_scan(Lower *l, const Expr *e, ScanLowering *s)
{
	const Type *t = NULL;
	Operand x[RESULT_MAX];

	s->e = e;
	s->skip = true;
	s->n = e->narg - 2;
	if (s->n < 1 || s->n > RESULT_MAX) {
		diag_error(l->diag, e->src,
		           "write %s(f, dim, x, ...), with a function, a dimension and 1 to %d tiles",
		           e->name,
		           RESULT_MAX);
		return false;
	}
	s->fn = e->arg[0]->kind == EX_name ? lower_find_fn(l, e->arg[0]->name, e->src) : NULL;
	if (!s->fn && e->arg[0]->kind == EX_name)
		s->fn = lower_prelude_own(l, e->arg[0]->name, e->src);
	if (!s->fn) {
		diag_error(l->diag, e->arg[0]->src,
		           "`%s` needs a function declared in the program; `%s` is not one", e->name,
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
				           "%s and %s: tiles of a scan must have the same shape",
				           check_describe(l, &s->v[0]), check_describe(l, &x[i].v));
				check_declared(l, x[i].e->src, 1, &(Operand){ s->v[0], e->arg[2] });
				check_declared(l, x[i].e->src, 1, &x[i]);
				return false;
			}
	}
	return lower_dim_arg(l, e, 1, t->rank, &s->dim);
}

/* Combines the preceding and following values with f: first[] becomes the result, in the types of the
 * scan. */
static bool
combine(Lower *l, const ScanLowering *s, LoweredValue *first, const LoweredValue *then)
{
	LoweredValue arg[2 * RESULT_MAX], out[RESULT_MAX];

	if (!s->fn && s->skip) {
		first[0] = then[0];
		return true;
	}
	if (!s->fn) {
		first[0].v = put2(l, s->op, s->e->src, first[0].v, then[0].v, then[0].v->type);
		return true;
	}
	memcpy(arg, first, (size_t)s->n * sizeof *arg);
	memcpy(arg + s->n, then, (size_t)s->n * sizeof *arg);
	if (!lower_fn_call(l, s->fn, s->e->src, 2 * s->n, arg, s->n, out))
		return false;
	for (int i = 0; i < s->n; i++) {
		const char *what = arena_printf(l->arena, "result %d of `%s`", i, s->fn->name);
		DType want = then[i].v->type.dtype;

		if (out[i].kind == VK_val && out[i].v->type.dtype != want) {
			diag_error(l->diag, s->e->src, "%s is %s but its tile is %s; return `%s(..)` of it",
			           what, dtype_info[out[i].v->type.dtype].name, dtype_info[want].name,
			           dtype_info[want].name);
			return false;
		}
		first[i].v = lower_to_type(l, (Operand){ out[i], s->e }, then[i].v->type, s->e->src, what);
		if (!first[i].v)
			return false;
	}
	return true;
}

static Val *
indices(Lower *l, const ScanLowering *s, Type t)
{
	Val *v = put_op(l, O_iota, s->e->src, 0, NULL, t);

	IMM_SET(v->def, dim, s->dim);
	return v;
}

/* out[i] = cond ? yes[i] : no[i]; cond NULL: yes[i]. */
static void
select_values(Lower *l, const ScanLowering *s, Val *cond, const LoweredValue *yes,
	      const LoweredValue *no, LoweredValue *out)
{
	for (int i = 0; i < s->n; i++) {
		Val *in[3] = { cond, yes[i].v, no[i].v };

		out[i].v = cond ? put_op(l, O_select, s->e->src, 3, in, in[1]->type) : in[1];
	}
}

/* Returns which elements exist: `compared` where they are one range (NULL: all), else `computed`. */
static Val *
existing(Lower *l, const ScanLowering *s, Val *compared, Val *computed)
{
	LoweredValue yes = value_bool(true);
	Val *in[3] = { s->all, compared, computed }, *v;

	if (!s->judged)
		return compared;
	if (!compared)
		in[1] = put_const(l, &yes, computed->type, s->e->src);
	v = put_op(l, O_if_range, s->e->src, 3, in, computed->type);
	IMM_SET(v->def, dim, s->dim);
	return v;
}

/* Sets first[] to f of first[] and then[] where both exist, and else to the one that does. `before` and
 * `after`: where first[] and then[] exist if the elements are one range. NULL: everywhere. */
static bool
combine_existing(Lower *l, const ScanLowering *s, Val *before, Val *after, LoweredValue *first,
		 const LoweredValue *then)
{
	LoweredValue was[RESULT_MAX + 1];

	memcpy(was, first, (size_t)values(s) * sizeof *was);
	if (!combine(l, s, first, then))
		return false;
	if (!s->skip)
		return true;
	select_values(l, s, existing(l, s, before, s->judged ? was[s->n].v : NULL), first, then, first);
	select_values(l, s, existing(l, s, after, s->judged ? then[s->n].v : NULL), first, was, first);
	if (s->judged)
		first[s->n].v = put2(l, O_or, s->e->src, was[s->n].v, then[s->n].v, then[s->n].v->type);
	return true;
}

/* Sets v[] to f of from[] and v[] where `inside` is true, if the elements are one range. */
static bool
scan_step(Lower *l, const ScanLowering *s, Val *inside, const LoweredValue *from, LoweredValue *v)
{
	LoweredValue first[RESULT_MAX + 1];

	memcpy(first, from, (size_t)values(s) * sizeof *first);
	if (!combine_existing(l, s, inside, NULL, first, v))
		return false;
	memcpy(v, first, (size_t)values(s) * sizeof *v);
	return true;
}

/* Is the index along the dim of t at least (`up`) or below the scalar? */
static Val *
compare_index(Lower *l, const ScanLowering *s, Type t, Val *n, bool up)
{
	Src src = s->e->src;
	Type at = type_tile(D_i32, S_reg, t.rank, t.shape), cond = at;
	Val *i = indices(l, s, at);

	cond.dtype = D_bool;
	n = put1(l, O_cast, src, n, type_scalar(D_i32));
	n = put1(l, O_splat, src, n, at);
	return up ? put2(l, O_le, src, n, i, cond) : put2(l, O_lt, src, i, n, cond);
}

/* (x + add) / by, rounded down for numbers that are not negative. */
static Val *
share_of(Lower *l, const ScanLowering *s, Val *x, int64_t add, int64_t by)
{
	x = put_index(l, O_add, s->e->src, x, ir_const(l->b, NULL, add));
	return put_index(l, O_div, s->e->src, x, ir_const(l->b, NULL, by));
}

/* Returns where element j of each group of c is in bounds, by its last element; NULL: everywhere, or an op
 * combines them. */
static Val *
neighbour_exists(Lower *l, const ScanLowering *s, int64_t c, int64_t j, Type t)
{
	int64_t w = s->width;

	if (!s->skip)
		return NULL;
	/* its last element is c w i + (j + 1) w - 1 */
	return compare_index(l, s, t, share_of(l, s, s->first, (c - j - 1) * w, c * w), true);
}

/* Returns where the current tile has an element n positions before; NULL: everywhere, as the values before
 * the start are neutral. */
static Val *
has_before(Lower *l, const ScanLowering *s, int64_t n)
{
	if (!s->skip)
		return NULL;
	return compare_index(l, s, s->v[0].v->type, share_of(l, s, s->first, n * s->width, s->width), true);
}

/* Shifts s->v up by n positions. */
static void
places_up(Lower *l, const ScanLowering *s, int64_t n, LoweredValue *v)
{
	LoweredValue zero = value_int(0), in = s->skip ? zero : s->before;

	for (int i = 0; i < values(s); i++) {
		Val *x = s->v[i].v;

		if (i == s->n)
			in = value_bool(false);

		if (n < x->type.shape[s->dim])
			v[i] = shifted(l, s->e->src, s->v[i], s->dim, n, &in);
		else
			v[i] = value_of(put_const(l, &in, type_free(x->type), s->e->src));
	}
}

/* Returns the bits of the widest elements loaded from memory for v, through elementwise ops and reshapes; 0
 * if none are. */
static int
bits_loaded(const Lower *l, const Val *v, bool *seen)
{
	const Op *o = v->def;
	int most = 0;

	if (v->type.space == S_scalar || seen[v->id] || !o)
		return 0;
	seen[v->id] = true;
	if (o->code == O_load)
		return dtype_info[v->type.dtype].bits;
	for (int i = 0; (op_is(o, F_ELT) || o->code == O_reshape) && i < o->nin; i++) {
		int bits = bits_loaded(l, o->in[i], seen);

		most = bits > most ? bits : most;
	}
	return most;
}

/* Returns the contiguous elements per lane of all tiles with 16-byte accesses. */
static int64_t
access_of(const Lower *l, const ScanLowering *s)
{
	bool *seen = NEWN(l->arena, bool, l->k->nval + 1);
	int most = 0;

	for (int i = 0; i < s->n; i++) {
		int bits = bits_loaded(l, s->v[i].v, seen);

		most = bits > most ? bits : most;
	}
	return most ? max64(2, min64(NEIGHBOURS_MAX, 128 / most)) : 8;
}

/* Plans the levels: elements of a lane are combined first, then those of ever fewer lanes; the last 32
 * elements or fewer in steps across lanes. */
static void
plan(const Lower *l, ScanLowering *s)
{
	const Type *t = &s->v[0].v->type;
	int64_t lines = 1;

	s->extent = t->shape[s->dim];
	s->width = 1;
	for (int d = 0; d < t->rank; d++)
		lines *= d == s->dim ? 1 : t->shape[d];
	if (t->rank < RANK_MAX) /* levels need one more dim */
		levels_share(&s->level, s->extent, lines, WARP_SIZE << log2_floor(l->k->warps),
		             access_of(l, s));
	else
		s->level = (Levels){ .padded = s->extent };
}

/* Returns element j of every group of c elements along the dim. */
static LoweredValue
every(Lower *l, const ScanLowering *s, LoweredValue x, int64_t c, int64_t j)
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
	return x;
}

/* The inverse of `every`: merges n tiles, where tile j has element j of every group of n. */
static Val *
together(Lower *l, const ScanLowering *s, int n, const LoweredValue *part, Type whole)
{
	Src src = s->e->src;
	Type t = part[0].v->type;
	Val *all = NULL;

	for (int d = t.rank++; d > s->dim + 1; d--)
		t.shape[d] = t.shape[d - 1];
	t.shape[s->dim + 1] = 1;
	for (int j = 0; j < n; j++) {
		Val *x = put1(l, O_reshape, src, part[j].v, t);
		Type upto = t;

		upto.shape[s->dim + 1] = j + 1;
		all = all ? put2(l, O_concat, src, all, x, upto) : x;
		if (j)
			IMM_SET(all->def, dim, s->dim + 1);
	}
	return put1(l, O_reshape, src, all, whole);
}

/* Replaces NaNs by the neutral value of max and min, which return NaN only for two NaNs. */
static void
clear_nan(Lower *l, ScanLowering *s)
{
	const Type *t = &s->v[0].v->type;
	LoweredValue nothing;

	if (s->skip || (s->op != O_max && s->op != O_min) || !dtype_is_float(t->dtype))
		return;
	nothing = value_of(put_const(l, &s->before, type_free(*t), s->e->src));
	combine(l, s, s->v, &nothing);
}

/* Scans in steps of 1, 2, 4 ... positions. */
static bool
scan_places(Lower *l, ScanLowering *s)
{
	clear_nan(l, s);
	for (int64_t n = 1; n < s->v[0].v->type.shape[s->dim]; n *= 2) {
		LoweredValue from[RESULT_MAX + 1];

		places_up(l, s, n, from);
		if (!scan_step(l, s, has_before(l, s, n), from, s->v))
			return false;
	}
	return true;
}

static bool scan_before(Lower *l, ScanLowering *s, int level);

/* Scans each group of c elements, then the combined groups, and combines the prefix of each group with all
 * of its elements. The exclusive prefix of an element is that prefix, or the scanned preceding element of
 * the group. */
static bool
scan_groups(Lower *l, ScanLowering *s, int level, bool before)
{
	LoweredValue part[NEIGHBOURS_MAX + 1][RESULT_MAX + 1];
	int64_t c = s->level.of[level];
	ScanLowering groups = *s;
	Val *inside;

	for (int64_t j = 0; j < c; j++)
		for (int i = 0; i < values(s); i++)
			part[1 + j][i] = every(l, s, s->v[i], c, j);
	for (int64_t j = 1; j < c; j++) {
		inside = neighbour_exists(l, s, c, j - 1, part[j][0].v->type);
		if (!scan_step(l, s, inside, part[j], part[1 + j]))
			return false;
	}
	memcpy(groups.v, part[c], sizeof groups.v);
	groups.width = s->width * c;
	if (!scan_before(l, &groups, level + 1))
		return false;
	memcpy(part[0], groups.v, sizeof groups.v);
	inside = has_before(l, &groups, 1);
	for (int64_t j = 0; j < c - before; j++)
		if (!scan_step(l, s, inside, part[0], part[1 + j]))
			return false;
	for (int i = 0; i < values(s); i++) {
		LoweredValue one[NEIGHBOURS_MAX];

		for (int64_t j = 0; j < c; j++)
			one[j] = part[before ? j : 1 + j][i];
		s->v[i].v = together(l, s, (int)c, one, s->v[i].v->type);
	}
	return true;
}

/* Computes exclusive prefixes; the first element has none. */
static bool
scan_before(Lower *l, ScanLowering *s, int level)
{
	if (level < s->level.n)
		return scan_groups(l, s, level, true);
	if (!scan_places(l, s))
		return false;
	places_up(l, s, 1, s->v);
	return true;
}

static void
resize_all(Lower *l, ScanLowering *s, int64_t extent)
{
	int64_t was = s->v[0].v->type.shape[s->dim];

	for (int i = 0; i < s->n; i++)
		s->v[i].v = lower_resized(l, s->e->src, s->v[i].v, s->dim, extent);
	if (s->judged && extent > was) { /* the padding does not exist */
		Val *exists = lower_resized(l, s->e->src, s->v[s->n].v, s->dim, extent), *end;

		end = compare_index(l, s, exists->type, ir_const(l->b, NULL, was), false);
		s->v[s->n].v = put2(l, O_and, s->e->src, exists, end, exists->type);
	}
}

/* Gives the results the bounds of the operands; `one`: they have one element along the dim. */
static void
all_as_far(Lower *l, ScanLowering *s, bool one)
{
	for (int i = 0; i < s->n; i++)
		s->v[i].v = lower_as_far(l, s->e, s->v[i].v, s->all, one ? s->dim : -1);
}

/* Are all operands loads that are in bounds along the dim? */
static bool
all_exist(Lower *l, const ScanLowering *s)
{
	for (int i = 0; i < s->n; i++) {
		const Val *v = s->of[i];
		const Op *view;

		while (v->def && v->def->code == O_cast)
			v = op_source(v->def);
		view = v->def && v->def->code == O_load ? load_source(v->def)->def : NULL;
		if (!view || view->code != O_view || !val_param(l->k, view_source(view)))
			return false;
		for (int d = 0; d < view->out[0]->type.rank; d++)
			if (view_is_gathered(view, d) || (d == s->dim && !view_in_bounds(l->k, view, d)))
				return false;
	}
	return true;
}

/* Starts with elements that are all in bounds. Those before the first one are the neutral value of an
 * operation. Elements out of bounds in one tile are skipped in all. */
static void
start(Lower *l, ScanLowering *s)
{
	Val *all = s->v[0].v;

	for (int i = 0; i < s->n; i++) {
		s->of[i] = s->v[i].v;
		all = i ? lower_as_far(l, s->e, all, s->of[i], -1) : all;
	}
	for (int i = 0; i < s->n; i++)
		if (s->skip) {
			s->v[i].v = lower_unmask(l, s->e->src, s->of[i]);
		} else {
			s->v[i].v = put1(l, O_fill, s->e->src, s->of[i], type_free(s->of[i]->type));
			IMM_SET(s->v[i].v->def, ahead, 1 + s->dim);
			if (dtype_is_float(s->of[i]->type.dtype))
				s->v[i].v->def->fimm = const_double(&s->before);
			else
				IMM_SET(s->v[i].v->def, fill, s->before.i);
		}
	s->all = all;
	if (!s->skip)
		return;
	if (all_exist(l, s)) { /* fewer comparisons of indices with the end */
		s->first = ir_const(l->b, NULL, 0);
		s->end = ir_const(l->b, NULL, s->extent);
		return;
	}
	s->judged = true;
	s->v[s->n].v = lower_inside_of(l, s->e->src, all);
	s->first = lower_inside_end(l, s->e->src, O_inside_first, all, s->dim);
	s->end = lower_inside_end(l, s->e->src, O_inside_end, all, s->dim);
}

static bool
scan_all(Lower *l, ScanLowering *s)
{
	plan(l, s);
	start(l, s);
	resize_all(l, s, s->level.padded);
	if (!(s->level.n ? scan_groups(l, s, 0, false) : scan_places(l, s)))
		return false;
	resize_all(l, s, s->extent);
	all_as_far(l, s, false);
	return true;
}

/* ---- of one built-in operation ------------------------------------------------------------------- */

/* Returns the neutral value of an op. */
static LoweredValue
changes_nothing(OpCode code, DType d)
{
	bool flt = dtype_info[d].kind == K_flt;

	if (code == O_max)
		return flt ? value_flt(-(double)INFINITY) : value_int(num_min(d));
	if (code == O_min)
		return flt ? value_flt((double)INFINITY) : value_int(num_max(d));
	return value_int(code == O_mul);
}

static LoweredValue
scan_op(Lower *l, const Expr *e, OpCode code)
{
	ScanLowering s = { .op = code, .e = e, .n = 1 };
	Operand x;
	LoweredValue r;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &s.dim) ||
	    !check_dtype(l, code, x.v.v->type.dtype, e->src, x.e))
		return value_none();
	s.v[0] = r = x.v;
	s.before = changes_nothing(code, x.v.v->type.dtype);
	if (!scan_all(l, &s))
		return value_none();
	r.v = s.v[0].v;
	return r;
}

LoweredValue
lower_cumulative(Lower *l, const Expr *e)
{
	if (strcmp(e->name, "cumsum") == 0)
		return scan_op(l, e, O_add);
	if (strcmp(e->name, "cumprod") == 0)
		return scan_op(l, e, O_mul);
	return scan_op(l, e, strcmp(e->name, "cummax") == 0 ? O_max : O_min);
}

/* ---- all of a dim ----------------------------------------------------------------------------------- */

/* True where element `start` + `step` times the index along the dim is before the end of the region. NULL:
 * not needed, as each group of `group` elements is entirely in or out of bounds. */
static Val *
inside(Lower *l, const ScanLowering *s, Type t, int64_t step, int64_t start, int64_t group)
{
	int64_t n;

	if (val_is_const(s->end, &n) && n % group == 0)
		return NULL;
	return compare_index(l, s, t, share_of(l, s, s->end, step - 1 - start, step), false);
}

/* Do element j and the next one exist in the same groups of c times w elements? False: unknown. */
static bool
exist_alike(const ScanLowering *s, int64_t c, int64_t w, int64_t j)
{
	int64_t n;

	return val_is_const(s->end, &n) && ceil_div(n - w * j, w * c) == ceil_div(n - w * (j + 1), w * c);
}

/* Combines every group of c elements to one. */
static bool
reduce_step(Lower *l, ScanLowering *s, int64_t c)
{
	LoweredValue first[RESULT_MAX + 1], then[RESULT_MAX + 1], was[RESULT_MAX + 1];
	int64_t w = s->width;
	bool chosen = true;

	for (int i = 0; i < values(s); i++)
		first[i] = every(l, s, s->v[i], c, 0);
	for (int64_t j = 1; j < c; j++) {
		Val *exists, *before;

		for (int i = 0; i < values(s); i++)
			then[i] = every(l, s, s->v[i], c, j);
		before = neighbour_exists(l, s, c, j - 1, then[0].v->type);
		if (s->judged) {
			exists = inside(l, s, then[0].v->type, w * c, w * j, w * c);
			if (!combine_existing(l, s, before, exists, first, then))
				return false;
			continue;
		}
		if (chosen)
			memcpy(was, first, sizeof was);
		if (!combine(l, s, first, then))
			return false;
		select_values(l, s, before, first, then, first);
		chosen = j + 1 == c || !exist_alike(s, c, w, j);
		if (!chosen)
			continue;
		exists = inside(l, s, then[0].v->type, w * c, w * j, w * c);
		select_values(l, s, exists, first, was, first);
	}
	memcpy(s->v, first, sizeof first);
	s->width *= c;
	return true;
}

/* Selects the combination of everything up to the last group with an in-bounds element. */
static void
last_group(Lower *l, ScanLowering *s)
{
	Src src = s->e->src;
	Val *last = put_index(l, O_sub, src, s->end, ir_const(l->b, NULL, 1));

	last = put_index(l, O_max, src, last, ir_const(l->b, NULL, 0));
	last = put_index(l, O_div, src, last, ir_const(l->b, NULL, s->width));
	for (int i = 0; i < s->n; i++)
		s->v[i] = lower_at(l, s->e->src, &s->v[i], s->dim, last);
}

/* Sets results without any in-bounds element to 0. */
static void
none_is_zero(Lower *l, ScanLowering *s)
{
	for (int i = 0; i < s->n; i++)
		s->v[i].v = lower_if_any(l, s->e->src, s->v[i].v, s->dim, s->all);
}

/* Reduces in the order of the elements. */
static bool
reduce_all(Lower *l, ScanLowering *s)
{
	plan(l, s);
	start(l, s);
	resize_all(l, s, s->level.padded);
	for (int i = 0; i < s->level.n; i++)
		if (!reduce_step(l, s, s->level.of[i]))
			return false;
	if (s->v[0].v->type.shape[s->dim] > 1) {
		if (!scan_places(l, s))
			return false;
		last_group(l, s);
	}
	none_is_zero(l, s);
	all_as_far(l, s, true);
	return true;
}

/* Returns the last in-bounds element along dim, with extent 1: by its index if the elements are one range, or
 * as a reduction to the later of two. */
LoweredValue
lower_reduce_last(Lower *l, const Expr *e)
{
	ScanLowering s = { .op = O_COUNT, .skip = true, .e = e, .n = 1 };
	Val *last, *in[3];
	LoweredValue r;
	Operand x;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &s.dim))
		return value_none();
	r = s.v[0] = x.v;
	r.v = lower_unmask(l, e->src, r.v);
	if (r.v->type.shape[s.dim] > 1) {
		last = lower_inside_end(l, e->src, O_inside_end, x.v.v, s.dim);
		last = put_index(l, O_sub, e->src, last, ir_const(l->b, NULL, 1));
		last = put_index(l, O_max, e->src, last, ir_const(l->b, NULL, 0));
		r = lower_at(l, e->src, &r, s.dim, last);
		if (!reduce_all(l, &s))
			return value_none();
		in[0] = x.v.v;
		in[1] = r.v;
		in[2] = lower_unmask(l, e->src, s.v[0].v);
		r.v = put_op(l, O_if_range, e->src, 3, in, r.v->type);
		IMM_SET(r.v->def, dim, s.dim);
	}
	r.v = lower_if_any(l, e->src, r.v, s.dim, x.v.v);
	r.v = lower_as_far(l, e, r.v, x.v.v, s.dim);
	return r;
}

bool
lower_scan(Lower *l, const Expr *e, int want, LoweredValue *out)
{
	bool all = strcmp(e->name, "reduce") == 0, ok;
	ScanLowering s = { .op = O_COUNT };

	for (int i = 0; i < want; i++)
		out[i] = value_none();
	ok = read_scan(l, e, &s);
	if (ok && s.n != want) {
		diag_error(l->diag, e->src, "`%s` of %d tiles has %d results, but %d %s expected here",
		           e->name, s.n, s.n, want, want == 1 ? "is" : "are");
		return false;
	}
	ok = ok && (all ? reduce_all(l, &s) : scan_all(l, &s));
	for (int i = 0; ok && i < want; i++)
		out[i] = s.v[i];
	return ok;
}
