/* layout_rules.h - what each op says about layouts: propagate_layouts() asks it of every op that may know more. */
#ifndef HEXC_LAYOUT_RULES_H
#define HEXC_LAYOUT_RULES_H
#include "infer/core/search_state.h"

/* ---- propagate.c ---------------------------------------------------------------------------------- */
/* Layouts for every register value under s->sol->plan.  False: s->failure says why not. */
bool propagate_layouts(Solve *s);

/* ---- layout_rules.c -------------------------------------------------------------------------------------- */
/* One rule per `layout` column of ops.def; NULL: the op says nothing. */
typedef void (*RuleFn)(Solve *s, Op *o);
extern const RuleFn rule_of[O_COUNT];
void rule_for(Solve *s, Op *o);

/* ---- layout_rules_shift.c --------------------------------------------------------------------------------- */
void rule_shift(Solve *s, Op *o);
void rule_pieces(Solve *s, Op *o); /* slice, concat */
/* Lay the tile of shift o out so that its line along the shift's dim is within a warp. */
void anchor_shift(Solve *s, Op *o);
/* Lay the tiles of slice or concat o out so that its pieces are in registers of their own. */
void anchor_pieces(Solve *s, Op *o);

/* ---- layout_rules_default.c ------------------------------------------------------------------------------ */
/* A layout for op o's results or operands when nothing demands one; last resort.  False: not mine. */
bool rule_default(Solve *s, Op *o);
/* The operand of reduction o is laid out so that reducing it gives the result's layout.  False: not mine. */
bool rule_backward(Solve *s, Op *o);

/* ---- layout_rules_wgmma.c --------------------------------------------------------------------------------- */
void rule_roles(Solve *s, Op *o);
void rule_wgmma(Solve *s, Op *o);

/* ---- pack_choice.c ------------------------------------------------------------------------------------- */
void rule_unpack(Solve *s, Op *o);
void rule_pack(Solve *s, Op *o);
/* A layout for a tile, unpacked or to be packed, that nothing asks anything of. */
bool anchor_unpack(Solve *s, Op *o);
/* Does v, a dot's operand, come from a packed tensor? */
bool is_unpacked(const Val *v);
/* If so, number the registers of l, its layout, block by block; false: blocks cannot be read like that. */
bool suit_pack(const Solve *s, const Val *v, Layout *l);
/* The order of bits in all packs, once layouts and conversions are known. */
void settle_packs(Solve *s);

/* ---- reshape_layout.c ------------------------------------------------------------------------------------ */
/* A layout for x that is one for y too, a type of as many elements; false: the shapes have too many dims. */
bool reshape_layout(const Solve *s, const Type *x, const Type *y, Layout *out);

/* ---- pinned_layouts.c ------------------------------------------------------------------------------------ */
/* Is no demand of another op in the way of a layout that the program gave?  s->failure. */
bool pins_hold(Solve *s);
#endif
