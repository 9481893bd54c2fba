/* quant_scheme.c - selects operator and constants for a quantized weight, by the formula of
 * hexc_weights.h, for lib/ops/linear.hexc. */
#include "lib/ops/linear.h"
#include "lib/weights/format.h"
#include <stdlib.h>
#include <string.h>

enum { STEP = 64 }; /* BK of the table's lines */

static bool
refuse(LinearPlan *l, int code, const char *text)
{
	if (!l->code)
		l->code = why_error(code, l->why, l->n, "weight %s: %s",
		                    l->w.name     ? l->w.name
		                    : l->w.format ? l->w.format
		                                  : "without a name",
		                    text);
	return false;
}

static const char *
host_says(const LinearPlan *l, const char *name)
{
	for (size_t i = 0; i < l->nhost; i++)
		if (strcmp(l->set[i].name, name) == 0)
			return l->set[i].value;
	return NULL;
}

/* Adds a setting that the weight determines; rejects one of the host. */
static void
say(LinearPlan *l, const char *name, const char *value)
{
	if (host_says(l, name))
		refuse(l, HEXC_E_ARGS,
		       arena_printf(l->arena, "%s is defined by its format; omit it", name));
	else
		l->set[l->nset++] = (hexc_op_set){ name, value };
}

static void
say_number(LinearPlan *l, const char *name, int64_t x)
{
	say(l, name, arena_printf(l->arena, "%lld", (long long)x));
}

static void
give(LinearPlan *l, const char *name, hexc_plane p)
{
	l->tensor[l->ntensor++] = (LinearTensor){ name, p };
}

/* Adds an argument for a plane; the placeholder gets its type. */
static void
give_plane(LinearPlan *l, const char *hole, const char *name, hexc_plane p)
{
	say(l, hole, p.dtype);
	give(l, name, p);
}

/* Returns a group size as a constant; a single group is extended past the last input. */
static int64_t
group_of(const LinearPlan *l, const hexc_plane *p)
{
	return p->rows == 1 ? (l->w.k + 2 * STEP - 1) / (2 * STEP) * (2 * STEP) : p->group;
}

static bool
fits_steps(int64_t group)
{
	return group % STEP == 0 || STEP % group == 0;
}

/* Is each input in the group k / group? */
static bool
plain_index(const LinearPlan *l)
{
	const hexc_plane *p = &l->w.plane[HEXC_PLANE_INDEX];
	const int32_t *index = p->data;

	for (int64_t k = 0; p->dtype && k < l->w.k; k++)
		if (index[k] != k / l->w.plane[HEXC_PLANE_SCALE].group)
			return false;
	return true;
}

/* ---- scales ---------------------------------------------------------------------------------------- */

static void
multiply_factor(LinearPlan *l, double x)
{
	l->factor *= x;
	for (size_t i = l->nhost; i < l->nset; i++)
		if (strcmp(l->set[i].name, "factor") == 0)
			return;
	say(l, "factor", "f32");
}

static double
only_number(const hexc_plane *p)
{
	return hexc_get(hexc_dtype_find(p->dtype), p->data, 0);
}

/* Adds a scale per group. Types that exceed f16's range are divided by a power of two, and accumulators
 * multiplied by it. */
static void
give_scale(LinearPlan *l, hexc_plane s, const char *act)
{
	const hexc_plane *p = l->w.plane;
	bool wide = strcmp(s.dtype, "f32") == 0 || strcmp(s.dtype, "bf16") == 0 ||
	            strcmp(s.dtype, "e8m0") == 0;

	if (wide && strcmp(act, "f16") == 0 && !p[HEXC_PLANE_OFFSET].dtype &&
	    (!p[HEXC_PLANE_SCALE2].dtype || p[HEXC_PLANE_SCALE2].cols == 1)) {
		double by = linear_range(&s);

		multiply_factor(l, by);
		s = linear_convert(l, &s, strcmp(s.dtype, "e8m0") == 0 ? "e8m0" : "f16", by);
	}
	give_plane(l, "scale", "S", linear_spread(l, &s, l->w.n));
}

/* Applies a single scale, or one per output, to accumulators, if no offset is added to the product. */
static void
take_scales(LinearPlan *l, const char *act)
{
	const hexc_plane *p = l->w.plane, *s = &p[HEXC_PLANE_SCALE], *s2 = &p[HEXC_PLANE_SCALE2];
	bool one2 = !s2->dtype || (s2->rows == 1 && s2->cols == 1 && !p[HEXC_PLANE_OFFSET].dtype);

	if (s2->dtype && one2)
		multiply_factor(l, only_number(s2));
	if (s->rows > 1 || p[HEXC_PLANE_OFFSET].dtype || !one2)
		give_scale(l, *s, act);
	else if (s->cols == 1)
		multiply_factor(l, only_number(s));
	else
		give_plane(l, "column", "SN", *s);
	if (!one2) {
		give_plane(l, "scale2", "S2", linear_spread(l, s2, l->w.n));
		say_number(l, "G2", group_of(l, s2));
	}
}

