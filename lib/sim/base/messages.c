/* messages.c - collects the error messages about a PTX text, sorted by line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/base/messages.h"

/* Text of the input may be in it: keeps it to one plain line. */
static void
plain(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 32 || (unsigned char)*s > 126)
			*s = '?';
}

void
messages_add(Messages *m, u32 line, const char *fmt, va_list ap)
{
	char buf[400];
	Message *v;

	if (m->n == m->cap) {
		u32 n = m->cap ? 2 * m->cap : 16;
		v = realloc(m->v, n * sizeof *v);
		if (!v)
			return;
		m->v = v;
		m->cap = n;
	}
	vsnprintf(buf, sizeof buf, fmt, ap);
	plain(buf);
	v = &m->v[m->n];
	v->text = malloc(strlen(buf) + 1);
	if (!v->text)
		return;
	strcpy(v->text, buf);
	v->line = line;
	m->n++;
}

static int
by_line(const void *x, const void *y)
{
	const Message *a = x, *b = y;

	return a->line < b->line ? -1 : a->line > b->line;
}

void
messages_sort(Messages *m)
{
	if (m->n)
		qsort(m->v, m->n, sizeof *m->v, by_line);
}

void
messages_clear(Messages *m)
{
	for (u32 i = 0; i < m->n; i++)
		free(m->v[i].text);
	m->n = 0;
}

void
messages_free(Messages *m)
{
	messages_clear(m);
	free(m->v);
	m->v = NULL;
	m->cap = 0;
}
