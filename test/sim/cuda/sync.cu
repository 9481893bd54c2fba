// sync.cu - threads that wait for each other: warps, barriers, atomics, locks, queues.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <stdint.h>
namespace cg = cooperative_groups;
#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

// Votes, matches, shuffles of all kinds.
KERNEL votes(const int *in, unsigned *out)
{
	int v = in[threadIdx.x], n = blockDim.x, t = threadIdx.x, pred;
	out[t] = __ballot_sync(ALL, v & 1);
	out[n + t] = __any_sync(ALL, v > 95) * 2 + __all_sync(ALL, v >= 0);
	out[2 * n + t] = __match_any_sync(ALL, v % 5);
	out[3 * n + t] = __match_all_sync(ALL, v < 1000, &pred) + pred;
	out[4 * n + t] = __shfl_sync(ALL, v, v & 31);
	out[5 * n + t] = __shfl_up_sync(ALL, v, 3, 8);
	out[6 * n + t] = __shfl_down_sync(ALL, v, 5, 16);
	out[7 * n + t] = __shfl_xor_sync(ALL, v, 9);
	if (v & 2) {
		unsigned m = __activemask();
		out[8 * n + t] = __shfl_sync(m, v, __ffs(m) - 1) + __popc(m);
	} else {
		out[8 * n + t] = __ballot_sync(__match_any_sync(__activemask(), v & 1), v & 4);
	}
	out[9 * n + t] = (unsigned)(__shfl_sync(ALL, (long long)v << 33 | v, 31 - (t & 31)) >> 32);
}

#if __CUDA_ARCH__ >= 800
KERNEL warp_reduce(const int *in, int *out)
{
	int v = in[threadIdx.x], n = blockDim.x, t = threadIdx.x;
	unsigned half = t & 16 ? 0xffff0000u : 0xffffu;
	out[t] = __reduce_add_sync(ALL, v);
	out[n + t] = __reduce_min_sync(half, v);
	out[2 * n + t] = __reduce_max_sync(half, (unsigned)v);
	out[3 * n + t] = __reduce_and_sync(ALL, (unsigned)v | 3);
	out[4 * n + t] = __reduce_or_sync(half, (unsigned)v & 0xf0f0);
	out[5 * n + t] = __reduce_xor_sync(ALL, (unsigned)v);
}
#endif

// Coalesced groups inside of a branch, labelled partitions.
KERNEL partitions(const int *in, int *out, int *sums)
{
	cg::thread_block block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	int i = block.thread_rank(), v = in[i];
	out[i] = -1;
	if (v % 3) {
		cg::coalesced_group g = cg::coalesced_threads();
		int rank = g.thread_rank(), size = g.size();
		int first = g.shfl(v, 0);
		out[i] = rank * 1000 + size * 10000 + first % 1000;
	}
	warp.sync();
	auto same = cg::labeled_partition(warp, v % 4);
	int sum = 0;
	for (unsigned k = 0; k < same.size(); k++)
		sum += same.shfl(v, k);
	sums[i] = sum;
}

// One atomic for all lanes that meet.
KERNEL warp_aggregated(const int *in, int *count, int *slot, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && in[i] > 0) {
		unsigned active = __activemask(), lane = threadIdx.x & 31;
		int leader = __ffs(active) - 1, base = 0;
		if (lane == leader)
			base = atomicAdd(count, __popc(active));
		base = __shfl_sync(active, base, leader);
		slot[base + __popc(active & ((1u << lane) - 1))] = i;
	}
}

// Producers and consumers with named barriers: two warps fill what two others take.
__device__ __forceinline__ void named_sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ __forceinline__ void named_arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
KERNEL named_barriers(const int *in, int *out, int rounds)
{
	__shared__ int buffer[2][64];
	int t = threadIdx.x;
	if (t < 64) {
		for (int k = 0; k < rounds; k++) {
			if (k >= 2)
				named_sync(3 + k % 2, 128);
			buffer[k % 2][t] = in[k * 64 + t] * 3;
			named_arrive(1 + k % 2, 128);
		}
	} else {
		int sum = 0;
		t -= 64;
		for (int k = 0; k < rounds; k++) {
			named_sync(1 + k % 2, 128);
			sum += buffer[k % 2][(t + 32 + k) % 64];
			if (k + 2 < rounds)
				named_arrive(3 + k % 2, 128);
		}
		out[t] = sum;
	}
}

