/* video.c - the scalar and SIMD video instructions (PTX ISA, "Video Instructions").
 *
 * An operand is a byte, a half or all of a register, widened by its type; the result is saturated, combined
 * with c by a second operation, or put into a part of c.  The SIMD forms do so for two halves or four bytes,
 * which each come from any place of the pair (a, b).
 */
#include <string.h>
#include "check.h"
#include "decode.h"

enum { V_ADD, V_SUB, V_ABSDIFF, V_MIN, V_MAX, V_SHL, V_SHR, V_MAD, V_SET, V_AVRG };
enum { SEC_NONE, SEC_ADD, SEC_MIN, SEC_MAX };
typedef struct Part { u8 bits, shift; } Part;   /* of a register */

typedef struct Video {          /* what Ins has no room for; Ins.table points at it */
	u8 op, sec;
	u8 lanes, bits;         /* SIMD: 2 of 16 or 4 of 8 bits; scalar: 1 of 32 */
	bool dsign, asign, bsign, sat, clamp, neg_product, neg_c, plus_one;
	u8 shift;               /* .shr7, .shr15 */
	Part d, a, b;           /* scalar: d.bits 32: no merge */
	u8 pick[2][4];          /* SIMD: part of the pair (a, b) for each lane of a and b */
	u8 mask;                /* SIMD: lanes of d that are written */
} Video;

static const struct { const char *name; u8 op; } ops[] = {
	{ "vadd", V_ADD }, { "vsub", V_SUB }, { "vabsdiff", V_ABSDIFF }, { "vmin", V_MIN }, { "vmax", V_MAX },
	{ "vshl", V_SHL }, { "vshr", V_SHR }, { "vmad", V_MAD }, { "vset", V_SET }, { "vavrg", V_AVRG },
};

/* b0..b3, h0, h1 */
static bool
scalar_part(Dec *d, const Opnd *o, Part *out)
{
	const char *s = o->sel;

	*out = (Part){ 32, 0 };
	if (!s)
		return true;
	if (strlen(s) != 2 || s[1] < '0' || s[1] > (s[0] == 'b' ? '3' : '1'))
		return dec_fail(d, ".%.20s is no part of a register", s);
	out->bits = s[0] == 'b' ? 8 : 16;
	out->shift = (u8)((s[1] - '0') * out->bits);
	return true;
}

/* b3210, h10: one digit for each lane, the highest first; `top`: the largest digit. */
static bool
simd_part(Dec *d, const Opnd *o, const Video *v, u8 pick[4], char top)
{
	const char *s = o->sel;

	if (!s)
		return true;
	if (s[0] != (v->lanes == 4 ? 'b' : 'h') || strlen(s) != 1u + v->lanes)
		return dec_fail(d, ".%.20s is no choice of %u parts", s, v->lanes);
	for (u32 i = 0; i < v->lanes; i++) {
		char c = s[v->lanes - i];
		if (c < '0' || c > top)
			return dec_fail(d, ".%.20s: no part %c", s, c);
		pick[i] = (u8)(c - '0');
	}
	return true;
}

/* The mask of d: digits that rise from the right. */
static bool
simd_mask(Dec *d, const Opnd *o, Video *v)
{
	const char *s = o->sel;

	v->mask = (u8)((1u << v->lanes) - 1);
	if (!s)
		return true;
	v->mask = 0;
	if (s[0] != (v->lanes == 4 ? 'b' : 'h') || !s[1])
		return dec_fail(d, ".%.20s is no mask", s);
	for (s++; *s; s++) {
		u32 bit = (u32)(*s - '0');
		if (bit >= v->lanes || v->mask & ((2u << bit) - 1))
			return dec_fail(d, "the mask is no falling list of parts");
		v->mask |= (u8)(1u << bit);
	}
	return true;
}

