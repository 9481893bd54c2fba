/* pass_manager.c - runs a kernel through hexc/pass/passes.def and verifies the IR after each pass. */
#include "hexc/ir/pack.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "hexc/ir/text/text.h"
#include "hexc/ir/verify/verify.h"
#include "hexc/pass/pass.h"
#include "hexc/pass/assign_space.h"
#include "infer/explain/explain.h"
#include "infer/explain/perf_warnings.h"
#include "infer/infer.h"
#include "lib/error_bound/error_bound.h"
#include "lib/pass_manager.h"
#include <string.h>

static const struct {
	const char *name;
	PassWhen when;
	bool (*run)(Kernel *);
} passes[] = {
#define PASS(name, former, when, help) { #name, PASS_##when, pass_##name },
#include "hexc/pass/passes.def"
};

/* ---- between passes --------------------------------------------------------------------------- */

static void
dump(CompileJob *j, const char *pass, const Kernel *k)
{
	const hexc_opts *o = &j->ctx->opt.o;
	Text t = { &j->arena, NULL, 0, 0 };

	if (!o->text || !o->dump || (strcmp(o->dump, pass) != 0 && strcmp(o->dump, "all") != 0))
		return;
	kernel_print(&t, k);
	o->text(o->user, pass, k->name, t.s);
}

/* Dumps the kernel that hexc_run_tile runs for bounds (lib/error_bound/error_bound.h), from a copy; the
 * kernel itself is unchanged. If no run can have bounds, dumps the kernel without them. */
static void
dump_bounded(CompileJob *j, const Kernel *k)
{
	const hexc_opts *o = &j->ctx->opt.o;
	Text t = { &j->arena, NULL, 0, 0 };
	BoundOps ops = { NULL, 0, 0 };
	Kernel *copy, *bounded;

	if (!o->text || !o->dump || strcmp(o->dump, "bounded") != 0)
		return;
	kernel_print(&t, k);
	copy = kernel_read(&j->unit, t.s, t.n);
	if (!copy)
		return;
	pass_mark_reductions(copy);
	pass_mask_bounds(copy);
	bounded = bound_kernel(copy, &ops);
	dump(j, "bounded", bounded ? bounded : copy);
}

static bool
stop_here(CompileJob *j, const char *pass)
{
	const char *stop = j->ctx->opt.o.stop;

	if (!stop || strcmp(stop, pass) != 0)
		return false;
	j->stopped = true;
	return true;
}

/* Prints the kernel, parses it and returns the copy, without what the textual form lacks. */
static Kernel *
reread(CompileJob *j, Kernel *k, const char *pass)
{
	Text one = { &j->arena, NULL, 0, 0 }, two = { &j->arena, NULL, 0, 0 };
	Kernel *copy;

	kernel_print(&one, k);
	copy = kernel_read(&j->unit, one.s, one.n);
	if (!copy) {
		diag_class_error(j->unit.diag, DC_INTERNAL, k->src,
		          "internal: after %s: the IR of %s cannot be read back", pass, k->name);
		return k;
	}
	kernel_print(&two, copy);
	if (one.n != two.n || memcmp(one.s, two.s, one.n) != 0) {
		diag_class_error(j->unit.diag, DC_INTERNAL, k->src,
		          "internal: after %s: the IR of %s reads back differently", pass, k->name);
		return k;
	}
	return copy;
}

/* Verifies, dumps if `aloud`, and copies after a pass; returns false if this kernel's compilation must
 * stop. */
static bool
after_pass(CompileJob *j, int i, const char *pass, bool aloud)
{
	Kernel *k = j->unit.kernel[i];
	const char *part = module_part(j->m, "verify");
	int errors = j->unit.diag->nerror;

	k->after = pass;
	kernel_verify(k, pass);
	if ((j->ctx->opt.o.flags & HEXC_PARANOID) && j->unit.diag->nerror == errors)
		k = j->unit.kernel[i] = reread(j, k, pass);
	if (aloud)
		dump(j, pass, k);
	module_part(j->m, part);
	arena_poll(&j->arena);
	return j->unit.diag->nerror == errors;
}

/* ---- passes ----------------------------------------------------------------------------------- */

