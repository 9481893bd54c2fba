"""NumPy and PyTorch under one interface, and values of hexc's element types in them: floats
as f64, integers as i64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray or torch.Tensor

# name -> exponent bits, mantissa bits, meaning of the largest exponent code, result of
# overflow (hexc/ir/dtypes.def)
IEEE, ONE_NAN, ALL = "ieee", "nan", "none"
FLOATS: dict[str, tuple[int, int, str, bool]] = {
    "f64": (11, 52, IEEE, False), "f32": (8, 23, IEEE, False), "tf32": (8, 10, IEEE, False), "f16": (5, 10, IEEE, False),
    "bf16": (8, 7, IEEE, False), "e4m3": (4, 3, ONE_NAN, True), "e5m2": (5, 2, IEEE, True),
    **{f"e{e}m{m}": (e, m, ALL, True) for e, m in ((1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1), (1, 4), (2, 3), (3, 2), (4, 1),
                                                   (1, 5), (2, 4), (3, 3), (4, 2), (5, 1), (1, 6), (2, 5), (3, 4), (6, 1))},
    "e8m0": (8, 0, "scale", True), "nf4": (0, 0, "table", True)}
NF4 = (-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0)


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def bits_of(dtype: str) -> int:
    """Bits of a storage element."""
    if dtype in ("bool", "e8m0"):
        return 8
    if dtype in ("nf4",):
        return 4
    if dtype == "tf32":
        return 32
    if dtype[0] == "e":
        e, m = FLOATS[dtype][:2]
        return 1 + e + m
    return int(dtype.lstrip("buif"))


def is_signed(dtype: str) -> bool:
    return dtype[0] == "i"


def roundoff(dtype: str) -> float:
    """The unit roundoff of a float type."""
    return 2.0 ** -(FLOATS[dtype][1] + 1)


def smallest(dtype: str, normal: bool = False) -> float:
    """The smallest positive number of a float type, or the smallest normal one."""
    exp, man = FLOATS[dtype][:2]
    least = 2 - (1 << (exp - 1))
    return 2.0 ** (least if normal else least - man)


def largest(dtype: str) -> float:
    """The largest number of a float type."""
    exp, man, codes, _ = FLOATS[dtype]
    if codes == "table":
        return 1.0
    if codes == "scale":
        return 2.0 ** 127
    top = (1 << (exp - 1)) - (1 if codes == IEEE else 0)
    return (2 - 2.0 ** (-man + (1 if codes == ONE_NAN else 0))) * 2.0 ** top


class Numpy:
    """The same interface as :class:`Torch`."""

    name = "numpy"
    inf = math.inf

    def __init__(self) -> None:
        self.lib = np
        self.f64, self.i64, self.bool = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)

    def array(self, x: Any) -> Array:
        return np.asarray(x)

    def numpy(self, x: Array) -> Any:
        return np.asarray(x)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any) -> Array:
        return np.full(shape, value, dtype)

    def arange(self, n: int) -> Array:
        return np.arange(n, dtype=np.int64)

    def to(self, x: Array, dtype: Any) -> Array:
        return x.astype(dtype, copy=False)

    def bits(self, x: Array) -> Array:
        return np.ascontiguousarray(x).view(np.int64)

    def from_bits(self, x: Array) -> Array:
        return np.ascontiguousarray(x).view(np.float64)

    def via(self, x: Array, through: str, back: str) -> Array:
        """Reinterprets a value of one machine type as another: names of NumPy's types."""
        return np.ascontiguousarray(x.astype(through)).view(back)

    def f32(self, x: Array) -> Array:
        return x.astype(np.float32).astype(np.float64)

    def expand(self, x: Array, shape: tuple[int, ...]) -> Array:
        return np.broadcast_to(x, shape)

    def permute(self, x: Array, order: tuple[int, ...]) -> Array:
        return np.transpose(x, order)

    def concat(self, xs: list[Array], axis: int) -> Array:
        return np.concatenate(xs, axis)

    def sum(self, x: Array, axis: int) -> Array:
        return x.sum(axis=axis, keepdims=True)

    def amax(self, x: Array, axis: int) -> Array:
        return x.max(axis=axis, keepdims=True)

    def amin(self, x: Array, axis: int) -> Array:
        return x.min(axis=axis, keepdims=True)

    def all(self, x: Array, axis: int) -> Array:
        return x.all(axis=axis, keepdims=True)

    def cumsum(self, x: Array, axis: int) -> Array:
        return np.cumsum(x, axis)

    def order(self, x: Array) -> Array:
        """Indices in ascending order; the order of equal elements is kept."""
        return np.argsort(x, kind="stable")

    def along(self, x: Array, at: Array) -> Array:
        """x[.., at[..]] along the last dim."""
        return np.take_along_axis(x, at, -1)

    def put_along(self, x: Array, at: Array, value: Array) -> Array:
        out = x.copy()
        np.put_along_axis(out, at, value, -1)
        return out

    def take(self, flat: Array, at: Array) -> Array:
        return flat[at]

    def put(self, flat: Array, at: Array, value: Array) -> None:
        flat[at.reshape(-1)] = value.reshape(-1)

    def update(self, kind: str, flat: Array, at: Array, value: Array) -> None:
        """In place; kind: add, max, min, and, or, xor."""
        f = {"add": np.add, "max": np.fmax if flat.dtype.kind == "f" else np.maximum, "min": np.fmin if flat.dtype.kind == "f" else np.minimum,
             "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[kind]
        f.at(flat, at.reshape(-1), value.reshape(-1))

    def rint(self, x: Array) -> Array:
        return np.rint(x)

    def where(self, c: Array, x: Array, y: Array) -> Array:
        return np.where(c, x, y)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class Torch:
    """PyTorch on a device."""

    name = "torch"
    inf = math.inf

    def __init__(self, torch: Any, device: str) -> None:
        self.lib, self.device = torch, device
        self.f64, self.i64, self.bool = torch.float64, torch.int64, torch.bool
        self._ranges: dict[int, Any] = {}

    def array(self, x: Any) -> Array:
        """From a number or a NumPy array; arrays on the device stay unchanged."""
        if isinstance(x, self.lib.Tensor):
            return x.to(self.device)
        x = np.ascontiguousarray(x) if np.ndim(x) else np.array(x)
        if x.dtype.kind == "u" and x.dtype.itemsize > 1:  # the same bits; PyTorch supports few operations on such types
            x = x.view(f"i{x.dtype.itemsize}")
        if not x.flags.writeable:
            x = x.copy()
        return self.lib.from_numpy(x).to(self.device)

    def numpy(self, x: Array) -> Any:
        return x.cpu().numpy()

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any) -> Array:
        return self.lib.full(shape, value, dtype=dtype, device=self.device)

    def arange(self, n: int) -> Array:
        """One array per length, which must not be written."""
        if n not in self._ranges:
            self._ranges[n] = self.lib.arange(n, device=self.device)
        return self._ranges[n]

    def to(self, x: Array, dtype: Any) -> Array:
        return x.to(dtype)

    def bits(self, x: Array) -> Array:
        return x.contiguous().view(self.lib.int64)

    def from_bits(self, x: Array) -> Array:
        return x.contiguous().view(self.lib.float64)

    def via(self, x: Array, through: str, back: str) -> Array:
        return x.to(getattr(self.lib, through)).contiguous().view(getattr(self.lib, back))

    def f32(self, x: Array) -> Array:
        return x.to(self.lib.float32).to(self.lib.float64)

    def expand(self, x: Array, shape: tuple[int, ...]) -> Array:
        return x.expand(shape)

    def permute(self, x: Array, order: tuple[int, ...]) -> Array:
        return x.permute(order)

    def concat(self, xs: list[Array], axis: int) -> Array:
        return self.lib.cat(xs, axis)

    def sum(self, x: Array, axis: int) -> Array:
        return x.sum(axis, keepdim=True)

    def amax(self, x: Array, axis: int) -> Array:
        return x.amax(axis, keepdim=True)

    def amin(self, x: Array, axis: int) -> Array:
        return x.amin(axis, keepdim=True)

    def all(self, x: Array, axis: int) -> Array:
        return x.all(axis, keepdim=True)

    def cumsum(self, x: Array, axis: int) -> Array:
        return self.lib.cumsum(x, axis)

    def order(self, x: Array) -> Array:
        return self.lib.argsort(x, stable=True)

    def along(self, x: Array, at: Array) -> Array:
        return self.lib.gather(x.expand(*at.shape[:-1], x.shape[-1]), -1, at)

    def put_along(self, x: Array, at: Array, value: Array) -> Array:
        return x.scatter(-1, at, value)

    def take(self, flat: Array, at: Array) -> Array:
        return flat[at]

    def put(self, flat: Array, at: Array, value: Array) -> None:
        flat[at.reshape(-1)] = value.reshape(-1)

    def update(self, kind: str, flat: Array, at: Array, value: Array) -> None:
        at, value = at.reshape(-1), value.reshape(-1).contiguous()
        if kind == "add":
            flat.index_add_(0, at, value)
        elif kind in ("max", "min"):
            if value.is_floating_point():  # a number wins over a NaN
                value = self.lib.where(self.lib.isnan(value), self.full((), -math.inf if kind == "max" else math.inf, value.dtype), value)
            flat.scatter_reduce_(0, at, value, "a" + kind)
        else:  # bit by bit: the number of conflicting updates with the bit set
            for b in range(64):
                one = value >> b & 1
                here = flat >> b & 1
                have = self.lib.zeros_like(flat).index_add_(0, at, one)
                met = self.lib.zeros_like(flat).index_add_(0, at, self.lib.ones_like(one))
                new = {"and": here & (have == met), "or": here | (have > 0), "xor": here ^ (have & 1)}[kind]
                flat ^= (new ^ here) << b

    def rint(self, x: Array) -> Array:
        return self.lib.round(x)

    def where(self, c: Array, x: Array, y: Array) -> Array:
        return self.lib.where(c, x, y)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lib, name)


