/* remat_uniforms.c - pass remat_uniforms: rematerializes launch-uniform scalars in each warp role, because
 * ptxas spills values that are live across setmaxnreg.
 *
 * requires   that later passes do not move ops
 * preserves  computations of tensor sizes before the roles */
#include "hexc/ir/op.h"
#include "hexc/pass/pass.h"

typedef struct Own {
	Block *region;
	uint32_t n; /* values before the roles have lower ids */
	Val **as;   /* by id of these: its copy in the region; NULL: itself */
	bool *want; /* by id of these: the region reads it */
} Own;

/* Is it a scalar computed from other values only? Constants are excluded: they take no register until
 * used. */
static bool
is_number(const Op *o)
{
	return op_is(o, F_PURE) && o->code != O_const && !o->blk[0] && o->nout == 1 &&
	       o->out[0]->type.space == S_scalar;
}

static Val *
own_of(void *own, Val *v)
{
	return ((Own *)own)->as[v->id];
}

/* Finds the values before the roles that the region reads, directly or through others. */
static void
find_wanted(Own *own, const Op *roles)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, own->region); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			own->want[o->in[i]->id] = true;
	for (const Op *o = roles->prev; o; o = o->prev)
		for (int i = 0; i < o->nin && is_number(o) && own->want[o->out[0]->id]; i++)
			own->want[o->in[i]->id] = true;
}

static void
read_own(Own *own)
{
	OpWalk w;

	for (Op *o = walk_first(&w, own->region); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (o->in[i]->id < own->n && own->as[o->in[i]->id])
				o->in[i] = own->as[o->in[i]->id];
}

static void
count(uint32_t *uses, const Val *v)
{
	if (v)
		uses[v->id]++;
}

/* Removes values that no op before the roles and no tensor size uses: LLVM would use them instead of their
 * copies in the roles. */
static void
drop_unread(Kernel *k, const Op *roles)
{
	uint32_t *uses = kernel_uses(k);

	for (int i = 0; i < k->nparam; i++)
		for (int d = 0; d < DIM_MAX; d++) {
			count(uses, k->param[i].size[d]);
			count(uses, k->param[i].stride[d]);
		}
	for (int i = 0; i < k->nmap; i++)
		for (int d = 0; d < MAP_RANK_MAX; d++) {
			count(uses, k->map[i].size[d]);
			count(uses, k->map[i].stride[d]);
		}
	for (Op *o = roles->prev, *prev; o; o = prev) {
		prev = o->prev;
		if (!is_number(o) || uses[o->out[0]->id])
			continue;
		for (int i = 0; i < o->nin; i++)
			uses[o->in[i]->id]--;
		op_unlink(o);
	}
}

bool
pass_remat_uniforms(Kernel *k)
{
	const Op *roles = kernel_roles(k);
	Arena *a = k->unit->arena;
	bool any = false;

	for (int r = 0; roles && r < 2; r++) {
		uint32_t n = k->nval + 1;
		Own own = { roles->blk[r], n, NEWN(a, Val *, n), NEWN(a, bool, n) };
		Op *first = own.region->first;

		find_wanted(&own, roles);
		for (const Op *o = k->body->first; o != roles; o = o->next)
			if (is_number(o) && own.want[o->out[0]->id]) {
				own.as[o->out[0]->id] = op_clone(own.region, first, o, own_of, &own)->out[0];
				any = true;
			}
		read_own(&own);
	}
	if (any)
		drop_unread(k, roles);
	return any;
}
