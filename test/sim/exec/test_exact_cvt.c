/* test_exact_cvt.c - tests every number conversion: sources of 8 and 16 bits at every value, wider ones at a
 * million, against integer arithmetic (exact.h). MILLIONS=N makes it N millions. */
#include "test/sim/exec/evalmany.h"
#include "test/sim/exec/exact.h"
#include "test/check.h"

/* Rows of tables and functions of a line: they are laid out by hand. */
// clang-format off

typedef struct Ty { const char *name; char reg; int bits; bool sign; const Fmt *f; } Ty;
enum { U8, S8, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64, TF32, NTY };
static const Ty ty[NTY] = {
	{ "u8", 'h', 8, 0, NULL },
	{ "s8", 'h', 8, 1, NULL },
	{ "u16", 'h', 16, 0, NULL },
	{ "s16", 'h', 16, 1, NULL },
	{ "u32", 'r', 32, 0, NULL },
	{ "s32", 'r', 32, 1, NULL },
	{ "u64", 'd', 64, 0, NULL },
	{ "s64", 'd', 64, 1, NULL },
	{ "f16", 'h', 16, 1, &f16 },
	{ "bf16", 'h', 16, 1, &bf16 },
	{ "f32", 'r', 32, 1, &f32 },
	{ "f64", 'd', 64, 1, &f64 },
	{ "tf32", 'r', 32, 1, &tf32 },
};
enum { FTZ = 1, SAT = 2, RELU = 4, FIN = 8, INT = 16, NOROUND = 32 };

typedef struct Conv {
	char ptx[120];
	char kind;
	int to, from, how;
	Round round;
	/* pairs: destination and source formats of the halves; elements from two registers or one */
	const Fmt *pto, *pfrom;
	bool two;
	int pack; /* cvt.pack: bits of an element, and has a third operand */
} Conv;
static Conv conv[800];
static unsigned nconv;

/* ---- the model ---- */

static uint64_t
mask(int bits)
{
	return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
}

static Num
integer(uint64_t v, int bits, bool sign)
{
	v &= mask(bits);
	return sign && v >> (bits - 1) ? (Num){ FINITE, true, (Mag)(0 - v) & mask(bits), 0 } : (Num){ FINITE, false, v, 0 };
}

/* PTX ISA, "cvt": out of range is clamped, a NaN becomes 0. */
static uint64_t
clamped(Num n, int bits, bool sign)
{
	Mag top = sign ? ((Mag)1 << (bits - 1)) - !n.neg : n.neg ? 0
	                                                         : mask(bits);

	if (n.kind == NOT_A_NUMBER)
		return 0;
	if (n.kind == INFINITE || n.mag > top)
		n.mag = top;
	return (n.neg ? 0 - (uint64_t)n.mag : (uint64_t)n.mag) & mask(bits);
}

static Num
whole(Num n, Round r)
{
	bool inexact;

	if (n.kind == FINITE && n.exp < 0)
		n = (Num){ FINITE, n.neg, round_at(n, 0, r, &inexact), 0 };
	else if (n.kind == FINITE && n.mag && n.exp > 64)
		n.kind = INFINITE; /* for integers that is the same */
	else if (n.kind == FINITE && n.mag)
		n = (Num){ FINITE, n.neg, n.mag << n.exp, 0 };
	return n;
}

static uint64_t
flushed(const Fmt *f, uint64_t v)
{
	return v >> f->man & ((1u << f->exp) - 1) ? v : v & 1ull << (f->exp + f->man);
}

static uint64_t
to_float(Num n, const Fmt *f, Round r, int how)
{
	uint64_t one = ((1ull << (f->exp - 1)) - 1) << f->man, v, sign = 1ull << (f->exp + f->man);

	if (how & RELU && n.kind != NOT_A_NUMBER && n.neg)
		return 0;
	v = pack(f, n, r);
	if (how & SAT)
		return n.kind == NOT_A_NUMBER || n.neg ? 0 : v > one ? one
		                                                     : v;
	if (how & FIN && f->inf && (v & ~sign) == f->max + 1)
		v--;
	if (how & FTZ && f == &f32)
		v = flushed(f, v);
	return v;
}