/* Copies the search's results while they exist. */
static void
keep_candidates(CompileJob *j, ModKernel *mk)
{
	hexc_module *m = j->m;

	mk->ncand = infer_ncand(j->candidates);
	mk->cand = NEWN(&m->arena, ModCand, mk->ncand);
	for (int i = 0; i < mk->ncand; i++) {
		const char *text = infer_describe(j->candidates, i);
		mk->cand[i].cycles = infer_cycles(j->candidates, i);
		mk->cand[i].alone = infer_alone(j->candidates, i);
		mk->cand[i].registers = infer_registers(j->candidates, i);
		mk->cand[i].together = infer_together(j->candidates, i);
		mk->cand[i].text = arena_strndup(&m->arena, text, strlen(text));
		if (i < j->nasked && j->asked[i].known) {
			mk->cand[i].asked = j->asked[i];
			mk->cand[i].registers = j->asked[i].estimated;
		}
	}
	mk->candidate = j->unit.candidate;
	BUG_IF(&j->arena, mk->candidate >= mk->ncand);
}

/* Converts a loop's bounds to expressions; none if a host cannot compute one of them. */
static void
keep_bounds(CompileJob *j, ModKernel *mk, const LoopTurns *from, ModLoop *to)
{
	const Kernel *k = infer_kernel(j->candidates);
	int before = mk->expr.n;

	if (before > EXPR_MAX / 2) /* leaves space for the expressions of launches */
		return;
	to->lo = expr_add(&j->m->arena, &mk->expr, k, from->lo);
	to->hi = expr_add(&j->m->arena, &mk->expr, k, from->hi);
	to->step = expr_add(&j->m->arena, &mk->expr, k, from->step);
	to->by_sizes = to->lo >= 0 && to->hi >= 0 && to->step >= 0;
	if (!to->by_sizes || mk->expr.n > EXPR_MAX / 2) {
		to->by_sizes = false;
		mk->expr.n = before;
	}
}

/* Copies the cost model's cycles per iteration of each loop, before the solution is applied to the IR. */
static void
keep_turns(CompileJob *j, ModKernel *mk)
{
	Arena *a = &j->m->arena;
	ModTurns *t = &mk->turns;
	TurnCosts found;

	*t = (ModTurns){ .known = infer_turns(j->candidates, j->unit.candidate, &found) };
	t->known = t->known && found.nloop <= TURNS_LOOPS_MOST && found.nway <= TURNS_WAYS_MOST;
	if (!t->known)
		return;
	t->nloop = found.nloop;
	t->loop = NEWN(a, ModLoop, t->nloop);
	for (int i = 0; i < t->nloop; i++) {
		const LoopTurns *l = &found.loop[i];

		t->loop[i] = (ModLoop){ .in = l->in, .turns = l->turns, .most = l->most };
		keep_bounds(j, mk, l, &t->loop[i]);
	}
	t->nway = found.nway;
	t->way = NEWN(a, ModWay, t->nway);
	for (int w = 0; w < t->nway; w++) {
		t->way[w] = (ModWay){ found.way[w].alone, found.way[w].fixed, NEWN(a, double, t->nloop) };
		for (int i = 0; i < t->nloop; i++)
			t->way[w].each[i] = found.way[w].each[i];
	}
}

/* Copies the packs that inference chose. */
static void
keep_packs(CompileJob *j, ModKernel *mk, const Kernel *k)
{
	for (int i = 0; i < k->nparam; i++) {
		const Pack *p = k->param[i].pack;

		if (p && p->layout) {
			const char *text = pack_text(&j->arena, p);
			Pack *packed = NEW(&j->m->arena, Pack);

			*packed = *p;
			packed->layout = NULL;
			mk->param[i].packed = packed;
			mk->param[i].pack = arena_strndup(&j->m->arena, text, strlen(text));
		}
	}
}

/* Copies explanations and drawings when everything is known, including addresses of shared tiles. */
static void
keep_pictures(CompileJob *j, ModKernel *mk, Kernel *k)
{
	Arena *a = &j->m->arena;
	unsigned flags = j->ctx->opt.o.flags;
	const Drawing *d;

	if (flags & HEXC_EXPLAIN) {
		const char *text = infer_explain(k, j->candidates);

		mk->explain = arena_strndup(a, text, strlen(text));
		text = infer_explain_short(k, j->candidates);
		mk->explain_short = arena_strndup(a, text, strlen(text));
		text = infer_explain_json(k, j->candidates);
		mk->json = arena_strndup(a, text, strlen(text));
	}
	if (!(flags & HEXC_DRAW))
		return;
	mk->ndrawing = infer_draw(k, j->candidates, &d);
	mk->drawing = NEWN(a, struct ModDrawing, mk->ndrawing);
	for (int i = 0; i < mk->ndrawing; i++) {
		mk->drawing[i].name = arena_strndup(a, d[i].name, strlen(d[i].name));
		mk->drawing[i].svg = arena_strndup(a, d[i].svg, strlen(d[i].svg));
	}
}

