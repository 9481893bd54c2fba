/* load.c - emits loads from global and shared memory, and ldmatrix.
 *
 * An instance of the instruction returns raw 32-bit words. A table, created once, maps them to elements of
 * the result; words of the result are assembled when they are pulled. Elements that straddle bytes are
 * loaded by 3, 5 or 7 instructions as a bit stream, whose words are converted to slots on demand. */
#include "ptxgen/memory/load.h"
#include "hexc/ir/dtype_value.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/bitstream.h"
#include "ptxgen/memory/address.h"
#include "ptxgen/memory/ldmatrix.h"

typedef struct LoadPlan {
	Access *x;
	const Instr *inst;
	const Layout *map;
	int vec, ninst, nraw; /* elements per instance; instances; raw words per instance */
	bool sub;             /* less than a byte per access: shifts it down */
	LV *raw;              /* [ninst * nraw]; NULL: not loaded */
	int pieces, nslots;  /* instructions per instance; words of slots, 0: raw words are used */
	LV *placed;           /* [ninst * nslots] */
	OutsideKind outside;  /* value of out-of-bounds elements .. */
	uint32_t fill;        /* .. in a word */
	int *from;            /* register of the result -> register of the map; ldmatrix: word -> raw word */
} LoadPlan;

/* Computes the coordinates of register r of the map in lane `lane` of warp 0. */
static void
map_coord(const Layout *map, int64_t lane, int64_t r, int64_t *index)
{
	Coord p = { { 0 } };

	if (!map)
		return;
	p.at[AX_lane] = lane;
	p.at[AX_reg] = r;
	layout_index(map, &p, index);
}

/* Loads the bits of an element that may straddle two bytes: both, starting with the first one's. */
static LV
across_bytes(Codegen *g, const Access *x, const Instr *byte, LV *in, LV inside, LV first, LV shift)
{
	int bits = dtype_info[x->dtype].bits;
	LV by = LLVMBuildAdd(g->b, shift, const_i32(g, bits - 1), ""), second;

	by = LLVMBuildLShr(g->b, by, const_i32(g, 3), "");
	if (LLVMTypeOf(in[0]) == g->i64)
		by = LLVMBuildZExt(g->b, by, g->i64, "");
	in[0] = LLVMBuildAdd(g->b, in[0], by, "");
	asm_instr(g, byte, in, 2, inside, &second);
	return LLVMBuildOr(g->b, first, LLVMBuildShl(g->b, second, const_i32(g, 8), ""), "");
}

LV
load_bits(Codegen *g, Access *x, const Instr *byte, const int64_t *index)
{
	LV in[2], inside, shift = NULL, first;
	int64_t imm;

	access_at(x, index, &in[0], &imm, &shift);
	in[1] = const_i32(g, imm);
	inside = access_inside(x, index);
	asm_instr(g, byte, in, 2, inside, &first);
	if (shift && dtype_pieces(x->dtype) > 1)
		first = across_bytes(g, x, byte, in, inside, first, shift);
	return shift ? LLVMBuildLShr(g->b, first, shift, "") : first;
}

/* Emits all instructions of an instance, as a stream of words. */
static void
load_pieces(Codegen *g, LoadPlan *p, LV *in, int64_t imm, LV inside, LV *stream)
{
	LV part[PIECES_MAX] = { NULL };
	int bits = p->inst->bits;

	for (int k = 0; k < p->pieces; k++) {
		in[1] = const_i32(g, imm + (int64_t)k * bits / 8);
		asm_instr(g, p->inst, in, 2, inside, bits < 32 ? &part[k] : &stream[k * bits / 32]);
	}
	if (bits < 32)
		stream_join(g, bits, part, p->pieces, stream);
}

static void
load_instance(Codegen *g, LoadPlan *p, int i)
{
	LV in[2], inside, *raw = &p->raw[i * p->nraw];
	int64_t index[DIM_MAX] = { 0 }, imm;

	if (raw[0])
		return;
	map_coord(p->map, 0, (int64_t)i * p->vec, index);
	if (p->sub) {
		raw[0] = load_bits(g, p->x, p->inst, index);
		return;
	}
	access_at(p->x, index, &in[0], &imm, NULL);
	in[1] = const_i32(g, imm);
	inside = access_inside(p->x, index);
	if (p->pieces > 1)
		load_pieces(g, p, in, imm, inside, raw);
	else if (inside && p->outside != OUTSIDE_ZERO)
		asm_load(g, p->inst, in, inside, p->outside == OUTSIDE_FILL ? &p->fill : NULL, raw);
	else
		asm_instr(g, p->inst, in, 2, inside, raw);
}

