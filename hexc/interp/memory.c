/* memory.c - implements the interpreter's memory ops: alloc, view, load, store, and accesses to tensors and
 * shared tiles. */
#include "hexc/interp/interp_internal.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>
#include <string.h>

void
interp_mem_start(Interp *it)
{
	it->all.npending = 0;
	it->all.groups = 0;
	it->all.product = it->all.out = (ReadingList){ 0 };
	race_start(it);
}

/* ---- shared tiles ---------------------------------------------------------------------------- */

bool
eval_alloc(Interp *it, Op *o)
{
	const Type *t = &o->out[0]->type;
	View *v = slot_of(it, o->out[0])->view;
	Shared *s = v->shared;

	if (!s) {
		s = NEW(&it->arena, Shared);
		s->alloc = o;
		s->base = task_memory(it);
		s->shape = t->shape;
		s->rank = t->rank;
		s->dtype = t->dtype;
		s->n = type_size(t);
		s->f = NEWN(&it->arena, double, s->n);
		s->i = (void *)s->f;
		s->init = NEWN(&it->arena, uint8_t, s->n);
		VEC_PUSH(&it->arena, it->shared, it->nshared, it->shared_cap, s);
		v->shared = s;
		v->shape = t->shape;
		v->rank = v->root_rank = t->rank;
		v->gather = -1;
		for (int d = 0; d < t->rank; d++)
			v->dim[d] = d;
		race_alloc(it, s);
	}
	/* every execution creates a new, uninitialized tile */
	if (s->missing)
		s->missing->count = 0;
	memset(s->init, 0, (size_t)s->n);
	for (int64_t j = 0; j < s->n; j++) {
		if (dtype_is_float(s->dtype))
			s->f[j] = (double)NAN;
		else
			s->i[j] = 0;
	}
	return true;
}

/* Reshapes a shared tile: the same elements in row-major order. */
static void
alias(View *v, const View *of, const Type *t)
{
	*v = *of;
	v->shape = t->shape;
	v->rank = v->root_rank = t->rank;
	for (int d = 0; d < t->rank; d++) {
		v->dim[d] = d;
		v->start[d] = 0;
	}
}

bool
eval_reshape(Interp *it, Op *o)
{
	if (val_is_alias(o->out[0]))
		alias(slot_of(it, o->out[0])->view, slot_of(it, op_source(o))->view, &o->out[0]->type);
	else /* row-major elements are unchanged */
		slot_copy(it, o->out[0], op_source(o));
	return true;
}

static int64_t
step_along(const View *v, int d)
{
	return v->step[d] ? v->step[d] : 1;
}

/* Narrows the bounds of v along a root dim to those of view op o along dim d of its operand, which starts at
 * `start` of the root. */
static void
bound_view(Interp *it, View *v, const Op *o, int d, int root, int64_t start)
{
	const Val *from = view_from(o, d), *below = view_below(o, d);
	int64_t lo, hi;

	if (!from && !below)
		return;
	lo = from ? slot_of(it, from)->i[0] : INT64_MIN;
	hi = below ? slot_of(it, below)->i[0] : INT64_MAX;
	if (from && !add64(lo, start, &lo))
		lo = lo < 0 ? INT64_MIN : INT64_MAX;
	if (below && !add64(hi, start, &hi))
		hi = hi < 0 ? INT64_MIN : INT64_MAX;
	if (v->bounded >> root & 1) {
		lo = max64(lo, v->from[root]);
		hi = min64(hi, v->below[root]);
	}
	v->bounded |= 1u << root;
	v->from[root] = lo;
	v->below[root] = hi;
}

