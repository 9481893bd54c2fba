/* hexc_weights.h - quantized weights: files, formats, packs.
 *
 * Beside hexc.h; the same rules hold.  In libhexc and in libhexc_rt.
 * Nothing here needs a context, prints or keeps state.
 *
 *	hexc_file_open -> { hexc_file_weight, hexc_weight_load } -> hexc_file_close
 *	hexc_weight:  hexc_weight_float, hexc_pack -> what a kernel takes as `packed`
 *
 * A **weight** is a matrix W[N, K] of N outputs and K inputs, made of codes of few bits and of scales.  Files
 * hold it in many ways (hexc_format_at lists them); here all of them become one: planes in row-major order,
 * with which every format says
 *
 *	W[n,k] = scale2 * scale * (code[n,k] - bias - zero) + offset2 * offset
 *
 * (with a table, table[code[n,k]] in place of the code)
 * where scale, zero and offset are planes [K / group, N] (neighbours along N are side by side: so kernels
 * read them), scale2 and offset2 planes of coarser groups, bias a whole number, and what a format lacks is 1
 * or 0.  Each operation is one of f32.
 *
 * Every file may be hostile: sizes are checked before they are believed, and what does not fit is refused
 * with a sentence that names the thing and the fix. */
#ifndef HEXC_WEIGHTS_H
#define HEXC_WEIGHTS_H
#include "lib/hexc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- files: safetensors and GGUF ------------------------------------------------------------------- */

typedef struct hexc_file hexc_file; /* an open file; any number of threads may read one */

/* Open a regular file by its name, or from `bytes` bytes that stay where they are until hexc_file_close.
 * Which format it is, it says itself.  HEXC_OK and *out, or E_FILE, E_NOMEM, E_INVALID with *out = NULL and
 * one sentence in why[0..n) (n may be 0).
 *
 * A file is mapped into memory, not read: while it is open, nobody may make it shorter.  hexc_weight_load
 * looks once more before it begins (E_FILE); whoever touches bytes of it that went away later, through
 * hexc_file_tensor.data too, ends by SIGBUS, as with every mapping.  A host that cannot rule that out reads
 * the file and uses hexc_file_memory; one that replaces files renames new ones over the old. */
HEXC_API int hexc_file_open(hexc_file **out, const char *path, char *why, size_t n);
HEXC_API int hexc_file_memory(hexc_file **out, const void *data, size_t bytes, char *why, size_t n);
HEXC_API void hexc_file_close(hexc_file *f); /* NULL is allowed */

typedef struct hexc_file_tensor {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;
	const char *type;       /* as the file spells it: "F16", "Q4_K", "I32" */
	const char *dtype;      /* the element type of hexc.h; NULL: blocks, or none of ours */
	uint32_t rank;          /* up to HEXC_MAX_RANK */
	int64_t dim[HEXC_MAX_RANK]; /* row-major, the last dim contiguous (GGUF counts from the other end) */
	const void *data;       /* in the file, with no alignment promised */
	uint64_t bytes;
} hexc_file_tensor;
#define HEXC_FILE_TENSOR_INIT { sizeof(hexc_file_tensor), NULL, NULL, NULL, 0, \
	{0, 0, 0, 0, 0, 0, 0, 0}, NULL, 0 }

/* Some formats cannot be told by their tensors: GPTQ's versions differ by 1 in what a stored zero means, and
 * the model's configuration says which it is, beside the file.  This states it: `bytes` bytes of JSON, a
 * quantize_config.json, a config.json with its quantization_config, or {"checkpoint_format": "gptq_v2"}.
 * What is read of it is checkpoint_format (gptq, gptq_v2, gemm, marlin), quant_method, is_marlin_format and
 * AWQ's version; the file's own metadata are read as well, when it is opened.  What nothing states is gptq,
 * and gemm of AWQ.  Weights that were found before are found anew: call it before other threads read the
 * file.
 *
 * HEXC_OK, or with a sentence in why[0..n) E_FILE: an unknown checkpoint_format, or another than the metadata
 * state; E_INVALID: no JSON; E_NOMEM.  Nothing is stated then. */
HEXC_API int hexc_file_config(hexc_file *f, const char *json, size_t bytes, char *why, size_t n);

/* Is the file one of several of a model?  1, and its number from 1 on and how many there are (each may be
 * NULL), or 0 and 1 of 1.  GGUF files say so in their metadata (split.no, split.count), others by their names
 * (model-00001-of-00002.safetensors).  Each is opened by itself. */
HEXC_API int hexc_file_shard(const hexc_file *f, uint32_t *number, uint32_t *count);

/* The container: "safetensors" or "gguf". */
HEXC_API const char *hexc_file_kind(const hexc_file *f);
/* The i-th tensor in the file's order, or the one of that name: 1 and *out, or 0. */
HEXC_API int hexc_file_tensor_at(const hexc_file *f, size_t i, hexc_file_tensor *out);
HEXC_API int hexc_file_find(const hexc_file *f, const char *name, hexc_file_tensor *out);
/* The i-th entry of the file's metadata: 1 and its key and value as text, or 0.  Values that are lists are
 * described ("i32[151936]").  Strings live as long as f. */
