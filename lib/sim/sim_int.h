/* sim_int.h - what the files of the simulator share.
 *
 * Pipeline of a load:  text -> lex.c -> parse*.c (Fn, Stmt, Opnd) -> vars.c -> decode*.c,
 * link.c (Ins) -> cfg.c (where lanes meet again).  Pipeline of a launch:  launch.c -> sched.c,
 * paths.c (blocks, warps, divergence) -> alu.c and exec_*.c (one Ins for 32 lanes) -> mem.c,
 * check.c (shadow.c, granule.c), order.c, taint.c, count.c -> roofline.c.  view.c looks on.
 *
 * Registers.  A warp's register file is an array of planes of 32 lanes.  A plane of a type
 * of up to 32 bits is uint32_t[32] (narrow values zero-extended), one unit; 64-bit registers
 * are uint64_t[32], two units; 128-bit ones two such planes, four units (low, high).
 * Predicates are one 32-bit lane mask each.
 * For checks every 16-bit chunk of a register has a lane mask of "defined" bits: two masks a
 * unit, def[2 * unit + chunk]; a 64-bit register has four, in order of significance.
 */
#ifndef SIM_INT_H
#define SIM_INT_H
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

enum { WARP = 32, FULL_PATHS = 160, DEEP_PATHS = 2048, STACK_BYTES = 8192, MAX_WARPS = 32, NBAR = 16, NO_PC = -1 };
/* Shared memory of the system, which PTX finds with %reserved_smem_offset_*; behind the program's own here. */
enum { SYSTEM_SMEM = 1024 };
#define ALL_LANES 0xffffffffu

/* Address map.  Shared, local and parameter addresses are offsets in their own spaces; the
 * generic address adds the window. */
#define WIN_SHARED 0x00007f0000000000ull
#define WIN_LOCAL  0x00007f1000000000ull
#define WIN_PARAM  0x00007f2000000000ull
#define WIN_BYTES  0x0000000020000000ull
#define WIN_CODE   0x00007fc000000000ull      /* addresses of functions, 16 bytes apart */
#define GLOBAL_BASE 0x0000100000000000ull

/* ---- types ---- */
/*	name   bits */
#define PTX_TYPES(X) \
	X(none, 0) X(pred, 1) X(b1, 1) X(u2, 2) X(s2, 2) X(u4, 4) X(s4, 4) \
	X(b8, 8) X(u8, 8) X(s8, 8) X(e4m3, 8) X(e5m2, 8) \
	X(b16, 16) X(u16, 16) X(s16, 16) X(f16, 16) X(bf16, 16) X(e4m3x2, 16) X(e5m2x2, 16) \
	X(b32, 32) X(u32, 32) X(s32, 32) X(f32, 32) X(tf32, 32) X(f16x2, 32) X(bf16x2, 32) \
	X(u16x2, 32) X(s16x2, 32) \
	X(b64, 64) X(u64, 64) X(s64, 64) X(f64, 64) X(f32x2, 64) X(b128, 128)
typedef enum Type {
#define X(n, b) T_##n,
	PTX_TYPES(X)
#undef X
	T_COUNT
} Type;
u32 type_bits(Type t);
bool type_signed(Type t);
bool type_float(Type t);
const char *type_name(Type t);
bool type_find(const char *s, size_t n, Type *out);

/* ---- arena: everything of a module; no single frees; failure jumps ---- */
typedef struct Chunk Chunk;
typedef struct Arena {
	Chunk *head;
	size_t used, cap;
	jmp_buf *fail;          /* out of memory: longjmp here */
} Arena;
void *arena_get(Arena *a, size_t bytes);        /* zeroed, 16-byte aligned */
char *arena_str(Arena *a, const char *s, size_t n);
void sim_arena_free(Arena *a);
/* Grow *v (elements of `size`) so that index n is valid; new capacity in *cap. */
void *sim_arena_grow(Arena *a, void *v, u32 n, u32 *cap, size_t size);

/* ---- lexer ---- */
typedef enum Tok {
	K_END, K_ID, K_INT, K_F32, K_F64, K_STR, K_PUNCT, K_BAD
} Tok;
typedef struct Lex {
	const char *p, *end;
	u32 line;
	Tok tok;                /* current token */
	u32 tline;              /* its line */
	const char *s;          /* its text */
	size_t n;
	u64 num;                /* K_INT value; K_F32, K_F64: the bits */
	char c;                 /* K_PUNCT: the character */
} Lex;
void lex_init(Lex *l, const char *text, size_t len);
void lex_next(Lex *l);
void lex_opcode(Lex *l);        /* re-reads the current token as a dotted opcode */
bool lex_is(const Lex *l, char c);
bool lex_word(const Lex *l, const char *word);

