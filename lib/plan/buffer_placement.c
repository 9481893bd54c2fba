/* buffer_placement.c - implements hexc_plan.h: places buffers in one allocation.
 *
 * Each buffer is placed at the lowest offset that is free of all buffers which may be live at the same
 * time. Several placement orders are tried; the smallest result is used. */
#include "lib/plan/plan.h"
#include <stdlib.h>
#include <string.h>

typedef struct PlacedBuffer {
	uint32_t buffer;
	uint64_t bytes; /* aligned */
	uint32_t first, last; /* first and last step that access it */
	uint64_t key, key2;
	uint64_t *step;   /* set of steps that access it */
	uint64_t *behind; /* steps after all of them */
	uint64_t offset;
} PlacedBuffer;

typedef struct BufferPlacement {
	PlacedBuffer *item; /* buffers that are not empty and are used */
	uint32_t n;
	BitMatrix clash; /* pairs of buffers that may be alive at the same time */
	uint32_t *order;
	struct Gap {
		uint64_t from, to;
	} *taken;
} BufferPlacement;

static bool
subset(const uint64_t *x, const uint64_t *of, size_t words)
{
	for (size_t w = 0; w < words; w++)
		if (x[w] & ~of[w])
			return false;
	return true;
}

static void
collect(const hexc_plan *p, Arena *scratch, const PlanSolution *s, BitMatrix after, BufferPlacement *pl)
{
	uint32_t *item = NEWN(scratch, uint32_t, p->nbuffer + 1);
	uint64_t align = p->o.align;

	pl->item = NEWN(scratch, PlacedBuffer, p->nbuffer + 1);
	for (uint32_t i = 0; i < p->nuse; i++) {
		uint32_t b = p->use[i].buffer, k = s->at[p->use[i].node];
		PlacedBuffer *it;

		if (p->buffer[b].outside || !p->buffer[b].bytes)
			continue;
		if (!item[b]) {
			it = &pl->item[pl->n++];
			item[b] = pl->n;
			*it = (PlacedBuffer){ .buffer = b, .first = k, .last = k };
			it->bytes = (p->buffer[b].bytes + align - 1) / align * align;
			it->step = NEWN(scratch, uint64_t, after.row);
			it->behind = NEWN(scratch, uint64_t, after.row);
			memset(it->behind, 0xFF, after.row * sizeof *it->behind);
		}
		it = &pl->item[item[b] - 1];
		set_bit(it->step, k);
		for (size_t w = 0; w < after.row; w++)
			it->behind[w] &= bits_row(after, k)[w];
		it->first = k < it->first ? k : it->first;
		it->last = k > it->last ? k : it->last;
	}
}

static void
find_clashes(Arena *scratch, BufferPlacement *pl, size_t words)
{
	pl->clash = bits_new(scratch, pl->n);
	for (uint32_t a = 0; a < pl->n; a++)
		for (uint32_t b = 0; b < a; b++)
			if (!subset(pl->item[a].step, pl->item[b].behind, words) &&
			    !subset(pl->item[b].step, pl->item[a].behind, words)) {
				set_bit(bits_row(pl->clash, a), b);
				set_bit(bits_row(pl->clash, b), a);
			}
}

static int
compare_gaps(const void *x, const void *y)
{
	const struct Gap *a = x, *b = y;

	return a->from < b->from ? -1 : a->from > b->from;
}

/* Returns the lowest offset for item i among the items order[0..n). */
static uint64_t
lowest(BufferPlacement *pl, uint32_t i, uint32_t n)
{
	uint64_t at = 0;
	uint32_t m = 0;

	for (uint32_t k = 0; k < n; k++)
		if (bit(bits_row(pl->clash, i), pl->order[k])) {
			const PlacedBuffer *it = &pl->item[pl->order[k]];

			pl->taken[m++] = (struct Gap){ it->offset, it->offset + it->bytes };
		}
	qsort(pl->taken, m, sizeof *pl->taken, compare_gaps);
	for (uint32_t k = 0; k < m && pl->taken[k].from < at + pl->item[i].bytes; k++)
		at = pl->taken[k].to > at ? pl->taken[k].to : at;
	return at;
}

static uint64_t
try_order(BufferPlacement *pl)
{
	uint64_t top = 0;

	for (uint32_t n = 0; n < pl->n; n++) {
		PlacedBuffer *it = &pl->item[pl->order[n]];

		it->offset = lowest(pl, pl->order[n], n);
		top = it->offset + it->bytes > top ? it->offset + it->bytes : top;
	}
	return top;
}

/* Larger keys first. */
static int
compare_items(const void *x, const void *y)
{
	const PlacedBuffer *a = x, *b = y;

	if (a->key != b->key)
		return a->key > b->key ? -1 : 1;
	if (a->key2 != b->key2)
		return a->key2 > b->key2 ? -1 : 1;
	return a->buffer < b->buffer ? -1 : 1;
}

enum { RULES = 6 };

static void
sort_by(Arena *scratch, BufferPlacement *pl, int rule)
{
	PlacedBuffer *sorted = NEWN(scratch, PlacedBuffer, pl->n + 1);

	for (uint32_t i = 0; i < pl->n; i++) {
		const PlacedBuffer *it = &pl->item[i];
		uint64_t life = it->last - it->first + 1;

		sorted[i].buffer = i;
		sorted[i].key = rule == 0   ? it->bytes
		                : rule == 1 ? life
		                : rule == 2 ? it->bytes * life
		                : rule == 3 ? UINT32_MAX - it->first
		                : rule == 4 ? it->last
		                            : UINT32_MAX - it->first / 4;
		sorted[i].key2 = rule == 0 ? life : it->bytes;
	}
	qsort(sorted, pl->n, sizeof *sorted, compare_items);
	for (uint32_t i = 0; i < pl->n; i++)
		pl->order[i] = sorted[i].buffer;
}

void
place_buffers(hexc_plan *p, PlanSolution *s, BitMatrix after)
{
	Arena *scratch = &p->scratch;
	BufferPlacement pl = { 0 };
	uint64_t *best, bytes = UINT64_MAX;

	collect(p, scratch, s, after, &pl);
	find_clashes(scratch, &pl, after.row);
	pl.order = NEWN(scratch, uint32_t, pl.n + 1);
	pl.taken = NEWN(scratch, struct Gap, pl.n + 1);
	best = NEWN(scratch, uint64_t, pl.n + 1);
	for (int rule = 0; rule < RULES; rule++) {
		uint64_t top;

		sort_by(scratch, &pl, rule);
		top = try_order(&pl);
		if (top >= bytes)
			continue;
		bytes = top;
		for (uint32_t i = 0; i < pl.n; i++)
			best[i] = pl.item[i].offset;
	}
	/* no failure is possible from here */
	memset(s->offset, 0, p->nbuffer * sizeof *s->offset);
	s->bytes = bytes;
	s->total = 0;
	for (uint32_t i = 0; i < pl.n; i++) {
		s->offset[pl.item[i].buffer] = best[i];
		s->total += pl.item[i].bytes;
	}
}
