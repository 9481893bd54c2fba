/* wmma.c - executes wmma, whose fragment layout is opaque and chosen here.
 *
 * The elements of a matrix are in memory order (C and D: row-major). Each lane holds a 32nd of them, in
 * order, packed into its registers. The remaining registers repeat these, so code that changes every element
 * of a fragment alike behaves as intended. */
#include <string.h>
#include "lib/sim/exec/mma_arith.h"
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"

enum { MAXE = 32 * 32 };

/* Loads the elements of a fragment of `n` elements from registers. */
static void
frag_load(const Warp *w, const Ref *r, u32 n, PtxType t, double *out)
{
	u32 bits = type_bits(t), each = n / WARP, per = bits < 32 ? 32 / bits : 1;
	double e[8 * WARP];

	for (u32 i = 0; i < each / per + (each % per != 0); i++) {
		if (t == T_f64)
			memcpy(e, src64(w, &r[i]), WARP * sizeof *e);
		else if (t == T_f32 || t == T_s32)
			for (u32 l = 0; l < WARP; l++)
				e[l] = mat_value(src32(w, &r[i])[l], t);
		else
			mat_unpack(e, src32(w, &r[i]), WARP, t);
		for (u32 l = 0; l < WARP; l++)
			for (u32 k = 0; k < per && i * per + k < each; k++)
				out[l * each + i * per + k] = e[l * per + k];
	}
}

static void
frag_store(Warp *w, const Ref *r, u32 n, PtxType t, bool sat, const double *v)
{
	u32 each = n / WARP;

	for (u32 l = 0; l < WARP; l++)
		for (u32 i = 0; i < each; i++) {
			double x = v[l * each + i];
			if (t == T_f64) {
				memcpy(&dst64(w, &r[i])[l], &x, 8);
			} else if (t == T_f16) {
				u32 *d = &dst32(w, &r[i / 2])[l], h = mat_round(x, t, false);
				*d = i % 2 ? (*d & 0xffff) | h << 16 : h;
			} else {
				dst32(w, &r[i])[l] = mat_round(x, t, sat);
			}
		}
}

static void
transpose(double *out, const double *in, u32 rows, u32 cols)
{
	for (u32 r = 0; r < rows; r++)
		for (u32 c = 0; c < cols; c++)
			out[c * rows + r] = in[r * cols + c];
}

static void
bits(Warp *w, const Ins *in, u32 k, double *c)
{
	for (u32 i = 0; i < 64; i++)
		for (u32 q = 0; q < k / 32; q++) {
			u32 a = src32(w, in->s)[i / 8 * 4 + q],
			    b = src32(w, in->s + in->mma.na)[i % 8 * 4 + q];
			c[i] += (double)popcount(in->mma.is_and ? a & b : a ^ b);
		}
}

int
exec_wmma(Warp *w, const Ins *in, u32 mask)
{
	u32 m = in->mma.m, n = in->mma.n, k = in->mma.k;
	double a[MAXE], b[MAXE], c[MAXE], t[MAXE];

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	frag_load(w, in->s + in->mma.na + in->mma.nb, m * n, (PtxType)in->mma.c, c);
	if (in->mma.a == T_b1) {
		bits(w, in, k, c);
	} else {
		frag_load(w, in->s, m * k, (PtxType)in->mma.a, in->mma.a_col ? t : a);
		if (in->mma.a_col)
			transpose(a, t, k, m);
		frag_load(w, in->s + in->mma.na, k * n, (PtxType)in->mma.b, in->mma.b_col ? t : b);
		if (in->mma.b_col)
			transpose(b, t, n, k);
		(in->mma.a == T_f64 ? mat_product64 : mat_product)(c, a, b, m, n, k);
	}
	if (w->def)
		taint_list(w, in, ALL_LANES);
	frag_store(w, in->d, m * n, (PtxType)in->mma.d, in->flags & F_SAT, c);
	w->cta->k->mma++;
	w->cta->k->mma_macs += (u64)m * n * k;
	return R_NEXT;
}

/* ---- memory ---- */

