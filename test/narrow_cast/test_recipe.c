/* test_recipe.c - tests the cast sequences, step by step in C: every code of every type in every element of a
 * group, with random values in the other elements, against the definition of the formats. */
#include "infer/narrow_cast/cast_sequence.h"
#include "test/check.h"
#include "test/ir/util_number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the instructions do --------------------------------------------------------------------- */

static uint32_t
prmt(uint32_t x, uint32_t y, uint32_t sel)
{
	uint32_t out = 0;

	for (int i = 0; i < 4; i++) {
		uint32_t s = sel >> 4 * i & 15, b = (s & 4 ? y >> 8 * (s & 3) : x >> 8 * (s & 3)) & 0xff;

		out |= (s & 8 ? (b & 0x80 ? 0xffu : 0u) : b) << 8 * i;
	}
	return out;
}

/* cvt.rn.f16x2.e4m3x2 and e5m2x2: every code's number as f16. */
static uint32_t
half_of(DType d, uint32_t code)
{
	int man = dtype_info[d].man, shift = 10 - man, e;
	uint32_t sign = (code & 0x80) << 8, m = code & 0x7f;

	if (d == D_e5m2)
		return code << 8;
	if (m == 0x7f)
		return 0x7fff;
	if (m >> man)
		return sign | ((m << shift) + (8u << 10));
	for (e = 8; m && !(m >> man); e--)
		m <<= 1;
	return m ? sign | (uint32_t)(e + 1) << 10 | (m & ((1u << man) - 1)) << shift : sign;
}

static uint32_t
run_step(const CastSequence *r, const CastStep *s, uint32_t x, uint32_t y, uint32_t z)
{
	switch (s->op) {
	case ST_shift: return s->n > 0 ? x >> s->n : x << -s->n;
	case ST_funnel: return (uint32_t)(((uint64_t)y << 32 | x) >> s->n);
	case ST_mix: return (x & s->m) ^ y;
	case ST_pick: return prmt(x, y, s->m);
	case ST_choose: return (x & s->m) | (y & ~s->m);
	case ST_look: return prmt(s->m, s->c, x);
	case ST_take: return prmt(x, y, z);
	case ST_half:
		x >>= 8 * s->n;
		return half_of(r->from, x & 255) | half_of(r->from, x >> 8 & 255) << 16;
	default: return x + s->c;
	}
}

/* ---- what the formats say ------------------------------------------------------------------------- */

static double
wide_value(DType d, uint32_t bits)
{
	if (d == D_f16)
		return float_code_value(bits, 5, 10, true);
	return d == D_bf16 ? float_code_value(bits, 8, 7, true) : float_code_value(bits, 8, 23, true);
}

/* Rounded to nearest, ties to even, to so many bits of mantissa. */
static double
rounded(double x, int man)
{
	int e;

	frexp(x, &e);
	return x == 0 || isnan(x) ? x : ldexp(nearbyint(ldexp(x, man + 1 - e)), e - man - 1);
}

/* ---- a group ------------------------------------------------------------------------------------- */

static int
bit_of(int bits, int bit_order, int e, int b)
{
	static const int slot[] = { 0, 1, 2, 4, 4, 8, 8, 8, 8 };

	return bit_order ? bit_order_bit(bits, bit_order, e, b) : e * (bits > 8 ? bits : slot[bits]) + b;
}

/* Steps take what is there before them. */
static void
check_order(const CastSequence *r)
{
	for (int i = 0; i < r->nstep; i++) {
		const CastStep *s = &r->step[i];

		ck_assert_int_lt(s->x, VAL_STEP + i);
		ck_assert_int_lt(s->y, VAL_STEP + i);
		ck_assert(s->op == ST_take ? s->z >= VAL_STEP && s->z < VAL_STEP + i : s->z == VAL_NONE);
	}
}

static void
run(const CastSequence *r, const uint32_t *word, uint32_t *value)
{
	for (int i = 0; i < r->nstep; i++) {
		const CastStep *s = &r->step[i];
		uint32_t x = s->x < VAL_STEP ? word[s->x] : value[s->x - VAL_STEP], y = s->c, z = 0;

		if (s->y != VAL_NONE)
			y = s->y < VAL_STEP ? word[s->y] : value[s->y - VAL_STEP];
		if (s->z != VAL_NONE)
			z = value[s->z - VAL_STEP];
		value[i] = run_step(r, s, x, y, z);
	}
}

static uint32_t
value_of(const uint32_t *word, const uint32_t *value, int i)
{
	return i < VAL_STEP ? word[i] : value[i - VAL_STEP];
}

