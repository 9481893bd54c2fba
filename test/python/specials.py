"""Float functions at infinities, NaN, zeros of both signs, and around the smallest normal number. --check
accepts everything that the precision table of LANGUAGE.md allows. NumPy agrees unless an intermediate value is
subnormal. Run by run-specials.sh."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

HEXC = os.environ["HEXC"]
TINY = 2.0**-126
ONE = {
    "exp(x)": np.exp, "exp2(x)": np.exp2, "log(x)": np.log, "sqrt(x)": np.sqrt, "rsqrt(x)": lambda x: 1 / np.sqrt(x),
    "tanh(x)": np.tanh, "floor(x)": np.floor, "ceil(x)": np.ceil, "round(x)": np.rint, "trunc(x)": np.trunc,
    "abs(x)": np.abs, "-x": np.negative, "1 / x": lambda x: 1 / x, "x / 3": lambda x: x / 3, "x / 0": lambda x: x / 0,
    "0 / x": lambda x: 0 / x, "inf / x": lambda x: np.inf / x, "x / inf": lambda x: x / np.inf,
    "exact(1 / x)": lambda x: 1 / x, "exact(exp(x))": np.exp, "exact(sqrt(x))": np.sqrt, "exact(x / 0)": lambda x: x / 0,
    "log2(x)": np.log2, "log1p(x)": np.log1p, "expm1(x)": np.expm1, "sin(x)": np.sin, "x * x": lambda x: x * x,
}  # fmt: skip
TWO = {
    "x + y": lambda x, y: x + y, "x - y": lambda x, y: x - y, "x * y": lambda x, y: x * y, "x / y": lambda x, y: x / y,
    "exact(x / y)": lambda x, y: x / y, "x / (y * 2)": lambda x, y: x / (y * 2), "exp(x) * y": lambda x, y: np.exp(x) * y,
    "sqrt(x) / y": lambda x, y: np.sqrt(x) / y, "log(x) + y": lambda x, y: np.log(x) + y,
    "fma(x, y, x)": lambda x, y: x * y + x, "pow(x, y)": np.power,
}  # fmt: skip


def specials(t):
    info = np.finfo(t)
    least, normal, most = float(info.smallest_subnormal), float(info.smallest_normal), float(info.max)
    some = [np.inf, np.nan, 0, least, normal / 2, normal * 0.75, normal - least, normal, normal * 2.5, 1, 0.5, 3, 88, 104]
    some += [1e-4, most, most / 2] + ([2.0**126, 2.0**-64, 2.0**64, 150.0] if t == np.float32 else [12.0])
    some = [*some, *(-x for x in some)]
    return np.array(some + some[: -len(some) % 16], t)


class Specials(unittest.TestCase):
    def check(self, folder, t, texts, two, arch):
        v = specials({"f32": np.float32, "f16": np.float16}[t])
        n, names = len(v), [f"O{i}" for i in range(len(texts))]
        outs = ", ".join(f"{name}: out f32[{n}, {n if two else 1}]" for name in names)
        body = "\n".join(f"    {name}[:, :] = f32({text});" for name, text in zip(names, texts))
        source, x = folder / "p.hexc", folder / "X.npy"
        wide = f"where(iota(1, {n}, {n}) < 0, 0, a)" if two else "a"
        np.save(x, v)
        source.write_text(
            f"kernel k(X: {t}[{n}], {outs})\n{{\n    grid(1);\n"
            f"    let a = reshape(X[:], {n}, 1), y = reshape(X[:], 1, {n});\n    let x = {wide};\n{body}\n}}\n"
        )
        words = [HEXC, "run", source, "--exec=sim", "--check", f"--arch={arch}", "--arg", f"X=@{x}"]
        for name in names:
            words += ["--save", f"{name}={folder}/{name}.npy"]
        r = subprocess.run(words, capture_output=True, text=True)
        self.assertNotIn("WRONG", r.stdout + r.stderr)
        self.assertIn(r.returncode, (0, 5), r.stdout + r.stderr)
        a = v.astype(np.float64)[:, None]
        b = v.astype(np.float64)[None, :] if two else a
        low = TINY if t == "f32" else 2.0**-14
        tiny = ((a != 0) & (np.abs(a) < low)) | ((b != 0) & (np.abs(b) < low))
        for name, text in zip(names, texts):
            with np.errstate(all="ignore"):
                want = (texts[text](a, b) if two else texts[text](a)).astype(np.float32 if t == "f32" else np.float16)
            got = np.load(folder / f"{name}.npy")
            with np.errstate(all="ignore"):
                sure = ~tiny & ~((np.abs(want) < low * 4) & (want != 0))
                if "exp" in text and two:  # the smallest exp is flushed to 0, the largest is rounded before the multiplication
                    sure &= (np.exp(a) >= low * 2) & (np.exp(a) < float(np.finfo(want.dtype).max))
                sure &= (np.abs(np.float64(want)) < 0.4 * float(np.finfo(want.dtype).max)) | ~np.isfinite(want)
                if t == "f16":  # functions of half types are computed in f32 and rounded once more
                    sure &= np.isfinite(want) | np.isnan(want)
            if "fma" in text or "*" in text or "expm1" in text or "pow" in text:  # near the largest number
                sure &= np.isfinite(want)
            for f in np.isnan, np.isposinf, np.isneginf:
                bad = np.argwhere(sure & (f(got) != f(want)))
                at = [(v[i], v[j] if two else None, got[i, j], want[i, j]) for i, j in bad[:5]]
                self.assertFalse(len(bad), f"{arch} {t} {text}: {at}")

    def test_functions(self):
        with tempfile.TemporaryDirectory() as folder:
            for t, arch in ("f32", "sm_80"), ("f32", "sm_90a"), ("f16", "sm_90a"):
                for texts, two in (ONE, False), (TWO, True):
                    self.check(Path(folder), t, texts, two, arch)

    def test_quotients_below_tiny(self):
        """The division of 0 by a subnormal, or of a subnormal by 0, is NaN: --check accepts that."""
        text = "kernel k(X: f32[4], Y: out f32[4])\n{\n    grid(1);\n    Y[:] = X[:] / 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            x, source = Path(folder) / "x.npy", Path(folder) / "p.hexc"
            np.save(x, np.array([2.0**-127, 1, 0, -3], np.float32))
            source.write_text(text)
            words = [HEXC, "run", source, "--exec=sim", "--check", "--arg", f"X=@{x}", "--save", f"Y={folder}/y.npy"]
            r = subprocess.run(words, capture_output=True, text=True)
            y = np.load(f"{folder}/y.npy")
        self.assertNotIn("WRONG", r.stdout)
        np.testing.assert_array_equal(y[1:], [np.inf, np.nan, -np.inf])
        self.assertTrue(np.isnan(y[0]) or y[0] == np.inf)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
