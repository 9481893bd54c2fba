/* ptx.h - a module as parsed: functions, their statements and operands, variables, scopes. */
#ifndef SIM_PTX_H
#define SIM_PTX_H
#include "lib/sim/base/messages.h"

typedef struct Var {
	const char *name;
	sim_space space;
	PtxType type;
	u32 align, line;
	u64 bytes;              /* 0 for an .extern array */
	bool is_extern, is_ptr, is_array, has_init;
	bool used_func;         /* shared: named in a .func, or in two entries */
	struct Fn *user;        /* shared: the one entry that names it */
	u64 addr;               /* device address, or offset in its space */
	u8 *init;               /* initial bytes or NULL */
	struct Fix *fix;        /* addresses of other symbols inside init */
} Var;
typedef struct Fix {
	struct Fix *next;
	u64 at;
	const char *name;
	s64 add;
	u32 bytes;
	u32 line;
	bool generic;
} Fix;

typedef struct Reg {
	const char *name;
	PtxType type;
	u32 unit;               /* plane, or predicate index */
	const Var *owner;       /* see decode/address_base.c */
} Reg;

typedef enum OpndKind { O_NONE, O_REG, O_IMM, O_SREG, O_VAR, O_ADDR, O_VEC, O_LABEL, O_SINK,
	O_PAIR, O_FN } OpndKind;
typedef struct Opnd {
	OpndKind kind;
	bool neg;               /* !p, or -r in old code */
	u8 flt;                 /* O_IMM: 0 integer, 1 f32 bits, 2 f64 bits */
	u32 n;                  /* O_VEC, O_PAIR, O_ADDR: elements */
	u64 imm;                /* O_IMM; O_ADDR: byte offset */
	const char *name;       /* O_LABEL */
	Reg *reg;
	Var *var;
	struct Fn *fn;
	u32 sreg;
	const char *sel;        /* r.b1, r.h10: the selected part of a register, for video instructions */
	bool minus;             /* -r, for vmad */
	struct Opnd *elt;
} Opnd;

typedef struct PtxStmt {
	u32 line;
	const char *op;         /* full opcode */
	Reg *guard;
	bool guard_neg;
	Opnd *o;
	u32 no;
	struct Scope *scope;    /* for labels */
} PtxStmt;

typedef struct Label {
	const char *name;
	u32 at;
	struct Scope *scope;
	u32 line;
	const char **targets;
	u32 ntargets;
} Label;

typedef struct Bucket {
	struct Bucket *next;
	const char *name;
	u32 hash;
	int what;
	void *p;
} Bucket;
enum { SYM_REG = 1, SYM_VAR, SYM_FN, SYM_LABEL };
typedef struct Scope {
	struct Scope *up;
	Bucket *tab[256];
} Scope;

/* Masks of "defined": of constants, before those of registers; of a unit of 32 bits. */
enum { DEF_CONST = 16, DEF_UNIT = 4 };

typedef struct Ref {            /* where a source or destination lives */
	u32 unit;
	u32 def;                /* index of the mask of its first byte */
	u8 base;                /* 0 registers, 1 constants */
	u8 chunks;              /* 16-bit chunks: 1, 2, 4, 8 */
	u8 bits;                /* register width */
	u8 bytes;               /* the same in bytes; 1 for narrower ones */
} Ref;

typedef struct Fn {
	const char *name;
	u32 line;
	bool entry, has_body, on_stack, checked;
	Scope *scope;
	Var **param;
	u32 nparam, cparam;
	Var **ret;
	u32 nret, cret;
	u32 param_bytes;
	PtxStmt *st;
	u32 nst, cst;
	Label *label;
	u32 nlabel, clabel;
	u32 reqntid[3], maxntid[3], cluster[3];
	u32 max_rank;           /* .maxclusterrank, or 0 */
	u32 maxnreg;            /* .maxnreg, or 0 */
	bool cexplicit;         /* .explicitcluster */
	/* after decode */
	u32 pc, npc;            /* code range */
	u32 units, preds;       /* registers, numbered from the frame's base */
	u32 unit0, pred0;
	u32 local;              /* bytes of .local, and parameters of calls */
	u32 smem;               /* static shared, end offset */
	u32 smem_dyn;           /* where extern shared starts */
	struct Fn *callee[64];
	u32 ncallee;
	u32 below;              /* bytes of the frames of its callees; ~0: no bound */
	u64 addr;               /* for pointers to it */
	Reg *fp;                /* .func: where the lane's frame starts in its local memory */
	Ref fp_ref;
	u8 *wide;               /* by unit: 1 and 2 the first and second of a 64-bit plane, else 0 */
	u32 cwide;
	u8 builtin;             /* 1 + number in builtin.c; 0: none */
	bool taken;             /* its address is used */
	bool indirect;          /* calls through pointers, or takes stack of its own */
	bool again;             /* may be entered while active: registers are saved */
	const char *alias;      /* .alias: the function it refers to */
} Fn;

typedef struct SourceFile { u32 number; const char *name; } SourceFile;        /* .file */
typedef struct SourceLine {     /* .loc */
	u32 ptx_line;           /* from here to the next one, ... */
	u32 file, line;         /* ... is compiled from this line; 0: unknown */
} SourceLine;

typedef struct Ptx {            /* a module as parsed */
	Arena arena;
	Messages *messages;     /* the device's */
	char target[16];
	Fn **fn;
	u32 nfn, cfn;
	Var **var;
	u32 nvar, cvar;
	Scope *scope;
	SourceFile *file;
	u32 nfile, cfile;
	SourceLine *source;     /* by PTX line */
	u32 nsource, csource;
	bool system_smem;       /* a statement names %reserved_smem_offset_* */
	u32 nerr;
} Ptx;

/* parse.c */
bool parse_module(Ptx *m, const char *text, size_t len);
void ptx_error(Ptx *m, u32 line, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* loc.c: source file and line of a PTX line; NULL: unknown */
const char *source_of(const Ptx *m, u32 ptx_line, u32 *line);
/* scope.c */
u32 text_hash(const char *s, size_t n);
Bucket *scope_find(Scope *s, const char *name, size_t n);
Bucket *scope_find_here(const Scope *s, const char *name, size_t n); /* not in the enclosing ones */
/* opcode_syntax.c: LEGAL, LEGAL_NEVER, or the least compute capability (times ten) that has the opcode. */
enum { LEGAL = 0, LEGAL_NEVER = 1 };
u32 legal_opcode(const char *op, u32 sm);
#endif
