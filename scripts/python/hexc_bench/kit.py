"""The archive for a machine that has only a GPU and Python: `make gpu-kit` (python3 -m hexc_bench.kit --help).

Compiles the kernels of items.py, with cubins if ptxas is available. Each is a file that is rebuilt only if its
program, constants or the compiler change. Everything else is copied. A checkout has the same contents as a kit,
except the kernels, which it compiles on request.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .items import ROOT, Item, everything
from .journal import keep

ARCH = "sm_90a"
MOST = 45 << 20  # bytes of the archive
NEXT = 2         # candidates of an example in addition to the default
RANKED = 8       # candidates of a kernel that are timed and compared
# the kernels with RANKED candidates: headlines and the constants of their entries, (key, kernel, constants)
SCHEDULES: tuple[tuple[str, str, str, Mapping[str, int | str], Mapping[str, int]], ...] = (
    ("gemm 4096", "examples/gemm_f16.hexc", "gemm_f16", {"BM": 128, "BN": 128, "BK": 64, "STAGES": 4}, {"M": 4096, "N": 4096, "K": 4096}),
    ("gemm 2048 x 6144", "examples/gemm_f16.hexc", "gemm_f16", {"BM": 128, "BN": 256, "BK": 64, "STAGES": 4, "WARPS": 8},
     {"M": 2048, "N": 6144, "K": 4096}),
    ("gemm 16", "examples/gemm_f16.hexc", "gemm_f16", {"BM": 16, "BN": 128, "BK": 64, "STAGES": 4}, {"M": 16, "N": 28672, "K": 4096}),
    ("w4a16 64", "examples/gemm_wNa16.hexc", "gemm_wNa16", {"BM": 64, "BN": 128}, {"M": 64, "N": 14336, "K": 4096}),
    ("w4a16 1", "examples/decode_wNa16.hexc", "decode", {"BM": 8, "BN": 128}, {"M": 1, "N": 14336, "K": 4096, "PARTS": 8}),
    ("fp8", "examples/gemm_fp8.hexc", "gemm_fp8", {"BM": 128, "BN": 128}, {"M": 4096, "N": 4096, "K": 4096}),
    ("attention", "examples/attention.hexc", "attention", {"D": 128, "CAUSAL": 1, "BM": 128}, {"B": 1, "M": 4096, "N": 4096, "H": 16, "HK": 16}),
    ("swiglu", "examples/swiglu.hexc", "swiglu", {"BM": 128}, {"M": 2048, "N": 14336, "K": 4096}),
    ("rms norm", "examples/rms_norm.hexc", "rms_norm", {}, {"M": 8192, "N": 4096}),
    ("softmax", "examples/softmax.hexc", "softmax", {"BN": 1024}, {"M": 4096, "N": 4096}),
)


@dataclass(frozen=True)
class Unit:
    """One file of kernels: a kernel of an example with one of its candidates, or an operator with settings and
    all its entries (candidate -1)."""

    program: str
    kernel: str
    constants: tuple[tuple[str, int | str], ...]
    candidate: int
    arch: str

    @property
    def name(self) -> str:
        what = self.kernel or Path(self.program).stem
        return f"{what}-{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"

    def file(self, folder: Path) -> Path:
        return folder / f"{self.name}.hxb"

    def text(self, folder: Path) -> Path:
        """The program of an operator, with the settings in its placeholders."""
        return folder / f"{self.name}.hexc"

    def words(self) -> list[str]:
        """The program and options of `hexc run` for this kernel."""
        defines = [w for n, v in self.constants for w in ("-D", f"{n}={v}")]
        return [self.program, "--arch", self.arch, *(["--kernel", self.kernel] if self.kernel else []), *defines]


def unit(item: Item, arch: str = ARCH, candidate: int = 0) -> Unit:
    """The file of an item."""
    return Unit(item.program, item.kernel, tuple(sorted(item.constants.items())), -1 if item.operator else candidate, arch)


def ranked(arch: str) -> Iterator[tuple[str, Unit]]:
    for key, program, kernel, constants, _ in SCHEDULES:
        for c in range(RANKED):
            yield key, Unit(program, kernel, tuple(sorted(constants.items())), c, arch)


def units(items: Sequence[Item], arch: str = ARCH, schedules: bool = True) -> list[Unit]:
    """All files of these items, each once, by priority: the files of all items, then other candidates."""
    here = [i for i in items if i.needs in ("", arch)]
    found = [unit(i, arch) for i in here]
    if schedules:
        found += [u for _, u in ranked(arch)]
    found += [unit(i, arch, c) for c in range(1, NEXT + 1) for i in here if i.kind == "example"]
    return list(dict.fromkeys(found))


# ---- compiling ---------------------------------------------------------------------------------------------------------

def ptxas() -> str | None:
    found = os.environ.get("PTXAS") or shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    return None if found == "none" else found


def _machine_code(ptx: bytes, arch: str, tool: str, folder: str) -> bytes:
    text, out = Path(folder, "k.ptx"), Path(folder, "k.cubin")
    text.write_bytes(ptx)
    done = subprocess.run([tool, f"-arch={arch}", str(text), "-o", str(out)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ptxas: {done.stderr.strip().splitlines()[:1]}")
    return out.read_bytes()


def _with_cubin(handle: Any, arch: str, tool: str | None) -> Any:
    """The module, with a cubin in addition to its PTX."""
    import hexc
    from hexc._abi import STRUCT, function

    with tempfile.TemporaryDirectory() as folder:
        path, why = Path(folder, "m"), ctypes.create_string_buffer(500)
        cubin, n = (STRUCT["hexc_cubin"] * 1)(), 0
        if tool:
            data = _machine_code(function("hexc_ptx")(handle, None), arch, tool, folder)
            cubin[0].arch, cubin[0].bytes, n = arch.encode(), len(data), 1
            cubin[0].data = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
        if function("hexc_module_save_file")(handle, cubin, n, os.fsencode(path), why, 500):
            raise RuntimeError(why.value.decode())
        return hexc.load(path)


def compile_unit(u: Unit, to: Path, tool: str | None) -> None:
    """Writes its file atomically; RuntimeError has the reason if there is none."""
    import hexc

    try:
        if u.candidate < 0:
            op = hexc.operator(Path(u.program).stem, dict(u.constants), arch=u.arch)
            handles = {k._handle.value: k for line in op.lines for k in line.kernels}
            made = hexc.bundle([_with_cubin(k._handle, u.arch, tool) for k in handles.values()], op.bundle.families)
            to.parent.mkdir(parents=True, exist_ok=True)
            keep(u.text(to.parent), op.program)
        else:
            module = hexc.compile(ROOT / u.program, arch=u.arch, kernel=u.kernel or None, constants=dict(u.constants), candidate=u.candidate)
            made = hexc.bundle([_with_cubin(module._handle, u.arch, tool)])
        to.parent.mkdir(parents=True, exist_ok=True)
        made.save(to)
    except hexc.HexcError as error:
        raise RuntimeError(str(error).splitlines()[0]) from None


def stamp(u: Unit, build: str, tool: str | None) -> str:
    """A key that changes whenever the contents of its file would."""
    text = (ROOT / u.program).read_bytes()
    if u.candidate < 0:
        text += b"".join(p.read_bytes() for p in sorted((ROOT / "lib/ops").glob("*.hexc")))
    return hashlib.sha256(b"\0".join([text, repr(u).encode(), build.encode(), (tool or "").encode()])).hexdigest()


def compile_all(todo: Sequence[Unit], folder: Path, jobs: int, say: Any = print) -> dict[str, str]:
    """Updates the files of a directory, and removes others; returns units that cannot be
    compiled, with the reasons."""
    import hexc

    folder.mkdir(parents=True, exist_ok=True)
    tool, build, kept = ptxas(), hexc.build_info(), folder / "stamps.json"
    lock = threading.Lock()
    try:
        stamps: dict[str, str] = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stamps = {}
    refused: dict[str, str] = {}
    begun = time.monotonic()

    def one(u: Unit) -> int:
        want = stamp(u, build, tool)
        if stamps.get(u.name, "").split(" ", 1)[0] == want:
            why = stamps[u.name].partition(" ")[2]
            if why:
                refused[u.name] = why
            if why or u.file(folder).exists() and (u.candidate >= 0 or u.text(folder).exists()):
                return 0
        why = ""
        try:
            compile_unit(u, u.file(folder), tool)
        except RuntimeError as error:
            u.file(folder).unlink(missing_ok=True)
            refused[u.name] = why = str(error).splitlines()[0][:300]
        with lock:
            stamps[u.name] = f"{want} {why}".strip()
            beside = kept.with_suffix(".tmp")
            beside.write_text(json.dumps(stamps), encoding="utf-8")
            beside.replace(kept)
        return 1

    with ThreadPoolExecutor(max(1, jobs)) as crew:
        made = sum(crew.map(one, todo))
    names = {u.name for u in todo}
    for path in [*folder.glob("*.hxb"), *folder.glob("*.hexc")]:
        if path.stem not in names:
            path.unlink()
    index = [{"name": u.name, "program": u.program, "kernel": u.kernel, "constants": dict(u.constants), "candidate": u.candidate, "arch": u.arch,
              "why": refused.get(u.name, "")} for u in todo]
    (folder / "index.json").write_text(json.dumps(index, indent="\t") + "\n", encoding="utf-8")
    say(f"{len(todo)} files of kernels, {made} of them made in {time.monotonic() - begun:.0f} s"
        + ("" if tool else "; there is no ptxas: PTX alone") + (f"; {len(refused)} refused" if refused else ""))
    return refused


# ---- the archive ---------------------------------------------------------------------------------------------------------

NAME = "hexc-gpu-kit"
COPIED = ("scripts/gpu-day", "scripts/tune", "scripts/python/**/*.py", "scripts/python/**/*.json", "examples/*.hexc", "examples/*.family",
          "lib/ops/*.hexc", "lib/hexc.h", "infer/core/sm_throughput.def", "infer/core/cost_constants.def", "test/llama/reference.py", "LICENSE")
README = """What scripts/gpu-day needs on a machine with a GPU, Python 3.11 or later and NumPy: no LLVM, no compiler, no network.

    scripts/gpu-day                 all of it, in 9 minutes; results in the folder gpu-day
    scripts/gpu-day --rehearse      the same on the simulator, with small sizes
    scripts/gpu-day --help

