/* butterfly.h - layout conversions that exchange lane-index bits with register-index bits: each exchange
 * is one butterfly over the registers of a thread, with half as many shuffles as registers. */
#ifndef HEXC_BUTTERFLY_H
#define HEXC_BUTTERFLY_H
#include "taskmap/layout.h"

enum { EXCHANGE_MAX = 5 };
typedef struct Exchange {
	int n;                      /* butterflies, in any order */
	int lane[EXCHANGE_MAX];     /* the bit of the lane index, as a stride */
	/* the bit of the register index, as a stride in elements; whole 32-bit registers */
	int64_t reg[EXCHANGE_MAX];
	Layout mid;                 /* the layout after them: `to` up to a renaming of registers */
} Exchange;

/* Can butterflies convert `from` to `to`?  `elems`: elements per 32-bit register; they stay together. */
bool exchange_find(const Layout *from, const Layout *to, int elems, Exchange *x);
#endif
