"""Programs written from the manual, compared with NumPy, with all layouts validated. Run by run-programs.sh."""

import unittest

import numpy as np

import hexc

RNG = np.random.default_rng(15)


def run(source, kernel=None, **args):
    """The kernel's outputs on the simulator, equal on two targets."""
    constants = {k: args.pop(k) for k in [k for k in args if k.isupper() and len(k) == 2]}
    out = []
    for arch in ("sm_80", "sm_90a"):
        module = hexc.compile(source, arch=arch, kernel=kernel, constants=constants, prove=True)
        out.append(module[next(iter(module))].run(**args))
    for name in out[0]:
        np.testing.assert_array_equal(out[0][name], out[1][name])
    return out[0]


class Programs(unittest.TestCase):
    def test_average_pool_counts_what_is_inside(self):
        source = """
kernel average(X: f32[H, W], Y: out f32[P, Q])
{
    grid(ceil(Q, 64), P);
    let w = block.x * 64;
    var t: register f32[64] = 0, n: register f32[64] = 0;
    for r in 0..3 {
        for s in 0..3 {
            let x: register = X[block.y * 2 + r - 1, w * 2 + s - 1 :+ 64 step 2];
            t += fill(x, 0);
            n += where(inside(x), 1.0, 0.0);
        }
    }
    Y[block.y, w :+ 64] = t / max(n, 1);
}
"""
        for h, w in (1, 1), (7, 33), (4, 200):
            x = RNG.integers(-9, 9, (h, w)).astype(np.float32)
            p, q = (h - 1) // 2 + 1, (w - 1) // 2 + 1
            around = np.pad(np.stack([x, np.ones_like(x)]), ((0, 0), (1, 1), (1, 1)))
            window = [around[:, r : r + 2 * p - 1 : 2, s : s + 2 * q - 1 : 2] for r in range(3) for s in range(3)]
            t, n = sum(window)
            # an f32 division may be off by 2^-20
            np.testing.assert_allclose(run(source, X=x, P=p, Q=q)["Y"], t / n, rtol=2.0**-19)

    def test_broadcast_rows_know_whether_they_are_inside(self):
        source = """
kernel sides(X: i32[H, W], Y: out i32[H, 16])
{
    grid(H);
    let up = X[block.x - 1 :+ 1, 0 :+ 16], down = reshape(X[block.x + 1 :+ 1, 0 :+ 16], 16);
    let both = inside(up + X[block.x, 0 :+ 16]) && reshape(inside(down), 1, 16);
    Y[block.x :+ 1, :] = where(both, 1, 0);
}
"""
        y = np.zeros((5, 16), np.int32)
        y[1:4, :9] = 1
        np.testing.assert_array_equal(run(source, X=np.ones((5, 9), np.int32))["Y"], y)

    def test_steps_known_at_run_time(self):
        source = """
kernel partial(X: f32[N], S: out f32[B])
{
    grid(B);
    var t: register f32[128] = 0;
    for i in block.x * 128..N step B * 128 {
        t += fill(X[i :+ 128], 0);
    }
    S[block.x :+ 1] = sum(t, 0);
}
"""
        for n, b in (1, 1), (1000, 3), (2880, 64):
            x = RNG.integers(-9, 9, n).astype(np.float32)
            s = np.pad(x, (0, -n % (128 * b))).reshape(-1, b, 128).sum((0, 2))
            np.testing.assert_array_equal(run(source, X=x, B=b)["S"], s)

    def test_sums_of_scans(self):
        source = """
kernel sums(X: i32[R, DD], T: out i32[R, 1], U: out i32[R, DD])
    const DD = 48, WARPS = 12
{
    grid(R);
    let x = X[block.x :+ 1, :];
    let c = cumsum(x, 1);
    T[block.x :+ 1, :] = sum(c + cummax(x, 1), 1);
    U[block.x :+ 1, :] = shift(c, 1, 1);
}
"""
        for d in 1, 33, 50, 200, 1000:
            x = RNG.integers(-9, 9, (3, d)).astype(np.int32)
            got = run(source, X=x, DD=d)
            c = x.cumsum(1)
            np.testing.assert_array_equal(got["T"], (c + np.maximum.accumulate(x, 1)).sum(1, keepdims=True))
            np.testing.assert_array_equal(got["U"], c - x)

    def test_histogram_and_what_is_below(self):
        source = """
kernel histogram(X: u8[N], C: out u32[B, 256], L: out u32[B, 256])
{
    grid(B);
    let c: shared i32[256] = 0;
    for i in block.x * 512..N step B * 512 {
        let at = i64(iota(0, 512)) + i;
        atomic_add(c[where(at < N, i32(X[i :+ 512]), -1)], 1);
    }
    C[block.x, :] = u32(c);
    L[block.x, :] = shift(cumsum(u32(c), 0), 0, 1);
}
"""
        x = RNG.integers(0, 256, 2880).astype(np.uint8)
        got = run(source, X=x, B=2)
        counts = [np.bincount(np.concatenate(np.split(x, range(512, 2880, 512))[b::2]), minlength=256) for b in (0, 1)]
        np.testing.assert_array_equal(got["C"], counts)
        np.testing.assert_array_equal(got["L"], np.cumsum(counts, 1) - counts)

    def test_segments(self):
        source = """
fn segment(f, x, g, y) { return f | g, where(g != 0, y, x + y); }
kernel segments(X: i32[M, DD], F: u8[M, DD], Y: out i32[M, DD])
    const DD = 33
{
    grid(M);
    let (_f, y) = scan(segment, 1, i32(F[block.x :+ 1, :]), X[block.x :+ 1, :]);
    Y[block.x :+ 1, :] = y;
}
"""
        x = RNG.integers(-9, 9, (2, 200)).astype(np.int32)
        f = (RNG.integers(0, 5, x.shape) == 0).astype(np.uint8)
        y = x.copy()
        for t in range(1, 200):
            y[:, t] += np.where(f[:, t], 0, y[:, t - 1])
        np.testing.assert_array_equal(run(source, X=x, F=f, DD=200)["Y"], y)

    def test_rows_and_columns_by_indices(self):
        source = """
kernel choose(X: u16[H, W], R: i32[M], C: i32[N], Y: out u16[M, N])
{
    grid(ceil(M, 16), ceil(N, 32));
    let m = block.x * 16, n = block.y * 32;
    Y[m :+ 16, n :+ 32] = X[reshape(R[m :+ 16], 16, 1), reshape(C[n :+ 32], 1, 32)];
}
"""
        x = RNG.integers(0, 65536, (33, 7)).astype(np.uint16)
        r, c = RNG.integers(-1, 34, 33).astype(np.int32), RNG.integers(0, 7, 40).astype(np.int32)
        y = np.where(((r >= 0) & (r < 33))[:, None], x[np.clip(r, 0, 32)][:, c], 0)
        np.testing.assert_array_equal(run(source, X=x, R=r, C=c)["Y"], y)

    def test_places_of_what_is_kept(self):
        source = """
kernel compact(X: f32[M, DD], P: out i32[M, DD], N: out i32[M])
    const DD = 200
{
    grid(M);
    let keep = X[block.x, :] > 0;
    let p: shared i32[DD] = -1;
    atomic_max(p[where(keep, shift(cumsum(i32(keep), 0), 0, 1), -1)], iota(0, DD));
    P[block.x, :] = p;
    N[block.x :+ 1] = sum(i32(keep), 0);
}
"""
        x = RNG.uniform(-1, 1, (2, 200)).astype(np.float32)
        got = run(source, X=x)
        for i in range(2):
            places = np.nonzero(x[i] > 0)[0]
            np.testing.assert_array_equal(got["P"][i, : len(places)], places)
            self.assertTrue((got["P"][i, len(places) :] == -1).all())
            self.assertEqual(got["N"][i], len(places))


if __name__ == "__main__":
    unittest.main()
