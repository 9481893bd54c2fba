/* table.c - what tiles of indices choose of a register tile, from registers.
 *
 *     s = alloc; store x to s
 *     ...                                   ...
 *     load (view s[.., i, j, ..])     =>    gather x', i'
 *
 * x' has a row for each element of the result that has one of its own: a dim of x that the view shows whole,
 * or that an index only counts along, and behind these the dims that indices choose from, as one.  i' is the
 * index in that; -1 where one of several is outside. */
#include "hexc/pass/table.h"
#include <string.h>

/* Words of a lane that a table may take, where all lanes have a part: beyond that shared memory is less. */
enum { TABLE_WORDS = 8, WORD_BITS = 32, DEPTH = 8 };

/* How a view's dims become those of a gather. */
typedef struct Plan {
	const Op *view;
	int rank;           /* of the result */
	int of[DIM_MAX];    /* its dim d: of the view's operand; -1: none, all have the same row */
	int chosen[DIM_MAX], nchosen; /* dims of the operand that indices choose from */
	int64_t n;          /* elements of a row */
} Plan;

/* In front of `at`. */
static Val *
put(Op *at, OpCode code, int nin, Val *const *in, Type t)
{
	return op_new(at->parent, at, code, at->src, nin, in, 1, &t)->out[0];
}

static Val *
put1(Op *at, OpCode code, Val *x, Type t)
{
	return put(at, code, 1, &x, t);
}

static Val *
put2(Op *at, OpCode code, Val *x, Val *y, Type t)
{
	return put(at, code, 2, (Val *[]){ x, y }, t);
}

/* ---- whether --------------------------------------------------------------------------------------- */

/* The dim of index tile v that its elements count along from 0; -1: it is nothing so simple. */
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
	d = counted_dim(o->in[0], depth - 1);
	if (d < 0 || o->code != O_reshape)
		return d;
	for (int i = 0; i < o->in[0]->type.rank; i++) /* the only dim of more than one element */
		if (i != d && o->in[0]->type.shape[i] > 1)
			return -1;
	while (e < v->type.rank && v->type.shape[e] == 1)
		e++;
	return e < v->type.rank && v->type.shape[e] == o->in[0]->type.shape[d] ? e : -1;
}

static bool
plan_make(const Op *view, Plan *p)
{
	const Type *x = &view->in[0]->type, *t = &view->out[0]->type;
	int first = view_gather_dim(view);
	int64_t start;

	*p = (Plan){ .view = view, .rank = t->rank, .n = 1 };
	for (int d = 0; d < t->rank; d++)
		p->of[d] = -1;
	for (int d = 0; d < x->rank; d++) {
		bool along = view_gathers(view, d);
		int e = along ? counted_dim(view->in[1 + d], DEPTH) : view_result_dim(view, d);

		if (along) {
			e = e < 0 ? e : first + e;
			if (e < 0 || p->of[e] >= 0 || t->shape[e] != x->shape[d]) {
				p->chosen[p->nchosen++] = d;
				p->n *= x->shape[d];
				continue;
			}
		} else if (e < 0 || t->shape[e] != x->shape[d] || view_step(view, d) != 1 ||
		           !val_is_const(view->in[1 + d], &start) || start != 0) {
			return false;
		}
		p->of[e] = d;
	}
	return p->nchosen > 0 && t->rank < DIM_MAX;
}

static bool
is_read_along(const Kernel *k, const Op *view)
{
	OpWalk w;
	Plan p;

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
			if (o->code == O_store && i == 1 && !IMM(o, update) && o->in[0]->type.space == S_reg)
				stores++;
			else if (o->code == O_view && i == 0 && is_read_along(k, o))
				views++;
			else
				return false;
		}
	return stores == 1 && views > 0;
}

/* ---- how ------------------------------------------------------------------------------------------- */

/* The rows of x as the result's dims have them, of n elements each. */
static Val *
put_rows(Op *at, const Plan *p, Val *x)
{
	Type t = type_free(x->type);
	int perm[DIM_MAX], n = 0;
	bool turned = false;

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

/* Index tile v of the view as all dims have it that indices run along, in type d. */
static Val *
put_along(Op *at, const Plan *p, Val *v, DType d)
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
	Val *v = put(at, O_const, 0, NULL, t);

	IMM_SET(v->def, value, x);
	return v;
}

/* Is i at least 0 and below n? */
static Val *
put_inside(Op *at, Val *i, int64_t n)
{
	Type t = i->type, b = t;

	b.dtype = D_bool;
	return put2(at, O_and, put2(at, O_le, put_number(at, t, 0), i, b),
	            put2(at, O_lt, i, put_number(at, t, n), b), b);
}

/* The numbers of what is chosen, -1 where it is outside along some dim of several. */
static Val *
put_chosen(Op *at, const Plan *p)
{
	const Op *view = p->view;
	DType d = D_i32;
	Val *all = NULL, *inside = NULL;

	for (int i = 0; i < p->nchosen; i++)
		if (view->in[1 + p->chosen[i]]->type.dtype != D_i32)
			d = D_i64;
	for (int i = 0; i < p->nchosen; i++) {
		int64_t extent = view->in[0]->type.shape[p->chosen[i]];
		Val *v = put_along(at, p, view->in[1 + p->chosen[i]], d), *in;

		if (p->nchosen == 1)
			return v;
		in = put_inside(at, v, extent);
		inside = inside ? put2(at, O_and, inside, in, in->type) : in;
		if (all)
			all = put2(at, O_mul, all, put_number(at, v->type, extent), v->type);
		all = all ? put2(at, O_add, all, v, v->type) : v;
	}
	return put(at, O_select, 3, (Val *[]){ inside, all, put_number(at, all->type, -1) }, all->type);
}

/* The index of each element of the result. */
static Val *
put_index(Op *at, const Plan *p)
{
	const Type *r = &p->view->out[0]->type;
	Val *v = put_chosen(at, p);
	Type t = *r;
	int first = view_gather_dim(p->view), rank = v->type.rank;

	t.space = S_reg;
	t.dtype = v->type.dtype;
	for (int d = 0; d < t.rank; d++)
		t.shape[d] = d >= first && d < first + rank ? r->shape[d] : 1;
	if (!type_same(&t, &v->type))
		v = put1(at, O_reshape, v, t);
	memcpy(t.shape, r->shape, sizeof t.shape);
	return type_same(&t, &v->type) ? v : put1(at, O_broadcast, v, t);
}

static void
gather(Kernel *k, Op *load, Val *x)
{
	Val *v;
	Plan p;

	plan_make(load->in[0]->def, &p);
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
		const Op *view = o->code == O_load ? o->in[0]->def : NULL;

		if (o->code == O_store && o->in[1] == alloc->out[0])
			store = o;
		if (view && view->code == O_view && view->in[0] == alloc->out[0])
			gather(k, o, store->in[0]);
	}
	op_unlink(store);
}
