/* legalize.c - pass legalize: products become such as the target's instructions take, and constants and
 * indices one op for each reader.
 *
 * needs   no pipeline loops; nothing has a layout but what the program pinned
 * keeps   what the kernel computes
 * leaves  dots of types that the target multiplies, or of any for plain arithmetic; products of sparse tiles
 *         in one op where an instruction skips their zeros, and those of values and scales where one
 *         multiplies the two; products of warpgroups where consumers multiply what is in shared memory;
 *         nothing that nobody reads */
#include "infer/legalize/legalize.h"
#include "hexc/pass/pass.h"

/* Where a constant for o alone stands: behind its fence nothing writes registers of a product under way. */
static Op *
fill_place(Op *o)
{
	Op *fence = o->code == O_wgmma ? product_fence(o) : NULL;

	return fence ? fence : o;
}

/* A constant tile takes a different layout for each reader at no cost, and a view's indices are laid out as
 * the access through it wants them: one op per use. */
static void
split_fills(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++) {
			Op *def = o->in[i]->def;
			if (def &&
			    view_gather_dim(def) >= 0) { /* its indices are laid out as the access wants */
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
