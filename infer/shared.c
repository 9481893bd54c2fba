/* shared.c - address layouts of shared tiles: the order of dims is given, the swizzle is searched in the
 * xor-linear family, conflicts are counted exactly over all phases and instances of every access, and padding
 * is the fallback where no swizzle is clean. */
#include "infer/solve.h"
#include <string.h>

enum { BANKS = 32, BANK_BYTES = 4 };

/* Unswizzled element offsets of one access by one warp. */
typedef struct Trace {
	int64_t *off; /* [ninst][lanes], -1: lane takes no part */
	int ninst, lanes, bytes;
	int bits;
	int64_t least;
} Trace;

/* Is this lane (of this warp) the one of its replicas that acts? */
static bool
first_replica(const Layout *l, int64_t lane, int64_t warp)
{
	for (int i = 0; i < l->nrep; i++) {
		const Iter *r = &l->rep[i];
		int64_t at = r->axis == AX_lane ? lane : r->axis == AX_warp ? warp : 0;
		if (at / r->stride % r->extent)
			return false;
	}
	return true;
}

static Trace
trace(Arena *arena, const Access *a, const Layout *tile, int64_t warp)
{
	Trace t = { .lanes = a->lanes, .bits = a->bits };
	int64_t regs = layout_cosize(a->map, AX_reg);

	t.ninst = (int)(regs / a->vec);
	t.bytes = a->vec * a->bits / 8;
	if (t.bytes < BANK_BYTES)
		t.bytes = BANK_BYTES;
	t.off = NEWN(arena, int64_t, (size_t)t.ninst * (size_t)t.lanes);
	for (int i = 0; i < t.ninst; i++)
		for (int lane = 0; lane < t.lanes; lane++) {
			int64_t c[DIM_MAX] = { 0 }, at[DIM_MAX] = { 0 };
			Place p = { .at = { 0 } };

			p.at[AX_lane] = lane;
			p.at[AX_warp] = warp;
			p.at[AX_reg] = (int64_t)i * a->vec;
			if (a->write && !first_replica(a->map, lane, warp)) {
				t.off[i * t.lanes + lane] = -1;
				continue;
			}
			layout_coord(a->map, &p, c);
			for (int d = 0; d < a->rank; d++)
				at[a->dim_of[d]] = c[d];
			t.off[i * t.lanes + lane] = layout_at(tile, at).at[AX_mem];
		}
	return t;
}

/* Wavefronts of one phase: lanes [lo, hi) at once; the busiest bank decides.  *distinct counts words groups. */
static int
phase_waves(const Trace *t, const int64_t *off, int lo, int hi, Swizzle sw, int *distinct)
{
	int nbank = BANKS * BANK_BYTES / t->bytes, worst = 0;
	int count[BANKS] = { 0 };
	int64_t seen[BANKS][32];

	*distinct = 0;
	for (int l = lo; l < hi; l++) {
		int64_t word;
		int b, j;

		if (off[l] < 0)
			continue;
		word = swizzle_apply(sw, off[l]) * t->bits / 8 / t->bytes;
		b = (int)(word % nbank);
		for (j = 0; j < count[b] && seen[b][j] != word; j++)
			;
		if (j < count[b])
			continue;
		seen[b][count[b]++] = word;
		++*distinct;
		if (count[b] > worst)
			worst = count[b];
	}
	return worst;
}

/* Wavefronts of all instances, and the least any placement of the same words needs. */
static int64_t
trace_waves(const Trace *t, Swizzle sw, int64_t *least)
{
	int per = BANKS * BANK_BYTES / t->bytes; /* lanes of a phase */
	int64_t waves = 0;

	*least = 0;
	for (int i = 0; i < t->ninst; i++)
		for (int lo = 0; lo < t->lanes; lo += per) {
			int hi = lo + per < t->lanes ? lo + per : t->lanes, distinct;
			waves += phase_waves(t, t->off + i * t->lanes, lo, hi, sw, &distinct);
			*least += (distinct + per - 1) / per;
		}
	return waves;
}

void
access_waves(Arena *arena, const Access *a, const Layout *tile, int warps, int64_t *waves, int64_t *least)
{
	Swizzle none = { 0, 0, 0 };

	*waves = *least = 0;
	for (int w = 0; w < warps; w++) {
		int64_t n;
		Trace t = trace(arena, a, tile, w); /* tile carries its swizzle */
		*waves += trace_waves(&t, none, &n);
		*least += n;
	}
}

static int
log2_floor(int64_t x)
{
	int n = 0;

	while (x > 1) {
		x >>= 1;
		n++;
	}
	return n;
}

static double
excess_of(const Trace *t, const Access *acc, int n, Swizzle sw)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		int64_t least, waves = trace_waves(&t[i], sw, &least);
		sum += (double)(waves - least) * acc[i].weight;
	}
	return sum;
}

/* Rows of `pitch` elements, unit_dim innermost, the other dims in order. */
static void
rows(Layout *l, const Type *t, int unit_dim, int64_t pitch)
{
	int64_t stride[DIM_MAX], next = pitch;

	for (int d = t->rank - 1; d >= 0; d--) {
		stride[d] = d == unit_dim ? 1 : next;
		if (d != unit_dim)
			next *= t->shape[d];
	}
	layout_init(l, t->rank);
	for (int d = 0; d < t->rank; d++)
		layout_push(l, d, t->shape[d], stride[d], AX_mem);
}

void
shared_layout(Solve *s, const Type *t, int unit_dim, const Access *acc, int nacc, Layout *out,
              double *excess)
{
	int bits = dtype_info[t->dtype].bits, base = 0, top;
	int64_t row = t->rank ? t->shape[unit_dim] : 1, pad = 128 / bits;
	Trace *tr = NEWN(s->arena, Trace, nacc + 1);
	Swizzle best = { 0, 0, 0 };

	rows(out, t, unit_dim, row);
	for (int i = 0; i < nacc; i++) {
		tr[i] = trace(s->arena, &acc[i], out, 0);
		if (log2_floor(acc[i].vec) > base)
			base = log2_floor(acc[i].vec);
	}
	*excess = excess_of(tr, acc, nacc, best);
	top = log2_floor(layout_cosize(out, AX_mem));
	/* only whole powers of two stay inside the tile when bits are xored */
	for (int b = 1; b <= 3 && *excess > 0; b++)
		for (int lo = base; lo + b <= top && *excess > 0 && lo < base + 4; lo++)
			for (int shift = b; lo + shift + b <= top && *excess > 0; shift++) {
				Swizzle sw = { (int8_t)b, (int8_t)lo, (int8_t)shift };
				double e;

				if (layout_cosize(out, AX_mem) % ((int64_t)1 << (lo + b)))
					continue;
				arena_step(s->arena);
				e = excess_of(tr, acc, nacc, sw);
				if (e < *excess) {
					*excess = e;
					best = sw;
				}
			}
	if (*excess > 0 && t->rank > 1) { /* padding, where it is cleaner */
		Layout padded;
		double e;

		rows(&padded, t, unit_dim, row + pad);
		for (int i = 0; i < nacc; i++)
			tr[i] = trace(s->arena, &acc[i], &padded, 0);
		e = excess_of(tr, acc, nacc, (Swizzle){ 0, 0, 0 });
		if (e < *excess) {
			*excess = e;
			*out = padded;
			return;
		}
	}
	out->swizzle = best;
}
