"""Runs the tile IR (hexc/IR.md), as printed by `hexc --dump bounded`, on arrays: all blocks of a grid
concurrently, on a GPU by PyTorch or with NumPy.

The results are those of the tile interpreter (hexc/interp). If the kernel carries bounds
(lib/error_bound/error_bound.h), so are the bounds: the maximum distance of a correct result from them. Nothing
here is specific to a kernel.

A value has a leading dimension for the blocks, of extent 1 if it is the same for all; other dimensions, too,
may have extent 1 instead of theirs. A scalar that is the same for all blocks stays in NumPy, whatever
library computes the rest.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import arrays
from .arrays import Array, Numpy, bits_of, is_float, is_signed, rounded, wrapped


class NoReference(Exception):
    """The reason why a kernel's results cannot be computed here."""


# ---- text ------------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Type:
    space: str  # "", reg, shared, global
    dtype: str
    shape: tuple[int, ...]  # dimensions known only at run time: -1


@dataclass
class Op:
    code: str
    outs: list[int]
    ins: list[int]
    imm: dict[str, list[int]]  # by name
    fimm: float  # the only float among them
    text: str
    types: list[Type]
    blocks: list[Block] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)  # values without later uses

    def at(self, name: str, i: int = 0) -> int:
        found = self.imm.get(name, ())
        return found[i] if i < len(found) else 0


@dataclass
class Block:
    args: list[tuple[int, Type]]
    ops: list[Op] = field(default_factory=list)


@dataclass
class Param:
    id: int
    kind: str
    name: str
    type: Type
    read: bool
    written: bool
    size: list[int]
    lo: int = 0


@dataclass
class Kernel:
    name: str
    params: list[Param]
    grid: Block
    body: Block
    teams: int = 1

    def tensors(self) -> list[Param]:
        """The program's tensors, without those that carry bounds."""
        return [p for p in self.params if p.kind == "tensor" and p.name != "doubt" and not re.match("(the bounds|sums) of ", p.name)]

    @property
    def bounded(self) -> bool:
        """Does it carry bounds?"""
        return bool(self.params) and self.params[-1].name == "doubt"


TYPE = r"(?:(reg|shared|global) )?(\w+)(?:\[([^\]]*)\])?(?: order \d+)?(?: kept)?"
PARAM = re.compile(rf'param %(\d+)\S* (tensor|size|scalar) ("(?:[^"\\]|\\.)*"|\S+) : {TYPE}(.*)')


def _type(m: Sequence[str | None]) -> Type:
    dims = tuple(-1 if d.strip() == "?" else int(d) for d in (m[2] or "").split(",") if d.strip())
    return Type(m[0] or "", m[1] or "", dims)


def _types(text: str) -> list[Type]:
    return [_type(m) for m in re.findall(TYPE, text) if m[1]]


def _ids(text: str) -> list[int]:
    return [int(x) for x in re.findall(r"%(\d+)", text)]


def _number(text: str) -> float:
    text = text.strip()
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("-")
    if text.startswith("nan"):
        return math.nan
    if text == "inf":
        return sign * math.inf
    return sign * (float.fromhex(text) if text.lower().startswith("0x") else float(text))


def read(text: str) -> Kernel:
    """Parses a kernel's text in the printer's format."""
    name, params, teams = "", [], 1
    blocks: dict[str, Block] = {}
    open_: list[Block] = []
    for line in text.splitlines():
        line = re.sub(r' !\d+:\d+\+\d+(?=$| )', "", line.strip())
        line = re.sub(r" @(pin )?\{[^}]*\}", "", line)
        if not line or line.startswith("//"):
            continue
        if not open_:
            word = line.split()[0]
            if word == "kernel":
                name = line.split()[1]
            elif word == "param":
                params.append(_param(line))
            elif word == "teams":
                teams = int(line.split()[1])
            elif word in ("grid", "body"):
                blocks[word] = Block([])
                open_.append(blocks[word])
            continue
        if line == "}":
            open_.pop()
        elif line == "} else {":
            open_.pop()
            inner = Block([])
            open_[-1].ops[-1].blocks.append(inner)
            open_.append(inner)
        else:
            op, inner2 = _op(line)
            open_[-1].ops.append(op)
            if inner2:
                op.blocks.append(inner2)
                open_.append(inner2)
    kernel = Kernel(name, params, blocks["grid"], blocks["body"], teams)
    merged(kernel)
    dropped(kernel)
    for b in (kernel.grid, kernel.body):
        last_uses(b, {i for p in params for i in (p.id, *p.size)})
    return kernel


def _param(line: str) -> Param:
    m = PARAM.match(line)
    assert m, line
    rest = m.group(7)
    sizes = re.search(r" size ((?:%\d+\S*,? ?)+)", rest)
    low = re.search(r" lo (-?\d+)", rest)
    words = rest.split(" size ")[0].split()
    return Param(int(m.group(1)), m.group(2), m.group(3).strip('"'), _type(m.groups()[3:6]), "read" in words, "written" in words,
                 _ids(sizes.group(1).split(" stride")[0]) if sizes else [], int(low.group(1)) if low else 0)


def _op(line: str) -> tuple[Op, Block | None]:
    words = ""
    quoted = re.search(r'"((?:[^"\\]|\\.)*)"', line)
    if quoted:
        words = quoted.group(1)
        line = line[: quoted.start()].rstrip() + line[quoted.end():]
    inner = None
    opened = re.search(r" \{(?: \((.*)\))?$", line)
    if opened:
        found = re.findall(rf"%(\d+)\S* : {TYPE}", opened.group(1) or "")
        inner = Block([(int(f[0]), _type(f[1:4])) for f in found])
        line = line[: opened.start()]
    head, _, types = line.partition(" : ")
    outs, eq, rest = head.partition(" = ")
    if not eq:
        outs, rest = "", head
    code, _, rest = rest.partition(" ")
    ins = re.match(r"(?:%[^\s,]+(?:, )?)*", rest)
    assert ins
    op = Op(code, _ids(outs), _ids(ins.group()), {}, 0.0, words, _types(types))
    for name, numbers in re.findall(r"(\w+) ([^\s,]+(?:, -?\d+)*)", rest[ins.end():]):
        if re.fullmatch(r"-?\d+(, -?\d+)*", numbers):
            op.imm[name] = [int(x) for x in numbers.split(", ")]
        else:
            op.fimm = _number(numbers)
    return op, inner


# Pure ops that are equal if their operands are equal.
REPEATED = frozenset(
    "const splat iota add sub mul div mod min max and or xor shl shr lt le eq ne neg abs not exp exp2 log sqrt rsqrt tanh floor ceil "
    "round trunc fma select cast bitcast mask broadcast transpose reshape reduce_sum reduce_max reduce_min dot lookup gather slice "
    "concat shift".split())


def merged(kernel: Kernel) -> None:
    """Removes ops that repeat an earlier one: bounds contain many."""
    new: dict[int, int] = {}

    def walk(block: Block, seen: dict[Any, int]) -> None:
        kept = []
        for op in block.ops:
            op.ins = [new.get(i, i) for i in op.ins]
            key = (op.code, tuple(op.ins), repr(sorted(op.imm.items())), repr(op.fimm), tuple(op.types))
            if op.code in REPEATED and len(op.outs) == 1 and op.types[0].space != "shared":
                if key in seen:
                    new[op.outs[0]] = seen[key]
                    continue
                seen[key] = op.outs[0]
            for inner in op.blocks:
                walk(inner, dict(seen))
            kept.append(op)
        block.ops = kept

    walk(kernel.grid, {})
    walk(kernel.body, {})
    for p in kernel.params:
        p.size = [new.get(i, i) for i in p.size]


