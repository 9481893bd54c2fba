"""The law of missing elements, on numpy.ma: each op of the language as a function of tiles. A tile is a masked
array and the list of its conditions; each condition is a bool array (true: there) and the dims that it names.
numpy.ma computes values and masks; the conditions are computed by the law alone, and the two must agree wherever
no deviation is stated. The deviations are functions of their own. Shares no code with the compiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.ma as ma

NUMPY: dict[str, type] = {
    "f16": np.float16,
    "f32": np.float32,
    "i32": np.int32,
    "bool": np.bool_,
    "u4": np.uint8,  # a code for each element
    "u8": np.uint8,
    "i8": np.int8,
}
NOWHERE = 2147483647  # argmax of nothing
Condition = tuple[np.ndarray, frozenset]

# Rules turned around, by name: each must be noticed by some comparison.
mutant: str | None = None
# Ways to read the law that should give the same result; a program for which they differ is ambiguous.
#   "": conditions keep their names, true or not;
#   "drop": a condition that is true everywhere is dropped at once;
#   "joint": a dot judges its lines by pairs;
#   "times": an element that a dot misses by a condition on k and another dim counts as 0 times its partner (LANGUAGE.md).
reading = ""
seen: Counter[str] = Counter()


class Inexact(Exception):
    """The result depends on the order of rounding: not a program to compare."""


class Disagree(Exception):
    """numpy.ma and the conditions disagree: an error in this file."""


def turned(rule: str) -> bool:
    return mutant == rule


def there_of(conditions: Iterable[Condition], shape: Sequence[int]) -> np.ndarray:
    m = np.ones(tuple(shape), bool)
    for a, _ in conditions:
        m = m & a
    return m


class Tile:
    def __init__(self, x: ma.MaskedArray, conditions: Sequence[Condition] = ()) -> None:
        data = np.asarray(x.data if isinstance(x, ma.MaskedArray) else x)
        self.x = ma.array(data, mask=np.broadcast_to(ma.getmaskarray(x), data.shape).copy(), dtype=data.dtype)
        kept: list[Condition] = []
        for a, names in conditions:
            a = np.broadcast_to(a, data.shape)
            if reading == "drop" and a.all():
                continue
            if not any(names == n and np.array_equal(a, b) for b, n in kept):
                kept.append((a, frozenset(names)))
        self.conditions = kept
        self.there = ~ma.getmaskarray(self.x)
        if not np.array_equal(self.there, there_of(kept, data.shape)):
            raise Disagree("mask and conditions")
        inside = data[self.there]
        if inside.size:
            if data.dtype.kind == "f":
                finite = inside[np.isfinite(inside)]
                if finite.size and np.abs(finite).max() >= (2**24 if data.dtype == np.float32 else 2**11):
                    raise Inexact
            elif data.dtype == np.int32:
                if (
                    np.abs(inside.astype(np.int64)).max() >= 2**31 - 1
                    and (inside != NOWHERE).all()
                    and (inside != -(2**31)).all()
                ):
                    raise Inexact

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    @property
    def dtype(self) -> np.dtype:
        return self.x.dtype


def whole(a: np.ndarray) -> Tile:
    return Tile(ma.array(a))


# ---- what is there after ops that move elements ----------------------------------------------------------------


def broadcast(t: Tile, shape: tuple[int, ...]) -> Tile:
    """A condition of a dim that is repeated names no dim any more."""
    if t.shape == shape:
        return t
    k = len(shape) - len(t.shape)

    def spread(a: np.ndarray) -> np.ndarray:
        return np.broadcast_to(a.reshape((1,) * k + t.shape), shape)

    out = []
    for a, names in t.conditions:
        out.append((spread(a), {d + k for d in names if t.shape[d] == shape[d + k]}))
    return Tile(ma.array(spread(t.x.data), mask=spread(ma.getmaskarray(t.x))), out)


def groups(a: Sequence[int], b: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest groups of dims that a reshape cuts or joins together."""
    out = []
    i = j = 0
    while i < len(a) or j < len(b):
        first_i, first_j = i, j
        m = n = 1
        if i < len(a):
            m, i = a[i], i + 1
        if j < len(b):
            n, j = b[j], j + 1
        while m != n:
            if m < n:
                m, i = m * a[i], i + 1
            else:
                n, j = n * b[j], j + 1
        while i < len(a) and a[i] == 1:
            i += 1
        while j < len(b) and b[j] == 1:
            j += 1
        out.append((list(range(first_i, i)), list(range(first_j, j))))
    return out


