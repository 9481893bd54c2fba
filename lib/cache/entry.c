/* entry.c - reads and writes cache entries in the format of hexc-cache(5). */
#define _GNU_SOURCE
#include "lib/cache/cache.h"
#include "lib/rt/serialize.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ENTRY_VERSION = 1, TOUCH_SECONDS = 60 };
static const char magic[8] = "HEXCENT\n";

/* ---- checksums ------------------------------------------------------------------------------------- */

/* Reads a word with one load, unlike wire_get_word. */
static inline uint64_t
word(const unsigned char *p)
{
	uint64_t x = 0;

	for (int i = 0; i < 8; i++)
		x |= (uint64_t)p[i] << 8 * i;
	return x;
}

/* FNV-1a over 8-byte words in four interleaved lanes: each step is a bijection, so changing any one word
 * changes the result. */
static uint64_t
digest(uint64_t h, const unsigned char *p, size_t n)
{
	static const uint64_t prime = UINT64_C(0x100000001b3);
	uint64_t lane[4] = { h, h + 1, h + 2, h + 3 }, last;

	for (; n >= 32; n -= 32, p += 32)
		for (int i = 0; i < 4; i++)
			lane[i] = (lane[i] ^ word(p + 8 * i)) * prime;
	for (int i = 0; n >= 8; n -= 8, p += 8, i++)
		lane[i] = (lane[i] ^ word(p)) * prime;
	last = wire_get_word(p, (int)n);
	for (int i = 0; i < 4; i++)
		last = (last ^ lane[i]) * prime;
	return last ^ last >> 32; /* the low bits of products depend only on low bits */
}

static uint64_t
entry_digest(const unsigned char *e, size_t n)
{
	return digest(digest(WIRE_BASIS, e, 24) ^ n, e + 32, n - 32);
}

/* Computes the name of the file for the key. */
static void
entry_name(const CacheKey *key, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%016llx.hxc",
	         (unsigned long long)digest(WIRE_BASIS, key->data, key->n));
}

/* ---- reading --------------------------------------------------------------------------------------- */

static unsigned char *
read_all(int fd, size_t n)
{
	unsigned char *data = malloc(n);
	size_t at = 0;

	while (data && at < n) {
		ssize_t k = read(fd, data + at, n - at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) { /* unreadable, or truncated meanwhile */
			free(data);
			return NULL;
		}
		at += (size_t)k;
	}
	return data;
}

/* Is it a complete entry of this version for this key? A valid entry of another key sets *other. */
static bool
is_valid_entry(const unsigned char *e, size_t n, const CacheKey *key, bool *other)
{
	uint64_t label = wire_get_word(e + 12, 4), nkey = wire_get_word(e + 32, 8);

	*other = false;
	if (memcmp(e, magic, sizeof magic) != 0 || wire_get_word(e + 8, 4) != ENTRY_VERSION ||
	    wire_get_word(e + 16, 8) != n || label > n - ENTRY_HEAD || nkey > n - ENTRY_HEAD - label ||
	    wire_get_word(e + 24, 8) != entry_digest(e, n))
		return false;
	*other = nkey != key->n || memcmp(e + ENTRY_HEAD + label, key->data, key->n) != 0;
	return !*other;
}

/* Updates the time of last use, unless it is recent. */
static void
update_mtime(const hexc_cache *c, int fd, const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!c->read_only && (now.tv_sec - st->st_mtime >= TOUCH_SECONDS || now.tv_sec < st->st_mtime))
		(void)!futimens(fd, NULL); /* not our file, or a read-only file system: it stays as old as
		                            * it was */
}

static unsigned char *
read_entry(hexc_cache *c, int folder, const char *name, const CacheKey *key, size_t *n)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	unsigned char *data = NULL;
	bool other = false, right = false;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && cache_trusts(&st) &&
	    st.st_size >= ENTRY_HEAD && (uintmax_t)st.st_size < SIZE_MAX / 2) {
		*n = (size_t)st.st_size;
		data = read_all(fd, *n);
		right = data && is_valid_entry(data, *n, key, &other);
		if (right)
			update_mtime(c, fd, &st);
	}
	close(fd);
	if (right)
		return data;
	if (!other)
		atomic_fetch_add(&c->damaged, 1);
	free(data);
	return NULL;
}

void *
cache_get(hexc_cache *c, const CacheKey *key, size_t *n)
{
	char name[NAME_BYTES];
	unsigned char *e = NULL;
	size_t bytes = 0, front;
	int folder = cache_open_folder(c, O_PATH);

	entry_name(key, name);
	if (folder >= 0) {
		e = read_entry(c, folder, name, key, &bytes);
		close(folder);
	} else if (errno == EPERM) {
		atomic_store(&c->error, EPERM);
	}
	atomic_fetch_add(e ? &c->hits : &c->misses, 1);
	if (!e)
		return NULL;
	front = ENTRY_HEAD + (size_t)wire_get_word(e + 12, 4) + key->n;
	*n = bytes - front;
	return memmove(e, e + front, *n); /* aligned, since cubins are passed to the driver in place */
}

