/* zero_point.c - finds integers (zero points) that are subtracted from the results of a cast, to merge them
 * into the cast.
 *
 * A cast of narrow integers ends by subtracting a large integer.  A zero point can be subtracted from that
 * integer first, once for all elements that share it, which saves one instruction per element.  v - y is
 * then rounded once, as before, so all bits are unchanged. */
#include "infer/narrow_cast/cast_sequence.h"
#include <math.h>

enum { CHAIN = 16 };

/* Are all elements of v integers from *lo to *hi? */
static bool
whole_range(const Val *v, int64_t *lo, int64_t *hi)
{
	const Op *o = v->def;

	for (int i = 0; o && i < CHAIN; i++, o = op_source(o)->def) {
		const DTypeInfo *d;

		if (o->code == O_const) {
			if (!(fabs(o->fimm) < 65536))
				return false;
			*lo = *hi = (int64_t)o->fimm;
			return !((double)*lo < o->fimm) && !((double)*lo > o->fimm);
		}
		if (o->code == O_cast) {
			d = &dtype_info[op_source(o)->type.dtype];
			*lo = d->kind == K_sint ? -((int64_t)1 << (d->bits - 1)) : 0;
			*hi = ((int64_t)1 << (d->bits - (d->kind == K_sint))) - 1;
			return d->bits <= 8 && d->kind != K_flt && d->kind != K_pred;
		}
		if (!op_moved(o))
			return false;
	}
	return false;
}

const Op *
recipe_offset(const Op *o, int *number, int64_t *lo, int64_t *hi)
{
	if (o->code != O_sub && o->code != O_add)
		return NULL;
	for (int i = 0; i <= (o->code == O_add); i++) {
		const Op *cast = o->in[i]->def;

		if (!cast || cast->code != O_cast || cast->out[0]->type.space != S_reg ||
		    !whole_range(o->in[1 - i], lo, hi))
			continue;
		*number = 1 - i;
		if (o->code == O_add) {
			int64_t less = -*hi;

			*hi = -*lo;
			*lo = less;
		}
		return cast;
	}
	return NULL;
}
