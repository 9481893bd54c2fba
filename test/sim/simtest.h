/* simtest.h - helpers for the simulator's tests: load a text, run a kernel, inspect faults. */
#ifndef SIMTEST_H
#define SIMTEST_H
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sim.h"

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"

static inline sim_module *
must_load(sim *s, const char *text)
{
	sim_module *m = NULL;
	sim_message msg;
	int rc = sim_load(s, text, strlen(text), &m);

	for (size_t i = 0; rc != SIM_OK && sim_message_at(s, i, &msg); i++)
		fprintf(stderr, "line %u: %s\n", msg.line, msg.text);
	ck_assert_int_eq(rc, SIM_OK);
	return m;
}

/* Line (from 1) of the text that holds the mark, e.g. a comment such as "//here". */
static inline unsigned
line_of(const char *text, const char *mark)
{
	const char *p = strstr(text, mark);
	unsigned line = 1;

	ck_assert_msg(p != NULL, "no mark %s", mark);
	for (; p > text; p--)
		line += p[-1] == '\n';
	return line;
}

static inline void
print_faults(const sim_result *r)
{
	sim_fault f;

	for (size_t i = 0; sim_fault_at(r, i, &f); i++)
		fprintf(stderr, "line %u thread %u: %s: %s (other line %u)\n", f.at.line, f.at.thread[0],
		        sim_fault_name(f.kind),
		        f.text, f.other.line);
}

/* Text of a file below the folder of this test, NUL-terminated; free it.  NULL if unreadable. */
static inline char *
read_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text;
	long n;

	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}
#endif
