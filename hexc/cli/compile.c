/* compile.c - compiles a file with the command line's options to a module and prints diagnostics. */
#include "hexc/cli/base/json.h"
#include "lib/hexc_cache.h"
#include <string.h>

enum { PROGRAM_MAX = 64 << 20 };

int
cli_status(int code)
{
	switch (code) {
	case HEXC_OK: return EXIT_DONE;
	case HEXC_E_SOURCE:
	case HEXC_E_LAYOUT:
	case HEXC_E_ARGS: return EXIT_INPUT;
	case HEXC_E_ARCH:
	case HEXC_E_INVALID: return EXIT_USAGE;
	default: return EXIT_TROUBLE;
	}
}

/* ---- diagnostics ------------------------------------------------------------------------------ */

/* Prints the source line, with tabs as one blank each so that columns stay bytes, and a caret with
 * tildes. */
static void
show_source(const char *src, size_t n, uint32_t line, uint32_t col, uint32_t len)
{
	const char *end = src + n, *s = src, *stop;

	for (uint32_t i = 1; i < line && s; i++) {
		s = memchr(s, '\n', (size_t)(end - s));
		s = s ? s + 1 : NULL;
	}
	if (!s)
		return;
	stop = memchr(s, '\n', (size_t)(end - s));
	stop = stop ? stop : end;
	if (stop - s > 300 || col == 0 || col > (uint32_t)(stop - s) + 1)
		return; /* too long to be useful */
	fputs("  ", stderr);
	for (const char *p = s; p < stop; p++) {
		bool control = (unsigned char)*p < ' ' || *p == 0x7f;
		fputc(*p == '\t' ? ' ' : (control ? '?' : *p), stderr);
	}
	fprintf(stderr, "\n  %*s^", (int)col - 1, "");
	for (uint32_t i = 1; i < len && col + i <= (uint32_t)(stop - s); i++)
		fputc('~', stderr);
	fputc('\n', stderr);
}

static void
show_text(const hexc_diag_info *d, const char *src, size_t n)
{
	const char *word = cli_severity((CliSeverity)d->severity);

	if (d->line)
		fprintf(stderr, "%s:%u:%u: %s: %s", d->file, d->line, d->col, word, d->text);
	else
		fprintf(stderr, "%s: %s: %s", d->file, word, d->text);
	fprintf(stderr, d->warning ? " [-W no-%s]\n" : "\n", d->warning);
	if (d->line)
		show_source(src, n, d->line, d->col, d->len);
}

/* Prints the message as one line of JSON. */
static void
show_json(Cli *c, const hexc_diag_info *d)
{
	static const char *const severity[] = { "note", "warning", "error", "remark" };
	cJSON *o = cJSON_CreateObject();
	char *line;

	cJSON_AddStringToObject(o, "severity", severity[d->severity]);
	if (d->warning)
		cJSON_AddStringToObject(o, "warning", d->warning);
	cJSON_AddStringToObject(o, "file", d->file);
	json_uint(o, "line", d->line);
	json_uint(o, "col", d->col);
	json_uint(o, "len", d->len);
	cJSON_AddStringToObject(o, "text", d->text);
	line = json_line(c, o);
	fprintf(stderr, "%s\n", line ? line : "{}");
}

static void
show_one(const CliProgram *p, const hexc_diag_info *d)
{
	if (p->json)
		show_json(p->cli, d);
	else
		show_text(d, p->src, p->n);
}

static void
show_diag(const CliProgram *p)
{
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;

	for (size_t i = 0; hexc_diag(p->ctx, i, &d); i++)
		show_one(p, &d);
}

static void
show_bug(CliProgram *p)
{
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;

	d.file = p->path;
	d.text = cli_keep_bug(p);
	if (d.text)
		show_one(p, &d);
}

/* ---- options ---------------------------------------------------------------------------------- */

static int
read_defines(Cli *c, hexc_opts *o)
{
	hexc_define *def = cli_alloc(c, sizeof *def * (size_t)(c->narg + 1));

	for (int i = 0; i < c->narg; i++) {
		const char *v = c->arg[i].value, *eq;
		hexc_define *d = &def[o->ndefine];

		if (c->arg[i].opt != CLI_D)
			continue;
		eq = strchr(v, '=');
		if (!eq || eq == v)
			return cli_error(EXIT_USAGE, "-D: expected NAME=VALUE, got '%s'", v);
		if (!cli_int(eq + 1, &d->value) && (d->value = hexc_type_value(eq + 1)) == 0)
			return cli_error(EXIT_USAGE, "-D %s: '%s' is neither an integer nor an element type",
			                 v, eq + 1);
		d->name = cli_strndup(c, v, (size_t)(eq - v));
		for (size_t j = 0; j < o->ndefine; j++)
			if (strcmp(def[j].name, d->name) == 0)
				return cli_error(EXIT_USAGE, "-D %s given twice", d->name);
		o->ndefine++;
	}
	o->define = def;
	return 0;
}

static bool
is_warning(const char *name)
{
	for (size_t i = 0; hexc_warning(i); i++)
		if (strcmp(name, hexc_warning(i)) == 0)
			return true;
	return false;
}

