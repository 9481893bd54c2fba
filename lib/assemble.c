/* assemble.c - ranks the first solutions of a kernel with the host's assembler (hexc_opts.assemble), for
 * hexc_compile.
 *
 * Each solution is compiled separately, in a context that differs from the host's in the candidate and
 * emits no diagnostics. Only the registers, the spilled bytes and the predicted cycles are retained. */
#include "lib/assemble.h"
#include <stdio.h>
#include <string.h>

enum {
	ASKED_MOST = 8,
	FEWEST_REGISTERS = 16, /* registers/thread, the minimum that ptxas allocates */
	WHY_ROOM = 300,
};

/* One solution. */
typedef struct AssembleTry {
	const CompileJob *of;
	int kernel;
	hexc_ctx ctx;
	CompileJob job;
	bool made;                 /* the solution exists and has PTX */
	int ncand;                 /* number to assemble, at most ASKED_MOST */
	double least[ASKED_MOST];  /* lower bound of each solution's cycles, whatever the assembler
	                            * reports */
	bool refused;
	char why[WHY_ROOM];
	ModAsked found;
} AssembleTry;

/* The results for a kernel so far. */
typedef struct Tries {
	ModAsked *asked;     /* [ASKED_MOST] */
	const char **packs;  /* [ASKED_MOST] pack layouts, in one line */
	double least[ASKED_MOST];
	int n;
} Tries;

static bool
asks(const CompileJob *j)
{
	const hexc_opts *o = &j->ctx->opt.o;

	return o->assemble && !o->candidate && !o->stop && !(o->flags & HEXC_NO_EMIT);
}

/* ---- one solution --------------------------------------------------------------------------------- */

static void
ask(AssembleTry *t, CompileJob *j)
{
	const hexc_opts *o = &t->ctx.opt.o;
	hexc_assembled said = { .why = t->why, .why_size = sizeof t->why };
	int candidate = j->unit.candidate;

	t->refused = o->assemble(o->user, t->ctx.opt.target->name, j->m->kernel[0].name, j->m->ptx,
	                         j->m->nptx, &said) != 0;
	t->why[WHY_ROOM - 1] = 0;
	if (t->refused)
		return;
	t->found = (ModAsked){ .known = true, .used = (int)said.registers, .spilled = (int)said.spilled };
	t->found.estimated = j->m->kernel[0].cand[candidate].registers;
	t->found.cycles = infer_cycles_with(j->candidates, candidate, t->found.used, &t->found.together);
}

/* Runs under arena_protect. */
static void
compile(void *user)
{
	AssembleTry *t = user;
	CompileJob *j = &t->job;
	Unit *u = &j->unit;

	if (!job_parse(j))
		return;
	module_declare(j->m, &j->m->kernel[t->kernel], u->kernel[t->kernel]);
	if (u->diag->nerror == 0)
		passes_run(j, t->kernel);
	if (u->diag->nerror || !j->candidates)
		return;
	t->ncand = infer_ncand(j->candidates);
	t->ncand = t->ncand < ASKED_MOST ? t->ncand : ASKED_MOST;
	for (int i = 0, together; i < t->ncand; i++)
		t->least[i] = infer_cycles_with(j->candidates, i, FEWEST_REGISTERS, &together);
	u->kernel[0] = u->kernel[t->kernel];
	j->m->kernel[0] = j->m->kernel[t->kernel];
	u->nkernel = j->m->nkernel = 1;
	job_emit(j);
	t->made = u->diag->nerror == 0;
	if (t->made)
		ask(t, j);
}

static const char *
packs_of(Arena *a, const ModKernel *k)
{
	const char *all = "";

	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].pack)
			all = arena_printf(a, "%s%d %s;", all, i, k->param[i].pack);
	return all;
}

