"""Tests of hexc_bench: schemas, rows of sm_throughput.def, data, steps that fail or time out."""

import contextlib
import io
import json
import re
import shutil
import struct
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hexc_bench import calibrate, cases, data, day, day_page, items, journal, kit, schema, steps
from hexc_bench.runner import Data
from hexc_tune import gpu
from hexc_tune.compiler import Compiler
from hexc_tune.expr import evaluate
from hexc_tune.ops import line_of

RULES = {"type": "object", "required": ["a"], "additionalProperties": False,
         "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/word"}},
                        "c": {"oneOf": [{"type": "string"}, {"type": "null"}]}, "d": {"type": "number", "exclusiveMinimum": 0}},
         "$defs": {"word": {"enum": ["x", "y"]}}}


def test_schema() -> None:
    for good in {"a": 1}, {"a": 2, "b": ["x", "y"], "c": None, "d": 0.5}, {"a": 1.0}:
        assert not schema.check(good, RULES), good
    for bad, says in (({}, "$.a: is missing"), ({"a": 0}, "too small"), ({"a": True}, "bool"), ({"a": 1.5}, "float"),
                      ({"a": 1, "z": 1}, "not known"), ({"a": 1, "b": []}, "fewer"), ({"a": 1, "b": ["q"]}, "$.b[0]"),
                      ({"a": 1, "c": 3}, "int"), ({"a": 1, "d": 0}, "too small"), ([], "list")):
        found = schema.check(bad, RULES)
        assert found and says in found[0], (bad, found)
    try:
        schema.check({}, {"pattern": "x"})
        raise AssertionError("a rule that is not checked goes unseen")
    except ValueError:
        pass


def test_rates() -> None:
    text = calibrate.RATES.read_text()
    rows = calibrate.rows(text)
    assert len(rows) == text.count("\nRATES(") and rows[90]["mma_f16"] == "2048" and rows[90]["gpu"] == '"H100-SXM"', rows
    # a row contains all its data, and parses back
    p = calibrate.propose(90, "G", {"mma_f16": 1024.4, "sync": 0.628, "launch": 3})
    (back,) = calibrate.rows(p["row"] + "\n").values()
    assert back == {**rows[90], "gpu": '"G"', "mma_f16": "1024", "sync": "0.63"}, back
    assert p["distance"]["mma_f16"] == {"stands": 2048, "measured": 1024.4, "ratio": 1024.4 / 2048} and "launch" not in p["distance"]
    assert calibrate.propose(33, "G", {"sms": 2})["distance"]["sms"]["ratio"] is None


def test_ncu() -> None:
    text = '==PROF== x\n"ID","Kernel Name","a.sum"\n"","","n"\n"0","fill","9"\n"1","gemm_f16","1,234"\n"2","gemm_f16","5"\n'
    assert steps.read_ncu(text, "gemm_f16")["a.sum"] == 1234
    try:
        steps.read_ncu(text, "nothing")
        raise AssertionError
    except ValueError as error:
        assert "nothing" in str(error)


def test_data() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Data(folder)
        raw = made.file((300, 500), "u4").read_bytes()
        (size,) = struct.unpack("<H", raw[8:10])
        assert raw[:8] == b"\x93NUMPY\x01\0" and (size + 10) % 64 == 0 and len(raw) == size + 10 + 150000
        head = eval(raw[10 : 10 + size])
        assert head == {"descr": "|u1", "fortran_order": False, "shape": (300, 500)} and max(raw[10 + size :]) == 15
        half = made.file((7,), "f16")
        assert half == made.file((7,), "f16") and len(half.read_bytes()) % 64 == 14
        rising = made.file((6,), "i32 rising to 3").read_bytes()[-24:]
        assert struct.unpack("<6i", rising) == (0, 0, 1, 1, 2, 2)


