/* lower_packed.c - pass lower_packed: lowers packed tensors to tensors of 32-bit words, with unpack at loads
 * and pack at stores.
 *
 *     W: u4[N, K]                            W: u32[N / 16, K / 64, 128]
 *     w = alloc u4[64, 128]                  w = alloc u32[4, 2, 128]
 *     copy W[n :+ 64, k :+ 128] to w   =>    copy W[n / 16 :+ 4, k / 64 :+ 2, 0 :+ 128] to w
 *     t = load w                             t = unpack (load w)
 *
 * and stores pack:  store t, W[..]  =>  store (pack t), W[..]
 *
 * A block of elements is one row of words. All ops that move them see plain words; only `unpack` knows the
 * elements, and its uses determine the position of each in the block.
 *
 * requires   slices of packed tensors that start and end with blocks
 * preserves  what the kernel computes, given the tensor in its packed form
 * leaves     Param.pack with its block; inference determines layout and bit_order */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "hexc/pass/lower_packed.h"
#include "hexc/pass/pass.h"

typedef struct Packed {
	Kernel *k;
	Param *param; /* the current tensor */
	Pack *pack;
	Val **words; /* [nval + 1] words that replace memory of elements: allocs, views */
	bool *ours; /* [nval + 1] is the root, or a shared tile to which the tensor is copied */
	Val *root;
	uint32_t n;
} Packed;

static bool
is_ours(const Packed *p, const Val *v)
{
	return v->id < p->n && p->ours[v->id];
}

static bool
packed_error(Packed *p, Src src, const char *text)
{
	diag_error(p->k->unit->diag, src, "`%s` is packed: %s", p->param->name, text);
	return false;
}

/* ---- which memory holds the tensor ----------------------------------------------------------------- */

static bool
find_tiles(Packed *p)
{
	OpWalk w;

	p->ours[p->root->id] = true;
	for (Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w))
		if (o->code == O_copy && view_root(copy_source(o)) == p->root)
			p->ours[view_root(copy_dest(o))->id] = true;
	for (Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w)) {
		Val *to = access_target(o);

		if (o->code == O_load && o->out[0]->type.space == S_scalar &&
		    is_ours(p, view_root(load_source(o))))
			return packed_error(p, o->src, "packed tensors are read in full blocks only");
		if (to && view_root(to) == p->root && (o->code != O_store || IMM(o, update)))
			return packed_error(p, o->src, "packed tensors do not support atomic updates");
		if (to && to != p->root && is_ours(p, view_root(to)) && view_root(to) != p->root &&
		    (o->code != O_copy || view_root(copy_source(o)) != p->root))
			return packed_error(p, o->src, "its shared tile must not be used for other data");
	}
	return true;
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

static int64_t
step_of(Packed *p, const Op *o, int64_t step, int d)
{
	int r = view_result_dim(o, d);

	step = gcd64(step, r < 0 ? 1 : o->out[0]->type.shape[r]);
	if (view_gathers(o, d) || view_step(o, d) != 1)
		return 1;
	return gcd64(step, val_fact_at(p->k, o, view_start(o, d)).mult);
}

/* Records the dot that reads a loaded tile; the first one determines the dim along k. */
static void
note_dot(Packed *p, const Val *tile, Slices *s)
{
	int rank = tile->type.rank;
	DotUse use;

	if (rank < 2 || !packed_dot(p->k, tile, &use) || use.k < rank - 2)
		return;
	if (s->k_least == 1)
		s->k = use.k - (rank - 2);
	if (256 / use.bits > s->k_least)
		s->k_least = 256 / use.bits;
}

static bool
check_slice(Packed *p, const Op *o)
{
	int rank = view_source(o)->type.rank;

	for (int i = rank - 2; i < rank; i++) {
		int64_t b = p->pack->block[i - rank + 2];

		if (step_of(p, o, 0, i) % b == 0)
			continue;
		diag_error(p->k->unit->diag, o->src,
		           "`%s` is packed in blocks of %lld x %lld elements of %s, and this slice is not "
		           "aligned to blocks in dimension %d; make its start and extent there multiples "
		           "of %lld",
		           p->param->name, (long long)p->pack->block[0], (long long)p->pack->block[1],
		           dtype_info[p->pack->dtype].name, i, (long long)b);
		return false;
	}
	return true;
}

