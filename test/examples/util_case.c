/* util_case.c - generates an example's data, launches it on the simulator and compares the result. */
#include "test/examples/util_case.h"
#include "test/examples/util_fault.h"
#include "test/examples/util_launch.h"
#include "test/util_file.h"
#include "test/util_map.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double
uniform(Case *c)
{
	uint64_t x = c->seed += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

void
case_start(Case *c, uint64_t seed)
{
	memset(c, 0, sizeof *c);
	c->seed = seed;
	c->sim = sim_open();
	ck_assert_ptr_nonnull(c->sim);
}

void
case_end(Case *c)
{
	for (int i = 0; i < c->nbuf; i++) {
		free(c->buf[i].v);
		free(c->buf[i].allow);
		free(c->buf[i].mem);
		free(c->buf[i].before);
	}
	sim_close(c->sim);
}

static Buf *
buf_new(Case *c, const char *name, const char *type, va_list ap)
{
	Buf *b = &c->buf[c->nbuf++];
	int64_t d;

	ck_assert_int_le(c->nbuf, BUF_MAX);
	b->name = name;
	b->type = hexc_dtype_find(type);
	ck_assert_msg(b->type != NULL, "no type %s", type);
	b->n = 1;
	while ((d = va_arg(ap, int)) != 0) {
		b->dim[b->rank++] = d;
		b->n *= d;
	}
	b->bytes = ((uint64_t)b->n * b->type->bits + 7) / 8;
	b->v = calloc((size_t)b->n, sizeof *b->v);
	b->mem = calloc(1, b->bytes + 8);
	ck_assert(b->v && b->mem);
	b->dev = sim_alloc(c->sim, b->bytes, name);
	ck_assert_uint_ne(b->dev, 0);
	return b;
}

void
buf_set(Buf *b, int64_t i, double x)
{
	hexc_put(b->type, b->mem, (uint64_t)i, x);
	b->v[i] = hexc_get(b->type, b->mem, (uint64_t)i);
}

void
buf_spoil(Buf *b, int64_t i, int64_t n)
{
	for (int64_t k = i; k < i + n; k++)
		buf_set(b, k, k % 3 ? NAN : k % 2 ? INFINITY : -INFINITY);
}

static void
fill(Case *c, Buf *b, double lo, double hi)
{
	for (int64_t i = 0; i < b->n; i++) {
		double x = uniform(c);
		buf_set(b, i, b->type->kind == 'f' ? lo + x * (hi - lo) : floor(lo + x * (hi - lo + 1)));
	}
}

static void
make_out(Buf *b)
{
	b->out = true;
	b->allow = calloc((size_t)b->n, sizeof *b->allow);
	ck_assert_ptr_nonnull(b->allow);
}

/* With random contents. */
static Buf *
filled(Case *c, const char *name, const char *type, double lo, double hi, va_list shape)
{
	Buf *b = buf_new(c, name, type, shape);

	fill(c, b, lo, hi);
	return b;
}

Buf *
case_in(Case *c, const char *name, const char *type, double lo, double hi, ...)
{
	va_list ap;
	Buf *b;

	va_start(ap, hi);
	b = filled(c, name, type, lo, hi, ap);
	va_end(ap);
	return b;
}

Buf *
case_inout(Case *c, const char *name, const char *type, double lo, double hi, ...)
{
	va_list ap;
	Buf *b;

	va_start(ap, hi);
	b = filled(c, name, type, lo, hi, ap);
	va_end(ap);
	make_out(b);
	b->before = malloc(b->bytes);
	ck_assert_ptr_nonnull(b->before);
	memcpy(b->before, b->mem, b->bytes);
	return b;
}

Buf *
case_out(Case *c, const char *name, const char *type, ...)
{
	va_list ap;
	Buf *b;

	va_start(ap, type);
	b = buf_new(c, name, type, ap);
	va_end(ap);
	make_out(b);
	return b;
}

void
case_num(Case *c, const char *name, double x)
{
	ck_assert_int_lt(c->nnum, NUM_MAX);
	c->num[c->nnum].name = name;
	c->num[c->nnum++].f = x;
}

void
case_def(Case *c, const char *name, int64_t x)
{
	ck_assert_int_lt(c->ndef, DEF_MAX);
	c->def[c->ndef++] = (hexc_define){ name, x };
}

double
ulp2(const hexc_dtype *t, double x)
{
	int man = t->bits == 64 ? 52 : t->bits == 32     ? 23
	                       : !strcmp(t->name, "f16") ? 10
	                                                 : 7;
	int least = t->bits == 16 && man == 10 ? -14 : -126, e;

	if (t->kind != 'f')
		return 0;
	if (t->bits <= 8 && t->name[0] == 'e') { /* e4m3: its name says it */
		man = t->name[3] - '0';
		least = 2 - (1 << (t->name[1] - '1'));
	}
	frexp(x, &e);
	return ldexp(0.5, (e - 1 < least ? least : e - 1) - man);
}

/* ---- running ------------------------------------------------------------------------------------- */

/* Faults are planted in kernels that ran, of this schedule. */
static struct {
	bool on;
	const char *schedule;
	char *ir; /* of the kernel, behind all passes */
} planting;

static void
keep_ir(void *user, const char *pass, const char *kernel, const char *ir)
{
	(void)user;
	(void)pass;
	(void)kernel;
	free(planting.ir);
	planting.ir = strdup(ir);
	ck_assert_ptr_nonnull(planting.ir);
}

/* NULL: the kernel cannot have the schedule in which faults are to be planted. */
static hexc_module *
compile(const Case *c, const char *path, const char *kernel, const char *arch, uint32_t candidate)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_ctx *ctx;
	hexc_module *m = NULL;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	size_t n;
	const char *src = file_read(path, &n);
	int rc;

	o.arch = arch;
	o.kernel = kernel;
	o.define = c->def;
	o.ndefine = (size_t)c->ndef;
	o.candidate = candidate;
	o.flags = HEXC_PROVE;
	o.schedule = planting.schedule ? planting.schedule : c->schedule;
	memcpy(o.cluster, c->cluster, sizeof o.cluster);
	if (planting.on) {
		o.dump = "dependent_launch";
		o.text = keep_ir;
	}
	ck_assert_int_eq(hexc_open(&ctx, &o), HEXC_OK);
	rc = hexc_compile(&m, ctx, path, src, n);
	if (rc != HEXC_OK)
		hexc_diag(ctx, 0, &d);
	ck_assert_msg(rc == HEXC_OK || (planting.schedule && strncmp(d.text, "internal", 8) != 0),
	              "%s for %s, candidate %u: %s", path, arch, candidate, d.text);
	hexc_close(ctx);
	return m;
}

