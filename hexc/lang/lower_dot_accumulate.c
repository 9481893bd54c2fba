/* lower_dot_accumulate.c - lowers sums with a dot as an operand: the dot accumulates onto the other
 * operand without rounding in between. */
#include "hexc/lang/lower.h"

/* One operand of a sum: a value, or the operands of a product to be fused. */
typedef struct DotTerm {
	Operand x, y;
	const Expr *product; /* NULL: only x */
} DotTerm;

bool
lower_is_product(const Lower *l, const Expr *e)
{
	return !l->exact && e->kind == EX_binary && e->op == TK_star;
}

static DotTerm
lower_term(Lower *l, const Expr *e, bool factors)
{
	DotTerm t = { .product = factors ? e : NULL };

	t.x = lower_operand(l, factors ? e->arg[0] : e);
	if (factors)
		t.y = lower_operand(l, e->arg[1]);
	return t;
}

static Operand
whole(Lower *l, const DotTerm *t)
{
	if (!t->product)
		return t->x;
	return (Operand){ lower_op2(l, TK_star, t->product->src, t->x, t->y), t->product };
}

/* Returns its element type; D_COUNT if it adapts to the other operand, or is invalid. */
static DType
type_of(const Operand *o)
{
	bool typed = (o->v.kind == VK_val || o->v.kind == VK_view) && !lower_plain_of(&o->v);

	return typed ? o->v.v->type.dtype : D_COUNT;
}

static bool
is_number(const Operand *o)
{
	return o->v.kind == VK_int || o->v.kind == VK_flt;
}

/* Fuses only types for which every target computes fma with one rounding. */
static bool
may_fuse(const Operand *o)
{
	DType d = type_of(&o[0]) != D_COUNT ? type_of(&o[0]) : type_of(&o[1]);

	if (d != D_f32 && d != D_f64)
		return false;
	for (int i = 0; i < 3; i++)
		if (type_of(&o[i]) != d && !is_number(&o[i]))
			return false;
	return true;
}

/* Creates x * y + z from loaded operands, at the location of the product. */
static LoweredValue
fused(Lower *l, Src src, Operand *o)
{
	LoweredValue r = { .kind = VK_val };
	Val *in[3];
	Type t;

	if (!lower_join(l, src, 3, o, &t))
		return value_none();
	for (int i = 0; i < 3; i++)
		in[i] = lower_broadcast_to(l, src, o[i].v, t);
	r.v = put_op(l, O_fma, src, 3, in, t);
	return r;
}

static LoweredValue
sum_of(Lower *l, TileToken op, Src src, const DotTerm *a, const DotTerm *b)
{
	const DotTerm *p = a->product ? a : b;
	Operand o[3] = { p->x, p->y, p == a ? b->x : a->x };
	int minus = p == a ? 2 : value_is_const(&o[1].v) ? 1 : 0; /* a constant, if there is one */

	if (!p->product || !may_fuse(o))
		return lower_op2(l, op, src, whole(l, a), whole(l, b));
	if (op == TK_minus)
		o[minus].v = lower_unary_op(l, TK_minus, src, o[minus]);
	return fused(l, src, o);
}

LoweredValue
lower_sum(Lower *l, TileToken op, Src src, const Expr *x, const Expr *y)
{
	bool left = lower_is_product(l, x);
	DotTerm a = lower_term(l, x, left), b = lower_term(l, y, !left && lower_is_product(l, y));

	return sum_of(l, op, src, &a, &b);
}

LoweredValue
lower_sum_onto(Lower *l, TileToken op, Src src, Operand x, const Expr *y)
{
	DotTerm a = { .x = x }, b = lower_term(l, y, lower_is_product(l, y));

	return sum_of(l, op, src, &a, &b);
}

LoweredValue
lower_product_onto(Lower *l, TileToken op, Src src, Operand x, const Operand *f, const Expr *e)
{
	DotTerm a = { .x = x }, b = { .x = f[0], .y = f[1], .product = e };

	return sum_of(l, op, src, &a, &b);
}
