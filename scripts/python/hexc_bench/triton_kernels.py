"""Examples of hexc as typical Triton kernels, compiled for sm_80. The input has a kernel name per line;
the output has Triton's version, then per line the CPU seconds of this process, without ptxas. Run as a
program; no GPU is needed."""

from __future__ import annotations

import sys
import time
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit  # type: ignore[untyped-decorator]
def vector_add(a, b, c, n, B: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit  # type: ignore[untyped-decorator]
def softmax(x, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0) * n
    i = tl.arange(0, B)
    top = tl.full((B,), float("-inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    for at in range(0, n, B):
        v = tl.load(x + row + at + i, mask=at + i < n, other=float("-inf"))
        t = tl.maximum(top, v)
        total = total * tl.exp(top - t) + tl.exp(v - t)
        top = t
    most = tl.max(top, 0)
    whole = tl.sum(total * tl.exp(top - most), 0)
    for at in range(0, n, B):
        v = tl.load(x + row + at + i, mask=at + i < n, other=0.0)
        tl.store(y + row + at + i, tl.exp(v - most) / whole, mask=at + i < n)


@triton.jit  # type: ignore[untyped-decorator]
def gemm_f16(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # type: ignore[no-untyped-def]
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + n[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        left = K - at
        va = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        vb = tl.load(pb, mask=(n[None, :] < N) & (k[:, None] < left), other=0.0)
        acc = tl.dot(va, vb, acc)
        pa += BK
        pb += BK
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


# Pointers and sizes are multiples of 16, as at a launch; tiles, warps and stages are those of the examples.
KERNELS: dict[str, tuple[Any, str, dict[str, int], dict[str, int]]] = {
    "vector_add": (vector_add, "*fp32 *fp32 *fp32 i32", {"B": 1024}, {"num_warps": 4}),
    "softmax": (softmax, "*fp32 *fp32 i32", {"B": 256}, {"num_warps": 4}),
    "gemm_f16": (gemm_f16, "*fp16 *fp16 *fp16 i32 i32 i32", {"BM": 128, "BN": 128, "BK": 32}, {"num_warps": 4, "num_stages": 3}),
}


def seconds(name: str) -> float:
    """CPU time."""
    kernel, types, constants, options = KERNELS[name]
    signature = dict(zip(kernel.arg_names, types.split() + ["constexpr"] * len(constants), strict=True))
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(len(types.split()))}
    start = time.process_time()
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
    triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)
    return time.process_time() - start


if __name__ == "__main__":
    print(triton.__version__, flush=True)
    for word in sys.stdin:
        print(seconds(word.strip()), flush=True)
