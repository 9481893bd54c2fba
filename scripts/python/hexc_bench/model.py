"""Random models for examples/llama, in GGUF files, written by its test's code (test/llama/reference.py)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from .items import ROOT

BIG = {"HIDDEN": 4096, "INNER": 14336, "HEADS": 32, "GROUPS": 8, "WIDTH": 128}  # a model of 8 billion parameters, except its vocabulary
ROWS = 64  # generated rows of a matrix of a big model; the others repeat them


def _writer() -> Any:
    spec = importlib.util.spec_from_file_location("llama_reference", ROOT / "test/llama/reference.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(path: Path, layers: int, big: bool = False) -> None:
    """A model with ``layers`` layers; big: with the dimensions of BIG and 4-bit weights, without a reference."""
    writer: Any = _writer()
    writer.LAYERS = layers
    form = "Q4_K" if big else "F16"
    if big:
        for name, value in BIG.items():
            setattr(writer, name, value)
        draw = writer.DRAW[form]

        def repeated(rng: Any, n: int, k: int) -> tuple[bytes, Any, Any]:
            raw, _, _ = draw(rng, min(n, ROWS), k)
            return raw * (n // ROWS) + raw[: n % ROWS * (len(raw) // min(n, ROWS))], np.zeros(0), np.zeros(0)

        writer.DRAW = {**writer.DRAW, form: repeated}
    writer.make_one(str(path), form)
