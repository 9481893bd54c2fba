"""Quantized weights, from files or created here, and linear layers on a device (hexc_weights.h, hexc_ops.h)."""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._abi import STRUCT, function, new
from ._device import Device, simulator
from ._errors import ArgumentError
from ._family import Calls, FamilyArguments
from ._module import WHY, Owned, borrowed, fail, text
from ._ops import Operator, op_opts, op_set, refused

if TYPE_CHECKING:
    from ._args import Arguments, ShapeOf
    from ._cache import Cache
    from ._gpu import StreamLike, TensorLike
    from ._sim import Run


@dataclass(frozen=True)
class Tensor:
    """A tensor of a file: ``type`` as in the file, ``dtype`` hexc's, "" for block formats and unsupported types."""

    name: str
    type: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True)
class Format:
    """A format of weights; ``group`` inputs share a scale (0: it depends on the file; -1: all)."""

    name: str
    container: str
    code: str
    group: int
    what: str


def formats() -> tuple[Format, ...]:
    """All formats that files may have and :meth:`Weight.quantize` produces.

    >>> "Q4_K" in {f.name for f in formats()}
    True
    """
    found: list[Format] = []
    f = new("hexc_format")
    while function("hexc_format_at")(len(found), ctypes.byref(f)):
        found.append(Format(text(f.name), text(f.container), text(f.code), f.group, text(f.what)))
    return tuple(found)


_WEIGHT = ctypes.POINTER(STRUCT["hexc_weight"])


def _owned_weight(made: Any, *keep: object) -> Owned:
    at = ctypes.cast(made, ctypes.c_void_p).value or 0
    return Owned(at, lambda pointer, _: function("hexc_weight_free")(ctypes.cast(pointer, _WEIGHT)), *keep)


class Weight:
    """A matrix W[n, k] of n outputs and k inputs, as codes and scales in host memory;
    ``nbytes`` is its size in a file.

    >>> import numpy as np
    >>> w = Weight.quantize(np.eye(4, 32), "Q8_0")
    >>> w.format, w.n, w.k, round(float(w.numpy().trace()), 2)
    ('Q8_0', 4, 32, 4.0)
    """

    def __init__(self, owned: Owned) -> None:
        self._owned = owned
        self._pointer = ctypes.cast(owned.pointer, _WEIGHT)
        w = self._pointer.contents
        self.name = text(w.name)
        self.format = text(w.format)
        self.n: int = w.n
        self.k: int = w.k
        self.nbytes: int = w.bytes

    @classmethod
    def quantize(cls, values: ArrayLike, format: str, *, group: int = 0) -> Weight:
        """Quantizes a matrix [n, k] to a format (:func:`formats`)."""
        x = np.ascontiguousarray(values, np.float32)
        if x.ndim != 2:
            raise ArgumentError(f"a weight has 2 dimensions; the array has {x.ndim}")
        out, why = _WEIGHT(), ctypes.create_string_buffer(WHY)
        at = x.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        code = function("hexc_weight_quantize")(
            ctypes.byref(out), format.encode(), at, *x.shape, group, None, why, WHY
        )
        if code:
            raise fail(code, text(why.value))
        return cls(_owned_weight(out))

    @classmethod
    def dense(cls, values: NDArray[Any], dtype: str | None = None) -> Weight:
        """An unquantized matrix [n, k] of f16 or f32, or of bf16 as uint16; it is not copied."""
        names = {"float16": "f16", "float32": "f32", "uint16": "bf16"}
        if values.ndim != 2 or str(values.dtype) not in names:
            raise ArgumentError(f"a weight is a matrix of float16, float32, or of bf16 as uint16; this is {values.dtype}")
        x = np.ascontiguousarray(values)
        w = new("hexc_weight", format=b"dense", n=x.shape[0], k=x.shape[1], bytes=x.nbytes)
        plane = w.plane[0]
        plane.dtype = (dtype or names[str(x.dtype)]).encode()
        plane.rows, plane.cols, plane.group, plane.data, plane.bytes = *x.shape, 1, x.ctypes.data, x.nbytes
        return cls(borrowed(ctypes.addressof(w), w, x))

    def numpy(self) -> NDArray[np.float32]:
        """W as f32, dequantized."""
        out, why = np.empty((self.n, self.k), np.float32), ctypes.create_string_buffer(WHY)
        at = out.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        code = function("hexc_weight_float")(self._pointer, at, None, why, WHY)
        if code:
            raise fail(code, text(why.value))
        return out


