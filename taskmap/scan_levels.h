/* scan_levels.h - how threads share out a line whose elements are combined with each other in order. */
#ifndef TASKMAP_LEVELS_H
#define TASKMAP_LEVELS_H
#include <stdint.h>

/* Neighbours that one lane combines at a level. */
enum { NEIGHBOURS_MAX = 16, LEVELS_MAX = 20 };

typedef struct Levels {
	int64_t of[LEVELS_MAX]; /* neighbours that become one, the lowest level first */
	int n; /* 0: the line is left as it is */
	int64_t padded; /* the length that they divide: 32 or fewer are left at the top, a power of two */
} Levels;

/* Of `lines` lines of n elements (both 1 or more), by so many threads, a power of two, to which memory brings
 * `access` neighbours at once, 2 to NEIGHBOURS_MAX: these become one first, or fewer, of whole accesses as
 * far as they go into n, where that leaves far less padding; then what a thread has of them; lanes then have
 * what several warps made, and at last one warp has what is left.  As few threads share a line as leave the
 * least padding of all lines. */
void levels_share(Levels *x, int64_t n, int64_t lines, int64_t threads, int64_t access);
#endif
