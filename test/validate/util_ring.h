/* util_ring.h - planted faults: circular buffers of asynchronous copies with one stage less. */
#ifndef TEST_UTIL_RING_H
#define TEST_UTIL_RING_H
#include "hexc/ir/ir.h"

enum { RING_VIEWS = 400 };

/* Views of a ring of which the last stage is where its first is, and the slots that they had. */
typedef struct Ring {
	Op *view[RING_VIEWS];
	Val *slot[RING_VIEWS];
	int n;
} Ring;

/* The ring behind `o` in the kernel's body, of two stages or more, that is filled by asynchronous copies; o
 * NULL: the first.  NULL: there is none. */
const Op *ring_next(Kernel *k, const Op *o);
/* The ring has a stage less; *r: what ring_restore needs to give it back. */
void ring_narrow(Kernel *k, const Op *ring, Ring *r);
void ring_restore(Ring *r);
#endif
