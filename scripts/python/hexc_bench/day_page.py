"""The page and the Markdown of a gpu-day, of whatever its steps found so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hexc_tune.report import _e, _figure, _table
from hexc_tune.svg import bars

from . import report
from .day import Day, Step, failures, keep


def write(day: Day, steps: Sequence[Step]) -> None:
    """day.html and day.md."""
    found = {s.name: f for s in steps if (f := day.read(s.name))}
    rows = [(n, f["state"], f"{len(f['items']) - failures(f)}", f"{failures(f)}", f"{f['left']}", f"{f['seconds']:.0f}", f["why"])
            for n, f in found.items()]
    head = ("step", "state", "ok", "failed", "left", "seconds", "why")
    body = f"<h1>hexc gpu-day</h1><p>{_e(day.machine())}</p>" + _table(head, rows)
    text = f"# hexc gpu-day\n\n{day.machine()}\n\n{report.line(head)}\n{'|---' * len(head)}|\n" + "".join(report.line(r) + "\n" for r in rows)
    for name, part in (("calibrate", _calibrate), ("schedules", _schedules), ("counters", _counters)):
        if name in found:
            html, words = part(found[name])
            body, text = body + html, text + words
    failed = [(n, i["key"], i["why"]) for n, f in found.items() for i in f["items"] if i["state"] == "failed"]
    if failed:
        body += "<h2>What failed</h2>" + _table(("step", "what", "why"), failed)
        text += "\n## What failed\n\n" + "".join(f"* {n}: {k}: {w}\n" for n, k, w in failed)
    try:
        body += report.bench_body(json.loads((day.out / "benchmark.json").read_text(encoding="utf-8"))) if "bench" in found else ""
    except OSError:
        pass
    keep(day.out / "day.html", report.page("hexc gpu-day", body))
    keep(day.out / "day.md", text)


def _calibrate(f: dict[str, Any]) -> tuple[str, str]:
    if "proposal" not in f:
        return "", ""
    p = f["proposal"]
    rows = [(n, f"{d['measured']:.4g}", f"{d['stands']:g}", f"{d['ratio']:.2f}" if d["ratio"] else "new") for n, d in p["distance"].items()]
    head = ("rate", "measured", "rates.def", "ratio")
    held = [(i["key"], f"{i['value']}", f"{i['predicted']}", f"{i['registers'] if i['registers'] is not None else '?'}",
             f"{i['predicted_registers']}") for i in f["items"] if i["state"] == "ok" and "predicted" in i]
    html = "<h2>Rates</h2>" + _table(head, rows)
    ratios = [(n, [("", d["ratio"])]) for n, d in p["distance"].items() if d["ratio"]]
    html += _figure(bars(ratios, "times"), "Measured, as a multiple of what infer/base/rates.def says.") if ratios else ""
    html += f"<p>A row for infer/base/rates.def, to be judged by a person:</p><pre>{_e(p['row'])}</pre>"
    html += "<h3>Blocks of a multiprocessor</h3>" + _table(("kernel", "driver", "predicted", "registers", "predicted"), held) if held else ""
    text = f"\n## Rates\n\n{report.line(head)}\n{'|---' * 4}|\n" + "".join(report.line(r) + "\n" for r in rows)
    return html, text + "\n" + "".join(f"    {x}\n" for x in p["row"].splitlines())


def _schedules(f: dict[str, Any]) -> tuple[str, str]:
    shapes: dict[str, list[dict[str, Any]]] = {}
    for i in f["items"]:
        if i["state"] == "ok":
            shapes.setdefault(i["shape"], []).append(i)
    if not shapes:
        return "", ""
    rows = []
    for shape, items in shapes.items():
        usual = next((i["us"] for i in items if i["variant"] == "default"), None)
        rows += [(shape, i["variant"], f"{i['us']:.1f}", f"{i['tflops']:.1f}", f"{usual / i['us']:.3f}" if usual else "") for i in items]
    head = ("product", "options", "us", "TFLOP/s", "of the default's speed")
    html = "<h2>Defaults of schedules</h2>" + _figure(bars([(s, [(i["variant"], i["us"]) for i in items]) for s, items in shapes.items()], "us"),
                                                      "Medians, the L2 cache overwritten before each launch.") + _table(head, rows)
    return html, f"\n## Schedules\n\n{report.line(head)}\n{'|---' * 5}|\n" + "".join(report.line(r) + "\n" for r in rows)


def _counters(f: dict[str, Any]) -> tuple[str, str]:
    rows = []
    for i in f["items"]:
        for n, value in i.get("simulated", {}).items():
            seen = i.get("profiled", {}).get(n)
            ratio = f"{seen / value:.3f}" if seen is not None and value else ""
            rows.append((i["key"], n, f"{value}", "" if seen is None else f"{seen:.0f}", ratio))
    if not rows:
        return "", ""
    head = ("kernel", "count", "simulated", "profiled", "ratio")
    note = "Instructions are those of PTX in the simulator and of machine code in the profiler: they need not agree."
    notes = sorted({i["note"] for i in f["items"] if i.get("note")})
    html = f"<h2>Counts</h2><p>{_e(' '.join([note, *notes]))}</p>" + _table(head, rows)
    return html, f"\n## Counts\n\n{note}\n\n{report.line(head)}\n{'|---' * 5}|\n" + "".join(report.line(r) + "\n" for r in rows)
