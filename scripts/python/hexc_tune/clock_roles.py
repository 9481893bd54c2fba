"""The static model of warp-specialized kernels (sm_90a): producer warps load, consumer warps multiply, and
mbarriers synchronize them.

The roles are derived from the machine code. The loop with MMAs is the consumers'. The loop with bulk copies (or
with copies and no MMAs) is the producers'. A wait (SYNCS.PHASECHK) in the consumer loop is for a filled stage,
in the producer loop for a released one. An arrival in the consumer loop releases a stage: that of the previous
iteration if MMAs may still be in flight (WARPGROUP.DEPBAR with more than 0). The number of stages is the number
of consecutive barrier initializations (SYNCS.EXCH). All warps of the resident blocks run through one tile, and
through two. The second tile's time is that of each further tile, since the kernel is persistent. If two consumer
groups alternate (`roles2`), so do their tiles.

Outside the two loops a warp takes the shortest path that stores anything. Partial tiles, and tiles that TMA
cannot store, are not modelled.

wgmma: 512 f16 multiply-accumulates per cycle and sub-core (989.4 TFLOP/s in the H100's data sheet, 132
multiprocessors, 1.83 GHz), twice that for 8 bits, half for TF32; operands from shared memory at 128 bytes per
cycle. Assumptions: a queue of 4 MMAs per sub-core, 32 cycles from an MMA's end to its result, 20 from the last
arrival at a barrier to the waiting warp."""

from __future__ import annotations

import collections
import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .clock import BARRIER, Chip, Op, Ran, groups_done, needs, release
from .sass import TENSOR, Instruction, loops, target

RATE, QUEUE, RESULT = 512, 4, 32
PRODUCTS = frozenset(("HGMMA", "IGMMA", "QGMMA"))
COPIES = frozenset(("LDGSTS", "LDG"))
FREE = frozenset(("SYNCS", "WARPGROUP", "USETMAXREG", "ELECT", "FENCE", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "UCGABAR_ARV",
                  "UCGABAR_WAIT", "ACQBULK", "PREEXIT", "UTMALDG", "UTMASTG", "UTMACCTL", "UTMACMDFLUSH", "UBLKCP", "UTMAREDG"))
STORES = frozenset(("UTMASTG", "UTMAREDG", "UBLKCP", "STG", "RED"))
TURNS = 12
Span = tuple[int, int]


@dataclass(frozen=True)
class Roles:
    """The roles of a candidate: producer warps, consumer groups, warps per group."""

    fetch: int
    teams: int
    warps: int


def roles_of(text: str) -> Roles | None:
    """From a candidate's text ("roles2 4+2x4 warps; ..")."""
    found = re.match(r"roles2? (\d+)\+(?:(\d+)x)?(\d+) warps", text)
    return Roles(int(found.group(1)), int(found.group(2) or 1), int(found.group(3))) if found else None


@dataclass
class _Step:
    """An instruction on a warp's path; with ``event``, one that waits for or makes stage
    ``number`` full or free."""

    op: Op
    event: str = ""
    number: int = 0


@dataclass(frozen=True)
class Shape:
    """The loops of a warp-specialized kernel, and the paths around them."""

    consume: Span
    produce: Span
    outer: Span | None
    stages: int
    bulk: int  # bulk copies per iteration; 0: the producers' lanes copy
    lag: int  # iterations until a stage is released


def shape_of(code: list[Instruction], labels: dict[str, int]) -> Shape | str:
    """The loops, or the reason why they are not found."""
    spans = loops(code, labels)
    inner = [s for s in spans if not any(t != s and s[0] <= t[0] and t[1] <= s[1] for t in spans)]

    def count(span: Span, bases: frozenset[str]) -> int:
        return sum(x.base in bases and not x.never for x in code[slice(*span)])

    consume = max((s for s in inner if count(s, TENSOR)), key=lambda s: (count(s, TENSOR), -s[1] + s[0]), default=None)
    bulk = frozenset(("UTMALDG", "UBLKCP"))
    others = [s for s in inner if not count(s, TENSOR)]
    produce = max((s for s in others if count(s, bulk) or count(s, COPIES)), key=lambda s: (count(s, bulk), count(s, COPIES)),
                  default=None)
    if not consume or not produce:
        return "its roles have no loops of their own"
    waits = [x for x in code[slice(*consume)] if x.op.startswith("SYNCS.PHASECHK")]
    if not waits:
        return "its consumers' loop does not wait for stages"
    around = [s for s in spans if s[0] <= consume[0] and consume[1] <= s[1] and s != consume]
    depth = re.compile(r"gsb0, 0x(\w+)")
    left = [int(m.group(1), 16) for x in code[slice(*consume)] if x.base == "WARPGROUP" and (m := depth.search(x.operands))]
    return Shape(consume, produce, min(around, key=lambda s: s[1] - s[0], default=None), stages_of(code, waits[0]),
                 count(produce, bulk), int(bool(left) and min(left) > 0))


