/* serialize.c - implements serialize.h. */
#include "lib/rt/serialize.h"
#include <string.h>

enum { NO_TEXT = -1 }; /* the length that represents NULL */

void
wire_bad(Wire *w, const char *why)
{
	if (!w->why)
		w->why = why;
}

/* Returns the next n bytes to read, or NULL. */
static const unsigned char *
take(Wire *w, size_t n)
{
	const unsigned char *p = w->in + w->at;

	if (w->why || n > w->n - w->at) {
		wire_bad(w, "it is truncated");
		return NULL;
	}
	w->at += n;
	return p;
}

static void
put(Wire *w, const void *data, size_t n)
{
	if (w->at <= w->room && n <= w->room - w->at && n)
		memcpy(w->out + w->at, data, n);
	w->at += n;
}

/* Serializes the low `bytes` bytes of x. */
static uint64_t
word(Wire *w, uint64_t x, int bytes)
{
	unsigned char b[8];
	const unsigned char *p;

	if (!w->arena) {
		for (int i = 0; i < bytes; i++)
			b[i] = (unsigned char)(x >> 8 * i);
		put(w, b, (size_t)bytes);
		return x;
	}
	p = take(w, (size_t)bytes);
	x = 0;
	for (int i = 0; p && i < bytes; i++)
		x |= (uint64_t)p[i] << 8 * i;
	return x;
}

void
wire_u64(Wire *w, uint64_t *x)
{
	uint64_t got = word(w, *x, 8);

	if (w->arena)
		*x = got;
}

void
wire_i64(Wire *w, int64_t *x, int64_t lo, int64_t hi)
{
	int64_t got = (int64_t)word(w, (uint64_t)*x, 8);

	if (!w->arena)
		return;
	if (got < lo || got > hi)
		wire_bad(w, "a number is out of range");
	*x = w->why ? lo : got;
}

void
wire_int(Wire *w, int *x, int lo, int hi)
{
	int64_t got = (int32_t)(uint32_t)word(w, (uint32_t)*x, 4);

	if (!w->arena)
		return;
	if (got < lo || got > hi)
		wire_bad(w, "a number is out of range");
	*x = w->why ? lo : (int)got;
}

void
wire_bool(Wire *w, bool *x)
{
	uint64_t got = word(w, *x, 1);

	if (!w->arena)
		return;
	if (got > 1)
		wire_bad(w, "a bool is neither 0 nor 1");
	*x = got == 1;
}

void
wire_f64(Wire *w, double *x)
{
	uint64_t bits;

	memcpy(&bits, x, sizeof bits);
	wire_u64(w, &bits);
	if (w->arena)
		memcpy(x, &bits, sizeof bits);
}

void
wire_count(Wire *w, int *n, int most)
{
	wire_int(w, n, 0, most);
	if (w->arena && (size_t)*n > w->n - w->at)
		wire_bad(w, "a count exceeds its data");
	if (w->why)
		*n = 0;
}

void
wire_bytes(Wire *w, const void **data, size_t *n)
{
	uint64_t len = *n;
	const unsigned char *p;

	wire_u64(w, &len);
	if (!w->arena) {
		put(w, *data, *n);
		return;
	}
	if (len > w->n - w->at)
		wire_bad(w, "it is truncated");
	p = w->why ? NULL : take(w, (size_t)len);
	*n = p ? (size_t)len : 0;
	*data = arena_strndup(w->arena, p ? (const char *)p : "", *n);
}

void
wire_text(Wire *w, const char **s)
{
	int len = w->arena || !*s ? NO_TEXT : (int)strlen(*s);
	const unsigned char *p;

	wire_int(w, &len, NO_TEXT, INT32_MAX);
	if (!w->arena) {
		if (len > 0)
			put(w, *s, (size_t)len);
		return;
	}
	*s = NULL;
	if (len == NO_TEXT)
		return;
	p = take(w, (size_t)len);
	if (p && memchr(p, 0, (size_t)len))
		wire_bad(w, "a string contains a NUL");
	*s = arena_strndup(w->arena, p ? (const char *)p : "", p ? (size_t)len : 0);
}

void
wire_dtype(Wire *w, DType *d)
{
	const char *name = w->arena ? NULL : dtype_info[*d].name;

	wire_text(w, &name);
	if (!w->arena)
		return;
	*d = name ? dtype_find(name, strlen(name)) : D_COUNT;
	if (*d == D_COUNT) {
		wire_bad(w, "it has an element type unknown to this hexc");
		*d = D_i64;
	}
}

uint64_t
wire_digest(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

void
wire_put_word(unsigned char *to, uint64_t x, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (unsigned char)(x >> 8 * i);
}

uint64_t
wire_get_word(const unsigned char *from, int bytes)
{
	uint64_t x = 0;

	for (int i = 0; i < bytes; i++)
		x |= (uint64_t)from[i] << 8 * i;
	return x;
}
