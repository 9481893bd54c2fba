/* sim_suppress.c - suppresses faults of `hexc sim`: --no-check and --suppress. */
#include "hexc/cli/sim.h"
#include <string.h>

/* A line of --suppress: KIND KERNEL LINE-OR-PATTERN, * for any. */
typedef struct Rule {
	const char *kind, *kernel, *text;
	int64_t line; /* 0: `text` is a pattern for the fault's text */
} Rule;

struct SimFilter {
	const char *entry;
	bool off[SIM_NFAULTS];
	Rule *rule;
	size_t nrule;
};

/* * matches any text, ? one character; brackets, frequent in fault texts, match themselves. */
static bool
matches(const char *pattern, const char *s)
{
	const char *star = NULL, *from = NULL;

	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			from = s;
		} else if (*pattern == *s || *pattern == '?') {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static int
suppress(void *user, const sim_fault *f)
{
	const SimJob *j = user;
	const struct SimFilter *filter = j->filter;

	if (filter->off[f->kind])
		return 1;
	for (size_t i = 0; i < filter->nrule; i++) {
		const Rule *r = &filter->rule[i];
		if (matches(r->kind, sim_fault_name(f->kind)) && matches(r->kernel, filter->entry) &&
		    (r->line ? f->at.line == r->line || f->other.line == r->line : matches(r->text, f->text)))
			return 1;
	}
	return 0;
}

static int
find_kind(const char *name)
{
	int k = 0;

	while (k < SIM_NFAULTS && strcmp(sim_fault_name((sim_fault_kind)k), name))
		k++;
	return k;
}

static int
unknown_kind(const char *where, const char *name)
{
	cli_begin_error("%s: unknown fault kind '%s'; known:", where, name);
	for (int k = 0; k < SIM_NFAULTS; k++)
		fprintf(stderr, "%s %s", k ? "," : "", sim_fault_name((sim_fault_kind)k));
	fputc('\n', stderr);
	return EXIT_USAGE;
}

/* Returns the first word of *s and advances past it; "" if there is none. */
static const char *
word(Cli *c, const char **s)
{
	const char *w = *s + strspn(*s, " \t");
	size_t n = strcspn(w, " \t");

	*s = w + n + strspn(w + n, " \t");
	return cli_strndup(c, w, n);
}

static int
read_rule(SimJob *j, const char *path, int number, const char *s)
{
	struct SimFilter *f = j->filter;
	Rule *r = &f->rule[f->nrule];
	const char *where = cli_printf(j->c, "%s:%d", cli_plain(j->c, path), number);

	s += strspn(s, " \t");
	if (!*s || *s == '#')
		return 0;
	r->kind = word(j->c, &s);
	r->kernel = word(j->c, &s);
	r->text = *s ? s : "*";
	if (!cli_int(r->text, &r->line) || r->line < 0)
		r->line = 0;
	if (!strpbrk(r->kind, "*?") && find_kind(r->kind) == SIM_NFAULTS)
		return unknown_kind(where, r->kind);
	if (!*r->kernel)
		return cli_error(EXIT_USAGE, "%s: expected KIND KERNEL LINE-OR-PATTERN, * for any", where);
	f->nrule++;
	return 0;
}

static int
read_rules(SimJob *j, const char *path)
{
	size_t n, lines = 1;
	int status, number = 1;
	char *s = cli_read(j->c, path, 1 << 20, &n, &status), *end;

	if (!s)
		return status;
	for (size_t i = 0; i < n; i++)
		lines += s[i] == '\n';
	j->filter->rule = cli_alloc(j->c, lines * sizeof *j->filter->rule);
	for (; s && !status; s = end, number++) {
		end = strchr(s, '\n');
		if (end)
			*end++ = 0;
		s[strcspn(s, "\r")] = 0;
		status = read_rule(j, path, number, s);
	}
	return status;
}

int
sim_read_filter(SimJob *j)
{
	const char *path = cli_get(j->c, CLI_suppress);
	bool any = path != NULL;

	j->filter = cli_alloc(j->c, sizeof *j->filter);
	j->filter->entry = j->entry;
	for (int i = 0; i < j->c->narg; i++) {
		const char *name = j->c->arg[i].value;
		int kind;
		if (j->c->arg[i].opt != CLI_no_check)
			continue;
		kind = find_kind(name);
		if (strcmp(name, "all") == 0)
			j->launch.checks = 0;
		else if (kind == SIM_NFAULTS)
			return unknown_kind("--no-check", name);
		else
			any = j->filter->off[kind] = true;
	}
	if (any)
		j->launch.suppress = suppress;
	return path ? read_rules(j, path) : 0;
}
