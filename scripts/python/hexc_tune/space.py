"""The search space: combinations of constants, shapes, their candidates, and the times
predicted by the cost model."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import TuneError
from .expr import evaluate

Sizes = dict[str, int]


# ---- shapes ----------------------------------------------------------------------------------------------------------


def read_shape(text: str) -> Sizes:
    """Parses ``M=64,K=512`` (commas or blanks) to sizes; :class:`TuneError` names what is invalid."""
    sizes = {}
    for word in re.split(r"[,\s]+", text.strip()):
        name, eq, value = word.partition("=")
        if not eq or not name.isidentifier() or not value.isdigit():
            raise TuneError(f"a shape is NAME=NUMBER,...: what is '{word}'?")
        sizes[name] = int(value)
    return sizes


def read_shapes(path: str) -> list[Sizes]:
    """One shape per line; # starts a comment."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise TuneError(f"{path}: {error.strerror}") from None
    return [read_shape(line) for text in lines if (line := text.partition("#")[0].strip())]


def shape_text(sizes: Mapping[str, int]) -> str:
    """The canonical text of a shape: sorted by name."""
    return " ".join(f"{n}={v}" for n, v in sorted(sizes.items()))


def arguments(params: Sequence[Mapping[str, Any]], given: Sequence[str], sizes: Mapping[str, int]) -> list[str]:
    """``--arg`` values for one shape: the given ones, with names of sizes in brackets replaced, and random data
    for omitted input tensors. The sizes determine every tensor's extents."""
    out, named = [], set()
    for text in given:
        name, _, value = text.partition("=")
        named.add(name)
        head, bracket, dims = value.partition("[")
        if bracket and sizes and not value.startswith("@"):
            value = f"{head}[{','.join(_number(d, sizes, text) for d in _split(dims.rstrip(']')))}]"
        out.append(f"{name}={value}")
    for i, p in enumerate(params):
        if sizes and p["name"] not in named and p["kind"] == "pointer" and p.get("read"):
            dims = ",".join(_number(d, sizes, p["name"]) for d in p["shape"])
            out.append(f"{p['name']}=random({i + 1})[{dims}]")
        elif p["kind"] == "size" and p["name"] in sizes and p["name"] not in named:
            out.append(f"{p['name']}={sizes[p['name']]}")
    return out


