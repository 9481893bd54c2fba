/* file_suggest.c - finds the names of a file that are closest to a misspelled one. */
#include "lib/weights/file.h"
#include <stdio.h>
#include <string.h>

enum { NEAR = 3, NAMES_MOST = 20000 };

typedef struct Nearest {
	const char *name[NEAR];
	int far[NEAR];
	int n;
} Nearest;

static void
consider(Nearest *best, const char *want, const char *name)
{
	int far = edit_distance(want, name), at = best->n;

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
		at += (size_t)snprintf(out + at, n - at, "%s%.*s", i ? ", " : "", EDIT_LETTERS, best.name[i]);
}
