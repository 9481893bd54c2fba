"""Compares the references of the items (hexc_bench/reference.py) with the simulator, at small shapes.
Every element with a bound is within it. The elements without one are known. Values and bounds are
those of `hexc run --check`.

usage: reference.py [WORD...]: items whose key has one of these words; none: a fixed sample; `whole`: all.
BY=torch: by PyTorch on the CPU, instead of NumPy.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import hexc
import numpy as np
from hexc_bench import arrays, data, device, items, reference, tiles
from hexc_tune import ops

SAMPLE = 17  # one of SAMPLE items
XP = arrays.Numpy()
RUN = XP
if os.environ.get("BY") == "torch":
    import torch

    RUN = arrays.Torch(torch, "cpu")
# outputs with elements without a bound, and the reasons
UNDECIDED = {
    "operator map_list": "what no tensor of the list covers is not written",
}


class Given:
    xp = RUN

    def __init__(self, target, made):
        self.types, self.made = {p.name: p.dtype for p in target.params}, made

    def value(self, name):
        return RUN.array(arrays.decoded(XP, self.types[name], self.made[name]))


def target_of(item, shape, arch):
    if not item.operator:
        return hexc.compile(items.ROOT / item.program, constants=item.constants, arch=arch, kernel=item.kernel, cache=CACHE)[item.kernel], None
    line = ops.line_of(item.text, item.operator)
    stages = " then ".join(" ".join([s.kernel, *s.define.split()]) for s in line.stages)
    sizes = " with " + ", ".join(f"{n}={v}" for n, v in line.sizes) if line.sizes else ""
    table = f"hexc-family 1\nfamily {item.operator}\ntake {stages}{sizes} when 1\n"
    made = hexc.operator(item.operator, dict(item.constants), arch=arch, families=table, cache=CACHE)
    return made, made.program


def one(item, shape):
    """The comparison of each output."""
    target, program = target_of(item, shape, item.needs or "sm_80")
    made = device.made(target, item, shape)
    names = {p.name for p in target.params}
    said = {n: v for n, v in {**shape.sizes, **item.scalars}.items() if n in names}
    got = target.run(**made, **said)
    want = reference.reference(item, shape, Given(target, made), reference.stages(item, shape, program))
    assert set(want) == set(got), (item.key, set(want), set(got))
    types = {p.name: p.dtype for p in target.params}
    return {n: (arrays.decoded(XP, types[n], got[n]), tuple(RUN.numpy(x) for x in w)) for n, w in want.items()}, target, made, said


def undecided(item):
    return any(item.key.startswith(k) for k in UNDECIDED)


def check(item, shape):
    found, *rest = one(item, shape)
    for name, (got, want) in found.items():
        j = reference.judged(np, got, want)
        assert not j["wrong"], (item.key, name, j)
        assert j["judged"] == j["elements"] or undecided(item), (item.key, name, j)
        if j["judged"]:  # a wrong element is noticed
            value, bound = (x.reshape(-1) for x in want)
            first = int(np.argmax(np.isfinite(bound) & np.isfinite(value.astype(float))))
            spoilt = got.astype(float).reshape(-1).copy()
            spoilt[first] = value[first] + 1.01 * bound[first] + (bound[first] == 0) * max(1, abs(float(value[first])) * 2**-50)
            assert reference.judged(np, spoilt, want)["wrong"] >= 1, (item.key, name)
    return found, rest


def as_checked(item, shape):
    """Errors and their shares of the bounds equal those of `hexc run --check`, for the same data."""
    found, (target, made, said) = check(item, shape)
    with tempfile.TemporaryDirectory() as folder:
        words = [os.environ["HEXC"], "run", str(items.ROOT / item.program), "--kernel", item.kernel, "--exec=sim", "--check", "--arch", item.needs or "sm_80"]
        words += [w for n, v in item.constants.items() for w in ("-D", f"{n}={v}")]
        for name, x in made.items():
            np.save(f"{folder}/{name}.npy", x)
            words += ["--arg", f"{name}=@{folder}/{name}.npy"]
        words += [w for n, v in said.items() for w in ("--arg", f"{n}={v}")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    for name, (got, want) in found.items():
        j = reference.judged(np, got, want)
        said_ = re.search(rf"^{name} .*largest absolute error (\S+) .*?\((\S+) of the bound\)", done.stdout, re.M)
        assert said_ or j["error"] == 0, (name, done.stdout, j)
        if said_:
            error, share = float(said_[1]), float(said_[2])
            # the interpreter rounds sums that it adds in another order
            assert abs(j["share"] - share) <= 0.06 * share + 1e-3, (item.key, name, j, done.stdout)
            assert error == 0 or 0.3 < (j["error"] + 1e-300) / error < 3, (item.key, name, j, done.stdout)


def narrow_types():
    """Values of codes, and codes of values, equal those of casts in a kernel."""
    for dtype in ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2", "nf4", "e8m0", "u4", "i4", "bf16", "e1m6"):
        n = 1 << min(16, arrays.bits_of(dtype))
        program = (f"kernel k(X: {dtype}[N], Y: out f32[N]) {{ grid(ceil(N, 256)); let i = block.x * 256; let x: register = X[i :+ 256];"
                   " Y[i :+ 256] = f32(x); }")
        kernel = hexc.compile(program, cache=CACHE)["k"]
        codes = np.arange(n).astype(np.uint16 if dtype == "bf16" else np.int8 if dtype == "i4" else np.uint8)
        if dtype == "i4":
            codes = codes - 8
        with np.errstate(all="ignore"):
            want = kernel.run(X=codes)["Y"].astype(float)
            mine = arrays.decoded(XP, dtype, codes)
        assert np.array_equal(mine, want, equal_nan=True), dtype
        if arrays.is_float(dtype):
            finite = want[np.isfinite(want)]
            assert np.array_equal(arrays.rounded(XP, dtype, finite), finite), dtype
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.standard_normal(2000) * 2.0 ** rng.integers(-20, 20, 2000), [0.0, -0.0, np.inf, -np.inf, 1e30, -1e30]]).astype(np.float32)
    for dtype in ("f16", "bf16", "e4m3", "e5m2", "e2m1", "e3m2", "e2m3"):
        program = f"kernel k(X: f32[N], Y: out f32[N]) {{ grid(ceil(N, 256)); let i = block.x * 256; Y[i :+ 256] = f32({dtype}(X[i :+ 256])); }}"
        want = hexc.compile(program, cache=CACHE)["k"].run(X=x)["Y"].astype(float)
        got = arrays.rounded(XP, dtype, x.astype(float))
        assert np.array_equal(got, want), (dtype, x[got != want][:3], got[got != want][:3], want[got != want][:3])


def tables():
    """Ops and element types match the compiler's tables."""
    text = (items.ROOT / "hexc/ir/ops.def").read_text(encoding="utf-8")
    names = re.findall(r"^(?:OP|ELT)\((\w+),", text, re.M)
    assert len(names) > 80, names
    m = tiles.Machine
    for name in names:
        known = hasattr(m, f"op_{name}") or name in tiles.UNARY or name in tiles.FLOAT or name in tiles.INTEGER or name in tiles.ORDER
        assert known or name in tiles.EARLIER | tiles.LATER or name == "yield", f"hexc_bench/tiles.py has no {name}"
    text = (items.ROOT / "hexc/ir/dtypes.def").read_text(encoding="utf-8")
    rows = re.findall(r"^DTYPE\((\w+), +(\d+), +(\w+), +(\d+), +(\d+), +(\w+), +(\w+),", text, re.M)
    assert len(rows) > 40, rows
    for name, bits, kind, exp, man, how, codes in rows:
        assert arrays.bits_of(name) == int(bits) and arrays.is_float(name) == (kind == "flt"), name
        assert kind == "flt" or arrays.is_signed(name) == (kind == "sint"), name
        if kind == "flt":
            assert arrays.FLOATS[name] == (int(exp), int(man), codes, how == "sat"), (name, arrays.FLOATS[name])


