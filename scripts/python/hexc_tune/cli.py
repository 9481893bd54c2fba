"""tune PROG.hexc [options] [options of `hexc run`] - time the candidates of a tile program and find the fastest
tune --db FILE.db --report FILE.html | --export FILE | --study | --dump - report the results of a sweep

--op NAME            instead of a program: an operator of lib/ops. --kernel selects one of its kernels; without -D the
                     values of its own table are swept. Its chains are timed too, kernel by kernel; --export writes
                     a table for hexc_op_opts.families
-D NAME=V1,V2,...    sweep a tunable: runs all combinations; reports and skips invalid ones
--shape M=64,K=512   sizes to run; may be given more than once. Names in the brackets of --arg 'A=random(1)[M,K]' are
                     replaced, and omitted tensors are random
--shapes FILE        one shape per line
--exec gpu|clock|sim|auto  gpu: measured; clock: checked on the simulator, timed by a static model of the machine code
                     (ptxas and nvdisasm); sim: checked and counted on the simulator, ranked by the lower bound for
                     the GPU of --roofline; auto (default): the first of these that is available
--roofline GPU       with --exec sim or clock (by --arch: A100-80GB for sm_80, and so on; ? lists them)
--within R           skip candidates predicted above R times the best of their combination (1.25)
--across R           and those above R times the best of all combinations, for each shape (0: no limit)
--first N            only the N predicted fastest of each shape (0: all)
--halving N          1/N of the measured candidates remain for the next of three rounds (2; 1: one round for all)
--repeat N           timed launches on the GPU (30), over all rounds
--warm               leave tensors in the L2 cache between launches; otherwise it is overwritten before each
--sample N           of larger grids the simulator runs about N blocks, and scales the counts (16; 0: all blocks)
--no-assemble        do not compile the first 8 candidates of each combination with ptxas, if available; by default
                     its register counts rank them, and those that spill are skipped if others do not
--no-check           do not check each candidate's results first
--jobs N             concurrent processes (one per core); on a GPU one process measures, and these compile ahead of it
--budget SECONDS     start nothing after this time; the same command resumes
--limit SECONDS      for one candidate (600)
--ray ADDRESS        on the hosts of a Ray cluster (TUNE.md); local: starts one on this host
--db FILE.db         store everything there (SQLite); the same command resumes an ended sweep
-o FILE.json         write all results, after each candidate: they remain if the sweep is ended (ctrl-C)
--top N              print the N best of each shape (10)
--export FILE        write an entry for each set of constants, with the sizes that it is for (- is standard output)
--report FILE.html   write a page: predictions and measurements, the best, time by part, what pruning loses
--study              print how few measurements would have found a kernel within 2 % of the best
--dump               print the database, without times and hosts

Everything else (--arg, --arch, --kernel, -D NAME=VALUE) is passed to hexc. HEXC is the command line to use
(build/hexc). See scripts/python/TUNE.md. The last lines state how well predictions ranked the measured candidates:
the rank of the fastest in each combination's list, and what the first of the list loses against it.

    scripts/tune examples/gemm_f16.hexc -D BM=64,128 -D BN=64,128,256 --shape M=4096,N=4096,K=4096 \\
        --shape M=16,N=4096,K=4096 --db gemm.db --report gemm.html --export gemm.family
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from . import clock, export, gpu, ops, report, sass, study
from .compiler import Compiler, option
from .crew import Crew, Local
from .errors import Ended, TuneError
from .hosts import Hosts
from .judge import GPU_OF
from .progress import Progress
from .space import Machine, read_shape, read_shapes
from .store import Store
from .sweep import Options, Result, Sweep, key_of, old_json, results

VALUES = {"--exec": "auto", "--within": "1.25", "--across": "0", "--first": "0", "--halving": "2", "--top": "10",
          "--repeat": "30", "--jobs": "0", "--sample": "16", "--budget": "0", "--limit": "600", "--roofline": "", "--db": "", "--ray": "",
          "--op": "", "-o": "", "--export": "", "--report": "", "--shapes": ""}
FLAGS = ("--no-assemble", "--no-check", "--warm", "--study", "--dump")
# an empty launch: requests the data of a GPU from the simulator's list
NOTHING = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"


class Words:
    """The command line: the tuner's options, the lists to sweep, and hexc's options."""

    def __init__(self, words: Sequence[str]) -> None:
        self.own, self.flags = dict(VALUES), set[str]()
        self.sweep: list[tuple[str, list[str]]] = []
        self.shapes: list[dict[str, int]] = []
        self.passed: list[str] = []
        self.program = ""
        rest = list(words)
        while rest:
            self._word(rest.pop(0), rest)
        if self.own["--shapes"]:
            self.shapes += read_shapes(self.own["--shapes"])
        if self.own["--exec"] not in ("gpu", "sim", "clock", "auto"):
            raise TuneError(f"--exec is gpu or sim, not '{self.own['--exec']}'; or clock, or auto")
        self.numbers: dict[str, float] = {}
        try:
            for name in ("--within", "--across", "--halving", "--budget", "--limit"):
                self.numbers[name] = float(self.own[name])
            for name in ("--top", "--repeat", "--first", "--jobs", "--sample"):
                self.numbers[name] = int(self.own[name])
        except ValueError:
            raise TuneError(f"{name} wants a number, not '{self.own[name]}'") from None
        if min(self.numbers.values()) < 0 or self.numbers["--repeat"] < 1:
            raise TuneError("--within, --top, --repeat and the like want numbers that are not negative")

    def _word(self, word: str, rest: list[str]) -> None:
        name, eq, value = word.partition("=")

        def its_value() -> str:
            if not eq and not rest:
                raise TuneError(f"{name} wants a value")
            return value if eq else rest.pop(0)

        if word in FLAGS:
            self.flags.add(word)
        elif name == "--shape":
            self.shapes.append(read_shape(its_value()))
        elif name in self.own:
            self.own[name] = its_value()
        elif word == "-D":
            name, eq, values = (rest.pop(0) if rest else "").partition("=")
            if not eq:
                raise TuneError("-D wants NAME=V1,V2,...")
            self.sweep.append((name, values.split(",")))
        elif word.startswith("-"):
            found = its_value()
            self.passed += [word] if eq else [word, found]
        elif self.program:
            raise TuneError(f"one program at a time: what is '{word}'?")
        else:
            self.program = word


def _split_args(passed: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options of the compiler, and the values of --arg."""
    options, args, rest = [], [], iter(passed)
    for word in rest:
        name, eq, value = word.partition("=")
        value = value if eq else next(rest)
        if name == "--arg":
            args.append(value)
        else:
            options += [name, value]
    return options, args