def namespace(xp: Any) -> Any:
    """The interface for the module numpy, or for torch on its GPU; an object of the two
    classes is returned unchanged."""
    if isinstance(xp, Numpy | Torch):
        return xp
    return Numpy() if xp is np else Torch(xp, "cuda")


def rounded(xp: Any, dtype: str, x: Array) -> Array:
    """The value of a float type nearest to each f64, ties to even, as in hexc/ir/dtype_value.c."""
    if dtype == "f64":
        return x
    if dtype == "f32":
        return xp.f32(x)
    exp, man, codes, saturates = FLOATS[dtype]
    if codes == "table":
        numbers = [(a + b) / 2 for a, b in zip(NF4, NF4[1:])]
        code = xp.to(xp.where(xp.isnan(x), 0 * x, x) > numbers[0], xp.i64) * 0
        clean = xp.where(xp.isnan(x), xp.full((), 0.0, xp.f64), x)
        for middle in numbers:
            code = code + xp.to(clean > middle, xp.i64)
        return xp.take(xp.array(np.array(NF4)), code)
    bits = xp.bits(x) & ((1 << 63) - 1)
    a = xp.from_bits(bits)
    if codes == "scale":  # the nearest power of two, the larger one for the midpoint
        e = xp.to(bits >> 52, xp.i64) + xp.to((bits & ((1 << 52) - 1)) >= 1 << 51, xp.i64)
        e = xp.where(e < 1023 - 127, xp.full((), 1023 - 127, xp.i64), e)
        e = xp.where(e > 1023 + 127, xp.full((), 1023 + 127, xp.i64), e)
        return xp.where(xp.isnan(x), x, xp.from_bits(e << 52))
    bias = (1 << (exp - 1)) - 1
    e = bits >> 52
    low, high = 1023 + 1 - bias, 1023 + (1 << (exp - 1)) - (1 if codes == IEEE else 0)
    e = xp.where(e < low, xp.full((), low, xp.i64), e)
    e = xp.where(e > high, xp.full((), high, xp.i64), e)
    magic = xp.from_bits((e + (52 - man)) << 52)
    r = (a + magic) - magic
    if dtype == "tf32":  # ties away from zero
        r = xp.where(a - r >= magic * 2.0 ** -53, r + magic * 2.0 ** -52, r)
    most = largest(dtype)
    over = most if saturates else (2 - 2.0 ** (-man - 1)) * 2.0 ** (high - 1023)
    r = xp.where(a >= over, xp.full((), most if saturates else math.inf, xp.f64), r)
    r = xp.where(xp.isnan(x), xp.full((), most if codes == ALL else math.nan, xp.f64), r)
    return xp.copysign(r, x)


