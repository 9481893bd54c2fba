"""Dense linear algebra and numerics of batches of small problems, compared with NumPy in float64.

Each program has its source, and make(n, rng), which returns the arrays, the scalars, the expected values and the
tolerance, (rtol, atol, reason). Usage: linear.py [NAME ...]; run by run-programs.sh."""

import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lang"))
from hexc_run import HOW, run  # noqa: E402
from judged import QUICK, judge  # noqa: E402

Program = namedtuple("Program", "name source make")
PROGRAMS = []
SIZE = {1: 7, 7: 13, 33: 16, 200: 11, 1000: 9, 2880: 16, 4304: 5}  # the size of the matrices of a batch of n
HALF = {1: 3, 7: 7, 33: 8, 200: 5, 1000: 6, 2880: 8, 4304: 4}  # likewise, for tiles of 8
WIDE = {1: 7, 7: 29, 33: 32, 200: 13, 1000: 21, 2880: 9, 4304: 17}  # likewise, for tiles of 32
GOOD = (2e-4, 2e-5, "f32; diagonally dominant matrices, condition below 20, so about 20 n u with n up to 32")
GOOD64 = (1e-11, 1e-12, "f64; diagonally dominant matrices, condition below 20")

# functions that the programs share
SHARED = """
fn eye(T) { return where(iota(0, T, T) == iota(1, T, T), 1.0, 0.0); }
// a matrix of n rows and columns as a tile, with ones on the diagonal of its padding
fn padded(A, b, n, T) {
    let i = iota(0, T, T), j = iota(1, T, T);
    return fill(A[b, 0 :+ T, 0 :+ T], 0) + where(i == j && i >= i32(n), 1.0, 0.0);
}
"""


def program(source):
    """A decorator of make: its name is that of the program."""

    def add(make):
        uses = "eye(" in source or "padded(" in source
        PROGRAMS.append(Program(make.__name__, (SHARED if uses else "") + source, make))
        return make

    return add


def f32(x):
    return np.ascontiguousarray(x, np.float32)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def dominant(rng, b, n, dtype=np.float32):
    """Matrices whose diagonal is larger than the rest of its row."""
    a = rng.uniform(-1, 1, (b, n, n))
    a *= 0.5 / np.maximum(1, np.abs(a).sum(2, keepdims=True))
    a += np.eye(n) * rng.uniform(1, 2, (b, n, 1))
    return a.astype(dtype)


def positive(rng, b, n, dtype=np.float32):
    """Symmetric positive definite matrices."""
    a = dominant(rng, b, n, np.float64)
    return (a @ a.transpose(0, 2, 1)).astype(dtype)


def mixed(rng, b, n, dtype=np.float32):
    """Dominant matrices with their rows in another order, so that pivots are needed."""
    a = dominant(rng, b, n, np.float64)
    return np.stack([x[rng.permutation(n)] for x in a]).astype(dtype)


