/* unsupported.c - reports a fault for instructions that the simulated device lacks: multicast objects of
 * several devices, textures, surfaces. */
#include "lib/sim/exec/exec.h"
#include "lib/sim/state/fault.h"

static const char *
lacks(u32 id)
{
	switch (id) {
	case OP_mmldred: case OP_mmst: case OP_mmred: return "multicast object";
	case OP_tex: case OP_tld4: case OP_txq: return "texture";
	default: return "surface";
	}
}

int
exec_absent(Warp *w, const Ins *in, u32 mask)
{
	fault_add(w, low_lane(mask), SIM_FAULT_BOUNDS, in->line, SIM_SPACE_GLOBAL, 0, 0, NULL,
	          "%.60s: is not simulated; this device has no %s to address", in->text,
	          lacks(in->id));
	block_stop(w->cta, SIM_E_FAULT, "an instruction that is not simulated");
	return R_STOP;
}

int
exec_istypep(Warp *w, const Ins *in, u32 mask)
{
	if (in->pd < 0)
		return R_NEXT;
	w->p[in->pd] &= ~mask;
	if (w->def)
		w->pdef[in->pd] |= mask;
	return R_NEXT;
}