static bool
set_op(Dec *d, Video *v)
{
	static const struct { const char *name; u8 set; } rel[] = {
		{ "eq", 2 }, { "ne", 5 }, { "lt", 1 }, { "lo", 1 }, { "le", 3 }, { "ls", 3 }, { "gt", 4 },
		        { "hi", 4 },
		{ "ge", 6 }, { "hs", 6 },
	};
	const char *name = d->row->name;
	size_t n = strlen(name);

	v->lanes = name[n - 1] == '2' ? 2 : name[n - 1] == '4' ? 4 : 1;
	v->bits = (u8)(32 / v->lanes);
	n -= v->lanes > 1;
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (strlen(ops[i].name) == n && !memcmp(ops[i].name, name, n))
			v->op = ops[i].op;
	for (size_t i = 0; i < sizeof rel / sizeof *rel && v->op == V_SET; i++)
		if (dec_has(d, rel[i].name))
			d->in->cmp = rel[i].set;
	v->sat = dec_has(d, "sat");
	v->clamp = dec_has(d, "clamp");
	dec_has(d, "wrap");
	v->plus_one = dec_has(d, "po");
	v->shift = dec_has(d, "shr7") ? 7 : dec_has(d, "shr15") ? 15 : 0;
	/* a secondary operation comes last: vmin.u32.u32.u32.min has its name apart */
	v->sec = dec_has(d, "add") ? SEC_ADD : dec_has(d, "min") ? SEC_MIN : dec_has(d, "max") ? SEC_MAX
	                                                   : SEC_NONE;
	return dec_types(d);
}

static bool
source(Dec *d, const Opnd *o, Ref *out)
{
	Opnd plain = *o;

	plain.sel = NULL;
	plain.minus = false;
	return dec_src(d, &plain, T_b32, out);
}

bool
dec_video(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	Ref *r = arena_get(&d->m->arena, 4 * sizeof *r);
	Video *v = arena_get(&d->m->arena, sizeof *v);
	Opnd dst = o[0];
	bool set;

	if (!set_op(d, v) || d->st->no < 3 || d->st->no > 4)
		return dec_fail(d, "expected d, a, b and perhaps c");
	set = v->op == V_SET;
	if (d->nty != (set ? 2u : 3u))
		return dec_fail(d, "wrong number of types");
	v->dsign = !set && d->ty[0] == T_s32;
	v->asign = d->ty[set ? 0 : 1] == T_s32;
	v->bsign = d->ty[set ? 1 : 2] == T_s32;
	in->type = T_u32;
	for (u32 i = 0; i < v->lanes; i++) {
		v->pick[0][i] = (u8)i;
		v->pick[1][i] = (u8)(v->lanes + i);
	}
	if (v->lanes == 1 ? !scalar_part(d, &o[0], &v->d) || !scalar_part(d, &o[1], &v->a) ||
	                            !scalar_part(d, &o[2], &v->b)
	                  : !simd_mask(d, &o[0], v) ||
	                            !simd_part(d, &o[1], v, v->pick[0], (char)('0' + 2 * v->lanes - 1)) ||
	                            !simd_part(d, &o[2], v, v->pick[1], (char)('0' + 2 * v->lanes - 1)))
		return false;
	if (d->st->no != 3u + (v->lanes > 1 || v->sec || v->d.bits < 32 || v->op == V_MAD))
		return dec_fail(d,
		                "c is for a second operation, a part of d, and SIMD forms, and then needed");
	if (v->lanes == 1 && v->d.bits < 32 && v->sec)
		return dec_fail(d, "a second operation and a part of d exclude each other");
	if (v->op == V_MAD) {
		v->neg_product = o[1].minus != o[2].minus;
		v->neg_c = o[3].minus;
		if ((v->neg_product && v->neg_c) || (v->plus_one && (o[1].minus || o[2].minus || o[3].minus)))
			return dec_fail(d, "too many signs");
	} else if (o[1].minus || o[2].minus) {
		return dec_fail(d, "only vmad takes signs");
	}
	dst.sel = NULL;
	in->table = (const u32 *)(const void *)v;
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = (u8)(d->st->no - 1);
	if (!dec_dst(d, &dst, T_b32, r))
		return false;
	for (u32 i = 1; i <= in->ns; i++)
		if (!source(d, &o[i], &r[i]))
			return false;
	return true;
}

static s64
widen(u32 v, u32 bits, bool sign)
{
	u64 m = bits == 32 ? v : v & ((1u << bits) - 1);

	return sign && m >> (bits - 1) & 1 ? (s64)m - ((s64)1 << bits) : (s64)m;
}

