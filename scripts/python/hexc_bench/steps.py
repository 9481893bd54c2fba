"""What a gpu-day consists of (day.py)."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import Any

from hexc_tune.compiler import Compiler

from . import calibrate, cases, report, runner, schema
from .day import Day, Item, Step, TooLong, keep
from .peers import Peers

ROOT = Path(__file__).resolve().parents[3]
LONGEST = 420.0  # seconds of a test


def command(words: Sequence[str], limit: float, by: Compiler | None = None, **env: str) -> tuple[int, str]:
    """Status and all that it says; when its time is over it ends with everything that it started."""
    done = (by or Compiler()).command(["env", *(f"{n}={v}" for n, v in env.items()), *words], limit)
    if done.status == 124 and done.err.startswith("it took more"):
        raise TooLong
    return done.status, done.out + done.err


def measured(day: Day, name: str, limit: float, *more: str) -> dict[str, Any]:
    """A number of calibrate.py, or {"why"}."""
    got, why = runner.measure(name, day.arch, day.shrink, *more, limit=limit)
    if why.startswith("it took more"):
        raise TooLong
    return got if got is not None else {"why": why}


class Scratch:
    """Random data in a folder of the day that is there while a step is: what one that was killed left goes first."""

    def __init__(self, day: Day) -> None:
        self.folder, self.made = day.out / "data", None

    made: runner.Data | None

    def data(self) -> runner.Data:
        if not self.made:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            self.made = runner.Data(str(self.folder))
        return self.made


def cleared(day: Day, found: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(day.out / "data", ignore_errors=True)
    return {}


def tail(text: str, n: int = 3) -> str:
    return " | ".join(text.strip().splitlines()[-n:])[:600] or "no message"


# ---- machine -------------------------------------------------------------------------------------------------------------

def machine(day: Day) -> list[Item]:
    def look(limit: float) -> dict[str, Any]:
        g = day.gpu
        assert g
        packages = {}
        for name in ("torch", "triton", "flashinfer-python", "vllm", "numpy"):
            try:
                packages[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                pass
        tools = {n: p for n in ("ncu", "nvidia-smi", "ptxas", "nvdisasm", "llvm-config", "cc") if (p := shutil.which(n))}
        smi = command(["nvidia-smi", "-q", "-d", "CLOCK,POWER,ECC"], min(limit, 30))[1] if "nvidia-smi" in tools else ""
        return {"gpu": {"name": g.name, "driver": g.driver, "sms": g.sms, "mhz": g.mhz, "capability": g.capability},
                "arch": day.arch, "hexc": day.compiler.build(), "python": sys.version.split()[0], "packages": packages,
                "tools": tools, "smi": smi, "cores": os.cpu_count() or 1}

    return [Item("here", look, 60)]


# ---- checks ----------------------------------------------------------------------------------------------------------------

FIRST = ["run", "examples/vector_add.hexc", "--exec=gpu", "--check", "--arg", "A=random(1)[1000]", "--arg", "B=random(2)"]


def checks(day: Day) -> list[Item]:
    """The scripts run side by side, as `make check-gpu` has it, of long lists the first (QUICK=1); what is left of them when
    the step's time is over is ended."""
    crew, running = ThreadPoolExecutor(os.cpu_count() or 1), dict[str, Future[tuple[int, str]]]()

    def first(limit: float) -> dict[str, Any]:
        status, out = command([day.compiler.path, *FIRST], limit)
        return {"says": tail(out, 1)} | ({"why": tail(out)} if status else {})

    def script(path: str, limit: float) -> dict[str, Any]:
        for p in found if not running else []:
            if p not in done:
                running[p] = crew.submit(command, [f"./{p}"], LONGEST, day.checks, EXEC="gpu", HEXC=day.compiler.path, QUICK="1")
        try:
            status, out = running[path].result(limit)
        except FutureTimeout:
            raise TooLong from None
        if status in (0, 77):
            return {"says": f"skipped: {tail(out, 1)}" if status else tail(out, 1) if out else ""}
        return {"why": f"exit status {status}: {tail(out)}"}

    # as the Makefile's GPU_TESTS
    asks = re.compile(r"EXEC(:-|.,.)")
    found = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "test").rglob("run-*.sh") if asks.search(p.read_text(encoding="utf-8")))
    before = day.read("checks")
    done = {i["key"] for i in before["items"]} if before else set[str]()
    return [Item("a first kernel", first, 60), *(Item(p, lambda limit, p=p: script(p, limit), LONGEST) for p in found)]  # type: ignore[misc]


