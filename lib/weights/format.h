/* format.h - declares the table of formats, and what is computed from one of its rows. */
#ifndef HEXC_FORMAT_H
#define HEXC_FORMAT_H
#include "hexc/ir/dtype_value.h"
#include "lib/base/base.h"
#include "lib/pack/bit_permute.h"
#include "lib/weights/file.h"
#include "lib/hexc_weights.h"

enum { FORMAT_PARTS = 4 };

typedef enum PlaneOp { OP_none, OP_add, OP_negate, OP_invert } PlaneOp;

/* Rows of formats.def. */
typedef struct FormatPiece {
	const char *layout; /* NULL: end of the pieces */
	int16_t bits, shift, base;
	uint8_t plane; /* hexc_plane_id */
} FormatPiece;

typedef struct FormatPart {
	const char *suffix, *types; /* types NULL: end of the parts */
	int16_t tile_n, tile_k, chunk, rows;
	char order;
	int8_t optional; /* 1: files may lack it; 2: and quantized weights lack it */
	const FormatPiece *piece; /* NULL: no part */
} FormatPart;

typedef struct FormatPlane {
	const char *dtype;
	PlaneOp op;
	int c;
	int16_t group;
	bool used, per_n;
} FormatPlane;

typedef struct Format {
	const char *name, *container, *code;
	int bias, group;
	const char *what;
	const char *stated;     /* the checkpoint_format of this format; NULL: none known */
	bool must_state;        /* a file without a stated format does not have this format */
	const char *table_type; /* NULL: codes are values */
	int8_t table[16];       /* value of each code */
	FormatPlane plane[HEXC_NPLANE];
	FormatPart part[FORMAT_PARTS];
} Format;

extern const Format formats[];
extern const size_t nformats;
const Format *format_find(const char *name); /* NULL: none */

/* ---- types with expressions only (block_types.c) --------------------------------------------------- */

/* Rows of block_types.def. */
typedef struct BlockBits {
	const char *name; /* NULL: end of the bits */
	int group;
	FormatPiece piece; /* of no plane */
} BlockBits;

typedef struct BlockType {
	const char *name;
	int elements, bytes;
	const char *codebook;  /* NULL: the value reads none */
	const char *value; /* an expression with {n} and {NAME} of bits */
	const BlockBits *bits;
} BlockType;

const BlockType *block_type_find(const char *name); /* NULL: none */

/* ---- a weight of known size (format_match.c) ------------------------------------------------------ */

/* A part of a weight of known size: its tiles and their offsets. */
typedef struct PartMap {
	const FormatPart *part;
	const unsigned char *data;  /* NULL: an optional part that is absent */
	DType type;                 /* of its elements; D_COUNT: blocks */
	int64_t tile_n, tile_k;     /* outputs, inputs per tile */
	int64_t nn, nk;             /* tiles along them */
	int64_t chunk;              /* bits */
	int64_t row;                /* bits between rows of chunks, and between tiles along the outer dim */
	int64_t outer;              /* bits between tiles along the outer dim */
	uint64_t bytes;
} PartMap;

typedef struct Fit {
	const Format *format;
	hexc_weight w;              /* without data */
	PartMap part[FORMAT_PARTS];
	bool ungrouped; /* the inputs are not a multiple of the group size (format_file.c) */
	int wrong; /* the first part with another shape; FORMAT_PARTS: none (format_file.c) */
} Fit;

/* Computes w's planes for n, k and group (0: the format's), with the types that the file determines from
 * `types` (by part; D_COUNT: f16), and the parts' maps, without data. Returns false with a sentence if n
 * and k do not fit. */
bool fit_sizes(Fit *fit, const Format *format, int64_t n, int64_t k, int64_t group, const DType *types,
               char *why, size_t nwhy);
/* Computes the number of values of a plane in one tile of the part, along k and n. */
void fit_counts(const Fit *fit, const PartMap *p, hexc_plane_id plane, int64_t *nk, int64_t *nn);

/* Does the part have pieces of the plane? */
bool part_holds(const FormatPart *part, hexc_plane_id plane);

/* ---- a weight in a file (format_file.c) ---------------------------------------------------------- */

/* The tensors of a file that are named like the parts of a weight. */
typedef struct FileParts {
	hexc_file_tensor t[FORMAT_PARTS];
	DType types[FORMAT_PARTS]; /* D_COUNT: blocks, absent, or a type that the format lacks */
	bool there[FORMAT_PARTS];
	int wrong; /* the first that is missing or of another type; FORMAT_PARTS: none */
} FileParts;

