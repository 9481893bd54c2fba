/* build.c - implements hexc build: compiles programs x constants x archs to one bundle. */
#include "hexc/cli/base/cli.h"
#include "lib/hexc_bundle.h"
#include <stdlib.h>
#include <string.h>

/* -D NAME=VALUE,... */
typedef struct Choice {
	const char *name;
	int64_t *value;
	int n, at;  /* index of the next value */
	bool known; /* some program declares it */
	bool here;  /* the current program declares it */
} Choice;

typedef struct Build {
	Cli *c;
	CliWords arch, cubin;
	Choice *choice;
	int nchoice;
	CliFamilies families;
	hexc_module *parsed; /* the current program, for its names */
	hexc_module **module;
	size_t n, cap;
} Build;

/* ---- options ---------------------------------------------------------------------------------- */

static int
read_choice(Build *b, const char *spec)
{
	const char *eq = strchr(spec, '=');
	Choice *to = &b->choice[b->nchoice++];
	CliWords w;

	if (!eq || eq == spec)
		return cli_error(EXIT_USAGE, "-D: expected NAME=VALUE or NAME=VALUE,VALUE..., got '%s'",
		                 spec);
	to->name = cli_strndup(b->c, spec, (size_t)(eq - spec));
	for (Choice *d = b->choice; d < to; d++)
		if (strcmp(d->name, to->name) == 0)
			return cli_error(EXIT_USAGE, "-D %s given twice; list all values in one option",
			                 to->name);
	w = cli_words(b->c, eq + 1);
	to->value = cli_alloc(b->c, sizeof *to->value * (size_t)w.n);
	to->n = w.n;
	for (int i = 0; i < w.n; i++)
		if (!cli_int(w.word[i], &to->value[i]) && (to->value[i] = hexc_type_value(w.word[i])) == 0)
			return cli_error(EXIT_USAGE,
			                 "-D %s: '%s' is neither an integer nor an element type", spec,
			                 w.word[i]);
	return 0;
}

static int
read_archs(Build *b)
{
	for (int i = 0; i < b->arch.n; i++) {
		bool known = false;

		for (size_t k = 0; hexc_arch(k); k++)
			known = known || strcmp(b->arch.word[i], hexc_arch(k)) == 0;
		if (!known)
			return cli_error(EXIT_USAGE,
			                 "unknown arch '%s'; hexc --list-archs lists them",
			                 b->arch.word[i]);
		for (int j = 0; j < i; j++)
			if (strcmp(b->arch.word[i], b->arch.word[j]) == 0)
				return cli_error(EXIT_USAGE, "--arch lists %s twice", b->arch.word[i]);
	}
	return 0;
}

static int
read_build(Build *b)
{
	const char *arch = cli_get(b->c, CLI_archs), *cubin = cli_get(b->c, CLI_cubin);
	int status;

	if (b->c->nfile == 0)
		return cli_error(EXIT_USAGE, "no input files");
	if (!cli_has(b->c, CLI_bundle_o) && !cli_has(b->c, CLI_c_array))
		return cli_error(EXIT_USAGE, "missing -o FILE.hxb");
	b->arch = cli_words(b->c, arch ? arch : "sm_80");
	if (cubin)
		b->cubin = cli_words(b->c, cubin);
	b->choice = cli_alloc(b->c, sizeof *b->choice * (size_t)(b->c->narg + 1));
	for (int i = 0; i < b->c->narg; i++)
		if (b->c->arg[i].opt == CLI_choices && (status = read_choice(b, b->c->arg[i].value)))
			return status;
	if ((status = cli_read_families(b->c, &b->families)))
		return status;
	for (int i = 0; i < b->nchoice && b->families.n; i++)
		if (b->choice[i].n != 1)
			return cli_error(EXIT_USAGE,
			                 "-D %s: with --family a constant can only have one value",
			                 b->choice[i].name);
	return read_archs(b);
}

/* ---- compiling -------------------------------------------------------------------------------- */

