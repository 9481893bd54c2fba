/* elementwise.c - implements the interpreter's elementwise ops and the arithmetic of atomic updates. */
#include "hexc/interp/interp_internal.h"
#include <math.h>

/* A loop for a formula over x, y, z. */
#define LOOP(expr)                                                                                 \
	do {                                                                                       \
		for (int64_t j = 0; j < n; j++)                                                    \
			r[j] = (expr);                                                             \
		return true;                                                                       \
	} while (0)

/* A number wins over NaN, and +0 > -0. */
static double
min_f(double a, double b)
{
	if (a == b)
		return signbit(a) ? a : b;
	return isnan(b) || a < b ? a : b;
}

static double
max_f(double a, double b)
{
	if (a == b)
		return signbit(a) ? b : a;
	return isnan(b) || a > b ? a : b;
}

static bool
float_op(OpCode code, int64_t n, double *r, const double *x, const double *y)
{
	switch ((EltOp)code) {
	case E_add: LOOP(x[j] + y[j]);
	case E_sub: LOOP(x[j] - y[j]);
	case E_mul: LOOP(x[j] * y[j]);
	case E_div: LOOP(x[j] / y[j]);
	case E_min: LOOP(min_f(x[j], y[j]));
	case E_max: LOOP(max_f(x[j], y[j]));
	case E_neg: LOOP(-x[j]);
	case E_abs: LOOP(fabs(x[j]));
	case E_exp: LOOP(exp(x[j]));
	case E_exp2: LOOP(exp2(x[j]));
	case E_log: LOOP(log(x[j]));
	case E_sqrt: LOOP(sqrt(x[j]));
	case E_rsqrt: LOOP(1 / sqrt(x[j]));
	case E_tanh: LOOP(tanh(x[j]));
	case E_floor: LOOP(floor(x[j]));
	case E_ceil: LOOP(ceil(x[j]));
	case E_round: LOOP(nearbyint(x[j]));
	case E_trunc: LOOP(trunc(x[j]));
	/* not for floats, or with operands of several types */
	case E_mod:
	case E_and:
	case E_or:
	case E_xor:
	case E_shl:
	case E_shr:
	case E_not:
	case E_popcount:
	case E_clz:
	case E_mulhi:
	case E_lt:
	case E_le:
	case E_eq:
	case E_ne:
	case E_fma:
	case E_select:
	case E_cast:
	case E_bitcast: break;
	}
	return false;
}

/* ---- integers -------------------------------------------------------------------------------- */