static bool
is_pass_enabled(const CompileJob *j, int p, bool asked)
{
	return asked || passes[p].when != PASS_ON_REQUEST ||
	       (j->ctx->opt.o.flags & (HEXC_PROVE | HEXC_PARANOID));
}

/* Runs row p on kernel i. */
static void
run(CompileJob *j, int i, int p)
{
	if (passes[p].when == PASS_SEARCH)
		infer_apply(j->candidates);
	else
		passes[p].run(j->unit.kernel[i]);
}

/* Runs passes [from, to) on kernel i, and verifies the IR after each. `aloud`: makes dumps and obeys
 * opts.stop; `usual`: without passes that run only on request. Returns false on an error, or if it
 * stopped. */
static bool
run_some(CompileJob *j, int i, int from, int to, bool aloud, bool usual)
{
	Diag *d = j->unit.diag;
	int errors = d->nerror;

	for (int p = from; p < to; p++) {
		const char *name = passes[p].name, *part;

		if (is_pass_enabled(j, p, !usual)) {
			part = module_part(j->m, name);
			run(j, i, p);
			module_part(j->m, part);
			if (d->nerror != errors)
				return false;
			if (j->unit.kernel[i]->unscheduled) /* the variant is rejected */
				return true;
			if (passes[p].when == PASS_SEARCH) {
				part = module_part(j->m, "describe");
				keep_candidates(j, &j->m->kernel[i]);
				infer_warn(j->unit.kernel[i]);
				keep_packs(j, &j->m->kernel[i], j->unit.kernel[i]);
				module_part(j->m, part);
			}
			if (!after_pass(j, i, name, aloud))
				return false;
		}
		if (aloud && stop_here(j, name))
			return false;
	}
	return true;
}

static int
first_row(PassWhen when)
{
	int p = 0;

	while (passes[p].when != when)
		p++;
	return p;
}

/* ---- what the search tries -------------------------------------------------------------------- */

/* A kernel before the passes that run per variant. */
typedef struct Base {
	CompileJob *j;
	int i; /* index of the unit's kernel */
	Kernel *k;
	bool choice; /* there is more than one variant */
	bool made; /* these passes have been run */
} Base;

static Kernel *
compile_variant(void *user, const Variant *v, bool aloud)
{
	Base *b = user;
	Kernel *k = b->choice ? kernel_copy(b->k) : b->k;
	bool ok;

	if (b->made)
		return k;
	k->warps = v->warps;
	k->schedule = v->schedule;
	space_decide(k, v->registers);
	kernel_skip_zeros(k, !v->dense);
	kernel_make_thin(k, v->thin);
	b->j->unit.kernel[b->i] = k;
	ok = run_some(b->j, b->i, first_row(PASS_PER_VARIANT), first_row(PASS_SEARCH), aloud, true);
	return ok ? b->j->unit.kernel[b->i] : NULL; /* a different one after rereading */
}

static bool
asks_for_cluster(const CompileJob *j)
{
	const uint32_t *n = j->ctx->opt.o.cluster;

	return n[0] > 1 || n[1] > 1 || n[2] > 1;
}

/* Returns the schedules to try: those that are profitable, or the requested one; a requested cluster
 * implies warp specialization. */
static int
schedules(const CompileJob *j, const Kernel *k, const Schedule **out)
{
	static const Schedule each[SCHEDULES] = { SCHEDULE_MULTISTAGE, SCHEDULE_WARP_SPECIALIZED,
						  SCHEDULE_TEAMS };

	if (kernel_roles(k) || (!j->ctx->opt.o.schedule && !asks_for_cluster(j)))
		return schedules_tried(k, out);
	*out = &each[j->ctx->opt.o.schedule ? j->ctx->opt.schedule : SCHEDULE_WARP_SPECIALIZED];
	return 1;
}

/* Lists the choices before the passes that run per variant. */
static void
choices(CompileJob *j, Base *b, Variants *v)
{
	SpaceChoice *tile;

	space_find(b->k, &tile, &v->n);
	v->tile = tile;
	v->parts = kernel_is_sparse(b->k) || kernel_is_scaled(b->k);
	v->thin = kernel_is_thin(b->k, &v->all_thin);
	v->nwarps = warps_tried(b->k, &v->warps);
	v->grows = warps_may_grow(b->k);
	v->nschedule = schedules(j, b->k, &v->schedule);
	b->choice = v->n || v->parts || v->thin || v->nwarps > 1 || v->grows || v->nschedule > 1;
}

/* Replaces kernel i by its variant with the requested solution. `made`: it has already been through the
 * passes that run per variant. */
