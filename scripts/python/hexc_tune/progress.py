"""Progress of a sweep: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 30


class Progress:
    """A line that is overwritten; ``end`` removes it."""

    def __init__(self, to: TextIO = sys.stderr) -> None:
        self._to, self._on = to, to.isatty()
        self._what, self._all, self._done, self._begun, self._shown = "", 0, 0, 0.0, 0.0

    def start(self, what: str, count: int) -> None:
        self._what, self._all, self._done, self._begun, self._shown = what, count, 0, time.monotonic(), 0.0
        self._show("")

    def step(self, note: str = "") -> None:
        """One more is done; the note follows the bar."""
        self._done += 1
        self._show(note)

    def end(self) -> None:
        if self._on:
            self._to.write("\r\x1b[K")
            self._to.flush()

    def _show(self, note: str) -> None:
        now = time.monotonic()
        if not self._on or not self._all or now - self._shown < 0.1 and 0 < self._done < self._all:
            return
        self._shown = now
        full = WIDTH * self._done // self._all
        left = (now - self._begun) / self._done * (self._all - self._done) if self._done else 0
        bar = "#" * full + "." * (WIDTH - full)
        self._to.write(f"\r\x1b[K{self._what} [{bar}] {self._done}/{self._all}  {left:.0f} s left  {note}"[:160])
        self._to.flush()
