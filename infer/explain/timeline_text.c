/* timeline_text.c - prints a timeline as letters, and as JSON. */
#include "infer/explain/timeline.h"
#include "taskmap/support/json_writer.h"
#include <string.h>

enum { WIDE = 96 /* maximum letters per row */ };

/* Returns the cycles per letter: 1, 2 or 5 times a power of ten. */
static double
clocks_a_letter(double total)
{
	static const double step[] = { 1, 2, 5 };
	double ten = 1;

	for (int i = 0; i < 30; i++) {
		if (step[i % 3] * ten * WIDE >= total)
			return step[i % 3] * ten;
		if (i % 3 == 2)
			ten *= 10;
	}
	return ten;
}

static char
letter_of(const TimelineSpan *x)
{
	static const char letter[SPAN_KINDS] = {
#define X(name, c, what) c,
		SPANS(X)
#undef X
	};

	if (letter[x->kind])
		return letter[x->kind];
	return x->turn < 0 ? '#' : (char)('0' + x->turn % 10);
}

/* Each letter represents the span that covers most of its cycles. */
static void
row_letters(const Timeline *tl, int row, double per, char *out, int n)
{
	double share[WIDE + 1] = { 0 };

	memset(out, ' ', (size_t)n);
	for (int i = 0; i < tl->n; i++) {
		const TimelineSpan *x = &tl->span[i];

		for (int at = (int)(x->from / per); x->row == row && at < n && at * per < x->to; at++) {
			double from = x->from > at * per ? x->from : at * per;
			double to = x->to < (at + 1) * per ? x->to : (at + 1) * per;

			if (to - from <= share[at])
				continue;
			share[at] = to - from;
			out[at] = letter_of(x);
		}
	}
	while (n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = 0;
}

void
timeline_text(Text *t, const Timeline *tl)
{
	double per = clocks_a_letter(tl->total);
	int n = (int)(tl->total / per) + 1, wide = 0;
	char letters[WIDE + 2];

	text_printf(t,
	            "\ntimeline, one column = %.0f cycles: # compute, . stall, - copy in flight, = stage "
		    "full, digit: consuming iteration\n",
	            per);
	for (int i = 0; i < tl->nrow; i++)
		wide = (int)strlen(tl->row[i]) > wide ? (int)strlen(tl->row[i]) : wide;
	for (int i = 0; i < tl->nrow; i++) {
		row_letters(tl, i, per, letters, n < WIDE ? n : WIDE);
		text_printf(t, "  %-*s |%s\n", wide, tl->row[i], letters);
	}
	if (tl->turn > 0)
		text_printf(t, "  steady state: %.0f cycles/iteration, limited by %s\n", tl->turn,
		            tl->limit);
}

void
timeline_json(Text *t, const Timeline *tl)
{
	json_open(t, "timeline", "{");
	json_number(t, "stages", tl->stages);
	json_number(t, "turns", tl->turns);
	json_decimal(t, "cycles", tl->total);
	if (tl->turn > 0) {
		json_decimal(t, "turn", tl->turn);
		json_text(t, "limit", tl->limit);
	}
	json_open(t, "rows", "[");
	for (int i = 0; i < tl->nrow; i++) {
		text_printf(t, i ? "," : "");
		json_string(t, tl->row[i]);
	}
	text_add(t, "]", 1);
	json_open(t, "spans", "[");
	for (int i = 0; i < tl->n; i++) {
		const TimelineSpan *x = &tl->span[i];

		json_open(t, NULL, "{");
		json_number(t, "row", x->row);
		json_text(t, "kind", span_name[x->kind]);
		if (x->turn >= 0)
			json_number(t, "turn", x->turn);
		json_decimal(t, "from", x->from);
		json_decimal(t, "to", x->to);
		json_text(t, "what", x->what);
		text_add(t, "}", 1);
	}
	text_add(t, "]}", 2);
}
