/* packed.h - weights in the order in which kernels read them.
 *
 * A weight of a block type consists of matrices [N, K]. Packed, it consists of planes (hexc_weights.h): the
 * codes of all matrices in the pack that kernels read, then their scales, and so on, each from a multiple of
 * 256 bytes on. ggml writes and reads the blocks of its own layout, which are converted on the way. */
#ifndef GGML_HEXC_PACKED_H
#define GGML_HEXC_PACKED_H
#include "examples/ggml/work.h"
#include "lib/hexc_weights.h"

/* Where the planes of a weight are. */
typedef struct PackedForm {
	hexc_weight matrix;     /* one of its matrices, without data */
	const char *pack;       /* of the codes; bytes are in `each` */
	int64_t matrices;
	int64_t block_bytes;    /* of a matrix in ggml's layout */
	int64_t band;           /* rows that are converted at a time */
	int64_t band_codes;     /* bytes of their packed codes */
	int64_t start[HEXC_NPLANE]; /* bytes from the weight's start; the first matrix is there */
	int64_t each[HEXC_NPLANE];  /* bytes of a matrix; 0: there is no such plane */
	int64_t bytes;
	bool wide;              /* scales are e8m0, and stored relative to 2^shift */
} PackedForm;

/* Byte ranges [from, to), in order and apart. */
typedef struct Ranges {
	struct {
		size_t from, to;
	} * range;
	int n, room;
} Ranges;

/* A weight in a buffer. */
typedef struct Packed Packed;
struct Packed {
	Packed *next;
	char *data;             /* the tensor's, in device memory */
	PackedForm form;
	bool done;              /* it is packed; otherwise in ggml's layout */
	bool never;             /* it stays in ggml's layout */
	Ranges written;         /* until it is packed: its bytes that are there */
	int shift;              /* all its scales are to be multiplied by 2^shift; 0 if form.wide is false */
};

/* ---- packed.c */

/* Sets *f if a tensor like t can be packed. */
bool packed_form(PackedForm *f, const struct ggml_tensor *t);
/* Computes the shift of a weight from all of its blocks. Returns false if scales have too large a
 * range, or memory is short. */
bool packed_shift(const PackedForm *f, const char *blocks, int *shift);
/* Convert n matrices, on as many threads as compile (compile_threads). plane: memory for the planes of all,
 * form.each bytes of each matrix; one table. Return false if memory is short. */
bool pack_matrices(const PackedForm *f, int shift, const char *blocks, int64_t n,
                   void *const plane[HEXC_NPLANE]);
bool unpack_matrices(const PackedForm *f, int shift, void *const plane[HEXC_NPLANE], int64_t n, char *blocks);
/* Adds a range. Returns false if memory is short. */
bool ranges_add(Ranges *r, size_t from, size_t to);

/* ---- packed_weights.c */

/* The weight that starts where t does, if it is packed; else NULL. */
const Packed *packed_of(const struct ggml_tensor *t);
#endif
