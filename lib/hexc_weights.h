/* hexc_weights.h - quantized weights: files, formats, packs.
 *
 * Accompanies hexc.h; the same rules apply. In libhexc and libhexc_rt. Nothing here needs a context,
 * prints or keeps state.
 *
 *	hexc_file_open -> { hexc_file_weight, hexc_weight_load } -> hexc_file_close
 *	hexc_weight:  hexc_weight_float, hexc_pack -> what a kernel takes as `packed`
 *
 * A **weight** is a matrix W[N, K] of N outputs and K inputs, made of codes of few bits and of scales.
 * Files store it in many formats (hexc_format_at lists them). Here every format becomes planes in
 * row-major order, with
 *
 *	W[n,k] = scale2 * scale * (code[n,k] - bias - zero) + offset2 * offset
 *
 * (with a table, table[code[n,k]] replaces the code)
 * where scale, zero and offset are planes [K / group, N] (contiguous along N, as kernels read them),
 * scale2 and offset2 planes of coarser groups, and bias an integer. Terms that a format lacks are 1 or 0.
 * Each operation is in f32.
 *
 * Files are not trusted: sizes are checked before use, and invalid data is rejected with a sentence that
 * names the tensor and the fix. */
#ifndef HEXC_WEIGHTS_H
#define HEXC_WEIGHTS_H
#include "lib/hexc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- files: safetensors and GGUF ------------------------------------------------------------------- */

typedef struct hexc_file hexc_file; /* an open file; any number of threads may read one */

/* Open a regular file by name, or `bytes` bytes that must stay valid until hexc_file_close. The container
 * is detected. Return HEXC_OK and set *out, or return E_FILE, E_NOMEM, E_INVALID with *out = NULL and one
 * sentence in why[0..n) (n may be 0).
 *
 * A file is mapped into memory, not read, so it must not be truncated while it is open. hexc_weight_load
 * checks once more before it starts (E_FILE). Accessing bytes that were truncated later, also through
 * hexc_file_tensor.data, raises SIGBUS, as with every mapping. A host that cannot exclude this reads the
 * file and uses hexc_file_memory; a host that replaces files renames new ones over the old. */
HEXC_API int hexc_file_open(hexc_file **out, const char *path, char *why, size_t n);
HEXC_API int hexc_file_memory(hexc_file **out, const void *data, size_t bytes, char *why, size_t n);
HEXC_API void hexc_file_close(hexc_file *f); /* f may be NULL */

typedef struct hexc_file_tensor {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;
	const char *type;       /* as the file spells it: "F16", "Q4_K", "I32" */
	const char *dtype;      /* the element type of hexc.h; NULL: blocks, or not an element type of
	                         * hexc */
	uint32_t rank;          /* up to HEXC_MAX_RANK */
	int64_t dim[HEXC_MAX_RANK]; /* row-major, the last dim contiguous (GGUF numbers them from the other
	                             * end) */
	const void *data;       /* in the file, with no guaranteed alignment */
	uint64_t bytes;
} hexc_file_tensor;
#define HEXC_FILE_TENSOR_INIT { sizeof(hexc_file_tensor), NULL, NULL, NULL, 0, \
	{0, 0, 0, 0, 0, 0, 0, 0}, NULL, 0 }

/* States the checkpoint format of a file, for formats that the tensors do not identify. GPTQ's versions
 * differ by 1 in the meaning of a stored zero; only the model's configuration, stored next to the file,
 * specifies the version. json: `bytes` bytes of a quantize_config.json, a config.json with its
 * quantization_config, or {"checkpoint_format": "gptq_v2"}. Used are checkpoint_format (gptq, gptq_v2,
 * gemm, marlin), quant_method, is_marlin_format and AWQ's version; the file's own metadata are read as
 * well, at opening. The default is gptq, and gemm for AWQ. Weights are detected again: call it before
 * other threads read the file.
 *
 * Of compressed-tensors, whose tensors identify the format, format, config_groups.*.weights,
 * sparsity_config and transform_config are read: values that change weights and that hexc does not read
 * are rejected. If all groups agree on num_bits, symmetric or actorder, weights that differ from that are
 * rejected when they are loaded.
 *
 * Returns HEXC_OK, or with a sentence in why[0..n) E_FILE: an unknown checkpoint_format, one that
 * contradicts the metadata, or a value that hexc does not read; E_INVALID: not JSON; E_NOMEM. On failure
 * nothing is stated. */
