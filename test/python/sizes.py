"""Operators at sizes that do not divide by 16 bytes, compared with NumPy. Run by run-sizes.sh; the
device is the simulator."""

import unittest

import numpy as np

import hexc

ARCHS = ("sm_80", "sm_90a")


def integers(*shape, seed=1, high=2, dtype=np.float16):
    """Sums of products of these are exact."""
    return np.random.default_rng(seed).integers(-high, high + 1, shape).astype(dtype)


class Sizes(unittest.TestCase):
    def test_gemm(self):
        for i, (m, n, k) in enumerate(((1, 1, 1), (5, 7, 13), (33, 70, 7), (17, 9, 129), (20, 40, 1001), (3, 8, 8))):
            a, b = integers(m, k), integers(n, k, seed=2)
            run = hexc.operator("gemm", OUT="f32", arch=ARCHS[i % 2], prove=True).run(A=a, B=b)
            np.testing.assert_array_equal(run["C"], a.astype(np.float32) @ b.T.astype(np.float32))

    def test_gemm_q(self):
        for i, (m, n, k) in enumerate(((1, 1, 1), (5, 7, 13), (33, 70, 100), (3, 8, 2049))):
            a, b = integers(m, k, high=9, dtype=np.int8), integers(n, k, seed=2, high=9, dtype=np.int8)
            run = hexc.operator("gemm_q", OUT="f32", arch=ARCHS[i % 2], prove=True).run(A=a, B=b)
            np.testing.assert_array_equal(run["C"], (a.astype(np.int32) @ b.T.astype(np.int32)).astype(np.float32))

    def test_gemm_block(self):
        for i, (m, n, k) in enumerate(((2, 3, 5), (33, 70, 130), (5, 129, 257))):
            a, b = integers(m, k, high=9, dtype=np.int8), integers(n, k, seed=2, high=9, dtype=np.int8)
            rows, columns = -(-n // 128), -(-k // 128)
            sa = 2.0 ** integers(m, columns, seed=3, dtype=np.float32)
            sb = 2.0 ** integers(rows, columns, seed=4, dtype=np.float32)
            op = hexc.operator("gemm_block", LEFT="i8", OUT="f32", arch=ARCHS[i % 2], prove=True)
            run = op.run(A=a, B=b, SA=sa.astype(np.float32), SB=sb.astype(np.float32))
            at = np.arange(k) // 128
            want = (a * sa[:, at]) @ (b * sb[np.arange(n) // 128][:, at]).T
            np.testing.assert_array_equal(run["C"], want.astype(np.float32))

    def test_moe(self):
        for i, (t, e, d, f) in enumerate(((3, 4, 13, 7), (40, 5, 1, 3), (9, 70, 33, 9))):
            x, wg, wu, wd = (
                integers(*shape, seed=s) for s, shape in enumerate(((t, d), (e, f, d), (e, f, d), (e, d, f)), start=1)
            )
            logits = np.random.default_rng(i).permuted(np.tile(np.arange(e, dtype=np.float32), (t, 1)), axis=1)
            run = hexc.operator("moe", OUT="f32", arch=ARCHS[i % 2], prove=True).run(X=x, L=logits, WG=wg, WU=wu, WD=wd, TOPK=1)
            for at in range(t):  # one expert, of weight 1
                to = int(logits[at].argmax())
                gate, up = (w[to].astype(float) @ x[at].astype(float) for w in (wg, wu))
                h = (gate / (1 + np.exp(-gate)) * up).astype(np.float16).astype(float)
                want = wd[to].astype(float) @ h
                # h is off by one rounding to f16, and so is the result
                allow = 2.0**-10 * (np.abs(wd[to].astype(float)) @ np.abs(h) + np.abs(want)) + 1e-6
                self.assertTrue((np.abs(run["Y"][at] - want) <= allow).all(), (t, e, d, f))


if __name__ == "__main__":
    unittest.main()
