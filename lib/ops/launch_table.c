/* launch_table.c - implements hexc_op_table: the lines of an operator's dispatch table that a launch may
 * take, as a table of its own. */
#include "lib/ops/ops.h"
#include <stdlib.h>
#include <string.h>

typedef struct LaunchTable {
	Arena *arena;
	OpSettings settings;
	const char *name, *arch;
	const hexc_define *size;
	size_t nsize;
	bool aligned;
	const char *table;
	/* by line, from 1: its guard is true; a kernel of it takes any address; it is for this arch only */
	bool *holds, *any, *tuned;
	bool some_tuned;        /* a line that holds is; then these alone count, as in hexc_family_open */
	bool some_aligned;      /* a line that holds does not take any address */
	Text out;
	char *why;
	size_t n;
	int code;
} LaunchTable;

/* Must not be left by longjmp. */
static int
note_line(void *user, const hexc_family_want *want)
{
	LaunchTable *t = user;

	if (want->arch && strcmp(want->arch, t->arch) != 0)
		return 0;
	t->holds[want->line] = true;
	t->tuned[want->line] = want->arch;
	for (size_t i = 0; i < want->ndefine; i++)
		if (strcmp(want->define[i].name, "ALIGN") == 0 && want->define[i].value == 1)
			t->any[want->line] = true;
	return 0;
}

static bool
counts(const LaunchTable *t, uint32_t line)
{
	return t->holds[line] && t->tuned[line] == t->some_tuned;
}

/* Of lines that count, those for any address are for launches that have such, and for others if no line is
 * for these. */
static bool
is_kept(const LaunchTable *t, uint32_t line)
{
	return counts(t, line) && t->any[line] == !(t->aligned && t->some_aligned);
}

/* Appends the line with the guard 1, which follows the word `when`. */
static void
add_line(LaunchTable *t, const char *line, size_t n)
{
	static const char blanks[] = " \t", when[] = "when";
	size_t i = 1, w = sizeof when - 1;

	while (i + w < n && !(strchr(blanks, line[i - 1]) && memcmp(line + i, when, w) == 0 &&
	                      strchr(blanks, line[i + w])))
		i++;
	text_add(&t->out, line, i);
	text_printf(&t->out, "when 1\n");
}

static void
add_kept(LaunchTable *t)
{
	uint32_t line = 1;

	text_printf(&t->out, "hexc-family 1\nfamily %s\n", t->name);
	if (t->some_tuned)
		text_printf(&t->out, "arch %s\n", t->arch);
	for (const char *at = t->table; *at; line++) {
		size_t n = strcspn(at, "\n");

		if (is_kept(t, line))
			add_line(t, at, n);
		at += n + (at[n] != 0);
	}
}

static uint32_t
count_lines(const char *s)
{
	uint32_t n = 1;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

/* Runs under arena_protect. */
static void
make_table(void *user)
{
	LaunchTable *t = user;
	uint32_t lines, found = 0;
	OpSource source;

	t->settings.used = NEWN(t->arena, bool, t->settings.nset + 1);
	if (!op_read(t->arena, t->name, op_text(t->name), &t->settings, &source, t->why, t->n)) {
		t->code = HEXC_E_INTERNAL;
		return;
	}
	t->table = op_table(t->arena, &source, t->table);
	lines = count_lines(t->table);
	t->holds = NEWN(t->arena, bool, lines + 1);
	t->any = NEWN(t->arena, bool, lines + 1);
	t->tuned = NEWN(t->arena, bool, lines + 1);
	t->code = hexc_family_wants_for(t->table, strlen(t->table), t->name, t->size, t->nsize, note_line, t,
	                                t->why, t->n);
	for (uint32_t i = 0; i <= lines; i++)
		t->some_tuned |= t->tuned[i];
	for (uint32_t i = 0; i <= lines; i++)
		t->some_aligned |= counts(t, i) && !t->any[i];
	for (uint32_t i = 0; i <= lines; i++)
		found += is_kept(t, i);
	if (!t->code && !found)
		t->code = why_error(HEXC_E_ARGS, t->why, t->n,
		                    "operator %s: no line of its dispatch table is for these sizes%s",
		                    t->name, t->aligned ? "" : " at any address");
	t->out.arena = t->arena;
	if (!t->code)
		add_kept(t);
}

int
hexc_op_table(const char *name, const hexc_op_set *set, size_t nset, const hexc_op_opts *opts,
              const hexc_define *size, size_t nsize, int aligned, char *text, size_t bytes, char *why,
              size_t n)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	LaunchTable t = { .settings = { set, nset, NULL }, .name = name, .size = size, .nsize = nsize,
		          .aligned = aligned != 0, .why = why, .n = n };
	Arena arena;
	int code;

	if (why && n)
		*why = 0;
	if (!name || (nset && !set) || !op_settings_valid(set, nset) || (nsize && !size) || !text || !bytes ||
	    (!why && n) || (opts && !take_in(&o, sizeof o, opts)))
		return HEXC_E_INVALID;
	*text = 0;
	if (hexc_op_find(name) < 0)
		return why_error(HEXC_E_ARGS, why, n, "unknown operator %s; hexc_op_at lists them", name);
	arena_init(&arena, o.realloc, o.user);
	t.arena = &arena;
	t.table = o.families;
	t.arch = o.arch ? o.arch : OP_DEFAULT_ARCH;
	code = arena_protect(&t.arena, 1, make_table, &t);
	if (code)
		why_error(code, why, n, "operator %s: %s", name, hexc_strerror(code));
	code = code ? code : t.code;
	if (!code && strlen(t.out.s) >= bytes)
		code = why_error(HEXC_E_LIMIT, why, n, "operator %s: its table has more than %zu characters",
		                 name, bytes - 1);
	if (!code)
		strcpy(text, t.out.s);
	arena_free(&arena);
	return code;
}
