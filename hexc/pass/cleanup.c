/* cleanup.c - pass cleanup: runs fold, cse and dce until nothing changes, for at most ROUNDS rounds. */
#include "hexc/ir/ir.h"
#include "hexc/pass/pass.h"

enum { ROUNDS = 12 };

bool
pass_cleanup(Kernel *k)
{
	bool changed = false;

	for (int i = 0; i < ROUNDS; i++) {
		bool fold = pass_fold(k), cse = pass_cse(k), dce = pass_dce(k);
		if (!fold && !cse && !dce)
			break;
		changed = true;
	}
	return changed;
}
