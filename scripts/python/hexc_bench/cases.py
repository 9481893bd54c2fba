"""Operators at shapes: each case is a run of one or two kernels of examples/."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .models import MODELS, Model

Arrays = dict[str, tuple[tuple[int, ...], str]]


@dataclass(frozen=True)
class Kernel:
    """arrays: name -> shape, type; sweep: tunable -> values; fixed: -D words; scalars: --arg words."""

    program: str
    name: str
    arrays: Arrays
    sweep: dict[str, list[int]] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One operator at one shape: consecutive kernels, the minimum of operations and bytes, and the operator's
    name for peers. roof: the type whose MMA rate limits it."""

    name: str
    shape: str
    kernels: list[Kernel]
    flops: float
    bytes: float
    peer: tuple[Any, ...] = ()
    roof: str = "f16"
    model: str = ""

    @property
    def key(self) -> str:
        return " / ".join(x for x in (self.model, self.name, self.shape) if x)


def kernel(program: str, name: str, arrays: Arrays, sweep: dict[str, list[int]] | None = None, fixed: Sequence[str] = (),
           scalars: Sequence[str] = ()) -> Kernel:
    return Kernel(f"examples/{program}.hexc", name, arrays, sweep or {}, tuple(fixed), tuple(scalars))


def product(m: int, n: int, k: int, name: str = "gemm f16", model: str = "") -> Case:
    sweep = {"BM": [64, 128] if m > 64 else [16], "BN": [128], "STAGES": [3, 4]}
    run = kernel("gemm_f16", "gemm_f16", {"A": ((m, k), "f16"), "B": ((n, k), "f16")}, sweep)
    return Case(name, f"{m} x {n} x {k}", [run], 2 * m * n * k, 2 * (m * k + n * k + m * n), ("matmul", m, n, k), model=model)


