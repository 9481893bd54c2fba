/* ir_command.c - implements hexc ir: runs tile IR through passes to IR or PTX, and reports what each pass
 * changed. */
#include "hexc/cli/base/cli.h"
#include <stdlib.h>
#include <string.h>

/* What is printed of the IR between passes. */
typedef struct Show {
	CliProgram p; /* must be first: callbacks get it */
	CliWords after; /* --print-after */
	bool changed; /* --print-changed */
	bool stats; /* --stats */
	char *last; /* IR of `kernel` before the current pass; NULL: unknown */
	const char *kernel; /* the kernel that it belongs to */
} Show;

static bool
is_one_of(const CliWords *w, const char *name)
{
	for (int i = 0; i < w->n; i++)
		if (strcmp(w->word[i], name) == 0 || strcmp(w->word[i], "all") == 0)
			return true;
	return false;
}

/* Ignores the line `after PASS`, which every pass changes. */
static bool
same_ir(const char *a, const char *b)
{
	const char *p = strstr(a, "\n  after "), *q = strstr(b, "\n  after ");

	if (!p || !q || p - a != q - b || memcmp(a, b, (size_t)(p - a)) != 0)
		return strcmp(a, b) == 0;
	return strcmp(p + 1 + strcspn(p + 1, "\n"), q + 1 + strcspn(q + 1, "\n")) == 0;
}

/* Sets *out to the n ids of values that ops define, in order of the text. *ops: number of ops. */
static size_t
ids(Cli *c, const char *ir, unsigned **out, size_t *ops)
{
	const char *body = ir ? strstr(ir, "\n  body {") : NULL;
	size_t n = 0, lines = 0;

	for (const char *s = ir; s && *s; s++)
		lines += *s == '\n';
	*out = cli_alloc(c, (lines + 1) * 8 * sizeof **out);
	*ops = 0;
	for (const char *s = body ? strchr(body + 1, '\n') : NULL; s; s = strchr(s + 1, '\n')) {
		const char *word = s + 1 + strspn(s + 1, " "), *end = word + strcspn(word, "\n"), *eq = word;

		*ops += *word && *word != '}' && *word != '\n';
		while (*eq == '%' && eq < end && n < (lines + 1) * 8) { /* %1.a, %2 = */
			(*out)[n++] = (unsigned)strtoul(eq + 1, NULL, 10);
			eq += strcspn(eq, " \n");
			eq += strspn(eq, " =");
		}
	}
	return n;
}

static int
by_id(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

/* Returns how many of a[0..n) are not in b[0..m), both sorted. */
static size_t
not_in(const unsigned *a, size_t n, const unsigned *b, size_t m)
{
	size_t found = 0;

	for (size_t i = 0, j = 0; i < n; i++) {
		while (j < m && b[j] < a[i])
			j++;
		found += j == m || b[j] != a[i];
	}
	return found;
}

/* Prints a row of --stats. */
static void
show_stats(Show *s, const char *pass, const char *before, const char *after)
{
	unsigned *was, *is;
	size_t ops, old, n = ids(s->p.cli, before, &was, &old), m = ids(s->p.cli, after, &is, &ops);

	qsort(was, n, sizeof *was, by_id);
	qsort(is, m, sizeof *is, by_id);
	fprintf(stderr, "%-14s %6zu ops  %+6ld  values: %5zu new  %5zu gone\n", pass, ops,
	        before ? (long)ops - (long)old : 0, not_in(is, m, was, n), not_in(was, n, is, m));
}

static void
show_pass(void *user, const char *pass, const char *kernel, const char *ir)
{
	Show *s = user;
	bool same = s->last && strcmp(s->kernel, kernel) == 0 && same_ir(s->last, ir);

	if (is_one_of(&s->after, pass) || (s->changed && !same))
		fprintf(stderr, "// %s after %s\n%s\n", kernel, pass, ir);
	else if (s->changed)
		fprintf(stderr, "// %s after %s: no change\n", kernel, pass);
	if (s->stats)
		show_stats(s, pass, s->last && strcmp(s->kernel, kernel) == 0 ? s->last : NULL, ir);
	s->last = cli_strndup(s->p.cli, ir, strlen(ir));
	s->kernel = cli_strndup(s->p.cli, kernel, strlen(kernel));
}

static int
write_result(Cli *c, const hexc_module *m)
{
	const char *to = cli_get(c, CLI_ir_o), *ir;
	size_t n;
	const char *ptx = hexc_ptx(m, &n);
	char *all = cli_strndup(c, "", 0);

	if (n)
		return cli_write(c, to ? to : "-", ptx, n);
	for (size_t k = 0; (ir = hexc_ir(m, k)); k++)
		all = cli_printf(c, "%s%s%s", all, k ? "\n" : "", ir);
	return cli_write(c, to ? to : "-", all, strlen(all));
}

int
cli_ir(Cli *c)
{
	Show s = { .changed = cli_has(c, CLI_print_changed),
		   .stats = cli_has(c, CLI_pass_stats) };
	hexc_module *m = NULL;
	int status = 0;

	if (cli_has(c, CLI_print_after))
		s.after = cli_words(c, cli_get(c, CLI_print_after));
	for (int i = 0; i < s.after.n && !status; i++) {
		status = cli_check_pass("--print-after", s.after.word[i], true);
		if (hexc_pass_named(s.after.word[i]))
			s.after.word[i] = hexc_pass_named(s.after.word[i]);
	}
	if (status)
		return status;
	status = cli_open(c, 0, NULL, &s.p);
	if (!status && (s.after.n || s.changed || s.stats)) {
		s.p.opts.dump = "all";
		s.p.opts.text = show_pass;
		if (hexc_configure(s.p.ctx, &s.p.opts) != HEXC_OK)
			status = cli_error(EXIT_TROUBLE, "out of memory");
	}
	s.p.passes = cli_has(c, CLI_passes) ? cli_get(c, CLI_passes) : "";
	if (!status)
		status = cli_build(&s.p, &m);
	if (!status)
		status = write_result(c, m);
	hexc_module_free(m);
	cli_close(&s.p);
	return status;
}
