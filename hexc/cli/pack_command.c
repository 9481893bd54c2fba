/* pack_command.c - implements hexc pack and hexc unpack: converts weights to the element order that a
 * kernel reads, in a safetensors file whose metadata specify that order. */
#include "hexc/cli/file_tensor.h"
#include "hexc/cli/base/json.h"
#include "hexc/cli/base/npy.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NPY_MOST ((size_t)1 << 36)

/* An unpacked tensor. */
typedef struct Natural {
	const char *name, *pack;
	const hexc_dtype *type;
	uint32_t rank;
	int64_t dim[HEXC_MAX_RANK];
	const unsigned char *data;
} Natural;

/* ---- what is packed ------------------------------------------------------------------------------------ */

/* Reads a tensor of a safetensors or GGUF file: usually codes of a weight. */
static int
from_file(Cli *c, const char *path, const char *name, Natural *t)
{
	FileTensorData held;
	int status = held_read(c, path, name, &held);

	if (status)
		return status;
	if (held.type != t->type)
		return cli_error(
			EXIT_INPUT,
			"%s has codes of type %s, but %s is packed as %s; compile the kernel for %s",
			name, held.type->name, t->name, t->type->name, held.type->name);
	t->rank = held.rank;
	memcpy(t->dim, held.dim, sizeof t->dim);
	t->data = held.data;
	return 0;
}

/* Reads a .npy file with one code per element. */
static int
from_npy(Cli *c, const char *path, Natural *t)
{
	char why[300];
	Npy npy;
	size_t n;
	int status;
	const char *file = cli_read(c, path, NPY_MOST, &n, &status);
	unsigned char *data;

	if (!file)
		return status;
	if (!npy_parse(&npy, file, n, why, sizeof why))
		return cli_error(EXIT_INPUT, "%s: %s", path, why);
	if (npy.size != 1 || npy.kind == 'f' || npy.rank < 2 || npy.rank > HEXC_MAX_RANK)
		return cli_error(EXIT_INPUT, "%s: codes must be bytes, one for each element, in 2 to %d "
		                             "dimensions",
		                 path, HEXC_MAX_RANK);
	t->rank = (uint32_t)npy.rank;
	memcpy(t->dim, npy.shape, sizeof *t->dim * (size_t)npy.rank);
	data = cli_try_alloc(c, (size_t)npy.count + 8);
	if (!data)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", path);
	for (int64_t i = 0; i < npy.count; i++) {
		int64_t at = i * (int64_t)t->type->bits;

		if (npy.kind == 'u' && npy.data[i] >> t->type->bits % 8 && t->type->bits < 8)
			return cli_error(EXIT_INPUT,
			                "%s: code %d of element %" PRId64
			                " exceeds the %u bits of %s",
			                 path, npy.data[i], i, t->type->bits, t->type->name);
		for (uint32_t b = 0; b < t->type->bits; b++, at++)
			data[at / 8] |= (unsigned char)((npy.data[i] >> b & 1) << at % 8);
	}
	t->data = data;
	return 0;
}

