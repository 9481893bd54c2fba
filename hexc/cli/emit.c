/* emit.c - hexc --emit-ptx. */
#include "hexc/cli/json.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMED_RUNS = 15, PARTS_MAX = 64 };

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof *x, by_value);
	return x[n / 2];
}

/* Compile again and again in this process, as an engine does: medians of the whole and of its parts. */
static int
show_times(CliProgram *p, const hexc_module *first, double first_ms)
{
	double all[TIMED_RUNS], part[PARTS_MAX][TIMED_RUNS];
	hexc_module *m;

	p->opts.dump = NULL;
	if (hexc_configure(p->ctx, &p->opts) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "out of memory");
	for (int r = 0; r < TIMED_RUNS; r++) {
		double t = now_ms();
		if (hexc_compile(&m, p->ctx, p->path, p->src, p->n) != HEXC_OK)
			return cli_error(EXIT_TROUBLE, "compiling once more failed");
		all[r] = now_ms() - t;
		for (size_t i = 0; i < PARTS_MAX; i++)
			if (!hexc_time(m, i, &part[i][r]))
				break;
		hexc_module_free(m);
	}
	fprintf(stderr, "first compile  %9.3f ms\n", first_ms);
	fprintf(stderr, "then           %9.3f ms  median of %d\n", median(all, TIMED_RUNS), (int)TIMED_RUNS);
	for (size_t i = 0; i < PARTS_MAX && hexc_time(first, i, NULL); i++)
		fprintf(stderr, "  %-12s %9.3f ms\n", hexc_time(first, i, NULL), median(part[i], TIMED_RUNS));
	return 0;
}

static int
write_results(Cli *c, CliProgram *p, const hexc_module *m, double ms)
{
	const char *to = cli_get(c, CLI_o), *manifest = cli_get(c, CLI_manifest);
	const char *arch = p->opts.arch ? p->opts.arch : "sm_80", *ptx;
	size_t n;
	int status = 0;

	ptx = hexc_ptx(m, &n);
	if (!p->opts.stop)
		status = cli_write(c, to ? to : "-", ptx, n);
	if (!status && manifest)
		status = json_write(c, manifest, json_manifest(m, arch, hexc_build_info()));
	if (!status && cli_has(c, CLI_time))
		status = show_times(p, m, ms);
	return status;
}

int
cli_emit(Cli *c)
{
	CliProgram p;
	hexc_module *m = NULL;
	int status = cli_open(c, 0, NULL, &p);
	double t = now_ms();

	if (!status)
		status = cli_build(&p, &m);
	if (!status)
		status = write_results(c, &p, m, now_ms() - t);
	hexc_module_free(m);
	cli_close(&p);
	return status;
}
