/* test_exact_half.c - tests f16 and bf16 arithmetic and comparisons, scalar and packed in pairs: every first
 * operand with sixteen others, a million pairs for each instruction, against integer arithmetic (exact.h).
 * MILLIONS=N makes it N millions. */
#include "test/check.h"
#include "test/sim/exec/evalmany.h"
#include "test/sim/exec/exact.h"

/* Rows of tables and functions of a line: they are laid out by hand. */
// clang-format off

typedef enum Do { ADD, SUB, MUL, FMA, MIN, MAX, ABS, NEG } Do;
enum { FTZ = 1, SAT = 2, RELU = 4, NANS = 8, XOR = 16 };

static uint64_t
flushed(const Fmt *f, uint64_t v, int how)
{
	return how & FTZ && !(v >> f->man & ((1u << f->exp) - 1)) ? v & 0x8000 : v;
}

/* PTX ISA, "min" and "max" of half precision: -0 is less than +0; a NaN loses, unless .NaN; .xorsign.abs compares
 * magnitudes and gives the result the product of the signs. */
static uint64_t
extreme(const Fmt *f, Do what, int how, uint64_t a, uint64_t b)
{
	uint64_t sign = (a ^ b) & 0x8000, r;
	bool an, bn, less;

	if (how & XOR) {
		a &= 0x7fff;
		b &= 0x7fff;
	}
	an = unpack(f, a).kind == NOT_A_NUMBER;
	bn = unpack(f, b).kind == NOT_A_NUMBER;
	if ((an && bn) || (how & NANS && (an || bn)))
		return f->nan;
	less = order(unpack(f, a), unpack(f, b)) < 0 || (!(a & 0x7fff) && !(b & 0x7fff) && a > b);
	r = an ? b : bn              ? a
	     : less == (what == MIN) ? a
	                             : b;
	return how & XOR ? r | sign : r;
}

static uint64_t
half(const Fmt *f, Do what, int how, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t r;
	Num x, y;

	a = flushed(f, a & 0xffff, how);
	b = flushed(f, b & 0xffff, how);
	c = flushed(f, c & 0xffff, how);
	x = unpack(f, a);
	y = unpack(f, b);
	switch (what) {
	case ADD: r = pack(f, add(x, y, R_NEAREST), R_NEAREST); break;
	case SUB: r = pack(f, add(x, negated(y), R_NEAREST), R_NEAREST); break;
	case MUL: r = pack(f, mul(x, y), R_NEAREST); break;
	case FMA: r = pack(f, add(mul(x, y), unpack(f, c), R_NEAREST), R_NEAREST); break;
	case MIN:
	case MAX: return extreme(f, what, how, a, b);
	case ABS: return a & 0x7fff;
	default: return a ^ 0x8000;
	}
	r = flushed(f, r, how);
	x = unpack(f, r);
	if (how & SAT) {
		uint64_t one = (uint64_t)((1u << (f->exp - 1)) - 1) << f->man;
		r = x.kind == NOT_A_NUMBER || r & 0x8000 ? 0 : r > one ? one
		                                                       : r;
	}
	return how & RELU && x.kind != NOT_A_NUMBER && r & 0x8000 ? 0 : r;
}
static uint64_t
both(const Fmt *f, Do what, int how, const In *v)
{
	return half(f, what, how, v->a, v->b, v->c) | half(f, what, how, v->a >> 16, v->b >> 16, v->c >> 16) << 16;
}

/* Relations as sets of outcomes: 1 less, 2 equal, 4 greater, 8 unordered. */
static unsigned
holds(const Fmt *f, unsigned set, int how, uint64_t a, uint64_t b)
{
	int o = order(unpack(f, flushed(f, a & 0xffff, how)), unpack(f, flushed(f, b & 0xffff, how)));

	return set >> (o + 1) & 1;
}
static uint64_t
holds2(const Fmt *f, unsigned set, int how, const In *v)
{
	return holds(f, set, how, v->a, v->b) | holds(f, set, how, v->a >> 16, v->b >> 16) << 1;
}
#define RELATIONS(R) R(eq, 2) R(ne, 5) R(lt, 1) R(le, 3) R(gt, 4) R(ge, 6) R(equ, 10) R(neu, 13) R(ltu, 9) R(leu, 11) \
	R(gtu, 12) R(geu, 14) R(num, 7) R(nan, 8)

