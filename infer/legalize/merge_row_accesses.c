/* merge_row_accesses.c - pass merge_row_accesses: merges separate accesses to all elements of short rows
 * into one access to the rows, unpacked in registers.
 *
 *     re = load A[m :+ 16, k :+ 64, 0]        a = load A[m :+ 16, k :+ 64, 0 :+ 2]
 *     im = load A[m :+ 16, k :+ 64, 1]   =>   re = reshape (slice a), im = reshape (slice a)
 *
 * For example complex numbers, pixels, coordinates of points: elements that a program selects by indices of
 * the last dim are contiguous in memory, but selecting each separately makes one access per element. Merged
 * are loads of one block with no write between them, and plain stores with no memory access between them,
 * that cover each element of rows at most as long as the widest access.
 *
 * requires   pass mask_bounds is done, equal starts merged; nothing has a layout
 * preserves  what the kernel computes
 * produces   unused views, for dce */
#include "hexc/pass/pass.h"
#include <string.h>

enum { PARTS = 16 }; /* bytes in the widest access */

/* An access to element `at` of each row of `n` elements in a view. */
typedef struct RowAccess {
	Op *op;
	const Op *view;
	int64_t at, n;
} RowAccess;

static bool
part_of(Op *o, RowAccess *out)
{
	bool load = o->code == O_load;
	const Val *mem = load ? load_source(o) : o->code == O_store ? store_dest(o) : NULL, *tile;
	const Op *view = mem ? mem->def : NULL;
	int last;

	if (!view || view->code != O_view)
		return false;
	tile = load ? o->out[0] : store_value(o);
	last = view_source(view)->type.rank - 1;
	*out = (RowAccess){ o, view, 0, view_source(view)->type.shape[last] };
	return out->n >= 2 && pow2_part(out->n) == out->n && dtype_info[tile->type.dtype].bits >= 8 &&
	       out->n <= dtype_most(tile->type.dtype) && tile->type.space == S_reg && tile->type.rank > 0 &&
	       !tile->type.pinned && (load || (o->nin == 2 && IMM(o, update) == STORE_PLAIN)) &&
	       (IMM(view, dropped) >> last & 1 ? tile->type.rank < DIM_MAX
	                                       : tile->type.shape[tile->type.rank - 1] == 1) &&
	       !view_gathers(view, last) && view_step(view, last) == 1 &&
	       val_is_const(view_start(view, last), &out->at) && out->at >= 0 && out->at < out->n;
}

/* Returns the type of all of the rows, where one element per row has type t. */
static Type
rows_type(const RowAccess *p, Type t)
{
	int last = view_source(p->view)->type.rank - 1;

	t = type_free(t);
	t.rank += (int)(IMM(p->view, dropped) >> last & 1);
	t.shape[t.rank - 1] = p->n;
	return t;
}

/* Do both access the same rows? */
static bool
same_rows(const RowAccess *p, const RowAccess *q)
{
	const Op *x = p->view, *y = q->view;
	Type t = rows_type(p, x->out[0]->type), u = rows_type(q, y->out[0]->type);
	int64_t last = (int64_t)1 << (x->nin - 2); /* one of them may keep this dim, the other not */

	if (p->op->code != q->op->code || x->nin != y->nin || !type_same(&t, &u) ||
	    ((IMM(x, dropped) ^ IMM(y, dropped)) & ~last))
		return false;
	for (int i = 0; i < x->nin - 1; i++)
		if (x->in[i] != y->in[i])
			return false;
	for (int d = 0; d < x->nin - 1; d++)
		if (view_step(x, d) != view_step(y, d))
			return false;
	return memcmp(p->op->imm, q->op->imm, sizeof p->op->imm) == 0;
}

/* May an access like o be moved past op x? */
static bool
passes(const Op *o, const Op *x)
{
	if (x->blk[0] || op_is(x, F_SYNC | F_TERM | F_EFFECT))
		return false;
	return !op_is(x, F_MEM) || (o->code == O_load && x->code == O_load);
}

/* Finds the accesses that can be merged with the first. Returns their number; 0 if they lack an element, or
 * store one twice. */
