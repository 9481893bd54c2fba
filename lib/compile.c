/* compile.c - compiles source to a module (hexc_compile), or IR through named passes (hexc_compile_ir).
 *
 *	unit_parse -> each kernel through hexc/pass/passes.def, the IR verified after each pass -> ptxgen_emit
 *
 * unless the cache has the complete result. hexc_compile_ir: unit_read -> the named passes.
 *
 * Failures leave through arena_protect; errors of the program are in the Diag. */
#include "hexc/ir/text/text.h"
#include "hexc/lang/lang.h"
#include "lib/assemble.h"
#include "lib/cached_compile.h"
#include "lib/pass_manager.h"
#include "lib/rt/serialize.h"
#include "ptxgen/ptxgen.h"
#include <stdlib.h>
#include <string.h>

enum { SOURCE_MAX = 64 << 20 }; /* bytes; source offsets have 32 bits */
static const uint64_t default_steps = 10000000;
static const size_t default_memory = (size_t)2 << 30; /* the largest example needs 0.1 GiB */
static const uint64_t default_values = 1 << 18;

static bool
read_kernels(CompileJob *j)
{
	const hexc_opts *o = &j->ctx->opt.o;
	Unit *u = &j->unit;
	Define *def = NEWN(&j->arena, Define, o->ndefine);
	const char *part = module_part(j->m, "parse");

	for (size_t i = 0; i < o->ndefine; i++)
		def[i] = (Define){ o->define[i].name, o->define[i].value };
	if (!unit_parse(u, def, (int)o->ndefine, o->kernel) && u->diag->nerror == 0)
		diag_class_error(u->diag, DC_INTERNAL, (Src){ 0, 0, 0 },
		          "internal: the program was rejected without a message");
	module_part(j->m, part);
	if (u->diag->nerror)
		return false;
	if (u->nkernel == 0 || u->nkernel > HEXC_MAX_KERNELS) {
		diag_error(u->diag, (Src){ 1, 1, 1 },
		           u->nkernel ? "a file can have at most %d kernels" : "no kernel",
		           HEXC_MAX_KERNELS);
		return false;
	}
	return true;
}

static void
keep_source(CompileJob *j)
{
	hexc_module *m = j->m;
	const hexc_opts *o = &j->ctx->opt.o;

	m->src = arena_strndup(&m->arena, j->src, j->len);
	m->len = j->len;
	m->digest = wire_digest(WIRE_BASIS, j->src, j->len);
	m->file = arena_strndup(&m->arena, j->unit.file, strlen(j->unit.file));
	m->target = j->ctx->opt.target;
	m->ndef = (int)o->ndefine;
	m->def = NEWN(&m->arena, Define, o->ndefine);
	for (int i = 0; i < m->ndef; i++) {
		m->def[i].name = arena_strndup(&m->arena, o->define[i].name, strlen(o->define[i].name));
		m->def[i].value = o->define[i].value;
	}
}

static void
keep_module(CompileJob *j)
{
	keep_source(j);
	j->m->nkernel = j->unit.nkernel;
	j->m->kernel = NEWN(&j->m->arena, ModKernel, j->unit.nkernel);
}

bool
job_parse(CompileJob *j)
{
	if (!read_kernels(j))
		return false;
	keep_module(j);
	return true;
}

void
job_emit(CompileJob *j)
{
	hexc_ctx *c = j->ctx;
	PtxOut out;

	memset(&out, 0, sizeof out);
	if (!c->ptxgen)
		c->ptxgen = ptxgen_new(c->realloc, c->user);
	if (!c->ptxgen)
		arena_fail(&j->arena, ARENA_NOMEM, NULL);
	if (!ptxgen_emit(c->ptxgen, &j->unit, &out)) {
		if (j->unit.diag->nerror == 0)
			diag_class_error(j->unit.diag, DC_INTERNAL, (Src){ 0, 0, 0 },
			          "internal: no PTX and no message");
		return;
	}
	j->m->ptx = arena_strndup(&j->m->arena, out.text, out.len);
	j->m->nptx = out.len;
	for (int i = 0; i < j->m->nkernel; i++)
		if (out.registers[i])
			j->m->kernel[i].cand[j->m->kernel[i].candidate].registers = out.registers[i];
	module_time(j->m, "build", out.ms_build);
	module_time(j->m, "optimise", out.ms_opt);
	module_time(j->m, "emit", out.ms_emit);
	module_time(j->m, "wait", out.ms_wait);
	module_time(j->m, "registers", out.ms_registers);
	module_time(j->m, "close", out.ms_close);
}

