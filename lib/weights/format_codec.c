/* format_codec.c - decodes numbers from the tiles of a file, and encodes them, as permutations of bits. */
#include "lib/weights/format.h"
#include <string.h>

DType
raw_type(int bits)
{
	static const DType small[] = { D_u1, D_u1, D_u2, D_u3, D_u4, D_u5, D_u6, D_u7, D_u8 };

	return bits <= 8 ? small[bits] : bits == 16 ? D_u16
	                                            : D_u32;
}

static int
plane_bits(const hexc_weight *w, hexc_plane_id id)
{
	return dtype_info[plane_type(&w->plane[id])].bits;
}

/* ---- areas ------------------------------------------------------------------------------------------- */

/* A plane's values in a unit of tiles, row-major; codes are transposed to the other planes. */
typedef struct UnitPlane {
	hexc_plane_id id;
	bool by_output;    /* rows are outputs; otherwise groups of inputs */
	int bits;          /* of a value */
	int64_t nk, nn;    /* values of a tile along inputs and outputs */
	int64_t tiles;     /* along the inputs */
	size_t rows, row;  /* number of rows, bytes per row */
} UnitPlane;

static UnitPlane
unit_plane(const Fit *fit, const PartMap *p, hexc_plane_id id, int64_t tiles)
{
	UnitPlane u = { .id = id, .by_output = id == HEXC_PLANE_CODE, .tiles = tiles };

	u.bits = plane_bits(&fit->w, id);
	fit_counts(fit, p, id, &u.nk, &u.nn);
	u.rows = (size_t)(u.by_output ? u.nn : tiles * u.nk);
	u.row = (size_t)((u.by_output ? tiles * u.nk : u.nn) * u.bits / 8);
	return u;
}

/* Returns the bit of value i of a tile in its unit. */
static int64_t
plane_bit(const UnitPlane *u, int64_t tile, int64_t i)
{
	int64_t k = tile * u->nk + i % u->nk, n = i / u->nk;

	return (u->by_output ? n * u->tiles * u->nk + k : k * u->nn + n) * u->bits;
}

/* The rows of tiles of a part. */
static void
add_part(MoveSide *s, const PartMap *p, int64_t tiles)
{
	bool below = p->part->order == 'n';

	moveside_add(s, (size_t)(p->part->rows * (below ? tiles : 1)),
	             (size_t)(p->chunk / 8 * (below ? 1 : tiles)));
}

/* Returns where bit `at` of a tile is in its unit. */
static int64_t
part_bit(const PartMap *p, int64_t tiles, int64_t tile, int64_t at)
{
	int64_t row = at / p->chunk, in_row = at % p->chunk;

	return p->part->order == 'n' ? (tile * p->part->rows + row) * p->chunk + in_row
	                             : (row * tiles + tile) * p->chunk + in_row;
}

/* ---- permutations -------------------------------------------------------------------------------------- */

/* One direction of a unit's permutation. */
typedef struct UnitBits {
	Arena *arena;
	const PartMap *part;
	bool encode;
	int32_t *of;       /* as bitmove_make takes it */
	int64_t first;     /* the plane's first bit among those of all planes */
} UnitBits;

/* Adds a piece of the values of a plane, in all tiles. */
static void
add_piece(const UnitBits *b, const UnitPlane *u, const FormatPiece *q)
{
	int bits = q->bits ? q->bits : (int)b->part->chunk;
	Layout l;
	size_t end;

	BUG_IF(b->arena, !layout_parse(&l, q->layout, strlen(q->layout), &end));
	BUG_IF(b->arena, layout_size(&l) != u->nk * u->nn);
	for (int64_t i = 0; i < u->nk * u->nn; i++) {
		int64_t at = q->base + layout_at_index(&l, i).at[AX_mem];

		for (int64_t tile = 0; tile < u->tiles; tile++) {
			int64_t to = b->first + plane_bit(u, tile, i) + q->shift;

			for (int bit = 0; bit < bits; bit++) {
				int64_t from = part_bit(b->part, u->tiles, tile, at + bit);

				b->of[b->encode ? from : to + bit] = (int32_t)(b->encode ? to + bit : from);
			}
		}
	}
}

