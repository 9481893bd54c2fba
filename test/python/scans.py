"""Scans and reductions by user-defined functions over tiles that extend past the end of their tensors, compared
with numpy.ma. Out-of-bounds elements do not contribute, and results exist where the tile is in bounds. In the
tile interpreter, and with layouts on the simulator. Run by run-scans.sh."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

HEXC = os.environ["HEXC"]
RNG = np.random.default_rng(35)

FUNCTIONS = """
fn opening(a, _b) { return a; }
fn latest(_a, b) { return b; }
fn linear(a, b, c, d) { return a * c, b * c + d; }
fn any_of(a, b) { return a || b; }
"""


def accumulated(f, x, dim):
    """f over each in-bounds element and all before it, along dim; defined where x is in bounds."""
    out = np.ma.masked_all(x.shape, x.dtype)
    for at in np.ndindex(*(n for d, n in enumerate(x.shape) if d != dim)):
        line = at[:dim] + (slice(None),) + at[dim:]
        there = ~np.ma.getmaskarray(x)[line]
        if there.any():
            part = np.ma.masked_all(x.shape[dim], x.dtype)
            part[there] = f(x.data[line][there])
            out[line] = part
    return out


def combined(f, x, dim):
    """f over all in-bounds elements along dim, 0 for none; defined where the other dimensions are in bounds."""
    y = accumulated(f, x, dim)
    last = np.zeros(np.delete(x.shape, dim), x.dtype)
    for at in np.ndindex(*last.shape):
        line = y[at[:dim] + (slice(None),) + at[dim:]].compressed()
        last[at] = line[-1] if line.size else 0
    return np.expand_dims(last, dim)


class Case:
    """One tile of `shape`, which starts at `start` in a tensor of `size`; scans along dim."""

    def __init__(self, shape, size, start, dim, dtype, run_time):
        self.shape, self.size, self.start, self.dim, self.dtype = shape, size, start, dim, dtype
        self.run_time = run_time
        self.numpy = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i16": np.int16, "u32": np.uint32}[dtype]
        self.along = []  # in-bounds indices, by dimension
        for d, (n, s, at) in enumerate(zip(shape, size, start)):
            i = np.arange(n) + at
            self.along.append(((i >= 0) & (i < s)).reshape([-1 if e == d else 1 for e in range(len(shape))]))
        self.there = np.broadcast_to(np.logical_and.reduce(np.broadcast_arrays(*self.along)), shape)

    def __str__(self):
        return f"{self.dtype} {self.shape} at {self.start} of {self.size}, dim {self.dim}"

    def tile(self, x):
        """The tile of a slice of x."""
        full = np.zeros(self.shape, x.dtype)
        at = np.argwhere(self.there)
        full[tuple(at.T)] = x[tuple((at + self.start).T)]
        return np.ma.array(full, mask=~self.there)

    def source(self):
        rank, dim, t = len(self.shape), self.dim, self.dtype
        sizes = ", ".join("MNK"[:rank])
        names = [f"at{d}" if self.run_time else str(at) for d, at in enumerate(self.start)]
        at = ", ".join(f"{name} :+ {n}" for name, n in zip(names, self.shape))
        inner = range(rank)

        def whole(f, y):
            for d in inner:
                y = f"{f}({y}, {d})"
            return f"reshape({y}, 1)"

        lines, outs = [], []
        self.results = []
        for name, text in self.scans().items():
            lines.append(f"    let {'(_p, linear_of)' if name == 'linear_of' else name} = {text};")
            lines.append(f"    OUT_{name}[{at}] = {name};")
            outs.append(f"OUT_{name}: inout {t}[{sizes}]")
            for f in ("sum", "reduce_max", "reduce_min"):
                lines.append(f"    S[{len(self.results)}] = f32({whole(f, name)});")
                self.results.append((name, f))
            lines.append(f"    S[{len(self.results)}] = f32({whole('sum', f'({name} * 0 + 1)')});")
            self.results.append((name, "count"))
            if t[0] == "f":
                lines.append(f"    S[{len(self.results)}] = f32({whole('mean', f'({name} * 0 + 1)')});")
                self.results.append((name, "one"))
            inside = f"where(inside({name}), 1, 0)"
            lines.append(f"    S[{len(self.results)}] = f32({whole('sum', f'i32({inside})')});")
            self.results.append((name, "count"))
        for name, text in self.reductions().items():
            lines.append(f"    let {name} = {text};")
            for f in ("sum", "reduce_max"):
                lines.append(f"    S[{len(self.results)}] = f32({whole(f, name)});")
                self.results.append((name, f))
        scalars = [f"at{d}: i64" for d in range(rank)] if self.run_time else []
        params = [f"X: {t}[{sizes}]", f"Y: {t}[{sizes}]", *outs, f"S: out f32[{len(self.results)}]", *scalars]
        return (
            FUNCTIONS
            + f"kernel k({', '.join(params)})\n{{\n    grid(1);\n"
            + f"    let x = X[{at}] + 1, y = Y[{at}] + 0;\n"
            + "\n".join(lines)
            + "\n}\n"
        )

    def scans(self):
        d, t = self.dim, self.dtype
        pairs = {"linear_of": f"scan(linear, {d}, y, x)"} if t[1:] == "32" else {}
        return pairs | {
            "added": f"cumsum(x, {d})",
            "product": f"cumprod(y, {d})",
            "most": f"cummax(x, {d})",
            "least": f"cummin(x, {d})",
            "first": f"scan(opening, {d}, x)",
            "same": f"scan(latest, {d}, x)",
            "either": f"{t}(i32(scan(any_of, {d}, x > 4)))",
        }

    def reductions(self):
        d = self.dim
        return {
            "r_first": f"reduce(opening, {d}, x)",
            "r_last": f"reduce(latest, {d}, x)",
            "r_same": f"reduce_last(x, {d})",
        }

    def expected(self, x, y):
        d = self.dim
        one = self.numpy(1)
        a = self.tile(x)
        a = np.ma.array(np.where(self.there, a.data + one, one), mask=~self.there)
        b = self.tile(y)
        out = {
            "added": accumulated(np.add.accumulate, a, d),
            "product": accumulated(np.multiply.accumulate, b, d),
            "most": accumulated(np.maximum.accumulate, a, d),
            "least": accumulated(np.minimum.accumulate, a, d),
            "first": accumulated(lambda v: np.full_like(v, v[0]), a, d),
            "same": a,
            "linear_of": self.linear_of(a, b),
            "either": accumulated(lambda v: np.logical_or.accumulate(v > 4).astype(v.dtype), a, d),
        }
        # vectors that are out of bounds in other dimensions have no result; an empty one along d gives 0
        gone = np.zeros(np.take(self.there, [0], d).shape, bool)
        for e, there in enumerate(self.along):
            if e != d:
                gone |= ~there
        for name, f in (("r_first", lambda v: np.full_like(v, v[0])), ("r_last", np.copy), ("r_same", np.copy)):
            out[name] = np.ma.array(combined(f, a, d), mask=gone)
        return out

    def linear_of(self, a, b):
        def f(v):
            q = np.zeros_like(v)
            for i, x in enumerate(v):
                q[i] = (q[i - 1] if i else 0) * self.factor[i] + x
            return q

        out = np.ma.masked_all(a.shape, a.dtype)
        for at in np.ndindex(*(n for d, n in enumerate(a.shape) if d != self.dim)):
            line = at[: self.dim] + (slice(None),) + at[self.dim :]
            self.factor = b[line].compressed()
            out[line] = accumulated(f, a[line], 0)
        return out

    def reduced(self, f, y):
        if f == "count":
            return y.count()
        if f == "one":
            return 1
        if y.count() == 0:
            flt = self.dtype[0] == "f"
            info = np.finfo(np.float32) if flt else np.iinfo(self.numpy)
            least, most = (-np.inf, np.inf) if flt else (np.float32(info.min), np.float32(info.max))
            return {"sum": 0, "reduce_max": least, "reduce_min": most}[f]
        return {"sum": lambda y: np.ma.sum(y, dtype=y.dtype), "reduce_max": np.ma.max, "reduce_min": np.ma.min}[f](y)


def cases():
    yield Case((64,), (40,), (0,), 0, "f32", False)
    yield Case((64,), (40,), (-4,), 0, "f32", False)
    yield Case((64,), (40,), (30,), 0, "i32", True)
    yield Case((64,), (40,), (40,), 0, "f32", True)  # everything is out of bounds
    yield Case((200,), (150,), (-33,), 0, "i16", True)
    yield Case((1,), (3,), (-1,), 0, "f32", True)
    yield Case((256,), (900,), (700,), 0, "f32", False)
    yield Case((512,), (900,), (-77,), 0, "u32", True)
    yield Case((8, 64), (5, 40), (0, 0), 1, "f32", False)
    yield Case((8, 64), (5, 40), (0, 0), 0, "f32", False)
    yield Case((8, 64), (20, 40), (-3, -7), 1, "i32", False)
    yield Case((16, 33), (9, 70), (-3, 50), 0, "f16", True)
    yield Case((33, 7), (40, 5), (20, -2), 0, "f32", True)
    yield Case((4, 128), (9, 200), (2, -100), 1, "f32", True)
    yield Case((2, 16, 32), (2, 11, 40), (0, -2, 20), 1, "f32", True)
    yield Case((3, 4, 40), (2, 9, 33), (-1, 0, 0), 2, "i32", False)


def some(n):
    """Other random cases."""
    for _ in range(n):
        rank = int(RNG.integers(1, 4))
        shape = tuple(int(RNG.choice(([1, 7, 33, 40, 64, 200, 512], [1, 3, 8, 33, 64], [1, 2, 5, 16])[rank - 1])) for _ in range(rank))
        size = tuple(int(RNG.integers(1, 2 * e + 9)) for e in shape)
        start = tuple(int(RNG.integers(-min(e, 9), s + 2)) if RNG.integers(3) else 0 for e, s in zip(shape, size))
        dtype = str(RNG.choice(["f32", "f16", "i32", "i16", "u32"]))
        yield Case(shape, size, start, int(RNG.integers(rank)), dtype, bool(RNG.integers(2)))


class Scans(unittest.TestCase):
    def hexc(self, *words):
        r = subprocess.run([HEXC, "run", *map(str, words)], capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def check(self, case, folder, number):
        x = RNG.integers(0, 9, case.size).astype(case.numpy)
        if case.dtype[0] != "u":
            x = x - case.numpy(4)
        y = np.where(RNG.integers(0, 9, case.size) > 6, 3, 1).astype(case.numpy)
        y = np.where(np.cumsum(y > 1, case.dim) > 3, 1, y).astype(case.numpy)  # keeps products small
        want = case.expected(x, y)
        source = folder / "p.hexc"
        source.write_text(case.source())
        args = []
        for name, value in (("X", x), ("Y", y)):
            np.save(folder / f"{name}.npy", value)
            args += ["--arg", f"{name}=@{folder}/{name}.npy"]
        sizes = dict(zip("MNK", case.size))
        args += ["--arg", "S=zeros"]
        for name in case.scans():
            args += ["--arg", f"OUT_{name}=zeros[{','.join(map(str, case.size))}]"]
            args += ["--save", f"OUT_{name}={folder}/{name}.npy"]
        args += ["--save", f"S={folder}/S.npy"]
        if case.run_time:
            for d, at in enumerate(case.start):
                args += ["--arg", f"at{d}={at}"]
        self.assertTrue(sizes)
        sim = ["--arch=sm_80", "--prove"] if number % 2 else ["--arch=sm_90a", f"--candidate={min(1, case.shape[0] - 1)}"]
        for how in ["--exec=tile"], ["--exec=sim", "--check", *sim]:
            with self.subTest(case=str(case), how=how):
                self.hexc(source, *how, *args)
                for name in case.scans():
                    got = case.tile(np.load(folder / f"{name}.npy"))
                    np.testing.assert_array_equal(got.compressed(), want[name].compressed(), f"{name}")
                got = np.load(folder / "S.npy")
                for i, (name, f) in enumerate(case.results):
                    if f == "one" and want[name].count() == 0:
                        self.assertTrue(np.isnan(got[i]), f"S[{i}]: mean of none of {name}")
                        continue
                    np.testing.assert_array_equal(
                        got[i], np.float32(case.reduced(f, want[name])), f"S[{i}]: {f} of {name}"
                    )

    def test_against_numpy_ma(self):
        with tempfile.TemporaryDirectory() as folder:
            for i, case in enumerate([*cases(), *some(int(os.environ.get("NIGHTLY", 0)))]):
                self.check(case, Path(folder), i)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
