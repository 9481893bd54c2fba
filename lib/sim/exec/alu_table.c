/* alu_table.c - defines the ALU operations of isa.def, and comparisons, as functions over 32 lanes.
 *
 * Each is a plain loop over planes with no aliasing, which lets the compiler use vector instructions.
 * Inactive lanes are computed too and then not stored. */
#include <string.h>
#include "lib/sim/exec/alu_value.h"
#include "lib/sim/exec/exec.h"

#define LANES for (u32 l = 0; l < WARP; l++)
/* lane type: storage type, read conversion, write conversion */
typedef u32 st_u16, st_s16, st_u32, st_s32, st_f32;
typedef u64 st_u64, st_s64, st_f64;
typedef float f32;
typedef double f64;
#define get_u16(x) ((u16)(x))
#define get_s16(x) ((s16)(x))
#define get_u32(x) (x)
#define get_s32(x) ((s32)(x))
#define get_u64(x) (x)
#define get_s64(x) ((s64)(x))
#define get_f32(x) f32_of(x)
#define get_f64(x) f64_of(x)
#define put_u16(x) ((u16)(x))
#define put_s16(x) ((u16)(x))
#define put_u32(x) ((u32)(x))
#define put_s32(x) ((u32)(x))
#define put_u64(x) ((u64)(x))
#define put_s64(x) ((u64)(x))
#define put_f32(x) bits_of(x)
#define put_f64(x) bits64_of(x)

