"""Random programs on tiles that reach past the ends of their tensors: a tree makes the text of a hexc program and
is evaluated by model.py. Nodes are tiles; each has its arguments by number."""

from __future__ import annotations

import copy
import random
import re
from dataclasses import dataclass, field
from typing import Any

import model
import numpy as np
import numpy.ma as ma
import contextlib

FEATURES = (
    "base reduce reshape slice concat shift scan user dot batch pipe gather pairs places index picks loops if "
    "iftile parts moving store storeat scatter atomic old mean arg last where wfill scalar strides blocks steps "
    "lengths types fill below partbelow assign sort topk"
).split()
SENTINEL = {"f32": -12345, "i32": -1234567}
EXTENTS = (1, 2, 4, 7, 8, 16, 32, 33, 40, 64)
SIZES = (1, 7, 33, 40, 64, 200)

# The functions that the programs call.
PRELUDE = """fn opening(a, _b) { return a; }
fn latest(_a, b) { return b; }
fn adding(a, b) { return a + b; }
fn either(a, b) { return a || b; }
fn linear(a, b, c, d) { return a * c, b * c + d; }
"""


@dataclass
class Node:
    id: int
    op: str
    args: list[int]
    at: dict[str, Any]
    dtype: str
    shape: tuple[int, ...]


@dataclass
class Tensor:
    name: str
    dtype: str
    size: list[int]
    named: list[bool]  # a size of the launch; otherwise a number in the text
    values: tuple[int, int]  # from, to
    seed: int
    pad: int = 0  # elements between rows
    keep: list[tuple[int, int]] = field(default_factory=list)  # the rest is poison: by dim
    written: bool = False
    special: str = ""  # some or all elements are infinite, NaN, or the least and largest numbers

    def data(self) -> np.ndarray:
        r = np.random.default_rng(self.seed)
        lo, hi = self.values
        x = r.integers(lo, hi + 1, self.size)
        if self.dtype[0] == "f":
            x = x.astype(model.NUMPY[self.dtype])
        if self.special:
            few = {"f32": [-np.inf, -np.inf, np.inf, np.nan], "i32": [-(2**31), 2**31 - 1]}[self.dtype]
            if self.special == "all":
                x[...] = few[self.seed % len(few)]
            else:
                x = np.where(r.random(self.size) < 0.3, r.choice(few, self.size), x)
        return x.astype(model.NUMPY[self.dtype])

    def poisoned(self) -> np.ndarray:
        """The data, with poison for what no slice with ends of its own has. Not to be written."""
        key = (self.dtype, tuple(self.size), self.values, self.seed, self.special, tuple(self.keep))
        if key not in MADE:
            if len(MADE) > 100:
                MADE.clear()
            MADE[key] = self.made()
        return MADE[key]

    def made(self) -> np.ndarray:
        x = self.data()
        for d, (lo, hi) in enumerate(self.keep):
            i = np.arange(self.size[d])
            out = (i < lo) | (i >= hi)
            at = [slice(None)] * len(self.size)
            at[d] = out
            x[tuple(at)] = (
                np.nan if self.dtype[0] == "f" else {"u4": 15, "i32": 0x7F7F7F7F}.get(self.dtype, 0x7F)
            )
        return x


MADE: dict[tuple, np.ndarray] = {}


@dataclass
class Sink:
    kind: str  # store storeat scatter atomic
    node: int
    index: int = -1
    dims: list[dict] = field(default_factory=list)  # storeat: a slice of a tensor of this size
    size: list[int] = field(default_factory=list)
    how: str = "="  # += atomic


@dataclass
class Program:
    seed: int
    blocks: int
    tensors: list[Tensor]
    scalars: dict[str, int]
    lets: dict[str, tuple[str, int, int | None]]  # elements of tensors: at, below
    nodes: list[Node]
    sinks: list[Sink]
    store: bool  # are masked elements compared as unwritten?

    def every(self) -> list[Node]:
        out: list[Node] = []

        def walk(nodes: list[Node]) -> None:
            for n in nodes:
                out.append(n)
                for body in ("body", "then", "else"):
                    if body in n.at:
                        walk(n.at[body])

        walk(self.nodes)
        return out

    def node(self) -> dict[int, Node]:
        return {n.id: n for n in self.every()}


# ---- text --------------------------------------------------------------------------------------------------------


def linear_text(e: dict[str, int]) -> str:
    """An expression: symbols with factors, and a number under ""."""
    out = ""
    for s, k in e.items():
        if s == "" or k == 0:
            continue
        sign = "-" if k < 0 else "+" if out else ""
        out += f" {sign} " if out else sign
        out += s if abs(k) == 1 else f"{s} * {abs(k)}"
    k = e.get("", 0)
    if not out:
        return str(k)
    return out if k == 0 else f"{out} {'+' if k > 0 else '-'} {abs(k)}"


def extents(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))


def number(v: float, dtype: str) -> str:
    if dtype == "bool":
        return "true" if v else "false"
    if v == -np.inf:
        return "-inf"
    return str(int(v))


def part_text(dims: list) -> str:
    return ", ".join(str(s) if n is None else f"{s} :+ {n}" for s, n in dims)


