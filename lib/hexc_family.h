/* hexc_family.h - one operator, several kernels: which for which sizes.
 *
 * Beside hexc.h; the same rules hold.  In libhexc and in libhexc_rt.
 *
 *	hexc_bundle_open -> hexc_family_open -> hexc_family_call_new (hexc_gpu.h) -> .. -> hexc_family_close
 *	                                     -> hexc_family_pick -> hexc_family_stage, hexc_family_args
 *
 * A family is a table of lines, each a chain of kernels of a bundle, their constants, and a guard on the
 * sizes that it is for: forms of one product for few rows, some and many, as scripts/tune --export finds
 * them, or written by hand (hexc-family(5)).  The line is the first whose guard holds and whose kernels take
 * the sizes.
 *
 * Its arguments are those of all of its kernels by name, but for what is a line's own: sizes that it computes
 * (into how many parts K is cut), and its workspace, tensors that a kernel of the chain writes and only later
 * ones read.
 *
 * A hexc_family never changes: any number of threads may read one at the same time.  The bundle outlives it.
 * */
#ifndef HEXC_FAMILY_H
#define HEXC_FAMILY_H
#include "lib/hexc_bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_family hexc_family;

#define HEXC_FAMILY_STAGES 8            /* kernels of a line, at most */

/* The family of this name (NULL: the only one) that b holds for devices of this arch ("sm_86"; NULL: any): of
 * several the one for the newest arch.  HEXC_OK and *out, or *out = NULL and E_ARGS (there is none, or one of
 * its kernels is not in the bundle), E_FILE (the text is none, or the bundle is damaged), E_NOMEM, E_INVALID,
 * with one sentence in why[0..n) (n may be 0). */
HEXC_API int hexc_family_open(hexc_family **out, const hexc_bundle *b, const char *name, const char *arch,
                              char *why, size_t n);
/* The same of text, `bytes` bytes as hexc-family(5) has them, whose kernels are in b. */
HEXC_API int hexc_family_read(hexc_family **out, const hexc_bundle *b, const char *text, size_t bytes,
                              const char *name, const char *arch, char *why, size_t n);
HEXC_API void hexc_family_close(hexc_family *f); /* NULL is allowed */

typedef struct hexc_family_info {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;
	const char *arch;       /* that it was tuned for; NULL: for each that the bundle has */
	uint32_t nline;
	uint32_t nparam;        /* hexc_family_param() */
} hexc_family_info;
#define HEXC_FAMILY_INFO_INIT { sizeof(hexc_family_info), NULL, NULL, 0, 0 }

/* Fills at most the bytes that out->size says, returns 1; 0 where f is NULL.  Strings live as long as f. */
HEXC_API int hexc_family_describe(const hexc_family *f, hexc_family_info *out);
/* The i-th argument, as the first kernel that has it says (hexc_param); 0 past the end.  And its number by
 * name; -1: there is none. */
HEXC_API int hexc_family_param(const hexc_family *f, size_t i, hexc_param_info *out);
HEXC_API int hexc_family_param_find(const hexc_family *f, const char *name);

typedef struct hexc_family_line {
	size_t size;            /* bytes of this struct that are filled */
	const char *guard;      /* for which sizes, as the text has it */
	uint32_t number;        /* of the line in the text, from 1 */
	uint32_t nstage;        /* kernels, one after the other */
	uint32_t ntensor;       /* in its workspace */
	uint32_t reserved;      /* 0 */
} hexc_family_line;
#define HEXC_FAMILY_LINE_INIT { sizeof(hexc_family_line), NULL, 0, 0, 0, 0 }

/* Line i, from 0: fills at most the bytes that out->size says, returns 1; 0 past the end. */
HEXC_API int hexc_family_at(const hexc_family *f, size_t i, hexc_family_line *out);
/* The number of the line for these arguments, nparam of them, of which the numbers are looked at, and the
 * addresses that are not NULL: kernels ask for multiples of 16 bytes, or less (hexc_param_info.align).
 * HEXC_OK; E_ARGS, there is none, and why[0..n) says what the last one whose guard holds has against it;
 * E_INVALID. */
HEXC_API int hexc_family_pick(const hexc_family *f, const hexc_arg *arg, size_t *line, char *why, size_t n);
/* Stage s of a line: the kernel's number in the bundle, its module, which b owns, and its number k there.
 * Any of the three may be NULL.  HEXC_OK or E_INVALID. */
HEXC_API int hexc_family_stage(const hexc_family *f, size_t line, size_t s, size_t *kernel,
                               const hexc_module **m, size_t *k);
/* Bytes of device memory that the line's workspace takes for these arguments; 0: it needs none.  HEXC_OK,
 * E_ARGS when they cannot be computed, E_INVALID. */
HEXC_API int hexc_family_workspace(const hexc_family *f, size_t line, const hexc_arg *arg, uint64_t *bytes);
/* The arguments of stage s, all that its kernel has, from those of the family and the workspace, which is
 * aligned to 256 bytes: for hexc_check_args, hexc_gpu_launch and others.  Results as above. */
HEXC_API int hexc_family_args(const hexc_family *f, size_t line, size_t s, const hexc_arg *arg,
                              void *workspace, hexc_arg *out);

/* ---- for who makes bundles ----------------------------------------------------------------------------- */

/* A kernel that a text asks for. */
typedef struct hexc_family_want { /* may grow: only the library makes them */
	const char *family;
	const char *arch;       /* of the family; NULL: any */
	const char *kernel;
	const hexc_define *define; /* ndefine constants that it is to have */
	size_t ndefine;
	int64_t candidate;      /* which solution; -1: any */
	uint32_t line;          /* that asks for it, from 1 */
} hexc_family_want;

/* Each kernel that a text of families asks for, in its order, as often as it does; `each` returns nonzero to
 * stop, and what it is given lives until then.  HEXC_OK, E_FILE (the text is none), E_NOMEM, E_INVALID, with
 * one sentence in why[0..n).  Names in guards are looked at by hexc_family_open alone. */
HEXC_API int hexc_family_wants(const char *text, size_t bytes,
                               int (*each)(void *user, const hexc_family_want *w),
                               void *user, char *why, size_t n);

#ifdef __cplusplus
}
#endif
#endif
