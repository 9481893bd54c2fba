"""bench --host: compile times of the same kernels by hexc, Triton and nvcc, interleaved;
and the simulator's speed.

All compile from source to PTX for sm_80, without a cache. In a running process: hexc_compile of the library, and
triton.compile, without its ptxas process, after Python and the imports have started. As a process: `hexc
--emit-ptx` and `nvcc -ptx`, including their child processes. Each round compiles a kernel in all four ways. The
results are medians of rounds and of their ratios, in CPU time, which excludes the load of other users."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hexc_tune.compiler import Compiler

# The same kernels in CUDA C++: name of the example, source. The GEMM uses wmma.
CUDA = {
    "vector_add": """
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long n)
{
	long i = ((long)blockIdx.x * blockDim.x + threadIdx.x) * 4;
	if (i + 4 <= n) {
		float4 x = *(const float4 *)(a + i), y = *(const float4 *)(b + i);
		*(float4 *)(c + i) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
	} else for (; i < n; i++)
		c[i] = a[i] + b[i];
}""",
    "softmax": """
__device__ float all(float x, bool most)
{
	__shared__ float part[8];
	for (int d = 16; d; d /= 2) {
		float y = __shfl_xor_sync(~0u, x, d);
		x = most ? fmaxf(x, y) : x + y;
	}
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = x;
	__syncthreads();
	x = part[0];
	for (int i = 1; i < 8; i++)
		x = most ? fmaxf(x, part[i]) : x + part[i];
	return x;
}
extern "C" __global__ void __launch_bounds__(256) softmax(const float *x, float *y, long n)
{
	const float *row = x + blockIdx.x * n;
	float top = -INFINITY, total = 0;
	for (long i = threadIdx.x; i < n; i += 256)
		top = fmaxf(top, row[i]);
	top = all(top, true);
	for (long i = threadIdx.x; i < n; i += 256)
		total += expf(row[i] - top);
	total = all(total, false);
	for (long i = threadIdx.x; i < n; i += 256)
		y[blockIdx.x * n + i] = expf(row[i] - top) / total;
}""",
    "gemm_f16": """
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
using namespace nvcuda;
extern "C" __global__ void __launch_bounds__(128) gemm_f16(const half *a, const half *b, half *c, int m, int n, int k)
{
	__shared__ __align__(16) half sa[2][128][40], sb[2][128][40];
	int warp = threadIdx.x / 32, wm = warp / 2 * 64, wn = warp % 2 * 64, bm = blockIdx.x * 128, bn = blockIdx.y * 128;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4][4];
	wmma::fragment<wmma::accumulator, 16, 16, 16, half> out;
	for (int i = 0; i < 16; i++)
		wmma::fill_fragment(acc[i / 4][i % 4], 0.0f);
	auto fetch = [&](int s, int at) {
		for (int i = threadIdx.x; i < 512; i += 128) {
			__pipeline_memcpy_async(&sa[s][i / 4][i % 4 * 8], a + (size_t)(bm + i / 4) * k + at + i % 4 * 8, 16);
			__pipeline_memcpy_async(&sb[s][i / 4][i % 4 * 8], b + (size_t)(bn + i / 4) * k + at + i % 4 * 8, 16);
		}
		__pipeline_commit();
	};
	fetch(0, 0);
	for (int at = 0, s = 0; at < k; at += 32, s ^= 1) {
		if (at + 32 < k)
			fetch(s ^ 1, at + 32);
		__pipeline_wait_prior(at + 32 < k);
		__syncthreads();
		for (int kk = 0; kk < 32; kk += 16) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[4];
			wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb[4];
			for (int i = 0; i < 4; i++) {
				wmma::load_matrix_sync(fa[i], &sa[s][wm + i * 16][kk], 40);
				wmma::load_matrix_sync(fb[i], &sb[s][wn + i * 16][kk], 40);
			}
			for (int i = 0; i < 16; i++)
				wmma::mma_sync(acc[i / 4][i % 4], fa[i / 4], fb[i % 4], acc[i / 4][i % 4]);
		}
		__syncthreads();
	}
	for (int i = 0; i < 16; i++) {
		for (int e = 0; e < out.num_elements; e++)
			out.x[e] = __float2half(acc[i / 4][i % 4].x[e]);
		wmma::store_matrix_sync(c + (size_t)(bm + wm + i / 4 * 16) * n + bn + wn + i % 4 * 16, out, n, wmma::mem_row_major);
	}
}""",
}


class Triton:
    """A process that compiles kernels of triton_kernels.py, one for each input line."""

    def __init__(self, folder: str) -> None:
        settings = {**os.environ, "TRITON_CACHE_DIR": folder, "TRITON_ALWAYS_COMPILE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen([sys.executable, str(Path(__file__).with_name("triton_kernels.py"))], text=True, env=settings,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.version = self.answer()

    def answer(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def compile(self, name: str) -> float:
        """Seconds."""
        assert self.process.stdin
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return float(self.answer())

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def clocked(way: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    way()
    return clock() - start


def children() -> float:
    """CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: {' '.join(words)}: {done.stderr}")


