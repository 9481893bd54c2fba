/* rasterize.c - pass rasterize: chooses the raster order of blocks that minimizes the bytes each wave reads
 * into L2.
 *
 * requires   the result of pass infer; layouts are not used
 * preserves  what the kernel computes: the blocks are the same, only their order changes
 * produces   k->order
 *
 * Blocks that run at the same time form a wave of w blocks: g along one grid dim, w / g along another. Data
 * that depends on the one dim only takes a bytes for each of the g, data that depends on the other only
 * takes b bytes for each of the w / g. Each is loaded to L2 once per wave. The total g a + (w / g) b is
 * minimal for g = sqrt(w b / a). In the default hardware order g is the extent of the first dim.
 *
 * Blocks of more and more work along a dim (causal attention) run longest first, so that short ones fill the
 * last wave. Those of the other dims run in groups of w / 4: at least 4 blocks of a wave then read the same
 * data of those dims. Computed for 1 to 64 heads of 1024 to 32768 queries on 132 SMs, in tiles of 128: the
 * mean time of an SM is 97 to 100 % of the longest one's, and 61 to 100 % in the hardware's order. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "infer/core/grid_dependence.h"
#include "infer/core/sm_throughput.h"
#include "infer/schedule/block_work.h"
#include "hexc/pass/pass.h"
#include "infer/search.h"
#include <math.h>
#include <string.h>

/* Bytes that a block reads, by the set of grid dims that they depend on. */
typedef struct Reads {
	Kernel *k;
	const uint8_t *dims;
	double bytes[8];
} Reads;

static void
count_reads(Reads *r, const Block *b, double times)
{
	for (Op *o = b->first; o; o = o->next) {
		Val *from = access_source(o);

		if (from && from->type.space == S_global) {
			double elements = times * (double)type_size(&from->type);

			r->bytes[r->dims[from->id]] += elements * dtype_info[from->type.dtype].bits / 8;
		}
		for (int i = 0; i < 2 && o->blk[i]; i++)
			count_reads(r, o->blk[i], o->code == O_for ? times * loop_trips(r->k, o) : times);
	}
}

/* Bytes that depend on dim d but not on dim `not`. */
static double
reads_of(const Reads *r, int d, int not )
{
	double n = 0;

	for (int dims = 0; dims < 8; dims++)
		if (dims >> d & 1 && !(dims >> not &1))
			n += r->bytes[dims];
	return n;
}

/* Finds the two dims with the largest reuse along each other; returns false if there are none. */
static bool
find_dims(const Reads *r, GridOrder *o)
{
	double most = 0;

	for (int fast = 0; fast < 2; fast++)
		for (int slow = fast + 1; slow < 3; slow++) {
			double least = fmin(reads_of(r, fast, slow), reads_of(r, slow, fast));

			if (least <= most)
				continue;
			most = least;
			o->fast = fast;
			o->slow = slow;
		}
	return most > 0;
}

/* Returns the program's `const BLOCK_GROUP`; -1 if it has none. */
static int64_t
group_told(const Kernel *k)
{
	for (int i = 0; i < k->nconstants; i++)
		if (strcmp(k->constants[i].name, "BLOCK_GROUP") == 0)
			return k->constants[i].value;
	return -1;
}

/* Bytes read by a wave of blocks that covers `rows` of dim fast. */
static double
wave_reads(const Reads *r, const GridOrder *o, double wave, double rows)
{
	double n = rows * reads_of(r, o->fast, o->slow) + wave / rows * reads_of(r, o->slow, o->fast);

	for (int dims = 0; dims < 8; dims++)
		if (dims >> o->fast & dims >> o->slow & 1)
			n += wave * r->bytes[dims];
	return n;
}

/* Returns the largest power of two up to the optimum, since the last rows of blocks are up to twice as
 * many. Returns 0 if that gains little over a wave that spans dim fast only. */
static int64_t
best_group(const Reads *r, const GridOrder *o)
{
	double wave = rates_of(r->k->unit->target)->sms;
	double best = sqrt(wave * reads_of(r, o->slow, o->fast) / reads_of(r, o->fast, o->slow));
	double plain = wave_reads(r, o, wave, wave);
	int64_t group = 1;

	while (2 * (double)group <= best && 2 * group <= GROUP_MOST)
		group *= 2;
	return GROUP_GAIN * wave_reads(r, o, wave, (double)group) <= plain ? group : 0;
}

/* Returns the rows of a group of blocks that run longest first. */
static int64_t
rows_at_once(const Kernel *k)
{
	int64_t group = 1;

	while (group * 2 * SHARERS <= rates_of(k->unit->target)->sms)
		group *= 2;
	return group;
}

/* Orders blocks of unequal work, unless the program says that the order is the hardware's. Returns false if
 * no dim has them. */
static bool
longest_first(Kernel *k, const uint8_t *dims)
{
	int64_t told = group_told(k);
	bool grows;
	int d = block_work_dim(k, dims, &grows);

	if (d < 0 || told == 0)
		return false;
	k->order.group = told > 0 ? told : rows_at_once(k);
	k->order.fast = grows ? GRID_OTHERS_DOWN : GRID_OTHERS;
	k->order.slow = d;
	return true;
}

bool
pass_rasterize(Kernel *k)
{
	Reads r = { .k = k, .dims = grid_dims(k) };
	GridOrder o = { .fast = 0, .slow = 1 };
	bool shared;

	facts_keep(k);
	if (longest_first(k, r.dims)) {
		facts_drop(k);
		return true;
	}
	count_reads(&r, k->body, 1);
	facts_drop(k);
	shared = find_dims(&r, &o);
	o.group = group_told(k);
	if (o.group < 0)
		o.group = shared ? best_group(&r, &o) : 0;
	k->order = o.group ? o : (GridOrder){ 0 };
	return o.group != 0;
}
