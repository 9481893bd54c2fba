/* files.c - reads and writes the files of the command line. An output is complete or unchanged: it is
 * written to a temporary file next to its path and then renamed. No file is both an input and an output,
 * or the output of two options. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "hexc/cli/base/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which file is it -------------------------------------------------------------------------- */

typedef enum FileUse {
	USE_READ = 1,
	USE_NAMED = 2, /* named by an option, as an output */
	USE_WRITTEN = 4,
} FileUse;

/* A file's identity: its device and inode or, if it does not exist, its directory's and its name. */
typedef struct CliFile CliFile;
struct CliFile {
	CliFile *next;
	FileUse use;
	const char *path;
	const char *name; /* NULL: it exists */
	dev_t device;
	ino_t inode;
};

/* Returns false if the path cannot be overwritten, such as a pipe, a terminal or /dev/null. */
static bool
identify(Cli *c, const char *path, CliFile *f)
{
	const char *slash = strrchr(path, '/');
	struct stat st;

	*f = (CliFile){ .path = path };
	if (stat(path, &st) != 0) {
		f->name = slash ? slash + 1 : path;
		if (stat(!slash ? "." : cli_strndup(c, path, (size_t)(slash - path) + 1), &st) != 0)
			return false;
	} else if (!S_ISREG(st.st_mode)) {
		return false;
	}
	f->device = st.st_dev;
	f->inode = st.st_ino;
	return true;
}

/* Returns another use of the same file, of these kinds; NULL if there is none. */
static const CliFile *
same_file(const Cli *c, const CliFile *f, unsigned uses)
{
	for (const CliFile *o = c->file_used; o; o = o->next)
		if ((o->use & uses) && o->device == f->device && o->inode == f->inode &&
		    !o->name == !f->name &&
		    (!f->name || strcmp(o->name, f->name) == 0))
			return o;
	return NULL;
}

static void
remember(Cli *c, const CliFile *f, FileUse use)
{
	CliFile *kept = cli_alloc(c, sizeof *kept);

	*kept = *f;
	kept->use = use;
	kept->next = c->file_used;
	c->file_used = kept;
}

int
cli_outputs(Cli *c)
{
	for (int i = 0; i < c->narg; i++) {
		const char *path = cli_output(&c->arg[i]);
		CliFile f;

		if (!path || strcmp(path, "-") == 0 || !identify(c, path, &f))
			continue;
		if (same_file(c, &f, USE_NAMED))
			return cli_error(EXIT_USAGE,
			                 "%s is the output of two options; give each its own file",
			                 path);
		remember(c, &f, USE_NAMED);
	}
	return 0;
}

