/* run_interp.c - implements hexc_run_tile: runs the tile interpreter on a host's buffers. */
#include "hexc/interp/interp.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/text/text.h"
#include "hexc/lang/lang.h"
#include "hexc/pass/pass.h"
#include "lib/error_bound/error_bound.h"
#include "lib/lib.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct TileJob {
	const hexc_module *m;
	const ModKernel *mk;
	const hexc_arg *arg;
	uint64_t max_steps, noise;
	double noise_times;
	HostWorkers workers;
	void (*print)(void *, const char *, size_t);
	void (*value)(void *, const hexc_value *);
	void *user;
	Arena arena;
	Diag diag;
	Unit unit;
	double cell[BOUND_CELLS]; /* BOUND_DOUBT > 0: no bound is valid */
	BoundOps ops;
	int code;
} TileJob;

static bool
wants_bounds(const TileJob *j)
{
	for (int i = 0; i < j->mk->nparam; i++)
		if (j->mk->param[i].written && j->arg[i].bound)
			return true;
	return false;
}

/* Returns how many elements fit in the bytes at a tensor's address. */
static int64_t
arg_count(const ModParam *p, const hexc_arg *arg)
{
	uint64_t bits = dtype_info[p->dtype].bits;

	return (int64_t)(arg->bytes / bits * 8 + arg->bytes % bits * 8 / bits);
}

/* Sets all bounds to unknown. */
static void
bounds_unknown(const TileJob *j)
{
	for (int i = 0; i < j->mk->nparam; i++) {
		int64_t n = arg_count(&j->mk->param[i], &j->arg[i]);
		if (j->mk->param[i].written && j->arg[i].bound)
			for (int64_t e = 0; e < n; e++)
				j->arg[i].bound[e] = (double)INFINITY;
	}
}

/* Reads the kernel again: as IR, or by parsing the program. */
static Kernel *
kernel_again(TileJob *j)
{
	Unit *u = NEW(&j->arena, Unit);
	Kernel *k = NULL;

	*u = j->unit;
	if (!j->m->ir)
		return unit_parse(u, j->m->def, j->m->ndef, j->mk->name) && u->nkernel == 1 && !j->diag.nerror
		               ? u->kernel[0]
		               : NULL;
	if (unit_read(u, j->m->src, j->m->len))
		for (int i = 0; i < u->nkernel && !k; i++)
			k = strcmp(u->kernel[i]->name, j->mk->name) == 0 ? u->kernel[i] : NULL;
	return j->diag.nerror ? NULL : k;
}

static int
interp_result(InterpCode c)
{
	switch (c) {
	case INTERP_OK: return HEXC_OK;
	case INTERP_E_ARG: return HEXC_E_ARGS;
	case INTERP_E_FAULT: return HEXC_E_SOURCE;
	case INTERP_E_LIMIT: return HEXC_E_LIMIT;
	case INTERP_E_NOMEM: return HEXC_E_NOMEM;
	}
	return HEXC_E_INTERNAL;
}

/* Initializes the sums with the elements of tensor argument i, and the others with 0. */
static void
start_sums(TileJob *j, int i, InterpArg *sum, int64_t n)
{
	double *x = NEWN(&j->arena, double, n * BOUND_SUMS);

	for (int64_t e = 0; e < n; e++)
		x[e] = num_get(j->mk->param[i].dtype, j->arg[i].ptr, e);
	for (int s = 0; s < BOUND_SUMS; s++)
		sum[s] = (InterpArg){ x + s * n, n, 0, 0 };
}

/* Computes bounds of elements that floats were added to atomically. */
static void
end_sums(const TileJob *j, const Kernel *k, const InterpArg *arg)
{
	int n = j->mk->nparam;

	for (int i = 0; i < j->mk->nparam; i++) {
		double sum[BOUND_SUMS], *bound = arg[n].data;

		if (!j->mk->param[i].written)
			continue;
		n++;
		if (!bound_has_sums(k, k->param[i].val))
			continue;
		for (int64_t e = 0; e < arg[n].count; e++) {
			for (int s = 0; s < BOUND_SUMS; s++)
				sum[s] = ((const double *)arg[n + s].data)[e];
			bound[e] = bound_of_sum(j->mk->param[i].dtype, bound[e], sum);
		}
		n += BOUND_SUMS;
	}
}

static InterpArg *
interp_args_plain(TileJob *j)
{
	InterpArg *a = NEWN(&j->arena, InterpArg, j->mk->nparam + 1);

	for (int i = 0; i < j->mk->nparam; i++)
		a[i] = (InterpArg){ j->arg[i].ptr,
			            j->mk->param[i].kind == HEXC_POINTER
			                    ? arg_count(&j->mk->param[i], &j->arg[i])
			                    : 0,
			            j->arg[i].i, j->arg[i].f };
	return a;
}

