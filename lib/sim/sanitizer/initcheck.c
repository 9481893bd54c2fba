/* initcheck.c - tracks which lanes of which registers hold initialised data, and reports uses of undefined
 * values.
 *
 * Undefined values may be moved, converted and computed with: the result is undefined too, and remembers the
 * instruction that read the undefined data. An error is reported only for a use: as an address, as a
 * predicate, in a store to global memory, in an atomic, as a barrier operand. So padding lanes and
 * half-filled vectors cause no false positives.
 *
 * Instructions that move bits and bytes distinguish the bytes of a register; all others make the whole result
 * undefined if one byte is. Undefined bits of a byte are tracked separately by instructions that move bits
 * (Warp.undef, while ORG_BITS is set): a shift followed by a mask may leave a byte fully defined. A bit of a
 * logical operation is defined if the defined bits of its sources determine it: 0 by `and`, 1 by `or`.
 * Memory keeps no bits: a byte that is stored counts as defined if one of its bits is (a bit field of an
 * uninitialised byte).
 */
#include <string.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

u32
def_of(const Warp *w, const Ref *r)
{
	const u32 *d = w->def + r->def;
	u32 m = d[0];

	for (u32 i = 1; i < r->bytes; i++)
		m &= d[i];
	return m;
}

void
def_set(Warp *w, const Ref *r, u32 mask, u32 defined, u32 origin)
{
	u32 *d = w->def + r->def;

	for (u32 i = 0; i < r->bytes; i++)
		d[i] = (d[i] & ~mask) | (defined & mask);
	if (mask & ~defined)
		w->org[r->unit] = origin;
}

u32
origin_of(const Warp *w, const Ins *in, const Ref *r)
{
	u32 o = r->base ? 0 : w->org[r->unit] & ~(u32)ORG_BITS;

	return o ? o : in->line;
}

/* The origin of the first undefined source. */
static u32
first_origin(const Warp *w, const Ins *in, u32 mask)
{
	for (u32 i = 0; i < in->ns; i++)
		if (mask & ~def_of(w, &in->s[i]))
			return origin_of(w, in, &in->s[i]);
	return in->line;
}

/* The bits of the undefined bytes, or any other operand of an alu_fn. */
typedef union UndefMask {
	u32 a[WARP];
	u64 b[WARP];
} UndefMask;

static u64
bits_get(const Ref *r, const UndefMask *v, int l)
{
	return r->chunks >= 4 ? v->b[l] : v->a[l];
}

static void
bits_put(const Ref *r, UndefMask *v, int l, u64 x)
{
	if (r->chunks >= 4)
		v->b[l] = x;
	else
		v->a[l] = (u32)x;
}

static UndefMask *
bits_of(const Warp *w, const Ref *r)
{
	return (UndefMask *)(w->undef + (size_t)r->unit * WARP);
}

static void
undefined_bits(const Warp *w, const Ref *r, u32 mask, UndefMask *out)
{
	bool known = !r->base && w->org[r->unit] & ORG_BITS;

	memset(out, 0, sizeof *out);
	for (u32 k = 0; k < r->bytes; k++) {
		u32 bad = mask & ~w->def[r->def + k];
		int l;
		FOR_LANES(l, bad) {
			u64 byte = 0xffull << 8 * k, some = known ? byte & bits_get(r, bits_of(w, r), l) : 0;
			bits_put(r, out, l, bits_get(r, out, l) | (some ? some : byte));
		}
	}
}

u32
stored_def(const Warp *w, const Ref *r, u32 k)
{
	u32 def = w->def[r->def + k];
	int l;

	if (!r->base && w->org[r->unit] & ORG_BITS)
		FOR_LANES(l, ~def)
			if (~bits_get(r, bits_of(w, r), l) >> 8 * k & 0xff)
				def |= 1u << l;
	return def;
}

/* Records which bits of the lanes of mask are undefined; in other lanes all bits are, unless already
 * recorded. */