def _split(text: str) -> list[str]:
    """Splits at commas outside of parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _number(text: str, sizes: Mapping[str, int], of: str) -> str:
    value = evaluate(text, sizes)
    if value is None:
        raise TuneError(f"{of}: '{text}' is no number for the shape {shape_text(sizes)}; name every size in it")
    return str(value)


def sizes_of(params: Sequence[Mapping[str, Any]], given: Sequence[str]) -> Sizes:
    """The sizes determined by the given arguments: by their text or the header of a .npy file."""
    sizes = {}
    by_name = {p["name"]: p for p in params}
    for text in given:
        name, _, value = text.partition("=")
        p = by_name.get(name)
        if not p:
            continue
        if p["kind"] == "size" and value.isdigit():
            sizes[name] = int(value)
        dims = _extents(value)
        for e, n in zip(p.get("shape", ()), dims):
            if e.isidentifier():
                sizes[e] = n
    return sizes


def _extents(value: str) -> list[int]:
    if value.startswith("@"):
        return _npy_shape(value[1:])
    match = re.search(r"\[([\d,\s]+)\]$", value)
    return [int(x) for x in match.group(1).split(",")] if match else []


def _npy_shape(path: str) -> list[int]:
    """The shape of a .npy file (NumPy's format, version 1 to 3); [] if it is none."""
    try:
        with open(path, "rb") as f:
            head = f.read(12)
            if head[:6] != b"\x93NUMPY":
                return []
            wide = head[6] > 1
            length = int.from_bytes(head[8:12] if wide else head[8:10], "little")
            f.seek(12 if wide else 10)
            return [int(x) for x in ast.literal_eval(f.read(length).decode("latin-1"))["shape"]]
    except (OSError, ValueError, SyntaxError, KeyError):
        return []


# ---- loops -----------------------------------------------------------------------------------------------------------


def loops_of(ir: str) -> list[dict[str, Any]]:
    """Trip counts of the loops of a kernel's IR after inference, as expressions of sizes (None: they
    depend on more), and their nesting depth. The tile loop of a persistent kernel counts as 1 trip:
    predictions and grids are per tile."""
    value: dict[str, str | None] = {}
    found: list[dict[str, Any]] = []
    stack: list[int] = []
    over: dict[str, dict[str, Any]] = {}  # loops by their variable
    for line in ir.splitlines():
        body = line.lstrip()
        indent = len(line) - len(body)
        size = re.match(r"param (%\d+)\.?\S* size (\w+)", body)
        made = re.match(r"(%\d+)(?:\.\w+)? = (\w+)(.*?)(?: value (-?\d+))? : i64\b", body)
        loop = re.search(r"= for (%\d+)\S*, (%\d+)\S*, (%\d+)", body)
        if size:
            value[size.group(1)] = size.group(2)
        elif loop:
            lo, hi, step = (value.get(x) for x in loop.groups())
            while stack and stack[-1] >= indent:
                stack.pop()
            known = lo is not None and hi is not None and step is not None
            found.append({"depth": len(stack), "trips": f"ceil(max({hi} - {lo}, 0), {step})" if known else None})
            stack.append(indent)
            if variable := re.search(r"\{ \((%\d+)", body):
                over[variable.group(1)] = found[-1]
        elif made:
            if made.group(2) == "block_id" and (tile := over.get(next(iter(re.findall(r"%\d+", made.group(3))), ""))):
                tile["trips"] = "1"
            ins = [value.get(x) for x in re.findall(r"%\d+", made.group(3))]
            value[made.group(1)] = _written(made.group(2), ins, made.group(4))
    return found


def _written(op: str, ins: list[str | None], constant: str | None) -> str | None:
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "mod": "%"}
    if op == "const":
        return constant or "0"
    if op == "block_id":
        return "0"
    if None in ins or len(ins) != 2:
        return None
    if op in signs:
        return f"({ins[0]} {signs[op]} {ins[1]})"
    return f"{op}({ins[0]}, {ins[1]})" if op in ("min", "max") else None


def stretch(listed: Mapping[str, Any], sizes: Mapping[str, int]) -> float:
    """The ratio of a block's time with these sizes to the cost model's time.

    The model assumes 32 trips for a loop with an unknown trip count (`hexc explain --json`, "runs"). The time in
    loops is scaled by the trip counts of the longest nest."""
    most, inside = listed["most_runs"], listed["loop_share"]
    trips = 1.0
    nest: list[int] = []
    for loop in listed["loops"]:
        n = evaluate(loop["trips"], sizes) if loop["trips"] else None
        nest = [*nest[: loop["depth"]], 32 if n is None else n]
        trips = max(trips, float(math.prod(nest)))
    return 1 - inside + inside * trips / most if most > 1 and listed["loops"] else 1.0


# ---- a part of the grid -------------------------------------------------------------------------------------------------

EACH = 256  # sizes shrink by multiples of it: partial tiles keep their extents, assumptions on multiples hold


def part_of(listed: Mapping[str, Any], given: Sequence[str], sizes: Sizes, most: int) -> Sizes:
    """Sizes with about ``most`` blocks that do the same work as all blocks: reduces the sizes on which only the
    grid depends. Returns the sizes unchanged if that is impossible: a loop depends on them or on unknown values,
    or arguments have numeric shapes."""
    if not sizes or any("@" in a or re.search(r"[\[,]\s*\d+\s*[\],]", a) for a in given):
        return sizes
    if any(loop["trips"] is None for loop in listed["loops"]):
        return sizes
    inside = set().union(*(_names(loop["trips"]) for loop in listed["loops"]))
    free = sorted(set().union(*map(_names, listed["grid"])) - inside)
    out = dict(sizes)
    while (blocks_of(listed, out) or 0) > most:
        shorter = [(out[n], n) for n in free if out.get(n, 0) >= 2 * EACH]
        if not shorter:
            break
        value, name = max(shorter)
        rest, times = value % EACH, value // EACH
        out[name] = rest + EACH * (times // 2)
    return out


def _names(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text)) - {"ceil", "min", "max", "where"}


