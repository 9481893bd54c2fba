/* format.h - the table of formats, and what is computed from a row of it. */
#ifndef HEXC_FORMAT_H
#define HEXC_FORMAT_H
#include "hexc/ir/dtype_value.h"
#include "lib/base/base.h"
#include "lib/weights/file.h"
#include "lib/hexc_weights.h"

enum { FORMAT_PARTS = 4, FORMAT_PIECES = 8 };

typedef enum PlaneOp { OP_none, OP_add, OP_negate, OP_invert } PlaneOp;

/* The columns of formats.def. */
typedef struct FormatPiece {
	hexc_plane_id plane;
	int bits, shift, base;
	const char *layout; /* NULL: no more pieces */
} FormatPiece;

typedef struct FormatPart {
	const char *suffix, *types; /* types NULL: no more parts */
	int tile_n, tile_k;
	char order;
	int chunk, rows;
	bool optional;
	FormatPiece piece[FORMAT_PIECES];
} FormatPart;

typedef struct FormatPlane {
	bool used;
	const char *dtype;
	int group;
	bool per_n;
	PlaneOp op;
	int64_t c;
} FormatPlane;

typedef struct Format {
	const char *name, *container, *code;
	int bias, group;
	const char *what;
	const char *stated;     /* the checkpoint_format that means this; NULL: none is known to */
	bool must_state;        /* a file that states none does not mean this */
	const char *table_type; /* NULL: codes are numbers */
	int table[16];          /* what each code stands for */
	FormatPlane plane[HEXC_NPLANE];
	FormatPart part[FORMAT_PARTS];
} Format;

extern const Format formats[];
extern const size_t nformats;
const Format *format_find(const char *name); /* NULL: none */

/* ---- a weight of known size (format_match.c) ------------------------------------------------------ */

/* A part of a weight of known size: its tiles, and where they are. */
typedef struct PartMap {
	const FormatPart *part;
	const unsigned char *data;  /* NULL: an optional part that is not there */
	DType type;                 /* of its elements; D_COUNT: blocks */
	int64_t tile_n, tile_k;     /* outputs, inputs of a tile */
	int64_t nn, nk;             /* tiles along them */
	int64_t chunk;              /* bits */
	int64_t row;                /* bits between the rows of chunks, and of tiles of the outer dim */
	int64_t outer;              /* bits between tiles of the outer dim */
	uint64_t bytes;
} PartMap;

typedef struct Fit {
	const Format *format;
	hexc_weight w;              /* described; planes have no data */
	PartMap part[FORMAT_PARTS];
	bool ungrouped; /* the inputs are no whole number of so many groups (format_file.c) */
	int wrong; /* the first part that is there in another shape; FORMAT_PARTS: none (format_file.c) */
} Fit;

/* w's planes for n, k and group (0: of the format), types that the file decides as in `types` (by part;
 * D_COUNT: f16), and the parts' maps, without data.  False with a sentence when n and k do not fit. */
bool fit_sizes(Fit *fit, const Format *format, int64_t n, int64_t k, int64_t group, const DType *types,
               char *why, size_t nwhy);
/* The numbers of a plane in one tile of the part, along k and n. */
void fit_counts(const Fit *fit, const PartMap *p, hexc_plane_id plane, int64_t *nk, int64_t *nn);

/* Has the part pieces of the plane? */
bool part_holds(const FormatPart *part, hexc_plane_id plane);

/* ---- a weight in a file (format_file.c) ---------------------------------------------------------- */

/* The tensors of a file that are called like the parts of a weight. */
typedef struct FileParts {
	hexc_file_tensor t[FORMAT_PARTS];
	DType types[FORMAT_PARTS]; /* D_COUNT: blocks, not there, or of a type that the format lacks */
	bool there[FORMAT_PARTS];
	int wrong; /* the first that is missing or of another type; FORMAT_PARTS: none */
} FileParts;

