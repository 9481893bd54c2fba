/* emit.c - implements hexc --emit-ptx: writes PTX, a manifest and compile times. */
#include "hexc/cli/base/json.h"
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

/* Times of one compilation: the total, and its parts. */
typedef struct Run {
	double all, part[PARTS_MAX];
	const char *name[PARTS_MAX];
	size_t n;
} Run;

static int
by_all(const void *a, const void *b)
{
	return by_value(&((const Run *)a)->all, &((const Run *)b)->all);
}

static int
time_one(CliProgram *p, Run *r)
{
	hexc_module *m;
	double t = now_ms();

	if (hexc_compile(&m, p->ctx, p->path, p->src, p->n) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "compiling once more failed");
	r->all = now_ms() - t;
	for (const char *name; r->n < PARTS_MAX && (name = hexc_time(m, r->n, &r->part[r->n])); r->n++)
		r->name[r->n] = cli_printf(p->cli, "%s", name);
	hexc_module_free(m);
	return 0;
}

/* Compiles repeatedly in this process, as an engine does; prints the run with the median total, and its
 * parts, which add up to it. */
static int
show_times(CliProgram *p, double first_ms)
{
	Run *run = cli_alloc(p->cli, sizeof *run * TIMED_RUNS), *r = &run[TIMED_RUNS / 2];
	int status = 0;

	p->opts.dump = NULL;
	if (hexc_configure(p->ctx, &p->opts) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "out of memory");
	for (int i = 0; i < TIMED_RUNS && !status; i++)
		status = time_one(p, &run[i]);
	if (status)
		return status;
	qsort(run, TIMED_RUNS, sizeof *run, by_all);
	fprintf(stderr, "first compile  %9.3f ms\n", first_ms);
	fprintf(stderr, "then           %9.3f ms  median of %d\n", r->all, (int)TIMED_RUNS);
	for (size_t i = 0; i < r->n; i++)
		fprintf(stderr, "  %-22s %9.3f ms\n", r->name[i], r->part[i]);
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
		status = show_times(p, ms);
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
