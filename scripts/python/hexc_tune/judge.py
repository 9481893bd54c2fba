"""How long a candidate takes: measured on a GPU, by a static clock of its machine code, or at least by what the simulator
counted.  Each function does one job in one process's time and keeps nothing, so that it may run anywhere."""

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

# whose rates the simulator's counts are held against, where none is named
GPU_OF = {"sm_75": "T4", "sm_80": "A100-80GB", "sm_86": "A10", "sm_89": "L4", "sm_90a": "H100-SXM"}
# by exit status of `hexc run`; others are trouble of the machine, and are tried again when a sweep goes on
# what is said where ptxas is older than hexc's PTX, or the arch: the driver may not be
OLD = re.compile(r"Unsupported \.version|is not defined for option|cubin: ptxas")
# (5: not judged, which a sweep that checks takes for wrong)
STATES = {1: "refused", 2: "refused", 3: "wrong", 5: "wrong", 124: "slow"}


@dataclass(frozen=True)
class Job:
    """What is to be done, in full: it may go to another host."""

    program: str  # path
    options: tuple[str, ...]  # --arch, --kernel
    defines: tuple[str, ...]  # "BM=64"
    args: tuple[str, ...] = ()  # of --arg
    candidate: int = 0
    judge: str = "list"  # or compile, gpu, clock, sim
    roofline: str | None = None
    check: bool = False
    repeat: int = 0
    warm: bool = False
    bundle: bytes = b""  # for the GPU: what was compiled before, for `hexc run --from`
    text: str = ""  # of the candidate
    grid: tuple[int, ...] = ()  # of all, where arguments are those of a part; ()
    bytes: float = 1  # tensors of all by those of the part
    limit: float | None = None
    assemble: bool = False  # list: rank by what ptxas says

    def words(self) -> list[str]:
        return [*self.options, *(w for d in self.defines for w in ("-D", d))]


Outcome = dict[str, Any]


def perform(job: Job, compiler: Compiler) -> Outcome:
    """``state`` (ok, refused, wrong, slow, trouble), ``why`` it is not ok, and what was found."""
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
    """The candidates of one combination of constants, and what predictions need."""
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
    """Write what this host's ptxas says of the first candidates into them: cycles, registers, blocks together with these, and
    ``spilled`` bytes.  Why it said nothing of some, or "".  Those that it was not asked about stay as they are estimated."""
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
    """The ``bundle`` that hexc makes, with a cubin where there is a ptxas that is not too old: what either refuses never
    comes to the GPU, and the process that measures compiles nothing."""
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
    """On this host's GPU, its clocks watched."""
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
    """Run by the simulator, which finds out what is wrong; what it counted, or machine code, tells the time."""
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
    """What was counted of a part of the grid, as it is of all of it: ``grid`` and ``roofline`` are those of all, `sampled` is
    how many blocks ran.  Blocks are taken for alike; DRAM's bytes are the tensors', which are that many times as large."""
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
    """Microseconds that the GPU takes at least: what is counted, at its rates; blocks come in waves, of which the last may
    leave multiprocessors idle; and fewer blocks than a multiprocessor holds wait more, as predicted."""
    roof, blocks = stats["roofline"], math.prod(stats["grid"])
    if not blocks:
        return 0
    each = math.ceil(blocks / roof["sms"])
    waves = each * min(blocks, roof["sms"]) / blocks
    waiting = max(1, alone / (min(each, together) * cycles)) if cycles else 1
    memory = max(roof["limits"]["dram"], roof["limits"]["l2"])
    inside = max(s for limit, s in roof["limits"].items() if limit not in ("dram", "l2"))
    return float(1e6 * max(memory, inside * waves * waiting))
