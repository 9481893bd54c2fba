/* test_planted.c - tests planted faults: the IR of examples without one of the ops that order something,
 * with a wait for one group less, with one stage less in a circular buffer; the validators must reject
 * them. In C: thousands of faults are judged, the last by the interpreter.
 *
 * Checked by the verifier, the validators of passes wgmma_waits, multicast and insert_barriers, those of
 * waits and roles, and last the tile interpreter, which watches the order of accesses in a few small
 * launches. */
#include "hexc/interp/launch_query.h"
#include "hexc/interp/interp.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/verify/verify.h"
#include "hexc/pass/pass.h"
#include "infer/validate/validate.h"
#include "test/check.h"
#include "test/ir/util_unit.h"
#include "test/validate/util_dump.h"
#include "test/validate/util_ring.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS = 24, SITES = 400, LAUNCHES = 7, OPS = 4000, ELEMENTS = 1 << 19, OWN = 10 };

/* Sizes in the order of the parameters, again from the first where there are more: blocks inside of the
 * tensors, several tiles for a block of a persistent kernel, ragged edges, few turns of loops. */
static const int64_t sizes[][OWN] = {
	{ 128, 256, 128, 64 }, { 72, 384, 264, 64 }, { 70, 200, 130, 64 }, { 16, 64, 16, 16 },
	{ 136, 64, 384, 128 },
};

static const struct {
	const char *name;
	int64_t own[2][OWN]; /* launches more */
} program[] = {
	{ .name = "attention", .own = { { 1, 72, 2, 264, 2 } } },
	{ .name = "conv2d", .own = { { 1, 4, 4, 32, 8, 4, 4 }, { 1, 4, 4, 32, 136, 4, 4 } } },
	{ .name = "decode_wNa16", .own = { { 3, 300, 256, 4 } } },
	{ .name = "gemm_act_order", .own = { { 40, 296, 264 }, { 40, 72, 264 } } },
	{ .name = "gemm_epilogue" },
	{ .name = "gemm_f16" },
	{ .name = "gemm_fp8" },
	{ .name = "gemm_int8" },
	{ .name = "gemm_mxfp4" },
	{ .name = "gemm_nvfp4", .own = { { 3, 300, 256, 4 } } },
	{ .name = "gemm_q4k" },
	{ .name = "gemm_roles" },
	{ .name = "gemm_sparse" },
	{ .name = "gemm_w4_roles" },
	{ .name = "gemm_w4a16" },
	{ .name = "gemm_w4a16_sym" },
	{ .name = "gemm_wNa16" },
	{ .name = "gemm_wNa16_natural" },
	{ .name = "gemm_wNa8" },
	{ .name = "lora" },
	{ .name = "moe", .own = { { 8, 128, 2, 72, 8, 2 }, { 8, 128, 2, 140, 8, 2 } } },
	{ .name = "split_k", .own = { { 128, 272, 136, 1, 1, 8, 8 } } },
	{ .name = "swiglu" },
	{ .name = "paged_attention", .own = { { 3, 16, 5, 2, 8, 2 } } },
	{ .name = "mamba2", .own = { { 1, 72, 2, 1 } } },
	{ .name = "conv", .own = { { 1, 4, 4, 200, 8, 2, 2, 3, 3 }, { 2, 9, 9, 136, 8, 1, 1, 9, 9 } } },
	{ .name = "cross_entropy" },
	{ .name = "softmax_long" },
	{ .name = "histogram" },
	{ .name = "layer_norm_backward" },
	{ .name = "gemm_mxfp", .own = { { 40, 448, 16 }, { 40, 640, 16 } } },
	{ .name = "gemm_schemes", .own = { { 40, 264, 400 }, { 40, 392, 264 } } },
};