int
cli_input(Cli *c, const char *path)
{
	CliFile f;

	if (!identify(c, path, &f) || f.name)
		return 0;
	if (same_file(c, &f, USE_NAMED | USE_WRITTEN))
		return cli_error(EXIT_USAGE,
		                 "output %s would overwrite an input; choose another name", path);
	remember(c, &f, USE_READ);
	return 0;
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* Reads all of f into memory that grows by doubling, so that pipes work too. */
static char *
read_all(Cli *c, FILE *f, const char *path, size_t most, size_t *n, int *status)
{
	size_t cap = 1 << 16, have = 0, got;
	char *s = malloc(cap + 1), *kept;

	while (s && (got = fread(s + have, 1, cap - have, f)) > 0) {
		have += got;
		if (have > most)
			break;
		if (have == cap) {
			char *more = cap > SIZE_MAX / 4 ? NULL : realloc(s, cap * 2 + 1);
			if (!more)
				free(s);
			s = more;
			cap *= 2;
		}
	}
	kept = s && have <= most ? cli_try_alloc(c, have + 1) : NULL;
	if (have > most)
		*status = cli_error(EXIT_TROUBLE, "%s: larger than %zu bytes", path, most);
	else if (!kept)
		*status = cli_error(EXIT_TROUBLE, "%s: out of memory", path);
	else if (ferror(f))
		*status = cli_error(EXIT_INPUT, "%s: %s", path, strerror(errno));
	else
		memcpy(kept, s, have);
	free(s);
	*n = have;
	return *status ? NULL : kept;
}

char *
cli_read(Cli *c, const char *path, size_t most, size_t *n, int *status)
{
	bool in = strcmp(path, "-") == 0;
	FILE *f;
	char *s;

	*status = cli_input(c, in ? "/dev/stdin" : path);
	if (*status)
		return NULL;
	f = in ? stdin : fopen(path, "rb");
	if (!f) {
		*status = cli_error(EXIT_INPUT, "%s: %s", path, strerror(errno));
		return NULL;
	}
	s = read_all(c, f, path, most, n, status);
	if (!in)
		fclose(f);
	return s;
}

/* ---- writing ----------------------------------------------------------------------------------- */

enum { PIECE = 1 << 24 }; /* bytes between checks for signals */

/* Blocks the signals that end programs until the new file is in place. */
static void
hold_signals(sigset_t *held, sigset_t *before)
{
	sigemptyset(held);
	sigaddset(held, SIGINT);
	sigaddset(held, SIGTERM);
	sigaddset(held, SIGHUP);
	sigprocmask(SIG_BLOCK, held, before);
}

static bool
wanted_to_stop(const sigset_t *held)
{
	sigset_t now;

	sigpending(&now);
	for (int s = 1; s <= SIGTERM; s++)
		if (sigismember(held, s) == 1 && sigismember(&now, s) == 1)
			return true;
	return false;
}

/* Returns false with errno, EINTR if a signal arrived. */
static bool
write_all(int fd, const char *data, size_t n, const sigset_t *held)
{
	while (n) {
		ssize_t put = write(fd, data, n < PIECE ? n : PIECE);

		if (put < 0 && errno != EINTR)
			return false;
		if (held && wanted_to_stop(held)) {
			errno = EINTR;
			return false;
		}
		if (put > 0) {
			data += put;
			n -= (size_t)put;
		}
	}
	return true;
}

/* Creates a new file in the directory of `path`, with a unique name; returns -1 with errno. */
static int
open_beside(Cli *c, const char *path, char **name)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0, fd = -1;

	for (int i = 0; i < 100 && fd < 0; i++) {
		*name = cli_printf(c, "%.*s.hexc-%ld-%d.tmp", folder, path, (long)getpid(), i);
		fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

/* Replaces a file. `old`: the existing file, whose mode is preserved; NULL if there is none. Returns false
 * with errno. */
static bool
replace(Cli *c, const char *path, const struct stat *old, const void *data, size_t n)
{
	sigset_t held, before;
	char *name;
	int fd, why;
	bool ok;

	if (old && access(path, W_OK) != 0)
		return false;
	hold_signals(&held, &before);
	fd = open_beside(c, path, &name);
	ok = fd >= 0 && (!old || fchmod(fd, old->st_mode & 07777) == 0) && write_all(fd, data, n, &held);
	why = errno;
	if (fd >= 0 && close(fd) != 0 && ok) {
		ok = false;
		why = errno;
	}
	if (ok && rename(name, path) != 0) {
		ok = false;
		why = errno;
	}
	if (!ok && fd >= 0)
		unlink(name);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return ok;
}

/* Pipes, terminals and devices are written directly. */
static bool
write_through(const char *path, const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), why;
	bool ok = fd >= 0 && write_all(fd, data, n, NULL);

	why = errno;
	if (fd >= 0 && close(fd) != 0 && ok) {
		ok = false;
		why = errno;
	}
	errno = why;
	return ok;
}

static bool
is_stdout(const struct stat *st)
{
	struct stat out;

	return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == st->st_dev && out.st_ino == st->st_ino;
}

static int
write_stdout(const void *data, size_t n)
{
	fwrite(data, 1, n, stdout);
	return cli_flush();
}

int
cli_write(Cli *c, const char *path, const void *data, size_t n)
{
	bool there;
	struct stat st;
	char *real;
	CliFile f;
	bool ok;

	if (strcmp(path, "-") == 0)
		return write_stdout(data, n);
	if (identify(c, path, &f) && same_file(c, &f, USE_READ | USE_WRITTEN))
		return cli_error(EXIT_USAGE, "%s was already read or written; use another name for the "
		                             "output",
		                 path);
	there = stat(path, &st) == 0;
	if (there && is_stdout(&st))
		return write_stdout(data, n);
	real = there ? realpath(path, NULL) : NULL; /* writes the target of a link, not the link */
	ok = there && !S_ISREG(st.st_mode) ? write_through(path, data, n)
	                                   : replace(c, real ? real : path, there ? &st : NULL, data, n);
	free(real);
	if (!ok)
		return cli_error(EXIT_TROUBLE, "%s: cannot write: %s", path, strerror(errno));
	if (identify(c, path, &f))
		remember(c, &f, USE_WRITTEN);
	return 0;
}

int
cli_flush(void)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || cli_nobody_reads())
		return 0;
	return cli_error(EXIT_TROUBLE, "standard output: cannot write: %s", strerror(errno));
}
