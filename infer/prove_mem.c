/* prove_mem.c - loads, stores and copies: every element moves from its address to its register or the other
 * way, and every written element is written once. */
#include "infer/prove.h"
#include "infer/instr.h"
#include <string.h>

/* One side of an access: where an element of the view lies. */
typedef struct Side {
	const Val *mem;
	bool shared;
	const Layout *layout; /* shared: of the alloc */
	int dim_of[DIM_MAX]; /* view dim -> alloc dim */
	int unit; /* global: the contiguous view dim, -1 none */
} Side;

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
	for (; s->shared && v->def && v->def->code == O_view; v = v->def->in[0])
		for (int d = 0; d < mem->type.rank; d++) {
			int at = -1, kept = -1;
			while (kept < s->dim_of[d])
				kept += !(v->def->imm[0] >> ++at & 1);
			s->dim_of[d] = at;
		}
	s->layout = v->type.layout;
	if (s->shared && !s->layout)
		return wrong(p, -1, 0, "the shared tile has no layout");
	return true;
}

static int64_t
shared_at(const Side *s, const int64_t *c)
{
	int64_t root[DIM_MAX] = { 0 };

	for (int d = 0; d < s->mem->type.rank; d++)
		root[s->dim_of[d]] = c[d];
	return mem_offset(s->layout, root);
}

/* Elements e[0..n) are neighbours in memory, in this order, and the first is aligned to all of them. */
static bool
neighbours(Prove *p, const Side *s, int thread, int64_t reg, const int64_t *e, int n)
{
	int64_t first[DIM_MAX] = { 0 }, c[DIM_MAX] = { 0 };
	const Type *t = &s->mem->type;

	if (n == 1)
		return true;
	elem_coord(t, e[0], first);
	for (int i = 0; i < n; i++) {
		bool ok;
		elem_coord(t, e[i], c);
		if (s->shared) {
			ok = shared_at(s, c) == shared_at(s, first) + i && shared_at(s, first) % n == 0;
		} else {
			ok = s->unit >= 0 && c[s->unit] == first[s->unit] + i && first[s->unit] % n == 0;
			for (int d = 0; d < t->rank; d++)
				ok = ok && (d == s->unit || c[d] == first[d]);
		}
		if (!ok)
			return wrong(p, thread, reg,
			             "an access of %d elements takes %s and %s, not neighbours in memory",
			             n, elem_text(p, t, e[0]), elem_text(p, t, e[i]));
	}
	return true;
}

static bool
vectors(Prove *p, const Side *s, const Held *h, int vec, bool write)
{
	if (vec < 1 || h->regs % vec)
		return wrong(p, -1, 0, "%lld registers are not whole accesses of %d",
		             (long long)h->regs, vec);
	for (int t = 0; t < p->threads; t++)
		for (int64_t r = 0; r < h->regs; r += vec)
			if ((!write || h->acts[t]) &&
			    !neighbours(p, s, t, r, &h->elem[t * h->regs + r], vec))
				return false;
	return true;
}

/* Access register r of h, along indices: a thread finds the index in the register where thread 0 has that of
 * its own element there. */
static bool
indices(Prove *p, const Val *mem, const Held *h)
{
	const Op *view = mem->def;
	int dim = view ? view_gather_dim(view) : -1;
	int64_t c[DIM_MAX] = { 0 };

	for (int d = 0; dim >= 0 && d < view->in[0]->type.rank; d++) {
		const Held *x = view_gathers(view, d) ? held_of(p, view->in[1 + d]) : NULL;

		if (view_gathers(view, d) && !x)
			return false;
		for (int64_t r = 0; x && r < h->regs; r++) {
			int64_t reg = -1;

			for (int t = 0; t < p->threads; t++) {
				int64_t e = h->elem[t * h->regs + r];

				if (e < 0)
					continue;
				elem_coord(&mem->type, e, c);
				if (t == 0)
					reg = reg_of(x, c[dim]);
				if (reg < 0 || x->elem[t * x->regs + reg] != c[dim])
					return wrong(p, t, r,
					             "index %lld is not where the access to %s looks for it",
					             (long long)c[dim], elem_text(p, &mem->type, e));
			}
		}
	}
	return true;
}

/* Bits of an access: what the row's name promises is what vec elements take; of elements that lie across
 * bytes, an odd part of it, so that 3, 5 or 7 such instructions are the access. */
