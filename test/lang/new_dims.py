"""`newaxis` in slices of tensors, shared tiles, register tiles and expressions, as values and as targets, compared
with NumPy on tiles that extend past the end of their tensors. Run by run-new-dims.sh."""

import sys
import tempfile
import unittest

import numpy as np

from hexc_run import run

RNG = np.random.default_rng(3)
SOURCE = """
fn column(v) { return v[:, newaxis]; }

kernel k(X: f32[M, N], L: f32[M], W: f32[N], G: i32[M], Y: out f32[M, N], R: out f32[M], Z: inout f32[M], A: inout f32[M],
         B: inout f32[M], C: out f32[M, 3], D: out f32[M], H: out f32[M, N], E: out f32[1], s: i64)
{
    grid(ceil(M, 16));
    let m = block.x * 16;
    var total: register f32[16, 1] = 0;
    pipeline n in 0..N step 64 stages 2 {
        let l: shared = L[m :+ 16, newaxis];
        let x: shared = X[m :+ 16, n :+ 64];
        let w: register = W[n :+ 64];
        let both = (x * l)[newaxis, :, newaxis, :] + w[newaxis, newaxis, :];
        Y[m :+ 16, n :+ 64] = both[0, :, 0, :] + reshape(l, 16)[:, newaxis] + L[G[m :+ 16], newaxis] + column(L[m :+ 16]);
        H[m :+ 16, newaxis, n :+ 64] = (x * 2)[:, newaxis] * l[:, :, newaxis];
        total += sum(x, 1);
    }
    R[m :+ 16, newaxis] = total;
    Z[m :+ 16, newaxis] += total;
    atomic_add(A[m :+ 16, newaxis], total * 2);
    D[m :+ 16] = atomic_max(B[m :+ 16, newaxis], total)[:, 0];
    let t: shared f32[2, 16];
    t[1, newaxis, :] = sum(total + 0, 1).T;
    C[m :+ 16, 0 :+ 1] = t[1, :, newaxis];
    C[m :+ 16, 1 :+ 1] = total[:, 0][:, newaxis] * 0 + 1;
    C[m :+ 16, 2] = mean(L[newaxis, m :+ 16], 1)[0, :] + 0 * L[m :+ 16];
    if block.x == 0 {
        E[0 :+ 1, newaxis] = L[s, newaxis] + W[s, newaxis];
    }
}
"""
SOURCE = SOURCE.replace("total[:, 0][:, newaxis] * 0 + 1", "total[:, newaxis, 0] * 0 + 1")


class NewDims(unittest.TestCase):
    def test_against_numpy(self):
        for m, n in ((1, 1), (7, 33), (40, 130), (33, 64)):
            x, l, w = (RNG.integers(-9, 9, s).astype(np.float32) for s in ((m, n), m, n))
            z, a, b = (RNG.integers(-99, 99, m).astype(np.float32) for _ in range(3))
            g = RNG.permutation(m).astype(np.int32)
            empty = np.zeros(m, np.float32)
            total = x.sum(1)
            means = np.concatenate([np.full(min(16, m - i), l[i : i + 16].mean()) for i in range(0, m, 16)])
            want = {
                "Y": x * l[:, None] + w[None, :] + 2 * l[:, None] + l[g, None],
                "H": (x * 2) * l[:, None], "R": total, "Z": z + total, "A": a + total * 2, "B": np.maximum(b, total), "D": b,
                "C": np.stack([total, np.ones(m), means], 1), "E": [l[0] + w[0]],
            }
            arrays = {"X": x, "L": l, "W": w, "G": g, "Y": 0 * x, "R": empty, "Z": z, "A": a, "B": b, "C": np.zeros((m, 3), "f4")}
            arrays |= {"D": empty, "H": 0 * x, "E": empty[:1]}
            with tempfile.TemporaryDirectory() as folder:
                for how, got in run(folder, SOURCE, arrays, {"s": 0}):
                    for name, value in want.items():
                        with self.subTest(size=(m, n), how=how, name=name):
                            np.testing.assert_allclose(got[name], value, rtol=3e-7 if name == "C" else 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
