/* lut.c - emits lookups in a table of up to 16 entries, by codes in registers.
 *
 * Four codes of a word select one byte each from a plane of the table in parallel (prmt_lut.c). Wider
 * elements are combined from one plane per byte. A request for one element also computes the other three of
 * its group. */
#include "hexc/ir/bit_order.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"

typedef struct LookupPlan {
	int entries, bytes, ngroup, ntable; /* of the table; groups of four codes; tables per lane */
	int nplane;                         /* words per plane */
	LV *plane;                          /* [ntable][bytes][nplane] */
	LV *chosen;                         /* [ntable][ngroup][bytes]: one byte per code of the group */
	LV *low, *upper;                    /* [ngroup]: selectors in their lower halves */
} LookupPlan;

/* Returns byte `byte` of entries 4k .. 4k + 3 of the table whose first register is `base`. */
static LV
table_plane(Codegen *g, Val *table, int entries, int base, int k, int byte)
{
	const Tile *t = tile_of(g, table);
	int each = dtype_info[t->dtype].bits / 8;
	LV word[4], half[2];
	unsigned at[4];

	for (int i = 0; i < 4; i++) {
		int r = base + (4 * k + i < entries ? 4 * k + i : 0);

		word[i] = as_i32(g, word_get(g, table, r / t->epw));
		at[i] = (unsigned)(r % t->epw * each + byte);
	}
	if (word[0] == word[3] && at[0] == 0 && at[1] == 1 && at[2] == 2 && at[3] == 3)
		return word[0];
	if (word[0] == word[1] && word[2] == word[3])
		return prmt(g, word[0], word[2], at[0] | at[1] << 4 | (4 + at[2]) << 8 | (4 + at[3]) << 12);
	for (int h = 0; h < 2; h++)
		half[h] = prmt(g, word[2 * h], word[2 * h + 1], at[2 * h] | (4 + at[2 * h + 1]) << 4);
	return prmt(g, half[0], half[1], 0x5410);
}

/* Returns codes 4 group .. 4 group + 3 of a lane in row-major order, 4 bits each, in the lower half. */
static LV
four_codes(Codegen *g, Val *index, int group)
{
	const Tile *t = tile_of(g, index);
	int slot = dtype_slot_bits(t->dtype), at = group * 4 % t->epw * slot;
	LV x = word_get(g, index, group * 4 / t->epw);

	if (at)
		x = LLVMBuildLShr(g->b, x, const_i32(g, at), "");
	for (int n = 2; n > 0; n /= 2) { /* separates halves, then single codes */
		int up = n * (4 - slot), run = n * slot;
		int64_t keep = ((int64_t)1 << run) - 1;

		keep |= keep << 4 * n | (n == 1 ? (keep | keep << 4) << 8 : 0);
		if (n == 2)
			x = LLVMBuildAnd(g->b, x, const_i32(g, ((int64_t)1 << 4 * slot) - 1), "");
		x = LLVMBuildOr(g->b, x, LLVMBuildShl(g->b, x, const_i32(g, up), ""), "");
		x = LLVMBuildAnd(g->b, x, const_i32(g, keep), "");
	}
	return x;
}

/* Returns codes 8 i .. 8 i + 7 of a lane in bit order 4, 4 bits each; higher bits of a code are
 * unspecified. */
static LV
eight_codes(Codegen *g, Val *index, int i)
{
	int bits = dtype_info[index->type.dtype].bits, group = i / 4 * bits, n;
	const int64_t all = 0x11111111;
	LV code = NULL;

	for (int done = 0; done < bits; done += n) {
		int at = bit_order_bit(bits, 4, i % 4 * 8, done), shift = at % 4 - done;
		LV x = word_get(g, index, group + at / 32);

		for (n = 1; done + n < bits && bit_order_bit(bits, 4, i % 4 * 8, done + n) == at + n;)
			n++;
		x = shift > 0 ? LLVMBuildLShr(g->b, x, const_i32(g, shift), "")
		              : LLVMBuildShl(g->b, x, const_i32(g, -shift), "");
		if (n < bits)
			x = LLVMBuildAnd(g->b, x, const_i32(g, all * ((1 << n) - 1) << done), "");
		code = code ? LLVMBuildOr(g->b, code, x, "") : x;
	}
	return code;
}