def dropped(kernel: Kernel) -> None:
    """Removes unused ops, and the op index of the first lost bound, which only messages need:
    the second cell of doubt."""
    cells = {p.id for p in kernel.params if p.name == "doubt"}
    made: dict[int, Op] = {}
    uses: dict[int, int] = {}

    def look(block: Block) -> None:
        for op in block.ops:
            made.update((i, op) for i in op.outs)
            for inner in op.blocks:
                look(inner)

    def says_which(op: Op) -> bool:
        view = made.get(op.ins[1]) if op.code == "store" else None
        at = made.get(view.ins[1]) if view and view.code == "view" and view.ins[0] in cells else None
        return at is not None and at.code == "const" and at.at("value") == 1

    def count(block: Block) -> None:
        for op in block.ops:
            for i in op.ins:
                uses[i] = uses.get(i, 0) + 1
            for inner in op.blocks:
                count(inner)

    def sweep(block: Block) -> None:
        kept = []
        for op in reversed(block.ops):
            if op.code in REPEATED | {"view", "load"} and op.outs and not any(uses.get(i) for i in op.outs) or says_which(op):
                for i in op.ins:
                    uses[i] -= 1
                continue
            for inner in op.blocks:
                sweep(inner)
            kept.append(op)
        block.ops = kept[::-1]

    for b in (kernel.grid, kernel.body):
        look(b)
    for p in kernel.params:
        for i in p.size:
            uses[i] = uses.get(i, 0) + 1
    for b in (kernel.grid, kernel.body):
        count(b)
        sweep(b)


def last_uses(block: Block, keep: set[int]) -> set[int]:
    """Annotates each op with the values that are dead after it; returns the outer values that the block reads."""
    own = {i for i, _ in block.args}
    uses: list[set[int]] = []
    for op in block.ops:
        used = set(op.ins)
        for inner in op.blocks:
            used |= last_uses(inner, keep)
        uses.append(used)
        own |= set(op.outs)
    seen: set[int] = set()
    for op, used in zip(reversed(block.ops), reversed(uses)):
        op.dead = [i for i in (used | set(op.outs)) & own if i not in seen and i not in keep]
        seen |= used
    return {i for used in uses for i in used} - own


# ---- memory ----------------------------------------------------------------------------------------------------------

@dataclass
class Memory:
    """flat: the elements, plus one that receives discarded writes. Shared tiles are stored block after block.
    whole: the entire tile, if it was written by one op, instead of flat."""

    dtype: str
    size: list[int]
    flat: Array = None
    whole: Array = None
    shared: bool = False
    touched: Array = None  # by element of a tensor: was it written?

    @property
    def count(self) -> int:
        return math.prod(self.size)


@dataclass
class View:
    """start, step, index, and the bounds first and end by dimension of the memory; dim: for each dimension of the view
    that of the memory."""

    memory: Memory
    size: list[int]
    shape: tuple[int, ...]
    start: list[Any]
    step: list[int]
    index: list[Any]
    dim: list[int]
    first: list[Any]
    end: list[Any]
    gather: int = 0
    plain: bool = True  # the entire memory


# ---- semantics of ops
# ------------------------------------------------------------------------------------------------

# ops without effect in sequential execution: all work of blocks and warps has one order
ORDER = frozenset("async_commit async_wait barrier wgmma_fence wgmma_commit wgmma_wait fence_proxy_async grid_dependency_wait"
                  " grid_launch_dependents print assert".split())
# ops that pass mask_bounds resolves, before that one
EARLIER = frozenset("inside inside_any inside_count inside_first inside_end if_range limit fill unmask front".split())
# ops inserted by passes after the one that adds bounds to a kernel
LATER = frozenset("pack unpack fragment_prefetch prefetched".split())
UPDATES = ("", "add", "max", "min", "and", "or", "xor")
UNARY: dict[str, Callable[[Any, Array], Array]] = {
    "neg": lambda xp, x: -x, "abs": lambda xp, x: xp.abs(x), "exp": lambda xp, x: xp.exp(x), "exp2": lambda xp, x: xp.exp2(x),
    "log": lambda xp, x: xp.log(x), "sqrt": lambda xp, x: xp.sqrt(x), "rsqrt": lambda xp, x: 1 / xp.sqrt(x),
    "tanh": lambda xp, x: xp.tanh(x), "floor": lambda xp, x: xp.floor(x), "ceil": lambda xp, x: xp.ceil(x),
    "round": lambda xp, x: xp.rint(x), "trunc": lambda xp, x: xp.trunc(x)}
FLOAT: dict[str, Callable[[Any, Array, Array], Array]] = {
    "add": lambda xp, x, y: x + y, "sub": lambda xp, x, y: x - y, "mul": lambda xp, x, y: x * y, "div": lambda xp, x, y: x / y,
    "mod": lambda xp, x, y: xp.fmod(x, y), "min": lambda xp, x, y: xp.fmin(x, y), "max": lambda xp, x, y: xp.fmax(x, y)}
INTEGER = frozenset("and or xor shl shr mulhi".split())
# Unsigned 64-bit numbers compare as signed ones with the top bit flipped.
TOP = -(1 << 63)


def _quotient(xp: Any, x: Array, y: Array) -> tuple[Array, Array]:
    """Truncating division, and the remainder; x / 0 is -1 and x % 0 is x."""
    zero = y == 0
    by = xp.where(zero, 0 * y + 1, y)
    q = xp.abs(x) // xp.abs(by)
    q = xp.where((x < 0) != (by < 0), -q, q)
    return xp.where(zero, 0 * q - 1, q), xp.where(zero, x + 0 * q, x - q * by)


def _integer(xp: Any, code: str, dtype: str, x: Array, y: Array) -> Array:
    big = dtype == "u64"
    n = bits_of(dtype)
    if dtype == "bool":
        return {"and": lambda: x & y, "or": lambda: x | y, "xor": lambda: x ^ y, "min": lambda: x & y, "max": lambda: x | y}[code]()
    if code in ("add", "sub", "mul"):
        return {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y}[code]()
    if code in ("div", "mod"):
        return _quotient(xp, x, y)[code == "mod"]
    if code in ("min", "max"):
        less = (x ^ TOP) < (y ^ TOP) if big else x < y
        return xp.where(less == (code == "min"), x, y)
    if code in ("and", "or", "xor"):
        return {"and": lambda: x & y, "or": lambda: x | y, "xor": lambda: x ^ y}[code]()
    if code in ("shl", "shr"):
        out = (y < 0) | (y >= n)
        by = xp.where(out, 0 * y, y)
        if code == "shl":
            return xp.where(out, 0 * x, x << by)
        if is_signed(dtype):
            return x >> xp.where((y < 0) | (y > 63), 0 * y + 63, y)
        low = (x >> by) & xp.where(by == 0, 0 * by - 1, (1 << (63 - by)) - 1 + (1 << (63 - by))) if big else x >> by
        return xp.where(out, 0 * x, low)
    if code == "mulhi" and n < 64:
        return x * y >> n
    raise NoReference(f"{code} of {dtype}")