static Buf *
find_buf(Case *c, const char *name)
{
	for (int i = 0; i < c->nbuf; i++)
		if (!strcmp(c->buf[i].name, name))
			return &c->buf[i];
	return NULL;
}

/* A size by name, or from the shape of a tensor that has it as a dim. */
static bool
find_size(Case *c, const hexc_module *m, const char *name, int64_t *out)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;

	for (int i = 0; i < c->nnum; i++)
		if (!strcmp(c->num[i].name, name)) {
			*out = (int64_t)c->num[i].f;
			return true;
		}
	for (size_t i = 0; hexc_param(m, 0, i, &p); i++) {
		const Buf *b = p.kind == HEXC_POINTER ? find_buf(c, p.name) : NULL;

		for (uint32_t d = 0; b && d < p.rank; d++)
			if (!strcmp(p.dim[d], name)) {
				*out = b->dim[d];
				return true;
			}
	}
	return false;
}

/* A device address with the input as the kernel's pack has it, and how many bytes that are. */
static uint64_t
packed(Case *c, const Buf *b, const char *pack, uint64_t *bytes)
{
	char why[200] = "";
	uint64_t dev;
	void *to;

	ck_assert_msg(hexc_pack_bytes(pack, (uint32_t)b->rank, b->dim, bytes, why, sizeof why) == HEXC_OK,
	              "%s: %s", b->name, why);
	to = calloc(1, *bytes + 1);
	dev = sim_alloc(c->sim, *bytes, b->name);
	ck_assert(to && dev);
	ck_assert_msg(hexc_pack(pack, (uint32_t)b->rank, b->dim, b->mem, to, NULL, why, sizeof why) ==
	                      HEXC_OK,
	              "%s: %s", b->name, why);
	ck_assert_int_eq(sim_write(c->sim, dev, to, *bytes), SIM_OK);
	free(to);
	return dev;
}