class Text:
    def __init__(self, p: Program) -> None:
        self.p = p
        self.shape = {n.id: n.shape for n in p.every()}
        self.dtype = {n.id: n.dtype for n in p.every()}
        self.name = {n.id: f"v{n.id}" for n in p.every()}
        self.lines: list[str] = []

    def source(self) -> str:
        p = self.p
        params = [f"{s}: i64" for s in p.scalars]
        for t in p.tensors:
            sizes = [
                f"{t.name}n{d}" if named else str(n)
                for d, (n, named) in enumerate(zip(t.size, t.named, strict=True))
            ]
            line = f"{t.name}: {'inout ' if t.written else ''}{t.dtype}[{', '.join(sizes)}]"
            if t.pad:
                line += f" strides [{', '.join([f'{t.name}s{d}' for d in range(len(sizes) - 1)] + ['1'])}]"
            params.append(line)
        for name, dtype, shape in outputs(p):
            params.append(f"{name}: inout {dtype}[{extents(shape)}]")
        for s, (tensor, at, hi) in p.lets.items():
            self.say(1, f"let {s} = i64({tensor}[{at}{'' if hi is None else f' below {hi}'}]);")
        self.put(p.nodes, 1)
        for i, s in enumerate(p.sinks):
            self.sink(i, s)
        return (
            PRELUDE
            + f"kernel k({', '.join(params)})\n{{\n    grid({p.blocks});\n"
            + "\n".join(self.lines)
            + "\n}\n"
        )

    def say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def put(self, nodes: list[Node], depth: int) -> None:
        for n in nodes:
            self.one(n, depth)

    def view(self, name: str, dims: list[dict]) -> str:
        out = []
        for d in dims:
            text = linear_text(d["start"])
            if d["extent"] is not None:
                text += f" :+ {d['extent']}"
                if d.get("step", 1) != 1:
                    text += f" step {d['step']}"
            if d.get("lo") is not None:
                text += f" from {linear_text(d['lo'])}"
            if d.get("hi") is not None:
                text += f" below {linear_text(d['hi'])}"
            out.append(text)
        return f"{name}[{', '.join(out)}]"

    def one(self, n: Node, depth: int) -> None:
        v = [self.name[i] for i in n.args]
        _at, me = n.at, self.name[n.id]
        f = getattr(self, "op_" + n.op, None)
        if f:
            f(n, v, depth)
            return
        self.say(depth, f"let {me} = {self.expression(n, v)};")

    def expression(self, n: Node, v: list[str]) -> str:
        at, op = n.at, n.op
        k = number(at["v"], self.dtype[n.args[0]] if n.args else n.dtype) if "v" in at else ""
        if op in ("+", "-", "*", "<", "<=", "==", "!=", "&&", "||"):
            text = f"{v[0]} {op} {v[1] if len(v) > 1 else k}"
            return f"exact({text})" if at.get("exact") else text
        if op in ("max", "min"):
            return f"{op}({v[0]}, {v[1] if len(v) > 1 else k})"
        if op == "!":
            return f"!{v[0]}"
        if op == "neg":
            return f"-{v[0]}"
        if op == "abs":
            return f"abs({v[0]})"
        if op == "clamp":
            return f"max(min({v[0]}, {at['hi']}), {at['lo']})"
        if op == "cast":
            x = v[0]
            if n.dtype == "i32" and self.dtype[n.args[0]] == "f32":
                x = f"max(min({x}, 1000), -1000)"
            return f"{n.dtype}({x})"
        if op == "iota":
            return f"iota({at['d']}, {extents(n.shape)})"
        if op == "where":
            a = v[1] if at["a"] is None else number(at["a"], n.dtype)
            b = v[-1] if at["b"] is None else number(at["b"], n.dtype)
            return f"{at.get('f', 'where')}({v[0]}, {a}, {b})"
        if op == "inside":
            return f"inside({v[0]})"
        if op == "fill":
            return f"fill({v[0]}, {k})"
        if op == "wfill":
            c = f"inside({v[0]})" + (f" && {v[1]}" if len(v) > 1 else "")
            return f"where({c}, {v[0]}, {k})"
        if op == "transpose":
            return f"{v[0]}.T" if at.get("T") else f"transpose({v[0]}, {extents(at['p'])})"
        if op == "reshape":
            return f"reshape({v[0]}, {extents(n.shape)})"
        if op == "concat":
            return f"concat({at['d']}, {', '.join(v)})"
        if op == "shift":
            return f"shift({v[0]}, {at['d']}, {at['n']}" + (
                f", {number(at['fill'], n.dtype)})" if at["fill"] is not None else ")"
            )
        if op in ("sum", "reduce_max", "reduce_min", "argmax", "argmin", "reduce_last"):
            return f"{op}({v[0]}, {at['d']})"
        if op == "mean8":
            return f"floor(mean({v[0]}, {at['d']}) * 8 + 0.0009765625)"
        if op in ("cumsum", "cumprod", "cummax", "cummin"):
            return f"{op}({v[0]}, {at['d']})"
        if op == "ureduce" and at["f"] != "linear":
            return f"reduce({at['f']}, {at['d']}, {v[0]})"
        if op == "uscan" and at["f"] != "linear":
            return f"scan({at['f']}, {at['d']}, {v[0]})"
        if op == "dot":
            return f"dot({', '.join(v)})"
        if op == "element":
            return f"{v[0]} + {v[1]}[{extents(at['at'])}]"
        if op == "sort":
            return f"{at['f']}({v[0]}, {at['d']})"
        if op == "gatherreg":
            dims = [":"] * len(self.shape[n.args[0]])
            dims[at["d"]] = v[1]
            return f"{v[0]}[{', '.join(dims)}]"
        raise AssertionError(op)

    def op_load(self, n: Node, v: list[str], depth: int) -> None:
        me, at = self.name[n.id], n.at
        space = f": {at['space']}" if at["space"] else ""
        view = self.view(at["tensor"], at["dims"])
        if "as" not in at:
            self.say(depth, f"let {me}{space} = {view};")
        elif at["space"]:
            self.say(depth, f"let c{n.id}{space} = {view};")
            self.say(depth, f"let {me} = {n.dtype}(c{n.id});")
        else:
            self.say(depth, f"let {me} = {n.dtype}({view});")

    def op_gather(self, n: Node, v: list[str], depth: int) -> None:
        dims = [self.view("", [d])[1:-1] for d in n.at["dims"]]
        dims[n.at["d"]] = v[0]
        self.say(depth, f"let {self.name[n.id]}: register = {n.at['tensor']}[{', '.join(dims)}];")

    def op_part(self, n: Node, v: list[str], depth: int) -> None:
        dims = [
            (linear_text(n.at["pick"]) if e == n.at.get("picked") else s, k)
            for e, (s, k) in enumerate(n.at["dims"])
        ]
        self.say(depth, f"let {self.name[n.id]} = {v[0]}[{part_text(dims)}];")

    def op_partbelow(self, n: Node, v: list[str], depth: int) -> None:
        out = []
        for (s, k), (lo, hi) in zip(n.at["dims"], n.at["ends"], strict=True):
            text = f"{s} :+ {k}" + (f" from {linear_text(lo)}" if lo is not None else "")
            out.append(text + (f" below {linear_text(hi)}" if hi is not None else ""))
        self.say(depth, f"let {self.name[n.id]} = {v[0]}[{', '.join(out)}];")

    def op_topk(self, n: Node, v: list[str], depth: int) -> None:
        me, at = self.name[n.id], n.at
        names = (f"_{me}", me) if at["i"] else (me, f"_{me}")
        self.say(depth, f"let ({names[0]}, {names[1]}) = topk({v[0]}, {n.shape[at['d']]}, {at['d']});")

    def op_gather2(self, n: Node, v: list[str], depth: int) -> None:
        self.say(depth, f"let {self.name[n.id]}: register = {n.at['tensor']}[{v[0]}, {v[1]}];")

    def op_old(self, n: Node, v: list[str], depth: int) -> None:
        view = self.view(n.at["tensor"], n.at["dims"])
        if len(v) > 1:
            view = (
                f"{n.at['tensor']}[{v[1]}"
                + "".join(f", {self.view('', [d])[1:-1]}" for d in n.at["dims"][1:])
                + "]"
            )
        self.say(depth, f"let {self.name[n.id]} = atomic_add({view}, {v[0]});")

    def op_pipe(self, n: Node, v: list[str], depth: int) -> None:
        me, at = self.name[n.id], n.at
        self.say(depth, f"var {me}: register f32[{extents(n.shape)}] = 0;")
        self.say(
            depth, f"pipeline k{n.id} in 0..{linear_text(at['k'])} step {at['step']} stages {at['stages']} {{"
        )
        self.say(depth + 1, f"let a{n.id}{at['space']} = {self.view(at['tensor'], at['dims'])};")
        self.say(depth + 1, f"let b{n.id}{at['space']} = {self.view(at['tensor2'], at['dims2'])};")
        self.say(depth + 1, f"{me} += dot(a{n.id}, b{n.id}.T);")
        self.say(depth, "}")

    def op_shared(self, n: Node, v: list[str], depth: int) -> None:
        self.say(depth, f"let {self.name[n.id]}: shared = {v[0]};")

    def op_uscan(self, n: Node, v: list[str], depth: int) -> None:
        self.several(n, v, depth, "scan")

    def op_ureduce(self, n: Node, v: list[str], depth: int) -> None:
        self.several(n, v, depth, "reduce")

    def several(self, n: Node, v: list[str], depth: int, f: str) -> None:
        me = self.name[n.id]
        names = (
            me
            if len(v) == 1
            else "(" + ", ".join(me if i == n.at["i"] else f"_{me}_{i}" for i in range(len(v))) + ")"
        )
        self.say(depth, f"let {names} = {f}({n.at['f']}, {n.at['d']}, {', '.join(v)});")

    def op_parts(self, n: Node, v: list[str], depth: int) -> None:
        me = self.name[n.id]
        if n.at.get("register"):
            self.say(depth, f"var {me}: register {n.dtype}[{extents(n.shape)}] = {v[0]};")
            for dims, x in zip(n.at["dims"], v[1:], strict=True):
                at = [(s if e is None else linear_text(e), k) for (s, k), e in zip(dims, n.at["starts"], strict=True)]
                self.say(depth, f"{me}[{part_text(at)}] = {x};")
            return
        if n.at["based"]:
            self.say(depth, f"let t{n.id}: shared = {v[0]};")
            v = v[1:]
        else:
            self.say(depth, f"let t{n.id}: shared {n.dtype}[{extents(n.shape)}];")
        for dims, x in zip(n.at["dims"], v, strict=True):
            self.say(depth, f"t{n.id}[{part_text(dims)}] = {x};")
        self.say(depth, f"let {me}: register = t{n.id};")

    def op_moving(self, n: Node, v: list[str], depth: int) -> None:
        rows, t = self.shape[n.args[0]][0], f"t{n.id}"
        self.say(depth, f"let {t}: shared {n.dtype}[{extents(n.shape)}];")
        self.say(depth, f"{t}[{', '.join([':'] * len(n.shape))}] = {n.at['start']};")
        self.say(depth, f"for i{n.id} in 0..{linear_text(n.at['turns'])} {{")
        at = ", ".join([f"i{n.id} * {rows} :+ {rows}"] + [":"] * (len(n.shape) - 1))
        self.say(depth + 1, f"{t}[{at}] = {v[0]};")
        self.say(depth, "}")
        self.say(depth, f"let {self.name[n.id]}: register = {t};")

    def op_carried(self, n: Node, v: list[str], depth: int) -> None:
        pass

    def op_loop(self, n: Node, v: list[str], depth: int) -> None:
        me = self.name[n.id]
        self.name[n.at["carried"]] = me
        self.say(depth, f"var {me}: register {n.dtype}[{extents(n.shape)}] = {v[0]};")
        turns = f"i64({v[1]}[{extents(n.at['by'])}])" if len(v) > 1 else linear_text(n.at["turns"])
        self.say(depth, f"for t{n.id} in 0..{turns} {{")
        self.put(n.at["body"], depth + 1)
        self.say(depth + 1, f"{me} = {self.name[n.at['y']]};")
        self.say(depth, "}")

    def op_if(self, n: Node, v: list[str], depth: int) -> None:
        me = self.name[n.id]
        self.say(depth, f"var {me}: register {n.dtype}[{extents(n.shape)}] = {v[0]};")
        c = n.at["cond"]
        if c[0] == "tensor":
            text = f"{c[1]}[{linear_text(c[2])}] > {c[3]}"
        elif c[0] == "one":
            text = f"{v[1]} > {c[1]}"
        else:
            text = f"{v[1]}[{extents(c[1])}] > {c[2]}"
        self.say(depth, f"if {text} {{")
        self.put(n.at["then"], depth + 1)
        self.say(depth + 1, f"{me} = {self.name[n.at['a']]};")
        if n.at["b"] is not None:
            self.say(depth, "} else {")
            self.put(n.at["else"], depth + 1)
            self.say(depth + 1, f"{me} = {self.name[n.at['b']]};")
        self.say(depth, "}")

    def sink(self, i: int, s: Sink) -> None:
        v, dtype = self.name[s.node], self.dtype[s.node]
        whole = "".join(f", 0 :+ {n}" for n in self.shape[s.node])
        x = v if dtype != "bool" else f"i32({v})"
        if s.kind == "store":
            self.say(1, f"OUT{i}[block.x{whole}] = {x};")
            self.say(1, f"IN{i}[block.x{whole}] = i32(inside({v}));")
            return
        if s.kind == "storeat":
            view = self.view(f"OUT{i}", s.dims)
            self.say(1, f"atomic_add({view}, {x});" if s.how == "atomic" else f"{view} {s.how} {x};")
            return
        rest = "".join(f", 0 :+ {n}" for n in self.shape[s.node][len(self.shape[s.index]) :])
        target = f"OUT{i}[{self.name[s.index]}{rest}]"
        self.say(1, f"{target} = {x};" if s.kind == "scatter" else f"atomic_add({target}, {x});")