def _offset(x: Instruction) -> int:
    found = re.search(r"\[[^]]*?\+0x(\w+)\]", x.operands)
    return int(found.group(1), 16) if found else 0


def stages_of(code: Sequence[Instruction], wait: Instruction) -> int:
    """Barriers initialized next to the one that the loop waits for."""
    begun = sorted({_offset(x) for x in code if x.op.startswith("SYNCS.EXCH")})
    used = [_offset(x) for x in code if x.base == "SYNCS" and not x.op.startswith("SYNCS.EXCH")]
    at = begun[0] + _offset(wait) - min(used) if begun else 0
    if at not in begun:
        at = begun[0] if begun else 0
    n = 1
    while at + 8 * n in begun:
        n += 1
    return n


def way(code: Sequence[Instruction], labels: dict[str, int], begin: int, end: int, over: frozenset[str]) -> list[int]:
    """The shortest forward path from one instruction to another, with one of ``over`` if any path has one."""
    best: dict[tuple[int, bool], tuple[int, tuple[int, bool] | None]] = {(end, True): (0, None), (end, False): (0, None)}
    for i in range(end - 1, begin - 1, -1):
        x = code[i]
        to = target(x, labels)
        after = [to] if to is not None and i < to <= end else []
        if x.base not in ("BRA", "EXIT", "RET") or x.guard or re.match(r"!?U?P\d", x.operands):
            after.append(i + 1)
        for seen in (False, True):
            now = seen or x.base in over
            found = [(best[a, now][0] + 1, (a, now)) for a in after if (a, now) in best and (now or a != end)]
            if found:
                best[i, seen] = min(found, key=lambda f: f[0])
    at: tuple[int, bool] | None = (begin, False)
    if at not in best:  # no path has one
        at = (begin, True) if (begin, True) in best else None
    out = []
    while at is not None and at[0] != end:
        out.append(at[0])
        at = best[at][1]
    return out


def product(x: Instruction) -> tuple[float, bool]:
    """Cycles that a warp's share of a wgmma occupies a sub-core's pipe, and whether it closes a group."""
    found = re.search(r"\.(\d+)x(\d+)x(\d+)", x.op)
    m, n, k = map(int, found.groups()) if found else (64, 64, 16)
    size = 32 // k  # bytes of an element: 8 for TF32, 16 for f16, 32 for 8 bits
    shared = n * k * size + (m * k * size if re.match(r"R\d+, gdesc", x.operands) else 0)
    return max(m * n * 16 / 4 / RATE, shared / 128), "gsb0" in x.operands


def _ops(code: Sequence[Instruction], chip: Chip) -> list[Op]:
    return [Op(x, "", 0, 0, 0, 0) if x.base in FREE or x.base in PRODUCTS else needs(x, chip) for x in code]


