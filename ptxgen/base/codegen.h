/* codegen.h - one kernel being emitted.
 *
 * Words.  A lane's part of a register tile is an array of SSA values, never memory.  Element r of a
 * type of b < 32 bits lives in word r*b/32, packed little-endian, where b is a power of two: types of 3
 * bits have slots of 4, those of 5, 6 and 7 slots of 8 (dtype_slot_bits), what is above the element being
 * open.  Wider ones and bool take a word each:
 *	f32 float   f64 double   i64/u64 i64   bool i1   everything else i32
 * A scalar is a tile of one register.  A tile in a bit order (hexc/ir/bit_order.h) has its groups' words.
 *
 * Pull.  An op without effect is not emitted where it stands: it leaves a Tile with a `pull` rule, and
 * whoever needs word w of its result calls word_get, which emits just the instruction instance that
 * makes that word (and remembers it).  So in a dot, loads, dequantization and mma of a step end up
 * together, and few registers are alive.  Reads of shared memory that nobody has pulled are forced,
 * in program order, before anything that may change what they read (gen_flush) and before a region
 * starts or ends; values used inside a region are forced before it, so every word dominates its
 * uses.
 *
 * Control flow is uniform over the block, or a role's warps of it: every place is reached by all threads of
 * these together, so collective instructions may be emitted anywhere. */
#ifndef HEXC_CODEGEN_H
#define HEXC_CODEGEN_H
#include "infer/core/instr.h"
#include "ptxgen/base/llvm_session.h"

typedef LLVMValueRef LV;

typedef struct Codegen Codegen;
typedef struct Loop Loop; /* ptxgen/base/induction.h */
/* Emit word w of the op's result; it may set others of the same instance too. */
typedef void (*PullFn)(Codegen *g, Op *o, int w);

/* Instructions that LLVM has intrinsics for. */
enum { KNOWN_COUNT = 6 };

typedef struct Tile {
	Val *v;
	DType dtype;
	const Layout *l; /* NULL: scalar */
	int nreg;        /* elements of a lane */
	int epw, nword;  /* elements per word, words of a lane */
	LV *word;        /* NULL: not emitted yet */
	const bool *part; /* which words there are ever; NULL: all */
	PullFn pull;
	void *plan;      /* what the op's visit prepared for pull */
	const struct Web *web; /* in registers with names (ptxgen/base/named_registers.h), word[] is empty; or NULL */
	bool remat;      /* words are cheap: made anew at each use, never kept */
	int depth;       /* pulls that a pull may nest */
	uint64_t made;   /* words emitted */
} Tile;

struct Codegen {
	Unit *u;
	Kernel *k;
	Arena *a;
	Session *s;
	LLVMContextRef ctx;
	LLVMBuilderRef b, pre;
	LV fn;
	LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, h2, ptr1, nothing;
	LV tid, lane, warp; /* i32; lane < 32 */
	LV nothing_set;     /* i32: 0, as ptxas does not know; NULL until asked for */
	int warps;          /* that run together what is emitted: of a role, or all */
	LV leader;          /* i1: this thread speaks for them; NULL: it is the only one here */
	LV remote;          /* i32: `smem` of the block of the cluster whose rank is the lane's number, where
	                     * there is one; NULL: no cluster */
	LV team;            /* i32: the number of this team; NULL: not among the teams */
	const struct Web **web; /* by Val.id, and of factors of products in registers, likewise (named_registers.h) */
	const struct Web **factor;
	struct Taken {      /* words read from registers with names; from `fresh` on these still have them */
		LV word;
		const char *name;
	} *taken;
	int ntaken, taken_cap, fresh;
	LV block[3];        /* i32: which block this is, as the program counts; NULL until asked for */
	Loop *loop;         /* the innermost around what is emitted; NULL: none */
	struct Rare *rare;  /* selects that are behind a branch (ptxgen/element/slow_path.c) */
	int napart;         /* places that ptxas moves nothing across (ptxgen/base/scheduling_barrier.h) .. */
	uint64_t apart_made; /* .. words made at the last .. */
	int64_t piece;      /* .. elements taken since */
	bool rarely;        /* what is emitted is behind such a branch */
	Val *guard;         /* copies move something only where this holds; NULL: always */
	Src at;             /* what is being emitted belongs there */
	LLVMMetadataRef lines; /* the function, as debug information names it; NULL: none is wanted */
	LV smem;            /* i32: shared address of the block's dynamic memory; NULL until asked for */
	Tile **tile;        /* by Val.id; NULL: not visited */
	LV *arg;            /* kernel arguments, by parameter */
	struct Read {       /* shared loads not wholly pulled, in program order */
		Op *op;
		Val *root;
		void (*force)(Codegen *g, Op *o);
	} *read;
	int nread, read_cap;
	const char *ptext[INSTR_COUNT]; /* predicated text of instruction rows, made when first used */
	const char *pcons[INSTR_COUNT];
	LV known[KNOWN_COUNT]; /* intrinsics, by rows of inline_asm.c; NULL: not asked for yet */
};

/* ---- tile_values.c: tiles and pulling --------------------------------------------------------------- */

/* Memory of n words. */
LV *lv_array(Codegen *g, int n);
Tile *tile_new(Codegen *g, Val *v);          /* words all NULL */
Tile *tile_of(Codegen *g, const Val *v);     /* of a visited value */
/* The result of o is made word by word, when asked for. */
Tile *tile_lazy(Codegen *g, Op *o, PullFn pull, void *plan);
bool tile_has(const Tile *t, int w);     /* the word is there, now or once it is pulled */
LV word_get(Codegen *g, Val *v, int w);
void tile_force(Codegen *g, Val *v);         /* pull all words */
LV scalar_get(Codegen *g, Val *v);
int64_t tile_reg(Codegen *g, const Val *v, const int64_t *index); /* register of an element */
void tile_index(const Tile *t, int64_t reg, int64_t *index);  /* what lane 0 of warp 0 holds there */
/* Remember a shared load that is not wholly pulled yet; `force` issues what is missing of it. */
void gen_reads(Codegen *g, Op *o, Val *root, void (*force)(Codegen *g, Op *o));
/* What is still to be read of this load never is. */
void gen_seal(Codegen *g, const Op *load);
/* Force remembered loads: all, or those of one root. */
void gen_flush(Codegen *g, const Val *root);
void gen_unsupported(Codegen *g, const Op *o, const char *what);

/* ---- one for each rule `emit` of ops.def, in the file of its name or that of its kind -------------- */

#define OP_EMIT(name, rule) void emit_##rule(Codegen *g, Op *o);
#include "hexc/ir/ops.def"
#endif
