/* lower_dot.c - lowers `dot` and its accumulator. */
#include "hexc/lang/lower.h"
#include <string.h>

bool
lower_is_plain_dot(const Lower *l, const Expr *e)
{
	if (e->kind != EX_call || strcmp(e->name, "dot") != 0)
		return false;
	return e->narg == 2 || (e->narg == 3 && lower_expr_dtype(l, e->arg[2]) != D_COUNT);
}

/* Alternative accumulator types: f16 for f16, more bits for more range. */
static bool
may_accumulate(DType d, DType acc)
{
	const DTypeInfo *i = &dtype_info[d], *c = &dtype_info[acc];
	bool flt = i->kind == K_flt;

	if (acc == dtype_accumulator(d) || (d == D_f16 && acc == D_f16))
		return true;
	return c->bits >= 32 && c->bits >= i->bits && c->use == U_any && c->kind != K_pred &&
	       flt == (c->kind == K_flt);
}

/* Lists the accumulator types, for the message. */
static const char *
accumulators(Lower *l, DType d)
{
	const char *text = dtype_info[dtype_accumulator(d)].name;

	for (int i = 0; i < D_COUNT; i++)
		if ((DType)i != dtype_accumulator(d) && may_accumulate(d, (DType)i))
			text = arena_printf(l->arena, "%s or %s", text, dtype_info[i].name);
	return text;
}

/* Reports operands of two types, with the cast that tensor cores need, if there is one. */
static void
dot_mismatch(Lower *l, Src src, const Operand *o)
{
	Text fix = { .arena = l->arena };
	DType d[2] = { o[0].v.v->type.dtype, o[1].v.v->type.dtype }, to = D_f16;

	for (int i = 0; i < 2; i++)
		if (dtype_info[d[i]].mma == MMA_f16)
			to = d[i];
	if (!dtype_is_float(d[0]) && !dtype_is_float(d[1])) {
		check_same_dtype(l, src, &o[0], &o[1]);
		return;
	}
	for (int i = 0; i < 2; i++)
		if (d[i] != to)
			text_printf(&fix, "%s`%s(%s)`", fix.n ? " and " : "", dtype_info[to].name,
			            check_text(l, o[i].e, "..."));
	diag_error(l->diag, src, "%s is %s but %s is %s; write %s, which tensor cores support",
	           check_quoted(l, &o[0], "the left operand"), dtype_info[d[0]].name,
	           check_quoted(l, &o[1], "the right operand"), dtype_info[d[1]].name, fix.s);
	check_declared(l, src, 2, o);
}

static bool
dot_dtype(Lower *l, const Expr *e, const Operand *a, const Operand *b, DType *acc)
{
	DType d = a->v.v->type.dtype, other = b->v.v->type.dtype, want;

	if (d != other && !dtype_multiplies(d, other)) {
		dot_mismatch(l, e->src, (const Operand[]){ *a, *b });
		return false;
	}
	*acc = dtype_accumulator(d);
	if (dtype_info[d].kind == K_pred) {
		diag_error(l->diag, e->src, "`dot` does not support %s operands; cast both, as in `f16(%s)`",
		           dtype_info[d].name, check_text(l, a->e, "a"));
		return false;
	}
	want = e->narg == 3 ? lower_expr_dtype(l, e->arg[2]) : D_COUNT;
	if (want == D_COUNT || (want == D_tf32 && d == D_tf32))
		return true;
	if (!may_accumulate(d, want)) {
		diag_error(l->diag, e->arg[2]->src, "`dot` of %s accumulates in %s, not in %s",
		           dtype_info[d].name, accumulators(l, d), dtype_info[want].name);
		return false;
	}
	*acc = want;
	return true;
}

/* `dot(a, b, tf32)`: rounds f32 operands so that tensor cores accept them. */
static void
round_operands(Lower *l, const Expr *e, Operand *o)
{
	if (e->narg != 3 || lower_expr_dtype(l, e->arg[2]) != D_tf32)
		return;
	for (int i = 0; i < 2; i++) {
		Type t = o[i].v.v->type;

		if (t.dtype != D_f32)
			continue;
		t.dtype = D_tf32;
		o[i].v.v = put1(l, O_cast, e->src, o[i].v.v, t);
	}
}