def traces(code: list[Instruction], labels: dict[str, int], s: Shape, roles: Roles, tiles: int, turns: int,
           chip: Chip) -> tuple[list[_Step], list[list[_Step]]]:
    """The traces of a producer, and of a warp of each consumer group."""
    ops = _ops(code, chip)

    def plain(begin: int, end: int, over: frozenset[str] = frozenset()) -> list[_Step]:
        return [_Step(ops[i]) for i in way(code, labels, begin, end, over)]

    head = s.outer[0] if s.outer else s.consume[0]
    tail = s.outer[1] if s.outer else max(i for i, x in enumerate(code) if x.base == "EXIT")
    teams: list[list[_Step]] = [plain(0, head) for _ in range(roles.teams)]
    for tile in range(tiles):
        team = teams[tile % roles.teams]
        team += plain(head, s.consume[0])
        for turn in range(turns):
            number, waited = tile * turns + turn, False
            for i in range(*s.consume):
                step = _Step(ops[i])
                if code[i].op.startswith("SYNCS.PHASECHK") and not waited:
                    step, waited = _Step(ops[i], "full?", number), True
                elif code[i].op.startswith("SYNCS.ARRIVE") and turn >= s.lag:
                    step = _Step(ops[i], "free!", number - s.lag)
                team.append(step)
        last = ops[s.consume[1] - 1]
        team += [_Step(last, "drain")] + [_Step(last, "free!", (tile + 1) * turns - 1)] * s.lag
        team += plain(s.consume[1], tail, STORES)
    producer = plain(0, s.produce[0])
    for number in range(tiles * turns):
        waited = False
        copies = [i for i in range(*s.produce) if code[i].base in (("UTMALDG", "UBLKCP") if s.bulk else COPIES)]
        for i in range(*s.produce):
            step = _Step(ops[i])
            if code[i].op.startswith("SYNCS.PHASECHK") and not waited and number >= s.stages:
                step, waited = _Step(ops[i], "free?", number - s.stages), True
            elif i == copies[-1]:
                step = _Step(ops[i], "full!", number)
            producer.append(step)
    return producer, teams


@dataclass
class _Warp:
    block: int
    group: int  # the group whose barriers it uses
    sub: int
    trace: list[_Step]
    at: int = 0
    ready: float = 0
    barrier: list[float] = field(default_factory=lambda: [0.0] * 6)
    groups: list[list[float]] = field(default_factory=lambda: [[] for _ in range(6)])
    copied: float = 0
    products: list[float] = field(default_factory=list)


