/* wgmma.c - products of shared tiles, not checked yet. */
#include "infer/prove/prove.h"

void
prove_wgmma(Prove *p, const Op *o)
{
	(void)o;
	prove_error(p, -1, 0, "wgmma is not checked yet");
}
