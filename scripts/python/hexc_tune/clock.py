"""A static performance model: the time of a kernel's machine code, without a GPU.

ptxas produces the machine code. The model runs all resident warps of a multiprocessor through it: the code
before the main loop, iterations until their time is constant, and the code after it. Each of the four sub-cores
issues one instruction per cycle, in order within a warp. The control codes determine when an instruction may
issue (stall counts, barriers, copy groups). An instruction occupies the pipe that executes it. The trip count
comes from the simulator's counts of the instructions in the loop. Multiprocessors execute blocks in waves. The
transferred bytes at the L2 and DRAM rates are a lower bound.

It ranks kernels of one program; it is no measurement. It omits operand banks, the instruction cache, bank
conflicts, paths around the main loop, and L2 misses. clock_roles.py models warp-specialized kernels (sm_90a).

Sources. Lanes per cycle: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions", and the
simulator's lib/sim/launch/rates.def, which test/python/tune.py compares. MMAs: gpus.def there. Latencies of
shared memory and L2: infer/core/sm_throughput.def names the papers. Resources of a multiprocessor: the guide,
"Technical Specifications per Compute Capability". 128 bytes per cycle of shared memory: the guide, "Shared
Memory". Assumptions: among ready warps the one that issued longest ago is selected; 20 cycles from the last
arrival at a barrier; a sub-core sends a request to the load-store unit every 2 cycles.
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
    """A multiprocessor: lanes per cycle, f16 multiply-accumulates per cycle, bytes of L2 per cycle, latencies in
    cycles, and its resources: shared bytes, additional shared bytes per block, threads, blocks."""

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
ROLES = ("UTMALDG", "SYNCS", "HGMMA", "IGMMA", "QGMMA")  # instructions of warp-specialized code (mbarriers)
# multiply-accumulates of a warp's MMA, by the shape in its name
SHAPES = {"16816": 2048, "1688": 1024, "1684": 512, "884": 256, "8816": 1024, "8832": 2048, "16832": 4096, "16864": 8192,
          "168256": 32768}
# the simulator's counters (`instructions` of --stats), and their names in machine code
COUNTED = {"mma": tuple(sass.TENSOR), "cp_async": ("LDGSTS",), "ldmatrix": ("LDSM",), "ld_global": ("LDG",),
           "ld_shared": ("LDS",), "mufu": ("MUFU",), "st_global": ("STG",)}


@dataclass(frozen=True)
class Op:
    """The resources of an instruction: cycles of a ``pipe`` of its sub-core, cycles of the shared-memory data
    path, bytes of global memory, and cycles until its result is available."""

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
    """In f16 multiply-accumulates: 8-bit integers have twice the rate, TF32 half."""
    found = re.search(r"\.(\d{3,6})\b", x.op)
    macs = SHAPES.get(found.group(1) if found else "", 2048)
    rate = 0.5 if "TF32" in x.op else 4 if re.search(r"\.[SU]4\b", x.op) else 2 if x.base in ("IMMA", "QMMA") else 1
    return macs / rate / (2 if ".SP" in x.op else 1)


def needs(x: sass.Instruction, chip: Chip) -> Op:
    """The resources of one instruction on a chip."""
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
    at: int = 0  # index in the trace
    ready: float = 0
    barrier: list[float] = field(default_factory=lambda: [0.0] * 6)
    groups: list[list[float]] = field(default_factory=lambda: [[] for _ in range(6)])
    copied: float = 0


@dataclass
class Ran:
    """Cycles until the end, cycles at the marks, and busy cycles of the pipes."""

    cycles: float = 0
    turns: list[float] = field(default_factory=list)
    held: collections.Counter[str] = field(default_factory=collections.Counter)


def run(trace: Sequence[Op], marks: Sequence[int], blocks: int, warps: int, chip: Chip) -> Ran:
    """Runs ``blocks`` blocks of ``warps`` warps through the trace; ``turns[i]`` is when the
    last warp passed marks[i]."""
    all_warps = [_Warp(b, (b * warps + w) % 4) for b in range(blocks) for w in range(warps)]
    queue = [(0.0, 0.0, i) for i in range(len(all_warps))]  # time, last issue, index
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
                continue  # until the last warp arrives
            for other in met.pop(w.block):
                all_warps[other].ready = max(all_warps[other].ready, now + BARRIER)
                if all_warps[other].at < len(trace):
                    heapq.heappush(queue, (all_warps[other].ready, now, other))
        elif w.at < len(trace):
            heapq.heappush(queue, (w.ready, now, number))
    return out


def groups_done(of: Sequence[Sequence[float]], x: sass.Instruction) -> float:
    """When at most the number of copy groups in DEPBAR.LE are in flight."""
    found = re.search(r"SB(\d)(?:, 0x(\w+))?", x.operands)
    if not found:
        return 0
    groups, left = of[int(found.group(1))], int(found.group(2) or "0", 16)
    return groups[-1 - left] if len(groups) > left else 0


class Waits(Protocol):
    """The scoreboard barriers and copy groups of a warp."""

    barrier: list[float]
    groups: list[list[float]]
    copied: float


def release(w: Waits, x: sass.Instruction, now: float, done: float) -> None:
    """Sets the barriers of the instruction; an LDGDEPBAR closes a group of LDGSTS."""
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
    """The trip count of the loop for a warp: the simulator's count of the kind of instruction that is most
    frequent in the loop, without those outside of it."""
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
    """Resident blocks of a multiprocessor; registers are allocated to warps in units of 256."""
    warps = -(-threads // 32)
    by_registers = REGISTERS // (warps * (-(-registers * 32 // 256) * 256))
    by_shared = chip.shared // (shared + chip.besides) if shared + chip.besides else chip.blocks
    return max(1, min(by_registers, by_shared, chip.threads // threads, chip.blocks))


def cycles(code: Sequence[sass.Instruction], span: tuple[int, int] | None, turns: int, blocks: int, warps: int,
           chip: Chip) -> tuple[float, collections.Counter[str]]:
    """Cycles of ``blocks`` concurrent blocks, and busy cycles of the pipes."""
    ops = [needs(x, chip) for x in code]
    last = next((i for i in range(len(ops) - 1, -1, -1) if code[i].base == "EXIT"), len(ops) - 1)
    if not span or not turns:  # no loop, or it is skipped
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
    """The prediction for PTX that the simulator has run, of a candidate with this ``text``. ``clock`` has
    microseconds (``us``), ``cycles`` of all work of a multiprocessor, ``turns`` (trip count), resident blocks
    ``together``, ``registers``, ``spilled`` bytes and the busy share of time (``held``) of each pipe.
    ``no_clock`` is the reason if there is none."""
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
    """Trip count, cycles and pipes of a multiprocessor whose warps all run the same code: blocks in waves."""
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
    """The same for warp-specialized kernels; or the reason why it is unknown."""
    from . import clock_roles  # it imports from this module

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
    """A message naming the missing tools of ptxas and nvdisasm; "" if both are available."""
    return sass.missing("ptxas", "nvdisasm")


def ready() -> bool:
    """Are ptxas and nvdisasm available?"""
    return not lacks()
