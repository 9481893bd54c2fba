"""Measures this GPU's throughput per cycle, for infer/core/sm_throughput.def, and the roofs of a benchmark.

    python3 -m hexc_bench.calibrate NAME ARCH SHRINK [JSON]

measures one number, in a process that a kernel may corrupt, and prints {"value", "unit", ...}.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import cuda, probes
from .cuda import Cuda, CudaError

RATES = Path(__file__).resolve().parents[3] / "infer/core/sm_throughput.def"
LANES = tuple(probes.LANES)
TENSOR = tuple(probes.MMA)
RING = 16384  # links


class Bench:
    """The GPU, and the factor by which the work is reduced."""

    def __init__(self, arch: str, shrink: int) -> None:
        self.cuda, self.arch, self.shrink = Cuda(), arch, shrink
        self.capability = int("".join(c for c in arch if c.isdigit()))
        self.sms = self.cuda.attribute(cuda.MULTIPROCESSORS)

    def turns(self, usual: int) -> int:
        return max(1, usual // self.shrink**2)

    def run(self, p: probes.Probe, grid: int, turns: int, data: int = 0, count: int = 0) -> list[tuple[int, int]]:
        """Cycles and nanoseconds of each block, in the second run."""
        f, out = self.cuda.load(p.ptx, "probe"), self.cuda.alloc(16 * grid)
        for _ in range(2):
            self.cuda.launch(f, grid, p.block, [out, turns, data, count], p.shared)
        found = self.cuda.read(out, 2 * grid)
        self.cuda.free(out)
        return [(found[2 * i] or 1, found[2 * i + 1] or 1) for i in range(grid)]

    def rate(self, p: probes.Probe, usual: int = 2000) -> dict[str, Any]:
        """Work of one SM per cycle."""
        turns = self.turns(usual)
        clocks, _ = self.run(p, 1, turns)[0]
        return {"value": p.work * turns / clocks, "unit": "a clock and SM", "clocks": clocks}

    def whole(self, p: probes.Probe, usual: int = 20000) -> float:
        """Work of the whole GPU per second, timed by the driver's events: the median of 5."""
        turns, f, out = self.turns(usual), self.cuda.load(p.ptx, "probe"), self.cuda.alloc(16 * self.sms)
        us = [self.cuda.microseconds(lambda: self.cuda.launch(f, self.sms, p.block, [out, turns, 0, 0], p.shared)) for _ in range(5)]
        self.cuda.free(out)
        return 1e6 * p.work * turns * self.sms / statistics.median(us)


def tensor_probes(b: Bench, name: str) -> dict[str, probes.Probe]:
    """The MMA instructions for that element type on this arch."""
    found = {}
    if b.capability >= probes.MMA[name][6]:
        found["mma.sync"] = probes.mma(b.arch, name)
    if b.arch == "sm_90a" and name in probes.WGMMA:
        found["wgmma"] = probes.wgmma(b.arch, name)
    if not found:
        raise CudaError(f"{b.arch} has no mma of {name} that is measured here")
    return found


def tensor(b: Bench, name: str) -> dict[str, Any]:
    by = {how: b.rate(p)["value"] for how, p in tensor_probes(b, name).items()}
    return {"value": max(by.values()), "unit": "multiply-accumulates a clock and SM", "by": by}


def sync(b: Bench) -> dict[str, Any]:
    by = {how: b.rate(p)["value"] for how, p in tensor_probes(b, "f16").items()}
    return {"value": by["mma.sync"] / max(by.values()), "unit": "of the fastest way to multiply", "by": by}


def mhz(b: Bench) -> dict[str, Any]:
    clocks, ns = b.run(probes.lanes(b.arch, "f32"), 1, b.turns(40000))[0]
    return {"value": 1000 * clocks / ns, "unit": "MHz", "clocks": clocks}


def shared_wait(b: Bench) -> dict[str, Any]:
    turns = b.turns(2000)
    clocks, _ = b.run(probes.chase_shared(b.arch), 1, turns)[0]
    return {"value": clocks / (16 * turns), "unit": "clocks", "clocks": clocks}