def reshape(t: Tile, shape: tuple[int, ...]) -> Tile:
    if t.shape == shape:
        return t
    out = []
    pairs = groups(t.shape, shape)
    for a, names in t.conditions:
        named: set[int] = set()
        for old, new in pairs:
            if any(d in names and t.shape[d] > 1 for d in old):
                named |= {d for d in new if shape[d] > 1}
                if turned("reshape"):
                    named = {min(named)}
        out.append((a.reshape(shape), named))
    return Tile(t.x.reshape(shape), out)


def transpose(t: Tile, p: Sequence[int]) -> Tile:
    names = (lambda n: n) if turned("transpose") else (lambda n: {list(p).index(d) for d in n})
    return Tile(t.x.transpose(p), [(a.transpose(p), names(n)) for a, n in t.conditions])


def part(t: Tile, dims: Sequence[tuple[int, int | None]]) -> Tile:
    """dims: (start, extent), or (index, None) that drops the dim."""
    at = tuple(slice(s, s + n) if n is not None else s for s, n in dims)
    new = {}
    for d, (_, n) in enumerate(dims):
        if n is not None:
            new[d] = len(new)
    out = [(np.asarray(a[at]), {new[d] for d in names if d in new}) for a, names in t.conditions]
    if turned("part"):
        out = [(a, n) for a, n in out if n]
    mask = ma.getmaskarray(t.x)[at]
    if turned("part"):
        mask = ~there_of(out, t.x.data[at].shape)
    return Tile(ma.array(t.x.data[at], mask=mask), out)


def part_below(t: Tile, dims: Sequence[tuple[int, int]], ends: Sequence[tuple]) -> Tile:
    """A slice of a register tile that ends at numbers of its own: conditions of one dim each."""
    y = part(t, dims)
    more = []
    for d, ((s, n), (lo, hi)) in enumerate(zip(dims, ends, strict=True)):
        i = np.arange(s, s + n)
        if lo is None and hi is None:
            continue
        ok = (i >= (lo if lo is not None else 0)) & (i < (hi if hi is not None else t.shape[d]))
        if turned("part below"):
            ok = np.ones_like(ok)
        more.append((ok.reshape([-1 if e == d else 1 for e in range(len(dims))]), {d}))
    return Tile(ma.array(y.x.data, mask=~(y.there & there_of(more, y.shape))), list(y.conditions) + more)


def concat(d: int, tiles: Sequence[Tile]) -> Tile:
    x = ma.concatenate([t.x for t in tiles], d)
    names = {d}
    for t in tiles:
        for _, n in t.conditions:
            names |= n
    if turned("concat"):
        names = {d}
    if not any(t.conditions for t in tiles):
        return Tile(x)
    return Tile(x, [(np.concatenate([there_of(t.conditions, t.shape) for t in tiles], d), names)])


def shift(t: Tile, d: int, n: int, v: float) -> Tile:
    """Deviation from np.roll: the mask stays. What would come from a masked place is what comes from outside."""
    n = min(n, t.shape[d])
    v = t.dtype.type(v)
    moved = np.full(t.shape, v, t.dtype)
    source = np.where(t.there, t.x.data, 0 if turned("shift entry") else v)
    at = [slice(None)] * len(t.shape)
    back = [slice(None)] * len(t.shape)
    at[d], back[d] = slice(n, None), slice(0, t.shape[d] - n)
    moved[tuple(at)] = source[tuple(back)]
    mask = ma.getmaskarray(t.x)
    if turned("shift"):
        mask = np.roll(mask, n, d)
        return Tile(ma.array(moved, mask=mask), [(~mask, {d})] if mask.any() else [])
    return Tile(ma.array(moved, mask=mask), t.conditions)


# ---- elementwise -------------------------------------------------------------------------------------------------


