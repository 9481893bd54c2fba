/* test_gather_to_slice.c - tests pass gather_to_slice: which index tiles become slices, with the same
 * semantics. In C: the types of indices and the equal results of many launches are in no one line of text. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdlib.h>

static const char head[] = "kernel t(X: f32[N], Z: f32[M, N], L: i32[N], Y: out f32[32], s: i32, t: i64)\n"
                           "    assume s <= 1000, s >= -1000, t <= 1000, t >= -1000\n"
                           "{\n"
                           "    grid(1);\n"
                           "    let i = iota(0, 32);\n"
                           "    let p = reshape(iota(0, 8), 8, 1), q = iota(0, 4);\n"
                           "    let j = iota(0, 8, 4), k = iota(1, 8, 4);\n"
                           "    Y[:] = reshape(%s, 32);\n"
                           "}\n";

/* What is read, and by which steps; 0: by indices still; below 0: by those in one dim. */
static const struct {
	const char *read;
	int64_t step;
} made[] = {
	{ "X[i]", 1 },
	{ "X[i64(i) + t]", 1 },
	{ "X[t - 40 + i64(i) * 3]", 3 },
	{ "X[i32(t) + i * 2 - 9]", 2 },
	{ "X[(i + s) * 4 - 3 * i]", 1 },
	{ "X[i - i32(t)]", 1 },
	{ "Z[i * 0 + s, i]", 1 },
	{ "Z[i * 2, i * 0 + s]", 2 },
	{ "X[5 - i]", 0 },              /* backwards */
	{ "X[i * 0 + 3]", 0 },          /* one element */
	{ "X[i / 2]", 0 },
	{ "X[L[0 :+ 32]]", 0 },
	{ "Z[i, i]", 0 },               /* a diagonal */
	{ "X[i * s]", 0 },
	{ "X[i + i32(N)]", 0 },         /* may wrap around */
	{ "X[i * 100000000]", 0 },      /* does */
	{ "X[i + s * 10000001]", 0 },
	/* several dims of indices, all with all or element by element */
	{ "Z[p, q]", 1 },
	{ "Z[j + s, k * 2]", 2 },
	{ "Z[p + i32(t), q - 3]", 1 },
	{ "Z[(j + 1) * 3 - j, i64(k) + t]", 2 },
	{ "Z[k, j]", 0 },               /* in the other order */
	{ "X[j * 4 + k]", 0 },          /* both along one dim */
	{ "Z[j + k, k]", 0 },
	{ "Z[5 - p, q]", 0 },
	{ "Z[q, p * 0]", 0 },           /* repeated along the other */
	{ "Z[p + i32(N), q]", -1 },     /* columns alone */
	{ "Z[reshape(L[0 :+ 8], 8, 1), q * 2 + s]", -2 },
	{ "Z[p * 3 - 2, L[0 :+ 4]]", -3 },
	{ "Z[reshape(L[0 :+ 32], 8, 4), q]", 0 }, /* each row has its own */
	{ "Z[L[0 :+ 4], p]", 0 },       /* in the other order */
};

static const Op *
gather_of(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_load && o->out[0]->type.rank > 0 && o->in[0]->def->code == O_view &&
		    (val_param(k, view_root(o->in[0]))->name[0] == 'X' ||
		     val_param(k, view_root(o->in[0]))->name[0] == 'Z'))
			return o->in[0]->def;
	return NULL;
}

TEST_EACH(indices, COUNT_OF(made))
{
	Kernel *k = run_source(u, arena_printf(u->arena, head, made[_i].read), "");
	Kernel *same = run_source(u, arena_printf(u->arena, head, made[_i].read), "");
	const Op *view;
	int64_t step = 1;
	Run a, b;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "cleanup", pass_cleanup);
	pass_apply(k, "gather_to_slice", pass_gather_to_slice);
	view = gather_of(k);
	ck_assert(view != NULL);
	ck_assert_int_eq(view_gather_dim(view) < 0, made[_i].step > 0);
	if (made[_i].step < 0)
		ck_assert_int_eq(view_gather_rank(view), 1);
	for (int d = 0; d < view->in[0]->type.rank; d++)
		step *= view_step(view, d);
	ck_assert_int_eq(step, made[_i].step ? llabs(made[_i].step) : 1);
	ck_assert(!pass_gather_to_slice(k));
	pass_apply(same, "mask_bounds", pass_mask_bounds);
	for (int n = -33; n <= 33; n += 11) {
		run_setup(&a, k, arena_printf(u->arena, "N=40 M=40 s=%d t=%d", n, -n), 1);
		run_setup(&b, same, arena_printf(u->arena, "N=40 M=40 s=%d t=%d", n, -n), 1);
		run_ok(&a, NULL);
		run_ok(&b, NULL);
		run_same(&a, &b, made[_i].read);
	}
}

/* What indices choose outside of a tensor is zeros that count; it stays so, where a slice's would not. */
TEST(zeros_count)
{
	Kernel *k = run_source(u,
	                       "kernel t(X: f32[N], Y: out f32[1])\n{\n    grid(1);\n"
	                       "    Y[0 :+ 1] = reduce_max(X[iota(0, 32) - 4], 0);\n}\n",
	                       "");
	Run r;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "gather_to_slice", pass_gather_to_slice);
	ck_assert_int_lt(view_gather_dim(pass_find(k, O_view, 0)), 0);
	run_setup(&r, k, "N=50", 1);
	for (int i = 0; i < 50; i++)
		run_put(&r, "X", i, -1 - i);
	run_ok(&r, NULL);
	ck_assert(run_get(&r, "Y", 0) == 0);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
