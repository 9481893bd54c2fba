/* shape_ops.c - implements the interpreter's ops that create and rearrange tiles. */
#include "hexc/interp/interp_internal.h"
#include "hexc/ir/pack.h"
#include "hexc/ir/sparse.h"
#include <string.h>

static void
fill(const InterpValue *s, DType d, double f, int64_t i)
{
	bool flt = dtype_is_float(d);

	f = flt ? num_round(d, f) : 0;
	i = flt ? 0 : num_wrap(d, i);
	for (int64_t j = 0; j < s->n; j++) {
		if (flt)
			s->f[j] = f;
		else
			s->i[j] = i;
	}
}

bool
eval_const(Interp *it, Op *o)
{
	fill(slot_of(it, o->out[0]), o->out[0]->type.dtype, o->fimm, IMM(o, value));
	return true;
}

/* Returns the first word of element j's block in a tile of words w, and the element's coordinates in the
 * block. */
static int64_t
block_of(const Pack *p, const Type *t, const Type *w, int64_t j, int64_t at[2])
{
	int64_t rows = t->shape[t->rank - 2], columns = t->shape[t->rank - 1], block;

	at[0] = j / columns % rows;
	at[1] = j % columns;
	block = j / columns / rows * w->shape[w->rank - 3] + at[0] / p->block[0];
	block = block * w->shape[w->rank - 2] + at[1] / p->block[1];
	at[0] %= p->block[0];
	at[1] %= p->block[1];
	return block * w->shape[w->rank - 1];
}

bool
eval_unpack(Interp *it, Op *o)
{
	const Pack *p = val_param(it->k, pack_tensor(o))->pack;
	const Type *t = &o->out[0]->type;
	const InterpValue *x = slot_of(it, pack_source(o));
	InterpValue *r = slot_of(it, o->out[0]);
	int64_t at[2];

	for (int64_t j = 0; j < r->n; j++) {
		const int64_t *words = x->i + block_of(p, t, &pack_source(o)->type, j, at);
		unsigned char code[8] = { 0 };

		for (int b = 0; b < dtype_info[t->dtype].bits; b++) {
			int64_t bit = pack_bit(p, at[0], at[1], b);

			code[0] |= (unsigned char)((words[bit / 32] >> bit % 32 & 1) << b);
		}
		if (dtype_is_float(t->dtype))
			r->f[j] = num_get_f(t->dtype, code, 0);
		else
			r->i[j] = num_get_i(t->dtype, code, 0);
	}
	return true;
}

bool
eval_pack(Interp *it, Op *o)
{
	const Pack *p = val_param(it->k, pack_tensor(o))->pack;
	const Type *t = &pack_source(o)->type;
	const InterpValue *x = slot_of(it, pack_source(o));
	InterpValue *r = slot_of(it, o->out[0]);
	int64_t at[2];

	memset(r->i, 0, sizeof *r->i * (size_t)r->n);
	for (int64_t j = 0; j < x->n; j++) {
		int64_t *words = r->i + block_of(p, t, &o->out[0]->type, j, at);
		unsigned char code[8] = { 0 };

		if (dtype_is_float(t->dtype))
			num_put_f(t->dtype, code, 0, x->f[j]);
		else
			num_put_i(t->dtype, code, 0, x->i[j]);
		for (int b = 0; b < dtype_info[t->dtype].bits; b++) {
			int64_t bit = pack_bit(p, at[0], at[1], b);

			words[bit / 32] |= (int64_t)(code[0] >> b & 1) << bit % 32;
		}
	}
	return true;
}

bool
eval_splat(Interp *it, Op *o)
{
	DType d = o->out[0]->type.dtype;
	const InterpValue *x = slot_of(it, op_source(o));

	if (dtype_is_float(d))
		fill(slot_of(it, o->out[0]), d, x->f[0], 0);
	else
		fill(slot_of(it, o->out[0]), d, 0, x->i[0]);
	return true;
}

int64_t
inner_size(const Type *t, int d)
{
	int64_t n = 1;

	for (int i = d + 1; i < t->rank; i++)
		n *= t->shape[i];
	return n;
}

bool
eval_iota(Interp *it, Op *o)
{
	const Type *t = &o->out[0]->type;
	InterpValue *r = slot_of(it, o->out[0]);
	int64_t inner = inner_size(t, (int)IMM(o, dim)), extent = t->shape[IMM(o, dim)];

	for (int64_t j = 0; j < r->n; j++)
		r->i[j] = num_wrap(t->dtype, j / inner % extent);
	return true;
}

