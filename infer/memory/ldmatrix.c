/* ldmatrix.c - checks whether a fragment layout consists of 8 x 16-byte matrices, and computes the row
 * that each lane addresses in ldmatrix and stmatrix. */
#include "infer/memory/memory.h"

/* The position of 8 x 16-byte matrices in a fragment layout. */
typedef struct Matrix {
	bool trans;
	bool pairs; /* narrow elements in bit order 16: pairs of rows, 16 bits between their elements */
	int unit, row; /* tile dims: 16-byte runs, matrix rows */
	/* Indices of iters: elements of a register (-1: one element), lanes mod 4, lanes div 4, elements of
	 * 16 bits that are transposed as a unit (-1: one). */
	int word, lane4, lane8, pack;
} Matrix;

static bool
is_digit(const Digit *g, int64_t extent, Axis axis, int64_t stride)
{
	return g->it && g->it->extent == extent && g->it->axis == axis && g->it->stride == stride;
}

/* Are the first modes of dim d [word][lane4], with the elements of a register at distance `stride`? */
static bool
fragment_run(const Layout *l, int d, int64_t per_word, int64_t stride, int *word, int *lane4)
{
	Digit g = dim_digits(l, d);

	*word = -1;
	if (per_word > 1) {
		if (!is_digit(&g, per_word, AX_reg, stride))
			return false;
		*word = g.at;
		digit_next(&g);
	}
	*lane4 = g.at;
	return is_digit(&g, 4, AX_lane, 1);
}

/* Finds a matrix for .trans: a register has 16 bits of one row, then 16 of the next.  Narrow elements are
 * numbered in this order, or by pairs of rows (bit order 16). */
static bool
find_turned(const Layout *l, int unit, int bits, Matrix *m)
{
	Digit g = dim_digits(l, unit);
	int64_t stride = 1;

	if (bits > 16 || 16 % bits)
		return false;
	if (bits < 16) {
		m->pairs = is_digit(&g, 16 / bits, AX_reg, 2);
		if (!m->pairs && !is_digit(&g, 16 / bits, AX_reg, 1))
			return false;
		stride = m->pairs ? 1 : 16 / bits;
		m->pack = g.at;
		digit_next(&g);
	}
	if (!is_digit(&g, 8, AX_lane, 4))
		return false;
	m->trans = true;
	m->lane8 = g.at;
	for (int d = 0; d < l->ndim; d++)
		if (d != unit && fragment_run(l, d, 2, stride, &m->word, &m->lane4)) {
			m->row = d;
			return true;
		}
	return false;
}

static bool
find_matrix(const Layout *l, int unit, int bits, Matrix *m)
{
	if (unit < 0)
		return false;
	m->unit = unit;
	m->pack = -1;
	m->pairs = false;
	if (fragment_run(l, unit, 32 / bits, 1, &m->word, &m->lane4)) {
		m->trans = false;
		for (Digit g = layout_digits(l); g.it; digit_next(&g))
			if (g.dim != unit && is_digit(&g, 8, AX_lane, 4)) {
				m->row = g.dim;
				m->lane8 = g.at;
				return true;
			}
		return false;
	}
	return find_turned(l, unit, bits, m);
}

/* Computes the memory side of ldmatrix: lane 8j + r addresses row r of matrix j; register indices count the
 * elements of a row, then instances. */
static bool
matrix_map(const Layout *l, const Matrix *m, int bits, int nmat, Layout *map)
{
	int64_t run = 128 / bits, lane = 8, next = run, left = nmat;
	int order[ITER_MAX], n = layout_by_stride(l, AX_reg, order);
	int64_t lanes[ITER_MAX], first_lane[ITER_MAX] = { 0 }, time[ITER_MAX] = { 0 };

	for (int i = 0; i < l->n; i++)
		lanes[i] = 1;
	for (int j = 0; j < n; j++) { /* free register modes: matrices of one instruction, then instances */
		int i = order[j];
		int64_t e = l->it[i].extent;

		if (i == m->word || i == m->pack)
			continue;
		lanes[i] = e % left == 0 ? left : left % e == 0 ? e
		                                                : 1;
		first_lane[i] = lane;
		lane *= lanes[i];
		left /= lanes[i];
		time[i] = next;
		next *= e / lanes[i];
	}
	if (left != 1)
		return false;
	layout_init(map, l->ndim);
	layout_push(map, m->unit, run, 1, AX_reg);
	for (Digit g = layout_digits(l); g.it; digit_next(&g)) {
		int i = g.at;

		if (i == m->word && m->trans)
			layout_push(map, g.dim, g.it->extent, 1, AX_lane);
		else if (i == m->lane4 && m->trans)
			layout_push(map, g.dim, 4, 2, AX_lane);
		else if (i == m->lane8 && !m->trans)
			layout_push(map, g.dim, 8, 1, AX_lane);
		else if (i == m->word || i == m->lane4 || i == m->lane8 || i == m->pack)
			continue;
		else if (g.it->axis == AX_reg) {
			layout_push(map, g.dim, lanes[i], first_lane[i], AX_lane);
			layout_push(map, g.dim, g.it->extent / lanes[i], time[i], AX_reg);
		} else if (!layout_push(map, g.dim, g.it->extent, g.it->stride, (Axis)g.it->axis)) {
			return false;
		}
	}
	layout_push_reps(map, l);
	if (nmat < 4)
		layout_push_rep(map, 4 / nmat, 8 * nmat, AX_lane);
	return true;
}

