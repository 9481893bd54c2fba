/* alu.c - executes arithmetic, compares, selects, predicate operations, moves and special register reads. */
#include <string.h>
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"

typedef union Plane { u32 a[WARP]; u64 b[WARP]; } Plane;

static void
store_plane(Warp *w, const Ref *d, const Plane *v, u32 mask)
{
	int l;

	if (d->chunks >= 4) {
		u64 *o = dst64(w, d);
		if (mask == ALL_LANES)
			memcpy(o, v->b, sizeof v->b);
		else
			FOR_LANES(l, mask)
				o[l] = v->b[l];
	} else {
		u32 *o = dst32(w, d);
		if (mask == ALL_LANES)
			memcpy(o, v->a, sizeof v->a);
		else
			FOR_LANES(l, mask)
				o[l] = v->a[l];
	}
}

int
exec_alu(Warp *w, const Ins *in, u32 mask)
{
	const Ref *s = in->s;
	u32 n = in->ns;
	Plane t;

	in->alu(&t, src32(w, &s[0]), src32(w, &s[n > 1]), src32(w, &s[n > 2 ? 2 : 0]),
	        src32(w, &s[n > 3 ? 3 : 0]), in);
	if (w->def)
		taint_alu(w, in, mask);
	store_plane(w, in->d, &t, mask);
	return R_NEXT;
}

static u32
pred_get(const Warp *w, s32 p, bool neg)
{
	return p < 0 ? ALL_LANES : neg ? ~w->p[p] : w->p[p];
}

static void
pred_set(Warp *w, s32 p, u32 mask, u32 v, u32 defined, u32 origin)
{
	if (p < 0)
		return;
	w->p[p] = (w->p[p] & ~mask) | (v & mask);
	if (!w->def)
		return;
	w->pdef[p] = (w->pdef[p] & ~mask) | (defined & mask);
	if (mask & ~defined)
		w->porg[p] = origin;
}

/* Returns the lanes in which the sources are defined; *origin: the origin of an undefined one. */
static u32
sources_def(const Warp *w, const Ins *in, u32 mask, u32 *origin)
{
	u32 all = ALL_LANES;

	*origin = in->line;
	for (u32 i = in->ns; i-- > 0;) {
		u32 d = def_of(w, &in->s[i]);
		if (mask & ~d)
			*origin = origin_of(w, in, &in->s[i]);
		all &= d;
	}
	return all;
}

static u32
combine(u32 op, u32 t, u32 c)
{
	return op == BOOL_AND ? t & c : op == BOOL_OR ? t | c : op == BOOL_XOR ? t ^ c : t;
}

int
exec_setp(Warp *w, const Ins *in, u32 mask)
{
	u32 rel[WARP], lo = 0, hi = 0, c, def = ALL_LANES, org = 0;
	bool two = in->type == T_f16x2 || in->type == T_bf16x2;

	in->alu(rel, src32(w, &in->s[0]), src32(w, &in->s[in->ns > 1]), NULL, NULL, in);
	for (u32 l = 0; l < WARP; l++) {
		lo |= (u32)((in->arith.relation & rel[l]) != 0) << l;
		if (two)
			hi |= (u32)((in->arith.relation & rel[l] >> 4) != 0) << l;
	}
	if (w->def) {
		def = sources_def(w, in, mask, &org);
		if (in->arith.boolop && in->ps >= 0) {
			if (mask & ~w->pdef[in->ps])
				org = w->porg[in->ps] ? w->porg[in->ps] : in->line;
			def &= w->pdef[in->ps];
		}
	}
	c = pred_get(w, in->ps, in->ps_neg);
	if (!two)
		hi = ~lo;
	pred_set(w, in->pd, mask, combine(in->arith.boolop, lo, c), def, org);
	pred_set(w, in->pd2, mask, combine(in->arith.boolop, hi, c), def, org);
	return R_NEXT;
}

/* lop3 with an additional predicate result. */
int
exec_lop3p(Warp *w, const Ins *in, u32 mask)
{
	u32 c = pred_get(w, in->ps, in->ps_neg), nonzero = 0, def = ALL_LANES, org = 0;
	Plane t;

	in->alu(&t, src32(w, &in->s[0]), src32(w, &in->s[1]), src32(w, &in->s[2]), NULL, in);
	for (u32 l = 0; l < WARP; l++)
		nonzero |= (u32)(t.a[l] != 0) << l;
	if (w->def) {
		def = sources_def(w, in, mask, &org) & w->pdef[in->ps];
		taint_alu(w, in, mask);
	}
	store_plane(w, in->d, &t, mask);
	pred_set(w, in->pd, mask, combine(in->arith.boolop, nonzero, c), def, org);
	return R_NEXT;
}

