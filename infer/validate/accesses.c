/* accesses.c - validates loads, stores and copies: each element moves between its address and its register,
 * and each written element is written once. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "infer/validate/accesses.h"
#include "infer/core/instr.h"
#include <string.h>

static bool
side_of(Prove *p, Val *mem, Side *s)
{
	const Val *v = mem;

	memset(s, 0, sizeof *s);
	s->mem = mem;
	s->shared = mem->type.space == S_shared;
	for (int d = 0; d < mem->type.rank; d++)
		s->dim_of[d] = d;
	s->unit = mem->def ? view_unit_dim(p->k, mem->def) : mem->type.rank - 1;
	for (; s->shared && v->def && v->def->code == O_view; v = view_source(v->def))
		for (int d = 0; d < mem->type.rank; d++)
			s->dim_of[d] = view_operand_dim(v->def, s->dim_of[d]);
	s->layout = v->type.layout;
	if (s->shared && !s->layout)
		return prove_error(p, -1, 0, "the shared tile has no layout");
	return true;
}

/* Do rows selected by indices begin at multiples of n elements, for all index values? The stride of each
 * gathered dim and the swizzle's blocks must be multiples of n. */
static bool
rows_aligned(const Side *s, int n)
{
	const Op *view = s->mem->def;
	const Layout *l = s->layout;

	for (int d = 0; d < view_source(view)->type.rank; d++) {
		int root = d;

		for (const Val *v = view_source(view); v->def && v->def->code == O_view;
		     v = view_source(v->def))
			root = view_operand_dim(v->def, root);
		for (Digit g = dim_digits(l, root); view_gathers(view, d) && g.it; digit_next(&g))
			if (g.it->stride % n)
				return false;
	}
	return l->swizzle.bits == 0 || (int64_t)1 << l->swizzle.base >= n;
}

/* Element positions: contiguous elements in memory have consecutive ones, and a position that is a multiple
* of n, modulo FAR, is aligned to n elements. PAST_END: marks elements past the end of a longer view's
 * source.
 * Rows selected by indices, and lines along the contiguous dim of a tensor, are FAR apart. */
enum { PAST_END = -1 };
static const int64_t FAR = (int64_t)1 << 40;

static const int64_t *
numbers(Prove *p, const Side *s)
{
	const Op *view = s->mem->def;
	const Type *t = &s->mem->type;
	int64_t n = type_size(t), *out = NEWN(p->arena, int64_t, n), within[DIM_MAX], c[DIM_MAX] = { 0 };
	const int64_t *shared = s->shared ? mem_offsets(p, s->layout, t, s->dim_of) : NULL;
	bool apart[DIM_MAX];

	for (int d = 0; d < t->rank; d++) {
		within[d] = view ? view_within(view, d) : t->shape[d];
		apart[d] = s->shared ? view && view_is_gathered(view, d) : d != s->unit;
	}
	for (int64_t e = 0; e < n; e++) {
		int64_t row = 0, in_row[DIM_MAX] = { 0 };
		bool behind = false;

		type_coord(t, e, c);
		for (int d = 0; d < t->rank; d++) {
			behind = behind || c[d] >= within[d];
			if (apart[d])
				row = row * t->shape[d] + c[d];
			else
				in_row[d] = c[d];
		}
		out[e] = row * FAR;
		if (s->shared)
			out[e] += shared[index_elem(t, in_row)];
		else if (s->unit >= 0)
			out[e] += c[s->unit];
		if (behind)
			out[e] = PAST_END;
	}
	return out;
}

/* Returns n if elements e[0..n) are contiguous in memory in this order and the first is aligned to n
 * elements, or if all are out of bounds. Else returns the index of the first element that violates this. */
static int
neighbours(const int64_t *number, const int64_t *e, int n)
{
	int64_t at = e[0] < 0 ? PAST_END : number[e[0]];

	if (at != PAST_END && at % FAR % n != 0)
		return 0;
	for (int i = 0; i < n; i++)
		if (e[i] < 0 || number[e[i]] != (at == PAST_END ? PAST_END : at + i))
			return i;
	return n;
}

/* Does the bound of the tensor, or of the view inside it, along the view's dim `unit` lie between accesses
 * of vec elements? */
static bool
ends_between(Prove *p, const Op *view, int unit, int vec)
{
	const Param *tensor = val_param(p->k, view_source(view));

	if (vec == 1 || unit < 0 || view_in_bounds(p->k, view, unit))
		return true;
	if (view_is_longer(view)) {
		unit = view_operand_dim(view, unit);
		view = view_source(view)->def;
		tensor = view->code == O_view ? val_param(p->k, view_source(view)) : NULL;
	}
	unit = view_operand_dim(view, unit);
	return tensor && val_fact_at(p->k, view, view_end(p->k, view, unit)).mult % vec == 0 &&
	       (!view_first(view, unit) || val_fact_at(p->k, view, view_first(view, unit)).mult % vec == 0);
}

