/* plan_internal.h - what the files of hexc_op_plan share. */
#ifndef HEXC_PLAN_INTERNAL_H
#define HEXC_PLAN_INTERNAL_H
#include "lib/ops/ops.h"

/* A program: the operator's own, or one that it takes kernels from. */
typedef struct OpProgram {
	const char *name, *text;
	hexc_module *parsed; /* for the names that it has */
} OpProgram;

/* A kernel that a line of the table asks for. */
typedef struct OpKernel {
	uint32_t line;
	const OpProgram *program;
	size_t number; /* in program->parsed */
	const char *name;
	const hexc_define *define; /* the line's and the host's */
	size_t ndefine;
	int64_t candidate;
	bool tuned; /* of a family for this architecture alone */
	hexc_module *module; /* NULL: another one like it has it, or it was left out */
} OpKernel;

/* A plan that is being made. */
typedef struct OpJob {
	hexc_op *op;
	Arena *arena;
	OpSource source;
	hexc_op_opts o;
	const hexc_op_set *set;
	size_t nset;
	bool *used;
	OpProgram program[HEXC_FAMILY_STAGES + 1];
	int nprogram;
	hexc_ctx *ctx;
	hexc_opts opts;
	OpKernel *kernel;
	int nkernel;
	struct {
		const char *name, *pack;
	} packed[HEXC_MAX_PARAMS]; /* tensors, as the kernel that was compiled first has them */
	int npacked;
	const char *table; /* text of the family */
	uint32_t *out;     /* lines of it that are left out */
	int nout, out_cap;
	char failed[400];  /* why the last of them was */
	int failed_code;
	char *why;
	size_t n;
	int code;
} OpJob;

/* j->code = code, and the sentence; false. */
bool op_fail(OpJob *j, int code, const char *text);

/* ---- table_rows.c ------------------------------------------------------------------------------------------- */

/* The table's lines as kernels, with the constants that line and host say.  False: j->code, and the
 * sentence. */
bool op_lines(OpJob *j);
/* A line of the table that is not for this host, arch or compiler. */
void op_leave_out(OpJob *j, uint32_t line);
bool op_is_left_out(const OpJob *j, uint32_t line);
/* Has it ALIGN = 1, so that tensors are anywhere in memory where their elements can be? */
bool op_takes_any_address(const OpKernel *k);
/* What stands in its family behind a line that is kept and holds for all sizes (`when 1`) is never taken,
 * unless it takes more addresses. */
void op_leave_out_rest(OpJob *j);
/* The table without such lines: they stay as remarks, so that those behind keep their number. */
const char *op_kept_table(OpJob *j);
#endif