static uint64_t
scalar(const Conv *c, uint64_t a)
{
	const Ty *t = &ty[c->to], *s = &ty[c->from];
	Num n;
	uint64_t v;

	a &= mask(s->bits);
	if (s->f && c->how & FTZ && s->f == &f32)
		a = flushed(s->f, a);
	n = s->f ? unpack(s->f, a) : integer(a, s->bits, s->sign);
	if (!t->f) {
		if (s->f)
			n = whole(n, c->round);
		v = s->f || c->how & SAT ? clamped(n, t->bits, t->sign)
		                         : (n.neg ? 0 - (uint64_t)n.mag : (uint64_t)n.mag) & mask(t->bits);
		return t->bits == 8 && t->sign && v & 0x80 ? v | 0xff00 : v; /* in a register of 16 bits */
	}
	if (c->how & INT && n.kind == FINITE && n.exp < 0)
		n = whole(n, c->round);
	v = to_float(n, t->f, c->how & INT ? R_NEAREST : c->round, c->how);
	if (t->f == &tf32)
		return n.kind == NOT_A_NUMBER ? 0x7fffffff : v << 13;
	return v;
}

static uint64_t
expected(const Conv *c, const In *v)
{
	int out, in;
	uint64_t hi, lo;

	if (c->pack) {
		int bits = c->pack & 31, sign = c->pack >> 5 & 1;
		hi = clamped(integer(v->a, 32, true), bits, sign);
		lo = clamped(integer(v->b, 32, true), bits, sign);
		return ((bits < 16 ? v->c << 2 * bits : 0) | hi << bits | lo) & 0xffffffff;
	}
	if (!c->pto)
		return scalar(c, v->a);
	out = fmt_bits(c->pto);
	in = fmt_bits(c->pfrom);
	hi = c->two ? v->a & mask(32) : v->a >> in & mask(in);
	lo = c->two ? v->b & mask(32) : v->a & mask(in);
	return to_float(unpack(c->pfrom, hi), c->pto, c->round, c->how) << out | to_float(unpack(c->pfrom, lo), c->pto, c->round, c->how);
}

/* ---- the list ---- */

static const struct { const char *f, *i; Round r; } rounding[] = {
	{ ".rn", ".rni", R_NEAREST },
	{ ".rz", ".rzi", R_ZERO },
	{ ".rm", ".rmi", R_DOWN },
	{ ".rp", ".rpi", R_UP },
	{ ".rna", "", R_AWAY },
};

static void
one(int to, int from, int r, int how)
{
	Conv *c = &conv[nconv++];

	*c = (Conv){ .kind = ty[to].reg, .to = to, .from = from, .how = how, .round = r < 0 ? R_NEAREST : rounding[r].r };
	snprintf(c->ptx, sizeof c->ptx, "cvt%s%s%s%s%s.%s.%s %%%co, %%%ca;",
	         r < 0 ? "" : how & INT ? rounding[r].i
	                                : rounding[r].f,
	         how & FTZ ? ".ftz" : "", how & SAT ? ".sat" : "",
	         how & RELU ? ".relu" : "", how & FIN ? ".satfinite" : "", ty[to].name, ty[from].name, ty[to].reg, ty[from].reg);
}

static void
pairs(const Fmt *to, const char *tname, const Fmt *from, const char *fname, int r, int how)
{
	Conv *c = &conv[nconv++];
	char t = fmt_bits(to) == 8 ? 'h' : 'r', s = fmt_bits(from) == 8 ? 'h' : 'r';
	bool two = from == &f32;

	*c = (Conv){ .kind = t, .how = how, .round = rounding[r].r, .pto = to, .pfrom = from, .two = two, .from = s == 'h' ? U16 : U32 };
	snprintf(c->ptx, sizeof c->ptx, "cvt%s%s%s.%s.%s %%%co, %%%ca%s;", rounding[r].f, how & FIN ? ".satfinite" : "",
	         how & RELU ? ".relu" : "", tname, fname, t, s, two ? ", %rb" : "");
}

static void
packs(const char *name, int bits, bool sign)
{
	Conv *c = &conv[nconv++];

	*c = (Conv){ .kind = 'r', .pack = bits | sign << 5, .from = U32 };
	snprintf(c->ptx, sizeof c->ptx, "cvt.pack.sat.%s.s32%s %%ro, %%ra, %%rb%s;", name, bits < 16 ? ".b32" : "",
	         bits < 16 ? ", %rc" : "");
}

static bool
fits(const Ty *t, const Ty *s)
{
	return t->sign == s->sign ? t->bits >= s->bits : t->sign && t->bits > s->bits;
}

