/* test_layout_golden.c - tests published results: fragments by the row and column formulas of the PTX ISA
 * ("Matrix Fragments" of each shape), algebra, the copy equation and tiled mma flattening. */
#include "test/check.h"
#include "test/taskmap/tm_test.h"

/* ---- fragments ------------------------------------------------------------------------------------ */

/* Row and column of value i in a lane, as the PTX ISA writes them: group = lane / 4, tid = lane % 4. */
typedef void (*Formula)(int lane, int i, int64_t *row, int64_t *col);

static void
m16n8k16_a(int lane, int i, int64_t *row, int64_t *col)
{
	*row = lane / 4 + ((i < 2 || (i >= 4 && i < 6)) ? 0 : 8);
	*col = lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0);
}

/* B is given as (n, k): its column in the ISA first. */
static void
m16n8k16_b(int lane, int i, int64_t *n, int64_t *k)
{
	*k = lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0);
	*n = lane / 4;
}

static void
m16n8_c(int lane, int i, int64_t *row, int64_t *col)
{
	*row = lane / 4 + (i < 2 ? 0 : 8);
	*col = lane % 4 * 2 + (i & 1);
}

static void
m16n8_c_swapped(int lane, int i, int64_t *row, int64_t *col)
{
	m16n8_c(lane, i, col, row);
}

static void
m16n8k32_a(int lane, int i, int64_t *row, int64_t *col)
{
	*row = lane / 4 + ((i < 4 || (i >= 8 && i < 12)) ? 0 : 8);
	*col = lane % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0);
}

static void
m16n8k32_b(int lane, int i, int64_t *n, int64_t *k)
{
	*k = lane % 4 * 4 + (i & 3) + (i >= 4 ? 16 : 0);
	*n = lane / 4;
}

static void
wgmma_c(int thread, int i, int64_t *row, int64_t *col)
{
	*row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
	*col = i / 4 * 8 + thread % 4 * 2 + (i & 1);
}

/* The TV text, its register layout, and the formula agree for every lane and value. */
static void
check_fragment(const char *t_text, const char *v_text, int64_t rows, int64_t cols, Formula f)
{
	Layout t = lay(t_text), v = lay(v_text), l, bt, bv;
	int64_t shape[2] = { rows, cols }, row, col, c[2];

	TM_INT(layout_size(&t) * layout_size(&v), ==, rows * cols);
	TM(layout_from_tv(&l, &t, &v, 2, shape));
	for (int th = 0; th < layout_size(&t); th++) {
		for (int i = 0; i < layout_size(&v); i++) {
			Coord p = { .at = { 0 } }, q;

			f(th, i, &row, &col);
			TM_MSG(at_index(&t, th) + at_index(&v, i) == row + rows * col,
			       "%s, %s: thread %d value %d", t_text, v_text, th, i);
			p.at[AX_lane] = th % 32;
			p.at[AX_warp] = th / 32;
			p.at[AX_reg] = i;
			layout_index(&l, &p, c);
			TM_MSG(c[0] == row && c[1] == col, "%s: thread %d value %d", show(&l), th,
			       i);
			q = layout_at(&l, c);
			TM(same_coord(&p, &q));
		}
	}
	TM(tv_from_layout(&bt, &bv, &l, (int)layout_size(&t) / 32));
	TM(cute_coalesce(&t, &t) && cute_coalesce(&v, &v));
	ck_assert_str_eq(show(&bt), show(&t));
	ck_assert_str_eq(show(&bv), show(&v));
}

TEST(fragments)
{
	check_fragment("(4,8):(32,1)", "(2,2,2):(16,8,128)", 16, 16, m16n8k16_a);
	check_fragment("(4,8):(16,1)", "(2,2):(8,64)", 8, 16, m16n8k16_b);
	check_fragment("(4,8):(32,1)", "(2,2):(16,8)", 16, 8, m16n8_c);
	check_fragment("(4,8):(2,8)", "(2,2):(1,64)", 8, 16, m16n8_c_swapped);
	check_fragment("(4,8):(64,1)", "(4,2,2):(16,8,256)", 16, 32, m16n8k32_a);
	check_fragment("(4,8):(32,1)", "(4,2):(8,128)", 8, 32, m16n8k32_b);
	check_fragment("(4,8,4):(128,1,16)", "(2,2):(64,8)", 64, 8, wgmma_c);
	check_fragment("(4,8,4):(128,1,16)", "(2,2,8):(64,8,512)", 64, 64, wgmma_c);
	check_fragment("(4,8,4):(128,1,16)", "(2,2,32):(64,8,512)", 64, 256, wgmma_c);
}