/* ---- parsed form ---- */
typedef struct Var {
	const char *name;
	sim_space space;
	Type type;
	u32 align, line;
	u64 bytes;              /* 0 for an .extern array */
	bool is_extern, is_ptr, is_array, has_init;
	bool used_func;         /* shared: named in a .func, or in two entries */
	struct Fn *user;        /* shared: the one entry that names it */
	u64 addr;               /* device address, or offset in its space */
	u8 *init;               /* initial bytes or NULL */
	struct Fix *fix;        /* addresses of other symbols inside init */
} Var;
typedef struct Fix { struct Fix *next; u64 at; const char *name; s64 add; u32 bytes; u32 line;
	bool generic; } Fix;

typedef struct Reg {
	const char *name;
	Type type;
	u32 unit;               /* plane, or predicate number */
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
	const char *sel;        /* r.b1, r.h10: the part of a register, for video instructions */
	bool minus;             /* -r, for vmad */
	struct Opnd *elt;
} Opnd;

typedef struct Stmt {
	u32 line;
	const char *op;         /* full opcode */
	Reg *guard;
	bool guard_neg;
	Opnd *o;
	u32 no;
	struct Scope *scope;    /* for labels */
} Stmt;

typedef struct Label { const char *name; u32 at; struct Scope *scope; u32 line;
	const char **targets; u32 ntargets; } Label;

typedef struct Bucket { struct Bucket *next; const char *name; int what; void *p; } Bucket;
enum { SYM_REG = 1, SYM_VAR, SYM_FN, SYM_LABEL };
typedef struct Scope {
	struct Scope *up;
	Bucket *tab[64];
} Scope;

typedef struct Ref {            /* where a source or destination lives */
	u32 unit;
	u32 def;                /* index of its first chunk mask */
	u8 base;                /* 0 registers, 1 constants */
	u8 chunks;              /* 16-bit chunks: 1, 2, 4, 8 */
	u8 bits;                /* register width */
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
	Stmt *st;
	u32 nst, cst;
	Label *label;
	u32 nlabel, clabel;
	u32 reqntid[3], maxntid[3], cluster[3];
	u32 max_rank;           /* .maxclusterrank, or 0 */
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
	u32 below;              /* bytes of the frames it needs below its own; ~0: no bound */
	u64 addr;               /* for pointers to it */
	Reg *fp;                /* .func: where the lane's frame starts in its local memory */
	Ref fp_ref;
	u8 *wide;               /* by unit: 1 and 2 the first and second of a 64-bit plane, else 0 */
	u32 cwide;
	u8 builtin;             /* 1 + number in builtin.c; 0: none */
	bool taken;             /* its address is used */
	bool indirect;          /* calls through pointers, or takes stack of its own */
	bool again;             /* may be entered while active: registers are saved */
	const char *alias;      /* .alias: the function it stands for */
} Fn;

/* ---- decoded form ---- */
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
typedef struct Block Block;
typedef struct Worker Worker;
typedef struct Launch Launch;
#include "sync_int.h"

/* What an exec function tells the scheduler. */
enum { R_NEXT, R_JUMP, R_BLOCK, R_AGAIN, R_STOP };
typedef int exec_fn(Warp *w, const Ins *in, u32 mask);
typedef void alu_fn(void *o, const void *a, const void *b, const void *c, const void *e,
                    const Ins *in);

enum { RN, RZ, RM, RP, RNA };
enum {
	F_FTZ = 1, F_SAT = 2, F_NAN = 4, F_RELU = 8, F_ABS = 16, F_INT = 32 /* round to integer */,
	F_SATF = 64, F_XOR = 128, F_HALVES = 256 /* defined-ness by 16-bit halves */,
	F_STRONG = 512, F_ACQ = 1024, F_REL = 2048, F_TRANS = 4096, F_POPC = 8192,
	F_ANY = 16384 /* dst always defined */, F_SCALED = 32768, F_PLUS_ONE = 65536,
	F_PARITY = 131072, F_NOCOMPLETE = 262144,
	F_GUESS = 524288 /* a weak load whose value compare-and-swap will judge */
};

