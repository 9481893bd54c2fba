/* launch_expr_text.c - converts IR scalars to launch-time expressions, and these to text. */
#include "lib/launch_expr_text.h"
#include <string.h>

/* ---- from the IR ------------------------------------------------------------------------------ */

static ExprRef
node_add(Arena *a, ExprTable *t, ExprNode n)
{
	for (int i = 0; i < t->n; i++) {
		const ExprNode *o = &t->node[i];
		if (o->op == n.op && o->dtype == n.dtype && o->imm == n.imm && o->in[0] == n.in[0] &&
		    o->in[1] == n.in[1] && o->in[2] == n.in[2])
			return i;
	}
	if (t->n == EXPR_MAX)
		return -1;
	VEC_PUSH(a, t->node, t->n, t->cap, n);
	return t->n - 1;
}

/* The values of one expression that are in the table already: they can be reached in exponentially many
 * ways. */
typedef struct Converted {
	Arena *a;
	ExprTable *t;
	const Kernel *k;
	struct ValueRef {
		const Val *v;
		ExprRef ref;
	} *known;
	int n, cap;
} Converted;

static ExprRef from_val(Converted *c, const Val *v, int depth);

static ExprRef
from_op(Converted *c, const Val *v, int depth)
{
	ExprNode n = { v->def->code, v->type.dtype, { -1, -1, -1 }, 0 };
	struct ValueRef r = { v, -1 };

	for (int i = 0; i < c->n; i++)
		if (c->known[i].v == v)
			return c->known[i].ref;
	if (!expr_op_known(n.op) || v->def->nin > 3)
		return -1;
	for (int i = 0; i < v->def->nin; i++) {
		n.in[i] = from_val(c, v->def->in[i], depth + 1);
		if (n.in[i] < 0)
			return -1;
	}
	r.ref = node_add(c->a, c->t, n);
	VEC_PUSH(c->a, c->known, c->n, c->cap, r);
	return r.ref;
}

/* `depth` bounds the recursion for programs that would overflow the stack. */
static ExprRef
from_val(Converted *c, const Val *v, int depth)
{
	ExprNode n = { O_none, D_i64, { -1, -1, -1 }, 0 };

	arena_step(c->a);
	if (!v || v->type.space != S_scalar || dtype_info[v->type.dtype].kind == K_flt || depth > 200)
		return -1;
	n.dtype = v->type.dtype;
	if (!v->def) {
		if (v->block != c->k->body)
			return -1;
		n.imm = v->index;
		return node_add(c->a, c->t, n);
	}
	if (v->def->code != O_const)
		return from_op(c, v, depth);
	n.op = O_const;
	n.imm = IMM(v->def, value);
	return node_add(c->a, c->t, n);
}

ExprRef
expr_add(Arena *a, ExprTable *t, const Kernel *k, const Val *v)
{
	Converted c = { .a = a, .t = t, .k = k };

	return from_val(&c, v, 0);
}

/* ---- to text ---------------------------------------------------------------------------------- */

enum { TEXT_MAX = 4096 }; /* bytes; shared nodes are written once per use, so the text is bounded */

/* Returns an operator's text and its precedence; 0: written as a call. */
static const char *
operator_text(OpCode op, int *level)
{
	switch (op) {
	case O_add: *level = 5; return "+";
	case O_sub: *level = 5; return "-";
	case O_mul: *level = 6; return "*";
	case O_div: *level = 6; return "/";
	case O_mod: *level = 6; return "%";
	case O_shl: *level = 4; return "<<";
	case O_shr: *level = 4; return ">>";
	case O_and: *level = 2; return "&";
	case O_or: *level = 1; return "|";
	case O_xor: *level = 1; return "^";
	case O_lt: *level = 3; return "<";
	case O_le: *level = 3; return "<=";
	case O_eq: *level = 3; return "==";
	case O_ne: *level = 3; return "!=";
	default: *level = 0; return op_info[op].name;
	}
}

static bool
not_negative(const ExprTable *t, ExprRef e)
{
	const ExprNode *n = &t->node[e];

	switch (n->op) {
	case O_none: return t->from_0 && t->from_0[n->imm];
	case O_const: return n->imm >= 0;
	case O_add:
	case O_mul:
	case O_div:
	case O_min: return not_negative(t, n->in[0]) && not_negative(t, n->in[1]);
	case O_max: return not_negative(t, n->in[0]) || not_negative(t, n->in[1]);
	case O_mod: return not_negative(t, n->in[0]);
	default: return false;
	}
}

