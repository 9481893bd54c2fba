/* scan_levels.h - the levels of a scan: how threads distribute a row whose elements are combined in order. */
#ifndef TASKMAP_LEVELS_H
#define TASKMAP_LEVELS_H
#include <stdint.h>

/* Limits: elements that one lane combines at a level; levels. */
enum { NEIGHBOURS_MAX = 16, LEVELS_MAX = 20 };

typedef struct Levels {
	int64_t of[LEVELS_MAX]; /* elements combined into one (fan-in), lowest level first */
	int n; /* 0: the row is left unchanged */
	/* the padded length, which they divide: 32 or fewer elements are left at the top, a power of two */
	int64_t padded;
} Levels;

/* Chooses the levels of `lines` rows of n elements (both >= 1) over `threads` threads, a power of two, with
 * `access` contiguous elements per load, 2 to NEIGHBOURS_MAX.  The lowest level combines the elements of an
 * access, or fewer, which keep accesses whole as far as these divide n, if that leaves far less padding.
 * Next come a thread's remaining elements, then lanes combine the results of several warps, and finally one
 * warp the rest.  As few threads share a row as give the least padding of all rows. */
void levels_share(Levels *x, int64_t n, int64_t lines, int64_t threads, int64_t access);
#endif
