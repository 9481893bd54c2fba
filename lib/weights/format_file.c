/* format_file.c - checks whether tensors of a file are a weight in a given format. */
#include "lib/weights/format.h"
#include <stdio.h>
#include <string.h>

static bool
in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, "|"), p += *p == '|')
		if (strcspn(p, "|") == n && strncmp(p, word, n) == 0)
			return true;
	return false;
}

bool
find_part(const hexc_file *f, const char *name, const char *suffix, hexc_file_tensor *t)
{
	char whole[512];
	int n = snprintf(whole, sizeof whole, "%s%s", name, suffix);

	*t = (hexc_file_tensor)HEXC_FILE_TENSOR_INIT;
	return n > 0 && (size_t)n < sizeof whole && hexc_file_find(f, whole, t);
}

/* Views the tensor as a matrix [a, b]: with order k the last dim (with order b the last two) is b. */
static void
as_matrix(const FormatPart *part, const hexc_file_tensor *t, int64_t *a, int64_t *b)
{
	int last = part->order == 'b' ? 2 : 1;

	*a = *b = 1;
	for (uint32_t i = 0; i < t->rank; i++)
		*(i + (uint32_t)last >= t->rank ? b : a) *= t->dim[i];
	if (t->rank == 1 && part->tile_k == 0 && part->order == 'k') { /* one value per output */
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

/* Computes n and k from the codes' tensor; 0 if they are not integers. */
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

/* Computes the group size from the shape of part `by`; 0 if the inputs are not a multiple of it. */
static int64_t
solve_group(const Format *format, const FileParts *p, int64_t k, int by)
{
	const FormatPart *part = &format->part[by];
	int64_t a, b, groups;

	as_matrix(part, &p->t[by], &a, &b);
	groups = part->order == 'n' ? a : b;
	return groups > 0 && k % groups == 0 ? k / groups : 0;
}

/* Returns the first part from `i` on whose tiles are groups; FORMAT_PARTS if there is none. */
int
format_grouped(const Format *format, int i)
{
	while (i < FORMAT_PARTS && format->part[i].types && format->part[i].tile_k != 0)
		i++;
	return i < FORMAT_PARTS && format->part[i].types ? i : FORMAT_PARTS;
}

/* Does a row of the tensor have the part's number of bits? */
static bool
row_agrees(const PartMap *m, const hexc_file_tensor *t)
{
	int64_t a, b, e = element_bits(t);

	if (!e || t->rank < 2)
		return true;
	as_matrix(m->part, t, &a, &b);
	return b * e == m->row;
}

bool
format_compressed(const Format *format)
{
	return strncmp(format->part[0].suffix, ".weight", 7) == 0;
}

/* Reads the shape that compressed-tensors stores next to codes whose width the shapes do not determine.
 * Returns 1 with W[n, k], 0 if there is none, or -1 if it is no shape of whole numbers. */
int
stated_shape(const hexc_file *f, const char *name, int64_t *n, int64_t *k)
{
	hexc_file_tensor t;
	uint64_t each, count;

	*n = *k = 0;
	if (!find_part(f, name, ".weight_shape", &t))
		return 0;
	if (!t.dtype || t.rank != 1 || (strcmp(t.dtype, "i64") != 0 && strcmp(t.dtype, "i32") != 0))
		return -1;
	each = strcmp(t.dtype, "i64") == 0 ? 8 : 4;
	count = t.bytes / each;
	if (count < 2 || count > HEXC_MAX_RANK)
		return -1;
	*n = 1;
	for (uint64_t i = 0; i < count; i++) {
		const unsigned char *at = (const unsigned char *)t.data + i * each;
		int32_t narrow;

		if (each == 8) {
			memcpy(k, at, sizeof *k);
		} else {
			memcpy(&narrow, at, sizeof narrow);
			*k = narrow;
		}
		if (*k < 1 || (i + 1 < count && !mul64(*n, *k, n)))
			return -1;
	}
	return 1;
}

/* Is every group of the index -1, as compressed-tensors initializes it? Then inputs are in place. */
static bool
index_unset(const hexc_file_tensor *t)
{
	for (uint64_t i = 0; i + 4 <= t->bytes; i += 4) {
		int32_t group;

		memcpy(&group, (const unsigned char *)t->data + i, sizeof group);
		if (group != -1)
			return false;
	}
	return true;
}

/* Removes the planes of optional parts that the file lacks. */
static void
remove_absent(Fit *fit, const FileParts *p)
{
	const Format *format = fit->format;

	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++) {
		if (p->there[i])
			continue;
		fit->w.bytes -= fit->part[i].bytes;
		fit->part[i].data = NULL;
		for (int id = 0; id < HEXC_NPLANE; id++)
			if (part_holds(&format->part[i], (hexc_plane_id)id))
				memset(&fit->w.plane[id], 0, sizeof fit->w.plane[id]);
	}
}

bool
format_other_width(const Format *format, const hexc_file *f)
{
	return f->compressed.bits > 0 && format_compressed(format) &&
	       dtype_info[dtype_find(format->code, strlen(format->code))].bits != f->compressed.bits;
}

/* ---- the parts of a weight --------------------------------------------------------------------------- */

bool
format_stated(const Format *format, const hexc_file *f)
{
	if (!format->stated)
		return true;
	return f->checkpoint ? strcmp(f->checkpoint, format->stated) == 0 : !format->must_state;
}

bool
parts_find(FileParts *p, const Format *format, const hexc_file *f, const char *name)
{
	memset(p, 0, sizeof *p);
	p->wrong = FORMAT_PARTS;
	if (strcmp(format->container, f->kind) != 0)
		return false;
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++) {
		const FormatPart *part = &format->part[i];
		hexc_file_tensor *t = &p->t[i];
		bool typed;

		p->there[i] = find_part(f, name, part->suffix, t);
		typed = p->there[i] && in_list(part->types, t->type);
		p->types[i] = typed && t->dtype ? dtype_find(t->dtype, strlen(t->dtype)) : D_COUNT;
		if (!typed && i == 0)
			return false;
		if (p->there[i] ? !typed : !part->optional)
			p->wrong = p->wrong < i ? p->wrong : i;
	}
	return true;
}

