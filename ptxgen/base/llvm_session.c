/* llvm_session.c - opens an LLVM session for a target, optimizes its module, and emits PTX text.
 *
 * LLVM must not print, exit or abort. The context gets a diagnostic handler, the target and all inline
 * assembly come from checked tables, and success means the return code and no diagnostic. */
#include "ptxgen/base/llvm_session.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The LLVM optimizations that the generated code needs, in order: common subexpressions, simplified index
 * arithmetic, invariant code motion. Our layouts determine unrolling and vector widths.
 *
 * Loops with dots keep their test at the top, as ptxgen/control_flow.c emits it; ptxas moves it. With the
 * test at the end, carried values exist twice, for the next iteration and for after the loop, and ptxas
 * copies them in every iteration (attention, D 64, 128 x 64, LLVM 22, ptxas 13.0, sm_80: 699 instructions
 * instead of 635). Other loops carry little, and a test at the end saves a branch (selective_scan, sm_75:
 * no spills). Empty blocks are not removed at the end either: ptxas would need more registers (conv: 146
 * instead of 128).
 *
 * Code generation runs at its lowest level, since ptxas allocates and schedules anyway. Measured on
 * gemm_f16 and gemm_w4a16 (LLVM 22, ptxas 13.0, sm_80): 175 and 491 machine instructions in the main loop
 * instead of 179 and 501, in a fifth of the time. NaryReassociate alone took most of the rest, for kernels
 * with many addresses. (One level higher for wgmma: code_level in ptxgen.c.) */
static const char *const pipeline[] = {
	"simplifycfg,early-cse",
	"instcombine<no-verify-fixpoint>",
	NULL, /* loop passes: below */
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

/* Stores errors; drops warnings and remarks, which each compilation produces. */
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
	/* takes ownership of the buffer */
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
	LLVMContextSetDiscardValueNames(s->ctx, 1); /* IR with names only can be parsed */
	LLVMSetTarget(s->mod, "nvptx64-nvidia-cuda");
	data = LLVMCreateTargetDataLayout(s->tm);
	LLVMSetModuleDataLayout(s->mod, data);
	LLVMDisposeTargetData(data);
	s->b = LLVMCreateBuilderInContext(s->ctx);
	s->pre = LLVMCreateBuilderInContext(s->ctx);
	return true;
}

/* Measured (LLVM 22): 4 MB of address space, plus 1 KB per word, of which a third is for the existing IR; a
 * thread also has a stack. The memory is allocated and freed: a limit on address space then fails here, and
 * only a machine that runs out of memory can still fail later. */
bool
session_has_room(const Session *s)
{
	enum { BASE = 24 << 20, EACH = 800 };
	void *volatile room = malloc(BASE + s->made * EACH); /* volatile, or a compiler removes the pair */

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