def first_value(p: Program, name: str, dtype: str) -> int:
    """What an output has before."""
    return (
        0
        if name[:3] == "OUT" and "atomic" in (p.sinks[int(name[3:])].kind, p.sinks[int(name[3:])].how)
        else SENTINEL[dtype]
    )


def outputs(p: Program) -> list[tuple[str, str, tuple[int, ...]]]:
    out = []
    node = p.node()
    for i, s in enumerate(p.sinks):
        n = node[s.node]
        dtype = "i32" if n.dtype == "bool" else n.dtype
        if s.kind == "store":
            out.append((f"OUT{i}", dtype, (p.blocks, *n.shape)))
            out.append((f"IN{i}", "i32", (p.blocks, *n.shape)))
        elif s.kind == "storeat":
            out.append((f"OUT{i}", dtype, tuple(s.size)))
        else:
            k = len(node[s.index].shape)
            out.append((f"OUT{i}", dtype, (ROWS, *n.shape[k:])))
    return out


ROWS = 24  # of tensors that are written through indices


# ---- evaluation --------------------------------------------------------------------------------------------------


def value(e: dict[str, int], env: dict[str, int]) -> int:
    return sum(k * (env[s] if s else 1) for s, k in e.items())


ELEMENTWISE = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "&&": ma.logical_and,
    "||": ma.logical_or,
}


class Evaluation:
    def __init__(self, p: Program, block: int) -> None:
        self.p = p
        self.env = dict(p.scalars) | {"block.x": block}
        self.data = {t.name: t.poisoned() for t in p.tensors}
        for s, (tensor, at, hi) in p.lets.items():
            self.env[s] = int(model.element(self.data[tensor], [at], hi))
        self.tile: dict[int, model.Tile] = {}

    def run(self, nodes: list[Node]) -> None:
        for n in nodes:
            t = getattr(self, "do_" + n.op, self.other)(n, [self.tile[i] for i in n.args])
            if t is not None:
                if t.shape != n.shape or t.dtype != model.NUMPY[n.dtype]:
                    raise model.Disagree(f"{n.op}: {t.dtype}{t.shape}, not {n.dtype}{n.shape}")
                self.tile[n.id] = t

    def view(self, dims: list[dict]) -> list[tuple]:
        def at(e: dict | None) -> int | None:
            return None if e is None else value(e, self.env)

        return [
            (at(d["start"]), d["extent"], d.get("step", 1), at(d.get("lo")), at(d.get("hi"))) for d in dims
        ]

    def do_load(self, n: Node, v: list) -> model.Tile:
        t = model.load(self.data[n.at["tensor"]], self.view(n.at["dims"]))
        if "as" not in n.at:
            return t
        with np.errstate(all="ignore"):  # NaN of what is not there
            return model.raw(lambda x: x.astype(model.NUMPY[n.dtype]), t)

    def do_gather(self, n: Node, v: list) -> model.Tile:
        data = self.data[n.at["tensor"]]
        dims = self.view(n.at["dims"])
        d = n.at["d"]
        dims[d] = (0, max(1, data.shape[d]), 1, None, None)
        source = model.load(data, dims)
        dropped = sum(1 for e, x in enumerate(dims) if e < d and x[1] is None)
        return model.gather(source, d - dropped, v[0])  # of no places: one that is not there

    def do_gather2(self, n: Node, v: list) -> model.Tile:
        return model.gather_pair(self.data[n.at["tensor"]], v[0], v[1])

    def do_partbelow(self, n: Node, v: list) -> model.Tile:
        ends = [tuple(None if e is None else value(e, self.env) for e in pair) for pair in n.at["ends"]]
        return model.part_below(v[0], n.at["dims"], ends)

    def do_topk(self, n: Node, v: list) -> model.Tile:
        d = n.at["d"]
        y = model.ordered(v[0], d, True, bool(n.at["i"]))
        return model.part(y, [(0, k) for k in n.shape])

    def do_part(self, n: Node, v: list) -> model.Tile:
        dims = list(n.at["dims"])
        if "picked" in n.at:
            dims[n.at["picked"]] = (value(n.at["pick"], self.env), None)
        return model.part(v[0], dims)

    def do_old(self, n: Node, v: list) -> model.Tile:
        data, dims = self.data[n.at["tensor"]], self.view(n.at["dims"])
        if len(v) > 1:
            dims[0] = (0, data.shape[0], 1, None, None)
        before = model.load(data, dims)
        return model.old_value(model.gather(before, 0, v[1]) if len(v) > 1 else before, v[0])

    def do_pipe(self, n: Node, v: list) -> model.Tile:
        y = model.whole(np.zeros(n.shape, np.float32))
        for k in range(0, value(n.at["k"], self.env), n.at["step"]):
            self.env[f"k{n.id}"] = k
            a = model.load(self.data[n.at["tensor"]], self.view(n.at["dims"]))
            b = model.load(self.data[n.at["tensor2"]], self.view(n.at["dims2"]))
            y = model.elementwise(lambda p, q: p + q, y, model.dot(a, model.transpose(b, [1, 0])))
        return y

    def do_carried(self, n: Node, v: list) -> None:
        return None

    def do_loop(self, n: Node, v: list) -> model.Tile:
        x = v[0]
        turns = model.tile_element(v[1], n.at["by"]) if len(v) > 1 else value(n.at["turns"], self.env)
        for turn in range(max(0, int(turns))):
            self.env[f"t{n.id}"] = turn
            self.tile[n.at["carried"]] = x
            self.run(n.at["body"])
            x = self.tile[n.at["y"]]
        return x

    def do_if(self, n: Node, v: list) -> model.Tile:
        c = n.at["cond"]
        if c[0] == "tensor":
            yes = model.element(self.data[c[1]], [value(c[2], self.env)]) > c[3]
        elif c[0] == "one":
            yes = model.decides(v[1], c[1])
        else:
            yes = model.tile_element(v[1], c[1]) > c[2]
        if yes:
            self.run(n.at["then"])
            return self.tile[n.at["a"]]
        self.run(n.at["else"])
        return v[0] if n.at["b"] is None else self.tile[n.at["b"]]

    def do_parts(self, n: Node, v: list) -> model.Tile:
        base = v[0] if n.at["based"] else model.whole(np.zeros(n.shape, model.NUMPY[n.dtype]))
        return model.assemble(base, list(zip(n.at["dims"], v[1:] if n.at["based"] else v, strict=True)))

    def do_moving(self, n: Node, v: list) -> model.Tile:
        return model.moving(n.shape, n.at["start"], value(n.at["turns"], self.env), v[0])

    def other(self, n: Node, v: list[model.Tile]) -> model.Tile:
        at, op = n.at, n.op
        if op in ELEMENTWISE or op in ("max", "min"):
            if len(v) == 1:
                k = np.array(at["v"]).astype(v[0].dtype).reshape((1,) * len(v[0].shape))
                v = [v[0], model.whole(k)]
            if op in ("max", "min"):
                return model.raw(np.fmax if op == "max" else np.fmin, *v)
            return model.elementwise(ELEMENTWISE[op], *v)
        if op == "!":
            return model.elementwise(ma.logical_not, v[0])
        if op == "neg":
            return model.elementwise(lambda x: -x, v[0])
        if op == "abs":
            return model.elementwise(abs, v[0])
        if op == "clamp":
            t = v[0].dtype.type
            return model.raw(lambda x: np.fmax(np.fmin(x, t(at["hi"])), t(at["lo"])), v[0])
        if op == "cast":
            if n.dtype == "i32" and v[0].dtype == np.float32:
                return model.raw(lambda x: np.fmax(np.fmin(x, 1000), -1000).astype(np.int32), v[0])
            return model.raw(lambda x: x.astype(model.NUMPY[n.dtype]), v[0])
        if op == "iota":
            i = np.arange(n.shape[at["d"]], dtype=np.int32)
            return model.whole(
                np.broadcast_to(
                    i.reshape([-1 if d == at["d"] else 1 for d in range(len(n.shape))]), n.shape
                ).copy()
            )
        if op == "where":
            rest = list(v[1:])
            type_of = model.NUMPY[n.dtype]
            one = (1,) * len(n.shape)
            a = rest.pop(0) if at["a"] is None else model.whole(np.full(one, at["a"], type_of))
            b = rest.pop(0) if at["b"] is None else model.whole(np.full(one, at["b"], type_of))
            return model.where(v[0], a, b)
        if op == "inside":
            return model.inside(v[0])
        if op == "fill":
            return model.fill(v[0], at["v"])
        if op == "wfill":
            return model.where_inside(v[0], v[1] if len(v) > 1 else None, at["v"])
        if op == "transpose":
            return model.transpose(v[0], at["p"])
        if op == "reshape":
            return model.reshape(v[0], n.shape)
        if op == "concat":
            return model.concat(at["d"], v)
        if op == "shift":
            return model.shift(v[0], at["d"], at["n"], at["fill"] or 0)
        if op == "sum":
            return model.total(v[0], at["d"])
        if op == "mean8":
            return model.mean8(v[0], at["d"])
        if op in ("reduce_max", "reduce_min"):
            return model.extreme(v[0], at["d"], op == "reduce_max")
        if op in ("argmax", "argmin"):
            return model.arg_extreme(v[0], at["d"], op == "argmax")
        if op == "reduce_last":
            return model.last(v[0], at["d"])
        if op in ("cumsum", "cumprod", "cummax", "cummin"):
            return model.cumulate(v[0], at["d"], op)
        if op == "ureduce":
            return model.user_reduce(at["f"], at["d"], v, at["i"])
        if op == "uscan":
            return model.user_scan(at["f"], at["d"], v, at["i"])
        if op == "dot":
            y = model.dot(v[0], v[1])
            return model.elementwise(lambda p, q: p + q, y, v[2]) if len(v) == 3 else y
        if op == "shared":
            return v[0]
        if op == "element":
            k = model.tile_element(v[1], at["at"])
            return model.elementwise(
                lambda x, y: x + y, v[0], model.whole(np.full((1,) * len(v[0].shape), k, v[0].dtype))
            )
        if op == "gatherreg":
            return model.gather(v[0], at["d"], v[1])
        if op == "sort":
            return model.ordered(v[0], at["d"], False, at["f"] == "argsort")
        raise AssertionError(op)


