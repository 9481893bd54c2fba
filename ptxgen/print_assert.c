/* print_assert.c - emits print and assert as calls of the device runtime's vprintf and __assertfail.
 *
 * One thread of the block executes them, so that every print is one line and lines are in program order.
 * vprintf takes the format and the address of the arguments, each naturally aligned, floats as double (CUDA
 * C++ Programming Guide, "Formatted Output"; PTX interoperability, "System Calls"). */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include <string.h>

/* Returns the generic address of a text. */
static LV
text_at(Codegen *g, const char *s)
{
	LV text = LLVMConstStringInContext2(g->ctx, s, strlen(s), 0);
	LV v = LLVMAddGlobalInAddressSpace(g->s->mod, LLVMTypeOf(text), "hexc_text", 1);

	LLVMSetInitializer(v, text);
	LLVMSetGlobalConstant(v, 1);
	LLVMSetLinkage(v, LLVMInternalLinkage);
	return LLVMConstAddrSpaceCast(v, LLVMPointerTypeInContext(g->ctx, 0));
}

static LV
call(Codegen *g, const char *name, LLVMTypeRef result, LV *arg, unsigned n)
{
	LLVMTypeRef t[5], fn;
	LV f = LLVMGetNamedFunction(g->s->mod, name);

	for (unsigned i = 0; i < n; i++)
		t[i] = LLVMTypeOf(arg[i]);
	fn = LLVMFunctionType(result, t, n, 0);
	if (!f)
		f = LLVMAddFunction(g->s->mod, name, fn);
	return LLVMBuildCall2(g->b, fn, f, arg, n, "");
}

/* Executes what follows where `cond` is true; returns the block where both paths reconverge. */
static LLVMBasicBlockRef
branch(Codegen *g, LV cond)
{
	LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	LLVMBasicBlockRef join = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");

	LLVMBuildCondBr(g->b, cond, then, join);
	LLVMPositionBuilderAtEnd(g->b, then);
	return join;
}

static void
meet(Codegen *g, LLVMBasicBlockRef join)
{
	LLVMBuildBr(g->b, join);
	LLVMPositionBuilderAtEnd(g->b, join);
	asm_op(g, A_warp, NULL, NULL, NULL);
}

static LV
one_thread(Codegen *g)
{
	return LLVMBuildICmp(g->pre, LLVMIntEQ, g->tid, const_i32(g, 0), "");
}

/* ---- print ----------------------------------------------------------------------------------- */

static const char *
format_of(Codegen *g, const Op *o)
{
	Text t = { .arena = g->a };
	size_t at = 0;
	int in = 0;
	Piece p;
	bool bad;

	while (message_next(o->text, &at, &p, &bad)) {
		if (!p.text)
			text_printf(&t, "%s", message_format(o->in[in++]->type.dtype));
		for (size_t i = 0; p.text && i < p.n; i++)
			text_add(&t, p.text[i] == '%' ? "%%" : p.text + i, p.text[i] == '%' ? 2 : 1);
	}
	text_printf(&t, "\n");
	return t.s;
}

void
emit_print(Codegen *g, Op *o)
{
	LLVMTypeRef *type = arena_alloc(g->a, sizeof *type * (size_t)(o->nin + 1)), args;
	LV *x = lv_array(g, o->nin), arg[2], room = NULL;
	LLVMBasicBlockRef join;

	for (int i = 0; i < o->nin; i++) {
		x[i] = scalar_get(g, o->in[i]);
		if (o->in[i]->type.dtype == D_f32)
			x[i] = LLVMBuildFPExt(g->b, x[i], g->f64, "");
		type[i] = LLVMTypeOf(x[i]);
	}
	args = LLVMStructTypeInContext(g->ctx, type, (unsigned)o->nin, 0);
	if (o->nin)
		room = LLVMBuildAlloca(g->pre, args, "");
	join = branch(g, one_thread(g));
	for (int i = 0; i < o->nin; i++)
		LLVMBuildStore(g->b, x[i], LLVMBuildStructGEP2(g->b, args, room, (unsigned)i, ""));
	arg[0] = text_at(g, format_of(g, o));
	arg[1] = room ? room : LLVMConstNull(LLVMTypeOf(arg[0]));
	call(g, "vprintf", g->i32, arg, 2);
	meet(g, join);
}

/* ---- assert ---------------------------------------------------------------------------------- */

void
emit_assert(Codegen *g, Op *o)
{
	LV bad = LLVMBuildNot(g->b, scalar_get(g, assert_cond(o)), ""), arg[5];
	LLVMBasicBlockRef join = branch(g, LLVMBuildAnd(g->b, bad, one_thread(g), ""));

	arg[0] = text_at(g, o->text);
	arg[1] = text_at(g, g->u->file ? g->u->file : "");
	arg[2] = const_i32(g, o->src.line);
	arg[3] = text_at(g, g->k->name);
	arg[4] = const_i64(g, 1); /* bytes per character */
	call(g, "__assertfail", g->nothing, arg, 5);
	meet(g, join);
}
