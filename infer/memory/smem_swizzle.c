/* smem_swizzle.c - chooses the address layout of a shared tile: swizzle, or padding as the fallback.
 *
 * The order of dims is given.  The swizzle is searched in the xor-linear family; conflicts are counted
 * exactly over all phases and instances of every access.  Padding is used where no swizzle is free of
 * conflicts, or where none leaves addresses of instances that follow from each other by xors. */
#include "infer/memory/memory.h"
#include <string.h>

enum { BANKS = 32,
       BANK_BYTES = 4 };

/* Unswizzled offsets of one access by one warp, in units that a bank group of the phase holds: the access
 * itself, or a 4-byte word if it is smaller. */
typedef struct BankTrace {
	int64_t *off; /* [ninst][lanes]; -1: inactive lane */
	int ninst, lanes;
	int times; /* number of instances that each of these represents */
	int64_t lane_bits, inst_bits; /* bits of element offsets in which lanes and instances differ */
	int nbank; /* units per wavefront; also lanes per phase */
	int unit; /* log2 of elements per unit */
	bool none; /* the tile has no addresses under the shape of the access */
	/* Elements that straddle bytes: a unit is an access of `pieces` instructions, each of which moves a
	 * 2^-part-th of what a bank group holds. */
	int pieces, part;
} BankTrace;

/* Returns the instructions of one access (dtype_pieces). */
static int
pieces_of(const SmemAccess *a)
{
	return a->bits / (int)pow2_part(a->bits);
}

/* Returns log2 of the elements that any swizzle must keep contiguous for this access. */
static int
unit_of(const SmemAccess *a)
{
	return log2_floor(pieces_of(a) == 1 && a->vec * a->bits < 32 ? 32 / a->bits : a->vec);
}

/* Computes the coordinates of an element of an access, in the dims of the access. */
static void
index_at(const SmemAccess *a, int64_t lane, int64_t warp, int64_t reg, int64_t *c)
{
	Coord p = { .at = { 0 } };

	p.at[AX_lane] = lane;
	p.at[AX_warp] = warp;
	p.at[AX_reg] = reg;
	layout_index(a->map, &p, c);
}

/* Returns the offset in the tile of an element of the access. */
static int64_t
offset_at(const SmemAccess *a, const Layout *tile, int64_t lane, int64_t warp, int64_t reg)
{
	int64_t c[DIM_MAX] = { 0 }, at[DIM_MAX] = { 0 };

	index_at(a, lane, warp, reg, c);
	for (int d = 0; d < a->rank; d++)
		at[a->dim_of[d]] = c[d];
	return layout_at(tile, at).at[AX_mem];
}

/* Deactivates lanes past the end of the view's operand. */
static void
trace_clip(BankTrace *t, const SmemAccess *a, int64_t warp)
{
	int64_t within[DIM_MAX], c[DIM_MAX] = { 0 };

	for (int d = 0; d < a->rank; d++)
		within[d] = view_within(a->past, d);
	for (int i = 0; i < t->ninst; i++)
		for (int lane = 0; lane < t->lanes; lane++) {
			index_at(a, lane, warp, (int64_t)i * a->vec, c);
			for (int d = 0; d < a->rank; d++)
				if (c[d] >= within[d])
					t->off[i * t->lanes + lane] = -1;
		}
}

/* Do the addresses of an access's instances follow from one by xors, under any swizzle?  Not if lanes and
 * instances use the same offset bits, as in rows of 576: then each address is computed and stored
 * separately. */
static bool
xors(const BankTrace *t)
{
	return (t->lane_bits & t->inst_bits) == 0;
}

/* Traces an access.  `tile` without its swizzle is linear in the coordinates, which are sums of contributions
 * of lane, warp and register: offsets add.  If lanes and instances differ in disjoint bits, adding is xoring,
 * and so is swizzling.  Then all instances use the banks alike, up to order, and one represents all. */
