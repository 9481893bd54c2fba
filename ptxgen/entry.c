/* entry.c - emits the function of a kernel: its parameters, thread ids and launch bounds. */
#include "ptxgen/base/named_registers.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/debug_lines.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"
#include <string.h>

enum { MAP_BYTES = 128, MAP_ALIGN = 64 };

static LLVMTypeRef
param_type(Codegen *g, const Param *p)
{
	if (p->kind == P_tensor)
		return g->ptr1;
	if (p->kind == P_size)
		return g->i64;
	if (dtype_info[p->val->type.dtype].bits >= 32)
		return word_type(g, p->val->type.dtype);
	return dtype_info[p->val->type.dtype].bits == 16 ? g->i16 : g->i8; /* bool: 0 or 1 */
}

/* Returns the word of a scalar parameter. */
static LV
param_word(Codegen *g, const Param *p, LV arg)
{
	DType d = p->val->type.dtype;
	LLVMTypeRef t = word_type(g, d);

	if (LLVMTypeOf(arg) == t)
		return arg;
	if (d == D_bool)
		return LLVMBuildICmp(g->b, LLVMIntNE, arg, LLVMConstInt(g->i8, 0, 0), "");
	return LLVMBuildZExt(g->b, arg, t, "");
}

static void
annotate(Codegen *g, const char *key, unsigned value)
{
	LLVMMetadataRef node[3] = {
		LLVMValueAsMetadata(g->fn),
		LLVMMDStringInContext2(g->ctx, key, strlen(key)),
		LLVMValueAsMetadata(LLVMConstInt(g->i32, value, 0)),
	};

	LLVMAddNamedMetadataOperand(g->s->mod, "nvvm.annotations",
	                            LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, node, 3)));
}

static void
attribute(Codegen *g, const char *key, const char *value)
{
	LLVMAddAttributeAtIndex(g->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
	                        LLVMCreateStringAttribute(g->ctx, key, (unsigned)strlen(key), value,
	                                                  (unsigned)strlen(value)));
}

static void
cluster_bounds(Codegen *g)
{
	const int *n = g->k->cluster;

	if (!REQNTID_METADATA) {
		attribute(g, "nvvm.cluster_dim", arena_printf(g->a, "%d,%d,%d", n[0], n[1], n[2]));
		return;
	}
	for (int d = 0; d < 3; d++)
		annotate(g, arena_printf(g->a, "cluster_dim_%c", "xyz"[d]), (unsigned)n[d]);
}

/* Sets one-dimensional block sizes: a known size tells ptxas the number of registers available. */
static void
launch_bounds(Codegen *g)
{
	unsigned n = (unsigned)kernel_warps(g->k) * WARP_SIZE, registers = (unsigned)g->k->launch_registers;

	if (cluster_blocks(g->k) > 1)
		cluster_bounds(g);
	if (REQNTID_METADATA) {
		annotate(g, "reqntidx", n);
		annotate(g, "reqntidy", 1);
		annotate(g, "reqntidz", 1);
		if (registers)
			annotate(g, "maxnreg", registers);
		return;
	}
	attribute(g, "nvvm.reqntid", arena_printf(g->a, "%u,1,1", n));
	if (registers)
		attribute(g, "nvvm.maxnreg", arena_printf(g->a, "%u", registers));
}

/* Declares a tensor map: 128 bytes encoded by the host, after the program's parameters. */
static void
map_param(Codegen *g, int i)
{
	LLVMAttributeIndex at = (LLVMAttributeIndex)(1 + g->k->nparam + i);
	unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);

	LLVMAddAttributeAtIndex(g->fn, at,
	                        LLVMCreateTypeAttribute(g->ctx, byval, LLVMArrayType2(g->i8, MAP_BYTES)));
	LLVMAddAttributeAtIndex(g->fn, at,
	                        LLVMCreateEnumAttribute(g->ctx, LLVMGetEnumAttributeKindForName("align", 5),
	                                                MAP_ALIGN));
}

