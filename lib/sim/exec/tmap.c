/* tmap.c - encodes tensor maps: checks the driver's rules and packs the fields into 128 bytes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/sim/exec/bulk.h"

static const struct { const char *name; u8 bytes; bool is_float; } types[SIM_TMAP_NTYPES] = {
#define X(id, name, bytes) [SIM_TMAP_##id] = { #name, bytes, SIM_TMAP_##id >= SIM_TMAP_F16 },
	SIM_TMAP_TYPES(X)
#undef X
};

PtxType
tmap_ptx_type(const sim_tmap_desc *d)
{
	static const u8 t[SIM_TMAP_NTYPES] = { T_u8, T_u16, T_u32, T_s32, T_u64, T_s64, T_f16, T_f32, T_f64,
		T_bf16, T_f32, T_tf32, T_tf32 };

	return (PtxType)t[d->type];
}

/* PTX ISA, cp.reduce.async.bulk.tensor: the combinations of the non-tensor form except f64. */
bool
tmap_reduces(const sim_tmap_desc *d, u32 op)
{
	PtxType t = tmap_ptx_type(d);

	if (op == AT_AND || op == AT_OR || op == AT_XOR)
		return !type_float(t) && type_bits(t) >= 32;
	return t != T_f64 && bulk_reduces(op, t, false);
}

u32
tmap_esize(const sim_tmap_desc *d)
{
	return types[d->type].bytes;
}

u32
tmap_row(const sim_tmap_desc *d)
{
	return (d->im2col ? d->channels : d->box[0]) * tmap_esize(d);
}

/* Steps of a dimension > 0: a stride of s visits every s-th element of the box. */
static u32
steps(const sim_tmap_desc *d, u32 i)
{
	return (d->box[i] + d->element_stride[i] - 1) / d->element_stride[i];
}

static u64
rows(const sim_tmap_desc *d)
{
	u64 n = 1;

	if (d->im2col)
		return d->pixels;
	for (u32 i = 1; i < d->rank; i++)
		n *= steps(d, i);
	return n;
}

u64
tmap_bytes(const sim_tmap_desc *d)
{
	return rows(d) * tmap_row(d);
}

/* ---- the rules ---- */