/* Computes the block with this block's rank in the cluster whose number is o's operand, and the grid's
 * extents. */
static bool
find_block(Interp *it, Op *o, int64_t extent[3], int64_t block[3])
{
	int64_t number = slot_of(it, block_linear(o))->i[0], rank = it->rank;

	for (int d = 0; d < 3; d++) {
		int cluster = it->k->cluster[d];
		int64_t clusters;

		extent[d] = slot_of(it, block_extent(o, d))->i[0];
		clusters = (extent[d] + cluster - 1) / cluster;
		if (number < 0 || (clusters <= 0 && d < 2))
			return interp_error(it, INTERP_E_FAULT, o, "block %lld does not exist",
			                    (long long)number);
		block[d] = (d == 2 ? number : number % clusters) * cluster + rank % cluster;
		number = d == 2 ? number : number / clusters;
		rank /= cluster;
	}
	return true;
}

bool
eval_block_id(Interp *it, Op *o)
{
	int64_t extent[3], block[3];
	int axis = (int)IMM(o, axis);

	if (o->nin == 0) {
		slot_of(it, o->out[0])->i[0] = it->block[axis];
		return true;
	}
	if (!find_block(it, o, extent, block))
		return false;
	slot_of(it, o->out[0])->i[0] = block[axis] < extent[axis] ? block[axis] : extent[axis] - 1;
	return true;
}

bool
eval_block_in_grid(Interp *it, Op *o)
{
	int64_t extent[3], block[3];
	bool has = true;

	if (!find_block(it, o, extent, block))
		return false;
	for (int d = 0; d < 3; d++)
		has = has && block[d] < extent[d];
	slot_of(it, o->out[0])->i[0] = has;
	return true;
}

bool
eval_linear_block_id(Interp *it, Op *o)
{
	slot_of(it, o->out[0])->i[0] = IMM(o, all) ? it->launched : it->linear;
	return true;
}

/* Elements are copied as bytes, whatever their type: nothing is rounded. */
void
slot_move(InterpValue *r, int64_t to, const InterpValue *x, int64_t from)
{
	memcpy(r->f + to, x->f + from, sizeof *r->f);
}

bool
eval_mask(Interp *it, Op *o)
{
	const Type *t = &o->out[0]->type;
	InterpValue *r = slot_of(it, o->out[0]);
	bool flt = dtype_is_float(t->dtype);
	int in = 0;

	slot_copy(it, o->out[0], mask_source(o));
	for (int d = 0; d < t->rank; d++) {
		int64_t inner, bound;

		if (!(IMM(o, dims) >> d & 1))
			continue;
		inner = inner_size(t, d);
		bound = slot_of(it, mask_bound(o, in++))->i[0];
		for (int64_t j = 0; j < r->n; j++) {
			if (j / inner % t->shape[d] < bound)
				continue;
			if (flt)
				r->f[j] = num_round(t->dtype, o->fimm);
			else
				r->i[j] = num_wrap(t->dtype, IMM(o, fill));
		}
	}
	return true;
}

bool
eval_shift(Interp *it, Op *o)
{
	const Type *t = &o->out[0]->type;
	const InterpValue *x = slot_of(it, op_source(o));
	InterpValue *r = slot_of(it, o->out[0]);
	int64_t inner = inner_size(t, (int)IMM(o, dim)), extent = t->shape[IMM(o, dim)];

	for (int64_t j = 0; j < r->n; j++) {
		if (j / inner % extent >= IMM(o, by))
			slot_move(r, j, x, j - IMM(o, by) * inner);
		else if (dtype_is_float(t->dtype))
			r->f[j] = num_round(t->dtype, o->fimm);
		else
			r->i[j] = num_wrap(t->dtype, IMM(o, fill_in));
	}
	return true;
}

/* Copies vectors of contiguous elements, one for each index of the dims up to d. */
bool
eval_slice(Interp *it, Op *o)
{
	const Type *t = &o->out[0]->type, *u = &op_source(o)->type;
	const InterpValue *x = slot_of(it, op_source(o));
	InterpValue *r = slot_of(it, o->out[0]);
	int d = (int)IMM(o, dim);
	int64_t inner = inner_size(t, d), line = inner * t->shape[d];

	for (int64_t j = 0; j < r->n; j++)
		slot_move(r, j, x, j / line * inner * u->shape[d] + IMM(o, from) * inner + j % line);
	return true;
}