/* What stays right without them: so many faults of an op in front of another, in a file for an arch. */
static const struct {
	const char *what, *op, *next;
	int n;
	const char *why;
} known[] = {
	{ "attention sm_80", "async_commit", "async_wait", 1,
	  "without it Q's copies are in the group behind, K's first, whose wait comes before either is "
	          "read" },
	{ "attention sm_80", "async_wait", "if", 2,
	  "the loop's first wait is for the group behind, and groups are done in order" },
	{ "attention sm_90a", "async_wait", "barrier", 2,
	  "in front of a slab where Q was before, whose copy has waited for the slab of the turn before" },
	{ "attention sm_120a", "async_wait", "barrier", 2, "as on sm_90a" },
	{ "attention sm_90a groups", "async_commit", "async_wait", 1, "as on sm_80" },
	{ "attention sm_90a groups", "async_wait", "if", 2, "as on sm_80" },
	{ "attention sm_90a roles2", "async_wait", "barrier", 2, "as in roles" },
	{ "lora sm_90a", "async_wait", "barrier", 2, "as in attention, of the first product's slab" },
	{ "lora sm_90a roles2", "async_wait", "barrier", 2, "likewise" },
};
static int excused[COUNT_OF(known)];

/* ---- launches ------------------------------------------------------------------------------------------ */

typedef struct Launches {
	InterpArg arg[LAUNCHES][ARGS];
	int n;
} Launches;

static const InterpOpt order = { .workers.threads = 1, .races = true, .order = true, .blocks = 1,
        .max_ops = OPS };

/* About as much, as the kernel asks for it. */
static int64_t
number(const Param *p, int64_t about)
{
	int64_t mult = p->mult > 1 ? p->mult : 1, x = (about + mult - 1) / mult * mult;

	if (p->lo > p->hi || (!p->lo && !p->hi))
		return x;
	x = x < p->lo ? (p->lo + mult - 1) / mult * mult : x;
	return x > p->hi ? p->hi / mult * mult : x;
}

static bool
make_tensor(Kernel *k, InterpArg *arg, int i)
{
	const Param *p = &k->param[i];
	int64_t size[DIM_MAX], stride[DIM_MAX], n = 1;
	DType d = p->val->type.dtype;

	if (interp_shape(k, arg, k->nparam, i, size, stride) != INTERP_OK)
		return false;
	for (int dim = 0; dim < p->val->type.rank; dim++)
		n += (size[dim] - 1) * stride[dim];
	if (n < 1 || n > ELEMENTS)
		return false;
	arg[i].count = n;
	arg[i].data = arena_alloc(k->unit->arena, num_bytes(d, n) + 16);
	memset(arg[i].data, 0, num_bytes(d, n) + 16);
	for (int64_t j = 0; j < n; j++) { /* indices of something that there is, or not far from it */
		uint32_t x = (uint32_t)j * 2654435761u >> 8;

		if (dtype_is_float(d))
			num_put_f(d, arg[i].data, j, (double)(x % 64) / 32 - 1);
		else
			num_put_i(d, arg[i].data, j, (int64_t)(x % 5));
	}
	return true;
}

static bool
make_launch(Kernel *k, InterpArg *arg, const int64_t *about)
{
	int n = 0, count = 0;

	ck_assert_int_le(k->nparam, ARGS);
	while (count < OWN && about[count])
		count++;
	memset(arg, 0, sizeof *arg * ARGS);
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind != P_tensor) {
			arg[i].i = number(&k->param[i], k->param[i].kind == P_size ? about[n++ % count] : 2);
			arg[i].f = 1;
		}
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind == P_tensor && !make_tensor(k, arg, i))
			return false;
	return true;
}

/* ---- checkers ------------------------------------------------------------------------------------------ */

static void
forget(Kernel *k)
{
	k->unit->diag->nerror = k->unit->diag->n = 0;
}

/* Faults of which no checker that looks at the text alone said anything; .. of ops of each code. */
static int ordered, ordered_of[O_COUNT];

/* Does one of the checkers find something wrong? */
static bool
is_refused(Kernel *k, const Launches *l)
{
	Diag *d = k->unit->diag;
	bool refused;

	forget(k);
	refused = !kernel_verify(k, "faults");
	if (!refused) {
		pass_validate_wgmma(k);
		pass_validate_multicast(k);
		pass_validate_async_copies(k);
		pass_validate_warp_roles(k);
		pass_validate_barriers(k);
		refused = d->nerror > 0;
	}
	ordered += !refused;
	for (int i = 0; i < l->n && !refused; i++)
		refused = interp_run(k, l->arg[i], k->nparam, &order) == INTERP_E_FAULT;
	forget(k);
	return refused;
}

