/* plan.c - implements hexc_op_plan: compiles an operator's kernels for its table and the host's settings
 * into a bundle with one family. */
#include "lib/ops/plan_internal.h"
#include <stdlib.h>
#include <string.h>

struct hexc_op {
	Arena arena;
	const char *program;
	void *bytes;
	size_t nbytes;
	hexc_bundle *bundle;
	hexc_family *family;
};

bool
op_fail(OpJob *j, int code, const char *text)
{
	j->code = why_error(code, j->why, j->n, "operator %s: %s", j->source.name, text);
	return false;
}

/* ---- programs --------------------------------------------------------------------------------------- */

/* Returns line n of a text, from 1, without leading blanks; *bytes is its length. */
static const char *
line_of(const char *text, unsigned n, int *bytes)
{
	while (n > 1 && *text)
		n -= *text++ == '\n';
	text += strspn(text, " \t");
	*bytes = (int)strcspn(text, "\n");
	return text;
}

/* Stores the compiler's error. The host does not have the filled program, so the line is included. */
static void
note_failure(OpJob *j, int code, const char *what, const char *text)
{
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	const char *line;
	size_t i = 0;
	int n;

	j->failed_code = code;
	while (hexc_diag(j->ctx, i, &d) && d.severity != 2) {
		i++;
		d.size = sizeof d;
	}
	if (!hexc_diag(j->ctx, i, &d))
		why_error(code, j->failed, sizeof j->failed, "%s: %s", what, hexc_strerror(code));
	else if (d.line) {
		line = line_of(text, d.line, &n);
		why_error(code, j->failed, sizeof j->failed, "%s, line %u, `%.*s`: %s", what, d.line, n, line,
		          d.text);
	} else
		why_error(code, j->failed, sizeof j->failed, "%s: %s", what, d.text);
}

/* Fills the placeholders of the text and finds its kernels and constants. */
static bool
add_program(OpJob *j, const char *name)
{
	OpProgram *p = &j->program[j->nprogram++];
	OpSource s;
	int code;

	p->name = name;
	if (!op_read(j->arena, name, op_text(name), &j->settings, &s, j->why, j->n)) {
		j->code = HEXC_E_INTERNAL; /* the library's text, tested by test/ops */
		return false;
	}
	if (!s.nindex) {
		memcpy(s.index, j->source.index, sizeof s.index);
		s.nindex = j->source.nindex;
		s.ndim = j->source.ndim;
	}
	p->text = op_fill(j->arena, &s, &j->settings, j->why, j->n);
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
	note_failure(j, code, name, p->text);
	return op_fail(j, code, j->failed);
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

static bool
same_kernel(const OpKernel *a, const OpKernel *b)
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

/* Records the packs of its tensors, which all other kernels must use. */
static void
note_packs(OpJob *j, const OpKernel *k)
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

/* Returns the program with these packs required, wherever it has `NAME: packed ` without one. */
static const char *
with_packs(OpJob *j, const char *text)
{
	for (int i = 0; i < j->npacked; i++) {
		const char *mark = arena_printf(j->arena, "%s: packed ", j->packed[i].name), *at;
		Text t = { .arena = j->arena };

		for (size_t n = strlen(mark); (at = strstr(text, mark)); text = at + n) {
			text_add(&t, text, (size_t)(at - text) + n - 1);
			if (at > text && (at[-1] == ' ' || at[-1] == '(') && at[n] != '(')
				text_printf(&t, "(\"%s\")", j->packed[i].pack);
			text_printf(&t, " ");
		}
		text_printf(&t, "%s", text);
		text = t.s;
	}
	return text;
}

static int
compile(OpJob *j, OpKernel *k)
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
		note_failure(j, code, k->name, text);
	else
		note_packs(j, k);
	return code;
}

/* Compiles kernel i, unless an equal one exists, or its line is omitted. If it does not compile for this
 * arch or these constants, its line is omitted. */
