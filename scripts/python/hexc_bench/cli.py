"""bench [-o FILE.json] [--markdown FILE] [--report FILE.html] [--suite NAME,... | --host] - time operators on this GPU

Times each operator at the shapes of models, with a few tile sizes and the first candidates of each (--top 2), on
random data, with the L2 cache overwritten before every launch; prints medians. Installed libraries among PyTorch,
Triton, FlashInfer and vLLM are timed in the same way; missing ones are reported. A large copy and MMAs without memory
accesses determine the roofs of the machine in the same run; times are given as shares of these roofs. FILE.json has all
results, with the GPU, its driver and the compiler (schema: scripts/python/hexc_bench/schemas/bench.schema.json).
The output is a table in Markdown.

--suite    models, weights, gemm, rows, attention: default all
--model    for the suite models only those with this in their names: Llama, Qwen, Mixtral, DeepSeek, ViT, Mamba, BERT
--list     print the cases, and run none
--repeat   launches of each (20)
--host     without a GPU: hexc_pack and hexc_unpack of the library compared with memcpy of the same bytes; the cost of
           hexc_call_launch above the driver's call, with a driver whose launches do nothing (needs a C compiler and
           NumPy); compile times of three kernels, compared with Triton and nvcc if available; the simulator's speed
--shrink   divide all sizes by N: to test the script on a slow or simulated GPU
--seconds  start no further case after this time (480)
--no-peers only hexc

HEXC is the command line to use (build/hexc).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hexc_tune import gpu
from hexc_tune.compiler import Compiler
from hexc_tune.errors import TuneError

from . import compiles, host, report, runner, schema
from .cases import SUITES, cases
from .peers import Peers

NUMBERS = {"--repeat": 20, "--shrink": 1, "--top": 2, "--seconds": 480}


def read_options(words: Sequence[str]) -> dict[str, Any]:
    own: dict[str, Any] = {"-o": None, "--markdown": None, "--report": None, "--host": False, "--list": False, "--no-peers": False,
                           "--suite": ",".join(SUITES), "--model": "", **NUMBERS}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, eq, value = word.partition("=")
        if word in ("-h", "--help"):
            print(__doc__, end="")
            sys.exit(0)
        if own.get(word) is False:
            own[word] = True
            continue
        if name not in own or isinstance(own[name], bool) or not (eq or rest):
            sys.exit(f"bench: what is '{word}'? --help tells")
        value = value if eq else rest.pop(0)
        if name in NUMBERS and (not value.isdigit() or value == "0"):
            sys.exit(f"bench: {name} wants a number, not '{value}'")
        own[name] = int(value) if name in NUMBERS else value
    return own


def arch_here(compiler: Compiler) -> str:
    """The arch of this machine's GPU."""
    found = gpu.find()
    return (gpu.arch_of(found.capability, compiler.call("--list-archs").out.split()) if found else None) or ""


def roofs(compiler: Compiler, shrink: int) -> dict[str, Any]:
    """The measurements of calibrate.py, or {"why"}."""
    arch = arch_here(compiler)
    if not arch:
        return {"why": "there is no GPU here that hexc compiles for"}
    found, why = runner.measure("roofs", arch, shrink)
    return found if found is not None else {"why": why}


def save(path: str, document: dict[str, Any]) -> None:
    Path(path).write_text(json.dumps(document, indent="\t") + "\n", encoding="utf-8")


def document(compiler: Compiler, own: dict[str, Any], results: list[dict[str, Any]], **head: Any) -> dict[str, Any]:
    """The contents of the output file."""
    return {"compiler": compiler.version(), "date": time.strftime("%Y-%m-%d"), **head, "options": own, "results": results}


def on_gpu(compiler: Compiler, own: dict[str, Any]) -> int:
    try:
        todo = cases(runner.names(own["--suite"], list(SUITES)), own["--shrink"], own["--model"])
    except ValueError as error:
        sys.exit(f"bench: {error}")
    if own["--list"]:
        print("\n".join(c.key for c in todo))
        return 0
    start, results, left = time.monotonic(), [], 0
    roof = roofs(compiler, own["--shrink"])
    peers = Peers() if not own["--no-peers"] else None
    # printed before the slow part, so that a run that is ended early names its machine
    print(f"beside: {peers.words() if peers else 'nothing, as was asked for'}\n")
    print(report.head_lines())
    settings = {"top": own["--top"], "repeat": own["--repeat"]}
    try:
        with tempfile.TemporaryDirectory() as folder:
            data = runner.Data(folder)
            for case in todo:
                if time.monotonic() - start > own["--seconds"]:
                    left += 1
                    continue
                results.append(runner.run_case(compiler, settings, data, case, peers))
                r = results[-1]
                print(report.line(report.cells(r | {"name": f"{r['model']} {r['name']}".strip()}, roof)), flush=True)
    finally:
        if peers:
            peers.end()
    if left:
        print(f"\n{left} cases were not started after {own['--seconds']} seconds")
    told = {"installed": peers.installed, "absent": peers.absent} if peers else {"installed": {}, "absent": {}}
    found = document(compiler, own, results, roofs=roof, peers=told, not_started=left)
    bad = schema.check(found, schema.load("bench"))
    if own["-o"]:
        save(own["-o"], found)
    for name, text in ("--markdown", report.markdown), ("--report", report.bench_page):
        if own[name]:
            Path(own[name]).write_text(text(found), encoding="utf-8")
    if bad:
        sys.exit("bench: what was measured is not as its schema says: " + "; ".join(bad[:3]))
    return int(any("why" in r for r in results))


def main() -> None:
    own, compiler = read_options(sys.argv[1:]), Compiler()
    try:
        if own["--host"]:
            try:
                found = document(compiler, own, host.packs(compiler, own), launches=host.launches(compiler),
                                 compiles=compiles.compiles(compiler, own["--repeat"]),
                                 simulator=compiles.simulator(compiler, own["--repeat"], own["--shrink"]))
            except ImportError:
                sys.exit("bench: Python has no numpy here")
            if own["-o"]:
                save(own["-o"], found)
            return
        sys.exit(on_gpu(compiler, own))
    except TuneError as error:
        sys.exit(f"bench: {error}")