bool
eval_concat(Interp *it, Op *o)
{
	const Type *t = &o->out[0]->type;
	InterpValue *r = slot_of(it, o->out[0]);
	int d = (int)IMM(o, dim);
	int64_t inner = inner_size(t, d), line = inner * t->shape[d];
	int64_t first = inner * concat_first(o)->type.shape[d];

	for (int64_t j = 0; j < r->n; j++) {
		int64_t at = j % line;
		bool second = at >= first;

		slot_move(r, j, slot_of(it, o->in[second]),
		          second ? j / line * (line - first) + at - first : j / line * first + at);
	}
	return true;
}

/* r[i0,i1,..] = x[sum of i_d * stride[d]] */
static void
gather(const Type *t, InterpValue *r, const InterpValue *x, const int64_t *stride)
{
	int64_t at[DIM_MAX] = { 0 }, from = 0;

	for (int64_t j = 0; j < r->n; j++) {
		slot_move(r, j, x, from);
		for (int d = t->rank - 1; d >= 0; d--) {
			from += stride[d];
			if (++at[d] < t->shape[d])
				break;
			from -= at[d] * stride[d];
			at[d] = 0;
		}
	}
}

bool
eval_broadcast(Interp *it, Op *o)
{
	const Type *t = &o->out[0]->type, *u = &op_source(o)->type;
	int64_t stride[DIM_MAX];

	for (int d = 0; d < t->rank; d++)
		stride[d] = u->shape[d] == 1 ? 0 : inner_size(u, d);
	gather(t, slot_of(it, o->out[0]), slot_of(it, op_source(o)), stride);
	return true;
}

bool
eval_transpose(Interp *it, Op *o)
{
	const Type *t = &o->out[0]->type, *u = &op_source(o)->type;
	int64_t stride[DIM_MAX];

	for (int d = 0; d < t->rank; d++)
		stride[d] = inner_size(u, (int)IMM_AT(o, perm, d));
	gather(t, slot_of(it, o->out[0]), slot_of(it, op_source(o)), stride);
	return true;
}

bool
eval_convert_layout(Interp *it, Op *o)
{
	slot_copy(it, o->out[0], op_source(o));
	return race_scratch(it, o);
}

bool
eval_gather(Interp *it, Op *o)
{
	const Type *t = &lookup_table(o)->type, *x = &lookup_index(o)->type;
	const InterpValue *table = slot_of(it, lookup_table(o)), *index = slot_of(it, lookup_index(o));
	InterpValue *r = slot_of(it, o->out[0]);
	int64_t n = t->shape[t->rank - 1];

	for (int64_t j = 0; j < r->n; j++) {
		int64_t c[DIM_MAX], from = 0;
		bool inside = index->i[j] >= 0 && index->i[j] < n;

		type_coord(x, j, c);
		for (int d = 0; d < x->rank; d++)
			from = from * t->shape[d] + (t->shape[d] == 1 ? 0 : c[d]);
		from = from * n + (inside ? index->i[j] : 0);
		if (dtype_is_float(t->dtype))
			r->f[j] = inside ? table->f[from] : 0;
		else
			r->i[j] = inside ? table->i[from] : 0;
	}
	return true;
}

bool
eval_lookup(Interp *it, Op *o)
{
	const Type *t = &lookup_table(o)->type, *x = &lookup_index(o)->type;
	const InterpValue *table = slot_of(it, lookup_table(o)), *index = slot_of(it, lookup_index(o));
	InterpValue *r = slot_of(it, o->out[0]);

	for (int64_t j = 0; j < r->n; j++) {
		int64_t c[DIM_MAX], from = 0, weight = t->shape[t->rank - 1];

		type_coord(x, j, c);
		for (int d = x->rank - 2; d >= 0 && t->rank > 1; d--) {
			from += t->shape[d] == 1 ? 0 : c[d] * weight;
			weight *= t->shape[d];
		}
		from += index->i[j];
		if (dtype_is_float(t->dtype))
			r->f[j] = table->f[from];
		else
			r->i[j] = table->i[from];
	}
	return true;
}