typedef struct Why { char *text; size_t n; } Why;
static bool no(const Why *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool
no(const Why *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (w->text && w->n)
		vsnprintf(w->text, w->n, fmt, ap);
	va_end(ap);
	return false;
}

static bool
check_kind(const sim_tmap_desc *d, const Why *w)
{
	if (d->type >= SIM_TMAP_NTYPES)
		return no(w, "data type %u is unknown%s", d->type,
		          d->type <= SIM_TMAP_NTYPES + 2 ? " on sm_90: packed 4- and 6-bit types need sm_100"
		                                         : "");
	if (d->rank < (d->im2col ? 3u : 1u) || d->rank > 5)
		return no(w, "rank %u is not in %u..5", d->rank, d->im2col ? 3 : 1);
	if (d->interleave > SIM_INTERLEAVE_32B)
		return no(w, "interleave %u is not in 0..2", d->interleave);
	if (d->interleave && d->rank < 3)
		return no(w, "an interleaved layout requires rank 3 or more, not %u", d->rank);
	if (d->swizzle > SIM_SWIZZLE_128B)
		return no(w, "swizzle %u is not in 0..3%s", d->swizzle,
		          d->swizzle <= 6 ? ": the atoms of 32 and 64 bytes need sm_100" : "");
	if (d->interleave == SIM_INTERLEAVE_32B && d->swizzle != SIM_SWIZZLE_32B)
		return no(w, "a 32-byte interleave requires the 32-byte swizzle");
	if (d->l2_promotion > SIM_L2_256B)
		return no(w, "L2 promotion %u is not in 0..3", d->l2_promotion);
	if (d->oob_fill > SIM_FILL_NAN)
		return no(w, "out-of-bounds fill %u is not in 0..1", d->oob_fill);
	if (d->oob_fill == SIM_FILL_NAN && !types[d->type].is_float)
		return no(w, "the NaN fill requires a floating-point type, not %s", types[d->type].name);
	return true;
}

static bool
check_tensor(const sim_tmap_desc *d, const Why *w)
{
	u32 align = d->interleave == SIM_INTERLEAVE_32B ? 32 : 16;

	if (d->address % align)
		return no(w, "the global address 0x%llx is not a multiple of %u",
		          (unsigned long long)d->address, align);
	for (u32 i = 0; i < d->rank; i++) {
		if (!d->dim[i] || d->dim[i] > 1ull << 32)
			return no(w, "size %llu of dimension %u is not in 1..2^32",
			          (unsigned long long)d->dim[i], i);
		if (!d->element_stride[i] || d->element_stride[i] > 8)
			return no(w, "element stride %u of dimension %u is not in 1..8",
			          d->element_stride[i], i);
		if (i && (d->stride[i - 1] % align || d->stride[i - 1] >= 1ull << 40))
			return no(w, "stride %llu of dimension %u is not a multiple of %u below 2^40",
			          (unsigned long long)d->stride[i - 1], i, align);
	}
	return true;
}

static bool
check_tile(const sim_tmap_desc *d, const Why *w)
{
	for (u32 i = 0; i < d->rank; i++)
		if (!d->box[i] || d->box[i] > 256)
			return no(w, "box size %u of dimension %u is not in 1..256", d->box[i], i);
	return true;
}

/* PTX ISA, "im2col mode", table of corner sizes. */
static bool
check_im2col(const sim_tmap_desc *d, const Why *w)
{
	static const char dhw[] = "WHD";
	s32 most = d->rank == 3 ? 32767 : d->rank == 4 ? 127
	                                               : 15;

	if (!d->channels || d->channels > 256)
		return no(w, "%u channels per pixel are not in 1..256", d->channels);
	if (!d->pixels || d->pixels > 1024)
		return no(w, "%u pixels per column are not in 1..1024", d->pixels);
	for (u32 i = 0; i + 2 < d->rank; i++) {
		if (d->lower[i] < -most - 1 || d->lower[i] > most || d->upper[i] < -most - 1 ||
		    d->upper[i] > most)
			return no(w, "corners %d and %d in %c are not in %d..%d, as rank %u needs",
			          d->lower[i], d->upper[i], dhw[i], -most - 1, most, d->rank);
		if (d->lower[i] > (s64)d->dim[1 + i] - 1 + d->upper[i])
			return no(w, "the pixel box from %d to %lld in %c is empty", d->lower[i],
			          (long long)d->dim[1 + i] - 1 + d->upper[i], dhw[i]);
	}
	return true;
}

static bool
check_row(const sim_tmap_desc *d, const Why *w)
{
	u32 inner = tmap_row(d), span = 16u << d->swizzle;

	if (d->interleave == SIM_INTERLEAVE_NONE && inner % 16)
		return no(w, "the inner box has %u bytes, not a multiple of 16", inner);
	if (d->interleave == SIM_INTERLEAVE_NONE && d->swizzle && inner > span)
		return no(w, "the inner box has %u bytes, more than the %u of the swizzle", inner, span);
	if (d->interleave)
		return no(w, "interleaved layouts are not simulated");
	if (d->swizzle && inner < span && rows(d) > 1)
		return no(w, "an inner box of %u bytes is not simulated with the %u-byte swizzle; use %u "
		             "bytes, or a narrower swizzle",
		          inner, span, span);
	return true;
}

bool
tmap_check(const sim_tmap_desc *d, char *why, size_t n)
{
	Why w = { why, n };

	return check_kind(d, &w) && check_tensor(d, &w) &&
	       (d->im2col ? check_im2col(d, &w) : check_tile(d, &w)) && check_row(d, &w);
}

/* ---- the 128 bytes ---- */

int
sim_tmap_encode(sim_tmap *out, const sim_tmap_desc *d, char *why, size_t n)
{
	TmapBits b;
	Why w = { why, n };

	if (!out || !d || d->size != sizeof *d) {
		no(&w, "sim_tmap_desc was not initialized by SIM_TMAP_INIT");
		return SIM_E_INVALID;
	}
	if (!tmap_check(d, why, n))
		return SIM_E_INVALID;
	memset(&b, 0, sizeof b);
	b.address = d->address;
	b.im2col = d->im2col != 0;
	b.type = (u8)d->type;
	b.rank = (u8)d->rank;
	b.interleave = (u8)d->interleave;
	b.swizzle = (u8)d->swizzle;
	b.l2 = (u8)d->l2_promotion;
	b.fill = (u8)d->oob_fill;
	for (u32 i = 0; i < d->rank; i++) {
		b.dim[i] = (u32)d->dim[i];
		b.full |= (u8)((d->dim[i] >> 32) << i);
		b.estride[i] = (u8)d->element_stride[i];
		if (i)
			b.stride[i - 1] = d->stride[i - 1];
		if (!d->im2col)
			b.box[i] = d->box[i];
	}
	if (d->im2col) {
		b.channels = (u16)d->channels;
		b.pixels = (u16)d->pixels;
		for (u32 i = 0; i + 2 < d->rank; i++) {
			b.lower[i] = (s16)d->lower[i];
			b.upper[i] = (s16)d->upper[i];
		}
	}
	tmap_seal(&b);
	memcpy(out, &b, sizeof b);
	return SIM_OK;
}

int
sim_tmap_tiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
               const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int l2, int fill)
{
	sim_tmap_desc d = SIM_TMAP_INIT;
	sim_tmap out;
	int code;

	if (!map || !dim || (!stride && rank > 1) || !box || !step || rank < 1 || rank > 5 ||
	    type < 0 || interleave < 0 || swizzle < 0 || l2 < 0 || fill < 0)
		return SIM_E_INVALID;
	d.type = (u32)type;
	d.rank = rank;
	d.address = (uintptr_t)address;
	for (u32 i = 0; i < rank; i++) {
		d.dim[i] = dim[i];
		d.box[i] = box[i];
		d.element_stride[i] = step[i];
		if (i + 1 < rank)
			d.stride[i] = stride[i];
	}
	d.interleave = (u32)interleave;
	d.swizzle = (u32)swizzle;
	d.l2_promotion = (u32)l2;
	d.oob_fill = (u32)fill;
	code = sim_tmap_encode(&out, &d, NULL, 0);
	if (code == SIM_OK)
		memcpy(map, &out, sizeof out);
	return code;
}

