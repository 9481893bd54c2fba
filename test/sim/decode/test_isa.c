/* test_isa.c - tests which instructions exist: each member of the rows of isa.txt is loaded separately, for
 * every target, and the simulator's verdict compared with that of ptxas. Exceptions, with reasons, are in
 * `known`.
 *
 * ISA_VERBOSE=1 prints every disagreement. */
#include "test/sim/decode/isatable.h"
#include "test/sim/decode/judges.h"
#include "test/check.h"

static const char *const archs[] = { "sm_75", "sm_80", "sm_89", "sm_90a" };
enum { NARCH = 4 };

/* Prefixes of opcodes where the two may differ, with the reason. */
static const struct { const char *prefix; const char *why; } known[] = {
	{ "alloca", "the stack is not modelled" }, { "stack", "the same" },
	{ "fma.rz", "ptxas takes roundings of bf16 that the ISA does not have" },
	{ "fma.rm", "the same" }, { "fma.rp", "the same" },
	{ "addc.", "ptxas takes 16 bits, the ISA has none" }, { "subc.", "the same" },
	{ "madc.", "the same" },
	{ "rcp.", "ptxas takes .ftz.f64 with roundings" },
	{ "mov.u32 %r1, %cluster", "tested with clusters" }, { "mov.u32 %r1, %ncluster", "the same" },
	{ "mov.u32 %r1, %reserved", "special registers are not tied to targets" },
	{ "mov.u32 %r1, %aggr", "the same" }, { "mov.u64 %d1, %current", "the same" },
	{ "mov.pred %p1, %is_", "tested with clusters" },
};

static bool
is_known(const char *ins)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strncmp(ins, known[i].prefix, strlen(known[i].prefix)))
			return true;
	return false;
}

TEST_EACH(acceptance, NARCH)
{
	const char *arch = archs[_i];
	List ins = { 0 };
	bool *ok, verbose = getenv("ISA_VERBOSE") != NULL;
	size_t loose = 0, tight = 0, legal = 0;
	char why[300], first[600] = "";

	read_table(&ins);
	ck_assert_msg(ins.n > 0, "no test/sim/decode/isa.txt here");
	ok = calloc(ins.n, sizeof *ok);
	ptxas_says(arch, &ins, ok);
	for (size_t i = 0; i < ins.n; i++) {
		bool mine = sim_says(arch, ins.v[i], why, sizeof why);
		legal += ok[i];
		if (mine == ok[i] || is_known(ins.v[i]))
			continue;
		loose += mine;
		tight += !mine;
		if (verbose)
			printf("%s %s %s;  %s\n", arch, mine ? "LOOSE" : "TIGHT", ins.v[i], why);
		else if (!*first)
			snprintf(first, sizeof first, "%.200s: ptxas says %s, we %s %s", ins.v[i],
			         ok[i] ? "yes" : "no", mine ? "yes" : "no:", why);
	}
	printf("%s: %zu instructions asked, %zu legal; only refused here %zu, only accepted here %zu\n",
	       arch, ins.n, legal, tight, loose);
	fflush(stdout);
	ck_assert_msg(!tight && !loose, "%s: %zu differ, such as %s", arch, tight + loose, first);
	drop(&ins);
	drop(&names);
	drop(&values);
	free(ok);
}

TEST_PROGRAM(.start = need_ptxas, .timeout = 300);
