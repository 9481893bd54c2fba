/* util_unit.h - TEST_PROGRAM(UNIT_FIXTURE) gives each test a separate unit. Include it last. */
#ifndef TEST_UTIL_UNIT_H
#define TEST_UTIL_UNIT_H
#include "test/check.h"
#include "test/ir/util_ir.h"

static Unit *u;

static inline void
unit_setup(void)
{
	u = ir_unit();
}

static inline void
unit_teardown(void)
{
	ir_unit_free(u);
}

#define UNIT_FIXTURE .setup = unit_setup, .teardown = unit_teardown
#endif
