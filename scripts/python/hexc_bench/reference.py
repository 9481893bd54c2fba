"""Correct results for items (items.py): the kernels' own tile IR with bounds, run on arrays (tiles.py).

A reference has the values and bounds of `hexc run --check`, but computed where the data is: on a GPU by PyTorch
for shapes of models, with NumPy for small ones. The kernels of an operator's table entry run in sequence, and
intermediate tensors have bounds too.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hexc_tune import expr, ops

from . import arrays, items, tiles
from .arrays import Array
from .items import Item, Shape
from .tiles import NoReference, Value

__all__ = ["Inputs", "NoReference", "judged", "key_of", "load", "reference", "save", "stages"]

Stage = dict[str, Any]  # kernel: its name; ir: its text, with bounds; constants: the numeric ones


class Inputs(Protocol):
    """xp: the module numpy or torch (arrays are on the GPU then), or an arrays.Numpy or arrays.Torch. value: a
    tensor by name, floats as f64 and integers as i64, in the shape that the program declares."""

    xp: Any

    def value(self, name: str) -> Array: ...


# ---- the IR ----------------------------------------------------------------------------------------------------------

def bounded(program: str, kernel: str, constants: Mapping[str, int | str], hexc: str = "", arch: str = "") -> str:
    """The text of a kernel with bounds; NoReference has the compiler's message."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "p.hexc")
        path.write_text(program, encoding="utf-8")
        words = [hexc or os.environ.get("HEXC") or str(items.ROOT / "build/hexc"), "--emit-ptx", str(path), "--kernel", kernel,
                 "--dump", "bounded", "--stop", "bounded"]
        for name, value in constants.items():
            words += ["-D", f"{name}={value}"]
        done = subprocess.run([*words, *(["--arch", arch] if arch else [])], capture_output=True, text=True, check=False)
    if done.returncode or "// " not in done.stderr:
        raise NoReference((done.stderr.strip().splitlines() or ["hexc printed nothing"])[0].replace(str(path), kernel))
    return done.stderr[done.stderr.index(f"// {kernel} after bounded"):]


def head_of(program: str, kernel: str) -> tuple[int, int]:
    """The source range of a kernel's declaration, up to its body."""
    found = re.search(rf"^kernel {kernel}\(.*?^\{{", program, re.M | re.S)
    if not found:
        raise NoReference(f"the program has no kernel {kernel}")
    return found.span()


def handed_on(program: str, kernel: str, names: Sequence[str]) -> str:
    """The program with these float tensors of a kernel as inout: such tensors have bounds at its start."""
    start, end = head_of(program, kernel)
    head = program[start:end]
    for name in names:
        head = re.sub(rf"\b{name}: (?!inout\b|out\b|[iu]\d)", f"{name}: inout ", head)
    return program[:start] + head + program[end:]


def declared(program: str, kernel: str) -> dict[str, str]:
    """The constants and tunables of a kernel: name -> declaration."""
    start, end = head_of(program, kernel)
    said = ", ".join(re.findall(r"^\s*(?:tune|const) (.*)", re.sub(r"//.*", "", program[start:end]), re.M))
    return dict(re.findall(r"\b([A-Z]\w*) = ([^,]*)", said))


def outputs(program: str, kernel: str) -> list[str]:
    """The tensors that a kernel writes, according to its declaration."""
    start, end = head_of(program, kernel)
    return re.findall(r"\b(\w+): (?:in)?out\b", re.sub(r"//.*", "", program[start:end]))


def lines(item: Item, shape: Shape) -> ops.Line:
    """The table entry of an operator's item: its own, or the first that holds for the sizes."""
    if item.line >= 0:
        return ops.line_of(item.text, item.operator)
    constants = {n: int(v) for n, v in item.constants.items() if str(v).lstrip("-").isdigit()}
    for text in items.table(item.operator, item.constants):
        line = ops.line_of(text, item.operator)
        said = {n: v for s in line.stages for n, v in (d.split("=") for d in s.define.split())}
        if any(n in said and said[n] != str(v) for n, v in item.constants.items()):
            continue
        numbers = {n: int(v) for n, v in said.items() if v.lstrip("-").isdigit()}
        if expr.evaluate(line.guard, {**numbers, **constants, **shape.sizes}):
            return line
    raise NoReference(f"no line of lib/ops/{item.operator}.hexc is for {dict(shape.sizes)}")


def sizes_of(item: Item, shape: Shape, found: Sequence[Stage]) -> dict[str, int]:
    """The sizes with those that an entry computes, from sizes and constants of its kernels."""
    sizes = dict(shape.sizes)
    if item.operator:
        constants = {n: v for s in reversed(found) for n, v in s["constants"].items()}
        for name, text in lines(item, shape).sizes:
            value = expr.evaluate(text, {**constants, **sizes})
            if value is not None:
                sizes.setdefault(name, value)
    return sizes


def numbers_of(known: Mapping[str, str], define: Mapping[str, int | str]) -> dict[str, int]:
    """A kernel's numeric constants: the given values, otherwise their defaults."""
    default = {n: m.group(1) for n, text in known.items() if (m := re.search(r"default (-?\d+)\b", text) or re.match(r"(-?\d+)\b", text))}
    return {n: int(v) for n, v in {**default, **define}.items() if str(v).lstrip("-").isdigit()}


