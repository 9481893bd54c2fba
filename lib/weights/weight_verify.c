/* weight_verify.c - rejects a loaded weight whose file may mean something else than its format specifies. */
#include "lib/weights/format.h"
#include <string.h>

/* The format of the same codes with zeros; NULL: there is none. */
static const Format *
with_zeros(const Format *format)
{
	for (size_t i = 0; i < nformats; i++)
		if (formats[i].plane[HEXC_PLANE_ZERO].used && format_compressed(&formats[i]) &&
		    strcmp(formats[i].part[0].suffix, format->part[0].suffix) == 0 &&
		    strcmp(formats[i].code, format->code) == 0)
			return &formats[i];
	return NULL;
}

/* Rejects zeros that the format does not read. Some versions of compressed-tensors write zeros of 0 beside
 * symmetric weights, without effect. */
static int
check_zeros(const hexc_file *f, const hexc_weight *w, char *why, size_t n)
{
	const Format *format = format_find(w->format), *other = with_zeros(format);
	const hexc_plane *scale = &w->plane[HEXC_PLANE_SCALE];
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT, wanted = HEXC_FILE_TENSOR_INIT;
	const FileType *type;
	bool zero = true;
	Fit fit;

	if (format->plane[HEXC_PLANE_ZERO].used || !find_part(f, w->name, ".weight_zero_point", &t))
		return HEXC_OK;
	for (uint64_t i = 0; i < t.bytes && zero; i++)
		zero = !((const unsigned char *)t.data)[i];
	if (zero)
		return HEXC_OK;
	if (!other)
		return why_error(HEXC_E_FILE, why, n,
		                 "%s.weight_zero_point is not 0, and hexc reads %s without zeros; "
		                 "quantize the model with symmetric: true",
		                 w->name, w->format);
	if (!fit_sizes(&fit, other, w->n, w->k, scale->group, NULL, why, n))
		return HEXC_E_FILE;
	type = file_type("safetensors", other->part[2].types, NULL);
	part_shape(&fit.part[2], w, type->dtype, &wanted);
	return why_error(HEXC_E_FILE, why, n,
	                 "%s.weight_zero_point is %s of %llu bytes, and %s wants %s [%lld, %lld]; "
	                 "write the model again with compressed-tensors 0.9 or later",
	                 w->name, t.type, (unsigned long long)t.bytes, other->name, type->name,
	                 (long long)wanted.dim[0], (long long)wanted.dim[1]);
}

/* Rejects an order of inputs beside a format without one, unless it is unset or k / group. */
static int
check_order(const hexc_file *f, const hexc_weight *w, char *why, size_t n)
{
	const Format *format = format_find(w->format);
	int64_t group = w->plane[HEXC_PLANE_SCALE].group;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	bool same = true, unset = true;

	if (format->plane[HEXC_PLANE_INDEX].used || !find_part(f, w->name, ".weight_g_idx", &t))
		return HEXC_OK;
	for (uint64_t j = 0; j < t.bytes / 4; j++) {
		int32_t x;

		memcpy(&x, (const unsigned char *)t.data + 4 * j, sizeof x);
		same = same && x == (int64_t)j / group;
		unset = unset && x == -1;
	}
	if (t.bytes % 4 == 0 && (same || unset))
		return HEXC_OK;
	return why_error(HEXC_E_FILE, why, n,
	                 "%s.weight_g_idx orders inputs, and hexc reads %s without an order; "
	                 "quantize the model "
	                 "with actorder: null",
	                 w->name, w->format);
}

/* Rejects a weight that lacks what compressed-tensors' configuration states, or has what it excludes. */
static int
check_compressed(const hexc_file *f, const hexc_weight *w, char *why, size_t n)
{
	const Format *format = format_find(w->format);
	const Compressed *c = &f->compressed;
	bool zeros = w->plane[HEXC_PLANE_ZERO].dtype != NULL;
	int code;

	if (!format_compressed(format))
		return HEXC_OK;
	code = check_zeros(f, w, why, n);
	code = code == HEXC_OK ? check_order(f, w, why, n) : code;
	if (code != HEXC_OK || !c->by)
		return code;
	if (c->symmetric == 1 && zeros)
		return why_error(HEXC_E_FILE, why, n,
		                 "%s.weight_zero_point is there, but %s states symmetric: true; "
		                 "state the model's own configuration",
		                 w->name, c->by);
	if (c->symmetric == 0 && !zeros)
		return why_error(HEXC_E_FILE, why, n,
		                 "%s.weight_zero_point is missing, but %s states symmetric: false; "
		                 "write the model again",
		                 w->name, c->by);
	if (c->ordered == 1 && !w->plane[HEXC_PLANE_INDEX].dtype)
		return why_error(HEXC_E_FILE, why, n,
		                 "%s.weight_g_idx is missing or -1, but %s states actorder: group; "
		                 "write the model again, or quantize it with actorder: weight",
		                 w->name, c->by);
	return HEXC_OK;
}

/* Symmetric quantization sets every zero to the middle of the codes. A file of version 2 that does not
 * state its version would be read one step off; no symmetric file of version 1 has these values. */
static int
check_version(const hexc_file *f, const hexc_weight *w, char *why, size_t n)
{
	const Format *format = format_find(w->format);
	const hexc_plane *zero = &w->plane[HEXC_PLANE_ZERO];
	int64_t middle, count = zero->rows * zero->cols;

	if (f->checkpoint || !format->stated || strcmp(format->stated, "gptq") != 0)
		return HEXC_OK;
	middle = ((int64_t)1 << (dtype_info[plane_type(zero)].bits - 1)) + format->plane[HEXC_PLANE_ZERO].c;
	for (int64_t i = 0; i < count; i++)
		if (num_get_i(plane_type(zero), zero->data, i) != middle)
			return HEXC_OK;
	return why_error(HEXC_E_FILE, why, n,
	                    "%s: every stored zero is %lld, as in symmetric files of gptq_v2, and nothing "
	                    "states "
	                    "checkpoint_format: state gptq or gptq_v2 by the model's quantize_config.json",
	                 w->name, (long long)(middle - format->plane[HEXC_PLANE_ZERO].c));
}

/* Files are not trusted, and kernels index scales with these values. */
static int
check_index(const hexc_weight *w, char *why, size_t n)
{
	const hexc_plane *p = &w->plane[HEXC_PLANE_INDEX];
	const int32_t *index = p->data;

	for (int64_t i = 0; index && i < p->rows; i++)
		if (index[i] < 0 || index[i] >= w->plane[HEXC_PLANE_SCALE].rows)
			return why_error(HEXC_E_FILE, why, n,
			                    "%s: input %lld belongs to group %d, and there are %lld: "
			                    "the file is damaged",
			                 w->name, (long long)i, index[i],
			                 (long long)w->plane[HEXC_PLANE_SCALE].rows);
	return HEXC_OK;
}

int
weight_verify(const hexc_file *f, const hexc_weight *w, char *why, size_t n)
{
	int code = check_index(w, why, n);

	code = code == HEXC_OK ? check_compressed(f, w, why, n) : code;
	return code == HEXC_OK ? check_version(f, w, why, n) : code;
}
