/* fragment_prefetch.h - loops whose products can begin before their barrier: found here, turned in infer/schedule/prefetch_fragments.c. */
#ifndef HEXC_FRAGMENT_PREFETCH_H
#define HEXC_FRAGMENT_PREFETCH_H
#include "infer/core/search_state.h"

typedef struct Rotate {
	Kernel *k;
	const LayoutSolution *sol; /* of which it is asked; NULL: it is in the IR */
	Op *loop;
	Block *body;
	Op *wait, *barrier;
	int slot;         /* the carried value that is the buffer read; -1: none yet */
	Op *first, *last; /* products */
	bool ring;        /* some load reads a buffer */
	bool meets;       /* threads do, in front of the first product: all is loaded ahead */
	bool expands;     /* a sparse operand: in more registers than are left for another turn's */
	Op **load;        /* what the first product is made from */
	int nload, cap;
	const char *why;  /* not, in words; NULL: it can */
} Rotate;

/* ---- fragment_prefetch.c -------------------------------------------------------------------------------- */
/* Can it be turned?  Fills the rest of *r, of which k, sol and loop are given. */
bool rotate_find(Rotate *r);
/* v is the carried value of that number; -1: it is none. */
int rotate_carried(const Rotate *r, const Val *v);
/* Is v made in front of the loop? */
bool rotate_outside(const Rotate *r, const Val *v);
#endif