def test_cases() -> None:
    found = cases.cases(list(cases.SUITES), 1)
    keys = [c.key for c in found if c.model]
    assert len(set(keys)) == len(keys)
    assert {c.model for c in found} == {"", *(m.name for m in cases.MODELS)}
    gate = next(c for c in found if c.key == "Llama 3 8B / gate w4a16 / 1 x 14336 x 4096")
    assert gate.flops == 2 * 14336 * 4096 and gate.bytes == 14336 * 4096 / 2 + 2 * (4096 + 14336 * 32 + 14336)
    for c in found:
        for k in c.kernels:
            assert (calibrate.RATES.parents[2] / k.program).exists(), k


def test_items() -> None:
    """Every kernel of examples/ and every entry of every operator's table is in the list, at two shapes. The
    entry's guard is the first that holds for them, or the entry is for other addresses. A new kernel or entry
    without an item is reported."""
    everything = items.everything()
    keys = [i.key for i in everything]
    assert len(set(keys)) == len(keys)
    have = {(i.program, i.kernel) for i in everything if i.kind == "example"}
    for path in sorted((items.ROOT / "examples").glob("*.hexc")):
        for kernel in re.findall(r"^kernel (\w+)", path.read_text(), re.M):
            assert (f"examples/{path.name}", kernel) in have, (path, kernel)
    with tempfile.TemporaryDirectory() as folder:  # data for every tensor
        for i in everything:
            if i.kind == "example":
                assert steps.arguments(i, folder, i.shapes[0]), i
    for path in sorted((items.ROOT / "lib/ops").glob("*.hexc")):
        lines = re.findall(r"^(?://\+ [\w|]+ )?//: take (.*?)(?: //- [\w|]+)?$", path.read_text(), re.M)
        mine = [i for i in everything if i.kind == "operator" and i.operator == path.stem]
        assert {i.text for i in mine if lines} == set(lines) and mine, path
        for i in mine:
            assert [s.name for s in i.shapes] == ["small", "model"], i
            for s in i.shapes:
                known = {n: v for n, v in {**i.constants, **s.sizes}.items() if isinstance(v, int)}
                assert not lines or evaluate(line_of(i.text, i.operator).guard, known), (i.key, s)
    groups = {i.group for i in everything if i.kind == "headline"}
    want = {"gemm f16", "gemm bf16", "w4a16", "fp8", "fp8 blocks", "attention", "decode", "paged", "grouped", "moe", "rms norm", "layer norm", "softmax",
            "rotary", "cross entropy", "selective scan"}
    assert groups == want, groups ^ want
    assert all(i.peer and i.roof and (i.flops or i.bytes) for i in everything if i.kind == "headline")
    programs = {u.program for u in kit.units(everything)}
    assert programs == {i.program for i in everything}, "the kit compiles all of them"
    with tempfile.TemporaryDirectory() as folder:
        root = items.ROOT
        try:
            for name in ("examples", "lib/ops"):
                shutil.copytree(root / name, Path(folder, name))
            items.ROOT = Path(folder)
            Path(folder, "examples", "new.hexc").write_text("kernel brand_new(A: f32[N]) { grid(1); }\n")
            missed(KeyError, items.examples)
            gemm = Path(folder, "lib/ops/gemm.hexc")
            gemm.write_text(gemm.read_text() + "//: take gemm BM=32 when 1\n")
            missed(IndexError, items.operators)
            gemm.rename(gemm.with_name("new.hexc"))
            missed(KeyError, items.operators)
        finally:
            items.ROOT = root


def missed(kind: type[Exception], what: Any) -> None:
    try:
        what()
    except kind:
        return
    raise AssertionError(f"{what.__name__} misses nothing")


