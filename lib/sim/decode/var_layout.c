/* var_layout.c - assigns addresses to variables: device memory for .global and .const, offsets for .shared,
 * .local and call parameters; resolves addresses inside initialisers. */
#include <string.h>
#include "lib/sim/decode/decode.h"

static void
mark_operand(Fn *f, const Opnd *o, int deep)
{
	Var *v = o->var;

	if (deep > 6)
		return;
	if (o->kind == O_VAR && v->space == SIM_SPACE_SHARED) {
		if (!f->entry || (v->user && v->user != f))
			v->used_func = true;
		v->user = f;
	}
	for (u32 i = 0; o->elt && i < o->n; i++)
		mark_operand(f, &o->elt[i], deep + 1);
}

static u32
place(u32 at, Var *v, u32 limit, bool *ok)
{
	at = (u32)align_up(at, v->align);
	if (v->bytes > limit || at > limit - (u32)v->bytes)
		*ok = false;
	v->addr = at;
	return at + (u32)v->bytes;
}

/* Shared variables named in a .func or in several entries come first, at the same offset for all; then those
 * of each entry. Dynamic shared memory follows them. */
static void
place_shared(sim_module *m, bool *ok)
{
	u32 limit = 1u << 24, end = 0;
	bool dyn_func = false;

	for (u32 i = 0; i < m->ptx.nvar; i++) {
		Var *v = m->ptx.var[i];
		if (v->space != SIM_SPACE_SHARED)
			continue;
		if (v->is_extern)
			dyn_func |= v->used_func && v->user && !v->user->entry;
		else if (v->used_func)
			m->smem = place(m->smem, v, limit, ok);
	}
	for (u32 k = 0; k < m->ptx.nfn; k++) {
		Fn *f = m->ptx.fn[k];
		u32 align = 16;
		f->smem = m->smem;
		for (u32 i = 0; i < m->ptx.nvar; i++) {
			Var *v = m->ptx.var[i];
			if (v->space != SIM_SPACE_SHARED)
				continue;
			if (v->is_extern)
				align = v->align > align ? v->align : align;
			else if (!v->used_func && v->user == f)
				f->smem = place(f->smem, v, limit, ok);
		}
		f->smem_dyn = (u32)align_up(f->smem, align);
		end = f->smem_dyn > end ? f->smem_dyn : end;
	}
	for (u32 k = 0; k < m->ptx.nfn; k++)
		if (dyn_func || !m->ptx.fn[k]->entry)
			m->ptx.fn[k]->smem_dyn = end;
}

/* Frames: an entry's at the start of a lane's local memory, a .func's at its frame pointer. */
static void
place_local(sim_module *m, bool *ok)
{
	u32 limit = 1u << 20;

	for (u32 k = 0; k < m->ptx.nfn; k++) {
		Fn *f = m->ptx.fn[k];
		u32 at = 0;
		for (u32 i = 0; !f->entry && i < f->nparam; i++)
			at = place(at, f->param[i], limit, ok);
		for (u32 i = 0; i < f->nret; i++)
			at = place(at, f->ret[i], limit, ok);
		for (u32 i = 0; i < m->ptx.nvar; i++) {
			Var *v = m->ptx.var[i];
			if (v->user == f && (v->space == SIM_SPACE_LOCAL || v->space == SIM_SPACE_PARAM))
				at = place(at, v, limit, ok);
		}
		f->local = (u32)align_up(at, 16);
		if (!f->entry && !f->local)
			f->local = 16;          /* makes endless recursion terminate */
	}
}

static bool
fix_up(sim_module *m, Var *v, Alloc *al)
{
	for (Fix *x = v->fix; x; x = x->next) {
		Bucket *b = scope_find(m->ptx.scope, x->name, strlen(x->name));
		const Var *t = b && b->what == SYM_VAR ? b->p : NULL;
		u64 a;
		if (b && b->what == SYM_FN && !((Fn *)b->p)->entry) {
			a = ((Fn *)b->p)->addr + (u64)x->add;
			((Fn *)b->p)->taken = true;
			memcpy(al->data + x->at, &a, x->bytes < 8 ? x->bytes : 8);
			continue;
		}
		if (!t || (t->space != SIM_SPACE_GLOBAL && t->space != SIM_SPACE_CONST)) {
			ptx_error(&m->ptx, x->line, "initializer names %.80s, which is not a global variable",
			          x->name);
			return false;
		}
		a = t->addr + (u64)x->add;
		memcpy(al->data + x->at, &a, x->bytes < 8 ? x->bytes : 8);
	}
	return true;
}

static bool
place_global(sim_module *m)
{
	u64 total = 0;

	m->allocs = NEWN(&m->ptx.arena, u64, m->ptx.nvar + 1);
	for (u32 i = 0; i < m->ptx.nvar; i++) {
		Var *v = m->ptx.var[i];
		Alloc *al;
		if ((v->space != SIM_SPACE_GLOBAL && v->space != SIM_SPACE_CONST) || v->is_extern)
			continue;
		total += v->bytes;
		al = total > 1ull << 32 ? NULL : mem_new(m->s, v->bytes, v->name);
		if (!al) {
			ptx_error(&m->ptx, v->line, "no memory for variable %.80s", v->name);
			return false;
		}
		v->addr = al->base;
		m->allocs[m->nallocs++] = al->base;
		memset(al->data, 0, al->size);
		memset(al->init, 1, al->size);
		al->full = true;
		al->readonly = v->space == SIM_SPACE_CONST;
		if (v->init)
			memcpy(al->data, v->init, v->bytes);
	}
	for (u32 i = 0; i < m->ptx.nvar; i++)
		if (m->ptx.var[i]->fix && m->ptx.var[i]->init &&
		    !fix_up(m, m->ptx.var[i], mem_find(m->s, m->ptx.var[i]->addr)))
			return false;
	return true;
}

bool
place_vars(sim_module *m)
{
	bool ok = true;

	for (u32 i = 0; i < m->ptx.nfn; i++)
		m->ptx.fn[i]->addr = WIN_CODE + WIN_CODE_STEP * (i + 1);
	for (u32 i = 0; i < m->ptx.nvar; i++)
		if (m->ptx.var[i]->space == SIM_SPACE_SHARED && m->ptx.var[i]->user &&
		    !m->ptx.var[i]->user->entry)
			m->ptx.var[i]->used_func = true;
	for (u32 k = 0; k < m->ptx.nfn; k++)
		for (u32 i = 0; i < m->ptx.fn[k]->nst; i++)
			for (u32 j = 0; j < m->ptx.fn[k]->st[i].no; j++)
				mark_operand(m->ptx.fn[k], &m->ptx.fn[k]->st[i].o[j], 0);
	place_shared(m, &ok);
	place_local(m, &ok);
	if (!ok) {
		ptx_error(&m->ptx, 1, "shared or local variables are too large");
		return false;
	}
	return place_global(m);
}
