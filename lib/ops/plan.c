/* plan.c - hexc_op_plan: an operator's kernels, compiled as its table and the host's settings have them, as a
 * bundle with one family. */
#include "lib/ops/ops.h"
#include <stdlib.h>
#include <string.h>

/* A program: the operator's own, or one that it takes kernels from. */
typedef struct Program {
	const char *name, *text;
	hexc_module *parsed; /* for the names that it has */
} Program;

/* A kernel that a line of the table asks for. */
typedef struct Kernel {
	uint32_t line;
	const Program *program;
	size_t number; /* in program->parsed */
	const char *name;
	const hexc_define *define; /* the line's and the host's */
	size_t ndefine;
	int64_t candidate;
	hexc_module *module; /* NULL: another one like it has it, or it was left out */
} Kernel;

struct hexc_op {
	Arena arena;
	const char *program;
	void *bytes;
	size_t nbytes;
	hexc_bundle *bundle;
	hexc_family *family;
};

typedef struct Job {
	hexc_op *op;
	Arena *arena;
	OpSource source;
	hexc_op_opts o;
	const hexc_op_set *set;
	size_t nset;
	bool *used;
	Program program[HEXC_FAMILY_STAGES + 1];
	int nprogram;
	hexc_ctx *ctx;
	hexc_opts opts;
	Kernel *kernel;
	int nkernel;
	struct {
		const char *name, *pack;
	} packed[HEXC_MAX_PARAMS]; /* tensors, as the kernel that was compiled first has them */
	int npacked;
	const char *table; /* text of the family */
	uint32_t *out;     /* lines of it that are left out */
	int nout, out_cap;
	char failed[400];  /* why the last of them was */
	int failed_code;
	char *why;
	size_t n;
	int code;
} Job;

static bool
fail(Job *j, int code, const char *text)
{
	j->code = why_error(code, j->why, j->n, "operator %s: %s", j->source.name, text);
	return false;
}

/* ---- programs --------------------------------------------------------------------------------------- */

/* What the compiler has against it. */
static void
note_failure(Job *j, int code, const char *what)
{
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	size_t i = 0;

	j->failed_code = code;
	while (hexc_diag(j->ctx, i, &d) && d.severity != 2) {
		i++;
		d.size = sizeof d;
	}
	if (!hexc_diag(j->ctx, i, &d))
		why_error(code, j->failed, sizeof j->failed, "%s: %s", what, hexc_strerror(code));
	else if (d.line)
		why_error(code, j->failed, sizeof j->failed, "%s, line %u: %s", what, d.line, d.text);
	else
		why_error(code, j->failed, sizeof j->failed, "%s: %s", what, d.text);
}

/* Fill the holes of the text and see which kernels and constants it has. */
static bool
add_program(Job *j, const char *name)
{
	Program *p = &j->program[j->nprogram++];
	OpSource s;
	int code;

	p->name = name;
	if (!op_read(j->arena, name, op_text(name), &s, j->why, j->n)) {
		j->code = HEXC_E_INTERNAL;
		return false;
	}
	if (!s.nindex) {
		memcpy(s.index, j->source.index, sizeof s.index);
		s.nindex = j->source.nindex;
		s.ndim = j->source.ndim;
	}
	p->text = op_fill(j->arena, &s, j->set, j->nset, j->used, j->why, j->n);
	if (!p->text) {
		j->code = HEXC_E_ARGS;
		return false;
	}
	j->opts.stop = "parse";
	j->opts.kernel = NULL;
	j->opts.ndefine = 0;
	code = hexc_configure(j->ctx, &j->opts);
	if (!code)
		code = hexc_compile(&p->parsed, j->ctx, name, p->text, strlen(p->text));
	if (!code)
		return true;
	note_failure(j, code, name);
	return fail(j, code, j->failed);
}

static bool
find_kernel(Job *j, Kernel *k)
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

/* ---- the table -------------------------------------------------------------------------------------- */

static bool
left_out(const Job *j, uint32_t line)
{
	for (int i = 0; i < j->nout; i++)
		if (j->out[i] == line)
			return true;
	return false;
}

static void
leave_out(Job *j, uint32_t line)
{
	if (!left_out(j, line))
		VEC_PUSH(j->arena, j->out, j->nout, j->out_cap, line);
}

/* Of a constant: an integer or an element type; false: it is neither. */
static bool
read_value(const char *text, int64_t *value)
{
	char *end;
	long long x = strtoll(text, &end, 10);

	*value = *text && !*end ? x : hexc_type_value(text);
	return (*text && !*end) || *value;
}

