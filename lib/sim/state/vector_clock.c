/* vector_clock.c - merges the happens-before knowledge of warps, and moments of launch time. */
#include <string.h>
#include "lib/sim/state/execution.h"

void
know_join(Launch *l, Know *to, const Know *from)
{
	u32 *t = (u32 *)(void *)to;
	const u32 *f = (const u32 *)(const void *)from;

	for (size_t i = 0; i < offsetof(Know, far) / sizeof *t; i++)
		t[i] = t[i] < f[i] ? f[i] : t[i];
	if (to->far != from->far)
		vec_join(l, &to->far, from->far);
}

void
know_take(Warp *w, const Know *from)
{
	const Vec *far = w->know.far;

	know_join(w->cta->l, &w->know, from);
	if (w->know.far != far)
		vec_own(w);
}

void
know_copy(Know *to, const Know *from)
{
	Vec *far = to->far;

	vec_copy(&far, from->far);
	*to = *from;
	to->far = far;
}

void
know_drop(Know *k)
{
	vec_drop(&k->far);
	memset(k, 0, sizeof *k);
}

static void
later(u32 *t, u32 u)
{
	*t = *t < u ? u : *t;
}

void
know_far(Know *to, const Far *from, u32 scope)
{
	if (scope == SCOPE_CTA) {
		later(&to->gwide, from->acq);
		return;
	}
	later(&to->gacq, from->acq);
	later(&to->gown, from->own);
}

void
know_release(Warp *w, Know *to)
{
	know_join(w->cta->l, to, &w->know);
	if (to->vc[w->id] < w->clock)
		to->vc[w->id] = w->clock;
	w->clock++;
}

u32
time_tick(Launch *l)
{
	return __atomic_add_fetch(&l->time, 1, __ATOMIC_ACQ_REL);
}