class WeightFile(Mapping[str, Weight]):
    """The quantized weights of a safetensors or GGUF file by name, loaded on access.

    ``kind`` is "safetensors" or "gguf"; ``tensors`` are all tensors; ``metadata`` is the file's metadata. The
    file is mapped into memory and must not be truncated meanwhile.

    ``config`` has the format data that tensors lack: the contents of the model's
    quantize_config.json or config.json, as JSON or as a mapping; ``{"checkpoint_format":
    "gptq_v2"}`` suffices for GPTQ's second version.
    """

    def __init__(
        self, path: str | os.PathLike[str], config: Mapping[str, object] | str | bytes | None = None
    ) -> None:
        out, why = ctypes.c_void_p(), ctypes.create_string_buffer(WHY)
        code = function("hexc_file_open")(ctypes.byref(out), os.fsencode(path), why, WHY)
        if code:
            raise fail(code, f"{os.fspath(path)}: {text(why.value)}")
        assert out.value
        self._owned = Owned(out.value, "hexc_file_close")
        if config is not None:
            said = json.dumps(config) if isinstance(config, Mapping) else config
            stated = said.encode() if isinstance(said, str) else said
            code = function("hexc_file_config")(self._owned.pointer, stated, len(stated), why, WHY)
            if code:
                raise fail(code, f"{os.fspath(path)}: {text(why.value)}")
        self.kind = text(function("hexc_file_kind")(self._owned.pointer))
        self.tensors = {t.name: t for t in self._tensors()}
        self.metadata = dict(self._metadata())
        self._names = tuple(self._weights())

    def _tensors(self) -> Iterator[Tensor]:
        t, i = new("hexc_file_tensor"), 0
        while function("hexc_file_tensor_at")(self._owned.pointer, i, ctypes.byref(t)):
            yield Tensor(text(t.name), text(t.type), text(t.dtype), tuple(t.dim[: t.rank]), t.bytes)
            i += 1

    def _metadata(self) -> Iterator[tuple[str, str]]:
        key, value, i = ctypes.c_char_p(), ctypes.c_char_p(), 0
        while function("hexc_file_meta")(self._owned.pointer, i, ctypes.byref(key), ctypes.byref(value)):
            yield text(key.value), text(value.value)
            i += 1

    def _weights(self) -> Iterator[str]:
        w, i = new("hexc_weight"), 0
        while function("hexc_file_weight")(self._owned.pointer, i, ctypes.byref(w)):
            yield text(w.name)
            i += 1

    def __getitem__(self, name: str) -> Weight:
        if name not in self._names:
            raise KeyError(name)
        out, why = _WEIGHT(), ctypes.create_string_buffer(WHY)
        code = function("hexc_weight_load")(ctypes.byref(out), self._owned.pointer, os.fsencode(name), None, why, WHY)
        if code:
            raise fail(code, text(why.value))
        return Weight(_owned_weight(out, self._owned))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Linear:
    """C[m, n] = sum_k A[m, k] W[n, k] for a weight packed on a device.

    ``settings`` are the operator's: ACT and OUT (element types), tunables, ``tensors`` and ``epilogue``
    (:func:`operator`). ``like`` is another Linear of this device; equal kernels are shared, so that nothing is
    compiled. ``params`` are the remaining arguments; ``operator`` is the compiled operator; ``nbytes`` the
    weight's size on the device.

    Raises :class:`ArgumentError` if no operator supports such a weight, or a setting is rejected.

    >>> import numpy as np
    >>> w = Weight.quantize(np.eye(32, 64), "Q8_0")
    >>> linear = Linear(w, simulator(80), epilogue="x + 1.0")
    >>> linear.run(A=np.ones((2, 64), np.float16))["C"].sum()
    np.float16(128.0)
    """

    def __init__(
        self,
        weight: Weight,
        device: Device,
        settings: Mapping[str, int | str] | None = None,
        *,
        like: Linear | None = None,
        cache: Cache | None = None,
        families: str | None = None,
        **more: int | str,
    ) -> None:
        everything = dict(settings or {}) | more
        out, why = ctypes.c_void_p(), ctypes.create_string_buffer(8 * WHY)
        options = op_opts(None, cache, families, False)
        with device._lock:
            code = function("hexc_linear_new")(
                ctypes.byref(out),
                device._pointer,
                weight._pointer,
                like._owned.pointer if like else None,
                op_set(everything),
                len(everything),
                ctypes.byref(options),
                None,
                why,
                8 * WHY,
            )
        if code:
            raise refused(code, text(why.value))
        self._owned: Owned = device._owns(out.value, "hexc_linear_free")
        self._owned.keep(device, like and like._owned)
        self._calls = Calls()
        self.device = device
        self.n, self.k = weight.n, weight.k
        pointer = ctypes.c_void_p(out.value)
        self.nbytes: int = function("hexc_linear_bytes")(pointer)
        self.operator = Operator(borrowed(function("hexc_linear_op")(pointer), self._owned))
        self.name = self.operator.name
        mine = {"A", "C", "M"} | set(re.findall(r"(\w+)\s*:", str(everything.get("tensors", ""))))
        self.params = tuple(p for p in self.operator.params if p.name in mine)

    def run(self, **args: ArrayLike) -> Run:
        """The product with NumPy arrays, on the weight's device; the result contains C."""
        from ._sim import run_on

        return run_on(self, args, self.device, "")

    def launch(self, *, stream: StreamLike = None, **args: TensorLike | int | float) -> None:
        """Launches it in place, as :meth:`Kernel.launch`."""
        from ._gpu import launch

        launch(self, args, stream, self.device)

    def _bound(self, values: Mapping[str, object], shape_of: ShapeOf) -> FamilyArguments:
        everything = dict(values)
        for name, size in (("N", self.n), ("K", self.k)):
            if any(p.name == name for p in self.operator.params):
                everything.setdefault(name, size)
        sized = type("Sized", (), {"name": self.name, "params": (*self.params, *self._sizes())})
        return FamilyArguments(self.operator, everything, shape_of, sized)

    def _sizes(self) -> list[Any]:
        return [p for p in self.operator.params if p.kind == "size" and p not in self.params]

    def _enqueue(self, gpu: Device, bound: Arguments, stream: int | None) -> None:
        def make(gpu: Device, out: ctypes.c_void_p) -> Owned:
            gpu._call("hexc_linear_call", self._owned.pointer, ctypes.byref(out))
            return self._owned

        self._calls.launch(gpu, bound, self.operator.params, stream, make)
