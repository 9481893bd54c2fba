/* pad_tiles.h - declares classes of equal dims and the steps that the files of pass pad_tiles share. */
#ifndef HEXC_PAD_TILES_H
#define HEXC_PAD_TILES_H
#include "hexc/ir/ir.h"

/* Dims with equal extents, padded together (a union-find class). */
typedef struct DimClass {
	int parent; /* number of a dim; itself: the representative */
	bool fixed;
	int64_t extent; /* padded extent; 0: not determined yet */
} DimClass;

typedef struct Pad {
	Kernel *k;
	DimClass *class; /* by number of a dim: value id * DIM_MAX + dim */
} Pad;

/* Estimated cost of an access per lane (address, predicate, instruction), relative to ELEMENT_COST per
 * element. TILE_MOST: maximum elements of a tile. */
enum { ELEMENT_COST = 4, ACCESS_COST = 3, TILE_MOST = 1 << 30 };

/* ---- pad_tiles_equal_dims.c: which dims grow together ----------------------------------------------- */
DimClass *pad_class(const Pad *p, const Val *v, int d);
void pad_tie_dim(const Pad *p, const Val *x, int dx, const Val *y, int dy);
/* Ties the dims of two values pairwise. */
void pad_tie(const Pad *p, const Val *x, const Val *y);
/* Ties dims by op o, and fixes those of its operands and results that must not be padded. */
void pad_tie_op(const Pad *p, const Op *o);
/* Does the tensor end at, or before, the end of dim d of a view? */
bool pad_ends_there(Kernel *k, const Op *view, int d);
/* Returns a view of a tensor; NULL: it is of other memory. */
Op *pad_tensor_view(const Kernel *k, const Val *mem);
/* Returns the register tile that a load or store accesses; NULL: o is neither. */
Val *pad_moved(const Op *o);
/* Index of its memory operand. */
int pad_memory_at(const Op *o);
/* Is the memory accessed by element or block? Index tiles select single elements; packed tensors consist of
 * full blocks. */
bool pad_is_fixed(const Kernel *k, Val *mem);

/* ---- pad_tiles_roundtrip.c: through shared memory, only to become longer or shorter ----------------- */
/* Ties the dims that a round trip leaves unchanged. */
void pad_tie_detours(const Pad *p);
/* Determines the others, if the shorter tile may be padded. Returns false if none. */
bool pad_detours(const Pad *p);
/* Does this load read back an earlier store, including the padding? */
bool pad_ends_detour(const Pad *p, const Op *load);
/* Removes round trips whose tiles have equal extents after padding. */
void pad_drop_detours(Kernel *k);

/* ---- pad_tiles_extents.c: how long they become ------------------------------------------------------ */
/* Returns false if no tile is padded. */
bool pad_choose(const Pad *p);
/* Elements per access along dim `unit` of a tile in memory, as far as is known and cannot be versioned on
 * (pass version_accesses). */
int64_t pad_widest(Kernel *k, const Val *mem, const Val *tile, int unit);
#endif
