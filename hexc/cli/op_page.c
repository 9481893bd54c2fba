/* op_page.c - reads the arguments, constants, limits, placeholders and kernel table that the program text
 * of an operator declares (hexc-op(5)). */
#include "hexc/cli/op_page.h"
#include <ctype.h>
#include <string.h>

static void
append(Items *to, Item x)
{
	if (to->n < MOST_ITEMS)
		to->item[to->n++] = x;
}

/* Adds x unless present. A name occurs twice if a placeholder selects between two declarations of it. */
static void
add(Items *to, Item x)
{
	for (int i = 0; i < to->n; i++) {
		const Item *y = &to->item[i];

		if (strcmp(x.name, y->name) != 0)
			continue;
		if (*x.name ? !x.hole || !y->hole || x.without == y->without : strcmp(x.text, y->text) == 0)
			return;
	}
	append(to, x);
}

static Item *
find(Items *in, const char *name)
{
	for (int i = 0; i < in->n; i++)
		if (strcmp(in->item[i].name, name) == 0)
			return &in->item[i];
	return NULL;
}

static char *
trimmed(OpPage *p, const char *s, size_t n)
{
	while (n && isspace((unsigned char)*s))
		s++, n--;
	while (n && (isspace((unsigned char)s[n - 1]) || s[n - 1] == ','))
		n--;
	return cli_strndup(p->c, s, n);
}

/* ---- pieces of a kernel's declaration --------------------------------------------------------- */

/* Returns the characters up to the next comma outside brackets, or all n. */
static size_t
piece(const char *s, size_t n)
{
	int depth = 0;

	for (size_t i = 0; i < n; i++) {
		depth += strchr("([", s[i]) != NULL;
		depth -= strchr(")]", s[i]) != NULL;
		if (s[i] == ',' && depth == 0)
			return i;
	}
	return n;
}

/* Parses "NAME: TYPE, .." as arguments, with `out` and `inout` as part of the type. */
static void
take_arguments(OpPage *p, Items *to, const char *s, const char *hole, bool without)
{
	for (size_t n = strlen(s), len; n; s += len + (len < n), n -= len + (len < n)) {
		const char *colon;

		len = piece(s, n);
		colon = memchr(s, ':', len);
		if (colon)
			add(to,
			    (Item){ trimmed(p, s, (size_t)(colon - s)),
			            trimmed(p, colon + 1, len - (size_t)(colon + 1 - s)), hole, without,
			            NULL });
	}
}

/* Parses "NAME = VALUES, .." of const or tune, or the conditions of assume. */
static void
take_list(OpPage *p, Items *to, bool named, const char *s, const char *hole, bool without)
{
	for (size_t n = strlen(s), len; n; s += len + (len < n), n -= len + (len < n)) {
		const char *eq;

		len = piece(s, n);
		eq = named ? memchr(s, '=', len) : NULL;
		if (eq)
			add(to, (Item){ trimmed(p, s, (size_t)(eq - s)),
			                trimmed(p, eq + 1, len - (size_t)(eq + 1 - s)), hole, without,
			                NULL });
		else if (*trimmed(p, s, len))
			add(to, (Item){ "", trimmed(p, s, len), hole, without, NULL });
	}
}

/* ---- lines ------------------------------------------------------------------------------------ */

typedef enum Part { IN_body, IN_arguments, IN_lists } Part;

/* A line of a program: its code without comments, and the placeholder that it depends on. */
typedef struct Line {
	char *code;
	const char *hole, *pattern; /* pattern: of "//+ HOLE PATTERN" */
	bool without;
} Line;

/* Returns the mark "//+ " or "//- " of a line; NULL if there is none. */
static const char *
find_mark(const char *s)
{
	while ((s = strstr(s, "//")) && ((s[2] != '+' && s[2] != '-') || s[3] != ' '))
		s++;
	return s;
}

static Line
read_line(OpPage *p, const char *s, size_t n)
{
	char *text = cli_strndup(p->c, s, n), *remark = strstr(text, "//");
	const char *mark = find_mark(text);
	Line l = { .code = text };

	if (mark) {
		const char *name = mark + 3 + strspn(mark + 3, " ");
		size_t len = strcspn(name, " ");

		l.hole = cli_strndup(p->c, name, len);
		l.without = mark[2] == '-';
		if (!l.without)
			l.pattern = trimmed(p, name + len, strlen(name + len));
	}
	if (remark)
		*remark = 0;
	return l;
}

