"""The process that owns the GPU, and its supervisor.

    python3 -m hexc_bench.device

reads a line of JSON for each job and answers with one. A kernel that faults or hangs ends the process and its
context, and no more: :class:`Keeper` starts another with the next job. The process reports the start and end of
each launch. The supervisor allows LAUNCH seconds for a launch, and the rest of its limit for the rest of a job.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import select
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

PYTHON = Path(__file__).resolve().parents[1]
LAUNCH = float(os.environ.get("HEXC_DAY_LAUNCH", "5"))  # seconds
MARK = "\x04"  # marks protocol lines: others print to the same stream


# ---- the supervisor
# ------------------------------------------------------------------------------------------------------

class Keeper:
    """Runs jobs, one at a time, in a process that is started if there is none."""

    def __init__(self, more: Mapping[str, str] | None = None) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._more = dict(more or {})
        self._read = b""
        self.begun = 0

    def run(self, job: Mapping[str, Any], limit: float, alone: threading.Lock | None = None) -> dict[str, Any]:
        """The job's answer, or {"why", "lost": fault, hang, late or died}. A job that reports readiness
        continues when it has the lock; the wait counts towards the limit."""
        held = False
        try:
            for found in self._steps(job, time.monotonic() + limit, limit):
                if found.get("event") != "ready":
                    return found
                if alone:
                    held = alone.acquire(timeout=limit)
                self._go()
            return {"why": "no answer", "lost": "died"}
        finally:
            if held and alone:
                alone.release()

    def _go(self) -> None:
        try:
            assert self._child and self._child.stdin
            self._child.stdin.write(b"go\n")
            self._child.stdin.flush()
        except OSError:
            pass

    def _steps(self, job: Mapping[str, Any], until: float, limit: float) -> Iterator[dict[str, Any]]:
        child = self._child if self._child and self._child.poll() is None else self._begin()
        assert child.stdin
        try:
            child.stdin.write(json.dumps(job).encode() + b"\n")
            child.stdin.flush()
        except OSError:
            yield self._lost("died", "the process that has the GPU died before the job")
            return
        launched: float | None = None
        while True:
            end = until if launched is None else min(until, launched + LAUNCH)
            line = self._line(end)
            now = time.monotonic()
            if line is None:
                hang = launched is not None and now >= launched + LAUNCH
                self.end()
                yield ({"why": f"a launch did not end in {LAUNCH:g} seconds", "lost": "hang"} if hang else
                       {"why": f"it took more than {limit:.0f} seconds", "lost": "late"})
                return
            if line == "":
                yield self._lost("died", "the process that has the GPU died")
                return
            said = json.loads(line)
            if said.get("event") == "launch":
                launched = now
            elif said.get("event") == "landed":
                launched = None
            elif said.get("event") == "ready":
                yield dict(said)
            else:
                if said.get("lost"):  # its context is corrupted
                    self.end()
                yield dict(said)
                return

    def end(self) -> None:
        """Kills it with its children."""
        if self._child:
            self._child.kill()
            self._child.wait()
            for f in (self._child.stdin, self._child.stdout):
                if f:
                    f.close()
        self._child, self._read = None, b""

    def _lost(self, how: str, why: str) -> dict[str, Any]:
        status = self._child.wait() if self._child else 0
        self.end()
        return {"why": f"{why}" + (f" by signal {-status}" if status < 0 else f", exit status {status}"), "lost": how}

    def _begin(self) -> subprocess.Popen[bytes]:
        self.end()
        self.begun += 1
        path = os.pathsep.join([str(PYTHON), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._child = subprocess.Popen([sys.executable, "-B", "-m", "hexc_bench.device"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path, **self._more})
        return self._child

    def _line(self, end: float) -> str | None:
        """The next protocol line; "": the process ended, None: timeout."""
        assert self._child and self._child.stdout
        while True:
            line, newline, rest = self._read.partition(b"\n")
            if newline:
                self._read = rest
                words = line.decode(errors="replace")
                if words.startswith(MARK):
                    return words[1:]
                continue
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._child.stdout], [], [], left)[0]:
                return None
            more = os.read(self._child.stdout.fileno(), 1 << 16)
            if not more:
                return ""
            self._read += more


# ---- in the process ------------------------------------------------------------------------------------------------------

def say(**what: Any) -> None:
    sys.stdout.write(MARK + json.dumps(what) + "\n")
    sys.stdout.flush()


class Placed:
    """A kernel, or a family, with its arguments on a device."""

    def __init__(self, target: Any, item: Any, shape: Any, arrays: dict[str, Any]) -> None:
        import hexc
        import numpy as np
        from hexc._args import know
        from hexc._device import DeviceArray
        from hexc._sim import _Tensor

        self.target, self.gpu, self.arrays = target, hexc.device(0), arrays
        known = known_of(target, shape)
        names = {p.name for p in target.params}
        values: dict[str, Any] = {n: v for n, v in {**shape.sizes, **item.scalars}.items() if n in names}
        values |= {p.name: known[p.name] for p in target.params if p.kind == "size" and p.name not in values and p.name in known}
        know(target, values)
        said = {**values, **self.arrays}
        self.bound = target._bound(said, lambda p, _: self.arrays[p.name].shape)
        self.tensors: dict[str, tuple[Any, Any, int]] = {}
        self.bytes = 0
        for p in target.params:
            if p.kind != "tensor" or p.name not in self.bound.shape:
                continue
            tensor = _Tensor(p, self.bound.shape[p.name], self.bound.stride[p.name], self.bound.bytes(p))
            offset = shifted(target, item, p) if shape.misaligned else 0
            memory = DeviceArray((tensor.bytes + offset,), np.dtype(np.uint8), self.gpu)
            if p.name in self.arrays:
                sent = np.ascontiguousarray(tensor.send(self.arrays[p.name]))
                if sent.nbytes:
                    self.gpu._call("hexc_gpu_write", self.gpu._pointer, memory.address + offset, sent.ctypes.data, sent.nbytes)
            self.bound.slot[p.name].ptr, self.bound.slot[p.name].bytes = memory.address + offset, tensor.bytes
            self.tensors[p.name] = (tensor, memory, offset)
            self.bytes += tensor.bytes

    def launch(self, stream: int | None = None) -> None:
        self.bound.check()
        self.target._enqueue(self.gpu, self.bound, stream)

    def result(self) -> dict[str, Any]:
        """The written tensors, row-major."""
        import numpy as np

        found = {}
        for p in self.target.params:
            if p.kind == "tensor" and p.written and p.name in self.tensors:
                tensor, memory, offset = self.tensors[p.name]
                raw = np.zeros(tensor.bytes, np.uint8)
                self.gpu._call("hexc_gpu_read", self.gpu._pointer, raw.ctypes.data, memory.address + offset, tensor.bytes)
                found[p.name] = tensor.receive(raw)
        return found

    def line(self) -> int:
        """The index of the launched family entry, from 0; -1 for a kernel."""
        call = self.target._calls._of.get(self.gpu) if hasattr(self.target, "_calls") else None
        if call is None:
            return -1
        line, needs = ctypes.c_size_t(), ctypes.c_uint64()
        call.do("hexc_family_call_line", ctypes.byref(line), ctypes.byref(needs))
        return line.value


def made(target: Any, item: Any, shape: Any, seed: str = "1") -> dict[str, Any]:
    """The elements of all input tensors, row-major."""
    from . import data

    known = known_of(target, shape)
    return {p.name: data.make(item.data.get(p.name, ""), p.dtype, dims(p, known), f"{item.key} {seed} {p.name}", known)
            for p in target.params if p.kind == "tensor" and p.read}


def known_of(target: Any, shape: Any) -> dict[str, int | str]:
    """Sizes and constants by name."""
    known: dict[str, int | str] = {}
    kernels = [k for line in target.lines for k in line.kernels] if hasattr(target, "lines") else [target]
    for k in reversed(kernels):
        known |= k.constants
    return known | dict(shape.sizes)


def dims(p: Any, known: Mapping[str, int | str]) -> tuple[int, ...]:
    """The extents of a tensor."""
    from hexc_tune.expr import evaluate

    found = [evaluate(text, {n: v for n, v in known.items() if isinstance(v, int)}) for text in p.shape]
    if None in found:
        raise ValueError(f"{p.name}[{', '.join(p.shape)}]: the list of items says not all of these sizes")
    return tuple(int(n) for n in found if n is not None)


def shifted(target: Any, item: Any, p: Any) -> int:
    """Bytes that a tensor is past a multiple of 16, for the item's entry: the least alignment
    that its kernels require."""
    wanted = next((line for line in target.lines if line_text(target, line) == item.text), target.lines[-1])
    found = [q.align for k in wanted.kernels for q in k.params if q.name == p.name]
    return min(found) if found and min(found) < 16 else 0


def line_text(target: Any, line: Any) -> str:
    """The text of a family entry after `take`."""
    return str(target.bundle.families.splitlines()[line.number - 1]).removeprefix("take ").strip()


def opened(job: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The kernel or family in a job's file, its item, its shape."""
    import hexc

    from . import items

    item = found_item(job["key"])
    bundle = hexc.Bundle(job["file"])
    target = bundle.family() if item.operator else bundle[0]
    shape = items.Shape(job["shape"], job["sizes"], job.get("misaligned", False))
    return target, item, shape


