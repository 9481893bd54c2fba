/* format_codec.c - decodes numbers from the tiles of a file, and encodes them. */
#include "lib/weights/format.h"
#include <string.h>

Segs
format_segs(Arena *a, const Fit *fit, const PartMap *p, hexc_plane_id plane)
{
	int64_t nk, nn;
	Segs s = { NULL, 0 };
	int cap = 0;

	if (!p->part || !fit->w.plane[plane].dtype)
		return s;
	fit_counts(fit, p, plane, &nk, &nn);
	for (int64_t i = 0; i < nk * nn; i++) {
		for (const FormatPiece *q = p->part->piece; q->layout; q++) {
			int bits = q->bits ? q->bits : (int)p->chunk, shift = q->shift;
			int64_t at;
			Layout l;
			size_t end;

			if (q->plane != plane)
				continue;
			BUG_IF(a, !layout_parse(&l, q->layout, strlen(q->layout), &end));
			BUG_IF(a, layout_size(&l) != nk * nn || i > UINT16_MAX);
			at = q->base + layout_at_index(&l, i).at[AX_mem];
			while (bits > 0) { /* split where the chunk ends */
				int room = (int)(p->chunk - at % p->chunk), n = bits < room ? bits : room;
				Seg seg = { (uint16_t)i, (uint8_t)n, (uint8_t)shift, (int)(at / p->chunk),
					    (int)(at % p->chunk) };

				VEC_PUSH(a, s.seg, s.n, cap, seg);
				at += n;
				shift += n;
				bits -= n;
			}
		}
	}
	return s;
}

/* Returns the bit offset in the part of row 0 of a tile. */
static int64_t
tile_at(const PartMap *p, int64_t tn, int64_t tk)
{
	return p->part->order == 'n' ? tk * p->outer + tn * p->chunk : tn * p->outer + tk * p->chunk;
}

/* Reads n <= 32 bits starting at bit `at`. */
static inline uint32_t
get_bits(const PartMap *p, int64_t at, int n)
{
	uint64_t byte = (uint64_t)at >> 3, x = 0;

	if (byte + 8 <= p->bytes)
		memcpy(&x, p->data + byte, 8);
	else
		memcpy(&x, p->data + byte, (size_t)(p->bytes - byte));
	return (uint32_t)(x >> (at & 7) & ((1ull << n) - 1));
}

static void
put_bits(unsigned char *data, int64_t at, int n, uint32_t x)
{
	for (int i = 0; i < n; i++, at++)
		if (x >> i & 1)
			data[at >> 3] |= (unsigned char)(1u << (at & 7));
}

DType
raw_type(int bits)
{
	static const DType small[] = { D_u1, D_u1, D_u2, D_u3, D_u4, D_u5, D_u6, D_u7, D_u8 };

	return bits <= 8 ? small[bits] : bits == 16 ? D_u16
	                                            : D_u32;
}

/* ---- codes --------------------------------------------------------------------------------------------- */

/* Packs n codes, one byte each, to a bit stream. */
static void
squeeze(const uint8_t *code, int64_t n, int bits, unsigned char *out)
{
	uint64_t x = 0;
	int have = 0;

	if (bits == 8) {
		memcpy(out, code, (size_t)n);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		x |= (uint64_t)code[i] << have;
		have += bits;
		if (have >= 32) {
			uint32_t word = (uint32_t)x;

			memcpy(out, &word, 4);
			out += 4;
			x >>= 32;
			have -= 32;
		}
	}
	for (; have > 0; have -= 8, x >>= 8)
		*out++ = (unsigned char)x;
}