def expected(p: Program) -> dict[str, np.ndarray]:
    """The outputs; SENTINEL where nothing is stored."""
    out = {}
    for name, dtype, shape in outputs(p):
        out[name] = np.full(shape, first_value(p, name, dtype), model.NUMPY[dtype])
    for block in range(p.blocks):
        e = Evaluation(p, block)
        e.run(p.nodes)
        for i, s in enumerate(p.sinks):
            t = e.tile[s.node]
            if t.dtype == np.bool_:
                t = model.raw(lambda x: x.astype(np.int32), t)
            if s.kind == "store":
                model.store(out[f"OUT{i}"], (block,), t)
                out[f"IN{i}"][block] = t.there
            elif s.kind == "storeat":
                model.store_at(out[f"OUT{i}"], e.view(s.dims), t, s.how != "=")
            else:
                model.scatter(out[f"OUT{i}"], e.tile[s.index], t, s.kind == "atomic")
    return out


def judged(p: Program) -> tuple[dict[str, np.ndarray], bool]:
    """The expected outputs, and whether all readings agree."""
    model.reading = ""
    want = expected(p)
    same = True
    for reading in ("drop", "joint", "times") if any(n.op in ("dot", "pipe") for n in p.every()) else ("drop",):
        model.reading = reading
        try:
            got = expected(p)
            same = same and all(np.array_equal(want[k], got[k], equal_nan=True) for k in want)
        except (model.Inexact, model.Disagree):
            same = False
        finally:
            model.reading = ""
    return want, same


# ---- generator ---------------------------------------------------------------------------------------------------