/* Returns l with registers numbered as .trans delivers narrow elements: 16 bits of contiguous elements along
 * `unit` first; NULL: impossible. */
static const Layout *
turned_words(Solve *s, const Layout *l, int unit, int bits)
{
	Layout *out = NEW(s->arena, Layout);
	int64_t e = bits < 16 && 16 % bits == 0 ? 16 / bits : 0;

	*out = *l;
	if (!e || unit < 0 || !dim_digits(l, unit).it || dim_digits(l, unit).it->axis != AX_reg ||
	    !layout_split(out, unit, e))
		return NULL;
	for (int d = 0; d < out->ndim; d++) {
		Digit word = dim_digits(out, d);

		if (d == unit || !word.it || word.it->axis != AX_reg || word.it->extent != 2)
			continue;
		layout_regs_first(out, 2, (int[2]){ unit, d });
		return out;
	}
	return NULL;
}

/* Can ldmatrix move the type?  It moves 32-bit registers of packed elements, but each bool takes a
 * register. */
static bool
has_matrices(DType d)
{
	return dtype_info[d].bits <= 32 && dtype_pieces(d) == 1 && d != D_bool;
}

/* Returns the target's instruction for the most matrices at a time, with the lanes' addresses; NULL: none. */
static const Instr *
matrix_row(Solve *s, InstrKind kind, const Layout *l, const Matrix *m, int bits, const Layout **map)
{
	Layout *to = NEW(s->arena, Layout);

	*map = to;
	for (int nmat = 4; nmat >= 1; nmat /= 2) {
		const Instr *in = memory_row(kind, 32 * nmat, m->trans);

		if (in && instr_on(in, s->k->unit->target) && matrix_map(l, m, bits, nmat, to))
			return in;
	}
	return NULL;
}

/* Are row addresses given by an index tile?  Lanes compute row addresses from the position of the tile
 * only. */
static bool
has_rows_anywhere(const Val *mem)
{
	return view_gather_dim(mem->def) >= 0;
}

/* Is every matrix row inside the tile, at an address that follows from the lane's modes? */
static bool
has_whole_rows(const Val *mem)
{
	return !(mem->def && view_is_longer(mem->def)) && !has_rows_anywhere(mem);
}

Lowering *
lowering_ldmatrix(Solve *s, const Op *o, const Layout *l, const Layout **made)
{
	int bits = bits_of(o->out[0]), unit = unit_dim(s, load_source(o));
	const Layout *map;
	const Instr *in;
	Matrix m;
	Lowering *p;

	if (!has_matrices(o->out[0]->type.dtype) || !has_whole_rows(load_source(o)))
		return NULL;
	if (!find_matrix(l, unit, bits, &m) || (m.pairs && bit_order_liked(s, o->out[0]) != 16)) {
		l = turned_words(s, l, unit, bits);
		if (!l || !find_matrix(l, unit, bits, &m))
			return NULL;
		*made = l;
	}
	if (shared_vec(s, load_source(o), 128 / bits) * bits < 128)
		return NULL;
	in = matrix_row(s, IK_ldmatrix, l, &m, bits, &map);
	if (!in)
		return NULL;
	p = lowering_new(s, in, 128 / bits);
	p->access.map = map;
	if (m.pairs)
		bit_order_set(s, o->out[0], 16);
	return p;
}

bool
matrix_side(Solve *s, InstrKind kind, DType d, const Layout *l, int unit, MatrixSide *out)
{
	int bits = dtype_info[d].bits;
	Matrix m;

	if (!has_matrices(d) || !find_matrix(l, unit, bits, &m) || m.pairs)
		return false;
	out->in = matrix_row(s, kind, l, &m, bits, &out->map);
	return out->in != NULL;
}

Lowering *
lowering_stmatrix(Solve *s, const Op *o, const Layout *l)
{
	DType d = store_value(o)->type.dtype;
	int unit = unit_dim(s, store_dest(o)), run = 128 / dtype_info[d].bits;
	MatrixSide side;
	Lowering *p;

	if (unit < 0 || !has_whole_rows(store_dest(o)) || !matrix_side(s, IK_stmatrix, d, l, unit, &side) ||
	    shared_vec(s, store_dest(o), run) < run)
		return NULL;
	p = lowering_new(s, side.in, run);
	p->access.map = side.map;
	return p;
}
