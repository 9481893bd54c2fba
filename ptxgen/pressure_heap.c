/* pressure_heap.c - implements a binary min-heap, for the scheduling in reg_pressure_*.c. */
#include "ptxgen/reg_pressure.h"

static bool
swap_if(Heap *h, int up, int down)
{
	HeapItem x = h->at[up];

	if (h->at[down].key >= x.key)
		return false;
	h->at[up] = h->at[down];
	h->at[down] = x;
	return true;
}

void
heap_push(Arena *a, Heap *h, int64_t key, int what)
{
	HeapItem x = { key, what };

	VEC_PUSH(a, h->at, h->n, h->cap, x);
	for (int i = h->n - 1; i > 0 && swap_if(h, (i - 1) / 2, i); i = (i - 1) / 2)
		;
}

void
heap_pop(Heap *h)
{
	h->at[0] = h->at[--h->n];
	for (int i = 0, down; (down = 2 * i + 1) < h->n; i = down) {
		if (down + 1 < h->n && h->at[down + 1].key < h->at[down].key)
			down++;
		if (!swap_if(h, i, down))
			return;
	}
}