static void
make_move(Arena *a, BitMove *m, const PartCodec *c, int64_t tiles)
{
	MoveSide part = { .n = 0 }, planes = { .n = 0 };
	UnitBits b = { .arena = a, .part = c->part, .encode = c->encode };
	size_t n;

	add_part(&part, c->part, tiles);
	for (int i = 0; i < c->planes; i++) {
		UnitPlane u = unit_plane(c->fit, c->part, c->plane[i], tiles);

		moveside_add(&planes, u.rows, u.row);
	}
	n = 8 * moveside_bytes(c->encode ? &part : &planes);
	b.of = NEWN(a, int32_t, n);
	memset(b.of, -1, n * sizeof *b.of);
	for (int i = 0; i < c->planes; i++) {
		UnitPlane u = unit_plane(c->fit, c->part, c->plane[i], tiles);

		for (const FormatPiece *q = c->part->part->piece; q->layout; q++)
			if (q->plane == u.id)
				add_piece(&b, &u, q);
		b.first += (int64_t)(8 * u.rows * u.row);
	}
	bitmove_make(a, m, c->encode ? &planes : &part, c->encode ? &part : &planes, b.of);
}

/* Returns the number of tiles in a unit: rows of codes are whole bytes, and, if there are enough tiles, the
 * part's bytes are about UNIT_BYTES. */
static int64_t
unit_tiles(const PartMap *p, int64_t row_bits)
{
	enum { UNIT_BYTES = 192 };
	int64_t tiles = 8 / gcd64(8, row_bits), bytes = p->chunk / 8 * p->part->rows;

	while (2 * tiles <= p->nk && 2 * tiles * bytes <= UNIT_BYTES)
		tiles *= 2;
	return tiles;
}

void
codec_make(Arena *a, PartCodec *c, const Fit *fit, const PartMap *p, bool encode)
{
	int64_t row_bits = 8;

	*c = (PartCodec){ .fit = fit, .part = p, .encode = encode };
	for (int id = 0; p->part && id < HEXC_NPLANE; id++) {
		if (!fit->w.plane[id].dtype || !part_holds(p->part, (hexc_plane_id)id))
			continue;
		BUG_IF(a, c->planes == MOVE_AREAS);
		c->plane[c->planes++] = (hexc_plane_id)id;
		if (id == HEXC_PLANE_CODE)
			row_bits = p->tile_k * plane_bits(&fit->w, HEXC_PLANE_CODE);
	}
	if (!c->planes)
		return;
	c->tiles[0] = unit_tiles(p, row_bits);
	c->tiles[1] = p->nk % c->tiles[0];
	for (int i = 0; i < 2; i++)
		if (c->tiles[i])
			make_move(a, &c->move[i], c, c->tiles[i]);
}

size_t
codec_scratch(const PartCodec *c)
{
	size_t bytes = 0;

	for (int i = 0; c->planes && i < 2; i++)
		if (c->tiles[i] && bitmove_scratch(&c->move[i]) > bytes)
			bytes = bitmove_scratch(&c->move[i]);
	return bytes;
}

/* ---- units ------------------------------------------------------------------------------------------- */

/* Returns the rows of the part of the unit that starts at this tile. */
static MoveRows
part_rows(const PartMap *p, int64_t tn, int64_t tk)
{
	int64_t at = p->part->order == 'n' ? tk * p->outer + tn * p->chunk : tn * p->outer + tk * p->chunk;

	return (MoveRows){ (unsigned char *)(uintptr_t)p->data + at / 8, (size_t)p->row / 8 };
}

static MoveRows
plane_rows(const UnitPlane *u, const hexc_weight *w, int64_t tn, int64_t tk)
{
	const hexc_plane *q = &w->plane[u->id];
	int64_t cols = u->by_output ? w->k : q->cols, k = tk * u->nk, n = tn * u->nn;
	int64_t at = u->by_output ? n * cols + k : k * cols + n;

	return (MoveRows){ (unsigned char *)q->data + at * u->bits / 8, (size_t)(cols * u->bits) / 8 };
}

