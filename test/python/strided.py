"""Operators whose tensors have strides, compared with NumPy. Each tensor is in a flat array: what is between the
elements of an input is NaN, and what is between those of an output must stay. Run by run-strided.sh; the device is
the simulator."""

import ctypes
import os
import re
import unittest
from pathlib import Path

import numpy as np

import hexc
from hexc._abi import function
from hexc._sim import _Tensor
from hexc_tune.ops import directives

F16, F32, I32, I64 = np.float16, np.float32, np.int32, np.int64
GAP = 55  # what an output holds before, and still holds between its elements


def integers(*shape, seed=1, low=-9, high=9, dtype=F32):
    """For f32, sums and products with these values are exact."""
    return np.random.default_rng(seed).integers(low, high + 1, shape).astype(dtype)


def strided(values, order="", pad=0, gap=None):
    """The values in a flat array, as a view of it: row-major once the dims are in this order ("1023": the first two
    are swapped), with `pad` elements behind each of its rows."""
    dims = [int(d) for d in order or "01234"[: values.ndim]]
    shape = [values.shape[d] for d in dims]
    flat = np.full([*shape[:-1], shape[-1] + pad], gap or (np.nan if values.dtype.kind == "f" else 99), values.dtype)
    view = flat[..., : shape[-1]].transpose(np.argsort(dims))
    view[...] = values
    return view


def memory(view, skip):
    """What is between its first and its last element, behind `skip` others."""
    span = 1 + sum((d - 1) * s for d, s in zip(view.shape, view.strides, strict=True)) // view.itemsize
    return np.pad(np.lib.stride_tricks.as_strided(view, (span,), (view.itemsize,)), (skip, 0), constant_values=GAP)


class Tensor:
    """A copy of a view's memory on a device, at an address that is a multiple of 16 or, with skip=1, is not."""

    def __init__(self, view, skip, gpu):
        self.array = hexc.to_device(memory(view, skip), gpu)
        said = {"shape": view.shape, "typestr": view.dtype.str, "strides": view.strides, "version": 3}
        self.__cuda_array_interface__ = said | {"data": (self.array.address + skip * view.itemsize, False)}


def packed(p, codes, gpu):
    """Codes on a device, in the pack of this parameter."""
    size, dims = ctypes.c_uint64(), (ctypes.c_int64 * codes.ndim)(*codes.shape)
    assert not function("hexc_pack_bytes")(p.pack.encode(), codes.ndim, dims, ctypes.byref(size), None, 0)
    return hexc.to_device(_Tensor(p, codes.shape, (), size.value).send(codes), gpu)


def both(name, **settings):
    """The operator for each arch, and the device."""
    return [(hexc.operator(name, arch=a, prove=True, **settings), hexc.simulator(n)) for a, n in (("sm_80", 80), ("sm_90a", 90))]


