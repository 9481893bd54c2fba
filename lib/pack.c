/* pack.c - packed tensors for hosts: their size, and the way there and back. */
#include "hexc/pack.h"
#include "lib/format.h"
#include "lib/lib.h"
#include "lib/pack_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One request; `fn` of it runs where the arena may be left. */
typedef struct PackJob {
	Arena arena;
	const char *text, *why;
	uint32_t rank;
	const int64_t *dim;
	Pack pack;
	PackPlan plan;
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

/* ---- bits that begin anywhere ---- */

static void
copy_bits(unsigned char *to, uint64_t to_bit, const unsigned char *from, uint64_t from_bit, uint64_t n)
{
	while (n) {
		unsigned in = (unsigned)(from_bit % 8), out = (unsigned)(to_bit % 8);
		unsigned take = 8 - (in > out ? in : out), mask;

		take = n < take ? (unsigned)n : take;
		mask = ((1u << take) - 1) << out;
		to[to_bit / 8] = (unsigned char)((to[to_bit / 8] & ~mask) |
		                                 ((unsigned)(from[from_bit / 8] >> in << out) & mask));
		from_bit += take;
		to_bit += take;
		n -= take;
	}
}

/* ---- blocks ---- */

/* What all workers share.  A piece of work is a row of blocks of one matrix. */
typedef struct PackWork {
	const PackPlan *plan;
	const unsigned char *natural;
	unsigned char *packed;
	bool back;
	int64_t dim[2], blocks[2]; /* rows, columns; blocks along them */
	bool bytes; /* rows and blocks begin at bytes */
	int nomem;
} PackWork;

/* A block that sticks out, or begins inside a byte: by way of `whole`, one of its own. */
static void
odd_block(const PackWork *w, uint64_t matrix, int64_t row, int64_t col, unsigned char *packed,
          unsigned char *whole, void *scratch)
{
	const PackPlan *p = w->plan;
	int64_t rows = w->dim[0] - row < p->rows ? w->dim[0] - row : p->rows;
	int64_t cols = w->dim[1] - col < p->cols ? w->dim[1] - col : p->cols;
	size_t stride = p->natural / (size_t)p->rows;
	unsigned char *natural = (unsigned char *)(uintptr_t)w->natural;

	if (w->back)
		unpack_blocks(p, packed, whole, stride, 1, scratch);
	else
		memset(whole, 0, p->natural);
	for (int64_t i = 0; i < rows; i++) {
		uint64_t at = (matrix + (uint64_t)((row + i) * w->dim[1] + col)) * (uint64_t)p->bits;
		uint64_t n = (uint64_t)cols * (uint64_t)p->bits;

		if (w->back)
			copy_bits(natural, at, whole, (uint64_t)i * stride * 8, n);
		else
			copy_bits(whole, (uint64_t)i * stride * 8, natural, at, n);
	}
	if (!w->back)
		pack_blocks(p, whole, stride, packed, 1, scratch);
}

static void
row_of_blocks(const PackWork *w, int64_t index, void *scratch, unsigned char *whole)
{
	const PackPlan *p = w->plan;
	uint64_t matrix = (uint64_t)(index / w->blocks[0]) * (uint64_t)(w->dim[0] * w->dim[1]);
	int64_t row = index % w->blocks[0] * p->rows, most = pack_side(p);
	size_t stride = (size_t)(w->dim[1] * p->bits) / 8;
	unsigned char *packed = w->packed + (size_t)(index * w->blocks[1]) * p->words * 4;

	for (int64_t j = 0, n; j < w->blocks[1]; j += n, packed += (size_t)n * p->words * 4) {
		int64_t col = j * p->cols, whole_ones = (w->dim[1] - col) / p->cols;
		uint64_t at = (matrix + (uint64_t)(row * w->dim[1] + col)) * (uint64_t)p->bits / 8;

		n = whole_ones < most ? whole_ones : most;
		if (!w->bytes || row + p->rows > w->dim[0] || n == 0) {
			n = 1;
			odd_block(w, matrix, row, col, packed, whole, scratch);
		} else if (w->back) {
			unpack_blocks(p, packed, (unsigned char *)(uintptr_t)w->natural + at, stride, n,
			              scratch);
		} else {
			pack_blocks(p, w->natural + at, stride, packed, n, scratch);
		}
	}
}

static void
rows_of_blocks(void *user, int64_t lo, int64_t hi)
{
	PackWork *w = user;
	const PackPlan *p = w->plan;
	size_t n = pack_scratch(p);
	unsigned char *scratch = aligned_alloc(64, n + (p->natural + 63) / 64 * 64);

	if (!scratch) {
		__atomic_store_n(&w->nomem, 1, __ATOMIC_RELAXED);
		return;
	}
	for (int64_t i = lo; i < hi; i++)
		row_of_blocks(w, i, scratch, scratch + n);
	free(scratch);
}

static void
make_plan(void *user)
{
	PackJob *j = user;

	pack_plan(&j->arena, &j->plan, &j->pack);
}

/* What is wrong with the buffers; NULL: nothing. */
static const char *
wrong_buffers(const PackJob *j, const void *natural, const void *packed)
{
	uintptr_t n = (uintptr_t)natural, p = (uintptr_t)packed;
	uint64_t bytes = ((uint64_t)j->count * dtype_info[j->pack.dtype].bits + 7) / 8;

	if (!natural || !packed)
		return "a buffer is NULL";
	if (p % 4)
		return "the packed side is not aligned to 4 bytes";
	if (n < p ? bytes > p - n : (uint64_t)j->words * 4 > n - p)
		return "the buffers overlap";
	return NULL;
}

static int
run(const char *pack, uint32_t rank, const int64_t *dim, const void *natural, void *packed, bool back,
    uint32_t threads, char *why, size_t n)
{
	PackJob j;
	Arena *arenas[1] = { &j.arena };
	int code = job_open(&j, pack, rank, dim, why, n);
	PackWork w = { .plan = &j.plan, .natural = natural, .packed = packed, .back = back };
	int64_t pieces = 1;
	const char *wrong;

	if (!code && j.count && (wrong = wrong_buffers(&j, natural, packed)) != NULL)
		code = weights_fail(HEXC_E_INVALID, why, n, "%s", wrong);
	if (!code && j.count) {
		code = arena_protect(arenas, 1, make_plan, &j);
		for (uint32_t d = 0; d < 2; d++) {
			w.dim[d] = dim[rank - 2 + d];
			w.blocks[d] = (w.dim[d] + j.pack.block[d] - 1) / j.pack.block[d];
		}
		for (uint32_t d = 0; d + 2 < rank; d++)
			pieces *= dim[d];
		pieces *= w.blocks[0];
	}
	if (!code && j.count) {
		w.bytes = w.dim[1] * j.plan.bits % 8 == 0 && j.plan.cols * j.plan.bits % 8 == 0;
		/* blocks that share bytes of the natural side are not written at the same time */
		parallel_for(back && !w.bytes ? 1 : threads, pieces, 1, rows_of_blocks, &w);
		if (w.nomem)
			code = weights_fail(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	}
	arena_free(&j.arena);
	return code;
}

int
hexc_pack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to, uint32_t threads,
          char *why, size_t n)
{
	return run(pack, rank, dim, from, to, false, threads, why, n);
}

int
hexc_unpack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to, uint32_t threads,
            char *why, size_t n)
{
	return run(pack, rank, dim, to, (void *)(uintptr_t)from, true, threads, why, n);
}
