/* cast_sequence.c - builds the cheapest instruction sequence for a cast of narrow elements. */
#include "hexc/ir/dtype_value.h"
#include "infer/narrow_cast/narrow_cast_internal.h"
#include <math.h>
#include <string.h>

/* ---- the sequence -------------------------------------------------------------------------------- */

static int
keep_step(Make *k, const CastStep *s)
{
	CastSequence *r = k->r;

	for (int i = 0; i < r->nstep; i++)
		if (memcmp(&r->step[i], s, sizeof *s) == 0)
			return VAL_STEP + i;
	if (r->nstep < RECIPE_STEPS)
		r->step[r->nstep++] = *s;
	return VAL_STEP + r->nstep - 1;
}

int
recipe_step(Make *k, StepOp op, int x, int y, int n, uint32_t m, uint32_t c)
{
	CastStep s;

	memset(&s, 0, sizeof s);
	s.op = (uint8_t)op;
	s.n = (int8_t)n;
	s.x = (int16_t)x;
	s.y = (int16_t)y;
	s.z = VAL_NONE;
	s.m = m;
	s.c = c;
	return keep_step(k, &s);
}

int
recipe_take(Make *k, int x, int y, int z)
{
	CastStep s;

	memset(&s, 0, sizeof s);
	s.op = ST_take;
	s.x = (int16_t)x;
	s.y = (int16_t)y;
	s.z = (int16_t)z;
	return keep_step(k, &s);
}

int
recipe_shifted(Make *k, int x, int n)
{
	return n == 0 ? x : recipe_step(k, ST_shift, x, VAL_NONE, n, 0, 0);
}

uint32_t
recipe_lanes(const Make *k, uint32_t x)
{
	uint32_t all = 0;

	for (int i = 0; i < 32; i += k->lane)
		all |= x << i;
	return all;
}

int
recipe_pair(Make *k, int lo, int hi, int second)
{
	if (lo == VAL_NONE)
		return recipe_step(k, ST_pick, hi, VAL_NONE, 0, second ? 0x3424 : 0x1404, 0);
	return recipe_step(k, ST_pick, lo, hi, 0, second ? 0x7362 : 0x5140, 0);
}

uint32_t
recipe_code(const Make *k, double x)
{
	float f = (float)x;
	uint32_t bits;

	if (k->lane == 16)
		return num_code(k->r->to, x);
	memcpy(&bits, &f, sizeof bits);
	return bits;
}

/* ---- bit fields ---------------------------------------------------------------------------------- */

int
recipe_bit(const Make *k, int e, int b)
{
	return k->r->bit_order ? bit_order_bit(k->bits, k->r->bit_order, e, b) : e * k->slot_bits + b;
}

/* Returns the position of bit b of an element in its result: from `bit` on for an integer's field; the top
 * bit for a float's sign. */
static int
goal(const Make *k, int b, int bit)
{
	return k->flt && b == k->bits - 1 ? k->lane - 1 : bit + b;
}

int
recipe_part(BitField *part, int n, int word, int shift, int to)
{
	int p = 0;

	while (p < n && (part[p].word != word || part[p].shift != shift))
		p++;
	if (p == PARTS)
		return PARTS + 1;
	if (p == n)
		part[n++] = (BitField){ word, shift, 0 };
	part[p].mask |= 1u << to;
	return n;
}

int
recipe_parts(const Make *k, int j, int bit, BitField *part)
{
	int n = 0;

	for (int i = 0; i < k->lanes; i++)
		for (int b = 0; b < k->bits; b++) {
			int from = recipe_bit(k, j * k->lanes + i, b);
			int to = i * k->lane + goal(k, b, bit), shift = from % 32 - to;

			n = recipe_part(part, n, from / 32, shift, to);
			if (n > PARTS)
				return n;
		}
	return n;
}

/* ---- outputs ------------------------------------------------------------------------------------- */

