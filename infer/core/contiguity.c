/* contiguity.c - computes the number of contiguous elements of a tile that a thread should own. */
#include "infer/core/contiguity.h"
#include "infer/core/cost_constants.h"

int64_t
lane_run(const Solve *s, const Val *v, int dim)
{
	const Contiguity *r = s->run[v->id];
	int64_t run = r->once;

	if (r->unit != dim) /* or no access: grain and the others are unset */
		return 1;
	if ((r->wanted <= r->most && r->wanted * r->grain >= ACCESS_BITS) || r->once * r->grain < 32)
		run = min64(r->wanted, r->most);
	return min64(run, pow2_part(v->type.shape[dim]));
}
