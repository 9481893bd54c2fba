/* test_twins.c - passes keep the meaning: every program gives the same bits before and after each of them.
 *
 * Async copies land as late as the waits allow; after sync, accesses without a barrier in between and
 * tiles that overwrite each other are faults. */
#include "hexc/pass/pass.h"
#include "test/check.h"
#include "test/pass/util_pass.h"
#include <stdlib.h>

enum { STAGES = 5 };

static const struct {
	const char *name;
	bool (*run)(Kernel *);
} pass[] = {
#define PASS(name, when, help) { #name, pass_##name },
#include "hexc/pass/passes.def"
	{ "sync again", pass_sync },
};

TEST_EACH(twins, pass_program_count() * STAGES * PASS_SIZES)
{
	const Program *p = &pass_program[_i / (STAGES * PASS_SIZES)];
	int stages = _i / PASS_SIZES % STAGES + 1;
	const char *sizes = p->sizes[_i % PASS_SIZES];
	InterpOpt plain = { .workers.threads = 1 }, late = { .workers.threads = 1, .late = true };
	InterpOpt races = { .workers.threads = 1, .races = true };
	Unit *u = ir_unit();
	Run before, after;

	run_setup(&before, pass_source(u, p, stages), sizes, (uint64_t)_i);
	pass_apply(before.k, "bounds", pass_bounds);
	run_ok(&before, &plain);
	run_setup(&after, pass_source(u, p, stages), sizes, (uint64_t)_i);
	pass_apply(after.k, "bounds", pass_bounds);
	for (size_t i = 0; i < COUNT_OF(pass); i++) {
		Kernel *k = after.k;

		pass_apply(k, pass[i].name, pass[i].run);
		run_setup(&after, k, sizes, (uint64_t)_i);
		run_ok(&after, &late);
		run_same(&before, &after, pass[i].name);
		if (pass[i].run != pass_sync)
			continue;
		run_setup(&after, k, sizes, (uint64_t)_i);
		run_ok(&after, &races);
		run_same(&before, &after, "races");
	}
	ir_unit_free(u);
}

TEST_PROGRAM(.timeout = 60);
