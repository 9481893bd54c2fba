/* copy.c - copies to shared memory, those that land later too, and what orders them. */
#include "hexc/interp/impl.h"
#include <string.h>

/* Make room for one more async copy, reusing the storage of those that have landed. */
static Pending *
pending_new(Interp *it, const Type *t)
{
	Pending *p;

	if (it->npending == it->pending_cap) {
		it->pending = arena_grow(&it->arena, it->pending, (size_t)it->pending_cap,
		                         (size_t)it->pending_cap * 2 + 4, sizeof *it->pending);
		it->pending_cap = it->pending_cap * 2 + 4;
	}
	p = &it->pending[it->npending++];
	if (p->val.n < type_size(t)) {
		p->val.n = type_size(t);
		p->val.f = NEWN(&it->arena, double, p->val.n);
		p->val.i = (void *)p->val.f;
	}
	p->type = *t;
	p->group = -1;
	return p;
}

bool
eval_copy(Interp *it, Op *o)
{
	const Type *from = &o->in[0]->type;
	const View *dst = slot_of(it, o->in[1])->view;
	Pending *p = pending_new(it, from);

	p->op = o;
	p->dst = *dst;
	if (it->blank)
		memset(p->val.f, 0, sizeof *p->val.f * (size_t)type_size(from));
	else if (!interp_read(it, o, slot_of(it, o->in[0])->view, from, &p->val))
		return false;
	if (IMM(o, async) && it->opt.late && !it->opt.races)
		return true;
	it->npending--;
	return interp_write(it, o, dst, &o->in[1]->type, &p->val, IMM(o, async) != 0);
}

/* Land what commits up to number `group` have closed. */
static bool
land(Interp *it, int64_t group)
{
	int keep = 0;

	for (int i = 0; i < it->npending; i++) {
		Pending *p = &it->pending[i], tmp;

		if (p->group < 0 || p->group > group) {
			tmp = it->pending[keep];
			it->pending[keep++] = *p;
			it->pending[i] = tmp; /* storage is swapped, not lost */
			continue;
		}
		if (!interp_write(it, p->op, &p->dst, &p->type, &p->val, false))
			return false;
	}
	it->npending = keep;
	return true;
}

bool
eval_commit(Interp *it, Op *o)
{
	(void)o;
	it->groups++;
	for (int i = 0; i < it->npending; i++)
		if (it->pending[i].group < 0)
			it->pending[i].group = it->groups;
	return true;
}

bool
eval_wait(Interp *it, Op *o)
{
	race_wait(it, it->groups - IMM(o, pending));
	return land(it, it->groups - IMM(o, pending));
}

bool
eval_barrier(Interp *it, Op *o)
{
	(void)o;
	race_barrier(it);
	return true;
}
