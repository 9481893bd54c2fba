/* debug_view.c - calls the trace hook for debuggers and gives it access to registers and shared memory. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/exec.h"
#include "lib/sim/launch/sched.h"
#include "lib/sim/state/fault.h"

enum { MAX_NAMED = 80 };        /* wgmma names more than 128: the rest is not listed */

bool
view_prepare(Launch *l)
{
	const sim_trace *t = &l->a.trace;

	if (!t->hook)
		return true;
	l->shown = calloc(l->m->ncode + 1u, 1);
	if (!l->shown)
		return false;
	for (u32 pc = 0; pc < l->m->ncode; pc++) {
		u32 line = l->m->code[pc].line;
		bool on = !t->lines;
		for (size_t i = 0; i < t->nlines && !on; i++)
			on = t->lines[i] == line;
		/* the special registers of a statement are read before it: only one of its instructions is
		 * shown */
		l->shown[pc] = on && (pc + 1 == l->m->ncode || l->m->code[pc + 1].st != l->m->code[pc].st);
	}
	return true;
}

bool
view_show(Warp *w, const Ins *in, u32 here, u32 mask)
{
	Cta *b = w->cta;
	Launch *l = b->l;
	const sim_trace *t = &l->a.trace;
	sim_view v;

	if (!l->shown[in - l->m->code])
		return true;
	if ((t->block >= 0 && t->block != b->lin) || (t->warp >= 0 && t->warp != w->id))
		return true;
	v.line = in->line;
	v.opcode = in->text;
	memcpy(v.block, b->id, sizeof v.block);
	v.block_index = b->lin;
	v.warp = w->id;
	v.here = here;
	v.lanes = mask;
	v.state[0] = w;
	v.state[1] = in;
	if (!t->hook(t->user, &v))
		return true;
	launch_stop(l, SIM_E_LIMIT, "stopped by the trace hook");
	return false;
}

/* ---- registers ---- */

static bool
reads(const Ins *in, const Reg *r)
{
	s32 p = (s32)r->unit;

	if (r->type == T_pred)
		return in->guard == p || in->ps == p || (in->exec == exec_pbool && in->logic.p == r->unit);
	for (u32 i = 0; i < in->ns; i++)
		if (!in->s[i].base && in->s[i].unit == r->unit)
			return true;
	return false;
}

static void
describe(const Ins *in, const Reg *r, sim_register *out)
{
	out->name = r->name;
	out->type = type_name(r->type);
	out->bits = type_bits(r->type);
	out->read = r->unit != ~0u && reads(in, r);
}

static void
collect(const Opnd *o, const Reg **list, u32 *n)
{
	if (o->kind == O_REG) {
		for (u32 i = 0; i < *n; i++)
			if (list[i] == o->reg)
				return;
		if (*n < MAX_NAMED)
			list[(*n)++] = o->reg;
	} else if (o->kind == O_VEC || o->kind == O_PAIR || o->kind == O_ADDR) {
		for (u32 i = 0; i < o->n; i++)
			collect(&o->elt[i], list, n);
	}
}

int
sim_view_register(const sim_view *v, size_t i, sim_register *out)
{
	const Ins *in = v->state[1];
	const Reg *list[MAX_NAMED];
	u32 n = 0;

	if (in->st->guard)
		list[n++] = in->st->guard;
	for (u32 k = 0; k < in->st->no; k++)
		collect(&in->st->o[k], list, &n);
	if (i >= n)
		return 0;
	describe(in, list[i], out);
	return 1;
}

static const void *
symbol(const sim_view *v, const char *name, int what)
{
	const Ins *in = v->state[1];
	const Bucket *b = scope_find(in->st->scope, name, strlen(name));

	while (b && (b->what != what || strcmp(b->name, name)))
		b = b->next;
	return b ? b->p : NULL;
}

int
sim_view_find(const sim_view *v, const char *name, sim_register *out)
{
	const Reg *r = symbol(v, name, SYM_REG);

	if (!r)
		return 0;
	describe(v->state[1], r, out);
	return 1;
}

int
sim_view_value(const sim_view *v, const char *name, uint32_t lane, uint64_t value[2])
{
	const Warp *w = v->state[0];
	const Reg *r = symbol(v, name, SYM_REG);
	u32 bits;
	const u32 *plane;

	value[0] = value[1] = 0;
	if (!r || lane >= WARP)
		return 0;
	if (r->unit == ~0u) /* declared, but never used */
		return -1;
	if (r->type == T_pred) {
		value[0] = w->p[r->unit] >> lane & 1;
		return !w->def || w->pdef[r->unit] >> lane & 1 ? 1 : -1;
	}
	bits = type_bits(r->type);
	plane = w->r + (size_t)r->unit * WARP;
	if (bits <= 32)
		value[0] = plane[lane];
	else
		memcpy(&value[0], plane + 2 * lane, 8);
	if (bits == 128)
		memcpy(&value[1], plane + 2 * WARP + 2 * lane, 8);
	for (u32 i = 0; w->def && 8 * i < bits; i++)
		if (!(w->def[DEF_CONST + DEF_UNIT * r->unit + i] >> lane & 1))
			return -1;
	return 1;
}

/* ---- shared memory ---- */

int
sim_view_shared(const sim_view *v, uint32_t addr, void *dst, size_t bytes)
{
	const Cta *b = ((const Warp *)v->state[0])->cta;

	if (addr > b->smem_bytes || bytes > b->smem_bytes - addr)
		return SIM_E_INVALID;
	memcpy(dst, b->smem + addr, bytes);
	return SIM_OK;
}

int
sim_view_symbol(const sim_view *v, const char *name, uint32_t *addr, size_t *bytes)
{
	const Cta *b = ((const Warp *)v->state[0])->cta;
	const Var *var = symbol(v, name, SYM_VAR);

	if (!var || var->space != SIM_SPACE_SHARED)
		return 0;
	*addr = var->is_extern ? b->l->f->smem_dyn : (u32)var->addr;
	*bytes = (size_t)var->bytes;
	return 1;
}