HEXC_API int hexc_file_meta(const hexc_file *f, size_t i, const char **key, const char **value);

/* ---- formats ----------------------------------------------------------------------------------------- */

typedef struct hexc_format {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;       /* "Q4_K", "GPTQ-4", "AWQ-4", "Marlin-4", "MXFP4-blocks", ... */
	const char *container;  /* "gguf" or "safetensors" */
	const char *code;       /* element type of the codes */
	int64_t group;          /* inputs that share a scale; 0: files differ; -1: all of them */
	const char *what;       /* a few words */
} hexc_format;
#define HEXC_FORMAT_INIT { sizeof(hexc_format), NULL, NULL, NULL, 0, NULL }

/* The i-th format: 1 and *out, or 0. */
HEXC_API int hexc_format_at(size_t i, hexc_format *out);

/* ---- weights ----------------------------------------------------------------------------------------- */

#define HEXC_PLANES(X) \
	X(CODE,    code,    "the codes, [N, K]") \
	X(SCALE,   scale,   "multiplies code - bias - zero, [K / group, N]") \
	X(SCALE2,  scale2,  "multiplies the scale, [K / group, N], or [1, 1]: one for the matrix") \
	X(ZERO,    zero,    "subtracted from the code, [K / group, N]") \
	X(OFFSET,  offset,  "added to the product, [K / group, N]") \
	X(OFFSET2, offset2, "multiplies the offset, [K / group, N]") \
	X(INDEX,   index,   "which group an input belongs to, [K, 1]; without it, k / group") \
	X(TABLE,   table,   "what a code stands for, [1, numbers]; without it, for itself")
#define HEXC_PLANE_(id, name, text) HEXC_PLANE_##id,
typedef enum hexc_plane_id {
	HEXC_PLANES(HEXC_PLANE_)
	HEXC_NPLANE
} hexc_plane_id;

/* Numbers in row-major order, as a kernel's tensor of this type and shape takes them.  Does not grow: a
 * weight that needs more says it in `reserved`, or has more planes. */
typedef struct hexc_plane {
	const char *dtype;      /* NULL: the weight has no such plane */
	int64_t rows, cols;
	int64_t group;          /* inputs that share a number */
	void *data;             /* types of less than 8 bits are a bit stream, rows not padded */
	uint64_t bytes;
} hexc_plane;

typedef struct hexc_weight {
	size_t size;            /* bytes of this struct */
	const char *name;       /* in the file; NULL where there is none */
	const char *format;
	int64_t n, k;           /* outputs, inputs; of more than two dims all but the last make N */
	int64_t bias;
	uint64_t bytes;         /* that it takes in the file: bits per weight are 8 * bytes / (n * k) */
	uint64_t reserved[4];   /* 0 */
	hexc_plane plane[HEXC_NPLANE]; /* data is NULL where the weight is only described */
} hexc_weight;
#define HEXC_WEIGHT_INIT { sizeof(hexc_weight), NULL, NULL, 0, 0, 0, 0, {0, 0, 0, 0}, \
	{{NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}, \
	{NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}, \
	{NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}}}

/* The i-th quantized weight of a file, described without its data: 1 and *out, or 0.  Its name is what its
 * tensors have in common ("model.layers.0.mlp.up_proj"). */
HEXC_API int hexc_file_weight(const hexc_file *f, size_t i, hexc_weight *out);

/* Load a weight by that name, its planes in one block of memory.  workers may be NULL, here and below.
 * HEXC_OK and *out (free with hexc_weight_free), or E_FILE, E_NOMEM, E_INVALID and one sentence in
 * why[0..n). */
HEXC_API int hexc_weight_load(hexc_weight **out, const hexc_file *f, const char *name,
                              const hexc_workers *workers, char *why, size_t n);
HEXC_API void hexc_weight_free(hexc_weight *w); /* NULL is allowed */

/* W as f32, row-major, n * k numbers; each operation of the formula is rounded to f32.  HEXC_OK, or
 * E_INVALID and a sentence when w's planes do not fit together. */
HEXC_API int hexc_weight_float(const hexc_weight *w, float *out, const hexc_workers *workers, char *why,
                               size_t n);

/* Round x[n, k] to a format: each group's range decides its scale (and zero or offset), second-level
 * scales are the largest of theirs, every number goes to the nearest code that the rounded scales allow.
 * group: for formats that leave it to the file (0: 128, or k where that does not divide).  As
 * hexc_weight_load; E_INVALID when n and k do not fit the format. */
HEXC_API int hexc_weight_quantize(hexc_weight **out, const char *format, const float *x, int64_t n, int64_t k,
                                  int64_t group, const hexc_workers *workers, char *why, size_t nwhy);

/* The tensors that a weight has in its format, as its container holds them: tensor i's suffix, type,
 * shape and, when data is not NULL, its bytes (at most `bytes` of them are written).  The inverse of
 * hexc_weight_load.  1, or 0 past the last; `out->name` is the suffix. */
HEXC_API int hexc_weight_tensor(const hexc_weight *w, size_t i, hexc_file_tensor *out, void *data,
                                uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