/* Reads -W NAME and -W no-NAME, any number of them; the last one for a warning is used. */
static int
read_warnings(Cli *c, hexc_opts *o)
{
	for (int i = 0; i < c->narg; i++) {
		const char *v = c->arg[i].value;

		if (c->arg[i].opt != CLI_W)
			continue;
		if (is_warning(strncmp(v, "no-", 3) == 0 ? v + 3 : v)) {
			o->warnings = o->warnings ? cli_printf(c, "%s,%s", o->warnings, v) : v;
			continue;
		}
		cli_begin_error("-W: expected NAME or no-NAME, got '%s'; the warnings are", v);
		for (size_t k = 0; hexc_warning(k); k++)
			fprintf(stderr, "%s %s", k ? "," : "", hexc_warning(k));
		fputc('\n', stderr);
		return EXIT_USAGE;
	}
	return 0;
}

static int
check_arch(const char *arch)
{
	for (size_t i = 0; hexc_arch(i); i++)
		if (!arch || strcmp(arch, hexc_arch(i)) == 0)
			return 0;
	cli_begin_error("unknown arch '%s'; known:", arch);
	for (size_t i = 0; hexc_arch(i); i++)
		fprintf(stderr, "%s %s", i ? "," : "", hexc_arch(i));
	fputc('\n', stderr);
	return EXIT_USAGE;
}

int
cli_check_pass(const char *opt, const char *name, bool all)
{
	if (!name || strcmp(name, "parse") == 0 || strcmp(name, "bounded") == 0 ||
	    (all && strcmp(name, "all") == 0))
		return 0;
	if (hexc_pass_named(name))
		return 0;
	cli_begin_error("%s: unknown pass '%s'; known: parse, bounded", opt, name);
	for (size_t i = 0; hexc_pass(i); i++)
		fprintf(stderr, ", %s", hexc_pass(i));
	fprintf(stderr, "%s\n", all ? "; or all" : "");
	return EXIT_USAGE;
}

static void
show_ir(void *user, const char *pass, const char *kernel, const char *ir)
{
	(void)user;
	fprintf(stderr, "// %s after %s\n%s\n", kernel, pass, ir);
}

static void
keep_trace(void *user, const char *line)
{
	CliProgram *p = user;

	cli_append(p->cli, &p->trace, line, strlen(line));
	cli_append(p->cli, &p->trace, "\n", 1);
}

static int
show_progress(void *user)
{
	CliProgram *p = user;

	return cli_progress(&p->progress);
}

static int
check_schedule(const char *name)
{
	for (size_t i = 0; hexc_schedule(i); i++)
		if (!name || strcmp(name, hexc_schedule(i)) == 0)
			return 0;
	cli_begin_error("--schedule: unknown schedule '%s'; known:", name);
	for (size_t i = 0; hexc_schedule(i); i++)
		fprintf(stderr, "%s %s", i ? "," : "", hexc_schedule(i));
	fputc('\n', stderr);
	return EXIT_USAGE;
}

/* Parses "2x1": along x and y. */
static int
read_cluster(const char *s, uint32_t out[3])
{
	unsigned n[2];
	int end = 0;

	if (!s)
		return 0;
	if (sscanf(s, "%1ux%1u%n", &n[0], &n[1], &end) != 2 || s[end] || n[0] < 1 || n[1] < 1 || n[0] > 8 ||
	    n[1] > 8 || (n[0] > 1 && n[1] > 1))
		return cli_error(EXIT_USAGE,
		                 "--cluster: expected 1x1, or up to 8 along x or y such as 2x1 or 1x2, got "
		                 "'%s'",
		                 s);
	out[0] = n[0];
	out[1] = n[1];
	out[2] = 1;
	return 0;
}

static int
read_options(Cli *c, hexc_opts *o)
{
	const char *candidate = cli_get(c, CLI_candidate);
	int64_t k = 0;
	int status;

	o->arch = cli_has(c, CLI_arch) ? cli_get(c, CLI_arch) : c->arch;
	o->kernel = cli_get(c, CLI_kernel);
	o->schedule = cli_get(c, CLI_schedule);
	o->dump = cli_get(c, CLI_dump);
	if (!o->stop)
		o->stop = cli_get(c, CLI_stop);
	o->text = show_ir;
	if ((status = check_arch(o->arch)) || (status = check_schedule(o->schedule)) ||
	    (status = read_cluster(cli_get(c, CLI_along), o->cluster)) ||
	    (status = cli_check_pass("--dump", o->dump, true)) ||
	    (status = cli_check_pass("--stop", o->stop, false)))
		return status;
	if (candidate && (!cli_int(candidate, &k) || k < 0 || k > INT32_MAX))
		return cli_error(EXIT_USAGE, "--candidate: expected a number from 0, got '%s'", candidate);
	o->candidate = (uint32_t)k;
	if (cli_has(c, CLI_prove))
		o->flags |= HEXC_PROVE;
	if (cli_has(c, CLI_paranoid))
		o->flags |= HEXC_PARANOID;
	if (cli_has(c, CLI_lineinfo))
		o->flags |= HEXC_LINEINFO;
	if (cli_has(c, CLI_no_pdl))
		o->flags |= HEXC_NO_PDL;
	if (cli_has(c, CLI_remarks))
		o->flags |= HEXC_REMARKS;
	if (cli_has(c, CLI_werror))
		o->flags |= HEXC_WERROR;
	if ((status = read_warnings(c, o)))
		return status;
	return read_defines(c, o);
}

