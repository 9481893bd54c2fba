/* gen.c - writes a random valid tile program to standard output: gen SEED, the same for the same seed on
 * every machine. The first line specifies the arguments of the run, the second the GPU. gen SEED loops: a
 * program of MMA loops. */
#include "gen.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
below(Gen *g, int n)
{
	uint64_t z = g->rng += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (int)((z ^ z >> 31) % (uint64_t)n);
}

bool
chance(Gen *g, int percent)
{
	return below(g, 100) < percent;
}

static void
vput(Text *t, const char *fmt, va_list ap)
{
	int n = vsnprintf(t->s + t->n, (size_t)(TEXT - t->n), fmt, ap);

	if (n < 0 || n >= TEXT - t->n)
		exit(2);
	t->n += n;
}

void
put(Text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vput(t, fmt, ap);
	va_end(ap);
}

void
line(Gen *g, const char *fmt, ...)
{
	va_list ap;

	for (int i = 0; i <= g->depth; i++)
		put(&g->body, "    ");
	va_start(ap, fmt);
	vput(&g->body, fmt, ap);
	va_end(ap);
	put(&g->body, "\n");
}

const char *
dt_name(Dt t)
{
	static const char *const name[NDT] = {
		"f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u4",
		"i4", "bool"
	};

	return name[t];
}

bool
is_float(Dt t)
{
	return t <= F64;
}

bool
is_arith(Dt t)
{
	return t <= I64;
}

double
dt_max(Dt t)
{
	static const double max[NDT] = { 20000, 1e6, 1e6, 1e6, 128, 255, 32768, 65535, 2147483648.0,
		                         4294967295.0, 9223372036854775808.0, 15, 8, 1 };

	return max[t];
}

double
dt_whole(Dt t)
{
	return t == F16 ? 2048 : t == BF16      ? 256
	                 : t == F32 || t == F64 ? 16777216
	                                        : dt_max(t);
}

Val *
new_val(Gen *g, Dt t, int rank, const int *e)
{
	Val *v = &g->val[g->nval++];

	if (g->nval == MAX_VAL)
		exit(2);
	memset(v, 0, sizeof *v);
	snprintf(v->name, sizeof v->name, "v%d", g->nname++);
	v->t = t;
	v->rank = rank;
	for (int d = 0; d < rank; d++)
		v->e[d] = e[d];
	return v;
}

void
fit(Val *v)
{
	if (!is_float(v->t)) {
		v->whole = true;
		if (v->mag > dt_max(v->t))
			v->mag = dt_max(v->t);
	} else if (v->mag > dt_whole(v->t)) {
		v->whole = false;
	}
}

int
elements(const Val *v)
{
	int n = 1;

	for (int d = 0; d < v->rank; d++)
		n *= v->e[d];
	return n;
}

int
extent(Gen *g)
{
	static const int some[] = {
		1, 2, 4, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 24, 48, 96, 128
	};
	static const int odd[] = { 3, 5, 6, 7, 9, 12, 20, 25, 33, 40, 50, 72, 200 };

	if (chance(g, 12))
		return odd[below(g, (int)(sizeof odd / sizeof odd[0]))];

	return some[below(g, (int)(sizeof some / sizeof some[0]))];
}

/* Values that nothing reads yet are taken first, mostly: what nothing reads is not compiled. */
Val *
pick(Gen *g, bool (*want)(const Val *, const void *), const void *with)
{
	Val *found = NULL;
	int n = 0;

	for (int i = 0; i < g->nval; i++) {
		Val *v = &g->val[i];
		if ((v->var && i >= g->busy) || (want && !want(v, with)))
			continue;
		n += v->used ? 1 : 10;
		if (below(g, n) < (v->used ? 1 : 10))
			found = v;
	}
	if (found)
		found->used = true;
	return found;
}

const char *
dims(const Val *v, char *to)
{
	int n = 0;

	for (int d = 0; d < v->rank; d++)
		n += sprintf(to + n, d ? ", %d" : "%d", v->e[d]);
	return to;
}

static void
statement(Gen *g)
{
	int r = below(g, 100);

	if (r < 3)
		ring(g);
	else if (r < 5)
		ahead(g);
	else if (r < 15)
		chance(g, 25) ? turns(g) : loop(g);
	else if (r < 20)
		branch(g);
	else if (r < 22)
		atomic(g);
	else if (r < 24)
		store_steps(g);
	else if (r < 32 && g->nval)
		store(g, pick(g, NULL, NULL));
	else
		operation(g);
}

/* Of the launch; 64 are possible. */
static int
params(const Gen *g)
{
	return g->nin + g->nout + g->nsize;
}

static void
print(const Gen *g, const char *arch, int warps, const char *grid)
{
	printf("// run:%s\n", g->args.s);
	printf("// arch: %s\n", arch);
	fputs(functions, stdout);
	printf("kernel random(%s)\n", g->params.s + 2);
	printf("    const WARPS = %d\n%s{\n", warps, g->assumes.s);
	printf("    grid(%s);\n%s}\n", grid, g->body.s);
}

static void
program(Gen *g)
{
	static const int warps[] = { 1, 2, 4, 4, 8, 8, 3, 6, 16, 12 };
	const char *arch;
	char grid[40];
	int n = 2 + below(g, 9);

	g->grid[0] = 1 + below(g, 3);
	g->grid[1] = chance(g, 40) ? 1 + below(g, 2) : 1;
	g->busy = MAX_VAL;
	for (int i = 0; i < n && params(g) < 40; i++)
		statement(g);
	for (int i = 0; i < g->nval; i++)
		if (params(g) < 58 && !g->val[i].used && (chance(g, 80) || g->val[i].var))
			store(g, &g->val[i]);
	while (!g->nout)
		g->nval ? store(g, pick(g, NULL, NULL)) : (void)operation(g);
	arch = (const char *[]){ "sm_75", "sm_80", "sm_90a" }[below(g, 3)];
	snprintf(grid, sizeof grid, "%d, %d", g->grid[0], g->grid[1]);
	print(g, arch, warps[below(g, 10)], grid);
}

static void
program_of_loops(Gen *g)
{
	static const char *const arch[] = { "sm_90a", "sm_90a",  "sm_90a", "sm_90a",
		                            "sm_80",  "sm_100a", "sm_120a" };
	static const int warps[] = { 4, 4, 8, 2, 1 };
	const char *a = arch[below(g, 7)];
	char grid[40];
	int w = warps[below(g, 5)];

	loops(g, grid, sizeof grid);
	print(g, a, w, grid);
}

int
main(int argc, char **argv)
{
	static Gen g;

	if (argc != 2 && (argc != 3 || strcmp(argv[2], "loops") != 0)) {
		fprintf(stderr, "usage: gen SEED [loops]\n");
		return 2;
	}
	g.rng = strtoull(argv[1], NULL, 10) * 0x632be59bd9b4e019;
	(argc == 3 ? program_of_loops : program)(&g);
	return 0;
}