def machine_of(roofline: str, compiler: Compiler) -> Machine:
    """The simulator's data of a GPU."""
    with tempfile.TemporaryDirectory() as folder:
        ptx, stats = Path(folder, "nothing.ptx"), Path(folder, "stats.json")
        ptx.write_text(NOTHING)
        done = compiler.call("sim", str(ptx), "--entry", "nothing", "--grid", "1", "--block", "32", "--roofline", roofline,
                             "--stats", str(stats))
        if done.status:
            raise TuneError(done.why)
        roof = json.loads(stats.read_text())["roofline"]
    return Machine(roof["gpu"], roof["sms"], roof["mhz"])


def prepare(words: Words, compiler: Compiler, hosts: Hosts | None) -> tuple[Options, str]:
    """The method of timing, the GPU, and the driver's version."""
    options, args = _split_args(words.passed)
    judge, roofline, driver = words.own["--exec"], words.own["--roofline"], ""
    here = gpu.find() if judge in ("gpu", "auto") and not hosts else None
    if judge == "auto":
        judge = "gpu" if here or hosts and hosts.has_gpu() else "clock" if clock.ready() else "sim"
    if judge != "gpu" and words.own["--exec"] in ("auto", "clock") and not hosts and (why := clock.lacks()):
        print(f"tune: no clock: {why}; times are the least by the simulator's counts", file=sys.stderr)
    if roofline and judge == "gpu":
        raise TuneError("--roofline is the simulator's: it needs --exec sim")
    here = hosts.start(judge) if hosts else here
    arch, machine = option(options, "--arch"), None
    if judge == "gpu":
        if here:
            driver, machine = str(here.driver), Machine(here.name, here.sms, here.mhz)
            archs = [w for line in compiler.call("--list-archs").out.splitlines() for w in line.split()[:1]]
            arch = arch or gpu.arch_of(here.capability, archs)
    else:
        arch = arch or "sm_80"
        roofline = roofline or GPU_OF.get(arch, "")
        if roofline:
            machine = machine_of(roofline, compiler)
    if arch and option(options, "--arch") is None:
        options += ["--arch", arch]
    n = words.numbers
    return Options(
        words.program, options, args, words.sweep, words.shapes, judge, machine, roofline or None, n["--within"],
        n["--across"], int(n["--first"]), n["--halving"], int(n["--repeat"]), "--no-check" not in words.flags,
        "--warm" in words.flags, n["--limit"] or None, n["--budget"] or None, int(n["--sample"]), words.own["--op"],
        "" if "--no-assemble" in words.flags else sass.version(compiler)), driver


