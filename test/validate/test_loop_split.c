/* test_loop_split.c - tests the validator of pass split_loops: it accepts split loops, and rejects corrupted
 * ones: where the unmasked loop ends, where and with which values the remainder continues, and the body of an
 * unmasked iteration. */
#include "hexc/pass/pass.h"
#include "infer/core/solution.h"
#include "infer/validate/linear_form.h"
#include "infer/validate/validate.h"
#include "test/infer/util_infer.h"
#include "test/validate/util_prove.h"
#include "test/util_arena.h"
#include "test/util_file.h"
#include <string.h>

#define ATTENTION "examples/attention.hexc"
#define WINDOW "test/infer/programs/window.hexc"

static Op *
loop_of(Kernel *k, SplitKind kind)
{
	Op *o = infer_loop(k, kind);

	ck_assert_ptr_nonnull(o);
	return o;
}

static Op *
clear_of(Kernel *k)
{
	return loop_of(k, SPLIT_MAIN);
}

static Op *
rest_of(Kernel *k)
{
	return loop_of(k, SPLIT_REMAINDER);
}

static Op *
in_loop(Op *loop, OpCode code, int nth)
{
	return prove_op(loop->blk[0], code, nth);
}

/* ---- where the loop without masks ends ---------------------------------------------------------------- */

/* The numbers that the end is the least of. */
static int
ends(Val *v, Op **op, int n)
{
	Op *o = v->def;

	if (o->code == O_select)
		return ends(o->in[1], op, n);
	if (o->code == O_min) {
		n = ends(o->in[0], op, n);
		return ends(o->in[1], op, n);
	}
	op[n++] = o;
	return n;
}

/* Each of them later by so much, one after the other until the checker says something. */
static void
later_by(Kernel *k, int64_t more)
{
	Op *op[8], *clear = clear_of(k);
	int n = ends(clear->in[1], op, 0);

	for (int i = 0; i < n; i++) {
		Val *v = op[i]->out[0], *sum = ir_bin(op[i]->parent, op[i]->next, O_add, v,
		                                      ir_const(op[i]->parent, op[i]->next, more));

		val_replace(k, v, sum);
		sum->def->in[0] = v;
	}
}

static void
element_further(Kernel *k)
{
	later_by(k, 1);
}

static void
step_further(Kernel *k)
{
	later_by(k, 64);
}

static void
to_the_end(Kernel *k)
{
	clear_of(k)->in[1] = rest_of(k)->in[1];
}

static void
condition_left_out(Kernel *k)
{
	Op *clear = clear_of(k);

	clear->in[1] = clear->in[1]->def->in[1];
}

static void
other_condition(Kernel *k)
{
	Op *le = clear_of(k)->in[1]->def->in[0]->def;
	Val *x = le->in[0];

	le->in[0] = le->in[1];
	le->in[1] = x;
}

/* Both sides far enough for the machine to wrap around, so that it holds of others. */
static void
wrapped_condition(Kernel *k)
{
	Op *le = clear_of(k)->in[1]->def->in[0]->def;
	int64_t far = INT64_MAX - ((int64_t)1 << 33);

	for (int i = 0; i < 2; i++)
		le->in[i] = ir_bin(le->parent, le, O_add, le->in[i], ir_const(le->parent, le, far));
}

static void
least_is_most(Kernel *k)
{
	Op *o = clear_of(k)->in[1]->def->in[1]->def;

	ck_assert_int_eq(o->code, O_min);
	o->code = O_max;
}

/* ---- where the rest goes on --------------------------------------------------------------------------- */

static void
from_the_start(Kernel *k)
{
	rest_of(k)->in[0] = clear_of(k)->in[0];
}

static void
turn_left_out(Kernel *k)
{
	Op *rest = rest_of(k);

	rest->in[0] = ir_bin(rest->parent, clear_of(k), O_add, rest->in[0], rest->in[2]);
}

static void
from_the_end(Kernel *k)
{
	rest_of(k)->in[0] = clear_of(k)->in[1];
}

