"""The calls that peers.py times: for each operator the implementations in other libraries, by name.

``calls(torch, device, kind, size)`` has a factory for each: factory(i) creates the i-th set of inputs, normal
random data on the device, and returns a function without arguments that runs the operator on it. Preallocated
outputs are created with the inputs. A name before a dot is the required package.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

Call = Callable[[], Any]
Factory = Callable[[int], Call]

# those compiled at their first call
COMPILED = frozenset({"torch.compile", "triton", "triton.scan"})


class Maker:
    """Inputs on a device."""

    def __init__(self, torch: Any, device: str) -> None:
        self.t, self.device = torch, device

    def normal(self, *shape: int, dtype: str = "float16", scale: float = 1.0) -> Any:
        kind = getattr(self.t, dtype)
        if dtype.startswith("float8"):
            return (self.t.randn(*shape, device=self.device, dtype=self.t.float16) * scale).to(kind)
        return self.t.randn(*shape, device=self.device, dtype=kind) * scale

    def empty(self, *shape: int, dtype: str = "float16") -> Any:
        return self.t.empty(*shape, device=self.device, dtype=getattr(self.t, dtype))

    def below(self, most: int, *shape: int, dtype: str = "int64") -> Any:
        return self.t.randint(0, most, shape, device=self.device, dtype=getattr(self.t, dtype))


def calls(torch: Any, device: str, kind: str, size: list[Any]) -> dict[str, Factory]:
    """The implementations of an operator; KeyError if there is none of the name."""
    return KINDS[kind](Maker(torch, device), *size)


def compiled(m: Maker, body: Callable[..., Any], inputs: Callable[[], tuple[Any, ...]], eager: bool = True) -> dict[str, Factory]:
    """In PyTorch's eager mode, and by torch.compile: one compiled function for all sets."""
    found: dict[str, Factory] = {}

    def plain(i: int) -> Call:
        args = inputs()
        return lambda: body(*args)

    if eager:
        found["torch"] = plain
    if m.device == "cuda":
        fast = m.t.compile(body, dynamic=False)

        def quick(i: int) -> Call:
            args = inputs()
            return lambda: fast(*args)

        found["torch.compile"] = quick
    return found


# ---- GEMMs --------------------------------------------------------------------------------------------------------

def product(m: Maker, dtype: str, rows: int, n: int, k: int) -> Factory:
    """cuBLAS, with the weights in the models' layout: [n, k]."""
    kind = {"f16": "float16", "bf16": "bfloat16"}[dtype]

    def make(i: int) -> Call:
        a, b, c = m.normal(rows, k, dtype=kind), m.normal(n, k, dtype=kind), m.empty(rows, n, dtype=kind)
        bt = b.t()
        return lambda: m.t.mm(a, bt, out=c)

    return make


def matmul(m: Maker, *size: Any) -> dict[str, Factory]:
    if isinstance(size[0], str):
        return {"torch.cublas": product(m, *size)}
    rows, n, k = size
    found = {"torch": product(m, "f16", rows, n, k)}

    def tuned(i: int) -> Call:
        a, b = m.normal(rows, k), m.normal(n, k)
        return lambda: importlib.import_module("hexc_bench.triton_gemm").gemm(a, b)

    if m.device == "cuda":
        found["triton"] = tuned
    return found