static void
set_arg(Case *c, const hexc_module *m, uint32_t nth, const hexc_param_info *p, hexc_arg *arg, uint64_t *value)
{
	Buf *b = p->kind == HEXC_POINTER ? find_buf(c, p->name) : NULL;
	float f;

	memset(arg, 0, sizeof *arg);
	if (p->kind == HEXC_POINTER) {
		ck_assert_msg(b != NULL, "no data for %s", p->name);
		ck_assert_msg(!strcmp(b->type->name, p->dtype) && (uint32_t)b->rank == p->rank,
		              "%s is %s of rank %u", p->name, p->dtype, p->rank);
		arg->bytes = b->bytes;
		*value = b->dev;
		if (hexc_module_pack(m, 0, nth))
			*value = packed(c, b, hexc_module_pack(m, 0, nth), &arg->bytes);
		else if (!b->out || b->before)
			ck_assert_int_eq(sim_write(c->sim, b->dev, b->before ? b->before : b->mem, b->bytes),
			                 SIM_OK);
		arg->ptr = (void *)(uintptr_t)*value;
		return;
	}
	for (int i = 0; i < c->nnum; i++)
		if (p->kind == HEXC_SCALAR && !strcmp(c->num[i].name, p->name)) {
			arg->f = c->num[i].f;
			if (p->dtype[0] != 'f') {
				arg->i = (int64_t)c->num[i].f;
				*value = (uint64_t)arg->i;
				return;
			}
			f = (float)arg->f;
			memcpy(value, &f, sizeof f);
			return;
		}
	ck_assert_msg(p->kind == HEXC_SIZE && find_size(c, m, p->name, &arg->i), "no value for %s", p->name);
	*value = (uint64_t)arg->i;
}

static void
compare(Case *c, const hexc_module *m, const char *what)
{
	hexc_param_info p = HEXC_PARAM_INFO_INIT;

	for (size_t j = 0; hexc_param(m, 0, j, &p); j++) {
		Buf *b = p.written ? find_buf(c, p.name) : NULL;

		if (!b)
			continue;
		ck_assert_int_eq(sim_read(c->sim, b->dev, b->mem, b->bytes), SIM_OK);
		for (int64_t i = 0; i < b->n; i++) {
			double is = hexc_get(b->type, b->mem, (uint64_t)i);

			/* equal infinities are no distance apart */
			if (b->allow[i] < 0 || fabs(is - b->v[i]) <= b->allow[i] ||
			    (isinf(is) && isinf(b->v[i]) && signbit(is) == signbit(b->v[i])))
				continue;
			ck_abort_msg("%s: %s[%lld] is %.9g, not %.9g within %.3g", what, b->name,
			             (long long)i, is,
			             b->v[i], b->allow[i]);
		}
	}
}

/* In loops packed tensors are read from shared memory by so many words of each lane, by one warp or by some
 * that share the work, and nothing narrower than 16 bytes is stored there. */
