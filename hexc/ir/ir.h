/* ir.h - the tile IR: SSA values, ops in blocks, structured regions.
 *
 * Naming: O_x op codes, D_x element types, S_x spaces, F_x op flags, T_x target features;
 * object_verb for functions.  Everything lives in the unit's arena.
 * The text form (print.c, read.c) holds everything here and parses back to the same IR. */
#ifndef HEXC_IR_H
#define HEXC_IR_H
#include "hexc/ir/diag.h"
#include "hexc/ir/dtype.h"
#include "hexc/ir/op.h"
#include "taskmap/support/support.h"
#include "taskmap/layout.h"

enum {
	T_LDMATRIX = 1,     /* and the mma of sm_75 */
	T_CPASYNC = 2,
	T_MMA16816 = 4,     /* the mma of sm_80 */
	T_BF16 = 8,
	T_STMATRIX = 16,
	T_MMA_F64M16 = 32,  /* f64 mma of 16 rows */
	T_FP8 = 64,         /* conversions of e4m3 and e5m2 */
	T_RED_BF16 = 128,   /* atomic addition of bf16 in memory; of several neighbours at once */
	T_WGMMA = 256,
	T_TMA = 512,        /* bulk copies, tensor maps, mbarrier, elect, fence.proxy */
	T_MULTICAST = 1024, /* bulk copies to all blocks of a cluster */
	T_SETMAXNREG = 2048,
	T_PDL = 4096,       /* griddepcontrol */
	T_TCGEN05 = 8192,   /* products in tensor memory, of which no rows are */
	T_MMA_SCALED = 16384, /* products of values and scales of blocks along k */
	T_MMA_F8 = 32768,   /* mma.sync of e4m3 and e5m2 */
};

enum { PTX_FP8 = 84 }; /* .version of what T_FP8 stands for */
enum { PTX_RED_VECTOR = 81 }; /* .version of red of .v2 and .v4 */
enum { PTX_MIXED = 84 }; /* .version of wgmma of signed and unsigned bytes */
enum { PTX_OWN = 86 };    /* .version of bulk copies to .shared::cta */
enum { PTX_SPARSE = 85 }; /* .version of mma.sp::ordered_metadata */

typedef struct Target {
	const char *name;
	int sm, ptx, llvm;
	int64_t smem, smem_sm, system;
	int warps, blocks, regs, grain;
	unsigned features; /* T_* */
} Target;
extern const Target targets[]; /* ends with name == NULL */
enum { LANE_REGISTERS = 255 }; /* of 32 bits, on all of them */
const Target *target_find(const char *name); /* NULL: unknown */
/* The names of those that have all these features, T_*, as a sentence lists them; NULL: none has. */
const char *targets_with(Arena *a, unsigned features);
/* Blocks of so many warps, registers of a lane and bytes of shared memory that an SM holds: at least 1. */
int occupancy(const Target *t, int warps, int64_t registers, int64_t shared);

typedef enum Space { S_scalar, S_reg, S_shared, S_global } Space;

/* A value's type.  Scalars have rank 0.  Extent -1: known at run time only (global tensors). */
typedef struct Type {
	DType dtype;
	Space space;
	int rank;
	int64_t shape[DIM_MAX];
	/* register tile: tile coordinates -> lane, warp, reg;  shared alloc: -> mem (elements,
	 * swizzled). NULL until inference; `pinned` if the program gave it. */
	const Layout *layout;
	bool pinned;
	bool kept; /* register tile: the program says that it is one. Until pass stage_operands */
	/* register tile of at most 8 bits: the order of a lane's elements in its words
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
	Op *def;          /* NULL: an argument of `block` */
	Block *block;     /* where it is defined */
	int index;        /* result or argument number */
	const char *name; /* source name, or NULL; decoration only */
} Val;

/* Ways to carry out an op: name, what it is */
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

