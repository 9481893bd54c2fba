/* launch_expr.c - evaluates launch-time expressions. */
#include "lib/rt/launch_expr.h"
#include "hexc/ir/dtype_value.h"

bool
expr_op_known(OpCode op)
{
	switch (op) {
	case O_add:
	case O_sub:
	case O_mul:
	case O_div:
	case O_mod:
	case O_min:
	case O_max:
	case O_and:
	case O_or:
	case O_xor:
	case O_shl:
	case O_shr:
	case O_lt:
	case O_le:
	case O_eq:
	case O_ne:
	case O_neg:
	case O_abs:
	case O_not:
	case O_select:
	case O_cast: return true;
	default: return false;
	}
}

static bool
add_over(int64_t x, int64_t y)
{
	return y > 0 ? x > INT64_MAX - y : x < INT64_MIN - y;
}

static bool
mul_over(int64_t x, int64_t y)
{
	if (x == 0 || y == 0)
		return false;
	if (x == -1 || y == -1)
		return x == INT64_MIN || y == INT64_MIN;
	if (x > 0)
		return y > 0 ? x > INT64_MAX / y : y < INT64_MIN / x;
	return y > 0 ? x < INT64_MIN / y : y < INT64_MAX / x;
}

static bool
overflows(OpCode op, int64_t x, int64_t y)
{
	switch (op) {
	case O_add: return add_over(x, y);
	case O_sub: return y == INT64_MIN ? x >= 0 : add_over(x, -y);
	case O_mul: return mul_over(x, y);
	default: return false;
	}
}

/* Computes the value of a node with valid operands; returns false if it has none. */
static bool
node_value(const ExprNode *n, const ExprValues *v, int64_t *out)
{
	int64_t x = n->in[0] >= 0 ? v->value[n->in[0]] : 0;
	int64_t y = n->in[1] >= 0 ? v->value[n->in[1]] : 0;

	switch (n->op) {
	case O_neg:
		*out = x == INT64_MIN ? x : -x;
		return x != INT64_MIN && num_fits(n->dtype, *out);
	case O_abs:
		*out = x < 0 && x != INT64_MIN ? -x : x;
		return x != INT64_MIN;
	case O_not:
		*out = n->dtype == D_bool ? !x : ~x;
		return true;
	case O_select: *out = x ? y : v->value[n->in[2]]; return true;
	case O_cast:
		*out = n->dtype == D_bool ? x != 0 : x;
		return num_fits(n->dtype, *out);
	default:
		return !overflows(n->op, x, y) && i64_eval(n->op, x, y, out) &&
		       num_fits(n->dtype, *out);
	}
}

void
expr_eval(const ExprTable *t, const int64_t *param, ExprValues *out)
{
	for (int i = 0; i < t->n; i++) {
		const ExprNode *n = &t->node[i];
		out->value[i] = 0;
		out->bad[i] = false;
		if (n->op == O_none)
			out->value[i] = param[n->imm];
		else if (n->op == O_const)
			out->value[i] = n->imm;
		else {
			for (int j = 0; j < 3; j++)
				if (n->in[j] >= 0 && out->bad[n->in[j]] &&
				    !(n->op == O_select && j > 0))
					out->bad[i] = true;
			if (!out->bad[i])
				out->bad[i] = !node_value(n, out, &out->value[i]);
		}
		/* a select is valid if the selected operand is */
		if (n->op == O_select && !out->bad[i])
			out->bad[i] = out->bad[n->in[out->value[n->in[0]] ? 1 : 2]];
	}
}
