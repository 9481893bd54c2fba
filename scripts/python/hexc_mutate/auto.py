"""mutate --auto: makes mutants of a directory's files, builds all of them at once, and runs the tests that reach each.

Each test runs once to note which mutants it reaches. Then each mutant runs with these tests, the fastest first, until
one fails."""
from __future__ import annotations

import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass

from . import sites, trees

FLAGS = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-I."]
# a mutant that allocates or writes without end stops
LIMITS = ["sh", "-c", "ulimit -v 16000000 -f 2000000; exec \"$@\"", "-"]
EQUIVALENT = "test/mutants-equivalent.tsv"
HEADER = """/* Selects mutant HEXC_MUTANT, and notes in file HEXC_REACHED which ones are reached. */
#ifndef MUTANTS_H
#define MUTANTS_H
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char hexc_unused[%(most)d], *hexc_reached = hexc_unused;
static int hexc_selected = -1;
__attribute__((constructor)) static void
hexc_select(void)
{
	const char *which = getenv("HEXC_MUTANT"), *file = getenv("HEXC_REACHED");
	int fd = file ? open(file, O_RDWR) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, %(most)d, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED)
		hexc_reached = p;
	if (which)
		hexc_selected = atoi(which);
}
#define HEXC_MUT(n) (hexc_reached[n] = 1, hexc_selected == (n))
#endif
"""


@dataclass
class Case:
    """A test that runs by itself: a TEST of a program, or a file of text tests."""
    name: str
    words: list[str]
    env: dict[str, str]
    seconds: float = 0
    reached: bytes = b""


def is_text_test(file: str) -> bool:
    with open(file, encoding="utf-8", errors="replace") as f:
        return re.search(r"// (RUN|FROM|error|ir!?)\b", f.read()) is not None


def cases(tests: list[str], tree: str) -> list[Case]:
    found = []
    for t in tests:
        if t.endswith("/run-text.sh"):
            for f in sorted(glob.glob(os.path.dirname(t) + "/*.hexc") + glob.glob(os.path.dirname(t) + "/*.ir")):
                if is_text_test(f):
                    found.append(Case(f, ["python3", "test/text.py", f], {}))
        elif t.endswith(".sh"):
            found.append(Case(t, ["./" + t], {}))
        else:
            out = subprocess.run([trees.binary(t)], cwd=tree, env=os.environ | {"ONLY": "?"}, capture_output=True,
                                 text=True)
            names = out.stdout.split() if out.returncode == 0 else []
            found += [Case(f"{t}:{name}", [trees.binary(t)], {"ONLY": name}) for name in names]
            if not names:
                found.append(Case(t, [trees.binary(t)], {}))
    return found


