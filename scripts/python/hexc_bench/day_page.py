"""The results of a gpu-day as Markdown, as a page, as rows to review and measurements to store: all from its
journal, on a machine without a GPU (`gpu-day --read DIR`)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hexc_tune.report import _e, _figure, _table
from hexc_tune.svg import bars

from . import calibrate, journal, report, schema

ROOT = Path(__file__).resolve().parents[3]
Items = list[dict[str, Any]]


def summary_of(out: Path) -> dict[str, Any]:
    """The summary of the journal in a directory; ValueError if there is none, or it violates the schema."""
    lines = journal.read(out / "journal.jsonl")
    if not lines:
        raise ValueError(f"there is no journal.jsonl in {out}")
    found = journal.summary(lines)
    bad = schema.check(found, schema.load("summary"))
    if bad:
        raise ValueError("the summary is not as its schema says: " + "; ".join(bad[:3]))
    return found


# ---- tables of the items
# -------------------------------------------------------------------------------------------------

def of_step(found: Mapping[str, Any], step: str, *states: str) -> Items:
    return [i for i in found["items"] if i["step"] == step and i["on"] == found["machine"] and (not states or i["state"] in states)]


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Rank correlation; None unless both sides have at least two different numbers."""
    def ranks(v: Sequence[float]) -> list[float]:
        return [sum(b < a for b in v) + (sum(b == a for b in v) - 1) / 2 for a in v]

    a, b = ranks(x), ranks(y)
    mean = (len(a) - 1) / 2
    norm = math.sqrt(sum((i - mean) ** 2 for i in a) * sum((j - mean) ** 2 for j in b))
    return sum((i - mean) * (j - mean) for i, j in zip(a, b)) / norm if norm else None


def headlines(found: Mapping[str, Any]) -> Items:
    """For each headline with a time: us of hexc, of the best peer, their ratio (above 1: the peer is faster),
    the share of the nearer roof; worst first."""
    roofs: dict[str, float] = next((i["roofs"] for i in of_step(found, "headline", "ok") if "roofs" in i), {})
    peers = {i["key"].removesuffix(" | peers"): i["peers"] for i in of_step(found, "headline", "ok") if "peers" in i}
    rows = []
    for i in of_step(found, "headline", "ok"):
        if "us" not in i:
            continue
        best = min(((p["us_cold"], n) for n, p in peers.get(i["key"], {}).items() if "us_cold" in p), default=None)
        rate, copy = roofs.get(f"{i['roof']}_flop_per_s"), roofs.get("copy_bytes_per_s")
        least = max(i["flops"] / rate if rate else 0.0, i["moved"] / copy if copy else 0.0) * 1e6
        rows.append({"key": i["key"], "us": i["us"]["cold"], "warm": i["us"]["warm"], "peer": best[1] if best else "", "peer_us": best[0] if best else None,
                     "ratio": i["us"]["cold"] / best[0] if best and best[0] else None, "roof": least / i["us"]["cold"] if least and i["us"]["cold"] else None})
    return sorted(rows, key=lambda r: (-(r["ratio"] or 0), r["roof"] or 2))


def ranks(found: Mapping[str, Any]) -> Items:
    """For each kernel of step schedules: rho of predicted and measured ranks, and the loss of the
    first compared with the best."""
    kernels: dict[str, list[tuple[int, float]]] = {}
    for i in of_step(found, "schedules", "ok"):
        kernels.setdefault(i["key"].rpartition(", candidate ")[0], []).append((i["candidate"], i["us"]["cold"]))
    rows = []
    for name, pairs in kernels.items():
        pairs.sort()
        best = min(pairs, key=lambda p: p[1])
        first = next((us for c, us in pairs if c == 0), None)
        rows.append({"key": name, "candidates": len(pairs), "best": best[0], "rho": spearman([c for c, _ in pairs], [us for _, us in pairs]),
                     "loss": first / best[1] - 1 if first and best[1] else None, "us": {str(c): us for c, us in pairs}})
    return sorted(rows, key=lambda r: -(r["loss"] or 0))


