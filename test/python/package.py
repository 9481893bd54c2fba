"""The package hexc, on NumPy arrays.  Run by run-package.sh."""

import doctest
import gc
import importlib
import pkgutil
import threading
import unittest
import weakref
from pathlib import Path

import numpy as np

import hexc
from hexc import _module

TWICE = """
kernel twice(A: TYPE[N, M], C: out TYPE[N, M])
    const TYPE = f32
    assume M % 8 == 0
{
    grid(ceil(N, 16), ceil(M, 64));
    let n = block.x * 16, m = block.y * 64;
    C[n :+ 16, m :+ 64] = A[n :+ 16, m :+ 64];
}
"""


def load_tests(loader, tests, pattern):
    for info in pkgutil.iter_modules(hexc.__path__, "hexc."):
        if info.name != "hexc.torch":
            tests.addTests(doctest.DocTestSuite(importlib.import_module(info.name)))
    tests.addTests(doctest.DocTestSuite(hexc))
    return tests


class Run(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(1)

    def weights(self, m, n, k, bits):
        a = self.random.standard_normal((m, k)).astype(np.float16)
        w = self.random.integers(0, 1 << bits, (n, k), np.uint8)
        s = self.random.random((k // 128, n)).astype(np.float16)
        z = self.random.integers(0, 1 << bits, (k // 128, n), np.uint8)
        wide = (w.T.astype(float) - np.repeat(z, 128, 0)) * np.repeat(s.astype(float), 128, 0)
        return {"A": a, "W": w, "S": s, "Z": z}, a.astype(float) @ wide

    def test_program_of_the_readme(self):
        kernel = hexc.compile(Path("examples/gemm_w4a16.hexc"))["gemm_w4a16"]
        args, want = self.weights(40, 96, 256, 4)
        got = kernel.run(**args)
        self.assertLess(abs(got["C"] - want).max(), 1e-3 * abs(want).max())
        self.assertEqual(list(got), ["C"])
        self.assertGreater(got.counts["mma"], 0)

    def test_packed_weights_are_packed_here(self):
        constants = {"WEIGHT": "u3", "ZERO": 0}
        kernel = hexc.compile(Path("examples/gemm_wNa16.hexc"), constants=constants)["gemm_wNa16"]
        self.assertEqual(kernel.constants["WEIGHT"], "u3")
        self.assertTrue((kernel.params[1].pack or "").startswith("hexc-pack 1 u3"))
        args, _ = self.weights(16, 128, 256, 3)
        del args["Z"]
        want = args["A"].astype(float) @ (args["W"].T * np.repeat(args["S"].astype(float), 128, 0))
        self.assertLess(abs(kernel.run(**args)["C"] - want).max(), 1e-3 * abs(want).max())

    def test_elements_of_all_widths_come_back(self):
        for name, low, high in ("u1", 0, 2), ("u3", 0, 8), ("i4", -8, 8), ("i7", -64, 64), ("u8", 0, 256), ("f64", -9, 9):
            with self.subTest(name):
                dtype = hexc._sim.numpy_type(name)
                a = self.random.integers(low, high, (24, 64)).astype(dtype)
                got = hexc.compile(TWICE, constants={"TYPE": name})["twice"].run(A=a)["C"]
                np.testing.assert_array_equal(got, a)
                self.assertEqual(got.dtype, dtype)

    def test_tensor_maps(self):
        kernel = hexc.compile(Path("examples/gemm_f16.hexc"), arch="sm_90a", kernel="gemm_f16")["gemm_f16"]
        self.assertGreater(kernel.nmap, 0)
        a = self.random.integers(-3, 4, (64, 128)).astype(np.float16)
        b = self.random.integers(-3, 4, (64, 128)).astype(np.float16)
        np.testing.assert_array_equal(kernel.run(A=a, B=b)["C"], a @ b.T)

    def test_arguments_stay_as_they_are(self):
        program = "kernel k(X: inout f32[N]) { grid(1); X[0 :+ 64] = X[0 :+ 64] + 1.0; }"
        x = np.zeros(64, np.float32)
        np.testing.assert_array_equal(hexc.compile(program)["k"].run(X=x)["X"], x + 1)
        self.assertFalse(x.any())

    def test_empty_grid(self):
        self.assertEqual(hexc.compile(TWICE)["twice"].run(A=np.zeros((0, 8), np.float32))["C"].shape, (0, 8))

    def test_what_is_printed(self):
        program = 'kernel k(X: f32[N]) { grid(1); print("N is {}", N); }'
        self.assertIn("N is 3", hexc.compile(program)["k"].run(X=np.zeros(3, np.float32)).output)


class Errors(unittest.TestCase):
    def says(self, kind, words, function, *args, **named):
        with self.assertRaises(kind) as caught:
            function(*args, **named)
        self.assertIn(words, str(caught.exception))
        return caught.exception

    def test_programs(self):
        e = self.says(hexc.CompileError, "^~~~~", hexc.compile, "kernel k(A: f32[N]) { grid(1); let a = nowhere; }")
        self.assertEqual((e.code, e.diagnostics[0].line, e.diagnostics[0].severity), ("E_SOURCE", 1, "error"))
        self.says(hexc.CompileError, "no constant", hexc.compile, TWICE, constants={"OTHER": 1})
        self.says(hexc.ArgumentError, "no element type u99", hexc.compile, TWICE, constants={"TYPE": "u99"})
        self.says(hexc.ArgumentError, "sm_1", hexc.compile, TWICE, arch="sm_1")
        self.says(FileNotFoundError, "nowhere.hexc", hexc.compile, Path("nowhere.hexc"))
        e = self.says(hexc.CompileError, "", hexc.compile, Path("examples/gemm_f16.hexc"), max_steps=10)
        self.assertEqual(e.code, "E_LIMIT")

    def test_arguments(self):
        run = hexc.compile(TWICE)["twice"].run
        a = np.zeros((4, 8), np.float32)
        self.says(hexc.ArgumentError, "its parameters are A, C, N, M", run, B=a)
        self.says(hexc.ArgumentError, "pass A=", run)
        self.says(hexc.ArgumentError, "an array of float32; this is one of float64", run, A=a.astype(float))
        self.says(hexc.ArgumentError, "M is 9 by the argument M, and 8 by the shape of A", run, A=a, M=9)
        self.says(hexc.ArgumentError, "A has 2 dimensions", run, A=np.zeros(4, np.float32), N=4, M=8)
        self.says(hexc.ArgumentError, "M is an integer, not str", run, A=a, M="8")
        gemm = hexc.compile(Path("examples/gemm_w4a16.hexc"))["gemm_w4a16"]
        half = np.zeros((8, 100), np.float16)
        wide = np.full((16, 100), 16, np.uint8)
        self.says(hexc.ArgumentError, "W is u4, from 0 to 15; the array has 16 to 16", gemm.run, A=half, W=wide, S=half, Z=wide)
        codes = np.zeros((16, 128), np.uint8)
        full = {"A": np.zeros((8, 128), np.float16), "W": codes, "S": np.zeros((1, 16), np.float16), "Z": codes[:1, :16]}
        self.says(hexc.ArgumentError, "K is 128 by the shape of A, and 90 by the shape of W", gemm.run, **full | {"W": codes[:, :90]})
        wide = {**full, "W": np.zeros((32, 128), np.uint8), "S": np.zeros((1, 32), np.float16)}
        self.says(hexc.ArgumentError, "Z is [1, 32] for these sizes; the argument is [2, 32]", gemm.run, **wide | {"Z": codes[:2, :32]})
        self.says(hexc.ArgumentError, "N % 32", gemm.run, **full)

    def test_faults(self):
        program = 'kernel k(X: f32[N]) { grid(1); let x: register = X[0 :+ 64]; assert(x < 1.0, "too large"); }'
        run = hexc.compile(program)["k"].run
        self.says(hexc.FaultError, "too large", run, X=np.full(64, 2, np.float32))

    def test_damaged_module(self):
        self.says(hexc.HexcError, "README.md", hexc.load, "README.md")


class Life(unittest.TestCase):
    def test_a_kernel_keeps_its_module(self):
        module = hexc.compile(Path("examples/gemm_f16.hexc"), explain=True, draw=True)
        owned, kernel = weakref.ref(module._owned), module["gemm_f16"]
        del module
        gc.collect()
        self.assertIn("gemm_f16", kernel.explain())
        self.assertTrue(kernel.explain_json())
        self.assertTrue(kernel.drawings())
        self.assertGreater(kernel.candidates()[0].cycles, 0)
        del kernel
        gc.collect()
        self.assertIsNone(owned())

    def test_files(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            hexc.compile(TWICE).save(f"{folder}/m")
            a = np.ones((3, 8), np.float32)
            np.testing.assert_array_equal(hexc.load(f"{folder}/m")["twice"].run(A=a)["C"], a)

    def test_threads(self):
        a, found = np.arange(64, dtype=np.float32).reshape(4, 16), []

        def work():
            found.append(hexc.compile(TWICE)["twice"].run(A=a, threads=1)["C"])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len(found), 4)
        for c in found:
            np.testing.assert_array_equal(c, a)

    def test_codes_have_names(self):
        self.assertEqual(_module.code_name(-8), "E_ARGS")


if __name__ == "__main__":
    unittest.main()
