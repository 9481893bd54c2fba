/* arena.c - allocates from the arena, appends to growing text, and computes integers with overflow checks. */
#include "taskmap/support/support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN ((size_t)64 * 1024)
#define ALIGN ((size_t)16)
#define ALLOC_WORK ((size_t)4) /* per allocation, in addition to clearing it */

struct ArenaChunk {
	ArenaChunk *next;
	size_t bytes; /* as requested from realloc, header included */
	/* data follows, 16-byte aligned */
};

#define HEADER ((sizeof(ArenaChunk) + ALIGN - 1) / ALIGN * ALIGN)

void *
libc_realloc(void *user, void *p, size_t n)
{
	(void)user;
	if (n == 0) {
		free(p);
		return NULL;
	}
	return realloc(p, n);
}

void
arena_init(Arena *a, void *(*fn)(void *, void *, size_t), void *user)
{
	memset(a, 0, sizeof *a);
	a->realloc = fn ? fn : libc_realloc;
	a->user = user;
}

void
arena_free(Arena *a)
{
	ArenaChunk *c = a->head;

	while (c) {
		ArenaChunk *next = c->next;
		a->realloc(a->user, c, 0);
		c = next;
	}
	a->head = NULL;
	a->used = a->capacity = a->held = 0;
}

void
arena_fail(Arena *a, ArenaFail code, const char *why)
{
	a->why = why;
	longjmp(*a->fail, (int)code);
}

void *
arena_alloc(Arena *a, size_t n)
{
	if (n > SIZE_MAX / 4)
		arena_fail(a, ARENA_NOMEM, "allocation size");
	n = n ? (n + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
	arena_work(a, ALLOC_WORK + n / 64);
	if (n > a->capacity - a->used) {
		size_t bytes = HEADER + (n > CHUNK_MIN ? n : CHUNK_MIN);
		ArenaChunk *c;

		if (a->limit && a->held + bytes > a->limit)
			arena_fail(a, ARENA_NOMEM, "max_memory");
		c = a->realloc(a->user, NULL, bytes);
		if (!c)
			arena_fail(a, ARENA_NOMEM, "realloc");
		c->next = a->head;
		c->bytes = bytes;
		a->head = c;
		a->held += bytes;
		a->used = 0;
		a->capacity = bytes - HEADER;
	}
	void *p = (char *)a->head + HEADER + a->used;
	a->used += n;
	return memset(p, 0, n);
}

void *
arena_grow(Arena *a, const void *old, size_t old_n, size_t n, size_t size)
{
	void *p = arena_alloc(a, n * size);

	if (old_n)
		memcpy(p, old, old_n * size);
	return p;
}

char *
arena_strndup(Arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (n)
		memcpy(p, s, n);
	return p;
}

static void text_vprintf(Text *t, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

static void
text_vprintf(Text *t, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return;
	if (t->n + (size_t)n + 1 > t->cap) {
		size_t cap = (t->n + (size_t)n + 1) * 2;
		t->s = arena_grow(t->arena, t->s, t->n, cap, 1);
		t->cap = cap;
	}
	vsnprintf(t->s + t->n, t->cap - t->n, fmt, ap);
	t->n += (size_t)n;
}

void
text_printf(Text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vprintf(t, fmt, ap);
	va_end(ap);
}

void
text_add(Text *t, const char *s, size_t n)
{
	text_printf(t, "%.*s", (int)n, s);
}

char *
arena_printf(Arena *a, const char *fmt, ...)
{
	Text t = { .arena = a };
	va_list ap;

	va_start(ap, fmt);
	text_vprintf(&t, fmt, ap);
	va_end(ap);
	return t.s ? t.s : arena_strndup(a, "", 0);
}

int
edit_distance(const char *a, const char *b)
{
	int row[EDIT_LETTERS + 1], n = 0;

	while (n < EDIT_LETTERS && b[n])
		n++;
	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 0; i < EDIT_LETTERS && a[i]; i++) {
		int corner = row[0]++;

		for (int j = 0; j < n; j++) {
			int best = corner + (a[i] != b[j]);

			corner = row[j + 1];
			best = best < corner + 1 ? best : corner + 1;
			row[j + 1] = best < row[j] + 1 ? best : row[j] + 1;
		}
	}
	return row[n];
}

void
arena_step(Arena *a)
{
	a->steps++;
	if (a->max_steps && a->steps > a->max_steps)
		arena_fail(a, ARENA_LIMIT, "max_steps");
	if (a->steps % 1024 == 0)
		arena_poll(a);
}

void
arena_poll(Arena *a)
{
	a->asked_at = a->work;
	if (a->cancel && a->cancel(a->user))
		arena_fail(a, ARENA_LIMIT, "cancelled");
}

bool
add64(int64_t x, int64_t y, int64_t *r)
{
	if (y > 0 ? x > INT64_MAX - y : x < INT64_MIN - y)
		return false;
	*r = x + y;
	return true;
}

bool
mul64(int64_t x, int64_t y, int64_t *r)
{
	if (x == 0 || y == 0) {
		*r = 0;
		return true;
	}
	if (x == INT64_MIN || y == INT64_MIN) {
		if (x != 1 && y != 1)
			return false;
	} else {
		int64_t ax = x < 0 ? -x : x, ay = y < 0 ? -y : y;
		if (ax > INT64_MAX / ay)
			return false;
	}
	*r = x * y;
	return true;
}

int64_t
gcd64(int64_t x, int64_t y)
{
	uint64_t a = x < 0 ? -(uint64_t)x : (uint64_t)x, b = y < 0 ? -(uint64_t)y : (uint64_t)y;

	while (b) {
		uint64_t r = a % b;
		a = b;
		b = r;
	}
	return a > INT64_MAX ? INT64_MAX / 2 + 1 : (int64_t)a; /* 2^63: 2^62 divides it too */
}

int
log2_floor(int64_t x)
{
	int n = 0;

	for (; x > 1; x >>= 1)
		n++;
	return n;
}
