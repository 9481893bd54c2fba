/* format_expr.c - writes the value of an element of a row of blocks as an expression of the language, from
 * the format's bit layouts (formats.def), or from a type's bits and expression (block_types.def). */
#include "lib/weights/format.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct Writer {
	const Format *format;
	const FormatPart *part;
	const BlockType *type;  /* else format and part */
	int elements, bytes;    /* of a block */
	const char *row, *index;
	char *out;
	size_t n, used;
	bool bad; /* no expression, or no place for it */
} Writer;

static void PRINTF_LIKE(2, 3)
	print(Writer *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->out + w->used, w->n - w->used, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= w->n - w->used) {
		w->bad = true;
		w->used = w->n - 1;
		return;
	}
	w->used += (size_t)n;
}

/* The digit of an iter of a layout of values, `before` values being those of the iters before it, each of
 * `group` elements. */
static void
print_digit(Writer *w, int64_t extent, int64_t before, int64_t group, int64_t stride)
{
	int64_t width = before * group;

	if (extent == 1 || stride == 0)
		return;
	print(w, " + %s %% %d", w->index, w->elements);
	if (width > 1)
		print(w, " / %lld", (long long)width);
	if (width * extent < w->elements)
		print(w, " %% %lld", (long long)extent);
	if (stride != 1)
		print(w, " * %lld", (long long)stride);
}

/* Writes the sum of the digits with strides that are multiples of 8, in bytes; or that of the others, in
 * bits. Returns the largest value of the others. */
static int64_t
print_position(Writer *w, const Layout *l, int64_t group, bool bytes)
{
	int64_t before = 1, most = 0;

	for (int i = 0; i < l->n; i++) {
		const Iter *it = &l->it[i];
		bool whole = it->stride % 8 == 0;

		if (whole == bytes)
			print_digit(w, it->extent, before, group, bytes ? it->stride / 8 : it->stride);
		if (!whole)
			most += (it->extent - 1) * it->stride;
		before *= it->extent;
	}
	return most;
}

/* Writes byte `plus` of the piece's place: w[p, q, m, byte]. `bits`: those of its digits within bytes reach
 * into other bytes. */
static void
print_byte(Writer *w, const FormatPiece *p, const Layout *l, int64_t group, int plus, bool far)
{
	print(w, "i32(%s, %s / %d * %d + %d", w->row, w->index, w->elements, w->bytes,
	      p->base / 8 + plus);
	print_position(w, l, group, true);
	if (far) {
		print(w, " + (%d", p->base % 8);
		print_position(w, l, group, false);
		print(w, ") / 8");
	}
	print(w, "])");
}

/* Writes the bits of a piece, in their place in the value: an i32. A piece of 1, 2, 4 or 8 bits lies in one
 * byte. */
static void
print_piece(Writer *w, const FormatPiece *p, int64_t group)
{
	Layout l;
	size_t end;
	Writer nowhere = *w;
	int64_t last; /* bits from the first byte to the last digit's end */
	bool two, far;

	if (p->bits > 16 || !layout_parse(&l, p->layout, strlen(p->layout), &end)) {
		w->bad = true;
		return;
	}
	last = p->base % 8 + print_position(&nowhere, &l, group, false) + p->bits;
	two = last > 8 && (p->bits > 8 || 8 % p->bits);
	far = last > (two ? 16 : 8);
	print(w, "(%s", two ? "(" : "");
	print_byte(w, p, &l, group, 0, far);
	if (two) {
		print(w, " | ");
		print_byte(w, p, &l, group, 1, far);
		print(w, " << 8)");
	}
	if (last > p->bits) {
		print(w, " >> i32((%d", p->base % 8);
		print_position(w, &l, group, false);
		print(w, ")%s)", far ? " % 8" : "");
	}
	if (p->bits < (two ? 16 : 8))
		print(w, " & %d", (1 << p->bits) - 1);
	print(w, ")");
	if (p->shift)
		print(w, " * %d", 1 << p->shift);
}

/* Writes the bits of a plane's value: an i32. */
static void
print_bits(Writer *w, hexc_plane_id plane, int64_t group)
{
	const char *between = "(";

	for (const FormatPiece *p = w->part->piece; p->layout; p++) {
		if (p->plane != plane)
			continue;
		print(w, "%s", between);
		print_piece(w, p, group);
		between = " | ";
	}
	print(w, ")");
	w->bad = w->bad || *between == '(';
}

/* Writes number `bits` of a table of numbers of 8 bits, at most 16. */
static void
print_lookup(Writer *w, const int8_t *table, int count, int64_t group)
{
	int words = (count + 3) / 4;

	print(w, "f32(bitcast(i8(");
	for (int i = 0; i < words; i++) {
		uint32_t word = 0;

		for (int k = 3; k >= 0; k--)
			word = word << 8 | (uint8_t)table[i * 4 + k];
		if (i + 1 < words) {
			print(w, "where(");
			print_bits(w, HEXC_PLANE_CODE, group);
			print(w, " < %d, ", 4 * i + 4);
		}
		print(w, "%ld%s", (long)(int32_t)word, i + 1 < words ? ", " : "");
	}
	for (int i = 1; i < words; i++)
		print(w, ")");
	print(w, " >> (");
	print_bits(w, HEXC_PLANE_CODE, group);
	print(w, " & 3) * 8), i8))");
}

