/* module_build.c - copies the results of a compilation out of its arena into a module. */
#include "lib/lib.h"
#include "hexc/analysis/analysis.h"
#include <string.h>
#include <time.h>

static const char *
copy_string(hexc_module *m, const char *s)
{
	return s ? arena_strndup(&m->arena, s, strlen(s)) : "";
}

/* ---- facts as the program says them ----------------------------------------------------------- */

/* Converts v to an expression of the parameters; reports an error of the program if a host cannot compute
 * it. */
static ExprRef
declare_expr(hexc_module *m, ModKernel *mk, Kernel *k, const Val *v, Src src, const char *what,
             const char **text)
{
	ExprRef e = expr_add(&m->arena, &mk->expr, k, v);

	if (e < 0)
		diag_error(k->unit->diag, src,
		           "%s of %s must be an expression of sizes, integer scalars and constants", what,
		           mk->name);
	if (text)
		*text = expr_text(&m->arena, &mk->expr, e);
	return e;
}

static void
declare_param(hexc_module *m, ModKernel *mk, Kernel *k, int i)
{
	static const hexc_kind kind[] = {
		[P_tensor] = HEXC_POINTER, [P_size] = HEXC_SIZE, [P_scalar] = HEXC_SCALAR
	};
	const Param *p = &k->param[i];
	ModParam *mp = &mk->param[i];

	mp->dtype = p->val->type.dtype;
	mp->kind = kind[p->kind];
	mp->read = p->read;
	mp->written = p->written;
	mp->mult = p->mult;
	mp->lo = p->lo;
	mp->hi = p->hi;
	if (p->kind != P_tensor)
		return;
	mp->rank = p->val->type.rank;
	for (int d = 0; d < mp->rank; d++) {
		mp->dim[d] = declare_expr(m, mk, k, p->size[d], p->src, "a size", &mp->dim_text[d]);
		mp->stride[d] = declare_expr(m, mk, k, p->stride[d], p->src, "a stride", &mp->stride_text[d]);
	}
}

static void
assume_push(hexc_module *m, ModKernel *mk, int *cap, ModAssume as)
{
	VEC_PUSH(&m->arena, mk->assume, mk->nassume, *cap, as);
}

/* Declares the conditions stored in Params, then the others. */
static void
declare_assumptions(hexc_module *m, ModKernel *mk, Kernel *k)
{
	Arena *a = &m->arena;
	int cap = 0;

	for (int i = 0; i < mk->nparam; i++) {
		const ModParam *p = &mk->param[i];
		if (p->kind == HEXC_POINTER)
			continue;
		if (p->mult > 1)
			assume_push(m, mk, &cap,
			            (ModAssume){ arena_printf(a, "%s %% %lld == 0", p->name,
			                                      (long long)p->mult),
			                         i, '%', -1 });
		if (p->lo > p->hi || (p->lo == 0 && p->hi == 0)) /* no range is set */
			continue;
		if (p->lo > (p->kind == HEXC_SIZE ? 0 : INT64_MIN))
			assume_push(m, mk, &cap,
			            (ModAssume){ arena_printf(a, "%s >= %lld", p->name,
			                                      (long long)p->lo),
			                         i, '>', -1 });
		if (p->hi < INT64_MAX)
			assume_push(m, mk, &cap,
			            (ModAssume){ arena_printf(a, "%s <= %lld", p->name,
			                                      (long long)p->hi),
			                         i, '<', -1 });
	}
	for (int i = 0; i < k->nassume; i++) {
		const Assume *as = &k->assume[i];
		ExprRef e = declare_expr(m, mk, k, as->cond, as->src, "an assumption", NULL);
		const char *text = as->text && as->text[0] ? copy_string(m, as->text)
		                                           : expr_text(a, &mk->expr, e);
		assume_push(m, mk, &cap, (ModAssume){ text, -1, 0, e });
	}
}

static void
declare_grid(hexc_module *m, ModKernel *mk, Kernel *k)
{
	const Op *yield = k->grid ? k->grid->last : NULL;
	ExprNode one = { O_const, D_i64, { -1, -1, -1 }, 1 };

	for (int i = 0; i < 3; i++) {
		if (yield && i < yield->nin) {
			mk->grid[i] = declare_expr(m, mk, k, yield->in[i], yield->src, "the grid",
			                           &mk->grid_text[i]);
			continue;
		}
		mk->grid[i] = mk->expr.n;
		mk->grid_text[i] = "1";
		VEC_PUSH(&m->arena, mk->expr.node, mk->expr.n, mk->expr.cap, one);
	}
}

static void
keep_tunables(hexc_module *m, ModKernel *mk, const Kernel *k)
{
	mk->ntunable = k->ntunable;
	mk->tunable = NEWN(&m->arena, Tunable, k->ntunable);
	for (int i = 0; i < k->ntunable; i++) {
		const Tunable *t = &k->tunable[i];
		int64_t *choice = NEWN(&m->arena, int64_t, t->nchoice);

		memcpy(choice, t->choice, sizeof *choice * (size_t)t->nchoice);
		mk->tunable[i] = *t;
		mk->tunable[i].name = copy_string(m, t->name);
		mk->tunable[i].choice = choice;
	}
	mk->ncondition = k->ncondition;
	mk->condition = NEWN(&m->arena, const char *, k->ncondition);
	for (int i = 0; i < k->ncondition; i++)
		mk->condition[i] = copy_string(m, k->condition[i]);
}

