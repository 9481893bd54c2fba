"""GPUs, and the simulator as one: their memory, streams and events (hexc_gpu.h).

The library works in a GPU's primary context, shared with torch and others: their addresses
and streams are valid here.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._abi import NUMBERS, function, new
from ._cache import Cache
from ._errors import ArgumentError, DeviceError, FaultError, HexcError
from ._module import WHY, Owned, code_name, fail, text


class _Lock:
    """A reentrant lock, held while a device is in use.

    Objects freed by finalizers wait in ``dead`` while another thread holds the lock. Finalizers run in any
    thread at any time, so that waiting for the locks of two devices could deadlock.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.dead: deque[tuple[Callable[[], object], object]] = deque()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self.sweep()

    def sweep(self) -> None:
        """Frees dead objects, unless another thread holds the lock and will do it."""
        while self.dead and self._lock.acquire(blocking=False):
            try:
                free, _keep = self.dead.popleft()
                free()
            except IndexError:  # by another thread
                pass
            finally:
                self._lock.release()


class Device:
    """A GPU, or the simulator as a device; :func:`device` and :func:`simulator` return it.

    ``name``; ``arch`` to compile for, "" if it supports none; ``capability``, 90 for 9.0; ``sms``,
    its multiprocessors; ``l2``, ``memory`` and ``shared``, of a block, in bytes. Any number of threads may use it; calls into
    the library are serialized.
    """

    def __init__(self, number: int) -> None:
        out, why = ctypes.c_void_p(), ctypes.create_string_buffer(WHY)
        self.number = number
        self.simulated = number < 0
        self.lost = False  # a kernel failed there, and the device is unusable
        if self.simulated:
            function("sim_open")  # loads the library: otherwise the system's loader would search for it
        self._lock = _Lock()
        if function("hexc_gpu_open")(ctypes.byref(out), number, why, WHY):
            raise DeviceError(text(why.value), "E_DEVICE")
        assert out.value
        self._owned = Owned(out.value, "hexc_gpu_close")
        self._cache: Cache | None = None
        info = new("hexc_gpu_info")
        function("hexc_gpu_describe")(self._pointer, ctypes.byref(info))
        self.name = text(info.name)
        self.arch = text(info.arch)
        self.capability: int = info.capability
        self.sms: int = info.sms
        self.l2: int = info.l2
        self.memory: int = info.memory
        self.shared: int = info.shared

    def __repr__(self) -> str:
        return f"<hexc.Device {self.name}>"

    @property
    def _pointer(self) -> ctypes.c_void_p:
        return self._owned.pointer

    def _call(self, name: str, *args: Any, why: str = "hexc_gpu_why", of: ctypes.c_void_p | None = None) -> None:
        """Calls a function; ``why`` describes its errors, of the device unless ``of`` is another object."""
        with self._lock:
            code = function(name)(*args)
            said = text(function(why)(of or self._pointer)) if code else ""
        if code:
            error = _error(code, said)
            self.lost = self.lost or isinstance(error, FaultError)
            raise error

    def _owns(self, value: int | None, free: str, *leading: Any) -> Owned:
        def later(pointer: ctypes.c_void_p, keep: object) -> None:
            self._lock.dead.append((lambda: function(free)(*leading, pointer), keep))
            self._lock.sweep()

        return Owned(value or 0, later)

    def keep_in(self, cache: Cache | None) -> None:
        """From now on, stores the driver's cubins in this cache and loads them from it; None: no cache."""
        self._call("hexc_gpu_cache", self._pointer, cache._owned.pointer if cache else None)
        self._cache = cache

    def stream(self) -> Stream:
        """A new stream, which does not wait for the default one."""
        return Stream(self)

    def event(self) -> Event:
        """A new event."""
        return Event(self)

    def wait(self) -> None:
        """Waits for all launches; raises :class:`FaultError` if a kernel failed."""
        self._call("hexc_gpu_wait", self._pointer)


def _error(code: int, why: str) -> HexcError:
    kinds = {"E_DEVICE": DeviceError, "E_FAULT": FaultError}
    name = code_name(code)
    return kinds[name](why, name) if name in kinds else fail(code, why)


_opening = threading.Lock()
_opened: dict[int, Device] = {}


def device(number: int = 0) -> Device:
    """The GPU with this index, after CUDA_VISIBLE_DEVICES; opened at the first call.

    Raises :class:`DeviceError` if there is none.
    """
    with _opening:
        found = _opened.get(number)
        if found is None or (found.lost and found.simulated):
            found = _opened[number] = Device(number)
        return found