static bool
find_block(Packed *p)
{
	Slices s = { { 0, 0 }, 1, 1 };
	OpWalk w;

	for (Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w)) {
		if (o->code == O_load && is_ours(p, view_root(load_source(o))))
			note_dot(p, o->out[0], &s);
		if (o->nout == 1 && val_is_alias(o->out[0]) && is_ours(p, view_root(op_source(o))))
			return packed_error(p, o->src, "a slice of it under another shape is not supported "
			                               "for register tiles");
		if (o->code != O_view || !is_ours(p, view_root(view_source(o))))
			continue;
		if (view_source(o) != p->root && view_source(o)->def->code == O_view &&
		    view_root(view_source(o)) == p->root)
			return packed_error(p, o->src, "slice it once");
		for (int i = 0; i < 2; i++)
			s.step[i] = step_of(p, o, s.step[i], view_source(o)->type.rank - 2 + i);
	}
	for (int i = 0; i < 2 && s.step[i] == 0; i++) /* without a slice: the full extent */
		s.step[i] = p->root->type.shape[p->root->type.rank - 2 + i];
	if (!p->pack->block[0])
		packed_block(dtype_info[p->pack->dtype].bits, &s, p->pack->block);
	for (Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w))
		if (o->code == O_view && is_ours(p, view_root(view_source(o))) && !check_slice(p, o))
			return false;
	return true;
}

/* ---- words instead of elements ----------------------------------------------------------------------- */

/* A tile of elements of rank r becomes one of words of rank r + 1. */
static Type
word_type(const Packed *p, const Type *t)
{
	Type w = *t;

	w.dtype = D_u32;
	w.rank = t->rank + 1;
	for (int i = 0; i < 2; i++)
		if (t->shape[t->rank - 2 + i] >= 0)
			w.shape[t->rank - 2 + i] =
				(t->shape[t->rank - 2 + i] + p->pack->block[i] - 1) / p->pack->block[i];
	w.shape[t->rank] = pack_block_words(p->pack);
	return w;
}

/* Returns x / n, given that n divides x. */
static Val *
exactly(Kernel *k, Op *at, Val *x, int64_t n)
{
	const Op *o = x->def;
	int64_t c;

	if (val_is_const(x, &c))
		return ir_const(at->parent, at, c / n);
	if (n > 1 && o && o->code == O_mul && val_is_const(elt_rhs(o), &c) && c % n == 0)
		return ir_bin(at->parent, at, O_mul, elt_lhs(o), ir_const(at->parent, at, c / n));
	if (n > 1 && o && o->code == O_add && val_fact(k, elt_lhs(o)).mult % n == 0 &&
	    val_fact(k, elt_rhs(o)).mult % n == 0)
		return ir_bin(at->parent, at, O_add, exactly(k, at, elt_lhs(o), n),
		              exactly(k, at, elt_rhs(o), n));
	return ir_bin(at->parent, at, O_div, x, ir_const(at->parent, at, n));
}

static Val *
view_words(Packed *p, Op *o, Val *of)
{
	int rank = view_source(o)->type.rank;
	Val *in[DIM_MAX + 2];
	Type t = word_type(p, &o->out[0]->type);
	Op *v;

	in[0] = of;
	for (int d = 0; d < rank; d++)
		in[1 + d] = d < rank - 2 ? view_start(o, d)
		                         : exactly(p->k, o, view_start(o, d), p->pack->block[d - rank + 2]);
	in[1 + rank] = ir_const(o->parent, o, 0);
	v = op_new(o->parent, o, O_view, o->src, 2 + rank, in, 1, &t);
	IMM_SET(v, dropped, IMM(o, dropped));
	for (int d = 0; d < rank; d++)
		if (view_step(o, d) != 1)
			IMM_SET_AT(v, step, d, view_step(o, d));
	v->out[0]->name = o->out[0]->name;
	return v->out[0];
}

/* Returns the words of memory v. */
static Val *
words_of(Packed *p, Val *v)
{
	Op *o = v->def;

	if (v == p->root)
		return v;
	if (p->words[v->id])
		return p->words[v->id];
	if (o->code == O_alloc) {
		Type t = word_type(p, &v->type);
		Op *a = op_new(o->parent, o, O_alloc, o->src, 0, NULL, 1, &t);

		IMM_SET(a, offset, IMM(o, offset));
		IMM_SET(a, align, IMM(o, align));
		a->out[0]->name = v->name;
		p->words[v->id] = a->out[0];
	} else {
		p->words[v->id] = view_words(p, o, words_of(p, view_source(o)));
	}
	return p->words[v->id];
}

/* Returns a slice from 0, for a tensor read in full. */
static Val *
full_slice(Packed *p, Op *at, Val *v)
{
	Val *in[DIM_MAX + 2];
	Type t = word_type(p, &v->type);

	if (v != p->root)
		return words_of(p, v);
	in[0] = v;
	for (int d = 0; d <= v->type.rank; d++)
		in[1 + d] = ir_const(at->parent, at, 0);
	return op_new(at->parent, at, O_view, at->src, 2 + v->type.rank, in, 1, &t)->out[0];
}

