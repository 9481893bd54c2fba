/* draw.c - lists the drawings of a kernel (tiles, dots, timeline), and writes SVG.
 *
 * The output has no scripts, external fonts or files, and is deterministic. Large objects are truncated to
 * a size that the drawing states. */
#include "infer/explain/timeline.h"
#include <stdio.h>
#include <string.h>

enum { DRAWINGS_MAX = 100 };

/* Appends text with <, >, & and " escaped. */
static void
svg_escape(Text *t, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			text_printf(t, "&lt;");
		else if (*s == '>')
			text_printf(t, "&gt;");
		else if (*s == '&')
			text_printf(t, "&amp;");
		else if (*s == '"')
			text_printf(t, "&quot;");
		else
			text_add(t, (unsigned char)*s < 0x20 ? " " : s, 1);
	}
}

void
svg_start(Text *t, int width, int height, const char *title, const char *about)
{
	text_printf(t,
	            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
	            "%d\" "
	            "role=\"img\">\n<title>",
	            width, height, width, height);
	svg_escape(t, title);
	text_printf(t, "</title>\n<desc>");
	svg_escape(t, about);
	text_printf(t, "</desc>\n"
	               "<style>\n"
	               "text { font-family: ui-monospace, Menlo, Consolas, monospace; fill: #1c1c1c }\n"
	               ".title { font-size: 15px; font-weight: bold }\n"
	               ".note { font-size: 11px; fill: #444 }\n"
	               ".axis { font-size: 10px; fill: #555; text-anchor: middle }\n"
	               ".side { font-size: 10px; fill: #555; text-anchor: end }\n"
	               ".cell { font-size: 9px; text-anchor: middle }\n"
	               ".box { stroke: #fff; stroke-width: 1 }\n"
	               ".edge { stroke: #333; stroke-width: 1; fill: none }\n"
	               ".mark { stroke: #b00020; stroke-width: 2; fill: none }\n"
	               "</style>\n"
	               "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
	            width, height);
	svg_text(t, 16, 26, "title", "%s", title);
}

void
svg_end(Text *t)
{
	text_printf(t, "</svg>\n");
}

void
svg_text(Text *t, int x, int y, const char *cls, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	text_printf(t, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, cls);
	svg_escape(t, text);
	text_printf(t, "</text>\n");
}

void
svg_rect(Text *t, int x, int y, int w, int h, const char *cls, const char *fill)
{
	text_printf(t, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"%s\"", x, y, w, h, cls);
	if (fill)
		text_printf(t, " fill=\"%s\"", fill);
	text_printf(t, "/>\n");
}

/* Converts a hue, 0 .. 1535, to red, green and blue, 0 .. 255 each. */
static void
hue(int at, int rgb[3])
{
	int part = at / 256, up = at % 256, down = 255 - up;
	/* one is full, one rises or falls, one is zero */
	const int full[6] = { 0, 1, 1, 2, 2, 0 }, moves[6] = { 1, 0, 2, 1, 0, 2 };

	rgb[0] = rgb[1] = rgb[2] = 0;
	rgb[full[part % 6]] = 255;
	rgb[moves[part % 6]] = part % 2 ? down : up;
}

const char *
svg_colour(Arena *a, int i, int n, int light)
{
	int rgb[3];

	hue(i * 1536 / (n < 1 ? 1 : n), rgb);
	for (int c = 0; c < 3; c++) /* mixed with white, for black text */
		rgb[c] = rgb[c] + (255 - rgb[c]) * light / 100;
	return arena_printf(a, "#%02x%02x%02x", (unsigned)rgb[0], (unsigned)rgb[1], (unsigned)rgb[2]);
}

/* ---- selection ------------------------------------------------------------------------------- */

typedef struct Album {
	const Explained *ex;
	Drawing *d;
	const Val **v; /* tiles drawn so far, to skip repeated ones */
	int n, cap, vcap, nv;
} Album;

static void
add(Album *a, const char *name, const char *svg)
{
	Drawing d = { name, svg };

	if (a->n < DRAWINGS_MAX)
		VEC_PUSH(a->ex->k->unit->arena, a->d, a->n, a->cap, d);
}

/* Replaces characters other than letters, digits, -, . and _, for a file name. */
static const char *
plain(Arena *arena, const char *s)
{
	char *r = arena_printf(arena, "%s", s);

	for (char *c = r; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
		      *c == '-' || *c == '.' || *c == '_'))
			*c = '-';
	return r;
}

/* Has a tile of the same type, layout and name been drawn? */
static bool
drawn(Album *a, const Val *v)
{
	for (int i = 0; i < a->nv; i++)
		if (type_same(&a->v[i]->type, &v->type) && a->v[i]->name && v->name &&
		    strcmp(a->v[i]->name, v->name) == 0 && layout_equal(a->v[i]->type.layout, v->type.layout))
			return true;
	VEC_PUSH(a->ex->k->unit->arena, a->v, a->nv, a->vcap, v);
	return false;
}

static void
add_tile(Album *a, const Val *v)
{
	Arena *m = a->ex->k->unit->arena;
	const char *name;

	if (v->type.space != S_reg || !v->type.layout || v->type.rank < 1 || !v->name || drawn(a, v))
		return;
	name = plain(m, arena_printf(m, "tile-%s-%u", v->name, v->id));
	add(a, name, draw_tile(a->ex, v, arena_printf(m, "%s: %s", v->name, type_print(m, &v->type))));
}

/* Adds the three fragments of a dot, with the instruction. */
static void
add_dot(Album *a, const Op *o)
{
	Arena *m = a->ex->k->unit->arena;
	const Val *v[3] = { mma_a(o), mma_b(o), o->out[0] };
	const char *by = o->lowering ? lowering_name(o->lowering) : "?";

	for (int i = 0; i < 3; i++)
		if (v[i]->type.layout)
			add(a, arena_printf(m, "dot-line%u-%u-%c", o->src.line, o->id, "abc"[i]),
			    draw_tile(a->ex, v[i],
			              arena_printf(m, "%c of the dot in line %u: %s by %s", "ABC"[i],
			                           o->src.line, type_print(m, &v[i]->type), by)));
}

static void
add_shared(Album *a, const Op *o)
{
	Arena *m = a->ex->k->unit->arena;
	const Val *v = o->out[0];
	const char *name = arena_printf(m, "shared-%s-%u", v->name ? v->name : "tile", v->id);

	add(a, plain(m, name), draw_shared(a->ex, o));
}

int
infer_draw(Kernel *k, const Candidates *c, const Drawing **out)
{
	const Explained e = explained(k, c), *ex = &e;
	Album a = { .ex = ex };
	OpWalk w;

	*out = NULL;
	if (!ex->sol)
		return 0;
	if (timeline(ex))
		add(&a, "timeline", draw_timeline(ex, timeline(ex)));
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->code == O_dot)
			add_dot(&a, o);
		if (o->code == O_alloc && o->out[0]->type.layout)
			add_shared(&a, o);
		for (int i = 0; i < o->nout; i++)
			add_tile(&a, o->out[i]);
	}
	*out = a.d;
	return a.n;
}
