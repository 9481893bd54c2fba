"""A typical selective scan in Triton: a block of channels with their states in registers, one time step after
the other. Imported only if Triton is installed."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def scan_kernel(x, dt, a, b, c, skip, z, bias, y, T, C, N: tl.constexpr, BC: tl.constexpr):  # type: ignore[no-untyped-def]
    ch, st = tl.program_id(0) * BC + tl.arange(0, BC), tl.arange(0, N)
    here = ch < C
    rate = tl.load(a + ch[:, None] * N + st[None, :], mask=here[:, None], other=0.0) * 1.4426950408889634
    own, shift = tl.load(skip + ch, mask=here, other=0.0), tl.load(bias + ch, mask=here, other=0.0)
    h = tl.zeros((BC, N), tl.float32)
    for t in range(0, T):
        xs = tl.load(x + t * C + ch, mask=here, other=0.0).to(tl.float32)
        zs = tl.load(z + t * C + ch, mask=here, other=0.0).to(tl.float32)
        step = tl.load(dt + t * C + ch, mask=here, other=0.0).to(tl.float32) + shift
        step = tl.where(step > 20.0, step, tl.log(1.0 + tl.exp(step)))
        bs = tl.load(b + t * N + st).to(tl.float32)
        cs = tl.load(c + t * N + st).to(tl.float32)
        h = h * tl.exp2(step[:, None] * rate) + (step * xs)[:, None] * bs[None, :]
        out = tl.sum(h * cs[None, :], 1) + own * xs
        tl.store(y + t * C + ch, (out * zs / (1.0 + tl.exp(-zs))).to(tl.float16), mask=here)


def selective_scan(x: Any, dt: Any, a: Any, b: Any, c: Any, skip: Any, z: Any, bias: Any, y: Any) -> Any:
    """Tensors on the GPU: [T, C], and A [C, N], B and C [T, N]; y is written."""
    (steps, channels), states = x.shape, a.shape[1]
    scan_kernel[(triton.cdiv(channels, 32),)](x, dt, a, b, c, skip, z, bias, y, steps, channels, states, 32, num_warps=2)
    return y