/* Memory is accessed so. */
typedef struct LoweredAccess {
	const char *inst;  /* row of infer/core/instr.def: "ldmatrix_x4"; of a staging tile NULL: ld or st of
	                    * vec elements */
	int vec;           /* elements of one access per lane */
	const Layout *map; /* tile coordinates -> lane, warp, reg (vector first, then time); NULL: as the
	                    * layout of the register tile says */
	int tensor_map;    /* one thread moves boxes of this map of the kernel, counted from 1, each to or
	                    * from where the layout of the shared tile has its first element.  0: none */
} LoweredAccess;

/* How wgmma finds an operand in shared memory: what its descriptor says.  An instance starts where its first
 * element would be if the tile's layout had no swizzle: the hardware swizzles by address bits. */
typedef struct LoweredMatrix {
	int width; /* bytes of a row of the swizzle mode: 128, 64, 32; 16: none; 0: it is in registers */
	bool mn;   /* neighbours in memory run along m or n; false: along k */
	int lead, stride; /* byte offsets as in the PTX ISA; lead 0: not used */
} LoweredMatrix;

/* A tile in shared memory that one op writes and, past a barrier, reads. */
typedef struct Staging {
	LoweredAccess write, read;
	const Layout *tile; /* addresses */
	int64_t bytes;
	int64_t off; /* bytes from the start of the block's shared memory; set by pass allocate_smem */
} Staging;

/* What inference decided for one op. */
typedef struct Lowering {
	LoweringKind kind;
	double cost; /* predicted cycles, for explain */
	union {
		LoweredAccess access; /* LW_access */
		struct {              /* LW_dot */
			const char *inst; /* "mma_m16n8k16_f32_f16" */
			bool swap;        /* computed as the transpose of B' A' */
			/* The index along a dim -> its position in the order of the instances; NULL: its
			 * own. */
			const Layout *rows, *cols, *k;
			/* The products at these positions along k only, from, from + 1, .. to - 1; to 0: all.
			 * Another dot does what is left, on the same operands. */
			int from, to;
			/* wgmma: registers of the factor that lanes hold, for so many parts, which take turns
			 * with them; 0: each part has its own. */
			int sets;
			int n; /* wgmma: of one instance, which the instruction leaves open; else 0 */
			LoweredMatrix matrix[2]; /* wgmma: of what it calls A and B */
		} dot;
		Staging staged; /* LW_shared, LW_reduce_shared */
	};
} Lowering;

extern const char *const lowering_kind_name[LW_COUNT];
/* "ldmatrix_x4", "mma_m16n8k16_f32_f16": the instruction; or "shuffle": what else it is. */
const char *lowering_name(const Lowering *p);
/* How o accesses memory: as its lowering says, else one element at a time by an instruction that is NULL. */
const LoweredAccess *op_access(const Op *o);
/* Has it a staging tile?  p may be NULL. */
bool lowering_is_staged(const Lowering *p);
/* Bits that an element takes in the staging tile of a convert: a byte for types whose elements are laid out
 * across bytes, and for smaller ones when one of the sides has single elements, which could not be written
 * without their neighbour's. */
int staging_bits(const Staging *p, DType d);

struct Op {
	OpCode code;
	uint32_t id;
	Src src;
	int nin, nout;
	Val **in, **out;
	int64_t imm[DIM_MAX]; /* see IMM() */
	double fimm;
	const char *text;     /* print, assert: what they say; else NULL */
	Block *blk[2];        /* for: body;  if: then, else;  roles: producers, consumers */
	Lowering *lowering;
	Op *prev, *next;
	Block *parent;
};

/* The immediate of that name, as in IMM(o, dim); it is an error of the compiler if the op has none.  Of a
 * list, such as perm, element i. */
