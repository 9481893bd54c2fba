/* warn_memory.c - warns about slices along another dimension's size, elements that are never written,
 * strides that alias, and lost updates, by indices and by blocks. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/value_range.h"
#include "hexc/lang/warn.h"

/* ---- what a start runs along ---------------------------------------------------------------------- */

/* A start in memory: `by` * (one block index or loop variable), which takes the values lo, lo + step, ..
 * below `end`; for a block index 0 .. end - 1 in steps of 1. */
typedef struct StrideRun {
	const Val *var; /* NULL: the start is always 0 */
	int64_t by;
	const Val *end, *lo, *step; /* lo and step NULL: a block index, 0 and 1 */
} StrideRun;

static const Val *
grid_extent(const Kernel *k, int64_t axis)
{
	const Op *yield = k->grid->last;

	return yield && axis < yield->nin ? yield->in[axis] : NULL;
}

static bool
run_of_var(const Kernel *k, const Val *v, StrideRun *r)
{
	const Op *loop = v->def ? NULL : v->block->owner;

	*r = (StrideRun){ .var = v, .by = 1 };
	if (v->def && v->def->code == O_block_id) {
		r->end = grid_extent(k, IMM(v->def, axis));
		return r->end != NULL;
	}
	if (!loop || loop->code != O_for || v->index != 0)
		return false;
	r->lo = for_lo(loop);
	r->end = for_hi(loop);
	r->step = for_step(loop);
	return true;
}

static bool
run_of(const Kernel *k, const Val *v, StrideRun *r)
{
	const Op *o = v->def;
	int64_t c;

	if (val_is_const(v, &c)) {
		*r = (StrideRun){ NULL, 0, NULL, NULL, NULL };
		return c == 0;
	}
	if (o && o->code == O_mul)
		for (int i = 0; i < 2; i++)
			if (val_is_const(o->in[i], &c) && c > 0 && run_of_var(k, o->in[1 - i], r)) {
				r->by = c;
				return true;
			}
	return run_of_var(k, v, r);
}

/* Returns x of (x + c - 1) / c, which is ceil(x, c); NULL if v does not match. */
static const Val *
ceil_of(const Val *v, int64_t *c)
{
	const Op *o = v->def, *sum;
	int64_t more;

	if (!o || o->code != O_div || !val_is_const(elt_rhs(o), c) || !elt_lhs(o)->def)
		return NULL;
	sum = elt_lhs(o)->def;
	if (sum->code != O_add || !val_is_const(elt_rhs(sum), &more) || more != *c - 1)
		return NULL;
	return elt_lhs(sum);
}

/* Returns x of x / c; NULL if v does not match. */
static const Val *
floor_of(const Val *v, int64_t *c)
{
	const Op *o = v->def;

	return o && o->code == O_div && val_is_const(elt_rhs(o), c) ? elt_lhs(o) : NULL;
}

/* Returns the size that a run covers: its end, or the dividend of the grid's extent; NULL if unknown. */
static const Val *
run_size(const StrideRun *r)
{
	const Val *x;
	int64_t c, lo;

	if (!r->var)
		return NULL;
	if (r->lo)
		return r->by == 1 && val_is_const(r->lo, &lo) && lo == 0 ? r->end : NULL;
	x = ceil_of(r->end, &c);
	if (!x)
		x = floor_of(r->end, &c);
	return x && c == r->by ? x : NULL;
}

/* ---- slices --------------------------------------------------------------------------------------- */

static bool
is_size(const Kernel *k, const Val *v)
{
	return !v->def && v->block == k->body && k->param[v->index].kind == P_size;
}

/* Returns the dim of p with this size; -1 if there is none. */
static int
dim_of_size(const Param *p, const Val *size)
{
	for (int d = 0; d < p->val->type.rank; d++)
		if (p->size[d] == size)
			return d;
	return -1;
}

static void
check_slice(Kernel *k, const Op *view, const Param *p, int d)
{
	const Val *along, *size = p->size[d];
	int64_t have, want, c;
	StrideRun r;
	int other;

	if (!run_of(k, view_start(view, d), &r) || !(along = run_size(&r)) || along == size)
		return;
	other = dim_of_size(p, along);
	if (is_size(k, along) && is_size(k, size) && other >= 0)
		diag_warn(k->unit->diag, DW_slice, view->src,
		          "the slice of `%s` is indexed by a value bounded by %s in dimension %d, which "
		          "has %s elements; %s is dimension %d, write the starts in the order of the "
		          "declaration",
		          p->name, along->name, d, size->name, along->name, other);
	else if (is_size(k, along) && floor_of(size, &c) == along && c > 1)
		diag_warn(k->unit->diag, DW_slice, view->src,
		          "the slice of `%s` is indexed by a value bounded by %s in dimension %d, which "
		          "has %s / %lld elements; divide the start by %lld",
		          p->name, along->name, d, along->name, (long long)c, (long long)c);
	else if (val_is_const(along, &want) && val_is_const(size, &have) && want > have)
		diag_warn(k->unit->diag, DW_slice, view->src,
		          "the slice of `%s` ends at %lld in dimension %d, past its extent %lld", p->name,
		          (long long)want, d, (long long)have);
}