/* Runs under arena_protect. */
static void
compile(void *user)
{
	CompileJob *j = user;
	Unit *u = &j->unit;
	hexc_ctx *c = j->ctx;

	c->file = arena_strndup(&c->arena, u->file, strlen(u->file));
	u->file = c->file;
	if (j->len > SOURCE_MAX) {
		diag_class_error(u->diag, DC_LIMIT, (Src){ 0, 0, 0 },
		          "the source has %zu bytes; at most %d are read", j->len, (int)SOURCE_MAX);
		return;
	}
	if (cached_find(j)) {
		keep_source(j);
		return;
	}
	if (!job_parse(j))
		return;
	for (int i = 0; i < u->nkernel; i++) {
		int errors = u->diag->nerror;
		module_declare(j->m, &j->m->kernel[i], u->kernel[i]);
		if (u->diag->nerror != errors)
			continue;
		assemble_choose(j, i);
		passes_run(j, i);
	}
	if (u->diag->nerror == 0 && !j->stopped && !(c->opt.o.flags & HEXC_NO_EMIT))
		job_emit(j);
	module_other(j->m);
}

/* ---- from IR ----------------------------------------------------------------------------------- */

/* Rewrites messages from `from` on: their locations are in the program that the IR came from, which is not
 * available here. */
static void
place_in_program(Diag *d, int from)
{
	for (int i = from; i < d->n; i++) {
		Src *s = &d->msg[i].src;

		if (s->line)
			d->msg[i].text = arena_printf(d->arena, "%s (of the program: line %u, column %u)",
			                              d->msg[i].text, (unsigned)s->line, (unsigned)s->col);
		*s = (Src){ 0, 0, 0 };
	}
}

/* Reduces the unit to that kernel (NULL: all stay); returns false if there is none of that name. */
static bool
take_kernel(Unit *u, const char *name)
{
	for (int i = 0; name && i < u->nkernel; i++)
		if (strcmp(u->kernel[i]->name, name) == 0) {
			u->kernel[0] = u->kernel[i];
			u->nkernel = 1;
			return true;
		}
	if (name)
		diag_error(u->diag, (Src){ 0, 0, 0 }, "no kernel %s in this IR", name);
	return !name;
}

/* Runs under arena_protect. */
static void
compile_ir(void *user)
{
	CompileJob *j = user;
	Unit *u = &j->unit;
	hexc_ctx *c = j->ctx;
	bool emit = true;
	char why[200];
	int read;

	u->file = c->file = arena_strndup(&c->arena, u->file, strlen(u->file));
	if (j->len > SOURCE_MAX) {
		diag_class_error(u->diag, DC_LIMIT, (Src){ 0, 0, 0 }, "the IR has %zu bytes; at most %d "
		                                                      "are read",
		                 j->len, (int)SOURCE_MAX);
		return;
	}
	if (!passes_known(j->passes, why, sizeof why)) {
		diag_class_error(u->diag, DC_INVALID, (Src){ 0, 0, 0 }, "%s", why);
		return;
	}
	if (c->opt.o.ndefine) {
		diag_class_error(u->diag, DC_INVALID, (Src){ 0, 0, 0 },
		                 "IR contains its constants; %s cannot be set here",
		                 c->opt.o.define[0].name);
		return;
	}
	if (!unit_read(u, j->src, j->len) || !take_kernel(u, c->opt.o.kernel))
		return;
	if (u->nkernel > HEXC_MAX_KERNELS) {
		diag_error(u->diag, (Src){ 1, 1, 1 }, "a file can have at most %d kernels", HEXC_MAX_KERNELS);
		return;
	}
	read = u->diag->n;
	keep_module(j);
	j->m->ir = NEWN(&j->m->arena, const char *, u->nkernel);
	for (int i = 0; i < u->nkernel; i++) {
		Text t = { &j->arena, NULL, 0, 0 };

		module_declare(j->m, &j->m->kernel[i], u->kernel[i]);
		emit &= passes_run_named(j, i);
		kernel_print(&t, u->kernel[i]);
		j->m->ir[i] = arena_strndup(&j->m->arena, t.s, t.n);
	}
	if (u->diag->nerror == 0 && emit && !(c->opt.o.flags & HEXC_NO_EMIT))
		job_emit(j);
	place_in_program(u->diag, read);
	module_other(j->m);
}

