/* copy.c - emits copies from global to shared memory: by cp.async, or through registers; tma_copy.c has TMA
 * copies. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/bitstream.h"
#include "ptxgen/memory/address.h"
#include "ptxgen/memory/load.h"
#include "ptxgen/memory/mbarrier.h"

enum { BATCH = 8 }; /* loads in flight before their stores */

typedef struct CopyPlan {
	Access *src, *dst;
	const Layout *map;
	int vec, bits;     /* elements per access; bits of each of its pieces */
	int pieces;        /* dtype_pieces */
	bool single;       /* elements are copied one by one */
	LV exec;           /* lanes that copy; NULL: all */
} CopyPlan;

/* Returns the words of a piece. */
static int
words_of(const CopyPlan *p)
{
	return p->bits <= 32 ? 1 : p->bits / 32;
}

static void
copy_coord(const CopyPlan *p, int i, int64_t *index)
{
	Coord at = { { 0 } };

	at.at[AX_reg] = (int64_t)i * p->vec;
	layout_index(p->map, &at, index);
}

/* Returns the lanes for which access i is inside the destination tile; NULL: all. */
static LV
copy_exec(Codegen *g, const CopyPlan *p, const int64_t *index)
{
	LV inside = access_inside(p->dst, index);

	return p->exec && inside ? LLVMBuildAnd(g->b, p->exec, inside, "") : inside ? inside : p->exec;
}

/* Drops the source's check where the destination ends at the same place: what is not written needs no
 * zeros. */
static void
ends_together(CopyPlan *p)
{
	for (int d = 0; d < p->src->rank; d++)
		if (p->src->within[d] == p->dst->within[d])
			p->src->within[d] = 0;
}

static void
copy_async(Codegen *g, const CopyPlan *p, const Instr *inst, int i)
{
	int64_t index[DIM_MAX] = { 0 }, to, from;
	LV in[5], inside, bytes = const_i32(g, p->bits / 8);

	copy_coord(p, i, index);
	access_at(p->dst, index, &in[0], &to, NULL);
	access_at(p->src, index, &in[2], &from, NULL);
	inside = access_inside(p->src, index);
	in[4] = inside ? asm_op(g, A_bytes_if, bytes, inside, NULL) : bytes;
	for (int k = 0; k < p->pieces; k++) {
		in[1] = const_i32(g, to + (int64_t)k * p->bits / 8);
		in[3] = const_i32(g, from + (int64_t)k * p->bits / 8);
		asm_instr(g, inst, in, 5, copy_exec(g, p, index), NULL);
	}
}

/* Reads the elements of access i, each from its own bits, as a stream of words. */
static void
copy_single(Codegen *g, const CopyPlan *p, int i, LV *stream)
{
	const Instr *byte = mem_instr(g, IK_ld_global, 8);
	int bits = dtype_info[p->src->dtype].bits;

	for (int w = 0; w * 32 < p->vec * bits; w++)
		stream[w] = const_i32(g, 0);
	for (int e = 0; e < p->vec; e++) {
		int64_t index[DIM_MAX] = { 0 };
		Coord from = { { 0 } };
		int at = e * bits % 32;
		LV *to = &stream[e * bits / 32], x;

		from.at[AX_reg] = (int64_t)i * p->vec + e;
		layout_index(p->map, &from, index);
		x = load_bits(g, p->src, byte, index);
		x = LLVMBuildAnd(g->b, x, const_i32(g, ((int64_t)1 << bits) - 1), "");
		if (at + bits > 32)
			to[1] = LLVMBuildLShr(g->b, x, const_i32(g, 32 - at), "");
		to[0] = LLVMBuildOr(g->b, to[0], LLVMBuildShl(g->b, x, const_i32(g, at), ""), "");
	}
}

static void
copy_load(Codegen *g, const CopyPlan *p, int i, LV *word)
{
	int64_t index[DIM_MAX] = { 0 }, imm;
	LV in[2], inside, stream[PIECES_MAX];

	if (p->single) {
		copy_single(g, p, i, stream);
		for (int k = 0; k < p->pieces; k++)
			word[k] = stream_part(g, p->bits, stream, k);
		return;
	}
	copy_coord(p, i, index);
	access_at(p->src, index, &in[0], &imm, NULL);
	inside = access_inside(p->src, index);
	for (int k = 0; k < p->pieces; k++) {
		in[1] = const_i32(g, imm + (int64_t)k * p->bits / 8);
		asm_instr(g, mem_instr(g, IK_ld_global, p->bits), in, 2, inside, word + k * words_of(p));
	}
}

static void
copy_store(Codegen *g, const CopyPlan *p, int i, const LV *word)
{
	int64_t index[DIM_MAX] = { 0 }, imm;
	int n = words_of(p);
	LV in[6];

	copy_coord(p, i, index);
	access_at(p->dst, index, &in[n], &imm, NULL);
	for (int k = 0; k < p->pieces; k++) {
		for (int w = 0; w < n; w++)
			in[w] = word[k * n + w];
		in[n + 1] = const_i32(g, imm + (int64_t)k * p->bits / 8);
		asm_instr(g, mem_instr(g, IK_st_shared, p->bits), in, n + 2,
		          copy_exec(g, p, index), NULL);
	}
}

static void
copy_registers(Codegen *g, const CopyPlan *p, int n)
{
	LV word[BATCH][PIECES_MAX * 4];

	for (int i = 0; i < n; i += BATCH) {
		for (int j = 0; j < BATCH && i + j < n; j++)
			copy_load(g, p, i + j, word[j]);
		for (int j = 0; j < BATCH && i + j < n; j++)
			copy_store(g, p, i + j, word[j]);
	}
}

void
emit_copy(Codegen *g, Op *o)
{
	const Instr *inst = instr_of(o->lowering);
	DType d = copy_source(o)->type.dtype;
	CopyPlan p = { .pieces = dtype_pieces(d) };
	int n;

	if (instr_is_box(inst)) {
		copy_box(g, o);
		return;
	}
	BUG_IF(g->a, !inst || !op_access(o)->map);
	BUG_IF(g->a, inst->kind != IK_ld_st && inst->kind != IK_ld_bits &&
	                     !(inst->kind == IK_cp_async && IMM(o, async)));
	p.single = inst->kind == IK_ld_bits;
	p.map = op_access(o)->map;
	p.vec = op_access(o)->vec;
	p.bits = inst->bits;
	BUG_IF(g->a, p.vec * dtype_grain(d) != p.bits);
	n = (int)layout_cosize(p.map, AX_reg);
	BUG_IF(g->a, n % p.vec);
	n /= p.vec;
	p.src = access_new(g, p.map, copy_source(o));
	p.dst = access_new(g, p.map, copy_dest(o));
	p.exec = lane_first(g, p.map);
	if (inst->kind == IK_cp_async)
		ends_together(&p);
	if (g->guard)
		access_guard(p.src, copy_source(o)->def, g->guard);
	if (n > 3) {
		access_join_edges(p.src);
		access_pin_edges(p.src);
	}
	if (!g->guard) /* guarded copies fill a buffer that is not read now */
		gen_flush(g, p.dst->root);
	if (inst->kind != IK_cp_async) {
		copy_registers(g, &p, n);
		return;
	}
	for (int i = 0; i < n; i++)
		copy_async(g, &p, inst, i);
}

/* Views are resolved at their uses. */
void
emit_view(Codegen *g, Op *o)
{
	(void)g;
	(void)o;
}

void
emit_alloc(Codegen *g, Op *o)
{
	(void)g;
	(void)o;
}
