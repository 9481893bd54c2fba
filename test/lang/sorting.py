"""sort, argsort and topk compared with NumPy: all types, dims and sizes, NaN, infinities and equal elements. Run by
run-sorting.sh."""

import os
import sys
import tempfile
import unittest

import numpy as np

from hexc_run import HOW, run

RNG = np.random.default_rng(11)
TYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "u32": np.uint32, "i8": np.int8, "u16": np.uint16,
         "i64": np.int64}
QUICK = bool(os.environ.get("QUICK"))


def values(dtype, shape):
    """Few different numbers, so that there are equal ones, and the ends of the type's range."""
    t = np.dtype(TYPES[dtype])
    x = RNG.integers(-9, 10, shape)
    if t.kind == "f":
        x = x.astype(t)
        x[RNG.random(shape) < 0.1] = np.nan
        x[RNG.random(shape) < 0.1] = np.inf
        x[RNG.random(shape) < 0.1] = -np.inf
        return x + t.type(0)  # without -0
    info = np.iinfo(t)
    x = np.clip(x, info.min, info.max).astype(t)
    x[RNG.random(shape) < 0.1] = info.min
    x[RNG.random(shape) < 0.1] = info.max
    return x


def order(line, down):
    """The places of the line's elements in order, stable, NaN last."""
    nan = np.isnan(line) if line.dtype.kind == "f" else np.zeros(line.shape, bool)
    return sorted(range(len(line)), key=lambda i: (nan[i], 0 if nan[i] else -int_or(line[i]) if down else int_or(line[i])))


def int_or(v):
    return float(v) if np.asarray(v).dtype.kind == "f" else int(v)


class Sorting(unittest.TestCase):
    def check(self, dtype, shape, dim, size, k):
        """shape: of the tile; size: elements of the tensor along dim."""
        real = list(shape)
        real[dim] = size
        places = dtype != "i64"
        sliced = ", ".join(f"0 :+ {n}" for n in shape)
        dims, best = (", ".join(str(n) for n in s) for s in (shape, [*shape[:dim], k, *shape[dim + 1 :]]))
        names = [f"N{d}" for d in range(len(shape))]
        source = f"""
kernel k(X: {dtype}[{", ".join(names)}], S: inout {dtype}[{dims}], A: inout i32[{dims}], V: inout {dtype}[{best}],
    I: inout i32[{best}])
{{
    grid(1);
    let x: register = X[{sliced}];
    S[{", ".join([":"] * len(shape))}] = sort(x, {dim});
"""
        if places:
            source += f"""
    A[{", ".join([":"] * len(shape))}] = argsort(x, {dim});
    let (v, i) = topk(x, {k}, {dim});
    V[{", ".join([":"] * len(shape))}] = v;
    I[{", ".join([":"] * len(shape))}] = i;
"""
        source += "}\n"
        x = values(dtype, real)
        t = TYPES[dtype]
        want = {"S": np.full(shape, 77, t), "A": np.full(shape, 77, np.int32)}
        want |= {"V": np.full([*shape[:dim], k, *shape[dim + 1 :]], 77, t)}
        want["I"] = np.full(want["V"].shape, 77, np.int32)
        arrays = {"X": x} | {n: w.copy() for n, w in want.items()}
        for at in np.ndindex(*(1 if d == dim else n for d, n in enumerate(real))):
            line = tuple(slice(None) if d == dim else i for d, i in enumerate(at))
            up, down = order(x[line], False), order(x[line], True)[:k]
            n = tuple(slice(0, size) if d == dim else i for d, i in enumerate(at))
            want["S"][n] = x[line][up]
            if places:
                want["A"][n] = up
                n = tuple(slice(0, len(down)) if d == dim else i for d, i in enumerate(at))
                want["V"][n], want["I"][n] = x[line][down], down
        with tempfile.TemporaryDirectory() as folder:
            for how, got in run(folder, source, arrays, {}, HOW[:2] if QUICK else HOW, ["-W", "no-leftout"]):
                for name, w in want.items():
                    with self.subTest(name=name, dtype=dtype, shape=shape, dim=dim, size=size, how=how):
                        np.testing.assert_array_equal(got[name], w)

    def test_types(self):
        for dtype in TYPES:
            self.check(dtype, (2, 32), 1, 27, 5)

    def test_dims(self):
        for shape, dim in (((16, 4), 0), ((2, 8, 3), 1), ((4, 1), 1), ((1,), 0), ((2, 3, 7), 2)):
            self.check("f32", shape, dim, shape[dim], max(1, shape[dim] // 2))

    def test_sizes(self):
        for n, size in ((33, 33), (64, 40), (200, 200), (256, 7), (1024, 1000), (100, 0)):
            self.check("f16" if n % 3 else "f32", (1, n), 1, size, min(3, n))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