/* Compiles and assembles solution `candidate` of the kernel. A failure that ends it ends j too. */
static void
try(CompileJob *j, int kernel, int candidate, AssembleTry *t, const char **packs)
{
	const ArenaFail fails[] = { [-HEXC_E_NOMEM] = ARENA_NOMEM, [-HEXC_E_LIMIT] = ARENA_LIMIT,
		                    [-HEXC_E_INTERNAL] = ARENA_BUG };
	Arena *arenas[3] = { &t->job.arena, &t->ctx.arena, NULL };
	const char *why = NULL;
	int code;

	memset(t, 0, sizeof *t);
	t->of = j;
	t->kernel = kernel;
	t->ctx = *j->ctx;
	t->ctx.opt.o.candidate = (uint32_t)candidate;
	t->ctx.opt.o.flags &=
	        (uint32_t)~(HEXC_PROVE | HEXC_PARANOID | HEXC_EXPLAIN | HEXC_DRAW | HEXC_WERROR);
	t->ctx.opt.o.dump = NULL;
	t->ctx.opt.o.trace = NULL;
	t->ctx.opt.warnings = t->ctx.opt.remarks = 0;
	arena_init(&t->ctx.arena, j->ctx->realloc, j->ctx->user);
	memset(&t->ctx.diag, 0, sizeof t->ctx.diag);
	t->ctx.diag.arena = &t->ctx.arena;
	t->job.ctx = &t->ctx;
	t->job.m = module_new(j->ctx->realloc, j->ctx->user);
	if (!t->job.m)
		arena_fail(&j->arena, ARENA_NOMEM, NULL);
	t->job.m->since = module_clock();
	job_start(&t->job, j->unit.file, j->src, j->len);
	arenas[2] = &t->job.m->arena;
	code = arena_protect(arenas, 3, compile, t);
	j->ctx->ptxgen = t->ctx.ptxgen;
	for (int i = 0; i < 3; i++)
		why = arenas[i]->why ? arenas[i]->why : why;
	*packs = t->made ? packs_of(&j->arena, &t->job.m->kernel[0]) : "";
	hexc_module_free(t->job.m);
	arena_free(&t->job.arena);
	arena_free(&t->ctx.arena);
	if (code)
		arena_fail(&j->arena, fails[-code], why);
	arena_poll(&j->arena);
}

/* ---- the choice ------------------------------------------------------------------------------------ */

static bool
is_better(const Tries *t, int a, int b)
{
	const ModAsked *x = &t->asked[a], *y = &t->asked[b];
	bool packed = strcmp(t->packs[a], t->packs[0]) == 0;

	if (x->spilled != y->spilled)
		return x->spilled < y->spilled;
	if (packed != (strcmp(t->packs[b], t->packs[0]) == 0))
		return packed;
	return x->cycles < y->cycles;
}

/* May a solution that was not assembled yet, from index `from` on, be better than `best`? */
static bool
may_be_better(const Tries *t, int from, int best)
{
	if (t->asked[best].spilled)
		return from < t->n;
	for (int i = from; i < t->n; i++)
		if (t->least[i] < t->asked[best].cycles)
			return true;
	return false;
}

static void
refuse(CompileJob *j, int kernel, int candidate, const char *why)
{
	const Kernel *k = j->unit.kernel[kernel];

	diag_warn(j->unit.diag, DW_assembler, k->src, "the assembler rejected solution %d of kernel %s: %s%s",
	          candidate, k->name, *why ? why : "no reason given",
	          candidate ? "" : "; solutions are ranked by estimates");
}

/* Records the chosen solution's spills for the spill warning. */
static void
keep_spilled(CompileJob *j, int kernel, int bytes)
{
	int *spilled = NEWN(&j->arena, int, j->unit.nkernel);

	for (int i = 0; i < j->unit.nkernel; i++)
		spilled[i] = j->unit.spilled ? j->unit.spilled[i] : -1;
	spilled[kernel] = bytes;
	j->unit.spilled = spilled;
}

void
assemble_choose(CompileJob *j, int kernel)
{
	bool all = j->ctx->opt.o.flags & HEXC_ASSEMBLE_ALL;
	Tries all_of = { .n = 1 }, *t = &all_of;
	AssembleTry *one;
	const char *part;
	int best = 0;

	j->nasked = 0;
	j->unit.candidate = (int)j->ctx->opt.o.candidate;
	if (!asks(j) || j->deaf)
		return;
	part = module_part(j->m, "assemble");
	one = NEW(&j->arena, AssembleTry);
	t->asked = NEWN(&j->arena, ModAsked, ASKED_MOST);
	t->packs = NEWN(&j->arena, const char *, ASKED_MOST);
	for (int i = 0; i < t->n && (i == 0 || all || may_be_better(t, i, best)); i++) {
		try(j, kernel, i, one, &t->packs[i]);
		if (one->refused)
			refuse(j, kernel, i, one->why);
		if (i == 0 && (!one->made || one->refused)) {
			j->deaf = one->refused; /* the others would be rejected too */
			module_part(j->m, part);
			return;
		}
		if (i == 0) {
			t->n = one->ncand;
			memcpy(t->least, one->least, sizeof t->least);
		}
		t->asked[i] = one->found;
		if (one->found.known && is_better(t, i, best))
			best = i;
	}
	j->asked = t->asked;
	j->nasked = t->n;
	j->unit.candidate = best;
	keep_spilled(j, kernel, t->asked[best].spilled);
	module_part(j->m, part);
}
