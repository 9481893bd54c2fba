/* convert.c - emits layout conversions of register tiles, by renaming, selects, shuffles or shared memory.
 *
 * Without shared memory, and unless a butterfly is possible (convert_butterfly.c), there is one strategy:
 * for each register of the result, a table over the 32 lanes specifies the lane and register of the source
 * element. If that lane is always the lane itself, it is a renaming (one register for all lanes) or a
 * select; otherwise words are shuffled first. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"
#include "ptxgen/memory/address.h"
#include "ptxgen/memory/ldmatrix.h"
#include "ptxgen/memory/store.h"
#include "ptxgen/shuffle.h"
#include <string.h>

typedef struct RegisterSource { /* for one register of the result, by lane */
	int lane[WARP_SIZE], reg[WARP_SIZE];
} RegisterSource;

typedef struct ShuffledWord { /* a source word from the lanes in `lane` */
	int word, lane[WARP_SIZE];
	LV v;
} ShuffledWord;

typedef struct ConvertPlan {
	RegisterSource *from; /* by register of the result */
	ShuffledWord *moved;
	int nmoved, cap;
} ConvertPlan;

/* Returns, of the lanes with a replica, the one nearest to `self`: it agrees in all replication modes. */
static int
nearest_replica(const Layout *l, int64_t lane, int self)
{
	for (int i = 0; i < l->nrep; i++) {
		const Iter *it = &l->rep[i];

		if (it->axis == AX_lane && it->stride > 0)
			lane += self / it->stride % it->extent * it->stride;
	}
	return (int)lane;
}

static void
find_origin(Codegen *g, const Layout *in, const Layout *out, int64_t r, RegisterSource *from)
{
	Coord p = { { 0 } }, q;
	int64_t index[DIM_MAX] = { 0 };

	p.at[AX_reg] = r;
	for (int l = 0; l < WARP_SIZE; l++) {
		p.at[AX_lane] = l;
		layout_index(out, &p, index);
		q = layout_at(in, index);
		BUG_IF(g->a, q.at[AX_warp] != 0);
		from->lane[l] = nearest_replica(in, q.at[AX_lane], l);
		from->reg[l] = (int)q.at[AX_reg];
	}
}

/* Returns word `word` of the operand from lane lane[l], for each lane l. */
static LV
moved_word(Codegen *g, Op *o, ConvertPlan *p, int word, const int *lane)
{
	ShuffledWord m = { .word = word };
	bool own = true;

	for (int l = 0; l < WARP_SIZE; l++)
		own = own && lane[l] == l;
	m.v = word_get(g, op_source(o), word);
	if (own)
		return m.v;
	for (int i = 0; i < p->nmoved; i++)
		if (p->moved[i].word == word && memcmp(p->moved[i].lane, lane, sizeof m.lane) == 0)
			return p->moved[i].v;
	memcpy(m.lane, lane, sizeof m.lane);
	m.v = shuffle_from(g, m.v, lane_table(g, lane));
	VEC_PUSH(g->a, p->moved, p->nmoved, p->cap, m);
	return m.v;
}

/* Returns v in the lanes of the mask and `so_far` in the others; v if `so_far` is NULL. */
static LV
choose(Codegen *g, LV so_far, uint32_t mask, LV v)
{
	return so_far ? LLVMBuildSelect(g->b, lane_mask(g, mask), v, so_far, "") : v;
}

/* Are n registers from r on in one source word, in order, for every lane? */
static bool
whole_words(const RegisterSource *from, int n, int epw)
{
	for (int l = 0; l < WARP_SIZE; l++)
		for (int k = 0; k < n; k++)
			if (from[k].lane[l] != from[0].lane[l] ||
			    from[k].reg[l] != from[0].reg[l] + k || from[0].reg[l] % epw)
				return false;
	return true;
}

