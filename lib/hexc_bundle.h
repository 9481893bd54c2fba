/* hexc_bundle.h - bundles: many compiled kernels in one file, or in an array of a program.
 *
 * Accompanies hexc.h; the same rules apply. In libhexc and libhexc_rt.
 *
 *	hexc_bundle_open or _memory -> hexc_bundle_find -> hexc_bundle_module -> hexc_gpu_load
 *	                            -> hexc_bundle_close
 *
 * A bundle contains an index of all kernels, followed by modules. Each module is one program compiled with
 * some constants for one arch (PTX, cubins, packs, everything that a host needs to launch its kernels).
 * `hexc build` writes bundles; hexc-bundle(5) specifies the format. Opening one reads only the index; a
 * module is read, and its checksum verified, on its first use.
 *
 * A hexc_bundle is immutable for its users: any number of threads may read one at the same time. Malicious
 * bytes do no harm; the host must decide whether to trust the PTX. */
#ifndef HEXC_BUNDLE_H
#define HEXC_BUNDLE_H
#include "lib/hexc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_bundle hexc_bundle;

/* Open a file, which stays open and must not be written to until hexc_bundle_close (it may be replaced by
 * renaming), or `bytes` bytes that must stay valid until then. Return HEXC_OK and set *out, or set *out =
 * NULL and return E_FILE (no bundle, damaged, of another version), E_NOMEM, E_INVALID, with one sentence
 * in why[0..n) (n may be 0). */
HEXC_API int hexc_bundle_open(hexc_bundle **out, const char *path, char *why, size_t n);
HEXC_API int hexc_bundle_memory(hexc_bundle **out, const void *data, size_t bytes, char *why, size_t n);
/* Frees b and its modules. b may be NULL. */
HEXC_API void hexc_bundle_close(hexc_bundle *b);

typedef struct hexc_bundle_info {
	size_t size;            /* bytes of this struct that are filled */
	const char *compiler;   /* hexc_build_info() of the compiler that wrote it */
	uint32_t nmodule;
	uint32_t nkernel;       /* in all modules: hexc_bundle_at() */
	uint64_t bytes;
	const char *families;   /* text of the families, in the format of hexc-family(5); "" without any */
} hexc_bundle_info;
#define HEXC_BUNDLE_INFO_INIT { sizeof(hexc_bundle_info), NULL, 0, 0, 0, NULL }

/* Fills at most out->size bytes and returns 1; returns 0 if b is NULL. Strings live as long as b. */
HEXC_API int hexc_bundle_describe(const hexc_bundle *b, hexc_bundle_info *out);

typedef struct hexc_bundle_entry {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;       /* of the kernel */
	const char *arch;       /* of its PTX */
	const char *file;       /* of the program, as passed to the compiler */
	uint64_t source;        /* digest of the program, as in hexc_module_info */
	const hexc_define *define; /* all ndefine constants and tunables of the kernel */
	size_t ndefine;
	const char *const *cubin; /* archs of the module's ncubin cubins */
	size_t ncubin;
	uint32_t module;        /* index of the module, from 0; kernels of one module are adjacent */
	uint32_t kernel;        /* its index in the module */
	uint32_t candidate;     /* index of its solution of the layout search */
	uint32_t reserved;      /* 0 */
} hexc_bundle_entry;
#define HEXC_BUNDLE_ENTRY_INIT { sizeof(hexc_bundle_entry), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, 0, 0, 0, \
	0 }

/* Sets *out to the i-th kernel of the index and returns 1, or 0 past the end. Strings live as long as b. */
HEXC_API int hexc_bundle_at(const hexc_bundle *b, size_t i, hexc_bundle_entry *out);

/* The kernel that hexc_bundle_find searches for. */
typedef struct hexc_want {
	size_t size;            /* sizeof(hexc_want), set by HEXC_WANT_INIT */
	const char *kernel;     /* its name; NULL: the only kernel of the bundle */
	const char *arch;       /* of the device, "sm_86": finds kernels for this arch or, without a
	                         * letter, an older one. NULL: any */
	const hexc_define *define; /* ndefine constants that it must have; others may have any value */
	size_t ndefine;
	const hexc_arg *arg;    /* NULL, or arguments of the launch, in launch order: only kernels that
	                         * hexc_check_sizes accepts for them */
	uint32_t sms;           /* with arg: number of SMs of the device; selects the kernel with the
	                         * shortest predicted time for its grid and the trip counts of its loops
	                         * for these sizes. Trip counts that depend on data or on the block are 32.
	                         * All are 32 if one of the compared modules is from a file of an older
	                         * version, which lacks the cycles per iteration. 0: the first in the
	                         * bundle */
} hexc_want;
#define HEXC_WANT_INIT { sizeof(hexc_want), NULL, NULL, NULL, 0, NULL, 0 }

/* Finds that kernel's index for hexc_bundle_at: of the matching ones those for the newest arch, then by
 * `sms`, then the first. Returns HEXC_OK and sets *out; E_ARGS if none matches, with the unsatisfied
 * requirement and what the bundle has in why[0..n); E_FILE if a module that was read is damaged; E_NOMEM;
 * E_INVALID. */
HEXC_API int hexc_bundle_find(const hexc_bundle *b, const hexc_want *want, size_t *out, char *why, size_t n);

/* Returns the module of kernel i, owned by b, and the kernel's index k in it (may be NULL). Returns
 * HEXC_OK, or E_FILE (damaged, or inconsistent with the index), E_NOMEM, E_INVALID and one sentence in
 * why[0..n). */
HEXC_API int hexc_bundle_module(const hexc_bundle *b, size_t i, const hexc_module **out, size_t *k, char *why,
                                size_t n);
/* Reads the entire bundle and verifies its checksums. Returns as above. */
HEXC_API int hexc_bundle_verify(const hexc_bundle *b, char *why, size_t n);

/* Writes n modules as a bundle. `compiler` is stored in hexc_bundle_info. Sets *bytes to the number of
 * bytes; with out NULL it does nothing else. Returns HEXC_OK; E_INVALID if `room` bytes at out are too few
 * (they are then partly written), if two kernels have the same name, arch, constants and candidate, so
 * that hosts could not distinguish them, or if a module has no PTX; E_NOMEM; with one sentence in
 * why[0..nwhy). The same modules give the same bytes. */
HEXC_API int hexc_bundle_save(const hexc_module *const *m, size_t n, const char *compiler, void *out,
                              size_t room, size_t *bytes, char *why, size_t nwhy);
/* The same with the text of families (hexc-family(5)), stored unchanged, which hexc_family_open finds in
 * the bundle. */
HEXC_API int hexc_bundle_save_families(const hexc_module *const *m, size_t n, const char *compiler,
                                       const char *families, void *out, size_t room, size_t *bytes, char *why,
                                       size_t nwhy);
/* Writes the bundle of hexc_bundle_save to a file, atomically: `path` is complete or unchanged. Also
 * returns E_FILE if the system refuses. */
HEXC_API int hexc_bundle_save_file(const hexc_module *const *m, size_t n, const char *compiler,
                                   const char *path, char *why, size_t nwhy);

#ifdef __cplusplus
}
#endif
#endif