def _compare(code: str, big: bool, x: Array, y: Array) -> Array:
    if big:
        x, y = x ^ TOP, y ^ TOP
    return {"lt": lambda: x < y, "le": lambda: x <= y, "eq": lambda: x == y, "ne": lambda: x != y}[code]()


def _count_bits(xp: Any, dtype: str, x: Array, zeros: bool) -> Array:
    n = bits_of(dtype)
    total, top = 0 * x, 0 * x
    for b in range(n):
        one = x >> b & 1
        total = total + one
        top = xp.where(one == 1, 0 * x + b + 1, top)
    return n - top if zeros else total


def _fma(xp: Any, dtype: str, x: Array, y: Array, z: Array) -> Array:
    """x * y + z rounded once: the product is exact in f64, except for f64 itself; an
    inexact sum is rounded to odd."""
    p = x * y
    s = p + z
    if dtype == "f64":
        return s
    far = s - p
    error = (p - (s - far)) + (z - far)
    bits = xp.bits(s)
    outward = (error > 0) == (s > 0)
    odd = xp.where(outward, bits + 1, bits - 1)
    change = (error != 0) & ((bits & 1) == 0) & ((s > 0) | (s < 0)) & (xp.abs(s) < math.inf)
    return rounded(xp, dtype, xp.from_bits(xp.where(change, odd, bits)))


def _to_integer(xp: Any, dtype: str, x: Array) -> Array:
    """Truncating and saturating, NaN to 0."""
    if dtype == "u64":
        raise NoReference("floats to u64")
    low, high = arrays.bounds_of_type(dtype)
    inside = xp.where(xp.isnan(x), 0 * xp.to(x == x, xp.f64), x)
    top = inside >= float(high)
    bottom = inside <= float(low)
    whole = xp.to(xp.where(top | bottom, 0 * inside, inside) if math.inf else inside, xp.i64)
    whole = xp.where(top, 0 * whole + high, whole)
    return xp.where(bottom, 0 * whole + low, whole)


def _cast(xp: Any, to: str, of: str, x: Array) -> Array:
    if is_float(to):
        if is_float(of):
            return rounded(xp, to, x) if to != of else x
        if of == "u64":
            return rounded(xp, to, xp.to(x, xp.f64) + xp.where(x < 0, 2.0 ** 64 + 0 * xp.to(x, xp.f64), 0.0 * xp.to(x, xp.f64)))
        return rounded(xp, to, xp.to(x, xp.f64))
    if to == "bool":
        return x != 0
    if is_float(of):
        return _to_integer(xp, to, x)
    return wrapped(to, xp.to(x, xp.i64))


NATIVE = {"f32": ("float32", "int32"), "f16": ("float16", "int16"), "f64": ("float64", "int64")}


def _bitcast(xp: Any, to: str, of: str, x: Array) -> Array:
    bits = x
    if is_float(of):
        if of == "bf16":
            bits = xp.to(xp.via(x, "float32", "int32"), xp.i64) >> 16
        elif of in NATIVE:
            bits = xp.to(xp.via(x, *NATIVE[of]), xp.i64)
        else:
            raise NoReference(f"the bits of {of}")
    if not is_float(to):
        return wrapped(to, bits)
    if to == "bf16":
        return arrays.f32_of(xp, (bits & 0xffff) << 16)
    if to not in NATIVE:
        raise NoReference(f"bits as {to}")
    native, integer = NATIVE[to]
    return xp.to(xp.via(wrapped(f"i{bits_of(to)}", bits), integer, native), xp.f64)


# ---- the machine -----------------------------------------------------------------------------------------------------

class Turns:
    """Threads that run one at a time: warp roles, which wait for each other."""

    def __init__(self, n: int) -> None:
        self.lock = threading.Condition()
        self.now, self.alive, self.idle = 0, [True] * n, 0
        self.failed: BaseException | None = None

    def mine(self, i: int) -> None:
        with self.lock:
            self.lock.wait_for(lambda: self.now == i or self.failed is not None)
            if self.failed:
                raise NoReference("another role failed")

    def give(self, i: int, moved: bool) -> None:
        """Switches to the next; moved: something changed since the last switch."""
        with self.lock:
            self.idle = 0 if moved else self.idle + 1
            if self.idle > 2 * len(self.alive) and any(self.alive):
                self.failed = self.failed or NoReference("roles wait for each other")
            for k in range(1, len(self.alive) + 1):
                j = (i + k) % len(self.alive)
                if self.alive[j]:
                    self.now = j
                    break
            self.lock.notify_all()


