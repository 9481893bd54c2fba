/* no_operators.c - to be loaded before libhexc: a hexc_op_plan that compiles no operator. */
#include "lib/hexc_ops.h"
#include <stdio.h>

int
hexc_op_plan(hexc_op **out, const char *name, const hexc_op_set *set, size_t nset, const hexc_op_opts *opts,
             char *why, size_t n)
{
	(void)set, (void)nset, (void)opts;
	*out = NULL;
	snprintf(why, n, "operator %s: not today", name);
	return HEXC_E_LIMIT;
}
