/* util_infer.h - from the source text of a kernel to the result of inference. */
#ifndef TEST_UTIL_INFER_H
#define TEST_UTIL_INFER_H
#include "infer/infer.h"

/* What one source became; its arena holds everything. */
typedef struct Inferred {
	Arena arena;
	Diag diag;
	Unit unit;
	Kernel *k; /* the first kernel, behind pass infer */
	Candidates *cands; /* its solutions */
} Inferred;

/* Compile up to pass infer for an arch.  Fails the test on an error, unless `wrong`: then there must be
 * one. */
void infer_source(Inferred *x, const char *source, const char *arch, int candidate, bool wrong);
void infer_free(Inferred *x);
/* The solutions of the first kernel, in the caller's arena; fails the test on an error. */
Candidates *infer_solved(Arena *a, const char *source, const char *arch, int candidate);
/* The n-th op of a kind, NULL: there are fewer. */
Op *infer_op(const Inferred *x, OpCode code, int nth);
/* The first loop that pass split_loops has made so, NULL: there is none. */
Op *infer_loop(const Kernel *k, SplitKind kind);
/* Does a candidate's line contain this? */
bool infer_any(const Inferred *x, const char *text);
/* Proves the kernel: the number of violations. */
int infer_violations(Inferred *x);
/* Wavefronts and the least for all accesses to the shared tile of that name, once each. */
void infer_waves(const Inferred *x, const char *tile, int64_t *waves, int64_t *least);
#endif