def simulator(capability: int = 80) -> Device:
    """The simulator as a device of this compute capability, with separate memory. Launches run synchronously,
    with all checks of the simulator. After a fault, which invalidates its arrays, this returns a new device.

    >>> gpu = simulator(90)
    >>> gpu.arch, gpu.simulated
    ('sm_90a', True)
    """
    return device(NUMBERS["HEXC_SIMULATOR(90)"] // 90 * capability)


def simulator_of(arch: str) -> Device:
    """The simulated device that runs PTX for this arch."""
    return simulator(int("".join(c for c in arch if c.isdigit())))


class HasStream(Protocol):
    """A stream of another library, by NVIDIA's protocol; torch's streams are accepted too."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


class Stream:
    """A stream of a device; its launches run in order. Freed with the last reference."""

    def __init__(self, device: Device) -> None:
        self.device = device
        out = ctypes.c_void_p()
        device._call("hexc_stream_new", ctypes.byref(out), device._pointer)
        self._owned = device._owns(out.value, "hexc_stream_free", device._pointer)

    @property
    def handle(self) -> int:
        """Its CUstream."""
        return self._owned.pointer.value or 0

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def wait(self) -> None:
        """Waits for all work in it; raises :class:`FaultError` if a kernel failed."""
        Event(self.device).record(self).wait()


def stream_handle(stream: object) -> int | None:
    """The CUstream for an argument ``stream``; None: the default stream.

    >>> class Theirs:
    ...     def __cuda_stream__(self): return (0, 7)
    >>> stream_handle(7), stream_handle(Theirs())
    (7, 7)
    """
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    if hasattr(stream, "cuda_stream"):  # torch's
        return int(stream.cuda_stream)
    raise ArgumentError(f"a stream is a handle, or has __cuda_stream__; this is a {type(stream).__name__}")


class Event:
    """A point in a stream; two events measure the time between them.

    >>> gpu = simulator(80)
    >>> first, last = gpu.event().record(), gpu.event().record()
    >>> last.wait()
    >>> last.since(first) >= 0
    True
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        out = ctypes.c_void_p()
        device._call("hexc_event_new", ctypes.byref(out), device._pointer)
        self._owned = device._owns(out.value, "hexc_event_free")

    @property
    def handle(self) -> int:
        """Its CUevent."""
        return function("hexc_event_handle")(self._owned.pointer) or 0

    def record(self, stream: Stream | HasStream | int | None = None) -> Event:
        """Records the event after the current work of the stream (None: the default one)."""
        self.device._call("hexc_event_record", self._owned.pointer, stream_handle(stream))
        return self

    def wait(self) -> None:
        """Waits for all work before it; raises :class:`FaultError` if a kernel failed."""
        self.device._call("hexc_event_wait", self._owned.pointer)

    def since(self, before: Event) -> float:
        """Microseconds since the other event; both must have been recorded and waited for."""
        us = ctypes.c_double()
        self.device._call("hexc_event_us", before._owned.pointer, self._owned.pointer, ctypes.byref(us))
        return us.value


class DeviceArray:
    """An array in device memory, for programs without torch: contiguous, freed with the last reference.

    Other libraries share its memory without a copy through ``__cuda_array_interface__`` and DLPack. Simulated
    devices do not share theirs, because their addresses are not valid elsewhere.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device | int = 0, nbytes: int | None = None
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = _device_of(device)
        self.nbytes = math.prod(shape) * dtype.itemsize if nbytes is None else nbytes
        out = ctypes.c_void_p()
        self.device._call("hexc_gpu_alloc", self.device._pointer, self.nbytes, ctypes.byref(out))
        self._memory = self.device._owns(out.value, "hexc_gpu_free", self.device._pointer)

    @property
    def address(self) -> int:
        """The device address."""
        return self._memory.pointer.value or 0

    def _shared(self, how: str) -> None:
        if self.device.simulated:
            raise AttributeError(f"the memory of a simulated device is not shared by {how}")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self._shared("__cuda_array_interface__")
        data = (self.address, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": None, "version": 3}

    def __dlpack_device__(self) -> tuple[int, int]:
        from ._dlpack import CUDA

        self._shared("DLPack")
        return (CUDA, self.device.number)

    def __dlpack__(self, *, stream: int | None = None, **how: object) -> object:
        """A DLPack capsule; its consumer may keep the memory. ``stream``, if given, is the stream on which the
        consumer reads; earlier launches are waited for."""
        from ._dlpack import export

        self._shared("DLPack")
        if stream != -1:
            self.device.wait()
        return export(self)

    def numpy(self) -> NDArray[Any]:
        """A copy in host memory; waits for launches on the default stream (others: :meth:`Stream.wait`).

        Raises :class:`FaultError` if a kernel failed.
        """
        out = np.empty(self.shape, self.dtype)
        assert out.nbytes == self.nbytes
        self._read(out.ctypes.data, self.nbytes)
        return out

    def _read(self, to: int, nbytes: int) -> None:
        self.device._call("hexc_gpu_read", self.device._pointer, to, self.address, nbytes)

    def _write(self, source: int, nbytes: int) -> None:
        self.device._call("hexc_gpu_write", self.device._pointer, self.address, source, nbytes)


def _device_of(which: Device | int) -> Device:
    return which if isinstance(which, Device) else device(which)


def to_device(array: ArrayLike, device: Device | int = 0) -> DeviceArray:
    """A copy of a NumPy array in the memory of a device, or of the GPU with this index.

    >>> to_device([1, 2, 3], simulator(80)).numpy().tolist()
    [1, 2, 3]
    """
    host = np.asarray(array, order="C")
    out = DeviceArray(host.shape, host.dtype, device)
    out._write(host.ctypes.data, host.nbytes)
    return out
