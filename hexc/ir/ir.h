/* ir.h - declares the tile IR (SSA values, ops in blocks, structured regions) and its queries and builders,
 * for all passes.
 *
 * Naming: O_x op codes, D_x element types, S_x memory spaces, F_x op flags, T_x target features; functions
 * are object_verb. Everything is allocated in the unit's arena. The textual form (print.c, read.c) represents
 * everything here and parses back to the same IR. */
#ifndef HEXC_IR_H
#define HEXC_IR_H
#include "hexc/ir/diag.h"
#include "hexc/ir/dtype.h"
#include "hexc/ir/op.h"
#include "taskmap/support/support.h"
#include "taskmap/layout.h"

enum {
	T_LDMATRIX = 1,     /* ldmatrix, and the mma of sm_75 */
	T_CPASYNC = 2,
	T_MMA16816 = 4,     /* the mma shapes of sm_80 */
	T_BF16 = 8,
	T_STMATRIX = 16,
	T_MMA_F64M16 = 32,  /* f64 mma with 16 rows */
	T_FP8 = 64,         /* conversions of e4m3 and e5m2 */
	T_RED_BF16 = 128,   /* red.add of bf16, scalar and vector */
	T_WGMMA = 256,
	T_TMA = 512,        /* cp.async.bulk, tensor maps, mbarrier, elect.sync, fence.proxy */
	T_MULTICAST = 1024, /* cp.async.bulk with .multicast::cluster */
	T_SETMAXNREG = 2048,
	T_PDL = 4096,       /* griddepcontrol */
	T_TCGEN05 = 8192,   /* MMA in tensor memory; no row of instr.def uses it yet */
	T_MMA_SCALED = 16384, /* MMA with block scales along k */
	T_MMA_F8 = 32768,   /* mma.sync on e4m3 and e5m2 */
};

enum { PTX_FP8 = 84 }; /* PTX .version required by T_FP8 */
enum { PTX_RED_VECTOR = 81 }; /* PTX .version required by red with .v2 and .v4 */
enum { PTX_MIXED = 84 }; /* PTX .version required by wgmma with mixed signed and unsigned bytes */
enum { PTX_OWN = 86 };    /* PTX .version required by bulk copies to .shared::cta */
enum { PTX_SPARSE = 85 }; /* PTX .version required by mma.sp::ordered_metadata */

typedef struct Target {
	const char *name;
	int sm, ptx, llvm;
	int64_t smem, smem_sm, system;
	int warps, blocks, regs, grain;
	unsigned features; /* T_*; the other fields: targets.def */
} Target;
extern const Target targets[]; /* terminated by name == NULL */
enum { LANE_REGISTERS = 255 }; /* 32-bit registers per thread, on all targets */
const Target *target_find(const char *name); /* NULL: unknown name */
/* Returns the names of the targets that have all `features` (T_*), as a list for a sentence. Returns NULL if
 * there is none. */
const char *targets_with(Arena *a, unsigned features);
/* Returns the blocks resident per SM, at least 1: a block has `warps` warps, `registers` registers per thread
 * and `shared` bytes of shared memory. */
int occupancy(const Target *t, int warps, int64_t registers, int64_t shared);

typedef enum Space { S_scalar, S_reg, S_shared, S_global } Space;

/* A value's type. Scalars have rank 0. Extent -1: known only at run time (global tensors). */
typedef struct Type {
	DType dtype;
	Space space;
	int rank;
	int64_t shape[DIM_MAX];
	/* Register tile: tile coordinates -> lane, warp, reg. Shared alloc: -> mem (elements, swizzled). NULL
	 * until inference; `pinned`: the program specified it. */
	const Layout *layout;
	bool pinned;
	bool kept; /* register tile: the program declares it `register`; valid until pass stage_operands */
	/* register tile of at most 8 bits per element: element order within a thread's words
	 * (hexc/ir/bit_order.h) */
	int bit_order;
} Type;

typedef struct Op Op;
typedef struct Block Block;
typedef struct Kernel Kernel;
typedef struct Pack Pack; /* hexc/ir/pack.h */

typedef struct Val {
	Type type;
	uint32_t id;      /* %id in text: dense from 1 within the kernel */
	Op *def;          /* NULL: the value is an argument of `block` */
	Block *block;     /* the block that defines the value */
	int index;        /* result or argument index */
	const char *name; /* source name, or NULL; not significant */
} Val;

