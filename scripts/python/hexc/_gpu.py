"""Launches on tensors in device memory, created by any library, without copies."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _dlpack
from ._abi import function
from ._args import Arguments, ShapeOf, Target, know
from ._device import Device, DeviceArray, HasStream, _device_of, device, stream_handle
from ._errors import ArgumentError
from ._module import Kernel, Owned, Param


class CudaArray(Protocol):
    """A tensor in GPU memory that other libraries may use, including torch's."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class HasDLPack(Protocol):
    """A tensor shared through DLPack."""

    def __dlpack__(self, *, stream: int | None = None) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


StreamLike: TypeAlias = HasStream | int | None
TensorLike: TypeAlias = DeviceArray | CudaArray | HasDLPack | NDArray[Any]


@dataclass(frozen=True)
class View:
    """The data of a tensor that a launch needs; strides in elements, None: row-major."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str  # NumPy's letter; "" if it has none
    itemsize: int
    device: int | None
    stream: int | None
    readonly: bool
    host: bool = False  # it is a host address
    keep: object = None
    type: str = ""  # hexc's name of an element type that NumPy lacks, if known


_TORCH_TYPES = {"torch.bfloat16": "bf16", "torch.float8_e4m3fn": "e4m3", "torch.float8_e5m2": "e5m2"}
_TORCH_KINDS = {"torch.float16": "f", "torch.float32": "f", "torch.float64": "f", "torch.bool": "b"}


def _torch_view(name: str, tensor: Any, on_host: bool) -> View:
    host = on_host and str(tensor.device) == "cpu"
    if not tensor.is_cuda and not host:
        raise ArgumentError(f"{name} is a tensor on {tensor.device}, not on a GPU")
    kind = _TORCH_KINDS.get(str(tensor.dtype), "")
    if not kind and not tensor.dtype.is_floating_point:
        kind = "i" if tensor.dtype.is_signed else "u"
    number, stream = None, None
    if not host:
        number = tensor.device.index
        stream = sys.modules["torch"].cuda.current_stream(number).cuda_stream
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    size, named = tensor.element_size(), _TORCH_TYPES.get(str(tensor.dtype), "")
    return View(tensor.data_ptr(), shape, strides, kind, size, number, stream, False, host, tensor, named)


def _steps(strides: tuple[int, ...] | None, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Converts strides from bytes to elements."""
    if strides is None:
        return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return tuple(s // itemsize for s in strides)


def _dlpack_view(name: str, value: object, on_host: bool) -> View:
    s = _dlpack.take(name, value)
    host = s.device_type == _dlpack.CPU
    if s.device_type != _dlpack.CUDA and not (host and on_host):
        raise ArgumentError(f"{name} is in memory of DLPack's device type {s.device_type}, not on a GPU")
    number = None if host else s.device
    named = "" if s.kind else "bf16"
    return View(s.address, s.shape, s.strides, s.kind, s.itemsize, number, None, False, host, s.capsule, named)


def view_of(name: str, value: object, on_host: bool) -> View:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _torch_view(name, value, on_host)
    if isinstance(value, DeviceArray):
        steps = _steps(None, value.shape, 0)
        number = value.device.number
        return View(value.address, value.shape, steps, value.dtype.kind, value.dtype.itemsize, number, None, False)
    if on_host and isinstance(value, np.ndarray):
        a, readonly = value, not value.flags.writeable
        steps = _steps(a.strides, a.shape, a.itemsize)
        return View(a.ctypes.data, a.shape, steps, a.dtype.kind, a.itemsize, None, None, readonly, True, a)
    said: dict[str, Any] | None = getattr(value, "__cuda_array_interface__", None)
    if said is None:
        if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
            return _dlpack_view(name, value, on_host)
        raise ArgumentError(
            f"{name} is a {type(value).__name__}: a tensor in GPU memory is wanted (torch, __cuda_array_interface__, DLPack)"
        )
    dtype, shape = np.dtype(said["typestr"]), tuple(said["shape"])
    address, readonly = said["data"]
    steps = _steps(said.get("strides"), shape, dtype.itemsize)
    return View(address, shape, steps, dtype.kind, dtype.itemsize, None, said.get("stream"), readonly)


def _in_device_form(p: Param) -> bool:
    """Do its elements in device memory differ from those of an array?"""
    return p.pack is not None or p.bits < 8


def shape_of(p: Param, view: View) -> tuple[int | None, ...]:
    rank = len(p.shape)
    if p.pack is not None or (p.bits < 8 and len(view.shape) != rank):
        return (None,) * rank
    return (*view.shape[:-1], None) if p.bits < 8 else view.shape


def check_view(bound: Arguments, p: Param, view: View) -> None:
    """Checks element type, strides and permission; the library checks the address and its bytes."""
    if p.written and view.readonly:
        raise ArgumentError(f"{p.name} is written, and the argument is read-only")
    if _in_device_form(p):
        want: tuple[int, ...] = tuple(math.prod(view.shape[i + 1 :]) for i in range(len(view.shape)))
    else:
        if view.type and view.type != p.dtype:
            raise ArgumentError(f"{p.name} is {p.dtype}; the argument is {view.type}")
        kind = chr(function("hexc_dtype_find")(p.dtype.encode()).contents.npy)
        if view.itemsize * 8 != p.bits or (view.kind and kind != view.kind and view.kind not in "uV"):
            raise ArgumentError(
                f"{p.name} is {p.dtype}; the argument has elements of {view.itemsize} bytes ({view.kind or 'other'})"
            )
        want = bound.stride[p.name]
    if any(h != w and d > 1 for d, h, w in zip(view.shape, view.strides, want, strict=True)):
        raise ArgumentError(f"{p.name} has strides {list(want)}; the argument has {list(view.strides)}")


def span(view: View) -> int:
    """Bytes from the first element to the end of the last one."""
    if math.prod(view.shape) == 0:
        return 0
    last = sum((d - 1) * s for d, s in zip(view.shape, view.strides, strict=True))
    return (last + 1) * view.itemsize


def _only(what: str, found: set[int]) -> int | None:
    if len(found) > 1:
        raise ArgumentError(f"the tensors are on several {what}s ({', '.join(map(str, sorted(found)))}): pass {what}=")
    return next(iter(found), None)


class Launchable(Target, Protocol):
    """An object that can be launched."""

    def _bound(self, values: Mapping[str, object], shape_of: ShapeOf) -> Arguments: ...
    def _enqueue(self, gpu: Device, bound: Arguments, stream: int | None) -> None: ...


def loaded(kernel: Kernel, gpu: Device) -> Owned:
    with gpu._lock:
        for lost in [other for other in kernel._loaded if other.lost]:
            kernel._loaded.pop(lost, None)
        found = kernel._loaded.get(gpu)
        if found is None:
            out = ctypes.c_void_p()
            gpu._call("hexc_gpu_load", gpu._pointer, kernel._handle, ctypes.byref(out))
            found = gpu._owns(out.value, "hexc_gpu_unload")
            found.keep(kernel._owned, gpu)
            kernel._loaded[gpu] = found
        return found


def enqueue(kernel: Kernel, gpu: Device, arg: Any, stream: int | None) -> None:
    """Launches one kernel."""
    gpu._call("hexc_gpu_launch_on", loaded(kernel, gpu).pointer, kernel._index, arg, stream)


def _target(views: Mapping[str, View], which: Device | int | None) -> Device:
    found = {v.device for v in views.values() if v.device is not None}
    if which is None:
        return device(_only("device", found) or 0)
    gpu = _device_of(which)
    if found - {gpu.number}:
        raise ArgumentError(f"the tensors are on other devices than {gpu.name}")
    return gpu


def _lend(gpu: Device, view: View) -> tuple[DeviceArray, int]:
    """A device copy of host memory, and its bytes."""
    size = span(view)
    copy = DeviceArray((size,), np.dtype(np.uint8), gpu)
    copy._write(view.address, size)
    return copy, size


def launch(target: Launchable, values: Mapping[str, object], stream: object, which: Device | int | None) -> None:
    """:meth:`Kernel.launch`"""
    know(target, values)
    on_host = which is not None and _device_of(which).simulated
    views: dict[str, View] = {}
    for p in target.params:
        if p.kind == "tensor":
            if p.name not in values:
                raise ArgumentError(f"{target.name} needs {p.name} ({p.dtype}[{', '.join(p.shape)}])")
            views[p.name] = view_of(p.name, values[p.name], on_host)
    bound = target._bound(values, lambda p, _: shape_of(p, views[p.name]))
    handle = stream_handle(stream)
    if handle is None:
        handle = _only("stream", {v.stream for v in views.values() if v.stream is not None})
    gpu = _target(views, which)
    lent: list[tuple[View, DeviceArray, int, bool]] = []
    for p in target.params:
        if p.kind != "tensor" or p.name not in bound.shape:
            continue
        view, slot = views[p.name], bound.slot[p.name]
        check_view(bound, p, view)
        slot.ptr, slot.bytes = view.address, span(view)
        if view.host:
            copy, size = _lend(gpu, view)
            slot.ptr = copy.address
            lent.append((view, copy, size, p.written))
    bound.check()
    target._enqueue(gpu, bound, handle)
    if lent:
        gpu.wait()
    for view, copy, size, written in lent:
        if written:
            copy._read(view.address, size)


def wait(number: int = 0) -> None:
    """Waits for all launches on GPU ``number``; raises :class:`FaultError` if a kernel failed."""
    device(number).wait()
