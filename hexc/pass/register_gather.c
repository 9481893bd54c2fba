/* register_gather.c - replaces indexed reads of a register tile staged in shared memory by gathers from
 * registers, for pass assign_space.
 *
 *     s = alloc; store x to s
 *     ...                                   ...
 *     load (view s[.., i, j, ..])     =>    gather x', i'
 *
 * x' has a row for each result element with a row of its own: along dims of x that the view covers in full or
 * in parts that registers can slice, or along which an index only counts. Its last dim collapses the dims
 * selected by indices or by a start known at run time. i' is the index into it; -1 if one of several indices
 * is out of bounds. */
#include "hexc/pass/register_gather.h"
#include <string.h>

/* TABLE_WORDS: maximum 32-bit registers per thread of a table distributed over lanes, each read by a shuffle
 * per element. Up to 16 it may be faster than shared memory; from 32 on it never was, and compiling both
 * takes time. */
enum { TABLE_WORDS = 32, WORD_BITS = 32, DEPTH = 8, PIECES_MAX = 8 };

/* Mapping of a view's dims to those of a gather. */
typedef struct RegisterGather {
	const Op *view;
	int rank;           /* rank of the result */
	int of[DIM_MAX];    /* result dim d: the view's operand dim; -1: none, all share one row */
	int chosen[DIM_MAX], nchosen; /* operand dims that are selected from; */
	int nindex;         /* the first nindex of them by index tiles */
	int64_t start[DIM_MAX], extent[DIM_MAX]; /* by operand dim: the part in the table */
	int single[DIM_MAX], nsingle; /* operand dims with one selected element, absent from the result */
	int64_t n;          /* elements of a row */
} RegisterGather;

/* Creates an op before `at`. */
static Val *
insert_op_before(Op *at, OpCode code, int nin, Val *const *in, Type t)
{
	return op_new(at->parent, at, code, at->src, nin, in, 1, &t)->out[0];
}

static Val *
put1(Op *at, OpCode code, Val *x, Type t)
{
	return insert_op_before(at, code, 1, &x, t);
}

static Val *
put2(Op *at, OpCode code, Val *x, Val *y, Type t)
{
	return insert_op_before(at, code, 2, (Val *[]){ x, y }, t);
}

/* ---- whether --------------------------------------------------------------------------------------- */

/* Returns the dim of index tile v along which its elements count from 0; -1: it has another form. */
static int
counted_dim(const Val *v, int depth)
{
	const Op *o = v->def;
	int d, e = 0;

	if (!o || depth == 0)
		return -1;
	if (o->code == O_iota)
		return (int)IMM(o, dim);
	if (o->code != O_cast && o->code != O_broadcast && o->code != O_reshape)
		return -1;
	d = counted_dim(op_source(o), depth - 1);
	if (d < 0 || o->code != O_reshape)
		return d;
	for (int i = 0; i < op_source(o)->type.rank; i++) /* the only dim with more than one element */
		if (i != d && op_source(o)->type.shape[i] > 1)
			return -1;
	while (e < v->type.rank && v->type.shape[e] == 1)
		e++;
	return e < v->type.rank && v->type.shape[e] == op_source(o)->type.shape[d] ? e : -1;
}

/* Is [start, start + extent) of a dim a part of a few equal pieces, which registers can slice? */
static bool
is_part(int64_t whole, int64_t start, int64_t extent)
{
	return start >= 0 && start + extent <= whole &&
	       whole / gcd64(gcd64(whole, extent), start) <= PIECES_MAX;
}

/* Plans dim d of the operand, which has a scalar start. */
static bool
plan_part(RegisterGather *p, int d)
{
	const Type *x = &view_source(p->view)->type, *t = &p->view->out[0]->type;
	int e = view_result_dim(p->view, d);
	int64_t extent = e < 0 ? 1 : t->shape[e], start;

	if (view_step(p->view, d) != 1)
		return false;
	if (!val_is_const(view_start(p->view, d), &start) || !is_part(x->shape[d], start, extent)) {
		p->chosen[p->nchosen++] = d;
		p->n *= x->shape[d];
		return true;
	}
	p->start[d] = start;
	p->extent[d] = extent;
	if (e < 0)
		p->single[p->nsingle++] = d;
	else
		p->of[e] = d;
	return true;
}

