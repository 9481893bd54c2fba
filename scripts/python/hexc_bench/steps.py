"""The steps of a gpu-day (day.py)."""

from __future__ import annotations

import csv
import dataclasses
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hexc_tune.compiler import Compiler

from . import calibrate, items, kit, runner
from .day import Day, Step, Work, skipped
from .items import ROOT, Item, Shape


def command(words: Sequence[str], limit: float, by: Compiler | None = None, **env: str) -> tuple[int, str]:
    """Status and output; after the timeout it is killed with all its children, status 124."""
    done = (by or Compiler()).command(words, limit, env)
    return done.status, done.out + done.err


def slow(day: Day, limit: float) -> float:
    """The limit of an item; longer for the simulator."""
    return limit if day.shrink == 1 else 4 * limit


def tail(text: str, n: int = 3) -> str:
    return " | ".join(text.strip().splitlines()[-n:])[:600] or "no message"


def late(limit: float) -> dict[str, Any]:
    return {"why": f"it took more than {limit:.0f} seconds", "lost": "late"}


def scaled(sizes: Mapping[str, int], shrink: int) -> dict[str, int]:
    """Sizes of a model, reduced for a simulated GPU."""
    if shrink == 1:
        return dict(sizes)
    few = {"B", "H", "HK", "E"}
    return {n: max(1, v // 8) if n in few else v if v <= 128 else max(128, v // shrink // 128 * 128) for n, v in sizes.items()}


def keep_rest(day: Day, name: str, text: str) -> None:
    """Stores the output of a tool, for rest.tgz."""
    folder = day.work / "rest"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


# ---- machine -------------------------------------------------------------------------------------------------------------

TOOLS = ("nvidia-smi", "ncu", "compute-sanitizer", "ptxas", "nvcc", "nvdisasm", "llvm-config", "cc")
PACKAGES = ("torch", "triton", "flashinfer-python", "vllm", "numpy")


def tool(name: str) -> str | None:
    return shutil.which(name) or shutil.which(f"/usr/local/cuda/bin/{name}")


def machine(day: Day) -> list[Work]:
    def look(limit: float) -> dict[str, Any]:
        packages = {}
        for name in PACKAGES:
            try:
                packages[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                pass
        tools = {n: p for n in TOOLS if (p := tool(n))}
        if "nvidia-smi" in tools:
            keep_rest(day, "nvidia-smi.txt", command([tools["nvidia-smi"], "-q"], min(limit, 10))[1])
        return {"gpu": dataclasses.asdict(day.gpu), "python": sys.version.split()[0], "packages": packages, "tools": tools,
                "absent": [n for n in (*TOOLS, *PACKAGES) if n not in tools and n not in packages], "cores": os.cpu_count() or 1}

    def first(limit: float) -> dict[str, Any]:
        item = next(i for i in items.examples() if i.key == "example vector_add")
        return day.keeper().run({"do": "here", **job(day, item, item.shapes[0])}, limit)

    def load(limit: float) -> dict[str, Any]:
        files = [str(p) for folder in kit.folders()[:1] for p in sorted(folder.glob("*.hxb"))]
        if not files:
            return skipped("no kernels were compiled beforehand: make gpu-kit")
        return day.keeper().run({"do": "load", "files": files}, limit)

    return [Work("here", look, 20), Work("a first kernel", first, 30), Work("all kernels loaded", load, 30)]


def job(day: Day, item: Item, shape: Shape, candidate: int = 0) -> dict[str, Any]:
    """The job for the process that owns the GPU."""
    u = kit.unit(item, day.arch, candidate)
    return {"key": item.key, "file": str(day.file(u)), "shape": shape.name, "sizes": dict(shape.sizes), "misaligned": shape.misaligned}


# ---- right or wrong --------------------------------------------------------------------------------------------------------

def right(day: Day) -> list[Work]:
    """Small shapes of all items first, then those of models; kernels alone with hexc's own
    --check; host applications."""
    todo = [i for i in items.everything() if i.kind != "headline" and i.needs in ("", day.arch)]

    def one(item: Item, shape: Shape, candidate: int, limit: float) -> dict[str, Any]:
        if candidate == 0 and item.key in day.lost:  # each costs seconds
            return skipped(f"a {day.lost[item.key]} at the small shape")
        found = day.keeper().run({"do": "right", **job(day, item, shape, candidate)}, limit)
        if candidate == 0 and found.get("lost") in ("fault", "hang"):
            day.lost[item.key] = found["lost"]
        return found

    def work(item: Item, which: int, candidate: int = 0) -> Work:
        shape = item.shapes[which]
        tail_ = f", candidate {candidate}" if candidate else ""
        return Work(f"{item.key}, {shape.name}{tail_}", lambda limit: one(item, shape, candidate, limit), slow(day, 30), False)

    found = [work(i, 0) for i in todo]
    found += [checked(day, i) for i in todo if i.kind == "example"]
    found += features(day)
    if day.shrink == 1:  # the simulator would take hours
        found += [work(i, 1) for i in todo]
    found += [work(i, 0, c) for c in range(1, kit.NEXT + 1) for i in todo if i.kind == "example" and has_candidate(i, c, day.arch)]
    return found


def has_candidate(item: Item, candidate: int, arch: str) -> bool:
    """Does the kit have a candidate with that index? A checkout does not check."""
    u = kit.unit(item, arch, candidate)
    return any(u.file(f).exists() for f in kit.folders())


def arguments(item: Item, folder: str, shape: Shape) -> list[str]:
    """--arg of `hexc run`, for a small shape: data of the same kinds."""
    import hexc
    import numpy as np

    from . import data, device

    target = hexc.compile(ROOT / item.program, kernel=item.kernel, constants=dict(item.constants), arch=item.needs or "sm_90a", stop="parse")[item.kernel]
    known, words = device.known_of(target, shape), []
    for p in target.params:
        if p.kind == "tensor" and p.read:
            extents = device.dims(p, known)
            text = ",".join(map(str, extents))
            if p.dtype in ("bf16", "e8m0") or data.values_of_codes(p.dtype) is not None:
                words += ["--arg", f"{p.name}=random(1)[{text}]"]
            else:
                path = Path(folder, f"{p.name}.npy")
                np.save(path, data.make(item.data.get(p.name, ""), p.dtype, extents, f"{item.key} 1 {p.name}", known))
                words += ["--arg", f"{p.name}=@{path}"]
    names = {p.name for p in target.params}
    given = {**{n: v for n, v in shape.sizes.items() if n in names}, **item.scalars}
    return words + [w for n, v in given.items() for w in ("--arg", f"{n}={v}")]


def checked(day: Day, item: Item) -> Work:
    """`hexc run --check` of an example on the device: with its own bounds."""
    def run(limit: float) -> dict[str, Any]:
        if item.key in day.lost:
            return skipped(f"a {day.lost[item.key]} before")
        u = kit.unit(item, day.arch)
        with tempfile.TemporaryDirectory() as folder:
            words = [day.compiler.path, "run", *u.words(), "--exec", "gpu", "--check", "--from", str(day.file(u)),
                     *arguments(item, folder, item.shapes[0])]
            status, out = command(words, limit)
        if status == 124:
            return late(limit)
        if status == 5:
            return {"note": f"--check could not judge all: {tail(out, 1)}"}
        return checked_says(status, out)

    return Work(f"{item.key}, hexc run --check", run, slow(day, 30), False)


def checked_says(status: int, out: str) -> dict[str, Any]:
    """Parses the output of `hexc run --check`."""
    if not status:
        return {"says": tail(out, 1)}
    if "kernel failed on the GPU" in out:
        return {"why": tail(out), "lost": "fault"}
    return {"why": tail(out)} | ({"wrong": True} if status == 3 else {})


FEATURES: tuple[tuple[str, list[str]], ...] = (
    ("explicit roles", ["examples/gemm_roles.hexc", "--arg", "A=randint(1,-3,3)[300,200]", "--arg", "B=randint(2,-3,3)[264,200]"]),
    ("roles", ["examples/gemm_f16.hexc", "--schedule", "roles", "--cluster", "1x1", "-D", "BK=64", "--arg", "A=random(1)[300,200]",
               "--arg", "B=random(2)[264,200]"]),
    ("two teams of roles", ["examples/gemm_f16.hexc", "--schedule", "roles2", "--cluster", "1x1", "-D", "BK=64", "--arg", "A=random(1)[300,200]",
                            "--arg", "B=random(2)[264,200]"]),
    ("clusters of 2 x 1", ["examples/gemm_f16.hexc", "--cluster", "2x1", "-D", "BK=64", "--arg", "A=random(1)[600,200]", "--arg", "B=random(2)[264,200]"]),
    ("clusters of 1 x 2", ["examples/gemm_f16.hexc", "--cluster", "1x2", "-D", "BK=64", "--arg", "A=random(1)[300,200]", "--arg", "B=random(2)[520,200]"]),
    ("without dependent launches", ["examples/gemm_f16.hexc", "--no-pdl", "--arg", "A=random(1)[300,200]", "--arg", "B=random(2)[264,200]"]),
)


def features(day: Day) -> list[Work]:
    """Features that kernels of the lists may lack, and host functions."""
    def one(words: list[str], limit: float) -> dict[str, Any]:
        if words[0] == "examples/gemm_roles.hexc" and day.arch != "sm_90a":
            return skipped(f"explicit roles are for sm_90a, this is {day.arch}")
        status, out = command([day.compiler.path, "run", *words, "--arch", day.arch, "--exec", "gpu", "--check"], limit)
        return late(limit) if status == 124 else checked_says(status, out)

    def hosted(do: str, limit: float) -> dict[str, Any]:
        item = next(i for i in items.examples() if i.key == "example vector_add")
        return day.keeper().run({"do": do, "file": str(day.file(kit.unit(item, day.arch)))}, limit)

    found = [Work(f"feature {n}", lambda limit, w=w: one(w, limit), 60, False) for n, w in FEATURES]  # type: ignore[misc]
    found += [Work(f"feature {n}", lambda limit, d=d: hosted(d, limit), 60, False)  # type: ignore[misc]
              for n, d in (("dependent launches in a row", "dependent"), ("graphs with updated nodes", "graphs"))]
    return [*found, Work("feature examples/llama, tokens of the simulator", lambda limit: llama(day, limit), 120, False)]


def llama(day: Day, limit: float) -> dict[str, Any]:
    """Tokens of a random model of 8 layers, on the device and on the simulator."""
    from . import model

    program = next((p for p in (ROOT / os.environ.get("B", "build") / "llama",) if p.exists()), None)
    if not program:
        return skipped("there is no examples/llama here: make build/llama")
    end = time.monotonic() + limit
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.gguf")
        model.write(path, layers=8)
        said = {}
        for name, words in (("simulator", ["--simulator", str(day.gpu.capability)]), ("device", [])):
            status, out = command([str(program), str(path), *words, "--tokens", "5,17,100,3,9,88,41", "--generate", "9"], end - time.monotonic())
            if status == 124:
                return late(limit)
            if status:
                return {"why": f"on the {name}: {tail(out)}"}
            said[name] = [x for x in out.splitlines() if x and x.replace(",", "").replace(" ", "").isdigit()]
    if not said["device"] or said["device"] != said["simulator"]:
        return {"why": f"tokens of the device {said['device']}, of the simulator {said['simulator']}", "wrong": True}
    return {"says": said["device"][0][:200]}


# ---- headlines ---------------------------------------------------------------------------------------------------------------

def headline(day: Day) -> list[Work]:
    """Each headline compared with its peers; several processes prepare, one at a time measures."""
    def own(item: Item, limit: float) -> dict[str, Any]:
        shape = Shape("model", scaled(item.shapes[0].sizes, day.shrink))
        found = day.keeper().run({"do": "timed", **job(day, item, shape), **effort(day)}, limit, day.measuring)
        return found | {"flops": item.flops, "moved": item.bytes, "roof": item.roof, "group": item.group}

    def beside(item: Item, limit: float) -> dict[str, Any]:
        with day.asking, day.measuring:
            peers = day.beside()
            if not peers.installed:
                return skipped(peers.words())
            found = peers.times(item.peer, 20)
        if not found:
            return skipped("no peer that is here has this")
        if all("why" in p for p in found.values()):
            return {"why": "; ".join(f"{n}: {p['why']}" for n, p in found.items())[:400]}
        return {"peers": found, "group": item.group}

    def roofs(limit: float) -> dict[str, Any]:
        with day.measuring:
            got, why = runner.measure("roofs", day.arch, day.shrink, limit=limit)
        if why.startswith("it took more"):
            return late(limit)
        return {"roofs": got} if got is not None else {"why": why}

    todo, asks = [Work("roofs", roofs, 30)], day.beside().installed
    for item in items.headlines():
        todo.append(Work(item.key, lambda limit, i=item: own(i, limit), slow(day, 30)))  # type: ignore[misc]
        if asks:
            todo.append(Work(f"{item.key} | peers", lambda limit, i=item: beside(i, limit), 40))  # type: ignore[misc]
    if not asks:
        todo.append(Work("peers", lambda limit: skipped(day.beside().words()), 5))
    return [*todo, Work("headline llama decode step", lambda limit: llama_speed(day, limit), 60)]


def effort(day: Day) -> dict[str, Any]:
    return {} if day.shrink == 1 else {"copies": 2, "most": 4, "replays": 2, "window_us": 100}


def llama_speed(day: Day, limit: float) -> dict[str, Any]:
    """Tokens per second of one sequence: a random model with the dimensions of one of 8 billion
    parameters, 4-bit weights."""
    from . import model

    program = ROOT / os.environ.get("B", "build") / "llama"
    if not program.exists():
        return skipped("there is no examples/llama here: make build/llama")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.gguf")
        model.write(path, layers=8, big=day.shrink == 1)
        with day.measuring:
            status, out = command([str(program), str(path), "--tokens", "5,17,100,3,9,88,41", "--generate", "65" if day.shrink == 1 else "3"], limit)
    if status == 124:
        return late(limit)
    return {"why": tail(out)} if status else {"says": [x for x in out.splitlines() if " a second" in x or x.startswith("bytes")], "layers": 8}


# ---- calibration -------------------------------------------------------------------------------------------------------------

def calibration(day: Day) -> list[Work]:
    def one(name: str, limit: float) -> dict[str, Any]:
        got, why = runner.measure(name, day.arch, day.shrink, limit=limit)
        if why.startswith("it took more"):
            return late(limit)
        return got if got is not None else {"why": why}

    return [Work(n, lambda limit, n=n: one(n, limit), slow(day, 20)) for n in (*calibrate.MEASURES, *calibrate.DOUBTFUL)]  # type: ignore[misc]


# ---- schedules ---------------------------------------------------------------------------------------------------------------

def schedules(day: Day) -> list[Work]:
    """By candidate, so that the first candidates of all kernels are done when the time ends."""
    base = {i.key: i for i in items.examples()}

    Ranked = tuple[str, str, Mapping[str, int | str], Mapping[str, int]]

    def one(what: Ranked, c: int, limit: float) -> dict[str, Any]:
        program, kernel, constants, sizes = what
        item = next(i for i in base.values() if i.program == program and i.kernel == kernel)
        u = kit.Unit(program, kernel, tuple(sorted(constants.items())), c, day.arch)
        try:
            file = day.file(u)
        except RuntimeError as error:
            if "does not exist" in str(error):
                return skipped("it has fewer candidates")
            raise
        asked = {"do": "timed", "key": item.key, "file": str(file), "shape": "model", "sizes": scaled(sizes, day.shrink), **effort(day)}
        return day.keeper().run(asked, limit, day.measuring) | {"candidate": c}

    return [Work(f"{key}, candidate {c}", lambda limit, a=(program, kernel, constants, sizes), c=c: one(a, c, limit), slow(day, 20))  # type: ignore[misc]
            for c in range(kit.RANKED) for key, program, kernel, constants, sizes in kit.SCHEDULES]


# ---- counters ----------------------------------------------------------------------------------------------------------------

# the simulator's name -> the profiler's metrics, added up
METRICS = {
    "global_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    "global_sectors_read": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global_sectors_written": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "shared_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",),
    "bank_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
    "warp_instructions": ("smsp__inst_executed.sum",),
    "mma": ("smsp__inst_executed_pipe_tensor.sum",),
}
COUNTED = (
    ("vector_add", ["--arg", "A=random(1)[65536]", "--arg", "B=random(2)"]),
    ("softmax", ["--arg", "X=random(1)[256,1024]", "-D", "BM=1", "-D", "BN=1024"]),
    ("gemm_f16", ["--arg", "A=random(1)[256,256]", "--arg", "B=random(2)[256,256]", "--schedule", "groups", "--cluster", "1x1"]),
    ("gemm_wNa16", ["--kernel", "gemm_wNa16", "-D", "WEIGHT=u4", "--schedule", "groups", "--cluster", "1x1", "--arg", "A=random(1)[64,256]",
                    "--arg", "W=randint(2,0,15)[256,256]", "--arg", "S=random(3)"]),
    ("attention", ["--arg", "Q=random(1)[1,128,2,64]", "--arg", "K=random(2)[1,128,2,64]", "--arg", "V=random(3)[1,128,2,64]",
                   "--arg", "scale=0.125", "--schedule", "groups"]),
    ("gemm_f16", ["--arg", "A=random(1)[512,512]", "--arg", "B=random(2)[512,512]", "-D", "BK=64", "--schedule", "roles", "--cluster", "1x1"]),
    ("layer_norm", ["--arg", "X=random(1)[256,1024]", "--arg", "gamma=random(2)", "--arg", "beta=random(3)", "--arg", "eps=1e-5"]),
    ("rms_norm", ["--arg", "X=random(1)[128,4096]", "--arg", "gain=random(2)", "--arg", "eps=1e-5"]),
    ("swiglu", ["--arg", "A=random(1)[128,256]", "--arg", "G=random(2)[128,256]", "--arg", "U=random(3)[128,256]", "--schedule", "groups",
                "--cluster", "1x1"]),
    ("causal_conv", ["--arg", "X=random(1)[1,256,512]", "--arg", "W=random(2)[4,512]", "--arg", "bias=random(3)"]),
)
# the GPU for the static model
ROOFLINE = {a: ["--roofline", g] for a, g in (("sm_80", "A100-40GB"), ("sm_86", "A10"), ("sm_89", "L4"), ("sm_90a", "H200"))}
# percent of the time that a unit is busy, next to the static model's prediction
BUSY = "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"


def static_clock(day: Day, program: Sequence[str], ptx: str, stats: Mapping[str, Any], limit: float) -> dict[str, Any]:
    """The busy share of each pipe (hexc_tune.clock), or the reason why it is unknown."""
    from hexc_tune import clock

    if not clock.ready() or day.arch not in ROOFLINE:
        return {"no_clock": clock.lacks() or f"there is no clock for {day.arch}"}
    from hexc_tune.compiler import without_args

    found, why = day.compiler.candidates(program[0], without_args(program[1:]))
    if not found:
        return {"no_clock": why or "no candidate"}
    said = clock.judge(ptx, found[0]["text"], stats, day.compiler, limit)
    return {"held": said["clock"]["held"], "clock_us": said["clock"]["us"]} if "clock" in said else said


def read_ncu(text: str, entry: str) -> dict[str, float]:
    """Metrics of the first launch of a kernel, of `ncu --csv --page raw`."""
    lines = [x for x in text.splitlines() if x.startswith('"')]
    rows = list(csv.DictReader(lines))
    for row in rows:
        if entry in row.get("Kernel Name", ""):
            found = {}
            for name, value in row.items():
                try:
                    found[name] = float(value.replace(",", ""))
                except (ValueError, AttributeError):
                    pass
            return found
    raise ValueError(f"ncu told nothing of {entry}: {tail(text)}")


def counters(day: Day) -> list[Work]:
    ncu = tool("ncu")

    def one(name: str, words: list[str], limit: float) -> dict[str, Any]:
        end, program = time.monotonic() + limit, [f"examples/{name}.hexc", "--arch", day.arch, *words]
        with tempfile.TemporaryDirectory() as folder:
            full, text = os.path.join(folder, "s.json"), os.path.join(folder, "k.ptx")
            done = day.compiler.call("run", *program, "--exec", "sim", "--stats", full, "--ptx", text, *ROOFLINE.get(day.arch, []), limit=limit)
            if done.status:
                return late(limit) if done.status == 124 else {"why": done.why}
            counted = json.loads(Path(full).read_text(encoding="utf-8"))
            try:
                static = static_clock(day, program, Path(text).read_text(encoding="utf-8"), counted, max(1.0, (end - time.monotonic()) / 2))
            except Exception as error:  # noqa: BLE001 - the counts are there
                static = {"no_clock": f"{type(error).__name__}: {error}"[:200]}
        simulated = {n: counted[n] for n in METRICS if n in counted}
        if not ncu:
            return skipped("there is no ncu here") | {"simulated": simulated, "static": static}
        wanted = ",".join([*(m for ms in METRICS.values() for m in ms), BUSY])
        status, out = command([ncu, "--csv", "--page", "raw", "--metrics", wanted, "--target-processes", "all", day.compiler.path, "run",
                               *program, "--exec", "gpu"], max(0.5, end - time.monotonic()))
        keep_rest(day, f"ncu-{name}.csv", out)
        if status == 124:
            return late(limit)
        if "ERR_NVGPUCTRPERM" in out:
            return skipped("ncu may not read this GPU's counters (ERR_NVGPUCTRPERM)") | {"simulated": simulated, "static": static}
        if status:
            return {"why": f"ncu: {tail(out)}", "simulated": simulated}
        raw = read_ncu(out, counted["entry"])
        profiled = {n: sum(raw[m] for m in ms) for n, ms in METRICS.items() if all(m in raw for m in ms)}
        return {"simulated": simulated, "profiled": profiled, "static": static} | ({"tensor_busy": raw[BUSY]} if BUSY in raw else {}) | ({} if len(profiled) == len(METRICS) else {"note": "ncu lacks some metrics"})

    return [Work(f"{n}{' roles' if 'roles' in w else ''}", lambda limit, n=n, w=w: one(n, w, limit), 30) for n, w in COUNTED]  # type: ignore[misc]


# ---- sanitizers --------------------------------------------------------------------------------------------------------------

SANITIZED = (
    ("vector_add", ["examples/vector_add.hexc", "--arg", "A=random(1)[1003]", "--arg", "B=random(2)"]),
    ("softmax", ["examples/softmax.hexc", "--arg", "X=random(1)[9,1003]"]),
    ("cp.async, 4 stages", ["examples/gemm_f16.hexc", "--schedule", "groups", "--cluster", "1x1", "-D", "STAGES=4", "-D", "BM=64", "-D", "BN=64",
                            "--arg", "A=random(1)[72,264]", "--arg", "B=random(2)[72,264]"]),
    ("roles", ["examples/gemm_f16.hexc", "--schedule", "roles", "--cluster", "1x1", "-D", "BK=64", "--arg", "A=random(1)[136,264]",
               "--arg", "B=random(2)[136,264]"]),
    ("clusters", ["examples/gemm_f16.hexc", "--cluster", "2x1", "-D", "BK=64", "--arg", "A=random(1)[264,264]", "--arg", "B=random(2)[136,264]"]),
    ("explicit roles", ["examples/gemm_roles.hexc", "--arg", "A=random(1)[136,264]", "--arg", "B=random(2)[136,264]"]),
    ("packed weights", ["examples/gemm_wNa16.hexc", "--kernel", "gemm_wNa16", "--arg", "A=random(1)[20,256]", "--arg", "W=randint(2,0,15)[136,256]",
                        "--arg", "S=random(3)"]),
    ("attention", ["examples/attention.hexc", "--arg", "Q=random(1)[1,72,2,64]", "--arg", "K=random(2)[1,72,2,64]", "--arg", "V=random(3)[1,72,2,64]",
                   "--arg", "scale=0.125"]),
    ("atomics", ["examples/histogram.hexc", "--arg", "X=random(1)[5003]", "--arg", "low=-1", "--arg", "scale=128", "--arg", "H=zeros"]),
    ("grid barrier", ["examples/softmax_grid.hexc", "--arg", "X=random(1)[5003]", "--arg", "TOP=zeros[3]", "--arg", "TOTAL=zeros", "--arg", "S=zeros"]),
    ("scans", ["examples/causal_conv.hexc", "--arg", "X=random(1)[1,37,72]", "--arg", "W=random(2)[4,72]", "--arg", "bias=random(3)"]),
)


def sanitizers(day: Day) -> list[Work]:
    program = tool("compute-sanitizer")
    if not program:
        return [Work("compute-sanitizer", lambda limit: skipped("there is no compute-sanitizer here"), 5)]

    def one(which: str, name: str, words: list[str], limit: float) -> dict[str, Any]:
        if words[0] == "examples/gemm_roles.hexc" and day.arch != "sm_90a":
            return skipped(f"explicit roles are for sm_90a, this is {day.arch}")
        status, out = command([program, "--tool", which, "--error-exitcode", "9", day.compiler.path, "run", *words, "--arch", day.arch, "--exec", "gpu"], limit)
        keep_rest(day, f"{which}-{name.replace(' ', '-').replace(',', '')}.txt", out)
        if status == 124:
            return late(limit)
        said = [x.strip("= ") for x in out.splitlines() if "SUMMARY" in x or "Error:" in x or "Invalid" in x or "hazard" in x.lower()]
        return {"says": "; ".join(said)[:300]} if not status else {"why": "; ".join(said)[:400] or tail(out)} | ({"wrong": True} if status == 9 else {})

    return [Work(f"{which}, {n}", lambda limit, t=which, n=n, w=w: one(t, n, w, limit), 20, False)  # type: ignore[misc]
            for n, w in SANITIZED for which in ("memcheck", "racecheck")]


# ---- tuning ------------------------------------------------------------------------------------------------------------------

TUNED = (
    ("gemm_f16", ["-D", "BM=64,128", "-D", "BN=64,128,256", "-D", "BK=64", "-D", "STAGES=3,4", "-D", "WARPS=4,8"],
     [{"M": 4096, "N": 4096, "K": 4096}, {"M": 2048, "N": 6144, "K": 4096}]),
    ("gemm_wNa16", ["-D", "WEIGHT=u4", "-D", "BM=16,32,64", "-D", "BN=64,128,256"],
     [{"M": 16, "N": 14336, "K": 4096}, {"M": 64, "N": 14336, "K": 4096}]),
    ("attention", ["-D", "D=128", "-D", "CAUSAL=1", "-D", "BM=64,128", "-D", "BN=64,128", "--arg", "scale=0.088",
                   "--arg", "Q=random(1)[B,M,H,D]", "--arg", "K=random(2)[B,N,HK,D]", "--arg", "V=random(3)[B,N,HK,D]"],
     [{"B": 1, "M": 2048, "N": 2048, "H": 32, "HK": 8, "D": 128}]),
)


def tuning(day: Day) -> list[Work]:
    def one(name: str, words: list[str], shapes: list[dict[str, int]], limit: float) -> dict[str, Any]:
        (day.work / "rest").mkdir(parents=True, exist_ok=True)
        line = [sys.executable, "-B", str(ROOT / "scripts/tune"), f"examples/{name}.hexc", "--kernel", name, "--exec", "gpu", "--arch", day.arch,
                "--db", str(day.work / "rest" / "tune.db"), "--budget", f"{max(1.0, 0.7 * limit):.0f}", "--limit", "20", *words]
        if day.shrink > 1:
            line += ["--repeat", "1", "--halving", "1", "--first", "2", "--no-check"]
        for s in shapes:
            line += ["--shape", ",".join(f"{n}={v}" for n, v in scaled(s, day.shrink).items())]
        status, out = command(line, limit, HEXC=day.compiler.path)
        best = [x.strip() for x in out.splitlines() if x.startswith("best: ")]
        if best:
            return {"program": name, "best": best, "says": tail(out, 1)}
        return late(limit) if status == 124 or "the budget" in out else {"why": tail(out)}

    return [Work(n, lambda limit, n=n, w=w, s=s: one(n, w, s, limit), 60) for n, w, s in TUNED]  # type: ignore[misc]


STEPS = (
    Step("machine", "what is here", 15, machine),
    Step("right", "are results right", 110, right, True),
    Step("headline", "how fast, beside others", 150, headline, True),
    Step("calibration", "what an SM does in a clock", 60, calibration),
    Step("schedules", "are candidates ranked right", 60, schedules, True),
    Step("counters", "the simulator's counts and the profiler's", 60, counters),
    Step("sanitizers", "what compute-sanitizer says", 30, sanitizers, True),
    Step("tuning", "constants and candidates", 55, tuning),
)
