/* role.c - roles of warps and what orders them: not run yet. */
#include "hexc/interp/impl.h"

static bool
not_yet(Interp *it, const Op *o)
{
	return interp_error(it, INTERP_E_FAULT, o, "%s: roles of warps are not interpreted yet",
	                    op_info[o->code].name);
}

bool
eval_roles(Interp *it, Op *o)
{
	return not_yet(it, o);
}

bool
eval_team(Interp *it, Op *o)
{
	return not_yet(it, o);
}

bool
eval_mbar(Interp *it, Op *o)
{
	return not_yet(it, o);
}

bool
eval_mbar_wait(Interp *it, Op *o)
{
	return not_yet(it, o);
}

bool
eval_mbar_arrive(Interp *it, Op *o)
{
	return not_yet(it, o);
}

bool
eval_wgmma(Interp *it, Op *o)
{
	return not_yet(it, o);
}

bool
eval_wg_commit(Interp *it, Op *o)
{
	return not_yet(it, o);
}

bool
eval_wg_wait(Interp *it, Op *o)
{
	return not_yet(it, o);
}

bool
eval_none(Interp *it, Op *o)
{
	(void)it;
	(void)o;
	return true;
}
