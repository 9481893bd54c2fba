/* builtin.c - functions that a device has without a body: vprintf, __assertfail, malloc, free.
 *
 * The heap is one allocation of the device that outlives launches, as CUDA's; malloc divides it, first fit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim_int.h"

enum { HEAP_BYTES = 8 << 20, MAX_STRING = 4096, MAX_PIECE = 512 };
enum { B_NONE, B_VPRINTF, B_ASSERT, B_MALLOC, B_FREE };
static const char *const names[] = { "", "vprintf", "__assertfail", "malloc", "free" };

typedef struct Out {            /* what one thread printed in one call */
	struct Out *next;
	u32 lin, seq, n;
	char text[];
} Out;

u8
builtin_find(const char *name)
{
	for (u8 i = 1; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return i;
	return B_NONE;
}

/* ---- text ---- */

typedef struct Text { char *p; size_t n, cap; } Text;

static void
add(Text *t, const char *s, size_t n)
{
	if (n > t->cap - t->n)
		n = t->cap - t->n;
	memcpy(t->p + t->n, s, n);
	t->n += n;
}

/* The string at a generic address, cut at `cap`; false after a fault. */
static bool
string(Warp *w, const Ins *in, int lane, u64 addr, char *out, u32 cap)
{
	Access a;
	u32 n = 0;

	do {
		if (!mem_access(w, in, lane, SIM_SPACE_NONE, addr + n, 1, false, &a))
			return false;
		out[n] = (char)*a.p;
	} while (out[n++] && n < cap);
	out[n - 1] = 0;
	return true;
}

/* The next argument of printf: `bytes` at their own alignment, in the buffer the compiler laid out. */
static bool
next_arg(Warp *w, const Ins *in, int lane, u64 *at, u32 bytes, u64 *v)
{
	Access a;

	*at = (*at + bytes - 1) & ~(u64)(bytes - 1);
	*v = 0;
	if (!mem_access(w, in, lane, SIM_SPACE_NONE, *at, bytes, false, &a))
		return false;
	memcpy(v, a.p, bytes);
	*at += bytes;
	return true;
}

/* The formats are put together by directive() and have the one letter that fits the argument. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* One conversion.  `spec` is "%" with flags, width and precision; the letter and its size come apart. */
static bool
convert(Warp *w, const Ins *in, int lane, Text *t, char *spec, size_t n, u32 size, char c, u64 *at)
{
	char piece[MAX_PIECE], s[MAX_STRING];
	int len = 0;
	u64 v;
	double d;

	if (strchr("diuxXoc", c)) {
		if (!next_arg(w, in, lane, at, size, &v))
			return false;
		if (c == 'c') {
			strcpy(spec + n, "c");
			len = snprintf(piece, sizeof piece, spec, (int)(unsigned char)v);
		} else if (c == 'd' || c == 'i') {
			strcpy(spec + n, "lld");
			len = snprintf(piece, sizeof piece, spec, size == 8 ? (long long)v : (long long)(s32)v);
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
		else if (!string(w, in, lane, v, s, sizeof s))
			return false;
		if (n == 1) {
			add(t, s, strlen(s));
			return true;
		}
		len = snprintf(piece, sizeof piece, spec, s);
	} else {
		if (!next_arg(w, in, lane, at, 8, &v))
			return false;
		memcpy(&d, &v, 8);
		sprintf(spec + n, "%c", c);
		len = snprintf(piece, sizeof piece, spec, d);
	}
	add(t, piece, len < 0 ? 0 : len < MAX_PIECE ? (size_t)len : MAX_PIECE - 1);
	return true;
}

#pragma GCC diagnostic pop

/* A width or precision, from the text or an argument: written into spec, at most 500. */
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
		if ((s32)v < 0)         /* of a width: to the left; of a precision: as if left out */
			v = 0;
	}
	for (; **f >= '0' && **f <= '9'; ++*f, none = false)
		v = v > 500 ? v : v * 10 + (u64)(**f - '0');
	if (!none)
		*n += (size_t)sprintf(spec + *n, "%d", (int)(v > 500 ? 500 : v));
	return true;
}

/* Flags, width, precision and size after a '%'; advances *f to the letter. */
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

static u64
print(Warp *w, const Ins *in, int lane, u64 format, u64 args)
{
	char fmt[MAX_STRING], buf[2 * MAX_STRING], spec[40];
	Text t = { buf, 0, sizeof buf };
	Launch *l = w->blk->l;
	u32 size, done = 0;
	size_t n;
	Out *o;

	if (!format)
		return ~0ull;
	if (!string(w, in, lane, format, fmt, sizeof fmt))
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
		} else {                /* no conversion: as it is written */
			add(&t, start, (size_t)(f - start) + (*f != 0));
			f -= *f == 0;
		}
	}
	o = malloc(sizeof *o + t.n + 1);
	if (!o)
		return ~0ull;
	o->next = NULL;
	o->lin = w->blk->lin;
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

