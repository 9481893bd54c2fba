/* memory.h - how tiles come from memory and go there: what a view allows, instructions of loads,
 * stores and copies, address layouts of shared tiles. */
#ifndef HEXC_MEMORY_H
#define HEXC_MEMORY_H
#include "infer/core/search_state.h"

/* ---- access_list.c ------------------------------------------------------------------------------------- */
/* Ops that may need a form of a tile. */
typedef struct FormOps {
	Op **op;
	int n, cap;
} FormOps;

/* The accesses of the kernel, in the orders that the search asks for. */
void find_accesses(Solve *s);
/* the shared memory that a load reads, a store or copy writes; NULL: none */
Val *shared_operand(const Op *o);

/* ---- access_width.c --------------------------------------------------------------------------------------- */
/* No view has been asked about yet. */
void forget_views(Solve *s);
/* Where a view's dims are in its base (view_base): dim_of[view dim] = dim there.  Returns the base. */
Val *view_dims(Val *v, int *dim_of);
/* The view dim along which memory is contiguous, -1 none. */
int unit_dim(const Solve *s, Val *mem);
/* Dims of a view, fastest memory first: by stride for global, by the alloc's order for shared. */
void memory_order(const Solve *s, Val *view, int *order);
/* The most elements, <= cap, of one access along the contiguous dim of a global view that alignment and the
 * tensor's edge admit. */
int64_t view_width(Kernel *k, const Op *view, int dim, int64_t cap);
/* Elements of one access along `dim` of a global view, for a run of `run` registers: alignment, edges. */
int64_t global_vec(const Solve *s, const Op *view, int dim, int64_t run);
/* The same along the contiguous dim of a shared view: what divides its rows and starts. */
int64_t shared_vec(const Solve *s, Val *mem, int64_t run);
/* Bits of an element where a dot's operand comes from, if wider accesses along its dim k pay there: it is
 * narrower than what it is made into, or in global memory.  0: they do not. */
int k_source_bits(const Solve *s, const Val *v, int kdim);
/* Bits of an element of the shared tile that a dot's operand comes from, if it is contiguous along the
 * operand's dim `side`, which is not k, and narrower than what it is made into; else 0. */
int side_source_bits(const Solve *s, const Val *v, int side);
/* The dim of a dot's operand that is contiguous where it comes from, -1 unknown. */
int source_unit(const Solve *s, const Val *v);
/* The longest power-of-two run of registers [0, n) along `dim` in memory order. */
int64_t reg_run(const Layout *l, int dim);

/* ---- vector_width.c ---------------------------------------------------------------------------------------- */
/* Once accesses have been found. */
void find_runs(Solve *s);

/* ---- coalesced.c ---------------------------------------------------------------------------------- */
/* Threads over a tile so that neighbours in memory meet neighbouring lanes.  order[0] = dim that is
 * contiguous; vec elements of it per access.  outer: warps go to the slowest dims. */
bool coalesced_layout(Layout *out, int rank, const int64_t *shape, const int *order, int64_t vec, int warps,
                      bool outer);

/* ---- bit_order_choice.c ---------------------------------------------------------------------------------- */
/* The order of bits (hexc/ir/bit_order.h) that all readers of narrow tile v like: casts that have recipes for
 * it. */
int bit_order_liked(const Solve *s, const Val *v);
/* The same of a tile unpacked from a tensor's words; so_far: what readers of that tensor's other tiles like,
 * -1: there are none. */
int bit_order_liked_packed(const Solve *s, const Val *v, int so_far);
/* v, and what only rearranges it, is in that order. */
void bit_order_set(Solve *s, const Val *v, int bit_order);

/* ---- load_choice.c --------------------------------------------------------------------------------------- */
/* Access instruction of a load of a tile, and the layout it comes in where that is another than its
 * value's. */
void load_shared(Solve *s, Op *o);
/* The same of a load from global memory that comes as l. */
void load_global_as(Solve *s, Op *o, const Layout *l);
/* Elements of one access when a global tile is loaded into l. */
int64_t load_vec(const Solve *s, const Op *o, const Layout *l);
/* l with its registers numbered along dim `unit` first, if that makes longer runs in memory; else l.  What
 * has runs of less than a word stays as it is, unless tiles are turned (Plan.turned). */
const Layout *along_memory(Solve *s, const Layout *l, int unit, int grain);

/* ---- store_copy_choice.c ------------------------------------------------------------------------------------- */
/* The memory instruction of that kind and width (8 bits at least), NULL: there is none. */
const Instr *memory_row(InstrKind kind, int bits, bool trans);
Lowering *lowering_new(Solve *s, const Instr *in, int64_t vec);
/* The task mapping of a copy: coalesced where it reads, vec elements an access, by instructions of that kind
 * if there are such; false: s->failure. */