static void
take_others(LinearPlan *l)
{
	const hexc_plane *p = l->w.plane;

	if (p[HEXC_PLANE_ZERO].dtype)
		give_plane(l, "zero", "Z", linear_spread(l, &p[HEXC_PLANE_ZERO], l->w.n));
	if (p[HEXC_PLANE_OFFSET].dtype)
		give_plane(l, "offset", "O", linear_spread(l, &p[HEXC_PLANE_OFFSET], l->w.n));
	if (p[HEXC_PLANE_OFFSET2].dtype)
		give_plane(l, "offset2", "O2", linear_spread(l, &p[HEXC_PLANE_OFFSET2], l->w.n));
	if (p[HEXC_PLANE_TABLE].dtype) {
		give_plane(l, "table", "T", p[HEXC_PLANE_TABLE]);
		say_number(l, "NUMBERS", p[HEXC_PLANE_TABLE].cols);
	}
}

/* ---- which it is ------------------------------------------------------------------------------------ */

static bool
same_groups(LinearPlan *l, hexc_plane_id id, hexc_plane_id as)
{
	const hexc_plane *p = &l->w.plane[id], *q = &l->w.plane[as];

	return !p->dtype || (q->dtype && p->group == q->group);
}

/* Rejects planes that the operator does not support. */
static bool
known_scheme(LinearPlan *l)
{
	const hexc_plane *p = l->w.plane;

	if (!same_groups(l, HEXC_PLANE_ZERO, HEXC_PLANE_SCALE) ||
	    !same_groups(l, HEXC_PLANE_OFFSET, HEXC_PLANE_SCALE) ||
	    !same_groups(l, HEXC_PLANE_OFFSET2, HEXC_PLANE_SCALE2))
		return refuse(l, HEXC_E_ARGS,
		              "zeros or offsets have separate groups, which no operator supports; convert "
		              "it");
	if (p[HEXC_PLANE_INDEX].dtype && p[HEXC_PLANE_SCALE2].dtype && p[HEXC_PLANE_SCALE2].rows > 1)
		return refuse(l, HEXC_E_ARGS, "no operator supports an input order with two levels of "
		                              "scales");
	if (p[HEXC_PLANE_TABLE].dtype && p[HEXC_PLANE_TABLE].cols > 16)
		return refuse(l, HEXC_E_ARGS, "its table has more than 16 values, the limit of lookup");
	return true;
}

static bool
quantized(LinearPlan *l, const char *act)
{
	hexc_plane *p = l->w.plane;
	int64_t g;

	if (weight_check(&l->w, l->why, l->n)) {
		l->code = HEXC_E_INVALID;
		return false;
	}
	if (!known_scheme(l))
		return false;
	if (plain_index(l))
		p[HEXC_PLANE_INDEX].dtype = NULL;
	g = group_of(l, &p[HEXC_PLANE_SCALE]);
	l->op = "linear";
	if (p[HEXC_PLANE_INDEX].dtype || !fits_steps(g) ||
	    (p[HEXC_PLANE_SCALE2].dtype && group_of(l, &p[HEXC_PLANE_SCALE2]) % STEP))
		l->op = "linear_gather";
	say(l, "CODE", p[HEXC_PLANE_CODE].dtype);
	say_number(l, "BIAS", l->w.bias);
	say_number(l, "G", g);
	say_number(l, "KMULT", gcd64(l->w.k, 2 * STEP));
	say_number(l, "NMULT", gcd64(l->w.n, 32));
	give(l, "W", p[HEXC_PLANE_CODE]);
	take_scales(l, act);
	take_others(l);
	if (p[HEXC_PLANE_INDEX].dtype)
		give_plane(l, "index", "I", p[HEXC_PLANE_INDEX]);
	return !l->code;
}

static bool
plain(LinearPlan *l, const char *act)
{
	const hexc_plane *p = &l->w.plane[HEXC_PLANE_CODE];
	const hexc_dtype *t = hexc_dtype_find(p->dtype);

	for (int id = 0; id < HEXC_NPLANE; id++)
		if (id != HEXC_PLANE_CODE && l->w.plane[id].dtype)
			return refuse(l, HEXC_E_ARGS, "codes of more than 8 bits cannot have scales");
	if (l->w.n < 1 || l->w.k < 1 || l->w.n > INT64_MAX / 64 / l->w.k || !p->data || p->rows != l->w.n ||
	    p->cols != l->w.k || p->bytes < (uint64_t)(p->rows * p->cols) * t->bits / 8)
		return refuse(l, HEXC_E_INVALID, "its plane does not have n rows of k values");
	l->op = "gemm";
	give(l, "B", linear_convert(l, p, act, 1));
	return true;
}

bool
linear_scheme(LinearPlan *l)
{
	const hexc_plane *code = &l->w.plane[HEXC_PLANE_CODE];
	const char *act = host_says(l, "ACT");
	bool floats = code->dtype && (strcmp(code->dtype, "f16") == 0 || strcmp(code->dtype, "bf16") == 0 ||
	                              strcmp(code->dtype, "f32") == 0);

	l->factor = 1;
	if (!code->dtype || !hexc_dtype_find(code->dtype))
		return refuse(l, HEXC_E_INVALID, "it has no codes");
	if (!act) {
		act = strcmp(code->dtype, "bf16") == 0 ? "bf16" : "f16";
		l->set[l->nset++] = (hexc_op_set){ "ACT", act };
	}
	if (strcmp(act, "f16") != 0 && strcmp(act, "bf16") != 0)
		return refuse(l, HEXC_E_ARGS, "ACT must be f16 or bf16");
	return floats ? plain(l, act) : quantized(l, act);
}