bool
cache_label(int folder, const char *name, char *label, size_t room)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	unsigned char head[ENTRY_HEAD + ENTRY_LABEL_MAX];
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
	size_t bytes;

	if (fd >= 0)
		close(fd);
	if (n < ENTRY_HEAD || memcmp(head, magic, sizeof magic) != 0 ||
	    wire_get_word(head + 8, 4) != ENTRY_VERSION)
		return false;
	bytes = (size_t)wire_get_word(head + 12, 4);
	if (bytes > (size_t)n - ENTRY_HEAD || bytes >= room)
		return false;
	memcpy(label, head + ENTRY_HEAD, bytes);
	label[bytes] = 0;
	return true;
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* Returns the bytes of the entry, which the caller frees; NULL if memory is short or the size overflows. */
static unsigned char *
entry_bytes(const CacheKey *key, const void *data, size_t n, size_t *bytes)
{
	size_t label = strlen(key->label) < ENTRY_LABEL_MAX ? strlen(key->label) : ENTRY_LABEL_MAX - 1;
	unsigned char *e;

	if (key->n > SIZE_MAX / 4 || n > SIZE_MAX / 4)
		return NULL;
	*bytes = ENTRY_HEAD + label + key->n + n;
	e = malloc(*bytes);
	if (!e)
		return NULL;
	memcpy(e, magic, sizeof magic);
	wire_put_word(e + 8, ENTRY_VERSION, 4);
	wire_put_word(e + 12, label, 4);
	wire_put_word(e + 16, *bytes, 8);
	wire_put_word(e + 32, key->n, 8);
	wire_put_word(e + 40, 0, 8);
	memcpy(e + ENTRY_HEAD, key->label, label);
	memcpy(e + ENTRY_HEAD + label, key->data, key->n);
	if (n)
		memcpy(e + ENTRY_HEAD + label + key->n, data, n);
	wire_put_word(e + 24, entry_digest(e, *bytes), 8);
	return e;
}

/* Would a file of this size raise SIGXFSZ, which ends the process? */
static bool
too_long(size_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       bytes > limit.rlim_cur;
}

static int
write_all(int fd, const unsigned char *data, size_t n)
{
	while (n) {
		ssize_t k = write(fd, data, n);

		if (k < 0 && errno != EINTR)
			return errno;
		if (k > 0) {
			data += k;
			n -= (size_t)k;
		}
	}
	return 0;
}

/* Creates a new file in the directory, locked for the life of the writer; returns -1 with errno on
 * failure. */
static int
open_temp(hexc_cache *c, int folder, char name[NAME_BYTES])
{
	struct timespec now;
	unsigned long number;
	int fd = -1;

	for (int i = 0; i < 100 && fd < 0; i++) {
		clock_gettime(CLOCK_REALTIME, &now);
		number = (unsigned long)now.tv_nsec + (unsigned long)(atomic_fetch_add(&c->temps, 1) << 20);
		snprintf(name, NAME_BYTES, "%08lx%08lx.tmp", (unsigned long)getpid() & 0xffffffffUL,
		         number & 0xffffffffUL);
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) { /* another process treats it
	                                                                        * as a leftover */
		close(fd);
		unlinkat(folder, name, 0);
		errno = ENOENT;
		return -1;
	}
	return fd;
}

/* Writes the entry atomically. After a system crash its checksum detects damage, so nothing is synced.
 * Returns 0 or an errno. */
static int
write_entry(hexc_cache *c, const CacheKey *key, const unsigned char *e, size_t bytes)
{
	char name[NAME_BYTES], temp[NAME_BYTES];
	int folder = cache_open_folder(c, O_PATH), fd, bad;

	if (folder < 0 && errno == ENOENT) { /* it was removed */
		bad = cache_make_folder(c->path);
		folder = bad ? -1 : cache_open_folder(c, O_PATH);
		errno = bad ? bad : errno;
	}
	if (folder < 0)
		return errno;
	fd = open_temp(c, folder, temp);
	bad = fd < 0 ? errno : write_all(fd, e, bytes);
	entry_name(key, name);
	if (!bad && renameat(folder, temp, folder, name))
		bad = errno;
	if (fd >= 0) {
		if (bad)
			unlinkat(folder, temp, 0);
		close(fd);
	}
	close(folder);
	return bad;
}

void
cache_put(hexc_cache *c, const CacheKey *key, const void *data, size_t n)
{
	unsigned char *e;
	size_t bytes;
	int bad;

	if (c->read_only)
		return;
	e = entry_bytes(key, data, n, &bytes);
	bad = !e ? ENOMEM : bytes > c->max_bytes || too_long(bytes) ? EFBIG : ENOENT;
	for (int i = 0; i < 5 && bad == ENOENT; i++) /* another process removed it before it was locked */
		bad = write_entry(c, key, e, bytes);
	free(e);
	if (bad) {
		atomic_store(&c->error, bad);
		atomic_fetch_add(&c->failed, 1);
		return;
	}
	atomic_fetch_add(&c->stored, 1);
	cache_wrote(c, bytes);
}