bool copy_map(Solve *s, const Op *o, Layout *map, int64_t *vec, InstrKind *kind);
/* Access instruction of a store, of a copy; false, or s->failure has a text: there is none. */
void select_store(Solve *s, Op *o);
bool select_copy(Solve *s, Op *o);
/* Address layout of an alloc, once all accesses to it are known; s->failure. */
void select_shared(Solve *s, Op *alloc);

/* ---- tma_box.c ---------------------------------------------------------------------------------------- */
/* The operand of a copy that is in that space. */
Val *copy_side(const Op *copy, Space space);
/* Why a copy cannot be one of boxes of a tensor map; NULL: it can. */
const char *box_refusal(const Solve *s, const Op *copy);

/* The tensor map of a copy that can, whose shared tile has that form. */
void box_map(const Solve *s, const Op *copy, const struct SmemAtom *f, TensorMap *out);

/* ---- ldmatrix.c ----------------------------------------------------------------------------------- */
/* ldmatrix for a shared load whose result is to be laid out as l; NULL: l is no fragment of matrices.
 * *made: the layout it comes in where registers have other numbers. */
Lowering *lowering_ldmatrix(Solve *s, const Op *o, const Layout *l, const Layout **made);
/* stmatrix for a store to a shared tile of what is laid out as l; NULL likewise. */
Lowering *lowering_stmatrix(Solve *s, const Op *o, const Layout *l);
/* A row of kind ldmatrix or stmatrix for a tile that is laid out as l in registers and has runs along
 * `unit` in shared memory, and which lane addresses what (128 bits of elements an access).  False: there is
 * none. */
typedef struct MatrixSide {
	const Instr *in;
	const Layout *map;
} MatrixSide;
bool matrix_side(Solve *s, InstrKind kind, DType d, const Layout *l, int unit, MatrixSide *out);

/* ---- smem_swizzle.c ------------------------------------------------------------------------------------- */
/* One way of touching a shared tile. */
typedef struct SmemAccess {
	const Op *op; /* NULL: of a staging tile */
	const Layout *map; /* access side: view coordinates -> lane, warp, reg */
	int rank;
	int dim_of[DIM_MAX]; /* view dim -> tile dim */
	const Type *as; /* dims are those of the tile under this shape; NULL: under its own */
	const Op *past; /* the view, where it reaches past the end of what it is of; NULL: it does not */
	int vec; /* elements per lane and access */
	int bits; /* of an element */
	int lanes; /* lanes that give an address: 32, or 8 per matrix of ldmatrix */
	bool write; /* only one of several replicas writes */
	bool anywhere; /* rows that indices name: of addresses it is known that vec are side by side */
	double weight;
} SmemAccess;
/* Access of o, of `vec` elements by `in` (NULL: plain), to mem, a shared tile or a view of one: all but its
 * weight and its map.  In store_copy_choice.c. */
void access_init(SmemAccess *a, const Op *o, Val *mem, int vec, const Instr *in);
/* Address layout for a tile: order of dims, swizzle, conflicts counted over all phases and instances of
 * every access.  waves[i]: wavefronts of one execution of access i by all warps.  Asked again, it
 * remembers. */
void shared_layout(Solve *s, const Type *t, int unit_dim, const SmemAccess *acc, int nacc, Layout *out,
                   int64_t *waves);
/* The best swizzle of l, which has none, for these accesses, and what they are then. */
void shared_swizzle(Solve *s, Layout *l, const SmemAccess *acc, int nacc, int64_t *waves);
/* Warps that make it together: a staging tile is where register tiles are. */
int access_warps(const Solve *s, const SmemAccess *a);
/* Shared-memory wavefronts of one execution of the access by all warps, and the least possible. */
void access_waves(Arena *arena, const SmemAccess *a, const Layout *tile, int warps, int64_t *waves,
                  int64_t *least);

/* ---- smem_atom_choice.c --------------------------------------------------------------------------------------- */
/* The dim of factor i of a wgmma that is along k. */
int wgmma_k_dim(const Op *o, int i);
/* The layout of an alloc that wgmma reads or boxes fill, in which copies and its other accesses are shortest;
 * s->failure: nothing suits them all.  False: it needs no form. */
bool select_form(Solve *s, const Op *alloc, const SmemAccess *acc, int nacc, Layout *out);

/* ---- producer_copies.c -------------------------------------------------------------------------------------- */
/* Finds s->sol->producer: as the program says, or what indices of rows take and what is made of them. */
bool registers_of_producers(Solve *s);
#endif
