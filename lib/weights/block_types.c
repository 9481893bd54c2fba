/* block_types.c - defines the tables of block types and codebooks, from block_types.def and codebooks.def. */
#include "lib/weights/format.h"
#include <string.h>

/* Vectors of `width` numbers, each stored as a word of indices. */
typedef struct Codebook {
	const char *name;
	int count, width, bits;
	int8_t number[8];
	const uint16_t *word;
} Codebook;

static const Codebook codebooks[] = {
#define CODEBOOK(name, count, width, bits, ...) \
	{ name, count, width, bits, { __VA_ARGS__ }, (const uint16_t[count]){
#define END_CODEBOOK } },
#include "lib/weights/codebooks.def"
};

static const BlockType block_types[] = {
#define BLOCK(name, elements, bytes, codebook, value) \
	{ name, elements, bytes, codebook, value, (const BlockBits[]){
#define BITS(name, group, bits, shift, base, layout) { #name, group, { layout, bits, shift, base, 0 } },
#define END { NULL, 0, { NULL, 0, 0, 0, 0 } } } },
#include "lib/weights/block_types.def"
};

const BlockType *
block_type_find(const char *name)
{
	for (size_t i = 0; name && i < COUNT_OF(block_types); i++)
		if (strcmp(block_types[i].name, name) == 0)
			return &block_types[i];
	return NULL;
}

static const Codebook *
codebook_find(const char *name)
{
	for (size_t i = 0; name && i < COUNT_OF(codebooks); i++)
		if (strcmp(codebooks[i].name, name) == 0)
			return &codebooks[i];
	return NULL;
}

size_t
hexc_format_codebook(const char *format, int8_t *out, size_t n)
{
	const BlockType *t = block_type_find(format);
	const Codebook *g = codebook_find(t ? t->codebook : NULL);
	size_t count = g ? (size_t)(g->count * g->width) : 0;

	for (size_t i = 0; out && i < n && i < count; i++) {
		int at = (int)i % g->width * g->bits;

		out[i] = g->number[g->word[i / (size_t)g->width] >> at & ((1 << g->bits) - 1)];
	}
	return count;
}
