"""bench --host: hexc_pack and hexc_unpack of the library compared with memcpy, and the host's cost
of a launch. Needs NumPy."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hexc_tune.compiler import Compiler


class Workers(ctypes.Structure):
    """hexc_workers of lib/hexc.h."""
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_uint32), ("run", ctypes.c_void_p),
                ("user", ctypes.c_void_p)]


class Library:
    """hexc_pack and hexc_unpack, and memcpy by threads."""

    def __init__(self, compiler: Compiler) -> None:
        path = os.path.join(os.path.dirname(os.path.abspath(compiler.path)), "libhexc.so.0")
        try:
            self.hexc, self.c = ctypes.CDLL(path), ctypes.CDLL(None)
        except OSError as error:
            sys.exit(f"bench: {error}; the library is looked for beside {compiler.path}: set HEXC")

    def call(self, name: str, pack: str, dims: Sequence[int], *rest: Any) -> None:
        why = ctypes.create_string_buffer(200)
        dim = (ctypes.c_int64 * len(dims))(*dims)
        size = ctypes.c_size_t(len(why))
        if getattr(self.hexc, name)(pack.encode(), ctypes.c_uint32(len(dims)), dim, *rest, why, size):
            sys.exit(f"bench: {name}: {why.value.decode()}")

    def bytes(self, pack: str, dims: Sequence[int]) -> int:
        n = ctypes.c_uint64()
        self.call("hexc_pack_bytes", pack, dims, ctypes.byref(n))
        return n.value

    def move(self, name: str, pack: str, dims: Sequence[int], source: int, to: int, threads: int) -> None:
        self.call(name, pack, dims, ctypes.c_void_p(source), ctypes.c_void_p(to),
                  ctypes.byref(Workers(ctypes.sizeof(Workers), threads)))

    def copy(self, source: int, to: int, n: int, threads: int) -> None:
        """A foreign call releases the GIL: the threads copy concurrently."""
        def part(i: int) -> None:
            lo, hi = n * i // threads, n * (i + 1) // threads
            self.c.memcpy(ctypes.c_void_p(to + lo), ctypes.c_void_p(source + lo), ctypes.c_size_t(hi - lo))

        others = [threading.Thread(target=part, args=(i,)) for i in range(1, threads)]
        for t in others:
            t.start()
        part(0)
        for t in others:
            t.join()


def pack_of(compiler: Compiler, bits: int) -> str:
    """The weights' layout in examples/gemm_wNa16."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = os.path.join(folder, "manifest")
        done = compiler.call("--emit-ptx", "examples/gemm_wNa16.hexc", "-D", f"WEIGHT=u{bits}", "--arch", "sm_80",
                         "-o", os.path.join(folder, "ptx"), "--manifest", manifest)
        if done.status:
            sys.exit(f"bench: {done.err}")
        with open(manifest, encoding="utf-8") as f:
            found = re.search(r'hexc-pack [^"]*', f.read())
        assert found
        return found.group()


def packs(compiler: Compiler, own: dict[str, Any]) -> list[dict[str, Any]]:
    """Weights of each width, on one thread and on all: medians of interleaved rounds; CPU time for one thread."""
    import numpy

    results: list[dict[str, Any]]
    side, cores, library, results = 8192 // own["--shrink"], len(os.sched_getaffinity(0)), Library(compiler), []
    print("| weights | threads | memcpy GB/s | pack GB/s | memcpy's times | unpack GB/s | memcpy's times |")
    print("|---|---|---|---|---|---|---|")
    for bits, threads in itertools.product(range(1, 9), sorted({1, cores})):
        pack, dims = pack_of(compiler, bits), (side, side)
        n = library.bytes(pack, dims)
        natural, packed = numpy.full(n, 7, numpy.uint8), numpy.full(n, 7, numpy.uint8)
        at, to = natural.ctypes.data, packed.ctypes.data
        ways: dict[str, Callable[[], None]] = {
            "memcpy": partial(library.copy, at, to, n, threads),
            "pack": partial(library.move, "hexc_pack", pack, dims, at, to, threads),
            "unpack": partial(library.move, "hexc_unpack", pack, dims, to, at, threads)}
        clock = time.process_time if threads == 1 else time.monotonic
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(own["--repeat"]):
            for name, way in ways.items():
                start = clock()
                way()
                seconds[name].append(clock() - start)
        t = {name: sorted(x)[len(x) // 2] for name, x in seconds.items()}
        results.append({"weights": f"u{bits}", "threads": threads, "bytes": n, "seconds": t})
        rates = [f"{n / t[x] / 1e9:.2f}" for x in ways]
        times = [f"{t[x] / t['memcpy']:.2f}" for x in ways]
        print(f"| u{bits} | {threads} | {rates[0]} | {rates[1]} | {times[1]} | {rates[2]} | {times[2]} |", flush=True)
    return results


def launches(compiler: Compiler) -> list[dict[str, Any]]:
    """Nanoseconds of a launch, by test/gpu/overhead.c with the driver of test/gpu/driver.c."""
    cc, build = os.environ.get("CC", "cc"), os.path.dirname(os.path.abspath(compiler.path))
    with tempfile.TemporaryDirectory() as folder:
        bundle, driver, program = (os.path.join(folder, x) for x in ("k.hxb", "libcuda.so.1", "overhead"))
        steps = [
            [cc, "-shared", "-fPIC", "-O2", "-I.", "-fvisibility=hidden", "test/gpu/driver.c", "-Wl,--exclude-libs,ALL",
             f"{build}/libhexc.a", "-lm", "-pthread", "-o", driver],
            [cc, "-O2", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-I.", "test/gpu/overhead.c", "-o", program, f"-L{build}",
             "-l:libhexc_rt.so.0", f"-L{folder}", "-l:libcuda.so.1"],
            [compiler.path, "build", "examples/vector_add.hexc", "examples/gemm_roles.hexc", "--arch", "sm_90a", "-o", bundle],
            [program, bundle]]
        settings = {**os.environ, "FAKE_CUDA_IDLE": "1", "LD_LIBRARY_PATH": f"{build}:{folder}"}
        try:
            for step in steps:
                done = subprocess.run(step, capture_output=True, text=True, env=settings, check=False)
                if done.returncode:
                    sys.exit(f"bench: {' '.join(step)}: {done.stderr}")
        except OSError as error:
            print(f"launches are not timed: {error}")
            return []
    results: list[dict[str, Any]] = []
    print("\n| launch of | with | ns | above the driver's own call |")
    print("|---|---|---|---|")
    for kernel_name, what, ns in (line.split("\t") for line in done.stdout.splitlines()):
        results.append({"launch": kernel_name, "with": what, "ns": float(ns)})
        alone = next(r["ns"] for r in results if r["launch"] == kernel_name)
        print(f"| {kernel_name} | {what} | {float(ns):.0f} | {float(ns) - alone:.0f} |")
    return results