static bool
compile_one(OpJob *j, int i)
{
	OpKernel *k = &j->kernel[i];
	bool again = k->module || op_is_left_out(j, k->line);
	int code;

	for (int b = 0; b < j->nkernel && !again; b++)
		again = j->kernel[b].module && same_kernel(&j->kernel[b], k);
	if (again)
		return true;
	code = compile(j, k);
	if (code == HEXC_E_SOURCE || code == HEXC_E_LAYOUT)
		op_leave_out(j, k->line);
	else if (code)
		return op_fail(j, code, j->failed);
	return true;
}

/* Compiles from the last line on, which is for the largest sizes and thus determines the packs. Kernels
 * for any address come last. Lines that are for sizes of an earlier line follow: they are compiled if that
 * line was omitted. */
static bool
compile_all(OpJob *j)
{
	for (int any = 0; any < 2; any++)
		for (int i = j->nkernel - 1; i >= 0; i--) {
			const OpKernel *k = &j->kernel[i];

			if (op_takes_any_address(k) == (any == 1) && !op_is_covered(j, k) &&
			    !compile_one(j, i))
				return false;
		}
	for (int i = 0; i < j->nkernel; i++) {
		if (op_is_covered(j, &j->kernel[i]))
			op_leave_out(j, j->kernel[i].line);
		else if (!compile_one(j, i))
			return false;
	}
	return true;
}

/* Does a retained line use this module, or an equal kernel's? */
static bool
is_kept(const OpJob *j, int i)
{
	for (int b = 0; b < j->nkernel; b++)
		if (!op_is_left_out(j, j->kernel[b].line) && same_kernel(&j->kernel[i], &j->kernel[b]))
			return j->kernel[i].module;
	return false;
}

static bool
make_bundle(OpJob *j)
{
	const hexc_module **m = NEWN(j->arena, const hexc_module *, j->nkernel + 1);
	const char *table = op_kept_table(j);
	hexc_op *op = j->op;
	size_t n = 0;

	for (int i = 0; i < j->nkernel; i++)
		if (is_kept(j, i))
			m[n++] = j->kernel[i].module;
	if (!n)
		return op_fail(j, j->failed_code ? j->failed_code : HEXC_E_ARGS,
		               j->failed_code ? j->failed : "no entry of its dispatch table has these "
		                                            "constants");
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
		                           op_arch(j), j->why, j->n);
	return !j->code;
}

/* Runs under arena_protect. */
static void
plan(void *user)
{
	OpJob *j = user;

	j->settings.used = NEWN(j->arena, bool, j->settings.nset + 1);
	if (!op_read(j->arena, j->source.name, op_text(j->source.name), &j->settings, &j->source, j->why,
	             j->n)) {
		j->code = HEXC_E_INTERNAL; /* see add_program */
		return;
	}
	if (!add_program(j, j->source.name))
		return;
	j->op->program = j->program[0].text;
	for (int i = 0; i < j->source.nuse; i++)
		if (!add_program(j, j->source.use[i]))
			return;
	if (op_lines(j) && compile_all(j))
		make_bundle(j);
}

/* ---- hexc_ops.h ------------------------------------------------------------------------------------- */

static void
free_op(hexc_op *op, void *(*realloc)(void *, void *, size_t), void *user)
{
	hexc_family_close(op->family);
	hexc_bundle_close(op->bundle);
	arena_free(&op->arena);
	realloc(user, op, 0);
}

/* Frees everything that only planning needs. */
static void
end_job(OpJob *j)
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
	OpJob j = { .settings = { set, nset, NULL }, .o = HEXC_OP_OPTS_INIT, .opts = HEXC_OPTS_INIT };
	void *(*take)(void *, void *, size_t);
	int code;

	j.why = why;
	j.n = n;
	if (why && n)
		*why = 0;
	if (out)
		*out = NULL;
	if (!out || !name || (nset && !set) || (!why && n) || (opts && !take_in(&j.o, sizeof j.o, opts)) ||
	    !op_settings_valid(set, nset))
		return HEXC_E_INVALID;
	if (hexc_op_find(name) < 0)
		return why_error(HEXC_E_ARGS, why, n, "unknown operator %s; hexc_op_at lists them", name);
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
