/* values.c - --values: a line on each value that the tile interpreter computes, short enough to compare all of them.
 *
 * A line is `ID OP BLOCK LINE:COLUMN TYPE COUNT ODD MEAN SIZE`: ODD elements are no finite numbers; of the others,
 * MEAN is the sum of w[e] * x[e], w[e] being pseudo-random in -1 to 1 and the same in all runs, and SIZE the root of
 * the sum of x[e]^2.  Two tiles that are equal but for roundings have MEANs that are about the type's unit roundoff *
 * SIZE apart; where one element differs by d, they are |w * d| apart. */
#include "hexc/cli/run.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of element e: splitmix64 (Steele, Lea, Flood 2014), whose upper 53 bits make a double. */
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
	double mean = 0, square = 0;
	uint64_t odd = 0;
	char line[300];

	for (uint64_t e = 0; e < v->n; e++) {
		double x = v->f ? v->f[e] : (double)v->i[e];

		if (isfinite(x)) {
			mean += weight(e) * x;
			square += x * x;
		} else {
			odd++;
		}
	}
	snprintf(line, sizeof line,
	         "%" PRIu32 " %.40s %" PRIu64 " %" PRIu32 ":%" PRIu32 " %s %" PRIu64 " %" PRIu64 " %.17g %.17g\n", v->id,
	         v->op, v->block, v->line, v->col, v->dtype, v->n, odd, mean, sqrt(square));
	cli_append(c, to, line, strlen(line));
}
