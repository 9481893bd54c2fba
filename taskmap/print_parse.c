/* print_parse.c - prints and parses layouts as text: layout_print and layout_parse. */
#include "taskmap/mode_tree.h"
#include <string.h>

static const char *const axis_names[AX_COUNT] = {
#define X(name, help) [AX_##name] = #name,
	AXES(X)
#undef X
};

const char *
axis_name(Axis a)
{
	return a < AX_COUNT ? axis_names[a] : "?";
}

/* ---- printing ---------------------------------------------------------------------------------- */

static void
text_parens(Text *t, int n, char c)
{
	while (n-- > 0)
		text_add(t, &c, 1);
}

/* Prints the shape (strides == false) or the strides of all modes. */
static void
text_modes(Text *t, const Modes *m, bool strides, bool axes)
{
	if (m->n == 0)
		text_add(t, "()", 2);
	for (int i = 0; i < m->n; i++) {
		const Iter *it = &m->it[i];

		if (i)
			text_add(t, ",", 1);
		text_parens(t, it->open, '(');
		text_printf(t, "%lld", (long long)(strides ? it->stride : it->extent));
		/* an extent-1 leaf represents an empty dim: it is on no axis */
		if (strides && axes && it->extent > 1)
			text_printf(t, "@%s", axis_name((Axis)it->axis));
		text_parens(t, it->close, ')');
	}
}

const char *
layout_print(Arena *a, const Layout *l)
{
	Text t = { .arena = a };
	Modes m;
	bool axes = false;

	if (l->swizzle.bits)
		text_printf(&t, "Sw<%d,%d,%d> o ", l->swizzle.bits, l->swizzle.base, l->swizzle.shift);
	modes_from_layout(&m, l);
	for (int i = 0; i < l->n; i++)
		axes = axes || l->it[i].axis != AX_mem;
	text_modes(&t, &m, false, axes);
	text_add(&t, ":", 1);
	text_modes(&t, &m, true, axes);
	for (int i = 0; i < l->nrep; i++)
		text_printf(&t, "+[%lld:%lld@%s]", (long long)l->rep[i].extent,
		            (long long)l->rep[i].stride, axis_name((Axis)l->rep[i].axis));
	for (int x = 0; x < AX_COUNT; x++) {
		if (l->offset[x])
			text_printf(&t, "%+lld@%s", (long long)l->offset[x], axis_name((Axis)x));
	}
	return t.s;
}

/* ---- parsing ----------------------------------------------------------------------------------- */

typedef struct LayoutReader {
	const char *s;
	size_t n, at;
} LayoutReader;

static void
read_space(LayoutReader *r)
{
	while (r->at < r->n && (r->s[r->at] == ' ' || r->s[r->at] == '\t' || r->s[r->at] == '\n' ||
	                        r->s[r->at] == '\r'))
		r->at++;
}

static bool
read_char(LayoutReader *r, char c)
{
	read_space(r);
	if (r->at >= r->n || r->s[r->at] != c)
		return false;
	r->at++;
	return true;
}

static bool
read_int(LayoutReader *r, int64_t *v)
{
	int64_t x = 0;
	bool neg = read_char(r, '-');
	size_t from;

	read_space(r);
	from = r->at;
	while (r->at < r->n && r->s[r->at] >= '0' && r->s[r->at] <= '9') {
		if (x > LAYOUT_FAR / 10)
			return false;
		x = x * 10 + (r->s[r->at] - '0');
		r->at++;
	}
	*v = neg ? -x : x;
	return r->at > from;
}

/* Reads "@name", or nothing for mem.  Sets *named if it was there. */
static bool
read_axis(LayoutReader *r, uint8_t *axis, bool *named)
{
	*axis = AX_mem;
	if (!read_char(r, '@'))
		return true;
	*named = true;
	read_space(r);
	for (int x = 0; x < AX_COUNT; x++) {
		size_t k = strlen(axis_names[x]);
		char next = r->at + k < r->n ? r->s[r->at + k] : ' ';

		if (r->at + k <= r->n && memcmp(r->s + r->at, axis_names[x], k) == 0 &&
		    !(next >= 'a' && next <= 'z')) {
			r->at += k;
			*axis = (uint8_t)x;
			return true;
		}
	}
	return false;
}

/* Reads the shape tree; the parentheses go into open and close. */
static bool
read_shape(LayoutReader *r, Modes *m)
{
	int depth = 0;

	m->n = 0;
	for (;;) {
		Iter it = { .axis = AX_mem };

		while (read_char(r, '(')) {
			if (++depth > 100)
				return false;
			it.open++;
		}
		if (m->n == 0 && depth == 1 && read_char(r, ')'))
			return true;
		read_space(r);
		if (m->n == MODES_MAX || !read_int(r, &it.extent) || it.extent < 1)
			return false;
		while (depth > 0 && read_char(r, ')')) {
			depth--;
			it.close++;
		}
		m->it[m->n++] = it;
		if (depth == 0)
			return true;
		if (!read_char(r, ','))
			return false;
	}
}

