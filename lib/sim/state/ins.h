/* ins.h - decoded instructions. */
#ifndef SIM_INS_H
#define SIM_INS_H
#include "lib/sim/ptx/ptx.h"

/* A call: arguments, then results.  Ins.table of exec_call and exec_builtin points at one. */
typedef struct Arg {
	bool reg;               /* a register or constant, else .param memory of the caller */
	u32 here, bytes;        /* offset in the caller's frame */
	Ref ref;
} Arg;
typedef struct Call {
	Fn *fn;                 /* NULL: through `target` */
	u32 narg, nret;
	Arg *arg;
	bool framed;            /* the caller has a frame pointer */
	Ref fp, target;
} Call;

typedef struct Ins Ins;
typedef struct Warp Warp;

enum { NO_PC = -1 };              /* no instruction */
/* What an exec function tells the scheduler. */
enum { R_NEXT, R_JUMP, R_BLOCK, R_AGAIN, R_STOP };
typedef int exec_fn(Warp *w, const Ins *in, u32 mask);
typedef void alu_fn(void *o, const void *a, const void *b, const void *c, const void *e,
                    const Ins *in);

/* Ins.sub of atomics and reductions. */
enum { AT_AND, AT_OR, AT_XOR, AT_EXCH, AT_ADD, AT_MIN, AT_MAX, AT_INC, AT_DEC, AT_CAS };
enum { /* Ins.flags */
	F_FTZ = 1 << 0, F_SAT = 1 << 1, F_NAN = 1 << 2, F_RELU = 1 << 3, F_ABS = 1 << 4,
	F_INT = 1 << 5,         /* round to integer */
	F_SATF = 1 << 6, F_XOR = 1 << 7,
	F_HALVES = 1 << 8,      /* defined-ness by 16-bit halves */
	F_STRONG = 1 << 9, F_ACQ = 1 << 10, F_REL = 1 << 11, F_TRANS = 1 << 12, F_POPC = 1 << 13,
	F_ANY = 1 << 14,        /* dst always defined */
	F_SCALED = 1 << 15, F_PLUS_ONE = 1 << 16, F_PARITY = 1 << 17, F_NOCOMPLETE = 1 << 18,
	F_GUESS = 1 << 19       /* a weak load whose value compare-and-swap will judge */
};

/* Instruction rows of isa.def. */
typedef enum OpId {
#define I(id, mnemonic, cls, dec, exec, pat, mods) OP_##id,
#include "lib/sim/ptx/isa.def"
	OP_COUNT
} OpId;

struct Ins {
	exec_fn *exec;
	alu_fn *alu;            /* for exec_alu */
	const Ref *d, *s;
	u8 nd, ns;
	u8 type, type2;
	u8 rnd, cls;
	u8 space;               /* sim_space, NONE: generic */
	u8 vec;                 /* elements of a vector access */
	u8 ebytes;              /* bytes of an element in memory */
	u8 sub;                 /* op dependent: atom op, shfl mode, ... */
	u8 cmp;                 /* relation set */
	u8 boolop;
	u16 id;
	s32 guard;              /* predicate number, or -1 */
	bool guard_neg;
	bool wg;                /* touches registers that a wgmma uses */
	bool wsync;             /* waits for all lanes it names (warp-level) */
	bool strict;            /* rpc post-dominates even with every exit counted */
	s32 pd, pd2, ps;        /* predicate destinations, source; -1 none */
	bool ps_neg;
	u32 flags;
	u32 line;
	s64 off;                /* address offset */
	s32 target, rpc;        /* branch */
	u32 aux, aux2;
	const u32 *table;       /* brx targets; call copies */
	const char *text;       /* opcode as written */
	const Stmt *st;         /* what it was decoded from */
};
#endif
