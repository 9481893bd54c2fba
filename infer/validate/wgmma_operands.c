/* wgmma_operands.c - validates wgmma: each instance reads, at the addresses that its descriptors define,
 * the elements that its rows and columns of the result need, and the whole result is computed from all of
 * k.
 *
 * PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": "Register Fragments", "Shared Memory Matrix
 * Layout", "Strides", "Matrix Descriptor Format". A matrix consists of 16-byte chunks. Rows run along m or
 * n and chunks along k (K-major), or the other way (MN-major). With w chunks in a row of the swizzle, chunk
 * c of row r is at
 *         w > 1    16 w (r % 8) + stride (r / 8) + 16 (c % w) + lead (c / w)
 *         w = 1    16 (r % 8) + stride (r / 8) + lead c, MN-major with lead and stride exchanged
 * bytes from the start; then the swizzle mode's number of address bits from bit 7 on is xor-ed into bits 4,
 * 5, 6. */
#include "infer/validate/validate.h"

/* One operand of one instance. */
typedef struct WgmmaOperandCheck {
	Val *v;
	const LoweredMatrix *m;
	bool k_first; /* dim 0 of v is along k */
	int64_t extent; /* of an instance along m or n */
	int first; /* the tile's dim that corresponds to dim 0 of v */
	const Layout *at;
} WgmmaOperandCheck;

static int64_t
chunk_byte(const LoweredMatrix *m, int64_t r, int64_t c)
{
	int64_t w = m->width / 16;

	if (w == 1)
		return 16 * (r % 8) +
		       (m->mn ? m->lead * (r / 8) + m->stride * c : m->stride * (r / 8) + m->lead * c);
	return 16 * w * (r % 8) + m->stride * (r / 8) + 16 * (c % w) + m->lead * (c / w);
}

/* Returns the byte offset in the tile of the element at x along m or n and k; `plain`: without the
 * swizzle. */
static int64_t
byte_at(const WgmmaOperandCheck *f, int64_t x, int64_t k, bool plain)
{
	int64_t c[DIM_MAX] = { 0 };
	Layout l = *f->at;

	c[f->first + f->k_first] = x;
	c[f->first + !f->k_first] = k;
	if (plain)
		l.swizzle = (Swizzle){ 0, 0, 0 };
	return mem_offset(&l, c) * dtype_info[f->v->type.dtype].bits / 8;
}

/* Validates the operand of an instance from x0 and k0 on. */
static bool
in_memory(Prove *p, const WgmmaOperandCheck *f, int64_t x0, int64_t k0, int64_t nk)
{
	int bytes = dtype_info[f->v->type.dtype].bits / 8, w = f->m->width / 16;
	int64_t start = byte_at(f, x0, k0, true);

	for (int64_t x = 0; x < f->extent; x++)
		for (int64_t k = 0; k < nk; k++) {
			int64_t row = f->m->mn ? k : x, along = (f->m->mn ? x : k) * bytes;
			int64_t at = start + chunk_byte(f->m, row, along / 16);
			int64_t c[2], want;

			at = (at ^ (at / 128 % w) * 16) + along % 16;
			c[f->k_first] = x0 + x;
			c[!f->k_first] = k0 + k;
			want = byte_at(f, x0 + x, k0 + k, false);
			if (at != want)
				return prove_error(p, -1, 0,
				                   "%s is at byte %lld of the tile; the descriptor "
				                   "addresses byte %lld",
				                   elem_text(p, &f->v->type, index_elem(&f->v->type, c)),
				                   (long long)want, (long long)at);
		}
	return true;
}

