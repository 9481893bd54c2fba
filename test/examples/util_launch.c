/* util_launch.c - finds the loops of a PTX text, and counts bank conflicts in them. */
#include "test/examples/util_launch.h"
#include "test/check.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS "$_.ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* In how many loops the lines of a PTX text are: between a label and the last branch back to it.
 * depth[1..lines]. */
static void
count_loops(const char *ptx, uint8_t *depth, uint32_t lines)
{
	enum { LABELS = 4096 };
	static struct {
		const char *name;
		size_t n;
		uint32_t line, end;
	} label[LABELS];
	uint32_t nlabel = 0;

	for (uint32_t at = 1; at <= lines; at++, ptx = strchr(ptx, '\n') + 1) {
		const char *end = strchr(ptx, '\n'), *dollar = memchr(ptx, '$', (size_t)(end - ptx));
		size_t n = dollar ? strspn(dollar, NAME_CHARS) : 0;

		if (dollar == ptx && n && dollar[n] == ':') {
			ck_assert_uint_lt(nlabel, LABELS);
			label[nlabel].name = dollar;
			label[nlabel].n = n;
			label[nlabel].end = 0;
			label[nlabel++].line = at;
		}
		for (uint32_t i = 0; n && dollar != ptx && i < nlabel; i++)
			if (label[i].n == n && !memcmp(label[i].name, dollar, n))
				label[i].end = at;
	}
	for (uint32_t i = 0; i < nlabel; i++)
		for (uint32_t at = label[i].line; at <= label[i].end; at++)
			depth[at]++;
}

bool *
loop_lines(const char *ptx, int around)
{
	uint32_t lines = 0;
	uint8_t *depth;
	bool *loop;

	for (const char *p = ptx; (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	loop = calloc(lines + 2, sizeof *loop);
	depth = calloc(lines + 2, sizeof *depth);
	ck_assert(loop && depth);
	count_loops(ptx, depth, lines);
	for (uint32_t at = 1; at <= lines; at++)
		loop[at] = depth[at] >= around;
	free(depth);
	return loop;
}

uint64_t
loop_conflicts(const sim_result *r, const char *ptx, int around, uint32_t *line)
{
	bool *loop = loop_lines(ptx, around);
	uint64_t sum = 0;
	sim_line l;

	for (size_t i = 0; sim_line_at(r, i, &l); i++)
		if (loop[l.line] && l.n.shared_wavefronts > l.n.shared_min) {
			sum += l.n.shared_wavefronts - l.n.shared_min;
			*line = l.line;
		}
	free(loop);
	return sum;
}
