/* cli.h - what the files of the command line share.  The CLI is a client of lib/hexc.h and lib/sim/sim.h. */
#ifndef HEXC_CLI_H
#define HEXC_CLI_H
#include "lib/hexc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* Exit status: a contract with the scripts of others. */
enum {
	EXIT_DONE = 0,
	EXIT_INPUT = 1,   /* the program or the data is wrong */
	EXIT_USAGE = 2,
	EXIT_WRONG = 3,   /* a result is wrong, or the simulator found a fault */
	EXIT_TROUBLE = 4, /* out of memory or budget, device trouble, an output that cannot be written */
	EXIT_UNJUDGED = 5, /* --check found nothing wrong, but could not judge all */
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

/* One command line, and the memory that lives as long as it. */
typedef struct Cli {
	char command;      /* E, R, S, C, X, W, P, U, B, N, K, O, M, H or T: as in cli/base/options.def */
	CliArg *arg;
	int narg;
	const char **file; /* the words that are no options */
	const char *arch;  /* what --arch is where it is not given; NULL: the library's own */
	int nfile;
	struct CliBlock *block;
	struct CliFile *file_used; /* by hexc/cli/base/files.c */
	bool cache_told;           /* why the folder of --cache is not used */
} Cli;

/* Fill c from the words after the command.  0, or an exit status with the reason printed. */
int cli_parse(Cli *c, int n, char **word);
bool cli_has(const Cli *c, CliOpt opt);
const char *cli_get(const Cli *c, CliOpt opt); /* NULL: not given */
/* The file that an argument names as output; NULL: none. */
const char *cli_output(const CliArg *a);
/* The one file that the command needs, or NULL with the reason printed. */
const char *cli_file(const Cli *c, const char *what);
void cli_help(char command);
/* The word is none of the commands: a status, with the reason and what may be meant printed. */
int cli_no_command(const char *word);
/* The letter of a command by its name; 0: there is none. */
char cli_command(const char *name);

/* ---- the terminal (cli/base/terminal.c) ---------------------------------------------------------- */

typedef enum CliSeverity { CLI_NOTE, CLI_WARNING, CLI_ERROR, CLI_REMARK, CLI_FAULT } CliSeverity;
/* The word, in colour if standard error is a terminal.  The first four are as in hexc_diag_info. */
const char *cli_severity(CliSeverity s);
/* Standard output is a pipe whose reader has seen enough: that is no error of ours. */
bool cli_nobody_reads(void);

/* Says on a terminal how long something takes, once that is over a second. */
typedef struct CliProgress {
	const char *what;
	int64_t start;        /* ms */
	_Atomic int64_t next; /* when it is to be said again, ms */
	bool terminal;
} CliProgress;
void cli_progress_start(CliProgress *p, const char *what); /* `what` lives as long as p is used */
/* Fit for `cancel` of the libraries' options, with p as `user`, from any thread; never says stop. */
int cli_progress(void *p);
void cli_progress_end(CliProgress *p); /* the line is blank again; twice is allowed */

/* ---- messages, memory, numbers (cli/base/util.c) ------------------------------------------------- */

/* Print "hexc: error: ..." to standard error, without control characters; returns `status`. */
int cli_error(int status, const char *fmt, ...) CLI_PRINTF(2, 3);
/* The same as a warning: the command goes on. */
void cli_warning(const char *fmt, ...) CLI_PRINTF(1, 2);
/* The same without the end of the line: a list follows. */
void cli_begin_error(const char *fmt, ...) CLI_PRINTF(1, 2);
/* The same text without control characters: names of files, and those in files, may be made to deceive who
 * reads them on a terminal. */
const char *cli_plain(Cli *c, const char *s);
/* Zeroed memory that lives as long as c; ends the program with EXIT_TROUBLE when there is none. */
void *cli_alloc(Cli *c, size_t n);
/* The same, but NULL when there is none: for what the user sizes. */
void *cli_try_alloc(Cli *c, size_t n);
char *cli_printf(Cli *c, const char *fmt, ...) CLI_PRINTF(2, 3);
char *cli_strndup(Cli *c, const char *s, size_t n);
/* Text that grows; it lives as long as c. */
typedef struct CliText {
	char *s; /* NULL: nothing yet */
	size_t n, cap;
} CliText;
void cli_append(Cli *c, CliText *to, const char *line, size_t n);
/* A list with commas between its words. */
typedef struct CliWords {
	const char **word;
	int n;
} CliWords;
CliWords cli_words(Cli *c, const char *s);
void cli_free(Cli *c);
/* A whole word as a number; false: it is none, or out of range. */
bool cli_int(const char *s, int64_t *out);   /* decimal or 0x; with sign */
bool cli_u64(const char *s, int64_t *out);   /* also the upper half of u64; its bits */
bool cli_float(const char *s, double *out);  /* decimal; inf and nan too */
/* X[,Y[,Z]] with every number in 1..most; missing ones are 1. */
bool cli_dims(const char *s, uint32_t most, uint32_t out[3]);

/* ---- files (cli/base/files.c) -------------------------------------------------------------------- */

/* Before the command begins: the options name no file as output twice.  0, or EXIT_USAGE with the reason
 * printed. */
int cli_outputs(Cli *c);
/* This file is going to be read by others than cli_read: is it no output?  As above. */
int cli_input(Cli *c, const char *path);
/* Whole contents of a file of at most `most` bytes ("-": standard input), with a NUL behind; NULL with the
 * reason printed and *status set. */
char *cli_read(Cli *c, const char *path, size_t most, size_t *n, int *status);
/* Write a whole file ("-": standard output), or leave the old one as it is.  0, or a status with the reason
 * printed. */
int cli_write(Cli *c, const char *path, const void *data, size_t n);
/* Flush standard output; a status if that fails. */
int cli_flush(void);

/* ---- compiling (cli/compile.c) ---------------------------------------------------------------- */

/* A program and the options to compile it with. */
typedef struct CliProgram {
	const char *path;  /* "<stdin>" for - */
	char *src;
	size_t n;
	hexc_opts opts;
	hexc_ctx *ctx;     /* NULL once closed */
	hexc_cache *cache; /* --cache */
	Cli *cli;
	bool json;         /* diagnostics as JSON */
	bool ir;           /* the file is IR: its name ends in .ir */
	CliText trace;     /* --trace-search, of all that was compiled with p */
	const char *passes; /* that IR goes through; NULL: all that are left */
	CliProgress progress;
	struct CliLast *last; /* bug.c: the IR on the way to an internal error */
} CliProgram;

/* Read the options and the file; `stop`: a pass that overrides --stop, or NULL.  0, or a status with the
 * reason printed.  cli_close afterwards in any case. */
int cli_open(Cli *c, uint32_t flags, const char *stop, CliProgram *p);
void cli_close(CliProgram *p);
/* Compile p and print its diagnostics. */
int cli_build(CliProgram *p, hexc_module **out);
/* Compile p alone: a code of the library. */
int cli_once(CliProgram *p, hexc_module **out);
/* p met an internal error: keep what shows it again in a folder of its own under $TMPDIR (bug.c).  What is to
 * be said of it; NULL: nothing, or it was printed that the folder could not be written. */
const char *cli_keep_bug(CliProgram *p);
/* Compile c's program with the options on the command line and these flags; `stop`: a pass, or NULL.
 * 0, or an exit status with the diagnostics printed. */
int cli_compile(Cli *c, uint32_t flags, const char *stop, hexc_module **out);
/* Is it the name of a pass, `parse` or, where `all`, "all"?  0, or a status with the reason printed. */
int cli_check_pass(const char *opt, const char *name, bool all);
/* The same of a file of IR that was made of c's program, through passes as hexc_compile_ir names them. */
int cli_compile_ir(Cli *c, const char *path, const char *passes, hexc_module **out);
bool cli_ends_in(const char *s, const char *end);
/* Number of the one kernel of m; a status when there are several. */
int cli_one_kernel(const hexc_module *m);
/* Exit status for a result code of the library. */
int cli_status(int code);

/* ---- bundles (cli/build.c) --------------------------------------------------------------------- */

/* n modules, and the text of families, as the bundle that -o and --c-array ask for; 0, or a status with the
 * reason printed. */
int cli_write_bundle(Cli *c, const hexc_module *const *m, size_t n, const char *compiler,
                     const char *families);

/* ---- ptxas (cli/ptxas.c) ---------------------------------------------------------------------- */

/* Has p's solutions ranked by the assembler, if there is one.  0, or a status with the reason printed. */
int cli_rank(CliProgram *p);
/* Has each of the cubins an arch whose PTX runs there?  0, or a status with the reason printed. */
int cli_check_cubins(const CliWords *archs, const CliWords *cubins);
/* *m, compiled for arch, with those of the cubins that it is the best of the archs for; on failure it stays
 * as it is.  As above. */
int cli_add_cubins(Cli *c, const CliWords *archs, const CliWords *cubins, hexc_module **m, const char *arch);

/* ---- families (cli/family.c) ------------------------------------------------------------------ */

/* A kernel that a family asks for, once. */
typedef struct CliWant {
	const char *kernel, *arch; /* arch: NULL, all of --arch */
	hexc_define *define;
	size_t ndefine;
	int64_t candidate; /* -1: that of --candidate */
	bool here, done;   /* the program at hand has it; it is compiled */
} CliWant;

typedef struct CliFamilies {
	const char *text; /* of all */
	CliWant *want;
	size_t n, cap;
} CliFamilies;

/* Read the files of --family; 0, or a status with the reason printed. */
int cli_read_families(Cli *c, CliFamilies *out);
/* Has the bundle all that the text asks for?  As above. */
int cli_check_families(const void *bundle, size_t n, const char *text);

/* ---- what was compiled before (cli/cache.c) ---------------------------------------------------- */

/* The one of --cache, NULL without it.  0, or a status with the reason printed. */
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
