// wmma.cu - tensor cores through nvcuda::wmma.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;
#define KERNEL extern "C" __global__ void

// A matrix product by wmma: a warp makes 16 x 16 of it.  A by rows, B by columns.
KERNEL wmma_f16(const __half *a, const __half *b, float *c, int n, int k)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	int w = threadIdx.x / 32, row = blockIdx.x * 16, col = w * 16;
	wmma::fill_fragment(fc, 0.0f);
	for (int p = 0; p < k; p += 16) {
		wmma::load_matrix_sync(fa, a + row * k + p, k);
		wmma::load_matrix_sync(fb, b + col * k + p, k);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	for (int i = 0; i < fc.num_elements; i++)
		fc.x[i] *= 0.5f;
	wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}

// Other shapes and types: f16 sums with m32n8, s8 with m8n32, through shared memory, stored by columns.
KERNEL wmma_shapes(const __half *a, const __half *b, __half *c, const int8_t *sa, const int8_t *sb, int *sc)
{
	__shared__ __align__(32) __half room[32 * 24];
	wmma::fragment<wmma::matrix_a, 32, 8, 16, __half, wmma::col_major> fa;
	wmma::fragment<wmma::matrix_b, 32, 8, 16, __half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 32, 8, 16, __half> fc;
	wmma::fill_fragment(fc, __float2half(1));
	wmma::load_matrix_sync(fa, a, 32);
	wmma::load_matrix_sync(fb, b, 8);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(room, fc, 40, wmma::mem_col_major);
	__syncwarp();
	for (int i = threadIdx.x; i < 256; i += 32)
		c[i] = room[i % 8 * 40 + i / 8];
	wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> ia;
	wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major> ib;
	wmma::fragment<wmma::accumulator, 8, 32, 16, int> ic;
	wmma::fill_fragment(ic, 7);
	wmma::load_matrix_sync(ia, (const signed char *)sa, 16);
	wmma::load_matrix_sync(ib, (const signed char *)sb, 16);
	wmma::mma_sync(ic, ia, ib, ic);
	wmma::store_matrix_sync(sc, ic, 32, wmma::mem_row_major);
}

#if __CUDA_ARCH__ >= 800
KERNEL wmma_ampere(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, const float *ta, const float *tb, float *tc,
                   const double *da, const double *db, double *dc)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	wmma::load_matrix_sync(fa, a, 16);
	wmma::load_matrix_sync(fb, b, 16);
	wmma::fill_fragment(fc, 0.0f);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
	wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> xa;
	wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> xb;
	wmma::fragment<wmma::accumulator, 16, 16, 8, float> xc;
	wmma::load_matrix_sync(xa, ta, 8);
	wmma::load_matrix_sync(xb, tb, 8);
	for (int i = 0; i < xa.num_elements; i++)
		xa.x[i] = wmma::__float_to_tf32(xa.x[i]);
	for (int i = 0; i < xb.num_elements; i++)
		xb.x[i] = wmma::__float_to_tf32(xb.x[i]);
	wmma::fill_fragment(xc, 0.0f);
	wmma::mma_sync(xc, xa, xb, xc);
	wmma::store_matrix_sync(tc, xc, 16, wmma::mem_row_major);
	wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> ya;
	wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> yb;
	wmma::fragment<wmma::accumulator, 8, 8, 4, double> yc;
	wmma::load_matrix_sync(ya, da, 4);
	wmma::load_matrix_sync(yb, db, 4);
	wmma::fill_fragment(yc, 0.0);
	wmma::mma_sync(yc, ya, yb, yc);
	wmma::store_matrix_sync(dc, yc, 8, wmma::mem_row_major);
}
#endif
