/* compare_reference.c - compares a result with the tile interpreter's, for hexc run --check.
 *
 * Every element x of the result must be within bound of the interpreter's t. hexc_run_tile computes bound
 * along with t: the farthest that any correct execution may be, from the types' roundoffs, the number of
 * terms and the magnitudes of this run. It is 0, and the result must be equal, where nothing may differ
 * (integers, elementwise arithmetic, sums of small integers). Elements that the program never writes, of a
 * tensor that is not read, are not compared.
 *
 * Without a bound, floats are compared with interpreter runs that round differently: an estimate, no proof
 * (below). A result is wrong if it is further off than runs with far larger errors. */
#include "hexc/cli/run.h"
#include <math.h>

typedef struct Verdict {
	uint64_t n, wrong, unjudged, estimated, unwritten;
	double abs, rel;          /* largest errors */
	double share;             /* largest error / bound */
	int64_t at[HEXC_MAX_RANK];  /* index of the largest absolute error */
	int64_t bad[HEXC_MAX_RANK]; /* index of the first wrong element */
	double bad_x, bad_t, bad_bound;
	bool by_runs;               /* bad_bound is not a bound, but the largest error of noisy runs */
} Verdict;

static void
copy_index(int64_t *to, const Each *w)
{
	for (int d = 0; d < HEXC_MAX_RANK; d++)
		to[d] = w->index[d];
}

static void
print_index(const int64_t *at, uint32_t rank)
{
	putchar('[');
	for (uint32_t d = 0; d < rank; d++)
		printf(d ? ",%lld" : "%lld", (long long)at[d]);
	putchar(']');
}

static bool
same(const Tensor *t, const unsigned char *x, uint64_t at)
{
	double a, b;

	if (t->type->kind != 'f')
		return hexc_get_int(t->type, x, at) == hexc_get_int(t->type, t->tile, at);
	a = hexc_get(t->type, x, at);
	b = hexc_get(t->type, t->tile, at);
	return a == b || (isnan(a) && isnan(b));
}

static void
judge(Verdict *v, const Tensor *t, const unsigned char *data, const Each *w)
{
	double x = hexc_get(t->type, data, w->at), r = hexc_get(t->type, t->tile, w->at);
	double bound = t->bound[w->at], err = fabs(x - r);

	v->n++;
	if (same(t, data, w->at)) {
		v->unwritten += bound == BOUND_UNWRITTEN;
		return;
	}
	if (bound == BOUND_UNWRITTEN) /* unwritten elements must not change */
		bound = 0;
	if (err == 0) /* integers that differ while their doubles are equal */
		err = 1;
	if (!(err <= v->abs)) { /* NaN and infinity count as large */
		v->abs = isnan(err) ? (double)INFINITY : err;
		copy_index(v->at, w);
	}
	if (r != 0 && !(err / fabs(r) <= v->rel))
		v->rel = isnan(err) ? (double)INFINITY : err / fabs(r);
	if (!(bound < (double)INFINITY)) {
		if (t->estimate && err <= t->estimate[w->at]) {
			v->estimated++;
			return;
		}
		if (!t->most || !isfinite(t->most[w->at]) ||
		    err <= fmax(t->most[w->at], t->estimate[w->at])) {
			v->unjudged++;
			return;
		}
	} else if (err <= bound) {
		v->share = err / bound > v->share ? err / bound : v->share;
		return;
	}
	if (v->wrong++ == 0) {
		copy_index(v->bad, w);
		v->bad_x = x;
		v->bad_t = r;
		v->by_runs = !(bound < (double)INFINITY);
		v->bad_bound = v->by_runs ? t->most[w->at] : bound;
	}
}

