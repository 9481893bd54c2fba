/* ptxgen.h - declares the generation of PTX from tile IR with layouts. */
#ifndef HEXC_PTXGEN_H
#define HEXC_PTXGEN_H
#include "hexc/ir/ir.h"

typedef struct PtxOut {
	const char *text; /* PTX of one module with an .entry per kernel; NUL-terminated, in u->arena */
	size_t len;       /* bytes, without the NUL */
	/* milliseconds spent building LLVM IR, optimizing it, and writing PTX */
	double ms_build, ms_opt, ms_emit, ms_wait, ms_registers, ms_close;
	/* [nkernel] estimate of the registers/thread that ptxas uses; 0: as the search predicts */
	const int *registers;
} PtxOut;

/* LLVM's state for one context; its memory comes from `fn`, LLVM's own does not. Returns NULL if out of
 * memory. */
typedef struct PtxGen PtxGen;
PtxGen *ptxgen_new(void *(*fn)(void *user, void *p, size_t n), void *user);
/* Waits until LLVM has ended. NULL is allowed. */
void ptxgen_free(PtxGen *g);

/* Emits every kernel of the unit, which has been through all passes (layouts, lowerings, shared-memory
 * offsets and barriers are final), for u->target. Returns false with errors in u->diag and *out empty. The
 * same unit and LLVM give the same bytes. Thread-safe for different units and `g`.
 *
 * If the arena can be cancelled, LLVM runs on a separate thread, and the caller's thread polls. LLVM cannot
 * be stopped: after a cancellation it continues, and the next compilation on this `g` waits for it. */
bool ptxgen_emit(PtxGen *g, Unit *u, PtxOut *out);
/* Returns the major version of the LLVM that this was built with. */
int ptxgen_llvm_major(void);
/* Returns the major version of the LLVM that runs. */
int ptxgen_llvm_running(void);
/* Returns its full version, 22.1.8 as 220108. */
int ptxgen_llvm_version(void);
#endif
