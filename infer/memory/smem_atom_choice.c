/* smem_atom_choice.c - chooses the smem layout atom of a shared tile that wgmma reads or TMA writes: an
 * atom that all of them accept, with the fewest wavefronts of copies and other accesses. */
#include "infer/core/smem_atom.h"
#include "infer/core/wgmma.h"
#include "infer/memory/memory.h"

/* The atoms that one op accepts: bit i represents form_widths[i]; `outer` leading dims of the tile are
 * outside of the atom. */
typedef struct Demand {
	const Op *op;
	int outer;
	unsigned widths;
} Demand;

/* The last width is for TMA only, the one before it for wgmma only. */
enum { ALL_WIDTHS = (1 << FORM_WIDTHS) - 1,
       PLAIN = 1 << (FORM_WIDTHS - 1),
       UNSWIZZLED = PLAIN >> 1 };

int
wgmma_k_dim(const Op *o, int i)
{
	return !(i ^ (int)(IMM(o, transposed) >> i & 1));
}

/* Returns the widths that operand i of wgmma o accepts; the operand's dims are the tile's from `outer` on.
 * MN-major rows are read block by block. */
static unsigned
wgmma_widths(const Solve *s, const Op *o, int i, const Val *tile, int outer)
{
	const DotChoice *c = s->sol->plan.dot[s->dot_at[o->id]];
	int unit = s->unit[tile->id] - outer;
	int64_t across = c->swap == (i == 0) ? c->n : WGMMA_M;
	unsigned widths = 0;

	if (unit == wgmma_k_dim(o, i))
		return ALL_WIDTHS & ~PLAIN;
	if (unit != 1 - wgmma_k_dim(o, i) || !wgmma_has_mn(c->inst))
		return 0;
	for (int w = 0; form_widths[w] != FORM_PLAIN; w++) {
		int64_t row = form_row(&(SmemAtom){ .width = form_widths[w] }, &tile->type);

		if (across % row == 0 || row % across == 0)
			widths |= 1u << w;
	}
	return widths;
}

typedef struct Demands {
	Demand *d;
	int n, cap;
} Demands;

static void
demand(Solve *s, Demands *d, const Op *o, Val *mem, int factor)
{
	Val *tile = view_root(mem);
	int outer = whole_from(mem);
	Demand x = { o, outer < 0 ? 0 : outer, 0 };

	if (outer >= 0)
		x.widths = factor >= 0 ? wgmma_widths(s, o, factor, tile, outer)
		                       : ALL_WIDTHS & ~UNSWIZZLED;
	VEC_PUSH(s->arena, d->d, d->n, d->cap, x);
}

/* Collects all constraints on a tile. */
static Demands
find_demands(Solve *s, const Val *tile)
{
	Demands all = { NULL, 0, 0 };
	const FormOps *ops = s->form_ops ? s->form_ops[tile->id] : NULL;

	for (int i = 0; ops && i < ops->n; i++) {
		const Op *o = ops->op[i];
		const Instr *in = o->code == O_copy ? instr_of(s->sol->lowering[o->id]) : NULL;

		for (int j = 0; o->code == O_wgmma && j < 2; j++)
			if (o->in[j]->type.space == S_shared && view_root(o->in[j]) == tile)
				demand(s, &all, o, o->in[j], j);
		if (instr_is_box(in) && view_root(copy_side(o, S_shared)) == tile)
			demand(s, &all, o, copy_side(o, S_shared), -1);
	}
	return all;
}

static const char *
demand_words(const Solve *s, const Demand *d)
{
	return d->op->code == O_copy ? "the copy" : s->sol->plan.dot[s->dot_at[d->op->id]]->inst->name;
}

/* Reports that no atom suits all constraints: the first two that exclude each other, or the unsatisfiable
 * one. */
