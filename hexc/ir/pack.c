/* pack.c - implements packs: textual form, validity, and the position of each bit of an element. */
#include "hexc/ir/pack.h"
#include "hexc/ir/bit_order.h"
#include <string.h>

/* ---- text ---------------------------------------------------------------------------------------- */

const char *
pack_text(Arena *a, const Pack *p)
{
	Layout layout;

	if (p->block[0] == 0)
		return arena_printf(a, "hexc-pack %d %s", PACK_VERSION, dtype_info[p->dtype].name);
	if (!p->layout)
		return arena_printf(a, "hexc-pack %d %s block %lldx%lld", PACK_VERSION,
		                    dtype_info[p->dtype].name, (long long)p->block[0],
		                    (long long)p->block[1]);
	layout = *p->layout;
	layout_canon(&layout);
	return arena_printf(a, "hexc-pack %d %s block %lldx%lld spread %d streams %lld place %s",
	                    PACK_VERSION, dtype_info[p->dtype].name, (long long)p->block[0],
	                    (long long)p->block[1], p->bit_order, (long long)p->streams,
	                    layout_print(a, &layout));
}

typedef struct PackReader {
	const char *s, *end;
} PackReader;

static size_t
word_length(const PackReader *r)
{
	size_t n = 0;

	while (r->s + n < r->end && r->s[n] != ' ')
		n++;
	return n;
}

static void
skip(PackReader *r, size_t n)
{
	r->s += n;
	while (r->s < r->end && *r->s == ' ')
		r->s++;
}

static bool
take_word(PackReader *r, const char *word)
{
	size_t n = word_length(r);

	if (n != strlen(word) || memcmp(r->s, word, n) != 0)
		return false;
	skip(r, n);
	return true;
}

/* Parses a number from 0 to PACK_BLOCK_MAX that `end` follows. */
static bool
take_number(PackReader *r, char end, int64_t *out)
{
	size_t n = 0;
	int64_t x = 0;

	for (; r->s + n < r->end && r->s[n] >= '0' && r->s[n] <= '9'; n++) {
		x = x * 10 + (r->s[n] - '0');
		if (x > PACK_BLOCK_MAX)
			return false;
	}
	if (n == 0 || (r->s + n < r->end && r->s[n] != end))
		return false;
	skip(r, n);
	if (end != ' ') {
		if (r->s == r->end)
			return false;
		r->s++;
	}
	*out = x;
	return true;
}

static bool
pack_error(const char **why, const char *text)
{
	*why = text;
	return false;
}

/* Parses version and element type. */
static bool
parse_head(Arena *a, PackReader *r, Pack *p, const char **why)
{
	int64_t version;

	if (!take_word(r, "hexc-pack"))
		return pack_error(why, "it does not start with `hexc-pack`");
	if (!take_number(r, ' ', &version))
		return pack_error(why, "missing version number after `hexc-pack`");
	if (version != PACK_VERSION)
		return pack_error(why, arena_printf(a, "unsupported version %lld, expected %d",
		                                    (long long)version, PACK_VERSION));
	p->dtype = dtype_find(r->s, word_length(r));
	if (p->dtype == D_COUNT)
		return pack_error(why, "missing element type after the version");
	skip(r, word_length(r));
	return true;
}

/* Parses the part after the block. */
static bool
parse_layout(Arena *a, PackReader *r, Pack *p, const char **why)
{
	Layout *layout = NEW(a, Layout);
	int64_t bit_order;
	size_t at;

	if (!take_word(r, "spread") || !take_number(r, ' ', &bit_order))
		return pack_error(why, "missing `spread N` after the block");
	if (!take_word(r, "streams") || !take_number(r, ' ', &p->streams))
		return pack_error(why, "missing `streams N` after the spread");
	if (!take_word(r, "place") || !layout_parse(layout, r->s, (size_t)(r->end - r->s), &at))
		return pack_error(why, "missing `place LAYOUT` after the streams");
	p->bit_order = bit_order > 99 ? 1 : (int)bit_order; /* an invalid order */
	p->layout = layout;
	return true;
}

static bool
parse_some(Arena *a, const char *s, size_t n, bool open, Pack *out, const char **why)
{
	PackReader r = { s, s + n };
	Pack p = { .streams = 1 };
	const char *normal;

	if (!parse_head(a, &r, &p, why))
		return false;
	if (!open || r.s < r.end) {
		if (!take_word(&r, "block") || !take_number(&r, 'x', &p.block[0]) ||
		    !take_number(&r, ' ', &p.block[1]))
			return pack_error(why, "missing `block ROWSxCOLUMNS` after the element type");
		if ((!open || r.s < r.end) && !parse_layout(a, &r, &p, why))
			return false;
	}
	if (p.layout && !pack_check(a, &p, why))
		return false;
	normal = pack_text(a, &p); /* packs are compared by their texts */
	if (strlen(normal) != n || memcmp(normal, s, n) != 0)
		return pack_error(why, arena_printf(a, "not in canonical form; write `%s`", normal));
	*out = p;
	return true;
}

