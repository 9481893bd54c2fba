"""The same operators in other installed libraries: PyTorch (cuBLAS, its attention), torch.compile (Triton's
code), kernels in Triton, FlashInfer, vLLM's kernels.

They run in a separate process, `python3 -m hexc_bench.peers`, which reads a line of JSON for each operator and
answers with one. So a peer that faults, hangs or is missing loses only its own numbers. HEXC_BENCH_DEVICE=cpu
tests the calls, not the speed, without a GPU; HEXC_BENCH_DEVICE=meta only shapes and types, at any size.

A peer is a function without arguments, created for each set of inputs (peer_calls.py). The timed unit is a CUDA
graph of many such calls in sequence, between two events, so that no Python runs between them: over enough sets
to fill the L2 cache twice (us_cold, and us, which hexc's times are compared with), and over one set (us_warm).
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import select
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import peer_calls
from .peer_calls import Factory

DEVICE = os.environ.get("HEXC_BENCH_DEVICE", "cuda")
MODULES = ("torch", "triton", "flashinfer", "vllm")


class Peers:
    """The process, restarted after a failure; ``installed`` has versions, ``absent`` the reasons
    why others are not timed."""

    def __init__(self, limit: float = 180) -> None:
        self.limit, self.child, self.lost = limit, None, 0
        self.installed: dict[str, str] = {}
        self.absent: dict[str, str] = {}
        self._start()

    child: subprocess.Popen[str] | None

    def _start(self) -> None:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.child = subprocess.Popen([sys.executable, "-B", "-m", "hexc_bench.peers"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                      env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])})
        hello = self._answer()
        if hello is None:
            self.end()
            self.absent = {"peers": "their process ended before it said anything"}
            return
        self.installed, self.absent = hello["installed"], hello["absent"]
        if not self.installed:
            self.end()

    def _answer(self) -> dict[str, Any] | None:
        assert self.child and self.child.stdout
        until = time.monotonic() + self.limit
        while time.monotonic() < until and select.select([self.child.stdout], [], [], max(0, until - time.monotonic()))[0]:
            line = self.child.stdout.readline()
            if not line:
                return None
            if line.startswith("{"):  # libraries print other lines
                found: dict[str, Any] = json.loads(line)
                return found
        return None

    def times(self, peer: tuple[Any, ...], repeat: int) -> dict[str, Any]:
        """For each peer with this operator: {"us", "us_cold", "us_warm"} or {"why"}."""
        return self._asked({"peer": peer, "repeat": repeat})

    def prepare(self, peers: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
        """Compiles for these peers: {"compiled": how many, "why": {peer: text}}. Must
        precede the next call of times."""
        return self._asked({"prepare": list(peers)})

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        if not self.child and self.installed and self.lost < 5:
            self._start()
        if not self.child or not self.child.stdin:
            return {}
        try:
            print(json.dumps(question), file=self.child.stdin, flush=True)
            found = self._answer()
        except OSError:
            found = None
        if found is None:
            self.end()
            self.lost += 1
            return {"peers": {"why": "their process was lost at this operator, or took too long"}}
        return found

    def end(self) -> None:
        if self.child:
            self.child.kill()
            self.child.wait()
        self.child = None

    def words(self) -> str:
        """A one-line summary."""
        return "; ".join([*(f"{n} {v}" for n, v in self.installed.items()), *(f"no {n}: {w}" for n, w in self.absent.items())])


# ---- in the process ------------------------------------------------------------------------------------------------

MOST_COPIES = 256  # sets of inputs
SHARE = 0.5  # share of the free memory for sets of inputs
REPLAYS = 10
WARM = 0.02  # seconds of replays before the timed ones, while clocks rise


def graph_us(torch: Any, calls: Sequence[Callable[[], Any]], repeat: int) -> float:
    """Median microseconds per call, in graphs of at least ``repeat`` calls, each of the list equally often."""
    n = len(calls) * -(-repeat // len(calls))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # triggers first-call selection and compilation
        for f in calls[:2]:
            f()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(n):
            calls[i % len(calls)]()
    start = time.monotonic()
    for i in itertools.count():
        if i >= 3 and time.monotonic() - start > WARM:
            break
        graph.replay()
        torch.cuda.synchronize()
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(REPLAYS)]
    for first, last in pairs:
        first.record()
        graph.replay()
        last.record()
    torch.cuda.synchronize()
    return float(statistics.median(1000 * a.elapsed_time(b) for a, b in pairs) / n)


def plain_us(torch: Any, calls: Sequence[Callable[[], Any]], repeat: int) -> float:
    """Without a graph: on the CPU, or for calls that cannot be captured; the L2 cache is
    overwritten before each call."""
    times = []
    cuda = DEVICE == "cuda"
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size if cuda else 1, dtype=torch.uint8, device=DEVICE)
    calls[0]()
    for i in range(repeat):
        flush.zero_()
        if cuda:
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record()
            calls[i % len(calls)]()
            b.record()
            b.synchronize()
            times.append(1000 * a.elapsed_time(b))
        else:
            start = time.perf_counter()
            calls[i % len(calls)]()
            times.append(1e6 * (time.perf_counter() - start))
    return float(statistics.median(times))


def sets(torch: Any, make: Factory) -> list[Callable[[], Any]]:
    """Sets with inputs and outputs of twice the L2 cache in total, as far as memory allows;
    at least two if possible."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    made = [make(0)]
    made[0]()
    each = max(512, torch.cuda.memory_allocated() - before)
    free = torch.cuda.mem_get_info()[0] * SHARE
    want = -(-2 * torch.cuda.get_device_properties(0).L2_cache_size // each) + 1
    for i in range(1, int(min(MOST_COPIES, max(2, want), max(1, free // each)))):
        made.append(make(i))
    return made


def timed(torch: Any, make: Factory, repeat: int) -> dict[str, Any]:
    """{"us", "us_cold", "us_warm"}, and "graph" with the reason if there is none."""
    if DEVICE != "cuda":
        us = plain_us(torch, [make(0)], repeat)
        return {"us": us, "us_cold": us, "us_warm": us}
    all_sets = sets(torch, make)
    try:
        cold = graph_us(torch, all_sets, repeat)
        warm = graph_us(torch, all_sets[:1], repeat)
    except Exception as error:  # noqa: BLE001 - some calls cannot be captured
        torch.cuda.synchronize()
        us = plain_us(torch, all_sets, repeat)
        return {"us": us, "us_cold": us, "us_warm": us, "graph": said(error)}
    return {"us": cold, "us_cold": cold, "us_warm": warm}


def said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


COMPILE_LIMIT = 20.0  # seconds


class Late:
    """A call that compiles at first use, in a separate thread: callers wait at most
    COMPILE_LIMIT seconds from its start."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.error = ""
        self.start = time.monotonic()
        self.thread = threading.Thread(target=self._work, args=(call,), daemon=True)
        self.thread.start()

    def _work(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001
            self.error = said(error)

    def why(self) -> str:
        """The reason for its failure; "" if it is ready."""
        self.thread.join(max(0.0, self.start + COMPILE_LIMIT - time.monotonic()))
        if self.thread.is_alive():
            return f"compiling takes more than {COMPILE_LIMIT:g} seconds"
        return self.error


class Server:
    """The available peers, and their compiled calls."""

    def __init__(self) -> None:
        self.torch: Any = None
        self.installed: dict[str, str] = {}
        self.absent: dict[str, str] = {}
        self.late: dict[str, Late] = {}
        self.made: dict[str, dict[str, Factory]] = {}  # kept, because they own compiled code
        for name in MODULES:
            self._import(name)

    def _import(self, name: str) -> None:
        try:
            module = importlib.import_module(name)
            if name == "torch":
                self.torch = module
                if DEVICE == "cuda" and not module.cuda.is_available():
                    raise ImportError("it finds no GPU")
            elif self.torch is None or "torch" in self.absent:
                raise ImportError("it needs PyTorch")
            self.installed[name] = str(getattr(module, "__version__", "?"))
        except Exception as error:  # noqa: BLE001 - an import may fail in any way
            self.absent[name] = said(error)

    def factories(self, peer: Sequence[Any]) -> dict[str, Factory]:
        """The factories of an installed peer."""
        key = json.dumps(peer)
        if key not in self.made:
            found = peer_calls.calls(self.torch, DEVICE, peer[0], list(peer[1:]))
            self.made[key] = {n: f for n, f in found.items() if n.split(".")[0] in self.installed}
        return self.made[key]

    def prepare(self, peers: Sequence[Sequence[Any]]) -> dict[str, Any]:
        why = {}
        for peer in peers:
            try:
                for name, make in self.factories(peer).items():
                    if name in peer_calls.COMPILED and DEVICE == "cuda" and (text := self.compiled(name, peer, make)):
                        why[json.dumps([name, *peer])] = text
            except Exception as error:  # noqa: BLE001
                why[json.dumps(peer)] = said(error)
        return {"compiled": len(self.late), "why": why}

    def compiled(self, name: str, peer: Sequence[Any], make: Factory) -> str:
        """The reason why it is not compiled, or ""."""
        key = json.dumps([name, *peer])
        if key not in self.late:
            self.late[key] = Late(lambda: make(0)())
        return self.late[key].why()

    def one(self, name: str, peer: Sequence[Any], make: Factory, repeat: int) -> dict[str, Any]:
        if name in peer_calls.COMPILED and DEVICE == "cuda" and (why := self.compiled(name, peer, make)):
            return {"why": why}
        return timed(self.torch, make, repeat)

    def answer(self, peer: Sequence[Any], repeat: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            makers = self.factories(peer)
        except Exception as error:  # noqa: BLE001
            return {"torch": {"why": said(error)}}
        for name, make in makers.items():
            try:
                found[name] = self.one(name, peer, make, repeat)
            except Exception as error:  # noqa: BLE001
                found[name] = {"why": said(error)}
            if DEVICE == "cuda":
                self.torch.cuda.empty_cache()
        return found


def serve() -> None:
    server = Server()
    print(json.dumps({"installed": server.installed, "absent": server.absent}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "prepare" in asked:
            print(json.dumps(server.prepare(asked["prepare"])), flush=True)
        else:
            print(json.dumps(server.answer(asked["peer"], asked["repeat"])), flush=True)


if __name__ == "__main__":
    serve()