static void
by_words(const Case *c, const sim_result *r, const char *ptx, const char *what)
{
	static const char *const loads[] = { "", "ld.shared.b32", "ld.shared.v2.b32", "", "ld.shared.v4" };
	const char *load = loads[c->words];
	bool *loop = loop_lines(ptx, 1);
	uint64_t sum = 0;
	sim_line l;

	for (size_t i = 0; sim_line_at(r, i, &l); i++) {
		if (!strncmp(l.opcode, load, strlen(load)) && loop[l.line])
			sum += l.n.warps * 128 * (uint64_t)c->words;
		if (!strncmp(l.opcode, "st.shared", 9) && loop[l.line])
			ck_assert_msg(strstr(l.opcode, ".v4"), "%s: %s in a loop", what, l.opcode);
	}
	free(loop);
	for (uint64_t copies = 1; copies <= 8; copies *= 2)
		if (sum == copies * c->packed)
			return;
	ck_abort_msg("%s: %llu bytes by %s, the tiles of weights have %llu", what, (unsigned long long)sum,
	             load, (unsigned long long)c->packed);
}

/* So many clusters of a persistent kernel; 0: as many as the grid has. */
static void
launch_few(sim_launch *l, const uint32_t cluster[3], uint32_t clusters)
{
	uint64_t all = 1;

	for (int d = 0; d < 3; d++)
		all *= l->grid[d] / cluster[d];
	if (!clusters || clusters >= all)
		return;
	memcpy(l->grid, cluster, sizeof l->grid);
	l->grid[0] *= clusters;
}

/* Those that only newer LLVMs know stand behind. */
static const char *const archs[] = { "sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_120a", "sm_100a" };
enum { SM_90A = 4, SM_120A = 5, SM_100A = 6, RAGGED = 2 };

/* How many of them this library makes code for. */
static int
arch_count(void)
{
	const char *llvm = strstr(hexc_build_info(), "LLVM ");

	return llvm && atoi(llvm + 5) < 20 ? SM_90A + 1 : SM_100A + 1;
}

bool
example_on(const char *arch)
{
	for (int a = 0; a < arch_count(); a++)
		if (!strcmp(archs[a], arch))
			return true;
	return false;
}

/* Sets what the kernel reads and writes to what it was before. */
static void
restore(void *user)
{
	Case *c = user;

	for (int i = 0; i < c->nbuf; i++)
		if (c->buf[i].before)
			ck_assert_int_eq(sim_write(c->sim, c->buf[i].dev, c->buf[i].before,
			                           c->buf[i].bytes),
			                 SIM_OK);
}

/* Runs the kernel again from the same data, with the interleaving that l.seed selects. */
static void
run_otherwise(Case *c, const hexc_module *m, const sim_module *sm, const sim_launch *l, const char *what)
{
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	sim_result *r = NULL;
	sim_fault fault = { 0 };
	char name[240];

	restore(c);
	snprintf(name, sizeof name, "%s, seed %llu", what, (unsigned long long)l->seed);
	hexc_kernel(m, 0, &k);
	if (sim_run(c->sim, sm, k.name, l, &r) != SIM_OK && r)
		sim_fault_at(r, 0, &fault);
	ck_assert_msg(!fault.text && r, "%s: %s", name, fault.text);
	sim_result_free(r);
	compare(c, m, name);
}

