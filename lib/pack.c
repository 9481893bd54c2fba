/* pack.c - packed tensors for hosts: their size, and the way there and back. */
#include "hexc/pack.h"
#include "lib/lib.h"
#include <stdio.h>
#include <string.h>

/* One request; `fn` of it runs where the arena may be left. */
typedef struct PackJob {
	Arena arena;
	const char *text, *why;
	uint32_t rank;
	const int64_t *dim;
	Pack pack;
	int64_t count, words; /* elements; words of the packed form */
	int code;
} PackJob;

static void
read_pack(void *user)
{
	PackJob *j = user;

	j->code = HEXC_E_ARGS;
	if (!pack_parse(&j->arena, j->text, strlen(j->text), &j->pack, &j->why))
		return;
	if (j->rank < 2 || j->rank > HEXC_MAX_RANK) {
		j->why = "a packed tensor has 2 to 8 dimensions";
		return;
	}
	j->count = 1;
	for (uint32_t d = 0; d < j->rank; d++)
		if (j->dim[d] < 0 || !mul64(j->count, j->dim[d], &j->count))
			j->count = -1;
	j->words = j->count < 0 ? -1 : pack_words(&j->pack, (int)j->rank, j->dim);
	if (j->words < 0 || j->count > INT64_MAX / 8)
		j->why = "the shape has a negative extent, or more elements than a machine addresses";
	else
		j->code = HEXC_OK;
}

/* Parse and measure; the arena stays open. */
static int
job_open(PackJob *j, const char *pack, uint32_t rank, const int64_t *dim, char *why, size_t n)
{
	Arena *arenas[1] = { &j->arena };
	int code;

	memset(j, 0, sizeof *j);
	if (why && n)
		why[0] = 0;
	if (!pack || !dim)
		return HEXC_E_INVALID;
	arena_init(&j->arena, NULL, NULL);
	j->text = pack;
	j->rank = rank;
	j->dim = dim;
	code = arena_protect(arenas, 1, read_pack, j);
	code = code ? code : j->code;
	if (code && why && n)
		snprintf(why, n, "%s", j->why ? j->why : hexc_strerror(code));
	return code;
}

int
hexc_pack_bytes(const char *pack, uint32_t rank, const int64_t *dim, uint64_t *bytes, char *why, size_t n)
{
	PackJob j;
	int code;

	if (!bytes)
		return HEXC_E_INVALID;
	code = job_open(&j, pack, rank, dim, why, n);
	*bytes = code ? 0 : (uint64_t)j.words * 4;
	arena_free(&j.arena);
	return code;
}

/* The code of element i of a bit stream. */
static unsigned
stream_get(const unsigned char *s, int64_t i, unsigned bits)
{
	uint64_t at = (uint64_t)i * bits;
	unsigned x = s[at / 8];

	if (at % 8 + bits > 8)
		x |= (unsigned)s[at / 8 + 1] << 8;
	return x >> at % 8 & ((1u << bits) - 1);
}

static void
stream_put(unsigned char *s, int64_t i, unsigned bits, unsigned code)
{
	for (unsigned b = 0; b < bits; b++) {
		uint64_t at = (uint64_t)i * bits + b;
		unsigned one = 1u << at % 8;

		s[at / 8] = (unsigned char)(code >> b & 1 ? s[at / 8] | one : s[at / 8] & ~one);
	}
}

static void
step(const PackJob *j, int64_t *index)
{
	for (uint32_t d = j->rank; d-- > 0 && ++index[d] == j->dim[d];)
		index[d] = 0;
}

int
hexc_pack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to, uint32_t threads,
          char *why, size_t n)
{
	int64_t index[HEXC_MAX_RANK] = { 0 };
	PackJob j;
	int code = job_open(&j, pack, rank, dim, why, n);

	(void)threads;
	if (!code && j.count && (!from || !to))
		code = HEXC_E_INVALID;
	if (!code && to)
		memset(to, 0, (size_t)j.words * 4);
	for (int64_t i = 0; !code && i < j.count; i++, step(&j, index))
		pack_put(&j.pack, (int)rank, dim, to, index,
		         stream_get(from, i, dtype_info[j.pack.dtype].bits));
	arena_free(&j.arena);
	return code;
}

int
hexc_unpack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to,
            uint32_t threads, char *why, size_t n)
{
	int64_t index[HEXC_MAX_RANK] = { 0 };
	PackJob j;
	int code = job_open(&j, pack, rank, dim, why, n);

	(void)threads;
	if (!code && j.count && (!from || !to))
		code = HEXC_E_INVALID;
	for (int64_t i = 0; !code && i < j.count; i++, step(&j, index))
		stream_put(to, i, dtype_info[j.pack.dtype].bits,
		           pack_get(&j.pack, (int)rank, dim, from, index));
	arena_free(&j.arena);
	return code;
}
