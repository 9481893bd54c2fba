/* remat_uniforms.c - what both roles want to know of a launch each finds out for itself: ptxas spills what lives on
 * where registers change hands.  Needs ops that stay where they are; keeps what sizes are made of in front of
 * the roles. */
#include "hexc/ir/op.h"
#include "hexc/pass/pass.h"

typedef struct Own {
	Block *region;
	uint32_t n; /* ids of values in front are below */
	Val **as;   /* by id of these: what stands for it in the region; NULL: itself */
	bool *want; /* likewise: the region reads it */
} Own;

/* A number that is made of others alone.  Not a constant, which takes no register until it is used. */
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

/* Those in front of the roles that the region reads, for others of them too. */
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

/* What nobody in front of the roles, and no tensor's size, needs: LLVM would take it in place of what is the
 * same behind it. */
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
