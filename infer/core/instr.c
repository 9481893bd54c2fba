/* instr.c - builds the instruction table from instr.def and answers queries about its rows. */
#include "infer/core/instr.h"
#include "hexc/ir/memory_effects.h"
#include <string.h>

const Instr instrs[] = {
#define INSTR(name_, kind_, bits_, trans_, features_, text_, cons_) \
	{ .name = #name_,                                           \
	  .kind = IK_##kind_,                                       \
	  .bits = (bits_),                                          \
	  .trans = (trans_),                                        \
	  .m = 1,                                                   \
	  .n = 1,                                                   \
	  .k = 1,                                                   \
	  .warps = 1,                                               \
	  .ta = D_COUNT,                                            \
	  .tb = D_COUNT,                                            \
	  .acc = D_COUNT,                                           \
	  .features = (features_),                                  \
	  .text = (text_),                                          \
	  .cons = (cons_) },
#define UPDATE_ROW(name_, kind_, atom_, type_, bits_, features_, text_, cons_) \
	{ .name = (name_),                                                  \
	  .kind = (kind_),                                                  \
	  .warps = 1,                                                       \
	  .bits = (bits_),                                                  \
	  .atom = STORE_##atom_,                                            \
	  .ta = D_##type_,                                                  \
	  .tb = D_COUNT,                                                    \
	  .acc = D_COUNT,                                                   \
	  .features = (features_),                                          \
	  .text = (text_),                                                  \
	  .cons = (cons_) },
#define INSTR_RED(op, name, atom, type, bits, features, text, cons) \
	UPDATE_ROW("red_" #op "_" #name, IK_red, atom, type, bits, features, text, cons)
#define INSTR_RED_SHARED(op, name, atom, type, bits, features, text, cons) \
	UPDATE_ROW("red_shared_" #op "_" #name, IK_red_shared, atom, type, bits, features, text, cons)
#define INSTR_ATOM(op, atom, type, bits, features, text, cons) \
	UPDATE_ROW("atom_" #op "_" #type, IK_atom, atom, type, bits, features, text, cons)
#define INSTR_ATOM_SHARED(op, atom, type, bits, features, text, cons) \
	UPDATE_ROW("atom_shared_" #op "_" #type, IK_atom_shared, atom, type, bits, features, text, cons)
#define INSTR_MMA(name_, m_, n_, k_, ta_, tb_, acc_, features_, text_, cons_, a_, b_, c_) \
	{ .name = #name_,                                                                 \
	  .kind = IK_mma,                                                                 \
	  .warps = 1,                                                                     \
	  .m = (m_),                                                                      \
	  .n = (n_),                                                                      \
	  .k = (k_),                                                                      \
	  .ta = D_##ta_,                                                                  \
	  .tb = D_##tb_,                                                                  \
	  .acc = D_##acc_,                                                                \
	  .features = (features_),                                                        \
	  .text = (text_),                                                                \
	  .cons = (cons_),                                                                \
	  .a = (a_),                                                                      \
	  .b = (b_),                                                                      \
	  .c = (c_) },
#define INSTR_SP(name_, m_, n_, k_, ta_, tb_, acc_, features_, text_, cons_, a_, b_, c_, e_) \
	{ .name = #name_,                                                                    \
	  .kind = IK_mma_sp,                                                                 \
	  .warps = 1,                                                                        \
	  .m = (m_),                                                                         \
	  .n = (n_),                                                                         \
	  .k = (k_),                                                                         \
	  .ta = D_##ta_,                                                                     \
	  .tb = D_##tb_,                                                                     \
	  .acc = D_##acc_,                                                                   \
	  .features = (features_),                                                           \
	  .text = (text_),                                                                   \
	  .cons = (cons_),                                                                   \
	  .a = (a_),                                                                         \
	  .b = (b_),                                                                         \
	  .c = (c_),                                                                         \
	  .e = (e_) },
#define INSTR_SCALED(name_, k_, ta_, tb_, scale_, scales_, text_, cons_, a_, b_, c_) \
	{ .name = #name_,                                                            \
	  .kind = IK_mma_scaled,                                                     \
	  .warps = 1,                                                                \
	  .m = 16,                                                                   \
	  .n = 8,                                                                    \
	  .k = (k_),                                                                 \
	  .ta = D_##ta_,                                                             \
	  .tb = D_##tb_,                                                             \
	  .acc = D_f32,                                                              \
	  .scale = D_##scale_,                                                       \
	  .scales = (scales_),                                                       \
	  .features = T_MMA_SCALED,                                                  \
	  .text = (text_),                                                           \
	  .cons = (cons_),                                                           \
	  .a = (a_),                                                                 \
	  .b = (b_),                                                                 \
	  .c = (c_) },
#define INSTR_WGMMA(name_, k_, ta_, tb_, acc_, features_, text_, a_) \
	{ .name = #name_,                                            \
	  .kind = IK_wgmma,                                          \
	  .warps = 4,                                                \
	  .m = 64,                                                   \
	  .n = 8,                                                    \
	  .k = (k_),                                                 \
	  .ta = D_##ta_,                                             \
	  .tb = D_##tb_,                                             \
	  .acc = D_##acc_,                                           \
	  .features = (features_),                                   \
	  .text = (text_),                                           \
	  .a = (a_) },
#include "infer/core/instr.def"
	{ .name = NULL },
};

InstrKind
instr_store_kind(const Op *store)
{
	static const InstrKind kind[2][3] = {
		{ IK_st_global, IK_red, IK_atom },
		{ IK_st_shared, IK_red_shared, IK_atom_shared },
	};
	bool update = IMM(store, update) != STORE_PLAIN;

	return kind[store_dest(store)->type.space == S_shared][update + (access_found(store) != NULL)];
}

bool
instr_is_update(InstrKind kind)
{
	return kind == IK_red || kind == IK_atom || kind == IK_red_shared || kind == IK_atom_shared;
}

const Instr *
instr_find(const char *name)
{
	/* fast path: `name` usually points into the table */
	for (const Instr *i = instrs; name && i->name; i++)
		if (i->name == name)
			return i;
	for (const Instr *i = instrs; name && i->name; i++)
		if (strcmp(i->name, name) == 0)
			return i;
	return NULL;
}

const Instr *
instr_of(const Lowering *p)
{
	return p && (p->kind == LW_access || p->kind == LW_dot) ? instr_find(lowering_name(p)) : NULL;
}

bool
instr_on(const Instr *i, const Target *t)
{
	return (i->features & ~t->features) == 0;
}

bool
instr_is_whole(const Instr *i)
{
	return i->kind == IK_mma || i->kind == IK_mma_scaled;
}

bool
instr_is_box(const Instr *i)
{
	return i && (i->kind == IK_tma_load || i->kind == IK_tma_store);
}

bool
instr_fragment(const Instr *i, int operand, bool swap, Layout *out)
{
	static const int turned[2] = { 1, 0 };
	const char *text[3] = { i->a, i->b, i->c };
	const char *s = text[swap && operand < 2 ? 1 - operand : operand];
	Layout l;
	size_t at;

	if (!s || !layout_parse(&l, s, strlen(s), &at))
		return false;
	if (swap)
		layout_permute(out, &l, turned);
	else
		*out = l;
	return true;
}

/* Returns the number of lanes in a group of four that hold the metadata of one instance. */
static int
position_lanes(const Layout *e)
{
	int n = 1;

	for (Digit g = layout_digits(e); g.it; digit_next(&g))
		if (g.it->axis == AX_lane && g.it->stride < 4)
			n *= (int)g.it->extent;
	return n;
}

int
instr_selectors(const Instr *i)
{
	Layout e;
	size_t at;

	return i->e && layout_parse(&e, i->e, strlen(i->e), &at) ? 4 / position_lanes(&e) : 0;
}

bool
instr_positions(const Instr *i, int steps, bool swap, Layout *out)
{
	static const int turned[2] = { 1, 0 };
	Layout e;
	size_t at;
	int lanes;

	if (!i->e || !layout_parse(&e, i->e, strlen(i->e), &at))
		return false;
	lanes = position_lanes(&e);
	if (steps < 1 || steps > 4 / lanes || !layout_push(&e, 1, steps, lanes, AX_lane) ||
	    !layout_push_rep(&e, 4 / (lanes * steps), lanes * steps, AX_lane))
		return false;
	if (swap)
		layout_permute(out, &e, turned);
	else
		*out = e;
	return true;
}

static int
common(int x, int y)
{
	return y ? common(y, x % y) : x;
}

bool
instr_scales(const Instr *i, int steps, int operand, bool swap, Layout *out)
{
	static const int turned[2] = { 1, 0 };
	bool b = (operand == 1) != swap; /* the instruction's B */
	int bytes = common(steps, 4 / i->scales), all = b ? 4 : 2, lanes = common(steps / bytes, all);
	Layout l;

	layout_init(&l, 2); /* [m or n, k/b] */
	if (!layout_push(&l, 0, 8, 4, AX_lane) || (!b && !layout_push(&l, 0, 2, 1, AX_lane)) ||
	    !layout_push(&l, 1, (int64_t)i->scales * bytes, 1, AX_reg) ||
	    !layout_push(&l, 1, lanes, b ? 1 : 2, AX_lane) ||
	    !layout_push_rep(&l, all / lanes, (b ? 1 : 2) * lanes, AX_lane))
		return false;
	if (operand == 1)
		layout_permute(out, &l, turned);
	else
		*out = l;
	return true;
}
