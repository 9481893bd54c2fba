"""NaNs, infinities and out-of-bounds elements: examples and operators compared with NumPy. Run by run-nans.sh;
the device is the simulator."""

import unittest
from pathlib import Path

import numpy as np

import hexc

NAN, INF = np.float32(np.nan), np.float32(np.inf)
ARCHS = ("sm_80", "sm_90a")


def example(name, arch="sm_80", kernel=None, **constants):
    made = hexc.compile(Path(f"examples/{name}.hexc"), arch=arch, kernel=kernel, constants=constants, prove=True)
    return made[kernel or name]


def rows(m, n, seed=1):
    """Rows of numbers, some equal, and rows with some NaNs, one number, no number,
    infinities, zeros of both signs."""
    rng = np.random.default_rng(seed)
    x = (rng.integers(-40, 40, (m, n)) / 8).astype(np.float32)
    x[1, rng.random(n) < 0.3] = NAN
    x[2] = NAN
    x[3, :] = NAN
    x[3, n // 2] = -3
    x[4, 0], x[4, n - 1] = INF, -INF
    x[5] = -INF
    x[6, rng.random(n) < 0.5] = -INF
    x[6, rng.random(n) < 0.3] = NAN
    x[7] = np.where(np.arange(n) % 2, np.float32(-0.0), np.float32(0))
    x[8].view(np.uint32)[::3] = 0xFFC00001  # NaNs with the sign bit set
    return x


def largest(x, k):
    """For each row, NaNs after all numbers; the first of equal ones. sorted() is stable."""
    at = [sorted(range(len(r)), key=lambda i, r=r: (bool(np.isnan(r[i])), -r[i] if not np.isnan(r[i]) else 0))[:k] for r in x]
    return np.take_along_axis(x, np.array(at), 1), np.array(at, np.int32)


class Order(unittest.TestCase):
    def test_top_k(self):
        for arch, (m, n, k) in zip(ARCHS, ((9, 100, 8), (20, 1024, 5)), strict=True):
            x = rows(m, n)
            run = example("top_k", arch, K=k).run(X=x)
            value, index = largest(x, k)
            np.testing.assert_array_equal(run["I"], index)
            np.testing.assert_array_equal(run["V"], value)

    def test_sort(self):
        for arch, n in zip(ARCHS, (16, 128), strict=True):
            x = rows(12, n)
            y = example("sort", arch, N=n).run(X=x)["Y"]
            np.testing.assert_array_equal(y, np.sort(x, 1))  # NaNs at the end
            zeros = np.signbit(x[7]).sum()  # zeros of both signs are preserved
            self.assertTrue(np.signbit(y[7, :zeros]).all() and not np.signbit(y[7, zeros:]).any())

    def test_histogram(self):
        x = np.concatenate([rows(10, 300).reshape(-1), np.array([1e30, -1e30, 3.0], np.float32)])
        low, scale, bins = np.float32(-4), np.float32(32), 256
        place = np.floor((x - low) * scale)
        inside = place[(place >= 0) & (place < bins)].astype(np.int64)
        run = example("histogram").run(X=x, low=low, scale=scale, H=np.zeros(bins, np.int32))
        np.testing.assert_array_equal(run["H"], np.bincount(inside, minlength=bins))

    def test_top_k_operator(self):
        for arch, n in zip(ARCHS, (100, 9000), strict=True):
            x, k = rows(9, n), 6
            run = hexc.operator("top_k", arch=arch, K=k, prove=True).run(X=x)
            value, index = largest(x, k)
            none = np.isnan(value)
            np.testing.assert_array_equal(run["I"], np.where(none, -1, index))
            np.testing.assert_array_equal(run["V"][~none], value[~none])
            self.assertTrue((run["V"][none] == -INF).all())

    def test_sample(self):
        """A token of weight 0 is never drawn, for any other weights."""
        for k in (0, 4):
            x = rows(9, 200)
            for u in (0.0, 0.3, 0.999):
                run = hexc.operator("sample", K=k, prove=True).run(
                    X=x, U=np.full(9, u, np.float32), temperature=1.0, **({"k": 4, "top_p": 1.0} if k else {})
                )
                for row, token in zip(x, run["TOKEN"], strict=True):
                    self.assertTrue(0 <= token < 200)
                    if (row > -INF).any():
                        self.assertGreater(row[token], -INF, (k, u, token))
                greedy = hexc.operator("sample", K=k).run(
                    X=x, U=np.full(9, u, np.float32), temperature=0.0, **({"k": 4, "top_p": 1.0} if k else {})
                )["TOKEN"]
                for row, token in zip(x, greedy, strict=True):
                    if (row > -INF).any():
                        self.assertEqual(token, largest(row[None], 1)[1][0, 0])


def softmax(x):
    """Rows of only -inf give zeros."""
    top = x.max(1, keepdims=True)
    e = np.exp((x - np.where(top == -INF, 0, top)).astype(np.float64))
    total = e.sum(1, keepdims=True)
    return e / np.where(total == 0, 1, total)


class Shares(unittest.TestCase):
    def rows(self, n, first):
        rng = np.random.default_rng(3)
        x = rng.uniform(-3, 3, (6, n)).astype(np.float32)
        x[1, :first] = -INF
        x[2] = -INF
        x[3] = np.finfo(np.float32).min  # the mask value of frameworks
        x[4, 1:] = -INF
        return x

    def test_softmax(self):
        for name, n in (("softmax", 700), ("softmax_long", 5000)):
            x = self.rows(n, n - 10)
            y = example(name).run(X=x)["Y"]
            # sums of n terms and exp, from LANGUAGE.md's table
            np.testing.assert_allclose(y, softmax(x), rtol=2 * n * 2.0**-24 + 2.0**-17, atol=1e-30)

    def test_cross_entropy(self):
        n, weight = 3000, 0.5
        x = self.rows(n, n - 10).astype(np.float16)
        x[3] = np.finfo(np.float16).min
        label = np.array([5, n - 3, 7, 9, 0, -1], np.int32)
        run = example("cross_entropy").run(X=x, LABEL=label, weight=weight)
        p = softmax(x.astype(np.float32))
        none = (label < 0) | (x == -INF).all(1)
        at = np.arange(6), np.maximum(label, 0)
        loss = np.where(none, 0, -np.log(np.where(none, 1, p[at])))
        grad = p.copy()
        grad[at] -= 1
        grad = np.where(none[:, None], 0, grad * weight)
        np.testing.assert_allclose(run["L"], loss, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(run["DX"], grad, rtol=2e-3, atol=1e-7)


def choice(x, k, renorm=True):
    """Experts and weights of each row: NaN counts as -inf, +inf is the largest number, -inf has weight 0."""
    x = np.where(np.isnan(x), -INF, np.minimum(x, np.finfo(np.float32).max)).astype(np.float64)
    at = np.argsort(-x, 1, kind="stable")[:, :k]
    p = softmax(x)
    w = np.take_along_axis(p, at, 1)
    total = w.sum(1, keepdims=True)
    return at.astype(np.int32), w / np.where(total == 0, 1, total) if renorm else w


class Routing(unittest.TestCase):
    def test_router(self):
        for arch, e in zip(ARCHS, (64, 40), strict=True):
            x = rows(21, e)
            run = example("router", arch, E=e, K=4).run(X=x)
            expert, weight = choice(x, 4)
            np.testing.assert_array_equal(run["I"], expert)
            np.testing.assert_allclose(run["W"], weight, rtol=1e-5, atol=1e-30)

    def test_moe(self):
        """Rows without a number do not affect other rows, for every entry of the table."""
        for i, (t, e) in enumerate(((21, 40), (21, 64), (300, 5), (30, 100), (300, 66))):
            d, f, k = 16, 8, 4
            rng = np.random.default_rng(i)
            logits = rows(t, e, i)
            x, wg, wu, wd = (
                (rng.integers(-8, 9, shape) / 8).astype(np.float16) for shape in ((t, d), (e, f, d), (e, f, d), (e, d, f))
            )
            x[2] = np.nan  # contents of padding
            op = hexc.operator("moe", arch=ARCHS[i % 2], OUT="f32", prove=True)
            run = op.run(X=x, L=logits, WG=wg, WU=wu, WD=wd, TOPK=k)
            expert, weight = choice(logits, k)
            want = np.zeros((t, d))
            for at in range(t):
                for to, w in zip(expert[at], weight[at], strict=True):
                    if w > 0:
                        gate, up = wg[to].astype(float) @ x[at], wu[to].astype(float) @ x[at]
                        h = (gate / (1 + np.exp(-gate)) * up).astype(np.float16)
                        want[at] += w * (wd[to].astype(float) @ h)
            # h and each expert's result are rounded to f16, as here except for the last bit of h
            np.testing.assert_allclose(run["Y"], want, rtol=4e-3, atol=4e-3 * f)


class Quantize(unittest.TestCase):
    """The integer as computed by a CPU: the quotient rounded once, ties to even."""

    def test_token_int8(self):
        for m, k in ((19, 1536), (64, 912)):
            x = np.random.default_rng(k).normal(0, 2, (m, k)).astype(np.float16)
            top = np.abs(x).max(1, keepdims=True).astype(np.float32)
            scale = top / np.float32(127)
            run = example("quantize", kernel="token_int8").run(X=x)
            np.testing.assert_array_equal(run["S"], scale[:, 0])
            np.testing.assert_array_equal(run["Q"], np.rint(x.astype(np.float32) / scale).astype(np.int8))

    def test_kv_append(self):
        t, h, d = 40, 4, 128
        rng = np.random.default_rng(5)
        k, v = (rng.normal(0, 2, (t, h, d)).astype(np.float16) for _ in "kv")
        slot = rng.permutation(t).astype(np.int32)
        args = {
            "SLOT": slot, "K": k, "V": v, "KC": np.zeros((t, h, d), np.int8), "VC": np.zeros((t, h, d), np.int8),
            "KS": np.zeros((t, h), np.float32), "VS": np.zeros((t, h), np.float32),
        }  # fmt: skip
        for run in (
            example("kv_append", D=d).run(**args),
            hexc.operator("kv_append", ACT="f16", KV="i8", D=d, scales="1").run(**args),
        ):
            for x, q, s in ((k, "KC", "KS"), (v, "VC", "VS")):
                scale = np.abs(x).max(2).astype(np.float32) / np.float32(127)
                np.testing.assert_array_equal(run[s][slot], scale)
                want = np.rint(x.astype(np.float32) / scale[:, :, None]).astype(np.int8)
                np.testing.assert_array_equal(run[q][slot], want)


PART = """kernel part(X: f32[M, N], Y: out f32[M, 2]) {
    grid(ceil(M, 4));
    let s: shared = X[block.x * 4 :+ 4, 0 :+ 64];
    s[where(iota(0, 4) < 1, iota(0, 4), -1), 0 :+ 8] = VALUE;
    Y[block.x * 4 :+ 4, 0 :+ 1] = mean(s, 1);
    Y[block.x * 4 :+ 4, 1 :+ 1] = reduce_max(s, 1);
}"""


class Edges(unittest.TestCase):
    def test_a_part_of_a_shared_tile(self):
        """A store to a part of a shared tile at run-time positions: then all elements count, including
        out-of-bounds zeros (hexc/LANGUAGE.md, "Out-of-bounds elements")."""
        m, n = 10, 40
        x = -1 - np.random.default_rng(1).integers(0, 8, (m, n)).astype(np.float32)
        for value in (0, -2):
            y = hexc.compile(PART.replace("VALUE", str(value)), prove=True)["part"].run(X=x)["Y"]
            whole = np.zeros((m, 64), np.float32)
            whole[:, :n] = x
            whole[::4, :8] = value
            np.testing.assert_allclose(y[:, 0], whole.mean(1), rtol=1e-6)
            np.testing.assert_array_equal(y[:, 1], whole.max(1))


if __name__ == "__main__":
    unittest.main()
