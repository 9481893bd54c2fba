/* hole.c - the holes of an operator's program, and what hosts put into them (hexc-op(5)).
 *
 * A line of the program that ends in "//+ NAME PATTERN" has, if the host says something of NAME, PATTERN in
 * its place, with that for $; and a line that ends in "//- NAME" is then left out. */
#include "lib/ops/ops.h"
#include <string.h>

typedef struct Filler {
	Arena *a;
	const OpSource *s;
	const hexc_op_set *set;
	size_t nset;
	bool *used;
	Text out;
	char *why;
	size_t n;
	bool bad;
} Filler;

static void
wrong(Filler *f, const hexc_op_set *set, const char *what)
{
	if (!f->bad)
		why_error(0, f->why, f->n, "operator %s: %s = %s: %s", f->s->name, set->name, set->value,
		          what);
	f->bad = true;
}

static bool
letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t
name_length(const char *s)
{
	size_t n = 0;

	while (letter(s[n]) || (n && s[n] >= '0' && s[n] <= '9'))
		n++;
	return n;
}

/* ---- expressions ----------------------------------------------------------------------------------- */

static int
find_index(const Filler *f, const char *s, size_t n)
{
	for (int i = 0; i < f->s->nindex; i++)
		if (strlen(f->s->index[i].letter) == n && memcmp(f->s->index[i].letter, s, n) == 0)
			return i;
	return -1;
}

static const char *
extent_of(const OpSource *s, int dim)
{
	int i = 0;

	while (s->index[i].dim != dim)
		i++;
	return s->index[i].extent;
}

/* What stands in brackets, up to the bracket that ends it; NULL: none does. */
static const char *
closing(const char *s)
{
	int depth = 1;

	for (; *s; s++) {
		depth += *s == '[' || *s == '(';
		depth -= *s == ']' || *s == ')';
		if (!depth)
			return *s == ']' ? s : NULL;
	}
	return NULL;
}

/* Its indices, each as its dim says; true for each dim of the tile that one of them runs along. */
static void
write_indices(Filler *f, Text *to, const char *s, const char *end, bool has[HEXC_MAX_RANK])
{
	while (s < end) {
		size_t blank = strspn(s, " "), n = name_length(s + blank);
		const char *behind = s + blank + n;
		int i = n ? find_index(f, s + blank, n) : -1;

		behind += strspn(behind, " ");
		if (i >= 0 && (*behind == ',' || behind == end)) {
			text_printf(to, "%s", f->s->index[i].slice);
			has[f->s->index[i].dim] = true;
			s = behind;
		}
		while (s < end && *s != ',')
			text_add(to, s++, 1);
		if (s < end) {
			text_printf(to, ", ");
			s++;
		}
	}
}

/* NAME[m, n]: the tile of it, as f32, with the dims of the tile that it is used with. */
static const char *
write_tile(Filler *f, const hexc_op_set *set, const char *name, size_t n)
{
	Text slice = { .arena = f->a };
	bool has[HEXC_MAX_RANK] = { false };
	const char *end = closing(name + n + 1);
	int first = 0, rank = f->s->ndim;

	if (!end) {
		wrong(f, set, "a bracket is not closed");
		return name + n;
	}
	text_add(&slice, name, n + 1);
	write_indices(f, &slice, name + n + 1, end, has);
	while (first < rank && !has[first])
		first++;
	text_add(&slice, "]", 1);
	for (int i = first; i < rank; i++)
		if (!has[i]) { /* numbers that are the same along a dim that is not the first */
			text_printf(&f->out, "reshape(f32(%s)", slice.s);
			for (int k = first; k < rank; k++)
				text_printf(&f->out, ", %s", has[k] ? extent_of(f->s, k) : "1");
			text_printf(&f->out, ")");
			return end + 1;
		}
	text_printf(&f->out, "f32(%s)", slice.s);
	return end + 1;
}

static void
write_expression(Filler *f, const hexc_op_set *set)
{
	for (const char *s = set->value; *s && !f->bad; ) {
		size_t n = name_length(s);

		if (n && s[n] == '[') {
			s = write_tile(f, set, s, n);
			continue;
		}
		n += n == 0;
		/* what ends a statement, or a line, is no part of an expression */
		if (strchr(";{}\n", *s) || (*s == '/' && s[1] == '/'))
			wrong(f, set, "an expression has no ; { } // or new lines");
		while (s[n - 1] >= '0' && s[n - 1] <= '9' && letter(s[n]))
			n++; /* 1e3 */
		text_add(&f->out, s, n);
		s += n;
	}
}

/* ---- lines ------------------------------------------------------------------------------------------ */

/* The mark "//+ " or "//- " of a line, NULL: it has none; *name is behind it. */
static const char *
find_mark(const char *line, size_t n, const char **name, size_t *nname)
{
	for (const char *s = line; s + 4 < line + n; s++)
		if (s[0] == '/' && s[1] == '/' && (s[2] == '+' || s[2] == '-') && s[3] == ' ') {
			*name = s + 4;
			*nname = name_length(s + 4);
			return s;
		}
	return NULL;
}

static const hexc_op_set *
find_set(const Filler *f, const char *name, size_t n)
{
	for (size_t i = 0; i < f->nset; i++)
		if (strlen(f->set[i].name) == n && memcmp(f->set[i].name, name, n) == 0) {
			f->used[i] = true;
			return &f->set[i];
		}
	return NULL;
}

static void
write_line(Filler *f, const char *line, size_t n)
{
	const char *name, *mark, *pattern;
	const hexc_op_set *set;
	size_t nname;

	mark = find_mark(line, n, &name, &nname);
	set = mark ? find_set(f, name, nname) : NULL;
	if (!set) {
		text_add(&f->out, line, n);
		return;
	}
	if (mark[2] == '-')
		return;
	text_add(&f->out, line, (size_t)(mark - line));
	for (pattern = name + nname + (name[nname] == ' '); pattern < line + n; pattern++) {
		if (*pattern != '$')
			text_add(&f->out, pattern, 1);
		else if (strcmp(set->name, "tensors") == 0)
			text_printf(&f->out, "%s", set->value);
		else
			write_expression(f, set);
	}
}

const char *
op_fill(Arena *a, const OpSource *s, const hexc_op_set *set, size_t nset, bool *used, char *why, size_t n)
{
	Filler f = { a, s, set, nset, used, { .arena = a }, why, n, false };

	for (const char *at = s->text; *at && !f.bad; ) {
		size_t len = strcspn(at, "\n");

		write_line(&f, at, len);
		text_add(&f.out, "\n", at[len] != 0);
		at += len + (at[len] != 0);
	}
	return f.bad ? NULL : f.out.s;
}
