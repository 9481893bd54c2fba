/* solve.h - inside infer/: the state of a search and its parts.
 *
 * A Plan fixes the free choices (an instruction and warp grid for every dot, how an anchor spreads over the
 * threads, direct or staged stores).  propagate() turns a plan into layouts for all values; select_memory()
 * chooses the access instructions and the shared address layouts; cost_of() prices the result.  All of it
 * writes into a Sol, never into the IR; apply() does that once, for the solution taken. */
#ifndef HEXC_SOLVE_H
#define HEXC_SOLVE_H
#include "hexc/ir/sparse.h"
#include "infer/infer.h"
#include "infer/base/instr.h"

/* How one dot is done. */
typedef struct DotChoice {
	const Instr *inst;
	bool swap; /* as the transposed product: the instruction's m is the tile's n */
	int wm, wn; /* warps along m and n; the rest of the block's warps repeat the work */
	/* mma: neighbours along k that a lane holds; 0: those of one register, k in its own order.
	 * fma: 1, a lane's registers run along k where memory does; 0, they do not */
	int64_t run;
	/* neighbours along m and n that a lane holds, of instances next to each other; 1: as the instances
	 * have it */
	int64_t mix[2];
	const Layout *order; /* index along k -> position in the instances; NULL: the same */
	const Layout *side[2]; /* likewise along m and n */
	Layout a, b, c, e; /* e: positions of a sparse operand */
} DotChoice;

typedef struct Plan {
	const DotChoice **dot; /* [ndot] by order of appearance */
	int spread; /* anchors without a dot: 0 lanes then warps along memory, 1 warps on outer dims */
	int store; /* stores of computed tiles: 0 as the tile lies, 1 through a coalesced layout,
	            * 2 lanes trade neighbours for wider accesses */
	/* loads of global tiles: 0 as they are wanted, 1 coalesced where that moves less, then converted */
	int load;
	int line; /* shifts, slices, concats: 0 lay their tiles out first, 1 take them as they lie */
	int widen; /* sub-word shared loads: 1 whole words and pick, 0 element accesses */
} Plan;

/* Demands that a value's layout has met: who made it what it is. */
typedef struct Origin {
	const Op *op; /* the op that demanded it, NULL unknown */
} Origin;

/* units of an SM that work side by side, in words */
#define RES_LIST(X)                                                                                          \
	X(mma, "tensor cores")                                                                               \
	X(smem, "load-store unit")                                                                           \
	X(gmem, "global memory")                                                                             \
	X(alu, "arithmetic")                                                                                 \
	X(mufu, "special functions")                                                                         \
	X(issue, "issue")
enum {
#define X(name, words) R_##name,
	RES_LIST(X)
#undef X
	RES_UNITS
};
extern const char *const res_unit[RES_UNITS]; /* words */

/* What an op or a piece of code takes of an SM, clocks. */
typedef struct Res {
	double unit[RES_UNITS];
	double latency; /* steps that need each other */
	double wait; /* for memory, of which several overlap */
	bool barrier; /* what follows does not overlap with it */
} Res;

/* A conversion that has been decided on: operands in b and in blocks inside it share it. */
typedef struct Conversion {
	const Layout *to;
	const Block *b;
	Pick *how;
	const struct Conversion *next; /* of the same value */
} Conversion;

/* One complete solution (or the attempt at one). */
typedef struct Sol {
	Plan plan;
	const Layout **val; /* [nval+1] by value id */
	const Op **origin; /* [nval+1] the op that demanded val[] */
	const Layout ***want; /* [nop+1][nin] the layout an operand is converted to, NULL: as it lies */
	Pick ***conv; /* [nop+1][nin] how; operands with one Pick share the conversion */
	/* [nop+1][nout] the layout an op makes a result in, where readers see another; NULL: val[] */
	const Layout ***made;
	Pick ***mconv; /* [nop+1][nout] how made becomes val[] */
	Pick **pick; /* [nop+1] */
	const struct Pack **pack; /* [nparam] of packed tensors, as far as known */
	int *spread; /* [nval+1] in which order the words of narrow tiles hold their bits */
	Res *res; /* [nop+1] what the op costs, all warps, once */
	int64_t registers; /* that a lane holds at once, about */
	double cycles; /* of a block, with others beside it */
	bool crowded; /* its shared memory, before it is placed, is more than a block has */
	double alone; /* of a block alone on an SM */
	int blocks; /* that an SM holds */
	Res total; /* all that a block does */
	const char *what; /* infer_describe */
	const Kernel *k; /* of which this is a solution */
} Sol;

