#!/usr/bin/env python3
"""The behaviour of the packages safetensors and gguf for unusual files. judge.py DIR writes files to DIR, and
prints a line for each: its name, whether the container's own reader accepts it, and the tensors that it finds,
as NAME:SHAPE:CRC-32 of the bytes. run-judge.sh compares that with libhexc's result."""
import os
import struct
import sys
import zlib

import gguf
import numpy as np
import safetensors

F16 = '"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}'
HEADERS = [
    ('{"__metadata__":null}', 0),
    ('{"__metadata__":null,%s}' % F16, 4),
    ('{%s,"__metadata__":null}' % F16, 4),
    ('{"__metadata__":{"x":null},%s}' % F16, 4),
    ('{"__metadata__":[],%s}' % F16, 4),
    ('{"__metadata__":{"b":"1"},"__metadata__":{"b":"1"},%s}' % F16, 4),
    ('{"__metadata__":{"b":"1","c":"\\u00e9"},%s}' % F16, 4),
    ('{"a":{"dtype":"F16","shape":[2.0],"data_offsets":[0,4]}}', 4),
    ('{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4.0]}}', 4),
    ('{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4e0]}}', 4),
    ('{"a":{"dtype":"F16","shape":[-0],"data_offsets":[0,0]}}', 0),
    ('{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,18446744073709551615]}}', 4),
    ('{"a":{"dtype":"F16","shape":[2],"data_offsets":[18446744073709551611,18446744073709551615]}}', 4),
    ('{"a":{"dtype":"F16","shape":[2],"data_offsets":[18446744073709551612,18446744073709551616]}}', 4),
    ('{"a":{"dtype":"F16","shape":[9007199254740993],"data_offsets":[0,18014398509481986]}}', 4),
    ('{"a":{"dtype":"F16","shape":[18446744073709551615],"data_offsets":[0,4]}}', 4),
    ('{"a":{"dtype":"F16","shape":[2],"shape":[2],"data_offsets":[0,4]}}', 4),
    ('{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4],"dtype":"F16"}}', 4),
    ('{"a":{"dtype":"F16","shape":null,"data_offsets":[0,2]}}', 2),
    ('{"a":null}', 0),
    ('{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}', 4),
    ('{"a":{"dtype":"F16","shape":[0,3],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', 4),
    ("{%s}" % F16, 4),
    ("{%s}   " % F16, 4),
    ("{%s}" % F16, 5),
    ("{%s}" % F16, 3),
    ("{%s},{}" % F16, 4),
]


def line(out, name, tensors):
    out.write("%s\t%s\t%s\n" % (name, "no" if tensors is None else "ok", " ".join(tensors or [])))


def told(name, shape, data):
    return "%s:%s:%08x" % (name, "x".join(map(str, shape)) or "-", zlib.crc32(bytes(data)))


def make_safetensors(folder, out):
    for i, (header, n) in enumerate(HEADERS):
        name = "odd%02d.safetensors" % i
        data = struct.pack("<Q", len(header)) + header.encode() + bytes(range(1, n + 1))
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        try:
            found = [told(t, d["shape"], d["data"]) for t, d in safetensors.deserialize(data)]
        except Exception:
            found = None
        line(out, name, found and sorted(found) if found else found)


def string(s):
    return struct.pack("<Q", len(s)) + s.encode()


def alignments():
    """Metadata entries, and the resulting alignment of the data in the file."""
    u32, key = 4, string("general.alignment")
    for x in (1, 2, 8, 24, 32, 64, 4096, 0, 3):
        yield "align-u32-%d" % x, [key + struct.pack("<II", u32, x)], max(x, 1)
    for kind, fmt in ((0, "<B"), (1, "<b"), (2, "<H"), (3, "<h"), (5, "<i"), (10, "<Q"), (11, "<q")):
        yield "align-type%d" % kind, [key + struct.pack("<I", kind) + struct.pack(fmt, 64)], 64
    yield "align-f32", [key + struct.pack("<If", 6, 64.0)], 64
    yield "align-text", [key + struct.pack("<I", 8) + string("64")], 64
    yield "align-list", [key + struct.pack("<IIQI", 9, u32, 1, 64)], 64
    yield "align-none", [], 32
    yield "align-last", [string("a") + struct.pack("<II", u32, 1), key + struct.pack("<II", u32, 128)], 128


def make_gguf(folder, out):
    f32 = 0

    def tensor(name, dims, at, kind=f32):
        return string(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, kind, at)

    files = []
    for name, meta, align in alignments():
        files.append((name, meta, align, [tensor("a", [3], 0), tensor("b", [2], align * -(-12 // align))]))
    files += [
        ("scalar", [], 32, [tensor("a", [], 0), tensor("b", [2], 32)]),
        ("offset-63", [], 32, [tensor("a", [3], 0), tensor("b", [2], 2**63)]),
        ("twice", [string("x") + struct.pack("<II", 4, 1)], 32, [tensor("a", [3], 0), tensor("a", [3], 32)]),
    ]
    for name, meta, align, tensors in files:
        data = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta)) + b"".join(meta) + b"".join(tensors)
        data += bytes(-len(data) % align)
        data += np.arange(1, 200, dtype=np.float32).tobytes() + bytes(4096)
        path = os.path.join(folder, name + ".gguf")
        with open(path, "wb") as f:
            f.write(data)
        try:
            with np.errstate(all="ignore"):
                tensors = gguf.GGUFReader(path).tensors
                found = [told(t.name, t.data.shape if t.shape.size else (), t.data.tobytes()) for t in tensors]
        except Exception:
            found = None
        line(out, name + ".gguf", found)


if __name__ == "__main__":
    make_safetensors(sys.argv[1], sys.stdout)
    make_gguf(sys.argv[1], sys.stdout)
