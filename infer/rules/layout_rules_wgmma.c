/* layout_rules_wgmma.c - what roles of warps and wgmma say of layouts. */
#include "infer/rules/layout_rules.h"

/* Values do not leave a region. */
void
rule_roles(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

/* As of a dot the anchors know: anchor_dot in propagate.c. */
void
rule_wgmma(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}
