/* draw_tile.c - draws a register tile: the owner lane, warp and register of each element. */
#include "infer/explain/explain_internal.h"

enum {
	CELL_W = 46,
	CELL_H = 26,
	LEFT = 56,
	TOP = 92,
	SIDE_MAX = 32, /* rows and columns that are drawn */
	CHAR_W = 7,
};

/* The last two dims are rows and columns; only the first slice along the others is drawn. */
typedef struct Window {
	const Type *t;
	int64_t rows, cols; /* of the tile */
	int r, c; /* drawn */
} Window;

static void
window(Window *w, const Type *t)
{
	w->t = t;
	w->cols = t->shape[t->rank - 1];
	w->rows = t->rank > 1 ? t->shape[t->rank - 2] : 1;
	w->r = w->rows < SIDE_MAX ? (int)w->rows : SIDE_MAX;
	w->c = w->cols < SIDE_MAX ? (int)w->cols : SIDE_MAX;
}

static Coord
held(const Window *w, const Layout *l, int r, int c)
{
	int64_t at[DIM_MAX] = { 0 };

	at[w->t->rank - 1] = c;
	if (w->t->rank > 1)
		at[w->t->rank - 2] = r;
	return layout_at(l, at);
}

/* Groups of four lanes differ in hue, lanes of a group in lightness. */
static void
cell(Text *t, const Explained *ex, int x, int y, const Coord *p)
{
	int lane = (int)p->at[AX_lane];
	const char *fill = svg_colour(ex->k->unit->arena, lane / 4, 8, 45 + lane % 4 * 12);

	svg_rect(t, x, y, CELL_W, CELL_H, "box", fill);
	if (ex->k->warps > 1)
		svg_text(t, x + CELL_W / 2, y + 11, "cell", "W%lld L%d", (long long)p->at[AX_warp], lane);
	else
		svg_text(t, x + CELL_W / 2, y + 11, "cell", "L%d", lane);
	svg_text(t, x + CELL_W / 2, y + 22, "cell", "R%lld", (long long)p->at[AX_reg]);
}

static void
line(Text *t, int x, int y, char way, int n)
{
	text_printf(t, "<path d=\"M%d %d%c%d\" class=\"edge\"/>\n", x, y, way, n);
}

/* Draws a line where the next element belongs to another warp. */
static void
warp_edges(Text *t, const Window *w, const Layout *l)
{
	for (int r = 0; r < w->r; r++)
		for (int c = 0; c < w->c; c++) {
			int x = LEFT + c * CELL_W, y = TOP + r * CELL_H;
			int64_t here = held(w, l, r, c).at[AX_warp];

			if (c + 1 < w->c && held(w, l, r, c + 1).at[AX_warp] != here)
				line(t, x + CELL_W, y, 'v', CELL_H);
			if (r + 1 < w->r && held(w, l, r + 1, c).at[AX_warp] != here)
				line(t, x, y + CELL_H, 'h', CELL_W);
		}
}

static const char *
cut_words(const Window *w, Arena *a)
{
	if (w->r == w->rows && w->c == w->cols && w->t->rank < 3)
		return "all elements";
	return arena_printf(a, "the first %d of %lld rows and %d of %lld columns%s; the layout says the "
	                       "rest",
	                    w->r,
	                    (long long)w->rows, w->c, (long long)w->cols,
	                    w->t->rank > 2 ? ", index 0 of the dims before" : "");
}

static int
longest(int width, const char *s)
{
	int n = LEFT;

	for (; *s; s++)
		n += CHAR_W;
	return n > width ? n : width;
}

const char *
draw_tile(const Explained *ex, const Val *v, const char *title)
{
	Arena *a = ex->k->unit->arena;
	Text t = { .arena = a };
	const Layout *l = v->type.layout;
	const char *layout = layout_print(a, l), *about, *demand = "";
	const Op *who = explain_origin(ex, v);
	Window w;
	int width;

	window(&w, &v->type);
	if (who && who->src.line)
		demand = arena_printf(a, "required by %s, line %u; ", explain_demand(who), who->src.line);
	about = arena_printf(a, "%s%s; W: warp, L: lane, R: register, counted in elements%s",
	                     demand, cut_words(&w, a),
	                     l->nrep ? "; replicated in other lanes or warps" : "");
	width = longest(LEFT + w.c * CELL_W + 20, about);
	width = longest(width, layout);
	width = longest(width, title) + 20;
	svg_start(&t, width, TOP + w.r * CELL_H + 24, title, about);
	svg_text(&t, 16, 44, "note", "%s", layout);
	svg_text(&t, 16, 60, "note", "%s", about);
	for (int c = 0; c < w.c; c++)
		svg_text(&t, LEFT + c * CELL_W + CELL_W / 2, TOP - 6, "axis", "%d", c);
	for (int r = 0; r < w.r; r++) {
		svg_text(&t, LEFT - 6, TOP + r * CELL_H + 17, "side", "%d", r);
		for (int c = 0; c < w.c; c++) {
			Coord p = held(&w, l, r, c);
			cell(&t, ex, LEFT + c * CELL_W, TOP + r * CELL_H, &p);
		}
	}
	warp_edges(&t, &w, l);
	svg_rect(&t, LEFT, TOP, w.c * CELL_W, w.r * CELL_H, "edge", NULL);
	svg_end(&t);
	return t.s;
}
