/* read_token.c - parses the tokens of the IR's textual form: names, numbers, types, layouts, values. */
#include "hexc/ir/text/read.h"
#include <stdio.h>
#include <string.h>

/* Line and column of byte `at`. */
static Src
source_at(const IrReader *r, size_t at)
{
	Src src = { 1, 1, 1 };

	for (size_t i = 0; i < at && i < r->n; i++) {
		src.col++;
		if (r->s[i] == '\n') {
			src.line++;
			src.col = 1;
		}
	}
	return src;
}

bool
read_error(IrReader *r, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	if (r->bad)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	diag_error(r->u->diag, source_at(r, r->at), "IR text: %s", text);
	r->bad = true;
	return false;
}

static void
blanks(IrReader *r)
{
	while (r->at < r->n) {
		char c = r->s[r->at];
		if (c == '/' && r->at + 1 < r->n && r->s[r->at + 1] == '/') {
			while (r->at < r->n && r->s[r->at] != '\n')
				r->at++;
		} else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			r->at++;
		} else {
			return;
		}
	}
}

bool
read_end(IrReader *r)
{
	blanks(r);
	return r->at == r->n;
}

bool
read_sign(IrReader *r, const char *sign)
{
	size_t n = strlen(sign);

	blanks(r);
	if (r->bad || r->n - r->at < n || memcmp(r->s + r->at, sign, n) != 0)
		return false;
	r->at += n;
	return true;
}

bool
want_sign(IrReader *r, const char *sign)
{
	return read_sign(r, sign) || read_error(r, "expected '%s'", sign);
}

/* Length in bytes of the bare name at the cursor. */
static size_t
name_length(const IrReader *r)
{
	size_t n = 0;

	for (; r->at + n < r->n; n++) {
		char c = r->s[r->at + n];
		if (!(c >= '0' && c <= '9') && c != '.' && !text_is_name(&c, 1))
			break;
	}
	return text_is_name(r->s + r->at, n) ? n : 0;
}

