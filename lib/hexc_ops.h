/* hexc_ops.h - built-in operators: tile programs that hexc compiles for a device as kernel families.
 *
 * Accompanies hexc_family.h and hexc_gpu.h; the same rules apply. In libhexc only, since it compiles; the
 * result is a bundle, which libhexc_rt can open.
 *
 *	hexc_op_plan -> hexc_family_call_new(.., hexc_op_family) -> { hexc_family_call_ptr, .._int, .._float }
 *	             -> hexc_family_call_workspace -> hexc_family_call_launch -> hexc_op_free
 *
 * An operator is a tile program with a dispatch table of its kernels and the sizes that each is for
 * (hexc-op(5)). A host plans one with its constants (element types, head width, ..). If the operator has a
 * placeholder for it, the host may add an expression that is applied to each element before it is stored.
 * Shapes stay dynamic: any size has a kernel, within the limits of the program's heading and its
 * constants. Tensors need only the alignment of their elements. Kernels are faster if all addresses and
 * row sizes are multiples of 16 bytes. Arguments are those of the program, by name.
 *
 * An op never changes: any number of threads may read one, and create calls of it, at the same time. */
#ifndef HEXC_OPS_H
#define HEXC_OPS_H
#include "lib/hexc_gpu.h"
#include "lib/hexc_weights.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_op hexc_op;

typedef struct hexc_op_info { /* may grow: only the library creates them */
	const char *name;       /* "gemm" */
	const char *what;       /* one line: "C = epilogue(A B^T)" */
	const char *program;    /* the text in lib/ops: arguments with shapes and types, constants, and the
	                         * kernel table after //: */
} hexc_op_info;

/* The first sets *out to the i-th operator and returns 1, or 0 past the end. The second returns the index
 * of a name; -1 if there is none. */
HEXC_API int hexc_op_at(size_t i, hexc_op_info *out);
HEXC_API int hexc_op_find(const char *name);

/* One setting of an operator. */
typedef struct hexc_op_set { /* does not grow */
	const char *name;       /* a constant or tunable of the program, one of its placeholders, or
	                         * "tensors" */
	const char *value;      /* for a constant: an integer, or an element type ("bf16"). For a
	                         * placeholder: an expression of the language (hexc/LANGUAGE.md) of the
	                         * value there, by the program's name for it, of numbers, functions, and of
	                         * the arguments that "tensors" adds: scalars by name, tensors with their
	                         * dims ("silu(x + bias[n]) * up[m, n]"), or with indices computed per
	                         * element ("x + table[m % 8, to[n]]"). For "tensors": additional
	                         * arguments, in the syntax of a kernel's parameters, which precede the
	                         * operator's outputs ("bias: f16[N], up: f16[M, N], alpha: f32") */
} hexc_op_set;

typedef struct hexc_op_opts {
	size_t size;            /* sizeof(hexc_op_opts), set by HEXC_OP_OPTS_INIT */
	const char *arch;       /* one of hexc_arch(), hexc_gpu_info.arch of a device; NULL: "sm_80" */
	hexc_cache *cache;      /* cache of compiled kernels; NULL: always compile */
	const char *families;   /* text of a family in the format of hexc-family(5), from tuning, instead
	                         * of the operator's own table; its family has the operator's name. NULL:
	                         * the operator's table */
	uint32_t flags;         /* as in hexc_opts: HEXC_PROVE, .. */
	void *(*realloc)(void *user, void *p, size_t n); /* as in hexc_opts */
	void *user;
} hexc_op_opts;
#define HEXC_OP_OPTS_INIT { sizeof(hexc_op_opts), NULL, NULL, NULL, 0, NULL, NULL }

/* Compiles operator `name` with nset settings, each name once; opts may be NULL. A line of the table is
 * omitted if a constant exists in none of its kernels, or has another value there. Returns HEXC_OK and
 * sets *out (free with hexc_op_free), or sets *out = NULL and returns, with one sentence in why[0..n) (n
 * may be 0): E_ARGS, no such operator, constant or placeholder, or no line of the table is left; E_SOURCE,
 * E_LAYOUT, E_LIMIT, as hexc_compile of the program with the expression in it; E_ARCH; E_FILE, `families`
 * is invalid; E_NOMEM; E_INVALID. */
HEXC_API int hexc_op_plan(hexc_op **out, const char *name, const hexc_op_set *set, size_t nset,
                          const hexc_op_opts *opts, char *why, size_t n);
/* Writes to text[0..bytes) the part of operator `name`'s table that a launch of these sizes needs, without
 * guards: as `families` in opts it makes hexc_op_plan compile the launch's kernels alone, where all lines of
 * a table may be a dozen. Launches with equal texts and settings share a plan. opts: arch, families, realloc
 * and user are used; NULL: the operator's own table. `families` must be for the same placeholders. size:
 * the sizes by name, and constants of the settings that guards name. aligned: 1 if all addresses are
 * multiples of 16; other launches need other lines. Of packed tensors the settings must state the pack,
 * since plans with different lines choose different ones.
 *
 * A launch that the planned kernels do not accept (hexc_family_pick: E_ARGS) may be accepted by those of
 * the whole table. Returns HEXC_OK, text ending with a NUL; or, with text empty and one sentence in
 * why[0..n): E_ARGS, no such operator, or no line is for these sizes and addresses; E_FILE, a guard names a
 * size that is missing, or families is invalid; E_LIMIT, text is longer than bytes - 1; E_NOMEM; E_INVALID;
 * E_INTERNAL, an error of the library. */