def test_elements() -> None:
    """Codes and values of types that NumPy lacks."""
    for dtype, code, value in (("e4m3", 0x7E, 448), ("e4m3", 0x01, 2**-9), ("e5m2", 0x7B, 57344), ("e2m1", 0b1111, -6), ("e8m0", 127, 1), ("nf4", 15, 1),
                               ("e3m2", 0b011111, 28), ("bf16", 0x3F80, 1)):
        kind = np.uint16 if dtype == "bf16" else np.uint8
        assert data.decoded(np.array([code], kind), dtype)[0] == value, (dtype, code)
        assert data.encoded(np.array([float(value)]), dtype)[0] == code or dtype == "e8m0", (dtype, value)
    assert data.decoded(data.encoded(np.array([3.3, -0.4, 1e9]), "e2m1"), "e2m1").tolist() == [3, -0.5, 6]
    a, b = (data.make("", "f16", (300,), seed, {}) for seed in ("1", "1"))
    assert (a == b).all() and (a != data.make("", "f16", (300,), "2", {})).any() and 0.8 < a.astype(float).std() < 1.2
    offsets = data.make("offsets R", "i32", (5,), "1", {"R": 40})
    assert offsets[0] == 0 and offsets[-1] == 40 and (np.diff(offsets) >= 0).all()
    pages = data.make("distinct NP", "i32", (2, 3), "1", {"NP": 6})
    assert sorted(pages.reshape(-1)) == list(range(6))


def a_day(folder: str) -> day.Day:
    g = gpu.Gpu("G", 1, 4, 1000.0, 90, "")
    return day.Day(Path(folder), Compiler("true"), "sm_90a", g, journal.Journal(Path(folder)))


def begin(d: day.Day, *steps_: str) -> None:
    d.journal.add("begin", machine=d.machine(), **{"is": d.facts()}, minutes=1.0, date="2026-01-01", steps=list(steps_))


def test_steps() -> None:
    """Exceptions, wrong results, skipped items and timeouts are reported, and the next item runs; items
    beyond the time limit are cut."""
    def raises(limit: float) -> dict[str, Any]:
        raise RuntimeError("no")

    ran: list[str] = []

    def work(key: str, found: dict[str, Any], limit: float = 30) -> day.Work:
        def run(given: float) -> dict[str, Any]:
            ran.append(key)
            return dict(found)
        return day.Work(key, run, limit)

    with tempfile.TemporaryDirectory() as folder:
        d = a_day(folder)
        todo = [day.Work("a", raises), work("b", {"why": "off", "wrong": True}), work("c", day.skipped("no ncu")), work("d", {"says": "fine"}),
                work("g", {"us": [1.0]}), work("h", {"value": float("nan")}),
                work("e", {"why": "it took more than 1 seconds", "lost": "late"}, 1), work("f", {"why": "slow", "lost": "late"}, 1e6)]
        step = day.Step("right", "", 1, lambda d: todo)
        begin(d, "right", "tuning")
        day.run_step(d, step, time.monotonic() + 60, "", lambda text: None)
        found = journal.summary(d.journal.lines)
        assert not schema.check(found, schema.load("summary")), schema.check(found, schema.load("summary"))
        assert [(i["key"], i["state"]) for i in found["items"]] == [("a", "failed"), ("b", "wrong"), ("c", "skipped"), ("d", "ok"), ("g", "failed"),
                                                                      ("h", "failed"), ("e", "failed")], found
        assert "us: list, not object" in found["items"][4]["why"] and "JSON" in found["items"][5]["why"], found["items"]
        assert found["items"][0]["why"] == "RuntimeError: no"
        s = found["steps"]["right"]
        assert (s["state"], s["cut"], s["ok"], s["wrong"], s["failed"], s["skipped"]) == ("cut", 1, 1, 1, 4, 1), s
        assert found["steps"]["tuning"]["state"] == "not entered" and not found["ended"]
        # resumed: finished items do not run again; cut or late ones do
        ran.clear()
        d.journal = journal.Journal(Path(folder))
        begin(d, "right", "tuning")
        todo[7] = work("f", {"says": "in time"})
        day.run_step(d, step, time.monotonic() + 60, "", lambda text: None)
        assert ran == ["e", "f"], ran
        # an exception before the first item is reported
        day.run_step(d, day.Step("tuning", "", 1, lambda d: [][1]), time.monotonic() + 60, "", lambda text: None)
        d.journal.add("end")
        found = journal.summary(d.journal.lines)
        assert found["steps"]["tuning"]["state"] == "failed" and "IndexError" in found["steps"]["tuning"]["why"] and found["ended"]
        assert not schema.check(found, schema.load("summary"))
        # a truncated line is skipped, and lines appended after it remain
        with open(Path(folder, "journal.jsonl"), "ab") as f:
            f.write(b'{"line": "item", "st')
        n = len(d.journal.lines)
        again = journal.Journal(Path(folder))
        again.add("end")
        assert len(journal.read(Path(folder, "journal.jsonl"))) == n + 1
        # on another machine all items run again, and both machines are reported
        d.gpu = gpu.Gpu("H", 1, 4, 1000.0, 90, "")
        ran.clear()
        begin(d, "right", "tuning")
        day.run_step(d, step, time.monotonic() + 60, "", lambda text: None)
        assert ran == ["b", "c", "d", "g", "h", "e", "f"], ran
        found = journal.summary(d.journal.lines)
        assert len(found["machines"]) == 2 and len(found["items"]) == 16, len(found["items"])


