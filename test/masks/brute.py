"""The law once more, element by element and backwards, to judge model.py by: a tile is a list of conditions (names
and a function of an index) and a function that gives the value at an index, which is never asked for an element
that is not there. Shares the tree with model.py, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import tree
from tree import Node, Program

Index = tuple[int, ...]


class Asked(Exception):
    """A value depends on an element that is not there."""


class B:
    def __init__(
        self,
        shape: Index,
        dtype: str,
        conditions: list[tuple[frozenset, Callable[[Index], bool]]],
        value: Callable[[Index], float],
    ) -> None:
        self.shape, self.dtype = shape, dtype
        self.conditions = [(frozenset(n), cache(f)) for n, f in conditions]
        self.of = cache(value)

    def there(self, i: Index) -> bool:
        return all(f(i) for _, f in self.conditions)

    def at(self, i: Index) -> float:
        if not self.there(i):
            raise Asked
        x = self.of(i)
        return x if self.dtype != "i32" or -(2**31) <= x < 2**31 else (int(x) + 2**31) % 2**32 - 2**31


def indices(shape: Sequence[int]) -> list[Index]:
    return list(np.ndindex(*shape))


def place(i: Index, shape: Index) -> int:
    n = 0
    for k, s in zip(i, shape, strict=True):
        n = n * s + k
    return n


def unplace(n: int, shape: Index) -> Index:
    out = []
    for s in reversed(shape):
        out.append(n % s)
        n //= s
    return tuple(reversed(out))


def put(i: Index, d: int, k: int) -> Index:
    return i[:d] + (k,) + i[d + 1 :]


def wide(t: B, shape: Index) -> B:
    if t.shape == shape:
        return t
    off = len(shape) - len(t.shape)

    def back(i: Index) -> Index:
        return tuple(0 if n == 1 else k for k, n in zip(i[off:], t.shape, strict=True))

    def named(names: frozenset) -> frozenset:
        return frozenset(d + off for d in names if not (t.shape[d] == 1 and shape[d + off] != 1))

    return B(
        shape,
        t.dtype,
        [(named(n), lambda i, f=f: f(back(i))) for n, f in t.conditions],
        lambda i: t.at(back(i)),
    )


def moved(t: B, shape: Index, back: Callable[[Index], Index], named: Callable[[frozenset], frozenset]) -> B:
    """Each element of the result is one of t."""
    return B(
        shape,
        t.dtype,
        [(named(n), lambda i, f=f: f(back(i))) for n, f in t.conditions],
        lambda i: t.at(back(i)),
    )


def regrouped(names: frozenset, old: Index, new: Index) -> frozenset:
    """Between two places where both shapes have a boundary, all dims are tied."""

    def ends(shape: Index) -> list[int]:
        out, p = [], 1
        for n in shape:
            p *= n
            out.append(p)
        return out

    common = sorted({1} | (set(ends(old)) & set(ends(new))))
    found = set()
    for lo, hi in zip(common, common[1:], strict=False):

        def within(shape: Index) -> list[int]:
            return [d for d, e in enumerate(ends(shape)) if lo < e <= hi and shape[d] > 1]

        if any(d in names for d in within(old)):
            found |= set(within(new))
    return frozenset(found)


def of_elements(dtype: str, f: Callable[..., float], *tiles: B) -> B:
    shape = tuple(np.broadcast_shapes(*(t.shape for t in tiles)))
    tiles = tuple(wide(t, shape) for t in tiles)
    return B(shape, dtype, [c for t in tiles for c in t.conditions], lambda i: f(*(t.at(i) for t in tiles)))


def constant(shape: Index, dtype: str, v: float) -> B:
    return B(shape, dtype, [], lambda i: v)


def line(shape: Index, d: int, i: Index) -> list[Index]:
    return [put(i, d, k) for k in range(shape[d])]


def after_reduction(conditions: list, shape: Index, d: int) -> list:
    stay = [(n, lambda i, f=f: f(put(i, d, 0))) for n, f in conditions if d not in n]
    own = [f for n, f in conditions if n == {d}]
    tied = [(n, f) for n, f in conditions if d in n and len(n) > 1]
    if tied:
        some = any(all(f(put((0,) * len(shape), d, k)) for f in own) for k in range(shape[d]))
        judges = [f for _, f in tied] + (own if some else [])
        names = frozenset(e for n, _ in tied for e in n if e != d)
        stay.append((names, lambda i: any(all(f(j) for f in judges) for j in line(shape, d, i))))
    return stay


def reduction(dtype: str, d: int, tiles: list[B], f: Callable[[list, list[int]], float], nothing: float) -> B:
    shape = tuple(np.broadcast_shapes(*(t.shape for t in tiles)))
    tiles = [wide(t, shape) for t in tiles]

    def value(i: Index) -> float:
        there = [j for j in line(shape, d, i) if all(t.there(j) for t in tiles)]
        return f([tuple(t.at(j) for t in tiles) for j in there], [j[d] for j in there]) if there else nothing

    return B(
        put(shape, d, 1), dtype, after_reduction([c for t in tiles for c in t.conditions], shape, d), value
    )


def scanned(dtype: str, d: int, tiles: list[B], f: Callable[[list], float]) -> B:
    shape = tuple(np.broadcast_shapes(*(t.shape for t in tiles)))
    tiles = [wide(t, shape) for t in tiles]

    def value(i: Index) -> float:
        return f(
            [
                tuple(t.at(j) for t in tiles)
                for j in line(shape, d, i)[: i[d] + 1]
                if all(t.there(j) for t in tiles)
            ]
        )

    return B(shape, dtype, [c for t in tiles for c in t.conditions], value)


def largest(a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else max(a, b)


def least(a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else min(a, b)


def times(a: float, b: float) -> float:
    return (
        math.nan
        if math.isnan(a) or math.isnan(b) or (math.isinf(a) and b == 0) or (math.isinf(b) and a == 0)
        else a * b
    )


PAIR = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": times,
    "max": largest,
    "min": least,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "&&": lambda a, b: a and b,
    "||": lambda a, b: a or b,
}
FOLD = {
    "either": lambda a, b: (a[0] or b[0],),
    "opening": lambda a, b: a,
    "latest": lambda a, b: b,
    "adding": lambda a, b: (a[0] + b[0],),
    "linear": lambda a, b: (times(a[0], b[0]), times(a[1], b[0]) + b[1]),
}


def fold(f: Callable, values: list) -> tuple:
    out = values[0]
    for v in values[1:]:
        out = f(out, v)
    return out


class Run:
    def __init__(self, p: Program, block: int) -> None:
        self.env = dict(p.scalars) | {"block.x": block}
        self.data = {t.name: t.poisoned() for t in p.tensors}
        for name, (tensor, at, hi) in p.lets.items():
            self.env[name] = self.element(tensor, at) if hi is None or at < hi else 0
        self.tile: dict[int, B] = {}

    def number(self, e: dict[str, int] | None) -> int | None:
        return None if e is None else sum(k * (self.env[s] if s else 1) for s, k in e.items())

    def element(self, tensor: str, i: int) -> int:
        x = self.data[tensor]
        return int(x[i]) if 0 <= i < x.shape[0] else 0

    def run(self, nodes: list[Node]) -> None:
        for n in nodes:
            if n.op != "carried":
                self.tile[n.id] = self.one(n, [self.tile[i] for i in n.args])

    def loaded(self, n: Node, dims: list[dict], shape: Index) -> B:
        data = self.data[n.at["tensor"]]
        parts = []
        e = 0
        for d, dim in enumerate(dims):
            lo, hi = self.number(dim.get("lo")), self.number(dim.get("hi"))
            first = max(0, lo) if lo is not None else 0
            end = min(data.shape[d], hi) if hi is not None else data.shape[d]
            own = None if dim["extent"] is None else e
            e += dim["extent"] is not None
            parts.append((self.number(dim["start"]), dim.get("step", 1), first, end, own))

        def where(i: Index, d: int) -> int:
            start, step, _, _, own = parts[d]
            return start if own is None else start + step * i[own]

        conditions = []
        for d, (_, _, first, end, own) in enumerate(parts):
            conditions.append(
                (frozenset() if own is None else {own}, lambda i, d=d, a=first, b=end: a <= where(i, d) < b)
            )
        return B(
            shape, n.dtype, conditions, lambda i: data[tuple(where(i, d) for d in range(len(parts)))].item()
        )

    def gathered(self, source: B, index: B, d: int) -> B:
        k = len(index.shape)
        shape = source.shape[:d] + index.shape + source.shape[d + 1 :]
        free = [(n, f) for n, f in source.conditions if d not in n]
        bound = [f for n, f in source.conditions if d in n]
        conditions = [
            (frozenset(e if e < d else e + k - 1 for e in n), lambda i, f=f: f(i[:d] + (0,) + i[d + k :]))
            for n, f in free
        ]
        conditions += [
            (frozenset(e + d for e in n), lambda i, f=f: f(i[d : d + k])) for n, f in index.conditions
        ]

        def value(i: Index) -> float:
            j = index.at(i[d : d + k])
            if not 0 <= j < source.shape[d]:
                return 0
            at = i[:d] + (j,) + i[d + k :]
            return source.at(at) if all(f(at) for f in bound) else 0

        return B(shape, source.dtype, conditions, value)

    def one(self, n: Node, v: list[B]) -> B:
        at, op, shape, dtype = n.at, n.op, n.shape, n.dtype
        if op == "load":
            return self.loaded(n, at["dims"], shape)
        if op == "gather":
            dims = [dict(x) for x in at["dims"]]
            size = self.data[at["tensor"]].shape[at["d"]]
            dims[at["d"]] = {"start": {"": 0}, "extent": size, "step": 1}
            kept = tuple(x["extent"] for x in dims if x["extent"] is not None)
            gone = sum(x["extent"] is None for x in dims[: at["d"]])
            return self.gathered(self.loaded(n, dims, kept), v[0], at["d"] - gone)
        if op == "gatherreg":
            return self.gathered(v[0], v[1], at["d"])
        if op in PAIR:
            other = v[1] if len(v) > 1 else constant((1,) * len(shape), v[0].dtype, at["v"])
            return of_elements(dtype, PAIR[op], v[0], other)
        if op == "!":
            return of_elements(dtype, lambda a: not a, v[0])
        if op == "neg":
            return of_elements(dtype, lambda a: -a, v[0])
        if op == "abs":
            return of_elements(dtype, abs, v[0])
        if op == "clamp":
            return of_elements(dtype, lambda a: largest(least(a, at["hi"]), at["lo"]), v[0])
        if op == "cast":
            if dtype == "i32" and v[0].dtype == "f32":
                return of_elements(dtype, lambda a: int(largest(least(a, 1000), -1000)), v[0])
            return of_elements(dtype, {"i32": int, "f32": float}[dtype], v[0])
        if op == "iota":
            return B(shape, dtype, [], lambda i: i[at["d"]])
        if op == "where":
            rest = v[1:]
            a = constant((1,) * len(shape), dtype, at["a"]) if at["a"] is not None else rest.pop(0)
            b = constant((1,) * len(shape), dtype, at["b"]) if at["b"] is not None else rest.pop(0)
            return of_elements(dtype, lambda c, x, y: x if c else y, v[0], a, b)
        if op == "inside":
            return B(shape, dtype, [], v[0].there)
        if op in ("fill", "wfill"):
            full = B(shape, dtype, [], lambda i: v[0].at(i) if v[0].there(i) else at["v"])
            if len(v) == 1:
                return full
            return of_elements(dtype, lambda c, x: x if c else at["v"], v[1], full)
        if op == "transpose":
            p = at["p"]
            back = lambda i: tuple(i[p.index(d)] for d in range(len(p)))  # noqa: E731
            return moved(
                v[0], shape, back, lambda names: frozenset(e for e in range(len(p)) if p[e] in names)
            )
        if op == "reshape":
            if shape == v[0].shape:
                return v[0]
            return moved(
                v[0],
                shape,
                lambda i: unplace(place(i, shape), v[0].shape),
                lambda names: regrouped(names, v[0].shape, shape),
            )
        if op == "part":
            cut = list(at["dims"])
            if "picked" in at:
                cut[at["picked"]] = (self.number(at["pick"]), None)
            kept = [d for d, (_, k) in enumerate(cut) if k is not None]

            def back(i: Index) -> Index:
                j = iter(i)
                return tuple(s if k is None else s + next(j) for s, k in cut)

            return moved(
                v[0], shape, back, lambda names: frozenset(e for e, d in enumerate(kept) if d in names)
            )
        if op == "partbelow":
            starts = [s for s, _ in at["dims"]]
            y = moved(
                v[0],
                shape,
                lambda i: tuple(a + s for a, s in zip(i, starts, strict=True)),
                lambda names: names,
            )
            more = []
            for d, (lo, hi) in enumerate(at["ends"]):
                if lo is not None:
                    more.append((frozenset({d}), lambda i, d=d, k=self.number(lo): starts[d] + i[d] >= k))
                if hi is not None:
                    more.append((frozenset({d}), lambda i, d=d, k=self.number(hi): starts[d] + i[d] < k))
            return B(shape, dtype, y.conditions + more, y.at)
        if op == "concat":
            d = at["d"]

            def piece(i: Index) -> tuple[B, Index]:
                k = i[d]
                for t in v:
                    if k < t.shape[d]:
                        return t, put(i, d, k)
                    k -= t.shape[d]
                raise AssertionError

            names = frozenset({d}.union(*(c[0] for t in v for c in t.conditions)))
            ragged = any(t.conditions for t in v)
            there = lambda i: piece(i)[0].there(piece(i)[1])  # noqa: E731
            return B(shape, dtype, [(names, there)] if ragged else [], lambda i: piece(i)[0].at(piece(i)[1]))
        if op == "shift":
            d, k, x = at["d"], at["n"], at["fill"] or 0

            def value(i: Index) -> float:
                j = put(i, d, i[d] - k)
                return v[0].at(j) if j[d] >= 0 and v[0].there(j) else x

            return B(shape, dtype, v[0].conditions, value)
        if op == "sum":
            return reduction(dtype, at["d"], v, lambda x, _: sum(a for (a,) in x), 0)
        if op == "mean8":

            def mean(x: list, _: list[int]) -> float:
                m = sum(a for (a,) in x) / len(x)
                return float(math.floor(m * 8 + 2**-10)) if math.isfinite(m) else m

            return reduction(dtype, at["d"], v, mean, math.nan)
        if op in ("reduce_max", "reduce_min"):
            pick, first = (largest, -math.inf) if op == "reduce_max" else (least, math.inf)
            nothing = first if dtype == "f32" else -(2**31) if op == "reduce_max" else 2**31 - 1

            def most(x: list, _: list[int]) -> float:
                m = math.nan
                for (a,) in x:
                    m = pick(m, a)
                return nothing if math.isnan(m) else m

            return reduction(dtype, at["d"], v, most, nothing)
        if op in ("argmax", "argmin"):

            def first_of(x: list, places: list[int]) -> float:
                numbers = [(a, k) for (a,), k in zip(x, places, strict=True) if not math.isnan(a)]
                if not numbers:
                    return 2**31 - 1
                m = max(a for a, _ in numbers) if op == "argmax" else min(a for a, _ in numbers)
                return min(k for a, k in numbers if a == m)

            return reduction(dtype, at["d"], v, first_of, 2**31 - 1)
        if op == "reduce_last":
            return reduction(dtype, at["d"], v, lambda x, _: x[-1][0], 0)
        if op == "ureduce":
            return reduction(dtype, at["d"], v, lambda x, _: fold(FOLD[at["f"]], x)[at["i"]], 0)
        if op == "uscan":
            return scanned(dtype, at["d"], v, lambda x: fold(FOLD[at["f"]], x)[at["i"]])
        if op in ("cumsum", "cumprod", "cummax", "cummin"):
            f = {"cumsum": lambda a, b: a + b, "cumprod": times, "cummax": largest, "cummin": least}[op]
            none = {"cummax": -math.inf, "cummin": math.inf}.get(op)

            def so_far(x: list) -> float:
                y = x[0][0]
                for (a,) in x[1:]:
                    y = f(y, a)
                return none if none is not None and math.isnan(y) else y

            return scanned(dtype, at["d"], v, so_far)
        if op == "dot":
            y = self.product(v[0], v[1], dtype, shape)
            return of_elements(dtype, PAIR["+"], y, v[2]) if len(v) == 3 else y
        if op == "pipe":
            y = constant(shape, "f32", 0)
            for k in range(0, self.number(at["k"]), at["step"]):
                self.env[f"k{n.id}"] = k
                two = []
                for which, rows in (("", shape[0]), ("2", shape[1])):
                    m = Node(0, "load", [], {"tensor": at["tensor" + which]}, "f32", (rows, at["step"]))
                    x = self.loaded(m, at["dims" + which], m.shape)
                    two.append(x)
                turned = moved(
                    two[1],
                    two[1].shape[::-1],
                    lambda i: i[::-1],
                    lambda names: frozenset(1 - d for d in names),
                )
                y = of_elements("f32", PAIR["+"], y, self.product(two[0], turned, "f32", shape))
            return y
        if op == "gather2":
            data = self.data[at["tensor"]]
            inside = lambda i, j: 0 <= i < data.shape[0] and 0 <= j < data.shape[1]  # noqa: E731
            return of_elements(dtype, lambda i, j: data[i, j].item() if inside(i, j) else 0, v[0], v[1])
        if op == "old":
            dims = [dict(d) for d in at["dims"]]
            if len(v) > 1:
                dims[0] = {"start": {"": 0}, "extent": self.data[at["tensor"]].shape[0], "step": 1}
            m = self.loaded(n, dims, tuple(d["extent"] for d in dims))
            return of_elements(dtype, lambda a, _: a, self.gathered(m, v[1], 0) if len(v) > 1 else m, v[0])
        if op == "shared":
            return v[0]
        if op == "element":
            i = tuple(at["at"])
            k = v[1].at(i) if v[1].there(i) else 0
            return of_elements(dtype, lambda x: x + k, v[0])
        if op == "sort":
            return self.sorted(v[0], at["d"], at["f"] == "argsort", dtype, 1, shape)
        if op == "topk":
            return self.sorted(v[0], at["d"], at["i"] == 1, dtype, -1, shape)
        if op == "parts":
            t = v.pop(0) if at["based"] else constant(shape, dtype, 0)
            for dims, x in zip(at["dims"], v, strict=True):
                t = self.written(t, dims, x)
            return t
        if op == "moving":
            turns, k = self.number(at["turns"]), v[0].shape[0]

            def cell(i: Index) -> float:
                if i[0] >= turns * k:
                    return at["start"]
                j = (i[0] % k, *i[1:])
                return v[0].at(j) if v[0].there(j) else 0

            return B(shape, dtype, [], cell)
        if op == "loop":
            x = v[0]
            turns = (
                self.number(at["turns"])
                if len(v) == 1
                else v[1].at(tuple(at["by"]))
                if v[1].there(tuple(at["by"]))
                else 0
            )
            for turn in range(turns):
                self.env[f"t{n.id}"] = turn
                self.tile[at["carried"]] = x
                self.run(at["body"])
                x = self.tile[at["y"]]
            return x
        if op == "if":
            c = at["cond"]
            if c[0] == "tensor":
                yes = self.element(c[1], self.number(c[2])) > c[3]
            elif c[0] == "one":
                first = (0,) * len(v[1].shape)
                yes = v[1].there(first) and v[1].at(first) > c[1]
            else:
                yes = (
                    v[1].there(tuple(c[1]))
                    and v[1].at(tuple(c[1])) > c[2]
                    or (not v[1].there(tuple(c[1])) and c[2] < 0)
                )
            self.run(at["then"] if yes else at["else"])
            return self.tile[at["a"]] if yes else v[0] if at["b"] is None else self.tile[at["b"]]
        raise AssertionError(op)

    def product(self, a: B, b: B, dtype: str, shape: Index) -> B:
        r = len(shape)
        rows = [
            (n, (lambda i, f=f: f(put(i, r - 1, 0))))
            for n, f in after_reduction(a.conditions, a.shape, r - 1)
        ]
        columns = [
            (n, (lambda i, f=f: f(put(i, r - 2, 0))))
            for n, f in after_reduction(b.conditions, b.shape, r - 2)
        ]

        def value(i: Index) -> float:
            ks = [(put(i, r - 1, k), put(i, r - 2, k)) for k in range(a.shape[r - 1])]
            return sum((times(a.at(x), b.at(y)) for x, y in ks if a.there(x) and b.there(y)), 0)

        return B(shape, dtype, rows + columns, value)

    def written(self, t: B, dims: list, x: B) -> B:
        x = wide(x, tuple(k for _, k in dims))

        def inner(i: Index) -> Index | None:
            j = tuple(a - s for a, (s, _) in zip(i, dims, strict=True))
            return j if all(0 <= a < k for a, (_, k) in zip(j, dims, strict=True)) else None

        if x.shape == t.shape:
            return x
        cut = {d for d, (_, k) in enumerate(dims) if k != t.shape[d]}
        names = frozenset(cut.union(*(c[0] for c in t.conditions + x.conditions)))

        def there(i: Index) -> bool:
            j = inner(i)
            return t.there(i) if j is None else x.there(j)

        def value(i: Index) -> float:
            j = inner(i)
            return t.at(i) if j is None else x.at(j)

        return B(t.shape, t.dtype, [(names, there)] if t.conditions or x.conditions else [], value)

    def sorted(self, t: B, d: int, places: bool, dtype: str, way: int, shape: Index) -> B:
        along = [(n, f) for n, f in t.conditions if d in n]
        others = [(n, f) for n, f in t.conditions if d not in n]

        def count(i: Index) -> int:
            return sum(all(f(j) for _, f in along) for j in line(t.shape, d, i))

        def value(i: Index) -> float:
            found = [
                (math.isnan(t.at(j)), 0 if math.isnan(t.at(j)) else way * t.at(j), j[d], t.at(j))
                for j in line(t.shape, d, i)
                if t.there(j)
            ]
            x = sorted(found, key=lambda k: k[:3])[i[d]]
            return x[2] if places else x[3]

        names = frozenset(e for n, _ in along for e in n)
        others = [(n, lambda i, f=f: f(put(i, d, 0))) for n, f in others]
        return B(shape, dtype, others + ([(names, lambda i: i[d] < count(i))] if along else []), value)


def expected(p: Program) -> dict[str, np.ndarray]:
    out = {}
    for name, dtype, shape in tree.outputs(p):
        out[name] = np.full(shape, tree.first_value(p, name, dtype), tree.model.NUMPY[dtype])
    for block in range(p.blocks):
        r = Run(p, block)
        r.run(p.nodes)
        for k, s in enumerate(p.sinks):
            t = r.tile[s.node]
            y = out[f"OUT{k}"]
            for i in indices(t.shape):
                if s.kind == "store":
                    out[f"IN{k}"][(block, *i)] = t.there(i)
                    if t.there(i):
                        y[(block, *i)] = t.at(i)
                    continue
                if s.kind == "storeat":
                    at = tuple(r.number(d["start"]) + d["step"] * a for a, d in zip(i, s.dims, strict=True))
                    ends = [
                        min(n, r.number(d["hi"]) if "hi" in d else n)
                        for n, d in zip(y.shape, s.dims, strict=True)
                    ]
                    if t.there(i) and all(0 <= a < n for a, n in zip(at, ends, strict=True)):
                        y[at] = t.at(i) if s.how == "=" else y[at] + t.at(i)
                    continue
                index = r.tile[s.index]
                j = i[: len(index.shape)]
                if t.there(i) and index.there(j) and 0 <= index.at(j) < y.shape[0]:
                    at = (index.at(j), *i[len(index.shape) :])
                    y[at] = y[at] + t.at(i) if s.kind == "atomic" else t.at(i)
    return out
