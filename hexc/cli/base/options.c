/* options.c - parses the command line by the table of options and prints its help. */
#include "hexc/cli/base/cli.h"
#include <ctype.h>
#include <string.h>

typedef enum OptOut { OUT_no, OUT_path, OUT_first, OUT_last } OptOut;

typedef struct OptInfo {
	const char *text, *value, *where, *help;
	bool many;
	OptOut out;
} OptInfo;

static const OptInfo opts[CLI_NOPT] = {
#define OPT(id, text, value, many, out, where, help) \
	[CLI_##id] = { text, value, where, help, many, OUT_##out },
#include "hexc/cli/base/options.def"
};

/* The commands, in the order of --help. */
static const struct {
	char command;
	const char *name; /* "": selected by an option */
	const char *usage, *what;
} commands[] = {
	{ 'E', "", "hexc --emit-ptx PROG.hexc [options]", "Compile tile programs to PTX." },
	{ 'E', "compile", "hexc compile PROG.hexc [options]", "The same." },
	{ 'R', "run", "hexc run PROG.hexc --arg NAME=VALUE ... [options]", "Compile one kernel and run it." },
	{ 'S', "sim", "hexc sim FILE.ptx --entry NAME --grid X[,Y[,Z]] --block X[,Y[,Z]] [options]",
	  "Run PTX of any producer in the simulator." },
	{ 'C', "candidates", "hexc candidates PROG.hexc [options]",
	  "List the candidates of the layout search, best first." },
	{ 'X', "explain", "hexc explain PROG.hexc [options]",
	  "Explain the chosen layouts, instructions and conversions." },
	{ 'W', "weights", "hexc weights FILE [options]",
	  "List the quantized weights and tensors of a safetensors or GGUF file, or export them as .npy." },
	{ 'P', "pack", "hexc pack PROG.hexc --arg NAME=@FILE ... -o FILE.safetensors [options]",
	  "Reorder weights into the packed layout that a kernel reads." },
	{ 'U', "unpack", "hexc unpack FILE.safetensors --save NAME=FILE.npy ...",
	  "Write packed weights in natural (row-major) order." },
	{ 'B', "build", "hexc build PROG.hexc ... -o FILE.hxb [options]",
	  "Compile kernels for several architectures and parameter values into one bundle." },
	{ 'N', "bundle", "hexc bundle list|show|verify|merge FILE.hxb ... [options]",
	  "List, verify or merge bundles." },
	{ 'K', "cache", "hexc cache path|list|clear [DIR] [options]",
	  "List or clear the compilation cache." },
	{ 'O', "ops", "hexc ops [NAME] [options]",
	  "List the operators of the library, or print one's arguments, constants, placeholders and "
	  "kernels." },
	{ 'I', "ir", "hexc ir FILE.ir [options]", "Run passes on tile IR, as --dump prints it." },
	{ 'M', "measure", "hexc measure",
	  "Benchmark server: keep a GPU context and run the commands read from standard input." },
	{ 'H', "help", "hexc help [COMMAND]", "Print this, or the options of a command." },
	{ 'T', "", "hexc --list-archs | --version | --help | COMMAND --help", NULL },
};

static bool
known(const OptInfo *o, char command)
{
	return strchr(o->where, command) || strchr(o->where, tolower((unsigned char)command));
}

/* Does the option take a value only with =? */
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
		cli_error(EXIT_USAGE, "no input %s", what);
	else
		cli_error(EXIT_USAGE, "only one %s is allowed; unexpected '%s'", what, c->file[1]);
	return NULL;
}

const char *
cli_output(const CliArg *a)
{
	OptOut out = opts[a->opt].out;
	const char *eq;

	if (out == OUT_no || out == OUT_path)
		return out == OUT_path ? a->value : NULL;
	eq = out == OUT_first ? strchr(a->value, '=') : strrchr(a->value, '=');
	return eq ? eq + 1 : NULL;
}

/* ---- words that are near --------------------------------------------------------------------- */

/* Returns the number of insertions, deletions, substitutions or swaps of adjacent letters that convert a
 * to b; at most 9. */
static int
distance(const char *a, const char *b)
{
	enum { MOST = 24 };
	int d[MOST + 1][MOST + 1];
	int n = (int)strlen(a), m = (int)strlen(b);

	if (n > MOST || m > MOST)
		return 9;
	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= m; j++) {
			int x = i && j ? d[i - 1][j - 1] + (a[i - 1] != b[j - 1]) : i + j;

			if (i && j && d[i - 1][j] + 1 < x)
				x = d[i - 1][j] + 1;
			if (i && j && d[i][j - 1] + 1 < x)
				x = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < x)
				x = d[i - 2][j - 2] + 1;
			d[i][j] = x;
		}
	return d[n][m];
}

