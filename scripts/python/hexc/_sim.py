"""Kernels on NumPy arrays, through the simulator (libhexc_sim)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._abi import NUMBERS, STRUCT, address, array, function, new
from ._args import Bound, Target, know
from ._errors import ArgumentError, FaultError, HexcError
from ._module import WHY, Kernel, Owned, Param, fail, text

if TYPE_CHECKING:
    from ._device import Device
    from ._gpu import Launchable

Array = NDArray[Any]


class Run(Mapping[str, Array]):
    """The results of a kernel: written tensors by name, its output, and counts.

    ``counts`` are those of sim.h, summed over the launch: ``threads`` and ``warps`` instructions, sectors of 32
    bytes read and written, wavefronts of shared memory, ...
    """

    def __init__(self, arrays: dict[str, Array], output: str, counts: dict[str, int]) -> None:
        self._arrays = arrays
        self.output = output
        self.counts = counts

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def numpy_type(dtype: str) -> np.dtype[Any]:
    """NumPy's type for elements of hexc's ``dtype``, or for their codes if NumPy has no such type.

    >>> [str(numpy_type(t)) for t in ("f16", "bf16", "u4", "i4", "i64")]
    ['float16', 'uint16', 'uint8', 'int8', 'int64']
    """
    found = function("hexc_dtype_find")(dtype.encode())
    if not found:
        raise ArgumentError(f"there is no element type {dtype}")
    kind, bits = chr(found.contents.npy), found.contents.bits
    if chr(found.contents.kind) == "i":  # narrow ones are signed here too
        kind = "i"
    size: int = max(8, 1 << (bits - 1).bit_length())
    return np.dtype(np.bool_) if kind == "b" else np.dtype(f"{kind}{size // 8}")


def _as_codes(p: Param, value: object) -> Array:
    """Converts the argument to NumPy's type for its elements. Values of a type that NumPy lacks keep their bits."""
    want = numpy_type(p.dtype)
    array = np.asarray(value)
    if array.dtype == want:
        return _in_range(p, array)
    if array.dtype.kind == "V" and array.dtype.itemsize == want.itemsize:
        return array.view(want)
    raise ArgumentError(f"{p.name} is {p.dtype}, passed as an array of {want}; this is one of {array.dtype}")


def _in_range(p: Param, array: Array) -> Array:
    if p.bits < 8 and array.size:
        low, high = (-(1 << (p.bits - 1)), 1 << (p.bits - 1)) if array.dtype.kind == "i" else (0, 1 << p.bits)
        if int(array.min()) < low or int(array.max()) >= high:
            raise ArgumentError(f"{p.name} is {p.dtype}, from {low} to {high - 1}; the array has {array.min()} to {array.max()}")
    return array


def _to_stream(codes: Array, bits: int) -> Array:
    """Packs codes of less than 8 bits contiguously, least significant bits first."""
    raw = codes.astype(np.uint8).reshape(-1, 1)
    return np.packbits(np.unpackbits(raw, axis=1, count=bits, bitorder="little"), bitorder="little")


def _from_stream(stream: Array, bits: int, count: int, dtype: np.dtype[Any]) -> Array:
    """
    >>> codes = np.array([1, 7, 2, 5, 3], np.uint8)
    >>> _from_stream(_to_stream(codes, 3), 3, 5, codes.dtype)
    array([1, 7, 2, 5, 3], dtype=uint8)
    """
    raw = np.unpackbits(stream, count=count * bits, bitorder="little").reshape(count, bits)
    codes = np.packbits(raw, axis=1, bitorder="little").reshape(count)
    if dtype.kind == "i":  # the sign is the highest bit
        return ((codes << (8 - bits)).view(np.int8) >> (8 - bits)).astype(dtype)
    return codes.astype(dtype)


