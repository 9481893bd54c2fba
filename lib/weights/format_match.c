/* format_match.c - computes the planes and parts of a weight of known size in a format. */
#include "lib/weights/format.h"
#include <string.h>

DType
plane_type(const hexc_plane *p)
{
	return p->dtype ? dtype_find(p->dtype, strlen(p->dtype)) : D_COUNT;
}

/* ---- sizes ------------------------------------------------------------------------------------------- */

bool
part_holds(const FormatPart *part, hexc_plane_id plane)
{
	for (const FormatPiece *p = part->piece; p && p->layout; p++)
		if (p->plane == plane)
			return true;
	return false;
}

/* Returns the element type of the part that holds the plane. */
static DType
type_in_file(const Format *format, hexc_plane_id plane, const DType *types)
{
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++)
		if (part_holds(&format->part[i], plane))
			return types && types[i] != D_COUNT ? types[i] : D_f16;
	return D_f16;
}

static bool
plane_sizes(Fit *fit, hexc_plane_id id, int64_t group, const DType *types, char *why, size_t nwhy)
{
	const FormatPlane *fp = &fit->format->plane[id];
	hexc_plane *p = &fit->w.plane[id];
	DType type;

	if (!fp->used)
		return true;
	p->dtype = fp->dtype ? fp->dtype : dtype_info[type_in_file(fit->format, id, types)].name;
	p->group = fp->group == 0 ? group : fp->group == -1 ? fit->w.k
	                                                    : fp->group;
	if (p->group < 1 || fit->w.k % p->group) {
		why_error(0, why, nwhy, "%s: %lld inputs are not a multiple of the group size %lld",
		          fit->format->name, (long long)fit->w.k, (long long)p->group);
		return false;
	}
	p->rows = fit->w.k / p->group;
	p->cols = fp->per_n ? fit->w.n : 1;
	type = plane_type(p);
	p->bytes = num_bytes(type, p->rows * p->cols);
	return true;
}

static bool
part_sizes(Fit *fit, int i, int64_t group, DType type, char *why, size_t nwhy)
{
	const FormatPart *part = &fit->format->part[i];
	PartMap *m = &fit->part[i];
	int64_t outer, inner;

	m->part = part;
	m->type = type;
	m->tile_n = part->tile_n == -1 ? fit->w.n : part->tile_n;
	m->tile_k = part->tile_k == -1 ? fit->w.k : part->tile_k == 0 ? group
	                                                              : part->tile_k;
	if (fit->w.n % m->tile_n || fit->w.k % m->tile_k) {
		why_error(0, why, nwhy,
		             "%s requires outputs in multiples of %lld and inputs in multiples of %lld; "
		             "pad [%lld, %lld]",
		          fit->format->name, (long long)m->tile_n, (long long)m->tile_k,
		          (long long)fit->w.n, (long long)fit->w.k);
		return false;
	}
	m->nn = fit->w.n / m->tile_n;
	m->nk = fit->w.k / m->tile_k;
	m->chunk = part->chunk ? part->chunk : dtype_info[type == D_COUNT ? D_f16 : type].bits;
	outer = part->order == 'n' ? m->nk : m->nn;
	inner = part->order == 'n' ? m->nn : m->nk;
	m->row = inner * m->chunk;
	m->outer = m->row * part->rows;
	m->bytes = (uint64_t)(m->outer * outer / 8);
	return true;
}

bool
fit_sizes(Fit *fit, const Format *format, int64_t n, int64_t k, int64_t group, const DType *types, char *why,
          size_t nwhy)
{
	DType code = dtype_find(format->code, strlen(format->code));
	hexc_plane *codes = &fit->w.plane[HEXC_PLANE_CODE];
	int64_t all;

	memset(fit, 0, sizeof *fit);
	fit->format = format;
	fit->w = (hexc_weight)HEXC_WEIGHT_INIT;
	fit->w.format = format->name;
	fit->w.n = n;
	fit->w.k = k;
	fit->w.bias = format->bias;
	fit->wrong = FORMAT_PARTS;
	if (n < 1 || k < 1 || !mul64(n, k, &all) || all > (int64_t)1 << 50) {
		why_error(0, why, nwhy, "a weight must have 1 to 2^50 elements, not %lld x %lld",
		          (long long)n, (long long)k);
		return false;
	}
	if (k * dtype_info[code].bits % 8) {
		why_error(0, why, nwhy,
		             "%s: rows of %lld inputs end inside a byte; pad them to a multiple of 8",
		          format->name, (long long)k);
		return false;
	}
	group = format->group == -1 ? k : format->group ? format->group
	                                                : group;
	*codes = (hexc_plane){ format->code, n, k, 1, NULL, num_bytes(code, all) };
	for (int id = HEXC_PLANE_SCALE; id < HEXC_NPLANE; id++)
		if (!plane_sizes(fit, (hexc_plane_id)id, group, types, why, nwhy))
			return false;
	if (format->table_type) {
		hexc_plane *p = &fit->w.plane[HEXC_PLANE_TABLE];

		*p = (hexc_plane){ format->table_type, 1, 1 << dtype_info[code].bits, k, NULL, 0 };
		p->bytes = num_bytes(plane_type(p), p->cols);
	}
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++) {
		if (!part_sizes(fit, i, group, types ? types[i] : D_COUNT, why, nwhy))
			return false;
		fit->w.bytes += fit->part[i].bytes;
	}
	return true;
}

void
fit_counts(const Fit *fit, const PartMap *p, hexc_plane_id plane, int64_t *nk, int64_t *nn)
{
	const hexc_plane *q = &fit->w.plane[plane];

	*nk = p->tile_k / q->group;
	*nn = q->cols == 1 && plane != HEXC_PLANE_CODE ? 1 : p->tile_n;
}
