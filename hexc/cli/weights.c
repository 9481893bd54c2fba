/* weights.c - implements hexc weights: lists the contents of a safetensors or GGUF file, and writes planes
 * as .npy. */
#include "hexc/cli/file_tensor.h"
#include "hexc/cli/base/json.h"
#include "hexc/cli/base/npy.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- listing ------------------------------------------------------------------------------------------- */

static double
bits_each(uint64_t bytes, double elements)
{
	return elements > 0 ? 8 * (double)bytes / elements : 0;
}

/* Describes the planes: "codes u4, scale u8/32 x f16/256, offset u8/32 x f16/256". */
static const char *
scheme(Cli *c, const hexc_weight *w)
{
	const char *s = cli_printf(c, "%s", w->plane[HEXC_PLANE_CODE].dtype);

	if (w->bias)
		s = cli_printf(c, "%s - %" PRId64, s, w->bias);
	for (int i = HEXC_PLANE_SCALE; i < HEXC_NPLANE; i++) {
		const hexc_plane *p = &w->plane[i];

		if (!p->dtype)
			continue;
		if (i == HEXC_PLANE_TABLE)
			s = cli_printf(c, "%s, by a table of %" PRId64 " %s", s, p->cols, p->dtype);
		else if (i == HEXC_PLANE_INDEX)
			s = cli_printf(c, "%s, permuted by an index", s);
		else if (i == HEXC_PLANE_SCALE2 || i == HEXC_PLANE_OFFSET2)
			s = p->cols == 1 && w->n > 1
			            ? cli_printf(c, "%s * %s", s, p->dtype)
			            : cli_printf(c, "%s * %s of %" PRId64, s, p->dtype, p->group);
		else
			s = cli_printf(c, "%s, %s %s of %" PRId64, s, held_planes[i], p->dtype, p->group);
		if (i == HEXC_PLANE_SCALE && w->plane[HEXC_PLANE_SCALE2].dtype)
			continue;
	}
	return s;
}

static const char *
shape(Cli *c, const hexc_file_tensor *t)
{
	const char *s = "[";

	for (uint32_t i = 0; i < t->rank; i++)
		s = cli_printf(c, "%s%s%" PRId64, s, i ? ", " : "", t->dim[i]);
	return cli_printf(c, "%s]", s);
}

static double
elements(const hexc_file_tensor *t)
{
	double n = 1;

	for (uint32_t i = 0; i < t->rank; i++)
		n *= (double)t->dim[i];
	return n;
}

static int
list(Cli *c, const hexc_file *f)
{
	hexc_weight w = HEXC_WEIGHT_INIT;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	uint64_t bytes = 0, all = 0;
	uint32_t number, count;
	double n = 0;

	printf("%-14s %-16s %6s  %s\n", "format", "shape", "bits", "weight: scheme");
	for (size_t i = 0; hexc_file_weight(f, i, &w); i++, w.size = sizeof w) {
		printf("%-14s %-16s %6.3f  %s: %s\n", w.format,
		       cli_printf(c, "[%" PRId64 ", %" PRId64 "]", w.n, w.k),
		       bits_each(w.bytes, (double)w.n * (double)w.k), cli_plain(c, w.name), scheme(c, &w));
		bytes += w.bytes;
		n += (double)w.n * (double)w.k;
	}
	printf("%.6g weights of %.3f bits\n\n%-14s %-16s %6s  %s\n", n, bits_each(bytes, n), "type",
	       "shape", "bits", "tensor");
	for (size_t i = 0; hexc_file_tensor_at(f, i, &t); i++, t.size = sizeof t) {
		printf("%-14s %-16s %6.3f  %s\n", t.type, shape(c, &t), bits_each(t.bytes, elements(&t)),
		       cli_plain(c, t.name));
		all += t.bytes;
	}
	printf("%s%s, %" PRIu64 " bytes of tensors\n", hexc_file_kind(f),
	       hexc_file_shard(f, &number, &count)
	               ? cli_printf(c, ", file %" PRIu32 " of %" PRIu32 " of a model", number, count)
	               : "",
	       all);
	return cli_flush();
}

static cJSON *
json_plane(const hexc_plane *p)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "dtype", p->dtype);
	json_uint(o, "rows", (uint64_t)p->rows);
	json_uint(o, "cols", (uint64_t)p->cols);
	json_uint(o, "group", (uint64_t)p->group);
	return o;
}