/* Records which of -D and --family apply to the current program's constants and kernels. */
static int
note_names(Build *b, CliProgram *p)
{
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	const char *stop = p->opts.stop;
	int status;

	p->opts.stop = "parse";
	if (hexc_configure(p->ctx, &p->opts) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "out of memory");
	status = cli_build(p, &b->parsed);
	for (int i = 0; i < b->nchoice && !status; i++) {
		Choice *d = &b->choice[i];

		d->here = false;
		for (size_t n = 0; hexc_kernel(b->parsed, n, &k); n++, k.size = sizeof k)
			d->here = d->here || hexc_const_find(b->parsed, n, d->name) >= 0;
		d->known = d->known || d->here;
		d->at = 0;
	}
	for (size_t i = 0; i < b->families.n && !status; i++)
		b->families.want[i].here = hexc_kernel_find(b->parsed, b->families.want[i].kernel) >= 0;
	p->opts.stop = stop;
	return status;
}

/* Advances to the next combination; returns false after the last. */
static bool
next_choice(Build *b)
{
	for (int i = b->nchoice - 1; i >= 0; i--) {
		Choice *d = &b->choice[i];

		if (!d->here)
			continue;
		if (++d->at < d->n)
			return true;
		d->at = 0;
	}
	return false;
}

/* Two families may require one kernel in different words. */
static bool
is_there(const Build *b, const hexc_module *m)
{
	hexc_define is, other;

	for (size_t i = 0; i < b->n; i++) {
		bool same = strcmp(hexc_ptx(m, NULL), hexc_ptx(b->module[i], NULL)) == 0;

		for (size_t d = 0; same && hexc_const(m, 0, d, &is); d++)
			same = hexc_const(b->module[i], 0, d, &other) && is.value == other.value;
		if (same)
			return true;
	}
	return false;
}

static int
append_module(Build *b, hexc_module *m)
{
	if (b->families.n && is_there(b, m)) {
		hexc_module_free(m);
		return 0;
	}
	if (b->n == b->cap) {
		size_t cap = 2 * b->cap + 16;
		hexc_module **more = realloc(b->module, cap * sizeof *more);

		if (!more) {
			hexc_module_free(m);
			return cli_error(EXIT_TROUBLE, "out of memory");
		}
		b->module = more;
		b->cap = cap;
	}
	b->module[b->n++] = m;
	return 0;
}

/* Compiles with the current p->opts. */
static int
compile_one(Build *b, CliProgram *p, const char *arch)
{
	hexc_module *m = NULL;
	int status;

	p->opts.arch = arch;
	if (hexc_configure(p->ctx, &p->opts) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "out of memory");
	status = cli_build(p, &m);
	if (!status)
		status = cli_add_cubins(b->c, &b->arch, &b->cubin, &m, arch);
	if (!status)
		return append_module(b, m);
	hexc_module_free(m);
	return status;
}

/* Compiles all kernels with the next combination of -D. */
static int
compile_choice(Build *b, CliProgram *p, const char *arch)
{
	hexc_define *def = cli_alloc(b->c, sizeof *def * (size_t)(b->nchoice + 1));

	p->opts.define = def;
	p->opts.ndefine = 0;
	for (int i = 0; i < b->nchoice; i++)
		if (b->choice[i].here)
			def[p->opts.ndefine++] =
				(hexc_define){ b->choice[i].name, b->choice[i].value[b->choice[i].at] };
	return compile_one(b, p, arch);
}

/* Compiles a kernel that a family requires: with the family's constants, and those of -D that the kernel
 * also has. */
static int
compile_want(Build *b, CliProgram *p, CliWant *w)
{
	size_t k = (size_t)hexc_kernel_find(b->parsed, w->kernel), n = w->ndefine;
	hexc_define *def = cli_alloc(b->c, sizeof *def * (n + (size_t)b->nchoice + 1));
	hexc_opts before = p->opts;
	int status = 0;

	memcpy(def, w->define, sizeof *def * n);
	for (int i = 0; i < b->nchoice; i++) {
		bool said = false;

		for (size_t d = 0; d < w->ndefine; d++)
			said = said || strcmp(def[d].name, b->choice[i].name) == 0;
		if (!said && hexc_const_find(b->parsed, k, b->choice[i].name) >= 0)
			def[n++] = (hexc_define){ b->choice[i].name, b->choice[i].value[0] };
	}
	p->opts.define = def;
	p->opts.ndefine = n;
	p->opts.kernel = w->kernel;
	if (w->candidate >= 0) {
		p->opts.candidate = (uint32_t)w->candidate;
		p->opts.assemble = NULL; /* candidate 0 is explicit too */
	}
	for (int a = 0; a < (w->arch ? 1 : b->arch.n) && !status; a++)
		status = compile_one(b, p, w->arch ? w->arch : b->arch.word[a]);
	p->opts = before;
	w->done = true;
	return status;
}