def blocks_only():
    """After the time limit no more blocks run, and the finished ones are checked."""
    item = next(i for i in items.examples() if i.key == "example vector_add")
    shape = items.Shape("small", {"N": 20000})
    kernel = tiles.read(reference.stages(item, shape)[0]["ir"])
    a = np.arange(20000.0)
    value, bound = tiles.run(kernel, XP, {"A": a, "B": a, "C": (20000,)}, {"N": 20000}, seconds=0.0, elements=2048)["C"]
    some = np.isfinite(bound)
    assert 0 < some.sum() < 20000 and np.array_equal(value[some], 2 * a[some]) and some[0], some.sum()


def all_items():
    return [(i, s) for i in [*items.examples(), *items.operators()] for s in i.shapes if s.name == "small"]


def main(words):
    tables()
    narrow_types()
    blocks_only()
    todo = all_items()
    if not words:
        todo = [(i, s) for i, s in todo if zlib.crc32(i.key.encode()) % SAMPLE == 0]
    elif words != ["whole"]:
        todo = [(i, s) for i, s in todo if any(w in i.key for w in words)]
    bad = 0
    for item, shape in todo:
        start = time.monotonic()
        try:
            check(item, shape)
            print(f"{item.key}: {time.monotonic() - start:.1f} s", flush=True)
        except Exception as error:  # noqa: BLE001 - the next is to be tried
            bad += 1
            print(f"FAIL {item.key}: {type(error).__name__}: {str(error)[:500]}", flush=True)
            if os.environ.get("TRACE"):
                raise
    if not words or words == ["whole"]:
        for key in "example attention", "example gemm_w4a16", "example layer_norm_backward", "example gemm_mxfp4":
            as_checked(*next((i, s) for i, s in all_items() if i.key == key))
    print(f"{len(todo)} items, {bad} wrong")
    return bad


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder_:
        CACHE = hexc.Cache(os.environ.get("KEEP_CACHE") or folder_)
        sys.exit(1 if main(sys.argv[1:]) else 0)
