/* fold_const.c - evaluates ops on constants for pass fold, rounded and wrapped as on the device. */
#include "hexc/pass/fold.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>

bool
const_get(const Val *v, Constant *out)
{
	if (!v->def || v->def->code != O_const)
		return false;
	out->i = IMM(v->def, value);
	out->f = v->def->fimm;
	return true;
}

Val *
const_make(Op *at, const Type *like, Constant c)
{
	Op *o = op_new(at->parent, at, O_const, at->src, 0, NULL, 1, like);

	if (dtype_is_float(like->dtype))
		o->fimm = c.f;
	else
		IMM_SET(o, value, c.i);
	return o->out[0];
}

/* As the device's min and max: a number wins over NaN, and +0 > -0. */
static double
pick_float(bool max, double x, double y)
{
	bool less = x < y || (x == y && signbit(x) && !signbit(y));

	if (isnan(x) || isnan(y))
		return isnan(x) ? y : x;
	return less == max ? y : x;
}

static bool
eval_float(OpCode code, double x, double y, double *r)
{
	switch (code) {
	case O_add: *r = x + y; return true;
	case O_sub: *r = x - y; return true;
	case O_mul: *r = x * y; return true;
	case O_div: *r = x / y; return true;
	case O_min: *r = pick_float(false, x, y); return true;
	case O_max: *r = pick_float(true, x, y); return true;
	case O_neg: *r = -x; return true;
	case O_abs: *r = fabs(x); return true;
	case O_sqrt: *r = sqrt(x); return true;
	case O_floor: *r = floor(x); return true;
	case O_ceil: *r = ceil(x); return true;
	case O_round: *r = nearbyint(x); return true;
	case O_trunc: *r = trunc(x); return true;
	default: return false; /* the device approximates them */
	}
}

static bool
eval_int(OpCode code, DType d, int64_t x, int64_t y, int64_t *r)
{
	bool sensitive = code == O_div || code == O_mod || code == O_min || code == O_max ||
	                 code == O_lt || code == O_le || code == O_shr || code == O_abs;

	if (dtype_past_i64(d) && sensitive)
		return false;
	switch (code) {
	case O_neg: return i64_eval(O_sub, 0, x, r);
	case O_abs: return x >= 0 ? (*r = x, true) : i64_eval(O_sub, 0, x, r);
	case O_not: *r = d == D_bool ? !x : ~x; return true;
	case O_shl:
	case O_shr: return y >= 0 && y < dtype_info[d].bits && i64_eval(code, x, y, r);
	default: return i64_eval(code, x, y, r);
	}
}

static void
eval_cast(DType to, DType from, Constant x, Constant *r)
{
	if (dtype_is_float(to))
		r->f = dtype_is_float(from) ? num_round(to, x.f) : num_from_int(to, from, x.i);
	else
		r->i = dtype_is_float(from) ? num_from_float(to, x.f) : num_wrap(to, x.i);
}

/* NaN bits are not specified, so they are left to the device. A constant is rounded to its type, which some
 * infinities do not survive. */
static bool
eval_bitcast(DType to, DType from, Constant x, Constant *r)
{
	uint64_t bits = 0;

	if (dtype_is_float(from) && isnan(x.f))
		return false;
	if (dtype_is_float(from))
		bits = num_bits(from, x.f);
	else
		num_put_i(from, &bits, 0, x.i);
	if (dtype_is_float(to))
		r->f = num_get_f(to, &bits, 0);
	else
		r->i = num_get_i(to, &bits, 0);
	return !isinf(r->f) || isinf(num_round(to, r->f));
}

static bool
eval_fma(DType d, const Constant *x, Constant *r)
{
	if (dtype_is_float(d)) {
		r->f = num_fma(d, x[0].f, x[1].f, x[2].f);
		return true;
	}
	return i64_eval(O_mul, x[0].i, x[1].i, &r->i) && i64_eval(O_add, r->i, x[2].i, &r->i);
}

/* eval_float's double result is rounded once more to the type. That is exact for + - * / sqrt, since 53 bits
 * are more than twice the 24 of f32. */
bool
const_eval(const Op *o, Constant *out)
{
	Constant x[3] = { { 0, 0 }, { 0, 0 }, { 0, 0 } };
	DType d = o->out[0]->type.dtype, from = o->nin ? o->in[0]->type.dtype : d;
	bool ok;

	if (!op_is(o, F_ELT) || o->nin < 1 || o->nin > 3)
		return false;
	for (int i = 0; i < o->nin; i++)
		if (!const_get(o->in[i], &x[i]))
			return false;
	out->i = 0;
	out->f = 0;
	switch (o->code) {
	case O_select: *out = x[0].i ? x[1] : x[2]; return true;
	case O_cast: eval_cast(d, from, x[0], out); return true;
	case O_bitcast: return eval_bitcast(d, from, x[0], out);
	case O_fma: ok = eval_fma(d, x, out); break;
	case O_lt:
	case O_le:
	case O_eq:
	case O_ne:
		if (!dtype_is_float(from))
			return eval_int(o->code, from, x[0].i, x[1].i, &out->i);
		out->i = o->code == O_lt   ? x[0].f < x[1].f
		         : o->code == O_le ? x[0].f <= x[1].f
		         : o->code == O_eq ? x[0].f == x[1].f
		                           : x[0].f != x[1].f;
		return true;
	default:
		ok = dtype_is_float(d) ? eval_float(o->code, x[0].f, x[1].f, &out->f)
		                       : eval_int(o->code, d, x[0].i, x[1].i, &out->i);
		break;
	}
	if (dtype_is_float(d))
		out->f = num_round(d, out->f);
	else
		out->i = num_wrap(d, out->i);
	return ok;
}