/* ---- what is written ------------------------------------------------------------------------------- */

/* How a tensor's only store covers a dim. */
typedef enum Cover { COVER_all, COVER_unknown, COVER_some } Cover;

static const char *
size_text(Kernel *k, const Val *v)
{
	int64_t c;

	if (val_is_const(v, &c))
		return arena_printf(k->unit->arena, "%lld", (long long)c);
	return is_size(k, v) ? k->param[v->index].name : "the extent";
}

/* Checks whether the blocks or iterations of a store cover a dim; *why: what they omit. */
static Cover
cover_dim(Kernel *k, const Param *p, int d, const Val *start, int64_t extent, const char **why)
{
	Arena *a = k->unit->arena;
	const Val *size = p->size[d], *n;
	int64_t have, step, c;
	bool fixed = val_is_const(size, &have);
	StrideRun r;

	if (!run_of(k, start, &r))
		return COVER_unknown;
	if (!r.var) {
		if (extent >= (fixed ? have : val_fact(k, size).hi))
			return COVER_all;
		*why = arena_printf(a, "of the %s elements along dimension %d only the first %lld are "
		                       "written",
		                    size_text(k, size), d, (long long)extent);
		return COVER_some;
	}
	step = r.by;
	if (r.step && !val_is_const(r.step, &c))
		return COVER_unknown;
	step *= r.step ? c : 1;
	if (step > extent) {
		*why = arena_printf(a, "of every %lld elements along dimension %d only %lld are written",
		                    (long long)step, d, (long long)extent);
		return COVER_some;
	}
	n = r.lo ? NULL : floor_of(r.end, &c);
	if (n == size && c == step && val_fact(k, size).mult % c) {
		*why = arena_printf(a, "the last %s %% %lld elements along dimension %d are not written; "
		                       "use a grid of ceil(%s, %lld) blocks, or assume %s %% %lld == 0",
		                    size_text(k, size), (long long)c, d, size_text(k, size), (long long)c,
		                    size_text(k, size), (long long)c);
		return COVER_some;
	}
	return COVER_all; /* or unknown */
}

/* Counts the statements that write p; *view: of the only one, if every block executes it. */
static int
count_stores(Kernel *k, const Param *p, const Op **view)
{
	OpWalk w;
	int n = 0;

	*view = NULL;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Val *to = access_target(o);

		if (!to || view_root(access_target(o)) != p->val)
			continue;
		n++;
		*view = to->def && to->def->code == O_view && view_source(to->def) == p->val ? to->def : NULL;
		for (const Op *in = o->parent->owner; in; in = in->parent->owner)
			if (in->code == O_if)
				*view = NULL;
	}
	return n;
}

static void
check_written(Kernel *k, const Param *p)
{
	const Op *view;
	int n = count_stores(k, p, &view);

	if (n == 0)
		diag_warn(k->unit->diag, DW_unwritten, p->src,
		          "output `%s` is never written; its elements keep their old values", p->name);
	for (int d = 0; n == 1 && view && d < p->val->type.rank; d++) {
		int at = view_result_dim(view, d);
		const char *why;

		if (!view_gathers(view, d) && view_step(view, d) == 1 &&
		    cover_dim(k, p, d, view_start(view, d), at < 0 ? 1 : view->out[0]->type.shape[at],
		              &why) == COVER_some)
			diag_warn(k->unit->diag, DW_unwritten, view->src, "output `%s` is not fully "
			                                                  "written: %s", p->name,
			          why);
	}
}

/* ---- strides --------------------------------------------------------------------------------------- */

/* Do two elements of p have the same address, along dims d and e? */
static bool
strides_meet(const Param *p, int d, int e)
{
	int64_t s, t, n, m, g;

	if (!val_is_const(p->size[d], &n))
		n = SIZE_LIMIT;
	if (!val_is_const(p->size[e], &m))
		m = SIZE_LIMIT;
	if (!val_is_const(p->stride[d], &s) || !val_is_const(p->stride[e], &t))
		return n > 1 && m > 1 && p->stride[d] == p->stride[e];
	if (s == 0 || t == 0)
		return (s == 0 && n > 1) || (t == 0 && m > 1);
	g = gcd64(s, t);
	return t / g < n && s / g < m;
}

static void
check_strides(Kernel *k, const Param *p)
{
	int64_t s, n;

	for (int d = 0; d < p->val->type.rank; d++)
		if (p->val->type.rank == 1 && val_is_const(p->stride[d], &s) && s == 0 &&
		    !(val_is_const(p->size[d], &n) && n == 1))
			diag_warn(k->unit->diag, DW_strides, p->src,
			          "output `%s` has aliasing elements: its stride is 0",
			          p->name);
	for (int d = 0; d < p->val->type.rank; d++)
		for (int e = d + 1; e < p->val->type.rank; e++)
			if (strides_meet(p, d, e)) {
				diag_warn(k->unit->diag, DW_strides, p->src,
				          "output `%s` has aliasing elements: strides of dimensions %d and "
					  "%d overlap",
				          p->name, d, e);
				return;
			}
}

