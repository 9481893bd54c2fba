/* ins.h - decoded instructions. */
#ifndef SIM_INS_H
#define SIM_INS_H
#include "lib/sim/ptx/ptx.h"

/* A call: arguments, then results. */
typedef struct Arg {
	bool reg;               /* a register or constant, else .param memory of the caller */
	u32 here, bytes;        /* offset in the caller's frame */
	Ref ref;
} Arg;
typedef struct CallInstr {
	Fn *fn;                 /* NULL: through `target` */
	u32 narg, nret;
	Arg *arg;
	bool framed;            /* the caller has a frame pointer */
	Ref fp, target;
} CallInstr;

typedef struct Ins Ins;
typedef struct Warp Warp;

enum { NO_PC = -1 };            /* no instruction */
/* What an exec function returns to the scheduler. */
enum { R_NEXT, R_JUMP, R_BLOCK, R_AGAIN, R_STOP };
typedef int exec_fn(Warp *w, const Ins *in, u32 mask);
typedef void alu_fn(void *o, const void *a, const void *b, const void *c, const void *e,
                    const Ins *in);

/* Atomics and reductions. */
enum { AT_AND, AT_OR, AT_XOR, AT_EXCH, AT_ADD, AT_MIN, AT_MAX, AT_INC, AT_DEC, AT_CAS };
enum { /* Ins.flags */
	F_FTZ = 1 << 0, F_SAT = 1 << 1, F_NAN = 1 << 2, F_RELU = 1 << 3, F_ABS = 1 << 4,
	F_INT = 1 << 5,         /* round to integer */
	F_SATF = 1 << 6, F_XOR = 1 << 7,
	F_OOB = 1 << 21,        /* fma: NaN that represents out-of-bounds elements gives 0 */
	F_HALVES = 1 << 8,      /* definedness by 16-bit halves */
	F_STRONG = 1 << 9, F_ACQ = 1 << 10, F_REL = 1 << 11, F_TRANS = 1 << 12, F_POPC = 1 << 13,
	F_ANY = 1 << 14,        /* dst always defined */
	F_SCALED = 1 << 15, F_PLUS_ONE = 1 << 16, F_PARITY = 1 << 17, F_NOCOMPLETE = 1 << 18,
	F_GUESS = 1 << 19,      /* a weak load whose value a compare-and-swap will verify */
	F_NC = 1 << 20          /* a load through a cache that does not see writes of the kernel */
};

/* Scope of a strong access or a fence: PTX ISA, "Scope". .gpu and .sys are equivalent here. */
enum { SCOPE_CTA, SCOPE_CLUSTER, SCOPE_GPU, SCOPE_SYS, NSCOPES = SCOPE_SYS };

/* Instruction rows of isa.def. */
typedef enum OpId {
#define I(id, mnemonic, cls, dec, exec, pat, mods) OP_##id,
#include "lib/sim/ptx/isa.def"
	OP_COUNT
} OpId;

