"""gpu-day [--minutes N] [--out DIR] - measure hexc on a new GPU in limited time, the most valuable items first

Steps, in this order, each with its share of the time; unused time is given to the following steps:

    machine      the GPU, driver, tools, Python packages; a first kernel; all kernels of the kit loaded
    right        every example and every entry of every operator's table, at a small shape and at one of a model,
                 compared with a reference within derived bounds; roles, clusters, dependent launches, graphs,
                 examples/llama
    headline     GEMMs, attention, caches, experts, norms at shapes of models, compared with PyTorch and Triton:
                 medians of replayed graphs, with inputs in L2 and not in L2
    calibration  throughput of an SM: rows for infer/core/sm_throughput.def; the uncertain constants of
                 infer/core/cost_constants.def
    schedules    the first candidates of ten kernels: measured rank and predicted rank
    counters     the profiler's counts compared with the simulator's, if ncu is installed
    sanitizers   compute-sanitizer on kernels with roles, clusters and copies
    tuning       in the remaining time: scripts/tune of headlines

DIR (gpu-day) gets four outputs. journal.jsonl receives each finished item. summary.json is rewritten after each item
(schema: scripts/python/hexc_bench/schemas/summary.schema.json). summary.md is the report. rest.tgz has the output of
tools. A kill at any time loses only the running item. The same command resumes, on the same GPU, driver and hexc.

--minutes N    total time (9)
--only A,B     only these steps, which share all the time
--from DIR     resume an earlier run, possibly of another machine: results of a GPU of the same name and driver with
               the same hexc are not measured again; results of other GPUs are copied
--read DIR     evaluate the results of a run: page, rows for sm_throughput.def, cost_constants.def, mispredictions;
               needs no GPU
--file DIR     with --read: also write the measurements into DIR (test/gpu/figures), to be committed
--match A,B    only items with one of these in their names
--workers N    processes that prepare and check concurrently (the number of CPUs, at most 8)
--rehearse     use the simulator as GPU (the kit's rehearsal/libcuda.so.1, or LD_LIBRARY_PATH's), with small sizes
--shrink N     divide sizes of models by N (1; --rehearse: 32)
--list         print the steps and their items

HEXC is the command line to use (build/hexc). Exit status: 0 if everything ran and was correct, 1 if something
was wrong or failed, 3 if the time did not suffice for all items.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexc_tune import gpu
from hexc_tune.compiler import Compiler
from hexc_tune.errors import TuneError

from . import kit, schema
from .device import Keeper
from .items import ROOT, headlines
from .journal import Journal
from .peers import Peers

SUMMARY = schema.load("summary")
AGAIN = 4.0    # with less time left no step is resumed
LEAST = 0.5    # seconds; with less time left in a step nothing is started
PEER = 40.0    # for a peer, with its compilation
WARMING = 110.0
CLOSING = 8.0  # seconds at the end: summary.md and the archive


@dataclass
class Work:
    """An item of a step: run(limit) returns the results, with "why" if it failed and "note" if it was skipped.
    alone: nothing else may use the GPU while it runs."""

    key: str
    run: Callable[[float], dict[str, Any]]
    limit: float = 30
    alone: bool = True


@dataclass(frozen=True)
class Step:
    """budget: seconds of 540."""

    name: str
    title: str
    budget: float
    items: Callable[[Day], list[Work]]
    workers: bool = False


@dataclass
class Day:
    """The state that steps use."""

    out: Path
    compiler: Compiler
    arch: str
    gpu: gpu.Gpu
    journal: Journal
    shrink: int = 1
    workers: int = 1
    work: Path = field(default_factory=Path)
    measuring: threading.Lock = field(default_factory=threading.Lock)  # held while a measurement owns the GPU
    asking: threading.Lock = field(default_factory=threading.Lock)     # held while the peers are in use
    keepers: list[Keeper] = field(default_factory=list)
    peers: Peers | None = None
    lost: dict[str, str] = field(default_factory=dict)  # items whose launch faulted or hung, and how

    def __post_init__(self) -> None:
        self._local, self._lock = threading.local(), threading.Lock()
        self._starting, self._build = threading.Lock(), ""
        self._compiling: dict[str, threading.Lock] = {}
        self._refused: dict[str, str] = {}

    def machine(self) -> str:
        """The machine that results are valid for."""
        self._build = self._build or self.compiler.build()
        return f"{self.gpu.name}, driver {self.gpu.driver}, {self._build}" + (f", shrink {self.shrink}" if self.shrink > 1 else "")

    def facts(self) -> dict[str, Any]:
        g = self.gpu
        return {"gpu": g.name, "driver": g.driver, "arch": self.arch, "sms": g.sms, "capability": g.capability, "hexc": self.compiler.build(),
                "shrink": self.shrink}

    def keeper(self) -> Keeper:
        """The process that owns the GPU for this thread."""
        if not hasattr(self._local, "keeper"):
            self._local.keeper = Keeper()
            with self._lock:
                self.keepers.append(self._local.keeper)
        found: Keeper = self._local.keeper
        return found

    def beside(self) -> Peers:
        with self._starting:
            self.peers = self.peers or Peers(PEER)
        return self.peers

    def warm_peers(self) -> None:
        """Starts them, and triggers their first-call compilation, which takes a minute or two."""
        peers = self.beside()
        with self.asking:
            peers.limit = WARMING
            peers.prepare(sorted({i.peer for i in headlines() if i.roof == "copy" and i.peer[0] not in ("decode", "paged")}, key=str))
            peers.limit = PEER

    def file(self, u: kit.Unit) -> Path:
        """The file with its kernels: the kit's, or compiled now; RuntimeError has the reason if there is none."""
        for folder in kit.folders():
            if u.file(folder).exists() and kit.fresh(u, folder):
                return u.file(folder)
        with self._lock:
            lock = self._compiling.setdefault(u.name, threading.Lock())
        with lock:
            to = u.file(self.work / "kernels")
            if u.name in self._refused:
                raise RuntimeError(self._refused[u.name])
            if not to.exists():
                try:
                    kit.compile_unit(u, to, None)
                except RuntimeError as error:
                    self._refused[u.name] = str(error)
                    raise
        return to

    def free(self) -> None:
        """Ends all our processes that use the GPU."""
        for k in self.keepers:
            k.end()

    def free_peers(self, step: str) -> None:
        """Frees the peers' GPU memory after the step that uses them."""
        if step == "headline" and self.peers:
            self.peers.end()

    def end(self) -> None:
        """Ends everything."""
        self.free()
        if self.peers:
            self.peers.end()
            self.peers = None


