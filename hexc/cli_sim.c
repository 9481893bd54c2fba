/* cli_sim.c - hexc sim: PTX of any producer. */
#include "hexc/cli_npy.h"
#include "hexc/cli_run.h"
#include <string.h>

enum { PTX_MAX = 256 << 20 };
static const uint64_t buffer_max = (uint64_t)4 << 30;

/* One --arg. */
typedef struct SimArg {
	const char *text;
	sim_type type;           /* of a scalar, or of a buffer's elements */
	bool buffer;
	unsigned char value[8];  /* of the scalar, or the device address */
	Npy npy;                 /* of the buffer: its shape and type for --save */
	uint64_t bytes;
	uint64_t ptr;
} SimArg;

typedef struct SimJob {
	Cli *c;
	sim *device;
	sim_module *module;
	SimArg *arg;
	int narg;
	sim_launch launch;
	const char *entry;
	uint64_t sum; /* bytes of all buffers */
} SimJob;

/* ---- types ------------------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	int size; /* bytes */
} types[SIM_NTYPES] = {
#define X(id, suffix, bytes) [SIM_##id] = { #suffix, bytes },
	SIM_PARAM_TYPES(X)
#undef X
};

static sim_type
type_find(const char *s, size_t n)
{
	for (int i = 0; i < SIM_NTYPES; i++)
		if (strlen(types[i].name) == n && memcmp(types[i].name, s, n) == 0)
			return (sim_type)i;
	return SIM_NTYPES;
}

/* In .npy: bit patterns are unsigned. */
static char
type_kind(sim_type t)
{
	return types[t].name[0] == 'f' ? 'f' : types[t].name[0] == 's' ? 'i' : 'u';
}

static bool
is_float(sim_type t)
{
	return types[t].name[0] == 'f' || t == SIM_BF16;
}

/* ---- arguments -------------------------------------------------------------------------------------------- */

static int
bad_arg(const char *text)
{
	return cli_fail(EXIT_USAGE, "--arg '%s' is none of TYPE:NUMBER, @FILE.npy, zeros:TYPE:COUNT, tmap:FILE.json", text);
}

/* Bit patterns (b32) may be written with a sign or without. */
static bool
fits(sim_type t, int64_t i)
{
	int bits = types[t].size * 8;
	int64_t half;

	if (bits == 64)
		return true;
	half = (int64_t)1 << (bits - 1);
	return i >= (types[t].name[0] == 'u' ? 0 : -half) && i < (types[t].name[0] == 's' ? half : 2 * half);
}

/* "u32:5", type already known. */
static int
scalar(SimArg *a, const char *s)
{
	const hexc_dtype *d;
	double f;
	int64_t i;

	if (is_float(a->type)) {
		d = hexc_dtype_find(types[a->type].name);
		if (!cli_float(s, &f))
			return cli_fail(EXIT_USAGE, "--arg '%s': '%s' is no number", a->text, s);
		hexc_put(d, a->value, 0, f);
		return 0;
	}
	if (!cli_int(s, &i))
		return cli_fail(EXIT_USAGE, "--arg '%s': '%s' is no integer of 64 bits", a->text, s);
	if (!fits(a->type, i))
		return cli_fail(EXIT_USAGE, "--arg '%s': the number does not fit", a->text);
	memcpy(a->value, &i, 8); /* little-endian: the low bytes come first */
	return 0;
}

static int
buffer(SimJob *j, SimArg *a, const unsigned char *data)
{
	char name[32];

	a->buffer = true;
	if (a->bytes > buffer_max || (j->sum += a->bytes) > buffer_max)
		return cli_fail(EXIT_TROUBLE, "--arg '%s': the buffers would take more than %llu MiB", a->text,
		                (unsigned long long)(buffer_max >> 20));
	snprintf(name, sizeof name, "argument %d", (int)(a - j->arg));
	a->ptr = sim_alloc(j->device, a->bytes, name);
	if (!a->ptr)
		return cli_fail(EXIT_TROUBLE, "--arg '%s': out of memory", a->text);
	memcpy(a->value, &a->ptr, 8);
	if (a->bytes && (data ? sim_write(j->device, a->ptr, data, a->bytes)
	                      : sim_fill(j->device, a->ptr, 0, a->bytes)) != SIM_OK)
		return cli_fail(EXIT_TROUBLE, "--arg '%s': cannot be written", a->text);
	return 0;
}