def grid_of(listed: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The grid; () if it depends on more."""
    grid = [evaluate(g, sizes) for g in listed["grid"]]
    return () if None in grid else tuple(g for g in grid if g is not None)


def blocks_of(listed: Mapping[str, Any], sizes: Mapping[str, int]) -> int | None:
    """The number of blocks; None if it is unknown."""
    grid = grid_of(listed, sizes)
    return math.prod(grid) if grid else None


def tensor_bytes(params: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]) -> float:
    """Bytes of all tensors together; unknown ones count 0."""
    return sum(math.prod(evaluate(d, sizes) or 0 for d in p["shape"]) * int(p["bits"]) / 8 for p in params
               if p["kind"] == "pointer")


# ---- predictions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """sms multiprocessors of mhz MHz; the name is the source of the numbers."""

    name: str
    sms: int
    mhz: float


def waves_cycles(blocks: int, sms: int, together: int, cycles: float, alone: float) -> float:
    """Cycles until the multiprocessor with most blocks is done: each block takes ``cycles`` with ``together``
    resident blocks, and no set of them less than ``alone``, the time of a single resident block."""
    each = math.ceil(blocks / sms)
    full, rest = divmod(each, max(1, together))
    return full * max(together * cycles, alone) + (max(rest * cycles, alone) if rest else 0)


def predicted_us(c: Mapping[str, Any], listed: Mapping[str, Any], sizes: Mapping[str, int], on: Machine | None) -> float:
    """Microseconds of the whole grid by the cost model; without sizes or a machine, cycles of one block."""
    grid = [evaluate(g, sizes) for g in listed["grid"]]
    if on is None or None in grid:
        return float(c["cycles"])
    blocks = math.prod(g for g in grid if g is not None)
    scale = stretch(listed, sizes)
    return waves_cycles(blocks, on.sms, c["blocks_together"], scale * c["cycles"], scale * c["alone"]) / on.mhz


@dataclass(frozen=True)
class Choice:
    """One candidate of one combination of constants, for one shape."""

    shape: str
    define: str  # "BM=64 BN=128"
    candidate: int
    cycles: float
    alone: float
    together: int
    text: str
    predicted: float  # microseconds
    pruned: str  # why it is skipped, or ""
    spilled: int = 0  # bytes per thread, from ptxas

    @property
    def key(self) -> tuple[str, str, int]:
        return self.shape, self.define, self.candidate


def prune(choices: Iterable[Choice], within: float, first: int, across: float) -> list[Choice]:
    """Best first by prediction. Marks skipped candidates: ptxas spills more than for another of the combination;
    predicted above ``within`` times the best of the combination, or above ``across`` times that of the shape (0:
    no limit); or after the ``first`` of the shape (0: all)."""
    order = sorted(choices, key=lambda c: (c.predicted, c.define, c.candidate))
    spills: dict[str, int] = {}
    for c in order:
        spills[c.define] = min(c.spilled, spills.get(c.define, c.spilled))
    order = sorted(order, key=lambda c: c.spilled > spills[c.define])
    least: dict[str, float] = {}
    for c in order:
        if c.spilled == spills[c.define]:
            least[c.define] = min(c.cycles, least.get(c.define, c.cycles))
    out: list[Choice] = []
    kept = 0
    for c in order:
        why = ""
        if c.spilled > spills[c.define]:
            why = f"ptxas spills {c.spilled} bytes of it, and {spills[c.define]} of another of its constants"
        elif c.cycles > within * least[c.define]:
            why = f"predicted {c.cycles / least[c.define]:.2f} times as long as the best of its constants"
        elif across and c.predicted > across * order[0].predicted:
            why = f"predicted {c.predicted / order[0].predicted:.2f} times as long as the best"
        elif first and kept >= first:
            why = f"not among the first {first}"
        kept += not why
        out.append(Choice(**{**c.__dict__, "pruned": why}))
    return out
