/* fold.c - pass fold: folds constants, applies identities, and simplifies ifs and loops with constant
 * control.
 *
 * requires   valid IR
 * preserves  types, layouts of remaining values, source locations
 * leaves     dead ops for dce
 *
 * One walk: an op's operands are replaced by the folded results of earlier ops, then the op itself is
 * folded. */
#include "hexc/pass/fold.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/pass/pass.h"
#include <string.h>

typedef struct Fold {
	Kernel *k;
	Val **to; /* by id of the original values: its replacement, or NULL */
	const Type **back; /* likewise: find_reshapes_back */
	uint32_t n;
	bool changed;
} Fold;

static Val *
now(const Fold *f, Val *v)
{
	while (v && v->id < f->n && f->to[v->id])
		v = f->to[v->id];
	return v;
}

/* Replaces every later use of v by r. */
static void
becomes(Fold *f, Val *v, Val *r)
{
	if (v->id >= f->n) {
		val_replace(f->k, v, r); /* created in this walk */
	} else {
		f->to[v->id] = r;
	}
	if (!r->name)
		r->name = v->name;
	if (v->type.kept && r->type.space == S_reg) {
		r->type.kept = true;
		if (r->def && r->def->code == O_load)
			IMM_SET(r->def, space_open, 0);
	}
	f->changed = true;
}

/* Moves constants to the right. */
static void
commute(Fold *f, Op *o)
{
	Val *x;

	if (!op_is(o, F_COMM) || !elt_lhs(o)->def || elt_lhs(o)->def->code != O_const ||
	    (elt_rhs(o)->def && elt_rhs(o)->def->code == O_const))
		return;
	x = elt_lhs(o);
	o->in[IN_elt_lhs] = elt_rhs(o);
	o->in[IN_elt_rhs] = x;
	f->changed = true;
}

static void
fold_op(Fold *f, Op *o)
{
	Constant c;
	Val *r = NULL;

	if (o->nout != 1 || !op_is(o, F_PURE) || o->code == O_const ||
	    o->out[0]->type.pinned)
		return;
	commute(f, o);
	if (const_eval(o, &c))
		r = const_make(o, &o->out[0]->type, c);
	if (!r)
		r = fold_tile(o);
	if (!r && op_is(o, F_ELT) && o->nin)
		r = dtype_is_float(o->in[0]->type.dtype) ? fold_float(o) : fold_int(o);
	if (!r)
		r = fold_fact(o);
	if (!r && o->out[0]->id < f->n && f->back[o->out[0]->id])
		r = fold_round_trip(o, f->back[o->out[0]->id]);
	if (r) {
		becomes(f, o->out[0], r);
		op_unlink(o);
	}
}

/* ---- structure ----------------------------------------------------------------------------------- */

/* Moves the ops of b before o, replaces o's results by the yielded values, and removes o. Returns the op to
 * continue at. */
static Op *
splice(Fold *f, Op *o, Block *b)
{
	Op *yield = b->last, *first = b->first == yield ? o->next : b->first;

	for (int i = 0; i < o->nout; i++)
		becomes(f, o->out[i], now(f, yield->in[i]));
	while (b->first != yield)
		op_move_before(b->first, o);
	op_unlink(o);
	return first;
}

/* Returns true if o was removed; *next is the op to continue at. */
static bool
fold_if(Fold *f, Op *o, Op **next)
{
	Fact c = val_fact(f->k, if_cond(o));

	if (c.lo != c.hi)
		return false;
	*next = splice(f, o, o->blk[c.lo ? 0 : 1]);
	return true;
}

/* Folds loops that never run, plain ones that run once, and carried values that never change. */
static bool
fold_for(Fold *f, Op *o, Op **next)
{
	Fact lo = val_fact(f->k, for_lo(o)), hi = val_fact(f->k, for_hi(o));
	Fact step = val_fact(f->k, for_step(o));
	Fact going = loop_ends_early(o) ? val_fact(f->k, for_init(o, 0)) : fact_const(1);
	Block *b = o->blk[0];

	if (hi.hi <= lo.lo || going.hi == 0) {
		for (int i = 0; i < o->nout; i++)
			becomes(f, o->out[i], for_init(o, i));
		*next = o->next;
		op_unlink(o);
		return true;
	}
	if (IMM(o, loop) == FOR_PLAIN && going.lo == 1 && lo.lo == lo.hi && lo.hi < hi.lo && lo.lo >= 0 &&
	    step.lo >= 1 && hi.hi - lo.lo <= step.lo) {
		for (int i = 0; i < b->narg; i++)
			becomes(f, b->arg[i], i ? for_init(o, i - 1) : for_lo(o));
		*next = splice(f, o, b);
		return true;
	}
	for (int i = 0; i < o->nout; i++) {
		Val *arg = b->arg[1 + i];
		if (b->last->in[i] != arg || now(f, arg) != arg)
			continue;
		if (!type_same(&arg->type, &for_init(o, i)->type) ||
		    arg->type.layout != for_init(o, i)->type.layout)
			continue;
		becomes(f, arg, for_init(o, i));
		becomes(f, o->out[i], for_init(o, i));
	}
	return false;
}

static void
fold_block(Fold *f, Block *b)
{
	Op *o, *next;

	for (o = b->first; o; o = next) {
		for (int i = 0; i < o->nin; i++)
			o->in[i] = now(f, o->in[i]);
		if ((o->code == O_if && fold_if(f, o, &next)) || (o->code == O_for && fold_for(f, o, &next)))
			continue;
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				fold_block(f, o->blk[r]);
		next = o->next;
		fold_op(f, o);
	}
}

bool
pass_fold(Kernel *k)
{
	Fold f = { .k = k, .n = k->nval + 1 };

	f.to = NEWN(k->unit->arena, Val *, f.n);
	f.back = NEWN(k->unit->arena, const Type *, f.n);
	find_reshapes_back(k, f.back);
	facts_keep(k);
	if (k->grid)
		fold_block(&f, k->grid);
	fold_block(&f, k->body);
	for (int i = 0; i < k->nassume; i++)
		k->assume[i].cond = now(&f, k->assume[i].cond);
	for (int i = 0; i < k->nparam; i++) {
		for (int d = 0; d < DIM_MAX; d++) {
			k->param[i].size[d] = now(&f, k->param[i].size[d]);
			k->param[i].stride[d] = now(&f, k->param[i].stride[d]);
		}
	}
	facts_drop(k);
	return f.changed;
}