static void
check_element(const CastSequence *r, const uint32_t *word, const uint32_t *value, int e, unsigned code)
{
	int lane = dtype_info[r->via].bits, lanes = 32 / lane, at = e % lanes * lane;
	uint32_t mask = lane == 32 ? 0xffffffff : (1u << lane) - 1;
	const RecipeOut *o = &r->out[e / lanes];
	uint32_t v = value_of(word, value, o->value) >> at & mask;
	double x, want = code_value(r->from, code), y = 0;

	if (lane == 8) {
		if (v != ((uint32_t)(int)want & 0xff))
			ck_abort_msg("%s order %d to %s: code %x of %d gives %x", dtype_info[r->from].name,
			             r->bit_order, dtype_info[r->to].name, code, e, v);
		return;
	}
	want = rounded(rounded(want, dtype_info[r->via].man) - r->less, dtype_info[r->via].man);
	x = wide_value(r->via, v);
	if (o->scaled)
		x *= wide_value(r->via, o->mul >> at & mask);
	if (o->second != VAL_NONE)
		y = wide_value(r->via, value_of(word, value, o->second) >> at & mask);
	if (o->moved)
		y += wide_value(r->via, o->add >> at & mask);
	if (o->second != VAL_NONE && o->moved && fabs(y) > 256) /* is no number of bf16 */
		ck_abort_msg("%s: a rounded constant", dtype_info[r->from].name);
	if (o->second != VAL_NONE || o->moved)
		x += y;
	if (x == want ? !signbit(x) != !signbit(want) : !isnan(x) || !isnan(want))
		ck_abort_msg("%s order %d to %s: code %x of element %d gives %g, not %g",
		             dtype_info[r->from].name, r->bit_order, dtype_info[r->to].name, code, e, x,
		             want);
}

static void
check_recipe(const CastSequence *r)
{
	uint32_t word[8], value[RECIPE_STEPS], seed = 1;
	int bits = dtype_info[r->from].bits;

	check_order(r);
	for (int e = 0; e < BIT_GROUP; e++)
		for (unsigned code = 0; code < 1u << bits; code++) {
			for (int w = 0; w < 8; w++)
				word[w] = seed = seed * 1664525u + 1013904223u;
			for (int w = 0; w < 8; w++)
				word[w] ^= word[w] >> 15;
			for (int b = 0; b < bits; b++) {
				int at = bit_of(bits, r->bit_order, e, b);

				word[at / 32] &= ~(1u << at % 32);
				word[at / 32] |= (uint32_t)(code >> b & 1) << at % 32;
			}
			run(r, word, value);
			check_element(r, word, value, e, code);
		}
}

TEST_EACH(all_codes, D_COUNT)
{
	static const char *const archs[] = { "sm_75", "sm_80", "sm_89" };
	static const int orders[] = { 0, 8, 16, 4, 33, 34, 35, 36, 37, 38, 39, 40, 41 };
	static const DType to[] = { D_f16, D_bf16, D_f32, D_u8, D_i8 };
	DType from = (DType)_i;
	int bits = dtype_info[from].bits, n = 0;
	static CastSequence r;

	for (size_t s = 0; s < COUNT_OF(orders); s++)
		for (size_t i = 0; i < COUNT_OF(to) * COUNT_OF(archs); i++) {
			unsigned features = target_find(archs[i % COUNT_OF(archs)])->features;
			int words = orders[s] ? bits : bit_of(bits, 0, 1, 0);

			if (bits > 8 || !bit_order_valid(bits, orders[s]))
				continue;
			if (!recipe_make(&r, from, orders[s], to[i / COUNT_OF(archs)], features))
				continue;
			ck_assert_int_eq(recipe_words(from, orders[s]), words);
			check_recipe(&r);
			n += orders[s] <= 16 && orders[s] != 4;
		}
	if (dtype_info[from].kind == K_sint || dtype_info[from].kind == K_uint) /* sm_75: not to bf16 */
		ck_assert_int_eq(n, (bits < 8) * 42 + (bits == 8) * 24);
	else if (from != D_bool && bits <= 8 && from != D_nf4) /* all to f32, and to one of f16 and bf16 */
		ck_assert_int_ge(n, from == D_e4m3 || from == D_e5m2 ? 12 : 24);
}

/* A constant that is taken off is in the table; signs that were beside it would be in it too, in f16 for
 * more steps than are saved. */
