/* expect.c - comparing a result with a file. */
#include "hexc/cli/run.h"
#include <math.h>
#include <string.h>

/* --expect NAME=@FILE[:TOLERANCE]: the words without the tolerance, which is 0 if none is there. */
static const char *
split_tolerance(Cli *c, const char *text, double *tolerance)
{
	const char *colon = strrchr(text, ':');

	*tolerance = 0;
	if (!colon || !cli_float(colon + 1, tolerance) || !(*tolerance >= 0))
		return text;
	return cli_strndup(c, text, (size_t)(colon - text));
}

/* The interpreter's place is taken by what is expected. */
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
			                 "--expect wants NAME=@FILE[:TOLERANCE] of a tensor, not '%s'", s);
		one = expect(c, t, device ? t->device : t->tile, eq + 1);
		status = one ? one : status;
	}
	return status;
}
