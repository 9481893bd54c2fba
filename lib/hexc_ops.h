/* hexc_ops.h - operators: programs that hexc brings along, compiled for a device as families of kernels.
 *
 * Beside hexc_family.h and hexc_gpu.h; the same rules hold.  In libhexc alone, since it compiles; what it
 * makes is a bundle, which libhexc_rt opens.
 *
 *	hexc_op_plan -> hexc_family_call_new(.., hexc_op_family) -> { hexc_family_call_ptr, .._int, .._float }
 *	             -> hexc_family_call_workspace -> hexc_family_call_launch -> hexc_op_free
 *
 * An operator is a program of tiles with a table of its kernels and of the sizes that each is for
 * (hexc-op(5)).  A host plans one with its constants (element types, width of heads, ..) and, where the
 * operator has a hole for it, with an expression of its own: what is done with each element before it is
 * stored.  Shapes stay open: any size finds a kernel.  Arguments are the program's, by name.
 *
 * An op never changes: any number of threads may read one, and make calls of it, at the same time. */
#ifndef HEXC_OPS_H
#define HEXC_OPS_H
#include "lib/hexc_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_op hexc_op;

typedef struct hexc_op_info { /* may grow: only the library makes them */
	const char *name;       /* "gemm" */
	const char *what;       /* one line: "C = epilogue(A B^T)" */
	const char *program;    /* its text, as lib/ops has it: arguments, their shapes and types, constants,
	                         * and behind //: the table of kernels */
} hexc_op_info;

/* The i-th operator, 1 and *out; 0 past the end.  And its number by name, -1: there is none. */
HEXC_API int hexc_op_at(size_t i, hexc_op_info *out);
HEXC_API int hexc_op_find(const char *name);

/* One thing that a host says of an operator. */
typedef struct hexc_op_set { /* does not grow */
	const char *name;       /* a constant or tunable of the program, one of its holes, or "tensors" */
	const char *value;      /* of a constant: an integer, or an element type ("bf16").
	                         * Of a hole: an expression of the language (hexc/LANGUAGE.md) of the value
	                         * that stands there, as the program names it, of numbers, functions, and of
	                         * the arguments that "tensors" adds: scalars by their name, tensors with the
	                         * dims that they have ("silu(x + bias[n]) * up[m, n]").
	                         * Of "tensors": more arguments, as a kernel declares them, in front of what
	                         * the operator writes ("bias: f16[N], up: f16[M, N], alpha: f32") */
} hexc_op_set;

typedef struct hexc_op_opts {
	size_t size;            /* sizeof(hexc_op_opts), set by HEXC_OP_OPTS_INIT */
	const char *arch;       /* one of hexc_arch(), hexc_gpu_info.arch of a device; NULL: "sm_80" */
	hexc_cache *cache;      /* where kernels are looked for first, and kept; NULL: all are compiled */
	const char *families;   /* a text as hexc-family(5) has it, from tuning, instead of the operator's own
	                         * table; its family has the operator's name.  NULL: the operator's */
	uint32_t flags;         /* as in hexc_opts: HEXC_PROVE, .. */
	void *(*realloc)(void *user, void *p, size_t n); /* as in hexc_opts */
	void *user;
} hexc_op_opts;
#define HEXC_OP_OPTS_INIT { sizeof(hexc_op_opts), NULL, NULL, NULL, 0, NULL, NULL }

/* Compile operator `name` with nset settings, each name once; opts may be NULL.  A constant that none of its
 * kernels has, or a line of its table has with another value, leaves that line out.
 * HEXC_OK and *out (free with hexc_op_free), or *out = NULL and one sentence in why[0..n) (n may be 0):
 * E_ARGS, there is no such operator, constant or hole, or no line of the table is left; E_SOURCE, E_LAYOUT,
 * E_LIMIT, what hexc_compile says of the program, with the expression in it; E_ARCH; E_FILE, the text of
 * families is none; E_NOMEM; E_INVALID. */
HEXC_API int hexc_op_plan(hexc_op **out, const char *name, const hexc_op_set *set, size_t nset,
                          const hexc_op_opts *opts, char *why, size_t n);
/* After all calls of its family.  NULL is allowed. */
HEXC_API void hexc_op_free(hexc_op *op);

/* Its kernels: for hexc_family_call_new, hexc_family_pick and others.  op owns it. */
HEXC_API const hexc_family *hexc_op_family(const hexc_op *op);
/* The bundle that they are in, and its bytes, for a file that libhexc_rt opens.  op owns both. */
HEXC_API const hexc_bundle *hexc_op_bundle(const hexc_op *op);
HEXC_API const void *hexc_op_bytes(const hexc_op *op, size_t *bytes);
/* The program that was compiled, with what was put into its holes. */
HEXC_API const char *hexc_op_program(const hexc_op *op);

#ifdef __cplusplus
}
#endif
#endif
