"""The package hexc: bundles, families, operators, weights, caches, background compilation, devices. Run by
run-families.sh; the device is the simulator, and results are compared with NumPy."""

import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref
from concurrent.futures import CancelledError, wait
from pathlib import Path

import numpy as np

import hexc
from hexc import _abi, _dlpack, _module

COPY = "kernel copy(A: T[N], C: out T[N]) const T = f32 { grid(ceil(N, 64)); let i = block.x * 64; C[i :+ 64] = A[i :+ 64]; }"
# In the format of scripts/tune --export.
TUNED = """hexc-family 1
family gemm_f16
arch sm_80
program gemm_f16.hexc
judge sim
take gemm_f16 BM=16 BN=64 BK=64 WARPS=4 when M <= 16
take gemm_f16 BM=64 BN=64 BK=32 WARPS=4 when 1
"""
GEMM = [Path("examples/split_k.hexc"), Path("examples/gemm_f16.hexc")]


def integers(*shape, seed=1):
    """Sums of f16 products with these values are exact."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float16)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def says(self, kind, words, function, *args, **named):
        with self.assertRaises(kind) as caught:
            function(*args, **named)
        self.assertIn(words, str(caught.exception))
        return caught.exception

    def right(self, run, m, n, k):
        a, b = integers(m, k), integers(n, k, seed=2)
        want = a.astype(np.float32) @ b.astype(np.float32).T
        np.testing.assert_array_equal(run(A=a, B=b)["C"], want.astype(np.float16))


class Bundles(Case):
    def test_files(self):
        made = hexc.bundle([hexc.compile(COPY, constants={"T": t}, arch=a) for t in ("f32", "f16") for a in ("sm_80", "sm_90a")])
        made.save(self.folder / "b")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["b"])
        read = hexc.Bundle(self.folder / "b")
        read.verify()
        self.assertEqual(read.to_bytes(), made.to_bytes())
        self.assertEqual(read.entries, made.entries)
        self.assertEqual(len(read), 4)
        self.assertEqual(read[-1].arch, "sm_90a")
        kernel = read.find("copy", arch="sm_86", constants={"T": "f16"})
        self.assertEqual((kernel.arch, kernel.params[0].dtype), ("sm_80", "f16"))
        self.says(hexc.ArgumentError, "T", read.find, "copy", constants={"T": "u8"})
        a = integers(100)
        np.testing.assert_array_equal(kernel.run(A=a)["C"], a)

    def test_what_is_none(self):
        (self.folder / "b").write_bytes(b"no bundle")
        self.says(hexc.HexcError, "", hexc.Bundle, self.folder / "b")
        self.says(hexc.HexcError, "", hexc.Bundle, self.folder / "nowhere")
        whole = bytearray(hexc.bundle([hexc.compile(COPY)]).to_bytes())
        whole[-8] ^= 1
        self.says(hexc.HexcError, "", lambda: hexc.Bundle(bytes(whole)).verify())
        twice = hexc.compile(COPY)
        self.says(hexc.ArgumentError, "copy", hexc.bundle, [twice, twice])

    def test_a_kernel_keeps_its_bundle(self):
        b = hexc.bundle([hexc.compile(COPY)])
        owned, kernel = weakref.ref(b._owned), b[0]
        del b
        gc.collect()
        a = np.arange(9, dtype=np.float32)
        np.testing.assert_array_equal(kernel.run(A=a)["C"], a)
        del kernel
        gc.collect()
        self.assertIsNone(owned())


class Families(Case):
    def test_a_kernel_for_each_size(self):
        family = hexc.compile_family(GEMM, Path("examples/gemm.family"))
        self.assertEqual([p.name for p in family.params], ["A", "B", "M", "K", "N", "C"])
        for m, n, k, kernels in (
            (1, 64, 1024, ["partial", "join"]),
            (5, 72, 1032, ["partial", "join"]),
            (16, 64, 64, ["gemm_f16"]),
            (33, 8, 16, ["gemm_f16"]),
            (300, 1, 8, ["gemm_f16"]),
        ):
            with self.subTest((m, n, k)):
                self.assertEqual([s.name for s in family.pick(M=m, N=n, K=k).kernels], kernels)
                self.right(family.run, m, n, k)

    def test_tuned(self):
        family = hexc.compile_family(GEMM[1], TUNED)
        self.assertEqual((family.name, family.arch, len(family.lines)), ("gemm_f16", "sm_80", 2))
        self.assertEqual(family.pick(M=16, N=8, K=8).kernels[0].constants["BM"], 16)
        self.assertEqual(family.pick(M=17, N=8, K=8).kernels[0].constants["BM"], 64)
        self.right(family.run, 17, 40, 64)
        # from a file, and with another table
        family.bundle.save(self.folder / "f")
        read = hexc.Bundle(self.folder / "f")
        self.assertEqual(read.families, TUNED)
        self.right(read.family("gemm_f16", arch="sm_86").run, 3, 8, 8)
        other = read.family(families="hexc-family 1\nfamily mine\ntake gemm_f16 BM=64 when M > 9\n")
        self.assertEqual(other.name, "mine")
        self.says(hexc.ArgumentError, "mine", other.pick, M=9, N=8, K=8)
        # of an operator
        text = TUNED.replace("gemm_f16", "gemm")
        self.right(hexc.operator("gemm", families=text).run, 17, 40, 64)

    def test_what_is_refused(self):
        family = hexc.compile_family(GEMM[1], TUNED)
        a = integers(16, 8)
        self.says(hexc.ArgumentError, "its parameters are A, B, C, M, K, N", family.run, X=a)
        self.says(hexc.ArgumentError, "reads B", family.run, A=a)
        self.says(hexc.ArgumentError, "K is 8 by the shape of A, and 4 by the shape of B", family.run, A=a, B=a[:, :4])
        self.says(hexc.ArgumentError, "K % 8 == 0", family.run, A=a[:, :4], B=a[:, :4])
        self.says(hexc.ArgumentError, "nothing says what N is", family.pick, M=1, K=8)
        self.says(hexc.ArgumentError, "a kernel join", hexc.compile_family, GEMM[1], "hexc-family 1\nfamily f\ntake join when 1\n")
        self.says(hexc.HexcError, "line 2", hexc.compile_family, GEMM[1], "hexc-family 1\nnothing\n")
        self.says(hexc.CompileError, "BM=17", hexc.compile_family, GEMM[1], "hexc-family 1\nfamily f\ntake gemm_f16 BM=17 when 1\n")

    def test_launches_and_threads(self):
        """Each stream has its own workspace, and threads alternate."""
        gpu = hexc.simulator(80)
        family = hexc.compile_family(GEMM, Path("examples/gemm.family"))
        failed = []

        def work(i):
            stream = gpu.stream() if i % 2 else None
            for k in (1024, 2048 + 8 * i):
                a, b = integers(3, k, seed=i), integers(16, k, seed=i + 9)
                A, B, C = (hexc.to_device(x, gpu) for x in (a, b, np.zeros((3, 16), np.float16)))
                family.launch(A=A, B=B, C=C, stream=stream)
                if stream:
                    stream.wait()
                if not np.array_equal(C.numpy(), (a.astype(float) @ b.astype(float).T).astype(np.float16)):
                    failed.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])

    def test_faults(self):
        program = 'kernel k(X: f32[N]) { grid(1); let x: register = X[0 :+ 64]; assert(x < 1.0, "too large"); }'
        family = hexc.compile_family(program, "hexc-family 1\nfamily k\ntake k when 1\n")
        gpu, bad, good = hexc.simulator(80), np.full(64, 2, np.float32), np.zeros(64, np.float32)
        self.says(hexc.FaultError, "too large", family.run, X=bad)
        self.assertTrue(gpu.lost)
        self.says(hexc.FaultError, "", gpu.wait)
        family.run(X=good)  # on a new one
        kernel = family.lines[0].kernels[0]
        self.says(hexc.FaultError, "too large", kernel.launch, X=bad, device=hexc.simulator(80))
        kernel.launch(X=good, device=hexc.simulator(80))


    def test_without_a_compiler(self):
        """libhexc_rt and the simulator suffice to run the contents of a file."""
        built = Path(os.environ["HEXC_LIBRARY_DIR"])
        for name in ("libhexc_rt.so.0", "libhexc_sim.so.0"):
            (self.folder / name).symlink_to(built / name)
        hexc.compile_family(GEMM, Path("examples/gemm.family")).bundle.save(self.folder / "gemm.hxb")
        program = f"""