def run_step(day: Day, step: Step, until: float, match: str, say: Callable[[str], None]) -> int:
    """Runs a step's items in order until its time ends; records exceptions in the journal.
    Returns how many were cut."""
    began, machine = time.monotonic(), day.machine()
    done, state, why = day.journal.done(machine), "done", ""
    todo: list[Work] = []
    try:
        every = [w for w in step.items(day) if matches(match, w.key)]
        todo = [w for w in every if (step.name, w.key) not in done]
        day.journal.add("enter", step=step.name, items=len(every))
        cut = _all_of(day, step, todo, until, say)
        state = "cut" if cut else "done"
    except Exception as error:  # noqa: BLE001 - the next step is to be tried
        cut, state, why = len(todo), "failed", f"{type(error).__name__}: {error}"
        if not any(e["line"] == "enter" and e["step"] == step.name for e in day.journal.lines[-1:]):
            day.journal.add("enter", step=step.name, items=len(todo))
    day.free()
    day.journal.add("leave", step=step.name, state=state, seconds=round(time.monotonic() - began, 3), cut=cut, **({"why": why} if why else {}))
    return cut if state == "cut" else 0


def matches(match: str, key: str) -> bool:
    """Does a name contain one of these?"""
    return not match or any(m in key for m in match.split(","))


def _all_of(day: Day, step: Step, todo: Sequence[Work], until: float, say: Callable[[str], None]) -> int:
    """Returns how many were not done."""
    lock, at = threading.Lock(), iter(todo)
    left = len(todo)

    def worker() -> None:
        nonlocal left
        while until - time.monotonic() >= LEAST:
            with lock:
                w = next(at, None)
            if w is None:
                return
            entry = _one(day, step, w, until)
            if not entry:
                return
            with lock:
                left -= 1
            if entry["state"] != "ok" or step.name != "right":
                say(f"  {w.key}: {entry['state']}, {entry['seconds']:.1f} s" + (f": {entry.get('why') or entry.get('note')}" if entry["state"] != "ok" else ""))

    crew = [threading.Thread(target=worker, daemon=True) for _ in range(min(len(todo), day.workers if step.workers else 1))]
    for t in crew:
        t.start()
    for t in crew:
        t.join()
    return left


