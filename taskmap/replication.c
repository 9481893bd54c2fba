/* replication.c - enumerates the coordinates that hold the same element. */
#include "taskmap/layout.h"

int64_t
layout_replicas(const Layout *l)
{
	int64_t n = 1;

	for (int i = 0; i < l->nrep; i++)
		n *= l->rep[i].extent;
	return n;
}

int64_t
layout_replicas_on(const Layout *l, Axis axis)
{
	int64_t n = 1;

	for (int i = 0; i < l->nrep; i++)
		if (l->rep[i].axis == axis)
			n *= l->rep[i].extent;
	return n;
}

void
layout_replica(const Layout *l, int64_t i, Coord *p)
{
	for (int k = 0; k < l->nrep; k++) {
		p->at[l->rep[k].axis] += i % l->rep[k].extent * l->rep[k].stride;
		i /= l->rep[k].extent;
	}
}

bool
layout_first_replica(const Layout *l, int64_t lane, int64_t warp)
{
	for (int i = 0; i < l->nrep; i++) {
		const Iter *r = &l->rep[i];
		int64_t at = r->axis == AX_lane ? lane : r->axis == AX_warp ? warp
		                                                            : 0;

		if (at / r->stride % r->extent)
			return false;
	}
	return true;
}
