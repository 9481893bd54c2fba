/* measure.c - hexc measure: one process that keeps the GPU, and runs on it what it is told, line by line.
 *
 * A line of standard input has the words of a `hexc run` behind `run`, with tabs between them; --exec is gpu.
 * What it prints is answered on standard output, and behind it a line "\004" STATUS.  A kernel that went
 * wrong may have spoilt the context for those behind it: the process ends behind that line. */
#include "hexc/cli/run.h"
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1 << 20 };

/* The words of a line, in memory of c. */
static int
split(Cli *c, char *line, char ***out)
{
	char **word;
	int n = 1, i = 0;

	for (const char *p = line; *p; p++)
		n += *p == '\t';
	word = cli_alloc(c, sizeof *word * (size_t)n);
	for (char *p = line; p; p = strchr(p, '\t')) {
		if (i)
			*p++ = 0;
		word[i++] = p;
	}
	*out = word;
	return n;
}

static int
run_line(char *line, hexc_gpu *g)
{
	char **word;
	Cli c;
	int n, status;

	memset(&c, 0, sizeof c);
	c.command = 'R';
	n = split(&c, line, &word);
	status = cli_parse(&c, n, word);
	if (!status)
		status = cli_outputs(&c);
	if (!status)
		status = run_on(&c, g);
	cli_free(&c);
	return status;
}

int
cli_measure(Cli *c)
{
	char *line = cli_alloc(c, LINE_MAX_BYTES), why[400] = "";
	hexc_gpu *g = NULL;
	int status = 0;

	if (c->nfile)
		return cli_error(EXIT_USAGE, "measure takes its work from standard input, not '%s'", c->file[0]);
	if (hexc_gpu_open(&g, 0, why, sizeof why) != HEXC_OK)
		return cli_error(EXIT_TROUBLE, "measure: %s", why);
	while (!status && fgets(line, LINE_MAX_BYTES, stdin)) {
		size_t n = strcspn(line, "\n");
		int found;

		if (!line[n]) {
			status = cli_error(EXIT_USAGE, "measure: a line is too long");
			break;
		}
		line[n] = 0;
		found = run_line(line, g);
		printf("\004%d\n", found);
		status = cli_flush();
		if (found >= EXIT_WRONG)
			break;
	}
	hexc_gpu_close(g);
	return status;
}