class Machine:
    """Runs some blocks of a kernel's grid: ``block`` are their indices."""

    def __init__(self, kernel: Kernel, xp: Any, env: dict[int, Any], block: Array, grid: tuple[int, int, int]) -> None:
        self.k, self.xp, self.np = kernel, xp, Numpy()
        self.env, self.grid, self.total = env, grid, math.prod(grid)
        self.block, self.nb = block, int(block.shape[0])
        self.active: Any = None  # the active blocks; None: all
        self.cache: dict[tuple[str, str], Any] = {}
        self.shared: dict[tuple[int, int], Memory] = {}
        self.bars: dict[int, dict[str, Any]] = {}
        self.turns: Turns | None = None
        self.role = self.team = 0
        self.until = math.inf  # by time.monotonic(): loops stop then

    # -- values

    def where_from(self, *xs: Any) -> Any:
        """NumPy if all operands are NumPy's, otherwise the device's library."""
        return self.np if all(isinstance(x, np.ndarray) for x in xs) and self.xp is not self.np else self.xp if self.xp.name == "torch" else self.np

    def lift(self, x: Any, xp: Any) -> Any:
        if xp.name == "numpy" or not isinstance(x, np.ndarray):
            return x
        if x.size == 1:
            key = (repr(x.reshape(-1)[0]), x.dtype.kind)
            if key not in self.cache:
                self.cache[key] = xp.array(x.reshape(()))
            return self.cache[key].reshape((1,) * x.ndim)
        return xp.array(x)

    def operands(self, op: Op) -> tuple[Any, list[Any]]:
        xs = [self.env[i] for i in op.ins]
        xp = self.where_from(*xs)
        xs = [self.lift(x, xp) for x in xs]
        rank = max((x.ndim for x in xs), default=1)
        return xp, [x.reshape(*x.shape[:1], *(1,) * (rank - x.ndim), *x.shape[1:]) if x.ndim < rank else x for x in xs]

    def tile(self, x: Any) -> Any:
        return self.lift(x, self.xp)

    def uniform(self, i: int) -> Any | None:
        """A scalar that is the same for all blocks, as a number."""
        x = self.env[i]
        if isinstance(x, np.ndarray) and x.size == 1:
            return x.reshape(-1)[0].item()
        return None

    def full(self, x: Any, shape: tuple[int, ...], blocks: bool = False) -> Any:
        """Broadcasts to all extents."""
        x = self.tile(x)
        return self.xp.expand(x, (self.nb if blocks else x.shape[0], *shape))

    # -- blocks of ops

    def run(self, block: Block) -> list[int]:
        """Returns the operands of its yield."""
        for op in block.ops:
            if op.code == "yield":
                return op.ins
            self.step(op)
            if self.turns is None:
                for i in op.dead:
                    self.env.pop(i, None)
        return []

    def step(self, op: Op) -> None:
        rule = getattr(self, f"op_{op.code}", None)
        if rule:
            rule(op)
        elif op.code in UNARY or op.code in FLOAT or op.code in INTEGER:
            self.arith(op)
        elif op.code in ORDER:
            pass
        else:
            raise NoReference(f"{op.code} is an op that is not known here")

    def out(self, op: Op, x: Any) -> None:
        self.env[op.outs[0]] = x

    # -- elementwise

    def arith(self, op: Op) -> None:
        xp, xs = self.operands(op)
        dtype = op.types[0].dtype
        if is_float(dtype):
            made = UNARY[op.code](xp, xs[0]) if len(xs) == 1 else FLOAT[op.code](xp, *xs)
            self.out(op, rounded(xp, dtype, made))
        elif len(xs) == 1:
            x = xs[0]
            made = {"neg": lambda: -x, "abs": lambda: x if dtype == "u64" else xp.abs(x)}[op.code]()
            self.out(op, wrapped(dtype, made))
        else:
            made = _integer(xp, op.code, dtype, *xs)
            self.out(op, made if dtype == "bool" else wrapped(dtype, made))

    def op_not(self, op: Op) -> None:
        x = self.env[op.ins[0]]
        dtype = op.types[0].dtype
        self.out(op, x == 0 if dtype == "bool" else wrapped(dtype, ~x))

    def op_popcount(self, op: Op) -> None:
        xp, (x,) = self.operands(op)
        self.out(op, _count_bits(xp, op.types[0].dtype, x, False))

    def op_clz(self, op: Op) -> None:
        xp, (x,) = self.operands(op)
        self.out(op, _count_bits(xp, op.types[0].dtype, x, True))

    def compare(self, op: Op) -> None:
        _, (x, y) = self.operands(op)
        self.out(op, _compare(op.code, self.types[op.ins[0]].dtype == "u64", x, y))

    op_lt = op_le = op_eq = op_ne = compare

    def op_fma(self, op: Op) -> None:
        xp, (x, y, z) = self.operands(op)
        dtype = op.types[0].dtype
        self.out(op, _fma(xp, dtype, x, y, z) if is_float(dtype) else wrapped(dtype, x * y + z))

    def op_select(self, op: Op) -> None:
        xp, (c, x, y) = self.operands(op)
        self.out(op, xp.where(c, x, y))

    def op_cast(self, op: Op) -> None:
        xp, (x,) = self.operands(op)
        self.out(op, _cast(xp, op.types[0].dtype, self.types[op.ins[0]].dtype, x))

    def op_bitcast(self, op: Op) -> None:
        xp, (x,) = self.operands(op)
        self.out(op, _bitcast(xp, op.types[0].dtype, self.types[op.ins[0]].dtype, x))

    # -- generated values

    def constant(self, dtype: str, f: float, i: int, rank: int) -> Any:
        if is_float(dtype):
            x = rounded(self.np, dtype, np.array([f]))
        elif dtype == "bool":
            x = np.array([i != 0])
        else:
            x = wrapped(dtype, np.array([i if i < 1 << 63 else i - (1 << 64)], np.int64))
        return x.reshape((1,) * (1 + rank))

    def op_const(self, op: Op) -> None:
        self.out(op, self.constant(op.types[0].dtype, op.fimm, op.at("value"), len(op.types[0].shape)))

    def op_splat(self, op: Op) -> None:
        x = self.env[op.ins[0]]
        self.out(op, x.reshape(x.shape[0], *(1,) * len(op.types[0].shape)))

    def op_iota(self, op: Op) -> None:
        t = op.types[0]
        shape = [1] * (1 + len(t.shape))
        shape[1 + op.at("dim")] = t.shape[op.at("dim")]
        self.out(op, wrapped(t.dtype, self.xp.arange(t.shape[op.at("dim")])).reshape(shape))

    def number(self, op: Op) -> tuple[list[Any], list[Any], Any]:
        """For ops that return block indices: the index along each axis, the grid, the persistent block."""
        xp, xs = self.operands(op)
        n, extent = xs[0], xs[1:]
        at = []
        for d in range(3):
            e = xp.where(extent[d] < 1, 0 * extent[d] + 1, extent[d])
            at.append(n if d == 2 else n % e)
            n = n if d == 2 else n // e
        return at, extent, xp

    def op_block_id(self, op: Op) -> None:
        axis = op.at("axis")
        if op.ins:
            at, extent, xp = self.number(op)
            self.out(op, xp.where(at[axis] < extent[axis], at[axis], extent[axis] - 1))
            return
        x, y, _ = self.grid
        if self.grid[axis] == 1:
            self.out(op, np.zeros(1, np.int64))
        else:
            self.out(op, (self.block % x, self.block // x % y, self.block // (x * y))[axis])

    def op_block_in_grid(self, op: Op) -> None:
        at, extent, _ = self.number(op)
        self.out(op, (at[0] < extent[0]) & (at[1] < extent[1]) & (at[2] < extent[2]))

    def op_linear_block_id(self, op: Op) -> None:
        self.out(op, np.array([self.total]) if op.at("all") else self.block)

    # -- data movement

    def same(self, op: Op) -> None:
        self.out(op, self.env[op.ins[0]])

    op_pin = op_relabel_layout = op_convert_layout = same

    def op_broadcast(self, op: Op) -> None:
        self.out(op, self.env[op.ins[0]])

    def op_transpose(self, op: Op) -> None:
        x = self.tile(self.env[op.ins[0]])
        self.out(op, self.xp.permute(x, (0, *(1 + op.at("perm", i) for i in range(x.ndim - 1)))))

    def op_reshape(self, op: Op) -> None:
        x = self.env[op.ins[0]]
        if isinstance(x, View):
            size = list(op.types[0].shape)
            self.out(op, View(x.memory, size, op.types[0].shape, [0] * len(size), [1] * len(size), [None] * len(size), list(range(len(size))),
                              [None] * len(size), [None] * len(size)))
        elif x.size == 1 if isinstance(x, np.ndarray) else x.numel() == 1:
            self.out(op, x.reshape((1,) * (1 + len(op.types[0].shape))))
        else:
            self.out(op, self.full(x, self.types[op.ins[0]].shape).reshape(x.shape[0], *op.types[0].shape))

    def op_mask(self, op: Op) -> None:
        x = self.tile(self.env[op.ins[0]])
        t = op.types[0]
        fill = self.lift(self.constant(t.dtype, op.fimm, op.at("fill"), len(t.shape)), self.xp)
        n = 1
        for d in range(len(t.shape)):
            if op.at("dims") >> d & 1:
                shape = [1] * (1 + len(t.shape))
                shape[1 + d] = t.shape[d]
                bound = self.tile(self.env[op.ins[n]])
                inside = self.xp.arange(t.shape[d]).reshape(shape) < bound.reshape(bound.shape[0], *(1,) * len(t.shape))
                x = self.xp.where(inside, x, fill)
                n += 1
        self.out(op, x)

    def op_shift(self, op: Op) -> None:
        t = op.types[0]
        d, by = op.at("dim"), op.at("by")
        x = self.full(self.env[op.ins[0]], t.shape)
        entry = self.lift(self.constant(t.dtype, op.fimm, op.at("fill_in"), len(t.shape)), self.xp)
        shape = list(x.shape)
        shape[1 + d] = by
        self.out(op, self.xp.concat([self.xp.expand(entry, tuple(shape)), x[(slice(None),) * (1 + d) + (slice(0, t.shape[d] - by),)]], 1 + d))

    def op_slice(self, op: Op) -> None:
        t, d = op.types[0], op.at("dim")
        x = self.full(self.env[op.ins[0]], self.types[op.ins[0]].shape)
        self.out(op, x[(slice(None),) * (1 + d) + (slice(op.at("from"), op.at("from") + t.shape[d]),)])

    def op_concat(self, op: Op) -> None:
        x, y = (self.full(self.env[i], self.types[i].shape) for i in op.ins)
        if x.shape[0] != y.shape[0]:
            x, y = (self.full(self.env[i], self.types[i].shape, True) for i in op.ins)
        self.out(op, self.xp.concat([x, y], 1 + op.at("dim")))

    def op_gather(self, op: Op) -> None:
        table, at = self.env[op.ins[0]], self.env[op.ins[1]]
        t, s = self.types[op.ins[0]].shape, self.types[op.ins[1]].shape
        n = t[-1]
        table = self.xp.expand(self.tile(table), (self.nb, *s, n))
        at = self.full(at, s, True)
        inside = (at >= 0) & (at < n)
        found = self.xp.along(table, self.xp.where(inside, at, 0 * at)[..., None])[..., 0]
        self.out(op, self.xp.where(inside, found, self.xp.to(0 * found, found.dtype) if not is_float(op.types[0].dtype) else self.xp.full((), 0.0, self.xp.f64)))

    def op_lookup(self, op: Op) -> None:
        t, s = self.types[op.ins[0]].shape, self.types[op.ins[1]].shape
        table, at = self.tile(self.env[op.ins[0]]), self.full(self.env[op.ins[1]], s)
        blocks = max(table.shape[0], at.shape[0])
        at = self.xp.expand(at, (blocks, *s))
        if len(t) == 1:
            table = table.reshape(table.shape[0], *(1,) * (len(s) - 1), t[0])
        table = self.xp.expand(table, (blocks, *s[:-1], t[-1]))
        self.out(op, self.xp.along(table, at))

    def op_sparse_expand(self, op: Op) -> None:
        d = op.at("dim")
        values, places = (self.full(self.env[i], self.types[i].shape, True) for i in op.ins)
        dtype, n = self.types[op.ins[1]].dtype, self.types[op.ins[0]].shape[d]
        m = self.types[op.ins[1]].shape[d]
        group, kept, unit, npos = (2, 1, 1, 1) if dtype == "u1" else (4, 2, 1, 2) if m == n else (8, 4, 2, 2)
        order = [i for i in range(values.ndim) if i != 1 + d] + [1 + d]
        values, places = (self.xp.permute(x, tuple(order)) for x in (values, places))
        i = np.arange(n)
        which = self.tile(i // kept * npos + i % kept // unit)
        base = self.tile(i // kept * group + i % kept % unit)
        at = places[..., which] * unit + base
        zero = self.xp.concat([0 * values, 0 * values], values.ndim - 1)
        made = self.xp.put_along(zero, at, values)
        back = [order.index(k) for k in range(len(order))]
        self.out(op, self.xp.permute(made, tuple(back)))

    # -- dots

    def reduce(self, op: Op) -> None:
        t = self.types[op.ins[0]]
        x = self.full(self.env[op.ins[0]], t.shape)
        axis, xp = 1 + op.at("dim"), self.xp
        if op.code == "reduce_sum":
            made = xp.sum(x, axis)
            self.out(op, rounded(xp, t.dtype, made) if is_float(t.dtype) else wrapped(t.dtype, made))
            return
        sign = 1 if op.code == "reduce_max" else -1
        if is_float(t.dtype):
            nan = xp.isnan(x)
            kept = xp.where(nan, xp.full((), -math.inf, xp.f64), sign * x)
            self.out(op, xp.where(xp.all(nan, axis), xp.full((), math.nan, xp.f64), sign * xp.amax(kept, axis)))
        elif t.dtype == "u64":
            raise NoReference("extremes of u64")
        else:
            x = xp.to(x, xp.i64)
            made = xp.amax(x, axis) if sign > 0 else xp.amin(x, axis)
            self.out(op, made != 0 if t.dtype == "bool" else made)

    op_reduce_sum = op_reduce_max = op_reduce_min = reduce

    def factors(self, op: Op) -> list[Any]:
        """The operands of a dot, with their scales."""
        found = [self.full(self.env[i], self.types[i].shape) for i in op.ins[:2]]
        if len(op.ins) == 5:
            for side in range(2):
                s = self.xp.abs(self.full(self.env[op.ins[3 + side]], self.types[op.ins[3 + side]].shape))
                axis = 2 - side
                each = found[side].shape[axis] // s.shape[axis]
                at = self.xp.arange(found[side].shape[axis]) // each
                found[side] = found[side] * (s[:, :, at] if axis == 2 else s[:, at, :])
        return found

    def product(self, op: Op, a: Any, b: Any, c: Any) -> Any:
        dtype = op.types[0].dtype
        if is_float(dtype):
            return rounded(self.xp, dtype, c + self.xp.matmul(a, b))
        of = self.types[op.ins[0]].dtype
        if bits_of(of) <= 16:  # exact in f64
            made = self.xp.to(self.xp.matmul(self.xp.to(a, self.xp.f64), self.xp.to(b, self.xp.f64)), self.xp.i64)
        elif self.xp.name == "numpy":
            made = self.xp.matmul(a, b)
        else:
            made = (a[..., None] * b[..., None, :, :]).sum(-2)
        return wrapped(dtype, c + made)

    def op_dot(self, op: Op) -> None:
        a, b = self.factors(op)
        self.out(op, self.product(op, a, b, self.tile(self.env[op.ins[2]])))

    def op_wgmma(self, op: Op) -> None:
        found = []
        for i in range(2):
            x = self.env[op.ins[i]]
            x = self.load(x) if isinstance(x, View) else self.full(x, self.types[op.ins[i]].shape)
            found.append(self.xp.permute(x, (0, 2, 1)) if op.at("transposed") >> i & 1 else x)
        c = self.tile(self.env[op.ins[2]])
        if len(op.ins) == 4:
            on = self.tile(self.env[op.ins[3]])
            c = self.xp.where(on.reshape(-1, 1, 1), c, 0 * c)
        self.out(op, self.product(op, found[0], found[1], c))

    # -- memory

    def op_alloc(self, op: Op) -> None:
        t = op.types[0]
        key = (op.outs[0], self.team)
        if key not in self.shared:
            self.shared[key] = Memory(t.dtype, list(t.shape), shared=True)
        m = self.shared[key]
        n = len(t.shape)
        self.out(op, View(m, list(t.shape), t.shape, [0] * n, [1] * n, [None] * n, list(range(n)), [None] * n, [None] * n))

    def index_of(self, v: int) -> Any:
        """A scalar: one number, or one per block."""
        x = self.env[v]
        return x.reshape(-1)[0].item() if isinstance(x, np.ndarray) and x.size == 1 else x

    def op_view(self, op: Op) -> None:
        of, t = self.env[op.ins[0]], op.types[0]
        v = View(of.memory, of.size, t.shape, list(of.start), list(of.step), list(of.index), [], list(of.first), list(of.end), of.gather, False)
        n = len(of.dim)
        steps = op.imm.get("step", [])
        first = True
        for d in range(n):
            root = of.dim[d]
            start = self.env[op.ins[1 + d]]
            gathers = self.types[op.ins[1 + d]].space == "reg"
            if len(op.ins) > 1 + n:  # bounds of its own
                lo, hi = self.index_of(op.ins[1 + n + d]), self.index_of(op.ins[1 + 2 * n + d])
                v.first[root] = v.first[root] if isinstance(lo, int) and lo == -(2**63) else of.start[root] + lo
                v.end[root] = v.end[root] if isinstance(hi, int) and hi == 2**63 - 1 else of.start[root] + hi
            if gathers:
                v.index[root] = start
            else:
                v.start[root] = v.start[root] + self.index_of(op.ins[1 + d])
            if d < len(steps) and steps[d] > 1:
                v.step[root] = steps[d]
            if op.at("dropped") >> d & 1:
                continue
            extent = t.shape[len(v.dim)]
            within = of.shape[d] if of.memory.shared or of.shape[d] >= 0 else extent
            if not gathers and within < extent:
                v.end[root] = v.start[root] + (within - 1) * v.step[root] + 1
            if gathers:
                if first:
                    v.gather = len(v.dim)
                first = False
                v.dim += [root] * (start.ndim - 1)
            else:
                v.dim.append(root)
        self.out(op, v)

    def for_blocks(self, x: Any, rank: int) -> Any:
        """A number of each block as tiles of that rank, with one element."""
        x = self.lift(np.array([x]), self.xp) if isinstance(x, int) else self.tile(x)
        return x.reshape(x.shape[0], *(1,) * rank)

    def places(self, v: View) -> tuple[Any, Any]:
        """For each element of a view its index in memory, and whether it is in bounds."""
        xp, at, inside = self.xp, None, None
        n, stride = len(v.shape), 1
        for root in reversed(range(len(v.size))):
            size, first, end = v.size[root], v.first[root], v.end[root]
            if v.index[root] is not None:
                x = self.tile(v.index[root])
                x = x.reshape(x.shape[0], *(1,) * v.gather, *x.shape[1:], *(1,) * (n - v.gather - x.ndim + 1))
            else:
                x = v.start[root]
                if not isinstance(x, int):
                    x = self.tile(x)
                    x = x.reshape(x.shape[0], *(1,) * n)
                if root in v.dim:
                    d = v.dim.index(root)
                    shape = [1] * (1 + n)
                    shape[1 + d] = v.shape[d]
                    along = xp.arange(v.shape[d]).reshape(shape)
                    x = (along if v.step[root] == 1 else along * v.step[root]) + x
                elif isinstance(x, int):
                    x = self.lift(np.array([x]), xp).reshape((1,) * (1 + n))
            ok = (x >= 0) & (x < size)
            if first is not None:
                ok = ok & (x >= self.for_blocks(first, n))
            if end is not None:
                ok = ok & (x < self.for_blocks(end, n))
            inside = ok if inside is None else inside & ok
            at = x * stride if at is None else at + x * stride
            stride *= size
        if at is None:
            at = self.lift(np.zeros(1, np.int64), xp).reshape((1,) * (1 + n))
            inside = at == 0
        if v.memory.shared:
            at = at + (xp.arange(self.nb) * v.memory.count).reshape(self.nb, *(1,) * n)
        return at, inside

    def flat(self, m: Memory) -> Any:
        """The elements of a shared tile, from the entire tile."""
        xp = self.xp
        if m.flat is None:
            count = self.nb * m.count + 1
            kind = xp.f64 if is_float(m.dtype) else xp.bool if m.dtype == "bool" else xp.i64
            m.flat = xp.full((count,), math.nan if is_float(m.dtype) else 0, kind)
        if m.whole is not None:
            m.flat[:-1] = xp.expand(m.whole, (self.nb, *m.whole.shape[1:])).reshape(-1)
            m.whole = None
        return m.flat

    def load(self, v: View) -> Any:
        xp, m = self.xp, v.memory
        if m.shared and v.plain and m.whole is not None and list(v.shape) == list(m.whole.shape[1:]):
            return m.whole
        at, inside = self.places(v)
        flat = self.flat(m) if m.shared else m.flat
        found = xp.take(flat, xp.where(inside, at, 0 * at + (flat.shape[0] - 1 if m.touched is not None or m.shared else 0)))
        if is_float(m.dtype):
            outside = -1.0 if m.dtype == "nf4" else 2.0 ** -127 if m.dtype == "e8m0" else 0.0
            return xp.where(inside, found, xp.full((), outside, xp.f64))
        return inside & found if m.dtype == "bool" else xp.where(inside, found, 0 * found)

    def op_load(self, op: Op) -> None:
        v = self.env[op.ins[0]]
        x = self.load(v)
        if op.at("oob_fill") == 1:
            raise NoReference("a load that fills")
        self.out(op, x)

    def op_copy(self, op: Op) -> None:
        of, to = (self.env[i] for i in op.ins[:2])
        self.write(to, self.load(of))
        if op.at("async") == 2:
            self.moved = True

    def write(self, v: View, x: Any, update: str = "", found: View | None = None) -> None:
        xp, m = self.xp, v.memory
        if m.shared and v.plain and not update and self.active is None and list(v.shape) == list(m.size):
            m.whole = xp.expand(x, (x.shape[0], *v.shape))
            return
        at, inside = self.places(v)
        if self.active is not None:
            inside = inside & self.active.reshape(-1, *(1,) * len(v.shape))
        flat = self.flat(m) if m.shared else m.flat
        shape = (max(at.shape[0], inside.shape[0], x.shape[0]), *v.shape)
        at = xp.expand(xp.where(inside, at, 0 * at + flat.shape[0] - 1), shape)
        x = xp.expand(x, shape)
        if found is not None:
            self.write(found, self.before(update, flat, at, x))
        if update:
            xp.update(update, flat, at, x)
        else:
            xp.put(flat, at, x)
        if m.touched is not None:
            m.touched[at.reshape(-1)] = True

    def before(self, update: str, flat: Any, at: Any, x: Any) -> Any:
        """The value that each update finds, if updates of an element are sequential."""
        xp = self.xp
        if update != "add":
            raise NoReference(f"what an atomic {update} finds")
        places, values = at.reshape(-1), x.reshape(-1)
        order = xp.order(places)
        sorted_, terms = places[order], values[order]
        sums = xp.cumsum(terms, 0) - terms
        first = xp.concat([sorted_[:1] == sorted_[:1], sorted_[1:] != sorted_[:-1]], 0)
        number = xp.cumsum(xp.to(first, xp.i64), 0) - 1
        starts = sums[first]
        made = xp.take(flat, sorted_) + sums - starts[number]
        out = 0 * values
        out[order] = made
        return xp.where(places == flat.shape[0] - 1, 0 * out, out).reshape(at.shape)

    def op_store(self, op: Op) -> None:
        kind = op.at("update")
        if kind >= len(UPDATES):
            raise NoReference("an atomic swap")
        v = self.env[op.ins[1]]
        x = self.tile(self.env[op.ins[0]])
        if x.ndim == 1 and len(v.shape):
            x = x.reshape(x.shape[0], *(1,) * len(v.shape))
        self.write(v, x, UPDATES[kind], self.env[op.ins[2]] if len(op.ins) > 2 else None)

    # -- loops and branches

    def mix(self, on: Any, new: Any, old: Any) -> Any:
        """new for the selected blocks, old for others."""
        new, old, on = self.tile(new), self.tile(old), self.tile(on)
        return self.xp.where(on.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

    def op_for(self, op: Op) -> None:
        lo, hi, step = (self.uniform(i) for i in op.ins[:3])
        carried = [self.env[i] for i in op.ins[3:]]
        body, early = op.blocks[0], op.at("breaks")
        names = [i for i, _ in body.args]
        if lo is None or hi is None or step is None or early:
            carried = self.ragged(op, carried, names, early)
        else:
            for i in range(lo, hi, step):
                self.in_time()
                self.env.update(zip(names, [np.array([i]), *carried]))
                carried = [self.env[y] for y in self.run(body)]
        for i in names:
            self.env.pop(i, None)
        self.env.update(zip(op.outs, carried))

    def in_time(self) -> None:
        if time.monotonic() > self.until:
            raise NoReference("its loops take too long")

    def ragged(self, op: Op, carried: list[Any], names: list[int], early: int) -> list[Any]:
        """A loop that blocks leave at different times."""
        xp, outer = self.xp, self.active
        at, hi, step = (self.tile(self.env[i]) for i in op.ins[:3])
        turns = 0
        on = at < hi
        while True:
            if early:
                on = on & self.tile(carried[0])
            if outer is not None:
                on = on & outer
            if not bool(xp.numpy(on.any())):
                break
            turns += 1
            self.in_time()
            if turns > 1 << 16:
                raise NoReference("a loop that does not end while all blocks run side by side")
            everywhere = bool(xp.numpy(on.all()))
            self.active = outer if everywhere else xp.expand(on, (self.nb,))
            self.env.update(zip(names, [at, *carried]))
            new = [self.env[y] for y in self.run(op.blocks[0])]
            carried = new if everywhere else [self.mix(on, n, o) for n, o in zip(new, carried)]
            at = at + step
            on = on & (at < hi)
        self.active = outer
        return carried

    def op_if(self, op: Op) -> None:
        cond, outer = self.uniform(op.ins[0]), self.active
        if cond is not None:
            taken = op.blocks[0] if cond else op.blocks[1] if len(op.blocks) > 1 else None
            got = [self.env[y] for y in self.run(taken)] if taken else []
            self.env.update(zip(op.outs, got))
            return
        on = self.tile(self.env[op.ins[0]])
        results: list[list[Any]] = []
        for side, block in zip((on, on == 0), op.blocks):
            here = side if outer is None else side & outer
            self.active = self.xp.expand(here, (self.nb,))
            results.append([self.env[y] for y in self.run(block)] if bool(self.xp.numpy(here.any())) else [])
        self.active = outer
        for n, i in enumerate(op.outs):
            both = [r[n] if r else None for r in results]
            self.env[i] = both[1] if both[0] is None else both[0] if both[1] is None else self.mix(on, both[0], both[1])

    # -- roles

    def op_grid_barrier(self, op: Op) -> None:
        raise NoReference("blocks that wait for all others")

    def op_mbarrier(self, op: Op) -> None:
        self.bars[op.outs[0]] = {"arrivals": op.at("arrivals"), "here": [0] * op.types[0].shape[0], "phase": [0] * op.types[0].shape[0]}
        self.env[op.outs[0]] = op.outs[0]

    def slot(self, op: Op) -> tuple[dict[str, Any], int]:
        n = self.uniform(op.ins[1])
        if n is None or self.active is not None:
            raise NoReference("roles whose blocks take different turns")
        return self.bars[self.env[op.ins[0]]], n

    def op_mbarrier_arrive(self, op: Op) -> None:
        b, n = self.slot(op)
        b["here"][n] += 1
        self.moved = True
        if b["here"][n] >= b["arrivals"]:
            b["here"][n] = 0
            b["phase"][n] += 1

    def op_mbarrier_wait(self, op: Op) -> None:
        b, n = self.slot(op)
        phase = self.uniform(op.ins[2])
        if phase is None:
            raise NoReference("roles whose blocks take different turns")
        assert self.turns
        while b["phase"][n] & 1 == phase & 1:
            self.turns.give(self.role, self.moved)
            self.moved = False
            self.turns.mine(self.role)
        self.moved = True

    moved = False

    def op_consumer_group_id(self, op: Op) -> None:
        self.out(op, np.array([self.team]))

    def op_roles(self, op: Op) -> None:
        """Region 0 and one region 1 for each consumer group, alternating."""
        count = 1 + self.k.teams
        turns = Turns(count)
        crew = []

        def work(i: int) -> None:
            one = object.__new__(Machine)
            one.__dict__.update(self.__dict__)
            one.env, one.turns, one.role, one.team = dict(self.env), turns, i, max(0, i - 1)
            one.bars, one.shared = self.bars, self.shared
            try:
                turns.mine(i)
                one.run(op.blocks[0 if i == 0 else 1])
            except BaseException as error:  # noqa: BLE001 - it is raised where the roles were asked for
                if not isinstance(error, NoReference) or turns.failed is None:
                    turns.failed = turns.failed or error
            finally:
                with turns.lock:
                    turns.alive[i] = False
                turns.give(i, True)

        for i in range(count):
            crew.append(threading.Thread(target=work, args=(i,)))
            crew[-1].start()
        for thread in crew:
            thread.join()
        if turns.failed:
            raise turns.failed

    types: dict[int, Type]


# ---- a run -----------------------------------------------------------------------------------------------------------

def types_of(kernel: Kernel) -> dict[int, Type]:
    found = {p.id: p.type for p in kernel.params}

    def walk(block: Block) -> None:
        for i, t in block.args:
            found[i] = t
        for op in block.ops:
            found.update(zip(op.outs, op.types))
            for inner in op.blocks:
                walk(inner)

    walk(kernel.grid)
    walk(kernel.body)
    return found


def _largest(block: Block) -> int:
    """Elements of the largest register tile."""
    most = 1
    for op in block.ops:
        most = max([most, *(math.prod(t.shape) for t in op.types if t.space == "reg")])
        most = max([most, *(_largest(b) for b in op.blocks)])
    return most


def _has(block: Block, test: Callable[[Op], bool]) -> bool:
    return any(test(op) or any(_has(b, test) for b in op.blocks) for op in block.ops)


LATEST = 4  # times the given time: then blocks in progress stop too, and NoReference is raised

Value = tuple[Array, Array]  # and the maximum distance of a correct one from it


def run(kernel: Kernel, xp: Any, tensors: Mapping[str, Array], numbers: Mapping[str, float], *, bounds: Mapping[str, Array] | None = None,
        seconds: float = math.inf, elements: int = 0) -> dict[str, Value]:
    """A kernel's outputs: name -> (value, bound), both f64, or integers' values as i64.

    ``tensors``: values of all inputs, floats as f64, and shapes of pure outputs (a tuple); ``numbers``: sizes
    and scalars; ``bounds``: of tensors that are read and written, if their contents are not exact. ``elements``:
    of a tile over all concurrently computed blocks, 0: 2^24, fewer if time is limited. After ``seconds`` no more
    blocks start; the outputs of the others have infinite bounds. Kernels whose blocks add to each other's
    outputs are computed completely.
    """
    with np.errstate(all="ignore"):
        return _run(kernel, xp, tensors, numbers, bounds or {}, seconds, elements or (1 << 20 if math.isfinite(seconds) else 1 << 24))


def _scalars(kernel: Kernel, numbers: Mapping[str, float]) -> dict[int, Any]:
    env: dict[int, Any] = {}
    for p in kernel.params:
        if p.kind != "tensor":
            x = numbers[p.name]
            env[p.id] = rounded(Numpy(), p.type.dtype, np.array([float(x)])) if is_float(p.type.dtype) else np.array([int(x)], np.int64)
    return env


def _memories(kernel: Kernel, xp: Any, tensors: Mapping[str, Array], bounds: Mapping[str, Array], env: dict[int, Any]) -> dict[str, Memory]:
    """The memories of all tensors, including those that carry bounds."""
    found: dict[str, Memory] = {}

    def place(p: Param, data: Array, shape: tuple[int, ...], written: bool) -> None:
        dtype = p.type.dtype
        flat = data.reshape(-1)
        if written:
            flat = xp.concat([flat, flat[:1] if flat.shape[0] else xp.full((1,), 0, flat.dtype)], 0)
        m = Memory(dtype, list(shape), flat, touched=xp.full((flat.shape[0],), False, xp.bool) if written else None)
        found[p.name] = m
        n = len(shape)
        env[p.id] = View(m, list(shape), p.type.shape, [0] * n, [1] * n, [None] * n, list(range(n)), [None] * n, [None] * n, plain=False)

    for p in kernel.params:
        if p.kind != "tensor":
            continue
        name = re.sub(r"^(the bounds|sums) of ", "", p.name)
        if p.name == "doubt":
            place(p, xp.full((2,), 0.0, xp.f64), (2,), True)
            continue
        x = tensors[name]
        shape = tuple(x) if isinstance(x, tuple) else tuple(x.shape)
        given = not isinstance(x, tuple)
        if p.name.startswith("the bounds of "):
            start = bounds.get(name)
            place(p, start + 0.0 if start is not None else xp.full(shape, 0.0 if given else math.inf, xp.f64), shape, True)
        elif p.name.startswith("sums of "):
            first = f"{p.name} 0" not in found
            data = xp.to(x, xp.f64) if first and given else xp.full(shape, 0.0, xp.f64)
            place(p, data + 0.0, shape, True)
            found[f"{p.name} {sum(f'{p.name} {i}' in found for i in range(4))}"] = found[p.name]
        else:
            kind = xp.f64 if is_float(p.type.dtype) else xp.bool if p.type.dtype == "bool" else xp.i64
            data = xp.full(shape, math.nan if is_float(p.type.dtype) else 0, kind) if not given else x
            place(p, data, shape, p.written)
    return found


def machine_of(kernel: Kernel, numbers: Mapping[str, float]) -> Machine:
    """A machine that computes scalars."""
    m = Machine(kernel, Numpy(), _scalars(kernel, numbers), np.arange(1), (1, 1, 1))
    m.types = types_of(kernel)
    return m


def _run(kernel: Kernel, xp: Any, tensors: Mapping[str, Array], numbers: Mapping[str, float], bounds: Mapping[str, Array], seconds: float,
         elements: int) -> dict[str, Value]:
    env = _scalars(kernel, numbers)
    types = types_of(kernel)

    def machine(block: Array, grid: tuple[int, int, int], names: dict[int, Any]) -> Machine:
        m = Machine(kernel, xp, names, block, grid)
        m.types = types
        return m

    first = machine(xp.arange(1), (1, 1, 1), dict(env))
    yields = first.run(kernel.grid)
    x, y, z = ([int(first.uniform(i) or 0) for i in yields] + [1, 1])[:3]
    memories = _memories(kernel, xp, tensors, bounds, env)
    total, each = x * y * z, max(1, elements // _largest(kernel.body))
    shares = _has(kernel.body, lambda op: op.code in ("linear_block_id", "block_in_grid") or op.code == "store" and op.at("update") != 0
                  and not op.types and types[op.ins[1]].space == "global" and not _of_doubt(kernel, op))
    starts = list(range(0, total, each))
    if math.isfinite(seconds) and len(starts) > 2:  # the first, the last, then those between
        starts = [starts[0], starts[-1], *starts[1:-1]]
    until, done = time.monotonic() + seconds, 0
    last = time.monotonic() + LATEST * seconds
    for start in starts:
        if not shares and done and time.monotonic() > until:
            break
        n = min(each, total - start)
        m = machine(xp.arange(n) + start, (x, y, z), dict(env))
        m.until = last
        m.run(kernel.body)
        done += n
    return _found(kernel, xp, memories, tensors, done == total)


def _of_doubt(kernel: Kernel, op: Op) -> bool:
    """Is it a store to the cells that tell whether bounds are valid?"""
    defined: dict[int, Op] = {}

    def walk(block: Block) -> None:
        for o in block.ops:
            for i in o.outs:
                defined[i] = o
            for b in o.blocks:
                walk(b)

    walk(kernel.body)
    at = op.ins[1]
    while at in defined and defined[at].ins:
        at = defined[at].ins[0]
    return any(p.id == at and p.name == "doubt" for p in kernel.params)


def _found(kernel: Kernel, xp: Any, memories: Mapping[str, Memory], tensors: Mapping[str, Array], whole: bool) -> dict[str, Value]:
    out: dict[str, Value] = {}
    written = [p for p in kernel.tensors() if p.written]
    doubt = kernel.bounded and bool(xp.numpy(memories["doubt"].flat)[0] > 0)
    for p in kernel.params:
        if p not in written:
            continue
        m = memories[p.name]
        shape = tuple(m.size)
        value = m.flat[:-1]
        if is_float(m.dtype) and f"sums of {p.name}" in memories:
            value = rounded(xp, m.dtype, value)
        bound = xp.full((value.shape[0],), math.inf, xp.f64)
        if kernel.bounded and not doubt:
            bound = memories[f"the bounds of {p.name}"].flat[:-1]
            if f"sums of {p.name}" in memories:
                bound = _bound_of_sum(xp, m.dtype, bound, [memories[f"sums of {p.name} {i}"].flat[:-1] for i in range(4)])
            if isinstance(tensors[p.name], tuple) or not whole:
                bound = xp.where(m.touched[:-1], bound, xp.full((), math.inf, xp.f64))
        out[p.name] = (value.reshape(shape), bound.reshape(shape))
    return out


def _bound_of_sum(xp: Any, dtype: str, e: Array, sums: Sequence[Array]) -> Array:
    """As bound_of_sum of lib/error_bound/atomic.c: for any order of updates."""
    start, size, count, fraction = sums
    size = xp.abs(start) + size + e
    n = count + xp.to((start != 0) | xp.isnan(start), xp.f64)
    exact = (e <= 0) & (fraction <= 0) & (xp.floor(start) >= start) & (size <= 2.0 ** (arrays.FLOATS[dtype][1] + 1))
    g = xp.where((e <= 0) & (n <= 2), 0 * n, xp.expm1((n - 1) * math.log1p(arrays.roundoff(dtype))))
    made = e + 2 * g * size
    if dtype == "f32":
        made = made + 3 * count * arrays.smallest(dtype, True)
    made = made * (1 + 2.0 ** -40)
    made = xp.where((1 + g) * size <= arrays.largest(dtype), made, xp.full((), math.inf, xp.f64))
    return xp.where(count <= 0, e, xp.where(exact, 0 * made, made))
