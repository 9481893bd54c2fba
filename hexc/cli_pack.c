/* cli_pack.c - hexc pack and hexc unpack: weights in the order that a kernel reads them, in a safetensors
 * file whose metadata say which order that is. */
#include "hexc/cli.h"
#include "hexc/cli_npy.h"
#include "lib/hexc_weights.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NPY_MOST ((size_t)1 << 36)

/* A tensor in its natural form. */
typedef struct Natural {
	const char *name, *pack;
	const hexc_dtype *type;
	uint32_t rank;
	int64_t dim[HEXC_MAX_RANK];
	const unsigned char *data;
} Natural;

static int64_t
elements(const Natural *t)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < t->rank; i++)
		n *= t->dim[i];
	return n;
}

/* ---- what is packed ------------------------------------------------------------------------------------ */

/* Codes of a weight in a safetensors or GGUF file. */
static int
from_weights(Cli *c, const char *path, const char *name, Natural *t)
{
	char why[400];
	hexc_file *f;
	hexc_weight *w = NULL;
	const hexc_plane *p;
	int code = hexc_file_open(&f, path, why, sizeof why), status = 0;
	unsigned char *copy;

	if (code != HEXC_OK)
		return cli_fail(code == HEXC_E_NOMEM ? EXIT_TROUBLE : EXIT_INPUT, "%s: %s", path, why);
	code = hexc_weight_load(&w, f, name, 0, why, sizeof why);
	hexc_file_close(f);
	if (code != HEXC_OK)
		return cli_fail(code == HEXC_E_NOMEM ? EXIT_TROUBLE : EXIT_INPUT, "%s: %s", path, why);
	p = &w->plane[HEXC_PLANE_CODE];
	copy = cli_try_alloc(c, (size_t)p->bytes + 1);
	if (strcmp(p->dtype, t->type->name) != 0)
		status = cli_fail(
			EXIT_INPUT,
			"%s has codes of type %s, and %s is packed as %s: compile the kernel for %s",
			name, p->dtype, t->name, t->type->name, p->dtype);
	else if (!copy)
		status = cli_fail(EXIT_TROUBLE, "%s: out of memory", name);
	else
		t->data = memcpy(copy, p->data, (size_t)p->bytes);
	t->rank = 2;
	t->dim[0] = p->rows;
	t->dim[1] = p->cols;
	hexc_weight_free(w);
	return status;
}

/* A .npy file with a code in each element. */
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
		return cli_fail(EXIT_INPUT, "%s: %s", path, why);
	if (npy.size != 1 || npy.kind == 'f' || npy.rank < 2 || npy.rank > HEXC_MAX_RANK)
		return cli_fail(EXIT_INPUT, "%s: codes are bytes, one for each element, in 2 to %d dims",
		                path, HEXC_MAX_RANK);
	t->rank = (uint32_t)npy.rank;
	memcpy(t->dim, npy.shape, sizeof *t->dim * (size_t)npy.rank);
	data = cli_try_alloc(c, (size_t)npy.count + 8);
	if (!data)
		return cli_fail(EXIT_TROUBLE, "%s: out of memory", path);
	for (int64_t i = 0; i < npy.count; i++) {
		int64_t at = i * (int64_t)t->type->bits;

		if (npy.kind == 'u' && npy.data[i] >> t->type->bits % 8 && t->type->bits < 8)
			return cli_fail(EXIT_INPUT,
			                "%s: code %d of element %" PRId64
			                " has more than the %u bits of %s",
			                path, npy.data[i], i, t->type->bits, t->type->name);
		for (uint32_t b = 0; b < t->type->bits; b++, at++)
			data[at / 8] |= (unsigned char)((npy.data[i] >> b & 1) << at % 8);
	}
	t->data = data;
	return 0;
}