bool
prove_vectors(Prove *p, const Side *s, const Ownership *h, int vec, bool write)
{
	const int64_t *number;

	if (vec < 1 || h->regs % vec)
		return prove_error(p, -1, 0, "%lld registers are not a multiple of the %d elements per "
		                             "access",
		                   (long long)h->regs, vec);
	if (!s->shared && s->mem->def && view_align(p->k, s->mem->def, vec) % vec)
		return prove_error(p, -1, 0, "the tile is not known to start at a multiple of the %d "
		                             "elements per access",
		                   vec);
	if (!s->shared && s->mem->def && !ends_between(p, s->mem->def, s->unit, vec))
		return prove_error(p, -1, 0, "an access of %d elements may reach past the end of the tensor",
		                   vec);
	if (vec == 1)
		return true;
	if (s->shared && view_gather_dim(s->mem->def) >= 0 && !rows_aligned(s, vec))
		return prove_error(p, -1, 0, "gathered rows do not start at multiples of the %d elements "
		                             "per access",
		                   vec);
	number = numbers(p, s);
	for (int t = 0; t < p->threads; t++)
		for (int64_t r = 0; r < h->regs; r += vec) {
			const int64_t *e = &h->elem[t * h->regs + r];
			int i = !write || h->acts[t] ? neighbours(number, e, vec) : vec;

			if (i < vec)
				return prove_error(p, t, r, "an access of %d elements covers %s and %s, "
				                            "which are not contiguous in memory",
				                   vec, elem_text(p, &s->mem->type, e[0]),
				                   elem_text(p, &s->mem->type, e[i]));
		}
	return true;
}

/* Returns the element of tile `index` that selects element e of the view. */
static int64_t
index_of(const Op *view, const Type *index, int64_t e)
{
	int64_t c[DIM_MAX] = { 0 }, at = 0;

	type_coord(&view->out[0]->type, e, c);
	for (int d = 0; d < index->rank; d++)
		at = at * index->shape[d] + (index->shape[d] == 1 ? 0 : c[view_gather_dim(view) + d]);
	return at;
}

/* Validates the indices for access register r of h: each thread has its element's index in the same
 * register as thread 0. */
static bool
indices(Prove *p, const Val *mem, const Ownership *h)
{
	const Op *view = mem->def;
	bool gathers = view && view_gather_dim(view) >= 0;

	for (int d = 0; gathers && d < view_source(view)->type.rank; d++) {
		const Ownership *x = view_gathers(view, d) ? held_of(p, view_start(view, d)) : NULL;

		if (view_gathers(view, d) && !x)
			return false;
		for (int64_t r = 0; x && r < h->regs; r++) {
			int64_t reg = -1;

			for (int t = 0; t < p->threads; t++) {
				int64_t e = h->elem[t * h->regs + r], want;

				if (e < 0)
					continue;
				want = index_of(view, &view_start(view, d)->type, e);
				if (t == 0)
					reg = reg_of(x, want);
				if (reg < 0 || x->elem[t * x->regs + reg] != want)
					return prove_error(p, t, r,
					             "index %lld is not in the register that the access to "
					             "%s reads it from",
					                   (long long)want, elem_text(p, &mem->type, e));
			}
		}
	}
	return true;
}

/* Validates that the instruction's bits equal those of vec elements. For elements that straddle bytes they
 * are the odd part smaller: 3, 5 or 7 instructions form one access. */
static bool
width(Prove *p, const Op *o, int bits)
{
	const Instr *in = instr_of(o->lowering);
	int want = op_access(o)->vec * bits;
	int odd = bits;

	while (odd % 2 == 0)
		odd /= 2;
	want /= odd;

	if (!in)
		return prove_error(p, -1, 0, "no instruction was chosen");
	if (in->bits != (want < 8 ? 8 : want))
		return prove_error(p, -1, 0, "%s moves %d bits, not %d elements of %d", in->name, in->bits,
		                   op_access(o)->vec, bits);
	if (!instr_on(in, p->k->unit->target))
		return prove_error(p, -1, 0, "%s does not exist on %s", in->name, p->k->unit->target->name);
	return true;
}

/* Validates that the instruction implements the op: one of `kinds`, and the same operation and type for
 * updates. */
