# Kernels that test_triton.c runs on the simulator, as PTX that make-ptx compiles from them. They are written for
# this test and use common Triton features: masks, pipelined loops, dots, reductions, scans, atomics, bit
# operations, and tensor descriptors created by the device and by the host.
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, m, n, k, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(m, BM)
    tiles_n = tl.cdiv(n, BN)
    first = pid // (GROUP * tiles_n) * GROUP
    rows = min(tiles_m - first, GROUP)
    im = first + pid % (GROUP * tiles_n) % rows
    jn = pid % (GROUP * tiles_n) // rows
    i = im * BM + tl.arange(0, BM)
    j = jn * BN + tl.arange(0, BN)
    r = tl.arange(0, BK)
    pa = a + i[:, None] * sam + r[None, :]
    pb = b + r[:, None] * sbk + j[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for t in range(0, tl.cdiv(k, BK)):
        left = k - t * BK
        x = tl.load(pa, mask=(i[:, None] < m) & (r[None, :] < left), other=0.0)
        y = tl.load(pb, mask=(r[:, None] < left) & (j[None, :] < n), other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * sbk
    tl.store(c + i[:, None] * scm + j[None, :], acc.to(tl.float16), mask=(i[:, None] < m) & (j[None, :] < n))


# Descriptors created by the host: each is a tensor map in the parameters. A fixed number of blocks
# iterates over the tiles.
@triton.jit
def matmul_tma(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(n, BN)
    tiles = tl.cdiv(m, BM) * tiles_n
    for t in range(tl.program_id(0), tiles, tl.num_programs(0)):
        i = t // tiles_n * BM
        j = t % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for p in range(0, k, BK):
            acc = tl.dot(a.load([i, p]), b.load([p, j]), acc)
        c.store([i, j], acc.to(tl.float16))


# Descriptors created by the kernel in the scratch memory of the launcher.
@triton.jit
def matmul_desc(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    i = tl.program_id(0) * BM
    j = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for p in range(0, k, BK):
        acc = tl.dot(da.load([i, p]), db.load([j, p]).T, acc)
    dc.store([i, j], acc.to(tl.float16))


@triton.jit
def softmax(y, x, sy, sx, rows, cols, B: tl.constexpr):
    o = tl.arange(0, B)
    for r in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + r * sx + o, mask=o < cols, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + r * sy + o, e / tl.sum(e, axis=0), mask=o < cols)


@triton.jit
def layer_norm(x, y, w, b, mean, rstd, sx, cols, eps, B: tl.constexpr):
    r = tl.program_id(0)
    x += r * sx
    y += r * sx
    s = tl.zeros((B,), tl.float32)
    for p in range(0, cols, B):
        o = p + tl.arange(0, B)
        s += tl.load(x + o, mask=o < cols, other=0.0).to(tl.float32)
    mu = tl.sum(s, axis=0) / cols
    s = tl.zeros((B,), tl.float32)
    for p in range(0, cols, B):
        o = p + tl.arange(0, B)
        v = tl.load(x + o, mask=o < cols, other=0.0).to(tl.float32)
        v = tl.where(o < cols, v - mu, 0.0)
        s += v * v
    rs = tl.rsqrt(tl.sum(s, axis=0) / cols + eps)
    tl.store(mean + r, mu)
    tl.store(rstd + r, rs)
    for p in range(0, cols, B):
        o = p + tl.arange(0, B)
        v = tl.load(x + o, mask=o < cols, other=0.0).to(tl.float32)
        g = tl.load(w + o, mask=o < cols)
        h = tl.load(b + o, mask=o < cols)
        tl.store(y + o, ((v - mu) * rs * g + h).to(tl.float16), mask=o < cols)


@triton.jit
def attention(q, k, v, o, scale, heads_stride, n, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
              D: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    base = tl.program_id(1).to(tl.int64) * heads_stride
    x = tl.load(q + base + i[:, None] * D + d[None, :], mask=i[:, None] < n, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    scale = scale * 1.4426950408889634
    end = n
    if CAUSAL:
        end = min(n, (tl.program_id(0) + 1) * BM)
    for p in range(0, end, BN):
        j = p + tl.arange(0, BN)
        kt = tl.load(k + base + j[None, :] * D + d[:, None], mask=j[None, :] < n, other=0.0)
        s = tl.dot(x, kt) * scale
        keep = j[None, :] < n
        if CAUSAL:
            keep = keep & (j[None, :] <= i[:, None])
        s = tl.where(keep, s, -float("inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        e = tl.exp2(s - new[:, None])
        old = tl.exp2(top - new)
        total = total * old + tl.sum(e, axis=1)
        vv = tl.load(v + base + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        acc = tl.dot(e.to(tl.float16), vv, acc * old[:, None])
        top = new
    acc = acc / total[:, None]
    tl.store(o + base + i[:, None] * D + d[None, :], acc.to(tl.float16), mask=i[:, None] < n)


# c = a * dequantised w: eight 4-bit weights of a column per 32-bit word, one scale and zero
# point for GROUP rows of k.
@triton.jit
def matmul_w4(a, w, s, z, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
              GROUP: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    r = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for p in range(0, k, BK):
        x = tl.load(a + i[:, None] * k + p + r[None, :], mask=i[:, None] < m, other=0.0)
        word = tl.load(w + (p + r[:, None]) // 8 * n + j[None, :])
        code = (word >> (r[:, None] % 8 * 4)) & 15
        g = p // GROUP * n + j
        y = (code - tl.load(z + g)[None, :].to(tl.int32)).to(tl.float16) * tl.load(s + g)[None, :]
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * n + j[None, :], acc.to(tl.float16), mask=i[:, None] < m)


@triton.jit
def _add(a, b):
    return a + b


# Cumulative sums, argmax, a histogram, a sort and atomics: the remaining reductions of Triton.
@triton.jit
def scans(x, sums, best, sorted, bins, total, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o)
    tl.store(sums + o, tl.associative_scan(v, 0, _add))
    tl.store(best + tl.program_id(0), tl.argmax(v, axis=0))
    tl.store(sorted + o, tl.sort(v))
    tl.store(bins + tl.program_id(0) * 64 + tl.arange(0, 64), tl.histogram(v & 63, 64))
    tl.atomic_add(total, tl.sum(v, axis=0))
    tl.atomic_max(total + 1, tl.max(v, axis=0))


# Triton's counter-based random numbers, and sums that blocks update under a lock.
@triton.jit
def dropout(x, y, n, p, seed, lock, count, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, o) > p
    v = tl.load(x + o, mask=o < n, other=0.0)
    tl.store(y + o, tl.where(keep, v / (1 - p), 0.0), mask=o < n)
    kept = tl.sum(tl.reshape((keep & (o < n)).to(tl.int32), (B // 4, 4)), axis=1)
    c = count + tl.arange(0, B // 4)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(c, tl.load(c) + kept)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
