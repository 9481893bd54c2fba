/* lower_print.c - lowers print and assert.
 *
 * The IR prints scalars. A tile is copied to shared memory, and loops over its indices print one line per
 * element, in order. An assertion on a tile reports the indices of its first element that fails. */
#include "hexc/lang/lower.h"
#include <string.h>

/* Maximum elements per print of a tile. */
enum { SAY_MAX = 1024 };

/* A print statement: values of one shape, `shape` for tiles. */
typedef struct Say {
	const Expr *e;
	const char *text;
	Type shape;
	Operand x[CALL_ARG_MAX];
	int n;
} Say;

LoweredValue
lower_message_value(Lower *l, const Expr *e)
{
	diag_error(l->diag, e->src, "`%s` returns no value; use it as a statement", e->name);
	return value_none();
}

/* Converts the value to a type that printf supports. */
static Val *
printable(Lower *l, Src src, Val *x)
{
	Type t = x->type;

	if (message_takes(x->type.dtype))
		return x;
	t.dtype = dtype_accumulator(t.dtype);
	return put1(l, O_cast, src, x, t);
}

static LoweredValue
number_value(Lower *l, const Operand *x)
{
	LoweredValue c = x->v;

	if (c.kind == VK_bool)
		c.kind = VK_int;
	return value_of(put_const(l, &c, type_scalar(c.kind == VK_flt ? D_f64 : D_i64), x->e->src));
}

static void
put_print(Lower *l, Src src, const char *text, int n, Val *const *in)
{
	op_new(l->b, NULL, O_print, src, n, in, 0, NULL)->text = text;
}

/* ---- loops and conditions ------------------------------------------------------------------------ */

/* Opens a loop over dim d; ops are then inserted into its body. */
static Val *
open_loop(Lower *l, Src src, Val *first, Val *end)
{
	Val *in[3] = { first, end, ir_const(l->b, NULL, 1) };
	Op *o = op_new(l->b, NULL, O_for, src, 3, in, 0, NULL);

	l->b = o->blk[0] = block_new(l->k, o);
	return block_arg(l->b, type_index());
}

static void
close_region(Lower *l, Src src)
{
	op_new(l->b, NULL, O_yield, src, 0, NULL, 0, NULL);
	l->b = l->b->owner->parent;
}

static void
open_if(Lower *l, Src src, Val *cond)
{
	Op *o = op_new(l->b, NULL, O_if, src, 1, &cond, 0, NULL);

	for (int r = 0; r < 2; r++)
		o->blk[r] = block_new(l->k, o);
	op_new(o->blk[1], NULL, O_yield, src, 0, NULL, 0, NULL);
	l->b = o->blk[0];
}

/* ---- print --------------------------------------------------------------------------------------- */

/* Loads one element of a shared tile as a scalar. */
static Val *
element(Lower *l, Src src, Val *tile, Val *const *index)
{
	Type t = tile->type;
	Val *in[RANK_MAX + 1] = { tile };

	memcpy(in + 1, index, sizeof *in * (size_t)t.rank);
	t = type_tile(t.dtype, S_shared, 0, NULL);
	in[0] = put_op(l, O_view, src, 1 + tile->type.rank, in, t);
	IMM_SET(in[0]->def, dropped, ((int64_t)1 << tile->type.rank) - 1);
	return put1(l, O_load, src, in[0], type_scalar(t.dtype));
}

/* Prefixes the text with "[{}, {}] ", one {} per dim. */
static const char *
index_text(Lower *l, int rank, const char *text)
{
	const char *s = "[";

	for (int d = 0; d < rank; d++)
		s = arena_printf(l->arena, "%s%s{}", s, d ? ", " : "");
	return arena_printf(l->arena, "%s] %s", s, text);
}

/* Returns a u8 tile: 1 where the element exists, and `all` (or NULL) is 1. */
static Val *
and_inside(Lower *l, Src src, Val *all, Val *x)
{
	Type t = type_free(x->type), cond = t;
	LoweredValue one = value_int(1), none = value_int(0);
	Val *in[3];

	t.dtype = D_u8;
	cond.dtype = D_bool;
	in[0] = put1(l, O_inside, src, x, cond);
	in[1] = all ? all : put_const(l, &one, t, src);
	in[2] = put_const(l, &none, t, src);
	return put_op(l, O_select, src, 3, in, t);
}

