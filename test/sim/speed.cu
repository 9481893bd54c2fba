// A tiled product in CUDA C for test_speed.c: what nvcc makes of loops over shared memory.
extern "C" __global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n)
{
	__shared__ float sa[32][33], sb[32][33];
	int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32, col = blockIdx.x * 32;
	float acc[4] = { 0, 0, 0, 0 };

	for (int k = 0; k < n; k += 32) {
		for (int i = 0; i < 4; i++) {
			sa[y + 8 * i][x] = a[(row + y + 8 * i) * n + k + x];
			sb[y + 8 * i][x] = b[(k + y + 8 * i) * n + col + x];
		}
		__syncthreads();
		for (int p = 0; p < 32; p++)
			for (int i = 0; i < 4; i++)
				acc[i] += sa[y + 8 * i][p] * sb[p][x];
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		c[(row + y + 8 * i) * n + col + x] = acc[i];
}
