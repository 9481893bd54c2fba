/* Which instructions exist: each member of the rows of isa.txt is loaded alone, for every target, and the
 * simulator's yes or no compared with that of ptxas.  What is not compared, and why, is in `known`.
 *
 * ISA_VERBOSE=1 prints every disagreement. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "simtest.h"

static const char *const archs[] = { "sm_75", "sm_80", "sm_89", "sm_90a" };
enum { NARCH = 4, MAX_TEXT = 1000 };

typedef struct List { char **v; size_t n, cap; } List;

static void
push(List *l, const char *s)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 1024;
		l->v = realloc(l->v, l->cap * sizeof *l->v);
	}
	l->v[l->n++] = strdup(s);
}

static void
drop(List *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
}

/* ---- from rows to instructions ---- */

static List names, values;      /* NAME = value */

static const char *
lookup(const char *s, size_t n)
{
	for (size_t i = 0; i < names.n; i++)
		if (strlen(names.v[i]) == n && !memcmp(names.v[i], s, n))
			return values.v[i];
	return NULL;
}

static void expand(const char *done, const char *rest, List *out);

/* Each word of `alts` in place of the group. */
static void
each(const char *done, const char *alts, size_t len, const char *rest, List *out)
{
	char buf[MAX_TEXT];

	for (size_t i = 0, n; i < len; i += n + 1) {
		const char *sub;
		for (n = 0; i + n < len && alts[i + n] != ' '; n++)
			;
		if ((sub = lookup(alts + i, n)) != NULL) {
			each(done, sub, strlen(sub), rest, out);
			continue;
		}
		snprintf(buf, sizeof buf, "%s%.*s", done, alts[i] == '-' && n == 1 ? 0 : (int)n, alts + i);
		expand(buf, rest, out);
	}
}

static void
expand(const char *done, const char *rest, List *out)
{
	const char *open = strchr(rest, '('), *close;
	char buf[MAX_TEXT];

	if (!open) {
		snprintf(buf, sizeof buf, "%s%s", done, rest);
		push(out, buf);
		return;
	}
	close = strchr(open, ')');
	ck_assert(close != NULL);
	snprintf(buf, sizeof buf, "%s%.*s", done, (int)(open - rest), rest);
	each(buf, open + 1, (size_t)(close - open - 1), close + 1, out);
}

/* Bits of the n-th type in an opcode, or 0. */
static int
type_width(const char *op, int n)
{
	static const struct { const char *name; int bits; } t[] = {
		{ "pred", 1 }, { "b8", 16 }, { "u8", 16 }, { "s8", 16 }, { "b16", 16 }, { "u16", 16 },
		{ "s16", 16 }, { "f16", 16 }, { "bf16", 16 }, { "b32", 32 }, { "u32", 32 }, { "s32", 32 },
		{ "f32", 32 }, { "tf32", 32 }, { "f16x2", 32 }, { "bf16x2", 32 }, { "u16x2", 32 },
		{ "s16x2", 32 }, { "b64", 64 }, { "u64", 64 }, { "s64", 64 }, { "f64", 64 }, { "f32x2", 64 },
		{ "b128", 128 }, { "e4m3x2", 16 }, { "e5m2x2", 16 },
	};

	while (*op && *op != ' ') {
		size_t len = strcspn(++op, ". ");
		for (size_t i = 0; i < sizeof t / sizeof *t; i++)
			if (strlen(t[i].name) == len && !memcmp(t[i].name, op, len) && n-- == 0)
				return t[i].bits;
		op += len;
	}
	return 0;
}

static const char *
reg(int bits)
{
	return bits == 1 ? "%p1" : bits == 16 ? "%h1" : bits == 64 ? "%d1" : bits == 128 ? "%q1" : "%r1";
}

/* $1, $2, $W become registers. */
static void
fill(const char *row, char *out, size_t cap)
{
	const char *dot = strchr(row, '.'), *blank = strchr(row, ' ');
	size_t n = 0;

	if (!dot || (blank && dot > blank))
		dot = "";
	for (; *row && n + 5 < cap; row++) {
		int w;
		if (*row != '$') {
			out[n++] = *row;
			continue;
		}
		row++;
		w = *row == 'W' ? 2 * type_width(dot, 0) : type_width(dot, *row - '1');
		n += (size_t)sprintf(out + n, "%s", reg(w));
	}
	out[n] = 0;
}

static void
read_table(List *out)
{
	FILE *f = fopen("test/sim/isa.txt", "r");
	char line[MAX_TEXT], text[MAX_TEXT];
	List raw = { 0 };

	ck_assert_msg(f != NULL, "no test/sim/isa.txt here");
	while (fgets(line, sizeof line, f)) {
		char *eq = strstr(line, " = ");
		line[strcspn(line, "\n")] = 0;
		if (!*line || *line == '#')
			continue;
		if (eq) {
			*eq = 0;
			push(&names, line);
			push(&values, eq + 3);
			continue;
		}
		expand("", line, &raw);
	}
	fclose(f);
	for (size_t i = 0; i < raw.n; i++) {
		fill(raw.v[i], text, sizeof text);
		push(out, text);
	}
	drop(&raw);
}

/* ---- the two judges ---- */

/* Declarations for the operands of the table; instructions follow in line 13. */
static const char head[] =
	".address_size 64\n.global .align 16 .b8 G[64];\n.const .align 16 .b8 C[64];\n"
	".visible .entry k(.param .align 16 .b8 P[64])\n{\n.reg .pred %p<4>;\n"
	".reg .b16 %h<5>;\n.reg .b32 %r<5>;\n.reg .b64 %d<5>;\n.reg .b128 %q<3>;\n"
	".shared .align 16 .b8 S[64]; .local .align 16 .b8 L[64];\n";
enum { FIRST_LINE = 14 };

static bool
sim_says(const char *arch, const char *ins, char *why, size_t cap)
{
	char text[4000];
	sim *s = sim_open();
	sim_module *m;
	sim_message msg;
	bool ok;

	snprintf(text, sizeof text, ".version 8.8\n.target %s\n%s%s;\nret;\n}\n", arch, head, ins);
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
	         "PATH=$PATH:/usr/local/cuda/bin timeout 60 ptxas -arch=%s %s -o /dev/null 2>&1",
	         arch, path);
	for (size_t i = 0; i < ins->n; i++)
		ok[i] = true;
	while (again) {
		FILE *f = fopen(path, "w"), *p;
		size_t n = FIRST_LINE;
		again = false;
		fprintf(f, ".version 8.8\n.target %s\n%s", arch, head);
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

START_TEST(acceptance)
{
	const char *arch = archs[_i];
	List ins = { 0 };
	bool *ok, verbose = getenv("ISA_VERBOSE") != NULL;
	size_t loose = 0, tight = 0, legal = 0;
	char why[300], first[600] = "";

	read_table(&ins);
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
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sim isa");
	TCase *t = tcase_create("isa");

	if (system("PATH=$PATH:/usr/local/cuda/bin command -v ptxas >/dev/null") != 0) {
		puts("no ptxas");
		return 77;
	}
	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, acceptance, 0, NARCH);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
