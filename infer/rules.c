/* rules.c - what each op says about the layouts of its operands and results, once per `layout` column of
 * hexc/ops.def.  A rule gives layouts to unknown values and demands them of operands; run again whenever a
 * value it touches has become known. */
#include "hexc/facts.h"
#include "infer/solve.h"

static bool
is_reg(const Val *v)
{
	return v->type.space == S_reg;
}

static const Layout *
known(const Solve *s, const Val *v)
{
	return s->sol->val[v->id];
}

static bool
is_fill(const Val *v)
{
	return v->def && (v->def->code == O_const || v->def->code == O_splat || v->def->code == O_iota);
}

static void
rule_none(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

/* constants take any layout that is asked of them */
static void
rule_fill(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

/* Operands and result lie alike.  When operands disagree the result follows the one of most bytes. */
static void
rule_same(Solve *s, Op *o)
{
	const Layout *l = is_reg(o->out[0]) ? known(s, o->out[0]) : NULL;

	if (!is_reg(o->out[0]))
		return;
	if (!l) {
		int most = 0;
		for (int i = 0; i < o->nin; i++) {
			int bits = dtype_info[o->in[i]->type.dtype].bits;
			if (is_reg(o->in[i]) && known(s, o->in[i]) && !is_fill(o->in[i]) && bits > most) {
				most = bits;
				l = known(s, o->in[i]);
			}
		}
	}
	if (!l)
		return;
	give(s, o->out[0], l, o);
	for (int i = 0; i < o->nin; i++)
		if (is_reg(o->in[i]))
			demand(s, o, i, l);
}

/* Where the table of a lookup lies, by indices that lie as l: a lane has all of each table that it needs. */
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
	layout_push(out, table->rank - 1, n, 1, AX_reg);
	for (int d = 0; d + 1 < table->rank; d++)
		for (int i = rows.first[d]; i < rows.first[d + 1]; i++) {
			const Iter *it = &rows.it[i];
			int64_t stride = it->axis == AX_reg ? it->stride * n : it->stride;

			if (!layout_push(out, d, it->extent, stride, (Axis)it->axis))
				return false;
		}
	for (int i = 0; i < rows.nrep; i++)
		if (rows.rep[i].axis != AX_reg &&
		    !layout_push_rep(out, rows.rep[i].extent, rows.rep[i].stride, (Axis)rows.rep[i].axis))
			return false;
	return true;
}

static void
rule_lookup(Solve *s, Op *o)
{
	const Layout *l = known(s, o->out[0]) ? known(s, o->out[0]) : known(s, o->in[1]);
	Layout table;

	if (!l)
		return;
	give(s, o->out[0], l, o);
	demand(s, o, 1, l);
	if (table_layout(&table, l, &o->in[1]->type, &o->in[0]->type))
		demand(s, o, 0, &table);
}

static void
rule_clip(Solve *s, Op *o)
{
	if (known(s, o->out[0]))
		demand(s, o, 0, known(s, o->out[0]));
	else if (known(s, o->in[0]))
		give(s, o->out[0], known(s, o->in[0]), o);
}

static void
rule_hold(Solve *s, Op *o)
{
	demand(s, o, 0, o->out[0]->type.layout);
}

/* The cut: operand and result have nothing to do with each other. */
static void
rule_relayout(Solve *s, Op *o)
{
	if (known(s, o->in[0]) && known(s, o->out[0]))
		demand(s, o, 0, known(s, o->out[0]));
}

static void
rule_transpose(Solve *s, Op *o)
{
	int perm[DIM_MAX], back[DIM_MAX];
	Layout l;

	if (!is_reg(o->out[0]))
		return;
	for (int i = 0; i < o->out[0]->type.rank; i++) {
		perm[i] = (int)o->imm[i];
		back[o->imm[i]] = i;
	}
	if (known(s, o->out[0])) {
		layout_permute(&l, known(s, o->out[0]), back);
		demand(s, o, 0, &l);
	} else if (known(s, o->in[0])) {
		layout_permute(&l, known(s, o->in[0]), perm);
		give(s, o->out[0], &l, o);
	}
}

/* The layout of `t` cut to the dims where `small` has extent 1. */
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

	if (known(s, o->out[0]) &&
	    cut(&l, known(s, o->out[0]), &o->out[0]->type, &o->in[0]->type))
		demand(s, o, 0, &l);
}

