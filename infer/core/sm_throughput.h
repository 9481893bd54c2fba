/* sm_throughput.h - what an SM of a target does in a clock, and how long it waits: the cost model's constants. */
#ifndef HEXC_SM_THROUGHPUT_H
#define HEXC_SM_THROUGHPUT_H
#include "infer/core/instr.h"
#include "infer/core/cost_constants.h"

typedef struct Rates {
	int sm;
	const char *gpu; /* that the numbers of whole GPUs are of */
	int sms, mhz, dram; /* multiprocessors; clock; GB/s (10^9) */
	int l2; /* bytes a clock from L2, all SMs together */
	int f32, i32, f16, f64, mufu, cvt; /* lanes a clock */
	/* multiply-accumulates a clock; 0: none */
	int mma_f16, mma_tf32, mma_i8, mma_i4, mma_f8, mma_f4, mma_f64;
	double sync; /* share of these that mma.sync reaches */
	int shared_wait, l2_wait, dram_wait; /* clocks from a load to its data */
} Rates;

/* Of a target that the table lacks: the newest older one. */
const Rates *rates_of(const Target *t);
/* Clocks that all tensor cores of an SM together take for one warp's instance. */
double mma_clocks(const Rates *r, const Instr *in);
/* Multiply-accumulates a clock of an SM by wgmma. */
double wgmma_rate(const Rates *r, DType a);
/* Bytes a clock and SM from L2, from DRAM. */
double l2_bytes(const Rates *r);
double dram_bytes(const Rates *r);
/* Clocks of one warp instruction of arithmetic on elements of this type, by the SM's lanes for it. */
double alu_clocks(const Rates *r, DType d);
#endif
