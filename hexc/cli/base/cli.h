/* cli.h - declares what the files of the command line share. The CLI is a client of lib/hexc.h and
 * lib/sim/sim.h. */
#ifndef HEXC_CLI_H
#define HEXC_CLI_H
#include "lib/hexc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* Exit status: a stable contract with users' scripts. */
enum {
	EXIT_DONE = 0,
	EXIT_INPUT = 1,   /* invalid program or data */
	EXIT_USAGE = 2,
	EXIT_WRONG = 3,   /* a wrong result, or a simulator fault */
	EXIT_TROUBLE = 4, /* out of memory or budget, device failure, an output that cannot be written */
	EXIT_UNJUDGED = 5, /* --check found no error, but could not check everything */
};

#if defined(__GNUC__)
#define CLI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CLI_PRINTF(fmt, args)
#endif
#define CLI_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- options (cli/base/options.c) ---------------------------------------------------------------- */

typedef enum CliOpt {
#define OPT(id, text, value, many, out, where, help) CLI_##id,
#include "hexc/cli/base/options.def"
	CLI_NOPT
} CliOpt;

typedef struct CliArg {
	CliOpt opt;
	const char *value; /* NULL: the option takes none */
} CliArg;

struct CliBlock;

/* One command line, and the memory with its lifetime. */
typedef struct Cli {
	char command;      /* E, R, S, C, X, W, P, U, B, N, K, O, M, H or T: see hexc/cli/base/options.def */
	CliArg *arg;
	int narg;
	const char **file; /* the words that are not options */
	const char *arch;  /* default of --arch; NULL: the library's */
	int nfile;
	struct CliBlock *block;
	struct CliFile *file_used; /* by hexc/cli/base/files.c */
	bool cache_told;           /* the reason why the directory of --cache is not used was printed */
} Cli;

/* Fills c from the words after the command. Returns 0, or an exit status with the reason printed. */
int cli_parse(Cli *c, int n, char **word);
bool cli_has(const Cli *c, CliOpt opt);
const char *cli_get(const Cli *c, CliOpt opt); /* NULL: not given */
/* Returns the output file that an argument names; NULL if there is none. */
const char *cli_output(const CliArg *a);
/* Returns the only file of the command, or NULL with the reason printed. */
const char *cli_file(const Cli *c, const char *what);
void cli_help(char command);
/* Reports an unknown command with similar ones; returns a status. */
int cli_no_command(const char *word);
/* Returns the letter of a command by name; 0 if there is none. */
char cli_command(const char *name);

/* ---- the terminal (cli/base/terminal.c) ---------------------------------------------------------- */

typedef enum CliSeverity { CLI_NOTE, CLI_WARNING, CLI_ERROR, CLI_REMARK, CLI_FAULT } CliSeverity;
/* Returns the severity's name, coloured if standard error is a terminal. The first four are as in
 * hexc_diag_info. */
const char *cli_severity(CliSeverity s);
/* Is standard output a pipe that its reader closed? That is not an error. */
bool cli_nobody_reads(void);

/* Prints on a terminal how long something takes, once that exceeds a second. */
typedef struct CliProgress {
	const char *what;
	int64_t start;        /* ms */
	_Atomic int64_t next; /* time of the next print, ms */
	bool terminal;
} CliProgress;
void cli_progress_start(CliProgress *p, const char *what); /* `what` lives as long as p is used */
/* Usable as `cancel` of the libraries' options, with p as `user`, from any thread; never requests a stop. */
int cli_progress(void *p);
void cli_progress_end(CliProgress *p); /* clears the line; may be called twice */

/* ---- messages, memory, numbers (cli/base/util.c) ------------------------------------------------- */

/* Prints "hexc: error: ..." to standard error, without control characters; returns `status`. */
int cli_error(int status, const char *fmt, ...) CLI_PRINTF(2, 3);
/* The same as a warning; the command continues. */
void cli_warning(const char *fmt, ...) CLI_PRINTF(1, 2);
/* The same without a newline: a list follows. */
void cli_begin_error(const char *fmt, ...) CLI_PRINTF(1, 2);
/* Returns the text without control characters: names of files, and names in files, could otherwise deceive
 * the reader of a terminal. */
const char *cli_plain(Cli *c, const char *s);
/* Allocates zeroed memory with c's lifetime; ends the program with EXIT_TROUBLE if it fails. */
void *cli_alloc(Cli *c, size_t n);
/* The same, but returns NULL if it fails: for sizes that the user controls. */
void *cli_try_alloc(Cli *c, size_t n);
char *cli_printf(Cli *c, const char *fmt, ...) CLI_PRINTF(2, 3);
char *cli_strndup(Cli *c, const char *s, size_t n);
/* Growing text; lives as long as c. */
typedef struct CliText {
	char *s; /* NULL: empty */
	size_t n, cap;
} CliText;
void cli_append(Cli *c, CliText *to, const char *line, size_t n);
/* A comma-separated list. */
typedef struct CliWords {
	const char **word;
	int n;
} CliWords;
CliWords cli_words(Cli *c, const char *s);
void cli_free(Cli *c);
/* Parse a complete word as a number; return false if it is invalid or out of range. */
bool cli_int(const char *s, int64_t *out);   /* decimal or 0x; signed */
bool cli_u64(const char *s, int64_t *out);   /* also the upper half of u64; its bits */
bool cli_float(const char *s, double *out);  /* decimal; inf and nan too */
/* Parses X[,Y[,Z]] with every number in 1..most; missing ones are 1. */
bool cli_dims(const char *s, uint32_t most, uint32_t out[3]);

/* ---- files (cli/base/files.c) -------------------------------------------------------------------- */

