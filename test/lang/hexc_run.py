"""Runs one kernel in the tile interpreter and on the simulator of several architectures, for tests that compare
with NumPy."""

import os
import subprocess
from pathlib import Path

import numpy as np

HEXC = os.environ["HEXC"]
HOW = (["--exec=tile"], *(["--exec=sim", "--check", "--prove", f"--arch={a}"] for a in ("sm_80", "sm_90a", "sm_120a")))


def run(folder, source, arrays, scalars=(), how=HOW, more=()):
    """Yields (how, {name: array}) for each way to run; arrays are tensors by name, the
    written ones returned, beside the printed text."""
    folder = Path(folder)
    (folder / "p.hexc").write_text(source)
    for options in how:
        args = [HEXC, "run", str(folder / "p.hexc"), *options, *more]
        for name, value in arrays.items():
            np.save(folder / f"{name}.npy", value)
            args += ["--arg", f"{name}=@{folder}/{name}.npy"]
            args += ["--save", f"{name}={folder}/{name}.out.npy"] if f"{name}:" in written(source) else []
        for name, value in dict(scalars).items():
            args += ["--arg", f"{name}={value}"]
        r = subprocess.run(args, capture_output=True, text=True)
        if r.returncode:
            raise AssertionError(f"{' '.join(args)}\n{source}\n{r.stdout}{r.stderr}")
        got = {n: np.load(folder / f"{n}.out.npy") for n in arrays if f"{n}:" in written(source)}
        yield options, got | {"text": r.stdout}


def written(source):
    """The written tensors of a kernel, as NAME: followed by a space."""
    words = source.replace("(", " ").split()
    return " ".join(a for a, b in zip(words, words[1:]) if b in ("out", "inout"))