static void
rule_reduce(Solve *s, Op *o)
{
	Layout l;

	if (known(s, o->in[0]) && layout_reduce(&l, known(s, o->in[0]), (int)o->imm[0]))
		deliver(s, o, 0, &l);
}

/* Along dim d: registers of a lane, then lanes in one row, then registers again; what a shift can do with
 * static registers and one lane distance. */
static bool
shiftable(const Layout *l, int d)
{
	int64_t lanes = 1, stride = 0;
	int i = l->first[d], end = l->first[d + 1];

	for (; i < end && (l->it[i].axis == AX_reg || l->it[i].extent == 1); i++)
		if (l->it[i].extent > 1 && l->it[i].stride == 0)
			return false;
	for (; i < end && (l->it[i].axis == AX_lane || l->it[i].extent == 1); i++) {
		if (l->it[i].extent == 1)
			continue;
		if (stride && l->it[i].stride != stride * lanes)
			return false;
		stride = stride ? stride : l->it[i].stride;
		lanes *= l->it[i].extent;
	}
	for (; i < end && (l->it[i].axis == AX_reg || l->it[i].extent == 1); i++)
		if (l->it[i].extent > 1 && l->it[i].stride == 0)
			return false;
	return i == end;
}

/* The tile with dim d within a warp: the other dims take lanes first, then d, in a row over its registers. */
static bool
along(Layout *out, const Type *t, int d, int warps)
{
	int64_t rest[DIM_MAX], lanes = WARP_SIZE, left = warps, regs = 1, g;

	layout_init(out, t->rank);
	for (int i = t->rank - 1; i >= 0; i--) {
		rest[i] = t->shape[i];
		g = i == d ? 1 : gcd64(lanes, rest[i]);
		if (!layout_push(out, i, g, WARP_SIZE / lanes, AX_lane))
			return false;
		lanes /= g;
		rest[i] /= g;
	}
	g = gcd64(lanes, rest[d]);
	rest[d] /= g;
	if (!layout_push(out, d, rest[d], 1, AX_reg) || !layout_push(out, d, g, WARP_SIZE / lanes, AX_lane))
		return false;
	lanes /= g;
	regs = rest[d];
	for (int i = t->rank - 1; i >= 0; i--) {
		if (i == d)
			continue;
		g = gcd64(left, rest[i]);
		if (!layout_push(out, i, g, warps / left, AX_warp) ||
		    !layout_push(out, i, rest[i] / g, regs, AX_reg))
			return false;
		left /= g;
		regs *= rest[i] / g;
	}
	return (lanes == 1 || layout_push_rep(out, lanes, WARP_SIZE / lanes, AX_lane)) &&
	       (left == 1 || layout_push_rep(out, left, warps / left, AX_warp));
}

void
anchor_shift(Solve *s, Op *o)
{
	Layout l;

	if (!known(s, o->in[0]) && !known(s, o->out[0]) &&
	    along(&l, &o->out[0]->type, (int)o->imm[0], s->k->warps))
		give(s, o->in[0], &l, o);
}

static void
rule_shift(Solve *s, Op *o)
{
	const Layout *l = known(s, o->in[0]);
	int d = (int)o->imm[0];
	Layout own;

	if (!l)
		l = known(s, o->out[0]);
	if (!l)
		return;
	if (!shiftable(l, d)) {
		if (!along(&own, &o->out[0]->type, d, s->k->warps))
			return;
		l = &own;
	}
	demand(s, o, 0, l);
	deliver(s, o, 0, l);
}

/* ---- slice, concat ---------------------------------------------------------------------------------- */