static bool
does(Prove *p, const Op *o, unsigned kinds)
{
	const Instr *in = instr_of(o->lowering);

	if (!in)
		return prove_error(p, -1, 0, "no instruction was chosen");
	if (!(kinds >> in->kind & 1))
		return prove_error(p, -1, 0, "%s performs a different operation", in->name);
	if (o->code == O_store && IMM(o, update) != STORE_PLAIN &&
	    (in->atom != IMM(o, update) || in->ta != store_value(o)->type.dtype))
		return prove_error(p, -1, 0, "%s has a different update operation or type", in->name);
	return true;
}

/* Validates matrix j of one instance in the warp that starts at thread w; `row` is the register of a row's
 * first element on the memory side. used[] counts, by register, thread 0's elements in matrices. */
static bool
prove_matrix(Prove *p, const Type *t, const Instr *in, const Ownership *h, const Ownership *m, int w,
	     int64_t row,
             int j, int64_t *used)
{
	bool trans = in->trans;
	int bits = dtype_info[t->dtype].bits;
	int per_word = 32 / bits, half = per_word / 2; /* elements in 16 bits */
	int64_t word = reg_of(h, m->elem[8 * j * m->regs + row]); /* lane 0 gets the first element of row 0 */

	if (word < 0)
		return prove_error(p, w, 0, "%s accesses %s, which this lane does not own", in->name,
		                   elem_text(p, t, m->elem[8 * j * m->regs + row]));
	if (word % per_word)
		return prove_error(p, w, word, "%s accesses 32-bit registers, and %s is not the first "
		                               "element of one", in->name,
		                   elem_text(p, t, m->elem[8 * j * m->regs + row]));
	for (int e = 0; w == 0 && e < per_word; e++)
		used[word + e]++;
	for (int l = 0; l < WARP_SIZE; l++)
		for (int i = 0; i < per_word; i++) {
			int64_t bit = bit_in_stream(bits, t->bit_order, word + i, 0) - word * bits;
			int e = (int)(bit / bits); /* in the order within the word */
			int r = trans ? 2 * (l % 4) + e / half : l / 4;
			int c = trans ? l / 4 * half + e % half : per_word * (l % 4) + e;
			int64_t want = h->elem[(w + l) * h->regs + word + i], got = -1;

			if (bit >= 0 && bit < 32)
				got = m->elem[(w + 8 * j + r) * m->regs + row + c];
			if (got != want)
				return prove_error(p, w + l, word + i, "%s accesses %s; expected %s by the "
				                                       "layout",
				                   in->name, elem_text(p, t, got), elem_text(p, t, want));
		}
	return true;
}

bool
prove_matrices(Prove *p, const Type *t, const Instr *in, const Ownership *h, const Layout *map, const Side *s)
{
	int per_row = 128 / dtype_info[t->dtype].bits;
	const Ownership *m = map ? held_spell(p, map, t, false) : NULL;
	int64_t *used = NEWN(p->arena, int64_t, h ? h->regs : 1);

	if (!map)
		return prove_error(p, -1, 0, "no mapping from lanes to row addresses");
	if (!instr_on(in, p->k->unit->target))
		return prove_error(p, -1, 0, "%s does not exist on %s", in->name, p->k->unit->target->name);
	if (!h || !m || !prove_vectors(p, s, m, per_row, false))
		return false;
	for (int w = 0; w < p->threads; w += WARP_SIZE)
		for (int64_t i = 0; i < m->regs / per_row; i++)
			for (int j = 0; j < in->bits / 32; j++)
				if (!prove_matrix(p, t, in, h, m, w, i * per_row, j, used))
					return false;
	for (int64_t r = 0; r < h->regs; r++)
		if (used[r] != 1)
			return prove_error(p, 0, r, "%s accesses this register %lld times; expected once",
			                   in->name,
			                   (long long)used[r]);
	return true;
}

void
prove_load(Prove *p, const Op *o)
{
	Side s;
	const Instr *in = instr_of(o->lowering);
	const Ownership *h;

	if (o->out[0]->type.space != S_reg || !side_of(p, load_source(o), &s))
		return;
	if (in && in->kind == IK_ldmatrix) {
		prove_matrices(p, &o->out[0]->type, in, held_of(p, o->out[0]), op_access(o)->map, &s);
		return;
	}
	h = held_of(p, o->out[0]);
	if (o->out[0]->type.bit_order)
		prove_error(p, -1, 0, "only ldmatrix supports a permuted element order");
	if (h && does(p, o, s.shared ? 1u << IK_ld_shared : 1u << IK_ld_global) &&
	    width(p, o, dtype_info[o->out[0]->type.dtype].bits) &&
	    prove_vectors(p, &s, h, op_access(o)->vec, false))
		indices(p, load_source(o), h);
}

