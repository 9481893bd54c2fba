/* specialize.c - pass specialize: wide stores where a run-time size decides whether they are possible.
 *
 * A row of C[M, N] starts at a multiple of 16 bytes only if N is a multiple of 8 (f16).  The program need not
 * promise that: a store whose width only such sizes limit is made twice,
 *
 *     if N % 8 == 0 { store in 16-byte accesses } else { store as the facts allow }
 *
 * and inside the branch val_fact_at knows what was asked.  Stores stand in epilogues, so the second form
 * costs code, not time.
 *
 * Atomic updates are no wider than an element or two and stay as they are.
 *
 * needs   views of global tensors with their sizes and strides
 * keeps   what the kernel computes
 * leaves  a view and a store in each branch */
#include "hexc/ir/ir.h"
#include "hexc/pass/pass.h"

enum { LIMIT_MAX = 2 }; /* sizes one test may ask about */

/* The run-time values that keep the store from accesses of `vec` elements; false: something else does too. */
typedef struct Limits {
	Val *v[LIMIT_MAX];
	int n;
} Limits;

static bool
limit_add(Kernel *k, Limits *l, Val *v, int64_t vec)
{
	if (val_fact(k, v).mult % vec == 0)
		return true;
	for (int i = 0; i < l->n; i++)
		if (l->v[i] == v)
			return true;
	if (l->n == LIMIT_MAX || v->def) /* only launch parameters are asked about */
		return false;
	l->v[l->n++] = v;
	return true;
}

static bool
find_limits(Kernel *k, const Op *view, int unit, int64_t vec, Limits *l)
{
	const Param *p = val_param(k, view->in[0]);
	int kept = 0;

	if (!p)
		return false;
	for (int d = 0; d < view->in[0]->type.rank; d++) {
		bool dropped = IMM(view, dropped) >> d & 1;
		bool contiguous = !dropped && kept == unit;

		kept += !dropped;
		if (contiguous) {
			if (val_fact(k, view->in[1 + d]).mult % vec ||
			    (!view_in_bounds(k, view, unit) && !limit_add(k, l, p->size[d], vec)))
				return false;
		} else if (!limit_add(k, l, p->stride[d], vec)) {
			return false;
		}
	}
	return true;
}

static Val *
ask(Block *b, Op *at, const Limits *l, int64_t vec)
{
	Val *all = NULL, *zero = ir_const(b, at, 0), *by = ir_const(b, at, vec);

	for (int i = 0; i < l->n; i++) {
		Val *ok = ir_bin(b, at, O_eq, ir_bin(b, at, O_mod, l->v[i], by), zero);
		all = all ? ir_bin(b, at, O_and, all, ok) : ok;
	}
	return all;
}

static void
split(Kernel *k, Op *store, const Op *view, const Limits *l, int64_t vec)
{
	Val *cond = ask(store->parent, store, l, vec);
	Op *branch = op_new(store->parent, store, O_if, store->src, 1, &cond, 0, NULL);

	for (int i = 0; i < 2; i++) {
		Block *b = block_new(k, branch);
		Val *in[2] = { store->in[0], NULL };

		branch->blk[i] = b;
		in[1] = op_clone(b, NULL, view, NULL, NULL)->out[0];
		op_new(b, NULL, O_store, store->src, 2, in, 0, NULL);
		op_new(b, NULL, O_yield, store->src, 0, NULL, 0, NULL);
	}
	op_unlink(store);
}

bool
pass_specialize(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body), *next; o; o = next) {
		const Op *view = o->code == O_store && !IMM(o, update) ? o->in[1]->def : NULL;
		Limits l = { .n = 0 };
		int unit;
		int64_t vec;

		next = walk_next(&w);
		if (!view || view->code != O_view || o->in[0]->type.space != S_reg ||
		    o->in[1]->type.space != S_global || view->in[0]->def)
			continue;
		unit = view_unit_dim(k, view);
		if (unit < 0)
			continue;
		vec = pow2_part(o->in[1]->type.shape[unit]);
		if (vec > dtype_most(o->in[0]->type.dtype))
			vec = dtype_most(o->in[0]->type.dtype);
		if (vec == 1 || !find_limits(k, view, unit, vec, &l) || l.n == 0)
			continue;
		split(k, o, view, &l, vec);
		changed = true;
	}
	return changed;
}