/* The longest pieces of dim d that the operands and the result of a slice or concat consist of. */
static int64_t
piece_of(const Op *o)
{
	int d = (int)o->imm[0];
	int64_t g = gcd64(o->in[0]->type.shape[d], o->out[0]->type.shape[d]);

	return o->code == O_slice ? gcd64(g, o->imm[1]) : g;
}

/* The layout of one piece of g along d, if those of l lie in registers behind each other. */
static bool
piece_layout(Layout *out, const Layout *l, int d, int64_t g)
{
	int64_t weight = 1;

	*out = *l;
	if (!layout_split(out, d, g))
		return false;
	for (int i = out->first[d]; i < out->first[d + 1]; i++) {
		Iter *it = &out->it[i];

		if (weight >= g && it->extent > 1) {
			if (it->axis != AX_reg || it->stride == 0)
				return false;
			it->extent = 1;
		} else {
			weight *= it->extent;
		}
	}
	layout_squeeze_regs(out);
	layout_canon(out);
	return true;
}

/* n pieces, each in registers of its own. */
static bool
pieces_layout(Layout *out, const Layout *piece, int d, int64_t n)
{
	*out = *piece;
	return layout_push(out, d, n, layout_cosize(piece, AX_reg), AX_reg);
}

/* Pieces spread over all threads, as wide as memory may take them. */
static bool
new_piece(Layout *out, const Solve *s, const Type *t, int d, int64_t g)
{
	int64_t shape[DIM_MAX], size = 1, vec = 1;
	int order[DIM_MAX], n = 0;

	for (int i = 0; i < t->rank; i++) {
		shape[i] = i == d ? g : t->shape[i];
		size *= shape[i];
	}
	for (int single = 0; single < 2; single++) /* last dims first, those of one element behind them */
		for (int i = t->rank - 1; i >= 0; i--)
			if ((shape[i] == 1) == single)
				order[n++] = i;
	while (vec * dtype_info[t->dtype].bits < 128 && shape[order[0]] % (2 * vec) == 0 &&
	       2 * vec * WARP_SIZE * s->k->warps <= size)
		vec *= 2;
	return coalesced(out, t->rank, shape, order, vec, s->k->warps, false);
}

/* All tiles consist of the pieces, one behind the other in registers. */
static void
spread_pieces(Solve *s, Op *o, const Layout *piece)
{
	int d = (int)o->imm[0];
	int64_t g = piece_of(o);
	Layout l;

	if (pieces_layout(&l, piece, d, o->out[0]->type.shape[d] / g))
		deliver(s, o, 0, &l);
	for (int i = 0; i < o->nin; i++)
		if (pieces_layout(&l, piece, d, o->in[i]->type.shape[d] / g))
			demand(s, o, i, &l);
}

static void
rule_pieces(Solve *s, Op *o)
{
	int d = (int)o->imm[0];
	int64_t g = piece_of(o);
	bool any = known(s, o->out[0]);
	Layout piece;

	if (known(s, o->out[0]) && piece_layout(&piece, known(s, o->out[0]), d, g)) {
		spread_pieces(s, o, &piece);
		return;
	}
	for (int i = 0; i < o->nin; i++) {
		any = any || known(s, o->in[i]);
		if (known(s, o->in[i]) && piece_layout(&piece, known(s, o->in[i]), d, g)) {
			spread_pieces(s, o, &piece);
			return;
		}
	}
	if (any && new_piece(&piece, s, &o->out[0]->type, d, g))
		spread_pieces(s, o, &piece);
}

void
anchor_pieces(Solve *s, Op *o)
{
	Layout piece;

	if (new_piece(&piece, s, &o->out[0]->type, (int)o->imm[0], piece_of(o)))
		spread_pieces(s, o, &piece);
}