/* Validates the fields of a descriptor, and that its tile is aligned to the swizzle pattern. */
static bool
descriptor(Prove *p, WgmmaOperandCheck *f, bool mn_too)
{
	const Val *tile = view_root(f->v);
	const LoweredMatrix *m = f->m;
	bool begins = tile->def && tile->def->code == O_alloc;

	f->at = tile->type.layout;
	f->first = tile->type.rank - f->v->type.rank;
	for (const Op *v = f->v->def; v && v->code == O_view; v = view_source(v)->def)
		begins = begins &&
		         IMM(v, dropped) == (1 << (view_source(v)->type.rank - v->out[0]->type.rank)) - 1;
	if (!f->at || !begins || IMM(tile->def, align) % (8 * m->width))
		return prove_error(p, -1, 0, "the operand is not a tile at a multiple of %d bytes",
		                   8 * m->width);
	for (int d = 0; d < 2; d++)
		if (f->v->type.shape[d] != tile->type.shape[f->first + d])
			return prove_error(p, -1, 0, "the operand is a slice of a tile");
	if ((m->width != 16 && m->width != 32 && m->width != 64 && m->width != 128) || m->lead % 16 ||
	    m->stride % 16 || m->lead < 0 || m->stride < 0 || m->lead >= 1 << 18 || m->stride >= 1 << 18)
		return prove_error(p, -1, 0, "no descriptor encodes width %d, leading offset %d, stride %d",
		                   m->width,
		                   m->lead, m->stride);
	for (int d = 0; d < f->first; d++) { /* stages are multiples of the pattern apart */
		int64_t c[DIM_MAX] = { 0 };

		c[d] = tile->type.shape[d] > 1;
		if (mem_offset(f->at, c) * dtype_info[tile->type.dtype].bits / 8 % (8 * m->width))
			return prove_error(p, -1, 0, "stages of the tile start inside the swizzle pattern");
	}
	return !m->mn || mn_too ||
	       prove_error(p, -1, 0, "only 16-bit elements can be contiguous along m or n");
}

/* Computes the row, within its warp's 16, and the column of register i of a thread, in the accumulator of
 * an instance. */
static void
accumulator(int thread, int64_t i, int64_t *row, int64_t *col)
{
	*row = i / 2 % 2 * 8 + thread % 32 / 4;
	*col = i / 4 * 8 + thread % 4 * 2 + i % 2;
}

/* .. and the row and k of A's, with `word` elements per register. */
static void
fragment_a(int thread, int64_t i, int word, int64_t *row, int64_t *k)
{
	*row = i / word % 2 * 8 + thread % 32 / 4;
	*k = i / (2 * word) * 4 * word + thread % 4 * word + i % word;
}

typedef struct WgmmaCheck {
	const Op *o;
	const Instr *in;
	const Ownership *c, *a;
	bool swap;
	WgmmaOperandCheck f[2]; /* of the instruction's A and B */
	int64_t k, from, to; /* all of it, and the multiplied range */
} WgmmaCheck;

/* Validates A in registers for the instance of group g at k0, each warp's rows from m0 on. */
static bool
in_registers(Prove *p, const WgmmaCheck *x, int g, const int64_t m0[4], int64_t k0)
{
	const Val *v = x->f[0].v;
	int word = 32 / dtype_info[v->type.dtype].bits;
	int64_t first = -1;

	for (int64_t i = 0; i < 4 * word; i++) {
		int64_t row, k, reg, c[2];

		fragment_a(0, i, word, &row, &k);
		for (int t = 0; t < 128; t++) {
			int thread = g * 128 + t;

			fragment_a(t, i, word, &row, &k);
			c[x->swap] = m0[t / 32] + row;
			c[!x->swap] = k0 + k;
			if (t == 0) {
				reg = -1;
				for (int64_t r = 0; r < x->a->regs; r++)
					if (x->a->elem[thread * x->a->regs + r] == index_elem(&v->type, c))
						reg = r;
				first = i % word ? first : reg;
				if (reg < 0 || first % word || reg != first + i % word)
					return prove_error(p, thread, 0, "%s is not packed here",
					                   elem_text(p, &v->type, index_elem(&v->type, c)));
			}
			if (x->a->elem[thread * x->a->regs + reg] != index_elem(&v->type, c))
				return prove_error(p, thread, reg, "%s is not here",
				                   elem_text(p, &v->type, index_elem(&v->type, c)));
		}
	}
	return true;
}

/* Validates the instance whose result starts in register r of group g: ownership of the result, and its
 * operands. */