/* Instruction rows of ptx.def. */
typedef enum OpId {
#define I(id, mnemonic, cls, dec, exec, pat, mods) OP_##id,
#include "ptx.def"
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

/* ---- memory ---- */
typedef struct Slot { u64 a, b; } Slot;         /* one remembered access; see check.c */
typedef struct WordRec { u64 *w, *r[2]; } WordRec;      /* of each shared word; see shadow.c */
enum { SHARED_SLOTS = 4, GLOBAL_SLOTS = 3, PAGE_WORDS = 1024 };

typedef struct Alloc {
	u64 base, size;
	u8 *data, *init;        /* init: 1 per written byte */
	void *raw;
	bool freed, readonly;
	bool full;              /* all bytes written: init need not be looked at */
	char name[48];
	Slot **page;            /* race shadow of a launch */
	Slot **granule;         /* the same for pages that are only read, by 16 bytes */
	u8 *sect[2];            /* sectors touched in a launch: read, written; one bit each */
	u8 *lock;               /* one per page */
} Alloc;

struct sim {
	Alloc **alloc;          /* by address; never moved while a launch runs */
	u32 nalloc, calloc_;
	u64 next;
	sim_module *modules;
	u64 heap;               /* allocation that malloc of kernels divides, 0: none yet */
	struct HeapBlock { u32 at, size; } *heap_block;         /* in use, by address */
	u32 nheap, cheap;
	struct Msg { u32 line; char *text; } *msg;
	u32 nmsg, cmsg;
};

struct sim_module {
	sim_module *next;
	sim *s;
	Arena arena;
	char target[16];
	Fn **fn;
	u32 nfn, cfn;
	Var **var;
	u32 nvar, cvar;
	Scope *scope;
	Ins *code;
	u32 ncode, ccode;
	u32 *konst;             /* constant planes */
	u32 nkonst, ckonst;     /* units */
	u32 fn_units, fn_preds;                 /* registers of all .func */
	u64 *allocs;            /* device addresses of variables */
	u32 nallocs, callocs;
	u32 smem;               /* shared variables of more than one user */
	bool wgmma;             /* has wgmma or setmaxnreg */
	bool system_smem;       /* something names %reserved_smem_offset_* */
	u32 nerr;
};

void sim_error(sim *s, u32 line, const char *fmt, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 3, 4)))
#endif
	;
bool parse_module(sim_module *m, const char *text, size_t len);
bool decode_module(sim_module *m);
void cfg_reconverge(sim_module *m, Fn *f);
bool place_vars(sim_module *m);                 /* addresses and initial values */
Bucket *scope_find(Scope *s, const char *name, size_t n);
Alloc *mem_find(const sim *s, u64 addr);
Alloc *mem_new(sim *s, u64 bytes, const char *name);
bool sreg_is_system_smem(u32 sreg);
bool sreg_find(const char *s, size_t n, u32 *out);
bool sreg_is_pred(u32 sreg);

/* legal.c: LEGAL, LEGAL_NEVER, or the least compute capability (times ten) that has the opcode. */
enum { LEGAL = 0, LEGAL_NEVER = 1 };
u32 legal_opcode(const char *op, u32 sm);

/* ---- decode helpers (decode.c) used by decode_*.c ---- */
struct Dec;
typedef struct Row { const char *name; u8 cls; bool (*dec)(struct Dec *); exec_fn *exec;
	const char *pat, *mods; u16 id; } Row;
typedef struct Dec {
	sim_module *m;
	Fn *f;
	Stmt *st;
	Ins *in;
	const Row *row;
	char op[160];
	const char *part[24];   /* parts after the row's name */
	u32 npart;
	u32 used;               /* bit per part */
	Type ty[6];
	u32 nty;
	Ref *refs;
	u32 nrefs;
} Dec;
bool dec_fail(Dec *d, const char *fmt, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 2, 3)))
#endif
	;
