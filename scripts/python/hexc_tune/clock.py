"""A static clock: how long the machine code of a kernel takes, without a GPU.

ptxas makes the machine code.  All warps that a multiprocessor holds run through it: the code in front of the main loop,
turns of it until they take the same time, the code behind.  Each of the four sub-cores issues one instruction a cycle,
in the order of a warp; which may be issued is in the control codes (stall counts, barriers, groups of copies); and an
instruction holds the pipe that executes it.  How many turns there are is what the simulator counted of the instructions
in the loop.  Multiprocessors take blocks in waves; and nothing is faster than the bytes at the rates of L2 and DRAM.

It ranks kernels of one program; it is no measurement.  Not in it: operand banks, the instruction cache, bank conflicts,
paths around the main loop, L2 misses.  Kernels whose warps have roles (sm_90a) are clock_roles.py's.

Sources.  Lanes a cycle: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions", and the simulator's
lib/sim/launch/rates.def, which test/python/tune.py compares; products: gpus.def there; latencies of shared memory and L2:
infer/core/sm_throughput.def names the papers; what a multiprocessor holds: the guide, "Technical Specifications per Compute
Capability"; 128 bytes a cycle of shared memory: the guide, "Shared Memory".  Assumed: of warps that
may issue, the one that did so longest ago does; 20 cycles from the last arrival at a barrier; a request of a sub-core to the load-store unit every 2 cycles.
"""

from __future__ import annotations

import collections
import heapq
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import sass
from .compiler import Compiler


@dataclass(frozen=True)
class Chip:
    """A multiprocessor: lanes a cycle, f16 products (multiply-accumulates) a cycle, bytes of L2 a cycle, cycles of
    latency, and what it holds: shared bytes, those each block takes besides, threads, blocks."""

    int32: int
    f32: int
    f16: int
    f64: int
    mufu: int
    mma: int
    l2: float
    shared_wait: int
    l2_wait: int
    shared: int
    besides: int
    threads: int
    blocks: int


CHIPS = {
    "sm_75": Chip(64, 64, 64, 2, 16, 512, 20.0, 19, 188, 65536, 0, 1024, 16),
    "sm_80": Chip(64, 64, 128, 32, 16, 1024, 47.4, 29, 262, 167936, 1024, 2048, 32),
    "sm_86": Chip(64, 128, 64, 2, 16, 512, 32.0, 30, 273, 102400, 1024, 1536, 16),
    "sm_89": Chip(64, 128, 64, 2, 16, 512, 32.0, 30, 273, 102400, 1024, 1536, 24),
    "sm_90a": Chip(64, 128, 128, 64, 16, 1290, 38.8, 29, 263, 233472, 1024, 2048, 32),
}
BARRIER, REQUEST, REGISTERS, TURNS = 20, 2, 65536, 16
FLOAT = frozenset(("FFMA", "FMUL", "FADD"))
HALF = frozenset(("HFMA2", "HMUL2", "HADD2", "HSETP2", "HMNMX2"))
MUFU = frozenset(("MUFU", "I2F", "F2I", "F2F", "POPC", "FLO", "FRND", "BREV"))
DOUBLE = frozenset(("DFMA", "DADD", "DMUL", "DSETP"))
STORE = frozenset(("STS", "STG", "STSM", "RED"))
LOAD = frozenset(("LDS", "LDSM", "LDG", "LDGSTS", "SHFL", "ATOM", "ATOMG", "ATOMS", "LDL", "STL", "LDC", "S2R", "S2UR"))
GLOBAL = frozenset(("LDG", "STG", "LDGSTS", "RED", "ATOMG"))
NONE = frozenset(("BRA", "EXIT", "NOP", "BAR", "DEPBAR", "LDGDEPBAR", "BSSY", "BSYNC", "WARPSYNC", "RET", "CALL", "MEMBAR"))
ROLES = ("UTMALDG", "SYNCS", "HGMMA", "IGMMA", "QGMMA")  # who waits by barriers in shared memory
# multiply-accumulates of a warp's product by the shape in its name
SHAPES = {"16816": 2048, "1688": 1024, "1684": 512, "884": 256, "8816": 1024, "8832": 2048, "16832": 4096, "16864": 8192,
          "168256": 32768}
# what the simulator counts (`instructions` of --stats), and what it is called in machine code
COUNTED = {"mma": tuple(sass.TENSOR), "cp_async": ("LDGSTS",), "ldmatrix": ("LDSM",), "ld_global": ("LDG",),
           "ld_shared": ("LDS",), "mufu": ("MUFU",), "st_global": ("STG",)}


