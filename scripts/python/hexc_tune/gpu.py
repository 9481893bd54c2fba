"""This host's GPU: the driver's data, and whether its clocks stay constant during a measurement.

libcuda.so.1 and libnvidia-ml.so.1 are called directly; without one of them its data is missing.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass, field
from types import TracebackType

# CUdevice_attribute of cuda.h
MULTIPROCESSORS, CLOCK_KHZ, MAJOR, MINOR = 16, 13, 75, 76
# nvml.h: reasons for reduced clocks, except idling and user settings
THROTTLED = {0x4: "power cap", 0x8: "slowdown", 0x20: "thermal, software", 0x40: "thermal", 0x80: "power brake"}
SM_CLOCK = 1


@dataclass(frozen=True)
class Gpu:
    """One device: sms multiprocessors, their clock in MHz, capability as 80 for 8.0."""

    name: str
    driver: int
    sms: int
    mhz: float
    capability: int
    bus: str


def find(ordinal: int = 0) -> Gpu | None:
    """The device that hexc would use, or None: no driver, no device."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    number, device = ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(number)) or number.value <= ordinal:
        return None
    if cuda.cuDeviceGet(ctypes.byref(device), ordinal):
        return None

    def attribute(which: int) -> int:
        value = ctypes.c_int()
        return 0 if cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device) else value.value

    name = ctypes.create_string_buffer(200)
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDriverGetVersion(ctypes.byref(number))
    bus = ctypes.create_string_buffer(32)
    if not hasattr(cuda, "cuDeviceGetPCIBusId") or cuda.cuDeviceGetPCIBusId(bus, len(bus), device):
        bus.value = b""
    capability = 10 * attribute(MAJOR) + attribute(MINOR)
    return Gpu(name.value.decode(), number.value, attribute(MULTIPROCESSORS) or 1, attribute(CLOCK_KHZ) / 1000 or 1000,
               capability, bus.value.decode())


def arch_of(capability: int, archs: list[str]) -> str | None:
    """The arch of ``hexc --list-archs`` to compile for: the newest that the device runs.

    PTX for an arch with a suffix letter runs only on its own capability, other PTX on newer
    devices too (PTX ISA, .target).
    """
    fit = [a for a in archs if (number := int("".join(c for c in a if c.isdigit()))) == capability
           or number < capability and a[-1].isdigit()]
    return max(fit, key=lambda a: int("".join(c for c in a if c.isdigit())), default=None)


@dataclass
class Clocks:
    """Observed during a measurement: MHz of the multiprocessors, and reasons for reduced clocks."""

    mhz: list[int] = field(default_factory=list)
    reasons: int = 0

    def summary(self) -> dict[str, object]:
        """For the database; empty without observations."""
        if not self.mhz:
            return {}
        why = [text for bit, text in THROTTLED.items() if self.reasons & bit]
        return {"mhz_least": min(self.mhz), "mhz_most": max(self.mhz), "throttled": why}


class Watch:
    """``with Watch(bus) as clocks``: queries NVML every 20 ms until exit; records nothing without NVML."""

    def __init__(self, bus: str) -> None:
        self.clocks, self._stop, self._thread = Clocks(), threading.Event(), None
        self._nvml, self._device = _open_nvml(bus)

    _thread: threading.Thread | None

    def __enter__(self) -> Clocks:
        if self._nvml:
            self._look()
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return self.clocks

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        if self._thread:
            self._thread.join()
            self._look()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            self._look()

    def _look(self) -> None:
        assert self._nvml
        mhz, reasons = ctypes.c_uint(), ctypes.c_ulonglong()
        if not self._nvml.nvmlDeviceGetClockInfo(self._device, SM_CLOCK, ctypes.byref(mhz)):
            self.clocks.mhz.append(mhz.value)
        if not self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._device, ctypes.byref(reasons)):
            self.clocks.reasons |= reasons.value


def _open_nvml(bus: str) -> tuple[ctypes.CDLL | None, ctypes.c_void_p]:
    device = ctypes.c_void_p()
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None, device
    if nvml.nvmlInit_v2():
        return None, device
    if bus:
        bad = nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(device))
    else:
        bad = nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
    return (None if bad else nvml), device
