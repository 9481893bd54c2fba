/* bundle.h - declares bundles: their index, and the functions that read and write it. */
#ifndef HEXC_RT_BUNDLE_H
#define HEXC_RT_BUNDLE_H
#include "lib/hexc_bundle.h"
#include "lib/rt/rt.h"
#include "lib/rt/serialize.h"
#include <stdatomic.h>

/* Header before the index: magic, version, 0, bytes of the bundle, digest of the header before it and of
 * everything after it up to the first module, bytes of the index. */
enum { BUNDLE_HEAD = 40, BUNDLE_DIGEST = 24, BUNDLE_VERSION = 2, BUNDLE_ALIGN = 16 };
extern const char bundle_magic[8];

typedef struct BundleKernel {
	const char *name;
	hexc_define *constant;
	int nconstant, candidate;
	int module, number;
} BundleKernel;

typedef struct BundleModule {
	const char *arch, *file;
	uint64_t source, at, bytes; /* at: byte offset in the bundle */
	const char **cubin;
	int ncubin;
	int first, nkernel; /* range of the bundle's kernels */
} BundleModule;

typedef struct BundleIndex {
	const char *compiler;
	BundleModule *module;
	BundleKernel *kernel;
	int nmodule, nkernel, kernel_cap;
	const char *families; /* their text, "" without any: family_text.c */
} BundleIndex;

struct hexc_bundle {
	Arena arena;
	BundleIndex x;
	const unsigned char *data; /* NULL: read from the file */
	int fd;
	uint64_t bytes, index_end;
	_Atomic(hexc_module *) *loaded; /* per module; NULL: not loaded yet */
};

/* Writes the index or, with w->arena, reads it. */
void bundle_wire(Wire *w, BundleIndex *x);
/* Do two kernels have the same constants and the same solution? */
bool bundle_same_choice(const BundleKernel *a, const BundleKernel *b);
/* Builds the index of these modules in an arena, except `at` and `bytes`. */
void bundle_index(Arena *a, BundleIndex *x, const hexc_module *const *m, size_t n, const char *compiler,
                  const char *families);
/* Returns module i of b, loading it on first use. */
int bundle_load(const hexc_bundle *b, int i, const hexc_module **out, char *why, size_t n);
/* "BM=64, T=f16" */
void bundle_constants_text(const hexc_define *d, size_t n, char *out, size_t room);
#endif
