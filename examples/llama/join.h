/* join.h - joining of adjacent pieces, best rank first, as vocabularies specify. */
#ifndef HEXC_LLAMA_JOIN_H
#define HEXC_LLAMA_JOIN_H
#include <stdbool.h>

struct Pair;
struct Link;

/* A text in pieces; piece i is text[start[i] .. start[i + 1]). */
typedef struct Join {
	const char *text;
	int *start; /* n + 1 of them */
	int n;
	/* How good a piece text[from .. to), of the neighbours that meet at `middle`, is: less is better;
	 * NAN: it is none. */
	double (*rank)(const struct Join *j, int from, int middle, int to);
	const void *user;
	long work;  /* ranks that were asked for, and pairs that were compared: n log n */
	struct Pair *heap; /* of the function, as the rest; kept from one text to the next */
	struct Link *link;
	int room;
} Join;

/* Join the neighbours of least rank, the first of equal ones, until none have any; j->start and j->n are
 * what is left. False: out of memory. */
bool join_best(Join *j);
void join_free(Join *j);
#endif