static void
rounded_down(Kernel *k)
{
	Op *max = rest_of(k)->in[0]->def, *div;

	div = max->in[1]->def->in[0]->def;
	ck_assert_int_eq(div->code, O_div);
	div->in[0] = clear_of(k)->in[1];
}

static void
other_step(Kernel *k)
{
	Op *rest = rest_of(k);

	rest->in[2] = ir_const(rest->parent, clear_of(k), 128);
}

static void
ring_from_the_start(Kernel *k)
{
	Op *clear = clear_of(k), *rest = rest_of(k);

	rest->in[rest->nin - 1] = clear->in[clear->nin - 1];
}

static void
sums_from_the_start(Kernel *k)
{
	rest_of(k)->in[4] = clear_of(k)->in[4];
}

static void
crossed(Kernel *k)
{
	Op *rest = rest_of(k);
	Val *v = rest->in[3];

	rest->in[3] = rest->in[5];
	rest->in[5] = v;
}

static void
no_rest(Kernel *k)
{
	IMM_SET(rest_of(k), split, SPLIT_NONE);
}

static void
no_clear(Kernel *k)
{
	IMM_SET(clear_of(k), split, SPLIT_NONE);
}

/* ---- what a turn does ------------------------------------------------------------------------------------
 * */

static void
other_arithmetic(Kernel *k)
{
	in_loop(clear_of(k), O_exp2, 0)->code = O_exp;
}

static void
other_operand(Kernel *k)
{
	in_loop(clear_of(k), O_max, 0)->in[0] = clear_of(k)->blk[0]->arg[1];
}

static void
no_barrier(Kernel *k)
{
	op_unlink(in_loop(clear_of(k), O_barrier, 0));
}

static void
no_copies(Kernel *k)
{
	Op *o = in_loop(clear_of(k), O_if, 0);

	IMM_SET(o->in[0]->def, value, 0);
}

static void
copy_left_out(Kernel *k)
{
	op_unlink(in_loop(clear_of(k), O_copy, 0));
}

static void
later_copy(Kernel *k)
{
	Op *view = in_loop(clear_of(k), O_copy, 0)->in[0]->def;

	view->in[2] = clear_of(k)->blk[0]->arg[0];
}

static void
narrower(Kernel *k)
{
	in_loop(clear_of(k), O_load, 0)->lowering->access.vec = 4;
}

static void
carried_on_crossed(Kernel *k)
{
	Op *yield = clear_of(k)->blk[0]->last;
	Val *v = yield->in[0];

	yield->in[0] = yield->in[2];
	yield->in[2] = v;
}

/* The rest has a mask that holds of fewer elements than the tile has. */
static void
tighter_mask(Kernel *k)
{
	Op *o = in_loop(rest_of(k), O_mask, 0);

	o->in[1] = ir_bin(o->parent, o, O_sub, o->in[1], ir_const(o->parent, o, 1));
}

static void
tighter_comparison(Kernel *k)
{
	in_loop(rest_of(k), O_le, 0)->code = O_lt;
}

static void
other_choice(Kernel *k)
{
	Op *o = in_loop(rest_of(k), O_select, 0);
	Val *v = o->in[1];

	o->in[1] = o->in[2];
	o->in[2] = v;
}

/* ---- the loop in front ------------------------------------------------------------------------------ */

static void
element_earlier(Kernel *k)
{
	Op *front = loop_of(k, SPLIT_PROLOGUE);

	front->in[1] = ir_bin(front->parent, front, O_sub, front->in[1], ir_const(front->parent, front, 1));
}

/* Also where the loop behind starts, so that only what it lacks is wrong. */
static void
starts_earlier(Kernel *k)
{
	Op *o = loop_of(k, SPLIT_PROLOGUE)->in[1]->def->in[0]->def; /* of min(.., hi) */
	Val *v = o->out[0], *less = ir_bin(o->parent, o->next, O_sub, v, ir_const(o->parent, o->next, 1));

	val_replace(k, v, less);
	less->def->in[0] = v;
}

