/* ptxgen.h - tile IR with layouts to PTX. */
#ifndef HEXC_PTXGEN_H
#define HEXC_PTXGEN_H
#include "hexc/ir/ir.h"

typedef struct PtxOut {
	const char *text; /* PTX of one module with an .entry per kernel; NUL-terminated, in u->arena */
	size_t len;       /* bytes, without the NUL */
	/* milliseconds spent building LLVM IR, optimising it, and writing PTX */
	double ms_build, ms_opt, ms_emit, ms_wait, ms_registers, ms_close;
	const int *registers; /* [nkernel] of a lane, that ptxas takes, about; 0: as the search says */
} PtxOut;

/* Where LLVM works for one context; its memory comes from `fn`, LLVM's own does not.  NULL: there is
 * none. */
typedef struct PtxGen PtxGen;
PtxGen *ptxgen_new(void *(*fn)(void *user, void *p, size_t n), void *user);
/* Waits until LLVM has ended.  NULL is allowed. */
void ptxgen_free(PtxGen *g);

/* Emit every kernel of the unit, which has been through all passes (layouts, lowerings, shared-memory
 * offsets and barriers are final), for u->target.  False: errors are in u->diag and *out is empty.
 * Same unit, same LLVM: same bytes.  Thread-safe for different units and `g`.
 *
 * Where the arena can be cancelled, LLVM works on a thread of its own, and the caller's polls.  LLVM cannot
 * be stopped: what is left when a compilation is cancelled goes on, and the next on this `g` waits for it. */
bool ptxgen_emit(PtxGen *g, Unit *u, PtxOut *out);
/* The major number of the LLVM that this was built with. */
int ptxgen_llvm_major(void);
/* The same of the LLVM that runs. */
int ptxgen_llvm_running(void);
/* All of its version, 22.1.8 as 220108. */
int ptxgen_llvm_version(void);
#endif