int
recipe_mixed(Make *k, const BitField *part, int n, uint32_t magic)
{
	int v = VAL_NONE;

	for (int i = 0; i < n; i++) {
		int x = recipe_shifted(k, part[i].word, part[i].shift);

		v = recipe_step(k, ST_mix, x, v, 0, part[i].mask, i == 0 ? magic : 0);
	}
	return v;
}

int
recipe_half(const Make *k)
{
	return k->sint ? 1 << (k->bits - 1) : 0;
}

void
recipe_finish(Make *k, int j, int value, const int bit[2])
{
	RecipeOut *o = &k->r->out[j];

	o->value = (int16_t)value;
	o->moved = true;
	for (int i = 0; i < k->lanes; i++) {
		o->less[i] = (1 << (k->man - bit[i])) + recipe_half(k);
		o->scaled = o->scaled || bit[i];
		o->mul |= recipe_code(k, ldexp(1, -bit[i])) << i * k->lane;
		o->add |= recipe_code(k, -o->less[i]) << i * k->lane;
	}
	if (k->lanes == 1)
		o->less[1] = o->less[0];
}

static void
int_to_float(Make *k, int j, int bit)
{
	BitField part[PARTS + 1];
	uint32_t magic = (uint32_t)(k->bias + k->man) << k->man | (uint32_t)recipe_half(k) << bit;
	int n = recipe_parts(k, j, bit, part), both[2] = { bit, bit };

	recipe_finish(k, j, recipe_mixed(k, part, n, recipe_lanes(k, magic)), both);
}

/* ---- all outputs --------------------------------------------------------------------------------- */

static void
ints_to_floats(Make *k)
{
	int bit[RECIPE_OUT] = { 0 };

	recipe_field_bits(k, bit);
	for (int j = 0; j < k->r->nout; j++)
		int_to_float(k, j, bit[j]);
}

/* Returns the bits from one element to the next in natural order: a power of two. */
static int
slot_bits(int bits)
{
	if (bits > 4)
		return 8;
	return bits == 3 ? 4 : bits;
}

static void
make_init(Make *k, CastSequence *r, DType from, int bit_order, DType to)
{
	const DTypeInfo *d = &dtype_info[from], *t = &dtype_info[to];

	memset(k, 0, sizeof *k);
	memset(r, 0, sizeof *r);
	r->from = from;
	r->to = to;
	r->via = to;
	r->bit_order = bit_order;
	k->r = r;
	k->bits = d->bits;
	k->slot_bits = slot_bits(d->bits);
	k->sint = d->kind == K_sint;
	k->flt = d->kind == K_flt;
	k->lane = t->bits;
	k->lanes = 32 / t->bits;
	k->man = t->man;
	k->bias = dtype_bias(to);
	k->room = t->man - d->bits;
	r->nout = BIT_GROUP / k->lanes;
	for (int j = 0; j < r->nout; j++)
		r->out[j].second = VAL_NONE;
}

/* ---- the cheapest sequence --------------------------------------------------------------------------- */

static bool
ints(Make *k)
{
	bool byte = k->lane == 8;
	BitField part[PARTS + 1];

	if (k->flt || (k->bits == 8 && (byte || k->r->bit_order > ORDER_HALF)))
		return false;
	for (int j = 0; j < k->r->nout; j++)
		if (recipe_parts(k, j, 0, part) > PARTS)
			return false;
	if (byte)
		for (int j = 0; j < k->r->nout; j++)
			recipe_int_to_byte(k, j);
	else if (k->bits == 8 && k->room >= 0)
		for (int j = 0; j < k->r->nout; j++)
			recipe_byte_to_float(k, j);
	else if (k->room < 0)
		for (int j = 0; j < k->r->nout; j++)
			recipe_byte_to_bf16(k, j);
	else if (k->r->bit_order == 0 && k->lane == 16)
		recipe_natural(k);
	else
		ints_to_floats(k);
	return true;
}