int
parts_fit(Fit *fit, const Format *format, const FileParts *p, int by, char *why, size_t nwhy)
{
	int64_t n, k, group = 0;
	int agree = 0;

	solve(&format->part[0], &p->t[0], &n, &k);
	if (n && k && by < FORMAT_PARTS && p->there[by])
		group = solve_group(format, p, k, by);
	fit->wrong = 0;
	/* without a group, tries k: rows of tensors do not depend on it if outputs are contiguous */
	if (!n || !k || !fit_sizes(fit, format, n, k, group ? group : k, p->types, why, nwhy))
		return -1;
	fit->ungrouped = by < FORMAT_PARTS && !group;
	if (fit->ungrouped)
		fit->wrong = by;
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++) {
		bool row, whole;

		fit->part[i].data = p->there[i] ? p->t[i].data : NULL;
		if (!p->there[i] || !in_list(format->part[i].types, p->t[i].type))
			continue;
		row = row_agrees(&fit->part[i], &p->t[i]);
		whole = row && p->t[i].bytes == fit->part[i].bytes;
		agree += row + whole;
		if (!whole)
			fit->wrong = fit->wrong < i ? fit->wrong : i;
	}
	return agree;
}

int
fit_file(Fit *fit, const Format *format, const hexc_file *f, const char *name, char *why, size_t nwhy)
{
	FileParts p;
	int64_t n, k;
	int shape;

	if (!format_stated(format, f) || format_other_width(format, f) || !parts_find(&p, format, f, name))
		return 0;
	if (p.wrong < FORMAT_PARTS || parts_fit(fit, format, &p, format_grouped(format, 0), NULL, 0) < 0 ||
	    fit->wrong < FORMAT_PARTS)
		return -1;
	if (strcmp(f->kind, "gguf") == 0 && f->blocks && strcmp(f->blocks, "2") != 0) {
		why_error(0, why, nwhy,
		             "general.quantization_version is %s, but hexc supports version 2; quantize "
		             "the model again",
		          f->blocks);
		return -1;
	}
	shape = format_compressed(format) ? stated_shape(f, name, &n, &k) : 0;
	if (shape < 0) {
		why_error(0, why, nwhy,
		          "%s.weight_shape is not a list of 2 to %d positive I64 or I32; write the "
		          "file again",
		          name, HEXC_MAX_RANK);
		return -1;
	}
	if (shape > 0 && (n != fit->w.n || k != fit->w.k)) {
		why_error(0, why, nwhy,
		          "%s.weight_shape states W[%lld, %lld], but the tensors of %s are W[%lld, %lld]; "
		          "write the file again",
		          name, (long long)n, (long long)k, format->name, (long long)fit->w.n,
		          (long long)fit->w.k);
		return -1;
	}
	for (int i = 0; i < FORMAT_PARTS && format->part[i].types; i++)
		if (p.there[i] && format_compressed(format) &&
		    part_holds(&format->part[i], HEXC_PLANE_INDEX) && index_unset(&p.t[i]))
			p.there[i] = false;
	remove_absent(fit, &p);
	return 1;
}