/* Lowerings of an op: name, description */
#define LOWERINGS(X)                                                                               \
	X(access, "load, store, copy: by an instruction, some elements at a time")                 \
	X(dot, "a product: by instances of an instruction")                                        \
	X(rename, "a conversion: every thread has what it wants")                                  \
	X(select, "a conversion: every thread has what it wants in a register that it computes")   \
	X(shuffle, "a conversion: another lane of the warp has it")                                \
	X(shared, "a conversion through a staging tile in shared memory")                          \
	X(reduce_shuffle, "a reduction: within warps")                                             \
	X(reduce_shared, "a reduction: parts of several warps meet in a staging tile")

typedef enum LoweringKind {
	LW_none,
#define X(name, help) LW_##name,
	LOWERINGS(X)
#undef X
	LW_COUNT
} LoweringKind;

/* How an op accesses memory. */
typedef struct LoweredAccess {
	const char *inst;  /* row of infer/core/instr.def: "ldmatrix_x4"; NULL (staging tile): ld or st */
	int vec;           /* elements per access and lane */
	/* tile coordinates -> lane, warp, reg (vector first, then time); NULL: the tile's layout */
	const Layout *map;
	int tensor_map;    /* 1-based index of the kernel's tensor map with which one thread copies TMA boxes;
	                    * each box starts where the shared tile's layout places its first element. 0: no
	                    * TMA */
} LoweredAccess;

/* How wgmma addresses an operand in shared memory, as encoded in its descriptor. An instance starts at its
 * first element's address in the unswizzled layout: the hardware swizzles by address bits. */
typedef struct LoweredMatrix {
	int width; /* bytes per row of the swizzle mode: 128, 64, 32; 16: none; 0: operand in registers */
	bool mn;   /* contiguous along m or n (MN-major); false: along k (K-major) */
	int lead, stride; /* byte offsets of the PTX ISA's matrix descriptor; lead 0: unused */
} LoweredMatrix;

/* A shared-memory tile that one op writes and, after a barrier, reads. */
typedef struct Staging {
	LoweredAccess write, read;
	const Layout *tile; /* tile coordinates -> address */
	int64_t bytes;
	int64_t off; /* bytes from the start of the block's shared memory; set by pass allocate_smem */
} Staging;

/* The decisions of layout inference for one op. */
typedef struct Lowering {
	LoweringKind kind;
	double cost; /* predicted cycles, for explain */
	union {
		LoweredAccess access; /* LW_access */
		struct {              /* LW_dot */
			const char *inst; /* "mma_m16n8k16_f32_f16" */
			bool swap;        /* computed as the transpose of B' A' */
			/* Index along a dim -> its position in the order of the instances; NULL: identity. */
			const Layout *rows, *cols, *k;
			/* Only the MMAs at positions from .. to - 1 along k; to 0: all. Another dot computes
			 * the rest from the same operands. */
			int from, to;
			/* wgmma with a register operand: number of register sets that its k slices use in
			 * turn; 0: one set per slice. */
			int sets;
			int n; /* wgmma: n of one instance, which the instruction row leaves open; else 0 */
			LoweredMatrix matrix[2]; /* wgmma: operands A and B of the instruction */
		} dot;
		Staging staged; /* LW_shared, LW_reduce_shared */
	};
} Lowering;

extern const char *const lowering_kind_name[LW_COUNT];
/* Returns the instruction ("ldmatrix_x4", "mma_m16n8k16_f32_f16"), or the kind ("shuffle") if there is
 * none. */
const char *lowering_name(const Lowering *p);
/* Returns the access of o's lowering. Without one: one element per access, with instruction NULL. */
const LoweredAccess *op_access(const Op *o);
/* Does the lowering use a staging tile? p may be NULL. */
bool lowering_is_staged(const Lowering *p);
/* Bits per element in the staging tile of a layout conversion. A byte for types whose elements straddle
 * bytes. Also a byte for narrower ones if either side accesses single elements: a sub-byte store would
 * overwrite the neighbour. */
int staging_bits(const Staging *p, DType d);

struct Op {
	OpCode code;
	uint32_t id;
	Src src;
	int nin, nout;
	Val **in, **out;
	int64_t imm[DIM_MAX]; /* accessed through IMM() */
	double fimm;
	const char *text;     /* message of print and assert; else NULL */
	Block *blk[2];        /* for: body; if: then, else; roles: producers, consumers */
	Lowering *lowering;
	Op *prev, *next;
	Block *parent;
};

/* The operand of that name: for_lo(o), store_value(o), mma_a(o); of a list, its i-th: for_init(o, i). o
 * is one of the
 * ops that ops.def names; builds with the sanitizers check that. An operand is replaced by
 * o->in[IN_for_lo] = v. */