/* name, format, operation, flags, opcode up to the type, operands */
#define BIN(Y, F, id, op, what, how) Y(F, id, what, how, op, ", %a, %b")
#define ARITH(Y, F, name, what) \
	BIN(Y, F, name, #name, what, 0) BIN(Y, F, name##_z, #name ".ftz", what, FTZ) \
	BIN(Y, F, name##_s, #name ".sat", what, SAT) BIN(Y, F, name##_zs, #name ".rn.ftz.sat", what, FTZ | SAT)
#define EXTREMES(Y, F, name, what) \
	BIN(Y, F, name, #name, what, 0) BIN(Y, F, name##_n, #name ".NaN", what, NANS) \
	BIN(Y, F, name##_x, #name ".xorsign.abs", what, XOR) \
	BIN(Y, F, name##_nx, #name ".NaN.xorsign.abs", what, NANS | XOR)
#define TRI(Y, F, id, op, how) Y(F, id, FMA, how, op, ", %a, %b, %c")
#define F16(Y) \
	ARITH(Y, f16, add, ADD) ARITH(Y, f16, sub, SUB) ARITH(Y, f16, mul, MUL) \
	TRI(Y, f16, fma, "fma.rn", 0) TRI(Y, f16, fma_z, "fma.rn.ftz", FTZ) TRI(Y, f16, fma_s, "fma.rn.sat", SAT) \
	TRI(Y, f16, fma_zs, "fma.rn.ftz.sat", FTZ | SAT) TRI(Y, f16, fma_r, "fma.rn.relu", RELU) \
	TRI(Y, f16, fma_zr, "fma.rn.ftz.relu", FTZ | RELU) \
	EXTREMES(Y, f16, min, MIN) EXTREMES(Y, f16, max, MAX) BIN(Y, f16, min_z, "min.ftz", MIN, FTZ) \
	BIN(Y, f16, max_z, "max.ftz", MAX, FTZ) BIN(Y, f16, min_zn, "min.ftz.NaN", MIN, FTZ | NANS) \
	BIN(Y, f16, max_znx, "max.ftz.NaN.xorsign.abs", MAX, FTZ | NANS | XOR) \
	Y(f16, abs, ABS, 0, "abs", ", %a") Y(f16, abs_z, ABS, FTZ, "abs.ftz", ", %a") \
	Y(f16, neg, NEG, 0, "neg", ", %a") Y(f16, neg_z, NEG, FTZ, "neg.ftz", ", %a")
#define BF16(Y) \
	BIN(Y, bf16, add, "add", ADD, 0) BIN(Y, bf16, sub, "sub.rn", SUB, 0) BIN(Y, bf16, mul, "mul", MUL, 0) \
	TRI(Y, bf16, fma, "fma.rn", 0) TRI(Y, bf16, fma_r, "fma.rn.relu", RELU) \
	EXTREMES(Y, bf16, min, MIN) EXTREMES(Y, bf16, max, MAX) \
	Y(bf16, abs, ABS, 0, "abs", ", %a") Y(bf16, neg, NEG, 0, "neg", ", %a")
#define Y(F, id, what, how, op, args) \
static uint64_t one_##F##id(const In *v) { return half(&F, what, how, v->a, v->b, v->c); } \
static uint64_t two_##F##id(const In *v) { return both(&F, what, how, v); }
F16(Y)
BF16(Y)
#undef Y
#define R(name, set) \
static uint64_t f16_##name(const In *v) { return holds(&f16, set, 0, v->a, v->b); } \
static uint64_t bf16_##name(const In *v) { return holds(&bf16, set, 0, v->a, v->b); } \
static uint64_t f16z_##name(const In *v) { return holds(&f16, set, FTZ, v->a, v->b) & (v->c >> 3); } \
static uint64_t f16x2_##name(const In *v) { return holds2(&f16, set, FTZ, v); } \
static uint64_t bf16x2_##name(const In *v) { return holds2(&bf16, set, 0, v); }
	RELATIONS(R)
#undef R
	static uint64_t s_ones(const In *v)
{
	return holds(&f16, 9, 0, v->a, v->b) ? 0xffff : 0;
}
static uint64_t
s_word(const In *v)
{
	return holds(&bf16, 6, 0, v->a, v->b) ? UINT32_MAX : 0;
}
static uint64_t
s_f16(const In *v)
{
	return holds(&f16, 4, FTZ, v->a, v->b) ? 0x3c00 : 0;
}
static uint64_t
s_bf16(const In *v)
{
	return holds(&bf16, 5, 0, v->a, v->b) || v->c & 8 ? 0x3f80 : 0;
}
static uint64_t
s_two(const In *v)
{
	uint64_t h = holds2(&f16, 12, 0, v);

	return (h & 1 ? 0x3c00 : 0) | (h & 2 ? 0x3c000000 : 0);
}
static uint64_t
s_twob(const In *v)
{
	uint64_t h = holds2(&bf16, 7, 0, v);

	return (h & 1 ? 0x3f80 : 0) | (h & 2 ? 0x3f800000 : 0);
}
static uint64_t
s_mask(const In *v)
{
	uint64_t h = holds2(&bf16, 1, 0, v);

	return (h & 1 ? 0xffff : 0) | (h & 2 ? 0xffff0000 : 0);
}

/* %a, %b, %c become registers of 16 or 32 bits by these. */
#define SETP(type, name) "setp." #name "." type " %p1, %ha, %hb;\nselp.b32 %ro, 1, 0, %p1;"
#define SETPAND(type, name) "and.b32 %t0, %rc, 8;\nsetp.ne.u32 %p2, %t0, 0;\n" \
	"setp." #name ".and.ftz." type " %p1, %ha, %hb, %p2;\nselp.b32 %ro, 1, 0, %p1;"
#define SETP2(type, name) "setp." #name "." type " %p1|%p2, %ra, %rb;\nselp.b32 %t0, 1, 0, %p1;\n" \
	"selp.b32 %t1, 2, 0, %p2;\nor.b32 %ro, %t0, %t1;"
static const Op single[] = {
#define Y(F, id, what, how, op, args) { op "." #F " %o" args ";", 'h', one_##F##id },
	F16(Y) BF16(Y)
#undef Y
#define R(name, set) { SETP("f16", name), 'r', f16_##name }, { SETP("bf16", name), 'r', bf16_##name }, \
	{ SETPAND("f16", name), 'r', f16z_##name },
	RELATIONS(R)
#undef R
	{ "set.ltu.u16.f16 %ho, %ha, %hb;", 'h', s_ones },
	{ "set.ge.s32.bf16 %ro, %ha, %hb;", 'r', s_word },
	{ "set.gt.ftz.f16.f16 %ho, %ha, %hb;", 'h', s_f16 },
	{ "and.b32 %t0, %rc, 8;\nsetp.ne.u32 %p2, %t0, 0;\nset.ne.or.bf16.bf16 %ho, %ha, %hb, %p2;", 'h', s_bf16 },
},
		paired[] = {
#define Y(F, id, what, how, op, args) { op "." #F "x2 %o" args ";", 'r', two_##F##id },
			F16(Y) BF16(Y)
#undef Y
#define R(name, set) { SETP2("ftz.f16x2", name), 'r', f16x2_##name }, { SETP2("bf16x2", name), 'r', bf16x2_##name },
			RELATIONS(R)
#undef R
			{ "set.gtu.f16x2.f16x2 %ro, %ra, %rb;", 'r', s_two },
			{ "set.num.bf16x2.bf16x2 %ro, %ra, %rb;", 'r', s_twob },
			{ "set.lt.u32.bf16x2 %ro, %ra, %rb;", 'r', s_mask },
		};
enum { ROUNDS1 = (sizeof single / sizeof *single + MANY_OPS - 1) / MANY_OPS,
       ROUNDS2 = (sizeof paired / sizeof *paired + MANY_OPS - 1) / MANY_OPS };

/* A partner for a: often of nearly its magnitude, often at an edge of either format. */
static uint64_t
partner(uint64_t a)
{
	static const uint16_t edge[] = { 0, 1, 2, 0x7f, 0x80, 0x3ff, 0x400, 0x401, 0x3c00, 0x3c01, 0x3f80, 0x7bff, 0x7c00, 0x7c01,
		                         0x7f7f, 0x7f80, 0x7f81, 0x7fff, 0x1400, 0x0c00 };
	uint64_t r = rnd();

	switch (r % 6) {
	case 0: return edge[(r >> 8) % (sizeof edge / sizeof *edge)] | (r >> 16 & 0x8000);
	case 1: return (a ^ 0x8000) + (r >> 8) % 5 - 2;
	case 2: return a + ((r >> 8) % 65 - 32) * 0x80;
	default: return r >> 16 & 0xffff;
	}
}

static bool
nan_of(const char *ptx, uint64_t v)
{
	return (v & 0x7fff) > (strstr(ptx, "bf16") ? 0x7f80 : 0x7c00);
}

/* Which NaN abs and neg give is not said; all others give the canonical one. */
static bool
same(const Op *op, uint64_t got, uint64_t want)
{
	bool sign = !strncmp(op->ptx, "abs", 3) || !strncmp(op->ptx, "neg", 3);

	for (int i = 0; i < 32; i += 16)
		if ((got ^ want) >> i & 0xffff && !(sign && nan_of(op->ptx, got >> i) && nan_of(op->ptx, want >> i)))
			return false;
	return got >> 32 == 0;
}

/* With register names of the width of the operands; the caller's to free. */
static char *
spelt(const char *ptx, char width)
{
	char *s = calloc(1, strlen(ptx) + 20), *o = s;

	for (; *ptx; ptx++) {
		*o++ = *ptx;
		if (*ptx == '%' && (ptx[1] == 'o' || ptx[1] == 'a' || ptx[1] == 'b' || ptx[1] == 'c'))
			*o++ = width;
	}
	return s;
}

static Op
spelt_op(const Op *op)
{
	return (Op){ spelt(op->ptx, op->kind), op->kind, op->want };
}

static void
free_spelt(Op *op, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		free((void *)(uintptr_t)op[k].ptx);
}

static void
run(const Op *table, size_t count, int round, long times)
{
	enum { N = 1 << 13 };
	static In v[N];
	const char *env = getenv("MILLIONS");
	unsigned from = (unsigned)round * MANY_OPS, n = count - from < MANY_OPS ? (unsigned)count - from : MANY_OPS;
	Op ops[MANY_OPS];
	Many e;

	for (unsigned k = 0; k < n; k++)
		ops[k] = spelt_op(&table[from + k]);
	e = many_open(ops, n, N);
	state = 0x9e3779b97f4a7c15ull + (unsigned)round;
	times *= env ? atol(env) : 1;
	for (long t = 0; t < times; t++) {
		for (unsigned i = 0; i < N; i++) {
			uint64_t lo = ((uint64_t)t * N + i) & 0xffff, hi = (lo * 0x6bd5 + (uint64_t)t) & 0xffff;
			v[i] = (In){ hi << 16 | lo, (partner(hi) & 0xffff) << 16 | (partner(lo) & 0xffff), 0 };
			v[i].c = (partner(v[i].b >> 16) & 0xffff) << 16 | (partner(v[i].b) & 0xffff);
		}
		many_run(&e, v);
		for (unsigned k = 0; k < n; k++)
			for (unsigned i = 0; i < N; i++) {
				uint64_t got = e.out[(size_t)k * N + i], want = ops[k].want(&v[i]);
				if (!same(&ops[k], got, want))
					many_differ(&ops[k], &v[i], got, want);
			}
	}
	many_close(&e);
	free_spelt(ops, n);
}

TEST_EACH(assembles, 2)
{
	const Op *table = _i ? paired : single;
	unsigned n = _i ? sizeof paired / sizeof *paired : sizeof single / sizeof *single;
	Op all[sizeof paired / sizeof *paired + sizeof single / sizeof *single];

	for (unsigned k = 0; k < n; k++)
		all[k] = spelt_op(&table[k]);
	many_assemble(all, n);
	free_spelt(all, n);
}

TEST_EACH(alone, ROUNDS1)
{
	run(single, sizeof single / sizeof *single, _i, 128);
}

TEST_EACH(pairs, ROUNDS2)
{
	run(paired, sizeof paired / sizeof *paired, _i, 64);
}

TEST_PROGRAM(.timeout = 600);
