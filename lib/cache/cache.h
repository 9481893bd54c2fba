/* cache.h - declares cache entries: result bytes stored under a key. */
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
	_Atomic uint64_t room; /* bytes that may be written before the directory is scanned again */
	_Atomic uint64_t temps; /* counter for the names of temporary files */
};

/* A key with a human-readable description. */
typedef struct CacheKey {
	const char *label; /* no newline */
	const void *data;
	size_t n;
} CacheKey;

/* ---- entry.c --------------------------------------------------------------------------------------- */

/* Header of an entry: magic, version, bytes of the label, of the entry, checksum of everything else, bytes
 * of the key, 0. Label, key and result follow. */
enum { ENTRY_HEAD = 48, ENTRY_LABEL_MAX = 400 };

/* Returns the result, n bytes, with malloc's alignment, to be freed by the caller; NULL if there is none. */
void *cache_get(hexc_cache *c, const CacheKey *key, size_t *n);
void cache_put(hexc_cache *c, const CacheKey *key, const void *data, size_t n);
/* Reads the label of an entry in the directory, at most room - 1 bytes; returns false if its header is
 * invalid. */
bool cache_label(int folder, const char *name, char *label, size_t room);

/* ---- evict.c -------------------------------------------------------------------------------------- */

enum { NAME_BYTES = 32 }; /* maximum length of our file names, including a NUL */

/* Does the file or directory belong to this process's user or to root, and is it writable by no one else?
 * A user who may write an entry decides what code a host runs. */
bool cache_trusts(const struct stat *st);
/* Opens the directory that cache_open found, even if its path was replaced since; `how` is O_PATH or
 * O_RDONLY. Returns -1 with errno on failure; EPERM if it is not trusted. File names are looked up
 * relative to the descriptor. */
int cache_open_folder(const hexc_cache *c, int how);
/* Creates the directory and its parents; returns 0 or an errno. */
int cache_make_folder(const char *path);
/* Records that `bytes` were written; evicts entries above the limit, unless the cache is read-only. */
void cache_wrote(hexc_cache *c, uint64_t bytes);
#endif
