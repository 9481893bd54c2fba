/* draw_pipeline.c - a pipelined loop in time, as the cost model sees it: when the copies of an iteration are
 * issued, when they have landed, when it is computed, and where computing waits. */
#include "infer/explain/impl.h"
#include "infer/base/rates.h"

enum {
	LEFT = 96,
	TOP = 92,
	ROW_H = 34,
	WIDTH = 1000, /* of the time axis */
	STEPS_MORE = 4, /* iterations drawn behind the first round of buffers */
	STAGES_DRAWN = 16,
	TICKS = 10,
};

/* Cycles of one iteration. */
typedef struct Beat {
	double issue, /* of its copies, by the threads */
		moved, /* until they have landed, once issued */
		compute;
} Beat;

static void
measure(const Explained *ex, const Block *b, Beat *beat, Res *copies, Res *rest)
{
	for (const Op *o = b->first; o; o = o->next) {
		Res r;

		if (explain_res(ex, o, &r))
			res_add(o->code == O_copy ? copies : rest, &r, 1);
		for (int i = 0; i < 2; i++) /* the copies stand under the question whether there is more */
			if (o->blk[i] && o->code == O_if)
				measure(ex, o->blk[i], beat, copies, rest);
	}
	beat->issue = copies->unit[R_issue];
	beat->moved = rates_of(ex->k->unit->target)->dram_wait + copies->unit[R_gmem];
	beat->compute = res_cycles(rest);
}

typedef struct Chart {
	Text *t;
	double scale; /* pixels a cycle */
	int stages;
} Chart;

static int
at(const Chart *c, double cycles)
{
	return LEFT + (int)(cycles * c->scale + 0.5);
}

static void
bar(const Chart *c, int row, double from, double to, const char *fill, const char *label)
{
	int x = at(c, from), w = at(c, to) - x;

	svg_rect(c->t, x, TOP + row * ROW_H + 5, w < 2 ? 2 : w, ROW_H - 10, "box", fill);
	if (w > 34)
		svg_text(c->t, x + w / 2, TOP + row * ROW_H + ROW_H / 2 + 4, "cell", "%s", label);
}

/* Start of computing iteration i: behind the one before, and when its copies have landed.  Copies are issued
 * when the iteration that is stages - 1 before starts; the first ones at the beginning. */
static void
schedule(const Beat *b, int stages, int n, double *issued, double *landed, double *start)
{
	double free_at = 0;

	for (int i = 0; i < n; i++) {
		double ahead = i < stages - 1 ? i * b->issue : start[i - (stages - 1)];

		issued[i] = stages == 1 ? free_at : ahead;
		landed[i] = issued[i] + b->issue + b->moved;
		start[i] = landed[i] > free_at ? landed[i] : free_at;
		free_at = start[i] + b->compute;
	}
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

const char *
draw_pipeline(const Explained *ex, const Op *loop)
{
	Arena *a = ex->k->unit->arena;
	Text t = { .arena = a };
	int64_t asked = IMM(loop, stages);
	int stages = asked > STAGES_DRAWN ? STAGES_DRAWN : (int)asked, n = stages + STEPS_MORE;
	double *issued = NEWN(a, double, n), *landed = NEWN(a, double, n), *start = NEWN(a, double, n);
	Chart c = { .t = &t, .stages = stages };
	Beat beat = { 0 };
	Res copies = { 0 }, rest = { 0 };
	double total, idle;
	const char *title, *about;

	measure(ex, loop->blk[0], &beat, &copies, &rest);
	schedule(&beat, stages, n, issued, landed, start);
	total = start[n - 1] + beat.compute;
	idle = n > 1 ? start[n - 1] - start[n - 2] - beat.compute : 0;
	c.scale = total > 0 ? WIDTH / total : 1;
	title = arena_printf(a, "pipeline in line %u: %lld stages, the first %d iterations", loop->src.line,
	                     (long long)asked, n);
	about = arena_printf(a,
	                     "predicted cycles of one block: an iteration computes %.0f, its copies take "
	                     "%.0f to issue and %.0f to land; once it runs, computing waits %.0f an "
	                     "iteration",
	                     beat.compute, beat.issue, beat.moved, idle > 0.5 ? idle : 0);
	svg_start(&t, LEFT + WIDTH + 40, TOP + (stages + 1) * ROW_H + 56, title, about);
	svg_text(&t, 16, 44, "note", "%s", about);
	svg_text(&t, 16, 60, "note", "cycles to the right; one row for each buffer: copies on their way, "
	                             "then data in use");
	axis(&c, total, stages + 1);
	svg_text(&t, LEFT - 8, TOP + ROW_H / 2 + 4, "side", "compute");
	for (int s = 0; s < stages; s++)
		svg_text(&t, LEFT - 8, TOP + (s + 1) * ROW_H + ROW_H / 2 + 4, "side", "buffer %d", s);
	for (int i = 0; i < n; i++) {
		const char *deep = svg_colour(a, i % 8, 8, 45), *pale = svg_colour(a, i % 8, 8, 78);
		const char *label = arena_printf(a, "%d", i);
		const char *use = arena_printf(a, "use %d", i);
		double before = i ? start[i - 1] + beat.compute : 0;

		if (start[i] > before + 0.5)
			bar(&c, 0, before, start[i], "#f2f2f2", "waits");
		bar(&c, 0, start[i], start[i] + beat.compute, deep, label);
		bar(&c, 1 + i % stages, issued[i], landed[i], pale, arena_printf(a, "copy %d", i));
		bar(&c, 1 + i % stages, start[i], start[i] + beat.compute, deep, use);
	}
	svg_rect(&t, LEFT, TOP, WIDTH, (stages + 1) * ROW_H, "edge", NULL);
	svg_text(&t, 16, TOP + (stages + 1) * ROW_H + 28, "note",
	         "pale: copies between issue and landing; strong: the iteration that is computed; grey: "
	         "nothing to compute yet");
	svg_end(&t);
	return t.s;
}
