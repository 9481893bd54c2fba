/* run_gpu.c - runs a compiled kernel on a GPU through hexc_gpu.h, as a host would. */
#include "hexc/cli/run.h"
#include <stdlib.h>
#include <string.h>

enum { REPEAT_MAX = 1000000, LINE_MAX_BYTES = 1 << 20 };

/* State of a launch. */
typedef struct GpuLaunch {
	hexc_gpu *g;
	hexc_gpu_module *module;
	const Args *a;
	hexc_arg *arg; /* with device addresses */
	int64_t repeat;
	double *us; /* [repeat], ascending */
} GpuLaunch;

/* Prints what failed on the GPU. */
static int
trouble(const GpuLaunch *l, int code)
{
	const char *why = hexc_gpu_why(l->g);

	if (code == HEXC_E_FAULT)
		return cli_error(EXIT_WRONG, "kernel failed on the GPU: %s; rerun with --exec=sim to "
					     "locate the fault",
		                 why);
	return cli_error(code == HEXC_E_ARGS ? EXIT_INPUT : EXIT_TROUBLE, "GPU: %s",
	                *why ? why : hexc_strerror(code));
}

static int
send_tensors(Cli *c, GpuLaunch *l)
{
	for (int i = 0; i < l->a->n; i++) {
		const Tensor *t = &l->a->t[i];
		const unsigned char *data;
		uint64_t bytes;
		int status, code;

		if (t->info.kind != HEXC_POINTER)
			continue;
		status = launch_form(c, l->a, i, &data, &bytes);
		if (status)
			return status;
		code = hexc_gpu_alloc(l->g, bytes, &l->arg[i].ptr);
		if (code == HEXC_OK)
			code = hexc_gpu_write(l->g, l->arg[i].ptr, data, bytes);
		if (code)
			return trouble(l, code);
		l->arg[i].bytes = bytes;
	}
	return 0;
}

static int
read_gpu(void *user, int i, void *to, uint64_t bytes)
{
	const GpuLaunch *l = user;
	int code = hexc_gpu_read(l->g, to, l->arg[i].ptr, bytes);

	return code == HEXC_OK ? 0 : trouble(l, code);
}

static int
by_size(const void *p, const void *q)
{
	double x = *(const double *)p, y = *(const double *)q;

	return (x > y) - (x < y);
}

/* --repeat: after the results were read; tensors that the kernel updates keep changing. */
static int
measure(Cli *c, GpuLaunch *l)
{
	bool warm = cli_has(c, CLI_warm);
	int code;

	if (l->repeat == 0)
		return 0;
	l->us = cli_alloc(c, sizeof *l->us * (size_t)l->repeat);
	code = hexc_gpu_time(l->module, l->a->kernel, l->arg, (uint32_t)l->repeat, warm, l->us);
	if (code)
		return trouble(l, code);
	qsort(l->us, (size_t)l->repeat, sizeof *l->us, by_size);
	printf("time: median %.2f us, %.2f to %.2f, of %lld launches, the L2 cache %s\n",
	       l->us[l->repeat / 2], l->us[0], l->us[l->repeat - 1], (long long)l->repeat,
	       warm ? "as the one before left it" : "overwritten before each");
	return 0;
}

static int
write_stats(Cli *c, const GpuLaunch *l)
{
	const char *path = cli_get(c, CLI_stats);
	hexc_gpu_info g = HEXC_GPU_INFO_INIT;
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	uint32_t grid[3];
	cJSON *o;

	if (!path)
		return 0;
	hexc_gpu_describe(l->g, &g);
	hexc_kernel(l->a->m, l->a->kernel, &k);
	hexc_grid(l->a->m, l->a->kernel, l->arg, grid);
	o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "entry", k.name);
	cJSON_AddStringToObject(o, "gpu", g.name);
	cJSON_AddNumberToObject(o, "capability", g.capability);
	cJSON_AddNumberToObject(o, "driver", g.driver);
	cJSON_AddNumberToObject(o, "candidate", k.candidate);
	cJSON_AddItemToObject(o, "grid", json_dims(grid));
	cJSON_AddItemToObject(o, "block", json_dims(k.block));
	if (l->repeat) {
		cJSON *times = cJSON_AddArrayToObject(o, "us");

		cJSON_AddNumberToObject(o, "median_us", l->us[l->repeat / 2]);
		for (int64_t i = 0; i < l->repeat; i++)
			cJSON_AddItemToArray(times, cJSON_CreateNumber(l->us[i]));
	}
	return json_write(c, path, o);
}

