/* interp.h - the tile interpreter: the meaning of a kernel, on whole tiles, with no layouts.
 *
 * Runs the IR as it is after any pass: straight from the front end, with explicit multi-buffering, with
 * layouts and instructions chosen (both are ignored; a convert is the identity).
 *
 * Arithmetic.  Every op computes in double (integers: two's complement of 64 bits) and rounds its result
 * once to its element type, to nearest even, subnormals kept (integers wrap).  dot adds all products of its
 * k and the accumulator in double and rounds once to the accumulator's type; reduce_sum likewise.  exp,
 * exp2, log, tanh, rsqrt round libm's double result.  min and max prefer the number to a NaN.
 * Division of an integer by 0 gives -1 (all ones), its remainder the dividend; shifts by the width or
 * more give 0 (shr of a negative number: -1).
 *
 * Blocks run one after the other, or on several threads side by side.  A block that polls memory which the
 * kernel writes, in a loop that ends early, lets others go on: all blocks then run on one thread, in turns.
 * When all blocks that are left poll, and none of them changes what it finds, that is a fault: a deadlock.
 *
 * Memory.  Elements outside a tensor read as 0 and stores to them are dropped.  Shared memory is a set of
 * whole tiles; reading an element that nothing wrote is a fault, unless `uninit` allows it. */
#ifndef HEXC_INTERP_H
#define HEXC_INTERP_H
#include "hexc/ir/ir.h"
#include "taskmap/support/thread_pool.h"

enum { INTERP_PRINT_MAX = 1 << 20 };

/* One launch argument; Kernel.param[i] says which fields count. */
typedef struct InterpArg {
	void *data;    /* P_tensor: elements in the storage format of dtype_value.h */
	int64_t count; /* P_tensor: how many elements `data` holds */
	int64_t i;     /* P_size, and P_scalar of integer type or bool */
	double f;      /* P_scalar of float type; rounded to it */
} InterpArg;

typedef enum InterpCode {
	INTERP_OK,
	INTERP_E_ARG,   /* the arguments break what the kernel assumes, or a buffer is too small */
	INTERP_E_FAULT, /* the program did what no program may do: see the diagnostic */
	INTERP_E_LIMIT, /* max_ops is spent, or the unit's cancel() said stop */
	INTERP_E_NOMEM,
} InterpCode;

typedef struct InterpOpt {
	Workers workers;  /* who runs blocks */
	bool late;        /* async copies land as late as their waits allow; else, and with `races`, now */
	bool races;       /* report accesses to memory that lack a barrier between them, shared memory by
	                     tile, or by byte where pass allocate_smem has placed the tiles; each block by itself */
	bool order;       /* only what orders accesses counts: tiles of floats and of narrow elements that ops
	                     make in registers are left as they are */
	bool uninit;      /* reads of shared memory that nothing wrote give NaN or 0, not a fault */
	int64_t blocks;   /* launched of a persistent kernel, at most; 0: as many as the grid has */
	uint64_t noise;   /* more than 0: the number of a run whose roundings are random (noise.c) */
	double noise_times; /* how many times as much as a right execution's */
	uint64_t max_ops; /* ops executed by one thread; 0: no limit */
	/* What the kernel prints, in pieces, block after block, in each in the order of the program; from the
	 * thread that called.  NULL: it is dropped.  After INTERP_PRINT_MAX bytes nothing more comes. */
	void (*print)(void *user, const char *text, size_t n);
	/* Each scalar or register tile that an op makes, and each that a store writes, as they come:
	 * elements in row-major order, floats in f, others in i.  Blocks then run one after the other.
	 * NULL: nobody asks. */
	void (*value)(void *user, const Op *o, int64_t block, const Type *type, int64_t n, const double *f,
	              const int64_t *i);
	void *user;
} InterpOpt;

/* Run all blocks of the grid.  arg[i] is parameter i, narg must be k->nparam.  `opt` may be NULL.
 * Errors are in the unit's diag.  Stores of blocks that ran before a fault stay. */
InterpCode interp_run(Kernel *k, const InterpArg *arg, int narg, const InterpOpt *opt);

/* The sentence for a run that ended because the arena got no memory: its limit, or the system's. */
const char *interp_no_memory(const Arena *a);
#endif
