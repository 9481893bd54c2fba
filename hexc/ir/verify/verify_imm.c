/* verify_imm.c - verifies an op's immediates: none without a name, and each in the range that IR.md states,
 * if it depends on nothing else. */
#include "hexc/ir/dot.h"
#include "hexc/ir/verify/verify.h"

static const struct {
	Imm name;
	int64_t last; /* 0 to last */
} range[] = {
	{ IMM_axis, 2 },
	{ IMM_all, 1 },
	{ IMM_exact, 1 },
	{ IMM_rare, 1 },
	{ IMM_known, KNOWN_REMAINDER },
	{ IMM_deferrable, 1 },
	{ IMM_dense, 1 },
	{ IMM_sparse, 1 },
	{ IMM_skinny, THIN_WAYS - 1 },
	{ IMM_table, TABLE_KEPT },
	{ IMM_space_open, 1 },
	{ IMM_oob_fill, OUTSIDE_KINDS - 1 },
	{ IMM_update, STORE_KINDS - 1 },
	{ IMM_ordered, 1 },
	{ IMM_placed, 1 },
	{ IMM_async, COPY_KINDS - 1 },
	{ IMM_multicast, 3 },
	{ IMM_filled, 1 },
	{ IMM_bulk, 1 },
	{ IMM_reads, 1 },
	{ IMM_expect, 1 },
	{ IMM_sinkable, 1 },
	{ IMM_pingpong, 1 },
	{ IMM_transposed, 3 },
	{ IMM_loop, FOR_PIPELINE },
	{ IMM_prefetch, 1 },
	{ IMM_split, SPLIT_KINDS - 1 },
	{ IMM_breaks, 1 },
	{ IMM_zero_fill, 1 },
	{ IMM_versions, 1 },
	{ IMM_COUNT, 0 },
};

const char *
check_imms(Arena *a, const Op *o)
{
	if (!op_imms_named(o))
		return "a number that the op does not have";
	for (size_t i = 0; range[i].name != IMM_COUNT; i++)
		if (op_has_imm(o->code, range[i].name) &&
		    (op_imm(o, range[i].name, 0) < 0 || op_imm(o, range[i].name, 0) > range[i].last))
			return arena_printf(a, "`%s` is not 0 to %lld", imm_name[range[i].name],
			                    (long long)range[i].last);
	return NULL;
}
