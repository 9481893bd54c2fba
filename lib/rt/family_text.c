/* family_text.c - parses the text of families line by line: hexc-family(5). */
#include "lib/rt/family.h"
#include <stdio.h>
#include <string.h>

static const char blanks[] = " \t\r";

void
family_wrong(FamilyText *t, const char *fmt, ...)
{
	va_list ap;
	int k;

	if (t->bad)
		return;
	t->bad = true;
	if (!t->n)
		return;
	k = snprintf(t->why, t->n, "line %d of the families: ", t->line);
	if (k < 0 || (size_t)k >= t->n)
		return;
	va_start(ap, fmt);
	vsnprintf(t->why + k, t->n - (size_t)k, fmt, ap);
	va_end(ap);
}

/* ---- words ----------------------------------------------------------------------------------------- */

static void
skip_blanks(FamilyText *t)
{
	while (t->at < t->end && strchr(blanks, *t->at))
		t->at++;
}

/* Returns the length of the next word without consuming it; 0 at the end of the line. */
static size_t
peek(FamilyText *t)
{
	size_t n = 0;

	skip_blanks(t);
	while (t->at + n < t->end && !strchr(blanks, t->at[n]))
		n++;
	return n;
}

static bool
is_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(s, word, n) == 0;
}

static bool
accept(FamilyText *t, const char *word)
{
	size_t n = peek(t);

	if (!is_word(t->at, n, word))
		return false;
	t->at += n;
	return true;
}

/* Reads line t->line, starting at `from`; returns its end, after the newline. */
static const char *
take_line(FamilyText *t, const char *from, const char *end)
{
	const char *stop = memchr(from, '\n', (size_t)(end - from)), *mark;

	t->line++;
	t->at = from;
	t->end = stop ? stop : end;
	mark = memchr(from, '#', (size_t)(t->end - from));
	t->end = mark ? mark : t->end;
	return stop ? stop + 1 : end;
}

int
family_line_of(const char *text, const char *at)
{
	int n = 0;

	for (; text < at; text++)
		n += *text == '\n';
	return n;
}

/* ---- families -------------------------------------------------------------------------------------- */

/* Returns the rest of the line, without surrounding blanks. */
static const char *
rest(FamilyText *t)
{
	size_t n;

	skip_blanks(t);
	n = (size_t)(t->end - t->at);
	while (n && strchr(blanks, t->at[n - 1]))
		n--;
	return arena_strndup(t->arena, t->at, n);
}

/* Reads the first line of the text; returns NULL if it is invalid. */
static const char *
head(FamilyText *t, const char *from, const char *end)
{
	const char *next = take_line(t, from, end);

	if (!accept(t, "hexc-family"))
		family_wrong(t, "it does not start with hexc-family 1");
	else if (!accept(t, "1") || peek(t))
		family_wrong(t, "it has a format version other than 1; export it again");
	return t->bad ? NULL : next;
}

const char *
family_next(FamilyText *t, const char *from, const char *end, const char **name, const char **arch,
            const char **behind)
{
	const char *begin = NULL, *next;

	*name = *arch = NULL;
	if (!t->line && !(from = head(t, from, end)))
		return NULL;
	for (; from < end; from = next) {
		int before = t->line;

		next = take_line(t, from, end);
		if (accept(t, "hexc-family")) { /* another text is appended to the first one */
			head(t, from, end);
			t->line--;
		} else if (accept(t, "family")) {
			if (begin) { /* the next family */
				t->line = before;
				break;
			}
			begin = from;
			*name = rest(t);
			if (!**name || (*name)[strcspn(*name, blanks)])
				family_wrong(t, "a family's name must be one word");
		} else if (begin && accept(t, "arch")) {
			*arch = rest(t);
			if (!target_find(*arch))
				family_wrong(t, "unknown architecture %s", *arch);
		} else if (!begin && peek(t)) {
			family_wrong(t, "family NAME must come first");
		}
		if (t->bad)
			return NULL;
	}
	*behind = from;
	return begin;
}

/* ---- lines ----------------------------------------------------------------------------------------- */

static bool
whole_number(const char *s, int64_t *out)
{
	bool minus = *s == '-';
	int64_t x = 0;

	s += minus;
	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || !mul64(x, 10, &x) || !add64(x, *s - '0', &x))
			return false;
	}
	*out = minus ? -x : x;
	return true;
}

static void
take_define(FamilyText *t, FamilyStage *s, const char *word, size_t n)
{
	const char *eq = memchr(word, '=', n), *value;
	hexc_define d = { arena_strndup(t->arena, word, (size_t)(eq - word)), 0 };
	hexc_define *more;

	value = arena_strndup(t->arena, eq + 1, (size_t)(word + n - eq - 1));
	if (!whole_number(value, &d.value) && (d.value = hexc_type_value(value)) == 0) {
		family_wrong(t, "%s=%s: the value is neither an integer nor an element type", d.name, value);
		return;
	}
	if (strcmp(d.name, "candidate") == 0) {
		if (d.value < 0 || d.value > INT32_MAX)
			family_wrong(t, "candidate=%s: not a candidate", value);
		s->candidate = (int)d.value;
		return;
	}
	more = NEWN(t->arena, hexc_define, s->ndefine + 1);
	if (s->ndefine)
		memcpy(more, s->define, sizeof *more * (size_t)s->ndefine);
	more[s->ndefine++] = d;
	s->define = more;
}

