/* address_shared.c - emits addresses in shared memory.
 *
 * The element offset of an instance is sw(uni + lanes + c): uniform starts, the thread's modes, a constant.
 * The swizzle is linear over xor. If uni is a multiple of the swizzle's period, and lanes and c have no
 * common bit,
 *       sw(uni + lanes + c) = uni + (sw(lanes) ^ sw(c)) = uni + (sw(lanes) ^ low) + high
 * where `high` are the bits of sw(c) that sw(lanes) never has. These go to the immediate, and one base is
 * emitted for each different `low`. Otherwise the offset is computed in full, for each instance. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/memory/address.h"

/* Alignment in bytes: swizzle patterns, TMA boxes and descriptors depend on absolute addresses. */
static unsigned
smem_align(const Codegen *g)
{
	return kernel_roles(g->k) ? 1024 : 128;
}

LV
smem_base(Codegen *g)
{
	LV v = LLVMGetNamedGlobal(g->s->mod, "hexc_smem");

	if (g->smem)
		return g->smem;
	if (!v) {
		v = LLVMAddGlobalInAddressSpace(g->s->mod, LLVMArrayType2(g->i8, 0), "hexc_smem", 3);
		LLVMSetLinkage(v, LLVMExternalLinkage);
		LLVMSetAlignment(v, 128);
	}
	if (LLVMGetAlignment(v) < smem_align(g))
		LLVMSetAlignment(v, smem_align(g));
	g->smem = LLVMBuildPtrToInt(g->pre, v, g->i32, "");
	return g->smem;
}

static int
iters(const Layout *l, int d)
{
	return l->first[d + 1] - l->first[d];
}

/* Returns the last mode of dim d. */
static Digit
last_digit(const Layout *l, int d)
{
	Digit last = dim_digits(l, d);

	for (Digit g = last; g.it; digit_next(&g))
		last = g;
	return last;
}

/* Returns the offset of coordinate c of dim d, before the swizzle. */
static int64_t
dim_offset(const Layout *l, int d, int64_t c)
{
	return layout_dim_at(l, d, c).at[AX_mem];
}

/* Emits the same as code. */
static LV
dim_offset_code(Codegen *g, LLVMBuilderRef b, const Layout *l, int d, LV c)
{
	LV sum = const_i32(g, 0);

	for (Digit x = dim_digits(l, d); x.it; digit_next(&x)) {
		bool last = x.at + 1 == x.end;
		LV n = const_i32(g, x.it->extent);
		LV digit = last ? c : LLVMBuildURem(b, c, n, "");

		sum = LLVMBuildAdd(b, sum, LLVMBuildMul(b, digit, const_i32(g, x.it->stride), ""), "");
		if (!last)
			c = LLVMBuildUDiv(b, c, n, "");
	}
	return sum;
}

