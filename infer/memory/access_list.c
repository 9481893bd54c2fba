/* access_list.c - collects the memory accesses of a kernel, once per search, in the orders in which the
 * search visits them. */
#include "hexc/ir/memory_effects.h"
#include "infer/memory/memory.h"
#include <stdlib.h>

typedef struct Sized {
	Op *op;
	double bytes;
	int at; /* index in program order */
} Sized;

static int
bigger_first(const void *x, const void *y)
{
	const Sized *a = x, *b = y;

	if (a->bytes < b->bytes || a->bytes > b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Sorts loads and stores of register tiles by the bytes they move.  Global memory has a higher weight, as
 * accesses must follow its order. */
static void
sort_accesses(Solve *s)
{
	Sized *all = NEWN(s->arena, Sized, s->norder + 1);
	int n = 0;

	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];
		const Val *tile = o->code == O_load ? o->out[0] : o->code == O_store ? store_value(o)
		                                                                     : NULL;

		if (!tile || tile->type.space != S_reg)
			continue;
		all[n] = (Sized){ o, (double)type_size(&tile->type) * bits_of(tile) * s->weight[o->id], i };
		if ((o->code == O_load ? load_source(o) : store_dest(o))->type.space == S_global)
			all[n].bytes *= 16;
		n++;
	}
	qsort(all, (size_t)n, sizeof *all, bigger_first);
	s->access = NEWN(s->arena, Op *, n + 1);
	s->naccess = n;
	for (int i = 0; i < n; i++)
		s->access[i] = all[i].op;
}

Val *
shared_operand(const Op *o)
{
	Val *mem = o->code == O_load ? access_source(o) : access_target(o);

	return mem && mem->type.space == S_shared ? mem : NULL;
}

/* Lists the ops that access each shared tile, by its id, in program order. */
static void
find_touches(Solve *s)
{
	s->touch = NEWN(s->arena, Op **, (size_t)s->k->nval + 1);
	s->ntouch = NEWN(s->arena, int, (size_t)s->k->nval + 1);
	for (int fill = 0; fill < 2; fill++)
		for (int i = 0; i < s->norder; i++) {
			Val *mem = shared_operand(s->order[i]), *root = mem ? view_root(mem) : NULL;

			if (!root)
				continue;
			if (!fill) {
				s->ntouch[root->id]++;
				continue;
			}
			if (!s->touch[root->id]) {
				s->touch[root->id] = NEWN(s->arena, Op *, s->ntouch[root->id]);
				s->ntouch[root->id] = 0;
			}
			s->touch[root->id][s->ntouch[root->id]++] = s->order[i];
		}
}

static void
form_add(Solve *s, Op *o, Val *mem)
{
	FormOps **at, *of;

	if (mem->type.space != S_shared)
		return;
	if (!s->form_ops)
		s->form_ops = NEWN(s->arena, FormOps *, s->k->nval + 1);
	at = &s->form_ops[view_root(mem)->id];
	of = *at = *at ? *at : NEW(s->arena, FormOps);
	if (!of->n || of->op[of->n - 1] != o) /* both operands may be in one tile */
		VEC_PUSH(s->arena, of->op, of->n, of->cap, o);
}

static void
find_forms(Solve *s)
{
	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];

		if (o->code != O_wgmma && (o->code != O_copy || IMM(o, async) < COPY_BARRIER))
			continue;
		VEC_PUSH(s->arena, s->forms, s->nforms, s->capforms, o);
		form_add(s, o, o->in[0]);
		form_add(s, o, o->in[1]);
	}
}

void
find_accesses(Solve *s)
{
	find_forms(s);
	sort_accesses(s);
	find_touches(s);
}