def library(compiler: Compiler) -> Callable[[str], Any]:
    """hexc_compile, through the Python package."""
    os.environ.setdefault("HEXC_LIBRARY_DIR", os.path.dirname(os.path.abspath(compiler.path)))
    import hexc

    return lambda name: hexc.compile(Path(f"examples/{name}.hexc"), arch="sm_80")


def compiles(compiler: Compiler, repeat: int) -> dict[str, Any]:
    """Seconds of each kernel for each compiler, and ratios."""
    own, nvcc = library(compiler), shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        triton = Triton(folder)
        told = {"triton": triton.version or "not here", "nvcc": "not here"}
        if nvcc:
            version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
            told["nvcc"] = version.partition("release ")[2].partition(",")[0] or "of no release"
        print(f"\ncompiled to PTX for sm_80, milliseconds of a processor; Triton: {told['triton']}; nvcc: {told['nvcc']}\n")
        print("| kernel | hexc_compile | triton.compile | times | hexc | nvcc | times |")
        print("|---|---|---|---|---|---|---|")
        for name, text in CUDA.items():
            source, to = os.path.join(folder, name + ".cu"), os.path.join(folder, name + ".ptx")
            Path(source).write_text(text + "\n", encoding="utf-8")
            command = [compiler.path, "--emit-ptx", f"examples/{name}.hexc", "--arch", "sm_80", "-o", to]
            ways: dict[str, Callable[[], float]] = {"hexc_compile": partial(clocked, partial(own, name))}
            if triton.version:
                ways["triton.compile"] = partial(triton.compile, name)
            ways["hexc"] = partial(clocked, partial(run, command), children)
            if nvcc:
                ways["nvcc"] = partial(
                    clocked, partial(run, [nvcc, "-ptx", "-arch=sm_80", "-O3", source, "-o", to]), children)
            for way in ways.values():  # excludes one-time initialization
                way()
            turns = [{way: f() for way, f in ways.items()} for _ in range(repeat)]
            results.append(found := middle(name, turns))
            print(line(found), flush=True)
        triton.end()
    return {"beside": told, "kernels": results}


def middle(name: str, turns: list[dict[str, float]]) -> dict[str, Any]:
    """Medians of the times, and of the ratios within a round."""
    pairs = {"triton.compile": "hexc_compile", "nvcc": "hexc"}
    return {"kernel": name, "seconds": {way: statistics.median(t[way] for t in turns) for way in turns[0]},
            "times": {way: statistics.median(t[way] / t[by] for t in turns) for way, by in pairs.items() if way in turns[0]}}


def line(found: dict[str, Any]) -> str:
    ms = {way: f"{1000 * s:.1f}" for way, s in found["seconds"].items()}
    times = {way: f"{x:.1f}" for way, x in found["times"].items()}
    cells = [ms["hexc_compile"], ms.get("triton.compile", ""), times.get("triton.compile", ""), ms["hexc"], ms.get("nvcc", ""),
             times.get("nvcc", "")]
    return f"| {found['kernel']} | {' | '.join(cells)} |"


def simulator(compiler: Compiler, repeat: int, shrink: int) -> dict[str, Any]:
    """Simulated thread instructions per second of one CPU: of a GEMM, minus one of an eighth of its size."""
    import json

    side = max(128, 512 // shrink)
    seconds: dict[int, list[float]] = {side: [], 2 * side: []}
    count: dict[int, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        stats = os.path.join(folder, "stats.json")
        for _ in range(repeat):
            for n, found in seconds.items():
                words = [compiler.path, "run", "examples/gemm_f16.hexc", "--exec=sim", "--arch", "sm_80", "--stats", stats]
                found.append(clocked(partial(run, [*words, "--arg", f"A=random(1)[{n},{n}]", "--arg", f"B=random(2)[{n},{n}]"]), children))
                count[n] = json.loads(Path(stats).read_text(encoding="utf-8"))["thread_instructions"]
    took = {n: statistics.median(x) for n, x in seconds.items()}
    rate = (count[2 * side] - count[side]) / max(took[2 * side] - took[side], 1e-9)
    print(f"\nthe simulator: {rate / 1e6:.0f} million instructions of threads in a processor's second")
    return {"instructions": count[2 * side], "seconds": took[2 * side], "per_second": rate}
