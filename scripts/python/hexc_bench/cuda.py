"""The CUDA driver by ctypes: modules, launches, times."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

# cuda.h: CUdevice_attribute, CUfunction_attribute
MULTIPROCESSORS, L2_BYTES, REGISTERS, SHARED_MOST = 16, 38, 4, 8
RELAXED = 2  # CUstreamCaptureMode


class CudaError(Exception):
    """The driver function and its error."""


class Cuda:
    """The primary context of a device, current in this thread until the process ends."""

    def __init__(self, ordinal: int = 0) -> None:
        try:
            self.lib = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise CudaError(f"there is no CUDA driver here: {error}") from None
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), ordinal)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxPushCurrent_v2", context)
        self.device = device
        self._events = [self._event(), self._event()]

    def call(self, name: str, *args: Any) -> None:
        """A driver function that raises :class:`CudaError` on failure."""
        function = getattr(self.lib, name, None)
        if function is None:
            raise CudaError(f"the driver has no {name}")
        code = function(*args)
        if code:
            text = ctypes.c_char_p()
            known = not self.lib.cuGetErrorString(code, ctypes.byref(text)) and text.value
            raise CudaError(f"{name}: {known.decode() if known else 'error'} ({code})")

    def _event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def attribute(self, which: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), which, self.device)
        return value.value

    def load(self, ptx: str, entry: str) -> ctypes.c_void_p:
        """A kernel from PTX text, compiled by the driver."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadDataEx", ctypes.byref(module), ptx.encode() + b"\0", 0, None, None)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        return function

    def alloc(self, size: int) -> int:
        """Zero-initialized memory."""
        ptr = ctypes.c_ulonglong()
        self.call("cuMemAlloc_v2", ctypes.byref(ptr), ctypes.c_size_t(size))
        self.fill(ptr.value, size)
        return ptr.value

    def free(self, ptr: int) -> None:
        self.call("cuMemFree_v2", ctypes.c_ulonglong(ptr))

    def fill(self, ptr: int, size: int, value: int = 0) -> None:
        self.call("cuMemsetD8Async", ctypes.c_ulonglong(ptr), ctypes.c_ubyte(value), ctypes.c_size_t(size), None)

    def read(self, ptr: int, count: int) -> list[int]:
        """``count`` unsigned 64-bit numbers, after all previous work."""
        out = (ctypes.c_ulonglong * count)()
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", out, ctypes.c_ulonglong(ptr), ctypes.c_size_t(8 * count))
        return list(out)

    def launch(self, function: ctypes.c_void_p, grid: int, block: int, args: Sequence[int], shared: int = 0) -> None:
        """All arguments are 64 bits wide."""
        values = [ctypes.c_ulonglong(a) for a in args]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        self.call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared, None, pointers, None)

    def microseconds(self, work: Callable[[], None]) -> float:
        """Between two events around it."""
        ms = ctypes.c_float()
        first, last = self._events
        self.call("cuEventRecord", first, None)
        work()
        self.call("cuEventRecord", last, None)
        self.call("cuEventSynchronize", last)
        self.call("cuEventElapsedTime", ctypes.byref(ms), first, last)
        return 1000 * ms.value

    def together(self, function: ctypes.c_void_p, block: int, shared: int) -> int:
        """Resident blocks of a kernel per SM."""
        count = ctypes.c_int()
        if shared > 48 << 10:
            self.call("cuFuncSetAttribute", function, SHARED_MOST, shared)
        self.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(count), function, block,
                  ctypes.c_size_t(shared))
        return count.value

    def wait(self, stream: int) -> None:
        """Waits for all work in a stream."""
        self.call("cuStreamSynchronize" if hasattr(self.lib, "cuStreamSynchronize") else "cuCtxSynchronize",
                  *([ctypes.c_void_p(stream)] if hasattr(self.lib, "cuStreamSynchronize") else []))

    def capture(self, stream: int, work: Callable[[], None]) -> Graph:
        """The launches of ``work`` in a stream, captured as a graph."""
        graph, exe = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), RELAXED)
        try:
            work()
        finally:
            self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        try:
            self.call("cuGraphInstantiateWithFlags", ctypes.byref(exe), graph, ctypes.c_ulonglong(0))
        finally:
            self.call("cuGraphDestroy", graph)
        return Graph(self, exe)

    def registers(self, function: ctypes.c_void_p) -> int | None:
        """Registers per thread; None if the driver does not report them."""
        count = ctypes.c_int()
        try:
            self.call("cuFuncGetAttribute", ctypes.byref(count), REGISTERS, function)
        except CudaError:
            return None
        return count.value


class Graph:
    """Captured launches."""

    def __init__(self, cuda: Cuda, exe: ctypes.c_void_p) -> None:
        self._cuda, self._exe = cuda, exe

    def launch(self, stream: int) -> None:
        self._cuda.call("cuGraphLaunch", self._exe, ctypes.c_void_p(stream))

    def end(self) -> None:
        self._cuda.call("cuGraphExecDestroy", self._exe)
