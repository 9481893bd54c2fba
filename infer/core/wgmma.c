/* wgmma.c - computes tile widths, register fragments, k steps and assembly text of wgmma instructions. */
#include "infer/core/wgmma.h"
#include <string.h>

/* Limits: k slices of a wgmma; register sets for them; and, if there are more than two sets, registers per
 * thread of all sets, and of the sets and the accumulator together. */
enum { PARTS_MOST = 8, SETS_MOST = 4, SETS_ROOM = 32, SUM_ROOM = 128 };

/* Does the instruction exist with n columns? */
static bool
has_n(const Instr *i, int64_t n)
{
	int64_t step = dtype_info[i->acc].kind == K_flt || n <= 32 ? i->n : 2 * i->n;

	return n >= i->n && n <= WGMMA_N_MOST && n % step == 0;
}

int
wgmma_widest(const Instr *i, int64_t columns, int64_t most)
{
	int n = (int)(most - most % i->n);

	while (n >= i->n && (columns % n || !has_n(i, n)))
		n -= i->n;
	return n >= i->n ? n : 0;
}

bool
wgmma_divides(const Instr *i, bool swap, const int64_t mnk[3], int wm, int wn)
{
	int64_t rows = mnk[swap], columns = mnk[!swap];
	int down = swap ? wn : wm, across = swap ? wm : wn;

	return rows % ((int64_t)i->m * down) == 0 && columns % across == 0 && mnk[2] % i->k == 0 &&
	       wgmma_widest(i, columns / across, WGMMA_N_MOST);
}

bool
wgmma_has_mn(const Instr *i)
{
	return dtype_info[i->ta].bits == 16;
}

/* Each warp has 16 rows of A in mma's fragment; the 4 warps follow each other along the rows. */
static bool
fragment_a(const Instr *i, Layout *out)
{
	Layout l;
	size_t at;

	if (!i->a || !layout_parse(&l, i->a, strlen(i->a), &at))
		return false;
	*out = l;
	return layout_push(out, 0, WARPGROUP, 1, AX_warp);
}

/* "Register Fragments for wgmma.mma_async": groups of 8 columns, in each two sets of 8 rows, in these two
 * contiguous elements. */
static bool
fragment_c(int n, Layout *out)
{
	layout_init(out, 2);
	return layout_push(out, 0, 8, 4, AX_lane) && layout_push(out, 0, 2, 2, AX_reg) &&
	       layout_push(out, 0, WARPGROUP, 1, AX_warp) && layout_push(out, 1, 2, 1, AX_reg) &&
	       layout_push(out, 1, 4, 1, AX_lane) && layout_push(out, 1, n / 8, 4, AX_reg);
}

bool
wgmma_fragment(const Instr *i, int n, int operand, bool swap, Layout *out)
{
	static const int turned[2] = { 1, 0 };
	bool c = operand == 2;
	Layout l;

	if (i->kind != IK_wgmma || !has_n(i, n) || (!c && operand != (swap ? 1 : 0)) ||
	    !(c ? fragment_c(n, &l) : fragment_a(i, &l)))
		return false;
	if (swap)
		layout_permute(out, &l, turned);
	else
		*out = l;
	return true;
}

const char *
wgmma_text(Arena *a, const Lowering *p, const char *d, const char *x, const char *y, const char *add)
{
	const Instr *i = instr_of(p);
	Text t = { .arena = a };

	text_printf(&t, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s ", p->dot.n, i->k, i->text);
	text_printf(&t, "%s, %s, %s, %s", d, x, y, add);
	if (dtype_info[i->acc].kind == K_flt)
		text_printf(&t, ", 1, 1"); /* neither operand is negated */
	if (wgmma_has_mn(i) && p->dot.matrix[0].width)
		text_printf(&t, ", %d", p->dot.matrix[0].mn);
	if (wgmma_has_mn(i))
		text_printf(&t, ", %d", p->dot.matrix[1].mn);
	text_printf(&t, ";");
	return t.s;
}

/* ---- k slices --------------------------------------------------------------------------------- */

/* Is o the only wgmma of its fence, and its group the only one in the loop's iteration? */
static bool
is_alone(const Op *o)
{
	OpWalk w;
	int commits = 0;

	if (!o->parent->owner || o->parent->owner->code != O_for || !o->prev ||
	    o->prev->code != O_wgmma_fence ||
	    !o->next || o->next->code != O_wgmma_commit)
		return false;
	for (const Op *x = walk_first(&w, o->parent); x; x = walk_next(&w)) {
		commits += x->code == O_wgmma_commit;
		if (x->code == O_wgmma_wait && x->parent != o->parent)
			return false;
	}
	return commits == 1;
}

int
wgmma_parts(const Op *o, int k)
{
	int64_t from;
	int n = (int)(product_part(o, &from) / k);

	if (!is_alone(o))
		return 1;
	while (n > PARTS_MOST && n % 2 == 0)
		n /= 2;
	return n > PARTS_MOST ? 1 : n;
}

int
wgmma_sets(int parts, int64_t factor, int64_t sum)
{
	int64_t each = factor / parts;
	int sets = parts;

	while (sets % 2 == 0 && sets > 2 &&
	       (sets > SETS_MOST || sets * each > SETS_ROOM || sets * each + sum > SUM_ROOM))
		sets /= 2;
	return sets;
}

/* ---- accumulators ----------------------------------------------------------------------------- */

Op *
wgmma_only(const Op *loop, int i)
{
	const Val *sum = loop->blk[0]->arg[1 + i];
	Op *product = NULL;
	int uses = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, loop->blk[0]); o; o = walk_next(&w))
		for (int j = 0; j < o->nin; j++) {
			uses += o->in[j] == sum;
			if (o->in[j] == sum && j == IN_mma_acc && o->code == O_wgmma &&
			    o->parent == loop->blk[0])
				product = o;
		}
	return uses == 1 ? product : NULL;
}

/* Is b inside the branch of an `if` that runs only if the loop has an iteration? */
static bool
is_where_it_ran(const Op *loop, const Block *b)
{
	for (; b && b != loop->parent && b->owner; b = b->owner->parent) {
		const Op *ran = b->owner->code == O_if ? if_cond(b->owner)->def : NULL;

		if (ran && b == b->owner->blk[0] && ran->code == O_lt && elt_lhs(ran) == for_lo(loop) &&
		    elt_rhs(ran) == for_hi(loop))
			return true;
	}
	return false;
}

bool
wgmma_begins(const Op *loop, int i)
{
	const Op *product = wgmma_only(loop, i);
	const Op *later = product && product->nin == 4 ? wgmma_keeps_acc(product)->def : NULL;
	OpWalk w;

	if (!later || !val_is_zero(for_init(loop, i)) || later->code != O_lt ||
	    elt_lhs(later) != for_lo(loop) || elt_rhs(later) != loop->blk[0]->arg[0])
		return false;
	for (const Op *o = walk_first(&w, loop->parent); o; o = walk_next(&w))
		for (int j = 0; j < o->nin; j++)
			if (o->in[j] == loop->out[i] && !is_where_it_ran(loop, o->parent))
				return false;
	return true;
}