/* Returns a word, or one element shifted down to slot 0 (epw > 1 and `element`), from each lane's source. */
static LV
emit_word_from_lane(Codegen *g, Op *o, ConvertPlan *p, const RegisterSource *from, int epw, bool element)
{
	int bits = 32 / epw;
	uint32_t done = 0;
	LV x = NULL;

	for (int l = 0; l < WARP_SIZE; l++) {
		int unit = element ? from->reg[l] : from->reg[l] / epw;
		uint32_t mask = 0;
		LV v;

		if (done >> l & 1)
			continue;
		for (int k = l; k < WARP_SIZE; k++)
			if ((element ? from->reg[k] : from->reg[k] / epw) == unit)
				mask |= (uint32_t)1 << k;
		done |= mask;
		v = moved_word(g, o, p, element ? unit / epw : unit, from->lane);
		if (element && unit % epw)
			v = LLVMBuildLShr(g->b, v, const_i32(g, bits * (unit % epw)), "");
		x = choose(g, x, mask, v);
	}
	return x;
}

/* Emits a word of which each byte is one byte of one source word, the same word for all lanes, at a
 * lane-dependent position: by byte permutations with per-lane selectors. Returns NULL if that is not so. */
static LV
gather_bytes(Codegen *g, Op *o, ConvertPlan *p, const RegisterSource *from, int epw)
{
	int per = epw / 4, word[4], select[2][WARP_SIZE] = { { 0 } };
	LV half[2];

	if (epw < 4)
		return NULL;
	for (int k = 0; k < 4; k++) {
		const RegisterSource *f = from + k * per;

		word[k] = f->reg[0] / epw;
		for (int l = 0; l < WARP_SIZE; l++) {
			if (f->reg[l] / epw != word[k] || f->reg[l] % per)
				return NULL;
			for (int j = 0; j < per; j++)
				if (f[j].lane[l] != l || f[j].reg[l] != f->reg[l] + j)
					return NULL;
			select[k / 2][l] |= (f->reg[l] % epw / per + k % 2 * 4) << (k % 2 * 4);
		}
	}
	for (int h = 0; h < 2; h++)
		half[h] = asm_op(g, A_prmt_lane, moved_word(g, o, p, word[2 * h], from->lane),
		                 moved_word(g, o, p, word[2 * h + 1], from->lane),
		                 lane_table(g, select[h]));
	return asm_op(g, A_prmt, half[0], half[1], const_i32(g, 0x5410));
}

static void
pull_convert(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	ConvertPlan *p = t->plan;
	const RegisterSource *from = p->from + w * t->epw;
	int n = t->nreg - w * t->epw, pos[WORD_ELEMS] = { 0 };
	LV e[WORD_ELEMS];

	n = n < t->epw ? n : t->epw;
	if (whole_words(from, n, t->epw)) {
		t->word[w] = emit_word_from_lane(g, o, p, from, t->epw, false);
		return;
	}
	if (n == t->epw && (t->word[w] = gather_bytes(g, o, p, from, t->epw)) != NULL)
		return;
	for (int k = 0; k < n; k++) {
		bool fixed = true;

		for (int l = 1; l < WARP_SIZE; l++)
			fixed = fixed && from[k].reg[l] == from[k].reg[0];
		/* one register for all lanes: not shifted, bits_gather accepts any slot */
		pos[k] = fixed ? from[k].reg[0] % t->epw : 0;
		e[k] = emit_word_from_lane(g, o, p, &from[k], t->epw, !fixed);
	}
	t->word[w] = bits_gather(g, t->dtype, e, pos, n);
}

/* ---- through shared memory ------------------------------------------------------------------- */

static LV
from_raw(Codegen *g, DType d, const LV *raw, int e)
{
	int bits = dtype_info[d].bits;
	LV x;

	if (bits == 64) {
		x = join64(g, raw[e * 2], raw[e * 2 + 1]);
		return LLVMBuildBitCast(g->b, x, word_type(g, d), "");
	}
	if (d == D_bool) {
		x = LLVMBuildAnd(g->b, raw[e / 4], const_i32(g, (int64_t)255 << e % 4 * 8), "");
		return LLVMBuildICmp(g->b, LLVMIntNE, x, const_i32(g, 0), "");
	}
	return dtype_reg(d) == REG_f32 ? as_f32(g, raw[e]) : raw[e];
}