def checked(day: Day, found: dict[str, Any]) -> dict[str, Any]:
    """Nothing goes on beside what is measured next."""
    day.checks.end()
    return {}


# ---- calibrate -------------------------------------------------------------------------------------------------------------

def occupied(day: Day, name: str, limit: float) -> dict[str, Any]:
    """Blocks an SM, predicted and the driver's, of an example with its defaults."""
    program = f"examples/{name}.hexc"
    entry = ["--kernel", name]
    found, why = day.compiler.candidates(program, ["--arch", day.arch, *entry])
    if not found:
        return {"why": why or "no candidate"}
    with tempfile.TemporaryDirectory() as folder:
        ptx, manifest = Path(folder, "k.ptx"), Path(folder, "k.json")
        done = day.compiler.call("--emit-ptx", program, "--arch", day.arch, *entry, "-o", str(ptx), "--manifest", str(manifest), limit=limit)
        if done.status:
            return {"why": done.why}
        k = json.loads(manifest.read_text(encoding="utf-8"))["kernels"][0]
        block = k["block"][0] * k["block"][1] * k["block"][2]
        asked = {"ptx": str(ptx), "entry": k["entry"], "block": block, "smem": k["smem"], "together": found[0]["blocks_together"],
                 "registers": found[0]["registers"]}
        return measured(day, "occupancy", limit, json.dumps(asked))


def calibration(day: Day) -> list[Item]:
    return [*(Item(n, lambda limit, n=n: measured(day, n, limit), 60) for n in calibrate.MEASURES),  # type: ignore[misc]
            *(Item(f"occupancy of {n}", lambda limit, n=n: occupied(day, n, limit), 60)  # type: ignore[misc]
              for n in ("gemm_f16", "gemm_wNa16", "attention", "softmax", "layer_norm"))]


def proposal(day: Day, found: dict[str, Any]) -> dict[str, Any]:
    assert day.gpu
    measured = {i["key"]: i["value"] for i in found["items"] if i["state"] == "ok" and i["key"] != "launch" and "predicted" not in i}
    return {"proposal": calibrate.propose(int("".join(c for c in day.arch if c.isdigit())), day.gpu.name, measured)}


# ---- schedules -------------------------------------------------------------------------------------------------------------

PRODUCTS = ((4096, 4096, 4096), (8192, 8192, 8192), (2048, 6144, 4096), (2048, 28672, 4096), (2048, 4096, 14336), (2048, 10240, 8192),
            (16, 28672, 4096))
VARIANTS = ("", "--cluster 1x1", "--schedule groups", "--schedule roles", "--schedule roles2", "--no-pdl")