/* Returns the op that views memory for v: for a tile loaded from it, or a shared tile that a copy filled. */
static const Op *
view_loaded(const Val *v)
{
	while (v->def && v->def->code == O_cast)
		v = op_source(v->def);
	if (v->def && v->def->code == O_load)
		v = load_source(v->def);
	if (v->def && v->def->code == O_alloc)
		for (const Op *o = v->def->next; o; o = o->next)
			if (o->code == O_copy && copy_dest(o) == v)
				return copy_source(o)->def;
	return v->def;
}

/* Returns the size of the tensor dim that dim d of a value, loaded from a tensor, runs along. Returns NULL if
 * unknown. */
static const Val *
tensor_size(const Lower *l, const Val *v, int d)
{
	const Op *view;
	const Param *p;

	if (v->def && v->def->code == O_transpose) {
		d = (int)IMM_AT(v->def, perm, d);
		v = op_source(v->def);
	}
	view = view_loaded(v);
	p = view && view->code == O_view ? val_param(l->k, view_source(view)) : NULL;
	return p && !view_is_gathered(view, d) ? p->size[view_operand_dim(view, d)] : NULL;
}

static const char *
turned_words(Lower *l, const Operand *o)
{
	const char *x = check_text(l, o->e, "(...)");
	int rank = o->v.v->type.rank;
	Text t = { .arena = l->arena };

	if (rank == 2)
		return arena_printf(l->arena, "; write `%s.T`", x);
	text_printf(&t, "; write `transpose(%s", x);
	for (int d = 0; d < rank; d++)
		text_printf(&t, ", %d", d < rank - 2 ? d : 2 * rank - 3 - d);
	text_printf(&t, ")`");
	return t.s;
}

/* Suggests a fix for columns of `a` and rows of `b` that differ in number. */
static const char *
shape_fix(Lower *l, const Operand *a, const Operand *b)
{
	const Type *ta = &a->v.v->type, *tb = &b->v.v->type;
	int ka = ta->rank - 1, kb = tb->rank - 2;
	const Val *columns = tensor_size(l, a->v.v, ka), *rows = tensor_size(l, b->v.v, kb);

	/* Both run along one size, and the right one's columns along another: it is not transposed. */
	if (columns && columns == rows && columns != tensor_size(l, b->v.v, kb + 1))
		return arena_printf(l->arena,
		                    "; dimension %d of the right operand pairs with the columns of the "
		                    "left, both are %s; slice %lld of it there",
		                    kb, columns->name ? columns->name : "one size", (long long)ta->shape[ka]);
	if (ta->shape[ka] == tb->shape[kb + 1])
		return turned_words(l, b);
	if (ta->shape[ka - 1] == tb->shape[kb])
		return turned_words(l, a);
	return "";
}

/* Sets `free` to the operands without the contracted dim: their shapes join to the result's.
 * Returns false after a report that the batches differ. */
static bool
join_batches(Lower *l, const Expr *e, const Operand *a, const Operand *b, Operand *free)
{
	for (int i = 0; i < 2; i++) {
		const Operand *from = i ? b : a;
		Val *v = NEW(l->arena, Val);
		int k = from->v.v->type.rank - (i ? 2 : 1);

		*v = *from->v.v;
		v->type.shape[k] = 1;
		free[i] = *from;
		free[i].v.v = v;
	}
	for (int back = 3;; back++) {
		const Type *x = &a->v.v->type, *y = &b->v.v->type;
		int64_t m, n;

		if (back > x->rank || back > y->rank)
			return true;
		m = x->shape[x->rank - back];
		n = y->shape[y->rank - back];
		if (m == n || m == 1 || n == 1)
			continue;
		diag_error(l->diag, e->src,
		           "`dot` of %s and %s: batch dimensions must be equal or 1, got %lld and %lld",
		           check_describe(l, &a->v), check_describe(l, &b->v), (long long)m, (long long)n);
		check_declared(l, e->src, 1, a);
		check_declared(l, e->src, 1, b);
		return false;
	}
}

static bool
dot_shape(Lower *l, const Expr *e, const Operand *a, const Operand *b)
{
	const Type *ta = &a->v.v->type, *tb = &b->v.v->type;
	Operand free[2];
	int ka = ta->rank - 1, kb = tb->rank - 2;

	if (ta->rank < 2 || tb->rank < 2) {
		diag_error(l->diag, e->src,
		           "`dot` requires matrices or batches of matrices, but the operands are %s and %s",
		           check_describe(l, &a->v), check_describe(l, &b->v));
		return false;
	}
	if (ta->shape[ka] == tb->shape[kb])
		return join_batches(l, e, a, b, free);
	diag_error(l->diag, e->src, "`dot` of %s and %s: the left has %lld columns, the right %lld rows%s",
	           check_describe(l, &a->v), check_describe(l, &b->v), (long long)ta->shape[ka],
	           (long long)tb->shape[kb], shape_fix(l, a, b));
	check_declared(l, e->src, 1, a);
	check_declared(l, e->src, 1, b);
	return false;
}

