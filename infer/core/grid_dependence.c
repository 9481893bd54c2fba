/* grid_dependence.c - computes the grid dimensions on which each value depends: the union over operands,
 * iterated to a fixed point for loop-carried values. */
#include "hexc/ir/memory_effects.h"
#include "infer/core/grid_dependence.h"

typedef struct GridDependence {
	uint8_t *of;
	bool changed;
} GridDependence;

static void
depends(GridDependence *g, const Val *v, int dims)
{
	g->changed |= (dims & ~g->of[v->id]) != 0;
	g->of[v->id] |= (uint8_t)dims;
}

static void visit_block(GridDependence *g, const Block *b);

/* Carried values depend on their initial values and on what the body yields, the counter on its start and
 * step. */
static void
visit_for(GridDependence *g, const Op *o)
{
	const Block *body = o->blk[0];

	depends(g, body->arg[0], g->of[for_lo(o)->id] | g->of[for_step(o)->id]);
	for (int i = 0; i < o->nout; i++)
		depends(g, body->arg[1 + i], g->of[for_init(o, i)->id]);
	visit_block(g, body);
	for (int i = 0; i < o->nout; i++) {
		depends(g, body->arg[1 + i], g->of[body->last->in[i]->id]);
		depends(g, o->out[i], g->of[body->arg[1 + i]->id]);
	}
}

static void
visit_regions(GridDependence *g, const Op *o)
{
	for (int b = 0; b < 2 && o->blk[b]; b++) {
		visit_block(g, o->blk[b]);
		for (int i = 0; i < o->nout; i++)
			depends(g, o->out[i], g->of[if_cond(o)->id] | g->of[o->blk[b]->last->in[i]->id]);
	}
}

static void
visit(GridDependence *g, const Op *o)
{
	int dims = o->code == O_block_id ? 1 << IMM(o, axis) : 0;
	Val *to = access_target(o);

	for (int i = 0; i < o->nin && o->code != O_block_id; i++)
		dims |= g->of[o->in[i]->id];
	for (int i = 0; i < o->nout; i++)
		depends(g, o->out[i], dims);
	if (to && to->type.space == S_shared)
		depends(g, view_root(to), dims);
}

static void
visit_block(GridDependence *g, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next)
		if (o->code == O_for)
			visit_for(g, o);
		else if (o->code == O_if || o->code == O_roles)
			visit_regions(g, o);
		else
			visit(g, o);
}

const uint8_t *
grid_dims(Kernel *k)
{
	GridDependence g = { .of = NEWN(k->unit->arena, uint8_t, (size_t)k->nval + 1) };

	do {
		g.changed = false;
		visit_block(&g, k->body);
	} while (g.changed);
	return g.of;
}