/* Lane = 4i + j/2 mod 4, warp = j/8 + 5 + 4r for r in 0..1, register j mod 2: the worked example of Axe. */
TEST(replicated_and_offset)
{
	Layout l = lay("(8,(2,4,2)):(4@lane,(1@reg,1@lane,1@warp))+[2:4@warp]+5@warp");

	for (int64_t i = 0; i < 8; i++) {
		for (int64_t j = 0; j < 16; j++) {
			int64_t c[2] = { i, j }, back[2];
			Coord p = layout_at(&l, c);

			TM_INT(p.at[AX_lane], ==, 4 * i + j / 2 % 4);
			TM_INT(p.at[AX_warp], ==, j / 8 + 5);
			TM_INT(p.at[AX_reg], ==, j % 2);
			p.at[AX_warp] += 4; /* the other replica */
			layout_index(&l, &p, back);
			TM(back[0] == i && back[1] == j);
		}
	}
	TM_INT(layout_cosize(&l, AX_warp), ==, 11);
}

/* ---- algebra --------------------------------------------------------------------------------------- */

static void
check_compose(const char *a, const char *b, const char *result)
{
	Layout la = lay(a), lb = lay(b), r;

	ck_assert(cute_compose(&r, &la, &lb));
	want(&r, result);
}

TEST(composition)
{
	check_compose("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)");
	check_compose("20:2", "(5,4):(4,1)", "(5,4):(8,2)");
	check_compose("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))");
	check_compose("(4,8):(8,1)", "(8,4):(1,8)", "((4,2),4):((8,1),2)");
}

TEST(complement_coalesce)
{
	static const char *const comp[][2] = {
		{ "4:1", "6:4" },
		{ "6:4", "4:1" },
		{ "(4,6):(1,4)",
		  "1:24" }, /* nothing left: an empty mode, at the end of the image */
		{ "4:2", "(2,3):(1,8)" },
		{ "(2,4):(1,6)", "3:2" },
		{ "(2,2):(1,6)", "(3,2):(2,12)" },
	};
	static const char *const coal[][2] = {
		{ "(2,(1,6)):(1,(6,2))", "12:1" },
		{ "(2,2,2):(1,2,8)", "(4,2):(1,8)" },
	};
	Layout l, r;

	for (size_t i = 0; i < COUNT_OF(comp); i++) {
		l = lay(comp[i][0]);
		ck_assert(cute_complement(&r, &l, 24));
		want(&r, comp[i][1]);
	}
	for (size_t i = 0; i < COUNT_OF(coal); i++) {
		l = lay(coal[i][0]);
		ck_assert(cute_coalesce(&r, &l));
		want(&r, coal[i][1]);
	}
}

TEST(divide_product)
{
	Layout a = lay("(4,2,3):(2,1,8)"), b = lay("4:2"), r;

	ck_assert(cute_logical_divide(&r, &a, &b));
	want(&r, "((2,2),(2,3)):((4,1),(2,8))");
	a = lay("(2,2):(4,1)");
	b = lay("6:1");
	ck_assert(cute_logical_product(&r, &a, &b));
	want(&r, "((2,2),(2,3)):((4,1),(2,8))");
}

