/* index_arith.h - declares index scalars (i64) in the arithmetic that range analysis allows. */
#ifndef HEXC_INDEX_ARITH_H
#define HEXC_INDEX_ARITH_H
#include "ptxgen/base/codegen.h"

/* Do the values of an i64 scalar fit 32 bits? */
bool index_narrow(Codegen *g, const Val *v);
/* Extends its low 32 bits to i64; truncates to them. */
LV index_widen(Codegen *g, const Val *v, LV low);
LV index_low(Codegen *g, LV x);
/* Emits the elementwise op o of i64 scalars on their words; its result is an i64 or a bool. */
LV index_number(Codegen *g, const Op *o, const LV *word);
#endif