static int
launch(Cli *c, GpuLaunch *l, Args *a)
{
	int status = send_tensors(c, l), code;

	if (status)
		return status;
	code = hexc_gpu_launch(l->module, a->kernel, l->arg);
	if (code == HEXC_OK)
		code = hexc_gpu_wait(l->g);
	if (code)
		return trouble(l, code);
	status = launch_results(c, a, read_gpu, l);
	if (!status)
		status = measure(c, l);
	return status ? status : write_stats(c, l);
}

int
run_gpu(Cli *c, Args *a, hexc_gpu *g)
{
	const char *repeat = cli_get(c, CLI_repeat);
	GpuLaunch l = { .g = g, .a = a };
	int status, code;

	if (repeat && (!cli_int(repeat, &l.repeat) || l.repeat < 1 || l.repeat > REPEAT_MAX))
		return cli_error(EXIT_USAGE, "--repeat: expected a number from 1 to %d, got '%s'", REPEAT_MAX,
		                 repeat);
	l.arg = cli_alloc(c, sizeof *l.arg * (size_t)(a->n + 1));
	memcpy(l.arg, a->arg, sizeof *l.arg * (size_t)a->n);
	for (int i = 0; i < a->n; i++)
		l.arg[i].ptr = NULL; /* the interpreter's pointers are host addresses */
	code = hexc_gpu_load(g, a->m, &l.module);
	if (code)
		return trouble(&l, code);
	status = launch(c, &l, a);
	hexc_gpu_unload(l.module);
	for (int i = 0; i < a->n; i++)
		if (a->t[i].info.kind == HEXC_POINTER)
			hexc_gpu_free(g, l.arg[i].ptr);
	return status;
}

/* ---- hexc measure ----------------------------------------------------------------------------- */

/* Server mode: one process keeps the GPU open and executes requests line by line. A line of standard input
 * is `run` and the words of a `hexc run`, separated by tabs; --exec is gpu. The answer on standard output
 * is what it prints, followed by a line "\004" STATUS. A faulting kernel may have corrupted the context
 * for later ones, so the process exits after such an answer. */

/* Splits a line into words, in memory of c. */
static int
split(Cli *c, char *line, char ***out)
{
	char **word;
	int n = 1, i = 0;

	for (const char *p = line; *p; p++)
		n += *p == '\t';
	word = cli_alloc(c, sizeof *word * (size_t)n);
	for (char *p = line; p; p = strchr(p, '\t')) {
		if (i)
			*p++ = 0;
		word[i++] = p;
	}
	*out = word;
	return n;
}

static int
run_line(char *line, hexc_gpu *g)
{
	char **word;
	Cli c;
	int n, status;

	memset(&c, 0, sizeof c);
	c.command = 'R';
	n = split(&c, line, &word);
	status = cli_parse(&c, n, word);
	if (!status)
		status = cli_outputs(&c);
	if (!status)
		status = run_on(&c, g);
	cli_free(&c);
	return status;
}

int
cli_measure(Cli *c)
{
	char *line = cli_alloc(c, LINE_MAX_BYTES), why[400] = "";
	hexc_gpu *g = NULL;
	int status = 0;

	if (c->nfile)
		return cli_error(EXIT_USAGE, "measure reads its commands from standard input; unexpected "
		                             "'%s'",
		                 c->file[0]);
	if (hexc_gpu_open(&g, 0, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "measure: %s", why);
	while (!status && fgets(line, LINE_MAX_BYTES, stdin)) {
		size_t n = strcspn(line, "\n");
		int found;

		if (!line[n]) {
			status = cli_error(EXIT_USAGE, "measure: line too long");
			break;
		}
		line[n] = 0;
		found = run_line(line, g);
		printf("\004%d\n", found);
		status = cli_flush();
		if (found == EXIT_WRONG || found == EXIT_TROUBLE)
			break;
	}
	hexc_gpu_close(g);
	return status;
}