uint32_t
case_run(Case *c, const char *file, const char *kernel, const char *arch, uint32_t candidate)
{
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	sim_launch l = SIM_LAUNCH_INIT;
	hexc_arg arg[24];
	uint64_t value[24], conflicts;
	const void *ptr[24 + 8];
	sim_tmap map[8];
	char path[120], what[200], why[200] = "";
	sim_module *sm = NULL;
	sim_result *r = NULL;
	sim_fault fault = { 0 };
	hexc_module *m;
	uint32_t line = 0;
	int rc;

	snprintf(path, sizeof path, "examples/%s.hexc", file);
	snprintf(what, sizeof what, "%s %s%s%s, candidate %u", path, arch, planting.schedule ? " " : "",
	         planting.schedule ? planting.schedule : "", candidate);
	m = compile(c, path, kernel, arch, candidate);
	if (!m)
		return 0;
	ck_assert(hexc_kernel(m, 0, &k));
	ck_assert(k.nparam <= 24 && k.nmap <= 8);
	for (uint32_t i = 0; i < k.nparam; i++) {
		hexc_param(m, 0, i, &p);
		ptr[i] = &value[i];
		set_arg(c, m, i, &p, &arg[i], &value[i]);
	}
	ck_assert_msg(hexc_check_args(m, 0, arg, why, sizeof why) == HEXC_OK, "%s: %s", what, why);
	ck_assert_int_eq(hexc_grid(m, 0, arg, l.grid), HEXC_OK);
	if (k.persistent) /* what tiles do to those before them shows where one block does all */
		launch_few(&l, k.cluster,
		           planting.on   ? 1
		           : c->clusters ? c->clusters
		                         : (uint32_t)(c->seed + candidate) % 4);
	map_encode(m, k.nmap, arg, map, ptr + k.nparam);
	ck_assert_int_eq(sim_load(c->sim, hexc_ptx(m, NULL), strlen(hexc_ptx(m, NULL)), &sm), SIM_OK);
	memcpy(l.block, k.block, sizeof l.block);
	l.smem = k.smem;
	l.cooperative = k.cooperative;
	l.args = ptr;
	rc = sim_run(c->sim, sm, k.name, &l, &r);
	if (rc != SIM_OK && r)
		sim_fault_at(r, 0, &fault);
	ck_assert_msg(rc == SIM_OK, "%s: %s %s", what, r ? sim_result_text(r) : "",
	              fault.text ? fault.text : "");
	/* what blocks of a persistent kernel do in the loop of the grid's, others do in none */
	conflicts = loop_conflicts(r, hexc_ptx(m, NULL), k.persistent ? 2 : 1, &line);
	/* a schedule that was asked for may have some */
	ck_assert_msg(!conflicts || c->scattered || planting.on,
	              "%s: %llu bank conflicts in loops, as in line %u of the PTX", what,
	              (unsigned long long)conflicts, line);
	if (c->packed && !candidate)
		by_words(c, r, hexc_ptx(m, NULL), what);
	compare(c, m, what);
	for (l.seed = 1; l.seed <= c->schedules; l.seed++)
		run_otherwise(c, m, sm, &l, what);
	l.seed = 0;
	fault_reset(restore, c);
	if (c->needs)
		fault_needs(c->sim, hexc_ptx(m, NULL), c->needs, k.name, &l, what);
	if (planting.on) {
		fault_try(c->sim, hexc_ptx(m, NULL), k.name, &l, r, what);
		fault_stages(c->sim, planting.ir, arch, k.name, &l, what);
	}
	for (uint32_t i = 0; i < k.nparam; i++) /* packed forms are of this launch only */
		if (hexc_module_pack(m, 0, i))
			sim_free(c->sim, value[i]);
	sim_result_free(r);
	sim_unload(c->sim, sm);
	hexc_module_free(m);
	return k.ncandidate;
}

/* ---- the test program ------------------------------------------------------------------------------ */

void
example_sizes(const Example *e)
{
	int count = arch_count();

	for (int i = 0; i < 8; i++)
		for (int a = 0; a < count; a++) {
			uint32_t n = 1;

			for (uint32_t k = 0; k < n && (getenv("FULL") || (a == i % count && k == 0)); k++)
				e->fn(&e->size[i], archs[a], &n, k);
		}
}

/* Is candidate k of n one of those that are run?  Of long lists the best third of as many as there is time
 * for, and of the others one in so many, by target another. */
static bool
is_sampled(uint32_t k, uint32_t n, uint32_t target)
{
	uint32_t most = getenv("FULL") ? n : getenv("QUICK") ? 6 : 24, best = most / 3;
	uint32_t step = n <= most ? 1 : (n - best + most - best - 1) / (most - best);

	return k < best || k % step == target % step;
}

