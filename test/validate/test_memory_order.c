/* test_memory_order.c - tests the validator of barriers on loops that run once at most, and on bytes of
 * several elements. In C: barriers move, and layouts and access widths are set by hand. */
#include "hexc/pass/pass.h"
#include "infer/validate/validate.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include <string.h>

static const char header[] =
	"kernel t(A: f32[N * 8], Y: inout f32[N * 8], Z: out f32[8], G: out i32[8], F: inout i32[8],\n"
	" H: inout i32[8], L: i32[8])\n{\n grid(4);\n%s}\n";

/* `together`: all tiles at the start of the block's shared memory. */
static Kernel *
synced(const char *body, bool together)
{
	Kernel *k = run_source(u, arena_printf(u->arena, header, body), "");
	OpWalk w;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "pipeline", pass_pipeline);
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	for (Op *o = walk_first(&w, k->body); o && together; o = walk_next(&w))
		if (o->code == O_alloc)
			IMM_SET(o, offset, 0);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	return k;
}

/* Something was said of an access that is not judged. */
static bool left_out;

static bool
is_refused(Kernel *k)
{
	Diag *d = u->diag;
	bool refused;

	d->wanted |= 1u << DW_unjudged;
	pass_validate_barriers(k);
	refused = d->nerror > 0;
	left_out = false;
	for (int i = 0; i < d->n; i++)
		left_out = left_out || d->msg[i].warning == DW_unjudged;
	d->nerror = d->n = d->nwarning = 0;
	return refused;
}

static bool
is_accepted(Kernel *k)
{
	return !is_refused(k) && !left_out;
}

/* The first op of that code in a block. */
static Op *
in_block(Block *b, OpCode code)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (o->code == code)
			return o;
	return NULL;
}

/* Loops of at most one iteration, as a remainder behind a main loop: the tile that it writes and then reads
 * needs no barrier between iterations. With dividends of either sign: division truncates. */
static const struct {
	const char *range;
	bool once;
} rests[] = {
	{ "max(0, (N - 6 + 3) / 4 * 4)..N - 2", true },
	{ "max(0, (N - 7 + 3) / 4 * 4)..N - 2", false },
	{ "(0 - N) / 4 * 4..4 - N", true },
	{ "(0 - N) / 4 * 4..5 - N", false },
	{ "0 - (5 - N) / 4 * 4..N - 4", true },
	{ "0 - (6 - N) / 4 * 4..N - 1", false },
};

TEST_EACH(a_rest_runs_once, COUNT_OF(rests))
{
	const char *body = arena_printf(u->arena, "let b: shared f32[8];\n for i in %s step 4 {\n"
	                                          " b[:] = A[0 :+ 8];\n Z[0 :+ 8] = b + 1; }\n",
	                                rests[_i].range);
	Kernel *k = synced(body, false);
	Block *turn = pass_find(k, O_for, 0)->blk[0];
	Op *read = in_block(turn, O_load);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_barrier)
			op_unlink(o);
	ck_assert(is_refused(k));
	op_new(turn, read, O_barrier, read->src, 0, NULL, 0, NULL);
	ck_assert_msg(rests[_i].once ? is_accepted(k) : is_refused(k), "%s", ir_text(u, k));
}

/* Elements narrower than a byte that are written and read in these layouts, without a barrier. */
#define ROWS "((4,4),(8,8)):((8@lane,1@warp),(1@reg,1@lane))"
#define COLUMNS "((4,4),(8,8)):((8@lane,1@warp),(1@lane,1@reg))"
#define SHIFTED "((4,4),(8,8)):((1@warp,8@lane),(1@reg,1@lane))"

static const struct {
	const char *written, *read;
	int vec;
	bool own; /* each byte belongs to one thread */
} halves[] = {
	{ ROWS, ROWS, 8, true },
	{ ROWS, ROWS, 2, true },
	{ ROWS, ROWS, 1, false },
	{ COLUMNS, COLUMNS, 1, false },
	{ ROWS, SHIFTED, 8, false },
	{ ROWS, COLUMNS, 8, false },
};

static const Layout *
layout_of(const char *text)
{
	Layout *l = NEW(u->arena, Layout);
	size_t at = 0;

	ck_assert(layout_parse(l, text, strlen(text), &at));
	return l;
}

TEST_EACH(bytes_of_several_elements, COUNT_OF(halves))
{
	Kernel *k = run_source(u,
	                       "kernel t(X: i4[16, 64], Y: out i4[16, 64])\n{\n grid(1);\n"
	                       " let x: register = X[:, :];\n let b: shared = x;\n Y[:, :] = b;\n}\n",
	                       "");
	Op *write, *read;

	u->target = target_find("sm_80");
	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "legalize", pass_legalize);
	pass_apply(k, "infer", pass_infer);
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	write = pass_find(k, O_store, 0);
	read = pass_find(k, O_load, 1);
	ck_assert_ptr_eq(view_root(store_dest(write)), view_root(load_source(read)));
	store_value(write)->type.layout = layout_of(halves[_i].written);
	read->out[0]->type.layout = layout_of(halves[_i].read);
	write->lowering->access.vec = halves[_i].vec;
	ck_assert_msg(halves[_i].own ? is_accepted(k) : is_refused(k), "%s", ir_text(u, k));
}

TEST_PROGRAM(UNIT_FIXTURE);
