/* bitstream.h - declares bit streams of elements that straddle bytes. */
#ifndef HEXC_BITSTREAM_H
#define HEXC_BITSTREAM_H
#include "ptxgen/base/codegen.h"

enum { PIECES_MAX = 7 }; /* instructions per access: dtype_pieces */
/* Returns one word of elements in slots, from bit `at` of two words of a stream on; the second word may be
 * NULL where the stream ends. */
LV stream_slots(Codegen *g, DType d, const LV *two, int at);
/* Packs `count` elements, in words by slots, into a stream of words; returns their number. */
int stream_pack(Codegen *g, DType d, const LV *word, int count, LV *out);
/* Joins parts of `bits` bits (8 or 16), each in the low bits of a separate value, into words; returns their
 * number. */
int stream_join(Codegen *g, int bits, const LV *part, int n, LV *out);
/* Returns part i, of `bits` bits, of a stream of words. */
LV stream_part(Codegen *g, int bits, const LV *stream, int i);
#endif
