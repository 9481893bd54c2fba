/* sm_throughput.c - looks up the throughput of a target's SM and derives cycles per instruction and bytes
 * per cycle from it. */
#include "infer/core/sm_throughput.h"

static const Rates table[] = {
#define RATES(cc, ...) { .sm = cc, __VA_ARGS__ },
#include "infer/core/sm_throughput.def"
};

const Rates *
rates_of(const Target *t)
{
	const Rates *best = &table[0];

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].sm <= t->sm)
			best = &table[i];
	return best;
}

/* Returns multiply-accumulates per cycle for dots of this type; types without tensor cores use CUDA cores. */
static int
mma_rate(const Rates *r, DType a)
{
	int rate = 0;

	switch ((DMma)dtype_info[a].mma) {
	case MMA_i4: rate = r->mma_i4; break;
	case MMA_f4: rate = r->mma_f4; break;
	case MMA_i8: rate = r->mma_i8; break;
	case MMA_f8: rate = r->mma_f8; break;
	case MMA_f16: rate = r->mma_f16; break;
	case MMA_tf32: rate = r->mma_tf32; break;
	case MMA_f64: rate = r->mma_f64; break;
	case MMA_none: break;
	}
	return rate ? rate : r->f32;
}

double
mma_clocks(const Rates *r, const Instr *in)
{
	double work = (double)in->m * in->n * in->k;

	if (in->kind == IK_mma_sp) /* zeros take no time (A100 whitepaper) */
		work /= 2;
	return work / (mma_rate(r, in->ta) * r->sync);
}

double
wgmma_rate(const Rates *r, DType a)
{
	return mma_rate(r, a);
}

double
l2_bytes(const Rates *r)
{
	return (double)r->l2 / r->sms;
}

double
dram_bytes(const Rates *r)
{
	return r->dram * 1e3 / r->mhz / r->sms;
}

double
alu_clocks(const Rates *r, DType d)
{
	int lanes = 0;

	switch ((DAlu)dtype_info[d].alu) {
	case ALU_i32: lanes = r->i32; break;
	case ALU_f16: lanes = r->f16; break;
	case ALU_f32: lanes = r->f32; break;
	case ALU_f64: lanes = r->f64; break;
	}
	return (double)WARP_SIZE / lanes;
}
