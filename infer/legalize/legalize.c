/* legalize.c - pass legalize: rewrites dots to forms that the target's instructions support, and gives each
 * user its own constant or index op.
 *
 * requires   no pipeline loops; no layouts except pinned ones
 * preserves  what the kernel computes
 * produces   dots of types that the target multiplies, or of any type for FMA; dots of sparse tiles as one
 *            op if an instruction skips their zeros; dots of values and scales as one op if an instruction
 *            multiplies both; wgmma where consumer warps multiply shared tiles; no unused ops */
#include "infer/legalize/legalize.h"
#include "hexc/pass/pass.h"

/* Returns the insertion point for a constant used by o only: after an MMA's fence nothing may write
 * registers of an MMA in flight. */
static Op *
fill_place(Op *o)
{
	Op *fence = o->code == O_wgmma ? product_fence(o) : NULL;

	return fence ? fence : o;
}

/* Clones constant tiles and gathering views for each use: a constant can have a different layout for each
 * user at no cost, and a view's indices get the layout that its access requires. */
static void
split_fills(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++) {
			Op *def = o->in[i]->def;
			if (def && view_gather_dim(def) >= 0) {
				o->in[i] = op_clone(o->parent, o, def, NULL, NULL)->out[0];
				continue;
			}
			if (!def || o->in[i]->type.space != S_reg || !op_is(def, F_FILL))
				continue;
			o->in[i] = op_clone(o->parent, fill_place(o), def, NULL, NULL)->out[0];
		}
}

bool
pass_legalize(Kernel *k)
{
	split_fills(k);
	fuse_scales(k);
	pass_dce(k);
	promote_dots(k);
	if (fuse_sparse(k))
		pass_dce(k);
	if (take_warpgroups(k))
		pass_dce(k);
	if (store_by_slabs(k))
		pass_dce(k);
	return true;
}
