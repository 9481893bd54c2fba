/* test_codec.c - tests the permutations of bits between parts and planes against the layouts of formats.def,
 * bit by bit, for every format. */
#include "lib/weights/format.h"
#include "test/check.h"
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64, WIDEST = 32 };

static uint64_t seed = 1;

static unsigned char
next_byte(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned char)(seed >> 33);
}

static bool
bit_at(const unsigned char *p, int64_t bit)
{
	return p[bit / 8] >> bit % 8 & 1;
}

/* The bit of a part that has bit `at` of a tile. */
static int64_t
file_bit(const PartMap *p, int64_t tn, int64_t tk, int64_t at)
{
	int64_t tile = p->part->order == 'n' ? tk * p->outer + tn * p->chunk : tn * p->outer + tk * p->chunk;

	return tile + at / p->chunk * p->row + at % p->chunk;
}

/* Where a tile has the bits of its values, WIDEST for each; -1: nowhere. */
static int64_t *
bits_of_tile(const PartMap *p, hexc_plane_id id, int64_t values)
{
	int64_t *at = malloc((size_t)(values * WIDEST) * sizeof *at);

	memset(at, -1, (size_t)(values * WIDEST) * sizeof *at);
	for (const FormatPiece *q = p->part->piece; q->layout; q++) {
		int bits = q->bits ? q->bits : (int)p->chunk;
		size_t end;
		Layout l;

		if (q->plane != id)
			continue;
		ck_assert(layout_parse(&l, q->layout, strlen(q->layout), &end));
		for (int64_t i = 0; i < values; i++) {
			int64_t first = q->base + layout_at_index(&l, i).at[AX_mem];

			for (int b = 0; b < bits; b++)
				at[i * WIDEST + q->shift + b] = first + b;
		}
	}
	return at;
}

/* What the file has for a value of a tile. Marks its bits in `used`. */
static uint32_t
stored(const PartMap *p, int64_t tn, int64_t tk, const int64_t at[WIDEST], unsigned char *used)
{
	uint32_t x = 0;

	for (int b = 0; b < WIDEST; b++)
		if (at[b] >= 0) {
			int64_t bit = file_bit(p, tn, tk, at[b]);

			x |= (uint32_t)bit_at(p->data, bit) << b;
			used[bit / 8] |= (unsigned char)(1 << bit % 8);
		}
	return x;
}

static uint32_t
meaning(const FormatPlane *fp, int bits, uint32_t x)
{
	uint32_t all = bits == 32 ? ~0u : (1u << bits) - 1;
	float f;

	switch (fp->op) {
	case OP_none: break;
	case OP_add: return (x + (uint32_t)fp->c) & all;
	case OP_negate: return x ^ (all / 2 + 1);
	case OP_invert:
		memcpy(&f, &x, sizeof f);
		f = 1 / f;
		memcpy(&x, &f, sizeof x);
		break;
	}
	return x;
}

/* Compares the values of a plane in a part. */
static void
compare_plane(const Fit *fit, const hexc_weight *w, const PartMap *p, hexc_plane_id id, unsigned char *used)
{
	const hexc_plane *q = &w->plane[id];
	int bits = dtype_info[plane_type(q)].bits;
	uint32_t all = bits == 32 ? ~0u : (1u << bits) - 1;
	int64_t nk, nn, *bit;

	fit_counts(fit, p, id, &nk, &nn);
	bit = bits_of_tile(p, id, nk * nn);
	for (int64_t tn = 0; tn < p->nn; tn++)
		for (int64_t tk = 0; tk < p->nk; tk++)
			for (int64_t i = 0; i < nk * nn; i++) {
				int64_t k = tk * nk + i % nk, n = tn * nn + i / nk;
				int64_t at = id == HEXC_PLANE_CODE ? n * w->k + k : k * q->cols + n;
				uint32_t want = stored(p, tn, tk, bit + i * WIDEST, used);
				uint32_t got = (uint32_t)num_get_i(raw_type(bits), q->data, at) & all;

				want = meaning(&fit->format->plane[id], bits, want);
				if (got != want)
					ck_abort_msg("%s: plane %d at %lld, %lld: %x, not %x",
					             w->format, id, (long long)k, (long long)n, got, want);
			}
	free(bit);
}

/* Encodes the part again, and compares its bytes, but for bits of no plane. */
static void
compare_part(Arena *a, const Fit *fit, const hexc_weight *w, int i, const unsigned char *used)
{
	Fit other = *fit;
	PartMap *p = &other.part[i];
	unsigned char *data = malloc((size_t)p->bytes);
	PartCodec c;
	void *scratch;

	memset(data, 0x5a, (size_t)p->bytes);
	p->data = data;
	codec_make(a, &c, &other, p, true);
	scratch = aligned_alloc(64, codec_scratch(&c));
	codec_run(&c, w, 0, w->n, scratch);
	for (uint64_t b = 0; b < p->bytes; b++)
		if (data[b] != (fit->part[i].data[b] & used[b]))
			ck_abort_msg("%s: byte %llu of part %d", w->format, (unsigned long long)b, i);
	free(scratch);
	free(data);
}

static void
compare(Arena *a, Fit *fit, hexc_weight *w, int i)
{
	PartMap *p = &fit->part[i];
	unsigned char *data = malloc((size_t)p->bytes), *used = calloc(1, (size_t)p->bytes);
	PartCodec c;
	void *scratch;

	for (uint64_t b = 0; b < p->bytes; b++)
		data[b] = next_byte();
	p->data = data;
	codec_make(a, &c, fit, p, false);
	scratch = aligned_alloc(64, codec_scratch(&c));
	for (int64_t n = 0; n < w->n; n += 64)
		codec_run(&c, w, n, n + 64 < w->n ? n + 64 : w->n, scratch);
	free(scratch);
	for (int id = 0; id < HEXC_NPLANE; id++)
		if (w->plane[id].dtype && part_holds(p->part, (hexc_plane_id)id)) {
			compare_plane(fit, w, p, (hexc_plane_id)id, used);
			plane_operate(fit->format, w, (hexc_plane_id)id, 0, w->n, -1);
		}
	if (fit->format->plane[HEXC_PLANE_SCALE2].op != OP_invert) /* rounds */
		compare_part(a, fit, w, i, used);
	free(used);
	free(data);
}

/* Returns whether the format has such weights. */
static bool
one_shape(const Format *f, int64_t n, int64_t k)
{
	hexc_weight *w;
	Arena a;
	Fit fit;

	if (!fit_sizes(&fit, f, n, k, f->group ? 0 : GROUP, NULL, NULL, 0))
		return false;
	arena_init(&a, NULL, NULL);
	w = weight_new(&fit);
	for (int i = 0; i < FORMAT_PARTS && f->part[i].types; i++)
		compare(&a, &fit, w, i);
	hexc_weight_free(w);
	arena_free(&a);
	return true;
}

/* Fewer outputs than lanes, as many, and more; units of tiles that are complete, and a shorter one. */
TEST(every_bit)
{
	static const int64_t outputs[] = { 1, 5, 64, 160 }, inputs[] = { 64, 256, 448, 1792 };

	for (size_t f = 0; f < nformats; f++) {
		int shapes = 0;

		for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
			for (size_t j = 0; j < sizeof inputs / sizeof *inputs; j++)
				shapes += one_shape(&formats[f], outputs[i], inputs[j]);
		ck_assert_msg(shapes > 3, "%s: %d shapes", formats[f].name, shapes);
	}
}

TEST_PROGRAM(.timeout = 120);