#define IMM(o, name) op_imm((o), IMM_##name, 0)
#define IMM_AT(o, name, i) op_imm((o), IMM_##name, (i))
#define IMM_SET(o, name, x) op_set_imm((o), IMM_##name, 0, (x))
#define IMM_SET_AT(o, name, i, x) op_set_imm((o), IMM_##name, (i), (x))
bool op_has_imm(OpCode code, Imm name);
int64_t op_imm(const Op *o, Imm name, int64_t i);
void op_set_imm(Op *o, Imm name, int64_t i, int64_t x);
bool op_is(const Op *o, unsigned flags); /* one of the flags F_* */
/* The operand whose elements o's result has, elsewhere or repeated; NULL: o does more, or of more tiles. */
Val *op_moved(const Op *o);
bool op_is_late(const Op *o); /* a reduction that may be made in parts: see hexc/pass/mark_reductions.h; o may be NULL */

struct Block {
	Val **arg;
	int narg;
	Op *first, *last; /* last is a yield once built */
	Op *owner;        /* NULL: the kernel's body or grid */
	Kernel *kernel;
};

typedef enum ParamKind { P_tensor, P_size, P_scalar } ParamKind;

/* One launch parameter, in launch order: as declared, then the run-time sizes by first appearance.
 * arg i of the body block is parameter i. */
typedef struct Param {
	ParamKind kind;
	const char *name;
	Val *val;               /* S_global tile, or scalar */
	Val *size[DIM_MAX];     /* tensors: extents, i64 scalars computed at the top of the body */
	Val *stride[DIM_MAX];   /* tensors: in elements, likewise */
	/* tensors declared `packed`; NULL: others.  Until pass lower_packed the tensor is one of elements;
	 * then of words.  Inference completes what the program leaves open. */
	const Pack *pack;
	bool written;           /* `out` or `inout` */
	bool read;              /* not `out` */
	/* sizes and scalars: what the program assumes.  value % mult == 0, lo <= value <= hi */
	int64_t mult, lo, hi;
	Src src;
} Param;

/* `assume` that is not of the form a Param holds: a bool scalar computed from parameters */
typedef struct Assume {
	Val *cond; /* in the grid block */
	const char *text;
	Src src;
} Assume;

enum { FOR_PLAIN, FOR_PIPELINE };
/* Does the loop end, too, where its first carried value, a bool scalar, is false? */
bool loop_ends_early(const Op *o);
/* IMM(o, split) of a for: what pass split_loops made of it.  The loop of turns that need no masks stands in front
 * of the one that has the others, and each goes on where the one before has ended. */
typedef enum SplitKind {
	SPLIT_NONE,   /* not asked */
	SPLIT_PROLOGUE,  /* the first turns, which need masks too; there may be none of these */
	SPLIT_MAIN,
	SPLIT_REMAINDER,
	SPLIT_NESTED_LOOP, /* whole: it holds loops */
	SPLIT_OVERFLOW,    /* its counter may be too large to reckon with */
	SPLIT_NO_CONDITION, /* no mask that is known to end */
	SPLIT_SHORT_TRIP,  /* few turns */
	SPLIT_CLUSTER_BARRIER,  /* blocks of a cluster wait for each other in it */
	SPLIT_CHEAP_MASKS, /* masks that cost little */
	SPLIT_CODE_SIZE,  /* too long to be there twice */
	SPLIT_FALLBACK,  /* in the version for other sizes, without products */
	SPLIT_SMEM, /* tiles of a turn that would live through all loops take more memory than there is */
	SPLIT_KINDS
} SplitKind;
/* IMM(o, update) of a store: what becomes of the element that is there.  All but PLAIN are one step that no
 * other thread sees the middle of. */
typedef enum StoreKind {
	STORE_PLAIN,
	STORE_ADD,
	STORE_MAX,
	STORE_MIN,
	STORE_AND, /* bits of integers */
	STORE_OR,
	STORE_XOR,
	STORE_SWAP, /* the value takes its place */
	STORE_CAS,  /* .. where it was what it is compared with, bit by bit */
	STORE_KINDS
} StoreKind;

