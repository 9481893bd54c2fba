/* build.c - hexc build: programs x constants x archs as one bundle. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "hexc/cli/cli.h"
#include "lib/hexc_bundle.h"
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A list with commas between its words. */
typedef struct Words {
	const char **word;
	int n;
} Words;

/* -D NAME=VALUE,... */
typedef struct Choice {
	const char *name;
	int64_t *value;
	int n, at;  /* which is next */
	bool known; /* by some program */
	bool here;  /* by the one at hand */
} Choice;

typedef struct Build {
	Cli *c;
	Words arch, cubin;
	Choice *choice;
	int nchoice;
	hexc_module **module;
	size_t n, cap;
} Build;

static Words
split(Cli *c, const char *s)
{
	size_t commas = 0;
	Words w;

	for (const char *p = s; *p; p++)
		commas += *p == ',';
	w.word = cli_alloc(c, (commas + 1) * sizeof *w.word);
	w.n = 0;
	for (;;) {
		size_t n = strcspn(s, ",");

		w.word[w.n++] = cli_strndup(c, s, n);
		if (!s[n])
			return w;
		s += n + 1;
	}
}

/* ---- options ---------------------------------------------------------------------------------- */

static int
read_choice(Build *b, const char *spec)
{
	const char *eq = strchr(spec, '=');
	Choice *to = &b->choice[b->nchoice++];
	Words w;

	if (!eq || eq == spec)
		return cli_error(EXIT_USAGE, "-D wants NAME=VALUE or NAME=VALUE,VALUE..., not '%s'", spec);
	to->name = cli_strndup(b->c, spec, (size_t)(eq - spec));
	for (Choice *d = b->choice; d < to; d++)
		if (strcmp(d->name, to->name) == 0)
			return cli_error(EXIT_USAGE, "-D %s is given twice; all values stand in one",
			                 to->name);
	w = split(b->c, eq + 1);
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
			                 "unknown arch '%s'; hexc --list-archs names those there are",
			                 b->arch.word[i]);
		for (int j = 0; j < i; j++)
			if (strcmp(b->arch.word[i], b->arch.word[j]) == 0)
				return cli_error(EXIT_USAGE, "--arch has %s twice", b->arch.word[i]);
	}
	return 0;
}

static int
read_build(Build *b)
{
	const char *arch = cli_get(b->c, CLI_archs), *cubin = cli_get(b->c, CLI_cubin);
	int status;

	if (b->c->nfile == 0)
		return cli_error(EXIT_USAGE, "which programs? Give files");
	if (!cli_has(b->c, CLI_bundle_o) && !cli_has(b->c, CLI_c_array))
		return cli_error(EXIT_USAGE, "where to? -o FILE.hxb is missing");
	b->arch = split(b->c, arch ? arch : "sm_80");
	if (cubin)
		b->cubin = split(b->c, cubin);
	b->choice = cli_alloc(b->c, sizeof *b->choice * (size_t)(b->c->narg + 1));
	for (int i = 0; i < b->c->narg; i++)
		if (b->c->arg[i].opt == CLI_choices && (status = read_choice(b, b->c->arg[i].value)))
			return status;
	return read_archs(b);
}

/* ---- cubins ----------------------------------------------------------------------------------- */

/* "sm_86": 86, and the letter behind it or 0. */
static int
sm_of(const char *arch, char *letter)
{
	char *end;
	long sm = strncmp(arch, "sm_", 3) == 0 ? strtol(arch + 3, &end, 10) : 0;

	*letter = sm > 0 ? *end : 0;
	return sm > 0 && sm < 10000 ? (int)sm : 0;
}

static bool
runs(const char *ptx, const char *cubin)
{
	char of, to;
	int from = sm_of(ptx, &of), sm = sm_of(cubin, &to);

	return of ? from == sm && of == to : from <= sm;
}

/* Is this the arch to make that cubin of: the newest that runs there? */
static bool
best_for(const Build *b, const char *arch, const char *cubin)
{
	char letter;

	if (!runs(arch, cubin))
		return false;
	for (int i = 0; i < b->arch.n; i++)
		if (runs(b->arch.word[i], cubin) && sm_of(b->arch.word[i], &letter) > sm_of(arch, &letter))
			return false;
	return true;
}