TEST(less_a_number)
{
	static const struct {
		DType from;
		int bit_order;
		bool any;
	} row[] = { { D_nf4, 0, true }, { D_e1m1, 4, true }, { D_e2m1, 0, false },
		    { D_e3m4, 0, false } };
	static const DType to[] = { D_f16, D_bf16, D_f32 };
	static const double number[] = { 8, -3, 0.3333740234375, 60000 };
	static CastSequence cast, r;

	for (size_t i = 0; i < COUNT_OF(row) * COUNT_OF(to) * COUNT_OF(number); i++) {
		size_t k = i / COUNT_OF(number) % COUNT_OF(row);
		DType t = to[i / COUNT_OF(number) / COUNT_OF(row)];
		double less = rounded(number[i % COUNT_OF(number)], dtype_info[t].man);
		bool any;

		if (!recipe_make(&cast, row[k].from, row[k].bit_order, t, target_find("sm_80")->features))
			continue;
		any = recipe_less(&r, &cast, less);
		if (t == D_f16)
			ck_assert_msg(any == row[k].any, "%s", dtype_info[row[k].from].name);
		if (any)
			check_recipe(&r);
	}
}

/* ---- the figures: test/narrow_cast/recipes.tsv ------------------------------------------------------ */

static const struct {
	const char *name;
	DType to;
	int bit_order;
	const char *arch;
} column[] = {
	{ "f16", D_f16, 16, "sm_80" },
	{ "bf16", D_bf16, 16, "sm_80" },
	{ "half f16", D_f16, ORDER_HALF, "sm_80" },
	{ "half bf16", D_bf16, ORDER_HALF, "sm_80" },
	{ "table f16", D_f16, 4, "sm_80" },
	{ "byte", D_i8, 8, "sm_80" },
	{ "natural f16", D_f16, 0, "sm_80" },
	{ "natural bf16", D_bf16, 0, "sm_80" },
	{ "natural f32", D_f32, 0, "sm_80" },
	{ "sm_75 natural f32", D_f32, 0, "sm_75" },
	{ "sm_89 natural f16", D_f16, 0, "sm_89" },
	{ "sm_89 natural bf16", D_bf16, 0, "sm_89" },
	{ "sm_89 natural f32", D_f32, 0, "sm_89" },
};

/* Machine instructions of 32 elements, 0 without a recipe. */
static int
cost_of(DType from, size_t c)
{
	unsigned features = target_find(column[c].arch)->features;
	int bit_order = column[c].bit_order;
	static CastSequence r;

	if (bit_order == ORDER_HALF) /* the type's own */
		bit_order += dtype_info[column[c].to].man - dtype_info[from].man;
	if (column[c].bit_order == ORDER_HALF &&
	    (dtype_info[from].kind != K_flt || !bit_order_valid(dtype_info[from].bits, bit_order)))
		return 0;
	if (bit_order == 4 && (dtype_info[from].kind != K_flt || dtype_info[from].bits > 3))
		return 0;
	return recipe_make(&r, from, bit_order, column[c].to, features) ? recipe_instructions(&r) : 0;
}

static void
write_costs(FILE *f)
{
	fprintf(f, "type");
	for (size_t c = 0; c < COUNT_OF(column); c++)
		fprintf(f, "\t%s", column[c].name);
	for (int d = 0; d < D_COUNT; d++) {
		if (dtype_info[d].bits > 8 || d == D_bool)
			continue;
		fprintf(f, "\n%s", dtype_info[d].name);
		for (size_t c = 0; c < COUNT_OF(column); c++) {
			int n = cost_of((DType)d, c);

			fprintf(f, n ? "\t%.3f" : "\t-", (double)n / BIT_GROUP);
		}
	}
	fprintf(f, "\n");
}

/* Instructions per element in the table: they may fall, and then UPDATE=1 writes it anew. */
TEST(costs)
{
	static const char path[] = "test/narrow_cast/recipes.tsv";
	char line[200], name[16], *end, *at;
	FILE *f;

	if (getenv("UPDATE")) {
		f = fopen(path, "w");
		ck_assert_ptr_nonnull(f);
		write_costs(f);
		fclose(f);
	}
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
	for (int d = 0; d < D_COUNT; d++) {
		if (dtype_info[d].bits > 8 || d == D_bool)
			continue;
		ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
		snprintf(name, sizeof name, "%s\t", dtype_info[d].name);
		ck_assert_msg(!strncmp(line, name, strlen(name)), "%s is not in %s: UPDATE=1", name, path);
		at = line + strlen(name);
		for (size_t c = 0; c < COUNT_OF(column); c++, at = end + 1) {
			double now = (double)cost_of((DType)d, c) / BIT_GROUP, was = strtod(at, &end);

			if (end == at) /* "-" */
				end++;
			else
				ck_assert_msg(now > 0 && now <= was + 0.0006, "%s to %s: %.3f, not %.3f",
				              dtype_info[d].name, column[c].name, now, was);
		}
	}
	fclose(f);
}

TEST_PROGRAM(.timeout = 60);