/* ---- compile ---------------------------------------------------------------------------------- */

/* Rank by ptxas? The default for bundles and packed weights, which others run; an explicit candidate is
 * not ranked. */
static bool
ranks_by_assembler(const Cli *c)
{
	bool asks = c->command == 'B' || c->command == 'P' || cli_has(c, CLI_assemble);

	return asks && !cli_has(c, CLI_candidate);
}

bool
cli_ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* cli_open for that file; `passes`: the file is IR from the program that the options refer to. */
static int
open_path(Cli *c, const char *path, const char *passes, uint32_t flags, const char *stop, CliProgram *p)
{
	const hexc_opts none = HEXC_OPTS_INIT;
	const char *diag = cli_get(c, CLI_diag);
	int status, code;

	memset(p, 0, sizeof *p);
	p->cli = c;
	p->json = diag && strcmp(diag, "json") == 0;
	if (diag && !p->json && strcmp(diag, "text") != 0)
		return cli_error(EXIT_USAGE, "--diag: expected text or json, got '%s'", diag);
	p->opts = none;
	p->opts.cancel = show_progress;
	p->opts.user = p;
	p->opts.trace = cli_has(c, CLI_trace_search) ? keep_trace : NULL;
	p->opts.flags = flags;
	p->opts.stop = stop;
	status = read_options(c, &p->opts);
	if (!status)
		status = cli_open_cache(c, &p->cache);
	if (status)
		return status;
	p->opts.cache = p->cache;
	if (ranks_by_assembler(c) && (status = cli_rank(p)))
		return status;
	p->ir = passes || c->command == 'I' || cli_ends_in(path, ".ir");
	p->passes = passes;
	if (passes)
		p->opts.ndefine = 0;
	if (p->ir && p->opts.stop) {
		p->passes = strcmp(p->opts.stop, "parse") == 0 ? "" : cli_printf(c, "..%s", p->opts.stop);
		p->opts.stop = NULL;
	}
	p->path = strcmp(path, "-") == 0 ? "<stdin>" : cli_plain(c, path);
	p->src = cli_read(c, path, PROGRAM_MAX, &p->n, &status);
	if (!p->src)
		return status;
	code = hexc_open(&p->ctx, &p->opts);
	return code ? cli_error(cli_status(code), "%s", hexc_strerror(code)) : 0;
}

int
cli_open(Cli *c, uint32_t flags, const char *stop, CliProgram *p)
{
	const char *path = cli_file(c, c->command == 'I' ? "file of IR" : "program");

	if (path)
		return open_path(c, path, NULL, flags, stop, p);
	memset(p, 0, sizeof *p);
	return EXIT_USAGE;
}

void
cli_close(CliProgram *p)
{
	hexc_close(p->ctx);
	p->ctx = NULL;
	hexc_cache_close(p->cache);
	p->cache = NULL;
}

int
cli_once(CliProgram *p, hexc_module **out)
{
	if (p->ir)
		return hexc_compile_ir(out, p->ctx, p->path, p->src, p->n, p->passes ? p->passes : "..");
	return hexc_compile(out, p->ctx, p->path, p->src, p->n);
}

int
cli_build(CliProgram *p, hexc_module **out)
{
	const char *trace = cli_get(p->cli, CLI_trace_search);
	int code;

	cli_progress_start(&p->progress, "compiling");
	code = cli_once(p, out);
	cli_progress_end(&p->progress);

	show_diag(p);
	if (code == HEXC_E_INTERNAL)
		show_bug(p);
	if (trace) {
		int status = cli_write(p->cli, trace, p->trace.s ? p->trace.s : "", p->trace.n);

		if (status)
			return status;
	}
	return cli_status(code);
}

int
cli_compile(Cli *c, uint32_t flags, const char *stop, hexc_module **out)
{
	CliProgram p;
	int status = cli_open(c, flags, stop, &p);

	*out = NULL;
	if (!status)
		status = cli_build(&p, out);
	cli_close(&p);
	return status;
}

int
cli_compile_ir(Cli *c, const char *path, const char *passes, hexc_module **out)
{
	CliProgram p;
	int status;

	*out = NULL;
	status = open_path(c, path, passes, 0, NULL, &p);
	if (!status)
		status = cli_build(&p, out);
	cli_close(&p);
	return status;
}

int
cli_one_kernel(const hexc_module *m)
{
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;

	if (!hexc_kernel(m, 1, &k))
		return 0;
	cli_begin_error("the program has several kernels; choose one with --kernel:");
	for (size_t i = 0; hexc_kernel(m, i, &k); i++, k.size = sizeof k)
		fprintf(stderr, " %s", k.name);
	fputc('\n', stderr);
	return EXIT_USAGE;
}
