/* tmapmodel.h - models tensor maps independently: element by element, from the tables and the text of the PTX
 * ISA, section "Tensors". Also generates random maps. */
#ifndef TMAPMODEL_H
#define TMAPMODEL_H
#include <stdbool.h>
#include "lib/sim/exec/tmap.h"
#include "test/sim/random.h"
#include "test/sim/simtest.h"

static uint32_t seed = 1;

static inline uint32_t
rnd(uint32_t below)
{
	return congruential(&seed) % below;
}

/* Bytes of an element. */
static inline uint32_t
esize(const sim_tmap_desc *d)
{
	static const uint8_t bytes[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4 };

	return bytes[d->type];
}

/* The tables of "Swizzling Modes", one line of eight 16-byte cells after the other: the cell at
 * (line, place) holds the piece with this number. */
static const uint8_t cells[4][8][8] = {
	{ { 0, 1, 2, 3, 4, 5, 6, 7 } },
	{ { 0, 1, 2, 3, 4, 5, 6, 7 }, { 1, 0, 3, 2, 5, 4, 7, 6 } },
	{ { 0, 1, 2, 3, 4, 5, 6, 7 }, { 1, 0, 3, 2, 5, 4, 7, 6 }, { 2, 3, 0, 1, 6, 7, 4, 5 },
	  { 3, 2, 1, 0, 7, 6, 5, 4 } },
	{ { 0, 1, 2, 3, 4, 5, 6, 7 }, { 1, 0, 3, 2, 5, 4, 7, 6 }, { 2, 3, 0, 1, 6, 7, 4, 5 },
	  { 3, 2, 1, 0, 7, 6, 5, 4 }, { 4, 5, 6, 7, 0, 1, 2, 3 }, { 5, 4, 7, 6, 1, 0, 3, 2 },
	  { 6, 7, 4, 5, 2, 3, 0, 1 }, { 7, 6, 5, 4, 3, 2, 1, 0 } },
};
static const uint32_t lines[4] = { 1, 2, 4, 8 };

/* Where the byte at `addr` without swizzle is with it. */
static inline uint32_t
swizzled(uint32_t mode, uint32_t addr)
{
	uint32_t line = addr / 128 % lines[mode], piece = addr / 16 % 8, place;

	for (place = 0; cells[mode][line][place] != piece; place++)
		;
	return addr / 128 * 128 + place * 16 + addr % 16;
}

typedef struct Want { bool inside; uint64_t addr; } Want;

static inline Want
element(const sim_tmap_desc *d, const int64_t *c)
{
	Want w = { true, d->address };

	for (uint32_t i = 0; i < d->rank; i++) {
		w.inside &= c[i] >= 0 && c[i] < (int64_t)d->dim[i];
		w.addr += (uint64_t)c[i] * (i ? d->stride[i - 1] : esize(d));
	}
	return w;
}

/* Element `k` of a tiled box, in shared-memory order. */
static inline Want
tile_element(const sim_tmap_desc *d, const int32_t *start, uint32_t k)
{
	int64_t c[5];

	for (uint32_t i = 0; i < d->rank; i++) {
		uint32_t s = i ? d->element_stride[i] : 1, n = d->box[i] / s + (d->box[i] % s != 0);
		c[i] = start[i] + (int64_t)(k % n * s);
		k /= n;
	}
	return element(d, c);
}

/* The r-th position of a walk from `first` in steps of s up to `high`, which starts again at `low`;
 * *turns: how often it did. */
static inline int64_t
walk(int64_t first, int64_t low, int64_t high, int64_t s, int64_t r, int64_t *turns)
{
	int64_t n0 = (high - first) / s + 1, n = (high - low) / s + 1;

	*turns = r < n0 ? 0 : 1 + (r - n0) / n;
	return r < n0 ? first + r * s : low + (r - n0) % n * s;
}

static inline Want
pixel_element(const sim_tmap_desc *d, const int32_t *start, const uint32_t *off, uint32_t k)
{
	int64_t c[5], r = k / d->channels;
	uint32_t i;

	c[0] = start[0] + (int64_t)(k % d->channels);
	for (i = 1; i + 1 < d->rank; i++)
		c[i] = off[i - 1] + walk(start[i], d->lower[i - 1], (int64_t)d->dim[i] - 1 + d->upper[i - 1],
		                         d->element_stride[i], r, &r);
	c[i] = start[i] + r;
	return element(d, c);
}

/* Element `k` of a box in shared-memory order. */
static inline Want
box_element(const sim_tmap_desc *d, const int32_t *start, const uint32_t *off, uint32_t k)
{
	return d->im2col ? pixel_element(d, start, off, k) : tile_element(d, start, k);
}

/* Elements of a whole box. */
static inline uint32_t
box_elements(const sim_tmap_desc *d)
{
	uint32_t n = d->box[0];

	if (d->im2col)
		return d->channels * d->pixels;
	for (uint32_t i = 1; i < d->rank; i++)
		n *= d->box[i] / d->element_stride[i] + (d->box[i] % d->element_stride[i] != 0);
	return n;
}

static inline sim_tmap_desc
random_map(uint32_t rank, bool im2col)
{
	sim_tmap_desc d = SIM_TMAP_INIT;
	uint64_t stride;
	uint32_t e, inner;

	d.rank = rank;
	d.im2col = im2col;
	d.type = rnd(SIM_TMAP_NTYPES);
	e = esize(&d);
	d.swizzle = rnd(4);
	inner = d.swizzle ? 16u << d.swizzle : 16 * (1 + rnd(8));
	if (inner / e > 256)
		inner = 256 * e;
	if (inner < 16u << d.swizzle && d.swizzle)
		d.swizzle = 0;
	d.box[0] = d.channels = inner / e;
	d.address = 0x100000 + 16 * rnd(100);
	d.dim[0] = 1 + rnd(2 * inner / e);
	stride = (d.dim[0] * e + 15) / 16 * 16;
	for (uint32_t i = 1; i < rank; i++) {
		d.dim[i] = 1 + rnd(i == 1 ? 20 : 6);
		d.stride[i - 1] = stride + 16 * rnd(3);
		stride = d.stride[i - 1] * d.dim[i];
		d.box[i] = 1 + rnd(i == 1 ? 17 : 5);
		d.element_stride[i] = rnd(2) ? 1 : 1 + rnd(3);
		if (i + 1 < rank && i < 4) {
			d.lower[i - 1] = (int32_t)rnd(4) - 2;
			d.upper[i - 1] = (int32_t)rnd(4) - 2;
		}
	}
	d.pixels = 1 + rnd(150);
	return d;
}

/* Somewhere in the tensor or a bit outside; an im2col box starts anywhere among its pixels. */
static inline void
random_start(const sim_tmap_desc *d, int32_t *start, uint32_t *off)
{
	for (uint32_t i = 0; i < d->rank; i++) {
		start[i] = (int32_t)rnd((uint32_t)d->dim[i] + 8) - 4;
		if (d->im2col && i && i + 1 < d->rank) {
			int32_t n = (int32_t)d->dim[i] + d->upper[i - 1] - d->lower[i - 1];
			start[i] = d->lower[i - 1] + (int32_t)rnd((uint32_t)n);
		}
	}
	for (uint32_t i = 0; i < 3; i++)
		off[i] = rnd(4);
}
#endif