static bool
instance(Prove *p, const WgmmaCheck *x, int g, int64_t r)
{
	const Type *t = &x->o->out[0]->type;
	int64_t n = x->o->lowering->dot.n, first[4], column = 0, base[2], c[2], regs = n / 2;

	if (r + regs > x->c->regs)
		return prove_error(p, g * 128, r, "the result has fewer than %lld registers from here",
		                   (long long)regs);
	for (int w = 4; w-- > 0; column = base[!x->swap]) { /* warp 0 last: base is the instance's */
		type_coord(t, x->c->elem[(g * 128 + w * 32) * x->c->regs + r], base);
		first[w] = base[x->swap];
	}
	for (int w = 1; w < 4; w++)
		if (!x->a && first[w] != first[0] + 16 * w)
			return prove_error(p, g * 128 + w * 32, r,
			                   "the rows of an instruction are not contiguous");
	for (int th = 0; th < 128; th++)
		for (int64_t i = 0; i < regs; i++) {
			int64_t row, col, at = (g * 128 + th) * x->c->regs + r + i;

			accumulator(th, i, &row, &col);
			c[x->swap] = first[th / 32] + row;
			c[!x->swap] = column + col;
			if (c[0] >= t->shape[0] || c[1] >= t->shape[1] || x->c->elem[at] != index_elem(t, c))
				return prove_error(p, g * 128 + th, r + i,
				                   "%s is in a register where the instruction starting at "
				                   "%s has another element",
				                   elem_text(p, t, x->c->elem[at]),
				                   elem_text(p, t, index_elem(t, base)));
		}
	for (int64_t k0 = x->from; k0 < x->to; k0 += x->in->k)
		if (!(x->a ? in_registers(p, x, g, first, k0)
		           : in_memory(p, &x->f[0], first[0], k0, x->in->k)) ||
		    !in_memory(p, &x->f[1], column, k0, x->in->k))
			return false;
	return true;
}

static bool
factors(Prove *p, const Op *o, WgmmaCheck *x)
{
	for (int i = 0; i < 2; i++) {
		int at = x->swap ? 1 - i : i;
		WgmmaOperandCheck *f = &x->f[i];

		*f = (WgmmaOperandCheck){ .v = o->in[at], .m = &o->lowering->dot.matrix[i] };
		f->k_first = at == 0 ? IMM(o, transposed) & 1 : !(IMM(o, transposed) & 2);
		f->extent = i ? o->lowering->dot.n : x->in->m;
		x->k = f->v->type.shape[!f->k_first];
		if (f->v->type.dtype != (i ? x->in->tb : x->in->ta))
			return prove_error(p, -1, 0, "%s does not support these types", x->in->name);
		if ((f->v->type.space == S_shared) != (f->m->width > 0) ||
		    (f->v->type.space != S_shared) != (i == 0 && x->in->a))
			return prove_error(p, -1, 0, "%s does not support operand %d in that memory",
			                   x->in->name,
			                   at);
		if (f->m->width && !descriptor(p, f, dtype_info[x->in->ta].bits == 16))
			return false;
	}
	x->from = o->lowering->dot.from;
	x->to = o->lowering->dot.to ? o->lowering->dot.to : x->k;
	return (x->from >= 0 && x->from < x->to && x->to <= x->k && x->from % x->in->k == 0 &&
	        x->to % x->in->k == 0) ||
	       prove_error(p, -1, 0, "k is not a multiple of the instruction's k");
}

void
prove_wgmma(Prove *p, const Op *o)
{
	WgmmaCheck x = { .o = o, .in = instr_of(o->lowering), .c = held_of(p, o->out[0]) };
	int n = o->lowering ? o->lowering->dot.n : 0;
	bool ints;

	if (!prove_same_layout(mma_acc(o)->type.layout, o->out[0]->type.layout)) {
		prove_error(p, -1, 0, "the accumulator has different layouts before and after");
		return;
	}
	if (!x.in || x.in->kind != IK_wgmma || x.in->acc != o->out[0]->type.dtype ||
	    !instr_on(x.in, p->k->unit->target) || p->threads % 128) {
		prove_error(p, -1, 0, "no wgmma instruction does this on %s",
		            p->k->unit->target->name);
		return;
	}
	ints = dtype_info[x.in->acc].kind != K_flt;
	if (n < 8 || n > 256 || n % (ints && n > 32 ? 16 : 8)) {
		prove_error(p, -1, 0, "%s does not support %d columns", x.in->name, n);
		return;
	}
	x.swap = o->lowering->dot.swap;
	if (!x.c || !factors(p, o, &x))
		return;
	if (x.in->a && !(x.a = held_of(p, o->in[x.swap])))
		return;
	if (x.c->regs % (n / 2))
		prove_error(p, -1, 0, "%lld registers are not a multiple of those per instruction",
		            (long long)x.c->regs);
	for (int g = 0; g < p->threads / 128; g++)
		for (int64_t r = 0; p->ok && r < x.c->regs; r += n / 2)
			if (!instance(p, &x, g, r))
				return;
}
