#!/usr/bin/env python3
"""loads_behind.py FILE... - find loads behind a wait that they do not need, in tile IR as --dump insert_barriers prints it.

In a loop with wgmma, a load from global memory that follows a wgmma_wait, for products of this iteration or the one before,
starts when these are complete, and its latency follows theirs. Prints each such load, with its kernel; the last line counts kernels with wgmma.
"""
import re
import sys


def code_of(line):
    """The op's name."""
    return re.sub(r"^%\S+(?:, %\S+)* = ", "", line).split(" ")[0]


def scan(path):
    found, kernels, kernel, blocks, tensors = [], set(), "", [], set()
    with open(path, encoding="utf-8") as f:
        for line in map(str.strip, f):
            code = code_of(line)
            if line.startswith("kernel "):
                kernel, blocks, tensors = line.split(" ")[1], [], set()
            if line.startswith("}") and blocks:
                ended = blocks.pop()
                if ended["wgmma"] and not any(b is ended for b in blocks):
                    found += [x for x in ended["behind"] if x not in found]
            if line.endswith("{") or "{ (%" in line:
                loop = {"wgmma": False, "waited": False, "behind": []}
                blocks.append(loop if code == "for" or not blocks else blocks[-1])
                continue
            if not blocks:
                continue
            here = blocks[-1]
            if code == "wgmma":
                kernels.add(kernel)
                here["wgmma"] = True
            elif code == "wgmma_wait":
                here["waited"] = True
            elif code == "view" and ": global " in line:
                tensors.add(re.match(r"%\d+", line)[0])
            elif code == "load" and here["waited"] and re.search(r"load (%\d+)", line)[1] in tensors:
                here["behind"].append(f"{path}: kernel {kernel}: {line}")
    return found, len(kernels)


all_found, all_kernels = [], 0
for name in sys.argv[1:]:
    found, n = scan(name)
    all_found += found
    all_kernels += n
print(*all_found, f"{all_kernels} kernels with wgmma", sep="\n")
sys.exit(1 if all_found else 0)
