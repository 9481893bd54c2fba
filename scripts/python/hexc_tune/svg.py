"""Plots as SVG text."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

COLORS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568")
W, H, LEFT, RIGHT, TOP, BOTTOM = 460, 310, 68, 14, 46, 42


@dataclass
class Line:
    """Points joined in order, with a name."""

    name: str
    points: list[tuple[float, float]]


def _e(text: str) -> str:
    return html.escape(text, quote=True)


def _number(value: float) -> str:
    """Three digits, and no exponent unless needed."""
    return f"{float(f'{value:.3g}'):,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


class _Axis:
    """Maps values to positions; ticks at round numbers."""

    def __init__(self, values: Sequence[float], log: bool, lo: float, hi: float) -> None:
        least, most = min(values), max(values)
        self.log = log and least > 0
        if self.log:
            least, most = math.log10(least), math.log10(most)
        elif least > 0:
            least = 0
        if most - least < 1e-9 * max(1.0, abs(most)):
            least, most = (least - 0.1, most + 0.1) if self.log else (0, most * 2 or 1)
        room = 0.04 * (most - least)
        self.least, self.most = least - (room if self.log else 0), most + room
        self.lo, self.hi = lo, hi

    def at(self, value: float) -> float:
        x = math.log10(value) if self.log else value
        return self.lo + (x - self.least) / (self.most - self.least) * (self.hi - self.lo)

    def ticks(self) -> list[float]:
        if self.log:
            steps = (1, 2, 5) if self.most - self.least > 0.8 else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
            found = [m * 10.0**e for e in range(math.floor(self.least), math.ceil(self.most) + 1) for m in steps]
            some = [t for t in found if self.least <= math.log10(t) <= self.most]
            return some if len(some) > 2 else _round(10**self.least, 10**self.most)
        return _round(self.least, self.most)


def _round(least: float, most: float) -> list[float]:
    """A few round numbers between these."""
    step = 10 ** math.floor(math.log10((most - least) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (most - least) / (m * step) <= 6)
    return [i * step for i in range(math.ceil(least / step - 1e-9), math.floor(most / step) + 1)]


def plot(lines: Sequence[Line], points: Sequence[tuple[float, float, str]], x_name: str, y_name: str, log: bool = False,
         log_x: bool = False, log_y: bool = False) -> str:
    """Lines, and points with tooltips."""
    xs = [p[0] for p in points] + [x for line in lines for x, _ in line.points]
    ys = [p[1] for p in points] + [y for line in lines for _, y in line.points]
    if not xs:
        return "<p>nothing</p>"
    ax, ay = _Axis(xs, log or log_x, LEFT, W - RIGHT), _Axis(ys, log or log_y, H - BOTTOM, TOP)
    out = [f'<svg viewBox="0 0 {W} {H}" width="{W}" height="{H}" xmlns="http://www.w3.org/2000/svg" '
           'font-family="system-ui,sans-serif" font-size="11">']
    for t in ax.ticks():
        out.append(f'<path d="M{ax.at(t):.1f} {TOP}V{H - BOTTOM}" stroke="#eee"/>'
                   f'<text x="{ax.at(t):.1f}" y="{H - BOTTOM + 14}" text-anchor="middle" fill="#555">{t:g}</text>')
    for t in ay.ticks():
        out.append(f'<path d="M{LEFT} {ay.at(t):.1f}H{W - RIGHT}" stroke="#eee"/>'
                   f'<text x="{LEFT - 5}" y="{ay.at(t) + 4:.1f}" text-anchor="end" fill="#555">{t:g}</text>')
    out.append(f'<path d="M{LEFT} {TOP}V{H - BOTTOM}H{W - RIGHT}" fill="none" stroke="#888"/>'
               f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 8}" text-anchor="middle">{_e(x_name)}</text>'
               f'<text transform="rotate(-90)" x="{-(TOP + H - BOTTOM) / 2}" y="13" text-anchor="middle">{_e(y_name)}</text>')
    at, row = float(LEFT), 0
    for i, line in enumerate(lines):
        color = COLORS[i % len(COLORS)] if not points else "#999"
        if at > LEFT and at + 7 * len(line.name) > W:
            at, row = float(LEFT), row + 1
        path = " ".join(f"{ax.at(x):.1f},{ay.at(y):.1f}" for x, y in line.points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>'
                   f'<text x="{at:.0f}" y="{12 + 13 * row}" fill="{color}">{_e(line.name)}</text>')
        at += 7 * len(line.name) + 14
    for x, y, words in points:
        out.append(f'<circle cx="{ax.at(x):.1f}" cy="{ay.at(y):.1f}" r="3.2" fill="{COLORS[0]}" fill-opacity=".55">'
                   f"<title>{_e(words)}</title></circle>")
    return "".join(out) + "</svg>"


def bars(groups: Sequence[tuple[str, Sequence[tuple[str, float]]]], unit: str) -> str:
    """Horizontal bars, in groups with a heading, each with its name and number."""
    most = max((v for _, group in groups for _, v in group), default=0) or 1
    named = any(name for _, group in groups for name, _ in group)
    left = 150 if named else 200
    y, out = 4.0, []
    for i, (head, group) in enumerate(groups):
        if named:
            out.append(f'<text x="2" y="{y + 13:.0f}" font-weight="600">{_e(head)}</text>')
            y += 20
        for name, value in group:
            wide = value / most * (W + 160 - left - 70)
            out.append(f'<text x="{left - 6}" y="{y + 12:.0f}" text-anchor="end">{_e(name if named else head)}</text>'
                       f'<rect x="{left}" y="{y + 2:.0f}" width="{max(wide, 0.5):.1f}" height="13" fill="{COLORS[i % 6]}"/>'
                       f'<text x="{left + wide + 5:.1f}" y="{y + 12:.0f}" fill="#555">{_number(value)} {_e(unit)}</text>')
            y += 18
        y += 6 if named else 0
    return (f'<svg viewBox="0 0 {W + 160} {y + 4:.0f}" width="{W + 160}" height="{y + 4:.0f}" '
            'xmlns="http://www.w3.org/2000/svg" font-family="system-ui,sans-serif" font-size="11">' + "".join(out) + "</svg>")
