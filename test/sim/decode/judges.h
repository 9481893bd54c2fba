/* judges.h - whether an instruction exists, by the simulator and by ptxas. */
#ifndef JUDGES_H
#define JUDGES_H
#include "test/sim/decode/isatable.h"
#include "test/sim/ptxas.h"
#include "test/sim/simtest.h"

enum { FIRST_LINE = 14 };

static inline bool
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
static inline void
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
#endif
