/* ptxgen.c - from a unit to PTX text.
 *
 * The arena leaves by longjmp when memory or the budget runs out.  All frames between ptxgen_emit
 * and that jump are ours (LLVM never calls us but for diagnostics, which use no arena), so the one
 * thing to do on the way is to close the LLVM session. */
#include "ptxgen/ptxgen.h"
#include "hexc/ir/sparse.h"
#include "ptxgen/base/lines.h"
#include "ptxgen/emit.h"
#include <string.h>
#include <time.h>

int
ptxgen_llvm_major(void)
{
	return LLVM_VERSION_MAJOR;
}

int
ptxgen_llvm_running(void)
{
	unsigned major = 0, minor, patch;

	LLVMGetVersion(&major, &minor, &patch);
	return (int)major;
}

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool
emit_error(Unit *u, const Session *s)
{
	Src nowhere = { 0, 0, 1 };

	if (u->diag->nerror == 0)
		diag_class_error(u->diag, DC_INTERNAL, nowhere, "%s",
		                 s->why[0] ? s->why : "code generation failed");
	return false;
}

/* The .version that an op needs; 0: any. */
static int
op_version(const Op *o, const Target *t)
{
	if (o->code == O_dot && dot_is_sparse(o))
		return PTX_SPARSE;
	for (int j = 0; j < o->nout && t->features & T_FP8; j++)
		if (dtype_info[o->out[j]->type.dtype].round == R_sat)
			return PTX_FP8;
	return 0;
}

/* The .version that the unit needs: the target's own, so that old drivers take it, or what an op asks for. */
static int
ptx_version(const Unit *u)
{
	int need = u->target->ptx, op;
	OpWalk w;

	for (int i = 0; i < u->nkernel; i++)
		for (Op *o = walk_first(&w, u->kernel[i]->body); o; o = walk_next(&w))
			if ((op = op_version(o, u->target)) > need)
				need = op;
	return need;
}

static bool
emit_module(Unit *u, Session *s, PtxOut *out)
{
	double t0 = now_ms(), t1, t2;

	if (!session_open(s, u->target, ptx_version(u), u->file ? u->file : "hexc",
	                  u->lineinfo ? lines_module(u) : NULL))
		return false;
	for (int i = 0; i < u->nkernel; i++) {
		if (!gen_kernel(s, u, u->kernel[i]))
			return false;
		arena_poll(u->arena);
	}
	if (!session_verify(s))
		return false;
	t1 = now_ms();
	for (size_t i = 0; session_optimize(s, i); i++)
		arena_poll(u->arena);
	if (s->nerror)
		return false;
	session_split(s);
	arena_poll(u->arena);
	t2 = now_ms();
	if (!session_emit(s))
		return false;
	out->len = LLVMGetBufferSize(s->ptx);
	out->text = arena_strndup(u->arena, LLVMGetBufferStart(s->ptx), out->len);
	out->ms_build = t1 - t0;
	out->ms_opt = t2 - t1;
	out->ms_emit = now_ms() - t2;
	return true;
}

bool
ptxgen_emit(Unit *u, PtxOut *out)
{
	Src nowhere = { 0, 0, 1 };
	jmp_buf *outer = u->arena->fail, here;
	Session *s;
	int why;
	bool ok;

	memset(out, 0, sizeof *out);
	if (u->target->llvm > ptxgen_llvm_major()) {
		diag_class_error(u->diag, DC_ARCH, nowhere,
		          "%s needs LLVM %d, but this hexc was built with LLVM %s", u->target->name,
		                 u->target->llvm, LLVM_VERSION_STRING);
		return false;
	}
	if (ptxgen_llvm_running() != ptxgen_llvm_major()) {
		diag_class_error(u->diag, DC_INTERNAL, nowhere,
		                 "hexc was built with LLVM %s, and runs with LLVM %d: install that one, or "
		                 "build hexc anew", LLVM_VERSION_STRING, ptxgen_llvm_running());
		return false;
	}
	s = NEW(u->arena, Session);
	why = setjmp(here);
	if (why) {
		session_close(s);
		u->arena->fail = outer;
		if (u->diag->nerror) /* it has been told why */
			return false;
		arena_fail(u->arena, (ArenaFail)why, u->arena->why);
	}
	u->arena->fail = &here;
	ok = emit_module(u, s, out) || emit_error(u, s);
	session_close(s);
	u->arena->fail = outer;
	return ok;
}
