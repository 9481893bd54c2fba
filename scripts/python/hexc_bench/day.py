"""gpu-day [--out DIR] - what is to be done on a GPU that hexc meets for the first time, most valuable first.

Steps, in this order; each is over in 8 minutes (--seconds 480), or goes on with the next call:

    machine    what is here: GPU, driver, hexc, tools, Python's packages
    checks     a first kernel, then the tests of `make check-gpu`
    calibrate  rates, latencies, occupancy, bandwidth; a row for infer/base/rates.def, which it does not write, and how
               far it is from the one that stands there
    schedules  products with --cluster 1x1, --schedule groups, roles, roles2 and --no-pdl beside the defaults
    bench      scripts/bench, all suites, with the peers that are installed and roofs of the same run
    tune       scripts/tune of a few programs
    counters   the simulator's counts beside the profiler's, where there is ncu

DIR (gpu-day) gets STEP.json of each, which its schema says (scripts/python/hexc_bench/schemas/day.schema.json), and
day.html, day.md, benchmark.json (.html, .md), tune.db.  The same command goes on where it was ended, by kill -9 too: what
is done is not done again.  What fails is recorded with its message, and the next goes on.

--steps A,B    only these
--again A,B    forget what these found before
--seconds N    of one step, in one call (480); --total N: start no step after so many (no limit)
--shrink N     divide sizes by N: where the GPU is simulated (test/gpu/fake.sh), 32
--list         print the steps and what each will do

HEXC is the command line to use (build/hexc): that of `make static`, carried here, needs no LLVM.  Exit status: 0 when
every step is done, 1 when one failed in whole or part, 3 when something is left for the next call.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexc_tune import gpu
from hexc_tune.compiler import Compiler
from hexc_tune.errors import TuneError

from . import schema
from .peers import Peers

LEAST = 5.0  # seconds; with fewer left nothing is started


class TooLong(Exception):
    """What was started took all the time that it was given."""


@dataclass
class Item:
    """A part of a step that is done whole or not at all: work(seconds) returns what was found, with "why" if it failed."""

    key: str
    work: Callable[[float], dict[str, Any]]
    limit: float = 240


@dataclass
class Day:
    """What steps may ask."""

    out: Path
    compiler: Compiler
    arch: str
    gpu: gpu.Gpu | None
    shrink: int = 1
    seconds: float = 480
    schema: dict[str, Any] = field(default_factory=lambda: schema.load("day"))
    peers: Peers | None = None
    checks: Compiler = field(default_factory=Compiler)  # whose children the step of that name ends

    def machine(self) -> str:
        """What results are of: others are not gone on with."""
        g = self.gpu
        return f"{g.name if g else 'no GPU'}, driver {g.driver if g else 0}, {self.compiler.build()}, shrink {self.shrink}"

    def path(self, step: str) -> Path:
        return self.out / f"{step}.json"

    def read(self, step: str) -> dict[str, Any] | None:
        """What a step found so far on this machine."""
        try:
            found: dict[str, Any] = json.loads(self.path(step).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if found.get("machine") == self.machine() and not schema.check(found, self.schema, step) else None

    def write(self, found: dict[str, Any]) -> None:
        """All or nothing; what is not as the schema says is an error."""
        bad = schema.check(found, self.schema, found["step"])
        if bad:
            raise ValueError("not as the schema says: " + "; ".join(bad[:3]))
        keep(self.path(found["step"]), json.dumps(found, indent="\t") + "\n")


def keep(path: Path, text: str) -> None:
    """A file that is there whole or not at all."""
    other = path.with_suffix(path.suffix + ".tmp")
    with open(other, "w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    os.replace(other, path)


@dataclass
class Step:
    """items: what it does; after: what is made of them, with members of its own for the file."""

    name: str
    title: str
    items: Callable[[Day], list[Item]]
    after: Callable[[Day, dict[str, Any]], dict[str, Any]] | None = None


def blank(day: Day, step: Step) -> dict[str, Any]:
    return {"step": step.name, "state": "partial", "why": "", "machine": day.machine(), "date": time.strftime("%Y-%m-%d"),
            "seconds": 0.0, "left": 0, "running": "", "lost": {}, "items": []}


def run_step(day: Day, step: Step, say: Callable[[str], None]) -> dict[str, Any]:
    """Go on with a step until it is done or its time is over; what it raises is in its file."""
    found = day.read(step.name) or blank(day, step)
    start, before = time.monotonic(), found["seconds"]
    try:
        _items(day, step, found, start, say)
        if step.after and found["items"]:
            found |= step.after(day, found)
    except Exception as error:  # noqa: BLE001 - the next step is to be tried
        found |= {"state": "failed", "why": f"{type(error).__name__}: {error}"}
    found |= {"seconds": before + time.monotonic() - start, "running": ""}
    try:
        day.write(found)
    except ValueError as error:  # what a step's parts are is fixed, but not what they find
        found = {**blank(day, step), "state": "failed", "why": str(error)}
        day.write(found)
    return found


def _items(day: Day, step: Step, found: dict[str, Any], start: float, say: Callable[[str], None]) -> None:
    items = step.items(day)
    if found["running"]:  # it was ended in the middle of this; the second time that is the item's fault
        key = found["running"]
        found["lost"][key] = found["lost"].get(key, 0) + 1
        if found["lost"][key] > 1:
            found["items"].append({"key": key, "state": "failed", "seconds": 0.0, "why": "gpu-day was ended twice in the middle of it"})
    done = {i["key"] for i in found["items"]}
    todo = [i for i in items if i.key not in done]
    for n, item in enumerate(todo):
        left = day.seconds - (time.monotonic() - start)
        found |= {"left": len(todo) - n, "running": item.key if left >= LEAST else ""}
        if left < LEAST:
            return
        day.write(found)
        began = time.monotonic()
        try:
            result = item.work(min(item.limit, left))
        except TooLong:
            if left < item.limit:
                found["running"] = ""
                return
            result = {"why": f"it took more than {item.limit:g} seconds"}
        except Exception as error:  # noqa: BLE001
            result = {"why": f"{type(error).__name__}: {error}"}
        entry = {"key": item.key, "state": "failed" if "why" in result else "ok", "seconds": time.monotonic() - began, **result}
        bad = schema.check({**found, "items": [entry]}, day.schema, step.name)
        if bad:
            entry = {"key": item.key, "state": "failed", "seconds": entry["seconds"], "why": f"not as the schema says: {bad[0]}"}
        found["items"].append(entry)
        say(f"  {item.key}: " + (f"FAILED: {entry['why']}" if entry["state"] == "failed" else f"{entry['seconds']:.1f} s"))
    found |= {"state": "done", "left": 0, "running": ""}


def failures(found: dict[str, Any]) -> int:
    return sum(i["state"] == "failed" for i in found["items"])


def read_options(words: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    own: dict[str, Any] = {"--out": "gpu-day", "--steps": ",".join(known), "--again": "", "--seconds": "480", "--total": "0",
                           "--shrink": "1"}
    flags = {"--list": False}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, eq, value = word.partition("=")
        if word in ("-h", "--help"):
            print(__doc__, end="")
            sys.exit(0)
        if word in flags:
            flags[word] = True
        elif name in own and (eq or rest):
            own[name] = value if eq else rest.pop(0)
        else:
            sys.exit(f"gpu-day: what is '{word}'? --help tells")
    for name in ("--seconds", "--total", "--shrink"):
        if not own[name].isdigit() or name != "--total" and own[name] == "0":
            sys.exit(f"gpu-day: {name} wants a number, not '{own[name]}'")
        own[name] = int(own[name])
    for name in ("--steps", "--again"):
        own[name] = [s for s in own[name].split(",") if s]
        for s in own[name]:
            if s not in known:
                sys.exit(f"gpu-day: no step '{s}'; there are {', '.join(known)}")
    return own | flags


def day_here(own: dict[str, Any]) -> Day:
    compiler, found = Compiler(), gpu.find()
    arch = gpu.arch_of(found.capability, compiler.call("--list-archs").out.split()) if found else None
    if not arch:
        sys.exit("gpu-day: there is no GPU here" + (f" that hexc compiles for: it is sm_{found.capability}" if found else ""))
    out = Path(own["--out"])
    out.mkdir(parents=True, exist_ok=True)
    return Day(out, compiler, arch, found, own["--shrink"], own["--seconds"])


def main() -> None:
    from . import day_report, steps  # they import this

    known = [s.name for s in steps.STEPS]
    own = read_options(sys.argv[1:], known)
    try:
        day = day_here(own)
    except TuneError as error:
        sys.exit(f"gpu-day: {error}")
    chosen = [s for s in steps.STEPS if s.name in own["--steps"]]
    if own["--list"]:
        for s in chosen:
            print(f"{s.name}: {s.title}", *(i.key for i in s.items(day)), sep="\n    ")
        return
    for name in own["--again"]:
        day.path(name).unlink(missing_ok=True)
    start, ended, left = time.monotonic(), {}, []
    print(f"gpu-day: {day.machine()}", flush=True)
    for s in chosen:
        if own["--total"] and time.monotonic() - start > own["--total"]:
            left.append(s.name)
            continue
        print(f"{s.name}: {s.title}", flush=True)
        began = time.monotonic()
        f = ended[s.name] = run_step(day, s, lambda text: print(text, flush=True))
        words = f"{s.name}: {f['state']} {f['why']}".rstrip() + f", {len(f['items']) - failures(f)} ok, {failures(f)} failed, {f['left']} left"
        print(f"{words}; {time.monotonic() - began:.0f} s", flush=True)
        try:
            day_report.write(day, steps.STEPS)
        except Exception as error:  # noqa: BLE001 - the files are there, and the next step is to be tried
            print(f"gpu-day: no page: {type(error).__name__}: {error}", flush=True)
    left += [n for n, f in ended.items() if f["state"] == "partial"]
    print(f"gpu-day: {time.monotonic() - start:.0f} s; {day.out}/day.html has all" + (f"; left for the next call: {', '.join(left)}" if left else ""))
    sys.exit(3 if left else int(any(f["state"] == "failed" or failures(f) for f in ended.values())))
