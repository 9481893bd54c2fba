/* run.c - implements hexc run: compiles a kernel, executes it and writes or checks its results. */
#include "hexc/cli/run.h"
#include "lib/hexc_bundle.h"
#include <math.h>
#include <string.h>

/* EXEC_IR: the tile interpreter, on IR from the program. */
typedef enum Exec { EXEC_TILE, EXEC_IR, EXEC_SIM, EXEC_GPU } Exec;

/* auto: uses the GPU if one runs the compiled arch, and no option requires the simulator. */
static void
find_gpu(const Cli *c, Exec *out, hexc_gpu **g)
{
	const char *arch = cli_get(c, CLI_arch);
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;

	if (cli_has(c, CLI_stats) || cli_has(c, CLI_roofline) || hexc_gpu_open(g, 0, NULL, 0) != HEXC_OK)
		return;
	hexc_gpu_describe(*g, &info);
	if (arch ? hexc_gpu_runs(*g, arch) : info.arch != NULL) {
		*out = EXEC_GPU;
		return;
	}
	hexc_gpu_close(*g);
	*g = NULL;
}

static int
open_gpu(const Cli *c, hexc_gpu **g)
{
	const char *arch = cli_get(c, CLI_arch);
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	char why[400] = "";

	if (hexc_gpu_open(g, 0, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "--exec gpu: %s", why);
	hexc_gpu_describe(*g, &info);
	if (!info.arch)
		return cli_error(EXIT_TROUBLE, "--exec gpu: %s is older than every arch hexc compiles for",
		                 info.name);
	for (size_t i = 0; arch && hexc_arch(i); i++)
		if (strcmp(arch, hexc_arch(i)) == 0 && !hexc_gpu_runs(*g, arch))
			return cli_error(EXIT_TROUBLE,
			                "--exec=gpu: %s cannot run PTX for %s; use --arch %s",
			                 info.name, arch, info.arch);
	return 0;
}

/* Determines how to run, and opens the GPU if needed; the caller closes it. */
static int
read_exec(const Cli *c, Exec *out, hexc_gpu **g)
{
	const char *s = cli_get(c, CLI_exec);

	*out = EXEC_SIM;
	if (!s || strcmp(s, "auto") == 0) {
		find_gpu(c, out, g);
	} else if (strcmp(s, "tile") == 0) {
		*out = cli_has(c, CLI_from) && cli_ends_in(cli_get(c, CLI_from), ".ir") ? EXEC_IR : EXEC_TILE;
	} else if (strcmp(s, "gpu") == 0) {
		*out = EXEC_GPU;
		return open_gpu(c, g);
	} else if (strcmp(s, "sim") != 0) {
		return cli_error(EXIT_USAGE, "--exec: expected tile, sim, gpu or auto, got '%s'", s);
	}
	return 0;
}

/* ---- tile ------------------------------------------------------------------------------------- */

/* The program's output. */
typedef struct Said {
	Cli *c;
	CliText text;
	CliProgress progress;
	CliText values;
} Said;

static int
keep_on(void *user)
{
	Said *said = user;

	return cli_progress(&said->progress);
}

static void
collect(void *user, const char *text, size_t n)
{
	Said *said = user;

	cli_append(said->c, &said->text, text, n);
}

static void
value_line(void *user, const hexc_value *v)
{
	Said *said = user;

	values_add(said->c, &said->values, v);
}

/* Interprets a->m on the arguments' data. `print`: prints the program's output; otherwise only if it
 * fails. */
static int
interpret_on(Cli *c, Args *a, bool print)
{
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	Said said = { .c = c };
	const char *values = cli_get(c, CLI_values);
	char why[400] = "";
	int code, status = 0;

	o.why = why;
	o.why_size = sizeof why;
	o.print = collect;
	o.cancel = keep_on;
	o.user = &said;
	if (print && values)
		o.value = value_line;
	cli_progress_start(&said.progress, "interpreting");
	code = hexc_run_tile(a->m, a->kernel, a->arg, &o);
	cli_progress_end(&said.progress);
	if (said.text.n && (print || code))
		fwrite(said.text.s, 1, said.text.n, stdout);
	if (o.value)
		status = cli_write(c, values, said.values.s ? said.values.s : "", said.values.n);
	if (!code)
		memcpy(a->lost, why, sizeof a->lost);
	return code ? cli_error(cli_status(code), "%s", why[0] ? why : hexc_strerror(code)) : status;
}

/* Interprets a->m, IR from the program, into t->device. */
static int
run_ir(Cli *c, Args *a)
{
	for (int i = 0; i < a->n; i++) {
		Tensor *t = &a->t[i];

		if (t->info.kind != HEXC_POINTER)
			continue;
		t->device = t->info.written ? tensor_copy(c, t) : t->start;
		if (!t->device)
			return cli_error(EXIT_TROUBLE, "out of memory for %s", t->info.name);
		a->arg[i].ptr = t->device;
		a->arg[i].bytes = t->bytes;
		a->arg[i].bound = NULL;
	}
	return interpret_on(c, a, true);
}

int
run_tile(Cli *c, Args *a, bool bounds, bool print)
{
	for (int i = 0; i < a->n; i++) {
		Tensor *t = &a->t[i];
		if (t->info.kind != HEXC_POINTER)
			continue;
		t->tile = t->info.written ? tensor_copy(c, t) : t->start;
		if (bounds && t->info.written)
			t->bound = cli_try_alloc(c, t->span * sizeof *t->bound);
		if (!t->tile || (bounds && t->info.written && !t->bound))
			return cli_error(EXIT_TROUBLE, "out of memory for %s", t->info.name);
		for (uint64_t k = 0; t->bound && !t->info.read && k < t->span; k++)
			t->bound[k] = BOUND_UNWRITTEN;
		a->arg[i].ptr = t->tile;
		a->arg[i].bytes = t->bytes;
		a->arg[i].bound = t->bound;
	}
	return interpret_on(c, a, print);
}

/* ---- the command ------------------------------------------------------------------------------ */

/* --save NAME=FILE: syntax is checked before anything runs. */
static int
saves(Cli *c, const Args *a, Exec exec, bool write)
{
	int status = 0;

	for (int i = 0; i < c->narg && !status; i++) {
		const char *v = c->arg[i].value, *eq;
		const Tensor *t;
		if (c->arg[i].opt != CLI_save)
			continue;
		eq = strchr(v, '=');
		if (!eq || eq == v || !eq[1])
			return cli_error(EXIT_USAGE, "--save: expected NAME=FILE.npy, got '%s'", v);
		t = args_find(a, v, (size_t)(eq - v));
		if (!t || t->info.kind != HEXC_POINTER)
			return cli_error(EXIT_USAGE, "--save: the kernel has no tensor '%.*s'",
			                 (int)(eq - v), v);
		if (write)
			status = tensor_save(c, t, exec == EXEC_TILE ? t->tile : t->device, eq + 1);
	}
	return status;
}

/* The module to run: compiled here, or before. */
typedef struct What {
	const hexc_module *m;
	size_t kernel;
	hexc_module *made;    /* m, if it was compiled here */
	hexc_module *meaning; /* of the program, if m lacks its source */
	hexc_bundle *bundle;  /* that contains m */
} What;

/* Selects what the tile interpreter runs: for modules compiled before, the program itself. */
static void
take_meaning(const What *w, Args *a)
{
	if (!w->meaning)
		return;
	a->m = w->meaning;
	a->kernel = 0;
}

static void
take_kernel(const What *w, Args *a)
{
	a->m = w->m;
	a->kernel = w->kernel;
}

/* Results are written even if the kernel faults: they may show the cause. */
static int
execute(Cli *c, const What *w, Exec exec, hexc_gpu *g)
{
	bool check = cli_has(c, CLI_check);
	int status, wrong = 0;
	Args a;

	status = args_read(c, w->m, w->kernel, &a);
	if (!status)
		status = saves(c, &a, exec, false);
	if (!status && (exec == EXEC_TILE || check)) {
		take_meaning(w, &a);
		status = run_tile(c, &a, check, exec == EXEC_TILE);
		take_kernel(w, &a);
	}
	if (!status && exec != EXEC_TILE) {
		status = exec == EXEC_GPU ? run_gpu(c, &a, g)
		         : exec == EXEC_SIM ? run_sim(c, &a)
		                            : run_ir(c, &a);
		if (status == EXIT_WRONG) {
			wrong = status;
			status = 0;
		}
	}
	if (!status)
		status = saves(c, &a, exec, true);
	if (!status && check) {
		take_meaning(w, &a);
		status = run_estimate(c, &a, exec != EXEC_TILE);
		take_kernel(w, &a);
	}
	if (!status && check) {
		int found = run_check(&a, exec != EXEC_TILE);

		wrong = wrong ? wrong : found;
	}
	if (!status)
		status = run_expect(c, &a, exec != EXEC_TILE);
	if (!status && !wrong)
		status = cli_flush();
	return status ? status : wrong;
}

/* --ptx FILE */
static int
keep_ptx(Cli *c, const hexc_module *m)
{
	const char *to = cli_get(c, CLI_ptx), *text;
	size_t n;

	if (!to)
		return 0;
	text = hexc_ptx(m, &n);
	return cli_write(c, to, text, n);
}

/* Checks options that apply to one way of running only. */
static int
check_exec(const Cli *c, Exec exec)
{
	bool tile = exec == EXEC_TILE || exec == EXEC_IR;

	if (!tile && cli_has(c, CLI_values))
		return cli_error(EXIT_USAGE, "--values requires --exec=tile");
	if (tile && cli_has(c, CLI_stats))
		return cli_error(EXIT_USAGE, "--stats requires --exec=sim or --exec=gpu");
	if (tile && cli_has(c, CLI_ptx))
		return cli_error(EXIT_USAGE, "--ptx has no effect with --exec=tile");
	if (exec != EXEC_SIM && cli_has(c, CLI_roofline))
		return cli_error(EXIT_USAGE, "--roofline requires --exec=sim");
	if (exec != EXEC_GPU && cli_has(c, CLI_repeat))
		return cli_error(EXIT_USAGE, "--repeat requires --exec=gpu");
	if (cli_has(c, CLI_warm) && !cli_has(c, CLI_repeat))
		return cli_error(EXIT_USAGE, "--warm requires --repeat");
	return sim_check_roofline(c);
}

/* --from FILE.hxb */
static int
take_compiled(Cli *c, What *w)
{
	hexc_want want = HEXC_WANT_INIT;
	char why[400] = "";
	size_t i;
	int code = hexc_bundle_open(&w->bundle, cli_get(c, CLI_from), why, sizeof why);

	want.kernel = cli_get(c, CLI_kernel);
	want.arch = cli_get(c, CLI_arch);
	if (!code)
		code = hexc_bundle_find(w->bundle, &want, &i, why, sizeof why);
	if (!code)
		code = hexc_bundle_module(w->bundle, i, &w->m, &w->kernel, why, sizeof why);
	if (code)
		return cli_error(cli_status(code), "--from: %s", *why ? why : hexc_strerror(code));
	return cli_has(c, CLI_check) ? cli_compile(c, 0, "parse", &w->meaning) : 0;
}

/* Do the IR and the program have the same arguments? Not if packed tensors are already words. */
static int
same_arguments(const What *w)
{
	hexc_param_info x = HEXC_PARAM_INFO_INIT, y = HEXC_PARAM_INFO_INIT;

	for (size_t i = 0; hexc_param(w->meaning, 0, i, &x); i++)
		if (!hexc_param(w->m, 0, i, &y) || strcmp(x.name, y.name) != 0 || x.rank != y.rank ||
		    strcmp(x.dtype, y.dtype) != 0)
			return cli_error(EXIT_USAGE,
			                 "--from: %s is a different argument in this IR than in the "
			                 "program; if it is packed, use the IR before pass lower_packed",
			                 x.name);
	return 0;
}

/* --from FILE.ir: runs all remaining passes, or none for the interpreter. The reference is the program. */
static int
take_ir(Cli *c, Exec exec, What *w)
{
	int status = cli_compile_ir(c, cli_get(c, CLI_from), exec == EXEC_IR ? "" : "..", &w->made);

	w->m = w->made;
	if (!status)
		status = cli_one_kernel(w->m);
	if (!status)
		status = cli_compile(c, 0, "parse", &w->meaning);
	return status ? status : same_arguments(w);
}

static int
get_kernel(Cli *c, Exec exec, What *w)
{
	const char *from = cli_get(c, CLI_from);
	int status;

	if (from && exec != EXEC_TILE)
		return cli_ends_in(from, ".ir") ? take_ir(c, exec, w) : take_compiled(c, w);
	/* the interpreter needs no layouts */
	status = cli_compile(c, HEXC_LINEINFO, exec == EXEC_TILE ? "parse" : NULL, &w->made);
	w->m = w->made;
	return status ? status : cli_one_kernel(w->m);
}

static int
run(Cli *c, Exec exec, hexc_gpu *g)
{
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	What w = { .m = NULL };
	int status = check_exec(c, exec);

	if (g && hexc_gpu_describe(g, &info))
		c->arch = info.arch;
	if (!status)
		status = get_kernel(c, exec, &w);
	if (!status)
		status = keep_ptx(c, w.m);
	if (!status)
		status = execute(c, &w, exec, g);
	hexc_module_free(w.made);
	hexc_module_free(w.meaning);
	hexc_bundle_close(w.bundle);
	return status;
}

int
run_on(Cli *c, hexc_gpu *g)
{
	return run(c, EXEC_GPU, g);
}

int
cli_run(Cli *c)
{
	hexc_gpu *g = NULL;
	Exec exec;
	int status = read_exec(c, &exec, &g);

	if (!status)
		status = run(c, exec, g);
	hexc_gpu_close(g);
	return status;
}
