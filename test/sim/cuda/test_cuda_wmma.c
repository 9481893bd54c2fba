/* test_cuda_wmma.c - tests nvcuda::wmma, whose fragment layout is chosen by the simulator. */
#include "test/sim/cuda/product.h"

static void
wmma_f16(Run *r)
{
	product(r, (Product){ 0, 1, 2, 32, 32, 48, 48, 1, 48, 1, 0.5, 0, false, NULL, NULL });
}

static void
wmma_shapes(Run *r)
{
	product(r, (Product){ 0, 1, 2, 32, 8, 16, 1, 32, 1, 8, 1, 1, true, NULL, NULL });
	product(r, (Product){ 3, 4, 5, 8, 32, 16, 16, 1, 16, 1, 1, 7, true, byte, byte });
}

static void
wmma_ampere(Run *r)
{
	product(r, (Product){ 0, 1, 2, 16, 16, 16, 16, 1, 1, 16, 1, 0, false, NULL, NULL });
	product(r, (Product){ 3, 4, 5, 16, 16, 8, 8, 1, 8, 1, 1, 0, false, tf32, tf32 });
	for (unsigned i = 0; i < 8; i++)
		for (unsigned j = 0; j < 8; j++) {
			double v = 0;
			for (unsigned k = 0; k < 4; k++)
				v += before(r, 6, i * 4 + k) * before(r, 7, j * 4 + k);
			near(r, 8, i * 8 + j, v, 4 * 4 * 0x1p-53);
		}
}

static const Case cases[] = {
	K1(wmma_f16, 75, 2, 64, "<h1536 <h1536 >f1024 =i32 =i48"),
	KX(wmma_shapes, 75, 1, 32, "<h512:-4,4 <h128:-4,4 >h256 <b128 <b512 >i256", whole_numbers, 0, 0),
	K1(wmma_ampere, 80, 1, 32, "<g256 <g256 >f256 <f128 <f128 >f256 <d32 <d32 >d64"),
};

static const Variant variants[] = { { 80, "-G" }, { 90, "-Xcicc -O0" } };

CUDA_PROGRAM("wmma.cu", 75);
