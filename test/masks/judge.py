#!/usr/bin/env python3
"""Judges the oracle itself: model.py and brute.py agree on random programs; each rule of model.py turned around is
noticed; each row of law.def is covered by programs."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import brute  # noqa: E402
import model  # noqa: E402
import numpy as np  # noqa: E402
import tree  # noqa: E402

HERE = Path(__file__).resolve().parent


def rules() -> list[str]:
    """The names of rules that model.py can turn around."""
    return sorted(set(re.findall(r'turned\("([^"]*)"\)', (HERE / "model.py").read_text())))


def rows() -> list[tuple[str, ...]]:
    """law.def: nodes, op, is there, value."""
    text = re.sub(r"/\*.*?\*/", "", (HERE / "law.def").read_text(), flags=re.S)
    text = re.sub(r'"\s*\n\s*"', "", text)  # a text of several lines
    found = [tuple(re.findall(r'"([^"]*)"', row)) for row in re.findall(r"LAW\((.*?)\)\n", text, flags=re.S)]
    assert found and all(len(row) == 4 for row in found), "law.def"
    return found


def table(document: Path) -> list[tuple[str, ...]]:
    """The rows of the table `| op | is there | value |` of a document."""
    lines = iter(document.read_text().splitlines())
    for line in lines:
        if re.fullmatch(r"\| *op *\| *is there *\| *value *\|", line):
            break
    next(lines, "")
    out = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        out.append(tuple(c.strip().replace("\\|", "|") for c in cells))
    return out


def compare_table(document: Path) -> int:
    """Prints in what law.def and the document's table differ, and counts it."""
    law, said = [row[1:] for row in rows()], table(document)
    for row in law:
        if row not in said:
            print(f"law.def has a row that {document} lacks: {' | '.join(row)}")
    for row in said:
        if row not in law:
            print(f"{document} has a row that law.def lacks: {' | '.join(row)}")
    return int(law != said)


def names(p: tree.Program) -> set[str]:
    """The nodes of a program as law.def names them."""
    found = {s.kind for s in p.sinks}
    node = p.node()
    for n in p.every():
        found.add(n.op)
        if n.op == "load" and any(k in d for d in n.at["dims"] for k in ("lo", "hi")):
            found.add("load.below")
        if n.op in tree.ELEMENTWISE or n.op in ("max", "min", "neg", "abs", "!"):
            found.add("elementwise")
            if any(node[a].shape != n.shape for a in n.args):
                found.add("broadcast")
            if n.at.get("exact"):
                found.add("exact")
        if n.op == "where":
            found.add(n.at["f"])
        if n.op == "load" and "as" in n.at:
            found.add("load.as")
        if n.op == "loop" and n.at["by"]:
            found.add("loop.tile")
        if n.op == "if":
            found.add(f"if.{n.at['cond'][0]}")
    return found


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(a[k], b[k], equal_nan=a[k].dtype.kind == "f") for k in a)


def cheap(p: tree.Program) -> bool:
    node = p.node()
    return all(n.op != "dot" or node[n.args[0]].shape[1] * np.prod(n.shape) < 8000 for n in p.every())


def main() -> int:
    if sys.argv[1:2] == ["table"]:  # FILE
        return compare_table(Path(sys.argv[2]))
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    covered: Counter[str] = Counter()
    programs, answers, bad, left = [], [], 0, 0
    for seed in range(1, count + 1):
        p = tree.generate(seed, set(tree.FEATURES))
        covered.update(names(p))
        if not cheap(p):
            continue
        try:
            want = tree.expected(p)
        except model.Inexact:
            left += 1
            continue
        got = brute.expected(p)
        if not same(want, got):
            bad += 1
            print(f"seed {seed}: the two evaluations differ")
            if bad < 3:
                print(tree.Text(p).source())
        programs.append(p)
        answers.append(got)
    print(
        f"{len(programs)} programs, {bad} differ, {left} left out; {model.seen['identity']} reductions of nothing"
    )
    if "rules" in sys.argv:
        for rule in rules():
            model.mutant = rule
            found = 0
            first = 0
            for i, (p, want) in enumerate(zip(programs, answers, strict=True)):
                try:
                    ok = same(tree.expected(p), want)
                except Exception:  # noqa: BLE001 the turned rule contradicts itself
                    ok = False
                if not ok:
                    found += 1
                    first = first or i + 1
                    if "all" not in sys.argv:
                        break
            model.mutant = None
            print(
                f"{rule}: "
                + (
                    f"noticed, first by program {first}" + (f", by {found}" if "all" in sys.argv else "")
                    if found
                    else "NOT NOTICED"
                )
            )
            bad += not found
    for nodes, op, *_ in rows() if count >= 300 else []:  # fewer do not have everything
        for n in nodes.split():
            if nodes.startswith("none:"):
                break
            if not covered[n]:
                print(f"law.def: no program has {n} ({op})")
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
