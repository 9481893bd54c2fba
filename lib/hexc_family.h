/* hexc_family.h - kernel families: one operator, several kernels, selected by sizes.
 *
 * Accompanies hexc.h; the same rules apply. In libhexc and libhexc_rt.
 *
 *	hexc_bundle_open -> hexc_family_open -> hexc_family_call_new (hexc_gpu.h) -> .. -> hexc_family_close
 *	                                     -> hexc_family_pick -> hexc_family_stage, hexc_family_args
 *
 * A family is a dispatch table. Each line has a chain of kernels of a bundle, their constants, and a guard
 * on the sizes that it is for: variants of one dot for few, some and many rows, as scripts/tune --export
 * finds them, or written by hand (hexc-family(5)). The first line is used whose guard is true and whose
 * kernels accept the sizes.
 *
 * Its arguments are the union by name of those of its kernels, except those private to a line: sizes that
 * it computes (the number of k slices), and its workspace, tensors that a kernel of the chain writes and
 * only later ones read.
 *
 * A hexc_family never changes: any number of threads may read one at the same time. The bundle must
 * outlive it. */
#ifndef HEXC_FAMILY_H
#define HEXC_FAMILY_H
#include "lib/hexc_bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_family hexc_family;

#define HEXC_FAMILY_STAGES 8            /* maximum number of kernels per line */

/* Opens the family with this name (NULL: the only one) in b for devices of this arch ("sm_86"; NULL: any);
 * of several, the one for the newest arch. Returns HEXC_OK and sets *out, or sets *out = NULL and returns
 * E_ARGS (no such family, or one of its kernels is not in the bundle), E_FILE (invalid text, or a damaged
 * bundle), E_NOMEM, E_INVALID, with one sentence in why[0..n) (n may be 0). */
HEXC_API int hexc_family_open(hexc_family **out, const hexc_bundle *b, const char *name, const char *arch,
                              char *why, size_t n);
/* The same for `bytes` bytes of text in the format of hexc-family(5), whose kernels are in b. */
HEXC_API int hexc_family_read(hexc_family **out, const hexc_bundle *b, const char *text, size_t bytes,
                              const char *name, const char *arch, char *why, size_t n);
HEXC_API void hexc_family_close(hexc_family *f); /* f may be NULL */

typedef struct hexc_family_info {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;
	const char *arch;       /* that it was tuned for; NULL: all archs of the bundle */
	uint32_t nline;
	uint32_t nparam;        /* hexc_family_param() */
} hexc_family_info;
#define HEXC_FAMILY_INFO_INIT { sizeof(hexc_family_info), NULL, NULL, 0, 0 }

/* Fills at most out->size bytes and returns 1; returns 0 if f is NULL. Strings live as long as f. */
HEXC_API int hexc_family_describe(const hexc_family *f, hexc_family_info *out);
/* The first describes the i-th argument, as the first kernel that has it (hexc_param); returns 0 past the
 * end. The second returns the index of a name; -1 if there is none. */
HEXC_API int hexc_family_param(const hexc_family *f, size_t i, hexc_param_info *out);
HEXC_API int hexc_family_param_find(const hexc_family *f, const char *name);

typedef struct hexc_family_line {
	size_t size;            /* bytes of this struct that are filled */
	const char *guard;      /* condition on the sizes, as in the text */
	uint32_t number;        /* line number in the text, from 1 */
	uint32_t nstage;        /* kernels, run in order */
	uint32_t ntensor;       /* tensors in its workspace */
	uint32_t reserved;      /* 0 */
} hexc_family_line;
#define HEXC_FAMILY_LINE_INIT { sizeof(hexc_family_line), NULL, 0, 0, 0, 0 }

/* Fills *out for line i, from 0, at most out->size bytes, and returns 1; 0 past the end. */
HEXC_API int hexc_family_at(const hexc_family *f, size_t i, hexc_family_line *out);
/* Selects the line for these arguments, nparam of them. Only numbers are used, and addresses that are not
 * NULL: kernels require an alignment of 16 bytes or less (hexc_param_info.align). Returns HEXC_OK; E_ARGS
 * if no line matches, with the reason of the last line whose guard is true in why[0..n); E_INVALID. */
HEXC_API int hexc_family_pick(const hexc_family *f, const hexc_arg *arg, size_t *line, char *why, size_t n);
/* Returns stage s of a line: the kernel's index in the bundle, its module, owned by the bundle, and its
 * index k there. Any of the three may be NULL. Returns HEXC_OK or E_INVALID. */
HEXC_API int hexc_family_stage(const hexc_family *f, size_t line, size_t s, size_t *kernel,
                               const hexc_module **m, size_t *k);
/* Computes the bytes of device memory that the line's workspace needs for these arguments; 0: none.
 * Returns HEXC_OK, E_ARGS if they cannot be computed, E_INVALID. */
HEXC_API int hexc_family_workspace(const hexc_family *f, size_t line, const hexc_arg *arg, uint64_t *bytes);
/* Computes all arguments of the kernel of stage s from those of the family and the workspace, which must
 * be aligned to 256 bytes: for hexc_check_args, hexc_gpu_launch and others. Results as above. */
HEXC_API int hexc_family_args(const hexc_family *f, size_t line, size_t s, const hexc_arg *arg,
                              void *workspace, hexc_arg *out);

/* ---- for who makes bundles ----------------------------------------------------------------------------- */

/* A kernel that a text requires. */
typedef struct hexc_family_want { /* may grow: only the library creates them */
	const char *family;
	const char *arch;       /* of the family; NULL: any */
	const char *kernel;
	const hexc_define *define; /* ndefine constants that it must have */
	size_t ndefine;
	int64_t candidate;      /* index of the solution; -1: any */
	uint32_t line;          /* line that requires it, from 1 */
} hexc_family_want;

/* Calls `each` for every kernel that a text of families requires, in its order, with repetitions. `each`
 * returns nonzero to stop; its argument lives until it returns. Returns HEXC_OK, E_FILE (invalid text),
 * E_NOMEM, E_INVALID, with one sentence in why[0..n). Only hexc_family_open checks the names in guards. */
HEXC_API int hexc_family_wants(const char *text, size_t bytes,
                               int (*each)(void *user, const hexc_family_want *w),
                               void *user, char *why, size_t n);

/* The same for the families of this name (NULL: all), and of these for the lines whose guards are true if the
 * names in them have these values, or are constants of the line: E_FILE if one has another name. E_INVALID
 * also if a size has no name. */
HEXC_API int hexc_family_wants_for(const char *text, size_t bytes, const char *name, const hexc_define *size,
                                   size_t nsize, int (*each)(void *user, const hexc_family_want *w),
                                   void *user, char *why, size_t n);

#ifdef __cplusplus
}
#endif
#endif
