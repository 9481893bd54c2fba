/* dot_to_wgmma.c - pass legalize: lowers dots of consumer warps to wgmma if the operands are loads of full
 * stages of shared tiles, or transposes of these. One operand may be any register tile instead. */
#include "hexc/ir/sparse.h"
#include "hexc/analysis/analysis.h"
#include "infer/core/smem_atom.h"
#include "infer/core/wgmma.h"
#include "infer/legalize/legalize.h"

/* An operand for wgmma. */
typedef struct WgmmaOperand {
	Op *load;
	bool turned;
	int unit; /* the tile's dim that is contiguous in memory */
	bool mn; /* the contiguous dim runs along m or n */
} WgmmaOperand;

struct TileCopies {
	bool brought; /* copies tracked by a barrier write the tile */
	int unit;     /* the dim along which the first copy is contiguous, plus 1; 0: none is */
};

/* Returns the contiguous dim of a copy, counted in those of `tile`, its destination; -1: none. */
static int
copy_unit(Kernel *k, const Op *copy, const Val *tile)
{
	const Op *from = copy_source(copy)->def;
	int unit = from && copy_dest(copy)->type.space == S_shared ? view_unit_dim(k, from) : -1;

	return unit < 0 ? -1 : tile->type.rank - copy_dest(copy)->type.rank + unit;
}

TileCopies *
tile_copies(Kernel *k)
{
	TileCopies *all;
	OpWalk w;

	if (!kernel_roles(k))
		return NULL;
	all = NEWN(k->unit->arena, TileCopies, k->nval + 1);
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Val *tile = o->code == O_copy ? view_root(copy_dest(o)) : NULL;
		TileCopies *t = tile ? &all[tile->id] : NULL;

		if (!t)
			continue;
		t->brought = t->brought || op_mbar(o);
		if (!t->unit)
			t->unit = copy_unit(k, o, tile) + 1;
	}
	return all;
}

/* Returns the dim of an alloc along which copies will be contiguous, as infer will choose it; its last dim
 * if there are no copies. */
static int
unit_of(const TileCopies *t, const Val *tile)
{
	return t[tile->id].unit ? t[tile->id].unit - 1 : tile->type.rank - 1;
}

/* Does o leave a tile unmodified? `brought`: a wait for a barrier may change it. */
static bool
only_reads(const Op *o, bool brought)
{
	return op_is(o, F_PURE) || o->code == O_load || o->code == O_wgmma || o->code == O_wgmma_fence ||
	       o->code == O_wgmma_commit || o->code == O_wgmma_wait ||
	       (o->code == O_mbarrier_wait && !brought);
}

/* Would a load return the same at o, later in its block? */
static bool
still_there(const TileCopies *t, const Op *load, const Op *o)
{
	bool brought = t[view_root(load_source(load))->id].brought;
	const Op *x = load->next;

	while (load->parent == o->parent && x && x != o && only_reads(x, brought))
		x = x->next;
	return x == o;
}

static bool
factor(const TileCopies *t, const Op *dot, int i, WgmmaOperand *f)
{
	Op *o = dot->in[i]->def;
	int outer, kdim;
	const Val *tile;

	*f = (WgmmaOperand){ 0 };
	if (o && o->code == O_transpose && IMM_AT(o, perm, 0) == 1) {
		f->turned = true;
		o = op_source(o)->def;
	}
	if (!o || o->code != O_load || load_source(o)->type.space != S_shared || o->out[0]->type.rank != 2)
		return false;
	f->load = o;
	outer = whole_from(load_source(o));
	tile = view_root(load_source(o));
	kdim = !(i ^ (int)f->turned);
	if (outer < 0 || outer + 2 != tile->type.rank || tile->type.pinned || !still_there(t, o, dot))
		return false;
	f->unit = unit_of(t, tile);
	f->mn = f->unit != outer + kdim;
	return true;
}

