/* launch_query.c - computes the grid and tensor shapes of a launch, without running it. */
#include "hexc/interp/launch_query.h"
#include "hexc/interp/interp_internal.h"

static void
find_grid(Interp *it, int64_t grid[3])
{
	if (setjmp(it->fail)) {
		it->code = INTERP_E_NOMEM;
		return;
	}
	interp_setup(it);
	interp_find_grid(it, grid);
}

InterpCode
interp_grid(Kernel *k, const InterpArg *arg, int narg, int64_t grid[3])
{
	Interp it;

	interp_start(&it, k, arg, NULL);
	if (narg != k->nparam)
		interp_error(&it, INTERP_E_ARG, NULL, "%s takes %d arguments, not %d", k->name, k->nparam,
		             narg);
	else
		find_grid(&it, grid);
	return interp_end(&it);
}

static void
find_shape(Interp *it, const Param *p, int64_t *size, int64_t *stride)
{
	if (setjmp(it->fail)) {
		it->code = INTERP_E_NOMEM;
		return;
	}
	interp_setup(it);
	for (int d = 0; d < p->val->type.rank; d++)
		if (!interp_scalar(it, p->size[d], &size[d]) || !interp_scalar(it, p->stride[d], &stride[d]))
			return;
}

InterpCode
interp_shape(Kernel *k, const InterpArg *arg, int narg, int param, int64_t *size, int64_t *stride)
{
	Interp it;

	interp_start(&it, k, arg, NULL);
	if (narg != k->nparam || param < 0 || param >= narg || k->param[param].kind != P_tensor)
		interp_error(&it, INTERP_E_ARG, NULL, "%s has no tensor parameter %d", k->name, param);
	else
		find_shape(&it, &k->param[param], size, stride);
	return interp_end(&it);
}