static void
integers(void)
{
	for (int t = U8; t <= S64; t++)
		for (int s = U8; s <= S64; s++) {
			one(t, s, -1, 0);
			if (!fits(&ty[t], &ty[s]))
				one(t, s, -1, SAT);
		}
	for (int i = U8; i <= S64; i++)
		for (int f = F16; f <= F64; f++) {
			if (f == BF16 && ty[i].bits == 8)
				continue;
			for (int r = 0; r < 4; r++) {
				one(f, i, r, 0);
				one(i, f, r, INT);
			}
			if (f == BF16)
				continue;
			one(f, i, i % 4, SAT);
			one(i, f, i % 4, INT | SAT);
			if (f == F32) {
				one(f, i, i % 4, FTZ);
				one(i, f, i % 4, INT | FTZ);
			}
		}
}

static void
floats(void)
{
	static const struct {
		int to, from, how;
	} plain[] = {
		{ F32, F16, 0 },
		{ F32, F16, FTZ },
		{ F32, F16, SAT },
		{ F64, F16, 0 },
		{ F64, F16, SAT },
		{ F64, F32, 0 },
		{ F64, F32, FTZ },
		{ F64, F32, SAT },
		{ F32, BF16, 0 },
		{ F32, BF16, FTZ },
		{ F64, BF16, 0 },
		{ F32, F32, SAT },
		{ F32, F32, FTZ | SAT },
		{ F16, F16, SAT },
		{ F64, F64, SAT },
	};

	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		one(plain[i].to, plain[i].from, -1, plain[i].how);
	for (int r = 0; r < 4; r++) {
		static const struct {
			int to, from, how;
		} rounded[] = {
			{ F16, F32, 0 },
			{ F16, F32, FTZ },
			{ F16, F32, SAT },
			{ F16, F64, 0 },
			{ F16, F64, SAT },
			{ F32, F64, 0 },
			{ F32, F64, FTZ },
			{ F32, F64, SAT },
			{ BF16, F32, 0 },
			{ BF16, F64, 0 },
			{ BF16, F16, 0 },
			{ F16, BF16, 0 },
			{ F16, F16, INT },
			{ F16, F16, INT | SAT },
			{ F32, F32, INT },
			{ F32, F32, INT | FTZ },
			{ F64, F64, INT },
			{ F64, F64, INT | SAT },
			{ BF16, BF16, INT },
		};
		for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++)
			one(rounded[i].to, rounded[i].from, r, rounded[i].how);
	}
	for (int r = 0; r < 2; r++) {
		for (int how = RELU; how <= (RELU | FIN); how += 4) {
			one(F16, F32, r, how);
			one(BF16, F32, r, how);
		}
		for (int how = 0; how <= (RELU | FIN); how += 4) {
			pairs(&f16, "f16x2", &f32, "f32", r, how);
			pairs(&bf16, "bf16x2", &f32, "f32", r, how);
		}
		one(TF32, F32, r, 0);
		one(TF32, F32, r, RELU);
	}
	one(TF32, F32, 4, 0);
	one(TF32, F32, 4, FIN);
	for (int how = 0; how <= RELU; how += RELU) {
		pairs(&e4m3, "e4m3x2", &f32, "f32", 0, how | FIN);
		pairs(&e5m2, "e5m2x2", &f32, "f32", 0, how | FIN);
		pairs(&e4m3, "e4m3x2", &f16, "f16x2", 0, how | FIN);
		pairs(&e5m2, "e5m2x2", &f16, "f16x2", 0, how | FIN);
		pairs(&f16, "f16x2", &e4m3, "e4m3x2", 0, how);
		pairs(&f16, "f16x2", &e5m2, "e5m2x2", 0, how);
	}
}

static void
list(void)
{
	integers();
	floats();
	packs("u16", 16, 0);
	packs("s16", 16, 1);
	packs("u8", 8, 0);
	packs("s8", 8, 1);
	packs("u4", 4, 0);
	packs("s4", 4, 1);
	packs("u2", 2, 0);
	packs("s2", 2, 1);
}

/* ---- the operands ---- */

/* Cleared below some bit, often with the bit of a tie set there and the last one beside it. */
static uint64_t
ragged(uint64_t m, int bits)
{
	uint64_t r = rnd();
	int cut = (int)(r % (unsigned)bits);

	if (r >> 8 & 1)
		return m;
	m &= ~mask(cut);
	if (cut && r >> 9 & 1)
		m |= 1ull << (cut - 1);
	return m ^ (r >> 10 & 3 ? 0 : 1);
}