static void
form_error(Solve *s, const Val *tile, const Demand *d, int n)
{
	unsigned both = ALL_WIDTHS;
	int i = 0;

	while (i < n - 1 && both & d[i].widths)
		both &= d[i++].widths;
	infer_error(s, d[i].op->src,
	            "%s, %s, has rows along dimension %d in memory, which %s does not support: it needs "
	            "full stages with rows of 16, 32, 64 or 128 bytes, a multiple of 8 rows, and 8- and "
	            "32-bit elements along k; copy it from a tensor that is contiguous along the other "
	            "dimension, or change its extents",
	            tile_words(s, tile), type_print(s->arena, &tile->type), s->unit[tile->id],
	            demand_words(s, &d[i]));
	for (int j = 0; j < s->nforms; j++)
		if (s->forms[j]->code == O_copy && view_root(copy_side(s->forms[j], S_shared)) == tile) {
			infer_error_note(s, s->forms[j]->src, "its row order is fixed by the copy here");
			return;
		}
}

/* Returns the weighted wavefronts of the accesses above the minimum. */
static double
excess(Solve *s, const Layout *l, const SmemAccess *acc, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		int64_t waves, least;

		access_waves(s->arena, &acc[i], l, access_warps(s, &acc[i]), &waves, &least);
		sum += acc[i].weight * (double)(waves - least);
	}
	return sum;
}

/* The same for TMA copies: TMA moves boxes row by row, whatever the row length. */
static double
box_excess(const Solve *s, const Demand *d, int n, const SmemAtom *f)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		const Type *t = d[i].op->code == O_copy ? &copy_source(d[i].op)->type : NULL;
		int bits = t ? dtype_info[t->dtype].bits : 0;
		double bytes = t ? (double)type_size(t) * bits / 8 : 0, row = f->width;

		if (t && f->width == FORM_PLAIN)
			row = (double)min64(t->shape[f->unit - f->outer] * bits / 8, form_widths[0]);
		if (t)
			sum += s->weight[d[i].op->id] * (bytes / row - bytes / form_widths[0]);
	}
	return sum;
}

/* Do mma.sync reads have bank conflicts with every TMA swizzle mode?  In multistage schedules the lanes copy,
 * and layouts suit the reading lanes.  Roles that the program itself declares accept the conflicts. */
static bool
meets_in_banks(const Solve *s, double excess)
{
	return excess > 0 && !(s->k->unit->target->features & T_WGMMA) && schedule_has_roles(s->k->schedule);
}

bool
select_form(Solve *s, const Op *alloc, const SmemAccess *acc, int nacc, Layout *out)
{
	const Val *tile = alloc->out[0];
	Demands all = find_demands(s, tile);
	const Demand *d = all.d;
	int n = all.n;
	SmemAtom f = { .unit = s->unit[tile->id] }, *best = NULL;
	unsigned widths = ALL_WIDTHS;
	double least = 0, banks = 0;

	if (n == 0)
		return false;
	for (int i = 0; i < n; i++) {
		widths &= d[i].widths;
		f.outer = d[i].outer > f.outer ? d[i].outer : f.outer;
	}
	for (int w = 0; w < FORM_WIDTHS; w++) {
		Layout l;
		double e, lanes;

		f.width = form_widths[w];
		if (!(widths >> w & 1) || !form_layout(&f, &tile->type, &l) ||
		    (tile->type.pinned && !layout_equal(&l, tile->type.layout)))
			continue;
		lanes = excess(s, &l, acc, nacc);
		e = lanes + box_excess(s, d, n, &f);
		if (best && (f.width == FORM_PLAIN ? e > least : e >= least)) /* plain: one box suffices */
			continue;
		best = best ? best : NEW(s->arena, SmemAtom);
		*best = f;
		*out = l;
		least = e;
		banks = lanes;
	}
	s->sol->form[tile->id] = best;
	if (!best)
		form_error(s, tile, d, n);
	else if (meets_in_banks(s, banks))
		infer_error(s, alloc->src, "every TMA swizzle mode has bank conflicts for the reads of %s",
		            tile_words(s, tile));
	return true;
}
