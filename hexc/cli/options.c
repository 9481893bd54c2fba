/* options.c - the table of options: parsing and help. */
#include "hexc/cli/cli.h"
#include <ctype.h>
#include <string.h>

typedef struct OptInfo {
	const char *text, *value, *where, *help;
	bool many;
} OptInfo;

static const OptInfo opts[CLI_NOPT] = {
#define OPT(id, text, value, many, where, help) [CLI_##id] = { text, value, where, help, many },
#include "hexc/cli/options.def"
};

static bool
known(const OptInfo *o, char command)
{
	return strchr(o->where, command) || strchr(o->where, tolower((unsigned char)command));
}

/* Only with =, and only where one is wanted. */
static bool
value_is_optional(const OptInfo *o)
{
	return o->value && strncmp(o->value, "[=", 2) == 0;
}

bool
cli_has(const Cli *c, CliOpt opt)
{
	for (int i = 0; i < c->narg; i++)
		if (c->arg[i].opt == opt)
			return true;
	return false;
}

const char *
cli_get(const Cli *c, CliOpt opt)
{
	for (int i = 0; i < c->narg; i++)
		if (c->arg[i].opt == opt)
			return c->arg[i].value;
	return NULL;
}

const char *
cli_file(const Cli *c, const char *what)
{
	if (c->nfile == 1)
		return c->file[0];
	if (c->nfile == 0)
		cli_error(EXIT_USAGE, "which %s? Give a file", what);
	else
		cli_error(EXIT_USAGE, "one %s at a time: what is '%s'?", what, c->file[1]);
	return NULL;
}

/* ---- parsing ---------------------------------------------------------------------------------- */

/* The option of this command that the word names.  A long one ends at '='; -o and -D may have the value
 * glued on.  *value: what the word itself holds of it, or NULL. */
static int
find(char command, const char *word, const char **value)
{
	for (int i = 0; i < CLI_NOPT; i++) {
		size_t n = strlen(opts[i].text);
		if (!known(&opts[i], command) || strncmp(word, opts[i].text, n) != 0)
			continue;
		*value = NULL;
		if (word[n] == 0)
			return i;
		if (word[1] == '-' && word[n] != '=')
			continue;
		*value = word + n + (word[n] == '=');
		return i;
	}
	return -1;
}

static int
unknown(char command, const char *word)
{
	int n = (int)strcspn(word, "=");

	for (int i = 0; i < CLI_NOPT; i++)
		if (strlen(opts[i].text) == (size_t)n &&
		    strncmp(word, opts[i].text, (size_t)n) == 0 && !known(&opts[i], command))
			return cli_error(EXIT_USAGE,
			                "%.*s does not go with this command; see --help", n, word);
	return cli_error(EXIT_USAGE, "unknown option %.*s; see --help", n, word);
}

/* One option at word[i]; returns how many words it took, or -1 with *status set. */
static int
take(Cli *c, int n, char **word, int i, int *status)
{
	const char *value;
	int id = find(c->command, word[i], &value), used = 1;

	*status = 0;
	if (id < 0) {
		*status = unknown(c->command, word[i]);
		return -1;
	}
	if (opts[id].value && !value && !value_is_optional(&opts[id])) {
		if (i + 1 >= n) {
			*status = cli_error(EXIT_USAGE, "%s needs a value: "
			                                "%s", opts[id].text, opts[id].value);
			return -1;
		}
		value = word[i + 1];
		used = 2;
	} else if (!opts[id].value && value) {
		*status = cli_error(EXIT_USAGE, "%s takes no value", opts[id].text);
		return -1;
	}
	if (!opts[id].many && cli_has(c, (CliOpt)id)) {
		*status = cli_error(EXIT_USAGE, "%s is given twice", opts[id].text);
		return -1;
	}
	c->arg[c->narg++] = (CliArg){ (CliOpt)id, value };
	return used;
}

int
cli_parse(Cli *c, int n, char **word)
{
	bool options = true; /* until -- */
	int status = 0;

	c->arg = cli_alloc(c, sizeof *c->arg * ((size_t)n + 1));
	c->file = cli_alloc(c, sizeof *c->file * ((size_t)n + 1));
	for (int i = 0; i < n;) {
		if (options && strcmp(word[i], "--") == 0) {
			options = false;
			i++;
		} else if (options && word[i][0] == '-' && word[i][1]) {
			int used = take(c, n, word, i, &status);
			if (used < 0)
				return status;
			i += used;
		} else {
			c->file[c->nfile++] = word[i++];
		}
	}
	return 0;
}

/* ---- help ------------------------------------------------------------------------------------- */

static const struct {
	char command;
	const char *usage, *what;
} commands[] = {
	{ 'E', "hexc --emit-ptx PROG.hexc [options]", "Compile tile programs to PTX." },
	{ 'R', "hexc run PROG.hexc --arg NAME=VALUE ... [options]", "Compile one kernel and run it." },
	{ 'S', "hexc sim FILE.ptx --entry NAME --grid X[,Y[,Z]] --block X[,Y[,Z]] [options]",
	  "Run PTX of any producer in the simulator." },
	{ 'C', "hexc candidates PROG.hexc [options]",
	  "List the solutions of the layout search, best first." },
	{ 'X', "hexc explain PROG.hexc [options]",
	  "Show every layout, instruction and conversion, and why." },
	{ 'W', "hexc weights FILE [options]",
	  "List the quantized weights and tensors of a safetensors or GGUF file, or write them as .npy." },
	{ 'P', "hexc pack PROG.hexc --arg NAME=@FILE ... -o FILE.safetensors [options]",
	  "Write weights in the order in which a kernel reads its packed tensors." },
	{ 'U', "hexc unpack FILE.safetensors --save NAME=FILE.npy ...",
	  "Write what hexc pack wrote in its natural order." },
	{ 'T', "hexc --list-archs | --version | --help | COMMAND --help", NULL },
};

static void
help_options(char command)
{
	for (int i = 0; i < CLI_NOPT; i++) {
		char left[64];
		if (!strchr(opts[i].where, command))
			continue;
		snprintf(left, sizeof left, "%s%s%s", opts[i].text,
		         opts[i].value && !value_is_optional(&opts[i]) ? " " : "",
		         opts[i].value ? opts[i].value : "");
		printf("  %-24s %s\n", left, opts[i].help);
	}
}

void
cli_help(char command)
{
	bool all = command == 'T';

	if (all)
		printf("hexc compiles tile programs to PTX, runs them, and shows what it inferred.\n\n");
	for (size_t i = 0; i < CLI_COUNT(commands); i++) {
		if (!all && commands[i].command != command)
			continue;
		printf("%s%s\n", i == 0 || !all ? "usage: " : "       ", commands[i].usage);
		if (!all)
			printf("\n%s\n", commands[i].what);
	}
	printf("\n");
	help_options(all ? 'E' : command);
	if (all) {
		printf("\n");
		help_options('T');
	}
	printf("\nOptions and files may come in any order; --opt VALUE and --opt=VALUE mean the same.\n"
	       "Exit status: 0 done; 1 program or data wrong; 2 bad usage; 3 result wrong or a fault in the\n"
	       "kernel; 4 out of memory or budget, device trouble.\n");
}
