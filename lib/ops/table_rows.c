/* table_rows.c - reads an operator's dispatch table line by line: which kernels it requires, and which
 * lines apply to this host. */
#include "lib/ops/plan_internal.h"
#include <stdlib.h>
#include <string.h>

bool
op_is_left_out(const OpJob *j, uint32_t line)
{
	for (int i = 0; i < j->nout; i++)
		if (j->out[i] == line)
			return true;
	return false;
}

void
op_leave_out(OpJob *j, uint32_t line)
{
	if (!op_is_left_out(j, line))
		VEC_PUSH(j->arena, j->out, j->nout, j->out_cap, line);
}

static bool
find_kernel(OpJob *j, OpKernel *k)
{
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;

	for (int i = 0; i < j->nprogram; i++)
		for (size_t n = 0; hexc_kernel(j->program[i].parsed, n, &info); n++) {
			info.size = sizeof info;
			if (strcmp(info.name, k->name) != 0)
				continue;
			k->program = &j->program[i];
			k->number = n;
			return true;
		}
	return false;
}

/* Parses a constant's value: an integer or an element type; returns false otherwise. */
static bool
read_value(const char *text, int64_t *value)
{
	char *end;
	long long x = strtoll(text, &end, 10);

	*value = *text && !*end ? x : hexc_type_value(text);
	return (*text && !*end) || *value;
}

/* Returns the index of the constant; n if there is none. */
static size_t
find_define(const hexc_define *d, size_t n, const char *name)
{
	size_t i = 0;

	while (i < n && strcmp(d[i].name, name) != 0)
		i++;
	return i;
}

/* Returns the compute capability of the target, times 10. */
static int64_t
capability(const OpJob *j)
{
	const char *arch = op_arch(j);

	return strtoll(arch + strcspn(arch, "0123456789"), NULL, 10);
}

/* Appends the settings that are constants of the kernel to those of its line, and the target's capability;
 * omits a line with another value. */
static bool
take_settings(OpJob *j, OpKernel *k)
{
	hexc_define *d = NEWN(j->arena, hexc_define, k->ndefine + j->settings.nset + 2);
	size_t n = k->ndefine;

	for (size_t i = 0; i < n; i++)
		d[i] = k->define[i];
	for (size_t s = 0; s < j->settings.nset; s++) {
		const char *name = j->settings.set[s].name;
		int64_t value;
		size_t i;

		if (hexc_const_find(k->program->parsed, k->number, name) < 0)
			continue;
		if (!read_value(j->settings.set[s].value, &value))
			return op_fail(j, HEXC_E_ARGS,
			               arena_printf(j->arena, "%s = %s is neither an integer nor an element "
			                         "type", name, j->settings.set[s].value));
		j->settings.used[s] = true;
		i = find_define(d, n, name);
		if (i == n)
			d[k->ndefine++] = (hexc_define){ name, value };
		else if (d[i].value != value)
			op_leave_out(j, k->line);
	}
	if (hexc_const_find(k->program->parsed, k->number, "SM") >= 0 &&
	    find_define(d, k->ndefine, "SM") == k->ndefine)
		d[k->ndefine++] = (hexc_define){ "SM", capability(j) };
	k->define = d;
	return true;
}

/* The table's kernels. hexc_family_wants must not be left by longjmp, so it is called twice: to count, and
 * to copy. */
typedef struct Wants {
	const OpJob *j;
	OpKernel *kernel; /* NULL: only count */
	hexc_define *define;
	char *text;
	size_t nkernel, ndefine, ntext;
} Wants;

static const char *
copy_text(Wants *w, const char *s)
{
	size_t n = strlen(s) + 1;
	char *to = w->kernel ? memcpy(w->text + w->ntext, s, n) : NULL;

	w->ntext += n;
	return to;
}

static int
take_want(void *user, const hexc_family_want *want)
{
	Wants *w = user;
	const OpJob *j = w->j;
	OpKernel k = { .line = want->line, .ndefine = want->ndefine, .candidate = want->candidate,
	               .tuned = want->arch != NULL };

	if (strcmp(want->family, j->source.name) != 0 ||
	    (want->arch && strcmp(want->arch, op_arch(j)) != 0))
		return 0;
	k.name = copy_text(w, want->kernel);
	k.define = w->define ? w->define + w->ndefine : NULL; /* NULL while counting */
	for (size_t i = 0; i < want->ndefine; i++) {
		hexc_define d = { copy_text(w, want->define[i].name), want->define[i].value };

		if (w->kernel)
			w->define[w->ndefine] = d;
		w->ndefine++;
	}
	if (w->kernel)
		w->kernel[w->nkernel] = k;
	w->nkernel++;
	return 0;
}

