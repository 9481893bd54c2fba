/* times.c - measures launches by events before and behind them. Events are read when all are used. */
#include "examples/ggml/times.h"
#include <ggml-impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 256, NAME_MOST = 200 };

/* The launches of one kind of operation. */
typedef struct Row {
	struct Row *next;
	char name[NAME_MOST];   /* "MUL_MAT+ADD q4_K": the type is that of the first operand */
	int64_t launches;
	double us;
} Row;

typedef struct Pair {
	hexc_event *from, *to;
	Row *row;               /* NULL: not measured */
	int launches;
} Pair;

struct Times {
	Device *d;
	void *stream;
	Pair pair[PAIRS];
	int pairs;              /* that are recorded */
	Row *rows;
	bool failed;            /* nothing is measured any more */
};

/* ---- rows ---------------------------------------------------------------------------------------------- */

static void
append(char name[NAME_MOST], const struct ggml_tensor *t)
{
	size_t used = strlen(name);

	if (t)
		snprintf(name + used, NAME_MOST - used, "+%s", ggml_op_desc(t));
}

static void
write_name(char name[NAME_MOST], const Work *w)
{
	const Tail *tail = w->tail;
	size_t used;

	snprintf(name, NAME_MOST, "%s", ggml_op_desc(w->op));
	if (tail) {
		append(name, tail->also);
		append(name, tail->second);
		for (int i = 0; i < tail->nodes; i++)
			append(name, tail->node[i]);
		append(name, tail->rows);
	}
	used = strlen(name);
	if (w->op->src[0])
		snprintf(name + used, NAME_MOST - used, " %s", ggml_type_name(w->op->src[0]->type));
}

/* NULL: no memory. */
static Row *
row_of(Times *t, const Work *w)
{
	char name[NAME_MOST];
	Row *row = t->rows;

	write_name(name, w);
	while (row && strcmp(row->name, name))
		row = row->next;
	if (row)
		return row;
	row = calloc(1, sizeof *row);
	if (row) {
		memcpy(row->name, name, sizeof row->name);
		row->next = t->rows;
		t->rows = row;
	}
	return row;
}

/* ---- events; the device is locked ---------------------------------------------------------------------- */

/* Records an event, which is created if it does not exist. */
static bool
record(Times *t, hexc_event **e)
{
	return (*e || !hexc_event_new(e, t->d->gpu)) && !hexc_event_record(*e, t->stream);
}

/* Reads all recorded events. */
static void
collect(Times *t)
{
	for (int i = 0; i < t->pairs && !t->failed; i++) {
		Pair *p = &t->pair[i];
		double us = 0;

		t->failed = hexc_event_wait(p->to) || hexc_event_us(p->from, p->to, &us);
		if (p->row && !t->failed) {
			p->row->us += us;
			p->row->launches += p->launches;
		}
	}
	t->pairs = 0;
}

static void
check(Times *t)
{
	if (t->failed)
		device_log(t->d, "times", hexc_gpu_why(t->d->gpu));
}

/* ---- times.h ------------------------------------------------------------------------------------------- */

void
times_begin(Times *t)
{
	if (t->failed)
		return;
	pthread_mutex_lock(&t->d->lock);
	if (t->pairs == PAIRS)
		collect(t);
	t->failed = t->failed || !record(t, &t->pair[t->pairs].from);
	check(t);
	pthread_mutex_unlock(&t->d->lock);
}

void
times_end(Times *t, const Work *w)
{
	Pair *p = &t->pair[t->pairs];

	if (t->failed)
		return;
	p->row = row_of(t, w);
	p->launches = w->launches;
	pthread_mutex_lock(&t->d->lock);
	t->failed = !record(t, &p->to);
	t->pairs += !t->failed;
	check(t);
	pthread_mutex_unlock(&t->d->lock);
}

/* Removes the row with the largest time from the list. */
static Row *
remove_largest(Times *t)
{
	Row **largest = &t->rows, *row;

	for (Row **at = &t->rows; *at; at = &(*at)->next)
		if ((*at)->us > (*largest)->us)
			largest = at;
	row = *largest;
	*largest = row->next;
	return row;
}

void
times_log(Times *t)
{
	double all = 0;

	pthread_mutex_lock(&t->d->lock);
	collect(t);
	pthread_mutex_unlock(&t->d->lock);
	for (const Row *row = t->rows; row; row = row->next)
		all += row->us;
	GGML_LOG_INFO("%s:  share     us total   us each  launches  operation\n", t->d->name);
	while (t->rows) {
		Row *row = remove_largest(t);
		double each = row->launches ? row->us / (double)row->launches : 0;

		GGML_LOG_INFO("%s: %5.1f %% %12.1f %9.2f %9lld  %s\n", t->d->name,
		              all > 0 ? 100 * row->us / all : 0, row->us, each, (long long)row->launches,
		              row->name);
		free(row);
	}
}

Times *
times_new(Device *d, void *stream)
{
	Times *t = calloc(1, sizeof *t);

	if (t) {
		t->d = d;
		t->stream = stream;
	}
	return t;
}

void
times_free(Times *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->d->lock);
	for (int i = 0; i < PAIRS; i++) {
		hexc_event_free(t->pair[i].from);
		hexc_event_free(t->pair[i].to);
	}
	pthread_mutex_unlock(&t->d->lock);
	for (Row *row = t->rows, *next; row; row = next) {
		next = row->next;
		free(row);
	}
	free(t);
}