void
decode_codes(const Decode *d, int64_t n0, int64_t n1, uint8_t *band)
{
	const hexc_weight *w = d->w;
	const PartMap *p = &d->fit->part[0];
	const Segs *segs = &d->segs[0][HEXC_PLANE_CODE];
	int64_t k = w->k, row_bytes;
	int bits = dtype_info[plane_type(&w->plane[HEXC_PLANE_CODE])].bits;

	row_bytes = k * bits / 8;
	for (int64_t tn = n0 / p->tile_n; tn < n1 / p->tile_n; tn++) {
		memset(band, 0, (size_t)(p->tile_n * k));
		for (int64_t tk = 0; tk < p->nk; tk++) {
			int64_t at = tile_at(p, tn, tk);
			uint8_t *out = band + tk * p->tile_k;

			for (const Seg *s = segs->seg; s < segs->seg + segs->n; s++)
				out[s->index / p->tile_k * k + s->index % p->tile_k] |=
					(uint8_t)(get_bits(p, at + s->row * p->row + s->at, s->bits)
				                  << s->shift);
		}
		for (int64_t i = 0; i < p->tile_n; i++)
			squeeze(band + i * k, k, bits,
			        (unsigned char *)w->plane[HEXC_PLANE_CODE].data +
			                (tn * p->tile_n + i) * row_bytes);
	}
}

/* ---- the other planes ---------------------------------------------------------------------------------- */

/* Applies the plane's operation to a value's code; an involution, except `add`. */
static uint32_t
operate(const FormatPlane *fp, int bits, uint32_t raw, int sign)
{
	float x;

	switch (fp->op) {
	case OP_none: break;
	case OP_add: return raw + (uint32_t)(sign * fp->c);
	case OP_negate: return raw ^ 1u << (bits - 1);
	case OP_invert:
		memcpy(&x, &raw, sizeof x);
		x = 1 / x;
		memcpy(&raw, &x, sizeof raw);
		break;
	}
	return raw;
}

void
decode_numbers(const Decode *d, hexc_plane_id id, int64_t n0, int64_t n1)
{
	const hexc_plane *q = &d->w->plane[id];
	const FormatPlane *fp = &d->fit->format->plane[id];
	DType code;

	if (!q->dtype)
		return;
	code = raw_type(dtype_info[plane_type(q)].bits);
	for (int i = 0; i < FORMAT_PARTS; i++) {
		const PartMap *p = &d->fit->part[i];
		const Segs *segs = &d->segs[i][id];
		int64_t nk, nn;

		if (!segs->n || !p->data)
			continue;
		fit_counts(d->fit, p, id, &nk, &nn);
		for (int64_t tn = n0 / p->tile_n; tn < (n1 + p->tile_n - 1) / p->tile_n; tn++) {
			for (int64_t tk = 0; tk < p->nk; tk++) {
				int64_t at = tile_at(p, tn, tk);
				const Seg *s = segs->seg, *end = s + segs->n;

				while (s < end) {
					uint32_t raw = 0;
					int64_t i_k = s->index % nk, i_n = s->index / nk;
					uint16_t index = s->index;

					for (; s < end && s->index == index; s++)
						raw |= get_bits(p, at + s->row * p->row + s->at, s->bits)
						       << s->shift;
					raw = operate(fp, dtype_info[code].bits, raw, 1);
					num_put_i(code, q->data,
					          (tk * nk + i_k) * q->cols + tn * nn + i_n, raw);
				}
			}
		}
	}
}

/* ---- back into tiles ----------------------------------------------------------------------------------- */

void
encode_part(const Fit *fit, const hexc_weight *w, const PartMap *p, hexc_plane_id id, const Segs *segs,
            unsigned char *data)
{
	const hexc_plane *q = &w->plane[id];
	const FormatPlane *fp = &fit->format->plane[id];
	DType code = raw_type(dtype_info[plane_type(q)].bits);
	int64_t nk, nn;

	fit_counts(fit, p, id, &nk, &nn);
	for (int64_t tn = 0; tn < p->nn; tn++) {
		for (int64_t tk = 0; tk < p->nk; tk++) {
			int64_t at = tile_at(p, tn, tk);

			for (const Seg *s = segs->seg; s < segs->seg + segs->n; s++) {
				int64_t k = tk * nk + s->index % nk, n = tn * nn + s->index / nk;
				int64_t i = id == HEXC_PLANE_CODE ? n * w->k + k : k * q->cols + n;
				uint32_t raw = (uint32_t)num_get_i(code, q->data, i);

				raw = operate(fp, dtype_info[code].bits, raw, -1);
				put_bits(data, at + s->row * p->row + s->at, s->bits, raw >> s->shift);
			}
		}
	}
}
