/* mask_bounds.h - declares the in-bounds region of a tile, which the files of pass mask_bounds share. */
#ifndef HEXC_MASK_BOUNDS_H
#define HEXC_MASK_BOUNDS_H
#include "hexc/ir/ir.h"

/* A condition on a tile's elements: those that do not satisfy it are out of bounds. Element i satisfies it if
 * lo <= coef[0] * i[0] + coef[1] * i[1] + .. < hi; without coefficients it holds for all or for none. */
typedef struct MaskCond {
	unsigned dims;         /* bit d: it names dim d; a reduction along its only dim uses it up */
	int64_t coef[DIM_MAX];
	Val *lo, *hi;          /* i64 scalars; NULL: open */
	Val *tile;             /* instead of the form: a bool tile, true where the condition holds; or NULL */
	int8_t axis[DIM_MAX];  /* by dim of the bool tile: the value's dim; along others it is constant */
	bool zero, finite;     /* elements that do not satisfy it are zero, or finite (zeros are) */
} MaskCond;

enum { MASK_CONDS = 8 };

/* The in-bounds region of a tile: the elements that satisfy all conditions. The ranges along single dims, the
 * most common conditions, are in at and from; each names its dim. */
typedef struct TileBounds {
	Val *at[DIM_MAX];   /* index after the last in-bounds element along the dim; NULL: the extent */
	Val *from[DIM_MAX]; /* first in-bounds element; NULL: 0 */
	unsigned zero, finite; /* bit d: out-of-bounds elements along d are zero, or finite (zeros are) */
	int nmore;          /* all other conditions */
	MaskCond more[MASK_CONDS];
} TileBounds;

/* The form of a condition, without its ends. */
typedef struct MaskForm {
	unsigned dims;
	int64_t coef[DIM_MAX];
	bool tile, lo, hi; /* it is a bool tile; else: it has these ends */
} MaskForm;

/* The forms of all conditions of a tile. ends, fronts: bit d: it has an upper or lower end along dim d. */
typedef struct MaskForms {
	unsigned ends, fronts;
	int n;
	MaskForm form[MASK_CONDS];
} MaskForms;

/* What the runs of the pass have found of a loop. Its items are the values that it carries, and then the
 * shared tiles that it writes. */
typedef struct LoopForms {
	MaskForms *form; /* by item */
	bool *carries;   /* by shared tile: an iteration may leave other bounds than it finds */
} LoopForms;

/* The bounds of a loop's items, whose ends it carries as further values. */
typedef struct CarriedBounds {
	LoopForms *learned;
	int n, items;     /* carried values; all items */
	int *part;        /* by item: index of the first carried end */
	const struct SharedStates *tiles;
} CarriedBounds;

/* The stores to a shared tile of values with missing elements, and the copies of slices with bounds of their
 * own; `zeros`: the missing elements are 0 in memory, and there are none. */
typedef struct SharedStores {
	struct MaskedStore *store;
	int n, cap;
	bool zeros;
} SharedStores;

/* A shared tile, as the op that the pass is at finds it. */
typedef struct SharedTile {
	struct SharedStores *by; /* of the whole kernel; NULL: none so far */
	bool found;   /* the old values of an atomic update, 0 where it does nothing */
	bool unknown; /* which elements exist depends on the role that stored them last */
	bool written; /* at least in parts; else its elements may be taken to exist or not */
} SharedTile;

/* The shared tiles of an op with blocks that these write, as the op finds them and as its blocks leave
 * them. */
typedef struct SharedStates {
	int n;
	Val **root;
	struct {
		SharedTile tile;
		const TileBounds *edge;
	} *was[3]; /* before, and after each block */
} SharedStates;

/* A store, or copy of a shared tile, to a tensor, the bounds of its value, and whether the target has
 * bounds of its own. */
typedef struct MaskedStore {
	Op *op;
	TileBounds value;
	bool bounded;
} MaskedStore;

/* An error or a warning at op o, reported unless the run of the pass is discarded. */
typedef struct BoundsError {
	const Op *o;
	const char *text;
	bool warning; /* DW_missing */
} BoundsError;

typedef struct Instead {
	uint32_t id;
	Val *old;
} Instead;

typedef struct Bounds {
	Kernel *k;
	TileBounds **edge;     /* by value id */
	Val **instead;   /* by value id: the masked tile that replaces it; NULL: itself */
	uint32_t n;      /* entries of both; values created later have none unless set */
	SharedTile *shared; /* by value id of a shared tile */
	uint32_t nshared;
	struct TileUses *uses; /* NULL: nothing asks for them */
	bool tiles;      /* there are shared tiles */
	Instead *undo;
	int nundo, undo_cap;
	MaskedStore *store;  /* checked last, when what loops carry is known */
	int nstore, store_cap;
	LoopForms **learned; /* by op id of a loop */
	uint32_t nlearned;
	bool grew;           /* a loop needs more forms than it had */
	const Op **kept;     /* views of copies that keep the bounds they have of their own */
	int nkept, kept_cap;
	BoundsError *error;
	int nerror, error_cap;
	bool changed;
} Bounds;

