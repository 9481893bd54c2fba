/* select_instructions.c - selects the instruction of every load, store and copy, and then the address layout
 * of every shared tile.
 *
 * A load from global memory has two alternatives: directly into the layout of its tile, or coalesced and then
 * converted. */
#include "infer/convert/convert.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"
#include "infer/search.h"

/* Returns the cycles of loading a global tile into l; warps that load the same data share it in the L1
 * cache. */
static double
load_cycles(const Solve *s, const Op *o, const Layout *l)
{
	int64_t vec = load_vec(s, o, l);
	double n = (double)(layout_cosize(l, AX_reg) / vec * s->k->warps) +
	           (double)global_sectors(s, o, l, (int)vec);

	return n / (double)layout_replicas_on(l, AX_warp);
}

/* Computes the widest coalesced layout for a load from global memory.  Returns false unless that and a
 * conversion take fewer cycles than loading into l. */
static bool
load_layout(Solve *s, const Op *o, const Layout *l, Layout *out)
{
	const Type *t = &o->out[0]->type;
	double direct = load_cycles(s, o, l), staged;
	int order[DIM_MAX];
	Res res = { 0 };

	if (t->rank == 0)
		return false;
	memory_order(s, load_source(o), order);
	if (!coalesced_layout(out, t->rank, t->shape, order,
	                      global_vec(s, load_source(o)->def, order[0], t->shape[order[0]]),
	                      s->k->warps, false))
		return false;
	staged = load_cycles(s, o, out);
	if (staged >= direct)
		return false;
	lowering_convert(s, t, out, l, &res);
	return staged + res_cycles(&res) < direct;
}

static void
load_global(Solve *s, Op *o)
{
	const Layout *l = along_memory(s, known_layout(s, o->out[0]), unit_dim(s, load_source(o)),
	                               dtype_grain(o->out[0]->type.dtype));
	Layout *w = NEW(s->arena, Layout);

	if (load_layout(s, o, l, w)) {
		s->load_matters = true;
		if (s->sol->plan.load == LOAD_COALESCED)
			l = w;
	}
	load_global_as(s, o, l);
}

static void
select_load(Solve *s, Op *o)
{
	if (o->out[0]->type.space == S_scalar)
		return; /* all threads read one element: nothing to choose */
	if (load_source(o)->type.space == S_shared)
		load_shared(s, o);
	else
		load_global(s, o);
}

bool
select_memory(Solve *s)
{
	for (int i = 0; i < s->norder && !s->failure.text; i++) {
		Op *o = s->order[i];

		if (o->code == O_load)
			select_load(s, o);
		else if (o->code == O_store)
			select_store(s, o);
		else if (o->code == O_copy && !select_copy(s, o) && !s->failure.text)
			infer_error(s, o->src, "the copy cannot be distributed over the threads");
	}
	for (int i = 0; i < s->norder && !s->failure.text; i++)
		if (s->order[i]->code == O_alloc)
			select_shared(s, s->order[i]);
	return s->failure.text == NULL;
}
