/* file_nearest.c - names of a file that somebody may have meant. */
#include "lib/weights/file.h"
#include <stdio.h>
#include <string.h>

enum { NEAR = 3, LETTERS = 63, NAMES_MOST = 20000 };

/* Letters to insert, delete or change between the first LETTERS of two names. */
static unsigned
distance(const char *a, const char *b)
{
	unsigned row[LETTERS + 1], n = 0;

	while (n < LETTERS && b[n])
		n++;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 0; i < LETTERS && a[i]; i++) {
		unsigned corner = row[0]++;

		for (unsigned j = 0; j < n; j++) {
			unsigned best = corner + (a[i] != b[j]);

			corner = row[j + 1];
			best = best < corner + 1 ? best : corner + 1;
			row[j + 1] = best < row[j] + 1 ? best : row[j] + 1;
		}
	}
	return row[n];
}

typedef struct Nearest {
	const char *name[NEAR];
	unsigned far[NEAR];
	int n;
} Nearest;

static void
consider(Nearest *best, const char *want, const char *name)
{
	unsigned far = distance(want, name);
	int at = best->n;

	for (int i = 0; i < best->n; i++)
		if (strcmp(best->name[i], name) == 0)
			return;
	while (at > 0 && best->far[at - 1] > far)
		at--;
	if (at == NEAR)
		return;
	best->n += best->n < NEAR;
	for (int i = best->n - 1; i > at; i--) {
		best->name[i] = best->name[i - 1];
		best->far[i] = best->far[i - 1];
	}
	best->name[at] = name;
	best->far[at] = far;
}

void
file_nearest(const hexc_file *f, const char *name, char *out, size_t n)
{
	Nearest best = { { NULL }, { 0 }, 0 };
	size_t at = 0;

	out[0] = 0;
	for (size_t i = 0; i < NAMES_MOST && i < f->nweight; i++)
		consider(&best, name, f->weight[i].name);
	for (size_t i = 0; i < NAMES_MOST && i < f->ntensor; i++)
		consider(&best, name, f->tensor[i].name);
	for (int i = 0; i < best.n && at < n; i++)
		at += (size_t)snprintf(out + at, n - at, "%s%.*s", i ? ", " : "", LETTERS, best.name[i]);
}
