/* dependent_launch.c - reports global accesses of a dependent launch before griddepcontrol.wait: until a
 * thread waits, or is ordered after a thread of its block that has, the primary kernel may still read and
 * write global memory (PTX ISA, "griddepcontrol"). */
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

void
grids_wait(Warp *w, u32 mask)
{
	if (!w->waited)
		w->wait_clock = w->clock;
	w->waited |= mask;
}

static bool
has_waited(const Warp *w, int lane)
{
	const Cta *b = w->cta;

	if (w->waited >> lane & 1 || !w->def)
		return true;
	for (const Warp *v = b->warp; v < b->warp + b->nwarp; v++)
		if (v->waited && (v == w ? w->met > v->wait_clock : w->know.vc[v->id] >= v->wait_clock))
			return true;
	return false;
}

void
grids_check(Warp *w, const Ins *in, int lane, u64 addr, u32 bytes)
{
	if (w->cta->l->a.dependent && !has_waited(w, lane))
		fault_add(w, lane, SIM_FAULT_DEPENDENT, in->line, SIM_SPACE_GLOBAL, addr, bytes, NULL,
		          "%.60s: global memory access before griddepcontrol.wait; the primary kernel may "
		          "still use it", in->text);
}
