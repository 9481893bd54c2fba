"""Arguments of a launch, by name: takes sizes from shapes; the library checks all arguments."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ._abi import NUMBERS, STRUCT, array, check, function
from ._errors import ArgumentError
from ._module import WHY, Kernel, Param, fail, text

Shape = tuple[int, ...]
# The shape of a tensor argument, with None for unconstrained extents.
ShapeOf = Callable[[Param, object], "tuple[int | None, ...]"]


class Target(Protocol):
    """A kernel or a family: an object with parameters."""

    name: str
    params: tuple[Param, ...]


def know(kernel: Target, values: Mapping[str, object]) -> None:
    """Raises an error for names that are not parameters of the kernel."""
    names = [p.name for p in kernel.params]
    for name in values:
        if name not in names:
            raise ArgumentError(f"{kernel.name} has no {name}: its parameters are {', '.join(names)}")


class Arguments:
    """Arguments in launch order for C, and by name; the caller fills in the addresses of tensors.

    ``order`` are the parameters in C, a superset of the target's.
    """

    def __init__(
        self, target: Target, values: Mapping[str, object], shape_of: ShapeOf, order: Sequence[Param] | None = None
    ) -> None:
        self.target = target
        self.values = values
        self.arg = (STRUCT["hexc_arg"] * NUMBERS["HEXC_MAX_PARAMS"])()
        self.slot = {p.name: slot for p, slot in zip(order or target.params, self.arg, strict=False)}
        shapes = {p.name: shape_of(p, values[p.name]) for p in target.params if p.kind == "tensor" and p.name in values}
        sizes = self._sizes(shapes)
        for p in target.params:
            if p.kind == "size":
                self.slot[p.name].i = sizes[p.name]
            elif p.kind == "scalar":
                self._scalar(self.slot[p.name], p)
        self.shape: dict[str, Shape] = {}  # of the tensors present for these sizes
        self.stride: dict[str, Shape] = {}
        self._resolve()
        for name, shape in shapes.items():
            if name in self.shape:
                self._compare(name, shape)

    def _resolve(self) -> None:
        """Fills in shapes and strides; rejects contradictory sizes."""
        raise NotImplementedError

    def check(self) -> None:
        """Checks the launch, after addresses and bytes are filled in."""
        raise NotImplementedError

    def _sizes(self, shapes: Mapping[str, tuple[int | None, ...]]) -> dict[str, int]:
        known: dict[str, tuple[int, str]] = {}

        def learn(size: str, value: int, origin: str) -> None:
            before = known.setdefault(size, (value, origin))
            if before[0] != value:
                raise ArgumentError(f"{size} is {before[0]} by {before[1]}, and {value} by {origin}")

        wanted = [p.name for p in self.target.params if p.kind == "size"]
        for size in wanted:
            given = self.values.get(size)
            if given is not None:
                check(given, ctypes.c_int64, size)
                learn(size, _integer(size, given), f"the argument {size}")
        for p in self.target.params:
            for extent, value in zip(p.shape, shapes.get(p.name, ()), strict=False):
                if extent in wanted and value is not None:
                    learn(extent, value, f"the shape of {p.name}")
        for size in wanted:
            if size not in known:
                raise ArgumentError(f"nothing says what {size} is: pass {size}=, or a tensor that has it as an extent")
        return {size: value for size, (value, _) in known.items()}

    def _scalar(self, slot: Any, p: Param) -> None:
        if p.name not in self.values:
            raise ArgumentError(f"{self.target.name} needs a value for {p.name} ({p.dtype})")
        value = self.values[p.name]
        if chr(function("hexc_dtype_find")(p.dtype.encode()).contents.kind) == "f":
            try:
                slot.f = float(value)  # type: ignore[arg-type]
            except TypeError:
                raise ArgumentError(f"{p.name} is a number of type {p.dtype}, not {type(value).__name__}") from None
        else:
            slot.i = _fits(p, _integer(p.name, value))

    def _compare(self, name: str, have: tuple[int | None, ...]) -> None:
        want = self.shape[name]
        if len(have) != len(want):
            raise ArgumentError(f"{name} has {len(want)} dimensions; the argument has {len(have)}")
        if any(h is not None and h != w for h, w in zip(have, want, strict=True)):
            raise ArgumentError(f"{name} is {list(want)} for these sizes; the argument is {list(have)}")

    def bytes(self, p: Param) -> int:
        """The tensor's size in device memory."""
        shape = self.shape[p.name]
        if p.pack is None:
            span = 1 + sum((d - 1) * s for d, s in zip(shape, self.stride[p.name], strict=True))
            return (span * p.bits + 7) // 8 if math.prod(shape) else 0
        out, why = ctypes.c_uint64(), ctypes.create_string_buffer(WHY)
        dim = array(ctypes.c_int64, shape, p.name)
        code = function("hexc_pack_bytes")(p.pack.encode(), len(shape), dim, ctypes.byref(out), why, WHY)
        if code:
            raise fail(code, text(why.value))
        return out.value


class Bound(Arguments):
    """The arguments of a kernel."""

    def __init__(self, kernel: Kernel, values: Mapping[str, object], shape_of: ShapeOf) -> None:
        self.kernel = kernel
        super().__init__(kernel, values, shape_of)

    def _resolve(self) -> None:
        self._check("hexc_check_sizes")
        for i, p in enumerate(self.kernel.params):
            if p.kind == "tensor":
                self.shape[p.name], self.stride[p.name] = extents(self.kernel, i, self.arg)

    def _check(self, name: str) -> None:
        why = ctypes.create_string_buffer(WHY)
        code = function(name)(self.kernel._handle, self.kernel._index, self.arg, why, WHY)
        if code:
            raise fail(code, text(why.value))

    def check(self) -> None:
        """Also checks addresses and bytes."""
        self._check("hexc_check_args")

    def grid(self) -> tuple[int, int, int]:
        """Blocks in x, y, z."""
        out = (ctypes.c_uint32 * 3)()
        code = function("hexc_grid")(self.kernel._handle, self.kernel._index, self.arg, out)
        if code:
            raise fail(code)
        return (out[0], out[1], out[2])


def extents(kernel: Kernel, i: int, arg: Any) -> tuple[Shape, Shape]:
    """Shape and strides of the kernel's i-th parameter for these arguments."""
    dim = (ctypes.c_int64 * NUMBERS["HEXC_MAX_RANK"])()
    stride = (ctypes.c_int64 * NUMBERS["HEXC_MAX_RANK"])()
    code = function("hexc_tensor")(kernel._handle, kernel._index, i, arg, dim, stride)
    if code:
        raise fail(code)
    rank = len(kernel.params[i].shape)
    return tuple(dim[:rank]), tuple(stride[:rank])


def _fits(p: Param, value: int) -> int:
    """The value as 64 bits for hexc_arg; u64 values unchanged."""
    if p.dtype == "u64":
        check(value, ctypes.c_uint64, p.name)
        return ctypes.c_int64(value).value
    check(value, ctypes.c_int64, p.name)
    return value


def _integer(name: str, value: object) -> int:
    try:
        return int(value.__index__())  # type: ignore[attr-defined]
    except AttributeError:
        raise ArgumentError(f"{name} is an integer, not {type(value).__name__}") from None