static bool
has_form(const Val *tile, int unit)
{
	Layout l;

	for (int w = 0; form_widths[w] != FORM_PLAIN; w++)
		if (form_layout(&(SmemAtom){ unit, tile->type.rank - 2, form_widths[w] }, &tile->type, &l))
			return true;
	return false;
}

/* Does the target have an instruction for the dot whose instances divide it over the consumer group's
 * warpgroups? `held`: the operand that is in registers, -1: none. */
static bool
is_taken(const Op *dot, bool mn, int held)
{
	int groups = op_warps(dot) / WARPGROUP;
	const Type *a = &mma_a(dot)->type, *c = &dot->out[0]->type;
	int64_t mnk[3] = { c->shape[0], c->shape[1], a->shape[1] };

	for (const Instr *x = instrs; x->name; x++)
		for (int swap = 0; swap < 2; swap++) {
			if (x->kind != IK_wgmma || (x->a ? held != swap : held >= 0) || x->acc != c->dtype ||
			    x->ta != dot->in[swap]->type.dtype || x->tb != dot->in[!swap]->type.dtype ||
			    !instr_on(x, dot->parent->kernel->unit->target) || (mn && !wgmma_has_mn(x)))
				continue;
			for (int wm = 1; wm <= groups; wm++)
				if (groups % wm == 0 && wgmma_divides(x, swap, mnk, wm, groups / wm))
					return true;
		}
	return false;
}

static void
nothing(Op *dot, OpCode code, int movable)
{
	Op *o = op_new(dot->parent, dot, code, dot->src, 0, NULL, 0, NULL);

	if (movable)
		IMM_SET(o, sinkable, 1);
}

/* Finds its operands, and in `in` what the MMA reads of each. */
static bool
find_factors(const TileCopies *t, const Op *dot, WgmmaOperand *f, Val **in)
{
	bool mn = false;
	int held = -1;

	if (dot->nin != 3 || dot_batch(dot) || op_role(dot) != ROLE_CONSUMER || op_warps(dot) % WARPGROUP)
		return false;
	for (int i = 0; i < 2; i++) {
		in[i] = dot->in[i];
		if (factor(t, dot, i, &f[i]) && has_form(view_root(load_source(f[i].load)), f[i].unit)) {
			in[i] = load_source(f[i].load);
			mn = mn || f[i].mn;
		} else if (held < 0) {
			f[held = i] = (WgmmaOperand){ 0 };
		} else {
			return false;
		}
	}
	return is_taken(dot, mn, held);
}

bool
warpgroups_take(const TileCopies *t, const Op *dot)
{
	WgmmaOperand f[2];
	Val *in[2];

	return t && find_factors(t, dot, f, in);
}

static bool
dot_to_wgmma(const TileCopies *t, Op *dot, Val **to)
{
	WgmmaOperand f[2];
	Val *in[3] = { [IN_mma_acc] = mma_acc(dot) };
	Op *o;

	if (!find_factors(t, dot, f, in))
		return false;
	nothing(dot, O_wgmma_fence, false);
	o = op_new(dot->parent, dot, O_wgmma, dot->src, 3, in, 1, &dot->out[0]->type);
	IMM_SET(o, transposed, f[0].turned | f[1].turned << 1);
	o->out[0]->name = dot->out[0]->name;
	nothing(dot, O_wgmma_commit, false);
	nothing(dot, O_wgmma_wait, true);
	to[dot->out[0]->id] = o->out[0];
	op_unlink(dot);
	return true;
}

bool
take_warpgroups(Kernel *k)
{
	const TileCopies *t = tile_copies(k);
	uint32_t n = (uint32_t)k->nval + 1;
	Val **to = t ? NEWN(k->unit->arena, Val *, n) : NULL;
	bool some = false;
	OpWalk w;

	for (Op *o = t ? walk_first(&w, k->body) : NULL; o; o = walk_next(&w))
		if (o->code == O_dot && dot_to_wgmma(t, o, to))
			some = true;
	if (some)
		vals_replace(k, to, n);
	return some;
}