bool dec_has(Dec *d, const char *word);         /* take one part by name */
const char *dec_prefix(Dec *d, const char *pre);/* take a part that starts so */
bool dec_types(Dec *d);                         /* take all parts that are types */
bool dec_src(Dec *d, const Opnd *o, Type t, Ref *out);
bool dec_dst(Dec *d, const Opnd *o, Type t, Ref *out);
bool dec_psrc(Dec *d, const Opnd *o, s32 *p, bool *neg);
bool dec_pdst(Dec *d, const Opnd *o, s32 *p);
bool dec_imm(const Opnd *o, u64 *v);
bool dec_addr(Dec *d, const Opnd *o, Ref *base, s64 *off, sim_space *space);
bool dec_refs(Dec *d, const Opnd *o, Type t, bool dst, u32 want, Ref *out, u32 *n);
bool dec_space(Dec *d, sim_space *out);
/* The target is sm_`sm` or newer; sm above 1000: sm - 1000 with suffix a.  what: NULL, the instruction. */
bool dec_needs(Dec *d, u32 sm, const char *what);
bool dec_scope(Dec *d);                         /* .cta, .cluster, .gpu or .sys */
u32 dec_const(Dec *d, u64 v, u32 bits, u64 hi); /* unit of a constant plane */
bool dec_stmt(Dec *d);                          /* d->m, f and st are set */
bool dec_frame(const Dec *d, const Var *v);     /* the variable is in a frame of a .func */
void dec_fp(Dec *d, Ref *out);                  /* its frame pointer */
Ins *dec_emit(Dec *d);                          /* a further instruction of this statement */
alu_fn *alu_find(u32 id, Type t, bool plain);
alu_fn *rel_find(Type t);                       /* three-way compare: 1 <, 2 =, 4 >, 8 unordered */
alu_fn *testp_find(Type t, const char *what);
#define D(name) bool dec_##name(Dec *d);
#define DECODERS(X) X(alu) X(setp) X(set) X(cvt) X(mov) X(ld) X(st) X(atom) X(cvta) X(isspacep) \
	X(prefetch) X(shfl) X(vote) X(match) X(redux) X(activemask) X(elect) X(bar) X(warpbar) \
	X(fence) X(cpasync) X(cpgroup) X(ldmatrix) X(movmatrix) X(mma) X(wgmma) X(wgsync) X(maxnreg) X(wmma) X(wmmamem) X(bra) X(brx) X(call) \
	X(ret) X(nop) X(slct) X(lop3) X(prmt) X(testp) X(pbool) X(vec2) X(mapa) X(video) X(cvtpack) \
	X(getctarank) X(clusterbar) X(mbarset) X(mbar) X(mbarwait) X(mbarpend) X(cpmbar) X(stasync) \
	X(bulk) X(bulkpre) X(bulkgroup) X(btensor) X(btensorpre) X(tmprefetch) X(tmreplace) X(tmcopy) \
	X(tmfence) \
	X(alloca)
DECODERS(D)
#undef D
/* decode_mma.c, for the other matrix instructions */
Type type_family(Type t);                       /* the one that stands for types that may be mixed */
bool dec_shape(Dec *d, u32 *m, u32 *n, u32 *k);
bool dec_metadata(Dec *d, const Opnd *o, Ref *r, u32 k, u32 bits);
bool wgmma_mark(sim_module *m, u32 units);      /* sets Ins.wg; false if there is no wgmma */

/* ---- execution ---- */
typedef enum PathState {
	P_FREE, P_RUN, P_WAIT, P_SYNC, P_BAR,
	P_CLUSTER,              /* in barrier.cluster.wait */
	P_WG,                   /* waits for its warpgroup, or for registers: does it again */
	P_MBAR                  /* in a wait for an mbarrier: does it again after a phase of the block */
} PathState;
typedef struct Path {
	s32 pc, rpc;            /* rpc: where it joins its parent; NO_PC: at ret or exit only */
	u32 mask, arrived;      /* arrived: lanes waiting here for the other children */
	s16 parent;
	u16 kids;
	u8 state;
	u8 bar;                 /* P_BAR: which */
	bool strict;            /* P_WAIT: see Ins.strict */
	bool forced;            /* run the next .sync instruction with what is there; P_MBAR: no
	                         * longer wait, say false */
	u32 need;               /* P_SYNC: lanes it waits for; P_MBAR: the mbarrier's address */
	const Call *call;       /* P_WAIT: for this call ... */
	const Fn *callee;       /* ... of this function */
	struct Save *save;
} Path;

/* Registers of a function that is entered again, to be put back when the call returns. */
typedef struct Save {
	struct Save *next;
	u32 mask;               /* lanes that have not returned */
	u32 data[];
} Save;

typedef struct Copy {           /* one warp-level cp.async in flight */
	struct Copy *next;
	u32 mask;               /* lanes not completed */
	u32 line;
	s32 pc;
	u32 seq;                /* number among the copies of its warp */
	u8 bytes;               /* written per lane */
	u32 group[WARP];
	u32 dst[WARP];
	u8 data[WARP][16];
	u8 defined[WARP];
} Copy;

