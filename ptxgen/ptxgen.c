/* ptxgen.c - compiles a unit to PTX text.
 *
 * The arena leaves by longjmp when memory or the budget runs out. All frames between ptxgen_emit and that
 * jump are ours (LLVM calls back only for diagnostics, which do not use the arena), so the only cleanup is
 * to close the LLVM session. */
#include "ptxgen/ptxgen.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "ptxgen/base/scheduling_barrier.h"
#include "ptxgen/base/debug_lines.h"
#include "ptxgen/base/ptx_entry.h"
#include "infer/core/cost_constants.h"
#include "ptxgen/emit.h"
#include "ptxgen/reg_pressure.h"
#include "taskmap/support/background_thread.h"
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { POLL_MS = 50 };

struct PtxGen {
	void *(*realloc)(void *user, void *p, size_t n);
	void *user;
	Session session;
	/* LLVM's part of a compilation: from IR to text */
	Aside aside;
	bool left;        /* it is still running for a cancelled compilation */
	atomic_bool stop; /* its result is not needed */
	double ms_opt, ms_emit;
};

int
ptxgen_llvm_major(void)
{
	return LLVM_VERSION_MAJOR;
}

int
ptxgen_llvm_version(void)
{
	unsigned major = 0, minor = 0, patch = 0;

	LLVMGetVersion(&major, &minor, &patch);
	return (int)(major * 10000 + minor * 100 + patch);
}

