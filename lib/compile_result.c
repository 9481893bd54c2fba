/* compile_result.c - computes the result code of a compilation and sorts its messages into source order. */
#include "lib/lib.h"
#include <string.h>

/* Returns text for the fallback message after an arena was left. */
static const char *
left_text(int code, const char *why)
{
	if (code == HEXC_E_NOMEM)
		return strcmp(why, "max_memory") == 0
		               ? "the compilation needs more memory than max_memory allows"
		               : "out of memory";
	if (code == HEXC_E_LIMIT)
		return strcmp(why, "cancelled") == 0
		               ? "the compilation was cancelled"
		               : "the search took more steps than max_steps allows";
	return why[0] ? why : "internal: failed without a message";
}

static bool
src_before(const DiagMsg *a, const DiagMsg *b)
{
	return a->src.line != b->src.line ? a->src.line < b->src.line : a->src.col < b->src.col;
}

/* Sorts by source location: an error or warning and its notes stay together; equal locations keep their
 * order. Runs under arena_protect. */
static void
sort_diag(void *user)
{
	hexc_ctx *c = user;
	Diag *d = &c->diag;
	int *head = NEWN(&c->arena, int, d->n), *order = NEWN(&c->arena, int, d->n), nhead = 0, n = 0;

	for (int i = 0; i < d->n; i++) {
		int at = nhead;
		if (i > 0 && d->msg[i].severity == DIAG_NOTE)
			continue;
		for (; at > 0 && src_before(&d->msg[i], &d->msg[head[at - 1]]); at--)
			head[at] = head[at - 1];
		head[at] = i;
		nhead++;
	}
	for (int h = 0; h < nhead; h++) {
		order[n++] = head[h];
		for (int i = head[h] + 1; i < d->n && d->msg[i].severity == DIAG_NOTE; i++)
			order[n++] = i;
	}
	c->order = order;
}

static int
diag_code(const Diag *d)
{
	static const int code[] = {
		[DC_SOURCE] = HEXC_E_SOURCE,
		[DC_LAYOUT] = HEXC_E_LAYOUT,
		[DC_LIMIT] = HEXC_E_LIMIT,
		[DC_ARCH] = HEXC_E_ARCH,
		[DC_INVALID] = HEXC_E_INVALID,
		[DC_INTERNAL] = HEXC_E_INTERNAL,
	};
	int first = HEXC_OK;

	for (int i = 0; i < d->n; i++) {
		if (d->msg[i].severity != DIAG_ERROR)
			continue;
		if (d->msg[i].cls == DC_INTERNAL)
			return HEXC_E_INTERNAL;
		if (!first)
			first = code[d->msg[i].cls];
	}
	return first;
}

int
outcome_leave(hexc_ctx *c, int code, const char *text)
{
	c->only_last = true;
	c->last = (DiagMsg){ .severity = DIAG_ERROR, .cls = DC_LIMIT, .text = text };
	return code;
}

int
outcome(hexc_ctx *c, int left, const char *why)
{
	Arena *const mine[1] = { &c->arena };
	int code;

	if (left)
		return outcome_leave(c, left, left_text(left, why));
	code = diag_code(&c->diag);
	if (arena_protect(mine, 1, sort_diag, c) != HEXC_OK)
		c->order = NULL; /* unsorted */
	return code;
}