/* Writes an integer of `type` from its bits, or a float. */
static void
print_number(Writer *w, const char *type, hexc_plane_id plane, int64_t group, int plus)
{
	DType d = dtype_find(type, strlen(type));
	int bits = d == D_COUNT ? 0 : dtype_info[d].bits;

	if (d == D_f16 || d == D_bf16) {
		print(w, "f32(bitcast(u16");
		print_bits(w, plane, group);
		print(w, ", %s))", type);
	} else if (d == D_e8m0) {
		print(w, "exp2(f32");
		print_bits(w, plane, group);
		print(w, " - 127)");
	} else if (d == D_e4m3) {
		print(w, "f32(bitcast(u8");
		print_bits(w, plane, group);
		print(w, ", %s))", type);
	} else if (d == D_COUNT || dtype_is_float(d)) {
		w->bad = true;
	} else if (num_min(d) < 0) {
		print(w, "f32(((");
		print_bits(w, plane, group);
		print(w, " + %d) & %d) - %d)", plus + (1 << (bits - 1)), (1 << bits) - 1, 1 << (bits - 1));
	} else {
		print(w, "f32((");
		print_bits(w, plane, group);
		print(w, " + %d) & %d)", plus, (1 << bits) - 1);
	}
}

static void
print_code(Writer *w)
{
	const Format *f = w->format;
	DType d = dtype_find(f->code, strlen(f->code));
	int8_t table[16];

	if (f->table_type) {
		print_lookup(w, f->table, 1 << dtype_info[d].bits, 1);
	} else if (d == D_e2m1) { /* halves */
		for (unsigned i = 0; i < 16; i++)
			table[i] = (int8_t)(2 * num_of_code(d, i));
		print(w, "(0.5 * ");
		print_lookup(w, table, 16, 1);
		print(w, ")");
	} else {
		print(w, "(");
		print_number(w, f->code, HEXC_PLANE_CODE, 1, 0);
		print(w, " - %d)", f->bias);
	}
}

/* Writes " OPERATOR value" of a plane of scales or offsets, if the format has it. */
static void
print_plane(Writer *w, hexc_plane_id plane, const char *operator)
{
	const FormatPlane *p = &w->format->plane[plane];
	int64_t group = p->group ? p->group : w->format->group;

	if (!p->used)
		return;
	print(w, "%s%s", operator, p->op == OP_negate ? "-" : "");
	print_number(w, p->dtype ? p->dtype : "", plane, group < 0 ? w->elements : group,
	             p->op == OP_add ? p->c : 0);
	w->bad = w->bad || p->op == OP_invert;
}

/* Writes the bits of a name of the type: an i32. */
static void
print_named_bits(Writer *w, const char *name, size_t n)
{
	const char *between = "(";

	for (const BlockBits *b = w->type->bits; b->name; b++) {
		if (strlen(b->name) != n || strncmp(b->name, name, n) != 0)
			continue;
		print(w, "%s", between);
		print_piece(w, &b->piece, b->group);
		between = " | ";
	}
	print(w, ")");
	w->bad = w->bad || *between == '(';
}

/* Writes the type's expression, with bits for names. */
static void
print_type(Writer *w)
{
	for (const char *p = w->type->value; *p;) {
		size_t n = strcspn(p, "{");

		print(w, "%.*s", (int)n, p);
		p += n;
		if (!*p)
			return;
		n = strcspn(++p, "}");
		if (n == 1 && *p == 'n')
			print(w, "%s", w->index);
		else
			print_named_bits(w, p, n);
		p += n + 1;
	}
}

static void
print_format(Writer *w)
{
	w->part = &w->format->part[0];
	w->elements = w->part->tile_k;
	w->bytes = w->part->chunk / 8;
	print_code(w);
	print_plane(w, HEXC_PLANE_SCALE, " * ");
	print_plane(w, HEXC_PLANE_SCALE2, " * ");
	print_plane(w, HEXC_PLANE_OFFSET, " + ");
	print_plane(w, HEXC_PLANE_OFFSET2, " * ");
}

int
hexc_format_expr(const char *format, const char *row, const char *index, char *out, size_t n)
{
	const Format *f = format_find(format);
	const BlockType *t = block_type_find(format);
	Writer w = { .format = f, .type = t, .row = row, .index = index, .out = out, .n = n };

	if (!f && !t)
		return HEXC_E_ARGS;
	if (!row || !index || !out || !n)
		return HEXC_E_INVALID;
	if (f && (strcmp(f->container, "gguf") != 0 || f->plane[HEXC_PLANE_ZERO].used))
		return HEXC_E_ARGS;
	if (f) {
		print_format(&w);
	} else {
		w.elements = t->elements;
		w.bytes = t->bytes;
		print_type(&w);
	}
	if (w.bad)
		out[0] = 0;
	return w.bad ? HEXC_E_LIMIT : HEXC_OK;
}
