"""Kernels, families, operators and linear layers as PyTorch operators, which torch.compile accepts unchanged.

A separate module, so that ``import hexc`` does not need torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import torch

from hexc_tune.expr import evaluate

from ._abi import function
from ._device import simulator_of
from ._errors import ArgumentError
from ._family import Family
from ._module import Kernel, Param
from ._weights import Linear

Launchable: TypeAlias = Kernel | Family | Linear

# hexc's element types as torch's; types of less than 8 bits are bytes.
_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "tf32": "float32",
    "f64": "float64",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e8m0": "float8_e8m0fnu",
    "bool": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}


def _plain(p: Param) -> bool:
    """Does its torch shape determine all of its extents?"""
    return p.pack is None and p.bits >= 8


def _told(p: Param) -> tuple[str, ...]:
    """The extents that torch's shape determines."""
    if p.kind != "tensor" or p.pack is not None:
        return ()
    return p.shape if p.bits >= 8 else p.shape[:-1]


def _returned(what: Launchable, functional: bool) -> list[Param]:
    if not functional:
        return []
    out = [p for p in what.params if p.kind == "tensor" and p.written and not p.read]
    for p in out:
        if not _plain(p) or p.dtype not in _DTYPES:
            raise ArgumentError(f"{what.name} writes {p.name} ({p.dtype}), of which torch has no tensors: not functional")
    return out


def _types(what: Launchable, functional: bool = False) -> dict[str, str]:
    """The type of each argument in a torch schema, without the sizes that tensors determine."""
    out = [p.name for p in _returned(what, functional)]
    told = {extent for p in what.params if p.name not in out for extent in _told(p)}
    found: dict[str, str] = {}
    for p in what.params:
        if p.name in out:
            continue
        if p.kind == "tensor":
            found[p.name] = f"Tensor(a{len(found)}!)" if p.written else "Tensor"
        elif p.kind == "size":
            if p.name not in told:
                found[p.name] = "SymInt"
        else:
            kind = chr(function("hexc_dtype_find")(p.dtype.encode()).contents.kind)
            found[p.name] = "float" if kind == "f" else "int"
    return found


def schema(what: Launchable, functional: bool = False) -> str:
    """The operator's signature: parameters in launch order, without the sizes that shapes determine.

    Written tensors are marked, and nothing is returned. A functional operator returns the
    tensors that are only written.
    """
    out = len(_returned(what, functional))
    result = {0: "()", 1: "Tensor"}.get(out, f"({', '.join(['Tensor'] * out)})")
    return f"({', '.join(f'{kind} {name}' for name, kind in _types(what, functional).items())}) -> {result}"


def _sizes(what: Launchable, given: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes by name, from the given tensors and numbers: integers, or torch's symbols."""
    known: dict[str, Any] = {}
    if isinstance(what, Linear):
        known |= {"N": what.n, "K": what.k}
    for p in what.params:
        if p.kind == "size" and p.name in given:
            known[p.name] = given[p.name]
        elif p.kind == "tensor" and p.name in given:
            known |= {e: n for e, n in zip(_told(p), given[p.name].shape, strict=False) if e.isidentifier()}
    return known


def _empty(what: Launchable, p: Param, given: Mapping[str, Any]) -> Any:
    sizes = _sizes(what, given)
    told = [evaluate(extent, sizes) for extent in p.shape]
    shape = [n for n in told if n is not None]
    if len(shape) < len(told):
        raise ArgumentError(f"{what.name}: the shape of {p.name}, [{', '.join(p.shape)}], is not told by {', '.join(sizes)}")
    like = next(v for v in given.values() if isinstance(v, torch.Tensor))
    return torch.empty(shape, dtype=getattr(torch, _DTYPES[p.dtype]), device=like.device)


def _launch(what: Launchable, args: Mapping[str, Any]) -> None:
    if isinstance(what, Linear):
        what.launch(**args)
        return
    on_host = any(isinstance(v, torch.Tensor) and not v.is_cuda for v in args.values())
    arch = what.arch if isinstance(what, Kernel) else what.lines[0].kernels[0].arch
    what.launch(**args, device=simulator_of(arch) if on_host else None)


def _result(out: Sequence[Any]) -> Any:
    return None if not out else out[0] if len(out) == 1 else tuple(out)


def custom_op(name: str, what: Launchable, *, functional: bool = False) -> Any:
    """Register a kernel, family, operator or linear layer as the operator ``name``
    ("mylib::gemm"), and return it.

    It takes the arguments of :func:`schema`, in its order. It writes its output tensors in place, or, if
    ``functional``, returns new ones. It launches on the current stream, as :meth:`Kernel.launch`. CPU tensors
    run on the simulator and are copied in and out, which tests a program compiled by torch.compile without a
    GPU. Its fake kernel computes shapes, including symbolic ones.
    """
    names = list(_types(what, functional))
    out = _returned(what, functional)
    written = tuple(p.name for p in what.params if p.written and p not in out)

    def outputs(args: tuple[Any, ...], more: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        given = dict(zip(names, args, strict=False)) | more
        return given, {p.name: _empty(what, p, given) for p in out}

    def real(*args: Any, **more: Any) -> Any:
        given, made = outputs(args, more)
        _launch(what, given | made)
        return _result(list(made.values()))

    def fake(*args: Any, **more: Any) -> Any:
        return _result(list(outputs(args, more)[1].values()))

    op = torch.library.custom_op(name, real, mutates_args=written, schema=schema(what, functional))
    op.register_fake(fake)
    return op
