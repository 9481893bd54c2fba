/* serialize.h - declares a walk over a value that either writes or reads it, so that the field order is
 * written once.
 *
 * Values are little-endian, with fixed widths; a text is its length in bytes followed by the bytes. Each
 * read value is checked against its range. A value out of range leaves a sentence in `why`; all later
 * reads return zero. */
#ifndef HEXC_SERIALIZE_H
#define HEXC_SERIALIZE_H
#include "hexc/ir/ir.h"

typedef struct Wire {
	Arena *arena;            /* reading: allocates the results; NULL: writing */
	const unsigned char *in; /* reading: n bytes */
	size_t n;
	unsigned char *out;      /* writing: the first `room` bytes */
	size_t room;
	size_t at;
	const char *why;         /* reading: the first error, static text; NULL: none */
} Wire;

void wire_bad(Wire *w, const char *why);
void wire_u64(Wire *w, uint64_t *x);
void wire_i64(Wire *w, int64_t *x, int64_t lo, int64_t hi);
void wire_int(Wire *w, int *x, int lo, int hi); /* 4 bytes */
void wire_bool(Wire *w, bool *x);               /* one byte */
void wire_f64(Wire *w, double *x);              /* as its bits */
/* Number of following elements: at most `most`, and at most the bytes left. */
void wire_count(Wire *w, int *n, int most);
void wire_bytes(Wire *w, const void **data, size_t *n); /* followed by a NUL, when read */
void wire_text(Wire *w, const char **s);                /* may be NULL */
void wire_dtype(Wire *w, DType *d);                     /* by name */

/* Returns a 64-bit digest of n bytes (FNV-1a, with offset basis h): changing any single byte changes it.
 * Not cryptographic. */
uint64_t wire_digest(uint64_t h, const void *data, size_t n);
#define WIRE_BASIS UINT64_C(0xcbf29ce484222325)
/* Store the low `bytes` bytes of x at `to`, and load them. */
void wire_put_word(unsigned char *to, uint64_t x, int bytes);
uint64_t wire_get_word(const unsigned char *from, int bytes);
#endif
