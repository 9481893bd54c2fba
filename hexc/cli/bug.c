/* bug.c - reports an internal error: writes a directory with everything that reproduces it.
 *
 *  program.hexc   the compiled program (program.ir of hexc ir)
 *  last.ir        the IR before the pass that failed; absent if no pass was reached
 *  replay         `sh replay`: the same command and error; `sh replay ir`: from last.ir on */
#define _GNU_SOURCE /* mkdtemp */
#include "hexc/cli/base/cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The IR after the last two passes: if the last one left broken IR, the one before is needed. */
typedef struct CliLast {
	char *pass[2], *ir[2];
} CliLast;

static void
keep(void *user, const char *pass, const char *kernel, const char *ir)
{
	CliProgram *p = user;
	CliLast *l = p->last;

	(void)kernel;
	l->pass[1] = l->pass[0];
	l->ir[1] = l->ir[0];
	l->pass[0] = cli_printf(p->cli, "%s", pass);
	l->ir[0] = cli_printf(p->cli, "%s", ir);
}

/* Returns the first error's text. */
static const char *
what_failed(const CliProgram *p)
{
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;

	for (size_t i = 0; hexc_diag(p->ctx, i, &d); i++)
		if (d.severity == 2)
			return d.text;
	return "";
}

static const char *
last_good(Cli *c, const CliLast *l, const char *what)
{
	const char *after = l->pass[0] ? cli_printf(c, "after %s:", l->pass[0]) : NULL;

	return after && strstr(what, after) ? l->ir[1] : l->ir[0];
}

/* Quotes a word for a shell. */
static const char *
quoted(Cli *c, const char *word)
{
	CliText t = { NULL, 0, 0 };

	cli_append(c, &t, "'", 1);
	for (; *word; word++)
		cli_append(c, &t, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	cli_append(c, &t, "'", 1);
	return t.s;
}

/* Returns the options of a compilation as words of the command line. */
static const char *
options_of(Cli *c, const hexc_opts *o, bool ir)
{
	static const struct { uint32_t flag; const char *word; } flags[] = {
		{ HEXC_PROVE, "--prove" }, { HEXC_PARANOID, "--paranoid" }, { HEXC_NO_PDL, "--no-pdl" },
		{ HEXC_LINEINFO, "--lineinfo" }, { HEXC_WERROR, "--werror" },
	};
	char *s = o->arch ? cli_printf(c, " --arch %s", o->arch) : cli_strndup(c, "", 0);

	for (size_t i = 0; !ir && i < o->ndefine; i++)
		s = cli_printf(c, "%s -D %s=%lld", s, o->define[i].name, (long long)o->define[i].value);
	if (o->kernel && !ir)
		s = cli_printf(c, "%s --kernel %s", s, quoted(c, o->kernel));
	if (o->candidate)
		s = cli_printf(c, "%s --candidate %u", s, o->candidate);
	if (o->schedule)
		s = cli_printf(c, "%s --schedule %s", s, quoted(c, o->schedule));
	if (o->cluster[0])
		s = cli_printf(c, "%s --cluster %ux%u", s, o->cluster[0], o->cluster[1]);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (o->flags & flags[i].flag && !(ir && (flags[i].flag & (HEXC_PARANOID | HEXC_LINEINFO))))
			s = cli_printf(c, "%s %s", s, flags[i].word);
	return s;
}

static bool
write_in(Cli *c, const char *folder, const char *name, const char *text, size_t n)
{
	return cli_write(c, cli_printf(c, "%s/%s", folder, name), text, n) == 0;
}

const char *
cli_keep_bug(CliProgram *p)
{
	Cli *c = p->cli;
	CliLast last = { { NULL, NULL }, { NULL, NULL } };
	hexc_opts o = p->opts;
	const char *tmp = getenv("TMPDIR"), *what = cli_plain(c, what_failed(p)), *good, *script;
	char *folder = cli_printf(c, "%s/hexc-bug-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	hexc_module *m = NULL;

	/* not for an LLVM version other than the one hexc was built with */
	if (strncmp(what, "internal", 8) != 0 || getenv("HEXC_REPLAY"))
		return NULL;
	o.dump = "all";
	o.text = keep;
	o.cache = NULL;
	o.trace = NULL;
	p->last = &last;
	if (hexc_configure(p->ctx, &o) == HEXC_OK)
		cli_once(p, &m);
	hexc_module_free(m);
	hexc_configure(p->ctx, &p->opts); /* cannot fail: it was opened with these options */
	p->last = NULL;
	if (!mkdtemp(folder))
		return cli_printf(c, "%s: could not save a report of this internal error: %s", folder,
		                  strerror(errno));
	good = last_good(c, &last, what);
	script = cli_printf(c,
	                    "#!/bin/sh\n# %s\n# %s\n# HEXC=FILE: another hexc than that of $PATH\n"
	                    "cd \"$(dirname \"$0\")\" || exit 2\nexport HEXC_REPLAY=1\n"
	                    "case ${1:-} in\n"
	                    "ir) exec \"${HEXC:-hexc}\" ir last.ir --passes ..%s -o /dev/null ;;\n"
	                    "*) exec \"${HEXC:-hexc}\" %s%s -o /dev/null ;;\n"
	                    "esac\n",
	                    hexc_build_info(), what, options_of(c, &p->opts, true),
	                    p->ir ? cli_printf(c, "ir program.ir --passes %s",
	                                       quoted(c, p->passes ? p->passes : ".."))
	                          : "compile program.hexc",
	                    options_of(c, &p->opts, p->ir));
	if (!write_in(c, folder, p->ir ? "program.ir" : "program.hexc", p->src, p->n) ||
	    !write_in(c, folder, "replay", script, strlen(script)) ||
	    (good && !write_in(c, folder, "last.ir", good, strlen(good))))
		return NULL;
	return cli_printf(c,
	                  "this is a bug in hexc, not in the program; `sh %s/replay` reproduces it; please "
	                  "report it with that folder", folder);
}