static BankTrace
trace(Arena *arena, const SmemAccess *a, const Layout *tile, int64_t warp)
{
	BankTrace t = { .lanes = a->lanes, .unit = unit_of(a), .pieces = pieces_of(a) };
	int width = a->bits / t.pieces << t.unit;
	Layout plain = *tile;
	int64_t lane_off[WARP_SIZE], *inst_off;

	if (a->as && !layout_reshape(&plain, tile, a->as->rank, a->as->shape))
		t.none = true;
	plain.swizzle = (Swizzle){ 0, 0, 0 };
	if (t.none || a->anywhere)
		return t;
	t.ninst = (int)(layout_cosize(a->map, AX_reg) / a->vec);
	t.part = width < 32 ? log2_floor(32 / width) : 0;
	t.nbank = BANKS * BANK_BYTES * 8 / (width << t.part);
	t.times = 1;
	for (int lane = 0; lane < t.lanes; lane++) {
		lane_off[lane] = a->write && !layout_first_replica(a->map, lane, warp)
		                         ? -1
		                         : offset_at(a, &plain, lane, warp, 0);
		t.lane_bits |= lane_off[lane] < 0 ? 0 : lane_off[lane];
	}
	inst_off = NEWN(arena, int64_t, t.ninst);
	for (int i = 0; i < t.ninst; i++) {
		inst_off[i] = offset_at(a, &plain, 0, 0, (int64_t)i * a->vec);
		t.inst_bits |= inst_off[i];
	}
	if (xors(&t) && t.pieces == 1 && !a->past) {
		t.times = t.ninst;
		t.ninst = 1;
	}
	t.off = NEWN(arena, int64_t, (size_t)t.ninst * (size_t)t.lanes);
	for (int i = 0; i < t.ninst; i++)
		for (int lane = 0; lane < t.lanes; lane++)
			t.off[i * t.lanes + lane] =
				lane_off[lane] < 0 ? -1 : (lane_off[lane] + inst_off[i]) >> t.unit;
	if (a->past)
		trace_clip(&t, a, warp);
	return t;
}

/* Returns the wavefronts of one phase of a piece by n lanes: the maximum over the banks.  *distinct counts
 * units. */
static int
phase_waves(const BankTrace *t, const int64_t *off, int n, int piece, Swizzle sw, int *distinct)
{
	int worst = 0, total = 0;
	uint8_t count[BANKS] = { 0 };
	int64_t seen[BANKS][WARP_SIZE];

	for (int l = 0; l < n; l++) {
		int64_t u;
		int b, j, c;

		if (off[l] < 0)
			continue;
		u = (swizzle_apply(sw, off[l]) * t->pieces + piece) >> t->part;
		b = (int)(u & (t->nbank - 1));
		c = count[b];
		for (j = 0; j < c && seen[b][j] != u; j++)
			;
		if (j < c)
			continue;
		seen[b][c] = u;
		count[b] = (uint8_t)(c + 1);
		total++;
		if (c + 1 > worst)
			worst = c + 1;
	}
	*distinct = total;
	return worst;
}

/* Returns the wavefronts of all instances; *least: the minimum for any placement of the same words.  The
 * swizzle is in elements.  Stops early once the excess passes `bound`. */
static int64_t
trace_waves(const BankTrace *t, Swizzle sw, int64_t *least, int64_t bound)
{
	int64_t waves = 0;

	sw.base = (int8_t)(sw.base - t->unit);
	*least = 0;
	for (int i = 0; i < t->ninst * t->pieces && waves - *least <= bound; i++)
		for (int lo = 0; lo < t->lanes; lo += t->nbank) {
			const int64_t *off = t->off + i / t->pieces * t->lanes + lo;
			int n = lo + t->nbank < t->lanes ? t->nbank : t->lanes - lo, distinct;
			waves += t->times * phase_waves(t, off, n, i % t->pieces, sw, &distinct);
			*least += t->times * (ceil_div(distinct, t->nbank));
		}
	return waves;
}

/* Does warp w use the banks as warp 0 does, whose trace is given?  As with instances: if its offset uses
 * other bits than those in which lanes and instances differ. */
static bool
as_first_warp(const BankTrace *first, const SmemAccess *a, const Layout *tile, int64_t w)
{
	Layout plain = *tile;

	if (first->none || first->pieces > 1 || a->as || a->past)
		return false;
	for (int i = 0; a->write && i < a->map->nrep; i++)
		if (a->map->rep[i].axis == AX_warp)
			return false;
	plain.swizzle = (Swizzle){ 0, 0, 0 };
	return (offset_at(a, &plain, 0, w, 0) & (first->lane_bits | first->inst_bits)) == 0;
}

void
access_init(SmemAccess *a, const Op *o, Val *mem, int vec, const Instr *in)
{
	*a = (SmemAccess){
		.op = o,
		.rank = mem->type.rank,
		.vec = vec,
		.bits = bits_of(mem),
		.lanes = in && (in->kind == IK_ldmatrix || in->kind == IK_stmatrix) ? in->bits / 32 * 8
		                                                                    : WARP_SIZE,
		.write = o->code != O_load,
		.past = mem->def && view_is_longer(mem->def) ? mem->def : NULL,
	};
	mem = view_dims(mem, a->dim_of);
	a->as = val_is_alias(mem) ? &mem->type : NULL;
}