/* Adds placeholder `name` of the line, and whether its value is an expression. */
static void
take_hole(OpPage *p, const char *name, const Line *l)
{
	static const char any[] = "any text", expression[] = "an expression";
	const char *text = l->pattern && strchr(l->pattern, '$') ? expression : any;
	Item *known = find(&p->hole, name);

	if (strcmp(name, "tensors") == 0)
		text = "more arguments, as a kernel declares them";
	if (known && text == expression)
		known->text = text;
	else if (!known && l->pattern)
		append(&p->hole, (Item){ name, text, NULL, false, NULL });
}

/* Returns the parenthesis that closes the `*depth` open ones; NULL if it is not in s. */
static const char *
closing(const char *s, int *depth)
{
	for (; *s; s++) {
		*depth += *s == '(';
		*depth -= *s == ')';
		if (*s == ')' && *depth == 0)
			return s;
	}
	return NULL;
}

typedef enum Kind { KIND_none, KIND_const, KIND_tune, KIND_assume } Kind;

/* Parses a declaration between a kernel's arguments and its body: a word, and a list that may continue on
 * the next line. Returns the kind that the next line continues. */
static Kind
take_declaration(OpPage *p, Declared *d, Kind kind, const Line *l)
{
	static const char *const word[] = { NULL, "const ", "tune ", "assume " }; /* by kind */
	Items *to[] = { NULL, &d->constant, &d->tunable, &d->limit };
	const char *s = l->code + strspn(l->code, " \t");

	for (Kind k = KIND_const; k <= KIND_assume; k++)
		if (strncmp(s, word[k], strlen(word[k])) == 0) {
			kind = k;
			s += strlen(word[k]);
		}
	if (kind)
		take_list(p, to[kind], kind != KIND_assume, s, l->hole, l->without);
	return kind;
}

/* Adds the declarations of `kernel` in program text `s`; returns false if it has no kernel of this name. */
static bool
read_kernel(OpPage *p, Declared *d, const char *s, const char *kernel)
{
	enum { OUTSIDE, ARGUMENTS, DECLARATIONS } part = OUTSIDE;
	bool found = false;
	Kind kind = KIND_none;
	int depth = 0;

	for (size_t n; *s; s += n + (s[n] != 0)) {
		Line l = read_line(p, s, n = strcspn(s, "\n"));
		const char *open = strchr(l.code, '('), *end, *after = NULL;

		if (strncmp(l.code, "kernel ", 7) == 0 && open &&
		    strcmp(trimmed(p, l.code + 7, (size_t)(open - l.code - 7)), kernel) == 0) {
			part = ARGUMENTS;
			found = true;
			depth = 1;
			l.code += open + 1 - l.code;
		}
		if (part == ARGUMENTS) {
			end = closing(l.code, &depth);
			if (end)
				after = end + 1, l.code[end - l.code] = 0;
			take_arguments(p, &d->argument, l.code, l.hole, l.without);
			if (l.pattern && strcmp(l.hole, "tensors") != 0)
				take_arguments(p, &d->argument, l.pattern, l.hole, false);
			if (!end)
				continue;
			l.code += after - l.code;
			part = DECLARATIONS;
			kind = KIND_none;
		}
		if (part == DECLARATIONS && strchr(l.code, '{'))
			part = OUTSIDE;
		if (part == DECLARATIONS)
			kind = take_declaration(p, d, kind, &l);
	}
	return found;
}

/* ---- the table of kernels --------------------------------------------------------------------- */

/* The kernels that a line of the table runs, in order. */
typedef struct KernelChain {
	const char *kernel[8];
	int n;
} KernelChain;

/* Parses "take [KERNEL] [NAME=VALUE].. [then ..] [with ..] when ..": the kernel is a word without =. */
static KernelChain
read_chain(OpPage *p, const char *s)
{
	KernelChain c = { .n = 0 };
	bool begins = false;

	for (size_t n; *(s += strspn(s, " ")); s += n) {
		const char *word = cli_strndup(p->c, s, n = strcspn(s, " "));

		if (strcmp(word, "with") == 0 || strcmp(word, "when") == 0)
			break;
		if (strcmp(word, "take") == 0 || strcmp(word, "then") == 0) {
			if (c.n < (int)CLI_COUNT(c.kernel))
				c.kernel[c.n++] = p->op.name;
			begins = true;
		} else if (begins && !strchr(word, '=')) {
			c.kernel[c.n - 1] = word;
			begins = false;
		}
	}
	return c;
}

/* Searches the operator's file, and those that its lines "//: use" name. Is it in its own? */
static bool
find_kernel(OpPage *p, Declared *d, const char *kernel)
{
	hexc_op_info other;
	char use[80];

	if (read_kernel(p, d, p->op.program, kernel))
		return true;
	for (size_t i = 0; hexc_op_at(i, &other); i++) {
		snprintf(use, sizeof use, "//: use %s\n", other.name);
		if (strstr(p->op.program, use) && read_kernel(p, d, other.program, kernel))
			break;
	}
	return false;
}

