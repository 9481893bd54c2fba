/* hexc_cache.h - cache of compilation results in a directory.
 *
 * Accompanies hexc.h; the same rules apply. In libhexc and libhexc_rt.
 *
 *	hexc_cache_open -> hexc_opts.cache of hexc_open, hexc_gpu_cache -> hexc_cache_close
 *
 * hexc_compile looks up modules by the program's text, its name, all relevant options, and the build of
 * hexc and LLVM. hexc_gpu_load looks up the driver's JIT results by the PTX, the device and the driver.
 * Nothing is stored unless a host requests it.
 *
 * Any number of processes, threads and contexts may use one directory; all threads of a process may share
 * one hexc_cache. Entries are written atomically. Each read verifies the checksum, the format version and
 * the complete key (not a digest of it); a mismatch counts as a miss. So neither a killed process nor a
 * damaged file gives a wrong result. If the directory cannot be written, the disk is full, or memory is
 * short, no call fails, but nothing is stored; hexc_cache_describe reports it. Other files in the
 * directory are not touched.
 *
 * Entries are as trustworthy as the users who may write them. A directory or an entry that belongs to
 * another user (except root), or that others may write (mode bits 022), is therefore neither read nor
 * written. Directories are created with mode 0700, entries with 0600. */
#ifndef HEXC_CACHE_H
#define HEXC_CACHE_H
#include "lib/hexc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_cache_opts {
	size_t size;            /* sizeof(hexc_cache_opts), set by HEXC_CACHE_OPTS_INIT */
	const char *path;       /* the directory, created if missing, with its parents; NULL:
	                         * hexc_cache_path() */
	uint64_t max_bytes;     /* size limit of all entries; a writer removes the least recently used
	                         * ones. Concurrent writers may each exceed it by 1/64 and one entry before
	                         * they notice. 0: 1 GiB */
	uint32_t read_only;     /* 1: entries are only looked up; none is written, touched or removed, and
	                         * no directory is created */
} hexc_cache_opts;
#define HEXC_CACHE_OPTS_INIT { sizeof(hexc_cache_opts), NULL, 0, 0 }

/* Opens a cache. `opts` may be NULL for defaults; it is copied. Returns HEXC_OK and sets *out, or sets
 * *out = NULL and returns E_FILE (the directory does not exist and cannot be created), E_NOMEM, E_INVALID,
 * with one sentence in why[0..n) (n may be 0). HEXC_OK with a sentence: the directory is not trusted, for
 * the stated reason; everything is then compiled and nothing stored. */
HEXC_API int hexc_cache_open(hexc_cache **out, const hexc_cache_opts *opts, char *why, size_t n);
/* Closes c; call it after all contexts, jobs and devices that use it are closed. c may be NULL. */
HEXC_API void hexc_cache_close(hexc_cache *c);

/* Writes the user's default directory, $XDG_CACHE_HOME/hexc or else $HOME/.cache/hexc, to out[0..n),
 * including a NUL. Returns its length without the NUL; 0 if neither variable is an absolute path, or n is
 * too small. A process with elevated privileges (secure_getenv) has neither variable. */
HEXC_API size_t hexc_cache_path(char *out, size_t n);

typedef struct hexc_cache_info {
	size_t size;            /* bytes of this struct that are filled */
	const char *path;       /* absolute; lives as long as c */
	uint64_t max_bytes;
	uint64_t hits, misses;  /* of this hexc_cache, like all members below */
	uint64_t stored;        /* entries written */
	uint64_t damaged;       /* misses because an entry was damaged or not trusted */
	uint64_t failed;        /* entries that could not be written */
	int32_t error;          /* errno of the last failure; 0: none; EPERM: the directory is not trusted */
	uint32_t reserved;      /* 0 */
} hexc_cache_info;
#define HEXC_CACHE_INFO_INIT { sizeof(hexc_cache_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills at most out->size bytes and returns 1; returns 0 if c is NULL. */
HEXC_API int hexc_cache_describe(const hexc_cache *c, hexc_cache_info *out);

typedef struct hexc_cache_entry { /* may grow: only the library creates them */
	const char *name;       /* of the file in the directory */
	const char *label;      /* human-readable description: "module sm_80 gemm.hexc BM=64"; NULL: its
	                         * header is damaged */
	uint64_t bytes;
	int64_t used;           /* time of last use, with a resolution of a minute, in seconds since 1970 */
} hexc_cache_entry;

/* Calls `each` for every entry, in no order; `each` returns nonzero to stop, and its argument lives until
 * it returns. Returns HEXC_OK, E_FILE if the directory cannot be read, E_NOMEM, E_INVALID. */
HEXC_API int hexc_cache_each(const hexc_cache *c, int (*each)(void *user, const hexc_cache_entry *e),
                             void *user);
/* Removes all entries and leftovers of killed processes; *removed (may be NULL) is the number of entries.
 * Returns as above; also E_FILE if one cannot be removed, E_INVALID if the cache is read-only. */
HEXC_API int hexc_cache_clear(hexc_cache *c, uint64_t *removed);

#ifdef __cplusplus
}
#endif
#endif
