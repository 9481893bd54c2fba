/* memory.h - memory accesses of tiles: access widths of views, instructions of loads, stores and copies,
 * address layouts of shared tiles. */
#ifndef HEXC_MEMORY_H
#define HEXC_MEMORY_H
#include "infer/core/search_state.h"

/* ---- access_list.c ------------------------------------------------------------------------------------- */
/* Ops that may require a smem layout atom of a tile. */
typedef struct FormOps {
	Op **op;
	int n, cap;
} FormOps;

/* Collects the kernel's accesses in the orders of the search. */
void find_accesses(Solve *s);
/* Returns the shared memory that a load reads or a store or copy writes; NULL: none. */
Val *shared_operand(const Op *o);

/* ---- access_width.c --------------------------------------------------------------------------------- */
/* Clears the cache of view properties. */
void forget_views(Solve *s);
/* Maps a view's dims to those of its base (view_base): dim_of[view dim] = base dim.  Returns the base. */
Val *view_dims(Val *v, int *dim_of);
/* Returns the view dim along which memory is contiguous; -1: none. */
int unit_dim(const Solve *s, Val *mem);
/* Sorts the dims of a view, fastest in memory first: by stride for global, by the alloc's order for
 * shared. */
void memory_order(const Solve *s, Val *view, int *order);
/* Returns the most elements, <= cap, of one access along the contiguous dim of a global view that alignment
 * and the tensor's boundary permit. */
int64_t view_width(Kernel *k, const Op *view, int dim, int64_t cap);
/* Returns the elements of one access along `dim` of a global view, for a run of `run` registers: limited by
 * alignment and boundaries. */
int64_t global_vec(const Solve *s, const Op *view, int dim, int64_t run);
/* The same along the contiguous dim of a shared view: limited by divisors of its rows and starts. */
int64_t shared_vec(const Solve *s, Val *mem, int64_t run);
/* Returns the bits per element at the origin of a dot's operand, if wider accesses along its k dim pay there:
 * it is narrower than the operand, or in global memory.  Else 0. */
int k_source_bits(const Solve *s, const Val *v, int kdim);
/* Returns the bits per element of the shared tile at the origin of a dot's operand, if it is narrower than
 * the operand and contiguous along the operand's non-k dim `side`; else 0. */
int side_source_bits(const Solve *s, const Val *v, int side);
/* Returns the dim of a dot's operand that is contiguous in its source; -1: unknown. */
int source_unit(const Solve *s, const Val *v);
/* Returns the longest power-of-two run of registers [0, n) along `dim`, in memory order. */
int64_t reg_run(const Layout *l, int dim);

/* ---- vector_width.c --------------------------------------------------------------------------------- */
/* Requires find_accesses(). */
void find_runs(Solve *s);

/* ---- coalesced.c ---------------------------------------------------------------------------------- */
/* Distributes threads over a tile such that elements contiguous in memory go to adjacent lanes.  order[0]:
 * the contiguous dim, with `vec` elements per access.  outer: warps are distributed over the slowest dims. */
bool coalesced_layout(Layout *out, int rank, const int64_t *shape, const int *order, int64_t vec, int warps,
                      bool outer);

/* ---- bit_order_choice.c ----------------------------------------------------------------------------- */
/* Returns the bit order (hexc/ir/bit_order.h) that all readers of narrow tile v prefer: casts with sequences
 * for it.  Else 0. */
int bit_order_liked(const Solve *s, const Val *v);
/* The same for a tile unpacked from a packed tensor; so_far: the order that readers of the tensor's other
 * tiles prefer, -1: none. */
int bit_order_liked_packed(const Solve *s, const Val *v, int so_far);
/* Sets the bit order of v, and of values that only rearrange it. */
void bit_order_set(Solve *s, const Val *v, int bit_order);

/* ---- load_choice.c ---------------------------------------------------------------------------------- */
/* Selects the instruction of a load from shared memory, and its result layout if that differs from the
 * value's. */
void load_shared(Solve *s, Op *o);
/* The same for a load from global memory with result layout l. */
void load_global_as(Solve *s, Op *o, const Layout *l);
/* Returns elements per access of a load from global memory into l. */
int64_t load_vec(const Solve *s, const Op *o, const Layout *l);
/* Returns l with registers numbered along dim `unit` first, if that makes longer runs in memory; else l.
 * Runs below 32 bits stay unchanged unless tiles are transposed (SearchPlan.turned). */
const Layout *along_memory(Solve *s, const Layout *l, int unit, int grain);

/* ---- store_copy_choice.c ---------------------------------------------------------------------------- */
/* Returns the memory instruction of that kind and width (8 bits at least); NULL: none. */
const Instr *memory_row(InstrKind kind, int bits, bool trans);
Lowering *lowering_new(Solve *s, const Instr *in, int64_t vec);
/* Computes the task mapping of a copy: coalesced in the source, `vec` elements per access, with instructions
 * of that kind if there are any.  Returns false if there is none, perhaps with s->failure. */
