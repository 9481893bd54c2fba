/* tmap_box.c - maps each tensor element of a TMA box to its byte in shared memory.
 *
 * PTX ISA, section "Tensors": tiled and im2col mode, out of boundary access, swizzling modes. */
#include <stdio.h>
#include <string.h>
#include "lib/sim/base/float_formats.h"
#include "lib/sim/exec/tmap.h"

/* First and last pixel of an im2col box in dimension 1 + i: the corners are offsets from the
 * first and from the last pixel of the image. */
static s64
pixel_low(const sim_tmap_desc *d, u32 i)
{
	return d->lower[i];
}

static s64
pixel_high(const sim_tmap_desc *d, u32 i)
{
	return (s64)d->dim[1 + i] - 1 + d->upper[i];
}

static bool
start_im2col(const Box *b, char *why, size_t n)
{
	const sim_tmap_desc *d = b->d;
	u32 most = d->rank == 3 ? 65535 : d->rank == 4 ? 255 : 31;

	for (u32 i = 0; i + 2 < d->rank; i++) {
		if (b->off[i] > most) {
			snprintf(why, n, "im2col offset %u is above %u", b->off[i], most);
			return false;
		}
		if (b->at[1 + i] < pixel_low(d, i) || b->at[1 + i] > pixel_high(d, i)) {
			snprintf(why, n,
			         "coordinate %lld of dimension %u is outside the pixel box %lld..%lld",
			         (long long)b->at[1 + i], 1 + i, (long long)pixel_low(d, i),
			         (long long)pixel_high(d, i));
			return false;
		}
	}
	return true;
}

bool
box_start(Box *b, const sim_tmap_desc *d, const s32 *coord, const u32 *off, char *why, size_t n)
{
	memset(b, 0, sizeof *b);
	b->d = d;
	b->rows = tmap_bytes(d) / tmap_row(d);
	for (u32 i = 0; i < d->rank; i++)
		b->at[i] = b->start[i] = coord[i];
	for (u32 i = 0; off && i + 2 < d->rank; i++)
		b->off[i] = off[i];
	return !d->im2col || start_im2col(b, why, n);
}

/* Traversal strides: box sizes count elements, of which every s-th is visited. */
static void
step_tile(Box *b)
{
	const sim_tmap_desc *d = b->d;

	for (u32 i = 1; i < d->rank; i++) {
		b->step[i]++;
		b->at[i] += d->element_stride[i];
		if (b->step[i] * d->element_stride[i] < d->box[i])
			return;
		b->step[i] = 0;
		b->at[i] = b->start[i];
	}
}

/* Pixels advance along W, then H, D, and last the images. */
static void
step_pixel(Box *b)
{
	const sim_tmap_desc *d = b->d;
	u32 i;

	for (i = 0; i + 2 < d->rank; i++) {
		b->at[1 + i] += d->element_stride[1 + i];
		if (b->at[1 + i] <= pixel_high(d, i))
			return;
		b->at[1 + i] = pixel_low(d, i);
	}
	b->at[1 + i]++;
}

static void
row_at(const Box *b, BoxRow *r)
{
	const sim_tmap_desc *d = b->d;
	s64 size = tmap_row(d) / tmap_esize(d), left = (s64)d->dim[0] - b->at[0];
	s64 from = b->at[0] < 0 ? -b->at[0] : 0, to = left < size ? left : size;

	r->addr = d->address;
	for (u32 i = 1; i < d->rank; i++) {
		s64 c = b->at[i];
		if (d->im2col && i + 1 < d->rank)
			c += b->off[i - 1];
		if (c < 0 || c >= (s64)d->dim[i])
			to = from;
		r->addr += (u64)c * d->stride[i - 1];
	}
	if (to <= from)
		from = to = 0;
	r->from = (u32)from;
	r->to = (u32)to;
	r->addr += (u64)(b->at[0] + from) * tmap_esize(d);
}

bool
box_next(Box *b, BoxRow *r)
{
	if (b->row == b->rows)
		return false;
	row_at(b, r);
	b->row++;
	if (b->d->im2col)
		step_pixel(b);
	else
		step_tile(b);
	return true;
}

/* The tables of "Swizzling Modes": in a line of eight 16-byte chunks, chunk i of line y is at
 * i ^ y % 8, i ^ y % 4 or i ^ y % 2.
 * Lines are counted from address 0, so a box that starts elsewhere in the pattern has the ISA's base
 * offset. */
u32
box_swizzle(const sim_tmap_desc *d, u32 addr)
{
	u32 lines = (1u << d->swizzle) - 1;

	return addr ^ (addr >> 7 & lines) << 4;
}

u64
box_fill(const sim_tmap_desc *d)
{
	if (d->oob_fill != SIM_FILL_NAN)
		return 0;
	return ~0ull >> (65 - 8 * tmap_esize(d));
}

void
box_convert(const sim_tmap_desc *d, u8 *data, u32 n)
{
	bool ftz = d->type == SIM_TMAP_F32_FTZ || d->type == SIM_TMAP_TF32_FTZ;
	bool tf32 = d->type == SIM_TMAP_TF32 || d->type == SIM_TMAP_TF32_FTZ;

	for (u32 i = 0; (ftz || tf32) && i + 4 <= n; i += 4) {
		u32 v;
		memcpy(&v, data + i, 4);
		if (ftz && !(v & 0x7f800000u))
			v &= 0x80000000u;
		if (tf32)
			v = tf32_round(v, RN);
		memcpy(data + i, &v, 4);
	}
}
