"""Runs programs of tree.py in the tile interpreter and on the simulator, through the package in scripts/python."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
import tree

import hexc
from hexc import _abi
from hexc._args import Bound
from hexc._errors import FaultError
from hexc._sim import _Device

WHY = 1000


class RunOpts(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("max_steps", ctypes.c_uint64),
        ("max_memory", ctypes.c_size_t),
        ("cancel", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
        ("print", ctypes.c_void_p),
        ("why", ctypes.c_char_p),
        ("why_size", ctypes.c_size_t),
        ("workers", ctypes.c_void_p),
        ("noise", ctypes.c_uint64),
        ("noise_times", ctypes.c_double),
        ("value", ctypes.c_void_p),
    ]


class Refused(Exception):
    """hexc does not compile the program."""


class Failed(Exception):
    """A fault."""


def poison(dtype: np.dtype, n: int) -> np.ndarray:
    if dtype.kind == "f":
        return np.full(n, np.nan, dtype)
    return np.frombuffer(b"\x7f" * (n * dtype.itemsize), dtype).copy()


AROUND = 64  # elements in front of and behind each tensor


class Memory:
    """A tensor's elements with poison around and between them."""

    def __init__(self, x: np.ndarray, pad: int, bits: int = 0) -> None:
        if bits == 4:  # two elements a byte, the first in the low half
            codes = np.append(x.reshape(-1), np.full(x.size % 2, 15, np.uint8))
            x = (codes[0::2] | codes[1::2] << 4).astype(np.uint8)
            pad = 0
        row = x.shape[-1] + pad
        self.steps = [1]
        for n in reversed(x.shape[1:]):
            self.steps.insert(0, row if len(self.steps) == 1 else self.steps[0] * n)
        if x.ndim == 1:
            self.steps = [1]
        span = 1 + sum((n - 1) * s for n, s in zip(x.shape, self.steps, strict=True)) if x.size else 0
        self.all = poison(x.dtype, span + 2 * AROUND)
        self.span = span
        self.inner = self.all[AROUND : AROUND + span]
        self.shape = x.shape
        if x.size:
            self.view()[...] = x

    def view(self) -> np.ndarray:
        steps = tuple(s * self.all.itemsize for s in self.steps)
        return np.lib.stride_tricks.as_strided(self.inner, self.shape, steps)


def memory(p: tree.Program) -> dict[str, Memory]:
    out = {t.name: Memory(t.poisoned(), t.pad, 4 if t.dtype == "u4" else 0) for t in p.tensors}
    for name, dtype, shape in tree.outputs(p):
        out[name] = Memory(np.full(shape, tree.first_value(p, name, dtype), tree.model.NUMPY[dtype]), 0)
    return out


def arguments(p: tree.Program, kernel: Any, memories: dict[str, Memory]) -> Bound:
    values: dict[str, Any] = dict(p.scalars)
    for t in p.tensors:
        for d, (n, named) in enumerate(zip(t.size, t.named, strict=True)):
            if named:
                values[f"{t.name}n{d}"] = n
        if t.pad:
            for d, s in enumerate(memories[t.name].steps[:-1]):
                values[f"{t.name}s{d}"] = s
    known = {q.name for q in kernel.params}
    return Bound(kernel, {k: v for k, v in values.items() if k in known}, lambda q, _: ())


def compiled(text: str, **how: Any) -> Any:
    try:
        return hexc.compile(text, **how)["k"]
    except hexc.CompileError as e:
        raise Refused(str(e)) from None


def slots(bound: Bound, kernel: Any) -> dict[str, Any]:
    return {q.name: slot for slot, q in zip(bound.arg, kernel.params, strict=False) if q.kind == "tensor"}


def tile(p: tree.Program, text: str, stop: str = "parse") -> dict[str, np.ndarray]:
    kernel = compiled(text, stop=stop)
    memories = memory(p)
    bound = arguments(p, kernel, memories)
    for name, slot in slots(bound, kernel).items():
        m = memories[name]
        slot.ptr, slot.bytes = m.inner.ctypes.data, m.span * m.all.itemsize
    why = ctypes.create_string_buffer(WHY)
    opts = RunOpts(size=ctypes.sizeof(RunOpts), why=ctypes.cast(why, ctypes.c_char_p), why_size=WHY)
    f = _abi._library("hexc_").hexc_run_tile
    f.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    code = f(kernel._handle, kernel._index, ctypes.cast(bound.arg, ctypes.c_void_p), ctypes.byref(opts))
    if code:
        raise Failed(f"tile interpreter: {code}: {why.value.decode()}")
    return results(p, memories)


def results(p: tree.Program, memories: dict[str, Memory]) -> dict[str, np.ndarray]:
    for name, m in memories.items():
        for side in (m.all[:AROUND], m.all[AROUND + m.span :]):
            if side.tobytes() != poison(side.dtype, AROUND).tobytes():
                raise Failed(f"memory outside of {name} was written")
    return {name: memories[name].view().copy() for name, _, _ in tree.outputs(p)}


def sim(p: tree.Program, text: str, arch: str, candidate: int, prove: bool) -> dict[str, np.ndarray]:
    kernel = compiled(text, arch=arch, candidate=candidate, prove=prove)
    memories = memory(p)
    bound = arguments(p, kernel, memories)
    device = _Device(bound)
    alloc, write, read = (_abi.function(f"sim_{f}") for f in ("alloc", "write", "read"))
    found = slots(bound, kernel)
    for name, slot in found.items():
        m = memories[name]
        slot.ptr, slot.bytes = (
            alloc(device.sim.pointer, max(m.inner.nbytes, 0), name.encode()),
            m.inner.nbytes,
        )
        if m.inner.nbytes:
            write(device.sim.pointer, slot.ptr, m.inner.ctypes.data, m.inner.nbytes)
    bound.check()
    try:
        if all(bound.grid()):
            device.launch(bound.grid(), True, 1)
    except FaultError as e:
        raise Failed(str(e)[:600]) from None
    for name, slot in found.items():
        m = memories[name]
        if m.inner.nbytes:
            read(device.sim.pointer, slot.ptr, m.inner.ctypes.data, m.inner.nbytes)
    return results(p, memories)


assert os.environ.get("HEXC_LIBRARY_DIR"), "HEXC_LIBRARY_DIR is the build's directory"