TEST(inverses)
{
	static const int64_t from[] = { 0, 1, 8, 16, 17, 32, 127 };
	static const int64_t to[] = { 0, 4, 64, 32, 36, 1, 127 };
	Layout a = lay("(4,8):(8,1)"), r, c;

	ck_assert(cute_right_inverse(&r, &a));
	want(&r, "(8,4):(4,1)");
	/* Of 4:2 two left inverses are in use: (2,4):(4,1), which numbers the holes too, and
	 * (2,4):(0,1), which the CuTe facts require.  They agree on what 4:2 reaches, and a left
	 * inverse is no more than that; the first is the right inverse of (4:2, its complement). */
	a = lay("4:2");
	ck_assert(cute_left_inverse(&r, &a));
	want(&r, "(2,4):(0,1)");
	c = lay("(2,4):(4,1)");
	for (int64_t i = 0; i < 4; i++)
		TM(at_index(&r, 2 * i) == i && at_index(&c, 2 * i) == i);
	ck_assert(cute_complement(&c, &a, layout_cosize(&a, AX_mem)));
	want(&c, "2:1");
	ck_assert(layout_concat_dims(&c, &a, &c) && cute_right_inverse(&c, &c));
	want(&c, "(2,4):(4,1)");
	/* C of m16n8k16 */
	a = lay("((4,8),(2,2)):((32,1),(16,8))");
	ck_assert(cute_left_inverse(&r, &a));
	want(&r, "(8,2,2,4):(4,64,32,1)");
	for (size_t i = 0; i < COUNT_OF(from); i++)
		TM_INT(at_index(&r, from[i]), ==, to[i]);
}

TEST(axis_surgery)
{
	Layout c = lay("((4,8),(2,2)):((32,1),(16,8))"), a, b, h, t;

	ck_assert(cute_filter_lo_hi(&a, &c, 1, 16));
	want(&a, "(4,8,2,2):(32,0,16,0)");
	ck_assert(cute_filter_lo_hi(&a, &c, 16, 128));
	want(&a, "(4,8,2,2):(0,1,0,8)");
	ck_assert(cute_remove_lo_hi(&a, &c, 1, 16));
	want(&a, "(4,2):(32,16)");
	ck_assert(cute_remove_lo_hi(&a, &c, 16, 128));
	want(&a, "(8,2):(1,8)");
	a = lay("(2,2,8):(0,1,2)");
	ck_assert(cute_group(&a, 2, false, &h, &t));
	want(&h, "2:0");
	want(&t, "(2,8):(1,2)");
	ck_assert(cute_group(&a, 2, true, &h, &t));
	want(&h, "(2,2):(0,1)");
	want(&t, "8:2");
	a = lay("(4,8,8):(1,16,256)");
	b = lay("(16,4,4):(1,32,512)");
	ck_assert(cute_common_reshape(&a, &b, &h, &t));
	want(&h, "(4,4,2,2,4):(1,16,64,256,512)");
	want(&t, "(4,4,2,2,4):(1,4,32,64,512)");
}

/* ---- ldmatrix and the copy equation ------------------------------------------------------------------ */

static const char x4_src[] = "(32,8):(1,32)", x4_dst[] = "((4,8),(2,4)):((64,1),(32,8))";
static const char x4t_dst[] = "((4,8),(2,4)):((2,32),(1,8))";
static const char x2_src[] = "((16,2),8):((1,0),16)", x2_dst[] = "((4,8),(2,2)):((32,1),(16,8))";
static const char x1_dst[] = "((4,8),2):((16,1),8)";

/* ldmatrix: lane l points at row l; matrix i is rows 8i ..; a lane gets two neighbours of row lane/4 in
 * each matrix, with .trans two of column lane/4. */
static void
check_ldmatrix(const char *src, const char *dst, int matrices, bool trans)
{
	Layout s = lay(src), d = lay(dst);
	int64_t rows = matrices == 1 ? 16 : 8 * matrices; /* x1 is written in a tile of 16 rows */

	for (int lane = 0; lane < 32; lane++) {
		for (int i = 0; i < 8 && lane < 8 * matrices; i++)
			TM_INT(at_index(&s, lane + 32 * i), ==, lane + rows * i);
		for (int v = 0; v < 2 * matrices; v++) {
			int64_t far = lane % 4 * 2 + v % 2, near = lane / 4;

			TM_INT(at_index(&d, lane + 32 * v), ==,
			       v / 2 * 8 + (trans ? far : near) + rows * (trans ? near : far));
		}
	}
}