HEXC_API int hexc_op_table(const char *name, const hexc_op_set *set, size_t nset, const hexc_op_opts *opts,
                           const hexc_define *size, size_t nsize, int aligned, char *text, size_t bytes,
                           char *why, size_t n);
/* Frees op; call it after all calls of its family are freed. op may be NULL. */
HEXC_API void hexc_op_free(hexc_op *op);

/* Returns its kernels: for hexc_family_call_new, hexc_family_pick and others. Owned by op. */
HEXC_API const hexc_family *hexc_op_family(const hexc_op *op);
/* Return the bundle with the kernels, and its bytes, for a file that libhexc_rt opens. Both are owned by
 * op. */
HEXC_API const hexc_bundle *hexc_op_bundle(const hexc_op *op);
HEXC_API const void *hexc_op_bytes(const hexc_op *op, size_t *bytes);
/* Returns the compiled program, with its placeholders filled. */
HEXC_API const char *hexc_op_program(const hexc_op *op);

/* ---- weights ------------------------------------------------------------------------------------------- */

/* A weight on a device: the operator for its format (`linear` or `linear_gather`; `gemm` if nothing is
 * quantized) with its constants, and its planes in device memory, in the layout that the kernels read.
 *
 *	hexc_weight_load -> hexc_linear_new -> hexc_linear_call -> { hexc_family_call_ptr, .._int } of A, C, M
 *	                 -> hexc_family_call_workspace -> hexc_family_call_launch -> .. -> hexc_linear_free
 *
 * C[m,n] = sum_k A[m,k] W[n,k], with A: ACT[M, K] and C: OUT[M, N], and an epilogue if one is set. It
 * never changes: any number of threads may read one; functions that use its hexc_gpu are for one thread at
 * a time. */
typedef struct hexc_linear hexc_linear;

/* Uploads w to g's device. w is copied and may be freed afterwards; g and `like` must outlive *out.
 * set: the operator's constants ACT (f16 or bf16; default f16, bf16 for weights of bf16) and OUT, its
 * tunables, "tensors" and "epilogue"; settings that the weight determines are rejected. opts as in
 * hexc_op_plan, with arch NULL: the device's. like: another weight of this device, whose kernels are
 * reused if they are the same, so that nothing is compiled; NULL: none. workers may be NULL.
 * A weight that is not quantized has only the plane `code`, of f16, bf16 or f32, and is rounded to ACT.
 *
 * Each weight is dequantized in ACT: its scale (the product of both scales), its product with the code,
 * and the sum with the offset are rounded once each. For weights without offsets, scales of entire rows or
 * of the matrix are applied to accumulators, in f32. With ACT = f16, scales of f32, bf16 and e8m0 are
 * stored relative to the largest; those of 2^-18 of it and less lose precision.
 *
 * Returns HEXC_OK and sets *out (free with hexc_linear_free), or sets *out = NULL with one sentence in
 * why[0..n): E_INVALID, w's planes are inconsistent, or g or like is NULL or of another device; E_ARGS, no
 * operator supports the weight, or a setting is rejected; others as hexc_op_plan, hexc_pack,
 * hexc_gpu_alloc and hexc_gpu_write. */
HEXC_API int hexc_linear_new(hexc_linear **out, hexc_gpu *g, const hexc_weight *w, const hexc_linear *like,
                             const hexc_op_set *set, size_t nset, const hexc_op_opts *opts,
                             const hexc_workers *workers, char *why, size_t n);
/* Frees l; call it after all its calls, and all weights created with `like` l, are freed. l may be NULL. A
 * weight whose GPU is closed returns E_INVALID; its device memory is freed. */
HEXC_API void hexc_linear_free(hexc_linear *l);

/* Creates a call of its family with the weight's arguments set: its planes, N and K. The caller sets A, C,
 * M, and the arguments of "tensors". Returns HEXC_OK and sets *out (free with hexc_family_call_free,
 * before l), or returns as hexc_family_call_new. */
HEXC_API int hexc_linear_call(const hexc_linear *l, hexc_family_call **out);
/* Sets the weight's arguments in such a call of l, or of a weight created with `like` l, or that l was
 * created like. Layers of one kind can thus reuse one call. Returns HEXC_OK, or E_INVALID if it is a call
 * of another operator. */
HEXC_API int hexc_linear_bind(const hexc_linear *l, hexc_family_call *c);
/* Returns the planned operator; owned by l, or by the weight that l was created like. */
HEXC_API const hexc_op *hexc_linear_op(const hexc_linear *l);
/* Returns the bytes of device memory that its planes occupy. */
HEXC_API uint64_t hexc_linear_bytes(const hexc_linear *l);

#ifdef __cplusplus
}
#endif
#endif