def test_budget() -> None:
    """Steps share the time; a step's deadline is the end of its own share and those before it."""
    ends = day.budgets(steps.STEPS, 532.0)
    assert abs(ends[-1] - 532) < 1e-9 and all(b > a for a, b in zip(ends, ends[1:])) and 0 < ends[0] < 30
    assert sum(s.budget for s in steps.STEPS) == 540


def test_page() -> None:
    """Failures come first; ratios to peers, ranks, constants and counters are those of the items."""
    with tempfile.TemporaryDirectory() as folder:
        d = a_day(folder)
        begin(d, "right", "headline", "schedules", "calibration", "counters")

        def add(step: str, key: str, state: str = "ok", **what: Any) -> None:
            d.journal.add("item", step=step, key=key, state=state, seconds=0.1, on=d.machine(), **what)

        add("right", "example x, small", "wrong", why="C: 1 <of> 2")
        add("headline", "roofs", roofs={"copy_bytes_per_s": 1e12, "f16_flop_per_s": 1e14})
        for key, us, peer in (("headline fast", 2.0, 3.0), ("headline slow", 8.0, 2.0)):
            add("headline", key, us={"cold": us, "warm": us / 2}, flops=1e8, moved=1e3, roof="f16", group="g")
            add("headline", f"{key} | peers", peers={"cublas": {"us_cold": peer, "us_warm": 1.0}, "other": {"why": "no"}}, group="g")
        for c, us in ((0, 12.0), (1, 10.0), (2, 20.0)):
            add("schedules", f"gemm, candidate {c}", us={"cold": us, "warm": us}, candidate=c)
        add("calibration", "sms", value=132, unit="multiprocessors")
        add("calibration", "barrier", value=50.0, unit="clocks", constant="BARRIER_CLOCKS")
        add("counters", "k", simulated={"mma": 10}, profiled={"mma": 20})
        d.journal.add("end")
        with contextlib.redirect_stdout(io.StringIO()):
            assert day_page.read_day(Path(folder), Path(folder, "figures")) == 0
        found = json.loads(Path(folder, "summary.json").read_text())
        rows = day_page.headlines(found)
        assert [(r["key"], r["ratio"], r["peer"]) for r in rows] == [("headline slow", 4.0, "cublas"), ("headline fast", 2 / 3, "cublas")]
        assert abs(rows[0]["roof"] - 1 / 8) < 1e-9 and abs(rows[1]["roof"] - 1 / 2) < 1e-9
        (rank,) = day_page.ranks(found)
        assert abs(rank["rho"] - 0.5) < 1e-9 and abs(rank["loss"] - 0.2) < 1e-9 and rank["best"] == 1
        assert day_page.constants(found) == [{"name": "BARRIER_CLOCKS", "stands": 25.0, "measured": 50.0, "unit": "clocks"}]
        text, page, kept = (Path(folder, n).read_text() for n in ("summary.md", "day.html", "figures/g.json"))
        assert text.index("What is wrong") < text.index("Headlines") < text.index("Mispredictions") and "| k | mma | 20 | 10 | 2.00 |" in text
        assert "1 &lt;of&gt; 2" in page and "RATES(90" in text and json.loads(kept)["wrong"][0]["key"] == "example x, small"


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
