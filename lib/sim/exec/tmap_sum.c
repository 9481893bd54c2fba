/* tmap_sum.c - computes checksums over the 128 bytes of a tensor map, and derives from them what was edited.
 *
 * The fields are words w[0] to w[n - 1] of GF(2^64); the sums are those of w[i] and of w[i] x^(n - 1 - i). If
 * one word has changed by e, the first is off by e and the second by e x^(n - 1 - i): so both the word and
 * its former value are known. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "lib/sim/exec/tmap.h"

enum { WORDS = TMAP_BYTES / 8 - 2 };

/* A bit of the second sum that is never set: CUTLASS's host code clears it, in the second word of the
 * driver's maps of small tensors. */
#define CLEARED (1ull << 21)

static const u64 magic[2] = { 0x70616d7863786568ull /* "hexcxmap" */, 0x9e3779b97f4a7c15ull };

/* v x, modulo x^64 + x^4 + x^3 + x + 1 */
static u64
times_x(u64 v)
{
	return v << 1 ^ (v >> 63 ? 0x1b : 0);
}

static void
sums(const TmapBits *b, u64 sum[2])
{
	u64 word[WORDS];

	memcpy(word, (const u8 *)b + sizeof b->sum, sizeof word);
	memcpy(sum, magic, sizeof magic);
	for (u32 i = 0; i < WORDS; i++) {
		sum[0] ^= word[i];
		sum[1] = times_x(sum[1]) ^ word[i];
	}
	sum[1] &= ~CLEARED;
}

bool
tmap_intact(const TmapBits *b)
{
	u64 sum[2];

	sums(b, sum);
	return !memcmp(b->sum, sum, sizeof sum);
}

void
tmap_seal(TmapBits *b)
{
	sums(b, b->sum);
}

/* Restores the map from before one of its words was changed; returns false if that is not what happened. */
static bool
restore(TmapBits *b)
{
	u64 sum[2], e, v, w;

	sums(b, sum);
	e = v = sum[0] ^ b->sum[0];
	for (u32 i = WORDS; i-- > 0; v = times_x(v))
		if ((v & ~CLEARED) == (sum[1] ^ b->sum[1])) {
			u8 *at = (u8 *)b + sizeof b->sum + 8 * i;
			memcpy(&w, at, 8);
			w ^= e;
			memcpy(at, &w, 8);
			return e != 0;
		}
	return false;
}

/* The fields by the driver's names. */
static const struct {
	const char *name;
	u16 at;
	u8 bytes, n;
} fields[] = {
#define FIELD(member, name, bytes, n) { name, offsetof(sim_tmap_desc, member), bytes, n }
	FIELD(address, "globalAddress", 8, 1), FIELD(type, "tensorDataType", 4, 1),
	FIELD(rank, "tensorRank", 4, 1), FIELD(dim, "globalDim", 8, 5), FIELD(stride, "globalStrides", 8, 4),
	FIELD(box, "boxDim", 4, 5), FIELD(element_stride, "elementStrides", 4, 5),
	FIELD(lower, "pixelBoxLowerCorner", 4, 3), FIELD(upper, "pixelBoxUpperCorner", 4, 3),
	FIELD(channels, "channelsPerPixel", 4, 1), FIELD(pixels, "pixelsPerColumn", 4, 1),
	FIELD(interleave, "interleave", 4, 1), FIELD(swizzle, "swizzle", 4, 1),
	FIELD(l2_promotion, "l2Promotion", 4, 1), FIELD(oob_fill, "oobFill", 4, 1),
	FIELD(im2col, "im2col", 4, 1),
#undef FIELD
};

bool
tmap_edited(const TmapBits *b, char *text, size_t size)
{
	TmapBits old = *b;
	sim_tmap_desc was, is;
	size_t at = 0;

	*text = 0;
	if (!restore(&old))
		return false;
	tmap_unpack(&old, &was);
	tmap_unpack(b, &is);
	for (u32 i = 0; i < COUNT_OF(fields); i++)
		for (u32 k = 0; k < fields[i].n && at < size - 1; k++) {
			u64 x = 0, y = 0;
			size_t off = fields[i].at + (size_t)k * fields[i].bytes;
			memcpy(&x, (const u8 *)&was + off, fields[i].bytes);
			memcpy(&y, (const u8 *)&is + off, fields[i].bytes);
			if (x == y)
				continue;
			at += (size_t)snprintf(text + at, size - at, fields[i].n > 1 ? "%s%s[%u]" : "%s%s",
			                       at ? ", " : "", fields[i].name, k);
			if (at < size - 1)
				at += (size_t)snprintf(text + at, size - at,
				                       i ? " %llu, was %llu" : " 0x%llx, was 0x%llx",
				                       (unsigned long long)y, (unsigned long long)x);
		}
	return at > 0;
}
