/* file_tensor.c - loads FILE:NAME arguments: plain tensors, planes of weights, packed tensors. */
#include "hexc/cli/file_tensor.h"
#include "hexc/cli/base/npy.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { CONFIG_MOST = 1 << 24 }; /* maximum bytes of a model's configuration */

const char *const held_planes[HEXC_NPLANE] = {
#define X(id, name, text) #name,
	HEXC_PLANES(X)
#undef X
};

int
held_plane(char *name)
{
	char *colon = strrchr(name, ':');

	for (int i = 0; colon && i < HEXC_NPLANE; i++)
		if (strcmp(colon + 1, held_planes[i]) == 0) {
			*colon = 0;
			return i;
		}
	return -1;
}

/* ---- files ------------------------------------------------------------------------------------- */

static bool
exists(const char *path)
{
	return access(path, R_OK) == 0;
}

bool
held_file(const char *path)
{
	static const char *const ends[] = { ".gguf", ".safetensors" };
	size_t n = strlen(path), m;

	for (size_t i = 0; i < CLI_COUNT(ends); i++)
		if (n > (m = strlen(ends[i])) && strcmp(path + n - m, ends[i]) == 0)
			return true;
	return false;
}

/* Names of files and of tensors may contain colons: splits at the first one after an existing file, or
 * else after a known extension. */
bool
held_split(Cli *c, const char *text, const char **path, const char **name)
{
	if (!strchr(text, ':') || exists(text))
		return false;
	for (int by_name = 0; by_name < 2; by_name++)
		for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
			*path = cli_strndup(c, text, (size_t)(colon - text));
			*name = colon + 1;
			if (by_name ? held_file(*path) : exists(*path))
				return true;
		}
	return false;
}

/* Reads a small file next to `path`; returns NULL if there is none. */
static char *
read_beside(Cli *c, const char *path, const char *name, const char **full, size_t *n)
{
	const char *slash = strrchr(path, '/');
	int status;

	*full = slash ? cli_printf(c, "%.*s/%s", (int)(slash - path), path, name) : name;
	return exists(*full) ? cli_read(c, *full, CONFIG_MOST, n, &status) : NULL;
}

/* Reads what the model's configuration states about the file's weights: from --model-config, or from the
 * first file next to it, in the order in which AutoGPTQ searches. Such a file is ignored if it is not
 * JSON. */
static int
configure(Cli *c, const char *path, hexc_file *f)
{
	static const char *const names[] = { "quantize_config.json", "quant_config.json", "config.json" };
	const char *given = cli_get(c, CLI_model_config), *from = given;
	char why[400], *text = NULL;
	int status = 0, code;
	size_t n = 0;

	if (strcmp(hexc_file_kind(f), "safetensors") != 0)
		return 0;
	if (given)
		text = cli_read(c, given, CONFIG_MOST, &n, &status);
	for (size_t i = 0; i < CLI_COUNT(names) && !given && !text; i++)
		text = read_beside(c, path, names[i], &from, &n);
	if (!text)
		return status;
	code = hexc_file_config(f, text, n, why, sizeof why);
	if (code == HEXC_OK || (code == HEXC_E_INVALID && !given))
		return 0;
	return cli_error(code == HEXC_E_NOMEM ? EXIT_TROUBLE : EXIT_INPUT, "%s: %s", from, why);
}

int
held_open(Cli *c, const char *path, hexc_file **out)
{
	char why[400];
	int code, status = cli_input(c, path);

	*out = NULL;
	if (status)
		return status;
	code = hexc_file_open(out, path, why, sizeof why);
	if (code != HEXC_OK)
		return cli_error(code == HEXC_E_NOMEM ? EXIT_TROUBLE : EXIT_INPUT, "%s: %s", path, why);
	status = configure(c, path, *out);
	if (status) {
		hexc_file_close(*out);
		*out = NULL;
	}
	return status;
}

/* ---- packed tensors ---------------------------------------------------------------------------- */

static const char *
metadata(Cli *c, const hexc_file *f, const char *name, const char *what)
{
	const char *key, *value, *want = cli_printf(c, "%s.%s", name, what);

	for (size_t i = 0; hexc_file_meta(f, i, &key, &value); i++)
		if (strcmp(key, want) == 0)
			return value;
	return NULL;
}

static const char *
pack_of(Cli *c, const hexc_file *f, const char *name)
{
	return metadata(c, f, name, "pack");
}

/* Parses "4,8". */
static bool
read_shape(Cli *c, const char *s, FileTensorData *t)
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