int
exec_set(Warp *w, const Ins *in, u32 mask)
{
	u32 rel[WARP], t = 0, t2 = 0, c = pred_get(w, in->ps, in->ps_neg);
	u32 one = in->type == T_f32 ? 0x3f800000u : in->type == T_f16 ? 0x3c00u
	        : in->type == T_bf16 ? 0x3f80u : type_bits((PtxType)in->type) == 16 ? 0xffffu : ~0u;
	bool two = in->type2 == T_f16x2 || in->type2 == T_bf16x2;
	Plane out;

	in->alu(rel, src32(w, &in->s[0]), src32(w, &in->s[1]), NULL, NULL, in);
	for (u32 l = 0; l < WARP; l++) {
		t |= (u32)((in->arith.relation & rel[l]) != 0) << l;
		t2 |= (u32)((in->arith.relation & rel[l] >> 4) != 0) << l;
	}
	t = combine(in->arith.boolop, t, c);
	t2 = combine(in->arith.boolop, t2, c);
	if (two)
		one = in->type == T_f16x2 ? 0x3c00u : in->type == T_bf16x2 ? 0x3f80u : 0xffffu;
	for (u32 l = 0; l < WARP; l++)
		out.a[l] = (t >> l & 1 ? one : 0) | (two && t2 >> l & 1 ? one << 16 : 0);
	if (w->def)
		taint_alu(w, in, mask);
	store_plane(w, in->d, &out, mask);
	return R_NEXT;
}

/* d = take ? a : b; a byte of it is defined if that of the selected source and the selection are. */
static void
choose(Warp *w, const Ins *in, u32 mask, u32 take, u32 cdef, u32 corg)
{
	int l;

	if (in->d->chunks >= 4) {
		const u64 *a = src64(w, &in->s[0]), *b = src64(w, &in->s[1]);
		u64 *o = dst64(w, in->d);
		if (in->d->chunks == 8) {
			const u64 *ah = a + WARP, *bh = b + WARP;
			FOR_LANES(l, mask)
				o[WARP + l] = take >> l & 1 ? ah[l] : bh[l];
		}
		FOR_LANES(l, mask)
			o[l] = take >> l & 1 ? a[l] : b[l];
	} else {
		const u32 *a = src32(w, &in->s[0]), *b = src32(w, &in->s[1]);
		u32 *o = dst32(w, in->d);
		FOR_LANES(l, mask)
			o[l] = take >> l & 1 ? a[l] : b[l];
	}
	if (w->def) {
		const u32 *pa = w->def + in->s[0].def, *pb = w->def + in->s[1].def;
		u32 *d = w->def + in->d->def;
		bool first = mask & take & ~def_of(w, &in->s[0]);
		u32 org = mask & ~cdef ? corg : origin_of(w, in, &in->s[!first]);
		bool any = false;
		for (u32 k = 0; k < in->d->bytes; k++) {
			u32 def = ((take & pa[k]) | (~take & pb[k])) & cdef;
			d[k] = (d[k] & ~mask) | (def & mask);
			any |= (mask & ~def) != 0;
		}
		if (any)
			w->org[in->d->unit] = org;
	}
}

int
exec_selp(Warp *w, const Ins *in, u32 mask)
{
	u32 def = w->def ? w->pdef[in->ps] : ALL_LANES;

	choose(w, in, mask, pred_get(w, in->ps, in->ps_neg), def,
	       w->def && w->porg[in->ps] ? w->porg[in->ps] : in->line);
	return R_NEXT;
}

int
exec_slct(Warp *w, const Ins *in, u32 mask)
{
	const u32 *c = src32(w, &in->s[2]);
	u32 take = 0;

	for (u32 l = 0; l < WARP; l++) {
		bool ge;
		if (in->type2 == T_f32) {
			float f;
			memcpy(&f, &c[l], 4);
			if (in->flags & F_FTZ && !(c[l] & 0x7f800000u))
				f = 0;
			ge = f >= 0;
		} else {
			ge = !(c[l] >> 31);
		}
		take |= (u32)ge << l;
	}
	choose(w, in, mask, take, w->def ? def_of(w, &in->s[2]) : ALL_LANES,
	       w->def ? origin_of(w, in, &in->s[2]) : 0);
	return R_NEXT;
}

int
exec_pbool(Warp *w, const Ins *in, u32 mask)
{
	u32 op = in->logic.op, a = pred_get(w, in->ps, in->ps_neg), def = ALL_LANES, org = in->line;

	if (w->def) {
		def = w->pdef[in->ps];
		if (mask & ~def && w->porg[in->ps])
			org = w->porg[in->ps];
	}
	if (op <= BOOL_XOR) {
		u32 p = in->logic.p, b = pred_get(w, (s32)p, in->logic.neg),
		    db = w->def ? w->pdef[p] : ALL_LANES;
		if (w->def && mask & ~db && w->porg[p])
			org = w->porg[p];
		/* a false operand determines an and, a true one an or */
		if (op == BOOL_AND)
			def = (def & db) | (def & ~a) | (db & ~b);
		else if (op == BOOL_OR)
			def = (def & db) | (def & a) | (db & b);
		else
			def &= db;
		a = combine(op, a, b);
	} else if (op == BOOL_NOT) {
		a = ~a;
	}
	pred_set(w, in->pd, mask, a, def, org);
	return R_NEXT;
}

int
exec_mov(Warp *w, const Ins *in, u32 mask)
{
	Plane zero;

	memset(&zero, 0, sizeof zero);
	store_plane(w, in->d, &zero, mask);
	if (w->def)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}