Unpack it anywhere.  PyTorch, Triton, ncu and compute-sanitizer are used where they are there.  What comes home is summary.json,
summary.md, journal.jsonl and rest.tgz; in a checkout, `scripts/gpu-day --read FOLDER` makes a page of them.
"""


def pieces(build: Path, static: Path, kernels: Path) -> Iterator[tuple[Path, str]]:
    """(file, name in the kit) of all contents."""
    for pattern in COPIED:
        for path in sorted(ROOT.glob(pattern)):
            if "__pycache__" not in path.parts:
                yield path, str(path.relative_to(ROOT))
    major = next(build.glob("libhexc_rt.so.*")).suffix
    yield static / "hexc", "build/hexc"
    yield static / "llama", "build/llama"
    yield static / f"libhexc.so{major}", f"build/libhexc.so{major}"
    for name in ("rt", "sim"):
        yield build / f"libhexc_{name}.so{major}", f"build/libhexc_{name}.so{major}"
    yield static / "rehearsal/libcuda.so.1", "rehearsal/libcuda.so.1"
    for path in sorted(kernels.iterdir()):
        if path.suffix in (".hxb", ".hexc") or path.name == "index.json":
            yield path, f"kernels/{path.name}"


def pack(to: Path, build: Path, static: Path, kernels: Path) -> int:
    """Writes the archive; returns its bytes."""
    beside = to.with_suffix(".tmp")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(beside, "w:xz", preset=3) as tar:
        note = Path(folder, "README")
        note.write_text(README, encoding="utf-8")
        for path, name in [(note, "README"), *pieces(build, static, kernels)]:
            if name.startswith("build/libhexc_") and shutil.which("strip"):
                small = Path(folder, path.name)
                shutil.copy(path, small)
                subprocess.run(["strip", str(small)], check=False)
                path = small
            tar.add(path, arcname=f"{NAME}/{name}", filter=_anybody)
    os.replace(beside, to)
    return to.stat().st_size


def lay(to: Path, build: Path, static: Path, kernels: Path) -> None:
    """The same as a directory."""
    for path, name in pieces(build, static, kernels):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to / name)
    (to / "README").write_text(README, encoding="utf-8")


def _anybody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Makes the archive reproducible."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(prog="make gpu-kit", description="Compile the kernels of a day, and pack all that it needs.")
    parser.add_argument("--only", default="", help="items with one of these in their names alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", action="store_true", help="no archive, but a folder of that name")
    parser.add_argument("archive", type=Path)
    own = parser.parse_args()
    build, static = ROOT / os.environ.get("B", "build"), ROOT / os.environ.get("S", "build-static")
    chosen = [i for i in everything() if not own.only or any(m in i.key for m in own.only.split(","))]
    kernels = build / "gpu-kernels" if not own.only else static / "gpu-kernels"  # a partial build leaves the complete one unchanged
    refused = compile_all(units(chosen, schedules=not own.only), kernels, own.jobs)
    for name, why in refused.items():
        if "does not exist" not in why:  # one of its candidates
            print(f"{name}: {why}")
    if own.folder:
        lay(own.archive, build, static, kernels)
        return
    size = pack(own.archive, build, static, kernels)
    print(f"{own.archive}: {size / (1 << 20):.1f} MiB, of {MOST >> 20} at most")
    if size > MOST:
        sys.exit(1)


def fresh(u: Unit, folder: Path) -> bool:
    """Is the compiled file up to date?"""
    import hexc

    try:
        stamps = _stamps(folder / "stamps.json", (folder / "stamps.json").stat().st_mtime)
    except OSError:
        return True  # a kit: its programs are included
    return stamps.get(u.name, "").split(" ", 1)[0] == stamp(u, hexc.build_info(), ptxas())


@lru_cache
def _stamps(path: Path, changed: float) -> dict[str, str]:
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def folders() -> list[Path]:
    """Directories that may have precompiled kernels: the kit's, or that of a checkout in which a kit was built."""
    return [f for f in (ROOT / "kernels", ROOT / os.environ.get("B", "build") / "gpu-kernels") if f.is_dir()]


if __name__ == "__main__":
    main()