#ifdef HEXC_CHECKED
void op_check(const Op *o, const OpCode *ops, size_t n, const char *name);
#define OP_CHECK(o, name, ...)                                                                               \
	do {                                                                                                 \
		static const OpCode ops[] = { __VA_ARGS__ };                                                 \
		op_check(o, ops, sizeof ops / sizeof *ops, name);                                            \
	} while (0)
#else
#define OP_CHECK(o, name, ...) (void)0
#endif
#define OP_IN(op, name, slot, ...)                                                                           \
	static inline Val *op##_##name(const Op *o)                                                          \
	{                                                                                                    \
		OP_CHECK(o, #op "_" #name, __VA_ARGS__);                                                     \
		return o->in[slot];                                                                          \
	}
#define OP_INS(op, name, slot, ...)                                                                          \
	static inline Val *op##_##name(const Op *o, int i)                                                   \
	{                                                                                                    \
		OP_CHECK(o, #op "_" #name, __VA_ARGS__);                                                     \
		return o->in[slot + i];                                                                      \
	}
#include "hexc/ir/ops.def"

/* The immediate of that name, as in IMM(o, dim), or element i of a list such as perm. An op without that
 * immediate is an internal compiler error. */
#define IMM(o, name) op_imm((o), IMM_##name, 0)
#define IMM_AT(o, name, i) op_imm((o), IMM_##name, (i))
#define IMM_SET(o, name, x) op_set_imm((o), IMM_##name, 0, (x))
#define IMM_SET_AT(o, name, i, x) op_set_imm((o), IMM_##name, (i), (x))
bool op_has_imm(OpCode code, Imm name);
int64_t op_imm(const Op *o, Imm name, int64_t i);
void op_set_imm(Op *o, Imm name, int64_t i, int64_t x);
/* Is the immediate a float, stored in Op.fimm? */
bool op_imm_is_float(const Op *o, Imm name);
/* Do named immediates cover all numbers that o has? Not in invalid IR. */
bool op_imms_named(const Op *o);
bool op_is(const Op *o, unsigned flags); /* has o any of the flags F_*? */
/* Returns the operand whose elements o moves or replicates without changing them. Returns NULL if o does
 * more, or has several tile operands. */
Val *op_moved(const Op *o);
bool op_is_late(const Op *o); /* a deferrable reduction (hexc/pass/mark_reductions.h); o may be NULL */

struct Block {
	Val **arg;
	int narg;
	Op *first, *last; /* last is a yield in a complete block */
	Op *owner;        /* NULL: the kernel's body or grid block */
	Kernel *kernel;
};

typedef enum ParamKind { P_tensor, P_size, P_scalar } ParamKind;

/* One launch parameter, in launch order: declared parameters, then run-time sizes by first appearance.
 * Argument i of the body block is parameter i. */
typedef struct Param {
	ParamKind kind;
	const char *name;
	Val *val;               /* S_global tile, or a scalar */
	Val *size[DIM_MAX];     /* tensors: extents, i64 scalars computed at the top of the body */
	Val *stride[DIM_MAX];   /* tensors: strides in elements, computed likewise */
	/* Tensors declared `packed`; NULL: others. Before pass lower_packed the tensor consists of elements,
	 * afterwards of words. Inference completes the fields that the program leaves unspecified. */
	const Pack *pack;
	bool written;           /* `out` or `inout` */
	bool read;              /* not `out`: `inout` or an input */
	/* sizes and scalars: the program's assumptions, value % mult == 0 and lo <= value <= hi */
	int64_t mult, lo, hi;
	Src src;
} Param;

/* An `assume` that a Param cannot represent: a bool scalar computed from parameters */
typedef struct Assume {
	Val *cond; /* defined in the grid block */
	const char *text;
	Src src;
} Assume;

enum { FOR_PLAIN, FOR_PIPELINE };
/* Does the loop also end when its first carried value, a bool scalar, is false? */
bool loop_ends_early(const Op *o);
/* IMM(o, split) of a for: the role of a loop after pass split_loops. The unmasked main loop runs between the
 * prologue and the remainder loops; each continues at the iteration where the preceding one ended. */
typedef enum SplitKind {
	SPLIT_NONE,   /* not processed */
	SPLIT_PROLOGUE,  /* the first iterations, which need masks; may have trip count 0 */
	SPLIT_MAIN,
	SPLIT_REMAINDER,
	SPLIT_NESTED_LOOP, /* not split: it contains loops */
	SPLIT_OVERFLOW,    /* not split: counter arithmetic may overflow */
	SPLIT_NO_CONDITION, /* not split: no mask changes at a provable iteration */
	SPLIT_SHORT_TRIP,  /* not split: short trip count */
	SPLIT_CLUSTER_BARRIER,  /* not split: it contains a cluster barrier */
	SPLIT_CHEAP_MASKS, /* not split: its masks are cheap */
	SPLIT_CODE_SIZE,  /* not split: too large to be duplicated */
	SPLIT_FALLBACK,  /* not split: no dot, in a fallback version */
	SPLIT_SMEM, /* not split: tiles of an iteration, then live across all loops, exceed shared memory */
	SPLIT_KINDS
} SplitKind;
/* IMM(o, update) of a store: the effect on the stored element. All but PLAIN are atomic. */
typedef enum StoreKind {
	STORE_PLAIN,
	STORE_ADD,
	STORE_MAX,
	STORE_MIN,
	STORE_AND, /* bitwise, integers */
	STORE_OR,
	STORE_XOR,
	STORE_SWAP, /* exchange with the value */
	STORE_CAS,  /* exchange if the old value equals the comparand bitwise */
	STORE_KINDS
} StoreKind;

/* IMM(o, table) of an alloc that holds a register tile: index tiles select elements from it, or a dot reads
 * it. */
typedef enum TableKind {
	TABLE_NONE,
	TABLE_OPEN,      /* in shared memory, or gathered from registers: not decided yet */
	TABLE_REGISTERS, /* gathered from registers */
	TABLE_OPERAND,   /* operand of a dot, in shared memory or registers: not decided yet */
	TABLE_DIRECT,    /* operand that the dot reads from registers directly */
	TABLE_KEPT,      /* as OPERAND, but shared memory is used only if registers are not possible */
} TableKind;

/* IMM(o, oob_fill) of a load: the value of out-of-bounds elements. */
typedef enum OutsideKind {
	OUTSIDE_ZERO,
	OUTSIDE_FILL, /* the load's fill value */
	OUTSIDE_ANY,  /* undefined: no use observes them */
	OUTSIDE_KINDS
} OutsideKind;

/* IMM(o, async) of a copy: when it completes. */
typedef enum CopyKind {
	COPY_NOW,
	COPY_GROUP,   /* at the `wait` for its group */
	COPY_BARRIER, /* when the phase of its mbarrier completes */
	COPY_OUT,     /* shared to global; at the `wait` for its bulk group */
	COPY_KINDS
} CopyKind;

/* A constant or tunable with its selected value. */
typedef struct Define {
	const char *name;
	int64_t value; /* an integer, or type_value() */
} Define;
/* The values allowed by a `tune` of the program, given the constants before it: integers, or type_value(). */
typedef struct Tunable {
	const char *name;
	int64_t value, preset; /* the selected value, and the default */
	const int64_t *choice;
	int nchoice;
} Tunable;
/* Encodes an element type as a number, far below every value that a program uses. */
int64_t type_value(DType d);
DType value_type(int64_t x); /* D_COUNT: x is an ordinary number */

/* A tile for which the program leaves shared memory or registers unspecified (hexc/pass/assign_space.h). */
typedef struct SpaceChoice {
	const char *name; /* name of the tile, or NULL */
	Src src;
	int64_t bytes; /* size of the tile */
	bool registers; /* it stays in registers; false: copied to shared memory and loaded at its uses */
	bool kept; /* the program specifies registers: shared memory only if these are not possible */
} SpaceChoice;

/* Raster order of blocks. The hardware starts blocks along x, then y, then z. With `group` > 0, block indices
 * along grid dimensions `fast` and `slow` are remapped (GROUP_M swizzle). A group of `group` rows of `fast`
 * runs for all indices of `slow` before the next group starts. The last group takes the remaining rows, fewer
 * than 2 * group. Ops `block_id` yield the remapped index; the grid does not change.
 *
 * With GRID_OTHERS for `fast`, a row is one of the blocks with the same index of `slow`, which are counted in
 * the hardware's order; with GRID_OTHERS_DOWN, `slow` also runs from its last index to its first. */
typedef struct GridOrder {
	int64_t group; /* rows per group; 0: hardware order */
	int fast, slow; /* grid dimensions, fast < slow; fast may also be one of the following */
} GridOrder;
enum { GROUP_MOST = 1024, GRID_OTHERS = 3, GRID_OTHERS_DOWN };

enum { MAP_RANK_MAX = 5 };

/* A TMA tensor map of a parameter, encoded by the host before the launch; set by pass infer. Dims are counted
 * from the contiguous one; sizes and strides are in elements of `dtype`. */
typedef struct TensorMap {
	int param;                  /* index of the tensor among the parameters */
	DType dtype;                /* of the map: u8 (bytes) for element types below 8 bits */
	int rank;                   /* 1 to MAP_RANK_MAX */
	Val *size[MAP_RANK_MAX];    /* i64 scalars of the body's top level, as in Param */
	Val *stride[MAP_RANK_MAX];  /* stride[0] is NULL: 1 */
	int64_t box[MAP_RANK_MAX];  /* TMA box extents, 1 to 256 */
	int swizzle;                /* bytes of the swizzle mode: 0 (none), 32, 64, 128 */
	int l2;                     /* L2 promotion, bytes: 0, 64, 128, 256 */
} TensorMap;

/* IMM(o, known) of a select: how its selected operand depends on the other one, as a function
 * (lib/error_bound/library_functions.c). */
typedef enum KnownForm {
	KNOWN_NOTHING,
	KNOWN_MONOTONE, /* monotone wherever it is defined */
	KNOWN_POSITIVE, /* monotone above 0 */
	KNOWN_SLOW, /* its slope never exceeds 1 */
	KNOWN_REMAINDER, /* exact, of slope 1 but for jumps */
} KnownForm;

/* How the warps of a block divide the work of its pipeline loops. */
typedef enum Schedule {
	SCHEDULE_MULTISTAGE, /* every warp copies and computes; async-copy groups */
	SCHEDULE_WARP_SPECIALIZED,  /* producer and consumer warps with mbarriers (pass warp_specialize) */
	SCHEDULE_TEAMS,  /* two consumer warpgroups that alternate over the tiles (pingpong) */
	SCHEDULES
} Schedule;
extern const char *const schedule_name[SCHEDULES]; /* textual name: "groups" */

static inline bool
schedule_has_roles(Schedule s)
{
	return s != SCHEDULE_MULTISTAGE;
}

/* One specialized kernel: constants and tunables have values. */
struct Kernel {
	struct Unit *unit;
	const char *name;
	Param *param;
	int nparam;
	Block *body;
	Block *grid;      /* i64 scalars over the body's size arguments; yields x, y, z */
	Assume *assume;
	int nassume;
	int warps;        /* consumer warps, per consumer group */
	int teams;        /* number of consumer groups; 1 without `roles` */
	int producer_warps;      /* producer warps; 0 without `roles` */
	Schedule schedule; /* requested; `roles` written in the program are unaffected */
	bool made_roles;  /* a pass created an O_roles, which may be gone: see kernel_roles */
	bool masked;       /* no result depends on out-of-bounds elements: pass mask_bounds has run */
	const char *after; /* the last pass that the driver ran; NULL: none */
	const char *unscheduled; /* why pass warp_specialize left the kernel unchanged; NULL: no reason */
	int launch_registers; /* registers per thread at launch; 0: chosen by the assembler */
	int cluster[3];   /* blocks per cluster along x, y, z; 1 1 1: no cluster */
	int cluster_asked[3]; /* cluster that pass multicast is to create; 0 0 0: none, or the program's */
	TensorMap *map;   /* set by pass infer; passed after all other parameters */
	int nmap;
	bool open_warps;  /* the program leaves the warp count unspecified: the search may change it */
	GridOrder order;  /* set by pass rasterize */
	int64_t smem;     /* bytes of dynamic shared memory, set by pass allocate_smem */
	int64_t team_smem; /* bytes from one consumer group's shared memory to the next one's, likewise */
	uint32_t nval, nop; /* last assigned ids */
	struct FactMemo *facts; /* memoized results of val_fact; NULL: disabled */
	uint64_t nfact; /* values that val_fact has visited so far */
	const Define *constants; /* selected constants and tunables, for the manifest */
	int nconstants;
	/* For tuners only; from the program, not in the textual form. */
	Tunable *tunable;
	const char **condition; /* conditions that the constants satisfy */
	int ntunable, ncondition;
	Src src;
};

/* One compilation. */
typedef struct Unit {
	Arena *arena;
	Diag *diag;
	const Target *target;
	const char *file;   /* file name in diagnostics */
	const char *text;   /* source text, for carets */
	size_t len;
	int candidate;      /* index of the solution to use, 0 = best */
	bool no_pdl;        /* kernels neither wait for the primary kernel nor release dependents early */
	bool lineinfo;      /* emit source lines into the PTX */
	bool stay; /* LLVM runs on the caller's thread, even where that prevents cancellation */
	/* Receives one line per plan that the layout search evaluates; NULL: no trace. */
	void (*trace)(void *user, const char *line);
	void *trace_user;
	uint64_t max_values; /* limit on 32-bit words computed per thread, over all kernels; 0: none */
	/* [nkernel] spilled bytes per thread as reported by the assembler; -1: not queried; NULL: no kernel
	 * was */
	const int *spilled;
	Kernel **kernel;
	int nkernel;
} Unit;

/* ---- build (ir.c, clone.c) ------------------------------------------------------------------- */

/* Returns an empty kernel: body and grid blocks without ops, 4 warps. It is not added to u->kernel. */
Kernel *kernel_new(Unit *u, const char *name);
Block *block_new(Kernel *k, Op *owner);
bool block_inside(const Block *b, const Block *outer); /* at any depth, or equal */
bool op_is_other_version(const Op *o); /* inside the fallback region of an `if` with IMM versions */
Val *block_arg(Block *b, Type t);
/* Creates an op at the end of b, or before `at` unless at is NULL. `in` is copied; results get the given
 * types. */
Op *op_new(Block *b, Op *at, OpCode code, Src src, int nin, Val *const *in, int nout, const Type *out);
void op_unlink(Op *o);                       /* removes o from its block */
void op_move_before(Op *o, Op *at);
/* loop_carry adds a loop-carried value, initially `first`, as the last argument of the body; returns the op
 * that replaces o. loop_carry_next appends the next iteration's value to the yield. */
Op *loop_carry(Op *o, Val *first);
/* Adds a result to an `if`: `yes` of its first block or `no` of its second. Returns the op that replaces
 * o. */
Op *if_carry(Op *o, Val *yes, Val *no);
void loop_carry_next(Op *loop, Val *next);
/* Replaces every use of `old` in the kernel (all blocks, parameters' sizes and strides too) by `new_val`. */
void val_replace(Kernel *k, Val *old, Val *new_val);
/* The same for results of ops of the body, in one walk: of each value with id < n, by to[id] unless that is
 * NULL. */
void vals_replace(Kernel *k, Val *const *to, uint32_t n);
/* Returns the number of uses as an operand, by value id. */
uint32_t *kernel_uses(const Kernel *k);
/* Deep copy of o with regions and lowering. `map` returns the replacement of an operand defined outside of o;
 * if `map` or its result is NULL, the operand is kept. */
Op *op_clone(Block *b, Op *at, const Op *o, Val *(*map)(void *, Val *), void *user);
/* Returns scalar v recomputed before `at` of b (or at its end) from values outside of `body`; v itself if it
 * is defined outside. Returns NULL if v depends on other values of `body`. */
Val *val_outside(Block *b, Op *at, Val *v, const Block *body);
/* Appends clones of all ops of `from` to `to`; clones use each other's results. */
void block_clone(Block *to, const Block *from);
/* Returns a copy of the kernel with the same ids, which shares only immutable data. It is not added to
 * unit->kernel. */
Kernel *kernel_copy(const Kernel *k);
/* Gives k the contents of `from`, an earlier copy of it, which stays as it is. */
void kernel_restore(Kernel *k, const Kernel *from);
/* Visits every op of b in textual order, an owner before its regions. The op just returned may be unlinked if
 * it has no regions. Ops inserted between it and its successor are not visited. */
typedef struct OpWalk {
	Op *next;
	Block *root;
} OpWalk;
Op *walk_first(OpWalk *w, Block *b);
Op *walk_next(OpWalk *w);
/* Does the body contain an op of that code? */
bool kernel_has(const Kernel *k, OpCode code);

/* ---- roles of warps (warp_role.c) ----------------------------------------------------------------- */

typedef enum Role { ROLE_ALL, ROLE_PRODUCER, ROLE_CONSUMER } Role;

const Op *kernel_roles(const Kernel *k); /* NULL: no warp roles */
int kernel_warps(const Kernel *k);       /* warps per block, of all roles */
/* Blocks per cluster. */
int cluster_blocks(const Kernel *k);
/* Is the kernel persistent: do its blocks, however many are launched, distribute the grid's tiles? */
bool kernel_is_persistent(const Kernel *k);
/* Does it contain its own wait for the primary kernel (PDL)? */
bool kernel_waits_for_grids(const Kernel *k);
/* The maximum registers per thread at launch for a block of `warps` warps: the budget that roles
 * reallocate. */
int launch_registers(int warps);
enum { REGISTERS_LEAST = 24, REGISTERS_MOST = 256 }; /* range of setmaxnreg, in steps of 8 */
/* The role that executes o. ROLE_ALL: every warp of the block, as outside of `roles`. */
Role op_role(const Op *o);
/* Number of warps that execute o together and over which its tiles are distributed: one consumer group, the
 * producers, or the block. */
int op_warps(const Op *o);
/* Bytes: an alloc without an `align` begins at a multiple of the first; an mbarrier has the second. */
enum { SMEM_ALIGN = 16, MBAR_BYTES = 8 };
/* Maximum number of mbar_arrive executions per phase. The hardware counts to 2^20 - 1, and in one execution
 * each of 32 warps and each of their lanes may arrive. */
enum { ARRIVALS_MOST = ((1 << 20) - 1) / (32 * (1 + WARP_SIZE)) };
/* Does o compute a register tile of integers or bools elementwise in the owning lanes, as row indices need?
 * Producer warps may hold only these tiles. */
bool op_is_index(const Op *o);
/* Returns the `mbar` op of a wait, an arrival or a copy; NULL: the copy has none. */
Op *op_mbar(const Op *o);
/* Returns the index into these mbarriers, if o has one. */
const Val *op_slot(const Op *o);
/* Returns the last op of that code before o in its block; NULL: none. */
Op *op_last_before(const Op *o, OpCode code);
/* Returns the wgmma fence before MMA o in its block, which orders writes to its registers. NULL: none. */
Op *product_fence(const Op *o);
/* Returns the length of the k slice of a wgmma, which starts at *from: all of k, or the slice in its
 * lowering. */
int64_t product_part(const Op *o, int64_t *from);
/* The full k extent of a `wgmma`. */
int64_t product_k(const Op *o);
/* Returns the register operand of o; NULL: o is no wgmma, or reads both operands from shared memory. */
Val *product_factor(const Op *o);
/* Iterates over the copies that an `expect` arrival covers: those before it in its block with its mbarrier
 * and slot, back to the preceding `expect` arrival. Order is from last to first; `last` is the arrival at the
 * start, then the previous result. NULL: no more. */
const Op *arrival_copy(const Op *arrive, const Op *last);
/* Returns the arrival that expects an mbarrier copy; NULL: none. */
const Op *copy_arrival(const Op *copy);

/* ---- what holds across roles (warp_role_rules.c) ---------------------------------------------------- */

/* Checks the cooperation of warp roles and asynchronous MMAs in an otherwise well-formed kernel. Returns
 * NULL, or the violated rule with the op in *at. */
const char *role_rules(Kernel *k, const Op **at);
/* Returns a bit mask by op id: bit i is set if operand i is the result of an MMA that may still be in flight
 * when the op runs. The kernel obeys role_rules. NULL: it has no asynchronous MMA. Operands from
 * UNDER_WAY_MOST on are not tracked. */
enum { UNDER_WAY_MOST = 64 };
const uint64_t *products_under_way(Kernel *k);

/* ---- webs (wgmma_webs.c) ---------------------------------------------------------------------------- */

/* Returns a web number by value id: register tiles defined by MMAs, loops and branches share one if they
 * share registers; others have 0. Invalidated when an op that reads or defines one is moved, created or
 * unlinked. */
const uint32_t *kernel_webs(const Kernel *k);
/* Returns the value that operand i of o becomes unchanged: the result of the MMA that accumulates into it, or
 * of the loop or branch that it enters or is yielded from. NULL: o reads the operand. */
const Val *handed_to(const Op *o, int i);
/* Does an MMA that accumulates into v start from zero, whatever its registers contain? */
bool val_is_zero(const Val *v);

/* ---- index arithmetic (index_builder.c) ----------------------------------------------------------- */

/* Create i64 scalar ops, with constants folded immediately. */
Val *ir_const(Block *b, Op *at, int64_t x);
Val *ir_bin(Block *b, Op *at, OpCode code, Val *x, Val *y); /* add sub mul div mod min max lt le eq */
bool val_is_const(const Val *v, int64_t *out); /* integer or bool scalar constant? */
/* Computes x code y in 64-bit two's complement, as the hardware does. Returns false if undefined (x / 0,
 * shifts past 63). */
bool i64_eval(OpCode code, int64_t x, int64_t y, int64_t *out);

/* ---- types (type.c) -------------------------------------------------------------------------- */

/* Checks the extents and layout of a type. Returns NULL or the error. */
const char *type_check(Arena *a, const Type *t, int warps);
/* Returns the dim of x that dim d of the reshaped type y equals in full; -1: split, collapsed, or extent
 * 1. */
int reshape_source(const Type *x, const Type *y, int d);

Type type_scalar(DType d);
/* The type of sizes, indices and loop counters (i64), and of conditions (bool). */
Type type_index(void);
Type type_cond(void);
bool type_is_index(const Type *t);
bool type_is_cond(const Type *t);
Type type_tile(DType d, Space s, int rank, const int64_t *shape);
Type type_free(Type t);                      /* the type without its layout */
int64_t type_size(const Type *t);            /* elements */
void type_coord(const Type *t, int64_t elem, int64_t *index); /* of the element with row-major index `elem` */
bool type_same(const Type *a, const Type *b); /* dtype, space, shape, bit order; not layout */
const char *type_print(Arena *a, const Type *t);

/* ---- the message of a print (print_format.c) ----------------------------------------------------------- */

/* A piece of a print message: literal characters, or `{}` for an operand. {{ and }} are escaped braces. */
typedef struct Piece {
	const char *text; /* NULL: an operand */
	size_t n;
} Piece;
/* Gets the piece at *at and advances *at. Returns false at the end, or at an unmatched brace (then *bad is
 * set). */
bool message_next(const char *text, size_t *at, Piece *out, bool *bad);
int message_operands(const char *text); /* number of `{}`; -1: unmatched brace */
/* The printf conversion of a print operand. */
const char *message_format(DType d);
bool message_takes(DType d); /* can print take a scalar of that type without a cast? */

/* Run-time sizes are 0 .. SIZE_LIMIT; launches with others are rejected. */
#define SIZE_LIMIT ((int64_t)1 << 40)

/* ---- equal values (value_equal.c) ------------------------------------------------------------------- */

/* Are both the same expression over the same values? Compares pure index arithmetic only, `depth` ops
 * deep. */
bool val_same(const Val *x, const Val *y, int depth);
/* Are a and b computed by the same ops from the same values, to a fixed depth? Two equal loads count as
 * equal. */
bool val_same_way(const Val *a, const Val *b);
/* The values that a chain of `and`, or of `or`, joins, each once, in order; the first JOINED_MAX of them. */
enum { JOINED_MAX = 64 };
typedef struct Joined {
	const Val *part[JOINED_MAX];
	int n;
} Joined;
Joined val_joined(const Val *v, OpCode join);

/* ---- views (view.c) --------------------------------------------------------------------------------- */

/* Has the view bounds of its own, besides those of the tensor? From pass mask_bounds on only views of copies
 * have these, inside of the tensor. */
bool view_is_bounded(const Op *view);
/* Return the first index, and the index after the last one, that exist in the view along dim d of its
 * operand. NULL: open, the view ends where the tensor does. */
Val *view_from(const Op *view, int d);
Val *view_below(const Op *view, int d);
/* Returns the stride, in elements of its dim d, between adjacent elements of the view. */
int64_t view_step(const Op *view, int d);
/* Returns the number of elements of operand dim d from the first to the last one in the view, inclusive. */
int64_t view_span(const Op *view, int d);
/* Is this view, or a view that it is based on, strided? */
bool view_has_steps(const Op *view);
/* Returns how many elements of the view's dim d exist in its operand, if that is a view or a shared tile;
 * less than the extent if the view is longer. For tensors and other ops: the extent. */
int64_t view_within(const Op *view, int d);
/* Does the view extend past its operand along any dim? */
bool view_is_longer(const Op *view);
/* Is dim d of the view's operand indexed by an index tile, view_start(view, d)? */
bool view_gathers(const Op *view, int d);
/* The first dim of the view that its index tiles span (-1: none), and the number of these dims. Each index
 * tile has the view's extent in such a dim, or 1. NULL or no view: no gather. */
int view_gather_dim(const Op *view);
int view_gather_rank(const Op *view);
bool view_is_gathered(const Op *view, int d);     /* Is dim d of the view one of them? */
int view_operand_dim(const Op *view, int d);      /* of the view's dim d; for gathered dims: the first */
int view_result_dim(const Op *view, int d);       /* of the operand's dim d, the first; -1: dropped */
/* Returns the tensor or alloc under a chain of views and reshapes. */
Val *view_root(Val *v);
/* Is v a reshape of a shared tile? Dims and starts of its views refer to the reshaped type. */
bool val_is_alias(const Val *v);
/* Returns the base to which v's dims and starts refer: the tensor, the alloc, or an alias of it. */
const Val *view_base(const Val *v);
const Param *val_param(const Kernel *k, const Val *root); /* NULL: not a parameter */
#endif