/* Stores this word in *best if it is nearer, and near enough. */
static void
nearer(const char *word, const char *to, const char **best, int *least)
{
	int d = distance(word, to);

	if (d < *least && d * 2 < (int)strlen(to)) {
		*best = to;
		*least = d;
	}
}

enum { FAR = 4 }; /* too many changes for a suggestion */

char
cli_command(const char *name)
{
	for (size_t i = 0; i < CLI_COUNT(commands); i++)
		if (commands[i].name[0] && strcmp(name, commands[i].name) == 0)
			return commands[i].command;
	return 0;
}

int
cli_no_command(const char *word)
{
	const char *best = NULL, *dot = strrchr(word, '.');
	int least = FAR;

	for (size_t i = 0; i < CLI_COUNT(commands); i++)
		if (commands[i].name[0])
			nearer(word, commands[i].name, &best, &least);
	if (best)
		return cli_error(EXIT_USAGE, "no command '%s', did you mean %s? See hexc --help", word, best);
	if (dot && strcmp(dot, ".hexc") == 0)
		return cli_error(EXIT_USAGE,
		                 "missing command for %s; use hexc compile or hexc run, see hexc --help",
		                 word);
	return cli_error(EXIT_USAGE, "no command '%s'; see hexc --help", word);
}

/* ---- parsing ---------------------------------------------------------------------------------- */

/* Finds the option of this command that the word names. A long one ends at '='; -o, -D and -W may have an
 * attached value. *value: the value in the word, or NULL. */
static int
find_option(char command, const char *word, const char **value)
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
	int n = (int)strcspn(word, "="), least = FAR;
	char name[40];
	const char *best = NULL;

	snprintf(name, sizeof name, "%.*s", n, word);
	for (int i = 0; i < CLI_NOPT; i++)
		if (strcmp(opts[i].text, name) == 0 && !known(&opts[i], command))
			return cli_error(EXIT_USAGE, "%s is not an option of this command; see --help", name);
	for (int i = 0; i < CLI_NOPT; i++)
		if (word[1] == '-' && strchr(opts[i].where, command))
			nearer(name, opts[i].text, &best, &least);
	if (best)
		return cli_error(EXIT_USAGE, "unknown option %.*s, did you mean %s? See --help", n, word,
		                 best);
	return cli_error(EXIT_USAGE, "unknown option %.*s; see --help", n, word);
}

/* Parses one option at word[i]; returns the number of words used, or -1 with *status set. */
static int
take_option(Cli *c, int n, char **word, int i, int *status)
{
	const char *value;
	int id = find_option(c->command, strcmp(word[i], "-h") == 0 ? "--help" : word[i], &value), used = 1;

	*status = 0;
	if (id < 0) {
		*status = unknown(c->command, word[i]);
		return -1;
	}
	if (opts[id].value && !value && !value_is_optional(&opts[id])) {
		if (i + 1 >= n) {
			*status = cli_error(EXIT_USAGE, "%s requires a value: %s",
			                    opts[id].text, opts[id].value);
			return -1;
		}
		value = word[i + 1];
		used = 2;
	} else if (!opts[id].value && value) {
		*status = cli_error(EXIT_USAGE, "%s does not accept a value", opts[id].text);
		return -1;
	}
	if (!opts[id].many && cli_has(c, (CliOpt)id)) {
		*status = cli_error(EXIT_USAGE, "%s given twice", opts[id].text);
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
			int used = take_option(c, n, word, i, &status);
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

/* Prints what each command is for, and how to list its options. */
static void
help_commands(void)
{
	printf("hexc compiles tile programs to PTX, runs them, and shows what it inferred.\n\n");
	for (size_t i = 0; i < CLI_COUNT(commands); i++) {
		printf("%s%s\n", i == 0 ? "usage: " : "       ", commands[i].usage);
		if (commands[i].what)
			printf("           %s\n", commands[i].what);
	}
}

void
cli_help(char command)
{
	bool all = command == 'T';

	for (size_t i = 0; i < CLI_COUNT(commands) && !all; i++)
		if (commands[i].command == command) {
			printf("usage: %s\n\n%s\n", commands[i].usage, commands[i].what);
			break;
		}
	if (all)
		help_commands();
	printf(all ? "\nOptions with --emit-ptx; for another command see hexc COMMAND --help:\n"
	           : "\n");
	help_options(all ? 'E' : command);
	if (all) {
		printf("\nWithout a command:\n");
		help_options('T');
	}
	printf("\nOptions and files may come in any order; --opt VALUE and --opt=VALUE mean the same.\n"
	       "Exit status: 0 done; 1 program or data wrong; 2 bad usage; 3 result wrong or a fault in the\n"
	       "kernel; 4 out of memory or budget, device trouble; 5 --check could not judge all.\n");
}