static bool
is_written(const Item *x)
{
	return strncmp(x->text, "out ", 4) == 0;
}

/* Does another kernel of the chain write what stage i reads, or the other way round? */
static bool
is_inner(Declared *stage, int n, int i, const Item *x)
{
	for (int j = 0; j < n; j++) {
		const Item *y = find(&stage[j].argument, x->name);

		if (y && (j < i ? is_written(y) && !is_written(x) : j > i && is_written(x) && !is_written(y)))
			return true;
	}
	return false;
}

/* Is `hole` one of NAME|NAME..? */
static bool
among(const char *names, const char *hole)
{
	size_t n = strlen(hole);

	for (const char *s = names; s; s = strchr(s, '|') ? strchr(s, '|') + 1 : NULL)
		if (strncmp(s, hole, n) == 0 && (!s[n] || s[n] == '|'))
			return true;
	return false;
}

/* Removes arguments of this name that depend on the hole, maybe among others. */
static void
remove_argument(Items *from, const char *name, const char *hole)
{
	int n = 0;

	for (int i = 0; i < from->n; i++) {
		const Item *x = &from->item[i];

		if (!hole || !x->hole || strcmp(x->name, name) != 0 || !among(x->hole, hole))
			from->item[n++] = *x;
	}
	from->n = n;
}

/* Adds the declarations of the kernels of a line of the table, except its workspace: tensors that one writes
 * and a later one reads. What other kernels than the operator's own declare depends on the line's hole. */
static void
take_chain(OpPage *p, const KernelChain *c, const Item *line)
{
	Declared *stage = cli_alloc(p->c, sizeof *stage * (size_t)(c->n + 1));
	bool own[CLI_COUNT(c->kernel)];

	for (int i = 0; i < c->n; i++)
		own[i] = find_kernel(p, &stage[i], c->kernel[i]);
	for (int i = 0; i < c->n; i++) {
		Items *const from[] = { &stage[i].constant, &stage[i].tunable, &stage[i].limit };
		Items *const to[] = { &p->all.constant, &p->all.tunable, &p->all.limit };

		for (int k = 0; k < stage[i].argument.n; k++) {
			Item x = stage[i].argument.item[k];

			if (is_inner(stage, c->n, i, &x)) {
				remove_argument(&p->all.argument, x.name, line->hole);
				continue;
			}
			if (!x.hole && !own[i]) {
				x.hole = line->hole;
				x.without = line->without;
			}
			add(&p->all.argument, x);
		}
		for (size_t k = 0; k < CLI_COUNT(from); k++)
			for (int x = 0; x < from[k]->n; x++)
				add(to[k], from[k]->item[x]);
	}
}

/* Adds a line of the program to the table if it is one of it, with the hole that it depends on. */
static void
take_line(OpPage *p, const char *s, size_t n, const Line *l)
{
	const char *text = cli_strndup(p->c, s, n), *take = strstr(text, "//: take "), *end, *inner;

	if (!take || (take != text && take != strstr(text, l->pattern ? l->pattern : "//:")))
		return;
	take += strlen("//: take ");
	end = strstr(take, "//");
	inner = end && !l->without ? trimmed(p, end + 3, strlen(end + 3)) : NULL;
	take = trimmed(p, take, end ? (size_t)(end - take) : strlen(take));
	append(&p->line, (Item){ "", take, l->hole, l->without, inner });
}

void
op_page_read(OpPage *p)
{
	bool heading = true;

	for (const char *s = p->op.program, *end; *s; s = end + (*end != 0)) {
		Line l = read_line(p, s, (size_t)((end = s + strcspn(s, "\n")) - s));

		heading = heading && strncmp(s, "//", 2) == 0;
		if (heading) {
			const char *text = s + 2 + (s[2] == ' ');

			append(&p->about,
			       (Item){ "", cli_strndup(p->c, text, (size_t)(end - text)), NULL, false,
			               NULL });
		}
		for (const char *h = l.hole; h; h = strchr(h, '|') ? strchr(h, '|') + 1 : NULL)
			take_hole(p, cli_strndup(p->c, h, strcspn(h, "|")), &l); /* NAME|NAME */
		take_line(p, s, (size_t)(end - s), &l);
	}
	for (int i = 0; i < p->line.n; i++) {
		KernelChain c = read_chain(p, cli_printf(p->c, "take %s", p->line.item[i].text));

		take_chain(p, &c, &p->line.item[i]);
	}
	if (!p->line.n)
		take_chain(p, &(KernelChain){ { p->op.name }, 1 }, &(Item){ "", "", NULL, false, NULL });
}
