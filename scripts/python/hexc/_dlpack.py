"""DLPack: zero-copy memory sharing between libraries, by capsules around a C struct."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._errors import ArgumentError

if TYPE_CHECKING:
    from ._device import DeviceArray

CPU, CUDA = 1, 2  # kDLCPU, kDLCUDA
KINDS = {0: "i", 1: "u", 2: "f", 4: "", 6: "b"}  # for kDLInt, ..: NumPy's letters; "" if NumPy has none, as for bfloat
_NAME = b"dltensor"


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_Delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# Capsules are passed by address, because a capsule in destruction must not get another reference.
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)

_alive: dict[int, tuple[Any, ...]] = {}  # exported arrays in use, by the struct's address


def _delete(managed: int) -> None:
    _alive.pop(managed, None)


def _destroy(capsule: int) -> None:
    """The capsule was not consumed: a consumer would have renamed it."""
    if _valid(capsule, _NAME):
        _alive.pop(_pointer(capsule, _NAME), None)


_deleter, _destructor = _Delete(_delete), _Delete(_destroy)


def export(array: DeviceArray) -> object:
    """A capsule around the array's memory, which lives as long as its consumer needs it."""
    rank = len(array.shape)
    shape = (ctypes.c_int64 * rank)(*array.shape)
    strides = (ctypes.c_int64 * rank)(*(math.prod(array.shape[i + 1 :]) for i in range(rank)))
    code = {kind: code for code, kind in KINDS.items()}.get(array.dtype.kind)
    if code is None:
        raise BufferError(f"DLPack has no elements of type {array.dtype}")
    bits = array.dtype.itemsize * 8
    tensor = _DLTensor(array.address, CUDA, array.device.number, rank, code, bits, 1, shape, strides, 0)
    managed = _Managed(tensor, None, ctypes.cast(_deleter, ctypes.c_void_p))
    at = ctypes.addressof(managed)
    _alive[at] = (managed, shape, strides, array)
    return _new(at, _NAME, ctypes.cast(_destructor, ctypes.c_void_p))


@dataclass(frozen=True)
class Shared:
    """The contents of a capsule; strides in elements. ``capsule`` owns the memory."""

    capsule: object
    address: int
    device_type: int
    device: int
    kind: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def take(name: str, value: Any) -> Shared:
    """Imports the memory of an argument with ``__dlpack__``, for launches on the default stream."""
    kind, _ = value.__dlpack_device__()
    capsule = value.__dlpack__(stream=1) if kind == CUDA else value.__dlpack__()
    if not _valid(id(capsule), _NAME):
        raise ArgumentError(f"{name} gives no capsule of DLPack")
    t = ctypes.cast(_pointer(id(capsule), _NAME), ctypes.POINTER(_Managed)).contents.tensor
    if t.lanes != 1 or t.bits % 8 or t.code not in KINDS:
        raise ArgumentError(f"{name} has elements of DLPack's type {t.code}, {t.bits} bits, {t.lanes} lanes")
    shape = tuple(t.shape[: t.ndim])
    strides = tuple(t.strides[: t.ndim]) if t.strides else tuple(math.prod(shape[i + 1 :]) for i in range(t.ndim))
    at = (t.data or 0) + t.byte_offset
    return Shared(capsule, at, t.device_type, t.device_id, KINDS[t.code], t.bits // 8, shape, strides)