/* Members specific to a kind of instruction; Ins.exec determines which. */
typedef struct Arith {          /* arithmetic, compares, conversions */
	u8 rnd;
	u8 relation;            /* set of 1 less, 2 equal, 4 greater, 8 unordered */
	u8 boolop;              /* BOOL_ of the relation and the source predicate */
	u8 mode;                /* prmt */
	u8 lut;                 /* lop3 */
} Arith;
enum { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR, BOOL_NOT, BOOL_MOV };
typedef struct Logic {          /* predicate logic: the second source, if op has one */
	u8 op;                  /* BOOL_ */
	bool neg;
	u32 p;
} Logic;
typedef struct Transfer {               /* loads, stores, atomics, st.async, ldmatrix */
	u8 vec, ebytes;         /* elements of a vector (matrices), bytes of one in memory */
	u8 op;                  /* AT_ */
	s32 mbar;               /* st.async: offset of the mbarrier's address */
} Transfer;
typedef struct Async {          /* cp.async */
	u32 bytes;
	s32 src;                /* offset of the source's address */
} Async;
typedef struct Arrive {         /* mbarriers, and cp.async.mbarrier.arrive */
	u8 op;                  /* ARRIVE_ */
	bool tx;                /* the operand is a tx-count */
	bool noinc;
} Arrive;
enum { ARRIVE, ARRIVE_DROP, ARRIVE_EXPECT, ARRIVE_COMPLETE };
typedef struct Wait {           /* for groups of copies or of wgmma */
	u32 keep;               /* number of newest groups that may be incomplete */
	bool read;              /* bulk copies: wait for the source read only */
} Wait;
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };
enum { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };
typedef struct Branch {
	s32 target;
	s32 rpc;                /* where divergent lanes reconverge, or NO_PC */
	bool strict;            /* rpc post-dominates even with every exit included */
	u32 n;
	const u32 *targets;     /* brx: n of them */
	const CallInstr *call;
} Branch;
typedef struct MmaInstr {        /* mma, wmma.mma, wgmma.  s: A, B, C (wgmma: A, B), metadata */
	u8 a, b, c, d;          /* types */
	u8 na, nb;              /* registers of A and B; wgmma: of A, 0 if it is in shared memory */
	u16 m, n, k;
	bool a_col, b_col;      /* column-major */
	bool is_and;            /* single bits: and, not xor */
	bool negate;            /* the product is subtracted */
	u8 selector;            /* sparse */
	bool ordered;           /* and the metadata must be ascending */
	u8 scales;              /* along k, of a row of A and of a column of B; 0: none. s: A's, B's, last */
	u8 scale;               /* their type */
	u8 byte[2], thread[2];  /* first byte in a register, and of which lanes: A's, B's */
} MmaInstr;
typedef struct Fragment {       /* wmma.load and wmma.store.  s: address, stride, registers of a store */
	u8 which;               /* FRAG_ */
	bool col;               /* column-major in memory */
	bool stride;            /* it is given */
	u16 rows, cols;
} Fragment;
enum { FRAG_A, FRAG_B, FRAG_C };

struct Ins {
	exec_fn *exec;
	alu_fn *alu;            /* for exec_alu */
	const Ref *d, *s;
	u8 nd, ns;
	u8 type, type2;         /* the first two types of the opcode, or the first twice */
	u8 cls;
	u8 space;               /* sim_space, NONE: generic */
	u8 scope;               /* SCOPE_; SCOPE_SYS where none can be specified */
	u16 id;
	s32 guard;              /* predicate index, or -1 */
	bool guard_neg;
	bool ps_neg;
	bool wg;                /* accesses registers used by a wgmma */
	bool wg_name;           /* moves one of them to another register */
	bool wsync;             /* waits for all lanes it names (warp-level) */
	s32 pd, pd2, ps;        /* predicate destinations, source; -1 none */
	u32 flags;
	u32 line;
	s64 off;                /* address offset */
	const char *text;       /* opcode as written */
	const PtxStmt *st;         /* statement it was decoded from */
	const Var *owner;       /* shared variable that its address is based on; NULL: unknown */
	union {
		Arith arith;
		Logic logic;
		Transfer mem;
		Async copy;
		Arrive arrive;
		Wait wait;
		Branch branch;
		MmaInstr mma;
		Fragment frag;
		u32 sreg;       /* exec_sreg: Sreg */
		u32 frame;      /* exec_frame: offset in the frame */
		u32 align;      /* alloca */
		u32 regs;       /* setmaxnreg */
		u8 mode;        /* SHFL_, VOTE_, REDUX_, BAR_ */
		u8 fence;       /* FENCE_ */
		struct {
			u8 field, i;
		} tmap; /* tensormap.replace: TF_, and the index if there are several */
		const struct BulkArg *bulk; /* bulk copies, tensor maps */
		const struct Video *video;
	};
};
#endif
