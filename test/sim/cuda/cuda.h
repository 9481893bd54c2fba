/* cuda.h - CUDA C kernels, compiled by nvcc when the test runs, checked by plain C.
 *
 * A test program is a .cu file in test/sim/cuda/, a table of Cases and a check function for each. On every
 * target a case names, its kernel runs with all checks and counts on. It must run without a fault (the
 * kernels are correct, so a fault is a false positive). Its check function must compare every element of
 * every output with a value it computes by itself, in double or exact integers.
 */
#ifndef SIMTEST_CUDA_H
#define SIMTEST_CUDA_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include "test/sim/simtest.h"

enum { CUDA_ARGS = 12 };

/* A buffer or a scalar the kernel is given.  `in` is what it held before the launch, `out` after it. */
typedef union Data {
	void *any;
	uint8_t *b;
	uint16_t *w;
	int32_t *i;
	uint32_t *u;
	int64_t *l;
	uint64_t *q;
	float *f;
	double *d;
} Data;
typedef struct Arg {
	char role;              /* '<' input  '>' output  '+' both  '~' zeroed, not judged  '=' scalar */
	char type;              /* see Case.args */
	uint32_t n;             /* elements */
	Data in, out;
	uint8_t *judged;        /* for outputs: one flag an element */
	uint64_t addr;          /* on the device */
} Arg;

typedef struct Case Case;
typedef struct Run {
	const Case *c;
	int sm;                 /* 75, 80, 89, 90 */
	bool fast;              /* compiled with --use_fast_math */
	Arg a[CUDA_ARGS];
	unsigned nargs;
	sim *s;
	sim_module *m;
	sim_launch l;
	const sim_stats *st;    /* of the last launch */
	unsigned wrong;         /* elements so far */
	char *say;              /* the first few of them in words */
	size_t say_size;
} Run;

struct Case {
	const char *kernel;
	int from;               /* the oldest target that can run it */
	unsigned grid[3], block[3];     /* 0 means 1 */
	/* Arguments in order, with blanks between:
	 *   ROLE TYPE COUNT [:LOW,HIGH]    a buffer, e.g. "<f1000" or "<i64:0,9"; without a range, floats
	 *                                  are in -1..1 and integers anything; a single number is a constant
	 *   =TYPE VALUE                    a scalar, e.g. "=i1000"
	 *   =s COUNT                       a struct of so many bytes that `prepare` fills
	 * Types: b u8, w u16, i s32, u u32, l s64, q u64, h f16, g bf16, f f32, d f64. */
	const char *args;
	void (*check)(Run *);
	void (*prepare)(Run *);         /* changes inputs and the launch before the run, or NULL */
	unsigned smem;                  /* dynamic shared memory, bytes */
	unsigned cluster;               /* blocks along x; 0: none */
};
/* Rows: blocks and threads along x; along x and y; with all there is. */
#define K1(name, from, grid, block, args) KX(name, from, grid, block, args, NULL, 0, 0)
#define K2(name, from, gx, gy, bx, by, args) \
	{ #name, from, { gx, gy, 1 }, { bx, by, 1 }, args, name, NULL, 0, 0 }
#define KX(name, from, grid, block, args, prepare, smem, cluster) \
	{ #name, from, { grid, 1, 1 }, { block, 1, 1 }, args, name, prepare, smem, cluster }

/* One more way to compile the same file, besides the plain one for each target. */
typedef struct Variant {
	int sm;
	const char *flags;      /* "-G", "--use_fast_math" ... */
} Variant;

/* Judge element i of output a: exactly this integer, or within tol of want (NaN is near NaN only).
 * With a tol of 0 the sign of a zero counts too. */
void same(Run *r, unsigned a, size_t i, int64_t want);
void near(Run *r, unsigned a, size_t i, double want, double tol);
/* Element i of what argument a held before, or holds after, as a double. */
double before(const Run *r, unsigned a, size_t i);
double after(const Run *r, unsigned a, size_t i);
/* What a scalar argument was. */
int64_t scalar(const Run *r, unsigned a);
/* Put a value into element i of an input; rounded to the nearest that its type has. */
void put(Run *r, unsigned a, size_t i, double v);

/* Distance from |x| to the next larger number with p bits of significand (24: f32, 53: f64, 11: f16,
 * 8: bf16), not below the smallest subnormal of f32 (f64 for 53). */
double ulp(double x, int p);
/* Numbers of fewer bits: value of a pattern, and the nearest pattern (ties to even; overflow to Inf). */
double value_f16(uint16_t h);
uint16_t nearest_f16(double v);
double value_bf16(uint16_t h);
uint16_t nearest_bf16(double v);
/* A repeatable random word. */
uint32_t mix(uint64_t x);

/* Compile test/sim/cuda/FILE for sm_75, sm_80, sm_89 and sm_90a from `from` on, and each variant, for all
 * cases.  Arguments of the program: names of kernels and targets to restrict it to; with V in the environment
 * it prints times.  RUN_TESTS, or what to exit with; SKIPPED where there is no nvcc. */
int cuda_start(int argc, char **argv, const char *file, int from, const Case *cases, unsigned n,
               const Variant *variants, unsigned nvariants);
/* Of these there are so many, a case on a target each. */
int cuda_runs(void);
void cuda_run(int i);
#define CUDA_PROGRAM(file, from) \
	static int start(int argc, char **argv) \
	{ \
		return cuda_start(argc, argv, file, from, cases, sizeof cases / sizeof *cases, variants, \
		                  sizeof variants / sizeof *variants); \
	} \
	TEST_EACH(kernels, cuda_runs()) \
	{ \
		cuda_run(_i); \
	} \
	TEST_PROGRAM(.start = start, .timeout = 120)

/* util_nvcc.c: the PTX of test/sim/cuda/FILE, kept in the build folder by a hash of all it depends on.
 * `text` gets n texts, in the order of `targets`; false when nvcc refused one. */
bool nvcc_compile(const char *file, const Variant *targets, unsigned n, char **text);
const char *sm_name(int sm);
#endif
