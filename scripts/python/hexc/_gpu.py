"""Kernels on tensors in GPU memory, through the CUDA driver (hexc_gpu.h).

The library works in the device's primary context, which torch and others share: their addresses and streams are good
here.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._abi import function
from ._args import Bound, know
from ._errors import ArgumentError, DeviceError, FaultError, HexcError
from ._module import WHY, Kernel, Owned, Param, code_name, fail, text


class CudaArray(Protocol):
    """A tensor in GPU memory that other libraries may use; torch's are such tensors, too."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class _Device:
    """A GPU, used by one thread at a time."""

    def __init__(self, number: int) -> None:
        out, why = ctypes.c_void_p(), ctypes.create_string_buffer(WHY)
        self.number = number
        # A finalizer may run in a thread that is here already, between two calls of the library.
        self.lock = threading.RLock()
        if function("hexc_gpu_open")(ctypes.byref(out), number, why, WHY):
            raise DeviceError(text(why.value), "E_DEVICE")
        assert out.value
        self.owned = Owned(out.value, "hexc_gpu_close")

    def call(self, name: str, *args: Any) -> None:
        """A function whose failures hexc_gpu_why tells."""
        with self.lock:
            code = function(name)(*args)
            why = text(function("hexc_gpu_why")(self.owned.pointer)) if code else ""
        if code:
            raise _error(code, why)

    def owns(self, value: int, free: str, *leading: Any) -> Owned:
        def locked(pointer: ctypes.c_void_p) -> None:
            with self.lock:
                function(free)(*leading, pointer)

        return Owned(value, locked)


def _error(code: int, why: str) -> HexcError:
    kinds = {"E_DEVICE": DeviceError, "E_FAULT": FaultError}
    name = code_name(code)
    return kinds[name](why, name) if name in kinds else fail(code, why)


_opening = threading.Lock()


@functools.cache
def _opened(number: int) -> _Device:
    return _Device(number)


def device(number: int) -> _Device:
    """The GPU of this number, as CUDA_VISIBLE_DEVICES leaves them; opened when it is first asked for."""
    with _opening:
        return _opened(number)


class DeviceArray:
    """An array in GPU memory, for programs without torch: contiguous, freed with the last reference."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], number: int = 0) -> None:
        self.shape = shape
        self.dtype = dtype
        self._device = device(number)
        out = ctypes.c_void_p()
        self._device.call("hexc_gpu_alloc", self._device.owned.pointer, self.nbytes, ctypes.byref(out))
        self._memory = self._device.owns(out.value or 0, "hexc_gpu_free", self._device.owned.pointer)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._memory.pointer.value or 0, False),
            "strides": None,
            "version": 3,
        }

    def numpy(self) -> NDArray[Any]:
        """A copy in host memory; waits for what was launched on the default stream.

        Raises :class:`FaultError` where a kernel failed.
        """
        out = np.empty(self.shape, self.dtype)
        g = self._device.owned.pointer
        self._device.call("hexc_gpu_read", g, out.ctypes.data, self._memory.pointer, self.nbytes)
        return out


def to_device(array: ArrayLike, number: int = 0) -> DeviceArray:
    """A copy of a NumPy array in the memory of GPU ``number``."""
    host = np.ascontiguousarray(array)
    out = DeviceArray(host.shape, host.dtype, number)
    out._device.call("hexc_gpu_write", out._device.owned.pointer, out._memory.pointer, host.ctypes.data, host.nbytes)
    return out


@dataclass(frozen=True)
class _View:
    """What a launch needs to know of a tensor; strides in elements, None: row-major."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str  # NumPy's letter; "" where it has none
    itemsize: int
    device: int | None
    stream: int | None
    readonly: bool


_TORCH_KINDS = {"torch.float16": "f", "torch.float32": "f", "torch.float64": "f", "torch.bool": "b"}


def _torch_view(name: str, tensor: Any) -> _View:
    if not tensor.is_cuda:
        raise ArgumentError(f"{name} is a tensor on {tensor.device}, not on a GPU")
    kind = _TORCH_KINDS.get(str(tensor.dtype), "")
    if not kind and not tensor.dtype.is_floating_point:
        kind = "i" if tensor.dtype.is_signed else "u"
    number = tensor.device.index
    stream = sys.modules["torch"].cuda.current_stream(number).cuda_stream
    return _View(
        tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), kind, tensor.element_size(), number, stream, False
    )


