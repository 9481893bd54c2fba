/* args.c - checks arguments against the kernel's assumptions, and computes the grid, for the interpreter. */
#include "hexc/interp/interp_internal.h"

static bool
check_number(Interp *it, const Param *p, int64_t x)
{
	if (p->kind == P_size && x < 0)
		return interp_error(it, INTERP_E_ARG, NULL, "%s is %lld: a size cannot be negative", p->name,
		                    (long long)x);
	if (p->mult > 1 && x % p->mult != 0)
		return interp_error(it, INTERP_E_ARG, NULL,
		                    "%s is %lld, but the kernel assumes %s %% %lld == 0", p->name,
		                    (long long)x, p->name, (long long)p->mult);
	if (p->lo <= p->hi && (p->lo || p->hi) && (x < p->lo || x > p->hi))
		return interp_error(it, INTERP_E_ARG, NULL,
		                    "%s is %lld, but the kernel assumes %lld <= %s <= %lld", p->name,
		                    (long long)x, (long long)p->lo, p->name, (long long)p->hi);
	return true;
}

static bool
check_tensor(Interp *it, const Param *p, const InterpArg *arg)
{
	int64_t last = 0, size, stride, span;

	for (int d = 0; d < p->val->type.rank; d++) {
		if (!interp_scalar(it, p->size[d], &size) || !interp_scalar(it, p->stride[d], &stride))
			return false;
		if (size < 0 || stride < 0)
			return interp_error(it, INTERP_E_ARG, NULL,
			                    "%s has size %lld and stride %lld in dimension %d", p->name,
			                    (long long)size, (long long)stride, d);
		if (size == 0)
			return true;
		if (stride && size - 1 > INT64_MAX / stride)
			return interp_error(it, INTERP_E_ARG, NULL, "%s is too large", p->name);
		span = (size - 1) * stride;
		if (span > INT64_MAX - 1 - last)
			return interp_error(it, INTERP_E_ARG, NULL, "%s is too large", p->name);
		last += span;
	}
	if (!arg->data)
		return interp_error(it, INTERP_E_ARG, NULL, "%s is NULL, but has elements", p->name);
	if (last >= arg->count)
		return interp_error(it, INTERP_E_ARG, NULL, "%s needs %lld elements, but its buffer has %lld",
		                    p->name, (long long)last + 1, (long long)arg->count);
	return true;
}

static bool
check_params(Interp *it, bool tensors)
{
	for (int i = 0; i < it->k->nparam; i++) {
		const Param *p = &it->k->param[i];

		if ((p->kind == P_tensor) != tensors || (!tensors && dtype_is_float(p->val->type.dtype)))
			continue;
		if (tensors ? check_tensor(it, p, &it->arg[i])
		            : check_number(it, p, slot_of(it, p->val)->i[0]))
			continue;
		if (p->src.line)
			it->src = p->src;
		return false;
	}
	return true;
}

bool
interp_check(Interp *it)
{
	Kernel *k = it->k;
	int64_t x;

	if (!check_params(it, false))
		return false;
	for (int i = 0; i < k->nassume; i++) {
		const Assume *a = &k->assume[i];

		if (!interp_scalar(it, a->cond, &x))
			return false;
		if (x)
			continue;
		interp_error(it, INTERP_E_ARG, NULL, "assumption violated: %s",
		             a->text ? a->text : "an unnamed condition");
		it->src = a->src.line ? a->src : it->src;
		return false;
	}
	return check_params(it, true);
}

bool
interp_find_grid(Interp *it, int64_t grid[3])
{
	Op *last = it->k->grid ? it->k->grid->last : NULL;

	grid[0] = grid[1] = grid[2] = 1;
	if (!last)
		return true;
	for (int i = 0; i < last->nin && i < 3; i++) {
		if (!interp_scalar(it, last->in[i], &grid[i]))
			return false;
		if (grid[i] < 0 || grid[i] > INT32_MAX)
			return interp_error(it, INTERP_E_ARG, last, "the grid has %lld blocks in dimension "
			                                            "%d",
			                    (long long)grid[i], i);
	}
	return true;
}