static bool
plan_make(const Op *view, RegisterGather *p)
{
	const Type *x = &view_source(view)->type, *t = &view->out[0]->type;
	int first = view_gather_dim(view), part[DIM_MAX], npart = 0;

	*p = (RegisterGather){ .view = view, .rank = t->rank, .n = 1 };
	for (int d = 0; d < t->rank; d++)
		p->of[d] = -1;
	for (int d = 0; d < x->rank; d++) {
		int e;

		p->extent[d] = x->shape[d];
		if (!view_gathers(view, d)) {
			part[npart++] = d;
			continue;
		}
		e = counted_dim(view_start(view, d), DEPTH);
		e = e < 0 ? e : first + e;
		if (e < 0 || p->of[e] >= 0 || t->shape[e] != x->shape[d]) {
			p->chosen[p->nchosen++] = d;
			p->n *= x->shape[d];
			continue;
		}
		p->of[e] = d;
	}
	p->nindex = p->nchosen;
	for (int i = 0; i < npart; i++)
		if (!plan_part(p, part[i]))
			return false;
	return p->nindex > 0 && t->rank < DIM_MAX;
}

static bool
is_read_along(const Kernel *k, const Op *view)
{
	OpWalk w;
	RegisterGather p;

	if (view_gather_dim(view) < 0 || !plan_make(view, &p) ||
	    p.n * dtype_slot_bits(view->out[0]->type.dtype) > WARP_SIZE * TABLE_WORDS * WORD_BITS)
		return false;
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (o->in[i] == view->out[0] && (o->code != O_load || o->out[0]->type.space != S_reg))
				return false;
	return true;
}

bool
table_fits(const Kernel *k, const Op *alloc)
{
	const Val *mem = alloc->out[0];
	int stores = 0, views = 0;
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++) {
			if (o->in[i] != mem)
				continue;
			if (o->code == O_store && i == 1 && !IMM(o, update) &&
			    store_value(o)->type.space == S_reg)
				stores++;
			else if (o->code == O_view && i == 0 && is_read_along(k, o))
				views++;
			else
				return false;
		}
	return stores == 1 && views > 0;
}

/* ---- how ------------------------------------------------------------------------------------------- */

/* Returns [start, start + extent) along dim d of x. */
static Val *
put_part(Op *at, Val *x, int d, int64_t start, int64_t extent)
{
	Type t = type_free(x->type);

	if (extent == t.shape[d])
		return x;
	t.shape[d] = extent;
	x = put1(at, O_slice, x, t);
	IMM_SET(x->def, dim, d);
	IMM_SET(x->def, from, start);
	return x;
}

/* Returns the rows of x, of n elements each, in the order of the result's dims. */
static Val *
put_rows(Op *at, const RegisterGather *p, Val *x)
{
	int perm[DIM_MAX], n = 0;
	bool turned = false;
	Type t;

	for (int d = 0; d < x->type.rank; d++)
		x = put_part(at, x, d, p->start[d], p->extent[d]);
	t = type_free(x->type);
	for (int i = 0; i < p->nsingle; i++)
		perm[n++] = p->single[i];
	for (int d = 0; d < p->rank; d++)
		if (p->of[d] >= 0)
			perm[n++] = p->of[d];
	for (int i = 0; i < p->nchosen; i++)
		perm[n++] = p->chosen[i];
	for (int i = 0; i < n; i++) {
		t.shape[i] = x->type.shape[perm[i]];
		turned = turned || perm[i] != i;
	}
	if (turned) {
		x = put1(at, O_transpose, x, t);
		for (int i = 0; i < n; i++)
			IMM_SET_AT(x->def, perm, i, perm[i]);
	}
	t.rank = p->rank + 1;
	for (int d = 0; d < p->rank; d++)
		t.shape[d] = p->of[d] >= 0 ? p->view->out[0]->type.shape[d] : 1;
	t.shape[p->rank] = p->n;
	return type_same(&t, &x->type) ? x : put1(at, O_reshape, x, t);
}

/* Returns index tile v broadcast to all gathered dims, in type d. */
static Val *
put_along(Op *at, const RegisterGather *p, Val *v, DType d)
{
	Type t = type_free(v->type);

	t.dtype = d;
	if (v->type.dtype != d)
		v = put1(at, O_cast, v, t);
	for (int e = 0; e < t.rank; e++)
		t.shape[e] = p->view->out[0]->type.shape[view_gather_dim(p->view) + e];
	return type_same(&t, &v->type) ? v : put1(at, O_broadcast, v, t);
}

static Val *
put_number(Op *at, Type t, int64_t x)
{
	Val *v = insert_op_before(at, O_const, 0, NULL, t);

	IMM_SET(v->def, value, x);
	return v;
}

