/* butterfly.h - conversions between layouts that trade bits of the lane number for bits of the register
 * number: each is one butterfly over the words of a lane, half as many shuffles as words. */
#ifndef HEXC_BUTTERFLY_H
#define HEXC_BUTTERFLY_H
#include "taskmap/layout.h"

enum { EXCHANGE_MAX = 5 };
typedef struct Exchange {
	int n;                      /* butterflies, in any order */
	int lane[EXCHANGE_MAX];     /* the bit of the lane number */
	int64_t reg[EXCHANGE_MAX];  /* the bit of the register number, of elements; whole words */
	Layout mid;                 /* after them: `to` but for a renaming of registers */
} Exchange;

/* Can `from` become `to` so?  `elems`: elements in a word; they stay together. */
bool exchange_find(const Layout *from, const Layout *to, int elems, Exchange *x);
#endif