/* Those that the kernel takes, and runs without a fault, if not to its end. */
static void
launches(Kernel *k, const int64_t (*own)[OWN], Launches *l)
{
	for (size_t i = 0; i < COUNT_OF(sizes) + 2; i++) {
		const int64_t *about = i < COUNT_OF(sizes) ? sizes[i] : own[i - COUNT_OF(sizes)];
		InterpCode c;

		if (!about[0] || !make_launch(k, l->arg[l->n], about))
			continue;
		c = interp_run(k, l->arg[l->n], k->nparam, &order);
		ck_assert_msg(c != INTERP_E_FAULT, "%s", ir_diags(k->unit));
		l->n += c == INTERP_OK || c == INTERP_E_LIMIT;
		forget(k);
	}
}

/* ---- ops less ------------------------------------------------------------------------------------------ */

static bool
is_site(const Op *o)
{
	return o->code == O_async_wait || o->code == O_async_commit || o->code == O_barrier ||
	       o->code == O_mbarrier_wait ||
	       o->code == O_mbarrier_arrive || o->code == O_fence_proxy_async || o->code == O_wgmma_wait ||
	       o->code == O_wgmma_commit || o->code == O_wgmma_fence;
}

/* A wait for all groups behind a pipeline's loop: turns have waited for the groups that have copies, and
 * those of turns that there are not are empty. */
static bool
is_drain(const Op *o)
{
	const Op *loop = o->prev;
	bool waits = false;
	OpWalk w;

	while (loop && !loop->blk[0] &&
	       (loop->code == O_grid_launch_dependents || !op_is(loop, F_SYNC | F_MEM)))
		loop = loop->prev;
	if (o->code != O_async_wait || IMM(o, bulk) || IMM(o, pending) || !loop || loop->code != O_for)
		return false;
	for (const Op *x = walk_first(&w, loop->blk[0]); x; x = walk_next(&w))
		waits = waits || (x->code == O_async_wait && !IMM(x, bulk));
	return waits;
}

/* A group of copies to tensors, where all waits are for all groups and another one follows. */
static bool
is_joined(Kernel *k, const Op *o)
{
	const Op *next = o->next;
	OpWalk w;

	if (o->code != O_async_commit || !IMM(o, bulk))
		return false;
	for (const Op *x = walk_first(&w, k->body); x; x = walk_next(&w))
		if (x->code == O_async_wait && IMM(x, bulk) && IMM(x, pending))
			return false;
	while (next && next->code != O_async_commit && next->code != O_async_wait)
		next = next->next;
	return next && next->code == O_async_commit;
}

static bool
is_known(const char *what, const Op *was)
{
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (!strcmp(what, known[i].what) && !strcmp(op_info[was->code].name, known[i].op) &&
		    !strcmp(op_info[was->next->code].name, known[i].next)) {
			excused[i]++;
			return true;
		}
	return false;
}

static void
put_back(Op *o, const Op *was)
{
	*o = *was;
	if (o->prev)
		o->prev->next = o;
	else
		o->parent->first = o;
	o->next->prev = o;
}

/* The number of faults that nobody misses. */
static int
drop_each(Kernel *k, const Launches *l, const char *what, int *tried)
{
	Op *site[SITES];
	int n = 0, missed = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (is_site(o) && !is_drain(o) && !is_joined(k, o)) {
			ck_assert_int_lt(n, SITES);
			site[n++] = o;
		}
	for (int i = 0; i < n; i++)
		for (int less = 0; less <= (site[i]->code == O_async_wait ||
		                            site[i]->code == O_wgmma_wait);
		     less++) {
			Op *o = site[i], was = *o;
			bool refused;

			if (less)
				IMM_SET(o, pending, IMM(o, pending) + 1);
			else
				op_unlink(o);
			++*tried;
			ordered_of[was.code] -= ordered;
			refused = is_refused(k, l);
			ordered_of[was.code] += ordered;
			if (!refused && !is_known(what, &was)) {
				missed++;
				fprintf(stderr, "%s, line %u: nobody misses %s in front of %s%s\n", what,
				        was.src.line, op_info[was.code].name, op_info[was.next->code].name,
				        less ? ", of one less" : "");
			}
			if (less)
				*o = was;
			else
				put_back(o, &was);
		}
	return missed;
}