HEXC_API int hexc_file_config(hexc_file *f, const char *json, size_t bytes, char *why, size_t n);

/* Is the file one of several files of a model? Returns 1, with its number from 1 and the number of files
 * (each may be NULL), or 0 and 1 of 1. GGUF files state this in their metadata (split.no, split.count),
 * others by their names (model-00001-of-00002.safetensors). Each file is opened separately. */
HEXC_API int hexc_file_shard(const hexc_file *f, uint32_t *number, uint32_t *count);

/* Returns the container: "safetensors" or "gguf". */
HEXC_API const char *hexc_file_kind(const hexc_file *f);
/* Set *out to the i-th tensor in the file's order, or the one with that name, and return 1, or 0 if there
 * is none. */
HEXC_API int hexc_file_tensor_at(const hexc_file *f, size_t i, hexc_file_tensor *out);
HEXC_API int hexc_file_find(const hexc_file *f, const char *name, hexc_file_tensor *out);
/* Returns 1 with key and value, as text, of the i-th entry of the file's metadata, or 0. Lists are
 * described ("i32[151936]"). Strings live as long as f. */
HEXC_API int hexc_file_meta(const hexc_file *f, size_t i, const char **key, const char **value);

/* ---- formats ----------------------------------------------------------------------------------------- */

typedef struct hexc_format {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;       /* "Q4_K", "GPTQ-4", "AWQ-4", "Marlin-4", "MXFP4-blocks", ... */
	const char *container;  /* "gguf" or "safetensors" */
	const char *code;       /* element type of the codes */
	int64_t group;          /* inputs that share a scale; 0: depends on the file; -1: all of them */
	const char *what;       /* a short description */
} hexc_format;
#define HEXC_FORMAT_INIT { sizeof(hexc_format), NULL, NULL, NULL, 0, NULL }

/* Sets *out to the i-th format and returns 1, or 0 past the end. */
HEXC_API int hexc_format_at(size_t i, hexc_format *out);

/* Writes the value of an element of a row of blocks as an expression for an operator's placeholder. `row`:
 * the start of an index of a tensor of u8 with the row's bytes ("w[p, q, m"); `index`: the name of the
 * element's number ("n"). The value is an f32: scale2 * scale * (code - bias) + offset2 * offset, from left
 * to right, each operation rounded once. TQ1_0, IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS and IQ3_S have
 * an expression, too, although their weights do not load. Returns HEXC_OK; E_ARGS, no format of GGUF has this
 * name; E_LIMIT, out[0..n) is too short (8192 bytes are enough); E_INVALID. */
HEXC_API int hexc_format_expr(const char *format, const char *row, const char *index, char *out, size_t n);

/* Returns the count of numbers in the codebook of a format, or 0 if it has none; a code selects 4 or 8 of
 * them. The format's expression reads them from a tensor that the operator declares as
 * "codebook: i8[COUNT]". Writes the first n to out, which may be NULL if n is 0. */
HEXC_API size_t hexc_format_codebook(const char *format, int8_t *out, size_t n);

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

/* Values in row-major order, as a kernel's tensor of this type and shape. Does not grow: extensions use
 * `reserved` of the weight, or more planes. */
typedef struct hexc_plane {
	const char *dtype;      /* NULL: the weight has no such plane */
	int64_t rows, cols;
	int64_t group;          /* inputs that share a value */
	void *data;             /* types of less than 8 bits are a bit stream, rows not padded */
	uint64_t bytes;
} hexc_plane;

