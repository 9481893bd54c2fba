/* store.c - emits stores and atomic updates from registers to global and shared memory. */
#include "ptxgen/memory/store.h"
#include "hexc/ir/memory_effects.h"
#include "ptxgen/base/scheduling_barrier.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/bitstream.h"
#include "ptxgen/memory/address.h"
#include "ptxgen/memory/ldmatrix.h"

/* Maxima per access: 16 bytes of bits, or one word set per piece. */
enum { ACCESS_ELEMS = 128, ACCESS_WORDS = 4 * PIECES_MAX };

/* Returns the word of the instance that starts at element e: elements e.. of registers reg[]. */
static LV
raw_word(Codegen *g, Val *v, const int *reg, int e, int n)
{
	Tile *t = tile_of(g, v);
	int bits = dtype_info[t->dtype].bits, pos[WORD_ELEMS];
	LV word[WORD_ELEMS];

	for (int i = 0; i < n; i++) {
		word[i] = word_get(g, v, reg[e + i] / t->epw);
		pos[i] = reg[e + i] % t->epw;
		if (t->dtype == D_bool)
			word[i] = LLVMBuildZExt(g->b, word[i], g->i32, "");
	}
	if (bits >= 32)
		return as_i32(g, word[0]);
	return bits_gather(g, t->dtype == D_bool ? D_u8 : t->dtype, word, pos, n);
}

/* Packs elements that straddle bytes: gathers them in slots, then converts to a stream. */
static int
store_stream(Codegen *g, Val *v, const int *reg, int vec, LV *out)
{
	int epw = tile_of(g, v)->epw;
	LV word[ACCESS_ELEMS / 4];

	for (int e = 0; e < vec; e += epw)
		word[e / epw] = raw_word(g, v, reg, e, epw < vec - e ? epw : vec - e);
	return stream_pack(g, v->type.dtype, word, vec, out);
}

/* Computes the 32-bit words of vec elements in registers reg[]; returns their number. */
static int
store_words(Codegen *g, Val *v, const int *reg, int vec, LV *out)
{
	Tile *t = tile_of(g, v);
	int bits = dtype_info[t->dtype].bits, n = 0;
	int step = bits >= 32 ? 1 : 32 / bits;

	if (dtype_pieces(t->dtype) > 1)
		return store_stream(g, v, reg, vec, out);
	for (int e = 0; e < vec; e += step) {
		if (bits == 64) {
			split64(g, word_get(g, v, reg[e]), out + n);
			n += 2;
		} else {
			out[n++] = raw_word(g, v, reg, e, step < vec - e ? step : vec - e);
		}
	}
	return n;
}

/* As store_words, with one byte per element; the upper bits of the byte are unspecified. */
static int
store_bytes(Codegen *g, Val *v, const int *reg, int vec, LV *out)
{
	Tile *t = tile_of(g, v);
	int slot = dtype_slot_bits(t->dtype), n = 0;

	for (int e = 0; e < vec; e += 4) {
		LV word[4];
		int pos[4] = { 0 }, k = 0;

		for (; k < 4 && e + k < vec; k++) {
			int at = reg[e + k] % t->epw;

			word[k] = word_get(g, v, reg[e + k] / t->epw);
			if (at)
				word[k] = LLVMBuildLShr(g->b, word[k], const_i32(g, slot * at), "");
		}
		out[n++] = bits_gather(g, D_u8, word, pos, k);
	}
	return n;
}

/* Emits the instructions of an access of elements that straddle bytes: parts of the stream of n words,
 * which the address follows. */
static void
store_pieces(Codegen *g, const StorePlan *p, LV *in, int n, int64_t imm, LV exec)
{
	int bits = p->inst->bits, each = bits <= 32 ? 1 : bits / 32;
	LV one[6], base = in[n];

	for (int k = 0; k < dtype_pieces(p->x->dtype); k++) {
		for (int w = 0; w < each; w++)
			one[w] = bits < 32 ? stream_part(g, bits, in, k) : in[k * each + w];
		one[each] = base;
		one[each + 1] = const_i32(g, imm + (int64_t)k * bits / 8);
		asm_instr(g, p->inst, one, each + 2, exec, NULL);
	}
}

static LV
atom_operand(Codegen *g, int bits, const LV *word)
{
	if (bits == 64)
		return join64(g, word[0], word[1]);
	return bits == 16 ? LLVMBuildTrunc(g->b, word[0], g->i16, "") : as_i32(g, word[0]);
}

/* Stores the old value to shared memory; for out-of-bounds elements it is 0. */
static void
emit_atom(Codegen *g, const StorePlan *p, const int64_t *index, int reg, const LV *word, LV exec)
{
	int bits = p->inst->bits, words = bits == 64 ? 2 : 1, n = 0;
	LV in[5], out[1], base, kept[4], other[2];
	int64_t imm;

	in[n++] = atom_operand(g, bits, word);
	if (p->compared) {
		store_words(g, p->compared, &reg, 1, other);
		in[n++] = atom_operand(g, bits, other);
	}
	in[n++] = word[words];
	in[n++] = word[words + 1];
	if (p->inst->text)
		asm_instr(g, p->inst, in, n, exec, out);
	else
		emit_tries(g, p->inst, in, exec, out);
	if (bits == 64)
		split64(g, out[0], kept);
	else
		kept[0] = bits == 16 ? LLVMBuildZExt(g->b, out[0], g->i32, "") : out[0];
	access_at(p->found, index, &base, &imm, NULL);
	kept[words] = base;
	kept[words + 1] = const_i32(g, imm);
	asm_instr(g, mem_instr(g, IK_st_shared, bits), kept, words + 2, p->exec, NULL);
}