int
access_warps(const Solve *s, const SmemAccess *a)
{
	return a->op ? op_warps(a->op) : s->k->warps;
}

/* Returns the minimum wavefronts of a warp: unknown rows are assumed to be in different banks. */
static int64_t
waves_anywhere(const SmemAccess *a)
{
	int64_t each = max64(1, (int64_t)a->vec * a->bits * a->lanes / (8 * BANKS * BANK_BYTES));

	return layout_cosize(a->map, AX_reg) / a->vec * each;
}

void
access_waves(Arena *arena, const SmemAccess *a, const Layout *tile, int warps, int64_t *waves, int64_t *least)
{
	BankTrace first = trace(arena, a, tile, 0);
	int64_t first_waves, first_least;

	if (a->anywhere) {
		*waves = *least = warps * waves_anywhere(a);
		return;
	}
	first_waves = trace_waves(&first, tile->swizzle, &first_least, INT64_MAX);
	*waves = first_waves;
	*least = first_least;
	for (int w = 1; w < warps; w++) {
		int64_t n = first_waves, few = first_least;

		if (!as_first_warp(&first, a, tile, w)) {
			BankTrace t = trace(arena, a, tile, w);

			n = trace_waves(&t, tile->swizzle, &few, INT64_MAX);
		}
		*waves += n;
		*least += few;
	}
}

#define NOT_POSSIBLE 1e299

/* Returns the weighted wavefronts above the minimum; stops beyond `bound`. */
static double
excess_of(const BankTrace *t, const SmemAccess *acc, int n, Swizzle sw, double bound)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		if (t[i].none)
			return NOT_POSSIBLE;
	for (int i = 0; i < n && sum < bound; i++) {
		int64_t most = bound > 1e15 ? INT64_MAX : (int64_t)(bound / acc[i].weight), least;
		int64_t waves = trace_waves(&t[i], sw, &least, most);
		sum += (double)(waves - least) * acc[i].weight;
	}
	return sum;
}

/* Returns the address bits in which lanes of a phase differ: only those are worth xoring in. */
static int64_t
phase_bits(const BankTrace *t, int n)
{
	int64_t bits = 0;

	for (int i = 0; i < n; i++)
		for (int at = 0; at < t[i].ninst * t[i].lanes; at++) {
			int first = at - at % t[i].lanes % t[i].nbank;
			if (t[i].off[at] >= 0 && t[i].off[first] >= 0)
				bits |= (t[i].off[at] ^ t[i].off[first]) << t[i].unit;
		}
	return bits;
}

/* Sets the best swizzle of l for these accesses.  Returns the weighted wavefronts above the minimum. */
static double
search_swizzle(Solve *s, Layout *l, const SmemAccess *acc, int nacc)
{
	BankTrace *tr = NEWN(s->arena, BankTrace, nacc + 1);
	Swizzle best = { 0, 0, 0 };
	int base = 0, top = log2_floor(layout_cosize(l, AX_mem));
	int64_t vary;
	double excess;

	for (int i = 0; i < nacc; i++) {
		tr[i] = trace(s->arena, &acc[i], l, 0);
		if (tr[i].unit > base)
			base = tr[i].unit;
	}
	excess = excess_of(tr, acc, nacc, best, 1e300);
	vary = phase_bits(tr, nacc);
	/* xored bits stay inside the tile only below whole powers of two */
	for (int b = 1; b <= 5 && excess > 0; b++)
		for (int lo = base; lo + b <= top && excess > 0 && lo < base + 5; lo++)
			for (int shift = b; lo + shift + b <= top && excess > 0; shift++) {
				Swizzle sw = { (int8_t)b, (int8_t)lo, (int8_t)shift };
				/* without the end bits a swizzle of fewer bits is equivalent */
				int64_t ends = ((int64_t)1 << (b - 1)) | 1;
				double e;

				if (layout_cosize(l, AX_mem) % ((int64_t)1 << (lo + b)) ||
				    (vary >> (lo + shift) & ends) != ends)
					continue;
				arena_step(s->arena);
				e = excess_of(tr, acc, nacc, sw, excess);
				if (e < excess) {
					excess = e;
					best = sw;
				}
			}
	l->swizzle = best;
	return excess;
}

