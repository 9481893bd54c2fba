/* sim.c - implements hexc sim: simulates PTX of any compiler. */
#include "hexc/cli/sim.h"
#include <string.h>

enum { PTX_MAX = 256 << 20 };

/* ---- launch ----------------------------------------------------------------------------------- */

static int
read_dims(const Cli *c, CliOpt opt, const char *name, bool needed, uint32_t most, uint32_t out[3])
{
	const char *s = cli_get(c, opt);

	if (!s)
		return needed ? cli_error(EXIT_USAGE, "missing %s X[,Y[,Z]]", name) : 0;
	return cli_dims(s, most, out)
	               ? 0
	               : cli_error(EXIT_USAGE, "%s: expected X[,Y[,Z]] of numbers from 1, got '%s'",
	                           name, s);
}

/* Reads an option whose value is `what` from 0 to `most`; 0 if it is not given. */
static int
read_number(const Cli *c, CliOpt opt, const char *name, const char *what, int64_t most, int64_t *out)
{
	const char *s = cli_get(c, opt);

	*out = 0;
	if (!s || (cli_int(s, out) && *out >= 0 && *out <= most))
		return 0;
	return cli_error(EXIT_USAGE, "%s: expected %s from 0 to %lld, got '%s'",
	                 name, what, (long long)most, s);
}

static int
read_launch(SimJob *j)
{
	static const sim_launch none = SIM_LAUNCH_INIT;
	int64_t bytes, seed, faults, resident;
	int status;

	j->launch = none;
	j->entry = cli_get(j->c, CLI_entry);
	if (!j->entry)
		return cli_error(EXIT_USAGE, "missing --entry NAME");
	if ((status = read_dims(j->c, CLI_grid, "--grid", true, INT32_MAX, j->launch.grid)) ||
	    (status = read_dims(j->c, CLI_block, "--block", true, 1024, j->launch.block)) ||
	    (status = read_dims(j->c, CLI_cluster, "--cluster", false, 16, j->launch.cluster)) ||
	    (status = read_number(j->c, CLI_smem, "--smem", "a number of bytes", 1 << 20, &bytes)) ||
	    (status = read_number(j->c, CLI_resident, "--resident", "a number of blocks", UINT32_MAX,
	                          &resident)) ||
	    (status = read_number(j->c, CLI_seed, "--seed", "a number", INT64_MAX, &seed)) ||
	    (status = read_number(j->c, CLI_max_faults, "--max-faults", "a number", 1 << 20, &faults)))
		return status;
	j->launch.seed = (uint64_t)seed;
	j->launch.max_faults = (uint32_t)faults;
	j->launch.dependent = cli_has(j->c, CLI_dependent);
	j->launch.smem = (uint32_t)bytes;
	j->launch.resident = (uint32_t)resident;
	return sim_read_l2(j->c, &j->launch);
}

static int
load(SimJob *j, const char *path)
{
	sim_message msg;
	size_t n;
	int status, code;
	char *s = cli_read(j->c, path, PTX_MAX, &n, &status);

	if (!s)
		return status;
	j->path = strcmp(path, "-") == 0 ? "<stdin>" : cli_plain(j->c, path);
	j->text = s;
	code = sim_load(j->device, s, n, &j->module);
	if (code == SIM_OK)
		return 0;
	for (size_t i = 0; sim_message_at(j->device, i, &msg); i++)
		fprintf(stderr, "%s:%u:1: %s: %s\n", j->path, msg.line, cli_severity(CLI_ERROR), msg.text);
	return code == SIM_E_SOURCE ? EXIT_INPUT : sim_status(code, NULL);
}

static int
check_entry(SimJob *j)
{
	sim_entry_info e;
	sim_param_info p;

	if (!sim_entry_find(j->module, j->entry, &e)) {
		cli_begin_error("no entry '%s'; the module has", j->entry);
		for (size_t i = 0; sim_entry_at(j->module, i, &e); i++)
			fprintf(stderr, "%s %s", i ? "," : "", e.name);
		fputc('\n', stderr);
		return EXIT_USAGE;
	}
	if (e.nparam != (uint32_t)j->narg)
		return cli_error(EXIT_USAGE, "%s has %u parameters; got %d with --arg",
		                 j->entry, e.nparam, j->narg);
	for (int i = 0; i < j->narg; i++) {
		const SimArg *a = &j->arg[i];
		uint32_t have = sim_arg_bytes(a);
		if (sim_param_at(j->module, j->entry, (size_t)i, &p) && p.bytes != have)
			return cli_error(EXIT_USAGE,
			                "argument %d (%s) has %u bytes; parameter %s takes %u", i,
			                 a->text, have, p.name, p.bytes);
	}
	return 0;
}