def schedules(day: Day) -> list[Item]:
    scratch = Scratch(day)

    def one(shape: tuple[int, int, int], variant: str, limit: float) -> dict[str, Any]:
        m, n, k = shape
        tile = ["-D", f"BM={128 if m > 64 else 16}", "-D", "BN=128", "-D", "BK=64", "-D", "STAGES=4", "-D", "WARPS=4"]
        data = scratch.data()
        arrays = ["--arg", data.word("A", (m, k), "f16"), "--arg", data.word("B", (n, k), "f16")]
        stats, done = day.compiler.run("examples/gemm_f16.hexc", ["--exec", "gpu", "--arch", day.arch, "--repeat",
                                                                 "20" if day.shrink == 1 else "1", *tile, *variant.split(), *arrays], limit)
        if done.status == 124:
            raise TooLong
        if not stats:
            return {"why": done.why}
        us = stats["median_us"]
        return {"shape": f"{m} x {n} x {k}", "variant": variant or "default", "us": us, "tflops": 2 * m * n * k / us / 1e6,
                "launches": stats["us"]}

    def scaled(shape: tuple[int, int, int]) -> tuple[int, int, int]:
        return max(16, shape[0] // day.shrink), max(128, shape[1] // day.shrink), max(128, shape[2] // day.shrink)

    return [Item(f"{' x '.join(map(str, s))}, {v or 'default'}", lambda limit, s=s, v=v: one(scaled(s), v, limit), 120)  # type: ignore[misc]
            for s in PRODUCTS for v in VARIANTS]


# ---- bench -----------------------------------------------------------------------------------------------------------------

class Bench:
    """Peers and data are made at the first case, and live as long as the step."""

    def __init__(self, day: Day) -> None:
        self.day, self.scratch = day, Scratch(day)

    def beside(self) -> Peers:
        self.day.peers = self.day.peers or Peers()
        return self.day.peers

    def roofs(self, limit: float) -> dict[str, Any]:
        p = self.beside()
        return {"roofs": measured(self.day, "roofs", limit), "peers": {"installed": p.installed, "absent": p.absent}}

    def case(self, c: cases.Case, limit: float) -> dict[str, Any]:
        own = {"top": 2 if self.day.shrink == 1 else 1, "repeat": 20 if self.day.shrink == 1 else 1, "limit": min(60.0, limit),
               "arch": self.day.arch}
        result = runner.run_case(self.day.compiler, own, self.scratch.data(), c, self.beside())
        return {"result": result} | ({"why": result["why"]} if "why" in result else {})


def bench(day: Day) -> list[Item]:
    b = Bench(day)
    # shapes of models first; on a GPU that is simulated, of the others a few
    todo = cases.cases(["gemm", "models", "attention", "rows", "weights"], day.shrink)
    if day.shrink > 1:
        todo = [c for c in todo if c.model or not c.name.startswith("w")]
    unique = {c.key: c for c in todo}
    return [Item("roofs", b.roofs, 120), *(Item(k, lambda limit, c=c: b.case(c, limit), 180) for k, c in unique.items())]  # type: ignore[misc]


def benched(day: Day, found: dict[str, Any]) -> dict[str, Any]:
    if day.peers:  # nothing of theirs stays on the GPU
        day.peers.end()
        day.peers = None
    head = next((i for i in found["items"] if i["key"] == "roofs" and i["state"] == "ok"), None)
    results = [i["result"] for i in found["items"] if "result" in i]
    document = {"compiler": day.compiler.version(), "date": time.strftime("%Y-%m-%d"), "roofs": head["roofs"] if head else {},
                "peers": head["peers"] if head else {"installed": {}, "absent": {}}, "not_started": found["left"],
                "options": {"shrink": day.shrink}, "results": results}
    bad = schema.check(document, schema.load("bench"))
    if bad:
        raise ValueError("benchmark.json is not as its schema says: " + "; ".join(bad[:3]))
    keep(day.out / "benchmark.json", json.dumps(document, indent="\t") + "\n")
    keep(day.out / "benchmark.html", report.bench_page(document))
    keep(day.out / "benchmark.md", report.markdown(document))
    return cleared(day, found)


# ---- tune ------------------------------------------------------------------------------------------------------------------

TUNED = (
    ("gemm_f16", ["-D", "BM=64,128", "-D", "BN=64,128,256", "-D", "BK=64", "-D", "STAGES=3,4", "-D", "WARPS=4,8"],
     [{"M": 4096, "N": 4096, "K": 4096}, {"M": 2048, "N": 6144, "K": 4096}]),
    ("gemm_wNa16", ["-D", "WEIGHT=u4", "-D", "BM=16,32,64", "-D", "BN=64,128,256"],
     [{"M": 16, "N": 14336, "K": 4096}, {"M": 64, "N": 14336, "K": 4096}]),
    ("attention", ["-D", "D=128", "-D", "CAUSAL=1", "-D", "BM=64,128", "-D", "BN=64,128", "--arg", "scale=0.088",
                   "--arg", "Q=random(1)[B,M,H,D]", "--arg", "K=random(2)[B,N,HK,D]", "--arg", "V=random(3)[B,N,HK,D]"],
     [{"B": 1, "M": 2048, "N": 2048, "H": 32, "HK": 8, "D": 128}]),
)


def tune(day: Day) -> list[Item]:
    def small(name: str, n: int) -> int:
        if name in ("M", "N", "K"):
            return max(16 if name == "M" else 128, n // day.shrink // 16 * 16) if day.shrink > 1 else n
        return max(1, n // day.shrink) if name in ("H", "HK") else n

    def one(name: str, words: list[str], shapes: list[dict[str, int]], limit: float) -> dict[str, Any]:
        line = [sys.executable, "-B", str(ROOT / "scripts/tune"), f"examples/{name}.hexc", "--kernel", name, "--exec", "gpu", "--arch", day.arch,
                "--db", str(day.out / "tune.db"), "--report", str(day.out / f"tune-{name}.html"), "--budget", f"{max(1.0, limit - 30):.0f}",
                "--limit", "60", *words]
        if day.shrink > 1:
            line += ["--repeat", "1", "--halving", "1", "--first", "2", "--no-check"]
        for s in shapes:
            line += ["--shape", ",".join(f"{n}={small(n, v)}" for n, v in s.items())]
        status, out = command(line, limit, HEXC=day.compiler.path)
        best = [x.strip() for x in out.splitlines() if x.startswith("best: ")]
        if "the budget" in out and limit < 240:
            raise TooLong  # the database goes on with it
        return {"program": name, "best": best, "says": tail(out, 1)} | ({"why": tail(out)} if status or not best else {})

    return [Item(n, lambda limit, n=n, w=w, s=s: one(n, w, s, limit)) for n, w, s in TUNED]  # type: ignore[misc]


# ---- counters --------------------------------------------------------------------------------------------------------------

# what the simulator calls it -> the profiler's metrics, added up
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
)


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


def counters(day: Day) -> list[Item]:
    ncu = shutil.which("ncu")

    def one(name: str, words: list[str], limit: float) -> dict[str, Any]:
        program = [f"examples/{name}.hexc", "--arch", day.arch, *words]
        stats, done = day.compiler.run(program[0], ["--exec", "sim", *program[1:]], limit)
        if not stats:
            return {"why": done.why}
        with tempfile.TemporaryDirectory() as folder:
            full = os.path.join(folder, "s.json")
            day.compiler.call("run", *program, "--exec", "sim", "--stats", full, limit=limit)
            counted = json.loads(Path(full).read_text(encoding="utf-8"))
        simulated = {n: counted[n] for n in METRICS if n in counted}
        if not ncu:
            return {"simulated": simulated, "profiled": {}, "note": "there is no ncu here"}
        wanted = ",".join(m for ms in METRICS.values() for m in ms)
        status, out = command([ncu, "--csv", "--page", "raw", "--metrics", wanted, "--target-processes", "all", day.compiler.path, "run",
                               *program, "--exec", "gpu"], limit)
        if status:
            return {"why": f"ncu: {tail(out)}", "simulated": simulated}
        raw = read_ncu(out, counted["entry"])
        profiled = {n: sum(raw[m] for m in ms) for n, ms in METRICS.items() if all(m in raw for m in ms)}
        return {"simulated": simulated, "profiled": profiled, "note": "" if len(profiled) == len(METRICS) else "ncu lacks some metrics"}

    return [Item(n, lambda limit, n=n, w=w: one(n, w, limit), 120) for n, w in COUNTED]  # type: ignore[misc]


STEPS = (
    Step("machine", "what is here", machine),
    Step("checks", "are results right", checks, checked),
    Step("calibrate", "what an SM does in a clock", calibration, proposal),
    Step("schedules", "which defaults are best", schedules, cleared),
    Step("bench", "operators at shapes of models", bench, benched),
    Step("tune", "constants and candidates", tune),
    Step("counters", "the simulator's counts and the profiler's", counters),
)
