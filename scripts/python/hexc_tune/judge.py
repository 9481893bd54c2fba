"""The time of a candidate: measured on a GPU, predicted by a static model of its machine code, or bounded from
below by the simulator's counts. Each function does one job and keeps no state, so that it may run anywhere."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import clock, gpu, sass
from .compiler import KEPT, Compiler, Done, one_kernel, option, without_args
from .space import loops_of

# the GPU whose rates apply to the simulator's counts, if none is named
GPU_OF = {"sm_75": "T4", "sm_80": "A100-80GB", "sm_86": "A10", "sm_89": "L4", "sm_90a": "H100-SXM"}
# by exit status of `hexc run`; others are errors of the machine, and run again when a sweep resumes
# the message if ptxas is older than hexc's PTX, or the arch: the driver may not be
OLD = re.compile(r"Unsupported \.version|is not defined for option|cubin: ptxas")
# (5: not decided, which a checked sweep treats as wrong)
STATES = {1: "refused", 2: "refused", 3: "wrong", 5: "wrong", 124: "slow"}


@dataclass(frozen=True)
class Job:
    """A complete description of a job, which may run on another host."""

    program: str  # path
    options: tuple[str, ...]  # --arch, --kernel
    defines: tuple[str, ...]  # "BM=64"
    args: tuple[str, ...] = ()  # values of --arg
    candidate: int = 0
    judge: str = "list"  # or compile, gpu, clock, sim
    roofline: str | None = None
    check: bool = False
    repeat: int = 0
    warm: bool = False
    bundle: bytes = b""  # for the GPU: the compiled bundle, for `hexc run --from`
    text: str = ""  # the candidate's text
    grid: tuple[int, ...] = ()  # the full grid, if the arguments are for a part; ()
    bytes: float = 1  # ratio of tensor bytes, full to part
    limit: float | None = None
    assemble: bool = False  # list: rank by ptxas's register counts

    def words(self) -> list[str]:
        return [*self.options, *(w for d in self.defines for w in ("-D", d))]


Outcome = dict[str, Any]


def perform(job: Job, compiler: Compiler) -> Outcome:
    """``state`` (ok, refused, wrong, slow, trouble), the reason ``why`` if not ok, and the results."""
    if job.judge == "list":
        return _list(job, compiler)
    if job.judge == "compile":
        return _compile(job, compiler)
    words = ["--candidate", str(job.candidate), *job.words(), *(w for a in job.args for w in ("--arg", a))]
    words += ["--check"] if job.check else []
    if job.judge == "gpu":
        return measure(job, compiler, words)
    return _count(job, compiler, words)


def _failed(done: Done) -> Outcome:
    return {"state": STATES.get(done.status, "trouble"), "why": done.why}


def _list(job: Job, compiler: Compiler) -> Outcome:
    """The candidates of one combination of constants, and the data for predictions."""
    with tempfile.TemporaryDirectory() as folder:
        why, manifest = os.path.join(folder, "why.json"), os.path.join(folder, "manifest.json")
        done = compiler.call("explain", job.program, "--json", why, *job.words(), limit=job.limit)
        if done.status:
            return _failed(done)
        told = one_kernel(json.loads(Path(why).read_text(encoding="utf-8")))
        ptx = os.path.join(folder, "ptx")
        done = compiler.call("--emit-ptx", job.program, "--dump", "infer", "--manifest", manifest, "-o", ptx, *job.words(),
                             limit=job.limit)
        if done.status:
            return _failed(done)
        kernel = one_kernel(json.loads(Path(manifest).read_text(encoding="utf-8"))["kernels"])
    refused = _assemble(job, compiler, told["candidates"]) if job.assemble else ""
    runs = [(op["cycles"] * op["runs"], op["runs"]) for op in told["ops"] if "cycles" in op]
    total = sum(cycles for cycles, _ in runs)
    return {
        "state": "ok",
        "kernel": told["entry"],
        "candidates": told["candidates"],
        "total": told["total"],
        "grid": kernel["grid"],
        "params": kernel["params"],
        "assume": kernel["assume"],
        "loops": loops_of(done.err),
        "most_runs": max((n for _, n in runs), default=1),
        "loop_share": sum(cycles for cycles, n in runs if n > 1) / total if total else 0,
        "refused_by_ptxas": refused,
    }


def _assemble(job: Job, compiler: Compiler, candidates: list[dict[str, Any]]) -> str:
    """Adds ptxas's results for the first candidates: cycles, registers, resident blocks, and ``spilled`` bytes.
    Returns the reason for missing results, or "". Other candidates keep their estimates."""
    ptxas = sass.tool("ptxas")
    if not ptxas:
        return sass.missing("ptxas") + ": candidates are ranked by estimates"
    done = compiler.call("candidates", job.program, "--assemble", "--assembler", ptxas, "--json", *job.words(), limit=job.limit)
    if done.status:
        return f"candidates are ranked by estimates: {done.why}"
    by_index = {c["index"]: c for c in candidates}
    for found in one_kernel(json.loads(done.out))["candidates"]:
        if used := found.get("assembled"):
            by_index[found["index"]] |= {"cycles": used["cycles"], "registers": used["registers"],
                                         "blocks_together": used["blocks_together"], "spilled": used["spilled_bytes"]}
    return next((line for line in done.err.splitlines() if "[-W no-assembler]" in line), "")


def _compile(job: Job, compiler: Compiler) -> Outcome:
    """The ``bundle`` of hexc, with a cubin if a recent ptxas is available. Rejected candidates never reach the
    GPU, and the measuring process compiles nothing."""
    arch = option(job.options, "--arch")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "k.hxb")
        words = ["build", job.program, "-o", out, "--candidate", str(job.candidate), *without_args(job.options),
                 *(w for d in job.defines for w in ("-D", d))]
        ptxas = sass.tool("ptxas") if arch else None
        more = {"PTXAS": ptxas} if ptxas else None
        done = compiler.call(*words, *(("--cubin", str(arch)) if ptxas else ()), limit=job.limit, more=more)
        if done.status and ptxas and OLD.search(done.err):
            done = compiler.call(*words, limit=job.limit)
        if done.status:
            return {**_failed(done), "compiled": True}
        return {"state": "ok", "compiled": True, "bundle": Path(out).read_bytes()}


def measure(job: Job, compiler: Compiler, words: list[str]) -> Outcome:
    """Measures on this host's GPU, and monitors its clocks."""
    here = gpu.find()
    words += ["--repeat", str(job.repeat)] + (["--warm"] if job.warm else [])
    with tempfile.NamedTemporaryFile(suffix=".hxb") as file, gpu.Watch(here.bus if here else "") as clocks:
        if job.bundle:
            file.write(job.bundle)
            file.flush()
            words += ["--from", file.name]
        stats, done = compiler.measure(job.program, words, job.limit)
    if stats is None:
        return _failed(done)
    return {"state": "ok", "us": stats["us"], "stats": _kept(stats), "clocks": clocks.summary()}