/* Chooses the best layout for these accesses, which all differ. */
static void
search_layout(Solve *s, const Type *t, int unit_dim, const SmemAccess *acc, int nacc, Layout *out)
{
	int64_t row = t->rank ? t->shape[unit_dim] : 1, pad = dtype_most(t->dtype);
	BankTrace *tr = NEWN(s->arena, BankTrace, nacc + 1);
	double excess;
	bool apart = false;

	while (pad > row) /* the tile becomes at most twice as large */
		pad /= 2;
	layout_rows(out, t->rank, t->shape, unit_dim, row);
	excess = search_swizzle(s, out, acc, nacc);
	/* 16 bytes are not a multiple of the elements */
	for (int i = 0; dtype_pieces(t->dtype) > 1 && i < nacc; i++)
		pad = i == 0 || acc[i].vec > pad ? acc[i].vec : pad;
	for (int i = 0; out->swizzle.bits > 0 && i < nacc && !apart; i++) {
		tr[i] = trace(s->arena, &acc[i], out, 0);
		apart = !xors(&tr[i]);
	}
	/* padding, if it has fewer conflicts, or as few and addresses at constant offsets */
	if ((excess > 0 || apart) && t->rank > 1) {
		Layout padded;
		double e;

		layout_rows(&padded, t->rank, t->shape, unit_dim, row + pad);
		for (int i = 0; i < nacc; i++)
			tr[i] = trace(s->arena, &acc[i], &padded, 0);
		e = excess_of(tr, acc, nacc, (Swizzle){ 0, 0, 0 }, excess > 0 ? excess : 1e300);
		if (e < excess || (apart && e <= excess))
			*out = padded;
	}
}

void
shared_swizzle(Solve *s, Layout *l, const SmemAccess *acc, int nacc, int64_t *waves)
{
	search_swizzle(s, l, acc, nacc);
	for (int i = 0; i < nacc; i++) {
		int64_t least;

		access_waves(s->arena, &acc[i], l, s->k->warps, &waves[i], &least);
	}
}

/* ---- cache ---------------------------------------------------------------------------------------- */

/* Do two accesses have the same addresses by the same lanes, whatever their weights? */
static bool
same_access(const SmemAccess *a, const SmemAccess *b)
{
	if (a->rank != b->rank || a->vec != b->vec || a->bits != b->bits || a->lanes != b->lanes ||
	    a->write != b->write || a->anywhere != b->anywhere || !a->as != !b->as ||
	    (a->as && !type_same(a->as, b->as)) || !a->past != !b->past)
		return false;
	for (int d = 0; d < a->rank; d++)
		if (a->dim_of[d] != b->dim_of[d] ||
		    (a->past && view_within(a->past, d) != view_within(b->past, d)))
			return false;
	return layout_identical(a->map, b->map);
}

typedef struct SharedMemo {
	struct SharedMemo *next;
	Type type;
	int unit_dim, nacc;
	SmemAccess *acc;
	int64_t *waves;
	Layout out;
} SharedMemo;

static SharedMemo *
asked(Solve *s, const Type *t, int unit_dim, const SmemAccess *acc, int n)
{
	for (SharedMemo *m = s->memo; m; m = m->next) {
		bool same = m->nacc == n && m->unit_dim == unit_dim && type_same(&m->type, t);

		for (int i = 0; i < n && same; i++)
			same = acc[i].weight >= m->acc[i].weight && acc[i].weight <= m->acc[i].weight &&
			       same_access(&acc[i], &m->acc[i]);
		if (same)
			return m;
	}
	return NULL;
}

void
shared_layout(Solve *s, const Type *t, int unit_dim, const SmemAccess *acc, int nacc, Layout *out,
              int64_t *waves)
{
	SmemAccess *one = NEWN(s->arena, SmemAccess, nacc + 1); /* each distinct access once */
	int *kind = NEWN(s->arena, int, nacc + 1), n = 0;
	SharedMemo *m;

	for (int i = 0; i < nacc; i++) {
		for (kind[i] = 0; kind[i] < n && !same_access(&one[kind[i]], &acc[i]); kind[i]++)
			;
		if (kind[i] == n)
			one[n++] = acc[i];
		else
			one[kind[i]].weight += acc[i].weight;
	}
	m = asked(s, t, unit_dim, one, n);
	if (!m) {
		m = NEW(s->arena, SharedMemo);
		*m = (SharedMemo){ .next = s->memo, .type = *t, .unit_dim = unit_dim, .nacc = n, .acc = one };
		m->waves = NEWN(s->arena, int64_t, n + 1);
		search_layout(s, t, unit_dim, one, n, &m->out);
		for (int i = 0; i < n; i++) {
			int64_t least;
			access_waves(s->arena, &one[i], &m->out, access_warps(s, &one[i]), &m->waves[i],
			             &least);
		}
		s->memo = m;
	}
	*out = m->out;
	for (int i = 0; i < nacc; i++)
		waves[i] = m->waves[kind[i]];
}