KERNEL block_votes(const int *in, int *out)
{
	int t = threadIdx.x, v = in[t];
	out[t] = __syncthreads_count(v % 7 == 0) * 4 + (__syncthreads_or(v > 990) ? 2 : 0) + (__syncthreads_and(v >= 0) ? 1 : 0);
}

// Every atomic of every type, in shared and global memory; what each leaves depends on no order.
template <typename T> __device__ void all_atomics(T *a, T v)
{
	atomicAdd(a + 0, v);
	atomicMin(a + 1, v);
	atomicMax(a + 2, v);
	atomicAnd(a + 3, v | 1);
	atomicOr(a + 4, v);
	atomicXor(a + 5, v);
	atomicCAS(a + 6, (T)0, (T)77);
	atomicExch(a + 7, (T)5);
}
KERNEL atomics(const int *in, int *i32, unsigned *u32, unsigned long long *u64, long long *s64, float *f32, double *f64, unsigned *wrap)
{
	__shared__ int si[8];
	int t = threadIdx.x, v = in[blockIdx.x * blockDim.x + t];
	if (t < 8)
		si[t] = i32[t];
	__syncthreads();
	all_atomics(si, v);
	all_atomics(u32, (unsigned)v);
	all_atomics(u64, (unsigned long long)(long long)v);
	atomicMin(s64, (long long)v << 20);
	atomicMax(s64 + 1, (long long)v << 20);
	atomicAdd(f32, (float)(v & 255));
	atomicAdd(f64, (double)v);
	atomicAdd_system(u32 + 8, 1u);
	atomicSub_block(u32 + 9 + blockIdx.x, 2u);
	atomicInc(wrap, 10);
	atomicDec(wrap + 1, 6);
	__syncthreads();
	if (t < 8 && blockIdx.x == 0)
		i32[8 + t] = si[t];
}

// Compare-and-swap loops: the largest float, and a product.
KERNEL cas_loops(const float *in, float *largest, unsigned long long *product)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = in[i];
	int old = *(volatile int *)largest;
	while (__int_as_float(old) < v) {
		int seen = atomicCAS((int *)largest, old, __float_as_int(v));
		if (seen == old)
			break;
		old = seen;
	}
	unsigned long long was = *(volatile unsigned long long *)product, got;
	do {
		got = was;
		was = atomicCAS(product, got, got * (2 * i + 3));
	} while (was != got);
}

// A lock that one lane after the other takes, and a spin on another block's flag.
__device__ int lock_word;
__device__ volatile int flag_word;
KERNEL locks(int *counter)
{
	for (int k = 0; k < 2; k++) {
		bool taken = false;
		while (!taken) {
			if (atomicCAS(&lock_word, 0, 1) == 0) {
				__threadfence();
				*counter += 1;
				__threadfence();
				atomicExch(&lock_word, 0);
				taken = true;
			}
		}
	}
	if (threadIdx.x == 0) {
		if (blockIdx.x == gridDim.x - 1) {
			__threadfence();
			flag_word = 1;
		} else {
			while (!flag_word)
				;
			__threadfence();
		}
	}
}

// libcu++ atomics: release and acquire from block to block, a ring that passes a message on.
__device__ cuda::atomic<int, cuda::thread_scope_device> turn;
__device__ int message[16];
KERNEL ring(int *out)
{
	int b = blockIdx.x;
	if (threadIdx.x == 0) {
		while (turn.load(cuda::memory_order_acquire) != b)
			__nanosleep(20);
		int v = b ? message[b - 1] : 1;
		message[b] = v * 3 + b;
		out[b] = v;
		turn.store(b + 1, cuda::memory_order_release);
	}
}

// A ticket lock inside of a block, with atomics of block scope.
KERNEL ticket_lock(int *out)
{
	__shared__ cuda::atomic<unsigned, cuda::thread_scope_block> next, serving;
	__shared__ int value;
	int t = threadIdx.x;
	if (t == 0) {
		next = 0;
		serving = 0;
		value = 0;
	}
	__syncthreads();
	if (t % 32 == 0) {
		unsigned mine = next.fetch_add(1, cuda::memory_order_relaxed);
		while (serving.load(cuda::memory_order_acquire) != mine)
			;
		value = value * 2 + 1;
		serving.store(mine + 1, cuda::memory_order_release);
	}
	__syncthreads();
	if (t == 0)
		*out = value;
}

