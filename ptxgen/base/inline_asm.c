/* inline_asm.c - emits all inline assembly, and calls of the LLVM intrinsics that replace it.
 *
 * LLVM checks neither the text nor, before its printer aborts, the operand numbers. Both are checked here
 * against the constraint string, and test/ptxgen/test_inline_asm.c assembles every row with ptxas. */
#include "ptxgen/base/inline_asm_table.h"
#include "ptxgen/base/named_registers.h"
#include <string.h>

const AsmInfo asm_info[A_COUNT] = {
#define ASM(name, flags, features, text, cons) [A_##name] = { #name, flags, features, text, cons },
#include "ptxgen/base/inline_asm.def"
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
letter_type(Codegen *g, char c)
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
call_attribute(Codegen *g, LV call, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
	                         LLVMCreateEnumAttribute(g->ctx, kind, 0));
}

static LV
asm_call(Codegen *g, LLVMTypeRef type, const char *text, const char *cons, int flags, LV *in, int nin)
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

/* Instructions with LLVM intrinsics in all versions, by the prefix of their text. LLVM copies all operands
 * of inline assembly; if they are few, that takes no longer than an intrinsic call. */
#define MMA(shape, types) "mma.sync.aligned." shape ".row.col." types " "
#define NVVM_MMA(shape, types) "llvm.nvvm.mma." shape ".row.col." types
static const struct Known {
	const char *head, *intrinsic;
} known[KNOWN_COUNT] = {
	{ MMA("m16n8k8", "f32.f16.f16.f32"), NVVM_MMA("m16n8k8", "f32.f32") },
	{ MMA("m16n8k16", "f32.f16.f16.f32"), NVVM_MMA("m16n8k16", "f32.f32") },
	{ MMA("m16n8k16", "f16.f16.f16.f16"), NVVM_MMA("m16n8k16", "f16.f16") },
	{ MMA("m16n8k16", "f32.bf16.bf16.f32"), NVVM_MMA("m16n8k16", "bf16") },
	{ MMA("m16n8k8", "f32.tf32.tf32.f32"), NVVM_MMA("m16n8k8", "tf32") },
	{ MMA("m16n8k32", "s32.s8.s8.s32"), NVVM_MMA("m16n8k32", "s8") },
};

/* Returns the intrinsic for a text; NULL if there is none. */
static LV
known_find(Codegen *g, const char *text)
{
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		const char *name = known[i].intrinsic;
		unsigned id;

		if (strncmp(text, known[i].head, strlen(known[i].head)) != 0)
			continue;
		if (g->known[i])
			return g->known[i];
		id = LLVMLookupIntrinsicID(name, strlen(name));
		BUG_IF(g->a, id == 0);
		return g->known[i] = LLVMGetIntrinsicDeclaration(g->s->mod, id, NULL, 0);
	}
	return NULL;
}

static LV
as_type(Codegen *g, LV x, LLVMTypeRef type)
{
	return LLVMTypeOf(x) == type ? x : LLVMBuildBitCast(g->b, x, type, "");
}

/* Calls an intrinsic, whose types may be different ones with the same number of bits. */
static LV
known_call(Codegen *g, LV fn, int flags, LV *in, int nin)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(fn), arg[20];
	LV call;

	BUG_IF(g->a, LLVMCountParamTypes(type) != (unsigned)nin);
	LLVMGetParamTypes(type, arg);
	for (int i = 0; i < nin; i++)
		in[i] = as_type(g, in[i], arg[i]);
	call = LLVMBuildCall2(g->b, type, fn, in, (unsigned)nin, "");
	if (flags & AF_WARP)
		call_attribute(g, call, "convergent");
	return call;
}

/* ---- operands in named registers ------------------------------------------------------------- */

/* An instance with inputs named in the text if they are in named registers. */
typedef struct Named {
	const char *name[20]; /* by operand, outputs included; NULL: it stays an operand */
	bool some;
} Named;

