/* printf.c - formats the text of a vprintf call from its format string and arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/base/float_formats.h"
#include "lib/sim/exec/calls.h"
#include "lib/sim/sanitizer/memcheck.h"
#include "lib/sim/state/fault.h"

enum { MAX_STRING = 4096, MAX_PIECE = 512 };

typedef struct PrintBuffer { char *p; size_t n, cap; } PrintBuffer;

static void
add(PrintBuffer *t, const char *s, size_t n)
{
	if (n > t->cap - t->n)
		n = t->cap - t->n;
	memcpy(t->p + t->n, s, n);
	t->n += n;
}

bool
print_string(Warp *w, const Ins *in, int lane, u64 addr, char *out, u32 cap)
{
	MemAccess a;
	u32 n = 0;

	do {
		if (!mem_access(w, in, lane, SIM_SPACE_NONE, addr + n, 1, false, &a))
			return false;
		out[n] = (char)*a.p;
	} while (out[n++] && n < cap);
	out[n - 1] = 0;
	return true;
}

/* Reads the next argument of printf: `bytes` at their natural alignment, in the buffer laid out by the
 * compiler. */
static bool
next_arg(Warp *w, const Ins *in, int lane, u64 *at, u32 bytes, u64 *v)
{
	MemAccess a;

	*at = (*at + bytes - 1) & ~(u64)(bytes - 1);
	*v = 0;
	if (!mem_access(w, in, lane, SIM_SPACE_NONE, *at, bytes, false, &a))
		return false;
	memcpy(v, a.p, bytes);
	*at += bytes;
	return true;
}

/* The formats are composed by directive() and have the one letter that matches the argument. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* One conversion. `spec` is "%" with flags, width and precision; the letter and its size are passed
 * separately. */
static bool
convert(Warp *w, const Ins *in, int lane, PrintBuffer *t, char *spec, size_t n, u32 size, char c, u64 *at)
{
	char piece[MAX_PIECE], s[MAX_STRING];
	int len = 0;
	u64 v;

	if (strchr("diuxXoc", c)) {
		if (!next_arg(w, in, lane, at, size, &v))
			return false;
		if (c == 'c') {
			strcpy(spec + n, "c");
			len = snprintf(piece, sizeof piece, spec, (int)(unsigned char)v);
		} else if (c == 'd' || c == 'i') {
			strcpy(spec + n, "lld");
			len = snprintf(piece, sizeof piece, spec,
			               size == 8 ? (long long)v : (long long)(s32)v);
		} else {
			sprintf(spec + n, "ll%c", c);
			len = snprintf(piece, sizeof piece, spec, (unsigned long long)v);
		}
	} else if (c == 'p') {
		if (!next_arg(w, in, lane, at, 8, &v))
			return false;
		strcpy(spec + n, "s");
		snprintf(s, sizeof s, "0x%llx", (unsigned long long)v);
		len = snprintf(piece, sizeof piece, spec, s);
	} else if (c == 's') {
		if (!next_arg(w, in, lane, at, 8, &v))
			return false;
		strcpy(spec + n, "s");
		if (!v)
			strcpy(s, "(null)");
		else if (!print_string(w, in, lane, v, s, sizeof s))
			return false;
		if (n == 1) {
			add(t, s, strlen(s));
			return true;
		}
		len = snprintf(piece, sizeof piece, spec, s);
	} else {
		if (!next_arg(w, in, lane, at, 8, &v))
			return false;
		sprintf(spec + n, "%c", c);
		len = snprintf(piece, sizeof piece, spec, f64_of(v));
	}
	add(t, piece, len < 0 ? 0 : len < MAX_PIECE ? (size_t)len : MAX_PIECE - 1);
	return true;
}

#pragma GCC diagnostic pop

/* A width or precision, from the text or an argument: appended to spec, at most 500. */
static bool
number(Warp *w, const Ins *in, int lane, const char **f, char spec[40], size_t *n, u64 *at)
{
	u64 v = 0;
	bool none = true;

	if (**f == '*') {
		++*f;
		none = false;
		if (!next_arg(w, in, lane, at, 4, &v))
			return false;
		if ((s32)v < 0)         /* C: left-justified width, omitted precision; here 0 */
			v = 0;
	}
	for (; **f >= '0' && **f <= '9'; ++*f, none = false)
		v = v > 500 ? v : v * 10 + (u64)(**f - '0');
	if (!none)
		*n += (size_t)sprintf(spec + *n, "%d", (int)(v > 500 ? 500 : v));
	return true;
}

/* Parses flags, width, precision and size after a '%'; advances *f to the letter. */
static bool
directive(Warp *w, const Ins *in, int lane, const char **f, char spec[40], size_t *n, u32 *size, u64 *at)
{
	*n = 0;
	spec[(*n)++] = '%';
	*size = 4;
	for (; **f && strchr("-+ #0", **f); ++*f)
		if (*n < 6)
			spec[(*n)++] = **f;
	if (!number(w, in, lane, f, spec, n, at))
		return false;
	if (**f == '.') {
		++*f;
		spec[(*n)++] = '.';
		if (!number(w, in, lane, f, spec, n, at))
			return false;
	}
	for (; **f && strchr("hljztL", **f); ++*f)
		if (**f != 'h')
			*size = 8;
	return true;
}

u64
print_format(Warp *w, const Ins *in, int lane, u64 format, u64 args)
{
	char fmt[MAX_STRING], buf[2 * MAX_STRING], spec[40];
	PrintBuffer t = { buf, 0, sizeof buf };
	Launch *l = w->cta->l;
	u32 size, done = 0;
	size_t n;
	Out *o;

	if (!format)
		return ~0ull;
	if (!print_string(w, in, lane, format, fmt, sizeof fmt))
		return ~0ull;
	for (const char *f = fmt; *f; f++) {
		const char *start = f;
		if (*f != '%') {
			add(&t, f, 1);
			continue;
		}
		f++;
		if (!directive(w, in, lane, &f, spec, &n, &size, &args))
			return ~0ull;
		if (*f && strchr("diuxXocpsaAeEfFgG", *f)) {
			if (!convert(w, in, lane, &t, spec, n, size, *f, &args))
				return ~0ull;
			done++;
		} else if (*f == '%') {
			add(&t, "%", 1);
		} else {                /* not a conversion: printed unchanged */
			add(&t, start, (size_t)(f - start) + (*f != 0));
			f -= *f == 0;
		}
	}
	o = malloc(sizeof *o + t.n + 1);
	if (!o)
		return ~0ull;
	o->next = NULL;
	o->cluster = w->cta->cl->lin;
	o->lin = w->cta->lin;
	o->n = (u32)t.n;
	memcpy(o->text, t.p, t.n);
	launch_lock(l);
	if (l->nout + t.n <= SIM_OUTPUT_MAX) {
		l->nout += t.n;
		*l->out_end = o;
		l->out_end = &o->next;
		o = NULL;
	}
	launch_unlock(l);
	free(o);
	return done;
}
