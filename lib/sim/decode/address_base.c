/* address_base.c - determines the shared variable that an address is based on, for memcheck, where that is
 * certain.
 *
 * PTX does not specify where variables are located: an address based on one is valid within that one only. A
 * register has an owner if every instruction of the function that writes it computes an address of this
 * variable from integers: moves, conversions of space, sums. Other address arithmetic (differences, packing)
 * yields a value without owner. */
#include <string.h>
#include "lib/sim/decode/decode.h"

enum { MOST_PASSES = 64 };

/* A register may hold an address of a shared variable; number: not an address of one; unclear: unknown. */
static const Var number, unclear;

/* Merges two owners (lattice join). NULL: not written yet. */
static const Var *
join(const Var *a, const Var *b)
{
	return !a ? b : !b || a == b ? a
	                             : &unclear;
}

static const Var *
owner_of(const Opnd *o)
{
	const Var *v = &number;

	switch (o->kind) {
	case O_REG: return o->sel ? &unclear : o->reg->owner;
	case O_VAR: return o->var->space == SIM_SPACE_SHARED ? o->var : &number;
	case O_VEC: case O_PAIR:
		for (u32 i = 0; i < o->n; i++)
			if (owner_of(&o->elt[i]) != &number)
				v = &unclear;
		return v;
	default: return &number;
	}
}

static const Var *
sum(const Var *a, const Var *b)
{
	return !a || !b ? NULL : a == &number ? b : b == &number ? a
	                                : &unclear;
}

static bool
is(const PtxStmt *st, const char *op)
{
	size_t n = strlen(op);

	return !strncmp(st->op, op, n) && (!st->op[n] || st->op[n] == '.');
}

/* A mask that only clears low bits. */
static bool
rounds_down(const Opnd *o)
{
	return o->kind == O_IMM && (s32)o->imm < 0;
}

static const Var *
result(const PtxStmt *st)
{
	const Opnd *o = st->o;
	const Var *v = &number;

	if (st->no == 2 && (is(st, "mov") || is(st, "cvta") || is(st, "cvt")))
		return owner_of(&o[1]);
	if (st->no == 3 && (is(st, "add") || is(st, "or") || is(st, "xor") ||
	                    (is(st, "and") && rounds_down(&o[2])) ||
	                    (is(st, "sub") && owner_of(&o[2]) == &number)))
		return sum(owner_of(&o[1]), owner_of(&o[2]));
	if (st->no == 4 && is(st, "mad") && owner_of(&o[1]) == &number && owner_of(&o[2]) == &number)
		return owner_of(&o[3]);
	if (st->no == 4 && is(st, "selp"))
		return join(owner_of(&o[1]), owner_of(&o[2]));
	for (u32 i = 1; i < st->no; i++)
		if (owner_of(&o[i]) && owner_of(&o[i]) != &number)
			v = &unclear;
	return v;
}

static bool
write_to(const Opnd *o, const Var *v)
{
	bool changed = false;

	if (o->kind == O_VEC || o->kind == O_PAIR)
		for (u32 i = 0; i < o->n; i++)
			changed |= write_to(&o->elt[i], v == &number ? v : &unclear);
	if (o->kind != O_REG || join(o->reg->owner, v) == o->reg->owner)
		return changed;
	o->reg->owner = o->sel ? &unclear : join(o->reg->owner, v);
	return true;
}

static bool
several_shared(const Ptx *m)
{
	u32 n = 0;

	for (u32 i = 0; i < m->nvar; i++)
		n += m->var[i]->space == SIM_SPACE_SHARED;
	return n > 1;
}

/* Returns the only shared-memory address of an instruction, the first in [ ]; NULL for other instructions. */
static const Opnd *
base(const Ins *in)
{
	u32 at = in->id == OP_ld || in->id == OP_atom || in->id == OP_ldmatrix;

	if (in->id != OP_ld && in->id != OP_st && in->id != OP_atom && in->id != OP_red &&
	    in->id != OP_ldmatrix && in->id != OP_stmatrix && in->id != OP_cpasync)
		return NULL;
	return at < in->st->no && in->st->o[at].kind == O_ADDR ? &in->st->o[at].elt[0] : NULL;
}

void
find_owners(sim_module *m, const Fn *f)
{
	bool changed = several_shared(&m->ptx);
	u32 pass = 0;

	for (; changed && pass < MOST_PASSES; pass++) {
		changed = false;
		for (u32 i = 0; i < f->nst; i++)
			if (f->st[i].no > 1)
				changed |= write_to(&f->st[i].o[0], result(&f->st[i]));
	}
	if (!pass || pass == MOST_PASSES)
		return;
	for (u32 pc = f->pc; pc < f->pc + f->npc; pc++) {
		Ins *in = &m->code[pc];
		const Opnd *o = base(in);
		const Var *v = o ? owner_of(o) : NULL;
		in->owner = v && v->space == SIM_SPACE_SHARED ? v : NULL;
	}
}
