"""Compiled modules and their kernels."""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ._abi import NUMBERS, STRUCT, check, function, new
from ._errors import SEVERITIES, ArgumentError, CompileError, Diagnostic, HexcError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._args import Arguments, ShapeOf
    from ._cache import Cache
    from ._device import Device
    from ._gpu import StreamLike, TensorLike
    from ._sim import Run

_CODES = {value: name.removeprefix("HEXC_") for name, value in NUMBERS.items() if name.startswith("HEXC_E_")}
KINDS = {NUMBERS["HEXC_POINTER"]: "tensor", NUMBERS["HEXC_SIZE"]: "size", NUMBERS["HEXC_SCALAR"]: "scalar"}
WHY = 1000  # bytes for an error message


def code_name(code: int) -> str:
    """The name of a code: ``E_ARGS`` for -8."""
    return _CODES.get(code, str(code))


def text(value: bytes | None) -> str:
    return (value or b"").decode(errors="surrogateescape")  # as Python decodes file names


def fail(code: int, why: str = "") -> HexcError:
    """The exception for a result of a C function."""
    name = code_name(code)
    why = why or text(function("hexc_strerror")(code))
    return ArgumentError(why, name) if name in ("E_ARGS", "E_INVALID", "E_ARCH") else HexcError(why, name)


@dataclass(frozen=True)
class Param:
    """A launch parameter.

    ``kind`` is tensor, size or scalar; ``dtype`` hexc's name of the element type ("f16", "u4"; "i64" for sizes);
    ``shape`` the extents of a tensor in elements, as expressions of the sizes ("K / 128"); ``strides`` its
    strides in elements; ``align`` the required alignment of its address in bytes; ``pack`` the layout of a
    ``packed`` tensor in device memory, or None.
    """

    name: str
    kind: str
    dtype: str
    bits: int
    shape: tuple[str, ...]
    strides: tuple[str, ...]
    read: bool
    written: bool
    align: int
    pack: str | None


@dataclass(frozen=True)
class Candidate:
    """A solution of the layout search: predicted cycles of a block, with other resident blocks and alone;
    registers per thread; resident blocks per multiprocessor."""

    cycles: float
    alone: float
    registers: int
    together: int
    text: str


def param(p: Any, pack: bytes | None) -> Param:
    """A Param from a hexc_param_info, and its pack."""
    return Param(
        text(p.name),
        KINDS[p.kind],
        text(p.dtype),
        p.bits,
        tuple(text(d) for d in p.dim[: p.rank]),
        tuple(text(d) for d in p.stride[: p.rank]),
        bool(p.read),
        bool(p.written),
        p.align,
        text(pack) if pack else None,
    )


class Owned:
    """A C object that is freed, in any thread, with the last reference to this object.

    ``keep`` are objects that outlive it; none of them may refer to this object.
    """

    def __init__(self, value: int, free: str | Callable[[ctypes.c_void_p, object], object], *keep: object) -> None:
        self.pointer = ctypes.c_void_p(value)
        self._keep = [*keep]
        freed = _caller(function(free)) if isinstance(free, str) else free
        weakref.finalize(self, freed, self.pointer, self._keep)

    def keep(self, *more: object) -> None:
        """Adds objects that outlive it."""
        self._keep += more


def _caller(free: Callable[..., Any]) -> Callable[[ctypes.c_void_p, object], object]:
    return lambda pointer, keep: free(pointer)


def borrowed(value: int | None, *keep: object) -> Owned:
    """A C object that an object of ``keep`` owns."""
    return Owned(value or 0, lambda pointer, keep: None, *keep)


