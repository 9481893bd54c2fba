/* format_fit.c - a weight of known size in a format: its planes, its parts; and is there one in a file? */
#include "lib/weights/format.h"
#include <stdio.h>
#include <string.h>

DType
plane_type(const hexc_plane *p)
{
	return p->dtype ? dtype_find(p->dtype, strlen(p->dtype)) : D_COUNT;
}

/* ---- sizes ------------------------------------------------------------------------------------------- */

static bool
holds(const FormatPart *part, hexc_plane_id plane)
{
	for (int i = 0; i < FORMAT_PIECES && part->piece[i].layout; i++)
		if (part->piece[i].plane == plane)
			return true;
	return false;
}

/* The type of the elements of the part that holds the plane. */
static DType
type_in_file(const Format *format, hexc_plane_id plane, const DType *types)
{
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++)
		if (holds(&format->part[i], plane))
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
		why_error(0, why, nwhy, "%s: %lld inputs are no whole number of groups of %lld",
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
		             "%s wants outputs in multiples of %lld and inputs in multiples of %lld: "
		             "[%lld, %lld] must be padded",
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
	if (n < 1 || k < 1 || !mul64(n, k, &all) || all > (int64_t)1 << 50) {
		why_error(0, why, nwhy, "a weight has from 1 to 2^50 elements, not %lld x %lld",
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

/* ---- files ------------------------------------------------------------------------------------------- */

static bool
in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, "|"), p += *p == '|')
		if (strcspn(p, "|") == n && strncmp(p, word, n) == 0)
			return true;
	return false;
}

/* The tensor NAME SUFFIX.  Names that do not fit the buffer are not ours. */
static bool
find_part(const hexc_file *f, const char *name, const char *suffix, hexc_file_tensor *t)
{
	char whole[512];
	int n = snprintf(whole, sizeof whole, "%s%s", name, suffix);

	*t = (hexc_file_tensor)HEXC_FILE_TENSOR_INIT;
	return n > 0 && (size_t)n < sizeof whole && hexc_file_find(f, whole, t);
}

/* How the tensor's dims are laid out: [a, b]; of order k the last dim (of order b the last two) makes b. */
static void
as_matrix(const FormatPart *part, const hexc_file_tensor *t, int64_t *a, int64_t *b)
{
	int last = part->order == 'b' ? 2 : 1;

	*a = *b = 1;
	for (uint32_t i = 0; i < t->rank; i++)
		*(i + (uint32_t)last >= t->rank ? b : a) *= t->dim[i];
	if (t->rank == 1 && part->tile_k == 0 && part->order == 'k') { /* one number for each output */
		*a = t->dim[0];
		*b = 1;
	}
}

static int64_t
element_bits(const hexc_file_tensor *t)
{
	DType d = t->dtype ? dtype_find(t->dtype, strlen(t->dtype)) : D_COUNT;

	return d == D_COUNT ? 0 : dtype_info[d].bits;
}

/* n and k from the codes' tensor; 0 where they are no whole numbers. */
static void
solve(const FormatPart *part, const hexc_file_tensor *t, int64_t *n, int64_t *k)
{
	int64_t a, b, e = element_bits(t);

	as_matrix(part, t, &a, &b);
	if (!e) { /* blocks: the shape counts weights */
		*n = a;
		*k = b;
	} else if (part->order == 'n') {
		*n = b * e % part->chunk ? 0 : b * e / part->chunk * part->tile_n;
		*k = a % part->rows ? 0 : a / part->rows * part->tile_k;
	} else {
		*n = a;
		*k = b * e % part->chunk ? 0 : b * e / part->chunk * part->tile_k;
	}
}

/* The group's size, from the first part whose tiles are groups. */
static int64_t
solve_group(const Format *format, const hexc_file_tensor *t, int64_t k)
{
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++) {
		int64_t a, b, groups;

		if (format->part[i].tile_k != 0)
			continue;
		as_matrix(&format->part[i], &t[i], &a, &b);
		groups = format->part[i].order == 'n' ? a : b;
		return groups > 0 && k % groups == 0 ? k / groups : 0;
	}
	return 0;
}

static bool
shape_agrees(const PartMap *m, const hexc_file_tensor *t)
{
	int64_t a, b, e = element_bits(t);

	if (t->bytes != m->bytes)
		return false;
	if (!e || t->rank < 2)
		return true;
	as_matrix(m->part, t, &a, &b);
	return b * e == m->row;
}

/* compressed-tensors writes the shape beside codes whose width the shapes do not tell. */
static bool
stated_shape_agrees(const hexc_file *f, const char *name, int64_t n, int64_t k)
{
	hexc_file_tensor t;
	int64_t dim[2];

	if (!find_part(f, name, ".weight_shape", &t) || !t.dtype || t.bytes != 16 ||
	    strcmp(t.dtype, "i64") != 0)
		return true;
	memcpy(dim, t.data, sizeof dim);
	return dim[0] == n && dim[1] == k;
}

int
fit_file(Fit *fit, const Format *format, const hexc_file *f, const char *name, char *why, size_t nwhy)
{
	hexc_file_tensor t[FORMAT_PARTS];
	DType types[FORMAT_PARTS];
	int64_t n, k;
	bool there[FORMAT_PARTS] = { false };

	if (strcmp(format->container, f->kind) != 0)
		return 0;
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++) {
		const FormatPart *part = &format->part[i];

		there[i] = find_part(f, name, part->suffix, &t[i]);
		if (there[i] && !in_list(part->types, t[i].type)) {
			if (i)
				why_error(0, why, nwhy, "%s%s is %s, and %s wants %s", name,
				          part->suffix, t[i].type, format->name, part->types);
			return i ? -1 : 0;
		}
		if (!there[i] && !part->optional) {
			if (i)
				why_error(0, why, nwhy, "%s%s is missing, which %s wants", name,
				          part->suffix, format->name);
			return i ? -1 : 0;
		}
		types[i] = there[i] && t[i].dtype ? dtype_find(t[i].dtype, strlen(t[i].dtype)) : D_COUNT;
	}
	solve(&format->part[0], &t[0], &n, &k);
	if (!n || !k) {
		why_error(0, why, nwhy, "the shape of %s%s is none of %s", name,
		          format->part[0].suffix, format->name);
		return -1;
	}
	if (!fit_sizes(fit, format, n, k, solve_group(format, t, k), types, why, nwhy))
		return -1;
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++) {
		if (!there[i])
			continue;
		fit->part[i].data = t[i].data;
		if (!shape_agrees(&fit->part[i], &t[i])) {
			why_error(0, why, nwhy,
			             "the shape of %s%s does not go with W[%lld, %lld] in %s", name,
			          format->part[i].suffix, (long long)n, (long long)k, format->name);
			return -1;
		}
	}
	if (!stated_shape_agrees(f, name, n, k)) {
		why_error(0, why, nwhy, "%s.weight_shape is not [%lld, %lld]", name, (long long)n,
		          (long long)k);
		return -1;
	}
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++)
		for (int id = 0; !there[i] && id < HEXC_NPLANE; id++)
			if (holds(&format->part[i], (hexc_plane_id)id))
				memset(&fit->w.plane[id], 0, sizeof fit->w.plane[id]);
	return 1;
}
