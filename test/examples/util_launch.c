/* util_launch.c - loops of a PTX text, and what orders its threads and engines. */
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

/* How often warps executed a line. */
static uint64_t
executed(const sim_result *r, uint32_t line)
{
	sim_line l;

	for (size_t i = 0; sim_line_at(r, i, &l); i++)
		if (l.line == line)
			return l.n.warps;
	return 0;
}

/* Is the line at p, of number `line`, in a loop that never had a second turn?  What is behind the label in
 * front, where loops ask whether there is another, was executed once more for each. */
static bool
turns_once(const sim_result *r, const char *ptx, const char *p, uint32_t line)
{
	uint64_t n = executed(r, line), first = 0;

	while (p > ptx && strncmp(p, "$L_", 3) != 0) {
		first = executed(r, line) ? executed(r, line) : first;
		for (p--; p > ptx && p[-1] != '\n'; p--)
			;
		line--;
	}
	return p > ptx && first >= 2 * n;
}

/* What keeps turns of a loop apart: a wait for all products but some of the turn before; groups of these. */
static bool
parts_turns(const char *p)
{
	static const char wait[] = "wgmma.wait_group.sync.aligned ";
	const char *end = p + strcspn(p, "\n"), *at = strstr(p, wait);
	const char *group = strstr(p, "wgmma.commit_group");

	return (at && at < end && at[sizeof wait - 1] != '0') || (group && group < end);
}

/* Barriers of the kernels tried so far. */
static struct {
	uint64_t text; /* hash */
	uint32_t line;
	bool needed;
	char what[200], op[120];
} barrier[4096];
static int nbarrier;

static uint64_t
hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3;
	return h;
}

/* Its place in the table. */
static int
place_of(uint64_t text, uint32_t line, const char *what)
{
	int i = 0;

	while (i < nbarrier && (barrier[i].text != text || barrier[i].line != line))
		i++;
	if (i < nbarrier)
		return i;
	ck_assert_int_lt(nbarrier, (int)(sizeof barrier / sizeof *barrier));
	barrier[nbarrier].text = text;
	barrier[nbarrier].line = line;
	snprintf(barrier[nbarrier].what, sizeof barrier->what, "%s", what);
	return nbarrier++;
}

/* Does the kernel still run without faults when line `at` of its text is blank? */
static bool
runs_without(sim *s, const char *ptx, const char *at, const char *kernel, const sim_launch *l)
{
	size_t n = strlen(ptx);
	char *text = malloc(n + 1);
	sim_module *m = NULL;
	sim_result *r = NULL;
	int rc;

	ck_assert_ptr_nonnull(text);
	memcpy(text, ptx, n + 1);
	memset(text + (at - ptx), ' ', strcspn(at, "\n"));
	ck_assert_int_eq(sim_load(s, text, n, &m), SIM_OK);
	rc = sim_run(s, m, kernel, l, &r);
	sim_result_free(r);
	sim_unload(s, m);
	free(text);
	return rc != SIM_E_FAULT;
}

/* What makes somebody wait, or tells who waits: in the line at p.  Of kernels with roles some of bar.sync,
 * mbarrier.try_wait, the fences and what bulk copies to tensors wait for are not missed, here or in the
 * simulator, and not tried. */
static bool
orders(const char *p, bool roles)
{
	static const char *const group[] = { "bar.sync", "barrier.sync", NULL };
	static const char *const role[] = {
		"cp.async.mbarrier.arrive", "wgmma.commit_group", "wgmma.wait_group", "mbarrier.arrive", NULL,
	};
	size_t n = strcspn(p, "\n");

	for (const char *const *op = roles ? role : group; *op; op++) {
		const char *at = strstr(p, *op);

		if (at && at < p + n && (at == p || strchr(" \t", at[-1])))
			return true;
	}
	return false;
}

void
try_barriers(sim *s, const char *ptx, const char *kernel, const sim_launch *l, const sim_result *clean,
             bool roles, const char *what)
{
	uint64_t text = hash(ptx);
	uint32_t line = 1;

	for (const char *p = ptx; *p; p = strchr(p, '\n') + 1, line++) {
		int i;

		if (!orders(p, roles) || !executed(clean, line) ||
		    (parts_turns(p) && turns_once(clean, ptx, p, line)))
			continue;
		i = place_of(text, line, what);
		snprintf(barrier[i].op, sizeof barrier->op, "%.*s", (int)strcspn(p, "\n"), p);
		barrier[i].needed = barrier[i].needed || !runs_without(s, ptx, p, kernel, l);
	}
	runs_without(s, ptx, ptx + strcspn(ptx, "\n"), kernel, l); /* what others go on with is right again */
}

/* In some interleaving of threads, of a few. */
static bool
is_needed(sim *s, const char *ptx, const char *at, const char *kernel, sim_launch l)
{
	for (l.seed = 0; l.seed < 8; l.seed++)
		if (!runs_without(s, ptx, at, kernel, &l))
			return true;
	return false;
}

void
needs_lines(sim *s, const char *ptx, const char *text, const char *kernel, const sim_launch *l,
            const char *what)
{
	const char *p = strstr(ptx, text);

	ck_assert_msg(p, "%s: no %s", what, text);
	for (; p; p = strstr(p + 1, text)) {
		const char *line = p;

		while (line > ptx && line[-1] != '\n')
			line--;
		ck_assert_msg(is_needed(s, ptx, line, kernel, *l), "%s: right without %.*s", what,
		              (int)strcspn(line, "\n"), line);
	}
	runs_without(s, ptx, ptx + strcspn(ptx, "\n"), kernel, l);
}

const char *
needless_barrier(uint32_t *line, const char **op)
{
	for (int i = 0; i < nbarrier; i++)
		if (!barrier[i].needed) {
			*line = barrier[i].line;
			*op = barrier[i].op;
			return barrier[i].what;
		}
	return NULL;
}