bool
eval_view(Interp *it, Op *o)
{
	const View *in = slot_of(it, view_source(o))->view;
	View *v = slot_of(it, o->out[0])->view;

	*v = *in;
	v->rank = 0;
	v->gather = view_gather_dim(o);
	v->gathers = view_gather_rank(o);
	for (int d = 0; d < in->rank; d++) {
		const InterpValue *start = slot_of(it, view_start(o, d));

		v->index[in->dim[d]] = view_gathers(o, d) ? start : NULL;
		v->tile[in->dim[d]] = &view_start(o, d)->type;
		bound_view(it, v, o, d, in->dim[d], in->start[in->dim[d]]);
		if (!view_gathers(o, d))
			v->start[in->dim[d]] += start->i[0];
		if (view_step(o, d) != 1)
			v->step[in->dim[d]] = view_step(o, d);
		if (IMM(o, dropped) >> d & 1)
			continue;
		if (view_within(o, v->rank) < o->out[0]->type.shape[v->rank])
			v->end[in->dim[d]] = v->start[in->dim[d]] +
			                     (view_within(o, v->rank) - 1) * step_along(v, in->dim[d]) + 1;
		for (int i = view_gathers(o, d) ? v->gathers : 1; i > 0; i--)
			v->dim[v->rank++] = in->dim[d];
	}
	return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A row of a view: its elements along the last dim. Element j is at + j * stride of the root; those with lo
 * <= j < hi are in bounds. */
typedef struct ViewRow {
	int64_t at, stride, lo, hi;
} ViewRow;

/* Bounds and strides of the root. */
typedef struct Root {
	int64_t size[DIM_MAX], stride[DIM_MAX];
	int64_t first[DIM_MAX], end[DIM_MAX]; /* the view's region: 0 and the size, or less */
	int64_t extent[DIM_MAX]; /* of the view up to there, in the root's dims; 1 for dropped dims */
} Root;

static void
root_of(Interp *it, const View *v, const Type *t, Root *r)
{
	int64_t dense = 1;

	for (int d = v->root_rank - 1; d >= 0; d--) {
		r->extent[d] = 1;
		if (v->param) {
			r->size[d] = slot_of(it, v->param->size[d])->i[0];
			r->stride[d] = slot_of(it, v->param->stride[d])->i[0];
		} else {
			r->size[d] = v->shape[d];
			r->stride[d] = dense;
			dense *= r->size[d];
		}
	}
	for (int d = 0; d < v->rank; d++)
		r->extent[v->dim[d]] = t->shape[d];
	for (int d = 0; d < v->root_rank; d++) {
		r->first[d] = v->bounded >> d & 1 ? min64(max64(v->from[d], 0), r->size[d]) : 0;
		r->end[d] = v->end[d] ? min64(v->end[d], r->size[d]) : r->size[d];
		if (v->bounded >> d & 1)
			r->end[d] = min64(r->end[d], v->below[d]);
		if (v->end[d])
			r->extent[d] = v->end[d] - v->start[d];
	}
}

/* Slices may exceed tensors, but not shared tiles. */
static bool
check_view(Interp *it, const Op *o, const View *v, const Root *r)
{
	for (int d = 0; v->shared && d < v->root_rank; d++) {
		if (v->index[d]) /* out-of-bounds indices are skipped */
			continue;
		if (v->start[d] < 0)
			return interp_error(it, INTERP_E_FAULT, o,
			                    "dim %d of the slice starts at %lld, before the shared tile's "
			                    "start",
			                    d, (long long)v->start[d]);
		if ( v->start[d] + r->extent[d] > r->size[d])
			return interp_error(it, INTERP_E_FAULT, o,
			                    "dim %d of the slice ends at %lld, the shared tile at %lld", d,
			                    (long long)(v->start[d] + r->extent[d]), (long long)r->size[d]);
	}
	return true;
}

/* Is the last dim gathered? */
static bool
is_single(const View *v)
{
	return v->gather >= 0 && v->gather + v->gathers == v->rank;
}

/* Length of a row; gathered rows are single elements. */
static int64_t
row_length(const View *v, const Type *t)
{
	return t->rank && !is_single(v) ? t->shape[t->rank - 1] : 1;
}

/* Index into the index tile of root dim d for the row at view position at[]. */
static int64_t
along(const View *v, int d, const int64_t *at)
{
	const Type *t = v->tile[d];
	int64_t n = 0;

	for (int i = 0; i < t->rank; i++)
		n = n * t->shape[i] + (t->shape[i] == 1 ? 0 : at[v->gather + i]);
	return n;
}

/* Returns the number of steps from `at` to `end`, at >= INT64_MIN / 2, rounded up. */
static int64_t
steps_to(int64_t at, int64_t end, int64_t step)
{
	int64_t n;

	return add64(end, -at, &n) ? ceil_div(n, step) : INT64_MAX / 2;
}

/* Returns row number n (row-major) of a view of type t. */
static ViewRow
row_of(const View *v, const Type *t, const Root *r, int64_t n)
{
	bool single = is_single(v);
	int last = v->rank && !single ? v->dim[v->rank - 1] : -1;
	int64_t index[DIM_MAX] = { 0 }, number[DIM_MAX];
	int outer = v->rank ? v->rank - (single ? 0 : 1) : 0;
	bool inside = true;
	ViewRow row = { 0, 1, 0, 1 };

	row_major_coord(outer, t->shape, n, number);
	for (int d = 0; d < outer; d++)
		index[v->dim[d]] = number[d];
	for (int d = 0; d < v->root_rank; d++) {
		int64_t step = step_along(v, d);
		int64_t at = v->start[d] + index[d] * step;

		if (v->index[d])
			at = v->index[d]->i[along(v, d, number)];
		row.at += at * r->stride[d];
		if (d == last) {
			row.stride = r->stride[d] * step;
			row.lo = at < r->first[d] ? steps_to(at, r->first[d], step) : 0;
			row.hi = at < r->end[d] ? steps_to(at, r->end[d], step) : 0;
		} else {
			inside = inside && at >= r->first[d] && at < r->end[d];
		}
	}
	if (!inside) /* the row is out of bounds in another dim */
		row.hi = 0;
	if (row.hi > row_length(v, t))
		row.hi = row_length(v, t);
	if (row.lo > row.hi)
		row.lo = row.hi;
	return row;
}

/* ---- reading and writing --------------------------------------------------------------------- */

/* Sets the out-of-bounds elements at .. end - 1 of a slot. If they are undefined, the values are chosen so
 * that dependent results are wrong. */
static void
outside(const Op *o, DType d, InterpValue *val, int64_t at, int64_t end)
{
	int64_t kind = o->code == O_load ? IMM(o, oob_fill) : OUTSIDE_ZERO;

	for (; at < end; at++) {
		if (dtype_is_float(d))
			val->f[at] = kind == OUTSIDE_ANY    ? (double)NAN
			             : kind == OUTSIDE_FILL ? num_round(d, o->fimm)
			                                    : num_outside(d);
		else
			val->i[at] = kind == OUTSIDE_ANY ? 1 : kind == OUTSIDE_FILL ? IMM(o, fill_value) : 0;
	}
}

static bool
read_shared(Interp *it, const Op *o, const Shared *s, const ViewRow *row, InterpValue *val, int64_t at,
	    int64_t n)
{
	for (int64_t j = 0; j < row->hi; j++) {
		int64_t from = row->at + j * row->stride;

		if (!s->init[from] && !it->opt.uninit)
			return interp_error(it, INTERP_E_FAULT, o,
			                    "read of uninitialized element %lld of a shared tile",
			                    (long long)from);
		if (s->watched && !race_access(it, o, s, from, false, false, at + j))
			return false;
		memcpy(val->f + at + j, s->f + from, sizeof *s->f);
	}
	outside(o, s->dtype, val, at + row->hi, at + n);
	return true;
}

static const InterpArg *
arg_of(const Interp *it, const View *v)
{
	return &it->arg[v->param - it->k->param];
}

/* Reports row elements to the race checker. Returns false on a hazard. */
static bool
watch_global(Interp *it, const Op *o, const View *v, const ViewRow *row, int64_t at, bool write)
{
	for (int64_t j = row->lo; j < row->hi && it->opt.races; j++)
		if (!race_global(it, o, v->param, row->at + j * row->stride, write, at + j))
			return false;
	return true;
}

static void
looked(Interp *it, const Op *o, const Param *p, int64_t at)
{
	it->looks++;
	if (o->src.line) /* not for ops added by lib/error_bound */
		it->look = (Look){ o, p, at };
}

static bool
read_global(Interp *it, const Op *o, const View *v, const ViewRow *row, InterpValue *val, int64_t at,
	    int64_t n)
{
	DType d = v->param->val->type.dtype;
	const InterpArg *arg = arg_of(it, v);
	bool flt = dtype_is_float(d);

	int64_t first = row->at + row->lo * row->stride;

	if (row->hi > row->lo && flt)
		num_get_fn(d, arg->data, first, row->stride, (size_t)(row->hi - row->lo),
		           val->f + at + row->lo);
	else if (row->hi > row->lo)
		num_get_in(d, arg->data, first, row->stride, (size_t)(row->hi - row->lo),
		           val->i + at + row->lo);
	outside(o, d, val, at, at + row->lo);
	outside(o, d, val, at + row->hi, at + n);
	if (v->param->written && row->hi > row->lo)
		looked(it, o, v->param, first);
	return watch_global(it, o, v, row, at, false);
}

bool
interp_read(Interp *it, const Op *o, const View *v, const Type *t, InterpValue *val)
{
	int64_t len = row_length(v, t), size = type_size(t);
	Root root;

	it->serial++;
	root_of(it, v, t, &root);
	if (!check_view(it, o, v, &root))
		return false;
	for (int64_t at = 0; at < size; at += len) {
		ViewRow row = row_of(v, t, &root, at / len);

		if (v->param ? !read_global(it, o, v, &row, val, at, len)
		             : !read_shared(it, o, v->shared, &row, val, at, len))
			return false;
	}
	return true;
}

static void update_element(Interp *it, const Op *o, DType d, void *buf, int64_t to, const InterpValue *val,
                           int64_t j);

/* Updates an element of a shared tile through its storage format. */
static void
update_shared(Interp *it, const Op *o, Shared *s, int64_t to, const InterpValue *val, int64_t j)
{
	uint64_t bits = 0;

	if (dtype_is_float(s->dtype))
		num_put_f(s->dtype, &bits, 0, s->f[to]);
	else
		num_put_i(s->dtype, &bits, 0, s->i[to]);
	update_element(it, o, s->dtype, &bits, 0, val, j);
	if (dtype_is_float(s->dtype))
		s->f[to] = num_get_f(s->dtype, &bits, 0);
	else
		s->i[to] = num_get_i(s->dtype, &bits, 0);
}

static bool
write_shared(Interp *it, const Op *o, Shared *s, const ViewRow *row, const InterpValue *val,
	     int64_t at, bool async)
{
	for (int64_t j = 0; j < row->hi; j++) {
		int64_t to = row->at + j * row->stride;

		if (s->watched && !race_access(it, o, s, to, true, async, at + j))
			return false;
		if (o->code == O_store && IMM(o, update) && s == slot_of(it, store_dest(o))->view->shared) {
			if (it->left_out && it->left_out[at + j])
				continue;
			if (!s->init[to] && !it->opt.uninit)
				return interp_error(it, INTERP_E_FAULT, o,
				                    "atomic update of uninitialized shared memory");
			update_shared(it, o, s, to, val, at + j);
			continue;
		}
		s->init[to] = 1;
		memcpy(s->f + to, val->f + at + j, sizeof *s->f);
	}
	return true;
}

/* Is element `to` of the buffer bitwise equal to element j of x? */
static bool
same_bits(DType d, const void *buf, int64_t to, const InterpValue *x, int64_t j)
{
	size_t size = num_bytes(d, 1);
	uint64_t want = 0;

	if (dtype_is_float(d))
		num_put_f(d, &want, 0, x->f[j]);
	else
		num_put_i(d, &want, 0, x->i[j]);
	return memcmp((const char *)buf + (size_t)to * size, &want, size) == 0;
}

/* Applies element j of an update; the old value is buffered in the slot of its destination. */
static void
update_element(Interp *it, const Op *o, DType d, void *buf, int64_t to, const InterpValue *val, int64_t j)
{
	void *found = access_found(o) ? slot_of(it, access_found(o))->whole : NULL;

	if (found && dtype_is_float(d))
		((double *)found)[j] = num_get_f(d, buf, to);
	else if (found)
		((int64_t *)found)[j] = num_get_i(d, buf, to);
	if (IMM(o, update) != STORE_CAS || same_bits(d, buf, to, slot_of(it, store_expected(o)), j))
		interp_update((StoreKind)IMM(o, update), d, buf, to, val, j);
}

static void
write_element(Interp *it, const Op *o, const View *v, int64_t to, const InterpValue *val, int64_t j)
{
	DType d = v->param->val->type.dtype;
	void *buf = arg_of(it, v)->data;

	if (o->code == O_store && IMM(o, update))
		update_element(it, o, d, buf, to, val, j);
	else if (dtype_is_float(d))
		num_put_f(d, buf, to, val->f[j]);
	else
		num_put_i(d, buf, to, val->i[j]);
}

/* As write_element, if blocks may wait for each other: a write that changes nothing has no effect. */
static void
write_watched(Interp *it, const Op *o, const View *v, int64_t to, const InterpValue *val, int64_t j)
{
	DType d = v->param->val->type.dtype;
	size_t bytes = dtype_info[d].bits % 8 ? 0 : num_bytes(d, 1);
	const char *p = (const char *)arg_of(it, v)->data + (size_t)to * bytes;
	char before[16];

	memcpy(before, p, bytes);
	write_element(it, o, v, to, val, j);
	it->common->effects += !bytes || memcmp(before, p, bytes) != 0;
	if (o->code == O_store && IMM(o, update))
		looked(it, o, v->param, to);
}

static bool
write_global(Interp *it, const Op *o, const View *v, const ViewRow *row, const InterpValue *val, int64_t at)
{
	void (*put)(Interp *, const Op *, const View *, int64_t, const InterpValue *, int64_t) =
		it->common->takes_turns ? write_watched : write_element;

	for (int64_t j = row->lo; j < row->hi; j++)
		if (!it->left_out || !it->left_out[at + j])
			put(it, o, v, row->at + j * row->stride, val, at + j);
	return watch_global(it, o, v, row, at, true);
}

bool
interp_write(Interp *it, const Op *o, const View *v, const Type *t, const InterpValue *val, bool async)
{
	int64_t len = row_length(v, t), size = type_size(t);
	Root root;

	it->serial++;
	root_of(it, v, t, &root);
	if (!check_view(it, o, v, &root))
		return false;
	if (v->param && !v->param->written)
		return interp_error(it, INTERP_E_FAULT, o, "%s is not an output", v->param->name);
	for (int64_t at = 0; at < size; at += len) {
		ViewRow row = row_of(v, t, &root, at / len);

		if (v->param ? !write_global(it, o, v, &row, val, at)
		             : !write_shared(it, o, v->shared, &row, val, at, async))
			return false;
	}
	return true;
}

bool
eval_load(Interp *it, Op *o)
{
	return interp_read(it, o, slot_of(it, load_source(o))->view, &load_source(o)->type,
	                   slot_of(it, o->out[0]));
}

bool
eval_store(Interp *it, Op *o)
{
	const Val *to = store_dest(o), *found = access_found(o);
	InterpValue *in = slot_of(it, store_value(o)), old = { .n = in->n }, *s;

	if (!found)
		return interp_write(it, o, slot_of(it, to)->view, &to->type, in, false);
	s = slot_of(it, found);
	if (!s->whole)
		s->whole = arena_alloc(&it->arena, sizeof *old.f * (size_t)in->n);
	memset(s->whole, 0, sizeof *old.f * (size_t)in->n);
	old.f = s->whole;
	old.i = s->whole;
	return interp_write(it, o, slot_of(it, to)->view, &to->type, in, false) &&
	       interp_write(it, o, s->view, &found->type, &old, false);
}