void
tmap_unpack(const TmapBits *b, sim_tmap_desc *d)
{
	memset(d, 0, sizeof *d);
	d->size = sizeof *d;
	d->im2col = b->im2col;
	d->type = b->type;
	d->rank = b->rank;
	d->address = b->address;
	for (u32 i = 0; i < 5; i++) {
		d->dim[i] = b->dim[i] | (u64)(b->full >> i & 1) << 32;
		d->box[i] = b->box[i];
		d->element_stride[i] = b->estride[i];
		if (i < 4)
			d->stride[i] = b->stride[i];
	}
	for (u32 i = 0; i < 3; i++) {
		d->lower[i] = b->lower[i];
		d->upper[i] = b->upper[i];
	}
	d->channels = b->channels;
	d->pixels = b->pixels;
	d->interleave = b->interleave;
	d->swizzle = b->swizzle;
	d->l2_promotion = b->l2;
	d->oob_fill = b->fill;
}

int
sim_tmap_decode(const void *map, sim_tmap_desc *out)
{
	TmapBits b;

	if (!map || !out)
		return SIM_E_INVALID;
	memcpy(&b, map, sizeof b);
	if (!tmap_intact(&b))
		return SIM_E_INVALID;
	tmap_unpack(&b, out);
	return SIM_OK;
}