/* Parses [KERNEL] NAME=VALUE..., up to then, with or when. */
static void
take_stage(FamilyText *t, FamilyLine *l)
{
	FamilyStage s = { .candidate = -1 };
	size_t n;

	for (int i = 0; (n = peek(t)) != 0 && !t->bad; i++, t->at += n) {
		if (is_word(t->at, n, "then") || is_word(t->at, n, "with") || is_word(t->at, n, "when"))
			break;
		if (memchr(t->at, '=', n))
			take_define(t, &s, t->at, n);
		else if (i == 0)
			s.kernel = arena_strndup(t->arena, t->at, n);
		else
			family_wrong(t, "'%.*s' is not NAME=VALUE; the next kernel must follow `then`",
			             (int)n,
			             t->at);
	}
	VEC_PUSH(t->arena, l->stage, l->nstage, l->stage_cap, s);
}

static void
take_take(FamilyText *t, hexc_family *f)
{
	FamilyLine l = { .number = t->line, .cond = -1 };

	do
		take_stage(t, &l);
	while (accept(t, "then") && !t->bad);
	if (l.nstage > HEXC_FAMILY_STAGES)
		family_wrong(t, "an entry can have at most %d kernels", HEXC_FAMILY_STAGES);
	l.rest = rest(t);
	VEC_PUSH(t->arena, f->line, f->nline, f->line_cap, l);
}

void
family_lines(FamilyText *t, hexc_family *f, const char *from, const char *end)
{
	/* descriptive lines, which hosts ignore */
	static const char *const about[] = { "hexc-family", "family", "arch", "program", "gpu", "driver",
	                                     "build", "judge" };

	while (from < end && !t->bad) {
		size_t n, i = 0;

		from = take_line(t, from, end);
		n = peek(t);
		while (i < COUNT_OF(about) && !is_word(t->at, n, about[i]))
			i++;
		if (accept(t, "take"))
			take_take(t, f);
		else if (n && i == COUNT_OF(about))
			family_wrong(t, "'%.*s' is not take, arch, or a line that tune writes",
			             (int)n, t->at);
	}
	if (!f->nline)
		family_wrong(t, "family %s has no line that starts with take", f->name);
}

/* ---- before there is a bundle ----------------------------------------------------------------------- */

typedef struct WantJob {
	const char *text;
	size_t bytes;
	int (*each)(void *user, const hexc_family_want *w);
	void *user;
	const char *name;        /* of the families; NULL: all */
	const hexc_define *size; /* NULL: all lines */
	size_t nsize;
	Arena arena;
	FamilyText t;
} WantJob;

/* Returns false to stop. */
static bool
want_stages(WantJob *j, const hexc_family *f)
{
	for (int i = 0; i < f->nline; i++) {
		if (j->size && !family_guard_holds(&j->t, &f->line[i], j->size, j->nsize))
			continue;
		for (int s = 0; s < f->line[i].nstage; s++) {
			const FamilyStage *st = &f->line[i].stage[s];
			const char *kernel = st->kernel ? st->kernel : f->name;
			hexc_family_want w = { f->name, f->arch, kernel, st->define, (size_t)st->ndefine,
				               st->candidate, (uint32_t)f->line[i].number };

			if (j->each(j->user, &w))
				return false;
		}
	}
	return !j->t.bad;
}

/* Runs under arena_protect. */
static void
want_all(void *user)
{
	WantJob *j = user;
	const char *at = j->text, *end = j->text + j->bytes, *begin, *behind;
	hexc_family f = { .name = NULL };

	while (at < end && (begin = family_next(&j->t, at, end, &f.name, &f.arch, &behind)) != NULL) {
		int line = j->t.line;

		f.line = NULL;
		f.nline = f.line_cap = 0;
		j->t.line = family_line_of(j->text, begin);
		family_lines(&j->t, &f, begin, behind);
		if (j->t.bad || ((!j->name || !strcmp(f.name, j->name)) && !want_stages(j, &f)))
			return;
		j->t.line = line;
		at = behind;
	}
}

static int
want(WantJob *j)
{
	Arena *arena = &j->arena;
	int code;

	if (j->t.why && j->t.n)
		j->t.why[0] = 0;
	if (!j->text || !j->each || (!j->t.why && j->t.n))
		return HEXC_E_INVALID;
	arena_init(&j->arena, NULL, NULL);
	j->t.arena = &j->arena;
	code = arena_protect(&arena, 1, want_all, j);
	if (code)
		why_error(code, j->t.why, j->t.n, "%s", hexc_strerror(code));
	arena_free(&j->arena);
	return code ? code : j->t.bad ? HEXC_E_FILE : HEXC_OK;
}

int
hexc_family_wants(const char *text, size_t bytes, int (*each)(void *user, const hexc_family_want *w),
                  void *user, char *why, size_t n)
{
	WantJob j = { .text = text, .bytes = bytes, .each = each, .user = user, .t = { .why = why, .n = n } };

	return want(&j);
}

int
hexc_family_wants_for(const char *text, size_t bytes, const char *name, const hexc_define *size, size_t nsize,
                      int (*each)(void *user, const hexc_family_want *w), void *user, char *why, size_t n)
{
	static const hexc_define none;
	WantJob j = { .text = text, .bytes = bytes, .each = each, .user = user, .name = name,
	              .size = size ? size : &none, .nsize = nsize,
	              .t = { .why = why, .n = n } };

	for (size_t i = 0; i < nsize; i++)
		if (!size || !size[i].name)
			return HEXC_E_INVALID;
	return want(&j);
}
