/* util_prove.c - checks that the validator accepts a kernel, and rejects it after a change. */
#include "test/validate/util_prove.h"
#include "test/check.h"
#include <string.h>

void
prove_clean(Kernel *k, bool (*checker)(Kernel *))
{
	const Diag *diag = k->unit->diag;

	checker(k);
	ck_assert_msg(diag->nerror == 0, "not clean: %s", diag->n ? diag->msg[0].text : "");
}

int
prove_rejects(Kernel *k, bool (*checker)(Kernel *), const Corruption *c)
{
	const Diag *diag = k->unit->diag;
	int first = diag->n;

	prove_clean(k, checker);
	c->corrupt(k);
	checker(k);
	ck_assert_msg(diag->nerror > 0 && diag->n > first, "%s: not noticed", c->name);
	ck_assert_int_eq(diag->msg[first].cls, DC_INTERNAL);
	ck_assert_ptr_nonnull(strstr(diag->msg[first].text, "internal: "));
	ck_assert_msg(strstr(diag->msg[first].text, c->says), "%s: %s", c->name, diag->msg[first].text);
	return diag->nerror;
}

Op *
prove_op(Block *b, OpCode code, int nth)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (o->code == code && nth-- == 0)
			return o;
	ck_abort_msg("no such op");
	return NULL;
}
