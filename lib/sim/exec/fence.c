/* fence.c - executes membar and fence. */
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"

/* Marks the mbarrier inits that happen before w's present point as fenced. */
static void
fence_mbars(Warp *w)
{
	MbarTab *t = &w->cta->mb;

	for (u32 i = 0; t->nunfenced && i < t->cap; i++) {
		Mbar *m = t->slot[i];
		if (!m || !m->live || m->fenced)
			continue;
		if (w->def && m->init_warp != w->id && m->init_clock > w->know.vc[m->init_warp])
			continue;
		m->fenced = true;
		m->fence_warp = w->id;
		m->fence_clock = w->clock;
		m->fence_time = __atomic_load_n(&w->cta->l->time, __ATOMIC_RELAXED);
		t->nunfenced--;
	}
}

int
exec_fence(Warp *w, const Ins *in, u32 mask)
{
	(void)mask;
	if (in->fence == FENCE_MBAR_INIT || in->fence == FENCE_ASYNC || in->fence == FENCE_ASYNC_SHARED)
		fence_mbars(w);
	if (!w->def)
		return R_NEXT;
	if (in->fence == FENCE_THREAD || in->fence == FENCE_MBAR_INIT)
		check_fence(w, in->scope);
	else
		proxy_fence(w, in->fence);
	return R_NEXT;
}

int
exec_gdcwait(Warp *w, const Ins *in, u32 mask)
{
	(void)in;
	grids_wait(w, mask);
	return R_NEXT;
}
