/* A bitonic network for 128 * PER floats of a row by 128 threads, as one writes it by hand: in registers, by shuffles
 * and through shared memory. run-sorting.sh compares the number of its instructions. */
enum { THREADS = 128 };

extern "C" __global__ void
bitonic(const float *x, float *y)
{
	__shared__ float all[THREADS * PER];
	float v[PER];
	int t = threadIdx.x, n = THREADS * PER;

#pragma unroll
	for (int i = 0; i < PER; i++)
		v[i] = x[blockIdx.x * n + t * PER + i];
#pragma unroll
	for (int size = 2; size <= THREADS * PER; size *= 2) {
#pragma unroll
		for (int d = size / 2; d > 0; d /= 2) {
			if (d < PER) {
#pragma unroll
				for (int i = 0; i < PER; i++) {
					bool rises = ((t * PER + i) & size) == 0;
					float low = fminf(v[i], v[i ^ d]), high = fmaxf(v[i], v[i ^ d]);

					if (i & d)
						continue;
					v[i] = rises ? low : high;
					v[i ^ d] = rises ? high : low;
				}
				continue;
			}
			if (d >= 32 * PER) {
				__syncthreads();
#pragma unroll
				for (int i = 0; i < PER; i++)
					all[i * THREADS + t] = v[i];
				__syncthreads();
			}
#pragma unroll
			for (int i = 0; i < PER; i++) {
				bool rises = ((t * PER + i) & size) == 0, first = ((t * PER + i) & d) == 0;
				float other = d < 32 * PER ? __shfl_xor_sync(~0u, v[i], d / PER)
				                           : all[i * THREADS + (t ^ (d / PER))];

				v[i] = rises == first ? fminf(v[i], other) : fmaxf(v[i], other);
			}
		}
	}
#pragma unroll
	for (int i = 0; i < PER; i++)
		y[blockIdx.x * n + t * PER + i] = v[i];
}