// Blocks that stay, and take work from a queue which grows while they work.
struct Queue { int head, tail, pending; };
KERNEL persistent_queue(Queue *q, int *items, int *results, int *sum)
{
	__shared__ int item, index;
	for (;;) {
		if (threadIdx.x == 0) {
			item = -2;
			index = -1;
			int h = atomicAdd(&q->head, 0);
			if (h < atomicAdd(&q->tail, 0) && atomicCAS(&q->head, h, h + 1) == h) {
				while ((item = ((volatile int *)items)[h]) < 0)
					;
				index = h;
			} else if (atomicAdd(&q->pending, 0) == 0) {
				item = -1;
			}
			__threadfence();
		}
		__syncthreads();
		int v = item, at = index;
		__syncthreads();
		if (v == -1)
			return;
		if (v < 0)
			continue;
		if (threadIdx.x == 0) {
			results[at] = v;
			atomicAdd(sum, v);
			for (int half = v / 2; half > 3; half = 0) {
				atomicAdd(&q->pending, 2);
				int t = atomicAdd(&q->tail, 2);
				((volatile int *)items)[t] = half;
				((volatile int *)items)[t + 1] = v - half;
			}
			__threadfence();
			atomicSub(&q->pending, 1);
		}
	}
}

// A barrier of all blocks, built from a counter.
__device__ unsigned arrived;
KERNEL grid_barrier(int *data, int n, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	for (int k = 0; k < rounds; k++) {
		int v = data[k * n + (i + 1) % n] + data[k * n + (i + n - 1) % n];
		data[(k + 1) * n + i] = v;
		__syncthreads();
		if (threadIdx.x == 0) {
			__threadfence();
			atomicAdd(&arrived, 1);
			while (atomicAdd(&arrived, 0) < (k + 1) * gridDim.x)
				;
			__threadfence();
		}
		__syncthreads();
	}
}

// Exchange through shared memory inside of a warp, with and without all its lanes.
KERNEL syncwarp_exchange(const int *in, int *out)
{
	__shared__ int s[128];
	int t = threadIdx.x, lane = t & 31;
	s[t] = in[t];
	__syncwarp();
	int v = s[t ^ 1] + s[t ^ 31];
	__syncwarp();
	if (lane < 8) {
		s[t] = v * 2;
		__syncwarp(0xff);
		v += s[t ^ 7];
	}
	__syncwarp();
	s[t] = v;
	__syncwarp();
	out[t] = s[(t & ~31) | (lane * 5 & 31)];
}

// Tiles of two warps: from sm_80 on their scratch is the system's shared memory.
KERNEL wide_tiles(const int *in, int *sum, int *ranks)
{
	__shared__ cg::block_tile_memory<256> scratch;
	auto block = cg::this_thread_block(scratch);
	auto tile = cg::tiled_partition<64>(block);
	int i = block.thread_rank();
	sum[i] = cg::reduce(tile, in[i], cg::plus<int>());
	int next = tile.shfl(in[i], 37);        // the same source for all: the tile is wider than a warp
	tile.sync();
	ranks[i] = tile.meta_group_rank() * 1000000 + next * 100 + tile.thread_rank();
}

// cuda::barrier in halves over several phases, a thread that drops out, and a latch at the end.
KERNEL barrier_phases(const int *in, int *out, int rounds)
{
	using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ barrier bar;
	using latch = cuda::latch<cuda::thread_scope_block>;
	__shared__ __align__(16) char room[sizeof(latch)];
	latch &finished = *(latch *)room;
	__shared__ int box[2][96], last;
	int t = threadIdx.x, v = in[t];
	if (t == 0) {
		init(&bar, 96);
		new (room) latch(96);
		last = 0;
	}
	__syncthreads();
	for (int k = 0; k < rounds; k++) {
		box[k % 2][t] = v;
		barrier::arrival_token token = bar.arrive();
		v = v * 5 + k;
		bar.wait(std::move(token));
		v += box[k % 2][(t + 32 + k) % 96];
	}
	if (t == 95) {
		last = v;
		bar.arrive_and_drop();
	} else {
		bar.arrive_and_wait();
	}
	finished.arrive_and_wait();
	out[t] = v + last;
}

// Loads and stores with cache hints, and prefetches.
KERNEL cache_hints(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i));
	float v = __ldg(in + i) + __ldcg(in + (i + 1) % n) + __ldcs(in + (i + 2) % n) + __ldca(in + (i + 3) % n) + __ldlu(in + (i + 4) % n);
	__stcg(out + i, v);
	__stcs(out + n + i, v * 2);
	__stwt(out + 2 * n + i, -v);
	__stwb(out + 3 * n + i, __ldcv(in + i));
}
