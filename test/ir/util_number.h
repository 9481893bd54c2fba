/* util_number.h - a second implementation of the number formats, as an oracle: hexc/ir/dtype_value.c is not
 * used. */
#ifndef TEST_UTIL_NUMBER_H
#define TEST_UTIL_NUMBER_H
#include "hexc/ir/ir.h"

/* The number of a code of so many exponent and mantissa bits, with infinities and NaNs or without. */
double float_code_value(unsigned code, int exp, int man, bool special);
/* The number of a code of up to 16 bits, exactly. */
double code_value(DType d, unsigned code);
#endif