/* IMM(o, table) of an alloc: a register tile is written to it from which tiles of indices choose, or which a
 * product reads. */
typedef enum TableKind {
	TABLE_NONE,
	TABLE_OPEN,      /* in shared memory, or gathered from registers */
	TABLE_REGISTERS, /* gathered */
	TABLE_OPERAND,   /* of a product, in shared memory or not */
	TABLE_DIRECT,    /* of a product, which reads the register tile itself */
	TABLE_KEPT,      /* likewise OPERAND; in shared memory only where registers do not do */
} TableKind;

/* IMM(o, outside) of a load: what the elements outside of its tensor are. */
typedef enum OutsideKind {
	OUTSIDE_ZERO,
	OUTSIDE_FILL, /* what the load says */
	OUTSIDE_ANY,  /* nobody looks at them */
	OUTSIDE_KINDS
} OutsideKind;

/* IMM(o, async) of a copy: when it is done. */
typedef enum CopyKind {
	COPY_NOW,
	COPY_GROUP,   /* behind the `wait` for its group */
	COPY_BARRIER, /* when the phase of its barrier is complete */
	COPY_OUT,     /* to a tensor; behind the `wait` for its bulk group */
	COPY_KINDS
} CopyKind;

/* A constant or tunable with the value that was chosen. */
typedef struct Define {
	const char *name;
	int64_t value; /* a number, or type_value() */
} Define;
/* What a `tune` of the program admits, with the constants before it as they are: numbers, or type_value(). */
typedef struct Tunable {
	const char *name;
	int64_t value, preset; /* chosen, and what it is when nobody chooses */
	const int64_t *choice;
	int nchoice;
} Tunable;
/* How an element type stands among numbers: far below all that a program counts with. */
int64_t type_value(DType d);
DType value_type(int64_t x); /* D_COUNT: it is a number */

/* A tile of which the program does not say whether it lives in shared memory or in registers
 * (hexc/pass/assign_space.h). */
typedef struct SpaceChoice {
	const char *name; /* of the tile; NULL: it has none */
	Src src;
	int64_t bytes; /* of the tile */
	bool registers; /* it stays there; false: copied to shared memory, and loaded where it is used */
	bool kept; /* the program says registers: shared memory is tried where these do not do */
} SpaceChoice;

/* The order in which blocks run.  The hardware starts them along x, then y, then z.  With a group the
 * blocks of dims `fast` and `slow`, counted along `fast` first, are others: `group` rows of dim `fast` (the
 * last time what is left, less than twice as many), all of them for one index of `slow` after the other,
 * and then the next rows.  A block_id says who the block is then; the grid is the same. */
typedef struct GridOrder {
	int64_t group; /* 0: as the hardware starts them */
	int fast, slow; /* dims of the grid, fast < slow */
} GridOrder;
enum { GROUP_MOST = 1024 };

enum { MAP_RANK_MAX = 5 };

/* How the copy engine sees a tensor: what the host encodes in front of the launch, after pass infer.  Dims
 * are counted from the contiguous one, sizes and strides in elements of `dtype`. */
typedef struct TensorMap {
	int param;                  /* the tensor: its number among the parameters */
	DType dtype;                /* of the map: bytes (u8) for types of fewer bits than 8 */
	int rank;                   /* 1 to MAP_RANK_MAX */
	Val *size[MAP_RANK_MAX];    /* i64 scalars of the body's top level, as a Param has them */
	Val *stride[MAP_RANK_MAX];  /* of dim 0: NULL, it is 1 */
	int64_t box[MAP_RANK_MAX];  /* 1 to 256 */
	int swizzle;                /* bytes: 0 (none), 32, 64, 128 */
	int l2;                     /* bytes that a miss brings to L2: 0, 64, 128, 256 */
} TensorMap;

