/* llvm_session.c - life of an LLVM session.
 *
 * LLVM must not print, exit or abort: the context gets a diagnostic handler, the target and every
 * inline assembly come from tables that were checked, and success is the return code and no
 * diagnostic. */
#include "ptxgen/base/llvm_session.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What our code needs from LLVM's optimiser, in order: shared subexpressions merged, index
 * arithmetic simplified, what does not change moved out of loops.  Our layouts decide unrolling and
 * vector widths.
 *
 * Loops of products keep their test at the top, as ptxgen/control_flow.c makes them; ptxas moves it.  With it at
 * the end what a loop carries is there twice, for the next turn and for what is behind, and ptxas copies it
 * in every turn (attention, D 64, 128 x 64, LLVM 22, ptxas 13.0, sm_80: 699 instructions instead of 635).
 * Other loops carry little, and their test at the end spares a branch (selective_scan, sm_75: no spills).
 * Nor are empty blocks taken away at the end: ptxas needs more registers then (conv: 146 instead of 128).
 *
 * Code generation itself runs at its lowest level: ptxas allocates and schedules anyway.  Measured on
 * gemm_f16 and gemm_w4a16 (LLVM 22, ptxas 13.0, sm_80): 175 and 491 machine instructions in the main loop
 * instead of 179 and 501, in a fifth of the time; NaryReassociate alone took most of the rest, of many
 * addresses.  (A level more where there are few: code_level in ptxgen.c.) */
static const char *const pipeline[] = {
	"simplifycfg,early-cse",
	"instcombine<no-verify-fixpoint>",
	NULL, /* of loops: below */
	"early-cse",
};
static const char loops_of_products[] = "loop-mssa(licm)", other_loops[] = "loop-mssa(loop-rotate,licm)";

static void
session_register(void)
{
	LLVMInitializeNVPTXTargetInfo();
	LLVMInitializeNVPTXTarget();
	LLVMInitializeNVPTXTargetMC();
	LLVMInitializeNVPTXAsmPrinter();
}

static bool
session_error(Session *s, const char *what, const char *why)
{
	if (!s->nerror++)
		snprintf(s->why, sizeof s->why, "%s: %s", what, why ? why : "unknown reason");
	return false;
}

/* Errors are kept; warnings and remarks (each compile delivers some) are dropped. */
static void
session_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
	Session *s = user;
	char *text;

	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
		return;
	text = LLVMGetDiagInfoDescription(info);
	session_error(s, "LLVM", text);
	LLVMDisposeMessage(text);
}

static bool
session_machine(Session *s, const Target *t, int ptx, LLVMCodeGenOptLevel level)
{
	char *why = NULL, features[24];
	LLVMTargetRef target;

	if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &why)) {
		session_error(s, "no NVPTX target", why);
		LLVMDisposeMessage(why);
		return false;
	}
	snprintf(features, sizeof features, "+ptx%d", ptx);
	s->tm = LLVMCreateTargetMachine(target, "nvptx64-nvidia-cuda", t->name, features,
	                                level, LLVMRelocDefault, LLVMCodeModelDefault);
	return s->tm || session_error(s, "no target machine", t->name);
}

static bool
session_module(Session *s, const char *name, const char *text)
{
	char *why = NULL;

	if (!text) {
		s->mod = LLVMModuleCreateWithNameInContext(name, s->ctx);
		return true;
	}
	/* takes the buffer */
	if (!LLVMParseIRInContext(s->ctx,
	                          LLVMCreateMemoryBufferWithMemoryRange(text, strlen(text), name, 1),
	                          &s->mod, &why))
		return true;
	session_error(s, "internal: the module to begin with", why);
	LLVMDisposeMessage(why);
	return false;
}

bool
session_open(Session *s, const Target *t, int ptx, LLVMCodeGenOptLevel level, const char *name,
             const char *text)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	LLVMTargetDataRef data;

	memset(s, 0, sizeof *s);
	s->level = level;
	pthread_once(&once, session_register);
	s->ctx = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(s->ctx, session_diagnostic, s);
	if (!session_machine(s, t, ptx, level) || !session_module(s, name, text)) {
		session_close(s);
		return false;
	}
	LLVMContextSetDiscardValueNames(s->ctx, 1); /* IR is read with names only */
	LLVMSetTarget(s->mod, "nvptx64-nvidia-cuda");
	data = LLVMCreateTargetDataLayout(s->tm);
	LLVMSetModuleDataLayout(s->mod, data);
	LLVMDisposeTargetData(data);
	s->b = LLVMCreateBuilderInContext(s->ctx);
	s->pre = LLVMCreateBuilderInContext(s->ctx);
	return true;
}

/* Measured (LLVM 22): 4 MB of address space, and 1 KB a word, of which a third for the IR that there is by
 * now; a thread has a stack besides.  Asked for and given back: limits of address space say no then, and only
 * a machine without memory has other ways to. */
bool
session_has_room(const Session *s)
{
	enum { BASE = 24 << 20, EACH = 800 };
	void *volatile room = malloc(BASE + s->made * EACH); /* or a compiler knows the answer */

	free(room);
	return room != NULL;
}

bool
session_verify(Session *s)
{
	char *why = NULL;

	if (LLVMVerifyModule(s->mod, LLVMReturnStatusAction, &why))
		session_error(s, "internal: the module is broken", why);
	LLVMDisposeMessage(why);
	return s->nerror == 0;
}

bool
session_optimize(Session *s, size_t i)
{
	LLVMPassBuilderOptionsRef opts;
	char text[80];
	LLVMErrorRef err;

	if (i >= COUNT_OF(pipeline))
		return false;
	snprintf(text, sizeof text, "function(%s)",
	         pipeline[i] ? pipeline[i] : s->products ? loops_of_products : other_loops);
	opts = LLVMCreatePassBuilderOptions();
	err = LLVMRunPasses(s->mod, text, s->tm, opts);
	LLVMDisposePassBuilderOptions(opts);
	if (err) {
		char *why = LLVMGetErrorMessage(err); /* consumes err */

		session_error(s, "internal: optimiser", why);
		LLVMDisposeErrorMessage(why);
	}
	return s->nerror == 0;
}

bool
session_emit(Session *s)
{
	char *why = NULL;

	if (LLVMTargetMachineEmitToMemoryBuffer(s->tm, s->mod, LLVMAssemblyFile, &why, &s->ptx)) {
		session_error(s, "internal: writing PTX", why);
		LLVMDisposeMessage(why);
	}
	return s->nerror == 0;
}

void
session_close(Session *s)
{
	if (s->ptx)
		LLVMDisposeMemoryBuffer(s->ptx);
	if (s->b)
		LLVMDisposeBuilder(s->b);
	if (s->pre)
		LLVMDisposeBuilder(s->pre);
	if (s->mod)
		LLVMDisposeModule(s->mod);
	if (s->tm)
		LLVMDisposeTargetMachine(s->tm);
	if (s->ctx)
		LLVMContextDispose(s->ctx);
	s->ctx = NULL;
	s->tm = NULL;
	s->mod = NULL;
	s->b = s->pre = NULL;
	s->ptx = NULL;
}
