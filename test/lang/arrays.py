"""Arrays of tiles and unrolled loops, compared with NumPy on tiles that extend past the end of their tensors. Run by
run-arrays.sh."""

import sys
import tempfile
import unittest

import numpy as np

from hexc_run import run

RNG = np.random.default_rng(4)


class Arrays(unittest.TestCase):
    def test_accumulators(self):
        """Two products of one operand, in a pipeline; the tiles are chosen by the number of an unrolled loop."""
        source = """
fn scaled(x, by) { return x * by; }

kernel k(A: f16[M, K], B: f16[2, N, K], C: out f32[2, M, N], S: out f32[2], c: i32)
    const PARTS = 2
    assume K % 8 == 0
{
    grid(ceil(M, 32), ceil(N, 32));
    let m = block.x * 32, n = block.y * 32;
    var acc: [PARTS] register f32[32, 32] = 0, count: [PARTS] f32 = 1;
    pipeline k in 0..K step 32 stages 2 {
        let a: shared = fill(A[m :+ 32, k :+ 32], 0);
        unroll for i in 0..PARTS {
            let b: shared = fill(B[i, n :+ 32, k :+ 32], 0);
            acc[i] += dot(a, b.T);
            count[i] *= i + 2;
        }
    }
    let t: [PARTS] shared f32[32, 32];
    if c > 0 {
        acc[1] = scaled(acc[1], 2);
        acc[0][c, :] = 5;
    }
    unroll for i in PARTS - 1..-1 step -1 {
        t[i] [:, :] = acc[i];
        t[i][:, c] += f32(i);
        atomic_add(t[i][0, :], 1);
        C[i, m :+ 32, n :+ 32] = t[i];
    }
    if block.x == 0 && block.y == 0 {
        S[0] = count[0];
        S[1] = count[1];
    }
}
"""
        for m, n, k in ((1, 1, 8), (7, 33, 40), (40, 50, 96)):
            for c in (0, 3):
                a = RNG.integers(-4, 5, (m, k)).astype(np.float16)
                b = RNG.integers(-4, 5, (2, n, k)).astype(np.float16)
                want = np.einsum("mk,pnk->pmn", a.astype(np.float32), b.astype(np.float32))
                if c:
                    want[1] *= 2
                    want[0, c::32] = 5
                want[1, :, c::32] += 1
                want[:, ::32] += 1
                steps = -(-k // 32)
                arrays = {"A": a, "B": b, "C": 0 * want, "S": np.zeros(2, np.float32)}
                with tempfile.TemporaryDirectory() as folder:
                    for how, got in run(folder, source, arrays, {"c": c}):
                        with self.subTest(size=(m, n, k), c=c, how=how):
                            np.testing.assert_array_equal(got["C"], want)
                            np.testing.assert_array_equal(got["S"], [2.0**steps, 3.0**steps])

    def test_rows(self):
        """Parts of a row: sums and maxima of each, carried by a loop and changed in a condition."""
        source = """
kernel k(X: f32[M, N], Y: out f32[M, 4], Z: out f32[M, 4])
{
    grid(ceil(M, 8));
    let m = block.x * 8;
    var total: [4] register f32[8, 1] = 0, top: [4] register f32[8, 1] = -inf;
    for n in 0..N step 128 {
        unroll for i in 0..4 {
            let x: register = X[m :+ 8, n + i * 32 :+ 32];
            total[i] += sum(x, 1);
            if n + i * 32 < N {
                top[i] = max(top[i], reduce_max(x, 1));
            }
        }
    }
    unroll for i in 0..4 {
        Y[m :+ 8, i :+ 1] = total[i];
        Z[m :+ 8, i] = top[i][:, 0];
    }
}
"""
        for m, n in ((1, 1), (7, 33), (33, 200), (9, 130)):
            x = RNG.integers(-99, 99, (m, n)).astype(np.float32)
            full = np.pad(x, ((0, 0), (0, -n % 128)))
            there = np.pad(np.ones_like(x), ((0, 0), (0, -n % 128))) > 0
            parts = full.reshape(m, -1, 4, 32)
            low = np.where(there, full, -np.inf).reshape(m, -1, 4, 32)
            arrays = {"X": x, "Y": np.zeros((m, 4), np.float32), "Z": np.zeros((m, 4), np.float32)}
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, source, arrays):
                    with self.subTest(size=(m, n), how=how):
                        np.testing.assert_array_equal(got["Y"], parts.sum((1, 3)))
                        np.testing.assert_array_equal(got["Z"], low.max((1, 3)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
