/* weight_float.c - converts weights to f32 by the formula of hexc_weights.h, and checks that the planes
 * permit it. */
#include "lib/weights/format.h"
#include <string.h>

/* Computes the value of each code of up to 8 bits. */
static void
code_values(const hexc_weight *w, float value[256])
{
	const hexc_plane *table = &w->plane[HEXC_PLANE_TABLE];
	DType type = plane_type(&w->plane[HEXC_PLANE_CODE]);

	for (unsigned code = 0; code < 1u << dtype_info[type].bits; code++)
		value[code] = table->dtype         ? (float)num_get(plane_type(table), table->data, code)
		              : dtype_is_float(type) ? (float)num_of_code(type, code)
		                                     : (float)num_wrap(type, (int64_t)code);
}

int
weight_check(const hexc_weight *w, char *why, size_t n)
{
	int64_t codes = 0; /* number of distinct codes */

	if (w->n < 1 || w->k < 1 || w->n > INT64_MAX / 64 / w->k)
		return why_error(HEXC_E_INVALID, why, n, "W[%lld, %lld] is not a matrix", (long long)w->n,
		                 (long long)w->k);
	if (plane_type(&w->plane[HEXC_PLANE_CODE]) != D_COUNT)
		codes = (int64_t)1 << dtype_info[plane_type(&w->plane[HEXC_PLANE_CODE])].bits;
	for (int id = 0; id < HEXC_NPLANE; id++) {
		static const char *const name[] = {
#define X(id, name, text) #name,
			HEXC_PLANES(X)
#undef X
		};
		const hexc_plane *p = &w->plane[id];
		DType d = plane_type(p);
		bool index = id == HEXC_PLANE_INDEX, code = id == HEXC_PLANE_CODE;
		bool table = id == HEXC_PLANE_TABLE;
		bool grouped = p->group > 1 || p->cols > 1; /* an index is per input */

		if (!p->dtype && id > HEXC_PLANE_SCALE)
			continue;
		if (d == D_COUNT || !p->data || (index && d != D_i32) || (code && (dtype_info[d].bits > 8)))
			return why_error(HEXC_E_INVALID, why, n,
			                    "the plane %s has no data, or an invalid type",
			                 name[id]);
		if (table && (p->rows != 1 || p->cols != codes))
			return why_error(HEXC_E_INVALID, why, n,
			                    "the table is %lld x %lld, not one value per code",
			                 (long long)p->rows, (long long)p->cols);
		if (!code && !table &&
		    (p->group < 1 || (index && grouped) || w->k % p->group || p->rows != w->k / p->group ||
		     (p->cols != 1 && p->cols != w->n)))
			return why_error(HEXC_E_INVALID, why, n,
			                    "the plane %s is %lld x %lld for groups of %lld, which does "
			                    "not match W[%lld, %lld]",
			                 name[id], (long long)p->rows, (long long)p->cols,
			                 (long long)p->group, (long long)w->n, (long long)w->k);
		if (code && (p->rows != w->n || p->cols != w->k))
			return why_error(HEXC_E_INVALID, why, n,
			                    "the codes are %lld x %lld, not W's [%lld, %lld]",
			                 (long long)p->rows, (long long)p->cols, (long long)w->n,
			                 (long long)w->k);
		if (p->bytes < num_bytes(d, p->rows * p->cols))
			return why_error(
				HEXC_E_INVALID, why, n, "the plane %s has %llu bytes, but needs %zu",
				name[id], (unsigned long long)p->bytes, num_bytes(d, p->rows * p->cols));
	}
	for (int64_t i = 0; w->plane[HEXC_PLANE_INDEX].dtype && i < w->k; i++) {
		int32_t g = ((const int32_t *)w->plane[HEXC_PLANE_INDEX].data)[i];

		if (g < 0 || g >= w->plane[HEXC_PLANE_SCALE].rows)
			return why_error(HEXC_E_INVALID, why, n,
			                    "input %lld belongs to group %d, which is out of range",
			                 (long long)i, g);
	}
	return HEXC_OK;
}

/* Returns the plane's value for output n and input k; `none` without a plane. */
static float
number(const hexc_weight *w, hexc_plane_id id, int64_t n, int64_t k, float none)
{
	const hexc_plane *p = &w->plane[id];

	if (!p->dtype)
		return none;
	return (float)num_get(plane_type(p), p->data, k / p->group * p->cols + (p->cols == 1 ? 0 : n));
}

typedef struct Floating {
	const hexc_weight *w;
	float *out;
	float value[256];
} Floating;

static void
row(const Floating *f, int64_t n)
{
	const hexc_weight *w = f->w;
	const int32_t *index = w->plane[HEXC_PLANE_INDEX].data;
	int64_t group = w->plane[HEXC_PLANE_SCALE].group, last = -1;
	int bits = dtype_info[plane_type(&w->plane[HEXC_PLANE_CODE])].bits;
	DType raw = raw_type(bits);
	float scale = 0, minus = 0, offset = 0, *out = f->out + n * w->k;

	for (int64_t k = 0; k < w->k; k++) {
		int64_t g = index ? index[k] : k / group;

		if (g != last) {
			int64_t at = g * group; /* an input of the group */

			scale = number(w, HEXC_PLANE_SCALE2, n, at, 1) *
			        number(w, HEXC_PLANE_SCALE, n, at, 1);
			minus = (float)w->bias + number(w, HEXC_PLANE_ZERO, n, at, 0);
			offset = number(w, HEXC_PLANE_OFFSET2, n, at, 1) *
			         number(w, HEXC_PLANE_OFFSET, n, at, 0);
			last = g;
		}
		out[k] =
			scale *
			(f->value[num_get_i(raw, w->plane[HEXC_PLANE_CODE].data, n * w->k + k)] - minus);
		if (w->plane[HEXC_PLANE_OFFSET].dtype)
			out[k] += offset;
	}
}

static void
rows(void *user, int64_t lo, int64_t hi)
{
	for (int64_t n = lo; n < hi; n++)
		row(user, n);
}

int
hexc_weight_float(const hexc_weight *w, float *out, const hexc_workers *workers, char *why, size_t n)
{
	hexc_weight all = HEXC_WEIGHT_INIT;
	Floating f = { &all, out, { 0 } };
	HostWorkers threads;
	Arithmetic host;
	int code;

	if (!w || !out || (!why && n))
		return HEXC_E_INVALID;
	if (!take_in(&all, sizeof all, w))
		return why_error(HEXC_E_INVALID, why, n,
		                 "the weight was compiled with a newer hexc_weights.h");
	if (!workers_of(&threads, workers))
		return why_error(HEXC_E_INVALID, why, n, "hexc_workers was compiled with a newer hexc.h");
	arithmetic_enter(&host);
	code = weight_check(&all, why, n);
	if (code == HEXC_OK) {
		code_values(&all, f.value);
		parallel_for(&threads.workers, all.n, 16, rows, &f);
	}
	arithmetic_leave(&host);
	return code;
}
