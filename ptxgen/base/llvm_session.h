/* llvm_session.h - one LLVM session: from a target to a module, and from a module to PTX text. */
#ifndef HEXC_LLVM_SESSION_H
#define HEXC_LLVM_SESSION_H
#include "hexc/ir/ir.h"
#include "ptxgen/base/llvm_compat.h"

/* All LLVM objects of one compilation.  Owned by ptxgen_emit's frame, closed on every way out. */
typedef struct Session {
	LLVMContextRef ctx;
	LLVMTargetMachineRef tm;
	LLVMModuleRef mod;
	LLVMBuilderRef b;   /* code where it belongs */
	LLVMBuilderRef pre; /* what depends on the thread alone: end of the entry block */
	LLVMMemoryBufferRef ptx;
	LLVMCodeGenOptLevel level;
	uint64_t made;      /* words of tiles emitted so far */
	bool products;      /* some tiles are multiplied */
	/* First error reported through the context's handler; no arena: we are inside LLVM then. */
	int nerror;
	char why[400];
} Session;

/* Open for a target of the table.  `level`: of code generation.  `text`: IR of the module to begin with, or
 * NULL for an empty one. False: *s is closed and s->why says why. */
bool session_open(Session *s, const Target *t, int ptx, LLVMCodeGenOptLevel level, const char *name,
                  const char *text);
/* Is there memory for what LLVM makes of the words emitted so far?  Where it gets none it ends the
 * process. */
bool session_has_room(const Session *s);
/* Structural check of the module.  False: s->why. */
bool session_verify(Session *s);
/* The i-th part of optimising; false: there is none, or it failed. */
bool session_optimize(Session *s, size_t i);
void session_split(Session *s); /* split_basic_blocks.c: what optimising made longer than code generation likes */
/* s->ptx becomes the text. */
bool session_emit(Session *s);
/* Dispose of what is there; twice is allowed. */
void session_close(Session *s);
#endif
