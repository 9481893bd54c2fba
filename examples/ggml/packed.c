/* packed.c - converts matrices of weights between ggml's blocks and hexc's planes. */
#include "examples/ggml/compile_queue.h"
#include "examples/ggml/packed.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Fewer rows are not worth a kernel of their own. */
enum { ROWS_LEAST = 16, ALIGNED = 256, E8M0_ONE = 127, E8M0_NAN = 255, E8M0_TOP = 5 };

/* Bands are multiples of the rows of all packs' blocks. */
enum { BAND_ROWS = 64, BAND_BYTES = 2 << 20 };

/* The pack that kernels of matmul_packed choose for codes of a type (hexc_module_pack), which are numbers or
 * number those of a table. Codes of one bit are in natural order on all devices: the largest products on
 * sm_80 would be faster in another, all others slower. */
static const char *
pack_of(const char *type, bool table)
{
#define PACK(type, table, spread) { type, table, "hexc-pack 1 " type " block 16x64 spread " #spread \
	" streams 32 place ((8,2),(2,4,8)):((128,16),(1,32,2))" }
	static const struct { const char *type; bool table; const char *pack; } all[] = {
		PACK("u1", true, 0), PACK("u2", false, 16), PACK("u3", false, 16), PACK("u4", false, 16),
		PACK("u4", true, 0), PACK("u5", false, 16), PACK("u6", false, 16), PACK("e2m1", false, 0),
		{ "i8", false, "hexc-pack 1 i8 block 16x32 spread 0 streams 32 "
		               "place ((8,2),(2,4,4)):((64,8),(1,16,2))" },
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

static int64_t
band_rows(int64_t row_bytes)
{
	int64_t rows = BAND_BYTES / row_bytes / BAND_ROWS * BAND_ROWS;

	return rows > BAND_ROWS ? rows : BAND_ROWS;
}

bool
packed_form(PackedForm *f, const struct ggml_tensor *t)
{
	int64_t dim[2] = { t->ne[1], t->ne[0] };
	const hexc_plane *plane = f->matrix.plane;
	const char *scale;
	uint64_t codes, band;

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
	f->band = band_rows(f->block_bytes / t->ne[1]);
	dim[0] = f->band;
	if (hexc_pack_bytes(f->pack, 2, dim, &band, NULL, 0))
		return false;
	f->band_codes = (int64_t)band;
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

/* ---- bands --------------------------------------------------------------------------------------------- */

/* The conversion of matrices, in bands of rows that threads take one after another. */
typedef struct Conversion {
	const PackedForm *f;
	bool back;              /* to blocks */
	int shift;
	char *blocks;           /* of all matrices; only read unless `back` */
	void *const *plane;
	int64_t matrices, bands; /* bands per matrix */
	int64_t next;           /* band; atomic */
	bool failed;            /* atomic */
} Conversion;

static const hexc_workers this_thread = { sizeof this_thread, 1, NULL, NULL };

static void
shift_scales(const PackedForm *f, const hexc_weight *w, int by)
{
	const hexc_plane *q = &w->plane[HEXC_PLANE_SCALE];
	uint8_t *scale = q->data;

	for (uint64_t i = 0; f->wide && i < q->bytes; i++)
		if (scale[i] != E8M0_NAN)
			scale[i] = (uint8_t)(scale[i] + by);
}

/* Rows of a matrix, and where the conversion has them. */
typedef struct Band {
	int64_t matrix, n0;     /* the first row */
	int64_t dim[2];         /* rows, columns */
	char *blocks, *codes;
	uint64_t bytes;         /* of blocks */
} Band;

static Band
band_of(const Conversion *c, int64_t i)
{
	const PackedForm *f = c->f;
	int64_t matrix = i / c->bands, band = i % c->bands, n0 = band * f->band, rest = f->matrix.n - n0;
	int64_t row = f->block_bytes / f->matrix.n;
	Band b = { .matrix = matrix, .n0 = n0, .dim = { rest < f->band ? rest : f->band, f->matrix.k } };

	b.blocks = c->blocks + matrix * f->block_bytes + n0 * row;
	b.codes = c->plane[HEXC_PLANE_CODE];
	b.codes += matrix * f->each[HEXC_PLANE_CODE] + band * f->band_codes;
	b.bytes = (uint64_t)(b.dim[0] * row);
	return b;
}

/* Copies the band's columns of the planes after the codes: to w for a conversion to blocks, else from w. */
static void
copy_columns(const Conversion *c, const hexc_weight *w, const Band *b)
{
	const PackedForm *f = c->f;

	for (int i = HEXC_PLANE_CODE + 1; i < HEXC_PLANE_TABLE; i++) {
		const hexc_plane *q = &w->plane[i];
		size_t row = f->each[i] ? (size_t)q->bytes / (size_t)q->rows : 0, size = row / (size_t)w->n;
		char *all = (char *)c->plane[i] + b->matrix * f->each[i] + (size_t)b->n0 * size;
		char *own = q->data;

		for (int64_t k = 0; row && k < q->rows; k++, all += (size_t)f->matrix.n * size, own += row)
			memcpy(c->back ? own : all, c->back ? all : own, row);
	}
}

static bool
pack_band(const Conversion *c, const Band *b)
{
	const PackedForm *f = c->f;
	hexc_weight *w;
	bool ok;

	if (hexc_weight_blocks(&w, f->matrix.format, b->blocks, b->bytes, b->dim[0], b->dim[1], &this_thread,
	                       NULL, 0))
		return false;
	ok = !hexc_pack(f->pack, 2, b->dim, w->plane[HEXC_PLANE_CODE].data, b->codes, &this_thread, NULL, 0);
	shift_scales(f, w, -c->shift);
	copy_columns(c, w, b);
	if (b->matrix == 0 && b->n0 == 0 && f->each[HEXC_PLANE_TABLE])
		memcpy(c->plane[HEXC_PLANE_TABLE], w->plane[HEXC_PLANE_TABLE].data,
		       (size_t)f->each[HEXC_PLANE_TABLE]);
	hexc_weight_free(w);
	return ok;
}

static bool
unpack_band(const Conversion *c, const Band *b)
{
	const PackedForm *f = c->f;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	hexc_weight *w;
	bool ok;

	if (hexc_weight_blocks(&w, f->matrix.format, NULL, 0, b->dim[0], b->dim[1], &this_thread, NULL, 0))
		return false;
	ok = !hexc_unpack(f->pack, 2, b->dim, b->codes, w->plane[HEXC_PLANE_CODE].data, &this_thread, NULL,
	                  0);
	copy_columns(c, w, b);
	shift_scales(f, w, c->shift);
	ok = ok && hexc_weight_tensor(w, 0, &t, b->blocks, b->bytes) && t.data;
	hexc_weight_free(w);
	return ok;
}

static void *
convert_bands(void *user)
{
	Conversion *c = user;

	for (;;) {
		int64_t i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);
		Band b;

		if (i >= c->matrices * c->bands)
			return NULL;
		b = band_of(c, i);
		if (!(c->back ? unpack_band(c, &b) : pack_band(c, &b)))
			__atomic_store_n(&c->failed, true, __ATOMIC_RELAXED);
	}
}

/* Runs the conversion on this thread and others, which take none of the process's signals. */
static bool
convert(Conversion *c)
{
	enum { THREADS_MOST = 64 };
	pthread_t thread[THREADS_MOST];
	int64_t wanted = compile_threads();
	sigset_t all, before;
	int started = 0;

	c->bands = (c->f->matrix.n + c->f->band - 1) / c->f->band;
	if (wanted > c->matrices * c->bands)
		wanted = c->matrices * c->bands;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started < THREADS_MOST && started + 1 < wanted &&
	       !pthread_create(&thread[started], NULL, convert_bands, c))
		started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	convert_bands(c);
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return !c->failed;
}

bool
pack_matrices(const PackedForm *f, int shift, const char *blocks, int64_t n, void *const plane[HEXC_NPLANE])
{
	Conversion c = { .f = f, .shift = shift, .plane = plane, .matrices = n };

	c.blocks = (char *)(uintptr_t)blocks;
	return convert(&c);
}

bool
unpack_matrices(const PackedForm *f, int shift, void *const plane[HEXC_NPLANE], int64_t n, char *blocks)
{
	Conversion c = { .f = f, .back = true, .shift = shift, .plane = plane, .matrices = n };

	c.blocks = blocks;
	return convert(&c);
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