void
prove_once(Prove *p, const Type *t, const Ownership *h)
{
	int64_t n = type_size(t);
	int *count = NEWN(p->arena, int, n);

	for (int i = 0; i < p->threads; i++)
		for (int64_t r = 0; h->acts[i] && r < h->regs; r++)
			if (h->elem[i * h->regs + r] >= 0)
				count[h->elem[i * h->regs + r]]++;
	for (int64_t e = 0; e < n; e++)
		if (count[e] != 1) {
			prove_error(p, -1, 0, "element %s is written %d times", elem_text(p, t, e), count[e]);
			return;
		}
}

/* Validates that an update's old value is stored where the destination's layout requires it, and that the
 * compared value is laid out like the new one. */
static bool
prove_found(Prove *p, const Op *o, const Ownership *h)
{
	const Ownership *other;
	Side s;

	if (access_found(o) && (!side_of(p, access_found(o), &s) || op_access(o)->vec != 1))
		return prove_error(p, -1, 0, "the layout of the old values does not match the tile's");
	if (o->nin < 4)
		return true;
	other = held_of(p, store_expected(o));
	if (!other || other->regs != h->regs)
		return prove_error(p, -1, 0, "the compared values have a different layout");
	for (int64_t i = 0; i < p->threads * h->regs; i++)
		if (h->elem[i] >= 0 && h->elem[i] != other->elem[i])
			return prove_error(p, (int)(i / h->regs), i % h->regs,
			                   "the compared value belongs to a different element");
	return true;
}

/* Returns the instruction kind for a store by IR.md, "store": from its memory space, whether it is an
 * update, and whether the old value is used. */
static InstrKind
store_means(const Op *o)
{
	bool shared = store_dest(o)->type.space == S_shared;

	if (IMM(o, update) == STORE_PLAIN)
		return shared ? IK_st_shared : IK_st_global;
	if (o->nin > 2) /* PTX ISA: "atom" returns the old value, "red" does not */
		return shared ? IK_atom_shared : IK_atom;
	return shared ? IK_red_shared : IK_red;
}

void
prove_store(Prove *p, const Op *o)
{
	Side s;
	InstrKind kind = store_means(o);
	const Instr *in = instr_of(o->lowering);
	const Type *t = &store_value(o)->type;
	const Ownership *h = t->space == S_reg ? held_of(p, store_value(o)) : NULL;

	if (h && in && in->kind == IK_stmatrix) {
		if (side_of(p, store_dest(o), &s) && prove_matrices(p, t, in, h, op_access(o)->map, &s))
			prove_once(p, t, h);
		return;
	}
	if (!h || !side_of(p, store_dest(o), &s) || !does(p, o, 1u << kind) ||
	    !width(p, o, dtype_info[store_value(o)->type.dtype].bits) ||
	    !prove_vectors(p, &s, h, op_access(o)->vec, true) || !indices(p, store_dest(o), h) ||
	    !prove_found(p, o, h))
		return;
	prove_once(p, &store_value(o)->type, h);
}

void
prove_copy(Prove *p, const Op *o)
{
	Side from, to;
	const Type *t = &copy_dest(o)->type;
	const Layout *map = op_access(o)->map;
	const Ownership *h = map ? held_spell(p, map, t, false) : NULL;
	const Instr *in = instr_of(o->lowering);
	bool single = in && in->kind == IK_ld_bits && dtype_info[t->dtype].bits < 8;

	if (instr_is_box(in)) {
		if (in->kind != (IMM(o, async) == COPY_OUT ? IK_tma_store : IK_tma_load) ||
		    IMM(o, async) < COPY_BARRIER)
			prove_error(p, -1, 0, "%s is not a copy of kind %lld", in->name,
			            (long long)IMM(o, async));
		else
			prove_boxes(p, o, in->kind == IK_tma_store);
		return;
	}
	if (!h) {
		prove_error(p, -1, 0, "the copy has no task mapping");
		return;
	}
	if (!side_of(p, copy_source(o), &from) || !side_of(p, copy_dest(o), &to) ||
	    !does(p, o,
	          1u << IK_ld_st | (IMM(o, async) ? 1u << IK_cp_async : 0) |
	                  (single ? 1u << IK_ld_bits : 0)) ||
	    !width(p, o, dtype_info[t->dtype].bits) ||
	    !prove_vectors(p, &from, h, single ? 1 : op_access(o)->vec, true) ||
	    !prove_vectors(p, &to, h, op_access(o)->vec, true) || !indices(p, copy_source(o), h))
		return;
	prove_once(p, t, h);
}
