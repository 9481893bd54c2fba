/* atom.c - atom and red: read-modify-write of global and shared memory. */
#include <string.h>
#include "lib/sim/base/num.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/judge/check.h"
#include "lib/sim/state/fault.h"

static u32
add_f32(u32 a, u32 b, bool ftz)
{
	float f;
	u32 r;

	if (ftz) {              /* global memory: subnormals become zero, with their sign */
		a = a & 0x7f800000u ? a : a & 0x80000000u;
		b = b & 0x7f800000u ? b : b & 0x80000000u;
	}
	f = f32_of(a) + f32_of(b);
	r = bits_of(f);
	if (f != f)
		r = 0x7fffffffu;
	if (ftz && !(r & 0x7f800000u))
		r &= 0x80000000u;
	return r;
}

static u32
half_op(u32 sub, PtxType t, u32 a, u32 b)
{
	bool h = t == T_f16 || t == T_f16x2;
	float x = h ? f16_value(a) : bf16_value(a), y = h ? f16_value(b) : bf16_value(b), r;

	if (sub == AT_MIN || sub == AT_MAX) {           /* as min and max: -0 is less than +0 */
		bool less = x < y || (x == y && a > b);
		if (x != x || y != y)
			return x == x ? a : y == y ? b : 0x7fff;
		return less == (sub == AT_MIN) ? a : b;
	}
	r = x + y;
	return h ? f16_from_f32(r) : bf16_round((double)r, RN);
}

static u64
combine(const Ins *in, u64 old, u64 b, u64 c, bool global)
{
	PtxType t = (PtxType)in->type;

	if (type_float(t) && in->sub != AT_EXCH && in->sub != AT_CAS) {
		switch (t) {
		case T_f32: return add_f32((u32)old, (u32)b, global);
		case T_f64: return bits64_of(f64_of(old) + f64_of(b));
		case T_f16: case T_bf16:
			return half_op(in->sub, t, (u32)old & 0xffff, (u32)b & 0xffff);
		default: {
			u32 low = half_op(in->sub, t, (u32)old & 0xffff, (u32)b & 0xffff);
			u32 high = half_op(in->sub, t, (u32)(old >> 16) & 0xffff, (u32)(b >> 16) & 0xffff);

			return low | (u64)high << 16;
		}
		}
	}
	switch (in->sub) {
	case AT_AND: return old & b;
	case AT_OR: return old | b;
	case AT_XOR: return old ^ b;
	case AT_EXCH: return b;
	case AT_ADD: return old + b;
	case AT_INC: return old >= b ? 0 : old + 1;
	case AT_DEC: return old == 0 || old > b ? b : old - 1;
	case AT_CAS: return old == b ? c : old;
	default: break;
	}
	{
		bool less = t == T_s64 ? (s64)old < (s64)b : t == T_s32 ? (s32)old < (s32)b : old < b;
		return less == (in->sub == AT_MIN) ? old : b;
	}
}

u64
atom_rmw(u8 *p, u32 bytes, const Ins *in, u64 b, u64 c, bool global)
{
	if (bytes == 8) {
		u64 *q = (u64 *)(void *)p, old = __atomic_load_n(q, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(q, &old, combine(in, old, b, c, global), false,
		                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
	if (bytes == 4) {
		u32 *q = (u32 *)(void *)p, old = __atomic_load_n(q, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(q, &old, (u32)combine(in, old, b, c, global), false,
		                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
	{
		u16 *q = (u16 *)(void *)p, old = __atomic_load_n(q, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(q, &old, (u16)combine(in, old, b, c, global), false,
		                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
}

/* exch and cas of 16 bytes, under the launch's lock: hosts need not have them. */
static void
rmw128(Warp *w, const Ins *in, int l, u8 *p, bool locked)
{
	const u64 *b = src64(w, &in->s[1]), *c = in->sub == AT_CAS ? src64(w, &in->s[2]) : b;
	u64 old[2], next[2] = { c[l], c[WARP + l] };

	if (!locked)
		launch_lock(w->cta->l);
	memcpy(old, p, 16);
	if (in->sub == AT_EXCH || (old[0] == b[l] && old[1] == b[WARP + l]))
		memcpy(p, next, 16);
	if (!locked)
		launch_unlock(w->cta->l);
	if (in->nd) {
		dst64(w, in->d)[l] = old[0];
		dst64(w, in->d)[WARP + l] = old[1];
	}
}

int
exec_atom(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	u32 bytes = (u32)in->ebytes * in->vec, good, undef = 0;
	int l;

	good = mem_resolve(w, in, &in->s[0], in->off, (sim_space)in->space, mask, bytes, true, acc);
	w->cta->cl->reads++;
	if (w->cta->l->counts)
		count_access(w, in, acc, good, bytes, true, true);
	if (w->def) {
		for (u32 i = 1; i < in->ns; i++)
			use_check(w, in, &in->s[i], mask, "an operand of an atomic operation");
		for (u32 i = 0; i < in->nd; i++)
			def_set(w, &in->d[i], mask, ALL_LANES, 0);
	}
	FOR_LANES(l, good) {
		bool locked = w->def && hands_over(w, &acc[l], in);
		if (w->def) {
			check_access(w, in, l, &acc[l], bytes, A_SWRITE, NULL);
			if (locked)
				launch_lock(w->cta->l);
			check_strong(w, &acc[l], in, true, true, locked);
			if (!check_init(w, l, &acc[l], bytes))
				undef |= 1u << l;
		}
		w->cta->cl->effects += in->ebytes == 16;
		if (in->ebytes == 16)
			rmw128(w, in, l, acc[l].p, locked);
		for (u32 i = 0; i < in->vec && in->ebytes < 16; i++) {
			u64 b = lane_get(w, &in->s[1 + i], l), c = 0, old;
			if (in->sub == AT_CAS)
				c = lane_get(w, &in->s[1 + in->vec], l);
			old = atom_rmw(acc[l].p + i * in->ebytes, in->ebytes, in, b, c, acc[l].al != NULL);
			/* a comparison that fails, or 0 added, is a read: loops wait so */
			w->cta->cl->effects += in->sub == AT_CAS ? old == b
			                                         : !((in->sub == AT_ADD ||
			                                              in->sub == AT_OR) &&
			                                             !b);
			if (in->nd)
				lane_set(w, &in->d[i], l, old);
		}
		if (locked)
			launch_unlock(w->cta->l);
		else if (w->def && acc[l].al)      /* another block may have begun to hand over since */
			check_strong(w, &acc[l], in, true, false, false);
		/* an exchange defines the memory; anything else on undefined memory is told once */
		if (undef >> l & 1 && in->sub != AT_EXCH)
			fault_add(w, l, acc[l].al ? SIM_FAULT_UNINIT_GLOBAL : SIM_FAULT_UNINIT_SHARED,
			          in->line,
			          acc[l].space, acc[l].addr, bytes, NULL,
			          "%.60s: atomic operation on memory nobody has written", in->text);
		if (w->def || acc[l].al)
			mark_init(w, l, &acc[l], bytes, true);
	}
	return R_NEXT;
}
