"""Dispatch tables for a host: which constants to use for which sizes, as text.
scripts/python/TUNE.md describes the format.

The fastest set of constants of each shape is known. Sets within TOLERANCE of the fastest may replace others, so
that few remain. Then a decision tree of thresholds splits the sizes until every part has one set. A threshold is
a tuned size: up to it, that size's set is used."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import ops
from .errors import TuneError
from .expr import evaluate
from .space import Sizes, read_shape, shape_text
from .store import Store
from .sweep import Result, results

TOLERANCE = 0.02
CHAIN = -1
Set = tuple[str, int]  # constants and candidate; for a chain all stages, and CHAIN


def text(store: Store, sweeps: Sequence[Mapping[str, Any]]) -> str:
    """The text for these sweeps: one family for each program with results, and one for
    all kernels of an operator."""
    out, of_operators = "", dict[str, list[Mapping[str, Any]]]()
    for s in sweeps:
        if name := _operator(s):
            of_operators.setdefault(f"{name} {s['arch']} {s['gpu']} {s['build']} {s['judge']}", []).append(s)
        elif found := _found(store, s):
            by_shape: dict[str, dict[Set, float]] = {}
            for r in found:
                by_shape.setdefault(r.choice.shape, {})[r.choice.define, r.choice.candidate] = r.us
            lists = store.lists(s["id"])
            out += _family({**s, "judge": _judged(s, found)}, lists[found[0].choice.define][1]["kernel"], by_shape, lambda t: t[0],
                           lambda t: list(lists[t[0]][1]["assume"]))
    return "hexc-family 1\n" + out + "".join(_of_operator(store, of) for of in of_operators.values())


def _found(store: Store, s: Mapping[str, Any]) -> list[Result]:
    return [r for r in results(store, s["id"], s["judge"].split()[0]) if r.state == "ok"]


def _judged(s: Mapping[str, Any], found: Sequence[Result]) -> str:
    """The method of timing: the requested one, replaced by the one that was used."""
    asked, *rest = s["judge"].split()
    by = sorted({r.by for r in found}) or [asked]
    return " ".join([" and ".join(by), *rest])


def _operator(s: Mapping[str, Any]) -> str:
    """The operator's name; "" if the sweep is of a program."""
    words = json.loads(s["options"])
    return words[words.index("--op") + 1] if "--op" in words else ""


def _of_operator(store: Store, sweeps: Sequence[Mapping[str, Any]]) -> str:
    """A table for hexc_op_plan: the fastest of single kernels and of the operator's own chains, whose stages
    were timed one by one. The operator's entries follow, for sizes that no tuned entry accepts."""
    op = ops.read(_operator(sweeps[0]))
    by_kernel = {s["kernel"]: _found(store, s) for s in sweeps}
    by_shape: dict[str, dict[Set, float]] = {}
    assumed: dict[str, list[str]] = {}
    for s in sweeps:
        lists = store.lists(s["id"])
        for r in by_kernel[s["kernel"]] if any(line.stages[0].kernel == s["kernel"] and len(line.stages) == 1
                                               for line in op.lines) else ():
            words = f"{s['kernel']} " + " ".join(d for d in r.choice.define.split() if _of_table(op, s["kernel"], d))
            by_shape.setdefault(r.choice.shape, {})[words.strip(), r.choice.candidate] = r.us
            assumed[words.strip()] = lists[r.choice.define][1]["assume"]
    for line in op.chains():
        if chain := _add_chain(line, by_kernel, by_shape):
            assumed[chain] = [line.guard]
    if not by_shape:
        return ""
    judged = _judged(sweeps[0], [r for found in by_kernel.values() for r in found])
    made = _family({**sweeps[0], "judge": judged}, op.name, by_shape, lambda t: t[0], lambda t: assumed.get(t[0], []))
    return made + "".join(f"take {line.with_candidates()}\n" for line in op.lines)


def _of_table(op: ops.Operator, kernel: str, define: str) -> bool:
    """Does the table determine it, and not the host?"""
    name, _, value = define.partition("=")
    return name in op.values(kernel) or value.lstrip("-").isdigit()


def _add_chain(line: ops.Line, by_kernel: Mapping[str, Sequence[Result]], by_shape: dict[str, dict[Set, float]]) -> str:
    """The times of a chain: the sums of its stages, each with the candidate that is best for all shapes
    together. Returns its text in a table; "" if it was not timed."""
    total: dict[str, float] = {}
    words = []
    for stage in line.stages:
        us: dict[int, dict[str, float]] = {}
        for r in by_kernel.get(stage.kernel, ()):
            if set(stage.define.split()) <= set(r.choice.define.split()):
                us.setdefault(r.choice.candidate, {})[r.choice.shape] = r.us
        shapes = {shape: shape_text(e) for shape in by_shape if (e := line.extended(read_shape(shape)))}
        whole = {c: of for c, of in us.items() if all(more in of for more in shapes.values())}
        if not shapes or not whole:
            return ""
        best = min(whole, key=lambda c: sum(whole[c][more] for more in shapes.values()))
        for shape, more in shapes.items():
            total[shape] = total.get(shape, 0.0) + whole[best][more]
        words.append(" ".join([stage.kernel, *stage.define.split(), f"candidate={best}"]))
    given = " with " + ", ".join(f"{n}={v}" for n, v in line.sizes) if line.sizes else ""
    chain = " then ".join(words) + given
    for shape, sum_us in total.items():
        by_shape[shape][chain, CHAIN] = sum_us
    return chain


