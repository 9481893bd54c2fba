"""Data by seed for kernels of items.py: a description of each tensor's contents, and its elements in the
form of hexc's Python package (row-major: f16 as float16, bf16, fp8 and narrow floats as codes, 4-bit
integers as int8 or uint8).

Descriptions, with expressions of sizes and constants: `normal` (floats, the default), `codes` (integers of up to
8 bits, the default), `zeros`, `const X`, `int LOW HIGH`, `share` (0 to 1), `positive` (0.5 to 1.5), `negative`,
`small` (0 to about 0.03), `unit` (rows of length 1), `weights N` (normal, divided by the root of N), `log N`,
`permutation`, `distinct N` (each once before any repeats), `permuted N` (equally often), `rising N`, `offsets N`
(0 to N, random steps), `even N`, `pairs of 4`, `places` (starts of consecutive tensors).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexc_tune.expr import evaluate

Array = NDArray[Any]
BLOCK = 1 << 20  # number of generated random values; larger tensors repeat them
# the 4-bit NormalFloat's values: quantiles of a normal distribution, as in bitsandbytes
NF4 = (-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0)


@lru_cache
def values_of_codes(dtype: str) -> Array | None:
    """f64 of each code of a float of up to 8 bits; None for other types."""
    if dtype == "nf4":
        return np.array(NF4, np.float32).astype(np.float64)
    if dtype == "e8m0":
        return np.append(np.exp2(np.arange(255.0) - 127), np.nan)
    found = re.fullmatch(r"e(\d)m(\d)", dtype)
    if not found:
        return None
    e, m = int(found[1]), int(found[2])
    code = np.arange(1 << (e + m))
    exponent, mantissa, bias = code >> m, code & ((1 << m) - 1), (1 << (e - 1)) - 1
    value = np.where(exponent == 0, np.ldexp(mantissa / (1 << m), 1 - bias), np.ldexp(1 + mantissa / (1 << m), exponent - bias))
    if dtype == "e5m2":
        value[exponent == (1 << e) - 1] = np.nan
        value[(exponent == (1 << e) - 1) & (mantissa == 0)] = np.inf
    elif dtype == "e4m3":
        value[-1] = np.nan
    return np.concatenate([value, -value])


def decoded(codes: Array, dtype: str) -> Array:
    """f64 of row-major elements; integers unchanged, in i64."""
    if dtype == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    table = values_of_codes(dtype)
    if table is not None:
        found: Array = table[codes]
        return found
    return codes.astype(np.float64 if codes.dtype.kind == "f" else np.int64)


def encoded(values: Array, dtype: str) -> Array:
    """The nearest elements of this type, row-major; finite ones."""
    plain = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
    if dtype in plain:
        return values.astype(plain[dtype])
    if dtype == "bf16":
        raw = values.astype(np.float32).view(np.uint32)
        return ((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16).astype(np.uint16)
    table = values_of_codes(dtype)
    assert table is not None, dtype
    finite = np.flatnonzero(np.isfinite(table))
    order = finite[np.argsort(table[finite], kind="stable")]
    middle = (table[order][1:] + table[order][:-1]) / 2
    return order[np.searchsorted(middle, values)].astype(np.uint8)


def _normal(rng: np.random.Generator, n: int) -> Array:
    return np.resize(rng.standard_normal(min(n, BLOCK), np.float32), n)


def _floats(words: list[str], rng: np.random.Generator, shape: tuple[int, ...], number: Any) -> Array:
    n, how = int(np.prod(shape, dtype=np.int64)), words[0]
    if how == "zeros":
        return np.zeros(shape, np.float32)
    if how == "const":
        return np.full(shape, number(words[1]), np.float32)
    if how in ("share", "positive", "negative"):
        share = np.resize(rng.random(min(n, BLOCK), np.float32), n).reshape(shape)
        return share if how == "share" else (share + np.float32(0.5)) * np.float32(1 if how == "positive" else -1)
    x = _normal(rng, n).reshape(shape)
    if how == "small":
        return np.float32(0.01) * np.abs(x)
    if how == "unit":
        length: Array = np.sqrt((x * x).sum(-1, keepdims=True))
        return x / length
    if how == "weights":
        return x * np.float32(number(words[1]) ** -0.5)
    if how == "log":  # for a sum of that many values of about 1
        return x * np.float32(0.1) + np.float32(np.log(number(words[1])) + 0.5)
    assert how == "normal", how
    return x


def _integers(words: list[str], rng: np.random.Generator, shape: tuple[int, ...], number: Any) -> Array:
    n, how = int(np.prod(shape, dtype=np.int64)), words[0]
    if how == "int":
        found = rng.integers(number(words[1]), number(words[2]) + 1, n)
    elif how == "const":
        found = np.full(n, number(words[1]))
    elif how == "permutation":
        found = rng.permutation(n)
    elif how == "distinct":
        found = np.resize(rng.permutation(number(words[1])), n)
    elif how == "permuted":
        found = rng.permutation(np.arange(n) * number(words[1]) // max(1, n))
    elif how == "rising":
        found = np.arange(n) * number(words[1]) // max(1, n)
    elif how == "offsets":
        found = np.sort(rng.integers(0, number(words[1]) + 1, n))
        found[0], found[-1] = 0, number(words[1])
    elif how == "even":
        found = np.arange(n) * number(words[1]) // max(1, n - 1)
    elif how == "places":
        found = np.arange(n) * -(-number("longest") // number("UNIT"))
    elif how == "pairs":
        pairs = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
        found = pairs[rng.integers(0, len(pairs), n // 2)].reshape(-1)
    else:
        assert how == "zeros", how
        found = np.zeros(n, np.int64)
    return found.reshape(shape)


def is_float(dtype: str) -> bool:
    return dtype in ("f16", "bf16", "f32", "f64") or values_of_codes(dtype) is not None


def make(words: str, dtype: str, shape: tuple[int, ...], seed: str, known: Mapping[str, int | str]) -> Array:
    """A tensor's elements; known: sizes and constants. Equal descriptions, types, shapes
    and seeds give equal data."""
    rng = np.random.default_rng(zlib.crc32(f"{seed} {words} {dtype} {shape}".encode()))
    numbers = {n: v for n, v in known.items() if isinstance(v, int)}

    def number(text: str) -> Any:
        value = evaluate(text, numbers)
        return float(text) if value is None else value

    if is_float(dtype):
        if dtype == "e8m0":
            return rng.integers(125, 130, shape).astype(np.uint8)
        said = (words or "normal").split()
        if said[0] == "unit":  # of rows
            return encoded(_floats(said, rng, shape, number), dtype)
        block = encoded(_floats(said, rng, (min(BLOCK, int(np.prod(shape, dtype=np.int64))),), number), dtype)
        return np.resize(block, shape)
    bits, signed = int(dtype[1:]), dtype[0] == "i"
    kind = np.dtype(f"{'i' if signed else 'u'}{max(8, bits) // 8}")
    if not words or words == "codes":
        assert bits <= 8, f"what is in a tensor of {dtype}?"
        low = -(1 << (bits - 1)) if signed else 0
        return np.resize(rng.integers(low, low + (1 << bits), min(BLOCK, int(np.prod(shape, dtype=np.int64))), kind), shape)
    return _integers(words.split(), rng, shape, number).astype(kind)