class Auto:
    def __init__(self, options: argparse.Namespace, dir: str) -> None:
        self.options, self.dir = options, dir.rstrip("/")
        self.results = options.results or f"{trees.B}/mutants/{self.dir.replace('/', '-')}.tsv"
        self.done: dict[tuple[str, str], tuple[str, str]] = {}  # by key and digest of the function
        self.equivalent: dict[str, str] = {}
        os.makedirs(os.path.dirname(self.results) or ".", exist_ok=True)
        if os.path.isfile(self.results):
            with open(self.results) as f:
                for line in f:
                    word, by, body, key = line.rstrip("\n").split("\t", 3)
                    self.done[key, body] = (word, by)
        if os.path.isfile(EQUIVALENT):
            with open(EQUIVALENT) as f:
                for line in f:
                    if not line.startswith("#"):
                        key, why = line.rstrip("\n").rsplit("\t", 1)
                        self.equivalent[key] = why

    def find(self) -> None:
        """The mutants of all files, and which of them are judged: a sample that does not depend on their order."""
        paths = [self.dir] if self.dir.endswith(".c") else sorted(glob.glob(self.dir + "/**/*.c", recursive=True))
        with concurrent.futures.ProcessPoolExecutor(self.options.j) as pool:
            self.files = list(pool.map(sites.find, paths, [FLAGS] * len(paths)))
        self.mutants = [m for f in self.files for m in f.mutants]
        order = sorted(range(len(self.mutants)), key=lambda i: sites.digest(self.mutants[i].key().encode()))
        self.sample = order[:self.options.sample or None]

    def build(self, tree: str) -> list[str]:
        """Writes all mutants into the copy; returns the programs and scripts that judge them."""
        trees.copy_tree(tree)
        first, path = 0, os.path.join(tree, "mutants.h")
        with open(path, "w") as f:
            f.write(HEADER % {"most": len(self.mutants) + 1})
        for file in self.files:
            with open(os.path.join(tree, file.path), "wb") as g:
                g.write(sites.text(file, first, path))
            first += len(file.mutants)
        named = self.options.tests.split(",") if self.options.tests else [trees.room_of(self.files[0].path)]
        tests = [t for n in named for t in trees.tests_at(n)]
        if not tests:
            raise SystemExit(f"mutate: no tests in {', '.join(named)}; --tests names others")
        log = os.path.join(tree, "log")
        with open(log, "w") as f:
            p = subprocess.run(["make", f"B={trees.B}", f"-j{self.options.j}", f"{trees.B}/libhexc.a",
                                *sorted({trees.binary(t) for t in tests})], cwd=tree, stdout=f, stderr=f)
        if p.returncode:
            with open(log) as f:
                raise SystemExit("mutate: the mutants do not build: "
                                 + "".join(x for x in f.readlines() if ": error: " in x)[:4000])
        return tests

    def reach(self, tree: str, case: Case) -> Case | None:
        """Runs the case without a mutant. One that fails then says nothing."""
        with tempfile.NamedTemporaryFile(dir=tree) as f:
            f.truncate(len(self.mutants) + 1)
            begin = time.monotonic()
            rc = trees.run(case.words, tree, self.options.timeout, case.env | {"HEXC_REACHED": f.name})
            case.seconds = time.monotonic() - begin
            f.seek(0)
            case.reached = f.read()
        if rc == 0:
            return case
        print(f"not used: {case.name} ({'skipped' if rc == 77 else 'too slow' if rc is None else 'fails'})")
        return None

    def judge(self, tree: str, found: list[Case], i: int) -> tuple[str, str]:
        reaching = [c for c in found if c.reached[i]]
        for c in reaching:
            rc = trees.run([*LIMITS, *c.words], tree, 10 * c.seconds + 5, c.env | {"HEXC_MUTANT": str(i)})
            if rc not in (0, 77):
                return "killed", c.name
        return ("survived", "-") if reaching else ("not reached", "-")

    def one(self, tree: str, found: list[Case], i: int) -> tuple[int, str, str]:
        m = self.mutants[i]
        key = m.key()
        word, by = self.done.get((key, m.body), ("", ""))
        if not word or (self.options.again and word != "killed"):
            word, by = self.judge(tree, found, i)
            with open(self.results, "a") as f:
                f.write(f"{word}\t{by}\t{m.body}\t{key}\n")
        if key in self.equivalent:
            word = "equivalent" if word != "killed" else "killed, but called equivalent"
        if word != "killed":
            print(f"{word:11}  {m.file}:{m.line}: {m.function}: {m.was}  ->  {m.now}", flush=True)
        return i, word, by

    def run(self) -> int:
        self.find()
        print(f"{self.dir}: {len(self.mutants)} mutants, of which {len(self.sample)} are judged", flush=True)
        with tempfile.TemporaryDirectory() as tree:
            tests = self.build(tree)
            with concurrent.futures.ThreadPoolExecutor(self.options.j) as pool:
                found = [c for c in pool.map(lambda c: self.reach(tree, c), cases(tests, tree)) if c]
                found.sort(key=lambda c: c.seconds)
                print(f"{len(found)} tests, {sum(c.seconds for c in found):.1f} s", flush=True)
                self.print_unreached(found)
                words = list(pool.map(lambda i: self.one(tree, found, i), self.sample))
        return self.report(words)

    def print_unreached(self, found: list[Case]) -> None:
        """The functions of which no test reaches any mutant."""
        reached: dict[tuple[str, str], bool] = {}
        for i, m in enumerate(self.mutants):
            of = (m.file, m.function)
            reached[of] = reached.get(of, False) or any(c.reached[i] for c in found)
        for (file, function), is_reached in reached.items():
            if not is_reached:
                print(f"no test reaches {function} in {file}", flush=True)

    def report(self, words: list[tuple[int, str, str]]) -> int:
        by_file: dict[str, dict[str, int]] = {}
        total: dict[str, int] = {}
        for i, word, _ in words:
            count = by_file.setdefault(self.mutants[i].file, {})
            count[word] = count.get(word, 0) + 1
            total[word] = total.get(word, 0) + 1
        for path, count in sorted(by_file.items()):
            print(f"{path}: " + ", ".join(f"{n} {w}" for w, n in sorted(count.items())))
        changing = len(words) - total.get("equivalent", 0)
        print(f"{self.dir}: " + ", ".join(f"{n} {w}" for w, n in sorted(total.items()))
              + f": {100 * total.get('killed', 0) / max(1, changing):.1f} % of those that change something are noticed")
        return 0 if total.get("killed", 0) == changing else 1


def main(options: argparse.Namespace) -> int:
    if not shutil.which("clang"):
        raise SystemExit("mutate: --auto needs clang, to read the sources")
    return max(Auto(options, d).run() for d in options.which)