void
module_declare(hexc_module *m, ModKernel *mk, Kernel *k)
{
	Arena *a = &m->arena;
	const char **name = NEWN(a, const char *, k->nparam);
	bool *from_0 = NEWN(a, bool, k->nparam);

	if (k->nparam > HEXC_MAX_PARAMS) {
		diag_error(k->unit->diag, k->src,
		           "%s has %d launch parameters (sizes included); at most %d are supported",
		           k->name, k->nparam, HEXC_MAX_PARAMS);
		return;
	}

	mk->name = copy_string(m, k->name);
	mk->nparam = k->nparam;
	mk->param = NEWN(a, ModParam, k->nparam);
	for (int i = 0; i < k->nparam; i++)
		name[i] = mk->param[i].name = copy_string(m, k->param[i].name);
	for (int i = 0; i < k->nparam; i++)
		from_0[i] = k->param[i].kind != P_tensor && val_fact(k, k->param[i].val).lo >= 0;
	mk->expr.name = name;
	mk->expr.from_0 = from_0;
	for (int i = 0; i < k->nparam; i++)
		declare_param(m, mk, k, i);
	declare_grid(m, mk, k);
	declare_assumptions(m, mk, k);
	mk->nconstants = k->nconstants;
	mk->constants = NEWN(a, hexc_define, k->nconstants);
	for (int i = 0; i < k->nconstants; i++) {
		mk->constants[i].name = copy_string(m, k->constants[i].name);
		mk->constants[i].value = k->constants[i].value;
	}
	keep_tunables(m, mk, k);
	mk->warps = kernel_warps(k);
	for (int d = 0; d < 3; d++)
		mk->cluster[d] = k->cluster[d];
	mk->explain = mk->explain_short = "";
	mk->json = "{}";
}

/* ---- what the passes found -------------------------------------------------------------------- */

static void
found_map(hexc_module *m, ModKernel *mk, Kernel *k, int i)
{
	const TensorMap *t = &k->map[i];
	Src src = k->param[t->param].src;
	ModMap *map = &mk->map[i];

	map->param = t->param;
	map->dtype = t->dtype;
	map->rank = t->rank;
	map->swizzle = t->swizzle;
	map->l2 = t->l2;
	map->stride[0] = -1;
	map->stride_text[0] = "1";
	for (int d = 0; d < t->rank; d++) {
		map->box[d] = t->box[d];
		map->dim[d] = declare_expr(m, mk, k, t->size[d], src, "a size", &map->dim_text[d]);
		if (!d)
			continue;
		map->stride[d] = declare_expr(m, mk, k, t->stride[d], src, "a stride", &map->stride_text[d]);
		map->optional = map->optional || val_fact(k, t->stride[d]).mult * dtype_info[t->dtype].bits %
		                                         (8 * MAP_GRAIN);
	}
}

void
module_found(hexc_module *m, ModKernel *mk, Kernel *k)
{
	if (k->nparam + k->nmap > HEXC_MAX_PARAMS) {
		diag_error(k->unit->diag, k->src,
		           "%s has %d launch parameters and %d tensor maps; at most %d of both are supported",
		           k->name, k->nparam, k->nmap, HEXC_MAX_PARAMS);
		return;
	}
	mk->smem = k->smem;
	mk->order = k->order;
	mk->warps = kernel_warps(k);
	memcpy(mk->cluster, k->cluster, sizeof mk->cluster);
	mk->persistent = kernel_is_persistent(k);
	mk->pdl = kernel_waits_for_grids(k);
	mk->cooperative = kernel_has(k, O_grid_barrier);
	mk->nmap = k->nmap;
	mk->map = NEWN(&m->arena, ModMap, k->nmap);
	for (int i = 0; i < k->nmap; i++)
		found_map(m, mk, k, i);
}

double
module_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void
add_time(hexc_module *m, const char *name, double ms)
{
	ModTime t = { name, ms };

	for (int i = 0; i < m->ntime; i++)
		if (strcmp(m->time[i].name, name) == 0) {
			m->time[i].ms += ms;
			return;
		}
	VEC_PUSH(&m->arena, m->time, m->ntime, m->time_cap, t);
}

const char *
module_part(hexc_module *m, const char *name)
{
	const char *before = m->part;
	double now = module_clock();

	m->part = name;
	if (before)
		add_time(m, before, now - m->since);
	else
		m->other += now - m->since;
	m->since = now;
	return before;
}

void
module_time(hexc_module *m, const char *name, double ms)
{
	add_time(m, name, ms);
	m->since += ms;
}

void
module_other(hexc_module *m)
{
	module_part(m, NULL);
	add_time(m, "other", 0);
}

void
module_time_end(hexc_module *m)
{
	ModTime *last = m->ntime ? &m->time[m->ntime - 1] : NULL;

	if (last)
		last->ms += m->other + module_clock() - m->since;
}
