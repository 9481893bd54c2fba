/* layout_conversion.c - validates layouts of shared tiles, and layout conversions through registers,
 * shuffles or a staging tile. */
#include "infer/core/instr.h"
#include "infer/validate/accesses.h"
#include <string.h>

/* Validates that a memory layout gives every element a separate address within the tile. */
static bool
injective(Prove *p, const Layout *l, const Type *t, int64_t bytes)
{
	int64_t n = type_size(t), room = bytes >= 0 ? bytes * 8 / dtype_info[t->dtype].bits : 4 * n + 64;
	uint8_t *taken = NEWN(p->arena, uint8_t, room);
	const int64_t *address = mem_offsets(p, l, t, NULL);

	for (int64_t e = 0; e < n; e++) {
		int64_t at = address[e];

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

/* Validates a reshape of a shared tile: every element stays at its address. */
static void
prove_alias(Prove *p, const Op *o)
{
	const Type *t = &op_source(o)->type, *r = &o->out[0]->type;
	const int64_t *at, *alias;

	if (!r->layout)
		return;
	at = t->layout ? mem_offsets(p, t->layout, t, NULL) : NULL;
	alias = mem_offsets(p, r->layout, r, NULL);
	for (int64_t e = 0; e < type_size(r); e++) {
		if (!at || at[e] != alias[e]) {
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

/* Validates one side of a staging tile: plain accesses, or ldmatrix/stmatrix. */
static bool
staged_side(Prove *p, const Side *s, InstrKind kind, const LoweredAccess *a, const Ownership *h)
{
	const Instr *in = instr_find(a->inst);

	if (!a->inst)
		return prove_vectors(p, s, h, a->vec, kind == IK_stmatrix);
	if (!in || in->kind != kind)
		return prove_error(p, -1, 0, "%s cannot access a staging tile", a->inst);
	return prove_matrices(p, &s->mem->type, in, h, a->map, s);
}

bool
prove_staging(Prove *p, const Type *t, const Staging *how, const Ownership *from, const Ownership *to)
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

static void
not_here(Prove *p, int thread, int64_t reg, LoweringKind how, const Type *t, int64_t want)
{
	prove_error(p, thread, reg, "a %s conversion cannot move %s here", lowering_kind_name[how],
	            elem_text(p, t, want));
}

/* Validates a register renaming: lane 0's source register must be correct for all lanes. */
static void
renames(Prove *p, const Type *t, const Ownership *from, const Ownership *to)
{
	for (int64_t r = 0; r < to->regs; r++) {
		int64_t fixed = reg_of(from, to->elem[r]);

		for (int i = 0; i < p->threads; i++)
			if (fixed < 0 || from->elem[i * from->regs + fixed] != to->elem[i * to->regs + r]) {
				not_here(p, i, r, LW_rename, t, to->elem[i * to->regs + r]);
				return;
			}
	}
}

/* Validates that each element of the result is in some register of the same lane (LW_select), or of a lane
 * of its warp. */
static void
found(Prove *p, const Type *t, const Ownership *from, const Ownership *to, LoweringKind how)
{
	int together = how == LW_shuffle ? WARP_SIZE : 1;
	int *group = NEWN(p->arena, int, type_size(t)); /* the last group that has the element, from 1 */
	int bad = -1;
	int64_t reg = to->regs;

	for (int first = 0; first < p->threads; first += together) {
		for (int64_t i = first * from->regs; i < (first + together) * from->regs; i++)
			group[from->elem[i]] = first + 1;
		for (int i = first; i < first + together; i++)
			for (int64_t r = 0; r < reg; r++)
				if (group[to->elem[i * to->regs + r]] != first + 1) {
					bad = i;
					reg = r;
				}
	}
	if (bad >= 0)
		not_here(p, bad, reg, how, t, to->elem[bad * to->regs + reg]);
}

/* Does each element take a full byte in the staging tile? PTX ISA, "st": it stores at least 8 bits, in
 * powers of 2. Other element sizes are therefore laid out across bytes, and elements smaller than a byte
 * cannot be accessed in chunks of less than a byte. */
static bool
takes_bytes(const Staging *how, DType d)
{
	int bits = dtype_info[d].bits;

	if (bits & (bits - 1))
		return true;
	return bits < 8 && min64(how->write.vec, how->read.vec) * bits < 8;
}

void
prove_convert_layout(Prove *p, const Op *o)
{
	const Ownership *from = held_of(p, op_source(o)), *to = held_of(p, o->out[0]);
	LoweringKind how = o->lowering ? o->lowering->kind : LW_none;
	const Type *t = &o->out[0]->type;

	if (!from || !to)
		return;
	if (how != LW_rename && how != LW_select && how != LW_shuffle && how != LW_shared) {
		prove_error(p, -1, 0, "no lowering was chosen");
		return;
	}
	if (how == LW_shared) {
		Type staged = *t;

		if (takes_bytes(&o->lowering->staged, t->dtype))
			staged.dtype = D_u8;
		prove_staging(p, &staged, &o->lowering->staged, from, to);
		return;
	}
	if (how == LW_rename)
		renames(p, t, from, to);
	else
		found(p, t, from, to, how);
}