static bool
search(CompileJob *j, int i, bool made)
{
	const hexc_opts *o = &j->ctx->opt.o;
	Kernel *k = j->unit.kernel[i];
	Base b = { .j = j, .i = i, .k = k, .made = made };
	Variants v = { .make = compile_variant, .user = &b, .show = o->dump || o->stop };
	const char *part = module_part(j->m, passes[first_row(PASS_SEARCH)].name);

	if (made) {
		v.warps = &k->warps;
		v.schedule = &k->schedule;
		v.nwarps = v.nschedule = 1;
	} else {
		choices(j, &b, &v);
	}
	j->candidates = space_search(&j->unit, &v);
	module_part(j->m, part);
	if (!j->candidates)
		return false;
	j->unit.kernel[i] = infer_kernel(j->candidates);
	j->m->kernel[i].warps = kernel_warps(j->unit.kernel[i]);
	part = module_part(j->m, "describe");
	keep_turns(j, &j->m->kernel[i]);
	module_part(j->m, part);
	return true;
}

/* Returns the program's `roles` op, or an mbarrier; NULL if there is none. */
static const Op *
written_roles(const Kernel *k)
{
	const Op *o = k->body->last;

	while (o && o->code != O_roles && o->code != O_mbarrier)
		o = o->prev;
	return o;
}

/* Does the target support warp roles, whether written or requested? Interpreting them (NO_EMIT) needs no
 * support. Reports written roles that contradict the requested schedule. */
static bool
takes_roles(const CompileJob *j, const Kernel *k)
{
	const Options *opt = &j->ctx->opt;
	const Target *t = j->unit.target;
	const Op *o = written_roles(k);
	bool asked = opt->o.schedule && schedule_has_roles(opt->schedule);

	if (o && opt->o.schedule && !asked)
		diag_error(j->unit.diag, o->src,
		           "kernel %s has explicit roles and cannot have the schedule %s", k->name,
		           schedule_name[opt->schedule]);
	else if (!(t->features & T_TMA) && (asked || (o && !(opt->o.flags & HEXC_NO_EMIT))))
		diag_error(j->unit.diag, o ? o->src : k->src,
		           "warp roles need mbarriers and bulk copies, which %s have, but not %s; use "
		           "--arch sm_90a",
		           targets_with(j->unit.arena, T_TMA), t->name);
	else
		return true;
	return false;
}

void
passes_found(CompileJob *j, int i)
{
	const char *part = module_part(j->m, "describe");

	if (j->candidates)
		infer_warn_loops(j->unit.kernel[i], j->candidates);
	module_found(j->m, &j->m->kernel[i], j->unit.kernel[i]);
	if (j->candidates)
		keep_pictures(j, &j->m->kernel[i], j->unit.kernel[i]);
	module_part(j->m, part);
}

bool
passes_rows(CompileJob *j, int i, int from, int to, bool usual)
{
	int tried = first_row(PASS_PER_VARIANT), infer = first_row(PASS_SEARCH);

	if (from <= infer && to > infer) {
		bool made = from > tried;

		if ((!made && !takes_roles(j, j->unit.kernel[i])) ||
		    !run_some(j, i, from, made ? infer : tried, true, usual) || !search(j, i, made))
			return false;
		from = infer;
	}
	return run_some(j, i, from, to, true, usual);
}

/* Passes the cluster of the options, if any, to pass multicast; IR may request one itself. */
static void
ask_cluster(const CompileJob *j, Kernel *k)
{
	for (int d = 0; d < 3 && j->ctx->opt.o.cluster[0]; d++)
		k->cluster_asked[d] = (int)j->ctx->opt.o.cluster[d];
}

void
passes_run(CompileJob *j, int i)
{
	ask_cluster(j, j->unit.kernel[i]);
	if (!after_pass(j, i, "parse", true) || stop_here(j, "parse"))
		return;
	dump_bounded(j, j->unit.kernel[i]);
	if (!stop_here(j, "bounded") && passes_rows(j, i, 0, PASSES, true))
		passes_found(j, i);
}

void
passes_begin(CompileJob *j, int i)
{
	ModKernel *mk = &j->m->kernel[i];

	ask_cluster(j, j->unit.kernel[i]);
	dump(j, "read", j->unit.kernel[i]);
	kernel_verify(j->unit.kernel[i], NULL);
	j->candidates = NULL;
	/* placeholder for pass lists without the search */
	mk->ncand = 1;
	mk->cand = NEW(&j->m->arena, ModCand);
	mk->cand->text = "read from the IR";
	mk->cand->together = 1;
}
