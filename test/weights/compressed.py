#!/usr/bin/env python3
"""Weights as compressed-tensors writes them, and what the format's description makes of them:

compressed.py make DIR [SEED]      files by the package's own compressors, which quantize and pack (pack_to_int32)
compressed.py padded DIR           of a package before 0.18: 3 bits, 10 codes to a word; of others: nothing
compressed.py expect FILE..        lines of expected.tsv (see reference.py) by NumPy alone, for files of `make`

`make` also compares NumPy's numbers with the package's decompress.  An order of inputs (weight_g_idx) needs a
version before 0.19; `make` writes ordered.safetensors with such a version, and in_place.safetensors with another.

test/weights/fixtures/compressed was made so, seed 1, by compressed-tensors 0.20.1 (in_place), 0.18.0 (ordered) and
0.17.1 (padded) with torch 2.15.0.  The package's licence is Apache-2.0 (https://github.com/vllm-project/compressed-tensors);
nothing of it is in the files but its output for random numbers.

The format: weight_packed has the codes of an output as a bit stream of little-endian I32, a code plus 2^(bits - 1)
each.  weight_zero_point, which asymmetric weights have, is such a stream along the outputs, one for each group: dim 0
is N bits / 32.  W = weight_scale (code - zero).  Input k belongs to group k / (K / groups), or to weight_g_idx[k] if
that is there and nowhere -1.  int-quantized weights are I8 without packing, and so are their zeros."""
import json
import struct
import sys
import zlib

import numpy as np

N, K, GROUP = 32, 64, 32


# ---- the description, in NumPy


def read(path):
    """Tensors of a safetensors file: type, shape, bytes."""
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8 : 8 + n])
    head.pop("__metadata__", None)
    return {k: (t["dtype"], t["shape"], raw[8 + n :][slice(*t["data_offsets"])]) for k, t in head.items()}


def numbers(tensor):
    kind, shape, raw = tensor
    if kind == "BF16":
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    dtype = {"F16": "<f2", "F32": "<f4", "I8": "i1", "I32": "<i4", "I64": "<i8"}[kind]
    return np.frombuffer(raw, dtype).reshape(shape)


def streams(words, bits, count):
    """`count` values of each row of words."""
    bit = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")[:, : count * bits]
    value = (bit.reshape(len(words), count, bits).astype(np.int64) << np.arange(bits)).sum(2)
    return value - (1 << bits - 1)


def dequantize(t, name, bits):
    """W in f32, and the name of the format."""
    part = lambda suffix: numbers(t[name + suffix]) if name + suffix in t else None
    packed, scale, zero, index = map(part, (".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_g_idx"))
    if packed is not None:
        n, k = part(".weight_shape")
        code = streams(packed, bits, k)
        zero = None if zero is None else streams(zero.T, bits, n).T
    else:
        code = part(".weight").astype(np.int64)
        n, k = code.shape
    in_place = np.arange(k) // (k // scale.shape[1])
    group = in_place if index is None or (index == -1).any() else index
    w = code - (0 if zero is None else zero.astype(np.int64)[:, group])
    kind = "INT8" if packed is None else f"packed-{bits}"
    return scale.astype(np.float32)[:, group] * w.astype(np.float32), kind + ("" if zero is None else "-zero")


def weights(t):
    """Names of its weights, which begin with the width."""
    return sorted({k.rsplit(".", 1)[0] for k in t})


def expect(*paths):
    for path in paths:
        t = read(path)
        for name in weights(t):
            x, kind = dequantize(t, name, int(name[1]))
            x = np.ascontiguousarray(x) + np.float32(0)
            first = " ".join("%.9g" % v for v in x.ravel()[:3])
            row = (path.rsplit("/", 1)[-1], name, kind, *map(str, x.shape), "%08x" % zlib.crc32(x.tobytes()), first)
            print("\t".join(row))


# ---- files by the package


