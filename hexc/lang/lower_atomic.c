/* lower_atomic.c - lowers atomic updates of tensors and shared tiles, their old values, and barriers of the
 * whole grid. */
#include "hexc/analysis/value_range.h"
#include "hexc/lang/lower.h"
#include <string.h>

/* The kind of update of each function. */
static const struct {
	const char *name;
	StoreKind kind;
} atomic[] = {
	{ "atomic_add", STORE_ADD },
	{ "atomic_max", STORE_MAX },
	{ "atomic_min", STORE_MIN },
	{ "atomic_and", STORE_AND },
	{ "atomic_or", STORE_OR },
	{ "atomic_xor", STORE_XOR },
	{ "atomic_swap", STORE_SWAP },
	{ "atomic_cas", STORE_CAS },
};

static StoreKind
kind_of(const char *name)
{
	for (int i = 0; i < (int)COUNT_OF(atomic); i++)
		if (strcmp(atomic[i].name, name) == 0)
			return atomic[i].kind;
	return STORE_PLAIN;
}

static bool
is_logic(StoreKind kind)
{
	return kind == STORE_AND || kind == STORE_OR || kind == STORE_XOR;
}

/* Returns the name of the tensor or shared tile whose slice is updated, also under another shape: T[..],
 * reshape(T, ..)[..], reshape(T[..], ..)[..]; NULL if it is no slice. */
static const char *
target_name(const Expr *e)
{
	const Expr *x = e->arg[0]->kind == EX_index ? e->arg[0]->arg[0] : NULL;

	if (x && x->kind == EX_call && strcmp(x->name, "reshape") == 0 && x->narg > 0)
		x = x->arg[0]->kind == EX_index ? x->arg[0]->arg[0] : x->arg[0];
	return x && x->kind == EX_name ? x->name : NULL;
}

/* 8-bit elements are updated through the surrounding 32-bit word, which must be inside the tile. */
static bool
check_words(Lower *l, const Expr *e, const Val *tile)
{
	const char *name = target_name(e);
	int bits = dtype_info[tile->type.dtype].bits;
	int64_t n = type_size(&tile->type);

	if (tile->type.space != S_shared || bits >= 16 || n * bits % 32 == 0)
		return true;
	diag_error(l->diag, e->arg[0]->src,
	           "`%s` on %s updates aligned 32-bit words; the extent of `%s` is %lld, must be a "
		   "multiple of %d",
	           e->name, dtype_info[tile->type.dtype].name, name, (long long)n, 32 / bits);
	return false;
}

/* Is this a slice of a readable and writable tensor, or of a shared tile, with numeric elements? */
static bool
check_target(Lower *l, const Expr *e, const LoweredValue *v)
{
	const char *name = target_name(e);
	const Param *p;

	if (v->kind == VK_none)
		return false;
	if (!name || v->kind != VK_view) {
		const char *mend = "";

		if (v->kind == VK_view && e->arg[0]->kind == EX_name)
			mend = arena_printf(l->arena, "; select a slice, `%s[0 :+ 16]`", e->arg[0]->name);
		else if (value_is_tile(v))
			mend = "; keep it in shared memory, `let x: shared = ..`";
		diag_error(l->diag, e->arg[0]->src,
		           "`%s` updates a slice of a tensor or shared tile, not %s%s", e->name,
		           check_describe(l, v), mend);
		return false;
	}
	p = val_param(l->k, view_root(v->v));
	if (p && (!p->written || !p->read)) {
		diag_error(l->diag, e->arg[0]->src, "`%s` reads and writes; declare tensor `%s` `inout`",
		           e->name, name);
		return false;
	}
	if (is_logic(kind_of(e->name)) && dtype_info[v->v->type.dtype].kind == K_flt) {
		diag_error(l->diag, e->arg[0]->src,
		           "`%s` is only defined on integers, not on %s; keep `%s` in i32 or u32", e->name,
		           dtype_info[v->v->type.dtype].name, name);
		return false;
	}
	if (v->v->type.dtype != D_bool && dtype_info[v->v->type.dtype].use == U_any)
		return check_words(l, e, view_root(v->v));
	diag_error(l->diag, e->arg[0]->src,
	           "`%s` is not defined on %s, which has no arithmetic; keep `%s` in i32 or f32", e->name,
	           dtype_info[v->v->type.dtype].name, name);
	return false;
}

static bool
check_count(Lower *l, const Expr *e, StoreKind kind)
{
	bool cas = kind == STORE_CAS;

	if (e->narg == (cas ? 3 : 2))
		return true;
	diag_error(l->diag, e->src, "`%s` has %d argument%s; write %s(T[slice], x%s)", e->name, e->narg,
	           e->narg == 1 ? "" : "s", e->name, cas ? ", expected" : "");
	return false;
}

/* Inserts the update, with a shared tile for the old value if `single` is not NULL, which is set if it is
 * one element; *full: the slice's type, with new dims. Returns NULL after a report. */