/* The tensor NAME SUFFIX; names of more than 511 characters are not looked for. */
bool find_part(const hexc_file *f, const char *name, const char *suffix, hexc_file_tensor *t);
/* May tensors of the file be of this format by what it states? */
bool format_stated(const Format *format, const hexc_file *f);
/* The first part from `i` on whose tiles are groups; FORMAT_PARTS: none. */
int format_grouped(const Format *format, int i);
/* Looks for the parts under this name (the first part's, without the suffix).  Returns false if the first is
 * not there, or is of another type. */
bool parts_find(FileParts *p, const Format *format, const hexc_file *f, const char *name);
/* Computes the sizes from the first part, and the group from part `by` (FORMAT_PARTS: the format's own).
 * Returns how much of the shapes agrees, 2 for each tensor, with fit->wrong; -1, with a sentence in
 * why[0..nwhy) that may be empty, if they give no sizes. */
int parts_fit(Fit *fit, const Format *format, const FileParts *p, int by, char *why, size_t nwhy);
/* Is a weight in this format there under this name?  0: no; 1: yes; -1: a tensor is called so, but it or its
 * companions do not fit; a sentence is in why[0..nwhy) only if fit_nearest has no better one. */
int fit_file(Fit *fit, const Format *format, const hexc_file *f, const char *name, char *why, size_t nwhy);
/* format_near.c: says of tensors that no format takes which format is nearest and what is missing to it.
 * Returns false if no format has a first part called so. */
bool fit_nearest(const hexc_file *f, const char *name, char *why, size_t nwhy);

/* ---- bits of a tile (format_codec.c) ---------------------------------------------------------------- */

/* `bits` bits of number `index`, at `at` (bits from the tile's start in row `row`), go to `shift`. */
typedef struct Seg {
	uint16_t index;
	uint8_t bits, shift;
	int row;
	int at;
} Seg;

typedef struct Segs {
	Seg *seg;
	int n;
} Segs;

/* The segments of a plane in a part, in order of numbers; .n = 0: the part has none of it. */
Segs format_segs(Arena *a, const Fit *fit, const PartMap *p, hexc_plane_id plane);

/* A weight between its file and memory. */
typedef struct Decode {
	const Fit *fit;
	hexc_weight *w; /* its planes have data */
	Segs segs[FORMAT_PARTS][HEXC_NPLANE];
} Decode;

/* Fill the plane for outputs [n0, n1), multiples of 64 or the end.  band: tile_n * k bytes of the
 * codes' part. */
void decode_codes(const Decode *d, int64_t n0, int64_t n1, uint8_t *band);
void decode_numbers(const Decode *d, hexc_plane_id plane, int64_t n0, int64_t n1);
/* Add what the part holds of a plane to its bytes, which are zero there. */
void encode_part(const Fit *fit, const hexc_weight *w, const PartMap *p, hexc_plane_id plane,
                 const Segs *segs, unsigned char *data);

/* ---- weights in memory (weight_load.c) ------------------------------------------------------------- */

/* Where a tensor of this dtype (NULL: blocks) holds the part of a weight: its rank and dims. */
void part_shape(const PartMap *m, const hexc_weight *w, const char *dtype, hexc_file_tensor *t);
/* A weight of these sizes; planes are zero but for the table.  NULL: no memory. */
hexc_weight *weight_new(const Fit *fit);

/* May the numbers of a loaded weight mean something else than its format says (weight_verify.c)?  HEXC_OK, or
 * E_FILE and a sentence. */
int weight_verify(const hexc_file *f, const hexc_weight *w, char *why, size_t n);

/* ---- small things ------------------------------------------------------------------------------------ */

/* The id of a plane's type; D_COUNT: the weight has no such plane. */
DType plane_type(const hexc_plane *p);
/* The unsigned type of as many bits: what is read and written of it is its code. */
DType raw_type(int bits);
/* Do w's planes fit together?  HEXC_OK, or E_INVALID with a sentence. */
int weight_check(const hexc_weight *w, char *why, size_t n);
#endif