static s64
clamp(s64 v, u32 bits, bool sign)
{
	s64 hi = sign ? ((s64)1 << (bits - 1)) - 1 : ((s64)1 << bits) - 1, lo = sign ? -hi - 1 : 0;

	return v > hi ? hi : v < lo ? lo : v;
}

static s64
operate(const Ins *in, const Video *v, s64 a, s64 b)
{
	switch (v->op) {
	case V_ADD: return a + b;
	case V_SUB: return a - b;
	case V_ABSDIFF: return a < b ? b - a : a - b;
	case V_MIN: return a < b ? a : b;
	case V_MAX: return a > b ? a : b;
	case V_AVRG: return (a + b + (a + b >= 0)) >> 1;
	case V_SET: return (in->cmp & (a < b ? 1 : a == b ? 2 : 4)) != 0;
	default:
		b = v->clamp ? b > 32 ? 32 : b : b & 31;
		if (v->op == V_SHR)
			return a >> b;
		/* too large for 64 bits: as large as possible, with the same low word */
		return b == 32 && a > INT32_MAX ? INT64_MAX & ~0xffffffffll : (s64)((u64)a << b);
	}
}

/* (a * b) + c with one of them negated or plus one, shifted right, saturated. */
static u32
multiply_add(const Video *v, s64 a, s64 b, u32 c)
{
	__extension__ typedef __int128 wide;
	bool sign = v->asign || v->bsign || v->neg_product || v->neg_c;
	wide t = (wide)a * b, add = sign ? (wide)(s32)c : (wide)c;

	t = (v->neg_product ? -t : t) + (v->neg_c ? -add : add) + v->plus_one;
	t >>= v->shift;
	if (v->sat) {
		wide hi = sign ? 0x7fffffff : 0xffffffff, lo = sign ? -(wide)0x80000000 : 0;
		t = t > hi ? hi : t < lo ? lo : t;
	}
	return (u32)(u64)t;
}

static u32
scalar(const Ins *in, const Video *v, u32 a, u32 b, u32 c)
{
	s64 x = widen(a >> v->a.shift, v->a.bits, v->asign), y = widen(b >> v->b.shift, v->b.bits, v->bsign),
	    t, k;

	if (v->op == V_MAD)
		return multiply_add(v, x, y, c);
	t = operate(in, v, x, y);
	if (v->sat)
		t = clamp(t, v->d.bits, v->dsign);
	k = widen(c, 32, v->dsign);
	switch (v->sec) {
	case SEC_ADD: return (u32)(t + k);
	case SEC_MIN: return (u32)(t < k ? t : k);
	case SEC_MAX: return (u32)(t > k ? t : k);
	default: break;
	}
	if (v->d.bits < 32) {
		u32 m = ((1u << v->d.bits) - 1) << v->d.shift;
		return (c & ~m) | ((u32)t << v->d.shift & m);
	}
	return (u32)t;
}

static u32
simd(const Ins *in, const Video *v, u32 a, u32 b, u32 c)
{
	u64 pair = (u64)b << 32 | a;
	u32 ones = (1u << v->bits) - 1, r = c;

	for (u32 i = 0; i < v->lanes; i++) {
		s64 x = widen((u32)(pair >> v->pick[0][i] * v->bits), v->bits, v->asign), t;
		if (!(v->mask >> i & 1))
			continue;
		t = operate(in, v, x, widen((u32)(pair >> v->pick[1][i] * v->bits), v->bits, v->bsign));
		if (v->sat)
			t = clamp(t, v->bits, v->dsign);
		if (v->sec == SEC_ADD)
			r += (u32)t;
		else
			r = (r & ~(ones << i * v->bits)) | ((u32)t & ones) << i * v->bits;
	}
	return r;
}

int
exec_video(Warp *w, const Ins *in, u32 mask)
{
	const Video *v = (const Video *)(const void *)in->table;
	const u32 *a = src32(w, &in->s[0]), *b = src32(w, &in->s[1]),
	        *c = src32(w, &in->s[in->ns > 2 ? 2 : 1]);
	u32 *d = dst32(w, in->d);
	int l;

	if (w->def)
		taint_alu(w, in, mask);
	FOR_LANES(l, mask)
		d[l] = v->lanes == 1 ? scalar(in, v, a[l], b[l], c[l]) : simd(in, v, a[l], b[l], c[l]);
	return R_NEXT;
}