static bool
read_wants(OpJob *j)
{
	Wants w = { .j = j }, copy = { .j = j };
	size_t n = strlen(j->table);
	int code = hexc_family_wants(j->table, n, take_want, &w, j->why, j->n);

	if (!code) {
		copy.kernel = NEWN(j->arena, OpKernel, w.nkernel + 1);
		copy.define = NEWN(j->arena, hexc_define, w.ndefine + 1);
		copy.text = NEWN(j->arena, char, w.ntext + 1);
		code = hexc_family_wants(j->table, n, take_want, &copy, j->why, j->n);
	}
	j->kernel = copy.kernel;
	j->nkernel = (int)copy.nkernel;
	j->code = code;
	return !code;
}

/* Reports a setting that is not used, with a similar name. */
static bool
all_used(OpJob *j)
{
	for (size_t s = 0; s < j->settings.nset; s++) {
		const char *name = j->settings.set[s].name, *best = NULL;
		int least = 4;

		if (j->settings.used[s])
			continue;
		for (int i = 0; i < j->nkernel; i++) {
			const OpKernel *k = &j->kernel[i];
			hexc_define d;

			for (size_t c = 0; hexc_const(k->program->parsed, k->number, c, &d); c++)
				if (edit_distance(d.name, name) < least) {
					least = edit_distance(d.name, name);
					best = d.name;
				}
		}
		return op_fail(j, HEXC_E_ARGS,
		               arena_printf(j->arena, "it has no constant or placeholder named %s%s%s",
		                            name, best ? "; did you mean " : "", best ? best : ""));
	}
	return true;
}

/* Returns the guard of the table's line, *n characters; NULL: the line has none. */
static const char *
guard_of(const OpJob *j, uint32_t line, size_t *n)
{
	static const char mark[] = " when ";
	const char *at = j->table, *guard;

	for (; line > 1; line--)
		at += strcspn(at, "\n") + 1;
	guard = strstr(at, mark);
	at += strcspn(at, "\n");
	if (!guard || guard > at)
		return NULL;
	guard += sizeof mark - 1;
	*n = (size_t)(at - guard);
	return guard;
}

/* Does line a match all sizes that line b does: has it no condition, or the same? */
static bool
takes_all_of(const OpJob *j, uint32_t a, uint32_t b)
{
	size_t na = 0, nb = 0;
	const char *x = guard_of(j, a, &na), *y = guard_of(j, b, &nb);

	return x && ((na == 1 && *x == '1') || (y && na == nb && memcmp(x, y, na) == 0));
}

bool
op_takes_any_address(const OpKernel *k)
{
	for (size_t i = 0; i < k->ndefine; i++)
		if (strcmp(k->define[i].name, "ALIGN") == 0)
			return k->define[i].value == 1;
	return false;
}

bool
op_is_covered(const OpJob *j, const OpKernel *k)
{
	for (const OpKernel *b = j->kernel; b < k; b++)
		if (b->line < k->line && b->tuned == k->tuned && !op_is_left_out(j, b->line) &&
		    takes_all_of(j, b->line, k->line) && op_takes_any_address(b) >= op_takes_any_address(k))
			return true;
	return false;
}

bool
op_lines(OpJob *j)
{
	j->table = op_table(j->arena, &j->source, j->o.families);
	if (!read_wants(j))
		return false;
	for (int i = 0; i < j->nkernel; i++) {
		OpKernel *k = &j->kernel[i];

		if (!find_kernel(j, k))
			return op_fail(j, HEXC_E_FILE,
			               arena_printf(j->arena,
			                            "its dispatch table names an unknown kernel %s",
			                            k->name));
		if (!take_settings(j, k))
			return false;
	}
	return all_used(j);
}

const char *
op_kept_table(OpJob *j)
{
	Text t = { .arena = j->arena };
	uint32_t line = 1;

	for (const char *at = j->table; *at; line++) {
		size_t n = strcspn(at, "\n");

		n += at[n] != 0;
		if (op_is_left_out(j, line))
			text_printf(&t, "#");
		text_add(&t, at, n);
		at += n;
	}
	return t.s;
}