static void
rewrite(Packed *p, Op *o)
{
	Val *in[2], *words = full_slice(p, o, o->in[0]);
	Type t = words->type;

	if (o->code == O_copy) {
		o->in[IN_copy_source] = words;
		o->in[IN_copy_dest] = words_of(p, copy_dest(o));
		return;
	}
	t.space = S_reg;
	in[0] = op_new(o->parent, o, O_load, o->src, 1, &words, 1, &t)->out[0];
	in[0]->name = o->out[0]->name;
	IMM_SET(in[0]->def, space_open, IMM(o, space_open));
	in[1] = p->root;
	val_replace(p->k, o->out[0],
	            op_new(o->parent, o, O_unpack, o->src, 2, in, 1, &o->out[0]->type)->out[0]);
}

/* Masks elements past the tensor's end to code 0. */
static Val *
cleared(Packed *p, Op *o, Val *tile)
{
	const Op *v = store_dest(o)->def;
	int rank = tile->type.rank, n = 1;
	Val *in[1 + DIM_MAX] = { tile };
	int64_t dims = 0;
	Op *mask;

	for (int d = rank - 2; v && v->code == O_view && d < rank; d++) {
		int rd = view_operand_dim(v, d);

		if (view_in_bounds(p->k, v, d))
			continue;
		in[n++] = ir_bin(o->parent, o, O_sub, p->param->size[rd], view_start(v, rd));
		dims |= (int64_t)1 << d;
	}
	if (!dims)
		return tile;
	mask = op_new(o->parent, o, O_mask, o->src, n, in, 1, &tile->type);
	IMM_SET(mask, dims, dims);
	return mask->out[0];
}

/* Packs the elements of a store and stores words. */
static void
rewrite_store(Packed *p, Op *o)
{
	Val *in[2], *words = full_slice(p, o, store_dest(o));
	Type t = words->type;

	t.space = S_reg;
	in[0] = cleared(p, o, store_value(o));
	in[1] = p->root;
	in[0] = op_new(o->parent, o, O_pack, o->src, 2, in, 1, &t)->out[0];
	in[1] = words;
	op_new(o->parent, o, O_store, o->src, 2, in, 0, NULL);
}

/* Returns the first op of the body after the computation of the tensor's sizes. */
static Op *
behind_sizes(const Packed *p)
{
	Op *at = p->k->body->first;

	for (Op *o = at; o; o = o->next)
		for (int d = 0; d < p->root->type.rank; d++)
			if (p->param->size[d]->def == o)
				at = o->next;
	return at;
}

/* Sets sizes in blocks and words; words are contiguous. */
static void
retype(Packed *p, const Type *words)
{
	Op *at = behind_sizes(p);
	Block *b = p->k->body;
	int rank = p->root->type.rank;
	Param *r = p->param;

	for (int i = 0; i < 2; i++) {
		int64_t n = p->pack->block[i];
		Val *size = r->size[rank - 2 + i];

		if (val_fact(p->k, size).mult % n)
			size = ir_bin(b, at, O_div, ir_bin(b, at, O_add, size, ir_const(b, at, n - 1)),
			              ir_const(b, at, n));
		else
			size = exactly(p->k, at, size, n);
		r->size[rank - 2 + i] = size;
	}
	r->size[rank] = ir_const(b, at, pack_block_words(p->pack));
	r->stride[rank] = ir_const(b, at, 1);
	for (int d = rank - 1; d >= 0; d--)
		r->stride[d] = ir_bin(b, at, O_mul, r->stride[d + 1], r->size[d + 1]);
	p->root->type = *words;
}

static bool
lower_one(Packed *p)
{
	Type words;
	OpWalk w;

	if (p->root->type.rank + 1 > DIM_MAX - 1)
		return packed_error(p, p->param->src, "it has too many dimensions");
	if (!find_tiles(p) || !find_block(p))
		return false;
	words = word_type(p, &p->root->type);
	for (Op *o = walk_first(&w, p->k->body), *next; o; o = next) {
		next = walk_next(&w);
		if ((o->code == O_load || o->code == O_copy) && is_ours(p, view_root(o->in[0]))) {
			bool load = o->code == O_load;

			rewrite(p, o);
			if (load)
				op_unlink(o);
		} else if (o->code == O_store && view_root(store_dest(o)) == p->root) {
			rewrite_store(p, o);
			op_unlink(o);
		}
	}
	retype(p, &words);
	return true;
}

bool
pass_lower_packed(Kernel *k)
{
	Arena *a = k->unit->arena;
	bool changed = false;

	for (int i = 0; i < k->nparam; i++) {
		Param *r = &k->param[i];
		Packed p = { k, r, NULL, NULL, NULL, r->val, k->nval + 1 };

		if (!r->pack || r->val->type.dtype != r->pack->dtype)
			continue;
		p.pack = NEW(a, Pack);
		*p.pack = *r->pack;
		if (!p.pack->layout)
			p.pack->streams = 1;
		p.words = NEWN(a, Val *, p.n);
		p.ours = NEWN(a, bool, p.n);
		if (!lower_one(&p))
			return changed;
		r->pack = p.pack;
		changed = true;
	}
	if (changed)
		pass_dce(k);
	return changed;
}