def write_json(path: str, value: Any) -> None:
    """Writes the file atomically."""
    try:
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(value, f, indent="\t")
            f.write("\n")
        os.replace(path + ".new", path)
    except OSError as error:
        raise TuneError(f"{path}: {error.strerror}") from None


def end(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process immediately
    raise Ended(number)


# ---- output
# --------------------------------------------------------------------------------------------------------

HEADS = {"gpu": "median us", "clock": "us by clock", "sim": "us at least"}


def tell(options: Options, store: Store, number: int, top: int) -> tuple[list[Result], bool]:
    """Prints the best of each shape, skipped candidates, and the accuracy of predictions; returns the best,
    and whether any was wrong."""
    found = results(store, number, options.judge)
    best: list[Result] = []
    for shape in dict.fromkeys(r.choice.shape for r in found):
        good = [r for r in found if r.state == "ok" and r.choice.shape == shape]
        if not good:
            continue
        if options.shapes:
            print(f"shape {shape}")
        print(f"{HEADS[options.judge]:>14}  {'by':<16}  candidate  cycles, a block  definitions")
        for r in good[:top]:
            note = "" if r.by == options.judge else f"  ({r.stats.get('no_clock', 'another of its shape has no clock')})"
            note += f"  (throttled: {', '.join(r.throttled)})" if r.throttled else ""
            note += f"  +-{50 * r.spread:.1f} %" if r.launches > 3 else ""
            print(f"{r.us:14.2f}  {r.way:<16}  {r.choice.candidate:9d}  {r.choice.cycles:15.0f}  {r.choice.define}{note}")
        best.append(good[0])
    for define, (why, _) in store.lists(number).items():
        if why:
            print(f"left out: {define}: {why}")
    wrong = [r for r in found if r.state not in ("ok", "open", "pruned")]
    for r in wrong:
        shape = f" {r.choice.shape}" if options.shapes else ""
        print(f"left out: {r.choice.define} candidate {r.choice.candidate}{shape}: {r.why}")
    pruned = sum(r.state == "pruned" for r in found)
    if pruned:
        print(f"pruned by the cost model: {pruned} of {len(found)}")
    ranking([r for r in found if r.state == "ok"])
    for r in best:
        defines = " ".join(f"-D {d}" for d in r.choice.define.split())
        shape = f"  # {r.choice.shape}" if options.shapes else ""
        print("best:", defines, f"--candidate {r.choice.candidate}{shape}")
    return best, bool(wrong)


def ranking(tried: Sequence[Result]) -> None:
    """Prints how well the cost model ranked the candidates of each list."""
    lists: dict[tuple[str, str], list[Result]] = {}
    for r in tried:
        lists.setdefault((r.choice.shape, r.choice.define), []).append(r)
    at, loss = [], []
    for found in lists.values():
        found.sort(key=lambda r: r.choice.candidate)
        fastest = min(found, key=lambda r: r.us)
        at.append(found.index(fastest))
        loss.append(found[0].us / fastest.us - 1 if fastest.us else 0)
    if lists:
        near = sum(x <= 0.05 for x in loss)
        print(f"predictions: the fastest is among the first five in {sum(p < 5 for p in at)} of {len(at)} lists; "
              f"the first is within 5 % of it in {near}, and loses {100 * max(loss):.1f} % at most")


def write_out(words: Words, store: Store, numbers: Sequence[int]) -> None:
    """--report, --export, --study, --dump, for these sweeps."""
    sweeps = [s for s in store.sweeps() if s["id"] in numbers]
    if words.own["--export"]:
        _write(words.own["--export"], export.text(store, sweeps))
    if words.own["--report"]:
        _write(words.own["--report"], report.page(store, sweeps))
    if "--study" in words.flags:
        for s in sweeps:
            print(study.text(study.study(results(store, s["id"], s["judge"].split()[0]))), end="")
    if "--dump" in words.flags:
        for line in store.dump():
            print(line)


def _write(path: str, text: str) -> None:
    if path == "-":
        print(text, end="")
        return
    try:
        Path(path + ".new").write_text(text, encoding="utf-8")
        os.replace(path + ".new", path)
    except OSError as error:
        raise TuneError(f"{path}: {error.strerror}") from None


# ---- the command ------------------------------------------------------------------------------------------------------


def sweep(words: Words) -> int:
    """Runs a sweep; returns the exit status."""
    compiler = Compiler()
    operator = ops.read(words.own["--op"]) if words.own["--op"] else None
    if operator:
        _of_operator(words, operator)
    jobs = int(words.numbers["--jobs"])
    hosts = Hosts(words.own["--ray"], compiler, words.program, jobs) if words.own["--ray"] else None
    options, driver = prepare(words, compiler, hosts)
    store = Store(words.own["--db"] or ":memory:")
    crew: Crew = hosts or Local(compiler, jobs or len(os.sched_getaffinity(0)))
    version, shown = compiler.version(), [0.0]
    parts = [options, *(_stages(words, operator, options) if operator else ())]
    build = compiler.build()
    numbers = [_number(store, part, driver, build) for part in parts]

    def kept(last: bool = False) -> None:
        if words.own["-o"] and (last or time.monotonic() - shown[0] > 0.2):
            write_json(words.own["-o"], old_json(options, version, words.passed, store, numbers[0]))
            shown[0] = time.monotonic()

    ended, progress, left = 0, Progress(), 0
    for s in signal.SIGINT, signal.SIGTERM:
        signal.signal(s, end)
    began = time.monotonic()
    try:
        for part, number in zip(parts, numbers):
            if part.budget:
                part.budget = max(1e-3, part.budget - (time.monotonic() - began))
            one = Sweep(part, store, number, crew, progress, kept)
            one.run()
            left += one.left
    except Ended as why:
        ended = 128 + int(why.args[0])
        progress.end()
        print("tune: ended before all was tried", file=sys.stderr)
    finally:
        crew.close()
    kept(last=True)
    if left and not ended:
        print(f"tune: the budget is spent; {left} are left, and the same command goes on", file=sys.stderr)
    return _last_words(words, parts, store, numbers, ended)


def _number(store: Store, options: Options, driver: str, build: str) -> int:
    """The id of the sweep in the database."""
    try:
        digest = hashlib.sha256(Path(options.program).read_bytes()).hexdigest()
    except OSError as error:
        raise TuneError(f"{options.program}: {error.strerror}") from None
    name = options.machine.name if options.machine else ""
    return store.sweep(key_of(options, digest, name, driver, build), options.program)


def _of_operator(words: Words, operator: ops.Operator) -> None:
    """The program, the kernel and the lists for an operator."""
    if words.program:
        raise TuneError(f"--op {operator.name} or {words.program}: one at a time")
    options, _ = _split_args(words.passed)
    kernel = option(options, "--kernel") or operator.kernel()
    if kernel not in operator.files:
        raise TuneError(f"{operator.name} has no kernel {kernel}; it has {' '.join(operator.files)}")
    if option(options, "--kernel") is None:
        words.passed += ["--kernel", kernel]
    words.program = operator.files[kernel]
    said = {n for n, _ in words.sweep}
    words.sweep += [(n, v) for n, v in operator.values(kernel).items() if n not in said]
    ops.settings(operator, kernel, words.sweep)


def _stages(words: Words, operator: ops.Operator, of: Options) -> list[Options]:
    """The sweeps of the kernels of an operator's chains, each with the constants of its table entry, for
    the sizes of that entry."""
    host = ops.settings(operator, option(of.options, "--kernel") or "", words.sweep)
    shapes: dict[ops.Stage, list[dict[str, int]]] = {}
    for line in operator.chains():
        for more in [m for s in of.shapes if (m := line.extended(s))]:
            for stage in line.stages:
                if more not in shapes.setdefault(stage, []):
                    shapes[stage].append(more)
    out: list[Options] = []
    for stage, sizes in shapes.items():
        lists = [(n, [v]) for n, v in (d.split("=") for d in stage.define.split())]
        lists += [(n, v) for n, v in host if operator.has(stage.kernel, n)]
        fixed = [w for i, w in enumerate(of.options) if w != "--kernel" and (not i or of.options[i - 1] != "--kernel")]
        same = next((o for o in out if option(o.options, "--kernel") == stage.kernel and o.sweep == lists), None)
        if same:
            same.shapes += [s for s in sizes if s not in same.shapes]
        else:
            out.append(replace(of, program=operator.files[stage.kernel], options=[*fixed, "--kernel", stage.kernel],
                               sweep=lists, shapes=sizes))
    return out


def _last_words(words: Words, parts: Sequence[Options], store: Store, numbers: Sequence[int], ended: int) -> int:
    options, number = parts[0], numbers[0]
    found = results(store, number, options.judge)
    if not any(r.state == "ok" for r in found):
        if ended:
            return ended
        whys = [why for why, _ in store.lists(number).values() if why] + [r.why for r in found if r.why and r.state != "pruned"]
        raise TuneError("nothing could be run; " + (whys[0] if whys else "the lists are empty"))
    wrong = False
    for part, number in zip(parts, numbers):
        if len(parts) > 1:
            print(f"kernel {option(part.options, '--kernel')}")
        wrong |= tell(part, store, number, int(words.numbers["--top"]))[1]
    write_out(words, store, numbers)
    return ended or int(wrong)


def main() -> None:
    """Entry point of scripts/tune."""
    if any(w in ("-h", "--help") for w in sys.argv[1:]):
        print(__doc__, end="")
        return
    try:
        words = Words(sys.argv[1:])
        if words.program or words.own["--op"]:
            sys.exit(sweep(words))
        if not words.own["--db"]:
            raise TuneError("which program? Give a file; --help tells more")
        if not os.path.exists(words.own["--db"]):
            raise TuneError(f"there is no {words.own['--db']}")
        store = Store(words.own["--db"])
        write_out(words, store, [s["id"] for s in store.sweeps()])
    except sqlite3.Error as error:
        sys.exit(f"tune: the database: {error}")
    except (TuneError, BrokenPipeError) as error:
        sys.exit(f"tune: {error}")
