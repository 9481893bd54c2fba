"""Programs with ragged sizes: lengths in tensors, windows past both ends, pages, segments, masks. PROGRAMS has
(name, source, make, consts); make(n, rng) returns (arrays, scalars, expected, rtol). Memory behind lengths is NaN. rtol 0: the
comparison is exact. Outputs start as 77 (or 0), so what a program must not write is compared too. Usage: ragged.py
[NAME ...]; run by run-programs.sh."""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lang"))
from hexc_run import HOW, run  # noqa: E402
from judged import QUICK, judge  # noqa: E402

F, I, L = np.float32, np.int32, np.int64
PROGRAMS = []


def program(source, **consts):
    """A const of the source is the extent of an array, but not below the least one: name=(array, dim, least)."""

    def add(make):
        PROGRAMS.append((make.__name__, source, make, consts))
        return make

    return add


X_ROW = ("X", 1, 1000)
SORTED_MAX = 4096  # elements that `sort` takes


def lengths(n, t=I):
    return np.array([n, n // 2, 0, 1], t)


def rows(rng, lens, cap, more=(), low=-9, high=10, t=F):
    """[rows, cap, *more] of whole numbers, NaN behind the lengths."""
    x = np.full((len(lens), cap, *more), np.nan, t)
    for b, m in enumerate(lens):
        x[b, :m] = rng.integers(low, high, (min(m, cap), *more))
    return x


def full(shape, t=F, v=77):
    return np.full(shape, v, t)


@program("""
kernel row_sum(X: f32[B, N], L: i64[B], Y: inout f32[B])
{
    grid(B);
    let b = block.x, len = L[b];
    var t: register f32[1] = 0;
    for k in 0..len step 64 {
        t += sum(X[b, k :+ 64 below len], 0);
    }
    Y[b :+ 1] = t;
}
""")
def row_sum(n, rng):
    lens = lengths(n, L)
    x = rows(rng, lens, n)
    lens[0] += 5  # the tensor ends before the length
    return {"X": x, "L": lens, "Y": full(4)}, {}, {"Y": np.nansum(x, 1)}, 0


@program("""
// online, two passes over the row
kernel softmax_rows(X: f32[B, N], L: i32[B], Y: inout f32[B, N])
{
    grid(B);
    let b = block.x, len = L[b];
    var top: register f32[1] = -1e30, total: register f32[1] = 0;
    for k in 0..i64(len) step 48 {
        let x: register = X[b, k :+ 48 below len];
        let t = max(top, reduce_max(x, 0));
        total = total * exp(top - t) + sum(exp(x - t), 0);
        top = t;
    }
    for k in 0..i64(len) step 48 {
        Y[b, k :+ 48] = exp(X[b, k :+ 48 below len] - top) / total;
    }
}
""")
def softmax_rows(n, rng):
    lens = lengths(n)
    x, y = rows(rng, lens, n + 3), full((4, n + 3))
    for b, m in enumerate(lens):
        if m:
            e = np.exp(x[b, :m].astype(np.float64) - x[b, :m].max())
            y[b, :m] = e / e.sum()
    # exp: 2^-21 + 18 * 2^-23 of each, below and above the line; the running total has one more per tile
    return {"X": x, "L": lens, "Y": full(y.shape)}, {}, {"Y": y}, (4 + n // 48) * 2.0**-18


@program("""
kernel layer_norm_rows(X: f32[B, N], L: i32[B], G: f32[N], Y: inout f32[B, N])
    const ROW = 1000
{
    grid(ceil(B, 2));
    let b = block.x * 2;
    for i in 0..2 {
        let len = L[b + i];
        let x: register = X[b + i, 0 :+ ROW below len];
        let d = x - mean(x, 0);
        Y[b + i, 0 :+ ROW] = d * rsqrt(mean(d * d, 0) + 1) * G[0 :+ ROW];
    }
}
""", ROW=X_ROW)
def layer_norm_rows(n, rng):
    lens = lengths(n)[:3]  # an odd number of rows
    x, y, g = rows(rng, lens, n), full((3, n)), rng.integers(1, 5, n).astype(F)
    for b, m in enumerate(lens):
        if m:
            d = x[b, :m].astype(np.float64) - x[b, :m].mean(dtype=np.float64)
            y[b, :m] = d / np.sqrt((d * d).mean() + 1) * g[:m]
    # the mean: 2 n u of at most 9, divided by at least 1; times G up to 4: absolute
    return {"X": x, "L": lens, "G": g, "Y": full(y.shape)}, {}, {"Y": y}, (1e-5, 1e-3 if n > 500 else 2e-4)


@program("""
// a range of each row, from a start below it, also below 0, to past its end
kernel both_ends(X: f32[B, N], FROM: i32[B], TO: i32[B], S: inout f32[B], T: inout f32[B], Y: inout f32[B, N])
{
    grid(B);
    let b = block.x, lo = FROM[b], hi = TO[b];
    var s: register f32[1] = 0, top: register f32[1] = -inf;
    for k in i64(lo) - 5..i64(hi) + 70 step 32 {
        let x: register = X[b, k :+ 32 from lo below hi];
        s += sum(x, 0);
        top = max(top, reduce_max(x, 0));
        Y[b, k :+ 32] = x * 2;
    }
    S[b :+ 1] = s;
    T[b :+ 1] = top;
}
""")
def both_ends(n, rng):
    lo = np.array([0, -4, n // 3, n // 2, n], I)
    hi = np.array([n, n + 9, n, n // 2 + 1, n], I)
    x, y, s, t = full((5, n), v=np.nan), full((5, n)), full(5, v=0), full(5, v=-np.inf)
    for b in range(5):
        part = x[b, max(lo[b], 0) : hi[b]]
        part[:] = rng.integers(-9, 10, part.shape)
        y[b, max(lo[b], 0) : hi[b]] = part * 2
        s[b], t[b] = part.sum(), part.max(initial=-np.inf)
    arrays = {"X": x, "FROM": lo, "TO": hi, "S": full(5), "T": full(5), "Y": full((5, n))}
    return arrays, {}, {"S": s, "T": t, "Y": y}, 0


@program("""
// of the elements at most 3 away, within the length
kernel sliding(X: f32[B, N], L: i32[B], HI: inout f32[B, N], LO: inout f32[B, N], ME: inout f32[B, N])
{
    grid(ceil(N, 64), B);
    let n = block.x * 64, b = block.y, len = i64(L[b]);
    var hi: register f32[64] = -inf, lo: register f32[64] = inf;
    var total: register f32[64] = 0, count: register f32[64] = 0;
    for t in -3..4 {
        let x: register = X[b, n + t :+ 64 below len];
        hi = max(hi, fill(x, -inf));
        lo = min(lo, fill(x, inf));
        total += fill(x, 0);
        count += where(inside(x), 1.0, 0.0);
    }
    HI[b, n :+ 64 below len] = hi;
    LO[b, n :+ 64 below len] = lo;
    ME[b, n :+ 64 below len] = exact(total / count);
}
""")
def sliding(n, rng):
    lens = lengths(n)
    x = rows(rng, lens, n)
    w = {k: full((4, n)) for k in ("HI", "LO", "ME")}
    for b, m in enumerate(lens):
        for i in range(m):
            p = x[b, max(0, i - 3) : min(m, i + 4)]
            w["HI"][b, i], w["LO"][b, i], w["ME"][b, i] = p.max(), p.min(), p.sum() / F(len(p))
    return {"X": x, "L": lens} | {k: full((4, n)) for k in w}, {}, w, 0


@program("""
// sequences one after the other: b has rows OFF[b] to OFF[b + 1]; tiles start at multiples of 16
kernel packed_batch(X: f32[R, D], OFF: i32[B1], S: inout f32[B, D], T: inout f32[B, D], E: inout f32[B, D])
{
    grid(B);
    let b = block.x, lo = OFF[b], hi = OFF[b + 1];
    var s: register f32[1, 24] = 0, t: register f32[1, 24] = -inf;
    for r in i64(lo / 16 * 16)..i64(hi) step 16 {
        let x: register = X[r :+ 16 from lo below hi, 0 :+ 24];
        s += sum(x, 0);
        t = max(t, reduce_max(x, 0));
        if r + 16 >= i64(hi) {
            E[b :+ 1, 0 :+ 24] = reduce_last(x, 0);
        }
    }
    S[b :+ 1, 0 :+ 24] = s;
    T[b :+ 1, 0 :+ 24] = t;
}
""")
def packed_batch(n, rng):
    off = np.cumsum([2, n, 0, n // 2, 1, 3]).astype(I)
    x = rng.integers(-9, 10, (off[-1] + 4, 20)).astype(F)
    x[: off[0]] = x[off[-1] :] = np.nan
    part = [x[a:b] for a, b in zip(off, off[1:])]
    s = np.stack([p.sum(0) for p in part])
    t = np.stack([p.max(0, initial=-np.inf) for p in part])
    # an empty sequence: reduce_last of no elements is 0 and there, if there is a tile (start within 16 rows)
    e = np.stack([p[-1] if len(p) else full(20, v=0 if a % 16 else 77) for p, a in zip(part, off)])
    return {"X": x, "OFF": off} | {k: full(s.shape) for k in "STE"}, {}, {"S": s, "T": t, "E": e}, 0


@program("""
// sums of rows by segment; the last block divides by the counts; C[0] counts blocks
kernel segments(X: f32[N, D], SEG: i32[N], len: i64, S: inout f32[G, D], COUNT: inout i32[G], C: inout i32[1],
    M: inout f32[G, D])
{
    grid(ceil(N, 32));
    let n = block.x * 32, seg: register = SEG[n :+ 32 below len];
    atomic_add(S[seg, 0 :+ 12], X[n :+ 32 below len, 0 :+ 12]);
    atomic_add(COUNT[seg], 1);
    if atomic_add(C[0], 1) == i32(ceil(N, 32)) - 1 {
        for g in 0..G step 8 {
            let c: register = COUNT[g :+ 8];
            M[g :+ 8, 0 :+ 12] = exact(S[g :+ 8, 0 :+ 12] / f32(max(c, 1))[:, newaxis]);
        }
        C[0] = 0;
    }
}
""")
def segments(n, rng):
    g, cap = 1 + n // 5, n + 9
    seg = rng.integers(-2, g + 2, cap).astype(I)  # some of no segment
    x = rows(rng, [n], cap, (11,))[0]
    s, c = full((g, 11), v=0), full(g, I, 0)
    for i in range(n):
        if 0 <= seg[i] < g:
            s[seg[i]] += x[i]
            c[seg[i]] += 1
    m = s / np.maximum(c, 1).astype(F)[:, None]
    arrays = {"X": x, "SEG": seg, "S": 0 * s, "COUNT": 0 * c, "C": full(1, I, 0), "M": full((g, 11))}
    return arrays, {"len": n}, {"S": s, "COUNT": c, "M": m, "C": full(1, I, 0)}, 0


@program("""
fn seg(f, s, g, t) { return f | g, where(g != 0, t, s + t); }
// running sums that start again where HEAD is 1, over ranges that start within a tile
kernel segmented_scan(X: f32[B, N], HEAD: i32[B, N], FROM: i64[B], TO: i64[B], Y: inout f32[B, N])
{
    grid(B);
    let b = block.x, lo = FROM[b], hi = TO[b];
    var s: register f32[1] = 0;
    for k in lo / 64 * 64..hi step 64 {
        let (f, y) = scan(seg, 0, HEAD[b, k :+ 64 from lo below hi], X[b, k :+ 64 from lo below hi]);
        let z = where(f != 0, y, y + s);
        Y[b, k :+ 64] = z;
        s = reduce_last(z, 0);
    }
}
""")
def segmented_scan(n, rng):
    lo, hi = np.array([0, n // 4, n // 2, n], L), np.array([n, n, n // 2 + 1, n], L)
    x, y, head = full((4, n), v=np.nan), full((4, n)), (rng.random((4, n)) < 0.1).astype(I)
    for b in range(4):
        x[b, lo[b] : hi[b]] = rng.integers(-9, 10, hi[b] - lo[b])
        s = F(0)
        for i in range(lo[b], hi[b]):
            s = x[b, i] if head[b, i] else s + x[b, i]
            y[b, i] = s
    return {"X": x, "HEAD": head, "FROM": lo, "TO": hi, "Y": full((4, n))}, {}, {"Y": y}, 0


def pages(n, rng):
    """A pool of 16-row pages, NaN where unused."""
    lens = lengths(n)
    slots = -(-n // 16) + 1
    count = sum(-(-int(m) // 16) for m in lens)
    order = rng.permutation(count + 3)
    table, pool, at = rng.integers(0, count + 3, (4, slots)).astype(I), full((count + 3, 16, 20), v=np.nan), 0
    seq = []
    for b, m in enumerate(lens):
        x = rng.integers(-9, 10, (m, 20)).astype(F)
        for p in range(-(-int(m) // 16)):
            table[b, p] = order[at]
            rest = x[p * 16 : p * 16 + 16]
            pool[order[at], : len(rest)] = rest
            at += 1
        seq.append(x)
    return lens, table, pool, seq


@program("""
kernel page_sum(POOL: f32[P, 16, D], T: i32[B, S], L: i32[B], Y: inout f32[B, D], Z: inout f32[B, D])
{
    grid(B);
    let b = block.x, len = i64(L[b]);
    var s: register f32[1, 24] = 0, low: register f32[1, 24] = inf;
    for p in 0..ceil(len, 16) {
        let page = T[b, p];
        let x: register = POOL[page, 0 :+ 16 below len - p * 16, 0 :+ 24];
        s += sum(x, 0);
        low = min(low, reduce_min(x, 0));
    }
    Y[b :+ 1, 0 :+ 24] = s;
    Z[b :+ 1, 0 :+ 24] = low;
}
""")
def page_sum(n, rng):
    lens, table, pool, seq = pages(n, rng)
    y, z = np.stack([x.sum(0) for x in seq]), np.stack([x.min(0, initial=np.inf) for x in seq])
    return {"POOL": pool, "T": table, "L": lens, "Y": full(y.shape), "Z": full(z.shape)}, {}, {"Y": y, "Z": z}, 0


@program("""
// rows of the pool by index tiles, behind the length by index -1
kernel page_rows(POOL: f32[R, D], T: i32[B, S], L: i32[B], Y: inout f32[B, N, D], Z: inout f32[B, N, D])
{
    grid(ceil(N, 32), B);
    let n = block.x * 32, b = block.y, len = L[b];
    let at = iota(0, 32) + i32(n), page: register = T[b, at / 16];
    let row = where(at < len, page * 16 + at % 16, -1);
    Y[b, n :+ 32, 0 :+ 24] = POOL[row, 0 :+ 24];
    Z[b, n :+ 32 below len, 0 :+ 24] = POOL[row, 0 :+ 24] * 2;
}
""")
def page_rows(n, rng):
    lens, table, pool, seq = pages(n, rng)
    y, z = full((4, n, 20), v=0), full((4, n, 20))
    for b, x in enumerate(seq):
        y[b, : len(x)], z[b, : len(x)] = x, 2 * x
    arrays = {"POOL": pool.reshape(-1, 20), "T": table, "L": lens, "Y": full(y.shape), "Z": full(z.shape)}
    return arrays, {}, {"Y": y, "Z": z}, 0


@program("""
// halves of a fused tensor; rows behind count are NaN
kernel gate_up(X: f32[M, W], count: i32, Y: inout f32[M, H])
    assume W == 2 * H
{
    grid(ceil(M, 64), ceil(H, 64));
    let m = block.x * 64, n = block.y * 64;
    let gate: register = X[m :+ 64 below count, n :+ 64 below H], up: register = X[m :+ 64 below count, H + n :+ 64];
    Y[m :+ 64, n :+ 64] = max(gate, 0) * up;
}
""")
def gate_up(n, rng):
    m = 5
    x = full((m, 2 * n), v=np.nan)
    x[:3] = rng.integers(-9, 10, (3, 2 * n))
    y = full((m, n))
    y[:3] = np.maximum(x[:3, :n], 0) * x[:3, n:]
    return {"X": x, "Y": full((m, n))}, {"count": 3}, {"Y": y}, 0


@program("""
// Y[l] = sum_t X[l + t - 3] * W[t] within the length
kernel causal_conv(X: f32[B, N, D], W: f32[4, D], L: i32[B], Y: inout f32[B, N, D])
{
    grid(ceil(N, 32), B);
    let l = block.x * 32, b = block.y, len = L[b];
    var y: register f32[32, 24] = 0;
    for t in 0..4 {
        y += fill(X[b, l + t - 3 :+ 32 below len, 0 :+ 24], 0) * W[t, 0 :+ 24];
    }
    Y[b, l :+ 32 below len, 0 :+ 24] = y;
}
""")
def causal_conv(n, rng):
    lens = lengths(n)
    x, w, y = rows(rng, lens, n, (20,)), rng.integers(-3, 4, (4, 20)).astype(F), full((4, n, 20))
    for b, m in enumerate(lens):
        pad = np.concatenate([np.zeros((3, 20), F), x[b, :m]])
        y[b, :m] = sum(pad[t : t + m] * w[t] for t in range(4))
    return {"X": x, "W": w, "L": lens, "Y": full(y.shape)}, {}, {"Y": y}, 0


@program("""
// counts of the elements with KEEP, within the length; bins of no place are left out
kernel masked_histogram(X: f32[N], KEEP: u8[N], len: i64, H: inout i32[40])
{
    grid(ceil(N, 256));
    let counts: shared i32[40] = 0;
    for n in block.x * 256..min(len, block.x * 256 + 256) step 64 {
        let x: register = X[n :+ 64 below len], keep: register = KEEP[n :+ 64 below len];
        atomic_add(counts[where(keep != 0, i32(floor(x)), -1)], 1);
    }
    atomic_add(H[:], counts);
}
""")
def masked_histogram(n, rng):
    x, keep = rows(rng, [n], n + 70, (), -5, 46)[0], rng.integers(0, 3, n + 70).astype(np.uint8)
    h = np.array([((x == v) & (keep != 0)).sum() for v in range(40)], I)
    return {"X": x, "KEEP": keep, "H": full(40, I, 5)}, {"len": n}, {"H": h + 5}, 0


@program("""
// NaN inside the length count as absent
kernel argmax_rows(X: f32[B, N], L: i32[B], V: inout f32[B], A: inout i32[B], W: inout f32[B], Z: inout i32[B])
{
    grid(B);
    let b = block.x, len = L[b];
    var best: register f32[1] = -inf, at: register i32[1] = 2147483647;
    var least: register f32[1] = inf, where_least: register i32[1] = 2147483647;
    for k in 0..i64(len) step 96 {
        let x = X[b, k :+ 96 below len], top = reduce_max(x, 0), low = reduce_min(x, 0);
        at = where(top > best, argmax(x, 0) + i32(k), at);
        best = max(best, top);
        where_least = where(low < least, argmin(x, 0) + i32(k), where_least);
        least = min(least, low);
    }
    V[b :+ 1] = best;
    A[b :+ 1] = at;
    W[b :+ 1] = least;
    Z[b :+ 1] = where_least;
}
""")
def argmax_rows(n, rng):
    lens = lengths(n)
    x = rows(rng, lens, n)
    x[:2][rng.random((2, n)) < 0.2] = np.nan
    hi, lo = np.where(np.isnan(x), -np.inf, x), np.where(np.isnan(x), np.inf, x)
    some = ~np.isnan(x).all(1)
    want = {"V": hi.max(1), "A": np.where(some, hi.argmax(1), 2147483647).astype(I)}
    want |= {"W": lo.min(1), "Z": np.where(some, lo.argmin(1), 2147483647).astype(I)}
    return {"X": x, "L": lens} | {k: full(4, v.dtype) for k, v in want.items()}, {}, want, 0


@program("""
kernel topk_rows(X: f32[B, N], L: i32[B], V: inout f32[B, 7], A: inout i32[B, 7])
{
    grid(B);
    let b = block.x, len = L[b];
    let x: register = X[b, 0 :+ 1000 below len];
    let (v, i) = topk(x, 7, 0);
    V[b, :] = v;
    A[b, :] = i;
}
""")
def topk_rows(n, rng):
    lens = lengths(n)
    x, v, a = rows(rng, lens, n), full((4, 7)), full((4, 7), I)
    for b, m in enumerate(lens):
        at = np.argsort(-x[b, :m], kind="stable")[:7]
        v[b, : len(at)], a[b, : len(at)] = x[b, at], at
    return {"X": x, "L": lens, "V": full((4, 7)), "A": full((4, 7), I)}, {}, {"V": v, "A": a}, 0


@program("""
kernel sort_rows(X: f32[B, N], L: i32[B], Y: inout f32[B, N], A: inout i32[B, N])
    const ROW = 1000
{
    grid(B);
    let b = block.x, len = L[b];
    let x: register = X[b, 0 :+ ROW below len];
    Y[b, 0 :+ ROW] = sort(x, 0);
    A[b, 0 :+ ROW] = argsort(x, 0);
}
""", ROW=X_ROW)
def sort_rows(n, rng):
    n = min(n, SORTED_MAX)
    lens = lengths(n)
    x, y, a = rows(rng, lens, n), full((4, n)), full((4, n), I)
    for b, m in enumerate(lens):
        a[b, :m] = np.argsort(x[b, :m], kind="stable")
        y[b, :m] = x[b, a[b, :m]]
    return {"X": x, "L": lens, "Y": full((4, n)), "A": full((4, n), I)}, {}, {"Y": y, "A": a}, 0


@program("""
kernel median(X: f32[B, N], L: i32[B], Y: inout f32[B], Q: inout f32[B], q: f32)
    const ROW = 1000
{
    grid(B);
    let b = block.x, len = i64(L[b]);
    let s: register = sort(X[b, 0 :+ ROW below len], 0);
    if len > 0 {
        Y[b] = (s[(len - 1) / 2] + s[len / 2]) * 0.5;
        let at = q * f32(len - 1), low = i64(floor(at)), part = at - floor(at);
        Q[b] = s[low] * (1 - part) + s[min(low + 1, len - 1)] * part;
    }
}
""", ROW=X_ROW)
def median(n, rng):
    n = min(n, SORTED_MAX)
    lens = lengths(n)
    x, y, q = rows(rng, lens, n), full(4), full(4)
    for b, m in enumerate(lens):
        if m:
            y[b], q[b] = np.median(x[b, :m]), np.quantile(x[b, :m].astype(np.float64), 0.75)
    # quarters of whole numbers: exact
    return {"X": x, "L": lens, "Y": full(4), "Q": full(4)}, {"q": 0.75}, {"Y": y, "Q": q}, 0


@program("""
kernel unique_count(X: i32[B, N], L: i32[B], U: inout i32[B], M: inout i32[B])
    const ROW = 1000
{
    grid(B);
    let b = block.x, len = L[b];
    let s: register = sort(X[b, 0 :+ ROW below len], 0), i = iota(0, ROW);
    let new = i == 0 || s != shift(s, 0, 1);
    U[b :+ 1] = sum(i32(new), 0);
    // the longest run of equal ones: the distance to its first element
    M[b :+ 1] = reduce_max(i - cummax(where(new, i, 0), 0), 0) + 1;
}
""", ROW=X_ROW)
def unique_count(n, rng):
    n = min(n, SORTED_MAX)
    lens = lengths(n)
    x = rng.integers(-30, 31, (4, n)).astype(I)
    u = np.array([len(np.unique(x[b, :m])) for b, m in enumerate(lens)], I)
    # of no element: the least i32, plus 1
    m = [np.unique(x[b, :m], return_counts=True)[1].max() if m else -(2**31) + 1 for b, m in enumerate(lens)]
    return {"X": x, "L": lens, "U": full(4, I), "M": full(4, I)}, {}, {"U": u, "M": np.array(m, I)}, 0


@program("""
// places in the sorted row, for the first half of the columns of a tile of several rows
kernel rank(X: f32[B, N], H: i64, R: inout i32[B, N])
{
    grid(ceil(B, 4));
    let b = block.x * 4;
    let x: register = X[b :+ 4, 0 :+ 250 from 1 below H];
    R[b :+ 4, 0 :+ 250] = argsort(argsort(x, 1), 1);
}
""")
def rank(n, rng):
    n = min(n, 230)
    h = (n + 1) // 2 + 1
    x, r = full((5, n), v=np.nan), full((5, n), I)
    m = max(0, min(h, n) - 1)
    x[:, 1 : 1 + m] = rng.integers(-9, 10, (5, m))
    # argsort gives the place in the tile, which starts 1 before the range; the first m places are there
    r[:, :m] = np.argsort(np.argsort(x[:, 1 : 1 + m], 1, kind="stable"), 1, kind="stable")
    return {"X": x, "R": full((5, n), I)}, {"H": h}, {"R": r}, 0


@program("""
kernel merge(A: f32[N], na: i32, C: f32[P], nc: i32, Y: inout f32[Q], W: inout i32[Q])
    const ROW = 1000, PART = 501
{
    grid(1);
    let x = concat(0, A[0 :+ ROW below na], C[0 :+ PART below nc]);
    Y[0 :+ ROW + PART] = sort(x, 0);
    W[0 :+ ROW + PART] = argsort(x, 0);
}
""", ROW=("A", 0, 1000), PART=("C", 0, 501))
def merge(n, rng):
    n = min(n, SORTED_MAX * 2 // 3 - 1)
    na, nc = n - n // 4, (n + 1) // 2
    a, c = full(n, v=np.nan), full(nc + 1, v=np.nan)
    a[:na], c[:nc] = np.sort(rng.integers(-99, 100, na)), np.sort(rng.integers(-99, 100, nc))
    both, place = np.concatenate([a[:na], c[:nc]]), np.concatenate([np.arange(na), max(n, 1000) + np.arange(nc)])
    at = np.argsort(both, kind="stable")
    y, w = full(2 * n + 9), full(2 * n + 9, I)
    y[: na + nc], w[: na + nc] = both[at], place[at]
    arrays = {"A": a, "C": c, "Y": full(y.shape), "W": full(w.shape, I)}
    return arrays, {"na": na, "nc": nc}, {"Y": y, "W": w}, 0


@program("""
// one launch, decoupled look-back; the blocks behind the length have nothing
kernel prefix_sum(X: f32[N], len: i64, Y: inout f32[N], SUM: inout f32[2, G], FLAG: inout i32[G], COUNT: inout i32[1])
    assume G * 100 >= N
{
    grid(G);
    let g = i64(atomic_add(COUNT[0], 1)), n = g * 100;
    let y = cumsum(X[n :+ 100 below len], 0), part = reduce_last(y, 0);
    SUM[0, g :+ 1] = part;
    atomic_add(FLAG[g], 1);
    var before: register f32[1] = 0, at = g - 1;
    while at >= 0 {
        var flag = atomic_or(FLAG[at], 0);
        while flag == 0 {
            flag = atomic_or(FLAG[at], 0);
        }
        before += fill(SUM[i64(flag) - 1, at :+ 1], 0);
        at = where(flag == 2, -1, at - 1);
    }
    SUM[1, g :+ 1] = before + part;
    atomic_add(FLAG[g], 1);
    Y[n :+ 100] = y + before;
}
""")
def prefix_sum(n, rng):
    x, y = rows(rng, [n], n + 150)[0], full(n + 150)
    y[:n] = np.cumsum(x[:n])
    g = -(-len(x) // 100) + 1
    arrays = {"X": x, "Y": full(len(x)), "SUM": full((2, g), v=np.nan), "FLAG": full(g, I, 0), "COUNT": full(1, I, 0)}
    return arrays, {"len": n}, {"Y": y, "FLAG": full(g, I, 2)}, 0


@program("""
// sum, maximum and the first place of the maximum, in one launch with a ticket
kernel reduce_blocks(X: f32[N], len: i64, P: inout f32[2, G], A: inout i32[G], T: inout i32[1], Y: inout f32[2],
    Z: inout i32[1])
{
    grid(G);
    var part: register f32[1] = 0, top: register f32[1] = -inf, at: register i32[1] = 2147483647;
    for n in block.x * 72..len step G * 72 {
        let x: register = X[n :+ 72 below len], t = reduce_max(x, 0);
        part += sum(x, 0);
        at = where(t > top, argmax(x, 0) + i32(n), at);
        top = max(top, t);
    }
    P[0, block.x :+ 1] = part;
    P[1, block.x :+ 1] = top;
    A[block.x :+ 1] = at;
    if atomic_add(T[0], 1) == i32(G) - 1 {
        let tops: register = P[1, 0 :+ 32], best = reduce_max(tops, 0), first: register = A[0 :+ 32];
        Y[0 :+ 1] = sum(P[0, 0 :+ 32], 0);
        Y[1 :+ 1] = best;
        Z[0 :+ 1] = reduce_min(where(tops == best, first, 2147483647), 0);
        T[0] = 0;
    }
}
""")
def reduce_blocks(n, rng):
    x = rows(rng, [n], n + 100)[0]
    y, z = np.array([x[:n].sum(), x[:n].max()], F), np.array([x[:n].argmax()], I)
    arrays = {"X": x, "P": full((2, 5), v=np.nan), "A": full(5, I), "T": full(1, I, 0), "Y": full(2), "Z": full(1, I)}
    return arrays, {"len": n}, {"Y": y, "Z": z, "T": full(1, I, 0)}, 0


@program("""
// rows without MASK are NaN
kernel mean_pool(X: f32[B, N, D], MASK: i8[B, N], Y: out f32[B, D])
{
    grid(B);
    let b = block.x;
    var s: register f32[1, 12] = 0, count: register f32[1] = 0;
    for n in 0..N step 40 {
        let keep = MASK[b, n :+ 40] != 0;
        s += sum(where(keep[:, newaxis], X[b, n :+ 40, 0 :+ 12], 0), 0);
        count += sum(f32(keep), 0);
    }
    Y[b :+ 1, 0 :+ 12] = exact(s / max(count, 1));
}
""")
def mean_pool(n, rng):
    mask = (rng.random((3, n)) < 0.6).astype(np.int8)
    mask[2] = 0
    x = rng.integers(-9, 10, (3, n, 11)).astype(F)
    x[mask == 0] = np.nan
    y = np.nansum(x, 1) / np.maximum(mask.sum(1), 1).astype(F)[:, None]
    return {"X": x, "MASK": mask, "Y": full(y.shape)}, {}, {"Y": y.astype(F)}, 0


@program("""
// of each element and its neighbours within the range: the element at the ends, else the mean of the two others
kernel ends(X: f32[N], lo: i64, hi: i64, Y: inout f32[N], E: inout i32[N])
{
    grid(ceil(N, 50));
    let n = block.x * 50;
    let x: register = X[n :+ 50 from lo below hi];
    let l: register = X[n - 1 :+ 50 from lo below hi], r: register = X[n + 1 :+ 50 from lo below hi];
    let both = inside(l) && inside(r);
    Y[n :+ 50] = where(both, 0.5 * (fill(l, 0) + fill(r, 0)), where(inside(x), x, 0));
    E[n :+ 50] = where(!inside(x), 0, where(inside(l), 1, 2) + where(inside(r), 4, 8));
}
""")
def ends(n, rng):
    lo, hi = min(1, n - 1), max(n - 2, 1)
    x = full(n, v=np.nan)
    x[lo:hi] = rng.integers(-9, 10, hi - lo)
    y, e = full(n, v=0), full(n, I, 0)
    for i in range(n):
        l, r, m = lo <= i - 1 < hi, lo <= i + 1 < hi, lo <= i < hi
        y[i] = 0.5 * (x[i - 1] + x[i + 1]) if l and r else x[i] if m else 0
        e[i] = (1 if l else 2) + (4 if r else 8) if m else 0
    return {"X": x, "Y": full(n), "E": full(n, I)}, {"lo": lo, "hi": hi}, {"Y": y, "E": e}, 0


@program("""
kernel attention(Q: f16[B, M, 32], K: f16[B, N, 32], V: f16[B, N, 32], L: i32[B], O: inout f32[B, M, 32])
{
    grid(B);
    let b = block.x, len = L[b];
    let q: register = Q[b, 0 :+ 16, :];
    var acc: register f32[16, 32] = 0, top: register f32[16, 1] = -1e30, total: register f32[16, 1] = 0;
    for n in 0..i64(len) step 32 {
        let k: shared = K[b, n :+ 32 below len, :], v: shared = V[b, n :+ 32 below len, :];
        let s = dot(q, k.T) * 0.125, t = max(top, reduce_max(s, 1)), p = exp(s - t), old = exp(top - t);
        acc = acc * old + dot(f16(p), v);
        total = total * old + sum(p, 1);
        top = t;
    }
    if len > 0 {
        O[b, 0 :+ 16, :] = acc / total;
    }
}
""")
def attention(n, rng):
    lens, h = lengths(n), np.float16
    q = rng.integers(-2, 3, (4, 9, 32)).astype(h)
    k, v = (rows(rng, lens, n + 5, (32,), -2, 3, h) for _ in range(2))
    o = full((4, 9, 32))
    for b, m in enumerate(lens):
        if m:
            s = q[b].astype(np.float64) @ k[b, :m].astype(np.float64).T / 8
            p = np.exp(s - s.max(1, keepdims=True))
            o[b] = p @ v[b, :m].astype(np.float64) / p.sum(1, keepdims=True)
    # f16(p): 2^-11 of sums of p times at most 2; exp and sums are smaller
    return {"Q": q, "K": k, "V": v, "L": lens, "O": full(o.shape)}, {}, {"O": o}, (0, 2.0**-9)


@program("""
// the front of the first tile is out of bounds
kernel cumulative_max(X: f32[B, N], FROM: i32[B], TO: i32[B], Y: inout f32[B, N], Z: inout f32[B, N])
{
    grid(B);
    let b = block.x, lo = FROM[b], hi = TO[b];
    var top: register f32[1] = -inf, low: register f32[1] = inf;
    for k in i64(lo) - 7..i64(hi) step 50 {
        let x: register = X[b, k :+ 50 from lo below hi], c = max(cummax(x, 0), top), d = min(cummin(x, 0), low);
        Y[b, k :+ 50] = c;
        Z[b, k :+ 50] = d;
        top = reduce_max(c, 0);
        low = reduce_min(d, 0);
    }
}
""")
def cumulative_max(n, rng):
    lo, hi = np.array([-3, n // 4, n // 2, 0], I), np.array([n + 3, n, n // 2 + 1, 0], I)
    x, y, z = full((4, n), v=np.nan), full((4, n)), full((4, n))
    for b in range(4):
        r = slice(max(lo[b], 0), hi[b])
        x[b, r] = rng.integers(-99, 100, x[b, r].shape)
        y[b, r], z[b, r] = np.maximum.accumulate(x[b, r]), np.minimum.accumulate(x[b, r])
    return {"X": x, "FROM": lo, "TO": hi, "Y": full((4, n)), "Z": full((4, n))}, {}, {"Y": y, "Z": z}, 0


@program("""
// each product has its own range of k
kernel ragged_k(A: f16[G, M, K], B: f16[G, N, K], FROM: i32[G], TO: i32[G], C: out f32[G, M, N])
{
    grid(G);
    let g = block.x, lo = FROM[g], hi = TO[g];
    var acc: register f32[16, 16] = 0;
    pipeline k in i64(lo / 32 * 32)..i64(hi) step 32 stages 2 {
        let a: shared = A[g, 0 :+ 16, k :+ 32 from lo below hi], b: shared = B[g, 0 :+ 16, k :+ 32 from lo below hi];
        acc += dot(a, b.T);
    }
    C[g, 0 :+ 16, 0 :+ 16] = acc;
}
""")
def ragged_k(n, rng):
    h = np.float16
    lo, hi = np.array([0, n // 3, n // 2, n], I), np.array([n, n, n // 2 + 1, n], I)
    a, b, c = full((4, 7, n + 6), h, np.nan), full((4, 13, n + 6), h, np.nan), full((4, 7, 13), v=0)
    for g in range(4):
        r = slice(lo[g], hi[g])
        for x in (a, b):
            x[g, :, r] = rng.integers(-4, 5, x[g, :, r].shape)
        c[g] = a[g, :, r].astype(F) @ b[g, :, r].astype(F).T
    return {"A": a, "B": b, "FROM": lo, "TO": hi, "C": full(c.shape)}, {}, {"C": c}, 0


@program("""
// rows to places; none for masked rows, places outside, and rows behind the length
kernel scatter(X: f32[N, D], AT: i32[N], KEEP: bool[N], len: i32, Y: inout f32[R, D])
{
    grid(ceil(N, 32));
    let n = block.x * 32;
    let at = where(KEEP[n :+ 32 below len], AT[n :+ 32 below len], -1);
    Y[at, 0 :+ 20] = X[n :+ 32, 0 :+ 20];
}
""")
def scatter(n, rng):
    cap = n + 40
    at = rng.permutation(cap + 10).astype(I)[:cap] - 5
    at[n:] = rng.integers(0, n, cap - n)  # must not be used
    x, keep = rows(rng, [n], cap, (18,))[0], rng.random(cap) < 0.7
    y = full((n, 18))
    for i in range(n):
        if keep[i] and 0 <= at[i] < n:
            y[at[i]] = x[i]
    return {"X": x, "AT": at, "KEEP": keep, "Y": full((n, 18))}, {"len": n}, {"Y": y}, 0


@program("""
// zeros for padding, whose row is NaN, and behind the length
kernel embedding(ID: i32[B, N], L: i32[B], E: f32[V, D], pad: i32, Y: out f32[B, N, D], C: out i32[B])
{
    grid(B);
    let b = block.x, len = L[b];
    var count: register i32[1] = 0;
    for n in 0..N step 16 {
        let id: register = ID[b, n :+ 16 below len];
        Y[b, n :+ 16, 0 :+ 20] = fill(E[where(id == pad, -1, id), 0 :+ 20], 0);
        count += sum(i32(id != pad), 0);
    }
    C[b :+ 1] = count;
}
""")
def embedding(n, rng):
    lens = lengths(n)
    ids, e = rng.integers(0, 11, (4, n)).astype(I), rng.integers(-9, 10, (11, 18)).astype(F)
    e[3] = np.nan
    y, c = full((4, n, 18), v=0), full(4, I, 0)
    for b, m in enumerate(lens):
        use = ids[b, :m] != 3
        y[b, :m][use] = e[ids[b, :m][use]]
        c[b] = use.sum()
    return {"ID": ids, "L": lens, "E": e, "Y": full(y.shape), "C": full(4, I)}, {"pad": 3}, {"Y": y, "C": c}, 0


@program("""
// values and lengths of the runs of equal elements
kernel run_lengths(X: i32[N], len: i32, V: inout i32[N], C: inout i32[N], R: inout i32[1])
{
    grid(1);
    var last: register i32[1] = 0, runs: register i32[1] = 0;
    for k in 0..i64(len) step 96 {
        let x: register = X[k :+ 96 below len], first = iota(0, 96) == 0;
        let start = first && k == 0 || x != where(first, last, shift(x, 0, 1));
        let at = cumsum(i32(start), 0) + runs - 1;
        V[at] = x;
        atomic_add(C[at], 1);
        runs = reduce_last(at, 0) + 1;
        last = reduce_last(x, 0);
    }
    R[0 :+ 1] = runs;
}
""")
def run_lengths(n, rng):
    x = np.repeat(rng.integers(-1, 3, n + 20), rng.integers(1, 9, n + 20))[: n + 20].astype(I)
    starts = [i for i in range(n) if i == 0 or x[i] != x[i - 1]]
    v, c = full(n + 20, I), full(n + 20, I, 0)
    v[: len(starts)] = x[starts]
    c[: len(starts)] = np.diff([*starts, n])
    arrays = {"X": x, "V": full(n + 20, I), "C": 0 * c, "R": full(1, I)}
    return arrays, {"len": n}, {"V": v, "C": c, "R": np.array([len(starts)], I)}, 0

@program("""
// rectangles with bounds in both dimensions
kernel rectangles(X: f32[H, W], R: i32[B, 4], S: inout f32[B], ME: inout f32[B], A: inout i32[B, H], T: inout f32[W, H])
{
    grid(B);
    let b = block.x, r0 = R[b, 0], r1 = R[b, 1], c0 = R[b, 2], c1 = R[b, 3];
    var s: register f32[1, 1] = 0, count: register f32[1, 1] = 0;
    for r in i64(r0) - 3..i64(r1) step 32 {
        var best: register f32[32, 1] = -inf, at: register i32[32, 1] = -1;
        for c in i64(c0) - 5..i64(c1) step 48 {
            let x: register = X[r :+ 32 from r0 below r1, c :+ 48 from c0 below c1];
            s += sum(sum(x, 1), 0);
            count += sum(sum(where(inside(x), 1.0, 0.0), 0), 1);
            let t = reduce_max(x, 1);
            let new = fill(t, -inf) > best;
            at = where(new, fill(argmax(x, 1), 0) + i32(c), at);
            best = max(best, fill(t, -inf));
            if b == 0 {
                T[c :+ 48, r :+ 32] = x.T;
            }
        }
        A[b, r :+ 32 from r0 below r1] = at[:, 0];
    }
    S[b] = s[0, 0];
    ME[b] = exact(s[0, 0] / max(count[0, 0], 1));
}
""")
def rectangles(n, rng):
    h, w = min(n, 70), n
    r = np.array([[h // 3, h, w // 4, w - w // 5], [-2, 1, -9, w + 5], [h // 2, h // 2, 0, w], [0, h, w // 2, w // 2]], I)
    x = rng.integers(-9, 10, (h, w)).astype(F)
    s, me, a, t = full(4), full(4), full((4, h), I), full((w, h))
    for b, (r0, r1, c0, c1) in enumerate(np.maximum(r, 0)):
        p = x[r0:r1, c0:c1]
        s[b], me[b] = p.sum(), p.sum() / F(max(p.size, 1))
        a[b, r0:r1] = c0 + p.argmax(1) if p.shape[1] else -1
        if b == 0:
            t[c0:c1, r0:r1] = p.T
    arrays = {"X": x, "R": r, "S": full(4), "ME": full(4), "A": full((4, h), I), "T": full((w, h))}
    return arrays, {}, {"S": s, "ME": me, "A": a, "T": t}, 0


@program("""
// i8 weights with scales of 32, a range of k, operands without a space
kernel weights_k(A: f16[M, K], W: i8[N, K], S: f16[N, KS], lo: i32, hi: i32, C: inout f32[M, N])
    assume KS * 32 >= K
{
    grid(ceil(M, 16), ceil(N, 32));
    let m = block.x * 16, n = block.y * 32;
    var acc: register f32[16, 32] = 0;
    pipeline k in i64(lo) / 32 * 32..i64(hi) step 32 stages 3 {
        let a = A[m :+ 16, k :+ 32 from lo below hi], w = W[n :+ 32, k :+ 32 below hi], s = S[n :+ 32, k / 32 :+ 1];
        acc += dot(a, (f16(w) * s).T);
    }
    C[m :+ 16, n :+ 32] = acc;
}
""")
def weights_k(n, rng):
    k, h = n + 3, np.float16
    a, w = full((18, k), h, np.nan), rng.integers(-3, 4, (35, k)).astype(np.int8)
    sc = 2.0 ** rng.integers(-2, 2, (35, -(-k // 32))).astype(h)
    sc = sc.astype(h)
    lo, hi = n // 3, n
    a[:, lo:hi] = rng.integers(-4, 5, (18, hi - lo))
    full_w = w.astype(F) * np.repeat(sc.astype(F), 32, 1)[:, :k]
    c = a[:, lo:hi].astype(F) @ full_w[:, lo:hi].T
    return {"A": a, "W": w, "S": sc, "C": full(c.shape)}, {"lo": lo, "hi": hi}, {"C": c}, 0


@program("""
// pairs: steps with bounds
kernel pairs(X: f32[B, N], L: i32[B], S: inout f32[B, N], U: inout f32[B, N])
{
    grid(ceil(N, 40), B);
    let n = block.x * 40, b = block.y, len = L[b];
    let even: register = X[b, 2 * n :+ 40 step 2 below len], odd: register = X[b, 2 * n + 1 :+ 40 step 2 below len];
    S[b, n :+ 40] = even - odd;
    U[b, 2 * n :+ 40 step 2 from 1 below len] = even * 2;
    U[b, 2 * n - 1 :+ 40 step 2 below len] = fill(X[b, 2 * n - 1 :+ 40 step 2 below len], 5);
}
""")
def pairs(n, rng):
    lens = lengths(n)
    x = rows(rng, lens, n)
    s, u = full((4, n)), full((4, n))
    for b, m in enumerate(lens):
        s[b, : m // 2] = x[b, 0 : m // 2 * 2 : 2] - x[b, 1 : m // 2 * 2 : 2]
        u[b, 2:m:2] = x[b, 2:m:2] * 2
        u[b, 1:m:2] = x[b, 1:m:2]
    return {"X": x, "L": lens, "S": full(s.shape), "U": full(u.shape)}, {}, {"S": s, "U": u}, 0


@program("""
// groups of 16 of a ragged row: the last one is not full, those behind it are not there
kernel groups(X: f32[B, N], L: i32[B], T: inout f32[B, G], ME: inout f32[B, G], Q: inout i8[B, N], C: inout i32[B])
{
    grid(ceil(N, 128), B);
    let n = block.x * 128, b = block.y, len = L[b];
    let x: register = X[b, n :+ 128 below len], g = reshape(x, 8, 16);
    let top = reduce_max(abs(g), 1);
    T[b, n / 16 :+ 8] = reshape(top, 8);
    ME[b, n / 16 :+ 8] = reshape(exact(mean(g, 1)), 8);
    Q[b, n :+ 128] = i8(round(reshape(g / max(top, 1) * 0, 128) + x));
    atomic_add(C[b :+ 1], sum(where(inside(reshape(top, 8)), 1, 0), 0));
}
""")
def groups(n, rng):
    lens = lengths(n)
    x, g = rows(rng, lens, n), -(-n // 16)
    t, me, q, c = full((4, g)), full((4, g)), full((4, n), np.int8), full(4, I, 0)
    for b, m in enumerate(lens):
        for i in range(-(-m // 16)):
            p = x[b, i * 16 : min(m, i * 16 + 16)]
            t[b, i], me[b, i] = np.abs(p).max(), p.sum() / F(len(p))
        c[b] = -(-m // 16)
        q[b, :m] = x[b, :m]
    arrays = {"X": x, "L": lens, "T": full(t.shape), "ME": full(t.shape), "Q": full(q.shape, np.int8), "C": 0 * c}
    return arrays, {}, {"T": t, "ME": me, "Q": q, "C": c}, 1e-6  # mean: division 2^-20


@program("""
// softmax with a sink: scores of a ragged row and one more element
kernel sink(X: f32[B, N], L: i32[B], K: f32[B], Y: inout f32[B, N], Z: inout f32[B], S: inout f32[B], O: inout f32[B, P])
    const ROW = 1000
{
    grid(B);
    let b = block.x, len = L[b];
    let x: register = X[b, 0 :+ ROW below len], all = concat(0, K[b :+ 1], x);
    let e = exp2(all - reduce_max(all, 0));
    let p = e / sum(e, 0);
    Z[b :+ 1] = p[0 :+ 1];
    Y[b, 0 :+ ROW] = p[1 :+ ROW];
    S[b :+ 1] = sum(all, 0);
    O[b, 0 :+ ROW + 1] = fill(all, -5);
}
""", ROW=X_ROW)
def sink(n, rng):
    lens = lengths(n)
    x, k = rows(rng, lens, n), rng.integers(-9, 10, 4).astype(F)
    y, z, s, o = full((4, n)), full(4), full(4), full((4, min(n + 9, max(n, 1000) + 1)), v=-5)
    for b, m in enumerate(lens):
        a = np.concatenate([k[b : b + 1], x[b, :m]]).astype(np.float64)
        e = np.exp2(a - a.max())
        s[b], z[b], y[b, :m] = a.sum(), e[0] / e.sum(), e[1:] / e.sum()
        o[b, : m + 1] = a
    arrays = {"X": x, "L": lens, "K": k, "Y": full((4, n)), "Z": full(4), "S": full(4), "O": full(o.shape)}
    return arrays, {}, {"Y": y, "Z": z, "S": s, "O": o}, 4e-6  # exp2 2^-21 twice, division 2^-20


@program("""
// shared tiles with bounds: reversed rows, turned tiles, and an update of a part
kernel reversed(X: f32[B, N], L: i32[B], Y: inout f32[B, N], Z: inout f32[B, N], C: inout f32[B])
{
    grid(B);
    let b = block.x, len = i64(L[b]);
    for k in 0..len step 64 {
        let s: shared = X[b, k :+ 64 below len];
        let r = s[63 - iota(0, 64)];
        Y[b, len - k - 64 :+ 64] = r;
        let t: register = X[b, k :+ 64 below len];
        let c = cumsum(t[63 - iota(0, 64)], 0);
        Z[b, len - k - 64 :+ 64 from 0] = fill(c, -1);
    }
    let u: shared f32[64] = 1;
    u[0 :+ 32] = X[b, 0 :+ 32 below len];
    C[b :+ 1] = sum(u, 0);
}
""")
def reversed(n, rng):
    lens = lengths(n)
    x, y, z, c = rows(rng, lens, n), full((4, n)), full((4, n)), full(4)
    for b, m in enumerate(lens):
        y[b, :m] = x[b, :m][::-1]
        for k in range(0, m, 64):
            p = x[b, k : min(m, k + 64)][::-1]
            end = m - k
            z[b, end - len(p) : end] = np.cumsum(p)
            z[b, max(0, end - 64) : end - len(p)] = -1
        c[b] = x[b, : min(m, 32)].sum() + 32
    arrays = {"X": x, "L": lens, "Y": full((4, n)), "Z": full((4, n)), "C": full(4)}
    return arrays, {}, {"Y": y, "Z": z, "C": c}, 0


@program("""
// a var keeps what is there in all windows, or in the branch taken
kernel branches(X: f32[N], lo: i32, hi: i32, Y: inout f32[N], Z: inout f32[N], W: inout f32[N])
{
    grid(ceil(N, 64));
    let n = block.x * 64;
    var y: register f32[64] = 0;
    for t in -1..2 {
        y += X[n + t :+ 64 from lo below hi];
    }
    Y[n :+ 64] = y;
    var z: register f32[64] = X[n :+ 64 from lo below hi];
    if n / 64 % 2 == 1 {
        z = X[n - 2 :+ 64 from lo below hi] * 2;
    }
    Z[n :+ 64] = z;
    var w: register f32[4, 16] = 3;
    for i in 0..4 {
        if i != 2 {
            w[i, :] = X[n + i * 16 :+ 16 from lo below hi];
        }
    }
    W[n :+ 64] = reshape(w, 64);
}
""")
def branches(n, rng):
    lo, hi = n // 5, n - n // 7
    x = full(n, v=np.nan)
    x[lo:hi] = rng.integers(-9, 10, hi - lo)
    y, z, w = full(n), full(n), full(n)
    ok = lambda i: lo <= i < hi
    for i in range(n):
        if all(ok(i + t) for t in (-1, 0, 1)):
            y[i] = x[i - 1] + x[i] + x[i + 1]
        j, f = (i - 2, 2) if i // 64 % 2 else (i, 1)
        if ok(j):
            z[i] = x[j] * f
        if i // 16 % 4 == 2:
            w[i] = 3
        elif ok(i):
            w[i] = x[i]
    arrays = {"X": x, "Y": full(n), "Z": full(n), "W": full(n)}
    return arrays, {"lo": lo, "hi": hi}, {"Y": y, "Z": z, "W": w}, 0


@program("""
// binary search in a sorted row with a length, of all queries at a time
kernel search_sorted(X: f32[B, N], L: i32[B], Q: f32[M], P: inout i32[B, M])
{
    grid(ceil(M, 32), B);
    let m = block.x * 32, b = block.y, q: register = Q[m :+ 32];
    var lo: register i32[32] = 0, hi: register i32[32] = L[b];
    while reduce_max(hi - lo, 0) > 0 {
        let mid = (lo + hi) / 2, x = X[b, mid];
        let open = lo < hi, right = x < q;
        hi = where(open && !right, mid, hi);
        lo = where(open && right, mid + 1, lo);
    }
    P[b, m :+ 32] = lo;
}
""")
def search_sorted(n, rng):
    lens = lengths(n)
    x, q = rows(rng, lens, n, (), -50, 51), rng.integers(-60, 61, 45).astype(F)
    p = full((4, 45), I)
    for b, m in enumerate(lens):
        x[b, :m] = np.sort(x[b, :m])
        p[b] = np.searchsorted(x[b, :m], q)
    return {"X": x, "L": lens, "Q": q, "P": full(p.shape, I)}, {}, {"P": p}, 0


@program("""
// elements above a limit, in order, by a scan; and in any order, by an atomic counter
kernel compact(X: f32[N], len: i32, limit: f32, Y: inout f32[N], C: inout i32[1], Z: inout i32[N], D: inout i32[1])
{
    grid(1);
    var at: register i32[1] = 0;
    for n in 0..i64(len) step 96 {
        let x: register = X[n :+ 96 below len], keep = x > limit;
        let place = cumsum(i32(keep), 0) + at - 1;
        Y[where(keep, place, -1)] = x;
        at = at + sum(i32(keep), 0);
        let slot = atomic_add(D[where(keep, 0, -1)], 1); // fail-atomic-old-masked.hexc: 0, and there, of index -1
        atomic_add(Z[where(keep, slot, -1)], 1);
    }
    C[0 :+ 1] = at;
}
""")
def compact(n, rng):
    x = rows(rng, [n], n + 99)[0]
    keep = x[:n][x[:n] > 2]
    y, z = full(n + 99), full(n + 99, I, 0)
    y[: len(keep)], z[: len(keep)] = keep, 1
    c = np.array([len(keep)], I)
    arrays = {"X": x, "Y": full(n + 99), "C": full(1, I), "Z": 0 * z, "D": full(1, I, 0)}
    return arrays, {"len": n, "limit": 2.0}, {"Y": y, "C": c, "Z": z, "D": c}, 0


@program("""
// columns of several types; the rows from 2 on
kernel sort_columns(X: f16[N, D], K: i64[N, D], J: i8[N, D], lo: i32, hi: i32, Y: inout f16[N, D], Z: inout i64[N, D],
    A: inout i32[N, D], V: inout i8[3, D])
{
    grid(ceil(D, 4));
    let d = block.x * 4;
    Y[lo :+ 200, d :+ 4] = sort(X[lo - 1 :+ 200 from lo below hi, d :+ 4], 0);
    Z[lo :+ 200, d :+ 4] = sort(K[lo :+ 200 below hi, d :+ 4], 0);
    let j: register = J[lo :+ 200 below hi, d :+ 4];
    let (v, i) = topk(j, 3, 0);
    A[lo :+ 200, d :+ 4] = argsort(j, 0);
    V[:, d :+ 4] = v + i8(i) * 0;
}
""")
def sort_columns(n, rng):
    n, d = min(n, 199), 6
    lo, hi = min(2, n - 1), n - n // 8
    x = full((n, d), np.float16, np.nan)
    x[lo:hi] = rng.integers(-9, 10, (hi - lo, d))
    k, j = rng.integers(-(2**62), 2**62, (n, d)), rng.integers(-128, 128, (n, d)).astype(np.int8)
    y, z, a, v = full((n, d), np.float16), full((n, d), L), full((n, d), I), full((3, d), np.int8)
    y[lo:hi], z[lo:hi] = np.sort(x[lo:hi], 0), np.sort(k[lo:hi], 0)
    a[lo:hi] = np.argsort(j[lo:hi], 0, kind="stable")
    top = -np.sort(-j[lo:hi].astype(I), 0)[:3]
    v[: len(top)] = top
    arrays = {"X": x, "K": k, "J": j, "Y": full(y.shape, y.dtype), "Z": full(z.shape, L), "A": full(a.shape, I)}
    arrays["V"] = full(v.shape, np.int8)
    return arrays, {"lo": lo, "hi": hi}, {"Y": y, "Z": z, "A": a, "V": v}, 0


@program("""
// experts with rows OFF[e] to OFF[e + 1]; each block has a tile of an expert's rows
kernel experts(A: f16[R, K], W: f16[E, N, K], OFF: i32[E1], C: inout f32[R, N])
    assume K % 8 == 0
{
    grid(ceil(N, 32), E);
    let n = block.x * 32, e = block.y, lo = i64(OFF[e]), hi = i64(OFF[e + 1]);
    for m in lo..hi step 32 {
        var acc: register f32[32, 32] = 0;
        pipeline k in 0..K step 32 stages 2 {
            let a: shared = A[m :+ 32 below hi, k :+ 32], w: shared = W[e, n :+ 32, k :+ 32];
            acc += dot(a, w.T);
        }
        C[m :+ 32 below hi, n :+ 32] = acc;
    }
}
""")
def experts(n, rng):
    off, h = np.cumsum([1, n, 0, n // 2, 3]).astype(I), np.float16
    a = rng.integers(-4, 5, (off[-1] + 5, 40)).astype(h)
    a[0], a[off[-1] :] = np.nan, np.nan
    w = rng.integers(-4, 5, (4, 33, 40)).astype(h)
    c = full((len(a), 33))
    for e in range(4):
        c[off[e] : off[e + 1]] = a[off[e] : off[e + 1]].astype(F) @ w[e].astype(F).T
    return {"A": a, "W": w, "OFF": off, "C": full(c.shape)}, {}, {"C": c}, 0


@program("""
// each query sees WINDOW positions up to its own, of those in the length
kernel window_attention(Q: f16[N, 32], K: f16[N, 32], V: f16[N, 32], len: i32, window: i32, O: inout f32[N, 32])
{
    grid(ceil(N, 16));
    let m = block.x * 16, lo = max(m - i64(window) + 1, 0), hi = min(m + 16, i64(len));
    let q: register = Q[m :+ 16 below len, :], row = iota(0, 16, 32) + i32(m);
    var acc: register f32[16, 32] = 0, top: register f32[16, 1] = -1e30, total: register f32[16, 1] = 0;
    for n in lo..hi step 32 {
        let k: shared = K[n :+ 32 below hi, :], v: shared = V[n :+ 32 below hi, :];
        let col = iota(1, 16, 32) + i32(n);
        let s = where(col <= row && col > row - window, dot(q, k.T), -inf), t = max(top, reduce_max(s, 1));
        let p = exp2(s - t), old = exp2(top - t);
        acc = acc * old + dot(f16(p), v);
        total = total * old + sum(p, 1);
        top = t;
    }
    O[m :+ 16, :] = acc / total;
}
""")
def window_attention(n, rng):
    h, window, cap = np.float16, 21, n + 19
    q, k, v = (rows(rng, [n], cap, (32,), 0, 2, h)[0] for _ in range(3))
    o = full((cap, 32))
    for i in range(n):
        r = slice(max(0, i - window + 1), i + 1)
        s = k[r].astype(np.float64) @ q[i].astype(np.float64)
        p = np.exp2(s - s.max())
        o[i] = p @ v[r].astype(np.float64) / p.sum()
    # powers of two in f16, above 2^-24: exact; exp2 2^-21 per tile and division 2^-20
    arrays = {"Q": q, "K": k, "V": v, "O": full(o.shape)}
    return arrays, {"len": n, "window": window}, {"O": o}, (1e-5, 2e-6)


@program("""
// a batch of products with ranges of both sides; full dimensions with bounds
kernel batch_dots(A: f32[B, M, 24], X: f32[B, N, 24], L: i32[1], d: i32, C: inout f32[B, M, N])
{
    grid(ceil(B, 2), ceil(N, 16));
    let b = block.x * 2, n = block.y * 16, len = L[0];
    let a: register = A[b :+ 2, 0 :+ 16, : below d], x: register = X[b :+ 2, n :+ 16 below len, : from 1];
    C[b :+ 2, 0 :+ 16, n :+ 16] = dot(a, transpose(x, 0, 2, 1));
}
""")
def batch_dots(n, rng):
    m = n - n // 4
    a, x, c = full((3, 10, 24), v=np.nan), full((3, n, 24), v=np.nan), full((3, 10, n))
    a[:, :, :19] = rng.integers(-4, 5, (3, 10, 19))
    x[:, :m, 1:] = rng.integers(-4, 5, (3, m, 23))
    # k from 1 to 19: what either side lacks is left out
    c[:, :, :m] = np.einsum("bmk,bnk->bmn", a[:, :, 1:19], x[:, :m, 1:19])
    return {"A": a, "X": x, "L": np.array([m], I), "C": full(c.shape)}, {"d": 19}, {"C": c}, 0


@program("""
fn total(X, b, lo, hi) {
    var s: register f64[1] = 0;
    for k in lo / 8 * 8..hi step 72 {
        s += sum(f64(X[b, k :+ 72 from lo below hi]), 0);
    }
    return s;
}
// the difference of two ranges; ends early for empty ones
kernel early(X: f32[B, N], L: i64[B], Y: inout f64[B], C: inout i32[B])
{
    grid(B);
    let b = block.x, len = L[b];
    C[b] = 1;
    if len == 0 {
        return;
    }
    Y[b :+ 1] = total(X, b, 0, len / 2) - total(X, b, len / 2, len);
    C[b] += 1;
}
""")
def early(n, rng):
    lens = lengths(n, L)
    x, y, c = rows(rng, lens, n, (), -(10**6), 10**6), full(4, np.float64), full(4, I, 1)
    for b, m in enumerate(lens):
        if m:
            y[b], c[b] = x[b, : m // 2].sum(dtype=np.float64) - x[b, m // 2 : m].sum(dtype=np.float64), 2
    return {"X": x, "L": lens, "Y": full(4, np.float64), "C": full(4, I)}, {}, {"Y": y, "C": c}, 0


@program("""
// other types with lengths
kernel other_types(W: u16[B, N], E: f16[B, N], M: bool[B, N], L: i32[B], S: inout i32[B], T: inout f32[B], C: inout i32[B])
{
    grid(B);
    let b = block.x, len = L[b];
    var s: register i32[1] = 0, t: register f32[1] = 0, c: register i32[1] = 0;
    for k in 0..i64(len) step 64 {
        s += sum(i32(W[b, k :+ 64 from 1 below len]), 0);
        t += sum(f32(E[b, k :+ 64 below len]), 0);
        c += sum(where(M[b, k :+ 64 below len], 1, 0), 0);
    }
    S[b :+ 1] = s;
    T[b :+ 1] = t;
    C[b :+ 1] = c;
}
""")
def other_types(n, rng):
    lens = lengths(n)
    w, e, m = rng.integers(0, 65536, (4, n)).astype(np.uint16), rows(rng, lens, n, (), -9, 10, np.float16), rng.random((4, n)) < 0.5
    s = np.array([w[b, 1:k].sum() for b, k in enumerate(lens)], I)
    c = np.array([m[b, :k].sum() for b, k in enumerate(lens)], I)
    t = np.nansum(e.astype(F), 1)
    arrays = {"W": w, "E": e, "M": m, "L": lens, "S": full(4, I), "T": full(4), "C": full(4, I)}
    return arrays, {}, {"S": s, "T": t, "C": c}, 0


@program("""
// softmax along the first of three dimensions, with bounds in two; the lowest of each line
kernel three(X: f32[N, P, D], len: i32, p: i32, Y: inout f32[N, P, D], A: inout i32[P, D], S: inout f32[N])
{
    grid(ceil(D, 8));
    let d = block.x * 8;
    let x: register = X[0 :+ 200 below len, 0 :+ 5 from 1 below p, d :+ 8];
    let e = exp2(x - reduce_max(x, 0));
    Y[0 :+ 200, 0 :+ 5, d :+ 8] = e / sum(e, 0);
    A[0 :+ 5, d :+ 8] = reshape(argmin(x, 0), 5, 8);
    if d == 0 {
        S[0 :+ 200] = reshape(sum(sum(x, 2), 1), 200);
    }
}
""")
def three(n, rng):
    n = min(n, 150)
    m, p, d = n - n // 6, 4, 9
    x, y, a, s = full((n, 6, d), v=np.nan), full((n, 6, d)), full((6, d), I), full(n)
    part = rng.integers(-9, 10, (m, 3, d)).astype(F)
    x[:m, 1:4] = part
    e = np.exp2(part - part.max(0))
    y[:m, 1:4] = e / e.sum(0)
    a[1:4] = part.argmin(0)
    s[:m] = part[:, :, :8].sum((1, 2))
    arrays = {"X": x, "Y": full(x.shape), "A": full(a.shape, I), "S": full(n)}
    return arrays, {"len": m, "p": p}, {"Y": y, "A": a, "S": s}, 4e-6  # as sink


@program("""
// the 33 best of a row that may have fewer, and the rows of another tensor at their places
kernel topk_gather(X: f32[B, N], L: i32[B], T: f32[N, D], V: inout f32[B, 33], G: inout f32[B, 33, D], S: inout f32[B, D])
{
    grid(B);
    let b = block.x, len = L[b];
    let (v, i) = topk(X[b, 0 :+ 200 below len], 33, 0);
    let g = T[i, 0 :+ 12];
    V[b, :] = v;
    G[b, :, 0 :+ 12] = g;
    S[b :+ 1, 0 :+ 12] = sum(g * v[:, newaxis], 0);
}
""")
def topk_gather(n, rng):
    n = min(n, 200)
    lens = lengths(n)
    x, t = rows(rng, lens, n, (), -60, 61), rng.integers(-9, 10, (n, 10)).astype(F)
    v, g, s = full((4, 33)), full((4, 33, 10)), full((4, 10), v=0)
    for b, m in enumerate(lens):
        at = np.argsort(-x[b, :m], kind="stable")[:33]
        v[b, : len(at)], g[b, : len(at)] = x[b, at], t[at]
        s[b] = x[b, at] @ t[at]
    arrays = {"X": x, "L": lens, "T": t, "V": full(v.shape), "G": full(g.shape), "S": full(s.shape)}
    return arrays, {}, {"V": v, "G": g, "S": s}, 0


@program("""
// updates of ranges of a tensor: plain, atomic, and with old values
kernel updates(X: i32[N], R: i64[B, 2], Y: inout i32[N], Z: inout i32[N], T: inout i32[N], U: inout i32[N])
{
    grid(1);
    for b in 0..B {
        let lo = R[b, 0], hi = R[b, 1];
        for n in lo - 3..hi + 2 step 40 {
            let x: register = X[n :+ 40];
            Y[n :+ 40 from lo below hi] += x;
            atomic_max(Z[n :+ 40 from lo below hi], x);
            U[n :+ 40] = atomic_swap(T[n :+ 40 from lo below hi], x);
        }
    }
}
""")
def updates(n, rng):
    r = np.array([[0, n // 2], [n // 3, n + 4], [-6, 1], [n, n]], L)
    x = rng.integers(-9, 10, n).astype(I)
    y, z, t, u = rng.integers(-9, 10, n).astype(I), full(n, I, 2), full(n, I), full(n, I, 55)
    arrays = {"X": x, "Y": y.copy(), "Z": z.copy(), "T": t.copy(), "U": u.copy()}
    arrays["R"] = r
    for lo, hi in r:
        s = slice(max(lo, 0), hi)
        y[s] += x[s]
        z[s] = np.maximum(z[s], x[s])
        u[s], t[s] = t[s], x[s]
    return arrays, {}, {"Y": y, "Z": z, "T": t, "U": u}, 0


@program("""
// rows chosen by a list with a length, columns by another: neither is there behind its end
kernel lists(X: f32[R, C], I: i32[N], J: i32[N], ni: i32, nj: i32, Y: inout f32[N, N], S: inout f32[N], T: inout f32[1])
{
    grid(ceil(N, 32), ceil(N, 32));
    let m = block.x * 32, n = block.y * 32;
    let i: register = I[m :+ 32 below ni], j: register = J[n :+ 32 below nj];
    let x = X[i[:, newaxis], j];
    Y[m :+ 32, n :+ 32] = x;
    atomic_add(S[m :+ 32], reshape(sum(x, 1), 32));
    atomic_add(T[0 :+ 1], reshape(sum(sum(x, 0), 1), 1));
}
""")
def lists(n, rng):
    n = min(n, 90)
    x = rng.integers(-9, 10, (n + 2, n + 3)).astype(F)
    i, j, ni, nj = rng.integers(-2, n + 4, n).astype(I), rng.integers(-2, n + 5, n).astype(I), n - n // 3, (n + 1) // 2
    y, s = full((n, n)), full(n, v=0)
    for a in range(ni):
        for b in range(nj):
            y[a, b] = x[i[a], j[b]] if 0 <= i[a] < n + 2 and 0 <= j[b] < n + 3 else 0
    s[:ni] = y[:ni, :nj].sum(1)
    t = np.array([s.sum()], F)
    arrays = {"X": x, "I": i, "J": j, "Y": full((n, n)), "S": full(n, v=0), "T": full(1, v=0)}
    return arrays, {"ni": ni, "nj": nj}, {"Y": y, "S": s, "T": t}, 0

@program("""
// sums from each element to the end of the row: a loop down, in a pipeline; and empty, crossed and far bounds
kernel suffix_sum(X: f32[B, N], FROM: i64[B], TO: i64[B], Y: inout f32[B, N], Z: inout f32[B, 4])
{
    grid(B);
    let b = block.x, lo = FROM[b], hi = TO[b];
    var s: register f32[1] = 0;
    pipeline k in hi - 40..lo - 40 step -40 stages 3 {
        let x: shared = X[b, k :+ 40 from lo below hi];
        let c = cumsum(x, 0), all = sum(x, 0), y = all - c + x + s;
        Y[b, k :+ 40] = y;
        s += all;
    }
    let all: register = X[b, lo :+ 40 from max(lo, -4611686018427387904) below min(hi, 4611686018427387904)];
    Z[b, 0 :+ 1] = sum(all, 0);
    Z[b, 1 :+ 1] = sum(X[b, 0 :+ 40 from hi below lo], 0);
    Z[b, 2 :+ 1] = reduce_max(X[b, lo :+ 40 from hi + 1000000000000 below hi + 4000000000000], 0);
    Z[b, 3 :+ 1] = mean(X[b, lo - 400000 :+ 40 from lo below hi], 0);
}
""")
def suffix_sum(n, rng):
    lo, hi = np.array([0, n // 4, n // 2, n], L), np.array([n, n, n // 2 + 1, n], L)
    x, y, z = full((4, n), v=np.nan), full((4, n)), full((4, 4), v=0)
    for b in range(4):
        r = slice(lo[b], hi[b])
        x[b, r] = rng.integers(-9, 10, x[b, r].shape)
        y[b, r] = np.cumsum(x[b, r][::-1])[::-1]
        z[b] = x[b, r][:40].sum(), 0, -np.inf, np.nan
    return {"X": x, "FROM": lo, "TO": hi, "Y": full((4, n)), "Z": full((4, 4))}, {}, {"Y": y, "Z": z}, 0


@program("""
// single indices with bounds, as rows and as scalars; rows behind count are not there
kernel single(X: f32[B, N], count: i64, len: i32, Y: inout f32[B, N], S: inout f32[B, N], T: inout f32[B])
{
    grid(B, ceil(N, 32));
    let b = block.x, n = block.y * 32;
    Y[b, n :+ 32] = X[b below count, n :+ 32 below len] * 2;
    let x = X[b below count, n below len];
    S[b, n :+ 32] = x;
    if x > 0 {
        T[b from 1] = 5;
    }
}
""")
def single(n, rng):
    x, y, s, t = full((4, n), v=np.nan), full((4, n)), full((4, n)), full(4)
    m = n - n // 3
    x[:3, :m] = rng.integers(-9, 10, (3, m))
    y[:3, :m] = x[:3, :m] * 2
    z = np.zeros((4, n), F)
    z[:3, :m] = x[:3, :m]
    for i in range(0, n, 32):
        s[:, i : i + 32] = z[:, i : i + 1]
        t[1:][z[1:, i] > 0] = 5
    arrays = {"X": x, "Y": full((4, n)), "S": full((4, n)), "T": full(4)}
    return arrays, {"count": 3, "len": m}, {"Y": y, "S": s, "T": t}, 0


@program("""
// an image with a valid rectangle: 3 x 3 sums and maxima of 2 x 2 with stride 2
kernel image(X: f32[H, W], R: i64[4], Y: inout f32[H, W], P: inout f32[H, W])
{
    grid(ceil(H, 8), ceil(W, 32));
    let h = block.x * 8, w = block.y * 32, top = R[0], bottom = R[1], left = R[2], right = R[3];
    var y: register f32[8, 32] = 0, p: register f32[8, 32] = -inf;
    for i in -1..2 {
        for j in -1..2 {
            y += fill(X[h + i :+ 8 from top below bottom, w + j :+ 32 from left below right], 0);
        }
    }
    for i in 0..2 {
        for j in 0..2 {
            let x: register = X[2 * h + i :+ 8 step 2 from top below bottom, 2 * w + j :+ 32 step 2 from left below right];
            p = max(p, fill(x, -inf));
        }
    }
    Y[h :+ 8 from top below bottom, w :+ 32 from left below right] = y;
    P[h :+ 8, w :+ 32] = p;
}
""")
def image(n, rng):
    h, w = 11, n
    t, b, l, r = 1, 9, n // 5, n - n // 4
    x, y, p = full((h, w), v=np.nan), full((h, w)), full((h, w), v=-np.inf)
    x[t:b, l:r] = rng.integers(-9, 10, (b - t, r - l))
    z = np.zeros((h + 2, w + 2), F)
    z[1 + t : 1 + b, 1 + l : 1 + r] = x[t:b, l:r]
    y[t:b, l:r] = sum(z[i : i + h, j : j + w] for i in range(3) for j in range(3))[t:b, l:r]
    for i in range(t, b):
        for j in range(l, r):
            p[i // 2, j // 2] = max(p[i // 2, j // 2], x[i, j])
    arrays = {"X": x, "R": np.array([t, b, l, r], L), "Y": full((h, w)), "P": full((h, w))}
    return arrays, {}, {"Y": y, "P": p}, 0


@program("""
// codes of 4 bits and floats of 8 with lengths; bounds at any bit
kernel narrow(W: u4[B, N], E: e4m3[B, N], L: i32[B], S: inout i32[B], T: inout f32[B], Y: inout f32[B, N])
{
    grid(B);
    let b = block.x, len = L[b];
    var s: register i32[1] = 0, t: register f32[1] = 0;
    for k in 0..i64(len) step 64 {
        let w: register = W[b, k :+ 64 from 3 below len], e: register = E[b, k :+ 64 below len];
        s += sum(i32(w), 0);
        t += sum(f32(e), 0);
        Y[b, k :+ 64] = f32(w) * f32(e);
    }
    S[b :+ 1] = s;
    T[b :+ 1] = t;
}
""")
def narrow(n, rng):
    lens = lengths(n)
    w = rng.integers(0, 16, (4, n)).astype(np.uint8)
    e = np.full((4, n), 0x7F, np.uint8)  # NaN of e4m3
    v, y = np.zeros((4, n), F), full((4, n))
    codes, numbers = np.array([0, 0x38, 0x40, 0xB8, 0xC0, 0x30], np.uint8), np.array([0, 1, 2, -1, -2, 0.5], F)
    for b, m in enumerate(lens):
        i = rng.integers(0, 6, m)
        e[b, :m], v[b, :m] = codes[i], numbers[i]
        y[b, 3:m] = w[b, 3:m] * v[b, 3:m]
    s = np.array([w[b, 3:m].sum() for b, m in enumerate(lens)], I)
    arrays = {"W": w, "E": e, "L": lens, "S": full(4, I), "T": full(4), "Y": full((4, n))}
    return arrays, {}, {"S": s, "T": v.sum(1), "Y": y}, 0


@program("""
// blocks wait for all: the mean of a ragged row, then its variance, in one cooperative launch
kernel variance(X: f32[N], len: i64, P: inout f32[2, G], S: inout i32[1], Y: inout f32[N], V: inout f32[1])
{
    grid(G);
    var s: register f32[1] = 0, q: register f32[1] = 0;
    for n in block.x * 56..len step G * 56 {
        s += sum(X[n :+ 56 below len], 0);
    }
    P[0, block.x :+ 1] = s;
    grid_barrier(S[0]);
    let mid = floor(sum(P[0, 0 :+ 8], 0) / f32(len));
    for n in block.x * 56..len step G * 56 {
        let d = X[n :+ 56 below len] - mid;
        Y[n :+ 56] = d;
        q += sum(d * d, 0);
    }
    P[1, block.x :+ 1] = q;
    grid_barrier(S[0]);
    if block.x == 0 {
        V[0 :+ 1] = sum(P[1, 0 :+ 8], 0);
    }
}
""")
def variance(n, rng):
    x, y = rows(rng, [n], n + 60)[0], full(n + 60)
    x[0] += n // 2 + 0.25 - (x[:n].sum() + n // 2 + 0.25) % n if n > 1 else 0.25  # no quotient near a whole number
    x[0] += n // 2
    mid = np.floor(x[:n].sum(dtype=np.float64) / n).astype(F)
    y[:n] = x[:n] - mid
    v = np.array([(y[:n].astype(np.float64) ** 2).sum()], F)
    arrays = {"X": x, "P": full((2, 3), v=np.nan), "S": full(1, I, 0), "Y": full(n + 60), "V": full(1)}
    return arrays, {"len": n}, {"Y": y, "V": v}, 1e-6  # sums of squares above 2^24


def compare(got, want, tolerance):
    rtol, atol = tolerance if isinstance(tolerance, tuple) else (tolerance, 0)
    for name, w in want.items():
        if got[name].shape != w.shape:
            return f"{name}: shape {got[name].shape}, not {w.shape}"
        if not np.allclose(got[name].astype(np.float64), w.astype(np.float64), rtol, atol, equal_nan=True):
            bad = ~np.isclose(got[name].astype(np.float64), w.astype(np.float64), rtol, atol, equal_nan=True)
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            return f"{name}{list(at)} is {got[name][at]}, not {w[at]}; {bad.sum()} of {w.size} differ"
    return None


def check(p, n):
    _, source, make, consts = p
    arrays, scalars, want, tolerance = make(n, np.random.default_rng(n))
    values = {name: max(arrays[array].shape[dim], least) for name, (array, dim, least) in consts.items()}
    options = [f"-D{name}={value}" for name, value in values.items()]
    with tempfile.TemporaryDirectory() as folder:
        try:
            for how, got in run(folder, source, arrays, scalars, HOW[:2] if QUICK else HOW, options):
                if problem := compare(got, want, tolerance):
                    return f"n = {n}, {how}: {problem}"
        except AssertionError as e:
            return str(e)
    return None


if __name__ == "__main__":
    sys.exit(judge(PROGRAMS, sys.argv[1:], check, (1, 7, 33, 200, 1000), (33,), (2880, 4304)) != 0)
