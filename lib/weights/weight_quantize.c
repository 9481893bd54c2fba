/* weight_quantize.c - rounds a matrix of f32 to a format. */
#include "lib/weights/format.h"
#include <math.h>
#include <string.h>

/* The values of a format's codes: value = code - bias, from lo to hi. */
typedef struct CodeRange {
	const Format *format;
	DType code;
	double lo, hi;
	double table[256]; /* values by code */
	int n;
} CodeRange;

static void
code_range(CodeRange *r, const Format *format)
{
	r->format = format;
	r->code = dtype_find(format->code, strlen(format->code));
	r->n = 1 << dtype_info[r->code].bits;
	r->lo = INFINITY;
	r->hi = -INFINITY;
	for (int i = 0; i < r->n; i++) {
		r->table[i] = format->table_type      ? format->table[i]
		              : dtype_is_float(r->code) ? num_of_code(r->code, (unsigned)i)
		                                        : (double)(num_wrap(r->code, i) - format->bias);
		if (isfinite(r->table[i])) {
			r->lo = fmin(r->lo, r->table[i]);
			r->hi = fmax(r->hi, r->table[i]);
		}
	}
	/* of ternary codes the fourth is unused; a symmetric i8 has no -128 */
	if (r->lo == -1 && r->hi == 2)
		r->hi = 1;
	if (r->lo == -128)
		r->lo = -127;
}

/* Returns the code whose value is nearest to x; ties go to the even code. */
static unsigned
nearest(const CodeRange *r, double x)
{
	int best = 0;

	x = fmin(fmax(x, r->lo), r->hi);
	if (!dtype_is_float(r->code) && !r->format->table_type)
		return (unsigned)num_wrap(r->code, (int64_t)nearbyint(x) + r->format->bias) &
		       (unsigned)(r->n - 1);
	for (int i = 1; i < r->n; i++) {
		double d = fabs(r->table[i] - x) - fabs(r->table[best] - x);

		if (d < 0 || (d == 0 && i % 2 == 0))
			best = i;
	}
	return (unsigned)best;
}

/* ---- scales
 * ---------------------------------------------------------------------------------------------- */

typedef struct Ideal {
	double scale, zero, offset;
} Ideal;

/* The scale of codes -1 and 1 with the least sum of squared errors. */
static double
mean_magnitude(const float *x, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += fabs((double)x[i]);
	return sum / (double)n;
}

static Ideal
ideal(const CodeRange *r, const float *x, int64_t n)
{
	const FormatPlane *p = r->format->plane;
	double lo = 0, hi = 0, far = 0, span = r->hi - r->lo;
	Ideal q = { 0, 0, 0 };

	for (int64_t i = 0; i < n; i++) {
		lo = i || p[HEXC_PLANE_ZERO].used || p[HEXC_PLANE_OFFSET2].used ? fmin(lo, (double)x[i])
		                                                                : (double)x[i];
		hi = i || p[HEXC_PLANE_ZERO].used || p[HEXC_PLANE_OFFSET2].used ? fmax(hi, (double)x[i])
		                                                                : (double)x[i];
		far = fabs((double)x[i]) > fabs(far) ? (double)x[i] : far;
	}
	if (p[HEXC_PLANE_OFFSET].used) { /* maps [lo, hi] to all codes */
		q.scale = (hi - lo) / span;
		q.offset = lo;
	} else if (p[HEXC_PLANE_ZERO].used) {
		q.scale = (hi - lo) / span;
		q.zero = q.scale > 0 ? fmin(fmax(nearbyint(r->lo - lo / q.scale), r->lo), r->hi) : 0;
	} else if (r->n == 2) {
		q.scale = mean_magnitude(x, n);
	} else if (dtype_is_float(r->code) || r->lo == -r->hi) {
		q.scale = fabs(far) / r->hi;
	} else { /* one more code below 0: the value of largest magnitude is mapped there, whatever its
	          * sign */
		q.scale = far / r->lo;
	}
	return q;
}

/* Rounds x to the plane's type and stores it; returns the rounded value. */
static double
put(const hexc_plane *p, int64_t i, double x)
{
	DType d = plane_type(p);

	if (!dtype_is_float(d))
		x = fmin(fmax(nearbyint(x), (double)num_min(d)), (double)num_max(d));
	num_put(d, p->data, i, x);
	return num_get(d, p->data, i);
}

