/* sim_arg.c - parses the arguments of `hexc sim`: scalars, buffers, tensor maps. */
#include "hexc/cli/sim.h"
#include <string.h>

static const uint64_t buffer_max = (uint64_t)4 << 30; /* limit in bytes of all buffers together */

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

/* Kind for .npy: bit patterns are unsigned. */
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
	return cli_error(EXIT_USAGE, "--arg '%s' is invalid; expected TYPE:NUMBER, @FILE.npy, "
	                             "zeros:TYPE:COUNT, tmap:FILE.json, struct:{TYPE NUMBER, ptr BUFFER, "
	                             "...}, struct:FILE or ptrs:{BUFFER, ...}", text);
}

/* Bit patterns (b32) may be signed or unsigned numbers. */
static bool
value_in_range(sim_type t, int64_t i)
{
	int bits = types[t].size * 8;
	int64_t half;

	if (bits == 64)
		return true;
	half = (int64_t)1 << (bits - 1);
	return i >= (types[t].name[0] == 'u' ? 0 : -half) && i < (types[t].name[0] == 's' ? half : 2 * half);
}

int
sim_scalar(const char *text, const char *type, const char *s, unsigned char value[8], uint32_t *bytes)
{
	sim_type t = type_find(type, strlen(type));
	double f;
	int64_t i;

	if (t == SIM_NTYPES)
		return cli_error(EXIT_USAGE, "--arg '%s': '%s' is not a PTX type such as u32 or f16", text,
		                 type);
	*bytes = (uint32_t)types[t].size;
	if (is_float(t)) {
		if (!cli_float(s, &f))
			return cli_error(EXIT_USAGE, "--arg '%s': '%s' is not a number", text, s);
		hexc_put(hexc_dtype_find(types[t].name), value, 0, f);
		return 0;
	}
	if (!(types[t].size == 8 && types[t].name[0] != 's' ? cli_u64(s, &i) : cli_int(s, &i)))
		return cli_error(EXIT_USAGE, "--arg '%s': '%s' is not a 64-bit integer", text, s);
	if (!value_in_range(t, i))
		return cli_error(EXIT_USAGE, "--arg '%s': the number is out of range", text);
	memcpy(value, &i, 8); /* little-endian: the low bytes come first */
	return 0;
}

static int
buffer(SimJob *j, SimArg *a, int index, const unsigned char *data)
{
	char name[32];

	a->buffer = true;
	if (a->bytes > buffer_max || (j->sum += a->bytes) > buffer_max)
		return cli_error(EXIT_TROUBLE,
		                "--arg '%s': the buffers need more than %llu MiB", a->text,
		                 (unsigned long long)(buffer_max >> 20));
	snprintf(name, sizeof name, "argument %d", index);
	a->ptr = sim_alloc(j->device, a->bytes, a->name ? a->name : name);
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

/* Creates a buffer of a->type. */
static int
new_buffer(SimJob *j, SimArg *a, int index, int64_t count, const unsigned char *data)
{
	a->npy.kind = type_kind(a->type);
	a->npy.size = types[a->type].size;
	a->npy.rank = 1;
	a->npy.shape[0] = a->npy.count = count;
	a->bytes = count > INT64_MAX / 8 ? UINT64_MAX : (uint64_t)count * (uint64_t)a->npy.size;
	return buffer(j, a, index, data);
}

int
sim_new_buffer(SimJob *j, SimArg *a, sim_type type, int64_t count, const unsigned char *data)
{
	a->type = type;
	return new_buffer(j, a, (int)(a - j->arg), count, data);
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
			"--arg '%s': zeros:TYPE:COUNT requires a PTX type such as f32 and a number",
			a->text);
	return new_buffer(j, a, index, count, NULL);
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

/* Does it refer to other buffers? Such arguments are read in the second round. */
static bool
holds_others(const char *text)
{
	return strncmp(text, "tmap:", 5) == 0 || strncmp(text, "struct:", 7) == 0 ||
	       strncmp(text, "ptrs:", 5) == 0;
}

static int
read_arg(SimJob *j, SimArg *a)
{
	size_t n = strcspn(a->text, ":");
	int status = sim_read_buffer(j, a, (int)(a - j->arg));
	uint32_t bytes;

	a->tmap = strncmp(a->text, "tmap:", 5) == 0;
	if (status || a->buffer || holds_others(a->text))
		return status;
	a->type = type_find(a->text, n);
	if (a->type == SIM_NTYPES || !a->text[n])
		return arg_error(a->text);
	return sim_scalar(a->text, types[a->type].name, a->text + n + 1, a->value, &bytes);
}

/* Parses --buffer NAME=@FILE.npy or zeros:TYPE:COUNT. A name is not a number, and must be unique. */
static int
read_named(SimJob *j, const char *text)
{
	SimArg *a = &j->buffer[j->nbuffer];
	size_t n = strcspn(text, "=");
	int64_t number;
	int status;

	a->name = cli_strndup(j->c, text, n);
	if (!n || !text[n] || strcspn(a->name, " ,{}+") != n || cli_int(a->name, &number) ||
	    strcmp(a->name, "null") == 0 || sim_find_buffer(j, a->name))
		return cli_error(EXIT_USAGE, "--buffer '%s': expected NAME=@FILE.npy or "
					     "NAME=zeros:TYPE:COUNT, "
		                             "where NAME is new, not a number and not null", text);
	a->text = text + n + 1;
	status = sim_read_buffer(j, a, 0);
	j->nbuffer++;
	if (!status && !a->buffer)
		return cli_error(EXIT_USAGE, "--buffer '%s': expected @FILE.npy or zeros:TYPE:COUNT after "
		                             "%s=",
		                 text, a->name);
	return status;
}

const SimArg *
sim_find_buffer(const SimJob *j, const char *name)
{
	int64_t i;

	for (int k = 0; k < j->nbuffer; k++)
		if (strcmp(j->buffer[k].name, name) == 0)
			return &j->buffer[k];
	return cli_int(name, &i) && i >= 0 && i < j->narg && j->arg[i].buffer ? &j->arg[i] : NULL;
}

int
sim_read_args(SimJob *j)
{
	int status = 0;

	j->arg = cli_alloc(j->c, sizeof *j->arg * (size_t)(j->c->narg + 1));
	j->buffer = cli_alloc(j->c, sizeof *j->buffer * (size_t)(j->c->narg + 1));
	for (int i = 0; i < j->c->narg && !status; i++) {
		const char *text = j->c->arg[i].value;
		if (j->c->arg[i].opt == CLI_buffer) {
			status = read_named(j, text);
		} else if (j->c->arg[i].opt == CLI_sim_arg) {
			SimArg *a = &j->arg[j->narg++];
			a->text = text;
			status = read_arg(j, a);
		}
	}
	for (int i = 0; i < j->narg && !status; i++) {
		SimArg *a = &j->arg[i];
		if (holds_others(a->text))
			status = a->tmap ? sim_read_tmap(j, a) : sim_read_struct(j, a);
	}
	return status;
}

uint32_t
sim_arg_bytes(const SimArg *a)
{
	if (a->block)
		return a->block_bytes;
	return a->tmap ? sizeof a->map : a->buffer ? 8
	                                           : (uint32_t)types[a->type].size;
}

const void *
sim_arg_value(const SimArg *a)
{
	if (a->block)
		return a->block;
	return a->tmap ? (const void *)&a->map : a->value;
}