bool
pack_parse(Arena *a, const char *s, size_t n, Pack *out, const char **why)
{
	return parse_some(a, s, n, false, out, why);
}

bool
pack_parse_open(Arena *a, const char *s, size_t n, Pack *out, const char **why)
{
	return parse_some(a, s, n, true, out, why);
}

/* ---- validity ------------------------------------------------------------------------------------ */

static bool
is_bijection(Arena *a, const Pack *p, int64_t n)
{
	uint8_t *seen = NEWN(a, uint8_t, n);

	for (int64_t i = 0; i < p->block[0]; i++)
		for (int64_t j = 0; j < p->block[1]; j++) {
			int64_t at = pack_position(p, i, j);

			if (at < 0 || at >= n || seen[at])
				return false;
			seen[at] = 1;
		}
	return true;
}

bool
pack_check(Arena *a, const Pack *p, const char **why)
{
	int64_t n, each, bits = dtype_info[p->dtype].bits;
	const Layout *l = p->layout;

	if (!dtype_is_narrow(p->dtype))
		return pack_error(why, "packed elements have 1 to 8 bits");
	if (p->block[0] < 1 || p->block[1] < 1 || p->block[0] > PACK_BLOCK_MAX / p->block[1])
		return pack_error(why, arena_printf(a, "a block has 1 to %d elements", PACK_BLOCK_MAX));
	n = p->block[0] * p->block[1];
	if (n * bits % 32)
		return pack_error(why, "a block is not a multiple of 32 bits");
	if (!bit_order_valid((int)bits, p->bit_order))
		return pack_error(why, "the spread must be 0, 4, 8, 16, or an order for halves, 33 to 41");
	if (p->streams < 1 || n % p->streams)
		return pack_error(why, "the block's elements are not a multiple of the streams");
	each = n / p->streams;
	if (each * bits % 32)
		return pack_error(why, "a stream is not a multiple of 32 bits");
	if (p->bit_order && each % bit_order_unit((int)bits, p->bit_order))
		return pack_error(why, "a stream is not a multiple of the element groups of its spread");
	if (l->ndim != 2 || layout_extent(l, 0) != p->block[0] || layout_extent(l, 1) != p->block[1] ||
	    !layout_is_mem(l) || l->swizzle.bits || !layout_in_range(l))
		return pack_error(why, "the place is not a layout of a block's rows and columns");
	if (!is_bijection(a, p, n))
		return pack_error(why, "the place maps two elements to one position, or one outside the "
		                       "block");
	return true;
}

/* ---- where a bit is ------------------------------------------------------------------------------ */

int64_t
pack_position(const Pack *p, int64_t row, int64_t column)
{
	return !p->layout ? row * p->block[1] + column
	                  : layout_at(p->layout, (int64_t[2]){ row, column }).at[AX_mem];
}

int64_t
pack_bit(const Pack *p, int64_t row, int64_t column, int bit)
{
	int bits = dtype_info[p->dtype].bits;
	int64_t each = p->block[0] * p->block[1] / p->streams, at = pack_position(p, row, column);
	int64_t stream = at / each, nth = at % each;
	int in_group = bit_order_bit(bits, p->bit_order, (int)(nth % BIT_GROUP), bit);
	int64_t word = nth / BIT_GROUP * bits + in_group / 32, run = pack_run(p);

	word = word / run * run * p->streams + stream * run + word % run;
	return word * 32 + in_group % 32;
}

int64_t
pack_block_words(const Pack *p)
{
	return p->block[0] * p->block[1] * dtype_info[p->dtype].bits / 32;
}

int64_t
pack_run(const Pack *p)
{
	int64_t words = pack_block_words(p) / p->streams;

	return words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1;
}

int64_t
pack_words(const Pack *p, int rank, const int64_t *dim)
{
	int64_t n = pack_block_words(p);

	for (int d = 0; d < rank; d++) {
		int64_t each = d < rank - 2 ? dim[d] : ceil_div(dim[d], p->block[d - rank + 2]);

		if (dim[d] < 0 || !mul64(n, each, &n) || n > INT64_MAX / 32)
			return -1;
	}
	return n;
}
