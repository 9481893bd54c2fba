/* dtype.c - defines the table of element types and the predicates derived from its columns. */
#include "hexc/ir/ir.h"
#include <string.h>

const DTypeInfo dtype_info[D_COUNT] = {
#define DTYPE(name_, bits_, kind_, exp_, man_, round_, codes_, use_, acc_, print_, alu_, mma_, cvt_, ...) \
	[D_##name_] = { .name = #name_,                                                                   \
		        .bits = bits_,                                                                    \
		        .kind = K_##kind_,                                                                \
		        .exp = exp_,                                                                      \
		        .man = man_,                                                                      \
		        .round = R_##round_,                                                              \
		        .codes = C_##codes_,                                                              \
		        .use = U_##use_,                                                                  \
		        .acc = D_##acc_,                                                                  \
		        .print = print_,                                                                  \
		        .alu = ALU_##alu_,                                                                \
		        .mma = MMA_##mma_,                                                                \
		        .cvt = cvt_ },
#include "hexc/ir/dtypes.def"
};

DType
dtype_find(const char *name, size_t n)
{
	for (int d = 0; d < D_COUNT; d++)
		if (strlen(dtype_info[d].name) == n && memcmp(dtype_info[d].name, name, n) == 0)
			return (DType)d;
	return D_COUNT;
}

bool
dtype_is_float(DType d)
{
	return dtype_info[d].kind == K_flt;
}

bool
dtype_is_integer(DType d)
{
	return dtype_info[d].kind == K_sint || dtype_info[d].kind == K_uint;
}

bool
dtype_is_sint(DType d)
{
	return dtype_info[d].kind == K_sint;
}

bool
dtype_is_narrow(DType d)
{
	return dtype_info[d].bits <= 8 && dtype_info[d].kind != K_pred;
}

bool
dtype_is_narrow_float(DType d)
{
	return dtype_is_narrow(d) && dtype_is_float(d);
}

bool
dtype_has_pattern(DType d)
{
	return dtype_info[d].kind != K_pred && dtype_info[d].use != U_temp;
}

int
dtype_bias(DType d)
{
	return dtype_info[d].exp ? (1 << (dtype_info[d].exp - 1)) - 1 : 0;
}

bool
dtype_past_i64(DType d)
{
	return dtype_info[d].kind == K_uint && dtype_info[d].bits == 64;
}

bool
dtype_multiplies(DType a, DType b)
{
	const DTypeInfo *x = &dtype_info[a], *y = &dtype_info[b];

	if (x->kind == K_pred || y->kind == K_pred)
		return false;
	if (x->kind == K_flt || y->kind == K_flt)
		return a == b || (x->mma == MMA_f8 && y->mma == MMA_f8);
	return x->bits == y->bits;
}

DType
dtype_accumulator(DType d)
{
	return (DType)dtype_info[d].acc;
}

int
dtype_grain(DType d)
{
	return (int)pow2_part(dtype_info[d].bits);
}

int
dtype_pieces(DType d)
{
	return dtype_info[d].bits / dtype_grain(d);
}

int
dtype_most(DType d)
{
	return 128 / dtype_grain(d);
}

int
dtype_slot_bits(DType d)
{
	int bits = 1;

	while (bits < dtype_info[d].bits)
		bits *= 2;
	return bits;
}

int
dtype_per_word(DType d)
{
	int slot = dtype_slot_bits(d);

	return dtype_info[d].kind == K_pred || slot >= 32 ? 1 : 32 / slot;
}

DReg
dtype_reg(DType d)
{
	const DTypeInfo *t = &dtype_info[d];

	if (t->kind == K_pred)
		return REG_pred;
	if (t->bits == 64)
		return t->kind == K_flt ? REG_f64 : REG_b64;
	return t->kind == K_flt && t->bits == 32 ? REG_f32 : REG_b32;
}