def wrapped(dtype: str, x: Array) -> Array:
    """The low bits of integers, as a value of the type."""
    n = bits_of(dtype)
    if dtype == "bool":
        return x != 0
    if n == 64:
        return x
    if is_signed(dtype):
        return ((x + (1 << (n - 1))) & ((1 << n) - 1)) - (1 << (n - 1))
    return x & ((1 << n) - 1)


def bounds_of_type(dtype: str) -> tuple[int, int]:
    """The smallest and the largest integer."""
    n = bits_of(dtype)
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if is_signed(dtype) else (0, (1 << n) - 1)


def decoded(xp: Any, dtype: str, codes: Array) -> Array:
    """The values in a tensor: floats of NumPy's or torch's types, or codes, one integer per element."""
    if is_float(dtype):
        if dtype in ("f16", "f32", "f64", "tf32"):
            return xp.to(codes, xp.f64)
        if str(codes.dtype).startswith(("float", "torch.float", "torch.bfloat")):
            return xp.to(codes, xp.f64)
        n = xp.to(codes, xp.i64)
        if dtype == "bf16":
            return f32_of(xp, (n & 0xffff) << 16)
        return xp.take(xp.array(_numbers(dtype)), n & ((1 << bits_of(dtype)) - 1))
    if dtype == "bool":
        return codes != 0
    return wrapped(dtype, xp.to(codes, xp.i64))


def f32_of(xp: Any, bits: Array) -> Array:
    """The f32 of 32 bits, as f64."""
    low = wrapped("i32", bits)
    return xp.to(xp.via(low, "int32", "float32"), xp.f64)


def _numbers(dtype: str) -> Any:
    """The value of each code of a type of up to 8 bits."""
    exp, man, codes, _ = FLOATS[dtype]
    if codes == "table":
        return np.array(NF4)
    if codes == "scale":
        return np.array([2.0 ** (c - 127) for c in range(255)] + [math.nan])
    out = []
    for code in range(1 << (1 + exp + man)):
        e, m = code >> man & ((1 << exp) - 1), code & ((1 << man) - 1)
        bias = (1 << (exp - 1)) - 1
        x = math.ldexp(m if e == 0 else m + (1 << man), (1 if e == 0 else e) - bias - man)
        if codes == IEEE and e == (1 << exp) - 1:
            x = math.nan if m else math.inf
        if codes == ONE_NAN and e == (1 << exp) - 1 and m == (1 << man) - 1:
            x = math.nan
        out.append(-x if code >> (exp + man) else x)
    return np.array(out)
