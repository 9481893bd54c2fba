/* draw_timeline.c - draws the timeline of a block's first iterations as SVG. */
#include "infer/explain/timeline.h"

enum {
	LEFT = 150,
	TOP = 92,
	ROW_H = 30,
	WIDTH = 1100, /* of the time axis, in pixels */
	TICKS = 10,
	LABEL_W = 26, /* minimum width of a span with a label, in pixels */
};

typedef struct Chart {
	Text *t;
	double scale; /* pixels per cycle */
} Chart;

static int
at(const Chart *c, double cycles)
{
	return LEFT + (int)(cycles * c->scale + 0.5);
}

static void
axis(const Chart *c, double total, int rows)
{
	for (int i = 0; i <= TICKS; i++) {
		int x = at(c, total * i / TICKS);

		text_printf(c->t, "<path d=\"M%d %dv%d\" stroke=\"#ddd\"/>\n", x, TOP, rows * ROW_H);
		svg_text(c->t, x, TOP - 6, "axis", "%.0f", total * i / TICKS);
	}
}

/* Iterations differ in hue; waiting is pale, use is saturated. */
static const char *
colour(Arena *a, const TimelineSpan *x)
{
	static const int light[SPAN_KINDS] = {
		[SPAN_work] = 45, [SPAN_way] = 80, [SPAN_there] = 65, [SPAN_use] = 40, [SPAN_busy] = 50
	};

	if (x->kind == SPAN_wait)
		return "#ececec";
	return x->turn < 0 ? "#c4c4c4" : svg_colour(a, x->turn % 8, 8, light[x->kind]);
}

static void
draw_span(const Chart *c, const TimelineSpan *x)
{
	int from = at(c, x->from), w = at(c, x->to) - from, y = TOP + x->row * ROW_H;

	svg_rect(c->t, from, y + 4, w < 2 ? 2 : w, ROW_H - 8, "box", colour(c->t->arena, x));
	if (w >= LABEL_W && x->kind == SPAN_wait)
		svg_text(c->t, from + w / 2, y + ROW_H / 2 + 3, "cell", "wait");
	else if (w >= LABEL_W && x->turn >= 0)
		svg_text(c->t, from + w / 2, y + ROW_H / 2 + 3, "cell", "%d", x->turn);
}

const char *
draw_timeline(const Explained *ex, const Timeline *tl)
{
	Arena *a = ex->k->unit->arena;
	Text t = { .arena = a };
	Chart c = { &t, tl->total > 0 ? (WIDTH - 4) / tl->total : 1 };
	const char *turn = "", *about;
	int bottom = TOP + tl->nrow * ROW_H;

	if (tl->turn > 0)
		turn = arena_printf(a, "; steady state %.0f cycles/iteration, limited by %s", tl->turn,
		                    tl->limit);
	about = arena_printf(a, "predicted timeline of one block, first %d iterations%s", tl->turns,
	                     turn);
	svg_start(&t, LEFT + WIDTH + 24, bottom + 44,
	          arena_printf(a, "%s in time, with %d stage%s", ex->k->name, tl->stages,
	                       tl->stages > 1 ? "s" : ""),
	          about);
	svg_text(&t, 16, 44, "note", "%s", about);
	svg_text(&t, 16, 60, "note", "x: cycles; labels: loop iteration");
	axis(&c, tl->total, tl->nrow);
	for (int i = 0; i < tl->nrow; i++)
		svg_text(&t, LEFT - 8, TOP + i * ROW_H + ROW_H / 2 + 4, "side", "%s", tl->row[i]);
	for (int i = 0; i < tl->n; i++)
		draw_span(&c, &tl->span[i]);
	svg_rect(&t, LEFT, TOP, WIDTH, tl->nrow * ROW_H, "edge", NULL);
	svg_text(&t, 16, bottom + 24, "note",
	         "stages: pale = copy in flight, medium = full, dark = in use; grey = outside loops or idle");
	svg_end(&t);
	return t.s;
}
