/* cache.h - entries of a cache: bytes that are the answer to a key. */
#ifndef HEXC_CACHE_INT_H
#define HEXC_CACHE_INT_H
#include "lib/base/base.h"
#include "lib/hexc_cache.h"
#include <stdatomic.h>
#include <sys/stat.h>

struct hexc_cache {
	char *path;
	uint64_t max_bytes;
	bool read_only;
	_Atomic uint64_t hits, misses, stored, damaged, failed;
	_Atomic int error;
	_Atomic uint64_t room; /* bytes that may be written before the folder is looked at again */
	_Atomic uint64_t temps; /* names of files that are being written */
};

/* A key, and what is said of it to people. */
typedef struct CacheKey {
	const char *label; /* no newline */
	const void *data;
	size_t n;
} CacheKey;

/* ---- entry.c --------------------------------------------------------------------------------------- */

/* In front of an entry: magic, version, bytes of the label, of all, checksum of all but itself, bytes of the
 * key, 0.  Then label, key and answer. */
enum { ENTRY_HEAD = 48, ENTRY_LABEL_MAX = 400 };

/* The answer, n bytes, aligned for anything, which are the caller's to free; NULL: there is none. */
void *cache_get(hexc_cache *c, const CacheKey *key, size_t *n);
void cache_put(hexc_cache *c, const CacheKey *key, const void *data, size_t n);
/* The label of an entry of the folder, at most room - 1 bytes of it; false: it has no right head. */
bool cache_label(int folder, const char *name, char *label, size_t room);

/* ---- evict.c -------------------------------------------------------------------------------------- */

enum { NAME_BYTES = 32 }; /* of names of files that are ours, a NUL among them */

/* Does the file or folder belong to this process's user, or to root, and may nobody else write it?  Whoever
 * else may write an entry decides what code a host runs. */
bool cache_trusts(const struct stat *st);
/* Opens the folder, whatever its path has become since; `how` is O_PATH or O_RDONLY.  Returns -1 with errno
 * if it cannot, EPERM if it is not to be trusted.  Names in it are looked up from the descriptor. */
int cache_open_folder(const hexc_cache *c, int how);
/* Make the folder and those above it: 0 or an errno. */
int cache_make_folder(const char *path);
/* `bytes` were written: remove what is too much, if it may be. */
void cache_wrote(hexc_cache *c, uint64_t bytes);
#endif