int
held_packed(Cli *c, const hexc_file *f, const char *name, FileTensorData *out)
{
	const char *pack = pack_of(c, f, name), *shape = metadata(c, f, name, "shape"), *type;
	hexc_file_tensor in = HEXC_FILE_TENSOR_INIT;
	uint64_t bytes, count = 1;
	unsigned char *aligned;
	char why[300];

	memset(out, 0, sizeof *out);
	if (!pack || !shape || !hexc_file_find(f, name, &in))
		return cli_error(EXIT_INPUT, "no packed tensor %s in the file (hexc pack writes them)", name);
	type = strchr(pack, ' '); /* hexc-pack 1 TYPE */
	type = type ? strchr(type + 1, ' ') : NULL;
	out->type = type ? hexc_dtype_find(cli_strndup(c, type + 1, strcspn(type + 1, " "))) : NULL;
	out->what = "packed tensor";
	if (!out->type || !read_shape(c, shape, out) ||
	    hexc_pack_bytes(pack, out->rank, out->dim, &bytes, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_INPUT,
		                "%s: its pack or shape in the metadata is damaged: '%s', [%s]", name,
		                 pack, shape);
	if (bytes != in.bytes)
		return cli_error(EXIT_INPUT, "%s: %" PRIu64 " bytes do not match [%s] in '%s'", name,
		                 in.bytes, shape, pack);
	for (uint32_t d = 0; d < out->rank; d++)
		count *= (uint64_t)out->dim[d];
	out->bytes = (count * out->type->bits + 7) / 8;
	out->data = cli_try_alloc(c, (size_t)out->bytes + 8);
	aligned = cli_try_alloc(c, (size_t)in.bytes + 16);
	if (!out->data || !aligned)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", name);
	aligned += (16 - (uintptr_t)aligned % 16) % 16; /* the file's data may be unaligned */
	memcpy(aligned, in.data, (size_t)in.bytes);
	if (hexc_unpack(pack, out->rank, out->dim, aligned, out->data, NULL, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "%s: %s", name, why);
	return 0;
}

/* ---- contents ---------------------------------------------------------------------------------- */

static int
keep(Cli *c, FileTensorData *out, const void *data, uint64_t bytes)
{
	out->data = cli_try_alloc(c, (size_t)bytes + 8);
	if (!out->data)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", out->what);
	memcpy(out->data, data, (size_t)bytes);
	out->bytes = bytes;
	return 0;
}

static int
read_plain(Cli *c, const hexc_file_tensor *t, FileTensorData *out)
{
	out->type = hexc_dtype_find(t->dtype);
	out->what = cli_printf(c, "tensor %s", t->type);
	out->rank = t->rank;
	memcpy(out->dim, t->dim, sizeof out->dim);
	return keep(c, out, t->data, t->bytes);
}

/* Sets the dims: a weight with more than two dims has its outputs flattened, so they are read from the
 * file's tensor. */
static void
dims_of(const hexc_file *f, const char *name, const hexc_weight *w, int plane, FileTensorData *out)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;

	out->rank = plane == HEXC_PLANE_INDEX || plane == HEXC_PLANE_TABLE ? 1 : 2;
	out->dim[0] = plane == HEXC_PLANE_TABLE ? w->plane[plane].cols : w->plane[plane].rows;
	out->dim[1] = w->plane[plane].cols;
	if (plane == HEXC_PLANE_CODE && hexc_file_find(f, name, &t) && !t.dtype && t.rank > 2) {
		out->rank = t.rank;
		memcpy(out->dim, t.dim, sizeof out->dim);
	}
}

static int
read_plane(Cli *c, const hexc_file *f, const char *path, const char *name, int plane, FileTensorData *out)
{
	char why[400];
	hexc_weight *w = NULL;
	const char *has = "";
	int status, code = hexc_weight_load(&w, f, name, NULL, why, sizeof why);

	if (code != HEXC_OK)
		return cli_error(code == HEXC_E_NOMEM ? EXIT_TROUBLE : EXIT_INPUT, "%s: %s", path, why);
	for (int i = 0; i < HEXC_NPLANE; i++)
		if (w->plane[i].dtype)
			has = cli_printf(c, "%s%s %s", has, i ? "," : "", held_planes[i]);
	if (w->plane[plane].dtype) {
		out->type = hexc_dtype_find(w->plane[plane].dtype);
		out->what = cli_printf(c, "%s of %s", held_planes[plane], w->format);
		dims_of(f, name, w, plane, out);
		status = keep(c, out, w->plane[plane].data, w->plane[plane].bytes);
	} else {
		status = cli_error(EXIT_INPUT, "%s is %s, which has no plane %s; it has%s", name, w->format,
		                   held_planes[plane], has);
	}
	hexc_weight_free(w);
	return status;
}

static int
read_any(Cli *c, const hexc_file *f, const char *path, const char *name, FileTensorData *out)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	char *weight = cli_strndup(c, name, strlen(name));
	int plane;

	if (hexc_file_find(f, name, &t) && t.dtype)
		return pack_of(c, f, name) ? held_packed(c, f, name, out) : read_plain(c, &t, out);
	plane = held_plane(weight);
	return read_plane(c, f, path, weight, plane < 0 ? HEXC_PLANE_CODE : plane, out);
}

int
held_read(Cli *c, const char *path, const char *name, FileTensorData *out)
{
	hexc_file *f;
	int status = held_open(c, path, &f);

	memset(out, 0, sizeof *out);
	if (status)
		return status;
	status = read_any(c, f, path, name, out);
	hexc_file_close(f);
	return status;
}

/* ---- saving ------------------------------------------------------------------------------------ */

int
held_save(Cli *c, const char *what, CliOpt opt, int (*save)(Cli *c, const hexc_file *f, const char *spec),
          hexc_file **f, int *n)
{
	const char *path = cli_file(c, what);
	int status;

	*f = NULL;
	*n = 0;
	if (!path)
		return EXIT_USAGE;
	status = held_open(c, path, f);
	for (int i = 0; i < c->narg && !status; i++)
		if (c->arg[i].opt == opt) {
			status = save(c, *f, c->arg[i].value);
			++*n;
		}
	return status;
}

int
held_write_npy(Cli *c, const char *path, char kind, int size, int rank, const int64_t *dim, const void *data)
{
	char head[NPY_HEADER_MAX];
	size_t n = npy_header(head, kind, size, rank, dim), bytes = (size_t)size;
	char *all;

	for (int d = 0; d < rank; d++)
		bytes *= (size_t)dim[d];
	all = cli_try_alloc(c, n + bytes);
	if (!all)
		return cli_error(EXIT_TROUBLE, "%s: out of memory", path);
	memcpy(all, head, n);
	memcpy(all + n, data, bytes);
	return cli_write(c, path, all, n + bytes);
}
