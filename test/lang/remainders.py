"""`%` and `mod` of floats, compared with NumPy over all magnitudes, and with inexact operands within the bounds of
--check; of integers, compared with NumPy's floor remainder. Run by run-remainders.sh."""

import sys
import tempfile
import unittest

import numpy as np

from hexc_run import HOW, run

RNG = np.random.default_rng(38)
SPECIAL = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3, 0.1, 7e-45, -1e-45, 4e-39, 1.17549435e-38, 3.4028235e38, -3.4028235e38,
           2**22, 2**22 - 1, 2**23 + 1, 1e10]
SOURCE = """
kernel k(X: f32[N], Y: f32[N], Z: out f32[N], M: out f32[N], P: out f32[N], Q: out f32[N], H: out f16[N], B: out f32[N],
         S: out f32[4], s: f32)
{
    grid(ceil(N, 512));
    let n = block.x * 512;
    let x: register = X[n :+ 512], y: register = Y[n :+ 512];
    Z[n :+ 512] = x % y;
    M[n :+ 512] = mod(x, y);
    P[n :+ 512] = x % 16;
    Q[n :+ 512] = fmod(7.5, y);
    H[n :+ 512] = f16(x) % f16(y);
    B[n :+ 512] = f32(bf16(x) % bf16(y));
    if block.x == 0 {
        var t = s;
        t %= 2.5;
        S[0] = t;
        S[1] = s % 1;
        S[2] = mod(s, -3);
        S[3] = f32(7.25 % 2);
    }
}
"""


def bf16(x):
    """x, rounded to the nearest bfloat16, ties to even."""
    bits = x.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isnan(x), x, bits.astype(np.uint32).view(np.float32))


def operands(n):
    """Bits at random, all pairs of special numbers, quotients near integers, neighbours of multiples."""
    x, y = (RNG.integers(0, 2**32, n).astype(np.uint32).view(np.float32).copy() for _ in range(2))
    m = len(SPECIAL)
    x[: m * m], y[: m * m] = np.repeat(SPECIAL, m), np.tile(SPECIAL, m)
    part = slice(m * m, n // 3)
    x[part], y[part] = RNG.uniform(-100, 100, n)[part], RNG.uniform(-3, 3, n)[part]
    part = slice(n // 3, n // 2)
    y[part] = RNG.integers(1, 2**12, n)[part]
    x[part] = y[part] * RNG.integers(0, 2**12, n)[part] * 2.0 ** RNG.integers(0, 60, n)[part]
    x[part] = np.nextafter(x[part], RNG.choice([np.inf, 0], n)[part].astype(np.float32), dtype=np.float32)
    part = slice(n // 2, n * 2 // 3)
    y[part] = RNG.integers(1, 2**23, n).astype(np.uint32).view(np.float32)[part]  # subnormal
    return x, y


class Remainders(unittest.TestCase):
    def same(self, got, want):
        np.testing.assert_array_equal(got, want)
        there = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(want[there]))

    def test_floats(self):
        for n in (1, 7, 1000, 20000):
            x, y = operands(max(n, 1000))
            x, y = x[-n:] if n < 1000 else x, y[-n:] if n < 1000 else y
            s = np.float32(-7.3)
            empty = np.zeros(n, np.float32)
            arrays = {"X": x, "Y": y, "H": empty.astype(np.float16), "S": np.zeros(4, np.float32)}
            arrays |= {name: empty for name in "ZMPQB"}
            with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
                for how, got in run(folder, SOURCE, arrays, {"s": s}):
                    with self.subTest(n=n, how=how):
                        self.same(got["Z"], np.fmod(x, y))
                        np.testing.assert_array_equal(got["M"], np.mod(x, y))
                        self.same(got["P"], np.fmod(x, np.float32(16)))
                        self.same(got["Q"], np.fmod(np.float32(7.5), y))
                        self.same(got["H"], np.fmod(x.astype(np.float16), y.astype(np.float16)))
                        self.same(got["B"], np.fmod(bf16(x), bf16(y)))
                        want = [np.fmod(s, np.float32(2.5)), np.fmod(s, np.float32(1)), np.mod(s, np.float32(-3)), 1.25]
                        self.same(got["S"], np.array(want, np.float32))

    def test_bounds(self):
        """Remainders of rounded numbers have bounds, but at jumps."""
        source = """
kernel k(X: f32[N], Y: f32[N], Z: out f32[N])
{
    grid(ceil(N, 128));
    let n = block.x * 128;
    Z[n :+ 128] = exp(X[n :+ 128]) % Y[n :+ 128];
}
"""
        x = RNG.uniform(-3, 3, 300).astype(np.float32)
        y = RNG.uniform(0.5, 3, 300).astype(np.float32)
        size = np.exp(x.astype(np.float64))
        want, error = np.fmod(size, y), size * (2.0**-21 + np.abs(x) * 2.0**-23 + 2.0**-23)
        far = (want > error) & (y - want > error)  # no jump
        x, y, want, error = x[far], y[far], want[far], error[far]
        with tempfile.TemporaryDirectory() as folder:
            for how, got in run(folder, source, {"X": x, "Y": y, "Z": np.zeros_like(x)}):
                with self.subTest(how=how):
                    self.assertNotIn("no bound", got["text"])
                    self.assertTrue((np.abs(got["Z"] - want) <= error).all())
        y = np.exp(x.astype(np.float64)).astype(np.float32)  # each at a jump: no bound, but an estimate
        with tempfile.TemporaryDirectory() as folder:
            for how, got in run(folder, source, {"X": x, "Y": y, "Z": np.zeros_like(x)}, how=HOW[1:]):
                with self.subTest(how=how):
                    self.assertIn("no bound is known", got["text"])
                    self.assertTrue(((got["Z"] >= 0) & (got["Z"] < y)).all())

    def test_two_inexact(self):
        """Where both operands are inexact the bound of one of them does not suffice."""
        source = """
kernel k(X: f32[N], Y: f32[N], Z: out f32[N])
{
    grid(1);
    Z[0 :+ 128] = exp(X[0 :+ 128] + 2) % exp(Y[0 :+ 128]);
}
"""
        x, y = (RNG.uniform(-1, 1, 100).astype(np.float32) for _ in range(2))
        with tempfile.TemporaryDirectory() as folder:
            for how, got in run(folder, source, {"X": x, "Y": y, "Z": np.zeros_like(x)}, how=HOW[1:2]):
                with self.subTest(how=how):
                    self.assertIn("no bound is known", got["text"])

    def test_integers(self):
        for t, numpy in (("i32", np.int32), ("i8", np.int8), ("u16", np.uint16), ("i64", np.int64)):
            source = f"""
kernel k(X: {t}[N], Y: {t}[N], Z: out {t}[N])
{{
    grid(ceil(N, 128));
    let n = block.x * 128;
    Z[n :+ 128] = mod(X[n :+ 128], Y[n :+ 128]);
}}
"""
            info = np.iinfo(numpy)
            x = RNG.integers(info.min, info.max, 333, numpy)
            y = RNG.integers(max(info.min, -40), 40, 333).astype(numpy)
            y[y == 0] = 1
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, source, {"X": x, "Y": y, "Z": np.zeros_like(x)}):
                    with self.subTest(type=t, how=how):
                        np.testing.assert_array_equal(got["Z"], np.mod(x, y))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
