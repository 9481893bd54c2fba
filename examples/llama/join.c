/* join.c - joins adjacent pieces by rank with a heap of pairs over a list of pieces, in n log n. */
#include "examples/llama/join.h"
#include <math.h>
#include <stdlib.h>

/* Two neighbours, from the byte where they begin: as they were when their rank was asked for. */
typedef struct Pair {
	double rank;
	int from, middle, to;
} Pair;

/* The piece that begins at a byte. */
typedef struct Link {
	int before, behind; /* where its neighbours begin; -1 and the text's end: there are none */
	bool there;
} Link;

static bool
is_less(Join *j, const Pair *a, const Pair *b)
{
	j->work++;
	return a->rank < b->rank || (a->rank <= b->rank && a->from < b->from);
}

static void
put(Join *j, int *n, Pair p)
{
	Pair *heap = j->heap;
	int i = (*n)++;

	for (; i > 0 && is_less(j, &p, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = p;
}

static Pair
take(Join *j, int *n)
{
	Pair *heap = j->heap, first = heap[0], last = heap[--*n];
	int i = 0;

	for (int child; (child = 2 * i + 1) < *n; i = child) {
		child += child + 1 < *n && is_less(j, &heap[child + 1], &heap[child]);
		if (!is_less(j, &heap[child], &last))
			break;
		heap[i] = heap[child];
	}
	heap[i] = last;
	return first;
}

/* The pair that begins at `from`, if it makes anything. */
static void
look(Join *j, int *n, int from, int end)
{
	int middle = from < 0 ? end : j->link[from].behind;
	Pair p = { 0, from, middle, 0 };

	if (middle == end)
		return;
	p.to = j->link[middle].behind;
	j->work++;
	p.rank = j->rank(j, from, middle, p.to);
	if (!isnan(p.rank))
		put(j, n, p);
}

static bool
make_room(Join *j, int bytes)
{
	if (bytes < j->room)
		return true;
	join_free(j);
	j->room = 2 * bytes + 64;
	/* a pair for each two neighbours, and two more for each that are joined */
	j->heap = malloc(3 * (size_t)j->room * sizeof *j->heap);
	j->link = malloc((size_t)j->room * sizeof *j->link);
	if (!j->heap || !j->link)
		join_free(j);
	return j->room;
}

bool
join_best(Join *j)
{
	int end = j->start[j->n], first = j->start[0], n = 0;
	Link *link;

	if (j->n < 2)
		return true;
	if (!make_room(j, end))
		return false;
	link = j->link;
	for (int i = 0; i < end; i++)
		link[i].there = false;
	for (int i = 0; i < j->n; i++)
		link[j->start[i]] = (Link){ i ? j->start[i - 1] : -1, j->start[i + 1], true };
	for (int i = 0; i + 1 < j->n; i++)
		look(j, &n, j->start[i], end);
	while (n) {
		Pair p = take(j, &n);

		/* a part of it may have been joined to another piece */
		if (!link[p.from].there || link[p.from].behind != p.middle || link[p.middle].behind != p.to)
			continue;
		link[p.middle].there = false;
		link[p.from].behind = p.to;
		if (p.to < end)
			link[p.to].before = p.from;
		look(j, &n, link[p.from].before, end);
		look(j, &n, p.from, end);
	}
	j->n = 0;
	for (int at = first; at < end; at = link[at].behind)
		j->start[j->n++] = at;
	j->start[j->n] = end;
	return true;
}

void
join_free(Join *j)
{
	free(j->heap);
	free(j->link);
	j->heap = NULL;
	j->link = NULL;
	j->room = 0;
}
