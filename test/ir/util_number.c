/* util_number.c - decodes number formats by their definition, as an oracle. */
#include "test/ir/util_number.h"
#include <math.h>

double
float_code_value(unsigned code, int exp, int man, bool special)
{
	int e = (int)(code >> man & ((1u << exp) - 1)), bias = (1 << (exp - 1)) - 1;
	double m = (double)(code & ((1u << man) - 1)), x;

	if (special && e == (1 << exp) - 1)
		x = m > 0 ? (double)NAN : (double)INFINITY;
	else
		x = e ? ldexp(ldexp(1, man) + m, e - bias - man) : ldexp(m, 1 - bias - man);
	return code >> (exp + man) & 1 ? -x : x;
}

double
code_value(DType d, unsigned code)
{
	/* Dettmers et al., QLoRA, appendix E */
	static const double nf4[] = { -1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
		                      -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
		                      0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
		                      0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
		                      0.7229568362236023, 1 };
	const DTypeInfo *t = &dtype_info[d];

	if (d == D_nf4)
		return nf4[code];
	if (d == D_e8m0)
		return code == 255 ? (double)NAN : ldexp(1, (int)code - 127);
	if (t->kind == K_sint && code >> (t->bits - 1))
		return (double)code - (double)(1 << t->bits);
	if (t->kind != K_flt)
		return (double)code;
	if (t->codes == C_nan && (code & 0x7f) == 0x7f)
		return (double)NAN;
	return float_code_value(code, t->exp, t->man, t->codes == C_ieee);
}
