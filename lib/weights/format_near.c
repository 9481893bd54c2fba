/* format_near.c - reports why no format matches the tensors of a weight's name. */
#include "lib/weights/format.h"
#include <stdio.h>
#include <string.h>

enum { NAMES = 200 };

/* The nearest format so far. */
typedef struct Near {
	const hexc_file *f;
	const char *name;
	const Format *format;
	FileParts parts;
	int by;           /* the part whose shape determines the group */
	int agree;        /* score of parts_fit */
	unsigned swapped; /* bit i: with the dims of part i swapped, all shapes agree */
	char also[NAMES]; /* formats that are as near and lack the same part */
} Near;

/* ---- which is nearest -------------------------------------------------------------------------------- */

/* Iterates over the parts that may determine the group: returns the next after `by`, starting with -1. A
 * format without such parts is tried once. */
static int
next_grouped(const Format *format, int by)
{
	if (by == -1)
		return format_grouped(format, 0);
	return by == FORMAT_PARTS ? FORMAT_PARTS + 1 : format_grouped(format, by + 1);
}

static bool
more_grouped(const Format *format, int by)
{
	return by < FORMAT_PARTS || (by == FORMAT_PARTS && format_grouped(format, 0) == FORMAT_PARTS);
}

static void
swap_dims(hexc_file_tensor *t)
{
	int64_t d = t->dim[0];

	t->dim[0] = t->dim[1];
	t->dim[1] = d;
}

static unsigned
count_bits(unsigned x)
{
	return x ? (x & 1) + count_bits(x >> 1) : 0;
}

/* Returns the smallest set of parts whose swapped dims make every shape agree; 0 if there is none. */
static unsigned
find_swapped(const Format *format, const FileParts *p)
{
	unsigned best = 0;

	for (unsigned mask = 1; mask < 1u << FORMAT_PARTS; mask++) {
		FileParts q = *p;
		bool can = true;
		Fit fit;

		for (int i = 0; i < FORMAT_PARTS && can; i++)
			if (mask >> i & 1) {
				can = q.there[i] && q.t[i].rank == 2;
				swap_dims(&q.t[i]);
			}
		for (int by = next_grouped(format, -1); can && more_grouped(format, by);
		     by = next_grouped(format, by))
			if (parts_fit(&fit, format, &q, by, NULL, 0) >= 0 && fit.wrong == FORMAT_PARTS &&
			    (!best || count_bits(mask) < count_bits(best)))
				best = mask;
	}
	return best;
}

/* Is x nearer than y? Formats that fit with swapped dims come first, then those that lack no part. */
static bool
is_nearer(const Near *x, const Near *y)
{
	bool x_whole = x->parts.wrong == FORMAT_PARTS, y_whole = y->parts.wrong == FORMAT_PARTS;

	if (!y->format || !x->swapped != !y->swapped)
		return !y->format || x->swapped;
	if (x->swapped && count_bits(x->swapped) != count_bits(y->swapped))
		return count_bits(x->swapped) < count_bits(y->swapped);
	return x_whole != y_whole ? x_whole : x->agree > y->agree;
}

static void
consider(Near *best, const Format *format)
{
	Near x = { .f = best->f, .name = best->name, .format = format };
	Fit fit;

	if (!format_stated(format, x.f) || format_other_width(format, x.f) ||
	    !parts_find(&x.parts, format, x.f, x.name))
		return;
	x.swapped = x.parts.wrong == FORMAT_PARTS ? find_swapped(format, &x.parts) : 0;
	x.agree = -2;
	for (int by = next_grouped(format, -1); more_grouped(format, by); by = next_grouped(format, by)) {
		int agree = parts_fit(&fit, format, &x.parts, by, NULL, 0);

		if (agree > x.agree) {
			x.agree = agree;
			x.by = by;
		}
	}
	if (is_nearer(&x, best))
		*best = x;
	else if (x.parts.wrong < FORMAT_PARTS && x.parts.wrong == best->parts.wrong &&
	         x.agree == best->agree &&
	         strcmp(format->part[x.parts.wrong].suffix, best->format->part[x.parts.wrong].suffix) == 0)
		snprintf(best->also + strlen(best->also), NAMES - strlen(best->also), ", %s", format->name);
}

/* ---- what to say of it ------------------------------------------------------------------------------- */

static void
dims_text(const hexc_file_tensor *t, char *out, size_t n)
{
	size_t at = (size_t)snprintf(out, n, "[");

	for (uint32_t i = 0; i < t->rank && at < n; i++)
		at += (size_t)snprintf(out + at, n - at, "%s%lld", i ? ", " : "", (long long)t->dim[i]);
	if (at < n)
		snprintf(out + at, n - at, "]");
}

static void
tell_swapped(const Near *x, char *why, size_t nwhy)
{
	char is[NAMES], wanted[NAMES];
	int i = 0;
	hexc_file_tensor t;

	while (!(x->swapped >> i & 1))
		i++;
	t = x->parts.t[i];
	dims_text(&t, is, sizeof is);
	swap_dims(&t);
	dims_text(&t, wanted, sizeof wanted);
	why_error(0, why, nwhy,
	             "the dimensions of %s%s, %s, are swapped: in %s it is %s; write the file again with "
	             "the format's shapes",
	          x->name, x->format->part[i].suffix, is, x->format->name, wanted);
}