static int64_t
div_i(bool big, int64_t a, int64_t b)
{
	if (b == 0)
		return -1;
	if (big)
		return (int64_t)((uint64_t)a / (uint64_t)b);
	return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t
mod_i(bool big, int64_t a, int64_t b)
{
	if (b == 0)
		return a;
	if (big)
		return (int64_t)((uint64_t)a % (uint64_t)b);
	return b == -1 ? 0 : a % b;
}

static bool
less_i(bool big, int64_t a, int64_t b)
{
	return big ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Shift amounts are unsigned: a negative one shifts everything out. */
static int64_t
shift_i(DType d, bool left, int64_t a, int64_t by)
{
	uint64_t n = (uint64_t)by;

	if (left)
		return n >= dtype_info[d].bits ? 0 : (int64_t)((uint64_t)a << n);
	if (dtype_is_sint(d))
		return a >> (n > 63 ? 63 : n);
	return n > 63 ? 0 : (int64_t)((uint64_t)a >> n);
}

static uint64_t
own_bits(DType d, int64_t x)
{
	return (uint64_t)x & UINT64_MAX >> (64 - dtype_info[d].bits);
}

static int64_t
leading_zeros(DType d, int64_t x)
{
	uint64_t bits = own_bits(d, x);
	int n = dtype_info[d].bits;

	return bits ? __builtin_clzll(bits) - (64 - n) : n;
}

/* The upper half of the product; for 64 bits by 32-bit halves. */
static int64_t
mulhi_i(DType d, int64_t x, int64_t y)
{
	uint64_t a = (uint64_t)x, b = (uint64_t)y, low = 0xffffffff, mid, more, r;

	if (dtype_info[d].bits < 64 && dtype_is_sint(d))
		return x * y >> dtype_info[d].bits;
	if (dtype_info[d].bits < 64)
		return (int64_t)(a * b >> dtype_info[d].bits);
	mid = (a >> 32) * (b & low) + ((a & low) * (b & low) >> 32);
	more = (a & low) * (b >> 32) + (mid & low);
	r = (a >> 32) * (b >> 32) + (mid >> 32) + (more >> 32);
	if (dtype_is_sint(d)) /* as unsigned, a negative factor is too large by 2^64 */
		r -= (x < 0 ? b : 0) + (y < 0 ? a : 0);
	return (int64_t)r;
}

static bool
int_op(OpCode code, DType d, int64_t n, int64_t *r, const int64_t *x, const int64_t *y)
{
	bool big = dtype_past_i64(d);

	switch ((EltOp)code) {
	case E_add: LOOP((int64_t)((uint64_t)x[j] + (uint64_t)y[j]));
	case E_sub: LOOP((int64_t)((uint64_t)x[j] - (uint64_t)y[j]));
	case E_mul: LOOP((int64_t)((uint64_t)x[j] * (uint64_t)y[j]));
	case E_div: LOOP(div_i(big, x[j], y[j]));
	case E_mod: LOOP(mod_i(big, x[j], y[j]));
	case E_min: LOOP(less_i(big, y[j], x[j]) ? y[j] : x[j]);
	case E_max: LOOP(less_i(big, x[j], y[j]) ? y[j] : x[j]);
	case E_and: LOOP(x[j] & y[j]);
	case E_or: LOOP(x[j] | y[j]);
	case E_xor: LOOP(x[j] ^ y[j]);
	case E_shl: LOOP(shift_i(d, true, x[j], y[j]));
	case E_shr: LOOP(shift_i(d, false, x[j], y[j]));
	case E_neg: LOOP((int64_t)(0 - (uint64_t)x[j]));
	case E_abs: LOOP(x[j] < 0 && !big ? (int64_t)(0 - (uint64_t)x[j]) : x[j]);
	case E_not: LOOP(d == D_bool ? !x[j] : ~x[j]);
	case E_popcount: LOOP(__builtin_popcountll(own_bits(d, x[j])));
	case E_clz: LOOP(leading_zeros(d, x[j]));
	case E_mulhi: LOOP(mulhi_i(d, x[j], y[j]));
	/* not for integers, or with operands of several types */
	case E_exp:
	case E_exp2:
	case E_log:
	case E_sqrt:
	case E_rsqrt:
	case E_tanh:
	case E_floor:
	case E_ceil:
	case E_round:
	case E_trunc:
	case E_lt:
	case E_le:
	case E_eq:
	case E_ne:
	case E_fma:
	case E_select:
	case E_cast:
	case E_bitcast: break;
	}
	return false;
}

void
interp_update(StoreKind kind, DType d, void *buf, int64_t at, const InterpValue *x, int64_t j)
{
	static const OpCode code[STORE_KINDS] = { /* O_none: replaces the value */
		O_none, O_add, O_max, O_min, O_and, O_or, O_xor, O_none, O_none
	};
	double f, was_f;
	int64_t i, was_i;

	if (code[kind] == O_none) {
		if (dtype_is_float(d))
			num_put_f(d, buf, at, x->f[j]);
		else
			num_put_i(d, buf, at, x->i[j]);
	} else if (dtype_is_float(d)) {
		was_f = num_get_f(d, buf, at);
		float_op(code[kind], 1, &f, &was_f, x->f + j);
		num_put_f(d, buf, at, f);
	} else {
		was_i = num_get_i(d, buf, at);
		int_op(code[kind], d, 1, &i, &was_i, x->i + j);
		num_put_i(d, buf, at, i);
	}
}

/* ---- results that are not of the operands' type ---------------------------------------------- */

#define COMPARE(x, y, less, less_equal)                                                            \
	do {                                                                                       \
		if (code == O_lt)                                                                  \
			LOOP(less);                                                                \
		if (code == O_le)                                                                  \
			LOOP(less_equal);                                                          \
		if (code == O_eq)                                                                  \
			LOOP(x[j] == y[j]);                                                        \
		LOOP(x[j] != y[j]);                                                                \
	} while (0)

static bool
compare(OpCode code, DType d, int64_t n, int64_t *r, const InterpValue *a, const InterpValue *b)
{
	const double *x = a->f, *y = b->f;
	const int64_t *u = a->i, *v = b->i;
	bool big = dtype_past_i64(d);

	if (dtype_is_float(d))
		COMPARE(x, y, x[j] < y[j], x[j] <= y[j]);
	COMPARE(u, v, less_i(big, u[j], v[j]), !less_i(big, v[j], u[j]));
}

static void
select_n(bool flt, const InterpValue *r, const int64_t *c, const InterpValue *a, const InterpValue *b)
{
	for (int64_t j = 0; j < r->n; j++) {
		if (flt)
			r->f[j] = c[j] ? a->f[j] : b->f[j];
		else
			r->i[j] = c[j] ? a->i[j] : b->i[j];
	}
}

static void
cast_n(DType to, DType from, const InterpValue *r, const InterpValue *a)
{
	bool tf = dtype_is_float(to), ff = dtype_is_float(from);
	int64_t n = r->n;

	if (tf && ff) {
		for (int64_t j = 0; j < n; j++)
			r->f[j] = a->f[j];
		num_round_n(to, r->f, (size_t)n);
	} else if (tf) {
		for (int64_t j = 0; j < n; j++)
			r->f[j] = num_from_int(to, from, a->i[j]);
	} else if (ff) {
		for (int64_t j = 0; j < n; j++)
			r->i[j] = num_from_float(to, a->f[j]);
	} else {
		for (int64_t j = 0; j < n; j++)
			r->i[j] = a->i[j];
		num_wrap_n(to, r->i, (size_t)n);
	}
}

/* Through the storage format. */
static void
bitcast_n(DType to, DType from, const InterpValue *r, const InterpValue *a)
{
	uint64_t bits;

	for (int64_t j = 0; j < r->n; j++) {
		bits = 0;
		if (dtype_is_float(from))
			bits = num_bits(from, a->f[j]);
		else
			num_put_i(from, &bits, 0, a->i[j]);
		if (dtype_is_float(to))
			r->f[j] = num_get_f(to, &bits, 0);
		else
			r->i[j] = num_get_i(to, &bits, 0);
	}
}

static bool
fma_n(const Interp *it, DType d, const InterpValue *r, const InterpValue *a, const InterpValue *b,
      const InterpValue *c)
{
	for (int64_t j = 0; j < r->n; j++) {
		if (dtype_is_float(d) && it->opt.noise) {
			double x = a->f[j] * b->f[j] + c->f[j];

			r->f[j] = num_round(d, interp_noise_sum(it, d, x, 1, fabs(x), j));
		} else if (dtype_is_float(d))
			r->f[j] = num_fma(d, a->f[j], b->f[j], c->f[j]);
		else
			r->i[j] = num_wrap(d, (int64_t)((uint64_t)a->i[j] * (uint64_t)b->i[j] +
			                                (uint64_t)c->i[j]));
	}
	return true;
}

/* ---- the rules ------------------------------------------------------------------------------- */

static bool
operands(Interp *it, const Op *o, InterpValue *in[3], InterpValue **r)
{
	*r = slot_of(it, o->out[0]);
	for (int i = 0; i < o->nin; i++) {
		in[i] = slot_of(it, o->in[i]);
		if (in[i]->n != (*r)->n)
			return interp_error(it, INTERP_E_FAULT, o, "internal: %s of tiles of different "
			                                           "shapes",
			                    op_info[o->code].name);
	}
	return true;
}

bool
eval_arith(Interp *it, Op *o)
{
	InterpValue *r, *in[3] = { NULL };
	DType d = o->out[0]->type.dtype;
	bool ok;

	if (!operands(it, o, in, &r))
		return false;
	if (dtype_is_float(d)) {
		ok = float_op(o->code, r->n, r->f, in[0]->f, in[1] ? in[1]->f : NULL);
		interp_noise_elt(it, o, d, in, r);
		num_round_n(d, r->f, (size_t)r->n);
	} else {
		ok = int_op(o->code, d, r->n, r->i, in[0]->i, in[1] ? in[1]->i : NULL);
		num_wrap_n(d, r->i, (size_t)r->n);
	}
	return ok || interp_error(it, INTERP_E_FAULT, o, "%s is not defined on %s",
	                          op_info[o->code].name, dtype_info[d].name);
}

bool
eval_compare(Interp *it, Op *o)
{
	InterpValue *r, *in[3];

	return operands(it, o, in, &r) &&
	       compare(o->code, elt_lhs(o)->type.dtype, r->n, r->i, in[0], in[1]);
}

bool
eval_fma(Interp *it, Op *o)
{
	InterpValue *r, *in[3];

	return operands(it, o, in, &r) && fma_n(it, o->out[0]->type.dtype, r, in[0], in[1], in[2]);
}

bool
eval_select(Interp *it, Op *o)
{
	InterpValue *r, *in[3];

	if (!operands(it, o, in, &r))
		return false;
	select_n(dtype_is_float(o->out[0]->type.dtype), r, in[0]->i, in[1], in[2]);
	return true;
}

bool
eval_cast(Interp *it, Op *o)
{
	InterpValue *r, *in[3];

	if (!operands(it, o, in, &r))
		return false;
	cast_n(o->out[0]->type.dtype, op_source(o)->type.dtype, r, in[0]);
	if (it->opt.noise && dtype_is_float(o->out[0]->type.dtype) &&
	    dtype_is_float(op_source(o)->type.dtype))
		for (int64_t j = 0; j < r->n; j++)
			r->f[j] = num_round(o->out[0]->type.dtype,
			                    interp_noise_sum(it, o->out[0]->type.dtype, in[0]->f[j], 1,
			                                     fabs(in[0]->f[j]), j));
	return true;
}

bool
eval_bitcast(Interp *it, Op *o)
{
	InterpValue *r, *in[3];

	if (!operands(it, o, in, &r))
		return false;
	bitcast_n(o->out[0]->type.dtype, op_source(o)->type.dtype, r, in[0]);
	return true;
}
