"""hexc as a command."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import TuneError
from .measurer import Measurer

# from the statistics of `hexc run`
KEPT = ("median_us", "us", "warp_instructions", "mma", "bank_conflicts", "global_sectors_read", "grid", "block",
        "gpu", "driver", "arch", "roofline", "sampled")


@dataclass
class Done:
    """The result of a command: its exit status (124: timeout) and output."""

    status: int
    out: str
    err: str

    @property
    def why(self) -> str:
        """The first line of its error output."""
        return ((self.err or self.out).strip().splitlines() or ["no message"])[0]


@dataclass
class Compiler:
    """The command ``path``; ``cwd`` is the base of its relative paths (None: the current directory)."""

    path: str = field(default_factory=lambda: os.environ.get("HEXC", "build/hexc"))
    cwd: str | None = None

    def __post_init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False
        self._measurer: Measurer | None = None

    def call(self, *words: str, limit: float | None = None, more: dict[str, str] | None = None) -> Done:
        """Runs it with these words, for at most ``limit`` seconds, with ``more`` in its environment;
        :class:`TuneError` if the command does not exist."""
        return self.command([self.path, *words], limit, more)

    def command(self, words: Sequence[str], limit: float | None = None, more: dict[str, str] | None = None) -> Done:
        """Runs any command, as a child that :meth:`end` kills."""
        try:
            with self._lock:
                if self._ended:
                    return Done(-9, "", "ended")
                child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.cwd,
                                         errors="replace", start_new_session=True, env={**os.environ, **more} if more else None)
                self._running.add(child)
        except OSError as error:
            hint = "; set HEXC" if words[0] == self.path else ""
            raise TuneError(f"{words[0]}: {error.strerror}{hint}") from None
        try:
            out, err = child.communicate(timeout=limit)
            return Done(child.returncode, out, err)
        except subprocess.TimeoutExpired:
            _kill(child)
            child.communicate()
            return Done(124, "", f"it took more than {limit:g} seconds")
        finally:
            with self._lock:
                self._running.discard(child)

    def measure(self, program: str, options: Sequence[str], limit: float | None = None) -> tuple[dict[str, Any] | None, Done]:
        """``hexc run --exec gpu`` with statistics, in the single process that owns the GPU; None if it
        failed. One call at a time."""
        with self._lock:
            if self._ended:
                return None, Done(-9, "", "ended")
            self._measurer = self._measurer or Measurer([self.path, "measure"], self.cwd)
        with tempfile.TemporaryDirectory() as folder:
            stats = os.path.join(folder, "stats.json")
            try:
                done = Done(*self._measurer.run([program, "--stats", stats, *options], limit))
            except OSError as error:
                raise TuneError(f"{self.path}: {error.strerror}; set HEXC") from None
            if done.status:
                return None, done
            found: dict[str, Any] = json.loads(Path(stats).read_text(encoding="utf-8"))
            return found, done

    def end(self) -> None:
        """Kills running commands and starts no more."""
        with self._lock:
            self._ended = True
            for child in self._running:
                _kill(child)
            if self._measurer:
                self._measurer.end()

    def version(self) -> str:
        """The output of ``hexc --version``."""
        return self.call("--version").out.strip()

    def build(self) -> str:
        """The version and a digest of the program file, which distinguishes builds that may compile differently."""
        file = shutil.which(self.path) or self.path
        at = Path(self.cwd or ".", file)
        try:
            return f"{self.version()}, {hashlib.sha256(at.read_bytes()).hexdigest()[:12]}"
        except OSError:
            return self.version()

    def candidates(self, program: str, options: Sequence[str]) -> tuple[list[dict[str, Any]], str | None]:
        """The candidates of a program's single kernel, best first, or the reason why there are none."""
        done = self.call("candidates", program, "--json", *options)
        if done.status:
            return [], done.why
        kernel = one_kernel(json.loads(done.out))
        found: list[dict[str, Any]] = kernel["candidates"]
        return found, None

    def run(self, program: str, options: Sequence[str], limit: float | None = None) -> tuple[dict[str, Any] | None, Done]:
        """``hexc run`` with statistics; None if it failed."""
        with tempfile.TemporaryDirectory() as folder:
            stats = os.path.join(folder, "stats.json")
            done = self.call("run", program, "--stats", stats, *options, limit=limit)
            if done.status:
                return None, done
            found: dict[str, Any] = json.loads(Path(stats).read_text(encoding="utf-8"))
            return found, done


def _kill(child: subprocess.Popen[str]) -> None:
    """Kills it with its children, which would keep the pipes open."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def one_kernel(kernels: list[dict[str, Any]]) -> dict[str, Any]:
    """The only kernel; :class:`TuneError` names them if there are several."""
    if len(kernels) != 1:
        names = " ".join(k["entry"] for k in kernels)
        raise TuneError("the program has several kernels; choose one with --kernel: " + names)
    return kernels[0]


def option(words: Sequence[str], name: str, default: str | None = None) -> str | None:
    """The value of an option of hexc."""
    for i, word in enumerate(words):
        if word == name:
            return words[i + 1]
        if word.startswith(name + "="):
            return word[len(name) + 1 :]
    return default


def without_args(words: Sequence[str]) -> list[str]:
    """The options that select what is compiled: those of commands that run nothing."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        name, eq, _ = word.partition("=")
        value = [] if eq else [next(rest, "")]
        if name in ("--arch", "--kernel", "--schedule", "--cluster"):
            kept += [word, *value]
    return kept
