/* npy.h - declares NumPy's .npy format, versions 1 to 3, little-endian, C order. It is independent of the
 * CLI. */
#ifndef HEXC_CLI_NPY_H
#define HEXC_CLI_NPY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPY_RANK_MAX = 32, NPY_HEADER_MAX = 1024 };

typedef struct Npy {
	char kind;         /* 'f' float, 'i' signed, 'u' unsigned, 'b' bool */
	int size;          /* bytes per element: 1, 2, 4, 8 */
	int rank;
	int64_t shape[NPY_RANK_MAX];
	int64_t count;     /* elements */
	const unsigned char *data; /* count * size bytes inside the file's bytes; unaligned */
} Npy;

/* Parses the n bytes of a file. Returns false with the error and its fix in why[0..nwhy). */
bool npy_parse(Npy *out, const void *file, size_t n, char *why, size_t nwhy);
/* Writes the header for such data to out[0..NPY_HEADER_MAX); returns its bytes. rank <= 8. */
size_t npy_header(char *out, char kind, int size, int rank, const int64_t *shape);
#endif