/* ---- entry ------------------------------------------------------------------------------------ */

void
job_start(CompileJob *j, const char *file, const char *src, size_t len)
{
	hexc_ctx *c = j->ctx;
	Unit *u = &j->unit;

	arena_init(&j->arena, c->realloc, c->user);
	j->arena.cancel = c->opt.o.cancel;
	j->arena.max_steps = c->opt.o.max_steps ? c->opt.o.max_steps : default_steps;
	j->arena.limit = c->opt.o.max_memory ? c->opt.o.max_memory : default_memory;
	c->arena.limit = j->m->arena.limit = j->arena.limit;
	j->src = src;
	j->len = len;
	u->arena = &j->arena;
	u->diag = &c->diag;
	u->diag->wanted = c->opt.warnings;
	u->diag->remarked = c->opt.remarks;
	u->diag->strict = c->opt.o.flags & HEXC_WERROR;
	u->target = c->opt.target;
	u->file = file ? file : "<source>";
	u->text = src;
	u->len = len;
	u->candidate = (int)c->opt.o.candidate;
	u->stay = c->stay;
	u->trace = c->opt.o.trace;
	u->trace_user = c->opt.o.user;
	u->lineinfo = c->opt.o.flags & HEXC_LINEINFO;
	u->no_pdl = c->opt.o.flags & HEXC_NO_PDL;
	u->max_values = c->opt.o.max_values ? c->opt.o.max_values : default_values;
}

static void
forget_diag(hexc_ctx *c)
{
	arena_free(&c->arena);
	c->arena.why = NULL;
	c->only_last = false;
	c->order = NULL;
	c->file = NULL;
	memset(&c->diag, 0, sizeof c->diag);
	c->diag.arena = &c->arena;
}

/* `passes`: NULL if src is a program; else src is IR. */
static int
compile_source(hexc_module **out, hexc_ctx *c, const char *file, const char *src, size_t len,
               const char *passes)
{
	CompileJob j;
	Arena *arenas[3];
	const char *why = "";
	double since = module_clock();
	int code;

	if (out)
		*out = NULL;
	if (!c)
		return HEXC_E_INVALID;
	forget_diag(c);
	if (!out || (!src && len))
		return outcome_leave(c, HEXC_E_INVALID, out ? "src is NULL but len is not 0" : "out is NULL");
	memset(&j, 0, sizeof j);
	j.ctx = c;
	j.passes = passes;
	j.m = module_new(c->realloc, c->user);
	if (j.m)
		j.m->since = since;
	else
		return outcome_leave(c, HEXC_E_NOMEM, "out of memory");
	job_start(&j, file, src ? src : "", len);
	arenas[0] = &j.arena;
	arenas[1] = &c->arena;
	arenas[2] = &j.m->arena;
	code = arena_protect(arenas, 3, passes ? compile_ir : compile, &j);
	free(j.answer);
	for (int i = 0; i < 3; i++)
		why = arenas[i]->why ? arenas[i]->why : why;
	code = outcome(c, code, why);
	if (!code && !passes)
		cached_keep(&j);
	arena_free(&j.arena);
	if (code) {
		hexc_module_free(j.m);
		return code;
	}
	j.m->arena.cancel = NULL;
	module_time_end(j.m);
	*out = j.m;
	return HEXC_OK;
}

int
hexc_compile(hexc_module **out, hexc_ctx *c, const char *file, const char *src, size_t len)
{
	return compile_source(out, c, file, src, len, NULL);
}

int
hexc_compile_ir(hexc_module **out, hexc_ctx *c, const char *file, const char *ir, size_t len,
                const char *passes)
{
	return compile_source(out, c, file, ir, len, passes ? passes : "");
}
