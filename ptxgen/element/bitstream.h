/* bitstream.h - elements that straddle bytes, as streams of bits. */
#ifndef HEXC_BITSTREAM_H
#define HEXC_BITSTREAM_H
#include "ptxgen/base/codegen.h"

enum { PIECES_MAX = 7 }; /* instructions of one access: dtype_pieces */
/* As many elements as a word has slots, each in its slot, from bit `at` of two words of a stream on; the
 * second may be NULL where the stream ends. */
LV stream_slots(Codegen *g, DType d, const LV *two, int at);
/* `count` elements, packed in words by slots, as a stream of words; their number. */
int stream_pack(Codegen *g, DType d, const LV *word, int count, LV *out);
/* Parts of `bits` (8 or 16), each in the low bits of its own value, as words; their number. */
int stream_join(Codegen *g, int bits, const LV *part, int n, LV *out);
/* Part i of so many bits of a stream of words. */
LV stream_part(Codegen *g, int bits, const LV *stream, int i);
#endif
