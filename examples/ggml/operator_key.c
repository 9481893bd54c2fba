/* operator_key.c - the key of a launch's operator: what it is compiled from. That is the part of the
 * operator's table that launches of these sizes need, so that no kernel is compiled for others. A table of
 * the sizes that were seen has these parts, since all launches of a graph ask for them. */
#include "examples/ggml/compile_queue.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, SEEN_MOST = 1 << 14, ALIGNED = 16 };

typedef struct Seen Seen;

/* The lines for sizes of an operator with settings. */
struct Seen {
	Seen *next;
	char *lines;            /* "": the whole table */
	size_t size;
	char asked[];           /* the key without lines, and the sizes */
};

static struct {
	pthread_mutex_t lock;
	Seen *bucket[BUCKETS];
	int count;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool
append(OperatorKey *k, const void *bytes, size_t n)
{
	if (n > KEY_MOST - k->size)
		return false;
	memcpy(k->text + k->size, bytes, n);
	k->size += n;
	return true;
}

static bool
append_text(OperatorKey *k, const char *text)
{
	return append(k, text, strlen(text) + 1);
}

static uint32_t
hash(const char *text, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619u;
	return h;
}

static bool
append_settings(OperatorKey *k, const Launch *l)
{
	bool ok = true;

	for (int i = 0; ok && i < l->settings; i++)
		ok = append_text(k, l->setting[i].name) && append_text(k, l->setting[i].value);
	return ok;
}

/* Are all addresses multiples of what kernels with the widest accesses need? Codebooks are. */
static bool
is_aligned(const Launch *l)
{
	for (int i = 0; i < l->args; i++) {
		const Arg *a = &l->arg[i];

		if ((a->kind == ARG_POINTER && (uintptr_t)a->pointer % ALIGNED != 0) ||
		    (a->kind == ARG_SCRATCH && a->integer % ALIGNED != 0))
			return false;
	}
	return true;
}

/* Sets size[0..) to what guards may name: sizes, and constants among the settings. */
static size_t
sizes_of(const Launch *l, hexc_define *size)
{
	size_t n = 0;

	for (int i = 0; i < l->args; i++)
		if (l->arg[i].kind == ARG_INT)
			size[n++] = (hexc_define){ l->arg[i].name, l->arg[i].integer };
	for (int i = 0; i < l->settings; i++) {
		char *end;
		long long x = strtoll(l->setting[i].value, &end, 10);

		if (end != l->setting[i].value && !*end)
			size[n++] = (hexc_define){ l->setting[i].name, x };
	}
	return n;
}

/* Writes the lines; none, for the whole table, if that is not possible. */
static void
find_lines(char *lines, const Launch *l, const hexc_define *size, size_t sizes, bool aligned)
{
	hexc_op_set set[SETTINGS_MOST];

	for (int i = 0; i < l->settings; i++)
		set[i] = (hexc_op_set){ l->setting[i].name, l->setting[i].value };
	if (hexc_op_table(l->op, set, (size_t)l->settings, NULL, size, sizes, aligned, lines, LINES_MOST,
	                  NULL, 0))
		*lines = 0;
}

/* What a launch asks for. */
typedef struct Asked {
	OperatorKey key;        /* operator, settings, and the bytes of what follows */
	bool aligned;
	hexc_define size[ARGS_MOST + SETTINGS_MOST];
	size_t sizes;
} Asked;

static bool
ask(Asked *a, const Launch *l)
{
	bool ok;

	a->aligned = is_aligned(l);
	a->sizes = sizes_of(l, a->size);
	a->key.size = 0;
	ok = append_text(&a->key, l->op) && append_settings(&a->key, l) &&
	     append(&a->key, &a->aligned, sizeof a->aligned);
	for (size_t i = 0; ok && i < a->sizes; i++)
		ok = append(&a->key, &a->size[i].value, sizeof a->size[i].value);
	return ok;
}

/* ---- the table of what was asked for; the lock is held ------------------------------------------------- */

static Seen **
bucket_of(const OperatorKey *asked)
{
	return &seen.bucket[hash(asked->text, asked->size) % BUCKETS];
}

static Seen *
find_seen(const OperatorKey *asked)
{
	Seen *s = *bucket_of(asked);

	while (s && (s->size != asked->size || memcmp(s->asked, asked->text, s->size)))
		s = s->next;
	return s;
}

static void
forget_all(void)
{
	for (int i = 0; i < BUCKETS; i++)
		for (Seen *s; (s = seen.bucket[i]);) {
			seen.bucket[i] = s->next;
			free(s->lines);
			free(s);
		}
	seen.count = 0;
}

/* Does nothing if memory is short. */
static void
add_seen(const OperatorKey *asked, const char *lines)
{
	Seen *s = calloc(1, sizeof *s + asked->size), **bucket = bucket_of(asked);

	if (!s || !(s->lines = strdup(lines))) {
		free(s);
		return;
	}
	if (seen.count == SEEN_MOST)
		forget_all();
	memcpy(s->asked, asked->text, asked->size);
	s->size = asked->size;
	s->next = *bucket;
	*bucket = s;
	seen.count++;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* The lines of those that asked before, or found now. */
static bool
append_lines(OperatorKey *k, const Launch *l)
{
	char lines[LINES_MOST];
	Asked asked;
	Seen *s;
	bool ok;

	if (!ask(&asked, l))
		return append_text(k, "");
	pthread_mutex_lock(&seen.lock);
	s = find_seen(&asked.key);
	if (!s) {
		find_lines(lines, l, asked.size, asked.sizes, asked.aligned);
		add_seen(&asked.key, lines);
	}
	ok = append_text(k, s ? s->lines : lines);
	pthread_mutex_unlock(&seen.lock);
	return ok;
}

bool
operator_key(OperatorKey *k, const char *arch, const Launch *l, bool whole)
{
	bool ok;

	k->size = 0;
	ok = append_text(k, arch) && append_text(k, l->op) &&
	     (whole ? append_text(k, "") : append_lines(k, l)) && append_settings(k, l);
	k->hash = hash(k->text, k->size);
	return ok;
}

void
operator_key_widen(const Launch *l)
{
	Asked asked;
	Seen *s;

	if (!ask(&asked, l))
		return;
	pthread_mutex_lock(&seen.lock);
	s = find_seen(&asked.key);
	if (s)
		*s->lines = 0;
	pthread_mutex_unlock(&seen.lock);
}