/* Finds tensor NAME SUFFIX; names of more than 511 characters are not searched for. */
bool find_part(const hexc_file *f, const char *name, const char *suffix, hexc_file_tensor *t);
/* Does the format agree with what the file states? */
bool format_stated(const Format *format, const hexc_file *f);
/* Returns the first part from `i` on whose tiles are groups; FORMAT_PARTS if there is none. */
int format_grouped(const Format *format, int i);
/* Finds the parts under this name (the first part's, without the suffix). Returns false if the first is
 * absent or of another type. */
bool parts_find(FileParts *p, const Format *format, const hexc_file *f, const char *name);
/* Computes the sizes from the first part, and the group from part `by` (FORMAT_PARTS: the format's).
 * Returns a score, 2 for each tensor whose shape agrees, and sets fit->wrong; returns -1, with a sentence
 * in why[0..nwhy) that may be empty, if the shapes give no sizes. */
int parts_fit(Fit *fit, const Format *format, const FileParts *p, int by, char *why, size_t nwhy);
/* Is a weight in this format stored under this name? Returns 0: no; 1: yes; -1: a tensor has the name, but
 * it or its companions do not fit. why[0..nwhy) gets a sentence only if fit_nearest has no better one. */
int fit_file(Fit *fit, const Format *format, const hexc_file *f, const char *name, char *why, size_t nwhy);
/* Reads compressed-tensors' .weight_shape. Returns 1 with W[n, k], 0 if there is none, or -1 if it is no
 * shape. */
int stated_shape(const hexc_file *f, const char *name, int64_t *n, int64_t *k);
/* Does the configuration of compressed-tensors state another width of the codes? */
bool format_other_width(const Format *format, const hexc_file *f);
/* Is it one of compressed-tensors' formats, whose tensors are called .weight_..? */
bool format_compressed(const Format *format);
/* format_near.c: reports which format is nearest to tensors that no format matches, and what is missing.
 * Returns false if no format has a first part with this name. */
bool fit_nearest(const hexc_file *f, const char *name, char *why, size_t nwhy);
/* format_near.c: are the weight's codes packed as compressed-tensors did before 0.18? Then writes a
 * sentence. */
bool fit_padded(const hexc_file *f, const char *name, char *why, size_t nwhy);

/* ---- bits of tiles (format_codec.c) ------------------------------------------------------------------ */

/* The permutation of bits between a part and its planes. A unit is a number of tiles, adjacent along the
 * inputs, that are permuted together. */
typedef struct PartCodec {
	const Fit *fit;
	const PartMap *part;
	bool encode;
	hexc_plane_id plane[MOVE_AREAS];
	int planes;         /* 0: there is nothing to do */
	int64_t tiles[2];   /* per unit, and in the last unit along the inputs if it is shorter, else 0 */
	BitMove move[2];
} PartCodec;

/* Computes the permutation from the part to its planes; `encode`: the inverse. fit and p must stay valid. */
void codec_make(Arena *a, PartCodec *c, const Fit *fit, const PartMap *p, bool encode);
/* Returns the bytes of scratch memory, 64-byte aligned, for codec_run. */
size_t codec_scratch(const PartCodec *c);
/* Decodes the tiles that start at outputs [n0, n1), multiples of 64 or the end, to w's planes; or encodes
 * these planes, to whose values plane_operate must have been applied with sign -1. */
void codec_run(const PartCodec *c, const hexc_weight *w, int64_t n0, int64_t n1, void *scratch);
/* Applies the plane's operation to the values of outputs [n0, n1); sign -1: its inverse. */
void plane_operate(const Format *format, const hexc_weight *w, hexc_plane_id id, int64_t n0, int64_t n1,
                   int sign);

/* ---- weights in memory (weight_load.c) ------------------------------------------------------------- */

/* Allocates a weight of these sizes, of whose planes only the table is set. Returns NULL if memory is
 * short. */
hexc_weight *weight_new(const Fit *fit);
/* Sets the bits of the planes to zero, except the table's. */
void weight_clear(hexc_weight *w);

/* weight_encode.c: computes rank and dims of the tensor of this dtype (NULL: blocks) that holds the part. */
void part_shape(const PartMap *m, const hexc_weight *w, const char *dtype, hexc_file_tensor *t);

/* Could the values of a loaded weight mean something else than its format specifies (weight_verify.c)?
 * Returns HEXC_OK, or E_FILE and a sentence. */
int weight_verify(const hexc_file *f, const hexc_weight *w, char *why, size_t n);

/* ---- small things ------------------------------------------------------------------------------------ */

/* Returns a plane's type; D_COUNT: the weight has no such plane. */
DType plane_type(const hexc_plane *p);
/* Returns the unsigned type of that width, for access to an element's code. */
DType raw_type(int bits);
/* Are w's planes consistent? Returns HEXC_OK, or E_INVALID with a sentence. */
int weight_check(const hexc_weight *w, char *why, size_t n);
#endif