/* Moves the units of one length: from tile k0 up to k1 along the inputs, [n0, n1) along the outputs. */
static void
move_units(const PartCodec *c, int which, const hexc_weight *w, int64_t n0, int64_t n1, int64_t k0,
           int64_t k1, void *scratch)
{
	MoveBlocks b = { .n = 0 };
	UnitPlane u[MOVE_AREAS];

	for (int i = 0; i < c->planes; i++)
		u[i] = unit_plane(c->fit, c->part, c->plane[i], c->tiles[which]);
	for (int64_t tk = k0; tk < k1; tk += c->tiles[which]) {
		for (int64_t tn = n0; tn < n1; tn++) {
			*(c->encode ? &b.to[0][b.n] : &b.from[0][b.n]) = part_rows(c->part, tn, tk);
			for (int i = 0; i < c->planes; i++)
				*(c->encode ? &b.from[i][b.n] : &b.to[i][b.n]) =
					plane_rows(&u[i], w, tn, tk);
			if (++b.n < MOVE_LANES)
				continue;
			bitmove_run(&c->move[which], &b, scratch, false);
			b.n = 0;
		}
	}
	if (b.n)
		bitmove_run(&c->move[which], &b, scratch, false);
}

void
codec_run(const PartCodec *c, const hexc_weight *w, int64_t n0, int64_t n1, void *scratch)
{
	const PartMap *p = c->part;
	int64_t rest = c->tiles[1], first, end;

	if (!c->planes || !p->data)
		return;
	first = ceil_div(n0, p->tile_n);
	end = ceil_div(n1, p->tile_n);
	if (first == end)
		return;
	move_units(c, 0, w, first, end, 0, p->nk - rest, scratch);
	if (rest)
		move_units(c, 1, w, first, end, p->nk - rest, p->nk, scratch);
	for (int i = 0; i < c->planes && !c->encode; i++)
		plane_operate(c->fit->format, w, c->plane[i], first * p->tile_n, end * p->tile_n, 1);
}

/* ---- operations ---------------------------------------------------------------------------------------- */

/* An operation on the bits of a value: x becomes (x ^ flip) + plus. */
typedef struct RawOp {
	uint32_t flip, plus;
} RawOp;

/* Applies the operation to values [at, at + n). */
static void
operate(RawOp op, int bits, void *data, int64_t at, int64_t n)
{
	DType raw = raw_type(bits);
	uint8_t *byte = (uint8_t *)data + at;
	uint16_t *half = (uint16_t *)data + at;

	if (bits == 8)
		for (int64_t i = 0; i < n; i++)
			byte[i] = (uint8_t)((byte[i] ^ op.flip) + op.plus);
	else if (bits == 16)
		for (int64_t i = 0; i < n; i++)
			half[i] = (uint16_t)((half[i] ^ op.flip) + op.plus);
	else
		for (int64_t i = at; i < at + n; i++)
			num_put_i(raw, data, i, ((uint32_t)num_get_i(raw, data, i) ^ op.flip) + op.plus);
}

static void
invert(float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = 1 / x[i];
}

void
plane_operate(const Format *format, const hexc_weight *w, hexc_plane_id id, int64_t n0, int64_t n1, int sign)
{
	const FormatPlane *fp = &format->plane[id];
	const hexc_plane *q = &w->plane[id];
	int bits = plane_bits(w, id);
	RawOp op = { fp->op == OP_negate ? 1u << (bits - 1) : 0,
		     fp->op == OP_add ? (uint32_t)(sign * fp->c) : 0 };

	n1 = n1 < q->cols ? n1 : q->cols;
	for (int64_t k = 0; k < q->rows && fp->op != OP_none; k++) {
		if (fp->op == OP_invert)
			invert((float *)q->data + k * q->cols + n0, n1 - n0);
		else
			operate(op, bits, q->data, k * q->cols + n0, n1 - n0);
	}
}