/* What a select says of its second and third operand, the one that is taken being a function of the other
 * (lib/error_bound/library_functions.c). */
typedef enum KnownForm {
	KNOWN_NOTHING,
	KNOWN_MONOTONE, /* it rises or falls, wherever it has a value */
	KNOWN_POSITIVE, /* it does so above 0 */
	KNOWN_SLOW, /* it is nowhere steeper than 1 */
} KnownForm;

/* How the warps of a block share the work of its pipeline loops. */
typedef enum Schedule {
	SCHEDULE_MULTISTAGE, /* all fetch and all compute; groups of asynchronous copies */
	SCHEDULE_WARP_SPECIALIZED,  /* some fetch, some compute, barriers in memory between them: pass warp_specialize makes it */
	SCHEDULE_TEAMS,  /* .. of those that compute two teams, which take turns at the tiles */
	SCHEDULES
} Schedule;
extern const char *const schedule_name[SCHEDULES]; /* "groups" */

static inline bool
schedule_has_roles(Schedule s)
{
	return s != SCHEDULE_MULTISTAGE;
}

/* One specialised kernel: constants and tunables have their values. */
struct Kernel {
	struct Unit *unit;
	const char *name;
	Param *param;
	int nparam;
	Block *body;
	Block *grid;      /* i64 scalars over the body's size arguments; yields x, y, z */
	Assume *assume;
	int nassume;
	int warps;        /* that compute: of a team */
	int teams;        /* of warps that compute, 1 without `roles` */
	int helpers;      /* warps that produce, 0 without `roles` */
	Schedule schedule; /* asked for; what the program has written as roles stays */
	bool made_roles;  /* an O_roles was made in it, which may be gone: kernel_roles */
	const char *after; /* the last pass that the driver has run; NULL: none */
	const char *unscheduled; /* pass warp_specialize: why it left the kernel as it was; NULL: it did not */
	int launch_registers; /* of a lane when it starts; 0: the assembler's choice */
	int cluster[3];   /* blocks of a cluster along x, y, z; 1 1 1: none */
	int cluster_asked[3]; /* that pass multicast is to make; 0 0 0: none, or what the program has */
	TensorMap *map;   /* after pass infer; parameters behind all others */
	int nmap;
	bool open_warps;  /* the program does not say: the search may choose others */
	GridOrder order;  /* after pass rasterize */
	int64_t smem;     /* bytes of dynamic shared memory, after pass allocate_smem */
	int64_t team_smem; /* from where team t has what its role makes to where team t + 1 does, likewise */
	uint32_t nval, nop; /* ids handed out */
	struct FactMemo *facts; /* answers of val_fact; NULL: not remembered now */
	uint64_t nfact; /* values that val_fact looked at so far */
	const Define *constants; /* constants and tunables as chosen, for the manifest */
	int nconstants;
	/* What else a tuner must know; of the program, not of the text form. */
	Tunable *tunable;
	const char **condition; /* that the constants satisfy */
	int ntunable, ncondition;
	Src src;
};

/* One compilation. */
typedef struct Unit {
	Arena *arena;
	Diag *diag;
	const Target *target;
	const char *file;   /* name in diagnostics */
	const char *text;   /* source, for carets */
	size_t len;
	int candidate;      /* which solution to take, 0 = best */
	bool no_pdl;        /* kernels neither wait for the grid before them nor let the next start early */
	bool lineinfo;      /* the PTX tells the lines of the program */
	bool stay; /* LLVM works on the caller's thread, also where it could be cancelled */
	/* A line on each plan that the search for layouts tries; NULL: nobody asks. */
	void (*trace)(void *user, const char *line);
	void *trace_user;
	uint64_t max_values; /* words that a thread computes in all kernels; 0: no limit */
	/* [nkernel] bytes of a lane that go to memory and back, as an assembler said, -1: it was not asked;
	 * NULL: about none */
	const int *spilled;
	Kernel **kernel;
	int nkernel;
} Unit;

