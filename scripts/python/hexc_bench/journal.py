"""The results of a run: a file to which each finished item is appended, and its summary.

A line of journal.jsonl is an object with `line`:

    begin   the command started: machine (its id), its description, minutes, date
    enter   a step starts or resumes: its number of items
    item    step, key, state, seconds, on (the machine) and the results; `why` if it is not ok
    leave   a step ends: its state, seconds, how many items were cut
    end     the command ended normally

The state of an item is `ok`, `wrong` (a result outside its bounds), `failed` (a fault, a hang, no memory, a
failed tool) or `skipped` (`note` names what is missing). Every line is on disk before the next starts, so a kill
at any time loses only the running item. summary.json is regenerated from all lines and replaced atomically.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STATES = ("ok", "wrong", "failed", "skipped")


def keep(path: Path, text: str) -> None:
    """Writes a file atomically."""
    other = path.with_suffix(path.suffix + ".tmp")
    with open(other, "w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    os.replace(other, path)


def read(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a journal; the last one may be truncated."""
    found = []
    try:
        text = path.read_bytes()
    except OSError:
        return []
    for line in text.split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and "line" in entry:
            found.append(entry)
    return found


class Journal:
    """The journal of one directory. Any thread may append."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "journal.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.lines = read(self.path)
        self._lock = threading.Lock()
        self._file = open(self.path, "ab")  # noqa: SIM115 - it is open as long as the day is
        if self._file.tell() and not self.path.read_bytes().endswith(b"\n"):
            self._file.write(b"\n")  # after a truncated line

    def add(self, line: str, **what: Any) -> dict[str, Any]:
        entry = {"line": line, "at": round(time.time(), 3), **what}
        with self._lock:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self.lines.append(entry)
            keep(self.folder / "summary.json", json.dumps(summary(self.lines), indent=1) + "\n")
        return entry

    def take(self, earlier: Sequence[Mapping[str, Any]]) -> None:
        """Copies lines of another journal unchanged."""
        with self._lock:
            self._file.write(b"".join(json.dumps(e).encode() + b"\n" for e in earlier))
            self._file.flush()
            os.fsync(self._file.fileno())
            self.lines += [dict(e) for e in earlier]

    def done(self, machine: str) -> set[tuple[str, str]]:
        """(step, key) of finished items on this machine; items cut by the time limit are excluded."""
        return {(e["step"], e["key"]) for e in self.lines if e["line"] == "item" and e["on"] == machine and e.get("lost") != "late"}


def items(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The last entry of each item on each machine, in the order of the first attempts."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for e in lines:
        if e["line"] == "item":
            found[e["on"], e["step"], e["key"]] = {n: v for n, v in e.items() if n != "line"}
    return list(found.values())


def summary(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The contents of summary.json (schemas/summary.schema.json)."""
    begins = [e for e in lines if e["line"] == "begin"]
    ends = [e for e in lines if e["line"] == "end"]
    machines = {e["machine"]: e["is"] for e in begins}
    last = begins[-1] if begins else {}
    everything = items(lines)
    steps: dict[str, dict[str, Any]] = {}
    for e in lines:
        if e["line"] == "begin":
            steps = {s: {"state": "not entered", "items": 0, "seconds": 0.0, "cut": 0} for s in e["steps"]}
        elif e["line"] == "enter":
            steps[e["step"]] |= {"state": "running", "items": e["items"]}
        elif e["line"] == "leave":
            steps[e["step"]] |= {"state": e["state"], "seconds": round(steps[e["step"]]["seconds"] + e["seconds"], 3), "cut": e["cut"]}
            if e.get("why"):
                steps[e["step"]]["why"] = e["why"]
    for name, s in steps.items():
        own = [i["state"] for i in everything if i["step"] == name and i["on"] == last.get("machine")]
        s |= {state: own.count(state) for state in STATES}
    return {"schema": "hexc gpu-day 1", "machine": last.get("machine", ""), "machines": machines, "minutes": last.get("minutes", 0),
            "date": last.get("date", ""), "ended": bool(ends) and bool(begins) and ends[-1]["at"] >= last["at"],
            "seconds": round(lines[-1]["at"] - last["at"], 3) if begins else 0.0, "steps": steps, "items": everything}
