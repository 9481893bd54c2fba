/* smem_atom.h - the forms of shared tiles that wgmma reads and that copies of whole boxes write (PTX ISA, "Shared
 * Memory Matrix Layout", "Tensor swizzling modes").
 *
 * A tile is cut into blocks of `width` bytes along the dim whose elements are neighbours, each with all of
 * the other dims: rows of a block follow each other, then blocks, then what is outside.  Within 8 rows chunks
 * of 16 bytes change places.  Boxes that wgmma does not read may also be as they are in the tensor, row by
 * row. */
#ifndef HEXC_SMEM_ATOM_H
#define HEXC_SMEM_ATOM_H
#include "hexc/ir/ir.h"

enum { FORM_CHUNK = 16, FORM_ROWS = 8, FORM_WIDTHS = 5, FORM_PLAIN = 0, BOX_MOST = 256, BOX_ALIGN = 128 };

typedef struct SmemAtom {
	int unit;  /* the dim whose elements are neighbours */
	int outer; /* so many first dims are outside: the stages of a ring */
	int width; /* 128, 64, 32; 16: no swizzle; FORM_PLAIN: no blocks */
} SmemAtom;

/* The first of the tile's dims that v, an alloc or a view of it, has, as its last dims and whole; -1: it
 * is no such view. */
int whole_from(const Val *v);
/* The widths, widest first. */
extern const int form_widths[FORM_WIDTHS];
/* The layout of a tile of type t in that form; false: its rows are not whole blocks, or these not whole
 * patterns of 8 rows; or it is no whole box, and not at multiples of 128 bytes in all stages. */
bool form_layout(const SmemAtom *f, const Type *t, Layout *out);
/* A tile in such a form begins at a multiple of so many bytes. */
int form_align(const SmemAtom *f);
/* Elements of a row of a block. */
int64_t form_row(const SmemAtom *f, const Type *t);
/* What wgmma's descriptor says of an operand of which dim `rows` is along m or n, in a tile in that form. */
LoweredMatrix form_matrix(const SmemAtom *f, const Type *t, int rows);
/* Why a tensor map cannot show what is under mem, a view of a tensor; NULL: it can. */
const char *map_refusal(Kernel *k, const Val *mem);
#endif
