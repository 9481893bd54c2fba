/* util_cuda.c - runs a table of CUDA kernels: builds arguments from their description, launches, checks the
 * results. */
#include <stdarg.h>
#include "test/sim/cuda/cuda.h"
#include "test/sim/nvcc.h"
#include "test/check.h"

static const struct Type { char name; unsigned bytes; bool real; } types[] = {
	{ 'b', 1, false }, { 'w', 2, false }, { 'i', 4, false }, { 'u', 4, false }, { 'l', 8, false },
	{ 'q', 8, false }, { 'h', 2, true }, { 'g', 2, true }, { 'f', 4, true }, { 'd', 8, true },
	{ 's', 1, false },
};

static const struct Type *
type_of(char name)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].name == name)
			return &types[i];
	ck_abort_msg("no type %c", name);
}

uint32_t
mix(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)((x ^ x >> 32) >> 16);
}

/* ---- numbers ---------------------------------------------------------------------- */

/* Value of a float with `m` bits of fraction and exponents of bias `b` (Inf and NaN as in IEEE). */
static double
small_value(unsigned h, int m, int b, int width)
{
	int e = (int)(h >> m) & ((1 << (width - 1 - m)) - 1), f = (int)(h & ((1u << m) - 1));
	double v;

	if (e == (1 << (width - 1 - m)) - 1)
		v = f ? (double)NAN : (double)INFINITY;
	else
		v = e ? ldexp((1 << m) + f, e - b - m) : ldexp(f, 1 - b - m);
	return h >> (width - 1) & 1 ? -v : v;
}

static unsigned
small_of(double v, int m, int b, int width)
{
	unsigned sign = signbit(v) ? 1u << (width - 1) : 0, top = (1u << (width - 1)) - (1u << m);
	int e;
	double n;

	if (isnan(v))
		return top | 1u << (m - 1);
	if (isinf(v))
		return sign | top;
	frexp(v, &e);
	e = v == 0 || e - 1 < 1 - b ? 1 - b : e - 1;
	n = nearbyint(ldexp(fabs(v), m - e));  /* in units of the last place, ties to even */
	n += ldexp(e - (1 - b), m);            /* a carry moves into the exponent by itself */
	return sign | (n >= top ? top : (unsigned)n);
}

double value_f16(uint16_t h) { return small_value(h, 10, 15, 16); }
uint16_t nearest_f16(double v) { return (uint16_t)small_of(v, 10, 15, 16); }
double value_bf16(uint16_t h) { return small_value(h, 7, 127, 16); }
uint16_t nearest_bf16(double v) { return (uint16_t)small_of(v, 7, 127, 16); }

double
ulp(double x, int p)
{
	int e, low = p == 53 ? -1074 : -149;

	if (!isfinite(x) || x == 0)
		return ldexp(1, low);
	frexp(x, &e);
	return ldexp(1, e - p < low ? low : e - p);
}

static double
value(const Arg *a, Data d, size_t i)
{
	switch (a->type) {
	case 'w': return d.w[i];
	case 'i': return d.i[i];
	case 'u': return d.u[i];
	case 'l': return (double)d.l[i];
	case 'q': return (double)d.q[i];
	case 'h': return value_f16(d.w[i]);
	case 'g': return value_bf16(d.w[i]);
	case 'f': return (double)d.f[i];
	case 'd': return d.d[i];
	default: return d.b[i];
	}
}

double before(const Run *r, unsigned a, size_t i) { return value(&r->a[a], r->a[a].in, i); }
double after(const Run *r, unsigned a, size_t i) { return value(&r->a[a], r->a[a].out, i); }

static int64_t
integer(const Arg *a, Data d, size_t i)
{
	switch (type_of(a->type)->bytes) {
	case 1: return d.b[i];
	case 2: return d.w[i];
	case 4: return a->type == 'i' ? d.i[i] : (int64_t)d.u[i];
	default: return d.l[i];
	}
}

int64_t scalar(const Run *r, unsigned a) { return integer(&r->a[a], r->a[a].in, 0); }

static void
set(const Arg *a, size_t i, double v)
{
	switch (a->type) {
	case 'w': a->in.w[i] = (uint16_t)v; break;
	case 'i': a->in.i[i] = (int32_t)v; break;
	case 'u': a->in.u[i] = (uint32_t)v; break;
	case 'l': a->in.l[i] = (int64_t)v; break;
	case 'q': a->in.q[i] = (uint64_t)v; break;
	case 'h': a->in.w[i] = nearest_f16(v); break;
	case 'g': a->in.w[i] = nearest_bf16(v); break;
	case 'f': a->in.f[i] = (float)v; break;
	case 'd': a->in.d[i] = v; break;
	default: a->in.b[i] = (uint8_t)v; break;
	}
}

void put(Run *r, unsigned a, size_t i, double v) { set(&r->a[a], i, v); }

