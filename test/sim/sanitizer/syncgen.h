/* syncgen.h - random kernels in which every access is ordered by construction: barriers of all kinds, flags,
 * atomics, asynchronous copies. A kernel is a list of Ops, in an order in which it could run. The model
 * (util_syncmodel.c) knows for each thread what is ordered before it, and every value. The generator
 * (util_syncgen.c) queries it for legal Ops; util_synctext.c writes the PTX, with or without one of the
 * Ops. */
#ifndef SYNCGEN_H
#define SYNCGEN_H
#include <stdbool.h>
#include <stdint.h>

enum {
	SG_WARPS = 8,           /* in all blocks together, at most */
	SG_THREADS = 32 * SG_WARPS,
	SG_SHARED = 16,         /* regions of 32 words in each block's shared memory */
	SG_GLOBAL = 12,         /* and in global memory */
	SG_REGIONS = 2 * SG_SHARED + SG_GLOBAL,
	SG_FLAGS = 8,           /* half of them in shared, half in global memory */
	SG_MBARS = 6,
	SG_IN = 4096,           /* words of the read-only input */
	SG_MASKS = 6
};

/* Kinds: name, which says that leaving out such an Op leaves out order. */
#define SG_KINDS(X) \
	X(LOAD, false) X(STORE, false) X(ATOMIC, false) X(LDMATRIX, false) X(SHFL, false) X(VOTE, false) \
	X(BAR, true) X(BARRED, true) X(ARRIVE, false) X(BARWAIT, true) X(WARPSYNC, true) \
	X(COPY, false) X(COMMIT, false) X(WAITGROUP, true) X(RELEASE, false) X(ACQUIRE, true) \
	X(MARRIVE, false) X(MWAIT, true) X(BULKLOAD, false) X(BULKSTORE, false) X(CLUSTERBAR, true)
typedef enum SgKind {
#define X(id, sync) SG_##id,
	SG_KINDS(X)
#undef X
	SG_NKINDS
} SgKind;
extern const char *const sg_kind_name[SG_NKINDS];
extern const bool sg_orders[SG_NKINDS];

typedef struct SgOp {
	uint8_t kind, warp;     /* warp: over all blocks */
	uint8_t form;           /* spelling or variant, by kind */
	uint8_t mask;           /* number in sg_mask of the lanes that take part */
	uint8_t perm, k;        /* lane l uses word perm(l): see sg_word */
	uint8_t wide;           /* lanes 0-7 use four words each */
	uint8_t region, region2;
	uint8_t id;             /* barrier, flag, mbarrier */
	uint32_t warps, arrivers;       /* BAR, BARWAIT: who waits; who only arrives */
	uint32_t n;             /* number added, groups kept, flag value, place in the input */
	uint32_t phase;         /* of the mbarrier */
	uint32_t line[SG_WARPS];        /* of the PTX text, by warp */
} SgOp;

typedef struct SgShape {
	unsigned blocks, warps; /* warps of one block */
	bool cluster, hopper;   /* hopper: mbarrier waits by parity, bulk copies, clusters */
	unsigned ops;
	uint64_t seed;
} SgShape;

/* Lane masks that ops use, the word of a region that a lane uses. */
extern const uint32_t sg_mask[SG_MASKS];
unsigned sg_word(const SgOp *op, unsigned lane);

/* ---- model ---- */
typedef struct SgModel SgModel;
SgModel *sg_model_new(const SgShape *s);
void sg_model_free(SgModel *m);
/* Would it be legal now?  Only ordering, pending copies and initialised data are looked at. */
bool sg_legal(const SgModel *m, const SgOp *op);
/* Do it.  `ops` is the list it is part of; `missing`: its effect on order is left out.  Conflicts that a
 * list with a missing Op has are kept: see sg_conflict. */
void sg_apply(SgModel *m, const SgOp *ops, unsigned at, bool missing);
typedef struct SgConflict { unsigned first, second; } SgConflict;       /* numbers of Ops */
unsigned sg_conflicts(const SgModel *m, const SgConflict **out);
/* Does thread t know all that u did until now? */
bool sg_knows(const SgModel *m, unsigned t, unsigned u);
uint32_t sg_now(const SgModel *m, unsigned t);  /* clock of a thread */
bool sg_knows_at(const SgModel *m, unsigned t, unsigned u, uint32_t clock);
uint32_t sg_acc(const SgModel *m, unsigned t);  /* what thread t has computed */
uint32_t sg_input(uint64_t seed, unsigned i);   /* word i of the input */
/* Value of a word of global region r; its initial value is sg_input(seed, SG_IN + 32 r + i). */
uint32_t sg_value(const SgModel *m, unsigned region, unsigned i);

/* ---- generator and text ---- */
typedef struct SgList { SgOp *op; unsigned n; SgShape s; uint32_t mbar_warps[SG_MBARS]; } SgList;
SgList sg_generate(const SgShape *s);
/* PTX of an entry k(in, global, result), without Op `missing` (-1: all).  Sets the lines.  free() it. */
char *sg_text(SgList *l, int missing);
#endif
