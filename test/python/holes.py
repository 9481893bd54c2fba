"""Expressions in operators' placeholders, compared with NumPy: an expression in brackets applies to each
element. Run by run-holes.sh; the device is the simulator."""

import unittest

import numpy as np

import hexc

ARCHS = ("sm_80", "sm_90a")


def integers(*shape, seed=1, high=9):
    """For f32 and f16, sums and products with these values are exact."""
    return np.random.default_rng(seed).integers(-high, high + 1, shape).astype(np.float32)


class Map(unittest.TestCase):
    def setUp(self):
        self.m, self.n = 13, 70
        self.x = integers(self.m, self.n, seed=2)
        self.row, self.col = np.mgrid[0 : self.m, 0 : self.n]

    def right(self, tensors, value, want, **args):
        for arch, tile in zip(ARCHS, ({}, {"BM": 4, "BN": 512}), strict=True):
            op = hexc.operator("map", IN="f32", tensors=tensors, value=value, arch=arch, prove=True, **tile)
            np.testing.assert_array_equal(op.run(X=self.x, **args)["Y"], want, value)

    def test_an_index_that_is_computed(self):
        """With one letter, two letters, a repeated letter, transposed, negative and past the end."""
        b, t, w = integers(5, 70, seed=3), integers(13, 70, seed=4), integers(13 * 70, seed=5)
        for tensors, value, want, args in (
            ("b: f32[MB, N]", "x + b[m % MB, n]", b[self.row % 5, self.col], {"b": b}),
            ("b: f32[NB, MB]", "x + b[n % NB, m % MB]", b.T[:, :5][self.col % 70, self.row % 5], {"b": b.T.copy()}),
            ("t: f32[M, N]", "x + t[m, n / 2]", t[self.row, self.col // 2], {"t": t}),
            ("t: f32[N, M]", "x + t[n, m]", t[self.row, self.col], {"t": t.T.copy()}),
            ("w: f32[L]", "x + w[m * N + n]", w[self.row * 70 + self.col], {"w": w}),
            ("w: f32[L]", "x + w[max(m, n) + 3]", w[np.maximum(self.row, self.col) + 3], {"w": w}),
            ("w: f32[L]", "x + w[n - 4]", np.where(self.col < 4, 0, w[self.col - 4]), {"w": w}),
            ("t: f32[M, N]", "x + t[m - 1, n]", np.where(self.row < 1, 0, t[self.row - 1, self.col]), {"t": t}),
            ("t: f32[M, N]", "x + t[m, m]", t[self.row, self.row], {"t": t}),
            ("t: f32[M, N]", "x + t[n / 8, n]", t[self.col // 8, self.col], {"t": t}),
        ):
            self.right(tensors, value, self.x + want, **args)

    def test_an_index_that_is_read(self):
        t, to = integers(6, 70, seed=6), np.random.default_rng(7).integers(0, 6, 13).astype(np.int32)
        at = np.random.default_rng(8).integers(0, 13, 70).astype(np.int64)
        u = integers(13, seed=9)
        self.right("t: f32[R, N], to: i32[M]", "x + t[to[m], n]", self.x + t[to[self.row], self.col], t=t, to=to)
        self.right("u: f32[M], at: i64[N]", "x * u[at[n]]", self.x * u[at[self.col]], u=u, at=at)
        self.right(
            "t: f32[R, N], to: i32[M]", "x + t[(to[m] + 1) % 6, n]", self.x + t[(to[self.row] + 1) % 6, self.col], t=t, to=to
        )

    def test_a_cast_to_an_integer(self):
        """It is of the element itself, which f32 may not hold; an element in a larger expression is f32."""
        t = np.random.default_rng(10).integers(2**30, 2**30 + 3, (13, 70)).astype(np.int32)
        u = t[:, 0].copy()
        equal = "i64(t[m, n]) == i64(u[m])"
        self.right("t: i32[M, N], u: i32[M]", f"where({equal}, x, 0)", np.where(t == u[:, None], self.x, 0), t=t, u=u)
        self.right("t: i32[M, N]", "x + f32(i32(t[m, n] + 1) % 64)", self.x + (t.astype(np.float32).astype(np.int64) % 64), t=t)

    def test_letters_outside_of_brackets(self):
        """They are element indices there, too."""
        self.right("first: i64", "where(m < first && n % 3 == 0, x, 0)",
                   np.where((self.row < 7) & (self.col % 3 == 0), self.x, 0), first=7)  # fmt: skip

    def test_what_stays(self):
        """Single letters, numbers and scalars stay unchanged."""
        g, s, t = integers(70, seed=3), integers(13, seed=4), integers(4, 70, seed=5)
        self.right("g: f32[N], s: f32[M]", "x * g[n] + s[m]", self.x * g + s[:, None], g=g, s=s)
        self.right("t: f32[R, N], k: i64", "x + t[k - 1, n] * t[0, 0]", self.x + t[2] * t[0, 0], t=t, k=3)


class Others(unittest.TestCase):
    def test_epilogues_and_inputs(self):
        """One operator of each kind of letters."""
        m, n, k = 20, 40, 16
        row, col = np.mgrid[0:m, 0:n]
        a, b = integers(m, k, seed=1, high=2).astype(np.float16), integers(n, k, seed=2, high=2).astype(np.float16)
        t = integers(3, 10, seed=3)
        want = (a.astype(float) @ b.T.astype(float)) + t[row % 3, col // 4]
        run = hexc.operator("gemm", OUT="f32", tensors="t: f32[RT, CT]", epilogue="x + t[m % RT, n / 4]").run(A=a, B=b, t=t)
        np.testing.assert_array_equal(run["C"], want)
        x = integers(m, n, seed=4)
        run = hexc.operator("scan", IN="f32", tensors="t: f32[RT, CT]", input="x * t[m % RT, n / 4]").run(X=x, t=t)
        np.testing.assert_array_equal(run["Y"], np.cumsum(x * t[row % 3, col // 4], 1))
        table, at = integers(9, n, seed=5), np.random.default_rng(6).integers(0, 9, m).astype(np.int32)
        run = hexc.operator("embedding", IN="f32", tensors="t: f32[RT, CT]", epilogue="x + t[m % RT, n / 4]").run(E=table, I=at, t=t)
        np.testing.assert_array_equal(run["Y"], table[at] + t[row % 3, col // 4])

    def test_images(self):
        x, f = integers(2, 6, 7, 8, high=2).astype(np.float16), integers(5, 1, 8, seed=2, high=2).astype(np.float16)
        t = integers(3, 4, seed=3)
        op = hexc.operator("conv2d", OUT="f32", R=1, S=1, PAD=0, tensors="t: f32[RT, CT]", epilogue="x + t[p % RT, (q + o) % CT]")
        run = op.run(X=x, F=f, t=t, P=6, Q=7)
        b, p, q, o = np.mgrid[0:2, 0:6, 0:7, 0:5]
        want = np.einsum("bpqc,oc->bpqo", x.astype(float), f[:, 0].astype(float)) + t[p % 3, (q + o) % 4]
        np.testing.assert_array_equal(run["Y"], want)

    def test_attention(self):
        """Scores: positions by themselves, and the rows and columns of a matrix."""
        h, m, n, d = 2, 19, 45, 64
        rng = np.random.default_rng(1)
        q, k, v = (rng.normal(0, 1, (1, r, h, d)).astype(np.float16) for r in (m, n, n))
        far = rng.normal(0, 1, (h, 100)).astype(np.float32)
        few = rng.normal(0, 1, (m, 4)).astype(np.float32)
        i, j = np.mgrid[0:m, 0:n]
        for name in ("attention", "decode"):
            op = hexc.operator(name, D=d, tensors="far: f32[H, R], few: f32[M, C]", score="s + far[h, j - i + 50] + few[i, j % 4]")
            o = op.run(Q=q, K=k, V=v, far=far, few=few, scale=0.125)["O"]
            for at in range(h):
                s = 0.125 * q[0, :, at].astype(float) @ k[0, :, at].T.astype(float)
                s += far[at][j - (i + n - m) + 50] + few[i, j % 4]
                p = np.exp(s - s.max(1, keepdims=True))
                want = p / p.sum(1, keepdims=True) @ v[0, :, at].astype(float)
                # P and O are rounded to f16, with magnitudes of at most 5
                np.testing.assert_allclose(o[0, :, at], want, atol=1e-2, rtol=0)


if __name__ == "__main__":
    unittest.main()
