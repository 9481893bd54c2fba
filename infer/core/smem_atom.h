/* smem_atom.h - smem layout atoms: the layouts of shared tiles that wgmma reads and TMA writes (PTX ISA,
 * "Shared Memory Matrix Layout", "Tensor swizzling modes").
 *
 * A tile is cut into blocks of `width` bytes along its contiguous dim; each block has all of the other
 * dims.  Memory order is: rows of a block, then blocks, then the outer dims.  Within 8 rows, 16-byte
 * chunks are swizzled.  TMA boxes that wgmma does not read may also be row-major without blocks. */
#ifndef HEXC_SMEM_ATOM_H
#define HEXC_SMEM_ATOM_H
#include "hexc/ir/ir.h"

enum { FORM_CHUNK = 16, FORM_ROWS = 8, FORM_WIDTHS = 5, FORM_PLAIN = 0, BOX_MOST = 256, BOX_ALIGN = 128 };

typedef struct SmemAtom {
	int unit;  /* the contiguous dim */
	int outer; /* number of leading dims outside of the atom: pipeline stages */
	int width; /* bytes: 128, 64, 32; 16: no swizzle; FORM_PLAIN: no blocks */
} SmemAtom;

/* v is an alloc or a view of one.  Returns the first of the tile's dims that v has, if v has all dims from
 * there on in full extent; else -1. */
int whole_from(const Val *v);
/* Widths in bytes, widest first. */
extern const int form_widths[FORM_WIDTHS];
/* Computes the layout of a tile of type t with this atom.  Returns false if its rows are not whole blocks,
 * or the blocks not multiples of 8 rows; or, without blocks, if it is not one TMA box at multiples of 128
 * bytes in all stages. */
bool form_layout(const SmemAtom *f, const Type *t, Layout *out);
/* Alignment of a tile with this atom, bytes. */
int form_align(const SmemAtom *f);
/* Elements per row of a block. */
int64_t form_row(const SmemAtom *f, const Type *t);
/* Returns the wgmma matrix descriptor of an operand, whose dim `rows` is along m or n, in a tile with this
 * atom. */
LoweredMatrix form_matrix(const SmemAtom *f, const Type *t, int rows);
/* Returns the reason why no tensor map can describe the memory of `mem`, a view of a tensor; NULL: one
 * can. */
const char *map_refusal(Kernel *k, const Val *mem);
#endif