static void
keep_bits(Warp *w, const Ref *r, u32 mask, const UndefMask *u)
{
	u32 all = w->org[r->unit] & ORG_BITS ? mask : ALL_LANES;
	int l;

	FOR_LANES(l, all)
		bits_put(r, bits_of(w, r), l, mask >> l & 1 ? bits_get(r, u, l) : ~0ull);
}

/* Returns the number of leading sources whose bits an instruction moves, controlled by the others. */
static u32
moved(const Ins *in)
{
	switch (in->id) {
	case OP_shl: case OP_shr: case OP_bfe: case OP_brev: return 1;
	case OP_prmt: case OP_bfi:
	case OP_shflwrap: case OP_shflclamp: case OP_shfrwrap: case OP_shfrclamp: return 2;
	default: return 0;
	}
}

/* The undefined bits move with the bits: the instruction itself is applied to them; a sign bit moves to its
 * copies. */
static void
move_bits(Warp *w, const Ins *in, u32 mask, const UndefMask *u, UndefMask *out)
{
	const u32 *s[4];
	u32 n = moved(in), known = ALL_LANES;
	int l;

	for (u32 i = 0; i < 4; i++) {
		const Ref *r = &in->s[i < in->ns ? i : 0];

		s[i] = i < n ? u[i].a : src32(w, r);
		if (i >= n && i < in->ns)
			known &= def_of(w, r);
	}
	in->alu(out, s[0], s[1], s[2], s[3], in);
	FOR_LANES(l, mask & ~known)
		bits_put(in->d, out, l, ~0ull);
}

/* The bits of a logical operation on v that depend on the undefined bits x of its n sources. */
static u64
logic_bits(const Ins *in, u32 n, const u64 *v, const u64 *x)
{
	u64 bits = 0;

	if (in->id == OP_and)
		return (x[0] | x[1]) & (x[0] | v[0]) & (x[1] | v[1]);
	if (in->id == OP_or)
		return (x[0] | x[1]) & (x[0] | ~v[0]) & (x[1] | ~v[1]);
	for (u32 i = 0; i < n; i++)
		bits |= x[i];
	return bits;
}

/* The bits of the result of lop3 that change with some of its undefined bits. */
static void
lop3_bits(const Warp *w, const Ins *in, const UndefMask *u, UndefMask *out)
{
	UndefMask s[3], first, other;

	for (u32 change = 0; change < 8; change++) {
		for (u32 i = 0; i < 3; i++)
			for (u32 l = 0; l < WARP; l++)
				s[i].a[l] = src32(w, &in->s[i])[l] ^ (change >> i & 1 ? u[i].a[l] : 0);
		in->alu(change ? &other : &first, s[0].a, s[1].a, s[2].a, NULL, in);
		for (u32 l = 0; l < WARP; l++)
			out->a[l] = change ? out->a[l] | (first.a[l] ^ other.a[l]) : 0;
	}
}

/* Computes bit by bit what is undefined of the result, in the lanes of mask. Returns false if only all of it
 * can be assumed undefined. */
static bool
result_bits(Warp *w, const Ins *in, u32 mask, UndefMask *out)
{
	UndefMask u[3];
	u32 n = in->ns < 3 ? in->ns : 3;
	int l;

	if (!moved(in) && in->id != OP_and && in->id != OP_or && in->id != OP_xor && in->id != OP_not &&
	    in->id != OP_lop3 && in->id != OP_mov && !(in->flags & F_HALVES))
		return false;
	for (u32 i = 0; i < n; i++)
		undefined_bits(w, &in->s[i], mask, &u[i]);
	if (moved(in)) {
		move_bits(w, in, mask, u, out);
		return true;
	}
	if (in->id == OP_lop3) {
		lop3_bits(w, in, u, out);
		return true;
	}
	FOR_LANES(l, mask) {
		u64 x[3] = { 0 }, v[3] = { 0 };
		for (u32 i = 0; i < n; i++) {
			x[i] = bits_get(in->d, &u[i], l);
			v[i] = lane_get(w, &in->s[i], l);
		}
		bits_put(in->d, out, l, logic_bits(in, n, v, x));
	}
	return true;
}