def int4(m: Maker, rows: int, n: int, k: int, group: int) -> dict[str, Factory]:
    def packed(i: int) -> Call:
        a = m.normal(rows, k, dtype="bfloat16")
        w = m.t.ops.aten._convert_weight_to_int4pack(m.below(256, n, k // 2, dtype="uint8"), 8)
        s = m.normal(k // group, n, 2, dtype="bfloat16", scale=0.01)
        return lambda: m.t.ops.aten._weight_int4pack_mm(a, w, group, s)

    return {"torch.int4pack": packed, "torch.cublas_f16": product(m, "f16", rows, n, k)}


def scaled_mm(m: Maker, rows: int, n: int, k: int) -> dict[str, Factory]:
    """One scale per tensor, with and without reduced-precision accumulation, and one per row and column."""
    def make(each: bool, fast: bool) -> Factory:
        def one(i: int) -> Call:
            a, b = m.normal(rows, k, dtype="float8_e4m3fn"), m.normal(n, k, dtype="float8_e4m3fn").t()
            sa = m.t.ones(rows if each else 1, 1, device=m.device) if each else m.t.ones((), device=m.device)
            sb = m.t.ones(1, n, device=m.device) if each else m.t.ones((), device=m.device)
            return lambda: m.t._scaled_mm(a, b, scale_a=sa, scale_b=sb, out_dtype=m.t.bfloat16, use_fast_accum=fast)
        return one

    return {"torch.scaled_mm": make(False, False), "torch.scaled_mm_fast": make(False, True), "torch.scaled_mm_rows": make(True, True)}


def scaled_mm_blocks(m: Maker, rows: int, n: int, k: int) -> dict[str, Factory]:
    """A scale for 1 x 128 of A, contiguous along the rows, and for 128 x 128 of B."""
    def one(i: int) -> Call:
        a, b = m.normal(rows, k, dtype="float8_e4m3fn"), m.normal(n, k, dtype="float8_e4m3fn").t()
        sa = m.t.rand(k // 128, rows, device=m.device).t()
        pad = -(-(k // 128) // 4) * 4  # rows of scales of B are 16-byte aligned
        sb = m.t.rand(n // 128, pad, device=m.device)[:, : k // 128].t()
        return lambda: m.t._scaled_mm(a, b, scale_a=sa, scale_b=sb, out_dtype=m.t.bfloat16, use_fast_accum=True)

    def rows_only(i: int) -> Call:
        a, b = m.normal(rows, k, dtype="float8_e4m3fn"), m.normal(n, k, dtype="float8_e4m3fn").t()
        sa, sb = m.t.ones(rows, 1, device=m.device), m.t.ones(1, n, device=m.device)
        return lambda: m.t._scaled_mm(a, b, scale_a=sa, scale_b=sb, out_dtype=m.t.bfloat16, use_fast_accum=True)

    return {"torch.scaled_mm_blocks": one, "torch.scaled_mm_rows": rows_only}


def grouped(m: Maker, r: int, n: int, k: int, e: int) -> dict[str, Factory]:
    """Equal numbers of rows for each; bf16, PyTorch's only type for it."""
    def one(i: int) -> Call:
        a, b = m.normal(r, k, dtype="bfloat16"), m.normal(e, n, k, dtype="bfloat16").transpose(-2, -1)
        ends = (m.t.arange(1, e + 1, device=m.device) * r // e).to(m.t.int32)
        return lambda: m.t._grouped_mm(a, b, offs=ends)

    return {"torch.grouped_mm": one}


def moe(m: Maker, tokens: int, e: int, top: int, d: int, f: int) -> dict[str, Factory]:
    """The two grouped GEMMs of sorted rows, and the operation between them; without routing and final sums."""
    def one(i: int) -> Call:
        rows = tokens * top
        x = m.normal(rows, d, dtype="bfloat16")
        up, down = (m.normal(e, a, b, dtype="bfloat16", scale=b ** -0.5).transpose(-2, -1) for a, b in ((2 * f, d), (d, f)))
        ends = (m.t.arange(1, e + 1, device=m.device) * rows // e).to(m.t.int32)

        def run() -> Any:
            gate, value = m.t._grouped_mm(x, up, offs=ends).chunk(2, dim=-1)
            return m.t._grouped_mm(m.t.nn.functional.silu(gate) * value, down, offs=ends)
        return run

    return {"torch.grouped_mm": one}


def swiglu(m: Maker, rows: int, n: int, k: int) -> dict[str, Factory]:
    f = m.t.nn.functional
    return compiled(m, lambda a, g, u: f.silu(a @ g.T) * (a @ u.T), lambda: tuple(m.normal(r, k) for r in (rows, n, n)))


def gelu(m: Maker, rows: int, n: int, k: int) -> dict[str, Factory]:
    f = m.t.nn.functional
    return compiled(m, lambda a, b, bias, r: f.gelu(f.linear(a, b, bias), approximate="tanh") + r,
                    lambda: (m.normal(rows, k), m.normal(n, k), m.normal(n), m.normal(rows, n)))


# ---- attention -------------------------------------------------------------------------------------------------------

def _attend(m: Maker, q: Any, k: Any, v: Any, causal: bool, backend: str = "") -> Call:
    more = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
    run = m.t.nn.functional.scaled_dot_product_attention
    if not backend:
        return lambda: run(q, k, v, is_causal=causal, **more)
    attention = importlib.import_module("torch.nn.attention")

    def one() -> Any:
        with attention.sdpa_kernel(getattr(attention.SDPBackend, backend)):
            return run(q, k, v, is_causal=causal, **more)
    return one


def _backends(m: Maker, q: tuple[int, ...], kv: tuple[int, ...], causal: bool) -> dict[str, Factory]:
    def make(backend: str) -> Factory:
        return lambda i: _attend(m, m.normal(*q), m.normal(*kv), m.normal(*kv), causal, backend)

    if m.device != "cuda":
        return {"torch": make("")}
    return {"torch.flash": make("FLASH_ATTENTION"), "torch.cudnn": make("CUDNN_ATTENTION")}


def attention(m: Maker, b: int, n: int, h: int, hk: int, d: int, causal: int) -> dict[str, Factory]:
    found = _backends(m, (b, h, n, d), (b, hk, n, d), bool(causal))
    if m.device == "cuda":
        found["torch"] = lambda i: _attend(m, m.normal(b, h, n, d), m.normal(b, hk, n, d), m.normal(b, hk, n, d), bool(causal))

    def rows() -> tuple[Any, Any, Any]:
        return m.normal(b * n, h, d), m.normal(b * n, hk, d), m.normal(b * n, hk, d)

    def flashinfer(i: int) -> Call:
        q, k, v = rows()
        run = importlib.import_module("flashinfer").single_prefill_with_kv_cache
        return lambda: run(q, k, v, causal=bool(causal))

    def vllm(i: int) -> Call:
        q, k, v = rows()
        starts = m.t.arange(0, (b + 1) * n, n, dtype=m.t.int32, device=m.device)
        run = importlib.import_module("vllm.vllm_flash_attn").flash_attn_varlen_func
        return lambda: run(q, k, v, max_seqlen_q=n, cu_seqlens_q=starts, max_seqlen_k=n, cu_seqlens_k=starts, causal=bool(causal))

    return found | ({"flashinfer": flashinfer} if b == 1 else {}) | {"vllm": vllm}


def decode(m: Maker, b: int, n: int, h: int, hk: int, d: int) -> dict[str, Factory]:
    """One position of each sequence; the cache is contiguous."""
    found = _backends(m, (b, h, 1, d), (b, hk, n, d), False)
    if m.device == "cuda":
        found["torch"] = lambda i: _attend(m, m.normal(b, h, 1, d), m.normal(b, hk, n, d), m.normal(b, hk, n, d), False)
    return found


def paged(m: Maker, b: int, context: int, h: int, hk: int, d: int, page: int = 64) -> dict[str, Factory]:
    per = -(-context // page)

    def flashinfer(i: int) -> Call:
        """Planned once, run often, as intended."""
        ints = {"dtype": m.t.int32, "device": m.device}
        w = importlib.import_module("flashinfer").BatchDecodeWithPagedKVCacheWrapper(m.empty(128 << 20, dtype="uint8"), "NHD")
        w.plan(m.t.arange(0, (b + 1) * per, per, **ints), m.t.randperm(b * per, device=m.device).to(m.t.int32),
               m.t.full((b,), context - (per - 1) * page, **ints), h, hk, d, page, q_data_type=m.t.float16)
        q, cache = m.normal(b, h, d), m.normal(b * per, 2, page, hk, d)
        return lambda: w.run(q, cache)

    whole = decode(m, b, context, h, hk, d)  # for a contiguous cache
    return {"torch": whole["torch"], "flashinfer": flashinfer}


# ---- rows ------------------------------------------------------------------------------------------------------------

def softmax(m: Maker, rows: int, n: int, dtype: str = "float32") -> dict[str, Factory]:
    return compiled(m, lambda x: m.t.softmax(x, 1), lambda: (m.normal(rows, n, dtype=dtype),))


def layer_norm(m: Maker, rows: int, n: int, dtype: str = "float32") -> dict[str, Factory]:
    f = m.t.nn.functional
    return compiled(m, lambda x, w, b: f.layer_norm(x, w.shape, w, b),
                    lambda: (m.normal(rows, n, dtype=dtype), m.normal(n, dtype=dtype), m.normal(n, dtype=dtype)))


def rms_norm(m: Maker, rows: int, n: int) -> dict[str, Factory]:
    f = m.t.nn.functional
    found = compiled(m, lambda x, w: f.rms_norm(x, w.shape, w, 1e-5), lambda: (m.normal(rows, n), m.normal(n)))

    def flashinfer(i: int) -> Call:
        x, w = m.normal(rows, n), m.normal(n)
        run = importlib.import_module("flashinfer.norm").rmsnorm
        return lambda: run(x, w, 1e-5)

    def vllm(i: int) -> Call:
        x, w, out = m.normal(rows, n), m.normal(n), m.empty(rows, n)
        run = importlib.import_module("vllm._custom_ops").rms_norm
        return lambda: run(out, x, w, 1e-5)

    return found | {"flashinfer": flashinfer, "vllm": vllm}


def rotary(m: Maker, tokens: int, h: int, d: int) -> dict[str, Factory]:
    """Rotates halves of heads by the angles of positions, from f32 tables."""
    def body(x: Any, at: Any, cos: Any, sin: Any) -> Any:
        c, s = cos[at][:, None, :], sin[at][:, None, :]
        a, b = x.float().chunk(2, dim=-1)
        return m.t.cat((a * c - b * s, b * c + a * s), dim=-1).to(x.dtype)

    return compiled(m, body, lambda: (m.normal(tokens, h, d), m.below(8192, tokens), m.normal(8192, d // 2, dtype="float32"),
                                      m.normal(8192, d // 2, dtype="float32")))


def cross_entropy(m: Maker, rows: int, n: int) -> dict[str, Factory]:
    f = m.t.nn.functional
    return compiled(m, lambda x, y: f.cross_entropy(x, y, reduction="none"),
                    lambda: (m.normal(rows, n, dtype="bfloat16"), m.below(n, rows)))


def causal_conv(m: Maker, n: int, d: int) -> dict[str, Factory]:
    f = m.t.nn.functional
    return compiled(m, lambda x, w, bias: f.silu(f.conv1d(x, w, bias, padding=3, groups=w.shape[0])[..., :x.shape[2]]),
                    lambda: (m.normal(1, d, n), m.normal(d, 1, 4), m.normal(d)))


def selective_scan(m: Maker, tokens: int, channels: int, states: int) -> dict[str, Factory]:
    """In Triton: PyTorch has no such scan."""
    def one(i: int) -> Call:
        x, dt, z, y = (m.normal(tokens, channels, scale=s) for s in (1.0, 0.01, 1.0, 1.0))
        a = -m.normal(channels, states, dtype="float32").abs()
        b, c = m.normal(tokens, states), m.normal(tokens, states)
        skip, bias = m.normal(channels, dtype="float32"), m.normal(channels, dtype="float32")
        run = importlib.import_module("hexc_bench.triton_rows").selective_scan
        return lambda: run(x, dt, a, b, c, skip, z, bias, y)

    return {"triton.scan": one}


KINDS: dict[str, Callable[..., dict[str, Factory]]] = {
    "matmul": matmul, "int4": int4, "scaled_mm": scaled_mm, "scaled_mm_blocks": scaled_mm_blocks, "grouped": grouped, "moe": moe,
    "swiglu": swiglu, "gelu": gelu, "attention": attention, "decode": decode, "paged": paged, "softmax": softmax,
    "layer_norm": layer_norm, "rms_norm": rms_norm, "rotary": rotary, "cross_entropy": cross_entropy, "causal_conv": causal_conv,
    "selective_scan": selective_scan}