/* Finds inputs that can be named: of instructions emitted as text, with registers of the right type. */
static Named
find_named(Codegen *g, const char *text, const char *cons, const LV *in, int no, int nin)
{
	Named n = { .some = false };
	const char *c = cons;

	if (g->fresh == g->ntaken || strstr(text, "${") || no + nin > 20)
		return n;
	for (int i = 0; i < no + nin; i++, c = strchr(c, ',') ? strchr(c, ',') + 1 : c) {
		const char *name = i >= no && (*c == 'f' || *c == 'r') ? file_name(g, in[i - no]) : NULL;

		n.name[i] = name;
		n.some = n.some || name;
	}
	return n;
}

/* Returns the text with names, and the remaining operands renumbered. */
static const char *
named_text(Codegen *g, const Named *n, const char *text)
{
	Text t = { .arena = g->a };
	int number[20], left = 0;

	for (int i = 0; i < 20; i++)
		number[i] = n->name[i] ? -1 : left++;
	for (const char *c = text; *c; c++) {
		int k = 0;

		if (*c != '$') {
			text_printf(&t, "%c", *c);
			continue;
		}
		while (c[1] >= '0' && c[1] <= '9')
			k = k * 10 + (*++c - '0');
		if (n->name[k])
			text_printf(&t, "%s", n->name[k]);
		else
			text_printf(&t, "$%d", number[k]);
	}
	return t.s;
}

static const char *
named_cons(Codegen *g, const Named *n, const char *cons)
{
	Text t = { .arena = g->a };

	text_printf(&t, "%s", "");
	for (int i = 0; *cons; i++) {
		size_t len = strcspn(cons, ",");

		if (!n->name[i])
			text_printf(&t, "%s%.*s", t.n ? "," : "", (int)len, cons);
		cons += len + (cons[len] == ',');
	}
	return t.s;
}

/* Emits the instance with names: it reads more than its operands, and is not moved. */
static void
emit_named(Codegen *g, const Named *n, const char *text, const char *cons, int flags, const LV *in, int nin,
           LV *out)
{
	LV left[20];
	int no, ni, count = 0;

	cons_count(cons, &no, &ni);
	for (int i = 0; i < nin; i++)
		if (!n->name[no + i])
			left[count++] = in[i];
	asm_emit(g, named_text(g, n, text), named_cons(g, n, cons), flags | AF_MEM, left, count, out);
}

/* ---- instances ------------------------------------------------------------------------------- */

void
asm_emit(Codegen *g, const char *text, const char *cons, int flags, const LV *in, int nin, LV *out)
{
	LLVMTypeRef ret[8], arg[20], type;
	LV val[20], call, fn;
	int no, ni, n = 0;
	Named named;

	BUG_IF(g->a, !cons_count(cons, &no, &ni) || ni != nin || no > 8 || ni > 20);
	BUG_IF(g->a, text_operands(text) >= no + ni);
	fn = known_find(g, text);
	named = find_named(g, text, cons, in, no, fn ? 0 : nin);
	if (named.some) {
		emit_named(g, &named, text, cons, flags, in, nin, out);
		return;
	}
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
	call = fn ? known_call(g, fn, flags, val, nin) : asm_call(g, type, text, cons, flags, val, nin);
	for (int i = 0; i < no; i++)
		out[i] = as_type(g, no == 1 ? call : LLVMBuildExtractValue(g->b, call, (unsigned)i, ""),
		                 ret[i]);
}

LV
asm_op(Codegen *g, AsmId id, LV x, LV y, LV z)
{
	const AsmInfo *i = &asm_info[id];
	LV in[3] = { x, y, z }, out[8] = { NULL };
	int no, ni;

	BUG_IF(g->a, (i->features & ~g->u->target->features) != 0);
	BUG_IF(g->a, !cons_count(i->cons, &no, &ni) || ni > 3);
	asm_emit(g, i->text, i->cons, i->flags, in, ni, out);
	return out[0];
}

