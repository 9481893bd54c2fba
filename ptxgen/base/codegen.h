/* codegen.h - declares the state of one kernel's PTX generation, and the values of its tiles.
 *
 * Words. A lane's part of a register tile is an array of SSA values, never memory. Element r of a type of b
 * < 32 bits is in word r*b/32, packed little-endian, if b is a power of two. Types of 3 bits have slots of
 * 4 bits, those of 5, 6 and 7 bits slots of 8 (dtype_slot_bits); the bits above the element are
 * unspecified. Wider types and bool take one word per element:
 *       f32 float   f64 double   i64/u64 i64   bool i1   everything else i32
 * A scalar is a tile of one register. A tile in a bit order (hexc/ir/bit_order.h) has its groups' words.
 *
 * Pull. A pure op is not emitted at its position: it leaves a Tile with a `pull` rule. A user of word w of
 * its result calls word_get, which emits only the instruction instance that computes that word, and caches
 * it. In a dot, the loads, dequantization and mma of a step are therefore emitted together, and few
 * registers are live. Pending reads of shared memory are forced, in program order, before anything that may
 * change what they read (gen_flush), and before a region starts or ends. Values used inside a region are
 * forced before it, so every word dominates its uses.
 *
 * Control flow is uniform over the block, or over the warps of a role: all of these threads reach every
 * point together, so collective instructions may be emitted anywhere. */
#ifndef HEXC_CODEGEN_H
#define HEXC_CODEGEN_H
#include "infer/core/instr.h"
#include "ptxgen/base/llvm_session.h"

typedef LLVMValueRef LV;

typedef struct Codegen Codegen;
typedef struct Loop Loop; /* ptxgen/base/induction.h */
/* Emits word w of the op's result; it may set other words of the same instance too. */
typedef void (*PullFn)(Codegen *g, Op *o, int w);

/* Instructions with LLVM intrinsics. */
enum { KNOWN_COUNT = 6 };

typedef struct Tile {
	Val *v;
	DType dtype;
	const Layout *l; /* NULL: scalar */
	int nreg;        /* elements per lane */
	int epw, nword;  /* elements per word, words per lane */
	LV *word;        /* NULL: not emitted yet */
	const bool *part; /* words that ever exist; NULL: all */
	PullFn pull;
	void *plan;      /* prepared for pull by the op's visit */
	/* in named registers (ptxgen/base/named_registers.h), word[] is empty; or NULL */
	const struct Web *web;
	bool remat;      /* words are cheap: recomputed at each use, never cached */
	int depth;       /* maximum nesting depth of pulls */
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
	LV nothing_set;     /* i32: 0, unknown to ptxas; NULL until requested */
	int warps;          /* that run the emitted code together: of a role, or all */
	LV leader;          /* i1: this thread is elected for them; NULL: it is the only one here */
	/* i32: `smem` of the cluster's block whose rank is the lane id, if it exists; NULL: no cluster */
	LV remote;
	LV team;            /* i32: index of this consumer group; NULL: outside the consumers */
	const struct Web **web; /* by Val.id, also for MMA operands in registers (named_registers.h) */
	const struct Web **factor;
	/* words read from named registers; from `fresh` on, the registers still contain them */
	struct Taken {
		LV word;
		const char *name;
	} *taken;
	int ntaken, taken_cap, fresh;
	LV block[3];        /* i32: block index in program order; NULL until requested */
	Loop *loop;         /* the innermost loop around the insertion point; NULL: none */
	struct Rare *rare;  /* selects with a slow path (ptxgen/element/slow_path.c) */
	int napart;         /* scheduling barriers emitted (ptxgen/base/scheduling_barrier.h) .. */
	uint64_t apart_made; /* .. words emitted up to the last one .. */
	int64_t piece;      /* .. elements consumed since */
	bool rarely;        /* inside a slow path */
	Val *guard;         /* copies are predicated by it; NULL: always */
	Src at;             /* source location of the emitted code */
	LLVMMetadataRef lines; /* the function in debug information; NULL: none requested */
	LV smem;            /* i32: shared address of the block's dynamic memory; NULL until requested */
	Tile **tile;        /* by Val.id; NULL: not visited */
	LV *arg;            /* kernel arguments, by parameter */
	struct Read {       /* shared loads that are not fully pulled, in program order */
		Op *op;
		Val *root;
		void (*force)(Codegen *g, Op *o);
	} *read;
	int nread, read_cap;
	const char *ptext[INSTR_COUNT]; /* predicated text of instruction rows, created on first use */
	const char *pcons[INSTR_COUNT];
	LV known[KNOWN_COUNT]; /* intrinsics, by rows of inline_asm.c; NULL until requested */
};

/* ---- tile_values.c: tiles and pulling --------------------------------------------------------------- */

/* Allocates n words. */
LV *lv_array(Codegen *g, int n);
Tile *tile_new(Codegen *g, Val *v);          /* words all NULL */
Tile *tile_of(Codegen *g, const Val *v);     /* of a visited value */
/* Registers `pull`, which computes words of o's result on demand; at the end of a long chain at once, so that
 * the plan must be complete. */
Tile *tile_lazy(Codegen *g, Op *o, PullFn pull, void *plan);
bool tile_has(const Tile *t, int w);     /* does the word exist, now or after a pull? */
LV word_get(Codegen *g, Val *v, int w);
void tile_force(Codegen *g, Val *v);         /* pull all words */
LV scalar_get(Codegen *g, Val *v);
int64_t tile_reg(Codegen *g, const Val *v, const int64_t *index); /* register of an element */
void tile_index(const Tile *t, int64_t reg, int64_t *index);  /* element in lane 0 of warp 0 */
/* Records a shared load that is not fully pulled yet; `force` emits the rest of it. */
void gen_reads(Codegen *g, Op *o, Val *root, void (*force)(Codegen *g, Op *o));
/* Marks the rest of this load as never read. */
void gen_seal(Codegen *g, const Op *load);
/* Forces recorded loads: all, or those of one root. */
void gen_flush(Codegen *g, const Val *root);
void gen_unsupported(Codegen *g, const Op *o, const char *what);

/* ---- one for each rule `emit` of ops.def, in the file of its name or its kind ---------------- */

#define OP_EMIT(name, rule) void emit_##rule(Codegen *g, Op *o);
#include "hexc/ir/ops.def"
#endif
