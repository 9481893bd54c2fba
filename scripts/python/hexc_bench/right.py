"""Is what a kernel computed right?  Its outputs beside those of reference.py, within bounds derived from the operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import data


class Inputs:
    """What a reference may ask: values of inputs, sizes, scalars, constants; xp is the module of its arrays, torch on the GPU
    where it is, else numpy."""

    def __init__(self, item: Any, shape: Any, target: Any, arrays: Mapping[str, Any], known: Mapping[str, int | str], xp: Any) -> None:
        self.item, self.shape, self.xp = item, shape, xp
        self._arrays, self._known = arrays, known
        self._params = {p.name: p for p in target.params}

    def value(self, name: str, single: bool = False) -> Any:
        """Of a tensor, in natural form and in f64 (single: f32), integers in i64."""
        p, codes = self._params[name], self._arrays[name]
        if self.xp is np:
            found = data.decoded(codes, p.dtype)
            return found.astype(np.float32) if single and found.dtype.kind == "f" else found
        torch = self.xp
        real = torch.float32 if single else torch.float64
        if p.dtype == "bf16":
            return torch.from_numpy(codes.view(np.int16)).to("cuda").view(torch.bfloat16).to(real)
        table = data.values_of_codes(p.dtype)
        if table is not None:
            return torch.from_numpy(table).to("cuda").to(real)[torch.from_numpy(codes).to("cuda").int()]
        found = torch.from_numpy(np.ascontiguousarray(codes)).to("cuda")
        return found.to(real) if found.is_floating_point() else found.to(torch.int64)

    def dtype(self, name: str) -> str:
        return str(self._params[name].dtype)

    def scalar(self, name: str) -> float:
        return float(self.item.scalars[name])

    def size(self, name: str) -> int:
        return int(self._known[name])

    def constant(self, name: str) -> int | str:
        return self._known[name]


def _torch() -> Any:
    try:
        import torch
    except Exception:  # noqa: BLE001 - an import may fail in any way
        return None
    return torch if torch.cuda.is_available() else None


def compare(item: Any, shape: Any, target: Any, arrays: Mapping[str, Any], got: Mapping[str, Any],
            known: Mapping[str, int | str]) -> dict[str, Any]:
    """{"outputs": {name: {"error", "bound", "of_bound", "wrong", "elements"}}}, "why" where one is wrong; of_bound is the
    largest part of its bound that an element is off by."""
    try:
        from . import reference
    except ImportError as error:
        return {"note": f"no reference: {error}"}
    torch = _torch()
    if shape.name != "small" and not torch:
        return {"note": "no reference: PyTorch, which would compute it on the GPU, is not here"}
    xp = np if shape.name == "small" else torch
    try:
        wanted = reference.reference(item, shape, Inputs(item, shape, target, arrays, known, xp))
    except reference.NoReference as error:
        return {"note": f"no reference: {error}"}
    params, outputs, bad = {p.name: p for p in target.params}, {}, []
    for name, (value, bound) in wanted.items():
        if name not in got:
            bad.append(f"{name} was not written")
            continue
        x = data.decoded(got[name], params[name].dtype)
        found = outputs[name] = _numpy(x, value, bound) if xp is np else _on_gpu(torch, x, value, bound)
        if found["wrong"]:
            bad.append(f"{name}: {found['wrong']} of {found['elements']} elements are wrong, by up to {found['error']:.3g}, "
                       f"{found['of_bound']:.3g} times the bound; the first at {found['first']}")
    return {"outputs": outputs} | ({"why": "; ".join(bad), "wrong": True} if bad else {})


def _numpy(x: Any, value: Any, bound: Any) -> dict[str, Any]:
    x, value = np.asarray(x, np.float64), np.broadcast_to(np.asarray(value, np.float64), x.shape)
    bound = np.broadcast_to(np.asarray(bound, np.float64), x.shape)
    with np.errstate(all="ignore"):
        off = np.where((x == value) | (np.isnan(x) & np.isnan(value)), 0.0, np.abs(x - value))
        wrong = ~(off <= bound)
        share = np.where(off == 0, 0.0, off / bound)
    first = [int(i) for i in np.argwhere(wrong)[0]] if wrong.any() else []
    return {"elements": int(x.size), "wrong": int(wrong.sum()), "error": _finite(off.max(initial=0)), "of_bound": _finite(share.max(initial=0)),
            "first": first}


def _on_gpu(torch: Any, x: Any, value: Any, bound: Any) -> dict[str, Any]:
    x = torch.from_numpy(np.ascontiguousarray(x)).to("cuda").to(value.dtype if value.is_floating_point() else torch.float64)
    value, bound = value.to(x.dtype), torch.as_tensor(bound, device="cuda").to(x.dtype)
    off = torch.where((x == value) | (torch.isnan(x) & torch.isnan(value)), torch.zeros_like(x), (x - value).abs())
    wrong = ~(off <= bound)
    share = torch.where(off == 0, torch.zeros_like(off), off / bound)
    n = int(wrong.sum())
    first = [int(i) for i in torch.nonzero(wrong)[0]] if n else []
    return {"elements": x.numel(), "wrong": n, "error": _finite(float(off.max()) if x.numel() else 0.0),
            "of_bound": _finite(float(share.max()) if x.numel() else 0.0), "first": first}


def _finite(x: float) -> float:
    """As JSON has numbers: what is infinite or NaN is told as the largest."""
    return float(x) if np.isfinite(x) else 1e308