/* Parses NAME=@FILE.npy or NAME=@FILE:WEIGHT: the parameter, its pack, its data. */
static int
read_natural(Cli *c, const hexc_module *m, const char *spec, Natural *t)
{
	const char *eq = strchr(spec, '='), *path, *name;
	hexc_param_info info = HEXC_PARAM_INFO_INIT;
	size_t i;

	if (!eq || eq == spec || eq[1] != '@' || !eq[2])
		return cli_error(EXIT_USAGE, "--arg %s: expected NAME=@FILE.npy or NAME=@FILE:WEIGHT", spec);
	t->name = cli_strndup(c, spec, (size_t)(eq - spec));
	for (i = 0; hexc_param(m, 0, i, &info); i++, info.size = sizeof info)
		if (strcmp(info.name, t->name) == 0)
			break;
	if (!hexc_param(m, 0, i, &info))
		return cli_error(EXIT_USAGE, "the kernel has no parameter %s", t->name);
	t->pack = hexc_module_pack(m, 0, i);
	if (!t->pack)
		return cli_error(EXIT_INPUT, "%s is not declared `packed`; pass it unpacked", t->name);
	t->type = hexc_dtype_find(info.dtype);
	return held_split(c, eq + 2, &path, &name) ? from_file(c, path, name, t) : from_npy(c, eq + 2, t);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Writes the header: each tensor as U32, with its pack, type and shape as metadata. Blanks follow, to
 * align the data. */
static char *
header(Cli *c, const Natural *t, const uint64_t *bytes, int n)
{
	cJSON *root = cJSON_CreateObject(), *meta = cJSON_AddObjectToObject(root, "__metadata__");
	uint64_t at = 0;
	char *text;

	for (int i = 0; i < n; i++) {
		cJSON *o = cJSON_AddObjectToObject(root, t[i].name);
		const char *shape = "";

		for (uint32_t d = 0; d < t[i].rank; d++)
			shape = cli_printf(c, "%s%s%" PRId64, shape, d ? "," : "", t[i].dim[d]);
		cJSON_AddStringToObject(meta, cli_printf(c, "%s.pack", t[i].name), t[i].pack);
		cJSON_AddStringToObject(meta, cli_printf(c, "%s.shape", t[i].name), shape);
		cJSON_AddStringToObject(o, "dtype", "U32");
		cJSON_AddRawToObject(o, "shape", cli_printf(c, "[%" PRIu64 "]", bytes[i] / 4));
		cJSON_AddRawToObject(o, "data_offsets",
		                     cli_printf(c, "[%" PRIu64 ",%" PRIu64 "]", at, at + bytes[i]));
		at += bytes[i];
	}
	text = json_line(c, root);
	return text ? cli_printf(c, "%s%*s", text, (int)(8 - strlen(text) % 8), "") : NULL;
}

static int
write_packed(Cli *c, const Natural *t, int n, const char *path)
{
	uint64_t *bytes = cli_alloc(c, sizeof *bytes * (size_t)n), all = 0, len;
	char why[300], *head;
	unsigned char *file, *at;

	for (int i = 0; i < n; i++) {
		if (hexc_pack_bytes(t[i].pack, t[i].rank, t[i].dim, &bytes[i], why, sizeof why) != HEXC_OK)
			return cli_error(EXIT_INPUT, "%s: %s", t[i].name, why);
		all += bytes[i];
	}
	head = header(c, t, bytes, n);
	if (!head)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", path);
	len = strlen(head);
	file = cli_try_alloc(c, (size_t)(8 + len + all));
	if (!file)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", path);
	memcpy(file, &len, 8);
	memcpy(file + 8, head, len);
	at = file + 8 + len;
	for (int i = 0; i < n; at += bytes[i++])
		if (hexc_pack(t[i].pack, t[i].rank, t[i].dim, t[i].data, at, NULL, why, sizeof why) !=
		    HEXC_OK)
			return cli_error(EXIT_TROUBLE, "%s: %s", t[i].name, why);
	return cli_write(c, path, file, (size_t)(8 + len + all));
}

int
cli_pack(Cli *c)
{
	const char *out = cli_get(c, CLI_pack_o);
	hexc_module *m = NULL;
	Natural *t = cli_alloc(c, sizeof *t * ((size_t)c->narg + 1));
	int n = 0, status;

	if (!out)
		return cli_error(EXIT_USAGE,
		                "missing -o FILE.safetensors for the packed weights");
	status = cli_compile(c, HEXC_NO_EMIT, NULL, &m);
	if (!status)
		status = cli_one_kernel(m);
	for (int i = 0; i < c->narg && !status; i++)
		if (c->arg[i].opt == CLI_pack_arg)
			status = read_natural(c, m, c->arg[i].value, &t[n++]);
	if (!status && !n)
		status = cli_error(EXIT_USAGE,
		                  "nothing to pack; add --arg NAME=@FILE.npy or NAME=@FILE:WEIGHT");
	if (!status)
		status = write_packed(c, t, n, out);
	hexc_module_free(m);
	return status;
}

/* ---- and back ------------------------------------------------------------------------------------------ */

/* Returns element i of a bit stream, as a code. */
static unsigned char
code_of(const unsigned char *s, int64_t i, uint32_t bits)
{
	unsigned x = 0;

	for (uint32_t b = 0; b < bits; b++) {
		int64_t at = i * (int64_t)bits + b;

		x |= (unsigned)(s[at / 8] >> at % 8 & 1) << b;
	}
	return (unsigned char)x;
}

static int
unpack_one(Cli *c, const hexc_file *f, const char *spec)
{
	const char *eq = strrchr(spec, '=');
	unsigned char *out;
	int64_t count = 1;
	FileTensorData t;
	int status;

	if (!eq || eq == spec || !eq[1])
		return cli_error(EXIT_USAGE, "--save %s: expected NAME=FILE.npy", spec);
	status = held_packed(c, f, cli_strndup(c, spec, (size_t)(eq - spec)), &t);
	if (status)
		return status;
	for (uint32_t d = 0; d < t.rank; d++)
		count *= t.dim[d];
	out = cli_try_alloc(c, (size_t)count);
	if (!out)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", spec);
	for (int64_t i = 0; i < count; i++)
		out[i] = t.type->kind == 'f' ? code_of(t.data, i, t.type->bits)
		                             : (unsigned char)hexc_get_int(t.type, t.data, (uint64_t)i);
	return held_write_npy(c, eq + 1, t.type->kind == 'i' ? 'i' : 'u', 1, (int)t.rank, t.dim, out);
}

int
cli_unpack(Cli *c)
{
	hexc_file *f;
	int n, status = held_save(c, "file of packed weights", CLI_unpack_save, unpack_one, &f, &n);

	if (!status && !n)
		status = cli_error(EXIT_USAGE, "nothing to unpack; add --save NAME=FILE.npy");
	hexc_file_close(f);
	return status;
}
