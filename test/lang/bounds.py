"""Slices with bounds of their own, of tensors and of tiles: copied to shared memory for dots, for reads by index and as
`fill`, compared with NumPy. What the tensors have outside of the bounds is NaN. Run by run-bounds.sh."""

import sys
import tempfile
import unittest

import numpy as np

from hexc_run import run

RNG = np.random.default_rng(5)
SOURCE = """
kernel k(A: f16[M, K], B: f16[K, N], X: f32[K], S: i32[2], I: i32[64], C: out f32[M, N], D: out f32[M, N],
    G: out f32[64], E: out f32[64], F: out f32[64, 32], T: out f32[4])
{
    grid(ceil(M, 32), ceil(N, 32));
    let m = block.x * 32, n = block.y * 32, lo = i64(S[0]), hi = i64(S[1]);
    var acc: register f32[32, 32] = 0, odd: register f32[32, 32] = 0;
    pipeline k in lo / 32 * 32..hi step 32 stages 2 {
        let a: shared = A[m :+ 32, k :+ 32 from lo below hi], b: shared = B[k :+ 32 from lo below hi, n :+ 32];
        acc += dot(a, b);
    }
    C[m :+ 32, n :+ 32] = acc;
    for k in 0..K step 32 {
        let b: shared = B[k :+ 32 from lo, n :+ 32], a: register = A[m :+ 32, k :+ 32 below hi];
        odd += dot(a, b);
    }
    D[m :+ 32, n :+ 32] = odd;
    let t: shared = X[0 :+ 64 from lo below hi], i: register = I[0 :+ 64], r: register = fill(X[0 :+ 64 from lo below hi], 1);
    G[0 :+ 64] = t[i];
    for j in 0..64 {
        E[j] = t[j];
    }
    let f: shared = fill(B[0 :+ 64 from lo below hi, 0 :+ 32], 0);
    F[0 :+ 64, 0 :+ 32] = f32(f);
    T[0 :+ 1] = sum(t[8 :+ 32 from 10 below hi - 1], 0);
    T[1 :+ 1] = sum(r[8 :+ 32 from lo below 20], 0);
    T[2 :+ 1] = fill(sum(r[3 below hi, newaxis], 0), 0);
    T[3 :+ 1] = fill(reduce_max(f32(f)[5 from 6, 0 :+ 32], 0), -1);
}
"""

# A tile of fewer dimensions keeps the names of its conditions: a reduction along the one of `below` uses that up.
BROADCAST = """
kernel k(A: f32[1, 32], B: f32[11, 1, 32], Y: out f32[1, 1, 32], n: i64)
{
    grid(1);
    let a: register = A[0 :+ 1 below n, 0 :+ 32], b: register = B[0 :+ 11, 0 :+ 1, 0 :+ 32];
    Y[0 :+ 1, 0 :+ 1, 0 :+ 32] = reduce_min(sum(max(a, b), 0), 1);
}
"""

# Filled tiles that the next iteration stores to a slice that ends later: it sees elements past the first one's end.
LATER = """
kernel k(X: f32[N, 32], Y: out f32[N, 32], Z: out f32[N, 32])
{
    grid(1);
    var y: register f32[16, 32] = 0;
    let s: shared f32[16, 32];
    s[:, :] = 0;
    for t in 0..4 {
        let from = 48 - 16 * t;
        Y[from :+ 16, :] = y;
        y = fill(X[from :+ 16, :] + 1, 2);
        Z[from :+ 16, :] = s;
        s[:, :] = fill(X[from :+ 16, :] + 1, 2);
    }
}
"""

# An element of a tile is a scalar: 0 where the slice's bounds leave it out.
ELEMENTS = """
kernel k(X: f32[8], Y: out f32[6], lo: i64, hi: i64)
{
    grid(1);
    let r: register = X[0 :+ 8], t: shared = X[0 :+ 8];
    Y[0] = t[3 below hi] + 1;
    Y[1] = r[4 from lo below hi];
    Y[2] = t[lo + 4 below hi];
    Y[3] = 0;
    if t[2 from lo] > 0 {
        Y[3] = 1;
    }
    Y[4 :+ 2] = reshape(t, 2, 4)[1, 2 from lo] * 2;
}
"""

