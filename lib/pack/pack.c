/* pack.c - packs and unpacks tensors on the host, and computes their packed size. */
#include "hexc/ir/pack.h"
#include "lib/base/base.h"
#include "lib/pack/pack_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One request; `fn` runs under arena_protect. */
typedef struct PackJob {
	Arena arena;
	const char *text, *why;
	uint32_t rank;
	const int64_t *dim;
	Pack pack;
	PackPlan plan;
	bool back;
	int64_t count, words; /* elements; 32-bit words of the packed form */
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
		j->why = "a packed tensor must have 2 to 8 dimensions";
		return;
	}
	j->count = 1;
	for (uint32_t d = 0; d < j->rank; d++)
		if (j->dim[d] < 0 || !mul64(j->count, j->dim[d], &j->count))
			j->count = -1;
	j->words = j->count < 0 ? -1 : pack_words(&j->pack, (int)j->rank, j->dim);
	if (j->words < 0 || j->count > INT64_MAX / 8)
		j->why = "the shape has a negative extent, or exceeds the address space";
	else
		j->code = HEXC_OK;
}

/* Parses the pack and computes sizes; the arena stays open. */
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

/* Copies n bits. No other bit of `to` changes, and no byte past either end is accessed. */
static void
copy_bits(unsigned char *to, uint64_t to_bit, const unsigned char *from, uint64_t from_bit, uint64_t n)
{
	while (n) {
		unsigned in = (unsigned)(from_bit % 8), out = (unsigned)(to_bit % 8);
		unsigned more = in > out ? in : out;
		unsigned char *t = to + to_bit / 8;
		const unsigned char *f = from + from_bit / 8;
		size_t word = n + more >= 64 ? 8 : 1; /* bytes per iteration */
		uint64_t x = 0, old = 0, take = 8 * word - more, mask;

		take = n < take ? n : take;
		mask = (~(uint64_t)0 >> (64 - take)) << out;
		memcpy(&x, f, word);
		memcpy(&old, t, word);
		x = (old & ~mask) | (x >> in << out & mask);
		memcpy(t, &x, word);
		from_bit += take;
		to_bit += take;
		n -= take;
	}
}

/* ---- blocks ---- */

/* State shared by all workers. A work item is MOVE_LANES blocks, in the order of the packed ones. */
typedef struct PackWork {
	const PackPlan *plan;
	unsigned char *natural, *packed; /* one of them is only read */
	bool back;
	int64_t dim[2], blocks[2], n; /* rows, columns; blocks along them; blocks of all matrices */
	int64_t next; /* next work item to start */
	bool bytes; /* rows and blocks are byte-aligned */
	int nomem;
} PackWork;

/* A block's matrix, its position in it, and how much of it is in bounds. */
typedef struct BlockAt {
	int64_t matrix, row, col, rows, cols; /* matrix: index of its first element */
	bool whole; /* it can be accessed in place in the tensor */
} BlockAt;

static BlockAt
block_at(const PackWork *w, int64_t block)
{
	const PackPlan *p = w->plan;
	int64_t in_matrix = block % (w->blocks[0] * w->blocks[1]);
	BlockAt at = { .matrix = block / (w->blocks[0] * w->blocks[1]) * w->dim[0] * w->dim[1],
		       .row = in_matrix / w->blocks[1] * p->rows,
		       .col = in_matrix % w->blocks[1] * p->cols };

	at.rows = w->dim[0] - at.row < p->rows ? w->dim[0] - at.row : p->rows;
	at.cols = w->dim[1] - at.col < p->cols ? w->dim[1] - at.col : p->cols;
	at.whole = w->bytes && at.rows == p->rows && at.cols == p->cols;
	return at;
}

static uint64_t
natural_bit(const PackWork *w, const BlockAt *at, int64_t row)
{
	return (uint64_t)(at->matrix + (at->row + row) * w->dim[1] + at->col) * (uint64_t)w->plan->bits;
}

/* Copies between the tensor and a separate block, for blocks that are partly out of bounds or not
 * byte-aligned. */
static void
copy_block(const PackWork *w, const BlockAt *at, unsigned char *block)
{
	const PackPlan *p = w->plan;
	uint64_t n = (uint64_t)(at->cols * p->bits);

	for (int64_t i = 0; i < at->rows; i++, block += p->stride) {
		if (w->back)
			copy_bits(w->natural, natural_bit(w, at, i), block, 0, n);
		else
			copy_bits(block, 0, w->natural, natural_bit(w, at, i), n);
	}
}

