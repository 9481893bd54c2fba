/* hexc_bundle.h - many compiled kernels in one file, or in an array of a program.
 *
 * Beside hexc.h; the same rules hold.  In libhexc and in libhexc_rt.
 *
 *	hexc_bundle_open or _memory -> hexc_bundle_find -> hexc_bundle_module -> hexc_gpu_load
 *	                            -> hexc_bundle_close
 *
 * A bundle holds modules, each of one program compiled with some constants for one arch (PTX, cubins,
 * packs, all that a host must know to launch its kernels), and in front of them an index of all kernels:
 * `hexc build` writes it, hexc-bundle(5) says how it looks.  Opening one reads the index alone; a module
 * is read when it is first asked for, and held to its checksum then.
 *
 * A hexc_bundle never changes as its user sees it: any number of threads may read one at the same time.
 * No bytes of a bundle do harm; whether the PTX in it may be trusted is for the host to know. */
#ifndef HEXC_BUNDLE_H
#define HEXC_BUNDLE_H
#include "lib/hexc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_bundle hexc_bundle;

/* Open a file, which stays open and is not to be written to until hexc_bundle_close (a new one may take
 * its name), or `bytes` bytes that stay where they are until then.  HEXC_OK and *out, or *out = NULL and
 * E_FILE (no bundle, damaged, of another version), E_NOMEM, E_INVALID, with one sentence in why[0..n) (n
 * may be 0). */
HEXC_API int hexc_bundle_open(hexc_bundle **out, const char *path, char *why, size_t n);
HEXC_API int hexc_bundle_memory(hexc_bundle **out, const void *data, size_t bytes, char *why, size_t n);
/* Frees its modules, too.  NULL is allowed. */
HEXC_API void hexc_bundle_close(hexc_bundle *b);

typedef struct hexc_bundle_info {
	size_t size;            /* bytes of this struct that are filled */
	const char *compiler;   /* who made it, hexc_build_info() there */
	uint32_t nmodule;
	uint32_t nkernel;       /* in all modules: hexc_bundle_at() */
	uint64_t bytes;
	const char *families;   /* text of the families, as hexc-family(5) has it; "" without any */
} hexc_bundle_info;
#define HEXC_BUNDLE_INFO_INIT { sizeof(hexc_bundle_info), NULL, 0, 0, 0, NULL }

/* Fills at most the bytes that out->size says, returns 1; 0 where b is NULL.  Strings live as long as b. */
HEXC_API int hexc_bundle_describe(const hexc_bundle *b, hexc_bundle_info *out);

typedef struct hexc_bundle_entry {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;       /* of the kernel */
	const char *arch;       /* that its PTX is for */
	const char *file;       /* the program, as the compiler was told */
	uint64_t source;        /* digest of the program, as in hexc_module_info */
	const hexc_define *define; /* ndefine constants and tunables, all that the kernel has */
	size_t ndefine;
	const char *const *cubin; /* archs of the module's cubins, ncubin of them */
	size_t ncubin;
	uint32_t module;        /* which module, from 0; kernels of one are neighbours */
	uint32_t kernel;        /* its number there */
	uint32_t candidate;     /* which solution of the layout search it is */
	uint32_t reserved;      /* 0 */
} hexc_bundle_entry;
#define HEXC_BUNDLE_ENTRY_INIT { sizeof(hexc_bundle_entry), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, 0, 0, 0, \
	0 }

/* The i-th kernel of the index: 1 and *out, or 0 past the end.  Strings live as long as b. */
HEXC_API int hexc_bundle_at(const hexc_bundle *b, size_t i, hexc_bundle_entry *out);

/* What kernel is wanted. */
typedef struct hexc_want {
	size_t size;            /* sizeof(hexc_want), set by HEXC_WANT_INIT */
	const char *kernel;     /* its name; NULL: the only one there is */
	const char *arch;       /* of the device, "sm_86": one for this arch or, without a letter, an older
	                         * one.  NULL: any */
	const hexc_define *define; /* ndefine constants that it has; others may be any */
	size_t ndefine;
	const hexc_arg *arg;    /* NULL, or arguments of the launch, in launch order: only kernels that
	                         * hexc_check_sizes takes them for */
	uint32_t sms;           /* with arg: multiprocessors of the device; of the kernels that are left the
	                         * one that is predicted to be done first with its grid and with the turns
	                         * that its loops take for these sizes.  Turns that depend on data or on the
	                         * block count as 32; so do all where one of the modules compared is a file of
	                         * an older version, which does not say what a turn takes.  0: the first in
	                         * the bundle */
} hexc_want;
#define HEXC_WANT_INIT { sizeof(hexc_want), NULL, NULL, NULL, 0, NULL, 0 }

/* The number of that kernel among hexc_bundle_at's: of those that fit the newest arch, then as `sms` says,
 * then the first.  HEXC_OK and *out; E_ARGS, none fits, and why[0..n) says which demand none meets and
 * what there is; E_FILE, a module that was looked at is damaged; E_NOMEM; E_INVALID. */
HEXC_API int hexc_bundle_find(const hexc_bundle *b, const hexc_want *want, size_t *out, char *why, size_t n);

/* The module of kernel i, which b owns, and the kernel's number k in it (may be NULL).  HEXC_OK, or E_FILE
 * (damaged, or not what the index says), E_NOMEM, E_INVALID and one sentence in why[0..n). */
HEXC_API int hexc_bundle_module(const hexc_bundle *b, size_t i, const hexc_module **out, size_t *k, char *why,
                                size_t n);
/* Read all of it: is every byte as it was written?  As above. */
HEXC_API int hexc_bundle_verify(const hexc_bundle *b, char *why, size_t n);

/* n modules as a bundle.  `compiler` goes into hexc_bundle_info.  *bytes = how many there are; with out
 * NULL that is all that is done.  HEXC_OK; E_INVALID, when `room` bytes at out are too few (which are then
 * half written), when two kernels have the same name, arch, constants and candidate, so that no host could
 * tell them apart, or when a module has no PTX; E_NOMEM; with one sentence in why[0..nwhy).  The same modules
 * give the same bytes. */
HEXC_API int hexc_bundle_save(const hexc_module *const *m, size_t n, const char *compiler, void *out,
                              size_t room, size_t *bytes, char *why, size_t nwhy);
/* The same with the text of families (hexc-family(5)), which hexc_family_open of the bundle then finds; it is
 * kept as it is. */
HEXC_API int hexc_bundle_save_families(const hexc_module *const *m, size_t n, const char *compiler,
                                       const char *families, void *out, size_t room, size_t *bytes, char *why,
                                       size_t nwhy);
/* The first as a file, which appears at `path` whole or not at all.  E_FILE when the system refuses, too. */
HEXC_API int hexc_bundle_save_file(const hexc_module *const *m, size_t n, const char *compiler,
                                   const char *path, char *why, size_t nwhy);

#ifdef __cplusplus
}
#endif
#endif