/* Returns the largest value of a fine scale (or offset) of this format: integers of 4 to 8 bits, or e4m3. */
static double
largest(const Format *f, hexc_plane_id id)
{
	const FormatPlane *p = &f->plane[id];
	int bits = 0;

	if (p->dtype[0] == 'e')
		return num_largest(dtype_find(p->dtype, strlen(p->dtype)));
	for (const FormatPiece *q = f->part[0].piece; q->layout; q++)
		if (q->plane == id)
			bits += q->bits;
	return p->dtype[0] == 'u' ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
}

typedef struct Quantizing {
	const CodeRange *r;
	hexc_weight *w;
	const float *x;
	double top; /* for a scale2 of the entire matrix */
} Quantizing;

/* Computes the coarse value (scale2, offset2) for `count` groups from g on, and the fine ones in units of
 * it. */
static void
two_levels(const Quantizing *z, hexc_plane_id fine, hexc_plane_id coarse, int64_t n, int64_t g,
           const double *ideals, int64_t count, double *real)
{
	const hexc_plane *f = &z->w->plane[fine], *c = &z->w->plane[coarse];
	double far = 0, unit, most = largest(z->r->format, fine);

	for (int64_t i = 0; i < count; i++)
		far = fabs(ideals[i]) > fabs(far) ? ideals[i] : far;
	/* unsigned fine values leave the sign to the coarse one */
	unit = c->cols == 1 && c->rows == 1 ? num_get(plane_type(c), c->data, 0) /* threads only read it */
	                                    : put(c, g * f->group / c->group * c->cols + n, far / most);
	for (int64_t i = 0; i < count; i++)
		real[i] = unit * put(f, (g + i) * f->cols + n, unit != 0 ? ideals[i] / unit : 0);
}

static void
one_level(const Quantizing *z, hexc_plane_id id, int64_t n, int64_t g, double ideal_number, double *real)
{
	const hexc_plane *p = &z->w->plane[id];

	/* OCP 1.0, 6.3: the largest value stays in the range of the codes' exponents */
	if (dtype_info[plane_type(p)].codes == C_scale)
		ideal_number =
			ideal_number > 0
				? exp2(floor(log2(ideal_number * z->r->hi)) - floor(log2(z->r->hi)))
				: 0x1p-127;
	*real = put(p, g * p->cols + n, ideal_number);
}

enum { GROUPS_MAX = 64 }; /* per coarse value */

/* Quantizes groups [g, g + count) of output n, which share their coarse values. */
static void
quantize_groups(const Quantizing *z, int64_t n, int64_t g, int64_t count)
{
	const hexc_weight *w = z->w;
	int64_t group = w->plane[HEXC_PLANE_SCALE].group;
	double scale[GROUPS_MAX], offset[GROUPS_MAX], zero[GROUPS_MAX];
	DType raw = raw_type(dtype_info[z->r->code].bits);

	for (int64_t i = 0; i < count; i++) {
		Ideal q = ideal(z->r, z->x + n * w->k + (g + i) * group, group);

		scale[i] = q.scale;
		offset[i] = q.offset;
		zero[i] = q.zero;
	}
	if (w->plane[HEXC_PLANE_SCALE2].dtype)
		two_levels(z, HEXC_PLANE_SCALE, HEXC_PLANE_SCALE2, n, g, scale, count, scale);
	else
		for (int64_t i = 0; i < count; i++)
			one_level(z, HEXC_PLANE_SCALE, n, g + i, scale[i], &scale[i]);
	if (w->plane[HEXC_PLANE_OFFSET2].dtype)
		two_levels(z, HEXC_PLANE_OFFSET, HEXC_PLANE_OFFSET2, n, g, offset, count, offset);
	else if (w->plane[HEXC_PLANE_OFFSET].dtype)
		for (int64_t i = 0; i < count; i++)
			one_level(z, HEXC_PLANE_OFFSET, n, g + i, offset[i], &offset[i]);
	for (int64_t i = 0; i < count; i++) {
		if (w->plane[HEXC_PLANE_ZERO].dtype)
			zero[i] = put(&w->plane[HEXC_PLANE_ZERO], (g + i) * w->n + n, zero[i]);
		for (int64_t j = 0; j < group; j++) {
			int64_t at = n * w->k + (g + i) * group + j;
			double x = scale[i] != 0 ? ((double)z->x[at] - offset[i]) / scale[i] + zero[i]
			                         : zero[i];

			num_put_i(raw, w->plane[HEXC_PLANE_CODE].data, at, nearest(z->r, x));
		}
	}
}