/* Emits one access: stores registers m.. of the map; `more` is added to the coordinates. */
static void
store_instance(Codegen *g, const StorePlan *p, int m, const int64_t *more)
{
	Coord at = { { 0 } };
	int64_t index[DIM_MAX] = { 0 }, imm;
	int reg[ACCESS_ELEMS];
	LV in[ACCESS_WORDS + 2], inside, exec = p->exec;
	int n;

	for (int e = 0; e < p->vec; e++) {
		reg[e] = m + e;
		if (!p->map)
			continue;
		at.at[AX_reg] = m + e;
		layout_index(p->map, &at, index);
		if (p->map != p->v->type.layout)
			reg[e] = (int)tile_reg(g, p->v, index);
	}
	at.at[AX_reg] = m;
	if (p->map)
		layout_index(p->map, &at, index);
	for (int d = 0; d < p->x->rank; d++)
		index[d] += more[d];
	n = (p->bytes ? store_bytes : store_words)(g, p->v, reg, p->vec, in);
	access_at(p->x, index, &in[n], &imm, NULL);
	in[n + 1] = const_i32(g, imm);
	inside = access_inside(p->x, index);
	if (inside)
		exec = exec ? LLVMBuildAnd(g->b, exec, inside, "") : inside;
	if (p->inst->kind == IK_atom || p->inst->kind == IK_atom_shared)
		emit_atom(g, p, index, reg[0], in, exec);
	else if (instr_is_update(p->inst->kind))
		emit_update(g, p->inst, in, in[n], in[n + 1], exec);
	else if (dtype_pieces(p->x->dtype) > 1)
		store_pieces(g, p, in, n, imm, exec);
	else
		asm_instr(g, p->inst, in, n + 2, exec, NULL);
}

/* Stores registers that represent several positions (iters of stride 0) to each of them. */
void
store_tile(Codegen *g, const StorePlan *p)
{
	int64_t more[DIM_MAX] = { 0 }, at[ITER_MAX] = { 0 };
	Digit digit[ITER_MAX];
	const Layout *l = p->map;
	int n = 0, i, nreg = l ? (int)layout_cosize(l, AX_reg) : 1;

	for (Digit x = l ? layout_digits(l) : (Digit){ 0 }; x.it; digit_next(&x))
		if (x.it->axis == AX_reg && x.it->stride == 0 && x.it->extent > 1)
			digit[n++] = x;
	BUG_IF(g->a, nreg % p->vec || p->vec > ACCESS_ELEMS);
	do {
		for (int m = 0; m < nreg; m += p->vec) {
			store_instance(g, p, m, more);
			if (m + p->vec < nreg)
				gen_apart(g, p->v, p->vec);
		}
		for (i = 0; i < n; i++) {
			more[digit[i].dim] += digit[i].weight;
			if (++at[i] < digit[i].it->extent)
				break;
			more[digit[i].dim] -= digit[i].weight * at[i];
			at[i] = 0;
		}
	} while (i < n);
}

/* Emits the fence of an update. A barrier has made the other threads' writes visible to the thread of exec.
 * Before the update the fence makes them visible to observers of the update; after it, the observed block's
 * writes are visible here. */
static void
emit_order(Codegen *g, LV exec)
{
	asm_emit(g, exec ? "@$0 fence.acq_rel.gpu;" : "fence.acq_rel.gpu;", exec ? "b" : "", AF_MEM, &exec,
	         exec != NULL, NULL);
}

void
emit_store(Codegen *g, Op *o)
{
	Val *v = store_value(o);
	InstrKind kind = instr_store_kind(o);
	bool scalar = v->type.space == S_scalar;
	int bits = dtype_grain(v->type.dtype);
	const Instr *chosen = instr_of(o->lowering);
	StorePlan p = { 0 };

	p.v = v;
	p.map = op_access(o)->map ? op_access(o)->map : v->type.layout;
	p.vec = op_access(o)->vec;
	if (p.vec * bits < 8) {
		gen_unsupported(g, o, "elements that share a byte with another thread's");
		return;
	}
	if (chosen && chosen->kind == IK_stmatrix) {
		matrix_store(g, chosen, v, p.map, access_new(g, p.map, store_dest(o)),
		             lane_first(g, v->type.layout));
		return;
	}
	if (scalar && !IMM(o, update) && !chosen)
		p.inst = mem_instr(g, kind, bits);
	else
		p.inst = lowering_instr(g, o, kind);
	BUG_IF(g->a, p.inst->bits != p.vec * bits);
	p.x = access_new(g, p.map, store_dest(o));
	gen_flush(g, p.x->root);
	if (access_found(o)) {
		p.found = access_new(g, p.map, access_found(o));
		gen_flush(g, p.found->root);
		p.compared = o->nin > 3 ? store_expected(o) : NULL;
	}
	p.exec = scalar ? LLVMBuildICmp(g->pre, LLVMIntEQ, g->tid, const_i32(g, 0), "")
	                : lane_first(g, p.map);
	if (IMM(o, ordered))
		emit_order(g, p.exec);
	store_tile(g, &p);
	if (IMM(o, ordered))
		emit_order(g, p.exec);
}