static int
by_block(const void *x, const void *y)
{
	const Out *a = *(Out *const *)x, *b = *(Out *const *)y;

	return a->lin != b->lin ? a->lin < b->lin ? -1 : 1 : a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* All pieces in the order of the blocks; frees them. */
bool
output_collect(Launch *l, sim_result *r)
{
	Out **v, *next;
	u32 n = 0;

	for (Out *o = l->out; o; o = o->next)
		n++;
	v = malloc((n + 1u) * sizeof *v);
	r->out = malloc(l->nout + 1);
	n = 0;
	for (Out *o = l->out; o; o = next) {
		next = o->next;
		if (v && r->out) {
			o->seq = n;
			v[n++] = o;
		} else {
			free(o);
		}
	}
	l->out = NULL;
	if (!v || !r->out) {
		free(v);
		return false;
	}
	qsort(v, n, sizeof *v, by_block);
	r->nout = 0;
	for (u32 i = 0; i < n; i++) {
		memcpy(r->out + r->nout, v[i]->text, v[i]->n);
		r->nout += v[i]->n;
		free(v[i]);
	}
	r->out[r->nout] = 0;
	free(v);
	return true;
}

const char *
sim_result_output(const sim_result *r, size_t *bytes)
{
	if (bytes)
		*bytes = r->nout;
	return r->out ? r->out : "";
}

/* ---- assert ---- */

static int
fail_assert(Warp *w, const Ins *in, const Call *c, int lane)
{
	char what[100], file[80], fn[60];

	if (!string(w, in, lane, call_arg(w, c, 0, lane), what, sizeof what)
	    || !string(w, in, lane, call_arg(w, c, 1, lane), file, sizeof file)
	    || !string(w, in, lane, call_arg(w, c, 3, lane), fn, sizeof fn))
		return R_STOP;
	fault_add(w, lane, SIM_FAULT_ASSERT, in->line, SIM_SPACE_NONE, 0, 0, NULL,
	          "%s:%u: %s: assertion `%s' failed", file, (u32)call_arg(w, c, 2, lane), fn, what);
	launch_stop(w->blk->l, SIM_E_FAULT, "an assertion failed");
	return R_STOP;
}

/* ---- heap ---- */

bool
builtin_ready(sim *s, const Fn *f)
{
	static const u8 nargs[] = { 0, 2, 5, 1, 1 };
	Alloc *al;

	if (f->nparam != nargs[f->builtin])
		return false;
	if (s->heap || (f->builtin != B_MALLOC && f->builtin != B_FREE))
		return true;
	al = mem_new(s, HEAP_BYTES, "the heap of malloc");
	if (al)
		s->heap = al->base;
	return al != NULL;
}

/* Nothing is known of the bytes any more: neither a value nor who used them. */
static void
forget(Alloc *al, u32 at, u32 size)
{
	memset(al->init + at, 0, size);
	for (u32 i = at / 4; al->page && i < (at + size) / 4; i++)
		if (al->page[i / PAGE_WORDS])
			memset(al->page[i / PAGE_WORDS] + (size_t)(i % PAGE_WORDS) * GLOBAL_SLOTS, 0,
			       GLOBAL_SLOTS * sizeof(Slot));
	granule_forget(al, at, size);
}

/* Under the launch's lock. */
static u64
heap_get(sim *s, u64 bytes)
{
	u32 size = (u32)((bytes + 15) & ~15u), at = 0, i;
	void *grown;

	if (!bytes || bytes > HEAP_BYTES)
		return 0;
	if (s->nheap == s->cheap) {
		grown = realloc(s->heap_block, (2 * s->cheap + 64) * sizeof *s->heap_block);
		if (!grown)
			return 0;
		s->heap_block = grown;
		s->cheap = 2 * s->cheap + 64;
	}
	for (i = 0; i < s->nheap; i++) {
		if (s->heap_block[i].at - at >= size)
			break;
		at = s->heap_block[i].at + s->heap_block[i].size;
	}
	if (at + size > HEAP_BYTES)
		return 0;
	memmove(s->heap_block + i + 1, s->heap_block + i, (s->nheap - i) * sizeof *s->heap_block);
	s->heap_block[i] = (struct HeapBlock){ at, size };
	s->nheap++;
	forget(mem_find(s, s->heap), at, size);
	return s->heap + at;
}

static bool
heap_put(sim *s, u64 addr)
{
	u32 i = 0;

	if (!addr)
		return true;
	while (i < s->nheap && s->heap + s->heap_block[i].at != addr)
		i++;
	if (i == s->nheap)
		return false;
	forget(mem_find(s, s->heap), s->heap_block[i].at, s->heap_block[i].size);
	s->nheap--;
	memmove(s->heap_block + i, s->heap_block + i + 1, (s->nheap - i) * sizeof *s->heap_block);
	return true;
}

int
exec_builtin(Warp *w, const Ins *in, u32 mask)
{
	const Call *c = (const Call *)(const void *)in->table;
	Launch *l = w->blk->l;
	int lane;
	bool ok;
	u64 v;

	FOR_LANES(lane, mask)
		switch (c->fn->builtin) {
		case B_VPRINTF:
			v = print(w, in, lane, call_arg(w, c, 0, lane), call_arg(w, c, 1, lane));
			call_result(w, c, lane, v);
			break;
		case B_ASSERT:
			return fail_assert(w, in, c, lane);
		case B_MALLOC:
			launch_lock(l);
			v = heap_get(l->s, call_arg(w, c, 0, lane));
			launch_unlock(l);
			call_result(w, c, lane, v);
			break;
		default:
			v = call_arg(w, c, 0, lane);
			launch_lock(l);
			ok = heap_put(l->s, v);
			launch_unlock(l);
			if (!ok)
				fault_add(w, lane, SIM_FAULT_HEAP, in->line, SIM_SPACE_GLOBAL, v, 0, NULL,
				          "free: 0x%llx is no block that malloc gave", (unsigned long long)v);
			break;
		}
	return R_NEXT;
}