static int
file_arg(SimJob *j, SimArg *a)
{
	char why[200];
	size_t n;
	int status;
	char *s = cli_read(j->c, a->text + 1, buffer_max, &n, &status);

	if (!s)
		return status;
	if (!npy_parse(&a->npy, s, n, why, sizeof why))
		return cli_fail(EXIT_INPUT, "%s: %s", a->text + 1, why);
	if (a->npy.rank > 8)
		return cli_fail(EXIT_INPUT, "%s: %d dimensions; at most 8", a->text + 1, a->npy.rank);
	a->bytes = (uint64_t)a->npy.count * (uint64_t)a->npy.size;
	return buffer(j, a, a->npy.data);
}

/* zeros:TYPE:COUNT */
static int
zeros_arg(SimJob *j, SimArg *a)
{
	const char *type = a->text + strlen("zeros:");
	size_t n = strcspn(type, ":");
	int64_t count;

	a->type = type_find(type, n);
	if (a->type == SIM_NTYPES || !type[n] || !cli_int(type + n + 1, &count) || count < 0)
		return cli_fail(EXIT_USAGE, "--arg '%s': zeros:TYPE:COUNT wants a PTX type such as f32 and a number",
		                a->text);
	a->npy.kind = type_kind(a->type);
	a->npy.size = types[a->type].size;
	a->npy.rank = 1;
	a->npy.shape[0] = a->npy.count = count;
	a->bytes = count > INT64_MAX / 8 ? UINT64_MAX : (uint64_t)count * (uint64_t)a->npy.size;
	return buffer(j, a, NULL);
}

/* The JSON is looked at, so that a wrong file is told from what cannot be done yet. */
static int
tmap_arg(SimJob *j, SimArg *a)
{
	const char *path = a->text + strlen("tmap:");
	size_t n;
	int status;
	char *s = cli_read(j->c, path, 1 << 20, &n, &status);
	cJSON *root;

	if (!s)
		return status;
	root = cJSON_ParseWithLength(s, n);
	if (!cJSON_IsObject(root)) {
		cJSON_Delete(root);
		return cli_fail(EXIT_INPUT, "%s: no JSON object", path);
	}
	cJSON_Delete(root);
	return cli_fail(EXIT_TROUBLE, "--arg '%s': this version cannot simulate tensor maps yet", a->text);
}

static int
read_arg(SimJob *j, SimArg *a)
{
	size_t n = strcspn(a->text, ":");

	if (a->text[0] == '@' && a->text[1])
		return file_arg(j, a);
	if (strncmp(a->text, "zeros:", 6) == 0)
		return zeros_arg(j, a);
	if (strncmp(a->text, "tmap:", 5) == 0)
		return tmap_arg(j, a);
	a->type = type_find(a->text, n);
	if (a->type == SIM_NTYPES || !a->text[n])
		return bad_arg(a->text);
	return scalar(a, a->text + n + 1);
}

static int
read_args(SimJob *j)
{
	int status = 0;

	j->arg = cli_alloc(j->c, sizeof *j->arg * (size_t)(j->c->narg + 1));
	for (int i = 0; i < j->c->narg && !status; i++)
		if (j->c->arg[i].opt == CLI_sim_arg) {
			SimArg *a = &j->arg[j->narg++];
			a->text = j->c->arg[i].value;
			status = read_arg(j, a);
		}
	return status;
}

/* ---- launch -------------------------------------------------------------------------------------------------- */

static int
read_dims(const Cli *c, CliOpt opt, const char *name, bool needed, uint32_t most, uint32_t out[3])
{
	const char *s = cli_get(c, opt);

	if (!s)
		return needed ? cli_fail(EXIT_USAGE, "%s X[,Y[,Z]] is needed", name) : 0;
	return cli_dims(s, most, out) ? 0 : cli_fail(EXIT_USAGE, "%s wants X[,Y[,Z]] of numbers from 1, not '%s'", name, s);
}