static void
print_tiles(Lower *l, const Say *s)
{
	Src src = s->e->src;
	int rank = s->shape.rank;
	LoweredValue x;
	Val *in[RANK_MAX + CALL_ARG_MAX], *tile[CALL_ARG_MAX], *there = NULL;

	for (int i = 0; i < s->n; i++) {
		Type t = s->shape;

		x = s->x[i].v;
		if (!value_is_tile(&x))
			continue;
		x.v = printable(l, src, x.v);
		t.dtype = x.v->type.dtype;
		x.v = lower_broadcast_to(l, src, x, t);
		there = and_inside(l, src, there, x.v);
		tile[i] = lower_stage(l, src, &x).v;
	}
	x = value_of(there);
	there = lower_stage(l, src, &x).v;
	for (int d = 0; d < rank; d++)
		in[d] = open_loop(l, src, ir_const(l->b, NULL, 0), ir_const(l->b, NULL, s->shape.shape[d]));
	open_if(l, src,
	        put_index(l, O_ne, src, put1(l, O_cast, src, element(l, src, there, in), type_index()),
	                  ir_const(l->b, NULL, 0)));
	for (int i = 0; i < s->n; i++)
		in[rank + i] = value_is_tile(&s->x[i].v) ? element(l, src, tile[i], in)
		                                         : printable(l, src, s->x[i].v.v);
	put_print(l, src, index_text(l, rank, s->text), rank + s->n, in);
	close_region(l, src);
	for (int d = 0; d < rank; d++)
		close_region(l, src);
}

static bool
read_text(Lower *l, const Expr *e, int i, const char **text)
{
	*text = i < e->narg && e->arg[i]->kind == EX_text ? e->arg[i]->name : NULL;
	if (!*text)
		diag_error(l->diag, i < e->narg ? e->arg[i]->src : e->src, "`%s` requires a string "
		                                                           "literal, as in %s",
		           e->name, i ? "assert(condition, \"text\")" : "print(\"text {}\", x, ...)");
	return *text != NULL;
}

/* Computes the common shape of all tiles. */
static bool
join_tiles(Lower *l, Say *s, bool *any)
{
	*any = false;
	for (int i = 0; i < s->n; i++)
		*any = *any || value_is_tile(&s->x[i].v);
	if (!*any)
		return true;
	if (!lower_join_shape(l, s->e->src, s->n, s->x, &s->shape))
		return false;
	if (type_size(&s->shape) > SAY_MAX) {
		diag_error(l->diag, s->e->src,
		           "print of %lld elements exceeds the limit of %d; print a slice",
		           (long long)type_size(&s->shape), SAY_MAX);
		return false;
	}
	return true;
}

static void
message_print(Lower *l, const Expr *e)
{
	Say s = { .e = e, .n = e->narg - 1 };
	Val *in[CALL_ARG_MAX];
	int want;
	bool tiles;

	if (!read_text(l, e, 0, &s.text))
		return;
	want = message_operands(s.text);
	if (want != s.n) {
		diag_error(l->diag, e->arg[0]->src,
		           want < 0 ? "unmatched brace in format string; use {} for a value, {{ or }} for "
				      "a brace"
		                    : "format string has %d {} for %d values",
		           want, s.n);
		return;
	}
	for (int i = 0; i < s.n; i++) {
		s.x[i] = lower_operand(l, e->arg[1 + i]);
		s.x[i].v = lower_load(l, s.x[i]);
		if (s.x[i].v.kind == VK_none)
			return;
		if (s.x[i].v.kind == VK_type) {
			diag_error(l->diag, s.x[i].e->src, "%s cannot be printed",
			           check_describe(l, &s.x[i].v));
			return;
		}
		if (value_is_const(&s.x[i].v))
			s.x[i].v = number_value(l, &s.x[i]);
	}
	if (!join_tiles(l, &s, &tiles))
		return;
	if (tiles) {
		print_tiles(l, &s);
		return;
	}
	for (int i = 0; i < s.n; i++)
		in[i] = printable(l, e->src, s.x[i].v.v);
	put_print(l, e->src, s.text, s.n, in);
}

