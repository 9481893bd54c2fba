/* test_isa.c - which instructions exist: each member of the rows of isa.txt is loaded alone, for every
 * target, and the simulator's yes or no compared with that of ptxas.  What is not compared, and why, is in
 * `known`.
 *
 * ISA_VERBOSE=1 prints every disagreement. */
#include <unistd.h>
#include "test/sim/decode/isatable.h"
#include "test/sim/ptxas.h"
#include "test/sim/simtest.h"
#include "test/check.h"

static const char *const archs[] = { "sm_75", "sm_80", "sm_89", "sm_90a" };
enum { NARCH = 4 };

/* ---- the two judges ---- */

enum { FIRST_LINE = 14 };

static bool
sim_says(const char *arch, const char *ins, char *why, size_t cap)
{
	char text[4000];
	sim *s = sim_open();
	sim_module *m;
	sim_message msg;
	bool ok;

	snprintf(text, sizeof text, ".version 8.8\n.target %s\n%s%s;\nret;\n}\n", arch, isa_head, ins);
	ok = sim_load(s, text, strlen(text), &m) == SIM_OK;
	*why = 0;
	if (!ok && sim_message_at(s, 0, &msg)) {
		snprintf(why, cap, "%s", msg.text);
		ck_assert_msg(msg.line == FIRST_LINE, "%s: error in line %u: %s", ins, msg.line, msg.text);
	}
	sim_close(s);
	return ok;
}

/* All instructions in one text: ptxas tells the lines that are wrong, but stops at the first that it cannot
 * even parse, so those are taken out one by one.  The last line is wrong by intent: no code is made. */
static void
ptxas_says(const char *arch, const List *ins, bool *ok)
{
	char dir[] = "/tmp/hexc-isa-XXXXXX", path[100], cmd[300], line[1000];
	bool *gone = calloc(ins->n, sizeof *gone), again = true;
	size_t *at = calloc(2 * ins->n + 1000, sizeof *at), cap = 2 * ins->n + 1000;

	ck_assert(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/k.ptx", dir);
	snprintf(cmd, sizeof cmd,
	         PTXAS " -arch=%s %s -o /dev/null 2>&1",
	         arch, path);
	for (size_t i = 0; i < ins->n; i++)
		ok[i] = true;
	while (again) {
		FILE *f = fopen(path, "w"), *p;
		size_t n = FIRST_LINE;
		again = false;
		fprintf(f, ".version 8.8\n.target %s\n%s", arch, isa_head);
		for (size_t i = 0; i < ins->n; i++) {
			if (gone[i])
				continue;
			ck_assert_uint_lt(n, cap);
			at[n++] = i;
			fprintf(f, "%s;\n", ins->v[i]);
		}
		fprintf(f, "not_an_instruction;\n}\n");
		fclose(f);
		p = popen(cmd, "r");
		while (fgets(line, sizeof line, p)) {
			const char *l = strstr(line, ", line ");
			size_t k = l ? strtoul(l + 7, NULL, 10) : 0;
			if (!l || strstr(line, "not_an_instruction"))
				continue;
			ck_assert_msg(k >= FIRST_LINE && k <= n, "%s", line);
			if (k == n || strstr(line, "warning") || strstr(line, "info"))
				continue;
			ok[at[k]] = false;
			if (strstr(line, "fatal") || strstr(line, "Parsing error")) {
				gone[at[k]] = true;
				again = true;
			}
		}
		pclose(p);
	}
	unlink(path);
	rmdir(dir);
	free(gone);
	free(at);
}

/* Prefixes of opcodes where the two may differ, with the reason. */
static const struct { const char *prefix; const char *why; } known[] = {
	{ "alloca", "the stack is not modelled" }, { "stack", "the same" },
	{ "istypep", "textures are not supported" },
	{ "fma.rz", "ptxas takes roundings of bf16 that the ISA does not have" },
	{ "fma.rm", "the same" }, { "fma.rp", "the same" },
	{ "fma.rn.oob", "the NaN of out-of-bounds elements is not modelled" },
	{ "addc.", "ptxas takes 16 bits, the ISA has none" }, { "subc.", "the same" },
	{ "madc.", "the same" },
	{ "rcp.", "ptxas takes .ftz.f64 with roundings" },
	{ "fence", "tested with the memory model" },
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
