"""The same operators by what is installed beside hexc: PyTorch (cuBLAS, its attention), torch.compile (Triton's code),
a product in Triton, FlashInfer, vLLM's kernels.

They run in a process of their own, `python3 -m hexc_bench.peers`, which reads a line of JSON for each operator and answers
with one: a peer that faults, hangs or is not installed costs its own numbers and no others.  HEXC_BENCH_DEVICE=cpu tries
the calls, not the speed, where there is no GPU.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

DEVICE = os.environ.get("HEXC_BENCH_DEVICE", "cuda")
MODULES = ("torch", "triton", "flashinfer", "vllm")


class Peers:
    """The process, started again when it was lost; ``installed`` has versions, ``absent`` why others are not timed."""

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
            if line.startswith("{"):  # libraries print what they like
                found: dict[str, Any] = json.loads(line)
                return found
        return None

    def times(self, peer: tuple[Any, ...], repeat: int) -> dict[str, Any]:
        """Of each that has this operator: {"us"} or {"why"}."""
        if not self.child and self.installed and self.lost < 5:
            self._start()
        if not self.child or not self.child.stdin:
            return {}
        try:
            print(json.dumps({"peer": peer, "repeat": repeat}), file=self.child.stdin, flush=True)
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
        """What is told of them in a line."""
        return "; ".join([*(f"{n} {v}" for n, v in self.installed.items()), *(f"no {n}: {w}" for n, w in self.absent.items())])


# ---- in the process ------------------------------------------------------------------------------------------------

def timed(torch: Any, f: Callable[[], Any], repeat: int) -> float:
    """Median microseconds of f, measured as hexc does it: the L2 cache is overwritten before each."""
    times = []
    cuda = DEVICE == "cuda"
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size if cuda else 1, dtype=torch.uint8, device=DEVICE)
    f()
    for _ in range(repeat):
        flush.zero_()
        if cuda:
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record()
            f()
            b.record()
            b.synchronize()
            times.append(1000 * a.elapsed_time(b))
        else:
            start = time.perf_counter()
            f()
            times.append(1e6 * (time.perf_counter() - start))
    return float(sorted(times)[repeat // 2])


def calls(torch: Any, kind: str, size: list[int]) -> dict[str, Callable[[], Any]]:
    """Who has this operator, as functions of no arguments."""
    f, half = torch.nn.functional, {"dtype": torch.float16, "device": DEVICE}
    found: dict[str, Callable[[], Any]] = {}

    def compiled(body: Callable[..., Any], *args: Any) -> None:
        found["torch"] = lambda: body(*args)
        if DEVICE == "cuda":
            fast = torch.compile(body, dynamic=False)
            found["torch.compile"] = lambda: fast(*args)

    def attend(q: Any, k: Any, v: Any, causal: bool) -> Any:
        more = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
        return f.scaled_dot_product_attention(q, k, v, is_causal=causal, **more)

    if kind == "matmul":
        m, n, k = size
        a, b = torch.randn(m, k, **half), torch.randn(n, k, **half)
        found["torch"] = lambda: a @ b.T
        if DEVICE == "cuda":
            found["triton"] = lambda: importlib.import_module("hexc_bench.triton_gemm").gemm(a, b)
    elif kind == "attention":
        batch, n, h, hk, d, causal = size
        q, k, v = (torch.randn(batch, x, n, d, **half) for x in (h, hk, hk))
        found["torch"] = lambda: attend(q, k, v, bool(causal))
        rows = [x.transpose(1, 2).reshape(batch * n, -1, d).contiguous() for x in (q, k, v)]
        if batch == 1:
            found["flashinfer"] = lambda: importlib.import_module("flashinfer").single_prefill_with_kv_cache(*rows, causal=bool(causal))
        starts = torch.arange(0, (batch + 1) * n, n, dtype=torch.int32, device=DEVICE)
        found["vllm"] = lambda: importlib.import_module("vllm.vllm_flash_attn").flash_attn_varlen_func(
            *rows, max_seqlen_q=n, cu_seqlens_q=starts, max_seqlen_k=n, cu_seqlens_k=starts, causal=bool(causal))
    elif kind == "paged":
        batch, context, h, hk, d = size
        q = torch.randn(batch, h, 1, d, **half)
        k, v = (torch.randn(batch, hk, context, d, **half) for _ in range(2))
        found["torch"] = lambda: attend(q, k, v, False)  # of a cache in one piece
        found["flashinfer"] = paged_flashinfer(torch, q[:, :, 0], batch, context, hk)
    elif kind == "softmax":
        x = torch.randn(*size, device=DEVICE)
        compiled(lambda x: torch.softmax(x, 1), x)
    elif kind == "layer_norm":
        x, w = torch.randn(*size, device=DEVICE), torch.randn(size[1], device=DEVICE)
        compiled(lambda x, w: f.layer_norm(x, w.shape, w, w), x, w)
    elif kind == "rms_norm":
        x, w = torch.randn(*size, **half), torch.randn(size[1], **half)
        out = torch.empty_like(x)
        compiled(lambda x, w: f.rms_norm(x, w.shape, w, 1e-5), x, w)
        found["flashinfer"] = lambda: importlib.import_module("flashinfer.norm").rmsnorm(x, w, 1e-5)
        found["vllm"] = lambda: importlib.import_module("vllm._custom_ops").rms_norm(out, x, w, 1e-5)
    elif kind == "swiglu":
        m, n, k = size
        a, g, u = (torch.randn(r, k, **half) for r in (m, n, n))
        compiled(lambda a, g, u: f.silu(a @ g.T) * (a @ u.T), a, g, u)
    elif kind == "gelu":
        m, n, k = size
        a, b, bias, r = torch.randn(m, k, **half), torch.randn(n, k, **half), torch.randn(n, **half), torch.randn(m, n, **half)
        compiled(lambda a, b, bias, r: f.gelu(f.linear(a, b, bias), approximate="tanh") + r, a, b, bias, r)
    elif kind == "causal_conv":
        n, d = size
        x, w, bias = torch.randn(1, d, n, **half), torch.randn(d, 1, 4, **half), torch.randn(d, **half)
        compiled(lambda x, w, bias: f.silu(f.conv1d(x, w, bias, padding=3, groups=w.shape[0])[..., :x.shape[2]]), x, w, bias)
    return found


def paged_flashinfer(torch: Any, q: Any, batch: int, context: int, hk: int) -> Callable[[], Any]:
    """Planned once, run often, as its users do."""
    kept: list[Any] = []

    def run() -> Any:
        if not kept:
            page, per, (_, h, d) = 64, -(-context // 64), q.shape
            ints = {"dtype": torch.int32, "device": DEVICE}
            w = importlib.import_module("flashinfer").BatchDecodeWithPagedKVCacheWrapper(
                torch.empty(128 << 20, dtype=torch.uint8, device=DEVICE), "NHD")
            w.plan(torch.arange(0, (batch + 1) * per, per, **ints), torch.randperm(batch * per, device=DEVICE).to(torch.int32),
                   torch.full((batch,), context - (per - 1) * page, **ints), h, hk, d, page, q_data_type=q.dtype)
            kept.extend((w, torch.randn(batch * per, 2, page, hk, d, dtype=q.dtype, device=DEVICE), q.contiguous()))
        return kept[0].run(kept[2], kept[1])

    return run


def serve() -> None:
    installed, absent = {}, {}
    torch: Any = None
    for name in MODULES:
        try:
            module = importlib.import_module(name)
            if name == "torch":
                torch = module
                if DEVICE == "cuda" and not module.cuda.is_available():
                    raise ImportError("it finds no GPU")
            elif torch is None or "torch" in absent:
                raise ImportError("it needs PyTorch")
            installed[name] = str(getattr(module, "__version__", "?"))
        except Exception as error:  # noqa: BLE001 - an import may fail in any way
            absent[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    print(json.dumps({"installed": installed, "absent": absent}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            found = calls(torch, asked["peer"][0], asked["peer"][1:])
        except Exception as error:  # noqa: BLE001
            found, answer = {}, {"torch": {"why": f"{type(error).__name__}: {error}".splitlines()[0][:200]}}
        for name, f in found.items():
            if name.split(".")[0] not in installed:
                continue
            try:
                answer[name] = {"us": timed(torch, f, asked["repeat"])}
            except Exception as error:  # noqa: BLE001
                answer[name] = {"why": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
