"""Operators: bundled programs, compiled for a device as families (hexc_ops.h)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._abi import NUMBERS, STRUCT, function, new
from ._errors import CompileError, Diagnostic, HexcError
from ._family import Bundle, Family
from ._module import WHY, Owned, borrowed, code_name, fail, text

if TYPE_CHECKING:
    from ._cache import Cache


@dataclass(frozen=True)
class OperatorInfo:
    """``program`` is its text: arguments, their shapes and types, constants, and after
    ``//:`` its dispatch table."""

    name: str
    what: str
    program: str


def operators() -> dict[str, OperatorInfo]:
    """All operators by name.

    >>> operators()["gemm"].what
    'C[m,n] = epilogue(sum_k A[m,k] B[n,k])'
    """
    found: dict[str, OperatorInfo] = {}
    info = new("hexc_op_info")
    i = 0
    while function("hexc_op_at")(i, ctypes.byref(info)):
        found[text(info.name)] = OperatorInfo(text(info.name), text(info.what), text(info.program))
        i += 1
    return found


def op_set(settings: Mapping[str, int | str]) -> Any:
    """An array of hexc_op_set."""
    out = (STRUCT["hexc_op_set"] * max(1, len(settings)))()
    for slot, (name, value) in zip(out, settings.items(), strict=False):
        slot.name, slot.value = name.encode(), str(value).encode()
    return out


def op_opts(arch: str | None, cache: Cache | None, families: str | None, prove: bool) -> Any:
    """A hexc_op_opts."""
    return new(
        "hexc_op_opts",
        arch=None if arch is None else arch.encode(),
        cache=cache._owned.pointer if cache else None,
        families=None if families is None else families.encode(),
        flags=NUMBERS["HEXC_PROVE"] if prove else 0,
    )


class _OpBundle(Bundle):
    """The bundle of an operator, which owns it."""

    def __init__(self, op: Owned) -> None:
        self._op = op
        self._adopt(borrowed(function("hexc_op_bundle")(op.pointer), op))

    def to_bytes(self) -> bytes:
        n = ctypes.c_size_t()
        at = function("hexc_op_bytes")(self._op.pointer, ctypes.byref(n))
        return ctypes.string_at(at, n.value)


class Operator(Family):
    """A compiled operator: a family, whose ``bundle`` can be saved.

    ``program`` is the compiled text, with its placeholders filled.
    """

    def __init__(self, owned: Owned) -> None:
        super().__init__(borrowed(function("hexc_op_family")(owned.pointer), owned), _OpBundle(owned))
        self.program = text(function("hexc_op_program")(owned.pointer))


def refused(code: int, why: str) -> HexcError:
    """The exception for a failed plan: the compiler's message, or the reason why a setting is rejected."""
    name = code_name(code)
    if name not in ("E_SOURCE", "E_LAYOUT", "E_LIMIT"):
        return fail(code, why)
    where, _, what = why.partition(": ")
    return CompileError(name, (Diagnostic("error", where, 0, 0, 0, what, None),), b"")


def operator(
    name: str,
    settings: Mapping[str, int | str] | None = None,
    *,
    arch: str = "sm_80",
    cache: Cache | None = None,
    families: str | None = None,
    prove: bool = False,
    **more: int | str,
) -> Operator:
    """Compile the operator ``name`` (:func:`operators`) with settings, which may be keyword arguments.

    A setting is a constant of its program (a number, or an element type); ``tensors``, additional
    arguments declared as in a kernel; or a placeholder, such as ``epilogue``, an expression of
    hexc's language. ``families`` is a text of tuned families (hexc-family(5)) instead of its own
    table. The call releases the GIL.

    Raises :class:`ArgumentError` for an unknown setting, :class:`CompileError` if the
    resulting program is wrong.

    >>> import numpy as np
    >>> gemm = operator("gemm", tensors="bias: f16[N]", epilogue="max(x + bias[n], 0)")
    >>> a, b, bias = np.ones((3, 8), np.float16), np.eye(16, 8, dtype=np.float16), np.full(16, -0.5, np.float16)
    >>> gemm.run(A=a, B=b, bias=bias)["C"].sum()
    np.float16(12.0)
    """
    everything = dict(settings or {}) | more
    out, why = ctypes.c_void_p(), ctypes.create_string_buffer(8 * WHY)
    code = function("hexc_op_plan")(
        ctypes.byref(out),
        name.encode(),
        op_set(everything),
        len(everything),
        ctypes.byref(op_opts(arch, cache, families, prove)),
        why,
        8 * WHY,
    )
    if code:
        raise refused(code, text(why.value))
    assert out.value
    return Operator(Owned(out.value, "hexc_op_free"))
