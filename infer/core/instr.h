/* instr.h - the table of machine instructions: inference selects from it and ptxgen emits its rows. */
#ifndef HEXC_INSTR_H
#define HEXC_INSTR_H
#include "hexc/ir/ir.h"

/* kind, what one instance does */
#define INSTR_KINDS(X)                                                                             \
	X(ld_global, "each lane loads `bits` from global memory")                                  \
	X(st_global, "each lane stores `bits` to global memory")                                   \
	X(red, "each lane combines `bits` with what global memory holds")                          \
	X(atom, "each lane combines `bits` with what global memory holds, and gets what was there") \
	X(red_shared, "each lane combines `bits` with what shared memory holds")                   \
	X(atom_shared, "each lane combines `bits` with what shared memory holds, and gets what was there") \
	X(ld_shared, "each lane loads `bits` from shared memory")                                  \
	X(st_shared, "each lane stores `bits` to shared memory")                                   \
	X(ld_st, "copy of `bits` per lane through registers: a global load and a shared store")    \
	X(ld_bits, "copy of `bits` per lane through registers: a load for each element, a store")  \
	X(cp_async, "each lane copies `bits` from global to shared memory, asynchronously")        \
	X(tma_load, "one thread has boxes of a tensor map copied to shared memory")                \
	X(tma_store, "one thread has boxes of a tensor map copied from shared memory")             \
	X(ldmatrix, "a warp loads bits/32 matrices of 8 rows of 16 bytes; a lane gets `bits`")     \
	X(stmatrix, "a warp stores bits/32 matrices of 8 rows of 16 bytes; a lane gives `bits`")   \
	X(mma, "a warp multiplies fragments A[m,k] * B[k,n] + C[m,n]")                             \
	X(mma_sp, "a warp multiplies fragments A[m,k], of which half is kept, * B[k,n] + C[m,n]")  \
	X(mma_scaled, "a warp multiplies fragments A[m,k] * SA[m,k/b] * B[k,n] * SB[k/b,n] + C[m,n]")  \
	X(wgmma, "a warpgroup multiplies A[m,k] * B[k,n] + C[m,n], B and perhaps A in shared memory") \
	X(fma, "each lane multiplies and adds elements that it holds itself")

typedef enum InstrKind {
#define X(name, help) IK_##name,
	INSTR_KINDS(X)
#undef X
	IK_COUNT
} InstrKind;

typedef struct Instr {
	const char *name;
	InstrKind kind;
	int bits;          /* memory instructions: bits per lane, 8..128 */
	bool trans;        /* ldmatrix, stmatrix: matrices are transposed */
	int m, n, k;       /* mma, fma: tile of one instance; wgmma: n is any multiple of this */
	int warps;         /* warps that execute one instance together */
	StoreKind atom;    /* red, atom: the update */
	/* red, atom: ta, element type; mma: element types of A, B, and of C and the result; fma: D_COUNT,
	 * any */
	DType ta, tb, acc;
	DType scale;       /* mma_scaled: type of scales, whose sign is ignored */
	int scales;        /* scales along k per instance */
	unsigned features; /* T_*: features that the target must have */
	/* Inline assembly.  Outputs first, $0..; address operands are pairs (register, constant byte
	 * offset).  NULL: ptxgen composes it from other rows or plain arithmetic. */
	const char *text, *cons;
	/* wgmma: text is the part of the name with the types; a is the fragment of a warp, NULL: A in
	 * shared memory (infer/core/wgmma.h).  mma fragments in the notation of layout_parse: dims [M,K],
	 * [K,N], [M,N] -> lane, reg.  mma_sp: A holds values [M,K/2], e metadata [M,P] in the first lanes
	 * of each group of four. */
	const char *a, *b, *c, *e;
} Instr;

/* number of rows of the table */
enum {
	INSTR_COUNT = 0
#define INSTR(...) +1
#define INSTR_RED(...) +1
#define INSTR_RED_SHARED(...) +1
#define INSTR_ATOM(...) +1
#define INSTR_ATOM_SHARED(...) +1
#define INSTR_MMA(...) +1
#define INSTR_SP(...) +1
#define INSTR_SCALED(...) +1
#define INSTR_WGMMA(...) +1
#include "infer/core/instr.def"
};
extern const Instr instrs[]; /* INSTR_COUNT rows, then one with name == NULL */

/* Returns the instruction kind of a per-lane store, by its memory space and its atomic update, if any. */
InstrKind instr_store_kind(const Op *store);
bool instr_is_update(InstrKind kind);
/* Returns the row of that name; NULL: unknown. */
const Instr *instr_find(const char *name);
/* Returns the row that p, a lowering of an access or dot, names; NULL: none.  p may be NULL. */
const Instr *instr_of(const Lowering *p);
/* Is it a dense mma.sync, with or without scales? */
bool instr_is_whole(const Instr *i);
/* Does the target support it? */
bool instr_on(const Instr *i, const Target *t);
/* Is it a TMA tensor copy?  i may be NULL. */
bool instr_is_box(const Instr *i);
/* Computes the fragment of operand 0 (A), 1 (B) or 2 (C) of an MMA; false: the row has none.  With `swap`
 * the MMA computes the transpose, B' A': A is what the instruction calls B, and so on. */
bool instr_fragment(const Instr *i, int operand, bool swap, Layout *out);
/* mma_sp: computes the fragment of the metadata of `steps` consecutive instances along k.  They take it
 * from successive lanes of a group of four: the selector of step s is s.  Remaining lanes hold replicas. */
bool instr_positions(const Instr *i, int steps, bool swap, Layout *out);
/* mma_scaled: computes the layout of the scales of operand 0 (A) or 1 (B), as the row's A or B, for
 * `steps` consecutive instances along k.  Scales of later instances go to further bytes of a register,
 * then to other lanes of a group of four, which otherwise hold replicas.  Shape [m, k/b] for A, [k/b, n]
 * for B. */
bool instr_scales(const Instr *i, int steps, int operand, bool swap, Layout *out);
/* Returns how many instances can have their metadata in one group of four lanes. */
int instr_selectors(const Instr *i);
#endif
