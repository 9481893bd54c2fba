"""A typical GEMM in Triton: A [M, K] times the transpose of B [N, K], f16 with f32 accumulation, autotuned over
a few tile sizes. Imported only if Triton is installed."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}, num_warps=w, num_stages=s)
           for bm, bn, bk, w, s in ((16, 64, 128, 4, 4), (16, 128, 64, 4, 5), (64, 128, 64, 4, 4), (128, 128, 64, 4, 3),
                                    (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3))]


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])  # type: ignore[untyped-decorator]
@triton.jit  # type: ignore[untyped-decorator]
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):  # type: ignore[no-untyped-def]
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * cols) * GROUP
    high = min(rows - first, GROUP)
    m = (first + pid % (GROUP * cols) % high) * BM + tl.arange(0, BM)
    n = (pid % (GROUP * cols) // high) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + (m % M)[:, None] * K + k[None, :]
    pb = b + (n % N)[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        left = K - i * BK
        acc = tl.dot(tl.load(pa, mask=k[None, :] < left, other=0.0), tl.load(pb, mask=k[:, None] < left, other=0.0), acc)
        pa += BK
        pb += BK
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])


def gemm(a: Any, b: Any) -> Any:
    """Tensors on the GPU."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=torch.float16, device=a.device)
    kernel[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](a, b, c, m, n, k)
    return c
