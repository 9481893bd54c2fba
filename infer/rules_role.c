/* rules_role.c - roles of warps and wgmma: layouts of them are not inferred yet. */
#include "infer/rules.h"

static void
not_yet(Solve *s, const Op *o)
{
	diag_error(s->k->unit->diag, o->src, "%s: layouts for roles of warps are not inferred yet",
	           op_info[o->code].name);
}

void
rule_roles(Solve *s, Op *o)
{
	not_yet(s, o);
}

void
rule_wgmma(Solve *s, Op *o)
{
	not_yet(s, o);
}
