"""Strings that cross into C: what has a NUL is refused, wherever it goes; names that are no UTF-8 come back."""

import ctypes
import os
import struct
import sys
import tempfile

import hexc
import numpy as np
from hexc import _abi

PROGRAM = "kernel k(A: f32[N], C: out f32[N]) const G = 1 { grid(1); C[0 :+ 64] = A[0 :+ 64]; }"
failed = 0


def refused(what, call):
    global failed
    try:
        call()
    except hexc.ArgumentError as e:
        if "NUL" in str(e):
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
    # a program goes with its length: the compiler sees all of it
    try:
        hexc.compile(PROGRAM + "\0 nonsense")
    except hexc.CompileError:
        pass
    else:
        print("what is behind a NUL of a program is dropped")
        return 1
    return 0


def every_declaration():
    """Each text of each function and struct that the package declares, whether it is used today or not."""
    n = 0
    for name, texts in _abi._TEXTS.items():
        for i, parameter in texts:
            args = [None] * len(_abi._SIGNATURES[name][1])
            args[i] = b"a\0b"
            refused(f"{name}: {parameter}", lambda name=name, args=args: _abi.function(name)(*args))
            n += 1
    for name, kind in _abi.STRUCT.items():
        for member, type_ in kind._fields_:
            if type_ is ctypes.c_char_p:
                slot = kind()
                refused(f"{name}.{member}", lambda slot=slot, member=member: setattr(slot, member, b"a\0b"))
                refused(f"{name}({member})", lambda kind=kind, member=member: kind(**{member: b"a\0b"}))
                n += 2
    return n


def names_that_are_no_utf8(folder):
    """A GGUF tensor may be called anything: the name comes back, and finds it."""
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
    names_that_are_no_utf8(folder)
count = every_declaration()
assert count > 60, count
print(count, "declarations of texts")
sys.exit(failed != 0)
