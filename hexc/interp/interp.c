/* interp.c - implements values, launches and the distribution of blocks over threads in the tile
 * interpreter. */
#include "hexc/interp/interp_internal.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- slots and faults ------------------------------------------------------------------------ */

static void
slot_init(Interp *it, InterpValue *s, const Type *t)
{
	if (t->space == S_global || t->space == S_shared) {
		s->view = NEW(&it->arena, View);
		return;
	}
	s->n = type_size(t);
	s->f = NEWN(&it->arena, double, s->n);
	s->i = (void *)s->f;
}

InterpValue *
slot_of(Interp *it, const Val *v)
{
	InterpValue *s = &it->task->slot[v->id];

	if (!s->f && !s->view)
		slot_init(it, s, &v->type);
	return s;
}

InterpValue *
interp_scratch(Interp *it, int which, int64_t n)
{
	InterpValue *s = &it->scratch[which];

	if (s->n < n) {
		s->n = n;
		s->f = NEWN(&it->arena, double, n);
		s->i = (void *)s->f;
	}
	return s;
}

void
slot_copy(Interp *it, const Val *to, const Val *from)
{
	InterpValue *d = slot_of(it, to), *s = slot_of(it, from);

	if (d->view)
		*d->view = *s->view;
	else
		memcpy(d->f, s->f, (size_t)d->n * sizeof *d->f);
	if (d->missing || s->missing)
		law_copy(it, d, s);
}

bool
interp_error(Interp *it, InterpCode code, const Op *o, const char *fmt, ...)
{
	va_list ap;

	if (it->code != INTERP_OK)
		return false;
	va_start(ap, fmt);
	vsnprintf(it->text, sizeof it->text, fmt, ap);
	va_end(ap);
	it->code = code;
	it->src = o && o->src.line ? o->src : it->k->src;
	return false;
}

/* ---- start and end of an interpreter --------------------------------------------------------- */

void
interp_start(Interp *it, Kernel *k, const InterpArg *arg, const InterpOpt *opt)
{
	static const InterpOpt plain;

	memset(it, 0, sizeof *it);
	it->k = k;
	it->arg = arg;
	it->opt = opt ? *opt : plain;
	/* not the unit's allocator: it may not be thread-safe */
	arena_init(&it->arena, NULL, NULL);
	it->arena.fail = &it->fail;
}

/* Must run under the caller's setjmp. */
void
interp_setup(Interp *it)
{
	Kernel *k = it->k;

	it->task = &it->all;
	it->nclock = it->clock_used = task_count(it);
	for (const Op *o = k->body->first; o; o = o->next)
		it->nclock += o->code == O_mbarrier ? (int)o->out[0]->type.shape[0] : 0;
	it->all.known = NEWN(&it->arena, int64_t, it->nclock);
	it->all.slot = NEWN(&it->arena, InterpValue, (size_t)k->nval + 1);
	for (int i = 0; i < k->nparam && i < k->body->narg; i++) {
		const Val *v = k->body->arg[i];
		InterpValue *s = slot_of(it, v);

		if (s->view) {
			s->view->param = &k->param[i];
			s->view->root_rank = s->view->rank = v->type.rank;
			s->view->gather = -1;
			for (int d = 0; d < v->type.rank; d++)
				s->view->dim[d] = d;
		} else if (dtype_is_float(v->type.dtype)) {
			s->f[0] = num_round(v->type.dtype, it->arg[i].f);
		} else {
			s->i[0] = num_wrap(v->type.dtype, it->arg[i].i);
		}
	}
}

const char *
interp_no_memory(const Arena *a)
{
	return a->why && strcmp(a->why, "max_memory") == 0
	               ? "the tile interpreter needs more memory than max_memory allows"
	               : "out of memory";
}