static int
report(const Tensor *t, const Verdict *v)
{
	printf("%s %s", t->info.name, t->type->name);
	print_index(t->dim, t->info.rank);
	printf(": largest absolute error %.4g", v->abs);
	if (v->abs > 0) {
		printf(" at ");
		print_index(v->at, t->info.rank);
	}
	printf(", largest relative error %.4g", v->rel);
	if (v->wrong) {
		printf(": WRONG, %llu of %llu elements\n", (unsigned long long)v->wrong,
		       (unsigned long long)v->n);
		printf("  %s", t->info.name);
		print_index(v->bad, t->info.rank);
		printf(" is %.9g, should be %.9g, within %.4g%s\n", v->bad_x, v->bad_t, v->bad_bound,
		       v->by_runs ? ", estimated from runs with 64 times larger rounding errors" : "");
		return EXIT_WRONG;
	}
	if (v->unjudged) {
		printf(": NOT CHECKED: no error bound for %llu of %llu elements%s\n",
		       (unsigned long long)v->unjudged, (unsigned long long)v->n,
		       t->estimate ? ", which exceed the estimated error" : "");
		return EXIT_UNJUDGED;
	}
	if (v->unwritten) {
		printf(": NOT CHECKED: the program leaves %llu of %llu elements unwritten\n",
		       (unsigned long long)v->unwritten, (unsigned long long)v->n);
		return EXIT_UNJUDGED;
	}
	if (v->estimated) {
		printf(": right by estimate, no bound is known for %llu of %llu elements\n",
		       (unsigned long long)v->estimated, (unsigned long long)v->n);
		return 0;
	}
	printf(v->abs > 0 ? " (%.2g of the bound): right\n" : ": right\n", v->share);
	return 0;
}

int
run_judge(const Tensor *t, const unsigned char *data)
{
	Verdict v = { 0 };
	Each w;

	for (each_start(&w, t); !w.done; each_next(&w))
		judge(&v, t, data, &w);
	return report(t, &v);
}

int
run_check(const Args *a, bool device)
{
	int status = 0, found;

	for (int i = 0; i < a->n; i++) {
		const Tensor *t = &a->t[i];
		if (t->info.kind != HEXC_POINTER || !t->info.written)
			continue;
		found = run_judge(t, device ? t->device : t->tile);
		if (found && status != EXIT_WRONG)
			status = found;
	}
	if (status == EXIT_UNJUDGED && a->lost[0])
		printf("  %s\n", a->lost);
	return status;
}

/* ---- estimates: how far a right result may be off where no bound is known ----------------------------- */

/* Estimates by runs of the tile interpreter with noise (hexc/interp/noise.c).
 *
 * Rounding errors are small: to first order, a result is off by a weighted sum of them. The sum of many
 * independent errors is about normal, around 0, with at most the deviation of the noise, which has each
 * error's maximum. Let s^2 be the mean square of the errors of RUNS noisy runs. A correct result's
 * distance divided by s then follows, at most, Student's t with RUNS degrees of freedom. The estimate is
 * the multiple of s that t exceeds with probability CHANCE in one of a tensor's n elements, CHANCE / n in
 * each: 9 times for one element, 15 for 256, 24 for 65,536.
 *
 * Results within the estimate are correct. A result is wrong if no rounding explains it: if RUNS more
 * runs, with LARGE times the allowed errors, do not deviate as far. A selection by rounded values, which
 * jumps, has jumped in one of these. Results in between are not judged.
 *
 * Source: W. S. Gosset (Student), "The probable error of a mean", Biometrika 6 (1908). */
enum { RUNS = 12, LARGE = 64 };
#define CHANCE 1e-6

/* Does an element without a bound differ by more than `within`? */
static bool
is_off(const Tensor *t, bool device, const double *within)
{
	const unsigned char *data = device ? t->device : t->tile;

	if (t->info.kind != HEXC_POINTER || !t->info.written || t->type->kind != 'f' || !t->bound)
		return false;
	for (uint64_t k = 0; k < t->span; k++)
		if (!(t->bound[k] < (double)INFINITY) &&
		    !(fabs(hexc_get(t->type, data, k) - hexc_get(t->type, t->tile, k)) <=
		      (within ? within[k] : 0)))
			return true;
	return false;
}

