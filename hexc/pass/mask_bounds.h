/* mask_bounds.h - declares the in-bounds region of a tile, which the files of pass mask_bounds share. */
#ifndef HEXC_MASK_BOUNDS_H
#define HEXC_MASK_BOUNDS_H
#include "hexc/ir/ir.h"

/* A condition on a tile's elements: those that do not satisfy it are out of bounds. Element i satisfies it if
 * lo <= coef[0] * i[0] + coef[1] * i[1] + .. < hi; without coefficients it holds for all or for none. */
typedef struct MaskCond {
	unsigned dims;         /* bit d: it names dim d (LANGUAGE.md: a reduction along its only dim uses it up) */
	int64_t coef[DIM_MAX];
	Val *lo, *hi;          /* i64 scalars; NULL: open */
	Val *tile;             /* instead of the form: a bool tile, true where the condition holds, .. */
	int8_t axis[DIM_MAX];  /* .. whose dim i runs along the value's dim axis[i]; along others it is the same */
	bool zero, finite;     /* elements that do not satisfy it are zero, or finite (zeros are) */
} MaskCond;

enum { MASK_CONDS = 8 };

/* The in-bounds region of a tile: the elements that satisfy all conditions. The ranges of single dims are the
 * common case and name their dim. */
typedef struct TileBounds {
	Val *at[DIM_MAX];   /* upper bound along the dim; NULL: none */
	Val *from[DIM_MAX]; /* first in-bounds element; NULL: 0 */
	unsigned zero, finite; /* bit d: out-of-bounds elements along d are zero, or finite (zeros are) */
	int nmore;          /* all other conditions */
	MaskCond more[MASK_CONDS];
} TileBounds;

/* The form of a condition, without its ends. */
typedef struct MaskForm {
	unsigned dims;
	int64_t coef[DIM_MAX];
	bool tile, lo, hi; /* a bool tile; else: which ends it has */
} MaskForm;

/* The forms of all conditions of a tile; ends, fronts: bit d, a range along dim d. */
typedef struct MaskForms {
	unsigned ends, fronts;
	int n;
	MaskForm form[MASK_CONDS];
} MaskForms;

/* What a loop carries along with its tiles: their bounds. */
typedef struct CarriedBounds {
	MaskForms *forms; /* by carried value of the program; n of them */
	int n;
	int *part;        /* by carried value: index of the first carried end */
} CarriedBounds;

/* A store to a tensor, and the bounds of its value. */
typedef struct MaskedStore {
	Op *op;
	TileBounds value;
} MaskedStore;

typedef struct Instead {
	uint32_t id;
	Val *old;
} Instead;

typedef struct Bounds {
	Kernel *k;
	TileBounds **edge;     /* by value id */
	Val **instead;   /* by value id: the masked tile that replaces it; NULL: itself */
	uint32_t n;      /* entries of both; values created later have none unless set */
	Op **writer;     /* by value id of a shared tile: the store that wrote all of it; NULL: another op */
	uint32_t nwriter;
	bool tiles;      /* there are shared tiles */
	Instead *undo;
	int nundo, undo_cap;
	MaskedStore *store;  /* decided last: what loops carry is known then */
	int nstore, store_cap;
	MaskForms **learned; /* by op id of a loop: forms of its carried tiles, as far as known */
	uint32_t nlearned;
	bool grew;           /* a loop needs more forms than it had */
	bool changed;
} Bounds;

/* mask_bounds.c */
const TileBounds *edge_of(const Bounds *b, const Val *v);     /* never NULL */
bool bounds_known(const TileBounds *e); /* has it any condition? */
void edge_set(Bounds *b, const Val *v, const TileBounds *e); /* e may have none */
/* Bounds of what op o reads from memory value v. */
TileBounds edges_of_memory(Bounds *b, Op *o, Val *v);
/* Returns x with f or i outside of [from, bound) along d, computed before o; from NULL: 0, bound NULL: the
 * extent. */
Val *mask_new(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound, double f, int64_t i);
/* Returns x with out-of-bounds zeros along d; it replaces x in o and all following ops. */
Val *mask_zero(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound);
/* From here on, x replaces v in all ops of the block. */
void replace_after(Bounds *b, const Val *v, Val *x);

