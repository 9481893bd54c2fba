"""The package hexc on GPU memory, and its torch operator. Run by run-launch.sh: the GPU is a simulated sm_80
that accepts the default stream and stream 7; torch is a stub with the functions that the package uses."""

import ctypes
import gc
import sys
import threading
import types
import unittest
import weakref

import numpy as np

import hexc
from hexc import _dlpack, _gpu

ADD = """
kernel add(A: f32[N], B: f32[N], C: out f32[N])
{
    grid(ceil(N, 64));
    let i = block.x * 64;
    C[i :+ 64] = A[i :+ 64] + B[i :+ 64];
}
"""
HALVE = """
kernel halve(W: u4[N, K], C: out f16[N, K], by: f32)
    assume K % 8 == 0
{
    grid(ceil(N, 16), ceil(K, 64));
    let n = block.x * 16, k = block.y * 64;
    C[n :+ 16, k :+ 64] = f16(f32(W[n :+ 16, k :+ 64]) * by);
}
"""


class Interface:
    """A tensor of another library: the same memory, with another interface."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__ | changes


class Tensor:
    """The used part of torch.Tensor."""

    def __init__(self, array):
        self.array = array
        self.is_cuda = isinstance(array, hexc.DeviceArray)
        self.shape = array.shape
        self.dtype = types.SimpleNamespace(is_floating_point=array.dtype.kind == "f", is_signed=array.dtype.kind != "u")
        self.device = types.SimpleNamespace(index=0)

    def data_ptr(self):
        return self.array.__cuda_array_interface__["data"][0]

    def element_size(self):
        return self.array.dtype.itemsize

    def stride(self):
        return tuple(int(np.prod(self.shape[i + 1 :])) for i in range(len(self.shape)))


class Op:
    def __init__(self, name, function, mutates_args, schema):
        self.name, self.real, self.mutates, self.schema = name, function, mutates_args, schema

    def register_fake(self, fake):
        self.fake = fake


def stand_in():
    torch = types.ModuleType("torch")
    torch.Tensor = Tensor
    torch.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=torch.stream))
    torch.library = types.SimpleNamespace(custom_op=Op)
    torch.stream = 0
    return torch


class Launch(unittest.TestCase):
    def setUp(self):
        self.add = hexc.compile(ADD)["add"]
        self.a = np.arange(100, dtype=np.float32)
        self.A, self.C = hexc.to_device(self.a), hexc.to_device(np.zeros_like(self.a))

    def refused(self, words, **args):
        with self.assertRaises(hexc.HexcError) as caught:
            self.add.launch(**({"A": self.A, "B": self.A, "C": self.C} | args))
        self.assertIn(words, str(caught.exception))

    def result(self):
        np.testing.assert_array_equal(self.C.numpy(), 2 * self.a)

    def test_in_place(self):
        self.add.launch(A=self.A, B=self.A, C=self.C)
        self.result()
        _gpu.wait()

    def test_streams(self):
        self.add.launch(A=self.A, B=self.A, C=self.C, stream=7)
        self.result()
        self.refused("cuLaunchKernel", stream=8)
        self.refused("several streams (7, 8): pass stream=", A=Interface(self.A, stream=7), B=Interface(self.A, stream=8))
        self.refused("cuLaunchKernel", A=Interface(self.A, stream=8))

    def test_what_does_not_fit(self):
        self.refused("A is f32; the argument has elements of 2 bytes", A=hexc.to_device(self.a.astype(np.float16)))
        self.refused("A is f32; the argument has elements of 4 bytes (i)", A=hexc.to_device(self.a.astype(np.int32)))
        self.refused("N is 100 by the shape of A, and 50 by the shape of B", B=hexc.to_device(self.a[:50]))
        self.refused("A has strides [1]", A=Interface(self.A, shape=(50,), strides=(8,)), B=Interface(self.A, shape=(50,)), C=Interface(self.C, shape=(50,)))
        self.refused("C is written, and the argument is read-only", C=Interface(self.C, data=(self.C.__cuda_array_interface__["data"][0], True)))
        self.refused("A is a ndarray: a tensor in GPU memory is wanted", A=self.a)
        self.refused("GPU 3 does not exist", device=3)
        with self.assertRaisesRegex(hexc.ArgumentError, "add needs C"):
            self.add.launch(A=self.A, B=self.A)

    def test_narrow_elements_are_bytes(self):
        codes = np.arange(16 * 64, dtype=np.uint8).reshape(16, 64) % 16
        W = hexc.to_device((codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8))
        C = hexc.to_device(np.zeros((16, 64), np.float16))
        hexc.compile(HALVE)["halve"].launch(W=W, C=C, by=0.5)
        np.testing.assert_array_equal(C.numpy(), codes / 2)

    def test_threads(self):
        def work():
            C = hexc.to_device(np.zeros_like(self.a))
            self.add.launch(A=self.A, B=self.A, C=C)
            done.append(C.numpy())

        done = []
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([c.tolist() for c in done], [(2 * self.a).tolist()] * 4)

    def test_memory_is_freed(self):
        memory = hexc.to_device(self.a)
        address = memory._memory.pointer.value
        out, gpu = np.empty_like(self.a), _gpu.device(0)
        gpu._call("hexc_gpu_read", gpu._pointer, out.ctypes.data, address, out.nbytes)
        del memory
        gc.collect()
        with self.assertRaisesRegex(hexc.DeviceError, "cuMemcpyDtoH"):
            gpu._call("hexc_gpu_read", gpu._pointer, out.ctypes.data, address, out.nbytes)


    def test_dlpack(self):
        class Only:
            def __init__(self, array):
                self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        self.add.launch(A=Only(self.A), B=self.A, C=Only(self.C))
        self.result()
        gc.collect()
        self.assertEqual(_dlpack._alive, {})  # no export is still in use
        # a consumer that keeps the memory: it renames the capsule, and deletes it later
        self.assertEqual(self.A.__dlpack_device__(), (2, 0))
        capsule, array = self.A.__dlpack__(stream=1), weakref.ref(self.A._memory)
        api = ctypes.pythonapi
        at = _dlpack._pointer(id(capsule), b"dltensor")
        api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
        api.PyCapsule_SetName(capsule, b"used_dltensor")
        del capsule, self.A
        gc.collect()
        self.assertIsNotNone(array())
        _dlpack._Delete(ctypes.cast(at, ctypes.POINTER(_dlpack._Managed)).contents.deleter)(at)
        gc.collect()
        self.assertIsNone(array())
        with self.assertRaises(BufferError):
            hexc.to_device(np.zeros(2, "M8[s]")).__dlpack__()

    def test_streams_of_others(self):
        stream = hexc.device(0).stream()
        self.add.launch(A=self.A, B=self.A, C=self.C, stream=stream)
        stream.wait()
        self.result()
        with self.assertRaisesRegex(hexc.ArgumentError, "a stream is a handle, or has __cuda_stream__"):
            self.add.launch(A=self.A, B=self.A, C=self.C, stream="7")

    def test_family(self):
        family = hexc.compile_family(ADD, "hexc-family 1\nfamily add\ntake add when 1\n")
        for _ in range(2):
            family.launch(A=self.A, B=self.A, C=self.C, stream=7)
            self.result()
        self.assertEqual(len(family._calls._of), 1)


class Torch(Launch):
    """The same with torch and its tensors."""

    def setUp(self):
        super().setUp()
        self.torch = sys.modules["torch"] = stand_in()
        self.addCleanup(sys.modules.pop, "torch")

    def test_current_stream(self):
        self.torch.stream = 7
        self.add.launch(A=Tensor(self.A), B=Tensor(self.A), C=Tensor(self.C))
        self.result()
        self.torch.stream = 8
        self.refused("cuLaunchKernel", A=Tensor(self.A))

    def test_tensors_elsewhere(self):
        tensor = Tensor(self.a)
        tensor.device = "cpu"
        self.refused("A is a tensor on cpu, not on a GPU", A=tensor)

    def test_operator(self):
        from hexc.torch import custom_op

        op = custom_op("test::add", self.add)
        self.assertEqual(op.schema, "(Tensor A, Tensor B, Tensor(a2!) C) -> ()")
        self.assertEqual(op.mutates, ("C",))
        op.real(Tensor(self.A), Tensor(self.A), Tensor(self.C))
        self.result()
        self.assertIsNone(op.fake(Tensor(self.A), Tensor(self.A), Tensor(self.C)))
        halve = custom_op("test::halve", hexc.compile(HALVE)["halve"])
        self.assertEqual(halve.schema, "(Tensor W, Tensor(a1!) C, float by) -> ()")


if __name__ == "__main__":
    unittest.main()