import hexc, numpy as np
family = hexc.Bundle("{self.folder}/gemm.hxb").family("gemm")
assert family.run(A=np.ones((2, 1024), np.float16), B=np.ones((8, 1024), np.float16))["C"].sum() == 2 * 8 * 1024
try:
    hexc.compile("")
except hexc.LibraryError as e:
    print(e)
"""
        environment = os.environ | {"HEXC_LIBRARY_DIR": str(self.folder)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("only libhexc compiles", done.stdout)


class Operators(Case):
    def test_settings(self):
        self.assertLess({"gemm", "attention", "norm", "linear"}, set(hexc.operators()))
        norm = hexc.operator("norm", arch="sm_90a", IN="f32", tensors="gain: f32[N]", epilogue="x * gain[n]")
        self.assertIn("gain", norm.program)
        x, gain = np.random.default_rng(1).standard_normal((5, 300)).astype(np.float32), np.linspace(1, 2, 300, dtype=np.float32)
        want = x / np.sqrt((x.astype(float) ** 2).mean(1, keepdims=True) + 1e-5) * gain
        np.testing.assert_allclose(norm.run(X=x, gain=gain, eps=1e-5)["Y"], want, rtol=1e-5)
        norm.bundle.save(self.folder / "norm")  # for hosts without a compiler
        read = hexc.Bundle(self.folder / "norm").family("norm")
        np.testing.assert_allclose(read.run(X=x, gain=gain, eps=1e-5)["Y"], want, rtol=1e-5)

    def test_what_is_refused(self):
        self.says(hexc.ArgumentError, "nothing", hexc.operator, "nothing")
        self.says(hexc.ArgumentError, "OTHER", hexc.operator, "gemm", OTHER=1)
        self.says(hexc.ArgumentError, "unknown or unsupported arch", hexc.operator, "gemm", arch="sm_1")
        e = self.says(hexc.CompileError, "unknown name `nowhere`", hexc.operator, "gemm", epilogue="x + nowhere")
        self.assertEqual((e.code, e.diagnostics[0].severity), ("E_SOURCE", "error"))


class Weights(Case):
    def test_of_a_file(self):
        file = hexc.WeightFile("test/weights/fixtures/blocks.gguf")
        self.assertEqual(file.kind, "gguf")
        self.assertIn("blk.0.q4_0", file)
        self.says(KeyError, "nowhere", lambda: file["nowhere"])
        self.assertTrue(file.metadata)
        gpu, first = hexc.simulator(80), None
        for name in ("blk.0.q4_0", "blk.0.q8_0"):
            w = file[name]
            self.assertEqual(file.tensors[name + ".weight" if name + ".weight" in file.tensors else name].shape, (w.n, w.k))
            wide = w.numpy().astype(float)
            a = integers(5, w.k)
            linear = hexc.Linear(w, gpu, like=first, OUT="f32")
            self.assertLess(linear.nbytes, 2 * w.n * w.k)
            self.assertEqual([p.name for p in linear.params], ["A", "M", "C"])
            # weights are rounded to f16 three times at most
            bound = 3 * 2.0**-11 * (abs(a.astype(float)) @ abs(wide.T)) + 1e-6
            self.assertTrue((abs(linear.run(A=a)["C"] - a.astype(float) @ wide.T) <= bound).all())
            first = first or linear

    def test_made_here(self):
        x = integers(32, 64).astype(np.float32)
        np.testing.assert_allclose(hexc.Weight.quantize(x, "Q8_0").numpy(), x, atol=2 / 127)
        linear = hexc.Linear(hexc.Weight.dense(x), hexc.simulator(80), tensors="bias: f32[N]", epilogue="x + bias[n]")
        a, bias = integers(3, 64, seed=2), np.arange(32, dtype=np.float32)
        np.testing.assert_array_equal(linear.run(A=a, bias=bias)["C"], (a.astype(np.float32) @ x.T + bias).astype(np.float16))
        device = {name: hexc.to_device(v, linear.device) for name, v in (("A", a), ("bias", bias))}
        C = hexc.to_device(np.zeros((3, 32), np.float16), linear.device)
        linear.launch(C=C, **device)
        np.testing.assert_array_equal(C.numpy(), (a.astype(np.float32) @ x.T + bias).astype(np.float16))
        self.says(hexc.ArgumentError, "its parameters are A, M, bias, C", linear.run, A=a, W=x)
        self.says(hexc.ArgumentError, "nothing", hexc.Weight.quantize, x, "nothing")
        self.says(hexc.ArgumentError, "2 dimensions", hexc.Weight.quantize, x[0], "Q8_0")
        self.says(hexc.ArgumentError, "N", hexc.Linear, hexc.Weight.dense(x), hexc.simulator(80), N=4)
        self.says(hexc.HexcError, "README.md", hexc.WeightFile, "README.md")


class Plans(Case):
    def test_a_layer(self):
        """max(X W1^T, 0) W2^T + X W3^T, whose two parts may run concurrently; kernels, families and a workspace."""
        gpu = hexc.simulator(80)
        x, w = integers(5, 64), [integers(64, 64, seed=i) for i in (2, 3, 4)]
        half = lambda a, b: (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16)
        h = np.maximum(half(x, w[0]), 0) % 4  # keeps sums exact
        want = half(h, w[1]) + half(x, w[2])
        act = hexc.operator("gemm", epilogue="max(x, 0) - 4 * floor(max(x, 0) / 4)")
        gemm = hexc.compile_family(GEMM[1], TUNED)
        add = hexc.compile("kernel add(A: f16[M, N], B: f16[M, N], C: out f16[M, N]) { grid(ceil(M, 4)); let m = block.x * 4;"
                           "C[m :+ 4, 0 :+ 64] = A[m :+ 4, 0 :+ 64] + B[m :+ 4, 0 :+ 64]; }")["add"]
        X, *W = (hexc.to_device(t, gpu) for t in (x, *w))
        Y = hexc.to_device(np.zeros_like(x), gpu)
        for streams in (1, 2):
            plan = hexc.Plan(gpu, streams=streams)
            self.says(hexc.ArgumentError, "not solved", plan.launch)
            H, P, Q = (plan.buffer((5, 64), np.float16) for _ in range(3))
            plan.add(act, A=X, B=W[0], C=H, us=9)
            plan.add(gemm, A=H, B=W[1], C=P, us=8)
            plan.add(gemm, A=X, B=W[2], C=Q, us=8, fill=0.1)
            plan.add(add, A=P, B=Q, C=Y)
            info = plan.solve()
            self.assertEqual((info.nodes, info.streams, info.exact), (4, streams, True))
            self.assertLessEqual(info.nbytes, info.total)
            self.assertNotEqual(P.offset, Q.offset)
            for how in (plan.launch, lambda: plan.launch(gpu.stream()), plan.capture, plan.replay):
                gpu._call("hexc_gpu_write", gpu._pointer, Y.address, np.zeros_like(x).ctypes.data, Y.nbytes)
                how()
                np.testing.assert_array_equal(Y.numpy(), 0 * want if how == plan.capture else want)
        self.assertEqual(plan.info().captures, 1)
        self.says(hexc.ArgumentError, "a buffer of another plan", hexc.Plan(gpu).add, add, A=P, B=Q, C=Y)
        self.says(hexc.ArgumentError, "another device", plan.add, add, A=hexc.to_device(x, hexc.simulator(90)), B=Q, C=Y)
        self.says(hexc.ArgumentError, "needs B", plan.add, add, A=X, C=Y)
        self.says(hexc.ArgumentError, "A is f16", plan.add, add, A=plan.buffer((5, 64), np.float32), B=Q, C=Y)

    def test_a_workspace(self):
        gpu, a, b = hexc.simulator(80), integers(3, 2048), integers(16, 2048, seed=2)
        A, B, C = (hexc.to_device(t, gpu) for t in (a, b, np.zeros((3, 16), np.float16)))
        plan = hexc.Plan(gpu)
        plan.add(hexc.compile_family(GEMM, Path("examples/gemm.family")), A=A, B=B, C=C)  # partial, then join
        self.assertEqual(plan.solve().nodes, 2)
        plan.launch()
        np.testing.assert_array_equal(C.numpy(), (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16))
        kept = weakref.ref(plan._owned)
        del plan
        gc.collect()
        self.assertIsNone(kept())


class Caches(Case):
    def test_hits(self):
        cache = hexc.Cache(self.folder / "a" / "b")
        ptx = [hexc.compile(COPY, constants={"T": t}, cache=cache).ptx for t in ("f32", "f16", "f32")]
        self.assertEqual(ptx[0], ptx[2])
        info = cache.info()
        self.assertEqual((info.hits, info.misses, info.stored, info.failed), (1, 2, 2, 0))
        self.assertEqual(len([e for e in cache.entries() if "copy" in e.label or "sm_80" in e.label]), 2)
        self.assertEqual(hexc.compile_async(COPY, cache=hexc.Cache(cache.path, read_only=True)).result().ptx, ptx[0])
        hexc.operator("gemm", cache=cache)
        before = cache.info().misses
        hexc.operator("gemm", cache=cache)
        self.assertEqual(cache.info().misses, before)
        self.assertEqual(cache.clear(), cache.info().stored)
        self.assertEqual(cache.entries(), [])
        (self.folder / "file").touch()
        self.says(hexc.HexcError, "file", hexc.Cache, self.folder / "file")


class Background(Case):
    def test_results(self):
        jobs = [hexc.compile_async(COPY, constants={"T": t}) for t in ("f16", "f32", "bf16", "u8")]
        wait(jobs)
        self.assertEqual([j.result()["copy"].params[0].dtype for j in jobs], ["f16", "f32", "bf16", "u8"])
        bad = hexc.compile_async("kernel k(A: f32[N]) { grid(1); let a = nowhere; }")
        self.assertIn("^~~~~", str(bad.exception()))
        self.assertEqual(bad.exception().code, "E_SOURCE")
        self.says(hexc.ArgumentError, "sm_1", hexc.compile_async(COPY, arch="sm_1").result)
        self.says(hexc.ArgumentError, "u99", hexc.compile_async, COPY, constants={"T": "u99"})

    def test_cancel(self):
        slow = {"arch": "sm_90a", "max_steps": 10**9}
        jobs = [hexc.compile_async(Path("examples/attention.hexc"), **slow) for _ in range(8)]
        self.assertTrue(all(j.cancel() or j.done() for j in jobs))
        begun = time.monotonic()
        for j in jobs:
            self.assertTrue(j.cancelled() or j.done())
            if j.cancelled():
                self.assertRaises(CancelledError, j.result)
        self.assertLess(time.monotonic() - begun, 60)
        # the pool is free again
        self.assertEqual(list(hexc.compile_async(COPY).result()), ["copy"])


class Devices(Case):
    def test_simulators(self):
        a, b = hexc.simulator(80), hexc.simulator(90)
        self.assertIs(a, hexc.simulator(80))
        self.assertEqual((a.arch, b.arch, a.capability, b.capability), ("sm_80", "sm_90a", 80, 90))
        x = np.arange(100, dtype=np.float32)
        kernel = hexc.compile(COPY)["copy"]
        A, C = hexc.to_device(x, a), hexc.to_device(0 * x, a)
        kernel.launch(A=A, C=C)  # on the device of its tensors
        np.testing.assert_array_equal(C.numpy(), x)
        B = hexc.to_device(x, b)
        self.says(hexc.ArgumentError, "several devices", kernel.launch, A=B, C=C)
        self.says(hexc.ArgumentError, "other devices", kernel.launch, A=B, C=B, device=a)
        for name in ("__cuda_array_interface__", "__dlpack__"):
            self.assertRaises(AttributeError, lambda name=name: getattr(A, name)())
        self.says(hexc.ArgumentError, "A is a ndarray: a tensor in GPU memory is wanted", kernel.launch, A=x, C=C)

    def test_host_arrays(self):
        gpu, kernel = hexc.simulator(80), hexc.compile(COPY)["copy"]
        a, c = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
        kernel.launch(A=a, C=c, device=gpu)
        np.testing.assert_array_equal(c, a)
        c.flags.writeable = False
        self.says(hexc.ArgumentError, "C is written, and the argument is read-only", kernel.launch, A=a, C=c, device=gpu)

    def test_streams_and_events(self):
        gpu = hexc.simulator(80)
        kernel = hexc.compile(COPY)["copy"]
        A, C = hexc.to_device(np.ones(64, np.float32), gpu), hexc.to_device(np.zeros(64, np.float32), gpu)
        stream = gpu.stream()
        first = gpu.event().record(stream)
        kernel.launch(A=A, C=C, stream=stream)
        last = gpu.event().record(stream)
        stream.wait()
        last.wait()
        self.assertGreater(last.since(first), 0)
        self.assertEqual(C.numpy().sum(), 64)
        gpu.wait()
        cache = hexc.Cache(self.folder / "c")
        gpu.keep_in(cache)
        gpu.keep_in(None)

    def test_what_dies_while_another_thread_is_there(self):
        """A finalizer does not wait for the device; the other thread frees its objects."""
        gpu, begun, end = hexc.simulator(80), threading.Event(), threading.Event()

        def hold():
            with gpu._lock:
                begun.set()
                end.wait(60)

        array, other = hexc.to_device(np.zeros(9), gpu), threading.Thread(target=hold)
        other.start()
        begun.wait()
        del array
        gc.collect()
        self.assertEqual(len(gpu._lock.dead), 1)
        end.set()
        other.join()
        self.assertEqual(len(gpu._lock.dead), 0)

    def test_no_such_gpu(self):
        with self.assertRaises(hexc.DeviceError):
            hexc.device(99)


class Leaks(Case):
    def test_nothing_is_left(self):
        """No leaks: each round has the allocations of the previous one, in C by its allocator and in
        Python by the collector."""

        class Info(ctypes.Structure):
            _fields_ = [(n, ctypes.c_size_t) for n in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

        libc = ctypes.CDLL(None)
        if not hasattr(libc, "mallinfo2"):
            self.skipTest("no mallinfo2")
        libc.mallinfo2.restype = Info
        gpu = hexc.simulator(80)
        x = np.random.default_rng(1).standard_normal((64, 512)).astype(np.float32)

        def round():
            family = hexc.compile_family(GEMM[1], TUNED)
            self.right(family.run, 3, 8, 8)
            hexc.Linear(hexc.Weight.quantize(x, "Q8_0"), gpu).run(A=integers(2, 512))
            hexc.compile(COPY, explain=True)["copy"].run(A=x[0], threads=1)
            self.right(hexc.operator("gemm", cache=hexc.Cache(self.folder / "c")).run, 3, 8, 8)
            hexc.WeightFile("test/weights/fixtures/blocks.gguf")["blk.0.q4_0"].numpy()
            for program in (COPY.replace("let i", "let i = j"), COPY):
                hexc.compile_async(program).exception()
            plan = hexc.Plan(gpu)
            for _ in range(50):
                plan.buffer((9,), np.float32)
            A, C = hexc.to_device(x[0], gpu), hexc.to_device(x[0], gpu)
            plan.add(hexc.compile(COPY)["copy"], A=A, C=C)
            plan.solve()
            plan.launch()
            gpu.stream(), gpu.event()
            del plan, A, C, family
            gc.collect()
            ours = sum(isinstance(o, _module.Owned) for o in gc.get_objects())
            info = libc.mallinfo2()
            return ours, info.uordblks + info.hblkhd

        round(), round()
        (ours, bytes0), *more = [round() for _ in range(6)]
        self.assertEqual({o for o, _ in more}, {ours})
        # the modules of one round take more than a hundred KB
        self.assertLess(more[-1][1] - bytes0, 60_000, (bytes0, more))


class Abi(unittest.TestCase):
    def test_the_headers_of_the_declarations(self):
        self.assertEqual(_abi.STRUCT["hexc_weight"].plane.size, 8 * ctypes.sizeof(_abi.STRUCT["hexc_plane"]))

    def test_dlpack_of_numpy(self):
        class Only:
            def __init__(self, array):
                self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        a = np.arange(12, dtype=np.int16).reshape(3, 4)
        s = _dlpack.take("A", Only(a[:, 1:]))
        self.assertEqual((s.address, s.shape, s.strides, s.kind), (a.ctypes.data + 2, (3, 3), (4, 1), "i"))


if __name__ == "__main__":
    unittest.main()