class Module(Mapping[str, "Kernel"]):
    """The result of one compilation, or the contents of a file; immutable, and any number of threads may use it.

    A mapping from names to :class:`Kernel`, in source order. The C object is freed with the last reference to
    the module or one of its kernels.
    """

    def __init__(self, handle: int, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        self._owned = Owned(handle, "hexc_module_free")
        self._handle = self._owned.pointer
        self.diagnostics = diagnostics  # warnings and remarks
        info = new("hexc_module_info")
        function("hexc_module_describe")(self._handle, ctypes.byref(info))
        self.arch = text(info.arch)
        loaded: dict[Device, Owned] = {}
        self._kernels = {k.name: k for k in (Kernel(self._owned, loaded, self.arch, i) for i in range(info.nkernel))}

    @property
    def ptx(self) -> str:
        """The PTX of all kernels."""
        return text(function("hexc_ptx")(self._handle, None))

    def __getitem__(self, name: str) -> Kernel:
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the module atomically to a file that :func:`load`, or a host with libhexc_rt, reads."""
        why = ctypes.create_string_buffer(WHY)
        code = function("hexc_module_save_file")(self._handle, None, 0, os.fsencode(path), why, WHY)
        if code:
            raise fail(code, text(why.value))


class Kernel:
    """A kernel of a module.

    ``block`` are its threads in x, y, z; ``smem`` its dynamic shared memory in bytes; ``grid_text`` the number
    of blocks, as expressions of the sizes; ``constants`` the values of constants and tunables; ``assumes`` the
    conditions on arguments.
    """

    def __init__(self, module: Owned, loaded: dict[Device, Owned], arch: str, index: int) -> None:
        info = new("hexc_kernel_info")
        function("hexc_kernel")(module.pointer, index, ctypes.byref(info))
        self._owned = module
        self._loaded = loaded  # the module on devices
        self._handle = module.pointer
        self._index = index
        self.name = text(info.name)
        self.arch = arch
        self.block: tuple[int, int, int] = tuple(info.block)
        self.cluster: tuple[int, int, int] = tuple(info.cluster)
        self.smem: int = info.smem
        self.nmap: int = info.nmap
        self.grid_text = tuple(map(text, info.grid))
        self.params = tuple(self._param(i) for i in range(info.nparam))
        self.assumes = tuple(text(function("hexc_assume")(self._handle, index, i)) for i in range(info.nassume))
        self.constants = dict(self._constant(i) for i in range(info.nconst))
        self._ncandidate: int = info.ncandidate

    def _param(self, i: int) -> Param:
        p = new("hexc_param_info")
        function("hexc_param")(self._handle, self._index, i, ctypes.byref(p))
        return param(p, function("hexc_module_pack")(self._handle, self._index, i))

    def _constant(self, i: int) -> tuple[str, int | str]:
        define = new("hexc_define")
        function("hexc_const")(self._handle, self._index, i, ctypes.byref(define))
        return constant(define)

    def explain(self, short: bool = False) -> str:
        """Every layout, instruction and conversion as text, or a summary of a few lines; "" unless
        compiled with ``explain=True``."""
        name = "hexc_explain_short" if short else "hexc_explain"
        return text(function(name)(self._handle, self._index))

    def explain_json(self) -> dict[str, Any]:
        """The same as a JSON object, with the fields documented in hexc(1); {} unless
        compiled with ``explain=True``."""
        said: dict[str, Any] = json.loads(text(function("hexc_explain_json")(self._handle, self._index)))
        return said

    def drawings(self) -> dict[str, str]:
        """Pictures of layouts and pipelines, SVG by name; {} unless compiled with ``draw=True``."""
        found: dict[str, str] = {}
        name = ctypes.c_char_p()
        while svg := function("hexc_drawing")(self._handle, self._index, len(found), ctypes.byref(name)):
            found[text(name.value)] = text(svg)
        return found

    def candidates(self) -> tuple[Candidate, ...]:
        """The solutions of the layout search, best first; ``compile(candidate=i)`` selects the i-th."""
        found = []
        info = new("hexc_candidate_info")
        for i in range(self._ncandidate):
            function("hexc_candidate")(self._handle, self._index, i, ctypes.byref(info))
            found.append(Candidate(info.cycles, info.alone, info.registers, info.together, text(info.text)))
        return tuple(found)

    def run(self, *, check: bool = True, threads: int = 0, **args: ArrayLike) -> Run:
        """Run the kernel on NumPy arrays, in the simulator.

        ``args`` are tensors, scalars and sizes by name. Extents of tensors, and tensors that are only written,
        may be omitted. Element types that NumPy lacks are passed as codes, one unsigned integer per element
        (bf16 as uint16, u4 as uint8). ``packed`` tensors are passed in row-major order. The call does not change
        the arrays: written tensors are in the result. With ``check``, races and reads of unwritten memory are
        faults. ``threads`` of the host, 0: one per processor.

        Raises :class:`ArgumentError` for invalid arguments, :class:`FaultError` if the kernel fails.
        """
        from ._sim import run

        return run(self, args, check, threads)

    def launch(
        self, *, stream: StreamLike = None, device: Device | int | None = None, **args: TensorLike | int | float
    ) -> None:
        """Launch the kernel on tensors in GPU memory, in place, without a copy; does not wait.

        Tensors are contiguous torch tensors, :class:`DeviceArray`, or have ``__cuda_array_interface__`` or
        DLPack, in device form: elements of less than 8 bits as bytes, ``packed`` tensors in packed order. The
        last dimension of such tensors does not determine a size; pass it. ``stream`` is a CUDA stream or its
        handle; None: torch's current stream if a tensor is torch's, otherwise the default stream. ``device``;
        None: the device of the tensors, otherwise GPU 0. With ``device=hexc.simulator(80)`` NumPy arrays and CPU
        tensors of torch are accepted too; they are copied in and out.

        Raises :class:`ArgumentError`, :class:`DeviceError`, and :class:`FaultError` if an earlier kernel failed.

        >>> import hexc, numpy as np
        >>> program = "kernel k(A: f32[N], C: out f32[N]) { grid(1); C[0 :+ 64] = A[0 :+ 64] + 1.0; }"
        >>> a, c = np.zeros(3, np.float32), np.zeros(3, np.float32)
        >>> hexc.compile(program)["k"].launch(A=a, C=c, device=hexc.simulator(80))
        >>> c.tolist()
        [1.0, 1.0, 1.0]
        """
        from ._gpu import launch

        launch(self, args, stream, device)

    def _bound(self, values: Mapping[str, object], shape_of: ShapeOf) -> Arguments:
        from ._args import Bound

        return Bound(self, values, shape_of)

    def _enqueue(self, gpu: Device, bound: Arguments, stream: int | None) -> None:
        from ._gpu import enqueue

        enqueue(self, gpu, bound.arg, stream)


def constant(define: Any) -> tuple[str, int | str]:
    """Name and value from a hexc_define."""
    dtype = function("hexc_value_type")(define.value)
    return text(define.name), text(dtype.contents.name) if dtype else define.value


def defines(constants: Mapping[str, int | str]) -> tuple[Any, int]:
    """An array of hexc_define, and its length."""
    define = (STRUCT["hexc_define"] * len(constants))()
    for slot, (name, value) in zip(define, constants.items(), strict=True):
        number = function("hexc_type_value")(value.encode()) if isinstance(value, str) else int(value)
        check(number, ctypes.c_int64, name)
        if isinstance(value, str) and number == 0:
            raise ArgumentError(f"{name}={value!r}: there is no element type {value}")
        slot.name, slot.value = name.encode(), number
    return define, len(constants)


def _options(constants: Mapping[str, int | str], flags: Mapping[str, bool], **plain: Any) -> Any:
    define, n = defines(constants)
    members = {k: v.encode() if isinstance(v, str) else v for k, v in plain.items()}
    bits = sum(NUMBERS[name] for name, wanted in flags.items() if wanted)
    return new("hexc_opts", define=define, ndefine=n, flags=bits, **members)


def _diagnostics(at: Callable[[int, Any], int]) -> tuple[Diagnostic, ...]:
    found: list[Diagnostic] = []
    d = new("hexc_diag_info")
    while at(len(found), ctypes.byref(d)):
        found.append(
            Diagnostic(
                SEVERITIES[d.severity], text(d.file), d.line, d.col, d.len, text(d.text), text(d.warning) or None
            )
        )
    return tuple(found)


_P = ParamSpec("_P")
_R = TypeVar("_R")


def same_arguments(like: Callable[_P, object]) -> Callable[[Callable[..., _R]], Callable[_P, _R]]:
    """A decorator: the function has the parameters of another, to which it forwards them."""

    def decorate(function: Callable[..., _R]) -> Callable[_P, _R]:
        own = inspect.signature(function)
        signature = inspect.signature(like).replace(return_annotation=own.return_annotation)
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return decorate


@dataclass(frozen=True)
class Job:
    """A compilation: text, file name, and the options in C."""

    data: bytes
    file: bytes | None
    options: Any
    keep: object

    def result(self, code: int, module: int | None, said: tuple[Diagnostic, ...]) -> Module:
        """The compiled module, or an exception."""
        if code:
            raise CompileError(code_name(code), said, self.data)
        assert module
        return Module(module, said)


def job(
    source: str | os.PathLike[str],
    *,
    arch: str = "sm_80",
    kernel: str | None = None,
    constants: Mapping[str, int | str] | None = None,
    candidate: int = 0,
    explain: bool = False,
    draw: bool = False,
    prove: bool = False,
    werror: bool = False,
    lineinfo: bool = False,
    remarks: bool = False,
    warnings: str | None = None,
    schedule: str | None = None,
    cluster: tuple[int, int, int] = (0, 0, 0),
    max_steps: int = 0,
    max_memory: int = 0,
    max_values: int = 0,
    cache: Cache | None = None,
    stop: str | None = None,
) -> Job:
    """Converts the arguments of :func:`compile`."""
    file = None if isinstance(source, str) else os.fspath(source)
    data = source.encode() if isinstance(source, str) else Path(source).read_bytes()
    flags = {
        "HEXC_EXPLAIN": explain,
        "HEXC_DRAW": draw,
        "HEXC_PROVE": prove,
        "HEXC_WERROR": werror,
        "HEXC_LINEINFO": lineinfo,
        "HEXC_REMARKS": remarks,
    }
    options = _options(
        constants or {},
        flags,
        arch=arch,
        kernel=kernel,
        candidate=candidate,
        warnings=warnings,
        schedule=schedule,
        max_steps=max_steps,
        max_memory=max_memory,
        max_values=max_values,
        stop=stop,
        cache=cache._owned.pointer if cache else None,
    )
    options.cluster = tuple(cluster)
    return Job(data, None if file is None else os.fsencode(file), options, cache)


def refused(code: int, arch: bytes) -> HexcError:
    """The error for options that hexc_open rejects."""
    return fail(code, f"there is no arch {text(arch)}" if code_name(code) == "E_ARCH" else "")


@same_arguments(job)
def compile(*args: Any, **named: Any) -> Module:
    """Compile a program: text, or the path of a file (``pathlib.Path``).

    ``constants`` are values of constants and tunables: numbers, or names of element types. ``kernel`` compiles
    only that kernel. ``cache`` is where modules are looked up first, and stored. ``candidate`` selects a
    solution of the layout search, 0 is the best. ``prove`` runs the independent validator on every layout.
    ``max_memory`` is in bytes, ``max_steps`` in steps of the search, ``max_values`` in values per thread (0:
    hexc.h's defaults). The other options are those of the command line, hexc(1).

    The call releases the GIL; any number of threads may compile.

    Raises :class:`CompileError`, whose text shows the location with a caret, and :class:`ArgumentError`.

    >>> m = compile("kernel k(A: f32[N], C: out f32[N]) { grid(1); C[0 :+ 64] = A[0 :+ 64]; }")
    >>> list(m), m["k"].block[0] % 32, [p.name for p in m["k"].params]
    (['k'], 0, ['A', 'C', 'N'])
    >>> compile("kernel k(A: f32[N]) { grid(1); let a = b; }")
    Traceback (most recent call last):
    ...
    hexc.CompileError: <source>:1:40: error: unknown name `b`
      kernel k(A: f32[N]) { grid(1); let a = b; }
                                             ^
    """
    j = job(*args, **named)
    ctx, module = ctypes.c_void_p(), ctypes.c_void_p()
    code = function("hexc_open")(ctypes.byref(ctx), ctypes.byref(j.options))
    if code:
        raise refused(code, j.options.arch)
    try:
        code = function("hexc_compile")(ctypes.byref(module), ctx, j.file, j.data, len(j.data))
        said = _diagnostics(lambda i, d: function("hexc_diag")(ctx, i, d))
    finally:
        function("hexc_close")(ctx)
    return j.result(code, module.value, said)


def load(path: str | os.PathLike[str]) -> Module:
    """A module from a file of :meth:`Module.save` or ``hexc --emit-module``; needs only libhexc_rt."""
    module, why = ctypes.c_void_p(), ctypes.create_string_buffer(WHY)
    code = function("hexc_module_load_file")(ctypes.byref(module), os.fsencode(path), why, WHY)
    if code:
        raise fail(code, text(why.value))
    assert module.value
    return Module(module.value)
