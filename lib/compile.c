/* compile.c - hexc_compile: source to module.
 *
 *	unit_parse -> each kernel through hexc/passes.def, the IR verified after each pass -> ptxgen_emit
 *
 * What fails leaves through arena_protect; what is found wrong is in the Diag. */
#include "hexc/pack.h"
#include "infer/infer.h"
#include "lib/lib.h"
#include "ptxgen/ptxgen.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SOURCE_MAX = 64 << 20 }; /* bytes; places in the source are 32 bits wide */
static const uint64_t default_steps = 10000000;

typedef struct Job {
	hexc_ctx *ctx;
	hexc_module *m;
	Arena arena;
	Unit unit;
	const char *src;
	size_t len;
	bool stopped; /* opts.stop was reached */
} Job;

static const struct {
	const char *name;
	bool (*run)(Kernel *);
} passes[] = {
#define PASS(name, help) { #name, pass_##name },
#include "hexc/passes.def"
};

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- between passes --------------------------------------------------------------------------- */

static void
dump(Job *j, const char *pass, const Kernel *k)
{
	const hexc_opts *o = &j->ctx->opt.o;
	Text t = { &j->arena, NULL, 0, 0 };

	if (!o->text || !o->dump || (strcmp(o->dump, pass) != 0 && strcmp(o->dump, "all") != 0))
		return;
	kernel_print(&t, k);
	o->text(o->user, pass, k->name, t.s);
}

static bool
stop_here(Job *j, const char *pass)
{
	const char *stop = j->ctx->opt.o.stop;

	if (!stop || strcmp(stop, pass) != 0)
		return false;
	j->stopped = true;
	return true;
}

/* Print, read back, go on with the copy: what the text does not hold is lost or moved over here. */
static Kernel *
reread(Job *j, Kernel *k, const char *pass)
{
	Text one = { &j->arena, NULL, 0, 0 }, two = { &j->arena, NULL, 0, 0 };
	Kernel *copy;

	kernel_print(&one, k);
	copy = kernel_read(&j->unit, one.s, one.n);
	if (!copy) {
		diag_fail(j->unit.diag, DC_INTERNAL, k->src,
		          "internal: after %s: the IR of %s cannot be read back", pass, k->name);
		return k;
	}
	kernel_print(&two, copy);
	if (one.n != two.n || memcmp(one.s, two.s, one.n) != 0) {
		diag_fail(j->unit.diag, DC_INTERNAL, k->src,
		          "internal: after %s: the IR of %s reads back differently", pass, k->name);
		return k;
	}
	copy->cands = k->cands;
	return copy;
}

/* Check, show and copy after a pass; false: do not go on with this kernel. */
static bool
after_pass(Job *j, int i, const char *pass)
{
	Kernel *k = j->unit.kernel[i];
	double t = now_ms();
	int errors = j->unit.diag->nerror;

	kernel_verify(k, pass);
	if ((j->ctx->opt.o.flags & HEXC_PARANOID) && j->unit.diag->nerror == errors)
		k = j->unit.kernel[i] = reread(j, k, pass);
	dump(j, pass, k);
	module_time(j->m, "verify", now_ms() - t);
	arena_poll(&j->arena);
	return j->unit.diag->nerror == errors;
}

/* ---- passes ----------------------------------------------------------------------------------- */

/* What the layout search found, while it is at hand. */
static void
keep_candidates(Job *j, ModKernel *mk, Kernel *k)
{
	hexc_module *m = j->m;

	mk->ncand = infer_ncand(k);
	mk->cand = NEWN(&m->arena, ModCand, mk->ncand);
	for (int i = 0; i < mk->ncand; i++) {
		const char *text = infer_describe(k, i);
		mk->cand[i].cycles = infer_cycles(k, i);
		mk->cand[i].text = arena_strndup(&m->arena, text, strlen(text));
	}
	mk->candidate = j->unit.candidate;
	BUG_IF(&j->arena, mk->candidate >= mk->ncand);
	if (j->ctx->opt.o.flags & HEXC_EXPLAIN) {
		const char *text = infer_explain(k);
		mk->explain = arena_strndup(&m->arena, text, strlen(text));
	}
}

/* How packed tensors lie, once inference has said so. */
static void
keep_packs(Job *j, ModKernel *mk, const Kernel *k)
{
	for (int i = 0; i < k->nparam; i++) {
		const Pack *p = k->param[i].pack;

		if (p && p->place) {
			const char *text = pack_text(&j->arena, p);
			mk->param[i].pack = arena_strndup(&j->m->arena, text, strlen(text));
		}
	}
}

/* What is explained of a kernel when all is known, the places of shared tiles too. */
static void
keep_pictures(Job *j, ModKernel *mk, Kernel *k)
{
	Arena *a = &j->m->arena;
	unsigned flags = j->ctx->opt.o.flags;
	const Drawing *d;

	if (flags & HEXC_EXPLAIN) {
		const char *json = infer_explain_json(k);
		mk->json = arena_strndup(a, json, strlen(json));
	}
	if (!(flags & HEXC_DRAW))
		return;
	mk->ndrawing = infer_draw(k, &d);
	mk->drawing = NEWN(a, struct ModDrawing, mk->ndrawing);
	for (int i = 0; i < mk->ndrawing; i++) {
		mk->drawing[i].name = arena_strndup(a, d[i].name, strlen(d[i].name));
		mk->drawing[i].svg = arena_strndup(a, d[i].svg, strlen(d[i].svg));
	}
}

static bool
pass_wanted(const Job *j, const char *name)
{
	return strcmp(name, "prove") != 0 || (j->ctx->opt.o.flags & (HEXC_PROVE | HEXC_PARANOID));
}

