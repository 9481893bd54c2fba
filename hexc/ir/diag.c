/* diag.c - implements the collection of diagnostics. */
#include "hexc/ir/diag.h"
#include <stdio.h>
#include <string.h>

/* Limits on stored errors, and on warnings or remarks; further ones are only counted, to keep the output
 * readable. */
enum { ERROR_MAX = 20, WARNING_MAX = 100 };

const char *const warning_name[DW_COUNT] = {
#define WARNING(name, on, help) [DW_##name] = #name,
#include "hexc/ir/warnings.def"
};
const char *const warning_help[DW_COUNT] = {
#define WARNING(name, on, help) [DW_##name] = help,
#include "hexc/ir/warnings.def"
};

const bool warning_on[DW_COUNT] = {
#define WARNING(name, on, help) [DW_##name] = on,
#include "hexc/ir/warnings.def"
};

DiagWarning
warning_find(const char *name, size_t n)
{
	for (int w = DW_none + 1; w < DW_COUNT; w++)
		if (strlen(warning_name[w]) == n && memcmp(warning_name[w], name, n) == 0)
			return (DiagWarning)w;
	return DW_none;
}

static const char *format(Arena *a, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static void add_error(Diag *d, DiagClass cls, Src src, const char *fmt, va_list ap) PRINTF_LIKE(4, 0);

static const char *
format(Arena *a, const char *fmt, va_list ap)
{
	Text t = { .arena = a };
	char small[256], *s = small;
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(small, sizeof small, fmt, ap);
	if (n >= (int)sizeof small) {
		s = arena_alloc(a, (size_t)n + 1);
		vsnprintf(s, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	text_add(&t, s, n > 0 ? (size_t)n : 0);
	return t.s ? t.s : "";
}

/* Was this message already reported at this location? */
static bool
said(const Diag *d, int severity, Src src, const char *text)
{
	for (int i = 0; i < d->n; i++) {
		const DiagMsg *m = &d->msg[i];
		if (m->severity == severity && m->src.line == src.line && m->src.col == src.col &&
		    strcmp(m->text, text) == 0)
			return true;
	}
	return false;
}

static void
push(Diag *d, int severity, DiagClass cls, DiagWarning w, Src src, const char *text)
{
	DiagMsg m = { .severity = severity, .cls = cls, .warning = w, .src = src, .text = text };

	if (m.src.line && m.src.len == 0)
		m.src.len = 1;
	VEC_PUSH(d->arena, d->msg, d->n, d->cap, m);
}

static void
add_error(Diag *d, DiagClass cls, Src src, const char *fmt, va_list ap)
{
	const char *text = format(d->arena, fmt, ap);

	if (said(d, DIAG_ERROR, src, text))
		return;
	d->nerror++;
	if (d->nerror <= ERROR_MAX)
		push(d, DIAG_ERROR, cls, DW_none, src, text);
	else if (d->nerror == ERROR_MAX + 1)
		push(d, DIAG_NOTE, cls, DW_none, (Src){ 0 }, "more errors follow and are not shown");
}

void
diag_error(Diag *d, Src src, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_error(d, DC_SOURCE, src, fmt, ap);
	va_end(ap);
}

void
diag_class_error(Diag *d, DiagClass cls, Src src, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_error(d, cls, src, fmt, ap);
	va_end(ap);
}

bool
diag_wants(const Diag *d, DiagWarning w)
{
	return (d->wanted | d->remarked) >> w & 1;
}

bool
diag_warn(Diag *d, DiagWarning w, Src src, const char *fmt, ...)
{
	bool remark = !(d->wanted >> w & 1);
	int severity = remark ? DIAG_REMARK : d->strict ? DIAG_ERROR : DIAG_WARNING;
	int *count = remark ? &d->nremark : &d->nwarning;
	const char *text;
	va_list ap;

	if (!diag_wants(d, w) || *count == WARNING_MAX)
		return false;
	va_start(ap, fmt);
	text = format(d->arena, fmt, ap);
	va_end(ap);
	if (said(d, severity, src, text))
		return false;
	++*count;
	push(d, severity, DC_SOURCE, w, src, text);
	return true;
}

void
diag_note(Diag *d, Src src, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = format(d->arena, fmt, ap);
	va_end(ap);
	if (d->nerror <= ERROR_MAX && d->n && !said(d, DIAG_NOTE, src, text))
		push(d, DIAG_NOTE, d->msg[d->n - 1].cls, DW_none, src, text);
}