def lu_of(a):
    a = a.astype(np.float64)
    n = len(a)
    low = np.eye(n)
    for k in range(n):
        low[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
        a[k + 1 :] -= np.outer(low[k + 1 :, k], a[k])
    return low, np.triu(a)


@program("""
kernel lu(A: f32[B, N, N], L: out f32[B, N, N], U: out f32[B, N, N])
    const T = 16
    assume N <= 16
{
    grid(B);
    let b = block.x, i = iota(0, T);
    var u: register f32[T, T] = padded(A, b, N, T), l: register f32[T, T] = eye(T);
    for k in 0..N - 1 {
        let f = where(i > i32(k), u[:, k] / u[k, k], 0);
        l[:, k] += f;
        u -= f[:, newaxis] * u[k, :];
        u[:, k] = where(i > i32(k), 0, u[:, k]);
    }
    L[b, 0 :+ T, 0 :+ T] = l;
    U[b, 0 :+ T, 0 :+ T] = u;
}
""")
def lu(n, rng):
    a = dominant(rng, n, SIZE[n])
    parts = [lu_of(x) for x in a]
    return ({"A": a, "L": 0 * a, "U": 0 * a}, {},
            {"L": np.stack([p[0] for p in parts]), "U": np.stack([p[1] for p in parts])}, GOOD)


@program("""
kernel plu(A: f32[B, N, N], F: out f32[B, N, N], P: out i32[B, N])
    const T = 16
    assume N <= 16
{
    grid(B);
    let b = block.x, i = iota(0, T);
    var x: register f32[T, T] = padded(A, b, N, T), p: register i32[T] = i;
    for k in 0..N {
        let at = argmax(where(i >= i32(k), abs(x[:, k]), -1), 0);
        let r = at[0];
        if r != i32(k) { // exchange two rows
            let row = x[k, :], other = x[r, :], was = p[k], now = p[r];
            x[k, :] = other;
            x[r, :] = row;
            p[k] = now;
            p[r] = was;
        }
        let f = where(i > i32(k), x[:, k] / x[k, k], 0);
        x -= f[:, newaxis] * where(i > i32(k), x[k, :], 0);
        x[:, k] = where(i > i32(k), f, x[:, k]);
    }
    F[b, 0 :+ T, 0 :+ T] = x;
    P[b, 0 :+ T] = p;
}
""")
def plu(n, rng):
    a = mixed(rng, n, SIZE[n])
    factors, perms = a.astype(np.float64), zeros(n, SIZE[n], dtype=np.int32)
    for x, p in zip(factors, perms):
        p[:] = np.arange(len(x))
        for k in range(len(x)):
            r = k + np.abs(x[k:, k]).argmax()
            x[[k, r]], p[[k, r]] = x[[r, k]], p[[r, k]]
            x[k + 1 :, k] /= x[k, k]
            x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return {"A": a, "F": 0 * a, "P": 0 * perms}, {}, {"F": factors, "P": perms}, GOOD


@program("""
kernel cholesky(A: f32[B, N, N], L: out f32[B, N, N])
    const T = 32
    assume N <= 32
{
    grid(B);
    let b = block.x, i = iota(0, T);
    var x: register f32[T, T] = padded(A, b, N, T);
    for k in 0..N {
        let d = sqrt(x[k, k]);
        let c = where(i >= i32(k), x[:, k] / d, 0);
        x -= where(i[:, newaxis] > i32(k) && i > i32(k), c[:, newaxis] * c, 0);
        x[:, k] = c;
    }
    L[b, 0 :+ T, 0 :+ T] = x;
}
""")
def cholesky(n, rng):
    a = positive(rng, n, WIDE[n])
    return {"A": a, "L": 0 * a}, {}, {"L": np.linalg.cholesky(a.astype(np.float64))}, GOOD


@program("""
// L D L^T of four matrices in each block
kernel ldl(A: f64[B, N, N], L: out f64[B, N, N], D: out f64[B, N])
    const T = 8
    assume N <= 8
{
    grid(ceil(B, 4));
    let b = block.x * 4, i = iota(1, 1, T, 1), j = iota(2, 1, 1, T);
    let one = f64(i == j);
    var x: register f64[4, T, T] = fill(A[b :+ 4, 0 :+ T, 0 :+ T], 0) + where(i >= i32(N), one, 0);
    x = where(iota(0, 4, 1, 1) + i32(b) < i32(B), x, one); // matrices past the end
    var l: register f64[4, T, T] = one, d: register f64[4, T] = 1;
    for k in 0..N {
        let pivot = x[:, k, k];
        let c = where(iota(0, T) > i32(k), x[:, :, k] / pivot[:, newaxis], 0);
        d[:, k] = pivot;
        l[:, :, k] += c;
        x -= c[:, :, newaxis] * c[:, newaxis, :] * pivot[:, newaxis, newaxis];
    }
    L[b :+ 4, 0 :+ T, 0 :+ T] = l;
    D[b :+ 4, 0 :+ T] = d;
}
""")
def ldl(n, rng):
    a = positive(rng, n, HALF[n], np.float64)
    c = np.linalg.cholesky(a)
    s = np.diagonal(c, axis1=1, axis2=2)
    return ({"A": a, "L": 0 * a, "D": zeros(n, HALF[n], dtype=np.float64)}, {},
            {"L": c / s[:, None, :], "D": s * s}, GOOD64)


@program("""
kernel householder(A: f32[B, M, N], Q: out f32[B, M, M], R: out f32[B, M, N])
    assume M <= 16, N <= 8, N <= M
{
    grid(B);
    let b = block.x, i = iota(0, 16);
    var a: register f32[16, 8] = fill(A[b, 0 :+ 16, 0 :+ 8], 0), q: register f32[16, 16] = eye(16);
    for k in 0..N {
        let x = where(i >= i32(k), a[:, k], 0), first = a[k, k];
        let norm = sqrt(sum(x * x, 0));
        let to = where(first > 0, -norm, norm);
        var v: register f32[16] = x;
        v[k :+ 1] -= to;
        let t = 2 / sum(v * v, 0);
        let column = v[:, newaxis];
        a -= t * column * sum(column * a, 0);
        q -= t * sum(q * v, 1) * v;
        a[:, k] = where(i > i32(k), 0, a[:, k]);
    }
    Q[b, 0 :+ 16, 0 :+ 16] = q;
    R[b, 0 :+ 16, 0 :+ 8] = a;
}
""")
def householder(n, rng):
    m, k = SIZE[n], HALF[n]
    a = dominant(rng, n, m)[:, :, :k].copy()
    qs, rs = np.zeros((n, m, m)), a.astype(np.float64)
    for q, r in zip(qs, rs):
        q[:] = np.eye(m)
        for c in range(k):
            v = np.where(np.arange(m) >= c, r[:, c], 0)
            v[c] += np.sign(r[c, c]) * np.linalg.norm(v)
            h = np.eye(m) - 2 * np.outer(v, v) / (v @ v)
            r[:], q[:] = h @ r, q @ h
    return {"A": a, "Q": zeros(n, m, m), "R": 0 * a}, {}, {"Q": qs, "R": rs}, GOOD


@program("""
// modified Gram-Schmidt in shared memory
kernel schmidt(A: f32[B, M, N], Q: out f32[B, M, N], R: out f32[B, N, N])
    assume M <= 32, N <= 8, N <= M
{
    grid(B);
    let b = block.x;
    let q: shared = fill(A[b, 0 :+ 32, 0 :+ 8], 0);
    var r: register f32[8, 8] = 0;
    for k in 0..N {
        let v: register = q[:, k];
        let norm = sqrt(sum(v * v, 0));
        let w = v / norm;
        q[:, k] = w;
        r[k, k] = norm[0];
        for j in k + 1..N {
            let u: register = q[:, j];
            let c = sum(w * u, 0);
            q[:, j] -= c * w;
            r[k, j] = c[0];
        }
    }
    Q[b, 0 :+ 32, 0 :+ 8] = q;
    R[b, 0 :+ 8, 0 :+ 8] = r;
}
""")
def schmidt(n, rng):
    m, k = WIDE[n], HALF[n]
    a = dominant(rng, n, m)[:, :, :k].copy()
    q, r = np.linalg.qr(a.astype(np.float64))
    s = np.sign(np.diagonal(r, axis1=1, axis2=2))
    return ({"A": a, "Q": 0 * a, "R": zeros(n, k, k)}, {},
            {"Q": q * s[:, None, :], "R": r * s[:, :, None]}, GOOD)


@program("""
// solves L L^T X = Y, for several right sides
kernel solve(L: f32[B, N, N], Y: f32[B, N, R], Z: out f32[B, N, R], X: out f32[B, N, R])
    const T = 16
    assume N <= 16, R <= 8
{
    grid(B);
    let b = block.x, i = iota(0, T, 1);
    let l: register = padded(L, b, N, T);
    var x: register f32[T, 8] = fill(Y[b, 0 :+ T, 0 :+ 8], 0);
    for k in 0..N {
        let s = sum(where(i < i32(k), l[k, :, newaxis], 0) * x, 0);
        x[k :+ 1, :] -= s;
        x[k, :] /= l[k, k];
    }
    Z[b, 0 :+ T, 0 :+ 8] = x;
    for k in N - 1..-1 step -1 {
        x[k, :] /= l[k, k];
        x -= where(i < i32(k), l[k, :, newaxis], 0) * x[k, :];
    }
    X[b, 0 :+ T, 0 :+ 8] = x;
}
""")
def solve(n, rng):
    low = f32(np.tril(dominant(rng, n, SIZE[n])))
    y = f32(rng.uniform(-1, 1, (n, SIZE[n], 5)))
    z = np.linalg.solve(low.astype(np.float64), y.astype(np.float64))
    x = np.linalg.solve(low.astype(np.float64).transpose(0, 2, 1), z)
    return {"L": low, "Y": y, "Z": 0 * y, "X": 0 * y}, {}, {"Z": z, "X": x}, GOOD


@program("""
fn exchange(x, k, r) {
    var y = x;
    let row = y[k, :], other = y[r, :];
    y[k, :] = other;
    y[r, :] = row;
    return y;
}

// the inverse by Gauss and Jordan, with pivots
kernel inverse(A: f32[B, N, N], Y: out f32[B, N, N])
    const T = 32
    assume N <= 32
{
    grid(B);
    let b = block.x, i = iota(0, T);
    var x: register f32[T, T] = padded(A, b, N, T), y: register f32[T, T] = eye(T);
    for k in 0..N {
        let at = argmax(where(i >= i32(k), abs(x[:, k]), -1), 0);
        x = exchange(x, k, at[0]);
        y = exchange(y, k, at[0]);
        let d = x[k, k];
        x[k, :] /= d;
        y[k, :] /= d;
        let f = where(i == i32(k), 0, x[:, k])[:, newaxis];
        x -= f * x[k, :];
        y -= f * y[k, :];
    }
    Y[b, 0 :+ T, 0 :+ T] = y;
}
""")
def inverse(n, rng):
    a = mixed(rng, n, WIDE[n])
    return {"A": a, "Y": 0 * a}, {}, {"Y": np.linalg.inv(a.astype(np.float64))}, GOOD


@program("""
// determinants of four matrices in each block, with pivots that differ
kernel determinant(A: f64[B, N, N], D: out f64[B])
    const T = 8
    assume N <= 8
{
    grid(ceil(B, 4));
    let b = block.x * 4, i = iota(0, T), row = iota(1, 4, T, 1);
    let pad = f64(iota(1, 4, T, T) == iota(2, 4, T, T) && row >= i32(N));
    var x: register f64[4, T, T] = fill(A[b :+ 4, 0 :+ T, 0 :+ T], 0) + pad;
    var d: register f64[4] = 1;
    for k in 0..N {
        let at = argmax(where(i >= i32(k), abs(x[:, :, k]), -1), 1);
        let old = x[:, k, newaxis, :], here = row == at[:, :, newaxis];
        let new = sum(where(here, x, 0), 1);
        x = where(here, old, x);
        x[:, k :+ 1, :] = new;
        let pivot = x[:, k, k];
        d *= where(at[:, 0] == i32(k), pivot, -pivot);
        let f = where(i > i32(k), x[:, :, k] / pivot[:, newaxis], 0);
        x -= f[:, :, newaxis] * new;
    }
    D[b :+ 4] = d;
}
""")
def determinant(n, rng):
    a = mixed(rng, n, HALF[n], np.float64)
    return {"A": a, "D": zeros(n, dtype=np.float64)}, {}, {"D": np.linalg.det(a)}, GOOD64


@program("""
kernel power_iteration(A: f32[B, N, N], V: out f32[B, N], E: out f32[B], steps: i32)
    const T = 16
    assume N <= 16
{
    grid(B);
    let b = block.x;
    let a: register = A[b, 0 :+ T, 0 :+ T];
    var v: register f32[T, 1] = 1;
    for s in 0..i64(steps) {
        let w = sum(a * reshape(v, 1, T), 1);
        v = fill(w * rsqrt(sum(w * w, 0)), 0);
    }
    V[b, 0 :+ T, newaxis] = v;
    let w = fill(sum(a * reshape(v, 1, T), 1), 0);
    E[b :+ 1] = sum(v * w, 0)[:, 0];
}
""")
def power_iteration(n, rng):
    m = SIZE[n]
    q = np.linalg.qr(rng.normal(size=(n, m, m)))[0]
    q[:, :, 0] = np.abs(rng.uniform(0.5, 1, (n, m)))  # a first vector with a part along ones
    q = np.linalg.qr(q)[0]
    w = np.concatenate([[4.0], rng.uniform(-1, 1, m - 1)])
    a = f32(q * w @ q.transpose(0, 2, 1))
    a = (a + a.transpose(0, 2, 1)) / 2
    values, vectors = np.linalg.eigh(a.astype(np.float64))
    v = vectors[:, :, -1] * np.sign(vectors[:, :, -1].sum(1, keepdims=True))
    return ({"A": a, "V": zeros(n, m), "E": zeros(n)}, {"steps": 20}, {"V": v, "E": values[:, -1]},
            (1e-4, 1e-5, "f32; 20 steps of an eigenvalue 4 times the next: below 4^-20"))


@program("""
// eigenvalues of symmetric matrices by Jacobi's rotations
kernel jacobi(A: f32[B, N, N], W: out f32[B, N], S: out f32[B, N, N], sweeps: i32)
    const T = 8
    assume N <= 8
{
    grid(B);
    let b = block.x;
    var a: register f32[T, T] = padded(A, b, N, T), v: register f32[T, T] = eye(T);
    for s in 0..i64(sweeps) {
        for p in 0..N - 1 {
            for q in p + 1..N {
                let off = a[p, q], ap = a[p, p], aq = a[q, q];
                if abs(off) > 1e-9 {
                    let h = (aq - ap) / (2 * off);
                    let t = where(h < 0, -1.0, 1.0) / (abs(h) + sqrt(h * h + 1));
                    let c = 1 / sqrt(t * t + 1), z = t / sqrt(t * t + 1);
                    let rp = a[p, :], rq = a[q, :];
                    a[p, :] = c * rp - z * rq;
                    a[q, :] = z * rp + c * rq;
                    let cp = a[:, p], cq = a[:, q];
                    a[:, p] = c * cp - z * cq;
                    a[:, q] = z * cp + c * cq;
                    let vp = v[:, p], vq = v[:, q];
                    v[:, p] = c * vp - z * vq;
                    v[:, q] = z * vp + c * vq;
                }
            }
        }
    }
    let d = sum(where(iota(0, T, T) == iota(1, T, T), a, 0), 0);
    W[b, 0 :+ T] = sort(where(iota(0, T) < i32(N), d[0, :], inf), 0);
    S[b, 0 :+ T, 0 :+ T] = dot(v * d, v.T); // the matrix again
}
""")
def jacobi(n, rng):
    m = HALF[n]
    a = rng.uniform(-1, 1, (n, m, m))
    a = f32(a + a.transpose(0, 2, 1))
    return ({"A": a, "W": zeros(n, m), "S": 0 * a}, {"sweeps": 5},
            {"W": np.linalg.eigvalsh(a.astype(np.float64)), "S": a},
            (1e-4, 2e-5, "f32; eigenvalues move by the norm of the errors, 5 sweeps of 28 rotations"))


@program("""
// exp of a matrix: of a part of it by Taylor's series, then squared
kernel expm(A: f32[B, N, N], Y: out f32[B, N, N], K: out i32[B])
    const T = 16
    assume N <= 16
{
    grid(B);
    let b = block.x;
    let a: register = fill(A[b, 0 :+ T, 0 :+ T], 0);
    let norm = reduce_max(sum(abs(a), 0), 1);
    let top = norm[0, 0];
    var squares = 0, scale: f32 = 1;
    while top * scale > 0.5 {
        scale *= 0.5;
        squares += 1;
    }
    let x = a * scale;
    var y: register f32[T, T] = eye(T), term: register f32[T, T] = eye(T);
    for k in 1..9 {
        term = dot(term, x) / f32(k);
        y += term;
    }
    for s in 0..squares {
        y = dot(y, y);
    }
    Y[b, 0 :+ T, 0 :+ T] = y;
    K[b] = i32(squares);
}
""")
def expm(n, rng):
    m = SIZE[n]
    a = f32(rng.uniform(-1, 1, (n, m, m)) * rng.uniform(0.01, 3 / m, (n, 1, 1)))
    norm = np.abs(a.astype(np.float64)).sum(1).max(1)
    squares = np.maximum(0, np.ceil(np.log2(norm / 0.5)))
    y = np.zeros((n, m, m))
    for x, out in zip(a.astype(np.float64) / 64, y):
        out[:] = sum(np.linalg.matrix_power(x, k) / float(np.prod(np.arange(1.0, k + 1))) for k in range(20))
    for _ in range(6):
        y = y @ y
    return ({"A": a, "Y": 0 * a, "K": zeros(n, dtype=np.int32)}, {}, {"Y": y, "K": squares},
            (1e-4, 1e-4, "f32; norms up to 3, values up to e^3, errors doubled by each of 3 squares"))


@program("""
// tridiagonal systems, one in each row
kernel thomas(A: f32[M, N], D: f32[M, N], C: f32[M, N], Y: f32[M, N], X: out f32[M, N])
    const R = 8, T = 32
    assume N <= 32
{
    grid(ceil(M, R));
    let m = block.x * R;
    let a: register = fill(A[m :+ R, 0 :+ T], 0), d: register = fill(D[m :+ R, 0 :+ T], 1);
    var c: register f32[R, T] = fill(C[m :+ R, 0 :+ T], 0), x: register f32[R, T] = fill(Y[m :+ R, 0 :+ T], 0);
    c[:, 0] /= d[:, 0];
    x[:, 0] /= d[:, 0];
    for k in 1..N {
        let w = d[:, k] - a[:, k] * c[:, k - 1];
        c[:, k] /= w;
        x[:, k] = (x[:, k] - a[:, k] * x[:, k - 1]) / w;
    }
    for k in N - 2..-1 step -1 {
        x[:, k] -= c[:, k] * x[:, k + 1];
    }
    X[m :+ R, 0 :+ T] = x;
}
""")
def thomas(n, rng):
    k = WIDE[n]
    a, c, y = (f32(rng.uniform(-1, 1, (n, k))) for _ in range(3))
    d = f32(rng.uniform(2.5, 4, (n, k)))
    full = np.zeros((n, k, k))
    i = np.arange(k)
    full[:, i, i], full[:, i[1:], i[:-1]], full[:, i[:-1], i[1:]] = d, a[:, 1:], c[:, :-1]
    x = np.linalg.solve(full, y.astype(np.float64)[:, :, None])[:, :, 0]
    return {"A": a, "D": d, "C": c, "Y": y, "X": 0 * y}, {}, {"X": x}, GOOD


@program("""
// polynomials and their derivatives, each at all points
kernel horner(P: f32[M, D], X: f32[N], Y: out f32[M, N], Z: out f32[M, N])
{
    grid(ceil(M, 8), ceil(N, 32));
    let m = block.x * 8, n = block.y * 32;
    let x: register = X[n :+ 32];
    var y: register f32[8, 32] = 0, z: register f32[8, 32] = 0;
    for d in D - 1..-1 step -1 {
        z = z * x + y;
        y = y * x + P[m :+ 8, d, newaxis];
    }
    Y[m :+ 8, n :+ 32] = y;
    Z[m :+ 8, n :+ 32] = z;
}
""")
def horner(n, rng):
    p, x = f32(rng.uniform(-1, 1, (n, SIZE[n]))), f32(rng.uniform(-1, 1, n + 20))
    y = np.stack([np.polyval(c[::-1].astype(np.float64), x.astype(np.float64)) for c in p])
    z = np.stack([np.polyval(np.polyder(c[::-1].astype(np.float64)), x.astype(np.float64)) for c in p])
    return ({"P": p, "X": x, "Y": zeros(n, n + 20), "Z": zeros(n, n + 20)}, {}, {"Y": y, "Z": z},
            (1e-4, 2e-4, "f32; sums of up to 16 terms of at most 16, with 32 roundings"))


@program("""
// (m, v) then (n, w) of states of two numbers: n m, n v + w
fn after(a, b, c, d, x, y, e, f, g, h, z, w) {
    return e * a + f * c, e * b + f * d, g * a + h * c, g * b + h * d, e * x + f * y + z, g * x + h * y + w;
}

// H[t] = A[t] H[t - 1] + C[t] H[t - 2] + X[t]
kernel recurrence(A: f32[M, N], C: f32[M, N], X: f32[M, N], H: out f32[M, N], E: out f32[M, 2])
{
    grid(ceil(M, 8));
    let m = block.x * 8, zero = f32(iota(0, 8, 32)) * 0;
    var last: register f32[8, 1] = 0, before: register f32[8, 1] = 0;
    for n in 0..N step 32 {
        let (a, b, c, d, x, y) = scan(after, 1, A[m :+ 8, n :+ 32], C[m :+ 8, n :+ 32], zero + 1, zero,
                                      X[m :+ 8, n :+ 32], zero);
        let now = a * last + b * before + x, old = c * last + d * before + y;
        H[m :+ 8, n :+ 32] = now;
        last = reduce_last(now, 1);
        before = reduce_last(old, 1);
    }
    E[m :+ 8, 0 :+ 1] = last;
    E[m :+ 8, 1 :+ 1] = before;
}
""")
def recurrence(n, rng):
    k = n + 20
    a, c, x = (f32(rng.uniform(-0.6, 0.6, (n, k))) for _ in range(3))
    h = np.zeros((n, k + 2))
    for t in range(k):
        h[:, t + 2] = a[:, t] * h[:, t + 1] + c[:, t].astype(np.float64) * h[:, t] + x[:, t]
    return ({"A": a, "C": c, "X": x, "H": 0 * x, "E": zeros(n, 2)}, {}, {"H": h[:, 2:], "E": h[:, :-3:-1]},
            (2e-4, 2e-5, "f32; contracting, so errors do not grow; sums of at most about 10"))


@program("""
// a filter of states of 4 numbers, of which 2 are measured, for each item of the batch
kernel kalman(F: f32[4, 4], H: f32[2, 4], Q: f32[4, 4], R: f32[2, 2], Z: f32[B, T, 2], X: inout f32[B, 4],
              P: inout f32[B, 4, 4], S: out f32[B, T, 4])
{
    grid(B);
    let b = block.x;
    let f: register = F[:, :], h: register = H[:, :], noise: register = Q[:, :];
    var x: register f32[4, 1] = X[b, :, newaxis], p: register f32[4, 4] = P[b];
    for t in 0..T {
        x = dot(f, x);
        p = dot(dot(f, p), f.T) + noise;
        let s = dot(dot(h, p), h.T) + R[:, :];
        let det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0];
        var w: register f32[2, 2] = -s / det;
        w[0, 0] = s[1, 1] / det;
        w[1, 1] = s[0, 0] / det;
        let k = dot(dot(p, h.T), w);
        x += dot(k, Z[b, t, :, newaxis] - dot(h, x));
        p -= dot(k, dot(h, p));
        S[b, t, :, newaxis] = x;
    }
    X[b, :, newaxis] = x;
    P[b] = p;
}
""")
def kalman(n, rng):
    f = np.eye(4) + np.diag([0.1, 0.1], 2)
    h = np.eye(2, 4)
    q, r = 0.1 * np.eye(4), np.eye(2) + 0.1
    f, h, q, r = (f32(v) for v in (f, h, q, r))
    steps = min(n, 10) if n < 100 else 3
    z, x, p = f32(rng.normal(size=(n, steps, 2))), f32(rng.normal(size=(n, 4))), positive(rng, n, 4)
    xs, ps, out = x.astype(np.float64), p.astype(np.float64), np.zeros((n, steps, 4))
    g, m = f.astype(np.float64), h.astype(np.float64)
    for b in range(n):
        for t in range(steps):
            xs[b] = g @ xs[b]
            ps[b] = g @ ps[b] @ g.T + q
            k = ps[b] @ m.T @ np.linalg.inv(m @ ps[b] @ m.T + r)
            xs[b] += k @ (z[b, t] - m @ xs[b])
            ps[b] -= k @ m @ ps[b]
            out[b, t] = xs[b]
    return ({"F": f, "H": h, "Q": q, "R": r, "Z": z, "X": x, "P": p, "S": zeros(n, steps, 4)}, {},
            {"X": xs, "P": ps, "S": out}, (2e-4, 2e-5, "f32; the 2 x 2 matrix has condition below 10, 10 steps"))


@program("""
// conjugate gradients, a fixed number of steps
kernel gradients(A: f32[B, N, N], Y: f32[B, N], X: out f32[B, N], E: out f32[B], steps: i64)
    const T = 16
    assume N <= 16
{
    grid(B);
    let b = block.x;
    let a: shared = fill(A[b, 0 :+ T, 0 :+ T], 0);
    var x: register f32[T] = 0, r: register f32[T] = fill(Y[b, 0 :+ T], 0), p: register f32[T] = fill(Y[b, 0 :+ T], 0);
    var rr: register f32[1] = sum(r * r, 0);
    for s in 0..steps {
        let q = reshape(dot(a, p[:, newaxis]), T);
        let f = where(rr > 1e-14, rr / sum(p * q, 0), 0);
        x += f * p;
        r -= f * q;
        let new = sum(r * r, 0);
        p = r + where(rr > 1e-14, new / rr, 0) * p;
        rr = new;
    }
    X[b, 0 :+ T] = x;
    E[b :+ 1] = where(rr > 1e-10, sqrt(rr), 0); // after the last step that helps it is noise
}
""")
def gradients(n, rng):
    a, y = positive(rng, n, SIZE[n]), f32(rng.uniform(-1, 1, (n, SIZE[n])))
    x = np.linalg.solve(a.astype(np.float64), y.astype(np.float64)[:, :, None])[:, :, 0]
    return ({"A": a, "Y": y, "X": 0 * y, "E": zeros(n)}, {"steps": 16}, {"X": x, "E": zeros(n)},
            (2e-4, 3e-5, "f32; conditions below 20: 16 steps leave about 1e-6"))


@program("""
// X^T X of the rows from O[b] to O[b + 1], and of these less their mean
kernel gram(X: f32[R, N], O: i32[B + 1], G: out f32[B, N, N], C: out f32[B, N, N])
    const T = 16
    assume N <= 16
{
    grid(B);
    let b = block.x, lo = i64(O[b]), hi = i64(O[b + 1]);
    var g: register f32[T, T] = 0, c: register f32[T, T] = 0, total: register f32[1, T] = 0;
    for r in lo..hi step 8 {
        let x: shared = X[r :+ 8 below hi, 0 :+ T];
        g += dot(x.T, x);
        total += sum(x, 0);
    }
    let average = total / f32(max(hi - lo, 1));
    for r in lo..hi step 8 {
        let x = X[r :+ 8 below hi, 0 :+ T] - average;
        c += dot(x.T, x);
    }
    G[b, 0 :+ T, 0 :+ T] = g;
    C[b, 0 :+ T, 0 :+ T] = c;
}
""")
def gram(n, rng):
    k = SIZE[n]
    o = np.concatenate([[0], np.cumsum(rng.integers(0, 30, n))]).astype(np.int32)
    x = f32(rng.uniform(-1, 1, (max(1, o[-1]), k)))
    g, c = np.zeros((n, k, k)), np.zeros((n, k, k))
    for b in range(n):
        rows = x[o[b] : o[b + 1]].astype(np.float64)
        if len(rows):
            g[b] = rows.T @ rows
            rows -= rows.mean(0)
            c[b] = rows.T @ rows
    return ({"X": x, "O": o, "G": zeros(n, k, k), "C": zeros(n, k, k)}, {}, {"G": g, "C": c},
            (1e-4, 2e-5, "f32; sums of up to 30 terms of at most 4"))


@program("""
// squares of distances in two ways, and the nearest y of each x
kernel distances(X: f32[M, K], Y: f32[N, K], D: out f32[M, N], E: out f32[M, N], I: out i32[M], S: out f32[M])
    assume K <= 16
{
    grid(ceil(M, 8));
    let m = block.x * 8;
    let x: register = X[m :+ 8, 0 :+ 16];
    var best: register f32[8, 1] = inf, at: register i32[8, 1] = 0;
    for n in 0..N step 16 {
        let y: register = Y[n :+ 16, 0 :+ 16];
        let d = x[:, newaxis, :] - y[newaxis, :, :];
        let square = sum(d * d, 2)[:, :, 0];
        D[m :+ 8, n :+ 16] = square;
        E[m :+ 8, n :+ 16] = sum(x * x, 1) + sum(y * y, 1).T - 2 * dot(x, y.T);
        let low = reduce_min(square, 1), first = argmin(square, 1) + i32(n);
        at = where(low < best, first, at);
        best = min(best, low);
    }
    I[m :+ 8, newaxis] = at;
    S[m :+ 8] = sqrt(best)[:, 0];
}
""")
def distances(n, rng):
    k = SIZE[n]
    x, y = (f32(rng.integers(-5, 6, (m, k))) for m in (n, n + 10))
    d = ((x[:, None, :] - y[None, :, :]).astype(np.float64) ** 2).sum(2)
    return ({"X": x, "Y": y, "D": zeros(*d.shape), "E": zeros(*d.shape), "I": zeros(n, dtype=np.int32),
             "S": zeros(n)}, {}, {"D": d, "E": d, "I": d.argmin(1), "S": np.sqrt(d.min(1))},
            (1e-6, 0, "integers, exact but for the root"))


@program("""
// least squares by normal equations
kernel fit(A: f32[B, M, N], Y: f32[B, M], X: out f32[B, N], E: out f32[B])
    const T = 8
    assume N <= 8
{
    grid(B);
    let b = block.x, i = iota(0, T);
    var g: register f32[T, T] = where(iota(0, T, T) == iota(1, T, T) && iota(0, T, T) >= i32(N), 1.0, 0.0);
    var x: register f32[T] = 0, e: register f32[1, 1] = 0;
    for m in 0..M step 32 {
        let a: shared = fill(A[b, m :+ 32, 0 :+ T], 0);
        let y: register = fill(Y[b, m :+ 32], 0);
        g += dot(a.T, a);
        x += sum(a * y[:, newaxis], 0)[0, :];
    }
    for k in 0..N { // Cholesky, and the forward solution
        let d = sqrt(g[k, k]);
        let c = where(i > i32(k), g[:, k] / d, 0), head = x[k] / d;
        g -= c[:, newaxis] * c;
        g[:, k] = c;
        g[k, k] = d;
        x -= c * head;
        x[k] = head;
    }
    for k in N - 1..-1 step -1 {
        let s = sum(where(i > i32(k), g[:, k] * x, 0), 0);
        x[k :+ 1] = (x[k :+ 1] - s) / g[k, k];
    }
    X[b, 0 :+ T] = x;
    for m in 0..M step 32 {
        let r = sum(fill(A[b, m :+ 32, 0 :+ T], 0) * x, 1) - fill(Y[b, m :+ 32, newaxis], 0);
        e += sum(r * r, 0);
    }
    E[b :+ 1] = e[:, 0];
}
""")
def fit(n, rng):
    k, m = HALF[n], HALF[n] + n + 20
    a = f32(rng.normal(size=(n, m, k)))
    y = f32(rng.normal(size=(n, m)))
    x = np.stack([np.linalg.lstsq(p.astype(np.float64), q.astype(np.float64), rcond=None)[0] for p, q in zip(a, y)])
    e = ((np.einsum("bmk,bk->bm", a.astype(np.float64), x) - y) ** 2).sum(1)
    return ({"A": a, "Y": y, "X": zeros(n, k), "E": zeros(n)}, {}, {"X": x, "E": e},
            (5e-4, 5e-5, "f32; normal matrices of gauss with condition below 50"))


@program("""
// the inverse after changes of rank one, by Sherman and Morrison, and the matrix, row by row
kernel rank_one(A: f32[B, N, N], W: f32[B, N, N], U: f32[B, K, N], V: f32[B, K, N], Y: out f32[B, N, N],
                Z: out f32[B, N, N])
    const T = 16
    assume N <= 16
{
    grid(B);
    let b = block.x;
    let a: shared = fill(A[b, 0 :+ T, 0 :+ T], 0);
    var w: register f32[T, T] = fill(W[b, 0 :+ T, 0 :+ T], 0);
    for k in 0..K {
        let u: register = fill(U[b, k, 0 :+ T], 0), v: register = fill(V[b, k, 0 :+ T], 0);
        for r in 0..N {
            a[r, :] += u[r] * v;
        }
        let wu = sum(w * u, 1), vw = sum(w * v[:, newaxis], 0);
        let d = 1 + sum(v[:, newaxis] * wu, 0);
        w -= wu * vw / d;
    }
    Y[b, 0 :+ T, 0 :+ T] = a;
    Z[b, 0 :+ T, 0 :+ T] = w;
}
""")
def rank_one(n, rng):
    m, k = SIZE[n], 3
    a = dominant(rng, n, m)
    w = f32(np.linalg.inv(a.astype(np.float64)))
    u, v = (f32(rng.uniform(-0.2, 0.2, (n, k, m))) for _ in range(2))
    y = a + np.einsum("bki,bkj->bij", u.astype(np.float64), v.astype(np.float64))
    return ({"A": a, "W": w, "U": u, "V": v, "Y": 0 * a, "Z": 0 * a}, {}, {"Y": y, "Z": np.linalg.inv(y)},
            (5e-4, 5e-5, "f32; changes of norm below 0.64 each keep the condition below 100"))


@program("""
fn inverted(a, T) {
    var x = a, y = eye(T);
    for k in 0..T {
        let d = x[k, k], f = where(iota(0, T) == i32(k), 0, x[:, k])[:, newaxis];
        x[k, :] /= d;
        y[k, :] /= d;
        x -= f * x[k, :];
        y -= f * y[k, :];
    }
    return y;
}

// the inverse by that of the 2 x 2 blocks
kernel blocks(A: f32[B, N, N], Y: out f32[B, N, N])
    const T = 16, H = 8
    assume N <= 16
{
    grid(B);
    let i = block.x;
    let x: register = padded(A, i, N, T);
    let a = inverted(x[0 :+ H, 0 :+ H], H), b = x[0 :+ H, H :+ H], c = x[H :+ H, 0 :+ H], d = x[H :+ H, H :+ H];
    let ab = dot(a, b), ca = dot(c, a);
    let s = inverted(d - dot(c, ab), H);
    var y: register f32[T, T] = 0;
    y[H :+ H, H :+ H] = s;
    y[0 :+ H, H :+ H] = -dot(ab, s);
    let low = dot(s, ca);
    y[H :+ H, 0 :+ H] = -low;
    y[0 :+ H, 0 :+ H] = a + dot(ab, low);
    Y[i, 0 :+ T, 0 :+ T] = y;
}
""")
def blocks(n, rng):
    a = dominant(rng, n, SIZE[n])
    return {"A": a, "Y": 0 * a}, {}, {"Y": np.linalg.inv(a.astype(np.float64))}, GOOD


def check(p, n):
    """The first problem of one program at one size, or None."""
    arrays, scalars, expected, (rtol, atol, _) = p.make(n, np.random.default_rng(n))
    with tempfile.TemporaryDirectory() as folder:
        try:
            for options, got in run(folder, p.source, arrays, scalars, HOW[:2] if QUICK else HOW):
                for name, want in expected.items():
                    np.testing.assert_allclose(got[name], want, rtol=rtol, atol=atol,
                                               err_msg=f"{name} at n = {n}, {options}")
        except AssertionError as e:
            return str(e)
    return None


@program("""
kernel k(A: f64[8, 8], V: out f64[8], steps: i32)
{
    grid(1);
    let a: register = A[:, :];
    var v: register f64[8] = 1;
    for s in 0..i64(steps) {
        let w = sum(a * v, 1)[:, 0];
        v = w * rsqrt(sum(w * w, 0));
    }
    V[:] = v;
}
""")
def iteration_f64(n, rng):
    """So many steps that --check has no bound and estimates."""
    a = np.abs(rng.standard_normal((8, 8))) + np.eye(8)
    v = np.ones(8)
    for _ in range(20):
        v = a @ v
        v /= np.linalg.norm(v)
    return {"A": a, "V": np.zeros(8)}, {"steps": 20}, {"V": v}, GOOD64


if __name__ == "__main__":
    sys.exit(judge(PROGRAMS, sys.argv[1:], check, (1, 7, 33, 200), (1, 7), (1000, 2880, 4304)) != 0)
