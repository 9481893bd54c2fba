"""Assignments that combine a value with the old contents, for scalars, register tiles, shared tiles and tensors,
compared with NumPy, on tiles that extend past the end of their tensors. Run by run-assignment.sh."""

import sys
import tempfile
import unittest

import numpy as np

from hexc_run import run

RNG = np.random.default_rng(51)
SIZES = ((1, 1), (7, 33), (33, 7), (40, 130))
OPS = {
    "+=": np.add, "-=": np.subtract, "*=": np.multiply, "/=": None, "%=": np.fmod, "<<=": np.left_shift,
    ">>=": np.right_shift, "&=": np.bitwise_and, "|=": np.bitwise_or, "^=": np.bitwise_xor,
}


def truncated(a, b):
    return ((np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b)).astype(a.dtype)


OPS["/="] = truncated


class Compound(unittest.TestCase):
    def everywhere(self, op, t, numpy):
        """X op= Y of a tensor, a var, a shared tile and a scalar."""
        source = f"""
kernel k(X: inout {t}[M, N], Y: {t}[M, N], V: out {t}[M, N], S: out {t}[M, N], I: out {t}[2], s: {t}, i: {t})
{{
    grid(ceil(M, 16), ceil(N, 64));
    let m = block.x * 16, n = block.y * 64;
    let y: register = Y[m :+ 16, n :+ 64];
    var v: register {t}[16, 64] = X[m :+ 16, n :+ 64];
    let t: shared {t}[2, 16, 64];
    t[1] = X[m :+ 16, n :+ 64];
    t[1] {op} Y[m :+ 16, n :+ 64];
    v {op} y;
    v {op} s;
    V[m :+ 16, n :+ 64] = v;
    S[m :+ 16, n :+ 64] = t[1];
    X[m :+ 16, n :+ 64] {op} y;
    if block.x == 0 && block.y == 0 {{
        var a = s, b = i;
        b {op} a;
        a {op} 3;
        I[0] = a;
        I[1] = b;
    }}
}}
"""
        f = OPS[op]
        for m, n in SIZES:
            low, high = (0, 6) if "<" in op or ">" in op else (1, 90)
            x = RNG.integers(-90 if t[0] == "i" else 0, 90, (m, n)).astype(numpy)
            y = RNG.integers(low, high, (m, n)).astype(numpy)
            s, i = numpy(5), numpy(77)
            with tempfile.TemporaryDirectory() as folder:
                empty = np.zeros((m, n), numpy)
                arrays = {"X": x, "Y": y, "V": empty, "S": empty, "I": np.zeros(2, numpy)}
                for how, got in run(folder, source, arrays, {"s": s, "i": i}, more=["-W", "no-strides"]):
                    with self.subTest(op=op, type=t, size=(m, n), how=how):
                        np.testing.assert_array_equal(got["X"], f(x, y))
                        np.testing.assert_array_equal(got["S"], f(x, y))
                        np.testing.assert_array_equal(got["V"], f(f(x, y), s))
                        np.testing.assert_array_equal(got["I"], [f(s, numpy(3)), f(i, s)])

    def test_integers(self):
        for op in OPS:
            for t, numpy in (("i32", np.int32), ("u8", np.uint8)):
                self.everywhere(op, t, numpy)

    def test_conditions(self):
        source = """
kernel k(X: i32[N], Y: out i32[N], C: out i32[1], n: i32)
{
    grid(1);
    let x = X[0 :+ 64];
    var c = x > 2, all = n > 3;
    c &= x < 40;
    c |= x == 50;
    c ^= x % 2 == 0;
    all &= n < 10;
    all |= n == 20;
    all ^= true;
    Y[0 :+ 64] = where(c, 1, 0);
    C[0] = where(all, 1, 0);
}
"""
        for size in (1, 33, 64):
            for n in (2, 5, 11, 20):
                x = RNG.integers(0, 60, size).astype(np.int32)
                want = (((x > 2) & (x < 40)) | (x == 50)) ^ (x % 2 == 0)
                one = not ((3 < n < 10) or n == 20)
                with tempfile.TemporaryDirectory() as folder:
                    arrays = {"X": x, "Y": np.zeros_like(x), "C": np.zeros(1, np.int32)}
                    for how, got in run(folder, source, arrays, {"n": n}):
                        with self.subTest(size=size, n=n, how=how):
                            np.testing.assert_array_equal(got["Y"], want)
                            self.assertEqual(got["C"][0], one)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
