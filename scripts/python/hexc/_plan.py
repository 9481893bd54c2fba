"""Graphs of launches: buffers in one memory allocation, launches distributed over streams (hexc_plan.h)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from ._abi import function, new
from ._args import extents, know
from ._device import Device, DeviceArray, Stream, stream_handle
from ._errors import ArgumentError
from ._family import Family, FamilyArguments
from ._gpu import StreamLike, TensorLike, View, check_view, loaded, shape_of, span, view_of
from ._module import Kernel, Owned, fail

if TYPE_CHECKING:
    from ._args import Arguments


class Buffer:
    """An intermediate buffer between nodes of a plan, which assigns its offset."""

    def __init__(self, plan: Plan, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._plan = plan
        self._number = number
        self.shape = shape
        self.dtype = dtype

    @property
    def offset(self) -> int:
        """Bytes from the start of the plan's memory, after ``solve``."""
        out = ctypes.c_uint64()
        self._plan._do("hexc_plan_offset", self._number, ctypes.byref(out))
        return out.value


@dataclass(frozen=True)
class PlanInfo:
    """Microseconds: ``makespan_us`` is the predicted time, ``serial_us`` that of sequential execution,
    ``critical_us`` that of the longest chain. Bytes: ``nbytes`` of the memory, ``total`` of all buffers without
    sharing. ``streams`` in use, ``waits`` between them; ``exact``: no shorter plan exists; ``captures`` and
    ``updates`` of graphs so far."""

    makespan_us: float
    serial_us: float
    critical_us: float
    nbytes: int
    total: int
    nodes: int
    stages: int
    streams: int
    waits: int
    exact: bool
    captures: int
    updates: int