/* Returns 0 <= i < n. */
static Val *
put_inside(Op *at, Val *i, int64_t n)
{
	Type t = i->type, b = t;

	b.dtype = D_bool;
	return put2(at, O_and, put2(at, O_le, put_number(at, t, 0), i, b),
	            put2(at, O_lt, i, put_number(at, t, n), b), b);
}

/* Returns v broadcast to type t, with v's dims from `first` on. */
static Val *
put_spread(Op *at, Val *v, Type t, int first)
{
	Type own = t;

	for (int d = 0; d < t.rank; d++)
		own.shape[d] = d >= first && d < first + v->type.rank ? v->type.shape[d - first] : 1;
	if (!type_same(&own, &v->type))
		v = put1(at, O_reshape, v, own);
	return type_same(&t, &v->type) ? v : put1(at, O_broadcast, v, t);
}

/* Returns indices into dim d of the table, of type t: the start, plus a count along dim e of t (-1: none). */
static Val *
put_counted(Op *at, const RegisterGather *p, int d, Type t, int e)
{
	Val *v = view_start(p->view, d), *count;
	Type one = v->type, own = t;

	one.dtype = t.dtype;
	if (v->type.dtype != t.dtype)
		v = put1(at, O_cast, v, one);
	if (e < 0)
		return put1(at, O_splat, v, t);
	for (int i = 0; i < t.rank; i++)
		own.shape[i] = i == e ? t.shape[i] : 1;
	count = insert_op_before(at, O_iota, 0, NULL, own);
	IMM_SET(count->def, dim, e);
	v = put2(at, O_add, count, put1(at, O_splat, v, own), own);
	return type_same(&t, &own) ? v : put1(at, O_broadcast, v, t);
}

/* Returns the row-major index of x, if any, then y with `extent`. */
static Val *
put_next(Op *at, Val *x, Val *y, int64_t extent)
{
	if (!x)
		return y;
	x = put2(at, O_mul, x, put_number(at, y->type, extent), y->type);
	return put2(at, O_add, x, y, y->type);
}

/* Returns the collapsed index of the index tiles; -1 if one of several is out of bounds. */
static Val *
put_chosen(Op *at, const RegisterGather *p, DType d)
{
	Val *all = NULL, *inside = NULL;

	for (int i = 0; i < p->nindex; i++) {
		int64_t extent = view_source(p->view)->type.shape[p->chosen[i]];
		Val *v = put_along(at, p, view_start(p->view, p->chosen[i]), d), *in;

		if (p->nchosen == 1)
			return v;
		in = put_inside(at, v, extent);
		inside = inside ? put2(at, O_and, inside, in, in->type) : in;
		all = put_next(at, all, v, extent);
	}
	return insert_op_before(at, O_select, 3, (Val *[]){ inside, all, put_number(at, all->type, -1) },
	                        all->type);
}

/* The index type: i32 if all are. */
static DType
index_type(const RegisterGather *p)
{
	for (int i = 0; i < p->nindex; i++)
		if (view_start(p->view, p->chosen[i])->type.dtype != D_i32)
			return D_i64;
	return D_i32;
}

/* Returns the index of each result element; out-of-bounds ones stay negative after adding counts. */
static Val *
put_index(Op *at, const RegisterGather *p)
{
	Type t = p->view->out[0]->type;
	Val *v = put_chosen(at, p, index_type(p));

	t = type_free(t);
	t.space = S_reg;
	t.dtype = v->type.dtype;
	v = put_spread(at, v, t, view_gather_dim(p->view));
	for (int i = p->nindex; i < p->nchosen; i++) {
		int d = p->chosen[i];

		v = put_next(at, v, put_counted(at, p, d, t, view_result_dim(p->view, d)),
		             view_source(p->view)->type.shape[d]);
	}
	return v;
}

static void
gather(Kernel *k, Op *load, Val *x)
{
	Val *v;
	RegisterGather p;

	plan_make(load_source(load)->def, &p);
	v = put2(load, O_gather, put_rows(load, &p, x), put_index(load, &p), type_free(load->out[0]->type));
	v->name = load->out[0]->name;
	val_replace(k, load->out[0], v);
	op_unlink(load);
}

void
table_gather(Kernel *k, Op *alloc)
{
	Op *store = NULL;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Op *view = o->code == O_load ? load_source(o)->def : NULL;

		if (o->code == O_store && store_dest(o) == alloc->out[0])
			store = o;
		if (view && view->code == O_view && view_source(view) == alloc->out[0])
			gather(k, o, store_value(store));
	}
	op_unlink(store);
}