@dataclass
class _Tensor:
    """A tensor argument and its bytes on the device."""

    p: Param
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    bytes: int

    @property
    def plain(self) -> bool:
        """Is it row-major and contiguous?"""
        dense = 1
        for d, s in zip(reversed(self.shape), reversed(self.stride), strict=True):
            if d != 1 and s != dense:
                return False
            dense *= d
        return True

    def send(self, array: Array) -> Array:
        if self.p.pack is not None:
            return self._packed("hexc_pack", self._natural(array), self.bytes)
        if self.plain:
            return self._natural(array)
        whole = np.zeros(self.bytes, np.uint8)
        self._view(whole)[...] = array
        return whole

    def receive(self, data: Array) -> Array:
        dtype, count = numpy_type(self.p.dtype), math.prod(self.shape)
        if self.p.pack is not None:
            data = self._packed("hexc_unpack", data, (count * self.p.bits + 7) // 8)
        elif not self.plain:
            return self._view(data).copy()
        if self.p.bits < 8:
            return _from_stream(data, self.p.bits, count, dtype).reshape(self.shape)
        return data.view(dtype).reshape(self.shape)

    def _natural(self, array: Array) -> Array:
        if self.p.bits < 8:
            return _to_stream(array, self.p.bits)
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def _view(self, data: Array) -> Array:
        dtype = numpy_type(self.p.dtype)
        if self.p.bits < 8:
            raise ArgumentError(f"{self.p.name} has elements of {self.p.bits} bits and strides: not supported here")
        steps = tuple(s * dtype.itemsize for s in self.stride)
        return np.lib.stride_tricks.as_strided(data.view(dtype), self.shape, steps)

    def _packed(self, name: str, data: Array, size: int) -> Array:
        # the packed operand is 4-byte aligned
        source, out = np.zeros(-(-data.size // 4), np.uint32), np.zeros(-(-size // 4), np.uint32)
        source.view(np.uint8)[: data.size] = data
        why = ctypes.create_string_buffer(WHY)
        dim = array(ctypes.c_int64, self.shape, self.p.name)
        pack = (self.p.pack or "").encode()
        code = function(name)(pack, len(self.shape), dim, source.ctypes.data, out.ctypes.data, None, why, WHY)
        if code:
            raise fail(code, text(why.value))
        return out.view(np.uint8)[:size]


class _Device:
    """A simulated GPU for one launch."""

    def __init__(self, bound: Bound) -> None:
        opened = function("sim_open")()
        if not opened:
            raise MemoryError("the simulator")
        self.sim = Owned(opened, "sim_close")
        self.bound = bound
        self.tensors: dict[str, _Tensor] = {}

    def place(self, slot: Any, p: Param, array: Array | None) -> None:
        tensor = _Tensor(p, self.bound.shape[p.name], self.bound.stride[p.name], self.bound.bytes(p))
        slot.ptr = function("sim_alloc")(self.sim.pointer, tensor.bytes, p.name.encode())
        slot.bytes = tensor.bytes
        if not slot.ptr:
            raise MemoryError(f"{tensor.bytes} bytes for {p.name} in the simulator")
        if array is not None and tensor.bytes:
            data = np.ascontiguousarray(tensor.send(array))
            function("sim_write")(self.sim.pointer, slot.ptr, data.ctypes.data, data.size)
        self.tensors[p.name] = tensor

    def fetch(self, slot: Any, name: str) -> Array:
        data = np.zeros(self.tensors[name].bytes, np.uint8)
        function("sim_read")(self.sim.pointer, slot.ptr, data.ctypes.data, data.size)
        return self.tensors[name].receive(data)

    def load(self) -> ctypes.c_void_p:
        ptx = function("hexc_ptx")(self.bound.kernel._handle, None)
        module, said = ctypes.c_void_p(), new("sim_message")
        code = function("sim_load")(self.sim.pointer, ptx, len(ptx), ctypes.byref(module))
        if code:
            function("sim_message_at")(self.sim.pointer, 0, ctypes.byref(said))
            raise HexcError(f"the simulator cannot run this PTX: line {said.line}: {text(said.text)}", "E_INTERNAL")
        return module

    def launch(self, grid: tuple[int, int, int], check: bool, threads: int) -> Owned:
        k = self.bound.kernel
        value = (ctypes.c_uint64 * NUMBERS["HEXC_MAX_PARAMS"])()
        args = (ctypes.c_void_p * NUMBERS["HEXC_MAX_PARAMS"])()
        code = function("hexc_launch_params")(k._handle, k._index, self.bound.arg, value, args)
        if code:
            raise fail(code)
        maps = (STRUCT["sim_tmap"] * k.nmap)()  # tensor maps, in the driver's encoding
        why = ctypes.create_string_buffer(WHY)
        behind = (ctypes.c_void_p * k.nmap).from_buffer(args, len(k.params) * ctypes.sizeof(ctypes.c_void_p))
        encode = address("sim_tmap_tiled")
        code = function("hexc_tensor_maps")(k._handle, k._index, self.bound.arg, encode, maps, behind, why, WHY)
        if code:
            raise fail(code, text(why.value))
        how = new("sim_launch", grid=grid, block=k.block, cluster=k.cluster, smem=k.smem, args=args)
        how.checks, how.counts, how.threads = int(check), 1, threads
        out = ctypes.c_void_p()
        code = function("sim_run")(
            self.sim.pointer, self.load(), k.name.encode(), ctypes.byref(how), ctypes.byref(out)
        )
        if not out.value:
            raise MemoryError("the simulator")
        result = Owned(out.value, "sim_result_free")
        if code:
            raise _fault(code, result)
        return result


def _fault(code: int, result: Owned) -> HexcError:
    said: list[str] = []
    fault = new("sim_fault")
    while function("sim_fault_at")(result.pointer, len(said), ctypes.byref(fault)):
        at = f"{text(fault.at.source)}:{fault.at.source_line}: " if fault.at.source else ""
        said.append(at + text(fault.text))
    why = text(function("sim_result_text")(result.pointer))
    return FaultError("\n".join(said) or why or text(function("sim_strerror")(code)), "E_FAULT")


def _counts(result: Owned) -> dict[str, int]:
    everything = function("sim_stats_of")(result.pointer).contents
    found = {name: int(getattr(everything.all, name)) for name, *_ in STRUCT["sim_counts"]._fields_}
    return found | {name: int(getattr(everything, name)) for name in ("mma", "mma_macs", "barriers", "blocks")}


def _given(target: Target, values: Mapping[str, object]) -> dict[str, Array]:
    """The tensors among the arguments, converted to their element types."""
    know(target, values)
    arrays = {p.name: _as_codes(p, values[p.name]) for p in target.params if p.kind == "tensor" and p.name in values}
    for p in target.params:
        if p.kind == "tensor" and p.read and p.name not in arrays:
            raise ArgumentError(f"{target.name} reads {p.name} ({p.dtype}[{', '.join(p.shape)}]): pass {p.name}=")
    return arrays


def run_on(target: Launchable, values: Mapping[str, object], which: Device | None, arch: str) -> Run:
    """:meth:`Family.run`"""
    from ._device import DeviceArray, simulator_of

    arrays = _given(target, values)
    bound = target._bound(dict(values) | arrays, lambda p, _: arrays[p.name].shape)
    gpu = which or simulator_of(arch)
    placed: dict[str, tuple[_Tensor, DeviceArray]] = {}
    for p in target.params:
        if p.kind != "tensor" or p.name not in bound.shape:
            continue
        tensor = _Tensor(p, bound.shape[p.name], bound.stride[p.name], bound.bytes(p))
        memory = DeviceArray((tensor.bytes,), np.dtype(np.uint8), gpu)
        if p.name in arrays:
            data = np.ascontiguousarray(tensor.send(arrays[p.name]))
            memory._write(data.ctypes.data, data.nbytes)
        bound.slot[p.name].ptr, bound.slot[p.name].bytes = memory.address, tensor.bytes
        placed[p.name] = (tensor, memory)
    bound.check()
    target._enqueue(gpu, bound, None)
    gpu.wait()
    found = {p.name: placed[p.name] for p in target.params if p.written and p.name in placed}
    return Run({name: tensor.receive(memory.numpy()) for name, (tensor, memory) in found.items()}, "", {})


def run(kernel: Kernel, values: Mapping[str, object], check: bool, threads: int) -> Run:
    """:meth:`Kernel.run`"""
    arrays = _given(kernel, values)
    bound = Bound(kernel, dict(values) | arrays, lambda p, _: arrays[p.name].shape)
    device = _Device(bound)
    slots = {p.name: slot for slot, p in zip(bound.arg, kernel.params, strict=False) if p.kind == "tensor"}
    for p in kernel.params:
        if p.kind == "tensor":
            device.place(slots[p.name], p, arrays.get(p.name))
    bound.check()
    grid = bound.grid()
    output, counts = "", dict[str, int]()
    if all(grid):
        result = device.launch(grid, check, threads)
        output = text(function("sim_result_output")(result.pointer, None))
        counts = _counts(result)
    return Run({p.name: device.fetch(slots[p.name], p.name) for p in kernel.params if p.written}, output, counts)