static uint64_t
floating(const Fmt *f)
{
	uint64_t top = (1ull << f->exp) - 1, mid = top >> 1, r = rnd(), e, m = ragged(rnd() & mask(f->man), f->man);

	switch (r % 10) {
	case 0: e = 0; break;
	case 1: e = top - 1; break;
	case 2:
		e = top;
		m = r >> 8 & 1 ? m : 0;
		break;
	case 3: e = (r >> 8) % top; break;
	case 4: e = mid - 127 + (r >> 8) % 4 - (f == &f64 ? 8 : 0) + (r >> 16) % 9; break; /* least of f32 and bf16 */
	case 5: e = mid - 26 + (r >> 8) % 44; break; /* f16, fp8 */
	case 6: e = mid + 1 - (r >> 8) % 4; break;
	default: e = mid - 2 + (r >> 8) % 70; break; /* integers */
	}
	e = e > top ? (r >> 16) % 3 : e; /* below 0 */
	return (r >> 40 & 1) << (f->exp + f->man) | e << f->man | m;
}

static uint64_t
operand(unsigned i)
{
	uint64_t r;

	switch (i % 4) {
	case 0: return floating(&f64);
	case 1: return floating(&f32) | rnd() << 32;
	case 2: return floating(&f32) | floating(&f16) << 32 | floating(&bf16) << 48;
	default:
		r = ragged(rnd() >> rnd() % 64, 64);
		return rnd() & 1 ? r : 0 - r;
	}
}

/* ---- the test ---- */

static bool
narrow(const Conv *c)
{
	return ty[c->from].bits < 32 || c->pfrom == &f16;
}

/* f64 has no canonical NaN. */
static bool
same(const Conv *c, uint64_t got, uint64_t want)
{
	return got == want || (c->to == F64 && !c->pto && !c->pack && unpack(&f64, got).kind == NOT_A_NUMBER && unpack(&f64, want).kind == NOT_A_NUMBER);
}

static void
compare(const Conv *const *c, unsigned n, long times, bool all)
{
	enum { N = 1 << 13 };
	static In v[N];
	Op ops[MANY_OPS];
	Many e;

	for (unsigned k = 0; k < n; k++)
		ops[k] = (Op){ c[k]->ptx, c[k]->kind, NULL };
	e = many_open(ops, n, N);
	for (long t = 0; t < times; t++) {
		for (unsigned i = 0; i < N; i++) {
			uint64_t x = ((uint64_t)t * N + i) & 0xffff;
			v[i] = all ? (In){ (x ^ rnd()) << 32 | (x * 0x6bd5 & 0xffff) << 16 | x, 0, 0 }
			           : (In){ operand(i), operand(i + 2), rnd() };
		}
		many_run(&e, v);
		for (unsigned k = 0; k < n; k++)
			for (unsigned i = 0; i < N; i++) {
				uint64_t got = e.out[(size_t)k * N + i], want = expected(c[k], &v[i]);
				if (!same(c[k], got, want))
					many_differ(&ops[k], &v[i], got, want);
			}
	}
	many_close(&e);
}

static void
all_of(bool all, long times)
{
	const Conv *c[MANY_OPS];
	unsigned n = 0;

	for (unsigned k = 0; k < nconv; k++) {
		if (narrow(&conv[k]) != all)
			continue;
		c[n++] = &conv[k];
		if (n == MANY_OPS) {
			compare(c, n, times, all);
			n = 0;
		}
	}
	if (n)
		compare(c, n, times, all);
}

TEST(narrow_sources)
{
	state = 0x9e3779b97f4a7c15ull;
	all_of(true, 8);
}

TEST(wide_sources)
{
	state = 0x9e3779b97f4a7c15ull;
	all_of(false, rounds());
}

TEST(assembles)
{
	static Op ops[sizeof conv / sizeof *conv];

	for (unsigned k = 0; k < nconv; k++)
		ops[k] = (Op){ conv[k].ptx, conv[k].kind, NULL };
	many_assemble(ops, nconv);
}

static int
start(int argc, char **argv)
{
	(void)argc, (void)argv;
	list();
	return RUN_TESTS;
}

TEST_PROGRAM(.start = start);
