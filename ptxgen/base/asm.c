/* asm.c - the one place that makes inline assembly.
 *
 * LLVM checks neither the text nor, before its printer aborts, the operand numbers, so both are
 * checked here against the constraint string, and every row is assembled by ptxas in
 * test/ptxgen/test_asm.c. */
#include "ptxgen/base/asm_rows.h"
#include <string.h>

const AsmInfo asm_info[A_COUNT] = {
#define ASM(name, flags, features, text, cons) [A_##name] = { #name, flags, features, text, cons },
#include "ptxgen/base/asm.def"
};

bool
cons_count(const char *cons, int *nout, int *nin)
{
	*nout = *nin = 0;
	for (const char *c = cons; *c; c++) {
		bool out = *c == '=';

		if (out && *++c == '&')
			c++;
		if (!*c || !strchr("brhlfdn", *c) || (c[1] != ',' && c[1] != '\0'))
			return false;
		if (out && *nin)
			return false; /* outputs come first */
		*(out ? nout : nin) += 1;
		if (*++c == '\0')
			break;
	}
	return true;
}

int
text_operands(const char *text)
{
	int most = -1;

	for (const char *c = text; *c; c++) {
		int n = 0;

		if (*c != '$')
			continue;
		while (c[1] >= '0' && c[1] <= '9')
			n = n * 10 + (*++c - '0');
		most = n > most ? n : most;
	}
	return most;
}

static LLVMTypeRef
letter_type(Gen *g, char c)
{
	switch (c) {
	case 'f': return g->f32;
	case 'd': return g->f64;
	case 'h': return g->i16;
	case 'l': return g->i64;
	default: return g->i32;
	}
}

static void
call_attribute(Gen *g, LV call, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
	                         LLVMCreateEnumAttribute(g->ctx, kind, 0));
}

static LV
asm_call(Gen *g, LLVMTypeRef type, const char *text, const char *cons, int flags, LV *in, int nin)
{
	LV fn, call;

	if (flags & AF_MEM)
		cons = cons[0] ? arena_printf(g->a, "%s,~{memory}", cons) : "~{memory}";
	fn = LLVMGetInlineAsm(type, text, strlen(text), cons, strlen(cons), (flags & AF_MEM) != 0, 0,
	                      LLVMInlineAsmDialectATT, 0);
	call = LLVMBuildCall2(g->b, type, fn, in, (unsigned)nin, "");
	if (flags & AF_WARP)
		call_attribute(g, call, "convergent");
	if (!(flags & AF_MEM))
		call_attribute(g, call, "memory"); /* 0: none, so that equal calls are merged */
	return call;
}

/* Call assembly with the types that its constraints say.  `out` receives the outputs. */
static void
asm_emit(Gen *g, const char *text, const char *cons, int flags, const LV *in, int nin, LV *out)
{
	LLVMTypeRef ret[8], arg[20], type;
	LV val[20], call;
	int no, ni, n = 0;

	BUG_IF(g->a, !cons_count(cons, &no, &ni) || ni != nin || no > 8 || ni > 20);
	BUG_IF(g->a, text_operands(text) >= no + ni);
	for (const char *c = cons; n < no; c++)
		if (strchr("rhlfd", *c))
			ret[n++] = letter_type(g, *c);
	for (int i = 0; i < nin; i++) {
		val[i] = in[i];
		arg[i] = LLVMTypeOf(in[i]);
	}
	type = no == 0   ? g->nothing
	       : no == 1 ? ret[0]
	                 : LLVMStructTypeInContext(g->ctx, ret, (unsigned)no, 0);
	type = LLVMFunctionType(type, arg, (unsigned)nin, 0);
	call = asm_call(g, type, text, cons, flags, val, nin);
	for (int i = 0; i < no; i++)
		out[i] = no == 1 ? call : LLVMBuildExtractValue(g->b, call, (unsigned)i, "");
}

LV
asm_op(Gen *g, AsmId id, LV x, LV y, LV z)
{
	const AsmInfo *i = &asm_info[id];
	LV in[3] = { x, y, z }, out[8] = { NULL };
	int no, ni;

	BUG_IF(g->a, (i->features & ~g->u->target->features) != 0);
	BUG_IF(g->a, !cons_count(i->cons, &no, &ni) || ni > 3);
	asm_emit(g, i->text, i->cons, i->flags, in, ni, out);
	return out[0];
}

/* ---- instructions that LLVM knows ------------------------------------------------------------- */

/* LLVM's own name of an mma, from its text: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {.."; which
 * types it tells depends on those of A.  NULL: it has none, or not in all versions. */