/* ---- judgement -------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
wrong(Run *r, const char *fmt, ...)
{
	va_list ap;
	size_t at = strlen(r->say);

	if (r->wrong++ >= 6)
		return;
	va_start(ap, fmt);
	vsnprintf(r->say + at, r->say_size - at, fmt, ap);
	va_end(ap);
}

static Arg *
judge(Run *r, unsigned a, size_t i)
{
	ck_assert_msg(a < r->nargs && r->a[a].judged && i < r->a[a].n, "%s: no output %u[%zu]",
	              r->c->kernel, a, i);
	ck_assert_msg(!r->a[a].judged[i], "%s: output %u[%zu] is judged twice", r->c->kernel, a,
	              i);
	r->a[a].judged[i] = 1;
	return &r->a[a];
}

void
same(Run *r, unsigned a, size_t i, int64_t want)
{
	Arg *arg = judge(r, a, i);
	int64_t got = integer(arg, arg->out, i);
	unsigned bits = 8 * type_of(arg->type)->bytes;

	if (((uint64_t)got ^ (uint64_t)want) << (64 - bits))
		wrong(r, "  argument %u[%zu] is %lld (%#llx), should be %lld (%#llx)\n", a, i,
		      (long long)got, (unsigned long long)got, (long long)want, (unsigned long long)want);
}

void
near(Run *r, unsigned a, size_t i, double want, double tol)
{
	Arg *arg = judge(r, a, i);
	double got = value(arg, arg->out, i);

	if ((isnan(got) && isnan(want)) || (tol > 0 && fabs(got - want) <= tol) ||
	    (got == want && (tol > 0 || signbit(got) == signbit(want))))
		return;
	wrong(r, "  argument %u[%zu] is %.17g, should be %.17g within %.3g: off by %.3g\n", a, i, got, want,
	      tol, fabs(got - want));
}

/* ---- arguments and launch --------------------------------------------------------- */

static void
fill(Arg *a, const char *spec, uint64_t seed)
{
	const struct Type *t = type_of(a->type);
	double low = -1, high = 1;
	char *end;

	if (*spec == ':') {
		low = high = strtod(spec + 1, &end);
		if (*end == ',')
			high = strtod(end + 1, &end);
		ck_assert_msg(!*end || *end == ' ', "bad range %s", spec);
	} else if (!t->real) {
		for (size_t i = 0; i < (size_t)a->n * t->bytes; i++)
			a->in.b[i] = (uint8_t)mix(seed + i);
		return;
	}
	for (size_t i = 0; i < a->n; i++) {
		double x = ((double)mix(seed + i) + 0.5) / 4294967296.0;
		set(a, i, t->real ? low + x * (high - low) : floor(low + x * (high - low + 1)));
	}
}

static void
parse_args(Run *r)
{
	uint64_t seed = 0;

	for (const char *p = r->c->kernel; *p; p++)
		seed = mix(seed << 8 | (uint8_t)*p);
	for (const char *p = r->c->args; *p;) {
		Arg *a = &r->a[r->nargs];
		const struct Type *t;
		char *end;
		double v;

		ck_assert_msg(r->nargs < CUDA_ARGS && strchr("<>+~=", p[0]), "%s: bad argument %s",
		              r->c->kernel, p);
		a->role = p[0];
		a->type = p[1];
		t = type_of(a->type);
		v = strtod(p + 2, &end);
		a->n = a->role == '=' && a->type != 's' ? 1 : (uint32_t)v;
		a->in.any = calloc(a->n, t->bytes < 8 ? 8 : t->bytes);
		if (a->role == '=' && a->type != 's')
			set(a, 0, v);
		if (a->role == '<' || a->role == '+')
			fill(a, end, seed + (uint64_t)r->nargs * 0x100000000u);
		if (a->role == '>' || a->role == '+')
			a->judged = calloc(a->n, 1);
		r->nargs++;
		for (p = end; *p && *p != ' '; p++)
			;
		p += *p == ' ';
	}
}

static void
upload(Run *r)
{
	char name[20];

	for (unsigned k = 0; k < r->nargs; k++) {
		Arg *a = &r->a[k];
		size_t bytes = (size_t)a->n * type_of(a->type)->bytes;

		if (a->role == '=')
			continue;
		snprintf(name, sizeof name, "argument %u", k);
		a->addr = sim_alloc(r->s, bytes, name);
		if (a->role != '>')
			ck_assert_int_eq(sim_write(r->s, a->addr, a->in.any, bytes), SIM_OK);
	}
}

/* Compare and report.  Outputs that nobody judged mean a check function with a hole. */
static void
verdict(Run *r, const char *target)
{
	for (unsigned k = 0; k < r->nargs; k++)
		for (size_t i = 0; r->a[k].judged && i < r->a[k].n; i++)
			ck_assert_msg(r->a[k].judged[i], "%s: output %u[%zu] is not judged", r->c->kernel, k,
			              i);
	ck_assert_msg(r->wrong == 0, "%s, %s: %u wrong\n%s", r->c->kernel, target, r->wrong, r->say);
}

