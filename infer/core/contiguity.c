/* contiguity.c - how many neighbours a lane should hold of a tile. */
#include "infer/core/contiguity.h"
#include "infer/core/cost_constants.h"

int64_t
lane_run(const Solve *s, const Val *v, int dim)
{
	const Contiguity *r = s->run[v->id];
	int64_t run = r->once;

	if (r->unit != dim) /* or nobody asks: there are no numbers */
		return 1;
	if ((r->wanted <= r->most && r->wanted * r->grain >= ACCESS_BITS) || r->once * r->grain < 32)
		run = min64(r->wanted, r->most);
	return min64(run, pow2_part(v->type.shape[dim]));
}
