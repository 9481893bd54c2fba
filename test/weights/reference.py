#!/usr/bin/env python3
"""Weights written and read by the formats' own packages: reference.py DIR [SEED] [--gptq SRC] [--awq SRC]
[--ggml SRC LIB]

Writes DIR/*.gguf and DIR/*.safetensors with the packages' own writers, and DIR/expected.tsv with the result of
their own decoders for each weight: file, name, format, rows, columns, the CRC-32 of the f32 values (with -0 as
0), and the first three of them. test_weights.c and run-reference.sh compare that with libhexc's results.

GGUF needs the packages gguf and numpy. With --gptq (a directory that contains the module auto_gptq,
from its wheel 0.7.1) and --awq (a directory that contains the module awq, from the source of autoawq
0.2.9), their classes write GPTQ, AWQ and Marlin on the CPU. That needs torch (Debian's python3-torch
suffices) and safetensors.

With --ggml (the source of llama.cpp and its libggml-base.so, both of llama-cpp-python 0.3.36) that library
decodes the types that the package gguf does not. The package then comes from this source.

test/weights/fixtures was created by
	/usr/bin/python3 test/weights/reference.py test/weights/fixtures 1 --gptq WHEEL --awq SOURCE --ggml SOURCE LIB
These files contain only the packages' output for random numbers."""
import ctypes
import importlib.util
import os
import sys
import types
import zlib

import numpy as np

lines = []


def expect(file, name, fmt, x):
    x = np.ascontiguousarray(x, dtype=np.float32) + np.float32(0)
    first = " ".join("%.9g" % v for v in x.ravel()[:3])
    lines.append("%s\t%s\t%s\t%d\t%d\t%08x\t%s" % (file, name, fmt, x.shape[0], x.shape[1], zlib.crc32(x.tobytes()), first))


