/* ptxas.c - runs ptxas: ranks solutions by its register counts, and assembles cubins for bundles. */
#define _GNU_SOURCE /* mkdtemp, secure_getenv */
#include "hexc/cli/base/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SAID_MAX = 1 << 20, CUBIN_MAX = 1 << 30, NOT_FOUND = 127, ASKED_SECONDS = 60, LONGEST_NAP = 20000000 };

/* ---- where it is -------------------------------------------------------------------------------- */

static const char *
on_path(Cli *c, const char *name)
{
	const char *path = secure_getenv("PATH");

	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		const char *file;

		n = strcspn(path, ":");
		file = cli_printf(c, "%.*s/%s", n ? (int)n : 1, n ? path : ".", name);
		if (access(file, X_OK) == 0)
			return file;
	}
	return NULL;
}

/* Returns the program that --assembler or $PTXAS names, or ptxas on $PATH; NULL: not found, or disabled. */
static const char *
ptxas_path(Cli *c)
{
	const char *given = cli_get(c, CLI_assembler), *env = secure_getenv("PTXAS");

	if (!given && env && *env)
		given = env;
	if (given)
		return strcmp(given, "none") == 0 ? NULL : given;
	return on_path(c, "ptxas");
}

static int
no_ptxas(const char *option)
{
	return cli_error(EXIT_TROUBLE,
	                 "%s requires ptxas of the CUDA toolkit; set --assembler, $PTXAS or $PATH",
	                 option);
}

/* ---- one run ------------------------------------------------------------------------------------ */

/* Creates a new directory, which ptxas_leave removes with a.ptx, a.cubin and a.txt; NULL with the reason
 * printed. */
static const char *
ptxas_folder(Cli *c)
{
	const char *tmp = secure_getenv("TMPDIR");
	char *folder = cli_printf(c, "%s/hexcXXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (mkdtemp(folder))
		return folder;
	cli_error(EXIT_TROUBLE, "%s: %s", folder, strerror(errno));
	return NULL;
}

static void
ptxas_leave(Cli *c, const char *folder)
{
	static const char *const file[] = { "a.ptx", "a.cubin", "a.txt" };

	for (size_t i = 0; i < CLI_COUNT(file); i++)
		unlink(cli_printf(c, "%s/%s", folder, file[i]));
	rmdir(folder);
}

static bool
write_plain(const char *path, const char *data, size_t n)
{
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(data, 1, n, f) == n;

	return f && fclose(f) == 0 && ok;
}

static char *
read_plain(Cli *c, const char *path)
{
	FILE *f = fopen(path, "rb");
	long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : 0;
	size_t n = size < 0 ? 0 : size < SAID_MAX ? (size_t)size : SAID_MAX;
	char *text = cli_alloc(c, n + 1); /* with a NUL */

	if (f && (fseek(f, 0, SEEK_SET) || fread(text, 1, n, f) != n))
		*text = 0;
	if (f)
		fclose(f);
	return text;
}

static const char *
wait_long(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return strerror(errno);
	return NULL;
}

/* Waits at most ASKED_SECONDS, when only ranking: for some kernels ptxas takes minutes. */
static const char *
wait_for(Cli *c, pid_t pid, const char *name, int *status)
{
	struct timespec nap = { 0, 1000000 }, now, end;
	pid_t got;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ASKED_SECONDS;
	while ((got = waitpid(pid, status, WNOHANG)) == 0) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end.tv_sec) {
			kill(pid, SIGKILL);
			wait_long(pid, status);
			return cli_printf(c, "%s took more than %d seconds", name, (int)ASKED_SECONDS);
		}
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < LONGEST_NAP)
			nap.tv_nsec += nap.tv_nsec / 4;
	}
	return got < 0 ? strerror(errno) : NULL;
}

/* Runs words[0] with these words, with its output to the file `to` (NULL: inherited). Returns NULL, or the
 * reason of a failure. */
