/* layout_rules.h - the layout rules of ops, which propagate_layouts() runs whenever a value of the op has
 * received its layout. */
#ifndef HEXC_LAYOUT_RULES_H
#define HEXC_LAYOUT_RULES_H
#include "infer/core/search_state.h"

/* ---- propagate.c ---------------------------------------------------------------------------------- */
/* Computes layouts for every register value under s->sol->plan.  Returns false with the reason in
 * s->failure. */
bool propagate_layouts(Solve *s);

/* ---- layout_rules.c --------------------------------------------------------------------------------- */
/* One rule per value of the `layout` column of ops.def; NULL: no rule. */
typedef void (*RuleFn)(Solve *s, Op *o);
extern const RuleFn rule_of[O_COUNT];
void rule_for(Solve *s, Op *o);

/* ---- layout_rules_shift.c --------------------------------------------------------------------------- */
void rule_shift(Solve *s, Op *o);
void rule_pieces(Solve *s, Op *o); /* slice, concat */
/* Gives the tile of shift o a layout whose vectors along the shift's dim are within a warp. */
void anchor_shift(Solve *s, Op *o);
/* Gives the tiles of slice or concat o layouts whose pieces are in separate registers. */
void anchor_pieces(Solve *s, Op *o);

/* ---- layout_rules_default.c ------------------------------------------------------------------------- */
/* Gives op o's results or operands a layout if nothing constrains them; last resort.  Returns false if not
 * applicable. */
bool rule_default(Solve *s, Op *o);
/* Gives the operand of reduction o a layout whose reduction is the result's layout.  Returns false if not
 * applicable. */
bool rule_backward(Solve *s, Op *o);

/* ---- layout_rules_wgmma.c --------------------------------------------------------------------------- */
void rule_roles(Solve *s, Op *o);
void rule_wgmma(Solve *s, Op *o);

/* ---- pack_choice.c ------------------------------------------------------------------------------------- */
void rule_unpack(Solve *s, Op *o);
void rule_pack(Solve *s, Op *o);
/* Gives a layout to an unconstrained tile that is unpacked or to be packed. */
bool anchor_unpack(Solve *s, Op *o);
/* If v, a dot's operand, originates in a packed tensor, numbers the registers of its layout l block by block;
 * false: blocks cannot be read that way. */
bool suit_pack(const Solve *s, const Val *v, Layout *l);
/* Chooses the bit order of all packs, once layouts and conversions are known. */
void settle_packs(Solve *s);

/* ---- reshape_layout.c ------------------------------------------------------------------------------- */
/* Computes a layout for x that is valid for y too, a type of as many elements; false: the shapes have too
 * many dims. */
bool reshape_layout(const Solve *s, const Type *x, const Type *y, Layout *out);

/* ---- pinned_layouts.c ------------------------------------------------------------------------------- */
/* Are all pinned layouts free of conflicts with constraints of other ops?  Else sets s->failure. */
bool pins_hold(Solve *s);
#endif
