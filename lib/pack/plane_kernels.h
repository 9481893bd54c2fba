/* plane_kernels.h - declares the loops over planes (bit_permute.h), for the vector instructions of this
 * processor. */
#ifndef HEXC_PLANE_KERNELS_H
#define HEXC_PLANE_KERNELS_H
#include "lib/pack/bit_permute.h"

enum { WORDS = MOVE_LANES / 8 }; /* per plane */

/* A segment of a plane of `to`: a plane of `from`, shifted and masked. */
struct MoveSeg {
	uint64_t mask; /* equal in each byte */
	uint32_t plane;
	uint8_t right, left; /* one of them is 0 */
};

typedef struct PlaneKernels {
	/* transposes `words` words of all lanes to 8 planes each, in place, or back */
	void (*transpose)(uint64_t *data, size_t words);
	/* combines n planes from their segments; returns the segment after the last */
	const MoveSeg *(*gather)(const MoveSeg *s, const uint8_t *count, size_t n, const uint64_t *from,
	                         uint64_t *to);
	/* converts between two planes and pairs of bytes, one pair per lane */
	void (*zip)(const uint8_t *plane, uint8_t *pairs);
	void (*unzip)(const uint8_t *pairs, uint8_t *plane);
} PlaneKernels;

/* plain: without this processor's vector instructions. */
PlaneKernels plane_kernels(bool plain);
#endif