/* Builds the arguments, followed by those that bound_kernel adds for each written tensor. */
static InterpArg *
interp_args(TileJob *j, const Kernel *k, int *n)
{
	const ModKernel *mk = j->mk;
	InterpArg *a = NEWN(&j->arena, InterpArg, (2 + BOUND_SUMS) * mk->nparam + 1);

	*n = mk->nparam;
	for (int i = 0; i < mk->nparam; i++) {
		bool tensor = mk->param[i].kind == HEXC_POINTER;
		a[i] = (InterpArg){ j->arg[i].ptr,
			            tensor ? arg_count(&mk->param[i], &j->arg[i]) : 0, j->arg[i].i,
			            j->arg[i].f };
		if (tensor && mk->param[i].written) {
			void *bound = j->arg[i].bound ? (void *)j->arg[i].bound
			                              : NEWN(&j->arena, double, a[i].count);
			a[(*n)++] = (InterpArg){ bound, a[i].count, 0, 0 };
			if (!bound_has_sums(k, k->param[i].val))
				continue;
			start_sums(j, i, a + *n, a[i].count);
			*n += BOUND_SUMS;
		}
	}
	a[(*n)++] = (InterpArg){ j->cell, BOUND_CELLS, 0, 0 };
	return a;
}

static void
say(void *user, const char *text, size_t n)
{
	TileJob *j = user;

	j->print(j->user, text, n);
}

static void
show_value(void *user, const Op *o, int64_t block, const Type *type, int64_t n, const double *f,
           const int64_t *i)
{
	TileJob *j = user;
	const Val *v = o->nout ? o->out[0] : store_value(o);
	bool is_float = dtype_is_float(type->dtype);
	hexc_value x = { .id = v->id,
		         .op = op_info[o->code].name,
		         .name = v->name,
		         .line = o->src.line,
		         .col = o->src.col,
		         .block = (uint64_t)block,
		         .dtype = dtype_info[type->dtype].name,
		         .n = (uint64_t)n,
		         .f = is_float ? f : NULL,
		         .i = is_float ? NULL : i };

	j->value(j->user, &x);
}

/* Computes the bounds of all elements from the kernel with masks, in which nothing depends on elements
 * outside of tensors. The kernel itself runs without them, by the rules of missing elements, and computes
 * the values; if it has none to mask, one run does both (*whole). Returns false if the run has failed. */
static bool
run_bounds(TileJob *j, const InterpOpt *opt, bool *whole)
{
	Kernel *k = kernel_again(j), *twin;
	InterpOpt quiet = *opt;
	InterpArg *args;
	int n = 0;

	if (!k)
		return false;
	pass_mark_reductions(k);
	*whole = !pass_mask_bounds(k);
	twin = j->diag.nerror ? NULL : bound_kernel(k, &j->ops);
	if (!twin) {
		*whole = false;
		bounds_unknown(j);
		return !j->diag.nerror;
	}
	args = interp_args(j, k, &n);
	for (int i = 0; i < j->mk->nparam && !*whole; i++) {
		size_t bytes = (size_t)j->arg[i].bytes;

		if (j->mk->param[i].kind != HEXC_POINTER || !j->mk->param[i].written)
			continue;
		args[i].data = arena_alloc(&j->arena, bytes + 8);
		memcpy(args[i].data, j->arg[i].ptr, bytes);
	}
	if (!*whole) {
		quiet.print = NULL;
		quiet.value = NULL;
	}
	j->code = interp_result(interp_run(twin, args, n, *whole ? opt : &quiet));
	if (j->code == HEXC_OK)
		end_sums(j, k, args);
	return j->code == HEXC_OK;
}

/* Runs under arena_protect. */
static void
run_tile(void *user)
{
	TileJob *j = user;
	InterpOpt opt;
	Kernel *k = kernel_again(j);
	bool whole = false;

	memset(&opt, 0, sizeof opt);
	opt.max_ops = j->max_steps;
	opt.noise = j->noise;
	opt.noise_times = j->noise_times;
	opt.uninit = j->m->ir != NULL; /* IR may read values that its program never uses */
	opt.workers = j->workers.workers;
	opt.print = j->print ? say : NULL;
	opt.value = j->value ? show_value : NULL;
	opt.user = j;
	j->code = HEXC_E_INTERNAL;
	if (!k)
		return;
	if (wants_bounds(j) && !run_bounds(j, &opt, &whole))
		return;
	if (!whole)
		j->code = interp_result(interp_run(k, interp_args_plain(j), j->mk->nparam, &opt));
	if (j->cell[BOUND_DOUBT] > 0)
		bounds_unknown(j);
}

