#!/usr/bin/env python3
"""views.py [-v] KIND ARCH FILE... - wrap the tiles of programs in views that change nothing, and compare the PTX.

The tile IR of a program has the place of each expression in the text, and its type. X is the text of a load, or of an operand
of a dot, and [m, n] its shape. KIND is one of these, or several joined by commas:

reshape    X -> reshape(reshape(X, 1, m, n), m, n)
transpose  X -> transpose(transpose(X, 1, 0), 1, 0)
extent1    X -> reshape(X, 1, m, n)[0, :, :]
slice      X -> (X)[:, :], where X is no slice
cast       f16(X) -> reshape(f16(reshape(X, 1, m, n)), m, n), of every cast

What a shared tile is declared as is left as it is: only a slice is copied. Prints the programs whose PTX differs by more than
the numbers of registers and labels, and how; with `cast`, whose ops are new ones, by the number of any instruction. The last
line counts programs and views. -v also prints the programs.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

HEXC = os.environ.get("HEXC", "build/hexc")
RANK_MAX = 6
OP = re.compile(r"%(\d+)\S* = (\w+) ?(.*?) : reg (\w+)\[([\d, ]*)\].* !(\d+):(\d+)\+(\d+)$")
Tile = collections.namedtuple("Tile", "code operands shape start end")


def emit(path, arch, out, *options):
    return subprocess.run([HEXC, "--emit-ptx", path, "--arch", arch, "-o", out, *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def tiles_of(ir, text):
    """The register tiles of all kernels, by kernel and number."""
    lines, at, kernels = [], 0, []
    for line in text.split("\n"):
        lines.append(at)
        at += len(line) + 1
    for line in ir.split("\n"):
        if line.startswith("kernel "):
            kernels.append({})
        m = OP.match(line.strip())
        if m and kernels:
            start = lines[int(m[6]) - 1] + int(m[7]) - 1
            kernels[-1][m[1]] = Tile(m[2], re.findall(r"%(\d+)", m[3]), [int(x) for x in m[5].split(",") if x.strip()], start,
                                     start + int(m[8]))
    return kernels


def arguments(text, start, end):
    """The places of the arguments of a call whose text this is."""
    depth, out, at = 0, [], text.index("(", start) + 1
    for i in range(at, end):
        c = text[i]
        if depth == 0 and c in ",)":
            first = at + len(text[at:i]) - len(text[at:i].lstrip())
            out.append((first, first + len(text[at:i].strip())))
            at = i + 1
            if c == ")":
                break
        depth += (c in "([") - (c in ")]")
    return out


def is_declared_shared(text, start):
    """Is this a part of what `let NAME: shared = ..` declares?"""
    before = re.split(r"[;{}]", text[:start])[-1]
    declared = re.split(r"\w+: shared\b[^=]*= ", before)
    return len(declared) > 1 and not re.search(r", \w+(: \w+.*)? = ", declared[-1])


def places(kernels, text, casts):
    """Where the tiles to wrap are in the text, with their shapes; None: of several shapes."""
    found = {}

    def add(start, end, shape):
        found[start, end] = shape if found.get((start, end), shape) == shape else None

    for tiles in kernels:
        for t in tiles.values():
            here = text[t.start:t.end]
            if casts:
                if t.code == "cast" and re.match(r"\w+\(", here) and here.endswith(")") and t.operands[0] in tiles:
                    add(t.start, t.end, t.shape)
                continue
            if t.code == "load" and not is_declared_shared(text, t.start):
                add(t.start, t.end, t.shape)
            elif t.code == "dot" and here.startswith("dot("):
                for place, operand in zip(arguments(text, t.start, t.end), t.operands[:2]):
                    if operand in tiles and tiles[operand].code != "sparse_expand":
                        add(*place, tiles[operand].shape)
    for tiles in kernels: # the text of a load may be that of more than the load: X[i, newaxis]
        for t in tiles.values():
            if t.code not in ("load", "broadcast") and found.get((t.start, t.end), t.shape) != t.shape:
                found[t.start, t.end] = None
    return {k: v for k, v in found.items() if v and len(v) < RANK_MAX}


def extents(shape):
    return ", ".join(map(str, shape))


def around(kind, text, shape):
    """What precedes and follows a tile in its view; None: there is no such view."""
    turned = list(range(len(shape)))[::-1]
    if kind == "reshape":
        return "reshape(reshape(", f", 1, {extents(shape)}), {extents(shape)})"
    if kind == "transpose" and len(shape) > 1:
        return "transpose(transpose(", f", {extents(turned)}), {extents(turned)})"
    if kind == "extent1":
        return "reshape(", f", 1, {extents(shape)})[0{', :' * len(shape)}]"
    if kind == "slice" and not text.endswith("]"):
        return "(", f")[{', '.join(':' * len(shape))}]"
    return None


def rewrite(kernels, text, kind):
    edits = []
    for (start, end), shape in places(kernels, text, kind == "cast").items():
        if kind == "cast":
            inner = arguments(text, start, end)[0]
            edits.append((start, end, "reshape(", f", {extents(shape)})"))
            edits.append((*inner, "reshape(", f", 1, {extents(shape)})"))
        elif around(kind, text[start:end], shape):
            edits.append((start, end, *around(kind, text[start:end], shape)))
    inserts = [(start, 1, -end, before) for start, end, before, _ in edits]
    inserts += [(end, 0, -start, after) for start, end, _, after in edits]
    for at, _, _, what in sorted(inserts, reverse=True):
        text = text[:at] + what + text[at:]
    return text, len(edits)


def normal(ptx):
    """The instructions of PTX, with registers and labels numbered as they occur."""
    names, count = {}, collections.Counter()

    def number(m):
        if m[0] not in names:
            count[m[1] or m[2]] += 1
            names[m[0]] = f"{m[1] or m[2]}{count[m[1] or m[2]]}"
        return names[m[0]]

    out = []
    for line in ptx.split("\n"):
        line = line.split("//")[0].strip()
        if line and not line.startswith(".reg"):
            out.append(re.sub(r"(%[a-z]+)\d+\b|(\$L__)\w+", number, line))
    return out


def counts(lines):
    return collections.Counter(re.match(r"(?:@\S+\s+)?(\{?[\w.$]*)", x)[1] for x in lines)


def difference(a, b):
    more, less = counts(b) - counts(a), counts(a) - counts(b)
    if not more and not less:
        return f"{len(a)} lines in another order"
    return f"{len(a)} lines, {len(b)}: " + " ".join([f"-{n} {x}" for x, n in less.items()] + [f"+{n} {x}" for x, n in more.items()])


def main():
    args = sys.argv[1:]
    verbose = args[0] == "-v"
    kinds, arch, *files = args[verbose:]
    programs = views = 0
    with tempfile.TemporaryDirectory() as d:
        for path in files:
            plain = emit(path, arch, f"{d}/a.ptx", "--dump", "parse")
            if plain.returncode:
                continue
            with open(path, encoding="utf-8") as f:
                text = f.read()
            with open(f"{d}/a.ptx", encoding="utf-8") as f:
                want = normal(f.read())
            kernels = tiles_of(plain.stdout, text)
            for kind in kinds.split(","):
                new, n = rewrite(kernels, text, kind)
                if not n:
                    continue
                with open(f"{d}/b.hexc", "w", encoding="utf-8") as f:
                    f.write(new)
                if verbose:
                    print(new)
                r = emit(f"{d}/b.hexc", arch, f"{d}/b.ptx")
                programs += 1
                views += n
                if r.returncode:
                    error = re.search(r"error: .*|.*", r.stdout.strip())[0]
                    print(f"{path} {arch} {kind}: {error}")
                    continue
                with open(f"{d}/b.ptx", encoding="utf-8") as f:
                    got = normal(f.read())
                if got != want and (kind != "cast" or counts(got) != counts(want)):
                    print(f"{path} {arch} {kind}: {difference(want, got)}")
    print(f"{programs} programs, {views} views")


main()
