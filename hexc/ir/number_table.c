/* number_table.c - float types whose codes are no sign, exponent and mantissa. */
#include "hexc/ir/number.h"
#include <math.h>

enum { NF4_CODES = 16, SCALE_BIAS = 127, SCALE_NAN = 255 };

/* Quantiles of the normal distribution, scaled to [-1, 1]: T. Dettmers et al., QLoRA: Efficient Finetuning of
 * Quantized LLMs (2023), appendix E. */
static const float nf4[NF4_CODES] = {
	-1.0f,
	-0.6961928009986877f,
	-0.5250730514526367f,
	-0.39491748809814453f,
	-0.28444138169288635f,
	-0.18477343022823334f,
	-0.09105003625154495f,
	0.0f,
	0.07958029955625534f,
	0.16093020141124725f,
	0.24611230194568634f,
	0.33791524171829224f,
	0.44070982933044434f,
	0.5626170039176941f,
	0.7229568362236023f,
	1.0f,
};

bool
num_is_grid(DType d)
{
	return dtype_info[d].codes != C_scale && dtype_info[d].codes != C_table;
}

double
num_table_value(DType d, unsigned code)
{
	if (dtype_info[d].codes == C_table)
		return (double)nf4[code & (NF4_CODES - 1)];
	return (code & SCALE_NAN) == SCALE_NAN ? (double)NAN : ldexp(1, (int)(code & SCALE_NAN) - SCALE_BIAS);
}

/* The power of two nearest to |x|, the larger one in the middle. */
static unsigned
scale_code(double x)
{
	int e;
	double a = fabs(x), m;

	if (isnan(x))
		return SCALE_NAN;
	if (a >= ldexp(1, SCALE_NAN - 1 - SCALE_BIAS))
		return SCALE_NAN - 1;
	if (a <= ldexp(1, -SCALE_BIAS))
		return 0;
	m = frexp(a, &e); /* a = m 2^e, 1/2 <= m < 1 */
	return (unsigned)(e - 1 + SCALE_BIAS + (m >= 0.75));
}

/* The number nearest to x, the smaller one in the middle; NaN is taken for 0. */
static unsigned
nf4_code(double x)
{
	unsigned code = 0;

	if (isnan(x))
		x = 0;
	while (code + 1 < NF4_CODES && x > ((double)nf4[code] + (double)nf4[code + 1]) / 2)
		code++;
	return code;
}

unsigned
num_table_code(DType d, double x)
{
	return dtype_info[d].codes == C_table ? nf4_code(x) : scale_code(x);
}