bool copy_map(Solve *s, const Op *o, Layout *map, int64_t *vec, InstrKind *kind);
/* Select the instruction of a store, of a copy.  select_copy() returns false if there is none; both may set
 * s->failure. */
void select_store(Solve *s, Op *o);
bool select_copy(Solve *s, Op *o);
/* Selects the address layout of an alloc, once all accesses to it are selected; may set s->failure. */
void select_shared(Solve *s, Op *alloc);

/* ---- tma_box.c ---------------------------------------------------------------------------------------- */
/* Returns the operand of a copy that is in that space. */
Val *copy_side(const Op *copy, Space space);
/* Returns the reason why a copy cannot use TMA; NULL: it can. */
const char *box_refusal(const Solve *s, const Op *copy);

/* Computes the tensor map of a TMA copy whose shared tile has atom f. */
void box_map(const Solve *s, const Op *copy, const struct SmemAtom *f, TensorMap *out);

/* ---- ldmatrix.c ----------------------------------------------------------------------------------- */
/* Returns an ldmatrix lowering of a shared load with result layout l; NULL: l does not consist of matrices.
 * *made: the result layout if registers are numbered differently. */
Lowering *lowering_ldmatrix(Solve *s, const Op *o, const Layout *l, const Layout **made);
/* Returns an stmatrix lowering of a store of layout l to a shared tile; NULL likewise. */
Lowering *lowering_stmatrix(Solve *s, const Op *o, const Layout *l);
/* Finds an instruction of kind ldmatrix or stmatrix for a tile of register layout l with contiguous runs
 * along `unit` in shared memory, and the addresses per lane (128 bits per access).  Returns false if there is
 * none. */
typedef struct MatrixSide {
	const Instr *in;
	const Layout *map;
} MatrixSide;
bool matrix_side(Solve *s, InstrKind kind, DType d, const Layout *l, int unit, MatrixSide *out);

/* ---- smem_swizzle.c --------------------------------------------------------------------------------- */
/* One kind of access to a shared tile. */
typedef struct SmemAccess {
	const Op *op; /* NULL: access to a staging tile */
	const Layout *map; /* access side: view coordinates -> lane, warp, reg */
	int rank;
	int dim_of[DIM_MAX]; /* view dim -> tile dim */
	const Type *as; /* the shape under which the tile is accessed; NULL: its own */
	const Op *past; /* the view, if it reaches past the end of its operand; else NULL */
	int vec; /* elements per lane and access */
	int bits; /* bits per element */
	int lanes; /* lanes with an address: 32, or 8 per matrix of ldmatrix */
	bool write; /* store: only one of several replicas writes */
	bool anywhere; /* gather: rows are unknown, only `vec` elements are known to be contiguous */
	double weight;
} SmemAccess;
/* Initializes the access of o, `vec` elements with `in` (NULL: plain), to mem, a shared tile or a view of
 * one, without weight and map.  In store_copy_choice.c. */
void access_init(SmemAccess *a, const Op *o, Val *mem, int vec, const Instr *in);
/* Chooses the address layout of a tile: swizzle or padding for the given order of dims, with conflicts
 * counted over all phases and instances of every access.  waves[i]: wavefronts of one execution of access i
 * by all warps.  Results are cached. */
void shared_layout(Solve *s, const Type *t, int unit_dim, const SmemAccess *acc, int nacc, Layout *out,
                   int64_t *waves);
/* Chooses the best swizzle for l, which has none, and computes the wavefronts of each access with it. */
void shared_swizzle(Solve *s, Layout *l, const SmemAccess *acc, int nacc, int64_t *waves);
/* Warps that execute the access; a staging tile is accessed by the warps that own register tiles. */
int access_warps(const Solve *s, const SmemAccess *a);
/* Computes the shared-memory wavefronts of one execution of the access by all warps, and the minimum
 * possible. */
void access_waves(Arena *arena, const SmemAccess *a, const Layout *tile, int warps, int64_t *waves,
                  int64_t *least);

/* ---- smem_atom_choice.c ----------------------------------------------------------------------------- */
/* Returns the dim of operand i of a wgmma that is along k. */
int wgmma_k_dim(const Op *o, int i);
/* Selects the layout of an alloc that wgmma reads or TMA writes, such that TMA copies and other accesses are
 * cheapest; sets s->failure if no atom suits all.  Returns false if the alloc needs no atom. */
bool select_form(Solve *s, const Op *alloc, const SmemAccess *acc, int nacc, Layout *out);

/* ---- producer_copies.c ------------------------------------------------------------------------------ */
/* Computes s->sol->producer: as the program specifies, or as needed for row indices and values computed from
 * them. */
bool registers_of_producers(Solve *s);
#endif
