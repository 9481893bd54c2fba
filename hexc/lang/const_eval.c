/* const_eval.c - evaluates arithmetic on compile-time constants: 64-bit integers and doubles. */
#include "hexc/lang/lower.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>

LoweredValue
value_none(void)
{
	return (LoweredValue){ .kind = VK_none };
}

LoweredValue
value_int(int64_t i)
{
	return (LoweredValue){ .kind = VK_int, .i = i };
}

LoweredValue
value_flt(double f)
{
	return (LoweredValue){ .kind = VK_flt, .f = f };
}

LoweredValue
value_bool(bool b)
{
	return (LoweredValue){ .kind = VK_bool, .i = b };
}

bool
value_is_const(const LoweredValue *v)
{
	return v->kind == VK_int || v->kind == VK_flt || v->kind == VK_bool;
}

double
const_double(const LoweredValue *v)
{
	return v->kind == VK_flt ? v->f : (double)v->i;
}

static LoweredValue
const_error(Lower *l, Src src, const char *why)
{
	diag_error(l->diag, src, "%s", why);
	return value_none();
}

static const char too_big[] = "integer constant exceeds 64 bits";

bool
check_fits(Lower *l, const LoweredValue *c, DType d, Src src)
{
	const char *name = dtype_info[d].name;
	bool flt = dtype_info[d].kind == K_flt, pred = d == D_bool;

	if (c->kind == VK_none)
		return false;
	if (pred && c->kind != VK_bool) {
		diag_error(l->diag, src, "%s is not a bool; write true, false or a comparison",
		           check_describe(l, c));
		return false;
	}
	if (!pred && c->kind == VK_bool) {
		diag_error(l->diag, src,
		           "%s is a bool, but a number of type %s is required; write where(%s, 1, 0)",
		           check_describe(l, c), name, check_describe(l, c));
		return false;
	}
	if (!flt && c->kind == VK_flt) {
		diag_error(l->diag, src, "%s does not convert to integer type "
					 "%s", check_describe(l, c), name);
		return false;
	}
	if (pred)
		return true;
	if (flt && !isinf(const_double(c)) && isinf(num_round(d, const_double(c)))) {
		diag_error(l->diag, src, "%s is too large for %s; write `inf` for infinity",
		           check_describe(l, c), name);
		return false;
	}
	if (flt && dtype_info[d].round == R_sat && fabs(const_double(c)) > num_largest(d)) {
		diag_error(l->diag, src, "%s is out of range for %s (maximum %g)",
		           check_describe(l, c), name, num_largest(d));
		return false;
	}
	if (dtype_info[d].codes == C_scale && const_double(c) < 0) {
		diag_error(l->diag, src, "%s is out of range for unsigned type "
					 "%s", check_describe(l, c), name);
		return false;
	}
	/* a negative constant is a number, not the bits of a large u64 */
	if (!flt && (c->i < num_min(d) || !num_fits(d, c->i))) {
		diag_error(l->diag, src, "%s does not fit %s, which holds %lld to %s", check_describe(l, c),
		           name, (long long)num_min(d),
		           dtype_past_i64(d) ? "18446744073709551615"
		                             : arena_printf(l->arena, "%lld", (long long)num_max(d)));
		return false;
	}
	return true;
}

LoweredValue
const_unary(Lower *l, TileToken op, Src src, LoweredValue x)
{
	switch (op) {
	case TK_minus:
		if (x.kind == VK_flt)
			return value_flt(-x.f);
		if (x.kind == VK_int)
			return x.i == INT64_MIN ? const_error(l, src, too_big) : value_int(-x.i);
		return const_error(l, src, "unary `-` is not defined on bool; write `!`");
	case TK_bang:
		if (x.kind == VK_bool)
			return value_bool(!x.i);
		return const_error(l, src, "`!` requires a condition; compare the number with 0");
	default:
		if (x.kind == VK_int)
			return value_int(~x.i);
		return const_error(l, src, "`~` requires an integer");
	}
}

