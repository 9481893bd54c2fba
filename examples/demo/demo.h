/* demo.h - internal declarations of the demo: an example with its data and expected result. */
#ifndef HEXC_DEMO_H
#define HEXC_DEMO_H
#include "lib/hexc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_TENSORS = 8, MAX_SIZES = 4 };
enum { ROWS = 256, COLS = 384 };  /* of the real activations; the weights are COLS x COLS */
enum { GROUP = 128, GROUPS = COLS / GROUP };

typedef enum Elt { F16, F32, U4 } Elt;

typedef struct Tensor {
	const char *name;
	Elt elt;
	size_t n;          /* elements */
	bool out;
	double *v;         /* values; of an `out` tensor the reference */
	double *allow;     /* out: how far a right result may be from v */
	uint8_t *mem;      /* as the kernel sees it */
	size_t bytes;
	uint64_t dev;
} Tensor;

typedef struct Named {
	const char *name;
	int64_t i;
	double f;
} Named;

typedef struct Case {
	const char *file;
	Tensor t[MAX_TENSORS];
	int nt;
	Named size[MAX_SIZES];
	int nsize;
} Case;

/* What a row of the table says. */
typedef struct Row {
	double ms, err, sectors;
	uint64_t conflicts;
	char inst[160], verdict[240];
	bool right;
} Row;

/* ---- data.c */
double to_half(double x);
/* Half of the distance of f16 numbers of this size: what rounding may change. */
double half_ulp(double x);
/* Zeroed memory, or the end of the program. */
void *need(size_t n, size_t size);
Tensor *add(Case *c, const char *name, Elt elt, size_t n, bool out);
void size(Case *c, const char *name, int64_t i);
void scalar(Case *c, const char *name, double f); /* of type f32 */
/* Values to memory, rounded to what it can hold. */
void store(Tensor *t);
double load(const Tensor *t, size_t i);
/* Repeatable values, roughly normal. */
void random_fill(Tensor *t, uint64_t seed);
/* Values of a .npy file of f16 in C order, or the end of the program. */
void read_npy(const char *file, Tensor *t);
void case_free(Case *c);

/* ---- cases.c */
typedef struct Example {
	const char *name; /* examples/NAME.hexc */
	void (*make)(Case *);
} Example;
extern const Example examples[]; /* ends with NULL */
void gemm_w4a16(Case *c);
/* What the kernel multiplies with, from codes, scales and zero points (NULL: 8); to be freed. */
double *dequantized(const Tensor *q, const Tensor *s, const Tensor *z);

/* ---- run.c */
/* Compile a source for an arch, four times; the median of the last three goes to the row.
 * NULL: see the row. */
hexc_module *compile(const char *arch, const char *file, const char *src, Row *row);
/* Run the first kernel on the simulator, with all its checks, and compare.  False: see the row. */
bool simulate(const hexc_module *m, Case *c, Row *row);

/* ---- layer.c */
/* A layer in ten formats, with the kernels of examples/gemm_schemes.hexc; returns how many are wrong. */
int layer_in_formats(const char *arch, const char *src);
#endif
