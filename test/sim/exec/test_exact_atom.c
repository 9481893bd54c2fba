/* test_exact_atom.c - tests the results of atomic operations in global and shared memory: a million operands
 * each, against integers (exact.h). MILLIONS=N makes it N millions. */
#include "test/sim/exec/evalmany.h"
#include "test/sim/exec/exact.h"
#include "test/check.h"

/* Rows of tables and functions of a line: they are laid out by hand. */
// clang-format off

typedef uint32_t u32;
typedef uint64_t u64;

/* The low bits of a become `fresh`; what is beside them stays. */
static u64
beside(const In *v, int bits, u64 fresh)
{
	u64 mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;

	return (v->a & ~mask) | (fresh & mask);
}

static u64
sum(const Fmt *f, u64 a, u64 b)
{
	return pack(f, add(unpack(f, a), unpack(f, b), R_NEAREST), R_NEAREST);
}
static u64
sum2(const Fmt *f, u64 a, u64 b)
{
	return sum(f, a & 0xffff, b & 0xffff) | sum(f, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
}
/* PTX ISA, "atom": f32 in global memory knows no subnormals, in shared memory it does. */
static u64
flush(u64 v)
{
	return v & 0x7f800000 ? v & UINT32_MAX : v & 0x80000000;
}
static u64
global_sum(u64 a, u64 b)
{
	return flush(sum(&f32, flush(a), flush(b)));
}
/* As min and max: -0 is less than +0, a number wins against a NaN. */
static u64
extreme(const Fmt *f, u64 a, u64 b, bool max)
{
	bool an, bn, less;

	a &= 0xffff;
	b &= 0xffff;
	an = unpack(f, a).kind == NOT_A_NUMBER;
	bn = unpack(f, b).kind == NOT_A_NUMBER;
	less = (a ^ b) & 0x8000 ? a >> 15 : a & 0x8000 ? a > b
	                                               : a < b;
	return an && bn ? f->nan : an    ? b
	                   : bn          ? a
	                   : less != max ? a
	                                 : b;
}
static u64
extremes(const Fmt *f, u64 a, u64 b, int n, bool max)
{
	u64 r = 0;

	for (int i = 0; i < n; i++)
		r |= extreme(f, a >> 16 * i, b >> 16 * i, max) << 16 * i;
	return r;
}

/* In global memory the place of the result serves; in shared memory each thread has its own.  An atom that gives
 * something else than the old value spoils the result. */
#define GLOBAL(op, type, old, a, args) \
	"st.global.u64 [%q2], %da;\natom.global." op "." type " " old ", [%q2], " args ";\n" \
	"ld.global.u64 %do, [%q2];\n" SPOIL(old, a)
#define SHARED(op, type, old, a, args) \
	"mov.u32 %t6, %tid.x;\nmov.u32 %t7, place;\nmad.lo.u32 %t7, %t6, 8, %t7;\n" \
	"st.shared.u64 [%t7], %da;\natom.shared." op "." type " " old ", [%t7], " args ";\n" \
	"ld.shared.u64 %do, [%t7];\n" SPOIL(old, a)
#define RED(op, type, args) \
	"st.global.u64 [%q2], %da;\nred.global." op "." type " [%q2], " args ";\nld.global.u64 %do, [%q2];\n"
#define SPOIL(old, a) "setp.ne." a ";\n@%p1 xor.b64 %do, %do, 0xabcdef0123456789;"
#define S16 "%v0", "b16 %p1, %v0, %ha"
#define S32 "%t0", "b32 %p1, %t0, %ra"
#define S64 "%u0", "b64 %p1, %u0, %da"
#define PLACE(W, ...) W(__VA_ARGS__)
#define BOTH(X, id, op, type, bits, S, args, value) \
	X(g_##id, PLACE(GLOBAL, op, type, S, args), beside(v, bits, value)) \
	X(s_##id, PLACE(SHARED, op, type, S, args), beside(v, bits, value)) \
	X(r_##id, RED(op, type, args), beside(v, bits, value))
#define ATOM(X, id, op, type, bits, S, args, value) \
	X(g_##id, PLACE(GLOBAL, op, type, S, args), beside(v, bits, value)) \
	X(s_##id, PLACE(SHARED, op, type, S, args), beside(v, bits, value))
#define WORDS(X, op, value32, value64) \
	BOTH(X, op##32, #op, "b32", 32, S32, "%rb", value32) BOTH(X, op##64, #op, "b64", 64, S64, "%db", value64)
#define ORDER(X, name, cmp) \
	BOTH(X, name##u32, #name, "u32", 32, S32, "%rb", (u32)v->a cmp (u32)v->b ? v->a : v->b) \
	BOTH(X, name##s32, #name, "s32", 32, S32, "%rb", (int32_t)v->a cmp (int32_t)v->b ? v->a : v->b) \
	BOTH(X, name##u64, #name, "u64", 64, S64, "%db", v->a cmp v->b ? v->a : v->b) \
	BOTH(X, name##s64, #name, "s64", 64, S64, "%db", (int64_t)v->a cmp (int64_t)v->b ? v->a : v->b)
#define VECTOR(X, id, op, type, n, value) \
	X(v_##id, "st.global.u64 [%q2], %da;\nmov.b64 {%t0, %t1}, %db;\nmov.b32 {%v0, %v1}, %t0;\n" \
	  "atom.global." op ".noftz.v2." type " " n ";\nld.global.u64 %do, [%q2];", value)
#define ALL(X) \
	WORDS(X, and, v->a & v->b, v->a & v->b) WORDS(X, or, v->a | v->b, v->a | v->b) WORDS(X, xor, v->a ^ v->b, v->a ^ v->b) \
	BOTH(X, addu32, "add", "u32", 32, S32, "%rb", v->a + v->b) BOTH(X, adds32, "add", "s32", 32, S32, "%rb", v->a + v->b) \
	BOTH(X, addu64, "add", "u64", 64, S64, "%db", v->a + v->b) \
	BOTH(X, inc, "inc", "u32", 32, S32, "%rb", (u32)v->a >= (u32)v->b ? 0 : v->a + 1) \
	BOTH(X, dec, "dec", "u32", 32, S32, "%rb", !(u32)v->a || (u32)v->a > (u32)v->b ? v->b : v->a - 1) \
	ORDER(X, min, <) ORDER(X, max, >) \
	ATOM(X, ex32, "exch", "b32", 32, S32, "%rb", v->b) ATOM(X, ex64, "exch", "b64", 64, S64, "%db", v->b) \
	ATOM(X, cas16, "cas", "b16", 16, S16, "%hb, %hc", (uint16_t)v->a == (uint16_t)v->b ? v->c : v->a) \
	ATOM(X, cas32, "cas", "b32", 32, S32, "%rb, %rc", (u32)v->a == (u32)v->b ? v->c : v->a) \
	ATOM(X, cas64, "cas", "b64", 64, S64, "%db, %dc", v->a == v->b ? v->c : v->a) \
	X(g_f32, PLACE(GLOBAL, "add", "f32", S32, "%rb"), beside(v, 32, global_sum(v->a, v->b))) \
	X(s_f32, PLACE(SHARED, "add", "f32", S32, "%rb"), beside(v, 32, sum(&f32, v->a & UINT32_MAX, v->b & UINT32_MAX))) \
	X(r_f32, RED("add", "f32", "%rb"), beside(v, 32, global_sum(v->a, v->b))) \
	X(g_f64, PLACE(GLOBAL, "add", "f64", S64, "%db") "\n" NO_NAN, number(sum(&f64, v->a, v->b))) \
	X(s_f64, PLACE(SHARED, "add", "f64", S64, "%db") "\n" NO_NAN, number(sum(&f64, v->a, v->b))) \
	BOTH(X, f16, "add", "noftz.f16", 16, S16, "%hb", sum(&f16, v->a & 0xffff, v->b & 0xffff)) \
	BOTH(X, bf16, "add", "noftz.bf16", 16, S16, "%hb", sum(&bf16, v->a & 0xffff, v->b & 0xffff)) \
	BOTH(X, f16x2, "add", "noftz.f16x2", 32, S32, "%rb", sum2(&f16, v->a, v->b)) \
	BOTH(X, bf16x2, "add", "noftz.bf16x2", 32, S32, "%rb", sum2(&bf16, v->a, v->b)) \
	VECTOR(X, add, "add", "f16x2", "{%t2, %t3}, [%q2], {%t0, %t1}", \
	       sum2(&f16, v->a, v->b) | sum2(&f16, v->a >> 32, v->b >> 32) << 32) \
	VECTOR(X, min, "min", "bf16x2", "{%t2, %t3}, [%q2], {%t0, %t1}", extremes(&bf16, v->a, v->b, 4, false)) \
	VECTOR(X, max, "max", "f16", "{%v2, %v3}, [%q2], {%v0, %v1}", beside(v, 32, extremes(&f16, v->a, v->b, 2, true)))
/* which NaN an f64 sum is is not said: 0 stands for it */
#define NO_NAN "testp.notanumber.f64 %p2, %do;\nselp.b64 %do, 0, %do, %p2;"
static u64
number(u64 v)
{
	return unpack(&f64, v).kind == NOT_A_NUMBER ? 0 : v;
}
#define X(id, ptx, value) static u64 m_##id(const In *v) { return (u64)(value); }
ALL(X)
#undef X
static const Op ops[] = {
#define X(id, ptx, value) { ptx, 'd', m_##id },
	ALL(X)
#undef X
};
enum { NOPS = sizeof ops / sizeof *ops, ROUNDS = (NOPS + MANY_OPS - 1) / MANY_OPS };

/* Of all widths at once: often small, often special in f64, f32 or 16 bits. */
static u64
operand(void)
{
	static const u64 edge[] = { 0, 1, UINT64_MAX, 0x7f8000007f800000, 0xff800000ff800000, 0x7ff0000000000000,
		                    0xfff0000000000000, 0x7c00fc00, 0x7f80ff80, 0x8000000080000000, 0x80008000, 0x7fffffff, 0x0010000000000000,
		                    0x00800000, 0x807fffff, 0x04000400, 0x00800080, 0x7ff8000000000000, 0x7fc07e00 };
	u64 r = rnd();

	switch (r % 8) {
	case 0: return edge[(r >> 8) % (sizeof edge / sizeof *edge)];
	case 1: return (r >> 8) % 10;
	case 2: return rnd() & 0x800fffff807fffff;
	case 3: return (rnd() & 0xbfffffffbfffffff) | 0x3000000030000000;
	default: return rnd();
	}
}

TEST_EACH(exact, ROUNDS)
{
	enum { N = 1 << 13 };
	const char *env = getenv("MILLIONS");
	long times = 128 * (env ? atol(env) : 1);
	static In v[N];
	unsigned from = (unsigned)_i * MANY_OPS, n = NOPS - from < MANY_OPS ? NOPS - from : MANY_OPS;
	Many e = many_open(ops + from, n, N);

	state = 0x9e3779b97f4a7c15ull + (unsigned)_i;
	for (long t = 0; t < times; t++) {
		for (unsigned i = 0; i < N; i++) {
			u64 r = rnd();
			v[i] = (In){ operand(), operand(), operand() };
			if (r % 4 == 0) /* equal in all bits, in some, or but for a sign */
				v[i].b = v[i].a ^ (r & 16 ? 0 : r & 32 ? rnd() << 16
				                                       : 0x8000800080008000);
		}
		many_compare(&e, v);
	}
	many_close(&e);
}

MANY_PROGRAM;
