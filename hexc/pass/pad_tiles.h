/* pad_tiles.h - what the files of pass pad_tiles share. */
#ifndef HEXC_PAD_TILES_H
#define HEXC_PAD_TILES_H
#include "hexc/ir/ir.h"

/* Dims that grow together, all of one extent. */
typedef struct DimClass {
	int parent; /* number of a dim; itself: this one stands for all */
	bool fixed;
	int64_t extent; /* what it becomes; 0: not asked yet */
} DimClass;

typedef struct Pad {
	Kernel *k;
	DimClass *class; /* by number of a dim: id of the value * DIM_MAX + dim */
} Pad;

/* What an access costs a lane about, an address, a predicate and itself, where an element costs 4: rows have
 * four ops an element.  Tiles have TILE_MOST elements at most. */
enum { ELEMENT_COST = 4, ACCESS_COST = 3, TILE_MOST = 1 << 30 };

/* ---- pad_tiles_equal_dims.c: which dims grow together ---------------------------------------------------------- */
DimClass *pad_class(const Pad *p, const Val *v, int d);
void pad_tie_dim(const Pad *p, const Val *x, int dx, const Val *y, int dy);
/* Dims of two values, one by one. */
void pad_tie(const Pad *p, const Val *x, const Val *y);
/* What op o ties, and what of its operands and results stays. */
void pad_tie_op(const Pad *p, const Op *o);
/* Is nothing of the tensor behind the extent of dim d of a view? */
bool pad_ends_there(Kernel *k, const Op *view, int d);
/* A view of a tensor; NULL: it is of something else. */
Op *pad_tensor_view(const Kernel *k, const Val *mem);
/* The register tile that an access moves; NULL: it is no such access. */
Val *pad_moved(const Op *o);
/* ... and which operand is the memory. */
int pad_memory_at(const Op *o);
/* Tiles of indices name elements one by one, those of packed tensors are whole blocks. */
bool pad_is_fixed(const Kernel *k, Val *mem);

/* ---- pad_tiles_roundtrip.c: through shared memory, only to become longer or shorter ------------------------ */
/* The dims that stay as they are on the way. */
void pad_tie_detours(const Pad *p);
/* The others, where the shorter tile may grow.  False: none. */
bool pad_detours(const Pad *p);
/* Is what this load brings what was stored in front of it, in the padding too? */
bool pad_ends_detour(const Pad *p, const Op *load);
/* Of tiles that have grown: those that are of one extent now are one. */
void pad_drop_detours(Kernel *k);

/* ---- pad_tiles_extents.c: how long they become ------------------------------------------------------------ */
/* False: nothing grows. */
bool pad_choose(const Pad *p);
/* Neighbours along dim `unit` that an access of a tile in memory may take, for what is known and cannot be
 * asked about (pass version_accesses). */
int64_t pad_widest(Kernel *k, const Val *mem, const Val *tile, int unit);
#endif