static void
quantize_rows(void *user, int64_t lo, int64_t hi)
{
	const Quantizing *z = user;
	const hexc_plane *s = &z->w->plane[HEXC_PLANE_SCALE], *c = &z->w->plane[HEXC_PLANE_SCALE2];
	int64_t each = c->dtype && c->cols > 1 ? c->group / s->group : 1;

	for (int64_t n = lo; n < hi; n++)
		for (int64_t g = 0; g < s->rows; g += each)
			quantize_groups(z, n, g, each);
}

/* Removes the planes of parts that quantized weights lack. */
static void
leave_out(Fit *fit)
{
	for (int i = 0; i < FORMAT_PARTS && fit->format->part[i].types; i++) {
		const FormatPart *part = &fit->format->part[i];

		if (part->optional < 2)
			continue;
		fit->w.bytes -= fit->part[i].bytes;
		for (int id = 0; id < HEXC_NPLANE; id++)
			if (part_holds(part, (hexc_plane_id)id))
				memset(&fit->w.plane[id], 0, sizeof fit->w.plane[id]);
	}
}

static int
quantize(hexc_weight **out, const char *format, const float *x, int64_t n, int64_t k, int64_t group,
         const Workers *workers, char *why, size_t nwhy)
{
	const Format *f = format_find(format);
	Quantizing z = { 0 };
	const hexc_plane *coarse;
	CodeRange range;
	Fit fit;

	if (!f)
		return why_error(HEXC_E_INVALID, why, nwhy, "unknown format %s",
		                 format ? format : "(none)");
	if (group == 0)
		group = k % 128 ? k : 128;
	if (!fit_sizes(&fit, f, n, k, group, NULL, why, nwhy))
		return HEXC_E_INVALID;
	leave_out(&fit);
	for (int64_t i = 0; i < n * k; i++)
		if (!isfinite(x[i]))
			return why_error(HEXC_E_INVALID, why, nwhy, "W[%lld, %lld] is not a finite number",
			                 (long long)(i / k), (long long)(i % k));
	code_range(&range, f);
	z = (Quantizing){ &range, weight_new(&fit), x, 0 };
	if (!z.w)
		return why_error(HEXC_E_NOMEM, why, nwhy, "out of memory for the planes");
	weight_clear(z.w);
	if (z.w->plane[HEXC_PLANE_INDEX].dtype)
		for (int64_t i = 0; i < k; i++)
			((int32_t *)z.w->plane[HEXC_PLANE_INDEX].data)[i] =
				(int32_t)(i / z.w->plane[HEXC_PLANE_SCALE].group);
	for (int64_t i = 0; i < n * k; i++)
		z.top = fmax(z.top, fabs((double)x[i]) / range.hi);
	coarse = &z.w->plane[HEXC_PLANE_SCALE2];
	if (coarse->dtype && coarse->rows == 1 && coarse->cols == 1) /* one for the matrix */
		put(coarse, 0, z.top / largest(f, HEXC_PLANE_SCALE));
	parallel_for(workers, n, 64, quantize_rows, &z);
	*out = z.w;
	return HEXC_OK;
}

int
hexc_weight_quantize(hexc_weight **out, const char *format, const float *x, int64_t n, int64_t k,
                     int64_t group, const hexc_workers *workers, char *why, size_t nwhy)
{
	HostWorkers threads;
	Arithmetic host;
	int code;

	if (!out || !x || (!why && nwhy))
		return HEXC_E_INVALID;
	*out = NULL;
	if (!workers_of(&threads, workers))
		return why_error(HEXC_E_INVALID, why, nwhy, "hexc_workers was compiled with a newer hexc.h");
	arithmetic_enter(&host);
	code = quantize(out, format, x, n, k, group, &threads.workers, why, nwhy);
	arithmetic_leave(&host);
	return code;
}