static int
run_ptxas(const char *arch, const char *from, const char *to)
{
	char option[40];
	char name[] = "ptxas", o[] = "-o";
	char *argv[] = { name, option, (char *)(uintptr_t)from, o, (char *)(uintptr_t)to, NULL };
	int status = 0, bad;
	pid_t pid;

	snprintf(option, sizeof option, "-arch=%s", arch);
	fflush(NULL);
	bad = posix_spawnp(&pid, "ptxas", NULL, NULL, argv, environ);
	if (bad)
		return cli_error(EXIT_TROUBLE,
		                 "--cubin needs ptxas of the CUDA toolkit, which cannot be run: %s",
		                 strerror(bad));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return cli_error(EXIT_TROUBLE, "ptxas: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) /* a shell's and posix_spawn's "not found" */
		return cli_error(EXIT_TROUBLE, "--cubin needs ptxas of the CUDA toolkit, which is not here");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return cli_error(EXIT_TROUBLE, "ptxas made no cubin for %s", arch);
	return 0;
}

static bool
write_plain(const char *path, const char *data, size_t n)
{
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(data, 1, n, f) == n;

	return f && fclose(f) == 0 && ok;
}

/* The cubin of m for an arch, by ptxas, in a folder of its own. */
static int
make_cubin(Build *b, const hexc_module *m, const char *arch, hexc_cubin *out)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = cli_printf(b->c, "%s/hexcXXXXXX", tmp && *tmp ? tmp : "/tmp");
	const char *ptx, *cubin;
	size_t n;
	const char *text = hexc_ptx(m, &n);
	int status = 0;

	if (!mkdtemp(folder))
		return cli_error(EXIT_TROUBLE, "%s: %s", folder, strerror(errno));
	ptx = cli_printf(b->c, "%s/a.ptx", folder);
	cubin = cli_printf(b->c, "%s/a.cubin", folder);
	if (!write_plain(ptx, text, n))
		status = cli_error(EXIT_TROUBLE, "%s: %s", ptx, strerror(errno));
	if (!status)
		status = run_ptxas(arch, ptx, cubin);
	out->arch = arch;
	if (!status)
		out->data = cli_read(b->c, cubin, (size_t)1 << 30, &out->bytes, &status);
	unlink(ptx);
	unlink(cubin);
	rmdir(folder);
	return status;
}

/* m with those that are asked for; on failure m stays as it is. */
static int
add_cubins(Build *b, hexc_module **m, const char *arch)
{
	hexc_cubin *made = cli_alloc(b->c, sizeof *made * (size_t)(b->cubin.n + 1));
	size_t n = 0, bytes = 0;
	hexc_module *with;
	void *data;
	int code;

	for (int i = 0; i < b->cubin.n; i++)
		if (best_for(b, arch, b->cubin.word[i])) {
			int status = make_cubin(b, *m, b->cubin.word[i], &made[n++]);

			if (status)
				return status;
		}
	if (!n)
		return 0;
	code = hexc_module_save(*m, made, n, NULL, 0, &bytes);
	data = malloc(bytes + 1);
	if (!code && data)
		code = hexc_module_save(*m, made, n, data, bytes, &bytes);
	if (!code)
		code = data ? hexc_module_load(&with, data, bytes, NULL, 0) : HEXC_E_NOMEM;
	free(data);
	if (code)
		return cli_error(cli_status(code), "%s", hexc_strerror(code));
	hexc_module_free(*m);
	*m = with;
	return 0;
}

/* A cubin that no arch has PTX for. */
static int
check_cubins(const Build *b)
{
	for (int i = 0; i < b->cubin.n; i++) {
		bool any = false;

		for (int a = 0; a < b->arch.n; a++)
			any = any || runs(b->arch.word[a], b->cubin.word[i]);
		if (!any)
			return cli_error(EXIT_USAGE, "--cubin %s: no PTX of --arch runs there",
			                 b->cubin.word[i]);
	}
	return 0;
}

