#!/usr/bin/env python3
"""Random programs on tiles that reach past the ends of their tensors, compared with numpy.ma.

A seed makes a tree (tree.py); the tree makes the text of a hexc program and is evaluated by the law of missing
elements (model.py). hexc's results must be the same bits; elements that are not there must stay unwritten."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "scripts/python")]

import model  # noqa: E402
import numpy as np  # noqa: E402
import shrink  # noqa: E402
import tree  # noqa: E402


@dataclass
class How:
    features: set[str]
    execs: list[tuple]  # ("tile",) ("sim", arch, candidate)
    prove: bool
    most: int


@dataclass
class Outcome:
    seed: int
    kind: str  # right wrong ambiguous refused broken
    why: str = ""
    text: str = ""
    ops: list[str] = field(default_factory=list)


def lazy_run() -> object:
    import run

    return run


def difference(p: tree.Program, want: dict[str, np.ndarray], got: dict[str, np.ndarray]) -> str:
    """ "" or where they differ: elements that the program has, inside(), or elements written that are not there."""
    for name, w in want.items():
        g = got[name]
        same = (w == g) | (np.isnan(w) & np.isnan(g)) if w.dtype.kind == "f" else w == g
        kind = "inside" if name[:2] == "IN" else "value"
        if kind == "value" and f"IN{name[3:]}" in want:
            there = want[f"IN{name[3:]}"] == 1
            if not p.store:
                same |= ~there
            elif same[there].all() and not same.all():
                kind = "written"
        if not same.all():
            at = tuple(int(i[0]) for i in np.nonzero(~same))
            n = int((~same).sum())
            what = f"{kind}: {n} of {same.size} elements of {name} differ, the first {list(at)}"
            return f"{what}: expected {w[at]}, got {g[at]}"
    return ""


def execute(p: tree.Program, text: str, e: tuple, prove: bool) -> dict[str, np.ndarray]:
    run = lazy_run()
    return run.tile(p, text) if e[0] == "tile" else run.sim(p, text, e[1], e[2], prove)


def name_of(e: tuple) -> str:
    return e[0] if e[0] == "tile" else f"{e[1]} candidate {e[2]}"


# The program exceeds a capacity, and the message has a fix.
GOOD_REASON = re.compile(
    r"in whole bytes|registers/thread|shared memory|one at a time: .*assume|the tensors need more than|known for parts at compile-time"
)
NO_CANDIDATE = re.compile(r"candidate \d+ does not exist")


def verdict(p: tree.Program, how: How) -> tuple[str, str]:
    """Kind of an outcome, and why."""
    run = lazy_run()
    try:
        want, same = tree.judged(p)
    except model.Inexact:
        return "ambiguous", "rounding"
    if not same:
        return "ambiguous", "readings of the law"
    text = tree.Text(p).source()
    for e in how.execs:
        try:
            got = execute(p, text, e, how.prove)
        except run.Refused as why:
            if e[0] == "sim" and e[2] > 0 and NO_CANDIDATE.search(str(why)):
                continue
            good = GOOD_REASON.search(str(why))
            return ("refused" if good else "broken"), f"{name_of(e)}: {why}"
        except run.Failed as why:
            return ("refused" if GOOD_REASON.search(str(why)) else "wrong"), f"{name_of(e)}: fault: {why}"
        except Exception as why:  # noqa: BLE001
            return "broken", f"{name_of(e)}: {type(why).__name__}: {why}"
        d = difference(p, want, got)
        if d:
            return "wrong", f"{name_of(e)}: {d}"
    return "right", ""


def one(seed: int, how: How) -> Outcome:
    try:
        p = tree.generate(seed, how.features, how.most)
        kind, why = verdict(p, how)
    except Exception:  # noqa: BLE001
        return Outcome(seed, "broken", traceback.format_exc())
    if kind in ("right", "ambiguous"):
        return Outcome(seed, kind, why)
    return Outcome(seed, kind, why, tree.Text(p).source(), sorted({n.op for n in p.every()}))


def cause(why: str) -> str:
    """What a difference is about, without numbers."""
    why = why.split(": ", 1)[1] if ": " in why else why
    for k in ("value", "inside", "written", "fault"):
        if why.startswith(k):
            return k if k != "fault" else "fault: " + re.sub(r"\d+|%\w+", "N", why)[:90]
    return re.sub(r"\d+", "N", why.splitlines()[0])[:100]


def smallest(o: Outcome, how: How, tries: int) -> tuple[tree.Program, str]:
    p = tree.generate(o.seed, how.features, how.most)
    want = cause(o.why)[:5]
    reason = [o.why]

    def differs(q: tree.Program) -> bool:
        kind, why = verdict(q, how)
        if kind == o.kind and cause(why)[:5] == want:
            reason[0] = why
            return True
        return False

    return shrink.shrink(p, differs, tries), reason[0]


def signature(p: tree.Program, why: str) -> str:
    ops = []
    for n in p.every():
        if n.op == "load":
            marks = "".join(sorted({k for d in n.at["dims"] for k in ("lo", "hi") if k in d}))
            ops.append(f"load{'.' + marks if marks else ''}")
        elif n.op in ("ureduce", "uscan"):
            ops.append(f"{n.op}.{n.at['f']}")
        elif n.op in tree.ELEMENTWISE or n.op in ("max", "min", "neg", "abs", "clamp", "!", "cast"):
            ops.append("elementwise")
        elif n.op != "carried":
            ops.append(n.op)
    ops += [s.kind for s in p.sinks if s.kind != "store"]
    return f"{cause(why)}: " + " ".join(sorted(set(ops)))


def show(p: tree.Program, why: str) -> None:
    sys.stdout.write(tree.Text(p).source())
    for s, v in p.scalars.items():
        print(f"// {s} = {v}")
    for t in p.tensors:
        print(
            f"// {t.name} = {t.size}, values {list(t.values)}, seed {t.seed}"
            + (f", {t.pad} between rows" if t.pad else "")
        )
    print("//", why)


def tables(p: tree.Program, how: How) -> None:
    want = tree.expected(p)
    for e in how.execs:
        try:
            got = execute(p, tree.Text(p).source(), e, how.prove)
        except Exception as x:  # noqa: BLE001
            print(name_of(e), x)
            continue
        for name, w in want.items():
            with np.printoptions(threshold=100, linewidth=140):
                print(f"{name} expected\n{w}\n{name} got, {name_of(e)}\n{got[name]}")
        return


def features_of(text: str) -> set[str]:
    """A list of names, of all, and -name."""
    found: set[str] = set()
    for w in text.split(","):
        if w == "all":
            found |= set(tree.FEATURES)
        elif w.lstrip("-") in tree.FEATURES:
            found = found - {w[1:]} if w[0] == "-" else found | {w}
        else:
            sys.exit(f"no feature {w}: there are {' '.join(tree.FEATURES)}, all")
    return found | {"base"}


LIMIT = 300  # seconds of processor time for a program, which takes milliseconds: it ends what hangs


def work(job: tuple[int, How]) -> Outcome:
    """The outcome of a seed, found by a process of its own: a crash of the library is an outcome as well."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
            with os.fdopen(theirs, "wb") as f:
                pickle.dump(one(*job), f)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            os._exit(0)  # the rest is the parent's
    os.close(theirs)
    with os.fdopen(ours, "rb") as f:
        found = f.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        why = f"the process ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return Outcome(job[0], "broken", why, tree.Text(tree.generate(job[0], job[1].features, job[1].most)).source())
    return pickle.loads(found)