/* Creates the selectors of a group; two groups are in one word and share the computation. */
static void
make_selectors(Codegen *g, const Op *o, LookupPlan *p, int group)
{
	Val *index = lookup_index(o);
	LV low, upper;

	if (p->low[group])
		return;
	if (!index->type.bit_order && dtype_slot_bits(index->type.dtype) < 4) {
		low = four_codes(g, index, group);
		table_selectors(g, p->entries, low, &p->low[group], &p->upper[group]);
		return;
	}
	low = index->type.bit_order ? eight_codes(g, index, group / 2) : word_get(g, index, group / 2);
	table_selectors(g, p->entries, low, &low, &upper);
	for (int i = group & ~1; i < (group | 1) + 1 && i < p->ngroup; i++) {
		LV by = const_i32(g, i % 2 * 16);

		p->low[i] = i % 2 ? LLVMBuildLShr(g->b, low, by, "") : low;
		p->upper[i] = i % 2 && upper ? LLVMBuildLShr(g->b, upper, by, "") : upper;
	}
}

/* Returns byte `byte` of the elements selected by the codes of a group. */
static LV
chosen_bytes(Codegen *g, const Op *o, LookupPlan *p, int table, int group, int byte)
{
	LV *to = &p->chosen[(table * p->ngroup + group) * p->bytes + byte];
	LV *plane = &p->plane[(table * p->bytes + byte) * p->nplane];

	if (*to)
		return *to;
	for (int k = 0; k < p->nplane; k++)
		if (!plane[k])
			plane[k] = table_plane(g, lookup_table(o), p->entries, table * p->entries, k, byte);
	make_selectors(g, o, p, group);
	*to = table_bytes(g, plane, p->entries, p->low[group], p->upper[group]);
	return *to;
}

/* Returns the index, in the lane, of the table of the result's register r. */
static int
table_of(Codegen *g, const Op *o, int64_t r)
{
	const Type *t = &lookup_table(o)->type;
	int64_t c[DIM_MAX] = { 0 };

	tile_index(tile_of(g, o->out[0]), r, c);
	for (int d = 0; d + 1 < t->rank; d++)
		c[d] = t->shape[d] == 1 ? 0 : c[d];
	c[t->rank - 1] = 0;
	return (int)(tile_reg(g, lookup_table(o), c) / t->shape[t->rank - 1]);
}

/* Returns two bytes of element r, the first being `byte`, at the bottom of a word. */
static LV
two_bytes(Codegen *g, const Op *o, LookupPlan *p, int64_t r, int byte)
{
	int table = table_of(g, o, r), group = (int)r / 4;
	unsigned k = (unsigned)(r % 4);

	return prmt(g, chosen_bytes(g, o, p, table, group, byte),
	            chosen_bytes(g, o, p, table, group, byte + 1), 0x0040u + 0x0011u * k);
}

static void
pull_lookup(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	LookupPlan *p = t->plan;
	int64_t r = (int64_t)w * t->epw;
	int n = t->nreg - (int)r < t->epw ? t->nreg - (int)r : t->epw, pos[WORD_ELEMS];
	LV e[WORD_ELEMS], x;

	if (p->bytes == 4) {
		x = prmt(g, two_bytes(g, o, p, r, 0), two_bytes(g, o, p, r, 2), 0x5410);
		t->word[w] = LLVMBuildBitCast(g->b, x, word_type(g, t->dtype), "");
		return;
	}
	if (p->bytes == 2 && n == 2 && table_of(g, o, r) == table_of(g, o, r + 1)) {
		int table = table_of(g, o, r), group = (int)r / 4;

		t->word[w] = prmt(g, chosen_bytes(g, o, p, table, group, 0),
		                  chosen_bytes(g, o, p, table, group, 1), r % 4 ? 0x7362u : 0x5140u);
		return;
	}
	for (int i = 0; i < n; i++) {
		int table = table_of(g, o, r + i), group = (int)(r + i) / 4;

		e[i] = p->bytes == 2 ? two_bytes(g, o, p, r + i, 0) : chosen_bytes(g, o, p, table, group, 0);
		pos[i] = p->bytes == 2 ? 0 : (int)(r + i) % 4;
	}
	t->word[w] = bits_gather(g, t->dtype, e, pos, n);
}

void
emit_lookup(Codegen *g, Op *o)
{
	const Type *t = &lookup_table(o)->type;
	LookupPlan *p = NEW(g->a, LookupPlan);

	p->entries = (int)t->shape[t->rank - 1];
	p->bytes = dtype_info[t->dtype].bits / 8;
	p->nplane = (int)ceil_div(p->entries, 4);
	p->ntable = tile_of(g, lookup_table(o))->nreg / p->entries;
	p->ngroup = (int)ceil_div(tile_of(g, lookup_index(o))->nreg, 4);
	p->plane = lv_array(g, p->ntable * p->bytes * p->nplane);
	p->low = lv_array(g, p->ngroup);
	p->upper = lv_array(g, p->ngroup);
	p->chosen = lv_array(g, p->ntable * p->ngroup * p->bytes);
	tile_lazy(g, o, pull_lookup, p);
}
