/* passes_named.c - parses the pass list of hexc_compile_ir (names and ranges) to rows of passes.def. */
#include "lib/pass_manager.h"
#include <stdio.h>
#include <string.h>

/* Rows from, from + 1, .. to; row PASSES is the code generator. */
typedef struct Range {
	int from, to;
	bool usual; /* written as A..B: without passes that run only on request */
} Range;

static int
row_of(const char *name, size_t n)
{
	return n == 4 && memcmp(name, "emit", n) == 0 ? PASSES : pass_index(name, n);
}

static const char *
name_of(int row)
{
	return row < PASSES ? hexc_pass((size_t)row) : "emit";
}

/* Returns the offset of ".." in the n bytes at s; n if there is none. */
static size_t
find_dots(const char *s, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (s[i] == '.' && s[i + 1] == '.')
			return i;
	return n;
}

/* Parses the word at *at and advances past it and its comma; `after`: row of the last pass run, or -1.
 * Returns false with the error in why. */
static bool
next_range(const char **at, int after, Range *out, char *why, size_t nwhy)
{
	const char *word = *at;
	size_t n = strcspn(word, ","), first = find_dots(word, n);
	int shown = (int)(n < 60 ? n : 60);

	*at += n + (word[n] == ',');
	out->usual = first < n;
	out->from = out->to = out->usual && first == 0 ? after + 1 : row_of(word, first);
	if (out->usual)
		out->to = first + 2 == n ? PASSES : row_of(word + first + 2, n - first - 2);
	if (out->from < 0 || out->to < 0)
		snprintf(why, nwhy,
		         "unknown pass '%.*s'; hexc_pass() lists the names, the last is emit", shown,
		         word);
	else if (out->from > out->to && first == 0)
		snprintf(why, nwhy, "'%.*s' is empty: the IR is already after %s",
		         shown, word, name_of(after));
	else if (out->from > out->to)
		snprintf(why, nwhy, "'%.*s' is empty: %s runs before %s", shown, word,
		         name_of(out->to), name_of(out->from));
	else
		return true;
	return false;
}

bool
passes_known(const char *list, char *why, size_t n)
{
	Range r;

	while (*list) {
		if (!next_range(&list, -1, &r, why, n))
			return false;
		if (r.to == PASSES && *list) {
			snprintf(why, n, "emit is the last pass; no pass can follow it");
			return false;
		}
	}
	return true;
}

/* Computes the row of the pass that k->after names, -1: none; returns false if the pass is unknown. */
static bool
row_after(const Kernel *k, int *row)
{
	*row = k->after && strcmp(k->after, "parse") != 0 ? pass_index(k->after, strlen(k->after)) : -1;
	return *row >= 0 || !k->after || strcmp(k->after, "parse") == 0;
}

bool
passes_run_named(CompileJob *j, int i)
{
	const Kernel *k = j->unit.kernel[i];
	Diag *d = j->unit.diag;
	const char *at = j->passes;
	char why[200];
	int last;
	Range r;

	passes_begin(j, i);
	if (!row_after(k, &last))
		diag_error(d, k->src, "kernel %s is after the unknown pass `%s`", k->name,
		           k->after);
	while (*at && d->nerror == 0) {
		if (!next_range(&at, last, &r, why, sizeof why))
			diag_class_error(d, DC_INVALID, (Src){ 0, 0, 0 }, "%s", why);
		else if (r.from == PASSES && last >= 0 && last < row_of("infer", 5))
			diag_class_error(d, DC_INVALID, (Src){ 0, 0, 0 },
			                 "emit: the IR is after %s, but layouts exist only after infer",
			                 name_of(last));
		else if (!passes_rows(j, i, r.from, r.to < PASSES ? r.to + 1 : PASSES, r.usual))
			break;
		last = r.to;
	}
	if (d->nerror || j->stopped || last != PASSES)
		return false;
	passes_found(j, i);
	return true;
}