static LV
swizzle_code(Codegen *g, LLVMBuilderRef b, Swizzle s, LV x)
{
	int from = s.base + (s.shift > 0 ? s.shift : 0), by = s.shift < 0 ? -s.shift : s.shift;
	LV y;

	if (s.bits <= 0)
		return x;
	y = LLVMBuildAnd(b, x, const_i32(g, (((int64_t)1 << s.bits) - 1) << from), "");
	y = s.shift < 0 ? LLVMBuildShl(b, y, const_i32(g, by), "")
	                : LLVMBuildLShr(b, y, const_i32(g, by), "");
	return LLVMBuildXor(b, x, y, "");
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Returns the view dim that corresponds to dim rd of the alloc; -1 if there is none. */
static int
view_dim(const Access *x, int rd)
{
	for (int d = 0; d < x->rank; d++)
		if (x->dim[d] == rd)
			return d;
	return -1;
}

/* Returns the bytes of v elements, where v is `step` elements for each of `s`. */
static LV
uniform_bytes(Access *x, const struct Start *s, int64_t step, LV v)
{
	Codegen *g = x->g;
	int64_t bytes = step * dtype_grain(x->dtype) * dtype_pieces(x->dtype) / 8;

	if (s->depth == 0 || s->lo < 0 || s->hi > INT32_MAX || !is_pow2(bytes) || s->hi > INT32_MAX / bytes)
		return access_bytes(x, g->b, v);
	v = LLVMBuildTrunc(g->b, s->var, g->i32, "");
	return asm_op(g, A_shl_small, v, const_i32(g, log2_floor(bytes)), NULL);
}

/* Adds the uniform start of dim rd. Returns false if it cannot be separated from the other parts. */
static bool
uniform_part(Access *x, int rd, int64_t period)
{
	Codegen *g = x->g;
	const struct Start *s = &x->start[rd];
	Digit last = last_digit(x->mem, rd);
	int64_t weight = last.weight, step;
	LV v;

	if (!s->var || !last.it)
		return true;
	step = s->mult / weight * last.it->stride; /* offset per unit of the last mode */
	if (s->mult % weight || step % period)
		return false;
	if (step * dtype_info[x->dtype].bits % 8)
		x->split = true;
	v = LLVMBuildTrunc(g->b, s->var, g->i32, "");
	if (weight > 1)
		v = LLVMBuildUDiv(g->b, v, const_i32(g, weight), "");
	v = LLVMBuildMul(g->b, v, const_i32(g, last.it->stride), "");
	x->uni = x->uni ? LLVMBuildAdd(g->b, x->uni, v, "") : v;
	if (x->split)
		return true;
	v = uniform_bytes(x, s, weight > 1 ? 0 : last.it->stride, v);
	x->uni_bytes = x->uni_bytes ? LLVMBuildAdd(g->b, x->uni_bytes, v, "") : v;
	return true;
}

/* Adds this thread's part of view dim d, and the bits it may have. Returns false if modes of the memory
 * layout mix it with other parts. */
static bool
lane_part(Access *x, int d)
{
	Codegen *g = x->g;
	int rd = x->dim[d];
	uint64_t bits = 0, image = 0;
	bool known = lane_index_bits(g, x->l, d, &bits);
	LV v = dim_offset_code(g, g->pre, x->mem, rd, x->lane[d]);

	if (!known && iters(x->mem, rd) > 1)
		return false;
	for (Digit m = dim_digits(x->mem, rd); m.it && m.at + 1 < m.end; digit_next(&m))
		if (!is_pow2(m.it->extent))
			return false;
	for (int b = 0; b < 40; b++) {
		int64_t to = bits >> b & 1 ? dim_offset(x->mem, rd, (int64_t)1 << b) : 0;

		if (to && (!is_pow2(to) || (image & (uint64_t)to) || (x->bits & (uint64_t)to)))
			known = false;
		image |= (uint64_t)to;
	}
	x->bits = known && x->bits != UINT64_MAX ? x->bits | image : UINT64_MAX;
	x->lanes = LLVMBuildAdd(g->pre, x->lanes, v, "");
	return true;
}

void
shared_new(Access *x)
{
	Codegen *g = x->g;
	Swizzle s = x->mem->swizzle;
	int64_t period = 1;

	BUG_IF(g->a, x->mem->ndim != x->root_rank || x->mem->offset[AX_mem]);
	if (s.bits > 0)
		period = (int64_t)1 << (s.base + s.bits + (s.shift < 0 ? -s.shift : s.shift));
	x->lanes = const_i32(g, 0);
	for (int rd = 0; rd < x->root_rank && !x->general; rd++) {
		int d = view_dim(x, rd);

		x->general = x->index[rd] || !uniform_part(x, rd, period) ||
		             (d >= 0 && x->l && !lane_part(x, d));
	}
	x->general = x->general || (s.bits > 0 && x->bits == UINT64_MAX);
}

/* ---- one instance ---------------------------------------------------------------------------- */

/* Emits the element offset of the instance in full, without assumptions. */
static LV
general_offset(Access *x, const int64_t *index)
{
	Codegen *g = x->g;
	LV sum = const_i32(g, 0);

	for (int rd = 0; rd < x->root_rank; rd++) {
		int d = view_dim(x, rd);
		LV c = const_i32(g, x->start[rd].add + (d >= 0 ? index[d] : 0));

		if (x->index[rd])
			c = LLVMBuildTrunc(g->b, access_index(x, rd, index), g->i32, "");
		else if (x->start[rd].var)
			c = LLVMBuildAdd(g->b, c,
			                 LLVMBuildTrunc(g->b, x->start[rd].var, g->i32, ""), "");
		if (d >= 0 && !x->index[rd])
			c = LLVMBuildAdd(g->b, c, x->lane[d], "");
		sum = LLVMBuildAdd(g->b, sum, dim_offset_code(g, g->b, x->mem, rd, c), "");
	}
	return swizzle_code(g, g->b, x->mem->swizzle, sum);
}

/* Computes the constant part c. Returns false if it overlaps the bits of the lanes, so that the parts
 * cannot be separated. */
static bool
constant_part(const Access *x, const int64_t *index, int64_t *c)
{
	*c = 0;
	for (int rd = 0; rd < x->root_rank; rd++) {
		int d = view_dim(x, rd);
		int64_t at = x->start[rd].add + (d >= 0 ? index[d] : 0);
		uint64_t bits;

		if (iters(x->mem, rd) > 1) {
			if (d >= 0 && x->l &&
			    (!lane_index_bits(x->g, x->l, d, &bits) || (bits & (uint64_t)at)))
				return false;
			if (x->start[rd].var && at >= last_digit(x->mem, rd).weight)
				return false;
		}
		*c += dim_offset(x->mem, rd, at);
	}
	return x->mem->swizzle.bits <= 0 || (x->bits & (uint64_t)*c) == 0;
}

/* Returns the bits that sw(lanes) may have. */
static uint64_t
swizzled_bits(const Access *x)
{
	uint64_t all = 0;

	for (int b = 0; b < 40; b++)
		if (x->bits >> b & 1)
			all |= (uint64_t)swizzle_apply(x->mem->swizzle, (int64_t)1 << b);
	return all;
}

/* Returns sw(lanes) ^ low in elements, in the entry block. */
static LV
lane_elems(Access *x, int64_t low)
{
	Codegen *g = x->g;
	LV e = swizzle_code(g, g->pre, x->mem->swizzle, x->lanes);

	return low ? LLVMBuildXor(g->pre, e, const_i32(g, low), "") : e;
}

/* Converts an offset in the tile to an address: each consumer group has a separate copy of what its role
 * computes. */
static LV
tile_address(const Access *x, LLVMBuilderRef b, LV v)
{
	Codegen *g = x->g;
	const Kernel *k = g->k;

	v = LLVMBuildAdd(b, v, const_i32(g, x->offset), "");
	v = LLVMBuildAdd(b, v, smem_base(g), "");
	if (!x->of_team || k->teams == 1)
		return v;
	return LLVMBuildAdd(b, v, LLVMBuildMul(b, g->team, const_i32(g, k->team_smem), ""), "");
}

/* Returns the byte address of (sw(lanes) ^ low) + uni. */
static LV
shared_base(Access *x, int64_t low)
{
	Codegen *g = x->g;
	LV v = memo_find(x, 1, &low);

	if (v)
		return v;
	v = access_bytes(x, g->pre, lane_elems(x, low));
	v = tile_address(x, g->pre, v);
	if (x->uni)
		v = LLVMBuildAdd(g->b, v, x->split ? access_bytes(x, g->b, x->uni) : x->uni_bytes, "");
	memo_add(x, 1, &low, v);
	return v;
}

/* Returns the address for an element offset computed in full. */
static LV
from_elems(Access *x, LV e, LV *shift)
{
	Codegen *g = x->g;
	int bits = dtype_info[x->dtype].bits;
	LV v = access_bytes(x, g->b, e);

	if (shift && bits < 8)
		*shift = access_bit(x, g->b, e);
	return tile_address(x, g->b, v);
}

void
shared_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift)
{
	Codegen *g = x->g;
	int bits = dtype_info[x->dtype].bits;
	int64_t c, sc, low;
	uint64_t may;

	*imm = 0;
	if (x->general || !constant_part(x, index, &c)) {
		*base = from_elems(x, general_offset(x, index), shift);
		return;
	}
	sc = swizzle_apply(x->mem->swizzle, c);
	may = x->mem->swizzle.bits > 0 ? swizzled_bits(x) : 0;
	low = sc & (int64_t)may;
	if (shift && bits < 8 && (x->split || (sc - low) * bits % 8)) {
		LV e = LLVMBuildAdd(g->b, lane_elems(x, low), const_i32(g, sc - low), "");

		*base = from_elems(x, x->uni ? LLVMBuildAdd(g->b, e, x->uni, "") : e, shift);
		return;
	}
	if (shift && bits < 8)
		*shift = access_bit(x, g->pre, lane_elems(x, low));
	*base = shared_base(x, low);
	*imm = (sc - low) * bits / 8;
}
