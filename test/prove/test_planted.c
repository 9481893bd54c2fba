/* test_planted.c - planted faults: the IR of every example without one of the ops that order something, which
 * the checkers must not accept. */
#include "hexc/interp/ask.h"
#include "hexc/interp/interp.h"
#include "hexc/ir/number.h"
#include "hexc/ir/text/text.h"
#include "hexc/ir/verify/verify.h"
#include "infer/prove/prove.h"
#include "lib/hexc.h"
#include "test/check.h"
#include "test/ir/util_ir.h"
#include "test/util_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KERNELS = 16, ARGS = 24 };

typedef struct Texts {
	char *ir[KERNELS];
	int n;
} Texts;

static double
clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
keep(void *user, const char *pass, const char *kernel, const char *ir)
{
	Texts *t = user;

	(void)pass;
	(void)kernel;
	if (t->n < KERNELS)
		t->ir[t->n++] = strdup(ir);
}

static void
compile(Texts *t, const char *path, const char *arch, const char *schedule)
{
	hexc_opts opts = HEXC_OPTS_INIT;
	hexc_module *m = NULL;
	hexc_ctx *ctx;
	size_t n;
	const char *source = file_read(path, &n);

	t->n = 0;
	opts.arch = arch;
	opts.schedule = schedule;
	opts.flags = HEXC_NO_EMIT;
	opts.dump = "grids";
	opts.text = keep;
	opts.user = t;
	ck_assert(hexc_open(&ctx, &opts) == HEXC_OK);
	hexc_compile(&m, ctx, path, source, n);
	hexc_module_free(m);
	hexc_close(ctx);
}

/* ---- a launch ---- */

static int64_t
number(const Param *p, int64_t about)
{
	int64_t mult = p->mult > 1 ? p->mult : 1, x = (about + mult - 1) / mult * mult;

	if (p->lo <= p->hi && (p->lo || p->hi)) {
		x = x < p->lo ? (p->lo + mult - 1) / mult * mult : x;
		x = x > p->hi ? p->hi / mult * mult : x;
	}
	return x;
}

static uint64_t
rnd(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static bool
launch(Kernel *k, InterpArg *arg, const int64_t *about)
{
	uint64_t state = 1;
	int nsize = 0;

	memset(arg, 0, sizeof *arg * ARGS);
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind != P_tensor) {
			arg[i].i = number(&k->param[i], k->param[i].kind == P_size ? about[nsize++ % 4] : 2);
			arg[i].f = 1;
		}
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];
		DType d = p->val->type.dtype;
		int64_t size[DIM_MAX], stride[DIM_MAX];

		if (p->kind != P_tensor)
			continue;
		if (interp_shape(k, arg, k->nparam, i, size, stride) != INTERP_OK)
			return false;
		arg[i].count = 1;
		for (int dim = 0; dim < p->val->type.rank; dim++)
			arg[i].count += (size[dim] - 1) * stride[dim];
		if (arg[i].count < 1 || arg[i].count > 1 << 19)
			return false;
		arg[i].data = arena_alloc(k->unit->arena, num_bytes(d, arg[i].count) + 16);
		for (int64_t j = 0; j < arg[i].count; j++) {
			uint64_t x = rnd(&state);

			if (dtype_is_float(d))
				num_put_f(d, arg[i].data, j, (double)(int64_t)(x >> 40) / (1 << 23) - 1);
			else
				num_put_i(d, arg[i].data, j, (int64_t)(x % (dtype_info[d].bits < 32 || !p->read ? 16 : 5)));
		}
	}
	return true;
}

/* ---- checkers ---- */

static void
forget(Kernel *k)
{
	k->unit->diag->nerror = k->unit->diag->n = 0;
}

typedef struct Launches {
	InterpArg arg[12][ARGS];
	int n;
} Launches;

static const char *
refused(Kernel *k, const Launches *l)
{
	Diag *d = k->unit->diag;

	forget(k);
	if (!kernel_verify(k, "x"))
		return "verify";
	pass_prove_flight(k);
	if (d->nerror)
		return "flight";
	pass_prove_cluster(k);
	if (d->nerror)
		return "cluster";
	for (int i = 0; i < l->n; i++) {
		InterpOpt opt = { .workers.threads = 1, .races = true, .order = true, .blocks = 1, .max_ops = 4000 };
		InterpCode c = interp_run(k, l->arg[i], k->nparam, &opt);

		if (c == INTERP_E_FAULT)
			return i ? "races+" : "races";
	}
	return NULL;
}

