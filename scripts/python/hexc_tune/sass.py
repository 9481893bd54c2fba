"""Machine code from ptxas, as disassembled by nvdisasm: instructions, their control codes, the main loop."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from .compiler import Compiler


def tool(name: str) -> str | None:
    """The path of ptxas or nvdisasm: $PTXAS, $NVDISASM (none: not available), PATH, $CUDA_HOME or
    /usr/local/cuda, NVIDIA's wheels (nvidia-cuda-nvcc and nvidia-cuda-nvdisasm) or Triton's."""
    found = os.environ.get(name.upper()) or shutil.which(name)
    if found:
        return None if found == "none" else found
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if home and os.access(f"{home}/bin/{name}", os.X_OK):
            return f"{home}/bin/{name}"
    for wheel, where in ("nvidia", f"*/bin/{name}"), ("triton", f"backends/nvidia/bin/{name}"):
        spec = importlib.util.find_spec(wheel)
        for place in (spec.submodule_search_locations or []) if spec else []:
            for at in sorted(Path(place).glob(where)):
                if os.access(at, os.X_OK):
                    return str(at)
    return None


def missing(*names: str) -> str:
    """A message naming the missing tools; "" if all are available."""
    absent = [name for name in names if not tool(name)]
    variables = ", ".join(f"${name.upper()}" for name in absent)
    return f"{' and '.join(absent)} not found (by {variables}, on $PATH, in $CUDA_HOME, /usr/local/cuda and wheels)" if absent else ""


def version(compiler: Compiler) -> str:
    """The version of ptxas; "" if there is none, or it prints none."""
    ptxas = tool("ptxas")
    return (compiler.command([ptxas, "--version"]).out.strip().splitlines() or [""])[-1] if ptxas else ""


@dataclass(frozen=True)
class Instruction:
    """One instruction of a kernel. Its control code (Jia et al., arXiv 1804.06826, section 2.1): ``stall``
    cycles until the warp may issue again, whether it ``yields``, the barriers 0 to 5 released by a result
    (``writes``) or by reading the operands (``reads``), 7 for none, and those it ``waits`` for."""

    guard: str
    op: str
    operands: str
    stall: int
    yields: bool
    writes: int
    reads: int
    waits: tuple[int, ...]

    @property
    def base(self) -> str:
        return self.op.partition(".")[0]

    @property
    def never(self) -> bool:
        return self.guard in ("@!PT", "@!UPT")


def decode(guard: str, op: str, operands: str, word: int) -> Instruction:
    """Decodes an instruction with the control code in its 128 bits."""
    c = word >> 105
    waits = tuple(b for b in range(6) if c >> 11 + b & 1)
    return Instruction(guard, op, operands, c & 15, not c >> 4 & 1, c >> 5 & 7, c >> 8 & 7, waits)


_FIRST = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/")
_SECOND = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/")


def read(text: str, entry: str) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions of kernel ``entry`` in the output of `nvdisasm -hex -c`, and the
    instruction after each label."""
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    inside, first = False, None
    for line in text.splitlines():
        if line.startswith(".text."):
            inside = line.rstrip(":").strip() == ".text." + entry
        elif re.match(r"\s*\.section", line):
            inside = False
        if not inside:
            continue
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label.group(1)] = len(code)
        elif found := _FIRST.match(line):
            first = found
        elif first and (second := _SECOND.match(line)):
            word = int(second.group(1), 16) << 64 | int(first.group(4), 16)
            code.append(decode((first.group(1) or "").strip(), first.group(2), first.group(3), word))
            first = None
    return code, labels


TENSOR = frozenset(("HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA"))
MEMORY = frozenset(("LDG", "LDGSTS", "LDS", "LDSM", "STS", "STG"))


def loops(code: list[Instruction], labels: dict[str, int]) -> set[tuple[int, int]]:
    """First instruction of each loop, and the one past its last: the range of a backward branch. Blocks after
    the last EXIT are out of line: their backward branches are no loops."""
    last = max((i for i, x in enumerate(code) if x.base == "EXIT"), default=len(code))
    spans = set()
    for i, x in enumerate(code[:last]):
        to = target(x, labels)
        if to is not None and to < i:
            spans.add((to, i + 1))
    return spans


def target(x: Instruction, labels: dict[str, int]) -> int | None:
    """The instruction that a branch goes to."""
    to = re.search(r"\.L_x_\d+", x.operands) if x.base == "BRA" else None
    return labels.get(to.group()) if to else None


def main_loop(code: list[Instruction], labels: dict[str, int]) -> tuple[int, int] | None:
    """The loop with most of the work: among innermost loops the one with most MMAs, then most
    accesses, then the shortest."""
    spans = loops(code, labels)

    def rank(span: tuple[int, int]) -> tuple[int, int, int]:
        body = code[slice(*span)]
        return sum(x.base in TENSOR for x in body), sum(x.base in MEMORY for x in body), -len(body)

    inner = [s for s in spans if not any(t != s and s[0] <= t[0] and t[1] <= s[1] for t in spans)]
    tensor = [s for s in spans if rank(s)[0] and not any(rank(t)[0] and t != s and s[0] <= t[0] and t[1] <= s[1] for t in spans)]
    return max(tensor or inner, key=rank, default=None)


def assemble(ptx: str, arch: str, compiler: Compiler, limit: float | None) -> tuple[str, int, int, str]:
    """nvdisasm's text, registers per thread and bytes spilled; or a reason, the last item."""
    ptxas, nvdisasm = tool("ptxas"), tool("nvdisasm")
    if not ptxas or not nvdisasm:
        return "", 0, 0, missing("ptxas", "nvdisasm")
    cubin = ptx + ".cubin"
    done = compiler.command([ptxas, "-v", f"-arch={arch}", os.path.abspath(ptx), "-o", os.path.abspath(cubin)], limit)
    if done.status:
        return "", 0, 0, f"ptxas: {done.why}"
    registers = re.search(r"Used (\d+) registers", done.err)
    spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", done.err))
    done = compiler.command([nvdisasm, "-hex", "-c", os.path.abspath(cubin)], limit)
    if done.status:
        return "", 0, 0, f"nvdisasm: {done.why}"
    return done.out, int(registers.group(1)) if registers else 255, spilled, ""
