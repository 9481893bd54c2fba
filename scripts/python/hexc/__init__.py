"""hexc: tile programs to PTX, from Python.

>>> import numpy as np
>>> a = np.arange(100, dtype=np.float32)
>>> program = "kernel twice(A: f32[N], C: out f32[N]) { grid(ceil(N, 64)); let i = block.x * 64; C[i :+ 64] = A[i :+ 64] * 2.0; }"
>>> c = compile(program)["twice"].run(A=a)["C"]
>>> bool((c == 2 * a).all())
True
"""

from ._errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    Diagnostic,
    FaultError,
    HexcError,
    LibraryError,
)
from ._async import Compilation, compile_async
from ._cache import Cache, CacheEntry, CacheInfo
from ._device import Device, DeviceArray, Event, Stream, device, simulator, to_device
from ._family import Bundle, Entry, Family, Line, bundle, compile_family
from ._library import archs, build_info
from ._module import Candidate, Kernel, Module, Param, compile, load
from ._ops import Operator, OperatorInfo, operator, operators
from ._plan import Buffer, Plan, PlanInfo
from ._sim import Run
from ._weights import Format, Linear, Tensor, Weight, WeightFile, formats

__all__ = [
    "ArgumentError",
    "Buffer",
    "Bundle",
    "Cache",
    "CacheEntry",
    "CacheInfo",
    "Candidate",
    "Compilation",
    "CompileError",
    "Device",
    "DeviceArray",
    "DeviceError",
    "Diagnostic",
    "Entry",
    "Event",
    "Family",
    "FaultError",
    "Format",
    "HexcError",
    "Kernel",
    "LibraryError",
    "Line",
    "Linear",
    "Module",
    "Operator",
    "OperatorInfo",
    "Param",
    "Plan",
    "PlanInfo",
    "Run",
    "Stream",
    "Tensor",
    "Weight",
    "WeightFile",
    "archs",
    "build_info",
    "bundle",
    "compile",
    "compile_async",
    "compile_family",
    "device",
    "formats",
    "load",
    "operator",
    "operators",
    "simulator",
    "to_device",
]

# Tracebacks and help show these names as imported.
for _name in __all__:
    globals()[_name].__module__ = "hexc"