static bool
width(Prove *p, const Op *o, int bits)
{
	const Instr *in = o->pick && o->pick->inst ? instr_find(o->pick->inst) : NULL;
	int want = o->pick ? o->pick->vec * bits : 0;
	int odd = bits;

	while (odd % 2 == 0)
		odd /= 2;
	want /= odd;

	if (!in)
		return wrong(p, -1, 0, "no instruction was chosen");
	if (in->bits != (want < 8 ? 8 : want))
		return wrong(p, -1, 0, "%s moves %d bits, not %d elements of %d", in->name, in->bits,
		             o->pick->vec, bits);
	if (!instr_on(in, p->k->unit->target))
		return wrong(p, -1, 0, "%s does not exist on %s", in->name, p->k->unit->target->name);
	return true;
}

/* The instruction does what the op means: kinds that may stand for it, and of updates the same one. */
static bool
does(Prove *p, const Op *o, unsigned kinds)
{
	const Instr *in = o->pick && o->pick->inst ? instr_find(o->pick->inst) : NULL;

	if (!in)
		return wrong(p, -1, 0, "no instruction was chosen");
	if (!(kinds >> in->kind & 1))
		return wrong(p, -1, 0, "%s does something else", in->name);
	if (in->kind == IK_red && (in->atom != o->imm[0] || in->ta != o->in[0]->type.dtype))
		return wrong(p, -1, 0, "%s updates otherwise, or another type", in->name);
	return true;
}

/* Matrix j of one instance in the warp that starts at thread w; `row` is the register of a row's first
 * element on the memory side.  used[] counts by register what thread 0 has in matrices. */
static bool
prove_matrix(Prove *p, const Type *t, const Instr *in, const Held *h, const Held *m, int w, int64_t row,
             int j, int64_t *used)
{
	bool trans = in->trans;
	int bits = dtype_info[t->dtype].bits;
	int per_word = 32 / bits, half = per_word / 2; /* elements of 16 bits */
	int64_t word = reg_of(h, m->elem[8 * j * m->regs + row]); /* lane 0 gets the first of row 0 */

	if (word < 0)
		return wrong(p, w, 0, "%s moves %s, which this lane does not hold", in->name,
		             elem_text(p, t, m->elem[8 * j * m->regs + row]));
	if (word % per_word)
		return wrong(p, w, word, "%s moves words, and %s begins none", in->name,
		             elem_text(p, t, m->elem[8 * j * m->regs + row]));
	for (int e = 0; w == 0 && e < per_word; e++)
		used[word + e]++;
	for (int l = 0; l < WARP_SIZE; l++)
		for (int i = 0; i < per_word; i++) {
			int64_t bit = bit_in_stream(bits, t->spread, word + i, 0) - word * bits;
			int e = (int)(bit / bits); /* as the word has them */
			int r = trans ? 2 * (l % 4) + e / half : l / 4;
			int c = trans ? l / 4 * half + e % half : per_word * (l % 4) + e;
			int64_t want = h->elem[(w + l) * h->regs + word + i], got = -1;

			if (bit >= 0 && bit < 32)
				got = m->elem[(w + 8 * j + r) * m->regs + row + c];
			if (got != want)
				return wrong(p, w + l, word + i, "%s moves %s, the layout says %s", in->name,
				             elem_text(p, t, got), elem_text(p, t, want));
		}
	return true;
}

/* ldmatrix (PTX ISA 9.7.14.5.15): lane 8j + r of matrix j gives the address of its row r, 16 bytes.  Without
 * .trans lane l receives the 32 bits at row l/4, byte 4 (l % 4); with it the two 16-bit elements of rows
 * 2 (l % 4) and the next, column l/4.  stmatrix (9.7.14.5.16) moves the same the other way.  Every register
 * that holds the tile takes part once. */
static bool
prove_matrices(Prove *p, const Type *t, const Instr *in, const Held *h, const Layout *map, const Side *s)
{
	int per_row = 128 / dtype_info[t->dtype].bits;
	const Held *m = map ? spell(p, map, t, false) : NULL;
	int64_t *used = NEWN(p->arena, int64_t, h ? h->regs : 1);

	if (!map)
		return wrong(p, -1, 0, "nothing says which lane addresses which row");
	if (!instr_on(in, p->k->unit->target))
		return wrong(p, -1, 0, "%s does not exist on %s", in->name, p->k->unit->target->name);
	if (!h || !m || !vectors(p, s, m, per_row, false))
		return false;
	for (int w = 0; w < p->threads; w += WARP_SIZE)
		for (int64_t i = 0; i < m->regs / per_row; i++)
			for (int j = 0; j < in->bits / 32; j++)
				if (!prove_matrix(p, t, in, h, m, w, i * per_row, j, used))
					return false;
	for (int64_t r = 0; r < h->regs; r++)
		if (used[r] != 1)
			return wrong(p, 0, r, "%s moves this register %lld times", in->name,
			             (long long)used[r]);
	return true;
}