struct Warp {
	Block *blk;
	const u32 *konst;
	u32 *r;
	u32 *p;
	u32 *def, *org, *pdef, *porg;   /* NULL when checks are off */
	u32 cc;                         /* carry flag of each lane */
	u32 id, live, start;            /* lanes alive, lanes that existed */
	u32 npath;
	s32 cur;
	bool done, blocked, told;
	u8 *local, *linit;
	u32 clock;                      /* grows at each synchronisation */
	u32 met;                        /* what lanes did before this clock is ordered between all of them */
	bool paired;                    /* some lanes have met since: */
	u32 pair[WARP][WARP];           /* what lane j did up to this clock is ordered before lane i */
	Know know;                      /* happens-before */
	Know rel, acq;                  /* at the last fence; to take at the next */
	u32 grel;                       /* launch time of the last fence */
	u32 carrived, cdone;            /* barrier.cluster: lanes between arrive and wait, whose
	                                 * phase is not, is complete */
	struct WgWarp *wg;              /* NULL unless the module has wgmma */
	Copy *copies, **copies_end;
	struct Bulk *bulk, **bulk_end;  /* bulk copies to global memory, oldest first */
	u32 nbulk[WARP];                /* bulk groups committed */
	u32 ncopies;                    /* issued so far */
	u32 nstore, issued;             /* copies in the list; bytes of copies this instruction issued */
	u32 ncommit[WARP];
	u64 steps;
	Path *path;                     /* room for Launch.paths */
	Save *saves;
	u32 sp[WARP];                   /* end of the lane's frames in its local memory */
};

typedef struct Bar {
	u32 arrived[MAX_WARPS];         /* lanes by warp */
	u32 waiting[MAX_WARPS];         /* of these, lanes that wait */
	u32 expect;                     /* threads; 0: the whole block */
	u32 count;                      /* threads arrived, in warps of 32 */
	bool open;
	u32 popc, all, any, lanes;      /* reductions */
	Know know;
	u32 line;
	u64 phase;
} Bar;

/* A fence of the tensormap proxy on a map, at that launch time. */
typedef struct TmapSeen { u64 addr; u64 time; } TmapSeen;
typedef struct SyncVar { u64 addr; Know know; } SyncVar;

typedef struct Reach {          /* newest access to a block's shared memory by another block */
	Warp *w;
	int lane;
	const Ins *in;
	u32 off, bytes, time;
	u64 phase;                      /* of barrier.cluster */
} Reach;

struct Block {
	Worker *k;
	Launch *l;
	Cluster *cl;
	u32 id[3], lin;
	u32 rank;                       /* in the cluster */
	Reach reach;
	MbarTab mb;
	struct WgBlock *wg;             /* NULL unless the module has wgmma */
	u32 nwarp, nlive;
	Warp *warp;
	u8 *smem, *sinit;
	Slot *shadow;
	u32 *word_state;                /* see shadow.c */
	WordRec word;
	u32 era;                        /* grows when all threads have waited at one barrier */
	u32 era_time;                   /* launch time at its begin */
	bool quick;                     /* words are kept in word_state and word when they can */
	u32 smem_bytes;
	Bar bar[NBAR];
	SyncVar *sv;
	u32 nsv, csv;
	TmapSeen *tmap;
	u32 ntmap, ctmap;
	u64 *sect;                      /* hash set of sectors touched */
	u32 csect, nsect;
	u64 sect_n[2];
	bool dead, fenced;
	bool ended, gone;               /* all its threads have exited; and that has been seen to */
	u32 next_warp;
	u64 steps;
	Block *next;
	void *mem;
};

typedef struct Count { u64 warps, threads, req, srd, swr, brd, bwr, sreq, wave, wmin; } Count;

struct Worker {
	Launch *l;
	Count *n;                       /* by pc, from the entry's lowest */
	u32 *hint;                      /* allocation last used, by pc */
	u64 barriers, blocks, mma_macs, mma;
	u64 bsect[2];
	u64 steps;
	Block *free;                    /* a block's memory to use again */
	Cluster *freec;
	u64 tick;
	bool nomem;
};

typedef struct FaultRec {
	sim_fault f;
	u32 lin;                        /* block, for the order */
	u32 thread;
	char text[256];
	struct FaultRec *next;
} FaultRec;

typedef struct GSync { u64 addr; u32 time; u32 block; } GSync;  /* block + 1 that releases; ~0: several */

struct Launch {
	sim *s;
	const sim_module *m;
	const Fn *f;
	sim_launch a;
	u32 nthread, nblock, nwarp;
	u32 cdim[3], cgrid[3], ncluster;        /* blocks of a cluster; clusters of the grid */
	bool cexplicit;
	u32 smem;                       /* all of it */
	u32 smem_user;                  /* static + dynamic; the rest is the system's */
	u32 units, preds, local;
	u32 frame, paths;               /* the entry's own local memory; paths of a warp */
	struct Out *out, **out_end;     /* what the kernel printed */
	size_t nout;
	bool checks, counts, shared_host;
	const u8 *param;
	u32 param_bytes;
	u8 *shown;                      /* by pc: the trace hook looks at it; NULL: nothing is traced */
	void *sync;                     /* locks: a Sync */
	u32 next_cluster;
	int stop;                       /* 0 or a SIM_E_ code */
	char *why;
	u64 steps, max_steps;
	FaultRec *faults;
	u32 nfault, max_fault;
	char *hang;                     /* the first report of a hang */
	u32 running, spinning;          /* clusters started and not ended; proven to spin in ... */
	u64 epoch;                      /* ... this time without writes */
	u32 time;                       /* launch time of the happens-before between blocks */
	GSync *gs;
	u32 ngs, cgs;
};

