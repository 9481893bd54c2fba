/* layout_rules.c - relates the layouts of each op's operands and results, with one rule per value of the
 * `layout` column of hexc/ir/ops.def.
 *
 * A rule gives layouts to values that have none and imposes constraints on operands.  It runs again whenever
 * a value that it touches has received its layout. */
#include "hexc/ir/sparse.h"
#include "infer/rules/layout_rules.h"

static bool
is_fill(const Val *v)
{
	return v->def && op_is(v->def, F_FILL);
}

static void
rule_none(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

/* constants accept any layout */
static void
rule_fill(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

/* Operands and result have equal layouts.  If operands disagree, the result follows the one with the widest
 * elements. */
static void
rule_same(Solve *s, Op *o)
{
	const Layout *l = is_reg(o->out[0]) ? known_layout(s, o->out[0]) : NULL;

	if (!is_reg(o->out[0]))
		return;
	if (!l) {
		int most = 0;
		for (int i = 0; i < o->nin; i++) {
			int bits = dtype_info[o->in[i]->type.dtype].bits;
			if (is_reg(o->in[i]) && known_layout(s, o->in[i]) && !is_fill(o->in[i]) &&
			    bits > most) {
				most = bits;
				l = known_layout(s, o->in[i]);
			}
		}
	}
	if (!l)
		return;
	set_layout(s, o->out[0], l, o);
	for (int i = 0; i < o->nin; i++)
		if (is_reg(o->in[i]))
			require_operand(s, o, i, l);
}

/* Computes the table layout of a lookup for indices of layout l: each thread owns all of each table row that
 * it needs. */
static bool
table_layout(Layout *out, const Layout *l, const Type *index, const Type *table)
{
	Layout rows = *l;
	int64_t n = table->shape[table->rank - 1];

	for (int d = 0; d < index->rank; d++)
		if ((table->rank == 1 || d == index->rank - 1 || table->shape[d] == 1) &&
		    index->shape[d] > 1 && !layout_reduce(&rows, &rows, d))
			return false;
	layout_init(out, table->rank);
	for (int d = 0; d + 1 < table->rank; d++)
		if (!layout_push_dim(out, d, &rows, d))
			return false;
	layout_scale(out, AX_reg, n);
	return layout_push(out, table->rank - 1, n, 1, AX_reg) && layout_push_reps(out, &rows);
}

static void
rule_lookup(Solve *s, Op *o)
{
	const Layout *l = known_layout(s, o->out[0]) ? known_layout(s, o->out[0])
	                                             : known_layout(s, lookup_index(o));
	Layout table;

	if (!l)
		return;
	set_layout(s, o->out[0], l, o);
	require_operand(s, o, 1, l);
	if (table_layout(&table, l, &lookup_index(o)->type, &lookup_table(o)->type))
		require_operand(s, o, 0, &table);
}

/* Does table layout t suit a gather whose result has layout `rows`?  Each warp with an element must own the
 * full row that it may come from, and lanes that differ along other dims must be the same for both. */
static bool
table_suits(const Layout *t, const Layout *rows, int d)
{
	Layout x;

	for (Digit g = dim_digits(t, d); g.it; digit_next(&g))
		if (g.it->extent > 1 &&
		    (g.it->stride == 0 || (g.it->axis != AX_reg && g.it->axis != AX_lane)))
			return false;
	return layout_reduce(&x, t, d) && layout_drop_dim(&x, &x, d) && layout_equal_threads(&x, rows);
}

/* Computes a table layout: the row is distributed over the lanes that share the result's rows, contiguous
 * within a lane. */
static bool
table_spread(Layout *out, const Layout *rows, int64_t n)
{
	Layout l;
	int d = rows->ndim;
	int64_t lanes = 1, rest;

	layout_init(&l, d + 1);
	for (int e = 0; e < d; e++)
		if (!layout_push_dim(&l, e, rows, e))
			return false;
	for (int i = 0; i < rows->nrep; i++)
		if (rows->rep[i].axis == AX_lane)
			lanes *= gcd64(n / lanes, rows->rep[i].extent);
	layout_scale(&l, AX_reg, n / lanes);
	if (!layout_push(&l, d, n / lanes, 1, AX_reg))
		return false;
	rest = lanes;
	for (int i = 0; i < rows->nrep; i++) {
		const Iter *it = &rows->rep[i];
		int64_t f = it->axis == AX_lane ? gcd64(rest, it->extent) : 1;

		rest /= f;
		if (!layout_push(&l, d, f, it->stride, AX_lane) ||
		    !layout_push_rep(&l, it->extent / f, it->stride * f, it->axis))
			return false;
	}
	*out = l;
	return true;
}

static void
rule_gather(Solve *s, Op *o)
{
	const Layout *l = known_layout(s, o->out[0]) ? known_layout(s, o->out[0])
	                                             : known_layout(s, lookup_index(o));
	const Layout *t = known_layout(s, lookup_table(o));
	const Type *table = &lookup_table(o)->type;
	int d = table->rank - 1;
	Layout rows, spread;

	if (!l)
		return;
	set_layout(s, o->out[0], l, o);
	require_operand(s, o, 1, l);
	rows = *l;
	for (int e = 0; e < d; e++)
		if (table->shape[e] == 1 && o->out[0]->type.shape[e] > 1 && !layout_reduce(&rows, &rows, e))
			return;
	if (t && table_suits(t, &rows, d))
		require_operand(s, o, 0, t);
	else if (table_spread(&spread, &rows, table->shape[d]))
		require_operand(s, o, 0, &spread);
}

static void
rule_mask(Solve *s, Op *o)
{
	if (known_layout(s, o->out[0]))
		require_operand(s, o, 0, known_layout(s, o->out[0]));
	else if (known_layout(s, mask_source(o)))
		set_layout(s, o->out[0], known_layout(s, mask_source(o)), o);
}

static void
rule_pin(Solve *s, Op *o)
{
	require_operand(s, o, 0, o->out[0]->type.layout);
}

/* The cut: the layouts of operand and result are independent. */
static void
rule_relabel_layout(Solve *s, Op *o)
{
	if (known_layout(s, op_source(o)) && known_layout(s, o->out[0]))
		require_operand(s, o, 0, known_layout(s, o->out[0]));
}

static void
rule_transpose(Solve *s, Op *o)
{
	int perm[DIM_MAX], back[DIM_MAX];
	Layout l;

	if (!is_reg(o->out[0]))
		return;
	for (int i = 0; i < o->out[0]->type.rank; i++) {
		perm[i] = (int)IMM_AT(o, perm, i);
		back[IMM_AT(o, perm, i)] = i;
	}
	if (known_layout(s, o->out[0])) {
		layout_permute(&l, known_layout(s, o->out[0]), back);
		require_operand(s, o, 0, &l);
	} else if (known_layout(s, op_source(o))) {
		layout_permute(&l, known_layout(s, op_source(o)), perm);
		set_layout(s, o->out[0], &l, o);
	}
}

/* Computes layout `big` reduced to extent 1 in the dims in which `small` has extent 1. */
static bool
cut(Layout *out, const Layout *big, const Type *bt, const Type *small)
{
	*out = *big;
	for (int d = 0; d < bt->rank; d++)
		if (small->shape[d] == 1 && bt->shape[d] > 1 && !layout_reduce(out, out, d))
			return false;
	return true;
}

static void
rule_broadcast(Solve *s, Op *o)
{
	Layout l;

	if (known_layout(s, o->out[0]) &&
	    cut(&l, known_layout(s, o->out[0]), &o->out[0]->type, &op_source(o)->type))
		require_operand(s, o, 0, &l);
}

static void
rule_reduce(Solve *s, Op *o)
{
	Layout l;

	if (known_layout(s, op_source(o)) &&
	    layout_reduce(&l, known_layout(s, op_source(o)), (int)IMM(o, dim)))
		set_result(s, o, 0, &l);
}

/* Operand and result have equal layouts by the row-major indices of their elements, or both are converted. */
static void
rule_reshape(Solve *s, Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	Layout l, to;

	if (!is_reg(o->out[0]) || (!known_layout(s, o->out[0]) && !known_layout(s, op_source(o))))
		return;
	if (known_layout(s, o->out[0]) && layout_reshape(&l, known_layout(s, o->out[0]), x->rank, x->shape)) {
		require_operand(s, o, 0, &l);
		return;
	}
	if (known_layout(s, op_source(o)))
		l = *known_layout(s, op_source(o));
	if ((!known_layout(s, op_source(o)) || !layout_reshape(&to, &l, t->rank, t->shape)) &&
	    (!reshape_layout(s, x, t, &l) || !layout_reshape(&to, &l, t->rank, t->shape)))
		return;
	require_operand(s, o, 0, &l);
	set_result(s, o, 0, &to);
}

/* Computes the layout of a sparse operand's values or metadata: each lane owns, whole, the groups of which it
 * has any element.  The modes within a group are replaced by `keep` registers. */
static bool
halved(Layout *out, const Layout *l, int d, int group, int keep)
{
	int order[DIM_MAX] = { d }, n = 1;

	if (!layout_reduce_low(out, l, d, group))
		return false;
	layout_scale(out, AX_reg, keep);
	if (!layout_push_front(out, d, keep, 1, AX_reg))
		return false;
	for (int e = 0; e < l->ndim; e++)
		if (e != d)
			order[n++] = e;
	layout_compact_regs(out, order);
	return true;
}

/* Requires the values and metadata of the elements that the result's lanes own. */
static void
rule_sparse_expand(Solve *s, Op *o)
{
	const Layout *l = known_layout(s, o->out[0]);
	int d = (int)IMM(o, dim);
	Layout v, p;
	Sparse x;

	if (l && sparse_of(&sparse_values(o)->type, &sparse_positions(o)->type, d, &x) &&
	    halved(&v, l, d, x.group, x.kept) && halved(&p, l, d, x.group, x.npos)) {
		require_operand(s, o, 0, &v);
		require_operand(s, o, 1, &p);
	}
}

/* Constrained by anchor_dot() in propagate.c. */
static void
rule_dot(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

/* Loads produce the layout that readers require, stores accept the value's: store_copy_choice.c costs
 * both. */
static void
rule_load(Solve *s, Op *o)
{
	if (o->out[0]->type.space == S_reg && known_layout(s, o->out[0]))
		require_indices(s, load_source(o), known_layout(s, o->out[0]));
}

static void
rule_store(Solve *s, Op *o)
{
	if (store_value(o)->type.space == S_reg && known_layout(s, store_value(o)))
		require_indices(s, store_dest(o), known_layout(s, store_value(o)));
	if (o->nin > 3 && is_reg(store_expected(o)) && known_layout(s, store_value(o)))
		require_operand(s, o, IN_store_expected, known_layout(s, store_value(o)));
}

static void
rule_copy(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

static Op *
yield_of(Block *b)
{
	return b->last;
}

/* A carried tile has the same layout initially, in the body, at its end and after the loop.  The layout in
 * which the body produces it has priority over that of the initial value. */
void
rule_for(Solve *s, Op *o)
{
	Op *y = yield_of(o->blk[0]);

	for (int i = 0; i < o->nout; i++) {
		Val *arg = o->blk[0]->arg[i + 1];
		const Layout *l;

		if (!is_reg(arg))
			continue;
		l = known_layout(s, arg) ? known_layout(s, arg) : known_layout(s, o->out[i]);
		if (!l && !is_fill(y->in[i]))
			l = known_layout(s, y->in[i]);
		if (!l && !is_fill(for_init(o, i)))
			l = known_layout(s, for_init(o, i));
		if (!l)
			continue;
		set_layout(s, arg, l, o);
		set_result(s, o, i, l);
		require_operand(s, o, IN_for_init + i, l);
		require_operand(s, y, i, l);
	}
}

static void
rule_if(Solve *s, Op *o)
{
	for (int i = 0; i < o->nout; i++) {
		Op *y[2] = { yield_of(o->blk[0]), yield_of(o->blk[1]) };
		const Layout *l = known_layout(s, o->out[i]);

		if (!is_reg(o->out[i]))
			continue;
		for (int b = 0; b < 2 && !l; b++)
			if (!is_fill(y[b]->in[i]))
				l = known_layout(s, y[b]->in[i]);
		if (!l)
			continue;
		set_layout(s, o->out[i], l, o);
		for (int b = 0; b < 2; b++)
			require_operand(s, y[b], i, l);
	}
}

const RuleFn rule_of[O_COUNT] = {
#define OP_LAYOUT(name, rule) [O_##name] = rule_##rule,
#include "hexc/ir/ops.def"
};
