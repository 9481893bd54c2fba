/* role.c - roles of warps: no bound is known of what they compute. */
#include "lib/bound/impl.h"

Val *
bound_of_roles(Twin *t, const Site *s)
{
	(void)s;
	t->failed = true;
	return NULL;
}

Val *
bound_of_wgmma(Twin *t, const Site *s)
{
	(void)s;
	t->failed = true;
	return NULL;
}