_ITEMS: dict[str, Any] = {}


def found_item(key: str) -> Any:
    from . import items

    if not _ITEMS:
        _ITEMS.update({i.key: i for i in items.everything()})
    return _ITEMS[key]


def guarded(placed: Placed, launch: Callable[[], None]) -> None:
    """A synchronous launch that the supervisor watches."""
    say(event="launch")
    launch()
    placed.gpu.wait()
    say(event="landed")


def right(job: Mapping[str, Any]) -> dict[str, Any]:
    """Are a kernel's results within the bounds of the reference?"""
    from . import right as judge

    target, item, shape = opened(job)
    placed = Placed(target, item, shape, made(target, item, shape))
    guarded(placed, placed.launch)
    got, taken = placed.result(), placed.line()
    answer: dict[str, Any] = {}
    if taken >= 0:
        answer["line"] = line_text(target, target.lines[taken])
        if item.kind == "operator" and answer["line"] != item.text:
            return {**answer, "why": f"another line of the table was taken: {answer['line']}"}
    text = Path(job["file"]).with_suffix(".hexc")
    return answer | judge.compare(item, shape, target, placed.arrays, got, text.read_text(encoding="utf-8") if text.exists() else None)


def timed(job: Mapping[str, Any]) -> dict[str, Any]:
    """Medians of replays of a graph of launches, in microseconds per launch: with inputs not in L2
    (cold), and in L2 (warm)."""
    target, item, shape = opened(job)
    arrays = made(target, item, shape)
    say(event="ready")
    sys.stdin.readline()
    first = Placed(target, item, shape, arrays)
    guarded(first, first.launch)
    stream, cuda = _measuring(first.gpu)
    l2 = max(first.gpu.l2, 1)
    copies = [first]
    while len(copies) < min(job.get("copies", 16), 1 + 2 * l2 // max(1, first.bytes)):
        copies.append(Placed(target, item, shape, arrays))
    handle = stream.handle
    for c in copies:  # allocates workspaces before the capture
        guarded(c, lambda c=c: c.launch(handle))  # type: ignore[misc]

    def replayed(of: Sequence[Placed], n: int, replays: int) -> list[float]:
        def all_of_it() -> None:
            for i in range(n):
                of[i % len(of)].launch(handle)

        graph = cuda.capture(handle, all_of_it)
        try:
            say(event="launch")
            graph.launch(handle)
            cuda.wait(handle)
            say(event="landed")
            found = []
            for _ in range(replays):
                before, after = first.gpu.event(), first.gpu.event()
                before.record(handle)
                say(event="launch")
                graph.launch(handle)
                after.record(handle)
                after.wait()
                say(event="landed")
                found.append(after.since(before) / n)
            return found
        finally:
            graph.end()

    once = max(0.1, statistics.median(replayed(copies, len(copies), 1)))
    n = max(len(copies), min(job.get("most", 200), math.ceil(job.get("window_us", 3000) / once)))
    cold = replayed(copies, n, job.get("replays", 7))
    warm = replayed(copies[:1], n, job.get("replays", 7)) if len(copies) > 1 else cold
    answer = {"us": {"cold": statistics.median(cold), "warm": statistics.median(warm)}, "all": {"cold": cold, "warm": warm},
              "copies": len(copies), "launches": n, "bytes": first.bytes}
    line = first.line()
    if line >= 0:
        answer["line"] = line_text(target, target.lines[line])
    return answer


_MEASURING: list[Any] = []


def _measuring(gpu: Any) -> tuple[Any, Any]:
    """The stream for measurements in this process, and the driver: one of each."""
    from .cuda import Cuda

    if not _MEASURING:
        _MEASURING.extend((gpu.stream(), Cuda()))
    return _MEASURING[0], _MEASURING[1]


def load(job: Mapping[str, Any]) -> dict[str, Any]:
    """Loads all files: which were loaded as cubins, which the driver compiled, which it rejected."""
    import hexc
    from hexc._abi import function
    from hexc._gpu import loaded

    gpu, found, start = hexc.device(0), {"cubin": 0, "ptx": 0}, time.monotonic()
    refused: dict[str, str] = {}
    for path in job["files"]:
        done: set[int | None] = set()
        try:
            bundle = hexc.Bundle(path)
            for k in bundle:
                if k._handle.value in done:
                    continue
                done.add(k._handle.value)
                owned = loaded(k, gpu)
                found["cubin" if function("hexc_gpu_cubin")(owned.pointer) else "ptx"] += 1
        except hexc.HexcError as error:
            refused[Path(path).stem] = str(error)[:300]
    answer = {"loaded": found, "refused": refused, "load_seconds": time.monotonic() - start}
    return answer | ({"why": f"{len(refused)} files are refused: {next(iter(refused.items()))}"} if refused else {})


def here(job: Mapping[str, Any]) -> dict[str, Any]:
    """The device, and a first kernel on it."""
    import hexc

    gpu = hexc.device(0)
    answer: dict[str, Any] = {"name": gpu.name, "arch": gpu.arch, "capability": gpu.capability, "sms": gpu.sms, "l2": gpu.l2, "memory": gpu.memory}
    if job.get("key"):
        start = time.monotonic()
        answer |= {"first": right(job), "first_seconds": time.monotonic() - start}
        if "why" in answer["first"]:
            answer["why"] = answer["first"]["why"]
    return answer


def _adding(job: Mapping[str, Any]) -> tuple[Any, Any, list[Any]]:
    """The kernel of examples/vector_add.hexc, the device, four arrays of 3000 numbers there."""
    import hexc
    import numpy as np

    gpu, n = hexc.device(0), 3000
    kernel = hexc.Bundle(job["file"])[0]
    rng = np.random.default_rng(1)
    return kernel, gpu, [hexc.to_device(rng.standard_normal(n, np.float32), gpu) for _ in range(4)]


def _same(got: Any, want: Any) -> dict[str, Any]:
    wrong = int((got != want).sum())
    return {"why": f"{wrong} of {got.size} sums are wrong", "wrong": True} if wrong else {"says": f"{got.size} sums"}


def dependent(job: Mapping[str, Any]) -> dict[str, Any]:
    """Consecutive kernels on one stream, each of which reads the previous one's output: C = A + B,
    D = C + B, C = D + B, .."""
    kernel, gpu, (a, b, c, d) = _adding(job)
    x, y, stream = a.numpy(), b.numpy(), _measuring(gpu)[0]
    say(event="launch")
    kernel.launch(A=a, B=b, C=c, stream=stream)
    for i in range(20):
        kernel.launch(A=c if i % 2 == 0 else d, B=b, C=d if i % 2 == 0 else c, stream=stream)
    stream.wait()
    say(event="landed")
    for _ in range(21):
        x = x + y
    return _same(c.numpy(), x)


def graphs(job: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of two kernels as a graph: launched, and again with another size of both, which updates its nodes."""
    import hexc
    import numpy as np
    from hexc._module import Owned

    kernel, gpu, (a, b, c, d) = _adding(job)
    plan = hexc.Plan(gpu)
    between = plan.buffer(a.shape, np.float32)
    plan.add(kernel, A=a, B=b, C=between)
    plan.add(kernel, A=between, B=b, C=c)
    plan.solve()
    plan.capture()
    before = c.numpy()
    say(event="launch")
    plan.replay()
    say(event="landed")
    x, y = a.numpy(), b.numpy()
    found = _same(c.numpy(), x + y + y)
    if "why" in found:
        return found
    gpu._call("hexc_gpu_write", gpu._pointer, c.address, before.ctypes.data, before.nbytes)
    n, size = 1111, next(i for i, p in enumerate(kernel.params) if p.name == "N")
    for call in [k for k in plan._kept if isinstance(k, Owned)]:
        plan._give(call, "hexc_call_int", size, n)
    plan._do("hexc_plan_update")
    say(event="launch")
    plan.replay()
    say(event="landed")
    want = before.copy()
    want[:n] = (x + y + y)[:n]
    found = _same(c.numpy(), want)
    info = plan.info()
    if "why" not in found and not info.updates:
        return {"why": "no node of the graph was updated"}
    return found | {"updates": info.updates, "captures": info.captures}


JOBS = {"right": right, "timed": timed, "load": load, "here": here, "dependent": dependent, "graphs": graphs}


def serve() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")  # output of drivers and kernels is redirected
    os.dup2(2, 1)
    sys.stdout = out
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = JOBS[job["do"]](job)
        except Exception as error:  # noqa: BLE001 - any job may fail in any way
            answer = {"why": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
            if type(error).__name__ == "FaultError":
                answer["lost"] = "fault"
        say(**answer)


if __name__ == "__main__":
    serve()
