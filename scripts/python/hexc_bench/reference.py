"""What items (items.py) must compute: their kernels' own tile IR with bounds, run on arrays (tiles.py).

A reference is what `hexc run --check` compares with, values and bounds, but made where the data is: on a GPU by PyTorch for shapes
of models, with NumPy for small ones.  The kernels of a line of an operator's table follow one another, and what one hands on has
its bound with it.
"""

from __future__ import annotations

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

__all__ = ["Inputs", "NoReference", "judged", "reference", "stages"]

Stage = dict[str, str]  # kernel: its name; ir: its text, with bounds


class Inputs(Protocol):
    """xp: an arrays.Numpy or arrays.Torch.  value: of a tensor by name, floats as f64 and integers as i64, in the shape that the
    program declares."""

    xp: Any

    def value(self, name: str) -> Array: ...


# ---- the IR ----------------------------------------------------------------------------------------------------------

def bounded(program: str, kernel: str, constants: Mapping[str, int | str], hexc: str = "", arch: str = "") -> str:
    """The text of a kernel with bounds; NoReference has what the compiler says."""
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
    """Where a kernel's declaration stands, up to its body."""
    found = re.search(rf"^kernel {kernel}\(.*?^\{{", program, re.M | re.S)
    if not found:
        raise NoReference(f"the program has no kernel {kernel}")
    return found.span()


def handed_on(program: str, kernel: str, names: Sequence[str]) -> str:
    """The program with these tensors of a kernel read and written: such have bounds when it begins.  Integers are exact, and what they
    index is another thing where they may be written."""
    start, end = head_of(program, kernel)
    head = program[start:end]
    for name in names:
        head = re.sub(rf"\b{name}: (?!inout\b|out\b|[iu]\d+\[)", f"{name}: inout ", head)
    return program[:start] + head + program[end:]


def declared(program: str, kernel: str) -> dict[str, str]:
    """The constants and tunables that a kernel has: name -> what is said of them."""
    start, end = head_of(program, kernel)
    said = ", ".join(re.findall(r"^\s*(?:tune|const) (.*)", re.sub(r"//.*", "", program[start:end]), re.M))
    return dict(re.findall(r"\b([A-Z]\w*) = ([^,]*)", said))


def outputs(program: str, kernel: str) -> list[str]:
    """The tensors that a kernel writes, as far as its declaration shows."""
    start, end = head_of(program, kernel)
    return re.findall(r"\b(\w+): (?:in)?out\b", re.sub(r"//.*", "", program[start:end]))


def lines(item: Item, shape: Shape) -> ops.Line:
    """Of an operator's item the line of the table that is taken: its own, or the first that is for the sizes."""
    if item.line >= 0:
        return ops.line_of(item.text, item.operator)
    constants = {n: int(v) for n, v in item.constants.items() if str(v).lstrip("-").isdigit()}
    for text in items.table(item.operator):
        line = ops.line_of(text, item.operator)
        said = {n: v for s in line.stages for n, v in (d.split("=") for d in s.define.split())}
        if any(n in said and said[n] != str(v) for n, v in item.constants.items()):
            continue
        numbers = {n: int(v) for n, v in said.items() if v.lstrip("-").isdigit()}
        if expr.evaluate(line.guard, {**numbers, **constants, **shape.sizes}):
            return line
    raise NoReference(f"no line of lib/ops/{item.operator}.hexc is for {dict(shape.sizes)}")


def sizes_of(item: Item, shape: Shape) -> dict[str, int]:
    """With those that a line computes."""
    if not item.operator:
        return dict(shape.sizes)
    line = lines(item, shape)
    found = {n: int(v) for n, v in item.constants.items() if str(v).lstrip("-").isdigit()} | dict(shape.sizes)
    numbers = {n: int(v) for s in line.stages for n, v in (d.split("=") for d in s.define.split()) if v.lstrip("-").isdigit()}
    for name, text in line.sizes:
        value = expr.evaluate(text, {**numbers, **found})
        if value is not None:
            found.setdefault(name, value)
    return found


