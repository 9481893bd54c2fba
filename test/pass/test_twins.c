/* test_twins.c - tests that passes keep semantics: every program gives the same bits before and after each
 * of them. In C: the interpreter watches accesses only there.
 *
 * Async copies land as late as the waits allow; after insert_barriers, accesses without a barrier in between
 * and overlapping live tiles are faults. */
#include "hexc/pass/pass.h"
#include "test/check.h"
#include "test/pass/util_pass.h"
#include <math.h>
#include <stdlib.h>

enum { STAGES = 5 };

static const struct {
	const char *name;
	bool (*run)(Kernel *);
} pass[] = {
#define PASS(name, former, when, help) { #name, pass_##name },
#include "hexc/pass/passes.def"
	{ "sync again", pass_insert_barriers },
};

/* A launch whose sums are exact in any order: passes may change it.  f16, f32: multiples of 1/64. */
static void
set_up(Run *r, Kernel *k, const char *sizes, int seed)
{
	run_setup(r, k, sizes, (uint64_t)seed);
	for (int i = 0; i < k->nparam; i++) {
		const Param *p = &k->param[i];

		if (p->kind != P_tensor || !p->read || !dtype_is_float(p->val->type.dtype))
			continue;
		for (int64_t j = 0; j < r->arg[i].count; j++)
			run_put(r, p->name, j, floor(run_get(r, p->name, j) * 64) / 64);
	}
}

TEST_EACH(twins, pass_program_count() * STAGES * PASS_SIZES)
{
	const Program *p = &pass_program[_i / (STAGES * PASS_SIZES)];
	int stages = _i / PASS_SIZES % STAGES + 1;
	const char *sizes = p->sizes[_i % PASS_SIZES];
	InterpOpt plain = { .workers.threads = 1 }, late = { .workers.threads = 1, .late = true };
	InterpOpt races = { .workers.threads = 1, .races = true };
	Run before, after;
	Unit *u;

	if (getenv("QUICK") && (_i / PASS_SIZES + _i) % 2) /* other sizes with other stages */
		return;
	u = ir_unit();
	set_up(&before, pass_source(u, p, stages), sizes, _i);
	pass_apply(before.k, "mask_bounds", pass_mask_bounds);
	run_ok(&before, &plain);
	set_up(&after, pass_source(u, p, stages), sizes, _i);
	pass_apply(after.k, "mask_bounds", pass_mask_bounds);
	for (size_t i = 0; i < COUNT_OF(pass); i++) {
		Kernel *k = after.k;

		pass_apply(k, pass[i].name, pass[i].run);
		set_up(&after, k, sizes, _i);
		run_ok(&after, &late);
		run_same(&before, &after, pass[i].name);
		if (pass[i].run != pass_insert_barriers)
			continue;
		set_up(&after, k, sizes, _i);
		run_ok(&after, &races);
		run_same(&before, &after, "races");
	}
	ir_unit_free(u);
}

TEST_PROGRAM(.timeout = 60);