@dataclass(frozen=True)
class Op:
    """What an instruction asks for: cycles of a ``pipe`` of its sub-core, cycles of the one path to shared memory, bytes
    of global memory, cycles until its result is there."""

    x: sass.Instruction
    pipe: str
    hold: float
    path: float
    bytes: int
    latency: float


def _bits(op: str) -> int:
    found = re.search(r"\.(128|64|U16|S16|U8|S8)\b", op)
    return {"128": 128, "64": 64, "U16": 16, "S16": 16, "U8": 8, "S8": 8}[found.group(1)] if found else 32


def _products(x: sass.Instruction) -> float:
    """In f16 multiply-accumulates: of 8-bit integers twice as many are done in a cycle, of TF32 half as many."""
    found = re.search(r"\.(\d{3,6})\b", x.op)
    macs = SHAPES.get(found.group(1) if found else "", 2048)
    rate = 0.5 if "TF32" in x.op else 4 if re.search(r"\.[SU]4\b", x.op) else 2 if x.base in ("IMMA", "QMMA") else 1
    return macs / rate / (2 if ".SP" in x.op else 1)


def needs(x: sass.Instruction, chip: Chip) -> Op:
    """Of one instruction on a chip."""
    base = x.base
    if x.never or base in NONE:
        return Op(x, "", 0, 0, 0, 0)
    if base in sass.TENSOR:
        return Op(x, "tensor", 16 if base == "DMMA" else _products(x) / (chip.mma / 4), 0, 0, 24)
    if base in LOAD or base in STORE:
        moved = 32 * _bits(x.op) // 8
        if base in ("LDSM", "STSM"):
            moved = 128 * (int(x.op[-1]) if x.op[-2:] in (".2", ".4") else 1)
        far = base in GLOBAL
        return Op(x, "memory", REQUEST, max(1, moved / 128), moved if far else 0, chip.l2_wait if far else chip.shared_wait)
    lanes, pipe, wait = chip.int32, "int", 6
    if base in FLOAT:
        lanes, pipe = chip.f32, "f32"
    elif base in HALF:
        lanes, pipe = chip.f16, "f16"
    elif base in MUFU:
        lanes, pipe, wait = chip.mufu, "mufu", 18
    elif base in DOUBLE:
        lanes, pipe, wait = chip.f64, "f64", 16
    elif base.startswith("U"):
        pipe = "uniform"
    return Op(x, pipe, 128 / lanes, 0, 0, wait)


# ---- a multiprocessor ------------------------------------------------------------------------------------------------


@dataclass
class _Warp:
    block: int
    sub: int
    at: int = 0  # in the trace
    ready: float = 0
    barrier: list[float] = field(default_factory=lambda: [0.0] * 6)
    groups: list[list[float]] = field(default_factory=lambda: [[] for _ in range(6)])
    copied: float = 0


@dataclass
class Ran:
    """Cycles until all is done, those until the turns were, and how long pipes were held."""

    cycles: float = 0
    turns: list[float] = field(default_factory=list)
    held: collections.Counter[str] = field(default_factory=collections.Counter)


def run(trace: Sequence[Op], marks: Sequence[int], blocks: int, warps: int, chip: Chip) -> Ran:
    """``blocks`` blocks of ``warps`` warps run through the trace; ``turns[i]`` is when the last warp passed marks[i]."""
    all_warps = [_Warp(b, (b * warps + w) % 4) for b in range(blocks) for w in range(warps)]
    queue = [(0.0, 0.0, i) for i in range(len(all_warps))]  # when, when it last issued, which
    slot, pipes = [0.0] * 4, [collections.defaultdict[str, float](float) for _ in range(4)]
    path = far = 0.0
    met: dict[int, list[int]] = collections.defaultdict(list)
    out, mark = Ran(turns=[0.0] * len(marks)), {at: i for i, at in enumerate(marks)}
    while queue:
        now, before, number = heapq.heappop(queue)
        w = all_warps[number]
        op = trace[w.at]
        x, mine = op.x, pipes[w.sub]
        may = max(now, slot[w.sub], w.ready, *(w.barrier[b] for b in x.waits)) if x.waits else max(now, slot[w.sub], w.ready)
        if op.pipe:
            may = max(may, mine[op.pipe])
        if x.base == "DEPBAR":
            may = max(may, groups_done(w.groups, x))
        if may > now:
            heapq.heappush(queue, (may, before, number))
            continue
        slot[w.sub] = now + 1
        done = now + op.latency
        if op.pipe:
            mine[op.pipe] = now + op.hold
            out.held[op.pipe] += op.hold  # type: ignore[assignment]
        if op.path:
            path = max(now, path) + op.path
            out.held["shared"] += op.path  # type: ignore[assignment]
            done = path + op.latency
        if op.bytes:
            far = max(now, far) + op.bytes / chip.l2
            out.held["L2"] += op.bytes / chip.l2  # type: ignore[assignment]
            done = max(done, far + op.latency)
        release(w, x, now, done)
        w.ready = now + max(x.stall, 2 if x.yields else 1)
        out.cycles = max(out.cycles, done if op.bytes else w.ready)
        w.at += 1
        if w.at in mark:
            out.turns[mark[w.at]] = max(out.turns[mark[w.at]], now)
        if x.base == "BAR" and not x.never and "ARV" not in x.op:
            met[w.block].append(number)
            if len(met[w.block]) < warps:
                continue  # until the last comes
            for other in met.pop(w.block):
                all_warps[other].ready = max(all_warps[other].ready, now + BARRIER)
                if all_warps[other].at < len(trace):
                    heapq.heappush(queue, (all_warps[other].ready, now, other))
        elif w.at < len(trace):
            heapq.heappush(queue, (w.ready, now, number))
    return out


