/* interp.h - declares the reference interpreter of the tile IR, which executes kernels on whole tiles without
 * layouts.
 *
 * It runs the IR as it is after any pass: from the front end, with explicit multi-buffering, or with layouts
 * and instructions chosen. The latter are ignored; a layout conversion is the identity.
 *
 * Arithmetic. Every op computes in double (integers: 64-bit two's complement) and rounds its result once to
 * its element type: to nearest even, subnormals preserved (integers wrap). dot accumulates all products of
 * its k and the accumulator in double and rounds once to the accumulator's type; so does reduce_sum. exp,
 * exp2, log, tanh, rsqrt round libm's double result. min and max prefer the number to a NaN. Integer division
 * by 0 gives -1 (all ones), its remainder the dividend. Shifts by the width or more give 0 (shr of a negative
 * number: -1).
 *
 * Blocks run one after another, or on several threads concurrently. A block may poll memory that the kernel
 * writes, in a loop that ends early; all blocks then run on one thread, interleaved. If all remaining blocks
 * poll, and none of them changes the polled values, the interpreter reports a deadlock.
 *
 * Memory. Out-of-bounds elements of a tensor read as 0 and stores to them are dropped. Shared memory is a set
 * of tiles; reading an uninitialized element is an error, unless `uninit` permits it. */
#ifndef HEXC_INTERP_H
#define HEXC_INTERP_H
#include "hexc/ir/ir.h"
#include "taskmap/support/thread_pool.h"

enum { INTERP_PRINT_MAX = 1 << 20 };

/* One launch argument; Kernel.param[i] determines which fields are used. */
typedef struct InterpArg {
	void *data;    /* P_tensor: elements in the storage format of dtype_value.h */
	int64_t count; /* P_tensor: number of elements in `data` */
	int64_t i;     /* P_size, and P_scalar of integer type or bool */
	double f;      /* P_scalar of float type; rounded to it */
} InterpArg;

typedef enum InterpCode {
	INTERP_OK,
	INTERP_E_ARG,   /* the arguments violate the kernel's assumptions, or a buffer is too small */
	INTERP_E_FAULT, /* invalid operation of the program: see the diagnostic */
	INTERP_E_LIMIT, /* max_ops exceeded, or the unit's cancel() requested a stop */
	INTERP_E_NOMEM,
} InterpCode;

typedef struct InterpOpt {
	Workers workers;  /* threads that run blocks */
	bool late;        /* async copies land as late as waits permit; else, and with `races`, at once */
	bool races;       /* report hazards: accesses without a barrier in between. Shared memory is tracked
	                   * by tile, or by byte after pass allocate_smem; each block by itself */
	bool order;       /* only check ordering of accesses: register tiles of floats and narrow elements are
	                   * not computed */
	bool uninit;      /* uninitialized reads of shared memory give NaN or 0 instead of an error */
	int64_t blocks;   /* maximum blocks launched of a persistent kernel; 0: as many as the grid has */
	uint64_t noise;   /* > 0: number of a run with random roundings (noise.c) */
	double noise_times; /* factor on the error of a correct execution */
	uint64_t max_ops; /* ops executed per thread; 0: no limit */
	/* Receives printed output in pieces, block by block in program order, on the calling thread. NULL:
	 * output is dropped. After INTERP_PRINT_MAX bytes output stops. */
	void (*print)(void *user, const char *text, size_t n);
	/* Receives each scalar or register tile that an op computes or stores, in execution order: elements
	 * in row-major order, floats in f, others in i. Blocks then run one after another. NULL: no trace. */
	void (*value)(void *user, const Op *o, int64_t block, const Type *type, int64_t n, const double *f,
	              const int64_t *i);
	void *user;
} InterpOpt;

/* Runs all blocks of the grid. arg[i] is parameter i; narg must be k->nparam. `opt` may be NULL. Errors are
 * reported to the unit's diag. Stores of blocks that ran before an error persist. */
InterpCode interp_run(Kernel *k, const InterpArg *arg, int narg, const InterpOpt *opt);

/* Returns the message for a run that exhausted memory: the limit, or the system's. */
const char *interp_no_memory(const Arena *a);
#endif
