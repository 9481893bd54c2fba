/* compare_file.c - compares a result with a file, and runs with the values that --values writes. */
#include "hexc/cli/run.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Splits NAME=@FILE[:TOLERANCE] of --expect: returns the text without the tolerance, which is 0 if
 * omitted. */
static const char *
split_tolerance(Cli *c, const char *text, double *tolerance)
{
	const char *colon = strrchr(text, ':');

	*tolerance = 0;
	if (!colon || !cli_float(colon + 1, tolerance) || !(*tolerance >= 0))
		return text;
	return cli_strndup(c, text, (size_t)(colon - text));
}

/* Compares with the expected data instead of the interpreter's. */
static int
expect(Cli *c, const Tensor *t, const unsigned char *data, const char *text)
{
	Tensor want = *t;
	unsigned char *ref;
	double tolerance;
	int status = tensor_expect(c, t, split_tolerance(c, text, &tolerance), &ref);
	Each w;

	if (status)
		return status;
	want.tile = ref;
	want.bound = cli_try_alloc(c, t->span * sizeof *want.bound);
	if (!want.bound)
		return cli_error(EXIT_TROUBLE, "out of memory for %s", text);
	for (each_start(&w, t); !w.done; each_next(&w))
		want.bound[w.at] = tolerance * (1 + fabs(hexc_get(t->type, ref, w.at)));
	return run_judge(&want, data);
}

int
run_expect(Cli *c, const Args *a, bool device)
{
	int status = 0;

	for (int i = 0; i < c->narg; i++) {
		const char *s = c->arg[i].value, *eq;
		const Tensor *t;
		int one;

		if (c->arg[i].opt != CLI_expect)
			continue;
		eq = strchr(s, '=');
		t = eq ? args_find(a, s, (size_t)(eq - s)) : NULL;
		if (!t || t->info.kind != HEXC_POINTER)
			return cli_error(EXIT_USAGE,
			                 "--expect: expected NAME=@FILE[:TOLERANCE] with the name of a "
			                 "tensor, got '%s'", s);
		one = expect(c, t, device ? t->device : t->tile, eq + 1);
		status = one ? one : status;
	}
	return status;
}

/* ---- --values --------------------------------------------------------------------------------- */

/* A line is `ID OP BLOCK LINE:COLUMN TYPE COUNT ODD SUM NORM`. ODD elements are not finite. Over the
 * others, SUM is the sum of w[e] * x[e], where w[e] is pseudo-random in -1 to 1 and the same in all runs,
 * and NORM is the root of the sum of x[e]^2. SUMs of two tiles that are equal except for rounding differ
 * by about the type's unit roundoff * NORM; if one element differs by d, they differ by |w * d|. */

/* Returns w[e]: splitmix64 (Steele, Lea, Flood 2014), whose upper 53 bits form a double. */
static double
weight(uint64_t e)
{
	uint64_t z = (e + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return (double)(z >> 11) * 0x1p-52 - 1;
}

void
values_add(Cli *c, CliText *to, const hexc_value *v)
{
	double sum = 0, square = 0;
	uint64_t odd = 0;
	char line[300];

	for (uint64_t e = 0; e < v->n; e++) {
		double x = v->f ? v->f[e] : (double)v->i[e];

		if (isfinite(x)) {
			sum += weight(e) * x;
			square += x * x;
		} else {
			odd++;
		}
	}
	snprintf(line, sizeof line,
	         "%" PRIu32 " %.40s %" PRIu64 " %" PRIu32 ":%" PRIu32 " %s %" PRIu64 " %" PRIu64 " %.17g "
	         "%.17g\n", v->id, v->op, v->block, v->line, v->col, v->dtype, v->n, odd, sum, sqrt(square));
	cli_append(c, to, line, strlen(line));
}
