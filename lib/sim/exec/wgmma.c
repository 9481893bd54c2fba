/* wgmma.c - executes wgmma.mma_async: reads operands in shared memory by their descriptors, and multiplies.
 *
 * Each warp of a warpgroup computes 16 of the 64 rows, from the same B. Registers of A and D are as in mma:
 * "Register Fragments for wgmma.mma_async". The result is written to its registers immediately;
 * sanitizer/synccheck_wgmma.c reports accesses before the wait.
 *
 * A matrix in shared memory consists of 16-byte chunks ("Shared Memory Matrix Layout", "Strides"). With W
 * chunks in a row of the swizzle (1: none, 2, 4, 8), S and L the descriptor's stride and leading byte
 * offsets, chunk (row, c) is at
 *	K-major, rows along m or n, c along k:
 *		W = 1: 16 (row % 8) + S (row / 8) + L c
 *		else:  16 W (row % 8) + S (row / 8) + 16 (c % W) + L (c / W)
 *	MN-major, rows along k, c along m or n:
 *		W = 1: 16 (row % 8) + L (row / 8) + S c
 *		else:  16 W (row % 8) + S (row / 8) + 16 (c % W) + L (c / W)
 * from the start address; then address bits 4 and up are xor-ed with equally many bits from bit 7 on, which
 * count from the pattern start given by the descriptor's base offset. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/mma_arith.h"
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"
#include "lib/sim/state/fault.h"

enum { MAXN = 256, CHUNK = 16, MAX_CHUNKS = 64 + 4 * MAXN };

typedef struct Desc {           /* a matrix in shared memory */
	u32 start, lead, stride, base, width;
	bool mn;                /* M or N is the fast dimension */
} Desc;

typedef struct Wg {             /* one warp's share */
	Warp *w;
	const Ins *in;
	u32 n, k;
	Desc a, b;
	u32 used[MAX_CHUNKS], nused;    /* chunks read */
	u32 bad_rows;           /* rows of A with undefined data */
	u32 bad_org;
	bool reported;
	WgKnow *own;            /* the warp's knowledge without the fence: to restore */
} Wg;

static Desc
decode_desc(u64 v, bool mn)
{
	static const u8 width[] = { 1, 8, 4, 2 };
	Desc d;

	d.start = (u32)(v & 0x3fff) << 4;
	d.lead = (u32)(v >> 16 & 0x3fff) << 4;
	d.stride = (u32)(v >> 32 & 0x3fff) << 4;
	d.base = (u32)(v >> 49 & 7);
	d.width = width[v >> 62];
	d.mn = mn;
	return d;
}

static u32
chunk_at(const Desc *d, u32 row, u32 c)
{
	u32 at = d->start + CHUNK * d->width * (row % 8);

	if (d->width == 1)
		return at + (d->mn ? d->lead : d->stride) * (row / 8) + (d->mn ? d->stride : d->lead) * c;
	at += d->stride * (row / 8) + CHUNK * (c % d->width) + d->lead * (c / d->width);
	return at ^ (((at >> 7) - d->base) & (d->width - 1)) << 4;
}

/* Writes by other warps of the group are at least separated by a fence; that alone is a warning. */
static void
check_read(Wg *g, const MemAccess *a)
{
	Warp *w = g->w;

	proxy_read(w, g->in, 0, a, CHUNK);
	check_access(w, g->in, 0, a, CHUNK, A_READ | A_LOOK, NULL);
	wgmma_forget(w, g->own);
	check_access(w, g->in, 0, a, CHUNK, A_READ | A_LOOK | A_ODD, NULL);
	wgmma_know(w, g->own);
}

/* Reads one chunk to out; returns false if its data are undefined. */
static bool
read_chunk(Wg *g, const Desc *d, u32 row, u32 c, u32 *out)
{
	Warp *w = g->w;
	MemAccess a;
	u32 at = chunk_at(d, row, c);

	memset(out, 0, CHUNK);
	if (g->reported)
		return true;
	if (at + CHUNK > w->cta->smem_bytes) {
		mem_access(w, g->in, 0, SIM_SPACE_SHARED, at, CHUNK, false, &a);
		g->reported = true;
		return true;
	}
	memcpy(out, w->cta->smem + at, CHUNK);
	if (!w->def)
		return true;
	if (g->nused < MAX_CHUNKS)
		g->used[g->nused++] = at;
	if (wgmma_seen(w, at))
		return true;
	memset(&a, 0, sizeof a);
	a.space = SIM_SPACE_SHARED;
	a.addr = at;
	a.cta = w->cta;
	a.p = w->cta->smem + at;
	if (!check_only_landed(w, at, CHUNK / 4))
		check_read(g, &a);
	if (!check_init(w, 0, &a, CHUNK))
		return false;
	wgmma_see(w, at);
	return true;
}

/* Gathers operand rows r0 to r0 + n - 1 along m or n, `chunks` chunks of k: words of k by row. Returns a mask
 * of undefined rows. */