TEST(ldmatrix)
{
	check_ldmatrix(x4_src, x4_dst, 4, false);
	check_ldmatrix(x4_src, x4t_dst, 4, true);
	check_ldmatrix(x2_src, x2_dst, 2, false);
	/* x1 moves 8 rows: its destination is in a tile of 8 rows, here within 16-byte rows 8 apart */
	Layout d = lay(x1_dst);
	for (int lane = 0; lane < 32; lane++)
		for (int v = 0; v < 2; v++)
			TM_INT(at_index(&d, lane + 32 * v), ==, lane / 4 + 8 * (lane % 4 * 2 + v));
}

/* tile o dst^-1 = where the instruction puts its index in the tile; after src: what each lane reads. */
static void
check_copy(const char *tile, const char *src, const char *dst, const char *cvt, const char *result)
{
	Layout g = lay(tile), p = lay(src), q = lay(dst), inv, c, f, by_mode = lay("(1,1):(0,0)");

	ck_assert(cute_left_inverse(&inv, &q) && cute_compose(&c, &g, &inv));
	ck_assert(cute_coalesce(&c, &c));
	if (cvt)
		want(&c, cvt);
	ck_assert(cute_compose(&f, &c, &p) && cute_coalesce_by(&f, &f, &by_mode));
	want(&f, result);
}

TEST(copy_equation)
{
	static const char a[] = "((4,8),(2,2,2)):((32,1),(16,8,128))",
			  b[] = "((4,8),(2,2)):((16,1),(8,64))";
	Layout f = lay("((16,2),8):((1,128),16)");

	check_copy(a, x4_src, x4_dst, "(16,2,8):(1,128,16)", "((16,2),8):((1,128),16)");
	check_copy(b, x2_src, x2_dst, NULL, "((8,2,2),8):((1,64,0),8)");
	check_copy(a, x4_src, x4t_dst, "(8,2,2,8):(16,8,128,1)", "((8,2,2),8):((16,8,128),1)");
	for (int lane = 0; lane < 32;
	     lane++) /* lane l reads row l % 16, columns 8 (l / 16) .. + 7 */
		for (int i = 0; i < 8; i++)
			TM_INT(at_index(&f, lane + 32 * i), ==,
			       lane % 16 + 16 * (lane / 16 * 8 + i));
}

/* ---- tiled mma ---------------------------------------------------------------------------------------- */

static TiledMma
atom_m16n8k16(void)
{
	return (TiledMma){
		.m = 16,
		.n = 8,
		.k = 16,
		.ta = lay("(4,8):(32,1)"),
		.va = lay("(2,2,2):(16,8,128)"),
		.tb = lay("(4,8):(16,1)"),
		.vb = lay("(2,2):(8,64)"),
		.tc = lay("(4,8):(32,1)"),
		.vc = lay("(2,2):(16,8)"),
	};
}

/* An operand's TV, of the tile or of the atom, and the rows of it. */
typedef struct Operand {
	const Layout *t, *v;
	int64_t rows;
} Operand;

/* Values f*per .. of a warp are the atom's fragment, moved to *row, *col. */
static void
check_moved(Operand tile, Operand atom, int warp, int64_t f, int64_t *row, int64_t *col)
{
	int64_t per = layout_size(atom.v), first;

	first = at_index(tile.t, 32 * warp) + at_index(tile.v, f * per);
	*row = first % tile.rows;
	*col = first / tile.rows;
	for (int lane = 0; lane < 32; lane++) {
		for (int64_t v = 0; v < per; v++) {
			int64_t x = at_index(atom.t, lane) + at_index(atom.v, v);
			int64_t got = at_index(tile.t, 32 * warp + lane) +
			              at_index(tile.v, f * per + v);

			TM_INT(got % tile.rows, ==, *row + x % atom.rows);
			TM_INT(got / tile.rows, ==, *col + x / atom.rows);
		}
	}
}

/* The warp has a fragment of the operand at this row, column 0. */
static void
check_has(Operand tile, Operand atom, int warp, int64_t row)
{
	int64_t at, col;

	for (int64_t f = 0; f < layout_size(tile.v) / layout_size(atom.v); f++) {
		check_moved(tile, atom, warp, f, &at, &col);
		if (at == row && col == 0)
			return;
	}
	ck_abort_msg("warp %d has no fragment at row %d", warp, (int)row);
}

/* Every mma of every warp: the fragments of A and B that its place in C wants are the warp's own, value
 * by value, and all of C is covered. */
