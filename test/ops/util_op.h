/* util_op.h - operators on the simulator, with the data and the formulas of the tests of examples. */
#ifndef UTIL_OP_H
#define UTIL_OP_H
#include "test/examples/util_case.h"
#include "lib/hexc_ops.h"

/* Before all tests: find the simulator as a device.  For .start of TEST_PROGRAM. */
int op_start(int argc, char **argv);
/* A family of an operator was launched with these sizes and took this line: counted for op_passed, as op_run
 * does. */
void op_ran(const hexc_family *f, size_t line, const int64_t *size, size_t nsize);
/* Behind all tests: has each operator that was run, run at 20 different shapes or more, and each line of its
 * table?  For .passed of TEST_PROGRAM. */
int op_passed(void);

/* Behind a launch: each number of rows from 1 to 300 finds a kernel, beside the other sizes that the call
 * has. */
void op_every_size(hexc_family_call *call);

/* Plan operator `name` for arch with settings "NAME=VALUE" (NULL at the end), launch it as a call of its
 * family with the case's data on the simulator, and compare what it writes.  Returns the line of the table
 * that was taken, from 0.  Ends the test on failure.  Plans are kept: the same settings are not compiled
 * again. */
size_t op_run(Case *c, const char *arch, const char *name, const char *const *set);
#define OP_RUN(c, arch, name, ...) op_run(c, arch, name, (const char *const[]){ __VA_ARGS__, NULL })
#endif
