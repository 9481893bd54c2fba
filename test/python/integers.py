"""Integer functions at all signs, at the smallest and the largest values, compared with Python's own, in the
tile interpreter and the simulator. Run by run-integers.sh."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

HEXC = os.environ["HEXC"]
TYPES = {f"{k}{n}": np.dtype(f"{name}{n}") for k, name in (("i", "int"), ("u", "uint")) for n in (8, 16, 32, 64)}


def wrapped(x, t):
    """x, of any magnitude, wrapped to type t."""
    bits = TYPES[t].itemsize * 8
    x &= (1 << bits) - 1
    return x - (1 << bits) if t[0] == "i" and x >> (bits - 1) else x


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def bits_of(t):
    return TYPES[t].itemsize * 8


def shifted(left):
    def f(a, b, t):
        amount = b & ((1 << bits_of(t)) - 1)  # shift amounts are unsigned
        amount = min(amount, bits_of(t))
        return a << amount if left else a >> amount

    return f


BINARY = {
    "x + y": lambda a, b, t: a + b,
    "x - y": lambda a, b, t: a - b,
    "x * y": lambda a, b, t: a * b,
    "x / y": lambda a, b, t: truncated(a, b) if b else -1,
    "x % y": lambda a, b, t: a - b * truncated(a, b) if b else a,
    "ceil(x, y)": lambda a, b, t: -(-a // b) if b else None,
    "x & y": lambda a, b, t: a & b,
    "x | y": lambda a, b, t: a | b,
    "x ^ y": lambda a, b, t: a ^ b,
    "x << y": shifted(True),
    "x >> y": shifted(False),
    "max(x, y)": lambda a, b, t: max(a, b),
    "min(x, y)": lambda a, b, t: min(a, b),
    "mulhi(x, y)": lambda a, b, t: a * b >> bits_of(t),
    "where(x < y, 1, 0)": lambda a, b, t: a < b,
    "where(x <= y, 1, 0)": lambda a, b, t: a <= b,
    "where(x == y, 1, 0)": lambda a, b, t: a == b,
    "fma(x, y, x)": lambda a, b, t: a * b + a,
}
UNARY = {
    "abs(x)": lambda a, t: abs(a),
    "-x": lambda a, t: -a,
    "~x": lambda a, t: ~a,
    "popcount(x)": lambda a, t: (a & ((1 << bits_of(t)) - 1)).bit_count(),
    "clz(x)": lambda a, t: bits_of(t) - (a & ((1 << bits_of(t)) - 1)).bit_length(),
    "clamp(x, -3, 7)": lambda a, t: min(max(a, -3), 7),
    "clamp(x, 3, 7)": lambda a, t: min(max(a, 3), 7),
    "ceil(x, 10)": lambda a, t: -(-a // 10),
    "ceil(x, 16)": lambda a, t: -(-a // 16),
    "ceil(x, -3)": lambda a, t: -(a // 3),
    "x / 10": lambda a, t: truncated(a, 10),
    "x % 10": lambda a, t: a - 10 * truncated(a, 10),
    "x / 8": lambda a, t: truncated(a, 8),
    "x % 8": lambda a, t: a - 8 * truncated(a, 8),
    "x / -8": lambda a, t: truncated(a, -8),
    "x / -1": lambda a, t: -a,
    "x % -1": lambda a, t: 0,
    "ceil(72, where(x == 0, 1, x))": lambda a, t: -(-72 // (a or 1)),
    "ceil(-72, where(x == 0, 1, x))": lambda a, t: -(72 // (a or 1)),
}
SIGNED = ("abs(x)", "-x", "clamp(x, -3, 7)", "ceil(x, -3)", "x / -8", "x / -1", "x % -1", "ceil(-72, where(x == 0, 1, x))")


def values(t):
    info = np.iinfo(TYPES[t])
    some = {info.min, info.min + 1, info.min + 9, info.max - 9, info.max - 1, info.max}
    some |= {n for n in (-100, -72, -70, -33, -16, -10, -9, -8, -7, -3, -2, -1) if info.min < 0}
    some |= {0, 1, 2, 3, 7, 8, 9, 10, 15, 16, 31, 32, 33, 63, 64, 70, 72, 100}
    some = sorted(some)
    return some + some[: 32 - len(some) % 32] if len(some) % 32 else some


class Integers(unittest.TestCase):
    def run_program(self, text, args, out):
        """The outputs of the tile interpreter and of the simulator."""
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "p.hexc").write_text(text)
            words = []
            for name, value in args.items():
                if isinstance(value, np.ndarray):
                    np.save(folder / f"{name}.npy", value)
                    value = f"@{folder}/{name}.npy"
                words += ["--arg", f"{name}={value}"]
            for name in out:
                words += ["--save", f"{name}={folder}/{name}.npy"]
            for how in ["--exec=tile"], ["--exec=sim", "--check", "--arch=sm_80"]:
                r = subprocess.run(
                    [HEXC, "run", folder / "p.hexc", *how, *words], capture_output=True, text=True
                )
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
                yield how[0], [np.load(folder / f"{name}.npy") for name in out]

    def compare(self, t, how, text, got, x, y=None):
        f = BINARY.get(text) or UNARY[text]
        for at in np.ndindex(got.shape):
            a = x[at[0]]
            if y is None:
                want, of = f(a, t), (a,)
            else:
                want, of = f(a, y[at[1]], t), (a, y[at[1]])
            if want is not None:
                self.assertEqual(int(got[at]), wrapped(int(want), t), f"{how}: {text} of {t} {of}")

    def test_two(self):
        for t in TYPES:
            x = values(t)
            texts = list(BINARY)
            outs = ", ".join(f"O{i}: out {t}[{len(x)}, {len(x)}]" for i in range(len(texts)))
            body = "\n".join(f"    O{i}[:, :] = {t}({s});" for i, s in enumerate(texts))
            text = f"""kernel two(X: {t}[{len(x)}, 1], Y: {t}[1, {len(x)}], {outs})
{{
    grid(1);
    let a = X[:, :], b = Y[:, :];
    let x = a + b * 0, y = a * 0 + b;
{body}
}}
"""
            given = np.array(x, TYPES[t])
            args = {"X": given[:, None], "Y": given[None, :]}
            for how, out in self.run_program(text, args, [f"O{i}" for i in range(len(texts))]):
                for s, got in zip(texts, out):
                    self.compare(t, how, s, got, x, x)

    def test_one(self):
        for t in TYPES:
            x = values(t)
            texts = [s for s in UNARY if t[0] == "i" or s not in SIGNED]
            outs = ", ".join(f"O{i}: out {t}[{len(x)}]" for i in range(len(texts)))
            body = "\n".join(f"    O{i}[:] = {t}({s});" for i, s in enumerate(texts))
            text = f"kernel one(X: {t}[{len(x)}], {outs})\n{{\n    grid(1);\n    let x = X[:];\n{body}\n}}\n"
            args = {"X": np.array(x, TYPES[t])}
            for how, out in self.run_program(text, args, [f"O{i}" for i in range(len(texts))]):
                for s, got in zip(texts, out):
                    self.compare(t, how, s, got, x)

    def test_scalars(self):
        """As scalar elements, with unknown ranges, and with one known bound."""
        for t in ("i32", "i64", "u32"):
            x = values(t)
            a, b = (np.array(v, TYPES[t]) for v in zip(*[(p, q) for p in x for q in x if q]))
            texts = ["ceil(a, b)", "cdiv(a, 10)", "cdiv(a, 16)", "ceil(72, b)", "a / b", "a % b", "max(a, b)"]
            n = len(texts)
            body = "\n".join(f"    O[block.x, {i}] = {s};" for i, s in enumerate(texts))
            text = f"kernel k(A: {t}[N], B: {t}[N], O: out {t}[N, {n}])\n{{\n    grid(N);\n"
            text += f"    let a = A[block.x], b = B[block.x];\n{body}\n}}\n"
            for how, (out,) in self.run_program(text, {"A": a, "B": b}, ["O"]):
                for p, q, got in zip(a.tolist(), b.tolist(), out.tolist()):
                    ceils = [-(-p // q), -(-p // 10), -(-p // 16), -(-72 // q)]
                    want = [*ceils, truncated(p, q), p - q * truncated(p, q), max(p, q)]
                    self.assertEqual(got, [wrapped(w, t) for w in want], f"{how}: {t} {p} {q}")

    def test_constants(self):
        pairs = [(a, b) for a in (-72, -70, -1, 0, 1, 70, 72, -(1 << 62), 1 << 62) for b in (-10, -1, 1, 10, 7)]
        lines, want = [], []
        for a, b in pairs:
            lines += [f"cdiv({a}, {b})", f"({a}) / ({b})", f"({a}) % ({b})"]
            want += [-(-a // b), truncated(a, b), a - b * truncated(a, b)]
        body = "\n".join(f"    const C{i} = {s}" for i, s in enumerate(lines))
        body2 = "\n".join(f"    O[{i}] = i64(C{i});" for i in range(len(lines)))
        text = f"kernel k(O: out i64[{len(lines)}])\n{body}\n{{\n    grid(1);\n{body2}\n}}\n"
        for how, (out,) in self.run_program(text, {}, ["O"]):
            self.assertEqual(out.tolist(), want, how)


    def test_grid(self):
        """The manifest's grid expressions: as written, and without `ceil` for a truncating division."""
        text = "kernel k(X: out i32[N], n: i64)\n{\n    grid(ceil(n, 16), (n + 15) / 16, ceil(N, 16));\n"
        text += "    X[0] = 1;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            source, manifest = Path(folder) / "p.hexc", Path(folder) / "m.json"
            source.write_text(text)
            words = [HEXC, "--emit-ptx", source, "-o", os.devnull, "--manifest", manifest]
            r = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual(r.returncode, 0, r.stderr)
            grid = json.loads(manifest.read_text())["kernels"][0]["grid"]
        self.assertEqual(grid, ["ceil(n, 16)", "(n + 15) / 16", "ceil(N, 16)"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