static void
check_instances(const TiledMma *t, const TiledMma *atom)
{
	Operand a = { &t->ta, &t->va, t->m }, b = { &t->tb, &t->vb, t->n },
		c = { &t->tc, &t->vc, t->m };
	Operand aa = { &atom->ta, &atom->va, atom->m }, ab = { &atom->tb, &atom->vb, atom->n };
	Operand ac = { &atom->tc, &atom->vc, atom->m };
	int warps = (int)layout_size(&t->tc) / 32;
	int64_t per_warp = layout_size(&t->vc) / layout_size(&atom->vc), row, col;
	static bool seen[256 * 256];

	memset(seen, 0, sizeof seen);
	for (int w = 0; w < warps; w++) {
		for (int64_t f = 0; f < per_warp; f++) {
			check_moved(c, ac, w, f, &row, &col);
			TM_INT(row % atom->m + col % atom->n, ==, 0);
			TM(!seen[row * 256 + col]);
			seen[row * 256 + col] = true;
			check_has(a, aa, w, row);
			check_has(b, ab, w, col);
		}
	}
	TM_INT(warps * per_warp, ==, t->m / atom->m * (t->n / atom->n));
}

static void
want_tile(const Layout *t, const Layout *v, const char *t_text, const char *v_text)
{
	want(t, t_text);
	want(v, v_text);
}

TEST(tiled_mma)
{
	TiledMma atom = atom_m16n8k16(), t = atom;
	Layout a, b, c;

	/* (a) repeat (1,2), warps (2,2), repeat (2,4) */
	ck_assert(tiled_mma_repeat(&t, &t, 1, 2, NULL) && tiled_mma_grid(&t, &t, 2, 2, NULL) &&
	          tiled_mma_repeat(&t, &t, 2, 4, NULL));
	ck_assert(t.m == 64 && t.n == 128 && t.k == 16);
	want_tile(&t.tc, &t.vc, "(4,8,2,2):(128,1,16,1024)", "(2,2,2,2,4):(64,8,512,32,2048)");
	want_tile(&t.ta, &t.va, "(4,8,2,2):(128,1,16,0)", "(2,2,2,2):(64,8,512,32)");
	want_tile(&t.tb, &t.vb, "(4,8,2,2):(256,1,0,16)", "(2,2,2,4):(128,1024,8,32)");
	check_instances(&t, &atom);
	ck_assert(tiled_mma_layouts(&t, &a, &b, &c));
	want_same(
		&a,
		"((8,2,2,2),(2,4,2)):((4@lane,2@reg,1@warp,8@reg),(1@reg,1@lane,4@reg))+[2:2@warp]");
	/* (b) warps (2,4) of the plain atom */
	ck_assert(tiled_mma_grid(&t, &atom, 2, 4, NULL));
	want_tile(&t.tc, &t.vc, "(4,8,2,4):(64,1,16,256)", "(2,2):(32,8)");
	ck_assert(t.m == 32 && t.n == 32);
	/* the same grid, n first */
	c = lay("(4,2):(2,1)");
	ck_assert(tiled_mma_grid(&t, &atom, 2, 4, &c));
	want_tile(&t.tc, &t.vc, "(4,8,4,2):(64,1,256,16)", "(2,2):(32,8)");
	check_instances(&t, &atom);
	/* (c) wgmma, both operands in shared memory, two warpgroups along m */
	t = (TiledMma){
		.m = 64,
		.n = 64,
		.k = 16,
		.ta = lay("128:0"),
		.va = lay("(64,16):(1,64)"),
		.tb = lay("128:0"),
		.vb = lay("(64,16):(1,64)"),
		.tc = lay("(4,8,4):(128,1,16)"),
		.vc = lay("(2,2,8):(64,8,512)"),
	};
	ck_assert(tiled_mma_grid(&t, &t, 2, 1, NULL));
	want_tile(&t.ta, &t.va, "(128,2):(0,64)", "(64,16):(1,128)");
	want_tile(&t.tc, &t.vc, "(4,8,8):(256,1,16)", "(2,2,8):(128,8,1024)");
}

