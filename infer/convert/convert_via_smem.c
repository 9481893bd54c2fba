/* convert_via_smem.c - chooses the staging tile of a layout conversion through shared memory: the accesses of
 * both sides, and an address layout without bank conflicts if one exists.
 *
 * Swizzled rows are tried first.  If the lanes of writer and reader run along different modes of the tile,
 * rows do not suffice.  Then address bits are assigned to modes by their role on both sides.  From the lowest
 * bit: elements of one access, lanes of both sides, lanes of the reader only, lanes of the writer only, the
 * rest; a swizzle xors the writer's lanes onto the reader's.  With equal access widths this is free of
 * conflicts.  Otherwise the widths are searched too, since the elements of a wide access occupy fixed banks,
 * over which the lanes of a narrow access then cannot spread.
 *
 * A side whose registers are fragments of 8 x 16-byte matrices may also use stmatrix or ldmatrix, over
 * rows. */
#include "infer/core/cost_constants.h"
#include "infer/convert/convert.h"
#include "infer/memory/memory.h"
#include "taskmap/butterfly.h"

typedef struct StagingTile {
	Type type; /* with the element type that is staged */
	Layout w, r; /* layouts of writer and reader, split into common modes */
	int bits;
	int64_t cap; /* elements per access, at most */
} StagingTile;

typedef struct StageMemo {
	struct StageMemo *next;
	DType dtype;
	Layout from, to;
	bool matrices;
	Staging staging;
	int64_t waves[2];
} StageMemo;