static void
no_turns_in_front(Kernel *k)
{
	Op *front = loop_of(k, SPLIT_PROLOGUE);

	front->in[1] = front->in[0];
}

static void
beyond_the_end(Kernel *k)
{
	Op *o = loop_of(k, SPLIT_PROLOGUE)->in[1]->def;

	ck_assert_int_eq(o->code, O_min);
	o->code = O_max;
}

static void
unmasked_in_front(Kernel *k)
{
	Op *o = in_loop(loop_of(k, SPLIT_PROLOGUE), O_select, 0);

	val_replace(k, o->out[0], o->in[1]);
	op_unlink(o);
}

#define ENDS "is missing or different in the unmasked loop"
#define GOES_ON "the remainder loop does not start where the unmasked loop ends"
static const struct {
	Corruption change;
	bool window;
} cases[] = {
#define C(fn, says) { { #fn, fn, says }, false }
	C(element_further, "split loop: "),
	C(step_further, "split loop: "),
	C(to_the_end, GOES_ON), /* which is computed of the end */
	C(condition_left_out, GOES_ON),
	C(other_condition, ENDS),
	C(wrapped_condition, ENDS),
	C(least_is_most, "the unmasked loop may run past the end"),
	C(from_the_start, GOES_ON),
	C(turn_left_out, GOES_ON),
	C(from_the_end, GOES_ON),
	C(rounded_down, GOES_ON),
	C(other_step, GOES_ON),
	C(ring_from_the_start, "the remainder loop does not continue with the carried values"),
	C(sums_from_the_start, "the remainder loop does not continue with the carried values"),
	C(crossed, "the remainder loop does not continue with the carried values"),
	C(no_rest, "the remainder loop is missing"),
	C(no_clear, "split loop: a remainder loop without a main loop"),
	C(other_arithmetic, ENDS),
	C(other_operand, ENDS),
	C(no_barrier, ENDS),
	C(no_copies, "an `if` takes another path"),
	C(copy_left_out, ENDS),
	C(later_copy, ENDS),
	C(narrower, ENDS),
	C(carried_on_crossed, "the unmasked loop carries a different value"),
	C(tighter_mask, ENDS),
	C(tighter_comparison, ENDS),
	C(other_choice, ENDS),
#undef C
#define C(fn, says) { { #fn, fn, says }, true }
	C(element_further, "split loop: "),
	C(element_earlier, GOES_ON),
	C(starts_earlier, ENDS),
	C(no_turns_in_front, GOES_ON),
	C(beyond_the_end, "split loop: "),
	C(unmasked_in_front, ENDS),
	C(no_clear, "the remainder loop is missing"),
	C(ring_from_the_start, "the remainder loop does not continue with the carried values"),
#undef C
};

/* The example, causal. */
static const char *
causal(void)
{
	const char *source = file_read(ATTENTION, NULL), *at = strstr(source, "0\n    tune BM");

	ck_assert(at != NULL);
	return arena_printf(&arena, "%.*s1%s", (int)(at - source), source, at + 1);
}

static Kernel *
split(bool window)
{
	Kernel *k = infer_solved(&arena, window ? file_read(WINDOW, NULL) : causal(), "sm_80", 0)->k;

	ck_assert(pass_split_loops(k));
	return k;
}

TEST_EACH(rejects, COUNT_OF(cases))
{
	prove_rejects(split(cases[_i].window), pass_validate_loop_split, &cases[_i].change);
}

static void
strided_down(Kernel *k)
{
	Op *add = rest_of(k)->in[0]->def->in[1]->def, *div = add->in[1]->def->in[0]->def;

	ck_assert_int_eq(div->code, O_div);
	div->in[0] = div->in[0]->def->in[0];
}

/* By a step known at run time only, whose multiples might wrap around as far as ranges say. */
static const Corruption strided[] = {
	{ "from_the_start", from_the_start, GOES_ON }, { "turn_left_out", turn_left_out, GOES_ON },
	{ "other_step", other_step, GOES_ON },         { "to_the_end", to_the_end, "split loop: " },
	{ "strided_down", strided_down, GOES_ON },
};

