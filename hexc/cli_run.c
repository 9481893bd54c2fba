/* cli_run.c - hexc run. */
#include "hexc/cli_run.h"
#include <string.h>

typedef enum Exec { EXEC_TILE, EXEC_SIM, EXEC_GPU } Exec;

static int
read_exec(const Cli *c, Exec *out)
{
	const char *s = cli_get(c, CLI_exec);

	*out = EXEC_SIM;
	if (!s || strcmp(s, "sim") == 0 ||
	    strcmp(s, "auto") == 0) /* this version launches nothing: auto is sim */
		return 0;
	if (strcmp(s, "tile") == 0)
		*out = EXEC_TILE;
	else if (strcmp(s, "gpu") == 0)
		return cli_fail(
			EXIT_TROUBLE,
			"--exec gpu: this version of hexc cannot launch kernels yet; use --exec sim");
	else
		return cli_fail(EXIT_USAGE, "--exec is tile, sim, gpu or auto, not '%s'", s);
	return 0;
}

/* ---- tile ------------------------------------------------------------------------------------- */

/* What the program printed. */
typedef struct Said {
	Cli *c;
	char *s;
	size_t n, cap;
} Said;

static void
collect(void *user, const char *text, size_t n)
{
	Said *said = user;

	if (n > said->cap - said->n) {
		size_t cap = 2 * (said->n + n) + 1000;
		char *s = cli_alloc(said->c, cap);

		memcpy(s, said->s ? said->s : "", said->n);
		said->s = s;
		said->cap = cap;
	}
	memcpy(said->s + said->n, text, n);
	said->n += n;
}

/* `print`: show what the program says; otherwise only where it ends in an error. */
int
run_tile(Cli *c, Args *a, bool bounds, bool print)
{
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	Said said = { c, NULL, 0, 0 };
	char why[400] = "";
	int code;

	for (int i = 0; i < a->n; i++) {
		Tensor *t = &a->t[i];
		if (t->info.kind != HEXC_POINTER)
			continue;
		t->tile = t->info.written ? tensor_copy(c, t) : t->start;
		if (bounds && t->info.written)
			t->bound = cli_try_alloc(c, t->span * sizeof *t->bound);
		if (!t->tile || (bounds && t->info.written && !t->bound))
			return cli_fail(EXIT_TROUBLE, "out of memory for %s", t->info.name);
		a->arg[i].ptr = t->tile;
		a->arg[i].bytes = t->bytes;
		a->arg[i].bound = t->bound;
	}
	o.why = why;
	o.why_size = sizeof why;
	o.print = collect;
	o.user = &said;
	code = hexc_run_tile(a->m, a->kernel, a->arg, &o);
	if (said.n && (print || code))
		fwrite(said.s, 1, said.n, stdout);
	return code ? cli_fail(cli_status(code), "%s", why[0] ? why : hexc_strerror(code)) : 0;
}

/* ---- the command ------------------------------------------------------------------------------ */

/* --save NAME=FILE: the words are checked before anything runs. */
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
			return cli_fail(EXIT_USAGE, "--save wants NAME=FILE.npy, not '%s'", v);
		t = args_find(a, v, (size_t)(eq - v));
		if (!t || t->info.kind != HEXC_POINTER)
			return cli_fail(EXIT_USAGE, "--save: the kernel has no tensor '%.*s'",
			                (int)(eq - v), v);
		if (write)
			status = tensor_save(c, t, exec == EXEC_TILE ? t->tile : t->sim, eq + 1);
	}
	return status;
}

/* A fault in the kernel spoils its results, but they are written all the same: they may show why. */
static int
execute(Cli *c, const hexc_module *m, Exec exec)
{
	bool check = cli_has(c, CLI_check);
	int status, wrong = 0;
	Args a;

	status = args_read(c, m, 0, &a);
	if (!status)
		status = saves(c, &a, exec, false);
	if (!status && (exec == EXEC_TILE || check))
		status = run_tile(c, &a, check, exec == EXEC_TILE);
	if (!status && exec == EXEC_SIM) {
		status = run_sim(c, &a);
		if (status == EXIT_WRONG) {
			wrong = status;
			status = 0;
		}
	}
	if (!status)
		status = saves(c, &a, exec, true);
	if (!status && check && run_check(&a, exec == EXEC_SIM))
		wrong = EXIT_WRONG;
	if (!status && !wrong)
		status = cli_flush();
	return status ? status : wrong;
}

int
cli_run(Cli *c)
{
	hexc_module *m = NULL;
	Exec exec;
	int status = read_exec(c, &exec);

	if (!status && exec == EXEC_TILE && cli_has(c, CLI_stats))
		status = cli_fail(EXIT_USAGE, "--stats are the simulator's: they need --exec sim");
	if (!status && exec == EXEC_TILE && cli_has(c, CLI_roofline))
		status = cli_fail(EXIT_USAGE, "--roofline is the simulator's: it needs --exec sim");
	if (!status)
		status = sim_check_roofline(c);
	if (!status) /* the interpreter needs no layouts */
		status = cli_compile(c, 0, exec == EXEC_TILE ? "parse" : NULL, &m);
	if (!status)
		status = cli_one_kernel(m);
	if (!status)
		status = execute(c, m, exec);
	hexc_module_free(m);
	return status;
}