def make_gguf(out, rng):
    import gguf
    from gguf.quants import dequantize, quantize

    path = os.path.join(out, "blocks.gguf")
    w = gguf.GGUFWriter(path, "test")
    w.add_uint32("test.number", 7)
    w.add_array("test.list", ["a", "bc"])
    known = gguf.GGMLQuantizationType

    def put(name, t, data):
        w.add_tensor(name, data, raw_dtype=t)
        expect("blocks.gguf", name, t.name, dequantize(data, t))

    # the package quantizes these itself ...
    for t in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4", "TQ2_0"):
        if t not in known.__members__:
            continue
        x = rng.standard_normal((16, 256)).astype(np.float32)
        put("blk.0." + t.lower(), known[t], quantize(x, known[t]))
    # ... and only decodes these: random blocks, with f16 scales that are numbers
    halves = {"Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,), "NVFP4": (), "Q4_0": (0,)}
    for t, at in halves.items():
        if t not in known.__members__:
            continue
        size, bytes_ = gguf.GGML_QUANT_SIZES[known[t]]
        d = rng.integers(0, 256, (16, 256 // size, bytes_), dtype=np.uint8)
        for i in at:
            d[:, :, i : i + 2] = rng.standard_normal((16, 256 // size, 1)).astype(np.float16).view(np.uint8)
        if t == "NVFP4":
            d[:, :, :4] %= 0x7F  # scales are unsigned, and 0x7f is NaN
        put("blk.1." + t.lower(), known[t], d.reshape(16, -1))
    w.add_tensor("norm", rng.standard_normal(8).astype(np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make_tables(out, rng):
    """Formats with codes that index a table of values: random blocks, which the package decodes."""
    import gguf
    from gguf.quants import dequantize

    w = gguf.GGUFWriter(os.path.join(out, "tables.gguf"), "test")
    for t in ("IQ4_NL", "IQ4_XS"):
        kind = gguf.GGMLQuantizationType[t]
        size, bytes_ = gguf.GGML_QUANT_SIZES[kind]
        d = rng.integers(0, 256, (16, 256 // size, bytes_), dtype=np.uint8)
        d[:, :, :2] = rng.standard_normal((16, 256 // size, 1)).astype(np.float16).view(np.uint8)
        d = d.reshape(16, -1)
        w.add_tensor(t.lower(), d, raw_dtype=kind)
        expect("tables.gguf", t.lower(), t, dequantize(d, kind))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def by_ggml(lib, t, d):
    """Rows of blocks as ggml's C library decodes them."""
    import gguf

    size, bytes_ = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[t]]
    x = np.empty((d.shape[0], d.shape[1] // bytes_ * size), np.float32)
    decode = getattr(lib, "dequantize_row_" + t.lower())
    decode(ctypes.c_void_p(d.ctypes.data), ctypes.c_void_p(x.ctypes.data), ctypes.c_int64(x.size))
    return x


def random_blocks(t, rows, n, rng):
    """With f16 scales that are numbers."""
    import gguf

    size, bytes_ = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[t]]
    d = rng.integers(0, 256, (rows, n // size, bytes_), dtype=np.uint8)
    scale = rng.standard_normal((rows, n // size, 1)).astype(np.float16)
    if t == "IQ1_M":  # in the upper 4 bits of 4 words
        for i in range(4):
            at = d[:, :, 49 + 2 * i]
            at[:] = at & 15 | (scale[:, :, 0].view(np.uint16) >> (4 * i) & 15) << 4
    else:
        at = 52 if t == "TQ1_0" else 0
        d[:, :, at : at + 2] = scale.view(np.uint8)
    return d.reshape(rows, -1)


def make_ggml(out, path, rng):
    """Formats that only ggml's C library decodes, and blocks beside their values, for types that do not load."""
    import gguf

    lib = ctypes.CDLL(path)
    w = gguf.GGUFWriter(os.path.join(out, "ggml.gguf"), "test")
    for t in ("Q1_0", "Q2_0"):
        d = random_blocks(t, 16, 256, rng)
        w.add_tensor(t.lower(), d, raw_dtype=gguf.GGMLQuantizationType[t])
        expect("ggml.gguf", t.lower(), t, by_ggml(lib, t, d))
    finish(w)
    os.makedirs(os.path.join(out, "values"), exist_ok=True)
    w = gguf.GGUFWriter(os.path.join(out, "values", "ggml.gguf"), "test")
    for t in ("TQ1_0", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"):
        d = random_blocks(t, 2, 512, rng)
        w.add_tensor(t, d, raw_dtype=gguf.GGMLQuantizationType[t])
        w.add_tensor(t + ".values", by_ggml(lib, t, d))
    finish(w)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def module(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    m = importlib.util.module_from_spec(spec)
    sys.modules[name] = m
    spec.loader.exec_module(m)
    return m


def linear(torch, q, zeros, scales, group):
    """A layer with the exact weight (q - zeros) * scales, [n, k]; zeros and scales are [n, groups]."""
    g = group if torch.is_tensor(group) else torch.arange(q.shape[1]) // group
    layer = torch.nn.Linear(q.shape[1], q.shape[0], bias=False)
    layer.weight.data = (q.float() - zeros[:, g].float()) * scales[:, g].float()
    return layer


def make_gptq(out, src, rng, torch):
    from safetensors.torch import save_file

    stub = types.ModuleType("transformers")
    stub.pytorch_utils = types.SimpleNamespace(Conv1D=type("Conv1D", (), {}))
    sys.modules["transformers"] = stub
    q_linear = os.path.join(src, "auto_gptq", "nn_modules", "qlinear")
    cuda = module(os.path.join(q_linear, "qlinear_cuda.py"), "qlinear_cuda")
    n, k, group = 32, 64, 32
    for bits in (2, 3, 4, 8):
        for order in (False, True):
            g = torch.arange(k) // group
            if order:
                g = g[torch.from_numpy(rng.permutation(k))]
            q = torch.from_numpy(rng.integers(0, 2**bits, (n, k)))
            # a zero point of 0 is stored as -1: decoders disagree about it
            z = torch.from_numpy(rng.integers(1, 2**bits, (n, k // group)))
            s = torch.from_numpy(rng.uniform(0.5, 1.5, (n, k // group)).astype(np.float16)).float()
            layer = cuda.QuantLinear(bits, group, k, n, False, weight_dtype=torch.float32)
            layer.autogptq_cuda_available = False
            layer.pack(linear(torch, q, z, s, g), s, z.float(), g.to(torch.int32))
            layer.scales = layer.scales.float()
            w = layer(torch.eye(k)).t()
            assert torch.equal(w, linear(torch, q, z, s, g).weight.data), (bits, order)
            name = "gptq%d%s" % (bits, "-order" if order else "")
            save_file(
                {
                    "l.0.qweight": layer.qweight,
                    "l.0.qzeros": layer.qzeros,
                    "l.0.scales": layer.scales.half(),
                    "l.0.g_idx": layer.g_idx,
                },
                os.path.join(out, name + ".safetensors"),
                {"format": "pt"},
            )
            expect(name + ".safetensors", "l.0", "GPTQ-%d" % bits, w.numpy())


def make_marlin(out, src, rng, torch):
    from safetensors.torch import save_file

    m = module(os.path.join(src, "auto_gptq", "nn_modules", "qlinear", "qlinear_marlin.py"), "qlinear_marlin")
    n, k = 64, 128
    for group in (32, k):
        layer = m.QuantLinear.__new__(m.QuantLinear)  # its constructor needs a GPU
        torch.nn.Module.__init__(layer)
        layer.infeatures, layer.outfeatures, layer.group_size, layer.bias = k, n, group, None
        layer.B = torch.empty((k // 16, n * 2), dtype=torch.int)
        layer.s = torch.empty((k // group, n), dtype=torch.half)
        q = torch.from_numpy(rng.integers(0, 16, (n, k)))
        s = torch.from_numpy(2.0 ** rng.integers(-3, 3, (n, k // group))).half()  # makes w / s exact
        full = linear(torch, q, torch.full((n, k // group), 8), s, group)
        w = full.weight.data.clone()
        full.weight.data = w.half()
        # round() does not support halves on the CPU
        m.torch.round = lambda x, r=torch.round: r(x.float())
        layer.pack(full, s)
        name = "marlin%s" % ("" if group < k else "c")
        save_file({"m.B": layer.B, "m.s": layer.s}, os.path.join(out, name + ".safetensors"))
        expect(name + ".safetensors", "m", "Marlin-4" + ("" if group < k else "c"), w.numpy())


def make_awq(out, src, rng, torch):
    from safetensors.torch import save_file

    for name in ("awq", "awq.utils", "awq.utils.module", "awq.utils.utils"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["awq.utils.module"].try_import = lambda name: (None, "")
    sys.modules["awq.utils.utils"].get_best_device = lambda: "cpu"
    packing = module(os.path.join(src, "awq", "utils", "packing_utils.py"), "awq.utils.packing_utils")
    gemm = module(os.path.join(src, "awq", "modules", "linear", "gemm.py"), "awq.modules.linear.gemm")
    # old versions of torch need 64-bit indices
    long = types.SimpleNamespace(**{a: getattr(torch, a) for a in ("arange", "int8", "bitwise_and", "bitwise_right_shift")})
    long.int32 = torch.int64
    packing.torch = long
    n, k, group = 64, 96, 32
    q = torch.from_numpy(rng.integers(0, 16, (n, k)))
    z = torch.from_numpy(rng.integers(0, 16, (n, k // group)))
    s = torch.from_numpy(rng.uniform(0.5, 1.5, (n, k // group)).astype(np.float16)).float()
    layer = gemm.WQLinear_GEMM.from_linear(linear(torch, q, z, s, group), 4, group, False, s.t(), z.t().float())
    w = packing.dequantize_gemm(layer.qweight, layer.qzeros, layer.scales.float(), 4, group).t()
    assert torch.equal(w, linear(torch, q, z, s, group).weight.data)
    save_file(
        {"a.qweight": layer.qweight, "a.qzeros": layer.qzeros, "a.scales": layer.scales.contiguous()},
        os.path.join(out, "awq.safetensors"),
    )
    expect("awq.safetensors", "a", "AWQ-4", w.contiguous().numpy())


def main():
    args = sys.argv[1:]
    src = {}
    if "--ggml" in args:
        i = args.index("--ggml")
        sys.path.insert(0, os.path.join(args[i + 1], "gguf-py"))
        src["--ggml"] = args[i + 2]
        del args[i : i + 3]
    for option in ("--gptq", "--awq"):
        if option in args:
            i = args.index(option)
            src[option] = args[i + 1]
            del args[i : i + 2]
    if not 1 <= len(args) <= 2:
        sys.exit(__doc__)
    seed = int(args[1]) if len(args) > 1 else 1
    out, rng = args[0], np.random.default_rng(seed)
    os.makedirs(out, exist_ok=True)
    make_gguf(out, rng)
    if "--gptq" in src or "--awq" in src:
        import torch
    if "--gptq" in src:
        make_gptq(out, src["--gptq"], rng, torch)
        make_marlin(out, src["--gptq"], rng, torch)
    if "--awq" in src:
        make_awq(out, src["--awq"], rng, torch)
    make_tables(out, np.random.default_rng(seed + 100))  # with or without the others
    if "--ggml" in src:
        make_ggml(out, src["--ggml"], np.random.default_rng(seed + 200))
    with open(os.path.join(out, "expected.tsv"), "w") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