/* mask_conditions.c */
/* Adds a condition to e, as a range if it is one. `t`: the tile's type; values are computed before o. */
void cond_add(Bounds *b, Op *o, TileBounds *e, const Type *t, MaskCond c);
/* The range along dim d of e as a condition. */
MaskCond cond_of_range(const TileBounds *e, int d);
/* The condition c on type x where x's dim i is dim g + i of t, or is broadcast along it. */
MaskCond cond_placed(Op *o, const MaskCond *c, const Type *x, const Type *t, int g);
/* Do they hold for the same elements, whatever dims they name? */
bool cond_equal(const Op *o, const MaskCond *a, const MaskCond *b);
/* Does the condition depend on the index along d? */
bool cond_varies(const MaskCond *c, int d);
/* Sets c's tile to a bool tile of all dims of its value. */
void cond_set_tile(Op *o, MaskCond *c, Val *tile);
/* Takes n elements from `from` on of the condition's tile along its dim i; n = 0: that one, and the tile
 * loses the dim. */
void cond_slice_tile(Op *o, MaskCond *c, int i, int64_t from, int64_t n);
/* Returns a bool tile of t's shape, true where c holds. */
Val *cond_tile(Op *o, const MaskCond *c, const Type *t);
/* Returns a bool tile of t's shape, true in bounds of e; NULL: everywhere. */
Val *inside_tile(Op *o, const TileBounds *e, const Type *t);
/* Returns x with f or i where c does not hold. */
Val *cond_mask(Bounds *b, Op *o, Val *x, const MaskCond *c, double f, int64_t i);
/* As mask_new for all bounds. */
Val *mask_all(Bounds *b, Op *o, Val *x, const TileBounds *e, double f, int64_t i);
/* The bounds of a reshape from type x to t, of a part along dim d that starts at `from`, .. */
TileBounds bounds_reshaped(Bounds *b, Op *o, const TileBounds *e, const Type *x, const Type *t);
TileBounds bounds_sliced(Op *o, const TileBounds *e, int d, int64_t from, const Type *t);
/* .. of a tile with bounds e whose part of type x at `at` becomes one with bounds f, .. */
TileBounds bounds_replaced(Bounds *b, Op *o, const TileBounds *e, const TileBounds *f, const int64_t *at, const Type *x,
                           const Type *t);
/* .. of two parts along dim d, the second of which starts at x's extent, .. */
TileBounds bounds_joined(Bounds *b, Op *o, const TileBounds *e, const TileBounds *f, int d, const Type *x,
                         const Type *t);
/* .. and of a reduction of type x along d: lines with an in-bounds element. */
TileBounds bounds_reduced(Bounds *b, Op *o, const TileBounds *e, int d, const Type *x);
/* The smaller (O_min) or larger (O_max) of two ends, either of which may be NULL: open. */
Val *bound_tighter(Op *o, OpCode code, Val *x, Val *y);
/* Is x <= y? Returns false if unknown. */
bool bound_at_most(const Op *o, const Val *x, const Val *y);
/* Clamps an element's index, an i64 scalar, to [0, extent]. */
Val *bound_clamped(Op *o, Val *x, int64_t extent);

/* mask_stores.c: store o, of a value with bounds e, writes no element outside of them. */
void store_leaves_out(Bounds *b, Op *o, const TileBounds *e);
void copy_leaves_out(Bounds *b, Op *o, const TileBounds *e);

/* mask_carried.c */
/* Returns the loop that replaces o, with the ends of its carried tiles' bounds; sets the bounds of its
 * arguments. */
Op *bounds_into_loop(Bounds *b, Op *o, CarriedBounds *c);
/* Sets the bounds of the loop's results, once its body is done. */
void bounds_after_loop(Bounds *b, Op *o, CarriedBounds *c);
/* Sets those of the results of an `if`; returns the op that replaces it. */
Op *bounds_after_if(Bounds *b, Op *o);

/* mask_bounds_rules.c */
bool bound_same(const Op *o, const Val *x, const Val *y); /* either may be NULL: open */
/* Nothing is known of the values of elements outside of e. */
void bounds_forget_values(TileBounds *e);
/* The conditions that name dim d. */
TileBounds bounds_along(const TileBounds *e, int d);
/* A number in every element of type t. */
Val *mask_value(Op *o, int64_t x, Type t);

/* mask_elementwise.c: what is known of the elements, of a tile of type t with bounds `own`, outside of c */
typedef enum Outside { OUT_UNKNOWN, OUT_FINITE, OUT_ZERO } Outside;
Outside outside_of(const Op *o, const TileBounds *own, const MaskCond *c, const Type *t);

/* Rules, column `edge` of ops.def: bounds of the results of o, and masks for its operands. */
#define OP_EDGE(name, rule) void edge_##rule(Bounds *b, Op *o);
#include "hexc/ir/ops.def"
#endif
