/* times.h - how long the launches of each ggml operation take, with those that were fused with it. */
#ifndef GGML_HEXC_TIMES_H
#define GGML_HEXC_TIMES_H
#include "examples/ggml/ggml_hexc.h"

/* The times of a stream. */
typedef struct Times Times;

/* Are called before and behind the launches of w. */
void times_begin(Times *t);
void times_end(Times *t, const Work *w);
/* Waits for all launches, and writes the table to ggml's log. */
void times_log(Times *t);
/* Returns NULL if there is no memory. */
Times *times_new(Device *d, void *stream);
void times_free(Times *t); /* t may be NULL */
#endif