static void
run_passes(Job *j, int i)
{
	Diag *d = j->unit.diag;
	int errors = d->nerror;

	if (!after_pass(j, i, "parse") || stop_here(j, "parse"))
		return;
	for (size_t p = 0; p < COUNT_OF(passes); p++) {
		Kernel *k = j->unit.kernel[i];
		const char *name = passes[p].name;
		double t = now_ms();

		if (pass_wanted(j, name)) {
			passes[p].run(k);
			module_time(j->m, name, now_ms() - t);
			if (d->nerror != errors)
				return;
			if (strcmp(name, "infer") == 0) {
				keep_candidates(j, &j->m->kernel[i], k);
				keep_packs(j, &j->m->kernel[i], k);
			}
			if (!after_pass(j, i, name))
				return;
		}
		if (stop_here(j, name))
			return;
	}
	j->m->kernel[i].smem = j->unit.kernel[i]->smem;
	keep_pictures(j, &j->m->kernel[i], j->unit.kernel[i]);
}

/* ---- the whole -------------------------------------------------------------------------------- */

static bool
parse(Job *j)
{
	const hexc_opts *o = &j->ctx->opt.o;
	Unit *u = &j->unit;
	Define *def = NEWN(&j->arena, Define, o->ndefine);
	double t = now_ms();

	for (size_t i = 0; i < o->ndefine; i++)
		def[i] = (Define){ o->define[i].name, o->define[i].value };
	if (!unit_parse(u, def, (int)o->ndefine, o->kernel) && u->diag->nerror == 0)
		diag_fail(u->diag, DC_INTERNAL, (Src){ 0, 0, 0 },
		          "internal: the program was refused without a reason");
	module_time(j->m, "parse", now_ms() - t);
	if (u->diag->nerror)
		return false;
	if (u->nkernel == 0 || u->nkernel > HEXC_MAX_KERNELS) {
		diag_error(u->diag, (Src){ 1, 1, 1 },
		           u->nkernel ? "a file can hold %d kernels" : "no kernel here",
		           HEXC_MAX_KERNELS);
		return false;
	}
	return true;
}

static void
keep_source(Job *j)
{
	hexc_module *m = j->m;
	const hexc_opts *o = &j->ctx->opt.o;

	m->src = arena_strndup(&m->arena, j->src, j->len);
	m->len = j->len;
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
emit(Job *j)
{
	PtxOut out;

	memset(&out, 0, sizeof out);
	if (!ptxgen_emit(&j->unit, &out)) {
		if (j->unit.diag->nerror == 0)
			diag_fail(j->unit.diag, DC_INTERNAL, (Src){ 0, 0, 0 },
			          "internal: no PTX and no reason");
		return;
	}
	j->m->ptx = arena_strndup(&j->m->arena, out.text, out.len);
	j->m->nptx = out.len;
	module_time(j->m, "build", out.ms_build);
	module_time(j->m, "optimise", out.ms_opt);
	module_time(j->m, "emit", out.ms_emit);
}

/* Under arena_protect. */
static void
compile(void *user)
{
	Job *j = user;
	Unit *u = &j->unit;
	hexc_ctx *c = j->ctx;

	c->file = arena_strndup(&c->arena, u->file, strlen(u->file));
	u->file = c->file;
	if (j->len > SOURCE_MAX) {
		diag_fail(u->diag, DC_LIMIT, (Src){ 0, 0, 0 },
		          "the source has %zu bytes; at most %d are read", j->len, (int)SOURCE_MAX);
		return;
	}
	if (!parse(j))
		return;
	keep_source(j);
	j->m->nkernel = u->nkernel;
	j->m->kernel = NEWN(&j->m->arena, ModKernel, u->nkernel);
	for (int i = 0; i < u->nkernel; i++) {
		int errors = u->diag->nerror;
		module_declare(j->m, &j->m->kernel[i], u->kernel[i]);
		if (u->diag->nerror == errors)
			run_passes(j, i);
	}
	if (u->diag->nerror == 0 && !j->stopped && !(c->opt.o.flags & HEXC_NO_EMIT))
		emit(j);
}

/* ---- entry ------------------------------------------------------------------------------------ */

static void
job_start(Job *j, const char *file, const char *src, size_t len)
{
	hexc_ctx *c = j->ctx;
	Unit *u = &j->unit;

	arena_init(&j->arena, c->realloc, c->user);
	j->arena.cancel = c->opt.o.cancel;
	j->arena.max_steps = c->opt.o.max_steps ? c->opt.o.max_steps : default_steps;
	j->arena.limit = c->arena.limit = j->m->arena.limit = c->opt.o.max_memory;
	j->src = src;
	j->len = len;
	u->arena = &j->arena;
	u->diag = &c->diag;
	u->target = c->opt.target;
	u->file = file ? file : "<source>";
	u->text = src;
	u->len = len;
	u->candidate = (int)c->opt.o.candidate;
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

int
hexc_compile(hexc_module **out, hexc_ctx *c, const char *file, const char *src, size_t len)
{
	Job j;
	Arena *arenas[3];
	const char *why = "";
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
	j.m = module_new(c->realloc, c->user);
	if (!j.m)
		return outcome_leave(c, HEXC_E_NOMEM, "out of memory");
	job_start(&j, file, src ? src : "", len);
	arenas[0] = &j.arena;
	arenas[1] = &c->arena;
	arenas[2] = &j.m->arena;
	code = arena_protect(arenas, 3, compile, &j);
	for (int i = 0; i < 3; i++)
		why = arenas[i]->why ? arenas[i]->why : why;
	code = outcome(c, code, why);
	arena_free(&j.arena);
	if (code) {
		hexc_module_free(j.m);
		return code;
	}
	j.m->arena.cancel = NULL;
	*out = j.m;
	return HEXC_OK;
}