static bool
is_site(const Op *o)
{
	return o->code == O_wait || o->code == O_commit || o->code == O_barrier || o->code == O_mbar_wait ||
	       o->code == O_mbar_arrive || o->code == O_proxy || o->code == O_wg_wait ||
	       o->code == O_wg_commit || o->code == O_wg_fence;
}

static void
plant(Kernel *k, const Launches *l, const char *what)
{
	OpWalk w;
	Op *site[400];
	int n = 0;

	for (Op *o = walk_first(&w, k->body); o && n < 400; o = walk_next(&w))
		if (is_site(o))
			site[n++] = o;
	for (int i = 0; i < n; i++)
		for (int less = 0; less < 2; less++) {
			Op *o = site[i], was = *o;
			const char *by;

			if (less && o->code != O_wait && o->code != O_wg_wait)
				continue;
			if (less)
				IMM_SET(o, pending, IMM(o, pending) + 1);
			else
				op_unlink(o);
			by = refused(k, l);
			printf("%s %s%s %s #%d (%s .. %s) line %u: %s %s\n", by ? "ok" : "MISS", op_info[was.code].name,
			       less ? " less" : "", what, i, was.prev ? op_info[was.prev->code].name : "", op_info[was.next->code].name, was.src.line, by ? by : "nobody",
			       by && k->unit->diag->n ? k->unit->diag->msg[0].text : "");
			if (less) {
				IMM_SET(o, pending, IMM(o, pending) - 1);
				continue;
			}
			*o = was;
			if (was.prev)
				was.prev->next = o;
			else
				was.parent->first = o;
			was.next->prev = o;
		}
}

static void
one(const char *text, const char *arch, const char *what)
{
	static const int64_t abouts[][4] = {
		{ 128, 256, 128, 64 }, { 72, 384, 264, 64 }, { 70, 200, 130, 64 }, { 16, 64, 16, 16 }, { 136, 64, 384, 128 }, { 3, 300, 256, 4 },
		{ 2, 8, 128, 256 }, { 2, 4, 2, 4 }
	};
	Unit *u = ir_unit();
	Launches *l = calloc(1, sizeof *l), none = { .n = 0 };
	const char *by = "";
	Kernel *k;

	u->target = target_find(arch);
	k = ir_read(u, text);
	for (size_t i = 0; i < COUNT_OF(abouts); i++) {
		InterpOpt opt = { .workers.threads = 1, .races = true, .order = true, .blocks = 1, .max_ops = 4000 };
		double t0 = clock_now(), dt;
		InterpCode c = INTERP_E_ARG;

		forget(k);
		if (launch(k, l->arg[l->n], abouts[i]))
			c = interp_run(k, l->arg[l->n], k->nparam, &opt);
		dt = clock_now() - t0;
		printf("launch %s %zu: %d, %.3f s %s\n", what, i, c, dt, c && u->diag->n ? u->diag->msg[0].text : "");
		l->n += c == INTERP_OK || c == INTERP_E_LIMIT;
	}
	by = refused(k, &none);
	if (by)
		printf("NOTCLEAN %s: %s %s\n", what, by, k->unit->diag->n ? k->unit->diag->msg[0].text : "");
	plant(k, l, what);
	free(l);
	ir_unit_free(u);
}

TEST(explore)
{
	static const struct {
		const char *arch, *schedule;
	} kind[] = {
		{ "sm_80", NULL }, { "sm_90a", "groups" }, { "sm_90a", "roles" }, { "sm_90a", "roles2" }, { "sm_90a", NULL },
	};
	const char *path = getenv("PROG");
	Texts t;

	for (size_t i = 0; i < COUNT_OF(kind); i++) {
		double t0 = clock_now();
		compile(&t, path, kind[i].arch, kind[i].schedule);
		printf("compile %s %s: %d, %.3f s\n", kind[i].arch, kind[i].schedule ? kind[i].schedule : "", t.n,
		       clock_now() - t0);
		for (int j = 0; j < t.n; j++) {
			char what[200];

			snprintf(what, sizeof what, "%s/%d %s %s", path, j, kind[i].arch,
			         kind[i].schedule ? kind[i].schedule : "");
			one(t.ir[j], kind[i].arch, what);
		}
	}
}
TEST_PROGRAM(.timeout = 3600);
