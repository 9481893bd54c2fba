/* sim_trace.c - implements hexc sim --trace, --break and --show: prints what a kernel executes to standard
 * error. */
#include "hexc/cli/sim.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A breakpoint; block or warp -1: any. */
typedef struct Stop {
	uint32_t line;
	int64_t block, warp;
	bool hit;
} Stop;

typedef struct TraceOptions {
	SimJob *j;
	const char **line; /* the PTX, by line number */
	uint32_t nline;
	Stop *stop;
	int nstop;
	bool all; /* --trace: limited by block and warp */
	int64_t block, warp;
	const char **show;
	int nshow;
} TraceOptions;

/* ---- values ----------------------------------------------------------------------------------- */

static void
print_value(const sim_register *r, const uint64_t v[2])
{
	double d;
	float f;
	uint32_t lo = (uint32_t)v[0];

	if (r->bits == 128) {
		fprintf(stderr, " 0x%016" PRIx64 "%016" PRIx64, v[1], v[0]);
	} else if (strcmp(r->type, "f32") == 0) {
		memcpy(&f, &lo, sizeof f);
		fprintf(stderr, " %.9g", (double)f);
	} else if (strcmp(r->type, "f64") == 0) {
		memcpy(&d, &v[0], sizeof d);
		fprintf(stderr, " %.17g", d);
	} else if (r->type[0] == 's') {
		unsigned left = 64 - r->bits;
		fprintf(stderr, " %" PRId64, (int64_t)(v[0] << left) >> left);
	} else if (r->type[0] == 'u' || r->bits == 1) {
		fprintf(stderr, " %" PRIu64, v[0]);
	} else {
		fprintf(stderr, " 0x%0*" PRIx64, (int)r->bits / 4, v[0]);
	}
}

/* Prints a register of the active lanes: once if all are equal, else a line per eight lanes, with - for an
 * inactive lane and ? for an uninitialized value. */
static void
print_register(const sim_view *v, const sim_register *r)
{
	uint64_t first[2] = { 0, 0 }, x[2];
	bool same = true, any = false;
	int known = 1;

	fprintf(stderr, "    %s .%s =", r->name, r->type);
	for (uint32_t l = 0; l < 32; l++) {
		int k;
		if (!(v->here >> l & 1))
			continue;
		k = sim_view_value(v, r->name, l, x);
		same = same && (!any || (k == known && (k < 0 || memcmp(x, first, sizeof x) == 0)));
		if (!any) {
			memcpy(first, x, sizeof x);
			known = k;
		}
		any = true;
	}
	if (same) {
		if (known < 0)
			fprintf(stderr, " ?");
		else
			print_value(r, first);
		fprintf(stderr, " in all lanes\n");
		return;
	}
	for (uint32_t l = 0; l < 32; l++) {
		int k = sim_view_value(v, r->name, l, x);
		if (l % 8 == 0)
			fprintf(stderr, "\n      %2u:", l);
		if (!(v->here >> l & 1))
			fprintf(stderr, " -");
		else if (k < 0)
			fprintf(stderr, " ?");
		else
			print_value(r, x);
	}
	fputc('\n', stderr);
}

static void
print_registers(const TraceOptions *t, const sim_view *v)
{
	sim_register r;

	for (int i = 0; i < t->nshow; i++)
		if (sim_view_find(v, t->show[i], &r))
			print_register(v, &r);
		else
			fprintf(stderr, "    %s: no such register here\n", t->show[i]);
	for (size_t i = 0; !t->nshow && sim_view_register(v, i, &r); i++)
		if (r.read)
			print_register(v, &r);
}

/* ---- the hook --------------------------------------------------------------------------------- */

static bool
wanted(int64_t block, int64_t warp, const sim_view *v)
{
	return (block < 0 || block == v->block_index) && (warp < 0 || warp == v->warp);
}

static int
hook(void *user, const sim_view *v)
{
	TraceOptions *t = user;
	const char *text = v->line <= t->nline ? t->line[v->line - 1] : v->opcode;
	bool stop = false, trace = t->all && wanted(t->block, t->warp, v);

	for (int i = 0; i < t->nstop; i++)
		if (t->stop[i].line == v->line && wanted(t->stop[i].block, t->stop[i].warp, v))
			stop = t->stop[i].hit = true;
	if (!stop && !trace)
		return 0;
	while (*text == ' ' || *text == '\t')
		text++;
	fprintf(stderr, "%s:%u:1: %s: block (%u,%u,%u), warp %u, lanes 0x%08x", t->j->path, v->line,
	        stop ? "break" : "trace", v->block[0], v->block[1], v->block[2], v->warp, v->lanes);
	if (v->here != v->lanes)
		fprintf(stderr, " of 0x%08x", v->here);
	fprintf(stderr, ": %.*s\n", (int)strcspn(text, "\r\n"), text);
	if (stop || t->nshow)
		print_registers(t, v);
	return 0;
}