# With steps, of single indices, and along rows, where accesses are wide up to multiples of 8 elements.
FORMS = """
kernel k(A: f16[M, K], B: f16[K, N], P: f16[Q, K, N], S: i32[4], C: out f32[M, N], D: out f32[M, N], E: out f32[M, N],
    F: out f32[32, 32], G: out f32[32, 32])
{
    grid(1);
    let lo = i64(S[0]), hi = i64(S[1]), q = i64(S[2]), u = i64(S[3]) * 8;
    var c: register f32[32, 32] = 0, d: register f32[32, 32] = 0, e: register f32[32, 32] = 0;
    for k in 0..K step 32 {
        let a: shared = A[0 :+ 32, k :+ 16 step 2 from lo below hi], b: shared = B[k :+ 16 step 2 from lo below hi, 0 :+ 32];
        c += dot(a, b);
        let x: shared = A[0 :+ 32, k :+ 32], p: shared = P[q below 2, k :+ 32 below hi, 0 :+ 32];
        d += dot(x, p);
        let v: shared = A[0 :+ 32, k :+ 32 below u], w: shared = B[k :+ 32 below u, 0 :+ 32];
        e += dot(v, w);
    }
    C[0 :+ 32, 0 :+ 32] = c;
    D[0 :+ 32, 0 :+ 32] = fill(d, 0);
    E[0 :+ 32, 0 :+ 32] = e;
    let f: shared = fill(B[1 :+ 32 step 2 from lo below hi, 0 :+ 32], 0);
    F[0 :+ 32, 0 :+ 32] = f32(f);
    let g: shared = fill(P[q from 1 below 2, lo :+ 32 below hi, 0 :+ 32], 0);
    G[0 :+ 32, 0 :+ 32] = f32(g);
}
"""


def rows(x, at, there):
    """32 rows of 32: rows `at` of x, those that are there."""
    y = np.zeros((32, 32))
    for i, r in enumerate(at):
        if there(r) and 0 <= r < len(x):
            y[i, : x.shape[1]] = x[r]
    return y


