/* util_bound.c - runs a kernel that bound_kernel has rewritten, with bounds of the inputs that the test
 * chooses. */
#include "test/error_bound/util_bound.h"
#include "hexc/interp/launch_query.h"
#include "hexc/ir/verify/verify.h"
#include "hexc/pass/pass.h"
#include "test/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double
uniform(uint64_t *state)
{
	return ldexp((double)(run_random(state) >> 11), -53);
}

static void
set_sizes(Bounded *b, const char *sizes)
{
	for (const char *s = sizes; s && *s; s = strchr(s, ' ') ? strchr(s, ' ') + 1 : NULL) {
		const char *eq = strchr(s, '=');

		for (int i = 0; eq && i < b->k->nparam; i++) {
			const char *name = b->k->param[i].name;

			if (strlen(name) != (size_t)(eq - s) || strncmp(name, s, (size_t)(eq - s)) != 0)
				continue;
			b->arg[i].i = strtoll(eq + 1, NULL, 10);
			b->arg[i].f = strtod(eq + 1, NULL);
		}
	}
}

Bounded *
bounded_kernel(Unit *u, Kernel *k, const char *sizes)
{
	Bounded *b = NEW(u->arena, Bounded);
	bool async = false;
	OpWalk w;

	b->u = u;
	b->k = k;
	b->twin = bound_kernel(k, &b->ops);
	if (!b->twin)
		return b;
	for (Op *o = walk_first(&w, b->twin->body); o; o = walk_next(&w))
		async = async || o->code == O_wgmma;
	/* the copy reads results of asynchronous products before the program waits for them */
	ck_assert_msg(async || kernel_verify(b->twin, "bound_kernel"), "%s", ir_diags(u));
	b->narg = b->twin->nparam;
	b->arg = NEWN(u->arena, InterpArg, b->narg);
	set_sizes(b, sizes);
	for (int i = 0; i < b->narg; i++) {
		const Type *type = &b->twin->param[i].val->type;
		int64_t size[DIM_MAX], stride[DIM_MAX], n = 1;

		if (b->twin->param[i].kind != P_tensor)
			continue;
		ck_assert_int_eq(interp_shape(b->twin, b->arg, b->narg, i, size, stride), INTERP_OK);
		for (int d = 0; d < type->rank; d++)
			n += (size[d] - 1) * stride[d];
		b->arg[i].count = n;
		b->arg[i].data = arena_alloc(u->arena, num_bytes(type->dtype, n) + 8);
		memset(b->arg[i].data, 0, num_bytes(type->dtype, n) + 8);
	}
	return b;
}

Bounded *
bounded(Unit *u, const char *src, const char *sizes)
{
	Kernel *k = run_source(u, src, "");

	pass_mark_reductions(k);
	pass_mask_bounds(k);
	return bounded_kernel(u, k, sizes);
}

static int
tensor_index(const Bounded *b, const char *name)
{
	for (int i = 0; i < b->k->nparam; i++)
		if (strcmp(b->k->param[i].name, name) == 0)
			return i;
	ck_abort_msg("no tensor %s", name);
	return -1;
}

/* Returns the argument that has the bounds of tensor i, -1 if it is not written; its sums follow. */
static int
bounds_index(const Bounded *b, int i)
{
	int n = b->k->nparam;

	if (!b->k->param[i].written)
		return -1;
	for (int j = 0; j < i; j++)
		if (b->k->param[j].kind == P_tensor && b->k->param[j].written)
			n += 1 + (bound_has_sums(b->k, b->k->param[j].val) ? BOUND_SUMS : 0);
	return n;
}

void
bounded_put(Bounded *b, const char *tensor, int64_t i, double x, double bound)
{
	int t = tensor_index(b, tensor), at = bounds_index(b, t);

	num_put(b->k->param[t].val->type.dtype, b->arg[t].data, i, x);
	if (at < 0)
		ck_assert(!(bound > 0));
	else
		((double *)b->arg[at].data)[i] = bound;
}

