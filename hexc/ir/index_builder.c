/* index_builder.c - builds index arithmetic: integer constants and scalar ops, folded at creation. */
#include "hexc/ir/ir.h"

static const Src nowhere = { 0, 0, 0 };

static Val *
const_new(Block *b, Op *at, DType d, int64_t x)
{
	Type t = type_scalar(d);
	Op *o = op_new(b, at, O_const, nowhere, 0, NULL, 1, &t);

	IMM_SET(o, value, x);
	return o->out[0];
}

Val *
ir_const(Block *b, Op *at, int64_t x)
{
	return const_new(b, at, D_i64, x);
}

bool
val_is_const(const Val *v, int64_t *out)
{
	if (!v || !v->def || v->def->code != O_const || v->type.space != S_scalar ||
	    dtype_info[v->type.dtype].kind == K_flt)
		return false;
	if (out)
		*out = IMM(v->def, value);
	return true;
}

/* Converts to two's complement, as the hardware does. */
static int64_t
wrap(uint64_t x)
{
	return x <= INT64_MAX ? (int64_t)x : -(int64_t)(UINT64_MAX - x) - 1;
}

bool
i64_eval(OpCode code, int64_t x, int64_t y, int64_t *out)
{
	switch (code) {
	case O_add: *out = wrap((uint64_t)x + (uint64_t)y); return true;
	case O_sub: *out = wrap((uint64_t)x - (uint64_t)y); return true;
	case O_mul: *out = wrap((uint64_t)x * (uint64_t)y); return true;
	case O_div:
	case O_mod:
		if (y == 0 || (y == -1 && x == INT64_MIN))
			return false;
		*out = code == O_div ? x / y : x % y;
		return true;
	case O_min: *out = x < y ? x : y; return true;
	case O_max: *out = x > y ? x : y; return true;
	case O_and: *out = x & y; return true;
	case O_or: *out = x | y; return true;
	case O_xor: *out = x ^ y; return true;
	case O_shl:
	case O_shr:
		if (y < 0 || y > 63)
			return false;
		*out = code == O_shl ? wrap((uint64_t)x << y)
		                     : wrap(x < 0 ? ~(~(uint64_t)x >> y) : (uint64_t)x >> y);
		return true;
	case O_lt: *out = x < y; return true;
	case O_le: *out = x <= y; return true;
	case O_eq: *out = x == y; return true;
	case O_ne: *out = x != y; return true;
	default: return false;
	}
}

/* Returns x op y if a constant operand reduces it to x, y or 0; NULL: no such identity. */
static Val *
identity(Block *b, Op *at, OpCode code, Val *x, Val *y)
{
	int64_t c;

	if (val_is_const(y, &c)) {
		if ((c == 0 && (code == O_add || code == O_sub || code == O_or || code == O_xor ||
		                code == O_shl || code == O_shr)) ||
		    (c == 1 && (code == O_mul || code == O_div)))
			return x;
		if (c == 0 && code == O_mul)
			return y;
		if (c == 1 && code == O_mod)
			return const_new(b, at, x->type.dtype, 0);
	}
	if (val_is_const(x, &c)) {
		if ((c == 0 && (code == O_add || code == O_or || code == O_xor)) ||
		    (c == 1 && code == O_mul))
			return y;
		if (c == 0 && code == O_mul)
			return x;
	}
	return x == y && (code == O_min || code == O_max) ? x : NULL;
}

Val *
ir_bin(Block *b, Op *at, OpCode code, Val *x, Val *y)
{
	bool compare = op_info[code].flags & F_COMPARE;
	Type t = type_scalar(compare ? D_bool : x->type.dtype);
	Val *in[2] = { x, y }, *r;
	int64_t cx, cy, c;

	if (x->type.dtype == D_i64 || (x->type.dtype == D_bool && !compare)) {
		if (val_is_const(x, &cx) && val_is_const(y, &cy) && i64_eval(code, cx, cy, &c))
			return const_new(b, at, t.dtype, c);
		if (x->type.dtype == D_i64 && (r = identity(b, at, code, x, y)))
			return r;
	}
	return op_new(b, at, code, nowhere, 2, in, 1, &t)->out[0];
}