bool
lower_check_dot(Lower *l, const Expr *e, const Operand *a, const Operand *b, DType *acc)
{
	return dot_dtype(l, e, a, b, acc) && dot_shape(l, e, a, b);
}

/* Returns the accumulator: zero, the third operand, or the other operand of `+`. */
static Val *
dot_acc(Lower *l, const Expr *e, const Operand *acc, Type t)
{
	LoweredValue zero = dtype_info[t.dtype].kind == K_flt ? value_flt(0) : value_int(0);
	Operand given;

	if (!acc && e->narg == 3 && lower_expr_dtype(l, e->arg[2]) == D_COUNT) {
		given = lower_operand(l, e->arg[2]);
		acc = &given;
	}
	if (!acc)
		return put_const(l, &zero, t, e->src);
	given = *acc;
	given.v = lower_load(l, given);
	if (given.v.kind == VK_val && given.v.v->type.dtype != t.dtype) {
		diag_error(l->diag, e->src, "`%s` is %s but the `dot` accumulates in %s; write %s",
		           check_text(l, given.e, "the accumulator"), dtype_info[given.v.v->type.dtype].name,
		           dtype_info[t.dtype].name,
		           given.v.v->type.dtype == D_f16 && t.dtype == D_f32
		                   ? "`dot(a, b, f16)`, or make it f32"
		                   : arena_printf(l->arena, "`%s(%s)`", dtype_info[t.dtype].name,
		                                  check_text(l, given.e, "...")));
		check_declared(l, e->src, 1, &given);
		return NULL;
	}
	return lower_to_type(l, given, t, e->src, "the accumulator of `dot`");
}

/* Does the other operand of the sum fit the accumulator? If it is larger, the dot and an addition are
 * separate. */
static bool
fits_acc(const Operand *acc, const Type *t)
{
	const Type *a;

	if (acc->v.kind != VK_val && acc->v.kind != VK_view)
		return true;
	a = &acc->v.v->type;
	if (a->rank > t->rank)
		return false;
	for (int d = 0; d < a->rank; d++) {
		int64_t x = a->shape[d], y = t->shape[t->rank - a->rank + d];
		if (x != 1 && x != y)
			return false;
	}
	return true;
}

/* Broadcasts the operand to all batches of the result. */
static Val *
for_batches(Lower *l, const Expr *e, const Operand *o, const Type *out)
{
	const Type *own = &o->v.v->type;
	Type t = type_tile(own->dtype, S_reg, out->rank, out->shape);

	t.shape[t.rank - 2] = own->shape[own->rank - 2];
	t.shape[t.rank - 1] = own->shape[own->rank - 1];
	return lower_broadcast_to(l, e->src, o->v, t);
}

LoweredValue
lower_dot(Lower *l, const Expr *e, const Operand *acc)
{
	LoweredValue r = { .kind = VK_val };
	Operand o[2], free[2];
	Val *in[3];
	bool fits;
	DType d;
	Type t;

	if (e->narg > 3) {
		diag_error(l->diag, e->src,
		           "`dot` has %d arguments; write dot(a, b), dot(a, b, f16) or dot(a, b, "
		           "accumulator)",
		           e->narg);
		return value_none();
	}
	if (!lower_tile_arg(l, e, 0, &o[0]) || !lower_tile_arg(l, e, 1, &o[1]) ||
	    (acc && acc->v.kind == VK_none))
		return value_none();
	round_operands(l, e, o);
	if (!lower_check_dot(l, e, &o[0], &o[1], &d))
		return value_none();
	if (!join_batches(l, e, &o[0], &o[1], free) || !lower_join_shape(l, e->src, 2, free, &t))
		return value_none();
	t = type_tile(d, S_reg, t.rank, t.shape);
	fits = !acc || fits_acc(acc, &t);
	for (int i = 0; i < 2; i++)
		in[i] = for_batches(l, e, &o[i], &t);
	if (!(in[2] = dot_acc(l, e, fits ? acc : NULL, t)))
		return value_none();
	r.v = put_op(l, O_dot, e->src, 3, in, t);
	return fits ? r : lower_op2(l, TK_plus, e->src, *acc, (Operand){ r, e });
}
