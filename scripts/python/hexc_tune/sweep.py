"""A sweep: lists of candidates for every combination of constants, selection by the cost
model, timing in rounds.

Every decision depends only on the database, so that an interrupted sweep resumes and produces the same result.
Rounds are successive halving (Jamieson and Talwalkar, arXiv 1502.07943): in each round the launches of all
remaining candidates are interleaved in time, and the slower part is excluded from the next, which launches more.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .compiler import option
from .crew import Crew
from .errors import TuneError
from .judge import Job, least_us
from .progress import Progress
from .space import (
    Choice,
    Machine,
    Sizes,
    arguments,
    grid_of,
    part_of,
    predicted_us,
    prune,
    shape_text,
    sizes_of,
    tensor_bytes,
)
from .store import Key, Store

AHEAD, AHEAD_LISTS = 64, 16  # jobs that wait for a core


@dataclass
class Options:
    """The options; see cli.py."""

    program: str
    options: list[str]  # --arch, --kernel: passed to hexc
    args: list[str]  # values of --arg
    sweep: list[tuple[str, list[str]]]
    shapes: list[Sizes]
    judge: str  # gpu, clock, sim
    machine: Machine | None
    roofline: str | None = None
    within: float = 1.25
    across: float = 0
    first: int = 0
    halving: float = 2
    repeat: int = 30
    check: bool = True
    warm: bool = False
    limit: float | None = None
    budget: float | None = None
    sample: int = 0  # approximate number of simulated blocks; 0: all
    operator: str = ""  # of --op
    assembler: str = ""  # the version of the ptxas that ranks candidates; "": estimates rank them

    def rounds(self) -> list[int]:
        """Launches of each round; only measured times have more than one."""
        if self.judge != "gpu" or self.halving <= 1 or self.repeat < 3:
            return [self.repeat]
        a, b = max(1, self.repeat // 6), max(1, self.repeat // 3)
        return [a, b, self.repeat - a - b]


@dataclass
class Result:
    """The results of a choice."""

    choice: Choice
    state: str  # ok, refused, wrong, slow, trouble, pruned, open
    why: str = ""
    us: float = 0  # median, or from the static model or the counts
    spread: float = 0  # between the quartiles, as a share of the median
    launches: int = 0
    by: str = ""  # gpu, clock or sim
    throttled: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    rounds: int = 0
    samples: list[float] = field(default_factory=list)

    @property
    def way(self) -> str:
        """The method of the time, and the part of the grid: "sim 16 of 2048"."""
        part = f" {self.stats['sampled']} of {math.prod(self.stats['grid'])}" if "sampled" in self.stats else ""
        return self.by + part


def combine(choice: Choice, samples: Sequence[dict[str, Any]], judge: str) -> Result:
    """The result of a choice from its rounds."""
    if not samples:
        return Result(choice, "pruned" if choice.pruned else "open", choice.pruned)
    bad = next((s for s in samples if s["state"] != "ok"), None)
    if bad:
        return Result(choice, bad["state"], bad["why"], rounds=len(samples))
    stats = samples[0]["stats"]
    out = Result(choice, "ok", stats=stats, rounds=len(samples))
    if judge == "gpu":
        us = sorted(itertools.chain(*(s["us"] for s in samples)))
        out.samples = us
        out.us, out.launches, out.by = us[len(us) // 2], len(us), "gpu"
        if len(us) > 3 and out.us:
            q = statistics.quantiles(us, n=4, method="inclusive")
            out.spread = (q[2] - q[0]) / out.us
        out.throttled = sorted({why for s in samples for why in s["clocks"].get("throttled", ())})
    elif "clock" in stats:
        out.us, out.by = stats["clock"]["us"], "clock"
    else:
        out.us, out.by = least_us(stats, choice.cycles, choice.alone, choice.together), "sim"
    return out


def results(store: Store, sweep: int, judge: str) -> list[Result]:
    """Results of all choices of a sweep; the fastest of each shape first. If the static model cannot
    follow one candidate of a shape, all of the shape get times from counts, which are lower bounds, so
    that they are comparable."""
    samples: dict[Key, list[dict[str, Any]]] = {}
    for key, _, found in store.samples(sweep):
        samples.setdefault(key, []).append(found)
    out = [combine(c, samples.get(c.key, ()), judge) for c in store.trials(sweep)]
    counted = {r.choice.shape for r in out if r.by == "sim"}
    for r in out:
        if r.by == "clock" and r.choice.shape in counted:
            r.us, r.by = least_us(r.stats, r.choice.cycles, r.choice.alone, r.choice.together), "sim"
    return sorted(out, key=lambda r: (r.choice.shape, r.state != "ok", r.us or math.inf, r.choice.predicted))


def survivors(found: Sequence[Result], halving: float) -> list[Result]:
    """The remaining candidates: the fastest 1/halving, and those whose quartiles overlap
    with the slowest of these."""
    ranked = sorted((r for r in found if r.state == "ok"), key=lambda r: (r.us, r.choice.predicted, r.choice.define,
                                                                         r.choice.candidate))
    keep = math.ceil(len(ranked) / halving)
    if keep in (0, len(ranked)):
        return ranked
    last = ranked[keep - 1]
    most = last.us * (1 + last.spread / 2)
    return ranked[:keep] + [r for r in ranked[keep:] if r.us * (1 - r.spread / 2) <= most]


class Sweep:
    """One sweep of one program; calls ``tell`` after each result."""

    def __init__(self, options: Options, store: Store, number: int, crew: Crew, progress: Progress,
                 tell: Callable[[], None]) -> None:
        self.options, self.store, self.number, self.crew = options, store, number, crew
        self.progress, self.tell = progress, tell
        self._end = time.monotonic() + options.budget if options.budget else math.inf
        self.left = 0  # timings that the budget did not allow
        self._folder = tempfile.TemporaryDirectory()
        self._listed: dict[str, dict[str, Any]] = {}
        self._told: set[str] = set()

    def defines(self) -> list[str]:
        """All combinations, in order."""
        names = [name for name, _ in self.options.sweep]
        return [" ".join(f"{n}={v}" for n, v in zip(names, values))
                for values in itertools.product(*(v for _, v in self.options.sweep))]

    def job(self, define: str, **more: Any) -> Job:
        o = self.options
        return Job(o.program, tuple(o.options), tuple(define.split()), limit=o.limit, **more)

    def run(self) -> None:
        """Runs the sweep, as far as the budget allows."""
        self.make_lists()
        if self.left:
            return
        chosen = self.choose()
        for number, repeat in enumerate(self.options.rounds()):
            chosen = self.judge(chosen, number, repeat)
            if self.left or len(self.options.rounds()) == 1:
                break
            chosen = self.cut(chosen)

    def make_lists(self) -> None:
        """Computes the lists that are not in the database yet, in parallel."""
        known = self.store.lists(self.number)
        missing = [d for d in self.defines() if d not in known]
        self.progress.start("candidates", len(missing))
        waiting, order = 0, iter(missing)
        while True:
            while waiting < AHEAD_LISTS and time.monotonic() < self._end:
                define = next(order, None)
                if define is None:
                    break
                self.crew.submit(define, self.job(define, assemble=bool(self.options.assembler)))
                waiting += 1
            if not waiting:
                break
            done = self.crew.next()
            waiting -= 1
            why, found = done.outcome.get("why", ""), done.outcome
            self._tell_once(found.pop("refused_by_ptxas", ""))
            if found["state"] in ("ok", "refused"):
                self.store.add_list(self.number, str(done.tag), why, {} if why else found)
                self.tell()
            else:
                raise TuneError(f"{done.tag}: {why}")
            self.progress.step()
        self.progress.end()
        self.left += sum(1 for _ in order)

    def _tell_once(self, text: str) -> None:
        if text and text not in self._told:
            print("tune:", text, file=sys.stderr)
        self._told.add(text)

    def shapes(self, params: Sequence[dict[str, Any]]) -> list[tuple[Sizes, list[str]]]:
        """Each shape with its arguments; one without a name if the sizes are unknown."""
        if not self.options.shapes:
            return [(sizes_of(params, self.options.args), list(self.options.args))]
        return [(s, arguments(params, self.options.args, s)) for s in self.options.shapes]

    def choose(self) -> list[Choice]:
        """Every candidate of every combination and shape, in the order of timing: shapes alternate."""
        o, lists = self.options, self.store.lists(self.number)
        wanted = [(d, lists[d][1]) for d in self.defines() if not lists[d][0]]
        by_shape: dict[str, list[Choice]] = {}
        for define, listed in wanted:
            for sizes, _ in self.shapes(listed["params"]):
                shape = shape_text(sizes)
                by_shape.setdefault(shape, []).extend(
                    Choice(shape, define, c["index"], c["cycles"], c["alone"], c["blocks_together"], c["text"],
                           predicted_us(c, listed, sizes, o.machine), "", c.get("spilled", 0))
                    for c in listed["candidates"])
        marked = [prune(choices, o.within, o.first, o.across) for choices in by_shape.values()]
        judged = {key for key, _, _ in self.store.samples(self.number)}
        self.store.add_trials(self.number, [c for one in marked for c in one if not (c.pruned and c.key in judged)])
        kept = [[c for c in one if not c.pruned] for one in marked]
        return [c for turn in itertools.zip_longest(*kept) for c in turn if c]

    def judge(self, chosen: Sequence[Choice], number: int, repeat: int) -> list[Choice]:
        """One round of the candidates without a result, in every second round in reverse order. Other cores
        compile for the GPU ahead of it, at most AHEAD jobs; candidates that ptxas rejects never reach the GPU."""
        have = {key for key, n, found in self.store.samples(self.number) if n == number and found["state"] != "trouble"}
        todo = [c for c in chosen if c.key not in have]
        todo = todo[::-1] if number % 2 else todo
        by_key = {c.key: c for c in todo}
        self.progress.start(f"round {number}" if len(self.options.rounds()) > 1 else "judged", len(todo))
        waiting, order, best = 0, iter(todo), math.inf
        while True:
            while waiting < AHEAD and time.monotonic() < self._end:
                c = next(order, None)
                if not c:
                    break
                self._begin(c, number, repeat)
                waiting += 1
            if not waiting:
                break
            done = self.crew.next()
            c, found = by_key[done.tag], done.outcome  # type: ignore[index]
            if found.pop("compiled", False) and found["state"] == "ok":
                self._compiled(c).write_bytes(found["bundle"])
                self._begin(c, number, repeat)
                continue
            waiting -= 1
            self.store.add_sample(self.number, c.key, number, found, done.host, done.began)
            self.tell()
            result = combine(c, [{"clocks": {}, "us": [], **found}], self.options.judge)
            best = min(best, result.us if result.state == "ok" else best)
            self.progress.step(f"best {best:.2f} us" if best < math.inf else "")
        self.progress.end()
        self.left += sum(1 for _ in order)
        return list(chosen)

    def _compiled(self, c: Choice) -> Path:
        """The file with the compiled choice, kept for all rounds."""
        name = hashlib.sha256(f"{c.define} {c.candidate}".encode()).hexdigest()[:32]
        return Path(self._folder.name, name)

    def _begin(self, c: Choice, number: int, repeat: int) -> None:
        """Submits the timing job; for the GPU the compile job first, if needed."""
        job, file = self.trial_job(c, number, repeat), self._compiled(c)
        if job.judge == "gpu":
            job = replace(job, bundle=file.read_bytes()) if file.exists() else replace(job, judge="compile")
        self.crew.submit(c.key, job)

    def trial_job(self, c: Choice, number: int, repeat: int) -> Job:
        """The job that times a choice in a round; the first round also checks results."""
        o, listed = self.options, self._lists()[c.define]
        sizes, args = next((s, args) for s, args in self.shapes(listed["params"]) if shape_text(s) == c.shape)
        grid: tuple[int, ...] = ()
        more = 1.0
        if o.sample and o.judge != "gpu" and o.shapes:
            part = part_of(listed, o.args, sizes, o.sample)
            if part != sizes:
                grid, args = grid_of(listed, sizes), arguments(listed["params"], o.args, part)
                more = tensor_bytes(listed["params"], sizes) / (tensor_bytes(listed["params"], part) or 1)
        return self.job(c.define, args=tuple(args), candidate=c.candidate, repeat=repeat, judge=o.judge, text=c.text,
                        roofline=o.roofline, check=o.check and number == 0, warm=o.warm, grid=grid, bytes=more)

    def _lists(self) -> dict[str, dict[str, Any]]:
        """The candidates of each combination of constants; read once."""
        if not self._listed:
            self._listed = {define: found for define, (_, found) in self.store.lists(self.number).items()}
        return self._listed

    def cut(self, chosen: Sequence[Choice]) -> list[Choice]:
        """The candidates of the last round that remain, for each shape."""
        keys = {c.key for c in chosen}
        found = [r for r in results(self.store, self.number, self.options.judge) if r.choice.key in keys]
        out: list[Choice] = []
        for _, of_shape in itertools.groupby(found, key=lambda r: r.choice.shape):
            out += [r.choice for r in survivors(list(of_shape), self.options.halving)]
        return out


def old_json(options: Options, compiler: str, words: Sequence[str], store: Store, number: int) -> dict[str, Any]:
    """The output of -o."""
    tried, refused = [], []
    for define, (why, _) in store.lists(number).items():
        if why:
            refused.append({"define": define.split(), "why": why})
    for r in results(store, number, options.judge):
        c = r.choice
        entry: dict[str, Any] = {"define": c.define.split(), "candidate": c.candidate, "cycles": c.cycles, "alone": c.alone,
                                 "blocks_together": c.together, "text": c.text}
        entry |= {"shape": c.shape} if options.shapes else {}
        if r.state == "ok":
            tried.append(entry | {"score_us": r.us, "by": r.by} | r.stats | ({"median_us": r.us, "us": r.samples} if r.by == "gpu" else {}))
        elif r.state not in ("open", "pruned"):
            refused.append({**entry, "why": r.why})
    return {"compiler": compiler, "program": options.program, "options": list(words), "exec": options.judge,
            "tried": sorted(tried, key=lambda e: e["score_us"]), "refused": refused}


def key_of(options: Options, digest: str, gpu: str, driver: str, build: str) -> dict[str, str]:
    """The key of the sweep in the database."""
    kernel = option(options.options, "--kernel", "") or ""
    judge = options.judge + (" warm" if options.warm else "") + ("" if options.check else " unchecked")
    judge += f" {options.sample} blocks" if options.sample and options.judge != "gpu" else ""
    fixed = [w for w in options.options if w not in ("--arch", "--kernel")]
    fixed += ["--op", options.operator] if options.operator else []
    fixed += ["--assembler", options.assembler] if options.assembler else []
    return {"program": digest, "kernel": kernel, "options": json.dumps(fixed), "args": json.dumps(options.args),
            "arch": option(options.options, "--arch", "") or "", "gpu": gpu, "driver": driver, "build": build,
            "judge": judge}