/* ---- compiling -------------------------------------------------------------------------------- */

/* Which of -D the program at hand has constants for. */
static int
note_choices(Build *b, CliProgram *p)
{
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	hexc_module *m = NULL;
	const char *stop = p->opts.stop;
	int status;

	p->opts.stop = "parse";
	if (hexc_configure(p->ctx, &p->opts) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "out of memory");
	status = cli_build(p, &m);
	for (int i = 0; i < b->nchoice && !status; i++) {
		Choice *d = &b->choice[i];

		d->here = false;
		for (size_t n = 0; hexc_kernel(m, n, &k); n++, k.size = sizeof k)
			d->here = d->here || hexc_const_find(m, n, d->name) >= 0;
		d->known = d->known || d->here;
		d->at = 0;
	}
	hexc_module_free(m);
	p->opts.stop = stop;
	return status;
}

/* The next combination; false: all were there. */
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

static int
keep(Build *b, hexc_module *m)
{
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

static int
compile_one(Build *b, CliProgram *p, const char *arch)
{
	hexc_define *def = cli_alloc(b->c, sizeof *def * (size_t)(b->nchoice + 1));
	hexc_module *m = NULL;
	int status;

	p->opts.arch = arch;
	p->opts.define = def;
	p->opts.ndefine = 0;
	for (int i = 0; i < b->nchoice; i++)
		if (b->choice[i].here)
			def[p->opts.ndefine++] =
				(hexc_define){ b->choice[i].name, b->choice[i].value[b->choice[i].at] };
	if (hexc_configure(p->ctx, &p->opts) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "out of memory");
	status = cli_build(p, &m);
	if (!status)
		status = add_cubins(b, &m, arch);
	if (!status)
		return keep(b, m);
	hexc_module_free(m);
	return status;
}

/* For every arch and every combination. */
static int
compile_program(Build *b)
{
	CliProgram p;
	int status;

	b->c->arch = b->arch.word[0];
	status = cli_open(b->c, 0, NULL, &p);
	if (!status)
		status = note_choices(b, &p);
	for (int a = 0; a < b->arch.n && !status; a++)
		do
			status = compile_one(b, &p, b->arch.word[a]);
		while (!status && next_choice(b));
	cli_close(&p);
	return status;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* "lib/my-kernels.c": my_kernels, as C spells names. */
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
cli_write_bundle(Cli *c, const hexc_module *const *m, size_t n, const char *compiler)
{
	const char *to = cli_get(c, CLI_bundle_o), *array = cli_get(c, CLI_c_array);
	char why[600];
	size_t bytes = 0;
	void *data = NULL;
	int status, code = hexc_bundle_save(m, n, compiler, NULL, 0, &bytes, why, sizeof why);

	if (!code && (data = cli_try_alloc(c, bytes)) == NULL)
		return cli_error(EXIT_TROUBLE, "out of memory");
	if (!code)
		code = hexc_bundle_save(m, n, compiler, data, bytes, &bytes, why, sizeof why);
	if (code)
		return cli_error(code == HEXC_E_INVALID ? EXIT_INPUT : EXIT_TROUBLE, "%s", why);
	status = to ? cli_write(c, to, data, bytes) : 0;
	return !status && array ? write_array(c, array, data, bytes) : status;
}

int
cli_build_bundle(Cli *c)
{
	Build b = { .c = c };
	const char **file = c->file;
	int nfile = c->nfile, status = read_build(&b);

	if (!status)
		status = check_cubins(&b);
	for (int i = 0; i < nfile && !status; i++) {
		c->file = &file[i]; /* one at a time, as cli_open takes them */
		c->nfile = 1;
		status = compile_program(&b);
	}
	for (int i = 0; i < b.nchoice && !status; i++)
		if (!b.choice[i].known)
			status = cli_error(EXIT_INPUT, "-D %s: no program has such a constant",
			                   b.choice[i].name);
	if (!status)
		status = cli_write_bundle(c, (const hexc_module *const *)b.module, b.n, hexc_build_info());
	for (size_t i = 0; i < b.n; i++)
		hexc_module_free(b.module[i]);
	free(b.module);
	return status;
}
