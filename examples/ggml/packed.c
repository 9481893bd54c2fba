/* packed.c - converts matrices of weights between ggml's blocks and hexc's planes. */
#include "examples/ggml/packed.h"
#include <stdlib.h>
#include <string.h>

/* Fewer rows are not worth a kernel of their own. */
enum { ROWS_LEAST = 16, ALIGNED = 256, E8M0_ONE = 127, E8M0_NAN = 255, E8M0_TOP = 5 };

/* The pack that kernels of matmul_packed choose for codes of a type (hexc_module_pack), which are numbers or
 * number those of a table. */
static const char *
pack_of(const char *type, bool table)
{
#define PACK(type, table, rows, cols, spread, place) { type, table, "hexc-pack 1 " type " block " #rows "x" \
	#cols " spread " #spread " streams 32 place " place }
#define BLOCK16 "((8,2),(2,4,8)):((128,16),(1,32,2))"
#define BLOCK32 "((8,4),(2,4,8)):((256,16),(1,64,2))"
#define BLOCK64 "((8,8),(2,4,8)):((512,16),(1,128,2))"
	static const struct { const char *type; bool table; const char *pack; } all[] = {
		PACK("u1", true, 64, 64, 4, BLOCK64), PACK("u2", false, 32, 64, 16, BLOCK32),
		PACK("u3", false, 64, 64, 16, BLOCK64), PACK("u4", false, 16, 64, 16, BLOCK16),
		PACK("u4", true, 16, 64, 0, BLOCK16), PACK("u5", false, 64, 64, 16, BLOCK64),
		PACK("u6", false, 32, 64, 16, BLOCK32), PACK("e2m1", false, 16, 64, 0, BLOCK16),
		PACK("i8", false, 16, 32, 0, "((8,2),(2,4,4)):((64,8),(1,16,2))"),
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (!strcmp(all[i].type, type) && all[i].table == table)
			return all[i].pack;
	return NULL;
}

static int64_t
aligned(int64_t bytes)
{
	return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* Sets the planes' places. All matrices have one table. */
static void
place_planes(PackedForm *f, int64_t codes)
{
	f->each[HEXC_PLANE_CODE] = codes;
	for (int i = HEXC_PLANE_CODE + 1; i < HEXC_NPLANE; i++)
		f->each[i] = f->matrix.plane[i].dtype ? (int64_t)f->matrix.plane[i].bytes : 0;
	for (int i = 0; i < HEXC_NPLANE; i++) {
		f->start[i] = f->bytes;
		f->bytes += aligned(f->each[i] * (i == HEXC_PLANE_TABLE ? 1 : f->matrices));
	}
}

bool
packed_form(PackedForm *f, const struct ggml_tensor *t)
{
	int64_t dim[2] = { t->ne[1], t->ne[0] };
	const hexc_plane *plane = f->matrix.plane;
	const char *scale;
	uint64_t codes;

	*f = (PackedForm){ .matrix = HEXC_WEIGHT_INIT, .matrices = t->ne[2] * t->ne[3] };
	if (t->view_src || t->op != GGML_OP_NONE || !ggml_is_contiguous(t) || t->ne[1] < ROWS_LEAST ||
	    f->matrices < 1 ||
	    hexc_format_weight(block_format(t->type), t->ne[1], t->ne[0], &f->matrix, NULL, 0))
		return false;
	f->pack = pack_of(plane[HEXC_PLANE_CODE].dtype, plane[HEXC_PLANE_TABLE].dtype);
	scale = plane[HEXC_PLANE_SCALE].dtype;
	if (!f->pack || !scale || plane[HEXC_PLANE_ZERO].dtype || plane[HEXC_PLANE_INDEX].dtype ||
	    hexc_pack_bytes(f->pack, 2, dim, &codes, NULL, 0))
		return false;
	f->wide = !strcmp(scale, "e8m0");
	f->block_bytes = (int64_t)f->matrix.bytes;
	place_planes(f, (int64_t)codes);
	return true;
}

/* ---- scales of e8m0 ---------------------------------------------------------------------------------- */

/* Finds the range of the exponents in a matrix, but for NaNs. */
static bool
scale_range(const PackedForm *f, const void *blocks, int *least, int *most)
{
	const hexc_plane *scale;
	hexc_weight *w;

	if (hexc_weight_blocks(&w, f->matrix.format, blocks, f->matrix.bytes, f->matrix.n, f->matrix.k, NULL,
	                       NULL, 0))
		return false;
	scale = &w->plane[HEXC_PLANE_SCALE];
	for (uint64_t i = 0; i < scale->bytes; i++) {
		int x = ((const uint8_t *)scale->data)[i];

		if (x != E8M0_NAN) {
			*least = x < *least ? x : *least;
			*most = x > *most ? x : *most;
		}
	}
	hexc_weight_free(w);
	return true;
}

bool
packed_shift(const PackedForm *f, const char *blocks, int *shift)
{
	int least = E8M0_NAN, most = 0;

	*shift = 0;
	if (!f->wide)
		return true;
	for (int64_t i = 0; i < f->matrices; i++)
		if (!scale_range(f, blocks + i * f->block_bytes, &least, &most))
			return false;
	*shift = most - E8M0_ONE - E8M0_TOP;
	return least - *shift >= 0;
}

static void
shift_scales(const PackedForm *f, uint8_t *scale, int by)
{
	for (int64_t i = 0; f->wide && i < f->each[HEXC_PLANE_SCALE]; i++)
		if (scale[i] != E8M0_NAN)
			scale[i] = (uint8_t)(scale[i] + by);
}

/* ---- matrices ------------------------------------------------------------------------------------------ */

bool
pack_matrix(const PackedForm *f, int shift, const void *blocks, void *const plane[HEXC_NPLANE])
{
	int64_t dim[2] = { f->matrix.n, f->matrix.k };
	hexc_weight *w;
	bool ok;

	if (hexc_weight_blocks(&w, f->matrix.format, blocks, f->matrix.bytes, dim[0], dim[1], NULL, NULL, 0))
		return false;
	memset(plane[HEXC_PLANE_CODE], 0, (size_t)f->each[HEXC_PLANE_CODE]);
	ok = !hexc_pack(f->pack, 2, dim, w->plane[HEXC_PLANE_CODE].data, plane[HEXC_PLANE_CODE], NULL, NULL,
	                0);
	shift_scales(f, w->plane[HEXC_PLANE_SCALE].data, -shift);
	for (int i = HEXC_PLANE_CODE + 1; i < HEXC_NPLANE; i++)
		if (f->each[i])
			memcpy(plane[i], w->plane[i].data, (size_t)f->each[i]);
	hexc_weight_free(w);
	return ok;
}

bool
unpack_matrix(const PackedForm *f, int shift, void *const plane[HEXC_NPLANE], void *blocks)
{
	int64_t dim[2] = { f->matrix.n, f->matrix.k };
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	hexc_weight *w;
	bool ok;

	if (hexc_weight_blocks(&w, f->matrix.format, NULL, 0, dim[0], dim[1], NULL, NULL, 0))
		return false;
	ok = !hexc_unpack(f->pack, 2, dim, plane[HEXC_PLANE_CODE], w->plane[HEXC_PLANE_CODE].data, NULL, NULL,
	                  0);
	for (int i = HEXC_PLANE_CODE + 1; i < HEXC_NPLANE; i++)
		if (f->each[i])
			memcpy(w->plane[i].data, plane[i], (size_t)f->each[i]);
	shift_scales(f, w->plane[HEXC_PLANE_SCALE].data, shift);
	ok = ok && hexc_weight_tensor(w, 0, &t, blocks, f->matrix.bytes) && t.data;
	hexc_weight_free(w);
	return ok;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

bool
ranges_add(Ranges *r, size_t from, size_t to)
{
	int i = 0, end;

	if (r->n == r->room) {
		void *more = realloc(r->range, (size_t)(2 * r->room + 8) * sizeof *r->range);

		if (!more)
			return false;
		r->range = more;
		r->room = 2 * r->room + 8;
	}
	while (i < r->n && r->range[i].to < from)
		i++;
	for (end = i; end < r->n && r->range[end].from <= to; end++) {
		from = r->range[end].from < from ? r->range[end].from : from;
		to = r->range[end].to > to ? r->range[end].to : to;
	}
	memmove(r->range + i + 1, r->range + end, (size_t)(r->n - end) * sizeof *r->range);
	r->range[i].from = from;
	r->range[i].to = to;
	r->n += 1 - (end - i);
	return true;
}