static int
find(Arena *a, const RowAccess *first, RowAccess **out)
{
	unsigned seen = 1u << first->at;
	int n = 0, cap = 0;

	*out = NULL;
	VEC_PUSH(a, *out, n, cap, *first);
	for (Op *o = first->op->next; o; o = o->next) {
		RowAccess p;

		if (part_of(o, &p) && same_rows(first, &p)) {
			if (first->op->code == O_store && seen >> p.at & 1)
				return 0;
			seen |= 1u << p.at;
			VEC_PUSH(a, *out, n, cap, p);
			if (o->code == O_store && seen == (1u << first->n) - 1)
				break;
		} else if (!passes(first->op, o)) {
			break;
		}
	}
	return seen == (1u << first->n) - 1 ? n : 0;
}

static Val *
view_of_rows(const RowAccess *p, Op *at)
{
	int nin = p->view->nin, last = nin - 2;
	Val *in[1 + DIM_MAX];
	Type t = rows_type(p, p->view->out[0]->type);
	Op *o;

	for (int i = 0; i < nin; i++)
		in[i] = p->view->in[i];
	in[1 + last] = ir_const(at->parent, at, 0);
	o = op_new(at->parent, at, O_view, at->src, nin, in, 1, &t);
	for (int i = 0; i < DIM_MAX; i++)
		o->imm[i] = p->view->imm[i];
	IMM_SET(o, dropped, IMM(o, dropped) & ~((int64_t)1 << last));
	return o->out[0];
}

static Val *
reshaped(Op *at, Val *x, Type t)
{
	return type_same(&x->type, &t) ? x : op_new(at->parent, at, O_reshape, at->src, 1, &x, 1, &t)->out[0];
}

static void
load_rows(Kernel *k, const RowAccess *part, int n)
{
	Op *at = part[0].op, *load;
	Type whole = rows_type(&part[0], at->out[0]->type), one = whole;
	Val *mem = view_of_rows(&part[0], at);

	load = op_new(at->parent, at, O_load, at->src, 1, &mem, 1, &whole);
	IMM_SET(load, space_open, IMM(at, space_open));
	one.shape[one.rank - 1] = 1;
	for (int i = 0; i < n; i++) {
		Op *was = part[i].op, *o = op_new(was->parent, was, O_slice, was->src, 1, load->out, 1, &one);
		Val *v;

		IMM_SET(o, dim, one.rank - 1);
		IMM_SET(o, from, part[i].at);
		v = reshaped(was, o->out[0], was->out[0]->type);
		v->name = was->out[0]->name;
		val_replace(k, was->out[0], v);
		op_unlink(was);
	}
}

/* Concatenates elements [lo, hi) of all rows. */
static Val *
together(Op *at, Val *const *one, int64_t lo, int64_t hi)
{
	Val *in[2];
	Type t;
	Op *o;

	if (hi - lo == 1)
		return one[lo];
	in[0] = together(at, one, lo, (lo + hi) / 2);
	in[1] = together(at, one, (lo + hi) / 2, hi);
	t = in[0]->type;
	t.shape[t.rank - 1] = hi - lo;
	o = op_new(at->parent, at, O_concat, at->src, 2, in, 1, &t);
	IMM_SET(o, dim, t.rank - 1);
	return o->out[0];
}

static void
store_rows(const RowAccess *part, int n)
{
	Op *at = part[n - 1].op;
	Type t = rows_type(&part[0], store_value(part[0].op)->type);
	Val *one[PARTS], *in[2];

	t.shape[t.rank - 1] = 1;
	for (int i = 0; i < n; i++)
		one[part[i].at] = reshaped(at, store_value(part[i].op), t);
	in[0] = together(at, one, 0, n);
	in[1] = view_of_rows(&part[0], at);
	op_new(at->parent, at, O_store, at->src, 2, in, 0, NULL);
	for (int i = 0; i < n; i++)
		op_unlink(part[i].op);
}

static bool
in_block(Kernel *k, Block *b)
{
	bool changed = false;

	for (Op *o = b->first, *next; o; o = next) {
		Op *before = o->prev;
		RowAccess first, *part;
		int n;

		for (int i = 0; i < 2; i++)
			changed |= o->blk[i] && in_block(k, o->blk[i]);
		next = o->next;
		n = part_of(o, &first) ? find(k->unit->arena, &first, &part) : 0;
		if (n == 0)
			continue;
		if (o->code == O_load)
			load_rows(k, part, n);
		else
			store_rows(part, n);
		changed = true;
		next = before ? before->next : b->first; /* the next op may have been removed */
	}
	return changed;
}

bool
pass_merge_row_accesses(Kernel *k)
{
	return !kernel_roles(k) && in_block(k, k->body);
}
