/* atom.c - executes atom and red: read-modify-write of global and shared memory. */
#include <string.h>
#include "lib/sim/base/float_formats.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"
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
combine(u32 op, PtxType t, u64 old, u64 b, u64 c, bool global)
{
	if (type_float(t) && op != AT_EXCH && op != AT_CAS) {
		switch (t) {
		case T_f32: return add_f32((u32)old, (u32)b, global);
		case T_f64: return bits64_of(f64_of(old) + f64_of(b));
		case T_f16: case T_bf16:
			return half_op(op, t, (u32)old & 0xffff, (u32)b & 0xffff);
		default: {
			u32 low = half_op(op, t, (u32)old & 0xffff, (u32)b & 0xffff);
			u32 high = half_op(op, t, (u32)(old >> 16) & 0xffff, (u32)(b >> 16) & 0xffff);

			return low | (u64)high << 16;
		}
		}
	}
	switch (op) {
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
		return less == (op == AT_MIN) ? old : b;
	}
}

u64
atom_rmw(u8 *p, u32 bytes, u32 op, PtxType t, u64 b, u64 c, bool global)
{
	if (bytes == 8) {
		u64 *q = (u64 *)(void *)p, old = __atomic_load_n(q, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(q, &old, combine(op, t, old, b, c, global), false,
		                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
	if (bytes == 4) {
		u32 *q = (u32 *)(void *)p, old = __atomic_load_n(q, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(q, &old, (u32)combine(op, t, old, b, c, global), false,
		                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
	{
		u16 *q = (u16 *)(void *)p, old = __atomic_load_n(q, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(q, &old, (u16)combine(op, t, old, b, c, global), false,
		                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
}

/* exch and cas of 16 bytes, under the launch's lock: hosts need not have 16-byte atomics. */
static void
rmw128(Warp *w, const Ins *in, int l, u8 *p, bool locked)
{
	const u64 *b = src64(w, &in->s[1]), *c = in->mem.op == AT_CAS ? src64(w, &in->s[2]) : b;
	u64 old[2], next[2] = { c[l], c[WARP + l] };

	if (!locked)
		launch_lock(w->cta->l);
	memcpy(old, p, 16);
	if (in->mem.op == AT_EXCH || (old[0] == b[l] && old[1] == b[WARP + l]))
		memcpy(p, next, 16);
	if (!locked)
		launch_unlock(w->cta->l);
	if (in->nd) {
		dst64(w, in->d)[l] = old[0];
		dst64(w, in->d)[WARP + l] = old[1];
	}
}

/* Does the operation leave memory unchanged? Then it is only a read: loops poll so. */
static bool
is_idle(const Ins *in, u64 old, u64 b, u64 c, bool global)
{
	u32 bytes = in->mem.ebytes;
	u64 whole = bytes < 8 ? (1ull << 8 * bytes) - 1 : ~0ull;

	return !((combine(in->mem.op, (PtxType)in->type, old, b, c, global) ^ old) & whole);
}

/* The elements of one lane. Returns false if a comparison failed, so it only reads. */
static bool
rmw_lane(Warp *w, const Ins *in, int l, const MemAccess *a)
{
	const Transfer *m = &in->mem;
	bool wrote = m->op != AT_CAS;

	for (u32 i = 0; i < m->vec; i++) {
		u64 b = lane_get(w, &in->s[1 + i], l), c = 0, old;
		bool idle;
		if (m->op == AT_CAS)
			c = lane_get(w, &in->s[1 + m->vec], l);
		old = atom_rmw(a->p + i * m->ebytes, m->ebytes, m->op, (PtxType)in->type, b, c,
		               a->al != NULL);
		idle = is_idle(in, old, b, c, a->al != NULL);
		w->cta->cl->effects += !idle;
		w->cta->cl->inner += !idle && !a->al;
		w->cta->cl->polls += idle && a->al;
		wrote = wrote || old == b;
		if (in->nd)
			lane_set(w, &in->d[i], l, old);
	}
	return wrote;
}

int
exec_atom(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	u32 bytes = (u32)in->mem.ebytes * in->mem.vec, good, undef = 0;
	int l;

	good = mem_resolve(w, in, &in->s[0], in->off, (sim_space)in->space, mask, bytes, true, acc);
	note_look(w, in, false);
	if (w->cta->l->counts)
		count_access(w, in, acc, good, bytes, true, true);
	if (w->def) {
		for (u32 i = 1; i < in->ns; i++)
			use_check(w, in, &in->s[i], mask, "an operand of an atomic operation");
		for (u32 i = 0; i < in->nd; i++)
			def_set(w, &in->d[i], mask, ALL_LANES, 0);
	}
	FOR_LANES(l, good) {
		bool locked = w->def && hands_over(w, &acc[l], in), wrote = true;
		/* The word records updates in the order in which they are made. */
		if (locked)
			launch_lock(w->cta->l);
		if (w->def) {
			check_access(w, in, l, &acc[l], bytes, A_SWRITE, NULL);
			if (!check_init(w, l, &acc[l], bytes))
				undef |= 1u << l;
		}
		if (in->mem.ebytes == 16) {
			w->cta->cl->effects++;
			rmw128(w, in, l, acc[l].p, locked);
		} else {
			wrote = rmw_lane(w, in, l, &acc[l]);
		}
		if (w->def)
			check_strong(w, &acc[l], in, true, wrote);
		/* it may have read what was first released meanwhile */
		if (!locked && w->def && hands_over(w, &acc[l], in)) {
			launch_lock(w->cta->l);
			locked = true;
		}
		if (locked) {
			check_between_blocks(w, &acc[l], in, true, wrote);
			launch_unlock(w->cta->l);
		}
		/* An exchange defines the memory; any other operation on undefined memory is reported once.
		 * That includes a compare-and-swap of a word to change one byte of it: whether the
		 * uninitialised bytes matched the expected ones would need the origin and time of the
		 * values. */
		if (undef >> l & 1 && in->mem.op != AT_EXCH)
			fault_add(w, l, acc[l].al ? SIM_FAULT_UNINIT_GLOBAL : SIM_FAULT_UNINIT_SHARED,
			          in->line,
			          acc[l].space, acc[l].addr, bytes, NULL,
			          "%.60s: atomic operation on uninitialized memory", in->text);
		if (w->def || acc[l].al)
			mark_init(w, l, &acc[l], bytes, true);
	}
	return R_NEXT;
}