static Op *
put_update(Lower *l, const Expr *call, StoreKind kind, bool *single, Type *full)
{
	Expr own = *call, *e = &own;
	Operand o[3];
	Val *in[4];
	const char *slice;
	int n = 2;
	Type t;

	if (!check_count(l, e, kind))
		return NULL;
	e->arg = NEWN(l->arena, Expr *, e->narg);
	memcpy(e->arg, call->arg, (size_t)e->narg * sizeof *e->arg);
	e->arg[0] = NEW(l->arena, Expr);
	*e->arg[0] = *lower_selected(l, call->arg[0]);
	o[0].e = e->arg[0];
	o[0].v = o[0].e->kind == EX_index ? lower_slice_memory(l, o[0].e, full) : lower_expr(l, o[0].e);
	for (int i = 1; i < e->narg; i++)
		o[i] = lower_operand(l, e->arg[i]);
	if (!check_target(l, e, &o[0].v))
		return NULL;
	slice = arena_printf(l->arena, "the slice of `%s`", target_name(e));
	t = o[0].v.v->type;
	t.space = S_reg;
	in[0] = o[1].v.kind == VK_none ? NULL : lower_to_slice(l, o[1], *full, &t, e->src, slice);
	in[1] = o[0].v.v;
	if (single) {
		*single = o[0].v.single;
		in[n++] = lower_put_alloc(l, e->src, t);
	}
	if (kind == STORE_CAS)
		in[n++] = o[2].v.kind == VK_none ? NULL : lower_to_slice(l, o[2], *full, &t, e->src, slice);
	if (!in[0] || !in[n - 1])
		return NULL;
	op_new(l->b, NULL, O_store, e->src, n, in, 0, NULL);
	IMM_SET(l->b->last, update, kind);
	return l->b->last;
}

LoweredValue
lower_atomic_value(Lower *l, const Expr *e)
{
	Operand found = { .e = e };
	bool single = false;
	LoweredValue r;
	Type full;
	Op *o;

	if (!check_mode(l, MODE_BODY, e->src, "an atomic update"))
		return value_none();
	o = put_update(l, e, kind_of(e->name), &single, &full);
	if (!o)
		return value_none();
	found.v = single ? lower_element(l, e->src, store_old(o))
	                 : (LoweredValue){ .kind = VK_view, .v = store_old(o) };
	r = lower_load(l, found);
	if (!single && r.kind == VK_val && r.v->type.rank != full.rank)
		r.v = put_reshape(l, e->src, r.v, full.rank, full.shape);
	return r;
}

bool
lower_atomic(Lower *l, const Expr *e)
{
	StoreKind kind = kind_of(e->name);
	bool unused;
	Type full;

	if (kind == STORE_PLAIN)
		return false;
	put_update(l, e, kind, kind >= STORE_SWAP ? &unused : NULL, &full);
	return true;
}

/* ---- barriers of the grid ---------------------------------------------------------------------------- */

#define USAGE "grid_barrier(T[index]), with `T` an inout tensor of i32 or u32"

LoweredValue
lower_grid_barrier_value(Lower *l, const Expr *e)
{
	diag_error(l->diag, e->src, "`%s` returns no value; use it as a statement", e->name);
	return value_none();
}

/* Is v one element of an inout tensor of 32-bit integers? */
static bool
check_word(Lower *l, const Expr *e, const LoweredValue *v)
{
	const Param *p = v->kind == VK_view ? val_param(l->k, view_root(v->v)) : NULL;

	if (v->kind == VK_none)
		return false;
	if (!p || e->arg[0]->kind != EX_index || type_size(&v->v->type) != 1 ||
	    (p->val->type.dtype != D_i32 && p->val->type.dtype != D_u32)) {
		diag_error(l->diag, e->arg[0]->src,
		           "a grid barrier counts in one element of a tensor; write " USAGE);
		return false;
	}
	if (!p->read || !p->written) {
		diag_error(l->diag, e->arg[0]->src, "`%s` reads and writes; declare tensor `%s` `inout`",
		           e->name, p->name);
		return false;
	}
	return true;
}

bool
lower_grid_barrier(Lower *l, const Expr *e)
{
	Operand word;

	if (strcmp(e->name, "grid_barrier") != 0)
		return false;
	if (!check_mode(l, MODE_BODY, e->src, "`grid_barrier`"))
		return true;
	if (e->narg != 1) {
		diag_error(l->diag, e->src, "`grid_barrier` has %d arguments; write " USAGE, e->narg);
		return true;
	}
	word = lower_operand(l, e->arg[0]);
	if (check_word(l, e, &word.v))
		op_new(l->b, NULL, O_grid_barrier, e->src, 1, &word.v.v, 0, NULL);
	return true;
}

static Src
src_of(const Val *v, const Op *owner)
{
	return v->def && v->def->src.line ? v->def->src : owner->src;
}

/* Reports the first thing about the barrier that is wrong. */
static void
check_barrier(Kernel *k, const Op *o)
{
	Diag *diag = k->unit->diag;

	if (kernel_roles(k)) {
		diag_error(diag, o->src,
		           "`grid_barrier` in a kernel with roles, whose warps do not wait for each "
		           "other; use two kernels");
		return;
	}
	if (grid_varies(k, grid_barrier_word(o))) {
		diag_error(diag, o->src,
		           "all blocks of the grid count in one element, but the index of this one differs "
		           "between them");
		return;
	}
	for (const Op *x = o->parent->owner; x; x = x->parent->owner) {
		const Val *v;

		if (x->code == O_for && IMM(x, loop) == FOR_PIPELINE) {
			diag_error(diag, o->src,
			           "`grid_barrier` in a `pipeline` loop, whose copies run ahead of it; "
			           "use `for`");
			return;
		}
		v = grid_decider(k, x);
		if (!v)
			continue;
		diag_error(diag, o->src,
		           "only some blocks of the grid reach this `grid_barrier`, or not all equally "
		           "often; move it out of the %s",
		           x->code == O_for ? "loop" : "branch");
		diag_note(diag, src_of(v, x), "this differs between blocks");
		return;
	}
}

void
check_grid_barriers(Kernel *k)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_grid_barrier)
			check_barrier(k, o);
}
