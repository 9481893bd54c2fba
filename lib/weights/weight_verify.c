/* weight_verify.c - rejects a loaded weight whose file may mean something else than its format specifies. */
#include "lib/weights/format.h"
#include <string.h>

/* Rejects tensors of compressed-tensors that change the meaning of codes and that no format here reads.
 * Some of its versions write them without effect: zero points of 0, an order that is unset or k / group. */
static int
check_companions(const hexc_file *f, const hexc_weight *w, char *why, size_t n)
{
	static const char *const suffix[] = { ".weight_zero_point", ".weight_g_idx" };
	const Format *format = format_find(w->format);
	int64_t group = w->plane[HEXC_PLANE_SCALE].group;

	for (size_t i = 0; i < COUNT_OF(suffix); i++) {
		hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
		const unsigned char *data;
		bool same = true, unset = true;

		if (strncmp(format->part[0].suffix, ".weight", 7) != 0 || !find_part(f, w->name,
										     suffix[i], &t))
			continue;
		data = t.data;
		for (uint64_t j = 0; i == 0 && j < t.bytes; j++)
			same = same && !data[j];
		for (uint64_t j = 0; i == 1 && j < t.bytes / 4; j++) {
			int32_t x;

			memcpy(&x, data + 4 * j, sizeof x);
			same = same && x == (int64_t)j / group;
			unset = unset && x == -1;
		}
		if (!same && (i == 0 || !unset || t.bytes % 4))
			return why_error(HEXC_E_FILE, why, n,
			                    "%s%s changes the meaning of the codes of %s, and hexc does "
			                    "not support it; quantize the model %s",
			                 w->name, suffix[i], w->format,
			                 i == 0 ? "symmetrically" : "without an order of activations");
	}
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
	                    "%s: every stored zero is %lld, as in symmetric files of gptq_v2, and "
	                    "checkpoint_format is not stated; state gptq or gptq_v2 in the model's "
	                    "quantize_config.json",
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
			                    "%s: input %lld belongs to group %d, but there are only %lld: "
					    "the file is damaged",
			                 w->name, (long long)i, index[i],
			                 (long long)w->plane[HEXC_PLANE_SCALE].rows);
	return HEXC_OK;
}

int
weight_verify(const hexc_file *f, const hexc_weight *w, char *why, size_t n)
{
	int code = check_index(w, why, n);

	code = code == HEXC_OK ? check_companions(f, w, why, n) : code;
	return code == HEXC_OK ? check_version(f, w, why, n) : code;
}