def stages(item: Item, shape: Shape, program: str | None = None, hexc: str = "") -> list[Stage]:
    """The kernels that compute an item, in sequence. program: an operator's text with its settings in the
    placeholders; None: the file, with empty placeholders. hexc: the command line, $HEXC or build/hexc."""
    if not item.operator:
        text = (items.ROOT / item.program).read_text(encoding="utf-8")
        return [{"kernel": item.kernel, "ir": bounded(text, item.kernel, item.constants, hexc),
                 "constants": numbers_of(declared(text, item.kernel), item.constants)}]
    files = ops.read(item.operator, item.constants).files
    found: list[Stage] = []
    made: list[str] = []
    for stage in lines(item, shape).stages:
        own_file = Path(files[stage.kernel]).stem == item.operator
        text = program if program and own_file else Path(files[stage.kernel]).read_text(encoding="utf-8")
        known = declared(text, stage.kernel)
        define = {n: v for n, v in item.constants.items() if n in known} | dict(d.split("=") for d in stage.define.split())
        text = handed_on(text, stage.kernel, made)
        found.append({"kernel": stage.kernel, "ir": bounded(text, stage.kernel, define, hexc), "constants": numbers_of(known, define)})
        made += outputs(text, stage.kernel)
    return found


def key_of(item: Item, shape: Shape) -> str:
    return f"{item.key} {shape.name}"


def save(path: Path, found: Mapping[str, Sequence[Stage]]) -> None:
    """Writes the results of :func:`stages`, by :func:`key_of`, to a file for machines without a compiler."""
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=9) as f:
        json.dump(found, f)


def load(path: Path) -> dict[str, list[Stage]]:
    """Reads the file of :func:`save`."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        found: dict[str, list[Stage]] = json.load(f)
    return found


# ---- the run ---------------------------------------------------------------------------------------------------------

def shape_of(kernel: tiles.Kernel, p: tiles.Param, xp: Any, numbers: Mapping[str, float]) -> tuple[int, ...]:
    """The shape of a tensor for the sizes; computed sizes are defined at the top of the body."""
    machine = tiles.machine_of(kernel, numbers)
    defined = {i: op for op in kernel.body.ops for i in op.outs}

    def value(i: int) -> int:
        if i not in machine.env:
            for x in defined[i].ins:
                value(x)
            machine.step(defined[i])
        return int(machine.uniform(i) or 0)

    return tuple(value(i) for i in p.size)


def reference(item: Item, shape: Shape, given: Inputs, ready: Sequence[Stage] | None = None, *, seconds: float = math.inf) -> dict[str, Value]:
    """The item's outputs: name -> (value, bound), with |got - value| <= bound for every correct execution; bound
    inf: unknown. ready: earlier results of :func:`stages`. After ``seconds`` the remaining blocks of the last
    kernel are skipped: their elements have bound inf."""
    xp = arrays.namespace(given.xp)
    ready = stages(item, shape) if ready is None else ready
    todo = [tiles.read(stage["ir"]) for stage in ready]
    numbers: dict[str, float] = {**sizes_of(item, shape, ready), **item.scalars}
    values: dict[str, Array] = {}
    bounds: dict[str, Array] = {}
    found: dict[str, Value] = {}
    for n, kernel in enumerate(todo):
        tensors: dict[str, Any] = {}
        for p in kernel.tensors():
            if p.name in values:
                tensors[p.name] = values[p.name]
                found.pop(p.name, None)  # between kernels
            elif p.read:
                tensors[p.name] = given.value(p.name)
            else:
                tensors[p.name] = shape_of(kernel, p, xp, numbers)
        made = tiles.run(kernel, xp, tensors, numbers, bounds=bounds, seconds=seconds if n + 1 == len(todo) else math.inf)
        for name, (value, bound) in made.items():
            if name not in values:
                found[name] = (value, bound)
            values[name] = value
            # the choice among several correct indices makes no difference to the following kernels
            bounds[name] = bound if str(value.dtype).endswith("float64") else xp.full(tuple(bound.shape), 0.0, xp.f64)
    return found


def judged(xp: Any, got: Array, want: Value) -> dict[str, float]:
    """Compares a result with its reference: the numbers of elements, of checked elements (with finite bounds)
    and of wrong elements; the largest error, and its share of the bound; the first wrong element, from 0, or -1."""
    xp = arrays.namespace(xp)
    value, bound = (x.reshape(-1) for x in want)
    got, value = (xp.to(x.reshape(-1), xp.f64) for x in (got, value))
    n = int(bound.shape[0])
    if not n:
        return {"elements": 0, "judged": 0, "wrong": 0, "error": 0.0, "share": 0.0, "first": -1}
    with np.errstate(all="ignore"):
        zero = xp.full((n,), 0.0, xp.f64)
        same = (got == value) | (xp.isnan(got) & xp.isnan(value))
        error = xp.where(same, zero, xp.abs(got - value))
        error = xp.where(xp.isnan(error), zero + math.inf, error)  # a NaN instead of a number
        known = bound < math.inf
        error = xp.where(known, error, zero)
        wrong = xp.numpy(known & (error > bound))
        share = xp.where(error > 0, error / bound, zero)
    return {"elements": n, "judged": int(xp.numpy(known).sum()), "wrong": int(wrong.sum()), "error": float(xp.numpy(error).max()),
            "share": float(xp.numpy(share).max()), "first": int(np.argmax(wrong)) if wrong.any() else -1}