/* The settings that the kernel has constants for, behind those of its line; a line that says another value is
 * not for this host. */
static bool
take_settings(Job *j, Kernel *k)
{
	hexc_define *d = NEWN(j->arena, hexc_define, k->ndefine + j->nset + 1);
	size_t n = k->ndefine;

	for (size_t i = 0; i < n; i++)
		d[i] = k->define[i];
	for (size_t s = 0; s < j->nset; s++) {
		const char *name = j->set[s].name;
		int64_t value;
		size_t i = 0;

		if (hexc_const_find(k->program->parsed, k->number, name) < 0)
			continue;
		if (!read_value(j->set[s].value, &value))
			return fail(j, HEXC_E_ARGS,
			            arena_printf(j->arena, "%s = %s is neither an integer nor an element type",
			                         name, j->set[s].value));
		j->used[s] = true;
		while (i < n && strcmp(d[i].name, name) != 0)
			i++;
		if (i == n)
			d[k->ndefine++] = (hexc_define){ name, value };
		else if (d[i].value != value)
			leave_out(j, k->line);
	}
	k->define = d;
	return true;
}

/* What the table asks for.  No arena is left from inside hexc_family_wants, so it is read twice: to count,
 * and to copy. */
typedef struct Wants {
	const Job *j;
	Kernel *kernel; /* NULL: count */
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
	const Job *j = w->j;
	Kernel k = { .line = want->line, .ndefine = want->ndefine, .candidate = want->candidate };

	if (strcmp(want->family, j->source.name) != 0 ||
	    (want->arch && strcmp(want->arch, j->opts.arch ? j->opts.arch : "sm_80") != 0))
		return 0;
	k.name = copy_text(w, want->kernel);
	k.define = w->define + w->ndefine;
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
read_wants(Job *j)
{
	Wants w = { .j = j }, copy = { .j = j };
	size_t n = strlen(j->table);
	int code = hexc_family_wants(j->table, n, take_want, &w, j->why, j->n);

	if (!code) {
		copy.kernel = NEWN(j->arena, Kernel, w.nkernel + 1);
		copy.define = NEWN(j->arena, hexc_define, w.ndefine + 1);
		copy.text = NEWN(j->arena, char, w.ntext + 1);
		code = hexc_family_wants(j->table, n, take_want, &copy, j->why, j->n);
	}
	j->kernel = copy.kernel;
	j->nkernel = (int)copy.nkernel;
	j->code = code;
	return !code;
}

/* A setting that nothing takes, by its name and what it may have been. */
static bool
all_used(Job *j)
{
	for (size_t s = 0; s < j->nset; s++) {
		const char *best = NULL;
		int least = 4;

		if (j->used[s])
			continue;
		for (int i = 0; i < j->nkernel; i++) {
			const Kernel *k = &j->kernel[i];
			hexc_define d;

			for (size_t c = 0; hexc_const(k->program->parsed, k->number, c, &d); c++)
				if (edit_distance(d.name, j->set[s].name) < least) {
					least = edit_distance(d.name, j->set[s].name);
					best = d.name;
				}
		}
		return fail(j, HEXC_E_ARGS,
		            arena_printf(j->arena, "it has no constant and no hole named %s%s%s",
		                         j->set[s].name, best ? "; did you mean " : "", best ? best : ""));
	}
	return true;
}

static bool
read_table(Job *j)
{
	j->table = j->o.families ? j->o.families : j->source.family;
	if (!strstr(j->table, "\ntake "))
		j->table = arena_printf(j->arena, "%stake when 1\n", j->table);
	if (!read_wants(j))
		return false;
	for (int i = 0; i < j->nkernel; i++) {
		Kernel *k = &j->kernel[i];

		if (!find_kernel(j, k))
			return fail(j, HEXC_E_FILE,
			            arena_printf(j->arena, "its table asks for kernel %s, which it has not",
			                         k->name));
		if (!take_settings(j, k))
			return false;
	}
	return all_used(j);
}

/* The table without lines that are left out: they stay as remarks, so that those behind keep their number. */
static const char *
kept_table(Job *j)
{
	Text t = { .arena = j->arena };
	uint32_t line = 1;

	for (const char *at = j->table; *at; line++) {
		size_t n = strcspn(at, "\n");

		n += at[n] != 0;
		if (left_out(j, line))
			text_printf(&t, "#");
		text_add(&t, at, n);
		at += n;
	}
	return t.s;
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

static bool
same_kernel(const Kernel *a, const Kernel *b)
{
	if (a->program != b->program || a->number != b->number || a->candidate != b->candidate ||
	    a->ndefine != b->ndefine)
		return false;
	for (size_t i = 0; i < a->ndefine; i++)
		if (strcmp(a->define[i].name, b->define[i].name) != 0 ||
		    a->define[i].value != b->define[i].value)
			return false;
	return true;
}

/* How its packed tensors are laid out: all others are to have them so. */
static void
note_packs(Job *j, const Kernel *k)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;

	for (size_t i = 0; hexc_param(k->module, 0, i, &p); i++, p.size = sizeof p) {
		const char *pack = hexc_module_pack(k->module, 0, i);
		int n = 0;

		while (n < j->npacked && strcmp(j->packed[n].name, p.name) != 0)
			n++;
		if (!pack || n < j->npacked || n == (int)COUNT_OF(j->packed))
			continue;
		j->packed[n].name = arena_strndup(j->arena, p.name, strlen(p.name));
		j->packed[n].pack = arena_strndup(j->arena, pack, strlen(pack));
		j->npacked++;
	}
}

/* The program with these packs demanded, where it has `NAME: packed `. */
static const char *
with_packs(Job *j, const char *text)
{
	for (int i = 0; i < j->npacked; i++) {
		const char *mark = arena_printf(j->arena, "%s: packed ", j->packed[i].name), *at;
		Text t = { .arena = j->arena };

		for (size_t n = strlen(mark); (at = strstr(text, mark)); text = at + n) {
			text_add(&t, text, (size_t)(at - text) + n - 1);
			if (at > text && (at[-1] == ' ' || at[-1] == '('))
				text_printf(&t, "(\"%s\")", j->packed[i].pack);
			text_printf(&t, " ");
		}
		text_printf(&t, "%s", text);
		text = t.s;
	}
	return text;
}

static int
compile(Job *j, Kernel *k)
{
	const char *text = with_packs(j, k->program->text);
	int code;

	j->opts.stop = NULL;
	j->opts.kernel = k->name;
	j->opts.define = k->define;
	j->opts.ndefine = k->ndefine;
	j->opts.candidate = k->candidate < 0 ? 0 : (uint32_t)k->candidate;
	code = hexc_configure(j->ctx, &j->opts);
	if (!code)
		code = hexc_compile(&k->module, j->ctx, k->program->name, text, strlen(text));
	if (code)
		note_failure(j, code, k->name);
	else
		note_packs(j, k);
	return code;
}

/* Each kernel once.  One that cannot be, for this arch or with these constants, takes its lines along.  From
 * the last line on, which is for the largest sizes: it says how packed tensors are laid out. */
static bool
compile_all(Job *j)
{
	for (int i = j->nkernel - 1; i >= 0; i--) {
		Kernel *k = &j->kernel[i];
		bool again = left_out(j, k->line);
		int code;

		for (int b = i + 1; b < j->nkernel && !again; b++)
			again = j->kernel[b].module && same_kernel(&j->kernel[b], k);
		if (again)
			continue;
		code = compile(j, k);
		if (code == HEXC_E_SOURCE || code == HEXC_E_LAYOUT)
			leave_out(j, k->line);
		else if (code)
			return fail(j, code, j->failed);
	}
	return true;
}

/* Does a line that is kept take this module, its own or one like it? */
static bool
is_kept(const Job *j, int i)
{
	for (int b = 0; b < j->nkernel; b++)
		if (!left_out(j, j->kernel[b].line) && same_kernel(&j->kernel[i], &j->kernel[b]))
			return j->kernel[i].module;
	return false;
}

static bool
make_bundle(Job *j)
{
	const hexc_module **m = NEWN(j->arena, const hexc_module *, j->nkernel + 1);
	const char *table = kept_table(j);
	hexc_op *op = j->op;
	size_t n = 0;

	for (int i = 0; i < j->nkernel; i++)
		if (is_kept(j, i))
			m[n++] = j->kernel[i].module;
	if (!n)
		return fail(j, j->failed_code ? j->failed_code : HEXC_E_ARGS,
		            j->failed_code ? j->failed : "no line of its table has these constants");
	j->code = hexc_bundle_save_families(m, n, hexc_build_info(), table, NULL, 0, &op->nbytes, j->why,
	                                    j->n);
	if (j->code)
		return false;
	op->bytes = arena_alloc(j->arena, op->nbytes);
	j->code = hexc_bundle_save_families(m, n, hexc_build_info(), table, op->bytes, op->nbytes,
	                                    &op->nbytes, j->why, j->n);
	if (!j->code)
		j->code = hexc_bundle_memory(&op->bundle, op->bytes, op->nbytes, j->why, j->n);
	if (!j->code)
		j->code = hexc_family_open(&op->family, op->bundle, j->source.name,
		                           j->opts.arch ? j->opts.arch : "sm_80", j->why, j->n);
	return !j->code;
}

/* Under arena_protect. */
static void
plan(void *user)
{
	Job *j = user;

	j->used = NEWN(j->arena, bool, j->nset + 1);
	if (!op_read(j->arena, j->source.name, op_text(j->source.name), &j->source, j->why, j->n)) {
		j->code = HEXC_E_INTERNAL;
		return;
	}
	if (!add_program(j, j->source.name))
		return;
	j->op->program = j->program[0].text;
	for (int i = 0; i < j->source.nuse; i++)
		if (!add_program(j, j->source.use[i]))
			return;
	if (read_table(j) && compile_all(j))
		make_bundle(j);
}

/* ---- hexc_ops.h ------------------------------------------------------------------------------------- */

static bool
good_settings(const hexc_op_set *set, size_t nset)
{
	for (size_t i = 0; i < nset; i++) {
		if (!set[i].name || !set[i].value)
			return false;
		for (size_t k = 0; k < i; k++)
			if (strcmp(set[i].name, set[k].name) == 0)
				return false;
	}
	return true;
}

static void
free_op(hexc_op *op, void *(*realloc)(void *, void *, size_t), void *user)
{
	hexc_family_close(op->family);
	hexc_bundle_close(op->bundle);
	arena_free(&op->arena);
	realloc(user, op, 0);
}

/* What is only for the time of planning. */
static void
end_job(Job *j)
{
	for (int i = 0; i < j->nprogram; i++)
		hexc_module_free(j->program[i].parsed);
	for (int i = 0; i < j->nkernel; i++)
		hexc_module_free(j->kernel[i].module);
	hexc_close(j->ctx);
}

int
hexc_op_plan(hexc_op **out, const char *name, const hexc_op_set *set, size_t nset, const hexc_op_opts *opts,
             char *why, size_t n)
{
	Job j = { .set = set, .nset = nset, .o = HEXC_OP_OPTS_INIT, .opts = HEXC_OPTS_INIT };
	void *(*take)(void *, void *, size_t);
	int code;

	j.why = why;
	j.n = n;
	if (why && n)
		*why = 0;
	if (out)
		*out = NULL;
	if (!out || !name || (nset && !set) || (!why && n) || (opts && !take_in(&j.o, sizeof j.o, opts)) ||
	    !good_settings(set, nset))
		return HEXC_E_INVALID;
	if (hexc_op_find(name) < 0)
		return why_error(HEXC_E_ARGS, why, n, "there is no operator %s; hexc_op_at lists them", name);
	j.source.name = name;
	j.opts.arch = j.o.arch;
	j.opts.cache = j.o.cache;
	j.opts.flags = j.o.flags;
	j.opts.realloc = j.o.realloc;
	j.opts.user = j.o.user;
	code = hexc_open(&j.ctx, &j.opts);
	if (code)
		return why_error(code, why, n, "operator %s: %s", name, hexc_strerror(code));
	take = j.o.realloc ? j.o.realloc : libc_realloc;
	j.op = take(j.o.user, NULL, sizeof *j.op);
	if (!j.op) {
		hexc_close(j.ctx);
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	}
	memset(j.op, 0, sizeof *j.op);
	arena_init(&j.op->arena, j.o.realloc, j.o.user);
	j.arena = &j.op->arena;
	code = arena_protect(&j.arena, 1, plan, &j);
	if (code)
		j.code = why_error(code, why, n, "operator %s: %s", name, hexc_strerror(code));
	end_job(&j);
	if (j.code)
		free_op(j.op, take, j.o.user);
	else
		*out = j.op;
	return j.code;
}

void
hexc_op_free(hexc_op *op)
{
	if (op)
		free_op(op, op->arena.realloc, op->arena.user);
}

const hexc_family *
hexc_op_family(const hexc_op *op)
{
	return op ? op->family : NULL;
}

const hexc_bundle *
hexc_op_bundle(const hexc_op *op)
{
	return op ? op->bundle : NULL;
}

const void *
hexc_op_bytes(const hexc_op *op, size_t *bytes)
{
	if (bytes)
		*bytes = op ? op->nbytes : 0;
	return op ? op->bytes : NULL;
}

const char *
hexc_op_program(const hexc_op *op)
{
	return op ? op->program : NULL;
}
