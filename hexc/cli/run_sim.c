/* run_sim.c - runs a compiled kernel in the simulator, from hexc_kernel_info only. */
#include "hexc/cli/run.h"
#include <stdlib.h>
#include <string.h>

/* State of a launch. */
typedef struct SimLaunch {
	sim *device;
	sim_module *module;
	sim_launch launch;
	uint64_t *ptr;   /* device address of each tensor */
	uint64_t *value; /* of each parameter, in parameter space */
	const void **args; /* pointers to value, then to the tensor maps */
	sim_tmap *map;
	SimReport report;
	sim_result *result;
	const char *name; /* name of the PTX in messages */
} SimLaunch;

static int
load_ptx(SimLaunch *l, const hexc_module *m)
{
	size_t n;
	const char *ptx = hexc_ptx(m, &n);
	int code = sim_load(l->device, ptx, n, &l->module);
	sim_message msg;

	if (code == SIM_OK)
		return 0;
	for (size_t i = 0; sim_message_at(l->device, i, &msg); i++)
		fprintf(stderr, "%s:%u:1: %s: %s\n", l->name, msg.line, cli_severity(CLI_ERROR), msg.text);
	return cli_error(EXIT_TROUBLE, "the simulator cannot run this PTX: %s", sim_strerror(code));
}

enum { WORD = 4, BEHIND = 0xa5 };

/* Returns the bytes after tensor t to the end of its last 32-bit word: 8-bit updates access the entire
 * word, which the driver's allocations permit, and leave those bytes unchanged. */
static size_t
behind(const Tensor *t, uint64_t bytes)
{
	return t->info.kind == HEXC_POINTER && t->info.bits == 8 && t->info.read && t->info.written
	               ? (size_t)(-bytes % WORD)
	               : 0;
}

/* Outputs that no --arg filled count as uninitialized. */
static int
send_tensors(Cli *c, SimLaunch *l, const Args *a)
{
	for (int i = 0; i < a->n; i++) {
		const Tensor *t = &a->t[i];
		const unsigned char *data;
		uint64_t bytes;
		int status;

		if (t->info.kind != HEXC_POINTER)
			continue;
		status = launch_form(c, a, i, &data, &bytes);
		if (status)
			return status;
		l->ptr[i] = sim_alloc(l->device, bytes + behind(t, bytes), t->info.name);
		if (!l->ptr[i] || (bytes && sim_write(l->device, l->ptr[i], data, bytes) != SIM_OK) ||
		    sim_fill(l->device, l->ptr[i] + bytes, BEHIND, behind(t, bytes)) != SIM_OK)
			return cli_error(EXIT_TROUBLE, "out of memory for %s", t->info.name);
		if (t->value.kind == V_NONE && bytes)
			sim_mark(l->device, l->ptr[i], bytes, 0);
	}
	return 0;
}

static int
set_args(Cli *c, SimLaunch *l, const Args *a)
{
	hexc_arg *arg = cli_alloc(c, sizeof *arg * (size_t)(a->n + 1));
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	void *params[HEXC_MAX_PARAMS];
	char why[300] = "";
	int code;

	hexc_kernel(a->m, a->kernel, &k);
	l->args = cli_alloc(c, sizeof *l->args * (size_t)(a->n + 1 + (int)k.nmap));

	for (int i = 0; i < a->n; i++) {
		arg[i] = a->arg[i];
		arg[i].ptr = (void *)(uintptr_t)l->ptr[i];
	}
	code = hexc_launch_params(a->m, a->kernel, arg, l->value, params);
	/* as a host encodes them with the driver */
	l->map = cli_alloc(c, sizeof *l->map * (k.nmap + 1));
	if (!code)
		code = hexc_tensor_maps(a->m, a->kernel, arg, sim_tmap_tiled, l->map, params + a->n, why,
		                        sizeof why);
	for (int i = 0; i < a->n + (int)k.nmap && !code; i++)
		l->args[i] = params[i];
	return code ? cli_error(EXIT_TROUBLE, "%s", *why ? why : hexc_strerror(code)) : 0;
}

static int
read_sim(void *user, int i, void *to, uint64_t bytes)
{
	const SimLaunch *l = user;
	int code = sim_read(l->device, l->ptr[i], to, bytes);

	return code == SIM_OK ? 0 : sim_status(code, NULL);
}

static int
check_behind(Cli *c, const SimLaunch *l, const Args *a)
{
	for (int i = 0; i < a->n; i++) {
		unsigned char word[WORD];
		const unsigned char *data;
		uint64_t bytes;
		size_t n;
		int status = a->t[i].info.kind == HEXC_POINTER ? launch_form(c, a, i, &data, &bytes) : -1;

		if (status > 0)
			return status;
		n = status ? 0 : behind(&a->t[i], bytes);
		if (n && sim_read(l->device, l->ptr[i] + bytes, word, n) != SIM_OK)
			return cli_error(EXIT_TROUBLE, "%s cannot be read", a->t[i].info.name);
		for (size_t k = 0; k < n; k++)
			if (word[k] != BEHIND)
				return cli_error(EXIT_WRONG,
						"out-of-bounds write: byte %zu past the end of %s changed", k,
				                 a->t[i].info.name);
	}
	return 0;
}

