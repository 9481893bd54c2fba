/* tmap.h - tensor maps inside the simulator: the 128 bytes, and the walk through a box.
 *
 * tmap.c encodes and checks, tmap_sum.c detects edits, tmap_box.c maps tensor elements to shared memory,
 * bulk_tensor.c copies, tmap_edit.c is tensormap.replace. */
#ifndef SIM_TMAP_H
#define SIM_TMAP_H
#include "lib/sim/sanitizer/memcheck.h"

enum { TMAP_BYTES = 128, TMAP_ALIGN = 64 };

/* The opaque bytes. Fields hold whatever tensormap.replace writes: a map is checked when it is used, not
 * while it is being changed. */
typedef struct TmapBits {
	u64 sum[2];             /* of all that follows */
	u64 address, stride[4];
	u32 dim[5];             /* 0 with its bit in `full`: 2^32 */
	u32 box[5];
	s16 lower[3], upper[3];
	u16 channels, pixels;
	u8 estride[5];
	u8 im2col, type, rank, interleave, swizzle, l2, fill, full;
	u8 spare[3];
} TmapBits;
_Static_assert(sizeof(TmapBits) == TMAP_BYTES, "a tensor map has 128 bytes");

/* tmap_sum.c */
bool tmap_intact(const TmapBits *b);            /* the checksums match */
void tmap_seal(TmapBits *b);                    /* after a change of fields */
/* What has changed since the checksums matched: "boxDim[0] 32, was 64". Returns false if unknown. */
bool tmap_edited(const TmapBits *b, char *text, size_t size);

void tmap_unpack(const TmapBits *b, sim_tmap_desc *d);
/* Checks the driver's rules. Returns false with one sentence in `why`. */
bool tmap_check(const sim_tmap_desc *d, char *why, size_t n);

PtxType tmap_ptx_type(const sim_tmap_desc *d);  /* of an element, for arithmetic */
bool tmap_reduces(const sim_tmap_desc *d, u32 op);      /* can its elements be reduced by `op`? */
u32 tmap_esize(const sim_tmap_desc *d);         /* bytes of an element */
u32 tmap_row(const sim_tmap_desc *d);           /* bytes of one row of the box in shared memory */
u64 tmap_bytes(const sim_tmap_desc *d);         /* bytes of the entire box there */

/* Fields of tensormap.replace. */
enum { TF_ADDRESS, TF_RANK, TF_BOX, TF_DIM, TF_STRIDE, TF_ESTRIDE, TF_TYPE, TF_INTERLEAVE, TF_SWIZZLE,
	TF_FILL };
/* tmap_edit.c: the map at global memory `a` is about to be used: was it changed, and fenced? */
bool tmap_seen(Warp *w, const Ins *in, int lane, const MemAccess *a);

/* An iteration over the rows of a box in their order in shared memory. A row is contiguous in both memories;
 * row i starts i * tmap_row() bytes after the box does. */
typedef struct Box {
	const sim_tmap_desc *d;
	s64 at[5];              /* coordinates of the row's first element */
	s64 start[5];
	u32 off[3];             /* im2col offsets in W, H, D */
	u32 step[5];            /* tiled: steps taken in each dimension */
	u64 row, rows;
} Box;
typedef struct BoxRow {
	u64 addr;               /* global address of element `from` */
	u32 from, to;           /* in-bounds elements of the row; equal: none */
} BoxRow;
/* Returns false if the start is invalid: the base pixel of an im2col copy is outside of its box, or an offset
 * is out of range; `why` has the reason. */
bool box_start(Box *b, const sim_tmap_desc *d, const s32 *coord, const u32 *off, char *why, size_t n);
bool box_next(Box *b, BoxRow *r);               /* the current row, then advances; false: past the end */
/* Where the byte at a shared address is stored under the map's swizzle. */
u32 box_swizzle(const sim_tmap_desc *d, u32 addr);
/* The bits of an out-of-bounds element. */
u64 box_fill(const sim_tmap_desc *d);
/* Converts n bytes of elements as the map's type does on the copy to shared memory. */
void box_convert(const sim_tmap_desc *d, u8 *data, u32 n);
#endif
