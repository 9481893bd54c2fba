"""Random programs that store parts of a shared tile in loops and branches and read it, compared with NumPy: which
elements are there, their values, sums, scalars and gathers. Run by run-shared.sh: shared.py COUNT FIRST."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lang"))

import numpy as np
from hexc_run import HOW, run

COLUMNS = 16


class Tile:
    """The tile's values, and which of them are there. One condition, so that it names what is needed."""

    def __init__(self, rows):
        self.x = np.zeros((rows, COLUMNS), np.float32)
        self.there = np.ones((rows, COLUMNS), bool)


class Maker:
    """A program as text, and as Python functions of an environment."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)
        self.rows = int(self.r.choice([1, 2, 3, 4]))
        self.n = int(self.r.choice([0, 7, 23, 40, 64]))
        self.x = self.r.integers(-9, 10, self.n).astype(np.float32)
        self.iterations = int(self.r.choice([0, 1, 2, 3]))
        self.reads = 0

    def pick(self, *of):
        return of[self.r.integers(len(of))]

    def loaded(self, at, n):
        """Elements of X from `at` on."""
        i = np.arange(at, at + n)
        there = (i >= 0) & (i < self.n)
        x = np.zeros(n, np.float32)
        x[there] = self.x[i[there]]
        return x, there

    def value(self, n, loops):
        """n elements: the text, and a function of the environment that returns values and which are there."""
        at = int(self.r.integers(-5, 45))
        j = self.pick("", *loops)
        start = f"{j} * 3 - 4" if j else str(at)

        def window(env):
            return self.loaded(env[j] * 3 - 4 if j else at, n)

        kind = self.pick("copy", "plus", "fill", "number", "plus")
        if kind == "number":
            return "3", lambda env: (np.full(n, 3, np.float32), np.ones(n, bool))
        text = f"X[{start} :+ {n}]"
        if kind == "copy":
            return text, window
        if kind == "fill":
            return f"fill({text}, 5)", lambda env: (np.where(window(env)[1], window(env)[0], 5), np.ones(n, bool))
        return f"{text} + 1", lambda env: (window(env)[0] + 1, window(env)[1])

    def store(self, loops):
        if not self.r.integers(5):
            text, f = self.value(self.rows * COLUMNS, loops)
            if "X" in text:
                text = f"reshape({text}, {self.rows}, {COLUMNS})"

            def whole(env, t, out):
                t.x, t.there = (a.reshape(t.x.shape).copy() for a in f(env))

            return [f"s[:, :] = {text};"], whole
        if loops and self.rows > 1 and not self.r.integers(4):
            j, c = self.pick(*loops), int(self.r.integers(3))
            text, f = self.value(COLUMNS, loops)

            def moving(env, t, out):
                x, there = f(env)
                t.x[~t.there] = 0
                t.there[:] = True
                t.x[(env[j] + c) % self.rows] = np.where(there, x, 0)

            return [f"s[({j} + {c}) % {self.rows}] = {text};"], moving
        k, width = int(self.r.integers(self.rows)), self.pick(4, 8, 16)
        at = int(self.r.integers(COLUMNS // width)) * width
        text, f = self.value(width, loops)

        def part(env, t, out):
            t.x[k, at : at + width], t.there[k, at : at + width] = f(env)

        return [f"s[{k}, {at} :+ {width}] = {text};"], part

    def read(self, loops):
        q = self.reads
        self.reads += 1
        j = self.pick("", *loops)
        k, c = int(self.r.integers(self.rows)), int(self.r.integers(3))
        row = f"({j} + {c}) % {self.rows}" if j else str(k)
        kind = self.pick("fill", "fill", "inside", "sum", "scalar", "gather")
        at, by = int(self.r.integers(COLUMNS)), int(self.r.choice([1, 3, 5]))
        text = {
            "fill": f"fill(s[{row}], -99)",
            "inside": f"f32(inside(s[{row}]))",
            "sum": f"sum(s[{row}], 0)",
            "scalar": f"s[{row}, {at}]",
            "gather": f"s[{k}, iota(0, {COLUMNS}) * {by} % {COLUMNS}]",
        }[kind]

        def f(env, t, out):
            line = k if kind == "gather" or not j else (env[j] + c) % self.rows
            x, there = t.x[line], t.there[line]
            out[q] = {
                "fill": np.where(there, x, -99),
                "inside": there,
                "sum": x[there].sum(),
                "scalar": x[at] if there[at] else 0,
                "gather": np.where(there, x, 0)[np.arange(COLUMNS) * by % COLUMNS],
            }[kind]

        return [f"O[{q}, 0 :+ {COLUMNS}] = {text};"], f

    def block(self, depth, loops):
        text, steps = [], []
        for _ in range(self.r.integers(2, 5)):
            kind = self.pick("store", "store", "read", "read", "loop", "if") if depth < 2 else self.pick("store", "read")
            lines, f = getattr(self, kind if kind != "if" else "branch")(*((depth, loops) if kind in ("loop", "if") else (loops,)))
            text += lines
            steps.append(f)

        def all_of(env, t, out):
            for f in steps:
                f(env, t, out)

        return text, all_of

    def loop(self, depth, loops):
        j = f"j{len(loops)}"
        n = self.pick("n", "n", "2", *(f"{x} + 1" for x in loops))
        text, f = self.block(depth + 1, [*loops, j])

        def iterate(env, t, out):
            for env[j] in range({"n": self.iterations, "2": 2}[n] if n in ("n", "2") else env[n[:2]] + 1):
                f(env, t, out)
            env.pop(j, None)

        return [f"for {j} in 0..{n} {{", *("    " + x for x in text), "}"], iterate

    def branch(self, depth, loops):
        j = self.pick("n", *loops)
        yes, f = self.block(depth + 1, loops)
        no, g = self.block(depth + 1, loops) if self.r.integers(2) else ([], lambda *_: None)
        text = [f"if {j} % 2 == 1 {{", *("    " + x for x in yes), "} else {", *("    " + x for x in no), "}"]
        return text, lambda env, t, out: (f if env[j] % 2 == 1 else g)(env, t, out)

    def program(self):
        text, first = self.value(self.rows * COLUMNS, [])
        if "X" in text:
            text = f"reshape({text}, {self.rows}, {COLUMNS})"
        lines, f = self.block(0, [])
        more, last = self.read([])
        t = Tile(self.rows)
        t.x, t.there = (a.reshape(t.x.shape).copy() for a in first({}))
        want = np.full((self.reads, COLUMNS), -7, np.float32)
        env = {"n": self.iterations}
        f(env, t, want)
        last(env, t, want)
        source = "\n".join(
            [
                f"kernel k(X: f32[N], O: inout f32[{self.reads}, {COLUMNS}], n: i64)",
                "{",
                "    grid(1);",
                f"    let s: shared f32[{self.rows}, {COLUMNS}] = {text};",
                *("    " + x for x in [*lines, *more]),
                "}",
                "",
            ]
        )
        return source, want


def main(count, first):
    bad = 0
    for seed in range(first, first + count):
        m = Maker(seed)
        source, want = m.program()
        arrays = {"X": m.x, "O": np.full(want.shape, -7, np.float32)}
        with tempfile.TemporaryDirectory() as folder:
            try:
                for how, got in run(folder, source, arrays, {"n": m.iterations}, HOW[:: 2 if os.environ.get("QUICK") else 1]):
                    if not np.array_equal(got["O"], want):
                        print(f"seed {seed}, {how}: N {m.n}, n {m.iterations}\n{source}\ngot\n{got['O']}\nwanted\n{want}")
                        bad += 1
                        break
            except AssertionError as e:
                print(f"seed {seed}: {e}")
                bad += 1
    print(f"{count} programs, {bad} wrong or refused")
    return bad


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])) != 0)
