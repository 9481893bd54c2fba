/* draw_shared.c - draws a shared tile as lines of 32 banks of 4 bytes, with the elements in each, and lists
 * the wavefronts of every access to it. */
#include "infer/explain/explain_internal.h"

enum {
	BANKS = 32,
	LINE_BYTES = 128,
	LINES_MAX = 32, /* that are drawn */
	CELL_W = 40,
	CELL_H = 26,
	LEFT = 64,
	TOP = 96,
};

/* Returns the element index at each of the first `n` offsets in memory; -1: none. */
static int64_t *
owners(const Explained *ex, const Val *v, int64_t n)
{
	int64_t *at = NEWN(ex->k->unit->arena, int64_t, n);

	for (int64_t i = 0; i < n; i++)
		at[i] = -1;
	for (int64_t e = 0; e < type_size(&v->type); e++) {
		int64_t c[DIM_MAX] = { 0 }, where;

		type_coord(&v->type, e, c);
		where = layout_at(v->type.layout, c).at[AX_mem];
		if (where >= 0 && where < n)
			at[where] = e;
	}
	return at;
}

/* Returns "3,8" or, with a stage, "s1 3,8": the first element of a bank. */
static const char *
element(const Explained *ex, const Type *t, int64_t e)
{
	Text x = { .arena = ex->k->unit->arena };
	int64_t c[DIM_MAX] = { 0 };

	type_coord(t, e, c);
	for (int d = t->rank > 2 ? t->rank - 2 : 0; d < t->rank; d++)
		text_printf(&x, "%s%lld", x.n ? "," : "", (long long)c[d]);
	return x.s;
}

/* Rows of the tile differ in hue, 16-byte chunks of a row in lightness. A vertical column of one colour
 * shows rows that conflict in a bank. */
static const char *
colour(const Explained *ex, const Type *t, int64_t e, int bits)
{
	int64_t c[DIM_MAX] = { 0 }, row, piece;

	type_coord(t, e, c);
	row = t->rank > 1 ? c[t->rank - 2] : 0;
	piece = c[t->rank - 1] * bits / LINE_BYTES;
	return svg_colour(ex->k->unit->arena, (int)(row % 8), 8, 50 + (int)(piece % 4) * 10);
}

static void
draw_lines(Text *t, const Explained *ex, const Val *v, int lines)
{
	int bits = dtype_info[v->type.dtype].bits, per = 32 / bits > 0 ? 32 / bits : 1;
	int64_t n = (int64_t)lines * LINE_BYTES * 8 / bits, *own = owners(ex, v, n);

	for (int b = 0; b < BANKS; b++)
		svg_text(t, LEFT + b * CELL_W + CELL_W / 2, TOP - 6, "axis", "%d", b);
	for (int y = 0; y < lines; y++) {
		svg_text(t, LEFT - 6, TOP + y * CELL_H + 17, "side", "+%d", y * LINE_BYTES);
		for (int b = 0; b < BANKS; b++) {
			int64_t at = ((int64_t)y * BANKS + b) * 32 / bits, e = -1;
			int x = LEFT + b * CELL_W;

			for (int i = 0; i < per && e < 0; i++)
				e = own[at + i];
			svg_rect(t, x, TOP + y * CELL_H, CELL_W, CELL_H, "box",
			         e < 0 ? "#eee" : colour(ex, &v->type, e, bits));
			if (e >= 0)
				svg_text(t, x + CELL_W / 2, TOP + y * CELL_H + 17, "cell", "%s",
				         element(ex, &v->type, e));
		}
	}
	svg_rect(t, LEFT, TOP, BANKS * CELL_W, lines * CELL_H, "edge", NULL);
}

/* Returns the first load of the tile; NULL if there is none. */
static const Op *
first_load(const Explained *ex, const Val *v, SmemAccess *a)
{
	OpWalk w;

	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		Val *root;

		if (o->code == O_load && explain_access(o, &root, a) && root == v)
			return o;
	}
	return NULL;
}

/* Outlines the accesses of the lanes in the first phase of the first load; returns the number of lanes. */
static int
draw_phase(Text *t, const Explained *ex, const Val *v, int lines)
{
	int bits = dtype_info[v->type.dtype].bits, bytes, n;
	Layout mem = *v->type.layout;
	SmemAccess a;

	if (!first_load(ex, v, &a))
		return 0;
	if (a.as && !layout_reshape(&mem, v->type.layout, a.as->rank, a.as->shape))
		return 0;
	bytes = a.vec * bits / 8;
	n = bytes < 4 ? WARP_SIZE : LINE_BYTES / bytes;
	n = n > a.lanes ? a.lanes : n;
	for (int lane = 0; lane < n; lane++) {
		Coord p = { .at = { 0 } };
		int64_t c[DIM_MAX] = { 0 }, tile[DIM_MAX] = { 0 }, word;

		p.at[AX_lane] = lane;
		layout_index(a.map, &p, c);
		for (int d = 0; d < a.rank; d++)
			tile[a.dim_of[d]] = c[d];
		word = layout_at(&mem, tile).at[AX_mem] * bits / 32;
		if (word / BANKS < lines)
			svg_rect(t, LEFT + (int)(word % BANKS) * CELL_W + 1,
			         TOP + (int)(word / BANKS) * CELL_H + 1,
			         (bytes < 4 ? 1 : bytes / 4) * CELL_W - 2, CELL_H - 2, "mark", NULL);
	}
	return n;
}

const char *
draw_shared(const Explained *ex, const Op *alloc)
{
	Arena *a = ex->k->unit->arena;
	Text t = { .arena = a };
	const Val *v = alloc->out[0];
	const Layout *l = v->type.layout;
	int64_t bytes = ceil_div(layout_cosize(l, AX_mem) * dtype_info[v->type.dtype].bits, 8);
	int64_t all = (bytes + LINE_BYTES - 1) / LINE_BYTES, offset = IMM(alloc, offset);
	int lines = all < LINES_MAX ? (int)all : LINES_MAX;
	int n, phase, bottom = TOP + lines * CELL_H;
	const char **access = explain_accesses(ex, v, &n);
	const char *title = arena_printf(a, "%s: %s", explain_name(v, ex->k), type_print(a, &v->type));
	const char *about = arena_printf(a,
	                                 "%lld bytes at offset %lld of the block's shared memory; the "
	                                 "first %d of %lld lines of 32 banks; a cell names the first "
	                                 "element of its 4 bytes (last two dims), hue: row, lightness: 16 "
	                                 "bytes of a row",
	                                 (long long)bytes, (long long)(offset < 0 ? 0 : offset),
	                                 lines, (long long)all);

	svg_start(&t, LEFT + BANKS * CELL_W + 24, bottom + 56 + n * 16, title, about);
	svg_text(&t, 16, 44, "note", "%s", layout_print(a, l));
	svg_text(&t, 16, 60, "note", "%s", about);
	draw_lines(&t, ex, v, lines);
	phase = draw_phase(&t, ex, v, lines);
	if (phase)
		svg_text(&t, 16, bottom + 24, "note",
		         "outlined: first access of lanes 0-%d of warp 0", phase - 1);
	for (int i = 0; i < n; i++)
		svg_text(&t, 16, bottom + 44 + i * 16, "note", "%s", access[i]);
	svg_end(&t);
	return t.s;
}
