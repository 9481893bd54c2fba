"""Parts of hexc_bench: schemas, rows of rates.def, data, steps that fail or take too long."""

import json
import struct
import tempfile
from pathlib import Path

from hexc_bench import calibrate, cases, day, day_report, schema, steps
from hexc_bench.runner import Data
from hexc_tune.compiler import Compiler

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
    # a row says all that it said, and is read back
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
        data = Data(folder)
        raw = data.file((300, 500), "u4").read_bytes()
        (size,) = struct.unpack("<H", raw[8:10])
        assert raw[:8] == b"\x93NUMPY\x01\0" and (size + 10) % 64 == 0 and len(raw) == size + 10 + 150000
        head = eval(raw[10 : 10 + size])
        assert head == {"descr": "|u1", "fortran_order": False, "shape": (300, 500)} and max(raw[10 + size :]) == 15
        half = data.file((7,), "f16")
        assert half == data.file((7,), "f16") and len(half.read_bytes()) % 64 == 14
        rising = data.file((6,), "i32 rising to 3").read_bytes()[-24:]
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


def test_steps() -> None:
    """What raises, hangs, or was ended twice in its middle is told, and the next goes on."""
    def raises(limit: float) -> dict[str, object]:
        raise RuntimeError("no")

    def slow(limit: float) -> dict[str, object]:
        raise day.TooLong

    def say(text: str) -> None:
        pass

    with tempfile.TemporaryDirectory() as folder:
        d = day.Day(Path(folder), Compiler("true"), "sm_90a", None)
        items = [day.Item("a", raises), day.Item("b", slow, 10), day.Item("c", lambda limit: {"says": "fine"}),
                 day.Item("d", lambda limit: {"x": 1})]
        step = day.Step("checks", "", lambda d: items)
        found = day.run_step(d, step, say)
        assert found["state"] == "done" and [i["state"] for i in found["items"]] == ["failed", "failed", "ok", "failed"], found
        assert found["items"][0]["why"] == "RuntimeError: no" and "10 seconds" in found["items"][1]["why"]
        assert "schema" in found["items"][3]["why"], found["items"][3]
        assert day.run_step(d, step, say)["items"] == found["items"]
        # what takes long while little time is left is left for the next call
        d.path("checks").unlink()
        d.seconds = 8
        found = day.run_step(d, step, say)
        assert found["state"] == "partial" and found["left"] == 3 and not found["running"], found
        # ended in the middle of b, and again
        d.seconds = 480
        d.write({**found, "running": "b", "lost": {"b": 1}})
        found = day.run_step(d, step, say)
        assert "twice" in found["items"][1]["why"] and found["state"] == "done" and len(found["items"]) == 4, found
        # another machine's results are not gone on with
        d.shrink = 2
        assert d.read("checks") is None
        broken = day.Step("tune", "", lambda d: [][1])
        assert day.run_step(d, broken, say)["why"].startswith("IndexError")


def test_page() -> None:
    """What bench found is in a file of its own and in the page of the day, with what failed."""
    with tempfile.TemporaryDirectory() as folder:
        d = day.Day(Path(folder), Compiler("true"), "sm_90a", None)
        kernel = {"kernel": "k", "define": [], "candidate": 0, "median_us": 2.0, "us": [2.0], "gpu": "G"}
        right = {"key": "a", "model": "M", "name": "gemm", "shape": "1", "us": 2.0, "flops": 4e6, "bytes": 1e6, "roof": "f16",
                 "kernels": [kernel], "peers": {"torch": {"us": 3.0}, "vllm": {"why": "no <b>"}}}
        roofs = {"copy_bytes_per_s": 1e12, "f16_flop_per_s": 1e14}
        items = [day.Item("roofs", lambda limit: {"roofs": roofs, "peers": {"installed": {"torch": "2"}, "absent": {}}}),
                 day.Item("a", lambda limit: {"result": right}), day.Item("b", lambda limit: {"why": "lost"})]
        step = day.Step("bench", "", lambda d: items, steps.benched)
        found = day.run_step(d, step, lambda text: None)
        assert found["state"] == "done" and day.failures(found) == 1, found
        day_report.write(d, steps.STEPS)
        page, table = ((Path(folder) / n).read_text() for n in ("day.html", "benchmark.md"))
        assert "bench: b: lost" not in page and "<td>lost</td>" in page and "no &lt;b&gt;" in page and "products of f16 reach" in page
        # a microsecond of copying in two; the peer takes 3
        assert "| gemm | 1 | 2.0 | 2.0 | 500 | 50 % | torch | 3.0 | 1.50 |" in table, table


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