def elementwise(f: Callable[..., ma.MaskedArray], *tiles: Tile) -> Tile:
    """f of masked arrays: masked where any operand is."""
    shape = np.broadcast_shapes(*(t.shape for t in tiles))
    tiles = tuple(broadcast(t, shape) for t in tiles)
    conditions = [c for t in tiles for c in t.conditions]
    with np.errstate(all="ignore"):
        x = f(*(t.x for t in tiles))
    mask = ma.getmaskarray(x)
    if turned("elementwise") and len(tiles) > 1:
        conditions = tiles[0].conditions
        mask = ~there_of(conditions, shape)
    return Tile(ma.array(np.asarray(x.data), mask=mask), conditions)


def raw(f: Callable[..., np.ndarray], *tiles: Tile) -> Tile:
    """A function of data, for ops that numpy.ma lacks; there where all operands are."""

    def g(*xs: ma.MaskedArray) -> ma.MaskedArray:
        mask = np.zeros(xs[0].shape, bool)
        for x in xs:
            mask = mask | ma.getmaskarray(x)
        return ma.array(f(*(x.data for x in xs)), mask=mask)

    return elementwise(g, *tiles)


def where(c: Tile, a: Tile, b: Tile) -> Tile:
    """Deviation: strict. numpy.ma has the mask of the chosen one, so that masks would depend on data."""
    if turned("where"):
        shape = np.broadcast_shapes(c.shape, a.shape, b.shape)
        c, a, b = (broadcast(t, shape) for t in (c, a, b))
        x = ma.where(c.x, a.x, b.x)
        m = ma.getmaskarray(x) | ma.getmaskarray(c.x)
        return Tile(ma.array(x.data, mask=m), [(~m, range(len(shape)))] if m.any() else [])
    return raw(np.where, c, a, b)


def inside(t: Tile) -> Tile:
    return whole(np.ones(t.shape, bool) if turned("inside") else t.there.copy())


def fill(t: Tile, v: float) -> Tile:
    if turned("fill"):
        return Tile(ma.array(t.x.filled(t.dtype.type(v)), mask=ma.getmaskarray(t.x)), t.conditions)
    return whole(t.x.filled(t.dtype.type(v)))


def where_inside(t: Tile, c: Tile | None, v: float) -> Tile:
    """where(inside(x) [&& c], x, v) is fill(x, v), chosen by c."""
    if turned("where inside"):
        w = whole(np.full(t.shape, v, t.dtype))
        return where(inside(t), t, w) if c is None else where(elementwise(ma.logical_and, inside(t), c), t, w)
    f = fill(t, v)
    return f if c is None else where(c, f, whole(np.full((1,) * len(t.shape), v, t.dtype)))


# ---- reductions and scans ----------------------------------------------------------------------------------------


def lines_left(conditions: Sequence[Condition], shape: Sequence[int], d: int) -> list[Condition]:
    """Conditions that do not name d stay; those of d alone are used up; where others name d, too, lines are there
    that have an element. Where those of d alone leave nothing of d, lines are judged by the others."""
    out, own, tied = [], [], []
    for a, names in conditions:
        if d not in names:
            first = (
                np.take(np.broadcast_to(a, shape), [0], d)
                if shape[d]
                else np.ones([1 if e == d else n for e, n in enumerate(shape)], bool)
            )
            if not np.array_equal(np.broadcast_to(first, shape), np.broadcast_to(a, shape)):
                raise Disagree("a condition depends on a dim that it does not name")
            out.append((first, names))
        elif names == {d}:
            own.append((a, names))
        else:
            tied.append((a, names))
    if turned("own stays") and own:
        tied, own = tied + own, []
    if tied:
        judges = own + tied if there_of(own, shape).any() or turned("judged by all") else tied
        left = there_of(judges, shape).any(d, keepdims=True)
        if turned("tied used up"):
            left = np.ones_like(left)
        out.append((left, frozenset().union(*(n for _, n in tied)) - {d}))
    if turned("others used up"):
        out = []
    return out


