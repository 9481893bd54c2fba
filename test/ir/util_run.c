/* util_run.c - executes index programs, plainly. */
#include "test/ir/util_prog.h"
#include "test/check.h"
#include <stdlib.h>

typedef struct Run {
	Kernel *k;
	const Env *env;
	const Watch *watch;
	int64_t *x; /* by id */
	long steps;
} Run;

static void
set(Run *r, const Val *v, int64_t x)
{
	r->x[v->id] = x;
	if (r->watch && r->watch->value && v->type.space == S_scalar)
		r->watch->value(r->watch->user, v, x);
}

/* Division by zero and the like as the tile interpreter defines them. */
static int64_t
binary(OpCode code, int64_t x, int64_t y)
{
	int64_t r = 0;

	if ((code == O_div || code == O_mod) && y == 0)
		return code == O_div ? -1 : x;
	if ((code == O_div || code == O_mod) && y == -1)
		return code == O_mod ? 0 : (int64_t)(0 - (uint64_t)x);
	if ((code == O_shl || code == O_shr) && (y < 0 || y > 63))
		return code == O_shl || x >= 0 ? 0 : -1;
	/* ck_assert tells its parent of every success, which takes longer than the whole test */
	if (!i64_eval(code, x, y, &r))
		ck_abort_msg("%s is not defined on integers", op_info[code].name);
	return r;
}

static void
view(Run *r, const Op *o)
{
	int64_t start[2], size[2];
	const Param *p = &r->k->param[0];

	for (int d = 0; d < 2; d++) {
		start[d] = r->x[o->in[1 + d]->id];
		size[d] = r->x[p->size[d]->id];
	}
	if (r->watch && r->watch->view)
		r->watch->view(r->watch->user, o, start, size);
}

static void
store(Run *r, const Op *o)
{
	const Op *v = o->in[1]->def;
	int64_t start[2] = { r->x[v->in[1]->id], r->x[v->in[2]->id] };

	if (r->watch && r->watch->store)
		r->watch->store(r->watch->user, start, 2);
}

static bool run_block(Run *r, const Block *b);

static bool
run_for(Run *r, const Op *o)
{
	const Block *b = o->blk[0];
	int64_t lo = r->x[o->in[0]->id], hi = r->x[o->in[1]->id], step = r->x[o->in[2]->id];
	int64_t *carried = malloc(((size_t)o->nout + 1) * sizeof *carried);
	bool ok = true;

	for (int i = 0; i < o->nout; i++)
		carried[i] = r->x[o->in[3 + i]->id];
	for (int64_t iv = lo; ok && iv < hi; iv = (int64_t)((uint64_t)iv + (uint64_t)step)) {
		set(r, b->arg[0], iv);
		for (int i = 0; i < o->nout; i++)
			set(r, b->arg[1 + i], carried[i]);
		ok = run_block(r, b);
		for (int i = 0; ok && i < o->nout; i++)
			carried[i] = r->x[b->last->in[i]->id];
	}
	for (int i = 0; ok && i < o->nout; i++)
		set(r, o->out[i], carried[i]);
	free(carried);
	return ok;
}

static bool
run_op(Run *r, const Op *o)
{
	int64_t x = o->nin > 0 ? r->x[o->in[0]->id] : 0, y = o->nin > 1 ? r->x[o->in[1]->id] : 0;

	switch ((int)o->code) {
	case O_const:
		if (o->out[0]->type.space == S_scalar)
			set(r, o->out[0], o->imm[0]);
		return true;
	case O_block_id: set(r, o->out[0], r->env->block[o->imm[0]]); return true;
	case O_neg: set(r, o->out[0], (int64_t)(0 - (uint64_t)x)); return true;
	case O_abs: set(r, o->out[0], x < 0 ? (int64_t)(0 - (uint64_t)x) : x); return true;
	case O_not: set(r, o->out[0], o->out[0]->type.dtype == D_bool ? !x : ~x); return true;
	case O_select: set(r, o->out[0], x ? y : r->x[o->in[2]->id]); return true;
	case O_view: view(r, o); return true;
	case O_store: store(r, o); return true;
	case O_for: return run_for(r, o);
	case O_if:
		if (!run_block(r, o->blk[x ? 0 : 1]))
			return false;
		for (int i = 0; i < o->nout; i++)
			set(r, o->out[i], r->x[o->blk[x ? 0 : 1]->last->in[i]->id]);
		return true;
	case O_yield: return true;
	default: set(r, o->out[0], binary(o->code, x, y)); return true;
	}
}

static bool
run_block(Run *r, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next) {
		if (r->steps-- <= 0 || !run_op(r, o))
			return false;
	}
	return true;
}

static void
start(Run *r, Kernel *k, const Env *e, const Watch *w)
{
	r->k = k;
	r->env = e;
	r->watch = w;
	r->x = calloc((size_t)k->nval + 1, sizeof *r->x);
	r->steps = 5000;
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind != P_tensor)
			set(r, k->param[i].val, e->param[i]);
}

void
prog_grid(Kernel *k, const Env *e, int64_t *grid)
{
	Run r;

	start(&r, k, e, NULL);
	run_block(&r, k->grid);
	for (int i = 0; i < 3; i++)
		grid[i] = r.x[k->grid->last->in[i]->id];
	free(r.x);
}

bool
prog_allows(Kernel *k, const Env *e)
{
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];
		int64_t x = e->param[i];
		if (p->kind != P_tensor && (x < p->lo || x > p->hi || x % p->mult != 0))
			return false;
		if (p->kind == P_size && x < 0)
			return false;
	}
	return true;
}

bool
prog_run(Kernel *k, const Env *e, const Watch *w)
{
	Run r;
	bool ok;

	start(&r, k, e, w);
	ok = run_block(&r, k->body);
	free(r.x);
	return ok;
}