/* Before the command starts: checks that no file is the output of two options. Returns 0, or EXIT_USAGE
 * with the reason printed. */
int cli_outputs(Cli *c);
/* Checks that a file which is not read by cli_read is no output. Returns as above. */
int cli_input(Cli *c, const char *path);
/* Reads a file of at most `most` bytes ("-": standard input) and appends a NUL; returns NULL with the
 * reason printed and *status set. */
char *cli_read(Cli *c, const char *path, size_t most, size_t *n, int *status);
/* Writes a file atomically ("-": standard output); on failure the old file is unchanged. Returns 0, or a
 * status with the reason printed. */
int cli_write(Cli *c, const char *path, const void *data, size_t n);
/* Flushes standard output; returns a status on failure. */
int cli_flush(void);

/* ---- compiling (cli/compile.c) ---------------------------------------------------------------- */

/* A program and its compile options. */
typedef struct CliProgram {
	const char *path;  /* "<stdin>" for - */
	char *src;
	size_t n;
	hexc_opts opts;
	hexc_ctx *ctx;     /* NULL once closed */
	hexc_cache *cache; /* of --cache */
	Cli *cli;
	bool json;         /* diagnostics as JSON */
	bool ir;           /* the file is IR: its name ends in .ir */
	CliText trace;     /* output of --trace-search, for all compilations of p */
	const char *passes; /* passes to run on IR; NULL: all remaining ones */
	CliProgress progress;
	struct CliLast *last; /* bug.c: the last IR before an internal error */
} CliProgram;

/* Reads the options and the file; `stop`: a pass that overrides --stop, or NULL. Returns 0, or a status
 * with the reason printed. Call cli_close afterwards in any case. */
int cli_open(Cli *c, uint32_t flags, const char *stop, CliProgram *p);
void cli_close(CliProgram *p);
/* Compiles p and prints its diagnostics. */
int cli_build(CliProgram *p, hexc_module **out);
/* Compiles p without printing; returns a code of the library. */
int cli_once(CliProgram *p, hexc_module **out);
/* After an internal error of p: writes what reproduces it to a new directory under $TMPDIR (bug.c).
 * Returns the text to print; NULL: nothing, or a failure that was already printed. */
const char *cli_keep_bug(CliProgram *p);
/* Compiles c's program with the options on the command line and these flags; `stop`: a pass, or NULL.
 * Returns 0, or an exit status with the diagnostics printed. */
int cli_compile(Cli *c, uint32_t flags, const char *stop, hexc_module **out);
/* Is it the name of a pass, `parse` or, if `all`, "all"? Returns 0, or a status with the reason printed. */
int cli_check_pass(const char *opt, const char *name, bool all);
/* The same for a file of IR produced from c's program, through `passes` as in hexc_compile_ir. */
int cli_compile_ir(Cli *c, const char *path, const char *passes, hexc_module **out);
bool cli_ends_in(const char *s, const char *end);
/* Returns the index of m's only kernel; a status if there are several. */
int cli_one_kernel(const hexc_module *m);
/* Maps a result code of the library to an exit status. */
int cli_status(int code);

/* ---- bundles (cli/build.c) --------------------------------------------------------------------- */

/* Writes n modules, and the text of families, as the bundle of -o and --c-array; returns 0, or a status
 * with the reason printed. */
int cli_write_bundle(Cli *c, const hexc_module *const *m, size_t n, const char *compiler,
                     const char *families);

/* ---- ptxas (cli/ptxas.c) ---------------------------------------------------------------------- */

/* Sets up ranking of p's solutions by ptxas, if it is installed. Returns 0, or a status with the reason
 * printed. */
int cli_rank(CliProgram *p);
/* Does each of the cubins have an arch whose PTX runs there? Returns 0, or a status with the reason
 * printed. */
int cli_check_cubins(const CliWords *archs, const CliWords *cubins);
/* Adds to *m, compiled for arch, those of the cubins for which arch is the best of archs; *m is unchanged
 * on failure. Returns as above. */
int cli_add_cubins(Cli *c, const CliWords *archs, const CliWords *cubins, hexc_module **m, const char *arch);

/* ---- families (cli/family.c) ------------------------------------------------------------------ */

/* A kernel that a family requires, without duplicates. */
typedef struct CliWant {
	const char *kernel, *arch; /* arch: NULL: all of --arch */
	hexc_define *define;
	size_t ndefine;
	int64_t candidate; /* -1: use --candidate */
	bool here, done;   /* the current program declares it; it is compiled */
} CliWant;

typedef struct CliFamilies {
	const char *text; /* of all files */
	CliWant *want;
	size_t n, cap;
} CliFamilies;

/* Reads the files of --family; returns 0, or a status with the reason printed. */
int cli_read_families(Cli *c, CliFamilies *out);
/* Does the bundle have all kernels that the text requires? Returns as above. */
int cli_check_families(const void *bundle, size_t n, const char *text);

/* ---- what was compiled before (cli/cache.c) ---------------------------------------------------- */

/* Opens the cache of --cache, NULL without it. Returns 0, or a status with the reason printed. */
int cli_open_cache(Cli *c, hexc_cache **out);

/* ---- commands --------------------------------------------------------------------------------- */

int cli_emit(Cli *c);
int cli_run(Cli *c);
int cli_sim(Cli *c);
int cli_candidates(Cli *c);
int cli_explain(Cli *c);
int cli_weights(Cli *c);
int cli_pack(Cli *c);
int cli_unpack(Cli *c);
int cli_build_bundle(Cli *c);
int cli_bundle(Cli *c);
int cli_cache(Cli *c);
int cli_ops(Cli *c);
int cli_ir(Cli *c);
int cli_measure(Cli *c);
#endif
