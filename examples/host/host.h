/* host.h - shared by the hosts of operators: options, tensors of a file on a device, operators planned for
 * it.
 *
 * Error messages are written to why[0..HOST_WHY): the subject, and what is wrong. */
#ifndef HEXC_HOST_H
#define HEXC_HOST_H
#include "lib/hexc_cache.h"
#include "lib/hexc_ops.h"
#include "lib/hexc_weights.h"
#include <stdbool.h>

enum { HOST_WHY = 500 };

/* why = WHAT: the text; false. */
bool host_fail(char *why, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- options.c */

typedef struct HostOpts {
	int device;         /* as hexc_gpu_open has it */
	const char *cache;  /* the folder of compiled operators; NULL: none */
} HostOpts;

/* Is option `name` one of --device N, --simulator SM, --cache DIR?  1: it is, with a value that is taken;
 * 0: another; -1: why has the sentence.  value is NULL where the command line ends. */
int host_option(HostOpts *o, const char *name, const char *value, char *why);
/* A whole number of `least` to `most`, and nothing behind it. */
bool host_int(const char *text, int64_t least, int64_t most, int64_t *out);

/* ---- tensors.c */

/* All numbers of a tensor of a file as ones of `type`, to be freed, t->bytes then being theirs; NULL: it has
 * none, or memory is out. */
void *host_numbers(const hexc_file *f, const char *name, const char *type, hexc_file_tensor *t, char *why);
/* `bytes` bytes of device memory, zeros (from NULL) or a copy, which live as long as the GPU.  NULL: why. */
void *host_upload(hexc_gpu *gpu, const char *name, const void *from, uint64_t bytes, char *why);
/* An operator for the GPU, to be freed by hexc_op_free.  NULL: why. */
hexc_op *host_op(hexc_gpu *gpu, hexc_cache *cache, const char *name, const hexc_op_set *set, size_t n,
                 char *why);

/* ---- text.c */

/* The code point at *s, which moves behind it; 0xFFFD: a byte that is no UTF-8. */
uint32_t host_char(const char **s);
#endif