/* Some sources are undefined in some lanes of mask. */
static void
taint_bytes(Warp *w, const Ins *in, u32 mask)
{
	u32 *d = w->def + in->d->def, org = first_origin(w, in, mask), some = 0;
	bool pairs = in->flags & F_HALVES && in->id != OP_mov;
	UndefMask u;
	int l;

	if (!result_bits(w, in, mask, &u)) {
		def_set(w, in->d, mask, 0, org);
		return;
	}
	for (u32 k = 0; k < in->d->bytes; k++) {
		u32 bad = 0;
		FOR_LANES(l, mask) {
			u64 x = bits_get(in->d, &u, l);
			u32 byte = (u32)(pairs ? x >> 16 * (k / 2) & 0xffff : x >> 8 * k & 0xff);
			bad |= (u32)(byte != 0) << l;
		}
		d[k] = (d[k] & ~mask) | (~bad & mask);
		some |= bad;
	}
	if (some && !pairs)
		keep_bits(w, in->d, mask, &u);
	if (some)
		w->org[in->d->unit] = org | (pairs ? 0 : ORG_BITS);
}

void
taint_alu(Warp *w, const Ins *in, u32 mask)
{
	u32 all = ALL_LANES, *d = w->def + in->d->def;

	for (u32 i = 0; i < in->ns; i++)
		all &= def_of(w, &in->s[i]);
	if (mask & ~all)
		taint_bytes(w, in, mask & ~all);
	for (u32 i = 0; i < in->d->bytes; i++)
		d[i] |= mask & all;
}

void
taint_list(Warp *w, const Ins *in, u32 mask)
{
	u32 all = ALL_LANES, org = in->line;

	for (u32 i = 0; i < in->ns; i++)
		all &= def_of(w, &in->s[i]);
	if (mask & ~all)
		org = first_origin(w, in, mask);
	for (u32 i = 0; i < in->nd; i++)
		def_set(w, &in->d[i], mask, all, org);
}

static void
report(Warp *w, const Ins *in, u32 origin, int lane, const char *what)
{
	static const struct { sim_fault_kind k; sim_space sp; const char *name; } t[] = {
		{ SIM_FAULT_UNINIT_REG, SIM_SPACE_REG, "register" },
		{ SIM_FAULT_UNINIT_SHARED, SIM_SPACE_SHARED, "shared memory" },
		{ SIM_FAULT_UNINIT_GLOBAL, SIM_SPACE_GLOBAL, "global memory" },
		{ SIM_FAULT_UNINIT_LOCAL, SIM_SPACE_LOCAL, "local memory" },
	};
	u32 k = origin >> 28 & 3;
	sim_place use;

	place_of(w->cta, w->id * WARP + (u32)lane, in->line, &use);
	fault_add(w, lane, t[k].k, origin & ORG_LINE, t[k].sp, 0, 0, &use,
	          "uninitialized %s is read here and used as %s in line %u", t[k].name, what, in->line);
}

void
use_check(Warp *w, const Ins *in, const Ref *r, u32 mask, const char *what)
{
	u32 bad;

	if (!w->def || r->base)
		return;
	bad = mask & ~def_of(w, r);
	if (!bad)
		return;
	report(w, in, origin_of(w, in, r), low_lane(bad), what);
	def_set(w, r, bad, ALL_LANES, 0);       /* reported once */
}

void
use_pred(Warp *w, const Ins *in, s32 p, u32 mask, const char *what)
{
	u32 bad;

	if (!w->def || p < 0)
		return;
	bad = mask & ~w->pdef[p];
	if (!bad)
		return;
	report(w, in, w->porg[p] ? w->porg[p] : in->line, low_lane(bad), what);
	w->pdef[p] |= bad;
}
