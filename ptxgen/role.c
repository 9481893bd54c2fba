/* role.c - roles of warps, their barriers, and products under way: not emitted yet. */
#include "ptxgen/base/gen.h"

static void
not_yet(Gen *g, const Op *o)
{
	diag_error(g->u->diag, o->src, "%s: roles of warps are not emitted yet", op_info[o->code].name);
}

void
emit_roles(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_team(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_mbar(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_mbar_wait(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_mbar_arrive(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_wgmma(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_wg_fence(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_wg_commit(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_wg_wait(Gen *g, Op *o)
{
	not_yet(g, o);
}

void
emit_proxy(Gen *g, Op *o)
{
	not_yet(g, o);
}
