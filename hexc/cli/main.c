/* main.c - dispatches to the command that the command line names. */
#include "hexc/cli/base/cli.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int
list_archs(void)
{
	for (size_t i = 0; hexc_arch(i); i++)
		puts(hexc_arch(i));
	return cli_flush();
}

/* hexc help [COMMAND] */
static int
help(const Cli *c)
{
	char command = c->nfile ? cli_command(c->file[0]) : 'T';

	if (c->nfile > 1)
		return cli_error(EXIT_USAGE, "help accepts one command; unexpected '%s'", c->file[1]);
	if (!command && strcmp(c->file[0], "--emit-ptx") == 0)
		command = 'E';
	if (!command)
		return cli_no_command(c->file[0]);
	cli_help(command);
	return cli_flush();
}

static int
dispatch(Cli *c)
{
	if (cli_has(c, CLI_help)) {
		cli_help(c->command);
		return cli_flush();
	}
	switch (c->command) {
	case 'R': return cli_run(c);
	case 'S': return cli_sim(c);
	case 'C': return cli_candidates(c);
	case 'X': return cli_explain(c);
	case 'W': return cli_weights(c);
	case 'P': return cli_pack(c);
	case 'U': return cli_unpack(c);
	case 'B': return cli_build_bundle(c);
	case 'N': return cli_bundle(c);
	case 'K': return cli_cache(c);
	case 'O': return cli_ops(c);
	case 'I': return cli_ir(c);
	case 'M': return cli_measure(c);
	case 'H': return help(c);
	case 'T':
		if (c->nfile)
			return cli_no_command(c->file[0]);
		if (cli_has(c, CLI_version)) {
			puts(hexc_build_info());
			return cli_flush();
		}
		if (cli_has(c, CLI_list_archs))
			return list_archs();
		return cli_error(EXIT_USAGE, "nothing to do; see hexc --help");
	default: return cli_emit(c);
	}
}

/* The command is the first word, *named, or an option at any position. */
static char
command_of(int n, char **word, bool *named)
{
	char command = n > 0 ? cli_command(word[0]) : 0;

	*named = command != 0;
	if (command)
		return command;
	for (int i = 0; i < n; i++)
		if (strcmp(word[i], "--emit-ptx") == 0)
			return 'E';
	return 'T';
}

/* LLVM aborts if it runs out of memory, after printing a message. */
static void
aborted(int sig)
{
	(void)sig;
	_exit(EXIT_TROUBLE);
}

/* Files of weights are mapped, so reading past a truncated end raises SIGBUS. */
static void
shrank(int sig)
{
	static const char text[] = "hexc: error: a file was truncated while it was read\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		_exit(EXIT_TROUBLE);
	_exit(EXIT_INPUT);
}

int
main(int argc, char **argv)
{
	Cli c;
	int skip, status;
	bool named;

	/* report a closed pipe and a file size limit as write errors, not signals */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGABRT, aborted);
	signal(SIGBUS, shrank);
	memset(&c, 0, sizeof c);
	if (argc < 1)
		return EXIT_USAGE;
	c.command = command_of(argc - 1, argv + 1, &named);
	skip = named ? 2 : 1;
	status = cli_parse(&c, argc - skip, argv + skip);
	if (!status)
		status = cli_outputs(&c);
	if (!status)
		status = dispatch(&c);
	cli_free(&c);
	return status;
}