/* ---- build (ir.c, clone.c) ------------------------------------------------------------------- */

/* An empty kernel: body and grid blocks without ops, 4 warps.  Not entered in u->kernel. */
Kernel *kernel_new(Unit *u, const char *name);
Block *block_new(Kernel *k, Op *owner);
bool block_inside(const Block *b, const Block *outer); /* at any depth, or the same */
bool op_is_other_version(const Op *o); /* inside of what is for other sizes (IMM versions of an if) */
Val *block_arg(Block *b, Type t);
/* An op at the end of b, or before `at` when at != NULL.  `in` is copied; results get the given
 * types. */
Op *op_new(Block *b, Op *at, OpCode code, Src src, int nin, Val *const *in, int nout, const Type *out);
void op_unlink(Op *o);                       /* take it out of its block */
void op_move_before(Op *o, Op *at);
/* n, which has no results yet, stands for o: it has o's, and one of that type more. */
void op_take_results(Op *n, Op *o, Type more);
/* The loop carries another value, `first` at first, which is the last argument of its body; gives the op that
 * stands for o.  And what the next iteration gets: the yield's next operand. */
Op *loop_carry(Op *o, Val *first);
void loop_carry_next(Op *loop, Val *next);
/* Every use of `old` in the kernel (all blocks, params' sizes and strides too) becomes `new_val`. */
void val_replace(Kernel *k, Val *old, Val *new_val);
/* How many operands of ops each value is, by its id. */
uint32_t *kernel_uses(const Kernel *k);
/* A deep copy, regions and lowering too.  `map` says what stands for an operand defined outside of o;
 * NULL, or its answer NULL: the operand itself. */
Op *op_clone(Block *b, Op *at, const Op *o, Val *(*map)(void *, Val *), void *user);
/* Scalar v, where it is made of values from outside of `body` alone: as made of them in front of `at` of b,
 * or at its end; v itself where it is from outside.  NULL: it is not. */
Val *val_outside(Block *b, Op *at, Val *v, const Block *body);
/* Copies of all ops of `from`, one after the other, at the end of `to`: each reads those before it. */
void block_clone(Block *to, const Block *from);
/* The same kernel once more, with the same ids, that nothing is shared with but what never changes; not
 * entered in unit->kernel. */
Kernel *kernel_copy(const Kernel *k);
/* Visit every op of b in order of text, an owner before its regions.  The op just returned may be
 * unlinked if it has no regions; ops put in behind it and before its successor are not visited. */
typedef struct OpWalk {
	Op *next;
	Block *root;
} OpWalk;
Op *walk_first(OpWalk *w, Block *b);
Op *walk_next(OpWalk *w);
/* Is there an op of that code in its body? */
bool kernel_has(const Kernel *k, OpCode code);

/* ---- roles of warps (warp_role.c) ----------------------------------------------------------------- */

typedef enum Role { ROLE_ALL, ROLE_PRODUCER, ROLE_CONSUMER } Role;

const Op *kernel_roles(const Kernel *k); /* NULL: all warps do the same */
int kernel_warps(const Kernel *k);       /* of a block, those of all roles */
/* Blocks of a cluster. */
int cluster_blocks(const Kernel *k);
/* Do its blocks, however many are launched, share out the grid among them? */
bool kernel_is_persistent(const Kernel *k);
/* Does it wait by itself for the grids before it? */
bool kernel_waits_for_grids(const Kernel *k);
/* Registers of a lane that a block of so many warps can have at most when it starts: what roles share out. */
int launch_registers(int warps);
enum { REGISTERS_LEAST = 24, REGISTERS_MOST = 256 }; /* of a lane, that a role may ask for; by eights */
/* Who runs o.  ROLE_ALL: every warp of the block, as outside of `roles`. */
Role op_role(const Op *o);
/* Warps that run o together, over which its tiles are spread: of one team, of the producers, of the block. */
int op_warps(const Op *o);
/* Executions of mbar_arrive that end a phase, at most: the machine counts to 2^20 - 1, and in one execution
 * each of 32 warps and of their lanes may arrive. */