/* The initial values of atomic sums are the tensor's, and afterwards sums and bounds become one bound. */
static void
sums(Bounded *b, bool after)
{
	for (int i = 0; i < b->k->nparam; i++) {
		const Val *v = b->k->param[i].val;
		int at = bounds_index(b, i);

		if (at < 0 || b->k->param[i].kind != P_tensor || !bound_has_sums(b->k, v))
			continue;
		for (int64_t e = 0; e < b->arg[i].count; e++) {
			double *bound = (double *)b->arg[at].data + e, sum[BOUND_SUMS];

			if (!after)
				((double *)b->arg[at + 1 + BOUND_START].data)[e] =
					num_get(v->type.dtype, b->arg[i].data, e);
			for (int s = 0; s < BOUND_SUMS; s++)
				sum[s] = ((double *)b->arg[at + 1 + s].data)[e];
			if (after)
				*bound = bound_of_sum(v->type.dtype, *bound, sum);
		}
	}
}

void
bounded_run(Bounded *b)
{
	double *cell = b->arg[b->narg - 1].data;
	InterpCode code;

	sums(b, false);
	code = interp_run(b->twin, b->arg, b->narg, NULL);
	ck_assert_msg(code == INTERP_OK, "%.1000s\n%.4000s", ir_diags(b->u), ir_text(b->u, b->twin));
	sums(b, true);
	b->lost = bound_lost(&b->ops, cell[BOUND_LOST], &b->why);
	for (int i = 0; i < b->k->nparam && cell[BOUND_DOUBT] > 0; i++)
		for (int64_t e = 0; bounds_index(b, i) >= 0 && e < b->arg[i].count; e++)
			((double *)b->arg[bounds_index(b, i)].data)[e] = (double)INFINITY;
}

double
bounded_get(const Bounded *b, const char *tensor, int64_t i)
{
	int t = tensor_index(b, tensor);

	ck_assert_int_lt(i, b->arg[t].count);
	return num_get(b->k->param[t].val->type.dtype, b->arg[t].data, i);
}

double
bounded_bound(const Bounded *b, const char *tensor, int64_t i)
{
	int t = tensor_index(b, tensor);

	ck_assert_int_lt(i, b->arg[t].count);
	return ((const double *)b->arg[bounds_index(b, t)].data)[i];
}

/* Reads a name of one letter and an index (-1: none) before '='; returns what follows, NULL at the end. */
static char *
next_value(const char **s, char name[2], int64_t *i)
{
	char *end;

	*s += strspn(*s, " ");
	if (!**s)
		return NULL;
	name[0] = *(*s)++;
	name[1] = 0;
	*i = **s == '=' ? -1 : strtoll(*s, &end, 10);
	*s = strchr(*s, '=');
	ck_assert_ptr_nonnull(*s);
	strtod(*s + 1, &end);
	return end;
}

void
bounded_set(Bounded *b, const char *values)
{
	char name[2], *end;
	int64_t i;

	while ((end = next_value(&values, name, &i))) {
		double x = strtod(values + 1, NULL);

		bounded_put(b, name, i, x, *end == '~' ? strtod(end + 1, &end) : 0);
		values = end;
	}
}

void
bounded_expect(const Bounded *b, const char *bounds, const char *what)
{
	char name[2], *end;
	int64_t i;

	while ((end = next_value(&bounds, name, &i))) {
		double low = strtod(bounds + 1, NULL), high = *end == ':' ? strtod(end + 1,
		                                                                   &end)
		                                                          : 1.001 * low;
		int64_t n = i < 0 ? b->arg[tensor_index(b, name)].count : i + 1;

		for (int64_t e = i < 0 ? 0 : i; e < n; e++) {
			double bound = bounded_bound(b, name, e);

			ck_assert_msg(bound >= low && bound <= high,
			              "%s: %s[%lld] is %g: bound %.9g, not from %.9g to "
			              "%.9g", what, name, (long long)e, bounded_get(b, name, e), bound,
			              low, high);
		}
		bounds = end;
	}
}
