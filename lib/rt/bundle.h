/* bundle.h - bundles: what their index holds, and who reads and writes it. */
#ifndef HEXC_RT_BUNDLE_H
#define HEXC_RT_BUNDLE_H
#include "lib/hexc_bundle.h"
#include "lib/rt/rt.h"
#include "lib/rt/serialize.h"
#include <stdatomic.h>

/* In front of the index: magic, version, 0, bytes of all, digest of what is before it and of what is
 * behind it up to the first module, bytes of the index. */
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
	uint64_t source, at, bytes; /* at: from the beginning of the bundle */
	const char **cubin;
	int ncubin;
	int first, nkernel; /* of the bundle's kernels */
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
	const unsigned char *data; /* NULL: in the file */
	int fd;
	uint64_t bytes, index_end;
	_Atomic(hexc_module *) *loaded; /* of each module; NULL: not yet */
};

/* The index to bytes or, with w->arena, back. */
void bundle_wire(Wire *w, BundleIndex *x);
/* Have two kernels the same constants, and are they the same solution? */
bool bundle_same_choice(const BundleKernel *a, const BundleKernel *b);
/* The index of these modules, in an arena: what stands in it but `at` and `bytes`. */
void bundle_index(Arena *a, BundleIndex *x, const hexc_module *const *m, size_t n, const char *compiler,
                  const char *families);
/* Module number i as b has it, loaded if need be. */
int bundle_load(const hexc_bundle *b, int i, const hexc_module **out, char *why, size_t n);
/* "BM=64, T=f16" */
void bundle_constants_text(const hexc_define *d, size_t n, char *out, size_t room);
#endif