def _count(job: Job, compiler: Compiler, words: list[str]) -> Outcome:
    """Runs in the simulator, which detects errors; its counts, or the machine code, give the time."""
    roof = ["--roofline", job.roofline] if job.roofline else []
    with tempfile.TemporaryDirectory() as folder:
        ptx = os.path.join(folder, "k.ptx")
        keep = ["--ptx", ptx] if job.judge == "clock" else []
        stats, done = compiler.run(job.program, ["--exec", "sim", *roof, *keep, *words], job.limit)
        if stats is None:
            return _failed(done)
        whole(stats, job)
        found: Outcome = {"state": "ok", "stats": _kept(stats)}
        if job.judge == "clock":
            found["stats"] |= clock.judge(ptx, job.text, stats, compiler, job.limit)
    return found


def whole(stats: dict[str, Any], job: Job) -> None:
    """Scales the counts of a part of the grid to all of it: ``grid`` and ``roofline`` are those of the full
    grid, `sampled` is the number of blocks that ran. Blocks are assumed to be alike; DRAM bytes are scaled by
    the ratio of tensor sizes."""
    if not job.grid:
        return
    ran, blocks = math.prod(stats["grid"]), math.prod(job.grid)
    roof = stats["roofline"]
    sms = roof["sms"]
    more = blocks / ran * min(ran, sms) / min(blocks, sms)
    for limit in roof["limits"]:
        roof["limits"][limit] *= job.bytes if limit == "dram" else blocks / ran if limit == "l2" else more
    stats["grid"], stats["sampled"] = list(job.grid), ran


def _kept(stats: dict[str, Any]) -> dict[str, Any]:
    return {name: stats[name] for name in KEPT if name in stats}


def least_us(stats: dict[str, Any], cycles: float, alone: float, together: int) -> float:
    """A lower bound in microseconds: the counts, at the GPU's rates. Blocks run in waves, the last of which may
    leave multiprocessors idle. With fewer blocks than are resident, latency is hidden less, as predicted."""
    roof, blocks = stats["roofline"], math.prod(stats["grid"])
    if not blocks:
        return 0
    each = math.ceil(blocks / roof["sms"])
    waves = each * min(blocks, roof["sms"]) / blocks
    waiting = max(1, alone / (min(each, together) * cycles)) if cycles else 1
    memory = max(roof["limits"]["dram"], roof["limits"]["l2"])
    inside = max(s for limit, s in roof["limits"].items() if limit not in ("dram", "l2"))
    return float(1e6 * max(memory, inside * waves * waiting))
