/* l2_model.c - simulates an L2 cache of 32-byte sectors: fully associative, least recently used eviction. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sanitizer/l2_model.h"

#define NOBODY (~0u)
/* A run: the first sector, the number that follow it, whether a request starts here, whether it is a
 * write. */
enum { RUN_BITS = 14, RUN_MOST = (1 << RUN_BITS) - 1, RUN_SHIFT = RUN_BITS + 2 };

typedef struct L2Sector {
	u64 sector;
	u32 newer, older; /* in LRU order */
	u32 chain;        /* next with the same hash */
	bool written;
} L2Sector;

struct L2 {
	L2Sector *line;
	u32 n, most;
	u32 *head; /* by hash: the first line */
	u32 mask;
	u32 newest, oldest;
	L2Trace *trace; /* by block */
	u32 nblock, wave, next; /* the first block of the next wave */
	sim_l2 count;
	pthread_mutex_t lock;
};

/* ---- the cache ----------------------------------------------------------------------------------- */

static u32 *
chain_of(L2 *l2, u64 sector)
{
	return &l2->head[(u32)((sector * 0x9e3779b97f4a7c15ull) >> 32) & l2->mask];
}

static void
unlink_line(L2 *l2, u32 i)
{
	const L2Sector *l = &l2->line[i];

	*(l->newer == NOBODY ? &l2->newest : &l2->line[l->newer].older) = l->older;
	*(l->older == NOBODY ? &l2->oldest : &l2->line[l->older].newer) = l->newer;
}

static void
link_newest(L2 *l2, u32 i)
{
	l2->line[i].newer = NOBODY;
	l2->line[i].older = l2->newest;
	*(l2->newest == NOBODY ? &l2->oldest : &l2->line[l2->newest].newer) = i;
	l2->newest = i;
}

static u32
find_line(L2 *l2, u64 sector)
{
	u32 i = *chain_of(l2, sector);

	while (i != NOBODY && l2->line[i].sector != sector)
		i = l2->line[i].chain;
	return i;
}

/* Returns a free line, or the least recently used one. */
static u32
take_line(L2 *l2)
{
	u32 i = l2->oldest, *at;

	if (l2->n < l2->most)
		return l2->n++;
	unlink_line(l2, i);
	for (at = chain_of(l2, l2->line[i].sector); *at != i; at = &l2->line[*at].chain)
		;
	*at = l2->line[i].chain;
	l2->count.written_back += l2->line[i].written;
	return i;
}

static void
use_sector(L2 *l2, u64 sector, bool write)
{
	u32 i = find_line(l2, sector), *head;
	bool hit = i != NOBODY;

	if (hit) {
		unlink_line(l2, i);
	} else {
		i = take_line(l2);
		head = chain_of(l2, sector);
		l2->line[i] = (L2Sector){ .sector = sector, .chain = *head };
		*head = i;
	}
	link_newest(l2, i);
	l2->line[i].written |= write;
	++*(write ? hit ? &l2->count.write_hits : &l2->count.write_misses
	    : hit ? &l2->count.read_hits
	          : &l2->count.read_misses);
}

/* ---- blocks -------------------------------------------------------------------------------------- */

bool
l2_note(L2Trace *t, u64 sector, bool write, bool begins)
{
	if (t->n && !begins) {
		u64 *last = &t->run[t->n - 1], more = *last >> 2 & RUN_MOST;

		if ((*last & 1) == write && more < RUN_MOST && (*last >> RUN_SHIFT) + more + 1 == sector) {
			*last += 4;
			return true;
		}
	}
	if (t->n == t->cap) {
		u32 cap = t->cap ? 2 * t->cap : 256;
		u64 *run = realloc(t->run, cap * sizeof *run);

		if (!run)
			return false;
		t->run = run;
		t->cap = cap;
	}
	t->run[t->n++] = sector << RUN_SHIFT | (u64)begins << 1 | write;
	return true;
}

/* Processes the request at *i, and advances *i past it. */
static void
use_request(L2 *l2, const L2Trace *t, u32 *i)
{
	do {
		u64 run = t->run[*i];

		for (u64 k = 0; k <= (run >> 2 & RUN_MOST); k++)
			use_sector(l2, (run >> RUN_SHIFT) + k, run & 1);
		++*i;
	} while (*i < t->n && !(t->run[*i] >> 1 & 1));
}

/* Processes blocks from .. to - 1, a request of each in turn. */
static bool
run_wave(L2 *l2, u32 from, u32 to)
{
	u32 *at = calloc(to - from, sizeof *at), left = to - from;

	while (at && left) {
		left = 0;
		for (u32 i = 0; i < to - from; i++)
			if (at[i] < l2->trace[from + i].n) {
				use_request(l2, &l2->trace[from + i], &at[i]);
				left++;
			}
	}
	for (u32 i = from; i < to; i++) {
		free(l2->trace[i].run);
		l2->trace[i] = (L2Trace){ .ended = true };
	}
	free(at);
	return at != NULL;
}

static u32
wave_end(const L2 *l2)
{
	return l2->nblock - l2->next < l2->wave ? l2->nblock : l2->next + l2->wave;
}

static bool
has_ended(const L2 *l2, u32 from, u32 to)
{
	while (from < to && l2->trace[from].ended)
		from++;
	return from == to;
}

bool
l2_block(L2 *l2, u32 lin, L2Trace *t)
{
	bool ok = true;

	pthread_mutex_lock(&l2->lock);
	l2->trace[lin] = *t;
	l2->trace[lin].ended = true;
	*t = (L2Trace){ 0 };
	while (ok && l2->next < l2->nblock && has_ended(l2, l2->next, wave_end(l2))) {
		ok = run_wave(l2, l2->next, wave_end(l2));
		l2->next = wave_end(l2);
	}
	pthread_mutex_unlock(&l2->lock);
	return ok;
}

/* ---- a launch ------------------------------------------------------------------------------------ */

L2 *
l2_new(u64 bytes, u32 wave, u32 nblock)
{
	L2 *l2 = calloc(1, sizeof *l2);
	u64 most = bytes / 32;

	if (!l2)
		return NULL;
	pthread_mutex_init(&l2->lock, NULL);
	l2->most = most < 1u << 28 ? (u32)most : 1u << 28;
	l2->mask = 1;
	while (l2->mask < l2->most)
		l2->mask = 2 * l2->mask + 1;
	l2->nblock = nblock;
	l2->wave = wave ? wave : nblock;
	l2->newest = l2->oldest = NOBODY;
	l2->line = malloc(l2->most * sizeof *l2->line);
	l2->head = malloc((l2->mask + 1ull) * sizeof *l2->head);
	l2->trace = calloc(nblock, sizeof *l2->trace);
	if (!l2->line || !l2->head || !l2->trace) {
		l2_free(l2);
		return NULL;
	}
	memset(l2->head, 0xff, (l2->mask + 1ull) * sizeof *l2->head);
	return l2;
}

void
l2_end(L2 *l2, sim_l2 *out)
{
	while (l2->next < l2->nblock && run_wave(l2, l2->next, wave_end(l2)))
		l2->next = wave_end(l2);
	for (u32 i = 0; i < l2->n; i++)
		l2->count.written_back += l2->line[i].written;
	*out = l2->count;
}

void
l2_free(L2 *l2)
{
	if (!l2)
		return;
	for (u32 i = 0; l2->trace && i < l2->nblock; i++)
		free(l2->trace[i].run);
	pthread_mutex_destroy(&l2->lock);
	free(l2->trace);
	free(l2->head);
	free(l2->line);
	free(l2);
}