/* Operand and result lie alike by the numbers of their elements, or both are converted. */
static void
rule_reshape(Solve *s, Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;
	Layout l, to;

	if (!is_reg(o->out[0]) || (!known(s, o->out[0]) && !known(s, o->in[0])))
		return;
	if (known(s, o->out[0]) && layout_reshape(&l, known(s, o->out[0]), x->rank, x->shape)) {
		demand(s, o, 0, &l);
		return;
	}
	if (known(s, o->in[0]))
		l = *known(s, o->in[0]);
	if ((!known(s, o->in[0]) || !layout_reshape(&to, &l, t->rank, t->shape)) &&
	    (!reshape_layout(s, x, t, &l) || !layout_reshape(&to, &l, t->rank, t->shape)))
		return;
	demand(s, o, 0, &l);
	deliver(s, o, 0, &to);
}

/* Half of the result: each lane holds the groups of which it has any element, whole.  A group's digits leave
 * the layout of the result, `kept` registers or `places` come in. */
static bool
halved(Layout *out, const Layout *l, int d, int group, int keep)
{
	Layout from = *l;
	int64_t done = 1;
	int order[DIM_MAX] = { d }, n = 1;

	if (!layout_split(&from, d, group))
		return false;
	layout_init(out, from.ndim);
	for (int i = 0; i < from.nrep; i++)
		if (!layout_push_rep(out, from.rep[i].extent, from.rep[i].stride, (Axis)from.rep[i].axis))
			return false;
	if (!layout_push(out, d, keep, 1, AX_reg))
		return false;
	for (int e = 0; e < from.ndim; e++) {
		for (int i = from.first[e]; i < from.first[e + 1]; i++) {
			const Iter *it = &from.it[i];
			bool inner = e == d && done < group;
			int64_t stride = it->stride * (it->axis == AX_reg ? keep : 1);

			if (e == d)
				done *= it->extent;
			if (!inner && !layout_push(out, e, it->extent, stride, (Axis)it->axis))
				return false;
			if (inner && it->axis != AX_reg &&
			    !layout_push_rep(out, it->extent, it->stride, (Axis)it->axis))
				return false;
		}
		if (e != d)
			order[n++] = e;
	}
	layout_compact_regs(out, order);
	return true;
}

/* Values and positions of what the result's lanes hold. */
static void
rule_expand(Solve *s, Op *o)
{
	const Layout *l = known(s, o->out[0]);
	int d = (int)o->imm[0];
	Layout v, p;
	Sparse x;

	if (l && sparse_of(&o->in[0]->type, &o->in[1]->type, d, &x) && halved(&v, l, d, x.group, x.kept) &&
	    halved(&p, l, d, x.group, x.places)) {
		demand(s, o, 0, &v);
		demand(s, o, 1, &p);
	}
}

