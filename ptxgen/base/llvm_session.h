/* llvm_session.h - declares one LLVM session: from a target to a module, and from a module to PTX text. */
#ifndef HEXC_LLVM_SESSION_H
#define HEXC_LLVM_SESSION_H
#include "hexc/ir/ir.h"
#include "ptxgen/base/llvm_compat.h"

/* All LLVM objects of one compilation. Owned by ptxgen_emit's frame, closed on every path out. */
typedef struct Session {
	LLVMContextRef ctx;
	LLVMTargetMachineRef tm;
	LLVMModuleRef mod;
	LLVMBuilderRef b;   /* code at its position */
	LLVMBuilderRef pre; /* code that depends on the thread only: at the end of the entry block */
	LLVMMemoryBufferRef ptx;
	LLVMCodeGenOptLevel level;
	uint64_t made;      /* words of tiles emitted so far */
	bool products;      /* the unit has dots */
	/* First error reported through the context's handler; not in the arena, since LLVM is on the call
	 * stack. */
	int nerror;
	char why[400];
} Session;

/* Opens a session for a target of the table. `level`: of code generation. `text`: IR of the initial module,
 * or NULL for an empty one. Returns false with *s closed and the reason in s->why. */
bool session_open(Session *s, const Target *t, int ptx, LLVMCodeGenOptLevel level, const char *name,
                  const char *text);
/* Is there enough memory for LLVM to compile the words emitted so far? LLVM ends the process if an
 * allocation fails. */
bool session_has_room(const Session *s);
/* Verifies the module. Returns false with the reason in s->why. */
bool session_verify(Session *s);
/* Runs the i-th part of the optimization. Returns false if there is none, or it failed. */
bool session_optimize(Session *s, size_t i);
/* Splits blocks that optimization made too long for code generation (split_basic_blocks.c). */
void session_split(Session *s);
/* Stores the PTX text in s->ptx. */
bool session_emit(Session *s);
/* Disposes of what exists; may be called twice. */
void session_close(Session *s);
#endif
