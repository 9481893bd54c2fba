"""Guards for a host: which constants to take for which sizes, as text.  scripts/python/TUNE.md describes the format.

For each shape the fastest set of constants is known.  Sets that are within TOLERANCE of it may stand for others, so that
few are left; then sizes are divided by thresholds, a decision tree, until every part has one set.  A threshold is a size
that was tuned: up to it, that size's set is taken."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import TuneError
from .expr import evaluate
from .space import Sizes, read_shape
from .store import Store
from .sweep import Result, results

TOLERANCE = 0.02
Set = tuple[str, int]  # constants and candidate


def text(store: Store, sweeps: Sequence[Mapping[str, Any]]) -> str:
    """The file of these sweeps, one family for each that found anything."""
    return "hexc-family 1\n" + "".join(_family(store, s) for s in sweeps)


def _family(store: Store, s: Mapping[str, Any]) -> str:
    found = [r for r in results(store, s["id"], s["judge"].split()[0]) if r.state == "ok"]
    if not found:
        return ""
    lists = store.lists(s["id"])
    by_shape: dict[str, dict[Set, float]] = {}
    for r in found:
        by_shape.setdefault(r.choice.shape, {})[r.choice.define, r.choice.candidate] = r.us
    takes = cover(by_shape)
    points = [(read_shape(shape) if shape else {}, takes[shape]) for shape in by_shape]
    kernel = lists[found[0].choice.define][1]["kernel"]
    lines = [f"family {kernel}", f"program sha256:{s['program']}", f"arch {s['arch']}", f"gpu {s['gpu']}",
             f"driver {s['driver'] or '-'}", f"build {s['build']}", f"judge {s['judge']}"]
    guards: dict[Set, list[str]] = {}
    for box, take in divide(points, {}):
        guards.setdefault(take, []).append(_box_text(box))
    for take, boxes in guards.items():
        assume = [a for a in lists[take[0]][1]["assume"]]
        guard = "" if "" in boxes else boxes[0] if len(boxes) == 1 else " || ".join(f"({b})" for b in boxes)
        whole = [f"({guard})" if "||" in guard and assume else guard, *(f"({a})" if "||" in a else a for a in assume)]
        tuned = "; ".join(f"{shape.replace(' ', ',')}: {us[take]:.3f}" for shape, us in by_shape.items() if takes[shape] == take)
        lines += ["take " + " ".join([*take[0].split(), f"candidate={take[1]}"]) + " when "
                  + (" && ".join(w for w in whole if w) or "1") + f"  # us {tuned}"]
    return "\n".join(lines) + "\n"


def cover(by_shape: Mapping[str, Mapping[Set, float]]) -> dict[str, Set]:
    """Few sets that stand for all: the one that is near the fastest of most shapes that have none yet, and so on."""
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


Box = dict[str, tuple[int, float]]  # by size: more than the first, at most the second


def divide(points: Sequence[tuple[Sizes, Set]], box: Box) -> list[tuple[Box, Set]]:
    """Boxes of sizes, each with the set of the points in it."""
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
    """What a host takes for these sizes: constants and candidate of the first line of a file of one family whose guard
    holds; None where none does."""
    for line in file.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("take "):
            words, _, guard = line[5:].partition(" when ")
            *defines, candidate = words.split()
            if evaluate(guard, sizes):
                return " ".join(defines), int(candidate.partition("=")[2])
    return None