static SmemAccess
stage_access(const StagingTile *g, const Layout *map, int vec, bool write)
{
	SmemAccess a = { .map = map, .rank = g->type.rank, .vec = vec, .bits = g->bits, .lanes = WARP_SIZE,
	        .weight = 1, .write = write };

	for (int d = 0; d < a.rank; d++)
		a.dim_of[d] = d;
	return a;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* Computes elements per access of both sides along dim `unit`, for elements of `bits` bits. */
static void
row_vectors(const Type *t, const Layout *from, const Layout *to, int unit, int bits, Staging *p)
{
	int64_t cap = 128 / bits, row = pow2_part(t->shape[unit]);

	cap = min64(cap, row);
	p->write.vec = (int)(reg_run(from, unit) < cap ? reg_run(from, unit) : cap);
	p->read.vec = (int)(reg_run(to, unit) < cap ? reg_run(to, unit) : cap);
}

/* Tries rows along the dim of the reader's longest register run. */
static void
stage_rows(Solve *s, const Type *t, StagingTile *g, const Layout *from, const Layout *to, Staging *p,
           int64_t *waves)
{
	int bits = dtype_info[t->dtype].bits, unit = t->rank - 1;
	Layout *tile = NEW(s->arena, Layout);
	SmemAccess acc[2];

	for (int d = 0; d < t->rank; d++)
		if (reg_run(to, d) > reg_run(to, unit))
			unit = d;
	row_vectors(t, from, to, unit, bits, p);
	if (staging_bits(p, t->dtype) != bits)
		g->type.dtype = D_u8;
	g->bits = dtype_info[g->type.dtype].bits;
	row_vectors(t, from, to, unit, g->bits, p);
	acc[0] = stage_access(g, from, p->write.vec, true);
	acc[1] = stage_access(g, to, p->read.vec, false);
	shared_layout(s, &g->type, unit, acc, 2, tile, waves);
	p->tile = tile;
}

/* ---- modes ------------------------------------------------------------------------------------------ */

/* Finds the modes of an access of `vec` elements of l, lowest first.  Returns their number; -1: no modes have
 * that product. */
static int
vector_digits(const Layout *l, int64_t vec, int *digit)
{
	int all = layout_by_stride(l, AX_reg, digit), n = 0;
	int64_t have = 1;

	for (; n < all && have < vec && layout_iter(l, digit[n])->stride == have; n++)
		have *= layout_iter(l, digit[n])->extent;
	return have == vec ? n : -1;
}

/* Is mode i among the lanes that one phase of an access of `vec` elements serves? */
static bool
phase_lane(const StagingTile *g, const Layout *l, int i, int64_t vec)
{
	int64_t lanes = 8 * SHARED_BYTES / (vec * g->bits);

	return l->it[i].axis == AX_lane && l->it[i].stride < lanes;
}

enum { LANES_BOTH, LANES_READER, LANES_WRITER, NO_LANES, DIGIT_CLASSES };

/* Assigns address strides to the modes, for accesses of vec[0] (writer) and vec[1] (reader) elements. */
static bool
deal(const StagingTile *g, const int64_t vec[2], Layout *out)
{
	int digit[2][ITER_MAX], n[2];
	int64_t stride[ITER_MAX] = { 0 }, next = 1;
	const Layout *l[2] = { &g->w, &g->r };
	int wide = vec[1] >= vec[0];

	for (int i = 0; i < 2; i++)
		if ((n[i] = vector_digits(l[i], vec[i], digit[i])) < 0)
			return false;
	for (int i = 0; i < n[1 - wide]; i++) /* the narrow access must be part of the wide one */
		if (digit[0][i] != digit[1][i])
			return false;
	for (int i = 0; i < n[wide]; i++) {
		stride[digit[wide][i]] = next;
		next *= g->w.it[digit[wide][i]].extent;
	}
	for (int class = 0; class < DIGIT_CLASSES; class ++)
		for (int i = 0; i < g->w.n; i++) {
			bool w = phase_lane(g, &g->w, i, vec[0]), r = phase_lane(g, &g->r, i, vec[1]);

			if (stride[i] || class != (w   ? r ? LANES_BOTH : LANES_WRITER
			                           : r ? LANES_READER
			                               : NO_LANES))
				continue;
			stride[i] = next;
			next *= g->w.it[i].extent;
		}
	layout_init(out, g->w.ndim);
	for (Digit x = layout_digits(&g->w); x.it; digit_next(&x))
		if (!layout_push(out, x.dim, x.it->extent, stride[x.at], AX_mem))
			return false;
	layout_canon(out);
	return true;
}

/* Returns the instructions per warp of one side. */
static int64_t
accesses(const Layout *l, const Layout *map, int vec)
{
	return layout_cosize(map ? map : l, AX_reg) / vec;
}

/* Returns wavefronts plus INSTRUCTION_SHARE per instruction. */
static double
stage_cost(const Solve *s, const Layout *from, const Layout *to, const Staging *p, const int64_t *waves)
{
	int64_t inst = accesses(from, p->write.map, p->write.vec) + accesses(to, p->read.map, p->read.vec);

	return (double)(waves[0] + waves[1]) + INSTRUCTION_SHARE * (double)(inst * s->k->warps);
}

static void
stage_digits(Solve *s, StagingTile *g, const Layout *from, const Layout *to, Staging *p, int64_t *waves)
{
	int64_t vec[2], bytes = g->type.dtype == D_u8 ? 8 : 0;

	g->w = *from;
	g->r = *to;
	for (int d = 0; d < g->w.ndim; d++)
		if (!layout_refine(&g->w, &g->r, d, true))
			return;
	for (int i = 0; i < g->w.n; i++) /* one register for many positions is not a mode of its own */
		if (g->w.it[i].stride == 0 || g->r.it[i].stride == 0)
			return;
	for (vec[1] = 128 / g->bits; vec[1] >= 1; vec[1] /= 2)
		for (vec[0] = 128 / g->bits; vec[0] >= 1; vec[0] /= 2) {
			Layout *tile = NEW(s->arena, Layout);
			Staging q = { .write.vec = (int)vec[0], .read.vec = (int)vec[1], .tile = tile };
			SmemAccess acc[2] = { stage_access(g, from, q.write.vec, true),
				          stage_access(g, to, q.read.vec, false) };
			int64_t n[2];

			if ((!bytes && (vec[0] * g->bits < 8 || vec[1] * g->bits < 8)) ||
			    !deal(g, vec, tile))
				continue;
			shared_swizzle(s, tile, acc, 2, n);
			if (stage_cost(s, from, to, &q, n) < stage_cost(s, from, to, p, waves)) {
				p->write.vec = q.write.vec;
				p->read.vec = q.read.vec;
				p->tile = tile;
				waves[0] = n[0];
				waves[1] = n[1];
			}
		}
}

/* ---- matrices --------------------------------------------------------------------------------------- */

/* Tries rows along dim `unit` that the writer fills with stmatrix, the reader reads with ldmatrix, or both;
 * keeps each alternative that is cheaper than p. */
static void
stage_matrices(Solve *s, const StagingTile *g, const Layout *from, const Layout *to, int unit, Staging *p,
               int64_t *waves)
{
	DType d = g->type.dtype;
	const Layout *side[2] = { from, to };
	int run = 128 / g->bits;
	MatrixSide m[2] = { { NULL, NULL }, { NULL, NULL } };

	if (g->type.shape[unit] % run)
		return;
	matrix_side(s, IK_stmatrix, d, from, unit, &m[0]);
	matrix_side(s, IK_ldmatrix, d, to, unit, &m[1]);
	for (int way = 1; way < 4; way++) {
		Layout *tile = NEW(s->arena, Layout);
		Staging q = { .tile = tile };
		SmemAccess acc[2];
		int64_t n[2];
		int vec[2];

		if ((way & 1 && !m[0].in) || (way & 2 && !m[1].in))
			continue;
		for (int i = 0; i < 2; i++) {
			bool by = way >> i & 1;
			int64_t plain = reg_run(side[i], unit) < run ? reg_run(side[i], unit) : run;

			vec[i] = by ? run : (int)plain;
			acc[i] = stage_access(g, by ? m[i].map : side[i], vec[i], i == 0);
			if (by)
				acc[i].lanes = m[i].in->bits / 32 * 8;
		}
		if (vec[0] * g->bits < 8 || vec[1] * g->bits < 8)
			continue;
		shared_layout(s, &g->type, unit, acc, 2, tile, n);
		q.write.vec = vec[0];
		q.read.vec = vec[1];
		if (way & 1) {
			q.write.inst = m[0].in->name;
			q.write.map = m[0].map;
		}
		if (way & 2) {
			q.read.inst = m[1].in->name;
			q.read.map = m[1].map;
		}
		if (stage_cost(s, from, to, &q, n) < stage_cost(s, from, to, p, waves)) {
			*p = q;
			waves[0] = n[0];
			waves[1] = n[1];
		}
	}
}

/* ---- all methods ----------------------------------------------------------------------------- */

static StageMemo *
find_memo(const Solve *s, const Type *t, const Layout *from, const Layout *to, bool matrices)
{
	for (StageMemo *m = s->stages; m; m = m->next)
		if (m->dtype == t->dtype && m->matrices == matrices && layout_identical(&m->from, from) &&
		    layout_identical(&m->to, to))
			return m;
	return NULL;
}

/* Are both sides free of bank conflicts? */
static bool
conflict_free(Solve *s, const StagingTile *g, const Layout *from, const Layout *to, const Staging *p,
              const int64_t *waves)
{
	for (int i = 0; i < 2; i++) {
		SmemAccess a = stage_access(g, i ? to : from, i ? p->read.vec : p->write.vec, !i);
		int64_t all, least;

		access_waves(s->arena, &a, p->tile, s->k->warps, &all, &least);
		if (waves[i] > least)
			return false;
	}
	return true;
}

void
stage_find(Solve *s, const Type *t, const Layout *from, const Layout *to, bool matrices, Staging *p,
           int64_t *waves)
{
	StageMemo *m = find_memo(s, t, from, to, matrices);

	if (!m) {
		StagingTile g = { .type = *t };

		m = NEW(s->arena, StageMemo);
		*m = (StageMemo){ .next = s->stages, .dtype = t->dtype, .from = *from, .to = *to };
		m->matrices = matrices;
		stage_rows(s, t, &g, from, to, &m->staging, m->waves);
		/* partial sums of a reduction are few, and wider accesses pay */
		if (!matrices || !conflict_free(s, &g, from, to, &m->staging, m->waves))
			stage_digits(s, &g, from, to, &m->staging, m->waves);
		for (int d = 0; matrices && d < t->rank && g.type.dtype == t->dtype; d++)
			stage_matrices(s, &g, from, to, d, &m->staging, m->waves);
		m->staging.bytes =
			align_up(layout_cosize(m->staging.tile, AX_mem) * g.bits / 8, 16);
		s->stages = m;
	}
	*p = m->staging;
	waves[0] = m->waves[0];
	waves[1] = m->waves[1];
}
