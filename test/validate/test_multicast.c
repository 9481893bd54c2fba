/* test_multicast.c - tests the validator of TMA multicast in clusters: it accepts kernels with clusters, and
 * rejects them once an arrival, a box, a path or a store is changed. */
#include "hexc/ir/text/text.h"
#include "infer/validate/validate.h"
#include "lib/hexc.h"
#include "test/check.h"
#include "test/validate/util_prove.h"
#include <string.h>

static const char source[] =
	"kernel product(A: f16[M, K], B: f16[N, K], C: out f16[M, N])\n"
	"    assume K % 8 == 0\n"
	"    const BM = 128, BN = 128, BK = 64, STAGES = 3, WARPS = 4\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    var acc: register f32[BM, BN] = 0;\n"
	"    pipeline k in 0..K step BK stages STAGES {\n"
	"        let a: shared = A[m :+ BM, k :+ BK];\n"
	"        let b: shared = B[n :+ BN, k :+ BK];\n"
	"        acc += dot(a, b.T);\n"
	"    }\n"
	"    C[m :+ BM, n :+ BN] = f16(acc);\n"
	"}\n";

typedef struct Made {
	Arena arena;
	Diag diag;
	Unit unit;
	Kernel *k;
} Made;

static void
read_back(void *user, const char *pass, const char *kernel, const char *ir)
{
	Made *x = user;

	(void)pass;
	(void)kernel;
	x->k = kernel_read(&x->unit, ir, strlen(ir));
}

/* The kernel behind pass wgmma_waits, of clusters along x (B is the same) or y (A is). */
static Kernel *
make(Made *x, int axis)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m = NULL;
	hexc_ctx *ctx;

	memset(x, 0, sizeof *x);
	test_arena(&x->arena);
	x->diag.arena = &x->arena;
	x->unit = (Unit){
		.arena = &x->arena, .diag = &x->diag, .target = target_find("sm_90a"), .file = "t"
	};
	o.arch = "sm_90a";
	o.cluster[0] = axis ? 1 : 2;
	o.cluster[1] = axis ? 2 : 1;
	o.cluster[2] = 1;
	o.dump = o.stop = "wgmma_waits";
	o.text = read_back;
	o.user = x;
	ck_assert_int_eq(hexc_open(&ctx, &o), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, ctx, "t", source, strlen(source)), HEXC_OK);
	hexc_module_free(m);
	hexc_close(ctx);
	ck_assert_ptr_nonnull(x->k);
	return x->k;
}

/* The copy that goes to all blocks. */
static Op *
shared_copy(Kernel *k)
{
	int nth = 0;

	while (!IMM(prove_op(k->body, O_copy, nth), multicast))
		nth++;
	return prove_op(k->body, O_copy, nth);
}

/* An arrival of consumers. */
static Op *
arrival(Kernel *k, int nth)
{
	for (int i = 0;; i++) {
		Op *o = prove_op(k->body, O_mbarrier_arrive, i);

		if (!IMM(o, expect) && nth-- == 0)
			return o;
	}
}

static void
own_only(Kernel *k)
{
	IMM_SET(arrival(k, 0), cluster, 0);
}

static void
last_own_only(Kernel *k)
{
	IMM_SET(arrival(k, 1), cluster, 0);
}

static void
other_only(Kernel *k)
{
	IMM_SET(arrival(k, 0), cluster, 2);
}

static void
one_arrival(Kernel *k)
{
	IMM_SET(op_mbar(arrival(k, 0)), arrivals, 1);
}

static void
wrong_copy(Kernel *k)
{
	Op *right = shared_copy(k), *o = right;

	for (int i = 0; o == right; i++)
		if (IMM(prove_op(k->body, O_copy, i), async) == COPY_BARRIER)
			o = prove_op(k->body, O_copy, i);
	IMM_SET(o, multicast, IMM(right, multicast));
	k->map[op_access(o)->tensor_map - 1].box[1] /= 2;
}

static void
whole_boxes(Kernel *k)
{
	k->map[op_access(shared_copy(k))->tensor_map - 1].box[1] *= 2;
}

static void
other_axis(Kernel *k)
{
	IMM_SET(shared_copy(k), multicast, 3 - IMM(shared_copy(k), multicast));
}

static void
no_leave(Kernel *k)
{
	op_unlink(prove_op(k->body, O_mbarrier_wait, 0));
}

static void
uneven_loop(Kernel *k)
{
	Op *id = prove_op(k->body, O_block_id, k->cluster[0] > 1 ? 0 : 1);

	shared_copy(k)->parent->owner->in[1] = id->out[0];
}

static void
any_store(Kernel *k)
{
	Op *has = prove_op(k->body, O_block_in_grid, 0), *guard;

	for (int i = 0;; i++) {
		guard = prove_op(k->body, O_if, i);
		if (guard->in[0] == has->out[0])
			break;
	}
	op_move_before(guard->blk[0]->first, guard);
}

static const Corruption corruption[] = {
	{ "an arrival at the own block only", own_only, "other blocks overwrite the data read here; no "
	                                                "arrive signals them" },
	{ "the last arrival at the own block only", last_own_only,
	  "other blocks overwrite the data read here; no arrive signals them" },
	{ "an arrival at another block only", other_only,
	  "arrives at only some blocks of the cluster, or expects copies from only some" },
	{ "one arrival ends a phase", one_arrival, "a phase does not complete when each block of the "
	                                           "cluster has arrived" },
	{ "a copy that differs goes to all", wrong_copy, "blocks of a cluster multicast different tiles" },
	{ "boxes that are not shared out", whole_boxes, "its TMA boxes cannot be distributed evenly over "
	                                                "the blocks" },
	{ "along the axis of one block", other_axis, "not a TMA tensor copy, or not all blocks of the "
	                                             "cluster are along that axis" },
	{ "no wait in front of the copy", no_leave, "overwrites" },
	{ "turns that depend on the block", uneven_loop,
	  "not all blocks of a cluster execute this equally often" },
	{ "a store without a block", any_store, "a block outside the grid would store" },
};

TEST_EACH(rejected, COUNT_OF(corruption))
{
	for (int axis = 0; axis < 2; axis++) {
		Made x;

		prove_rejects(make(&x, axis), pass_validate_multicast, &corruption[_i]);
		arena_free(&x.arena);
	}
}
