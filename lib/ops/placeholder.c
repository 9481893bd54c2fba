/* placeholder.c - fills the placeholders of an operator program with the host's expressions (hexc-op(5)).
 *
 * A line that ends in "//+ NAME PATTERN" is replaced by PATTERN, with the host's text for $, if the host
 * sets NAME. A line that ends in "//- NAME" is omitted then, also one whose PATTERN ends so. NAME|NAME means
 * any of these. */
#include "lib/ops/ops.h"
#include <string.h>

typedef struct Filler {
	Arena *a;
	const OpSource *s;
	const OpSettings *set;
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

/* Returns the closing bracket of the text after an opening one; NULL if there is none. */
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

/* Returns the end of the index at s: a comma, or the end of the bracket. */
static const char *
index_end(const char *s, const char *end)
{
	int depth = 0;

	for (; s < end && (depth || *s != ','); s++) {
		depth += *s == '[' || *s == '(';
		depth -= *s == ']' || *s == ')';
	}
	return s;
}

/* Returns the index of the letter that is all of [s, end) except blanks; -1 otherwise. */
static int
only_letter(const Filler *f, const char *s, const char *end)
{
	size_t blank = strspn(s, " "), n = name_length(s + blank);
	const char *behind = s + blank + n;

	return n && behind + strspn(behind, " ") >= end ? find_index(f, s + blank, n) : -1;
}

/* Is the letter the name of the tile's start, a scalar? Other letters name index tiles of the operator. */
static bool
is_start(const OpIndex *x)
{
	size_t n = strlen(x->letter);

	return strncmp(x->slice, x->letter, n) == 0 && !name_length(x->slice + n);
}

/* Writes a letter as the tile of its indices: along its dim; `flat`: of rank 1, else with all dims of the
 * value. */
static void
write_numbers(Filler *f, Text *to, const OpIndex *x, bool flat)
{
	const char *length = strstr(x->slice, " :+");

	flat |= f->s->ndim == 1;
	text_printf(to, flat ? "(" : "reshape(");
	if (length || strcmp(x->extent, "1") == 0)
		text_printf(to, "i64(iota(0, %s)) + %.*s", x->extent,
		            (int)(length ? (size_t)(length - x->slice) : strlen(x->slice)), x->slice);
	else
		text_printf(to, "i64(%s)", x->slice);
	for (int k = 0; k < f->s->ndim && !flat; k++)
		text_printf(to, ", %s", k == x->dim ? x->extent : "1");
	text_printf(to, ")");
}

/* Returns the letter that a name is in an expression; NULL if the name means something else. */
static const OpIndex *
number_of(const Filler *f, const char *s, size_t n)
{
	int i = n && s[n] != '(' && s[n] != '[' ? find_index(f, s, n) : -1;

	return i >= 0 && is_start(&f->s->index[i]) ? &f->s->index[i] : NULL;
}

/* Writes the expression [s, end), with letters as the indices of elements. *dim: the dim of the letters;
 * -1: none so far, -2: several, or index tiles. to NULL: computes only *dim. */
static void
write_index(Filler *f, Text *to, const char *s, const char *end, bool flat, int *dim)
{
	while (s < end) {
		size_t n = name_length(s);
		const OpIndex *x = number_of(f, s, n);
		const char *inner = n && s[n] == '[' ? closing(s + n + 1) : NULL;
		const char *from = s;

		if (x) {
			*dim = *dim == -1 || *dim == x->dim ? x->dim : -2;
			if (to)
				write_numbers(f, to, x, flat);
			s += n;
			continue;
		}
		if (n && find_index(f, s, n) >= 0 && s[n] != '(' && s[n] != '[')
			*dim = -2;
		n += n == 0;
		while (s[n - 1] >= '0' && s[n - 1] <= '9' && letter(s[n]))
			n++;
		s += n;
		if (to)
			text_add(to, from, n);
		if (!inner)
			continue;
		if (to) /* the bracket */
			text_add(to, s, 1);
		for (s++; s < inner; s += s < inner) {
			const char *stop = index_end(s += strspn(s, " "), inner);
			int i = only_letter(f, s, stop), other = -1;

			if (i >= 0 && to)
				write_numbers(f, to, &f->s->index[i], false);
			else if (i < 0)
				write_index(f, to, s, stop, false, &other);
			*dim = i >= 0 || other != -1 ? -2 : *dim;
			s = stop;
			if (to && s < inner)
				text_printf(to, ", ");
		}
		if (to)
			text_add(to, "]", 1);
		s = inner + 1;
	}
}

/* Is index i an index tile, rather than a slice? */
static bool
is_tile(const Filler *f, int i)
{
	return i >= 0 && !strstr(f->s->index[i].slice, ":+");
}

/* How the indices in a bracket are written. */
typedef struct Indices {
	bool whole; /* each has all dims of the value: they broadcast with one another */
	bool has[HEXC_MAX_RANK]; /* dims of the value along which a slice runs */
} Indices;

/* Single letters are slices if their dims are in order; adjacent index tiles of one dim combine. One
 * expression of letters of one dim may be an index tile among them. Anything else gets all dims of the
 * value. */
static Indices
indices_of(Filler *f, const char *s, const char *end)
{
	Indices x = { .whole = false };
	bool tile = false; /* the preceding index is one */
	int last = -1, computed = 0;

	for (; s < end; s++) {
		const char *stop = index_end(s += strspn(s, " "), end);
		int i = only_letter(f, s, stop), dim = -1;

		if (i >= 0)
			dim = f->s->index[i].dim;
		else
			write_index(f, NULL, s, stop, false, &dim);
		computed += i < 0 && dim != -1;
		x.whole |= dim == -2 || computed > 1 ||
		           (dim >= 0 && (dim < last || (dim == last && !(tile && is_tile(f, i)))));
		if (dim >= 0) {
			x.has[dim] = true;
			last = dim;
			tile = is_tile(f, i);
		}
		s = stop;
	}
	return x;
}

static void
write_indices(Filler *f, Text *to, const char *s, const char *end, const Indices *x)
{
	for (; s < end; s++) {
		const char *stop = index_end(s += strspn(s, " "), end);
		int i = only_letter(f, s, stop), dim = -1;

		if (i >= 0 && x->whole)
			write_numbers(f, to, &f->s->index[i], false);
		else if (i >= 0)
			text_printf(to, "%s", f->s->index[i].slice);
		else
			write_index(f, to, s, stop, !x->whole, &dim);
		s = stop;
		if (s < end)
			text_printf(to, ", ");
	}
}

/* Is s, in the text that starts at `start`, the operand of a cast to an integer, i64(NAME[m, n])? */
static bool
is_cast_to_integer(const char *start, const char *s, size_t n)
{
	const char *end = closing(s + n + 1), *word = s - 1;

	if (s - start < 3 || *word != '(' || !end || end[1] != ')')
		return false;
	while (word > start && word[-1] >= '0' && word[-1] <= '9')
		word--;
	return word < s - 1 && word > start && (word[-1] == 'i' || word[-1] == 'u') &&
	       (word - 1 == start || !letter(word[-2]));
}

/* Writes NAME[m, n]: its tile, as f32 or, within a cast to an integer, as it is, with the dims of the tile
 * that it is combined with. */
static const char *
write_tile(Filler *f, const hexc_op_set *set, const char *name, size_t n)
{
	const char *type = is_cast_to_integer(set->value, name, n) ? "" : "f32";
	const char *end = closing(name + n + 1);
	Text slice = { .arena = f->a };
	int first = 0, rank = f->s->ndim;
	Indices x;

	if (!end) {
		wrong(f, set, "unclosed bracket");
		return name + n;
	}
	text_add(&slice, name, n + 1);
	x = indices_of(f, name + n + 1, end);
	write_indices(f, &slice, name + n + 1, end, &x);
	while (first < rank && !x.has[first])
		first++;
	text_add(&slice, "]", 1);
	for (int i = first; i < rank && !x.whole; i++)
		if (!x.has[i]) { /* invariant along a dim other than the first */
			text_printf(&f->out, "reshape(%s(%s)", type, slice.s);
			for (int k = first; k < rank; k++)
				text_printf(&f->out, ", %s", x.has[k] ? extent_of(f->s, k) : "1");
			text_printf(&f->out, ")");
			return end + 1;
		}
	text_printf(&f->out, "%s(%s)", type, slice.s);
	return end + 1;
}

static void
write_expression(Filler *f, const hexc_op_set *set)
{
	for (const char *s = set->value; *s && !f->bad; ) {
		size_t n = name_length(s);

		const OpIndex *x = number_of(f, s, n);

		if (n && s[n] == '[') {
			s = write_tile(f, set, s, n);
			continue;
		}
		if (x) {
			write_numbers(f, &f->out, x, false);
			s += n;
			continue;
		}
		n += n == 0;
		/* ends of statements and lines are not part of an expression */
		if (strchr(";{}\n", *s) || (*s == '/' && s[1] == '/'))
			wrong(f, set, "an expression must not contain ; { } // or newlines");
		while (s[n - 1] >= '0' && s[n - 1] <= '9' && letter(s[n]))
			n++; /* 1e3 */
		text_add(&f->out, s, n);
		s += n;
	}
}

/* ---- lines ------------------------------------------------------------------------------------------ */

/* Returns the length of NAME, or NAME|NAME.. */
static size_t
names_length(const char *s)
{
	size_t n = name_length(s);

	while (s[n] == '|')
		n += 1 + name_length(s + n + 1);
	return n;
}

/* Returns the mark "//+ " or "//- " of a line, NULL if there is none; *name is the text after it. */
static const char *
find_mark(const char *line, size_t n, const char **name, size_t *nname)
{
	for (const char *s = line; s + 4 < line + n; s++)
		if (s[0] == '/' && s[1] == '/' && (s[2] == '+' || s[2] == '-') && s[3] == ' ') {
			*name = s + 4;
			*nname = names_length(s + 4);
			return s;
		}
	return NULL;
}

/* Returns the first setting with one of these names; marks all of them as used. */
static const hexc_op_set *
find_set(const OpSettings *x, const char *names, size_t n)
{
	const hexc_op_set *found = NULL;

	for (size_t at = 0, len; at < n; at += len + 1) {
		len = name_length(names + at);
		for (size_t i = 0; i < x->nset; i++)
			if (strlen(x->set[i].name) == len && memcmp(x->set[i].name, names + at, len) == 0) {
				x->used[i] = true;
				found = found ? found : &x->set[i];
			}
	}
	return found;
}

/* A line as the settings choose it: its first `nbefore` characters, which are all of it or those that precede
 * a mark, and then `npattern` of the pattern, in which $ stands for a setting. */
typedef struct Chosen {
	size_t nbefore, npattern;
	const char *pattern;
	const hexc_op_set *set;
} Chosen;

static Chosen
choose(const OpSettings *x, const char *line, size_t n)
{
	const char *name, *mark, *pattern, *inner, *without;
	const hexc_op_set *set;
	size_t nname, nwithout;

	mark = find_mark(line, n, &name, &nname);
	set = mark ? find_set(x, name, nname) : NULL;
	if (!set)
		return (Chosen){ .nbefore = n };
	if (mark[2] == '-')
		return (Chosen){ .nbefore = 0 };
	pattern = name + nname + (name[nname] == ' ');
	inner = find_mark(pattern, (size_t)(line + n - pattern), &without, &nwithout);
	if (inner && find_set(x, without, nwithout))
		return (Chosen){ .nbefore = 0 };
	return (Chosen){ (size_t)(mark - line), (size_t)(line + n - pattern), pattern, set };
}

static void
write_line(Filler *f, const char *line, size_t n)
{
	Chosen c = choose(f->set, line, n);

	text_add(&f->out, line, c.nbefore);
	for (size_t i = 0; i < c.npattern; i++) {
		if (c.pattern[i] != '$')
			text_add(&f->out, c.pattern + i, 1);
		else if (strcmp(c.set->name, "tensors") == 0)
			text_printf(&f->out, "%s", c.set->value);
		else
			write_expression(f, c.set);
	}
}

char *
op_directive(Arena *a, const OpSettings *x, const char *line, size_t n)
{
	Chosen c = choose(x, line, n);
	const char *text = c.set ? c.pattern : line, *name, *mark;
	size_t length = c.set ? c.npattern : c.nbefore, nname;

	if (length < 3 || memcmp(text, "//:", 3) != 0)
		return NULL;
	mark = find_mark(text, length, &name, &nname);
	return arena_strndup(a, text + 3, (mark ? (size_t)(mark - text) : length) - 3);
}

const char *
op_fill(Arena *a, const OpSource *s, const OpSettings *set, char *why, size_t n)
{
	Filler f = { a, s, set, { .arena = a }, why, n, false };

	for (const char *at = s->text; *at && !f.bad; ) {
		size_t len = strcspn(at, "\n");

		write_line(&f, at, len);
		text_add(&f.out, "\n", at[len] != 0);
		at += len + (at[len] != 0);
	}
	return f.bad ? NULL : f.out.s;
}

bool
op_settings_valid(const hexc_op_set *set, size_t nset)
{
	for (size_t i = 0; i < nset; i++) {
		if (!set[i].name || !set[i].value)
			return false;
		for (size_t k = 0; k < i; k++)
			if (strcmp(set[i].name, set[k].name) == 0)
				return false;
	}
	return true;
}
