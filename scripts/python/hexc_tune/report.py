"""A page about a sweep: one HTML file with its plots as inline SVG; no external resources and no scripts."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from .store import Store
from .study import Study, study
from .svg import Line, bars, plot
from .sweep import Result, results

STYLE = """body{font:15px/1.45 system-ui,sans-serif;color:#222;margin:2em auto;max-width:68em;padding:0 1em}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2em;border-bottom:1px solid #ddd}h3{font-size:1.05em}
table{border-collapse:collapse;margin:.6em 0}td,th{padding:.15em .8em;text-align:left;border-bottom:1px solid #eee}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.row{display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start}
figure{margin:0}figcaption{max-width:34em;color:#555;font-size:.9em}svg{display:block;max-width:100%}code{font-size:.92em}
"""
JUDGES = {"gpu": "measured", "clock": "by the static clock of machine code", "sim": "at least, by the simulator's counts"}


def page(store: Store, sweeps: Sequence[Mapping[str, Any]]) -> str:
    """The page for these sweeps."""
    body = "".join(_sweep(store, s) for s in sweeps)
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>hexc tune</title>\n<style>{STYLE}</style>'
            f"</head>\n<body>\n{body}</body></html>\n")


def _e(text: object) -> str:
    return html.escape(str(text))


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Cells that are numbers, or start with a digit, are right-aligned."""

    def cell(tag: str, value: object, number: bool) -> str:
        return f'<{tag}{" class=n" if number else ""}>{_e(value)}</{tag}>'

    right = [bool(rows) and str(rows[0][i])[:1].isdigit() for i in range(len(head))]
    out = "<tr>" + "".join(cell("th", h, r) for h, r in zip(head, right)) + "</tr>"
    out += "".join("<tr>" + "".join(cell("td", v, r) for v, r in zip(row, right)) + "</tr>" for row in rows)
    return f"<table>{out}</table>\n"


def _figure(svg: str, words: str) -> str:
    return f"<figure>{svg}<figcaption>{_e(words)}</figcaption></figure>\n"


def _sweep(store: Store, s: Mapping[str, Any]) -> str:
    judge = s["judge"].split()[0]
    found = results(store, s["id"], judge)
    good = [r for r in found if r.state == "ok"]
    out = f"<h1>{_e(s['name'])}</h1>\n"
    facts = [("GPU", s["gpu"]), ("arch", s["arch"]), ("driver", s["driver"] or "none"), ("hexc", s["build"]),
             ("times are", JUDGES[judge] + (" (tensors left in L2)" if "warm" in s["judge"] else "")),
             ("program", "sha256:" + s["program"][:16])]
    counts = {state: sum(r.state == state for r in found) for state in dict.fromkeys(r.state for r in found)}
    facts.append(("candidates", ", ".join(f"{n} {state}" for state, n in counts.items())))
    slow = sum(bool(r.throttled) for r in good)
    if slow:
        facts.append(("throttled", f"{slow} of {len(good)} were measured while the GPU's clocks were held down"))
    out += _table(("", ""), facts)
    if not good:
        return out + "<p>Nothing was judged.</p>\n"
    studies = study(found)
    out += "<h2>The best of each shape</h2>\n" + _best(studies)
    out += _table(("shape", "us", "spread", "by", "constants", "candidate", "layouts"),
                  [(t.shape or "-", f"{t.best.us:.2f}", f"{50 * t.best.spread:.1f} %" if t.best.launches > 3 else "-", t.best.way,
                    t.best.choice.define, t.best.choice.candidate, t.best.choice.text) for t in studies])
    out += "<h2>Predicted and found</h2>\n" + _predicted(good)
    out += "<h2>The frontier over time</h2>\n" + _over_time(store, s["id"], good)
    out += "<h2>Where time goes</h2>\n" + _units(store, s["id"], studies)
    out += "<h2>What pruning would have lost</h2>\n" + _pruning(studies)
    wrong = [r for r in found if r.state not in ("ok", "pruned", "open")]
    refused = [(d, why) for d, (why, _) in store.lists(s["id"]).items() if why]
    if wrong or refused:
        out += "<h2>Left out</h2>\n" + _table(("what", "why"), [
            *refused, *((f"{r.choice.define} candidate {r.choice.candidate} {r.choice.shape}", f"{r.state}: {r.why}") for r in wrong)])
    return out


def _best(studies: Sequence[Study]) -> str:
    return _figure(bars([(t.shape or "all", [("", t.best.us)]) for t in studies], "us"), "The fastest kernel of each shape, microseconds.")


def _predicted(good: Sequence[Result]) -> str:
    out = ""
    for shape in dict.fromkeys(r.choice.shape for r in good):
        of = [r for r in good if r.choice.shape == shape]
        points = [(r.choice.predicted, r.us, f"{r.choice.define} candidate {r.choice.candidate}: {r.us:.2f} us by {r.by}")
                  for r in of]
        ends = [f(min(x, y) if f is min else max(x, y) for x, y, _ in points) for f in (min, max)]
        same = Line("predicted = found", [(e, e) for e in ends])
        words = f"{shape or 'One shape'}: each candidate; rank correlation (Spearman) {spearman([p[:2] for p in points]):.2f}."
        out += _figure(plot([same], points, "predicted us", "us found", log=True), words)
    return f'<div class="row">{out}</div>\n'


def spearman(points: Sequence[tuple[float, float]]) -> float:
    """Rank correlation; ties have their mean rank."""

    def ranks(values: Sequence[float]) -> list[float]:
        order = sorted(values)
        first = {v: order.index(v) for v in set(values)}
        return [first[v] + (order.count(v) - 1) / 2 for v in values]

    x, y = ranks([p[0] for p in points]), ranks([p[1] for p in points])
    mean = (len(points) - 1) / 2
    cov = sum((a - mean) * (b - mean) for a, b in zip(x, y))
    both = math.sqrt(sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y))
    return cov / both if both else 1.0


def _over_time(store: Store, number: int, good: Sequence[Result]) -> str:
    us = {r.choice.key: r.us for r in good}
    lines: dict[str, Line] = {}
    began, gone = None, 0.0
    last = 0.0
    for key, _, at, seconds in store.log(number):
        # pauses between two sessions do not count as time of the sweep
        began = at if began is None else began
        gone += max(0.0, min(at + seconds - max(last, at), seconds)) if last else seconds
        last = max(last, at + seconds)
        if key in us:
            line = lines.setdefault(key[0] or "all", Line(key[0] or "all", []))
            least = min(us[key], line.points[-1][1]) if line.points else us[key]
            line.points += ([(gone, line.points[-1][1])] if line.points else []) + [(gone, least)]
    for line in lines.values():
        line.points.append((gone, line.points[-1][1]))
    return _figure(plot(list(lines.values()), [], "seconds of judging", "best us so far", log_y=True),
                   "The fastest that was known, by the time that judging took; pauses are left out.")


def _units(store: Store, number: int, studies: Sequence[Study]) -> str:
    rows, words = [], ""
    for t in studies:
        stats = t.best.stats
        if "clock" in stats:
            parts = sorted(stats["clock"]["held"].items(), key=lambda p: -p[1])
            words = "Share of time that each pipe of the best kernel is held, by the static clock."
        elif "roofline" in stats:
            longest = max(stats["roofline"]["limits"].values()) or 1
            parts = sorted(((n, v / longest) for n, v in stats["roofline"]["limits"].items()), key=lambda p: -p[1])
            words = "What each unit of the best kernel takes at least, as a share of the longest, by the simulator's counts."
        else:
            total = store.lists(number)[t.best.choice.define][1]["total"]
            longest = max(total.values()) or 1
            parts = sorted(((n, v / longest) for n, v in total.items()), key=lambda p: -p[1])
            words = "Clocks of each unit that the cost model predicts, as a share of the longest."
        rows.append((t.shape or "all", [(n, 100 * v) for n, v in parts if v >= 0.005][:8]))
    return _figure(bars(rows, "%"), words)


def _pruning(studies: Sequence[Study]) -> str:
    out = ""
    for t in studies:
        lines = [Line(name, [(i + 1, 100 * (us / t.best.us - 1)) for i, us in enumerate(line)]) for name, line in t.frontier.items()]
        rows = [(name, f"{n:.1f}", f"{t.judged / n:.1f}") for name, n in t.needs.items()]
        kept = [(name, n, f"{100 * loss:.1f} %") for name, (n, loss) in t.loses.items()]
        out += f"<h3>{_e(t.shape or 'One shape')}: {t.judged} judged</h3>\n<div class=row>"
        out += _figure(plot(lines, [], "judgements", "% behind the best", log_x=True), "How far behind the best, after so many judgements.")
        out += _table(("order of judging", "until within 2 %", "times fewer"), rows) + _table(("only", "judged", "loses"), kept)
        out += "</div>\n"
    return out
