/* util_interp.c - runs kernels in the tile interpreter for tests. */
#include "hexc/lang/lang.h"
#include "hexc/pass/pass.h"
#include "test/interp/util_interp.h"
#include "hexc/interp/launch_query.h"
#include "hexc/ir/verify/verify.h"
#include "test/check.h"
#include <stdlib.h>
#include <string.h>

uint64_t
run_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* "NAME=VALUE NAME=VALUE"; false at the end. */
static bool
next_pair(Unit *u, const char **s, const char **name, int64_t *value)
{
	const char *eq;
	char *end;

	while (**s == ' ')
		(*s)++;
	eq = strchr(*s, '=');
	if (!eq)
		return false;
	*name = arena_strndup(u->arena, *s, (size_t)(eq - *s));
	*value = strtoll(eq + 1, &end, 10);
	*s = end;
	return true;
}

Kernel *
run_source(Unit *u, const char *src, const char *defines)
{
	Define *def = NEWN(u->arena, Define, 32);
	int n = 0;

	for (const char *s = defines; n < 32 && next_pair(u, &s, &def[n].name, &def[n].value);)
		n++;
	u->nkernel = 0;
	u->text = src;
	u->len = strlen(src);
	ck_assert_msg(unit_parse(u, def, n, NULL), "%s", ir_diags(u));
	ck_assert_int_gt(u->nkernel, 0);
	return u->kernel[0];
}

static int
find_param(const Run *r, const char *name)
{
	for (int i = 0; i < r->k->nparam; i++)
		if (strcmp(r->k->param[i].name, name) == 0)
			return i;
	ck_abort_msg("no parameter %s", name);
	return -1;
}

Kernel *
run_bounded(Run *r, Unit *u, const char *src, const char *defines, const char *sizes, uint64_t seed)
{
	Kernel *k = run_source(u, src, defines);

	pass_mask_bounds(k);
	ck_assert_msg(kernel_verify(k, "mask_bounds"), "%s", ir_diags(u));
	run_setup(r, k, sizes, seed);
	return k;
}

InterpArg *
run_arg(Run *r, const char *name)
{
	return &r->arg[find_param(r, name)];
}

static void
fill(Run *r, int i)
{
	const Param *p = &r->k->param[i];
	DType d = p->val->type.dtype;
	InterpArg *a = &r->arg[i];
	uint64_t state = r->seed * 1000 + (uint64_t)i;
	int64_t size[DIM_MAX], stride[DIM_MAX];

	ck_assert_int_eq(interp_shape(r->k, r->arg, r->k->nparam, i, size, stride), INTERP_OK);
	a->count = 1;
	for (int dim = 0; dim < p->val->type.rank; dim++)
		a->count += (size[dim] - 1) * stride[dim];
	a->data = arena_alloc(r->u->arena, num_bytes(d, a->count) + 1);
	memset(a->data, 0xa5, num_bytes(d, a->count));
	for (int64_t j = 0; j < a->count && p->read; j++) {
		uint64_t x = run_random(&state);

		if (dtype_is_float(d))
			num_put_f(d, a->data, j, (double)(int64_t)(x >> 40) / (1 << 23) - 1);
		else
			num_put_i(d, a->data, j, d == D_bool ? (int64_t)(x & 1) : (int64_t)x);
	}
}

void
run_setup(Run *r, Kernel *k, const char *sizes, uint64_t seed)
{
	const char *name;
	int64_t value;

	memset(r, 0, sizeof *r);
	r->u = k->unit;
	r->k = k;
	r->seed = seed;
	ck_assert_int_le(k->nparam, RUN_ARGS);
	while (next_pair(r->u, &sizes, &name, &value)) {
		run_arg(r, name)->i = value;
		run_arg(r, name)->f = (double)value;
	}
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind == P_tensor)
			fill(r, i);
}

double
run_get(Run *r, const char *name, int64_t i)
{
	int p = find_param(r, name);

	ck_assert_int_lt(i, r->arg[p].count);
	return num_get(r->k->param[p].val->type.dtype, r->arg[p].data, i);
}

void
run_put(Run *r, const char *name, int64_t i, double x)
{
	int p = find_param(r, name);

	ck_assert_int_lt(i, r->arg[p].count);
	num_put(r->k->param[p].val->type.dtype, r->arg[p].data, i, x);
}

void
run_ok(Run *r, const InterpOpt *opt)
{
	InterpCode code = interp_run(r->k, r->arg, r->k->nparam, opt);

	ck_assert_msg(code == INTERP_OK, "%.1000s\n%.2500s", ir_diags(r->u), ir_text(r->u, r->k));
}

void
run_fails(Run *r, const InterpOpt *opt, InterpCode code, const char *words)
{
	InterpCode got = interp_run(r->k, r->arg, r->k->nparam, opt);

	ck_assert_int_eq(got, code);
	ck_assert_msg(strstr(ir_diags(r->u), words) != NULL, "\"%s\" is not in: %s", words, ir_diags(r->u));
}

void
run_same(Run *a, Run *b, const char *what)
{
	for (int i = 0; i < a->k->nparam; i++) {
		const Param *p = &a->k->param[i];
		DType d = p->val->type.dtype;

		if (p->kind != P_tensor || !p->written)
			continue;
		for (int64_t j = 0; j < a->arg[i].count; j++) {
			double x = num_get(d, a->arg[i].data, j), y = num_get(d, b->arg[i].data, j);

			ck_assert_msg(memcmp(&x, &y, sizeof x) == 0,
			              "%s: %s[%lld] is %g and %g\n%.2500s", what, p->name,
			              (long long)j, x, y, ir_text(b->u, b->k));
		}
	}
}