def _one(day: Day, step: Step, w: Work, until: float) -> dict[str, Any] | None:
    """Writes its entry in the journal; None if the step's time ended before the item did."""
    began = time.monotonic()
    limit = max(0.5, min(w.limit, until - began))
    try:
        found = w.run(limit)
    except Exception as error:  # noqa: BLE001 - any item may fail in any way
        found = {"why": f"{type(error).__name__}: {error}"[:400]}
    if found.get("lost") == "late" and limit < w.limit:
        return None
    state = "skipped" if "note" in found and found.pop("skipped", False) else "wrong" if found.pop("wrong", False) else "failed" if "why" in found else "ok"
    head = {"step": step.name, "key": w.key, "state": state, "seconds": round(time.monotonic() - began, 3), "on": day.machine()}
    more = {n: v for n, v in found.items() if n not in head and n not in ("line", "at")}
    if isinstance(found.get("line"), str):
        more["took"] = found["line"]
    try:
        json.dumps(more, allow_nan=False)
        bad = schema.check({**head, **more, "at": 0}, SUMMARY, {"ok": "good", "skipped": "skipped"}.get(state, "bad"))
        if bad:
            raise ValueError(bad[0])
    except (TypeError, ValueError) as error:  # for example a number that JSON lacks
        head["state"], more = "failed", {"why": f"what was found is not as the schema says: {error}"}
    return day.journal.add("item", **head, **more)


def skipped(note: str) -> dict[str, Any]:
    """The result of an item that is skipped because something is missing."""
    return {"note": note, "skipped": True}


# ---- the command line ----------------------------------------------------------------------------------------------------

def read_options(words: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    own: dict[str, Any] = {"--out": "gpu-day", "--minutes": "9", "--only": ",".join(known), "--from": "", "--read": "", "--file": "", "--match": "",
                           "--workers": "0", "--shrink": "0"}
    flags = {"--list": False, "--rehearse": False}
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
    for name in ("--workers", "--shrink"):
        if not own[name].isdigit():
            sys.exit(f"gpu-day: {name} wants a number, not '{own[name]}'")
        own[name] = int(own[name])
    try:
        own["--minutes"] = float(own["--minutes"])
    except ValueError:
        sys.exit(f"gpu-day: --minutes wants a number, not '{own['--minutes']}'")
    own["--only"] = [s for s in own["--only"].split(",") if s]
    for s in own["--only"]:
        if s not in known:
            sys.exit(f"gpu-day: no step '{s}'; there are {', '.join(known)}")
    own["--shrink"] = own["--shrink"] or (32 if flags["--rehearse"] else 1)
    own["--workers"] = own["--workers"] or min(8, os.cpu_count() or 1)
    return own | flags


def rehearse() -> None:
    """Restarts with the simulator as driver."""
    stub = ROOT / "rehearsal"
    if not (stub / "libcuda.so.1").exists() or os.environ.get("HEXC_REHEARSAL"):
        return
    os.environ |= {"HEXC_REHEARSAL": "1", "LD_LIBRARY_PATH": f"{stub}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"),
                   "FAKE_CUDA_STRETCH": os.environ.get("FAKE_CUDA_STRETCH", "20"),
                   "HEXC_DAY_LAUNCH": os.environ.get("HEXC_DAY_LAUNCH", "60")}  # the simulator is slow, not hung
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv])


def take_over(journal: Journal, folder: Path) -> None:
    """Copies an earlier run's results before those of this run."""
    from .journal import read

    earlier = read(folder / "journal.jsonl")
    if not earlier:
        sys.exit(f"gpu-day: --from: there is no journal in {folder}")
    if folder.resolve() != journal.folder.resolve() and not journal.lines:
        journal.take(earlier)