/* Returns word w of instance i's elements in their slots. */
static LV
slot_word(Codegen *g, LoadPlan *p, DType d, int i, int w)
{
	LV *to = &p->placed[i * p->nslots + w], two[2] = { NULL };
	int at = w * dtype_per_word(d) * dtype_info[d].bits;

	for (int k = 0; k < 2 && at / 32 + k < p->nraw; k++)
		two[k] = p->raw[i * p->nraw + at / 32 + k];
	if (!*to)
		*to = stream_slots(g, d, two, at % 32);
	return *to;
}

/* Loads, and returns, the raw word that has register r of the result; *pos: the element in it. */
static LV
raw_of(Codegen *g, LoadPlan *p, DType d, int64_t r, int *pos)
{
	int m = p->from ? p->from[r] : (int)r, i = m / p->vec, e = m % p->vec;
	int bits = dtype_info[d].bits;

	load_instance(g, p, i);
	if (p->nslots) {
		*pos = e % dtype_per_word(d);
		return slot_word(g, p, d, i, e / dtype_per_word(d));
	}
	*pos = e * bits % 32 / bits;
	return p->raw[i * p->nraw + e * bits / 32];
}

static void
pull_load(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	LoadPlan *p = t->plan;
	int pos[WORD_ELEMS], n = 0, bits = dtype_info[t->dtype].bits;
	LV word[WORD_ELEMS];

	for (; n < t->epw && w * t->epw + n < t->nreg; n++)
		word[n] = raw_of(g, p, t->dtype, w * t->epw + n, &pos[n]);
	if (t->dtype == D_bool) {
		LV byte = LLVMBuildAnd(g->b, word[0], const_i32(g, (int64_t)255 << 8 * pos[0]), "");

		t->word[w] = LLVMBuildICmp(g->b, LLVMIntNE, byte, const_i32(g, 0), "");
	} else if (bits == 64) {
		int m = p->from ? p->from[w] : w;

		word[0] = join64(g, word[0], p->raw[m / p->vec * p->nraw + m % p->vec * 2 + 1]);
		t->word[w] = LLVMBuildBitCast(g->b, word[0], word_type(g, t->dtype), "");
	} else if (bits == 32) {
		t->word[w] = dtype_reg(t->dtype) == REG_f32 ? as_f32(g, word[0]) : word[0];
	} else {
		t->word[w] = bits_gather(g, t->dtype, word, pos, n);
	}
}

/* ---- ldmatrix -------------------------------------------------------------------------------- */

static void
ldmatrix_instance(Codegen *g, LoadPlan *p, int i)
{
	LV in[2];
	int64_t index[DIM_MAX] = { 0 }, imm;

	if (p->raw[i * p->nraw])
		return;
	map_coord(p->map, 0, (int64_t)i * p->vec, index);
	access_at(p->x, index, &in[0], &imm, NULL);
	in[1] = const_i32(g, imm);
	asm_instr(g, p->inst, in, 2, NULL, &p->raw[i * p->nraw]);
}

static void
pull_ldmatrix(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	LoadPlan *p = t->plan;

	BUG_IF(g->a, p->from[w] < 0);
	ldmatrix_instance(g, p, p->from[w] / p->nraw);
	t->word[w] = p->raw[p->from[w]];
	if (word_type(g, t->dtype) == g->f32)
		t->word[w] = as_f32(g, t->word[w]);
}

static void
ldmatrix_words(Codegen *g, LoadPlan *p, Val *v)
{
	const Tile *t = tile_of(g, v);

	p->from = arena_alloc(g->a, sizeof *p->from * (size_t)t->nword);
	matrix_words(g, v, p->map, p->nraw, p->from);
}

/* Returns the instance that loads word w, or its first element. */
static int
instance_of(const LoadPlan *p, const Tile *t, int w)
{
	int m;

	if (p->inst->kind == IK_ldmatrix)
		return p->from[w] / p->nraw;
	m = p->from ? p->from[w * t->epw] : w * t->epw;
	return m / p->vec;
}

