/* test_versions.c - tests the validator of pass version_accesses: it accepts its output, and rejects a
 * version that runs where its accesses are not allowed. */
#include "hexc/pass/pass.h"
#include "infer/core/solution.h"
#include "infer/infer.h"
#include "test/infer/util_infer.h"
#include "test/validate/util_prove.h"
#include "test/util_arena.h"

#define ROWS                                                                                       \
	"kernel t(X: f16[M, N], Y: out f16[M, N])\n{\n    grid(ceil(M, 16));\n"                     \
	"    let m = block.x * 16;\n    Y[m :+ 16, 0 :+ 64] = X[m :+ 16, 0 :+ 64] * 2;\n}\n"
#define LINE                                                                                       \
	"kernel t(X: f32[N], Y: out f32[N])\n{\n    grid(ceil(N, 512));\n"                          \
	"    let i = block.x * 512;\n    Y[i :+ 512] = X[i :+ 512] * 2;\n}\n"

static Op *
branch_of(Kernel *k)
{
	return prove_op(k->body, O_if, 0);
}

static Op *
condition_of(Kernel *k)
{
	return branch_of(k)->in[0]->def;
}

/* ---- corruptions ------------------------------------------------------------------------------------- */

static void
half_the_multiple(Kernel *k)
{
	IMM_SET(condition_of(k)->in[0]->def->in[1]->def, value, 4);
}

static void
other_rest(Kernel *k)
{
	IMM_SET(condition_of(k)->in[1]->def, value, 4);
}

static void
other_size(Kernel *k)
{
	condition_of(k)->in[0]->def->in[0] = k->param[2].val;
}

static void
the_contrary(Kernel *k)
{
	condition_of(k)->code = O_ne;
}

static void
versions_changed(Kernel *k)
{
	Op *o = branch_of(k);
	Block *wide = o->blk[0];

	o->blk[0] = o->blk[1];
	o->blk[1] = wide;
}

static void
view_in_front(Kernel *k)
{
	Op *o = branch_of(k);

	op_move_before(prove_op(o->blk[0], O_view, 0), o);
}

static void
less_room(Kernel *k)
{
	IMM_SET(condition_of(k)->in[0]->def->in[1]->def, value, 511);
}

static void
room_elsewhere(Kernel *k)
{
	condition_of(k)->in[0] = condition_of(k)->in[0]->def->in[1];
}

static void
room_behind(Kernel *k)
{
	Op *c = condition_of(k);
	Val *size = c->in[1];

	c->in[1] = c->in[0];
	c->in[0] = size;
}

static const struct {
	const char *source;
	Corruption change;
} cases[] = {
#define C(source, fn, says) { source, { #fn, fn, says } }
	C(ROWS, half_the_multiple, "the tile is not known to start at a multiple of the 8 elements per "
	                           "access"),
	C(ROWS, other_rest, "the tile is not known to start at a multiple of the 8 elements per access"),
	C(ROWS, other_size, "the tile is not known to start at a multiple of the 8 elements per access"),
	C(ROWS, the_contrary, "the tile is not known to start at a multiple of the 8 elements per access"),
	C(ROWS, versions_changed, "the tile is not known to start at a multiple of the 8 elements per "
	                          "access"),
	C(ROWS, view_in_front, "the tile is not known to start at a multiple of the 8 elements per access"),
	C(LINE, less_room, "an access of 4 elements may reach past the end of the tensor"),
	C(LINE, room_elsewhere, "an access of 4 elements may reach past the end of the tensor"),
	C(LINE, room_behind, "an access of 4 elements may reach past the end of the tensor"),
	C(LINE, versions_changed, "an access of 4 elements may reach past the end of the tensor"),
	C(LINE, view_in_front, "an access of 4 elements may reach past the end of the tensor"),
#undef C
};

TEST_EACH(rejects, COUNT_OF(cases))
{
	Kernel *k = infer_solved(&arena, cases[_i].source, "sm_80", 0)->k;

	prove_rejects(k, pass_validate, &cases[_i].change);
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);