static void
gen_types(Codegen *g)
{
	LLVMContextRef c = g->ctx;

	g->i1 = LLVMInt1TypeInContext(c);
	g->i8 = LLVMInt8TypeInContext(c);
	g->i16 = LLVMInt16TypeInContext(c);
	g->i32 = LLVMInt32TypeInContext(c);
	g->i64 = LLVMInt64TypeInContext(c);
	g->f16 = LLVMHalfTypeInContext(c);
	g->f32 = LLVMFloatTypeInContext(c);
	g->f64 = LLVMDoubleTypeInContext(c);
	g->h2 = LLVMVectorType(g->f16, 2);
	g->ptr1 = LLVMPointerTypeInContext(c, 1);
	g->nothing = LLVMVoidTypeInContext(c);
}

/* Creates the function and its arguments; tensors have no tile, they are accessed through views. */
static void
gen_function(Codegen *g)
{
	const Kernel *k = g->k;
	LLVMTypeRef *t = arena_alloc(g->a, sizeof *t * (size_t)(k->nparam + k->nmap + 1));
	unsigned align = LLVMGetEnumAttributeKindForName("align", 5);

	for (int i = 0; i < k->nparam; i++)
		t[i] = param_type(g, &k->param[i]);
	for (int i = 0; i < k->nmap; i++)
		t[k->nparam + i] = LLVMPointerTypeInContext(g->ctx, 0);
	g->fn = LLVMAddFunction(g->s->mod, k->name,
	                        LLVMFunctionType(g->nothing, t, (unsigned)(k->nparam + k->nmap), 0));
	LLVMSetFunctionCallConv(g->fn, CALL_PTX_KERNEL);
	for (int i = 0; i < k->nparam; i++) {
		uint64_t bytes;

		if (k->param[i].kind != P_tensor)
			continue;
		bytes = (uint64_t)tensor_align(k, &k->param[i]);
		LLVMAddAttributeAtIndex(g->fn, (LLVMAttributeIndex)(i + 1),
		                        LLVMCreateEnumAttribute(g->ctx, align, bytes));
	}
	for (int i = 0; i < k->nmap; i++)
		map_param(g, i);
	launch_bounds(g);
}

static void
gen_params(Codegen *g)
{
	Kernel *k = g->k;

	g->arg = lv_array(g, k->nparam);
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];
		LV arg = LLVMGetParam(g->fn, (unsigned)i);

		if (p->kind == P_tensor)
			g->arg[i] = LLVMBuildPtrToInt(g->pre, arg, g->i64, "");
		else
			tile_new(g, p->val)->word[0] = param_word(g, p, arg);
	}
}

bool
gen_kernel(Session *s, Unit *u, Kernel *k)
{
	Codegen *g = NEW(u->arena, Codegen);
	LLVMBasicBlockRef entry, body;

	if (strcmp(k->name, "WARP_SZ") == 0) {
		diag_error(u->diag, k->src,
		           "PTX keeps the name WARP_SZ for itself: call the kernel otherwise");
		return false;
	}
	if (cluster_blocks(k) > 1 && !(u->target->features & T_MULTICAST)) {
		diag_class_error(u->diag, DC_ARCH, k->src,
		                 "clusters of blocks need a target that has them, as %s: --arch sm_90a",
		                 targets_with(u->arena, T_MULTICAST));
		return false;
	}
	g->u = u;
	g->k = k;
	g->a = u->arena;
	g->s = s;
	g->ctx = s->ctx;
	g->b = s->b;
	g->pre = s->pre;
	g->tile = arena_alloc(g->a, sizeof *g->tile * ((size_t)k->nval + 1));
	gen_types(g);
	gen_function(g);
	lines_begin(g);
	entry = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	body = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	LLVMPositionBuilderAtEnd(g->pre, entry);
	LLVMPositionBuilderAtEnd(g->b, body);
	g->tid = read_sreg(g, "tid.x");
	g->lane = LLVMBuildAnd(g->pre, g->tid, const_i32(g, WARP_SIZE - 1), "");
	g->warps = kernel_warps(k);
	g->warp = g->warps == 1 ? const_i32(g, 0) : LLVMBuildLShr(g->pre, g->tid, const_i32(g, 5), "");
	file_plan(g);
	gen_params(g);
	facts_keep(k);
	gen_block(g, k->body);
	gen_flush(g, NULL);
	facts_drop(k);
	file_end(g);
	LLVMBuildRetVoid(g->b);
	LLVMBuildBr(g->pre, body);
	return u->diag->nerror == 0;
}
