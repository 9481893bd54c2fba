"""Assignments to parts of register tiles, compared with NumPy: at known and run-time starts, of one element and of
several, with new dims, in loops and conditions, of tiles that extend past the end of their tensors. Run by
run-parts.sh."""

import os
import sys
import tempfile
import unittest

import numpy as np

from hexc_run import HOW, run

RNG = np.random.default_rng(7)
TYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "u8": np.uint8, "i64": np.int64}


class Program:
    """A tile of `shape` at the start of a tensor, and random assignments to parts of it."""

    def __init__(self, dtype, shape, size):
        self.dtype, self.shape, self.size = dtype, shape, size
        self.lines, self.scalars, self.filled = [], {}, False
        self.numpy = TYPES[dtype]
        self.inputs = {}

    def start(self, at):
        if RNG.integers(2):
            return str(at)
        name = f"s{len(self.scalars)}"
        self.scalars[name] = at
        return name

    def part(self):
        """The text of a slice, and its index for NumPy."""
        text, index = [], []
        for n in self.shape:
            kind = RNG.integers(4)
            if kind == 0:
                text.append(":")
                index.append(slice(None))
            elif kind == 1:
                at = int(RNG.integers(n))
                text.append(self.start(at))
                index.append(at)
            else:
                extent = int(RNG.choice([e for e in (1, 2, 3, n // 2, n // 4, n) if 1 <= e <= n]))
                at = int(RNG.integers(n - extent + 1))
                if RNG.integers(2):
                    at -= at % extent
                text.append(f"{self.start(at)} :+ {extent}")
                index.append(slice(at, at + extent))
            if not RNG.integers(6) and len(text) < 5:
                text.append("newaxis")
                index.append(None)
        return ", ".join(text), tuple(index)

    def value(self, shape):
        """The text of a value that broadcasts to a shape, and the value."""
        if not RNG.integers(3):
            number = int(RNG.integers(1, 9))
            return str(number), self.numpy(number)
        shape = tuple(n if RNG.integers(4) else 1 for n in shape)
        if not shape:
            return "3", self.numpy(3)
        name = f"V{len(self.inputs)}"
        value = RNG.integers(1, 6, shape).astype(self.numpy)
        self.inputs[name] = value
        return f"{name}[{', '.join(f'0 :+ {n}' for n in shape)}]", value

    def assign(self, x):
        text, index = self.part()
        op = str(RNG.choice(["=", "=", "+=", "-=", "*="]))
        value, number = self.value(np.asarray(x[index]).shape)
        with np.errstate(all="ignore"):
            old = x[index]
            if not RNG.integers(3) and value[0] == "V":
                value, number = f"{value} * 2", (number * self.numpy(2)).astype(self.numpy)
            new = {"=": lambda: number, "+=": lambda: old + number, "-=": lambda: old - number, "*=": lambda: old * number}[op]()
            x[index] = new
        if op == "=":  # the elements exist afterwards, and so in no range of the tile
            self.filled = True
        self.lines.append(f"x[{text}] {op} {value};")

    def source(self, statements):
        dims = "MNK"[: len(self.shape)]
        at = ", ".join(f"0 :+ {n}" for n in self.shape)
        load = f"fill(X[{at}], 0)" if self.filled else f"X[{at}]"
        t = self.dtype
        params = [f"X: inout {t}[{', '.join(dims)}]", f"S: out {t}[1]"]
        params += [f"{n}: {t}[{', '.join(map(str, v.shape))}]" for n, v in self.inputs.items()]
        params += [f"{n}: i64" for n in self.scalars]
        total = "x"
        for d in range(len(self.shape)):
            total = f"sum({total}, {d})"
        body = "\n    ".join(statements)
        return (f"kernel k({', '.join(params)})\n{{\n    grid(1);\n    var x: register {t}[{', '.join(map(str, self.shape))}] = "
                f"{load};\n    {body}\n    X[{at}] = x;\n    S[0] = {total}[{', '.join('0' for _ in self.shape)}];\n}}\n")


class Parts(unittest.TestCase):
    def run_random(self, dtype, shape, size, how):
        p = Program(dtype, shape, size)
        start = RNG.integers(0, 9, size).astype(p.numpy)
        full = np.zeros(np.maximum(shape, size), p.numpy)
        full[tuple(slice(n) for n in size)] = start
        x = full[tuple(slice(n) for n in shape)]
        for _ in range(RNG.integers(1, 5)):
            p.assign(x)
        want = full[tuple(slice(n) for n in size)]
        # elements that do not exist are not part of sums
        inside = x if p.filled else x[tuple(slice(min(n, m)) for n, m in zip(size, shape))]
        total = inside.sum(dtype=p.numpy)
        arrays = {"X": start, "S": np.zeros(1, p.numpy)} | p.inputs
        with tempfile.TemporaryDirectory() as folder:
            for options, got in run(folder, p.source(p.lines), arrays, p.scalars, how=how, more=["-W", "no-unwritten"]):
                with self.subTest(type=dtype, shape=shape, size=size, how=options, source=p.source(p.lines)):
                    np.testing.assert_array_equal(got["X"], want)
                    if dtype != "f16":  # its sum is rounded
                        np.testing.assert_array_equal(got["S"][0], total)

    def test_random(self):
        some = int(os.environ.get("NIGHTLY", 40))
        for i in range(some):
            dtype = str(RNG.choice(list(TYPES)))
            rank = int(RNG.integers(1, 4))
            shape = tuple(int(RNG.choice(([1, 8, 33, 64, 200], [1, 4, 8, 16, 33], [2, 4, 5, 8])[rank - 1])) for _ in range(rank))
            size = tuple(int(RNG.choice([n, n, max(1, n - 3), n + 5])) for n in shape)
            self.run_random(dtype, shape, size, (HOW[0], HOW[1 + i % 3]))

    def test_elimination(self):
        """LU without pivots, in registers, at run-time pivots."""
        source = """
kernel lu(A: f32[B, 16, 16], L: out f32[B, 16, 16], U: out f32[B, 16, 16], n: i64)
{
    grid(B);
    let b = block.x;
    var u: register f32[16, 16] = A[b];
    var l: register f32[16, 16] = where(iota(0, 16, 16) == iota(1, 16, 16), 1.0, 0.0);
    for k in 0..n {
        let row = u[k, :], f = where(iota(0, 16) > i32(k), u[:, k] / u[k, k], 0);
        l[:, k] = where(iota(0, 16) == i32(k), 1, f);
        if k < n - 1 {
            u -= f[:, newaxis] * row;
            u[:, k] = where(iota(0, 16) > i32(k), 0, u[:, k]);
        }
    }
    L[b] = l;
    U[b] = u;
}
"""
        a = RNG.uniform(-1, 1, (3, 16, 16)).astype(np.float32) + 8 * np.eye(16, dtype=np.float32)
        empty = np.zeros_like(a)
        with tempfile.TemporaryDirectory() as folder:
            for how, got in run(folder, source, {"A": a, "L": empty, "U": empty}, {"n": 16}):
                with self.subTest(how=how):
                    np.testing.assert_allclose(got["L"] @ got["U"], a, atol=1e-4)
                    self.assertTrue((np.tril(got["U"], -1) == 0).all() and (np.triu(got["L"], 1) == 0).all())

    def test_bounds(self):
        """Elements are missing where what was assigned has none, and exist where it has: as in numpy.ma."""
        source = """
kernel k(L: f32[N], R: out f32[8], M: out f32[8], T: out f32[8], s: i64)
{
    grid(1);
    var x: register f32[8, 64] = 1;
    x[s, :] = L[0 :+ 64];
    x[4 :+ 4, :] = 2 * L[0 :+ 64];
    R[:, newaxis] = sum(x, 1);
    M[:, newaxis] = mean(x, 1);
    var y: register f32[8, 64] = L[newaxis, 0 :+ 64] * f32(iota(0, 8) + 1)[:, newaxis];
    y[s :+ 2, :] = 5;
    T[:, newaxis] = mean(y, 1);
}
"""
        for n in (1, 7, 33, 64, 200):
            ones = np.ones(8, np.float32)
            row = RNG.integers(-9, 9, n).astype(np.float32)
            total = row[:64].sum()
            want = np.where(np.arange(8) >= 4, 2 * total, np.where(np.arange(8) == 2, total, 64))
            count = np.where((np.arange(8) >= 4) | (np.arange(8) == 2), min(n, 64), 64)
            means = np.where((np.arange(8) == 2) | (np.arange(8) == 3), 5, row[:64].mean() * (np.arange(8) + 1))
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, source, {"L": row, "R": ones, "M": ones, "T": ones}, {"s": 2}):
                    with self.subTest(n=n, how=how):
                        np.testing.assert_array_equal(got["R"], want)
                        np.testing.assert_allclose(got["M"], want / count, rtol=1e-6)
                        np.testing.assert_allclose(got["T"], means, rtol=1e-6, atol=1e-7)

    def test_updates(self):
        """After an atomic update of a ragged shared tile all its elements exist; missing ones were 0. Missing
        elements of the value, or of the index, change nothing."""
        source = """
kernel k(L: f32[N], I: i32[K], R: out f32[8], D: out f32[64])
{
    grid(1);
    let x: register = L[0 :+ 64], i = (iota(0, 64) * 37 + 11) % 64;
    let a: shared f32[64] = x + 1, b: shared f32[64] = x + 1, c: shared f32[64] = x + 1, d: shared f32[64] = x + 1;
    let e: shared f32[64] = x + 1;
    atomic_add(a[0 :+ 64], 1);
    atomic_add(b[0 :+ 64], x + 1);
    atomic_add(c[i], x + 1);
    let old = atomic_swap(d[i], x - 1);
    atomic_max(e[I[0 :+ 64]], 7);
    R[0 :+ 1] = sum(a, 0);
    R[1 :+ 1] = sum(b, 0);
    R[2 :+ 1] = sum(c, 0);
    R[3 :+ 1] = sum(d, 0);
    R[4 :+ 1] = sum(old, 0);
    R[5 :+ 1] = sum(e, 0);
    R[6 :+ 1] = sum(b[i], 0);
    R[7 :+ 1] = mean(a, 0);
    D[:] = d;
}
"""
        index = (np.arange(64) * 37 + 11) % 64
        for n in (1, 33, 61, 64, 200):
            x = RNG.integers(-9, 9, n).astype(np.float32)
            m = min(n, 64)
            t = np.zeros(64, np.float32)
            t[:m] = x[:m] + 1
            by = RNG.permutation(64)[:40].astype(np.int32)
            a, b, c, d, e = t + 1, 2 * t, t.copy(), t.copy(), t.copy()
            c[index[:m]] += x[:m] + 1
            old = t[index[:m]]
            d[index[:m]] = x[:m] - 1
            e[by] = np.maximum(e[by], 7)
            want = [v.sum() for v in (a, b, c, d, old, e, b)] + [a.mean()]
            with tempfile.TemporaryDirectory() as folder:
                arrays = {"L": x, "I": by, "R": np.ones(8, np.float32), "D": np.ones(64, np.float32)}
                for how, got in run(folder, source, arrays, {}):
                    with self.subTest(n=n, how=how):
                        np.testing.assert_allclose(got["R"], want, rtol=1e-6)
                        np.testing.assert_array_equal(got["D"], d)

    def test_flow(self):
        """Parts assigned in loops and conditions, and of a tile whose ends are ragged."""
        source = """
kernel k(X: f32[M, N], Y: out f32[M, N], T: out f32[M], c: i32)
{
    grid(ceil(M, 8));
    let m = block.x * 8;
    var t: register f32[8] = 0;
    for n in 0..N step 32 {
        var x: register f32[8, 32] = fill(X[m :+ 8, n :+ 32], 0);
        for k in 0..4 {
            x[k, :] += x[k + 4, :];
            if c > 0 {
                x[k + 4, 8 :+ 16] = f32(k);
            }
        }
        Y[m :+ 8, n :+ 32] = x;
        t[0 :+ 4] += sum(x, 1)[0 :+ 4, 0];
    }
    T[m :+ 8] = t;
}
"""
        for m, n in ((1, 1), (7, 33), (40, 130)):
            for c in (0, 1):
                x = RNG.integers(-9, 9, (m, n)).astype(np.float32)
                y = np.zeros(((m + 7) // 8 * 8, (n + 31) // 32 * 32), np.float32)
                y[:m, :n] = x
                for i in range(0, y.shape[0], 8):
                    for k in range(4):
                        y[i + k] += y[i + k + 4]
                        for j in range(0, y.shape[1], 32):
                            if c:
                                y[i + k + 4, j + 8 : j + 24] = k
                want = y[:m, :n]
                total = np.where(np.arange(m) % 8 < 4, want.sum(1), 0)
                arrays = {"X": x, "Y": 0 * x, "T": np.zeros(m, np.float32)}
                with tempfile.TemporaryDirectory() as folder:
                    for how, got in run(folder, source, arrays, {"c": c}):
                        with self.subTest(size=(m, n), c=c, how=how):
                            np.testing.assert_array_equal(got["Y"], want)
                            np.testing.assert_array_equal(got["T"], total)

    def test_unspecified(self):
        """A var that is a slice has the slice's values at that point, whatever memory the compiler chooses: a dot
        reads it as it is and changed, and the tensor is written in between."""
        source = """
kernel k(A: inout f16[M, K], B: f16[K, 32], Y: out f32[M, 32], Z: out f32[M, 32])
{
    grid(ceil(M, 32));
    let m = block.x * 32;
    var s: register f32[32, 32] = 0, t: register f32[32, 32] = 0;
    for k in 0..K step 32 {
        var a = A[m :+ 32, k :+ 32], b = B[k :+ 32, :];
        A[m :+ 32, k :+ 32] = fill(a, 0) + 1;
        s += dot(a, b);
        a = a * 2;
        a[3, :] = a[3, :] + 1;
        b[:, 0 :+ 16] = 0.5;
        t += dot(a, b);
    }
    Y[m :+ 32, :] = s;
    Z[m :+ 32, :] = t;
}
"""
        for m, k in ((1, 1), (33, 40), (64, 96)):
            a = RNG.integers(-4, 4, (m, k)).astype(np.float16)
            b = RNG.integers(-4, 4, (k, 32)).astype(np.float16)
            double, half = 2 * a, b.copy()
            double[3::32] += 1
            half[:, :16] = 0.5
            arrays = {"A": a, "B": b, "Y": np.zeros((m, 32), np.float32), "Z": np.zeros((m, 32), np.float32)}
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, source, arrays):
                    with self.subTest(size=(m, k), how=how):
                        np.testing.assert_array_equal(got["Y"], (a.astype(np.float32) @ b))
                        np.testing.assert_array_equal(got["Z"], (double.astype(np.float32) @ half))
                        np.testing.assert_array_equal(got["A"], a + 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
