"""Maxima and minima of tiles with NaNs, infinities and zeros of both signs, for full and partial tiles, compared
with NumPy's fmax and maximum: one rule for all layouts. Run by run-extremes.sh."""

import itertools
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

HEXC = os.environ["HEXC"]
RNG = np.random.default_rng(11)
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}

# for each row: the result in one tile; and in a loop over tiles of 16, starting from -inf and from a number
SOURCE = """
kernel k(A: {t}[M, N], S: {t}[M], MAX: out {t}[M, 7], MIN: out {t}[M, 6], AT: out i32[M, 2], UP: out {t}[M, N],
    DOWN: out {t}[M, N])
{{
    grid(ceil(M, 8));
    let m = block.x * 8;
    let x = A[m :+ 8, 0 :+ {n}];
    MAX[m :+ 8, 0 :+ 1] = reduce_max(x, 1);
    MIN[m :+ 8, 0 :+ 1] = reduce_min(x, 1);
    MAX[m :+ 8, 1 :+ 1] = reduce(maximum, 1, x);
    MIN[m :+ 8, 1 :+ 1] = reduce(minimum, 1, x);
    AT[m :+ 8, 0 :+ 1] = argmax(x, 1);
    AT[m :+ 8, 1 :+ 1] = argmin(x, 1);
    let up = cummax(x, 1), down = cummin(x, 1);
    UP[m :+ 8, 0 :+ {n}] = up;
    DOWN[m :+ 8, 0 :+ {n}] = down;
    MAX[m :+ 8, 2 :+ 1] = reduce_last(up, 1);
    MIN[m :+ 8, 2 :+ 1] = reduce_last(down, 1);
    MAX[m :+ 8, 3 :+ 1] = reduce_max(reshape(x.T, {n}, 8), 0).T;
    MIN[m :+ 8, 3 :+ 1] = reduce_min(max(x, x), 1);
    var top: register {t}[8, 1] = -inf, low: register {t}[8, 1] = inf;
    var more: register {t}[8, 1] = reshape(S[m :+ 8], 8, 1);
    for n in 0..N step 16 {{
        let y = A[m :+ 8, n :+ 16];
        top = max(top, reduce_max(y, 1));
        low = min(low, reduce_min(y, 1));
        more = max(more, reduce_max(y, 1));
    }}
    MAX[m :+ 8, 4 :+ 1] = top;
    MIN[m :+ 8, 4 :+ 1] = low;
    MAX[m :+ 8, 5 :+ 1] = more;
    MAX[m :+ 8, 6 :+ 1] = reduce_max(min(reduce_max(x, 1), inf), 1);
    MIN[m :+ 8, 5 :+ 1] = reduce_min(max(reduce_min(x, 1), -inf), 1);
}}
"""


def rows(n, t):
    """Rows of n elements: of one value each, with that value among NaNs and among numbers, at various positions."""
    special = [np.nan, -np.inf, np.inf, 0.0, -0.0, 1.0, -3.0]
    out = [[v] * n for v in special]
    out += [[np.nan] * (n - 1) + [v] for v in special] + [[v] + [np.nan] * (n - 1) for v in special]
    out += RNG.choice(special, (8, n)).tolist()
    out += RNG.choice([np.nan, -np.inf], (3, n)).tolist()
    return np.array(out, t)


def first(of, x):
    """The first index of the largest number, by `of` = fmax."""
    best = of.reduce(x, axis=1, keepdims=True)
    found = np.where(x == best, np.arange(x.shape[1]), 2147483647)
    return found.min(axis=1)


class Extremes(unittest.TestCase):
    def same(self, got, want, what):
        np.testing.assert_array_equal(got, want, what)
        zero = want == 0  # +0 is the larger one, and equals -0
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]), what)

    def compare(self, x, start, out, what):
        inf = x.dtype.type(np.inf)
        greater = np.where(x == 0, np.where(np.signbit(x), -1, 1) * np.finfo(x.dtype).smallest_subnormal, x)

        def back(y):  # distinguishes zeros by their signs, unlike NumPy's functions
            tiny = np.finfo(x.dtype).smallest_subnormal
            return np.where(np.abs(y) == tiny, np.copysign(0, y), y).astype(x.dtype)

        most = back(np.fmax.reduce(greater, axis=1, initial=-inf))
        least = back(np.fmin.reduce(greater, axis=1, initial=inf))
        for i in 0, 2, 3, 4, 6:
            self.same(out["MAX"][:, i], most, f"{what}: MAX {i}")
        for i in 0, 2, 3, 4, 5:
            self.same(out["MIN"][:, i], least, f"{what}: MIN {i}")
        self.same(out["MAX"][:, 1], back(np.maximum.reduce(greater, axis=1)), f"{what}: maximum")
        self.same(out["MIN"][:, 1], back(np.minimum.reduce(greater, axis=1)), f"{what}: minimum")
        more = np.fmax(start, np.where(np.isneginf(most), -inf, most))
        np.testing.assert_array_equal(out["MAX"][:, 5], more, f"{what}: from {start}")
        up = back(np.fmax(np.fmax.accumulate(greater, axis=1), -inf))
        self.same(out["UP"], up, f"{what}: cummax")
        down = back(np.fmin(np.fmin.accumulate(greater, axis=1), inf))
        self.same(out["DOWN"], down, f"{what}: cummin")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(out["AT"][:, 0], first(np.fmax, x), f"{what}: argmax")
            np.testing.assert_array_equal(out["AT"][:, 1], first(np.fmin, x), f"{what}: argmin")

    def check(self, t, tile, n, hows):
        x = rows(n, NUMPY[t])
        start = RNG.choice([np.nan, -np.inf, 0.5, np.inf], len(x)).astype(NUMPY[t])
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "p.hexc").write_text(SOURCE.format(t=t, n=tile))
            np.save(folder / "A.npy", x)
            np.save(folder / "S.npy", start)
            names = ("MAX", "MIN", "AT", "UP", "DOWN")
            args = ["--arg", f"A=@{folder}/A.npy", "--arg", f"S=@{folder}/S.npy"]
            for name in names:
                args += ["--save", f"{name}={folder}/{name}.npy"]
            for how in hows:
                words = [HEXC, "run", folder / "p.hexc", *how.split(), *args]
                r = subprocess.run(words, capture_output=True, text=True)
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
                out = {name: np.load(folder / f"{name}.npy") for name in names}
                self.compare(x, start, out, f"{t} {n} in {tile}, {how}")

    def test_against_numpy(self):
        sims = itertools.cycle(
            ["--exec=sim --check --prove", "--exec=sim --check --arch=sm_90a --candidate=1", "--exec=sim --check --arch=sm_75"]
        )
        for t, tile, n in (
            ("f32", 64, 64),
            ("f32", 64, 40),
            ("f32", 33, 33),
            ("f16", 64, 64),
            ("f16", 48, 33),
            ("f32", 1, 1),
            ("f32", 4, 4),
            ("f32", 2, 1),
            ("f64", 32, 32),
            ("f64", 32, 20),
            ("f32", 512, 512),
            ("f32", 512, 300),
        ):
            self.check(t, tile, n, ["--exec=tile", next(sims)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
