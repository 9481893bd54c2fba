"""Kernels as operators of PyTorch, which torch.compile takes as they are.

It stands apart, so that ``import hexc`` needs no torch.
"""

from __future__ import annotations

from typing import Any

import torch

from ._abi import function
from ._module import Kernel


def _types(kernel: Kernel) -> dict[str, str]:
    """Type of each argument in a schema of torch; sizes that tensors tell are not among them."""
    told = {extent for p in kernel.params if p.kind == "tensor" and p.pack is None for extent in p.shape[:-1]}
    told |= {p.shape[-1] for p in kernel.params if p.kind == "tensor" and p.pack is None and p.bits >= 8}
    found: dict[str, str] = {}
    for p in kernel.params:
        if p.kind == "tensor":
            found[p.name] = f"Tensor(a{len(found)}!)" if p.written else "Tensor"
        elif p.kind == "size":
            if p.name not in told:
                found[p.name] = "SymInt"
        else:
            kind = chr(function("hexc_dtype_find")(p.dtype.encode()).contents.kind)
            found[p.name] = "float" if kind == "f" else "int"
    return found


def schema(kernel: Kernel) -> str:
    """The operator's signature: parameters in launch order, without the sizes that shapes tell; nothing is returned,
    and written tensors are marked so."""
    return f"({', '.join(f'{kind} {name}' for name, kind in _types(kernel).items())}) -> ()"


def custom_op(name: str, kernel: Kernel) -> Any:
    """Register ``kernel`` as the operator ``name`` ("mylib::gemm"), and return it.

    It writes its output tensors in place, on the current stream, as :meth:`Kernel.launch` does; the arguments are
    those of :func:`schema`, in its order.  Its fake kernel does nothing, which is all that shapes need.
    """
    names = list(_types(kernel))
    written = tuple(p.name for p in kernel.params if p.written)

    def real(*args: Any, **more: Any) -> None:
        kernel.launch(**dict(zip(names, args, strict=False)), **more)

    def fake(*args: Any, **more: Any) -> None:
        return None

    op = torch.library.custom_op(name, real, mutates_args=written, schema=schema(kernel))
    op.register_fake(fake)
    return op
