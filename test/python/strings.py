"""Strings and integers passed to C: a string with a NUL, or a value out of the C type's range, is rejected
everywhere. Names that are not UTF-8 are preserved."""

import ctypes
import functools
import os
import struct
import sys
import tempfile

import hexc
import numpy as np
from hexc import _abi

PROGRAM = "kernel k(A: f32[N], C: out f32[N]) const G = 1 { grid(1); C[0 :+ 64] = A[0 :+ 64]; }"
SCALARS = "kernel k(C: out u64[1], s: i64, u: u64) { grid(1); C[0] = u + u64(s); }"
failed = 0


def refused(what, call, why="NUL"):
    global failed
    try:
        call()
    except hexc.ArgumentError as e:
        if why in str(e):
            return
        print(f"{what}: another error: {e}")
    except Exception as e:
        print(f"{what}: {type(e).__name__}: {e}")
    else:
        print(f"{what}: not refused")
    failed += 1


def through_the_package(folder):
    module, path = hexc.compile(PROGRAM), os.path.join(folder, "m.hxm")
    refused("arch", lambda: hexc.compile(PROGRAM, arch="sm_80\0x"))
    refused("a constant", lambda: hexc.compile(PROGRAM, constants={"G\0x": 1}))
    refused("a type", lambda: hexc.compile(PROGRAM, constants={"G": "f16\0x"}))
    refused("kernel", lambda: hexc.compile(PROGRAM, kernel="k\0x"))
    refused("schedule", lambda: hexc.compile(PROGRAM, schedule="groups\0x"))
    refused("epilogue", lambda: hexc.operator("gemm", epilogue="x\0 * 1000.0"))
    refused("a setting's name", lambda: hexc.operator("gemm", {"epilogue\0": "x"}))
    refused("an operator", lambda: hexc.operator("gemm\0x"))
    refused("an operator's arch", lambda: hexc.operator("gemm", arch="sm_80\0x"))
    refused("a format", lambda: hexc.Weight.quantize(np.eye(32, 64), "Q8_0\0x"))
    refused("a file of weights", lambda: hexc.WeightFile("test/weights/fixtures/blocks.gguf\0x"))
    refused("a cache", lambda: hexc.Cache(folder + "\0x"))
    refused("a module's file", lambda: module.save(path + "\0x"))
    refused("a module to load", lambda: hexc.load(path + "\0x"))
    assert not os.path.exists(path)
    # a program is passed with its length: the compiler sees all of it
    try:
        hexc.compile(PROGRAM + "\0 nonsense")
    except hexc.CompileError:
        pass
    else:
        print("what is behind a NUL of a program is dropped")
        return 1
    return 0


def unfit(kind):
    """Values that a C type cannot have, and the reasons."""
    if kind is ctypes.c_char_p:
        return [(b"a\0b", "NUL")]
    if isinstance(kind, type) and issubclass(kind, ctypes.Array):
        return [((value,), why) for value, why in unfit(kind._type_)]
    if getattr(kind, "_type_", None) not in {*"bBhHiIlLqQP"}:
        return []
    n = 8 * ctypes.sizeof(kind)
    low, high = (-(1 << n - 1), 1 << n - 1) if kind._type_.islower() else (0, 1 << n)
    for fits in (low, high - 1):
        _abi.check(fits, kind, "it")
    return [(low - 1, "C holds"), (high, "C holds")]


def integers_through_the_package():
    refused("a candidate", lambda: hexc.compile(PROGRAM, candidate=1 << 32), "candidate")
    refused("a cluster", lambda: hexc.compile(PROGRAM, cluster=(1, 1 << 32, 1)), "cluster")
    refused("steps", lambda: hexc.compile(PROGRAM, max_steps=-1), "max_steps")
    refused("a constant's value", lambda: hexc.compile(PROGRAM, constants={"G": 1 << 64}), "G is")
    refused("a size", lambda: hexc.compile(PROGRAM)["k"].run(A=np.zeros(64, np.float32), N=1 << 64), "N is")
    refused("a scalar", lambda: hexc.compile(SCALARS)["k"].run(s=1 << 63, u=0), "s is")
    refused("an unsigned scalar", lambda: hexc.compile(SCALARS)["k"].run(s=0, u=-1), "u is")
    largest = hexc.compile(SCALARS)["k"].run(s=0, u=(1 << 64) - 1)["C"]
    assert int(largest[0]) == (1 << 64) - 1, largest


def every_declaration():
    """Each string and integer in all declared functions and structs of the package, whether used or not."""
    n = 0
    for name, types in _abi._SIGNATURES.items():
        for i, type_ in enumerate(types[1]):
            looked_at = [parameter for at, parameter, _ in _abi._LOOKED_AT[name] if at == i]
            if type_ is ctypes.c_char_p and not looked_at:
                continue  # passed with its length
            for value, why in unfit(type_):
                args = [0] * len(types[1])
                args[i] = value
                refused(f"{name}: {i}", lambda name=name, args=args: _abi.function(name)(*args), why)
                n += 1
    for name, kind in _abi.STRUCT.items():
        for member, type_ in kind._fields_:
            for value, why in unfit(type_):
                slot = kind()
                refused(f"{name}.{member}", functools.partial(setattr, slot, member, value), why)
                refused(f"{name}({member})", functools.partial(kind, **{member: value}), why)
                n += 2
    return n


def names_that_are_no_utf8(folder):
    """A GGUF tensor may have any name: it is preserved, and can be looked up."""
    name = b"w\xff\xfe"
    path = os.path.join(folder, "odd.gguf")
    head = b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, len(name)) + name + struct.pack("<IQQIQ", 2, 32, 1, 2, 0)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + struct.pack("<e", 1.0) + bytes([0x88]) * 16)
    weights = hexc.WeightFile(path)
    (only,) = weights
    assert os.fsencode(only) == name
    assert np.array_equal(weights[only].numpy(), np.zeros((1, 32)))


with tempfile.TemporaryDirectory() as folder:
    failed += through_the_package(folder)
    integers_through_the_package()
    names_that_are_no_utf8(folder)
count = every_declaration()
assert count > 400, count
print(count, "values that do not fit")
sys.exit(failed != 0)
