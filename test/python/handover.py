"""Programs whose blocks hand data to each other in one launch, compared with NumPy on three targets. Run by
run-handover.sh; the device is the simulator."""

import unittest
from pathlib import Path

import numpy as np

import hexc

ARCHS = tuple(a for a in ("sm_80", "sm_90a", "sm_120a") if a in hexc.archs())
SIZES = (1, 7, 33, 200, 1000, 2880, 4304)
RNG = np.random.default_rng(38)


def kernels(source, **constants):
    """The first kernel of a program for each target."""
    for arch in ARCHS:
        module = hexc.compile(source, arch=arch, constants=constants, prove=True)
        yield module[next(iter(module))]


def example(name):
    return kernels(Path(f"examples/{name}.hexc"), BN=256)


def eighths(n):
    """Numbers whose sums are exact in f32."""
    return (RNG.integers(-64, 64, n) / 8).astype(np.float32)


class Examples(unittest.TestCase):
    def test_ticket(self):
        for kernel in example("sum_one_launch"):
            for n in SIZES:
                x, t = eighths(n), np.zeros(1, np.int32)
                for blocks in (1, 5):
                    run = kernel.run(X=x, P=np.zeros(blocks, np.float32), T=t)
                    self.assertEqual(run["Y"][0], x.sum())
                    self.assertEqual(run["T"][0], 0)

    def test_look_back(self):
        for kernel in example("prefix_sum"):
            for n in SIZES:
                x, g = RNG.integers(-(2**31), 2**31, n).astype(np.int32), -(-n // 256)
                run = kernel.run(X=x, SUM=np.zeros((2, g), np.int32), FLAG=np.zeros(g, np.int32), COUNT=np.zeros(2, np.int32))
                np.testing.assert_array_equal(run["Y"], np.cumsum(x, dtype=np.int32))
                self.assertFalse(run["FLAG"].any() or run["COUNT"].any())

    def test_grid_barrier(self):
        for kernel in example("softmax_grid"):
            word = np.zeros(1, np.int32)
            for n in SIZES:
                for blocks in (1, 5):
                    x = (8 * RNG.standard_normal(n)).astype(np.float32)
                    part = np.zeros(blocks, np.float32)
                    run = kernel.run(X=x, TOP=part, TOTAL=part, S=word)
                    e = np.exp(x.astype(np.float64) - x.max())
                    np.testing.assert_allclose(run["Y"], e / e.sum(), rtol=2e-5, atol=1e-37)
                    self.assertEqual(abs(int(word[0]) - int(run["S"][0])), 2**31)
                    word = run["S"]  # no reset

    def test_lock(self):
        for kernel in example("argmax_locked"):
            for n in SIZES:
                x = np.floor(4 * RNG.standard_normal(n)).astype(np.float32)
                run = kernel.run(X=x, VALUE=np.full(1, -np.inf, np.float32), INDEX=np.zeros(1, np.int32), LOCK=np.zeros(1, np.int32))
                self.assertEqual((run["VALUE"][0], run["INDEX"][0], run["LOCK"][0]), (x.max(), x.argmax(), 0))


class Programs(unittest.TestCase):
    def test_iteration_until_convergence(self):
        """The condition is read from memory that blocks write: after one barrier, before the next."""
        source = """
kernel halve(Y: inout f32[N], TOP: inout f32[G], ROUNDS: out i32[1], S: inout u32[1])
    const BN = 64, WARPS = 2
    assume G <= 256
{
    grid(G);
    var rounds = 0, most: register f32[1] = inf;
    while most > 1 {
        var top: register f32[1] = 0;
        for n in block.x * BN..N step G * BN {
            let y = Y[n :+ BN] * 0.5;
            Y[n :+ BN] = y;
            top = max(top, reduce_max(abs(y), 0));
        }
        TOP[block.x :+ 1] = top;
        grid_barrier(S[0]);
        most = reduce_max(TOP[0 :+ 256], 0);
        rounds += 1;
        grid_barrier(S[0]);
    }
    ROUNDS[0] = i32(rounds);
}
"""
        for kernel in kernels(source):
            for n in SIZES:
                y = eighths(n)
                times = max(1, int(np.ceil(np.log2(max(np.abs(y).max(), 1)))))
                run = kernel.run(Y=y, TOP=np.zeros(3, np.float32), S=np.zeros(1, np.uint32))
                self.assertEqual(run["ROUNDS"][0], times)
                np.testing.assert_array_equal(run["Y"], y / 2.0**times)

    def test_transpose_in_place_of_blocks(self):
        """All blocks read what others write afterwards."""
        source = """
kernel reverse(X: inout f32[N], S: inout i32[1])
    const BN = 64, WARPS = 2
{
    grid(ceil(N, BN));
    let n = block.x * BN;
    let x = X[N - 1 - n - i64(iota(0, BN))];
    grid_barrier(S[0]);
    X[n :+ BN] = x;
}
"""
        for kernel in kernels(source):
            for n in SIZES:
                x = eighths(n)
                np.testing.assert_array_equal(kernel.run(X=x, S=np.zeros(1, np.int32))["X"], x[::-1])

    def test_chain_of_flags_is_in_order(self):
        """A recurrence over the whole tensor, whose result does not depend on the blocks' order."""
        source = """
fn linear(a, b, c, d) { return a * c, b * c + d; }
kernel recurrence(A: f32[N], X: f32[N], Y: out f32[N], LAST: inout f32[G], FLAG: inout i32[G], COUNT: inout i32[1])
    const BN = 128
    assume G * BN >= N
{
    grid(G);
    let g = i64(atomic_add(COUNT[0], 1)), n = g * BN;
    let (p, q) = scan(linear, 0, A[n :+ BN], X[n :+ BN]);
    var before: register f32[1] = 0;
    if g > 0 {
        while atomic_or(FLAG[g - 1], 0) == 0 {
        }
        before = LAST[g - 1 :+ 1];
    }
    let y = q + p * before;
    LAST[g :+ 1] = reduce_last(y, 0);
    atomic_add(FLAG[g], 1);
    Y[n :+ BN] = y;
}
"""
        for kernel in kernels(source):
            for n in SIZES:
                a, x, g = RNG.integers(-1, 2, n).astype(np.float32), eighths(n), -(-n // 128)
                y, now = np.zeros(n), 0.0
                for i in range(n):
                    y[i] = now = a[i] * now + x[i]
                run = kernel.run(A=a, X=x, LAST=np.zeros(g, np.float32), FLAG=np.zeros(g, np.int32), COUNT=np.zeros(1, np.int32))
                np.testing.assert_array_equal(run["Y"], y.astype(np.float32))


if __name__ == "__main__":
    unittest.main()