/* NAME=@FILE.npy or NAME=@FILE:WEIGHT: the parameter, its pack, its data. */
static int
read_natural(Cli *c, const hexc_module *m, const char *spec, Natural *t)
{
	const char *eq = strchr(spec, '='), *colon;
	hexc_param_info info = HEXC_PARAM_INFO_INIT;
	size_t i;

	if (!eq || eq == spec || eq[1] != '@' || !eq[2])
		return cli_fail(EXIT_USAGE, "--arg %s: NAME=@FILE.npy or NAME=@FILE:WEIGHT is wanted", spec);
	t->name = cli_strndup(c, spec, (size_t)(eq - spec));
	for (i = 0; hexc_param(m, 0, i, &info); i++, info.size = sizeof info)
		if (strcmp(info.name, t->name) == 0)
			break;
	if (!hexc_param(m, 0, i, &info))
		return cli_fail(EXIT_USAGE, "the kernel has no parameter %s", t->name);
	t->pack = hexc_module_pack(m, 0, i);
	if (!t->pack)
		return cli_fail(EXIT_INPUT, "%s is not declared `packed`: it is taken as it is", t->name);
	t->type = hexc_dtype_find(info.dtype);
	colon = strrchr(eq, ':');
	return colon ? from_weights(c, cli_strndup(c, eq + 2, (size_t)(colon - eq - 2)), colon + 1, t)
	             : from_npy(c, eq + 2, t);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

/* The header: each tensor as U32, its pack, type and shape as metadata. */
static char *
header(Cli *c, const Natural *t, const uint64_t *bytes, int n)
{
	const char *meta = "", *head = "", *shape;
	uint64_t at = 0;

	for (int i = 0; i < n; i++) {
		shape = "";
		for (uint32_t d = 0; d < t[i].rank; d++)
			shape = cli_printf(c, "%s%s%" PRId64, shape, d ? "," : "", t[i].dim[d]);
		meta = cli_printf(c, "%s%s\"%s.pack\":\"%s\",\"%s.shape\":\"%s\"", meta, i ? "," : "",
		                  t[i].name, t[i].pack, t[i].name, shape);
		head = cli_printf(c,
		                  "%s,\"%s\":{\"dtype\":\"U32\",\"shape\":[%" PRIu64
		                  "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
		                  head, t[i].name, bytes[i] / 4, at, at + bytes[i]);
		at += bytes[i];
	}
	head = cli_printf(c, "{\"__metadata__\":{%s}%s}", meta, head);
	return cli_printf(c, "%s%*s", head, (int)(8 - strlen(head) % 8), ""); /* so that data are aligned */
}

static int
write_packed(Cli *c, const Natural *t, int n, const char *path)
{
	uint64_t *bytes = cli_alloc(c, sizeof *bytes * (size_t)n), all = 0, len;
	char why[300], *head;
	unsigned char *file, *at;

	for (int i = 0; i < n; i++) {
		if (hexc_pack_bytes(t[i].pack, t[i].rank, t[i].dim, &bytes[i], why, sizeof why) != HEXC_OK)
			return cli_fail(EXIT_INPUT, "%s: %s", t[i].name, why);
		all += bytes[i];
	}
	head = header(c, t, bytes, n);
	len = strlen(head);
	file = cli_try_alloc(c, (size_t)(8 + len + all));
	if (!file)
		return cli_fail(EXIT_TROUBLE, "%s: out of memory", path);
	memcpy(file, &len, 8);
	memcpy(file + 8, head, len);
	at = file + 8 + len;
	for (int i = 0; i < n; at += bytes[i++])
		if (hexc_pack(t[i].pack, t[i].rank, t[i].dim, t[i].data, at, 0, why, sizeof why) != HEXC_OK)
			return cli_fail(EXIT_TROUBLE, "%s: %s", t[i].name, why);
	return cli_write(path, file, (size_t)(8 + len + all));
}

int
cli_pack(Cli *c)
{
	const char *out = cli_get(c, CLI_o);
	hexc_module *m = NULL;
	Natural *t = cli_alloc(c, sizeof *t * ((size_t)c->narg + 1));
	int n = 0, status;

	if (!out)
		return cli_fail(EXIT_USAGE,
		                "-o FILE.safetensors is missing: where do the packed weights go?");
	status = cli_compile(c, HEXC_NO_EMIT, NULL, &m);
	if (!status)
		status = cli_one_kernel(m);
	for (int i = 0; i < c->narg && !status; i++)
		if (c->arg[i].opt == CLI_pack_arg)
			status = read_natural(c, m, c->arg[i].value, &t[n++]);
	if (!status && !n)
		status = cli_fail(EXIT_USAGE,
		                  "nothing to pack: give --arg NAME=@FILE.npy or NAME=@FILE:WEIGHT");
	if (!status)
		status = write_packed(c, t, n, out);
	hexc_module_free(m);
	return status;
}

/* ---- and back ------------------------------------------------------------------------------------------ */

static const char *
metadata(Cli *c, const hexc_file *f, const char *name, const char *what)
{
	const char *key, *value, *want = cli_printf(c, "%s.%s", name, what);

	for (size_t i = 0; hexc_file_meta(f, i, &key, &value); i++)
		if (strcmp(key, want) == 0)
			return value;
	return NULL;
}

/* "4,8" */
static bool
read_shape(Cli *c, const char *s, Natural *t)
{
	while (t->rank < HEXC_MAX_RANK) {
		size_t n = strcspn(s, ",");

		if (!cli_int(cli_strndup(c, s, n), &t->dim[t->rank++]) || t->dim[t->rank - 1] < 0)
			return false;
		if (!s[n])
			return t->rank >= 2;
		s += n + 1;
	}
	return false;
}

/* Element i of a bit stream, as a code. */
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
	const char *eq = strrchr(spec, '='), *shape, *type;
	hexc_file_tensor in = HEXC_FILE_TENSOR_INIT;
	Natural t = { NULL, NULL, NULL, 0, { 0 }, NULL };
	char why[300], head[NPY_HEADER_MAX];
	unsigned char *natural, *out;
	uint64_t bytes;
	size_t n;
	int64_t count;

	if (!eq || eq == spec || !eq[1])
		return cli_fail(EXIT_USAGE, "--save %s: NAME=FILE.npy is wanted", spec);
	t.name = cli_strndup(c, spec, (size_t)(eq - spec));
	t.pack = metadata(c, f, t.name, "pack");
	shape = metadata(c, f, t.name, "shape");
	if (!t.pack || !shape || !hexc_file_find(f, t.name, &in))
		return cli_fail(EXIT_INPUT, "the file has no packed tensor %s: hexc pack writes such",
		                t.name);
	type = strchr(t.pack, ' '); /* hexc-pack 1 TYPE */
	type = type ? strchr(type + 1, ' ') : NULL;
	t.type = type ? hexc_dtype_find(cli_strndup(c, type + 1, strcspn(type + 1, " "))) : NULL;
	if (!t.type || !read_shape(c, shape, &t) ||
	    hexc_pack_bytes(t.pack, t.rank, t.dim, &bytes, why, sizeof why) != HEXC_OK)
		return cli_fail(EXIT_INPUT,
		                "%s: its pack or its shape in the metadata is damaged: '%s', [%s]",
		                t.name, t.pack, shape);
	if (bytes != in.bytes)
		return cli_fail(EXIT_INPUT, "%s: %" PRIu64 " bytes do not go with [%s] in '%s'", t.name,
		                in.bytes, shape, t.pack);
	count = elements(&t);
	natural = cli_try_alloc(c, (size_t)count + 8); /* codes are at most a byte */
	n = npy_header(head, t.type->kind == 'i' ? 'i' : 'u', 1, (int)t.rank, t.dim);
	out = cli_try_alloc(c, n + (size_t)count + (size_t)in.bytes + 16);
	if (!natural || !out)
		return cli_fail(EXIT_TROUBLE, "%s: out of memory", t.name);
	{
		unsigned char *aligned = out + (16 - (uintptr_t)out % 16) % 16; /* the file's need not be */

		memcpy(aligned, in.data, (size_t)in.bytes);
		if (hexc_unpack(t.pack, t.rank, t.dim, aligned, natural, 0, why, sizeof why) != HEXC_OK)
			return cli_fail(EXIT_TROUBLE, "%s: %s", t.name, why);
	}
	memcpy(out, head, n);
	for (int64_t i = 0; i < count; i++)
		out[n + (size_t)i] = t.type->kind == 'f'
		                             ? code_of(natural, i, t.type->bits)
		                             : (unsigned char)hexc_get_int(t.type, natural, (uint64_t)i);
	return cli_write(eq + 1, out, n + (size_t)count);
}

int
cli_unpack(Cli *c)
{
	const char *path = cli_file(c, "file of packed weights");
	char why[400];
	hexc_file *f;
	int code, status = 0, n = 0;

	if (!path)
		return EXIT_USAGE;
	code = hexc_file_open(&f, path, why, sizeof why);
	if (code != HEXC_OK)
		return cli_fail(code == HEXC_E_NOMEM ? EXIT_TROUBLE : EXIT_INPUT, "%s: %s", path, why);
	for (int i = 0; i < c->narg && !status; i++)
		if (c->arg[i].opt == CLI_unpack_save) {
			status = unpack_one(c, f, c->arg[i].value);
			n++;
		}
	if (!status && !n)
		status = cli_fail(EXIT_USAGE, "nothing to unpack: give --save NAME=FILE.npy");
	hexc_file_close(f);
	return status;
}