def groups_done(of: Sequence[Sequence[float]], x: sass.Instruction) -> float:
    """When at most so many groups of copies as DEPBAR.LE names are on their way."""
    found = re.search(r"SB(\d)(?:, 0x(\w+))?", x.operands)
    if not found:
        return 0
    groups, left = of[int(found.group(1))], int(found.group(2) or "0", 16)
    return groups[-1 - left] if len(groups) > left else 0


class Waits(Protocol):
    """What of a warp its barriers are."""

    barrier: list[float]
    groups: list[list[float]]
    copied: float


def release(w: Waits, x: sass.Instruction, now: float, done: float) -> None:
    """Barriers that the instruction sets; an LDGDEPBAR closes a group of LDGSTS."""
    if x.base == "LDGSTS":
        w.copied = max(w.copied, done)
    if x.never:
        return
    if x.writes < 6:
        if x.base == "LDGDEPBAR":
            done = max(w.copied, now + 1)
            w.groups[x.writes] = [*w.groups[x.writes][-15:], max([done, *w.groups[x.writes][-1:]])]
        w.barrier[x.writes] = max(w.barrier[x.writes], done)
    if x.reads < 6:
        w.barrier[x.reads] = max(w.barrier[x.reads], now + 12)


# ---- a kernel ---------------------------------------------------------------------------------------------------------


def turns_of(code: Sequence[sass.Instruction], span: tuple[int, int], stats: Mapping[str, Any], warps: int) -> int:
    """How often a warp goes through the loop: what the simulator counted of the kind of instruction that stands in it most
    often, those outside of it taken off."""
    body = code[slice(*span)]
    best, turns = 0, 1.0
    for name, bases in COUNTED.items():
        inside = sum(x.base in bases and not x.never for x in body)
        counted = stats["mma"] if name == "mma" else stats["instructions"].get(name, 0)
        weight = inside * (1000 if name == "mma" else 1)
        if inside and counted and weight > best:
            outside = sum(x.base in bases and not x.never for x in code) - inside
            best, turns = weight, (counted / warps - outside) / inside
    return max(0, round(turns))