def narrow(bits: int, m: int, n: int, k: int, scale: int, name: str = "", shape: str = "", model: str = "") -> Case:
    """m rows of activations times weights of 1 to 8 bits with a scale for each 128 of them."""
    arrays: Arrays = {"A": ((m, k), "f16"), "W": ((n, k), f"u{bits}"), "S": ((k // 128 or 1, n), "f16")}
    moved = n * k * bits / 8 + 2 * (m * k + n * (k // 128) + m * n)
    fixed = [f"WEIGHT=u{bits}"]
    if m <= 16:
        parts = max(1, 8 // scale)
        run = [kernel("decode_wNa16", "decode", arrays, {"BM": [8 if m == 1 else 16], "BN": [64, 128]}, fixed, [f"PARTS={parts}"]),
               kernel("decode_wNa16", "join", {"P": ((parts, m, n), "f32")}, {"BM": [1]})]
    else:
        run = [kernel("gemm_wNa16", "gemm_wNa16", arrays, {"BM": [64, 128] if m > 64 else [64], "BN": [128]}, fixed)]
    return Case(name or f"w{bits}a16", shape or f"{m} x {n} x {k}", run, 2 * m * n * k, moved, ("matmul", m, n, k), model=model)


def weights(scale: int) -> Iterator[Case]:
    """1 to 8 bits, n = k = 8192."""
    n = 8192 // scale
    for bits, m in itertools.product(range(1, 9), (1, 16, 64, 1024)):
        yield narrow(bits, m, n, n, scale, shape=f"m {m}, n k {n}")


def gemm(scale: int) -> Iterator[Case]:
    """f16: square GEMMs, and the GEMMs of a model of 8 billion parameters."""
    for m, n, k in (4096, 4096, 4096), (8192, 8192, 8192), (2048, 6144, 4096), (2048, 28672, 4096), (16, 4096, 14336):
        yield product(max(16, m // scale), n // scale, k // scale)


def softmax(m: int, n: int) -> Case:
    run = kernel("softmax", "softmax", {"X": ((m, n), "f32")}, {"BM": [1, 4], "BN": [1024]})
    return Case("softmax", f"{m} x {n}", [run], 0, 8 * m * n, ("softmax", m, n))


def block_of(n: int, sizes: Sequence[int]) -> int:
    return next(x for x in sizes if x >= n)


def layer_norm(m: int, n: int, model: str = "") -> Case:
    arrays: Arrays = {"X": ((m, n), "f32"), "gamma": ((n,), "f32"), "beta": ((n,), "f32")}
    size = block_of(n, (64, 128, 256, 512, 1024, 2048, 4096))
    run = kernel("layer_norm", "layer_norm", arrays, {"BM": [1, 2, 4], "BN": [size]}, (), ["eps=1e-5"])
    return Case("layer norm", f"{m} x {n}", [run], 0, 8 * m * n, ("layer_norm", m, n), model=model)


def rms_norm(m: int, n: int, model: str) -> Case:
    size = block_of(n, (512, 1024, 2048, 4096, 8192, 12288, 16384))
    run = kernel("rms_norm", "rms_norm", {"X": ((m, n), "f16"), "gain": ((n,), "f16")}, {"BM": [1, 2], "BN": [size]}, (), ["eps=1e-5"])
    return Case("rms norm", f"{m} x {n}", [run], 0, 4 * m * n, ("rms_norm", m, n), model=model)


def rows(scale: int) -> Iterator[Case]:
    for m, n in (4096, 4096), (16384, 1024), (512, 65536):
        m, n = m // scale, n // scale
        yield softmax(m, n)
        if n <= 4096:
            yield layer_norm(m, n)


def flash(b: int, n: int, h: int, hk: int, d: int, causal: int, model: str = "") -> Case:
    arrays: Arrays = {"Q": ((b, n, h, d), "f16"), "K": ((b, n, hk, d), "f16"), "V": ((b, n, hk, d), "f16")}
    run = kernel("attention", "attention", arrays, {"BM": [64, 128]}, [f"D={d}", f"CAUSAL={causal}"], [f"scale={d ** -0.5}"])
    shape = f"{b} x {n} x {h} x {d}" if h == hk else f"{b} x {n} x {h} ({hk}) x {d}"
    return Case("attention" + " causal" * causal, shape, [run], 4 * b * h * n * n * d / (1 + causal),
                4 * b * n * (h + hk) * d, ("attention", b, n, h, hk, d, causal), model=model)


def attention(scale: int) -> Iterator[Case]:
    for causal, tokens in itertools.product((0, 1), (1024, 4096)):
        yield flash(2, tokens // scale, 16, 16, 128, causal)


# ---- models ------------------------------------------------------------------------------------------------------------

def cut(n: int, scale: int, unit: int = 128) -> int:
    """A size divided by scale, rounded to a multiple that programs assume."""
    return max(unit, n // scale // unit * unit) if scale > 1 else n


def swiglu(m: int, n: int, k: int, model: str) -> Case:
    arrays: Arrays = {"A": ((m, k), "f16"), "G": ((n, k), "f16"), "U": ((n, k), "f16")}
    run = kernel("swiglu", "swiglu", arrays, {"BM": [64, 128], "BN": [64]})
    return Case("swiglu", f"{m} x {n} x {k}", [run], 4 * m * n * k, 2 * (m * k + 2 * n * k + m * n), ("swiglu", m, n, k), model=model)


def decode(batch: int, context: int, h: int, hk: int, d: int, model: str) -> Case:
    """One token of each sequence with a cache in pages of 64."""
    page, group = 64, h // hk
    per = -(-context // page)
    arrays: Arrays = {"Q": ((batch, h, d), "f16"), "K": ((batch * per, page, hk, d), "f16"),
                      "V": ((batch * per, page, hk, d), "f16"), "T": ((batch, per), f"i32 of {batch * per}"),
                      "L": ((batch,), f"i32 = {context}")}
    split = 4
    parts = -(-per // split)
    run = [kernel("paged_attention", "decode", arrays, {}, [f"D={d}", f"G={group}", f"SPLIT={split}"], [f"scale={d ** -0.5}", f"S={parts}"]),
           kernel("paged_attention", "combine", {"A": ((batch, parts, h, d), "f32"), "W": ((batch, parts, h, 2), "f32")}, {}, [f"D={d}"])]
    return Case("paged decode", f"{batch} x {context} x {h} ({hk}) x {d}", run, 4 * batch * h * context * d,
                4 * batch * context * hk * d, ("paged", batch, context, h, hk, d), model=model)


def experts(tokens: int, e: int, chosen: int, n: int, k: int, model: str) -> Case:
    """4-bit experts; rows are sorted, with equal numbers for each."""
    bm = 16
    each = -(-tokens * chosen // e // bm) * bm
    arrays: Arrays = {"A": ((tokens, k), "f16"), "W": ((e, n, k), "u4"), "S": ((e, n, k // 64), "f16"),
                      "TOK": ((e * each,), f"i32 of {tokens}"), "EX": ((e * each // bm,), f"i32 rising to {e}")}
    run = kernel("moe", "moe", arrays, {"BM": [bm], "BN": [64, 128]})
    return Case("experts w4", f"{tokens} x {chosen} of {e}, {n} x {k}", [run], 2 * e * each * n * k,
                e * n * k / 2 + 2 * (tokens * k + e * each * n), (), model=model)


def fp8(m: int, n: int, k: int, name: str, model: str) -> Case:
    arrays: Arrays = {"A": ((m, k), "e4m3"), "B": ((n, k), "e4m3"), "SA": ((m, k // 128), "f32"), "SB": ((n // 128, k // 128), "f32")}
    run = kernel("gemm_fp8", "gemm_fp8", arrays, {"BM": [64, 128] if m > 64 else [64], "BN": [128]})
    return Case(name, f"{m} x {n} x {k}", [run], 2 * m * n * k, m * k + n * k + 2 * m * n, ("matmul", m, n, k), "f8", model)


def gelu(m: int, n: int, k: int, model: str) -> Case:
    arrays: Arrays = {"A": ((m, k), "f16"), "B": ((n, k), "f16"), "BIAS": ((n,), "f16"), "R": ((m, n), "f16")}
    run = kernel("gemm_epilogue", "gemm_epilogue", arrays, {"BM": [64, 128], "BN": [128]})
    return Case("gemm bias gelu residual", f"{m} x {n} x {k}", [run], 2 * m * n * k, 2 * (m * k + n * k + 2 * m * n),
                ("gelu", m, n, k), model=model)


def decoder(x: Model, s: int) -> Iterator[Case]:
    """In the order of the time that a serving engine spends on them."""
    hidden, inner, qkv = cut(x.hidden, s), cut(x.inner, s), cut((x.heads + 2 * x.kv_heads) * x.head, s)
    h, hk = max(x.heads // x.kv_heads, x.heads // s), max(1, x.kv_heads // s)
    tokens = cut(x.tokens, s, 16)
    for m in (1, 16, 64):
        yield narrow(4, m, inner, hidden, s, "gate w4a16", model=x.name)
    yield product(tokens, qkv, hidden, "qkv f16", x.name)
    yield swiglu(tokens, inner, hidden, x.name)
    yield product(tokens, hidden, inner, "down f16", x.name)
    yield flash(1, tokens, h, hk, x.head, 1, x.name)
    yield decode(16 if s == 1 else 2, cut(4096, s, 64), h, hk, x.head, x.name)
    yield rms_norm(tokens, hidden, x.name)


def moe(x: Model, s: int) -> Iterator[Case]:
    e = max(2, x.experts // s)
    for tokens in (16, 256):
        yield experts(cut(tokens, s, 16), e, min(x.chosen, e), cut(x.inner, s), cut(x.hidden, s), x.name)
    yield product(cut(x.tokens, s, 16), cut((x.heads + 2 * x.kv_heads) * x.head, s), cut(x.hidden, s), "qkv f16", x.name)
    h, hk = max(x.heads // x.kv_heads, x.heads // s), max(1, x.kv_heads // s)
    yield flash(1, cut(x.tokens, s, 16), h, hk, x.head, 1, x.name)
    yield decode(16 if s == 1 else 2, cut(4096, s, 64), h, hk, x.head, x.name)


def mla(x: Model, s: int) -> Iterator[Case]:
    """fp8 GEMMs with scales of 128 x 128, as in the published model; a dense layer is 18432 wide."""
    hidden, e = cut(x.hidden, s), max(2, x.experts // s)
    for m in (128, 2048):
        m = cut(m, s, 64)
        yield fp8(m, cut(x.heads * 192, s), cut(1536, s), "q_b fp8", x.name)
        yield fp8(m, hidden, cut(x.heads * x.head, s), "o fp8", x.name)
        yield fp8(m, cut(18432, s), hidden, "gate fp8", x.name)
    yield experts(cut(256, s, 16), e, min(x.chosen, e), cut(x.inner, s), hidden, x.name)
    yield rms_norm(cut(x.tokens, s, 16), hidden, x.name)


def encoder(x: Model, s: int) -> Iterator[Case]:
    hidden, inner = cut(x.hidden, s), cut(x.inner, s)
    m = max(16, x.batch * x.tokens // s)
    yield product(m, 3 * hidden, hidden, "qkv f16", x.name)
    yield gelu(m, inner, hidden, x.name)
    yield product(m, hidden, inner, "down f16", x.name)
    yield flash(max(1, x.batch // s), max(16, x.tokens // s), max(1, x.heads // s), max(1, x.heads // s), x.head, 0, x.name)
    yield layer_norm(m, hidden, x.name)


def mamba2(x: Model, s: int) -> Iterator[Case]:
    hidden, inner, h, n, t = cut(x.hidden, s), cut(x.inner, s), max(1, x.heads // s), cut(x.state, s, 32), cut(x.tokens, s, 64)
    p, g = x.head, x.kv_heads
    yield product(t, cut(2 * x.inner + 2 * g * x.state + x.heads, s, 8), hidden, "in f16", x.name)
    arrays: Arrays = {"X": ((1, t, h, p), "f16"), "DT": ((1, t, h), "f32 small"), "A": ((h,), "f32 below 0"),
                      "BM": ((1, t, g, n), "f16"), "CM": ((1, t, g, n), "f16"), "D": ((h,), "f32"), "LEN": ((1,), f"i32 = {t}")}
    scan = kernel("mamba2", "mamba2", arrays, {"BT": [32, 64]}, [f"P={p}", f"N={n}"])
    # chunks of 64: dots within a chunk, and between a chunk and the state
    yield Case("scan", f"{t} x {h} x {p} x {n}", [scan], 2 * t * h * (64 * (n + p) + 2 * n * p), 4 * t * h * p, (), model=x.name)
    d = inner + 2 * g * n
    conv = kernel("causal_conv", "causal_conv", {"X": ((1, t, d), "f16"), "W": ((4, d), "f16"), "bias": ((d,), "f16")},
                  {"BL": [16, 32], "BD": [64, 128]})
    yield Case("causal conv", f"{t} x {d}", [conv], 0, 4 * t * d, ("causal_conv", t, d), model=x.name)
    yield product(t, hidden, inner, "out f16", x.name)
    yield rms_norm(t, inner, x.name)


KINDS: dict[str, Callable[[Model, int], Iterator[Case]]] = {"decoder": decoder, "moe": moe, "mla": mla, "encoder": encoder, "mamba2": mamba2}


def models(scale: int) -> Iterator[Case]:
    """The first case of each model, then the second, ...: a time limit omits the last cases of all models."""
    lists = [list(KINDS[x.kind](x, scale)) for x in MODELS]
    for row in itertools.zip_longest(*lists):
        yield from (c for c in row if c)


SUITES: dict[str, Callable[[int], Iterator[Case]]] = {"models": models, "weights": weights, "gemm": gemm, "rows": rows,
                                                      "attention": attention}


def cases(names: Sequence[str], scale: int, model: str = "") -> list[Case]:
    """The cases of these suites; model: part of the models' names."""
    return [c for name in names for c in SUITES[name](scale) if model.lower() in c.model.lower()]