/* Why a plan has no solution, as the program's author is told.  text NULL: it has one. */
typedef struct Why {
	const char *text; /* both demands, where they meet, the mend; arena */
	Src src;
	const char *note; /* the other demand at its own line; NULL: there is none */
	Src note_src;
	int stage; /* of solve(), which the plan came to */
	/* by how much it missed there: registers needed, elements elsewhere; 0 where that is not told */
	int64_t excess;
} Why;

/* Solutions, cheapest first; equal prices keep the order of enumeration. */
typedef struct Cands {
	Sol **sol;
	int n, cap;
	uint32_t nval, nop; /* values and ops when the search ran: the length of Sol's arrays */
	const double *weight; /* [nop+1] how often an op runs in a block */
	uint64_t steps;
	struct Solve *solve; /* what the search knew of the kernel */
	bool tiles; /* there was something to solve */
	Why why; /* why the best-looking plan has no solution */
} Cands;

typedef struct Use {
	Op *op;
	int i;
} Use;

/* Of a view of global memory: its contiguous dim (-1 none) and the widest access there. */
typedef struct ViewFact {
	bool known;
	int unit;
	int64_t vec;
} ViewFact;

typedef struct KeptLayout KeptLayout; /* kept.c */
typedef struct SharedMemo SharedMemo; /* shared.c: layouts found before */
typedef struct StageMemo StageMemo; /* stage.c: the same */

/* What the search knows of the kernel: fixed while it runs. */
typedef struct Solve {
	Kernel *k;
	const struct Rates *rates; /* of the target */
	Arena *arena;
	Op **op; /* [nop+1] by id, NULL holes */
	Op **order; /* program order */
	int norder;
	Val **vals; /* [nval+1] by id */
	Use **use; /* [nval+1] */
	int *nuse;
	double *weight; /* [nop+1] how often the op runs in a block (trip counts multiplied) */
	ViewFact *view; /* [nval+1] views of global memory, filled when asked */
	/* [nop+1] of loops: register tiles from in front that are read in there; ends with NULL */
	Val ***through;
	bool *ahead; /* [nop+1] loads of what only the next iteration of a loop reads */
	int *unit; /* [nval+1] allocs: the dim whose elements are neighbours in memory */
	Op **access; /* loads and stores of register tiles, those that move most bytes first */
	int naccess;
	Op ***touch; /* [nval+1] loads, stores and copies of a shared tile, in program order */
	int *ntouch;
	Op **dot; /* in program order */
	int *dot_at; /* [nop+1] which of them an op is */
	int ndot;
	Op **queue; /* propagate's worklist */
	int nqueue, capqueue;
	bool *queued;
	/* [nop+1][CAST_ORDERS] of casts, by their source's order; filled when asked */
	struct CastPrice *cast;
	KeptLayout **kept; /* by hash */
	SharedMemo *memo;
	StageMemo *stages;
	Sol *sol; /* the one being built */
	/* the last plan has a load that the other choice of Plan.load would do otherwise */
	bool load_matters;
	const Op *unpackable; /* an unpack that no layout of its tile suits, found under this plan */
	Why why; /* why the last plan failed */
} Solve;

/* ---- recipe_price.c ------------------------------------------------------------------------------- */
/* What a cast from a narrow type takes. */
enum { CAST_ORDERS = 4 }; /* 0, 8, 16, and the last that was asked for of the others */
typedef struct CastPrice {
	bool known, any; /* is there a recipe? */
	int spread;
	int steps, last; /* instructions for 32 elements: of integers, of the result's type */
} CastPrice;
/* Of cast o if its operand's words are in that order (hexc/ir/spread.h). */
const CastPrice *cast_price(const Solve *s, const Op *o, int spread);
/* Instructions per element of a lookup (ptxgen/element/lookup.c): each four take byte permutations for each
 * of their bytes, selectors, and permutations that join bytes to elements. */
double lookup_weight(const Solve *s, const Op *o);