void
prove_load(Prove *p, const Op *o)
{
	Side s;
	const Instr *in = o->pick && o->pick->inst ? instr_find(o->pick->inst) : NULL;
	const Held *h;

	if (!side_of(p, o->in[0], &s))
		return;
	if (in && in->kind == IK_ldmatrix) {
		prove_matrices(p, &o->out[0]->type, in, held_of(p, o->out[0]), o->pick->map, &s);
		return;
	}
	h = held_of(p, o->out[0]);
	if (o->out[0]->type.spread)
		wrong(p, -1, 0, "only ldmatrix delivers elements in an order of their own");
	if (h && does(p, o, s.shared ? 1u << IK_ld_shared : 1u << IK_ld_global) &&
	    width(p, o, dtype_info[o->out[0]->type.dtype].bits) &&
	    vectors(p, &s, h, o->pick->vec, false))
		indices(p, o->in[0], h);
}

/* Every element by exactly one acting thread. */
static void
once(Prove *p, const Type *t, const Held *h)
{
	int64_t n = type_size(t);
	int *count = NEWN(p->arena, int, n);

	for (int i = 0; i < p->threads; i++)
		for (int64_t r = 0; h->acts[i] && r < h->regs; r++)
			if (h->elem[i * h->regs + r] >= 0)
				count[h->elem[i * h->regs + r]]++;
	for (int64_t e = 0; e < n; e++)
		if (count[e] != 1) {
			wrong(p, -1, 0, "element %s is written %d times", elem_text(p, t, e), count[e]);
			return;
		}
}

void
prove_store(Prove *p, const Op *o)
{
	Side s;
	InstrKind global = o->imm[0] ? IK_red : IK_st_global;
	const Held *h = held_of(p, o->in[0]);
	const Instr *in = o->pick && o->pick->inst ? instr_find(o->pick->inst) : NULL;
	const Type *t = &o->in[0]->type;

	if (h && in && in->kind == IK_stmatrix) {
		if (side_of(p, o->in[1], &s) && prove_matrices(p, t, in, h, o->pick->map, &s))
			once(p, t, h);
		return;
	}
	if (!h || !side_of(p, o->in[1], &s) || !does(p, o, 1u << (s.shared ? IK_st_shared : global)) ||
	    !width(p, o, dtype_info[o->in[0]->type.dtype].bits) ||
	    !vectors(p, &s, h, o->pick->vec, true) || !indices(p, o->in[1], h))
		return;
	once(p, &o->in[0]->type, h);
}

void
prove_copy(Prove *p, const Op *o)
{
	Side from, to;
	const Type *t = &o->in[1]->type;
	const Held *h = o->pick && o->pick->map ? spell(p, o->pick->map, t, false) : NULL;
	const Instr *in = o->pick && o->pick->inst ? instr_find(o->pick->inst) : NULL;
	bool single = in && in->kind == IK_ld_bits && dtype_info[t->dtype].bits < 8;

	if (!h) {
		wrong(p, -1, 0, "the copy has no task mapping");
		return;
	}
	if (!side_of(p, o->in[0], &from) || !side_of(p, o->in[1], &to) ||
	    !does(p, o,
	          1u << IK_ld_st | (o->imm[0] ? 1u << IK_cp_async : 0) | (single ? 1u << IK_ld_bits : 0)) ||
	    !width(p, o, dtype_info[t->dtype].bits) ||
	    !vectors(p, &from, h, single ? 1 : o->pick->vec, true) ||
	    !vectors(p, &to, h, o->pick->vec, true) || !indices(p, o->in[0], h))
		return;
	once(p, t, h);
}