def reduce_with(t: Tile, d: int, y: ma.MaskedArray, nothing: float) -> Tile:
    """Deviation: of no element the identity, and there, unless a condition of another dim says otherwise;
    numpy.ma: masked."""
    shape = tuple(1 if e == d else n for e, n in enumerate(t.shape))
    y = ma.array(
        np.asarray(y.data if isinstance(y, ma.MaskedArray) else y).reshape(shape),
        mask=np.reshape(ma.getmaskarray(y), shape),
    )
    conditions = lines_left(t.conditions, t.shape, d)
    left, masked = there_of(conditions, shape), ma.getmaskarray(y)
    if (~masked & ~left).any() and mutant is None:
        raise Disagree("a line with elements is not there")
    if (masked & left).any():
        own = there_of([c for c in t.conditions if c[1] == {d}], t.shape)
        if own.any() and mutant is None:
            raise Disagree("an identity elsewhere")
        seen["identity"] += 1
    if turned("identity"):
        conditions = conditions + [(~masked, range(len(shape)))] if masked.any() else conditions
        left = left & ~masked
    with np.errstate(all="ignore"):
        return Tile(ma.array(np.where(masked, y.data.dtype.type(nothing), y.data), mask=~left), conditions)


def by_line(
    t: Tile, d: int, f: Callable[[np.ndarray], float], dtype: np.dtype | None = None
) -> ma.MaskedArray:
    """f of the elements that are there, line by line; masked where there are none."""
    shape = tuple(1 if e == d else n for e, n in enumerate(t.shape))
    y = ma.masked_all(shape, dtype or t.dtype)
    for at in np.ndindex(*shape):
        line = tuple(slice(None) if e == d else i for e, i in enumerate(at))
        there = t.there[line]
        if there.any():
            y[at] = f(t.x.data[line][there])
    return y


LEAST = {"f": -np.inf, "i": -(2**31), "b": False}
LARGEST = {"f": np.inf, "i": 2**31 - 1, "b": True}


