/* taint.c - which lanes of which registers hold data somebody has written.
 *
 * Undefined values may be moved, converted and computed with: the result is undefined too,
 * and remembers the instruction that read the undefined data.  It is an error only to make
 * use of one: as an address, as a predicate, in a store to global memory, in an atomic, as a
 * barrier operand.  So padding lanes and half-filled vectors accuse nobody.
 *
 * Bits are not told apart.  What puts the bits of several words together (the store to a bit field
 * in a word nobody has written yet) counts as defined where one of them is.
 */
#include "lib/sim/judge/check.h"
#include "lib/sim/state/fault.h"

u32
def_of(const Warp *w, const Ref *r)
{
	const u32 *d = w->def + r->def;
	u32 m = d[0];

	for (u32 i = 1; i < r->chunks; i++)
		m &= d[i];
	return m;
}

void
def_set(Warp *w, const Ref *r, u32 mask, u32 defined, u32 origin)
{
	u32 *d = w->def + r->def;

	for (u32 i = 0; i < r->chunks; i++)
		d[i] = (d[i] & ~mask) | (defined & mask);
	if (mask & ~defined)
		w->org[r->unit] = origin;
}

u32
origin_of(const Warp *w, const Ins *in, const Ref *r)
{
	u32 o = r->base ? 0 : w->org[r->unit];

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

/* How many sources, from the first, an instruction merges bit by bit; 0: it does not. */
static u32
merged(const Ins *in)
{
	switch (in->id) {
	case OP_or: case OP_bfi: case OP_prmt: return 2;
	case OP_lop3: return 3;
	default: return 0;
	}
}

void
taint_alu(Warp *w, const Ins *in, u32 mask)
{
	u32 all = ALL_LANES, any = 0, *d;
	u32 org;

	for (u32 i = 0; i < in->ns; i++)
		all &= def_of(w, &in->s[i]);
	if (mask & ~all) {
		for (u32 i = 0; i < merged(in); i++)
			any |= def_of(w, &in->s[i]);
		all |= any;
	}
	d = w->def + in->d->def;
	if (!(mask & ~all)) {
		for (u32 i = 0; i < in->d->chunks; i++)
			d[i] |= mask;
		return;
	}
	org = first_origin(w, in, mask);
	if (in->flags & F_HALVES) {     /* chunk by chunk */
		for (u32 k = 0; k < in->d->chunks; k++) {
			all = ALL_LANES;
			for (u32 i = 0; i < in->ns; i++)
				if (k < in->s[i].chunks)
					all &= w->def[in->s[i].def + k];
			d[k] = (d[k] & ~mask) | (all & mask);
		}
		w->org[in->d->unit] = org;
		return;
	}
	def_set(w, in->d, mask, all, org);
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
	          "uninitialised %s is read here and used as %s in line %u", t[k].name, what, in->line);
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
