/* evict.c - opens and scans the directory of a cache, and evicts the oldest entries above the size limit. */
#define _GNU_SOURCE
#include "lib/cache/cache.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Kinds of files in the directory. */
typedef enum CacheFile { FILE_FOREIGN, FILE_ENTRY, FILE_TEMP } CacheFile;

static CacheFile
file_kind(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	if (n == 16 && strcmp(name + n, ".hxc") == 0)
		return FILE_ENTRY;
	return n == 16 && strcmp(name + n, ".tmp") == 0 ? FILE_TEMP : FILE_FOREIGN;
}

bool
cache_trusts(const struct stat *st)
{
	return (st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int
cache_open_folder(const hexc_cache *c, int how)
{
	int fd = open(c->path, how | O_DIRECTORY | O_CLOEXEC), bad = 0;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		bad = errno;
	else if (!cache_trusts(&st))
		bad = EPERM;
	if (!bad)
		return fd;
	close(fd);
	errno = bad;
	return -1;
}

int
cache_make_folder(const char *path)
{
	size_t n = strlen(path);
	char *part = malloc(n + 1);
	int bad = part ? 0 : ENOMEM;

	for (size_t i = 1; i <= n && !bad; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0700) && errno != EEXIST)
			bad = errno;
		if (bad && access(part, F_OK) == 0)
			bad = 0; /* it exists already */
	}
	free(part);
	return bad;
}

/* ---- what is there --------------------------------------------------------------------------------- */

typedef struct FoundEntry {
	char name[NAME_BYTES];
	uint64_t bytes;
	struct timespec used;
} FoundEntry;

typedef struct FolderScan {
	const hexc_cache *c;
	FoundEntry *found;
	size_t n, cap;
	uint64_t bytes;
	DIR *dir; /* NULL: not opened */
} FolderScan;

/* Removes what a killed process left: a file whose lock is free or, on file systems without locks, an old
 * one. */
static void
remove_left(int folder, const char *name, const struct stat *st)
{
	enum { OLD = 3600 }; /* seconds */
	int fd = openat(folder, name, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 ||
	    (errno != EWOULDBLOCK && time(NULL) - st->st_mtime > OLD))
		unlinkat(folder, name, 0);
	close(fd);
}

/* Adds a file to the scan; returns 0 or an errno. */
static int
scan_file(FolderScan *s, const char *name)
{
	CacheFile kind = file_kind(name);
	struct stat st;
	FoundEntry *more;

	if (kind == FILE_FOREIGN || fstatat(dirfd(s->dir), name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	if (kind == FILE_TEMP) {
		if (!s->c->read_only)
			remove_left(dirfd(s->dir), name, &st);
		return 0;
	}
	if (s->n == s->cap) {
		s->cap = 2 * s->cap + 64;
		more = realloc(s->found, s->cap * sizeof *more);
		if (!more)
			return ENOMEM;
		s->found = more;
	}
	memcpy(s->found[s->n].name, name, strlen(name) + 1); /* its kind implies that NAME_BYTES suffice */
	s->found[s->n].bytes = (uint64_t)st.st_size;
	s->found[s->n++].used = st.st_mtim;
	s->bytes += (uint64_t)st.st_size;
	return 0;
}

/* Scans all entries and removes leftovers. Returns 0 or an errno; call scan_end in any case. */
static int
scan(FolderScan *s, const hexc_cache *c)
{
	struct dirent *e;
	int bad = 0, fd;

	*s = (FolderScan){ .c = c };
	fd = cache_open_folder(c, O_RDONLY);
	if (fd < 0)
		return errno;
	s->dir = fdopendir(fd);
	if (!s->dir) {
		close(fd);
		return ENOMEM;
	}
	while (!bad && (errno = 0, e = readdir(s->dir)) != NULL)
		bad = scan_file(s, e->d_name);
	return bad ? bad : errno;
}

static void
scan_end(FolderScan *s)
{
	free(s->found);
	if (s->dir)
		closedir(s->dir);
}

/* ---- what goes ------------------------------------------------------------------------------------- */

static int
older(const void *x, const void *y)
{
	const struct timespec *a = &((const FoundEntry *)x)->used, *b = &((const FoundEntry *)y)->used;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

/* Above the limit, removes the least recently used entries until an eighth of it is free. */
static void
trim(FolderScan *s)
{
	uint64_t most = s->c->max_bytes;

	if (s->bytes <= most)
		return;
	qsort(s->found, s->n, sizeof *s->found, older);
	for (size_t i = 0; i < s->n && s->bytes > most - most / 8; i++)
		if (unlinkat(dirfd(s->dir), s->found[i].name, 0) == 0 || errno == ENOENT)
			s->bytes -= s->found[i].bytes;
}

void
cache_wrote(hexc_cache *c, uint64_t bytes)
{
	uint64_t room = atomic_load(&c->room), left;
	FolderScan s;

	do
		left = room > bytes ? room - bytes : 0;
	while (!atomic_compare_exchange_weak(&c->room, &room, left));
	if (left)
		return;
	if (scan(&s, c) == 0) {
		trim(&s);
		room = s.bytes < c->max_bytes ? c->max_bytes - s.bytes : 0;
		atomic_store(&c->room, room < c->max_bytes / 64 ? room : c->max_bytes / 64);
	}
	scan_end(&s);
}

/* ---- for people ------------------------------------------------------------------------------------ */

static int
file_code(int bad)
{
	return bad == 0 ? HEXC_OK : bad == ENOMEM ? HEXC_E_NOMEM : HEXC_E_FILE;
}

int
hexc_cache_each(const hexc_cache *c, int (*each)(void *user, const hexc_cache_entry *e), void *user)
{
	char label[ENTRY_LABEL_MAX];
	FolderScan s;
	int bad;

	if (!c || !each)
		return HEXC_E_INVALID;
	bad = scan(&s, c);
	for (size_t i = 0; i < s.n && !bad; i++) {
		const FoundEntry *f = &s.found[i];
		bool right = cache_label(dirfd(s.dir), f->name, label, sizeof label);
		hexc_cache_entry e = { f->name, right ? label : NULL, f->bytes, f->used.tv_sec };

		if (each(user, &e))
			break;
	}
	scan_end(&s);
	return file_code(bad);
}

int
hexc_cache_clear(hexc_cache *c, uint64_t *removed)
{
	FolderScan s;
	int bad;

	if (removed)
		*removed = 0;
	if (!c || c->read_only)
		return HEXC_E_INVALID;
	bad = scan(&s, c);
	for (size_t i = 0; i < s.n; i++) {
		if (unlinkat(dirfd(s.dir), s.found[i].name, 0) == 0) {
			if (removed)
				++*removed;
		} else if (errno != ENOENT) {
			bad = bad ? bad : errno;
		}
	}
	scan_end(&s);
	return file_code(bad);
}