static const char *
known_name(Gen *g, const Instr *i)
{
	static const char head[] = "mma.sync.aligned.", layout[] = ".row.col.";
	const char *shape = i->text + sizeof head - 1, *types = strstr(shape, layout);
	const char *a = dtype_info[i->ta].name;

	if (i->kind != IK_mma || i->ta != i->tb || i->k != 16 || i->m != 16)
		return NULL;
	BUG_IF(g->a, strncmp(i->text, head, sizeof head - 1) != 0 || !types);
	if (i->ta == D_f16)
		a = arena_printf(g->a, "%s.%s", dtype_info[i->acc].name, dtype_info[i->acc].name);
	else if (i->ta != D_bf16)
		return NULL;
	return arena_printf(g->a, "llvm.nvvm.mma.%.*s%s%s", (int)(types - shape), shape, layout, a);
}

/* The intrinsic that is the instruction, NULL: none.  It takes a third of the time that inline assembly does,
 * of which LLVM also copies all operands. */
static LV
known(Gen *g, const Instr *i, size_t row)
{
	const char *name;
	unsigned id;

	if (g->asked[row])
		return g->known[row];
	g->asked[row] = true;
	name = known_name(g, i);
	id = name ? LLVMLookupIntrinsicID(name, strlen(name)) : 0;
	if (id)
		g->known[row] = LLVMGetIntrinsicDeclaration(g->s->mod, id, NULL, 0);
	return g->known[row];
}

/* An instance by its intrinsic, which may have other types of the same bits than the row's constraints. */
static void
known_emit(Gen *g, LV fn, const Instr *i, const LV *in, int nin, LV *out)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(fn), arg[20];
	LV val[20], call;
	int no, ni;

	BUG_IF(g->a, !cons_count(i->cons, &no, &ni) || ni != nin || LLVMCountParamTypes(type) != (unsigned)nin);
	LLVMGetParamTypes(type, arg);
	for (int k = 0; k < nin; k++)
		val[k] = LLVMTypeOf(in[k]) == arg[k] ? in[k] : LLVMBuildBitCast(g->b, in[k], arg[k], "");
	call = LLVMBuildCall2(g->b, type, fn, val, (unsigned)nin, "");
	call_attribute(g, call, "convergent");
	for (int k = 0; k < no; k++) {
		LLVMTypeRef want = letter_type(g, i->cons[3 * k + 1]);

		out[k] = LLVMBuildExtractValue(g->b, call, (unsigned)k, "");
		if (LLVMTypeOf(out[k]) != want)
			out[k] = LLVMBuildBitCast(g->b, out[k], want, "");
	}
}

/* ---- instruction rows ------------------------------------------------------------------------ */

void
instr_predicated(Arena *a, const Instr *i, const char **text, const char **cons)
{
	Text t = { a, NULL, 0, 0 };
	int no = 0, ni = 0;

	cons_count(i->cons, &no, &ni);
	for (int k = 0; k < no; k++)
		text_printf(&t, "mov.b32 $%d, 0; ", k);
	text_printf(&t, "@$%d %s", no + ni, i->text);
	*text = t.s;
	*cons = arena_printf(a, "%s,b", i->cons);
}

static int
instr_flags(const Instr *i)
{
	switch (i->kind) {
	case IK_mma:
	case IK_mma_sp: return AF_WARP;
	case IK_stmatrix:
	case IK_ldmatrix: return AF_MEM | AF_WARP;
	default: return AF_MEM;
	}
}

void
asm_instr(Gen *g, const Instr *i, const LV *in, int nin, LV exec, LV *out)
{
	const char *text = i->text, *cons = i->cons;
	LV all[20];
	size_t row = (size_t)(i - instrs);

	BUG_IF(g->a, !i->text || !instr_on(i, g->u->target) || nin > 19 || row >= COUNT_OF(g->ptext));
	if (known(g, i, row)) {
		known_emit(g, known(g, i, row), i, in, nin, out);
		return;
	}
	memcpy(all, in, sizeof *in * (size_t)nin);
	if (exec) {
		BUG_IF(g->a, i->kind == IK_mma || i->kind == IK_mma_sp || i->kind == IK_ldmatrix);
		if (!g->ptext[row])
			instr_predicated(g->a, i, &g->ptext[row], &g->pcons[row]);
		text = g->ptext[row];
		cons = g->pcons[row];
		all[nin++] = exec;
	}
	if (i->kind == IK_cp_async && !LLVMIsConstant(in[4])) {
		char *c = arena_strndup(g->a, cons, strlen(cons));

		/* "r,n,l,n,n": the bytes to read come from a register */
		c[8] = 'r';
		cons = c;
	}
	asm_emit(g, text, cons, instr_flags(i), all, nin, out);
}

const Instr *
lowering_instr(Gen *g, const Op *o, InstrKind kind)
{
	const Instr *i = instr_of(o->lowering);

	BUG_IF(g->a, !i || i->kind != kind);
	return i;
}

const Instr *
mem_instr(Gen *g, InstrKind kind, int bits)
{
	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == kind && i->bits == bits)
			return i;
	BUG_IF(g->a, true);
	return NULL;
}