class Bounds(unittest.TestCase):
    def test_later(self):
        for n in (40, 49, 20):
            x = RNG.integers(-3, 4, (n, 32)).astype("f4")
            want, y = np.zeros((n, 32)), np.zeros((16, 32))
            for first in (48, 32, 16, 0):
                there = x[first : first + 16] + 1
                want[first : first + 16] = y[: len(there)]
                y = np.full((16, 32), 2.0)
                y[: len(there)] = there
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, LATER, {"X": x, "Y": np.zeros((n, 32), "f4"), "Z": np.zeros((n, 32), "f4")}):
                    for name in "YZ":
                        with self.subTest(n=n, how=how, name=name):
                            np.testing.assert_array_equal(got[name], want)

    def test_forms(self):
        for m, n, k, lo, hi, q, u in (
            (20, 24, 64, 3, 40, 1, 3), (32, 32, 64, 0, 64, 0, 8), (7, 31, 70, 5, 200, 2, 0), (31, 8, 96, -4, 33, 1, 5),
            (32, 32, 40, 39, 41, 3, 9), (5, 32, 128, 64, 64, 0, 20),
        ):
            a, b, p = (RNG.integers(-3, 4, s).astype("f2") for s in ((m, k), (k, n), (2, k, n)))
            at = np.arange(k)
            some = [(at >= lo) & (at < hi) & (at % 2 == 0), at < hi, at < 8 * u]
            parts = [b, p[q] if q < 2 else 0 * b, b]
            want = {name: a[:, s].astype("f8") @ y[s].astype("f8") for name, s, y in zip("CDE", some, parts, strict=True)}
            want["F"] = rows(b, 1 + 2 * np.arange(32), lambda r, lo=lo, hi=hi: lo <= r < hi)
            want["G"] = rows(p[1], lo + np.arange(32), lambda r, hi=hi, q=q: q == 1 and r < hi)
            arrays = {"A": a, "B": b, "P": p, "S": np.array([lo, hi, q, u], "i4")}
            arrays |= {name: np.zeros(value.shape, "f4") for name, value in want.items()}
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, FORMS, arrays):
                    for name, value in want.items():
                        with self.subTest(size=(m, n, k, lo, hi, q, u), how=how, name=name):
                            np.testing.assert_array_equal(got[name], value)

    def test_elements(self):
        x = np.arange(1, 9, dtype="f4")
        for lo, hi in ((0, 8), (2, 4), (-3, 3), (3, 5)):
            want = [x[3] * (3 < hi) + 1, x[4] * (lo <= 4 < hi), x[lo + 4] * (lo + 4 < hi), lo <= 2] + [2 * x[6] * (lo <= 2)] * 2
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, ELEMENTS, {"X": x, "Y": np.zeros(6, "f4")}, {"lo": lo, "hi": hi}):
                    with self.subTest(lo=lo, hi=hi, how=how):
                        np.testing.assert_array_equal(got["Y"], want)

    def test_names(self):
        a, b = RNG.integers(-9, 9, (1, 32)).astype("f4"), RNG.integers(-9, 9, (11, 1, 32)).astype("f4")
        for n, want in ((1, np.maximum(a, b).sum(0, keepdims=True)), (0, np.full((1, 1, 32), np.inf))):
            arrays = {"A": a, "B": b, "Y": np.zeros((1, 1, 32), "f4")}
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, BROADCAST, arrays, {"n": n}):
                    with self.subTest(n=n, how=how):
                        np.testing.assert_array_equal(got["Y"], want)

    def test_sorted_column(self):
        """A dot over one element of k, which exists by a condition on k that is known by rows."""
        source = """
kernel k(X: f32[4, N], Z: f32[1, 1], Y: inout f32[4, 1], q: i64)
{
    grid(1);
    let x: register = X[0 :+ 4, 0 :+ 64];
    Y[:, :] = dot(sort(x[0 :+ 4 below q, 27 :+ 1], 1), Z[:, :]);
}
"""
        for n, q in ((64, 3), (64, 9), (28, 2), (27, 4), (5, 0)):
            x, z = np.arange(4 * n, dtype="f4").reshape(4, n), np.full((1, 1), 2, "f4")
            want = np.full((4, 1), 7, "f4")
            want[:q] = x[:q, 27:28] * 2 if n > 27 else 0
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, source, {"X": x, "Z": z, "Y": np.full((4, 1), 7, "f4")}, {"q": q}):
                    with self.subTest(n=n, q=q, how=how):
                        np.testing.assert_array_equal(got["Y"], want)

    def test_against_numpy(self):
        for m, n, k, lo, hi in (
            (33, 40, 72, 3, 40), (1, 8, 64, 0, 0), (32, 64, 64, 0, 64), (7, 33, 70, 5, 200), (40, 32, 96, -4, 33),
            (40, 32, 72, 40, 20), (64, 32, 128, 8, 96), (16, 16, 40, 39, 41),
        ):
            at = np.arange(k)
            out = (at < lo) | (at >= hi)
            a, b = RNG.integers(-3, 4, (m, k)).astype("f2"), RNG.integers(-3, 4, (k, n)).astype("f2")
            x, i = RNG.integers(-9, 9, k).astype("f4"), RNG.integers(0, min(k, 64), 64).astype("i4")
            clean = [np.where(out, 0, a).astype("f8"), np.where(out[:, None], 0, b).astype("f8"), np.where(out, 0, x)]
            a[:, out], x[out] = np.nan, np.nan
            b_out = b.copy()
            b_out[out] = np.nan
            tile = np.zeros(64)
            tile[: min(k, 64)] = clean[2][:64]
            there = np.zeros(64, bool)
            there[: min(k, 64)] = ~out[:64]
            filled = np.where(there, tile, 1)
            rows = np.zeros((64, 32))
            rows[: min(k, 64), : min(n, 32)] = clean[1][:64, :32]
            j = np.arange(64)
            some = there & (j >= 8) & (j < 40) & (j >= 10) & (j < hi - 1)
            part = (j >= 8) & (j < 40) & (j >= lo) & (j < 20)
            want = {
                "C": clean[0] @ clean[1], "D": clean[0] @ clean[1], "G": tile[i], "E": tile, "F": rows,
                "T": [tile[some].sum(), filled[part].sum(), filled[3] if hi > 3 else 0, -1],
            }
            arrays = {"A": a, "B": b_out, "X": x, "S": np.array([lo, hi], "i4"), "I": i, "C": np.zeros((m, n), "f4")}
            arrays |= {"D": np.zeros((m, n), "f4"), "G": np.zeros(64, "f4"), "E": np.zeros(64, "f4")}
            arrays |= {"F": np.zeros((64, 32), "f4"), "T": np.zeros(4, "f4")}
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, SOURCE, arrays):
                    for name, value in want.items():
                        with self.subTest(size=(m, n, k, lo, hi), how=how, name=name):
                            np.testing.assert_array_equal(got[name], value)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