/* ---- packing and unpacking of vectors into wider registers ---- */

static void
pack_taint(Warp *w, const Ins *in, u32 mask)
{
	u32 byte[16], n = 0, k = 0, org = 0;

	for (u32 i = 0; i < in->ns; i++) {
		for (u32 c = 0; c < in->s[i].bytes && n < 16; c++) {
			byte[n] = w->def[in->s[i].def + c];
			if (mask & ~byte[n] && !org)
				org = origin_of(w, in, &in->s[i]);
			n++;
		}
	}
	for (u32 i = 0; i < in->nd; i++) {
		u32 *d = w->def + in->d[i].def;
		for (u32 c = 0; c < in->d[i].bytes; c++, k++)
			d[c] = (d[c] & ~mask) | (byte[k < n ? k : 0] & mask);
		if (org)
			w->org[in->d[i].unit] = org;
	}
}

/* Concatenates the sources of each lane to 128 bits, low part first, and splits them again. */
int
exec_pack(Warp *w, const Ins *in, u32 mask)
{
	int l;

	if (w->def)
		pack_taint(w, in, mask);
	if (in->ns == 2 && in->s[0].bits == 16) {
		const u32 *a = src32(w, &in->s[0]), *b = src32(w, &in->s[1]);
		u32 *o = dst32(w, in->d);
		FOR_LANES(l, mask)
			o[l] = a[l] | b[l] << 16;
		return R_NEXT;
	}
	if (in->nd == 2 && in->d[0].bits == 16) {
		const u32 *a = src32(w, &in->s[0]);
		u32 *x = dst32(w, &in->d[0]), *y = dst32(w, &in->d[1]);
		FOR_LANES(l, mask) {
			u32 v = a[l];
			x[l] = v & 0xffff;
			y[l] = v >> 16;
		}
		return R_NEXT;
	}
	FOR_LANES(l, mask) {
		u64 v[2] = { 0, 0 };
		u32 at = 0;
		for (u32 i = 0; i < in->ns; i++) {
			u64 x = lane_get(w, &in->s[i], l);
			v[at / 64] |= x << (at & 63);
			if (in->s[i].bits == 128)
				v[1] = src64(w, &in->s[i])[WARP + l];
			at += in->s[i].bits;
		}
		at = 0;
		for (u32 i = 0; i < in->nd; i++) {
			u32 bits = in->d[i].bits;
			u64 x = v[at / 64] >> (at & 63);
			lane_set(w, &in->d[i], l, bits < 64 ? x & ((1ull << bits) - 1) : x);
			if (bits == 128)
				dst64(w, &in->d[i])[WARP + l] = v[1];
			at += bits;
		}
	}
	return R_NEXT;
}

/* ---- extended precision: the carry flag of each lane is in w->cc ----
 *
 * A difference is the sum a + ~b + 1, and its flag the carry of that: 0 where it borrows. The ISA document
 * only says that subc understands the flag of sub.cc; nvcc's division of 128-bit integers reads it with
 * addc. */
int
exec_carry(Warp *w, const Ins *in, u32 mask)
{
	u32 id = in->id, bits = type_bits((PtxType)in->type);
	bool sign = type_signed((PtxType)in->type);
	bool uses = id == OP_addc || id == OP_subc || id == OP_madclo || id == OP_madchi;
	bool sets = in->flags & F_POPC || id == OP_addcc || id == OP_subcc || id == OP_madlocc ||
	            id == OP_madhicc;
	bool sub = id == OP_subcc || id == OP_subc;
	bool hi = id == OP_madhicc || id == OP_madchi;
	u64 top = bits == 64 ? ~0ull : 0xffffffffull;
	int l;

	if (w->def)
		taint_alu(w, in, mask);
	FOR_LANES(l, mask) {
		u64 a = lane_get(w, &in->s[0], l), b = lane_get(w, &in->s[1], l), x = a, y = b, r;
		u64 c = uses ? w->cc >> l & 1 : sub, t;
		if (in->ns == 3) {
			y = lane_get(w, &in->s[2], l);
			if (bits == 32) {
				s64 p = sign ? (s64)(s32)a * (s32)b : (s64)(a * b);
				x = (hi ? (u64)p >> 32 : (u64)p) & top;
			} else {
				u64 ah = a >> 32, al = a & 0xffffffffu, bh = b >> 32, bl = b & 0xffffffffu;
				u64 m = ah * bl + (al * bl >> 32), n = al * bh + (m & 0xffffffffu);
				x = hi ? ah * bh + (m >> 32) + (n >> 32) : a * b;
				if (hi && sign)
					x -= ((s64)a < 0 ? b : 0) + ((s64)b < 0 ? a : 0);
			}
		}
		y = sub ? ~y & top : y;
		t = (x + y) & top;
		r = (t + c) & top;
		lane_set(w, in->d, l, r);
		if (sets)
			w->cc = (w->cc & ~(1u << l)) | (u32)(t < x || r < t) << l;
	}
	return R_NEXT;
}
