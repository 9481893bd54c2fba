/* convert.c - shared tiles, and conversions between layouts: by registers, shuffles or a staging
 * tile. */
#include "infer/base/instr.h"
#include "infer/prove/mem.h"
#include <string.h>

/* A memory layout gives every element its own address. */
static bool
injective(Prove *p, const Layout *l, const Type *t, int64_t bytes)
{
	int64_t n = type_size(t), room = bytes >= 0 ? bytes * 8 / dtype_info[t->dtype].bits : 4 * n + 64;
	uint8_t *taken = NEWN(p->arena, uint8_t, room);

	for (int64_t e = 0; e < n; e++) {
		int64_t c[DIM_MAX] = { 0 }, at;
		type_coord(t, e, c);
		at = mem_offset(l, c);
		if (at < 0 || at >= room)
			return prove_error(p, -1, 0, "element %s is at %lld, outside the tile's memory",
			                   elem_text(p, t, e), (long long)at);
		if (taken[at])
			return prove_error(p, -1, 0, "element %s shares its address with another",
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
		prove_error(p, -1, 0, "the shared tile has no layout");
}

/* Another shape of a shared tile: every element is where it is in the tile. */
static void
prove_alias(Prove *p, const Op *o)
{
	const Type *t = &o->in[0]->type, *r = &o->out[0]->type;

	for (int64_t e = 0; r->layout && e < type_size(r); e++) {
		int64_t c[DIM_MAX] = { 0 }, d[DIM_MAX] = { 0 };

		type_coord(t, e, c);
		type_coord(r, e, d);
		if (!t->layout || mem_offset(t->layout, c) != mem_offset(r->layout, d)) {
			prove_error(p, -1, 0, "element %s is not where element %s of the tile is",
			            elem_text(p, r, e), elem_text(p, t, e));
			return;
		}
	}
}

void
prove_reshape(Prove *p, const Op *o)
{
	if (val_is_alias(o->out[0]))
		prove_alias(p, o);
	else
		prove_regmap(p, o);
}

/* One side of a staging tile: plain accesses, or matrices. */
static bool
staged_side(Prove *p, const Side *s, InstrKind kind, const LoweredAccess *a, const Held *h)
{
	const Instr *in = instr_find(a->inst);

	if (!a->inst)
		return prove_vectors(p, s, h, a->vec, kind == IK_stmatrix);
	if (!in || in->kind != kind)
		return prove_error(p, -1, 0, "%s is no way to touch a staging tile", a->inst);
	return prove_matrices(p, &s->mem->type, in, h, a->map, s);
}

bool
prove_staging(Prove *p, const Type *t, const Staging *how, const Held *from, const Held *to)
{
	Val stage = { .type = *t };
	Side s = { .mem = &stage, .shared = true, .layout = how->tile };

	for (int d = 0; d < t->rank; d++)
		s.dim_of[d] = d;
	if (!s.layout)
		return prove_error(p, -1, 0, "no staging tile");
	if (!injective(p, s.layout, t, how->bytes) ||
	    !staged_side(p, &s, IK_stmatrix, &how->write, from) ||
	    !staged_side(p, &s, IK_ldmatrix, &how->read, to))
		return false;
	prove_once(p, t, from);
	return p->ok;
}

void
prove_convert(Prove *p, const Op *o)
{
	const Held *from = held_of(p, o->in[0]), *to = held_of(p, o->out[0]);
	LoweringKind how = o->lowering ? o->lowering->kind : LW_none;
	const Type *t = &o->out[0]->type;

	if (!from || !to)
		return;
	if (how != LW_rename && how != LW_select && how != LW_shuffle && how != LW_shared) {
		prove_error(p, -1, 0, "no way was chosen");
		return;
	}
	if (how == LW_shared) {
		Type staged = *t;

		if (staging_bits(&o->lowering->staged, t->dtype) != dtype_info[t->dtype].bits)
			staged.dtype = D_u8;
		prove_staging(p, &staged, &o->lowering->staged, from, to);
		return;
	}
	for (int64_t r = 0; r < to->regs; r++) {
		int64_t fixed = reg_of(from, to->elem[r]);
		for (int i = 0; i < p->threads; i++) {
			int64_t want = to->elem[i * to->regs + r];
			bool there = false;
			int first = how == LW_shuffle ? i / WARP_SIZE * WARP_SIZE : i;
			int last = how == LW_shuffle ? first + WARP_SIZE : i + 1;
			for (int j = first; j < last && !there; j++)
				for (int64_t q = 0; q < from->regs && !there; q++)
					there = from->elem[j * from->regs + q] == want &&
					        (how != LW_rename || q == fixed);
			if (!there) {
				prove_error(p, i, r, "a %s cannot bring %s here", lowering_kind_name[how],
				            elem_text(p, t, want));
				return;
			}
		}
	}
}