def _family(s: Mapping[str, Any], name: str, by_shape: Mapping[str, Mapping[Set, float]], words: Callable[[Set], str],
            assumed: Callable[[Set], list[str]]) -> str:
    takes = cover(by_shape)
    points = [(read_shape(shape) if shape else {}, takes[shape]) for shape in by_shape]
    lines = [f"family {name}", f"program sha256:{s['program']}", f"arch {s['arch']}", f"gpu {s['gpu']}",
             f"driver {s['driver'] or '-'}", f"build {s['build']}", f"judge {s['judge']}"]
    guards: dict[Set, list[str]] = {}
    for box, take in divide(points, {}):
        guards.setdefault(take, []).append(_box_text(box))
    for take, boxes in guards.items():
        assume = assumed(take)
        guard = "" if "" in boxes else boxes[0] if len(boxes) == 1 else " || ".join(f"({b})" for b in boxes)
        whole = [f"({guard})" if "||" in guard and assume else guard, *(f"({a})" if "||" in a else a for a in assume)]
        tuned = "; ".join(f"{shape.replace(' ', ',')}: {us[take]:.3f}" for shape, us in by_shape.items() if takes[shape] == take)
        candidate = [] if take[1] == CHAIN else [f"candidate={take[1]}"]
        lines += ["take " + " ".join([*words(take).split(), *candidate]) + " when "
                  + (" && ".join(w for w in whole if w) or "1") + f"  # us {tuned}"]
    return "\n".join(lines) + "\n"


def cover(by_shape: Mapping[str, Mapping[Set, float]]) -> dict[str, Set]:
    """A small cover: repeatedly selects the set that is near the fastest for most uncovered shapes."""
    near = {shape: {s for s, us in sets.items() if us <= min(sets.values()) * (1 + TOLERANCE)}
            for shape, sets in by_shape.items()}
    out: dict[str, Set] = {}
    while len(out) < len(near):
        left = [shape for shape in near if shape not in out]
        sets = sorted(set().union(*(near[shape] for shape in left)))

        def worth(s: Set) -> tuple[int, float]:
            of = [by_shape[shape][s] / min(by_shape[shape].values()) for shape in left if s in near[shape]]
            return len(of), -sum(of)

        best = max(sets, key=worth)
        out |= {shape: best for shape in left if best in near[shape]}
    return out


Box = dict[str, tuple[int, float]]  # by size: above the first, at most the second


def divide(points: Sequence[tuple[Sizes, Set]], box: Box) -> list[tuple[Box, Set]]:
    """Boxes of sizes, each with the set of its points."""
    takes = {take for _, take in points}
    if len(takes) == 1:
        return [(box, points[0][1])]
    best: tuple[float, str, int] | None = None
    for name in sorted(points[0][0]):
        values = sorted({sizes[name] for sizes, _ in points})
        for at in values[:-1]:
            parts = [[p for p in points if p[0][name] <= at], [p for p in points if p[0][name] > at]]
            mixed = sum(len(part) * _entropy([take for _, take in part]) for part in parts)
            if best is None or (mixed, name, at) < best:
                best = mixed, name, at
    if best is None:
        raise TuneError("two sets of constants are for the same sizes")
    _, name, at = best
    lo, hi = box.get(name, (0, math.inf))
    return (divide([p for p in points if p[0][name] <= at], {**box, name: (lo, at)})
            + divide([p for p in points if p[0][name] > at], {**box, name: (at, hi)}))


def _entropy(takes: Sequence[Set]) -> float:
    shares = [takes.count(t) / len(takes) for t in set(takes)]
    return -sum(p * math.log(p) for p in shares)


def _box_text(box: Box) -> str:
    words = []
    for name, (lo, hi) in sorted(box.items()):
        words += [f"{name} > {lo}"] if lo else []
        words += [f"{name} <= {hi:g}" if hi < 1e6 else f"{name} <= {int(hi)}"] if hi < math.inf else []
    return " && ".join(words)


def choose(file: str, sizes: Sizes) -> tuple[str, int] | None:
    """What a host selects for these sizes: constants and candidate of the first line whose guard holds, in a
    file of one family; None if none does."""
    for line in file.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("take "):
            words, _, guard = line[5:].partition(" when ")
            *defines, candidate = words.split()
            if evaluate(guard, sizes):
                return " ".join(defines), int(candidate.partition("=")[2])
    return None