/* ---- instruction rows ------------------------------------------------------------------------ */

/* Returns the bits of output k, from its constraint letter. */
static int
output_bits(const char *cons, int k)
{
	for (; k > 0; k--)
		cons = strchr(cons, ',') + 1;
	cons += strspn(cons, "=&");
	return *cons == 'h' ? 16 : *cons == 'l' || *cons == 'd' ? 64 : 32;
}

void
instr_predicated(Arena *a, const Instr *i, const char **text, const char **cons)
{
	Text t = { a, NULL, 0, 0 };
	int no = 0, ni = 0;

	cons_count(i->cons, &no, &ni);
	for (int k = 0; k < no; k++)
		text_printf(&t, "mov.b%d $%d, 0; ", output_bits(i->cons, k), k);
	text_printf(&t, "@$%d %s", no + ni, i->text);
	*text = t.s;
	*cons = arena_printf(a, "%s,b", i->cons);
}

static int
instr_flags(const Instr *i)
{
	switch (i->kind) {
	case IK_mma:
	case IK_mma_sp:
	case IK_mma_scaled: return AF_WARP;
	case IK_stmatrix:
	case IK_ldmatrix: return AF_MEM | AF_WARP;
	default: return AF_MEM;
	}
}

void
asm_load(Codegen *g, const Instr *i, const LV *in, LV inside, const uint32_t *outside, LV *out)
{
	LV all[3] = { in[0], in[1], inside };
	Text t = { .arena = g->a };
	int no, ni;

	BUG_IF(g->a, !i->text || !instr_on(i, g->u->target) || i->kind != IK_ld_global);
	cons_count(i->cons, &no, &ni);
	for (int k = 0; k < no && outside; k++)
		text_printf(&t, "mov.b%d $%d, 0x%x; ", output_bits(i->cons, k), k,
		            output_bits(i->cons, k) == 16 ? *outside & 0xffff : *outside);
	text_printf(&t, "@$%d %s", no + ni, i->text);
	asm_emit(g, t.s, arena_printf(g->a, "%s,b", i->cons), instr_flags(i), all, 3, out);
}

void
asm_instr(Codegen *g, const Instr *i, const LV *in, int nin, LV exec, LV *out)
{
	const char *text = i->text, *cons = i->cons;
	LV all[20];
	size_t row = (size_t)(i - instrs);

	BUG_IF(g->a, !i->text || !instr_on(i, g->u->target) || nin > 19 || row >= COUNT_OF(g->ptext));
	memcpy(all, in, sizeof *in * (size_t)nin);
	if (exec) {
		BUG_IF(g->a, i->kind == IK_mma || i->kind == IK_mma_sp || i->kind == IK_mma_scaled ||
		                     i->kind == IK_ldmatrix);
		if (!g->ptext[row])
			instr_predicated(g->a, i, &g->ptext[row], &g->pcons[row]);
		text = g->ptext[row];
		cons = g->pcons[row];
		all[nin++] = exec;
	}
	if (i->kind == IK_cp_async && !LLVMIsConstant(in[4])) {
		char *c = arena_strndup(g->a, cons, strlen(cons));

		/* "r,n,l,n,n": the number of bytes to read is in a register */
		c[8] = 'r';
		cons = c;
	}
	asm_emit(g, text, cons, instr_flags(i), all, nin, out);
}

const Instr *
lowering_instr(Codegen *g, const Op *o, InstrKind kind)
{
	const Instr *i = instr_of(o->lowering);

	BUG_IF(g->a, !i || i->kind != kind);
	return i;
}

const Instr *
mem_instr(Codegen *g, InstrKind kind, int bits)
{
	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == kind && i->bits == bits)
			return i;
	BUG_IF(g->a, true);
	return NULL;
}
