/* decode_call.c - decodes call and the stack instructions. */
#include <string.h>
#include "lib/sim/decode/decode.h"
#include "lib/sim/exec/calls.h"

static bool
argument(Dec *d, const Opnd *o, const Var *formal, bool result, Arg *a)
{
	if (o->kind == O_VAR && o->var->space == SIM_SPACE_PARAM && !o->imm &&
	    (o->var->user == d->f || dec_frame(d, o->var))) {
		a->here = (u32)o->var->addr;
		a->bytes = (u32)o->var->bytes;
		if (formal && formal->bytes != a->bytes)
			return dec_fail(d, "argument %.60s has another size", o->var->name);
		return true;
	}
	if (!formal || formal->is_array)
		return dec_fail(d, "arguments must be .param variables of the caller here");
	a->reg = true;
	a->bytes = (u32)formal->bytes;
	if (o->kind == O_SINK && !result)
		return dec_fail(d, "argument is missing");
	return result ? dec_dst(d, o, formal->type, &a->ref) : dec_src(d, o, formal->type, &a->ref);
}

static Fn *
resolve(Dec *d, Fn *f)
{
	for (u32 i = 0; f->alias; i++) {
		Bucket *b = scope_find(d->m->ptx.scope, f->alias, strlen(f->alias));
		if (i == 16 || !b || b->what != SYM_FN) {
			dec_fail(d, ".alias %.60s: %.60s is not a function", f->name, f->alias);
			return NULL;
		}
		f = b->p;
	}
	return f;
}

static bool
direct(Dec *d, CallInstr *c)
{
	const Opnd *o = d->st->o;
	Fn *f = resolve(d, o[1].fn);

	if (!f)
		return false;
	if (f->entry)
		return dec_fail(d, "%.60s is an entry: only functions can be called", f->name);
	if (!f->has_body && !(f->builtin = builtin_find(f->name)))
		return dec_fail(d, "%.60s has no body in this module", f->name);
	if (c->nret != f->nret || c->narg != f->nparam)
		return dec_fail(d, "%.60s takes %u arguments and returns %u results", f->name, f->nparam,
		                f->nret);
	if (d->st->no > 3)
		return dec_fail(d, "a prototype is only allowed in calls through pointers");
	c->fn = f;
	if (f->builtin) {
		d->in->exec = exec_builtin;
		return builtin_ready(d->m->s, f) ||
		       dec_fail(d, "%.60s: out of memory, or parameters do not match", f->name);
	}
	for (u32 i = 0; i < d->f->ncallee; i++)
		if (d->f->callee[i] == f)
			return true;
	if (d->f->ncallee == 64)
		return dec_fail(d, "a function calls more than 64 functions");
	d->f->callee[d->f->ncallee++] = f;
	return true;
}

bool
dec_call(Dec *d)
{
	const Opnd *o = d->st->o;
	CallInstr *c = NEW(d->arena, CallInstr);

	dec_has(d, "uni");
	c->narg = o[2].n;
	c->nret = o[0].n;
	c->arg = NEWN(d->arena, Arg, c->narg + c->nret + 1);
	c->framed = !d->f->entry;
	if (c->framed)
		dec_fp(d, &c->fp);
	if (o[1].kind == O_LABEL)
		return dec_fail(d, "%.60s is not declared", o[1].name);
	if (o[1].kind == O_FN) {
		if (!direct(d, c))
			return false;
	} else {
		if (d->st->no != 4 || o[3].kind != O_LABEL)
			return dec_fail(d, "a call through a pointer requires .callprototype or "
			                   ".calltargets");
		if (o[1].kind != O_REG || !dec_src(d, &o[1], T_u64, &c->target))
			return dec_fail(d, "expected a function or a 64-bit register");
		d->f->indirect = true;
	}
	for (u32 i = 0; i < c->narg + c->nret; i++) {
		bool result = i >= c->narg;
		const Opnd *a = result ? &o[0].elt[i - c->narg] : &o[2].elt[i];
		const Var *formal = !c->fn ? NULL : result ? c->fn->ret[i - c->narg] : c->fn->param[i];
		if (!argument(d, a, formal, result, &c->arg[i]))
			return false;
	}
	d->in->branch = (Branch){ .rpc = NO_PC, .call = c };
	d->in->d = NULL;
	return true;
}

/* alloca d, bytes, align; stacksave d; stackrestore a. */
bool
dec_alloca(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 3);
	const Opnd *o = d->st->o;
	u64 align = 8;
	bool alloca = d->row->id == OP_alloca, restore = d->row->id == OP_stackrest;

	d->f->indirect = true;          /* no bound on the stack */
	if (!dec_types(d) || d->st->no < 1u + alloca || d->st->no > (alloca ? 3u : 1u))
		return dec_fail(d, "wrong number of operands");
	if (alloca && d->st->no == 3 &&
	    (!dec_imm(&o[2], &align) || !align || align > 4096 || align & (align - 1)))
		return dec_fail(d, "alignment must be a power of two up to 4096");
	in->align = (u32)align;
	in->s = r;
	if (alloca || restore) {
		in->ns = 1;
		if (!dec_src(d, &o[alloca], d->ty[0], r))
			return false;
	}
	if (restore)
		return true;
	in->d = r + 1;
	in->nd = 1;
	return dec_dst(d, &o[0], d->ty[0], r + 1);
}
