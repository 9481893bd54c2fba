"""Bundles of kernels, and families: one operator with several kernels for different sizes
(hexc_bundle.h, hexc_family.h)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._abi import STRUCT, function, new
from ._args import Arguments, Shape, ShapeOf, extents, know
from ._errors import ArgumentError
from ._module import WHY, Kernel, Module, Owned, Param, borrowed, compile, constant, defines, fail, param, text

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._cache import Cache
    from ._device import Device, DeviceArray
    from ._gpu import StreamLike, TensorLike
    from ._sim import Run


@dataclass(frozen=True)
class Entry:
    """A kernel of a bundle; ``constants`` are all of its constants, ``cubins`` the archs with machine code."""

    name: str
    arch: str
    file: str
    constants: Mapping[str, int | str]
    cubins: tuple[str, ...]
    candidate: int


class Bundle(Sequence[Kernel]):
    """Compiled kernels from a file of ``hexc build`` or :meth:`save`, or from its bytes; needs only libhexc_rt.

    A sequence of :class:`Kernel`; ``entries`` describes them without loading them. Raises :class:`HexcError` if
    the file is no bundle, or damaged.

    >>> import hexc
    >>> program = "kernel k(A: T[N], C: out T[N]) const T = f32 { grid(1); C[0 :+ 64] = A[0 :+ 64]; }"
    >>> b = bundle([hexc.compile(program, constants={"T": t}) for t in ("f32", "f16")])
    >>> [e.constants for e in b.entries]
    [{'T': 'f32'}, {'T': 'f16'}]
    >>> b.find("k", constants={"T": "f16"}).params[0].dtype
    'f16'
    """

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        out, why = ctypes.c_void_p(), ctypes.create_string_buffer(WHY)
        if isinstance(source, bytes):
            code = function("hexc_bundle_memory")(ctypes.byref(out), source, len(source), why, WHY)
        else:
            code = function("hexc_bundle_open")(ctypes.byref(out), os.fsencode(source), why, WHY)
        if code:
            raise fail(code, text(why.value))
        assert out.value
        self._adopt(Owned(out.value, "hexc_bundle_close", source))
        self._source = source

    def _adopt(self, owned: Owned) -> None:
        self._owned = owned
        self._modules: dict[int, tuple[Owned, dict[Device, Owned]]] = {}
        info = new("hexc_bundle_info")
        function("hexc_bundle_describe")(owned.pointer, ctypes.byref(info))
        self.compiler = text(info.compiler)  # the compiler's version
        self.families = text(info.families)  # the text of its families (hexc-family(5))
        self.entries = tuple(self._entry(i) for i in range(info.nkernel))

    def _entry(self, i: int) -> Entry:
        e = new("hexc_bundle_entry")
        function("hexc_bundle_at")(self._owned.pointer, i, ctypes.byref(e))
        constants = dict(constant(e.define[j]) for j in range(e.ndefine))
        cubins = tuple(text(e.cubin[j]) for j in range(e.ncubin))
        return Entry(text(e.name), text(e.arch), text(e.file), constants, cubins, e.candidate)

    def _kernel(self, module: int, index: int, arch: str) -> Kernel:
        owned, loaded = self._modules.setdefault(module, (borrowed(module, self._owned), {}))
        return Kernel(owned, loaded, arch, index)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(len(self))[i]]
        i = range(len(self))[i]
        module, k, why = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.create_string_buffer(WHY)
        code = function("hexc_bundle_module")(self._owned.pointer, i, ctypes.byref(module), ctypes.byref(k), why, WHY)
        if code:
            raise fail(code, text(why.value))
        return self._kernel(module.value or 0, k.value, self.entries[i].arch)

    def find(
        self, kernel: str | None = None, *, arch: str | None = None, constants: Mapping[str, int | str] | None = None
    ) -> Kernel:
        """The first kernel of this name (None: the only one) with these constants, for devices of
        this arch; of those that run there, the one for the newest arch. Raises :class:`ArgumentError`
        with the available kernels."""
        out, why = ctypes.c_size_t(), ctypes.create_string_buffer(WHY)
        define, n = defines(constants or {})
        names = {k: None if v is None else v.encode() for k, v in (("kernel", kernel), ("arch", arch))}
        want = new("hexc_want", define=define, ndefine=n, **names)
        code = function("hexc_bundle_find")(self._owned.pointer, ctypes.byref(want), ctypes.byref(out), why, WHY)
        if code:
            raise fail(code, text(why.value))
        found: Kernel = self[out.value]
        return found

    def family(self, name: str | None = None, *, arch: str | None = None, families: str | None = None) -> Family:
        """The family of this name (None: the only one) for devices of this arch (None: any).

        ``families`` is a text with other families of the bundle's kernels (hexc-family(5)), for example from
        ``scripts/tune --export``; None: the text in the bundle.
        """
        out, why = ctypes.c_void_p(), ctypes.create_string_buffer(WHY)
        names = [None if n is None else n.encode() for n in (name, arch)]
        if families is None:
            code = function("hexc_family_open")(ctypes.byref(out), self._owned.pointer, *names, why, WHY)
        else:
            data = families.encode()
            code = function("hexc_family_read")(
                ctypes.byref(out), self._owned.pointer, data, len(data), *names, why, WHY
            )
        if code:
            raise fail(code, text(why.value))
        assert out.value
        return Family(Owned(out.value, "hexc_family_close", self._owned), self)

    def verify(self) -> None:
        """Raises :class:`HexcError` unless the checksums match."""
        why = ctypes.create_string_buffer(WHY)
        code = function("hexc_bundle_verify")(self._owned.pointer, why, WHY)
        if code:
            raise fail(code, text(why.value))

    def to_bytes(self) -> bytes:
        """The bundle's bytes."""
        return self._source if isinstance(self._source, bytes) else Path(self._source).read_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it atomically to a file that ``Bundle(path)`` and hosts with libhexc_rt open."""
        beside = Path(f"{os.fspath(path)}.{os.getpid()}")
        try:
            beside.write_bytes(self.to_bytes())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def bundle(modules: Iterable[Module], families: str = "") -> Bundle:
    """A bundle of modules, with the text of families of their kernels (hexc-family(5)).

    Raises :class:`ArgumentError` if two kernels have the same name, arch, constants and candidate.
    """
    kept = list(modules)
    handles = (ctypes.c_void_p * max(1, len(kept)))(*(m._handle.value for m in kept))
    size, why = ctypes.c_size_t(), ctypes.create_string_buffer(WHY)
    compiler = function("hexc_build_info")()

    def save(room: Any, n: int) -> None:
        code = function("hexc_bundle_save_families")(
            handles, len(kept), compiler, families.encode(), room, n, ctypes.byref(size), why, WHY
        )
        if code:
            raise fail(code, text(why.value))

    save(None, 0)
    room = ctypes.create_string_buffer(size.value)
    save(room, size.value)
    return Bundle(room.raw)


@dataclass(frozen=True)
class Line:
    """A dispatch entry of a family: a guard on the sizes, its line number in the text, and its chain of kernels."""

    guard: str
    number: int
    kernels: tuple[Kernel, ...]


class FamilyArguments(Arguments):
    """The arguments of a family, and the entry for them."""

    def __init__(
        self, family: Family, values: Mapping[str, object], shape_of: ShapeOf, target: Any = None
    ) -> None:
        self.family = family
        super().__init__(target or family, values, shape_of, family.params)

    def _resolve(self) -> None:
        f, why, line = self.family, ctypes.create_string_buffer(WHY), ctypes.c_size_t()
        code = function("hexc_family_pick")(f._owned.pointer, self.arg, ctypes.byref(line), why, WHY)
        if code:
            raise fail(code, f"family {f.name}: {text(why.value)}")
        self.line = f.lines[line.value]
        self.stage_args: list[Any] = []  # of each of its kernels, except tensors
        for s, kernel in enumerate(self.line.kernels):
            of = (STRUCT["hexc_arg"] * len(self.arg))()
            function("hexc_family_args")(f._owned.pointer, line.value, s, self.arg, None, of)
            self.stage_args.append(of)
            for i, p in enumerate(kernel.params):
                if p.kind == "tensor" and p.name in self.slot and p.name not in self.shape:
                    self.shape[p.name], self.stride[p.name] = extents(kernel, i, of)

    def check(self) -> None:
        """The launch checks the arguments."""


class _Call:
    """A hexc_family_call, and its workspace on each stream."""

    def __init__(self, owned: Owned, gpu: Device) -> None:
        self.owned = owned
        self.gpu = gpu
        self.workspace: dict[int, DeviceArray] = {}
        self.given: DeviceArray | None = None

    def do(self, name: str, *args: Any) -> None:
        self.gpu._call(name, self.owned.pointer, *args, why="hexc_family_call_why", of=self.owned.pointer)

    def give(self, i: int, p: Param, slot: Any) -> None:
        if p.kind == "tensor":
            self.do("hexc_family_call_ptr", i, slot.ptr, slot.bytes)
        elif p.kind == "scalar" and chr(function("hexc_dtype_find")(p.dtype.encode()).contents.kind) == "f":
            self.do("hexc_family_call_float", i, slot.f)
        else:
            self.do("hexc_family_call_int", i, slot.i)

    def launch(self, stream: int | None) -> None:
        needs = ctypes.c_uint64()
        self.do("hexc_family_call_line", None, ctypes.byref(needs))
        if needs.value:
            self._take(stream or 0, needs.value)
        self.do("hexc_family_call_launch", stream)

    def _take(self, stream: int, needs: int) -> None:
        """Returns a workspace: launches on one stream do not overlap."""
        import numpy as np

        from ._device import DeviceArray

        have = self.workspace.get(stream)
        if have is None or have.nbytes < needs:
            have = self.workspace[stream] = DeviceArray((needs,), np.dtype(np.uint8), self.gpu)
        if self.given is not have:
            self.do("hexc_family_call_workspace", have.address, have.nbytes)
            self.given = have


class Calls:
    """The calls of a family by device, kept between launches."""

    def __init__(self) -> None:
        self._of: dict[Device, _Call] = {}

    def launch(self, gpu: Device, bound: Arguments, order: Sequence[Param], stream: int | None, make: Any) -> None:
        with gpu._lock:
            for lost in [other for other in self._of if other.lost]:
                self._of.pop(lost, None)
            call = self._of.get(gpu)
            if call is None:
                out = ctypes.c_void_p()
                keep = make(gpu, out)
                owned = gpu._owns(out.value, "hexc_family_call_free")
                owned.keep(keep, gpu)
                call = self._of[gpu] = _Call(owned, gpu)
            given = {p.name for p in bound.target.params}
            for i, p in enumerate(order):
                if p.name in given:
                    call.give(i, p, bound.slot[p.name])
            call.launch(stream)


class Family:
    """One operator with several kernels: the first of its ``lines`` whose guard holds for the sizes is launched.

    ``params`` are the arguments of all kernels; ``arch`` is the arch that it was tuned for, "" if any. It is
    immutable, and any number of threads may use it.
    """

    def __init__(self, owned: Owned, of: Bundle) -> None:
        self._owned = owned
        self._calls = Calls()
        self.bundle = of
        info = new("hexc_family_info")
        function("hexc_family_describe")(owned.pointer, ctypes.byref(info))
        self.name = text(info.name)
        self.arch = text(info.arch)
        self.lines = tuple(self._line(i) for i in range(info.nline))
        known = {p.name: p.pack for line in self.lines for k in line.kernels for p in k.params}
        self.params = tuple(self._param(i, known) for i in range(info.nparam))

    def _line(self, i: int) -> Line:
        info = new("hexc_family_line")
        function("hexc_family_at")(self._owned.pointer, i, ctypes.byref(info))
        kernels = []
        for s in range(info.nstage):
            number, module, k = ctypes.c_size_t(), ctypes.c_void_p(), ctypes.c_size_t()
            code = function("hexc_family_stage")(
                self._owned.pointer, i, s, ctypes.byref(number), ctypes.byref(module), ctypes.byref(k)
            )
            if code:
                raise fail(code)
            kernels.append(self.bundle._kernel(module.value or 0, k.value, self.bundle.entries[number.value].arch))
        return Line(text(info.guard), info.number, tuple(kernels))

    def _param(self, i: int, packs: Mapping[str, str | None]) -> Param:
        p = new("hexc_param_info")
        function("hexc_family_param")(self._owned.pointer, i, ctypes.byref(p))
        pack = packs.get(text(p.name))
        return param(p, pack.encode() if pack else None)

    def pick(self, **sizes: int) -> Line:
        """The entry for these sizes; all sizes must be given. Raises :class:`ArgumentError` if there is none."""
        know(self, sizes)
        only = type("Sizes", (), {"name": self.name, "params": tuple(p for p in self.params if p.kind == "size")})
        return FamilyArguments(self, sizes, lambda p, _: (), only).line

    def run(self, *, device: Device | None = None, **args: ArrayLike) -> Run:
        """Runs it on NumPy arrays, as :meth:`Kernel.run`, on a simulated device (None: one of the kernels'
        arch); a chain of kernels with its workspace. There are no counts."""
        from ._sim import run_on

        return run_on(self, args, device, self.lines[0].kernels[0].arch)

    def launch(
        self, *, stream: StreamLike = None, device: Device | int | None = None, **args: TensorLike | int | float
    ) -> None:
        """Launches the kernels for these arguments, as :meth:`Kernel.launch`. Each stream has a workspace in
        device memory, which grows."""
        from ._gpu import launch

        launch(self, args, stream, device)

    def _bound(self, values: Mapping[str, object], shape_of: ShapeOf) -> FamilyArguments:
        return FamilyArguments(self, values, shape_of)

    def _enqueue(self, gpu: Device, bound: Arguments, stream: int | None) -> None:
        def make(gpu: Device, out: ctypes.c_void_p) -> Owned:
            gpu._call("hexc_family_call_new", ctypes.byref(out), gpu._pointer, self._owned.pointer)
            return self._owned

        self._calls.launch(gpu, bound, self.params, stream, make)


@dataclass(frozen=True)
class Want:
    """A kernel that the text of families requires; ``candidate`` -1: any."""

    family: str
    arch: str
    kernel: str
    constants: tuple[tuple[str, int | str], ...]
    candidate: int


def wants(families: str) -> list[Want]:
    """Each kernel that a text of families (hexc-family(5)) requires.

    >>> wants("hexc-family 1\\nfamily gemm\\ntake gemm BM=16 when M <= 16\\n")
    [Want(family='gemm', arch='', kernel='gemm', constants=(('BM', 16),), candidate=-1)]
    """
    found: list[Want] = []

    def each(user: object, pointer: Any) -> int:
        w = pointer.contents
        constants = tuple(constant(w.define[i]) for i in range(w.ndefine))
        found.append(Want(text(w.family), text(w.arch), text(w.kernel), constants, w.candidate))
        return 0

    called = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(STRUCT["hexc_family_want"]))(each)
    data, why = families.encode(), ctypes.create_string_buffer(WHY)
    code = function("hexc_family_wants")(data, len(data), ctypes.cast(called, ctypes.c_void_p), None, why, WHY)
    if code:
        raise fail(code, text(why.value))
    return found


def compile_family(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    families: str | os.PathLike[str],
    *,
    arch: str = "sm_80",
    constants: Mapping[str, int | str] | None = None,
    cache: Cache | None = None,
) -> Family:
    """Compiles the kernels of a family: programs (text, or ``pathlib.Path``), and its text, written by hand or
    by ``scripts/tune --export`` (or its path). ``constants`` apply to the kernels that have them. A family that
    names an arch is compiled for that arch.

    Raises :class:`CompileError`, and :class:`ArgumentError` if no program has a kernel.
    """
    text_of = families if isinstance(families, str) else Path(families).read_text()
    listed = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    origin: dict[str, str | os.PathLike[str]] = {}
    has: dict[str, set[str]] = {}
    for source in listed:
        for name, kernel in compile(source, arch=arch, stop="parse").items():
            origin.setdefault(name, source)
            has[name] = set(kernel.constants)
    made: dict[tuple[object, ...], Module] = {}
    for w in wants(text_of):
        if w.kernel not in origin:
            raise ArgumentError(f"family {w.family}: none of the programs has a kernel {w.kernel}")
        more = {k: v for k, v in (constants or {}).items() if k in has[w.kernel]} | dict(w.constants)
        key = (w.kernel, w.arch or arch, tuple(sorted(more.items(), key=str)), max(0, w.candidate))
        if key not in made:
            made[key] = compile(
                origin[w.kernel],
                arch=w.arch or arch,
                kernel=w.kernel,
                constants=more,
                candidate=max(0, w.candidate),
                cache=cache,
            )
    return bundle(made.values(), text_of).family()
