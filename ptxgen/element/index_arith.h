/* index_arith.h - scalars that count (i64), in the arithmetic that their facts allow. */
#ifndef HEXC_INDEX_ARITH_H
#define HEXC_INDEX_ARITH_H
#include "ptxgen/base/codegen.h"

/* A scalar i64 whose values fit 32 bits. */
bool index_narrow(Codegen *g, const Val *v);
/* Its i64 from the low 32 bits, and these. */
LV index_widen(Codegen *g, const Val *v, LV low);
LV index_low(Codegen *g, LV x);
/* The elementwise op o of scalars i64 on their words; its result is an i64 or a bool. */
LV index_number(Codegen *g, const Op *o, const LV *word);
#endif