enum { ARRIVALS_MOST = ((1 << 20) - 1) / (32 * (1 + WARP_SIZE)) };
/* Does o make a tile of integers or bools in registers, each element by the lanes that have it: what indices
 * of rows are made of?  Those who produce may have such tiles, and no others. */
bool op_is_index(const Op *o);
/* The barriers of a wait, an arrival or a copy: the op mbar; NULL: the copy has none. */
Op *op_mbar(const Op *o);
/* Which of them, where there are any. */
const Val *op_slot(const Op *o);
/* The last op of that code in front of o in its block; NULL: none. */
Op *op_last_before(const Op *o, OpCode code);
/* The fence in front of o, a product, in its block: what is written into its registers is there.  NULL:
 * none. */
Op *product_fence(const Op *o);
/* What a wgmma multiplies of k: from *from on, so many; all of it, or what its lowering says. */
int64_t product_part(const Op *o, int64_t *from);
/* All of them, of a `wgmma`. */
int64_t product_k(const Op *o);
/* The factor of o that is in registers; NULL: o is no wgmma, or reads both from shared memory. */
Val *product_factor(const Op *o);
/* The copies that an arrival expects, if it expects any: those in front of it in its block with its barrier
 * and slot, as far back as an arrival there that expects too.  From the last to the first, in front of
 * `last`, which is the arrival at first; NULL: no more. */
const Op *arrival_copy(const Op *arrive, const Op *last);
/* The arrival that expects a copy with a barrier; NULL: none does. */
const Op *copy_arrival(const Op *copy);

/* ---- what holds across roles (warp_role_rules.c) -------------------------------------------------------- */

/* What is wrong with how roles work together and with products under way, and at which op; NULL: nothing.
 * Of a kernel that is whole else. */
const char *role_rules(Kernel *k, const Op **at);
/* By op id, bit i: operand i is made by a product that no wait has covered where the op runs, of a kernel
 * that obeys these rules; NULL: it has no such products.  Operands from UNDER_WAY_MOST on are not told of. */
enum { UNDER_WAY_MOST = 64 };
const uint64_t *products_under_way(Kernel *k);

/* ---- webs (wgmma_webs.c) -------------------------------------------------------------------------------- */

/* By value id, of register tiles that products, loops and branches make: a number that those in the same
 * registers share, or 0.  It holds until an op is moved, made or unlinked that reads or makes one. */
const uint32_t *kernel_webs(const Kernel *k);
/* What operand i of o becomes without a change: the result of the product that adds to it, or of the loop or
 * branch that it enters or is yielded from; NULL: o reads it. */
const Val *handed_to(const Op *o, int i);
/* Does a product that adds to v begin with zeros, whatever is in its registers? */
bool val_is_zero(const Val *v);

/* ---- index arithmetic (index_builder.c) ----------------------------------------------------------- */

/* Short forms that fold constants at once.  i64 scalars. */
Val *ir_const(Block *b, Op *at, int64_t x);
Val *ir_bin(Block *b, Op *at, OpCode code, Val *x, Val *y); /* add sub mul div mod min max lt le eq */
bool val_is_const(const Val *v, int64_t *out); /* integer or bool scalar constant? */
/* x code y in 64-bit two's complement, as the machine computes; false: undefined (x / 0, shifts past
 * 63). */
bool i64_eval(OpCode code, int64_t x, int64_t y, int64_t *out);

/* ---- types (type.c) -------------------------------------------------------------------------- */

/* What is wrong with a type on its own (extents, layout); NULL: nothing. */
const char *type_check(Arena *a, const Type *t, int warps);
/* The dim of x that dim d of y, its elements in another shape, is as a whole; -1: it is split off one, or
 * made of several, or has extent 1. */