/* Returns the blocks that the GPU of --roofline holds at a time, or else the largest one of the arch; 0:
 * unknown. */
static uint32_t
resident(Cli *c, const Args *a, const hexc_kernel_info *k, const char *arch)
{
	const char *name = cli_get(c, CLI_roofline);
	hexc_candidate_info solution = HEXC_CANDIDATE_INFO_INIT;
	uint32_t sms = 0, sm = (uint32_t)strtoul(arch + strlen("sm_"), NULL, 10);
	sim_gpu g;

	if (!hexc_candidate(a->m, a->kernel, k->candidate, &solution))
		return 0;
	if (name && sim_gpu_find(name, &g))
		return g.sms * solution.together;
	for (size_t i = 0; sim_gpu_at(i, &g); i++)
		if (g.cc == sm && g.sms > sms)
			sms = g.sms;
	return sms * solution.together;
}

/* Sets grid, block and shared memory as in the manifest. */
static int
set_launch(Cli *c, SimLaunch *l, const Args *a)
{
	static const sim_launch none = SIM_LAUNCH_INIT;
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	sim_entry_info e;

	hexc_kernel(a->m, a->kernel, &k);
	l->launch = none;
	if (hexc_grid(a->m, a->kernel, a->arg, l->launch.grid) != HEXC_OK)
		return cli_error(EXIT_INPUT, "the grid cannot be computed for these sizes");
	memcpy(l->launch.block, k.block, sizeof k.block);
	memcpy(l->launch.cluster, k.cluster, sizeof k.cluster);
	l->launch.smem = k.smem;
	l->launch.dependent = k.pdl; /* hosts may launch it so */
	l->launch.cooperative = k.cooperative;
	if (k.cooperative)
		l->launch.resident = resident(c, a, &k, sim_target(l->module));
	l->launch.args = l->args;
	l->report.entry = k.name;
	l->report.arch = sim_target(l->module);
	memcpy(l->report.grid, l->launch.grid, sizeof l->report.grid);
	memcpy(l->report.block, k.block, sizeof k.block);
	l->report.smem = k.smem;
	if (!sim_entry_find(l->module, k.name, &e) || e.nparam != k.nparam + k.nmap)
		return cli_error(EXIT_TROUBLE,
		                "the PTX and the manifest do not agree on the parameters of %s",
		                 k.name);
	return sim_read_l2(c, &l->launch);
}

static int
launch(Cli *c, SimLaunch *l, Args *a)
{
	const uint32_t *g = l->launch.grid;
	int status = 0, code, wrong = 0;
	CliProgress progress;

	if (g[0] && g[1] && g[2]) {
		cli_progress_start(&progress, "simulating");
		l->launch.cancel = cli_progress;
		l->launch.user = &progress;
		code = sim_run(l->device, l->module, l->report.entry, &l->launch, &l->result);
		cli_progress_end(&progress);
		l->report.result = l->result;
		sim_show_output(l->result);
		if (l->result)
			sim_show_faults(l->name, l->result);
		if (code == SIM_E_FAULT)
			wrong = EXIT_WRONG;
		if (wrong && !cli_has(c, CLI_ptx))
			fprintf(stderr, "hexc: %s: --ptx FILE saves the PTX\n", cli_severity(CLI_NOTE));
		if (code != SIM_E_FAULT)
			status = sim_status(code, l->result ? sim_result_text(l->result) : NULL);
	}
	if (!status)
		status = launch_results(c, a, read_sim, l);
	if (!status)
		status = check_behind(c, l, a);
	if (!status)
		status = sim_write_stats(c, &l->report);
	return status ? status : wrong;
}

int
run_sim(Cli *c, Args *a)
{
	SimLaunch l;
	int status;

	memset(&l, 0, sizeof l);
	l.ptr = cli_alloc(c, sizeof *l.ptr * (size_t)(a->n + 1));
	l.value = cli_alloc(c, sizeof *l.value * (size_t)(a->n + 1));
	l.device = sim_open();
	if (!l.device)
		return cli_error(EXIT_TROUBLE, "out of memory");
	l.name = cli_has(c, CLI_ptx) ? cli_plain(c, cli_get(c, CLI_ptx)) : "<ptx>";
	status = load_ptx(&l, a->m);
	if (!status)
		status = send_tensors(c, &l, a);
	if (!status)
		status = set_args(c, &l, a);
	if (!status)
		status = set_launch(c, &l, a);
	if (!status)
		status = launch(c, &l, a);
	sim_result_free(l.result);
	sim_close(l.device);
	return status;
}