static u32
gather_k(Wg *g, const Desc *d, u32 r0, u32 n, u32 chunks, u32 *out)
{
	u32 bad = 0;

	for (u32 r = 0; r < n; r++)
		for (u32 c = 0; c < chunks; c++)
			if (!read_chunk(g, d, r0 + r, c, out + (r * chunks + c) * 4))
				bad |= 1u << r;
	return bad;
}

/* The same column-major: chunks c0 to c0 + n - 1 along m or n, of k rows. */
static bool
gather_mn(Wg *g, const Desc *d, u32 c0, u32 n, u32 k, u32 *out)
{
	bool ok = true;

	for (u32 r = 0; r < k; r++)
		for (u32 c = 0; c < n; c++)
			ok &= read_chunk(g, d, r, c0 + c, out + (r * n + c) * 4);
	return ok;
}

/* ---- A: 16 rows of this warp ---- */

static void
regs_a(Wg *g, u32 words[4 * WARP], u32 *undef)
{
	for (u32 r = 0; r < 4; r++) {
		memcpy(words + r * WARP, src32(g->w, &g->in->s[r]), WARP * sizeof *words);
		for (u32 l = 0; g->w->def && l < WARP; l++)
			if (!(def_of(g->w, &g->in->s[r]) >> l & 1)) {
				*undef |= 1u << (l / 4 + 8 * (r % 2));
				g->bad_org = origin_of(g->w, g->in, &g->in->s[r]);
			}
	}
}

/* Words of 16 rows, with k (or k / 2) contiguous elements. */
static void
words_a(Wg *g, u32 words[4 * WARP])
{
	const u32 row0 = g->w->id % WG_WARPS * 16;
	u32 v[4 * WARP], t = 0;

	if (g->in->mma.na) {
		regs_a(g, v, &g->bad_rows);
		for (u32 r = 0; r < 4; r++)
			for (u32 l = 0; l < WARP; l++)
				words[(l / 4 + 8 * (r % 2)) * 8 + r / 2 * 4 + l % 4] = v[r * WARP + l];
		return;
	}
	if (!g->a.mn) {
		g->bad_rows |= gather_k(g, &g->a, row0, 16, 2, words);
	} else {        /* only 16-bit types can be column-major */
		if (!gather_mn(g, &g->a, row0 / 8, 2, 16, v))
			g->bad_rows = 0xffff;
		for (u32 k = 0; k < 16; k++)
			for (u32 m = 0; m < 16; m++) {
				u32 e = v[k * 8 + m / 2] >> 16 * (m % 2) & 0xffff;
				t = words[m * 8 + k / 2];
				words[m * 8 + k / 2] = k % 2 ? (t & 0xffff) | e << 16 : e;
			}
	}
	if (g->bad_rows)
		g->bad_org = ORG_SHARED | g->in->line;
}

static void
load_a(Wg *g, double *a)
{
	PtxType t = (PtxType)g->in->mma.a;
	u32 words[4 * WARP], e = 16 * 256 / type_bits(t);
	bool sparse = g->in->id == OP_wgmmasp;
	double packed[16 * 32];

	words_a(g, words);
	mat_unpack(sparse ? packed : a, words, 4 * WARP, t);
	if (sparse) {
		const Ref *meta = &g->in->s[g->in->ns - 1];
		u32 sel = g->in->mma.selector;
		int bad;
		use_check(g->w, g->in, meta, mat_meta_lanes(g->k, t, sel), "sparsity metadata");
		bad = mat_expand(a, packed, g->k, t, src32(g->w, meta), sel, false);
		if (bad >= 0)
			fault_add(g->w, bad, SIM_FAULT_METADATA, g->in->line, SIM_SPACE_REG, 0, 0, NULL,
			          "%.60s: lane %d has sparsity metadata 0x%08x, which is invalid for any "
			          "matrix",
			          g->in->text, bad, src32(g->w, meta)[bad]);
		e *= 2;
	}
	for (u32 i = 0; g->in->mma.negate && i < e; i++)
		a[i] = -a[i];
}

/* ---- eight columns of B and D at a time ---- */

static bool
load_b(Wg *g, u32 j, double *b)
{
	PtxType t = (PtxType)g->in->mma.b;
	u32 words[64 * 4], chunks = g->k * type_bits(t) / 128, bad;

	if (g->b.mn) {
		bool ok = gather_mn(g, &g->b, j, 1, g->k, words);
		mat_unpack(b, words, g->k * 4, t);
		return ok;
	}
	bad = gather_k(g, &g->b, 8 * j, 8, chunks, words);
	mat_unpack_cols(b, words, chunks * 4, t);
	return !bad;
}

static void
load_c(const Wg *g, u32 j, double *c)
{
	const Warp *w = g->w;
	const Ins *in = g->in;
	PtxType t = (PtxType)in->mma.d;

	for (u32 h = 0; h < 2; h++) {
		const Ref *r = &in->d[t == T_f16 ? 2 * j + h : 4 * j + 2 * h];
		mat_load_acc(c + 64 * h, src32(w, r), src32(w, t == T_f16 ? r : r + 1), t);
	}
}