def _view(name: str, value: object) -> _View:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _torch_view(name, value)
    try:
        said: dict[str, Any] = value.__cuda_array_interface__  # type: ignore[attr-defined]
    except AttributeError:
        raise ArgumentError(
            f"{name} is a {type(value).__name__}: a tensor in GPU memory is wanted (torch, __cuda_array_interface__)"
        ) from None
    dtype, shape = np.dtype(said["typestr"]), tuple(said["shape"])
    if said.get("strides") is None:
        strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    else:
        strides = tuple(s // dtype.itemsize for s in said["strides"])
    address, readonly = said["data"]
    return _View(address, shape, strides, dtype.kind, dtype.itemsize, None, said.get("stream"), readonly)


def _in_device_form(p: Param) -> bool:
    """Are its elements bytes that are not one for one those of an array?"""
    return p.pack is not None or p.bits < 8


def _shape_of(p: Param, view: _View) -> tuple[int | None, ...]:
    rank = len(p.shape)
    if p.pack is not None or (p.bits < 8 and len(view.shape) != rank):
        return (None,) * rank
    return (*view.shape[:-1], None) if p.bits < 8 else view.shape


def _check_view(bound: Bound, p: Param, view: _View) -> None:
    """Element type, strides and permission; the library checks the address and its bytes."""
    if p.written and view.readonly:
        raise ArgumentError(f"{p.name} is written, and the argument is read-only")
    if _in_device_form(p):
        want: tuple[int, ...] = tuple(math.prod(view.shape[i + 1 :]) for i in range(len(view.shape)))
    else:
        kind = chr(function("hexc_dtype_find")(p.dtype.encode()).contents.npy)
        if view.itemsize * 8 != p.bits or (view.kind and kind != view.kind and view.kind not in "uV"):
            raise ArgumentError(
                f"{p.name} is {p.dtype}; the argument has elements of {view.itemsize} bytes ({view.kind or 'other'})"
            )
        want = bound.stride[p.name]
    if any(h != w and d > 1 for d, h, w in zip(view.shape, view.strides, want, strict=True)):
        raise ArgumentError(f"{p.name} has strides {list(want)}; the argument has {list(view.strides)}")


def _span(view: _View) -> int:
    """Bytes from the first element to the end of the last."""
    if math.prod(view.shape) == 0:
        return 0
    last = sum((d - 1) * s for d, s in zip(view.shape, view.strides, strict=True))
    return (last + 1) * view.itemsize


def _only(what: str, found: set[int]) -> int | None:
    if len(found) > 1:
        raise ArgumentError(f"the tensors are on several {what}s ({', '.join(map(str, sorted(found)))}): pass {what}=")
    return next(iter(found), None)


def _loaded(kernel: Kernel, gpu: _Device) -> Owned:
    with gpu.lock:
        found = kernel._loaded.get(gpu.number)
        if found is None:
            out = ctypes.c_void_p()
            gpu.call("hexc_gpu_load", gpu.owned.pointer, kernel._handle, ctypes.byref(out))
            found = gpu.owns(out.value or 0, "hexc_gpu_unload")
            found.keep = (kernel._owned, gpu)
            kernel._loaded[gpu.number] = found
        return found


def launch(kernel: Kernel, values: Mapping[str, object], stream: int | None, number: int | None) -> None:
    """:meth:`Kernel.launch`"""
    know(kernel, values)
    views: dict[str, _View] = {}
    for p in kernel.params:
        if p.kind == "tensor":
            if p.name not in values:
                raise ArgumentError(f"{kernel.name} needs {p.name} ({p.dtype}[{', '.join(p.shape)}])")
            views[p.name] = _view(p.name, values[p.name])
    bound = Bound(kernel, values, lambda p, _: _shape_of(p, views[p.name]))
    for slot, p in zip(bound.arg, kernel.params, strict=False):
        if p.kind == "tensor":
            view = views[p.name]
            _check_view(bound, p, view)
            slot.ptr, slot.bytes = view.address, _span(view)
    if stream is None:
        stream = _only("stream", {v.stream for v in views.values() if v.stream is not None})
    if number is None:
        number = _only("device", {v.device for v in views.values() if v.device is not None})
    bound.check()
    gpu = device(number or 0)
    gpu.call("hexc_gpu_launch_on", _loaded(kernel, gpu).pointer, kernel._index, bound.arg, stream)


def wait(number: int = 0) -> None:
    """Wait for all that was launched on GPU ``number``; raises :class:`FaultError` where a kernel failed."""
    gpu = device(number)
    gpu.call("hexc_gpu_wait", gpu.owned.pointer)
