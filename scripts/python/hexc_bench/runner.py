"""Cases on the GPU, by `hexc run --exec gpu --repeat`."""

from __future__ import annotations

import array
import itertools
import json
import math
import os
import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hexc_tune.compiler import Compiler, without_args

from .cases import Case, Kernel
from .peers import Peers

BLOCK = 65521  # elements of random data, which repeat


class Data:
    """Arrays as .npy files in a directory, each created once; the oldest are deleted when
    they exceed ``most`` bytes."""

    def __init__(self, folder: str, most: int = 8 << 30) -> None:
        self.folder, self.most = Path(folder), most
        self.made: dict[tuple[tuple[int, ...], str], Path] = {}
        self.random = random.Random(1)

    def word(self, name: str, shape: tuple[int, ...], kind: str) -> str:
        """The value of --arg."""
        if kind == "e4m3":  # has no NumPy type: hexc generates it
            return f"{name}=random(1)[{','.join(map(str, shape))}]"
        return f"{name}=@{self.file(shape, kind)}"

    def file(self, shape: tuple[int, ...], kind: str) -> Path:
        if (shape, kind) not in self.made:
            path = self.folder / f"{len(self.made)}-{abs(hash((shape, kind)))}.npy"
            self._write(path, shape, *self._block(kind, math.prod(shape)))
            self.made[shape, kind] = path
            while len(self.made) > 4 and sum(p.stat().st_size for p in self.made.values()) > self.most:
                self.made.pop(next(iter(self.made))).unlink()
        return self.made[shape, kind]

    def _block(self, kind: str, n: int) -> tuple[str, bytes]:
        """NumPy's name of a type, and the repeated elements."""
        r, most = self.random, min(n, BLOCK)
        name, _, rest = kind.partition(" ")
        if name == "i32":
            how, _, last = rest.rpartition(" ")
            limit = int(last)
            ints = [limit] if how == "=" else [i * limit // n if "rising" in how else r.randrange(limit) for i in range(n)]
            return "<i4", array.array("i", ints).tobytes()
        if name[0] == "u":
            return "|u1", bytes(r.randrange(1 << int(name[1:])) for _ in range(most))
        values = [r.gauss(0, 1) for _ in range(most)]
        if rest:
            values = [0.01 * abs(v) if rest == "small" else -abs(v) for v in values]
        return ("<f2", struct.pack(f"<{most}e", *values)) if name == "f16" else ("<f4", struct.pack(f"<{most}f", *values))

    @staticmethod
    def _write(path: Path, shape: tuple[int, ...], kind: str, block: bytes) -> None:
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({','.join(map(str, shape))},), }}"
        head += " " * (-(len(head) + 11) % 64) + "\n"
        left = math.prod(shape) * int(kind[2])
        with open(path, "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            many = block * max(1, min((1 << 22) // len(block), -(-left // len(block))))
            while left:
                f.write(many[:left])
                left -= min(left, len(many))


def words_of(data: Data, k: Kernel) -> list[str]:
    """The arguments for a run of a kernel."""
    passed = ["--kernel", k.name]
    for name, (shape, kind) in k.arrays.items():
        passed += ["--arg", data.word(name, shape, kind)]
    for text in k.scalars:
        passed += ["--arg", text]
    return passed


def best_of(compiler: Compiler, own: dict[str, Any], data: Data, k: Kernel) -> tuple[dict[str, Any] | None, str]:
    """The fastest of a kernel's sweep, as scripts/tune would find; or the reason why there is none."""
    best: dict[str, Any] | None = None
    why = "the list is empty"
    passed = words_of(data, k)
    for values in itertools.product(*k.sweep.values()):
        words = [*k.fixed, *(f"{name}={v}" for name, v in zip(k.sweep, values))]
        defines = [w for text in words for w in ("-D", text)]
        arch = ["--arch", own["arch"]] if own.get("arch") else []
        found, refused = compiler.candidates(k.program, [*without_args(passed), *arch, *defines])
        why = refused or why
        for c in found[: own["top"]]:
            options = ["--exec", "gpu", "--repeat", str(own["repeat"]), "--candidate", str(c["index"]), *passed, *arch, *defines]
            stats, done = compiler.run(k.program, options, limit=own.get("limit", 120))
            why = why if stats else done.why
            if stats and (not best or stats["median_us"] < best["median_us"]):
                best = {"kernel": k.name, "define": words, "candidate": c["index"], **stats}
    return best, why


def run_case(compiler: Compiler, own: dict[str, Any], data: Data, case: Case,
             peers: Peers | None) -> dict[str, Any]:
    """A result in the format of schemas/bench.schema.json."""
    head = {"name": case.name, "shape": case.shape, "model": case.model, "key": case.key}
    kernels, us = [], 0.0
    for k in case.kernels:
        best, why = best_of(compiler, own, data, k)
        if not best:
            return {**head, "why": why}
        kernels.append(best)
        us += best["median_us"]
    beside: dict[str, Any] = peers.times(case.peer, own["repeat"]) if case.peer and peers else {}
    result = {**head, "us": us, "flops": case.flops, "bytes": case.bytes, "roof": case.roof, "kernels": kernels,
              "peers": beside}
    torch_us = beside.get("torch", {}).get("us")
    return {**result, **({"torch_us": torch_us} if torch_us else {})}


def measure(name: str, arch: str, shrink: int, *more: str, limit: float = 120) -> tuple[dict[str, Any] | None, str]:
    """A number of calibrate.py, or the reason why there is none."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    words = [sys.executable, "-B", "-m", "hexc_bench.calibrate", name, arch, str(shrink), *more]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])})
    except subprocess.TimeoutExpired:
        return None, f"it took more than {limit:g} seconds"
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found, ""


def share(r: dict[str, Any], roofs: dict[str, Any]) -> float | None:
    """The share of its time that a kernel would need at the roofs."""
    rate = roofs.get(f"{r.get('roof', 'f16')}_flop_per_s") or roofs.get("f16_flop_per_s")
    if not rate or not roofs.get("copy_bytes_per_s") or "us" not in r:
        return None
    least: float = max(r["bytes"] / roofs["copy_bytes_per_s"], r["flops"] / rate) * 1e6
    return least / float(r["us"])


def names(words: str, known: Sequence[str]) -> list[str]:
    """A list of suites; ValueError names an unknown one."""
    found = words.split(",")
    for name in found:
        if name not in known:
            raise ValueError(f"no suite '{name}'; there are {', '.join(known)}")
    return found