InterpCode
interp_end(Interp *it)
{
	InterpCode code = it->code;

	arena_free(&it->arena);
	if (code != INTERP_OK)
		diag_class_error(it->k->unit->diag,
		                 code == INTERP_E_LIMIT || code == INTERP_E_NOMEM ? DC_LIMIT : DC_SOURCE,
		                 it->src, "%s", it->text[0] ? it->text : interp_no_memory(&it->arena));
	return code;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* One launch, shared by all threads. */
typedef struct InterpLaunch {
	Kernel *k;
	const InterpArg *arg;
	InterpOpt opt;
	int64_t grid[3], nblock;
	_Atomic int64_t next;  /* the next block */
	_Atomic int64_t bound; /* blocks from here on may be skipped: an earlier one failed */
} InterpLaunch;

typedef struct InterpWorker {
	Interp it;
	Common common;
	InterpLaunch *run;
} InterpWorker;

static void
work(void *workers, unsigned i)
{
	InterpWorker *w = (InterpWorker *)workers + i;
	Interp *it = &w->it;
	InterpLaunch *run = w->run;

	if (setjmp(it->fail)) {
		it->code = INTERP_E_NOMEM;
		atomic_store(&run->bound, 0);
		return;
	}
	if (w->common.takes_turns) { /* there is only one worker */
		turns_run(it, run->nblock, run->grid);
		return;
	}
	interp_setup(it);
	for (;;) {
		int64_t b = atomic_fetch_add(&run->next, 1), low;

		if (b >= run->nblock || b >= atomic_load(&run->bound))
			return;
		if (interp_body(it, b, run->nblock, run->grid))
			continue;
		for (low = atomic_load(&run->bound); b < low;)
			if (atomic_compare_exchange_weak(&run->bound, &low, b))
				break;
		return;
	}
}

static bool
needs_order(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if ((o->code == O_store && IMM(o, update)) || o->code == O_print)
			return true;
	return false;
}

/* Returns the number of threads. It is one if values are traced, or if blocks share bytes (stores below 8
 * bits per element), update elements, print, or wait for each other. */
static unsigned
thread_count(Kernel *k, const Workers *workers, int64_t nblock, bool value)
{
	if (poll_possible(k) || value)
		return 1;
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind == P_tensor && k->param[i].written &&
		    dtype_info[k->param[i].val->type.dtype].bits < 8)
			return 1;
	if (needs_order(k))
		return 1;
	return workers_for(workers, nblock);
}

static InterpCode
run_launch(InterpLaunch *run, InterpWorker *w, unsigned n)
{
	const Arena *unit = run->k->unit->arena;
	size_t left = unit->limit > unit->held ? unit->limit - unit->held : 1;
	size_t share = unit->limit ? left / n + 1 : 0;
	const InterpWorker *worst = NULL;

	for (unsigned i = 0; i < n; i++) {
		w[i].run = run;
		interp_start(&w[i].it, run->k, run->arg, &run->opt);
		w[i].it.bound = &run->bound;
		w[i].it.common = &w[i].common;
		w[i].it.arena.limit = share;
	}
	w[0].it.cancel = unit->cancel; /* only one worker calls it, if possible the caller's thread */
	w[0].it.user = unit->user;
	workers_run(&run->opt.workers, n, work, w);
	for (unsigned i = 0; i < n; i++)
		if (w[i].it.code != INTERP_OK && (!worst || w[i].it.linear < worst->it.linear))
			worst = &w[i];
	for (unsigned i = 0; i < n; i++)
		if (&w[i] != worst)
			arena_free(&w[i].it.arena);
	/* reports the error of the first block that failed, regardless of the thread */
	return worst ? interp_end(&w[worst - w].it) : INTERP_OK;
}

/* Checks the arguments and computes the grid. */
static void
prepare(Interp *it, Kernel *k, int narg, int64_t grid[3])
{
	const Arena *a = k->unit->arena;

	if (setjmp(it->fail)) {
		it->code = INTERP_E_NOMEM;
		return;
	}
	if (narg != k->nparam) {
		interp_error(it, INTERP_E_ARG, NULL, "%s takes %d arguments, not %d", k->name,
		             k->nparam, narg);
		return;
	}
	if (a->cancel && a->cancel(a->user)) { /* query it at least once */
		interp_error(it, INTERP_E_LIMIT, NULL, "cancelled");
		return;
	}
	interp_setup(it);
	if (interp_check(it))
		interp_find_grid(it, grid);
}

InterpCode
interp_run(Kernel *k, const InterpArg *arg, int narg, const InterpOpt *opt)
{
	InterpLaunch run;
	Interp it;
	InterpWorker *w;
	InterpCode code;
	unsigned n;

	memset(&run, 0, sizeof run);
	interp_start(&it, k, arg, opt);
	prepare(&it, k, narg, run.grid);
	code = interp_end(&it);
	if (code != INTERP_OK)
		return code;
	run.k = k;
	run.arg = arg;
	run.opt = it.opt;
	for (int d = 0; d < 3 && kernel_is_persistent(k); d++)
		run.grid[d] = (run.grid[d] + k->cluster[d] - 1) / k->cluster[d] * k->cluster[d];
	run.nblock = run.grid[0] * run.grid[1] * run.grid[2];
	if (run.opt.blocks && run.opt.blocks < run.nblock && kernel_is_persistent(k))
		run.nblock = (run.opt.blocks + cluster_blocks(k) - 1) / cluster_blocks(k) *
		             cluster_blocks(k);
	atomic_store(&run.bound, run.nblock);
	if (run.nblock == 0)
		return INTERP_OK;
	n = thread_count(k, &run.opt.workers, run.nblock, run.opt.value != NULL);
	w = NEWN(k->unit->arena, InterpWorker, n);
	w[0].common.takes_turns = poll_possible(k);
	w[0].common.uses = w[0].common.takes_turns ? kernel_uses(k) : NULL;
	return run_launch(&run, w, n);
}