/* Moves blocks [lo, hi); spare: memory for as many unpacked ones. */
static void
move_blocks(const PackWork *w, int64_t lo, int64_t hi, unsigned char *spare, void *scratch)
{
	const PackPlan *p = w->plan;
	size_t each = p->stride * (size_t)p->rows;
	MoveBlocks b;
	MoveRows *natural = w->back ? b.to[0] : b.from[0], *packed = w->back ? b.from[0] : b.to[0];
	BlockAt at[MOVE_LANES];

	b.n = (size_t)(hi - lo);
	for (size_t i = 0; i < b.n; i++) {
		int64_t block = lo + (int64_t)i;
		unsigned char *own = spare + i * each;

		at[i] = block_at(w, block);
		if (!at[i].whole && !w->back) {
			memset(own, 0, each);
			copy_block(w, &at[i], own);
		}
		packed[i] = (MoveRows){ w->packed + (size_t)block * p->bytes, p->bytes };
		natural[i] = at[i].whole ? (MoveRows){ w->natural + natural_bit(w, &at[i], 0) / 8,
			                               (size_t)(w->dim[1] * p->bits) / 8 }
		                         : (MoveRows){ own, p->stride };
	}
	bitmove_run(&p->move, &b, scratch, false);
	for (size_t i = 0; i < b.n && w->back; i++)
		if (!at[i].whole)
			copy_block(w, &at[i], natural[i].start);
}

static size_t
spare_bytes(const PackPlan *p)
{
	return p->stride * (size_t)p->rows * MOVE_LANES;
}

/* One worker: processes work items with separate memory. */
static void
move_pieces(void *user, unsigned i)
{
	PackWork *w = user;
	size_t scratch = bitmove_scratch(&w->plan->move);
	unsigned char *memory = NULL;

	(void)i;
	for (;;) {
		int64_t lo = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED) * MOVE_LANES;

		if (lo >= w->n)
			break;
		if (!memory)
			memory = aligned_alloc(64, scratch + spare_bytes(w->plan));
		if (!memory) {
			__atomic_store_n(&w->nomem, 1, __ATOMIC_RELAXED);
			break;
		}
		move_blocks(w, lo, lo + MOVE_LANES < w->n ? lo + MOVE_LANES : w->n, memory + scratch, memory);
	}
	free(memory);
}

/* Limit of all workers' memory, in bytes. */
static const size_t memory_most = (size_t)256 << 20;

static int
move_all(PackWork *w, const Workers *workers)
{
	int64_t pieces = (w->n + MOVE_LANES - 1) / MOVE_LANES;
	size_t most = memory_most / (bitmove_scratch(&w->plan->move) + spare_bytes(w->plan)) + 1;

	if (w->back && !w->bytes) /* blocks that share bytes must not be written concurrently */
		most = 1;
	workers_run(workers, workers_for(workers, min64(pieces, (int64_t)most)), move_pieces, w);
	return w->nomem ? HEXC_E_NOMEM : HEXC_OK;
}

/* ---- tensors ---- */

static void
make_plan(void *user)
{
	PackJob *j = user;

	pack_plan(&j->arena, &j->plan, &j->pack, j->back);
}

/* Checks the buffers; returns an error text, or NULL. */
static const char *
buffers_error(const PackJob *j, const void *natural, const void *packed)
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
    const hexc_workers *workers, char *why, size_t n)
{
	HostWorkers host;
	PackJob j;
	Arena *arenas[1] = { &j.arena };
	int code = job_open(&j, pack, rank, dim, why, n);
	PackWork w = { .plan = &j.plan,
		       .natural = (unsigned char *)(uintptr_t)natural,
		       .packed = packed,
		       .back = back,
		       .n = 1 };
	const char *wrong;

	if (!code && !workers_of(&host, workers))
		code = why_error(HEXC_E_INVALID, why, n, "hexc_workers was compiled with a newer hexc.h");
	if (!code && j.count && (wrong = buffers_error(&j, natural, packed)) != NULL)
		code = why_error(HEXC_E_INVALID, why, n, "%s", wrong);
	if (!code && j.count) {
		j.back = back;
		code = arena_protect(arenas, 1, make_plan, &j);
		if (code)
			why_error(code, why, n, "%s", hexc_strerror(code));
	}
	if (!code && j.count) {
		for (uint32_t d = 0; d < 2; d++) {
			w.dim[d] = dim[rank - 2 + d];
			w.blocks[d] = (w.dim[d] + j.pack.block[d] - 1) / j.pack.block[d];
			w.n *= w.blocks[d];
		}
		for (uint32_t d = 0; d + 2 < rank; d++)
			w.n *= dim[d];
		w.bytes = w.dim[1] * j.plan.bits % 8 == 0 && j.plan.cols * j.plan.bits % 8 == 0;
		code = move_all(&w, &host.workers);
		if (code)
			why_error(code, why, n, "%s", hexc_strerror(code));
	}
	arena_free(&j.arena);
	return code;
}

int
hexc_pack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to,
          const hexc_workers *workers, char *why, size_t n)
{
	return run(pack, rank, dim, from, to, false, workers, why, n);
}

int
hexc_unpack(const char *pack, uint32_t rank, const int64_t *dim, const void *from, void *to,
            const hexc_workers *workers, char *why, size_t n)
{
	return run(pack, rank, dim, to, (void *)(uintptr_t)from, true, workers, why, n);
}