int reshape_source(const Type *x, const Type *y, int d);

Type type_scalar(DType d);
/* What sizes, positions and loop counters are, i64; and what conditions are, bool. */
Type type_index(void);
Type type_cond(void);
bool type_is_index(const Type *t);
bool type_is_cond(const Type *t);
Type type_tile(DType d, Space s, int rank, const int64_t *shape);
Type type_free(Type t);                      /* the same, in whatever layout */
int64_t type_size(const Type *t);            /* elements */
void type_coord(const Type *t, int64_t elem, int64_t *index); /* of the element of this row-major number */
bool type_same(const Type *a, const Type *b); /* dtype, space, shape, bit order; not layout */
const char *type_print(Arena *a, const Type *t);

/* ---- the message of a print (print_format.c) ----------------------------------------------------------- */

/* The pieces of a print's text: literal characters, and `{}` in place of operands.  {{ and }} are braces. */
typedef struct Piece {
	const char *text; /* NULL: an operand */
	size_t n;
} Piece;
/* The piece at *at, which moves on; false at the end, or where a brace stands alone (*bad is set then). */
bool message_next(const char *text, size_t *at, Piece *out, bool *bad);
int message_operands(const char *text); /* how many `{}`; -1: a brace stands alone */
/* How printf writes an operand that a print takes. */
const char *message_format(DType d);
bool message_takes(DType d); /* can a scalar of that type be printed, without a cast? */

/* Run-time sizes are 0 .. SIZE_LIMIT: whoever launches a kernel refuses others. */
#define SIZE_LIMIT ((int64_t)1 << 40)

/* ---- equal values (value_equal.c) ---------------------------------------------------------------------------- */

/* Are both the same expression over the same values?  Only pure index arithmetic is compared, `depth` ops deep. */
bool val_same(const Val *x, const Val *y, int depth);
/* Are a and b computed the same way from the same, as far as is looked?  What is loaded twice counts so. */
bool val_same_way(const Val *a, const Val *b);

/* ---- views (view.c) ------------------------------------------------------------------------------------------ */

/* Neighbours of a view along dim d of its operand are so many elements apart there. */
int64_t view_step(const Op *view, int d);
/* Of the first that it shows there and the last: how many elements these and those between are. */
int64_t view_span(const Op *view, int d);
/* Does it step over elements anywhere, or what it is a view of? */
bool view_has_steps(const Op *view);
/* Elements of dim d of this view (of any other op: of its result) that its operand has, where that is a view
 * or a shared tile: less than the extent where the view is longer.  Of tensors: the extent. */
int64_t view_within(const Op *view, int d);
/* Is it longer than its operand along some dim? */
bool view_is_longer(const Op *view);
/* Is dim d of the view's operand addressed by a tile of indices, in[1 + d]? */
bool view_gathers(const Op *view, int d);
/* The view's first dim along which its indices run, -1: it has none, and how many such dims there are: those
 * of the tiles, each of which has the view's extent in a dim, or 1 there.  No view, or NULL: none. */
int view_gather_dim(const Op *view);
int view_gather_rank(const Op *view);
bool view_is_gathered(const Op *view, int d);     /* Is the view's dim d one of them? */
int view_operand_dim(const Op *view, int d);      /* of the view's dim d; of those along indices: the first */
int view_result_dim(const Op *view, int d);       /* of the operand's dim d, its first; -1: dropped */
/* The tensor or alloc under a chain of views and reshapes. */
Val *view_root(Val *v);
/* Another shape of a shared tile (a reshape of it): dims and starts of views of it count there. */
bool val_is_alias(const Val *v);
/* What v's dims and starts count in: the tensor, the alloc, or an alias of it. */
const Val *view_base(const Val *v);
const Param *val_param(const Kernel *k, const Val *root); /* NULL: not a parameter */
#endif
