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
 * stored. Shapes stay open: any size finds a kernel, within what the program's heading and its constants
 * say. Tensors are at any address that is a multiple of their elements' size; where all are at multiples of
 * 16 bytes, and rows are such multiples, kernels are faster. Arguments are the program's, by name.
 *
 * An op never changes: any number of threads may read one, and make calls of it, at the same time. */
#ifndef HEXC_OPS_H
#define HEXC_OPS_H
#include "lib/hexc_gpu.h"
#include "lib/hexc_weights.h"

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
	                         * dims that they have ("silu(x + bias[n]) * up[m, n]"), or with indices
	                         * that are computed of each element's own ("x + table[m % 8, to[n]]"). Of
	                         * "tensors": more arguments, as a kernel declares them, in front of what
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

/* ---- weights ------------------------------------------------------------------------------------------- */

/* A weight on a device: the operator for its format, `linear` or `linear_gather`, or `gemm` where nothing
 * is quantized, with its constants, and its planes in device memory, in the form that the operator's
 * kernels read.
 *
 *	hexc_weight_load -> hexc_linear_new -> hexc_linear_call -> { hexc_family_call_ptr, .._int } of A, C, M
 *	                 -> hexc_family_call_workspace -> hexc_family_call_launch -> .. -> hexc_linear_free
 *
 * C[m,n] = sum_k A[m,k] W[n,k], with A: ACT[M, K] and C: OUT[M, N], and an epilogue where one is said.  It
 * never changes: any number of threads may read one; what takes its hexc_gpu is for one at a time. */
typedef struct hexc_linear hexc_linear;

/* Take w to g's device.  w is copied, and may be freed after it; g, and `like`, outlive *out.
 * set: of the operator's constants ACT (f16 or bf16; f16 where it is not said, bf16 for weights of bf16) and
 * OUT, its tunables, "tensors" and "epilogue"; what the weight decides is refused.  opts as for hexc_op_plan,
 * arch NULL: the device's.  like: another weight, of this device, whose kernels are taken where they are the
 * same, so that nothing is compiled; NULL: none.  workers may be NULL.
 * A weight that is not quantized has the plane `code` alone, of f16, bf16 or f32, and is rounded to ACT.
 *
 * Each weight is computed in ACT, where its scale (the product of both), its product with the code, and the
 * sum with the offset are rounded once each; of weights without offsets, scales of whole rows, or of the
 * matrix, are applied to sums, in f32. With ACT = f16, scales of f32, bf16 and e8m0 are taken relative to
 * the largest: what is 2^-18 of that and less loses digits.
 *
 * HEXC_OK and *out (free with hexc_linear_free), or *out = NULL and one sentence in why[0..n): E_INVALID, w's
 * planes do not fit together, or g or like is NULL or of another device; E_ARGS, no operator is for such a
 * weight, or a setting is refused; others as hexc_op_plan, hexc_pack, hexc_gpu_alloc and hexc_gpu_write. */
HEXC_API int hexc_linear_new(hexc_linear **out, hexc_gpu *g, const hexc_weight *w, const hexc_linear *like,
                             const hexc_op_set *set, size_t nset, const hexc_op_opts *opts,
                             const hexc_workers *workers, char *why, size_t n);
/* After all of its calls, and all weights that were made like it.  NULL is allowed.  A weight whose GPU is
 * closed answers E_INVALID, its memory there is freed. */
HEXC_API void hexc_linear_free(hexc_linear *l);

/* A call of its family that has all that the weight gives: its planes, N and K.  What is left are A, C,
 * M, and what "tensors" added.  HEXC_OK and *out (free with hexc_family_call_free, before l), or as
 * hexc_family_call_new. */
HEXC_API int hexc_linear_call(const hexc_linear *l, hexc_family_call **out);
/* Give such a call, of l or of a weight that l was made like or that was made like l, what l's weight
 * gives, in place of another's: layers of one kind take turns in one call.  HEXC_OK, or E_INVALID: it is
 * a call of another operator. */
HEXC_API int hexc_linear_bind(const hexc_linear *l, hexc_family_call *c);
/* The operator that was planned; l, or what it was made like, owns it. */
HEXC_API const hexc_op *hexc_linear_op(const hexc_linear *l);
/* Bytes of device memory that its planes take. */
HEXC_API uint64_t hexc_linear_bytes(const hexc_linear *l);

#ifdef __cplusplus
}
#endif
#endif
