/* hexc_cache.h - what was compiled before, kept in a folder.
 *
 * Beside hexc.h; the same rules hold.  In libhexc and in libhexc_rt.
 *
 *	hexc_cache_open -> hexc_opts.cache of hexc_open, hexc_gpu_cache -> hexc_cache_close
 *
 * hexc_compile finds modules there by the program's text, its name, all options that matter, and the build of
 * hexc and LLVM; hexc_gpu_load finds what the driver made of PTX by that text, the device and the driver.
 * Nothing is kept unless a host asks for it.
 *
 * Any number of processes, threads and contexts may use one folder, and of one process all its threads one
 * hexc_cache.  An entry appears whole or not at all; it is held to its checksum, to its format's version and
 * to all of what it is the answer to (not to a digest of that) whenever it is read, and what does not fit is
 * made again.  So neither a process that is killed nor a damaged file gives a wrong answer.  A folder that
 * cannot be written, a full disk, no memory: these make no call fail, but nothing is kept;
 * hexc_cache_describe tells.  Other files in the folder are left alone.
 *
 * Entries are as trustworthy as those who may write them.  So a folder or an entry that belongs to another
 * user (root aside), or that others may write (mode bits 022), is not used: nothing is found there, nothing
 * written. Folders are made with mode 0700, entries with 0600. */
#ifndef HEXC_CACHE_H
#define HEXC_CACHE_H
#include "lib/hexc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_cache_opts {
	size_t size;            /* sizeof(hexc_cache_opts), set by HEXC_CACHE_OPTS_INIT */
	const char *path;       /* the folder, which is made, with those above it; NULL: hexc_cache_path() */
	uint64_t max_bytes;     /* of all entries; whoever writes removes those that were not used for the
	                         * longest time.  Processes that write at the same time may each be 1/64 and
	                         * an entry above it before they notice.  0: 1 GiB */
	uint32_t read_only;     /* 1: entries are looked up, but none is written, touched or removed, and no
	                         * folder is made */
} hexc_cache_opts;
#define HEXC_CACHE_OPTS_INIT { sizeof(hexc_cache_opts), NULL, 0, 0 }

/* `opts` may be NULL for defaults; it is copied.  HEXC_OK and *out, or *out = NULL and E_FILE (there is no
 * such folder and it cannot be made), E_NOMEM, E_INVALID, with one sentence in why[0..n) (n may be 0).
 * HEXC_OK with a sentence: the folder is not to be trusted, as above, and why; with this cache everything is
 * compiled, and nothing kept. */
HEXC_API int hexc_cache_open(hexc_cache **out, const hexc_cache_opts *opts, char *why, size_t n);
/* When all contexts, jobs and devices that were given it are closed.  NULL is allowed. */
HEXC_API void hexc_cache_close(hexc_cache *c);

/* The user's folder for it, $XDG_CACHE_HOME/hexc or else $HOME/.cache/hexc, in out[0..n), a NUL among them;
 * returns its bytes without that, 0: neither is set to an absolute path, or n are too few.  A process with
 * more rights than who started it (secure_getenv) has neither. */
HEXC_API size_t hexc_cache_path(char *out, size_t n);

typedef struct hexc_cache_info {
	size_t size;            /* bytes of this struct that are filled */
	const char *path;       /* absolute; lives as long as c */
	uint64_t max_bytes;
	uint64_t hits, misses;  /* of this hexc_cache, as all that follows */
	uint64_t stored;        /* entries that were written */
	uint64_t damaged;       /* misses because an entry was not what it should be, or not to be trusted */
	uint64_t failed;        /* entries that could not be written */
	int32_t error;          /* the errno of the last of these; 0: none; EPERM: the folder is not to be
	                         * trusted */
	uint32_t reserved;      /* 0 */
} hexc_cache_info;
#define HEXC_CACHE_INFO_INIT { sizeof(hexc_cache_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills at most the bytes that out->size says, returns 1; 0 where c is NULL. */
HEXC_API int hexc_cache_describe(const hexc_cache *c, hexc_cache_info *out);

typedef struct hexc_cache_entry { /* may grow: only the library makes them */
	const char *name;       /* of the file in the folder */
	const char *label;      /* what it is, for people: "module sm_80 gemm.hexc BM=64"; NULL: its head is
	                         * damaged */
	uint64_t bytes;
	int64_t used;           /* when it was last used, to a minute: seconds since 1970 */
} hexc_cache_entry;

/* Each entry that is there, in no order; `each` returns nonzero to stop, and what it is given lives until
 * then. HEXC_OK, E_FILE where the folder cannot be read, E_NOMEM, E_INVALID. */
HEXC_API int hexc_cache_each(const hexc_cache *c, int (*each)(void *user, const hexc_cache_entry *e),
                             void *user);
/* Remove all entries, and what killed processes left; *removed (may be NULL) = how many entries.  As above;
 * also E_FILE where one cannot be removed, E_INVALID where it is read only. */
HEXC_API int hexc_cache_clear(hexc_cache *c, uint64_t *removed);

#ifdef __cplusplus
}
#endif
#endif