def main() -> int:
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("count", type=int, nargs="?", default=200, help="programs")
    a.add_argument("--first", type=int, default=1, help="the first seed")
    a.add_argument("--features", default="all", help="names with commas between them, all, -name")
    a.add_argument("--exec", choices=["tile", "sim", "both"], default="tile")
    a.add_argument("--arch", action="append")
    a.add_argument("--candidates", type=int, default=1)
    a.add_argument("--prove", action="store_true")
    a.add_argument("--most", type=int, default=9, help="ops of a program, about")
    a.add_argument("--jobs", type=int, default=1)
    a.add_argument(
        "--shrink",
        type=int,
        default=0,
        metavar="N",
        help="make the first N that differ smaller, and print them",
    )
    a.add_argument("--tries", type=int, default=600, help="of the shrinker")
    a.add_argument("--group", action="store_true", help="shrink all that differ, and count them by their ops")
    a.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed with what it gives")
    a.add_argument("--keep", metavar="DIR", help="write the programs that differ there")
    o = a.parse_args()
    execs: list[tuple] = [("tile",)] if o.exec != "sim" else []
    if o.exec != "tile":
        execs += [("sim", arch, c) for arch in o.arch or ["sm_80"] for c in range(o.candidates)]
    how = How(features_of(o.features), execs, o.prove, o.most)
    if o.show is not None:
        p = tree.generate(o.show, how.features, how.most)
        kind, why = verdict(p, how)
        show(p, f"{kind}: {why}")
        tables(p, how)
        return 0
    start = time.monotonic()
    jobs = [(seed, how) for seed in range(o.first, o.first + o.count)]
    if o.jobs > 1:
        with multiprocessing.get_context("fork").Pool(o.jobs, maxtasksperchild=500) as pool:
            outcomes = list(pool.imap(work, jobs, 20))
    else:
        outcomes = [work(j) for j in jobs]
    took = time.monotonic() - start
    count = Counter(x.kind for x in outcomes)
    bad = [x for x in outcomes if x.kind in ("wrong", "broken")]
    groups: dict[str, list] = {}
    for i, x in enumerate(bad):
        if o.keep:
            Path(o.keep).mkdir(parents=True, exist_ok=True)
            (Path(o.keep) / f"{x.seed}.hexc").write_text(x.text + f"// {x.why}\n")
        if x.text and (o.group or i < o.shrink):
            p, why = smallest(x, how, o.tries)
            groups.setdefault(signature(p, why), []).append((x.seed, len(p.every()), p, why))
        if i < o.shrink and x.text:
            print(f"---- seed {x.seed}: {x.why}\n---- smallest:")
            show(p, why)
            tables(p, how)
        elif not o.group and i < 20:
            print(f"seed {x.seed}: {x.kind}: {x.why.strip().splitlines()[-1] if not x.text else x.why}")
    for key, found in sorted(groups.items(), key=lambda g: -len(g[1])):
        print(f"{len(found):5} {key}: seeds {' '.join(str(f[0]) for f in found[:6])}")
    for why, n in Counter(cause(x.why) for x in outcomes if x.kind == "refused").most_common(5):
        print(f"refused {n}: {why}")
    print(
        f"{len(outcomes)} programs: "
        + ", ".join(f"{n} {k}" for k, n in sorted(count.items()))
        + f"; {len(outcomes) / took:.0f} programs/s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