def run(producer: list[_Step], teams: list[list[_Step]], blocks: int, s: Shape, roles: Roles, turn_bytes: float,
        chip: Chip) -> Ran:
    """Cycles until the last warp is done."""
    warps: list[_Warp] = []
    fetch = 1 if s.bulk else roles.fetch
    for b in range(blocks):
        for t, trace in enumerate(teams):
            first = roles.warps * t
            warps += [_Warp(b, (first + w) // 4, (first + w) % 4, trace) for w in range(roles.warps)]
        warps += [_Warp(b, -1, w % 4, producer) for w in range(fetch)]
    slot, pipes = [0.0] * 4, [collections.defaultdict[str, float](float) for _ in range(4)]
    queued: list[list[float]] = [[] for _ in range(4)]
    path = far = 0.0
    known: dict[tuple[int, str, int], float] = {}
    came: collections.Counter[tuple[int, str, int]] = collections.Counter()
    latest: dict[tuple[int, str, int], float] = {}
    parked: dict[tuple[int, str, int], list[int]] = collections.defaultdict(list)
    met: dict[tuple[int, int], list[int]] = collections.defaultdict(list)
    heap = [(0.0, 0.0, i) for i in range(len(warps))]
    out = Ran()

    def tell(key: tuple[int, str, int], when: float, of: int) -> None:
        came[key] += 1
        latest[key] = max(latest.get(key, 0.0), when)
        if came[key] == of:
            known[key] = latest[key] + BARRIER
            for i in parked.pop(key, ()):
                heapq.heappush(heap, (max(known[key], warps[i].ready), now, i))

    while heap:
        now, before, i = heapq.heappop(heap)
        w = warps[i]
        step = w.trace[w.at]
        op, x, mine = step.op, step.op.x, pipes[w.sub]
        may = max(now, slot[w.sub], w.ready, *(w.barrier[b] for b in x.waits), 0.0)
        if step.event in ("full?", "free?"):
            key = (w.block, step.event[:4], step.number)
            if key not in known:
                parked[key].append(i)
                continue
            may = max(may, known[key])
        if step.event == "drain" and w.products:
            may = max(may, w.products[-1])
        if op.pipe:
            may = max(may, mine[op.pipe])
        if x.base == "DEPBAR":
            may = max(may, groups_done(w.groups, x))
        if x.base == "WARPGROUP" and (left := re.search(r"gsb0, 0x(\w+)", x.operands)):
            n = int(left.group(1), 16)
            may = max(may, w.products[-1 - n] if len(w.products) > n else 0)
        is_product = x.base in PRODUCTS and not step.event
        if is_product and len(queued[w.sub]) >= QUEUE:
            may = max(may, queued[w.sub][-QUEUE])
        if may > now:
            heapq.heappush(heap, (may, before, i))
            continue
        if step.event == "drain" or step.event == "free!" and x.base != "SYNCS":  # nothing is issued
            if step.event == "free!":
                tell((w.block, "free", step.number), now, roles.warps)
            w.at += 1
            if w.at < len(w.trace):
                heapq.heappush(heap, (now, before, i))
            continue
        slot[w.sub] = now + 1
        done = now + op.latency
        if is_product:
            hold, closes = product(x)
            begin = max(now, mine["tensor"])
            mine["tensor"] = begin + hold
            queued[w.sub] = [*queued[w.sub][-QUEUE:], begin]
            out.held["tensor"] += hold  # type: ignore[assignment]
            done = begin + hold + RESULT
            if closes:
                w.products = [*w.products[-15:], done]
        if op.pipe:
            mine[op.pipe] = now + op.hold
            out.held[op.pipe] += op.hold  # type: ignore[assignment]
        if op.path:
            path = max(now, path) + op.path
            out.held["shared"] += op.path  # type: ignore[assignment]
            done = path + op.latency
        moved = turn_bytes / s.bulk if s.bulk and x.base in ("UTMALDG", "UBLKCP") and w.group < 0 else op.bytes
        if moved:
            far = max(now, far) + moved / chip.l2
            out.held["L2"] += moved / chip.l2  # type: ignore[assignment]
            done = max(done, far + (chip.l2_wait if s.bulk else op.latency))
            w.copied = max(w.copied, done)
        release(w, x, now, done)
        if step.event == "full!":
            tell((w.block, "full", step.number), w.copied, fetch)
        if step.event == "free!":
            tell((w.block, "free", step.number), now, roles.warps)
        w.ready = now + max(x.stall, 2 if x.yields else 1)
        out.cycles = max(out.cycles, w.ready)
        w.at += 1
        if w.at == len(w.trace):
            continue
        if x.base == "BAR" and not x.never and "ARV" not in x.op and w.group >= 0:
            met[w.block, w.group].append(i)
            if len(met[w.block, w.group]) < 4:
                continue
            for other in met.pop((w.block, w.group)):
                warps[other].ready = max(warps[other].ready, now + BARRIER)
                heapq.heappush(heap, (warps[other].ready, now, other))
        else:
            heapq.heappush(heap, (w.ready, now, i))
    return out


def cycles(code: list[Instruction], labels: dict[str, int], roles: Roles, turns: int, tiles: int, blocks: int,
           turn_bytes: float, chip: Chip) -> tuple[float, collections.Counter[str]] | str:
    """Cycles until ``blocks`` blocks have done ``tiles`` tiles each, and busy cycles of the pipes; or the
    reason why it is unknown."""
    s = shape_of(code, labels)
    if isinstance(s, str):
        return s
    short = min(turns, max(TURNS, 3 * s.stages))
    some: dict[tuple[int, int], Ran] = {}
    for many in (roles.teams, 2 * roles.teams):
        for n in (short, max(1, short // 2)):
            producer, teams = traces(code, labels, s, roles, many, n, chip)
            some[many, n] = run(producer, teams, blocks, s, roles, turn_bytes, chip)

    def whole(many: int) -> float:
        half = max(1, short // 2)
        a, b = some[many, short].cycles, some[many, half].cycles
        return a + (turns - short) * (a - b) / (short - half) if short > half else a

    first, second = whole(roles.teams), whole(2 * roles.teams)
    total = first + max(0.0, tiles / roles.teams - 1) * (second - first)
    ran = some[2 * roles.teams, short]
    held = collections.Counter[str]()
    for name, n in ran.held.items():
        held[name] = n * total / ran.cycles  # type: ignore[assignment]
    return total, held