static const char *
spawn(Cli *c, const char *const *words, const char *to)
{
	posix_spawn_file_actions_t actions;
	char *argv[8] = { NULL };
	int status = 0, bad;
	const char *why;
	pid_t pid;

	for (int i = 0; words[i]; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	fflush(NULL);
	bad = posix_spawn_file_actions_init(&actions);
	if (bad)
		return strerror(bad);
	if (to)
		bad = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, to,
		                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (to && !bad)
		bad = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	if (!bad)
		bad = posix_spawnp(&pid, words[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (bad)
		return cli_printf(c, "%s cannot be run: %s", words[0], strerror(bad));
	why = to ? wait_for(c, pid, words[0], &status) : wait_long(pid, &status);
	if (why)
		return why;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND) /* the convention of shells */
		return cli_printf(c, "%s cannot be run", words[0]);
	if (WIFSIGNALED(status))
		return cli_printf(c, "%s was terminated by signal %d", words[0], WTERMSIG(status));
	return WEXITSTATUS(status) ? "" : NULL;
}

/* Returns the first line of the output that mentions an error, or its first line. */
static const char *
first_words(Cli *c, const char *said)
{
	const char *at = strstr(said, "error"), *line = at ? at : said;

	while (line > said && line[-1] != '\n')
		line--;
	return cli_plain(c, cli_strndup(c, line, strcspn(line, "\n")));
}

/* Runs ptxas, which must exist, on this PTX in the directory, to create a.cubin or, with `said`, to get
 * its register report. Returns false with a reason in *why. */
static bool
ptxas_run(Cli *c, const char *folder, const char *arch, const char *ptx, size_t n, char **said,
          const char **why)
{
	const char *from = cli_printf(c, "%s/a.ptx", folder), *text = cli_printf(c, "%s/a.txt", folder);
	const char *to = said ? "/dev/null" : cli_printf(c, "%s/a.cubin", folder);
	const char *words[] = { ptxas_path(c), cli_printf(c, "-arch=%s", arch), from, "-o", to,
		                said ? "-v" : NULL, NULL };

	if (!write_plain(from, ptx, n))
		*why = cli_printf(c, "%s: %s", from, strerror(errno));
	else
		*why = spawn(c, words, said ? text : NULL);
	if (*why && !**why)
		*why = said ? first_words(c, read_plain(c, text))
		            : cli_printf(c, "ptxas made no cubin for %s", arch);
	if (!*why && said)
		*said = read_plain(c, text);
	return !*why;
}

/* ---- ranking ------------------------------------------------------------------------------------- */

/* Returns the largest number before these words. */
static unsigned long
number_before(const char *text, const char *words)
{
	unsigned long most = 0;

	for (const char *at = text; (at = strstr(at, words)) != NULL; at++) {
		const char *from = at;
		unsigned long n;

		while (from > text && from[-1] >= '0' && from[-1] <= '9')
			from--;
		n = strtoul(from, NULL, 10);
		most = n > most ? n : most;
	}
	return most;
}

/* The callback of hexc_opts.assemble. */
static int
assemble(void *user, const char *arch, const char *kernel, const char *ptx, size_t n, hexc_assembled *out)
{
	CliProgram *p = user;
	const char *folder = ptxas_folder(p->cli), *why = "no folder for it";
	unsigned long loads;
	char *said;
	bool ok;

	(void)kernel;
	ok = folder && ptxas_run(p->cli, folder, arch, ptx, n, &said, &why);
	if (folder)
		ptxas_leave(p->cli, folder);
	if (ok && !strstr(said, " registers")) {
		ok = false;
		why = "its output has no register count";
	}
	if (!ok) {
		snprintf(out->why, out->why_size, "%s", why);
		return 1;
	}
	out->registers = (uint32_t)number_before(said, " registers");
	out->spilled = (uint32_t)number_before(said, " bytes spill stores");
	loads = number_before(said, " bytes spill loads");
	if (!out->spilled)
		out->spilled = (uint32_t)loads;
	return 0;
}

/* Returns the last line of ptxas --version. */
static const char *
version(Cli *c, const char **why)
{
	const char *folder = ptxas_folder(c), *words[] = { ptxas_path(c), "--version", NULL }, *to;
	char *text, *end;

	*why = "no folder for it";
	if (!folder)
		return NULL;
	to = cli_printf(c, "%s/a.txt", folder);
	*why = spawn(c, words, to);
	text = read_plain(c, to);
	ptxas_leave(c, folder);
	for (end = text + strlen(text); end > text && end[-1] == '\n';)
		*--end = 0;
	end = strrchr(text, '\n');
	if (*why && !**why)
		*why = cli_printf(c, "%s --version failed", words[0]);
	return *why ? NULL : end ? end + 1 : text;
}

int
cli_rank(CliProgram *p)
{
	bool asked = cli_has(p->cli, CLI_assemble);
	const char *why;

	if (!ptxas_path(p->cli))
		return asked ? no_ptxas("--assemble") : 0;
	p->opts.assemble = assemble;
	if (p->cache && !(p->opts.assembler = version(p->cli, &why)))
		return cli_error(EXIT_TROUBLE, "%s", why);
	return 0;
}

/* ---- cubins --------------------------------------------------------------------------------------- */

/* Splits "sm_86" into 86, and its letter or 0. */
static int
sm_of(const char *arch, char *letter)
{
	char *end;
	long sm = strncmp(arch, "sm_", 3) == 0 ? strtol(arch + 3, &end, 10) : 0;

	*letter = sm > 0 ? *end : 0;
	return sm > 0 && sm < 10000 ? (int)sm : 0;
}

static bool
runs(const char *ptx, const char *cubin)
{
	char of, to;
	int from = sm_of(ptx, &of), sm = sm_of(cubin, &to);

	return of ? from == sm && of == to : from <= sm;
}

/* Is this the arch to assemble that cubin from: the newest that runs there? */
static bool
best_for(const CliWords *archs, const char *arch, const char *cubin)
{
	char letter;

	if (!runs(arch, cubin))
		return false;
	for (int i = 0; i < archs->n; i++)
		if (runs(archs->word[i], cubin) && sm_of(archs->word[i], &letter) > sm_of(arch, &letter))
			return false;
	return true;
}

/* Assembles the cubin of m for an arch with ptxas, in a new directory. */
static int
make_cubin(Cli *c, const hexc_module *m, const char *arch, hexc_cubin *out)
{
	const char *folder, *text, *why;
	size_t n;
	int status = 0;

	if (!ptxas_path(c))
		return no_ptxas("--cubin");
	if (!(folder = ptxas_folder(c)))
		return EXIT_TROUBLE;
	text = hexc_ptx(m, &n);
	out->arch = arch;
	if (!ptxas_run(c, folder, arch, text, n, NULL, &why))
		status = cli_error(EXIT_TROUBLE, "--cubin: %s", why);
	else
		out->data = cli_read(c, cli_printf(c, "%s/a.cubin", folder), CUBIN_MAX, &out->bytes, &status);
	ptxas_leave(c, folder);
	return status;
}

int
cli_add_cubins(Cli *c, const CliWords *archs, const CliWords *cubins, hexc_module **m, const char *arch)
{
	hexc_cubin *made = cli_alloc(c, sizeof *made * (size_t)(cubins->n + 1));
	size_t n = 0, bytes = 0;
	hexc_module *with;
	void *data;
	int code;

	for (int i = 0; i < cubins->n; i++)
		if (best_for(archs, arch, cubins->word[i])) {
			int status = make_cubin(c, *m, cubins->word[i], &made[n++]);

			if (status)
				return status;
		}
	if (!n)
		return 0;
	code = hexc_module_save(*m, made, n, NULL, 0, &bytes);
	data = malloc(bytes + 1);
	if (!code && data)
		code = hexc_module_save(*m, made, n, data, bytes, &bytes);
	if (!code)
		code = data ? hexc_module_load(&with, data, bytes, NULL, 0) : HEXC_E_NOMEM;
	free(data);
	if (code)
		return cli_error(cli_status(code), "%s", hexc_strerror(code));
	hexc_module_free(*m);
	*m = with;
	return 0;
}

int
cli_check_cubins(const CliWords *archs, const CliWords *cubins)
{
	for (int i = 0; i < cubins->n; i++) {
		bool any = false;

		for (int a = 0; a < archs->n; a++)
			any = any || runs(archs->word[a], cubins->word[i]);
		if (!any)
			return cli_error(EXIT_USAGE, "--cubin %s: no PTX of --arch runs on it",
			                 cubins->word[i]);
	}
	return 0;
}
