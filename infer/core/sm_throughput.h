/* sm_throughput.h - throughput per cycle and latencies of a target's SM, for the cost model. */
#ifndef HEXC_SM_THROUGHPUT_H
#define HEXC_SM_THROUGHPUT_H
#include "infer/core/instr.h"
#include "infer/core/cost_constants.h"

typedef struct Rates {
	int sm;
	const char *gpu; /* the GPU to which whole-GPU numbers refer */
	int sms, mhz, dram; /* SMs; clock rate, MHz; DRAM bandwidth, GB/s (10^9) */
	int l2; /* L2 bandwidth, bytes/cycle of all SMs together */
	int f32, i32, f16, f64, mufu, cvt; /* lanes per cycle */
	/* Dense multiply-accumulates per cycle; 0: no tensor cores. */
	int mma_f16, mma_tf32, mma_i8, mma_i4, mma_f8, mma_f4, mma_f64;
	double sync; /* fraction of these that mma.sync reaches */
	int shared_wait, l2_wait, dram_wait; /* cycles from a load to its data */
} Rates;

/* Returns the target's row; for a target without a row, that of the newest older one. */
const Rates *rates_of(const Target *t);
/* Cycles for which one warp's instance occupies all tensor cores of an SM. */
double mma_clocks(const Rates *r, const Instr *in);
/* Multiply-accumulates per cycle and SM by wgmma. */
double wgmma_rate(const Rates *r, DType a);
/* Bytes per cycle and SM from L2, from DRAM. */
double l2_bytes(const Rates *r);
double dram_bytes(const Rates *r);
/* Cycles of one warp instruction of arithmetic on this element type, given the SM's lanes for it. */
double alu_clocks(const Rates *r, DType d);
#endif