static int
compile_wanted(Build *b, CliProgram *p)
{
	int status = 0;

	for (size_t i = 0; i < b->families.n && !status; i++)
		if (b->families.want[i].here && !b->families.want[i].done)
			status = compile_want(b, p, &b->families.want[i]);
	return status;
}

/* Compiles for every arch and every combination, or what families require. */
static int
compile_program(Build *b)
{
	CliProgram p;
	int status;

	b->c->arch = b->arch.word[0];
	status = cli_open(b->c, 0, NULL, &p);
	if (!status)
		status = note_names(b, &p);
	if (!status && b->families.n)
		status = compile_wanted(b, &p);
	for (int a = 0; a < b->arch.n && !b->families.n && !status; a++)
		do
			status = compile_choice(b, &p, b->arch.word[a]);
		while (!status && next_choice(b));
	hexc_module_free(b->parsed);
	b->parsed = NULL;
	cli_close(&p);
	return status;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* Converts "lib/my-kernels.c" to the C identifier my_kernels. */
static char *
array_name(Cli *c, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *name = cli_printf(c, "%s%.*s", *base >= '0' && *base <= '9' ? "_" : "",
	                        (int)strcspn(base, "."), base);

	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')))
			*p = '_';
	return *name ? name : cli_printf(c, "bundle");
}

static int
write_array(Cli *c, const char *path, const unsigned char *data, size_t n)
{
	const char *name = array_name(c, path);
	char *text = cli_try_alloc(c, 5 * n + 2 * strlen(name) + 400), *at = text;
	int status;

	if (!text)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", path);
	at += sprintf(at,
	              "/* A bundle of kernels, made by hexc: hexc_bundle_memory() opens it. */\n"
	              "#include <stddef.h>\n\n"
	              "extern const unsigned char %s[];\nextern const size_t %s_bytes;\n\n"
	              "const size_t %s_bytes = %zu;\nconst unsigned char %s[] = {",
	              name, name, name, n, name);
	for (size_t i = 0; i < n; i++)
		at += sprintf(at, "%s%u,", i % 20 ? "" : "\n", data[i]);
	at += sprintf(at, "\n};\n");
	status = cli_write(c, path, text, (size_t)(at - text));
	return status;
}

int
cli_write_bundle(Cli *c, const hexc_module *const *m, size_t n, const char *compiler, const char *families)
{
	const char *to = cli_get(c, CLI_bundle_o), *array = cli_get(c, CLI_c_array);
	char why[600];
	size_t bytes = 0;
	void *data = NULL;
	int status, code = hexc_bundle_save_families(m, n, compiler, families, NULL, 0, &bytes, why,
	                                             sizeof why);

	if (!code && (data = cli_try_alloc(c, bytes)) == NULL)
		return cli_error(EXIT_TROUBLE, "out of memory");
	if (!code)
		code = hexc_bundle_save_families(m, n, compiler, families, data, bytes, &bytes, why,
		                                 sizeof why);
	if (code)
		return cli_error(code == HEXC_E_INVALID ? EXIT_INPUT : EXIT_TROUBLE, "%s", why);
	status = cli_check_families(data, bytes, families);
	if (!status && to)
		status = cli_write(c, to, data, bytes);
	return !status && array ? write_array(c, array, data, bytes) : status;
}

int
cli_build_bundle(Cli *c)
{
	Build b = { .c = c };
	const char **file = c->file;
	int nfile = c->nfile, status = read_build(&b);

	if (!status)
		status = cli_check_cubins(&b.arch, &b.cubin);
	for (int i = 0; i < nfile && !status; i++) {
		c->file = &file[i]; /* one at a time, for cli_open */
		c->nfile = 1;
		status = compile_program(&b);
	}
	for (int i = 0; i < b.nchoice && !status; i++)
		if (!b.choice[i].known)
			status = cli_error(EXIT_INPUT, "-D %s: no program has this constant",
			                   b.choice[i].name);
	for (size_t i = 0; i < b.families.n && !status; i++)
		if (!b.families.want[i].done)
			status = cli_error(EXIT_INPUT, "--family: no program has a kernel %s",
			                   b.families.want[i].kernel);
	if (!status)
		status = cli_write_bundle(c, (const hexc_module *const *)b.module, b.n, hexc_build_info(),
		                          b.families.text);
	for (size_t i = 0; i < b.n; i++)
		hexc_module_free(b.module[i]);
	free(b.module);
	return status;
}