/* ---- what is read, changed and stored -------------------------------------------------------------- */

static bool
same_view(const Op *a, const Op *b)
{
	if (a == b)
		return true;
	if (!b || b->code != O_view || view_source(a) != view_source(b) || IMM(a, dropped) != IMM(b, dropped))
		return false;
	for (int i = 1; i < a->nin; i++)
		if (!val_same_way(a->in[i], b->in[i]))
			return false;
	return true;
}

/* Is v computed, element by element, from the contents of the view? */
static bool
made_of(const Val *v, const Op *view, int *left)
{
	const Op *o = v->def;

	if (!o || (*left)-- <= 0)
		return false;
	if (o->code == O_load)
		return same_view(view, load_source(o)->def);
	if (!op_is(o, F_ELT))
		return false;
	for (int i = 0; i < o->nin; i++)
		if (made_of(o->in[i], view, left))
			return true;
	return false;
}

static void
check_lost(Kernel *k, const Op *o)
{
	const Op *view = store_dest(o)->def, *how = store_value(o)->def;
	const Param *p = view && view->code == O_view ? val_param(k, view_source(view)) : NULL;
	int left = 400;
	static const char *const name[] = { /* NULL: another op */
		[O_add] = "add", [O_sub] = "add", [O_max] = "max", [O_min] = "min",
		[O_and] = "and", [O_or] = "or",	  [O_xor] = "xor",
	};
	const char *update = NULL;

	if (!p || view_gather_dim(view) < 0 || !made_of(store_value(o), view, &left) ||
	    view_names_once(view))
		return;
	while (how->code == O_cast)
		how = op_source(how)->def;
	if (how->code < COUNT_OF(name))
		update = name[how->code];
	diag_warn(k->unit->diag, DW_lost, o->src,
	          "non-atomic update of `%s`: of several updates through equal indices only one takes "
	          "effect; %s",
	          p->name,
	          update ? arena_printf(k->unit->arena, "`atomic_%s(%s[..], %sx)` keeps them all", update,
	                                p->name, how->code == O_sub ? "-" : "")
	                 : "use an atomic such as `atomic_add`");
}

/* ---- what all blocks write ------------------------------------------------------------------------- */

static bool
all_same(const Differs *differs, Val *const *v, int n)
{
	for (int i = 0; i < n; i++)
		if (differs[v[i]->id] != DIFFERS_NO)
			return false;
	return true;
}

/* Does every block execute o, equally often? */
static bool
all_come(const Differs *differs, const Op *o)
{
	for (const Op *owner = o->parent->owner; owner; owner = owner->parent->owner) {
		int n = owner->code == O_if ? 1 : owner->code == O_for ? 3 : 0;

		if (n == 0 || !all_same(differs, owner->in, n) || loop_ends_early(owner))
			return false;
	}
	return true;
}

/* Does a loop precede o that a block leaves by what it has found, as one that takes a lock? Then blocks may
 * take turns. */
static bool
takes_turns(Kernel *k, const Op *o)
{
	for (; o; o = o->parent->owner)
		for (const Op *x = o->prev; x; x = x->prev)
			if (loop_ends_early(x) && grid_decider(k, x))
				return true;
	return false;
}

static bool
has_blocks(Kernel *k)
{
	const Op *grid = k->grid->last;

	for (int i = 0; grid && i < grid->nin; i++)
		if (val_fact(k, grid->in[i]).hi > 1)
			return true;
	return false;
}

static void
check_blocks(Kernel *k)
{
	const Differs *differs = facts_differ(k);
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Param *p = o->code == O_store ? val_param(k, view_root(store_dest(o))) : NULL;
		const Op *view = p ? store_dest(o)->def : NULL;

		if (!p || IMM(o, update) != STORE_PLAIN || !all_come(differs, o) ||
		    (view && !all_same(differs, view->in + IN_view_start, view->nin - IN_view_start)) ||
		    differs[store_value(o)->id] != DIFFERS_YES || takes_turns(k, o))
			continue;
		diag_warn(k->unit->diag, DW_lost, o->src,
		          "every block writes these elements of `%s` in an undefined order, and only one "
		          "value remains; select elements by `block.x`, or accumulate with "
		          "`atomic_add(%s[..], x)`",
		          p->name, p->name);
	}
}

void
warn_memory(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Param *p = o->code == O_view ? val_param(k, view_source(o)) : NULL;

		if (o->code == O_store && IMM(o, update) == STORE_PLAIN)
			check_lost(k, o);
		for (int d = 0; p && d < p->val->type.rank; d++)
			if (!view_gathers(o, d))
				check_slice(k, o, p, d);
	}
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];

		if (p->kind != P_tensor || !p->written)
			continue;
		if (!p->read)
			check_written(k, p);
		check_strides(k, p);
	}
	if (has_blocks(k))
		check_blocks(k);
}
