/* test_assign_space.c - tests pass assign_space: which loads have an open space, and which space they get;
 * copies of kernels. In C: all choices of an API are compared by results. */
#include "hexc/pass/pass.h"
#include "hexc/ir/verify/verify.h"
#include "hexc/pass/assign_space.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include <stdlib.h>
#include <string.h>

/* Two dots read `a`, one turned; `t` is a table, `r` is summed only, `g` names rows. */
static const char source[] =
	"kernel k(A: f16[M, 32], B: f16[N, 32], T: f16[16], W: u4[N, 32], R: f32[M, 32], G: i32[M],\n"
	"    C: out f32[M, 32])\n"
	"    assume N % 16 == 0\n"
	"{\n"
	"    grid(ceil(M, 32));\n"
	"    let m = block.x * 32;\n"
	"    let a = A[m :+ 32, :], t = T[0 :+ 16], r = R[m :+ 32, :], g = G[m :+ 32];\n"
	"    var acc: register f32[32, 32] = 0;\n"
	"    for n in 0..N step 32 {\n"
	"        let b = B[n :+ 32, :], w = W[n :+ 32, :];\n"
	"        acc += dot(a, lookup(t, w).T) + dot(a.T, b) + dot(A[g, :], b);\n"
	"    }\n"
	"    C[m :+ 32, :] = acc + sum(r, 1);\n"
	"}\n";

static int
marked(Kernel *k)
{
	OpWalk w;
	int n = 0;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		n += o->code == O_load && o->imm[0];
	return n;
}

static int
count(Kernel *k, OpCode code, Space from)
{
	OpWalk w;
	int n = 0;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		n += o->code == code && o->in[0]->type.space == from;
	return n;
}

TEST(free_tiles)
{
	Kernel *k = run_source(u, source, "");
	SpaceChoice *place;
	int n;

	ck_assert_int_eq(marked(k), 7);
	space_find(k, &place, &n);
	ck_assert_int_eq(n, 4); /* not the table, the sum, the indices */
	ck_assert_str_eq(place[0].name, "a");
	ck_assert_str_eq(place[1].name, "b");
	ck_assert_str_eq(place[2].name, "w");
	ck_assert_str_eq(place[3].name, "A[..]");
	ck_assert_int_eq(place[0].bytes, 2048);
	ck_assert_int_eq(place[2].bytes, 512);
	ck_assert_int_eq(marked(k), 4);
	ck_assert(kernel_verify(k, "space_find"));
}

/* Each of the 16 choices computes what the program says. */
TEST_EACH(choices, 16)
{
	InterpOpt opt = { .workers.threads = 1 };
	bool registers[4] = { _i & 1, _i >> 1 & 1, _i >> 2 & 1, _i >> 3 & 1 };
	int shared = 4 - registers[0] - registers[1] - registers[2] - registers[3];
	Kernel *base = run_source(u, source, ""), *k;
	Run before, after;
	SpaceChoice *place;
	int n;

	space_find(base, &place, &n);
	k = kernel_copy(base);
	ck_assert_str_eq(ir_text(u, k), ir_text(u, base));
	space_decide(k, registers);
	ck_assert_int_eq(marked(k), shared);
	pass_apply(k, "assign_space", pass_assign_space);
	ck_assert_int_eq(marked(k), 0);
	ck_assert_int_eq(marked(base), 4);
	ck_assert_int_eq(count(k, O_copy, S_global), shared);
	/* a is read by two dots, once turned, b by two: each reader has its own load of the one copy */
	ck_assert_int_eq(count(k, O_load, S_shared),
	                 2 * !registers[0] + 2 * !registers[1] + !registers[2] + !registers[3]);
	run_setup(&before, base, "M=40 N=64", 7);
	for (int64_t i = 0; i < 40; i++)
		run_put(&before, "G", i, (double)(39 - i));
	run_ok(&before, &opt);
	run_setup(&after, k, "M=40 N=64", 7);
	for (int64_t i = 0; i < 40; i++)
		run_put(&after, "G", i, (double)(39 - i));
	run_ok(&after, &opt);
	run_same(&before, &after, "assign_space");
	ck_assert(!pass_assign_space(k));
}

/* From text: an op may read the tile twice, and a loop may start from it. */
TEST(from_text)
{
	static const char text[] =
		"kernel t {\n  warps 4\n"
		"  param %1.A tensor A : global f16[32, 32] read size %2, %2 stride %2, %3\n"
		"  param %4.C tensor C : global f16[32, 32] written size %2, %2 stride %2, %3\n"
		"  grid {\n    %5 = const value 1 : i64\n    yield %5, %5, %5\n  }\n"
		"  body {\n"
		"    %2 = const value 32 : i64\n"
		"    %3 = const value 1 : i64\n"
		"    %6 = const value 0 : i64\n"
		"    %7 = view %1.A, %6, %6 : global f16[32, 32]\n"
		"    %8.x = load %7 space_open 1 : reg f16[32, 32]\n"
		"    %9 = mul %8.x, %8.x : reg f16[32, 32]\n"
		"    %10 = for %6, %2, %3, %8.x : reg f16[32, 32] { (%11 : i64, %12 : reg f16[32, 32])\n"
		"      %13 = dot %9, %8.x, %12 : reg f16[32, 32]\n"
		"      yield %13\n"
		"    }\n"
		"    %14 = view %4.C, %6, %6 : global f16[32, 32]\n"
		"    store %10, %14\n"
		"    yield\n  }\n}\n";
	Kernel *k = ir_read(u, text);
	SpaceChoice *place;
	int n;

	space_find(k, &place, &n);
	ck_assert_int_eq(n, 1);
	pass_apply(k, "assign_space", pass_assign_space);
	ck_assert_int_eq(count(k, O_load, S_shared), 3);
	ck_assert_int_eq(count(k, O_load, S_global), 0);
	ck_assert_ptr_eq(pass_find(k, O_mul, 0)->in[0], pass_find(k, O_mul, 0)->in[1]);
}

TEST_PROGRAM(UNIT_FIXTURE);
