/* type.c - returns the names, sizes and classes of the PTX types. */
#include <string.h>
#include "lib/sim/base/sim_base.h"

static const struct { const char *name; u32 bits; } types[T_COUNT] = {
#define X(n, b) [T_##n] = { #n, b },
	PTX_TYPES(X)
#undef X
};

u32
type_bits(PtxType t)
{
	return types[t].bits;
}

const char *
type_name(PtxType t)
{
	return types[t].name;
}

bool
type_signed(PtxType t)
{
	return t == T_s8 || t == T_s16 || t == T_s32 || t == T_s64 || t == T_s4 || t == T_s2;
}

bool
type_float(PtxType t)
{
	switch (t) {
	case T_f16: case T_bf16: case T_f32: case T_tf32: case T_f64: case T_f16x2: case T_bf16x2:
	case T_e4m3: case T_e5m2: case T_e4m3x2: case T_e5m2x2: case T_f32x2: case T_e2m1: case T_ue4m3:
	case T_ue8m0:
		return true;
	default:
		return false;
	}
}

bool
type_find(const char *s, size_t n, PtxType *out)
{
	for (u32 t = 1; t < T_COUNT; t++)
		if (strlen(types[t].name) == n && !memcmp(types[t].name, s, n)) {
			*out = (PtxType)t;
			return true;
		}
	return false;
}