/* ---- options ---------------------------------------------------------------------------------- */

/* Parses BLOCK[,WARP] from 0; NULL: any. */
static bool
read_where(Cli *c, const char *s, int64_t *block, int64_t *warp)
{
	const char *comma = s ? strchr(s, ',') : NULL;

	*block = *warp = -1;
	if (!s)
		return true;
	if (comma && (!cli_int(comma + 1, warp) || *warp < 0))
		return false;
	return cli_int(comma ? cli_strndup(c, s, (size_t)(comma - s)) : s, block) && *block >= 0;
}

static int
read_stop(TraceOptions *t, const char *s)
{
	Cli *c = t->j->c;
	const char *colon = strchr(s, ':');
	Stop *p = &t->stop[t->nstop++];
	int64_t line;

	if (!cli_int(colon ? cli_strndup(c, s, (size_t)(colon - s)) : s, &line) || line < 1 ||
	    line > UINT32_MAX || !read_where(c, colon ? colon + 1 : NULL, &p->block, &p->warp))
		return cli_error(EXIT_USAGE, "--break: expected LINE[:BLOCK[,WARP]] of numbers, got '%s'", s);
	if (line > t->nline)
		return cli_error(EXIT_USAGE, "--break %s: the file has %u lines", s, t->nline);
	p->line = (uint32_t)line;
	return 0;
}

static void
read_show(TraceOptions *t, const char *s)
{
	Cli *c = t->j->c;
	const char *comma;

	for (; (comma = strchr(s, ',')) != NULL; s = comma + 1)
		t->show[t->nshow++] = cli_strndup(c, s, (size_t)(comma - s));
	t->show[t->nshow++] = s;
}

static void
split_lines(TraceOptions *t, const char *s)
{
	uint32_t n = 1;

	for (const char *p = s; *p; p++)
		n += *p == '\n';
	t->line = cli_alloc(t->j->c, n * sizeof *t->line);
	for (; s; s = strchr(s, '\n')) {
		s += *s == '\n' && t->nline;
		t->line[t->nline++] = s;
	}
	t->nline -= t->nline > 1 && !*t->line[t->nline - 1];
}

int
sim_read_trace(SimJob *j)
{
	Cli *c = j->c;
	TraceOptions *t;
	int status;
	size_t words = 1;

	if (!cli_has(c, CLI_trace) && !cli_has(c, CLI_brk) && cli_has(c, CLI_show))
		return cli_error(EXIT_USAGE, "--show requires --break or --trace");
	if (!cli_has(c, CLI_trace) && !cli_has(c, CLI_brk))
		return 0;
	t = cli_alloc(c, sizeof *t);
	t->j = j;
	split_lines(t, j->text);
	for (int i = 0; i < c->narg; i++)
		for (const char *s = c->arg[i].opt == CLI_show ? c->arg[i].value : ""; *s; s++)
			words += *s == ',';
	t->show = cli_alloc(c, (words + (size_t)c->narg) * sizeof *t->show);
	t->stop = cli_alloc(c, ((size_t)c->narg + 1) * sizeof *t->stop);
	t->all = cli_has(c, CLI_trace);
	if (t->all && !read_where(c, cli_get(c, CLI_trace), &t->block, &t->warp))
		return cli_error(EXIT_USAGE, "--trace: expected BLOCK[,WARP] of numbers from 0, got '%s'",
		                 cli_get(c, CLI_trace));
	for (int i = 0; i < c->narg; i++) {
		if (c->arg[i].opt == CLI_show)
			read_show(t, c->arg[i].value);
		else if (c->arg[i].opt == CLI_brk && (status = read_stop(t, c->arg[i].value)) != 0)
			return status;
	}
	j->launch.trace.hook = hook;
	j->launch.trace.user = t;
	if (!t->all) {
		uint32_t *lines = cli_alloc(c, ((size_t)t->nstop + 1) * sizeof *lines);
		for (int i = 0; i < t->nstop; i++)
			lines[i] = t->stop[i].line;
		j->launch.trace.lines = lines;
		j->launch.trace.nlines = (size_t)t->nstop;
	} else if (!t->nstop) {
		j->launch.trace.block = t->block;
		j->launch.trace.warp = t->warp;
	}
	return 0;
}

void
sim_end_trace(const SimJob *j)
{
	const TraceOptions *t = j->launch.trace.user;

	for (int i = 0; t && i < t->nstop; i++)
		if (!t->stop[i].hit)
			fprintf(stderr, "%s:%u:1: note: no warp reached this line%s\n", j->path,
			        t->stop[i].line,
			        t->stop[i].block < 0 ? "" : " of the block and warp of --break");
}