class Generator:
    def __init__(self, seed: int, features: set[str], most: int = 9) -> None:
        self.r = random.Random(seed)
        self.features = features
        self.p = Program(seed, 1, [], {}, {}, [], [], "store" in features)
        if "blocks" in features and self.r.random() < 0.15:
            self.p.blocks = 2
        self.n = 0
        self.most = most
        self.empty = self.r.random() < 0.25  # aims at nothing left
        self.infinite = self.r.random() < 0.2
        self.counters: list[str] = []
        self.scopes: list[list[Node]] = [self.p.nodes]
        self.evaluations = [Evaluation(self.p, b) for b in range(self.p.blocks)]

    def chance(self, x: float) -> bool:
        return self.r.random() < x

    def visible(self) -> list[Node]:
        return [n for scope in self.scopes for n in scope if n.id in self.evaluations[0].tile]

    def add(self, op: str, args: list[int], dtype: str, shape: tuple[int, ...], **at: Any) -> Node:
        n = Node(self.n, op, args, at, dtype, tuple(shape))
        self.n += 1
        saved = [copy.copy(e.tile) for e in self.evaluations]
        try:
            for e in self.evaluations:
                e.run([n])
        except model.Inexact:
            for e, s in zip(self.evaluations, saved, strict=True):
                e.tile = s
            raise
        self.scopes[-1].append(n)
        return n

    def magnitude(self, n: Node) -> float:
        top = 0.0
        for e in self.evaluations:
            t = e.tile[n.id]
            x = t.x.data[t.there].astype(np.float64)
            x = x[np.isfinite(x)]
            x = x[np.abs(x) < 2**30] if n.dtype == "i32" else x
            top = max(top, np.abs(x).max(initial=0))
        return top

    def has_extremes(self, n: Node) -> bool:
        return n.dtype == "i32" and any(
            (np.abs(e.tile[n.id].x.data[e.tile[n.id].there].astype(np.int64)) >= 2**30).any()
            for e in self.evaluations
        )

    def calm(self, n: Node, most: int = 1000) -> Node:
        """n, or n held in range."""
        if n.dtype == "bool" or (self.magnitude(n) <= most and not self.has_extremes(n)):
            return n
        k = min(most, 100)
        return self.add("clamp", [n.id], n.dtype, n.shape, lo=-k, hi=k)

    # ---- leaves

    def shape(self, rank: int | None = None, most: int = 2048) -> tuple[int, ...]:
        rank = rank or self.r.choice([1, 1, 2, 2, 2, 3])
        while True:
            s = tuple(self.r.choice(EXTENTS) for _ in range(rank))
            if np.prod(s) <= most and np.prod(s) > 1:
                return s

    def scalar(self, v: int) -> str:
        name = f"s{len(self.p.scalars)}"
        self.p.scalars[name] = v
        for e in self.evaluations:
            e.env[name] = v
        return name

    def number_of(self, v: int) -> dict[str, int]:
        """v as a number, or a parameter."""
        if self.chance(0.5):
            return {"": v}
        k = self.r.choice([0, 0, 1, 3])
        if "lengths" in self.features and self.chance(0.3):
            return {self.length(v - k): 1, "": k}
        return {self.scalar(v - k): 1, "": k}

    def length(self, v: int) -> str:
        """v as an element of a tensor; 0 also as one that is not there."""
        name = f"qX{len(self.p.tensors)}"
        at, hi, data = self.r.randrange(3), None, v
        if v == 0 and self.chance(0.5):
            at, data = self.r.choice([-1, 3, 9]), 5
            if "below" in self.features and self.chance(0.5):
                at, hi = 1, self.r.choice([0, 1])
        t = Tensor(name[1:], "i32", [3], [False], (data, data), 0, 0, [(0, 3)])
        self.p.tensors.append(t)
        self.p.lets[name] = (t.name, at, hi)
        for e in self.evaluations:
            e.data[t.name] = t.poisoned()
            e.env[name] = v
        return name

    def tensor(self, dtype: str, rank: int, extent: tuple[int, ...], values: tuple[int, int]) -> Tensor:
        size, named = [], []
        for n in extent:
            if self.empty and self.chance(0.3):
                m = self.r.choice([0, 0, 1])
            elif self.chance(0.25):
                m = n
            elif self.chance(0.5):
                m = max(1, n + self.r.choice([-1, -1, 0, 0, 1, -n // 2, -n // 3, -n + 1, 5]))
            else:
                m = self.r.choice(SIZES)
            size.append(m)
            named.append(m == 0 or self.chance(0.6))
        if np.prod(size) > 100000:
            size = [min(s, 40) for s in size]
        t = Tensor(f"X{len(self.p.tensors)}", dtype, size, named, values, self.r.randrange(1 << 30))
        t.keep = [(0, s) for s in size]
        if "strides" in self.features and rank > 1 and self.chance(0.25):
            t.pad = self.r.choice([1, 3, 8])
        self.p.tensors.append(t)
        for e in self.evaluations:
            e.data[t.name] = t.poisoned()
        return t

    def start(self, extent: int, size: int, step: int) -> dict[str, int]:
        reach = extent * step
        if self.chance(0.5):
            s = 0
        elif self.empty and self.chance(0.3):
            s = self.r.choice([-reach, -reach - 2, size, size + 3])
        elif self.chance(0.7):
            s = self.r.choice(
                [
                    -1,
                    1,
                    -2,
                    -reach // 2,
                    -reach // 3,
                    size - reach // 2,
                    size - 1,
                    size - reach,
                    size - reach + 1,
                ]
            )
        else:
            s = self.r.randint(-9, size + 9)
        e = self.number_of(s)
        if self.p.blocks > 1 and self.chance(0.5):
            e["block.x"] = self.r.choice([1, extent, -1])
        if self.counters and self.chance(0.7):
            e[self.r.choice(self.counters)] = self.r.choice([1, -1, extent, 2])
        return e

    def load(
        self,
        shape: tuple[int, ...] | None = None,
        dtype: str | None = None,
        values: tuple[int, int] | None = None,
        again: int = 4,
    ) -> Node:
        shape = shape or self.shape()
        dtype = dtype or self.r.choice(["f32", "f32", "f32", "i32"])
        values = values or self.r.choice([(-9, 9), (-9, 9), (-9, -1), (1, 5), (0, 2), (-2, 0)])
        extent = list(shape)
        if len(shape) < 3 and "index" in self.features and self.chance(0.15):
            extent.insert(self.r.randrange(len(shape) + 1), None)
        narrow = ""
        if (
            "types" in self.features
            and values != (0, 0)
            and values[1] < 10
            and again == 4
            and self.chance(0.15)
        ):
            narrow = self.r.choice(["u4", "u8", "i8"] + (["f16"] * 2 if dtype == "f32" else []))
            values = (max(0, values[0]), max(1, values[1])) if narrow[0] == "u" else values
        t = self.tensor(narrow or dtype, len(extent), tuple(1 if n is None else n for n in extent), values)
        if narrow == "u4":
            t.pad = 0
        if not narrow and self.infinite and values[0] < values[1] and again == 4 and self.chance(0.4):
            t.special = self.r.choice(["some", "all"])
        dims = []
        for d, n in enumerate(extent):
            step = (
                self.r.choice([2, 3])
                if n is not None and "steps" in self.features and self.chance(0.1)
                else 1
            )
            dim = {"start": self.start(n or 1, t.size[d], step), "extent": n, "step": step}
            if n is None and self.chance(0.6):
                dim["start"] = self.number_of(0)
            if "below" in self.features and self.chance(0.35):
                size = t.size[d]
                hi = self.r.choice([0, -1, size, size + 4, size // 2, self.r.randint(0, max(size, 1)), 1])
                lo = self.r.choice([0, -3, 1, size // 3, hi, hi + 1])
                if self.chance(0.3):
                    dim["lo"] = self.number_of(lo)
                else:
                    lo = 0
                if dim.get("lo") is None or self.chance(0.7):
                    dim["hi"] = self.number_of(hi)
                else:
                    hi = size
                t.keep[d] = (max(0, lo), min(size, max(hi, 0)))
            dims.append(dim)
        for e in self.evaluations:
            e.data[t.name] = t.poisoned()
        n = self.add(
            "load",
            [],
            dtype,
            shape,
            tensor=t.name,
            dims=dims,
            space=self.r.choice(["", "register", "register", "shared"]),
            **({"as": narrow} if narrow else {}),
        )
        if (
            again
            and not any(e.tile[n.id].there.any() for e in self.evaluations)
            and (not self.empty or self.chance(0.4))
        ):
            return self.load(shape, dtype, values, again - 1)
        return n

    # ---- ops

    def pick(self, dtype: str | None = None, rank: int | None = None, least: int = 1) -> Node:
        known = [
            n
            for n in self.visible()
            if (dtype is None or n.dtype in dtype.split())
            and (rank is None or len(n.shape) == rank)
            and len(n.shape) >= least
            and n.op != "iota"
        ]
        if not known or self.chance(0.1):
            return self.load(
                self.shape(rank) if rank else None, dtype.split()[0] if dtype and dtype != "bool" else None
            )
        k = len(known)
        near = k - 1 - int(abs(self.r.gauss(0, 0.8)))
        return known[max(near, 0) if self.chance(0.9) else self.r.randrange(k)]

    def partner(self, n: Node) -> Node:
        """A tile that broadcasts to n's shape."""
        same = [
            m
            for m in self.visible()
            if m.dtype == n.dtype
            and m.id != n.id
            and np.broadcast_shapes(*[m.shape])
            and self.fits(m.shape, n.shape)
        ]
        if same and self.chance(0.5):
            return self.r.choice(same)
        shape = list(n.shape)
        for d in range(len(shape)):
            if self.chance(0.2):
                shape[d] = 1
        while len(shape) > 1 and self.chance(0.15):
            shape.pop(0)
        if n.dtype == "bool":
            return self.compare(self.load(tuple(shape)))
        return self.load(tuple(shape), n.dtype)

    @staticmethod
    def fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        try:
            return np.broadcast_shapes(a, b) == b
        except ValueError:
            return False

    def compare(self, n: Node) -> Node:
        op = self.r.choice(["<", "<=", "==", "!="])
        return self.add(op, [n.id], "bool", n.shape, v=self.r.choice([-2, 0, 0, 1, 3]))

    def step(self) -> Node | None:
        table = [
            ("base", 14, self.g_elementwise),
            ("base", 4, self.g_compare),
            ("base", 5, self.g_transpose),
            ("base", 4, self.g_inside),
            ("where", 7, self.g_where),
            ("wfill", 2, self.g_wfill),
            ("fill", 7, self.g_fill),
            ("reduce", 20, self.g_reduce),
            ("reshape", 12, self.g_reshape),
            ("slice", 6, self.g_part),
            ("concat", 8, self.g_concat),
            ("shift", 5, self.g_shift),
            ("scan", 7, self.g_scan),
            ("user", 5, self.g_user),
            ("dot", 4, self.g_dot),
            ("batch", 2, self.g_batch),
            ("pairs", 2, self.g_pair),
            ("picks", 3, self.g_pick),
            ("assign", 4, self.g_assign),
            ("gather", 5, self.g_gather),
            ("scalar", 2, self.g_element),
            ("parts", 4, self.g_parts),
            ("reshape", 4, self.g_aimed),
            ("reduce", 4, self.g_extremes),
            ("moving", 2, self.g_moving),
            ("base", 2, self.g_shared),
            ("sort", 5, self.g_sort),
            ("topk", 4, self.g_topk),
            ("partbelow", 3, self.g_partbelow),
        ]
        if len(self.scopes) == 1:
            table += [("loops", 9, self.g_loop), ("if", 6, self.g_if), ("pipe", 4, self.g_pipe)]
            if self.p.blocks == 1:
                table += [("old", 2, self.g_old)]
        table = [x for x in table if x[0] in self.features]
        made = self.r.choices([x[2] for x in table], [x[1] for x in table])[0]()
        moved = ("reshape", "concat", "transpose", "part", "parts", "loop", "if")
        if made is not None and made.op in moved and "reduce" in self.features and self.chance(0.3):
            if made.dtype in ("f32", "i32"):
                return self.g_reduce(made)  # what a condition names is seen by a reduction
        return made

    def g_elementwise(self) -> Node:
        n = self.calm(self.pick())
        if n.dtype == "bool":
            if self.chance(0.3):
                return self.add("!", [n.id], "bool", n.shape)
            m = self.partner(n)
            return self.add(self.r.choice(["&&", "||"]), [n.id, m.id], "bool", n.shape)
        k = self.r.random()
        if k < 0.2:
            return self.add(
                self.r.choice(["+", "-", "*", "max", "min"]),
                [n.id],
                n.dtype,
                n.shape,
                v=self.r.choice([1, 2, 3, 7]),
            )
        if k < 0.3:
            return self.add(self.r.choice(["neg", "abs"]), [n.id], n.dtype, n.shape)
        if k < 0.4:
            return self.add("cast", [n.id], "i32" if n.dtype == "f32" else "f32", n.shape)
        m = self.calm(self.partner(n))
        args = [n.id, m.id]
        if self.chance(0.3):
            args.reverse()
        return self.calm(
            self.add(
                self.r.choice(["+", "+", "+", "-", "*", "max", "min"]),
                args,
                n.dtype,
                n.shape,
                exact=self.chance(0.15) and n.dtype == "f32",
            )
        )

    def g_compare(self) -> Node:
        return self.compare(self.pick("f32 i32"))

    def g_transpose(self) -> Node:
        n = self.pick(least=2)
        if len(n.shape) < 2:
            n = self.load(self.shape(2))
        p = list(range(len(n.shape)))
        while p == sorted(p):
            self.r.shuffle(p)
        return self.add(
            "transpose",
            [n.id],
            n.dtype,
            tuple(n.shape[d] for d in p),
            p=p,
            T=len(p) == 2 and self.chance(0.7),
        )

    def g_inside(self) -> Node:
        n = self.pick()
        return self.add("inside", [n.id], "bool", n.shape)

    def g_where(self) -> Node:
        n = self.calm(self.pick("f32 i32"))
        c = None
        if self.chance(0.6):
            c = self.compare(self.partner(n))
        else:
            i = self.add("iota", [], "i32", n.shape, d=self.r.randrange(len(n.shape)))
            c = self.add("<", [i.id], "bool", n.shape, v=self.r.choice([0, 1, 3, 8]))
        a = b = None
        args = [c.id, n.id]
        if self.chance(0.5):
            b = self.r.choice([0, 1, 7])
            if n.dtype == "f32" and self.infinite:
                b = -np.inf
        else:
            args.append(self.partner(n).id)
        if self.chance(0.4):
            args[1:] = args[:0:-1]
            a, b = b, a
        return self.add(
            "where", args, n.dtype, n.shape, a=a, b=b, f="rarely" if self.chance(0.1) else "where"
        )

    def g_wfill(self) -> Node:
        n = self.pick("f32 i32")
        args = [n.id]
        if self.chance(0.3):
            args.append(self.compare(self.calm(self.partner(n)) if self.chance(0.5) else n).id)
            if self.p_shape(args[1]) != n.shape:
                args.pop()
        return self.add("wfill", args, n.dtype, n.shape, v=self.r.choice([0, 1, -3]))

    def p_shape(self, i: int) -> tuple[int, ...]:
        return self.evaluations[0].tile[i].shape

    def g_fill(self) -> Node:
        n = self.pick()
        v = self.r.choice([0, 0, 1, -3]) if n.dtype != "bool" else self.r.choice([0, 1])
        if n.dtype == "f32" and self.infinite:
            v = -np.inf
        return self.add("fill", [n.id], n.dtype, n.shape, v=v)

    def dim(self, n: Node) -> int:
        return self.r.randrange(len(n.shape))

    def reduced(self, n: Node, d: int) -> tuple[int, ...]:
        return n.shape[:d] + (1,) + n.shape[d + 1 :]

    def g_aimed(self) -> Node:
        """A tied condition, one of one dim that may leave nothing, and a reduction."""
        a, b = self.r.choice([2, 4, 7, 8]), self.r.choice([2, 4, 8, 16])
        if "dot" in self.features and self.chance(0.2):
            n = self.load((a * b,), "f32")
            n = self.calm(self.add("reshape", [n.id], n.dtype, (a, b)), 64)
            m = self.load((b * 4,), "f32") if self.chance(0.6) else self.load((b, 4), "f32")
            if len(m.shape) == 1:
                m = self.add("reshape", [m.id], "f32", (b, 4))
            return self.calm(self.add("dot", [n.id, self.calm(m, 64).id], "f32", (a, 4)))
        n = self.load((a * b,), self.r.choice(["f32", "f32", "i32"]))
        n = self.add("reshape", [n.id], n.dtype, (a, b))
        empty, self.empty = self.empty, self.chance(0.6)
        m = self.load(self.r.choice([(1, b), (a, 1), (a, b), (b,)]), n.dtype, again=0)
        self.empty = empty
        n = self.calm(self.add(self.r.choice(["+", "max"]), [n.id, m.id], n.dtype, n.shape))
        n = self.g_reduce(n)
        return self.g_reduce(n) if self.chance(0.5) else n

    def g_extremes(self) -> Node:
        """A reduction of nothing, or of identities behind a front that is not there."""
        empty, self.empty = self.empty, self.chance(0.5)
        n = self.load(self.shape(self.r.choice([1, 2, 2])), again=0)
        self.empty = empty
        t = self.p.tensors[-1]
        if t.name == n.at["tensor"] and self.chance(0.5):
            t.special = self.r.choice(["some", "all"])
            if self.chance(0.5):
                n.at["dims"][0]["start"] = {"": self.r.choice([-1, -2])}
            for e in self.evaluations:
                e.data[t.name] = t.poisoned()
                e.run([n])
        kinds = ["reduce_max", "reduce_min"] + (["argmax", "argmin"] * 2 if "arg" in self.features else [])
        return self.g_reduce(n, self.r.choice(kinds))

    def g_reduce(self, n: Node | None = None, kind: str = "") -> Node:
        n = n if kind else self.calm(n or self.pick("f32 i32"))
        d = self.dim(n)
        kinds = ["sum", "sum", "reduce_max", "reduce_max", "reduce_min"]
        if "mean" in self.features and n.dtype == "f32":
            kinds.append("mean8")
        if "arg" in self.features:
            kinds += ["argmax", "argmin"]
        if "last" in self.features:
            kinds += ["reduce_last"] * 2
        kind = kind or self.r.choice(kinds)
        if kind == "mean8":
            n = self.calm(n, 200)
        dtype = "i32" if kind[:3] == "arg" else n.dtype
        return (
            self.calm(self.add(kind, [n.id], dtype, self.reduced(n, d), d=d))
            if kind[:3] != "arg"
            else self.add(kind, [n.id], dtype, self.reduced(n, d), d=d)
        )

    def reshaped(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        total = int(np.prod(shape))
        s = list(shape)
        for _ in range(self.r.choice([1, 1, 2])):
            k = self.r.random()
            if k < 0.5:
                d = self.r.randrange(len(s))
                cuts = [c for c in range(2, s[d]) if s[d] % c == 0]
                if cuts and len(s) < 3:
                    c = self.r.choice(cuts)
                    s[d : d + 1] = [c, s[d] // c]
                    continue
            if k < 0.9 and len(s) > 1:
                d = self.r.randrange(len(s) - 1)
                s[d : d + 2] = [s[d] * s[d + 1]]
                continue
            if len(s) < 3:
                s.insert(self.r.randrange(len(s) + 1), 1)
        assert int(np.prod(s)) == total
        return tuple(s)

    def g_reshape(self) -> Node | None:
        n = self.pick()
        shape = self.reshaped(n.shape)
        if shape == n.shape:
            return None
        return self.add("reshape", [n.id], n.dtype, shape)

    def g_part(self) -> Node | None:
        n = self.pick()
        dims = []
        for s in n.shape:
            if self.chance(0.5):
                dims.append((0, s))
            elif len(n.shape) > 1 and self.chance(0.25):
                dims.append((self.r.randrange(s), None))
            else:
                cuts = [c for c in range(1, s + 1) if s % c == 0]
                c = self.r.choice(cuts)
                dims.append(
                    (c * self.r.randrange(s // c), c) if self.chance(0.8) else (self.r.randint(0, s - c), c)
                )
        shape = tuple(k for _, k in dims if k is not None)
        if not shape or shape == n.shape:
            return None
        return self.add("part", [n.id], n.dtype, shape, dims=dims)

    def g_concat(self) -> Node | None:
        n = self.pick()
        if np.prod(n.shape) > 1024:
            return None
        d = self.dim(n)
        if self.chance(0.3):
            return self.add(
                "concat", [n.id, n.id], n.dtype, n.shape[:d] + (2 * n.shape[d],) + n.shape[d + 1 :], d=d
            )
        same = [m for m in self.visible() if m.dtype == n.dtype and m.shape == n.shape and m.id != n.id]
        m = self.r.choice(same) if same and self.chance(0.5) else None
        if m is None:
            shape = list(n.shape)
            if self.chance(0.3):
                shape[d] = self.r.choice([1, 4, 8, shape[d]])
            m = (
                self.load(tuple(shape), n.dtype)
                if n.dtype != "bool"
                else self.compare(self.load(tuple(shape)))
            )
        args = [n, m]
        if self.chance(0.5):
            args.reverse()
        return self.add(
            "concat",
            [x.id for x in args],
            n.dtype,
            n.shape[:d] + (n.shape[d] + m.shape[d],) + n.shape[d + 1 :],
            d=d,
        )

    def g_shift(self) -> Node:
        n = self.pick("f32 i32")
        d = self.dim(n)
        if self.chance(0.3):  # a front that is not there
            n = self.load(n.shape, n.dtype, again=0)
            n.at["dims"][-1 if n.at["dims"][-1]["extent"] else 0]["start"] = {"": -1}
            for e in self.evaluations:
                e.run([n])
            d = len(n.shape) - 1
        return self.add(
            "shift",
            [n.id],
            n.dtype,
            n.shape,
            d=d,
            n=self.r.choice([0, 1, 1, 1, 2, 3, n.shape[d]]),
            fill=self.r.choice([None, None, 0, 7, -1]),
        )

    def g_scan(self) -> Node:
        n = self.calm(self.pick("f32 i32"))
        kind = self.r.choice(["cumsum", "cumsum", "cumprod", "cummax", "cummin"])
        if kind == "cumprod":
            n = self.add("clamp", [n.id], n.dtype, n.shape, lo=-1, hi=1)
        return self.calm(self.add(kind, [n.id], n.dtype, n.shape, d=self.dim(n)))

    def g_user(self) -> Node:
        n = self.calm(self.pick(), 100)
        d = self.dim(n)
        f = self.r.choice(
            ["opening", "latest", "adding", "linear"]
            if n.dtype != "bool"
            else ["opening", "latest", "either"]
        )
        scan = "scan" in self.features and self.chance(0.6)
        args, i = [n.id], 0
        if f == "linear":
            m = self.calm(self.partner(n), 100)
            if m.shape != n.shape:
                m = n
            a = self.add("clamp", [m.id], n.dtype, n.shape, lo=-1, hi=1)
            args, i = [a.id, n.id], self.r.choice([0, 1, 1])
        if scan:
            return self.calm(self.add("uscan", args, n.dtype, n.shape, d=d, f=f, i=i))
        return self.calm(self.add("ureduce", args, n.dtype, self.reduced(n, d), d=d, f=f, i=i))

    def g_dot(self) -> Node | None:
        a = self.pick("f32 i32", 2)
        if len(a.shape) != 2 or a.shape[0] > 64 or a.shape[1] > 64 or a.dtype == "i32":
            return None
        a = self.calm(a, 64)
        k = a.shape[1]
        known = [
            m
            for m in self.visible()
            if m.dtype == a.dtype and len(m.shape) == 2 and m.shape[0] == k and m.shape[1] <= 64
        ]
        b = (
            self.calm(self.r.choice(known), 64)
            if known and self.chance(0.5)
            else self.load((k, self.r.choice([1, 4, 8, 16, 32])), a.dtype)
        )
        shape = (a.shape[0], b.shape[1])
        return self.calm(self.add("dot", [a.id, b.id, *self.onto(a.dtype, shape)], a.dtype, shape))

    def onto(self, dtype: str, shape: tuple[int, ...]) -> list[int]:
        """Sometimes a tile to which a product is added."""
        if not self.chance(0.35):
            return []
        known = [m for m in self.visible() if m.dtype == dtype and m.shape == shape]
        m = self.r.choice(known) if known and self.chance(0.6) else self.load(shape, dtype)
        return [self.calm(m, 64).id]

    def g_batch(self) -> Node:
        n, m, k = self.r.choice([1, 2, 4]), self.r.choice([1, 8, 16]), self.r.choice([4, 7, 16])
        a = self.calm(self.load((n, m, k), "f32"), 64)
        b = self.calm(self.load((n, k, self.r.choice([4, 8])), "f32"), 64)
        shape = (n, m, b.shape[2])
        return self.calm(self.add("dot", [a.id, b.id, *self.onto("f32", shape)], "f32", shape))

    def g_pipe(self) -> Node:
        """A product over the tiles of a run-time length, through shared memory."""
        dtype = self.r.choice(["f16", "f16", "f32"])
        m, n, step = self.r.choice([16, 32, 64]), self.r.choice([16, 32, 64]), self.r.choice([16, 32])
        most = self.r.choice([0, 16, 33, 40, 64])
        k = self.number_of(most)
        me = self.n
        at: dict[str, Any] = {
            "k": k,
            "step": step,
            "stages": self.r.choice([1, 2, 3]),
            "space": self.r.choice([": shared", ": shared", ""]),
        }
        for e in self.evaluations:
            e.env[f"k{me}"] = 0
        for which, rows in (("", m), ("2", n)):
            t = self.tensor(dtype, 2, (rows, max(most, 1)), (-3, 3))
            if dtype == "f16" and self.chance(0.5):  # rows of whole 16 bytes
                t.size[1] = -(-t.size[1] // 8) * 8
                t.named[1] = self.chance(0.3)
                t.pad = 0
                t.keep[1] = (0, t.size[1])
            dims = [
                {
                    "start": self.start(rows, t.size[0], 1) if self.chance(0.5) else {"": 0},
                    "extent": rows,
                    "step": 1,
                },
                {"start": {f"k{me}": 1, "": self.r.choice([0, 0, 0, -3])}, "extent": step, "step": 1},
            ]
            if "below" in self.features:
                for d in (0, 1):
                    if self.chance(0.5):
                        hi = self.r.choice(
                            [t.size[d] // 2, self.r.randint(0, max(t.size[d], 1)), t.size[d] + 1]
                        )
                        dims[d]["hi"] = self.number_of(hi)
                        t.keep[d] = (0, min(t.size[d], max(hi, 0)))
            for e in self.evaluations:
                e.data[t.name] = t.poisoned()
            at["tensor" + which], at["dims" + which] = t.name, dims
        return self.calm(self.add("pipe", [], "f32", (m, n), **at))

    def g_pair(self) -> Node:
        n, m = self.r.choice([4, 8]), self.r.choice([4, 8, 16])
        t = self.tensor("f32", 2, (8, 8), (-9, 9))
        t.pad = 0
        kept, self.infinite = self.infinite, False
        one = self.chance(0.5)
        i = self.load((m,) if one else (n, 1), "i32", (-1, t.size[0] + 1))
        j = self.load((m,), "i32", (-1, t.size[1] + 1))
        self.infinite = kept
        return self.add("gather2", [i.id, j.id], "f32", (m,) if one else (n, m), tensor=t.name)

    def g_pick(self) -> Node | None:
        """x[k, :] with a run-time k."""
        n = self.pick("f32 i32", least=2)
        if len(n.shape) < 2:
            return None
        d = self.dim(n)
        k = self.r.randrange(n.shape[d])
        pick = {self.scalar(k): 1}
        return self.add(
            "part",
            [n.id],
            n.dtype,
            n.shape[:d] + n.shape[d + 1 :],
            picked=d,
            pick=pick,
            dims=[(0, None if e == d else s) for e, s in enumerate(n.shape)],
        )

    def g_assign(self) -> Node:
        n = self.pick("f32 i32")
        dims = [self.part_of(s) for s in n.shape]
        x = self.load(tuple(k for _, k in dims), n.dtype)
        starts = [self.number_of(s) if self.chance(0.4) else None for s, _ in dims]
        return self.add(
            "parts", [n.id, x.id], n.dtype, n.shape, based=True, register=True, dims=[dims], starts=starts
        )

    def part_of(self, s: int) -> tuple[int, int]:
        k = self.r.choice([1, s, s, max(1, s // 2)])
        return self.r.randint(0, s - k), k

    def g_old(self) -> Node | None:
        x = self.calm(self.pick("f32 i32"))
        if any(not np.isfinite(e.tile[x.id].x.data).all() for e in self.evaluations):
            return None
        t = self.tensor(x.dtype, len(x.shape), x.shape, (-9, 9))
        t.written, t.pad = True, 0
        dims = [{"start": self.start(n, t.size[d], 1), "extent": n, "step": 1} for d, n in enumerate(x.shape)]
        args = [x.id]
        if t.size[0] and self.chance(0.5):
            k = x.shape[0]
            i = self.add("iota", [], "i32", (k,), d=0)
            i = self.add("+", [i.id], "i32", (k,), v=self.r.choice([-2, 0, 3]))
            if self.chance(0.6):
                m = self.plain((k,))
                i = self.add("+", [i.id, m.id], "i32", (k,))
            args.append(i.id)
            dims[0]["start"] = {"": 0}
        return self.add("old", args, x.dtype, x.shape, tensor=t.name, dims=dims)

    def plain(self, shape: tuple[int, ...]) -> Node:
        """Zeros, some of them not there."""
        return self.load(shape, "i32", (0, 0))

    def index(self, n: int, rank: int | None = None) -> Node:
        """An index tile into n places, a few of them outside; masked entries if it is loaded."""
        shape = (self.r.choice([4, 8, 16, 33]),) if rank == 1 or self.chance(0.8) else (4, 8)
        if self.chance(0.8):
            infinite, self.infinite = self.infinite, False
            found = self.load(shape, "i32", (-1, n + 1))
            self.infinite = infinite
            return found
        i = self.add("iota", [], "i32", shape, d=self.r.randrange(len(shape)))
        return self.add("+", [i.id], "i32", shape, v=self.r.choice([-2, 0, 3]))

    def g_gather(self) -> Node | None:
        if "places" in self.features and self.chance(0.5):
            n = self.pick("f32 i32")
            d = self.dim(n)
            i = self.index(n.shape[d])
            shape = n.shape[:d] + i.shape + n.shape[d + 1 :]
            if len(shape) > 3 or np.prod(shape) > 2048:
                return None
            return self.add("gatherreg", [n.id, i.id], n.dtype, shape, d=d)
        rank = self.r.choice([1, 2])
        full = self.shape(rank)
        t = self.tensor(self.r.choice(["f32", "i32"]), rank, full, (-9, 9))
        d = self.r.randrange(rank)
        i = self.index(t.size[d])
        dims = []
        for e in range(rank):
            dims.append(
                {
                    "start": {"": 0} if e == d else self.start(full[e], t.size[e], 1),
                    "extent": full[e],
                    "step": 1,
                }
            )
        shape = full[:d] + i.shape + full[d + 1 :]
        if np.prod(shape) > 2048:
            return None
        return self.add("gather", [i.id], t.dtype, shape, tensor=t.name, d=d, dims=dims)

    def g_element(self) -> Node:
        m = self.calm(self.pick("f32 i32"))
        n = self.calm(self.pick(m.dtype))
        return self.calm(
            self.add("element", [n.id, m.id], n.dtype, n.shape, at=[self.r.randrange(s) for s in m.shape])
        )

    def g_shared(self) -> Node:
        n = self.pick("f32 i32")
        return self.add("shared", [n.id], n.dtype, n.shape)

    def g_parts(self) -> Node:
        n = self.pick("f32 i32")
        shape = n.shape
        d = self.r.randrange(len(shape))
        if self.chance(0.4):
            k = shape[d]
            c = self.r.choice([1, max(1, k // 2), max(1, k // 4)])
            s = self.r.randint(0, k - c)
            dims = [[(s, c) if e == d else (0, m) for e, m in enumerate(shape)]]
            x = self.load(tuple(m for _, m in dims[0]), n.dtype)
            return self.add("parts", [n.id, x.id], n.dtype, shape, based=True, dims=dims)
        x = self.load(shape[:d] + (self.r.choice([shape[d], 1, 4, 8]),) + shape[d + 1 :], n.dtype)
        args, dims, at = [n.id, x.id], [], 0
        for m in (n, x):
            dims.append([(at, m.shape[d]) if e == d else (0, k) for e, k in enumerate(shape)])
            at += m.shape[d]
        return self.add("parts", args, n.dtype, shape[:d] + (at,) + shape[d + 1 :], based=False, dims=dims)

    def g_moving(self) -> Node | None:
        """Parts at a loop's turn: a shared tile that starts with a number."""
        n = self.pick("f32 i32")
        k = self.r.choice([1, 2, 4])
        shape = (n.shape[0] * k, *n.shape[1:])
        if np.prod(shape) > 2048:
            return None
        return self.add(
            "moving",
            [n.id],
            n.dtype,
            shape,
            turns=self.number_of(self.r.choice([0, 1, k])),
            start=self.r.choice([0, 5]),
        )

    def g_topk(self) -> Node:
        n = self.pick("f32 i32")
        d = self.dim(n)
        k = self.r.choice([c for c in (1, 2, 3, 5, n.shape[d]) if c <= n.shape[d]])
        i = self.r.choice([0, 1])
        return self.add(
            "topk", [n.id], "i32" if i else n.dtype, n.shape[:d] + (k,) + n.shape[d + 1 :], d=d, i=i
        )

    def g_partbelow(self) -> Node:
        """A slice of a register tile with ends of its own."""
        n = self.pick("f32 i32")
        dims, ends = [], []
        for s in n.shape:
            dims.append(self.part_of(s))
            lo = self.number_of(self.r.choice([-1, 0, 1, s])) if self.chance(0.3) else None
            ends.append(
                (
                    lo,
                    self.number_of(self.r.choice([0, s // 2, s - 1, s, s + 3])) if self.chance(0.6) else None,
                )
            )
        return self.add("partbelow", [n.id], n.dtype, tuple(k for _, k in dims), dims=dims, ends=ends)

    def g_sort(self) -> Node:
        n = self.pick("f32 i32")
        f = self.r.choice(["sort", "argsort"])
        return self.add("sort", [n.id], "i32" if f == "argsort" else n.dtype, n.shape, d=self.dim(n), f=f)

    # ---- control flow

    def settle(self, nodes: list[Node], like: Node, keep: Node | None) -> Node:
        """A node of like's shape and type from the last of these."""
        for n in reversed(nodes):
            if n.dtype == like.dtype and n.shape == like.shape:
                if keep is None or n.id == keep.id or self.chance(0.4):
                    return n
                return self.calm(
                    self.add(self.r.choice(["+", "+", "max"]), [keep.id, n.id], like.dtype, like.shape)
                )
            if n.dtype == like.dtype and keep is not None and self.fits(n.shape, like.shape):
                return self.calm(
                    self.add(self.r.choice(["+", "+", "max"]), [keep.id, n.id], like.dtype, like.shape)
                )
        n = self.load(like.shape, like.dtype)
        if keep is None or self.chance(0.1):
            return n
        return self.add(self.r.choice(["+", "+", "max", "min"]), [keep.id, n.id], like.dtype, like.shape)

    def body(self, count: int) -> None:
        for _ in range(count):
            with contextlib.suppress(model.Inexact):
                self.step()

    def g_loop(self) -> Node | None:
        n = self.calm(self.pick("f32 i32"), 200)
        if n.op == "iota":
            return None
        turns = self.r.choice([0, 1, 3, 3])
        args, by = [n.id], []
        if "iftile" in self.features and self.chance(0.1):
            m = self.pick("i32")
            m = self.add("clamp", [m.id], "i32", m.shape, lo=0, hi=3)
            by = [self.r.randrange(k) for k in m.shape]
            args.append(m.id)
        count = {self.scalar(turns): 1} if self.chance(0.8) else {"": turns}
        me, carried = self.n, self.n + 1
        self.n += 2
        body: list[Node] = [Node(carried, "carried", [], {}, n.dtype, n.shape)]
        for e in self.evaluations:
            e.env[f"t{me}"] = 0
            e.tile[carried] = e.tile[n.id]
        self.scopes.append(body)
        self.counters.append(f"t{me}")
        self.body(self.r.choice([0, 0, 1, 1, 2, 3]))
        y = self.settle(body[1:], n, body[0])
        self.scopes.pop()
        self.counters.pop()
        node = Node(
            me,
            "loop",
            args,
            {"turns": count, "by": by, "body": body, "carried": carried, "y": y.id},
            n.dtype,
            n.shape,
        )
        return self.append(node)

    def append(self, node: Node) -> Node:
        for e in self.evaluations:
            e.run([node])
        inner = [n.id for body in ("body", "then", "else") for n in node.at.get(body, [])]
        for e in self.evaluations:
            for i in inner:
                e.tile.pop(i, None)
        self.scopes[-1].append(node)
        return node

    def g_if(self) -> Node | None:
        n = self.calm(self.pick("f32 i32"), 200)
        args = [n.id]
        if "iftile" in self.features and self.chance(0.4):
            m = self.pick("f32 i32")
            if self.chance(0.5):
                for d in range(len(m.shape)):
                    kind = self.r.choice(["reduce_max", "reduce_min", "sum"])
                    m = self.calm(self.add(kind, [m.id], m.dtype, self.reduced(m, d), d=d))
                cond: tuple = ("one", self.r.choice([-100, -1, 0, 0, 2]))
            else:
                cond = ("tile", [self.r.randrange(s) for s in m.shape], self.r.choice([-100, 0, 0, 2]))
            args.append(m.id)
        else:
            t = self.tensor("i32", 1, (8,), (-1, 1))
            if t.size == [0]:
                t.size = [1]
                t.keep = [(0, 1)]
                for e in self.evaluations:
                    e.data[t.name] = t.poisoned()
            cond = (
                "tensor",
                t.name,
                self.number_of(self.r.choice([0, 0, 0, 0, t.size[0] - 1, t.size[0], -1])),
                self.r.choice([-2, -1, 0, 0, 1]),
            )
        at: dict[str, Any] = {"cond": cond, "then": [], "else": [], "a": None, "b": None}
        me = self.n
        self.n += 1
        for branch, y in (("then", "a"), ("else", "b")):
            if branch == "else" and self.chance(0.5):
                break
            self.scopes.append(at[branch])
            self.body(self.r.choice([0, 0, 1, 1, 2]))
            at[y] = self.settle(at[branch], n, n if self.chance(0.5) else None).id
            self.scopes.pop()
        return self.append(Node(me, "if", args, at, n.dtype, n.shape))

    # ---- the program

    def make(self) -> Program:
        self.load()
        for _ in range(self.r.randint(2, self.most)):
            with contextlib.suppress(model.Inexact):
                self.step()
        p = self.p
        for t in p.tensors:  # no zero extent that is a number in the text
            t.named = [named or n == 0 for n, named in zip(t.size, t.named, strict=True)]
        known = [n for n in p.nodes if n.op != "iota"]
        p.sinks.append(Sink("store", known[-1].id))
        if len(known) > 3 and self.chance(0.5):
            p.sinks.append(Sink("store", self.r.choice(known[:-1]).id))
        values = [
            n
            for n in known
            if n.dtype in ("f32", "i32")
            and np.prod(n.shape) <= 1024
            and self.magnitude(n) <= 1000
            and not self.has_extremes(n)
        ]
        if (
            "storeat" in self.features
            and "store" in self.features
            and values
            and self.chance(0.25)
            and p.blocks == 1
        ):
            n = self.r.choice(values)
            if all(np.isfinite(e.tile[n.id].x.data).all() for e in self.evaluations):
                size = [self.r.choice([max(1, k - 1), k, k + 2, 7]) for k in n.shape]
                dims = [
                    {"start": self.start(k, s, 1), "extent": k, "step": 1}
                    for k, s in zip(n.shape, size, strict=True)
                ]
                for d, s in zip(dims, size, strict=True):
                    if self.chance(0.15) and "steps" in self.features:
                        d["step"] = 2
                    if "below" in self.features and self.chance(0.4):
                        d["hi"] = self.number_of(self.r.choice([0, s // 2, s, s + 2]))
                how = self.r.choice(["=", "=", "+=", "atomic"])
                p.sinks.append(Sink("storeat", n.id, -1, dims, size, how))
        for kind in ("scatter", "atomic"):
            if kind in self.features and values and self.chance(0.12) and p.blocks == 1:
                with contextlib.suppress(model.Inexact):
                    self.through_indices(kind, self.r.choice(values))
        prune(p)
        return p

    def through_indices(self, kind: str, n: Node) -> None:
        if any(
            np.isinf(e.tile[n.id].x.data).any() or np.isnan(e.tile[n.id].x.data).any()
            for e in self.evaluations
        ):
            return
        k = n.shape[0]
        if kind == "scatter":  # no place twice
            i = self.add("iota", [], "i32", (k,), d=0)
            i = self.add("+", [i.id], "i32", (k,), v=self.r.choice([-2, 0, 3]))
            if self.chance(0.6):
                m = self.plain((k,))
                i = self.add("+", [i.id, m.id], "i32", (k,))
        else:
            self.infinite = False
            i = self.load((k,), "i32", (-1, ROWS))
        self.p.sinks.append(Sink(kind, n.id, i.id))


def prune(p: Program) -> bool:
    """Removes what no sink needs."""
    need = {s.node for s in p.sinks} | {s.index for s in p.sinks if s.index >= 0}
    changed = False

    def walk(nodes: list[Node]) -> None:
        nonlocal changed
        for n in reversed(list(nodes)):
            if n.op == "carried":
                continue
            if n.id not in need:
                nodes.remove(n)
                changed = True
                continue
            need.update(n.args)
            if n.op == "loop":
                need.add(n.at["y"])
                walk(n.at["body"])
            if n.op == "if":
                need.add(n.at["a"])
                walk(n.at["then"])
                if n.at["b"] is not None:
                    need.add(n.at["b"])
                    walk(n.at["else"])

    walk(p.nodes)
    words = Text(p).source()
    body = words[words.index("grid(") :]
    for s in list(p.lets):
        if len(re.findall(rf"\b{s}\b", body)) < 2:
            del p.lets[s]
    used = {tensor for tensor, *_ in p.lets.values()}
    used |= {n.at[k] for n in p.every() for k in ("tensor", "tensor2") if k in n.at} | {
        n.at["cond"][1] for n in p.every() if n.op == "if" and n.at["cond"][0] == "tensor"
    }
    p.tensors[:] = [t for t in p.tensors if t.name in used]
    for s in list(p.scalars):
        if not re.search(rf"\b{s}\b", body):
            del p.scalars[s]
    return changed


def generate(seed: int, features: set[str], most: int = 9) -> Program:
    return Generator(seed, features, most).make()