static void
run_case(const Case *c, const Variant *v, const char *target, const char *ptx, unsigned threads)
{
	static char say[4000];          /* Check runs each case in a process of its own */
	const sim_launch init = SIM_LAUNCH_INIT;
	const void *args[CUDA_ARGS];
	Run r = { .c = c, .sm = v->sm, .fast = strstr(v->flags, "fast_math") != NULL };
	sim_result *res;
	int rc;

	*say = '\0';
	r.say = say;
	r.say_size = sizeof say;
	r.s = sim_open();
	r.m = must_load(r.s, ptx);
	r.l = init;
	for (int i = 0; i < 3; i++) {
		r.l.grid[i] = c->grid[i] ? c->grid[i] : 1;
		r.l.block[i] = c->block[i] ? c->block[i] : 1;
	}
	r.l.cluster[0] = c->cluster;
	r.l.cluster[1] = r.l.cluster[2] = c->cluster ? 1 : 0;
	r.l.smem = c->smem;
	r.l.threads = threads;
	r.l.max_steps = 200000000;
	parse_args(&r);
	upload(&r);
	if (c->prepare) {
		c->prepare(&r);
		for (unsigned k = 0; k < r.nargs; k++)
			if (r.a[k].role != '=' && r.a[k].role != '>')
				sim_write(r.s, r.a[k].addr, r.a[k].in.any,
				          (size_t)r.a[k].n * type_of(r.a[k].type)->bytes);
	}
	for (unsigned k = 0; k < r.nargs; k++)
		args[k] = r.a[k].role == '=' ? r.a[k].in.any : &r.a[k].addr;
	r.l.args = args;
	rc = sim_run(r.s, r.m, c->kernel, &r.l, &res);
	if (rc != SIM_OK) {
		fprintf(stderr, "%s, %s: %s %s\n", c->kernel, target, sim_strerror(rc), sim_result_text(res));
		print_faults(res);
	}
	ck_assert_msg(rc == SIM_OK, "%s, %s: %s %s", c->kernel, target, sim_strerror(rc),
	              sim_result_text(res));
	r.st = sim_stats_of(res);
	for (unsigned k = 0; k < r.nargs; k++) {
		size_t bytes = (size_t)r.a[k].n * type_of(r.a[k].type)->bytes;
		if (r.a[k].role == '=')
			continue;
		r.a[k].out.any = calloc(bytes, 1);
		sim_read(r.s, r.a[k].addr, r.a[k].out.any, bytes);
	}
	c->check(&r);
	verdict(&r, target);
	if (getenv("V"))
		printf("%-24s %-24s %.3f s\n", c->kernel, target, r.st->seconds);
	for (unsigned k = 0; k < r.nargs; k++) {
		free(r.a[k].in.any);
		free(r.a[k].out.any);
		free(r.a[k].judged);
	}
	sim_result_free(res);
	sim_close(r.s);
}

/* ---- a test program --------------------------------------------------------------- */

enum { MAXTARGETS = 12, MAXRUNS = 600 };
static struct Todo { const Case *c; unsigned target; } todo[MAXRUNS];
static Variant target[MAXTARGETS];
static char target_name[MAXTARGETS][60];
static char *ptx[MAXTARGETS];

static int nrun;

int
cuda_runs(void)
{
	return nrun;
}

void
cuda_run(int i)
{
	const struct Todo *t = &todo[i];

	run_case(t->c, &target[t->target], target_name[t->target], ptx[t->target], 1 + t->target % 2);
}

/* No words are given, or one of them is this. */
static bool
asked(int argc, char **argv, const char *word, bool target_word)
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (target_word != !strncmp(argv[i], "sm_", 3))
			continue;
		if (!strcmp(argv[i], word))
			return true;
		any = true;
	}
	return !any;
}

int
cuda_start(int argc, char **argv, const char *file, int from, const Case *cases, unsigned n,
           const Variant *variants, unsigned nvariants)
{
	static const int plain[] = { 75, 80, 89, 90 };
	unsigned ntargets = 0;

	if (!nvcc_here()) {
		puts("nvcc is not installed");
		return SKIPPED;
	}
	for (unsigned i = 0; i < 4 + nvariants; i++) {
		Variant v = { i < 4 ? plain[i] : variants[i - 4].sm, i < 4 ? "" : variants[i - 4].flags };
		char *name = target_name[ntargets];

		snprintf(name, sizeof *target_name, "%s%s%s", sm_name(v.sm), *v.flags ? " " : "", v.flags);
		if (v.sm >= from && nvcc_knows(v.sm) && ntargets < MAXTARGETS &&
		    asked(argc, argv, name, true))
			target[ntargets++] = v;
	}
	if (!nvcc_compile(file, target, ntargets, ptx))
		return EXIT_FAILURE;
	for (unsigned k = 0; k < n; k++)
		for (unsigned t = 0; t < ntargets && nrun < MAXRUNS; t++)
			if (target[t].sm >= cases[k].from && asked(argc, argv, cases[k].kernel, false))
				todo[nrun++] = (struct Todo){ &cases[k], t };
	return RUN_TESTS;
}