/* Loads registers [m, m + vec) of the result with one read. */
static void
scratch_read(Codegen *g, Tile *t, Access *x, int m, int vec, LV *raw, int *raw_pos)
{
	LV in[2], out[4];
	int64_t index[DIM_MAX] = { 0 }, imm;
	int slot = dtype_slot_bits(t->dtype), each = dtype_info[x->dtype].bits;

	tile_index(t, m, index);
	access_at(x, index, &in[0], &imm, NULL);
	in[1] = const_i32(g, imm);
	asm_instr(g, mem_instr(g, IK_ld_shared, vec * each), in, 2, NULL, out);
	for (int e = 0; e < vec; e++) {
		raw[m + e] = t->epw > 1 ? out[e * each / 32] : from_raw(g, t->dtype, out, e);
		raw_pos[m + e] = t->epw > 1 ? e * each % 32 / slot : 0;
	}
}

static void
convert_shared(Codegen *g, Op *o)
{
	Tile *t = tile_new(g, o->out[0]);
	const Staging *tile = &o->lowering->staged;
	const Layout *in = op_source(o)->type.layout;
	int bits = staging_bits(tile, t->dtype), vec2 = tile->read.vec;
	bool bytes = bits != dtype_info[t->dtype].bits;
	DType each = bytes ? D_u8 : t->dtype;
	StorePlan w = { .v = op_source(o), .map = in, .vec = tile->write.vec, .bytes = bytes };
	LV *raw = lv_array(g, t->nreg);
	int *pos = arena_alloc(g->a, sizeof *pos * (size_t)t->nreg);
	Access *x;

	BUG_IF(g->a, !tile->tile || (!tile->read.inst && t->nreg % vec2));
	w.exec = lane_first(g, in);
	if (tile->write.inst) {
		w.x = access_staging(g, tile, tile->write.map, each);
		matrix_store(g, instr_find(tile->write.inst), w.v, tile->write.map, w.x, w.exec);
	} else {
		w.x = access_staging(g, tile, in, each);
		w.inst = mem_instr(g, IK_st_shared, w.vec * bits);
		store_tile(g, &w);
	}
	emit_block_barrier(g);
	if (tile->read.inst) {
		x = access_staging(g, tile, tile->read.map, each);
		matrix_load(g, instr_find(tile->read.inst), o->out[0], tile->read.map, x);
		return;
	}
	x = access_staging(g, tile, t->l, each);
	for (int m = 0; m < t->nreg; m += vec2)
		scratch_read(g, t, x, m, vec2, raw, pos);
	for (int i = 0; i < t->nword; i++) {
		int n = t->nreg - i * t->epw;

		t->word[i] = bits_gather(g, t->dtype, raw + i * t->epw, pos + i * t->epw,
		                         n < t->epw ? n : t->epw);
	}
}

void
emit_convert_layout(Codegen *g, Op *o)
{
	const Layout *in = op_source(o)->type.layout, *out = o->out[0]->type.layout;
	int64_t nreg = layout_cosize(out, AX_reg);
	ConvertPlan *p;

	BUG_IF(g->a, !o->lowering);
	if (o->lowering->kind == LW_shared) {
		convert_shared(g, o);
		return;
	}
	if (convert_exchange(g, o))
		return;
	p = NEW(g->a, ConvertPlan);
	p->from = arena_alloc(g->a, sizeof *p->from * (size_t)nreg);
	for (int r = 0; r < nreg; r++)
		find_origin(g, in, out, r, &p->from[r]);
	tile_lazy(g, o, pull_convert, p);
}