/* Does any written element have no bound? */
static bool
some_unknown(const TileJob *j)
{
	for (int i = 0; i < j->mk->nparam; i++) {
		int64_t n = arg_count(&j->mk->param[i], &j->arg[i]);

		if (j->mk->param[i].written && j->arg[i].bound)
			for (int64_t e = 0; e < n; e++)
				if (!(j->arg[i].bound[e] < (double)INFINITY))
					return true;
	}
	return false;
}

/* Reports the first value that lost its bound. */
static void
explain_loss(const TileJob *j, const hexc_run_opts *o)
{
	const char *why;
	const Op *op = bound_lost(&j->ops, j->cell[BOUND_LOST], &why);
	const char *name = op && op->nout ? op->out[0]->name : NULL;

	if (!op || !o->why || !o->why_size || !some_unknown(j))
		return;
	snprintf(o->why, o->why_size, "%s:%u:%u: no bound is known for %s%s%s: %s", j->m->file,
	         (unsigned)op->src.line, (unsigned)op->src.col, name ? "`" : "",
	         name ? name : "this value", name ? "`" : "", why);
}

/* Writes the failure's sentence to o->why. */
static void
explain(const TileJob *j, const hexc_run_opts *o, int code, bool left)
{
	const DiagMsg *first = NULL;

	if (!code || !o->why || !o->why_size)
		return;
	for (int i = j->diag.n - 1; i >= 0 && !left; i--)
		if (j->diag.msg[i].severity == DIAG_ERROR)
			first = &j->diag.msg[i];
	if (first && first->src.line)
		snprintf(o->why, o->why_size, "%s:%u:%u: %s", j->m->file, (unsigned)first->src.line,
		         (unsigned)first->src.col, first->text);
	else if (first)
		snprintf(o->why, o->why_size, "%s", first->text);
	else if (code == HEXC_E_NOMEM)
		snprintf(o->why, o->why_size, "%s", interp_no_memory(&j->arena));
	else
		snprintf(o->why, o->why_size, "%s",
		         code == HEXC_E_INTERNAL && j->arena.why ? j->arena.why : hexc_strerror(code));
}

/* The default of hexc_run_opts.max_memory: written elements need a bound and its sums. */
static size_t
default_memory(const TileJob *j)
{
	size_t most = ((size_t)2 << 30) + ((size_t)1 << 30) * workers_for(&j->workers.workers, INT64_MAX);

	for (int i = 0; i < j->mk->nparam; i++)
		if (j->mk->param[i].kind == HEXC_POINTER && j->mk->param[i].written)
			most += sizeof(double) * (1 + BOUND_SUMS) *
			        (size_t)arg_count(&j->mk->param[i], &j->arg[i]);
	return most;
}

static bool
opts_read(hexc_run_opts *o, const hexc_run_opts *in)
{
	static const hexc_run_opts none = HEXC_RUN_OPTS_INIT;

	*o = none;
	return !in || (in->size >= offsetof(hexc_run_opts, cancel) && take_in(o, sizeof *o, in));
}

int
hexc_run_tile(const hexc_module *m, size_t k, const hexc_arg *arg, const hexc_run_opts *opts)
{
	hexc_run_opts o;
	TileJob j;
	Arena *arenas[1];
	int code;

	memset(&j, 0, sizeof j);
	if (!m || k >= (size_t)m->nkernel || !opts_read(&o, opts) || !workers_of(&j.workers, o.workers))
		return HEXC_E_INVALID;
	if (!m->src)
		return why_error(HEXC_E_INVALID, o.why, o.why ? o.why_size : 0, "a module from a file has "
		                                                                "no source; compile the "
		                                                                "program to run it with "
		                                                                "the tile interpreter");
	code = launch_check(m, k, arg, ARG_NATURAL, o.why, o.why_size);
	if (code)
		return code;
	j.m = m;
	j.mk = &m->kernel[k];
	j.arg = arg;
	j.max_steps = o.max_steps;
	j.noise = o.noise;
	j.noise_times = o.noise_times > 0 ? o.noise_times : 1;
	j.print = o.print;
	j.value = o.value;
	j.user = o.user;
	arena_init(&j.arena, o.realloc, o.user);
	j.arena.cancel = o.cancel;
	j.arena.limit = o.max_memory ? o.max_memory : default_memory(&j);
	j.diag.arena = &j.arena;
	j.unit = (Unit){ .arena = &j.arena,
		         .diag = &j.diag,
		         .target = m->target,
		         .file = m->file,
		         .text = m->src,
		         .len = m->len };
	arenas[0] = &j.arena;
	code = arena_protect(arenas, 1, run_tile, &j);
	if (code)
		explain(&j, &o, code, true);
	else
		explain(&j, &o, code = j.code, false);
	if (!code)
		explain_loss(&j, &o);
	arena_free(&j.arena);
	return code;
}
