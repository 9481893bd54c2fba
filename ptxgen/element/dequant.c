/* dequant.c - emits casts of narrow elements by their cast sequences (infer/narrow_cast/cast_sequence.h). */
#include "ptxgen/element/dequant.h"
#include "hexc/ir/dtype_value.h"
#include "infer/narrow_cast/cast_sequence.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/element_value.h"
#include <math.h>
#include <string.h>

/* A cast with a cast sequence: the values of its steps, by group, created on demand. */
struct Dequant {
	CastSequence recipe;
	int words, ngroup;
	LV *value; /* [ngroup][nstep] */
	LV *word; /* [ngroup][nout]: intermediate outputs */
};

static LV group_value(Codegen *g, Dequant *d, Val *from, int group, int i);

/* ---- steps ----------------------------------------------------------------------------------- */

static LV
mix(Codegen *g, LV x, LV y, const CastStep *s)
{
	LV m = const_i32(g, s->m), c = const_i32(g, s->c);

	if (y)
		return asm_op(g, A_mix, x, m, y);
	if (s->m == 0xffffffff)
		return LLVMBuildXor(g->b, x, c, "");
	return s->c ? asm_op(g, A_mix_const, x, m, c) : LLVMBuildAnd(g->b, x, m, "");
}

static LV
step_value(Codegen *g, Dequant *d, Val *from, int group, const CastStep *s)
{
	LV x = group_value(g, d, from, group, s->x);
	LV y = s->y == VAL_NONE ? NULL : group_value(g, d, from, group, s->y);
	LV m = const_i32(g, s->m), c = const_i32(g, s->c);

	switch ((StepOp)s->op) {
	case ST_shift:
		return s->n > 0 ? LLVMBuildLShr(g->b, x, const_i32(g, s->n), "")
		                : LLVMBuildShl(g->b, x, const_i32(g, -s->n), "");
	case ST_funnel: return asm_op(g, A_funnel, x, y, const_i32(g, s->n));
	case ST_mix: return mix(g, x, y, s);
	case ST_pick: return prmt(g, x, y ? y : c, s->m);
	case ST_choose: return asm_op(g, A_choose, x, m, y);
	case ST_add: return LLVMBuildAdd(g->b, x, c, "");
	case ST_look: return asm_op(g, A_prmt_table, s->m ? register_const(g, s->m) : m, c, x);
	case ST_take: return asm_op(g, A_prmt_lane, x, y, group_value(g, d, from, group, s->z));
	case ST_half: return fp8_to_h2(g, d->recipe.from, x, s->n / 2);
	}
	return x;
}

/* Returns input word or step i of a group. An incomplete last group has no words past its elements; values
 * computed from the missing words are unused. */
static LV
group_value(Codegen *g, Dequant *d, Val *from, int group, int i)
{
	LV *v;

	if (i < VAL_STEP) {
		int w = group * d->words + i;

		return w < tile_of(g, from)->nword ? as_i32(g, word_get(g, from, w)) : const_i32(g, 0);
	}
	v = &d->value[group * d->recipe.nstep + i - VAL_STEP];
	if (!*v)
		*v = step_value(g, d, from, group, &d->recipe.step[i - VAL_STEP]);
	return *v;
}

/* ---- the last step --------------------------------------------------------------------------- */

static LV
fma_word(Codegen *g, DType to, LV x, LV y, LV z)
{
	LV e[3] = { x, y, z };

	if (to == D_bf16)
		return asm_op(g, A_fma_bf16x2, x, y, z);
	return call_fp(g, "llvm.fma", to == D_f16 ? g->h2 : g->f32, e, 3);
}

static LV
as_numbers(Codegen *g, DType to, LV bits)
{
	if (to == D_f32)
		return as_f32(g, bits);
	return to == D_f16 ? as_h2(g, bits) : bits;
}

/* Emits x + y; bf16 has only fma. */
static LV
add_word(Codegen *g, DType to, LV x, LV y)
{
	return to == D_bf16 ? asm_op(g, A_fma_bf16x2, x, const_i32(g, 0x3f803f80), y)
	                    : LLVMBuildFAdd(g->b, x, y, "");
}

/* Emits value * mul + add, or the part of it that is needed. `add` is o's, or that minus a constant. */
static LV
finish(Codegen *g, Dequant *d, Val *from, int group, const RecipeOut *o, LV add)
{
	DType to = d->recipe.via;
	LV x = as_numbers(g, to, group_value(g, d, from, group, o->value));
	LV mul = as_numbers(g, to, const_i32(g, o->mul));

	if (o->second != VAL_NONE) {
		LV second = as_numbers(g, to, group_value(g, d, from, group, o->second));

		add = o->moved ? add_word(g, to, second, add) : second;
	}
	if (o->scaled && (o->moved || o->second != VAL_NONE || to == D_bf16))
		x = fma_word(g, to, x, mul, add);
	else if (o->scaled)
		x = LLVMBuildFMul(g->b, x, mul, "");
	else if (o->moved)
		x = add_word(g, to, x, add);
	return to == D_f16 ? from_h2(g, x) : x;
}