def exact_sum(v: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        finite = v[np.isfinite(v)] if v.dtype.kind == "f" else v
        if finite.size and np.abs(finite.astype(np.float64)).sum() >= (
            2**24 if v.dtype.kind == "f" else 2**31 - 1
        ):
            raise Inexact
        return v.astype(np.float64 if v.dtype.kind == "f" else np.int64).sum()


def total(t: Tile, d: int) -> Tile:
    for line in np.moveaxis(np.where(t.there, t.x.data, 0), d, -1).reshape(-1, t.shape[d]):
        exact_sum(line)
    with np.errstate(all="ignore"):
        y = t.x.sum(d, dtype=t.dtype, keepdims=True)
    if turned("sum"):
        y = ma.array(t.x.data.sum(d, keepdims=True), mask=ma.getmaskarray(y))
    return reduce_with(t, d, y, 0)


def mean8(t: Tile, d: int) -> Tile:
    """floor(8 mean + 2^-10): whole numbers, however the quotient is rounded. Of no element NaN."""

    def f(v: np.ndarray) -> float:
        n = t.shape[d] if turned("mean") else v.size
        with np.errstate(all="ignore"):
            m = exact_sum(v) / n
        if np.isfinite(m) and abs(m) > 2**8:
            raise Inexact
        return np.floor(m * 8 + 2**-10)

    return reduce_with(t, d, by_line(t, d, f), np.nan)


def extreme(t: Tile, d: int, largest: bool) -> Tile:
    """Deviation: a NaN counts as absent, as in the language's max."""

    def f(v: np.ndarray) -> float:
        if v.dtype.kind == "f":
            return (np.fmax if largest else np.fmin).reduce(v, initial=-np.inf if largest else np.inf)
        return v.max() if largest else v.min()

    y = by_line(t, d, f)
    k = t.dtype.kind
    if k != "f" or not np.isnan(t.x.data[t.there]).any():
        z = t.x.max(d, keepdims=True) if largest else t.x.min(d, keepdims=True)
        if not (
            np.array_equal(ma.getmaskarray(y), ma.getmaskarray(z))
            and np.array_equal(y.filled(0), ma.filled(z, 0))
        ):
            raise Disagree("extreme")
    nothing = (LEAST if largest else LARGEST)[k]
    if turned("extreme of none"):
        nothing = 0
    return reduce_with(t, d, y, nothing)


def arg_extreme(t: Tile, d: int, largest: bool) -> Tile:
    """Deviation: only elements that are there, also where they equal what numpy.ma fills with; a NaN is absent;
    of none 2147483647."""
    shape = tuple(1 if e == d else n for e, n in enumerate(t.shape))
    y = ma.masked_all(shape, np.int32)
    for at in np.ndindex(*shape):
        line = tuple(slice(None) if e == d else i for e, i in enumerate(at))
        v, ok = t.x.data[line], t.there[line].copy()
        y_at = NOWHERE
        if not ok.any():
            continue
        if v.dtype.kind == "f":
            ok &= ~np.isnan(v)
        if ok.any():
            best = v[ok].max() if largest else v[ok].min()
            y_at = int(np.flatnonzero(ok & (v == best))[0])
            if turned("arg") and best in (-np.inf, -(2**31), np.inf, 2**31 - 1):
                y_at = 0
        y[at] = y_at
    return reduce_with(t, d, y, NOWHERE)


def last(t: Tile, d: int) -> Tile:
    if turned("reduce_last"):
        shape = tuple(1 if e == d else n for e, n in enumerate(t.shape))
        y = np.take(t.x.data, [t.shape[d] - 1], d).reshape(shape)
        return reduce_with(t, d, ma.array(y, mask=~t.there.any(d, keepdims=True)), 0)
    return reduce_with(t, d, by_line(t, d, lambda v: v[-1]), 0)


USER: dict[str, Callable[..., tuple]] = {
    "opening": lambda a, b: (a,),
    "latest": lambda a, b: (b,),
    "adding": lambda a, b: (a + b,),
    "either": lambda a, b: (a or b,),
    "linear": lambda a, b, c, d: (a * c, b * c + d),
}


def folded(f: str, lines: list[np.ndarray]) -> list[tuple]:
    out: list[tuple] = []
    for v in zip(*lines, strict=True):
        with np.errstate(all="ignore"):
            out.append(USER[f](*out[-1], *v) if out else tuple(v))
        for x in out[-1]:
            if f != "either" and np.isfinite(x) and abs(float(x)) >= 2**24:
                raise Inexact
    return out


def joined(tiles: Sequence[Tile]) -> tuple[list[Tile], list[Condition], np.ndarray]:
    shape = np.broadcast_shapes(*(t.shape for t in tiles))
    wide = [broadcast(t, shape) for t in tiles]
    conditions = [c for t in wide for c in t.conditions]
    return wide, conditions, there_of(conditions, shape)


def user_reduce(f: str, d: int, tiles: Sequence[Tile], i: int) -> Tile:
    wide, conditions, there = joined(tiles)
    shape = tuple(1 if e == d else n for e, n in enumerate(there.shape))
    y = ma.masked_all(shape, wide[i].dtype)
    for at in np.ndindex(*shape):
        line = tuple(slice(None) if e == d else k for e, k in enumerate(at))
        if there[line].any():
            y[at] = folded(f, [t.x.data[line][there[line]] for t in wide])[-1][i]
    return reduce_with(Tile(ma.array(wide[i].x.data, mask=~there), conditions), d, y, 0)


def scan_lines(
    tiles: Sequence[Tile], d: int, f: Callable[[list[np.ndarray]], np.ndarray], dtype: np.dtype
) -> Tile:
    """Of those before that are there; there where all tiles are. numpy.ma's accumulate of extremes loses masks."""
    wide, conditions, there = joined(tiles)
    y = np.zeros(there.shape, dtype)
    for at in np.ndindex(*(1 if e == d else n for e, n in enumerate(there.shape))):
        line = tuple(slice(None) if e == d else k for e, k in enumerate(at))
        ok = np.ones_like(there[line]) if turned("scan") else there[line]
        if ok.any():
            y[line][ok] = f([t.x.data[line][ok] for t in wide])
    mask = ~there
    if turned("scan mask"):
        conditions, mask = [], np.zeros_like(mask)
    return Tile(ma.array(y, mask=mask), conditions)


def cumulate(t: Tile, d: int, kind: str) -> Tile:
    def f(v: list[np.ndarray]) -> np.ndarray:
        x = v[0]
        with np.errstate(all="ignore"):
            if kind == "cumsum":
                exact_sum(x)
                return np.add.accumulate(x)
            if kind == "cumprod":
                y = np.multiply.accumulate(x.astype(np.float64))
                if np.isfinite(y).any() and np.abs(y[np.isfinite(y)]).max() >= 2**24:
                    raise Inexact
                return y.astype(x.dtype)
            if x.dtype.kind != "f":
                return (np.maximum if kind == "cummax" else np.minimum).accumulate(x)
            first = -np.inf if kind == "cummax" else np.inf
            x = np.where(np.isnan(x), first, x)
            return (np.maximum if kind == "cummax" else np.minimum).accumulate(x)

    return scan_lines([t], d, f, t.dtype)


def user_scan(f: str, d: int, tiles: Sequence[Tile], i: int) -> Tile:
    return scan_lines(
        tiles, d, lambda v: np.array([x[i] for x in folded(f, v)], tiles[i].dtype), tiles[i].dtype
    )


def tied_zeros(a: Tile, b: Tile) -> np.ndarray:
    """0 for each pair of a dot, NaN where one misses its element by a condition on k and another dim, and the other's
    is infinite or NaN."""
    k = len(a.shape) - 1
    sides = ((a, k), (b, k - 1))
    alone = [there_of([c for c in t.conditions if c[1] == {d}], t.shape) for t, d in sides]
    tied = [~there_of([c for c in t.conditions if d in c[1] and c[1] != {d}], t.shape) for t, d in sides]
    wild = [t.there & ~np.isfinite(t.x.data) for t, _ in sides]

    def both(of_a: np.ndarray, of_b: np.ndarray) -> np.ndarray:
        return of_a[..., :, :, None] & of_b[..., None, :, :]

    bad = (both(tied[0], wild[1]) | both(wild[0], tied[1])) & both(*alone)
    return np.where(bad, np.nan, 0.0)


def dot(a: Tile, b: Tile) -> Tile:
    """Deviation from ma.dot: pairs of which one is missing are left out whole (a NaN of the partner too), and of
    no pair the sum is 0. Matrices, or batches of them in dim 0."""
    dtype = np.dtype(np.float32) if a.dtype == np.float16 else a.dtype
    k = len(a.shape) - 1
    shape = (*a.shape[:-1], b.shape[-1])
    pairs = a.there[..., :, :, None] & b.there[..., None, :, :]
    left = np.where(a.there, a.x.data, 1 if turned("dot") else 0)
    right = np.where(b.there, b.x.data, 1 if turned("dot") else 0)
    with np.errstate(all="ignore"):
        p = left[..., :, :, None].astype(np.float64) * right[..., None, :, :].astype(np.float64)
        p = np.where(pairs | turned("dot"), p, 0)
        if reading == "times":
            p += tied_zeros(a, b)
        finite = np.where(np.isfinite(p), np.abs(p), 0)
        if finite.sum(-2).max(initial=0) >= (2**24 if dtype.kind == "f" else 2**31 - 1):
            raise Inexact
        y = p.sum(-2).astype(dtype)

    if reading == "joint" and k == 1:
        both = [(np.broadcast_to(c[:, :, None], pairs.shape), names) for c, names in a.conditions]
        both += [
            (np.broadcast_to(c[None, :, :], pairs.shape), {d + 1 for d in names}) for c, names in b.conditions
        ]
        conditions = [(c[:, 0, :], {d // 2 for d in names}) for c, names in lines_left(both, pairs.shape, 1)]
    else:
        conditions = [(np.broadcast_to(c, shape), names) for c, names in lines_left(a.conditions, a.shape, k)]
        conditions += [
            (np.broadcast_to(c, shape), names) for c, names in lines_left(b.conditions, b.shape, k - 1)
        ]
    if turned("dot rows"):
        conditions = []
    there = there_of(conditions, shape)
    if not reading and mutant is None and k == 1:
        with np.errstate(all="ignore"):
            z = ma.dot(a.x, b.x)
        ok = ~ma.getmaskarray(z)
        clean = np.isfinite(a.x.filled(0)).all() and np.isfinite(b.x.filled(0)).all()
        if (
            (ok & ~there).any()
            or clean
            and a.dtype == dtype
            and not np.array_equal(y[ok], np.asarray(z.data)[ok])
        ):
            raise Disagree("dot")
    return Tile(ma.array(y, mask=~there), conditions)


def ordered(t: Tile, d: int, down: bool, places: bool) -> Tile:
    """Deviation: numbers, then NaN, then masked ones; stable. There: the first as many as were there."""
    y = np.zeros(t.shape, np.int32 if places else t.dtype)
    n = t.shape[d]
    count = t.there.sum(d, keepdims=True)
    for at in np.ndindex(*(1 if e == d else s for e, s in enumerate(t.shape))):
        line = tuple(slice(None) if e == d else k for e, k in enumerate(at))
        ok = np.flatnonzero(t.there[line])
        v = t.x.data[line][ok]
        nan = np.isnan(v) if v.dtype.kind == "f" else np.zeros(v.size, bool)
        key = np.where(nan, 0, v).astype(np.float64)
        order = np.lexsort((-key if down else key, nan))  # stable
        y[line][: ok.size] = ok[order] if places else v[order]
    i = np.arange(n).reshape([-1 if e == d else 1 for e in range(len(t.shape))])
    stay = [(a, names) for a, names in t.conditions if d not in names]
    moved = frozenset().union(*(names for _, names in t.conditions if d in names))
    conditions = list(stay)
    if moved:
        along = there_of([c for c in t.conditions if d in c[1]], t.shape).sum(d, keepdims=True)
        conditions.append((i < along, moved))
    return Tile(ma.array(y, mask=~((i < count) & there_of(stay, t.shape))), conditions)


# ---- memory ------------------------------------------------------------------------------------------------------


def load(data: np.ndarray, dims: Sequence[tuple]) -> Tile:
    """dims: (start, extent, step, lo, hi); extent None selects one element and drops the dim."""
    at, conditions, shape = [], [], [n for _, n, *_ in dims if n is not None]
    e = 0
    for d, (start, n, step, lo, hi) in enumerate(dims):
        i = start + step * np.arange(1 if n is None else n)
        if turned("below"):
            lo = hi = None
        ok = (i >= max(0, lo if lo is not None else 0)) & (
            i < min(data.shape[d], hi if hi is not None else data.shape[d])
        )
        if turned("front"):
            ok = i < data.shape[d]
        if n is None:
            conditions.append((np.full(shape, ok[0]), set()))
        else:
            conditions.append((ok.reshape([-1 if k == e else 1 for k in range(len(shape))]), {e}))
            e += 1
        at.append((i, ok, n is None))
    there = there_of(conditions, shape)
    grids = np.meshgrid(
        *(np.clip(i, 0, max(data.shape[d] - 1, 0)) for d, (i, _, _) in enumerate(at)), indexing="ij"
    )
    x = data[tuple(grids)].reshape(shape) if data.size else np.zeros(shape, data.dtype)
    if turned("load"):
        return whole(np.where(there, x, 0))
    return Tile(ma.array(x, mask=~there), conditions)


def element(data: np.ndarray, at: Sequence[int], hi: int | None = None) -> float:
    """An element as a scalar: 0 outside, and from hi on."""
    if (hi is None or at[0] < hi or turned("scalar below")) and all(
        0 <= i < n for i, n in zip(at, data.shape, strict=True)
    ):
        return data[tuple(at)]
    return data.dtype.type(1 if turned("scalar") else 0)


def tile_element(t: Tile, at: Sequence[int]) -> float:
    return t.x.data[tuple(at)] if t.there[tuple(at)] else t.dtype.type(1 if turned("scalar") else 0)


def decides(t: Tile, k: float) -> bool:
    """Whether the one element of a tile is above k: false if it is not there."""
    there = t.there.reshape(-1)[0] or turned("condition")
    return bool(there and t.x.data.reshape(-1)[0] > k)


def gather(source: Tile, dim: int, index: Tile) -> Tile:
    """source[.., index, ..] with an index tile in place of dim. There: where the indices are, and by the other dims'
    slices. Deviation: an index outside reads 0, as does that of an element that is not there; it is data."""
    rank = len(index.shape)
    shape = source.shape[:dim] + index.shape + source.shape[dim + 1 :]
    n = source.shape[dim]
    i = np.where(index.there, index.x.data, -1)
    ok = (i >= 0) & (i < n)
    at = np.clip(i, 0, max(n - 1, 0))
    aside = [c for c in source.conditions if dim not in c[1]]
    here = there_of([c for c in source.conditions if dim in c[1]], source.shape)
    values = np.where(here, source.x.data, source.dtype.type(0))
    y = np.take(values, at, dim) if n else np.zeros(shape, source.dtype)
    spread = (1,) * dim + index.shape + (1,) * (len(source.shape) - dim - 1)
    y = np.where(ok.reshape(spread), y, source.dtype.type(1 if turned("gather zero") else 0))
    conditions = []
    for a, names in aside:
        a = np.take(a, np.zeros(index.shape, int), dim) if n else np.ones(shape, bool)
        conditions.append((a, {d if d < dim else d + rank - 1 for d in names}))
    for a, names in index.conditions:
        conditions.append((np.broadcast_to(a.reshape(spread), shape), {d + dim for d in names}))
    if turned("gather"):
        conditions = []
    return Tile(ma.array(y, mask=~there_of(conditions, shape)), conditions)


def gather_pair(data: np.ndarray, i: Tile, j: Tile) -> Tile:
    """data[i, j] of two index tiles: 0 where one is outside; there where both are."""

    def f(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        ok = (a >= 0) & (a < data.shape[0]) & (b >= 0) & (b < data.shape[1])
        return np.where(ok, data[np.where(ok, a, 0), np.where(ok, b, 0)] if data.size else 0, 0).astype(
            data.dtype
        )

    return raw(f, i, j)


def old_value(before: Tile, x: Tile) -> Tile:
    """Of an atomic update: there where the element and what is added are."""
    return raw(lambda a, b: a, before, x) if not turned("old value") else before


def assemble(base: Tile, parts: Sequence[tuple[Sequence[tuple[int, int]], Tile]]) -> Tile:
    """Parts of a shared tile written one after another, at compile-time numbers: as x, other elements as before."""
    t = base
    for dims, x in parts:
        at = tuple(slice(s, s + n) for s, n in dims)
        x = broadcast(x, tuple(n for _, n in dims))
        data, there = t.x.data.copy(), t.there.copy()
        data[at], there[at] = x.x.data, x.there
        cut = {d for d, (s, n) in enumerate(dims) if (s, n) != (0, t.shape[d])}
        if not cut:
            conditions = x.conditions
        elif not t.conditions and not x.conditions:
            conditions = []
        else:
            conditions = [(there, cut.union(*(n for _, n in list(t.conditions) + list(x.conditions))))]
        if turned("parts"):
            conditions, there = [], np.ones_like(there)
        t = Tile(ma.array(data, mask=~there), conditions)
    return t


def moving(shape: tuple[int, ...], start: float, turns: int, x: Tile) -> Tile:
    """Parts at run-time numbers, one after another along dim 0, of a shared tile: everywhere; 0 where x is not."""
    y = np.full(shape, start, x.dtype)
    k = x.shape[0]
    for i in range(turns):
        y[i * k : (i + 1) * k] = np.where(x.there, x.x.data, 1 if turned("moving") else 0)
    return whole(y)


def store(out: np.ndarray, at: tuple, t: Tile) -> None:
    """Deviation from out[..] = masked, which writes: masked elements are left out."""
    view = out[at]
    there = np.ones_like(t.there) if turned("store") else t.there
    view[there] = t.x.data[there]


def store_at(out: np.ndarray, dims: Sequence[tuple], t: Tile, add: bool) -> None:
    """out[dims] = t, dims as those of load: what is not there is left out, at both sides."""
    for at in np.ndindex(*t.shape):
        k = tuple(start + step * i for i, (start, _, step, _, _) in zip(at, dims, strict=True))
        ok = t.there[at] or turned("store at")
        for i, n, (_, _, _, lo, hi) in zip(k, out.shape, dims, strict=True):
            ok = ok and max(0, lo if lo is not None else 0) <= i < min(n, hi if hi is not None else n)
        if ok:
            with np.errstate(all="ignore"):
                out[k] = out[k] + t.x.data[at] if add else t.x.data[at]


def scatter(out: np.ndarray, index: Tile, t: Tile, add: bool) -> None:
    """Through an index tile of dim 0: index or value not there, or index outside: nothing."""
    for at in np.ndindex(*t.shape):
        i = index.x.data[at[: len(index.shape)]]
        ok = index.there[at[: len(index.shape)]] and t.there[at] or turned("scatter")
        if ok and 0 <= i < out.shape[0]:
            k = (i, *at[len(index.shape) :])
            with np.errstate(all="ignore"):
                out[k] = out[k] + t.x.data[at] if add else t.x.data[at]