static LoweredValue
int_binary(Lower *l, TileToken op, Src src, int64_t x, int64_t y)
{
	int64_t r = 0;
	bool over = false;

	switch (op) {
	case TK_plus: over = __builtin_add_overflow(x, y, &r); break;
	case TK_minus: over = __builtin_sub_overflow(x, y, &r); break;
	case TK_star: over = __builtin_mul_overflow(x, y, &r); break;
	case TK_slash:
	case TK_percent:
		if (y == 0)
			return const_error(l, src, "division by zero");
		if (y == -1)
			over = op == TK_slash && __builtin_sub_overflow((int64_t)0, x, &r);
		else
			r = op == TK_slash ? x / y : x % y;
		break;
	case TK_amp: r = x & y; break;
	case TK_bar: r = x | y; break;
	case TK_caret: r = x ^ y; break;
	case TK_shl:
	case TK_shr:
		if (y < 0 || y > 62)
			return const_error(l, src, "a shift of a constant must be by 0 to 62 bits");
		if (op == TK_shl)
			over = __builtin_mul_overflow(x, (int64_t)1 << y, &r);
		else
			r = x < 0 ? ~(~x >> y) : x >> y;
		break;
	default: return const_error(l, src, "`&&` and `||` require conditions; compare the number with 0");
	}
	return over ? const_error(l, src, too_big) : value_int(r);
}

static LoweredValue
flt_binary(Lower *l, TileToken op, Src src, double x, double y)
{
	switch (op) {
	case TK_plus: return value_flt(x + y);
	case TK_minus: return value_flt(x - y);
	case TK_star: return value_flt(x * y);
	case TK_slash: return value_flt(x / y);
	case TK_percent: return value_flt(fmod(x, y));
	default: return const_error(l, src, "the operator requires integers");
	}
}

static LoweredValue
bool_binary(Lower *l, TileToken op, Src src, bool x, bool y)
{
	switch (op) {
	case TK_andand:
	case TK_amp: return value_bool(x && y);
	case TK_oror:
	case TK_bar: return value_bool(x || y);
	case TK_ne:
	case TK_caret: return value_bool(x != y);
	case TK_eq: return value_bool(x == y);
	default: return const_error(l, src, "the operator requires numbers, not conditions");
	}
}

/* -1, 0, 1 as x is less, equal, greater; 2: not comparable */
static int
order(const LoweredValue *x, const LoweredValue *y)
{
	double a = const_double(x), b = const_double(y);

	if (x->kind == VK_int && y->kind == VK_int)
		return (x->i > y->i) - (x->i < y->i);
	return a < b ? -1 : a > b ? 1
	            : a == b      ? 0
	                     : 2;
}

LoweredValue
const_binary(Lower *l, TileToken op, Src src, LoweredValue x, LoweredValue y)
{
	int o;

	if (x.kind == VK_none || y.kind == VK_none)
		return value_none();
	if (x.kind == VK_bool && y.kind == VK_bool)
		return bool_binary(l, op, src, x.i != 0, y.i != 0);
	if (x.kind == VK_bool || y.kind == VK_bool)
		return const_error(l, src, "operands are a condition and a number; compare the number first");
	o = order(&x, &y);
	switch (op) {
	case TK_lt: return value_bool(o == -1);
	case TK_le: return value_bool(o == -1 || o == 0);
	case TK_gt: return value_bool(o == 1);
	case TK_ge: return value_bool(o == 1 || o == 0);
	case TK_eq: return value_bool(o == 0);
	case TK_ne: return value_bool(o != 0);
	default: break;
	}
	if (x.kind == VK_int && y.kind == VK_int)
		return int_binary(l, op, src, x.i, y.i);
	return flt_binary(l, op, src, const_double(&x), const_double(&y));
}

static bool
flt_call(OpCode code, double x, double *r)
{
	switch (code) {
	case O_exp: *r = exp(x); return true;
	case O_exp2: *r = exp2(x); return true;
	case O_log: *r = log(x); return true;
	case O_sqrt: *r = sqrt(x); return true;
	case O_rsqrt: *r = 1 / sqrt(x); return true;
	case O_tanh: *r = tanh(x); return true;
	case O_floor: *r = floor(x); return true;
	case O_ceil: *r = ceil(x); return true;
	case O_round: *r = nearbyint(x); return true;
	case O_trunc: *r = trunc(x); return true;
	default: return false;
	}
}

bool
const_call(Lower *l, OpCode code, Src src, int n, const Operand *arg, LoweredValue *out)
{
	double r;

	for (int i = 0; i < n; i++) {
		if (!value_is_const(&arg[i].v) || arg[i].v.kind == VK_bool)
			return false;
	}
	if (code == O_min || code == O_max) {
		int o = order(&arg[0].v, &arg[1].v);
		*out = (code == O_min) == (o <= 0) ? arg[0].v : arg[1].v;
		return true;
	}
	if (code == O_abs) {
		*out = const_double(&arg[0].v) < 0 ? const_unary(l, TK_minus, src, arg[0].v) : arg[0].v;
		return true;
	}
	if (!flt_call(code, const_double(&arg[0].v), &r))
		return false;
	*out = value_flt(r);
	return true;
}