int
ptxgen_llvm_running(void)
{
	return ptxgen_llvm_version() / 10000;
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

/* Returns the .version that an op needs; 0: any. */
static int
op_version(const Op *o, const Target *t)
{
	const Instr *red = instr_of(o->lowering);

	if (o->code == O_dot && dot_is_sparse(o))
		return PTX_SPARSE;
	if (o->code == O_wgmma && mma_a(o)->type.dtype != mma_b(o)->type.dtype)
		return PTX_MIXED;
	if (o->code == O_store && red && red->kind == IK_red && red->bits >= 64 && red->features & T_RED_BF16)
		return PTX_RED_VECTOR;
	for (int j = 0; j < o->nout && t->features & T_FP8; j++)
		if (dtype_info[o->out[j]->type.dtype].round == R_sat)
			return PTX_FP8;
	return 0;
}

/* Returns the .version that the unit needs: the target's own, so that old drivers accept it, or a newer one
 * that an op needs. */
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

/* Around wgmma addresses and counters are most of the code, and the level above the lowest halves it: for
 * f16 256 x 512 x 512, 18,068 simulated warp instructions instead of 24,720, in 4 ms instead of 2; SASS is
 * the same. */
static LLVMCodeGenOptLevel
code_level(const Unit *u)
{
	OpWalk w;

	for (int i = 0; i < u->nkernel; i++)
		for (Op *o = walk_first(&w, u->kernel[i]->body); o; o = walk_next(&w))
			if (o->code == O_wgmma)
				return LLVMCodeGenLevelLess;
	return LLVMCodeGenLevelNone;
}

/* Uses only the session: it may run on another thread. */
static void
finish(void *user)
{
	PtxGen *g = user;
	Session *s = &g->session;
	double t0 = now_ms(), t1;

	if (!session_verify(s))
		return;
	for (size_t i = 0; !g->stop && session_optimize(s, i); i++)
		;
	if (s->nerror || g->stop)
		return;
	session_split(s);
	t1 = now_ms();
	if (!g->stop)
		session_emit(s);
	g->ms_opt = t1 - t0;
	g->ms_emit = now_ms() - t1;
}

/* Waits until the last compilation's LLVM thread has ended. */
static void
settle(PtxGen *g, Arena *a)
{
	while (g->left && !aside_ended(&g->aside, POLL_MS))
		arena_poll(a);
	if (g->left)
		session_close(&g->session);
	g->left = false;
}

static void
finish_aside(PtxGen *g, Arena *a, bool stay)
{
	g->stop = false;
	arena_poll(a);
	if (!session_has_room(&g->session))
		arena_fail(a, ARENA_NOMEM, NULL);
	if (!a->cancel || stay || !aside_start(&g->aside, finish, g)) {
		finish(g);
		return;
	}
	g->left = true;
	while (!aside_ended(&g->aside, POLL_MS))
		arena_poll(a);
	g->left = false;
	arena_poll(a);
}

/* Inserts a directive after a kernel's parameters, unless it already has one of that name. */
static void
put_directive(Unit *u, const Kernel *k, PtxOut *out, const char *name, const char *value)
{
	PtxEntry e;

	if (!ptx_entry_find(u->arena, out->text, k->name, &e))
		return;
	out->text = ptx_add_directive(u->arena, out->text, &e, name, value);
	out->len = strlen(out->text);
}

/* Adds the cluster size, which LLVM 19 does not print. */
static void
ask_for_cluster(Unit *u, const Kernel *k, PtxOut *out)
{
	const int *n = k->cluster;

	if (cluster_blocks(k) > 1)
		put_directive(u, k, out, ".reqnctapercluster",
		              arena_printf(u->arena, "%d, %d, %d", n[0], n[1], n[2]));
}

/* Warns about spills. Even the best candidate may spill; the tiles are then too large. `spilled`: bytes as
 * reported by the assembler, which is more reliable; -1: it was not run. */
static void
warn_spill(Unit *u, const Kernel *k, Pressure p, int spilled)
{
	const char *fix = k->warps < BLOCK_WARPS ? arena_printf(u->arena, ", or more WARPS than %d", k->warps)
	                                         : "";

	if (spilled > 0)
		diag_warn(u->diag, DW_spill, k->src,
		          "kernel %s: %d bytes of each lane go to memory and back, as the assembler says: "
		          "use smaller tiles%s",
		          k->name, spilled, fix);
	if (spilled >= 0 || p.least <= p.limit)
		return;
	diag_warn(u->diag, DW_spill, k->src,
	          "kernel %s needs about %d registers of a lane at once, of which a lane has %d: at least %d "
	          "bytes of each lane go to memory and back: use smaller tiles%s",
	          k->name, p.least, p.limit, (p.least - p.limit) * 4, fix);
}

/* Returns the register pressure of k. If it exceeds the limit, scheduling barriers are removed, since ptxas
 * delays loads in an order of its own; and .maxnreg raises the limit, since without it ptxas may use 32
 * registers and spill twice as much. */
static Pressure
pressure_of(Unit *u, const Kernel *k, PtxOut *out)
{
	Pressure p = ptx_pressure(u->arena, u->target, out->text, k->name);

	if (p.least <= p.limit)
		return p;
	out->text = apart_undone(u->arena, out->text, k->name);
	p = ptx_pressure(u->arena, u->target, out->text, k->name);
	if (p.least > p.limit)
		put_directive(u, k, out, ".maxnreg", arena_printf(u->arena, "%d", p.limit));
	return p;
}

/* Estimates the registers/thread of the PTX. */
static void
count_registers(Unit *u, PtxOut *out)
{
	int *registers = NEWN(u->arena, int, u->nkernel);

	for (int i = 0; i < u->nkernel; i++) {
		Pressure p = pressure_of(u, u->kernel[i], out);

		registers[i] = p.used;
		if (diag_wants(u->diag, DW_spill))
			warn_spill(u, u->kernel[i], p, u->spilled ? u->spilled[i] : -1);
	}
	out->registers = registers;
}

static bool
emit_module(PtxGen *g, Unit *u, PtxOut *out)
{
	Session *s = &g->session;
	double t0 = now_ms();

	s->made = 0;
	if (!session_has_room(s))
		arena_fail(u->arena, ARENA_NOMEM, NULL);
	if (!session_open(s, u->target, ptx_version(u), code_level(u), u->file ? u->file : "hexc",
	                  u->lineinfo ? lines_module(u) : NULL))
		return false;
	for (int i = 0; i < u->nkernel; i++) {
		if (!gen_kernel(s, u, u->kernel[i]))
			return false;
		arena_poll(u->arena);
	}
	out->ms_build = now_ms() - t0;
	t0 = now_ms();
	finish_aside(g, u->arena, u->stay);
	if (s->nerror)
		return false;
	out->ms_opt = g->ms_opt;
	out->ms_emit = g->ms_emit;
	out->ms_wait = now_ms() - t0 - g->ms_opt - g->ms_emit;
	out->len = LLVMGetBufferSize(s->ptx);
	out->text = arena_strndup(u->arena, LLVMGetBufferStart(s->ptx), out->len);
	for (int i = 0; i < u->nkernel; i++)
		ask_for_cluster(u, u->kernel[i], out);
	t0 = now_ms();
	count_registers(u, out);
	out->ms_registers = now_ms() - t0;
	return true;
}

PtxGen *
ptxgen_new(void *(*fn)(void *user, void *p, size_t n), void *user)
{
	PtxGen *g = fn(user, NULL, sizeof *g);

	if (!g)
		return NULL;
	memset(g, 0, sizeof *g);
	g->realloc = fn;
	g->user = user;
	return g;
}

void
ptxgen_free(PtxGen *g)
{
	if (!g)
		return;
	if (g->left) {
		aside_ended(&g->aside, -1);
		session_close(&g->session);
	}
	g->realloc(g->user, g, 0);
}

bool
ptxgen_emit(PtxGen *g, Unit *u, PtxOut *out)
{
	Src nowhere = { 0, 0, 1 };
	jmp_buf *outer = u->arena->fail, here;
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
		                 "rebuild hexc", LLVM_VERSION_STRING, ptxgen_llvm_running());
		return false;
	}
	settle(g, u->arena);
	why = setjmp(here);
	if (why) {
		g->stop = true;
		if (!g->left)
			session_close(&g->session);
		u->arena->fail = outer;
		if (u->diag->nerror) /* the reason has been reported */
			return false;
		arena_fail(u->arena, (ArenaFail)why, u->arena->why);
	}
	u->arena->fail = &here;
	ok = emit_module(g, u, out) || emit_error(u, &g->session);
	out->ms_close = now_ms();
	session_close(&g->session);
	out->ms_close = now_ms() - out->ms_close;
	u->arena->fail = outer;
	return ok;
}