/* Returns the probability that Student's t with RUNS degrees of freedom, an even number, is further from 0
 * than `far` (M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 26.7.4). */
static double
student_past(double far)
{
	double angle = atan(far / sqrt(RUNS)), term = 1, sum = 1;

	for (int k = 1; k < RUNS / 2; k++) {
		term *= cos(angle) * cos(angle) * (2 * k - 1) / (2 * k);
		sum += term;
	}
	return 1 - sin(angle) * sum;
}

/* Returns how many deviations t exceeds with a probability of CHANCE / n; doubles represent probabilities
 * from 1e-13 on. */
static double
margin_of(uint64_t n)
{
	double chance = fmax(CHANCE / (double)(n ? n : 1), 1e-13), low = 1, high = 1000;

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if (student_past(mid) > chance)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* How runs accumulate the deviation `off` of an element, and the final value of the element. */
typedef struct Measure {
	double (*add)(double before, double off);
	double (*end)(double all, uint64_t n);
} Measure;

static double
square(double before, double off)
{
	return before + off * off;
}

static double
deviations(double all, uint64_t n)
{
	return sqrt(all / RUNS) * margin_of(n);
}

static double
larger(double before, double off)
{
	return off <= before ? before : off; /* a NaN stays */
}

static double
as_it_is(double all, uint64_t n)
{
	(void)n;
	return all;
}

static const Measure by_deviation = { square, deviations }, by_largest = { larger, as_it_is };

/* Executes RUNS runs with `times` as much noise, into `to` of each tensor that has one. *led: result code
 * of a run that failed, perhaps because noise changed its control flow. */
static int
measure_spread(Cli *c, Args *a, double *const *to, const Measure *by, double times, int *led)
{
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;

	o.noise_times = times;
	for (o.noise = 1; o.noise <= RUNS; o.noise++) {
		for (int i = 0; i < a->n; i++) {
			a->arg[i].bound = NULL;
			if (a->t[i].info.kind == HEXC_POINTER && a->t[i].info.written &&
			    !(a->arg[i].ptr = tensor_copy(c, &a->t[i])))
				return cli_error(EXIT_TROUBLE, "out of memory for %s", a->t[i].info.name);
		}
		*led = hexc_run_tile(a->m, a->kernel, a->arg, &o);
		if (*led)
			return 0;
		for (int i = 0; i < a->n; i++)
			for (uint64_t k = 0; to[i] && k < a->t[i].span; k++) {
				const Tensor *t = &a->t[i];

				to[i][k] = by->add(to[i][k], fabs(hexc_get(t->type, a->arg[i].ptr, k) -
				                                  hexc_get(t->type, t->tile, k)));
			}
	}
	for (int i = 0; i < a->n; i++)
		for (uint64_t k = 0; to[i] && k < a->t[i].span; k++)
			to[i][k] = by->end(to[i][k], a->t[i].span);
	return 0;
}

/* Measures the tensors with an element that is off; `large`: off by more than the estimate. */
static int
measure_off(Cli *c, Args *a, bool device, bool large)
{
	double *to[HEXC_MAX_PARAMS] = { NULL };
	bool any = false;
	int status, led = 0;

	for (int i = 0; i < a->n; i++) {
		Tensor *t = &a->t[i];

		if (!is_off(t, device, large ? t->estimate : NULL))
			continue;
		any = true;
		to[i] = cli_try_alloc(c, t->span * sizeof *to[i]);
		if (!to[i])
			return cli_error(EXIT_TROUBLE, "out of memory for %s", t->info.name);
	}
	if (!any)
		return 0;
	status = measure_spread(c, a, to, large ? &by_largest : &by_deviation, large ? LARGE : 1, &led);
	for (int i = 0; i < a->n && !status && !led; i++)
		*(large ? &a->t[i].most : &a->t[i].estimate) = to[i];
	return status;
}

int
run_estimate(Cli *c, Args *a, bool device)
{
	int status = measure_off(c, a, device, false);

	return status ? status : measure_off(c, a, device, true);
}
