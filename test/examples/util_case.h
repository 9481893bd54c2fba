/* util_case.h - an example's data and expected result, run on the simulator.
 *
 * References are written here from the operators' formulas, in double; of the compiler they use only the
 * conversion of single values (hexc_put, hexc_get). */
#ifndef UTIL_CASE_H
#define UTIL_CASE_H
#include "lib/hexc.h"
#include "taskmap/support/support.h"
#include "test/check.h"
#include <stdbool.h>
#include <stdint.h>

enum { BUF_MAX = 16, NUM_MAX = 12, DEF_MAX = 8 };

typedef struct Buf {
	const char *name;
	const hexc_dtype *type;
	int rank;
	int64_t dim[6], n;
	bool out;
	double *v; /* inputs: the values as stored.  Outputs: what is right */
	double *allow; /* outputs: how far from v a right result may be; < 0: anything */
	void *mem;
	void *before; /* inout: what is there before a launch; NULL: others */
	uint64_t bytes, dev;
} Buf;

typedef struct Case {
	Buf buf[BUF_MAX];
	int nbuf;
	struct {
		const char *name;
		double f;
	} num[NUM_MAX]; /* scalars, and sizes that no shape gives */
	int nnum;
	hexc_define def[DEF_MAX];
	int ndef;
	uint64_t seed;
	/* bytes of packed tiles that warps read from shared memory, each once; 0: nobody asks */
	uint64_t packed;
	int words; /* of each access: 1, 2 or 4 */
	bool scattered; /* shared memory is updated anywhere: bank conflicts are nobody's fault */
	uint32_t cluster[3]; /* as hexc_opts has it */
	const char *schedule; /* .. */
	const char *needs;   /* in lines of PTX without any one of which it is wrong; NULL: nobody asks */
	uint32_t clusters;   /* launched of a persistent kernel at most; 0: as the seed has it */
	uint32_t schedules;  /* other interleavings of the blocks in which it is run, too */
	struct sim *sim;
} Case;

/* All of these end the test on failure. */
void case_start(Case *c, uint64_t seed);
void case_end(Case *c);
/* An input of values lo..hi, evenly; of integer types whole ones.  dims end with 0. */
Buf *case_in(Case *c, const char *name, const char *type, double lo, double hi, ...);
/* An output: fill v and allow. */
Buf *case_out(Case *c, const char *name, const char *type, ...);
/* What a kernel reads and writes: values lo..hi, as an input has them; fill allow, and v anew with what is
 * right behind the launch. */
Buf *case_inout(Case *c, const char *name, const char *type, double lo, double hi, ...);
/* Set element i of an input. */
void buf_set(Buf *b, int64_t i, double x);
/* n numbers from element i on are none: NaN, and infinity where the type has one. */
void buf_spoil(Buf *b, int64_t i, int64_t n);
void case_num(Case *c, const char *name, double x);
void case_def(Case *c, const char *name, int64_t x);

/* Compile `kernel` of examples/FILE.hexc for arch (or the file's only one), run it on the simulator with all
 * checks, and compare its outputs.  Returns how many candidates there are. */
uint32_t case_run(Case *c, const char *file, const char *kernel, const char *arch, uint32_t candidate);

/* Sizes of one run; what they mean is the example's. */
typedef struct Size {
	int b, m, n, k, h, hk, d, x;
} Size;
/* Run an example of a size for arch with one candidate; *ncand: how many there are. */
typedef void ExampleFn(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand);
typedef struct Example {
	ExampleFn *fn;
	Size size[8];
	Size faults[3]; /* of planted faults, where each size is of another program; none: as above */
} Example;
/* Does this build's LLVM know the target? */
bool example_on(const char *arch);
/* All sizes with the best candidate, the targets in turn; some twenty-four candidates of one ragged size, the
 * best eight among them, for every target; without any one of the instructions that order its threads and
 * engines, the best candidate of each schedule is wrong, and the simulator says so.  No lines in loops may
 * have bank conflicts.  In the environment: FULL=1, all candidates of all sizes for every target; QUICK=1,
 * six candidates, and nothing is taken away. */
void example_sizes(const Example *e);
void example_candidates(const Example *e);
void example_faults(const Example *e);
#define EXAMPLES(list)                                                                             \
	TEST_EACH(sizes, COUNT_OF(list))                                                           \
	{                                                                                          \
		example_sizes(&(list)[_i]);                                                        \
	}                                                                                          \
	TEST_EACH(candidates, COUNT_OF(list))                                                      \
	{                                                                                          \
		example_candidates(&(list)[_i]);                                                   \
	}                                                                                          \
	TEST_EACH(faults, COUNT_OF(list))                                                        \
	{                                                                                          \
		example_faults(&(list)[_i]);                                                     \
	}                                                                                          \
	TEST_PROGRAM(.timeout = 3600)

/* Half the distance between neighbouring numbers of this type at x: a rounding's error.  0 for integers. */
double ulp2(const hexc_dtype *t, double x);
/* Unit roundoff of f32, f16. */
#define U32 0x1p-24
#define U16 0x1p-11
/* What sums that f32 tensor cores and f32 adders make of k terms may be off by, in any order, when the
 * magnitudes
 * add up to `mag`. */
double sum_error(double mag, int64_t k);
typedef struct Sum {
	double x, mag;
} Sum;
/* Of k elements of a from number ia on and of b from ib on. */
Sum sum_products(const Buf *a, int64_t ia, const Buf *b, int64_t ib, int64_t k);
/* Of row i of a[M, K] and row j of w[N, K], less `zero` and times scale[K / group, N]. */
Sum sum_scaled(const Buf *a, int i, const Buf *w, int j, double zero, const Buf *scale, int group);
/* Fills y with the softmax of each of m rows of n numbers of x, and with what it may be off by. */
void case_softmax(const Buf *x, Buf *y, int m, int n);
#endif
