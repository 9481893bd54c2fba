/* sim_arg.c - the arguments of `hexc sim`: scalars, buffers, tensor maps. */
#include "hexc/cli/sim.h"
#include <string.h>

static const uint64_t buffer_max = (uint64_t)4 << 30; /* bytes of all buffers together */

/* ---- types ------------------------------------------------------------------------------------ */

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
	char c = types[t].name[0];

	return c == 'f' ? 'f' : (c == 's' ? 'i' : 'u');
}

static bool
is_float(sim_type t)
{
	return types[t].name[0] == 'f' || t == SIM_BF16;
}

/* ---- arguments -------------------------------------------------------------------------------- */

static int
arg_error(const char *text)
{
	return cli_error(
		EXIT_USAGE,
		"--arg '%s' is none of TYPE:NUMBER, @FILE.npy, zeros:TYPE:COUNT, tmap:FILE.json",
		text);
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
			return cli_error(EXIT_USAGE, "--arg '%s': '%s' is no number", a->text, s);
		hexc_put(d, a->value, 0, f);
		return 0;
	}
	if (!(types[a->type].size == 8 && types[a->type].name[0] != 's' ? cli_u64(s, &i) : cli_int(s, &i)))
		return cli_error(EXIT_USAGE, "--arg '%s': '%s' is no integer of 64 bits", a->text, s);
	if (!fits(a->type, i))
		return cli_error(EXIT_USAGE, "--arg '%s': the number does not fit", a->text);
	memcpy(a->value, &i, 8); /* little-endian: the low bytes come first */
	return 0;
}

static int
buffer(SimJob *j, SimArg *a, int index, const unsigned char *data)
{
	char name[32];

	a->buffer = true;
	if (a->bytes > buffer_max || (j->sum += a->bytes) > buffer_max)
		return cli_error(EXIT_TROUBLE,
		                "--arg '%s': the buffers would take more than %llu MiB", a->text,
		                 (unsigned long long)(buffer_max >> 20));
	snprintf(name, sizeof name, "argument %d", index);
	a->ptr = sim_alloc(j->device, a->bytes, name);
	if (!a->ptr)
		return cli_error(EXIT_TROUBLE, "--arg '%s': out of memory", a->text);
	memcpy(a->value, &a->ptr, 8);
	if (a->bytes && (data ? sim_write(j->device, a->ptr, data, a->bytes)
	                      : sim_fill(j->device, a->ptr, 0, a->bytes)) != SIM_OK)
		return cli_error(EXIT_TROUBLE, "--arg '%s': cannot be written", a->text);
	return 0;
}

static int
file_arg(SimJob *j, SimArg *a, int index)
{
	char why[200];
	size_t n;
	int status;
	char *s = cli_read(j->c, a->text + 1, buffer_max, &n, &status);

	if (!s)
		return status;
	if (!npy_parse(&a->npy, s, n, why, sizeof why))
		return cli_error(EXIT_INPUT, "%s: %s", a->text + 1, why);
	if (a->npy.rank > 8)
		return cli_error(EXIT_INPUT, "%s: %d dimensions; at most 8", a->text + 1, a->npy.rank);
	a->bytes = (uint64_t)a->npy.count * (uint64_t)a->npy.size;
	return buffer(j, a, index, a->npy.data);
}

/* zeros:TYPE:COUNT */
static int
zeros_arg(SimJob *j, SimArg *a, int index)
{
	const char *type = a->text + strlen("zeros:");
	size_t n = strcspn(type, ":");
	int64_t count;

	a->type = type_find(type, n);
	if (a->type == SIM_NTYPES || !type[n] || !cli_int(type + n + 1, &count) || count < 0)
		return cli_error(
			EXIT_USAGE,
			"--arg '%s': zeros:TYPE:COUNT wants a PTX type such as f32 and a number",
			a->text);
	a->npy.kind = type_kind(a->type);
	a->npy.size = types[a->type].size;
	a->npy.rank = 1;
	a->npy.shape[0] = a->npy.count = count;
	a->bytes = count > INT64_MAX / 8 ? UINT64_MAX : (uint64_t)count * (uint64_t)a->npy.size;
	return buffer(j, a, index, NULL);
}

int
sim_read_buffer(SimJob *j, SimArg *a, int index)
{
	if (a->text[0] == '@' && a->text[1])
		return file_arg(j, a, index);
	if (strncmp(a->text, "zeros:", 6) == 0)
		return zeros_arg(j, a, index);
	return 0;
}

static int
read_arg(SimJob *j, SimArg *a)
{
	size_t n = strcspn(a->text, ":");

	int status = sim_read_buffer(j, a, (int)(a - j->arg));

	a->tmap = strncmp(a->text, "tmap:", 5) == 0;
	if (status || a->buffer || a->tmap)
		return status;
	a->type = type_find(a->text, n);
	if (a->type == SIM_NTYPES || !a->text[n])
		return arg_error(a->text);
	return scalar(a, a->text + n + 1);
}

int
sim_read_args(SimJob *j)
{
	int status = 0;

	j->arg = cli_alloc(j->c, sizeof *j->arg * (size_t)(j->c->narg + 1));
	for (int i = 0; i < j->c->narg && !status; i++)
		if (j->c->arg[i].opt == CLI_sim_arg) {
			SimArg *a = &j->arg[j->narg++];
			a->text = j->c->arg[i].value;
			status = read_arg(j, a);
		}
	for (int i = 0; i < j->narg && !status; i++)
		if (j->arg[i].tmap)
			status = sim_read_tmap(j, &j->arg[i]);
	return status;
}

uint32_t
sim_arg_bytes(const SimArg *a)
{
	return a->tmap ? sizeof a->map : a->buffer ? 8
	                                           : (uint32_t)types[a->type].size;
}

const void *
sim_arg_value(const SimArg *a)
{
	return a->tmap ? (const void *)&a->map : a->value;
}