/* mask_bounds.c */
const TileBounds *edge_of(const Bounds *b, const Val *v);     /* never NULL */
bool bounds_known(const TileBounds *e); /* has e a condition? */
void edge_set(Bounds *b, const Val *v, const TileBounds *e); /* e may have none */
/* Returns the bounds of what op o reads from memory value v. */
TileBounds edges_of_memory(Bounds *b, Op *o, Val *v);
/* Sets the end and the front along dim d in e, the bounds of what op o reads from v, a view of a tensor. */
void range_of_memory(Bounds *b, Op *o, Val *v, int d, TileBounds *e);
/* Is v a view of a tensor with bounds of its own, or a view of one? */
bool memory_is_bounded(const Val *v);
/* Adds to e, the bounds of a gathered view, the conditions of its index tiles. */
void edge_of_indices(Bounds *b, Op *o, const Op *view, TileBounds *e);
/* Returns x with f or i outside of [from, bound) along d, computed before o; from NULL: 0, bound NULL: the
 * extent. */
Val *mask_new(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound, double f, int64_t i);
/* Returns x with out-of-bounds zeros along d; it replaces x in o and all following ops. */
Val *mask_zero(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound);
/* Reports an error at o, once the bounds are known. */
void bounds_error(Bounds *b, const Op *o, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Reports warning `missing` at o, likewise; once for each place of the program. */
void bounds_warning(Bounds *b, const Op *o, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* From here on, x replaces v in all ops of the block. */
void replace_after(Bounds *b, const Val *v, Val *x);

/* mask_conditions.c */
/* Adds condition c to e, as a range if it is one. `t`: the type of the tile; code is inserted before o. */
void cond_add(Bounds *b, Op *o, TileBounds *e, const Type *t, MaskCond c);
/* Returns the range along dim d of e as a condition. */
MaskCond cond_of_range(const TileBounds *e, int d);
/* Returns condition c of a tile of type x in terms of type t: x's dim i is dim g + i of t, or broadcast along
 * it. */
MaskCond cond_placed(Op *o, const MaskCond *c, const Type *x, const Type *t, int g);
/* Do a and b hold for the same elements? The dims that they name may differ. */
bool cond_equal(const Op *o, const MaskCond *a, const MaskCond *b);
/* Does the condition depend on the index along d? */
bool cond_varies(const MaskCond *c, int d);
/* Sets c's tile to a bool tile of all dims of its value. */
void cond_set_tile(Op *o, MaskCond *c, Val *tile);
/* Reduces the condition's tile to n elements from `from` on along its dim i; n = 0: to element `from`, and
 * the tile loses the dim. */
void cond_slice_tile(Op *o, MaskCond *c, int i, int64_t from, int64_t n);
/* Returns a bool tile of t's shape, true where c holds. */
Val *cond_tile(Op *o, const MaskCond *c, const Type *t);
/* Returns a bool tile of t's shape, true in bounds of e; NULL: all elements are. */
Val *inside_tile(Op *o, const TileBounds *e, const Type *t);
/* Returns x with f or i where c does not hold. */
Val *cond_mask(Bounds *b, Op *o, Val *x, const MaskCond *c, double f, int64_t i);
/* Returns x with f or i out of bounds of e. */
Val *mask_all(Bounds *b, Op *o, Val *x, const TileBounds *e, double f, int64_t i);
/* Returns the smaller (O_min) or larger (O_max) of two ends, either of which may be NULL: open. */
Val *bound_tighter(Op *o, OpCode code, Val *x, Val *y);
/* Is x <= y? Returns false if unknown. */
bool bound_at_most(const Op *o, const Val *x, const Val *y);
/* Returns x / n rounded up; x may be NULL. A negative x gives some number below 1. */
Val *mask_shares(Op *o, Val *x, int64_t n);
/* Returns an element's index, an i64 scalar, clamped to [0, extent]. */
Val *bound_clamped(Op *o, Val *x, int64_t extent);

/* mask_copies.c */
/* Is o a copy of a slice with bounds of its own? */
bool copy_is_bounded(const Op *o);
/* Can such a copy write zeros outside of the bounds, as it is? */
bool copy_can_be_bounded(const Bounds *b, const Op *o);
/* Makes it write zeros there; e: the bounds of its source. If it cannot, a load and a store replace it. */
void copy_zeros(Bounds *b, Op *o, const TileBounds *e);

/* mask_shared.c */
/* Returns the bounds of what o reads from v, a shared tile, a view of one or an alias. */
TileBounds bounds_of_shared(Bounds *b, Op *o, Val *v);
/* Elements of a shared tile that do not exist are 0: o reads a scalar from it. */
void zeros_in_memory(Bounds *b, Op *o, Val *root);
/* Are the missing elements of x zeros, because copies alone write the shared tile that it was loaded
 * from? Makes them write these. */
bool zeros_by_copies(Bounds *b, const Val *x);
/* Makes all elements of a shared tile exist, before o: the missing ones are 0. */
void shared_all_exist(Bounds *b, Op *o, Val *root);
/* Store o puts a value with bounds e at a run-time position of a tile: which elements exist afterwards
 * is stored in a tile of bools as well. */
void shared_placed(Bounds *b, Op *o, const TileBounds *e);
/* Updates the bounds of a shared tile for a write by o of elements with bounds e to v, the tile or a part of
 * it. Returns false if the part is gathered, strided or starts at a run-time position. */
bool shared_written(Bounds *b, Op *o, Val *v, const TileBounds *e);
/* The tile has the old values of an atomic update. */
void shared_found(Bounds *b, const Val *root);
/* The tile has bounds e at the start of a loop's body. */
void shared_carried(Bounds *b, Val *root, const TileBounds *e);
/* Follow shared tiles through o's blocks: before it, after block r, and after the op; c: of a loop.
 * shared_leave returns the op that replaces o. */
void shared_enter(Bounds *b, const Op *o, SharedStates *s);
void shared_next(Bounds *b, SharedStates *s, int r);
Op *shared_leave(Bounds *b, Op *o, SharedStates *s, const CarriedBounds *c);

/* mask_shapes.c */
/* Return the bounds of a reshape from type x to t, of a part along dim d that starts at `from`, .. */
TileBounds bounds_reshaped(Bounds *b, Op *o, const TileBounds *e, const Type *x, const Type *t);
TileBounds bounds_sliced(Op *o, const TileBounds *e, int d, int64_t from, const Type *t);
/* .. of a tile with bounds e after its part of type x at `at` is replaced by one with bounds f, .. */
TileBounds bounds_replaced(Bounds *b, Op *o, const TileBounds *e, const TileBounds *f, const int64_t *at,
                           const Type *x, const Type *t);
/* .. and of a concatenation along dim d: e is of its first part, of type x, f of its second. */
TileBounds bounds_joined(Bounds *b, Op *o, const TileBounds *e, const TileBounds *f, int d, const Type *x,
                         const Type *t);

/* mask_reductions.c: returns the bounds of a reduction of type x along d: lines with an in-bounds element. */
TileBounds bounds_reduced(Bounds *b, Op *o, const TileBounds *e, int d, const Type *x);

/* mask_stores.c: makes a store, or copy to a tensor, write no out-of-bounds element. */
void store_leaves_out(Bounds *b, const MaskedStore *s);
/* Are all elements of a dim with this extent that end x (or front x) leaves also within y? Either may be
 * NULL: open. Returns false if unknown. */
bool bound_implies(Bounds *b, const Op *o, const Val *x, Val *y, bool front, int64_t extent);

/* mask_carried.c */
/* Returns the loop that replaces o, with the ends of its carried tiles' bounds; sets the bounds of its
 * arguments. tiles: the shared tiles that it writes. */
Op *bounds_into_loop(Bounds *b, Op *o, CarriedBounds *c, const SharedStates *tiles);
/* Sets the bounds of the loop's results and shared tiles, once its body is done. */
void bounds_after_loop(Bounds *b, Op *o, CarriedBounds *c);
/* Lets the loop carry the bounds of a shared tile, in the next run of the pass. */
void bounds_carry_tile(Bounds *b, const CarriedBounds *c, int tile);
/* Sets the bounds of the results of an `if`. Returns the op that replaces it. */
Op *bounds_after_if(Bounds *b, Op *o);
/* Sets *e to the bounds of a value of type t that are own[0] if o, an `if`, takes its first branch, and
 * else own[1]. Returns the op that replaces o. */
Op *bounds_chosen(Bounds *b, Op *o, const TileBounds own[2], const Type *t, TileBounds *e);

/* mask_moves.c */
bool bound_same(const Op *o, const Val *x, const Val *y); /* either may be NULL: open */
/* Clears what is known of the values of elements out of bounds of e. */
void bounds_forget_values(TileBounds *e);
/* Returns the conditions of e that name dim d. */
TileBounds bounds_along(const TileBounds *e, int d);
/* Returns a tile of type t with x in each element. */
Val *mask_value(Op *o, int64_t x, Type t);

/* mask_scalars.c: warns if o, which reads an element of a shared tile, may read one that is out of bounds and
 * decides something. */
void warn_missing_scalar(Bounds *b, Op *o);

/* mask_unseen.c */
/* Returns the uses of all values as they are now. */
struct TileUses *tile_uses(const Kernel *k);
/* Removes from e, the bounds of x before they were filled, the ends and fronts past which no use of x sees an
 * element. */
void drop_unseen(Bounds *b, const Val *x, TileBounds *e);

/* mask_elementwise.c: returns what is known of those elements of a tile of type t with bounds `own` that do
 * not satisfy c. */
typedef enum Outside { OUT_UNKNOWN, OUT_FINITE, OUT_ZERO } Outside;
Outside outside_of(const Op *o, const TileBounds *own, const MaskCond *c, const Type *t);

/* Sets *e to the bounds of x and y if these are the same. Returns whether they are. */
bool bounds_same(const Op *o, const TileBounds *x, const TileBounds *y, int rank, TileBounds *e);

/* Rules, column `edge` of ops.def: mask the operands of o and set the bounds of its results. */
#define OP_EDGE(name, rule) void edge_##rule(Bounds *b, Op *o);
#include "hexc/ir/ops.def"
#endif
