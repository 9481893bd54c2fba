/* weight_planes.c - converts planes of weights to the shapes and types that kernels accept. */
#include "lib/ops/linear.h"
#include <math.h>
#include <string.h>

static hexc_plane
new_plane(LinearPlan *l, const hexc_plane *p, const char *type, int64_t cols)
{
	hexc_plane to = *p;

	to.dtype = type;
	to.cols = cols;
	to.bytes = ((uint64_t)(to.rows * cols) * hexc_dtype_find(type)->bits + 7) / 8;
	to.data = arena_alloc(l->arena, to.bytes + 1);
	memset(to.data, 0, to.bytes);
	return to;
}

hexc_plane
linear_spread(LinearPlan *l, const hexc_plane *p, int64_t cols)
{
	const hexc_dtype *t = hexc_dtype_find(p->dtype);
	hexc_plane to;

	if (p->cols == cols)
		return *p;
	to = new_plane(l, p, p->dtype, cols);
	for (int64_t i = 0; i < to.rows * cols; i++)
		hexc_put(t, to.data, (uint64_t)i, hexc_get(t, p->data, (uint64_t)(i / cols)));
	return to;
}

typedef struct Convert {
	const hexc_dtype *from, *to;
	const void *in;
	void *out;
	double by;
} Convert;

static void
convert(void *user, int64_t lo, int64_t hi)
{
	const Convert *c = user;

	for (int64_t i = lo; i < hi; i++)
		hexc_put(c->to, c->out, (uint64_t)i, hexc_get(c->from, c->in, (uint64_t)i) / c->by);
}

hexc_plane
linear_convert(LinearPlan *l, const hexc_plane *p, const char *type, double by)
{
	hexc_plane to;
	Convert c;

	if (strcmp(type, p->dtype) == 0 && by == 1)
		return *p;
	to = new_plane(l, p, type, p->cols);
	c = (Convert){ hexc_dtype_find(p->dtype), hexc_dtype_find(type), p->data, to.data, by };
	/* chunks start at full bytes for every type */
	parallel_for(l->workers, to.rows * to.cols, 1 << 16, convert, &c);
	return to;
}

double
linear_range(const hexc_plane *p)
{
	const hexc_dtype *t = hexc_dtype_find(p->dtype);
	double most = 0;
	int e;

	for (int64_t i = 0; i < p->rows * p->cols; i++) {
		double x = fabs(hexc_get(t, p->data, (uint64_t)i));

		if (isfinite(x) && x > most)
			most = x;
	}
	if (most == 0)
		return 1;
	frexp(most, &e);
	return ldexp(1, e - 6);
}