/* Reads the strides, with the parentheses of the shape. */
static bool
read_strides(LayoutReader *r, Modes *m, bool *named)
{
	if (m->n == 0)
		return read_char(r, '(') && read_char(r, ')');
	for (int i = 0; i < m->n; i++) {
		Iter *it = &m->it[i];

		if (i && !read_char(r, ','))
			return false;
		for (int k = 0; k < it->open; k++) {
			if (!read_char(r, '('))
				return false;
		}
		if (!read_int(r, &it->stride) || !read_axis(r, &it->axis, named))
			return false;
		for (int k = 0; k < it->close; k++) {
			if (!read_char(r, ')'))
				return false;
		}
	}
	return true;
}

static bool
read_swizzle(LayoutReader *r, Swizzle *s)
{
	int64_t v[3];
	int64_t far;

	if (!read_char(r, 'S'))
		return true;
	if (!read_char(r, 'w') || !read_char(r, '<'))
		return false;
	for (int i = 0; i < 3; i++) {
		if (!read_int(r, &v[i]) || v[i] > 60 || v[i] < -60 || !read_char(r, i < 2 ? ',' : '>'))
			return false;
	}
	far = v[2] < 0 ? -v[2] : v[2];
	if (v[0] < 0 || v[1] < 0 || v[0] + v[1] + far > 60 || far < v[0])
		return false;
	*s = (Swizzle){ (int8_t)v[0], (int8_t)v[1], (int8_t)v[2] };
	return read_char(r, 'o');
}

/* Reads everything after the strides: +[extent:stride@axis] and +offset@axis. */
static bool
read_tail(LayoutReader *r, Layout *l)
{
	for (;;) {
		Iter it = { 0 };
		bool named = false, minus = false;

		read_space(r);
		if (r->at == r->n)
			return true;
		if (!read_char(r, '+')) {
			minus = read_char(r, '-');
			if (!minus)
				return false;
		}
		if (!minus && read_char(r, '[')) {
			if (!read_int(r, &it.extent) || !read_char(r, ':') || !read_int(r, &it.stride) ||
			    !read_axis(r, &it.axis, &named) || !read_char(r, ']') ||
			    !layout_push_rep(l, it.extent, it.stride, (Axis)it.axis))
				return false;
			continue;
		}
		if (!read_int(r, &it.stride) || !read_axis(r, &it.axis, &named))
			return false;
		l->offset[it.axis] += minus ? -it.stride : it.stride;
		if (l->offset[it.axis] > LAYOUT_FAR || l->offset[it.axis] < -LAYOUT_FAR)
			return false;
	}
}

/* Drops extent-1 iters of a register layout: they have no meaning, and would be on mem.  Parentheses that a
 * dropped iter opened or closed move to its neighbours, empty pairs vanish. */
static void
text_drop_units(Layout *l)
{
	Layout in = *l;

	l->n = 0;
	memset(l->first, 0, sizeof l->first);
	for (int d = 0; d < in.ndim; d++) {
		int pending = 0;

		for (int i = in.first[d]; i < in.first[d + 1]; i++) {
			Iter it = in.it[i];
			int at = l->n, both;

			pending += it.open;
			if (it.extent > 1) {
				layout_push_unit(l, d, it.extent, it.stride, (Axis)it.axis);
				l->it[at].open = (uint8_t)pending;
				l->it[at].close = it.close;
				pending = 0;
				continue;
			}
			both = pending < it.close ? pending : it.close;
			pending -= both;
			if (it.close > both)
				l->it[at - 1].close = (uint8_t)(l->it[at - 1].close + it.close - both);
		}
	}
}

bool
layout_parse(Layout *l, const char *s, size_t n, size_t *at)
{
	LayoutReader r = { .s = s, .n = n };
	Swizzle sw = { 0 };
	Modes m;
	Layout out;
	bool named = false, ok;

	ok = read_swizzle(&r, &sw) && read_shape(&r, &m) && read_char(&r, ':') &&
	     read_strides(&r, &m, &named) && modes_to_layout(&out, &m) && read_tail(&r, &out) &&
	     layout_in_range(&out);
	if (!ok) {
		if (at)
			*at = r.at;
		return false;
	}
	out.swizzle = sw;
	if (named || !layout_is_mem(&out))
		text_drop_units(&out);
	*l = out;
	return true;
}