/* Initializes the plan of cast o, whose cast sequence is set; nothing is computed so far. */
static void
dequant_init(Codegen *g, Dequant *d, const Op *o)
{
	const Type *from = &op_source(o)->type;

	d->words = recipe_words(from->dtype, from->bit_order);
	d->ngroup = (tile_of(g, op_source(o))->nreg + BIT_GROUP - 1) / BIT_GROUP;
	d->value = lv_array(g, d->ngroup * d->recipe.nstep);
	d->word = lv_array(g, d->ngroup * d->recipe.nout);
}

Dequant *
dequant_plan(Codegen *g, const Op *o)
{
	const Type *from = &op_source(o)->type, *to = &o->out[0]->type;
	Dequant *d;

	if (from->space != S_reg)
		return NULL;
	d = NEW(g->a, Dequant);
	if (!recipe_make(&d->recipe, from->dtype, from->bit_order, to->dtype, g->u->target->features))
		return NULL;
	dequant_init(g, d, o);
	return d;
}

/* Returns the plan of the cast minus a constant, if the cast has no other users; else NULL. */
static Dequant *
less_plan(Codegen *g, const Op *cast, const Dequant *whole, double number)
{
	Dequant *d = NEW(g->a, Dequant);

	if (kernel_uses(g->k)[cast->out[0]->id] != 1 || !recipe_less(&d->recipe, &whole->recipe, number))
		return NULL;
	dequant_init(g, d, cast);
	return d;
}

/* Returns word w of the outputs. */
static LV
output(Codegen *g, Dequant *d, Val *from, int w)
{
	const RecipeOut *o = &d->recipe.out[w % d->recipe.nout];

	if (!d->word[w])
		d->word[w] = finish(g, d, from, w / d->recipe.nout, o,
		                    as_numbers(g, d->recipe.via, const_i32(g, o->add)));
	return d->word[w];
}

LV
dequant_word(Codegen *g, Dequant *d, Val *from, int w)
{
	DType to = d->recipe.to, via = d->recipe.via;
	int each = 32 / dtype_info[via].bits, n = 32 / dtype_info[to].bits;
	LV e[2];

	if (via == to)
		return output(g, d, from, w);
	for (int i = 0; i < n; i++) {
		int r = w * n + i;

		e[i] = elem_unpack(g, via, output(g, d, from, r / each), r % each);
	}
	return elem_pack(g, to, e, n);
}

/* ---- subtraction of a number ----------------------------------------------------------------- */

typedef struct Offset {
	Dequant *d;
	Val *from;
	int number; /* operand of the op */
	bool constant;
	double value;
} Offset;

/* Returns -(less + y) for both halves, folded for a constant. */
static LV
constant_add(Codegen *g, const CastSequence *r, const RecipeOut *o, double y)
{
	uint32_t bits = 0;
	float f = (float)(-o->less[0] - y);

	if (r->to == D_f32)
		memcpy(&bits, &f, sizeof bits);
	for (int i = 0; i < 2 && r->to != D_f32; i++)
		bits |= num_code(r->to, -o->less[i] - y) << 16 * i;
	return as_numbers(g, r->to, const_i32(g, bits));
}

/* Is the complete word looked up? */
static bool
is_looked_up(const Offset *z)
{
	return fpclassify(z->d->recipe.less) != FP_ZERO;
}

void
offset_pull(Codegen *g, Op *op, int w)
{
	Tile *t = tile_of(g, op->out[0]);
	const Offset *z = t->plan;
	const RecipeOut *o = &z->d->recipe.out[w % z->d->recipe.nout];
	DType to = t->dtype;
	LV add = as_numbers(g, to, const_i32(g, o->add)), y;

	if (is_looked_up(z)) {
		t->word[w] = dequant_word(g, z->d, z->from, w);
		return;
	}
	if (z->constant) {
		add = constant_add(g, &z->d->recipe, o, z->value);
	} else {
		y = as_numbers(g, to, word_get(g, op->in[z->number], w));
		if (op->code == O_add)
			add = add_word(g, to, y, add);
		else if (to == D_bf16)
			add = asm_op(g, A_fma_bf16x2, y, const_i32(g, 0xbf80bf80), add);
		else
			add = LLVMBuildFSub(g->b, add, y, "");
	}
	t->word[w] = finish(g, z->d, z->from, w / z->d->recipe.nout, o, add);
}

void *
offset_plan(Codegen *g, Op *o)
{
	int number;
	int64_t lo, hi;
	const Op *cast = recipe_offset(o, &number, &lo, &hi);
	Dequant *d = cast ? cast_plan(tile_of(g, cast->out[0])) : NULL;
	Offset *z;

	if (d && !recipe_takes(&d->recipe, lo, hi))
		d = lo == hi ? less_plan(g, cast, d, (double)lo) : NULL;
	if (!d)
		return NULL;
	z = NEW(g->a, Offset);
	*z = (Offset){ d, op_source(cast), number, lo == hi, (double)lo };
	return z;
}