struct sim_result {
	char text[256];
	sim_stats st;
	sim_fault *fault;
	FaultRec *recs;
	u32 nfault;
	char *hang;
	sim_line *line;
	u32 nline;
	char *out;
	size_t nout;
};

static inline const u32 *
src32(const Warp *w, const Ref *r)
{
	return (r->base ? w->konst : w->r) + (size_t)r->unit * WARP;
}
static inline const u64 *
src64(const Warp *w, const Ref *r)
{
	return (const u64 *)(const void *)src32(w, r);
}
static inline u32 *
dst32(Warp *w, const Ref *r)
{
	return w->r + (size_t)r->unit * WARP;
}
static inline u64 *
dst64(Warp *w, const Ref *r)
{
	return (u64 *)(void *)dst32(w, r);
}
/* One lane of a register as a number, zero-extended. */
static inline u64
lane_get(const Warp *w, const Ref *r, int lane)
{
	return r->chunks >= 4 ? src64(w, r)[lane] : src32(w, r)[lane];
}
static inline void
lane_set(Warp *w, const Ref *r, int lane, u64 v)
{
	if (r->chunks >= 4)
		dst64(w, r)[lane] = v;
	else
		dst32(w, r)[lane] = r->bits < 32 ? (u32)v & ((1u << r->bits) - 1) : (u32)v;
}
static inline u32
popcount(u32 x)
{
	return (u32)__builtin_popcount(x);
}
static inline int
low_lane(u32 x)
{
	return __builtin_ctz(x);
}
#define FOR_LANES(l, mask) \
	for (u32 rest_ = (mask); rest_ && ((l) = low_lane(rest_), 1); rest_ &= rest_ - 1)

/* What Launch.sync points to. */
typedef struct Sync {
	pthread_mutex_t faults, sync;
} Sync;
/* workers.c */
void run_workers(Launch *l, Worker *k);         /* one of `k` for each of l->nthread */
/* result.c: SIM_OK or SIM_E_NOMEM */
int collect_faults(Launch *l, sim_result *r);
int collect_counts(Launch *l, sim_result *r, const Worker *k);
/* launch.c */
void fault_add(Warp *w, int lane, sim_fault_kind kind, u32 line, sim_space sp, u64 addr, u32 bytes,
               const sim_place *other, const char *fmt, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 9, 10)))
#endif
	;
void launch_hang(Launch *l, char *report);      /* takes it over */
void launch_stop(Launch *l, int code, const char *why);
void place_of(const Block *b, u32 thread, u32 line, sim_place *out);
void launch_lock(Launch *l);
void launch_unlock(Launch *l);
/* sched.c */
void block_start(Worker *k, Block *b);          /* id, lin, rank and cl are set */
/* Every warp that can gets its turn.  False: the cluster has to stop. */
bool block_round(Block *b, u64 *steps, bool *moved);
int warp_step(Warp *w, u64 *steps);             /* one instruction: R_ as of a slice */
bool block_unstick(Block *b);                   /* a warp goes on without lanes it waits for */
void block_free(Block *b);
Block *sim_block_new(Worker *k);
/* paths.c */
void path_branch(Warp *w, const Ins *in, u32 taken, u32 not_taken);
s32 path_new(Warp *w, s32 pc, s32 rpc, u32 mask, s32 parent);
void path_join(Warp *w);
void path_split(Warp *w, const Ins *in, s32 a, u32 ma, s32 b, u32 mb);
void path_meet(Warp *w);                        /* the current path is at its meeting point */
bool path_unpark(Warp *w);
/* exec_warp.c: true if the lanes of `need` are all here; else the path has been blocked, or
 * the fault told (*missing set to true) and the instruction goes on with what there is */