static int
list_json(Cli *c, const hexc_file *f)
{
	uint32_t number, count;
	cJSON *root = cJSON_CreateObject(), *a = cJSON_AddArrayToObject(root, "weights"), *o, *dim;
	hexc_weight w = HEXC_WEIGHT_INIT;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;

	cJSON_AddStringToObject(root, "container", hexc_file_kind(f));
	hexc_file_shard(f, &number, &count);
	json_uint(root, "file", number);
	json_uint(root, "files", count);
	for (size_t i = 0; hexc_file_weight(f, i, &w); i++, w.size = sizeof w) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "name", w.name);
		cJSON_AddStringToObject(o, "format", w.format);
		json_uint(o, "n", (uint64_t)w.n);
		json_uint(o, "k", (uint64_t)w.k);
		json_uint(o, "bias", (uint64_t)w.bias);
		json_uint(o, "bytes", w.bytes);
		for (int p = 0; p < HEXC_NPLANE; p++)
			if (w.plane[p].dtype)
				cJSON_AddItemToObject(o, held_planes[p], json_plane(&w.plane[p]));
		cJSON_AddItemToArray(a, o);
	}
	a = cJSON_AddArrayToObject(root, "tensors");
	for (size_t i = 0; hexc_file_tensor_at(f, i, &t); i++, t.size = sizeof t) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "name", t.name);
		cJSON_AddStringToObject(o, "type", t.type);
		dim = cJSON_AddArrayToObject(o, "shape");
		for (uint32_t d = 0; d < t.rank; d++)
			cJSON_AddItemToArray(dim, cJSON_CreateNumber((double)t.dim[d]));
		json_uint(o, "bytes", t.bytes);
		cJSON_AddItemToArray(a, o);
	}
	return json_write(c, "-", root);
}

/* ---- saving -------------------------------------------------------------------------------------------- */

/* Saves a plane in the form that hexc run accepts: numbers as such, small floats by their bits, codes
 * below 8 bits packed. */
static int
save_plane(Cli *c, const hexc_plane *p, const char *path)
{
	const hexc_dtype *t = hexc_dtype_find(p->dtype);
	int64_t dim[2] = { p->rows, p->cols };
	bool numpy = (t->kind == 'f' && t->bits >= 16 && strcmp(t->name, "bf16") != 0) || t->kind == 'i';

	if (t->bits < 8) {
		if (p->cols * t->bits % 8)
			return cli_error(EXIT_INPUT, "%s: rows of %" PRId64 " %s end inside a byte", path,
			                 p->cols, t->name);
		dim[1] = p->cols * t->bits / 8;
	}
	return held_write_npy(c, path, t->bits < 8 || !numpy ? 'u' : (char)t->kind,
	                      t->bits < 8 ? 1 : (int)t->bits / 8, 2, dim, p->data);
}

/* NAME[:PLANE]=FILE */
static int
save(Cli *c, const hexc_file *f, const char *spec)
{
	const char *eq = strrchr(spec, '=');
	char why[400], *name;
	hexc_weight *w = NULL;
	int plane, code, status;

	if (!eq || eq == spec || !eq[1])
		return cli_error(EXIT_USAGE, "--save %s: expected NAME=FILE.npy or NAME:PLANE=FILE.npy",
		                 spec);
	name = cli_strndup(c, spec, (size_t)(eq - spec));
	plane = held_plane(name);
	code = hexc_weight_load(&w, f, name, NULL, why, sizeof why);
	if (code != HEXC_OK)
		return cli_error(code == HEXC_E_NOMEM ? EXIT_TROUBLE : EXIT_INPUT, "%s", why);
	if (plane >= 0 && !w->plane[plane].dtype) {
		status = cli_error(EXIT_INPUT, "%s is %s, which has no plane %s", name, w->format,
		                   held_planes[plane]);
	} else if (plane >= 0) {
		status = save_plane(c, &w->plane[plane], eq + 1);
	} else {
		uint64_t bytes = (uint64_t)w->n * (uint64_t)w->k * 4;
		int64_t dim[2] = { w->n, w->k };
		float *x = cli_try_alloc(c, (size_t)bytes);

		if (!x)
			status = cli_error(EXIT_TROUBLE, "%s: out of memory", name);
		else if (hexc_weight_float(w, x, NULL, why, sizeof why) != HEXC_OK)
			status = cli_error(EXIT_INPUT, "%s: %s", name, why);
		else
			status = held_write_npy(c, eq + 1, 'f', 4, 2, dim, x);
	}
	hexc_weight_free(w);
	return status;
}

int
cli_weights(Cli *c)
{
	hexc_file *f;
	int n, status = held_save(c, "file of weights", CLI_plane_save, save, &f, &n);

	if (!status && !n)
		status = cli_has(c, CLI_json_out) ? list_json(c, f) : list(c, f);
	hexc_file_close(f);
	return status;
}