/* sm_100a has what sm_120a has, and room for more candidates. */
void
example_candidates(const Example *e)
{
	for (int a = 0; a < arch_count(); a++) {
		uint32_t n = a != SM_100A || getenv("FULL");

		for (uint32_t k = 0; k < n; k++)
			if (k == 0 || is_sampled(k, n, (uint32_t)a))
				e->fn(&e->size[RAGGED], archs[a], &n, k);
	}
}

/* Kernels in which faults are planted: targets, and the ways in which warps share the work there. */
static const struct {
	const char *arch, *schedule;
} kind[] = {
	{ "sm_80", NULL }, { "sm_90a", "groups" }, { "sm_90a", "roles" }, { "sm_90a", "roles2" },
	{ "sm_120a", NULL },
};

/* Sizes in which each instruction that orders something has its turn. */
static void
plant(const Example *e, const char *arch, int first)
{
	const Size *s = e->faults[0].n || e->faults[0].m ? e->faults : e->size;
	const char *op;
	uint32_t line, n;
	int count = s == e->size ? 8 : COUNT_OF(e->faults);

	for (int i = 0, at = first; i < count && (i == 0 || fault_missed(&at, &line, &op)); i++, at = first) {
		const Size *now = &s[s == e->size ? (RAGGED + i) % 8 : i];

		n = now->n || now->m;
		for (uint32_t k = 0; k < n; k++) {
			e->fn(now, arch, &n, k);
			n = getenv("FULL") ? n : 1;
		}
	}
}

void
example_faults(const Example *e)
{
	const char *what, *op;
	uint32_t line;
	int left = 0;

	if (getenv("QUICK"))
		return;
	planting.on = true; /* each test has a process of its own */
	for (size_t i = 0; i < COUNT_OF(kind); i++) {
		int at = fault_sites();

		if (!example_on(kind[i].arch))
			continue;
		planting.schedule = kind[i].schedule;
		plant(e, kind[i].arch, at);
		for (; (what = fault_missed(&at, &line, &op)) != NULL; left++)
			fprintf(stderr, "%s: nobody misses line %u of the PTX: %s\n", what, line, op);
	}
	ck_assert_msg(!left, "of %d faults %d are not caught", fault_sites(), left);
}

double
sum_error(double mag, int64_t k)
{
	return mag * (double)(k + 2) * U32;
}

Sum
sum_products(const Buf *a, int64_t ia, const Buf *b, int64_t ib, int64_t k)
{
	Sum s = { 0, 0 };

	for (int64_t i = 0; i < k; i++) {
		double p = a->v[ia + i] * b->v[ib + i];
		s.x += p;
		s.mag += fabs(p);
	}
	return s;
}

Sum
sum_scaled(const Buf *a, int i, const Buf *w, int j, double zero, const Buf *scale, int group)
{
	int64_t k = a->dim[1], n = w->dim[0];
	Sum s = { 0, 0 };

	for (int64_t q = 0; q < k; q++) {
		double p = a->v[i * k + q] * (w->v[j * k + q] - zero) * scale->v[q / group * n + j];
		s.x += p;
		s.mag += fabs(p);
	}
	return s;
}

void
case_softmax(const Buf *x, Buf *y, int m, int n)
{
	for (int i = 0; i < m; i++) {
		double top = -INFINITY, sum = 0;

		for (int j = 0; j < n; j++)
			top = fmax(top, x->v[(int64_t)i * n + j]);
		for (int j = 0; j < n; j++)
			sum += exp(x->v[(int64_t)i * n + j] - top);
		for (int j = 0; j < n; j++) {
			int64_t at = (int64_t)i * n + j;

			y->v[at] = exp(x->v[at] - top) / sum;
			/* exp(d) as ex2.approx(d * log2 e), off by 2^-22 (PTX ISA); the exponent, up to 16
			 * * 1.45, has two roundings, in the sum as in the numerator; the sum is scaled and
			 * added to n / 256 times */
			y->allow[at] = y->v[at] *
			               (2 * 16 * 1.45 * U32 * 2 + 0x1p-20 + (n / 32.0 + 64) * U32);
			y->allow[at] += 0x1p-140;
		}
	}
}
