"""The cost of pruning: for a complete sweep, how few measurements would have found a kernel near the best.

For comparison: Hidet's search over a hand-made space took 20 and 11 times less time than AutoTVM's and Ansor's
(Ding et al., arXiv 2210.09603). Here the complete sweep is the reference."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .judge import least_us
from .sweep import Result

NEAR = 0.02
WITHIN = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0)
FIRST = (1, 3, 5, 10, 20, 50)


@dataclass
class Study:
    """For one shape: the number of measurements, the fastest, the measurements that each order needs to find one
    within NEAR of it, and what each pruning rule keeps and loses (as a share of the fastest's time)."""

    shape: str
    judged: int
    best: Result
    needs: dict[str, float] = field(default_factory=dict)
    loses: dict[str, tuple[int, float]] = field(default_factory=dict)
    frontier: dict[str, list[float]] = field(default_factory=dict)  # by order: the best after each measurement


def by_prediction(found: Sequence[Result]) -> list[Result]:
    """Best predicted first."""
    return sorted(found, key=lambda r: (r.choice.predicted, r.choice.define, r.choice.candidate))


def by_turns(found: Sequence[Result]) -> list[Result]:
    """The first candidate of every combination of constants, then their second, and so on."""
    seen: dict[str, int] = {}
    turn = {}
    for r in by_prediction(found):
        turn[r.choice.key] = seen[r.choice.define] = seen.get(r.choice.define, -1) + 1
    return sorted(by_prediction(found), key=lambda r: turn[r.choice.key])


def by_probes(found: Sequence[Result]) -> list[Result]:
    """The first of every combination; then all of the combination whose first is fastest, of the
    second fastest, and so on."""
    lists: dict[str, list[Result]] = {}
    for r in by_prediction(found):
        lists.setdefault(r.choice.define, []).append(r)
    probes = [rs[0] for rs in lists.values()]
    rest = [r for p in sorted(probes, key=lambda r: r.us) for r in lists[p.choice.define][1:]]
    return probes + rest


def by_counts(found: Sequence[Result]) -> list[Result]:
    """By the lower bound from the simulator's counts, which needs no ptxas."""
    return sorted(by_prediction(found), key=lambda r: least_us(r.stats, r.choice.cycles, r.choice.alone, r.choice.together))


ORDERS: dict[str, Callable[[Sequence[Result]], list[Result]]] = {
    "by prediction": by_prediction,
    "constants in turns": by_turns,
    "probes, then the best constants": by_probes,
}


def study(found: Sequence[Result]) -> list[Study]:
    """A study of each shape with results."""
    out = []
    for shape in dict.fromkeys(r.choice.shape for r in found):
        good = [r for r in found if r.choice.shape == shape and r.state == "ok"]
        if good:
            out.append(_of_shape(shape, good))
    return out


def _of_shape(shape: str, good: list[Result]) -> Study:
    best = min(good, key=lambda r: r.us)
    s = Study(shape, len(good), best)
    near = sum(r.us <= best.us * (1 + NEAR) for r in good)
    orders = dict(ORDERS)
    if all(r.by == "clock" and "roofline" in r.stats for r in good):
        orders["by the simulator's counts"] = by_counts
    for name, order in orders.items():
        line = list(itertools.accumulate((r.us for r in order(good)), min))
        s.frontier[name] = line
        s.needs[name] = 1 + sum(us > best.us * (1 + NEAR) for us in line)
    s.needs["at random"] = (len(good) + 1) / (near + 1)  # the expected rank of the first of `near`
    ranked = by_prediction(good)
    for ratio in WITHIN:
        kept = [r for r in ranked if r.choice.predicted <= ratio * ranked[0].choice.predicted]
        s.loses[f"within {ratio:g} of the best predicted"] = _loss(kept, best)
    for n in FIRST:
        if n < len(ranked):
            s.loses[f"the first {n}"] = _loss(ranked[:n], best)
    return s


def _loss(kept: Sequence[Result], best: Result) -> tuple[int, float]:
    return len(kept), min(r.us for r in kept) / best.us - 1 if best.us else 0


def text(studies: Sequence[Study]) -> str:
    """A table for each shape."""
    lines = []
    for s in studies:
        lines.append(f"study {s.shape or '(one shape)'}: {s.judged} judged, best {s.best.us:.2f} us by {s.best.by}; "
                     f"until one within {100 * NEAR:g} % of it is found")
        lines += [f"{n:10.1f}  judgements {name}: {s.judged / n:.1f} times fewer than all" for name, n in s.needs.items()]
        lines += [f"{n:8d}    judgements keeping {name}: loses {100 * loss:.1f} %" for name, (n, loss) in s.loses.items()]
    return "".join(line + "\n" for line in lines)
