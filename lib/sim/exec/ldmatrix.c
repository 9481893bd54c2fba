/* ldmatrix.c - executes ldmatrix, stmatrix and movmatrix on 8x8 matrices of 16-bit elements.
 *
 * Lane 8 i + r gives the address of row r of matrix i. Lane l holds, of each matrix, the elements 2 (l % 4)
 * and 2 (l % 4) + 1 of row l / 4; with .trans, of column l / 4. */
#include <string.h>
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

static void
element_of(u32 lane, u32 half, bool trans, u32 *row, u32 *col)
{
	u32 a = lane / 4, b = lane % 4 * 2 + half;

	*row = trans ? b : a;
	*col = trans ? a : b;
}

static u32
rows_of(Warp *w, const Ins *in, bool write, MemAccess *acc)
{
	u32 lanes = in->mem.vec == 4 ? ALL_LANES : (1u << 8 * in->mem.vec) - 1, good, addr[WARP];
	int l;

	good = mem_resolve(w, in, &in->s[0], in->off, (sim_space)in->space, lanes, 16, write, acc);
	FOR_LANES(l, good)
		if (acc[l].space != SIM_SPACE_SHARED) {
			fault_add(w, l, SIM_FAULT_BOUNDS, in->line, acc[l].space, acc[l].addr, 16, NULL,
			          "%.60s: generic address 0x%llx is not in shared memory", in->text,
			          (unsigned long long)acc[l].addr);
			good &= ~(1u << l);
		}
	if (w->cta->l->counts && good == lanes) {
		FOR_LANES(l, good)
			addr[l] = (u32)acc[l].addr;
		count_matrix(w, in, addr, in->mem.vec);
	}
	return good;
}

static void
load_defs(Warp *w, const Ins *in, u32 good, const MemAccess *acc)
{
	u32 undef[4][4], any = 0;       /* bytes of registers */
	int l;

	memset(undef, 0, sizeof undef);
	FOR_LANES(l, good) {
		check_access(w, in, l, &acc[l], 16, A_READ, NULL);
		if (!check_init(w, l, &acc[l], 16))
			any |= 1u << l;
	}
	for (u32 i = 0; any && i < in->mem.vec; i++)
		for (u32 t = 0; t < 2 * WARP; t++) {
			u32 row, col;
			MemAccess a;
			element_of(t / 2, t % 2, in->flags & F_TRANS, &row, &col);
			if (!(any >> (8 * i + row) & 1))
				continue;
			a = acc[8 * i + row];
			a.addr += 2 * col;
			for (u32 b = 0; b < 2; b++, a.addr++)
				if (!check_init(w, 0, &a, 1))
					undef[2 * (t % 2) + b][i] |= 1u << t / 2;
		}
	for (u32 i = 0; i < in->mem.vec; i++) {
		u32 *d = w->def + in->d[i].def;
		for (u32 b = 0; b < 4; b++)
			d[b] = ~undef[b][i];
		if (undef[0][i] | undef[1][i] | undef[2][i] | undef[3][i])
			w->org[in->d[i].unit] = ORG_SHARED | in->line;
	}
}

int
exec_ldmatrix(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	u32 good, out[4][WARP];
	u16 v;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	good = rows_of(w, in, false, acc);
	memset(out, 0, sizeof out);
	for (u32 i = 0; i < in->mem.vec; i++)
		for (u32 t = 0; t < 2 * WARP; t++) {
			u32 row, col;
			element_of(t / 2, t % 2, in->flags & F_TRANS, &row, &col);
			if (!(good >> (8 * i + row) & 1))
				continue;
			memcpy(&v, acc[8 * i + row].p + 2 * col, 2);
			out[i][t / 2] |= (u32)v << 16 * (t % 2);
		}
	if (w->def)
		load_defs(w, in, good, acc);
	for (u32 i = 0; i < in->mem.vec; i++)
		memcpy(dst32(w, &in->d[i]), out[i], sizeof out[i]);
	return R_NEXT;
}

int
exec_stmatrix(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	u32 good;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	good = rows_of(w, in, true, acc);
	for (u32 r = 0; r < 8u * in->mem.vec; r++) {
		u16 row[8];
		bool def[8][2];
		u32 i = r / 8;
		const u32 *s = src32(w, &in->s[1 + i]);
		if (!(good >> r & 1))
			continue;
		for (u32 t = 0; t < 2 * WARP; t++) {
			u32 rr, col;
			element_of(t / 2, t % 2, in->flags & F_TRANS, &rr, &col);
			if (rr != r % 8)
				continue;
			row[col] = (u16)(s[t / 2] >> 16 * (t % 2));
			for (u32 b = 0; w->def && b < 2; b++)
				def[col][b] = w->def[in->s[1 + i].def + 2 * (t % 2) + b] >> t / 2 & 1;
		}
		if (w->def) {
			check_access(w, in, (int)r, &acc[r], 16, A_WRITE, row);
			for (u32 c = 0; c < 16; c++) {
				MemAccess a = acc[r];
				a.addr += c;
				mark_init(w, 0, &a, 1, def[c / 2][c % 2]);
			}
		}
		memcpy(acc[r].p, row, 16);
	}
	return R_NEXT;
}

int
exec_movmatrix(Warp *w, const Ins *in, u32 mask)
{
	const u32 *s = src32(w, in->s);
	u32 out[WARP], *d = dst32(w, in->d);

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	for (u32 l = 0; l < WARP; l++) {
		out[l] = 0;
		for (u32 h = 0; h < 2; h++) {
			u32 row = l % 4 * 2 + h, col = l / 4;  /* the element now at (l / 4, 2 (l % 4) + h) */
			out[l] |= (s[row * 4 + col / 2] >> 16 * (col % 2) & 0xffff) << 16 * h;
		}
	}
	memcpy(d, out, sizeof out);
	if (w->def) {
		u32 all = def_of(w, in->s);
		def_set(w, in->d, mask, all == ALL_LANES ? ALL_LANES : 0, origin_of(w, in, in->s));
	}
	return R_NEXT;
}