bool
read_word(IrReader *r, const char *word)
{
	size_t n = strlen(word);

	blanks(r);
	if (r->bad || name_length(r) != n || memcmp(r->s + r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

bool
want_word(IrReader *r, const char *word)
{
	return read_word(r, word) || read_error(r, "expected '%s'", word);
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
want_quoted(IrReader *r, const char **out)
{
	Text t = { r->arena, NULL, 0, 0 };

	if (!want_sign(r, "\""))
		return false;
	for (; r->at < r->n && r->s[r->at] != '"' && r->s[r->at] != '\n'; r->at++) {
		char c = r->s[r->at];
		if (c == '\\') {
			const char *e = r->s + r->at + 1;
			size_t left = r->n - r->at - 1;
			if (left >= 1 && (e[0] == '"' || e[0] == '\\')) {
				c = e[0];
				r->at++;
			} else if (left >= 3 && e[0] == 'x' && hex_digit(e[1]) >= 0 && hex_digit(e[2]) >= 0) {
				c = (char)(hex_digit(e[1]) * 16 + hex_digit(e[2]));
				r->at += 3;
			} else {
				return read_error(r, "unknown escape sequence");
			}
		}
		if (c == '\0')
			return read_error(r, "NUL byte in a string");
		text_add(&t, &c, 1);
	}
	*out = t.s ? t.s : "";
	return r->at < r->n && r->s[r->at] == '"' ? r->at++, true : read_error(r, "unterminated string");
}

const char *
want_name(IrReader *r)
{
	const char *s = NULL;
	size_t n;

	blanks(r);
	n = name_length(r);
	if (r->bad)
		return NULL;
	if (n == 0) {
		if (r->at < r->n && r->s[r->at] == '"')
			return want_quoted(r, &s) ? s : NULL;
		read_error(r, "expected a name");
		return NULL;
	}
	r->at += n;
	return arena_strndup(r->arena, r->s + r->at - n, n);
}

Imm
read_imm_name(IrReader *r, OpCode code)
{
	Imm name;
	size_t n;

	blanks(r);
	n = name_length(r);
	name = r->bad ? IMM_COUNT : imm_find(code, r->s + r->at, n);
	if (name < IMM_COUNT)
		r->at += n;
	return name;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

bool
want_int(IrReader *r, int64_t lo, int64_t hi, int64_t *out)
{
	uint64_t x = 0, most;
	size_t from, start;
	bool neg;

	blanks(r);
	start = r->at;
	neg = read_sign(r, "-");
	most = (uint64_t)INT64_MAX + neg;
	from = r->at;
	for (; r->at < r->n && r->s[r->at] >= '0' && r->s[r->at] <= '9'; r->at++) {
		uint64_t d = (uint64_t)(r->s[r->at] - '0');
		if (x > (most - d) / 10) {
			r->at = start;
			return read_error(r, "number too large");
		}
		x = x * 10 + d;
	}
	if (r->bad || r->at == from)
		return read_error(r, "expected an integer");
	*out = x > INT64_MAX ? INT64_MIN : (int64_t)x;
	if (neg && x <= INT64_MAX)
		*out = -*out;
	if (*out >= lo && *out <= hi)
		return true;
	r->at = start;
	return read_error(r, "%lld is out of range", (long long)*out);
}

bool
want_float(IrReader *r, double *out)
{
	size_t n;

	blanks(r);
	n = text_read_float(r->s + r->at, r->n - r->at, out);
	if (r->bad || n == 0)
		return read_error(r, "expected a float in the printer's form");
	r->at += n;
	return true;
}

bool
read_source(IrReader *r, Src *out)
{
	int64_t line, col, len;

	if (!read_sign(r, "!"))
		return !r->bad;
	if (!want_int(r, 0, UINT32_MAX, &line) || !want_sign(r, ":") || !want_int(r, 0, UINT32_MAX, &col) ||
	    !want_sign(r, "+") || !want_int(r, 0, UINT32_MAX, &len))
		return false;
	out->line = (uint32_t)line;
	out->col = (uint32_t)col;
	out->len = (uint32_t)len;
	return true;
}

/* ---- types --------------------------------------------------------------------------------------- */

/* Small enough that sums over modes cannot overflow. */
static bool
layout_is_sane(const Layout *l)
{
	const int64_t most = (int64_t)1 << 40;
	int64_t size = 1;

	for (int i = 0; i < l->n + l->nrep; i++) {
		const Iter *it = layout_iter(l, i);
		if (it->extent < 1 || it->extent > most || it->stride > most || it->stride < -most)
			return false;
		if (size > most / it->extent)
			return false;
		size *= it->extent;
	}
	for (int x = 0; x < AX_COUNT; x++)
		if (l->offset[x] > most || l->offset[x] < -most)
			return false;
	return true;
}

bool
want_layout(IrReader *r, const Layout **out)
{
	Layout *l = NEW(r->arena, Layout);
	const char *s, *e;
	size_t wrong = 0;

	if (!want_sign(r, "{"))
		return false;
	s = r->s + r->at;
	e = memchr(s, '}', r->n - r->at);
	if (!e)
		return read_error(r, "unclosed layout");
	if (!layout_parse(l, s, (size_t)(e - s), &wrong) || !layout_is_sane(l)) {
		r->at += wrong;
		return read_error(r, "not a layout");
	}
	r->at += (size_t)(e - s) + 1;
	*out = l;
	return true;
}

static bool
want_dtype(IrReader *r, DType *out)
{
	size_t n;

	blanks(r);
	n = name_length(r);
	*out = dtype_find(r->s + r->at, n);
	if (r->bad || *out == D_COUNT)
		return read_error(r, "expected an element type");
	r->at += n;
	return true;
}

bool
want_value(IrReader *r, int64_t *out)
{
	DType d;

	blanks(r);
	if (name_length(r) == 0)
		return want_int(r, INT64_MIN, INT64_MAX, out);
	if (!want_dtype(r, &d))
		return false;
	*out = type_value(d);
	return true;
}

bool
want_type(IrReader *r, Type *out)
{
	static const struct {
		const char *word;
		Space space;
	} spaces[] = {
		{ "reg", S_reg },
		{ "shared", S_shared },
		{ "global", S_global },
	};
	DType d;

	*out = type_cond();
	for (size_t i = 0; i < COUNT_OF(spaces) && out->space == S_scalar; i++)
		if (read_word(r, spaces[i].word))
			out->space = spaces[i].space;
	if (!want_dtype(r, &d))
		return false;
	out->dtype = d;
	if (out->space == S_scalar)
		return true;
	if (!want_sign(r, "["))
		return false;
	while (!read_sign(r, "]")) {
		if (out->rank == DIM_MAX)
			return read_error(r, "more than %d dimensions", DIM_MAX);
		if (out->rank && !want_sign(r, ","))
			return false;
		if (read_sign(r, "?"))
			out->shape[out->rank] = -1;
		else if (!want_int(r, 0, INT64_MAX, &out->shape[out->rank]))
			return false;
		out->rank++;
	}
	if (read_word(r, "order")) {
		int64_t bit_order;

		if (!want_int(r, 1, 99, &bit_order))
			return false;
		out->bit_order = (int)bit_order;
	}
	out->kept = read_word(r, "kept");
	if (!read_sign(r, "@"))
		return !r->bad;
	out->pinned = read_word(r, "pin");
	return want_layout(r, &out->layout);
}

/* ---- values -------------------------------------------------------------------------------------- */

bool
read_id(IrReader *r, Name *out)
{
	int64_t id;

	out->name = NULL;
	if (!read_sign(r, "%") || !want_int(r, 0, READ_ID_MAX, &id))
		return false;
	out->id = (uint32_t)id;
	if (r->at >= r->n || r->s[r->at] != '.')
		return true;
	r->at++;
	return (out->name = want_name(r)) != NULL;
}

bool
read_define(IrReader *r, Name n, Val *v)
{
	size_t need = (size_t)n.id + 1, size = r->nval ? r->nval : 64;

	while (size < need)
		size *= 2;
	if (size > r->nval) {
		r->val = arena_grow(r->arena, r->val, r->nval, size, sizeof *r->val);
		r->nval = size;
	}
	if (n.id == 0 || r->val[n.id])
		return read_error(r, "%%%u is defined twice", (unsigned)n.id);
	v->id = n.id;
	v->name = n.name;
	r->val[n.id] = v;
	return true;
}

bool
want_val(IrReader *r, Val **out)
{
	Name n;

	if (!read_id(r, &n))
		return read_error(r, "expected a value");
	*out = n.id < r->nval ? r->val[n.id] : NULL;
	return *out || n.id == 0 || read_error(r, "%%%u is not defined", (unsigned)n.id);
}