/* ---- stages less --------------------------------------------------------------------------------------- */

static int
narrow_each(Kernel *k, const Launches *l, const char *what, int *tried)
{
	Ring *r = NEW(k->unit->arena, Ring);
	int missed = 0;

	for (const Op *o = NULL; (o = ring_next(k, o)) != NULL; ++*tried) {
		ring_narrow(k, o, r);
		if (!is_refused(k, l)) {
			missed++;
			fprintf(stderr, "%s, line %u: nobody misses a stage\n", what, o->src.line);
		}
		ring_restore(r);
	}
	return missed;
}

/* ---- programs ------------------------------------------------------------------------------------------ */

/* How many only the interpreter sees, and of which ops; the rest is of stages. */
static void
say(const char *what, int tried)
{
	fprintf(stderr, "%s: %d, %d of them seen when it runs:", what, tried, ordered);
	for (int c = 0; c < O_COUNT; c++)
		if (ordered_of[c])
			fprintf(stderr, " %s %d", op_info[c].name, ordered_of[c]);
	fprintf(stderr, "\n");
}

static void
plant(int p, const char *arch, const char *schedule)
{
	Dump d = { .file = arena_printf(u->arena, "examples/%s.hexc", program[p].name), .arch = arch,
		   .schedule = schedule };
	const char *what = arena_printf(u->arena, "%s %s%s%s", program[p].name, arch, schedule ? " " : "",
	                                schedule ? schedule : "");
	int missed = 0, tried = 0, nobody = 0;

	ordered = 0;
	memset(ordered_of, 0, sizeof ordered_of);
	dump_make(&d, "dependent_launch");
	memset(excused, 0, sizeof excused);
	for (int i = 0; i < d.n; i++) {
		Unit *other = ir_unit();
		Kernel *k = dump_read(&d, i, other);
		Launches *l = NEW(other->arena, Launches);

		launches(k, program[p].own, l);
		ck_assert_msg(!is_refused(k, l), "%s is refused as it is", what);
		ordered--;
		missed += drop_each(k, l, what, &tried);
		missed += narrow_each(k, l, what, &tried);
		ir_unit_free(other);
	}
	dump_free(&d);
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		nobody += excused[i];
		ck_assert_msg(excused[i] == (strcmp(what, known[i].what) ? 0 : known[i].n),
		        "%s: %d, not %d: %s",
		              what, excused[i], known[i].n, known[i].why);
	}
	if (getenv("VERBOSE"))
		say(what, tried);
	ck_assert_int_eq(ordered, nobody); /* all others are seen without a run */
	ck_assert_msg(!missed, "%s: of %d faults %d are not missed", what, tried,
	              missed);
}

TEST_EACH(ampere, COUNT_OF(program))
{
	if (!strstr(program[_i].name, "_roles") && (!getenv("QUICK") || _i % 4 == 0))
		plant(_i, "sm_80", NULL);
}

TEST_EACH(hopper, COUNT_OF(program))
{
	if (!getenv("QUICK") || _i % 4 == 2)
		plant(_i, "sm_90a", NULL);
}

/* FULL=1: what the search takes elsewhere, and what it does not take. */
TEST_EACH(others, COUNT_OF(program))
{
	if (!getenv("FULL") || strstr(program[_i].name, "_roles"))
		return;
	plant(_i, "sm_120a", NULL);
	plant(_i, "sm_90a", "groups");
	plant(_i, "sm_90a", "roles2");
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 300);
