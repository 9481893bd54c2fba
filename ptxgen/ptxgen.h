/* ptxgen.h - tile IR with layouts to PTX. */
#ifndef HEXC_PTXGEN_H
#define HEXC_PTXGEN_H
#include "hexc/ir/ir.h"

typedef struct PtxOut {
	const char *text; /* PTX of one module with an .entry per kernel; NUL-terminated, in u->arena */
	size_t len;       /* bytes, without the NUL */
	/* milliseconds spent building LLVM IR, optimising it, and writing PTX */
	double ms_build, ms_opt, ms_emit;
} PtxOut;

/* Emit every kernel of the unit, which has been through all passes (layouts, picks, shared-memory
 * offsets and barriers are final), for u->target.  False: errors are in u->diag and *out is empty.
 * Same unit, same LLVM: same bytes.  Thread-safe for different units. */
bool ptxgen_emit(Unit *u, PtxOut *out);
/* The LLVM this was built with, as "19.1.7", and its major number; static text. */
const char *ptxgen_llvm_version(void);
int ptxgen_llvm_major(void);
#endif