/* ---- assert -------------------------------------------------------------------------------------- */

static void
put_assert(Lower *l, Src src, const char *text, Val *cond)
{
	op_new(l->b, NULL, O_assert, src, 1, &cond, 0, NULL)->text = text;
}

/* Returns the row-major index of the first in-bounds element that is false; INT32_MAX if there is none. */
static Val *
first_false(Lower *l, const Expr *e, const LoweredValue *cond)
{
	Type t = cond->v->type;
	LoweredValue none = value_int(INT32_MAX), x = *cond;
	Val *in[3] = { cond->v }, *zero[RANK_MAX];
	int64_t step = 1;

	t.dtype = D_i32;
	for (int d = t.rank - 1; d >= 0; d--) {
		LoweredValue by = value_int(step);
		Val *i = put_op(l, O_iota, e->src, 0, NULL, t);

		IMM_SET(i->def, dim, d);
		i = put2(l, O_mul, e->src, i, put_const(l, &by, t, e->src), t);
		in[2] = in[2] ? put2(l, O_add, e->src, in[2], i, t) : i;
		step *= t.shape[d];
		zero[d] = ir_const(l->b, NULL, 0);
	}
	in[1] = put_const(l, &none, t, e->src);
	x.v = put_op(l, O_select, e->src, 3, in, t);
	for (int d = 0; d < t.rank; d++)
		x.v = lower_put_reduce(l, e, O_reduce_min, x.v, d);
	return element(l, e->src, lower_stage(l, e->src, &x).v, zero);
}

static void
assert_tile(Lower *l, const Expr *e, const char *text, const LoweredValue *cond)
{
	Src src = e->src;
	const Type *t = &cond->v->type;
	Type wide = type_index();
	Val *first = put1(l, O_cast, src, first_false(l, e, cond), wide), *in[RANK_MAX];
	Val *ok = ir_bin(l->b, NULL, O_eq, first, ir_const(l->b, NULL, INT32_MAX)), *rest = first;
	const char *place = "";

	for (const char *s = text; *s; s++) /* escapes braces, which are placeholders in prints */
		place = arena_printf(l->arena, *s == '{' || *s == '}' ? "%s%c%c" : "%s%c", place, *s, *s);
	open_if(l, src, put1(l, O_not, src, ok, type_cond()));
	for (int d = t->rank - 1; d >= 0; d--) {
		Val *extent = ir_const(l->b, NULL, t->shape[d]);

		in[d] = put_index(l, O_mod, src, rest, extent);
		rest = put_index(l, O_div, src, rest, extent);
	}
	put_print(l, src, index_text(l, t->rank, place), t->rank, in);
	close_region(l, src);
	put_assert(l, src, text, ok);
}

static void
message_assert(Lower *l, const Expr *e)
{
	Operand c;
	const char *text;

	if (e->narg != 2) {
		diag_error(l->diag, e->src, "`assert` has %d argument%s; write assert(condition, \"text\")",
		           e->narg, e->narg == 1 ? "" : "s");
		return;
	}
	c = lower_operand(l, e->arg[0]);
	c.v = lower_load(l, c);
	if (!read_text(l, e, 1, &text) || c.v.kind == VK_none)
		return;
	if (c.v.kind == VK_bool)
		c.v = value_of(put_const(l, &c.v, type_cond(), e->src));
	if (c.v.kind != VK_val || c.v.v->type.dtype != D_bool) {
		diag_error(l->diag, c.e->src, "the first argument of `assert` must be a condition, not %s",
		           check_describe(l, &c.v));
		return;
	}
	if (value_is_tile(&c.v))
		assert_tile(l, e, text, &c.v);
	else
		put_assert(l, e->src, text, c.v.v);
}

bool
lower_message(Lower *l, const Expr *e)
{
	bool print = strcmp(e->name, "print") == 0;

	if (!print && strcmp(e->name, "assert") != 0)
		return false;
	if (!check_mode(l, MODE_BODY, e->src, print ? "`print`" : "`assert`"))
		return true;
	if (print)
		message_print(l, e);
	else
		message_assert(l, e);
	return true;
}