/* Position of element e of the fragment, in bits from its start. */
static u64
bit_of(const Ins *in, u32 e, u32 ldm, u32 size)
{
	u32 cols = in->frag.cols, rows = in->frag.rows, r, c;

	if (in->frag.which != FRAG_C && in->frag.col) {         /* in memory order */
		r = e % rows;
		c = e / rows;
	} else {
		r = e / cols;
		c = e % cols;
	}
	return (u64)(in->frag.col ? (u64)c * ldm + r : (u64)r * ldm + c) * size;
}

/* Resolves one chunk of each lane. Returns the lanes whose access is valid. */
static u32
piece(Warp *w, const Ins *in, u32 at, u32 bytes, u32 each, const u32 *ldm, bool write, MemAccess *acc)
{
	u32 good = 0, size = type_bits((PtxType)in->type);

	for (int l = 0; l < WARP; l++) {
		u64 a = lane_get(w, &in->s[0], l) + (u64)in->off +
		        bit_of(in, (u32)l * each + at, ldm[l], size) / 8;
		if (in->s[0].chunks < 4)
			a = (u32)a;
		if (mem_access(w, in, l, (sim_space)in->space, a, bytes, write, &acc[l]))
			good |= 1u << l;
	}
	if (w->cta->l->counts)
		count_access(w, in, acc, good, bytes, !write, write);
	return good;
}

int
exec_wmmamem(Warp *w, const Ins *in, u32 mask)
{
	bool write = in->nd == 0;
	u32 size = type_bits((PtxType)in->type), n = (u32)in->frag.rows * in->frag.cols, each = n / WARP;
	u32 ldm[WARP], bytes, nreg, def = ALL_LANES, org = 0, word;
	u32 run = in->frag.which == FRAG_C && in->frag.col ? 1 : each; /* contiguous elements in memory */
	const Ref *reg = write ? in->s + 1 + in->frag.stride : in->d;
	u8 v[WARP][64];
	MemAccess acc[WARP];
	int l;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	nreg = write ? in->ns - 1u - in->frag.stride : in->nd;
	word = size == 64 ? 8 : 4;
	use_check(w, in, &in->s[0], ALL_LANES, "an address");
	if (in->frag.stride)
		use_check(w, in, &in->s[1], ALL_LANES, "a stride");
	for (l = 0; l < WARP; l++)
		ldm[l] = in->frag.stride ? src32(w, &in->s[1])[l]
		         : in->frag.col  ? in->frag.rows
		                         : in->frag.cols;
	memset(v, 0, sizeof v);
	for (l = 0; write && l < WARP; l++)
		for (u32 i = 0; i < nreg; i++) {
			u64 x = lane_get(w, &reg[i], l);
			memcpy(v[l] + i * word, &x, word);
		}
	while (run * size > 128)
		run /= 2;
	bytes = run * size / 8;
	for (u32 at = 0; at < each; at += run) {
		u32 good = piece(w, in, at, bytes, each, ldm, write, acc);
		FOR_LANES(l, good) {
			u8 *p = v[l] + at * size / 8;
			if (w->def)
				check_access(w, in, l, &acc[l], bytes, write ? A_WRITE : A_READ,
				             write ? p : NULL);
			if (w->def && !write && !check_init(w, l, &acc[l], bytes)) {
				def &= ~(1u << l);
				org = (acc[l].space == SIM_SPACE_SHARED ? ORG_SHARED : ORG_GLOBAL) | in->line;
			}
			memcpy(write ? acc[l].p : p, write ? p : acc[l].p, bytes);
			if (w->def && write && acc[l].space != SIM_SPACE_SHARED)
				for (u32 i = 0; i < nreg; i++)
					use_check(w, in, &reg[i], 1u << l, "data for global memory");
			if (w->def && write)
				mark_init(w, l, &acc[l], bytes,
				          def_of(w, &reg[at * size / (8 * word)]) >> l & 1);
		}
	}
	for (u32 i = 0; !write && i < nreg; i++) {
		for (l = 0; l < WARP; l++) {
			u64 x = 0;
			memcpy(&x, v[l] + i * word % (each * size / 8 ? each * size / 8 : 1), word);
			lane_set(w, &reg[i], l, x);
		}
		if (w->def)
			def_set(w, &reg[i], ALL_LANES, def, org);
	}
	return R_NEXT;
}