/* The anchors know what a dot wants; see anchor_dot in propagate.c. */
static void
rule_dot(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

/* Loads take what their readers ask for, stores what they are given: memory.c prices both. */
static void
rule_load(Solve *s, Op *o)
{
	if (o->out[0]->type.space == S_reg && known(s, o->out[0]))
		demand_indices(s, o->in[0], known(s, o->out[0]));
}

static void
rule_store(Solve *s, Op *o)
{
	if (o->in[0]->type.space == S_reg && known(s, o->in[0]))
		demand_indices(s, o->in[1], known(s, o->in[0]));
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

/* A carried tile lies alike at the start, in the body, at its end and after the loop.  What the body makes of
 * it counts more than how it starts. */
static void
rule_for(Solve *s, Op *o)
{
	Op *y = yield_of(o->blk[0]);

	for (int i = 0; i < o->nout; i++) {
		Val *arg = o->blk[0]->arg[i + 1];
		const Layout *l;

		if (!is_reg(arg))
			continue;
		l = known(s, arg) ? known(s, arg) : known(s, o->out[i]);
		if (!l && !is_fill(y->in[i]))
			l = known(s, y->in[i]);
		if (!l && !is_fill(o->in[i + 3]))
			l = known(s, o->in[i + 3]);
		if (!l)
			continue;
		give(s, arg, l, o);
		deliver(s, o, i, l);
		demand(s, o, i + 3, l);
		demand(s, y, i, l);
	}
}

static void
rule_if(Solve *s, Op *o)
{
	for (int i = 0; i < o->nout; i++) {
		Op *y[2] = { yield_of(o->blk[0]), yield_of(o->blk[1]) };
		const Layout *l = known(s, o->out[i]);

		if (!is_reg(o->out[i]))
			continue;
		for (int b = 0; b < 2 && !l; b++)
			if (!is_fill(y[b]->in[i]))
				l = known(s, y[b]->in[i]);
		if (!l)
			continue;
		give(s, o->out[i], l, o);
		for (int b = 0; b < 2; b++)
			demand(s, y[b], i, l);
	}
}

const RuleFn rule_of[O_COUNT] = {
#define OP(name, in, out, flags, shape, layout, emit, eval) [O_##name] = rule_##layout,
#include "hexc/ops.def"
};

/* Nothing asks for more than one copy: dims from the last, registers in between. */
static bool
anyhow(Solve *s, const Type *t, Layout *l)
{
	int order[DIM_MAX];

	for (int d = 0; d < t->rank; d++)
		order[d] = t->rank - 1 - d;
	return coalesced(l, t->rank, t->shape, order, 1, s->k->warps, true);
}

/* `in` lies so that reducing gives `small` on dim d: the replicas of small take the digits of d, the rest of
 * d goes to registers.  The backward direction of reduce and the forward one of broadcast. */
static bool
expand(Layout *out, const Layout *small, int dim, int64_t extent)
{
	Layout l = *small;
	int64_t regs = layout_cosize(small, AX_reg), rest = extent;

	l.nrep = 0;
	for (int i = 0; i < small->nrep; i++) {
		const Iter *r = &small->rep[i];
		if (rest % r->extent == 0) {
			rest /= r->extent;
			if (!layout_push(&l, dim, r->extent, r->stride, (Axis)r->axis))
				return false;
		} else if (!layout_push_rep(&l, r->extent, r->stride, (Axis)r->axis)) {
			return false;
		}
	}
	if (rest > 1 && !layout_push(&l, dim, rest, regs, AX_reg))
		return false;
	*out = l;
	return true;
}

/* Ops whose results nothing may have asked for. */
static bool
takes_any(OpCode c)
{
	return c == O_const || c == O_splat || c == O_iota || c == O_for || c == O_if || c == O_shift ||
	       c == O_slice || c == O_concat || c == O_reduce_sum || c == O_reduce_max ||
	       c == O_reduce_min || c == O_broadcast || c == O_relayout;
}

bool
rule_backward(Solve *s, Op *o)
{
	int d = (int)o->imm[0];
	Layout l;

	return (o->code == O_reduce_sum || o->code == O_reduce_max || o->code == O_reduce_min) &&
	       is_reg(o->in[0]) && !known(s, o->in[0]) && known(s, o->out[0]) &&
	       expand(&l, known(s, o->out[0]), d, o->in[0]->type.shape[d]) && give(s, o->in[0], &l, o);
}

bool
rule_default(Solve *s, Op *o)
{
	Val *in = o->nin ? o->in[0] : NULL;
	Layout l;

	if (o->code == O_broadcast && !known(s, o->out[0]) && is_reg(in) && known(s, in)) {
		l = *known(s, in);
		for (int d = 0; d < in->type.rank; d++)
			if (in->type.shape[d] == 1 && o->out[0]->type.shape[d] > 1 &&
			    !expand(&l, &l, d, o->out[0]->type.shape[d]))
				return false;
		return give(s, o->out[0], &l, o);
	}
	if (o->code == O_relayout && !known(s, in) != !known(s, o->out[0]))
		return known(s, in) ? give(s, o->out[0], known(s, in), o)
		                    : give(s, in, known(s, o->out[0]), o);
	if (takes_any(o->code))
		for (int i = 0; i < o->nout; i++)
			if (is_reg(o->out[i]) && !known(s, o->out[i]) &&
			    anyhow(s, &o->out[i]->type, &l)) {
				give(s, o->out[i], &l, o);
				if (o->code == O_for)
					rule_for(s, o);
				return true;
			}
	return false;
}
