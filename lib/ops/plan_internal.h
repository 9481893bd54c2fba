/* plan_internal.h - declares what the files of hexc_op_plan share. */
#ifndef HEXC_PLAN_INTERNAL_H
#define HEXC_PLAN_INTERNAL_H
#include "lib/ops/ops.h"

/* A program: the operator's own, or one whose kernels it uses. */
typedef struct OpProgram {
	const char *name, *text;
	hexc_module *parsed; /* for its names */
} OpProgram;

/* A kernel that a line of the table requires. */
typedef struct OpKernel {
	uint32_t line;
	const OpProgram *program;
	size_t number; /* index in program->parsed */
	const char *name;
	const hexc_define *define; /* constants of the line and of the host */
	size_t ndefine;
	int64_t candidate;
	bool tuned; /* its family is for this arch only */
	hexc_module *module; /* NULL: an equal kernel has it, or the line was omitted */
} OpKernel;

/* State of hexc_op_plan. */
typedef struct OpJob {
	hexc_op *op;
	Arena *arena;
	OpSource source;
	hexc_op_opts o;
	OpSettings settings;
	OpProgram program[HEXC_FAMILY_STAGES + 1];
	int nprogram;
	hexc_ctx *ctx;
	hexc_opts opts;
	OpKernel *kernel;
	int nkernel;
	struct {
		const char *name, *pack;
	} packed[HEXC_MAX_PARAMS]; /* packed tensors, with the packs of the kernel compiled first */
	int npacked;
	const char *table; /* text of the family */
	uint32_t *out;     /* its omitted lines */
	int nout, out_cap;
	char failed[400];  /* why the last of them was omitted */
	int failed_code;
	char *why;
	size_t n;
	int code;
} OpJob;

/* Returns the target's name. */
static inline const char *
op_arch(const OpJob *j)
{
	return j->opts.arch ? j->opts.arch : OP_DEFAULT_ARCH;
}

/* Sets j->code and the sentence; returns false. */
bool op_fail(OpJob *j, int code, const char *text);

/* ---- table_rows.c ----------------------------------------------------------------------------------- */

/* Reads the table's lines as kernels with the constants of line and host. Returns false with j->code and
 * the sentence set. */
bool op_lines(OpJob *j);
/* Omits a line of the table that is not for this host, arch or compiler. */
void op_leave_out(OpJob *j, uint32_t line);
bool op_is_left_out(const OpJob *j, uint32_t line);
/* Is ALIGN = 1, so that tensors need only the alignment of their elements? */
bool op_takes_any_address(const OpKernel *k);
/* Does the kernel's line follow a retained line of its family that matches all sizes (`when 1`) and accepts
 * as many addresses? Then it is never selected. */
bool op_is_covered(const OpJob *j, const OpKernel *k);
/* Returns the table with omitted lines commented out, so that line numbers do not change. */
const char *op_kept_table(OpJob *j);
#endif
