/* serialize.h - one walk over a value that writes it or reads it back, so that the order of fields stands once.
 *
 * Little-endian, fixed widths; a text is its bytes behind their number.  What is read is held to its range:
 * what is out of it leaves a sentence in `why`, and from then on only zeros are read. */
#ifndef HEXC_SERIALIZE_H
#define HEXC_SERIALIZE_H
#include "hexc/ir/ir.h"

typedef struct Wire {
	Arena *arena;            /* reading: where what is read lives; NULL: writing */
	const unsigned char *in; /* reading: n bytes */
	size_t n;
	unsigned char *out;      /* writing: what of it fits in `room` bytes */
	size_t room;
	size_t at;
	const char *why;         /* reading: the first thing that is wrong, static text; NULL: nothing */
} Wire;

void wire_bad(Wire *w, const char *why);
void wire_u64(Wire *w, uint64_t *x);
void wire_i64(Wire *w, int64_t *x, int64_t lo, int64_t hi);
void wire_int(Wire *w, int *x, int lo, int hi); /* 4 bytes */
void wire_bool(Wire *w, bool *x);               /* one byte */
void wire_f64(Wire *w, double *x);              /* its bits */
/* How many elements follow: at most `most`, and not more than there are bytes left. */
void wire_count(Wire *w, int *n, int most);
void wire_bytes(Wire *w, const void **data, size_t *n); /* a NUL behind them, when read */
void wire_text(Wire *w, const char **s);                /* may be NULL */
void wire_dtype(Wire *w, DType *d);                     /* by name */

/* 64 bits of n bytes (FNV-1a, with offset basis h): any one byte changed changes them.  Not secure. */
uint64_t wire_digest(uint64_t h, const void *data, size_t n);
#define WIRE_BASIS UINT64_C(0xcbf29ce484222325)
/* The low `bytes` bytes of x at `to`, and back. */
void wire_put_word(unsigned char *to, uint64_t x, int bytes);
uint64_t wire_get_word(const unsigned char *from, int bytes);
#endif