static bool
is_number(const ExprTable *t, ExprRef e, int64_t x)
{
	return e >= 0 && t->node[e].op == O_const && t->node[e].imm == x;
}

/* (x + (c - 1)) / c: the expansion of ceil(x, c) for x >= 0. */
static bool
ceil_from_0(const ExprTable *t, const ExprNode *div, ExprRef arg[2])
{
	const ExprNode *sum = &t->node[div->in[0]], *c = &t->node[div->in[1]];

	arg[1] = div->in[1];
	if (sum->op == O_add && c->op == O_const && is_number(t, sum->in[1], c->imm - 1))
		arg[0] = sum->in[0];
	else if (sum->op == O_sub && c->op != O_const && is_number(t, sum->in[1], 1) &&
	         t->node[sum->in[0]].op == O_add && t->node[sum->in[0]].in[1] == div->in[1])
		arg[0] = t->node[sum->in[0]].in[0];
	else
		return false;
	return not_negative(t, arg[0]) && not_negative(t, arg[1]);
}

/* (x - s) / c + s: the expansion for any x, where s is 1 for x > 0, else 0. */
static bool
ceil_of_any(const ExprTable *t, const ExprNode *sum, ExprRef arg[2])
{
	const ExprNode *div = &t->node[sum->in[0]], *one = &t->node[sum->in[1]], *less, *above;

	if (div->op != O_div || one->op != O_select || !is_number(t, one->in[1], 1) ||
	    !is_number(t, one->in[2], 0))
		return false;
	less = &t->node[div->in[0]];
	above = &t->node[one->in[0]];
	if (less->op != O_sub || less->in[1] != sum->in[1] || above->op != O_lt ||
	    !is_number(t, above->in[0], 0) || above->in[1] != less->in[0])
		return false;
	arg[0] = less->in[0];
	arg[1] = div->in[1];
	return true;
}

static void write_node(Text *s, const ExprTable *t, ExprRef e, int level);

static void
write_call(Text *s, const ExprTable *t, const char *name, const ExprRef *arg, int n)
{
	text_printf(s, "%s(", name);
	for (int i = 0; i < n; i++) {
		text_printf(s, i ? ", " : "");
		write_node(s, t, arg[i], 0);
	}
	text_printf(s, ")");
}

/* Writes a node, in parentheses if its precedence is below `level`. */
static void
write_node(Text *s, const ExprTable *t, ExprRef e, int level)
{
	const ExprNode *n = &t->node[e];
	ExprRef arg[2];
	int own, args = 0;
	const char *op;

	if (s->n > TEXT_MAX)
		return;
	if (n->op == O_none || n->op == O_const) {
		if (n->op == O_none)
			text_printf(s, "%s", t->name[n->imm]);
		else
			text_printf(s, "%lld", (long long)n->imm);
		return;
	}
	if ((n->op == O_div && ceil_from_0(t, n, arg)) || (n->op == O_add && ceil_of_any(t, n, arg))) {
		write_call(s, t, "ceil", arg, 2);
		return;
	}
	op = operator_text(n->op, &own);
	while (args < 3 && n->in[args] >= 0)
		args++;
	if (n->op == O_cast)
		op = dtype_info[n->dtype].name;
	if (n->op == O_select)
		op = "where";
	if (n->op == O_neg || n->op == O_not) {
		text_printf(s, n->op == O_neg ? "-" : "!");
		write_node(s, t, n->in[0], 7);
	} else if (own == 0 || args != 2) {
		write_call(s, t, op, n->in, args);
	} else {
		text_printf(s, own < level ? "(" : "");
		write_node(s, t, n->in[0], own);
		text_printf(s, " %s ", op);
		write_node(s, t, n->in[1], own + 1);
		text_printf(s, own < level ? ")" : "");
	}
}

const char *
expr_text(Arena *a, const ExprTable *t, ExprRef e)
{
	Text s = { a, NULL, 0, 0 };

	if (e < 0)
		return "?";
	write_node(&s, t, e, 0);
	if (s.n > TEXT_MAX)
		memcpy(s.s + TEXT_MAX - 3, "...", 4);
	return s.s;
}
