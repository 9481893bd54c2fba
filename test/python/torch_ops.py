"""Torch operators, with real torch, on CPU tensors: the simulator is the device. Run by run-torch.sh."""

import gc
import unittest
from pathlib import Path

import numpy as np
import torch

import hexc
from hexc.torch import custom_op, schema

PARTS = """
kernel halves(A: f16[M, N], C: out f16[N, M], SUM: inout f32[M], by: f32)
    assume N <= 64
{
    grid(ceil(M, 16));
    let m = block.x * 16;
    let a: register = A[m :+ 16, 0 :+ 64];
    C[0 :+ 64, m :+ 16] = f16(f32(a.T) * by);
    SUM[m :+ 16] = SUM[m :+ 16] + reshape(sum(f32(a), 1), 16);
}
"""


def random(*shape, dtype=torch.float16):
    return torch.randint(-3, 4, shape).to(dtype)


class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        cls.gemm = hexc.compile(Path("examples/gemm_f16.hexc"), kernel="gemm_f16")["gemm_f16"]
        cls.bias = hexc.operator("gemm", ACT="bf16", tensors="bias: f32[N]", epilogue="max(x + bias[n], 0)")
        cls.halves = hexc.compile(PARTS)["halves"]
        cls.in_place = custom_op("hexc_test::in_place", cls.gemm)
        cls.product = custom_op("hexc_test::product", cls.gemm, functional=True)
        cls.biased = custom_op("hexc_test::biased", cls.bias, functional=True)
        cls.mixed = custom_op("hexc_test::mixed", cls.halves, functional=True)

    def test_schemas(self):
        self.assertEqual(schema(self.gemm), "(Tensor A, Tensor B, Tensor(a2!) C) -> ()")
        self.assertEqual(schema(self.gemm, True), "(Tensor A, Tensor B) -> Tensor")
        self.assertEqual(schema(self.halves, True), "(Tensor A, Tensor(a1!) SUM, float by) -> Tensor")

    def test_opcheck(self):
        a, b = random(20, 64), random(32, 64)
        torch.library.opcheck(self.in_place, (a, b, torch.zeros(20, 32, dtype=torch.float16)))
        torch.library.opcheck(self.product, (a, b))
        torch.library.opcheck(self.biased, (a.bfloat16(), b.bfloat16(), torch.ones(32)))
        torch.library.opcheck(self.mixed, (a, torch.zeros(20), 0.5))

    def test_eager(self):
        a, b, c = random(20, 64), random(32, 64), torch.zeros(20, 32, dtype=torch.float16)
        self.in_place(a, b, c)
        torch.testing.assert_close(c, a @ b.T)
        total = torch.ones(20)
        torch.testing.assert_close(self.mixed(a, total, 0.5), a.T / 2)
        torch.testing.assert_close(total, 1 + a.float().sum(1))

    def test_compiled(self):
        def layer(x, w, v, bias):
            y = self.biased(x, w, bias)
            return self.biased(y * 2, v, bias) + x

        w, v, bias = random(64, 64, dtype=torch.bfloat16), random(64, 64, dtype=torch.bfloat16), torch.arange(64.0)
        compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
        for m in (5, 16, 33):  # shapes are symbols: it is compiled once
            x = random(m, 64, dtype=torch.bfloat16)
            y = torch.relu(x.float() @ w.float().T + bias).bfloat16()
            want = torch.relu((y * 2).float() @ v.float().T + bias).bfloat16() + x
            torch.testing.assert_close(compiled(x, w, v, bias), want)

    def test_in_place_compiled(self):
        def twice(a, b, c):
            self.in_place(a, b, c)
            return c + c

        a, b = random(20, 64), random(32, 64)
        compiled = torch.compile(twice, backend="aot_eager", fullgraph=True)
        c = torch.zeros(20, 32, dtype=torch.float16)
        torch.testing.assert_close(compiled(a, b, c), 2 * (a @ b.T))
        torch.testing.assert_close(c, a @ b.T)

    def test_shapes_without_data(self):
        with torch._subclasses.FakeTensorMode():
            c = self.product(torch.empty(20, 64, dtype=torch.float16), torch.empty(32, 64, dtype=torch.float16))
            self.assertEqual((c.shape, c.dtype), ((20, 32), torch.float16))

    def test_linear(self):
        w = hexc.Weight.quantize(np.random.default_rng(1).standard_normal((64, 128)), "Q4_0")
        linear = hexc.Linear(w, hexc.simulator(80))
        op = custom_op("hexc_test::linear", linear, functional=True)
        a = random(7, 128)
        torch.testing.assert_close(op(a).float(), a.float() @ torch.from_numpy(w.numpy()).T, rtol=1e-2, atol=1e-1)

    def test_what_does_not_fit(self):
        a, b = random(20, 64), random(32, 64)
        with self.assertRaisesRegex(hexc.ArgumentError, "A is f16; the argument is bf16"):
            self.product(a.bfloat16(), b)
        with self.assertRaisesRegex(hexc.ArgumentError, r"B has strides \[64, 1\]; the argument has \[1, 32\]"):
            self.product(a, random(64, 32).T)
        with self.assertRaisesRegex(hexc.ArgumentError, "A is a tensor on cpu, not on a GPU"):
            self.gemm.launch(A=a, B=b, C=torch.zeros(20, 32))

    def test_dlpack(self):
        class Only:
            def __init__(self, tensor):
                self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__

        a, b, c = random(20, 64), random(32, 64), torch.zeros(20, 32, dtype=torch.float16)
        self.gemm.launch(A=Only(a), B=Only(b), C=Only(c), device=hexc.simulator(80))
        torch.testing.assert_close(c, a @ b.T)
        with self.assertRaisesRegex(hexc.ArgumentError, "A is f16; the argument is bf16"):
            self.gemm.launch(A=Only(a.bfloat16()), B=b, C=c, device=hexc.simulator(80))
        gc.collect()


if __name__ == "__main__":
    unittest.main()