bool sync_lanes(Warp *w, const Ins *in, u32 mask, u32 need);
/* The whole warp has to be here, nobody exited: .aligned instructions with fragments. */
bool sync_full(Warp *w, const Ins *in, u32 mask);
/* bar.c */
bool bar_try(Block *b);                         /* complete what can be; true if something was */
/* view.c */
bool view_prepare(Launch *l);                   /* false: out of memory */
bool view_show(Warp *w, const Ins *in, u32 here, u32 mask);     /* false: the hook said stop */
/* taint.c */
u32 def_of(const Warp *w, const Ref *r);        /* lanes fully defined */
void def_set(Warp *w, const Ref *r, u32 mask, u32 defined, u32 origin);
u32 origin_of(const Warp *w, const Ins *in, const Ref *r);
void taint_alu(Warp *w, const Ins *in, u32 mask);
void taint_list(Warp *w, const Ins *in, u32 mask);      /* all of d tainted if any of s is */
void use_check(Warp *w, const Ins *in, const Ref *r, u32 mask, const char *what);
void use_pred(Warp *w, const Ins *in, s32 p, u32 mask, const char *what);
enum { ORG_REG = 0, ORG_SHARED = 1u << 28, ORG_GLOBAL = 2u << 28, ORG_LOCAL = 3u << 28,
	ORG_LINE = (1u << 28) - 1 };
/* mem.c: one lane's access to memory, checked for bounds and alignment.  Returns the host
 * address or NULL after reporting. */
typedef struct Access {
	sim_space space;
	u64 addr;               /* in its space; shared: offset in the block's */
	Alloc *al;              /* global */
	Block *blk;             /* shared: the block it is in */
	u8 *p;
} Access;
bool mem_access(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 bytes, bool write,
                Access *out);
/* All lanes of `mask`: addresses from s[0] + off.  Returns the lanes whose access is good. */
u32 mem_resolve(Warp *w, const Ins *in, const Ref *base, s64 off, sim_space sp, u32 mask, u32 bytes,
                bool write, Access *acc);
/* check.c */
enum {
	A_NONE, A_READ, A_WRITE, A_SREAD, A_SWRITE,
	A_ASYNC,                /* written by a copy in flight */
	A_LANDED,               /* by one that ended on an mbarrier: see slot_int.h */
	A_AREAD,                /* read by a copy in flight */
	A_LOOK = 8,             /* added to one of these: compare, but do not remember */
	A_MBAR = 16             /* added: by an mbarrier operation, the only ones that may */
};
void check_access(Warp *w, const Ins *in, int lane, const Access *a, u32 bytes, int kind,
                  const void *value);
/* The same for reads of several lanes that are not strong. */
void check_reads(Warp *w, const Ins *in, u32 mask, const Access *acc, u32 bytes);
bool check_init(const Warp *w, int lane, const Access *a, u32 bytes);
void mark_init(Warp *w, int lane, const Access *a, u32 bytes, bool defined);
/* An async write has landed: slots of `from`'s thread and pc become the agent's at that clock. */
void check_landed(Block *b, u32 addr, u32 bytes, const Block *from, u32 thread, s32 pc, u32 agent,
                  u32 clock);
/* A copy of this lane by instruction `in` is done with memory: what it was writing is written, what
 * it was reading becomes `read`: A_READ, or A_NONE: forgotten. */
