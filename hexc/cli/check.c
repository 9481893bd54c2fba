/* check.c - comparing a result with the tile interpreter's.
 *
 * Every element x of the result must be within bound of the interpreter's t, where bound is what
 * hexc_run_tile computes along with t: the farthest that any correct execution may be, from the types'
 * roundoffs, the number of terms and the magnitudes in this very run.  Where nothing may differ (integers,
 * elementwise arithmetic, sums of small integers) it is 0 and the result must be equal.  An element that the
 * program does not write, of a tensor that is not read, is nothing that could be right.
 *
 * Where no bound is known, floats are held against what some runs of the interpreter give in which every
 * rounding is another one: an estimate, no proof (estimate.c).  Wrong is then what is further off than runs
 * with far larger errors. */
#include "hexc/cli/run.h"
#include <math.h>

typedef struct Verdict {
	uint64_t n, wrong, unjudged, estimated, unwritten;
	double abs, rel;          /* largest errors */
	double share;             /* largest error / bound */
	int64_t at[HEXC_MAX_RANK];  /* of the largest absolute error */
	int64_t bad[HEXC_MAX_RANK]; /* of the first wrong element */
	double bad_x, bad_t, bad_bound;
	bool by_runs;               /* bad_bound is no bound, but as far as runs have come */
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
	if (bound == BOUND_UNWRITTEN) /* nor may anybody else */
		bound = 0;
	if (err == 0) /* integers that differ where doubles do not */
		err = 1;
	if (!(err <= v->abs)) { /* NaN and infinity are large */
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
		if (!t->most || !isfinite(t->most[w->at]) || err <= fmax(t->most[w->at], t->estimate[w->at])) {
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
		       v->by_runs ? ", as far as runs with 64 times larger roundings come" : "");
		return EXIT_WRONG;
	}
	if (v->unjudged) {
		printf(": NOT JUDGED, no bound is known for %llu of %llu elements%s\n",
		       (unsigned long long)v->unjudged, (unsigned long long)v->n,
		       t->estimate ? ", which are further off than estimated" : "");
		return EXIT_UNJUDGED;
	}
	if (v->unwritten) {
		printf(": NOT JUDGED, the program leaves %llu of %llu elements unwritten\n",
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
