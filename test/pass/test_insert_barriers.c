/* test_insert_barriers.c - tests that every barrier of pass insert_barriers is needed: without it the
 * interpreter sees a race. In C: the interpreter watches accesses only there; barriers*.hexc have what the
 * pass inserts. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"

/* Does the kernel fail for some launch, when accesses are watched? */
static bool
fails(const Program *p, Kernel *k)
{
	InterpOpt races = { .workers.threads = 1, .races = true };
	Run r;

	for (int s = 0; s < PASS_SIZES; s++) {
		run_setup(&r, k, p->sizes[s], 1);
		if (interp_run(k, r.arg, k->nparam, &races) == INTERP_E_FAULT)
			return true;
	}
	return false;
}

/* Take them out one by one: the watcher must see it. */
TEST_EACH(every_barrier_is_needed, pass_program_count() * 3)
{
	const Program *p = &pass_program[_i / 3];
	int stages = _i % 3 + 1;
	Op *o;

	for (int n = 0;; n++) {
		Unit *own = ir_unit();
		Kernel *k = pass_source(own, p, stages);

		pass_apply(k, "mask_bounds", pass_mask_bounds);
		pass_apply(k, "pipeline", pass_pipeline);
		pass_apply(k, "allocate_smem", pass_allocate_smem);
		pass_apply(k, "insert_barriers", pass_insert_barriers);
		o = pass_find(k, O_barrier, n);
		if (o) {
			op_unlink(o);
			ck_assert_msg(fails(p, k), "%s with %d stages: barrier %d can "
			"go\n%.3000s", p->name,
			              stages, n, ir_text(own, k));
		}
		ir_unit_free(own);
		if (!o)
			break;
	}
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
