"""A copy of the tree and of its build, the tests of a directory, and how they run."""
from __future__ import annotations

import glob
import os
import shutil
import subprocess

B = os.environ.get("B", "build")


def room_of(file: str) -> str:
    """The directory in test/ whose name has most of the last parts of the file's directory, or of a parent's:
    test/sim/exec, test/validate."""
    parts = os.path.dirname(file).split("/")
    for end in range(len(parts), 0, -1):
        for begin in range(end):
            name = "/".join(["test", *parts[begin:end]])
            if tests_at(name):
                return name
    return "test/" + parts[-1]


def tests_at(name: str) -> list[str]:
    """The text tests and the test programs of a directory of test/, or the program or script of that name."""
    if os.path.isdir(name):
        return glob.glob(name + "/run-text.sh") + sorted(p[:-2] for p in glob.glob(name + "/test_*.c"))
    return [name] if os.path.isfile(name if name.endswith(".sh") else name + ".c") else []


def run(words: list[str], cwd: str, timeout: float | None = None, env: dict[str, str] | None = None) -> int | None:
    """The exit status, or None on timeout; kills all started processes."""
    p = subprocess.Popen(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True, env=os.environ | {"B": B} | (env or {}))
    try:
        return p.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if p.poll() is None:
            # tests run in process groups of their own, but in this session
            subprocess.run(["pkill", "-KILL", "-s", str(p.pid)], check=False)
            p.wait()


def binary(test: str) -> str:
    return f"{B}/hexc" if test.endswith(".sh") else f"{B}/{test}"


def make(targets: list[str], cwd: str) -> bool:
    return run(["make", f"B={B}", *sorted(set(targets))], cwd) == 0


def copy_tree(to: str) -> None:
    """Copies sources and build outputs with their times, so that make rebuilds nothing."""
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True)
    here = [f for f in files.stdout.splitlines() if os.path.isfile(f)]
    for f in here + glob.glob(B + "/*.a") + [f"{B}/{stamp}" for stamp in ("flags", "sources", "llvm")]:
        os.makedirs(os.path.join(to, os.path.dirname(f)), exist_ok=True)
        shutil.copy2(f, os.path.join(to, f), follow_symlinks=False)
    shutil.copytree(B + "/obj", os.path.join(to, B, "obj"))
    flags = os.path.join(to, B, "flags")  # they contain the directory's name
    times = os.stat(flags)
    with open(flags) as stamp_file:
        text = stamp_file.read().replace(os.getcwd(), to)
    with open(flags, "w") as stamp_file:
        stamp_file.write(text)
    os.utime(flags, ns=(times.st_atime_ns, times.st_mtime_ns))