def resident(chip: Chip, threads: int, registers: int, shared: int) -> int:
    """Blocks that a multiprocessor holds; registers are given to warps by 256."""
    warps = -(-threads // 32)
    by_registers = REGISTERS // (warps * (-(-registers * 32 // 256) * 256))
    by_shared = chip.shared // (shared + chip.besides) if shared + chip.besides else chip.blocks
    return max(1, min(by_registers, by_shared, chip.threads // threads, chip.blocks))


def cycles(code: Sequence[sass.Instruction], span: tuple[int, int] | None, turns: int, blocks: int, warps: int,
           chip: Chip) -> tuple[float, collections.Counter[str]]:
    """Cycles of so many blocks at a time, and how long pipes are held."""
    ops = [needs(x, chip) for x in code]
    last = next((i for i in range(len(ops) - 1, -1, -1) if code[i].base == "EXIT"), len(ops) - 1)
    if not span or not turns:  # there is no loop, or it is passed by
        outside = ops[: last + 1] if not span else [*ops[: span[0]], *ops[span[1] : max(last, span[1]) + 1]]
        ran = run(outside, (), blocks, warps, chip)
        return ran.cycles, ran.held
    short = min(turns, TURNS)
    body = ops[slice(*span)]
    trace = [*ops[: span[0]], *body * short, *ops[span[1] : max(last, span[1]) + 1]]
    marks = [span[0] + len(body) * i for i in range(short + 1)]
    ran = run(trace, marks, blocks, warps, chip)
    half = short // 2
    steady = (ran.turns[short] - ran.turns[half]) / (short - half)
    more = (turns - short) * steady
    for name in ran.held:
        ran.held[name] *= (ran.cycles + more) / ran.cycles  # type: ignore[assignment]
    return ran.cycles + more, ran.held


def judge(ptx: str, text: str, stats: Mapping[str, Any], compiler: Compiler, limit: float | None) -> dict[str, Any]:
    """What the clock says of PTX that the simulator has run, of a candidate of this ``text``: ``clock`` with microseconds
    (``us``), ``cycles`` of all that a multiprocessor does, ``turns``, blocks ``together``, ``registers``, ``spilled`` bytes
    and the share of time (``held``) of each pipe; or ``no_clock``: why not."""
    arch = stats["arch"]
    if arch not in CHIPS:
        return {"no_clock": f"there is no clock for {arch}"}
    assembled, registers, spilled, why = sass.assemble(ptx, arch, compiler, limit)
    if why:
        return {"no_clock": why}
    code, labels = sass.read(assembled, stats["entry"])
    chip, grid, threads = CHIPS[arch], math.prod(stats["grid"]), math.prod(stats["block"])
    if not code or not grid:
        return {"no_clock": "there is no code to run"}
    together, roof = resident(chip, threads, registers, stats["smem"]), stats["roofline"]
    if any(x.base in ROLES for x in code):
        took = _of_roles(code, labels, text, stats, together, chip)
    else:
        took = _of_all(code, labels, stats, together, chip)
    if isinstance(took, str):
        return {"no_clock": took}
    turns, total, held = took
    memory = 1e6 * max(roof["limits"]["dram"], roof["limits"]["l2"])
    each = {name: n / total / (1 if name in ("shared", "L2") else 4) for name, n in sorted(held.items())}
    each["DRAM"] = 1e6 * roof["limits"]["dram"] / max(memory, total / roof["mhz"])
    return {"clock": {"us": max(memory, total / roof["mhz"]), "cycles": total, "turns": turns, "together": together,
                      "registers": registers, "spilled": spilled, "held": each}}


Took = tuple[int, float, collections.Counter[str]]


def _of_all(code: list[sass.Instruction], labels: dict[str, int], stats: Mapping[str, Any], together: int, chip: Chip) -> Took:
    """Turns, cycles and pipes of what a multiprocessor does where all warps do the same: blocks in waves."""
    grid, warps = math.prod(stats["grid"]), -(-math.prod(stats["block"]) // 32)
    span = sass.main_loop(code, labels)
    turns = turns_of(code, span, stats, ran_blocks(stats) * warps) if span else 1
    full, rest = divmod(-(-grid // stats["roofline"]["sms"]), together)
    total, held = 0.0, collections.Counter[str]()
    for times, blocks in ((full, together), (1, rest)):
        if times and blocks:
            took, used = cycles(code, span, turns, blocks, warps, chip)
            total += times * took
            held.update({name: times * n for name, n in used.items()})
    return turns, total, held


def _of_roles(code: list[sass.Instruction], labels: dict[str, int], text: str, stats: Mapping[str, Any], together: int,
              chip: Chip) -> Took | str:
    """The same where warps have roles; or why that is not known."""
    from . import clock_roles  # it has this one's parts

    roles, grid, ran = clock_roles.roles_of(text), math.prod(stats["grid"]), ran_blocks(stats)
    shape = clock_roles.shape_of(code, labels)
    if not roles or isinstance(shape, str):
        return shape if isinstance(shape, str) else "what its warps do is not told"
    inside = sum(x.base in sass.TENSOR and not x.never for x in code[slice(*shape.consume)])
    turns = round(stats["mma"] / (ran * roles.warps) / inside)
    each = -(-grid // stats["roofline"]["sms"])
    blocks = min(together, each)
    if not turns:
        return "its consumers' loop has no turns"
    took = clock_roles.cycles(code, labels, roles, turns, -(-each // blocks), blocks,
                              32 * stats["global_sectors_read"] / (ran * turns), chip)
    return took if isinstance(took, str) else (turns, *took)


def ran_blocks(stats: Mapping[str, Any]) -> int:
    """Blocks that the simulator counted: all, or those of fewer tiles."""
    return int(stats.get("sampled", math.prod(stats["grid"])))


def lacks() -> str:
    """Which of ptxas and nvdisasm are not here, as a sentence; "": both are."""
    return sass.missing("ptxas", "nvdisasm")


def ready() -> bool:
    """Are ptxas and nvdisasm here?"""
    return not lacks()