def compress(rng, name, bits, n, k, group, symmetric, scale, order=None, packed=True):
    """Tensors of a weight, with random scales and zeros; `order`: drawn, or unset as the package initializes it."""
    import torch
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    strategy = "group" if group < k else "channel"
    args = dict(num_bits=bits, type="int", symmetric=symmetric, strategy=strategy, group_size=group if group < k else None)
    if order:
        args["actorder"] = "group"
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**args))
    half = 1 << bits - 1
    state = {
        "weight": torch.from_numpy(rng.normal(0, half / 2, (n, k)).astype(np.float32)),
        "weight_scale": torch.from_numpy(rng.uniform(0.5, 1.5, (n, k // group))).to(getattr(torch, scale)),
    }
    if not symmetric:
        state["weight_zero_point"] = torch.from_numpy(rng.integers(-half, half, (n, k // group))).to(torch.int8)
    if order:
        groups = rng.permutation(np.arange(k) // group) if order == "drawn" else np.full(k, -1)
        state["weight_g_idx"] = torch.from_numpy(groups).to(torch.int32)
    state["weight"] = (state["weight"] * state["weight_scale"].float().mean()).to(state["weight_scale"].dtype)
    of = BaseCompressor.get_value_from_registry("pack-quantized" if packed else "int-quantized")
    made = of.compress(state, scheme)
    back = of.decompress(made, scheme)["weight"]
    return {f"{name}.{k}": v.contiguous() for k, v in made.items()}, back.float().numpy(), str(back.dtype)


def same(path, want):
    t = read(path)
    for name, (x, kind) in want.items():
        have = dequantize(t, name, int(name[1]))[0]
        if kind == "torch.bfloat16":  # the package multiplies in the type of the scale
            bits = have.view(np.uint32)
            have = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)
        elif kind == "torch.float16":
            have = have.astype(np.float16).astype(np.float32)
        assert np.array_equal(have, x), f"{path} {name}: NumPy makes {have.ravel()[:4]}, the package {x.ravel()[:4]}"


def make(folder, seed="1"):
    from importlib.metadata import version

    from safetensors.torch import save_file

    release = tuple(map(int, version("compressed-tensors").split(".")[:2]))
    assert release >= (0, 18), "before 0.18 words are padded"
    rng = np.random.default_rng(int(seed))
    scales = ("bfloat16", "float16", "float32")
    if release >= (0, 19):
        cases = [(f"w{b}.zero", b, N, K, GROUP, False, scales[b % 3]) for b in range(2, 9)]
        cases += [(f"w{b}", b, N, K, GROUP, True, scales[b % 3]) for b in range(2, 9)]
        cases += [("w4.row", 4, N, K, K, False, "bfloat16"), ("w8.row", 8, N, K, K, False, "float16")]
        cases += [(f"w8.{'zero_' * z}int", 8, N, K, K, not z, "float32", None, False) for z in (0, 1)]
        cases += [("w8.zero_int_group", 8, N, K, GROUP, False, "bfloat16", None, False)]
        if seed != "1":  # outputs that no kernel takes
            cases += [(f"w{b}.odd", b, n, 2 * K, 64, False, "float32") for b, n in ((2, 16), (4, 40), (8, 12), (6, 48))]
    else:
        cases = [(f"w{b}.{'zero_' * z}{o}", b, N, K, GROUP, not z, scales[b % 3], o) for b in (4, 8) for z in (0, 1) for o in ("drawn", "unset")]
        cases += [("w3.zero_drawn", 3, N, K, 16, False, "float16", "drawn")]
        cases += [(f"w8.int_{'zero_' * z}drawn", 8, N, K, GROUP, not z, "float32", "drawn", False) for z in (0, 1)]
    tensors, want = {}, {}
    for c in cases:
        made, back, kind = compress(rng, *c)
        tensors |= made
        want[c[0]] = back, kind
    path = f"{folder}/{'in_place' if release >= (0, 19) else 'ordered'}.safetensors"
    save_file(tensors, path)
    same(path, want)


def padded(folder):
    from importlib.metadata import version

    from safetensors.torch import save_file

    if tuple(map(int, version("compressed-tensors").split(".")[:2])) < (0, 18):
        save_file(compress(np.random.default_rng(1), "w3", 3, 8, K, GROUP, True, "float16")[0], f"{folder}/padded.safetensors")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