def waits(b: Bench, cold: bool) -> dict[str, Any]:
    """Latency of dependent loads, from L2 or, after L2 was overwritten, from memory."""
    links = max(64, RING // b.shrink**2)
    data, out = b.cuda.alloc(links * probes.STRIDE), b.cuda.alloc(16)
    make, go = b.cuda.load(probes.ring(b.arch).ptx, "probe"), b.cuda.load(probes.chase(b.arch).ptx, "probe")
    b.cuda.launch(make, 1, 1, [out, links, data, links])
    flush = 2 * b.cuda.attribute(cuda.L2_BYTES)
    other = b.cuda.alloc(flush)
    found = []
    for _ in range(1 if b.shrink > 1 else 5):
        if cold:
            b.cuda.fill(other, flush, 1)
        else:
            b.cuda.launch(go, 1, 1, [out, links, data, 0])
        b.cuda.launch(go, 1, 1, [out, links, data, 0])
        found.append((b.cuda.read(out, 2)[0] or 1) / links)
    return {"value": statistics.median(found), "unit": "clocks", "all": found}


def dram(b: Bench) -> dict[str, Any]:
    half = (1 << 30) // b.shrink**2 // 16 * 16
    data = b.cuda.alloc(2 * half)
    f, out = b.cuda.load(probes.copy(b.arch).ptx, "probe"), b.cuda.alloc(16 * 2 * b.sms)
    us = [b.cuda.microseconds(lambda: b.cuda.launch(f, 2 * b.sms, 1024, [out, 1, data, half])) for _ in range(7)]
    return {"value": 2 * half / statistics.median(us[1:]) / 1e3, "unit": "GB/s", "each_us": us}


def l2(b: Bench) -> dict[str, Any]:
    size = max(4096, b.cuda.attribute(cuda.L2_BYTES) // 4 // b.shrink // 16 * 16)
    data, turns = b.cuda.alloc(size), b.turns(200)
    clocks = max(c for c, _ in b.run(probes.read(b.arch), 2 * b.sms, turns, data, size))
    return {"value": size * turns / clocks, "unit": "bytes a clock", "bytes": size}


def launch(b: Bench) -> dict[str, Any]:
    """Time between consecutive launches of an empty kernel in a stream."""
    p, out, n = probes.chase_shared(b.arch), b.cuda.alloc(16), max(1, 1000 // b.shrink)
    f = b.cuda.load(p.ptx, "probe")

    def many() -> None:
        for _ in range(n):
            b.cuda.launch(f, 1, 1, [out, 1, 0, 0], p.shared)

    many()
    return {"value": b.cuda.microseconds(many) / n, "unit": "us", "launches": n}


def occupancy(b: Bench, what: dict[str, Any]) -> dict[str, Any]:
    """Resident blocks per SM of a compiled kernel, from the driver, next to the prediction."""
    f = b.cuda.load(Path(what["ptx"]).read_text(encoding="utf-8"), what["entry"])
    found = b.cuda.together(f, what["block"], what["smem"])
    return {"value": found, "unit": "blocks an SM", "predicted": what["together"], "registers": b.cuda.registers(f),
            "predicted_registers": what["registers"]}


def roofs(b: Bench) -> dict[str, Any]:
    """Bytes and operations per second of kernels that do nothing else."""
    found: dict[str, Any] = {"copy_bytes_per_s": dram(b)["value"] * 1e9}
    for name in ("f16", "i8", "f8"):
        try:
            found[f"{name}_flop_per_s"] = max(2 * b.whole(p) for p in tensor_probes(b, name).values())
        except CudaError:
            pass
    return found


MEASURES: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "sms": lambda b: {"value": b.sms, "unit": "multiprocessors"},
    "mhz": mhz, "dram": dram, "l2": l2,
    **{f"mma_{n}": lambda b, n=n: tensor(b, n) for n in TENSOR}, "sync": sync,  # type: ignore[misc]
    "shared_wait": shared_wait, "l2_wait": lambda b: waits(b, False), "dram_wait": lambda b: waits(b, True),
    **{n: lambda b, n=n: b.rate(probes.lanes(b.arch, n)) for n in LANES},  # type: ignore[misc]
    "launch": launch,
}


def clocks_of(b: Bench, p: probes.Probe, grid: int = 1, data: int = 0, usual: int = 2000) -> float:
    """Cycles of one unit of a probe's work, in the slowest block."""
    turns = b.turns(usual)
    return max(c for c, _ in b.run(p, grid, turns, data)) / (p.work * turns)


def doubtful(name: str, value: float, **more: Any) -> dict[str, Any]:
    """A measured constant of infer/core/cost_constants.def."""
    return {"value": value, "unit": "clocks", "constant": name, **more}


def _hopper(b: Bench) -> None:
    if b.capability < 90:
        raise CudaError(f"{b.arch} has no such barriers, copies or clusters")


def bubble(b: Bench) -> dict[str, Any]:
    """The additional time of an iteration whose first MMAs wait for a fragment of the same iteration."""
    plain, rotated = (clocks_of(b, probes.bubble(b.arch, r)) for r in (False, True))
    return doubtful("BUBBLE_CLOCKS", max(0.0, plain - rotated), plain=plain, rotated=rotated)


def signal(b: Bench) -> dict[str, Any]:
    _hopper(b)
    return doubtful("SIGNAL_CLOCKS", clocks_of(b, probes.signal(b.arch)))


def box(b: Bench) -> dict[str, Any]:
    """The latency of a TMA copy minus that of a load, both from L2."""
    _hopper(b)
    data = b.cuda.alloc(4096)
    copy, load = clocks_of(b, probes.box(b.arch), data=data), waits(b, False)["value"]
    return doubtful("BOX_CLOCKS", max(0.0, copy - load), copy=copy, load=load)


def cluster(b: Bench) -> dict[str, Any]:
    _hopper(b)
    return doubtful("CLUSTER_CLOCKS", clocks_of(b, probes.cluster(b.arch), grid=2))


DOUBTFUL: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "barrier": lambda b: doubtful("BARRIER_CLOCKS", clocks_of(b, probes.barrier(b.arch))), "box": box, "signal": signal, "cluster": cluster,
    "bubble": bubble, "dot": lambda b: doubtful("DOT_CLOCKS", clocks_of(b, probes.dot(b.arch))),
    "shuffle": lambda b: doubtful("SHUFFLE_CLOCKS", clocks_of(b, probes.shuffle(b.arch))),
}


# ---- rows of sm_throughput.def ---------------------------------------------------------------------------------------------

def rows(text: str) -> dict[int, dict[str, str]]:
    """Capability -> name -> value as written."""
    found = {}
    for cc, members in re.findall(r"^RATES\((\d+),(.*?)\)$", text, re.S | re.M):
        found[int(cc)] = dict(re.findall(r"\.(\w+) = (\"[^\"]*\"|[\d.]+)", members))
    return found


def rounded(name: str, value: float) -> str:
    """Formats a value as in such a row: a ratio with two digits, other numbers as integers."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if name == "sync" else str(max(1, round(value)))


def propose(capability: int, gpu: str, measured: dict[str, float], text: str | None = None) -> dict[str, Any]:
    """The row from these measurements, the existing row, and the difference of each number."""
    stands = rows(RATES.read_text(encoding="utf-8") if text is None else text).get(capability, {})
    row = dict(stands)
    far = {}
    for name, value in measured.items():
        if name in stands or not stands:
            row[name] = rounded(name, value)
            was = float(stands.get(name, "0"))
            far[name] = {"stands": was, "measured": value, "ratio": value / was if was else None}
    row["gpu"] = json.dumps(gpu)
    order = ["gpu", *(n for n in row if n != "gpu")]
    words = [f".{n} = {row[n]}" for n in order]
    lines: list[str] = [""]
    for word in words:
        if len(lines[-1]) + len(word) > 90:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + word
    return {"row": f"RATES({capability}, " + ",\n      ".join(lines) + ")", "distance": far}


def main(words: Sequence[str]) -> None:
    name, arch, shrink = words[0], words[1], int(words[2])
    b = Bench(arch, shrink)
    if name == "roofs":
        found = roofs(b)
    elif name == "occupancy":
        found = occupancy(b, json.loads(words[3]))
    else:
        found = (MEASURES | DOUBTFUL)[name](b)
    print(json.dumps(found))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except CudaError as error:
        sys.exit(f"{error}")