def day_here(own: dict[str, Any]) -> Day:
    if not importlib.util.find_spec("numpy"):
        sys.exit(f"gpu-day: {sys.executable} has no NumPy, which references and data need: run another python3, or pip install numpy")
    compiler, found = Compiler(), gpu.find()
    arch = gpu.arch_of(found.capability, compiler.call("--list-archs").out.split()) if found else None
    if not arch or not found:
        sys.exit("gpu-day: there is no GPU here" + (f" that hexc compiles for: it is sm_{found.capability}" if found else ""))
    out = Path(own["--out"])
    journal = Journal(out)
    if own["--from"]:
        take_over(journal, Path(own["--from"]))
    work = Path(tempfile.mkdtemp(prefix="hexc-day-"))
    return Day(out, compiler, arch, found, journal, own["--shrink"], own["--workers"], work)


def bring_home(day: Day) -> None:
    """Writes summary.md, and rest.tgz with the output of tools. The journal has all data in any case."""
    from . import day_page

    try:
        day_page.write(day.out)
    except Exception as error:  # noqa: BLE001 - the next step is to be tried
        print(f"gpu-day: no summary.md: {type(error).__name__}: {error}", flush=True)
    beside = day.out / "rest.tgz.tmp"
    with tarfile.open(beside, "w:gz", compresslevel=5) as tar:
        for path in sorted((day.work / "rest").glob("*")) if (day.work / "rest").exists() else []:
            tar.add(path, arcname=f"rest/{path.name}")
    os.replace(beside, day.out / "rest.tgz")


def budgets(steps: Sequence[Step], seconds: float) -> list[float]:
    """The deadline of each step, in seconds from the start: steps share the time by their budgets."""
    whole, ends, at = sum(s.budget for s in steps), [], 0.0
    for s in steps:
        at += s.budget
        ends.append(seconds * at / whole)
    return ends


def main() -> None:
    begun = time.monotonic()
    from . import day_page, steps  # they import this module

    known = [s.name for s in steps.STEPS]
    own = read_options(sys.argv[1:], known)
    if own["--read"]:
        sys.exit(day_page.read_day(Path(own["--read"]), Path(own["--file"]) if own["--file"] else None))
    if own["--rehearse"]:
        rehearse()
    try:
        day = day_here(own)
    except TuneError as error:
        sys.exit(f"gpu-day: {error}")
    chosen = [s for s in steps.STEPS if s.name in own["--only"]]
    try:
        if own["--list"]:
            for s in chosen:
                print(f"{s.name}: {s.title}, {s.budget:g} of 540 s", *(w.key for w in s.items(day) if matches(own["--match"], w.key)), sep="\n    ")
            return
        day.journal.add("begin", machine=day.machine(), **{"is": day.facts()}, minutes=own["--minutes"], date=time.strftime("%Y-%m-%d"),
                        steps=[s.name for s in chosen])
        print(f"gpu-day: {day.machine()}", flush=True)
        seconds = max(1.0, 60 * own["--minutes"] - min(CLOSING, 3 * own["--minutes"]) - (time.monotonic() - begun))
        start = time.monotonic()
        if any(s.name == "headline" for s in chosen):  # imports take seconds
            threading.Thread(target=day.warm_peers, daemon=True).start()
        cut: list[Step] = []
        # time left over at the end is for the steps that were cut, in their order
        for again, part in ((False, chosen), (True, cut)):
            for s, end in zip(list(part), budgets(part, seconds) if not again else [seconds] * len(part)):
                if again and start + end - time.monotonic() < AGAIN:
                    break
                print(f"{s.name}: {s.title}{', what was cut' if again else ''}", flush=True)
                if run_step(day, s, start + end, own["--match"], lambda text: print(text, flush=True)) and not again:
                    cut.append(s)
                day.free_peers(s.name)
                bring_home(day)
        day.journal.add("end")
        bring_home(day)
    finally:
        day.end()
        day.compiler.end()
        shutil.rmtree(day.work, ignore_errors=True)
    steps_now = day_page.summary_of(day.out)["steps"]
    for name, s in steps_now.items():
        print(f"{name}: {s['state']}, {s['ok']} ok, {s['wrong']} wrong, {s['failed']} failed, {s['skipped']} skipped, {s['cut']} cut; {s['seconds']:.0f} s")
    print(f"gpu-day: {time.monotonic() - begun:.0f} s; {day.out}/summary.md", flush=True)
    bad = any(s["wrong"] or s["failed"] or s["state"] == "failed" for s in steps_now.values())
    sys.exit(1 if bad else 3 if any(s["cut"] for s in steps_now.values()) else 0)