/* --save I=FILE: with `write` false only checks the syntax. */
static int
saves(SimJob *j, bool write)
{
	int status = 0;

	for (int i = 0; i < j->c->narg && !status; i++) {
		const char *v = j->c->arg[i].value, *eq;
		const SimArg *a;
		size_t head;
		char *out;
		if (j->c->arg[i].opt != CLI_sim_save)
			continue;
		eq = strchr(v, '=');
		if (!eq || !eq[1])
			return cli_error(EXIT_USAGE,
			                 "--save: expected I=FILE.npy with the index of an argument, or "
			                 "NAME=FILE.npy with the name of a --buffer, got '%s'", v);
		a = sim_find_buffer(j, cli_strndup(j->c, v, (size_t)(eq - v)));
		if (!a)
			return cli_error(EXIT_USAGE, "--save %s: %.*s is neither a buffer argument nor a "
			                             "--buffer",
			                 v, (int)(eq - v), v);
		if (!write)
			continue;
		out = cli_try_alloc(j->c, NPY_HEADER_MAX + a->bytes);
		if (!out)
			return cli_error(EXIT_TROUBLE, "%s: out of memory", eq + 1);
		head = npy_header(out, a->npy.kind, a->npy.size, a->npy.rank, a->npy.shape);
		if (a->bytes && sim_read(j->device, a->ptr, out + head, a->bytes) != SIM_OK)
			return cli_error(EXIT_TROUBLE, "%s: the buffer cannot be read", eq + 1);
		status = cli_write(j->c, eq + 1, out, head + a->bytes);
	}
	return status;
}

void
sim_show_output(const sim_result *r)
{
	size_t n = 0;
	const char *text = r ? sim_result_output(r, &n) : "";

	fwrite(text, 1, n, stdout);
}

static int
keep_on(void *user)
{
	SimJob *j = user;

	return cli_progress(&j->progress);
}

static int
run(SimJob *j)
{
	const void **args = cli_alloc(j->c, sizeof *args * (size_t)(j->narg + 1));
	sim_result *r = NULL;
	SimReport report;
	int code, status = 0, wrong = 0;

	for (int i = 0; i < j->narg; i++)
		args[i] = sim_arg_value(&j->arg[i]);
	j->launch.args = args;
	cli_progress_start(&j->progress, "simulating");
	j->launch.cancel = keep_on;
	j->launch.user = j;
	code = sim_run(j->device, j->module, j->entry, &j->launch, &r);
	cli_progress_end(&j->progress);
	sim_end_trace(j);
	sim_show_output(r);
	if (r)
		sim_show_faults(j->path, r);
	if (code == SIM_E_FAULT)
		wrong = EXIT_WRONG;
	if (code != SIM_E_FAULT)
		status = sim_status(code, r ? sim_result_text(r) : NULL);
	if (!status) {
		memset(&report, 0, sizeof report);
		report.entry = j->entry;
		report.arch = sim_target(j->module);
		report.result = r;
		memcpy(report.grid, j->launch.grid, sizeof report.grid);
		memcpy(report.block, j->launch.block, sizeof report.block);
		status = sim_write_stats(j->c, &report);
	}
	if (!status)
		status = saves(j, true);
	sim_result_free(r);
	return status ? status : wrong;
}

int
cli_sim(Cli *c)
{
	const char *path = cli_file(c, "PTX file");
	SimJob j;
	int status;

	if (!path)
		return EXIT_USAGE;
	memset(&j, 0, sizeof j);
	j.c = c;
	status = read_launch(&j);
	if (!status)
		status = sim_check_roofline(c);
	if (status)
		return status;
	j.device = sim_open();
	if (!j.device)
		return cli_error(EXIT_TROUBLE, "out of memory");
	status = load(&j, path);
	if (!status)
		status = sim_read_args(&j);
	if (!status)
		status = check_entry(&j);
	if (!status)
		status = sim_read_filter(&j);
	if (!status)
		status = saves(&j, false);
	if (!status)
		status = sim_read_trace(&j);
	if (!status)
		status = run(&j);
	sim_close(j.device);
	return status;
}