static void
tell_missing(const Near *x, char *why, size_t nwhy)
{
	const FormatPart *part = &x->format->part[x->parts.wrong];
	const char *wants = x->also[0] ? "require" : "requires";

	if (x->parts.there[x->parts.wrong])
		why_error(0, why, nwhy, "%s%s is %s, and %s%s %s %s", x->name, part->suffix,
		          x->parts.t[x->parts.wrong].type, x->format->name, x->also, wants, part->types);
	else
		why_error(0, why, nwhy, "%s%s is missing, which %s%s %s", x->name, part->suffix,
		          x->format->name, x->also, wants);
}

/* Reports that the shapes do not determine the sizes, or that a shape contradicts them. */
static void
tell_shape(const Near *x, char *why, size_t nwhy)
{
	char is[NAMES], wanted[NAMES];
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	Fit fit;
	int i = 0;

	if (nwhy)
		why[0] = 0;
	if (parts_fit(&fit, x->format, &x->parts, x->by, why, nwhy) < 0) {
		dims_text(&x->parts.t[0], is, sizeof is);
		if (!nwhy || !why[0])
			why_error(0, why, nwhy, "the shape of %s%s, %s, does not occur in %s", x->name,
			          x->format->part[0].suffix, is, x->format->name);
		return;
	}
	i = fit.wrong;
	dims_text(&x->parts.t[i], is, sizeof is);
	if (fit.ungrouped) {
		why_error(0, why, nwhy,
		             "the shape of %s%s, %s, does not match W[%lld, %lld] in %s: the inputs are "
		             "not a multiple of such groups",
		          x->name, x->format->part[i].suffix, is, (long long)fit.w.n, (long long)fit.w.k,
		          x->format->name);
		return;
	}
	part_shape(&fit.part[i], &fit.w, x->parts.t[i].dtype, &t);
	dims_text(&t, wanted, sizeof wanted);
	why_error(0, why, nwhy, "the shape of %s%s does not match W[%lld, %lld] in %s: it is %s, not %s",
	          x->name,
	          x->format->part[i].suffix, (long long)fit.w.n, (long long)fit.w.k, x->format->name,
		  is, wanted);
}

/* Would a format match but for what the file states? */
static bool
tell_stated(const hexc_file *f, const char *name, char *why, size_t nwhy)
{
	for (size_t i = 0; f->checkpoint && i < nformats; i++) {
		FileParts p;
		Fit fit;

		if (format_stated(&formats[i], f) || !parts_find(&p, &formats[i], f, name) ||
		    p.wrong < FORMAT_PARTS ||
		    parts_fit(&fit, &formats[i], &p, format_grouped(&formats[i], 0), NULL, 0) < 0 ||
		    fit.wrong < FORMAT_PARTS)
			continue;
		if (file_stated_known(f, why, nwhy))
			why_error(0, why, nwhy,
		             "%s has the tensors of checkpoint_format %s, but %s states %s; correct it",
			          name, formats[i].stated, f->stated_by, f->checkpoint);
		return true;
	}
	return false;
}

/* Would a format match but for the width that the configuration states? */
static bool
tell_width(const hexc_file *f, const char *name, char *why, size_t nwhy)
{
	for (size_t i = 0; i < nformats; i++) {
		FileParts p;
		Fit fit;

		if (!format_other_width(&formats[i], f) || !parts_find(&p, &formats[i], f, name) ||
		    p.wrong < FORMAT_PARTS ||
		    parts_fit(&fit, &formats[i], &p, format_grouped(&formats[i], 0), NULL, 0) < 0 ||
		    fit.wrong < FORMAT_PARTS)
			continue;
		why_error(0, why, nwhy, "%s has the tensors of %s, but %s states num_bits %d; state "
		                        "the model's own "
		          "configuration", name, formats[i].name, f->compressed.by, f->compressed.bits);
		return true;
	}
	return false;
}

bool
fit_nearest(const hexc_file *f, const char *name, char *why, size_t nwhy)
{
	Near best = { .f = f, .name = name };

	if (tell_stated(f, name, why, nwhy) || tell_width(f, name, why, nwhy))
		return true;
	for (size_t i = 0; i < nformats; i++)
		consider(&best, &formats[i]);
	if (!best.format)
		return false;
	if (best.swapped)
		tell_swapped(&best, why, nwhy);
	else if (best.parts.wrong < FORMAT_PARTS)
		tell_missing(&best, why, nwhy);
	else
		tell_shape(&best, why, nwhy);
	return true;
}

/* Until 0.18 a word had 32 / bits codes, rounded down, and widths that do not divide 32 left bits unused. */
bool
fit_padded(const hexc_file *f, const char *name, char *why, size_t nwhy)
{
	static const int widths[] = { 3, 5, 6, 7 };
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	int64_t n, k;

	if (!find_part(f, name, ".weight_packed", &t) || t.rank != 2 || !t.dtype ||
	    (strcmp(t.dtype, "i32") != 0 && strcmp(t.dtype, "u32") != 0) ||
	    stated_shape(f, name, &n, &k) < 1 || t.dim[0] != n)
		return false;
	for (size_t i = 0; i < COUNT_OF(widths); i++) {
		int64_t each = 32 / widths[i];

		if (t.dim[1] != k / each + (k % each != 0) || t.dim[1] == k / 32 * widths[i])
			continue;
		why_error(0, why, nwhy,
		          "%s.weight_packed has %lld words per output, %lld codes of %d bits in each, as "
		          "compressed-tensors before 0.18 packs them, and hexc reads codes without "
		          "gaps; write "
		          "the model again with 0.18 or later",
		          name, (long long)t.dim[1], (long long)each, widths[i]);
		return true;
	}
	return false;
}