TEST_EACH(rejects_strided, COUNT_OF(strided))
{
	Kernel *k = infer_solved(&arena,
	                         "kernel t(X: f32[N], S: out f32[B])\n{\n    grid(B);\n"
	                         "    var t: register f32[128] = 0;\n"
	                         "    for i in block.x * 128..N step B * 128 {\n"
	                         "        t += X[i :+ 128];\n    }\n"
	                         "    S[block.x :+ 1] = sum(t, 0);\n}\n",
	                         "sm_80", 0)
	                    ->k;

	ck_assert(pass_split_loops(k));
	prove_rejects(k, pass_validate_loop_split, &strided[_i]);
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);

static void
later_part(Kernel *k)
{
	IMM_SET(in_loop(clear_of(k), O_slice, 0), from, 65);
	IMM_SET(in_loop(rest_of(k), O_slice, 0), from, 65);
}

/* A condition that the program has made of other elements than those it chooses between. */
TEST(reshaped_condition)
{
	static const Corruption later = { "later_part", later_part, "split loop: select of line" };
	Kernel *k = infer_solved(&arena,
	                         "kernel t(X: f32[N, 32], S: out f32[64, 32])\n{\n    grid(1);\n"
	                         "    var t: register f32[64, 32] = 0;\n"
	                         "    for n in 0..N step 64 {\n"
	                         "        let at = n + i64(iota(0, 128));\n"
	                         "        let there = reshape(at[0 :+ 64] < N, 64, 1);\n"
	                         "        t += where(there, X[n :+ 64, 0 :+ 32], 1);\n    }\n"
	                         "    S[0 :+ 64, 0 :+ 32] = t;\n}\n",
	                         "sm_80", 0)
	                    ->k;

	ck_assert(pass_split_loops(k));
	prove_rejects(k, pass_validate_loop_split, &later);
}

/* Groups of 64 with a scale each: K / 64 of them, of which a turn takes the four from k / 64 on. */
TEST(masks_of_quotients)
{
	static const Corruption wrong[] = {
		{ "step_further", step_further, "split loop: mask of line" },
		{ "tighter_mask", tighter_mask, ENDS },
	};

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		Kernel *k = infer_solved(&arena,
		                         "kernel t(Q: f32[K], S: f32[K / 64], Y: out f32[1])\n"
		                         "    assume K % 64 == 0\n{\n    grid(1);\n"
		                         "    var t: register f32[1] = 0;\n"
		                         "    for k in 0..K step 256 {\n"
		                         "        let q = sum(reshape(Q[k :+ 256], 4, 64), 1);\n"
		                         "        t += sum(reshape(q, 4) * S[k / 64 :+ 4], 0);\n    }\n"
		                         "    Y[0 :+ 1] = t;\n}\n",
		                         "sm_80", 0)
		                    ->k;

		ck_assert(pass_split_loops(k));
		prove_rejects(k, pass_validate_loop_split, &wrong[i]);
	}
}

/* x / 64 >= 4 where x >= 256, but not where it is 255 at least; of multiples of 64 that is the same. */
TEST(quotients)
{
	for (int64_t mult = 1; mult <= 64; mult += 63) {
		const char *assume = mult == 64 ? " assume K % 64 == 0" : "";
		const char *source = arena_printf(&arena,
		                                  "kernel t(X: f32[K], Y: out f32[K])%s\n{\n    grid(1);\n"
		                                  "    Y[0 :+ 64] = X[K / 64 :+ 64];\n}\n",
		                                  assume);
		Kernel *k = infer_solved(&arena, source, "sm_80", 0)->k;
		Val *x = k->param[2].val, *q = prove_op(k->body, O_div, 0)->out[0];
		LinearForm four = affine_add(affine_of(k, q), affine_const(4), -1);

		for (int64_t least = 254; least <= 256; least++) {
			Known h = { .k = k };

			known_add(&h, affine_add(affine_of(k, x), affine_const(least), -1));
			ck_assert(known_implies(&h, &four) == (least > (mult == 64 ? 192 : 255)));
		}
	}
}