/* A memory layout gives every element its own address. */
static bool
injective(Prove *p, const Layout *l, const Type *t, int64_t bytes)
{
	int64_t n = type_size(t), room = bytes >= 0 ? bytes * 8 / dtype_info[t->dtype].bits : 4 * n + 64;
	uint8_t *taken = NEWN(p->arena, uint8_t, room);

	for (int64_t e = 0; e < n; e++) {
		int64_t c[DIM_MAX] = { 0 }, at;
		elem_coord(t, e, c);
		at = mem_offset(l, c);
		if (at < 0 || at >= room)
			return wrong(p, -1, 0, "element %s lies at %lld, outside the tile's memory",
			             elem_text(p, t, e), (long long)at);
		if (taken[at])
			return wrong(p, -1, 0, "element %s shares its address with another",
			             elem_text(p, t, e));
		taken[at] = 1;
	}
	return true;
}

void
prove_alloc(Prove *p, const Op *o)
{
	const Type *t = &o->out[0]->type;

	if (t->layout)
		injective(p, t->layout, t, -1);
	else
		wrong(p, -1, 0, "the shared tile has no layout");
}

/* Another shape of a shared tile: every element lies where it lies in the tile. */
void
prove_alias(Prove *p, const Op *o)
{
	const Type *t = &o->in[0]->type, *r = &o->out[0]->type;

	for (int64_t e = 0; r->layout && e < type_size(r); e++) {
		int64_t c[DIM_MAX] = { 0 }, d[DIM_MAX] = { 0 };

		elem_coord(t, e, c);
		elem_coord(r, e, d);
		if (!t->layout || mem_offset(t->layout, c) != mem_offset(r->layout, d)) {
			wrong(p, -1, 0, "element %s is not where element %s of the tile is",
			      elem_text(p, r, e), elem_text(p, t, e));
			return;
		}
	}
}

/* One side of a staging tile: plain accesses, or matrices. */
static bool
staged_side(Prove *p, const Side *s, InstrKind kind, const char *row, const Layout *map, const Held *h,
            int vec)
{
	const Instr *in = instr_find(row);

	if (!row)
		return vectors(p, s, h, vec, kind == IK_stmatrix);
	if (!in || in->kind != kind)
		return wrong(p, -1, 0, "%s is no way to touch a staging tile", row);
	return prove_matrices(p, &s->mem->type, in, h, map, s);
}

bool
prove_staging(Prove *p, const Type *t, const Pick *how, const Held *from, const Held *to)
{
	Val stage = { .type = *t };
	Side s = { .mem = &stage, .shared = true, .layout = how->scratch };

	for (int d = 0; d < t->rank; d++)
		s.dim_of[d] = d;
	if (!s.layout)
		return wrong(p, -1, 0, "no staging tile");
	if (!injective(p, s.layout, t, how->scratch_bytes) ||
	    !staged_side(p, &s, IK_stmatrix, how->wr, how->map, from, how->vec) ||
	    !staged_side(p, &s, IK_ldmatrix, how->rd, how->map2, to, how->vec2))
		return false;
	once(p, t, from);
	return p->ok;
}

void
prove_convert(Prove *p, const Op *o)
{
	const Held *from = held_of(p, o->in[0]), *to = held_of(p, o->out[0]);
	const char *how = o->pick ? o->pick->inst : NULL;
	const Type *t = &o->out[0]->type;

	if (!from || !to)
		return;
	if (!how) {
		wrong(p, -1, 0, "no way was chosen");
		return;
	}
	if (!strcmp(how, "shared")) {
		Type staged = *t;

		if (pick_stage_bits(o->pick, t->dtype) != dtype_info[t->dtype].bits)
			staged.dtype = D_u8;
		prove_staging(p, &staged, o->pick, from, to);
		return;
	}
	for (int64_t r = 0; r < to->regs; r++) {
		int64_t fixed = reg_of(from, to->elem[r]);
		for (int i = 0; i < p->threads; i++) {
			int64_t want = to->elem[i * to->regs + r];
			bool there = false;
			int first = !strcmp(how, "shuffle") ? i / WARP_SIZE * WARP_SIZE : i;
			int last = !strcmp(how, "shuffle") ? first + WARP_SIZE : i + 1;
			for (int j = first; j < last && !there; j++)
				for (int64_t q = 0; q < from->regs && !there; q++)
					there = from->elem[j * from->regs + q] == want &&
					        (strcmp(how, "rename") || q == fixed);
			if (!there) {
				wrong(p, i, r, "a %s cannot bring %s here", how, elem_text(p, t, want));
				return;
			}
		}
	}
}
