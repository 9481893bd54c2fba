"""Compares a kernel's outputs with those of reference.py, within their bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import arrays, reference

SECONDS = 8.0  # for a reference: its remaining blocks are then not checked


class Inputs:
    """Inputs for a reference: the elements of a tensor as values, on the reference's device."""

    def __init__(self, target: Any, given: Mapping[str, Any], xp: Any) -> None:
        self.xp, self._given = xp, given
        self._dtype = {p.name: p.dtype for p in target.params}

    def value(self, name: str) -> Any:
        """Floats as f64, integers as i64."""
        return arrays.decoded(self.xp, self._dtype[name], self.xp.array(self._given[name]))


def torch_here() -> Any:
    """PyTorch with a GPU, or None."""
    try:
        import torch
    except Exception:  # noqa: BLE001 - an import may fail in any way
        return None
    return torch if torch.cuda.is_available() else None


def compare(item: Any, shape: Any, target: Any, given: Mapping[str, Any], got: Mapping[str, Any], program: str | None,
            seconds: float = SECONDS) -> dict[str, Any]:
    """{"outputs": name -> the result of reference.judged}, and "why" and "wrong" if an element is outside its
    bounds; "note" if there is no reference."""
    torch = torch_here()
    if shape.name != "small" and not torch:
        return {"note": "not judged: PyTorch, which computes references of shapes of models on the GPU, is not here", "skipped": True}
    xp = arrays.Torch(torch, "cuda") if torch and shape.name != "small" else arrays.Numpy()
    try:
        stages = reference.stages(item, shape, program)
        wanted = reference.reference(item, shape, Inputs(target, given, xp), stages, seconds=seconds)
    except reference.NoReference as error:
        return {"note": f"not judged: {error}", "skipped": True}
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":  # torch's: the reference's memory, not the kernel's
            raise
        return {"note": "not judged: the reference takes more memory than there is beside others", "skipped": True}
    finally:
        if torch and shape.name != "small":
            torch.cuda.empty_cache()
    dtype, outputs, bad = {p.name: p.dtype for p in target.params}, {}, []
    for name, want in wanted.items():
        if name not in dtype:
            continue  # an intermediate tensor between kernels of an entry
        if name not in got:
            bad.append(f"{name} was not written")
            continue
        said = outputs[name] = {n: (v if math.isfinite(v) else 1e308) for n, v in
                                reference.judged(xp, arrays.decoded(xp, dtype[name], xp.array(got[name])), want).items()}
        if said["wrong"]:
            at = [int(i) for i in np.unravel_index(int(said["first"]), got[name].shape)]
            bad.append(f"{name}: {said['wrong']:g} of {said['judged']:g} elements are wrong, by up to {said['error']:.3g}, {said['share']:.3g} times "
                       f"the bound; the first at {at}")
    return {"outputs": outputs} | ({"why": "; ".join(bad), "wrong": True} if bad else {})
