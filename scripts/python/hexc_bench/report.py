"""Measurements as Markdown, and as a page with plots in the style of scripts/tune's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hexc_tune.report import STYLE, _e, _figure, _table
from hexc_tune.svg import Line, bars, plot

from .runner import share

HEAD = ("operator", "shape", "us", "TFLOP/s", "GB/s", "of the roof", "fastest peer", "peer us", "times as fast")


def fastest(r: Mapping[str, Any]) -> tuple[str, float] | None:
    """The fastest peer."""
    found = [(p["us"], name) for name, p in r.get("peers", {}).items() if "us" in p]
    return (min(found)[1], min(found)[0]) if found else None


def cells(r: dict[str, Any], roofs: dict[str, Any]) -> list[str]:
    """A result as columns of HEAD."""
    if "why" in r:
        return [r["name"], r["shape"], r["why"], "", "", "", "", "", ""]
    peer, part = fastest(r), share(r, roofs)
    return [r["name"], r["shape"], f"{r['us']:.1f}", f"{r['flops'] / r['us'] / 1e6:.1f}", f"{r['bytes'] / r['us'] / 1e3:.0f}",
            f"{100 * part:.0f} %" if part else "", peer[0] if peer else "", f"{peer[1]:.1f}" if peer else "",
            f"{peer[1] / r['us']:.2f}" if peer else ""]


def line(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"


def head_lines() -> str:
    return line(HEAD) + "\n" + "|---" * len(HEAD) + "|"


def by_model(results: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for r in results:
        found.setdefault(r["model"] or "Operators", []).append(r)
    return found


def facts(d: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The machine, and the libraries compared."""
    gpus = {k["gpu"] for r in d["results"] for k in r.get("kernels", []) if "gpu" in k}
    roofs = d["roofs"]
    words = [("GPU", ", ".join(sorted(gpus)) or "none"), ("hexc", d["compiler"]), ("date", d["date"]),
             ("beside", "; ".join(f"{n} {v}" for n, v in d["peers"]["installed"].items()) or "nothing that is installed")]
    words += [("not beside", f"{n}: {why}") for n, why in d["peers"]["absent"].items()]
    if "copy_bytes_per_s" in roofs:
        words.append(("copies reach", f"{roofs['copy_bytes_per_s'] / 1e9:.0f} GB/s"))
    words += [(f"products of {n} reach", f"{roofs[f'{n}_flop_per_s'] / 1e12:.1f} T/s") for n in ("f16", "i8", "f8")
              if f"{n}_flop_per_s" in roofs]
    return words + ([("no roofs", roofs["why"])] if "why" in roofs else [])


NOTE = ("Weights of few bits and 8-bit floats stand beside products of f16. The share of the roof is the time that this copy "
        "and these products would need for the least that must be moved and computed, over the time measured.")


def markdown(d: Mapping[str, Any]) -> str:
    out = "# hexc bench\n\n" + "".join(f"* {n}: {v}\n" for n, v in facts(d)) + f"\n{NOTE}\n"
    for model, results in by_model(d["results"]).items():
        out += f"\n## {model}\n\n{head_lines()}\n" + "".join(line(cells(r, d["roofs"])) + "\n" for r in results)
    return out


def page(title: str, body: str) -> str:
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_e(title)}</title>\n<style>{STYLE}</style>'
            f"</head>\n<body>\n{body}</body></html>\n")


def roofline(results: Sequence[dict[str, Any]], roofs: dict[str, Any]) -> str:
    """Each case by its operations per byte, under the measured roofs."""
    good = [r for r in results if "us" in r and r["flops"]]
    if not good:
        return ""
    points = [(r["flops"] / r["bytes"], r["flops"] / r["us"] / 1e6, f"{r['key']}: {r['us']:.1f} us") for r in good]
    lines = []
    if roofs.get("copy_bytes_per_s"):
        xs = sorted({min(p[0] for p in points), max(p[0] for p in points)})
        for n in ("f16", "f8"):
            top = roofs.get(f"{n}_flop_per_s")
            if top:
                knee = top / roofs["copy_bytes_per_s"]
                at = sorted({*xs, *([knee] if xs[0] < knee < xs[-1] else [])})
                lines.append(Line(f"roof of {n}", [(x, min(top, x * roofs["copy_bytes_per_s"]) / 1e12) for x in at]))
    return _figure(plot(lines, points, "operations a byte", "T operations a second", log=True),
                   "Each case under the roofs of this run; a pointer on a dot tells which.")


def bench_body(d: Mapping[str, Any]) -> str:
    out = "<h1>hexc bench</h1>\n" + _table(("", ""), facts(d)) + f"<p>{_e(NOTE)}</p>\n" + roofline(d["results"], d["roofs"])
    for model, results in by_model(d["results"]).items():
        out += f"<h2>{_e(model)}</h2>\n"
        good = [r for r in results if "us" in r]
        groups = [(f"{r['name']} {r['shape']}", [("hexc", r["us"]), *((n, p["us"]) for n, p in r["peers"].items() if "us" in p)])
                  for r in good]
        if groups:
            out += _figure(bars(groups, "us"), "Medians in microseconds, the L2 cache overwritten before each launch.")
        rows = [cells(r, d["roofs"]) for r in good]
        out += _table(HEAD, rows) if rows else ""
        bad = [(r["key"], r["why"]) for r in results if "why" in r]
        bad += [(r["key"], f"{n}: {p['why']}") for r in good for n, p in r["peers"].items() if "why" in p]
        out += "<h3>Left out</h3>\n" + _table(("what", "why"), bad) if bad else ""
    return out


def bench_page(d: Mapping[str, Any]) -> str:
    return page("hexc bench", bench_body(d))
