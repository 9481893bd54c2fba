"""order.py HEXC FOLDER - blocks with the most work start first: each block of a program takes a ticket, and the
simulator starts blocks in the hardware's order. The expected tickets are computed from the manual's words."""
import os
import struct
import subprocess
import sys

HEXC, FOLDER = sys.argv[1:3]
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the simulator has a thread for each processor
PROGRAM = """kernel t(A: f32[N, 16], NEXT: inout i32[1], T: out i32[X, Y, Z], C: out f32[X, Y, Z, 16])
    const B = 32{told}
{{
    grid(X, Y, Z);
    let x = block.x, y = block.y, z = block.z, ticket = atomic_add(NEXT[0], 1);
    T[x, y, z] = ticket;
    var acc: register f32[16] = 0;
    for k in {bounds} step B {{
        acc += sum(A[k :+ B, :], 0)[0, :];
    }}
    C[x, y, z, :] = acc;
}}
"""


def tickets(extent, bounds, told, arch):
    """Returns the block (x, y, z) of each ticket."""
    with open(f"{FOLDER}/order.hexc", "w") as f:
        f.write(PROGRAM.format(bounds=bounds, told=f", BLOCK_GROUP = {told}" if told else ""))
    args = ["A=random(1)[128,16]", "NEXT=zeros", *(f"{n}={e}" for n, e in zip("XYZ", extent))]
    run = subprocess.run([HEXC, "run", f"{FOLDER}/order.hexc", "--exec=sim", "--arch", arch, "--save",
                          f"T={FOLDER}/order.npy", *(w for a in args for w in ("--arg", a))],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    data = open(f"{FOLDER}/order.npy", "rb").read()
    x, y, z = extent
    all_of = struct.unpack(f"<{x * y * z}i", data[-4 * x * y * z:])
    blocks = [(i, j, k) for i in range(x) for j in range(y) for k in range(z)]
    return [b for _, b in sorted(zip(all_of, blocks))]


def expected(extent, dim, falls, rows):
    """The blocks in groups of so many with different indices in the other dims; the last group has fewer than twice
    as many. In each group the index along dim that has the most work comes first, for all blocks of the group."""
    x, y, z = extent
    others = sorted({(k, j, i) for i in range(x) for j in range(y) for k in range(z) if (i, j, k)[dim] == 0})
    groups = max(len(others) // rows, 1)
    order = []
    for g in range(groups):
        part = others[g * rows:] if g == groups - 1 else others[g * rows:(g + 1) * rows]
        along = range(extent[dim])
        for a in along if falls else reversed(along):
            for k, j, i in part:
                b = [i, j, k]
                b[dim] = a
                order.append(tuple(b))
    return order


bad = 0
for extent in ((3, 4, 2), (1, 7, 1), (5, 1, 3), (40, 3, 1)):
    for dim in range(3):
        for bounds, falls in ((f"0..min(N, ({'xyz'[dim]} + 1) * B)", False), (f"min(N, {'xyz'[dim]} * B)..N", True)):
            for told, arch in ((0, "sm_80"), (3, "sm_90a"), (1, "sm_80")):
                rows = told or {"sm_80": 16, "sm_90a": 32}[arch]  # a quarter of its SMs, a power of two
                got, want = tickets(extent, bounds, told, arch), expected(extent, dim, falls, rows)
                if got != want:
                    print(f"grid {extent}, {bounds}, groups of {rows}: {got}, not {want}")
                    bad = 1
sys.exit(bad)