#define HEAD(name) \
static void \
name(void *vo, const void *va, const void *vb, const void *vc, const void *ve, const Ins *in) \
{
#define UNUSED (void)va; (void)vb; (void)vc; (void)ve; (void)in;
#define OUT(T) st_##T *restrict o = vo;
#define SRC(T, x) const st_##T *restrict p##x = v##x;
#define VAL(T, x) const T x = get_##T(p##x[l]);

#define F1(name, O, A, expr) HEAD(name) UNUSED OUT(O) SRC(A, a) \
	LANES { VAL(A, a) o[l] = put_##O(expr); } }
#define F2(name, O, A, B, expr) HEAD(name) UNUSED OUT(O) SRC(A, a) SRC(B, b) \
	LANES { VAL(A, a) VAL(B, b) o[l] = put_##O(expr); } }
#define F3(name, O, A, B, C, expr) HEAD(name) UNUSED OUT(O) SRC(A, a) SRC(B, b) SRC(C, c) \
	LANES { VAL(A, a) VAL(B, b) VAL(C, c) o[l] = put_##O(expr); } }
#define F4(name, O, A, B, C, D_, expr) HEAD(name) UNUSED OUT(O) SRC(A, a) SRC(B, b) SRC(C, c) \
	SRC(D_, e) LANES { VAL(A, a) VAL(B, b) VAL(C, c) VAL(D_, e) o[l] = put_##O(expr); } }

/* 16-bit floats: one or two in a register, as floats */
#define HALF(F, sh, n, expr) { \
	const float a = f32_of(in_##F(pa[l] >> (sh) & 0xffff, in)); \
	const float b = n > 1 ? f32_of(in_##F(pb[l] >> (sh) & 0xffff, in)) : 0; \
	const float c = n > 2 ? f32_of(in_##F(pc[l] >> (sh) & 0xffff, in)) : 0; \
	(void)b; (void)c; r |= out_##F(expr, in) << (sh); }
#define FH(name, F, n, two, expr) HEAD(name) UNUSED OUT(u32) SRC(u32, a) SRC(u32, b) SRC(u32, c) \
	LANES { u32 r = 0; HALF(F, 0, n, expr) if (two) HALF(F, 16, n, expr) o[l] = r; } }
#define HROWS(id, n, expr) FH(alu_##id##_f16, f16, n, 0, expr) FH(alu_##id##_f16x2, f16, n, 1, expr) \
	FH(alu_##id##_bf16, bf16, n, 0, expr) FH(alu_##id##_bf16x2, bf16, n, 1, expr)

#define A1(id, T, O, A, expr) F1(alu_##id##_##T, O, A, expr)
#define A2(id, T, O, A, B, expr) F2(alu_##id##_##T, O, A, B, expr)
#define A3(id, T, O, A, B, C, expr) F3(alu_##id##_##T, O, A, B, C, expr)
#define A4(id, T, O, A, B, C, D_, expr) F4(alu_##id##_##T, O, A, B, C, D_, expr)
#define P1(id, T, O, A, expr) F1(plain_##id##_##T, O, A, expr)
#define P2(id, T, O, A, B, expr) F2(plain_##id##_##T, O, A, B, expr)
#define P3(id, T, O, A, B, C, expr) F3(plain_##id##_##T, O, A, B, C, expr)
#define H1(id, expr) HROWS(id, 1, expr)
#define H2(id, expr) HROWS(id, 2, expr)
#define H3(id, expr) HROWS(id, 3, expr)
#include "lib/sim/ptx/isa.def"

static const struct { u16 id; u8 type; bool plain; alu_fn *fn; } table[] = {
#define A1(id, T, ...) { OP_##id, T_##T, false, alu_##id##_##T },
#define A2(id, T, ...) { OP_##id, T_##T, false, alu_##id##_##T },
#define A3(id, T, ...) { OP_##id, T_##T, false, alu_##id##_##T },
#define A4(id, T, ...) { OP_##id, T_##T, false, alu_##id##_##T },
#define P1(id, T, ...) { OP_##id, T_##T, true, plain_##id##_##T },
#define P2(id, T, ...) { OP_##id, T_##T, true, plain_##id##_##T },
#define P3(id, T, ...) { OP_##id, T_##T, true, plain_##id##_##T },
#define HT(id) { OP_##id, T_f16, false, alu_##id##_f16 }, { OP_##id, T_f16x2, false, alu_##id##_f16x2 }, \
	{ OP_##id, T_bf16, false, alu_##id##_bf16 }, { OP_##id, T_bf16x2, false, alu_##id##_bf16x2 },
#define H1(id, expr) HT(id)
#define H2(id, expr) HT(id)
#define H3(id, expr) HT(id)
#include "lib/sim/ptx/isa.def"
};

/* mad.f32 and mad.f64 are fma. */
alu_fn *
alu_find(u32 id, PtxType t, bool plain)
{
	if (id == OP_mad)
		id = OP_fma;
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (table[i].id == id && table[i].type == t && table[i].plain == plain)
			return table[i].fn;
	return NULL;
}

/* ---- comparisons: one relation code per lane ---- */
#define REL(a, b) ((a) < (b) ? 1u : (a) == (b) ? 2u : (a) > (b) ? 4u : 8u)
F2(rel_u16, u32, u16, u16, REL(a, b))
F2(rel_s16, u32, s16, s16, REL(a, b))
F2(rel_u32, u32, u32, u32, REL(a, b))
F2(rel_s32, u32, s32, s32, REL(a, b))
F2(rel_u64, u32, u64, u64, REL(a, b))
F2(rel_s64, u32, s64, s64, REL(a, b))
F2(rel_f32, u32, f32, f32, REL(fz(a, in), fz(b, in)))
F2(rel_f64, u32, f64, f64, REL(a, b))
#define H(F, x, s) f32_of(in_##F((x) >> (s) & 0xffff, in))
F2(rel_f16, u32, u32, u32, REL(H(f16, a, 0), H(f16, b, 0)))
F2(rel_bf16, u32, u32, u32, REL(H(bf16, a, 0), H(bf16, b, 0)))
F2(rel_f16x2, u32, u32, u32, REL(H(f16, a, 0), H(f16, b, 0)) | REL(H(f16, a, 16), H(f16, b, 16)) << 4)
F2(rel_bf16x2, u32, u32, u32, REL(H(bf16, a, 0), H(bf16, b, 0)) | REL(H(bf16, a, 16), H(bf16, b, 16)) << 4)

alu_fn *
rel_find(PtxType t)
{
	switch (t) {
	case T_b16: case T_u16: return rel_u16;
	case T_s16: return rel_s16;
	case T_b32: case T_u32: return rel_u32;
	case T_s32: return rel_s32;
	case T_b64: case T_u64: return rel_u64;
	case T_s64: return rel_s64;
	case T_f32: return rel_f32;
	case T_f64: return rel_f64;
	case T_f16: return rel_f16;
	case T_bf16: return rel_bf16;
	case T_f16x2: return rel_f16x2;
	case T_bf16x2: return rel_bf16x2;
	default: return NULL;
	}
}

#define TESTP(name, expr) F1(testp32_##name, u32, f32, expr) F1(testp64_##name, u32, f64, expr)
TESTP(finite, isfinite(a) != 0)
TESTP(infinite, isinf(a) != 0)
TESTP(number, isnan(a) == 0)
TESTP(notanumber, isnan(a) != 0)
TESTP(normal, isnormal(a) != 0)
TESTP(subnormal, fpclassify(a) == FP_SUBNORMAL)

alu_fn *
testp_find(PtxType t, const char *what)
{
	static const struct { const char *name; alu_fn *f32, *f64; } tab[] = {
#define X(n) { #n, testp32_##n, testp64_##n }
		X(finite), X(infinite), X(number), X(notanumber), X(normal), X(subnormal)
#undef X
	};

	for (size_t i = 0; i < COUNT_OF(tab); i++)
		if (!strcmp(tab[i].name, what))
			return t == T_f32 ? tab[i].f32 : t == T_f64 ? tab[i].f64 : NULL;
	return NULL;
}
