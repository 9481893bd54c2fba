/* op_metadata.c - reads the metadata of an operator program: its lines that start with "//:", of which the
 * host's settings choose as they do of other lines. See hexc-op(5). */
#include "lib/ops/ops.h"
#include <string.h>

typedef struct OpSourceReader {
	Arena *a;
	OpSource *out;
	Text table; /* the kernel table */
	char *why;
	size_t n;
	bool bad;
} OpSourceReader;

static void
wrong(OpSourceReader *r, const char *line, const char *what)
{
	if (!r->bad)
		why_error(0, r->why, r->n, "operator %s: %s: '%s'", r->out->name, what, line);
	r->bad = true;
}

static char *
trim(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = 0;
	return s;
}

/* Parses use NAME NAME .. */
static void
read_use(OpSourceReader *r, char *s)
{
	for (char *at = s; *(at = trim(at)); ) {
		size_t n = strcspn(at, " ");
		const char *name = arena_strndup(r->a, at, n);

		if (r->out->nuse == HEXC_FAMILY_STAGES || !op_text(name)) {
			wrong(r, name, "no such file, or too many files");
			return;
		}
		r->out->use[r->out->nuse++] = name;
		at += n;
	}
}

/* Parses m = m :+ BM, or m = rows of BM. */
static void
read_letter(OpSourceReader *r, char *s, int dim)
{
	OpIndex *to = &r->out->index[r->out->nindex];
	char *eq = strchr(s, '='), *plus, *of;

	if (!eq || r->out->nindex == 2 * HEXC_MAX_RANK || dim >= HEXC_MAX_RANK) {
		wrong(r, s, "`index` requires LETTER = SLICE, one for each dimension");
		return;
	}
	*eq = 0;
	to->letter = trim(s);
	to->slice = trim(eq + 1);
	to->dim = dim;
	plus = strstr(to->slice, ":+");
	of = strstr(to->slice, " of ");
	to->extent = "1";
	if (plus)
		to->extent = trim(arena_strndup(r->a, plus + 2, strlen(plus + 2)));
	if (of) {
		*of = 0;
		to->extent = trim(of + 4);
	}
	r->out->nindex++;
}

/* Parses index m = m :+ BM, n = n :+ BN: one letter per dim, or several separated by |. */
static void
read_index(OpSourceReader *r, char *s)
{
	for (char *next; s; s = next) {
		next = strchr(s, ',');
		if (next)
			*next++ = 0;
		for (char *bar; s; s = bar) {
			bar = strchr(s, '|');
			if (bar)
				*bar++ = 0;
			read_letter(r, s, r->out->ndim);
		}
		r->out->ndim++;
	}
}

static void
read_line(OpSourceReader *r, char *s)
{
	static const struct {
		const char *word;
		void (*read)(OpSourceReader *r, char *rest);
	} by_word[] = { { "use ", read_use }, { "index ", read_index }, { "op ", NULL } };

	if (strncmp(s, "take ", 5) == 0) {
		text_printf(&r->table, "%s\n", s);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(by_word); i++)
		if (strncmp(s, by_word[i].word, strlen(by_word[i].word)) == 0) {
			if (by_word[i].read)
				by_word[i].read(r, s + strlen(by_word[i].word));
			return;
		}
	wrong(r, s, "expected op, use, index or take");
}

bool
op_read(Arena *a, const char *name, const char *text, const OpSettings *set, OpSource *out, char *why,
        size_t n)
{
	OpSourceReader r = { a, out, { .arena = a }, why, n, false };

	*out = (OpSource){ .name = name, .text = text };
	text_printf(&r.table, "hexc-family 1\nfamily %s\n", name);
	for (const char *at = text; *at && !r.bad; ) {
		size_t len = strcspn(at, "\n");
		char *directive = op_directive(a, set, at, len);

		if (directive)
			read_line(&r, trim(directive));
		at += len + (at[len] != 0);
	}
	out->family = r.table.s;
	return !r.bad;
}

const char *
op_table(Arena *a, const OpSource *s, const char *families)
{
	const char *table = families ? families : s->family;

	return strstr(table, "\ntake ") ? table : arena_printf(a, "%stake when 1\n", table);
}