class Plan:
    """A graph of launches on a device, on at most ``streams`` streams; ``sync_us`` is the cost of a
    stage with several nodes.

    The result equals sequential execution in the order of ``add``. One thread at a time may use it.

    >>> import hexc, numpy as np
    >>> program = "kernel k(A: f32[N], C: out f32[N]) { grid(1); C[0 :+ 64] = A[0 :+ 64] + 1.0; }"
    >>> k, gpu = hexc.compile(program)["k"], hexc.simulator(80)
    >>> x, y = hexc.to_device(np.zeros(4, np.float32), gpu), hexc.to_device(np.zeros(4, np.float32), gpu)
    >>> plan = Plan(gpu)
    >>> between = plan.buffer((4,), np.float32)
    >>> plan.add(k, A=x, C=between)
    >>> plan.add(k, A=between, C=y)
    >>> plan.solve().nodes
    2
    >>> plan.launch()
    >>> y.numpy().tolist()
    [2.0, 2.0, 2.0, 2.0]
    """

    def __init__(self, device: Device, *, streams: int = 1, sync_us: float = 0) -> None:
        out = ctypes.c_void_p()
        options = new("hexc_plan_opts", streams=streams, sync_us=sync_us, gpu=device._pointer)
        code = function("hexc_plan_new")(ctypes.byref(out), ctypes.byref(options))
        if code:
            raise fail(code)
        self.device = device
        self._kept: list[object] = [device]  # calls and tensors, which outlive it
        self._owned = device._owns(out.value, "hexc_plan_free")
        self._owned.keep(self._kept)
        self._outside: dict[int, int] = {}
        self._streams: list[Stream] = []

    def _do(self, name: str, *args: Any) -> None:
        pointer = self._owned.pointer
        self.device._call(name, pointer, *args, why="hexc_plan_why", of=pointer)

    def buffer(self, shape: Sequence[int], dtype: DTypeLike) -> Buffer:
        """A new buffer with NumPy's type of the elements (or codes, if NumPy has none)."""
        kind, extent = np.dtype(dtype), tuple(shape)
        return Buffer(self, self._new_buffer(math.prod(extent) * kind.itemsize), extent, kind)

    def _new_buffer(self, nbytes: int) -> int:
        out = ctypes.c_uint32()
        self._do("hexc_plan_buffer", nbytes, ctypes.byref(out))
        return out.value

    def _number(self, view: View) -> int:
        """The number of a tensor of the host application: equal for equal addresses."""
        if view.address not in self._outside:
            out = ctypes.c_uint32()
            self._do("hexc_plan_outside", view.address, span(view), ctypes.byref(out))
            self._outside[view.address] = out.value
        return self._outside[view.address]

    def _view(self, name: str, value: object) -> View:
        if not isinstance(value, Buffer):
            view = view_of(name, value, False)
            if view.device not in (None, self.device.number):
                raise ArgumentError(f"{name} is on another device than {self.device.name}")
            return view
        if value._plan is not self:
            raise ArgumentError(f"{name} is a buffer of another plan")
        steps = tuple(math.prod(value.shape[i + 1 :]) for i in range(len(value.shape)))
        return View(0, value.shape, steps, value.dtype.kind, value.dtype.itemsize, None, None, False)

    def add(
        self,
        what: Kernel | Family,
        *,
        us: float = 1,
        fill: float = 0,
        name: str | None = None,
        **args: Buffer | TensorLike | int | float,
    ) -> None:
        """Adds a node: a kernel, or the kernels of a family for these sizes, with arguments as for ``launch``,
        including :class:`Buffer`.

        ``us`` is its time in microseconds, ``fill`` the part of the device that it occupies (0: derived from its
        grid). Shared data must be in the same tensors: dependencies are found by address.
        """
        know(what, args)
        views: dict[str, View] = {}
        for p in what.params:
            if p.kind == "tensor":
                if p.name not in args:
                    raise ArgumentError(f"{what.name} needs {p.name} ({p.dtype}[{', '.join(p.shape)}])")
                views[p.name] = self._view(p.name, args[p.name])
        bound = what._bound(args, lambda p, _: shape_of(p, views[p.name]))
        numbers: dict[str, int] = {}
        for p in what.params:
            if p.kind == "tensor" and p.name in bound.shape:
                check_view(bound, p, views[p.name])
                value = args[p.name]
                numbers[p.name] = value._number if isinstance(value, Buffer) else self._number(views[p.name])
                self._kept.append(None if isinstance(value, Buffer) else (value, views[p.name]))
        stages = self._stages(what, bound)
        for kernel, arg in stages:
            self._node(kernel, arg, numbers, us / len(stages), fill, name or kernel.name)

    def _stages(self, what: Kernel | Family, bound: Arguments) -> list[tuple[Kernel, Any]]:
        if isinstance(bound, FamilyArguments):
            return list(zip(bound.line.kernels, bound.stage_args, strict=True))
        assert isinstance(what, Kernel)
        return [(what, bound.arg)]

    def _node(self, kernel: Kernel, arg: Any, numbers: dict[str, int], us: float, fill: float, name: str) -> None:
        gpu, out, node = self.device, ctypes.c_void_p(), ctypes.c_uint32()
        with gpu._lock:
            module = loaded(kernel, gpu)
            gpu._call("hexc_call_new", ctypes.byref(out), module.pointer, kernel._index)
            call = gpu._owns(out.value, "hexc_call_free")
        call.keep(module, kernel._owned, gpu)
        self._kept.append(call)
        work = new("hexc_plan_work", name=name.encode(), us=us, fill=fill, call=call.pointer)
        self._do("hexc_plan_node", ctypes.byref(work), ctypes.byref(node))
        for i, p in enumerate(kernel.params):
            if p.kind == "tensor":
                if p.name not in numbers:  # workspace
                    shape, stride = extents(kernel, i, arg)
                    size = (1 + sum((d - 1) * s for d, s in zip(shape, stride, strict=True))) * p.bits
                    numbers[p.name] = self._new_buffer((size + 7) // 8)
                self._do("hexc_plan_arg", node.value, i, numbers[p.name])
            elif p.kind == "scalar" and chr(function("hexc_dtype_find")(p.dtype.encode()).contents.kind) == "f":
                self._give(call, "hexc_call_float", i, arg[i].f)
            else:
                self._give(call, "hexc_call_int", i, arg[i].i)

    def _give(self, call: Owned, name: str, i: int, value: float) -> None:
        self.device._call(name, call.pointer, i, value, why="hexc_call_why", of=call.pointer)

    def solve(self) -> PlanInfo:
        """Orders, distributes and places all nodes, and allocates the memory for the buffers."""
        self._do("hexc_plan_solve")
        info = self.info()
        memory = DeviceArray((info.nbytes,), np.dtype(np.uint8), self.device)
        self._do("hexc_plan_bind", memory.address, info.nbytes)
        self._memory = memory
        self._kept.append(memory)
        while len(self._streams) < max(1, info.streams):
            self._streams.append(self.device.stream())
            self._kept.append(self._streams[-1])
        return info

    def info(self) -> PlanInfo:
        """The solution's data; raises :class:`ArgumentError` if the plan is not solved."""
        i = new("hexc_plan_info")
        with self.device._lock:
            solved = function("hexc_plan_describe")(self._owned.pointer, ctypes.byref(i))
        if not solved:
            raise ArgumentError("the plan is not solved")
        times = (i.makespan_us, i.serial_us, i.critical_us)
        counts = (i.nodes, i.stages, i.streams, i.waits, bool(i.exact), i.captures, i.updates)
        return PlanInfo(*times, i.bytes, i.total, *counts)

    def _handles(self, first: object) -> tuple[Any, int]:
        if not self._streams:
            raise ArgumentError("the plan is not solved")
        handles = [s.handle for s in self._streams]
        if first is not None:
            handles[0] = stream_handle(first) or 0
        return (ctypes.c_void_p * len(handles))(*handles), len(handles)

    def launch(self, stream: StreamLike = None) -> None:
        """Launches all nodes after the current work of the stream, which continues after them (None: a private
        stream, which is waited for)."""
        self._do("hexc_plan_launch", *self._handles(stream))
        if stream is None:
            self._streams[0].wait()

    def capture(self) -> None:
        """Captures a CUDA graph, which :meth:`replay` launches."""
        self._do("hexc_plan_capture", *self._handles(None))

    def replay(self, stream: StreamLike = None) -> None:
        """Launches the graph; otherwise as :meth:`launch`."""
        if not self._streams:
            raise ArgumentError("the plan is not solved")
        self._do("hexc_plan_replay", self._streams[0].handle if stream is None else stream_handle(stream))
        if stream is None:
            self._streams[0].wait()
