/* isatable.h - the rows of isa.txt as instructions, one text for each of their members. */
#ifndef ISATABLE_H
#define ISATABLE_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1000 };

typedef struct List { char **v; size_t n, cap; } List;

static void
push(List *l, const char *s)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 1024;
		l->v = realloc(l->v, l->cap * sizeof *l->v);
	}
	l->v[l->n++] = strdup(s);
}

static void
drop(List *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
}

/* ---- from rows to instructions ---- */

static List names, values;      /* NAME = value */

static const char *
lookup(const char *s, size_t n)
{
	for (size_t i = 0; i < names.n; i++)
		if (strlen(names.v[i]) == n && !memcmp(names.v[i], s, n))
			return values.v[i];
	return NULL;
}

static void expand(const char *done, const char *rest, List *out);

/* Each word of `alts` in place of the group. */
static void
each(const char *done, const char *alts, size_t len, const char *rest, List *out)
{
	char buf[MAX_TEXT];

	for (size_t i = 0, n; i < len; i += n + 1) {
		const char *sub;
		for (n = 0; i + n < len && alts[i + n] != ' '; n++)
			;
		if ((sub = lookup(alts + i, n)) != NULL) {
			each(done, sub, strlen(sub), rest, out);
			continue;
		}
		snprintf(buf, sizeof buf, "%s%.*s", done, alts[i] == '-' && n == 1 ? 0 : (int)n, alts + i);
		expand(buf, rest, out);
	}
}

static void
expand(const char *done, const char *rest, List *out)
{
	const char *open = strchr(rest, '('), *close;
	char buf[MAX_TEXT];

	if (!open) {
		snprintf(buf, sizeof buf, "%s%s", done, rest);
		push(out, buf);
		return;
	}
	close = strchr(open, ')');
	if (!close)
		return;
	snprintf(buf, sizeof buf, "%s%.*s", done, (int)(open - rest), rest);
	each(buf, open + 1, (size_t)(close - open - 1), close + 1, out);
}

/* Bits of the n-th type in an opcode, or 0. */
static int
type_width(const char *op, int n)
{
	static const struct { const char *name; int bits; } t[] = {
		{ "pred", 1 }, { "b8", 16 }, { "u8", 16 }, { "s8", 16 }, { "b16", 16 }, { "u16", 16 },
		{ "s16", 16 }, { "f16", 16 }, { "bf16", 16 }, { "b32", 32 }, { "u32", 32 }, { "s32", 32 },
		{ "f32", 32 }, { "tf32", 32 }, { "f16x2", 32 }, { "bf16x2", 32 }, { "u16x2", 32 },
		{ "s16x2", 32 }, { "b64", 64 }, { "u64", 64 }, { "s64", 64 }, { "f64", 64 }, { "f32x2", 64 },
		{ "b128", 128 }, { "e4m3x2", 16 }, { "e5m2x2", 16 },
	};

	while (*op && *op != ' ') {
		size_t len = strcspn(++op, ". ");
		for (size_t i = 0; i < sizeof t / sizeof *t; i++)
			if (strlen(t[i].name) == len && !memcmp(t[i].name, op, len) && n-- == 0)
				return t[i].bits;
		op += len;
	}
	return 0;
}

static const char *
reg(int bits)
{
	return bits == 1 ? "%p1" : bits == 16 ? "%h1" : bits == 64 ? "%d1" : bits == 128 ? "%q1" : "%r1";
}

/* $1, $2, $W become registers. */
static void
fill(const char *row, char *out, size_t cap)
{
	const char *dot = strchr(row, '.'), *blank = strchr(row, ' ');
	size_t n = 0;

	if (!dot || (blank && dot > blank))
		dot = "";
	for (; *row && n + 5 < cap; row++) {
		int w;
		if (*row != '$') {
			out[n++] = *row;
			continue;
		}
		row++;
		w = *row == 'W' ? 2 * type_width(dot, 0) : type_width(dot, *row - '1');
		n += (size_t)sprintf(out + n, "%s", reg(w));
	}
	out[n] = 0;
}

static inline void
read_table(List *out)
{
	FILE *f = fopen("test/sim/decode/isa.txt", "r");
	char line[MAX_TEXT], text[MAX_TEXT];
	List raw = { 0 };

	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		char *eq = strstr(line, " = ");
		line[strcspn(line, "\n")] = 0;
		if (!*line || *line == '#')
			continue;
		if (eq) {
			*eq = 0;
			push(&names, line);
			push(&values, eq + 3);
			continue;
		}
		expand("", line, &raw);
	}
	fclose(f);
	for (size_t i = 0; i < raw.n; i++) {
		fill(raw.v[i], text, sizeof text);
		push(out, text);
	}
	drop(&raw);
}

/* Declarations for the operands of the table; instructions follow in line 14. */
static const char isa_head[] =
	".address_size 64\n.global .align 16 .b8 G[64];\n.const .align 16 .b8 C[64];\n"
	".visible .entry k(.param .align 16 .b8 P[64])\n{\n.reg .pred %p<4>;\n"
	".reg .b16 %h<5>;\n.reg .b32 %r<25>;\n.reg .b64 %d<10>;\n.reg .b128 %q<3>;\n"
	".shared .align 16 .b8 S[64]; .local .align 16 .b8 L[64];\n";
#endif