def rates(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row for sm_throughput.def, and its difference from the existing one."""
    if found["machine"] not in found["machines"]:
        return None
    m = found["machines"][found["machine"]]
    measured = {i["key"]: i["value"] for i in of_step(found, "calibration", "ok") if i["key"] in calibrate.MEASURES and i["key"] != "launch"}
    if not measured:
        return None
    return calibrate.propose(int("".join(c for c in m["arch"] if c.isdigit())), m["gpu"], measured)


def constants(found: Mapping[str, Any]) -> Items:
    """The uncertain constants of cost_constants.def: current and measured values."""
    text = (ROOT / "infer/core/cost_constants.def").read_text(encoding="utf-8")
    stands = {n: float(v) for n, v in re.findall(r"^(?:COUNT|WEIGHT)\((\w+), ([\d.]+),", text, re.M)}
    rows = [{"name": i["constant"], "stands": stands.get(i["constant"]), "measured": i["value"], "unit": i["unit"]}
            for i in of_step(found, "calibration", "ok") if "constant" in i]
    return sorted(rows, key=lambda r: -abs(math.log(r["measured"] / r["stands"])) if r["stands"] and r["measured"] > 0 else 0)


def counts(found: Mapping[str, Any]) -> Items:
    """The profiler's counts next to the simulator's, the most different first."""
    rows = []
    for i in of_step(found, "counters", "ok"):
        for name, value in i.get("profiled", {}).items():
            simulated = i["simulated"].get(name)
            if simulated is not None:
                rows.append({"key": i["key"], "name": name, "simulated": simulated, "profiled": value, "ratio": value / simulated if simulated else None})
    return sorted(rows, key=lambda r: -abs(math.log(r["ratio"])) if r["ratio"] else 0)


def mispredictions(found: Mapping[str, Any]) -> list[str]:
    """As text, the worst first."""
    said = []
    for r in ranks(found):
        if r["loss"]:
            said.append((r["loss"], f"{r['key']}: candidate {r['best']} is {100 * r['loss']:.0f} % faster than the first, rho {_number(r['rho'], '.2f')}"))
    for c in constants(found):
        if c["stands"] and c["measured"] > 0 and not 0.8 < c["measured"] / c["stands"] < 1.25:
            said.append((abs(math.log(c["measured"] / c["stands"])), f"cost_constants.def {c['name']}: {c['measured']:.4g} {c['unit']}, {c['stands']:g} stands there"))
    row = rates(found)
    for name, d in (row["distance"].items() if row else ()):
        if d["ratio"] and not 0.8 < d["ratio"] < 1.25:
            said.append((abs(math.log(d["ratio"])), f"sm_throughput.def {name}: {d['measured']:.4g}, {d['stands']:g} stands there"))
    for c in counts(found):
        if c["ratio"] and not 0.8 < c["ratio"] < 1.25:
            said.append((abs(math.log(c["ratio"])), f"{c['key']}: {c['name']} {c['profiled']:g}, the simulator's {c['simulated']:g}"))
    return [text for _, text in sorted(said, key=lambda s: -s[0])]


def figures(found: Mapping[str, Any]) -> dict[str, Any]:
    """The measurements of a run that are committed."""
    row = rates(found)
    return {"machine": found["machines"].get(found["machine"], {}), "date": found["date"], "headlines": headlines(found), "schedules": ranks(found),
            "rates": row["distance"] if row else {}, "constants": constants(found), "counters": counts(found),
            "wrong": [{"step": i["step"], "key": i["key"], "why": i["why"]} for i in found["items"] if i["state"] == "wrong" and i["on"] == found["machine"]]}


# ---- Markdown and the page -----------------------------------------------------------------------------------------------

Section = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def _number(x: float | None, form: str = ".3g") -> str:
    return "" if x is None else format(x, form)


def sections(found: Mapping[str, Any]) -> list[Section]:
    """Tables, failures first; empty ones are omitted."""
    here = [i for i in found["items"] if i["on"] == found["machine"]]
    row = rates(found)
    made: list[Section] = [
        ("What is wrong", ("step", "what", "why"), [(i["step"], i["key"], i["why"]) for i in here if i["state"] == "wrong"]),
        ("What failed", ("step", "what", "how", "why"), [(i["step"], i["key"], i.get("lost", ""), i["why"]) for i in here if i["state"] == "failed"]),
        ("Headlines, worst first", ("what", "us", "us in L2", "peer", "us", "times the peer's", "part of the roof"),
         [(r["key"].removeprefix("headline "), _number(r["us"]), _number(r["warm"]), r["peer"], _number(r["peer_us"]), _number(r["ratio"], ".2f"),
           _number(r["roof"], ".2f")) for r in headlines(found)]),
        ("Mispredictions, worst first", ("what",), [(text,) for text in mispredictions(found)]),
        ("Candidates", ("kernel", "timed", "best", "rho", "loss of taking the first"),
         [(r["key"], str(r["candidates"]), str(r["best"]), _number(r["rho"], ".2f"), _number(r["loss"], ".1%")) for r in ranks(found)]),
        ("Rates", ("rate", "measured", "sm_throughput.def", "ratio"),
         [(n, f"{d['measured']:.4g}", f"{d['stands']:g}", f"{d['ratio']:.2f}" if d["ratio"] else "new") for n, d in row["distance"].items()] if row else []),
        ("Constants of cost_constants.def", ("constant", "measured", "stands", "unit"),
         [(c["name"], f"{c['measured']:.4g}", _number(c["stands"], "g"), c["unit"]) for c in constants(found)]),
        ("Counters, most different first", ("kernel", "count", "profiler", "simulator", "ratio"),
         [(c["key"], c["name"], f"{c['profiled']:g}", f"{c['simulated']:g}", _number(c["ratio"], ".2f")) for c in counts(found)]),
        ("What was left out", ("step", "what", "note"), [(i["step"], i["key"], i["note"]) for i in here if i["state"] == "skipped"]),
    ]
    return [s for s in made if s[2]]


def _steps(found: Mapping[str, Any]) -> Section:
    return ("", ("step", "state", "items", "ok", "wrong", "failed", "skipped", "cut", "seconds"),
            [(n, s["state"] + (f": {s['why']}" if "why" in s else ""), *(str(s[k]) for k in ("items", "ok", "wrong", "failed", "skipped", "cut")),
              f"{s['seconds']:.0f}") for n, s in found["steps"].items()])


def markdown(found: Mapping[str, Any]) -> str:
    """summary.md"""
    text = f"# hexc gpu-day\n\n{found['machine']}, {found['date']}" + ("" if found["ended"] else "; it was ended, or still runs") + "\n"
    for title, head, rows in [_steps(found), *sections(found)]:
        text += (f"\n## {title}\n" if title else "") + f"\n{report.line(head)}\n{'|---' * len(head)}|\n" + "".join(report.line(r) + "\n" for r in rows)
    row = rates(found)
    if row:
        text += "\nA row for infer/core/sm_throughput.def, to be judged by a person:\n\n" + "".join(f"    {x}\n" for x in row["row"].splitlines())
    others = [m for m in found["machines"] if m != found["machine"]]
    return text + ("\nBeside it, of earlier days: " + "; ".join(others) + "\n" if others else "")


def page(found: Mapping[str, Any]) -> str:
    """day.html"""
    body = f"<h1>hexc gpu-day</h1><p>{_e(found['machine'])}, {_e(found['date'])}</p>"
    for title, head, rows in [_steps(found), *sections(found)]:
        body += (f"<h2>{_e(title)}</h2>" if title else "") + _table(head, rows)
    row = rates(found)
    if row:
        shown = [(n, [("", d["ratio"])]) for n, d in row["distance"].items() if d["ratio"]]
        body += _figure(bars(shown, "times"), "Measured, as a multiple of what infer/core/sm_throughput.def says.") if shown else ""
        body += f"<p>A row for infer/core/sm_throughput.def, to be judged by a person:</p><pre>{_e(row['row'])}</pre>"
    return report.page("hexc gpu-day", body)


def write(out: Path) -> None:
    """Writes summary.json and summary.md from the journal."""
    found = summary_of(out)
    journal.keep(out / "summary.json", json.dumps(found, indent=1) + "\n")
    journal.keep(out / "summary.md", markdown(found))


def read_day(out: Path, file: Path | None) -> str | int:
    """`--read`: writes summary.md, day.html; measurements to `file`. Returns an exit
    status, or an error message."""
    try:
        found = summary_of(out)
    except ValueError as error:
        return f"gpu-day: {error}"
    write(out)
    journal.keep(out / "day.html", page(found))
    if file:
        file.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "-", found["machines"][found["machine"]]["gpu"].lower()).strip("-")
        journal.keep(file / f"{name}.json", json.dumps(figures(found), indent="\t") + "\n")
    print(markdown(found), end="")
    return 0