typedef struct hexc_weight {
	size_t size;            /* bytes of this struct */
	const char *name;       /* in the file; NULL if there is none */
	const char *format;
	int64_t n, k;           /* outputs, inputs; with more than two dims, all but the last form N */
	int64_t bias;
	uint64_t bytes;         /* bytes in the file: bits per weight are 8 * bytes / (n * k) */
	uint64_t reserved[4];   /* 0 */
	hexc_plane plane[HEXC_NPLANE]; /* data is NULL if the weight is only described */
} hexc_weight;
#define HEXC_WEIGHT_INIT { sizeof(hexc_weight), NULL, NULL, 0, 0, 0, 0, {0, 0, 0, 0}, \
	{{NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}, \
	{NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}, \
	{NULL, 0, 0, 0, NULL, 0}, {NULL, 0, 0, 0, NULL, 0}}}

/* Sets *out to the i-th quantized weight of a file, without its data, and returns 1, or 0 past the end.
 * Its name is the common part of its tensors' names ("model.layers.0.mlp.up_proj"). */
HEXC_API int hexc_file_weight(const hexc_file *f, size_t i, hexc_weight *out);

/* Loads a weight by that name, its planes in one block of memory. workers may be NULL, here and below.
 * Returns HEXC_OK and sets *out (free with hexc_weight_free), or E_FILE, E_NOMEM, E_INVALID and one
 * sentence in why[0..n). */
HEXC_API int hexc_weight_load(hexc_weight **out, const hexc_file *f, const char *name,
                              const hexc_workers *workers, char *why, size_t n);
HEXC_API void hexc_weight_free(hexc_weight *w); /* w may be NULL */

/* Describes W[n, k] in a format of GGUF, without data: sets *out, whose `bytes` are those of its blocks.
 * Returns HEXC_OK, or E_INVALID and one sentence in why[0..nwhy): GGUF has no format of this name that
 * loads, or n and k do not fit it. */
HEXC_API int hexc_format_weight(const char *format, int64_t n, int64_t k, hexc_weight *out, char *why,
                                size_t nwhy);

/* Loads W[n, k] from its blocks in a format of GGUF, row after row, that are in memory: data[0..bytes),
 * which it does not keep. With data NULL all codes and scales are zero bits. Returns as hexc_weight_load;
 * E_INVALID also as hexc_format_weight, or if `bytes` are not those of the blocks. */
HEXC_API int hexc_weight_blocks(hexc_weight **out, const char *format, const void *data, uint64_t bytes,
                                int64_t n, int64_t k, const hexc_workers *workers, char *why, size_t nwhy);

/* Computes W as f32, row-major, n * k values; each operation of the formula is rounded to f32. Returns
 * HEXC_OK, or E_INVALID and a sentence if w's planes are inconsistent. */
HEXC_API int hexc_weight_float(const hexc_weight *w, float *out, const hexc_workers *workers, char *why,
                               size_t n);

/* Rounds x[n, k] to a format. Each group's range determines its scale (and zero or offset), second-level
 * scales are the largest of theirs, and every value is rounded to the nearest code that the rounded scales
 * permit. group: for formats that leave it to the file (0: 128, or k if 128 does not divide k). Returns as
 * hexc_weight_load; E_INVALID if n and k do not fit the format. */
HEXC_API int hexc_weight_quantize(hexc_weight **out, const char *format, const float *x, int64_t n, int64_t k,
                                  int64_t group, const hexc_workers *workers, char *why, size_t nwhy);

/* Encodes a weight to the tensors of its format, the inverse of hexc_weight_load: tensor i's suffix (in
 * `out->name`), type, shape and, if data is not NULL, at most `bytes` of its bytes. Returns 1, or 0 past
 * the last. */
HEXC_API int hexc_weight_tensor(const hexc_weight *w, size_t i, hexc_file_tensor *out, void *data,
                                uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