static void
store_c(const Wg *g, u32 j, const double *c)
{
	Warp *w = g->w;
	const Ins *in = g->in;
	PtxType t = (PtxType)in->mma.d;

	for (u32 h = 0; h < 2; h++) {
		const Ref *r = &in->d[t == T_f16 ? 2 * j + h : 4 * j + 2 * h];
		mat_store_acc(c + 64 * h, dst32(w, r), dst32(w, t == T_f16 ? r : r + 1), t,
		              in->flags & F_SAT);
	}
}

/* Bits: population count of and; k is 256, eight words. */
static void
bits(Wg *g, const u32 *a, u32 j, bool *ok, double *c)
{
	u32 b[8 * 8];

	*ok = !gather_k(g, &g->b, 8 * j, 8, 2, b);
	for (u32 i = 0; i < 16; i++)
		for (u32 q = 0; q < 8; q++)
			for (u32 x = 0; x < 8; x++)
				c[i * 8 + q] += (double)popcount(a[i * 8 + x] & b[q * 8 + x]);
}

/* D of these columns is defined where C, the row of A and B are. */
static void
define(const Wg *g, u32 j, bool acc, bool b_ok)
{
	const Ins *in = g->in;
	u32 per = in->mma.d == T_f16 ? 2 : 4;

	for (u32 i = 0; i < per; i++) {
		const Ref *r = &in->d[per * j + i];
		u32 def = acc ? def_of(g->w, r) : ALL_LANES, h = per == 2 ? i : i / 2, org = g->bad_org;
		for (u32 l = 0; g->bad_rows && l < WARP; l++)
			if (g->bad_rows >> (l / 4 + 8 * h) & 1)
				def &= ~(1u << l);
		if (~def && acc && !org)
			org = origin_of(g->w, in, r);
		def_set(g->w, r, ALL_LANES, b_ok ? def : 0, b_ok ? org : ORG_SHARED | in->line);
	}
}

static bool
same_desc(Warp *w, const Ins *in, const Ref *r, u64 *v)
{
	const u64 *s = src64(w, r);

	use_check(w, in, r, ALL_LANES, "a matrix descriptor");
	*v = s[0];
	for (u32 l = 1; l < WARP; l++)
		if (s[l] != s[0]) {
			fault_add(w, (int)l, SIM_FAULT_ALIGNED, in->line, SIM_SPACE_NONE, 0, 0, NULL,
			          "%.60s: lanes of warp %u have different matrix descriptors", in->text,
			          w->id);
			return false;
		}
	return true;
}

static WgOp *
op_of(const Wg *g)
{
	WgOp *op = malloc(sizeof *op + g->nused * sizeof *op->chunk);

	if (!op)
		return NULL;
	memset(op, 0, sizeof *op);
	op->in = g->in;
	op->n = g->nused;
	memcpy(op->chunk, g->used, g->nused * sizeof *op->chunk);
	return op;
}

int
exec_wgmma(Warp *w, const Ins *in, u32 mask)
{
	double a[16 * 64], b[64 * 8], c[16 * 8];
	u32 words[4 * WARP], p;
	Wg g;
	WgKnow before;
	WgOp *op;
	u64 v = 0;
	bool acc, ok;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	g.nused = g.bad_rows = g.bad_org = 0;
	g.reported = false;
	g.w = w;
	g.in = in;
	g.n = in->mma.n;
	g.k = in->mma.k;
	wgmma_turn(w, in);
	if (!in->mma.na && !same_desc(w, in, &in->s[0], &v))
		return R_NEXT;
	g.a = decode_desc(v, in->mma.a_col);
	if (!same_desc(w, in, &in->s[in->mma.na ? in->mma.na : 1], &v))
		return R_NEXT;
	g.b = decode_desc(v, !in->mma.b_col);
	use_pred(w, in, in->ps, ALL_LANES, "scale-d");
	p = in->ps_neg ? ~w->p[in->ps] : w->p[in->ps];
	acc = p & 1;
	if (w->def)
		wgmma_check(w, in);
	wgmma_know(w, &before);
	g.own = &before;
	if (in->mma.a == T_b1)
		words_a(&g, words);
	else
		load_a(&g, a);
	for (u32 j = 0; j < g.n / 8; j++) {
		if (acc)
			load_c(&g, j, c);
		else
			memset(c, 0, sizeof c);
		if (in->mma.a == T_b1) {
			bits(&g, words, j, &ok, c);
		} else {
			ok = load_b(&g, j, b);
			mat_product(c, a, b, 16, 8, g.k);
		}
		store_c(&g, j, c);
		if (w->def)
			define(&g, j, acc, ok);
	}
	wgmma_forget(w, &before);
	if (!(op = op_of(&g))) {
		w->cta->k->nomem = true;
		return R_STOP;
	}
	wgmma_issue(w, in, op);
	w->cta->k->mma++;
	w->cta->k->mma_macs += (u64)16 * g.n * g.k;
	return R_NEXT;
}