def stages(item: Item, shape: Shape, program: str | None = None, hexc: str = "") -> list[Stage]:
    """The kernels that compute an item, one after the other.  program: an operator's text with what its settings put into its
    holes; None: the file, whose holes are empty.  hexc: the command line, $HEXC or build/hexc."""
    if not item.operator:
        text = (items.ROOT / item.program).read_text(encoding="utf-8")
        return [{"kernel": item.kernel, "ir": bounded(text, item.kernel, item.constants, hexc)}]
    files = ops.read(item.operator).files
    found, made = [], []
    for stage in lines(item, shape).stages:
        own_file = Path(files[stage.kernel]).stem == item.operator
        text = program if program and own_file else Path(files[stage.kernel]).read_text(encoding="utf-8")
        known = declared(text, stage.kernel)
        define = {n: v for n, v in item.constants.items() if n in known} | dict(d.split("=") for d in stage.define.split())
        text = handed_on(text, stage.kernel, made)
        found.append({"kernel": stage.kernel, "ir": bounded(text, stage.kernel, define, hexc)})
        made += outputs(text, stage.kernel)
    return found


# ---- the run ---------------------------------------------------------------------------------------------------------

def shape_of(kernel: tiles.Kernel, p: tiles.Param, xp: Any, numbers: Mapping[str, float]) -> tuple[int, ...]:
    """Of a tensor by the sizes; those that are computed stand at the top of the body."""
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
    """What the item writes: name -> (value, bound), |got - value| <= bound for every right execution; bound inf: nothing is known
    of the element.  ready: what :func:`stages` found before.  After ``seconds`` what is left of the last kernel's blocks is not
    computed: elements of theirs have bound inf."""
    xp = given.xp
    numbers: dict[str, float] = {**sizes_of(item, shape), **item.scalars}
    values: dict[str, Array] = {}
    bounds: dict[str, Array] = {}
    found: dict[str, Value] = {}
    todo = list(stages(item, shape) if ready is None else ready)
    for n, stage in enumerate(todo):
        kernel = tiles.read(stage["ir"])
        tensors: dict[str, Any] = {}
        for p in kernel.params:
            if p.kind != "tensor" or p.name == "doubt" or " of " in p.name:
                continue
            if p.name in values:
                tensors[p.name] = values[p.name]
            elif p.read:
                tensors[p.name] = given.value(p.name)
            else:
                tensors[p.name] = shape_of(kernel, p, xp, numbers)
        last = n + 1 == len(todo)
        found = found | tiles.run(kernel, xp, tensors, numbers, bounds=bounds, seconds=seconds if last else math.inf)
        for name, (value, bound) in found.items():
            values[name] = value
            # which of several right indices is handed on makes no difference to what follows
            bounds[name] = bound if str(value.dtype).endswith("float64") else 0.0 * bound
    return {name: v for name, v in found.items() if name in {p.name for p in tiles.read(todo[-1]["ir"]).params if p.written} or len(todo) == 1}


def judged(xp: Any, got: Array, want: Value) -> dict[str, float]:
    """Of a result beside its reference: how many elements were judged, and are wrong; the largest error, and its share of the bound;
    the first that is wrong, from 0, or -1."""
    value, bound = (x.reshape(-1) for x in want)
    got = got.reshape(-1)
    if not str(value.dtype).endswith("float64"):
        got, value = xp.to(got, xp.f64), xp.to(value, xp.f64)
    error = xp.abs(got - value)
    same = (got == value) | (xp.isnan(got) & xp.isnan(value))
    error = xp.where(same, 0 * bound, xp.where(xp.isnan(error), 0 * bound + math.inf, error)) if bool(bound.shape[0]) else error
    error = xp.where(xp.isnan(error), xp.full((), 0.0, xp.f64), error)
    known = bound < math.inf
    wrong = known & (error > bound)
    share = xp.where(known & (bound > 0), error / xp.where(bound > 0, bound, bound * 0 + 1), xp.full((), 0.0, xp.f64))
    n = int(bound.shape[0])
    bad = xp.numpy(wrong)
    return {"elements": n, "judged": int(xp.numpy(xp.to(known, xp.i64).sum())), "wrong": int(bad.sum()),
            "error": float(xp.numpy(xp.where(known, error, xp.full((), 0.0, xp.f64)).max())) if n else 0.0,
            "share": float(xp.numpy(share.max())) if n else 0.0, "first": int(np.argmax(bad)) if bad.any() else -1}