/* The register tiles of a whole GEMM, 128x128, and the ldmatrix sources of its operands. */
TEST(gemm_pipeline)
{
	TiledMma atom = atom_m16n8k16(), t;
	Layout ht, rt, hv, rv, tv, q = lay(x4_dst), p = lay(x4_src), inv, c;

	ck_assert(tiled_mma_repeat(&t, &atom, 1, 2, NULL) && tiled_mma_grid(&t, &t, 2, 2, NULL) &&
	          tiled_mma_repeat(&t, &t, 4, 4, NULL));
	want_tile(&t.ta, &t.va, "(4,8,2,2):(256,1,16,0)", "(2,2,2,4):(128,8,1024,32)");
	want_tile(&t.tb, &t.vb, "(4,8,2,2):(256,1,0,16)", "(2,2,2,4):(128,1024,8,32)");
	want_tile(&t.tc, &t.vc, "(4,8,2,2):(256,1,16,2048)", "(2,2,2,4,4):(128,8,1024,32,4096)");
	TM_INT(layout_size(&t.vc), ==, 128);
	check_instances(&t, &atom);
	for (int operand = 0; operand < 2; operand++) {
		ck_assert(cute_group(operand ? &t.tb : &t.ta, 32, false, &ht, &rt));
		ck_assert(cute_group(operand ? &t.vb : &t.va, 8, false, &hv, &rv));
		ck_assert(layout_concat_dims(&tv, &ht, &hv));
		ck_assert(cute_left_inverse(&inv, &q) && cute_compose(&c, &tv, &inv) &&
		          cute_compose(&c, &c, &p));
		ck_assert(cute_group(&c, 32, false, &ht, &hv));
		ck_assert(layout_concat_dims(&ht, &ht, &rt) && layout_concat_dims(&hv, &hv, &rv));
		want(&ht, operand ? "(8,2,2,2,2):(1,1024,8,0,16)" : "(16,2,2,2):(1,1024,16,0)");
		want(&hv, "(8,4):(128,32)");
	}
}

/* Reductions of the C fragment, as TV filters and as surgery. */
TEST(reduce)
{
	Layout t = lay("(4,8):(32,1)"), v = lay("(2,2):(16,8)"), ft, fv, l, r, s;
	int64_t shape[2] = { 16, 8 };

	ck_assert(layout_from_tv(&l, &t, &v, 2, shape));
	ck_assert(cute_filter_lo_hi(&ft, &t, 16, 128) && cute_filter_lo_hi(&fv, &v, 16, 128));
	want_tile(&ft, &fv, "(4,8):(0,1)", "(2,2):(0,8)");
	ck_assert(layout_from_tv(&r, &ft, &fv, 2, shape));
	ck_assert(layout_reduce(&s, &l, 1) && layout_push(&s, 1, 8, 0, AX_reg));
	ck_assert(layout_equal(&r, &s));
	ck_assert(cute_filter_lo_hi(&ft, &t, 1, 16) && cute_filter_lo_hi(&fv, &v, 1, 16));
	want(&ft, "(4,8):(32,0)");
	ck_assert(layout_from_tv(&r, &ft, &fv, 2, shape));
	ck_assert(layout_reduce(&s, &l, 0) && layout_push(&s, 0, 16, 0, AX_reg));
	ck_assert(layout_equal(&r, &s));
}

/* A packed block of 4-bit weights: which nibbles the A fragment of each lane is. */
TEST(packed_block)
{
	Layout block = lay("((8,2),(2,4,2)):((4,2),(1,64,32))"),
	       f = lay("((4,8),(2,2,2)):((32,1),(16,8,128))"), r;
	bool seen[256] = { false };

	for (int i = 0; i < 256; i++) {
		TM(!seen[at_index(&block, i)]);
		seen[at_index(&block, i)] = true;
	}
	ck_assert(cute_compose(&r, &block, &f));
	want(&r, "((4,8),(2,2,2)):((64,4),(1,2,32))");
	for (int v = 0; v < 8; v++) {
		TM_INT(at_index(&r, 32 * v), ==, v < 4 ? v : 28 + v);
		TM_INT(at_index(&r, 31 + 32 * v), ==, v < 4 ? 220 + v : 248 + v);
	}
}

TEST_PROGRAM(TM_FIXTURE);