def sizes_of(op, views):
    """The sizes and strides that its kernels name."""
    found = {}
    tensors = (p for line in op.lines for k in line.kernels for p in k.params if p.kind == "tensor")
    for p in (p for p in tensors if p.name in views):
        a = views[p.name]
        found |= zip([*p.shape, *p.strides], [*a.shape, *(s // a.itemsize for s in a.strides)], strict=True)
    return {p.name: found[p.name] for p in op.params if p.kind == "size"}


def right(ops, line, want, order="", pad=0, before=None, near=(), **args):
    """Takes this line of the table, at odd addresses if it is for any, and writes `want` where `strided` has it, and nothing
    else: of several outputs a dict of values, with a dict of orders. `near` are a relative and an absolute tolerance."""
    for op, gpu in ops:
        odd, out = int(op.lines[line].kernels[0].constants["ALIGN"] == 1), [p.name for p in op.params if p.written]
        values, orders = (want, order) if isinstance(want, dict) else ({out[0]: want}, {out[0]: order})
        first = {out[0]: before} if isinstance(before, np.ndarray) else before or {}
        views = {n: strided(first.get(n, np.full_like(x, GAP)), orders[n], pad, GAP) for n, x in values.items()} | args
        given = {name: Tensor(v, odd, gpu) if isinstance(v, np.ndarray) else v for name, v in views.items()}
        given |= {p.name: packed(p, views[p.name], gpu) for p in op.params if p.pack}
        sizes, taken = sizes_of(op, views), ctypes.c_size_t()
        op.launch(device=gpu, **given, **sizes)
        op._calls._of[gpu].do("hexc_family_call_line", ctypes.byref(taken), None)
        assert taken.value == line, f"line {taken.value}, not {line}: {sizes}"
        same = np.testing.assert_allclose if near else np.testing.assert_array_equal
        for name in out:
            have, end = given[name].array.numpy(), memory(strided(values[name], orders[name], pad, GAP), odd)
            same(have, end, *near, err_msg=f"{name} {sizes}")


def rows_of(table, at):
    """table[at], with 0 where there is no such row"""
    return np.concatenate([table[:1] * 0, table, table[:1] * 0])[np.clip(at, -1, len(table)) + 1]


def windows(a, m, n, k, step, edge):
    """The k x k elements for each of m x n results, with 0 outside of a, and which of them a has."""
    sides = ((0, 0), (0, 0), (edge, edge), (edge, edge))
    p, q, i, j, t = np.mgrid[0 : a.shape[0], 0 : a.shape[1], 0:m, 0:n, 0 : k * k]
    at = p, q, i + t // max(k, 1), j * step + t % max(k, 1)
    return np.pad(a, sides)[at], np.pad(np.ones_like(a, bool), sides)[at]


class Weight:
    """Planes of codes[PB, QB, N, K] for these settings of matmul_packed, by the names of its tensors, and the values. Scales
    are powers of two and codes integers: values, and their sums with such, are exact in f16."""

    PLANES = {"scale": "S", "scale2": "SS", "offset": "O", "offset2": "OO"}
    TYPES = {"f16": F16, "i8": np.int8, "u8": np.uint8, "e8m0": np.uint8, "i32": I32}
    E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])

    def __init__(self, shape, settings, seed=1, second=False):
        self.settings, self.shape, self.rng, self.tensors, self.second = settings, shape, np.random.default_rng(seed), {}, second
        code = settings.get("codes", "u4").split(") ")[-1]
        bits = int(re.sub("e2m1", "4", code).lstrip("ui"))
        low = -(1 << bits - 1) if code[0] == "i" else 0
        w = self.rng.integers(low, low + (1 << bits), shape)
        self.tensors["Z" if second else "W"] = w.astype(np.int8 if code[0] == "i" else np.uint8)
        values = np.concatenate([self.E2M1, -self.E2M1]) if code == "e2m1" else None
        if "table" in settings:
            values = self.rng.integers(-99, 100, int(settings.get("numbers", 16)))
            self.tensors["TZ" if second else "T"] = values.astype(self.TYPES[settings["table"]])
        x = (w if values is None else values[w]) - settings.get("BIAS", 0)
        if "scale" in settings:
            x = x * self.plane("scale", (-2, -1, -0.5, 0.5, 1, 2)) * self.plane("scale2", (-1, 0.5, 1, 2))
        if "offset" in settings:
            x = x + self.plane("offset", (-32, -7, 0, 5, 31)) * self.plane("offset2", (-1, -0.5, 1, 2))
        assert (x == x.astype(F16)).all(), settings
        if "factor" in settings:
            x, self.tensors["factor_z" if second else "factor"] = x * -1.5, -1.5
        self.values = x.astype(F32)

    def plane(self, name, floats):
        """Random values for each group of each row, those of f16 from these."""
        if name not in self.settings:
            return 1
        kind, group = self.settings[name], self.settings.get("G2", 256) if name[-1] == "2" else self.settings.get("G", 32)
        pb, qb, n, k = self.shape
        shape = pb, qb, -(-k // group), n
        if kind == "f16":
            codes = values = self.rng.choice(floats, shape)
        elif kind == "e8m0":
            codes = self.rng.integers(125, 130, shape)
            values = 2.0 ** (codes - 127)
        else:
            codes = values = self.rng.integers(-8 if kind == "i8" else 0, 16, shape)
        short = self.PLANES[name]
        self.tensors[f"Z{short}" if self.second else short] = codes.astype(self.TYPES[kind])
        return np.repeat(values, group, 2)[:, :, :k].swapaxes(2, 3)


PACKED = {
    "u4": {"scale": "f16"},
    "u4 with a bias": {"scale": "f16", "BIAS": 8, "factor": "f32"},
    "u6 with two scales": {"codes": "u6", "BIAS": 32, "scale": "i8", "scale2": "f16", "G": 16},
    "u4 with two offsets": {"scale": "u8", "scale2": "f16", "offset": "u8", "offset2": "f16"},
    "u5 with an offset": {"codes": "u5", "scale": "f16", "offset": "f16"},
    "u2 of 16": {"codes": "u2", "scale": "f16", "G": 16},
    "u3": {"codes": "u3", "BIAS": 4, "scale": "i8", "scale2": "f16", "G": 16},
    "i8": {"codes": "i8", "scale": "f16", "IN": "f16", "OUT": "f16"},
    "codes alone": {"BIAS": 8, "factor": "f32", "IN": "f16"},
    "a table": {"table": "i8", "scale": "f16"},
    "a table of 2": {"codes": "u1", "table": "i8", "numbers": 2, "scale": "f16", "G": 128},
    "e2m1": {"codes": "e2m1", "scale": "e8m0", "ACT": "bf16"},
}


def pack_of(name, table=False):
    """The pack in which the ggml backend writes codes of this type, which are numbers or number those of a table."""
    text = re.sub(r'"\s*"', "", Path("examples/ggml/packed.c").read_text())
    place = re.search(r'streams 32 (place .*?)"', text)[1]
    rows = re.findall(r'\bPACK\("(\w+)", (\w+), (\d+)\)', text)
    packs = {(t, b): f"hexc-pack 1 {t} block 16x64 spread {s} streams 32 {place}" for t, b, s in rows}
    packs |= {(t, b): p for t, b, p in re.findall(r'\{ "(\w+)", (\w+), "(hexc-pack .*?)"', text)}
    return packs[name, str(table).lower()]


def packs_of(op):
    """Those in which its kernels read W."""
    return {p.pack for line in op.lines for kernel in line.kernels for p in kernel.params if p.name == "W"}


class Strided(unittest.TestCase):
    # Lines of matmul_packed, with P, Q, PB, QB, M, N, K
    PRODUCTS = ((0, 2, 6, 2, 3, 7, 48, 320), (0, 1, 1, 1, 1, 8, 80, 512), (1, 1, 1, 1, 1, 1, 8256, 64), (2, 2, 2, 1, 2, 9, 48, 96),
                (3, 2, 1, 2, 1, 17, 80, 256), (4, 1, 2, 1, 1, 257, 1040, 64), (5, 4, 1, 2, 1, 3, 67, 300), (6, 1, 2, 1, 1, 16, 33, 75),
                (7, 2, 1, 1, 1, 18, 67, 130))  # fmt: skip # of matmul_packed
    TURNS = ((80, 32, 0, 0), (64, 48, 10, 1), (33, 16, 1, 0), (96, 64, 32, 1), (64, 64, 0, 1))  # of rotary: D, ROT, BEGIN, PAIRS
    LINES = ((0, 10, 100, 1), (0, 3, 128, 0), (1, 5, 300, 4), (2, 2, 1000, 3), (3, 2, 1030, 0), (4, 1, 4100, 2),
             (5, 1, 8200, 8), (6, 2, 70, 1))  # fmt: skip # of norm and softmax: line, M, N, pad

    def test_embedding(self):
        ops = both("embedding", strided=1, IN="f32", tensors="k: f32, place: f32[M, N]", epilogue="x * k + place[m, n]")
        for line, m, n, pad in (0, 5, 300, 4), (1, 21, 50, 2), (2, 70, 260, 0), (2, 71, 257, 1), (3, 9, 47, 0), (3, 3, 270, 2):
            e, at, place = integers(2, 3, 11, n), integers(2, 3, m, low=-2, high=12, dtype=I32), integers(m, n, seed=2)
            want = np.array([[rows_of(e[p, q], at[p, q]) * 3 + place for q in range(3)] for p in range(2)])
            args = {"E": strided(e, "1203", pad), "I": strided(at, "201", 1), "k": 3, "place": place}
            right(ops, line, want, "0213", pad, **args)

    def test_embedding_of_repeated_tables(self):
        """Strides of 0. Integers stay exact, and indices are not cut to 32 bits."""
        ops = both("embedding", strided=1, IN="i32", INDEX="i64")
        for line, m, n, pad in (0, 9, 257, 3), (1, 40, 64, 0), (2, 65, 100, 0), (2, 65, 100, 1), (3, 65, 100, 0):
            e, at = integers(1, 3, 7, n, low=-(2**31), high=2**31 - 1, dtype=I32), integers(4, 1, m, low=-1, high=7, dtype=I64)
            at[0, 0, :3] = 2**32, 1 - 2**32, 6
            want = np.array([[rows_of(e[0, q], at[p, 0]) for q in range(3)] for p in range(4)])
            e, at = np.broadcast_to(strided(e, "", pad), (4, 3, 7, n)), np.broadcast_to(strided(at, "", 3), (4, 3, m))
            right(ops, line, want, "1023", pad, E=e, I=at)

    def test_set_rows(self):
        """Other rows of Y stay; P and Q count more slices than the indices have."""
        add = {"tensors": "bias: f32[N]", "epilogue": "x * 2 + bias[n]"}
        for kind, index, more in (F16, I32, {"OUT": "f16", "INDEX": "i32"}), (F32, I64, {"OUT": "f32", "INDEX": "i64"} | add):
            ops, rng = both("set_rows", IN="f32", **more), np.random.default_rng(4)
            for line, m, n, pad in (0, 6, 258, 2), (1, 20, 33, 0), (2, 70, 100, 4), (2, 70, 101, 1), (3, 30, 65, 1):
                x, bias, before = integers(4, 3, m, n) * F32(0.3), integers(n), integers(4, 3, m + 5, n, seed=2).astype(kind)
                at = np.array([[rng.permutation(np.arange(-4, m + 9))[:m]] for _ in range(2)], index)
                want, value = before.copy(), x if kind == F16 else x * 2 + bias
                for p, q, i in np.ndindex(4, 3, m):
                    if 0 <= at[p % 2, 0, i] < m + 5:
                        want[p, q, at[p % 2, 0, i]] = value[p, q, i]
                args = {"X": strided(x, "2013", pad), "I": strided(at, "021", 2)} | ({} if kind == F16 else {"bias": bias})
                right(ops, line, want, "1023", pad, before=before, **args)

    def test_matmul(self):
        """Several slices of A meet one of B; rows have gaps; K is any."""
        ops = both("matmul", IN="f32", tensors="bias: f32[N]", epilogue="max(x + bias[n], -20)")
        for line, m, n, k, pad in ((0, 7, 70, 100, 4), (0, 8, 66, 600, 0), (1, 16, 65, 67, 0), (2, 33, 40, 72, 8), (2, 20, 129, 75, 1),
                                   (3, 260, 1032, 40, 0), (4, 5, 30, 267, 1), (5, 13, 30, 67, 1), (6, 19, 66, 37, 3), (6, 18, 64, 64, 0)):  # fmt: skip
            p, q, pb, qb = (1, 2, 1, 1) if line == 3 else (4, 6, 2, 3)
            a, b, bias = integers(p, q, m, k), integers(pb, qb, n, k, seed=2).astype(F16), integers(n, seed=3)
            met = b[np.arange(p) * pb // p][:, np.arange(q) * qb // q].astype(F32)
            want = np.maximum(a @ met.swapaxes(2, 3) + bias, -20)
            right(ops, line, want, "2103", pad, A=strided(a, "0213", pad), B=strided(b, "2013", pad), bias=bias)

    def test_matmul_in_place(self):
        """What is in C is added: of a kernel whose warps sum parts of K each thread reads what others write."""
        for name, settings in (("matmul", {}), ("matmul_packed", PACKED["u4 with two offsets"])):
            ops = both(name, IN="f32", in_place=1, epilogue="x + C[p, q, m, n] * 0.5", **settings)
            for line, p, q, pb, qb, m, n, k in self.PRODUCTS:
                line -= line > 0 and name == "matmul"
                if line not in (0, 2, 3, 5):
                    continue
                a, before = integers(p, q, m, k, low=-2, high=2), integers(p, q, m, n, seed=5)
                w, pad = Weight((pb, qb, n, k), settings or {"codes": "i4"}), 8 if line < 4 else 1
                args = w.tensors if settings else {"B": strided(w.values.astype(F16), "2013", pad)}
                with self.subTest(name=name, line=line):
                    want = self.product(a, w) + before * F32(0.5)
                    right(ops, line, want, "2103", pad, before=before, A=strided(a, "0213", pad), **args)

    def test_matmul_of_rounded_rows(self):
        ops = both("matmul", rounded=1, IN="f32", tensors="bias: f32[N]", epilogue="max(x + bias[n], -20)")
        for line, p, q, m, n, k, pad in ((0, 4, 6, 7, 70, 100, 4), (1, 4, 6, 16, 65, 67, 0), (2, 4, 6, 33, 40, 72, 8), (2, 4, 6, 20, 129, 75, 1),
                                         (3, 1, 2, 260, 1032, 40, 0), (5, 4, 6, 13, 30, 67, 1), (6, 4, 6, 19, 66, 37, 3)):  # fmt: skip
            a, b, bias = integers(p, q, m, k), integers(p, q // 2, n, k, seed=2).astype(F16), integers(n, seed=3)
            want = np.maximum(a @ b[:, np.arange(q) // 2].astype(F32).swapaxes(2, 3) + bias, -20)
            right(ops, line, want, "2103", pad, A=strided(a, "0213", pad), B=strided(b, "2013", pad), bias=bias)

    def test_matmul_of_computed_weights(self):
        """Of bytes with two numbers of four bits each."""
        value = "floor(w[pb, qb, row, col / 2] / where(col % 2 == 0, 1, 16)) % 16 - 8"
        ops = both("matmul", IN="f16", OUT="f16", tensors="w: u8[PB, QB, N, NW] strides [wp, wq, wn, 1]", weight=value)
        for line, m, n, k, pad in (0, 7, 66, 290, 2), (1, 9, 70, 96, 0), (2, 20, 33, 50, 3), (4, 3, 65, 70, 1), (6, 30, 20, 34, 0):
            a, w = integers(2, 2, m, k, high=2, dtype=F16), integers(2, 1, n, k // 2, low=0, high=255, dtype=np.uint8)
            b = np.stack([w % 16, w // 16], -1).reshape(2, 1, n, k).astype(F32) - 8
            want = (a.astype(F32) @ b.swapaxes(2, 3)).astype(F16)  # up to 2 * 8 * 96
            right(ops, line, want, "0213", pad, A=strided(a, "1023", pad), w=strided(w, "2103", pad))

    def test_matmul_of_chosen_slices(self):
        """Where there is none, C stays as it was."""
        ops = both("matmul", tensors="to: i32[P, Q] strides [tp, tq], bias: f32[N]", chosen="to[p, q]", epilogue="x + bias[n]")
        for to in [[4, 0], [3, 1], [4, 2]], [[4, -1], [5, 0], [2**31 - 1, -(2**31)]]:
            for line, m, n, k, pad in (0, 1, 100, 72, 8), (2, 30, 36, 45, 1), (4, 1, 70, 33, 0), (6, 17, 20, 64, 2):
                a, b, bias, at = integers(3, 2, m, k), integers(5, n, k, seed=2).astype(F16), integers(n), np.array(to, I32)
                there = ((at >= 0) & (at < 5))[..., None, None]
                want = np.where(there, a @ rows_of(b, at).astype(F32).swapaxes(2, 3) + bias, F32(GAP))
                args = {"A": strided(a, "2013", pad), "B": strided(b[None], "0213", pad), "to": strided(at, "10", 2)}
                with self.subTest(to=to, line=line):
                    right(ops, line, want, "1023", pad, bias=bias, **args)

    # Lines of `grouped`, with P, Q, QB, N, K and what is between rows
    GROUPS = ((0, 1, 3, 5, 64, 72, 8), (0, 9, 4, 300, 40, 264, 0), (1, 20, 3, 5, 72, 136, 8), (2, 40, 4, 3, 136, 64, 8),
              (3, 65, 2, 1, 1032, 64, 0), (4, 7, 2, 5, 67, 290, 1), (5, 25, 4, 3, 70, 67, 1))  # fmt: skip

    @staticmethod
    def grouped(ops, line, weight, rows_apart, tensors, p, q, dtype=F32):
        """Rows of a slice are multiplied together. Those that choose none stay in C; q of A may be the same row for all."""
        slices, n, k = weight.shape
        a, bias, unit = integers(p, q, 1, k, low=-3, high=3, dtype=dtype), integers(n), integers(p, q, n, seed=6)
        at = np.random.default_rng(p).integers(-1, slices + 1, (p, q)).astype(I32)
        at[0, 0] = 2**31 - 1 if p > 1 else slices - 1
        for repeated in False, True:
            x = np.broadcast_to(a[:, :1], a.shape) if repeated else a
            met = np.stack([rows_of(weight, i) for i in at]).astype(F32)
            value = x.astype(F32) @ met.swapaxes(2, 3) + bias - unit[:, :, None] * 2
            want = np.where(((at >= 0) & (at < slices))[..., None, None], value, F32(GAP))
            view = np.broadcast_to(strided(a[:, :1], "2013", rows_apart), a.shape) if repeated else strided(a, "1023", rows_apart)
            args = {"A": view, "ids": strided(at, "10", 2), "bias": bias, "unit": unit} | tensors
            right(ops, line, want, "0213", rows_apart, **args)

    GROUPED = {"grouped": 1, "IN": "f32", "tensors": "bias: f32[N], unit: f32[P, Q, N]", "epilogue": "x + bias[n] - unit[p, q, n] * 2"}

    def test_matmul_of_grouped_rows(self):
        ops = both("matmul", **self.GROUPED)
        for line, p, q, qb, n, k, pad in self.GROUPS:
            b = integers(qb, n, k, seed=2).astype(F16)
            with self.subTest(line=line):
                self.grouped(ops, line, b, pad, {"B": strided(b[None], "0213", pad)}, p, q)

    def test_matmul_of_grouped_rows_and_computed_weights(self):
        value = "floor(w[pb, qb, row, col / 2] / where(col % 2 == 0, 1, 16)) % 16 - 8"
        tensors = f"w: u8[PB, QB, N, NW] strides [wp, wq, wn, 1], {self.GROUPED['tensors']}"
        ops = both("matmul", **self.GROUPED | {"weight": value, "tensors": tensors})
        for line, p, q, qb, n, k, pad in self.GROUPS:
            w = integers(qb, n, (k + 1) // 2, low=0, high=255, dtype=np.uint8)
            b = np.stack([w % 16, w // 16], -1).reshape(qb, n, -1).astype(F32)[..., :k] - 8
            with self.subTest(line=line):
                self.grouped(ops, line, b, pad, {"w": strided(w[None], "0213", pad)}, p, q)

    def test_matmul_of_two_factors_into_rows(self):
        """Rows of C to which no row goes stay; the second factor has strides of its own, or is computed."""
        weight = {"weight": "w[pb, qb, row, col]", "weight_z": "w[pb, qb, row, K - 1 - col] * 2",
                  "tensors": "w: f16[PB, QB, N, K] strides [wp, wq, wn, 1]"}  # fmt: skip
        for more in {"second": 1}, weight:
            ops = both("matmul", IN="f32", rows="i64", epilogue="max(x, 0) - z", **more)
            for line, m, n, k, pad in (0, 7, 70, 300, 4), (1, 12, 40, 72, 8), (2, 33, 40, 72, 8), (4, 5, 30, 67, 1), (6, 19, 66, 37, 3):
                a, b, z = integers(2, 2, m, k), integers(1, 2, n, k, seed=2).astype(F16), integers(1, 2, n, k, seed=3).astype(F16)
                rng, args = np.random.default_rng(4), {"B": strided(b, "2013", pad), "B2": strided(z, "0213", pad)}
                if more == weight:
                    z, args = b[..., ::-1] * 2, {"w": strided(b, "2013", pad)}
                at = np.array([[rng.permutation(np.arange(-4, m + 9))[:m] for _ in range(2)]], I64)
                before, value = integers(2, 2, m + 5, n, seed=5), (a @ w.astype(F32).swapaxes(2, 3) for w in (b, z))
                want, value = before.copy(), np.maximum(next(value), 0) - next(value)
                for p, q, i in np.ndindex(2, 2, m):
                    if 0 <= at[0, q, i] < m + 5:
                        want[p, q, at[0, q, i]] = value[p, q, i]
                right(ops, line, want, "2013", pad, before=before, A=strided(a, "0213", pad), I=strided(at, "", 1), **args)

    def test_matmul_of_two_results(self):
        """Both are of the same A; the first goes to rows."""
        ops = both("matmul", IN="f32", OUT="f16", rows="i32", second=1, also="f32", epilogue="x * 2")
        for line, m, n, k, pad in (0, 7, 70, 300, 4), (1, 12, 40, 72, 8), (2, 33, 40, 72, 8), (4, 5, 30, 67, 1), (6, 19, 66, 37, 3):
            a, b, z = integers(2, 2, m, k, high=3, low=-3), *(integers(1, 2, n, k, seed=s, high=3, low=-3).astype(F16) for s in (2, 3))
            at, before = np.arange(m, dtype=I32)[None, None] * 2, integers(2, 2, 2 * m, n, seed=5, dtype=F16)
            one, two = (a @ w.astype(F32).swapaxes(2, 3) for w in (b, z))
            want = before.copy()
            want[:, :, ::2] = one * 2
            args = {"A": strided(a, "0213", pad), "B": strided(b, "2013", pad), "B2": strided(z, "0213", pad), "I": at}
            right(ops, line, {"C": want, "C2": two}, {"C": "2013", "C2": "0123"}, pad, before={"C": before}, **args)

    @staticmethod
    def product(a, w):
        """Slices of A in a row meet the same slice of W. Sums are exact, here and in f32."""
        (p, q), (pb, qb) = a.shape[:2], w.values.shape[:2]
        return a.astype(F32) @ w.values[np.arange(p) * pb // p][:, np.arange(q) * qb // q].swapaxes(2, 3)

    def test_matmul_packed(self):
        """Weights of all kinds; results are exact, but for one rounding to f16."""
        for name, settings in list(PACKED.items())[:: 3 if os.environ.get("QUICK") else 1]:
            ops = both("matmul_packed", **{"IN": "f32"} | settings)
            kind, out = (F16 if settings.get(t) == "f16" else F32 for t in ("IN", "OUT"))
            for line, p, q, pb, qb, m, n, k in self.PRODUCTS:
                if line in (1, 4) and name not in ("u4 with two offsets", "e2m1", "u3"):  # the large ones
                    continue
                a, w, pad = integers(p, q, m, k, low=-3, high=3, dtype=kind), Weight((pb, qb, n, k), settings), 8 if line < 5 else 1
                with self.subTest(name=name, line=line):
                    right(ops, line, self.product(a, w).astype(out), "2103", pad, A=strided(a, "0213", pad), **w.tensors)

    def test_matmul_packed_of_rounded_rows(self):
        for name in "u6 with two scales", "a table":
            ops = both("matmul_packed", rounded=1, **{"IN": "f32"} | PACKED[name])
            for line, p, q, pb, qb, m, n, k in self.PRODUCTS:
                if line not in (1, 4):
                    a, w, pad = integers(p, q, m, k, low=-3, high=3), Weight((pb, qb, n, k), PACKED[name]), 8 if line < 5 else 1
                    with self.subTest(name=name, line=line):
                        right(ops, line, self.product(a, w), "2103", pad, A=strided(a, "0213", pad), **w.tensors)

    def test_matmul_packed_in_a_stated_pack(self):
        """Kernels read the one of `codes`, be it the one that they would choose, or another."""
        other = "hexc-pack 1 u4 block 32x64 spread 16 streams 32 place ((8,4),(2,4,8)):((256,16),(1,64,2))"
        for pack in pack_of("u4"), other:
            ops = both("matmul_packed", IN="f32", codes=f'("{pack}") u4', scale="f16", BIAS=8)
            for op, _ in ops:
                self.assertEqual(packs_of(op), {pack})
                self.assertEqual(len(op.lines), 8)
            for line, p, q, pb, qb, m, n, k in self.PRODUCTS:
                if line not in (1, 4):
                    a, w, pad = integers(p, q, m, k, low=-3, high=3), Weight((pb, qb, n, k), PACKED["u4 with a bias"]), 4 if line < 5 else 1
                    w.tensors.pop("factor")
                    right(ops, line, self.product(a, w) / -1.5, "", pad, A=strided(a, "", pad), **w.tensors)

    def test_packs_of_ggml(self):
        """Those that the backend writes are the ones that kernels choose: the one for the largest sizes does, for all."""
        lines = directives(Path("lib/ops/matmul_packed.hexc").read_text(), "take")
        take = "take " + [x for x in lines if "ALIGN=1" not in x][-1]
        table = f"hexc-family 1\nfamily matmul_packed\n{take}\n"
        for name, settings in PACKED.items():
            for arch in "sm_80", "sm_90a":
                op = hexc.operator("matmul_packed", arch=arch, families=table, KMULT=128, NMULT=32, **{"IN": "f32"} | settings)
                pack = pack_of(settings.get("codes", "u4"), "table" in settings)
                with self.subTest(name=name, arch=arch):
                    other = (name, arch) == ("a table of 2", "sm_80")  # packed.c says why
                    self.assertEqual(packs_of(op), {pack.replace("spread 0", "spread 4") if other else pack})

    def test_matmul_packed_of_chosen_slices(self):
        """Where there is none, C stays as it was."""
        settings = PACKED["u6 with two scales"]
        ops = both("matmul_packed", IN="f32", tensors="to: i32[P, Q] strides [tp, tq], bias: f32[N]", chosen="to[p, q]",
                   epilogue="x + bias[n]", **settings)  # fmt: skip
        for to in [[4, 0], [3, 1], [4, 2]], [[4, -1], [5, 0], [2**31 - 1, -(2**31)]]:
            for line, m, n, k, pad in (0, 1, 96, 288, 8), (2, 16, 48, 64, 4), (3, 20, 32, 64, 8), (5, 1, 70, 33, 0), (6, 13, 20, 64, 2), (7, 17, 20, 64, 2):
                a, w, bias, at = integers(3, 2, m, k, low=-3, high=3), Weight((1, 5, n, k), settings), integers(n), np.array(to, I32)
                there = ((at >= 0) & (at < 5))[..., None, None]
                want = np.where(there, a @ rows_of(w.values[0], at).swapaxes(2, 3) + bias, F32(GAP))
                with self.subTest(to=to, line=line):
                    right(ops, line, want, "1023", pad, A=strided(a, "2013", pad), to=strided(at, "10", 2), bias=bias, **w.tensors)

    def test_matmul_packed_of_grouped_rows(self):
        for name in "u6 with two scales", "u4 with two offsets":
            ops = both("matmul_packed", **self.GROUPED, **PACKED[name])
            for line, p, q, qb, n, k, pad in self.GROUPS:
                w = Weight((1, qb, n, k), PACKED[name])
                with self.subTest(name=name, line=line):
                    self.grouped(ops, line, w.values[0], pad, w.tensors, p, q)

    @staticmethod
    def second(settings, other=None):
        """Settings of two weights: the second is like the first, if there is no other."""
        other = other or settings
        own = {f"{n}_z": other[n] for n in ("scale", "scale2", "offset", "offset2", "table", "numbers", "factor") if n in other}
        numbers = {"BIAS_Z": other.get("BIAS", 0), "G_Z": other.get("G", 32), "G2_Z": other.get("G2", 256)}
        return settings | {"codes_z": other.get("codes", "u4")} | own | ({} if other is settings else numbers)

    TWO = ("u4 with two offsets",) * 2, ("a table",) * 2, ("u4 with a bias",) * 2, ("u4 with two offsets", "u6 with two scales"), \
        ("a table of 2", "u4 with a bias"), ("u3", "a table"), ("u6 with two scales", "u5 with an offset")  # fmt: skip

    def test_matmul_packed_of_two_weights(self):
        """A gated unit, and what is multiplied by the gate; the two may be of different formats."""
        for first, other in self.TWO:
            ops = both("matmul_packed", IN="f32", also="f32", epilogue="silu(x) * z", **self.second(PACKED[first], PACKED[other]))
            for line, p, q, pb, qb, m, n, k in self.PRODUCTS:
                if line in (1, 4):
                    continue
                a, w = integers(p, q, m, k, low=-2, high=2), Weight((pb, qb, n, k), PACKED[first])
                w2, pad = Weight((pb, qb, n, k), PACKED[other], 2, True), 4 if line < 5 else 1
                x, z = self.product(a, w).astype(float), self.product(a, w2)
                want = {"C": (x / (1 + np.exp(np.minimum(-x, 700))) * z).astype(F32), "C2": z}
                with self.subTest(first=first, other=other, line=line):
                    # exp of up to 20 is off by 2^-21 + 20 * 2^-23, the sum, / and * by 2^-20; what is beyond is small
                    args = w.tensors | w2.tensors | {"A": strided(a, "0213", pad), "near": (2e-5, 1e-4)}
                    right(ops, line, want, {"C": "2103", "C2": "1023"}, pad, **args)

    def test_matmul_packed_into_rows(self):
        """Rows of C to which no row goes stay; what else is computed is exact, and goes to its own row."""
        settings = PACKED["u6 with two scales"]
        ops = both("matmul_packed", IN="f32", rows="i64", also="f32", epilogue="max(x, 0) - z", **self.second(settings))
        for line, p, q, pb, qb, m, n, k in self.PRODUCTS:
            if line in (1, 4):
                continue
            a, w = integers(p, q, m, k, low=-3, high=3), Weight((pb, qb, n, k), settings)
            w2, rng, pad = Weight((pb, qb, n, k), settings, 2, True), np.random.default_rng(4), 4 if line < 5 else 1
            at = np.array([[rng.permutation(np.arange(-4, m + 9))[:m] for _ in range(q)]], I64)
            before, x, z = integers(p, q, m + 5, n, seed=5), self.product(a, w), self.product(a, w2)
            want = before.copy()
            for i, j, row in np.ndindex(p, q, m):
                if 0 <= at[0, j, row] < m + 5:
                    want[i, j, at[0, j, row]] = np.maximum(x, 0)[i, j, row] - z[i, j, row]
            args = w.tensors | w2.tensors | {"A": strided(a, "0213", pad), "I": strided(at, "", 1)}
            right(ops, line, {"C": want, "C2": z}, {"C": "2013", "C2": "0213"}, pad, before={"C": before}, **args)

    def test_indexer(self):
        """Heads past the end find nothing; keys are of a tensor, or computed of bytes."""
        key = {"key": "floor(k8[p, row, col / 2] / where(col % 2 == 0, 1, 16)) % 16 - 8", "tensors": "k8: u8[P, N, NK] strides [kp, kn, 1], c: f32[PC, N]"}
        for more in {"KEY": "bf16", "ACT": "tf32", "D": 128, "tensors": "c: f32[PC, N]"}, key | {"D": 48, "score": "max(x, -7)"}:
            ops, d = both("indexer", IN="f32", epilogue="x + c[p % PC, n]", **more), more["D"]
            for line, m, h, n, pad in (0, 3, 40, 70, 4), (0, 16, 5, 65, 0), (1, 70, 5, 130, 8), (2, 9, 33, 67, 3), (3, 17, 3, 64, 1):
                q, w, c = integers(2, m, h, d), integers(2, m, h, seed=2), integers(1, n, seed=3)
                k, args = integers(2, n, d, seed=4), {}
                args["K"] = strided((k.view(np.uint32) >> 16).astype(np.uint16), "102", pad)
                if "key" in more:
                    k8 = integers(2, n, d // 2, low=0, high=255, dtype=np.uint8)
                    k, args = np.stack([k8 % 16, k8 // 16], -1).reshape(2, n, d).astype(F32) - 8, {"k8": strided(k8, "102", pad)}
                s = np.maximum(np.einsum("pmhd,pnd->pmhn", q, k), -7 if "score" in more else 0)
                want = np.einsum("pmh,pmhn->pmn", w, s) + c
                with self.subTest(line=line, key="key" in more):
                    args |= {"Q": strided(q, "1203", pad), "W": strided(w, "102", pad), "c": c}
                    right(ops, line, want.astype(F32), "102", pad, **args)

    def test_decode(self):
        """Wide heads, with a mask and a sink; all share one key and value, or keys are values, too."""
        more = {"IN": "f32", "OUT": "f32", "tensors": "sinks: f32[H], mask: f32[M, N]", "score": "s + mask[i, j]", "sink": "sinks[h]"}
        for d, dv, latent in (320, 256, 0), (512, 512, 0), (576, 512, 1):
            ops = both("decode", strided=1, D=d, DV=dv, **more, **({"latent": 1} if latent else {}))
            for line, b, m, h, hk, n, pad in ((0, 2, 2, 6, 1, 300, 8), (1, 1, 3, 20, 2, 70, 0), (3, 1, 20, 6, 2, 130, 16),
                                              (4, 1, 5, 8, 1, 40, 1)):  # fmt: skip
                q, k = integers(b, m, h, d, high=2) / F32(4), integers(1, n, hk, d, seed=2).astype(F16) / F16(8)
                v = k[..., :dv] if latent else integers(1, n, hk, dv, seed=3).astype(F16)
                mask, sinks = np.where(integers(m, n, seed=4) < -7, -np.inf, 0).astype(F32), integers(h, seed=5)
                of = np.arange(h) * hk // h
                s = np.einsum("bmhd,nhd->bmhn", q, k[0][:, of].astype(F32)) * 0.25 + mask[:, None]
                top = np.maximum(s.max(3), sinks)[..., None]
                p = np.exp(s - top)
                want = np.einsum("bmhn,nhd->bmhd", p, v[0][:, of].astype(F32)) / (p.sum(3) + np.exp(sinks - top[..., 0]))[..., None]
                args = {"Q": strided(q, "1203", pad), "K": strided(k, "0213", pad), "sinks": sinks, "mask": mask, "scale": 0.25}
                args |= {} if latent else {"V": strided(v, "1203", pad)}
                with self.subTest(d=d, line=line):  # p, up to 1, is rounded to f16, and values are up to 9
                    right(ops, line, want.astype(F32), "2103", pad, near=(0, 9 * 2**-10), **args)

    def test_compute(self):
        """Indices that are read and computed, some of them out of bounds; Y transposed."""
        value = "where(n < N / 2, a[p, q, to[m], n * 2], a[p, Q - 1 - q, m - 1, n - 1]) + b[(m * 7 + n) % L] * f32(p)"
        ops = both("compute", tensors="a: f32[P, Q, R, C] strides [ap, aq, ar, ac], to: i32[M], b: f32[L]", value=value)
        for line, m, n, order, pad in ((0, 5, 300, "1023", 4), (0, 3, 257, "2013", 3), (1, 20, 70, "", 1), (1, 9, 256, "0213", 0),
                                       (2, 9, 300, "3012", 3), (3, 17, 40, "0132", 2), (3, 3, 300, "", 1)):  # fmt: skip
            a, to, b = integers(2, 3, 8, n - 3), integers(m, low=-2, dtype=I32), integers(11, seed=3)
            p, q, i, j = np.mgrid[0:2, 0:3, 0:m, 0:n]
            far = np.zeros((2, 3, m + 20, 2 * n + 1), F32)  # a, with zeros around
            far[:, :, 2:10, 1 : n - 2] = a
            want = np.where(j < n // 2, far[p, q, to[i] + 2, j * 2 + 1], far[p, 2 - q, i + 1, j]) + b[(i * 7 + j) % 11] * p
            right(ops, line, want.astype(F32), order, pad, a=strided(a, "3102", pad), to=to, b=b)

    def test_compute_past_the_end(self):
        """An index that is a letter alone, out of bounds: Y stays as it was, and fill has another number for it."""
        for value, past in ("where(n < N / 2, fill(a[p, q, m, n], 0), 7)", 0), ("where(n < N / 2, a[p, q, m, n], 7)", GAP):
            ops = both("compute", tensors="a: f32[P, Q, R, C]", value=value)
            for line, m, n, order in (0, 5, 300, "0123"), (1, 9, 70, "0123"), (2, 9, 70, "0132"), (3, 9, 70, "0123"):
                a, want = integers(2, 3, m - 1, n // 2 - 1), np.full((2, 3, m, n), 7 if past == 0 else GAP, F32)
                want[..., : n // 2] = np.pad(a, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=past)
                with self.subTest(line=line, value=value):
                    right(ops, line, want, order, 1, a=a)

    def test_compute_terms(self):
        """Windows of k x k: the sum, the largest and a weighted mean of the elements that a has; a window of none."""
        tensors = "a: f32[P, Q, R, C] strides [ap, aq, ar, ac], k: i64, step: i64, edge: i64, w: f32[L]"
        row, col = "m - edge + t / k", "n * step - edge + t % k"
        one, inside = f"a[p, q, {row}, {col}]", f"{row} >= 0 && {row} < R && {col} >= 0 && {col} < C"
        for settings in ({"term": f"{one} * w[t]"}, {"term": f"where({inside}, {one}, -99)", "MAX": 1},
                         {"term": one, "weight": f"where({inside}, w[t], 0)", "value": "x * 2 + f32(n)"}):  # fmt: skip
            ops = both("compute", tensors=tensors, **settings)
            for line, m, n, k, step, edge in ((0, 5, 300, 3, 2, 1), (1, 20, 70, 2, 3, 0), (2, 9, 300, 2, 1, 1),
                                              (3, 17, 40, 3, 1, 2), (3, 3, 9, 0, 1, 0)):  # fmt: skip
                a, w = integers(2, 3, m + k, n * step + k, seed=2), F32(2) ** integers(k * k, low=0, high=2)
                value, there = windows(a, m, n, k, step, edge)
                share, number = np.where(there, w, 0), np.broadcast_to(np.arange(n, dtype=F32), (2, 3, m, n))
                if "MAX" in settings:
                    want = np.where(there, value, -99).max(-1, initial=-np.inf)
                elif "weight" in settings:
                    want = (value * share).sum(-1) / np.maximum(share.sum(-1), 1) * 2 + number
                else:
                    want = (value * w).sum(-1)
                args = {"T": k * k, "k": k, "step": step, "edge": edge, "w": w, "a": strided(a, "3102", 1)}
                near = (1e-6, 1e-5) if "weight" in settings else ()
                with self.subTest(settings=settings, line=line, k=k):
                    right(ops, line, want.astype(F32), "0132" if line >= 2 else "", 1, near=near, **args)

    def test_reduce(self):
        """What is past the end of a row is no term."""
        tensors, terms = "w: f32[N], c: f32[Q, M], scale: f32", "x * w[n] + 1"
        ops = both("reduce", IN="f16", OUT="f32", tensors=tensors, input=terms, epilogue="x * scale + c[q, m]")
        for line, m, n, pad in (0, 20, 50, 0), (0, 3, 64, 8), (1, 9, 200, 1), (2, 3, 1500, 4), (2, 2, 2048, 0), (3, 5, 70, 3):
            x, w, c = integers(2, 3, m, n, dtype=F16), integers(n, seed=2), integers(3, m, seed=3)
            right(ops, line, (x * w + 1).sum(3) * 2 + c, "210", 1, X=strided(x, "1203", pad), w=w, c=c, scale=2)

    def test_reduce_largest(self):
        """Of numbers that are all negative, too; the logarithm of a sum of exponentials reads it."""
        ops = both("reduce", IN="f32", MAX=1, tensors="w: f32[N]", input="x - w[n]", epilogue="x * 2")
        for line, m, n, pad in (0, 20, 50, 0), (1, 9, 200, 1), (2, 3, 1500, 4), (3, 5, 70, 3):
            x, w = integers(2, 3, m, n, high=-1), integers(n, seed=2, low=0)
            right(ops, line, (x - w).max(3) * 2, "210", 1, X=strided(x, "1203", pad), w=w)

    def test_reduce_counts(self):
        """Equal integers, which f32 does not hold."""
        count = "where(i64(X[p, q, m, n]) == i64(b[p, q, m, n]), 1, 0)"
        ops = both("reduce", IN="i32", OUT="i64", tensors="b: i32[P, Q, M, N]", input=count)
        for line, m, n, pad in (0, 20, 50, 0), (1, 9, 200, 1), (2, 3, 1500, 4), (3, 5, 70, 3):
            x, b = (integers(2, 3, m, n, low=2**30, high=2**30 + 2, dtype=I32, seed=s) for s in (1, 2))
            right(ops, line, (x == b).sum(3).astype(I64), "210", 1, X=strided(x, "1203", pad), b=b)

    @staticmethod
    def tokens(first, q, k, m, v, g, skip, ids, kept):
        """What the expressions of test_recurrence say: results and last states."""
        (n, tokens, heads, rows), each = v.shape, v.shape[2] // q.shape[2]
        y, last = np.full(v.shape, GAP, float), np.full((kept, n, heads, rows, q.shape[3]), GAP, float)
        for b, h in np.ndindex(n, heads):
            if not 0 <= ids[b] < len(first):
                continue
            s, i = first[ids[b], h].astype(float), h // each
            for t in range(tokens):
                old = s
                s = s * g[b, t, h] + (v[b, t, h] - s @ m[b, t, i])[:, None] * k[b, t, i]
                y[b, t, h] = (s + old * 2) @ q[b, t, i] + skip[h] * v[b, t, h]
                if tokens - t <= kept:
                    last[tokens - 1 - t, b, h] = s
        return y, last

    def test_recurrence(self):
        """Numbers stay exact: m finds the sum of at most three. Sequences start from states in any order, and one from none."""
        tensors = ("q: f32[B, T, HQ, D] strides [qb, qt, qh, qd], k: f32[B, T, HQ, D] strides [kb, kt, kh, 1], m: f32[B, T, HQ, D], "
                   "v: f32[B, T, H, E] strides [vb, vt, vh, ve], g: f32[B, T, H] strides [gb, gt, gh], skip: f32[H], ids: i32[B]")  # fmt: skip
        head, more = "b, t, h / (H / HQ), d", {"tensors": tensors, "chosen": "ids[b]"}
        more |= {"probe": f"s * m[{head}]", "next": f"s * g[b, t, h :+ 1] + (v[b, t, h, e] - x) * k[{head}]"}
        more |= {"read": f"(s + old * 2) * q[{head}]", "epilogue": "y + skip[h] * v[b, t, h, e]"}
        for d, columns, kind in (128, 0, "f32"), (40, 0, "f16"), (40, 1, "f32"), (12, 0, "f32"), (100, 1, "f16"):
            ops = both("recurrence", D=d, IN=kind, OUT="f32", **more, **({"columns": 1} if columns else {}))
            for line, t, e, kept, pad in (0, 5, 20, 1, 4), (1, 3, 8, 4, 1), (0, 1, 33, 2, 0), (1, 4, 1, 2, 3):
                first, q, k = integers(5, 4, e, d, low=-2, high=2), integers(3, t, 2, d, high=1, low=-1), integers(3, t, 2, d, high=1, low=-1)
                v, g, skip = integers(3, t, 4, e, high=2, low=-2), integers(3, t, 4, high=1, low=-1), integers(4)
                m, ids = np.zeros_like(k), np.array([3, -1, 1], I32)
                m[..., 1::5][..., :3] = 1
                y, last = self.tokens(first, q, k, m, v, g, skip, ids, kept)
                assert abs(y).max() < 2**24 and (kind == "f32" or abs(last).max() <= 2048)
                states, fixed = (F16 if kind == "f16" else F32), {"m": m, "skip": skip, "ids": ids}
                args = {"q": strided(q, "3210", pad), "k": strided(k, "2013", pad), "v": strided(v, "0321", pad), "g": strided(g, "201", 2)}
                args["FIRST"] = strided(first.astype(states), "1032" if columns else "1023", pad)
                orders = {"Y": "2103", "LAST": "10243" if columns else "21034"}
                with self.subTest(d=d, columns=columns, line=line):
                    right(ops, line, {"Y": y.astype(F32), "LAST": last.astype(states)}, orders, pad, **args, **fixed)

    def test_argsort(self):
        """Of equal ones the first comes first, and NaNs come last, behind infinities."""
        for down, kind in (0, F32), (1, F16):
            ops = both("argsort", IN="f16" if down else "f32", DESC=down)
            for line, m, n, k, pad in ((0, 11, 50, 50, 1), (0, 3, 64, 5, 0), (1, 3, 200, 130, 8), (2, 2, 700, 700, 3),
                    (3, 1, 1030, 1029, 0), (4, 2, 90, 90, 1), (5, 1, 1025, 7, 3)):  # fmt: skip
                x = integers(m, n, high=20, dtype=kind)
                x[:, 3::7], x[:, 4::9], x[:, 5::11], x[:, 6::13] = np.nan, np.inf, -np.inf, 0
                want = np.argsort(-x if down else x, 1, kind="stable")[:, :k].astype(I32)
                with self.subTest(down=down, line=line, m=m):
                    right(ops, line, want, "", pad, X=strided(x, "", pad))

    @staticmethod
    def ordered(x):
        """Integers that order as `argsort` orders numbers: the place is the lower half."""
        bits = x.astype(F32).view(I32)
        order = np.where(np.isnan(x), 0x7FC00000, np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)).astype(I64)
        return (order << 32) + np.arange(x.shape[1])

    def test_sort_runs(self):
        for down, kind in (0, F32), (1, F16):
            ops = both("sort_runs", IN="f16" if down else "f32", DESC=down, BN=1024)
            for line, m, n, pad in (0, 2, 2052, 4), (0, 3, 1024, 0), (1, 2, 1030, 1):
                x = integers(m, n, high=20, dtype=kind)
                x[:, 3::7], x[:, 4::9], x[:, 5::11], x[:, 6::13] = np.nan, np.inf, -np.inf, 0
                want = self.ordered(-x if down else x)
                for at in range(0, n, 1024):
                    want[:, at : at + 1024].sort(1)
                right(ops, line, want, X=strided(x, "", pad))

    def test_merge_runs(self):
        """An odd number of runs, a short one, and what is not kept; also to places alone."""
        for kind, out in (I64, "i64"), (I32, "i32"):
            ops = both("merge_runs", OUT=out)
            for line, m, n, length, keep, c, pad in ((0, 2, 2500, 500, 5000, 2500, 2), (0, 3, 3001, 1000, 300, 3001, 0), (0, 1, 40, 64, 99, 40, 0),
                                                     (1, 2, 1700, 1000, 70, 70, 1), (1, 2, 1999, 1000, 1999, 1999, 3)):  # fmt: skip
                x = self.ordered(integers(m, n, high=40))
                for at in range(0, n, length):
                    x[:, at : at + length].sort(1)
                before = integers(m, c, seed=2, dtype=kind)
                want = before.copy()
                for at in range(0, n, 2 * length):
                    merged = np.sort(x[:, at : at + 2 * length], 1)[:, :keep].astype(kind)
                    end = min(c, at + merged.shape[1])
                    want[:, at:end] = merged[:, : max(0, end - at)]
                with self.subTest(out=out, n=n, keep=keep):
                    right(ops, line, want, "", pad, before=before, X=x, L=length, KEEP=keep)

    def test_sinkhorn(self):
        ops = both("sinkhorn", IN="f32", R=4, tensors="b: f32[NB], k: f32", input="x * k + b[i * 4 + j + 2]")
        for line, m, pad in (0, 100, 0), (0, 3, 4), (1, 70, 1):
            x, b = integers(m, 4, 4, high=4), integers(20, seed=2, high=3)
            y = x * 0.5 + b[2:18].reshape(4, 4).astype(float)
            y = np.exp(y - y.max(2, keepdims=True))
            y = y / y.sum(2, keepdims=True) + 1e-3
            for step in range(5):
                y = y / (y.sum(2, keepdims=True) + 1e-3) if step else y
                y = y / (y.sum(1, keepdims=True) + 1e-3)
            # each of 10 divisions is off by 2^-20 of itself
            right(ops, line, y.astype(F32), "102", pad, X=strided(x, "102", pad), b=b, k=0.5, eps=1e-3, STEPS=5, near=(2e-5, 1e-6))

    def test_solve_lower(self):
        """Of integers, with a diagonal of 2: results are exact. What is above the diagonal is NaN."""
        ops = both("solve_lower")
        for line, n, k, pad in (0, 33, 40, 4), (0, 64, 32, 0), (0, 7, 3, 1), (1, 70, 33, 1), (1, 5, 64, 3):
            a, x = integers(2, 3, n, n, high=1), integers(2, 3, n, k, seed=2)
            a = np.where(np.eye(n, dtype=bool), 2, np.tril(a)).astype(F32)
            b = a @ x
            a[..., np.triu_indices(n, 1)[0], np.triu_indices(n, 1)[1]] = np.nan
            right(ops, line, x, "2013", pad, A=strided(a, "1023", pad), B=strided(b, "0213", pad))

    def test_norm(self):
        """To length 1; rows shorter than eps are divided by eps."""
        ops = both("norm", strided=1, LENGTH=1, IN="f32", tensors="gain: f32[N], c: f32[M]", epilogue="x * gain[n] + c[m]")
        for line, m, n, pad in self.LINES:
            x, gain, c = integers(2, 3, m, n, high=5), integers(n, seed=2), integers(m, seed=3)
            x[0, 1, :, 4:], x[1, 2] = 0, 0
            length = np.maximum(np.sqrt((x.astype(float) ** 2).sum(3, keepdims=True)), 12.5)
            want = (x / length * gain + c[:, None]).astype(F32)
            # The sum of squares is exact; root, quotient and result are off by 2^-22, 2^-20 and 2^-24 of themselves
            args = {"gain": gain, "c": c, "eps": 12.5, "near": (2**-23, 9 * 2**-19)}
            right(ops, line, want, "1203", pad, X=strided(x, "2013", pad), **args)

    def test_softmax(self):
        """Masked, with a sink for each row; of some rows the sink is all, or -inf, too."""
        tensors, mask = "sinks: f32[Q, M], first: i32", "where(col <= row + i32(p) + first, x * 0.5, -inf)"
        for log in 0, 1:
            ops = both("softmax", strided=1, LOG=log, IN="f16", OUT="f32", tensors=tensors, sink="sinks[q, m]", input=mask)
            for line, m, n, pad in self.LINES:
                x, sinks, first = integers(2, 3, m, n, dtype=F16), integers(3, m, seed=2), n // 2 if m < 5 else -3
                sinks[1, 0] = -np.inf
                p, _, i, j = np.ogrid[0:2, 0:3, 0:m, 0:n]
                z = np.where(j <= i + p + first, x * 0.5, -np.inf).astype(float)
                total = np.maximum(np.exp(z).sum(3, keepdims=True) + np.exp(sinks.astype(float))[..., None], 1e-99)
                want = (z - np.log(total) if log else np.exp(z) / total).astype(F32)
                # exp of up to -14 is off by 2^-21 + 14 * 2^-23, sums by 100 * 2^-24, / by 2^-20; log, up to 14, by 2^-21
                args = {"sinks": sinks, "first": first, "near": (0, 2e-5) if log else (2e-5, 0)}
                right(ops, line, want, "0213", pad, X=strided(x, "2103", pad), **args)

    @staticmethod
    def turned(x, c, s, begin, pairs):
        """Pairs of x[.., t, h, d], from `begin` on, by cosines and sines [t, pair]"""
        y, i, c, s = x.astype(float), np.arange(c.shape[1]), c[:, None], s[:, None]
        a, b = (begin + 2 * i, begin + 2 * i + 1) if pairs else (begin + i, begin + len(i) + i)
        y[..., a], y[..., b] = x[..., a] * c - x[..., b] * s, x[..., b] * c + x[..., a] * s
        return y.astype(F32)

    def test_rotary_by_tables(self):
        """Of integers, that need be no cosines: results are exact. Rows outside of them are 0."""
        for d, rot, begin, pairs in self.TURNS:
            for more, *order in ({}, "", ""), ({"strided": 1}, "1203", "2013"):
                ops = both("rotary", IN="f32", D=d, ROT=rot, BEGIN=begin, PAIRS=pairs, magnitude="-2", **more)
                for line, t, h, pad in (0, 7, 3, 1), (1, 20, 2, 0), (2, 5, 2, 3):
                    x, at = integers(*[2] * len(more), t, h, d), integers(t, low=-2, high=11, dtype=I32)
                    c, s, pad = integers(9, rot // 2, seed=2), integers(9, rot // 2, seed=3), pad * len(more)
                    want = self.turned(x, rows_of(c, at) * -2, rows_of(s, at) * -2, begin, pairs)
                    right(ops, line, want, order[1], pad, X=strided(x, order[0], pad), POS=at, COS=c, SIN=s)

    def test_rotary_into_rows(self):
        """As keys go to a cache: other rows stay."""
        for d, rot, begin, pairs in self.TURNS:
            ops = both("rotary", IN="f32", OUT="f16", D=d, ROT=rot, BEGIN=begin, PAIRS=pairs, strided=1, rows="i32")
            for line, t, h, pad in (0, 7, 3, 1), (1, 20, 2, 0), (2, 5, 2, 3):
                x, before, places = integers(2, t, h, d), integers(2, t + 4, h, d, dtype=F16), integers(t, low=0, high=8, dtype=I32)
                c, s, at = integers(9, rot // 2, seed=2), integers(9, rot // 2, seed=3), np.arange(-2, t + 8, dtype=I32)
                at, want = np.random.default_rng(t).permutation(at)[:t], before.copy()
                there = (at >= 0) & (at < t + 4)
                want[:, at[there]] = self.turned(x, rows_of(c, places), rows_of(s, places), begin, pairs)[:, there]
                args = {"X": strided(x, "1203", pad), "POS": places, "COS": c, "SIN": s, "I": at}
                right(ops, line, want, "2013", pad, before=before, **args)

    def test_rotary_of_two_tensors(self):
        """Queries beside keys, which go to a cache"""
        for d, rot, begin, pairs in self.TURNS:
            ops = both("rotary", IN="f32", OUT="f16", D=d, ROT=rot, BEGIN=begin, PAIRS=pairs, strided=1, rows="i32", also="f32")
            for line, t, h, more, pad in (0, 7, 3, 5, 1), (1, 20, 2, 1, 0), (2, 5, 2, 2, 3):
                x, q, before = integers(2, t, h, d), integers(2, t, more, d, seed=6), integers(2, t + 4, h, d, dtype=F16)
                c, s, places = integers(9, rot // 2, seed=2), integers(9, rot // 2, seed=3), integers(t, low=0, high=8, dtype=I32)
                want, at = before.copy(), np.arange(t, dtype=I32) + 2
                want[:, 2 : t + 2] = self.turned(x, rows_of(c, places), rows_of(s, places), begin, pairs)
                other = self.turned(q, rows_of(c, places), rows_of(s, places), begin, pairs)
                args = {"X": strided(x, "1203", pad), "X2": strided(q, "2013", pad), "POS": places, "COS": c, "SIN": s, "I": at}
                right(ops, line, {"Y": want, "Y2": other}, {"Y": "2013", "Y2": "1023"}, pad, before={"Y": before}, **args)

    def test_rotary_by_angles(self):
        """That read tensors, by token and by pair"""
        more = {"tensors": "pos: i32[3, T], speed: f32[RH], size: f32, gain: f32[D]", "input": "x * gain[d]"}
        more |= {"angle": "f32(pos[2, t]) * speed[pair]", "magnitude": "size", "start": 0, "strided": 1}
        for d, rot, begin, pairs in self.TURNS:
            ops = both("rotary", IN="f16", OUT="f32", D=d, ROT=rot, BEGIN=begin, PAIRS=pairs, **more)
            for line, t, h, pad in (0, 8, 2, 1), (1, 17, 3, 0), (2, 9, 1, 3):
                x, gain, pos = integers(2, t, h, d, dtype=F16), integers(d, seed=2), integers(3, t, low=-99, high=99, dtype=I32)
                speed = integers(rot // 2, seed=5) / F32(8)
                a = pos[2][:, None] * speed.astype(float)  # exact in f32, too
                want = self.turned(x * gain, np.cos(a) * 1.5, np.sin(a) * 1.5, begin, pairs)
                # x is up to 81; cosine and sine are off by 2^-22, their products with 1.5 and x, and the sum, by 2^-24 each
                args = {"pos": pos, "speed": speed, "size": 1.5, "gain": gain, "first": 0, "near": (0, 2 * 81 * 1.5 * 2**-21)}
                right(ops, line, want, "1203", pad, X=strided(x, "2103", pad), **args)


if __name__ == "__main__":
    unittest.main()