void check_copied(Warp *w, const Ins *in, int lane, const Access *a, u32 bytes, int read);
/* The newest write of this launch to global memory: its launch time and place. */
bool check_written(Warp *w, const Access *a, u32 bytes, u64 *time, sim_place *place);
void check_async_done(Warp *w, int lane, u32 dst, u32 bytes, s32 pc);
/* granule.c: a page of global memory, locked */
bool granule_read(Alloc *al, u64 page, u64 off, u32 bytes, u64 a, u64 b);       /* false: use the slots */
void granule_spread(Alloc *al, u64 page);
void granule_forget(Alloc *al, u64 off, u64 bytes);
/* shadow.c: shared memory; i is the number of a word */
void shadow_start(Block *b);
void shadow_era(Block *b);                      /* all threads have waited for each other */
void shadow_open(Block *b, u32 i);              /* the slots are about to be used */
/* The race check for whole words of the own block: the lanes for which check_access has to do it. */
u32 shadow_lanes(Warp *w, const Ins *in, u32 mask, const u32 *addr, u32 bytes, u32 kind);
bool shadow_lane(Warp *w, const Ins *in, u32 lane, u32 addr, u32 bytes, u32 kind);
bool side_by_side(const u32 *addr, u32 step);           /* the offsets of 32 lanes */
bool shadow_done(Warp *w, u32 lane, u32 i, s32 pc);     /* a cp.async has written; false: look at the slots */
/* order.c */
void check_sync_warp(Warp *w, u32 lanes);       /* these lanes of a warp are ordered */
bool hands_over(const Warp *w, const Access *a, const Ins *in);  /* between blocks, by a strong access */
void check_strong(Warp *w, const Access *a, const Ins *in, bool read, bool write, bool locked);
void check_fence(Warp *w);
/* count.c */
void count_access(Warp *w, const Ins *in, const Access *acc, u32 mask, u32 bytes, bool rd, bool wr);
void count_sectors(Warp *w, const Ins *in, const Access *acc, u32 mask, const u8 *bytes, bool wr);
struct Run;
void count_runs(Warp *w, const Ins *in, const struct Run *run, u32 n, bool wr);
void count_banks(Warp *w, const Ins *in, const u32 *addr, u32 mask, u32 bytes);
void count_matrix(Warp *w, const Ins *in, const u32 *rows, u32 nmat);
/* bulk.c */
void bulk_finish(Block *b);
void bulk_free(Warp *w);
/* call.c */
void saves_free(Warp *w);
u64 call_arg(const Warp *w, const Call *c, u32 i, int lane);
void call_result(Warp *w, const Call *c, int lane, u64 v);
/* builtin.c: functions without a body that the device knows: vprintf, __assertfail, malloc, free */
u8 builtin_find(const char *name);
bool builtin_ready(sim *s, const Fn *f);        /* its parameters are right, its heap is there */
bool output_collect(Launch *l, sim_result *r);
/* cpasync.c */
void copies_finish(Warp *w, u32 mask, u32 keep, bool all);
void copies_before(Warp *w, u32 mask, u32 seq);         /* complete those older than seq */
void copies_free(Warp *w);
/* wgmma_sync.c */
void wgmma_start(Block *b);
void wgmma_end(Block *b);
void wgmma_free(Warp *w);
void wgmma_touch(Warp *w, const Ins *in);       /* in->wg */
void wgmma_written(Warp *w, const Ins *in, int lane, const Block *b, u32 addr, u32 bytes);

/* exec_atom.c: one element, as in->sub and in->type say; returns the old value */
enum { AT_AND, AT_OR, AT_XOR, AT_EXCH, AT_ADD, AT_MIN, AT_MAX, AT_INC, AT_DEC, AT_CAS };
u64 atom_rmw(u8 *p, u32 bytes, const Ins *in, u64 b, u64 c, bool global);

/* num.c */
float f16_value(u32 h);
float bf16_value(u32 h);
u32 f16_round(double v, int rnd);               /* correctly rounded */
u32 bf16_round(double v, int rnd);
u32 f16_from_f32(float v);                      /* to nearest even, fast */
float f32_round(double v, int rnd);
u32 tf32_round(u32 bits, int rnd);
u32 fp8_round(double v, bool e5m2, bool relu);  /* to nearest even, satfinite */
double fp8_value(u32 b, bool e5m2);
double odd_add(double a, double b);             /* exact sum rounded to odd: for a second rounding */
double odd_fma(double a, double b, double c);   /* the same; a * b must be exact in double */
double odd_div(double a, double b);
double odd_sqrt(double a);
double dir64(int op, double a, double b, double c, int rnd);    /* f64 in any rounding */

#define E(name) exec_fn exec_##name;
#define EXECS(X) X(alu) X(setp) X(set) X(cvt) X(mov) X(ld) X(st) X(atom) X(cvta) X(isspacep) \
	X(nop) X(shfl) X(vote) X(match) X(redux) X(activemask) X(elect) X(bar) X(warpbar) \
	X(fence) X(cpasync) X(cpcommit) X(cpwait) X(ldmatrix) X(stmatrix) X(movmatrix) X(mma) \
	X(mmasp) X(mmab1) X(mma884) X(wgmma) X(wgfence) X(wgcommit) X(wgwait) \
	X(maxnreg) X(wmma) X(wmmamem) \
	X(bra) X(brx) X(call) X(ret) X(exit) X(trap) X(sreg) X(ldparam) X(pbool) X(slct) X(pack) \
	X(yield) X(lds) X(sts) X(selp) X(mapa) X(carry) X(video) X(cvtpack) X(lop3p) \
	X(getctarank) X(carrive) X(cwait) X(mbarset) X(mbar) X(mbarwait) X(mbarpend) X(cpmbar) \
	X(stasync) \
	X(bulk) X(bulkpre) X(bulkcommit) X(bulkwait) X(btensor) X(btensorpre) X(tmprefetch) \
	X(tmreplace) X(tmcopy) X(tmrelease) X(tmacquire) \
	X(builtin) X(frame) X(alloca)
EXECS(E)
#undef E

#endif