static int
read_launch(SimJob *j)
{
	static const sim_launch none = SIM_LAUNCH_INIT;
	const char *smem = cli_get(j->c, CLI_smem);
	int64_t bytes = 0;
	int status;

	j->launch = none;
	j->entry = cli_get(j->c, CLI_entry);
	if (!j->entry)
		return cli_fail(EXIT_USAGE, "--entry NAME is needed: which kernel?");
	if ((status = read_dims(j->c, CLI_grid, "--grid", true, INT32_MAX, j->launch.grid)) ||
	    (status = read_dims(j->c, CLI_block, "--block", true, 1024, j->launch.block)) ||
	    (status = read_dims(j->c, CLI_cluster, "--cluster", false, 16, j->launch.cluster)))
		return status;
	if (smem && (!cli_int(smem, &bytes) || bytes < 0 || bytes > (1 << 20)))
		return cli_fail(EXIT_USAGE, "--smem wants a number of bytes up to %d, not '%s'", 1 << 20, smem);
	j->launch.smem = (uint32_t)bytes;
	return 0;
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
	code = sim_load(j->device, s, n, &j->module);
	if (code == SIM_OK)
		return 0;
	for (size_t i = 0; sim_message_at(j->device, i, &msg); i++)
		fprintf(stderr, "%s:%u:1: error: %s\n", path, msg.line, msg.text);
	return code == SIM_E_SOURCE ? EXIT_INPUT : sim_status(code, NULL);
}

static int
check_entry(SimJob *j)
{
	sim_entry_info e;
	sim_param_info p;

	if (!sim_entry_find(j->module, j->entry, &e)) {
		fprintf(stderr, "hexc: error: there is no entry '%s'; there are", j->entry);
		for (size_t i = 0; sim_entry_at(j->module, i, &e); i++)
			fprintf(stderr, "%s %s", i ? "," : "", e.name);
		fputc('\n', stderr);
		return EXIT_USAGE;
	}
	if (e.nparam != (uint32_t)j->narg)
		return cli_fail(EXIT_USAGE, "%s takes %u arguments; %d are given with --arg", j->entry, e.nparam, j->narg);
	for (int i = 0; i < j->narg; i++) {
		const SimArg *a = &j->arg[i];
		uint32_t have = a->buffer ? 8 : (uint32_t)types[a->type].size;
		if (sim_param_at(j->module, j->entry, (size_t)i, &p) && p.bytes != have)
			return cli_fail(EXIT_USAGE, "argument %d (%s) has %u bytes; parameter %s takes %u", i, a->text, have,
			                p.name, p.bytes);
	}
	return 0;
}

/* --save I=FILE: `write` false looks at the words only. */
static int
saves(SimJob *j, bool write)
{
	int status = 0;

	for (int i = 0; i < j->c->narg && !status; i++) {
		const char *v = j->c->arg[i].value, *eq;
		const SimArg *a;
		int64_t n;
		size_t head;
		char *out;
		if (j->c->arg[i].opt != CLI_sim_save)
			continue;
		eq = strchr(v, '=');
		if (!eq || !eq[1] || !cli_int(cli_strndup(j->c, v, (size_t)(eq - v)), &n))
			return cli_fail(EXIT_USAGE, "--save wants I=FILE.npy with the number of an argument, not '%s'", v);
		if (n < 0 || n >= j->narg || !j->arg[n].buffer)
			return cli_fail(EXIT_USAGE, "--save %s: argument %lld is no buffer", v, (long long)n);
		if (!write)
			continue;
		a = &j->arg[n];
		out = cli_try_alloc(j->c, NPY_HEADER_MAX + a->bytes);
		if (!out)
			return cli_fail(EXIT_TROUBLE, "%s: out of memory", eq + 1);
		head = npy_header(out, a->npy.kind, a->npy.size, a->npy.rank, a->npy.shape);
		if (a->bytes && sim_read(j->device, a->ptr, out + head, a->bytes) != SIM_OK)
			return cli_fail(EXIT_TROUBLE, "%s: the buffer cannot be read", eq + 1);
		status = cli_write(eq + 1, out, head + a->bytes);
	}
	return status;
}

static int
run(SimJob *j, const char *path)
{
	const void **args = cli_alloc(j->c, sizeof *args * (size_t)(j->narg + 1));
	sim_result *r = NULL;
	SimReport report;
	int code, status = 0, wrong = 0;

	for (int i = 0; i < j->narg; i++)
		args[i] = j->arg[i].value;
	j->launch.args = args;
	code = sim_run(j->device, j->module, j->entry, &j->launch, &r);
	if (r && sim_show_faults(path, r))
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
	if (status)
		return status;
	j.device = sim_open();
	if (!j.device)
		return cli_fail(EXIT_TROUBLE, "out of memory");
	status = load(&j, path);
	if (!status)
		status = read_args(&j);
	if (!status)
		status = check_entry(&j);
	if (!status)
		status = saves(&j, false);
	if (!status)
		status = run(&j, strcmp(path, "-") == 0 ? "<stdin>" : path);
	sim_close(j.device);
	return status;
}