void
load_close(Codegen *g, const Op *o, bool *word)
{
	const Tile *t = tile_of(g, o->out[0]);
	const LoadPlan *p = t->plan;
	bool *used = NEWN(g->a, bool, p->ninst);

	for (int w = 0; w < t->nword; w++)
		if (word[w])
			used[instance_of(p, t, w)] = true;
	for (int w = 0; w < t->nword; w++)
		word[w] = word[w] || used[instance_of(p, t, w)];
}

/* ---- the op ---------------------------------------------------------------------------------- */

/* Emits the missing instances of a visited load. */
static void
load_all(Codegen *g, Op *o)
{
	LoadPlan *p = tile_of(g, o->out[0])->plan;

	for (int i = 0; i < p->ninst; i++) {
		if (p->inst->kind == IK_ldmatrix)
			ldmatrix_instance(g, p, i);
		else
			load_instance(g, p, i);
	}
}

/* Maps registers of the result to registers of the map. */
static void
load_registers(Codegen *g, LoadPlan *p, Val *v)
{
	const Tile *t = tile_of(g, v);
	int64_t index[DIM_MAX] = { 0 };

	if (p->map == t->l)
		return;
	p->from = arena_alloc(g->a, sizeof *p->from * (size_t)t->nreg);
	for (int m = 0; m < p->ninst * p->vec; m++) {
		map_coord(p->map, 0, m, index);
		p->from[tile_reg(g, v, index)] = m;
	}
}

static const Instr *
load_instr(Codegen *g, const Op *o, bool global)
{
	int bits = dtype_info[o->out[0]->type.dtype].bits;

	if (o->out[0]->type.space == S_reg || o->lowering) {
		const Instr *i = instr_of(o->lowering);

		BUG_IF(g->a, !i || (global ? i->kind != IK_ld_global
		                           : i->kind != IK_ld_shared && i->kind != IK_ldmatrix));
		return i;
	}
	return mem_instr(g, global ? IK_ld_global : IK_ld_shared, bits < 8 ? 8 : bits);
}

/* Returns load o's out-of-bounds value, of 16 or 32 bits, in each element of a word. */
static uint32_t
fill_word(DType d, const Op *o)
{
	uint64_t bits = dtype_is_float(d) ? num_bits(d, num_round(d, o->fimm)) : (uint64_t)IMM(o, fill_value);
	uint32_t x = (uint32_t)bits;

	return dtype_info[d].bits == 16 ? (x & 0xffff) * 0x10001u : x;
}

void
emit_load(Codegen *g, Op *o)
{
	Val *v = o->out[0];
	bool global = load_source(o)->type.space == S_global;
	DType d = v->type.dtype;
	int bits = dtype_grain(d); /* of each piece of an element */
	LoadPlan *p = NEW(g->a, LoadPlan);
	int nreg;

	p->inst = load_instr(g, o, global);
	p->map = op_access(o)->map ? op_access(o)->map : v->type.layout;
	p->vec = op_access(o)->vec;
	p->x = access_new(g, p->map, load_source(o));
	nreg = p->map ? (int)layout_cosize(p->map, AX_reg) : 1;
	p->ninst = nreg / p->vec;
	p->pieces = dtype_pieces(d);
	p->sub = p->vec * bits < 8;
	p->nraw = p->sub ? 1 : (int)ceil_div(p->inst->bits * p->pieces, 32);
	p->nslots = p->pieces > 1 ? (p->vec + dtype_per_word(d) - 1) / dtype_per_word(d) : 0;
	p->placed = lv_array(g, p->ninst * p->nslots);
	BUG_IF(g->a, nreg % p->vec || p->pieces > PIECES_MAX || (p->sub && p->pieces > 1 && p->vec > 1));
	BUG_IF(g->a, p->inst->kind != IK_ldmatrix && p->vec * bits != p->inst->bits &&
	                     !(p->sub && p->inst->bits == 8));
	p->raw = lv_array(g, p->ninst * p->nraw);
	p->outside = (OutsideKind)IMM(o, oob_fill);
	if (p->outside == OUTSIDE_FILL)
		p->fill = fill_word(d, o);
	if (p->inst->kind == IK_ldmatrix) {
		BUG_IF(g->a, p->vec * bits != 128);
		tile_lazy(g, o, pull_ldmatrix, p);
		ldmatrix_words(g, p, v);
	} else {
		tile_lazy(g, o, pull_load, p);
		load_registers(g, p, v);
	}
	if (global)
		load_all(g, o); /* long latency: issued here */
	else
		gen_reads(g, o, p->x->root, load_all);
}