/* Generators of cast sequences: the shortest sequence is used, of equal ones the first. */
static bool (*const makers[])(Make *k) = { ints,          recipe_table, recipe_bytes,
	                                   recipe_fields, recipe_scale, recipe_cvt };

static bool
has_arithmetic(const CastSequence *r)
{
	for (int j = 0; j < r->nout; j++)
		if (r->out[j].scaled || r->out[j].moved || r->out[j].second != VAL_NONE)
			return true;
	return false;
}

bool
recipe_less(CastSequence *r, const CastSequence *cast, double number)
{
	Make k;

	if (cast->via != cast->to)
		return false;
	make_init(&k, r, cast->from, cast->bit_order, cast->to);
	r->less = number;
	return recipe_table(&k) && r->nstep < RECIPE_STEPS &&
	       recipe_instructions(r) < recipe_instructions(cast) + cast->nout;
}

static bool
make_direct(CastSequence *best, DType from, int bit_order, DType to, unsigned features)
{
	bool any = false;
	CastSequence r;
	Make k;

	for (size_t i = 0; i < COUNT_OF(makers); i++) {
		make_init(&k, &r, from, bit_order, to);
		k.features = features;
		if (!makers[i](&k) || r.nstep >= RECIPE_STEPS)
			continue;
		if (to == D_bf16 && !(features & T_BF16) && has_arithmetic(&r))
			continue;
		if (!any || recipe_instructions(&r) < recipe_instructions(best))
			*best = r;
		any = true;
	}
	return any;
}

bool
recipe_make(CastSequence *r, DType from, int bit_order, DType to, unsigned features)
{
	static const struct {
		DType to, via;
	} way[] = { { D_f32, D_bf16 }, { D_f32, D_f16 }, { D_bf16, D_f16 }, { D_f16, D_f32 } };
	bool flt = dtype_is_float(to) && dtype_info[to].use == U_any && dtype_info[to].bits <= 32, any;
	CastSequence half;

	if (!dtype_is_narrow(from) || (!flt && dtype_info[to].mma != MMA_i8))
		return false;
	any = make_direct(r, from, bit_order, to, features);
	if (dtype_info[from].kind != K_flt)
		return any;
	for (size_t i = 0; i < COUNT_OF(way); i++) {
		if (way[i].to != to || !recipe_exact(from, way[i].via) ||
		    !make_direct(&half, from, bit_order, way[i].via, features))
			continue;
		half.to = to;
		if (!any || recipe_instructions(&half) < recipe_instructions(r))
			*r = half;
		any = true;
	}
	return any;
}

/* Returns the conversions from the outputs to the result: to f32 one instruction per element, from f32 one
 * per pair. */
static int
conversions(const CastSequence *r)
{
	if (r->via == r->to)
		return 0;
	return (r->via == D_f32 ? 0 : BIT_GROUP) + (r->to == D_f32 ? 0 : BIT_GROUP / 2);
}

int
recipe_arithmetic(const CastSequence *r)
{
	int n = conversions(r);

	for (int j = 0; j < r->nout; j++) {
		const RecipeOut *o = &r->out[j];

		n += (o->scaled || o->moved) + (o->second != VAL_NONE && o->moved);
	}
	return n;
}

bool
recipe_takes(const CastSequence *r, int64_t lo, int64_t hi)
{
	/* all integers up to the limit are values of the type */
	int64_t limit = (int64_t)1 << (dtype_info[r->to].man + 1);

	if (lo > hi || lo < -limit || hi > limit)
		return false;
	for (int j = 0; j < r->nout; j++)
		for (int i = 0; i < 2; i++) {
			int64_t less = r->out[j].less[i];

			if (less <= 0 || less + hi > limit || less + lo < -limit)
				return false;
		}
	return true;
}

int
recipe_words(DType from, int bit_order)
{
	int bits = dtype_info[from].bits;

	return bit_order ? bits : slot_bits(bits);
}