/* ---- why.c ---------------------------------------------------------------------------------------- */
/* The plan has no solution: s->why.text, printed, at src. */
void fails(Solve *s, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The other demand, for a note there. */
void fails_note(Solve *s, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Coordinates of a row-major number. */
void elem_at(const Type *t, int64_t elem, int64_t *c);
const char *elem_words(Solve *s, const Type *t, int64_t elem); /* "(3, 5)", of a row-major number */
/* Where layout l has that element: "register 2 of lane 5 of warp 0"; `l` of a register tile. */
const char *place_words(Solve *s, const Layout *l, const Type *t, int64_t elem);
/* "tile `acc`" or "the tile f32[64, 64]", of a value. */
const char *tile_words(Solve *s, const Val *v);

/* ---- solve.c ------------------------------------------------------------------------------------ */
void split_fills(Kernel *k);
/* Dots of types that the target has no instruction for take their operands through a type that it has. */
void promote_dots(Kernel *k);
/* Dots of a sparse tile take its values and positions where the target has an instruction for them. */
void fuse_sparse(Kernel *k);
void solve_init(Solve *s, Kernel *k);
/* The complete solution under a plan, with its price; NULL: s->why says why there is none. */
Sol *solve(Solve *s, const Plan *plan);

/* The other side of a demand on an access: the tensor, as the program declares it. */
void fails_note_tensor(Solve *s, Val *mem);
/* A store of elements smaller than a byte, as l, whose neighbours along `unit` are not at hand. */
void fails_half_bytes(Solve *s, const Op *o, const Layout *l, int unit);
/* An atomic update of a type for which the target has no instruction. */
void fails_no_red(Solve *s, const Op *o);

/* ---- pin.c ---------------------------------------------------------------------------------------- */
/* Is no demand of another op in the way of a layout that the program gave?  s->why. */
bool pins_hold(Solve *s);
/* Does the layout of v come from one of them? */
bool pinned(const Solve *s, const Val *v);

/* ---- registers.c --------------------------------------------------------------------------------- */
/* Registers that must live at once whatever the schedule: false when a lane cannot hold them; s->why. */
bool registers_fit(Solve *s);

/* ---- kept.c -------------------------------------------------------------------------------------- */
/* A layout like l that lives as long as the search, and is never written to. */
const Layout *kept_layout(Solve *s, const Layout *l);

/* ---- propagate.c -------------------------------------------------------------------------------- */
/* Layouts for every register value under s->sol->plan.  False: s->why says why not. */
bool propagate(Solve *s);
/* Give a value its layout if it has none; true if that is what it has now (equal), false on conflict. */
bool give(Solve *s, Val *v, const Layout *l, const Op *who);
/* o makes result i in layout l: what readers already count on is converted to from there. */
void deliver(Solve *s, Op *o, int i, const Layout *l);
/* Is operand i of o wanted just as its maker made it, before the conversion for the others? */
bool wanted_as_made(const Solve *s, const Op *o, int i);
/* Whose demand does `who` pass on? */
const Op *first_cause(const Solve *s, const Op *who);
/* The layout in which o makes result i. */
const Layout *result(const Solve *s, const Op *o, int i);
/* Operand i of o must lie as l: gives it when unknown, else records a conversion on the edge. */
void demand(Solve *s, Op *o, int i, const Layout *l);
/* The layout operand i has when o reads it. */
const Layout *operand(const Solve *s, const Op *o, int i);
/* An access to mem by `map`: each thread holds the indices of the elements it touches. */
void demand_indices(Solve *s, Val *mem, const Layout *map);

/* ---- rules.c, rules_line.c, rules_default.c: one rule per `layout` column of ops.def ------------ */
typedef void (*RuleFn)(Solve *s, Op *o);
extern const RuleFn rule_of[O_COUNT];
/* Lay the tile of shift o out so that its line along the shift's dim is within a warp. */
void anchor_shift(Solve *s, Op *o);
/* Lay the tiles of slice or concat o out so that its pieces are in registers of their own. */
void anchor_pieces(Solve *s, Op *o);
/* A layout for op o's results or operands when nothing demands one; last resort.  False: not mine. */
bool rule_default(Solve *s, Op *o);
/* The operand of reduction o lies so that reducing it gives the result as it lies.  False: not mine. */
bool rule_backward(Solve *s, Op *o);

/* ---- packed.c ----------------------------------------------------------------------------------- */
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
/* The order of bits (hexc/ir/spread.h) that all readers of narrow tile v like: casts that have recipes for
 * it. */
int spread_liked(const Solve *s, const Val *v);
/* v, and what only rearranges it, lies in that order. */
void spread_tile(Solve *s, const Val *v, int spread);

/* ---- dot_instr.c --------------------------------------------------------------------------------- */
/* Has the target the instruction, and is it for the types of this dot; swap: with its operands exchanged? */
bool instr_fits(const Instr *in, bool swap, const Op *dot, const Target *t);
/* Another that fits, or this one the other way round, does more at once and no slower. */
bool instr_dominated(const Instr *in, bool swap, const Op *dot, const Target *t);
/* Are a sparse dot's positions such as the instruction's (mma_sp)? */
bool instr_takes(const Instr *in, const Op *dot);
/* Do the tiles of a dot consist of whole instances? */
bool instr_divides(const Instr *i, bool swap, const Op *dot);

/* ---- dot.c -------------------------------------------------------------------------------------- */
/* Every way to do a dot, best-looking first; n of them in *out (arena). */
int dot_choices(Solve *s, const Op *dot, DotChoice **out);

/* ---- anchor.c ----------------------------------------------------------------------------------- */
/* Threads over a tile so that neighbours in memory meet neighbouring lanes.  order[0] = dim that is
 * contiguous; vec elements of it per access.  outer: warps go to the slowest dims. */
bool coalesced(Layout *out, int rank, const int64_t *shape, const int *order, int64_t vec, int warps,
               bool outer);

/* ---- reshape.c ----------------------------------------------------------------------------------- */
/* A layout for x that is one for y too, a type of as many elements; false: the shapes have too many dims. */
bool reshape_layout(const Solve *s, const Type *x, const Type *y, Layout *out);

/* ---- access.c ------------------------------------------------------------------------------------ */
void find_accesses(Solve *s);
/* the shared memory that a load reads, a store or copy writes; NULL: none */
Val *shared_operand(const Op *o);

/* ---- view.c --------------------------------------------------------------------------------------- */
int bits_of(const Val *v); /* of an element */
/* Where a view's dims lie in its base (view_base): dim_of[view dim] = dim there.  Returns the base. */
Val *view_dims(Val *v, int *dim_of);
/* The view dim along which memory is contiguous, -1 none. */
int unit_dim(const Solve *s, Val *mem);
/* Dims of a view, fastest memory first: by stride for global, by the alloc's order for shared. */
void memory_order(const Solve *s, Val *view, int *order);
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
/* The longest power-of-two run of registers [0, n) that lies along `dim` in memory order. */
int64_t reg_run(const Layout *l, int dim);

/* ---- memory.c, load.c, ldmatrix.c, shared.c ---------------------------------------------------- */
/* Access instruction of a load of a tile, and the layout it comes in where that is another than its
 * value's. */
void load_shared(Solve *s, Op *o);
void load_global(Solve *s, Op *o);
/* l with its registers numbered along dim `unit` first, if that makes longer runs in memory; else l. */
const Layout *along_memory(Solve *s, const Layout *l, int unit, int grain);
/* The task mapping of a copy: coalesced where it reads, vec elements an access, by instructions of that kind
 * if there are such; false: s->why. */
bool copy_map(Solve *s, const Op *o, Layout *map, int64_t *vec, InstrKind *kind);
/* Access instruction of every load, store, copy; address layout of every alloc. */
bool select_memory(Solve *s);
/* The memory instruction of that kind and width (8 bits at least), NULL: there is none. */
const Instr *memory_row(InstrKind kind, int bits, bool trans);
Pick *pick_new(Solve *s, const Instr *in, int64_t vec);
/* ldmatrix for a shared load whose result is to lie as l; NULL: l is no fragment of matrices.  *made: the
 * layout it comes in where registers have other numbers. */
Pick *pick_ldmatrix(Solve *s, const Op *o, const Layout *l, const Layout **made);
/* stmatrix for a store to a shared tile of what lies as l; NULL likewise. */
Pick *pick_stmatrix(Solve *s, const Op *o, const Layout *l);
/* A row of kind ldmatrix or stmatrix for a tile that lies as l in registers and has runs along `unit` in
 * shared memory, and which lane addresses what (128 bits of elements an access).  False: there is none. */
typedef struct MatrixSide {
	const Instr *in;
	const Layout *map;
} MatrixSide;
bool matrix_side(Solve *s, InstrKind kind, DType d, const Layout *l, int unit, MatrixSide *out);

/* One way of touching a shared tile. */
typedef struct Access {
	const Op *op;
	const Layout *map; /* access side: view coordinates -> lane, warp, reg */
	int rank;
	int dim_of[DIM_MAX]; /* view dim -> tile dim */
	const Type *as; /* dims are those of the tile under this shape; NULL: under its own */
	int vec; /* elements per lane and access */
	int bits; /* of an element */
	int lanes; /* lanes that give an address: 32, or 8 per matrix of ldmatrix */
	bool write; /* only one of several replicas writes */
	double weight;
} Access;
/* Address layout for a tile: order of dims, swizzle, conflicts counted over all phases and instances of
 * every access.  waves[i]: wavefronts of one execution of access i by all warps.  Asked again, it
 * remembers. */
void shared_layout(Solve *s, const Type *t, int unit_dim, const Access *acc, int nacc, Layout *out,
                   int64_t *waves);
/* Shared-memory wavefronts of one execution of the access by all warps, and the least possible. */
void access_waves(Arena *arena, const Access *a, const Layout *tile, int warps, int64_t *waves,
                  int64_t *least);

/* The best swizzle of l, which has none, for these accesses, and what they are then. */
void shared_swizzle(Solve *s, Layout *l, const Access *acc, int nacc, int64_t *waves);

/* ---- stage.c --------------------------------------------------------------------------------------- */
/* Through shared memory from one layout to another: sets vec, vec2 and the scratch of *p; where `matrices`
 * says so, stmatrix and ldmatrix are ways too.  waves[2]: wavefronts of writing and reading by all warps. */
void stage(Solve *s, const Type *t, const Layout *from, const Layout *to, bool matrices, Pick *p,
           int64_t *waves);

/* ---- across.c -------------------------------------------------------------------------------------- */
/* How a reduction is done: "reduce_shuffle" within warps, or "reduce_shared" with map and map2, who writes
 * and who reads which part of a result, and the scratch.  Adds what the scratch costs to *res. */
Pick *reduction(Solve *s, const Op *o, Res *res);

/* ---- convert.c ------------------------------------------------------------------------------------- */
/* How a tile goes from one layout to another: "rename", "select", "shuffle" or "shared", with the scratch it
 * needs.  Adds the price to *res. */
Pick *conversion(Solve *s, const Type *t, const Layout *from, const Layout *to, Res *res);

/* ---- price.c ----------------------------------------------------------------------------------------- */
void price(Solve *s, Op *o); /* fills sol->res[o->id] but for conversions */
/* Does nothing wait for load o before the next iteration?  A conversion would. */
bool made_ahead(const Solve *s, const Op *o);
/* A conversion: shuffles and arithmetic of all warps; with scratch, wavefronts of both sides, and
 * accesses. */
void price_conversion(const Solve *s, const Pick *p, double shuffles, double steps, const int64_t *waves,
                      double accesses, Res *r);
/* 32-byte sectors that one execution of a global access by all warps touches. */
int64_t global_sectors(const Solve *s, const Op *view, const Layout *map, int vec, int bits,
                       bool write);

/* ---- cost.c ------------------------------------------------------------------------------------------ */
void cost_of(Solve *s); /* prices all ops; fills sol->cycles and what belongs to it */
double res_busy(const Res *r); /* its busiest unit */
double res_cycles(const Res *r); /* .. and waits */
void res_add(Res *r, const Res *x, double times);

/* ---- cands.c ----------------------------------------------------------------------------------------- */
/* In its place among the others; of two that read alike and cost the same the first stays. */
void cands_add(Solve *s, Cands *c, Sol *sol);

/* ---- apply.c ----------------------------------------------------------------------------------------- */
void apply(Solve *s, const Sol *sol); /* into the IR */
const char *describe(Solve *s, const Sol *sol);
#endif
